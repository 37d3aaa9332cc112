"""Two models compared in themselves: nothing for a model and itself, a slow twin for the terms that moved, and the command.

Also tests `report/rankings.py`.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from scipy.spatial.distance import jensenshannon

from nbtext import TextClassifier
from nbtext.inspection import differences as module
from nbtext.inspection.differences import Change, Differences, _CameAndWent, changed_terms, differences
from nbtext.inspection.terms import ClassSize
from tests import strategies
from tests.budget import examples
from tests.process import SERVICE_DESK, corpus, in_json, succeed, write
from tests.textbook import CHINA

if TYPE_CHECKING:
    from pathlib import Path

    from tests.oracle import Labelled

SAME = Differences(
    identical=True, settings={}, written_by={}, stop_words=_CameAndWent([], []), sizes={}, vocabulary=_CameAndWent(0, 0), attributes={}, classes={}, terms=[]
)  # fmt: skip


def trained(documents: list[Labelled], **parameters: Any) -> TextClassifier:
    model = TextClassifier(
        **{"stemmer": "none", "stop_words": "none", "unspaced": "pairs", "calibration": "none", "smoothing": 1, **parameters}
    )
    return model.fit([" ".join(terms) for _, terms in documents], [label for label, _ in documents])


def test_one_document_more_by_hand() -> None:
    """φ(· | no) was (1, 2, 2, 1, 1, 2)/9 and is, with "Tokyo Osaka" more, over seven terms, (1, 2, 2, 1, 2, 1, 3)/12."""
    old, new = trained(CHINA), trained([*CHINA, ("no", ["tokyo", "osaka"])])
    found = differences(old, new, 3)
    assert found.identical is False
    assert found.sizes["documents"] == Change(4, 5)
    assert found.sizes["terms"] == Change(6, 7)
    assert found.vocabulary == _CameAndWent(1, 0)
    assert found.classes["no"].old == ClassSize(1, 3, 0.25)
    assert found.classes["no"].new == ClassSize(2, 5, 0.4)
    before, after = np.array([1, 2, 2, 1, 0, 1, 2]) / 9, np.array([1, 2, 2, 1, 2, 1, 3]) / 12
    assert found.classes["no"].divergence == pytest.approx(jensenshannon(before, after) ** 2)
    # osaka in "no": ½ · (2/12) · log 2, and a weight of (1/4 + 2/5)/2
    first = found.terms[0]
    assert (first.term, first.label, first.old, first.new) == ("osaka", "no", 0, 2 / 12)
    assert first.share == pytest.approx(0.325 * 2 / 12 * math.log(2) / 2)


@examples(7)
@given(strategies.corpora, strategies.corpora)
def test_a_slow_twin_finds_the_same_moves(first: list[Labelled], second: list[Labelled]) -> None:
    old, new = trained(first, ngrams=2), trained(second, smoothing=0.5)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "CACHED_CELLS", 5)
        divergence, moves, only = changed_terms(old, new, 4)
    assert (only.came, only.went) == tuple(map(len, _only(old, new)))
    phi: list[dict[tuple[str, str], float]] = []
    for model in (old, new):
        names = [model.fitted.statistics.vocabulary.term(number) for number in range(model.fitted.statistics.n_terms)]
        table = model.fitted.language_models.probability(np.arange(len(names))).tolist()
        phi.append({(name, k): p for name, row in zip(names, table, strict=True) for k, p in zip(model.classes, row, strict=True)})
    prior = [dict(zip(model.classes, model.fitted.classifier.prior.tolist(), strict=True)) for model in (old, new)]
    both = set(old.classes) & set(new.classes)
    assert set(divergence) == both
    expected: dict[tuple[str, str], float] = {}
    for term, k in {*phi[0], *phi[1]}:
        if k in both:
            p, q = (side.get((term, k), 0.0) for side in phi)
            share = sum(x * math.log(2 * x / (p + q)) for x in (p, q) if x) / 2
            expected[term, k] = share
    for k in both:
        assert divergence[k] == pytest.approx(sum(share for (_, label), share in expected.items() if label == k), abs=1e-12)
    weighted = {(term, k): share * (prior[0][k] + prior[1][k]) / 2 for (term, k), share in expected.items()}
    for move in moves:
        assert move.share == pytest.approx(weighted[move.term, move.label], abs=1e-12)
        assert (move.old, move.new) == (phi[0].get((move.term, move.label), 0), phi[1].get((move.term, move.label), 0))
    best = sorted((share for share in weighted.values() if share > 1e-12), reverse=True)[:4]
    assert [move.share for move in moves][: len(best)] == pytest.approx(best)
    assert changed_terms(new, old, 4).divergence == pytest.approx(divergence)


def _only(old: TextClassifier, new: TextClassifier) -> tuple[set[str], set[str]]:
    """The terms of the new model alone, and of the old alone."""
    one, other = (
        {model.fitted.statistics.vocabulary.term(number) for number in range(model.fitted.statistics.n_terms)} for model in (old, new)
    )
    return other - one, one - other


@examples(6)
@given(strategies.corpora)
def test_a_model_and_itself(documents: list[Labelled]) -> None:
    one, other = (trained(documents, smoothing="auto", ngrams=2) for _ in range(2))
    found = differences(one, other, 10)
    for of in found.classes.values():
        assert of.old == of.new
        assert of.divergence == 0
    assert replace(found, classes={}) == SAME


@pytest.mark.parametrize(
    "parameters",
    [{"classifier": "bernoulli"}, {"classifier": "logistic"}, {"classifier": "gaussian"}, {"estimate": "ml"}, {"weighting": "tfidf", "classifier": "complement"}, {"top": 2}, {"char_ngrams": 3}],
    ids=str,
)  # fmt: skip
def test_any_kind_of_model_and_itself_and_another(parameters: dict[str, object]) -> None:
    model = trained([*CHINA, ("no", ["tokyo", "osaka"])], **{"smoothing": "auto", **parameters})
    found = differences(model, model, 5)
    assert replace(found, classes={}) == SAME
    other = differences(model, trained(CHINA), 5)
    assert other.identical is False
    assert (other.classes["no"].divergence or 0) > 0


def test_what_is_only_in_the_sample_or_in_the_calibration_is_a_difference_too() -> None:
    with_sample, without = trained(CHINA), trained(CHINA, sample=0)
    found = differences(with_sample, without, 5)
    assert (found.identical, found.terms) == (False, [])
    assert set(found.settings) == {"sample"}


@pytest.fixture(scope="module")
def half(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of other classes and other settings than ``service_desk_model``."""
    folder = tmp_path_factory.mktemp("half")
    for label in ("taxes-and-fees", "parks-and-trees"):
        (folder / "corpus" / label).parent.mkdir(exist_ok=True)
        (folder / "corpus" / label).symlink_to(SERVICE_DESK / "train" / label)
    corpus(folder / "corpus", {"pets/1": "the cat", "pets/2": "the dog"})
    succeed("train corpus --stemmer none --stop-words none -m half", cwd=folder)
    return folder / "half"


def test_the_command(service_desk_model: Path, half: Path) -> None:
    said = in_json("compare", service_desk_model, half, "--limit", "6")
    assert said["models"] == [str(service_desk_model), str(half)]
    assert {"stemmer", "stop_words"} <= set(said["settings"])
    assert set(said["written_by"]) == {"PyStemmer"}
    assert "the" in said["stop_words"]["went"]
    assert {label for label, of in said["classes"].items() if of["old"] is None} == {"pets"}
    assert len([of for of in said["classes"].values() if of["new"] is None]) == 4
    assert len(said["terms"]) == 6
    text = succeed("compare", service_desk_model, half, "--limit", "6").text
    for of in said["terms"]:
        assert f"{of['share']:.3g}" in text
    assert "7 of 7 classes differ" in text
    assert "stemmer" in text
    assert "terms that moved most" not in succeed("compare", service_desk_model, half, "--limit", "0").text


def test_attributes_that_differ_are_named(tmp_path: Path) -> None:
    write("one.csv", "label,text,age\na,the dog,3\nb,cats,4\n")
    write("two.csv", "label,text,age\na,the dog,3\nb,cats,5\n")
    columns = ("--label-column", "label", "--text-column", "text", "--numeric", "age")
    for name in ("one", "two"):
        succeed("train", f"{name}.csv", *columns, "-m", name)
    text = succeed("compare one two").text
    assert "attribute age" in text
    assert "The classes are the same." in text
    assert "No term has another probability in a class." in text
    assert set(in_json("compare one two")["attributes"]) == {"age"}

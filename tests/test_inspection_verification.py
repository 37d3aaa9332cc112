"""`inspect --verify`: honest models pass, and each check finds what it is there for in a model that loads.

Also tests `report/models.py`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtext import TextClassifier
from nbtext.classifiers.bernoulli import BernoulliNaiveBayes
from nbtext.classifiers.complement import ComplementNaiveBayes
from nbtext.exclusions import KINDS
from nbtext.fitted_model import FittedModel
from nbtext.inspection.verification import Check, verify
from nbtext.language_model.dirichlet import LanguageModels
from nbtext.store import read_model_file, write_model_file
from tests.budget import examples
from tests.models import of_pets
from tests.process import PETS, in_json, nbtext, succeed, write
from tests.strategies import corpora

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from numpy.typing import NDArray

    from nbtext.settings import ClassifierName, Estimate, PriorShape, Weighting

    Arrays = dict[str, NDArray[Any]]
    Floats = NDArray[np.float64]

LABELS = [name.partition("/")[0] for name in PETS]
NAMES = ["file", "contents", "n-grams", "sample", "attributes", "estimates", "answers"]


def saved(folder: Path, **parameters: Any) -> str:
    path = str(folder / "m")
    of_pets(stop_words="none", **parameters).save(path)
    return path


def failed(checks: list[Check]) -> dict[str, str]:
    return {check.check: check.detail for check in checks if not check.passed}


@examples(6)
@given(
    corpora,
    st.integers(1, 3),
    st.sampled_from([(name, how) for name in ("multinomial", "bernoulli", "complement") for how in KINDS[name]]),
    st.sampled_from(["symmetric", "background"]),
    st.sampled_from(["mean", "map", "ml"]),
    st.integers(0, 5),
)
def test_honest_models_pass(
    tmp_path_factory: pytest.TempPathFactory,
    documents: list[tuple[str, list[str]]],
    ngrams: int,
    kind: tuple[ClassifierName, Weighting],
    prior_shape: PriorShape,
    estimate: Estimate,
    sample: int,
) -> None:
    path = str(tmp_path_factory.getbasetemp() / "honest")
    classifier, weighting = kind
    model = TextClassifier(
        classifier=classifier,
        weighting=weighting,
        prior_shape="symmetric" if classifier == "bernoulli" else prior_shape,
        estimate="mean" if classifier == "complement" else estimate,
        ngrams=ngrams,
        sample=sample,
        stop_words="none",
        stemmer="none",
    )
    model.fit([" ".join(terms) for _, terms in documents], [label for label, _ in documents]).save(path)
    assert failed(verify(path)) == {}


def set_element(name: str, value: int, place: int = 0) -> Callable[[Arrays], None]:
    def change(arrays: Arrays) -> None:
        arrays[name] = arrays[name].astype(np.uint32)
        arrays[name][place] = value

    return change


def ngrams_elsewhere(arrays: Arrays) -> None:
    """Every n-gram that occurs in one class occurs in the other instead."""
    terms = np.repeat(np.arange(arrays["term_cells"].size), arrays["term_cells"])
    moved = (terms >= arrays["term_lengths"].size) & (arrays["term_cells"][terms] == 1)
    arrays["cell_columns"] = np.where(moved, 1 - arrays["cell_columns"], arrays["cell_columns"]).astype(np.uint8)


def sample_elsewhere(arrays: Arrays) -> None:
    """Every document of the sample is of the other class."""
    arrays["sample_labels"] = 1 - arrays["sample_labels"]


@pytest.mark.parametrize(
    ("change", "name", "detail"),
    [
        (set_element("cell_counts", 99, -1), "n-grams", "more often than a part"),
        (ngrams_elsewhere, "n-grams", "in a class in which a part of it does not"),
        (set_element("sample_counts", 9), "sample", "a term more often than their class does"),
        (sample_elsewhere, "sample", "holds a term that its class does not"),
        (lambda arrays: arrays.update(sample_labels=np.zeros(4, np.uint8)), "sample", "more documents of a class than there are"),
        (set_element("cell_counts", 3), "sample", "all documents, and their counts are not those of the classes"),
    ],
)
def test_counts_that_do_not_go_together_are_found(tmp_path: Path, change: Callable[[Arrays], None], name: str, detail: str) -> None:
    path = saved(tmp_path, ngrams=2)
    plain, arrays = read_model_file(path)
    change(arrays)
    write_model_file(path, plain, arrays)
    TextClassifier.load(path)
    assert detail in failed(verify(path))[name]


def other_values(arrays: Arrays) -> None:
    arrays["sample_values"] = arrays["sample_values"] * 3


def more_of_a_category(arrays: Arrays) -> None:
    for name in ("cell_counts", "cell_documents"):
        set_element(name, 2)(arrays)


@pytest.mark.parametrize(
    ("change", "detail"),
    [
        (set_element("cell_counts", 2), "a category more than once"),
        (other_values, "not among those summed"),
        (more_of_a_category, "more documents have a category"),
    ],
)
def test_attributes_that_do_not_go_together_are_found(tmp_path: Path, change: Callable[[Arrays], None], detail: str) -> None:
    path = "m"
    rows = [{"colour": "black", "size": 1.5}, {"colour": "white", "size": 0.1}, {"colour": "black", "size": 3}]
    TextClassifier(categorical="colour", numeric="size", sample=2).fit([*rows, {"size": 9}], ["a", "a", "b", "b"]).save(path)
    plain, arrays = read_model_file(path)
    assert failed(verify(path)) == {}
    change(arrays)
    write_model_file(path, plain, arrays)
    TextClassifier.load(path)
    assert detail in failed(verify(path))["attributes"]


def test_numbers_that_overflow_are_found(tmp_path: Path) -> None:
    path = saved(tmp_path, classifier="logistic", l2=1)
    plain, arrays = read_model_file(path)
    arrays["fitted_bias"] = np.full(2, 1e308)
    write_model_file(path, plain, arrays)
    assert failed(verify(path))["contents"] == "the model is malformed: its weights are too large"


def test_more_documents_calibrated_from_than_there_are_is_found(tmp_path: Path) -> None:
    path = saved(tmp_path)
    plain, arrays = read_model_file(path)
    plain["calibration"]["documents"] = 5  # type: ignore[index] # a mapping
    write_model_file(path, plain, arrays)
    assert failed(verify(path)) == {"answers": "calibration was learnt from more documents than the sample holds"}


def with_tokens_of_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put a defect back: models over as many terms as there are took the tokens of the texts for their own, and categories are in no text."""
    right: Callable[[LanguageModels], Floats] = LanguageModels.__dict__["class_tokens"].func

    def wrong(models: LanguageModels) -> Floats:
        of_texts: Floats = models.statistics.class_tokens.astype(np.float64)
        return of_texts if models.selected.all() else right(models)

    monkeypatch.setattr(LanguageModels, "class_tokens", property(wrong))


@pytest.mark.parametrize(
    ("estimate", "detail"),
    [
        ("mean", "a probability is not between 0 and 1 (φ, the values of 'reply')"),
        ("map", "a probability is not between 0 and 1 (φ, the values of 'reply')"),
        ("ml", "the probabilities of the terms of a class do not sum to 1 (φ, the values of 'reply')"),
    ],
)
@pytest.mark.parametrize("classifier", ["multinomial", "bernoulli", "dirichlet-multinomial", "gaussian"])
def test_categories_with_the_tokens_of_texts_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, classifier: ClassifierName, estimate: Estimate, detail: str
) -> None:
    path = "m"
    rows = [{"reply": "no"}] * 185 + [{"reply": "yes"}] * 35
    model = TextClassifier(categorical="reply", classifier=classifier, estimate=estimate, calibration="none")
    model.fit(rows, ["ham"] * 200 + ["spam"] * 20).save(path)
    assert failed(verify(path)) == {}
    with_tokens_of_texts(monkeypatch)
    found = failed(verify(path))
    assert found["estimates"] == detail
    assert found.get("answers", "") == (
        "a document of the sample is impossible in every class, also in its own" if estimate == "ml" else ""
    )


class Halved(LanguageModels):
    """Language models that believe in half of each probability."""

    def probability(self, terms: NDArray[np.int64]) -> Floats:
        return super().probability(terms) / 2


def right_language_models(model: FittedModel) -> LanguageModels:
    learnt, settings = model.learnt, model.settings
    return LanguageModels(model.statistics, learnt.selected, learnt.smoothing, settings.prior_shape, settings.estimate, learnt.own)


@pytest.mark.parametrize(
    ("parameters", "detail"),
    [
        ({"classifier": "multinomial"}, "(φ, that a token of the class is the term)"),
        (
            {"classifier": "multinomial", "weighting": "binary"},
            "(φ, that a token of the class is the term, each document counting a term once)",
        ),
        ({"classifier": "multinomial", "weighting": "tfidf"}, "(φ, the term's share of the tf-idf weights of the class)"),
        ({"classifier": "dirichlet-multinomial"}, "(φ, that a token of the class is the term, on average over documents)"),
    ],
)
def test_a_classifier_with_a_wrong_language_model_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, parameters: dict[str, str], detail: str
) -> None:
    path = saved(tmp_path, **parameters)
    monkeypatch.setattr("nbtext.classifiers.base.LanguageModels", Halved)  # those of the classifier alone
    monkeypatch.setattr(FittedModel, "language_models", property(right_language_models))
    assert failed(verify(path))["estimates"] == f"the probabilities of the terms of a class do not sum to 1 {detail}"


def test_a_complement_that_is_wrong_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = saved(tmp_path, classifier="complement")
    monkeypatch.setattr(ComplementNaiveBayes, "complement_tokens", property(lambda model: model.language_models.class_tokens))
    found = "the probabilities of the terms of a class do not sum to 1 (θ, that a token of another class is the term)"
    assert failed(verify(path))["estimates"] == found


@pytest.mark.parametrize(
    ("theta", "detail"),
    [
        (lambda holding, of_class: (holding + 0.1) / of_class, "the probabilities of a term and of its absence do not sum to 1"),
        (lambda holding, of_class: holding / of_class, "a probability is 0 or 1 in spite of smoothing"),
    ],
)
def test_coins_that_are_wrong_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, theta: Callable[[Floats, Floats], Floats], detail: str
) -> None:
    path = saved(tmp_path, classifier="bernoulli")
    assert failed(verify(path)) == {}
    monkeypatch.setattr(
        BernoulliNaiveBayes, "_estimate", lambda model, holding, *_: theta(holding, model.training.statistics.class_documents)
    )
    with np.errstate(all="ignore"):
        assert failed(verify(path))["estimates"] == f"{detail} (θ, that a document of the class holds the term)"


def test_a_file_that_does_not_load(tmp_path: Path) -> None:
    path = saved(tmp_path)
    plain, arrays = read_model_file(path)
    write_model_file(path, {**plain, "smoothing": -1}, arrays)
    assert [check.passed for check in verify(path)] == [True, False, *[None] * 5]
    write("m", b"")
    assert [check.passed for check in verify(path)] == [False, *[None] * 6]
    assert verify("none")[0] == Check("file", False, "there is no model")


def test_the_command(service_desk_model: Path, tmp_path: Path) -> None:
    rows = [line.split() for line in succeed("inspect --verify -m", service_desk_model).text.splitlines()[2:]]
    assert [row[:2] for row in rows] == [[name, "passed"] for name in NAMES]
    found = in_json("inspect --verify -m", service_desk_model)
    assert found["passed"] is True
    assert [check["check"] for check in found["checks"]] == NAMES
    content = bytearray(service_desk_model.read_bytes())
    content[-1] ^= 1
    write("m", content)
    done = nbtext("inspect --verify -m m --output json")
    assert (done.status, json.loads(done.out)["passed"]) == (3, False)
    assert done.notes == ["nbtext: m: file: the model is damaged: its checksum is wrong; restore it or train again"]
    assert "failed" in nbtext("inspect --verify -m m").text

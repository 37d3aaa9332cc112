"""`nbtext inspect` with --class, --similarity and --perplexity.

Also tests `inspection/overview.py`, `report/rankings.py`, `report/models.py` and `report/models.py`.
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy.spatial.distance import jensenshannon

from nbtext import TextClassifier
from tests.process import SERVICE_DESK, corpus, fail, in_json, nbtext, succeed
from tests.textbook import CHINA

if TYPE_CHECKING:
    from pathlib import Path


def inspected(*arguments: str | Path, cwd: Path | None = None) -> Any:
    return in_json("inspect", *arguments, "-o", "json", cwd=cwd)


def test_terms_of_classes_side_by_side(service_desk_model: Path) -> None:
    asked = ("-m", service_desk_model, "--class", "taxes-and-fees", "--class", "parks-and-trees", "--top", "4")
    said = inspected(*asked)
    assert list(said["class_terms"]) == ["taxes-and-fees", "parks-and-trees"]
    text = succeed("inspect", *asked).text
    for label, of in said["class_terms"].items():
        assert f"{label}: {of['documents']} documents, {of['tokens']:,} tokens, prior {of['prior']:.4f}" in text
        for measure in ("probability", "lift", "mutual_information"):
            assert len(of[measure]) == 4
            for entry in of[measure]:
                assert f" {entry['term']} " in text
                assert f"{entry['value']:.3g}" in text
    assert said["class_terms"]["taxes-and-fees"]["mutual_information"][0]["term"] == said["classes"]["taxes-and-fees"]["top_terms"][0]


def test_similarity_as_a_matrix_and_as_pairs(service_desk_model: Path, tmp_path: Path) -> None:
    said = inspected("-m", service_desk_model, "--similarity")["similarity"]
    model = TextClassifier.load(str(service_desk_model))
    phi = model.language_models.probability(np.flatnonzero(model.learnt.selected))
    for i, row in enumerate(said["divergence"]):
        assert row == pytest.approx([jensenshannon(phi[:, i], phi[:, j]) ** 2 if i != j else 0 for j in range(6)])
    text = succeed("inspect -m", service_desk_model, "--similarity").text
    assert text.count(f"{said['closest'][0]['divergence']:.4f}") >= 3
    some = inspected("-m", service_desk_model, "--similarity", "--class", "taxes-and-fees", "--class", "parks-and-trees")
    assert some["similarity"]["classes"] == ["parks-and-trees", "taxes-and-fees"]
    assert some["similarity"]["divergence"][0][1] == said["divergence"][1][4]
    lines = "".join(f"c{number:02d},word{number} {'shared ' * number}\n" for number in range(30))
    (tmp_path / "many.csv").write_text(lines)
    succeed("train --quiet many.csv")
    text = succeed("inspect --similarity").text
    assert len(text.splitlines()) < 30
    assert "closest" in text
    assert len(inspected("--similarity", cwd=tmp_path)["similarity"]["divergence"]) == 30


def test_perplexity_of_held_out_documents(tmp_path: Path) -> None:
    train = {f"train/{label}/{number}": " ".join(terms) for number, (label, terms) in enumerate(CHINA)}
    corpus(tmp_path, {**train, "test/yes/1": "Chinese Chinese Chinese Tokyo Japan", "test/yes/2": "Peking", "test/maybe/1": "Macao"})
    succeed("train train --stemmer none --stop-words none --smoothing 1")
    done = nbtext("inspect --perplexity test -o json")
    assert (done.status, done.notes) == (0, ["nbtext: warning: the model does not know the labels maybe"])
    said = json.loads(done.out)["perplexity"]
    log_likelihood = 3 * math.log(3 / 7) + 3 * math.log(1 / 14)
    assert said["classes"]["yes"] == {
        "documents": 2, "tokens": 6, "unknown": 1, "log_likelihood": pytest.approx(log_likelihood), "perplexity": pytest.approx(math.exp(-log_likelihood / 6)),
    }  # fmt: skip
    assert said["classes"]["no"] == {"documents": 0, "tokens": 0, "unknown": 0, "log_likelihood": 0, "perplexity": None}
    assert said["all"] == said["classes"]["yes"]
    assert said["unknown_labels"] == {"maybe": 1}
    text = nbtext("inspect --perplexity test").text
    assert f"{math.exp(-log_likelihood / 6):,.1f}" in text
    assert "16.7%" in text


def test_perplexity_is_infinite_where_maximum_likelihood_says_never(pets: Path) -> None:
    succeed("train pets --estimate ml -m ml")
    corpus(pets, {"test/cats/1": "a unicorn", "test/dogs/1": "dogs"})
    said = inspected("-m", "ml", "--perplexity", "test", cwd=pets)["perplexity"]
    assert said["classes"]["cats"]["perplexity"] is None
    assert said["classes"]["dogs"]["perplexity"] > 1
    assert "infinite" in succeed("inspect -m ml --perplexity test").text


def test_held_out_documents_are_read_as_options_say_and_attributes_have_no_part(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("label,text,city,age\na,the dog,Rome,3\nb,cats,Oslo,4\na,dogs,Rome,3\n")
    columns = ("--label-column", "label", "--text-column", "text", "--categorical", "city", "--numeric", "age")
    succeed("train t.csv", *columns)
    (tmp_path / "new.csv").write_text("klass,text,city,age\na,dog,Rome,7\nb,,Bonn,1\n")
    said = inspected("--perplexity", "new.csv", "--label-column", "klass", cwd=tmp_path)["perplexity"]
    assert (said["all"]["documents"], said["all"]["tokens"], said["all"]["unknown"]) == (2, 1, 0)


def test_perplexity_falls_on_what_the_model_has_seen(service_desk_model: Path) -> None:
    seen, unseen = (inspected("-m", service_desk_model, "--perplexity", SERVICE_DESK / part)["perplexity"] for part in ("train", "test"))
    assert seen["all"]["unknown"] == 0
    assert seen["all"]["tokens"] == sum(of["tokens"] for of in inspected("-m", service_desk_model)["classes"].values())
    for label in seen["classes"]:
        assert seen["classes"][label]["perplexity"] < unseen["classes"][label]["perplexity"]


def test_parts_stand_below_each_other(pets: Path) -> None:
    text = succeed("inspect --criteria --class cats --similarity --perplexity pets").text
    places = [text.index(part) for part in ("AIC", "cats: 2 documents", "Jensen–Shannon", "perplexity")]
    assert places == sorted(places)
    assert "calibration" not in text


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        ("--class birds", 2, "the model has no class 'birds'; see the classes with nbtext inspect"),
        ("--similarity --class birds", 2, "the model has no class 'birds'"),
        ("--document mail", 2, "--document needs --perplexity"),
        ("--perplexity nothere", 4, "nothere: cannot read"),
        ("--perplexity birds", 2, "the corpus has no document of a class that the model knows"),
    ],
)
def test_what_cannot_be_done_is_told_in_one_line(pets: Path, arguments: str, status: int, message: str) -> None:
    corpus(pets, {"birds/robin/1": "sings"})
    assert message in fail(status, f"inspect {arguments}")

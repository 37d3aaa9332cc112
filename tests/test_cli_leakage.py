"""`evaluate` where test documents were in the training corpus: beside that corpus, or beside the sample in the model."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any

import pytest

from tests.process import SERVICE_DESK, Result, corpus, nbtext, succeed

if TYPE_CHECKING:
    from pathlib import Path

WORDS = [
    f"{first}{second}{third}" for first in "bdfgk" for second in "aeiou" for third in "lmnprst"
]


def texts(seed: int, n: int) -> list[str]:
    source = random.Random(seed)
    return [" ".join(source.choices(WORDS, k=40)) for _ in range(n)]


@pytest.fixture
def planted(tmp_path: Path) -> Path:
    """A model of 40 documents, and a test corpus of 30 with four of them word for word, one with a line in front and half of one."""
    training, test = texts(1, 40), texts(2, 30)
    for row in (0, 5, 10, 15):
        test[row] = training[row]
    test[1] = f"Somebody wrote yesterday:\n{training[1]}"
    test[12] = training[12][: len(training[12]) // 2]
    for name, documents in (("train", training), ("test", test)):
        corpus(
            tmp_path / name,
            {f"{'ab'[row % 2]}/{row:02}": text for row, text in enumerate(documents)},
        )
    succeed("train train")
    return tmp_path


def warnings(result: Result) -> list[str]:
    return [line.removeprefix("nbtext: warning: ") for line in result.notes]


def parse_metrics(result: Result) -> Any:
    assert result.status == 0, result
    return json.loads(result.out)


def test_planted_leaks_are_found_named_and_excluded(planted: Path) -> None:
    done = nbtext("evaluate test --check-leakage train --output json")
    said = parse_metrics(done)
    leaks = said["leaks"]
    without = f"{leaks['without']['accuracy']:.4f}"
    assert warnings(done) == [
        f"4 of 30 test documents are also in the training corpus; accuracy without them {without}"
    ]
    assert leaks["found"] == 4
    # directories are read class by class: even rows are in a, odd ones in b
    assert leaks["examples"] == [
        {"id": f"test/{place}", "training_id": f"train/{place}"}
        for place in ("a/00", "a/10", "b/05", "b/15")
    ]
    for found in leaks["examples"]:
        (planted / found["id"]).unlink()
    alone = parse_metrics(nbtext("evaluate test --check-leakage train --output json"))
    assert alone["leaks"] == {"found": 0, "examples": [], "without": leaks["without"]}
    assert leaks["without"]["interval"] == alone["intervals"]["accuracy"]
    for name in ("n", "accuracy", "macro_f1", "log_loss", "brier", "ece"):
        assert leaks["without"][name] == pytest.approx(alone[name], abs=1e-12)
    assert {name: value for name, value in said.items() if name != "leaks"} == {
        name: value
        for name, value in parse_metrics(
            nbtext("evaluate test -q --output json", cwd=restore_leaks(planted, leaks))
        ).items()
        if name != "sampled_leaks"
    }


def restore_leaks(planted: Path, leaks: Any) -> Path:
    """The test corpus with what was taken out of it put back."""
    for found in leaks["examples"]:
        (planted / found["id"]).write_text((planted / found["training_id"]).read_text())
    return planted


def test_table_shows_leaks(planted: Path) -> None:
    out = nbtext("evaluate test --check-leakage train").text
    assert "in training too    4\n" in out
    assert "accuracy without" in out
    assert "in training too" not in nbtext("evaluate test").text


def test_several_training_corpora_are_read_and_quiet_hides_warnings(planted: Path) -> None:
    corpus(
        planted,
        {
            "half/a/x": (planted / "train/a/00").read_text(),
            "rest/b/y": (planted / "train/b/05").read_text(),
        },
    )
    done = nbtext("evaluate test --check-leakage half --check-leakage rest --output json -q")
    assert done.notes == []
    assert [found["training_id"] for found in parse_metrics(done)["leaks"]["examples"]] == [
        "half/a/x",
        "rest/b/y",
    ]


def test_training_corpus_is_read_with_the_models_settings(tmp_path: Path) -> None:
    rows = texts(3, 6)
    corpus(
        tmp_path,
        {
            "train.csv": "text;topic\n"
            + "".join(f"{text};{'ab'[row % 2]}\n" for row, text in enumerate(rows)),
            "test/a/1": rows[3],
        },
    )
    succeed("train train.csv --delimiter ';' --label-column topic --text-column text")
    said = parse_metrics(
        nbtext("evaluate test --format dir --check-leakage train.csv --output json")
    )
    assert said["leaks"]["examples"] == [{"id": "test/a/1", "training_id": "train.csv:5"}]
    assert said["leaks"]["without"] is None


def test_leakage_of_every_test_document_is_reported(planted: Path) -> None:
    done = nbtext("evaluate train --check-leakage train --output json")
    assert warnings(done) == [
        "40 of 40 test documents are also in the training corpus; there are no others"
    ]
    assert len(parse_metrics(done)["leaks"]["examples"]) == 20


def test_leakage_of_counted_features_is_found(tmp_path: Path) -> None:
    corpus(tmp_path, {"train.svm": "a x:1 y:2\nb y:3\n", "test.svm": "a y:2 x:1\nb y:2\n"})
    succeed("train train.svm")
    said = parse_metrics(nbtext("evaluate test.svm --check-leakage train.svm --output json"))
    assert [found["id"] for found in said["leaks"]["examples"]] == ["test.svm:1"]


def test_leakage_is_found_by_the_sample_in_the_model(planted: Path) -> None:
    done = nbtext("evaluate test --output json")
    assert warnings(done) == [
        "4 of 30 test documents are also in the training corpus; use --check-leakage CORPUS for the metrics without them"
    ]
    assert parse_metrics(done)["sampled_leaks"] == {"checked": 30, "found": 4}
    succeed("train train --keep-documents 20")
    done = nbtext("evaluate train --output json")
    assert parse_metrics(done)["sampled_leaks"] == {"checked": 19, "found": 19}
    assert warnings(done) == [
        "19 of 19 test documents that the model's sample can check are also in the training corpus; use --check-leakage CORPUS for the metrics without them"
    ]
    succeed("train train --keep-documents 0")
    assert parse_metrics(succeed("evaluate train --output json"))["sampled_leaks"]["found"] == 0


def test_without_leakage_gives_no_warning(service_desk_model: Path) -> None:
    for training in ((), ("--check-leakage", SERVICE_DESK / "train")):
        succeed("evaluate", SERVICE_DESK / "test", "-m", service_desk_model, *training)


def test_unreadable_training_documents_are_named(planted: Path) -> None:
    corpus(planted, {"train/a/99": b"\0"})
    done = nbtext("evaluate test --check-leakage train")
    assert done.status == 1
    assert (
        done.notes[0] == "nbtext: train/a/99: binary, not text (first control byte at position 0)"
    )


def test_quiet_hides_leakage_warnings_from_a_gate(planted: Path) -> None:
    assert warnings(nbtext("evaluate test --check-leakage train"))
    assert nbtext("evaluate test --check-leakage train --quiet --fail-under accuracy=0").err == b""

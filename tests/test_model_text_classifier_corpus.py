"""A corpus by its path: `TextClassifier.fit_corpus` is `nbtext train`, `TextClassifier.answer_corpus` is `nbtext classify`.

Tests `model/parallel_corpus.py`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from nbtext import TextClassifier
from nbtext.corpus.document import Notices
from nbtext.errors import DocumentError, PathError, UsageError
from nbtext.guarantees.prediction_sets import fit_set_rule
from nbtext.model.training import compute_held_out_posteriors
from nbtext.prediction.rule import DecisionRule
from nbtext.report.explanations import _make_explanation_record
from tests.model_changes import saved
from tests.process import PET_FILES, PETS, content, corpus, nbtext, succeed, write

if TYPE_CHECKING:
    from pathlib import Path

    from nbtext.corpus.collection import Progress
    from nbtext.errors import NbtextError

ROWS = "".join(f"{name.partition('/')[0]}\t{text}\n" for name, text in PETS.items()) * 5


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with a corpus as folders and as a table."""
    corpus(tmp_path, PET_FILES)
    (tmp_path / "rows.tsv").write_text(ROWS, encoding="utf-8")
    (tmp_path / "headed.csv").write_text(
        "body,topic\na cat purrs,cats\na dog barks,dogs\n", encoding="utf-8"
    )
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("path", "parameters", "reading"),
    [
        ("pets", {}, {}),
        ("rows.tsv", {"classifier": "logistic"}, {}),
        ("headed.csv", {"smoothing": 1}, {"text_column": "body", "label_column": "topic"}),
    ],
)
def test_fit_corpus_equals_train(
    folder: Path, path: str, parameters: dict[str, Any], reading: dict[str, Any]
) -> None:
    options = [
        f"--{name.replace('_', '-')}={value}" for name, value in {**parameters, **reading}.items()
    ]
    succeed("train", path, *options, "-m", "trained")
    model = TextClassifier(**parameters)
    assert model.fit_corpus(path, **reading) is model
    assert saved(model, folder) == content("trained")


def test_answer_corpus_equals_classify(folder: Path) -> None:
    model = TextClassifier().fit_corpus("pets")
    model.save("model")
    (folder / "pets" / "cats" / "binary").write_bytes(b"\0")
    printed = nbtext("classify pets -m model --output jsonl --limit 1 --min-probability 0.6")
    records = printed.records
    found = list(model.answer_corpus("pets", DecisionRule(min_probability=0.6), top_k=1))
    assert [answer.id for answer in found] == [record["id"] for record in records]
    assert [answer.label for answer in found] == [record["label"] for record in records]
    assert [answer.abstained for answer in found] == [record.get("abstained") for record in records]
    assert [answer.problem is not None for answer in found] == [
        "error" in record for record in records
    ]
    for answer, record in zip(found, records, strict=True):
        assert answer.probability is None or answer.probability == pytest.approx(
            record["probability"]
        )
    in_processes = model.answer_corpus("pets", DecisionRule(min_probability=0.6), top_k=1, jobs=2)
    assert [answer._replace(problem=None) for answer in in_processes] == [
        answer._replace(problem=None) for answer in found
    ]


def test_answer_and_explain_equal_the_commands(folder: Path) -> None:
    model = TextClassifier().fit_corpus("pets")
    model.save("model")
    texts = ["a cat", "a cat and a dog", "zyzzyva"]
    write("texts", "".join(f"{text}\n" for text in texts))
    records = nbtext(
        "classify texts --format lines -m model --output jsonl --limit 2 --min-probability 0.6"
    ).records
    found = model.predict_records(texts, DecisionRule(min_probability=0.6), top_k=2)
    assert [(answer.id, answer.label, answer.abstained) for answer in found] == [
        (str(place), record["label"], record.get("abstained"))
        for place, record in enumerate(records)
    ]
    sets = fit_set_rule(compute_held_out_posteriors(model.fitted), model.classes, 0.5)
    records = nbtext("classify texts --format lines -m model --output jsonl --coverage 0.5").records
    found = model.predict_records(texts, sets=sets)
    assert [[ranked.label for ranked in answer.ranked] for answer in found] == [
        [each["label"] for each in record["labels"]] for record in records
    ]
    records = nbtext("explain texts --format lines -m model --output jsonl").records
    explained = [
        _make_explanation_record(each) | {"id": record["id"], "model": record["model"]}
        for each, record in zip(model.explain(texts), records, strict=True)
    ]
    assert json.loads(json.dumps(explained)) == records
    [against] = model.explain(texts[:1], "dogs")
    assert against.explanation is not None
    assert (against.explanation.label, against.explanation.against) == ("cats", "dogs")
    with pytest.raises(UsageError, match="no class 'dog'"):
        model.explain(texts, "dog")


def test_unreadable_corpus_leaves_the_model_unchanged(folder: Path) -> None:
    model = TextClassifier().fit_corpus("pets")
    before, settings = model.predict_proba(["a cat", "a dog"]), model.settings
    with pytest.raises(PathError):
        model.fit_corpus("missing", format="svmlight", document="text")
    assert model.settings == settings == model.fitted.settings
    assert model.predict_proba(["a cat", "a dog"]).tolist() == before.tolist()


def test_documents_are_read_as_in_training_unless_overridden(folder: Path) -> None:
    model = TextClassifier().fit_corpus("headed.csv", text_column="body", label_column="topic")
    assert [(answer.id, answer.label) for answer in model.answer_corpus(["headed.csv"])] == [
        ("headed.csv:2", "cats"),
        ("headed.csv:3", "dogs"),
    ]
    write("lines", "a cat\na dog\n")
    assert [
        answer.label
        for answer in model.answer_corpus(
            "lines", format="lines", text_column=None, label_column=None
        )
    ] == [
        "cats",
        "dogs",
    ]
    with pytest.raises(UsageError, match="unknown parameter 'colour'"):
        list(model.answer_corpus("lines", colour="red"))


@pytest.mark.parametrize("jobs", [1, 2])
def test_unreadable_documents_are_recorded_skipped_or_fail(folder: Path, jobs: int) -> None:
    write("bad.tsv", f"one column\n{ROWS}\tno label\n")
    problems: list[tuple[str, str]] = []

    def note(name: str, problem: NbtextError) -> None:
        problems.append((name, problem.message))

    model = TextClassifier().fit_corpus("bad.tsv", jobs=jobs, on_problem=note)
    assert model.fitted.statistics == TextClassifier().fit_corpus("rows.tsv").fitted.statistics
    assert [name for name, _ in problems] == ["bad.tsv:1", f"bad.tsv:{ROWS.count(chr(10)) + 2}"]
    with pytest.raises(DocumentError, match=r"bad\.tsv:1: "):
        model.fit_corpus("bad.tsv", jobs=jobs, on_error="fail")
    assert len(list(model.answer_corpus("bad.tsv", jobs=jobs))) == ROWS.count("\n") + 2
    problems.clear()
    assert (
        len(list(model.answer_corpus("bad.tsv", jobs=jobs, on_error="skip", on_problem=note)))
        == ROWS.count("\n") + 1
    )
    assert [name for name, _ in problems] == ["bad.tsv:1"]
    with pytest.raises(DocumentError, match=r"bad\.tsv:1: "):
        list(model.answer_corpus("bad.tsv", jobs=jobs, on_error="fail"))


def test_failed_training_leaves_the_model_unchanged(folder: Path) -> None:
    model = TextClassifier().fit_corpus("pets")
    before = saved(model, folder)
    (folder / "empty.tsv").touch()
    for path, error in (("empty.tsv", UsageError), ("missing.tsv", PathError)):
        with pytest.raises(error):
            model.fit_corpus(path)
        assert saved(model, folder) == before


def test_reading_error_is_raised_after_earlier_predictions(folder: Path) -> None:
    model = TextClassifier().fit_corpus("rows.tsv")
    answers = model.answer_corpus(["rows.tsv", "missing.tsv"])
    assert [next(answers).id for _ in range(ROWS.count("\n"))][
        -1
    ] == f"rows.tsv:{ROWS.count(chr(10))}"
    with pytest.raises(PathError, match="missing"):
        next(answers)


@pytest.mark.parametrize("jobs", [1, 2])
def test_progress_and_notices_are_reported(folder: Path, jobs: int) -> None:
    write("latin.tsv", ROWS.encode() + "cats\tcafé\n".encode("latin-1"))
    heard: list[Progress] = []
    notices = Notices()
    model = TextClassifier().fit_corpus(
        "latin.tsv", jobs=jobs, on_progress=heard.append, notices=notices
    )
    size = (folder / "latin.tsv").stat().st_size
    assert heard[-1] == (ROWS.count("\n") + 1, size, True)
    assert [progress.is_done for progress in heard[:-1]] == [False] * (len(heard) - 1)
    assert notices.transcoded == 1
    heard.clear()
    assert (
        len(
            list(
                model.answer_corpus(
                    "latin.tsv", jobs=jobs, on_progress=heard.append, notices=notices
                )
            )
        )
        == ROWS.count("\n") + 1
    )
    assert heard[-1] == (ROWS.count("\n") + 1, size, True)
    assert notices.transcoded == 2


def test_paths_may_be_single_objects_or_iterables(folder: Path) -> None:
    by_name = TextClassifier().fit_corpus("rows.tsv")
    by_object = TextClassifier().fit_corpus(folder / "rows.tsv")
    assert saved(by_object, folder) == saved(by_name, folder)
    given = [*by_object.answer_corpus(iter([folder / "pets"]), format="dir")]
    assert [answer.label for answer in given] == [
        answer.label for answer in by_name.answer_corpus("pets", format="dir")
    ]
    assert len(given) == len(PETS)

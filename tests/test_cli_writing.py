"""What holds of all commands that change a model: `nbtext update`, `forget`, `relabel`, `prune` and `merge`."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from nbtext import TextClassifier
from tests.model_changes import NOT_ADDITIVE, options
from tests.process import ENVIRONMENT, content, corpus, fail, nbtext, run, succeed, succeeded, write

if TYPE_CHECKING:
    from pathlib import Path


def test_empty_folder_changes_nothing(pets_and_more: Path) -> None:
    (pets_and_more / "night/cats").mkdir(parents=True)
    before = (pets_and_more / "nbtext.joblib").stat().st_ino
    for command in ("update", "forget"):
        assert nbtext(command, "night", "-q").status == 0
        assert nbtext(command, "night", "-v").notes == [
            "nbtext: there are no documents to " + ("add" if command == "update" else "remove"),
            "nbtext: warning: night/cats: no documents in this class; add some, or remove it",
        ]
    assert (pets_and_more / "nbtext.joblib").stat().st_ino == before


def test_warning_about_the_changed_model_is_printed_once(pets_and_more: Path) -> None:
    corpus(pets_and_more, {"c/Cats/1": "another", "d/Cats/1": "and one more"})
    assert "labels that differ only in case" in nbtext("update c").notes[0]
    succeed("update d")
    assert "there is only one class" in nbtext("forget pets c").notes[0]


@pytest.mark.parametrize(
    "setting", [NOT_ADDITIVE[name] for name in ("logistic", "tf-idf")], ids=str
)
def test_non_additive_models_are_refused_with_a_hint_to_train(
    setting: dict[str, Any], pets_and_more: Path
) -> None:
    succeed("train pets more", *options(setting))
    kind = (
        "--weighting tfidf"
        if setting.get("weighting") == "tfidf"
        else f"--classifier {setting['classifier']}"
    )
    for command in (
        ["update", "nothing-there"],
        ["forget", "nothing-there"],
        ["relabel", "cats", "c"],
        ["prune", "--min-df", "2"],
    ):
        line = fail(2, *command)
        assert line.startswith(f"nbtext: an exact change of a model cannot be used with {kind}: ")
        assert line.endswith("; train it again on all documents")
    line = fail(2, "merge both nbtext.joblib --to new")
    assert line.startswith(
        f"nbtext: nbtext.joblib: an exact change of a model cannot be used with {kind}: "
    )


def test_other_stemmer_version_is_warned_of_once(pets_and_more: Path) -> None:
    model = TextClassifier.load("nbtext.joblib")
    now = model.fitted.written_by["PyStemmer"]
    model._fitted = replace(
        model.fitted, written_by={**model.fitted.written_by, "PyStemmer": "1.0"}
    )
    model.save("nbtext.joblib")
    done = nbtext("update more")
    text = f"the words of the model were stemmed by PyStemmer 1.0, these are by {now}; where stems differ, train again"
    assert (done.status, done.notes) == (0, [f"nbtext: warning: {text}"])
    assert content("nbtext.joblib") == content("both")
    succeed("forget more")


def test_update_with_several_processes_gives_the_same_model(pets_and_more: Path) -> None:
    rows = [
        f"{label}\t{words} {number // 2}\n"
        for number in range(60)
        for label, words in (("x", "ant bee"), ("y", "cat"))
    ]
    write("rows.tsv", "".join(rows))
    before, earlier = (
        content("nbtext.joblib"),
        TextClassifier.load("nbtext.joblib").fitted.statistics,
    )
    for once in ([], ["--once"]):
        files = []
        for shards in ([], [sys.executable, "-m", "tests.small_shards", "200"]):
            jobs = ["rows.tsv", "--format", "tsv", "-q", *(["--jobs", "2"] if shards else [])]
            command = shards or [sys.executable, "-m", "nbtext"]
            write("nbtext.joblib", before)
            succeeded(run([*command, "update", *jobs, *once], env=ENVIRONMENT))
            files.append(content("nbtext.joblib"))
            succeeded(run([*command, "forget", *jobs, *once], env=ENVIRONMENT))
            assert TextClassifier.load("nbtext.joblib").fitted.statistics == earlier
        assert files[0] == files[1]

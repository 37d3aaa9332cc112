from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest

from nbtext.model.held import held
from nbtext.store.ledger import FINGERPRINT, Ledger, fingerprint
from tests.process import PETS, corpus, error_line, nbtext, succeeded

if TYPE_CHECKING:
    from pathlib import Path

FIRST = {"a/cats/1": "the cat purrs", "a/cats/2": "a cat climbs", "a/dogs/1": "the dog barks", "a/dogs/2": "a puppy sleeps"}
SECOND = {"b/cats/7": "a puppy sleeps", "b/dogs/8": "the dog barks", "b/birds/9": "the bird sings", "b/birds/x": "the bird sings"}
THIRD = {"c/dogs/1": "the bird sings", "c/dogs/2": "the dog swims"}


@pytest.fixture
def days(tmp_path: Path) -> Path:
    """Three days of documents, some of them met before."""
    return corpus(tmp_path, {**FIRST, **SECOND, **THIRD})


def test_days_learnt_once_are_the_model_learnt_once_at_once(days: Path) -> None:
    succeeded(nbtext("train", "a", "--once", cwd=days))
    for day, said in (("b", "learnt 1 document; moved from another class: 1, known already: 1, repeated: 1"),
                      ("c", "learnt 1 document; moved from another class: 1, known already: 0, repeated: 0")):  # fmt: skip
        for again in (False, True):
            before = [(days / name).read_bytes() for name in ("nbtext.joblib", "nbtext.joblib.ledger")]
            notes = nbtext("update", day, "--once", "-v", cwd=days).notes
            assert notes[0].startswith("nbtext: learnt 0 documents; moved from another class: 0, " if again else f"nbtext: {said}")
            assert len(notes) == 2
            assert ([(days / name).read_bytes() for name in ("nbtext.joblib", "nbtext.joblib.ledger")] == before) == again
    succeeded(nbtext("train", "a", "b", "c", "--once", "-m", "at-once", cwd=days))
    assert (days / "nbtext.joblib").read_bytes() == (days / "at-once").read_bytes()
    corpus(days, {"all/cats/1": "the cat purrs", "all/cats/2": "a cat climbs", "all/cats/3": "a puppy sleeps"})
    corpus(days, {"all/dogs/1": "the dog barks", "all/dogs/2": "the bird sings", "all/dogs/3": "the dog swims"})
    succeeded(nbtext("train", "all", "-m", "plain", cwd=days))
    assert (days / "nbtext.joblib").read_bytes() == (days / "plain").read_bytes()
    assert (days / "nbtext.joblib.ledger").stat().st_size < 2 * (days / "at-once.ledger").stat().st_size


def test_without_once_duplicates_count_and_the_ledger_goes_along(days: Path) -> None:
    succeeded(nbtext("train", "a", "--once", cwd=days))
    told = "learnt without --once, so the ledger does not know them and nbtext update --once would learn them again: 4 documents"
    for _ in range(2):
        done = nbtext("update", "b", cwd=days)
        assert (done.status, done.notes) == (0, [f"nbtext: warning: {told}"])
    assert json.loads(succeeded(nbtext("inspect", "--output", "json", cwd=days)).out)["documents"] == 12
    notes = nbtext("update", "a", "b", "--once", "-v", cwd=days).notes
    assert notes[0] == "nbtext: learnt 1 document; moved from another class: 1, known already: 3, repeated: 3"


def documents_of(folder: Path, model: str = "nbtext.joblib") -> int:
    return int(json.loads(succeeded(nbtext("inspect", "-m", model, "--output", "json", cwd=folder)).out)["documents"])


@pytest.mark.parametrize("output", ["first", "second", "new"])
def test_models_merged_have_their_ledgers_merged(days: Path, output: str) -> None:
    corpus(days, {"e/dogs/1": "the dog swims", "e/birds/1": "the bird sings"})
    for models in (("first", "a"), ("second", "e"), ("whole", "a", "e")):
        succeeded(nbtext("train", *models[1:], "--once", "-m", models[0], cwd=days))
    succeeded(nbtext("merge", "first", "second", "-o", output, cwd=days))
    assert (days / output).read_bytes() == (days / "whole").read_bytes()
    notes = nbtext("update", "a", "e", "c", "--once", "-v", "-m", output, cwd=days).notes
    assert notes[0] == "nbtext: learnt 0 documents; moved from another class: 1, known already: 5, repeated: 2"
    succeeded(nbtext("train", "a", "e", "c", "--once", "-m", "whole", cwd=days))
    assert (days / output).read_bytes() == (days / "whole").read_bytes()


def test_a_model_that_was_put_back_after_merging_has_its_own_ledger_again(days: Path) -> None:
    for model, documents in (("first", "a"), ("second", "b")):
        succeeded(nbtext("train", documents, "--once", "-m", model, cwd=days))
    assert nbtext("merge", "first", "second", "-o", "first", "--backup", "-q", cwd=days).status == 0
    (days / "first.1").replace(days / "first")
    notes = nbtext("update", "a", "c", "--once", "-v", "-m", "first", cwd=days).notes
    assert notes[0] == "nbtext: learnt 2 documents; moved from another class: 0, known already: 4, repeated: 0"


def test_a_document_in_two_ledgers_is_told_of_and_stands_there_once_under_the_last_label(days: Path) -> None:
    succeeded(nbtext("train", "a", "--once", "-m", "first", cwd=days))
    succeeded(nbtext("train", "b", "--once", "-m", "second", cwd=days))
    done = nbtext("merge", "first", "second", "-o", "first", cwd=days)
    told = "learnt by more than one of the models, so they count more than once: 2 documents"
    assert (done.status, done.notes) == (0, [f"nbtext: warning: {told}"])
    assert documents_of(days, "first") == 7
    assert ", known already: 3," in nbtext("update", "b", "--once", "-v", "-m", "first", cwd=days).notes[0]
    assert documents_of(days, "first") == 7


@pytest.mark.parametrize("output", ["first", "second", "new"])
def test_merge_tells_of_models_that_have_no_ledger(days: Path, output: str) -> None:
    succeeded(nbtext("train", "a", "--once", "-m", "first", cwd=days))
    succeeded(nbtext("train", "c", "-q", "-m", "second", cwd=days))
    succeeded(nbtext("train", "c", "-q", "-m", "third", cwd=days))
    told = "second, third: no ledger that can be used, so nbtext update --once may learn again what is in there: 4 documents"
    done = nbtext("merge", "first", "second", "third", "-o", output, cwd=days)
    assert (done.status, done.notes) == (0, [f"nbtext: warning: {told}"])
    assert (
        nbtext("update", "a", "c", "--once", "-v", "-m", output, cwd=days)
        .notes[0]
        .startswith("nbtext: learnt 2 documents; moved from another")
    )


def test_models_without_ledgers_are_merged_in_silence(days: Path) -> None:
    succeeded(nbtext("train", "a", "-m", "first", cwd=days))
    succeeded(nbtext("train", "c", "-q", "-m", "second", cwd=days))
    succeeded(nbtext("merge", "first", "second", "-o", "new", cwd=days))
    assert not (days / "new.ledger").exists()


def test_a_ledger_that_merge_leaves_behind_is_told_of(days: Path) -> None:
    succeeded(nbtext("train", "a", "-m", "first", cwd=days))
    succeeded(nbtext("train", "c", "-q", "-m", "second", cwd=days))
    succeeded(nbtext("train", "b", "--once", "-m", "old", cwd=days))
    warning = ".ledger is the ledger of the model that was there; remove it, or train with --once to have a new one"
    done = nbtext("merge", "first", "second", "-o", "old", cwd=days)
    assert (done.status, len(done.notes), done.notes[0].endswith(f"old{warning}")) == (0, 1, True)
    assert "another model" in error_line(nbtext("update", "c", "--once", "-m", "old", cwd=days), 3)
    (days / "first.ledger").write_bytes(b"damaged")
    done = nbtext("merge", "first", "second", "-o", "first", cwd=days)
    assert (done.status, len(done.notes), done.notes[0].endswith(f"first{warning}")) == (0, 1, True)


def test_a_damaged_ledger_is_as_good_as_none_to_merge(days: Path) -> None:
    for model, documents in (("first", "a"), ("second", "c")):
        succeeded(nbtext("train", documents, "--once", "-q", "-m", model, cwd=days))
    (days / "second.ledger").write_bytes(b"damaged")
    told = "second: no ledger that can be used, so nbtext update --once may learn again what is in there: 2 documents"
    for output in ("new", "first"):
        assert nbtext("merge", "first", "second", "-o", output, cwd=days).notes == [f"nbtext: warning: {told}"]
        assert nbtext("update", "a", "--once", "-v", "-m", output, cwd=days).notes[0].startswith("nbtext: learnt 0 documents;")


def test_a_model_without_a_ledger_gets_one_and_it_is_said_what_that_cannot_know(days: Path) -> None:
    succeeded(nbtext("train", "a", cwd=days))
    assert not (days / "nbtext.joblib.ledger").exists()
    done = nbtext("update", "c", "--once", cwd=days)
    assert (done.status, done.notes) == (
        0,
        ["nbtext: warning: the model had no ledger, so 4 documents that it learnt before may be learnt again"],
    )
    succeeded(nbtext("update", "c", "--once", cwd=days))


def test_what_is_forgotten_can_be_learnt_again(days: Path) -> None:
    succeeded(nbtext("train", "a", "--once", cwd=days))
    first = (days / "nbtext.joblib").read_bytes()
    succeeded(nbtext("update", "c", "--once", cwd=days))
    second = (days / "nbtext.joblib").read_bytes()
    for options in ([], ["--once"]):
        succeeded(nbtext("forget", "c", *options, cwd=days))
        assert (days / "nbtext.joblib").read_bytes() == first
        assert nbtext("update", "c", "--once", "-v", cwd=days).notes[0].startswith("nbtext: learnt 2 documents;")
        assert (days / "nbtext.joblib").read_bytes() == second


def test_forgetting_once_is_no_error_the_second_time(days: Path) -> None:
    succeeded(nbtext("train", "a", "c", "--once", cwd=days))
    assert nbtext("forget", "c", "--once", "-v", cwd=days).notes[0] == "nbtext: forgot 2 documents; not known: 0"
    before = (days / "nbtext.joblib").read_bytes()
    assert nbtext("forget", "c", "--once", "-v", cwd=days).notes[0] == "nbtext: forgot 0 documents; not known: 2"
    assert "was never learnt" in error_line(nbtext("forget", "c", cwd=days), 2)
    line = error_line(nbtext("forget", "b", "--once", cwd=days), 2)
    assert line == "nbtext: b/cats/7: was never learnt as 'cats'; it was learnt as 'dogs'; nothing is forgotten"
    assert (days / "nbtext.joblib").read_bytes() == before


def test_the_ledger_follows_a_class_that_is_relabelled_and_a_model_that_is_pruned(days: Path) -> None:
    succeeded(nbtext("train", "a", "--once", cwd=days))
    succeeded(nbtext("relabel", "dogs", "hounds", cwd=days))
    corpus(days, {"d/hounds/1": FIRST["a/dogs/1"], "d/hounds/2": FIRST["a/dogs/2"]})
    assert ", known already: 2," in nbtext("update", "d", "--once", "-v", cwd=days).notes[0]
    succeeded(nbtext("prune", "--min-df", "2", cwd=days))
    notes = nbtext("update", "b", "--once", "-v", cwd=days).notes
    assert notes[0] == "nbtext: learnt 1 document; moved from another class: 2, known already: 0, repeated: 1"


def test_a_ledger_of_another_model_is_refused(days: Path) -> None:
    succeeded(nbtext("train", "a", "--once", "--backup", cwd=days))
    done = nbtext("train", "a", "b", "--backup", cwd=days)
    warning = "nbtext.joblib.ledger is the ledger of the model that was there; remove it, or train with --once to have a new one"
    assert (done.status, len(done.notes), done.notes[0].endswith(warning)) == (0, 1, True)
    for command in (["update", "c"], ["forget", "a"]):
        line = error_line(nbtext(*command, "--once", cwd=days), 3)
        assert line.endswith(
            "nbtext.joblib.ledger: the ledger belongs to another model; begin a new one with nbtext train --once, or remove it"
        )
    succeeded(nbtext("update", "c", cwd=days))  # without --once it does not matter, and stays
    assert "another model" in error_line(nbtext("update", "c", "--once", cwd=days), 3)
    succeeded(nbtext("train", "a", "--once", cwd=days))
    succeeded(nbtext("update", "c", "--once", cwd=days))


def test_the_model_before_the_last_change_still_has_its_ledger(days: Path) -> None:
    succeeded(nbtext("train", "a", "--once", cwd=days))
    succeeded(nbtext("update", "c", "--once", "--backup", cwd=days))
    updated = (days / "nbtext.joblib").read_bytes()
    (days / "nbtext.joblib.1").replace(days / "nbtext.joblib")
    assert nbtext("update", "a", "c", "--once", "-v", cwd=days).notes[0].startswith("nbtext: learnt 2 documents;")
    assert (days / "nbtext.joblib").read_bytes() == updated


@pytest.mark.parametrize("command", [["update", "c", "--once"], ["forget", "a", "--once"]], ids=lambda command: command[0])
def test_a_damaged_ledger_is_refused(days: Path, command: list[str]) -> None:
    succeeded(nbtext("train", "a", "--once", cwd=days))
    ledger = days / "nbtext.joblib.ledger"
    ledger.write_bytes(ledger.read_bytes()[:-1])
    line = error_line(nbtext(*command, cwd=days), 3)
    assert "nbtext.joblib.ledger: the ledger is damaged: it has not the length" in line
    assert line.endswith("; remove it to begin a new one, which does not know documents learnt before")
    ledger.unlink()
    ledger.mkdir()
    assert "nbtext.joblib.ledger: cannot read: is a directory" in error_line(nbtext(*command, cwd=days), 4)


@pytest.mark.parametrize("command", [["train", "a"], ["update", "b"]], ids=lambda command: command[0])
def test_a_link_in_place_of_the_ledger_leads_nowhere(days: Path, command: list[str]) -> None:
    """Whoever may write to the folder could put one there, to have another file overwritten."""
    succeeded(nbtext("train", "a", "--once", cwd=days))
    (days / "precious").write_text("precious")
    (days / "nbtext.joblib.ledger").unlink()
    (days / "nbtext.joblib.ledger").symlink_to("precious")
    model = (days / "nbtext.joblib").read_bytes()
    line = error_line(nbtext(*command, "--once", cwd=days), 4)
    assert line.endswith("nbtext.joblib.ledger: is a symbolic link, which is not followed; put the ledger itself there")
    assert ((days / "precious").read_text(), (days / "nbtext.joblib").read_bytes()) == ("precious", model)


def test_who_may_read_the_model_may_read_its_ledger_and_nobody_else(days: Path) -> None:
    succeeded(nbtext("train", "a", "--once", cwd=days))
    for mode, day in ((0o600, "b"), (0o640, "c"), (0o664, "a")):
        (days / "nbtext.joblib").chmod(mode)
        succeeded(nbtext("update", day, "--once", cwd=days))
        assert {path.name: path.stat().st_mode & 0o777 for path in days.glob("nbtext.joblib*")} == {
            "nbtext.joblib": mode,
            "nbtext.joblib.ledger": mode,
        }


def test_through_a_link_the_ledger_is_beside_the_file(days: Path) -> None:
    (days / "real").mkdir()
    (days / "link").symlink_to("real/model")
    succeeded(nbtext("train", "a", "--once", "-m", "link", cwd=days))
    succeeded(nbtext("update", "b", "--once", "--backup", "-m", "link", cwd=days))
    assert sorted(path.name for path in (days / "real").iterdir()) == ["model", "model.1", "model.ledger"]
    assert (days / "link").is_symlink()


def test_equal_documents_of_one_class_count_once_in_training(tmp_path: Path) -> None:
    corpus(tmp_path, {**{f"c/{name}": text for name, text in PETS.items()}, "c/cats/copy": PETS["cats/1"], "c/zebras/copy": PETS["cats/2"]})
    succeeded(nbtext("train", "c", "--once", cwd=tmp_path))
    classes = json.loads(succeeded(nbtext("inspect", "--output", "json", cwd=tmp_path)).out)["classes"]
    assert {label: of["documents"] for label, of in classes.items()} == {"cats": 1, "dogs": 2, "zebras": 1}


def test_models_of_all_documents_can_be_trained_once_too(days: Path) -> None:
    succeeded(nbtext("train", "a", "b", "--once", "--classifier", "logistic", cwd=days))
    corpus(days, {"all/cats/1": "the cat purrs", "all/cats/2": "a cat climbs", "all/cats/3": "a puppy sleeps"})
    corpus(days, {"all/dogs/1": "the dog barks", "all/birds/2": "the bird sings"})
    succeeded(nbtext("train", "all", "--classifier", "logistic", "-m", "plain", cwd=days))
    rows = [succeeded(nbtext("classify", "all", "-m", model, cwd=days)).rows for model in ("nbtext.joblib", "plain")]
    assert rows[0] == rows[1]


def test_a_ledger_that_knows_what_the_model_does_not_is_found_out(days: Path) -> None:
    succeeded(nbtext("train", "a", "--once", cwd=days))
    with held(str(days / "nbtext.joblib"), lock_timeout=0) as file:
        known = np.frombuffer(fingerprint(b"the bird sings"), FINGERPRINT)
        file.replace(file.load(), Ledger.empty().changed(known, ["cats"]))
    before = [(days / name).read_bytes() for name in ("nbtext.joblib", "nbtext.joblib.ledger")]
    line = error_line(nbtext("update", "c", "--once", cwd=days), 2)
    assert line == "nbtext: c/dogs/1: was never learnt as 'cats'; the ledger says otherwise; begin a new one with nbtext train --once"
    assert [(days / name).read_bytes() for name in ("nbtext.joblib", "nbtext.joblib.ledger")] == before

"""`nbtext update --quick` and `forget --quick`, and what the other commands show of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.model_changes import fail_unchanged, inspect_json
from tests.process import PETS, content, corpus, fail, in_json, nbtext, succeed, write

if TYPE_CHECKING:
    from pathlib import Path


def test_quick_change_can_be_undone_and_chosen_again(pets: Path) -> None:
    corpus(pets, {"more/birds/1": "the bird sings", "more/cats/3": "a young cat"})
    succeed("train pets")
    before = content("nbtext.joblib")
    succeed("update --quick more")
    assert inspect_json(pets)["unseen_documents"] == 2
    assert "2 documents added or removed after these choices" in nbtext("inspect").text
    succeed("train pets more -m whole")
    succeed("update --choose -m nbtext.joblib")
    assert content("nbtext.joblib") == content("whole")
    assert "unseen_documents" not in inspect_json(pets)
    succeed("forget --quick more")
    succeed("update --quick more")
    assert content("nbtext.joblib") == content("whole")
    succeed("forget more")
    succeed("update --quick more --backup")
    assert content("nbtext.joblib.1") == before
    succeed("forget --quick more")
    assert content("nbtext.joblib") == before


@pytest.mark.parametrize("again", ["pets", "more"])
def test_update_with_the_ledger_chooses_again_even_without_new_documents(
    pets: Path, again: str
) -> None:
    corpus(pets, {"more/birds/1": "the bird sings", "more/cats/3": PETS["dogs/1"]})
    succeed("train pets --deduplicate")
    before = content("nbtext.joblib")
    done = nbtext("update more --quick --skip-known -v")
    assert done.notes[0].startswith("nbtext: added 1 document; moved from another class: 1,")
    assert inspect_json(pets)["unseen_documents"] == 2
    quick = content("nbtext.joblib")
    succeed("update more --quick --skip-known")
    assert content("nbtext.joblib") == quick  # nothing is new
    succeed("train pets more --deduplicate -m whole")
    succeed("update --skip-known", again if again == "more" else "more")
    assert content("nbtext.joblib") == content("whole")
    succeed("forget more --skip-unknown --quick")
    assert inspect_json(pets)["unseen_documents"] == 2
    succeed("update pets --quick --skip-known")  # the dog is back
    succeed("update --choose")
    assert content("nbtext.joblib") == before


def test_doctor_warns_from_five_percent_on(tmp_path: Path) -> None:
    write("a.tsv", "".join(f"{'xy'[n % 2]}\tword{n} text\n" for n in range(57)))
    succeed("train a.tsv")
    for number, warns in ((58, False), (59, False), (60, True)):
        write("b.tsv", f"x\tnew word{number}\n")
        succeed("update b.tsv --quick")
        findings = in_json("doctor", cwd=tmp_path)["checks"]
        found = [each for each in findings if each["check"] == "choices"]
        assert bool(found) == warns
    assert found[0]["detail"].startswith("--quick added or removed 3 documents of 60 after")
    succeed("update --choose")
    assert not any(each["check"] == "choices" for each in in_json("doctor", cwd=tmp_path)["checks"])


@pytest.mark.parametrize("command", ["update", "forget"])
def test_excluded_options_and_models_are_refused_in_one_line(pets: Path, command: str) -> None:
    succeed("train pets")
    for option in ("--unlabelled pets/cats/1", "--drop-unlabelled"):
        line = fail_unchanged(pets, f"{command} pets --quick {option}", 2)
        assert line.startswith("nbtext: --quick cannot be used with")
    if command == "update":
        assert "--choose" in fail_unchanged(pets, "update pets --quick --choose", 2)
    succeed("train pets --classifier logistic")
    line = fail_unchanged(pets, f"{command} pets --quick", 2)
    assert "does not follow from sums of counts" in line


def test_choose_needs_a_model_that_can_be_changed(pets: Path) -> None:
    succeed("train pets --classifier logistic")
    assert "does not follow from sums of counts" in fail(2, "update --choose")

"""`nbtext promote`: the pair of model and ledger that takes the place of another, what is refused, and processes that are killed while they do it.

Also tests `model/locked_model.py`.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

from nbtext.errors import ModelError, NbtextError
from nbtext.model.locked_model import LockedModelFile, promote
from nbtext.store.atomic import locked
from nbtext.store.model_file import read_model_bytes
from tests.budget import exhaustive, rounds
from tests.process import HOUSE, PETS, TIME_LIMIT, corpus, fail, nbtext, start, succeed, write
from tests.test_model_locked_model import DYING

MORE = {"more/birds/1": "the bird sings", "more/cats/9": "a cat sleeps"}
ONCE = ["--once"]


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def prepared(folder: Path, old: list[str] | None, new: list[str]) -> Path:
    """Corpora; a model of the pets, unless ``old`` is None; and as ``new`` one of more."""
    corpus(folder, {**{f"pets/{name}": text for name, text in PETS.items()}, **MORE})
    if old is not None:
        succeed("train pets", *old, cwd=folder)
    succeed("train pets more", *new, "-m", "new", cwd=folder)
    return folder


@pytest.fixture
def once(tmp_path: Path) -> Path:
    return prepared(tmp_path, ONCE, ONCE)


def learnt(folder: Path, *corpora: str) -> str:
    """What an update with documents says."""
    return nbtext("update", *corpora, "--once", "-v", cwd=folder).notes[0]


def test_the_pair_is_in_its_place_and_gone_from_where_it_was(once: Path) -> None:
    old, new = (once / "nbtext.joblib").read_bytes(), (once / "new").read_bytes()
    done = nbtext("promote new --backup -v", cwd=once)
    assert (done.status, done.out, len(done.notes)) == (0, b"", 1)
    assert done.notes[0].startswith("nbtext: nbtext.joblib: 3 classes, 6 documents, ")
    found = contents(once)
    assert sorted(found) == ["nbtext.joblib", "nbtext.joblib.1"]
    assert (found["nbtext.joblib"], found["nbtext.joblib.1"]) == (new, old)
    assert learnt(once, "pets", "more").endswith("known already: 6, repeated: 0")


def test_the_model_before_still_has_its_ledger_and_can_be_promoted_back(once: Path) -> None:
    old, new = (once / "nbtext.joblib").read_bytes(), (once / "new").read_bytes()
    succeed("promote new --backup", cwd=once)
    line = fail(2, "promote nbtext.joblib.1 --backup", cwd=once)
    assert line == "nbtext: nbtext.joblib.1: is where --backup keeps the model that is replaced; leave out --backup"
    succeed("promote nbtext.joblib.1", cwd=once)
    assert sorted(contents(once)) == ["nbtext.joblib"]
    assert (once / "nbtext.joblib").read_bytes() == old
    assert learnt(once, "pets", "more") == "nbtext: learnt 2 documents; moved from another class: 0, known already: 4, repeated: 0"
    assert (once / "nbtext.joblib").read_bytes() == new


@pytest.mark.parametrize("new", [[], ONCE], ids=["plain", "once"])
def test_where_there_is_no_model_yet(tmp_path: Path, new: list[str]) -> None:
    prepared(tmp_path, None, new)
    wanted = (tmp_path / "new").read_bytes()
    succeed("promote new --backup")
    assert sorted(contents(tmp_path)) == ["nbtext.joblib"]
    assert (tmp_path / "nbtext.joblib").read_bytes() == wanted
    if new:
        assert learnt(tmp_path, "pets").endswith("known already: 4, repeated: 0")


def test_a_new_model_without_a_ledger_does_not_orphan_one(tmp_path: Path) -> None:
    prepared(tmp_path, ONCE, [])
    before = contents(tmp_path)
    line = fail(2, "promote new")
    why = "has no ledger of documents learnt once, but nbtext.joblib has one"
    assert line == f"nbtext: new: {why}; train it with nbtext train --once, or nbtext prune --ledger -m nbtext.joblib"
    assert contents(tmp_path) == before
    succeed("prune --ledger")
    succeed("promote new")
    assert contents(tmp_path) == {"nbtext.joblib": before["new"]}


def test_a_new_model_without_a_ledger_does_not_lose_a_damaged_one(tmp_path: Path) -> None:
    prepared(tmp_path, ONCE, [])
    whole = (tmp_path / "nbtext.joblib").read_bytes()
    write("nbtext.joblib", whole[:-1] + bytes([whole[-1] ^ 1]))
    before = contents(tmp_path)
    assert "but nbtext.joblib has one" in fail(2, "promote new")
    assert contents(tmp_path) == before
    succeed("prune --ledger")
    succeed("promote new")
    assert contents(tmp_path) == {"nbtext.joblib": before["new"]}


def test_what_is_refused_changes_nothing(once: Path) -> None:
    whole = contents(once)
    for name, damaged, message in (
        ("new", whole["new"][:-1], "new: the ledger is damaged: it has 148 bytes, the index says 149"),
        (
            "new",
            whole["new"][:200] + bytes([whole["new"][200] ^ 1]) + whole["new"][201:],
            "new: the model is damaged: its checksum is wrong",
        ),
        ("new", whole["new"][:-1] + bytes([whole["new"][-1] ^ 1]), "new: the ledger is damaged: its checksum is wrong"),
        ("new", b"x", "new: not an nbtext model"),
    ):
        (once / name).write_bytes(damaged)
        before = contents(once)
        assert message in fail(3, "promote new --backup", cwd=once)
        assert contents(once) == before
        (once / name).write_bytes(whole[name])
    (once / "nbtext.joblib.1").mkdir()
    (once / "nbtext.joblib.1" / "x").touch()
    assert "cannot keep a backup" in fail(4, "promote new --backup", cwd=once)
    assert contents(once) == whole
    assert learnt(once, "pets").endswith("known already: 4, repeated: 0")


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        ("none", 3, "none: there is no model"),
        ("no/none", 3, "no/none: there is no model"),
        ("pets", 3, "pets: cannot read the model: is a directory"),
        ("nbtext.joblib", 2, "nbtext.joblib: is the model itself; name the file of another model"),
        ("./pets/../nbtext.joblib", 2, "is the model itself"),
        ("link -m new", 2, "link: is the model itself"),
        ("new -m pets", 4, "pets: is a directory"),
        ("new -m no/model", 4, "no: the folder does not exist"),
        ("x.lock -m x", 2, "x.lock: has a name that belongs to x; give it another one"),
        ("", 2, "Missing argument 'NEW'"),
        ("new --lock-timeout -1", 2, "--lock-timeout"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_told_in_one_line(once: Path, arguments: str, status: int, message: str) -> None:
    (once / "link").symlink_to("new")
    (once / "x.lock").write_bytes((once / "new").read_bytes())
    before = contents(once)
    assert message in fail(status, f"promote {arguments}", cwd=once)
    assert contents(once) == before


def test_permissions_stay_and_links_are_followed(once: Path) -> None:
    for name in ("real", "made"):
        (once / name).mkdir()
    for name, place in (("nbtext.joblib", "real/model"), ("new", "made/new")):
        (once / name).rename(once / place)
        (once / name).symlink_to(place)
    (once / "real/model").chmod(0o640)
    (once / "made/new").chmod(0o600)
    wanted = (once / "new").read_bytes()
    succeed("promote new --backup", cwd=once)
    assert (once / "nbtext.joblib").is_symlink()
    assert sorted(path.name for path in (once / "real").iterdir()) == ["model", "model.1"]
    assert (once / "real/model").read_bytes() == wanted
    assert (once / "real/model").stat().st_mode & 0o777 == 0o640
    assert list((once / "made").iterdir()) == []
    succeed("train pets --once -m new", cwd=once)
    assert sorted(path.name for path in (once / "made").iterdir()) == ["new"]


def test_from_another_file_system(once: Path) -> None:
    import tempfile

    shared = Path("/dev/shm")
    if not shared.is_dir() or not os.access(shared, os.W_OK) or shared.stat().st_dev == once.stat().st_dev:
        pytest.skip("there is no second file system")
    with tempfile.TemporaryDirectory(dir=shared) as folder:
        elsewhere = Path(folder)
        (elsewhere / "new").write_bytes((once / "new").read_bytes())
        succeed("promote", elsewhere / "new", cwd=once)
        assert list(elsewhere.iterdir()) == []
    assert (once / "nbtext.joblib").read_bytes() == (once / "new").read_bytes()
    assert learnt(once, "more").endswith("known already: 2, repeated: 0")


def test_an_equal_model_is_taken_away_and_the_backup_stays(once: Path) -> None:
    succeed("train pets more --once -m again", cwd=once)
    succeed("promote new --backup", cwd=once)
    before = contents(once)
    succeed("promote again --backup", cwd=once)
    assert contents(once) == {name: content for name, content in before.items() if not name.startswith("again")}


def test_an_equal_model_with_another_ledger_brings_it(tmp_path: Path) -> None:
    prepared(tmp_path, None, ONCE)
    succeed("train pets more")
    succeed("promote new")
    assert learnt(tmp_path, "pets").endswith("known already: 4, repeated: 0")


@pytest.mark.parametrize("held", ["nbtext.joblib", "new"])
def test_both_models_are_locked(once: Path, held: str) -> None:
    before = contents(once)
    with locked(str(once / held), 0):
        line = fail(5, "promote new --lock-timeout 0.1", cwd=once)
        assert f"{held}.lock: another process is writing the model" in line
    assert contents(once) == before


def test_a_new_model_that_is_replaced_while_it_is_read(once: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def and_then_replaced(path: str) -> bytes:
        content = read_model_bytes(path)
        Path(path).write_bytes((once / "nbtext.joblib").read_bytes())
        return content

    monkeypatch.setattr("nbtext.model.locked_model.read_model_bytes", and_then_replaced)
    before = (once / "nbtext.joblib").read_bytes()
    with pytest.raises(ModelError, match=r"new: was replaced while it was read; run it again"):
        promote("new", "nbtext.joblib", lock_timeout=0)
    assert (once / "nbtext.joblib").read_bytes() == before == (once / "new").read_bytes()


def test_a_new_model_that_cannot_be_removed_is_in_its_place_and_done_with_later(once: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real, new = Path.unlink, (once / "new").read_bytes()

    def unlink(path: Path, **how: bool) -> None:
        if path.name == "new":
            raise PermissionError(13, "Permission denied")
        real(path, **how)

    monkeypatch.setattr(Path, "unlink", unlink)
    with pytest.raises(NbtextError, match=r"nbtext.joblib: written, but .*new cannot be removed: permission denied"):
        promote("new", "nbtext.joblib", lock_timeout=0, backup=True)
    monkeypatch.undo()
    assert (once / "nbtext.joblib").read_bytes() == new == (once / "new").read_bytes()
    succeed("promote new --backup", cwd=once)
    assert sorted(contents(once)) == ["nbtext.joblib", "nbtext.joblib.1"]


@pytest.mark.repeated
@pytest.mark.parametrize("old", [None, [], ONCE], ids=["first", "plain", "once"])
def test_killed_at_any_step_the_pair_is_the_old_one_or_the_new_and_the_next_run_finishes(tmp_path: Path, old: list[str] | None) -> None:
    prepared(tmp_path, old, ONCE)
    before = contents(tmp_path)
    outcomes = set()
    for die_at in range(1, 100, rounds(4, 1)):
        for name in contents(tmp_path):
            (tmp_path / name).unlink()
        for name, content in before.items():
            (tmp_path / name).write_bytes(content)
        code = [sys.executable, "-c", DYING, str(die_at), "promote", "new", "--backup"]
        with start(code, env=HOUSE) as child:
            status = child.wait(TIME_LIMIT)
        found = contents(tmp_path)
        present = found.get("nbtext.joblib")
        assert present in (before.get("nbtext.joblib"), before["new"])
        if present is not None:
            known = LockedModelFile("nbtext.joblib", backup=False).ledger()
            assert len(known or ()) == (6 if present == before["new"] else 4 if old else 0)
        assert found.get("new", present) == before["new"]
        outcomes.add((status, present == before["new"], "new" in found))
        if "new" in found:
            succeed("promote new --backup")
        left = contents(tmp_path)
        assert left["nbtext.joblib"] == before["new"]
        assert left.get("nbtext.joblib.1") == before.get("nbtext.joblib")
        assert set(left) - {"new.lock", "nbtext.joblib.lock"} == {"nbtext.joblib", *(["nbtext.joblib.1"] if old is not None else [])}
        assert learnt(tmp_path, "pets", "more").endswith("known already: 6, repeated: 0")
        if status == 0:
            break
    killed = -signal.SIGKILL
    every = {(killed, False, True), (killed, True, True), (killed, True, False), (0, True, False)}
    assert outcomes == every if exhaustive() else outcomes <= every
    assert len(outcomes) > 1

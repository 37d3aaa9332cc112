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
from nbtext.model.locked_model import Backups, LockedModelFile, promote
from nbtext.store.atomic import lock_path
from nbtext.store.model_file import read_model_bytes
from tests.commands import read_folder
from tests.model_changes import damage_ledger
from tests.process import (
    ENVIRONMENT,
    PET_FILES,
    TIME_LIMIT,
    content,
    corpus,
    fail,
    names,
    nbtext,
    start,
    succeed,
    write,
)
from tests.profiles import exhaustive, rounds
from tests.test_model_locked_model import DYING

MORE = {"more/birds/1": "the bird sings", "more/cats/9": "a cat sleeps"}
ONCE = ["--deduplicate"]


def prepare_models(folder: Path, old: list[str] | None, new: list[str]) -> Path:
    """Corpora; a model of the pets, unless ``old`` is None; and as ``new`` one of more."""
    corpus(folder, {**PET_FILES, **MORE})
    if old is not None:
        succeed("train pets", *old)
    succeed("train pets more", *new, "-m", "new")
    return folder


@pytest.fixture
def once(tmp_path: Path) -> Path:
    return prepare_models(tmp_path, ONCE, ONCE)


def update_and_get_notice(*corpora: str) -> str:
    """What an update with documents says."""
    return nbtext("update", *corpora, "--skip-known", "-v").notes[0]


def test_promote_replaces_model_and_ledger_and_removes_the_new_files(once: Path) -> None:
    old, new = content("nbtext.joblib"), content("new")
    done = nbtext("promote new --backup -v")
    assert (done.status, done.out, len(done.notes)) == (0, b"", 1)
    assert done.notes[0].startswith("nbtext: nbtext.joblib: 3 classes, 6 documents, ")
    found = read_folder(once)
    assert sorted(found) == ["nbtext.joblib", "nbtext.joblib.1"]
    assert (found["nbtext.joblib"], found["nbtext.joblib.1"]) == (new, old)
    assert update_and_get_notice("pets", "more").endswith(
        "already in the model: 6, repeated in the input: 0"
    )


def test_backup_keeps_its_ledger_and_can_be_promoted(once: Path) -> None:
    old, new = content("nbtext.joblib"), content("new")
    succeed("promote new --backup")
    line = fail(2, "promote nbtext.joblib.1 --backup")
    assert (
        line
        == "nbtext: nbtext.joblib.1: is where --backup keeps the model that is replaced; remove --backup"
    )
    succeed("promote nbtext.joblib.1")
    assert sorted(read_folder(once)) == ["nbtext.joblib"]
    assert content("nbtext.joblib") == old
    assert (
        update_and_get_notice("pets", "more")
        == "nbtext: added 2 documents; moved from another class: 0, already in the model: 4, repeated in the input: 0"
    )
    assert content("nbtext.joblib") == new


@pytest.mark.parametrize("new", [[], ONCE], ids=["plain", "once"])
def test_promote_without_an_old_model_moves_the_new_one(tmp_path: Path, new: list[str]) -> None:
    prepare_models(tmp_path, None, new)
    wanted = content("new")
    succeed("promote new --backup")
    assert sorted(read_folder(tmp_path)) == ["nbtext.joblib"]
    assert content("nbtext.joblib") == wanted
    if new:
        assert update_and_get_notice("pets").endswith(
            "already in the model: 4, repeated in the input: 0"
        )


@pytest.mark.parametrize("damaged", [False, True], ids=["whole", "damaged"])
def test_model_without_a_ledger_does_not_replace_one_with_a_ledger(
    tmp_path: Path, damaged: bool
) -> None:
    prepare_models(tmp_path, ONCE, [])
    if damaged:
        damage_ledger()
    before = read_folder(tmp_path)
    line = fail(2, "promote new")
    why = "has no ledger, but nbtext.joblib has one"
    assert (
        line
        == f"nbtext: new: {why}; train it with nbtext train --deduplicate, or nbtext prune --ledger -m nbtext.joblib"
    )
    assert read_folder(tmp_path) == before
    succeed("prune --ledger")
    succeed("promote new")
    assert read_folder(tmp_path) == {"nbtext.joblib": before["new"]}


def test_refused_promotion_changes_nothing(once: Path) -> None:
    whole = read_folder(once)
    for name, damaged, message in (
        (
            "new",
            whole["new"][:-1],
            "new: the ledger is damaged: it has 148 bytes, the index says 149",
        ),
        (
            "new",
            whole["new"][:200] + bytes([whole["new"][200] ^ 1]) + whole["new"][201:],
            "new: the model is damaged: its checksum is wrong",
        ),
        (
            "new",
            whole["new"][:-1] + bytes([whole["new"][-1] ^ 1]),
            "new: the ledger is damaged: its checksum is wrong",
        ),
        ("new", b"x", "new: not an nbtext model"),
    ):
        write(name, damaged)
        before = read_folder(once)
        assert message in fail(3, "promote new --backup")
        assert read_folder(once) == before
        write(name, whole[name])
    (once / "nbtext.joblib.1").mkdir()
    (once / "nbtext.joblib.1" / "x").touch()
    assert "cannot keep a backup" in fail(4, "promote new --backup")
    assert read_folder(once) == whole
    assert update_and_get_notice("pets").endswith(
        "already in the model: 4, repeated in the input: 0"
    )


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        ("none", 3, "none: the model file does not exist"),
        ("no/none", 3, "no/none: the model file does not exist"),
        ("pets", 3, "pets: cannot read the model: is a directory"),
        ("nbtext.joblib", 2, "nbtext.joblib: is the model itself; name the file of another model"),
        ("./pets/../nbtext.joblib", 2, "is the model itself"),
        ("link -m new", 2, "link: is the model itself"),
        ("new -m pets", 4, "pets: is a directory"),
        ("new -m no/model", 4, "no: the folder does not exist"),
        ("x.lock -m x", 2, "x.lock: has a name that belongs to x; choose another one"),
        ("", 2, "Missing argument 'NEW'"),
        ("new --lock-timeout -1", 2, "--lock-timeout"),
    ],
)  # fmt: skip
def test_impossible_promotion_is_refused_in_one_line(
    once: Path, arguments: str, status: int, message: str
) -> None:
    (once / "link").symlink_to("new")
    write("x.lock", content("new"))
    before = read_folder(once)
    assert message in fail(status, f"promote {arguments}")
    assert read_folder(once) == before


def test_promote_keeps_permissions_and_follows_links(once: Path) -> None:
    for name in ("real", "made"):
        (once / name).mkdir()
    for name, place in (("nbtext.joblib", "real/model"), ("new", "made/new")):
        (once / name).rename(once / place)
        (once / name).symlink_to(place)
    (once / "real/model").chmod(0o640)
    (once / "made/new").chmod(0o600)
    wanted = content("new")
    succeed("promote new --backup")
    assert (once / "nbtext.joblib").is_symlink()
    assert names(once / "real") == ["model", "model.1"]
    assert content("real/model") == wanted
    assert (once / "real/model").stat().st_mode & 0o777 == 0o640
    assert list((once / "made").iterdir()) == []
    succeed("train pets --deduplicate -m new")
    assert names(once / "made") == ["new"]


def test_promote_works_across_file_systems(once: Path) -> None:
    import tempfile

    shared = Path("/dev/shm")
    if (
        not shared.is_dir()
        or not os.access(shared, os.W_OK)
        or shared.stat().st_dev == once.stat().st_dev
    ):
        pytest.skip("there is no second file system")
    with tempfile.TemporaryDirectory(dir=shared) as folder:
        elsewhere = Path(folder)
        (elsewhere / "new").write_bytes(content("new"))
        succeed("promote", elsewhere / "new")
        assert list(elsewhere.iterdir()) == []
    assert content("nbtext.joblib") == content("new")
    assert update_and_get_notice("more").endswith(
        "already in the model: 2, repeated in the input: 0"
    )


def test_promoting_an_equal_model_removes_it_and_keeps_the_backup(once: Path) -> None:
    succeed("train pets more --deduplicate -m again")
    succeed("promote new --backup")
    before = read_folder(once)
    succeed("promote again --backup")
    assert read_folder(once) == {
        name: of_file for name, of_file in before.items() if not name.startswith("again")
    }


def test_promoting_an_equal_model_adds_its_ledger(tmp_path: Path) -> None:
    prepare_models(tmp_path, None, ONCE)
    succeed("train pets more")
    succeed("promote new")
    assert update_and_get_notice("pets").endswith(
        "already in the model: 4, repeated in the input: 0"
    )


@pytest.mark.parametrize("held", ["nbtext.joblib", "new"])
def test_promote_locks_both_models(once: Path, held: str) -> None:
    before = read_folder(once)
    with lock_path(str(once / held), 0):
        line = fail(5, "promote new --lock-timeout 0.1")
        assert f"{held}.lock: another process is writing the model" in line
    assert read_folder(once) == before


def test_new_model_replaced_while_read_is_refused(
    once: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def and_then_replaced(path: str) -> bytes:
        model = read_model_bytes(path)
        write(path, content("nbtext.joblib"))
        return model

    monkeypatch.setattr("nbtext.model.locked_model.read_model_bytes", and_then_replaced)
    before = content("nbtext.joblib")
    with pytest.raises(ModelError, match=r"new: was replaced while it was read; run it again"):
        promote("new", "nbtext.joblib", lock_timeout=0)
    assert content("nbtext.joblib") == before == content("new")


def test_new_model_that_cannot_be_removed_is_promoted_and_removed_later(
    once: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, new = Path.unlink, content("new")

    def unlink(path: Path, **how: bool) -> None:
        if path.name == "new":
            raise PermissionError(13, "Permission denied")
        real(path, **how)

    monkeypatch.setattr(Path, "unlink", unlink)
    with pytest.raises(
        NbtextError, match=r"nbtext.joblib: written, but .*new cannot be removed: permission denied"
    ):
        promote("new", "nbtext.joblib", lock_timeout=0, backups=Backups(previous=True))
    monkeypatch.undo()
    assert content("nbtext.joblib") == new == content("new")
    succeed("promote new --backup")
    assert sorted(read_folder(once)) == ["nbtext.joblib", "nbtext.joblib.1"]


@pytest.mark.repeated
@pytest.mark.parametrize("old", [None, [], ONCE], ids=["first", "plain", "once"])
def test_promote_killed_at_any_step_leaves_old_or_new_and_next_run_finishes(
    tmp_path: Path, old: list[str] | None
) -> None:
    prepare_models(tmp_path, old, ONCE)
    before = read_folder(tmp_path)
    outcomes = set()
    for die_at in range(1, 100, rounds(4, 1)):
        for name in read_folder(tmp_path):
            (tmp_path / name).unlink()
        for name, old_content in before.items():
            write(name, old_content)
        code = [sys.executable, "-c", DYING, str(die_at), "promote", "new", "--backup"]
        with start(code, env=ENVIRONMENT) as child:
            status = child.wait(TIME_LIMIT)
        found = read_folder(tmp_path)
        present = found.get("nbtext.joblib")
        assert present in (before.get("nbtext.joblib"), before["new"])
        if present is not None:
            known = LockedModelFile("nbtext.joblib").read_ledger()
            assert len(known or ()) == (6 if present == before["new"] else 4 if old else 0)
        assert found.get("new", present) == before["new"]
        outcomes.add((status, present == before["new"], "new" in found))
        if "new" in found:
            succeed("promote new --backup")
        left = read_folder(tmp_path)
        assert left["nbtext.joblib"] == before["new"]
        assert left.get("nbtext.joblib.1") == before.get("nbtext.joblib")
        assert set(left) - {"new.lock", "nbtext.joblib.lock"} == {
            "nbtext.joblib",
            *(["nbtext.joblib.1"] if old is not None else []),
        }
        assert update_and_get_notice("pets", "more").endswith(
            "already in the model: 6, repeated in the input: 0"
        )
        if status == 0:
            break
    killed = -signal.SIGKILL
    every = {(killed, False, True), (killed, True, True), (killed, True, False), (0, True, False)}
    assert outcomes == every if exhaustive() else outcomes <= every
    assert len(outcomes) > 1

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from nbtext.errors import PathError
from nbtext.store.backup import keep_backup
from tests.process import corpus, error_line, nbtext, succeeded

if TYPE_CHECKING:
    from pathlib import Path


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_what_is_there_is_kept_in_place_of_what_was_kept(tmp_path: Path) -> None:
    target = tmp_path / "m"
    keep_backup(target)
    assert names(tmp_path) == []
    for content in ("one", "two"):
        target.unlink(missing_ok=True)
        target.write_text(content)
        keep_backup(target)
        assert (target.read_text(), (tmp_path / "m.1").read_text()) == (content, content)
    assert names(tmp_path) == ["m", "m.1"]


def test_a_copy_does_where_a_file_can_have_one_name_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    (tmp_path / "m").write_text("one")
    (tmp_path / "m").chmod(0o640)
    keep_backup(tmp_path / "m")
    assert ((tmp_path / "m.1").read_text(), (tmp_path / "m.1").stat().st_mode & 0o777, names(tmp_path)) == ("one", 0o640, ["m", "m.1"])


def test_what_a_killed_process_left_is_used_up(tmp_path: Path) -> None:
    (tmp_path / "m").write_text("one")
    (tmp_path / ".m.nbtext-backup__.tmp").write_text("left")
    keep_backup(tmp_path / "m")
    assert ((tmp_path / "m.1").read_text(), names(tmp_path)) == ("one", ["m", "m.1"])


def test_a_file_that_is_its_own_backup_already(tmp_path: Path) -> None:
    (tmp_path / "m").write_text("one")
    for _ in range(2):
        keep_backup(tmp_path / "m")
        assert (tmp_path / "m").samefile(tmp_path / "m.1")
        assert names(tmp_path) == ["m", "m.1"]


def test_where_there_can_be_no_backup(tmp_path: Path) -> None:
    (tmp_path / "m").write_text("one")
    (tmp_path / "m.1").mkdir()
    (tmp_path / "m.1/x").mkdir()
    with pytest.raises(PathError, match=r"m\.1: cannot keep a backup: is a directory; the model is as it was"):
        keep_backup(tmp_path / "m")
    assert names(tmp_path) == ["m", "m.1"]


def test_every_command_that_writes_a_model_keeps_the_one_it_replaces(pets: Path) -> None:
    corpus(pets, {"one/birds/1": "the bird sings"})
    first = (pets / "nbtext.joblib").read_bytes()
    (pets / "other").write_bytes(first)
    for command in (
        ["train", "pets", "--smoothing", "1"],
        ["update", "one"],
        ["update", "one", "--once", "-q"],
        ["forget", "one"],
        ["relabel", "cats", "felines"],
        ["merge", "nbtext.joblib", "other", "--output", "nbtext.joblib"],
        ["prune", "--min-df", "2"],
        ["tune", "pets", "--try", "smoothing=1,2", "--folds", "2", "-q"],
    ):
        before = (pets / "nbtext.joblib").read_bytes()
        done = nbtext(*command, "--backup", cwd=pets)
        assert done.status == 0, done
        assert (pets / "nbtext.joblib.1").read_bytes() == before != (pets / "nbtext.joblib").read_bytes(), command
    assert "nbtext.joblib.1.1" not in names(pets)


def test_without_an_old_model_there_is_no_backup(pets: Path) -> None:
    succeeded(nbtext("train", "pets", "--backup", "-m", "new", cwd=pets))
    assert names(pets) == ["nbtext.joblib", "new", "pets"]


def test_a_backup_that_cannot_be_made_leaves_the_model(pets: Path) -> None:
    (pets / "nbtext.joblib.1").mkdir()
    (pets / "nbtext.joblib.1/x").touch()
    before = (pets / "nbtext.joblib").read_bytes()
    line = error_line(nbtext("update", "pets", "--once", "-q", "--backup", cwd=pets), 4)
    assert line.endswith("nbtext.joblib.1: cannot keep a backup: is a directory; the model is as it was")
    assert (pets / "nbtext.joblib").read_bytes() == before
    (pets / "nbtext.joblib.1/x").unlink()
    (pets / "nbtext.joblib.1").rmdir()
    done = nbtext("update", "pets", "--once", "-v", cwd=pets)  # the ledger that was written already does not count
    assert "nbtext: learnt 4 documents; moved from another class: 0, known already: 0, repeated: 0" in done.notes

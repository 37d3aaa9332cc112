from __future__ import annotations

import os
import signal
import stat
from typing import TYPE_CHECKING

import pytest

from nbtext.store.atomic import keep_backup, replace_file
from tests.process import (
    PET_FILES,
    content,
    corpus,
    error_line,
    fail,
    names,
    nbtext,
    python,
    succeed,
    write,
)

if TYPE_CHECKING:
    from pathlib import Path


def test_backup_replaces_the_previous_backup(tmp_path: Path) -> None:
    target = tmp_path / "m"
    keep_backup(target)
    assert names(tmp_path) == []
    for text in ("one", "two"):
        target.unlink(missing_ok=True)
        write("m", text)
        keep_backup(target)
        assert (target.read_text(), (tmp_path / "m.1").read_text()) == (text, text)
    assert names(tmp_path) == ["m", "m.1"]


def test_backup_is_a_copy_where_hard_links_are_not_permitted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    write("elsewhere", "precious")
    (tmp_path / "m.1").symlink_to("elsewhere")
    write("m", "one")
    (tmp_path / "m").chmod(0o4640)
    keep_backup(tmp_path / "m")
    assert ((tmp_path / "m.1").read_text(), (tmp_path / "m.1").lstat().st_mode) == (
        "one",
        stat.S_IFREG | 0o640,
    )
    assert ((tmp_path / "elsewhere").read_text(), names(tmp_path)) == (
        "precious",
        ["elsewhere", "m", "m.1"],
    )


@pytest.mark.parametrize("has_links", [True, False])
def test_files_of_a_killed_backup_are_removed_by_the_next_change(
    tmp_path: Path, has_links: bool
) -> None:
    """Also one without a backup; the process is killed when the second name or the copy is there but not in its place."""
    code = (
        "import os, signal, sys; from pathlib import Path; from nbtext.store.atomic import keep_backup\n"
        "def refuse(*_, **__): raise PermissionError(1, 'Operation not permitted')\n"
        f"os.link = os.link if {has_links} else refuse\n"
        "Path.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n"
        "keep_backup(Path(sys.argv[1]))"
    )
    write("m", "one")
    assert python(code, tmp_path / "m").status == -signal.SIGKILL
    assert len(names(tmp_path)) == 2
    replace_file("m", lambda file: file.writelines((b"two",)))
    assert names(tmp_path) == ["m"]


def test_file_that_is_already_its_own_backup_is_kept(tmp_path: Path) -> None:
    write("m", "one")
    for _ in range(2):
        keep_backup(tmp_path / "m")
        assert (tmp_path / "m").samefile(tmp_path / "m.1")
        assert names(tmp_path) == ["m", "m.1"]


def test_every_writing_command_keeps_a_backup(pets: Path) -> None:
    corpus(pets, {"one/birds/1": "the bird sings"})
    first = content("nbtext.joblib")
    write("other", first)
    for command in (
        ["train", "pets", "--smoothing", "1"],
        ["update", "one"],
        ["update", "one", "--skip-known", "-q"],
        ["forget", "one"],
        ["relabel", "cats", "felines"],
        ["merge", "nbtext.joblib", "other", "--to", "nbtext.joblib"],
        ["prune", "--min-df", "2"],
        ["tune", "pets", "--try", "smoothing=1,2", "--folds", "2", "-q"],
    ):
        before = content("nbtext.joblib")
        done = nbtext(*command, "--backup")
        assert done.status == 0, done
        assert content("nbtext.joblib.1") == before != content("nbtext.joblib"), command
    assert "nbtext.joblib.1.1" not in names(pets)


def test_failed_backup_leaves_the_model(pets: Path) -> None:
    (pets / "nbtext.joblib.1").mkdir()
    (pets / "nbtext.joblib.1/x").touch()
    before = content("nbtext.joblib")
    line = fail(4, "update pets --skip-known -q --backup")
    assert line.endswith(
        "nbtext.joblib.1: cannot keep a backup: is a directory; the model is as it was"
    )
    assert content("nbtext.joblib") == before
    (pets / "nbtext.joblib.1/x").unlink()
    (pets / "nbtext.joblib.1").rmdir()
    done = nbtext(
        "update pets --skip-known -v"
    )  # the ledger that was written already does not count
    assert (
        "nbtext: added 4 documents; moved from another class: 0, already in the model: 0, repeated in the input: 0"
        in done.notes
    )


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become somebody else")
def test_model_of_another_user_in_a_sticky_folder_is_refused(
    shared_folder: Path,
) -> None:
    """A second name of such a file could be made there by everybody and be removed by its owner only."""
    corpus(shared_folder, PET_FILES)
    succeed("train pets -m m", cwd=shared_folder)
    (shared_folder / "m").chmod(0o666)
    shared_folder.chmod(0o1777)
    code = (
        "import os, sys; from nbtext.cli import main; main.run(['update', 'pets', '-m', 'm', '--backup'])\n"  # so that all is imported
        "os.remove('m.1'); os.setgid(65534); os.setuid(65534); sys.exit(main.run(sys.argv[1:]))"
    )
    line = error_line(python(code, "update", "pets", "-m", "m", "--backup", cwd=shared_folder), 4)
    assert (
        line
        == "nbtext: m: belongs to another user, and the folder is sticky; write to a folder of your own"
    )
    assert names(shared_folder) == ["m", "pets"]

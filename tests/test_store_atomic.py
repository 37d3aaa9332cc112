from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import signal
import stat
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from nbtext.errors import PathError
from nbtext.store.atomic import _remove_abandoned, check_replaceable, replace_file
from tests.process import (
    ENVIRONMENT,
    PET_FILES,
    TIME_LIMIT,
    bash,
    content,
    corpus,
    error_line,
    fail,
    names,
    nbtext,
    python,
    start,
    write,
)

if TYPE_CHECKING:
    from pathlib import Path
    from typing import IO


def new(file: IO[bytes]) -> None:
    file.write(b"new")


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o444, 0o755])
def test_permissions_are_kept(tmp_path: Path, mode: int) -> None:
    path = write("m", b"old")
    path.chmod(mode)
    replace_file("m", new)
    assert (content("m"), path.stat().st_mode & 0o777, names(tmp_path)) == (b"new", mode, ["m"])


@pytest.mark.parametrize("mode", [0o4755, 0o2755, 0o1644])
def test_replaced_file_loses_setuid_and_setgid_bits(tmp_path: Path, mode: int) -> None:
    path = write("m", b"old")
    path.chmod(mode)
    replace_file("m", new)
    assert path.stat().st_mode & 0o7777 == mode & 0o777


def test_side_file_has_the_main_files_permissions_and_replaces_a_link(
    tmp_path: Path,
) -> None:
    for name in ("m", "elsewhere"):
        write(name, b"old")
    (tmp_path / "m").chmod(0o600)
    (tmp_path / "m.more").symlink_to("elsewhere")
    replace_file("m.more", new, main_file=tmp_path / "m")
    assert ((tmp_path / "m.more").lstat().st_mode, content("m.more")) == (
        stat.S_IFREG | 0o600,
        b"new",
    )
    assert (content("elsewhere"), names(tmp_path)) == (b"old", ["elsewhere", "m", "m.more"])


def test_link_swapped_for_the_temporary_file_is_not_written_through(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("elsewhere", b"precious")
    lock = fcntl.flock

    def lock_and_swap(descriptor: int, operation: int) -> None:
        lock(descriptor, operation)
        [temporary] = tmp_path.glob(".m.*")
        temporary.rename(tmp_path / "moved")
        temporary.symlink_to("elsewhere")
        monkeypatch.undo()

    monkeypatch.setattr(fcntl, "flock", lock_and_swap)
    with contextlib.suppress(PathError):
        replace_file("m", new)
    assert content("elsewhere") == b"precious"


@pytest.mark.parametrize(("mask", "mode"), [("022", 0o644), ("077", 0o600), ("002", 0o664)])
def test_new_file_has_the_permissions_of_the_umask(pets: Path, mask: str, mode: int) -> None:
    assert bash(f"umask {mask}; $NBTEXT train pets -m new").status == 0
    assert (pets / "new").stat().st_mode & 0o777 == mode


def test_symbolic_link_is_kept_and_its_target_written(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    write("real/m", b"old")
    for name, target in (("link", "real/m"), ("dangling", "real/other")):
        (tmp_path / name).symlink_to(target)
        replace_file(name, new)
        assert (tmp_path / name).is_symlink()
        assert content(target) == b"new"
    assert names(tmp_path / "real") == ["m", "other"]


def test_file_names_of_every_length_are_replaced(tmp_path: Path) -> None:
    for name in ("m", "x" * 255, "語" * 85, "\udcff\n"):
        replace_file(name, new)
        assert content(name) == b"new"


def test_error_names_the_folder_as_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "link").symlink_to("elsewhere/m")
    for given, named in (
        ("none/m", "none"),
        ("./none/deep/m", "none/deep"),
        (str(tmp_path / "none/m"), str(tmp_path / "none")),
        ("link", str(tmp_path.resolve() / "elsewhere")),
    ):
        with pytest.raises(PathError) as raised:
            check_replaceable(given)
        assert raised.value.where == named


def test_directories_pipes_and_loops_are_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to("loop")
    for name, why in (
        ("folder", "is a directory"),
        ("pipe", "not a regular file"),
        ("/dev/null", "not a regular file"),
        ("loop", "too many levels"),
        ("none/m", "the folder does not exist; make it first"),
        ("pipe/m", "not a directory"),
        ("y" * 256, "too long"),
    ):
        with pytest.raises(PathError, match=why):
            check_replaceable(name)
    assert names(tmp_path) == ["folder", "loop", "pipe"]


def test_exception_in_the_writer_leaves_the_old_file(tmp_path: Path) -> None:
    write("m", b"old")

    def fail(file: IO[bytes]) -> None:
        file.write(b"half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        replace_file("m", fail)
    assert (content("m"), names(tmp_path)) == (b"old", ["m"])


ABANDONED = ".m.nbtext-abcdefg_.tmp"


def test_only_temporary_files_of_killed_processes_are_removed(tmp_path: Path) -> None:
    others = [
        ".m.nbtext-abcdefgh.tmp.txt", ".m.nbtext-ABCDEFGH.tmp", ".m.nbtext-abc.tmp", ".n.nbtext-abcdefgh.tmp", ".m.tmp", "m.tmp", "x.m.nbtext-abcdefgh.tmp",
    ]  # fmt: skip
    for name in (ABANDONED, *others):
        write(name, b"half")
    os.mkfifo(tmp_path / ".m.nbtext-pipepipe.tmp")
    (tmp_path / ".m.nbtext-linklink.tmp").symlink_to(others[0])
    replace_file("m", new)
    assert names(tmp_path) == sorted(
        [*others, "m", ".m.nbtext-pipepipe.tmp", ".m.nbtext-linklink.tmp"]
    )


def test_temporary_file_of_a_running_process_is_kept(tmp_path: Path) -> None:
    with (tmp_path / ABANDONED).open("wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        replace_file("m", new)
        assert names(tmp_path) == [ABANDONED, "m"]
    replace_file("m", new)
    assert names(tmp_path) == ["m"]


def test_temporary_file_removed_before_locking_is_created_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = fcntl.flock
    taken: list[str] = []

    def lock_too_late(descriptor: int, operation: int) -> None:
        if not taken:
            taken.extend(names(tmp_path))
            _remove_abandoned(tmp_path / "m")
        lock(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", lock_too_late)
    write("m", b"old")
    replace_file("m", new)
    assert len(taken) == 2
    assert (content("m"), names(tmp_path)) == (b"new", ["m"])


def test_file_is_written_without_locks_or_directory_listing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    write(ABANDONED, b"of nobody knows whom")
    replace_file("m", new)
    monkeypatch.setattr(os, "scandir", refuse)
    replace_file("m", new)
    monkeypatch.undo()
    assert names(tmp_path) == [ABANDONED, "m"]


def test_invalid_target_is_reported_before_the_corpus_is_read(pets: Path) -> None:
    os.mkfifo(pets / "endless.tsv")  # reading it would wait for ever
    for target in ("none/m", "pets", "endless.tsv"):
        line = fail(4, "train endless.tsv -m", target)
        assert target.partition("/")[0] in line


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become somebody else")
def test_folder_without_write_permission_is_reported(shared_folder: Path) -> None:
    code = (
        "import os, sys; from nbtext.cli import main, train; from nbtext import TextClassifier; import nbtext.store\n"
        "import nbtext.cli.corpus, nbtext.classifiers.base, Stemmer, joblib, tempfile\n"
        "os.chdir(sys.argv[1]); os.setgid(65534); os.setuid(65534); sys.exit(main.run(['train', 'pets']))"
    )
    corpus(shared_folder, PET_FILES)
    line = error_line(python(code, shared_folder), 4)
    assert "cannot write into the folder; check its permissions" in line
    assert names(shared_folder) == ["pets"]


@pytest.mark.parametrize("size", [0, 1, 100, 2000])
def test_full_disk_leaves_the_old_model(pets: Path, size: int) -> None:
    old = content("nbtext.joblib")
    line = error_line(nbtext("train pets", limits={"FSIZE": size}), 4)
    assert line == "nbtext: nbtext.joblib: cannot write: file too large; the file is as it was"
    assert (content("nbtext.joblib"), names(pets)) == (old, ["nbtext.joblib", "pets"])


@pytest.mark.parametrize(
    "number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP], ids=lambda number: number.name
)
def test_signal_during_training_leaves_the_old_model(pets: Path, number: signal.Signals) -> None:
    old = content("nbtext.joblib")
    with start(
        [sys.executable, "-m", "nbtext", "train", "-", "--format", "tsv"],
        env=ENVIRONMENT,
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as child:
        assert child.stdin is not None
        assert child.stderr is not None
        for _ in range(
            200
        ):  # more than a pipe holds, so the last write returns when the corpus is being read
            child.stdin.write(b"label\t" + b"some words " * 200 + b"\n")
        child.stdin.flush()
        child.send_signal(number)
        assert child.wait(TIME_LIMIT) == 128 + number
        message = b"nbtext: interrupted; nothing was written" if number == signal.SIGINT else b""
        assert child.stderr.read().strip() == message
    assert (content("nbtext.joblib"), names(pets)) == (old, ["nbtext.joblib", "pets"])


def test_model_being_replaced_can_always_be_loaded(pets: Path) -> None:
    command = [
        sys.executable,
        "-c",
        "from nbtext import TextClassifier as T\nfor i in range(60): T().fit(['a bc'] * 2, ['x', 'y']).save('nbtext.joblib')",
    ]
    from nbtext import TextClassifier

    with start(command, env=ENVIRONMENT) as child:
        begin = time.monotonic()
        while child.poll() is None and time.monotonic() < begin + TIME_LIMIT:
            assert TextClassifier.load("nbtext.joblib").classes in (["cats", "dogs"], ["x", "y"])
        assert child.wait() == 0
    assert names(pets) == ["nbtext.joblib", "pets"]

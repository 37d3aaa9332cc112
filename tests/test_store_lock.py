from __future__ import annotations

import errno
import fcntl
import json
import os
import signal
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import pytest

from nbtext.errors import LockedError, PathError
from nbtext.store.atomic import lock_path
from tests.process import (
    ENVIRONMENT,
    PET_FILES,
    PETS,
    TIME_LIMIT,
    Running,
    bash,
    content,
    corpus,
    error_line,
    names,
    nbtext,
    python,
    start,
    succeed,
    write,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

HOLDER = """
import signal, sys
from nbtext.store.atomic import lock_path
with lock_path(sys.argv[1], 0):
    print("held", flush=True)
    signal.pause()
"""

COUNTER = """
import sys
from pathlib import Path
from nbtext.store.atomic import lock_path
for _ in range(200):
    with lock_path("model", 60):
        number = int(Path("number").read_text())
        Path("number").write_text(str(number + 1))
"""


@pytest.fixture
def holder(pets: Path) -> Iterator[Running]:
    """A process that holds the lock of the model of `pets`."""
    command = [sys.executable, "-c", HOLDER, "nbtext.joblib"]
    with start(command, env=ENVIRONMENT, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"held\n"
        yield child
        child.kill()


def test_lock_file_is_named_after_the_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real/m")
    (tmp_path / "folder").symlink_to("real")
    for held, asked, named in (
        ("real/m", "real/m", "real/m.lock"),
        ("real/m", "./real/../real/m", "./real/../real/m.lock"),
        ("real/m", str(tmp_path / "real/m"), str(tmp_path / "real/m.lock")),
        ("real/m", "folder/m", "folder/m.lock"),
        ("real/m", "link", str(tmp_path.resolve() / "real/m.lock")),
    ):
        with lock_path(held, 0), pytest.raises(LockedError) as raised, lock_path(asked, 0):
            pass
        assert raised.value.where == named
    with pytest.raises(PathError) as failed, lock_path("none/m", 0):
        pass
    assert failed.value.where == "none/m.lock"


def test_lock_file_is_removed_afterwards(tmp_path: Path) -> None:
    with lock_path("m", 0):
        assert names(tmp_path) == ["m.lock"]
    with pytest.raises(KeyboardInterrupt), lock_path("m", 0):
        raise KeyboardInterrupt
    assert names(tmp_path) == []


def test_lock_is_exclusive_even_in_one_process(tmp_path: Path) -> None:
    path = "m"
    with lock_path(path, 0):
        with (
            pytest.raises(
                LockedError,
                match=r"m\.lock: another process is writing the model now; try again, or set a longer",
            ),
            lock_path(path, 0),
        ):
            pass
        with pytest.raises(LockedError, match=r"for 0\.05 s"), lock_path(path, 0.05):
            pass
    with lock_path(path, 0):
        pass


def test_waiting_thread_gets_the_lock_when_it_is_free(tmp_path: Path) -> None:
    path, order = "m", []
    with lock_path(path, 0):
        begun = threading.Event()

        def wait() -> None:
            begun.set()
            with lock_path(path, TIME_LIMIT):
                order.append("second")

        thread = threading.Thread(target=wait)
        thread.start()
        assert begun.wait(TIME_LIMIT)
        order.append("first")
    thread.join(TIME_LIMIT)
    assert order == ["first", "second"]
    assert names(tmp_path) == []


def test_concurrent_processes_count_to_a_thousand(tmp_path: Path) -> None:
    write("number", "0")
    children = [start([sys.executable, "-c", COUNTER], env=ENVIRONMENT) for _ in range(5)]
    assert [child.wait(TIME_LIMIT) for child in children] == [0] * 5
    assert (tmp_path / "number").read_text() == "1000"
    assert names(tmp_path) == ["number"]


def test_stale_lock_file_is_ignored(tmp_path: Path) -> None:
    write("m.lock", "anything")
    with lock_path("m", 0):
        pass
    assert names(tmp_path) == []


def test_invalid_lock_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.lock").mkdir()
    (tmp_path / "b.lock").symlink_to("elsewhere")
    os.mkfifo(tmp_path / "c.lock")
    for name, why in (
        ("a", "is a directory"),
        ("b", "symbolic links"),
        ("c", "not a regular file; remove it"),
        ("no/d", "no such file"),
    ):
        with pytest.raises(PathError, match=why), lock_path(str(tmp_path / name), 0):
            pass
    assert names(tmp_path) == ["a.lock", "b.lock", "c.lock"]


@pytest.mark.parametrize(
    "number", [errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP], ids=errno.errorcode.get
)
def test_file_system_without_locks_is_reported_and_nothing_left(
    tmp_path: Path, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "flock", refuse)
    wanted = f"cannot lock: {os.strerror(number).lower()}; keep the model on a file system that has locks"
    with pytest.raises(PathError, match=wanted), lock_path("m", 0):
        pass
    assert names(tmp_path) == []
    (tmp_path / "m.lock").touch()  # somebody else's, who may hold it by means that are not ours
    with pytest.raises(PathError, match=wanted), lock_path("m", 0):
        pass
    assert names(tmp_path) == ["m.lock"]


@pytest.mark.parametrize(
    "command", [["train", "pets"], ["update", "pets"], ["forget", "pets/../one"], ["relabel", "cats", "c"], ["prune", "--min-df", "2"],
    ["merge", "nbtext.joblib", "second", "--to", "nbtext.joblib"], ["promote", "second"], ["tune", "pets", "--try", "smoothing=1,2", "--folds", "2", "-q"]],
    ids=lambda command: command[0],
)  # fmt: skip
def test_fault_36_lock_held_too_long_is_status_5(
    pets: Path, holder: Running, command: list[str]
) -> None:
    corpus(pets, {"one/cats/1": PETS["cats/1"]})
    model = content("nbtext.joblib")
    write("second", model)
    done = nbtext(*command, "--lock-timeout", "0.2")
    line = error_line(done, 5)
    assert (
        line
        == "nbtext: nbtext.joblib.lock: another process is writing the model for 0.2 s; try again, or set a longer --lock-timeout"
    )
    assert content("nbtext.joblib") == model


def test_readers_do_not_wait_for_the_lock(pets: Path, holder: Running) -> None:
    for command in (["classify", "pets"], ["evaluate", "pets", "-q"], ["inspect"]):
        succeed(*command)


def test_fault_37_lock_of_a_killed_process_is_free(pets: Path, holder: Running) -> None:
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    assert "nbtext.joblib.lock" in names(pets)
    succeed("update pets --lock-timeout 0")
    assert names(pets) == ["nbtext.joblib", "pets"]


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become somebody else")
def test_fault_38_folder_without_write_permission_is_reported(shared_folder: Path) -> None:
    corpus(shared_folder, PET_FILES)
    succeed("train pets", cwd=shared_folder)
    code = (
        "import os, sys; from nbtext.cli import main, update, writing; import nbtext.store.atomic, nbtext.cli.corpus, nbtext.model.operations, joblib\n"
        "import nbtext.model.locked_model, Stemmer, tempfile\n"
        "os.chdir(sys.argv[1]); os.setgid(65534); os.setuid(65534); sys.exit(main.run(['update', 'pets']))"
    )
    line = error_line(python(code, shared_folder), 4)
    assert line == "nbtext: .: cannot write into the folder; check its permissions"
    assert names(shared_folder) == ["nbtext.joblib", "pets"]


def test_documents_are_read_before_the_lock_is_acquired(pets: Path) -> None:
    """An update that waits for its documents does not keep another from being done."""
    os.mkfifo(pets / "slow.tsv")
    script = """
    $NBTEXT update slow.tsv --format tsv & first=$!
    exec 3> slow.tsv
    printf 'cats\\tone\\n' >&3
    sleep 0.5
    $NBTEXT update pets --lock-timeout 0 && $NBTEXT inspect --output json
    printf 'birds\\ttwo\\n' >&3
    exec 3>&-
    wait $first && $NBTEXT inspect --output json
    """
    done = bash(script)
    assert done.status == 0, done
    assert [json.loads(line)["documents"] for line in done.text.splitlines()] == [8, 10]

"""A forked run ends like a run of a new interpreter: the same bytes on both outputs, the same status, the same files."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

import pytest

from tests.process import (
    PET_FILES,
    Result,
    bash,
    corpus,
    fresh_interpreters,
    nbtext,
    python,
    succeed,
)

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


class Call(NamedTuple):
    """A command line, run by bash if it is one text; ``env`` is only for the run of a new interpreter."""

    arguments: str | list[str]
    stdin: bytes = b""
    env: Mapping[str, str] = {}


C, POSIX = {"LC_ALL": "C"}, {"LC_ALL": "POSIX"}
BAD = os.fsdecode(b"\xff")

CALLS = (
    Call([]),
    Call(["train", "--help"]),
    Call(["trian", "pets"]),
    Call(["train", "pets", "--smoothing", "-1"]),
    Call(["train", "nowhere"]),
    Call(
        ["train", "docs"],
        env={"PYTHONHASHSEED": "0", "OPENBLAS_NUM_THREADS": "3", "TZ": "Asia/Tokyo", **C},
    ),
    Call(["train", "docs", "--ngrams", "3", "--top", "5"], env={"PYTHONHASHSEED": "1"}),
    Call(["train", "docs", "--deduplicate", "--categorical", "x", "--format", "jsonl"]),
    Call(["train", "-", "--format", "tsv"], b"x\tone\ny\ttwo\n", env={"PYTHONUNBUFFERED": "1"}),
    Call(
        ["train", "docs", "--smoothing", "leave-one-out", "--stop-words", "none"],
        env={"PYTHONHASHSEED": "4242"},
    ),
    Call(["classify", "é", BAD, "docs", "nowhere"], env=POSIX),
    Call(["classify", "é", BAD, "-o", "jsonl"], env={"PYTHONIOENCODING": "ascii"}),
    Call(["classify", "é", "-o", "table"], env=C),
    Call(["classify", "é", "naïve", "-o", "csv"], env={"PYTHONIOENCODING": "utf-16"}),
    Call(
        ["classify", "--lines", "-o", "jsonl", "--scores"],
        "the chât\nthe dog\n\n".encode(),
        env={"PYTHONIOENCODING": "latin-1"},
    ),
    Call(["classify", "pets", "-m", "nothing"], env={"LANG": "C.utf8"}),
    Call(["evaluate", "-q", "docs"], env={"LANG": "C.utf8"}),
    Call(
        ["evaluate", "pets", "-o", "json", "--fail-under", "accuracy=1.1"],
        env={"PYTHONHASHSEED": "2"},
    ),
    Call(["cross-validate", "docs", "--folds", "2"], env={"PYTHONHASHSEED": "3"}),
    Call(
        ["select-features", "-o", "csv"], env={"PYTHONHASHSEED": "5", "PYTHONIOENCODING": "cp1252"}
    ),
    Call(["inspect", "-o", "json"]),
    Call(["inspect"], env=C),
    Call(["explain", "pets/cats/1", "-o", "table"], env=POSIX),
    Call(["generate", "-n", "20", "--draw", "--seed", "0"], env={"PYTHONHASHSEED": "6", **C}),
    Call(
        ["learning-curve", "docs", "--repeats", "1", "--folds", "2", "--seed", "3", "-o", "json"],
        env={"PYTHONHASHSEED": "7"},
    ),
    Call(["report", "docs"], env={"PYTHONHASHSEED": "77", "TZ": "Asia/Tokyo", **C}),
    Call(["update", "pets", "--backup", "-q"]),
    Call(["--debug", "forget", "pets/cats"]),
    Call("$NBTEXT classify pets nowhere <&-; echo $?; $NBTEXT classify pets >&-"),
    Call(
        "ulimit -f 1; umask 077; $NBTEXT train pets -m third 2>&-; echo $?; $NBTEXT inspect | cat; echo ${PIPESTATUS[0]}"
    ),
)


def outcome(
    call: Call, folder: Path, env: Mapping[str, str]
) -> tuple[Result, dict[str, tuple[bytes, int]]]:
    """How a call ended in a new folder, and the contents and modes of the files that are there then."""
    corpus(folder, PET_FILES)
    corpus(
        folder,
        {
            f"docs/{label}/{number}": f"{label} naïve 語彙 {number}"
            for label in ("Ärger", "語")
            for number in range(4)
        },
    )
    corpus(folder, {"é": "naïve", BAD: "naïve"})
    with fresh_interpreters(wanted=False):
        succeed("train pets", cwd=folder)
    done = (
        bash(call.arguments, cwd=folder, env=env)
        if isinstance(call.arguments, str)
        else nbtext(*call.arguments, cwd=folder, stdin=call.stdin, env=env)
    )
    return done, {
        path.name: (path.read_bytes(), path.stat().st_mode)
        for path in folder.iterdir()
        if path.is_file()
    }


@pytest.mark.fresh_interpreters("to compare")
@pytest.mark.parametrize("call", CALLS, ids=lambda call: str(call.arguments))
def test_forked_run_equals_a_fresh_process(call: Call, tmp_path: Path) -> None:
    with fresh_interpreters(wanted=False):
        forked = outcome(call, tmp_path / "forked", {})
    assert forked == outcome(call, tmp_path / "fresh", call.env)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("import sys; print(*sys.argv[1:]); sys.exit(3)", Result(3, b"a b\n", b"")),
        ("raise SystemExit('no')", Result(1, b"", b"no\n")),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", Result(-9, b"", b"")),
        ("import sys; print(sys.stdin.read(), end='')", Result(0, b"given", b"")),
        (
            "import os; print(sorted(os.listdir('/proc/self/fd'))[:3])",
            Result(0, b"['0', '1', '2']\n", b""),
        ),
    ],
)
def test_code_runs_as_with_python_c(code: str, expected: Result) -> None:
    assert python(code, "a", "b", stdin=b"given") == expected

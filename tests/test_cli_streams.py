"""Streams that are closed or full, locales, memory and signals: every failure is a line and an exit status.

Also tests `cli/main.py`.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from nbtext.cli.main import AVX512_FEATURES, is_zen_4
from tests.process import (
    ENVIRONMENT,
    SERVICE_DESK,
    TIME_LIMIT,
    bash,
    content,
    corpus,
    error_line,
    fresh_interpreters,
    nbtext,
    run,
    start,
    succeed,
    succeeded,
    write,
)

COMMANDS = [
    "classify pets",
    "evaluate -q pets",
    "select-features",
    "inspect",
    "--help",
    "train --help",
    "--version",
    "classify pets -o table",
]


def test_closed_pipe_ends_the_command_silently(pets: Path) -> None:
    long = " ".join(["pets"] * 3000)
    for command in (f"classify {long}", f"classify {long} -o jsonl"):
        done = bash(f"$NBTEXT {command} | head -1; echo ${{PIPESTATUS[0]}}")
        assert (done.text.split("\n")[1:], done.notes) == (["141", ""], []), done


@pytest.mark.parametrize("command", COMMANDS)
def test_closed_or_full_standard_output_is_reported(pets: Path, command: str) -> None:
    done = bash(f"$NBTEXT {command} | true; echo ${{PIPESTATUS[0]}}")
    assert (done.text in ("0\n", "141\n"), done.notes) == (True, []), done
    full = bash(f"$NBTEXT {command} >/dev/full")
    assert error_line(full, 4) == "nbtext: standard output: cannot write: no space left on device"
    closed = bash(f"$NBTEXT {command} >&-")
    assert error_line(closed, 4) == "nbtext: standard output: cannot write: it is closed"


def test_full_disk_after_an_error_keeps_the_status_of_the_error(pets: Path) -> None:
    done = bash(
        "printf 'a cat\\n\"open' | $NBTEXT classify - --format csv --text-column 1 >/dev/full"
    )
    assert (done.status, len(done.notes)) == (4, 1)


def test_closed_standard_input_is_reported(pets: Path) -> None:
    for arguments in ("classify -", "classify - --format lines", "train - --format csv"):
        assert (
            error_line(bash(f"$NBTEXT {arguments} <&-"), 4)
            == "nbtext: standard input: cannot read: it is closed"
        )
    assert bash("$NBTEXT classify pets <&-") == nbtext("classify pets")


@pytest.mark.parametrize("closed", ["2>&-", "2>/dev/full", "<&- 2>&-"])
def test_closed_or_full_standard_error_keeps_the_exit_status(pets: Path, closed: str) -> None:
    for arguments, status in (
        ("classify pets none", 1),
        ("classify none.csv --format csv", 4),
        ("train pets -v", 0),
        ("inspect -m none", 3),
        ("x", 2),
    ):
        expected = bash(f"$NBTEXT {arguments}")
        done = bash(f"$NBTEXT {arguments} {closed}")
        assert (done.status, done.out, done.err) == (status, expected.out, b""), arguments


@pytest.mark.parametrize(
    "env", [{"LC_ALL": "C"}, {"LC_ALL": "POSIX"}, {"LANG": "C.utf8"}],
    ids=str,
)  # fmt: skip
def test_output_bytes_do_not_depend_on_the_locale(tmp_path: Path, env: dict[str, str]) -> None:
    corpus(tmp_path, {"c/Ärger/1": "Straße naïve", "c/语/1": "語彙 統計", "é/1": "naïve"})
    (tmp_path / os.fsdecode(b"\xff")).write_text("naïve", encoding="utf-8")
    succeed("train c -m plain")
    succeed("train c -m other", env=env)
    assert content("plain") == content("other")
    for arguments in (
        ["classify", "é", b"\xff", "c", "none"], ["classify", "é", b"\xff", "-o", "jsonl"], ["classify", "é", "-o", "table"], ["inspect"],
        ["evaluate", "-q", "c"], ["select-features"],
    ):  # fmt: skip
        assert nbtext(*arguments, "-m", "plain", env=env) == nbtext(*arguments, "-m", "plain")


@pytest.mark.fresh_interpreters("what is not in the environment")
def test_commands_work_with_an_empty_environment(pets: Path, service_desk_model: Path) -> None:
    python = f"env -i PYTHONPATH={ENVIRONMENT['PYTHONPATH']} {sys.executable} -m nbtext"
    done = bash(f"{python} train {SERVICE_DESK / 'train'} && {python} inspect")
    assert content("nbtext.joblib") == service_desk_model.read_bytes()
    with fresh_interpreters(wanted=False):
        assert done == nbtext("inspect")


@pytest.mark.fresh_interpreters("numpy is started with it")
def test_disabled_avx512_gives_the_same_results(pets: Path) -> None:
    env = {"PYTHONWARNINGS": "", "NPY_DISABLE_CPU_FEATURES": AVX512_FEATURES}
    assert nbtext("train", "pets", env=env) == nbtext("train", "pets")
    assert nbtext("classify", "pets", env=env) == nbtext("classify", "pets")


def test_is_zen_4_recognises_the_processor_family() -> None:
    zen_4 = b"processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t\t: 17\n"
    assert is_zen_4(zen_4)
    assert not is_zen_4(zen_4.replace(b"25", b"26"))
    assert not is_zen_4(zen_4.replace(b"AuthenticAMD", b"GenuineIntel"))
    assert not is_zen_4(b"")


def test_modules_in_the_current_directory_are_not_imported(pets: Path) -> None:
    script = Path(sys.executable).with_name("nbtext")
    if not script.exists():
        pytest.skip("nbtext is not installed beside this Python")
    for name in (
        "numpy",
        "joblib",
        "click",
        "rich",
        "nbtext",
        "re",
        "csv",
        "email",
        "Stemmer",
        "scipy",
        "stop_words",
    ):
        write(f"{name}.py", "raise SystemExit('imported')")
    env = {**os.environ, "PYTHONPATH": ""}
    for arguments in (
        ["train", "pets"],
        ["classify", "pets"],
        ["evaluate", "-q", "pets"],
        ["inspect"],
        ["select-features", "-o", "table"],
    ):
        done = run([script, *arguments], env=env)
        assert (done.status, done.err) == (0, b"")


def test_internal_error_is_one_line_and_status_70(pets: Path) -> None:
    code = (
        "import sys; import nbtext.inspection.overview as o; from nbtext.cli.main import run\n"
        "def broken(*_): raise ZeroDivisionError('a\\x1b[31m\\nb')\n"
        "o.build_overview = broken; sys.exit(run(sys.argv[1:]))"
    )
    done = run([sys.executable, "-c", code, "inspect"], env=ENVIRONMENT)
    line = "nbtext: internal error: ZeroDivisionError: a\\x1b[31m\\x0ab; please report it, with the output of nbtext --debug"
    assert (done.status, done.out, done.notes) == (70, b"", [line])
    debugged = run([sys.executable, "-c", code, "--debug", "inspect"], env=ENVIRONMENT)
    assert (debugged.status, debugged.notes[0], debugged.notes[-1]) == (
        70,
        "nbtext: Traceback (most recent call last):",
        line,
    )
    assert b"\x1b" not in debugged.err


def test_out_of_memory_is_reported(pets: Path) -> None:
    code = (
        "import sys; import nbtext.inspection.overview as o; from nbtext.cli.main import run\n"
        "def greedy(*_): return bytearray(1 << 60)\n"
        "o.build_overview = greedy; sys.exit(run(sys.argv[1:]))"
    )
    assert (
        error_line(run([sys.executable, "-c", code, "inspect"], env=ENVIRONMENT), 4)
        == "nbtext: out of memory"
    )


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=lambda number: number.name)
def test_signals_end_classify_with_their_status(pets: Path, number: signal.Signals) -> None:
    with start(
        [sys.executable, "-m", "nbtext", "classify", "-", "--format", "lines"],
        env=ENVIRONMENT,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    ) as child:
        assert child.stdin is not None
        assert child.stderr is not None
        child.stdin.write(
            b"a cat and a dog\n" * 50_000
        )  # more than a pipe holds: when the write returns, documents are being read
        child.stdin.flush()
        child.send_signal(number)
        assert child.wait(TIME_LIMIT) == 128 + number
        message = child.stderr.read().strip()
        if number == signal.SIGTERM:
            assert message == b""
        else:  # the first rows may be printed already
            assert message.partition(b";")[0] == b"nbtext: interrupted"


def test_hang_up_is_ignored_under_nohup(pets: Path) -> None:
    code = (
        "import os, signal, sys; signal.signal(signal.SIGHUP, signal.SIG_IGN)\n"
        "import nbtext.inspection.overview as o; from nbtext.cli.main import run\n"
        "real = o.build_overview\n"
        "def hang_up(*arguments): os.kill(os.getpid(), signal.SIGHUP); return real(*arguments)\n"
        "o.build_overview = hang_up; sys.exit(run(['inspect']))"
    )
    succeeded(run([sys.executable, "-c", code], env=ENVIRONMENT))


@pytest.mark.usefixtures("pets")
@pytest.mark.parametrize("output", ["tsv", "csv", "jsonl"])
def test_lone_surrogate_in_a_message_is_escaped(output: str) -> None:
    """A key of JSON may be a lone surrogate, which no encoding has."""
    Path("half.jsonl").write_text('{"\\udfaa": 0}\n')
    nbtext("train pets -m m")
    for form in ("text", "json"):
        done = nbtext("classify half.jsonl -m m -o", output, "--log-format", form)
        assert done.status == 1
        assert b"\\udfaa" in done.out
        assert b"\\udfaa" in done.err

"""Progress on a terminal: shown after a second, gone at the end, and never anywhere else."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from nbtext.cli.messages import clear_progress
from nbtext.cli.progress_line import ProgressLine
from nbtext.corpus.collection import report_progress
from nbtext.progress import Step
from tests.operation_counts import steps
from tests.process import TIME_LIMIT, at_terminal, corpus, python, succeeded

if TYPE_CHECKING:
    from collections.abc import Iterator

COLUMNS = ("--label-column", "1", "--text-column", "2")
"""With these a table is read as it comes; without, its beginning is waited for."""

ROWS = 24
PAUSE = 0.02
SOON = "import sys; from nbtext.cli import main, progress_line as line; line.SHOW_AFTER_SECONDS = 0.1; line.DRAW_INTERVAL_SECONDS = 0.05; main.main()"
"""The command, with progress after a tenth of a second."""
ERASED = "\r\x1b[2K"


@pytest.fixture(autouse=True)
def _nothing_is_left() -> Iterator[None]:
    """Erase a line that a test has drawn in this process: the next message of any test would erase it."""
    yield
    clear_progress()


def feed(fifo: Path, bad: bytes = b"") -> None:
    """Rows with pauses between them, half a second in all."""
    with contextlib.suppress(BrokenPipeError), fifo.open("wb", buffering=0) as stream:
        for number in range(ROWS):
            stream.write(
                b"cats\tthe cat purrs\n" if number % 2 == 0 else bad or b"dogs\tthe dog barks\n"
            )
            time.sleep(PAUSE)


@contextlib.contextmanager
def slow_table(bad: bytes = b"") -> Iterator[None]:
    """While ``slow.tsv`` is fed."""
    fifo = Path("slow.tsv")
    os.mkfifo(fifo)
    feeder = threading.Thread(target=feed, args=(fifo, bad))
    feeder.start()
    yield
    feeder.join(TIME_LIMIT)
    fifo.unlink()


def screen_of(
    *arguments: str, env: dict[str, str] | None = None, answers: bool = False, bad: bytes = b""
) -> tuple[str, bytes]:
    """What a terminal on standard error is sent while a slow ``slow.tsv`` is read, and standard output, a pipe unless ``answers``."""
    with slow_table(bad):
        done = at_terminal(
            *arguments, code=SOON, env={"NO_COLOR": "", **(env or {})}, answers=answers
        )
    assert done.status == (1 if bad else 0), done
    return done.err.decode(), done.out


@pytest.mark.parametrize(
    "arguments",
    [
        ["train", "slow.tsv", "-m", "new", *COLUMNS],
        ["classify", "slow.tsv"],
        ["evaluate", "slow.tsv", *COLUMNS],
    ],
    ids=str,
)
def test_slow_input_shows_progress_and_removes_it(pets: Path, arguments: list[str]) -> None:
    screen, out = screen_of(*arguments)
    assert re.search(r"\d+ documents, \d+ per second", screen)
    *_, end = screen.split(ERASED)
    assert "per second" not in end
    assert b"per second" not in out


def test_predictions_on_the_same_terminal_are_not_overwritten(pets: Path) -> None:
    table, _ = screen_of("classify", "slow.tsv", answers=True)
    *_, end = table.split(ERASED)
    assert end.count("slow.tsv:") == ROWS
    assert "per second" in table
    assert "per second" not in end
    rows, _ = screen_of("classify", "slow.tsv", "--output", "tsv", answers=True)
    assert "per second" not in rows


@pytest.mark.parametrize("env", [{"TERM": "dumb"}, {"TERM": ""}], ids=str)
def test_dumb_terminals_show_no_progress(pets: Path, env: dict[str, str]) -> None:
    screen, _ = screen_of("classify", "slow.tsv", env=env)
    assert screen == ""


def test_quiet_and_json_logs_show_no_progress(pets: Path) -> None:
    for arguments in (["-q"], ["--log-format", "json"]):
        assert screen_of("classify", "slow.tsv", *arguments)[0] == ""


def test_pipes_show_no_progress(pets: Path) -> None:
    with slow_table():
        succeeded(
            python(
                SOON,
                *["train", "slow.tsv", "-m", "new"],
                env={"TERM": "xterm-256color", "FORCE_COLOR": "1"},
            )
        )


def test_messages_remove_the_progress_line_first(pets: Path) -> None:
    screen, _ = screen_of(
        "train", "slow.tsv", "-m", "new", *COLUMNS, bad=b"a row without a second column\n"
    )
    assert screen.count("nbtext: slow.tsv:") == 3  # of the same problem
    for before in screen.split("nbtext: ")[1:-1]:
        shown = before.split("\n")[-1]
        assert shown == "" or shown.endswith(ERASED)


def test_ctrl_c_removes_the_progress_line(pets: Path) -> None:
    with slow_table():
        done = at_terminal(
            "train", "slow.tsv", "-m", "new", *COLUMNS, code=SOON, interrupt_at=b"per second"
        )
    assert done.status == 128 + signal.SIGINT
    *_, last = done.err.decode().split(ERASED)
    assert last.strip() == "nbtext: interrupted; nothing was written"
    assert not (pets / "new").exists()


WORK = [
    ["cross-validate", "many.tsv", "--folds", "3"],
    ["cross-validate", "many.tsv", "--folds", "2", "--classifier", "logistic"],
    ["learning-curve", "many.tsv", "--folds", "2", "--repeats", "1"],
    ["tune", "many.tsv", "--folds", "2", "--jobs", "1", "--try", "top=5,10"],
    ["train", "many.tsv", "--classifier", "logistic"],
    ["suspects", "many.tsv", "--classifier", "logistic", "-o", "table"],
    ["merge", "nbtext.joblib", "copy.joblib", "--to", "both.joblib"],
    ["report", "many.tsv", "--learning-curve", "many.tsv"],
]
SHOWN = [
    "of 3 folds",
    "of 2 folds, ",
    "of .* models",
    "of 3 settings",
    "iteration",
    "of 10 folds",
    "of 2 models",
    "of .* models",
]


@pytest.mark.parametrize(
    ("arguments", "shown"),
    list(zip(WORK, SHOWN, strict=True)),
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_slow_commands_show_progress_and_remove_it(
    pets: Path, arguments: list[str], shown: str
) -> None:
    corpus(
        pets,
        {
            "many.tsv": "".join(
                f"{label}\t{label} number {n}\n" for n in range(12) for label in ("cats", "dogs")
            )
        },
    )
    shutil.copy(pets / "nbtext.joblib", pets / "copy.joblib")
    at_once = "import sys; from nbtext.cli import main, progress_line as line; line.SHOW_AFTER_SECONDS = line.DRAW_INTERVAL_SECONDS = 0; main.main()"
    done = at_terminal(*arguments, code=at_once, answers=False)
    assert done.status == 0, done
    screen = done.err.decode()
    assert re.search(shown, screen), screen
    assert "━" not in screen.split(ERASED)[-1]
    assert "━" not in done.text


def render_progress(
    share: float | None,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    **env: str,
) -> str:
    for name, value in {"TERM": "xterm-256color", "COLUMNS": "80", "NO_COLOR": "", **env}.items():
        monkeypatch.setenv(name, value)
    ProgressLine().draw((Step("document", 1500, estimate_proportion=lambda: share),), 3.0)
    return capsys.readouterr().err.removeprefix(ERASED)


def test_remaining_time_is_shown_if_the_total_is_known(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert render_progress(0.25, monkeypatch, capsys).endswith(
        " 1,500 documents, 500 per second, 0:00:09 left"
    )
    assert render_progress(None, monkeypatch, capsys) == "1,500 documents, 500 per second"
    assert (
        render_progress(0.25, monkeypatch, capsys, COLUMNS="30") == "1,500 documents, 500 per seco"
    )
    ProgressLine().draw((Step("fold", 1, 4), Step("iteration", 30)), 10.0)
    assert capsys.readouterr().err == ERASED + "1 of 4 folds, 30 iterations, "


def test_progress_has_no_colour_with_no_color(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    line = render_progress(0.5, monkeypatch, capsys, NO_COLOR="1")
    assert not re.search(r"\x1b\[[0-9;]*m", line)
    assert "━" in line


def test_report_progress_yields_all_items_with_little_overhead() -> None:
    items = range(10_000)
    assert list(report_progress(items, lambda *_: None)) == list(items)
    assert steps(lambda: sum(report_progress(items, lambda *_: None))) < 3.1 * len(items)

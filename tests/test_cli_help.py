"""`--help` and `--version`: what they print, that the examples run, and what is said of what is unknown.

Also tests `cli/shared_options.py`, `cli/declarations.py` and `version.py`.
"""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import sys
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

import click
import pytest

from nbtext import __version__
from nbtext.cli.declarations import Option
from nbtext.cli.help import TOPICS
from nbtext.cli.main import COMMAND_GROUPS, COMMAND_SUMMARIES, OLD_COMMANDS
from nbtext.cli.main import nbtext as program
from nbtext.model.auto_settings import SMOOTHING_ALTERNATIVES
from nbtext.settings import OPTION_GROUPS
from tests.process import (
    ENVIRONMENT,
    PETS,
    REPOSITORY,
    bash,
    corpus,
    fail,
    nbtext,
    python,
    start,
    succeed,
    succeeded,
    write,
)
from tests.test_cli_terminal import on_terminal

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    "command", [["help"], *([command] for command in COMMAND_SUMMARIES)], ids=str
)
def test_help_works_with_long_and_short_option(command: list[str]) -> None:
    helped = succeed(*command, "--help", env={"COLUMNS": "80"})
    assert succeed(*command, "-h", env={"COLUMNS": "80"}) == helped
    assert helped.text.startswith("Usage: nbtext")
    assert "-h, --help" in helped.text


@cache
def collect_help(width: int) -> dict[str, str]:
    """All that is said of commands and topics on a terminal so wide, by one process; `test_help_works_with_long_and_short_option` has one for each."""
    names = (*COMMAND_SUMMARIES, *OLD_COMMANDS)
    lines = [
        "-h",
        "help",
        *(f"help {name}" for name in ("commands", *TOPICS, *COMMAND_SUMMARIES)),
        *(f"{name} --help" for name in names),
    ]
    lines += [f"{name} --help-all" for name in names]
    code = "import sys; from nbtext.cli.main import run; sys.exit(max(run(line.split()) or print(end='\\f') or 0 for line in sys.argv[1:]))"
    return dict(
        zip(
            lines,
            succeeded(python(code, *lines, env={"COLUMNS": str(width)})).text.split("\f")[:-1],
            strict=True,
        )
    )


def test_help_has_no_unfilled_placeholder() -> None:
    placeholder = re.compile(r"\{[\w.]*\}")
    assert [name for name, text in collect_help(80).items() if placeholder.search(text)] == []


@pytest.mark.parametrize("width", [60, 80, 100])
def test_help_is_not_wider_than_the_terminal(width: int) -> None:
    for line, text in collect_help(width).items():
        assert max(map(len, text.splitlines())) <= width, line


def test_narrow_help_has_the_same_words_and_commands_can_be_pasted() -> None:
    for command in (
        "tune -h",
        "help smoothing",
        "help cron",
        "help exit-status",
        "help formats",
        "help commands",
    ):
        wide, narrow = (succeed(command, env={"COLUMNS": str(width)}).text for width in (80, 60))
        assert "".join(narrow.replace("\\\n", "").split()) == "".join(wide.split())
    assert (
        "--try ngrams=1,2 \\\n      --try top=500,none\n"
        in succeed("tune -h", env={"COLUMNS": "60"}).text
    )


def test_main_help_fits_a_terminal_and_names_every_command() -> None:
    text = succeed("-h", env={"COLUMNS": "80"}).text
    assert len(text.splitlines()) <= 23  # the prompt is the 24th
    first, *others = COMMAND_GROUPS.values()
    assert list(first) == ["train", "classify", "evaluate", "explain", "label", "update", "doctor"]
    assert all(
        re.search(rf"^  {name} +{re.escape(line)}$", text, re.MULTILINE)
        for name, line in first.items()
    )
    assert all(f"  {', '.join(commands)}\n" in text for commands in others)


def test_help_commands_lists_every_command_and_the_options() -> None:
    text = succeed("help commands", env={"COLUMNS": "80"}).text
    assert all(
        re.search(rf"^  {name} +{re.escape(line)}$", text, re.MULTILINE)
        for name, line in COMMAND_SUMMARIES.items()
    )
    assert all(f"--{option.name}".replace("_", "-") in text for option in program.params)


@pytest.mark.parametrize("command", COMMAND_SUMMARIES)
def test_help_shows_common_options_and_help_all_the_others(command: str) -> None:
    short, everything = (
        collect_help(80)[f"{command} {option}"] for option in ("--help", "--help-all")
    )
    assert len(short.splitlines()) <= 63
    options = [
        each
        for each in command_named(command).params
        if isinstance(each, click.Option) and not each.hidden
    ]
    used = set(" ".join(examples(command)).replace("=", " ").split())
    for each in options:
        assert isinstance(each, Option)
        assert each.group in OPTION_GROUPS
        name = max(each.opts, key=len).lstrip("-")
        assert (name in short, name in everything) >= (each.common, True)
        if used.intersection(each.opts):
            assert f"  {', '.join(each.opts)}" in short
    assert short.endswith("Show all options and the details.\n")
    assert [short.count(f"\n{group.capitalize()}:\n") for group in OPTION_GROUPS] <= [1] * len(
        OPTION_GROUPS
    )


def command_named(name: str) -> click.Command:
    command: click.Command = import_module(f"nbtext.cli.{name.replace('-', '_')}").command
    return command


def test_help_has_colours_only_on_a_terminal_that_supports_them(tmp_path: Path) -> None:
    for command in (["--help"], ["help", "commands"], ["train", "--help"]):
        plain = nbtext(*command, env={"COLUMNS": "100"}).text
        screen = on_terminal(*command)[1]
        assert "\x1b[1mEvery day" in screen or "\x1b[1mDocuments" in screen
        assert plain.split() == re.sub(r"\x1b\[[0-9;]*m", "", screen).split()
        for env in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
            assert "\x1b" not in on_terminal(*command, env=env)[1]


RENAMED = {
    ("explain", "pets/cats/1", "-o", "jsonl", "--html", "page.html"): (
        "explain",
        "pets/cats/1",
        "-o",
        "jsonl",
        "--to",
        "page.html",
    ),
    ("classify", "pets", "-o", "jsonl", "--top-k=1"): (
        "classify",
        "pets",
        "-o",
        "jsonl",
        "--limit=1",
    ),
    ("select-features", "--top", "3"): ("select-features", "-n", "3"),
    ("inspect", "--top", "1"): ("inspect", "--limit", "1"),
    ("explain", "pets/cats/1", "-o", "table", "--top", "1"): (
        "explain",
        "pets/cats/1",
        "-o",
        "table",
        "-n",
        "1",
    ),
    ("generate", "--seed", "0", "--number", "2"): ("generate", "--seed", "0", "-n", "2"),
    ("merge", "nbtext.joblib", "other", "-o", "merged"): (
        "merge",
        "nbtext.joblib",
        "other",
        "--to",
        "merged",
    ),
    ("classify", "pets", "--label-header", "x-topic"): (
        "classify",
        "pets",
        "--label-column",
        "x-topic",
    ),
    ("report", "pets", "-opage.html"): ("report", "pets", "--to", "page.html"),
}
"""Commands with old names of options, and with those of today."""


def test_deprecated_option_names_still_work_with_a_notice_on_a_terminal(pets: Path) -> None:
    succeed("train pets -m other")
    for old, new in RENAMED.items():
        done = nbtext(*old)
        assert (done.status, done.out, done.err) == ((now := nbtext(*new)).status, now.out, now.err)
    _, screen = on_terminal("select-features", "--top", "3")
    assert screen.startswith("nbtext: --top is now called --limit\n")
    assert "is now called" not in on_terminal("inspect", "--top", "3", "-q")[1]
    succeed("report pets --title --output --to page.html")
    assert "<title>--output" in (pets / "page.html").read_text()


def test_nbtext_without_arguments_prints_its_usage() -> None:
    done = nbtext()
    assert (done.status, done.out) == (2, b"")
    assert done.err == succeed("-h").out
    for command in COMMAND_SUMMARIES:
        assert re.search(rf"[ ,]{command}[ ,\n]", done.err.decode())


@pytest.mark.fresh_interpreters("what is imported")
def test_help_imports_no_large_package(tmp_path: Path) -> None:
    for name in ("numpy", "scipy", "joblib", "nltk", "rich", "Stemmer"):
        write(f"{name}.py", "raise SystemExit('imported')")
    code = "import sys; from nbtext.cli.main import run; sys.exit(max(run([*command.split(), '--help']) for command in sys.argv[1:]))"
    assert (
        succeeded(python(code, "", *COMMAND_SUMMARIES)).text.count("Usage: ")
        == len(COMMAND_SUMMARIES) + 1
    )


def test_version_prints_name_and_version() -> None:
    assert succeed("-V") == succeed("--version")
    assert succeed("--version").text == f"nbtext, version {__version__}\n"


@pytest.mark.parametrize(
    "arguments",
    [
        ["trane"],
        ["--verbos"],
        ["train", "--nothing"],
        ["\x1b[31m"],
        ["inspect", "more"],
        ["inspect", "--limit", "x"],
    ],
)
def test_unknown_commands_and_options_are_refused_in_one_line(arguments: list[str]) -> None:
    assert "; see nbtext" in fail(2, *arguments)


def examples(command: str) -> list[str]:
    text = collect_help(200)[f"{command} --help"]
    found = re.search(r"^Examples:\n((?:  .*\n)+)", text, re.MULTILINE)
    assert found is not None
    return [line.strip() for line in found[1].splitlines()]


def run_examples(command: str, folder: Path) -> None:
    for line in examples(command):
        assert f"nbtext {command}" in line or line.startswith("nbtext train ")
        if line.startswith("nbtext label ") and "rows" not in line:  # which asks
            assert on_terminal(*line.split()[1:], cwd=folder, typed=b"\x1b")[0] == 0
            continue
        done = bash(
            f'nbtext() {{ $NBTEXT "$@"; }}; tail() {{ cat "${{@: -1}}"; }}; {line}', cwd=folder
        )
        assert done.status == 0, (line, done)


def run_services(folder: Path) -> None:
    """Start the services of the examples, which run until a signal."""
    for line in examples("serve"):
        words = line.replace("8080", "0").split()[1:]
        command = [sys.executable, "-m", "nbtext", *words]
        with start(command, cwd=folder, env=ENVIRONMENT, stderr=subprocess.PIPE) as service:
            assert service.stderr is not None
            assert b"listening on" in service.stderr.readline()
            service.send_signal(signal.SIGTERM)
            assert service.wait(60) == 0


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as a reader has it who has run the examples of train."""
    folder: Path = tmp_path_factory.mktemp("trained")
    table = "topic,body,sender\n" + "".join(
        f"{name.partition('/')[0]},{text},{name}\n" for name, text in PETS.items()
    )
    (folder / "corpora").symlink_to(REPOSITORY / "corpora")
    letters = {
        "letter.txt": "the bin was not emptied",
        "inbox/1": "a street lamp is out",
        "new-letters/waste-collection/1": "the bin lorry did not come",
        "new-letters/roads-and-lighting/1": "the lamp in our street is out",
        "messages.txt": "one\ntwo\n",
        "log": "a\nb\n",
    }
    corpus(
        folder,
        {
            **letters,
            "messages.csv": table,
            "test.csv": table,
            "withdrawn.csv": table[: table.index("\n", 20) + 1],
        },
    )
    run_examples("train", folder)
    return folder


@pytest.mark.parametrize("command", COMMAND_SUMMARIES)
def test_examples_in_the_help_run(command: str, trained: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(trained, tmp_path / "copy", symlinks=True)
    if command == "drift":
        run_examples("classify", folder)
    if command == "serve":
        run_services(folder)
        return
    run_examples(command, folder)


def test_help_smoothing_names_the_values_that_auto_compares() -> None:
    said = " ".join(succeed("help smoothing").text.split())
    assert (
        f"as evidence; but {', '.join(f'{each:g}' for each in SMOOTHING_ALTERNATIVES[:-1])} or {SMOOTHING_ALTERNATIVES[-1]:g} if this A predicts held-out documents"
        in said
    )
    for value in ("auto", "evidence", "leave-one-out", "FILE"):
        assert f"--smoothing {value} " in said

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path
from shutil import which
from typing import TYPE_CHECKING

import click
import pytest

from nbtext import TextClassifier
from nbtext.cli.main import COMMAND_SUMMARIES
from nbtext.cli.main import nbtext as program
from nbtext.settings import READING, TRAINING
from tests.process import ENVIRONMENT, REPOSITORY, corpus, nbtext, python_in_shell, run, write

if TYPE_CHECKING:
    from collections.abc import Iterator

REFERENCE = REPOSITORY / "docs/reference.md"
"""Made from the helps when the site is built; `tests/test_cli_help.py` runs their examples."""
DEVELOPMENT_PAGES = [
    REPOSITORY / "CONTRIBUTING.md",
    REPOSITORY / "docs/architecture.md",
    *sorted((REPOSITORY / "docs/development").glob("*.md")),
]
PAGES = [
    path
    for path in (
        REPOSITORY / "README.md",
        REPOSITORY / "corpora/README.md",
        *sorted((REPOSITORY / "docs").glob("*.md")),
    )
    if path.exists() and path != REFERENCE
]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


PROSE = "text"
"""Blocks that are not run: what a file holds, or how an output is made up. No commands."""
RUN = {"console", "python", "json", "crontab"}
DIRECTIVE = re.compile(r"^\{\w+\}")
"""Blocks for the site alone; `tests/test_docs_site.py` builds it."""

STAND_INS = {
    "mail/bills/1": "Subject: invoice\n\npay by May\n",
    "mail/family/1": "Subject: sunday\n\nlunch\n",
    "new-mail/1": "Subject: invoice\n\n",
    "20news-bydate-train/sci.space/1": "From: a\n\norbit\n",
    "20_newsgroups/sci.space/1": "From: a\n\norbit\n",
    "germeval2018.training.txt": "ein Satz\tOTHER\tOTHER\n",
    "ag_news_csv/train.csv": '"3","title","shares fall"\n',
    "aclImdb/train/pos/0_9.txt": "splendid",
    "aclImdb/train/neg/0_1.txt": "dull",
}
"""In the place of what a reader has: mail, and the public corpora, in their formats."""


BIN = "build/env/bin"
"""Where `make demo` looks for the program."""


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Path]:
    """A directory as a reader has it: the repository with an environment made, mail, the public corpora, and nbtext on the path."""
    for name in ("corpora", "tests", "Makefile"):
        (tmp_path / name).symlink_to(REPOSITORY / name)
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/course").symlink_to(REPOSITORY / "docs/course")
    write("pyproject.toml", (REPOSITORY / "pyproject.toml").read_bytes())
    corpus(tmp_path, STAND_INS)
    program = tmp_path / BIN / "nbtext"
    program.parent.mkdir(parents=True)
    program.write_text(f'#!/bin/sh\nexec {python_in_shell()} -m nbtext "$@"\n')
    program.chmod(0o755)
    (program.parents[1] / ".ready").touch()
    yield tmp_path
    service = tmp_path / "pid"
    if service.exists() and "stopped" not in (tmp_path / "log").read_text():
        # After a failure, the service of an example still runs.
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(service.read_text()), signal.SIGTERM)


def test_make_demo_fits_a_screen_and_reaches_its_accuracy(desk: Path) -> None:
    lines = run_example("make demo", desk)
    assert len(lines) <= 40
    assert (
        max(len(line) for line in lines if "\t" not in line) <= 80
    )  # on a terminal there are no tabs
    spam, intents = (float(line.split()[1]) for line in lines if line.startswith("accuracy"))
    assert spam > 0.98
    assert intents > 0.83


PLAIN = re.compile(r"nbtext [\w ./:=,+-]+")
"""Commands that are the same without a shell."""


SYSTEM = "/usr/bin:/bin"
"""Where the other programs of the examples are."""

NO_OUTER_MAKE = {"MAKEFLAGS": "", "MAKELEVEL": "0"}
"""A reader calls make from a shell; from `make test` it would tell of the jobs of the outer one."""


def run_example(command: str, desk: Path) -> list[str]:
    path = f"{desk / BIN}:{Path(sys.executable).parent}:{SYSTEM}"
    if PLAIN.fullmatch(command):
        done = nbtext(*command.split()[1:], cwd=desk, env={"PATH": path})
    else:
        done = run(
            ["bash", "-e", "-o", "pipefail", "-c", command],
            cwd=desk,
            env={**ENVIRONMENT, **NO_OUTER_MAKE, "PATH": path},
        )
    assert done.status == 0, (command, done)
    return (done.out + done.err).decode().splitlines()


def normalise(line: str) -> str:
    """Replace fingerprints of models, which depend on versions, and times of messages."""
    line = re.sub(r"\b(?=[a-f]*[0-9])[0-9a-f]{12}\b", "FINGERPRINT", line.rstrip())
    return re.sub(r'"time": "[-+:T0-9]+"', '"time": "TIME"', line)


def fits(expected: list[str], found: list[str]) -> bool:
    """Whether the lines are the expected ones; a line ``...`` stands for any number of lines."""
    if not expected:
        return not found
    if expected[0] == "...":
        return any(fits(expected[1:], found[skipped:]) for skipped in range(len(found) + 1))
    return (
        bool(found)
        and normalise(expected[0]) == normalise(found[0])
        and fits(expected[1:], found[1:])
    )


def test_fits_matches_lines_with_ellipses() -> None:
    assert fits(["a", "...", "d"], ["a", "b", "c", "d"])
    assert fits(["a", "..."], ["a"])
    assert not fits(["a"], ["a", "b"])
    assert not fits(["a", "...", "c"], ["a", "b"])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(REPOSITORY)))
def test_examples_of_the_page_run_with_the_shown_output(
    page: Path, desk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(desk)  # what a block of Python reads and writes is there too
    names: dict[str, object] = {}
    missing: set[str] = set()
    found: list[str] = []
    for kind, block in BLOCK.findall(page.read_text(encoding="utf-8")):
        if name := not_installed(kind, block):
            missing.add(name)
        elif kind == "python":
            exec(compile(block, str(page), "exec"), names)
        elif kind == "json":
            json.loads(block)
        elif kind == "crontab":
            for line in block.splitlines():
                run_example(command_of(line).replace("/srv/desk", str(desk)), desk)
        elif kind == "console":
            found = run_console(block, desk, found)
    if missing:
        pytest.skip(
            f"all but the blocks that need {', '.join(missing)} were run: it is not installed"
        )


def run_console(block: str, desk: Path, found: list[str]) -> list[str]:
    """Run the commands of a block and return the output of the last; ``found`` is that of the block before."""
    answer = output_of_the_last_command(block)
    assert not answer or fits(answer, found), (answer, found)
    for command, expected in commands(block):
        found = run_example(command, desk)
        assert not expected or fits(expected, found), (command, found)
    return found


def not_installed(kind: str, block: str) -> str | None:
    """What a block needs and this machine does not have."""
    if kind == "python" and "fastapi" in block and find_spec("fastapi") is None:
        return "fastapi"
    if kind == "console" and "$ (nbtext serve " in block and find_spec("waitress") is None:
        return "waitress"
    for tool in ("jq", "sqlite3", "curl"):
        is_used = kind == "console" and f"\n$ {tool} " in block
        if is_used and which(tool, path=SYSTEM) is None:
            return tool
    return None


def commands(block: str) -> Iterator[tuple[str, list[str]]]:
    """The commands of a block, each with the lines that follow it."""
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, *expected = part.rstrip("\n").split("\n")
        while command.endswith("\\"):
            command += "\n" + expected.pop(0)
        if "<<'END'" in command:
            end = expected.index("END") + 1
            command, expected = "\n".join([command, *expected[:end]]), expected[end:]
        yield command, expected


def output_of_the_last_command(block: str) -> list[str]:
    """The lines before the first command: an answer, apart from the command of an earlier block."""
    answer = re.split(r"^\$ ", block, maxsplit=1, flags=re.MULTILINE)[0]
    return answer.rstrip("\n").splitlines()


def test_lines_before_the_first_command_are_an_answer() -> None:
    assert output_of_the_last_command("a\n\nb\n$ c\nd\n") == ["a", "", "b"]
    assert output_of_the_last_command("$ c\nd\n") == []


def command_of(line: str) -> str:
    """What cron runs: all behind five fields, % after a backslash being %; see crontab(5)."""
    fields = line.split(maxsplit=5)
    assert len(fields) == 6, line
    assert all(re.fullmatch(r"[\d*,/-]+", field) for field in fields[:5]), line
    return re.sub(r"(?<!\\)%.*", "", fields[5]).replace("\\%", "%")


def test_command_of_removes_the_time_of_a_crontab_line() -> None:
    assert (
        command_of('15 2 * * 1-5  cd /srv && x "$(date +\\%F)"%in') == 'cd /srv && x "$(date +%F)"'
    )


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(REPOSITORY)))
def test_every_block_with_commands_is_run(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    kinds = re.findall(r"^```(.*)$", text, re.MULTILINE)
    assert len(kinds) % 2 == 0
    assert not any(kinds[1::2]), "a block ends with three backquotes and nothing else"
    assert {kind for kind in kinds[::2] if not DIRECTIVE.match(kind)} <= {*RUN, PROSE}
    for kind, block in BLOCK.findall(text):
        assert kind != PROSE or not re.search(
            r"^(?:\$ |nbtext |make |python |pip |sh )", block, re.MULTILINE
        ), block


@pytest.mark.parametrize("page", DEVELOPMENT_PAGES, ids=lambda page: page.stem)
def test_files_named_in_pages_for_developers_exist(page: Path) -> None:
    text = re.sub(
        r"^ *```.*?^ *```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL
    )
    names = {
        name
        for name in re.findall(r"`([\w./-]+/[\w./-]*)`", text)
        if re.match(r"(?:nbtext|tests|docs|bench|corpora)/", name) or name.endswith(".py")
    }
    names = {name for name in names if "NAME" not in name}
    assert names or "releasing" in page.name
    missing = {
        name
        for name in names
        if not (REPOSITORY / name).exists() and not (REPOSITORY / "nbtext" / name).exists()
    }
    assert missing == set()


@pytest.fixture(scope="module")
def reference() -> str:
    done = run(
        [sys.executable, REPOSITORY / "docs/reference.py"], env={**ENVIRONMENT, "COLUMNS": "40"}
    )
    assert (done.status, done.err) == (0, b"")
    return done.text


def test_reference_has_every_command_option_and_parameter(reference: str) -> None:
    _, *parts = re.split(r"^## (.*)\n", reference, flags=re.MULTILINE)
    sections = dict(zip(parts[::2], parts[1::2], strict=True))
    top = click.Context(program)
    assert set(COMMAND_SUMMARIES) == set(program.list_commands(top))
    for name in COMMAND_SUMMARIES:
        command = program.get_command(top, name)
        assert command is not None
        options = [
            option.opts
            for option in command.params
            if isinstance(option, click.Option) and not option.hidden
        ]
        section = sections[f"nbtext {name}"]
        assert {
            spelling
            for opts in options
            for spelling in opts
            if not re.search(rf"(?<![\w-]){spelling}(?![\w-])", section)
        } == set()
        anchors = re.findall(
            rf"^\[`.*`{{#({name}-[\w-]+)}}\]\(#\1\)\n: ", section, flags=re.MULTILINE
        )
        assert sorted(anchors) == sorted(f"{name}-{max(opts, key=len)[2:]}" for opts in options)
    for parameter in (*READING, *TRAINING):
        anchor = f"set-{parameter.key}" if parameter.is_rare else f"train-{parameter.key}"
        assert (
            f"| `{parameter.name}` | [`{parameter.display_name}`](#{anchor}) |"
            in sections["Parameters"]
        )
        assert (f"{{#{anchor}}}" in sections["Settings"]) == parameter.is_rare
    members = re.findall(
        r"^\| `(\w+)(?:\(.*?\))?` \| ", sections["TextClassifier"], flags=re.MULTILINE
    )
    assert sorted(members) == sorted(
        name for name in dir(TextClassifier) if not name.startswith("_")
    )


def test_reference_describes_the_package_next_to_it(tmp_path: Path) -> None:
    corpus(
        tmp_path,
        {
            "docs/reference.py": (REPOSITORY / "docs/reference.py").read_text(),
            "nbtext/__init__.py": "raise SystemExit('this')",
        },
    )
    assert run([sys.executable, tmp_path / "docs/reference.py"], env=ENVIRONMENT).notes == ["this"]


def headings(page: str) -> set[str]:
    """The anchors of the headings, as Sphinx and hosts of code make them, and of the options of the reference."""
    found = re.findall(r"^#{1,3} (.*)$", BLOCK.sub("", page), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in found} | set(
        re.findall(r"`\{#([\w-]+)\}", page)
    )


def test_headings_become_anchors() -> None:
    assert headings("## Is it `-v`?\n\n```python\n# no\n```\n") == {"is-it--v"}


@pytest.mark.parametrize(
    "page",
    sorted({*PAGES, *DEVELOPMENT_PAGES}),
    ids=lambda page: str(page.relative_to(REPOSITORY)),
)
def test_links_of_a_page_lead_to_existing_targets(page: Path, reference: str) -> None:
    for name, anchor in re.findall(
        r"\]\(([\w./-]+\.md)?(?:#([\w-]+))?\)", BLOCK.sub("", page.read_text(encoding="utf-8"))
    ):
        target = (page.parent / name).resolve() if name else page
        if target.parent != REPOSITORY / "docs/code":  # made from the code, too
            text = reference if target == REFERENCE else target.read_text(encoding="utf-8")
            assert not anchor or anchor in headings(text), (name, anchor)


def test_readme_has_only_absolute_links_in_the_package() -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
    readme = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    assert "](docs/" in readme
    for rule in project["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]["substitutions"]:
        readme = re.sub(rule["pattern"], rule["replacement"], readme)
    assert re.findall(r"\]\((?!https?:)[^)]*\)", readme) == []


def test_readme_names_the_make_targets_of_ci() -> None:
    readme, commands = (
        (REPOSITORY / name).read_text(encoding="utf-8") for name in ("README.md", ".ci/run")
    )
    run_by_ci = re.findall(r"^make (.*)$", commands, re.MULTILINE)
    assert run_by_ci
    assert all(f"`make {target}`" in readme for target in run_by_ci)

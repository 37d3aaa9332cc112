"""`nbtext help TOPIC`."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest

from nbtext.cli.help import OLD_TOPICS, TOPICS
from nbtext.cli.main import COMMAND_SUMMARIES
from nbtext.settings import FORMATS
from tests.process import REPOSITORY, fail, succeed
from tests.test_cli_help import collect_help


def test_help_without_a_topic_lists_the_topics() -> None:
    text = succeed("help").text
    for topic in TOPICS:
        assert f"nbtext help {topic} " in text
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.parametrize("topic", TOPICS)
def test_each_topic_prints_its_text(topic: str) -> None:
    text = succeed("help", topic).text
    written = (REPOSITORY / "nbtext/cli/topics" / f"{topic}.txt").read_text(encoding="utf-8")
    assert text == written or (topic in ("config", "settings") and text.startswith(written))
    assert text.split("\n", 1)[0].isupper()
    assert max(map(len, text.splitlines())) <= 80


def test_each_topic_file_is_listed() -> None:
    assert {f"{topic}.txt" for topic in TOPICS} == {
        entry.name for entry in (files("nbtext.cli") / "topics").iterdir()
    }


@pytest.mark.parametrize("command", COMMAND_SUMMARIES)
def test_help_of_a_command_equals_its_help_option(command: str) -> None:
    for width in (60, 100, 200):
        assert collect_help(width)[f"help {command}"] == collect_help(width)[f"{command} --help"]


def test_unknown_topics_are_refused_in_one_line() -> None:
    line = fail(2, "help luck")
    assert "there is no topic or command 'luck'" in line
    assert "formats" in line


def test_help_formats_lists_every_format() -> None:
    text = succeed("help formats").text
    assert re.findall(r"^    (\w+) ", text.split("\n\n")[1], re.MULTILINE) == list(FORMATS)


def test_exit_statuses_match_the_guide() -> None:
    page = (REPOSITORY / "docs/command-line.md").read_text(encoding="utf-8")
    shown = {
        row.split("|")[1].strip()
        for row in page.split("| status | meaning |\n|---|---|\n")[1].split("\n\n")[0].splitlines()
    }
    text = succeed("help exit-status").text
    assert shown == {line[4:13].strip() for line in text.split("\n\n")[1].splitlines()} - {""}


def test_former_names_of_topics_work() -> None:
    for name, topic in OLD_TOPICS.items():
        assert succeed("help", name).text == succeed("help", topic).text

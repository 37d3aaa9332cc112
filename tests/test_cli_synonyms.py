"""What is suggested for names of commands and options that other tools have."""

from __future__ import annotations

import click
import pytest

from nbtext.cli.main import COMMAND_SUMMARIES
from nbtext.cli.synonyms import COMMAND_SYNONYMS as WORDS
from nbtext.cli.synonyms import OPTION_SYNONYMS
from tests.process import fail
from tests.test_cli_help import command_named


@pytest.mark.parametrize(
    ("wrong", "right"),
    [("predict", "classify"), ("test", "evaluate"), ("info", "inspect"), ("diff", "compare"), ("undo", "forget"), ("why", "explain"), ("FIT", "train"), ("version", "--version")],
)  # fmt: skip
def test_commands_of_other_tools_give_a_suggestion(wrong: str, right: str) -> None:
    assert (
        fail(2, wrong, "x")
        == f"nbtext: No such command '{wrong}' (did you mean '{right}'?); see nbtext --help"
    )
    assert f"(did you mean '{right}'?)" in fail(2, "help", wrong)


@pytest.mark.parametrize(
    ("line", "right"),
    [
        ("classify --threshold 0.5 x", "'--min-probability'"),
        ("classify --json x", "'--output jsonl'"),
        ("classify --label cats x", "'--label-column'"),
        ("evaluate --json x", "'--output json' or '--output jsonl'"),
        ("report --json", None),
        ("train --prior uniform x", "'--class-prior'"),
        ("evaluate --confusion x", "'--all'"),
        ("classify --confusion x", None),
        ("classify -k 3 x", "'--limit'"),
        ("train --label cats x", "'--from-folder' or '--label-column'"),
        ("train -o model x", "'--model'"),
        ("classify --to x", None),
        ("train --smothing 1 x", "'--smoothing'"),
    ],
)
def test_options_of_other_tools_give_a_suggestion_if_the_command_has_it(
    line: str, right: str | None
) -> None:
    command, wrong = line.split()[:2]
    question = f" (did you mean {right}?)" if right else ""
    assert (
        fail(2, *line.split())
        == f"nbtext: No such option '{wrong}'{question}; see nbtext {command} --help"
    )


def test_synonyms_are_not_commands_and_only_two_are_ambiguous() -> None:
    words = [word for several in WORDS.values() for word in several.split()]
    assert {*COMMAND_SUMMARIES, "--version"} >= WORDS.keys()
    assert not set(words) & set(COMMAND_SUMMARIES)
    assert sorted(word for word in set(words) if words.count(word) > 1) == ["plot", "score"]


def test_each_suggested_option_belongs_to_a_command_without_its_synonyms() -> None:
    options = {
        name: {
            opt
            for each in command_named(name).params
            if isinstance(each, click.Option)
            for opt in each.opts
        }
        for name in COMMAND_SUMMARIES
    }
    for meant, words in OPTION_SYNONYMS.items():
        having = [names for names in options.values() if meant.partition(" ")[0] in names]
        assert all(any(word not in names for names in having) for word in words.split()), meant

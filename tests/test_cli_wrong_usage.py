"""What is said of options and commands that there are not, and of numbers that are none.

Also tests `cli/options.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
import pytest

from nbtext.cli.main import COMMANDS, Commands
from tests.process import error_line, fail, nbtext, succeed, write

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("clasify", "No such command 'clasify' (did you mean 'classify'?); see nbtext --help"),
        ("cross-valdate corpus", "No such command 'cross-valdate' (did you mean 'cross-validate'?); see nbtext --help"),
        ("select", "No such command 'select' (did you mean 'select-features'?); see nbtext --help"),
        ("inspekt", "No such command 'inspekt' (did you mean 'inspect'?); see nbtext --help"),
        ("xyzzy", "No such command 'xyzzy'; see nbtext --help"),
        ("", "No such command ''; see nbtext --help"),
        ("--versio", "No such option '--versio' (did you mean '--version'?); see nbtext --help"),
        ("train pets --stemer none", "No such option '--stemer' (did you mean '--stemmer'?); see nbtext train --help"),
        ("evaluate --mdel x", "No such option '--mdel' (did you mean '--model'?); see nbtext evaluate --help"),
        ("train --ngram", "No such option '--ngram' (did you mean '--ngrams'?); see nbtext train --help"),
        ("train --xyzzy", "No such option '--xyzzy'; see nbtext train --help"),
        ("classify -Z", "No such option '-Z'; see nbtext classify --help"),
    ],
)
def test_a_mistyped_name_is_told_with_those_that_are_near(arguments: str, said: str) -> None:
    assert fail(2, arguments) == f"nbtext: {said}"


@pytest.mark.parametrize(
    ("arguments", "near"),
    [
        ("train pets --language germann", "german"),
        ("train pets --classifier bernouli", "bernoulli"),
        ("train pets --stop-words germna", "german"),
        ("train pets --by chi", "chi2"),
        ("train pets.csv --label-column topci --text-column body", "topic"),
        ("tune pets --try ngram=1,2", "ngrams"),
        ("evaluate pets --fail-under acuracy=1", "accuracy"),
        ("explain pets --against dgos", "dogs"),
        ("inspect --class dgos", "dogs"),
        ("select-features --by log-odd", "log-odds"),
        ("help trian", "train"),
    ],
    ids=str,
)
def test_a_name_that_is_nearly_one_is_asked_about(pets: Path, arguments: str, near: str) -> None:
    write("pets.csv", "topic,body\ncats,purr\ndogs,bark\n")
    done = nbtext(arguments)
    assert done.status in {2, 4}
    assert f"did you mean '{near}'" in error_line(done, done.status)


def test_short_options_are_read_as_everywhere(pets: Path) -> None:
    for arguments in (["-q", "-mpets.joblib"], ["-qm", "pets.joblib"], ["-m=pets.joblib", "-q"], ["-qmpets.joblib"]):
        assert nbtext("train pets", *arguments).status == 0
        (pets / "pets.joblib").unlink()
    assert nbtext("train pets -m -q").status == 0
    assert (pets / "-q").exists()


@pytest.mark.parametrize("option", ["-m", "--model"])
def test_an_option_without_its_value_points_to_the_help_of_its_command(option: str) -> None:
    assert fail(2, "classify", option) == "nbtext: Option '--model' requires an argument; see nbtext classify --help"


def test_an_option_of_nbtext_without_its_value_points_to_its_own_help() -> None:
    assert fail(2, "--log-format") == "nbtext: Option '--log-format' requires an argument; see nbtext --help"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("classify x -j x", "--jobs must be a whole number from 0, not 'x'; see nbtext classify --help"),
        ("classify x --jobs -1", "--jobs must be a whole number from 0, not '-1'; see nbtext classify --help"),
        ("classify x --limit 1.5", "--limit must be a whole number from 1, not '1.5'; see nbtext classify --help"),
        (
            "classify x --min-probability 2",
            "--min-probability must be a number from 0 to 1, not '2'; see nbtext classify --help",
        ),
        (
            "classify x --min-probability nan",
            "--min-probability must be a number from 0 to 1, not 'nan'; see nbtext classify --help",
        ),
        ("generate -n 0", "--limit must be a whole number from 1, not '0'; see nbtext generate --help"),
        ("update x --lock-timeout soon", "--lock-timeout must be a number from 0, not 'soon'; see nbtext update --help"),
    ],
)
def test_a_number_that_is_none_is_told_with_what_is_wanted(arguments: str, said: str) -> None:
    assert fail(2, arguments) == f"nbtext: {said}"


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_that_takes_a_number_says_what_it_wants(command: str) -> None:
    context = click.Context(click.Command("nbtext"))
    found = Commands().get_command(context, command)
    assert found is not None
    for parameter in found.params:
        if isinstance(parameter.type, (click.IntRange, click.FloatRange)):
            convert: Any = parameter.type.convert
            for wrong in ("x", "-1"):
                with pytest.raises(
                    click.UsageError, match=rf"^{max(parameter.opts, key=len)} must be a .*number (from|above) \d+.*, not '{wrong}'$"
                ):
                    convert(wrong, parameter, context)


def test_ends_of_ranges_are_numbers_that_are_taken(pets: Path) -> None:
    for value in ("0", "1"):
        succeed("classify pets/cats/1 --min-probability", value, "--jobs", "1")
    succeed("generate --seed 123456789012345678901234567890")

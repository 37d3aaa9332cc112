"""Old names of options: they work wherever the new ones do, and are shown nowhere."""

from __future__ import annotations

import re
import sys
from functools import cache
from typing import Any, NamedTuple

import click
import pytest
from click.shell_completion import ShellComplete

from nbtext import Settings, TextClassifier
from nbtext.cli.config import REUSED_NAMES
from nbtext.cli.declarations import Command, Option
from nbtext.cli.main import COMMAND_SUMMARIES
from nbtext.cli.main import nbtext as program
from nbtext.cli.shared_options import NumberInRange
from nbtext.settings import PARAMETERS_BY_NAME, RENAMED_PARAMETERS
from tests.process import ENVIRONMENT, REPOSITORY, content, in_json, nbtext, run, succeed, write

VALUES = {"criterion": "chi2", "keep_documents": "5", "time_limit": "5s"}
"""A value of each renamed parameter."""

NEW_OPTIONS = {
    "--by": {"--criterion", "--group-by"},
    "--changed": {"--disagreements"},
    "--decide": {"--label-threshold"},
    "--for": {"--metric"},
    "--html": {"--to"},
    "--label-header": {"--label-column"},
    "--number": {"--limit"},
    "--once": {"--deduplicate", "--skip-known", "--skip-unknown"},
    "--output": {"--to"},
    "--sample": {"--keep-documents"},
    "--top": {"--limit"},
    "--top-k": {"--limit"},
    "--training": {"--check-leakage", "--learning-curve"},
    "--within": {"--time-limit"},
    "-o": {"--to"},
}
"""The new names of each old name, in all commands."""


class Renaming(NamedTuple):
    """An option of a command with an old name."""

    command: str
    option: Option
    old_name: str

    @property
    def new_name(self) -> str:
        return max(self.option.opts, key=len)

    @property
    def value(self) -> str:
        """A value of the option; a switch is set by true in a file and in the environment."""
        if self.option.is_flag:
            return "true"
        if isinstance(self.option.type, click.Choice):
            return list(self.option.type.choices)[-1]
        if isinstance(self.option.type, NumberInRange):
            return "0.5" if self.option.type.maximum == 1 else "2"
        return VALUES.get(str(self.option.name), "name")

    @property
    def old_key(self) -> str:
        """The old name in a file of defaults."""
        return self.old_name.removeprefix("--").replace("-", "_")

    def __str__(self) -> str:
        return f"{self.command} {self.old_name}"

    def to_arguments(self, name: str) -> list[str]:
        return [name] if self.option.is_flag else [f"{name}={self.value}"]

    @property
    def required(self) -> list[str]:
        """The arguments that the command needs besides."""
        arguments = ["--perplexity=corpus"] if self.command == "inspect" else []
        for param in commands()[self.command].params:
            if param.required and isinstance(param, Option) and param is not self.option:
                arguments.append(f"{param.opts[-1]}=file")
            elif param.required and not isinstance(param, Option):
                arguments.append("file")
        return arguments

    def parse(self, *arguments: str) -> dict[str, Any]:
        """Return the values of all options."""
        command = commands()[self.command]
        root = click.Context(program, info_name="nbtext")
        arguments = (*self.required, *arguments)
        return command.make_context(self.command, list(arguments), parent=root).params


def to_variable(name: str) -> str:
    """Return the part of a variable of the environment for an option or a command."""
    return name.removeprefix("--").replace("-", "_").upper()


@cache
def commands() -> dict[str, Command]:
    root = click.Context(program)
    found = {name: program.get_command(root, name) for name in COMMAND_SUMMARIES}
    return {name: command for name, command in found.items() if isinstance(command, Command)}


RENAMINGS = [
    Renaming(name, option, old_name)
    for name, command in commands().items()
    for option in command.params
    if isinstance(option, Option)
    for old_name in option.old_names
]
each_renaming = pytest.mark.parametrize("renaming", RENAMINGS, ids=str)
each_long_renaming = pytest.mark.parametrize(
    "renaming", [each for each in RENAMINGS if each.old_name.startswith("--")], ids=str
)


def test_all_old_names_are_known() -> None:
    found: dict[str, set[str]] = {}
    for renaming in RENAMINGS:
        found.setdefault(renaming.old_name, set()).add(renaming.new_name)
    assert found == NEW_OPTIONS
    # In one command, an old name means one option, and no option has it as its name today.
    meanings = [(each.command, each.old_name) for each in RENAMINGS]
    assert len(set(meanings)) == len(meanings)
    for name, command in commands().items():
        names = {each for param in command.params for each in param.opts}
        assert names.isdisjoint({old_name for of, old_name in meanings if of == name})


def test_old_names_that_other_commands_have_today_are_listed() -> None:
    names = {
        name for command in commands().values() for each in command.params for name in each.opts
    }
    reused = {
        name.removeprefix("--") for name in NEW_OPTIONS if name.startswith("--") and name in names
    }
    label_command = {"label_header"}  # NBTEXT_LABEL_HEADER is --header of label
    assert reused | label_command == REUSED_NAMES


@each_renaming
@pytest.mark.usefixtures("tmp_path")
def test_old_name_on_the_command_line_equals_the_new_one(renaming: Renaming) -> None:
    expected = renaming.parse(*renaming.to_arguments(renaming.new_name))
    assert expected[str(renaming.option.name)] not in (None, (), False)
    assert renaming.parse(*renaming.to_arguments(renaming.old_name)) == expected


@each_long_renaming
@pytest.mark.usefixtures("tmp_path")
def test_old_name_in_a_file_of_defaults_equals_the_new_one(renaming: Renaming) -> None:
    expected = renaming.parse(*renaming.to_arguments(renaming.new_name))
    value = "true" if renaming.option.is_flag else f"'{renaming.value}'"
    if renaming.option.multiple:
        value = f"[{value}]"
    write("nbtext.toml", f"[{renaming.command}]\n{renaming.old_key} = {value}\n")
    assert renaming.parse() == expected
    write("nbtext.toml", f"{renaming.old_key} = {value}\n")
    if renaming.old_key not in REUSED_NAMES:
        assert renaming.parse() == expected
    elif not renaming.option.required:
        assert renaming.parse() == renaming.parse("--no-config")


@each_long_renaming
@pytest.mark.usefixtures("tmp_path")
def test_old_name_in_the_environment_equals_the_new_one(
    renaming: Renaming, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = renaming.parse(*renaming.to_arguments(renaming.new_name))
    own_variable = f"NBTEXT_{to_variable(renaming.command)}_{renaming.old_key.upper()}"
    variables = [own_variable]
    if renaming.old_key not in REUSED_NAMES:
        variables.append(f"NBTEXT_{renaming.old_key.upper()}")
    for variable in variables:
        with monkeypatch.context() as patch:
            patch.setenv(variable, renaming.value)
            assert renaming.parse() == expected
    # The variable with the new name replaces the one with the old name.
    monkeypatch.setenv(own_variable, "wrong")
    monkeypatch.setenv(
        f"NBTEXT_{to_variable(renaming.command)}_{to_variable(renaming.new_name)}", renaming.value
    )
    assert renaming.parse() == expected


def test_old_names_are_in_no_help_and_no_completion() -> None:
    for command in {each.command for each in RENAMINGS}:
        current = {name for param in commands()[command].params for name in param.opts}
        old_names = {each.old_name for each in RENAMINGS if each.command == command} - current
        text = succeed(command, "--help-all").text
        shown = set(re.findall(r"(?<![\w-])--?[a-z][\w-]*", text))
        assert shown.isdisjoint(old_names), command
        complete = ShellComplete(program, {}, "nbtext", "_NBTEXT_COMPLETE")
        for typed in ("-", "--"):
            offered = {item.value for item in complete.get_completions([command], typed)}
            assert offered.isdisjoint(old_names), command
    for option in ("--set", "--try"):
        complete = ShellComplete(program, {}, "nbtext", "_NBTEXT_COMPLETE")
        offered = {item.value for item in complete.get_completions(["tune", option], "")}
        assert offered.isdisjoint(f"{old_name}=" for old_name in RENAMED_PARAMETERS)


def test_old_names_are_not_in_the_reference() -> None:
    made = run([sys.executable, REPOSITORY / "docs/reference.py"], env=ENVIRONMENT).text
    current = {
        name for command in commands().values() for each in command.params for name in each.opts
    }
    assert set(re.findall(r"(?<![\w-])--[a-z][\w-]*", made)).isdisjoint(
        NEW_OPTIONS.keys() - current
    )
    assert not re.search(r"`(by|sample|within)`", made)


def test_renamed_parameters_exist() -> None:
    assert RENAMED_PARAMETERS == {
        "by": "criterion",
        "sample": "keep_documents",
        "within": "time_limit",
    }
    assert {"criterion", "keep_documents"} < PARAMETERS_BY_NAME.keys()
    assert PARAMETERS_BY_NAME.keys().isdisjoint(RENAMED_PARAMETERS)


@pytest.mark.usefixtures("pets")
def test_set_and_try_accept_old_names() -> None:
    for name, arguments in {
        "a": "--set sample=1 --top 3 --by chi2",
        "b": "--set keep-documents=1 --top 3 --criterion chi2",
    }.items():
        succeed(f"train pets -m {name} {arguments}")
    assert content("a") == content("b")
    tried = [
        in_json(f"tune pets --folds 2 --top 3 --try {name}=chi2,presence -m m -o json")["settings"]
        for name in ("by", "criterion")
    ]
    assert tried[0] == tried[1]
    assert "criterion" in str(tried[0])
    done = nbtext("train pets --set by=chi2")
    assert done.notes == [
        "nbtext: --set cannot set criterion, which has its own option; give --criterion"
    ]
    done = nbtext("evaluate pets -m a --set sample=1")
    assert "--set keep-documents is for commands that train" in done.notes[0]


@pytest.mark.usefixtures("tmp_path")
def test_environment_variable_of_settings_accepts_old_names(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    option = next(
        each for each in RENAMINGS if (each.command, each.old_name) == ("train", "--sample")
    )
    for variable in ("NBTEXT_SET", "NBTEXT_TRAIN_SET"):
        with monkeypatch.context() as patch:
            patch.setenv(variable, "sample=5")
            assert option.parse() == option.parse("--keep-documents=5")
    monkeypatch.setenv("NBTEXT_SET", "sample=5")
    succeed("help config")


@pytest.mark.usefixtures("pets")
def test_gate_accepts_the_old_name_of_a_metric() -> None:
    succeed("train pets")
    for name in ("coverage", "answered"):
        done = nbtext(f"evaluate pets --min-probability 1 --fail-under {name}=0.9")
        assert done.status == 6
        assert any("gate not met: answered is " in note for note in done.notes)


def test_python_accepts_old_names() -> None:
    new = TextClassifier(criterion="chi2", top=3, keep_documents=2)
    old = TextClassifier(by="chi2", top=3, sample=2)  # type: ignore[call-arg]
    assert old.get_params() == new.get_params()
    assert TextClassifier(top=3).set_params(by="chi2", sample=2).get_params() == new.get_params()
    assert Settings.from_values({"by": "chi2", "sample": 2}) == Settings.from_values(
        {"criterion": "chi2", "keep_documents": 2}
    )
    with pytest.raises(TypeError):
        TextClassifier(within=2)  # type: ignore[call-arg]
    assert TextClassifier.answer is TextClassifier.predict_records

"""Suggestions for unknown commands and options: names from other tools, and similar names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import click

from nbtext.errors import did_you_mean

COMMAND_SYNONYMS = {
    "--version": "version",
    "classify": "predict score run infer ask",
    "compare": "diff",
    "completion": "completions bash zsh fish",
    "cross-validate": "cv crossval crossvalidate validate",
    "doctor": "check verify lint",
    "evaluate": "test score measure eval accuracy benchmark roc confusion audit",
    "export": "dump to-sql to-csv weights coefficients",
    "explain": "why interpret",
    "forget": "delete remove unlearn erase undo",
    "generate": "sample draw",
    "inspect": "show info describe view stats",
    "label": "annotate tag",
    "learning-curve": "curve forecast plot",
    "merge": "join combine",
    "promote": "deploy release publish rollback restore",
    "relabel": "rename",
    "report": "plot",
    "select-features": "features terms top",
    "serve": "daemon api server service http web",
    "split": "partition divide holdout train-test-split",
    "suspects": "mistakes clean",
    "tokens": "tokenize tokenise analyze analyse",
    "train": "fit learn build create init",
    "tune": "search optimize optimise",
    "update": "add append retrain",
}
"""Names in other tools, separated by blanks, by the command or option of nbtext."""

OPTION_SYNONYMS = {
    "--all": "--confusion --confusion-matrix --matrix",
    "--class-prior": "--prior --priors",
    "--class-weight": "--balanced",
    "--classifier": "--algorithm --method",
    "--delimiter": "--sep --separator",
    "--folds": "--cv --splits",
    "--from-folder": "--label",
    "--jobs": "--threads --workers --processes --parallel",
    "--label-column": "--label --target --class",
    "--limit": "--head --count --top --top-n -k",
    "--min-df": "--min-count",
    "--min-probability": "--threshold --cutoff --confidence --min-confidence --min-score",
    "--model": "-o --output --out --save",
    "--output csv": "--csv",
    "--output json": "--json",
    "--output jsonl": "--json --jsonl",
    "--scores": "--proba --probabilities",
    "--smoothing": "--alpha",
    "--text-column": "--column --field",
    "--to": "-o --output --out --save --file",
}
"""Names in other tools, separated by blanks, by the option of nbtext, which may have a value."""


def suggest_command(name: str, commands: Sequence[str]) -> str:
    """Return a question that suggests commands for an unknown name, or "" without a suggestion.

    Suggest the commands that have this name in other tools, or else commands with a similar name.
    """
    equivalents = [
        command
        for command in _find_equivalents(name.lower(), COMMAND_SYNONYMS)
        if command in commands or command.startswith("--")
    ]
    return _format_question(equivalents) or did_you_mean(name, commands)


def suggest_option(name: str, command: click.Command, similar_names: Sequence[str]) -> str:
    """Return a question that suggests options of a command, or "" without a suggestion.

    Suggest the options that have this name in other tools, or else options among ``similar_names``.
    """
    options = {
        option_name: option
        for option in command.params
        if isinstance(option, click.Option) and not option.hidden
        for option_name in option.opts
    }
    equivalents = [
        argument
        for argument in _find_equivalents(name, OPTION_SYNONYMS)
        if _is_accepted(argument, options)
    ]
    return _format_question(equivalents) or did_you_mean(name, similar_names)


def _is_accepted(argument: str, options: Mapping[str, click.Option]) -> bool:
    """Return True if ``--option`` or ``--option value`` is valid for these options."""
    name, _, value = argument.partition(" ")
    if name not in options:
        return False
    return not value or value in getattr(options[name].type, "choices", ())


def _find_equivalents(name: str, synonyms: Mapping[str, str]) -> Iterator[str]:
    """Yield the names in nbtext for a name in other tools."""
    return (own_name for own_name, names in synonyms.items() if name in names.split())


def _format_question(names: Sequence[str]) -> str:
    """Return the question, with a blank before it, or "" without names."""
    alternatives = " or ".join(map(repr, names))
    return f" (did you mean {alternatives}?)" if alternatives else ""

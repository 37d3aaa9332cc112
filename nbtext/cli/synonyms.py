"""What is meant by a name that nbtext does not have, but other tools do; for the line about wrong usage."""

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
    "suspects": "mistakes clean",
    "tokens": "tokenize tokenise analyze analyse",
    "train": "fit learn build create init",
    "tune": "search optimize optimise",
    "update": "add append retrain",
}
"""Names of commands in other tools."""

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
"""Names of options in other tools, by what is meant where a command has it."""


def suggest_command(given: str, known: Sequence[str]) -> str:
    """Return a question as `did_you_mean` does, about the command that other tools call so if there is one."""
    return _question(
        name
        for name in _meant(given.lower(), COMMAND_SYNONYMS)
        if name in known or name.startswith("--")
    ) or did_you_mean(given, known)


def suggest_option(given: str, command: click.Command, near: Sequence[str]) -> str:
    """Return a question about the options of a command that other tools call so, or about those with names that are near."""
    taken = {
        name: each
        for each in command.params
        if isinstance(each, click.Option) and not each.hidden
        for name in each.opts
    }

    def is_taken(meant: str) -> bool:
        option, _, value = meant.partition(" ")
        return option in taken and (
            not value or value in getattr(taken[option].type, "choices", ())
        )

    return _question(filter(is_taken, _meant(given, OPTION_SYNONYMS))) or did_you_mean(given, near)


def _meant(given: str, table: Mapping[str, str]) -> Iterator[str]:
    return (meant for meant, names in table.items() if given in names.split())


def _question(names: Iterator[str]) -> str:
    found = " or ".join(map(repr, names))
    return f" (did you mean {found}?)" if found else ""

"""`nbtext merge`: several models to one."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from nbtext.cli import options as suggestions
from nbtext.cli.options import messages, messages_options
from nbtext.cli.writing import writing_options
from nbtext.errors import UsageError, quantity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nbtext.cli.messages import Messages
    from nbtext.model import TextClassifier
    from nbtext.store.ledger import Ledger


class Part(NamedTuple):
    """A model to be added up, with its ledger if it has one that can be used."""

    path: str
    model: TextClassifier
    ledger: Ledger | None


@click.command("merge", short_help="Make one model of several.")
@click.argument("models", nargs=-1, required=True, metavar="MODEL MODEL...", shell_complete=suggestions.suggest_files)
@click.option(
    "-o", "--output", required=True, metavar="PATH", shell_complete=suggestions.suggest_files, help="The model file to be written."
)
@writing_options
@messages_options
def command(models: tuple[str, ...], output: str, **options: Any) -> int:
    """Write the model that training on the documents of all these models makes.

    They must count alike: the same language, stop words, stemmer, n-grams, attributes and size of sample. All other settings are those of
    the first model. A document that two of them have learnt counts twice. The output may be one of the models. The ledgers of nbtext
    train --once are joined too.

    Of pruned models only the terms stay that all of them have.

    \b
    Example:
      nbtext train corpora/service-desk/test --model other.joblib
      nbtext merge nbtext.joblib other.joblib --output both.joblib
    """
    from nbtext.cli.writing import held_model, say_left_ledger
    from nbtext.model.changing import merged
    from nbtext.model.locked_model import read_with_ledger
    from nbtext.store import check_replaceable

    say = messages(options)
    places = [os.path.realpath(path) for path in models]
    if len(models) < 2:
        raise UsageError("there is only one model to merge", hint="name two or more")
    for number, path in enumerate(models):
        if places[number] in places[:number]:
            raise UsageError("the model is named twice", where=path, hint="its documents would count twice")
    check_replaceable(output)

    with held_model(output, options) as file:  # which may be one of the models
        parts = [Part(path, *read_with_ledger(path)) for path in models]
        model = merged([part.model for part in parts], models)
        ledger, repeated = _joined(parts)
        file.replace(model, ledger)
    if ledger is not None or not say_left_ledger(output, say):
        _say_not_covered(parts, say)
    if repeated:
        say.warn(f"learnt by more than one of the models, so they count more than once: {quantity(repeated, 'document')}")
    for warning in model.warnings():
        say.warn(warning)
    say.notice(f"{output}: {model.describe()}")
    return say.finish()


def _joined(parts: Sequence[Part]) -> tuple[Ledger | None, int]:
    """The ledger of the sum, None if no model has one; and how many documents are in several."""
    from nbtext.model.changing import joined

    ledgers = [part.ledger for part in parts if part.ledger is not None]
    return joined(ledgers) if ledgers else (None, 0)


def _say_not_covered(parts: Sequence[Part], say: Messages) -> None:
    """Tell, where models have ledgers, of those that have none."""
    from nbtext.store.ledger import ledger_path

    without = [part for part in parts if part.ledger is None]
    if without and any(os.path.lexists(ledger_path(part.path)) for part in parts):
        documents = quantity(sum(part.model.statistics.n_documents for part in without), "document")
        names = ", ".join(part.path for part in without)
        say.warn(f"{names}: no ledger that can be used, so nbtext update --once may learn again what is in there: {documents}")

"""`nbtext merge`: several models to one."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from nbtext.cli import suggestions
from nbtext.cli.changing import writing_options
from nbtext.cli.options import messages, messages_options
from nbtext.errors import UsageError

if TYPE_CHECKING:
    from nbtext.model import TextClassifier as Model


@click.command("merge", short_help="Make one model of several.")
@click.argument("models", nargs=-1, required=True, metavar="MODEL MODEL...", shell_complete=suggestions.files)
@click.option("-o", "--output", required=True, metavar="PATH", shell_complete=suggestions.files, help="The model file to be written.")
@writing_options
@messages_options
def command(models: tuple[str, ...], output: str, **options: Any) -> int:
    """Write the model that training on the documents of all these models makes.

    They must count alike: the same language, stop words, stemmer, n-grams, attributes and size of sample. All other settings are those of
    the first model. A document that two of them have learnt counts twice. The output may be one of the models.

    Of pruned models only the terms stay that all of them have.

    \b
    Example:
      nbtext train corpora/service-desk/test --model other.joblib
      nbtext merge nbtext.joblib other.joblib --output both.joblib
    """
    from nbtext.cli.changing import held_model, write_anew
    from nbtext.model import TextClassifier
    from nbtext.model.change import merged
    from nbtext.store import check_replaceable

    say = messages(options)
    places = [os.path.realpath(path) for path in models]
    if len(models) < 2:
        raise UsageError("there is only one model to merge", hint="name two or more")
    for number, path in enumerate(models):
        if places[number] in places[:number]:
            raise UsageError("the model is named twice", where=path, hint="its documents would count twice")
    check_replaceable(output)

    def sum_of_all() -> Model:
        return merged([TextClassifier.load(path) for path in models], models)

    if os.path.realpath(output) in places:  # the first goes on, so it is read under the lock, and its ledger too
        with held_model(output, options) as file:
            model = sum_of_all()
            file.replace(model, file.ledger_if_usable())
    else:
        model = write_anew(sum_of_all, output, options, say)
    for warning in model.warnings():
        say.warn(warning)
    say.notice(f"{output}: {model.describe()}")
    return say.finish()

"""`nbtext learning-curve`: accuracy against training size, and a forecast for more documents."""

from __future__ import annotations

from typing import Any

import click

from nbtext.cli.options import WholeNumber, corpus_argument, input_options, messages, messages_options, output_option, training_options


@click.command("learning-curve", short_help="Show what fewer documents bring, and forecast what more would.")
@corpus_argument
@output_option("table", "json", help_text="Default: table.")
@click.option("--steps", type=WholeNumber(1, 100), default=8, show_default=True, metavar="N", help="How many sizes of the training corpus.")
@click.option(
    "--folds", type=WholeNumber(2), default=5, show_default=True, metavar="N", help="Hold out one N-th of the documents, each in turn."
)
@click.option("--repeats", type=WholeNumber(1), default=3, show_default=True, metavar="N", help="How often the folds are drawn anew.")
@click.option("--seed", type=WholeNumber(min=0), default=0, show_default=True, metavar="N", help="Seed of the random draws.")
@input_options
@training_options
@messages_options
def command(corpus: tuple[str, ...], output: str | None, steps: int, folds: int, repeats: int, seed: int, **options: Any) -> int:
    """Train on growing parts of a corpus, judge on documents held out, and forecast what twice the documents would bring.

    The last column is the accuracy on the training documents themselves. Far above the accuracy on documents held out it shows overfitting.
    The forecast follows an inverse power law, error = a + b / n^c, through the curve. Its interval holds the chance of the draws and how far the law misses
    the curve, not what may change beyond it. Where the curve is too short or too noisy there is no forecast. No model is written.

    \b
    Example:
      nbtext learning-curve corpora/service-desk/train
      nbtext learning-curve messages.csv --label-column topic --text-column body --folds 2 --output json
    """
    from nbtext.cli.corpus import corpus_paths, read_and_count
    from nbtext.counts.corpus_counts import Subsets
    from nbtext.evaluation.learning_curves import Resampling, learning_curve
    from nbtext.report.comparisons import print_learning_curve
    from nbtext.report.forms import write_json

    say = messages(options)
    counted = read_and_count(corpus_paths(corpus, options), options, say)
    counted.source.say_notices()
    subsets = Subsets(counted.corpus.statistics, counted.corpus.documents)
    curve = learning_curve(subsets, counted.settings, Resampling(steps, folds, repeats, seed))
    if output == "json":
        write_json(curve)
    else:
        print_learning_curve(curve)
    return say.finish()

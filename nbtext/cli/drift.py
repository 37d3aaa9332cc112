"""`nbtext drift`: how what is classified moves away from what the model was trained on."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from nbtext.cli.gates import end
from nbtext.cli.options import messages, messages_options, output_option
from nbtext.cli.suggestions import files
from nbtext.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nbtext.model.drift_history import Run


@click.command("drift", short_help="Show how far new documents are from those of training.")
@click.argument("log", metavar="FILE", shell_complete=files)
@output_option("table", "jsonl", help_text="Default: table.")
@click.option(
    "--fail-over", multiple=True, metavar="NAME=DISTANCE",
    help="Exit status 6 if a distance of the newest run is larger: unknown, log_likelihood, length, answers, or any; several allowed.",
)  # fmt: skip
@messages_options
def command(log: str, output: str | None, fail_over: tuple[str, ...], **options: Any) -> int:
    """Show the runs that nbtext classify --drift FILE has noted, beside what left-out training documents looked like.

    The share of unknown tokens, the log-likelihood per token and the length of documents are compared by their means, in standard deviations of training
    documents; the answers by the share of them that differs. A distance says how much moved and does not grow with the number of
    documents; a star says that it is more than chance, which with many documents a small one is too. Gates look at distances.

    \b
    Example:
      nbtext drift drift.log
      nbtext drift drift.log --output jsonl
    """
    from nbtext.model.drift_history import read_history

    say = messages(options)
    gates = [_gate(text) for text in fail_over]
    runs = read_history(log)
    if output == "jsonl":
        from nbtext.report.records import json_line

        sys.stdout.writelines(json_line(run.summary()) for run in runs)
    else:
        from nbtext.report.drift import print_history

        print_history(runs)
    return end(_failures(gates, runs), say)


def _gate(text: str) -> tuple[str, float]:
    from nbtext.drift import ANSWERS, FIGURES

    name, _, number = text.partition("=")
    known = (*FIGURES, ANSWERS, "any")
    if name not in known:
        raise UsageError(f"--fail-over knows no figure {name!r}", hint=f"known are {', '.join(known)}")
    try:
        value = float(number)
    except ValueError:
        value = -1
    if not 0 <= value < float("inf"):
        raise UsageError(f"--fail-over {name} must be a number from 0, not {number!r}", hint=f"such as {name}=1")
    return name, value


def _failures(gates: Sequence[tuple[str, float]], runs: Sequence[Run]) -> list[str]:
    """What is wrong at each gate that is not met; a distance that is not known is no failure: the model gives none."""
    figures = runs[-1].figures
    return [
        f"the distance of {name} is {distance:.6g}, over {value:g}"
        for asked, value in gates
        for name, moved in figures.items()
        if asked in (name, "any") and (distance := moved.distance) is not None and distance > value
    ]

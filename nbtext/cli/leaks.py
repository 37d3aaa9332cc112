"""Test documents that the model was trained on: ``--training``, and what is said of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import click

from nbtext.attributes import NO_TEXT
from nbtext.cli.options import suggest_files
from nbtext.errors import UsageError, quantity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from nbtext.cli.messages import Messages
    from nbtext.corpus.document import Document
    from nbtext.metrics import Evaluation
    from nbtext.model import TextClassifier
    from nbtext.model.scoring import ScoredBlock

ACCIDENTAL = 0.01
"""A share of test documents that may have been in training without a word: short and form letters come again."""

Command = TypeVar("Command", bound="Callable[..., Any]")


def training_corpus_option(command: Command) -> Command:
    """``--training``, for `LeakWatch`."""
    return click.option(
        "--training", multiple=True, metavar="CORPUS", shell_complete=suggest_files,
        help="What the model was trained on, read as it was then: warn of test documents that are in it too, or nearly, and give the figures "
        "without them; several allowed.",
    )(command)  # fmt: skip


class LeakWatch:
    """Watches the test documents go by, beside the training corpus if that was given, else beside the model's sample of it."""

    def __init__(self, model: TextClassifier, training: Sequence[str], test: Sequence[str], say: Messages, on_error: str) -> None:
        """Read the training corpus; raises what reading raises, and `UsageError` if it and the test corpus are both standard input."""
        from nbtext.cli.corpus import CommandCorpus
        from nbtext.evaluation.leakage import LeakCheck, SampledLeakCheck

        self._check: LeakCheck | SampledLeakCheck | None = None
        if model.reading["text_column"] != NO_TEXT:  # values come again without a leak
            self._check = SampledLeakCheck(model.counts.sample)
        if training:
            if "-" in training and "-" in test:
                raise UsageError("standard input cannot be both the test and the training corpus")
            self._check = LeakCheck(model)
            documents = CommandCorpus(training, model.reading, say, labelled=True, on_error=on_error)
            self._check.count_training(documents.readable())
            documents.say_notices()

    def watched(self, documents: Iterable[Document]) -> Iterator[Document]:
        """The documents as they go by."""
        return iter(documents) if self._check is None else self._check.watched(documents)

    def watched_scored(self, blocks: Iterable[ScoredBlock]) -> Iterator[ScoredBlock]:
        """The documents as they go by in blocks."""
        for block in blocks:
            for _ in self.watched(block.documents):
                pass
            yield block

    def figures(self, evaluation: Evaluation) -> dict[str, Any]:
        """What was found, for the summary of the evaluation of the documents that went by."""
        from nbtext.evaluation.leakage import LeakCheck

        if isinstance(self._check, LeakCheck):
            return {"leaks": self._check.leaks().figures(evaluation)}
        return {} if self._check is None else {"sampled_leaks": self._check.figures()}


def tell_leaks(say: Messages, summary: Mapping[str, Any]) -> None:
    """Warn of leaks, if there are any."""
    if "leaks" in summary:
        leaks = summary["leaks"]
        found = leaks["exact"] + leaks["near"]
        if found:
            kinds = f"{leaks['exact']:,} with the same words, {leaks['near']:,} nearly"
            without = "there is no other" if leaks["without"] is None else f"accuracy without them {leaks['without']['accuracy']:.4f}"
            say.warn(f"in the training corpus too: {found:,} of {quantity(summary['n'], 'document')} ({kinds}); {without}")
    elif "sampled_leaks" in summary:
        _tell_sampled_leaks(say, summary)


def _tell_sampled_leaks(say: Messages, summary: Mapping[str, Any]) -> None:
    checked, found = summary["sampled_leaks"]["checked"], summary["sampled_leaks"]["found"]
    if found > checked * ACCIDENTAL:
        of_all = "" if checked == summary["n"] else " that the model's sample can tell about"
        say.warn(
            f"in the training corpus too: {found:,} of {quantity(checked, 'document')}{of_all}; --training CORPUS gives the figures without them"
        )

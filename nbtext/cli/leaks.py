"""Test documents that the model was trained on: ``--training``, and what is said of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import click

from nbtext.attributes import NO_TEXT
from nbtext.cli.options import suggest_files
from nbtext.errors import UsageError, quantity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from nbtext.cli.messages import Messages
    from nbtext.corpus.document import Document
    from nbtext.evaluation.leakage import LeakCheck, LeakResult, SampledLeakCheck, SampledLeakResult
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
        """Yield the documents and check each."""
        return iter(documents) if self._check is None else self._check.watched(documents)

    def watched_scored(self, blocks: Iterable[ScoredBlock]) -> Iterator[ScoredBlock]:
        """Yield blocks of documents and check each document."""
        for block in blocks:
            for _ in self.watched(block.documents):
                pass
            yield block

    def result(self, evaluation: Evaluation) -> LeakResult | SampledLeakResult | None:
        """Return the leaks among the documents read, given their evaluation; None where nothing was checked."""
        from nbtext.evaluation.leakage import LeakCheck

        if isinstance(self._check, LeakCheck):
            return self._check.leaks().result(evaluation)
        return None if self._check is None else self._check.result()


def tell_leaks(say: Messages, leaks: LeakResult | SampledLeakResult | None, n: int) -> None:
    """Warn of leaks among ``n`` documents, if there are any."""
    from nbtext.evaluation.leakage import LeakResult

    if leaks is None or not leaks.found:
        return
    if isinstance(leaks, LeakResult):
        kinds = f"{leaks.exact:,} with the same words, {leaks.near:,} nearly"
        without = "there is no other" if leaks.without is None else f"accuracy without them {leaks.without.accuracy:.4f}"
        say.warn(f"in the training corpus too: {leaks.found:,} of {quantity(n, 'document')} ({kinds}); {without}")
    elif leaks.found > leaks.checked * ACCIDENTAL:
        which = "" if leaks.checked == n else " that the model's sample can tell about"
        checked = f"{quantity(leaks.checked, 'document')}{which}"
        say.warn(f"in the training corpus too: {leaks.found:,} of {checked}; --training CORPUS gives the figures without them")

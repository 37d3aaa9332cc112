"""Find test documents that a model was trained on: exact and near duplicates if the training corpus is given, else those in the model's sample."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from nbtext.corpus.document import Document, contents, size_of
from nbtext.counts.counting import Analysis, DocumentCounter, content_hashes
from nbtext.counts.documents import LARGEST_HASH
from nbtext.counts.matrix import DocumentTermMatrix, stack
from nbtext.counts.near_duplicates import THRESHOLD, NearDuplicates, near_duplicates
from nbtext.counts.vocabulary import GrowingVocabulary
from nbtext.document_parts import NO_TEXT
from nbtext.errors import NoDocumentsError, quantity
from nbtext.metrics.evaluation import Evaluation, probability_result, slice_result
from nbtext.metrics.results import SliceResult
from nbtext.ragged import blocks
from nbtext.records import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from nbtext.model.text_classifier import TextClassifier
    from nbtext.scoring import ScoredBlock
    from nbtext.type_names import Keys

EXAMPLES = 20
"""Leaked documents that the figures name."""

ACCIDENTAL = 0.01
"""Share of test documents that may recur from training without a warning: short texts and form letters do."""


class _LeakExample(NamedTuple):
    """A test document and a training document that are the same, or nearly."""

    id: str
    training_id: str
    similarity: float
    exact: bool


@dataclass(frozen=True)
class _OthersResult(SliceResult):
    """Figures of the test documents that are not in the training corpus."""

    log_loss: float | None
    brier: float | None


@dataclass(frozen=True)
class LeakResult:
    """Numbers of test documents that are also in the training corpus."""

    exact: int
    near: int
    threshold: float
    """Similarity from which documents are near duplicates."""
    examples: tuple[_LeakExample, ...]
    without: _OthersResult | None
    """Figures of the other documents; None if there are none."""

    @property
    def found(self) -> int:
        """Exact and near duplicates."""
        return self.exact + self.near

    def warning(self, n: int) -> str | None:
        """Return a warning after ``n`` test documents; None if there is no leak."""
        if not self.found:
            return None
        kinds = f"{self.exact:,} with the same words, {self.near:,} nearly"
        without = "there is no other" if self.without is None else f"accuracy without them {self.without.accuracy:.4f}"
        return f"in the training corpus too: {self.found:,} of {quantity(n, 'document')} ({kinds}); {without}"


class SampledLeakResult(NamedTuple):
    """Number of test documents that the model's sample of training documents can check, and how many of them are in it."""

    checked: int
    found: int

    def warning(self, n: int) -> str | None:
        """Return a warning after ``n`` test documents; None if no more leaked than recur by accident."""
        return (
            None if self.is_accidental else f"in the training corpus too: {self.of(n)}; use --training CORPUS for the figures without them"
        )

    @property
    def is_accidental(self) -> bool:
        """True if no more of them leaked than recur by accident."""
        return self.found <= self.checked * ACCIDENTAL

    def of(self, n: float) -> str:
        """Describe their number, out of ``n`` documents or of those that could be checked."""
        return f"{self.found:,} of {quantity(self.checked, 'document')}" + (
            "" if self.checked == n else " that the model's sample can check"
        )


class _Counted(NamedTuple):
    """Documents that were counted, block by block."""

    ids: list[str]
    matrices: list[DocumentTermMatrix]


class _LeakCheck:
    """Count the training documents, then the test documents as they go by; raise `UsageError` if there are no training documents.

    Words are counted as they stand, with stop words and without stemming: with the model's stop list and stemmer, short questions that were
    written by different people become the same two or three terms. Fields are left out: the same mail comes by several ways. A document without
    a text is compared by its fields.
    """

    def __init__(self, model: TextClassifier, training: Iterable[Document]) -> None:
        settings = replace(model.settings, stemmer="none", ngrams=1, char_ngrams=None)
        self._counter = DocumentCounter(Analysis(settings), GrowingVocabulary())
        self._training, self._test = _Counted([], []), _Counted([], [])
        for block in blocks(training, size_of):
            self._count(block, self._training)
        if not self._training.ids:
            raise NoDocumentsError("the training corpus has no documents that can be read")

    def look(self, documents: Sequence[Document]) -> None:
        """Count test documents."""
        self._count(documents, self._test)

    def _count(self, documents: Sequence[Document], side: _Counted) -> None:
        matrix = self._counter.count(*contents(list(map(_compared, documents)))).matrix()
        side.matrices.append(matrix._replace(terms=matrix.terms.astype(np.int32), counts=matrix.counts.astype(np.int32)))
        side.ids.extend(document.id for document in documents)

    def examples(self, duplicates: NearDuplicates) -> Iterator[_LeakExample]:
        """Yield the duplicates among the test documents with their ids."""
        for row, partner, similarity, exact in zip(*(column.tolist() for column in duplicates), strict=True):
            yield _LeakExample(self._test.ids[row], self._training.ids[partner], similarity, exact)

    def duplicates(self) -> NearDuplicates:
        """Return the test documents so far that are also among the training documents."""
        return near_duplicates(stack(self._training.matrices), stack(self._test.matrices))

    def result(self, evaluation: Evaluation) -> LeakResult:
        """Return their numbers, the first of them, and the figures of the other documents from the evaluation of all."""
        duplicates = self.duplicates()
        left = np.ones(evaluation.judged.n, np.bool_)
        left[duplicates.test_rows] = False
        others, without = evaluation.judged.of(left), None
        if others.n:
            scores = probability_result(others)
            without = _OthersResult(**vars(slice_result(others, len(evaluation.classes))), log_loss=scores.log_loss, brier=scores.brier)
        exact = int(np.count_nonzero(duplicates.exact))
        examples = tuple(islice(self.examples(duplicates), EXAMPLES))
        return LeakResult(exact, duplicates.exact.size - exact, THRESHOLD, examples, without)


def _compared(document: Document) -> Document:
    without = document._replace(fields=())
    return without if without.joined.strip() else document


class LeakWatch:
    """Check test documents as they go by, against the training corpus if that is given, else against the model's sample of it."""

    def __init__(self, model: TextClassifier, training: Iterable[Document] | None = None) -> None:
        """Count the training documents; raise `UsageError` if there are none."""
        self._check = None if training is None else _LeakCheck(model, training)
        self._sample = model.counts.sample if model.reading.text_column != NO_TEXT else None  # values come again without a leak
        self._hashes = [np.empty(0, np.uint64)]

    def watched(self, blocks: Iterable[ScoredBlock]) -> Iterator[ScoredBlock]:
        """Yield blocks of test documents as they are; check each document."""
        for block in blocks:
            if self._check is not None:
                self._check.look(block.documents)
            elif self._sample is not None:
                self._hashes.append(content_hashes(*contents(block.documents)))
            yield block

    def result(self, evaluation: Evaluation) -> LeakResult | SampledLeakResult | None:
        """Return the leaks among the documents so far, given their evaluation; None where nothing was checked."""
        if self._check is not None:
            return self._check.result(evaluation)
        if self._sample is None:
            return None
        return sampled_leaks(np.concatenate(self._hashes), self._sample.documents.hashes, self._sample.bound)


def sampled_leaks(test_hashes: Keys, sample_hashes: Keys, bound: int) -> SampledLeakResult:
    """Count the test documents that a bottom-k sample can check, and those of them that are in its corpus.

    ``sample_hashes`` hold the hash of every document of the corpus below ``bound``; all there are if that is `LARGEST_HASH`. The share
    estimates that of all test documents, since a hash does not depend on what its document is about (E. Cohen, H. Kaplan, 2007).
    """
    checked = test_hashes if bound == LARGEST_HASH else test_hashes[test_hashes < np.uint64(bound)]
    found = np.isin(checked, sample_hashes, kind="sort")  # numpy 2.0 fails where it tries a table for 64 bits
    return SampledLeakResult(checked.size, int(found.sum()))

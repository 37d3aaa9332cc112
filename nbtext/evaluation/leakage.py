"""Find test documents that a model was trained on: in the training corpus if that is given, else in the model's sample of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nbtext.corpus.document import Document, collect_contents, count_document_bytes
from nbtext.counts.counting import Analysis, DocumentCounter, hash_contents
from nbtext.counts.documents import MAX_HASH
from nbtext.counts.vocabulary import GrowingVocabulary
from nbtext.document_fields import NO_TEXT
from nbtext.errors import NoDocumentsError, format_quantity
from nbtext.metrics.evaluation import Evaluation, summarize_probabilities, summarize_slice
from nbtext.metrics.results import SliceResult
from nbtext.ragged import find_sorted, split_into_blocks
from nbtext.text.hashing import pair

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from nbtext.counts.matrix import DocumentTermMatrix
    from nbtext.model.text_classifier import TextClassifier
    from nbtext.scoring import ScoredBlock
    from nbtext.type_names import Ints, Keys

MAX_LEAK_EXAMPLES = 20
"""Leaked documents that the figures name."""

WORDLESS = np.uint64(0)
"""The hash of a document without words."""

MAX_ACCIDENTAL_PROPORTION = 0.01
"""Share of test documents that may recur from training without a warning: short texts and form letters do."""


class _LeakExample(NamedTuple):
    """A test document and the first training document with the same words."""

    id: str
    training_id: str


@dataclass(frozen=True)
class _OthersResult(SliceResult):
    """Figures of the test documents that are not in the training corpus."""

    log_loss: float | None
    brier: float | None


@dataclass(frozen=True)
class LeakResult:
    """Numbers of test documents that are also in the training corpus."""

    found: int
    examples: tuple[_LeakExample, ...]
    without: _OthersResult | None
    """Figures of the other documents; None if there are none."""

    def make_warning(self, n: int) -> str | None:
        """Return a warning after ``n`` test documents; None if there is no leak."""
        if not self.found:
            return None
        without = (
            "there is no other"
            if self.without is None
            else f"accuracy without them {self.without.accuracy:.4f}"
        )
        return f"in the training corpus too: {self.found:,} of {format_quantity(n, 'document')}; {without}"


class SampledLeakResult(NamedTuple):
    """Number of test documents that the model's sample of training documents can check, and how many of them are in it."""

    checked: int
    found: int

    def make_warning(self, n: int) -> str | None:
        """Return a warning after ``n`` test documents; None if no more leaked than recur by accident."""
        return (
            None
            if self.is_accidental
            else f"in the training corpus too: {self.describe(n)}; use --training CORPUS for the figures "
            "without them"
        )

    @property
    def is_accidental(self) -> bool:
        """True if no more of them leaked than recur by accident."""
        return self.found <= self.checked * MAX_ACCIDENTAL_PROPORTION

    def describe(self, n: float) -> str:
        """Describe their number, out of ``n`` documents or of those that could be checked."""
        return f"{self.found:,} of {format_quantity(self.checked, 'document')}" + (
            "" if self.checked == n else " that the model's sample can check"
        )


class _Hashed(NamedTuple):
    """Documents of one side of the comparison: their ids, and a hash of the words of each, block by block."""

    ids: list[str]
    hashes: list[Keys]


class _LeakCheck:
    """Count the training documents, then the test documents as they go by; raise `UsageError` if there are no training documents.

    Words are counted as they stand, with stop words and without stemming: with the model's stop list and stemmer, short questions that were
    written by different people become the same two or three terms. Fields are left out: the same mail comes by several ways. A document without
    a text is compared by its fields.
    """

    def __init__(self, model: TextClassifier, training: Iterable[Document]) -> None:
        settings = replace(model.settings, stemmer="none", ngrams=1, char_ngrams=None)
        self._counter = DocumentCounter(Analysis(settings), GrowingVocabulary())
        self._training = _Hashed([], [])
        self._test = _Hashed([], [])
        for block in split_into_blocks(training, count_document_bytes):
            self._count(block, self._training)
        if not self._training.ids:
            raise NoDocumentsError("the training corpus has no documents that can be read")

    def add(self, documents: Sequence[Document]) -> None:
        """Count test documents."""
        self._count(documents, self._test)

    def _count(self, documents: Sequence[Document], side: _Hashed) -> None:
        matrix = self._counter.count(
            *collect_contents(list(map(_drop_fields, documents)))
        ).to_matrix()
        side.hashes.append(_hashes_of_words(matrix))
        side.ids.extend(document.id for document in documents)

    def find_leaks(self) -> tuple[Ints, Ints]:
        """Return the test documents so far that are also among the training documents, and the first of these with the same words.

        Documents without words are never the same.
        """
        known, first = np.unique(np.concatenate(self._training.hashes), return_index=True)
        hashes = np.concatenate([np.empty(0, np.uint64), *self._test.hashes])
        place = find_sorted(known, hashes)
        leaked = np.flatnonzero((place >= 0) & (hashes != WORDLESS))
        return leaked, first[place[leaked]]

    def result(self, evaluation: Evaluation) -> LeakResult:
        """Return their number, the first of them, and the figures of the other documents from the evaluation of all."""
        leaked, partners = self.find_leaks()
        left = np.ones(evaluation.documents.n, np.bool_)
        left[leaked] = False
        others = evaluation.documents.take(left)
        without = None
        if others.n:
            scores = summarize_probabilities(others)
            without = _OthersResult(
                **vars(summarize_slice(others)), log_loss=scores.log_loss, brier=scores.brier
            )
        pairs = zip(
            leaked[:MAX_LEAK_EXAMPLES].tolist(), partners[:MAX_LEAK_EXAMPLES].tolist(), strict=True
        )
        examples = tuple(
            _LeakExample(self._test.ids[test], self._training.ids[training])
            for test, training in pairs
        )
        return LeakResult(leaked.size, examples, without)


def _hashes_of_words(matrix: DocumentTermMatrix) -> Keys:
    """Return 64 bits for each document, shape (n_docs,), of its terms and their counts in any order; `WORDLESS` if it has none."""
    entries = _mixed(pair(matrix.terms, matrix.counts))
    running = np.concatenate(
        (np.zeros(1, np.uint64), np.cumsum(entries, dtype=np.uint64))
    )  # modulo 2**64, as are the differences
    return _mixed(running[matrix.offsets[1:]] - running[matrix.offsets[:-1]])


def _mixed(keys: Keys) -> Keys:
    """Scramble 64-bit keys by a bijection, the output function of SplitMix64 (G. Steele, D. Lea, C. Flood, 2014)."""
    keys = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    keys = (keys ^ (keys >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return keys ^ (keys >> np.uint64(31))


def _drop_fields(document: Document) -> Document:
    without = document._replace(fields=())
    return without if without.digest_bytes.strip() else document


class LeakChecker:
    """Check test documents as they go by, against the training corpus if that is given, else against the model's sample of it."""

    def __init__(self, model: TextClassifier, training: Iterable[Document] | None = None) -> None:
        """Count the training documents; raise `UsageError` if there are none."""
        self._check = None if training is None else _LeakCheck(model, training)
        self._sample = (
            model.counts.sample if model.reading.text_column != NO_TEXT else None
        )  # values come again without a leak
        self._hashes = [np.empty(0, np.uint64)]

    def observe(self, blocks: Iterable[ScoredBlock]) -> Iterator[ScoredBlock]:
        """Yield blocks of test documents as they are; check each document."""
        for block in blocks:
            if self._check is not None:
                self._check.add(block.documents)
            elif self._sample is not None:
                self._hashes.append(hash_contents(*collect_contents(block.documents)))
            yield block

    def result(self, evaluation: Evaluation) -> LeakResult | SampledLeakResult | None:
        """Return the leaks among the documents so far, given their evaluation; None where nothing was checked."""
        if self._check is not None:
            return self._check.result(evaluation)
        if self._sample is None:
            return None
        return count_sampled_leaks(
            np.concatenate(self._hashes), self._sample.documents.hashes, self._sample.bound
        )


def count_sampled_leaks(test_hashes: Keys, sample_hashes: Keys, bound: int) -> SampledLeakResult:
    """Count the test documents that a bottom-k sample can check, and those of them that are in its corpus.

    ``sample_hashes`` hold the hash of every document of the corpus below ``bound``; all there are if that is `MAX_HASH`. The share
    estimates that of all test documents, since a hash does not depend on what its document is about (E. Cohen, H. Kaplan, 2007).
    """
    checked = test_hashes if bound == MAX_HASH else test_hashes[test_hashes < np.uint64(bound)]
    found = np.isin(
        checked, sample_hashes, kind="sort"
    )  # numpy 2.0 fails where it tries a table for 64 bits
    return SampledLeakResult(checked.size, int(found.sum()))

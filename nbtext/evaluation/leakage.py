"""Search for test documents that a model was trained on, for `nbtext evaluate` and `report`.

`LeakChecker` compares test documents with the training corpus or, without a corpus, with the sample
of its documents that the model contains.
"""

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
"""Maximum number of leaked documents that the result names."""

WORDLESS = np.uint64(0)
"""The hash of a document without words."""

MAX_ACCIDENTAL_PROPORTION = 0.01
"""A larger proportion of leaked documents is no accident. Short texts and form letters recur."""


class _LeakExample(NamedTuple):
    """A test document and the first training document with the same words."""

    id: str
    training_id: str


@dataclass(frozen=True)
class _UnleakedResult(SliceResult):
    """Metrics of the test documents that are not leaked."""

    log_loss: float | None
    brier: float | None


@dataclass(frozen=True)
class LeakResult:
    """Test documents that are also in the training corpus."""

    found: int
    """Number of leaked documents."""
    examples: tuple[_LeakExample, ...]
    without: _UnleakedResult | None
    """Metrics without the leaked documents. None if all test documents are leaked."""

    def make_warning(self, n: int) -> str | None:
        """Return a warning for ``n`` test documents, or None if none of them is leaked."""
        if not self.found:
            return None
        consequence = "there are no others"
        if self.without is not None:
            consequence = f"accuracy without them {self.without.accuracy:.4f}"
        n_documents = format_quantity(n, "test document")
        verb = "is" if self.found == 1 else "are"
        return f"{self.found:,} of {n_documents} {verb} also in the training corpus; {consequence}"


class SampledLeakResult(NamedTuple):
    """Test documents that are also in the model's sample of training documents."""

    checked: int
    """Number of test documents that would be in the sample if the model was trained on them."""
    found: int
    """Number of leaked documents among the checked documents."""

    def make_warning(self, n: int) -> str | None:
        """Return a warning for ``n`` test documents, or None if the leaks may be accidental."""
        if self.is_accidental:
            return None
        verb = "is" if self.found == 1 else "are"
        remedy = "use --check-leakage CORPUS for the metrics without them"
        if self.found == n:  # no document remains without them
            remedy = "evaluate on other documents"
        return f"{self.describe(n, 'test document')} {verb} also in the training corpus; {remedy}"

    @property
    def is_accidental(self) -> bool:
        """True if the proportion of leaked documents is at most `MAX_ACCIDENTAL_PROPORTION`."""
        return self.found <= self.checked * MAX_ACCIDENTAL_PROPORTION

    def describe(self, n: float, noun: str = "document") -> str:
        """Return the numbers of leaked and of checked documents as text.

        ``n`` is the number of test documents, and ``noun`` is a name for one of them.
        """
        suffix = "" if self.checked == n else " that the model's sample can check"
        return f"{self.found:,} of {format_quantity(self.checked, noun)}{suffix}"


class _HashedDocuments(NamedTuple):
    """Documents of the training or the test corpus, each with a hash of its words."""

    ids: list[str]
    hashes: list[Keys]
    """One array for each block of documents."""


class _CorpusComparison:
    """Comparison of the words of test documents with the words of training documents.

    Raw words are compared, without stop list and stemming, so that short similar questions are not
    reported as copies. Fields are ignored, because copies of a mail differ in their headers. Only
    documents without text are compared by their fields.
    """

    def __init__(self, model: TextClassifier, training: Iterable[Document]) -> None:
        """Count the training documents. Raise `UsageError` if there are none."""
        settings = replace(model.settings, stemmer="none", ngrams=1, char_ngrams=None)
        self._counter = DocumentCounter(Analysis(settings), GrowingVocabulary())
        self._training = _HashedDocuments(ids=[], hashes=[])
        self._test = _HashedDocuments(ids=[], hashes=[])
        for block in split_into_blocks(training, count_document_bytes):
            self._add_to(self._training, block)
        if not self._training.ids:
            raise NoDocumentsError("the training corpus has no readable documents")

    def add(self, documents: Sequence[Document]) -> None:
        """Count test documents."""
        self._add_to(self._test, documents)

    def _add_to(self, corpus: _HashedDocuments, documents: Sequence[Document]) -> None:
        """Add the ids and hashes of documents to ``corpus`` in place."""
        texts, fields, values = collect_contents([_drop_fields(document) for document in documents])
        matrix = self._counter.count(texts, fields, values).to_matrix()
        corpus.hashes.append(_hash_words(matrix))
        corpus.ids.extend(document.id for document in documents)

    def find_leaks(self) -> tuple[Ints, Ints]:
        """Return the indices of leaked test documents, and of their first copies in training.

        A leaked document has the same words as a training document, and at least one word.
        """
        training_hashes, first_rows = np.unique(
            np.concatenate(self._training.hashes), return_index=True
        )
        # There may be no block of test documents.
        test_hashes = np.concatenate([np.empty(0, np.uint64), *self._test.hashes])
        positions = find_sorted(training_hashes, test_hashes)
        is_in_training = positions >= 0
        leaked = np.flatnonzero(is_in_training & (test_hashes != WORDLESS))
        return leaked, first_rows[positions[leaked]]

    def result(self, evaluation: Evaluation) -> LeakResult:
        """Return the leaked documents, given the evaluation of all test documents."""
        leaked, copies = self.find_leaks()
        is_unleaked = np.ones(evaluation.documents.n, np.bool_)
        is_unleaked[leaked] = False
        unleaked_documents = evaluation.documents.take(is_unleaked)
        unleaked_result = None
        if unleaked_documents.n:
            probabilities = summarize_probabilities(unleaked_documents)
            unleaked_result = _UnleakedResult(
                **vars(summarize_slice(unleaked_documents)),  # the fields of the base class
                log_loss=probabilities.log_loss,
                brier=probabilities.brier,
            )
        examples = tuple(
            _LeakExample(self._test.ids[test_row], self._training.ids[training_row])
            for test_row, training_row in zip(
                leaked[:MAX_LEAK_EXAMPLES].tolist(),
                copies[:MAX_LEAK_EXAMPLES].tolist(),
                strict=True,
            )
        )
        return LeakResult(leaked.size, examples, unleaked_result)


def _hash_words(matrix: DocumentTermMatrix) -> Keys:
    """Return a 64-bit hash of the terms and counts of each document, shape (n_docs,).

    The hash does not depend on the order of the terms. Documents without words have `WORDLESS`.
    """
    entry_hashes = _scramble(pair(matrix.terms, matrix.counts))
    # All sums and differences are modulo 2**64.
    running_sums = np.concatenate(
        (np.zeros(1, np.uint64), np.cumsum(entry_hashes, dtype=np.uint64))
    )
    document_sums = running_sums[matrix.offsets[1:]] - running_sums[matrix.offsets[:-1]]
    return _scramble(document_sums)


def _scramble(keys: Keys) -> Keys:
    """Map 64-bit keys one to one to keys that look random, and 0 to 0.

    This is the output function of SplitMix64 (G. Steele, D. Lea, C. Flood, 2014).
    """
    keys = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    keys = (keys ^ (keys >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return keys ^ (keys >> np.uint64(31))


def _drop_fields(document: Document) -> Document:
    """Return the document without its fields, unless it has only fields."""
    text_only = document._replace(fields=())
    has_text = bool(text_only.content_bytes.strip())
    return text_only if has_text else document


class LeakChecker:
    """Comparison of test documents with the training corpus, or with the model's sample of it."""

    def __init__(self, model: TextClassifier, training: Iterable[Document] | None = None) -> None:
        """Count the ``training`` corpus. Without a corpus, the model's sample replaces it.

        Raise `UsageError` if the corpus has no documents.
        """
        self._comparison = None if training is None else _CorpusComparison(model, training)
        self._sample = None
        # Documents without text have only attributes, whose equality is no leak.
        if model.reading.text_column != NO_TEXT:
            self._sample = model.counts.sample
        self._test_hashes = [np.empty(0, np.uint64)]
        """Hashes of the test documents by block. Only filled without a corpus."""

    def observe(self, blocks: Iterable[ScoredBlock]) -> Iterator[ScoredBlock]:
        """Yield blocks of test documents unchanged. Add the documents of each block first."""
        for block in blocks:
            if self._comparison is not None:
                self._comparison.add(block.documents)
            elif self._sample is not None:
                texts, fields, values = collect_contents(block.documents)
                self._test_hashes.append(hash_contents(texts, fields, values))
            yield block

    def result(self, evaluation: Evaluation) -> LeakResult | SampledLeakResult | None:
        """Return the leaks among the observed documents, given their evaluation.

        Return None if there is neither a corpus nor a sample.
        """
        if self._comparison is not None:
            return self._comparison.result(evaluation)
        if self._sample is None:
            return None
        return count_sampled_leaks(
            np.concatenate(self._test_hashes), self._sample.documents.hashes, self._sample.bound
        )


def count_sampled_leaks(test_hashes: Keys, sample_hashes: Keys, bound: int) -> SampledLeakResult:
    """Count the test documents that a bottom-k sample can check, and the leaked ones among them.

    ``sample_hashes`` has all hashes of training documents that are below ``bound``. If ``bound`` is
    `MAX_HASH`, it has the hashes of all training documents. The proportion of leaked documents is
    an unbiased estimate, because a hash does not depend on the topic of its document (E. Cohen,
    H. Kaplan, 2007).
    """
    checked_hashes = test_hashes
    has_whole_corpus = bound == MAX_HASH
    if not has_whole_corpus:
        checked_hashes = test_hashes[test_hashes < np.uint64(bound)]
    # numpy 2.0 fails without ``kind``, because it tries a table of all 64-bit numbers.
    is_leaked = np.isin(checked_hashes, sample_hashes, kind="sort")
    return SampledLeakResult(checked_hashes.size, int(is_leaked.sum()))

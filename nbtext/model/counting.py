"""From texts to counts: the analyzer that some parameters describe, over a growing or a fixed vocabulary."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from nbtext.counts.corpus_counts import CorpusCounts
from nbtext.counts.counted import CountedTerms
from nbtext.counts.document_term import DocumentTermMatrix, beside, document_term_matrix
from nbtext.counts.documents import DocumentCollector
from nbtext.counts.statistics import StatisticsBuilder
from nbtext.errors import UsageError
from nbtext.text.analyzer import Analyzer
from nbtext.text.blocks import blocks
from nbtext.text.ngrams import with_ngrams
from nbtext.text.stemming import stemmer

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from nbtext.counts.documents import CountedDocuments
    from nbtext.counts.statistics import ClassStatistics, Frozen


class TermIds(Protocol):
    """A vocabulary, growing or fixed."""

    def find(self, terms: Sequence[str]) -> list[int]:
        """The id of each single term."""

    def find_pairs(self, left: NDArray[Any], last: NDArray[Any]) -> NDArray[Any]:
        """The id of each n-gram, by its parts."""


class DocumentCounter(Protocol):
    """Texts to document-term matrices over a vocabulary."""

    def count(self, texts: Sequence[bytes]) -> DocumentTermMatrix:
        """Counts of some documents in valid UTF-8, shape (n_docs, n_terms)."""


class AnalyzedTerms:
    """Counts the terms that analyzers find in texts, and the n-grams of words."""

    def __init__(self, parameters: Mapping[str, Any], stop_list: Sequence[str], vocabulary: TermIds) -> None:
        self._words, *self._pieces = analyzers(parameters, stop_list, vocabulary)
        self._order = parameters["ngrams"]
        self._vocabulary = vocabulary

    def count(self, texts: Sequence[bytes]) -> DocumentTermMatrix:
        """Counts of some documents in valid UTF-8, shape (n_docs, n_terms)."""
        sequence = with_ngrams(self._words.sequence(texts), self._order, self._vocabulary.find_pairs)
        matrix = document_term_matrix(sequence, len(texts))
        for pieces in self._pieces:
            matrix = beside(matrix, document_term_matrix(pieces.sequence(texts), len(texts)))
        return matrix


def analyzers(parameters: Mapping[str, Any], stop_list: Sequence[str], vocabulary: TermIds) -> list[Analyzer]:
    """What finds the terms of a text: its words, and if asked for their character n-grams. No two find the same term."""
    found = [Analyzer(stop_list, stemmer(parameters["stemmer"], parameters["language"]), vocabulary.find)]
    if parameters["char_ngrams"] is not None:
        from nbtext.text.char_ngrams import CharNgramAnalyzer, sizes_of

        found.append(CharNgramAnalyzer(stop_list, sizes_of(parameters["char_ngrams"]), vocabulary.find))
    return found


def document_counter(parameters: Mapping[str, Any], stop_list: Sequence[str], vocabulary: TermIds, *, counted: bool) -> DocumentCounter:
    """The counter of texts, or with ``counted`` of features ``name:count name:count``."""
    return CountedTerms(vocabulary.find) if counted else AnalyzedTerms(parameters, stop_list, vocabulary)


def count_corpus(
    labelled: Iterable[tuple[str, bytes]], parameters: Mapping[str, Any], stop_list: Sequence[str], *, counted: bool = False
) -> CorpusCounts:
    """The statistics and the sample of a stream of (label, text), texts as `document_counter` takes them.

    Raises `UsageError` if there is not one document.
    """
    collector = DocumentCollector(parameters["sample"])
    statistics, numbers = _count(labelled, parameters, stop_list, collector, counted=counted)
    return CorpusCounts(statistics, collector.sample(numbers))


def count_documents(
    labelled: Iterable[tuple[str, bytes]], parameters: Mapping[str, Any], stop_list: Sequence[str], *, counted: bool = False
) -> tuple[ClassStatistics, CountedDocuments]:
    """As `count_corpus`, with all documents, in their order, in place of a sample."""
    collector = DocumentCollector(None)
    statistics, numbers = _count(labelled, parameters, stop_list, collector, counted=counted)
    return statistics, collector.documents(numbers)


def content_hashes(texts: Sequence[bytes]) -> NDArray[np.uint64]:
    """64 bits of the SHA-256 of each text, shape (n_docs,)."""
    return np.frombuffer(b"".join([sha256(text).digest() for text in texts]), "<u8")[::4].astype(np.uint64)


def _count(
    labelled: Iterable[tuple[str, bytes]],
    parameters: Mapping[str, Any],
    stop_list: Sequence[str],
    collector: DocumentCollector,
    *,
    counted: bool,
) -> Frozen:
    builder = StatisticsBuilder()
    counter = document_counter(parameters, stop_list, builder.vocabulary, counted=counted)
    empty = True
    for block in blocks(labelled, lambda document: len(document[1])):
        empty = False
        labels, texts = zip(*block, strict=True)
        for label in set(labels):
            _check_label(label)
        matrix = counter.count(texts)
        collector.add(matrix, builder.add(matrix, labels), content_hashes(texts), builder.labels)
    if empty:
        raise UsageError("the corpus has no documents that can be read")
    return builder.freeze()


def _check_label(label: object) -> None:
    try:
        if isinstance(label, str) and label.encode():
            return
    except UnicodeEncodeError:
        pass
    raise UsageError(f"{label!r} cannot be a label", hint="labels are text and not empty")

"""From documents as lists of terms to nbtext's tables, and back to dictionaries."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np
import pytest

from nbtext.classifiers.base import Training
from nbtext.classifiers.multinomial import MultinomialNaiveBayes
from nbtext.counts.count_table import CellCounts, CountTable, TableBuilder
from nbtext.counts.documents import CountedDocuments
from nbtext.counts.matrix import Postings
from nbtext.counts.statistics import ClassStatistics, estimate_statistics
from nbtext.counts.vocabulary import GrowingVocabulary, Vocabulary
from nbtext.language_model import dirichlet
from nbtext.language_model.dirichlet import LanguageModels, TermPseudoCounts
from nbtext.ragged import compute_offsets
from nbtext.settings import Settings
from nbtext.text.analyzer import TermSequence
from nbtext.text.ngrams import add_ngrams
from tests import oracle

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from nbtext.counts.matrix import DocumentTermMatrix
    from nbtext.type_names import AnyArray
    from tests.oracle import Labelled


def matrix_of(
    sequences: Sequence[Sequence[str]], vocabulary: Vocabulary | GrowingVocabulary, order: int = 1
) -> DocumentTermMatrix:
    """The counts of documents given as terms, by document."""
    return postings_of(sequences, vocabulary, order).to_matrix()


def postings_of(
    sequences: Sequence[Sequence[str]], vocabulary: Vocabulary | GrowingVocabulary, order: int = 1
) -> Postings:
    """The counts of documents given as terms."""
    if isinstance(vocabulary, GrowingVocabulary):
        find, find_pairs = vocabulary.intern, vocabulary.intern_pairs
    else:
        find, find_pairs = vocabulary.find, vocabulary.find_pairs
    terms = np.array([number for sequence in sequences for number in find(sequence)], np.int64)
    documents = np.repeat(np.arange(len(sequences)), [len(sequence) for sequence in sequences])
    return Postings.from_sequence(
        add_ngrams(TermSequence(documents, terms), order, find_pairs), len(sequences)
    )


def statistics_of(
    documents: Sequence[Labelled], order: int = 1, block: int = 1000
) -> ClassStatistics:
    """The statistics of labelled documents, counted ``block`` at a time."""
    return estimate_statistics(table_of(documents, order, block))


def table_of(documents: Sequence[Labelled], order: int = 1, block: int = 1000) -> CountTable:
    """The table of labelled documents, counted ``block`` at a time."""
    builder = TableBuilder()
    for begin in range(0, len(documents), block):
        part = documents[begin : begin + block]
        builder.add(
            postings_of([terms for _, terms in part], builder.vocabulary, order),
            builder.intern_classes([label for label, _ in part]),
        )
    return builder.freeze().table


def counted_documents(corpus: Sequence[Labelled], statistics: CellCounts) -> CountedDocuments:
    """The documents, counted one by one, with their classes."""
    classes = np.array([statistics.classes.index(label) for label, _ in corpus], np.int64)
    return CountedDocuments(
        matrix_of([terms for _, terms in corpus], statistics.vocabulary),
        classes,
        np.zeros(len(corpus), np.uint64),
    )


def all_term_ids(statistics: ClassStatistics) -> NDArray[np.bool_]:
    """A selection of all terms."""
    return np.ones(statistics.n_terms, np.bool_)


def to_dictionaries(statistics: CellCounts) -> oracle.Counts:
    """The statistics as dictionaries."""
    cells = [
        (statistics.classes[k], statistics.vocabulary.get_term(j))
        for j, k in zip(
            statistics.cell_terms.tolist(), statistics.cell_classes.tolist(), strict=True
        )
    ]
    return oracle.Counts(
        dict(zip(statistics.classes, statistics.class_documents.tolist(), strict=True)),
        dict(zip(cells, statistics.cell_counts.tolist(), strict=True)),
        dict(zip(cells, statistics.cell_documents.tolist(), strict=True)),
    )


def dense(counts: CellCounts, cells: str = "cell_counts") -> AnyArray:
    """Counts by term and class, shape (n_terms, n_classes)."""
    found = np.zeros((counts.n_terms, counts.n_classes), counts.cell_counts.dtype)
    found[counts.cell_terms, counts.cell_classes] = getattr(counts, cells)
    return found


def statistics_from_table(
    counts: Sequence[Sequence[int]], documents: Sequence[int], holding: Sequence[Sequence[int]]
) -> ClassStatistics:
    """Statistics from tables of shape (n_terms, n_classes) with classes c0, c1, … and terms t0000, t0001, …"""
    table = np.array(counts, np.int64).reshape(-1, len(documents))
    terms, classes = np.nonzero(table)
    counted = CountTable(
        Vocabulary.from_terms([f"t{number:04d}" for number in range(len(table))]),
        tuple(f"c{number}" for number in range(len(documents))),
        np.array(documents, np.int64),
        compute_offsets(np.bincount(terms, minlength=len(table))),
        classes,
        table[terms, classes],
        np.array(holding, np.int64).reshape(table.shape)[terms, classes],
    )
    return estimate_statistics(counted)


def language_models(
    statistics: ClassStatistics,
    smoothing: float = 1.0,
    shape: str = "symmetric",
    estimate: str = "mean",
    over: Collection[str] | None = None,
    own: Mapping[str, float] | None = None,
) -> LanguageModels:
    """Models over all terms, or over some; ``own`` are pseudo-counts of single terms."""
    terms = [statistics.vocabulary.get_term(number) for number in range(statistics.n_terms)]
    selected = np.array([over is None or term in over for term in terms], np.bool_)
    return LanguageModels(
        statistics,
        selected,
        smoothing,
        shape,
        estimate,
        find_own_pseudo_counts(statistics, own or {}, smoothing),
    )


def find_own_pseudo_counts(
    statistics: ClassStatistics, numbers: Mapping[str, float], others: float
) -> TermPseudoCounts:
    """The pseudo-counts of those terms that there are."""
    ids = zip(statistics.vocabulary.find(list(numbers)), numbers.values(), strict=True)
    return TermPseudoCounts.from_mapping(
        {term: number for term, number in ids if term >= 0}, others
    )


@contextmanager
def cell_sums(wanted: bool = True) -> Iterator[None]:
    """Have language models that have added nothing yet sum scores as those of very many classes do."""
    with pytest.MonkeyPatch.context() as patch:
        if wanted:
            patch.setattr(dirichlet, "MIN_CLASSES_FOR_CELL_SUMS", 1)
            patch.setattr(dirichlet, "MAX_CELL_PROPORTION", 1)
        yield


def multinomial(
    models: LanguageModels, prior: str | Mapping[str, float] = "empirical"
) -> MultinomialNaiveBayes:
    """The classifier with these language models."""
    settings = Settings.from_values(
        {"class_prior": prior, "prior_shape": models.prior_shape, "estimate": models.estimate}
    )
    training = Training(
        models.statistics,
        models.selected,
        models.smoothing,
        settings,
        term_pseudo_counts=models.term_pseudo_counts,
    )
    return MultinomialNaiveBayes(training, models.statistics)

"""Soft counts: sums of shares of documents, by term and class."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from hypothesis import given

from nbtext.counts import soft_counts
from nbtext.counts.corpus_counts import CorpusCounts
from nbtext.counts.count_table import Layer
from nbtext.counts.counting import Analysis
from nbtext.counts.soft_counts import SoftCounter
from nbtext.counts.statistics import estimate_statistics
from nbtext.document_fields import WEIGHT_UNIT
from nbtext.settings import Settings
from tests.count_tables import dense
from tests.models import count_documents
from tests.strategies import corpora

if TYPE_CHECKING:
    import pytest

ANALYSIS = Analysis.from_settings(Settings(stop_words="none", stemmer="none", weighting="log"))


@given(corpora)
def test_soft_sums_equal_a_dense_product(corpus: list[tuple[str, list[str]]]) -> None:
    statistics, documents = count_documents(
        ((label, " ".join(words).encode()) for label, words in corpus), ANALYSIS
    )
    matrix, shape = documents.matrix, (len(documents), statistics.n_terms)
    product = np.zeros(shape, np.int64)
    product[matrix.entry_documents, matrix.terms] = matrix.counts
    shares = np.random.default_rng(len(corpus)).integers(
        0, WEIGHT_UNIT, (len(documents), statistics.n_classes)
    )
    soft = SoftCounter(matrix, statistics).sum_statistics(shares.astype(np.float64))
    terms = np.arange(statistics.n_terms)
    assert np.array_equal(dense(soft), product.T @ shares)
    assert np.array_equal(dense(soft, "cell_documents"), (product > 0).T @ shares)
    assert np.array_equal(soft.class_documents, shares.sum(axis=0))
    assert soft.cell_counts.dtype == np.int64
    order = np.random.default_rng(0).permutation(len(documents))
    assert (
        SoftCounter(matrix.take(order), statistics).sum_statistics(shares[order].astype(np.float64))
        == soft
    )
    counts = CorpusCounts.from_documents(statistics, documents, 0)
    both = estimate_statistics(counts.with_layer(Layer("unlabelled", 0.5, WEIGHT_UNIT), soft).table)
    assert np.allclose(
        both.get_dense_counts(terms), dense(statistics) + product.T @ shares / 2 / WEIGHT_UNIT
    )
    assert both.cell_logs is not None


def test_large_tables_are_built_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    words = [f"w{number}" for number in range(40)]
    statistics, documents = count_documents(
        (("xy"[n % 2], " ".join(words[n : n + 9]).encode()) for n in range(30)), ANALYSIS
    )
    shares = np.random.default_rng(1).integers(0, WEIGHT_UNIT, (30, 2)).astype(np.float64)
    whole = SoftCounter(documents.matrix, statistics).sum_statistics(shares)
    monkeypatch.setattr(soft_counts, "MAX_BLOCK_TERM_WEIGHTS", 6)
    assert SoftCounter(documents.matrix, statistics).sum_statistics(shares) == whole

"""The sum of layers: counted documents with the weights of their classes, seed words, and shares of unlabelled documents."""

from __future__ import annotations

import numpy as np

from nbtext.counts.corpus_counts import Subsets
from nbtext.counts.counting import Analysis
from nbtext.counts.layers import balancing_factors, estimated, weights_of
from nbtext.counts.seeds import Seed
from nbtext.counts.soft_counts import SoftCounter
from nbtext.counts.statistics import Layer, Weights
from nbtext.settings import Settings
from tests.models import count_documents

ANALYSIS = Analysis.of(Settings(stop_words="none", stemmer="none", weighting="log"))
TEXTS = [("x", b"ant bee"), ("x", b"ant ant cat"), ("y", b"bee cat"), ("x", b"dog")]
SEEDS = [Seed("x", ("bee",), 2.3), Seed("y", ("ant",), 0.7)]


def test_the_sum_is_that_of_each_cell_in_order() -> None:
    counted, documents = count_documents(TEXTS, ANALYSIS)
    shares = np.array([[700.0, 300], [10, 990], [0, 1000], [333, 667]])
    layer = Layer("unlabelled", SoftCounter(documents.matrix, counted).statistics(shares), 0.3)
    found = estimated(counted, weights_of(counted, Settings(class_weight="balanced"), SEEDS)._replace(layers=[layer]))
    terms, factors = np.arange(counted.n_terms), balancing_factors(counted)
    seeds = np.array([[0, 0.7], [2.3, 0], [0, 0], [0, 0]])
    wanted = counted.counts_of(terms) * factors / 1000 + seeds + 0.3 / 1000 * layer.statistics.counts_of(terms)
    assert np.array_equal(found.counts_of(terms), wanted)
    assert np.array_equal(found.class_documents, counted.class_documents * factors / 1000 + 0.3 / 1000 * layer.statistics.class_documents)
    assert (found.unit, found.weight_unit) == (1, 1000)
    assert np.array_equal(documents.natural_weights(found), factors[documents.classes] / 1000)


def test_a_part_of_a_sum_is_the_sum_of_the_part() -> None:
    counted, documents = count_documents(TEXTS, ANALYSIS)
    weights, rows = weights_of(counted, Settings(class_weight="balanced"), SEEDS), np.array([0, 3])
    part = Subsets(estimated(counted, weights), documents).without(rows)
    assert part == estimated(Subsets(counted, documents).without(rows), weights)
    assert part.counted == Subsets(counted, documents).without(rows)


def test_what_nothing_weighs_or_joins_stays_as_it_is() -> None:
    counted, _ = count_documents(TEXTS, ANALYSIS)
    assert estimated(counted, Weights()) is counted

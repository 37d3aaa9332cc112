"""Layers: the sum of counted documents with the weights of their classes, seed words and unlabelled documents; and counted layers, here of periods."""

from __future__ import annotations

import gc
import weakref
from dataclasses import replace
from functools import reduce
from operator import add, itemgetter
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtext import TextClassifier
from nbtext.counts.corpus_counts import (
    CorpusCounts,
    Subsets,
    forget_documents,
    relabel_documents,
)
from nbtext.counts.count_table import UNLABELLED_LAYER, Layer
from nbtext.counts.counting import Analysis
from nbtext.counts.soft_counts import SoftCounter
from nbtext.counts.statistics import (
    CountWeights,
    LabelStatistics,
    SeedTerm,
    build_count_weights,
    compute_balancing_factors,
    estimate_statistics,
)
from nbtext.errors import ModelError, UsageError
from nbtext.model import state
from nbtext.prediction.labels import make_label_set
from nbtext.prediction.posterior import ClassPosterior, LabelPosterior
from nbtext.settings import Settings
from tests import strategies
from tests.count_tables import all_term_ids, dense, statistics_of
from tests.model_changes import WORDS
from tests.models import count, count_documents
from tests.oracle import Labelled
from tests.profiles import examples

ANALYSIS = Analysis.from_settings(Settings(stop_words="none", stemmer="none", weighting="log"))
TEXTS = [("x", b"ant bee"), ("x", b"ant ant cat"), ("y", b"bee cat"), ("x", b"dog")]
WHOLE = Analysis(Settings(stop_words="none", stemmer="none", keep_documents=99))
Corpus = list[Labelled]
Dated = list[tuple[str, str, str]]
SEEDS = [SeedTerm("x", ("bee",), 2.3), SeedTerm("y", ("ant",), 0.7)]


def test_weighted_sum_of_layers_is_exact_for_each_cell() -> None:
    counted, documents = count_documents(TEXTS, ANALYSIS)
    shares = np.array([[700.0, 300], [10, 990], [0, 1000], [333, 667]])
    soft = SoftCounter(documents.matrix, counted).sum_statistics(shares)
    counts = CorpusCounts.from_documents(counted, documents, 9).with_layer(
        Layer(UNLABELLED_LAYER, 0.3, 1000), soft
    )
    assert counts.uses_unlabelled
    assert counts.drop_derived_layers().table == counts.table.labelled_table == counted
    plain = CorpusCounts.from_documents(counted, documents, 9)
    assert (counts + plain).table == (plain + counts).table == counted.combine(counted, 1).table
    assert (counts + plain - plain).table == (counts - plain + plain).table == counted
    found = estimate_statistics(
        counts.table, build_count_weights(counts.table, Settings(class_weight="balanced"), SEEDS)
    )
    factors = compute_balancing_factors(counted)
    seeds = np.array([[0, 0.7], [2.3, 0], [0, 0], [0, 0]])
    wanted = dense(counted) * factors / 1000 + seeds + 0.3 / 1000 * dense(soft)
    assert np.array_equal(found.get_dense_counts(np.arange(counted.n_terms)), wanted)
    assert np.array_equal(
        found.class_documents,
        counted.class_documents * factors / 1000 + 0.3 / 1000 * soft.class_documents,
    )
    assert (counted.unit, found.weight_unit) == (1, 1000)
    assert np.array_equal(documents.compute_weights(found), factors[documents.classes] / 1000)


def test_subset_of_a_sum_equals_the_sum_of_the_subset() -> None:
    counted, documents = count_documents(TEXTS, ANALYSIS)
    weights, rows = (
        build_count_weights(counted, Settings(class_weight="balanced"), SEEDS),
        np.array([0, 3]),
    )
    part = estimate_statistics(Subsets(counted, documents).exclude_documents(rows), weights)
    alone, _ = count_documents([TEXTS[1], TEXTS[2]], ANALYSIS)
    terms = part.vocabulary.find_terms(
        [(alone.vocabulary.get_term(number),) for number in range(alone.n_terms)]
    )
    wanted = estimate_statistics(alone, weights)
    assert np.array_equal(
        part.get_dense_counts(terms), wanted.get_dense_counts(np.arange(alone.n_terms))
    )
    assert np.array_equal(part.class_documents, wanted.class_documents)


def test_unweighted_single_table_is_returned_unchanged() -> None:
    counted, _ = count_documents(TEXTS, ANALYSIS)
    found = estimate_statistics(counted, CountWeights())
    assert found.table is counted
    assert all(mine is its for mine, its in zip(found.cells, counted.cells, strict=True))
    assert found.observed_counts is found
    assert not found.seeds.term_occurs.any()
    assert found.seeds.class_documents.tolist() == [0, 0]


sets = st.lists(
    st.tuples(
        st.sets(st.sampled_from("xyz")), st.lists(st.sampled_from(WORDS), max_size=4).map(" ".join)
    ),
    min_size=1,
    max_size=9,
)
"""Documents with sets of labels."""


@examples(20)
@given(sets.filter(lambda corpus: any(labels for labels, _ in corpus)))
def test_all_documents_of_a_multi_label_corpus_count_each_document_once(
    corpus: list[tuple[set[str], str]],
) -> None:
    counts = count([(make_label_set(labels), text.encode()) for labels, text in corpus], WHOLE)
    once = count(
        [("all documents", text.encode()) for _, text in corpus], WHOLE
    ).labelled_statistics
    found, selected = counts.labelled_statistics, np.arange(once.n_terms) % 2 == 0
    assert isinstance(found, LabelStatistics)
    assert found.all_documents == once == once.all_documents
    assert (found.n_documents, found.count_all_tokens(selected)) == (
        len(corpus),
        once.count_all_tokens(selected),
    )
    assert np.array_equal(found.term_counts, once.term_counts)
    assert np.array_equal(found.term_documents, once.term_documents)
    assert found.term_occurs.all()
    assert found.classes == tuple(sorted({label for labels, _ in corpus for label in labels}))
    assert found.class_documents.tolist() == [
        sum(label in labels for labels, _ in corpus) for label in found.classes
    ]
    assert (found.posterior_type, once.posterior_type) == (LabelPosterior, ClassPosterior)


@examples(20)
@given(strategies.corpora)
def test_all_documents_of_a_single_label_corpus_are_the_sum_over_classes(corpus: Corpus) -> None:
    found = statistics_of(corpus).all_documents
    wanted = statistics_of([("all documents", terms) for _, terms in corpus])
    assert found == wanted
    assert found.term_counts.tolist() == wanted.term_counts.tolist()
    assert found.count_all_tokens(all_term_ids(found)) == sum(len(terms) for _, terms in corpus)


def test_unreferenced_sum_is_freed_immediately() -> None:
    """Each fold has one, and all of them together would take much memory until garbage is collected."""
    gc.disable()
    try:
        counted, _ = count_documents(TEXTS, ANALYSIS)
        found = estimate_statistics(counted)
        assert found.observed_counts is found
        assert found.all_documents.n_documents == len(TEXTS)
        of_sum, of_table = weakref.ref(found), weakref.ref(counted)
        del found, counted
        assert of_sum() is None
        assert of_table() is None
    finally:
        gc.enable()


def test_sum_copies_cell_terms_only_if_seeds_add_cells() -> None:
    counted, _ = count_documents(TEXTS, ANALYSIS)
    found = estimate_statistics(counted, CountWeights(seeds=SEEDS))
    assert found.cell_terms.size == found.cell_counts.size == counted.cell_counts.size + 1
    assert estimate_statistics(counted).cell_terms is counted.cell_terms


PERIODS = ("2024", "2025")
dated = st.lists(
    st.tuples(
        st.sampled_from("xyz"),
        st.lists(st.sampled_from(WORDS), max_size=4).map(" ".join),
        st.sampled_from(PERIODS),
    ),
    min_size=1,
    max_size=9,
)
"""Documents with labels and periods."""


def count_by_period(corpus: Dated) -> CorpusCounts:
    """Count the documents of each period in a layer of its own, and add the layers."""
    found = []
    for period in sorted({period for *_, period in corpus}):
        counts = count(
            [(label, text.encode()) for label, text, of in corpus if of == period],
            WHOLE,
            keep_all=True,
        )
        layers, numbers = (Layer(), Layer(period)), 2 * np.arange(counts.table.n_classes) + 1
        statistics = counts.table.regroup_columns(numbers, counts.table.classes, layers)
        found.append(
            CorpusCounts.from_documents(
                statistics,
                replace(counts.documents, columns=numbers[counts.documents.columns], n_layers=2),
                99,
            )
        )
    return reduce(add, found)


def file_of(counts: CorpusCounts) -> bytes:
    """A model of the counts, saved."""
    with TemporaryDirectory() as folder:
        TextClassifier(stop_words="none", stemmer="none", keep_documents=99).learn(counts).save(
            f"{folder}/model"
        )
        return Path(f"{folder}/model").read_bytes()


def require_equal(found: CorpusCounts, wanted: CorpusCounts) -> None:
    assert found.table == wanted.table
    assert file_of(found) == file_of(wanted)


@examples(20)
@given(dated, dated)
def test_layered_counts_add_and_subtract_as_if_recounted(first: Dated, second: Dated) -> None:
    both = count_by_period(first) + count_by_period(second)
    require_equal(both, count_by_period([*second, *first]))
    require_equal(both - count_by_period(second), count_by_period(first))
    require_equal(forget_documents(both, count_by_period(second)), count_by_period(first))
    with pytest.raises(UsageError, match="never added as"):
        forget_documents(both, count_by_period([*first, ("z", "never counted", "2024")]))
    elsewhere = [(label, text, PERIODS[1 - PERIODS.index(period)]) for label, text, period in first]
    if sorted(elsewhere) != sorted(first):
        with pytest.raises(UsageError, match="never added as"):
            forget_documents(
                count_by_period(first) + count_by_period([("z", "never counted", "2024")]),
                count_by_period(elsewhere),
            )


@examples(20)
@given(
    dated,
    st.fixed_dictionaries({label: st.sampled_from(["x", "new"]) for label in "xyz"}),
    st.sets(st.sampled_from(WORDS), min_size=1),
)
def test_layered_counts_are_renamed_and_pruned_as_if_recounted(
    corpus: Dated, new: dict[str, str], words: set[str]
) -> None:
    counts = count_by_period(corpus)
    labels = [new[label] for label in counts.table.classes]
    require_equal(
        counts.rename_classes(labels),
        count_by_period([(new[label], text, period) for label, text, period in corpus]),
    )
    documents = relabel_documents(
        counts.table,
        counts.documents,
        [new[label] for label, *_ in sorted(corpus, key=itemgetter(2))],
        9,
    )
    require_equal(
        documents, count_by_period([(new[label], text, period) for label, text, period in corpus])
    )
    kept = np.array(
        [counts.table.vocabulary.get_term(term) in words for term in range(counts.table.n_terms)],
        np.bool_,
    )
    without = [
        (label, " ".join(word for word in text.split() if word in words), period)
        for label, text, period in corpus
    ]
    assert counts.restrict_terms(kept).table == count_by_period(without).table


@examples(20)
@given(dated)
def test_estimates_use_the_sum_of_all_layers(corpus: Dated) -> None:
    counts, undated = (
        count_by_period(corpus),
        count([(label, text.encode()) for label, text, _ in corpus], WHOLE),
    )
    terms = np.arange(counts.table.n_terms)
    for balanced in (None, "balanced"):
        of_periods, of_all = (
            build_count_weights(each.table, Settings(class_weight=balanced), SEEDS)
            for each in (counts, undated)
        )
        assert estimate_statistics(counts.table, of_periods) == estimate_statistics(
            undated.table, of_all
        )
    assert counts.labelled_statistics == undated.labelled_statistics
    content = file_of(counts)
    with TemporaryDirectory() as folder:
        (Path(folder) / "model").write_bytes(content)
        loaded = TextClassifier.load(f"{folder}/model")
    assert loaded.counts.table == counts.table
    plain = TextClassifier(stop_words="none", stemmer="none", keep_documents=99).learn(undated)
    texts = [text for _, text, _ in corpus]
    assert np.array_equal(
        loaded.predict_log_proba(texts), plain.predict_log_proba(texts), equal_nan=True
    )
    rows = np.arange(0, len(corpus), 2)
    in_order = sorted(corpus, key=itemgetter(2))
    part = Subsets(counts.table, counts.documents).exclude_documents(rows)
    assert part.labelled_table.cell_counts.sum() == sum(
        len(text.split()) for _, text, _ in in_order[1::2]
    )
    assert terms.size == part.n_terms


def test_model_file_with_too_many_layers_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    content = file_of(count_by_period([("x", "ant", "2024"), ("y", "bee", "2025")]))
    monkeypatch.setattr(state, "MAX_LABEL_LAYER_COLUMNS", 5)
    with TemporaryDirectory() as folder:
        (Path(folder) / "model").write_bytes(content)
        with pytest.raises(ModelError, match="it has too many layers"):
            TextClassifier.load(f"{folder}/model")

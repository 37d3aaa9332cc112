"""Weights of terms: the slow twin, and sums that do not depend on the order of documents."""

from __future__ import annotations

import math
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtext.counts.corpus_counts import Subsets, add_log_sums
from nbtext.counts.counting import Analysis
from nbtext.counts.weighting import weigh_cells, weigh_matrix
from nbtext.settings import WEIGHTINGS, Settings
from tests import strategies
from tests.count_tables import dense
from tests.models import count_documents
from tests.profiles import examples

if TYPE_CHECKING:
    from nbtext.counts.count_table import CountTable
    from nbtext.counts.documents import CountedDocuments
    from nbtext.counts.matrix import DocumentTermMatrix
    from tests.oracle import Labelled

PARAMETERS = Settings.from_values({"stemmer": "none", "unspaced": "pairs"})


def count_corpus(corpus: list[Labelled]) -> tuple[CountTable, CountedDocuments]:
    return count_documents(
        [(label, " ".join(terms).encode()) for label, terms in corpus], Analysis(PARAMETERS)
    )


def slow_weights(
    weighting: str, terms: list[str], corpus: list[Labelled], over: set[str]
) -> dict[str, float]:
    """The weights of one document's terms, one by one."""
    counts = {term: n for term, n in Counter(terms).items() if term in over}
    if weighting in ("counts", "binary"):
        return {term: float(n) if weighting == "counts" else 1.0 for term, n in counts.items()}
    weights = {term: math.log(1 + n) for term, n in counts.items()}
    if weighting == "tfidf":
        holding = {term: sum(term in others for _, others in corpus) for term in weights}
        weights = {
            term: weight * math.log(len(corpus) / holding[term]) for term, weight in weights.items()
        }
        length = math.sqrt(sum(weight**2 for weight in weights.values())) or 1.0
        weights = {term: weight / length for term, weight in weights.items() if weight}
    return weights


def rows(matrix: DocumentTermMatrix, statistics: CountTable) -> list[dict[str, float]]:
    name = statistics.vocabulary.get_term
    return [
        {
            name(j): float(n)
            for j, n in zip(
                matrix.terms[begin:end].tolist(), matrix.counts[begin:end].tolist(), strict=True
            )
        }
        for begin, end in pairwise(matrix.offsets.tolist())
    ]


@pytest.mark.parametrize("weighting", WEIGHTINGS)
@examples(4)
@given(corpus=strategies.corpora, over=st.sets(st.sampled_from(strategies.WORDS)))
def test_weights_match_the_slow_twin(
    weighting: str, corpus: list[Labelled], over: set[str]
) -> None:
    statistics, documents = count_corpus(corpus)
    selected = np.array(
        [statistics.vocabulary.get_term(j) in over for j in range(statistics.n_terms)], np.bool_
    )
    matrix = weigh_matrix(documents.matrix.select_terms(selected), weighting, statistics)
    wanted = [slow_weights(weighting, terms, corpus, over) for _, terms in corpus]
    assert rows(matrix, statistics) == [pytest.approx(row, rel=1e-12) for row in wanted]
    cells = weigh_cells(weighting, add_log_sums(statistics, documents), selected, documents)
    for j, k, found in zip(
        statistics.cell_terms.tolist(),
        statistics.cell_classes.tolist(),
        cells.tolist(),
        strict=True,
    ):
        term, label = statistics.vocabulary.get_term(j), statistics.classes[k]
        if term in over:
            total = sum(
                row.get(term, 0.0)
                for (of, _), row in zip(corpus, wanted, strict=True)
                if of == label
            )
            assert found == pytest.approx(total, abs=1e-8)
            assert 0 <= found <= dense(statistics)[j, k]


@pytest.mark.parametrize("weighting", WEIGHTINGS)
@examples(4)
@given(corpus=strategies.corpora, random=st.randoms(use_true_random=False))
def test_weighted_sums_are_bitwise_equal_in_any_order(
    weighting: str, corpus: list[Labelled], random: Any
) -> None:
    shuffled = random.sample(corpus, len(corpus))
    both = []
    for documents in (corpus, shuffled):
        statistics, rows_of = count_corpus(documents)
        cells = weigh_cells(
            weighting,
            add_log_sums(statistics, rows_of),
            np.ones(statistics.n_terms, np.bool_),
            rows_of,
        )
        both.append(cells.tolist())
    assert both[0] == both[1]


@given(corpus=strategies.corpora, data=st.data())
def test_subset_is_weighted_as_if_alone(corpus: list[Labelled], data: st.DataObject) -> None:
    """Inverse document frequencies are those of the part, and terms that are in none of its documents are nowhere."""
    chosen = np.array(
        data.draw(st.lists(st.booleans(), min_size=len(corpus), max_size=len(corpus)).filter(any))
    )
    statistics, documents = count_corpus(corpus)
    part, inside = (
        Subsets(statistics, documents).select_table(chosen),
        documents.take(np.flatnonzero(chosen)),
    )
    found = weigh_cells("tfidf", part, np.diff(part.term_offsets) > 0, inside)
    alone, alone_documents = count_corpus(
        [document for document, here in zip(corpus, chosen.tolist(), strict=True) if here]
    )
    wanted = weigh_cells("tfidf", alone, np.ones(alone.n_terms, np.bool_), alone_documents)
    assert found.tolist() == pytest.approx(wanted.tolist(), abs=1e-9)


@given(corpus=strategies.corpora.filter(lambda corpus: len(corpus) > 1), data=st.data())
def test_log_sums_add_and_subtract(corpus: list[Labelled], data: st.DataObject) -> None:
    chosen = np.array(
        data.draw(
            st.lists(st.booleans(), min_size=len(corpus), max_size=len(corpus)).filter(
                lambda mask: any(mask) and not all(mask)
            )
        )
    )
    whole, inside, outside = (
        add_log_sums(
            *count_corpus(
                [document for document, here in zip(corpus, mask.tolist(), strict=True) if here]
            )
        )
        for mask in (np.ones_like(chosen), chosen, ~chosen)
    )
    assert inside.combine(outside, 1).table == whole
    assert whole.combine(outside, -1).table == inside
    assert add_log_sums(*count_corpus(corpus[::-1])) == whole


def test_tfidf_without_documents_raises() -> None:
    statistics, _ = count_corpus([("x", ["ant"])])
    with pytest.raises(ValueError, match="tfidf needs the documents"):
        weigh_cells("tfidf", statistics, np.ones(1, np.bool_), None)


@given(corpus=strategies.corpora, size=st.integers(0, 12))
def test_sample_positions_are_those_of_its_documents(corpus: list[Labelled], size: int) -> None:
    from nbtext.counts.documents import DocumentSample

    _, documents = count_corpus(corpus)
    sample = DocumentSample.from_documents(documents, size).documents
    places = documents.find_sample_rows(sample)
    assert len(set(places.tolist())) == len(sample)
    again = documents.take(places)
    assert again.hashes.tolist() == sample.hashes.tolist()
    assert again.classes.tolist() == sample.classes.tolist()
    assert again.matrix.terms.tolist() == sample.matrix.terms.tolist()

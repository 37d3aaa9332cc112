"""The statistics of a part of a corpus are those of counting the part alone."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from nbtext.counts.corpus_counts import Subsets
from nbtext.counts.counting import Analysis
from nbtext.settings import Settings
from tests import oracle, strategies
from tests.count_tables import to_dictionaries
from tests.models import count, count_documents

if TYPE_CHECKING:
    from collections.abc import Callable

    from nbtext.counts.documents import DocumentSample
    from tests.oracle import Labelled

PARAMETERS = Settings.from_values({"stemmer": "none", "ngrams": 2, "keep_documents": 3})


def texts(corpus: list[Labelled]) -> list[tuple[str, bytes]]:
    return [(label, " ".join(terms).encode()) for label, terms in corpus]


def subsets_of(corpus: list[Labelled]) -> Subsets:
    return Subsets(*count_documents(texts(corpus), Analysis(PARAMETERS)))


@given(corpus=strategies.corpora, data=st.data())
def test_subset_equals_counting_only_its_documents(
    corpus: list[Labelled], data: st.DataObject
) -> None:
    subsets = subsets_of(corpus)
    chosen = np.array(
        data.draw(st.lists(st.booleans(), min_size=len(corpus), max_size=len(corpus))), np.bool_
    )
    part = subsets.select_table(chosen)
    alone = oracle.count(
        [document for document, here in zip(corpus, chosen.tolist(), strict=True) if here], 2
    )
    found = to_dictionaries(part)
    assert {label: n for label, n in found.documents.items() if n} == alone.documents
    assert (found.occurrences, found.holding) == (alone.occurrences, alone.holding)
    assert (part.classes, part.vocabulary) == (subsets.table.classes, subsets.table.vocabulary)
    assert part.term_offsets.size == part.n_terms + 1
    assert part.cell_counts.min(initial=1) >= 1


@given(corpus=strategies.corpora)
def test_full_and_empty_subsets_are_selected(corpus: list[Labelled]) -> None:
    subsets = subsets_of(corpus)
    assert subsets.select_table(np.ones(len(corpus), np.bool_)) == subsets.table
    nothing = subsets.select_table(np.zeros(len(corpus), np.bool_))
    assert (nothing.n_documents, nothing.cell_counts.size, int(nothing.term_offsets.max())) == (
        0,
        0,
        0,
    )


@given(corpus=strategies.corpora, data=st.data())
def test_sample_of_a_subset_equals_counting_only_its_documents(
    corpus: list[Labelled], data: st.DataObject
) -> None:
    chosen = data.draw(
        st.lists(st.booleans(), min_size=len(corpus), max_size=len(corpus)).filter(any)
    )
    subsets = subsets_of(corpus)
    found = subsets.select_counts(np.array(chosen), PARAMETERS["keep_documents"]).sample
    alone = count(
        [pair for pair, here in zip(texts(corpus), chosen, strict=True) if here],
        Analysis(PARAMETERS),
    )
    assert (found.bound, found.size) == (alone.sample.bound, alone.sample.size)
    assert found.documents.hashes.tolist() == alone.sample.documents.hashes.tolist()
    names = [subsets.table.classes[k] for k in found.documents.classes.tolist()]
    assert names == [alone.table.classes[k] for k in alone.sample.documents.classes.tolist()]
    assert terms_of(found, subsets.table.vocabulary.get_term) == terms_of(
        alone.sample, alone.table.vocabulary.get_term
    )


def terms_of(sample: DocumentSample, name: Callable[[int], str]) -> list[dict[str, int]]:
    matrix = sample.documents.matrix
    return [
        {
            name(j): n
            for j, n in zip(
                matrix.terms[begin:end].tolist(), matrix.counts[begin:end].tolist(), strict=True
            )
        }
        for begin, end in pairwise(matrix.offsets.tolist())
    ]

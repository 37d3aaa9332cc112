"""A corpus as counts: restricted, under other labels, and taken away, against counting the documents that are meant.

Also tests `counts/counting.py` and `counts/vocabulary.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from nbtext.counts.corpus_counts import (
    _find_first_impossible,
    include_ngram_parts,
    is_in_vocabulary,
    relabel_documents,
)
from nbtext.counts.counting import Analysis, DocumentCounter
from nbtext.counts.vocabulary import (
    Vocabulary,
    display_term,
    make_category_term,
    mask_attribute,
    mask_categories,
)
from nbtext.document_fields import Attributes
from nbtext.settings import Reading, Settings
from tests.count_tables import to_dictionaries
from tests.model_changes import WORDS, Corpus, corpora
from tests.models import count, count_documents

if TYPE_CHECKING:
    from nbtext.counts.corpus_counts import CorpusCounts


def analysis(**given: Any) -> Analysis:
    return Analysis(Settings.from_values({"stemmer": "none", **given}))


def count_texts(labelled: Corpus, **given: Any) -> CorpusCounts:
    return count([(label, text.encode()) for label, text in labelled], analysis(**given))


def documents(labelled: Corpus) -> tuple[Any, Any]:
    return count_documents([(label, text.encode()) for label, text in labelled], analysis())


def of_words(labelled: Corpus, words: set[str]) -> Corpus:
    return [
        (label, " ".join(word for word in text.split() if word in words))
        for label, text in labelled
    ]


@given(corpora, st.sets(st.sampled_from(WORDS)))
def test_restricted_counts_equal_counts_of_texts_without_the_other_words(
    labelled: Corpus, words: set[str]
) -> None:
    counts = count_texts(labelled)
    vocabulary = counts.table.vocabulary
    kept = np.array(
        [vocabulary.get_term(term) in words for term in range(len(vocabulary))], np.bool_
    )
    found, wanted = counts.restrict_terms(kept), count_texts(of_words(labelled, words))
    assert to_dictionaries(found.table) == to_dictionaries(wanted.table)
    rows = sorted(map(tuple, dense(found)))
    assert rows == sorted(map(tuple, dense(wanted)))
    assert to_dictionaries(
        counts.restrict_to_vocabulary(wanted.table.vocabulary).table
    ) == to_dictionaries(wanted.table)


def dense(counts: CorpusCounts) -> list[list[int]]:
    """The sampled documents, each as its class and how often it holds each term."""
    sample = counts.sample.documents
    table = np.zeros((len(sample), counts.table.n_terms), np.int64)
    table[sample.matrix.entry_documents, sample.matrix.terms] = sample.matrix.counts
    rows: list[list[int]] = np.column_stack((sample.classes, table)).tolist()
    return rows


def test_kept_ngram_keeps_its_words() -> None:
    vocabulary = count_texts([("x", "ant bee cat dog")], ngrams=3).table.vocabulary
    names = [vocabulary.get_term(term) for term in range(len(vocabulary))]
    kept = include_ngram_parts(vocabulary, np.array([name == "bee cat dog" for name in names]))
    assert {name for name, stays in zip(names, kept.tolist(), strict=True) if stays} == {
        "bee",
        "cat",
        "dog",
        "bee cat",
        "bee cat dog",
    }
    other = count_texts([("x", "cat bee"), ("y", "bee cat eel")], ngrams=3).table.vocabulary
    known = is_in_vocabulary(vocabulary, other)
    assert {other.get_term(term) for term in np.flatnonzero(known).tolist()} == {
        "bee",
        "cat",
        "bee cat",
    }


@given(corpora, st.data())
def test_selected_documents_can_get_other_labels(labelled: Corpus, data: st.DataObject) -> None:
    rows = sorted(data.draw(st.sets(st.integers(0, len(labelled) - 1), min_size=1)))
    labels = data.draw(st.lists(st.sampled_from("uvw"), min_size=len(rows), max_size=len(rows)))
    statistics, counted_documents = documents(labelled)
    found = relabel_documents(statistics, counted_documents.take(np.array(rows)), labels, 4096)
    wanted, _ = documents(
        [(label, labelled[row][1]) for row, label in zip(rows, labels, strict=True)]
    )
    assert found.table == wanted
    assert [found.table.classes[number] for number in found.documents.classes.tolist()] == labels


def test_find_first_impossible_returns_none_for_counted_documents() -> None:
    learnt = [("x", "ant bee"), ("x", "ant"), ("y", "cat")]
    assert _find_first_impossible(count_texts(learnt), *documents(learnt[:2])) is None


def test_category_terms_cannot_occur_in_texts() -> None:
    terms = [
        make_category_term("colour", "dark red"),
        make_category_term("co", "lour"),
        make_category_term("colour", ""),
    ]
    assert [display_term(term) for term in (*terms, "red", "a=b")] == [
        "colour=dark red",
        "co=lour",
        "colour=",
        "red",
        "a=b",
    ]
    vocabulary = Vocabulary.from_terms(sorted([*terms, "colour", "red"]))
    of_colour = mask_attribute(vocabulary, "colour")
    names = [vocabulary.get_term(number) for number in range(len(vocabulary))]
    assert {
        name
        for name, found in zip(names, mask_categories(vocabulary).tolist(), strict=True)
        if found
    } == set(terms)
    assert {name for name, found in zip(names, of_colour.tolist(), strict=True) if found} == {
        terms[0],
        terms[2],
    }
    assert not any(
        mask_categories(Vocabulary.from_terms(terms)).any() for terms in (["colour", "red"], [])
    )


def test_documents_with_values_are_counted_with_categories_and_numbers() -> None:
    attributes = Attributes(("colour", "shape"), ("legs",), ("kilos",))
    vocabulary = Vocabulary.from_terms(
        sorted([make_category_term("colour", "red"), make_category_term("shape", "red"), "cat"])
    )
    reading = Reading(categorical="colour,shape", count="legs", numeric="kilos")
    counter = DocumentCounter(Analysis(Settings(stop_words="none", reading=reading)), vocabulary)
    rows = [["red", "red", "4", "1.5"], ["blue", "red", "", "-1"], ["", "", "0", ""]]
    values = [*map(attributes.normalise_values, rows), ()]  # the last text was given without values
    postings = counter.count([b"cat cat", b"cat", b"", b"cat cat cat"], (), values)
    matrix = postings.to_matrix()
    found = [
        {
            display_term(vocabulary.get_term(term)): count
            for term, count in zip(
                matrix.terms[row].tolist(), matrix.counts[row].tolist(), strict=True
            )
        }
        for row in (
            slice(begin, end)
            for begin, end in zip(
                matrix.offsets.tolist(), matrix.offsets[1:].tolist(), strict=False
            )
        )
    ]
    assert found == [
        {"cat": 2, "colour=red": 1, "shape=red": 1},
        {"cat": 1, "shape=red": 1},
        {},
        {"cat": 3},
    ]
    assert matrix.values is not None
    np.testing.assert_array_equal(
        matrix.values, [[4, 1.5], [np.nan, -1], [0, np.nan], [np.nan, np.nan]]
    )
    assert matrix.unknown_tokens.tolist() == [0, 0, 0, 0]

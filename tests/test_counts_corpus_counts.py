"""A corpus as counts: restricted, under other labels, and taken away, against counting the documents that are meant.

Also tests `counts/counting.py` and `counts/vocabulary.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from nbtext.counts.corpus_counts import (
    _first_impossible,
    is_known,
    relabelled_documents,
    with_ngram_parts,
)
from nbtext.counts.counting import Analysis, DocumentCounter
from nbtext.counts.vocabulary import (
    Vocabulary,
    category_term,
    displayed_term,
    is_category,
    is_category_of,
)
from nbtext.document_fields import Attributes
from nbtext.settings import Reading, Settings
from tests.building import plain
from tests.changing import WORDS, Corpus, corpora
from tests.models import count, count_documents

if TYPE_CHECKING:
    from nbtext.counts.corpus_counts import CorpusCounts


def analysis(**given: Any) -> Analysis:
    return Analysis(Settings.of({"stemmer": "none", **given}))


def counted(labelled: Corpus, **given: Any) -> CorpusCounts:
    return count([(label, text.encode()) for label, text in labelled], analysis(**given))


def documents(labelled: Corpus) -> tuple[Any, Any]:
    return count_documents([(label, text.encode()) for label, text in labelled], analysis())


def of_words(labelled: Corpus, words: set[str]) -> Corpus:
    return [
        (label, " ".join(word for word in text.split() if word in words))
        for label, text in labelled
    ]


@given(corpora, st.sets(st.sampled_from(WORDS)))
def test_restricted_counts_are_those_of_texts_without_the_other_words(
    labelled: Corpus, words: set[str]
) -> None:
    counts = counted(labelled)
    vocabulary = counts.table.vocabulary
    kept = np.array([vocabulary.term(term) in words for term in range(len(vocabulary))], np.bool_)
    found, wanted = counts.restricted(kept), counted(of_words(labelled, words))
    assert plain(found.table) == plain(wanted.table)
    rows = sorted(map(tuple, dense(found)))
    assert rows == sorted(map(tuple, dense(wanted)))
    assert plain(counts.over(wanted.table.vocabulary).table) == plain(wanted.table)


def dense(counts: CorpusCounts) -> list[list[int]]:
    """The sampled documents, each as its class and how often it holds each term."""
    sample = counts.sample.documents
    table = np.zeros((len(sample), counts.table.n_terms), np.int64)
    table[sample.matrix.entry_documents, sample.matrix.terms] = sample.matrix.counts
    rows: list[list[int]] = np.column_stack((sample.classes, table)).tolist()
    return rows


def test_an_ngram_that_stays_keeps_what_it_is_made_of() -> None:
    vocabulary = counted([("x", "ant bee cat dog")], ngrams=3).table.vocabulary
    names = [vocabulary.term(term) for term in range(len(vocabulary))]
    kept = with_ngram_parts(vocabulary, np.array([name == "bee cat dog" for name in names]))
    assert {name for name, stays in zip(names, kept.tolist(), strict=True) if stays} == {
        "bee",
        "cat",
        "dog",
        "bee cat",
        "bee cat dog",
    }
    other = counted([("x", "cat bee"), ("y", "bee cat eel")], ngrams=3).table.vocabulary
    known = is_known(vocabulary, other)
    assert {other.term(term) for term in np.flatnonzero(known).tolist()} == {
        "bee",
        "cat",
        "bee cat",
    }


@given(corpora, st.data())
def test_some_documents_each_under_a_label_of_its_own(
    labelled: Corpus, data: st.DataObject
) -> None:
    rows = sorted(data.draw(st.sets(st.integers(0, len(labelled) - 1), min_size=1)))
    labels = data.draw(st.lists(st.sampled_from("uvw"), min_size=len(rows), max_size=len(rows)))
    statistics, counted_documents = documents(labelled)
    found = relabelled_documents(statistics, counted_documents.rows(np.array(rows)), labels, 4096)
    wanted, _ = documents(
        [(label, labelled[row][1]) for row, label in zip(rows, labels, strict=True)]
    )
    assert found.table == wanted
    assert [found.table.classes[number] for number in found.documents.classes.tolist()] == labels


def test_none_of_the_documents_that_were_counted_is_the_first_that_cannot_be_subtracted() -> None:
    learnt = [("x", "ant bee"), ("x", "ant"), ("y", "cat")]
    assert _first_impossible(counted(learnt), *documents(learnt[:2])) is None


def test_categories_are_terms_that_no_text_can_hold() -> None:
    terms = [
        category_term("colour", "dark red"),
        category_term("co", "lour"),
        category_term("colour", ""),
    ]
    assert [displayed_term(term) for term in (*terms, "red", "a=b")] == [
        "colour=dark red",
        "co=lour",
        "colour=",
        "red",
        "a=b",
    ]
    vocabulary = Vocabulary.of(sorted([*terms, "colour", "red"]))
    of_colour = is_category_of(vocabulary, "colour")
    names = [vocabulary.term(number) for number in range(len(vocabulary))]
    assert {
        name for name, found in zip(names, is_category(vocabulary).tolist(), strict=True) if found
    } == set(terms)
    assert {name for name, found in zip(names, of_colour.tolist(), strict=True) if found} == {
        terms[0],
        terms[2],
    }
    assert not any(is_category(Vocabulary.of(terms)).any() for terms in (["colour", "red"], []))


def test_documents_with_values_are_counted_with_their_categories_and_numbers() -> None:
    attributes = Attributes(("colour", "shape"), ("legs",), ("kilos",))
    vocabulary = Vocabulary.of(
        sorted([category_term("colour", "red"), category_term("shape", "red"), "cat"])
    )
    reading = Reading(categorical="colour,shape", count="legs", numeric="kilos")
    counter = DocumentCounter(Analysis(Settings(stop_words="none", reading=reading)), vocabulary)
    rows = [["red", "red", "4", "1.5"], ["blue", "red", "", "-1"], ["", "", "0", ""]]
    values = [*map(attributes.checked, rows), ()]  # the last text was given without values
    postings = counter.count([b"cat cat", b"cat", b"", b"cat cat cat"], (), values)
    matrix = postings.matrix()
    found = [
        {
            displayed_term(vocabulary.term(term)): count
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
    assert matrix.unknown.tolist() == [0, 0, 0, 0]

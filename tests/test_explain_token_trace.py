"""The words of a document, against the analyzer and the counter, which keep the result only."""

from __future__ import annotations

import re
from base64 import encodebytes
from collections import Counter
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any
from unicodedata import normalize

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from nbtext import TextClassifier
from nbtext.corpus.document import Document, collect_contents
from nbtext.counts.counting import Analysis, DocumentCounter
from nbtext.counts.vocabulary import display_term
from nbtext.document_fields import clean_text, iter_content_offsets, render_document
from nbtext.explain import token_trace
from nbtext.explain.token_trace import TokenTracer
from nbtext.settings import Settings
from nbtext.text.analyzer import UNKNOWN_TERM
from nbtext.text.words import load_stemmer
from tests import oracle
from tests.models import train_on
from tests.profiles import examples
from tests.strategies import HARD, ITEMS, documents, documents_with_fields

if TYPE_CHECKING:
    from collections.abc import Iterable

    from nbtext.explain.token_trace import LocatedForm, LocatedWords, NgramTerm, Token

STOP_WORDS = ("the", "don't", "東京")

SETTINGS: list[dict[str, Any]] = [
    {},
    {"ngrams": 3},
    {"char_ngrams": "2-3", "top": 20, "stemmer": "porter"},
    {"ngrams": 2, "char_ngrams": "1", "stemmer": "none", "stop_words": "none"},
    {"ngrams": 2, "char_ngrams": "1-3", "unspaced": "words"},
    {"stemmer": "none"},
    {"stop_words": "default"},
]
SIDES_CHOSEN = {5: ("words",), 6: ("pairs", "words")}
"""What these models keep of scripts without spaces, as if it answered left-out documents better."""


@cache
def model_of(number: int) -> TextClassifier:
    """A model that knows the hard words, alone and beside each other, in the text and in fields."""
    hard = " ".join(HARD).encode()
    texts = [hard, *(word.encode() for word in HARD), b"the cat sat on the mat, cats sit"]
    fields = [
        (b"subject", clean_text(hard)),
        (b"from", b"ann the cat"),
        (b"", b" ".join(ITEMS[:4])),
    ]
    learned: list[bytes | Document] = [
        *map(clean_text, texts),
        Document("", None, b"cat", fields=fields),
    ]
    model = train_on(
        TextClassifier(**SETTINGS[number]),
        ((f"class {place % 3}", each) for place, each in enumerate(learned)),
    )
    if number in SIDES_CHOSEN:
        choices = replace(model.fitted.parameters.choices, sides=SIDES_CHOSEN[number])
        model._fitted = replace(
            model.fitted,
            parameters=replace(
                model.fitted.parameters,
                choices=choices,
                selected_terms=np.ones(model.fitted.statistics.n_terms, np.bool_),
            ),
        )
    return model


def forms_of(located: LocatedWords) -> list[LocatedForm]:
    """The form of each word."""
    return [located.forms[number] for number in located.form_indices.tolist()]


def without_model() -> TokenTracer:
    return TokenTracer(Analysis(Settings(stop_words="default", unspaced="pairs"), STOP_WORDS))


def test_every_drop_reason_is_reported() -> None:
    words = ["Running", "THE", "x", "'", "\u0301", "w" * 256, "fire\u2014the\u2014a"]
    found = [
        (token.form, token.word, token.term, token.dropped)
        for token in without_model().trace_tokens(" ".join(words).encode())
    ]
    assert found == [
        ("Running", "running", "run", None),
        ("THE", "the", None, "stop-word"),
        ("x", "x", None, "too-short"),
        ("'", "", None, "no-letters-or-digits"),
        ("\u0301", "", None, "no-letters-or-digits"),
        ("w" * 256, "w" * 256, None, "too-long"),
        ("fire\u2014the\u2014a", "fire", "fire", None),
        ("fire\u2014the\u2014a", "the", None, "stop-word"),
        ("fire\u2014the\u2014a", "a", None, "too-short"),
    ]


@given(documents)
def test_traced_terms_match_the_analyzer_and_dropped_tokens_have_a_reason(text: bytes) -> None:
    tokens, stem = list(without_model().trace_tokens(text)), load_stemmer("snowball", "english")
    assert [token.term for token in tokens if token.dropped is None] == oracle.terms(
        text, STOP_WORDS, lambda word: stem([word])[0], oracle.pairs
    )
    for token in tokens:
        assert text[token.start : token.end].decode() == token.form
        assert (token.term is None) == (token.dropped is not None)
        assert (token.dropped == "no-letters-or-digits") == (not token.word)


ENCODED = Document(
    "",
    None,
    b"The CAT a b'c\n%bthe cat %b x %b"
    % (encodebytes(bytes(range(256))), b"Long" * 20, b"Form" * 9),
)


@examples(60)
@example(0, ENCODED)
@example(1, Document("x", None, "⼀".encode()))
@given(st.sampled_from(range(len(SETTINGS))), documents_with_fields)
def test_located_words_have_the_counted_terms(number: int, document: Document) -> None:
    """The counter's known and unknown terms are those of the tokens, and those of the located words."""
    model = model_of(number)
    vocabulary, selected, n_terms = (
        model.fitted.statistics.vocabulary,
        model.fitted.parameters.selected_terms,
        model.fitted.statistics.n_terms,
    )
    matrix = (
        DocumentCounter(model.fitted.analysis, vocabulary)
        .count(*collect_contents([document]))
        .to_matrix()
    )
    wanted = np.bincount(matrix.terms, matrix.counts, n_terms)
    walker = TokenTracer.from_model(model.fitted)
    located, tokens = (
        walker.locate_words(document.text, document.fields),
        list(walker.trace_tokens(document.text, document.fields)),
    )
    known = located.term_ids != UNKNOWN_TERM
    assert np.bincount(located.term_ids[known], located.weights[known], n_terms) == pytest.approx(
        wanted
    )
    assert located.weights[~known].sum() == pytest.approx(matrix.unknown_tokens[0])
    every: list[Token | NgramTerm] = [
        *tokens,
        *(term for token in tokens for term in (*token.ngrams, *token.char_ngrams)),
    ]
    assert Counter(term.term_id for term in every if term.term_id is not None) == dict(
        zip(matrix.terms.tolist(), matrix.counts.tolist(), strict=True)
    )
    assert sum(term.dropped == "not-in-model" for term in every) == matrix.unknown_tokens[0]
    assert {term.term_id for term in every if term.dropped == "not-selected"} == {
        term for term in matrix.terms.tolist() if not selected[term]
    }
    assert all(
        display_term(vocabulary.get_term(term.term_id)) == term.term
        for term in every
        if term.term_id is not None
    )


@example(0, ENCODED, 7)
@given(st.sampled_from(range(len(SETTINGS))), documents_with_fields, st.integers(1, 40))
def test_text_traced_in_blocks_has_the_same_words(
    number: int, document: Document, size: int
) -> None:
    walker = TokenTracer.from_model(model_of(number).fitted)
    whole = walker.locate_words(document.text, document.fields)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(token_trace, "SEARCH_BLOCK_BYTES", size)
        in_pieces = walker.locate_words(document.text, document.fields)
    assert in_pieces.forms == whole.forms
    for name in {*whole._fields} - {"forms"}:
        np.testing.assert_array_equal(getattr(in_pieces, name), getattr(whole, name))


@example(0, ENCODED)
@given(st.sampled_from(range(len(SETTINGS))), documents_with_fields)
def test_located_words_are_in_order_and_whole_characters(number: int, document: Document) -> None:
    located = TokenTracer.from_model(model_of(number).fitted).locate_words(
        document.text, document.fields
    )
    text, places = (
        render_document(document.text, document.fields),
        list(iter_content_offsets(document.text, document.fields)),
    )
    bounds = np.stack((located.starts, located.ends), axis=1).ravel()
    assert np.all(np.diff(bounds)[::2] > 0)
    assert np.all(np.diff(bounds) >= 0)
    for begin, end, form_of_word in zip(
        located.starts.tolist(), located.ends.tolist(), forms_of(located), strict=True
    ):
        before = sum(place <= begin for place in places) - 1
        field = b"" if before < 0 else document.fields[before][0]
        form, is_item = text[begin:end].decode(), before >= 0 and not field
        assert form_of_word.name == (
            form if is_item else f"{field.decode()}:{form.casefold()}" if field else form.casefold()
        )


UNSPACED = r"\u0e00-\uffff\U0001aff0-\U000323af"
INSIDE_WORDS = r"(?:'|[^\x00-\x7f])*"
BESIDE_UNSPACED = re.compile(
    rf"[^\W{UNSPACED}]{INSIDE_WORDS}[{UNSPACED}]|[{UNSPACED}]{INSIDE_WORDS}[^\W{UNSPACED}]"
)


def without_words(document: Document, located: LocatedWords, words: Iterable[int]) -> Document:
    """The document with spaces in place of words."""
    left = bytearray(render_document(document.text, document.fields))
    for word in words:
        begin, end = int(located.starts[word]), int(located.ends[word])
        left[begin:end] = b" " * (end - begin)
    places = iter_content_offsets(document.text, document.fields)
    fields = [
        (name, bytes(left[begin : begin + len(old)]))
        for (name, old), begin in zip(document.fields, places, strict=True)
    ]
    return document._replace(text=bytes(left[: len(document.text)]), fields=fields)


def has_words_beside_pairs(model: TextClassifier, document: Document) -> bool:
    """Whether a word may change with what stands beside it: `Analysis.words` says why."""
    text = normalize("NFKC", document.display_text)
    # NFKC puts a space before a mark without a letter, such as the diaeresis.
    text = re.sub("[ \u0300-\u036f]*[\u0300-\u036f]", "", text)
    return model.settings.counts_pairs_and_words and BESIDE_UNSPACED.search(text) is not None


@given(st.sampled_from(range(len(SETTINGS))), documents_with_fields)
def test_text_with_a_word_blanked_keeps_the_other_words(number: int, document: Document) -> None:
    """Spaces in place of a word leave the other words as they are."""
    model = model_of(number)
    assume(not has_words_beside_pairs(model, document))
    walker = TokenTracer.from_model(model.fitted)
    located = walker.locate_words(document.text, document.fields)
    for place in range(min(located.starts.size, 3)):
        changed = without_words(document, located, [place])
        left = walker.locate_words(changed.text, changed.fields)
        kept = [
            form for other, form in enumerate(forms_of(located)) if form.term_ids and other != place
        ]
        assert [form for form in forms_of(left) if form.term_ids] == kept


@examples(40)
@given(st.sampled_from(range(len(SETTINGS))), documents_with_fields, st.sets(st.integers(0, 30)))
def test_counts_without_words_equal_counts_of_the_text_without_them(
    number: int, document: Document, numbers: set[int]
) -> None:
    model = model_of(number)
    assume(not has_words_beside_pairs(model, document))
    walker = TokenTracer.from_model(model.fitted)
    located = walker.locate_words(document.text, document.fields)
    names, name_of = located.group_surface_words()
    gone = [name for place, name in enumerate(names) if place in numbers]
    changed = without_words(document, located, np.flatnonzero(np.isin(name_of, list(numbers))))
    wanted = model.fitted.count_texts(*collect_contents([changed])).sort_entries()
    found = (
        walker.clear_words(located, gone).to_matrix(model.fitted.count_texts([b""])).sort_entries()
    )
    assert found.terms.tolist() == wanted.terms.tolist()
    assert found.counts.tolist() == wanted.counts.tolist()
    assert found.offsets.tolist() == wanted.offsets.tolist()


def test_counted_features_are_words_with_their_count_as_weight() -> None:
    model = TextClassifier(smoothing=1)
    model.reading = replace(model.reading, format="svmlight")
    train_on(model, [("a", b"x:3 y:1"), ("b", b"y:2 z:5")])
    located = TokenTracer.from_model(model.fitted).locate_words(b"x:2 q:4  x:1")
    found = [(form.name, form.n_occurrences, form.drop_reason) for form in forms_of(located)]
    assert found == [("x", 2, None), ("q", 4, "not-in-model"), ("x", 1, None)]
    assert located.word_counts.tolist() == [2, 4, 1]
    assert located.count_occurrences(["x", "q"]) == {"x": 3, "q": 4}
    assert (located.starts.tolist(), located.ends.tolist(), located.weights.tolist()) == (
        [0, 4, 9],
        [3, 7, 12],
        [2, 4, 1],
    )


def test_words_of_fields_and_items_are_in_lines_after_the_text() -> None:
    document = (
        b"Win the prize",
        [(b"subject", b"Free the offers"), (b"", b"from:Ann@x.org type:text/html")],
    )
    assert (
        render_document(*document)
        == b"Win the prize\nsubject: Free the offers\n  from:Ann@x.org type:text/html"
    )
    tokens = [
        (token.kind, token.form, token.word, token.term, token.dropped)
        for token in without_model().trace_tokens(*document)
    ]
    assert tokens == [
        ("word", "Win", "win", "win", None),
        ("word", "the", "the", None, "stop-word"),
        ("word", "prize", "prize", "prize", None),
        ("word", "Free", "subject:free", "subject:free", None),
        ("word", "the", "subject:the", None, "stop-word"),
        ("word", "offers", "subject:offers", "subject:offer", None),
        ("item", "from:Ann@x.org", "from:Ann@x.org", "from:Ann@x.org", None),
        ("item", "type:text/html", "type:text/html", "type:text/html", None),
    ]
    for token in without_model().trace_tokens(*document):
        assert render_document(*document)[token.start : token.end].decode() == token.form

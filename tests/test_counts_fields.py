"""Documents with fields: the terms that are counted, against plain Python, whole and in pieces; and counts that add."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from nbtext.corpus.document import Document, collect_contents
from nbtext.counts.counting import Analysis, DocumentCounter
from nbtext.counts.vocabulary import Vocabulary, make_stop_word_term
from nbtext.document_fields import FieldColumns, clean_text
from nbtext.settings import Settings
from nbtext.text.words import load_stemmer
from tests import oracle, strategies
from tests.models import count
from tests.profiles import examples

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nbtext.counts.matrix import DocumentTermMatrix
    from nbtext.type_names import Fields

FORM = re.compile("(?:[0-9A-Za-z']|(?![\u3001\u3002\uff01\uff0c\uff1f])[^\0-\x7f])+")
STOP_WORDS = ["the", "don't", "東京", "eightbyt"]

SETTINGS: dict[str, dict[str, Any]] = {
    "auto": {"stop_words": "auto"},
    "bigrams": {"stop_words": "none", "ngrams": 2},
    "trigrams": {"stop_words": "default", "ngrams": 3, "stemmer": "none"},
    "characters": {"stop_words": "none", "char_ngrams": "2-3"},
}

corpora = st.lists(
    st.tuples(strategies.documents.map(clean_text), st.one_of(st.just([]), strategies.fields)),
    min_size=1,
    max_size=4,
)
EVERY = pytest.mark.parametrize("name", SETTINGS)


def slow_terms(text: bytes, fields: Fields, analysis: Analysis) -> Counter[str]:
    """The terms of a document in plain Python: those of its text, those of each field with its name in front, and items."""
    settings, stem = analysis.settings, load_stemmer(analysis.settings.stemmer, "english")
    marks, dropped = settings.counts_stop_words, analysis.dropped_words

    def terms(content: bytes) -> list[str]:
        if settings.counts_pairs_and_words:
            return [term for form in FORM.findall(content.decode()) for term in of_form(form)]
        return of_words(oracle.terms(content, dropped, split=oracle.pairs))

    def of_form(form: str) -> list[str]:
        if all(oracle.unspaced_kind(character) != "letter" for character in form):
            return of_words(oracle.terms(form.encode(), dropped))
        sides = {
            mark: oracle.terms(form.encode(), STOP_WORDS, split=split)
            for mark, split in (("\x1d", oracle.pairs), ("\x1e", oracle.words))
        }
        return [stem([word])[0] + mark for mark, found in sides.items() for word in found]

    def of_words(found: list[str]) -> list[str]:
        return [
            make_stop_word_term(word) if marks and word in STOP_WORDS else stem([word])[0]
            for word in found
        ]

    def ngrams(found: Sequence[str]) -> list[str]:
        return [
            " ".join(found[at : at + n])
            for n in range(1, settings.ngrams + 1)
            for at in range(len(found) - n + 1)
        ]

    counted = Counter(ngrams(terms(text)))
    for name, content in fields:
        in_field = ngrams([f"{name.decode()}:{term}" for term in terms(content)])
        counted.update(in_field if name else content.decode().split())
    return counted


def by_term(matrix: DocumentTermMatrix, vocabulary: Vocabulary) -> list[Counter[str]]:
    """The counts of each document, without character n-grams."""
    of_entries = list(
        zip(map(vocabulary.get_term, matrix.terms.tolist()), matrix.counts.tolist(), strict=True)
    )
    return [
        Counter({term: n for term, n in of_entries[begin:end] if "*" not in term})
        for begin, end in pairwise(matrix.offsets.tolist())
    ]


@EVERY
def test_field_terms_match_plain_python_whole_and_in_blocks(name: str) -> None:
    analysis = Analysis(Settings(encoded_lines="keep", **SETTINGS[name]), STOP_WORDS)

    @examples(20)
    @example([("東京\U0003134b".encode(), [])], 1 << 20)
    @given(corpora, st.sampled_from([1, 5, 1 << 20]))
    def of_documents(parts: list[tuple[bytes, Fields]], size: int) -> None:
        documents = [Document("", "a", text, fields=fields) for text, fields in parts]
        wanted = [slow_terms(*part, analysis) for part in parts]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("nbtext.text.analyzer.MAX_PIECE_BYTES", size)
            statistics = count([("a", document) for document in documents], analysis).table
            matrix = (
                DocumentCounter(analysis, statistics.vocabulary)
                .count(*collect_contents(documents))
                .to_matrix()
            )
            nothing_known = DocumentCounter(analysis, Vocabulary.from_terms([])).count(
                *collect_contents(documents)
            )
        assert by_term(matrix, statistics.vocabulary) == wanted
        assert not matrix.unknown_tokens.any()
        if "char_ngrams" not in SETTINGS[name]:
            assert nothing_known.unknown_tokens.tolist() == [found.total() for found in wanted]

    of_documents()


def test_fields_have_their_own_ngrams_and_items_have_none() -> None:
    fields = [
        (b"subject", b"Free the offers"),
        (b"subject", b"today"),
        (b"", b"host:a.org host:a.org"),
    ]
    document = Document("", None, b"win the prize", fields=fields)
    analysis = Analysis(Settings(ngrams=2), ["the"])
    statistics = count([("spam", document)], analysis).table
    [counts] = by_term(
        DocumentCounter(analysis, statistics.vocabulary)
        .count(*collect_contents([document]))
        .to_matrix(),
        statistics.vocabulary,
    )
    assert counts == {
        "win": 1, "prize": 1, "win prize": 1,
        "subject:free": 1, "subject:offer": 1, "subject:free subject:offer": 1, "subject:today": 1, "host:a.org": 2,
    }  # fmt: skip


@given(st.lists(strategies.fields, min_size=1, max_size=4).filter(any))
def test_fields_of_a_block_are_those_of_its_documents(fields: list[Fields]) -> None:
    found = FieldColumns.from_fields(fields)
    assert list(zip(found.documents.tolist(), found.names, found.contents, strict=True)) == [
        (number, *field)
        for number, of_document in enumerate(fields)
        for field in of_document
        if field[0]
    ]
    assert list(zip(found.item_documents.tolist(), found.items, strict=True)) == [
        (number, content)
        for number, of_document in enumerate(fields)
        for name, content in of_document
        if not name
    ]

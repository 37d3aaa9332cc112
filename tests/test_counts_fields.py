"""Documents with fields: the terms that are counted, against plain Python, whole and in pieces; and counts that add."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from nbtext.counts.counting import Analysis, document_counter
from nbtext.counts.vocabulary import Vocabulary, stop_word_term
from nbtext.document_parts import NO_FIELDS, Fields, split_block, split_fields, with_fields, without_separators
from nbtext.settings import Settings
from nbtext.text.words import stemmer
from tests import oracle, strategies
from tests.budget import examples
from tests.models import count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nbtext.counts.matrix import DocumentTermMatrix

FORM = re.compile("(?:[0-9A-Za-z']|(?![\u3001\u3002\uff01\uff0c\uff1f])[^\0-\x7f])+")
STOP_WORDS = ["the", "don't", "東京", "eightbyt"]

SETTINGS: dict[str, dict[str, Any]] = {
    "auto": {"stop_words": "auto"},
    "bigrams": {"stop_words": "none", "ngrams": 2},
    "trigrams": {"stop_words": "default", "ngrams": 3, "stemmer": "none"},
    "characters": {"stop_words": "none", "char_ngrams": "2-3"},
}

corpora = st.lists(
    st.tuples(strategies.documents.map(without_separators), st.one_of(st.just(NO_FIELDS), strategies.fields)), min_size=1, max_size=4
)
EVERY = pytest.mark.parametrize("name", SETTINGS)


def slow_terms(text: bytes, fields: Fields, analysis: Analysis) -> Counter[str]:
    """The terms of a document in plain Python: those of its text, those of each field with its name in front, and items."""
    settings, stem = analysis.settings, stemmer(analysis.settings.stemmer, "english")
    marks, dropped = settings.counts_stop_words, analysis.dropped

    def terms(content: bytes) -> list[str]:
        if settings.counts_both:
            return [term for form in FORM.findall(content.decode()) for term in of_form(form)]
        return of_words(oracle.terms(content, dropped, split=oracle.pairs))

    def of_form(form: str) -> list[str]:
        if all(oracle.unspaced_kind(character) != "letter" for character in form):
            return of_words(oracle.terms(form.encode(), dropped))
        sides = {
            mark: oracle.terms(form.encode(), STOP_WORDS, split=split) for mark, split in (("\x1d", oracle.pairs), ("\x1e", oracle.words))
        }
        return [stem([word])[0] + mark for mark, found in sides.items() for word in found]

    def of_words(found: list[str]) -> list[str]:
        return [stop_word_term(word) if marks and word in STOP_WORDS else stem([word])[0] for word in found]

    def ngrams(found: Sequence[str]) -> list[str]:
        return [" ".join(found[at : at + n]) for n in range(1, settings.ngrams + 1) for at in range(len(found) - n + 1)]

    counted = Counter(ngrams(terms(text)))
    for name, content in fields.words:
        counted.update(ngrams([f"{name.decode()}:{term}" for term in terms(without_separators(content))]))
    counted.update(fields.items.decode().split())
    return counted


def by_term(matrix: DocumentTermMatrix, vocabulary: Vocabulary) -> list[Counter[str]]:
    """The counts of each document, without character n-grams."""
    of_entries = list(zip(map(vocabulary.term, matrix.terms.tolist()), matrix.counts.tolist(), strict=True))
    return [Counter({term: n for term, n in of_entries[begin:end] if "*" not in term}) for begin, end in pairwise(matrix.offsets.tolist())]


@EVERY
def test_terms_of_fields_are_those_of_plain_python_whole_and_in_pieces(name: str) -> None:
    analysis = Analysis(Settings(encoded_lines="keep", **SETTINGS[name]), STOP_WORDS)

    @examples(20)
    @example([("東京\U0003134b".encode(), NO_FIELDS)], 1 << 20)
    @given(corpora, st.sampled_from([1, 5, 1 << 20]))
    def of_documents(parts: list[tuple[bytes, Fields]], size: int) -> None:
        documents = [with_fields(*part) for part in parts]
        wanted = [slow_terms(*part, analysis) for part in parts]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("nbtext.text.analyzer.PIECE_BYTES", size)
            statistics = count([("a", document) for document in documents], analysis).statistics
            matrix = document_counter(analysis, statistics.vocabulary).count(documents).matrix()
            nothing_known = document_counter(analysis, Vocabulary.of([])).count(documents)
        assert by_term(matrix, statistics.vocabulary) == wanted
        assert not matrix.unknown.any()
        if "char_ngrams" not in SETTINGS[name]:
            assert nothing_known.unknown.tolist() == [found.total() for found in wanted]

    of_documents()


def test_a_field_has_ngrams_of_its_own_and_items_have_none() -> None:
    document = with_fields(b"win the prize", Fields([(b"subject", b"Free the offers"), (b"subject", b"today")], b"host:a.org host:a.org"))
    analysis = Analysis(Settings(ngrams=2), ["the"])
    statistics = count([("spam", document)], analysis).statistics
    [counts] = by_term(document_counter(analysis, statistics.vocabulary).count([document]).matrix(), statistics.vocabulary)
    assert counts == {
        "win": 1, "prize": 1, "win prize": 1,
        "subject:free": 1, "subject:offer": 1, "subject:free subject:offer": 1, "subject:today": 1, "host:a.org": 2,
    }  # fmt: skip


def test_a_block_without_fields_is_left_as_it_is() -> None:
    documents = [b"one", b"two"]
    assert split_block(documents) == (documents, None)


@given(corpora)
def test_a_block_is_split_as_its_documents_are(parts: list[tuple[bytes, Fields]]) -> None:
    documents = [with_fields(*part) for part in parts]
    texts, fields = split_block(documents)
    assert list(texts) == [text for text, _ in parts]
    each = [split_fields(document)[1] for document in documents]
    if fields is None:
        assert not any(found != NO_FIELDS for found in each)
        return
    assert list(zip(fields.documents.tolist(), fields.names, fields.contents, strict=True)) == [
        (number, *field) for number, found in enumerate(each) for field in found.words
    ]
    assert list(zip(fields.documents_of_items.tolist(), fields.items, strict=True)) == [
        (number, item) for number, found in enumerate(each) for item in found.items.decode().split()
    ]

"""The fast path from documents to terms, against the slow one; long documents in pieces."""

from __future__ import annotations

import tracemalloc
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtext import TextClassifier
from nbtext.counts.counting import Analysis, DocumentCounter
from nbtext.counts.vocabulary import GrowingVocabulary, Vocabulary
from nbtext.settings import Reading, Settings
from nbtext.text.analyzer import UNKNOWN_TERM, Analyzer, split_texts
from nbtext.text.surface_forms import SEPARATORS, Surfaces, find_surfaces
from nbtext.text.words import split_words
from tests import oracle, strategies
from tests.models import count
from tests.operation_counts import DOUBLE
from tests.process import content
from tests.profiles import examples

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from nbtext.counts.corpus_counts import CorpusCounts


STOP_WORDS = ("the", "don't", "東京", "ab", "na\u00efve")


def cut(word: str) -> str:
    """A stemmer that is easy to see through."""
    return word[:5]


class Names:
    """Hands out ids and tells what they mean."""

    def __init__(self) -> None:
        self.ids: dict[str, int] = {}

    def find(self, terms: list[str]) -> list[int]:
        return [self.ids.setdefault(term, len(self.ids)) for term in terms]

    def terms(self, ids: list[int]) -> list[str]:
        names = list(self.ids)
        return [names[number] for number in ids]


def analyse(analyzer: Analyzer, names: Names, texts: list[bytes]) -> list[list[str]]:
    sequence = analyzer.analyse(texts)
    found: list[list[str]] = [[] for _ in texts]
    for document, term in zip(
        sequence.documents.tolist(), names.terms(sequence.terms.tolist()), strict=True
    ):
        found[document].append(term)
    return found


@examples(25)
@given(st.lists(st.lists(strategies.documents, max_size=5), max_size=4))
def test_fast_path_matches_the_slow_twin_for_every_block(batches: list[list[bytes]]) -> None:
    names = Names()
    analyzer = Analyzer(STOP_WORDS, lambda words: [cut(word) for word in words], names.find)
    for texts in batches:
        assert analyse(analyzer, names, texts) == [
            oracle.terms(text, STOP_WORDS, cut) for text in texts
        ]


def test_hard_texts_keep_their_terms_when_repeated() -> None:
    names = Names()
    analyzer = Analyzer((), list, names.find)
    texts = [piece.encode() for piece in strategies.HARD]
    wanted = [oracle.terms(text) for text in texts]
    assert analyse(analyzer, names, texts) == wanted
    assert analyse(analyzer, names, texts[::-1]) == wanted[::-1]
    assert analyse(analyzer, names, [b" ".join(texts)]) == [
        [term for row in wanted for term in row]
    ]


def test_long_forms_keep_their_terms_when_the_table_grows() -> None:
    overlong = b"z" * 70
    forms = [b"abcdefgh%05d" % number for number in range(40_000)]
    names = Names()
    analyzer = Analyzer((), list, names.find)
    for texts in ([overlong], forms[:30_000], [overlong, *forms[30_000:]], forms):
        assert analyse(analyzer, names, texts) == [[text.decode()] for text in texts]


def test_short_forms_keep_their_terms_when_the_table_grows() -> None:
    forms = [b"%06x" % number for number in range(150_000)]
    names = Names()
    analyzer = Analyzer((), list, names.find)
    for texts in (forms[:100_000], [b"overlong" * 9], forms):
        assert analyse(analyzer, names, texts) == [[text.decode()] for text in texts]


@given(st.lists(strategies.documents, max_size=5), st.lists(strategies.documents, max_size=5))
def test_terms_outside_a_fixed_vocabulary_are_unknown(
    seen: list[bytes], asked: list[bytes]
) -> None:
    growing = GrowingVocabulary()
    Analyzer((), list, growing.intern).analyse(seen)
    vocabulary: Vocabulary = growing.freeze()[0]
    number = {term: i for i, term in enumerate(vocabulary.list_single_terms())}
    sequence = Analyzer((), list, vocabulary.find).analyse(asked)
    assert sequence.terms.tolist() == [
        number.get(term, UNKNOWN_TERM) for text in asked for term in oracle.terms(text)
    ]
    assert sequence.documents.tolist() == [
        i for i, text in enumerate(asked) for _ in oracle.terms(text)
    ]


def test_stop_words_are_removed_before_stemming() -> None:
    names = Names()
    analyzer = Analyzer(
        ("caring",), lambda words: [word.removesuffix("ing") for word in words], names.find
    )
    assert analyse(analyzer, names, [b"caring car", b"carings"]) == [["car"], ["carings"]]


SIZES = st.sampled_from([1, 2, 5, 20])
WHOLE = 1 << 60


documents = st.lists(
    strategies.texts
    | st.lists(
        st.sampled_from(["don't", "moon", "½kg", "the", "a", "東京。都", " ", "\n", "--"]),
        max_size=12,
    ).map(" ".join),
    min_size=1,
    max_size=5,
).map(lambda texts: [text.encode() for text in texts])


SETTINGS: dict[str, dict[str, Any]] = {
    "words": {},
    "bigrams": {"ngrams": 2},
    "fourgrams": {"ngrams": 4, "stop_words": "none", "stemmer": "none"},
    "characters": {"char_ngrams": "2-3", "ngrams": 2},
    "surface forms": {"surface_forms": True, "stemmer": "snowball"},
}


def count_in_pieces(
    size: int, texts: list[bytes], parameters: dict[str, Any], reading: dict[str, Any]
) -> CorpusCounts:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("nbtext.text.analyzer.MAX_PIECE_BYTES", size)
        return count(
            list(zip("abcab", texts, strict=False)),
            Analysis(Settings(**parameters, reading=Reading(**reading)), ["the"]),
        )


def same(one: CorpusCounts, other: CorpusCounts) -> bool:
    mine, theirs = one.sample.documents, other.sample.documents
    arrays = zip(mine.matrix[:4], theirs.matrix[:4], strict=True)
    return one.table == other.table and all(np.array_equal(left, right) for left, right in arrays)


def words_of(parts: list[Surfaces]) -> list[str]:
    return [
        word
        for part in parts
        for form in part.decode_forms(np.arange(part.starts.size))
        for word in split_words(form)
    ]


@examples(6)
@given(documents, SIZES)
def test_pieces_join_to_the_documents_and_split_no_word(texts: list[bytes], size: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("nbtext.text.analyzer.MAX_PIECE_BYTES", size)
        found = list(split_texts(texts, SEPARATORS))
    joined = [b""] * len(texts)
    for piece in found:
        for number, text in enumerate(piece.texts, piece.first_document):
            joined[number] += text
        assert len(piece.texts) == 1 or not piece.continues
        assert all(len(SEPARATORS.split(text[size:])) <= 2 for text in piece.texts)
    assert joined == texts
    whole, cut = find_surfaces(texts), [find_surfaces(piece.texts) for piece in found]
    assert words_of([whole]) == words_of(cut)


@pytest.mark.parametrize("name", SETTINGS)
def test_counts_of_pieces_equal_counts_of_whole_documents(name: str) -> None:
    @examples(6)
    @given(documents, SIZES)
    def of_documents(texts: list[bytes], size: int) -> None:
        assert same(
            count_in_pieces(size, texts, SETTINGS[name], {}),
            count_in_pieces(WHOLE, texts, SETTINGS[name], {}),
        )

    of_documents()


features = st.lists(
    st.tuples(st.sampled_from("ab:é"), st.integers(1, 99)).map(lambda item: f"{item[0]}:{item[1]}"),
    max_size=8,
)


@examples(6)
@given(
    st.lists(features.map(lambda items: " ".join(items).encode()), min_size=1, max_size=5), SIZES
)
def test_counted_features_in_pieces_equal_those_of_whole_lines(
    texts: list[bytes], size: int
) -> None:
    assert same(
        count_in_pieces(size, texts, {}, {"format": "svmlight"}),
        count_in_pieces(WHOLE, texts, {}, {"format": "svmlight"}),
    )
    analysis = Analysis(Settings(reading=Reading(format="svmlight")))
    found = []
    for at_once in (size, WHOLE):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("nbtext.text.analyzer.MAX_PIECE_BYTES", at_once)
            vocabulary = Vocabulary.from_terms(["a", "b", "é"])
            found.append(DocumentCounter(analysis, vocabulary).count(texts).to_matrix())
    assert all(
        np.array_equal(left, right) for left, right in zip(found[0][:4], found[1][:4], strict=True)
    )


def test_model_trained_in_pieces_has_the_same_bytes_and_predictions(tmp_path: Path) -> None:
    generator = np.random.default_rng(1)
    texts = [
        " ".join(f"w{number}" for number in generator.geometric(0.05, size))
        for size in (3, 900, 0, 40, 2000, 1)
    ]
    found = []
    for size in (WHOLE, 97):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("nbtext.text.analyzer.MAX_PIECE_BYTES", size)
            model = TextClassifier(ngrams=3, char_ngrams="2").fit(texts, list("abcabc"))
            model.save("model")
            found.append(
                (content("model"), model.predict_log_proba([*texts, "w1 other w2"]).tobytes())
            )
    assert found[0] == found[1]


def peak(text: bytes, reading: dict[str, Any]) -> int:
    """The most bytes that counting one document takes at once."""

    def labelled() -> Iterator[tuple[str, bytes]]:
        yield "a", text

    analysis = Analysis(Settings(stemmer="none", reading=Reading(**reading)))
    tracemalloc.start()
    try:
        count(labelled(), analysis)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("reading", [{}, {"format": "svmlight"}], ids=["text", "svmlight"])
def test_long_document_takes_memory_in_proportion_to_its_size(
    reading: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It took more than 17 times its size."""
    monkeypatch.setattr("nbtext.text.analyzer.MAX_PIECE_BYTES", 1 << 14)
    words = b" ".join(
        b"word%d%s" % (number % 200, b":1" if reading else b"") for number in range(60_000)
    )
    nothing = peak(b"word:1", reading)
    small, large = (peak(words * n, reading) - nothing for n in (1, 2))
    assert small < 4 * len(words)
    assert large < DOUBLE * small


def test_long_word_takes_memory_in_proportion_to_its_size() -> None:
    """Each of its bytes took a place of eight bytes in two arrays."""
    word = b"x" * (1 << 22)
    assert peak(word, {}) - peak(b"word", {}) < 8 * len(word)

"""The fast path from documents to terms, against the slow one."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from nbtext.counts.vocabulary import GrowingVocabulary, Vocabulary
from nbtext.text.analyzer import UNKNOWN, Analyzer
from tests import oracle, strategies
from tests.budget import examples

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


def fast(analyzer: Analyzer, names: Names, texts: list[bytes]) -> list[list[str]]:
    sequence = analyzer.sequence(texts)
    found: list[list[str]] = [[] for _ in texts]
    for document, term in zip(sequence.documents.tolist(), names.terms(sequence.terms.tolist()), strict=True):
        found[document].append(term)
    return found


@examples(25)
@given(st.lists(st.lists(strategies.documents, max_size=5), max_size=4))
def test_every_block_means_what_the_slow_path_says(batches: list[list[bytes]]) -> None:
    names = Names()
    analyzer = Analyzer(STOP_WORDS, lambda words: [cut(word) for word in words], names.find)
    for texts in batches:
        assert fast(analyzer, names, texts) == [oracle.terms(text, STOP_WORDS, cut) for text in texts]


def test_every_hard_text_keeps_its_meaning_when_it_comes_again() -> None:
    names = Names()
    analyzer = Analyzer((), list, names.find)
    texts = [piece.encode() for piece in strategies.HARD]
    wanted = [oracle.terms(text) for text in texts]
    assert fast(analyzer, names, texts) == wanted
    assert fast(analyzer, names, texts[::-1]) == wanted[::-1]
    assert fast(analyzer, names, [b" ".join(texts)]) == [[term for row in wanted for term in row]]


def test_more_long_forms_than_tables_begin_with_keep_their_meanings_beside_overlong_ones() -> None:
    overlong = b"z" * 70
    forms = [b"abcdefgh%05d" % number for number in range(40_000)]
    names = Names()
    analyzer = Analyzer((), list, names.find)
    for texts in ([overlong], forms[:30_000], [overlong, *forms[30_000:]], forms):
        assert fast(analyzer, names, texts) == [[text.decode()] for text in texts]


def test_more_short_forms_than_tables_begin_with_keep_their_meanings() -> None:
    forms = [b"%06x" % number for number in range(150_000)]
    names = Names()
    analyzer = Analyzer((), list, names.find)
    for texts in (forms[:100_000], [b"overlong" * 9], forms):
        assert fast(analyzer, names, texts) == [[text.decode()] for text in texts]


@given(st.lists(strategies.documents, max_size=5), st.lists(strategies.documents, max_size=5))
def test_terms_that_a_fixed_vocabulary_does_not_hold_are_unknown_in_their_place(seen: list[bytes], asked: list[bytes]) -> None:
    growing = GrowingVocabulary()
    Analyzer((), list, growing.find).sequence(seen)
    vocabulary: Vocabulary = growing.freeze()[0]
    number = {term: i for i, term in enumerate(vocabulary.single_terms())}
    sequence = Analyzer((), list, vocabulary.find).sequence(asked)
    assert sequence.terms.tolist() == [number.get(term, UNKNOWN) for text in asked for term in oracle.terms(text)]
    assert sequence.documents.tolist() == [i for i, text in enumerate(asked) for _ in oracle.terms(text)]


def test_stop_words_go_before_stemming() -> None:
    names = Names()
    analyzer = Analyzer(("caring",), lambda words: [word.removesuffix("ing") for word in words], names.find)
    assert fast(analyzer, names, [b"caring car", b"carings"]) == [["car"], ["carings"]]

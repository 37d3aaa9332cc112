"""Test documents that the model was trained on, found beside the training corpus or beside the model's sample of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from nbtext import TextClassifier
from nbtext.corpus.document import Document
from nbtext.counts.counting import hash_contents
from nbtext.counts.documents import MAX_HASH
from nbtext.evaluation.leakage import _CorpusComparison, count_sampled_leaks
from nbtext.metrics.results import to_json_values
from tests.models import pets_classifier

if TYPE_CHECKING:
    from collections.abc import Sequence

LONG = (
    "Nobody in the whole house had ever heard the cat purr as loudly as on that cold Sunday morning"
)


def model() -> TextClassifier:
    return pets_classifier()


def make_documents(side: str, texts: Sequence[str], label: str = "cats") -> list[Document]:
    return [Document(f"{side}{number}", label, text.encode()) for number, text in enumerate(texts)]


def find_leaks(training: Sequence[Document], test: Sequence[Document]) -> list[tuple[str, str]]:
    check = _CorpusComparison(model(), iter(training))
    for part in (test[: len(test) // 2], test[len(test) // 2 :]):
        check.add(part)
    leaked, partners = check.find_leaks()
    return [
        (test[row].id, training[partner].id)
        for row, partner in zip(leaked.tolist(), partners.tolist(), strict=True)
    ]


def test_leakage_compares_raw_words() -> None:
    training = ["My card has not arrived yet", LONG, "A cat!"]
    test = [
        "my card hasn't arrived",
        LONG.upper(),
        LONG + "s",
        "a cat",
        "A dog",
        LONG.replace("cat", "dog") + " evening",
    ]
    assert find_leaks(make_documents("a", training), make_documents("b", test)) == [
        ("b1", "a1"),
        ("b3", "a2"),
    ]


WORDS = st.lists(st.sampled_from(["cat", "dog", "purr", "bark"]), max_size=4)


@given(st.lists(WORDS, min_size=1, max_size=12), st.lists(WORDS, max_size=12))
def test_leaked_texts_have_the_same_words_in_any_order(
    training: list[list[str]], test: list[list[str]]
) -> None:
    known = [sorted(words) for words in training]
    wanted = [
        (f"b{row}", f"a{known.index(sorted(words))}")
        for row, words in enumerate(test)
        if words and sorted(words) in known
    ]
    assert (
        find_leaks(
            *(
                make_documents(side, [" ".join(words) for words in texts])
                for side, texts in (("a", training), ("b", test))
            )
        )
        == wanted
    )


HASHES = st.lists(st.integers(0, MAX_HASH - 1), max_size=30)


@given(HASHES, HASHES, st.integers(0, 30))
def test_sampled_leakage_counts_only_hashes_below_the_bound(
    corpus: list[int], others: list[int], size: int
) -> None:
    kept = sorted(corpus)[:size]
    bound = sorted(corpus)[size] if size < len(corpus) else MAX_HASH
    test = others + corpus[::2]
    told = [value for value in test if value < bound or size >= len(corpus)]
    wanted = (len(told), sum(value in corpus for value in told))
    assert (
        count_sampled_leaks(np.array(test, np.uint64), np.array(kept, np.uint64), bound) == wanted
    )


def test_forgotten_documents_are_not_leaks() -> None:
    training = [f"text number {number}" for number in range(40)]
    sample, some = (TextClassifier().fit(training[:n], ["a"] * n).counts.sample for n in (40, 10))
    left, hashes = sample - some, hash_contents([text.encode() for text in training])
    assert to_json_values(count_sampled_leaks(hashes, left.documents.hashes, left.bound)) == {
        "checked": 40,
        "found": 30,
    }


def test_same_text_with_other_headers_is_a_leak() -> None:
    def mail(text: str, sender: str) -> Document:
        return Document(
            sender,
            "x",
            text.encode(),
            fields=[(b"from", sender.encode()), (b"", f"from:{sender}".encode())],
        )

    test = [mail(LONG, "cid"), mail("", "bob"), mail("", "dan"), mail("a bob", "eve")]
    assert find_leaks([mail(LONG, "ann"), mail(" ", "bob")], test) == [
        ("cid", "ann"),
        ("bob", "bob"),
    ]

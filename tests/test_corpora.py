"""The corpora of the repository have the documents and the split that `corpora/README.md` describes."""

from __future__ import annotations

import hashlib
from collections import Counter

import pytest

from tests.corpus_reader import texts
from tests.process import REPOSITORY

CORPORA = REPOSITORY / "corpora"


@pytest.mark.parametrize(
    ("path", "documents", "classes"),
    [
        ("sms-spam/train.tsv.bz2", 3_740, 2),
        ("sms-spam/test.tsv.bz2", 1_834, 2),
        ("banking77/train.csv.bz2", 10_003, 77),
        ("banking77/test.csv.bz2", 3_080, 77),
    ],
)
def test_corpus_has_the_documented_numbers_of_documents_and_classes(
    path: str, documents: int, classes: int
) -> None:
    rows = texts(CORPORA / path)
    assert (len(rows), len({label for label, _ in rows})) == (documents, classes)


def test_repeated_messages_are_on_one_side_of_the_split() -> None:
    train, test = (texts(CORPORA / "sms-spam" / f"{part}.tsv.bz2") for part in ("train", "test"))
    assert {text for _, text in train} & {text for _, text in test} == set()
    assert all(hashlib.sha256(text.encode()).digest()[0] < 85 for _, text in test)
    assert Counter(label for label, _ in train + test) == {"ham": 4_827, "spam": 747}

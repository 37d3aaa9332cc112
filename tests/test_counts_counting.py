"""From texts to counts: a sample or all documents, hashes of contents, and what cannot be a label or would change nothing."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtext.counts.counting import Analysis, check_label, hash_contents
from nbtext.errors import UsageError
from nbtext.settings import Settings
from tests.count_tables import to_dictionaries
from tests.model_changes import Corpus, corpora
from tests.models import count, count_documents


def settings(**given: Any) -> Settings:
    return Settings.from_values({"stemmer": "none", **given})


def analysis(**given: Any) -> Analysis:
    return Analysis(settings(**given))


@given(corpora, st.sampled_from([{}, {"ngrams": 2}, {"char_ngrams": "2"}]))
def test_all_documents_are_counted_and_kept_in_order(
    labelled: Corpus, setting: dict[str, Any]
) -> None:
    encoded = [(label, text.encode()) for label, text in labelled]
    whole = count(encoded, analysis(**setting))
    statistics, documents = count_documents(encoded, analysis(**setting))
    assert to_dictionaries(statistics) == to_dictionaries(whole.table)
    assert [statistics.classes[number] for number in documents.classes.tolist()] == [
        label for label, _ in labelled
    ]
    assert documents.hashes.tolist() == hash_contents([text for _, text in encoded]).tolist()
    if not setting:
        bounds, matrix = documents.matrix.offsets.tolist(), documents.matrix
        for (_, text), begin, end in zip(labelled, bounds, bounds[1:], strict=False):
            terms = [
                statistics.vocabulary.get_term(term) for term in matrix.terms[begin:end].tolist()
            ]
            assert dict(zip(terms, matrix.counts[begin:end].tolist(), strict=True)) == Counter(
                text.split()
            )


def test_content_hashes_are_the_first_eight_bytes_of_sha_256() -> None:
    """Of the empty text and of "abc": FIPS 180-4's examples."""
    found = hash_contents([b"", b"abc"])
    assert found.astype("<u8").tobytes().hex() == "e3b0c44298fc1c14" + "ba7816bf8f01cfea"
    assert found.dtype == np.uint64


def test_empty_corpus_is_refused() -> None:
    for keep_all in (False, True):
        with pytest.raises(UsageError, match="the corpus has no readable documents"):
            count([], analysis(), keep_all=keep_all)


@pytest.mark.parametrize("label", ["", "\udc80", None, 1, b"cats"])
def test_invalid_labels_are_refused(label: object) -> None:
    check_label("cats and dogs")
    with pytest.raises(UsageError, match="cannot be a label"):
        check_label(label)
    with pytest.raises(UsageError, match="cannot be a label"):
        count([("cats", b"purr"), (label, b"bark")], analysis())  # type: ignore[list-item]

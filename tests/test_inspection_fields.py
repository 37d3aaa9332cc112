"""Terms of fields in `inspection/overview.py`, `inspection/terms.py` and `inspection/generation.py`."""

from __future__ import annotations

from dataclasses import replace

import pytest

from nbtext import TextClassifier
from nbtext.corpus.document import Document
from nbtext.counts.vocabulary import Vocabulary, make_category_term, mask_field_terms
from nbtext.inspection.generation import DocumentGenerator
from nbtext.inspection.overview import build_overview
from nbtext.inspection.terms import collect_word_details
from tests.models import train_on


def model(**parameters: object) -> TextClassifier:
    mails = [
        ("ham", b"see you at the meeting", b"agenda of meetings", b"from:ann@x.org"),
        ("spam", b"the offer: a prize", b"free offer", b"from:win@y.com host:y.com"),
    ]
    of = TextClassifier(**parameters)  # type: ignore[arg-type]
    return train_on(
        of,
        (
            (label, Document("", None, text, fields=[(b"subject", subject), (b"", items)]))
            for label, text, subject, items in mails
        ),
    )


def test_field_terms_contain_a_colon() -> None:
    terms = sorted(
        [
            make_category_term("hour", "12:30"),
            "cat",
            "subject:cat",
            "subject:the\x1f",
            "type:text/html:x",
            "été:été",
            "zebra",
        ]
    )
    vocabulary = Vocabulary.from_terms(terms)
    assert [term for term, found in zip(terms, mask_field_terms(vocabulary).tolist(), strict=True) if found] == [
        "subject:cat", "subject:the\x1f", "type:text/html:x", "été:été",
    ]  # fmt: skip
    assert not mask_field_terms(Vocabulary.from_terms(["cat"])).any()
    assert mask_field_terms(Vocabulary.from_terms([])).size == 0


def test_overview_counts_the_terms_of_each_field() -> None:
    assert build_overview(model(stop_words="none"), 1).fields == {
        "subject": 5,
        "from": 2,
        "host": 1,
    }
    without = TextClassifier().fit(["the cat", "a dog: purrs"], ["x", "y"])
    assert build_overview(without, 1).fields is None


@pytest.mark.parametrize(
    ("asked", "terms"),
    [
        ("subject:meeting", ["subject:meet"]),
        ("host:y.com", ["host:y.com"]),
        ("Re: meeting", ["re", "meet"]),
        ("offer", ["offer"]),
    ],
)
def test_requested_word_may_be_in_a_field(asked: str, terms: list[str]) -> None:
    [found] = collect_word_details(model(), [asked])
    assert [details.term for details in found.terms] == terms


def test_generated_documents_contain_no_field_terms() -> None:
    assert DocumentGenerator(model(stop_words="none")).words == [
        "at",
        "meet",
        "offer",
        "prize",
        "see",
        "the",
        "you",
    ]
    counted = TextClassifier()
    counted.reading = replace(counted.reading, format="svmlight")
    train_on(counted, [("x", b"a:b:3 c:1"), ("y", b"c:2")])
    assert DocumentGenerator(counted).words == ["a:b", "c"]

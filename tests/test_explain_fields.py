"""Fields in explanations, in words to remove, and in excerpts: `explain/explanation.py`, `explain/counterfactual.py`, `explain/mistakes.py`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from nbtext import TextClassifier
from nbtext.corpus.document import Document, collect_contents
from nbtext.explain.counterfactual import WhyNotFinder
from nbtext.explain.explanation import Explainer
from nbtext.explain.mistakes import ExcerptFinder
from nbtext.report.explanations import _make_explanation_record
from tests.models import train_on

if TYPE_CHECKING:
    from collections.abc import Iterable

    from nbtext.explain.explanation import Explanation

MAILS = [
    ("ham", "see you at the meeting", "agenda of the meeting", "from:ann@x.org host:x.org"),
    ("ham", "the minutes, free for all", "minutes", "from:bob@x.org"),
    ("spam", "the offer of the day", "free offer", "from:win@y.com host:y.com host:y.com"),
    ("spam", "you win a prize", "free prize", "from:win@y.com"),
]


def mail(text: str, subject: str, items: str) -> Document:
    return Document(
        "x", None, text.encode(), fields=[(b"subject", subject.encode()), (b"", items.encode())]
    )


def model(**parameters: Any) -> TextClassifier:
    return train_on(
        TextClassifier(**parameters), ((label, mail(*parts)) for label, *parts in MAILS)
    )


EVERY = pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"ngrams": 2},
        {"char_ngrams": "2"},
        {"classifier": "bernoulli"},
        {"classifier": "complement", "weighting": "tfidf"},
    ],
    ids=str,
)
ASKED = mail("You win the meeting", "the free Agenda", "from:bob@x.org host:x.org")


def explain_document(of: TextClassifier, document: Document) -> Explanation:
    [found] = Explainer(of.fitted).explain([document])
    assert found.explanation is not None
    return found.explanation


@EVERY
def test_parts_of_fields_sum_to_the_log_odds_and_have_spans(
    parameters: dict[str, Any],
) -> None:
    of = model(**parameters)
    found = explain_document(of, ASKED)
    joint = of.fitted.score(*collect_contents([ASKED])).scores[0]
    assert found.log_odds == pytest.approx(abs(joint[0] - joint[1]), abs=1e-9)
    assert math.fsum([found.prior, *(word.nats for word in found.words)]) == pytest.approx(
        found.log_odds, abs=1e-9
    )
    assert (
        found.text == "You win the meeting\nsubject: the free Agenda\n  from:bob@x.org host:x.org"
    )
    places = {
        word.word: [found.text[begin:end] for begin, end in word.spans] for word in found.words
    }
    assert places == {
        "you": ["You"], "win": ["win"], "the": ["the"], "meeting": ["meeting"], "subject:the": ["the"], "subject:free": ["free"],
        "subject:agenda": ["Agenda"], "from:bob@x.org": ["from:bob@x.org"], "host:x.org": ["host:x.org"],
    }  # fmt: skip


def test_word_of_a_field_has_the_term_of_the_field() -> None:
    of = model(stop_words="none", smoothing=1)
    words = {word.word: word for word in explain_document(of, ASKED).words}
    assert words["subject:agenda"].terms == ("subject:agenda",)
    assert words["from:bob@x.org"].terms == ("from:bob@x.org",)
    record = _make_explanation_record(next(iter(Explainer(of.fitted).explain([ASKED]))))
    assert {"subject:free", "host:x.org"} <= {word["word"] for word in record["words"]}


@EVERY
@pytest.mark.parametrize("wanted", ["ham", "spam"])
def test_why_not_removes_words_of_fields(parameters: dict[str, Any], wanted: str) -> None:
    of = model(**parameters)
    document = (
        mail("prize", "free agenda", "from:win@y.com")
        if wanted == "ham"
        else mail("meeting", "agenda", "from:win@y.com host:x.org")
    )
    [found] = WhyNotFinder(of.fitted, wanted).find([document])
    assert found.removed_words

    def answer(asked: Document) -> str:
        return of.classes[
            int(np.argmax(of.fitted.score(*collect_contents([asked])).log_posterior[0]))
        ]

    names = {
        "prize": b"prize",
        "subject:free": b"free",
        "subject:agenda": b"agenda",
        "from:win@y.com": b"from:win@y.com",
        "meeting": b"meeting",
        "host:x.org": b"host:x.org",
    }

    def without(words: Iterable[str]) -> Document:
        gone = {names[word] for word in words}
        text, *fields = (
            b" ".join(b" " if word in gone else word for word in part.split())
            for part in (document.text, *dict(document.fields).values())
        )
        return document._replace(
            text=text, fields=list(zip(dict(document.fields), fields, strict=True))
        )

    assert answer(document) != wanted
    assert answer(without(found.removed_words)) == wanted
    assert all(
        answer(without(found.removed_words.keys() - {word})) != wanted
        for word in found.removed_words
    )


def test_excerpt_can_come_from_a_field() -> None:
    of = model(stop_words="none", smoothing=0.1, calibration="none")
    document = mail("nothing here " * 100, "free  free\tfree offer", "from:win@y.com")
    pieces = ExcerptFinder(of.fitted).find_excerpt(
        document, of.classes.index("spam"), of.classes.index("ham")
    )
    quoted = "".join(piece.text for piece in pieces)
    assert quoted.startswith("… ")
    assert quoted.endswith("nothing here subject: free free free offer   from:win@y.com")
    assert {piece.text for piece in pieces if piece.nats > 0} >= {"free", "from:win@y.com"}

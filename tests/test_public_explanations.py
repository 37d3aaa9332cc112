"""20 Newsgroups, if it is there: what is said of a thousand answers adds up, and words that are said to change them do."""

from __future__ import annotations

import math
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from nbtext import TextClassifier
from nbtext.explain.counterfactual import NOT_ENOUGH, WhyNotFinder
from nbtext.explain.explanation import Explainer
from nbtext.prediction.labels import format_label
from tests.corpus_reader import documents
from tests.test_public_corpora import CORPORA, unpack

if TYPE_CHECKING:
    from nbtext.corpus.document import Document

pytestmark = [
    pytest.mark.exhaustive,
    pytest.mark.skipif(
        not CORPORA.is_dir(), reason="the public corpora are not beside the repository"
    ),
]

MAIL: dict[str, Any] = {"document": "mail", "headers": "subject"}
"""Documents without fields, which `TextClassifier.fit` takes as texts."""

Corpus = tuple[list["Document"], list["Document"]]


@pytest.fixture(scope="module")
def newsgroups(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """All training documents, and a thousand of the test documents."""
    folder = unpack("20news-bydate.tar.xz", tmp_path_factory.mktemp("newsgroups"))
    train, test = (
        next(path for path in sorted(folder.rglob(name)) if path.is_dir())
        for name in ("*-train", "*-test")
    )
    return documents(train, **MAIL), Random(0).sample(documents(test, **MAIL), 1000)


@pytest.mark.parametrize(
    "parameters",
    [{}, {"classifier": "complement", "weighting": "tfidf"}, {"classifier": "bernoulli"}],
    ids=str,
)
def test_thousand_explanations_sum_to_the_log_odds(
    newsgroups: Corpus, parameters: dict[str, Any]
) -> None:
    train, test = newsgroups
    model = TextClassifier(**parameters).fit(
        [of.text for of in train], [format_label(of.label or "") for of in train]
    )
    scores = model.joint_log_likelihood([of.text for of in test])
    answers = model.predict([of.text for of in test]).tolist()
    for row, explained in enumerate(Explainer(model.fitted).explain(test)):
        of = explained.explanation
        assert of is not None
        assert of.label == answers[row]
        difference = (
            scores[row, model.classes.index(of.label)]
            - scores[row, model.classes.index(of.against)]
        )
        assert math.fsum([of.prior, *(word.nats for word in of.words)]) == pytest.approx(
            difference, abs=1e-9
        )
        assert of.log_odds == pytest.approx(difference, abs=1e-9)


def test_removing_the_words_of_why_not_predicts_the_label(newsgroups: Corpus) -> None:
    """The words are taken out of the texts where `explain` says that they stand, and the texts are classified."""
    train, test = newsgroups
    model = TextClassifier().fit(
        [of.text for of in train], [format_label(of.label or "") for of in train]
    )
    found = 0
    for document, explained in zip(
        test[:100], Explainer(model.fitted).explain(test[:100]), strict=True
    ):
        of = explained.explanation
        assert of is not None
        [why_not] = WhyNotFinder(model.fitted, of.against).find([document])
        if why_not.removed_words is None:
            assert why_not.reason == NOT_ENOUGH
            continue
        found += 1
        text = bytearray(document.text)
        for begin, end in (
            place for word in of.words if word.word in why_not.removed_words for place in word.spans
        ):
            text[begin:end] = b" " * (end - begin)
        assert model.predict([bytes(text)]).tolist() == [of.against]
    assert found > 60

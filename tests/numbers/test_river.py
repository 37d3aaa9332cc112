"""river, river/naive_bayes: the figures in the docstrings of its naive Bayes classifiers, and of test_multinomial_matches_river.py.

river's multinomial and complement models give a word that no class has seen the probability of a word with count 0. nbtext leaves such a word
out, as IIR and Jurafsky and Martin do, so river's figures for "Taiwanese Taipei" (.553531 and .623077) are not among these.
"""

from __future__ import annotations

import math

import pytest

from tests.numbers.published import fitted, joint, posterior
from tests.textbook import CHINA, CHINA_ASKED

CORPUS = [(label, " ".join(terms)) for label, terms in CHINA]
BUTCHER = [
    ("health", "food food meat brain"),
    ("butcher", f"food meat {'kitchen ' * 9}{'job' * 5}"),
    ("health", "food food meat job"),
]


def test_multinomial_matches_river() -> None:
    model = fitted(CORPUS, smoothing=1)
    assert joint(model, " ".join(CHINA_ASKED)) == pytest.approx(
        {"yes": 0.000301, "no": 0.000135}, abs=5e-7
    )
    assert posterior(model, "Chinese Shanghai") == pytest.approx(
        {"no": 0.118501, "yes": 0.881499}, abs=5e-7
    )


def test_bernoulli_matches_river() -> None:
    model = fitted(CORPUS, smoothing=1, classifier="bernoulli")
    assert posterior(model, "test") == pytest.approx(
        {"yes": 0.8831539823829913, "no": 0.11684601761700895}, rel=1e-7
    )
    assert posterior(model, "Taiwanese Taipei") == pytest.approx(
        {"yes": 0.883154, "no": 0.116846}, abs=5e-7
    )
    assert posterior(model, "Chinese Shanghai") == pytest.approx(
        {"yes": 0.952731, "no": 0.047269}, abs=5e-7
    )


def test_complement_matches_river() -> None:
    """river divides exp(score) by the sum of both; nbtext's own shares are on another scale, so the scores are compared."""
    model = fitted(BUTCHER, smoothing=1, classifier="complement")
    assert dict(
        zip(model.classes, model.fitted.statistics.class_documents.tolist(), strict=True)
    ) == {"health": 2, "butcher": 1}
    found = joint(model, "food job meat")
    assert found["health"] / sum(found.values()) == pytest.approx(0.9409689355477155, rel=1e-12)
    assert model.predict(["food job meat"]).tolist() == ["health"]


def test_unseen_words_give_the_first_class() -> None:
    """Both classes have two tokens, so river's extra factor of 1/6 for each word is the same for both, and the first class is the answer."""
    model = fitted([("0", "cloudy cold"), ("1", "sunny warm")], smoothing=1)
    assert (model.fitted.statistics.n_terms, model.fitted.statistics.class_tokens.tolist()) == (
        4,
        [2, 2],
    )
    assert joint(model, "new word") == pytest.approx(dict.fromkeys("01", math.exp(math.log(1 / 2))))
    assert model.predict(["new word"]).tolist() == ["0"]


@pytest.mark.parametrize("classifier", ["multinomial", "bernoulli", "complement"])
@pytest.mark.parametrize("smoothing", [1, 2, 3])
def test_partial_fit_by_single_documents_equals_one_fit(classifier: str, smoothing: float) -> None:
    asked = [
        *(text for _, text in CORPUS),
        "new unseen data",
        "Chinese ShanghaiShanghai",
        "Tokyo Macao",
        "Macao Macao new",
        "new",
    ]
    whole = fitted(CORPUS, classifier=classifier, smoothing=smoothing)
    single = fitted(CORPUS[:1], classifier=classifier, smoothing=smoothing)
    for label, text in CORPUS[1:]:
        single.partial_fit([text], [label])
    assert single.fitted.statistics == whole.fitted.statistics
    assert single.predict_proba(asked).tolist() == whole.predict_proba(asked).tolist()

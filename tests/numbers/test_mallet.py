"""MALLET, src/cc/mallet/classify/tests/TestNaiveBayes.java: testNonTrained and testStringTrained."""

from __future__ import annotations

import pytest

from tests.numbers.published import fitted, posterior

AFRICA = (
    "on the plains of africa the lions roar",
    "in swahili ngoma means to dance",
    "nelson mandela became president of south africa",
    "the saraha dessert is expanding",
)
ASIA = (
    "panda bears eat bamboo",
    "china's one child policy has resulted in a surplus of boys",
    "tigers live in the jungle",
)


def test_words_counted_five_times_match_mallet() -> None:
    """MALLET asks for more than 0.6; with a count of 1 added to each it is 6/7."""
    sports, politics = "win puck team " * 5, "win speech vote " * 5
    model = fitted([("sports", sports), ("politics", politics)], smoothing=1, class_prior="uniform")
    assert posterior(model, "speech win") == pytest.approx(
        {"politics": 6 / 7, "sports": 1 / 7}, rel=1e-12
    )


def test_mandela_and_lions_are_classified_as_africa() -> None:
    model = fitted(
        [*(("africa", text) for text in AFRICA), *(("asia", text) for text in ASIA)], smoothing=1
    )
    assert model.predict(["nelson mandela never eats lions"]).tolist() == ["africa"]

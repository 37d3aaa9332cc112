"""D. Jurafsky, J. Martin, Speech and Language Processing (3rd edition, draft), chapter on naive Bayes: the worked example of five reviews."""

from __future__ import annotations

import pytest

from tests.numbers.published import fitted, joint, probability

REVIEWS = [
    ("-", "just plain boring"),
    ("-", "entirely predictable and lacks energy"),
    ("-", "no surprises and very few laughs"),
    ("+", "very powerful"),
    ("+", "the most fun film of the summer"),
]


def test_predictable_with_no_fun_is_classified_as_negative() -> None:
    """The book prints 6.1e-5 and 3.2e-5; the second comes to 3.28e-5. "with" is in no review and is left out."""
    model = fitted(REVIEWS, smoothing=1)
    assert dict(zip(model.classes, model.fitted.classifier.prior.tolist(), strict=True)) == {
        "-": 3 / 5,
        "+": 2 / 5,
    }
    assert (
        probability(model, "predictable") == probability(model, "no") == {"-": 2 / 34, "+": 1 / 29}
    )
    assert probability(model, "fun") == {"-": 1 / 34, "+": 2 / 29}
    found = joint(model, "predictable with no fun")
    assert found == pytest.approx({"-": 6.1e-5, "+": 3.28e-5}, abs=5e-7)
    assert found == pytest.approx(
        {"-": 3 / 5 * 2 * 2 * 1 / 34**3, "+": 2 / 5 * 1 * 1 * 2 / 29**3}, rel=1e-12
    )
    assert model.predict(["predictable with no fun"]).tolist() == ["-"]

"""T. Mitchell, Machine Learning (1997): table 3.2, PlayTennis, and the example of section 6.9.1."""

from __future__ import annotations

import pytest

from tests.numbers.published import fitted, joint, posterior

COLUMNS = ("outlook", "temperature", "humidity", "wind")
DAYS = """
    sunny    hot  high   weak   no
    sunny    hot  high   strong no
    overcast hot  high   weak   yes
    rain     mild high   weak   yes
    rain     cool normal weak   yes
    rain     cool normal strong no
    overcast cool normal strong yes
    sunny    mild high   weak   no
    sunny    cool normal weak   yes
    rain     mild normal weak   yes
    sunny    mild normal strong yes
    overcast mild high   strong yes
    overcast hot  normal weak   yes
    rain     mild high   strong no
"""
TABLE = [
    (label, dict(zip(COLUMNS, values, strict=True)))
    for *values, label in map(str.split, DAYS.strip().splitlines())
]
ASKED = dict(zip(COLUMNS, ("sunny", "cool", "high", "strong"), strict=True))


def test_no_tennis_on_a_sunny_cool_humid_and_windy_day() -> None:
    """The book prints .0053 and .0206, and .795 for the conditional probability."""
    model = fitted(TABLE, categorical=",".join(COLUMNS), estimate="ml")
    assert [round(share, 2) for share in model.fitted.classifier.prior.tolist()] == [0.36, 0.64]
    found = joint(model, ASKED)
    assert found == pytest.approx({"yes": 0.0053, "no": 0.0206}, abs=5e-5)
    assert found == pytest.approx(
        {"yes": 9 / 14 * 2 / 9 * (3 / 9) ** 3, "no": 5 / 14 * 3 / 5 * 1 / 5 * 4 / 5 * 3 / 5},
        rel=1e-12,
    )
    assert posterior(model, ASKED)["no"] == pytest.approx(0.795, abs=5e-4)
    assert model.predict([ASKED]).tolist() == ["no"]

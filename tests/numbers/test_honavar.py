"""V. Honavar, Data Science for Researchers and Scholars (Penn State), notes on naive Bayes: eight people and whether they are liked."""

from __future__ import annotations

import numpy as np
import pytest

from nbtext.classifiers.with_attributes import AttributedClassifier
from tests.numbers.published import fitted, joint
from tests.textbook import DATING

COLUMNS = ("height", "hair", "eye")
TABLE = [(label, dict(zip(COLUMNS, values, strict=True))) for *values, label in DATING]
ASKED = dict(zip(COLUMNS, ("t", "b", "l"), strict=True))


def test_table_of_eight_people_matches_the_notes() -> None:
    model = fitted(TABLE, categorical=",".join(COLUMNS), estimate="ml")
    assert dict(zip(model.classes, model.fitted.classifier.prior.tolist(), strict=True)) == {
        "+": 5 / 8,
        "-": 3 / 8,
    }
    classifier = model.fitted.classifier
    assert isinstance(classifier, AttributedClassifier)
    _, hair, eye = (
        {
            model.fitted.statistics.vocabulary.get_term(term).rpartition("\x1f")[
                2
            ]: of.language_models.compute_probability(np.array([term]))[0].tolist()
            for term in np.flatnonzero(of.language_models.selected).tolist()
        }
        for of in classifier.likelihoods.categorical
    )
    assert hair["d"] == [3 / 5, 0]
    assert eye["l"] == [2 / 5, 1]
    assert joint(model, ASKED) == pytest.approx({"+": 0.06, "-": 1 / 6})
    assert model.predict([ASKED]).tolist() == ["-"]

"""Models on weighted counts: trained, saved, loaded, judged in folds, refused what they cannot do; as a library and as a process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from nbtext import TextClassifier
from nbtext.corpus.document import Document
from nbtext.counts.count_table import LOG_UNITS
from nbtext.errors import ModelError, UsageError
from nbtext.model.state import decode_model
from nbtext.store import read_model_file
from tests.process import PETS, SERVICE_DESK, content, fail
from tests.test_evaluation_cross_validation import DESK

if TYPE_CHECKING:
    from pathlib import Path

    from nbtext.settings import ClassifierName

LABELS = [label for label, _ in DESK]
TEXTS = [text for _, text in DESK]
PET_LABELS = [name.partition("/")[0] for name in PETS]


@pytest.mark.parametrize("classifier", ["multinomial", "complement"])
def test_log_sums_are_only_stored_for_log_weighting(
    classifier: ClassifierName, tmp_path: Path
) -> None:
    model = TextClassifier(classifier=classifier, weighting="log").fit(TEXTS, LABELS)
    answers = model.predict_proba(TEXTS)
    model.set_params(weighting="counts").save("m")
    TextClassifier(classifier=classifier).fit(TEXTS, LABELS).save("n")
    assert content("n") == content("m")
    model.set_params(weighting="log")
    with pytest.raises(UsageError, match="not trained"):
        model.predict(TEXTS).tolist()
    assert np.array_equal(model.fit(TEXTS, LABELS).predict_proba(TEXTS), answers)


@pytest.mark.usefixtures("tmp_path")
def test_log_model_without_log_sums_is_refused() -> None:
    TextClassifier(weighting="log").fit(TEXTS, LABELS).save("m")
    settings, arrays, _ = read_model_file("m")
    sums = arrays.pop("cell_logs") / LOG_UNITS
    others: dict[str, Any]
    for others in ({}, {"fitted_weighted_counts": sums}):
        with pytest.raises(
            ModelError, match="the model is malformed: its sums of log weights are missing"
        ):
            decode_model(settings, {**arrays, **others})


def test_equal_classes_are_equally_probable() -> None:
    for weighting in ("counts", "tfidf"):
        same = TextClassifier(classifier="complement", weighting=weighting).fit(
            ["fish", "fish"], ["x", "y"]
        )
        assert same.predict_proba(["fish"]).tolist() == [[0.5, 0.5]]


def test_leave_one_out_with_tfidf_is_refused() -> None:
    line = fail(
        2, "cross-validate", SERVICE_DESK / "train", "--leave-one-out", "--weighting", "tfidf"
    )
    assert "only for --classifier multinomial without tf-idf" in line


def test_excerpt_contributions_equal_those_of_the_mistake(monkeypatch: pytest.MonkeyPatch) -> None:
    """The excerpt's nats over all occurrences are what the same words tip in the list of mistakes."""
    from nbtext.explain import mistakes

    monkeypatch.setattr(mistakes, "HIGHLIGHT_NATS", 0)
    model = TextClassifier(weighting="tfidf", stemmer="none").fit(
        ["engine oil oil brakes"] * 2 + ["match goals goals"] * 2 + ["roses"],
        ["cars"] * 2 + ["sport"] * 2 + ["garden"],
    )
    text = b"oil oil engine goals"
    found = [
        piece.nats
        for piece in mistakes.ExcerptFinder(model.fitted).find_excerpt(
            Document("", None, text), model.classes.index("cars"), model.classes.index("sport")
        )
        if piece.text.strip()
    ]
    block = model.fitted.score([text])
    difference = (
        block.scores[0, model.classes.index("cars")] - block.scores[0, model.classes.index("sport")]
    )
    assert found[0] == found[1]
    assert sum(found) == pytest.approx(difference)  # the prior is the same for both

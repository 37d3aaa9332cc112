"""What `TextClassifier` refuses, and what stays as it was when it does."""

from __future__ import annotations

from typing import Any

import pytest

from nbtext import TextClassifier
from nbtext.errors import UsageError

TEXTS, LABELS = ["purr purr", "bark", "purr mouse", "fetch bark"], ["cats", "dogs", "cats", "dogs"]


@pytest.mark.parametrize("label", ["", "\udc80", 1, None])
def test_labels_that_no_file_could_hold_are_refused_at_once(label: Any) -> None:
    with pytest.raises(UsageError, match="cannot be a label"):
        TextClassifier().fit(["purr", "bark"], ["cats", label])


@pytest.mark.parametrize(
    ("texts", "labels", "message"),
    [
        (["a", "b"], ["x"], "fewer labels"),
        (["a"], ["x", "y"], "more labels"),
        ([], [], "no texts"),
        ("purr", ["x", "x", "x", "x"], "one text"),
        (b"purr", ["x"], "one text"),
    ],
)
def test_texts_and_labels_go_in_pairs(texts: Any, labels: list[str], message: str) -> None:
    for call in (TextClassifier().fit, TextClassifier().partial_fit, TextClassifier().fit(TEXTS, LABELS).score):
        with pytest.raises(UsageError, match=message):
            call(texts, labels)


def test_one_text_is_not_many() -> None:
    with pytest.raises(UsageError, match="list"):
        TextClassifier().fit(TEXTS, LABELS).predict("purr")


def test_a_document_that_no_class_could_have_made_has_no_answer() -> None:
    model = TextClassifier(estimate="ml").fit(TEXTS, LABELS)
    assert model.predict(["purr bark", "mouse"]) == [None, "cats"]


def test_a_class_without_a_prior_is_refused_and_leaves_the_model_as_it_was() -> None:
    model = TextClassifier(class_prior={"cats": 1, "dogs": 3}).fit(TEXTS, LABELS)
    before = model.statistics
    with pytest.raises(UsageError, match="fish"):
        model.partial_fit(["swim"], ["fish"])
    assert model.statistics == before
    with pytest.raises(UsageError, match="dogs"):
        model.set_params(class_prior={"cats": 1})
    assert model.predict(["purr"]) == ["cats"]
    assert model.get_params()["class_prior"] == {"cats": 1, "dogs": 3}


def test_parameters_of_counting_forget_and_parameters_of_estimation_do_not() -> None:
    model = TextClassifier().fit(TEXTS, LABELS)
    assert model.set_params(smoothing=3).learnt.smoothing == 3
    assert model.predict(["purr"]) == ["cats"]
    model.set_params(stemmer="none")
    with pytest.raises(UsageError, match="not trained"):
        model.predict(["purr"])
    assert model.fit(TEXTS, LABELS).predict(["purr"]) == ["cats"]

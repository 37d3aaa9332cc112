"""From statistics to a classifier: what is chosen and learnt on top of the counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbtext import TextClassifier

if TYPE_CHECKING:
    from pathlib import Path


def test_the_profile_is_in_the_model_file(service_desk_model: Path) -> None:
    model = TextClassifier.load(str(service_desk_model))
    profile = model.learnt.profile
    assert profile is not None
    assert profile.figures["unknown"].documents == profile.answers.sum() == len(model.counts.sample.documents)


def test_a_left_out_document_that_no_class_makes_possible_has_no_answer() -> None:
    """Only "purrs barks" has a word that no other cat has and one that no dog has."""
    texts, labels = ["purrs barks", "purrs", "purrs", "barks", "barks growls"], ["cats"] * 3 + ["dogs"] * 2
    model = TextClassifier(estimate="ml", calibration="length").fit(texts, labels)
    assert model.learnt.profile is not None
    assert model.learnt.profile.answers.tolist() == [3, 1]

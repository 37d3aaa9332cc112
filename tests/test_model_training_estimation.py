"""From statistics to a classifier: what each option of training chooses, and what is learnt on top of the counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from nbtext import TextClassifier
from nbtext.errors import UsageError
from tests.textbook import CHINA_LABELS, model_of_china

if TYPE_CHECKING:
    from pathlib import Path

PLAIN: dict[str, Any] = {"stemmer": "none", "stop_words": "none", "smoothing": 1}


def terms(model: TextClassifier) -> list[str]:
    vocabulary = model.fitted.statistics.vocabulary
    return [
        vocabulary.get_term(number)
        for number in np.flatnonzero(model.fitted.parameters.selected_terms).tolist()
    ]


def test_top_keeps_the_best_terms_and_scores_use_only_them() -> None:
    assert terms(model_of_china(top=2)) == ["japan", "tokyo"]
    assert terms(model_of_china(top=100)) == terms(model_of_china())
    model = model_of_china(top=2)
    only = TextClassifier(**PLAIN).fit(["", "", "", "japan tokyo"], CHINA_LABELS)
    np.testing.assert_allclose(
        model.joint_log_likelihood(["chinese tokyo"]),
        only.joint_log_likelihood(["tokyo"]),
        rtol=1e-12,
    )


def test_top_by_another_criterion_keeps_other_terms() -> None:
    texts, labels = ["a1 a1 a1 a1 a1 a1 a1 a1 b1", "b1", "c1 d1", "e1 f1"], ["x", "x", "y", "y"]
    found = {
        by: terms(TextClassifier(**PLAIN, top=1, criterion=by).fit(texts, labels))
        for by in ("mutual-information", "presence")
    }
    assert found == {"mutual-information": ["a1"], "presence": ["b1"]}


def test_min_df_and_max_df_count_documents_not_occurrences() -> None:
    assert terms(model_of_china(min_df=2)) == terms(model_of_china(min_df=4)) == ["chinese"]
    assert terms(model_of_china(max_df=0.25)) == ["beijing", "japan", "macao", "shanghai", "tokyo"]
    assert terms(model_of_china(max_df=0.99)) == terms(model_of_china(max_df=0.25))
    assert model_of_china(min_df=4).fitted.statistics == model_of_china().fitted.statistics


@pytest.mark.parametrize("options", [{"min_df": 5}, {"max_df": 0.0}, {"min_df": 2, "max_df": 0.9}])
def test_limits_that_remove_every_term_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="none of the 6 terms"):
        model_of_china(**options)


def test_ngrams_are_counted_after_stop_words_are_removed() -> None:
    model = TextClassifier(**{**PLAIN, "stop_words": "default"}, ngrams=2).fit(
        ["rain in Spain", "plain"], ["a", "b"]
    )
    assert terms(model) == ["plain", "rain", "spain", "rain spain"]


def test_maximum_likelihood_makes_documents_impossible() -> None:
    model = model_of_china(estimate="ml")
    assert model.fitted.parameters.smoothing == 0
    assert model.predict_proba(["tokyo", "macao", "tokyo macao"]).tolist()[:2] == [[1, 0], [0, 1]]
    assert np.isnan(model.predict_proba(["tokyo macao"])).all()


def test_class_of_empty_documents_does_not_change_the_others() -> None:
    model = TextClassifier(**{**PLAIN, "estimate": "ml"}).fit(["ant", "bee", ""], ["a", "b", "c"])
    assert model.predict_proba(["ant", ""]).tolist() == [[1, 0, 0], pytest.approx([1 / 3] * 3)]


def test_parameters_set_after_training_apply_to_the_next_fit() -> None:
    texts, labels = ["the engines", "the keepers"], ["a", "b"]
    model = TextClassifier().fit(texts, labels)
    assert terms(model) == ["engin", "keeper"]
    assert terms(model.set_params(stop_words="none", stemmer="none").fit(texts, labels)) == [
        "engines",
        "keepers",
        "the",
    ]


def test_profile_is_stored_in_the_model_file(service_desk_model: Path) -> None:
    model = TextClassifier.load(str(service_desk_model))
    profile = model.fitted.parameters.profile
    assert profile is not None
    assert (
        profile.metrics["unknown"].documents
        == profile.predictions.sum()
        == len(model.counts.sample.documents)
    )


def test_impossible_held_out_document_has_no_prediction() -> None:
    """Only "purrs barks" has a word that no other cat has and one that no dog has."""
    texts, labels = (
        ["purrs barks", "purrs", "purrs", "barks", "barks growls"],
        ["cats"] * 3 + ["dogs"] * 2,
    )
    model = TextClassifier(smoothing=0).fit(texts, labels)
    assert model.fitted.parameters.profile is not None
    assert model.fitted.parameters.profile.predictions.tolist() == [3, 1]

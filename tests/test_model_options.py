"""What each option of training does, and what the Python interface does at its edges."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from nbtext import TextClassifier
from nbtext.corpus.document import Document
from nbtext.errors import DocumentError, UsageError
from nbtext.model.answers import IMPOSSIBLE, NO_KNOWN_TERMS, answers
from nbtext.model.judging import judge
from nbtext.model.overview import overview
from tests.textbook import CHINA

if TYPE_CHECKING:
    from pathlib import Path

PLAIN: dict[str, Any] = {"stemmer": "none", "stop_words": "none", "smoothing": 1}
TEXTS = [" ".join(terms) for _, terms in CHINA]
LABELS = [label for label, _ in CHINA]


def terms(model: TextClassifier) -> list[str]:
    vocabulary = model.statistics.vocabulary
    return [vocabulary.term(number) for number in np.flatnonzero(model.learnt.selected).tolist()]


def fitted(**options: Any) -> TextClassifier:
    return TextClassifier(**{**PLAIN, **options}).fit(TEXTS, LABELS)


def test_top_keeps_the_best_terms_and_the_model_is_one_over_them_alone() -> None:
    assert terms(fitted(top=2)) == ["japan", "tokyo"]
    assert terms(fitted(top=100)) == terms(fitted())
    model = fitted(top=2)
    only = TextClassifier(**PLAIN).fit(["", "", "", "japan tokyo"], LABELS)
    np.testing.assert_allclose(model.joint_log_likelihood(["chinese tokyo"]), only.joint_log_likelihood(["tokyo"]), rtol=1e-12)


def test_top_by_another_criterion_keeps_other_terms() -> None:
    texts, labels = ["a1 a1 a1 a1 a1 a1 a1 a1 b1", "b1", "c1 d1", "e1 f1"], ["x", "x", "y", "y"]
    found = {by: terms(TextClassifier(**PLAIN, top=1, by=by).fit(texts, labels)) for by in ("mutual-information", "presence")}
    assert found == {"mutual-information": ["a1"], "presence": ["b1"]}


def test_min_df_and_max_df_count_documents_not_occurrences() -> None:
    assert terms(fitted(min_df=2)) == terms(fitted(min_df=4)) == ["chinese"]
    assert terms(fitted(max_df=0.25)) == ["beijing", "japan", "macao", "shanghai", "tokyo"]
    assert terms(fitted(max_df=0.99)) == terms(fitted(max_df=0.25))
    assert fitted(min_df=4).statistics == fitted().statistics


@pytest.mark.parametrize("options", [{"min_df": 5}, {"max_df": 0.0}, {"min_df": 2, "max_df": 0.9}])
def test_limits_that_leave_no_term_are_wrong_usage(options: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="none of the 6 terms"):
        fitted(**options)


def test_ngrams_are_counted_among_what_is_left_of_a_document() -> None:
    model = TextClassifier(**{**PLAIN, "stop_words": "default"}, ngrams=2).fit(["rain in Spain", "plain"], ["a", "b"])
    assert terms(model) == ["plain", "rain", "spain", "rain spain"]


def test_smoothing_is_added_to_each_count_under_mean_and_mode() -> None:
    for estimate in ("mean", "map"):
        model = fitted(smoothing=0.5, estimate=estimate)
        chinese = np.array(model.statistics.vocabulary.find(["chinese"]))
        assert model.language_models.probability(chinese)[0] == pytest.approx([1.5 / (3 + 3), 5.5 / (8 + 3)], rel=1e-12)


def test_smoothing_by_evidence_does_not_exceed_any_other() -> None:
    """The chosen pseudo-count makes the counts of the classes more probable than any given one (up to one per term)."""
    from nbtext.language_model.evidence import count_histogram, log_evidence

    model = fitted(smoothing="auto")
    histogram = count_histogram(model.statistics, model.learnt.selected, "symmetric")
    best = log_evidence(histogram, 6 * model.learnt.smoothing)
    assert all(log_evidence(histogram, 6 * smoothing) <= best + 1e-9 for smoothing in np.linspace(0.01, 1, 50))


def test_maximum_likelihood_finds_a_document_impossible_that_no_class_could_have_made() -> None:
    model = fitted(estimate="ml")
    assert model.learnt.smoothing == 0
    assert model.predict_proba(["tokyo", "macao", "tokyo macao"]).tolist()[:2] == [[1, 0], [0, 1]]
    assert np.isnan(model.predict_proba(["tokyo macao"])).all()


def test_a_class_of_empty_documents_does_not_spoil_the_others_under_maximum_likelihood() -> None:
    model = TextClassifier(**{**PLAIN, "estimate": "ml"}).fit(["ant", "bee", ""], ["a", "b", "c"])
    assert model.predict_proba(["ant", ""]).tolist() == [[1, 0, 0], pytest.approx([1 / 3] * 3)]


@pytest.mark.parametrize(
    ("prior", "wanted"),
    [("empirical", [1 / 4, 3 / 4]), ("uniform", [1 / 2, 1 / 2]), ("smoothed:1", [2 / 6, 4 / 6]), ({"yes": 1, "no": 9}, [9 / 10, 1 / 10])],
)
def test_the_class_prior_is_what_is_answered_before_reading(prior: object, wanted: list[float]) -> None:
    assert fitted(class_prior=prior).predict_proba([""])[0] == pytest.approx(wanted, rel=1e-12)


def test_a_prior_without_a_weight_for_a_class_is_wrong_usage_and_no_half_trained_model_is_left() -> None:
    model = TextClassifier(**PLAIN, class_prior={"yes": 1})
    with pytest.raises(UsageError, match="'no'"):
        model.fit(TEXTS, LABELS).predict([""])


def test_one_class_is_always_the_answer_and_is_warned_of() -> None:
    model = TextClassifier().fit(["engine oil", ""], ["cars", "cars"])
    assert model.predict(["engine", "", "roses"]) == ["cars"] * 3
    assert model.predict_proba(["engine", ""]).tolist() == [[1], [1]]
    assert any("only one class" in warning for warning in model.warnings())
    assert fitted().warnings() == []


def test_documents_without_terms_train_to_the_class_prior_and_are_warned_of() -> None:
    model = TextClassifier().fit(["", "the", "!"], ["a", "b", "b"])
    assert model.predict_proba(["words"])[0] == pytest.approx([1 / 3, 2 / 3])
    assert any("no terms" in warning for warning in model.warnings())


def test_settings_of_another_classifier_are_warned_of() -> None:
    assert TextClassifier(l2=3, latent=5).fit(TEXTS, LABELS).warnings() == ["--classifier multinomial makes no use of --l2, --latent"]
    assert TextClassifier(classifier="gaussian", latent=2).fit(TEXTS, LABELS).warnings() == []


def test_two_thousand_classes_are_told_apart(tmp_path: Path) -> None:
    names = [f"class {number:04d}" for number in range(2000)]
    texts = [f"shared word{number} word{number} word{(number + 1) % 2000}" for number in range(2000)]
    model = TextClassifier(stemmer="none", smoothing=0.01).fit(texts, names)
    asked = [0, 1, 999, 1998, 1999]
    assert model.predict([f"word{number} shared" for number in asked]) == [names[number] for number in asked]
    model.save(str(tmp_path / "model.joblib"))
    assert TextClassifier.load(str(tmp_path / "model.joblib")).predict([texts[7]]) == [names[7]]


def test_asking_nothing_is_answered_with_nothing() -> None:
    assert fitted().predict([]) == []
    assert fitted().predict_proba([]).shape == (0, 2)


@pytest.mark.parametrize(("texts", "labels"), [(["a"], ["x", "y"]), (["a", "b"], ["x"]), ([], [])])
def test_texts_and_labels_that_do_not_pair_or_are_none_raise(texts: list[str], labels: list[str]) -> None:
    with pytest.raises(ValueError):
        TextClassifier().fit(texts, labels)


def test_invalid_unicode_is_no_reason_to_fail() -> None:
    model = fitted()
    assert model.predict(["tokyo \udc80 japan", b"tokyo \xff\xfe japan"]) == model.predict(["tokyo japan"] * 2)


def test_a_failed_change_of_parameters_changes_none() -> None:
    model = TextClassifier(top=5)
    with pytest.raises(UsageError, match="--min-df"):
        model.set_params(top=7, min_df=0)
    assert model.get_params()["top"] == 5


def test_every_document_has_one_answer_in_order_whatever_happened_to_it() -> None:
    problem = DocumentError("not text")
    documents = [
        Document("1", None, b"tokyo"),
        Document("2", None, b"", problem),
        Document("3", None, b"tokyo macao"),
        Document("4", None, b"unheard of"),
    ]
    found = list(answers(fitted(estimate="ml"), documents))
    assert [answer.id for answer in found] == ["1", "2", "3", "4"]
    assert (found[0].label, found[0].probability, found[0].notice) == ("no", 1, None)
    assert (found[1].label, found[1].problem) == (None, problem)
    assert (found[2].label, found[2].abstained) == (None, IMPOSSIBLE)
    assert (found[3].label, found[3].notice) == ("yes", NO_KNOWN_TERMS)
    assert found[3].probability == pytest.approx(3 / 4)


def test_judging_counts_an_impossible_document_as_if_all_classes_were_equally_probable() -> None:
    documents = [Document("1", "no", b"tokyo"), Document("2", "yes", b"tokyo macao")]
    summary = judge(fitted(estimate="ml"), documents).summary()
    assert summary["n"] == 2
    assert summary["log_loss"] == pytest.approx((0 + np.log(2)) / 2)
    with pytest.raises(UsageError, match="no documents"):
        judge(fitted(), [])


def test_the_overview_tells_sizes_and_the_terms_that_speak_for_each_class() -> None:
    found = overview(fitted(), 2)
    assert (found["documents"], found["tokens"], found["terms"], found["ngrams"]) == (4, 11, 6, 0)
    assert found["classes"]["no"]["top_terms"] == ["japan", "tokyo"]
    assert found["classes"]["yes"]["top_terms"][0] == "chinese"
    assert [found["classes"][label]["tokens"] for label in ("no", "yes")] == [3, 8]
    assert overview(fitted(), 0)["classes"]["no"]["top_terms"] == []


def test_parameters_set_after_training_hold_at_the_next() -> None:
    texts, labels = ["the engines", "the keepers"], ["a", "b"]
    model = TextClassifier().fit(texts, labels)
    assert terms(model) == ["engin", "keeper"]
    assert terms(model.set_params(stop_words="none", stemmer="none").fit(texts, labels)) == ["engines", "keepers", "the"]

"""Models on weighted counts: trained, saved, loaded, judged in folds, refused what they cannot do; as a library and as a process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from nbtext import TextClassifier
from nbtext.counts.counting import content_hashes
from nbtext.counts.statistics import LOG_UNITS
from nbtext.errors import UsageError
from nbtext.language_model.dirichlet import MOST_SMOOTHING
from nbtext.model.changing import relabelled
from nbtext.model.state import from_plain, to_plain
from nbtext.store import read_model_file, write_model_file
from tests.process import PETS, SERVICE_DESK, fail, in_json, json_lines, succeed
from tests.test_evaluation_cross_validation import DESK, assert_as_trained_apart

if TYPE_CHECKING:
    from pathlib import Path

SETTINGS: dict[str, dict[str, Any]] = {
    "complement": {"classifier": "complement"},
    "complement tfidf": {"classifier": "complement", "weighting": "tfidf", "ngrams": 2},
    "complement tfidf top": {"classifier": "complement", "weighting": "tfidf", "top": 40},
    "complement tfidf limits": {"classifier": "complement", "weighting": "tfidf", "min_df": 2, "max_df": 0.3},
    "complement tfidf background": {"classifier": "complement", "weighting": "tfidf", "prior_shape": "background"},
    "complement binary": {"classifier": "complement", "weighting": "binary"},
    "complement log": {"classifier": "complement", "weighting": "log", "smoothing": 0.5},
    "multinomial binary": {"weighting": "binary"},
    "multinomial log": {"weighting": "log", "sample": 50},
    "multinomial tfidf": {"weighting": "tfidf"},
    "multinomial tfidf background": {"weighting": "tfidf", "prior_shape": "background"},
    "multinomial tfidf map": {"weighting": "tfidf", "estimate": "map", "calibration": "isotonic"},
    "multinomial tfidf ml": {"weighting": "tfidf", "estimate": "ml"},
    "bernoulli binary": {"classifier": "bernoulli", "weighting": "binary"},
}
EVERY = pytest.mark.parametrize("settings", SETTINGS.values(), ids=list(SETTINGS))

LABELS = [label for label, _ in DESK]
TEXTS = [text for _, text in DESK]
PET_LABELS = [name.partition("/")[0] for name in PETS]


@EVERY
def test_saved_and_loaded_it_gives_the_same_answers(settings: dict[str, Any], tmp_path: Path) -> None:
    model = TextClassifier(**settings).fit(TEXTS, LABELS)
    model.save(str(tmp_path / "m"))
    loaded = TextClassifier.load(str(tmp_path / "m"))
    asked = [*TEXTS[:20], b"", b"nothing known"]
    np.testing.assert_array_equal(loaded.predict_proba(asked), model.predict_proba(asked))
    assert loaded.statistics == model.statistics
    assert loaded.statistics.cell_counts.dtype.kind == "i"
    loaded.save(str(tmp_path / "again"))
    assert (tmp_path / "again").read_bytes() == (tmp_path / "m").read_bytes()


@EVERY
def test_another_order_of_documents_gives_the_same_file(settings: dict[str, Any], tmp_path: Path) -> None:
    TextClassifier(**settings).fit(TEXTS, LABELS).save(str(tmp_path / "m"))
    TextClassifier(**settings).fit(TEXTS[::-1], LABELS[::-1]).save(str(tmp_path / "n"))
    assert (tmp_path / "n").read_bytes() == (tmp_path / "m").read_bytes()


@EVERY
def test_a_fold_is_judged_as_by_a_model_trained_apart(settings: dict[str, Any]) -> None:
    assert_as_trained_apart(DESK, np.arange(len(DESK)) % 4 != 1, **settings)


@EVERY
def test_a_class_without_training_documents_is_none(settings: dict[str, Any]) -> None:
    gone = {LABELS[0], "waste-collection"}
    assert_as_trained_apart(DESK, np.array([label not in gone for label in LABELS]) & (np.arange(len(DESK)) % 4 != 1), **settings)


@pytest.mark.parametrize("settings", [settings for settings in SETTINGS.values() if settings.get("estimate") != "ml"], ids=str)
def test_calibration_changes_no_answer(settings: dict[str, Any]) -> None:
    model, plain = (TextClassifier(**{**settings, **more}).fit(TEXTS, LABELS) for more in ({}, {"calibration": "none"}))
    assert model.learnt.judgement is not None
    assert model.learnt.judgement["after"]["log_loss"] < model.learnt.judgement["before"]["log_loss"]
    assert model.predict(TEXTS).tolist() == plain.predict(TEXTS).tolist()


@pytest.mark.parametrize("classifier", ["multinomial", "complement"])
def test_what_needs_all_documents_cannot_be_updated(classifier: str) -> None:
    weighting = "tfidf"
    model = TextClassifier(classifier=classifier, weighting=weighting).fit(TEXTS, LABELS)
    with pytest.raises(UsageError, match=f"an exact change of a model and (weighting {weighting}|classifier {classifier}) exclude"):
        model.partial_fit(TEXTS, LABELS)
    answers = model.predict(TEXTS).tolist()
    model.set_params(weighting="counts")  # of these there are all
    assert np.array_equal(model.predict_proba(TEXTS), TextClassifier(classifier=classifier).fit(TEXTS, LABELS).predict_proba(TEXTS))
    model.set_params(weighting=weighting)
    with pytest.raises(UsageError, match="not trained"):
        model.predict(TEXTS).tolist()
    assert model.fit(TEXTS, LABELS).predict(TEXTS).tolist() == answers


@pytest.mark.parametrize("name", ["complement", "complement binary", "multinomial binary", "complement log", "multinomial log"])
def test_counts_presence_and_logs_add(name: str, tmp_path: Path) -> None:
    settings = SETTINGS[name]
    TextClassifier(**settings).fit(TEXTS, LABELS).save(str(tmp_path / "m"))
    half = len(TEXTS) // 2
    TextClassifier(**settings).fit(TEXTS[:half], LABELS[:half]).partial_fit(TEXTS[half:], LABELS[half:]).save(str(tmp_path / "n"))
    assert (tmp_path / "n").read_bytes() == (tmp_path / "m").read_bytes()


@pytest.mark.parametrize("classifier", ["multinomial", "complement"])
def test_logs_are_kept_for_log_weights_alone(classifier: str, tmp_path: Path) -> None:
    model = TextClassifier(classifier=classifier, weighting="log").fit(TEXTS, LABELS)
    answers = model.predict_proba(TEXTS)
    model.set_params(weighting="counts").save(str(tmp_path / "m"))
    TextClassifier(classifier=classifier).fit(TEXTS, LABELS).save(str(tmp_path / "n"))
    assert (tmp_path / "n").read_bytes() == (tmp_path / "m").read_bytes()
    model.set_params(weighting="log")
    with pytest.raises(UsageError, match="not trained"):
        model.predict(TEXTS).tolist()
    assert np.array_equal(model.fit(TEXTS, LABELS).predict_proba(TEXTS), answers)


def test_a_model_of_an_earlier_version_answers_and_cannot_be_changed(tmp_path: Path) -> None:
    """It has the sums of the logs of its own terms as its classifier's array, and not among its counts."""
    model = TextClassifier(weighting="log").fit(TEXTS, LABELS)
    model.save(str(tmp_path / "m"))
    settings, arrays = read_model_file(str(tmp_path / "m"))
    sums = arrays.pop("cell_logs") / LOG_UNITS
    state = from_plain(settings, {**arrays, "fitted_weighted_counts": sums})
    write_model_file(str(tmp_path / "old"), *to_plain(state))
    old = TextClassifier.load(str(tmp_path / "old"))
    assert np.array_equal(old.predict_proba(TEXTS), model.predict_proba(TEXTS))
    old.save(str(tmp_path / "again"))
    assert (tmp_path / "again").read_bytes() == (tmp_path / "old").read_bytes()
    with pytest.raises(UsageError, match="no sums of log weights"):
        old.partial_fit(TEXTS, LABELS)
    with pytest.raises(UsageError, match="no sums of log weights"):
        old.forget(TEXTS[:1], LABELS[:1])
    with pytest.raises(UsageError, match="no sums of log weights"):
        relabelled(old, LABELS[0], "x")


@pytest.mark.parametrize(
    "settings", [{"weighting": "log"}, {"weighting": "binary"}, {"weighting": "log", "prior_shape": "background"}], ids=str
)
def test_each_document_is_left_out_exactly(settings: dict[str, Any]) -> None:
    texts, labels = TEXTS[::8], LABELS[::8]
    whole = TextClassifier(smoothing=0.3, calibration="none", **settings).fit(texts, labels)
    documents = whole.counts.sample.documents
    found = whole.classifier.leave_one_out(documents)
    place = {(content, label): row for row, (content, label, _) in enumerate(documents.keys())}
    for left in range(0, len(texts), 5):
        others = [row for row in range(len(texts)) if row != left]
        apart = TextClassifier(smoothing=0.3, calibration="none", **settings).fit([texts[n] for n in others], [labels[n] for n in others])
        row = place[int(content_hashes([texts[left]])[0]), whole.classes.index(labels[left])]
        wanted = apart.joint_log_likelihood([texts[left]])[0]
        scores = [found.scores[row, whole.classes.index(label)] for label in apart.classes]
        np.testing.assert_allclose(scores, wanted, rtol=1e-6)


@pytest.mark.parametrize("weighting", ["log", "tfidf"])
@pytest.mark.parametrize("classifier", ["multinomial", "complement"])
def test_a_model_without_any_term_can_be_loaded(classifier: str, weighting: str, tmp_path: Path) -> None:
    path = str(tmp_path / "m")
    TextClassifier(classifier=classifier, weighting=weighting).fit(["", "", ""], ["a", "a", "b"]).save(path)
    assert TextClassifier.load(path).predict(["a word"]).tolist() == ["a"]


def test_one_class_and_no_terms() -> None:
    for weighting in ("counts", "tfidf"):
        one = TextClassifier(classifier="complement", weighting=weighting).fit(["fish and chips", "chips"], ["food", "food"])
        assert one.predict_proba(["chips", ""]).tolist() == [[1], [1]]
        empty = TextClassifier(classifier="complement", weighting=weighting).fit(["", ""], ["x", "y"])
        assert empty.predict_proba(["anything"]).tolist() == [[0.5, 0.5]]
        same = TextClassifier(classifier="complement", weighting=weighting).fit(["fish", "fish"], ["x", "y"])
        assert same.predict_proba(["fish"]).tolist() == [[0.5, 0.5]]


def test_the_command_trains_answers_and_judges(tmp_path: Path) -> None:
    options = ("--classifier", "complement", "--weighting", "tfidf")
    succeed("train", SERVICE_DESK / "train", "-m", "m", *options)
    assert all(len(row) == 3 for row in succeed("classify", SERVICE_DESK / "train", "-m", "m").rows)
    said = in_json("evaluate", SERVICE_DESK / "test", "-m", "m")
    assert said["accuracy"] > 0.5
    folds = in_json("cross-validate", SERVICE_DESK / "train", "--folds", "3", *options)
    assert folds["accuracy"] > 0.4
    assert all(0.1 < fold["smoothing"] <= MOST_SMOOTHING for fold in folds["folds"]["each"])
    succeed("evaluate", SERVICE_DESK / "test", "-m", "m", "--errors", "e.jsonl")
    errors = json_lines((tmp_path / "e.jsonl").read_bytes())
    assert len(errors) == said["n"] - round(said["accuracy"] * said["n"])
    assert any(error["terms"] for error in errors)


def test_leaving_one_out_is_refused() -> None:
    line = fail(2, "cross-validate", SERVICE_DESK / "train", "--leave-one-out", "--weighting", "tfidf")
    assert "without tf-idf only" in line


def test_words_are_marked_by_what_they_add_to_the_score(monkeypatch: pytest.MonkeyPatch) -> None:
    """The excerpt's nats over all occurrences are what the same words tip in the list of mistakes."""
    from nbtext.explain import mistakes

    monkeypatch.setattr(mistakes, "AUDIBLE", 0)
    model = TextClassifier(weighting="tfidf", stemmer="none").fit(
        ["engine oil oil brakes"] * 2 + ["match goals goals"] * 2 + ["roses"], ["cars"] * 2 + ["sport"] * 2 + ["garden"]
    )
    text = b"oil oil engine goals"
    found = [
        piece.nats
        for piece in mistakes.Excerpts(model.fitted).excerpt(text, model.classes.index("cars"), model.classes.index("sport"))
        if piece.text.strip()
    ]
    block = model.fitted.score([text])
    difference = block.scores[0, model.classes.index("cars")] - block.scores[0, model.classes.index("sport")]
    assert found[0] == found[1]
    assert sum(found) == pytest.approx(difference)  # the prior is the same for both

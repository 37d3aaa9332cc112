"""Tests of models of several labels per document: exact changes, and leaving out as training again."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from nbtext import TextClassifier, UsageError
from nbtext.classifiers.held_out import HELD_OUT_FOLDS, score_held_out_sample
from nbtext.classifiers.multi_label import OneVsRestClassifier
from nbtext.corpus.document import Document
from nbtext.counts.counting import hash_contents
from nbtext.explain.explanation import Explainer
from nbtext.fitted_model import restore_classifier
from nbtext.settings import Settings

RANDOM = np.random.default_rng(7)
WORDS = [f"word{number}" for number in range(40)]
LABELS = ["corn", "grain", "oil", "wheat"]


def documents(n: int) -> tuple[list[str], list[list[str]]]:
    """Draw documents whose labels bring words of their own; some have none, some several."""
    texts, labels = [], []
    for _ in range(n):
        own = [label for label in LABELS if RANDOM.random() < 0.35]
        drawn = [
            *RANDOM.choice(WORDS, 12),
            *(f"{label}{RANDOM.integers(4)}" for label in own for _ in range(3)),
        ]
        texts.append(" ".join(map(str, drawn)))
        labels.append(own)
    return texts, labels


TEXTS, SETS = documents(60)


def trained(
    texts: Sequence[str] = TEXTS, labels: Sequence[Any] = SETS, **settings: Any
) -> TextClassifier:
    return TextClassifier(**{"smoothing": 0.3, "stemmer": "none", **settings}).fit(texts, labels)


def get_one_vs_rest(model: TextClassifier) -> OneVsRestClassifier:
    found = model.fitted.classifier
    assert isinstance(found, OneVsRestClassifier)
    return found


@pytest.mark.parametrize("weighting", ["counts", "binary", "log"])
def test_leave_one_out_equals_training_without_the_document(weighting: str) -> None:
    whole = trained(weighting=weighting, calibration="none")
    sample = whole.counts.sample.documents
    found = get_one_vs_rest(whole).leave_one_out(sample)
    rows = {content: row for row, content in enumerate(sample.hashes.tolist())}
    for left in range(0, len(TEXTS), 7):
        others = [place for place in range(len(TEXTS)) if place != left]
        apart = trained(
            [TEXTS[n] for n in others],
            [SETS[n] for n in others],
            weighting=weighting,
            calibration="none",
        )
        wanted, scored = (
            apart.joint_log_likelihood([TEXTS[left]])[0],
            apart.fitted.score([TEXTS[left].encode()]),
        )
        row = rows[int(hash_contents([TEXTS[left].encode()])[0])]
        assert found.scores[row] == pytest.approx(wanted, rel=1e-9, abs=1e-9)
        assert found.truth[np.array([row])].to_names(LABELS) == [tuple(SETS[left])]
        assert (found.lengths[row], found.unknown_lengths[row]) == (
            scored.lengths[0],
            scored.unknown_tokens[0],
        )


@pytest.mark.parametrize(
    "settings",
    [{}, {"weighting": "log"}, {"classifier": "bernoulli"}, {"prior_shape": "background"}],
)
def test_partial_fit_and_forget_are_exact(settings: dict[str, Any]) -> None:
    more, others = documents(20)
    whole = trained([*TEXTS, *more], [*SETS, *others], **settings)
    updated = trained(**settings).partial_fit(more, others)
    assert np.array_equal(updated.predict_proba(more), whole.predict_proba(more))
    assert updated.counts.table == whole.counts.table
    assert updated.forget(more, others).counts.table == trained(**settings).counts.table


def test_label_is_weighed_against_documents_without_it() -> None:
    model = trained(calibration="none")
    statistics, everything = model.fitted.statistics, model.fitted.statistics.all_documents
    assert everything is not None
    terms = np.arange(statistics.n_terms)
    own, rest = (
        statistics.get_dense_counts(terms) + 0.3,
        everything.get_dense_counts(terms) - statistics.get_dense_counts(terms) + 0.3,
    )
    ratios = np.log(own / own.sum(axis=0)) - np.log(rest / rest.sum(axis=0))
    assert get_one_vs_rest(model).compute_weights(terms) == pytest.approx(ratios)
    holding = np.array([sum(label in labels for labels in SETS) for label in LABELS])
    assert get_one_vs_rest(model).bias == pytest.approx(
        np.log((holding + 0.5) / (len(SETS) - holding + 0.5))
    )
    assert statistics.n_documents == len(SETS)


@pytest.mark.parametrize("classifier", ["multinomial", "bernoulli", "logistic"])
def test_words_only_in_documents_without_labels_are_known(classifier: str) -> None:
    """They speak against all labels, in scores, in explanations and in the limits of documents."""
    texts, labels = [*TEXTS, *["hello there"] * 20], [*SETS, *[[]] * 20]
    model = trained(texts, labels, classifier=classifier, stop_words="none")
    scored = model.fitted.score([b"hello there", b"nothing known", b"there"])
    assert (scored.lengths.tolist(), scored.unknown_tokens.tolist()) == ([2, 0, 1], [0, 2, 0])
    hello, nothing, _ = model.predict_proba(["hello there", "nothing known", "there"])
    assert (hello < nothing).all()
    shares = np.array([sum(label in each for each in labels) for label in LABELS])
    assert nothing == pytest.approx((shares + 0.5) / (len(texts) + 1), rel=1e-6)
    explained, unknown = (
        next(iter(Explainer(model.fitted).explain([Document("-", None, text)])))
        for text in (b"hello there", b"nothing known")
    )
    assert explained.explanation is not None
    assert [(word.nats < 0, word.drop_reason) for word in explained.explanation.words] == [
        (True, None)
    ] * 2
    assert (explained.notice, unknown.notice) == (None, "no-known-terms")
    pruned = trained(texts, labels, classifier=classifier, stop_words="none", max_df=0.2)
    assert pruned.fitted.score([b"hello there"]).lengths.tolist() == [0]  # 20 of 80 documents


def test_leave_one_out_of_words_shared_with_unlabelled_documents_is_exact() -> None:
    texts, labels = [*TEXTS, "hello there word1", "hello you"], [*SETS, ["corn"], []]
    whole = trained(texts, labels, calibration="none", stop_words="none")
    found = get_one_vs_rest(whole).leave_one_out(whole.counts.sample.documents)
    rows = {
        content: row for row, content in enumerate(whole.counts.sample.documents.hashes.tolist())
    }
    row = rows[int(hash_contents([b"hello there word1"])[0])]
    apart = trained([*TEXTS, "hello you"], [*SETS, []], calibration="none", stop_words="none")
    assert found.scores[row] == pytest.approx(apart.joint_log_likelihood(["hello there word1"])[0])
    assert (found.lengths[row], found.unknown_lengths[row]) == (2, 1)


def test_single_labels_and_label_sets_can_be_mixed() -> None:
    one, several = ["a b", "b c"], ["c d", "d a"]
    mixed = trained([*one, *several], ["x", "y", ["x", "y"], []])
    sets = trained([*one, *several], [["x"], ["y"], ["x", "y"], []])
    assert mixed.counts.table == sets.counts.table
    assert sets.partial_fit(["e"], ["z"]).classes == ["x", "y", "z"]


def test_loaded_multi_label_model_predicts_the_same(tmp_path: Any) -> None:
    model = trained()
    model.save(str(tmp_path / "m"))
    loaded = TextClassifier.load(str(tmp_path / "m"))
    assert np.array_equal(loaded.predict_proba(TEXTS), model.predict_proba(TEXTS))
    assert loaded.counts.table == model.counts.table
    fitted = loaded.fitted
    again = restore_classifier(
        fitted.statistics, fitted.parameters, Settings.from_values({**fitted.settings})
    )
    assert isinstance(again, OneVsRestClassifier)


def test_label_of_one_document_is_unknown_when_it_is_held_out() -> None:
    model = trained([*TEXTS, "rare word1"], [*SETS, ["rare"]], calibration="none")
    found = get_one_vs_rest(model).leave_one_out(model.counts.sample.documents)
    alone = np.flatnonzero(found.truth.to_mask(len(model.classes))[:, model.classes.index("rare")])
    assert np.isneginf(found.scores[alone, model.classes.index("rare")]).all()
    assert len(found.take_known_classes().scores) == len(TEXTS)


def test_background_prior_uses_folds_because_it_changes_with_each_document() -> None:
    """The scores that calibration learns from are those of models trained without the fold."""
    whole = trained(prior_shape="background", smoothing=5, calibration="none")
    models, sample = get_one_vs_rest(whole), whole.counts.sample.documents
    with pytest.raises(UsageError, match="leave-one-out is not exact for several labels"):
        models.leave_one_out(sample)
    unseen = score_held_out_sample(models, models.training, sample)
    place_of = {
        content: place
        for place, content in enumerate(hash_contents([text.encode() for text in TEXTS]).tolist())
    }
    places = [place_of[content] for content in sample.hashes.tolist()]
    held_out = places[::HELD_OUT_FOLDS]
    others = [place for place in range(len(TEXTS)) if place not in held_out]
    apart = trained(
        [TEXTS[n] for n in others],
        [SETS[n] for n in others],
        prior_shape="background",
        smoothing=5,
        calibration="none",
    )
    wanted = apart.joint_log_likelihood([TEXTS[n] for n in held_out])
    np.testing.assert_allclose(unseen.scores[: len(held_out)], wanted, rtol=1e-9)

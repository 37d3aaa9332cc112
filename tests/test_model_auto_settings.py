"""What ``auto`` chooses for stop words and smoothing: what answers left-out documents clearly better, and otherwise the usual; also `fitted_model.py`."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from nbtext import TextClassifier
from nbtext.classifiers.base import Training, compute_label_log_prior_odds
from nbtext.classifiers.multinomial import MultinomialNaiveBayes
from nbtext.corpus.document import Document
from nbtext.evaluation.drift_log import DriftRecorder
from nbtext.explain.token_trace import TokenTracer
from nbtext.fitted_model import MIN_CLEAR_DOCUMENTS, MIN_COMPARED_DOCUMENTS, NO_CHOICES, PairedTest
from nbtext.inspection.terms import format_term_name, rank_model_terms
from nbtext.model.auto_settings import (
    MIN_SMOOTHING_RATIO,
    SMOOTHING_ALTERNATIVES,
    TFIDF_SMOOTHING_ALTERNATIVES,
)
from nbtext.model.description import describe_model
from nbtext.prediction.calibration import COUNT_TEMPERATURE_EXPONENT, fit_length_temperature
from nbtext.prediction.label_calibration import fit_label_calibration
from nbtext.scoring import score_documents
from tests.process import content, nbtext, write

if TYPE_CHECKING:
    from pathlib import Path


THINGS = [
    f"{one}{two}"
    for one in ("lamp", "road", "tree", "park", "bin", "wall", "door", "gate")
    for two in ("post", "side", "ward", "land")
]

Corpus = tuple[list[str], list[str]]


def questions(n: int, seed: int = 0) -> Corpus:
    """Questions whose class only their stop words tell."""
    random = np.random.default_rng(seed)
    asks = {"person": "who was at the", "place": "where is the"}
    labels = random.choice(list(asks), n).tolist()
    return [f"{asks[label]} {' '.join(random.choice(THINGS, 3))}?" for label in labels], labels


def topics(n: int, seed: int = 0) -> Corpus:
    """Documents whose stop words are noise, and whose class the other words tell."""
    random = np.random.default_rng(seed)
    stop = [
        "who",
        "where",
        "is",
        "was",
        "the",
        "at",
        "of",
        "in",
        "and",
        "to",
        "we",
        "they",
        "it",
        "that",
        "this",
        "with",
        "criterion",
        "on",
        "for",
    ]
    labels = random.choice(["one", "two"], n).tolist()
    halves = {"one": THINGS[:20], "two": THINGS[12:]}
    return [
        " ".join([*random.choice(halves[label], 4), *random.choice(stop, 25)]) for label in labels
    ], labels


def titles(n: int) -> Corpus:
    """Return titles with one word of their class and words of their own: the evidence, which is of all words, adds too little."""
    random = np.random.default_rng(0)
    labels = random.choice(["a", "b"], n).tolist()
    return [
        f"{label}{random.integers(30)}x {label if random.random() < 0.7 else 'c'}sign n{number}x n{number}y"
        for number, label in enumerate(labels)
    ], labels


def test_auto_stop_words_are_kept_if_they_distinguish_classes() -> None:
    model, all_words = (
        TextClassifier(stop_words=name).fit(*questions(300)) for name in ("auto", "none")
    )
    assert model.fitted.parameters.choices.stop_words_kept
    assert model.fitted.parameters.choices.stop_words is not None
    assert model.fitted.parameters.choices.stop_words.gain > 0.3
    texts, labels = questions(200, seed=1)
    assert model.score(texts, labels) == 1
    np.testing.assert_allclose(
        model.predict_log_proba(texts), all_words.predict_log_proba(texts), rtol=1e-9
    )  # no two of its words have one stem


def test_auto_stop_words_are_dropped_if_they_do_not_distinguish_classes() -> None:
    texts, labels = topics(400)
    model, without = (
        TextClassifier(stop_words=name).fit(texts, labels) for name in ("auto", "default")
    )
    assert not model.fitted.parameters.choices.stop_words_kept
    assert model.fitted.parameters.choices.stop_words is not None
    assert model.fitted.parameters.choices.stop_words.gain < 0
    fresh, _ = topics(200, seed=1)
    np.testing.assert_allclose(
        model.predict_log_proba(fresh), without.predict_log_proba(fresh), rtol=1e-12
    )
    assert describe_model(model.fitted).split("; stop words")[0] == describe_model(without.fitted)
    scored = model.fitted.score([text.encode() for text in fresh])
    assert not scored.unknown_tokens.any()  # a dropped stop word is not an unknown term


@pytest.mark.parametrize("settings", [{"ngrams": 2}, {"keep_documents": 0}])
def test_auto_stop_words_are_dropped_with_ngrams_or_without_a_sample(
    settings: dict[str, Any],
) -> None:
    model = TextClassifier(**settings).fit(*questions(300))
    assert model.fitted.parameters.choices.stop_words is None
    assert not model.fitted.parameters.choices.stop_words_kept
    assert (
        model.predict(["who"]).tolist()
        == TextClassifier(**settings).fit(*questions(300)).predict([""]).tolist()
    )


def test_few_documents_make_no_choice() -> None:
    assert (
        TextClassifier().fit(*questions(MIN_COMPARED_DOCUMENTS - 1)).fitted.parameters.choices
        == NO_CHOICES
    )
    few = TextClassifier().fit(*questions(MIN_CLEAR_DOCUMENTS - 1)).fitted.parameters.choices
    assert (few.stop_words is None, few.smoothing is None) == (False, True)
    assert (
        TextClassifier().fit(*questions(MIN_CLEAR_DOCUMENTS)).fitted.parameters.choices.smoothing
        is not None
    )


@pytest.mark.parametrize(
    ("gain", "documents", "kept"),
    [(-0.1, 10, True), (-0.3, 49, False), (0.3, 49, True), (0.3, 50, False), (0.5, 50, True)],
)
def test_few_documents_keep_stop_words_unless_predictions_get_worse(
    gain: float, documents: int, kept: bool
) -> None:
    assert PairedTest(gain, 0.2, documents).keeps_stop_words == kept


def test_few_questions_keep_the_words_that_distinguish_them() -> None:
    texts, labels = questions(200, seed=1)
    right = [
        TextClassifier().fit(*questions(12, seed=seed)).score(texts, labels)
        for seed in range(10, 20)
    ]
    assert np.mean(right) > 0.9


def test_stop_words_are_kept_if_there_are_no_other_words() -> None:
    assert TextClassifier().fit(["who was it", "where is it"], ["person", "place"]).predict(
        ["who was", "where is"]
    ).tolist() == [
        "person",
        "place",
    ]


def test_updated_model_makes_the_choices_of_a_trained_one(tmp_path: Path) -> None:
    (texts, labels), (more, others) = topics(100), questions(300)
    updated, trained = (
        TextClassifier().fit(texts, labels),
        TextClassifier().fit(texts + more, labels + others),
    )
    assert not updated.fitted.parameters.choices.stop_words_kept
    updated = updated.partial_fit(more, others)
    for name, model in (("updated", updated), ("trained", trained)):
        model.save(str(tmp_path / name))
    assert updated.fitted.parameters.choices.stop_words_kept
    assert content("updated") == content("trained")
    assert (
        TextClassifier.load("updated").fitted.parameters.choices
        == trained.fitted.parameters.choices
    )
    assert (
        updated.forget(more, others).fitted.parameters.choices
        == TextClassifier().fit(texts, labels).fitted.parameters.choices
    )


def held_out_losses(texts: list[str], labels: list[str], **settings: Any) -> np.ndarray[Any, Any]:
    """Return the calibrated log loss of each document by a model that was trained on all others."""
    whole = TextClassifier(**settings).fit(texts, labels)
    scores, lengths, truth = [], [], []
    for place, (text, label) in enumerate(zip(texts, labels, strict=True)):
        rest = TextClassifier(
            **{**settings, "calibration": "none", "smoothing": whole.fitted.parameters.smoothing}
        )
        rest.fit(texts[:place] + texts[place + 1 :], labels[:place] + labels[place + 1 :])
        scored = rest.fitted.score([text.encode()])
        scores.append(scored.scores[0])
        lengths.append(scored.lengths[0])
        truth.append(whole.classes.index(label))
    stacked, known, classes = np.array(scores), np.array(lengths), np.array(truth)
    posterior = fit_length_temperature(
        stacked, classes, known, prior_exponent=COUNT_TEMPERATURE_EXPONENT
    ).compute_log_posterior(stacked, known)
    losses: np.ndarray[Any, Any] = -posterior[np.arange(len(classes)), classes]
    return losses


def test_stop_word_comparison_matches_models_trained_without_each_document() -> None:
    texts, labels = questions(60, seed=3)
    losses = [
        held_out_losses(texts, labels, stop_words=name, smoothing=0.5)
        for name in ("default", "none")
    ]
    gains = losses[0] - losses[1]
    found = TextClassifier(smoothing=0.5).fit(texts, labels).fitted.parameters.choices.stop_words
    assert found is not None
    assert found.documents == 60
    assert found.gain == pytest.approx(gains.mean(), rel=1e-5)
    assert found.error == pytest.approx(gains.std(ddof=1) / np.sqrt(60), rel=1e-5)


@pytest.mark.parametrize("weighting", ["counts", "binary", "log"])
def test_smoothing_comparison_matches_models_trained_without_each_document(
    weighting: str,
) -> None:
    texts, labels = titles(60)
    settings: dict[str, Any] = {"stop_words": "none", "weighting": weighting}
    evidence, auto = (
        TextClassifier(**settings, smoothing=name).fit(texts, labels).fitted.parameters
        for name in ("evidence", "auto")
    )
    losses = held_out_losses(texts, labels, **settings, smoothing=evidence.smoothing)
    assert (
        evidence.smoothing > max(SMOOTHING_ALTERNATIVES) / MIN_SMOOTHING_RATIO
    )  # so that none is tried above it
    tried = [
        one for one in SMOOTHING_ALTERNATIVES if one * MIN_SMOOTHING_RATIO <= evidence.smoothing
    ]
    gains = max(
        (losses - held_out_losses(texts, labels, **settings, smoothing=one) for one in tried),
        key=np.mean,
    )
    found = auto.choices.smoothing
    assert found is not None
    assert found.gain == pytest.approx(gains.mean(), rel=1e-5)
    assert found.error == pytest.approx(gains.std(ddof=1) / np.sqrt(60), rel=1e-5)


def test_multi_label_smoothing_comparison_uses_the_sum_of_label_losses() -> None:
    texts, labels = titles(120)
    sets = [[label, "even"] if place % 2 else [label] for place, label in enumerate(labels)]
    found = TextClassifier(stop_words="none").fit(texts, sets).fitted.parameters

    def losses(smoothing: float) -> np.ndarray[Any, Any]:
        model = TextClassifier(stop_words="none", smoothing=smoothing, calibration="none").fit(
            texts, sets
        )
        classifier: Any = model.fitted.classifier
        scores, lengths, _, labels, _ = classifier.leave_one_out(model.counts.sample.documents)
        truth = labels.to_mask(scores.shape[1])
        prior = compute_label_log_prior_odds(classifier.training)
        p = np.exp(
            fit_label_calibration(scores, truth, lengths, None, prior).compute_log_posterior(
                scores, lengths
            )
        )
        return -np.log(np.where(truth, p, 1 - p)).sum(axis=1)

    by_evidence = MultinomialNaiveBayes.choose_smoothing(classifier_training(texts, sets))
    compared = found.choices.smoothing
    assert compared is not None
    apart = [
        one
        for one in SMOOTHING_ALTERNATIVES
        if one >= MIN_SMOOTHING_RATIO * by_evidence or one * MIN_SMOOTHING_RATIO <= by_evidence
    ]
    tests = {one: PairedTest.from_losses(losses(by_evidence), losses(one)) for one in apart}
    chosen = min(apart, key=lambda one: abs(tests[one].gain - compared.gain))
    assert (compared.gain, compared.error) == pytest.approx(
        (tests[chosen].gain, tests[chosen].error), rel=1e-3
    )
    assert found.smoothing == (chosen if tests[chosen].is_clear else by_evidence)


def classifier_training(texts: list[str], sets: list[list[str]]) -> Training:
    """Return what the evidence follows from."""
    fitted = (
        TextClassifier(stop_words="none", smoothing=1.0, calibration="none").fit(texts, sets).fitted
    )
    return Training(fitted.statistics, fitted.parameters.selected_terms, np.nan, fitted.settings)


@pytest.mark.parametrize(
    "settings",
    [
        {"weighting": "tfidf"},
        {"weighting": "log", "class_weight": "balanced"},
        {"classifier": "complement", "weighting": "binary"},
    ],
)
def test_smoothing_is_not_compared_without_exact_leave_one_out(
    settings: dict[str, Any],
) -> None:
    texts, labels = titles(61)
    auto = TextClassifier(**settings).fit(texts, labels).fitted.parameters
    assert auto.choices.smoothing is None
    assert (
        auto.smoothing
        == TextClassifier(**settings, smoothing="evidence")
        .fit(texts, labels)
        .fitted.parameters.smoothing
    )


def test_other_pseudo_count_is_chosen_only_if_clearly_better() -> None:
    texts, labels = topics(400, seed=5)
    auto, evidence = (
        TextClassifier(stop_words="default", smoothing=name).fit(texts, labels)
        for name in ("auto", "evidence")
    )
    choices = auto.fitted.parameters.choices
    assert choices.smoothing is not None
    if choices.pseudo_count is None:
        assert auto.fitted.parameters.smoothing == evidence.fitted.parameters.smoothing
    else:
        assert choices.smoothing.is_clear
        assert auto.fitted.parameters.smoothing == choices.pseudo_count


def test_rare_words_of_short_titles_choose_more_smoothing() -> None:
    for weighting in ("counts", "binary", "log"):
        model = TextClassifier(weighting=weighting).fit(*titles(600))
        assert model.fitted.parameters.choices.pseudo_count is not None
        assert model.fitted.parameters.smoothing == model.fitted.parameters.choices.pseudo_count


def test_paired_test_has_the_mean_gain_and_its_standard_error() -> None:
    losses = np.tile([1.0, 2.0], 50)
    found = PairedTest.from_losses(losses, losses - np.tile([0.1, 0.3], 50))
    assert (found.gain, found.documents) == (0.2, 100)
    assert found.error == pytest.approx(np.std(np.tile([0.1, 0.3], 50), ddof=1) / 10, rel=1e-5)
    assert found.is_clear
    assert not PairedTest.from_losses(losses, losses).is_clear
    assert PairedTest.from_losses(np.full(100, np.nan), losses).documents == 0


def test_verbose_and_inspect_report_the_choices_and_gains(tmp_path: Path) -> None:
    texts, labels = questions(300)
    write(
        "corpus.tsv",
        "".join(f"{label}\t{text}\n" for text, label in zip(texts, labels, strict=True)),
    )
    trained = nbtext("train corpus.tsv -v")
    reason = r"because held-out log loss is 0\.\d+ ± 0\.\d+ lower with stop words"
    assert re.search(f"stop words kept, {reason}", os.fsdecode(trained.err))
    assert re.search(f"stop words +265, kept, {reason}", nbtext("inspect --all").text)
    assert '"choices": {"stop_words_kept": true' in nbtext("inspect --output json").text


@pytest.mark.parametrize(
    "settings",
    [
        {"classifier": "logistic"},
        {"classifier": "average"},
        {"classifier": "complement", "weighting": "tfidf"},
    ],
)
def test_training_profile_is_that_of_documents_without_dropped_stop_words(
    settings: dict[str, Any],
) -> None:
    model, without = (
        TextClassifier(stop_words=name, **settings).fit(*topics(150))
        for name in ("auto", "default")
    )
    assert model.fitted.parameters.choices.stop_words is not None
    assert not model.fitted.parameters.choices.stop_words_kept
    profile, wanted = model.fitted.parameters.profile, without.fitted.parameters.profile
    assert profile is not None
    assert wanted is not None
    assert profile.metrics == wanted.metrics
    assert profile.metrics["unknown"].mean == 0
    watch = DriftRecorder(model)
    documents = [
        Document(str(number), None, text.encode())
        for number, text in enumerate(topics(100, seed=1)[0])
    ]
    for _ in watch.observe(score_documents(model.fitted, documents)):
        pass
    drift = watch.compute_drift()
    assert drift is not None
    assert not any(figure.is_significant for figure in drift.metrics.values())


def test_kept_stop_words_are_shown_as_words() -> None:
    model = TextClassifier().fit(*questions(300))
    assert model.fitted.parameters.choices.stop_words_kept
    tokens = list(TokenTracer.from_model(model.fitted).trace_tokens(b"Who was at the lamppost?"))
    assert [token.term for token in tokens] == ["who", "was", "at", "the", "lamppost"]
    assert not any(token.dropped for token in tokens)
    best = rank_model_terms(model, "mutual-information").terms[:5]
    assert {format_term_name(model, int(term)) for term in best} == {
        "who",
        "was",
        "at",
        "where",
        "is",
    }


PARTS = {"a": ("甲乙丙", "丁乙戊"), "b": ("甲乙戊", "丁乙丙")}
"""Words of two classes that have the same pairs equally often."""


def clauses(n: int, *, told_by: str, seed: int = 0) -> Corpus:
    """Texts in Han whose class words tell that have the same pairs, or pairs inside clauses that occur once, or sometimes these and sometimes those."""
    random = np.random.default_rng(seed)
    labels = random.choice(["a", "b"], n).tolist()
    others = [chr(0x4E00 + number) for number in random.integers(300, 8000, 6 * n)]

    def text(number: int, label: str) -> str:
        rare = "".join(others[6 * number : 6 * number + 6])
        by_words = told_by == "words" or (told_by == "both" and number % 2)
        return (
            f"{rare}，{'。'.join(PARTS[label])} {label}x"
            if by_words
            else f"{rare[:3]}{'路灯' if label == 'a' else '垃圾'}{rare[3:]}"
        )

    return [
        text(number, label).removesuffix(f" {label}x") for number, label in enumerate(labels)
    ], labels


@pytest.mark.parametrize(
    ("told_by", "sides"),
    [("words", ("words",)), ("pairs", ("pairs",)), ("both", ("pairs", "words"))],
)
def test_unspaced_setting_with_the_best_held_out_predictions_is_chosen(
    told_by: Any, sides: tuple[str, ...], tmp_path: Path
) -> None:
    texts, labels = clauses(300, told_by=told_by)
    fresh, truth = clauses(100, told_by=told_by, seed=1)
    model = TextClassifier().fit(texts, labels)
    assert model.fitted.parameters.choices.sides == sides
    assert model.fitted.parameters.choices.unspaced is not None
    assert model.score(fresh, truth) == 1
    if told_by != "both":
        alone = TextClassifier(unspaced=told_by).fit(texts, labels)
        np.testing.assert_allclose(
            model.predict_log_proba(fresh), alone.predict_log_proba(fresh), rtol=1e-9
        )
        assert model.fitted.class_tokens.tolist() == alone.fitted.class_tokens.tolist()
    model.save("model")
    loaded = TextClassifier.load("model")
    assert loaded.fitted.parameters.choices == model.fitted.parameters.choices
    assert loaded.settings.unspaced == "auto"
    assert np.array_equal(loaded.predict_log_proba(fresh), model.predict_log_proba(fresh))
    grown = TextClassifier().fit(texts[:60], labels[:60]).partial_fit(texts[60:], labels[60:])
    grown.save("grown")
    assert content("grown") == content("model")
    tokens = [
        token
        for token in TokenTracer.from_model(model.fitted).trace_tokens(texts[0].encode())
        if token.dropped is None
    ]
    assert {len(token.word) > 2 for token in tokens} == {told_by == "words"}


def test_corpus_without_unspaced_scripts_gives_the_file_of_pairs(tmp_path: Path) -> None:
    texts, labels = topics(80)
    for name in ("auto", "pairs"):
        TextClassifier(unspaced=name).fit(
            [f"{text} – “été” 한국어" for text in texts], labels
        ).save(str(tmp_path / name))
    assert content("auto") == content("pairs")
    grown = TextClassifier.load("auto").partial_fit(*clauses(300, told_by="words"))
    assert grown.fitted.parameters.choices.unspaced is not None


@pytest.mark.parametrize(
    "settings", [{"ngrams": 2}, {"char_ngrams": 2}, {"surface_forms": True}, {"keep_documents": 0}]
)
def test_auto_unspaced_is_pairs_with_ngrams_surface_forms_or_no_sample(
    settings: dict[str, Any],
) -> None:
    texts, labels = clauses(100, told_by="words")
    model, pairs = (
        TextClassifier(unspaced=name, **settings).fit(texts, labels) for name in ("auto", "pairs")
    )
    assert model.fitted.parameters.choices.sides == ("pairs",)
    assert model.fitted.parameters.choices.unspaced is None
    np.testing.assert_allclose(
        model.predict_log_proba(texts), pairs.predict_log_proba(texts), rtol=1e-9
    )


@pytest.mark.parametrize(
    ("of_scripts", "compared"), [(MIN_CLEAR_DOCUMENTS - 1, False), (MIN_CLEAR_DOCUMENTS, True)]
)
def test_few_documents_in_unspaced_scripts_make_no_choice(
    of_scripts: int, *, compared: bool
) -> None:
    (texts, labels), (others, labels_of_others) = clauses(of_scripts, told_by="words"), topics(200)
    model = TextClassifier().fit(texts + others, labels + labels_of_others)
    choices = model.fitted.parameters.choices
    assert (choices.unspaced is not None) == compared
    assert compared or choices.sides == ("pairs",)


def noisy_signs(n: int, seed: int = 0) -> Corpus:
    """Return texts of three words of their class, or sometimes of any, among ten rare ones."""
    random = np.random.default_rng(seed)
    labels = [f"c{number}" for number in random.integers(0, 12, n)]

    def words(label: str) -> list[str]:
        signs = [label if random.random() < 0.6 else f"c{random.integers(0, 12)}" for _ in range(3)]
        return [f"{sign}s{random.integers(0, 3)}x" for sign in signs] + [
            f"w{word}x" for word in random.integers(0, 2000, 10)
        ]

    return [" ".join(words(label)) for label in labels], labels


def test_complement_with_tfidf_chooses_the_held_out_pseudo_count(
    tmp_path: Path,
) -> None:
    (texts, labels), (fresh, truth) = noisy_signs(400), noisy_signs(300, seed=1)
    complement: dict[str, Any] = {"classifier": "complement", "weighting": "tfidf"}
    model, usual = (
        TextClassifier(**complement, smoothing=value).fit(texts, labels) for value in ("auto", 0.2)
    )
    chosen = model.fitted.parameters.choices.pseudo_count
    assert chosen == model.fitted.parameters.smoothing
    assert chosen in TFIDF_SMOOTHING_ALTERNATIVES
    assert model.score(fresh, truth) > usual.score(fresh, truth) + 0.2
    model.save("model")
    assert TextClassifier.load("model").fitted.parameters.smoothing == chosen
    few = TextClassifier(**complement).fit(texts[:200], labels[:200])
    assert (few.fitted.parameters.choices.pseudo_count, few.fitted.parameters.smoothing) == (
        None,
        0.2,
    )

"""Shares of classes: EM against an optimiser, slopes and offsets against an optimiser, their draws against refits, intervals against documents that were drawn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

from nbtext import TextClassifier
from nbtext.corpus.document import Document
from nbtext.errors import UsageError
from nbtext.guarantees import class_proportions as module
from nbtext.guarantees.class_proportions import (
    ClassLikelihoods,
    count_sweeps,
    estimate_class_proportions,
    estimate_prevalence,
    fit_proportion_estimator,
    fit_proportions,
    replace_prior,
    require_labelled_documents,
)
from nbtext.prediction.calibration import HeldOutPosteriors
from nbtext.prediction.labels import DocumentLabels, single_label_table
from nbtext.prediction.posterior import ClassPosterior
from nbtext.prediction.posterior import normalize_log_joint as normalised
from nbtext.scoring import score_documents

MEANS = np.array([[2.0, 0.0], [0.0, 1.5], [-1.0, -1.0]])
NAMES = ["a", "b", "c"]


def draw_posteriors(
    counts: list[int], seed: int, prior: tuple[float, ...] = (0.5, 0.3, 0.2), bias: float = 0.0
) -> tuple[Any, Any]:
    """Posteriors of points around the means of three classes under a prior, right but for a bias and a slope that ``bias`` moves, and classes."""
    random = np.random.default_rng(seed)
    classes = np.repeat(np.arange(3), counts)
    points = MEANS[classes] + random.standard_normal((len(classes), 2))
    log_likelihood = -((points[:, np.newaxis] - MEANS) ** 2).sum(axis=2) / 2
    posterior = normalised(log_likelihood + np.log(prior))
    return normalised((1 + bias) * posterior + bias * np.array([1.0, -1.0, 0.0])), classes


def make_held_out(n: int, seed: int = 1, bias: float = 0.0) -> HeldOutPosteriors:
    return make_class_posteriors(
        *draw_posteriors([5 * n // 10, 3 * n // 10, 2 * n // 10], seed, bias=bias)
    )


def make_class_posteriors(posterior: Any, classes: Any) -> HeldOutPosteriors:
    truth = DocumentLabels(classes, single_label_table(posterior.shape[1]))
    return HeldOutPosteriors.from_posterior(ClassPosterior(posterior), truth, np.ones(len(classes)))


def test_em_proportions_match_an_optimiser() -> None:
    likelihood = np.exp(draw_posteriors([40, 10, 50], 3)[0] - np.log((0.5, 0.3, 0.2)))

    def loss(free: Any) -> float:
        shares = np.exp(np.append(free, 0.0))
        return -float(np.log(likelihood @ (shares / shares.sum())).sum())

    free = np.exp(np.append(minimize(loss, np.zeros(2), tol=1e-12).x, 0.0))
    assert fit_proportions(likelihood) == pytest.approx(free / free.sum(), abs=1e-4)


def test_em_with_many_classes_drops_impossible_ones_with_the_same_result(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """No shares are more likely by more than n (max_k g_k / n − 1), g the gradient of the concave log-likelihood; that of dropped classes counts too."""
    random, shapes, n_documents, n_classes = (
        np.random.default_rng(5),
        list[tuple[int, ...]](),
        30,
        20 * module.MAX_CORRECTED_CLASSES,
    )

    class Watched(np.ndarray[Any, Any]):
        def __matmul__(self, other: Any) -> Any:
            shapes.append(self.shape)
            return np.asarray(self) @ np.asarray(other)

    likelihood = np.exp(12 * np.minimum(random.standard_normal((n_documents, n_classes)) - 3, 0))
    found = fit_proportions(likelihood.view(Watched))
    assert sum(map(np.prod, shapes)) < len(shapes) * likelihood.size / 5
    gradient = likelihood.T @ (1 / (likelihood @ found)) / n_documents
    assert gradient.max() < 1.01
    monkeypatch.setattr(module, "MIN_PROPORTION", 0.0)
    assert found == pytest.approx(fit_proportions(likelihood), abs=1e-12)


def test_draws_with_many_classes_sum_few_probabilities_with_the_same_intervals(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    random, added, chosen = np.random.default_rng(7), list[int](), module._draw_indices
    classes = random.integers(0, 8, 60)
    posterior = normalised(
        np.pad(6.0 * np.eye(8)[classes], [(0, 0), (0, 1017)])
        + random.standard_normal((60, 1025))
        - 4 * (np.arange(1025) > 7)
    )
    likelihoods, names = (
        ClassLikelihoods.from_prior(np.full(1025, 1 / 1025)),
        [str(number) for number in range(1025)],
    )

    def counted(weights: Any, generator: Any) -> Any:
        added.append(weights.size)
        return chosen(weights, generator)

    def ends(most_classes: int) -> Any:
        added.clear()
        monkeypatch.setattr(module, "MAX_CORRECTED_CLASSES", most_classes)
        found = estimate_class_proportions(posterior, names, likelihoods).prevalence.values()
        return np.array([(share.low, share.high) for share in found])

    monkeypatch.setattr(module, "_draw_indices", counted)
    all_at_once, every = ends(1025), sum(added)
    in_runs, few = ends(32), sum(added)
    assert every == module.N_DRAWS * module.MIN_SWEEPS * posterior.size
    assert few < every / 10
    assert np.abs(in_runs - all_at_once).max() < 0.04
    assert np.abs(in_runs[:8].mean(axis=0) - all_at_once[:8].mean(axis=0)).max() < 0.01
    assert in_runs[:8, 1].min() > 5 * in_runs[8:, 1].mean()


def test_slopes_and_offsets_match_an_optimiser() -> None:
    documents = make_held_out(400, bias=0.6)
    truth = np.arange(len(documents.truth)), documents.truth.indices

    def loss(scaling: Any) -> float:
        slopes, offsets = scaling.reshape(2, 3)
        common, own, offset = (
            module.COMMON_SLOPE_STD**2,
            module.CLASS_SLOPE_STD**2,
            module.CLASS_OFFSET_STD**2,
        )
        of_slopes = (slopes - 1) @ np.linalg.inv(common + own * np.eye(3)) @ (slopes - 1)
        return float(
            (of_slopes + offsets @ offsets / offset) / 2
            - normalised(slopes * documents.log_posterior + offsets)[truth].sum()
        )

    found = fitted(documents)
    best = minimize(loss, np.array([1.0] * 3 + [0] * 3), tol=1e-10)
    assert loss(found.ravel()) == pytest.approx(best.fun, abs=1e-4)
    assert found.ravel() == pytest.approx(best.x, abs=0.01)


def fitted(documents: HeldOutPosteriors) -> Any:
    """Slopes and offsets before the division by the shares of classes, which are those of training, shape (2, 3)."""
    scaling = ClassLikelihoods.fit(documents).scaling
    slopes, offsets = scaling
    shares, n_documents = np.full(3, 1 / 3), len(documents.truth)
    for _ in range(2000):
        of_documents = np.exp(
            normalised(slopes * documents.log_posterior + offsets + np.log(shares))
        )
        shares = (of_documents.sum(axis=0) + module.PSEUDO_DOCUMENTS) / (
            n_documents + 3 * module.PSEUDO_DOCUMENTS
        )
    return np.stack((slopes, offsets + np.log(shares)))


def test_draws_vary_like_refits_to_resampled_documents(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "DRAW_WIDENING", 1.0)
    monkeypatch.setattr(module, "MISFIT_STD", 0.0)
    documents, random = make_held_out(500), np.random.default_rng(3)
    refitted = []
    for _ in range(30):
        rows = random.integers(0, 500, 500)
        refitted.append(
            ClassLikelihoods.fit(
                make_class_posteriors(documents.log_posterior[rows], documents.truth.indices[rows])
            ).scaling
        )
    draws = ClassLikelihoods.fit(documents).scaling_draws

    def spread_of(scalings: Any) -> Any:  # what all offsets have in common changes nothing
        return np.std(
            scalings - scalings.mean(axis=2, keepdims=True) * np.array([[0], [1]]), axis=0
        )

    spread, wanted = spread_of(draws), spread_of(np.array(refitted))
    assert np.all((spread > 0.6 * wanted) & (spread < 1.6 * wanted))


def test_class_with_one_document_gets_a_similar_slope_and_no_proportion() -> None:
    """The models without that document do not know its class."""
    documents = make_held_out(400)
    posterior, classes = (
        np.hstack((documents.log_posterior, np.full((400, 1), -6.0))),
        documents.truth.indices.copy(),
    )
    classes[7], posterior[7, 3] = 3, -np.inf
    likelihoods = ClassLikelihoods.fit(make_class_posteriors(posterior, classes))
    slopes = likelihoods.scaling[0]
    assert slopes[3] == pytest.approx(slopes[:3].mean(), abs=0.3)
    found = estimate_class_proportions(posterior[::2], [*NAMES, "d"], likelihoods).prevalence
    assert found["d"].proportion < 0.02
    without = estimate_class_proportions(
        posterior[::2, :3], NAMES, ClassLikelihoods.fit(documents)
    ).prevalence
    assert [found[name].proportion for name in NAMES] == pytest.approx(
        [without[name].proportion for name in NAMES], abs=0.02
    )


def test_intervals_cover_the_truth_with_few_held_out_documents() -> None:
    random, held = np.random.default_rng(6), []
    for seed in range(25):
        bias = float(random.uniform(-0.5, 0.8))
        likelihoods = ClassLikelihoods.fit(make_held_out(40, seed, bias))
        counts = random.multinomial(200, random.dirichlet(np.ones(3)))
        found = estimate_class_proportions(
            draw_posteriors(counts.tolist(), 100 + seed, bias=bias)[0], NAMES, likelihoods
        ).prevalence.values()
        held += [
            each.low - 1e-9 <= count / 200 <= each.high + 1e-9
            for count, each in zip(counts, found, strict=True)
        ]
    assert np.mean(held) >= 0.93


@pytest.mark.parametrize("bias", [0.0, 0.7])
def test_intervals_cover_the_truth_and_estimates_beat_counting(
    bias: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Slopes and offsets describe these posteriors exactly, so nothing is added for what they leave."""
    monkeypatch.setattr(module, "DRAW_WIDENING", 1.0)
    monkeypatch.setattr(module, "MISFIT_STD", 0.0)
    likelihoods = ClassLikelihoods.fit(make_held_out(2000, bias=bias))
    uncorrected = ClassLikelihoods.from_prior(np.array((0.5, 0.3, 0.2)))
    held, errors = [], []
    random = np.random.default_rng(5)
    for seed in range(60):
        counts = random.multinomial(200, random.dirichlet(np.ones(3)))
        posterior = draw_posteriors(counts.tolist(), 100 + seed, bias=bias)[0]
        found = estimate_class_proportions(posterior, NAMES, likelihoods)
        raw = fit_proportions(uncorrected.compute_likelihoods(posterior))
        for k, each in enumerate(found.prevalence.values()):
            truth = counts[k] / 200
            assert 0 <= each.low <= each.proportion <= each.high <= 1
            held.append(each.low - 1e-9 <= truth <= each.high + 1e-9)
            errors.append(
                (abs(each.proportion - truth), abs(raw[k] - truth), abs(each.counted - truth))
            )
    ours, without, counting = np.mean(errors, axis=0)
    assert 0.9 <= np.mean(held) <= 0.99
    assert ours < 0.75 * counting
    assert ours < (1.1 if bias == 0 else 0.9) * without


def test_one_class_or_one_document_has_valid_proportions() -> None:
    only = estimate_class_proportions(
        np.zeros((3, 1)), ["all"], ClassLikelihoods.from_prior(np.ones(1))
    )
    assert only.prevalence["all"] == (1.0, 1.0, 1.0, 1.0)
    one = estimate_class_proportions(
        draw_posteriors([1, 0, 0], 2)[0], NAMES, ClassLikelihoods.fit(make_held_out(50))
    )
    assert sum(each.proportion for each in one.prevalence.values()) == pytest.approx(1)
    assert one.prevalence["a"].high == 1


def test_class_without_held_out_documents_or_impossible_has_finite_proportions() -> None:
    documents = make_held_out(200)
    posterior = np.hstack((documents.log_posterior, np.full((200, 1), -np.inf)))
    likelihoods = ClassLikelihoods.fit(make_class_posteriors(posterior, documents.truth.indices))
    found = estimate_class_proportions(posterior[::4], [*NAMES, "d"], likelihoods)
    assert all(np.isfinite(each) for share in found.prevalence.values() for each in share)
    assert found.prevalence["d"].proportion < 1e-3


def test_draws_in_blocks_give_the_same_intervals(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    posterior, likelihoods = (
        draw_posteriors([30, 30, 40], 4)[0],
        ClassLikelihoods.fit(make_held_out(500)),
    )
    whole = estimate_class_proportions(posterior, NAMES, likelihoods)
    monkeypatch.setattr(module, "MAX_SCORES_AT_ONCE", 900)
    parts = estimate_class_proportions(posterior, NAMES, likelihoods)
    for mine, theirs in zip(whole.prevalence.values(), parts.prevalence.values(), strict=True):
        assert mine.proportion == pytest.approx(theirs.proportion, abs=0.02)
        assert (mine.low, mine.high) == pytest.approx(
            (theirs.low, theirs.high), abs=0.04
        )  # by other random numbers


TEXTS = ["sofa cat", "cat purr", "dog bark", "dog bone bark", "cat dog"] * 8
LABELS = ["cats", "cats", "dogs", "dogs", "cats"] * 8


def test_posteriors_with_the_estimated_prior_are_the_corrected_ones() -> None:
    model = TextClassifier().fit(TEXTS, LABELS)
    likelihoods = fit_proportion_estimator(model)
    assert isinstance(likelihoods, ClassLikelihoods)
    documents = [
        Document(str(place), None, text.encode()) for place, text in enumerate([*TEXTS, ""])
    ]
    shares = estimate_prevalence(
        score_documents(model.fitted, documents), model.classes, likelihoods
    ).all
    assert shares.documents == len(TEXTS) + 1
    training = shares._replace(
        documents=10**9,
        prevalence={
            "cats": shares.prevalence["cats"]._replace(proportion=0.7),
            "dogs": shares.prevalence["dogs"]._replace(proportion=0.3),
        },
    )
    [before], [after] = (
        list(score_documents(model.fitted, documents)),
        list(replace_prior(score_documents(model.fitted, documents), training, likelihoods)),
    )
    corrected = normalised(
        likelihoods.scaling[0] * before.log_posterior + likelihoods.scaling[1] + np.log((0.7, 0.3))
    )
    assert after.log_posterior == pytest.approx(corrected, abs=1e-6)
    assert np.exp(after.log_posterior).sum(axis=1) == pytest.approx(1)


def test_impossible_documents_are_excluded_and_get_no_prediction() -> None:
    model = TextClassifier(estimate="ml").fit(TEXTS, LABELS)
    likelihoods = ClassLikelihoods.from_prior(model.fitted.classifier.prior)
    documents = [Document("1", None, b"sofa"), Document("2", None, b"purr bone")]
    result = estimate_prevalence(
        score_documents(model.fitted, documents), model.classes, likelihoods
    )
    assert (result.impossible, result.all.documents, result.groups) == (1, 1, {})
    [block] = replace_prior(score_documents(model.fitted, documents), result.all, likelihoods)
    assert np.isnan(block.log_posterior).all(axis=1).tolist() == [False, True]
    with pytest.raises(UsageError, match="no readable documents with a prediction"):
        estimate_prevalence(
            score_documents(model.fitted, documents[1:]), model.classes, likelihoods
        )


def test_too_many_classes_for_the_sample_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_CORRECTED_CLASSES", 1)
    with pytest.raises(UsageError, match="more than 1 classes"):
        fit_proportion_estimator(TextClassifier().fit(TEXTS, LABELS))


def test_too_few_labelled_documents_are_refused() -> None:
    require_labelled_documents(TextClassifier().fit(TEXTS * 2, LABELS * 2))
    with pytest.raises(
        UsageError,
        match="2 classes need at least 50 labelled documents, and the model has 40; label more",
    ):
        require_labelled_documents(TextClassifier().fit(TEXTS, LABELS))


def test_many_rare_classes_are_refused() -> None:
    """Of 8 classes 2 may be rare."""
    others = [f"class{number}" for number in range(6) for _ in range(3)]
    labels = ["many"] * 200 + others
    require_labelled_documents(
        TextClassifier().fit([f"{label} word" for label in [*labels, "rare"]], [*labels, "rare"])
    )
    labels = [*labels[:-4], "rare"]
    message = "7 classes need at least 3 labelled documents of all but 1 of them, and 2 have fewer; label more of 1 of these"
    with pytest.raises(UsageError, match=message):
        require_labelled_documents(
            TextClassifier().fit(
                [f"{label} word" for label in [*labels, "other"]], [*labels, "rare"]
            )
        )


def test_intervals_stay_wide_with_many_held_out_documents() -> None:
    """Slope and offset do not describe a class exactly, so more documents left out do not make them exact."""
    draws = ClassLikelihoods.fit(make_held_out(50_000)).scaling_draws[:, 1]
    assert np.all(np.std(draws - draws.mean(axis=1, keepdims=True), axis=0) > 0.15)


def two_classes(n: int, seed: int, apart: float, share: float = 0.5) -> tuple[Any, Any]:
    """Posteriors for equal shares of points around two means, and classes."""
    random = np.random.default_rng(seed)
    classes = (random.random(n) > share).astype(np.int64)
    points = random.standard_normal(n) + apart * classes
    odds = apart * (points - apart / 2)
    return normalised(np.stack((-odds / 2, odds / 2), axis=1)), classes


@pytest.mark.parametrize("n", [50, 200])
def test_intervals_of_similar_classes_cover_the_truth(n: int) -> None:
    """Most likely are shares of 0 or 1, and the draws do not stay where they begin."""
    held = []
    for seed in range(25):
        documents = make_class_posteriors(*two_classes(n, 100 + seed, 0.4))
        share = 0.1 + 0.8 * seed / 24
        posterior, classes = two_classes(400, seed, 0.4, share)
        found = estimate_class_proportions(
            posterior, ["a", "b"], ClassLikelihoods.fit(documents)
        ).prevalence["a"]
        assert 0.02 < found.proportion < 0.98
        held.append(found.low <= np.mean(classes == 0) <= found.high)
    assert np.mean(held) >= 0.92


@pytest.mark.parametrize("apart", [0.6, 1.0, 2.0])
def test_number_of_sweeps_makes_the_start_negligible(apart: float) -> None:
    """Slow twin: the part of a small move of the shares that one step of EM leaves."""
    likelihood = np.exp(two_classes(4000, 1, apart)[0])

    def step(share: float) -> float:
        return float((share * likelihood[:, 0] / (likelihood @ (share, 1 - share))).mean())

    kept = (step(0.501) - step(0.499)) / 0.002
    assert kept ** count_sweeps(likelihood[:1000]) < module.MAX_START_WEIGHT * 1.5
    assert count_sweeps(likelihood[:1000]) in (
        module.MIN_SWEEPS,
        pytest.approx(np.log(module.MAX_START_WEIGHT) / np.log(kept), rel=0.3, abs=1),
    )


def test_slopes_are_never_negative() -> None:
    posterior, classes = two_classes(100, 3, 1.0)
    scaling = ClassLikelihoods.fit(make_class_posteriors(posterior, 1 - classes)).scaling
    assert scaling[0].min() >= module.MIN_SLOPE

"""Sets of classes against the definition of split conformal prediction, and their coverage on documents drawn alike."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtext.errors import UsageError
from nbtext.guarantees.prediction_sets import SetTally, count_needed_held_out, fit_set_rule
from nbtext.prediction.calibration import HeldOutPosteriors
from nbtext.prediction.labels import DocumentLabels, make_label_set, single_label_table
from nbtext.prediction.posterior import ClassPosterior, LabelPosterior, normalize_log_joint
from tests.profiles import examples

if TYPE_CHECKING:
    from numpy.typing import NDArray

CLASSES = ("a", "b", "c")


def draw_posteriors(
    n: int, seed: int = 0, weights: NDArray[np.float64] | None = None
) -> HeldOutPosteriors:
    """Posteriors of documents whose classes are drawn from them."""
    draw = np.random.default_rng(seed)
    found = normalize_log_joint(draw.normal(0, 2, (n, 3)))
    truth = (np.exp(found).cumsum(axis=1) < draw.uniform(size=(n, 1))).sum(axis=1)
    labels = DocumentLabels(np.minimum(truth, 2), single_label_table(3))
    return HeldOutPosteriors(
        ClassPosterior(found), labels, np.ones(n) if weights is None else weights
    )


def select_rows(posteriors: HeldOutPosteriors, rows: Any) -> HeldOutPosteriors:
    return HeldOutPosteriors(
        posteriors.posterior[rows], posteriors.truth[rows], posteriors.weights[rows]
    )


def truth_log_probabilities(posteriors: HeldOutPosteriors) -> list[float]:
    return sorted(
        posteriors.log_posterior[
            np.arange(len(posteriors.truth)), posteriors.truth.indices
        ].tolist()
    )


def test_threshold_is_the_finite_sample_quantile() -> None:
    posteriors = draw_posteriors(99)
    for coverage, place in ((0.95, 5), (0.9, 10), (0.5, 50)):  # ⌊(n + 1)(1 − coverage)⌋
        assert (
            fit_set_rule(posteriors, CLASSES, coverage).min_log_posteriors
            == (truth_log_probabilities(posteriors)[place - 1],) * 3
        )


@pytest.mark.parametrize(("coverage", "n"), [(0.95, 19), (0.9, 9), (0.5, 1), (0.99, 99), (0.3, 1)])
def test_minimum_number_of_documents_has_a_threshold_and_one_fewer_has_none(
    coverage: float, n: int
) -> None:
    assert count_needed_held_out(coverage) == n
    assert min(fit_set_rule(draw_posteriors(n), CLASSES, coverage).min_log_posteriors) > -np.inf
    with pytest.raises(UsageError, match=f"needs at least {n} held-out document"):
        fit_set_rule(draw_posteriors(n - 1), CLASSES, coverage)


def test_leave_one_out_coverage_is_at_least_the_guaranteed_one() -> None:
    """Each of n + 1 documents in turn is the new one: at least the coverage is in its set, and less than 1 / (n + 1) more."""
    everything, coverage = draw_posteriors(40), 0.8
    held = 0
    for row in range(40):
        members = fit_set_rule(
            select_rows(everything, np.arange(40) != row), CLASSES, coverage
        ).predict_mask(everything.log_posterior[row : row + 1])
        held += bool(members[0, everything.truth.indices[row]])
    assert coverage <= held / 40 < coverage + 1 / 40 + 1e-9


def test_sets_on_new_documents_have_the_guaranteed_coverage() -> None:
    shares = []
    for seed, by_class in itertools.product(range(20), (False, True)):
        rule, fresh = (
            fit_set_rule(draw_posteriors(1000, seed), CLASSES, 0.9, by_class=by_class),
            draw_posteriors(2000, seed + 100),
        )
        tally = SetTally(rule, CLASSES)
        tally.add(fresh.log_posterior, [CLASSES[k] for k in fresh.truth.indices])
        result = tally.result()
        shares.append(
            [group.coverage for group in result.per_class.values()]
            if by_class
            else [result.coverage]
        )
    assert np.mean([share for [share] in shares[::2]]) == pytest.approx(0.9, abs=0.006)
    assert np.mean(shares[1::2], axis=0) == pytest.approx([0.9] * 3, abs=0.012)


@examples(30)
@given(st.integers(1, 60), st.floats(0.05, 0.99), st.integers(0, 100))
def test_threshold_with_weights_is_not_above_that_of_repeated_documents(
    n: int, coverage: float, seed: int
) -> None:
    weights = np.random.default_rng(seed).integers(1, 4, n)
    weighed, rows = (
        draw_posteriors(n, seed, weights.astype(np.float64)),
        np.repeat(np.arange(n), weights),
    )
    repeated = select_rows(weighed, rows)._replace(weights=np.ones(rows.size))
    of_weighed, of_repeated = (
        fit_set_rule(each, CLASSES, coverage, by_class=True).min_log_posteriors
        for each in (weighed, repeated)
    )
    assert all(first <= second for first, second in zip(of_weighed, of_repeated, strict=True))


def test_class_with_too_few_documents_is_in_every_set() -> None:
    posteriors = draw_posteriors(200)
    kept = (posteriors.truth.indices < 2) | (np.arange(200) < 20)
    rule = fit_set_rule(select_rows(posteriors, kept), CLASSES, 0.95, by_class=True)
    assert rule.unconditional_classes == ("c",)
    assert rule.predict_mask(np.log([[0.98, 0.01, 0.01]])).tolist() == [[True, False, True]]


def test_set_metrics_are_reported_by_class_and_size() -> None:
    rule = fit_set_rule(draw_posteriors(99), CLASSES, 0.9)
    bound = float(np.exp(rule.min_log_posteriors[0]))
    probabilities = [
        [1 - bound * 0.2, bound * 0.1, bound * 0.1],
        [1 / 3, 1 / 3, 1 / 3],
        [0.5, 0.5 - bound * 0.1, bound * 0.1],
    ]
    tally = SetTally(rule, CLASSES)
    tally.add(np.log(probabilities[:2]), ["a", "b"])
    tally.add(np.log(probabilities[2:]), ["strange"])
    result = tally.result()
    assert (result.n, result.coverage, result.size, result.empty, result.full) == (
        3,
        2 / 3,
        2,
        0,
        1,
    )
    assert {size: (group.n, group.coverage) for size, group in result.per_size.items()} == {
        "1": (1, 1),
        "2": (1, 0),
        "3": (1, 1),
    }
    assert set(result.per_class) == {"a", "b"}
    assert result.size_interval[0] <= result.size <= result.size_interval[1]


def draw_label_posteriors(n: int, seed: int) -> HeldOutPosteriors:
    """Posteriors of documents whose labels are drawn from them, some none; a label brings others, so that those of a document are not independent."""
    draw = np.random.default_rng(seed)
    p = 1 / (1 + np.exp(-draw.normal(-1.5, 2, (n, 4)) - draw.normal(0, 1, (n, 1))))
    return HeldOutPosteriors(
        LabelPosterior(np.log(p)),
        DocumentLabels.from_mask(draw.uniform(size=p.shape) < p),
        np.ones(n),
    )


@pytest.mark.parametrize("by_class", [False, True])
def test_label_sets_have_the_guaranteed_coverage(*, by_class: bool) -> None:
    shares = []
    for seed in range(20):
        rule, fresh = (
            fit_set_rule(
                draw_label_posteriors(1000, seed), [*CLASSES, "d"], 0.9, by_class=by_class
            ),
            draw_label_posteriors(2000, seed + 100),
        )
        truth, members = fresh.truth.to_mask(4), rule.predict_mask(fresh.log_posterior)
        of_documents = ((members & truth).sum(axis=1) / np.maximum(truth.sum(axis=1), 1))[
            truth.any(axis=1)
        ]
        shares.append(
            (members & truth).sum(axis=0) / truth.sum(axis=0) if by_class else of_documents.mean()
        )
        tally = SetTally(rule, [*CLASSES, "d"])
        tally.add(
            fresh.log_posterior,
            [make_label_set(np.array([*CLASSES, "d"])[own].tolist()) for own in truth],
        )
        result = tally.result()
        assert result.n == of_documents.size
        assert result.coverage == pytest.approx(of_documents.mean())
        assert [result.per_class[label].coverage for label in result.per_class] == pytest.approx(
            (members & truth).sum(axis=0) / truth.sum(axis=0)
        )
    assert np.mean(shares, axis=0) == pytest.approx(0.9, abs=0.01)


def test_documents_without_labels_do_not_change_the_sets() -> None:
    documents = draw_label_posteriors(500, 1)
    has_labels = documents.truth.count_labels() > 0
    assert not has_labels.all()
    labelled = select_rows(documents, has_labels)
    assert fit_set_rule(documents, [*CLASSES, "d"], 0.9) == fit_set_rule(
        labelled, [*CLASSES, "d"], 0.9
    )
    tally = SetTally(fit_set_rule(labelled, [*CLASSES, "d"], 0.9), [*CLASSES, "d"])
    tally.add(
        documents.log_posterior[~has_labels], [make_label_set([])] * np.count_nonzero(~has_labels)
    )
    assert tally.result().n == 0

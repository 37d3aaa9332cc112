"""Tests of a threshold for each label."""

import numpy as np
import pytest

from nbtext.calibration import LeftOutPosteriors
from nbtext.promises.label_thresholds import label_thresholds


def test_a_threshold_is_half_of_the_best_expected_f1() -> None:
    p = np.random.default_rng(3).beta(0.3, 1, (40, 3))
    found = label_thresholds(LeftOutPosteriors(np.log(p), np.zeros((40, 3), np.bool_), np.ones(40)))
    for column, threshold in zip(p.T, found, strict=True):
        given = [2 * column[column >= each].sum() / ((column >= each).sum() + column.sum()) for each in column]
        assert threshold == pytest.approx(max(given) / 2)


def test_a_sure_label_is_given_where_it_is_sure() -> None:
    p = np.array([[1.0], [1.0], [1e-9]])
    [found] = label_thresholds(LeftOutPosteriors(np.log(p), p > 0.5, np.ones(3)))
    assert found == pytest.approx(0.5)

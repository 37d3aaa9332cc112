"""scikit-learn's `check_estimator` (sklearn/utils/estimator_checks.py): on `TextClassifier` itself, and on it behind rows of numbers.

Almost all of those checks fit an array of numbers. `TextClassifier` takes texts, so `check_estimator` would skip it; here it says that it takes
arrays, and what then fails is listed with the reason. The same checks must all pass where rows of numbers reach it as numeric attributes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.estimator_checks import check_estimator
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from nbtext import TextClassifier

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray
    from sklearn.utils import Tags

NUMBERS = "it fits an array of numbers, which are no texts; as attributes they pass"
NOT_APPLICABLE = {
    "check_no_attributes_set_in_init": "parameters are in one object, each checked where it is given",
    "check_do_not_raise_errors_in_init_or_set_params": "a wrong value is an error at once",
    "check_estimators_partial_fit_n_features": "partial_fit takes no classes: a new one may come with any document",
    "check_classifiers_one_label": "it fits numbers; of texts one class alone is learnt, with a warning",
    "check_requires_y_none": "labels of None are a TypeError, not a ValueError",
    "check_classifiers_regression_target": "numbers are labels, whole or not",
    "check_class_weight_classifiers": "class_weight is None or balanced; weights by class are class_prior and sample_weight",
    "check_set_params": "values are kept in one form: stop_words=None is none",
    **dict.fromkeys(
        (
            "check_sample_weights_not_an_array",
            "check_sample_weights_list",
            "check_sample_weights_pandas_series",
            "check_all_zero_sample_weights_error",
            "check_sample_weights_shape",
            "check_sample_weights_not_overwritten",
            "check_sample_weight_equivalence_on_dense_data",
            "check_classifiers_one_label_sample_weights",
        ),
        "it fits an array of numbers, with weights; numbers as attributes take no weights",
    ),
    **dict.fromkeys(
        (
            "check_fit_score_takes_y",
            "check_estimators_overwrite_params",
            "check_dont_overwrite_parameters",
            "check_estimators_fit_returns_self",
            "check_readonly_memmap_input",
            "check_n_features_in_after_fitting",
            "check_positive_only_tag_during_fit",
            "check_estimators_dtypes",
            "check_complex_data",
            "check_dtype_object",
            "check_estimators_empty_data_messages",
            "check_pipeline_consistency",
            "check_estimators_nan_inf",
            "check_estimator_sparse_tag",
            "check_estimator_sparse_array",
            "check_estimator_sparse_matrix",
            "check_estimators_pickle",
            "check_f_contiguous_array_estimator",
            "check_classifier_data_not_an_array",
            "check_classifiers_classes",
            "check_classifiers_train",
            "check_supervised_y_2d",
            "check_methods_sample_order_invariance",
            "check_methods_subset_invariance",
            "check_fit2d_1sample",
            "check_fit2d_1feature",
            "check_dict_unchanged",
            "check_fit_idempotent",
            "check_fit_check_is_fitted",
            "check_n_features_in",
            "check_fit2d_predict1d",
        ),
        NUMBERS,
    ),
    **dict.fromkeys(
        (
            "check_classifiers_multilabel_output_format_decision_function",
            "check_classifiers_multilabel_output_format_predict",
            "check_classifiers_multilabel_output_format_predict_proba",
            "check_classifiers_multilabel_representation_invariance",
        ),
        "it fits an array of numbers; matrices of labels go with texts",
    ),
}


class SaysItTakesArrays(TextClassifier):
    """`TextClassifier`, for which `check_estimator` runs all its checks."""

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = True
        return tags


class OfRows(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """A classifier of rows of numbers: Gaussian naive Bayes, which they reach as numeric attributes of documents without text."""

    def __init__(self, smoothing: float | str = "auto") -> None:
        self.smoothing = smoothing

    def fit(self, X: ArrayLike, y: ArrayLike) -> OfRows:  # noqa: N803 - scikit-learn's name
        rows, labels = validate_data(self, X, y)
        check_classification_targets(labels)
        self.model_ = TextClassifier(
            numeric=[f"c{column}" for column in range(rows.shape[1])], smoothing=self.smoothing
        )
        self.classes_ = self.model_.fit(documents(rows), labels).classes_
        return self

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:  # noqa: N803
        check_is_fitted(self)
        return self.model_.predict_proba(documents(validate_data(self, X, reset=False)))

    def predict(self, X: ArrayLike) -> NDArray[Any]:  # noqa: N803
        check_is_fitted(self)
        return self.model_.predict(documents(validate_data(self, X, reset=False)))


def documents(rows: NDArray[Any]) -> list[dict[str, object]]:
    return [{f"c{column}": value for column, value in enumerate(row)} for row in rows.tolist()]


def names(results: list[dict[str, Any]], status: str) -> set[str]:
    return {result["check_name"] for result in results if result["status"] == status}


@pytest.mark.filterwarnings("ignore::Warning")  # the checks try what warns
def test_every_estimator_check_of_text_classifier_passes_or_is_listed() -> None:
    results = check_estimator(
        SaysItTakesArrays(), expected_failed_checks=NOT_APPLICABLE, on_skip=None, on_fail=None
    )
    assert names(results, "failed") == set()
    assert names(results, "passed") & set(NOT_APPLICABLE) == set()
    assert len(names(results, "passed")) > 10


@pytest.mark.filterwarnings("ignore::Warning")
def test_every_estimator_check_passes_with_numeric_attributes() -> None:
    results = check_estimator(OfRows(), on_skip=None, on_fail=None)
    assert [
        (result["check_name"], result["exception"])
        for result in results
        if result["status"] == "failed"
    ] == []
    assert names(results, "passed") > {
        check for check, reason in NOT_APPLICABLE.items() if reason == NUMBERS
    } - names(results, "skipped")

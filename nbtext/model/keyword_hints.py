"""Hints for keyword arguments that a method of `TextClassifier` does not have."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from nbtext.errors import did_you_mean
from nbtext.settings import replace_old_names

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

P = ParamSpec("P")
Result = TypeVar("Result")

PARAMETERS_BY_FOREIGN_NAME = {
    "C": "l2",
    "alpha": "smoothing",
    "analyzer": "char_ngrams",
    "binary": "weighting",
    "class_priors": "class_prior",
    "estimator": "classifier",
    "features": "top",
    "fit_prior": "class_prior",
    "k": "top_k",
    "max_features": "top",
    "min_proba": "min_probability",
    "model": "classifier",
    "n_components": "latent",
    "ngram_range": "ngrams",
    "norm": "weighting",
    "prior": "class_prior",
    "priors": "class_prior",
    "reject": "min_probability",
    "sublinear_tf": "weighting",
    "threshold": "min_probability",
    "use_idf": "weighting",
    "var_smoothing": "shrinkage",
    "weights": "class_weight",
}
"""Parameters of nbtext by the names that scikit-learn and other packages use."""

OWN_ARGUMENTS = {
    "costs": "pass DecisionRule(costs=...) to predict_records",
    "min_probability": "it is an argument of predict_records",
    "min_typicality": "it is an argument of predict_records",
    "sample_weight": "it is an argument of fit",
    "top_k": "it is an argument of predict_records",
}
"""The function that takes an argument of nbtext, by name."""


def hint_keywords(function: Callable[P, Result]) -> Callable[P, Result]:
    """Return a function whose `TypeError` for an unknown keyword argument names the right one.

    The function also takes keyword arguments with old names.
    """
    code = function.__code__
    n_names = code.co_argcount + code.co_kwonlyargcount
    names = code.co_varnames[1:n_names]  # without self

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> Result:
        arguments: dict[str, Any] = kwargs
        if not arguments.keys() <= set(names):
            arguments = replace_old_names(arguments)
        for name in arguments:
            if name not in names:
                raise TypeError(
                    f"{function.__qualname__}() got an unexpected keyword argument "
                    f"{name!r}{describe_alternative(name, names)}"
                )
        return function(*args, **arguments)

    return call


def describe_alternative(name: str, names: Sequence[str]) -> str:
    """Return a hint at the right name for an unknown name, or "" if nothing is similar.

    >>> describe_alternative("alpha", ["smoothing", "top"])
    '; use smoothing'
    """
    parameter = PARAMETERS_BY_FOREIGN_NAME.get(name, name)
    if parameter in names:
        return f"; use {parameter}"
    if parameter in OWN_ARGUMENTS:
        start = "" if parameter == name else f"{parameter}: "
        return f"; {start}{OWN_ARGUMENTS[parameter]}"
    return did_you_mean(name, names)

"""What was learnt on top of the counts as settings and arrays of a model file, and back. What comes from a file is checked for meaning."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from nbtext import typicality
from nbtext.calibration import Calibration
from nbtext.model.estimation import Learnt, is_possible_smoothing
from nbtext.model.plain import MOST, narrow, require, whole
from nbtext.typicality import BANDS, LEVELS, Profile, Spread, Typicality

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

LEARNT_ARRAYS = frozenset({"selected", "curve_places", "curve_shares", "typicality", "answers"})

LEARNT_SETTINGS = frozenset({"smoothing", "temperature", "calibration", "profile"})

FITTED = "fitted_"
"""What the names of a classifier's own arrays begin with."""

FIGURES = {"log_loss": sys.float_info.max, "brier": 2.0, "ece": 1.0}
"""What a calibration is judged by, and the largest value of each."""


def learnt_to_plain(learnt: Learnt) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Settings and arrays."""
    calibration = learnt.calibration
    settings: dict[str, Any] = {
        "smoothing": learnt.smoothing,
        "temperature": {"scale": calibration.scale, "exponent": calibration.exponent},
        "calibration": learnt.judgement,
        "profile": None if learnt.profile is None else {name: list(spread) for name, spread in learnt.profile.figures.items()},
    }
    arrays: dict[str, NDArray[Any]] = {
        "selected": np.empty(0, np.uint8) if learnt.selected.all() else learnt.selected.view(np.uint8),
        "curve_places": calibration.curve[0],
        "curve_shares": calibration.curve[1],
        **{FITTED + name: array for name, array in learnt.fitted.items()},
        "typicality": np.empty(0) if learnt.typicality is None else learnt.typicality.quantiles.ravel(),
        "answers": np.empty(0, np.uint8) if learnt.profile is None else narrow(learnt.profile.answers),
    }
    return settings, arrays


def learnt_from_plain(
    settings: Mapping[str, Any], part: Mapping[str, NDArray[Any]], training: Mapping[str, Any], n_terms: int, n_classes: int
) -> Learnt:
    """What all of `LEARNT_SETTINGS` and `LEARNT_ARRAYS` describe; raises `ModelError` unless ``training``, the options, could have made it."""
    require(_is_number(settings["smoothing"], 0, MOST), "its smoothing is no number from 0")
    require(is_possible_smoothing(settings["smoothing"], n_terms, training), "its smoothing is not what its settings say")
    selected = np.ones(n_terms, np.bool_)
    if part["selected"].size:
        require(part["selected"].dtype.kind == "u" and part["selected"].size == n_terms, "its selection does not fit its terms")
        require(part["selected"].max() <= 1, "its selection is neither yes nor no")
        selected = part["selected"].astype(np.bool_)
    judgement = settings["calibration"]
    require(judgement is None or _is_judgement(judgement), "its calibration has no figures")
    fitted = {name.removeprefix(FITTED): array for name, array in part.items() if name.startswith(FITTED)}
    require(
        all(array.dtype.kind == "f" and bool(np.isfinite(array).all()) for array in fitted.values()), "its classifier's numbers are none"
    )
    calibration, typicality = _calibration(settings["temperature"], part), _typicality(part["typicality"])
    profile = _profile(settings["profile"], part["answers"], n_classes)
    return Learnt(selected, float(settings["smoothing"]), calibration, judgement, typicality, profile, fitted)


def _calibration(temperature: object, part: Mapping[str, NDArray[Any]]) -> Calibration:
    require(isinstance(temperature, dict) and set(temperature) == {"scale", "exponent"}, "its temperature has not scale and exponent")
    scale, exponent = temperature["scale"], temperature["exponent"]  # type: ignore[index]
    require(_is_number(scale, sys.float_info.min, sys.float_info.max) and _is_number(exponent, -MOST, MOST), "its temperature is no number")
    places, shares = part["curve_places"].astype(np.float64), part["curve_shares"].astype(np.float64)
    require(places.size == shares.size and places.size != 1, "its calibration curve has not two coordinates")
    require(bool(np.isfinite(places).all()) and bool(np.all(np.diff(places) >= 0)), "its calibration curve does not go on")
    require(bool(np.all((shares > 0) & (shares <= 1))) and bool(np.all(np.diff(shares) >= 0)), "its calibration curve does not rise")
    calibration = Calibration(float(scale), float(exponent), (places, shares))
    require(calibration.is_possible, "its temperature or curve is out of range")
    return calibration


def _typicality(array: NDArray[Any]) -> Typicality | None:
    if not array.size:
        return None
    require(array.dtype.kind == "f" and array.size == BANDS * LEVELS.size, "its likelihoods are not as many as there are quantiles")
    quantiles = array.astype(np.float64).reshape(BANDS, LEVELS.size)
    require(bool(np.all(np.abs(quantiles) < MOST)) and bool(np.all(np.diff(quantiles) >= 0)), "its likelihoods do not rise")
    return Typicality(quantiles)


def _profile(figures: object, answers: NDArray[Any], n_classes: int) -> Profile | None:
    if figures is None:
        require(not answers.size, "its answers are those of no documents")
        return None
    require(isinstance(figures, dict) and set(figures) == set(typicality.FIGURES), "its profile has other figures")
    spreads = {name: spread for name, spread in figures.items() if _is_spread(spread)}  # type: ignore[attr-defined]
    require(len(spreads) == len(typicality.FIGURES), "its profile is no spread")
    require(answers.size == n_classes, "its answers do not fit its classes")
    return Profile({name: Spread(n, float(mean), float(deviation)) for name, (n, mean, deviation) in spreads.items()}, whole(answers))


def _is_spread(value: object) -> bool:
    if not isinstance(value, list) or len(value) != 3:
        return False
    documents, mean, deviation = value
    return type(documents) is int and 0 <= documents < MOST and _is_number(mean, -MOST, MOST) and _is_number(deviation, 0, MOST)


def _is_judgement(value: object) -> bool:
    return (
        isinstance(value, dict)
        and set(value) == {"documents", "before", "after"}
        and type(value["documents"]) is int
        and 0 < value["documents"] < MOST
        and all(isinstance(side, dict) and set(side) == set(FIGURES) for side in (value["before"], value["after"]))
        and all(_is_number(side[name], 0, most) for side in (value["before"], value["after"]) for name, most in FIGURES.items())
    )


def _is_number(value: object, least: float, most: float) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and least <= value <= most

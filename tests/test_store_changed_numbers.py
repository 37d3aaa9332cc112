"""A model file in which one number was changed, with a true checksum, is refused or gives finite numbers in answer to every question."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import is_dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from nbtext import TextClassifier
from nbtext.counts.statistics import SeedTerm
from nbtext.errors import ModelError, UsageError
from nbtext.evaluation.evaluate import evaluate_documents
from nbtext.explain.explanation import Explainer
from nbtext.inspection.overview import build_overview
from nbtext.metrics.intervals import Bootstrap
from nbtext.model.python_input import iter_labelled_documents
from nbtext.model.training import compute_held_out_posteriors
from nbtext.model.unlabelled import UnlabelledDocuments
from nbtext.prediction.labels import make_label_set
from nbtext.report.explanations import _make_explanation_record
from nbtext.store import FORMAT_VERSION
from tests.fixtures.make import FOLDER
from tests.model_bytes import join_model_bytes, split_model_bytes
from tests.models import unlabelled
from tests.process import fail, succeed, write
from tests.profiles import some

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ATTRIBUTES: dict[str, Any] = {"numeric": "x,y", "count": "n", "categorical": "colour"}
MODELS: dict[str, dict[str, Any]] = {
    "attributes": ATTRIBUTES,
    "bernoulli": {"classifier": "bernoulli", "ngrams": 2, "top": 12},
    "complement": {"classifier": "complement", "weighting": "tfidf"},
    "own smoothing": {"smoothing": {"*": 1, "cat": 2}},
    "gaussian": {"classifier": "gaussian", "latent": 3, **ATTRIBUTES},
    "separate": {
        "classifier": "gaussian",
        "latent": 2,
        "covariance": "separate",
        "covariance_shape": "diagonal",
        "numeric": "x,y",
    },
    "logistic": {"classifier": "logistic", **ATTRIBUTES},
    "average": {"classifier": "average", "members": "multinomial:log+bernoulli", "ngrams": 2},
    "seeds": {"class_weight": "balanced"},
    "seeds and a pool": {"weighting": "log"},
    "several labels": {"weighting": "log"},
    "several labels, bernoulli": {"classifier": "bernoulli", "ngrams": 2},
}
SEEDS = [
    SeedTerm("a", ("sofa",), 5.0),
    SeedTerm("b", ("unheard",), 3.0),
    SeedTerm("c", ("dog",), -2.0),
]

OPTIONS = [0, 1e-300, 1e30]
PARAMETER_VALUES = [0, -1, 1e-300, 1e-13, 14.9, -1000, 1e300]
FLOATS = [0, -1, np.nan, 1e-300, 1e300, -1e29, 1e99]
WHOLE = [0, 1, 2**8 - 1, 2**15]


def corpus() -> tuple[list[dict[str, Any]], list[str]]:
    """Rows enough for likelihoods by length, in three classes."""
    draw, words = (
        np.random.default_rng(3),
        ["sofa", "cat", "purr", "dog", "bark", "bone", "sun", "rain", "wind"],
    )
    rows = []
    for number in range(60):
        of_class = words[3 * (number % 3) : 3 * (number % 3) + 3]
        rows.append(
            {
                "text": " ".join(draw.choice(of_class + words, 1 + number % 5)),
                "x": round(float(draw.normal(number % 3)), 2),
                "y": None if number % 5 == 0 else round(float(draw.normal()), 1),
                "n": int(draw.poisson(2 + number % 3)),
                "colour": str(draw.choice(["red", "green"])),
            }
        )
    return rows, ["abc"[number % 3] for number in range(60)]


ROWS, LABELS = corpus()
SETS = [
    [label, "d"] if number % 4 else ["b"] if number % 3 else []
    for number, label in enumerate(LABELS)
]
"""Of each document, where it may have several labels."""


@pytest.fixture(scope="module", params=MODELS)
def content(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("model") / "m"
    trained(request.param).save(str(path))
    return path.read_bytes()


def trained(name: str) -> TextClassifier:
    model, texts = TextClassifier(**MODELS[name]), [row["text"] for row in ROWS]
    if "seeds" in name:
        model.begin_with(SEEDS)
    model.fit(ROWS if "numeric" in MODELS[name] else texts, SETS if "several" in name else LABELS)
    if "pool" in name:
        model.learn(
            pool=UnlabelledDocuments.from_documents(
                model.analysis, unlabelled(map(str.encode, texts))
            )
        )
    return model


def numbers_in(settings: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths to all numbers of some JSON."""
    for key, value in settings.items() if isinstance(settings, dict) else enumerate(settings):
        if isinstance(value, (dict, list)):
            yield from numbers_in(value, (*path, key))
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            yield (*path, key)


def changed_settings(content: bytes) -> Iterator[tuple[str, bytes]]:
    parts = split_model_bytes(content)
    for path in numbers_in(parts.decoded["settings"]):
        for value in OPTIONS if path[0] in ("training", "reading") else PARAMETER_VALUES:
            yield f"{path} = {value}", parts.with_setting(path, value)


def changed_arrays(content: bytes) -> Iterator[tuple[str, bytes]]:
    parts = split_model_bytes(content)
    for name, place in parts.decoded["arrays"].items():
        number = place["shape"][0] // 2
        for value in FLOATS if np.dtype(place["dtype"]).kind == "f" else WHOLE:
            yield f"{name}[{number}] = {value}", parts.with_number(name, number, value)


def require_finite(value: object, what: str) -> None:
    if isinstance(value, float):
        assert math.isfinite(value), what
    elif is_dataclass(value):
        require_finite(vars(value), what)
    elif isinstance(value, (dict, list, tuple)):
        for part in value.values() if isinstance(value, dict) else value:
            require_finite(part, what)


def loading_is_refused(path: Path, what: str) -> bool:
    """Whether loading refuses a file; if not, every question gets finite numbers."""
    try:
        model = TextClassifier.load(str(path))
    except ModelError:
        return True
    rows = (ROWS if model.reading["numeric"] else [row["text"] for row in ROWS])[:20]
    several = not model.fitted.posterior_type.is_exclusive
    documents = list(
        iter_labelled_documents(
            rows, (list(map(make_label_set, SETS)) if several else LABELS)[:20], model.reading
        )
    )
    posterior = model.predict_proba(rows)
    assert np.all((posterior >= 0) & (posterior <= 1)), what
    assert several or posterior.sum(axis=1) == pytest.approx(np.ones(20)), what
    try:
        sample = model.counts.sample
    except ModelError:  # predictions did not need it
        return True
    if sample.documents:
        with suppress(UsageError):  # options may be ones that nothing can be learnt with again
            require_finite(
                np.exp(compute_held_out_posteriors(model.fitted).log_posterior).tolist(), what
            )
    require_finite(build_overview(model, 2), what)
    require_finite(evaluate_documents(model, documents).summary(Bootstrap(5)), what)
    require_finite(
        [
            _make_explanation_record(explained)
            for explained in Explainer(model.fitted).explain(documents[:2])
        ],
        what,
    )
    return False


@pytest.mark.repeated
@pytest.mark.parametrize("changed", [changed_settings, changed_arrays])
def test_one_changed_number_is_refused_or_harmless(
    tmp_path: Path, content: bytes, changed: Any
) -> None:
    refused = []
    for what, bad in some([*changed(content)], 12):
        write("m", bad)
        refused.append(loading_is_refused(tmp_path / "m", what))
    assert 0 < sum(refused) < len(refused)


OUT_OF_RANGE = "its temperature is out of range"
ATTACKS: dict[str, tuple[str, tuple[Any, ...], Any, str]] = {
    "a negative count": (
        "attributes",
        ("sample_values", 0),
        -3.0,
        "its sample has an impossible count",
    ),
    "a temperature of nan": (
        "multinomial",
        ("temperature",),
        {"scale": 1e-300, "exponent": -1000.0},
        OUT_OF_RANGE,
    ),
    "a tiny temperature": (
        "bernoulli",
        ("temperature",),
        {"scale": 1e-300, "exponent": 999.9},
        OUT_OF_RANGE,
    ),
    "seeds and a classifier without": (
        "seeds-and-fields",
        ("training", "classifier"),
        "bernoulli",
        "seeds cannot be used with classifier bernoulli",
    ),
    "seeds, a pool and no logs": (
        "nothing-labelled",
        ("training", "weighting"),
        "log",
        "its sums of log weights are missing",
    ),
}
"""Models that did harm once: the model attacked, the number or setting, what it is made, and why the file is refused."""


@pytest.mark.parametrize("attack", ATTACKS)
def test_malformed_models_from_past_failures_are_refused(tmp_path: Path, attack: str) -> None:
    name, place, value, reason = ATTACKS[attack]
    parts = split_model_bytes((FOLDER / f"format-{FORMAT_VERSION}/{name}.model").read_bytes())
    write("m", join_model_bytes(parts.decoded, parts.payload))
    succeed("inspect -m m")
    is_number = place[0] in parts.decoded["arrays"]
    write(
        "m",
        parts.with_number(place[0], place[1], value)
        if is_number
        else parts.with_setting(place, value),
    )
    assert f"m: the model is malformed: {reason}" in fail(3, "inspect -m m")

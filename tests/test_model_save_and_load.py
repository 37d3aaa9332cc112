"""A model that is written loads, whatever numbers stand in the corpus; what could not be loaded is not written."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, example, given
from hypothesis import strategies as st

from nbtext import TextClassifier
from nbtext.errors import UsageError
from nbtext.prediction.calibration import Calibration
from tests.models import require_sound, split_labelled
from tests.process import content, nbtext, python, succeed, write
from tests.profiles import examples

if TYPE_CHECKING:
    from pathlib import Path

    from nbtext.settings import CalibrationName, ClassifierName, Estimate

    Labelled = list[tuple[str, dict[str, Any]]]

OUTLIERS = [9999999999, 1e20, -3e38, -2e40, 1e100, -1e-100, 1e99]
NUMBERS = st.one_of(
    st.none(),
    st.sampled_from([0.0, 1.0, 2.0, 0.5, 1 / 3, 3.0]),
    st.floats(-3, 3).map(lambda value: round(value, 3)),
    st.integers(1, 15).map(lambda digits: 5 + 10.0**-digits),
    st.sampled_from(OUTLIERS),
)
COLUMNS: dict[str, Any] = {"numeric": "x,y", "count": "n", "categorical": "colour"}
ROWS = st.lists(
    st.tuples(
        st.sampled_from("abcd"),
        st.fixed_dictionaries(
            {
                "text": st.sampled_from(["cat dog", "dog fish", "", "fish fish eel"]),
                "x": NUMBERS,
                "y": NUMBERS,
                "n": st.sampled_from([None, 0, 1, 2, 5, 2**53 - 1]),
                "colour": st.sampled_from([None, "red", "green"]),
            }
        ),
    ),
    min_size=1,
    max_size=20,
)
ASKED: list[dict[str, Any]] = [
    {}, {"text": "cat"}, {"x": 1.5, "y": 2}, {"x": 1e100, "y": -1e100, "n": 2**53 - 1, "colour": "red"}, {"x": 1e-100}, {"n": 1, "text": "eel fish"},
]  # fmt: skip

OUTLIER = [("ab"[place % 2], {"x": float(1 + place % 3)}) for place in range(12)] + [
    ("a", {"x": 9999999999.0})
]
FAR_OUTLIER = [("ab"[place % 2], {"x": float(1 + place % 3)}) for place in range(12)] + [
    ("a", {"x": 1e20})
]
ONE_EACH = [("a", {"x": 1e100}), ("b", {"x": -1e-100}), ("c", {"x": 3.0}), ("d", {"x": 3.0})]


def save_and_load(
    model: TextClassifier, path: Path, rows: Labelled, *, may_be_impossible: bool = False
) -> TextClassifier:
    """The model after it was saved and loaded, which must answer every document; a row of nan is one that every class finds impossible."""
    model.save(str(path))
    again = TextClassifier.load(str(path))
    asked = [row for _, row in rows] + ASKED
    found = again.predict_proba(asked)
    impossible = np.isnan(found).all(axis=1)
    assert may_be_impossible or not impossible.any()
    assert np.isfinite(found[~impossible]).all()
    assert found[~impossible].sum(axis=1) == pytest.approx(np.ones(np.count_nonzero(~impossible)))
    assert np.array_equal(found, model.predict_proba(asked), equal_nan=True)
    return again


FAR_FROM_FEW: Labelled = [
    ("ab"[place % 2], {"x": x}) for place, x in enumerate([0.1, 1e-05, 2.5, 0.1, 1e20])
]
"""A left-out number so far from the others that its logarithm is beyond single precision."""

BUDGET = examples(3, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.mark.parametrize("classifier", ["multinomial", "bernoulli", "gaussian", "logistic"])
@BUDGET
@given(
    rows=ROWS,
    calibration=st.sampled_from(["auto", "none"]),
    estimate=st.sampled_from(["mean", "map", "ml"]),
)
@example(rows=OUTLIER, calibration="auto", estimate="mean")
@example(rows=FAR_OUTLIER, calibration="auto", estimate="map")
@example(rows=ONE_EACH, calibration="auto", estimate="mean")
@example(rows=FAR_FROM_FEW, calibration="auto", estimate="mean")
def test_model_of_any_numbers_can_be_loaded(
    tmp_path: Path,
    classifier: ClassifierName,
    rows: Labelled,
    calibration: CalibrationName,
    estimate: Estimate,
) -> None:
    assume(classifier != "logistic" or estimate != "ml")
    model = TextClassifier(
        classifier=classifier, calibration=calibration, estimate=estimate, **COLUMNS
    )
    try:
        model.fit(*split_labelled(rows))
    except UsageError as problem:
        if estimate == "ml" and "have the same" in str(
            problem
        ):  # maximum likelihood has no variance of equal numbers
            return
        raise
    save_and_load(model, tmp_path / "m", rows, may_be_impossible=estimate == "ml")


@pytest.mark.parametrize("classifier", ["multinomial", "bernoulli"])
@BUDGET
@given(rows=ROWS, more=ROWS)
@example(rows=OUTLIER[:12], more=OUTLIER[12:])
@example(rows=FAR_OUTLIER, more=ONE_EACH)
def test_model_after_adding_and_forgetting_any_numbers_can_be_loaded(
    tmp_path: Path, classifier: ClassifierName, rows: Labelled, more: Labelled
) -> None:
    model = TextClassifier(classifier=classifier, **COLUMNS).fit(*split_labelled(rows))
    before, changes = (
        model.fitted.statistics,
        ([row for _, row in more], [label for label, _ in more]),
    )
    model = save_and_load(model.partial_fit(*changes), tmp_path / "m", rows + more)
    assert (
        save_and_load(model.forget(*changes), tmp_path / "m", rows + more).fitted.statistics
        == before
    )


def test_numbers_beyond_the_limits_are_unreadable_documents(tmp_path: Path) -> None:
    rows = [
        {"label": "ab"[place % 2], "x": value}
        for place, value in enumerate([1, 2, 3, 1e300, 2.5, 1, 1e100, 2, 9999999999, 1])
    ]
    write("c.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    trained = nbtext("train c.jsonl --numeric x -m m")
    assert (trained.status, len(trained.notes)) == (1, 1), trained
    assert "c.jsonl:4" in trained.notes[0]
    require_sound("m")
    answered = nbtext("classify c.jsonl -m m")
    assert answered.status == 1
    assert all(0 <= float(row[2]) <= 1 for row in answered.rows if row[1])
    assert sum(bool(row[1]) for row in answered.rows) == 9


def test_model_that_could_not_be_loaded_is_not_written(pets: Path) -> None:
    path = pets / "nbtext.joblib"
    before, model = path.read_bytes(), TextClassifier.load(str(path))
    model._fitted = replace(
        model.fitted,
        parameters=replace(model.fitted.parameters, calibration=Calibration(scale=1e-300)),
    )
    with pytest.raises(
        RuntimeError,
        match="not written, because it would not load: the model is malformed: its temperature",
    ):
        model.save(str(path))
    assert path.read_bytes() == before
    assert sorted(place.name for place in pets.iterdir()) == ["nbtext.joblib", "pets"]


def test_training_defect_is_an_internal_error_and_leaves_the_model(pets: Path) -> None:
    """The defect is planted: a fit that ends at a temperature which the loader refuses."""
    before = content("nbtext.joblib")
    code = (
        "import sys; from nbtext.prediction.calibration import Calibration; from nbtext.model import training; from nbtext.cli.main import run\n"
        "training.fit_classifier_calibration = lambda *_: Calibration(1e-300)\n"
        "sys.exit(run(sys.argv[1:]))"
    )
    for command in ("train", "update"):
        done = python(code, command, "pets")
        assert (done.status, len(done.notes)) == (70, 1), done
        assert "internal error: RuntimeError: not written" in done.notes[0]
        assert content("nbtext.joblib") == before
        assert sorted(place.name for place in pets.iterdir()) == ["nbtext.joblib", "pets"]


WITHOUT_WORDS = "".join(
    f"c{label}\t{'w30 w137' if place == 2 else ''}\n"
    for place, label in enumerate("12000022212121100111011")
)
"""One document with words, so all predictions have one probability."""


def with_numbers(*rows: tuple[str, str, float | None, float | None]) -> str:
    """Rows as JSON lines."""
    return "".join(
        json.dumps({"label": label, "text": text, "x": x, "y": y}) + "\n"
        for label, text, x, y in rows
    )


NUMERIC_CURVE = with_numbers(
    ("1", "cat dog", 2.0, None),
    ("2", "", -1.4315134519978663, 1.0),
    ("1", "cat dog", -44615806.55277292, 2.0),
    ("0", "dog fish", 1.0, None),
    ("3", "", 0.3333333333333333, 49930563.432654165),
    ("0", "", 0.5, 0.019965657435448717),
    ("2", "dog fish", 3333.333333333333, 5.009473923870937),
    ("1", "cat dog", -0.13474799589350572, 1.474916854231419),
    ("0", "", 2.0, -0.40933520721232103),
    ("2", "dog fish", 0.09616967588047233, 0.3333333333333333),
    ("2", "cat dog", 1.0, 0.9885939463250896),
    ("2", "cat dog", 1.0, 1.0),
    ("2", "dog fish", 4.993344938816576, 1.0),
    ("3", "cat dog", None, 2.0),
    ("0", "cat dog", None, 0.5),
    ("2", "dog fish", 5.001835316801614, None),
    ("1", "dog fish", 0.5, 0.819643854967986),
)
"""Numbers of all sizes, of which once came an isotonic curve that did not load."""

NUMERIC_FIT = with_numbers(
    ("2", "cat dog", None, 0.3333333333333333),
    ("1", "cat dog", 5.0185216510373625, -3.333333333333333e38),
    ("1", "dog fish", None, 5.0156429743398645),
    ("0", "", 4.994105410626404, 0.3333333333333333),
    ("1", "", 49973462.9640419, 1.0),
    ("0", "cat dog", -2e-16, None),
    ("0", "", -2e40, -0.7531168113734001),
    ("0", "cat dog", 1.0, 4.9900436321541255),
    ("0", "cat dog", 1.0, -1.1684543768935138),
    ("1", "cat dog", 358945235.39471865, None),
    ("0", "cat dog", 1.0, None),
    ("0", "", 0.5, 2.0),
)
"""Numbers of all sizes, of which once came a temperature that did not load."""


@pytest.mark.parametrize(
    ("name", "corpus", "options"),
    [
        ("c.tsv", WITHOUT_WORDS, "--classifier complement --smoothing 1"),
        ("c.jsonl", NUMERIC_CURVE, "--numeric x,y --text-column text"),
        ("c.jsonl", NUMERIC_FIT, "--numeric x,y --text-column text"),
        ("c.jsonl", NUMERIC_FIT, "--numeric x,y --classifier bernoulli"),
    ],
    ids=["without words", "numeric curve", "numeric fit", "numeric fit of bernoulli"],
)
def test_corpora_from_past_failures_give_valid_models(
    tmp_path: Path, name: str, corpus: str, options: str
) -> None:
    write(name, corpus)
    succeed(f"train {name} {options} -m m")
    require_sound("m")

"""Results as records: their JSON, and the interval of F1."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtext.metrics.results import JSON_UNLESS_EMPTY, NOT_IN_JSON, ClassResult, to_json_values


class Pair(NamedTuple):
    """A named tuple within a record."""

    a: int
    b: tuple[float, float]


@dataclass(frozen=True)
class Example:
    """A record with fields of every kind."""

    by_name: dict[str, Pair]
    hidden: int = field(metadata=NOT_IN_JSON)
    known: float | None = field(metadata=JSON_UNLESS_EMPTY)
    value: float | None
    inner: tuple[ClassResult, ...] = ()


def test_json_keeps_the_field_order_and_omits_unknown_values() -> None:
    inner = ClassResult(0.5, 0.25, 1 / 3, 4, 2, None, 0.1, {"recall": (0.0, 0.5)}, 1)
    found = to_json_values(Example({"x": Pair(1, (0.0, 2.0))}, 7, None, None, (inner,)))
    assert found == {
        "by_name": {"x": {"a": 1, "b": [0.0, 2.0]}},
        "value": None,
        "inner": [to_json_values(inner)],
    }
    assert list(found) == ["by_name", "value", "inner"]
    assert "hits" not in to_json_values(inner)
    assert to_json_values(inner)["intervals"] == {"recall": [0.0, 0.5]}
    assert to_json_values(Example({}, 7, 0.0, 1.0)) == {
        "by_name": {},
        "known": 0.0,
        "value": 1.0,
        "inner": [],
    }


def f1_interval(hits: int, support: int, answered: int) -> tuple[float, float]:
    return ClassResult(0, 0, 0, support, answered, None, None, {}, hits).f1_interval


@given(st.integers(0, 50), st.integers(0, 50), st.integers(0, 50))
def test_f1_interval_contains_f1_and_narrows_with_more_documents(
    hits: int, missed: int, wrongly: int
) -> None:
    support, answered = hits + missed, hits + wrongly
    low, high = f1_interval(hits, support, answered)
    assert 0 <= low <= high <= 1
    if support + answered:
        f1 = 2 * hits / (support + answered)
        assert low <= f1 <= high
        wide = high - low
        narrow = np.subtract(*f1_interval(9 * hits, 9 * support, 9 * answered)[::-1])
        assert narrow < wide


def test_f1_interval_is_the_transformed_jaccard_interval() -> None:
    # 30 of 40 documents: Wilson's interval of 0.75 is 0.5981 to 0.8581
    assert f1_interval(30, 35, 35) == pytest.approx(
        (2 * 0.5981 / 1.5981, 2 * 0.8581 / 1.8581), abs=1e-4
    )

"""Class priors, as they are computed and as they are read."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtext import TextClassifier
from nbtext.classifiers.base import class_prior, leaves_a_class
from nbtext.cli.option_files import from_file, read_class_prior
from nbtext.errors import PathError, UsageError
from tests import oracle, strategies
from tests.building import statistics_from_table, statistics_of

if TYPE_CHECKING:
    from pathlib import Path

CORPUS: list[oracle.Labelled] = [("a", ["ant"]), ("b", []), ("a", ["bee"]), ("a", [])]


@pytest.mark.parametrize(
    ("kind", "prior"),
    [
        ("empirical", [3 / 4, 1 / 4]),
        ("smoothed:0", [3 / 4, 1 / 4]),
        ("smoothed:1", [(3 + 1) / (4 + 2), (1 + 1) / (4 + 2)]),
        ("smoothed:2.5", [5.5 / 9, 3.5 / 9]),
        ("uniform", [1 / 2, 1 / 2]),
        ({"a": 1, "b": 3}, [1 / 4, 3 / 4]),
        ({"b": 1, "a": 0, "other": 5}, [0, 1]),
    ],
)
def test_each_kind_of_prior_is_its_formula(kind: str | dict[str, float], prior: list[float]) -> None:
    assert class_prior(kind, statistics_of(CORPUS)).tolist() == prior


@given(strategies.corpora, st.sampled_from([0.0, 0.5, 1.0, 100.0]))
def test_priors_are_those_of_the_slow_twin(corpus: list[oracle.Labelled], added: float) -> None:
    wanted = [float(p) for p in oracle.class_prior(oracle.count(corpus), added).values()]
    assert class_prior(f"smoothed:{added}", statistics_of(corpus)).tolist() == pytest.approx(wanted, rel=1e-14)


def test_a_class_without_a_weight_is_named() -> None:
    with pytest.raises(UsageError, match="class 'b'"):
        class_prior({"a": 1}, statistics_of(CORPUS))


def test_weights_that_leave_no_class_possible_are_refused() -> None:
    with pytest.raises(UsageError, match="class"):
        class_prior({"a": 0, "b": 0, "other": 1}, statistics_of(CORPUS))


@pytest.mark.parametrize("value", [None, "empirical", "uniform", "smoothed:3"])
def test_a_kind_stays_as_it_is(value: str | None) -> None:
    assert from_file("class_prior", value) == value


def test_a_file_gives_each_class_its_weight(tmp_path: Path) -> None:
    path = tmp_path / "prior.tsv"
    path.write_text("\ufeffa\t0.25\nété\t3\nwith\ttab\t1e-3\n", encoding="utf-8")
    assert read_class_prior(str(path)) == {"a": 0.25, "été": 3.0, "with\ttab": 0.001}


@pytest.mark.parametrize("line", ["a", "a 1", "a\tone", "a\t"])
def test_a_line_that_is_no_class_and_number_is_told_by_its_number(tmp_path: Path, line: str) -> None:
    path = tmp_path / "prior.tsv"
    path.write_text(f"b\t1\n{line}\n", encoding="utf-8")
    with pytest.raises(PathError, match="line 2"):
        read_class_prior(str(path))


def test_what_is_neither_kind_nor_file_is_wrong_usage_and_what_cannot_be_read_is_not(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="empiricle"):
        read_class_prior("empiricle")
    with pytest.raises(PathError, match="cannot read"):
        read_class_prior(str(tmp_path))
    (tmp_path / "latin").write_bytes(b"\xe9\t1\n")
    with pytest.raises(PathError, match="UTF-8"):
        read_class_prior(str(tmp_path / "latin"))


@pytest.mark.parametrize(
    ("prior", "left"), [("empirical", True), ("smoothed:1", True), ({"a": 0, "b": 1}, False), ({"a": 1, "b": 0}, True)]
)
def test_a_class_without_documents_is_none_whatever_its_weight(prior: Any, left: bool) -> None:
    statistics = statistics_from_table([[1, 0]], [2, 0], [[1, 0]])
    statistics = replace(statistics, classes=("a", "b"))
    assert leaves_a_class(prior, statistics) is left


@pytest.mark.parametrize("name", ["bernoulli", "dirichlet-multinomial", "gaussian"])
def test_a_corpus_of_one_document_is_calibrated(name: str) -> None:
    """Left out, it leaves no class possible."""
    model = TextClassifier(classifier=name).fit(["an apple"], ["fruit"])
    assert model.predict_proba(["apple", ""]).tolist() == [[1], [1]]

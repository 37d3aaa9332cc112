"""A model as settings and arrays and back."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtext import TextClassifier
from nbtext.counts.moments import Moments
from nbtext.document_fields import MAX_NUMBER, MIN_NUMBER, Attributes
from nbtext.errors import ModelError, UsageError
from nbtext.model.state import (
    MAX_SUM_DIGITS,
    _decode_vocabulary,
    decode_model,
    decode_moments,
    decode_sample_values,
    encode_moments,
    find_row_bounds,
)
from nbtext.store import read_model_file, write_model_file
from tests.fixtures.make import FOLDER
from tests.process import ENVIRONMENT, MEMORY, PETS, run

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    Arrays = dict[str, NDArray[Any]]

LABELS = [name.partition("/")[0] for name in PETS]


def plain(tmp_path: Path, **parameters: Any) -> tuple[dict[str, Any], Arrays]:
    path = str(tmp_path / "m")
    TextClassifier(**parameters).fit(PETS.values(), LABELS).save(path)
    settings, arrays, _ = read_model_file(path)
    return settings, {name: array.copy() for name, array in arrays.items()}


@given(st.lists(st.text("ab\0é", min_size=1, max_size=20), max_size=8))
def test_vocabulary_must_be_sorted_and_distinct(terms: list[str]) -> None:
    for order in (terms, sorted(terms), sorted(set(terms)), sorted(set(terms), reverse=True)):
        encoded = [term.encode() for term in order]
        part = {
            "terms": b"".join(encoded),
            "term_lengths": np.array([len(term) for term in encoded], np.int64),
        }
        rises = all(first < second for first, second in pairwise(encoded))
        with nullcontext() if rises else pytest.raises(ModelError, match="not sorted and distinct"):
            _decode_vocabulary({**part, "ngrams": np.empty(0, np.uint64)})


def test_term_must_not_start_inside_a_character(tmp_path: Path) -> None:
    path = "m"
    TextClassifier(stemmer="none").fit(["aaéa bbbb"], ["x"]).save(path)
    settings, arrays, _ = read_model_file(path)
    with pytest.raises(ModelError, match="terms do not fit their lengths"):
        decode_model(settings, {**arrays, "term_lengths": np.array([3, 6], np.uint8)})


@pytest.mark.parametrize("prior", [{"cats": 1}, {"cats": 0, "dogs": 0, "else": 1}])
def test_class_prior_must_match_the_classes(tmp_path: Path, prior: dict[str, int]) -> None:
    settings, arrays = plain(tmp_path)
    settings["training"]["class_prior"] = prior
    with pytest.raises(ModelError, match="class prior"):
        decode_model(settings, arrays)
    with pytest.raises(UsageError, match="class prior"):
        TextClassifier(class_prior=prior).fit(PETS.values(), LABELS).save("new")
    assert not (tmp_path / "new").exists()


NUMBERS = st.floats(-MAX_NUMBER, MAX_NUMBER).filter(
    lambda x: x == 0 or abs(x) >= MIN_NUMBER
) | st.just(float("nan"))
ATTRIBUTES = Attributes((), ("legs",), ("kilos",))


@given(
    st.lists(
        st.tuples(st.integers(0, 1), st.just(float("nan")) | st.integers(0, 9).map(float), NUMBERS),
        min_size=1,
        max_size=9,
    )
)
def test_sums_of_numbers_are_stored_exactly(
    documents: list[tuple[int, float, float]],
) -> None:
    classes, values = (
        np.array([row[0] for row in documents]),
        np.array([row[1:] for row in documents]),
    )
    moments = Moments.from_values(values, classes, 2)
    found = decode_moments(encode_moments(moments), np.bincount(classes, minlength=2), ATTRIBUTES)
    assert all(map(np.array_equal, found, moments))
    assert np.array_equal(
        decode_sample_values(values.ravel(), len(documents), ATTRIBUTES), values, equal_nan=True
    )


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("values", [1, 1, 1], "values do not fit its attributes"),
        ("values", [1, 1, 9, 1], "more values than documents"),
        ("values", [0, 1, 1, 1], "sums are not sums of numbers"),
        ("value_sums", b"2 0\n3 1\n", "sums do not fit its attributes"),
        ("value_sums", b"x 0\n3 1\n1 0\n1 0\n4 0\n9 2\n1 0\n1 0\n", "a sum is not a number"),
        ("value_sums", b"2\n3 1\n1 0\n1 0\n4 0\n9 2\n1 0\n1 0\n", "a sum is not a number"),
        ("value_sums", b"2 99999\n3 1\n1 0\n1 0\n4 0\n9 2\n1 0\n1 0\n", "a sum is not a number"),
        (
            "value_sums",
            b"9" * (MAX_SUM_DIGITS + 1) + b" 0\n3 1\n1 0\n1 0\n4 0\n9 2\n1 0\n1 0\n",
            "a sum is not a number",
        ),
        (
            "value_sums",
            "² 0\n3 1\n1 0\n1 0\n4 0\n9 2\n1 0\n1 0\n".encode(),
            "a sum is not a number",
        ),
        (
            "value_sums",
            b"2 0\n3 1\n1 0\n1 0\n3 0\n9 2\n1 0\n1 0\n",
            "sums are not sums of numbers",
        ),
        (
            "value_sums",
            b"-2 0\n3 1\n1 0\n1 0\n4 0\n9 2\n1 0\n1 0\n",
            "sums are not sums of counts",
        ),
        (
            "value_sums",
            b"5 1\n3 1\n1 0\n1 0\n25 2\n9 2\n1 0\n1 0\n",
            "sums are not sums of counts",
        ),
    ],
)
def test_invalid_sums_of_numbers_are_refused(name: str, value: Any, message: str) -> None:
    """Of a cat with 2 legs and 1.5 kilos, and a fish with 1 and 1."""
    good = encode_moments(Moments.from_values(np.array([[2, 1.5], [1, 1]]), np.array([0, 1]), 2))
    assert good["value_sums"] == b"2 0\n3 1\n1 0\n1 0\n4 0\n9 2\n1 0\n1 0\n"
    wrong = value if isinstance(value, bytes) else np.array(value)
    with pytest.raises(ModelError, match=message):
        decode_moments({**good, name: wrong}, np.array([1, 1]), ATTRIBUTES)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.zeros(3), "sample does not fit"),
        (np.full(4, np.inf), "impossible number"),
        (np.full(4, 2 * MAX_NUMBER), "impossible number"),
        (np.full(4, 1.5), "impossible count"),
    ],
)
def test_invalid_sample_values_are_refused(values: NDArray[Any], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        decode_sample_values(values, 2, ATTRIBUTES)


def test_loading_takes_little_more_memory_than_the_file(tmp_path: Path) -> None:
    write_model_file("m", {}, {"terms": np.zeros(50 << 20, np.uint8)})
    code = "from nbtext.cli.main import run; import sys; sys.exit(run(['inspect', '-m', 'm']))"
    done = run([sys.executable, "-c", code], env=ENVIRONMENT, limits=MEMORY)
    assert done.status == 3, done


@pytest.mark.parametrize(
    ("name", "place", "value", "message"),
    [
        ("cell_columns", 0, 1, "a label has a term that no document has"),
        ("cell_counts", 1, 100, "a label counts more than all documents"),
        ("column_documents", 1, 10, "a label has more documents than there are"),
        ("sample_terms", 0, 0, "its sample has documents that were not counted"),
    ],
)
def test_label_and_sample_counts_must_not_exceed_all_documents(
    name: str, place: int, value: int, message: str
) -> None:
    settings, arrays, _ = read_model_file(str(FOLDER / "format-2" / "several-labels.model"))
    changed = arrays[name].copy()
    changed[place] = value
    entries = {"sample_terms": _with_one_term_everywhere(arrays)}
    with pytest.raises(ModelError, match=message):
        decode_model(settings, {**arrays, **({name: changed} if name not in entries else entries)})


def test_empty_last_rows_have_bounds() -> None:
    assert find_row_bounds(b"ab", np.array([2, 0]), "labels").tolist() == [0, 2, 2]
    with pytest.raises(ModelError, match="do not fit"):
        find_row_bounds("ä".encode(), np.array([1, 1]), "labels")


def _with_one_term_everywhere(arrays: Arrays) -> NDArray[Any]:
    """The terms of the sample, with the first term as the first of each document."""
    terms, sizes = arrays["sample_terms"].copy(), arrays["sample_entries"].astype(np.int64)
    terms[np.cumsum(sizes[sizes > 0]) - sizes[sizes > 0]] = 0
    return terms

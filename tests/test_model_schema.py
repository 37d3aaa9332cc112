"""The schema of the model file, its tables in the docs, and files of format 1."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from nbtext.errors import ModelError, UsageError
from nbtext.model.schema import ARRAYS, MOST, REQUIRED, RESERVED, SETTINGS, UNLABELLED, OrNull, Range, decoded, encoded, fits
from nbtext.model.state import from_plain
from nbtext.store import read_model_file
from tests.fixtures.make import FOLDER
from tests.process import REPOSITORY


def test_the_docs_show_the_schema() -> None:
    page = (REPOSITORY / "docs/model-file.md").read_text("utf-8")
    arrays = [(f"`{each.name}`", each.kind, each.size, each.content, each.when) for each in ARRAYS.values()]
    settings = [(f"`{name}`", each.content, "" if each.absent is REQUIRED else "may be missing") for name, each in SETTINGS.items()]
    for row in (*arrays, *settings):
        assert f"| {' | '.join(row)} |".replace("  ", " ") in page.replace("  ", " "), row
    assert all(f"`{name}`" in page for name in RESERVED)


@pytest.mark.parametrize(
    ("form", "good", "bad"),
    [
        (Range(0, 2), [0, 1.5, 2], [-1, 2.1, True, "1", None, 10**400]),
        (Range(0, 2, is_whole=True), [0, 2], [1.0, 3]),
        (OrNull(str), [None, "x"], [1, []]),
        ({1, "a"}, [1, "a"], [True, 1.0, [1]]),
        ([str], [[], ["a", "b"]], [["a", 1], "a", {}, None]),
        ((str, bool), [["a", True]], [["a"], ["a", 1], ["a", True, True], "ab"]),
        ({"a": str, "b": [bool]}, [{"a": "", "b": []}], [{}, {"a": ""}, {"a": "", "b": [], "c": 1}, {"a": "", "b": [1]}, []]),
        ({str: Range(0)}, [{}, {"x": 1}], [{"x": -1}, []]),
    ],
)
def test_forms(form: Any, good: list[Any], bad: list[Any]) -> None:
    assert [value for value in good if not fits(value, form)] == []
    assert [value for value in bad if fits(value, form)] == []


@pytest.mark.parametrize(("numbers", "kind"), [([], "u1"), ([0, 255], "u1"), ([256], "u2"), ([2**16], "u4"), ([2**32, 7], "u8")])
def test_whole_numbers_are_kept_in_the_narrowest_type(numbers: list[int], kind: str) -> None:
    kept = encoded({"sample_entries": np.array(numbers, np.int64)})
    assert kept["sample_entries"].dtype == np.dtype(kind)
    hashes = np.arange(len(numbers), dtype=np.uint64)
    assert (
        decoded({**kept, "sample_hashes": hashes, "sample_labels": hashes, "label_lengths": hashes + 1}, 1)[0]["sample_entries"].tolist()
        == numbers
    )


def test_sums_below_2_to_the_53_are_exact_and_others_are_refused() -> None:
    most = np.array([MOST // 2, MOST // 2 - 1])
    assert decoded(encoded({"values": most}), 1)[0]["values"].sum() == 2**53 - 1
    with pytest.raises(UsageError, match=r"too large to stay exact: their sum must be below 2\^53"):
        encoded({"values": most + 1})
    with pytest.raises(ModelError, match="the numbers of values are too large"):
        decoded({"values": (most + 1).astype(np.uint64)}, 1)
    for numbers in (np.array([1.0]), np.array([1])):  # signed and fractional
        with pytest.raises(ModelError, match="values does not hold whole numbers"):
            decoded({"values": numbers}, 1)


@pytest.mark.parametrize("name", sorted(RESERVED))
def test_what_a_later_version_may_add_is_refused_by_name(name: str) -> None:
    with pytest.raises(ModelError, match=f"made by a newer nbtext: it has the {RESERVED[name]}; upgrade nbtext"):
        decoded({name: np.ones(1, np.uint8)}, 1)


@pytest.mark.parametrize("name", sorted(UNLABELLED))
def test_counts_of_unlabelled_documents_of_format_1_must_fit(name: str) -> None:
    settings, arrays = read_model_file(str(FOLDER / "format-1/unlabelled-and-logs.model"))
    from_plain(settings, arrays)
    for array in (arrays[name][1:], arrays[name].astype(np.float64)):
        with pytest.raises(ModelError, match="malformed"):
            from_plain(settings, {**arrays, name: array})
    with pytest.raises(ModelError, match="malformed"):
        from_plain(settings, {other: array for other, array in arrays.items() if other != name})


@pytest.mark.parametrize("change", [{"weight": 0}, {"weight": None}, {"documents": 1}, {"seeds": 3}, {"other": 1}])
def test_figures_of_unlabelled_documents_of_format_1_must_fit(change: dict[str, Any]) -> None:
    settings, arrays = read_model_file(str(FOLDER / "format-1/unlabelled.model"))
    unlabelled: Any = settings["unlabelled"]
    with pytest.raises(ModelError, match="malformed"):
        from_plain({**settings, "unlabelled": {**unlabelled, **change}}, arrays)

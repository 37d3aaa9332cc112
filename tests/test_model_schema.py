"""The schema of the model file and its tables in the docs."""

from __future__ import annotations

import ast
import inspect
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from nbtext.classifiers import (
    average,
    base,
    complement,
    gaussian,
    logistic,
    multinomial,
    with_attributes,
)
from nbtext.errors import ModelError, UsageError
from nbtext.model import schema, state
from nbtext.model.schema import (
    ARRAYS,
    EXACT_SUM_LIMIT,
    REQUIRED,
    RESERVED_ARRAYS,
    SETTINGS,
    Nullable,
    Range,
    decode_arrays,
    encode_arrays,
    has_form,
)
from nbtext.model.state import decode_model
from nbtext.store import read_model_file
from tests.fixtures.make import FOLDER, REFUSED
from tests.process import REPOSITORY
from tests.profiles import OF_ROOM, is_room_run, some

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray


def test_docs_show_the_schema() -> None:
    page = (REPOSITORY / "docs/model-file.md").read_text("utf-8")
    arrays = [
        (f"`{each.name}`", each.kind, each.size_name, each.content, each.condition)
        for each in ARRAYS.values()
    ]
    settings = [
        (f"`{name}`", each.content, "" if each.default is REQUIRED else "may be missing")
        for name, each in SETTINGS.items()
    ]
    for row in (*arrays, *settings):
        assert f"| {' | '.join(row)} |".replace("  ", " ") in page.replace("  ", " "), row
    assert all(f"`{name}`" in page for name in RESERVED_ARRAYS)


@pytest.mark.parametrize(
    ("form", "good", "bad"),
    [
        (Range(0, 2), [0, 1.5, 2], [-1, 2.1, True, "1", None, 10**400]),
        (Range(0, 2, is_whole=True), [0, 2], [1.0, 3]),
        (Nullable(str), [None, "x"], [1, []]),
        ({1, "a"}, [1, "a"], [True, 1.0, [1]]),
        ([str], [[], ["a", "b"]], [["a", 1], "a", {}, None]),
        ((str, bool), [["a", True]], [["a"], ["a", 1], ["a", True, True], "ab"]),
        (
            {"a": str, "b": [bool]},
            [{"a": "", "b": []}],
            [{}, {"a": ""}, {"a": "", "b": [], "c": 1}, {"a": "", "b": [1]}, []],
        ),
        ({str: Range(0)}, [{}, {"x": 1}], [{"x": -1}, []]),
    ],
)
def test_has_form_accepts_valid_and_rejects_invalid_values(
    form: Any, good: list[Any], bad: list[Any]
) -> None:
    assert [value for value in good if not has_form(value, form)] == []
    assert [value for value in bad if has_form(value, form)] == []


@pytest.mark.parametrize(
    ("numbers", "kind"),
    [([], "u1"), ([0, 255], "u1"), ([256], "u2"), ([2**16], "u4"), ([2**32, 7], "u8")],
)
def test_whole_numbers_are_stored_in_the_narrowest_type(numbers: list[int], kind: str) -> None:
    kept = encode_arrays({"sample_entries": np.array(numbers, np.int64)})
    assert kept["sample_entries"].dtype == np.dtype(kind)
    hashes = np.arange(len(numbers), dtype=np.uint64)
    assert (
        decode_arrays(
            {**kept, "sample_hashes": hashes, "sample_labels": hashes, "label_lengths": hashes + 1},
            1,
        )[0]["sample_entries"].tolist()
        == numbers
    )


def test_sums_below_2_to_the_53_are_exact_and_others_are_refused() -> None:
    most = np.array([EXACT_SUM_LIMIT // 2, EXACT_SUM_LIMIT // 2 - 1])
    assert decode_arrays(encode_arrays({"values": most}), 1)[0]["values"].sum() == 2**53 - 1
    with pytest.raises(UsageError, match=r"too large to stay exact: their sum must be below 2\^53"):
        encode_arrays({"values": most + 1})
    with pytest.raises(ModelError, match="the numbers of values are too large"):
        decode_arrays({"values": (most + 1).astype(np.uint64)}, 1)
    for numbers in (np.array([1.0]), np.array([1])):  # signed and fractional
        with pytest.raises(ModelError, match="values does not contain whole numbers"):
            decode_arrays({"values": numbers}, 1)


CLASSIFIERS = (with_attributes, average, base, complement, gaussian, logistic, multinomial)
READERS = (schema, state, *CLASSIFIERS)
RARE = {
    "its sums are not sums of counts",  # tests/test_model_state.py
    "it has layers of unknown kinds",  # rows of BY_HAND
    "a label has no documents and no seed words", "its means are too large",
    "its numbers are too large", "its sample contains impossible documents", "a document of its sample is in no layer of documents",
    "a label counts more than all documents", "a label has a term that no document has",  # tests/test_model_state.py
    "it has too many layers",  # tests/test_counts_statistics.py
}  # fmt: skip
"""Findings that one change of a fixture does not lead to."""
FILES = [path for path in sorted(FOLDER.glob("format-2/*.model")) if path.stem not in REFUSED]
WRONG: tuple[Any, ...] = (None, True, -1, 0.5, float("inf"), 2**64, "x", [], [7], {}, {"x": 7})
ACCEPTED: dict[object, str] = {
    "reversed": "label_offsets label_priors label_slopes left_out_label_counts sample_label_counts answers "
        "cell_counts column_documents fitted_1_bias fitted_1_outcome fitted_1_weights fitted_bias "
        "fitted_means fitted_outcome fitted_projection fitted_smoothing fitted_weighted_counts "
        "fitted_weights label_lengths labels left_out_labels left_out_nats left_out_weights "
        "sample_counts sample_entries sample_labels sample_weights selected stop_words term_cells",
    "rolled": "label_offsets label_priors label_slopes left_out_label_counts sample_label_counts answers "
        "cell_counts cell_documents column_documents fitted_1_bias fitted_1_outcome "
        "fitted_1_weights fitted_bias fitted_means fitted_outcome fitted_projection "
        "fitted_smoothing fitted_weighted_counts fitted_weights label_lengths labels "
        "left_out_labels left_out_nats left_out_weights sample_counts sample_labels sample_weights "
        "selected stop_words term_cells",
    "doubled": "label_offsets label_priors label_slopes answers cell_counts column_documents fitted_1_bias "
        "fitted_1_outcome fitted_1_weights fitted_attribute_smoothing fitted_bias fitted_outcome "
        "fitted_pool fitted_roots fitted_smoothing fitted_weights labels left_out_nats "
        "left_out_weights sample_counts sample_hashes sample_values sample_weights",
    "negated": "label_offsets label_priors label_slopes answers cell_documents column_layers fitted_1_bias "
        "fitted_1_weights fitted_bias fitted_means fitted_projection fitted_weights labels "
        "left_out_labels sample_hashes sample_labels sample_terms sample_weights selected "
        "stop_words terms",
    0: "label_offsets label_priors label_slopes answers cell_columns column_layers "
        "fitted_1_bias fitted_1_outcome fitted_1_weights fitted_bias "
        "fitted_means fitted_outcome fitted_pool fitted_projection fitted_smoothing "
        "fitted_weighted_counts fitted_weights labels left_out_labels left_out_nats sample_hashes "
        "sample_labels sample_terms sample_values selected stop_words terms",
    255: "answers cell_counts cell_documents column_documents sample_counts sample_hashes "
        "sample_weights",
    2**63: "sample_hashes",
    np.nan: "sample_values",
    -1e35: "fitted_pool sample_values",
    1e35: "fitted_1_outcome fitted_outcome fitted_pool left_out_nats left_out_weights sample_values",
    "missing": "fitted_spread left_out_weights sample_weights selected stop_words",
    "long": "stop_words",
    "short": "fitted_spread stop_words value_sums",
    np.inf: "left_out_nats",
}  # fmt: skip
"""By change: the arrays that may be changed so and still be those of a model, if the digest is true."""
BY_HAND: list[tuple[str, str, dict[str, Any], dict[str, Any]]] = [
    *(
        ("the model", "own-smoothing", {"training": {"smoothing": hostile}}, {})
        for hostile in (
            {"*": 1, "the": 2},
            {"*": 1, "printer": 2, "printers": 3},
            {"printer": 1},
            {"*": -1},
            {},
        )
    ),
    ("its sample exceeds its bound", "multinomial", {"sample_bound": 7}, {}),
    ("its sample does not fit its size", "multinomial", {"training": {"keep_documents": 1}}, {}),
    (
        "a seed is a longer n-gram than its settings say",
        "seeds",
        {"seeds": [["料理", ["leek", "soup"], 10]]},
        {},
    ),
    (
        "it lacks the loss of its unlabelled documents",
        "unlabelled",
        {"unlabelled": {"documents": 12, "losses": {"0": 0.1, "0.5": 0.1}}},
        {},
    ),
    (
        "it lacks the loss of its unlabelled documents",
        "unlabelled",
        {"unlabelled": {"documents": 12, "losses": {"1": 0.1}}},
        {},
    ),
    (
        "a label has more documents than there are",
        "several-labels",
        {},
        {"column_documents": [9, 2, 2, 10, 2]},
    ),
    (
        "a label has U+001F, which separates labels",
        "numbers-as-labels",
        {"label_kind": "text"},
        {"labels": list(b"\x1f79"), "label_lengths": [1, 1, 1]},
    ),
    ("a seed word is not a term", "seeds", {"seeds": [["bahçe 🌷", [], 10]]}, {}),
    (
        "its temperature is out of range",
        "multinomial",
        {"temperature": {"scale": 1e-300, "exponent": 999.9}},
        {},
    ),
    (
        "its temperature is out of range",
        "multinomial",
        {"temperature": {"scale": 1e-300, "exponent": -1000.0}},
        {},
    ),
    (
        "its temperature is out of range",
        "multinomial",
        {"temperature": {"scale": 1e-300, "exponent": 0}},
        {},
    ),
    *(
        ("its smoothing contradicts its settings", "multinomial", {"smoothing": number}, {})
        for number in (0, 1e-300, 1e-7, 1e10)
    ),
    ("its smoothing contradicts its settings", "own-smoothing", {"smoothing": 0.5}, {}),
    *(
        (
            "attributes and their smoothing do not fit",
            "attributes",
            {},
            {"fitted_attribute_smoothing": [number]},
        )
        for number in (0.0, 1e-300, 1e-7, 1e10)
    ),
    *(
        (
            "the labels of its documents left out are not sorted",
            "several-labels-logistic",
            {},
            {"left_out_labels": each, "left_out_label_counts": [2, 0]},
        )
        for each in ([2, 1], [0, 1])
    ),
    (
        "its likelihoods are not as many as there are quantiles",
        "multinomial",
        {},
        {"typicality": [0.5]},
    ),
    ("its likelihoods do not rise", "multinomial", {}, {"typicality": -np.arange(240.0)}),
    ("it has values of no attribute", "multinomial", {}, {"values": [1]}),
    ("it has values of no attribute", "multinomial", {}, {"value_sums": [1]}),
    ("it has values of no attribute", "multinomial", {}, {"sample_values": [1.0]}),
    (
        "it has sums of log weights and does not use them",
        "log-weights",
        {"training": {"weighting": "counts"}},
        {},
    ),
    (
        "its layers have more documents than were read",
        "unlabelled",
        {"unlabelled": {"documents": 1, "losses": {}}},
        {},
    ),
    ("its n-grams are longer than its settings say", "trigrams", {"training": {"ngrams": 1}}, {}),
    (
        "made with format tar, which nbtext no longer has",
        "multinomial",
        {"reading": {"format": "tar"}},
        {},
    ),
    ("its labels are of an unknown type", "multinomial", {"label_kind": "bytes"}, {}),
    ("class prior", "multinomial", {"training": {"class_prior": {"čas\tnaïve": 1}}}, {}),
    *(
        ("malformed", "seeds-and-unlabelled", {"training": each}, {})
        for each in (
            {"classifier": "bernoulli"},
            {"estimate": "ml"},
            {"top": 5},
            {"weighting": "tfidf"},
        )
    ),
    *(
        (
            f"made by a newer nbtext: it has the {content}; upgrade nbtext",
            "multinomial",
            {},
            {name: [1]},
        )
        for name, content in RESERVED_ARRAYS.items()
    ),
    ("it lacks parts of a model", "multinomial", {"extra": 1}, {}),
    ("it lacks parts of a model", "multinomial", {}, {"extra": [1]}),
    (
        "it lacks parts of a model",
        "multinomial",
        {},
        {"curve_places": [-30.0, 30.0], "curve_shares": [0.1, 0.9]},
    ),
    (
        "its classifier has no arrays of its own",
        "bernoulli",
        {},
        {"fitted_extra": [1.0]},
    ),
    (
        "its weighted counts do not fit its weighting",
        "multinomial",
        {},
        {"fitted_weighted_counts": [1.0]},
    ),
    ("its smoothing contradicts its settings", "complement", {"smoothing": 0}, {}),
    *(
        ("layers of unknown kinds", "multinomial", {"layers": each}, {})
        for each in (
            [],
            [["", 1, 0.5]],
            [["", 1, None], ["2025", 1000, None]],
            [["", 1, None], ["b", 1, None], ["a", 1, None]],
            [["", 1, None], ["a", 1, 0.5], ["b", 1, None]],
            [["", 1, None], ["a", 1, 0.5], ["a", 1, 0.25]],
        )
    ),
    (
        "columns and labels do not fit",
        "multinomial",
        {"layers": [["", 1, None], ["2025", 1, None]]},
        {},
    ),
    (
        "in no layer of documents",
        "unlabelled",
        {"layers": [["", 1, None], ["unlabelled", 1000, 0.5]]},
        {"sample_layers": [1] * 12},
    ),
    ("training does not make such choices", "multinomial", {"choices": {"more": 1}}, {}),
    (
        "columns and labels do not fit",
        "multinomial",
        {"layers": [["", 1, None], ["unlabelled", 1000, 0.5]]},
        {},
    ),
    *(
        ("layers", "unlabelled", {"layers": [["", 1, None], *more]}, {})
        for more in ([], [["unlabelled", 1000, 0]], [["unlabelled", 1000, None]])
    ),
    ("the model is malformed", "weighted-documents", {"layers": [["", 1, None]]}, {}),
    *(
        ("training does not make such sample_bound", "multinomial", {"sample_bound": number}, {})
        for number in (-1, 2**64)
    ),
    (
        "its classifier keeps an array that belongs to no member",
        "average",
        {},
        {"fitted_extra": [1.0]},
    ),
    ("its arrays of Gaussian classes have other names", "gaussian", {}, {"fitted_extra": [1.0]}),
    ("its sample has impossible weights", "multinomial", {}, {"sample_weights": [1] * 9}),
    *(
        ("training does not make such unlabelled", "unlabelled", {"unlabelled": each}, {})
        for each in ({"weight": 0}, {"weight": None}, {"documents": 0}, {"seeds": 3})
    ),
]
"""What is found, in which model, and the settings and arrays that are wrong in it."""


def changed_arrays(array: NDArray[Any]) -> Iterator[tuple[object, NDArray[Any]]]:
    """Yield the array changed in every way, with what was done to it."""
    is_real = array.dtype.kind == "f"
    yield "kind", np.ones(array.shape, np.uint8 if is_real else np.float64)
    yield from {
        "long": np.append(array, array[-1:]),
        "short": array[:-1],
        "missing": array[:0],
        "reversed": array[::-1],
    }.items()
    yield from {
        "rolled": np.roll(array, 1),
        "doubled": array * 2,
        "negated": -array if is_real else array // 2,
    }.items()
    for value in (np.nan, np.inf, -1e35, 0, 1e35) if is_real else (0, 255, 2**63):
        for place in (0, -1):
            changed = array.astype(np.uint64) if value == 2**63 else array.copy()
            changed[place] = value
            yield value, changed


def changed_values(value: Any) -> Iterator[Any]:
    """Yield a value of JSON with one part changed, missing or too many."""
    yield from WRONG
    parts = (
        dict(enumerate(value))
        if isinstance(value, list)
        else value
        if isinstance(value, dict)
        else {}
    )
    for key, part in parts.items():
        others = {other: each for other, each in parts.items() if other != key}
        for changed in (
            *({**parts, key: changed} for changed in changed_values(part)),
            *([others] if others else ()),
        ):
            yield changed if parts is value else [*changed.values()]
    if isinstance(value, dict):
        yield {**value, "more": 1}


def find_problem(settings: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> str:
    """Return why a model is refused, or nothing."""
    try:
        decode_model(settings, arrays)
    except ModelError as problem:
        return str(problem)
    return ""


@pytest.mark.parametrize(("found", "name", "settings", "arrays"), BY_HAND)
def test_inconsistent_parts_are_refused(
    found: str, name: str, settings: dict[str, Any], arrays: dict[str, Any]
) -> None:
    before: Any
    before, kept, _ = read_model_file(str(FOLDER / f"format-2/{name}.model"))
    wrong = {
        key: {**before.get(key, {}), **value} if isinstance(value, dict) else value
        for key, value in settings.items()
    }
    numbers = {
        key: np.array(value, np.uint8 if isinstance(value[0], int) else np.float64)
        for key, value in arrays.items()
    }
    assert found in find_problem({**before, **wrong}, {**kept, **numbers})


def findings_in_source() -> set[str]:
    """Return all that the reader of a model can find."""
    calls = [
        node
        for module in READERS
        for node in ast.walk(ast.parse(inspect.getsource(module)))
        if isinstance(node, ast.Call)
    ]
    said = [
        node.args[-1]
        for node in calls
        if getattr(node.func, "id", "") in ("require_valid_model", "malformed_model_error")
        and node.args
    ]
    parts = [
        part.value
        for each in said
        for part in ast.walk(each)
        if isinstance(part, ast.Constant) and isinstance(part.value, str)
    ]
    return {part for part in parts if " " in part.strip()}


def test_changed_part_is_refused_and_each_check_is_triggered() -> None:
    """Of models of every kind: with a true digest, so that only the schema and what fits together tell."""
    models = {path: read_model_file(str(path))[:2] for path in FILES}
    found = {each for each, *_ in BY_HAND}
    for name in dict.fromkeys(name for _, arrays in models.values() for name in arrays):
        having = [each for each in models.values() if name in each[1]]
        for settings, arrays in some(
            having, 3 * OF_ROOM if is_room_run() else 3
        ):  # with fewer, a check would find none
            for change, changed in changed_arrays(arrays[name]):
                found.add(
                    said := find_problem(
                        settings,
                        {
                            key: array
                            for key, array in {**arrays, name: changed}.items()
                            if array.size
                        },
                    )
                )
                assert (
                    said
                    or name in ACCEPTED.get(change, "").split()
                    or np.array_equal(changed, arrays[name])
                ), (name, change)
                assert "\n" not in said
    assert {
        each for each in findings_in_source() if not any(each in said for said in found)
    } == RARE


def test_changed_setting_is_refused_or_valid() -> None:
    models = [read_model_file(str(path))[:2] for path in FILES]
    for name, setting in SETTINGS.items():
        having = [each for each in models if name in each[0]]
        for settings, arrays in some(having, 2):
            assert (
                find_problem({key: value for key, value in settings.items() if key != name}, arrays)
                or setting.default is not REQUIRED
            )
            for value in changed_values(settings[name]):
                assert find_problem({**settings, name: value}, arrays) or has_form(
                    value, setting.form
                ), (
                    name,
                    value,
                )

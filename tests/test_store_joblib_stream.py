"""The payload of a model file: the bytes of `joblib.dump`, which is the oracle."""

from __future__ import annotations

import io
from typing import Any

import joblib
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from nbtext.store.joblib_stream import write_joblib
from nbtext.store.model_file import ARRAY_DTYPES

NAMES = st.sampled_from(
    ["terms", "dtype", "order", "C", "<", "numpy", "joblib.numpy_pickle", "x" * 300]
)
PLAIN: Any = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(2**70), 2**70),
        st.floats(),
        st.text(max_size=5),
        NAMES,
        st.just("long " * 20_000),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.one_of(NAMES, st.text(max_size=3)), inner, max_size=4),
    ),
    max_leaves=12,
)
SHAPES = st.lists(
    st.tuples(st.sampled_from(ARRAY_DTYPES), st.sampled_from([1, 2, 7, 255, 256, 30_000])),
    max_size=5,
)


@given(settings=PLAIN, shapes=SHAPES, before=st.integers(0, 40))
def test_stream_equals_joblib_dump_with_the_reported_offsets(
    settings: object, shapes: list[tuple[str, int]], before: int
) -> None:
    arrays = {
        f"array {place}": np.arange(size).astype(kind) for place, (kind, size) in enumerate(shapes)
    }
    contents = {"format": 1, "settings": settings, **arrays}
    ours, theirs = (io.BytesIO(bytes(before)) for _ in range(2))
    for file in (ours, theirs):
        file.seek(0, io.SEEK_END)
    offsets = write_joblib(contents, ours)
    joblib.dump(contents, theirs, protocol=4)
    assert ours.getvalue() == theirs.getvalue()
    found = [
        ours.getvalue()[offset : offset + array.nbytes]
        for offset, array in zip(offsets, arrays.values(), strict=True)
    ]
    assert found == [array.tobytes() for array in arrays.values()]

"""JSON that is read strictly, wherever it comes from."""

from __future__ import annotations

import pytest

from nbtext.strict_json import parse_json

DEEP = "[" * 100_000


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"a": 1, "a": 2}', "the key 'a' is repeated"),
        ('{"n": NaN}', "NaN is not a JSON number"),
        (b"[-Infinity]", "-Infinity is not a JSON number"),
        (DEEP, "nested too deeply"),
        ('{"a"', "Expecting"),
    ],
)
def test_invalid_json_raises_value_error(text: str | bytes, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        parse_json(text)


def test_valid_json_is_parsed() -> None:
    assert parse_json('{"a": [1, 2.5, null], "b": {"a": "x"}}') == {
        "a": [1, 2.5, None],
        "b": {"a": "x"},
    }

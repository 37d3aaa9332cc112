"""The lint of English and of long functions finds its faults, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.prose import (
    MAX_FUNCTION_LINES,
    MAX_PAGE_COLUMNS,
    find_long_functions,
    find_long_lines,
    find_unclear_english,
)

PATH = Path("example.py")


@pytest.mark.parametrize(
    ("source", "line"),
    [
        ('"""Return what the file contains."""', 1),
        ('def f():\n    """Count the words.\n\n    Besides, count lines.\n    """', 2),
        ('x = 1\n"""Of all documents, the number that are left."""', 2),
        ("x = 1  # Train anew.", 1),
        ('class A:\n    """A promise."""', 2),
        ('"""Return the judgements of folds."""', 1),
    ],
)
def test_docstrings_and_comments_that_match_a_pattern_are_found(source: str, line: int) -> None:
    assert [fault.line for fault in find_unclear_english(PATH, source)] == [line]


@pytest.mark.parametrize(
    "source",
    [
        '"""Return the number of documents."""',
        '"""Return `judge` and ``beyond chance``."""',
        '"""Divide.\n\n>>> split("anew")\n"""',
        'message = "Besides, this is a message"',
        'def command():\n    """Judge the model."""',
    ],
)
def test_code_messages_and_help_are_not_docstrings(source: str) -> None:
    assert list(find_unclear_english(PATH, source)) == []


def make_function(n_lines: int) -> str:
    """Make a function with a docstring, comments and ``n_lines`` lines of code."""
    lines = ['    """Do it.', "", "    Twice.", '    """', "    # A comment.", ""]
    return "\n".join(["def work():", *lines, *["    print()"] * n_lines])


def test_functions_are_measured_in_lines_of_code() -> None:
    assert list(find_long_functions(PATH, make_function(MAX_FUNCTION_LINES))) == []
    (fault,) = find_long_functions(PATH, make_function(MAX_FUNCTION_LINES + 1))
    assert fault.message.startswith(f"work has {MAX_FUNCTION_LINES + 1} lines")
    assert list(find_long_functions(PATH, 'def empty():\n    """Do nothing."""')) == []


def test_only_prose_of_a_page_has_a_maximum_length() -> None:
    long_line = "a " * (MAX_PAGE_COLUMNS // 2) + "b"
    page = "\n".join(
        ["```", long_line, "```", f"| {long_line} |", f"[link]: {long_line}", long_line]
    )
    assert [fault.line for fault in find_long_lines(PATH, page)] == [6]

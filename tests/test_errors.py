"""Errors: their line for people, counts with their nouns, and the exit statuses of the contract."""

from __future__ import annotations

import ast
import errno
import os
import re
from typing import TYPE_CHECKING

import pytest

from nbtext import errors
from nbtext.errors import (
    DocumentError,
    LockedError,
    ModelError,
    NbtextError,
    PathError,
    UsageError,
    WorkerError,
    describe_os_error,
    format_quantity,
)
from tests.process import REPOSITORY, nbtext, write
from tests.test_structure import FILES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        (NbtextError, 70),
        (DocumentError, 1),
        (UsageError, 2),
        (ModelError, 3),
        (PathError, 4),
        (WorkerError, 4),
        (LockedError, 5),
    ],
)
def test_every_error_class_has_its_exit_status(kind: type[NbtextError], status: int) -> None:
    assert kind("wrong").exit_status == status


def test_every_exit_status_is_documented() -> None:
    page = (REPOSITORY / "docs/command-line.md").read_text(encoding="utf-8")
    documented = {
        int(status)
        for status in re.findall(
            r"^\| (\d+) \|",
            page.partition("## Exit statuses")[2].partition("\n## ")[0],
            re.MULTILINE,
        )
    }
    kinds = [
        kind
        for kind in vars(errors).values()
        if isinstance(kind, type) and issubclass(kind, NbtextError)
    ]
    assert len(kinds) == 8
    assert {kind.exit_status for kind in kinds} | {0, 6, 7} == documented


def test_error_message_has_location_cause_and_hint() -> None:
    assert str(PathError("cannot write")) == "cannot write"
    assert str(PathError("cannot write", where="a/b")) == "a/b: cannot write"
    assert str(PathError("cannot write", hint="make room")) == "cannot write; make room"
    assert (
        str(PathError("cannot write", where="a/b", hint="make room"))
        == "a/b: cannot write; make room"
    )


def test_usage_error_is_a_value_error() -> None:
    with pytest.raises(ValueError, match="wrong"):
        raise UsageError("wrong")


@pytest.mark.parametrize(
    ("problem", "said"),
    [
        (OSError(errno.ENOENT, os.strerror(errno.ENOENT), "a/b"), "no such file or directory"),
        (OSError("Read-only."), "read-only"),
        (OSError(), "oserror"),
        (BlockingIOError(), "blockingioerror"),
    ],
)
def test_describe_os_error_omits_the_path(problem: OSError, said: str) -> None:
    assert describe_os_error(problem) == said


NOUNS = "attribute|class|column|document|feature|file|fold|group|label|model|n-gram|occurrence|other|row|run|term|token|word"
PLURAL = re.compile(rf"[ \u00a0](?:\w+ )?(?:{NOUNS})e?s\b")


def plurals_after_a_number(source: str) -> Iterator[str]:
    """Yield what stands in f-strings as "{n} documents"; names in capitals are constants, of which none is 1."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.JoinedStr):
            continue
        for value, after in zip(node.values, node.values[1:], strict=False):
            if (
                isinstance(value, ast.FormattedValue)
                and isinstance(after, ast.Constant)
                and isinstance(after.value, str)
                and PLURAL.match(after.value)
            ):
                shown = ast.unparse(value.value)
                if value.format_spec is not None and not shown.isupper():
                    yield f"{{{shown}}}{after.value}"


def test_counts_are_never_printed_with_a_fixed_plural() -> None:
    for path in FILES:
        assert list(plurals_after_a_number(path.read_text(encoding="utf-8"))) == [], path


def test_fixed_plural_is_detected() -> None:
    assert list(plurals_after_a_number('f"{n:,} documents, {MOST:,} terms, {name} classes"')) == [
        "{n} documents, "
    ]


def test_format_quantity_uses_singular_only_for_one() -> None:
    assert [format_quantity(n, "class") for n in (0, 1, 2, 1000)] == [
        "0 classes",
        "1 class",
        "2 classes",
        "1,000 classes",
    ]
    assert format_quantity(1, "training document") == "1 training document"


def test_model_of_one_document_is_described_in_the_singular(tmp_path: Path) -> None:
    write("c.tsv", "a\tmoon\n")
    trained = nbtext("train c.tsv -v -m m --keep-documents 0")
    assert any("1 class, 1 document, 1 token, 1 term, " in note for note in trained.notes)

"""Errors: their line for people, and the exit statuses of the contract."""

from __future__ import annotations

import errno
import os
import re

import pytest

from nbtext import errors
from nbtext.errors import DocumentError, LockedError, ModelError, NbtextError, PathError, UsageError, WorkerError, reason
from tests.process import REPOSITORY


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
def test_every_kind_has_its_exit_status(kind: type[NbtextError], status: int) -> None:
    assert kind("wrong").exit_status == status


def test_every_exit_status_is_documented() -> None:
    page = (REPOSITORY / "docs/command-line.md").read_text(encoding="utf-8")
    documented = {
        int(status) for status in re.findall(r"^\| (\d+) \|", page.partition("## Exit statuses")[2].partition("\n## ")[0], re.MULTILINE)
    }
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, NbtextError)]
    assert len(kinds) == 8
    assert {kind.exit_status for kind in kinds} | {0, 6} == documented


def test_an_error_says_where_what_and_what_to_do() -> None:
    assert str(PathError("cannot write")) == "cannot write"
    assert str(PathError("cannot write", where="a/b")) == "a/b: cannot write"
    assert str(PathError("cannot write", hint="make room")) == "cannot write; make room"
    assert str(PathError("cannot write", where="a/b", hint="make room")) == "a/b: cannot write; make room"


def test_wrong_usage_is_a_value_error_for_those_who_know_no_other() -> None:
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
def test_the_reason_is_what_the_system_said_without_the_path(problem: OSError, said: str) -> None:
    assert reason(problem) == said

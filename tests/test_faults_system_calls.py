"""Every command that reads or writes a model, with a fault in every one of its system calls, one run for each.

After each run the old model or the new one is there, no temporary file survives the next run, and nothing wrong has been printed.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import pytest

from tests.commands import READING, WRITING, Setting, prepare
from tests.profiles import rounds, some
from tests.tracing import CALLS, Fault, run_with_faults, untraceable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.commands import Arguments
    from tests.process import Result
    from tests.tracing import Traced

FAULTS = {
    "open": ("EACCES", "EIO", "ENOSPC"),
    "read": ("EIO",),
    "list": ("EIO",),
    "stat": ("EACCES",),
    "access": ("EACCES",),
    "readlink": ("EIO",),
    "write": ("ENOSPC", "EIO", "EACCES"),
    "map": ("ENOMEM",),
    "close": ("EIO",),
    "sync": ("EIO", "ENOSPC"),
    "rename": ("EACCES", "EXDEV", "EBUSY"),
    "remove": ("EACCES", "EIO"),
    "link": ("EPERM", "EIO"),
    "mode": ("EPERM", "EIO"),
    "owner": ("EPERM",),
    "lock": ("ENOLCK", "EIO"),
}
"""What the calls of each kind may fail with: with the first of them in every command, with the others in one of them.

Those that cannot fail on a machine that works are left out: the position in a file, the working directory, random numbers.
"""

SAVING = ("open", "read", "write", "sync", "rename", "remove", "lock")
WHOLE = ("train", "update once")
"""The commands in which every call is tried; in the others, which go the same way, those of these kinds."""

pytestmark = pytest.mark.repeated
STRIDE = rounds(11, 1)
"""Each how many-th call of a kind fails."""


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Setting]:
    if (why := untraceable()) is not None:
        pytest.skip(why)
    made: dict[str, Setting] = {}

    def of(name: str) -> Setting:
        if name not in made:
            made[name] = prepare(tmp_path_factory.mktemp(name), {**WRITING, **READING}[name])
        return made[name]

    return of


@cache
def without_faults(folder: Path, arguments: Arguments) -> Traced:
    """Run a command, and count its system calls."""
    traced = run_with_faults(folder, arguments)
    assert traced.result.status == 0, traced
    assert traced.last("open") > 0, traced
    return traced


def each_fault(setting: Setting, kind: str, what: str) -> Iterator[Result]:
    """Runs with a fault in the first call of some kind, in the second, and so on to the last."""
    setting.restore()
    for number in range(
        1, without_faults(setting.folder, setting.command.arguments).last(kind) + 1, STRIDE
    ):
        setting.restore()
        traced = run_with_faults(
            setting.folder, setting.command.arguments, Fault(CALLS[kind], what, number)
        )
        if not traced.faults and traced.result.status == 0:
            return  # the counted run made more calls, for it compiled modules
        assert all(note.startswith("nbtext: ") for note in traced.result.notes), traced
        yield traced.result


@pytest.mark.parametrize(
    ("name", "kind"),
    some(
        [(name, kind) for name in WRITING for kind in FAULTS if name in WHOLE or kind in SAVING], 15
    ),
)
def test_failing_call_leaves_the_old_or_new_model(
    prepared: Callable[[str], Setting], name: str, kind: str
) -> None:
    for error in FAULTS[kind] if name == "train" else FAULTS[kind][:1]:
        for result in each_fault(prepared(name), kind, f"error={error}"):
            assert result.status in (0, 1, 3, 4), result
            assert len(result.notes) >= (result.status > 0), result
            assert not result.out, result
            prepared(name).check(result)


@pytest.mark.parametrize("kind", some(list(FAULTS), 5))
def test_failing_call_while_classifying_gives_no_wrong_prediction(
    prepared: Callable[[str], Setting], kind: str
) -> None:
    right = prepared("classify").out.splitlines()
    for error in FAULTS[kind]:
        for result in each_fault(prepared("classify"), kind, f"error={error}"):
            assert result.status in (0, 1, 3, 4), result
            rows = result.out.splitlines()
            assert (
                len(rows) == len(right) if result.status in (0, 1) else len(rows) <= len(right)
            ), result
            for row, expected in zip(rows, right, strict=False):
                name, label, why = row.split(b"\t")
                assert row == expected or (
                    result.status == 1
                    and name == expected.split(b"\t")[0]
                    and not label
                    and b"cannot" in why
                ), result
            assert result.status != 1 or rows != right
            prepared("classify").check(result)


@pytest.mark.parametrize("kind", some(list(FAULTS), 5))
def test_failing_call_while_inspecting_prints_nothing_wrong(
    prepared: Callable[[str], Setting], kind: str
) -> None:
    for error in FAULTS[kind][:1]:
        for result in each_fault(prepared("inspect"), kind, f"error={error}"):
            assert result.status in (0, 3, 4), result
            assert result.out == prepared("inspect").out or (result.status and not result.out), (
                result
            )
            prepared("inspect").check(result)


@pytest.mark.parametrize(
    ("name", "kind"),
    some(
        [
            (name, kind)
            for name in (*WRITING, *READING)
            for kind in ("read", "write", "sync", "lock")
        ],
        5,
    ),
)
def test_interrupted_call_is_repeated(
    prepared: Callable[[str], Setting], name: str, kind: str
) -> None:
    for result in each_fault(prepared(name), kind, "error=EINTR"):
        assert (result.status, result.out, result.err) == (0, prepared(name).out, b"")
        prepared(name).check(result)


SIGNALS = {"KILL": -9, "TERM": 143, "INT": 130, "HUP": 129}
"""With the status that each ends a run with."""

INTERRUPTED = b"nbtext: interrupted"


@pytest.mark.parametrize(
    ("name", "signal", "kind"),
    some(
        [
            *(
                (name, signal, kind)
                for name in WRITING
                for signal in SIGNALS
                for kind in ("write", "sync", "rename", "remove")
            ),
            *((name, "KILL", kind) for name in WHOLE for kind in ("open", "link", "lock")),
        ],
        13,
    ),
)
def test_signal_at_a_call_leaves_the_old_or_new_model(
    prepared: Callable[[str], Setting], name: str, kind: str, signal: str
) -> None:
    for result in each_fault(prepared(name), kind, f"signal={signal}"):
        assert (result.status, result.out) == (SIGNALS[signal], b"")
        expected = INTERRUPTED if signal == "INT" else b""
        assert result.err.partition(b";")[0].strip() == expected
        assert signal == "KILL" or not prepared(name).left_over(), result
        prepared(name).check(result)


def test_fault_30_second_ctrl_c_during_cleanup_leaves_a_valid_model(
    prepared: Callable[[str], Setting],
) -> None:
    setting = prepared("train")
    setting.restore()
    twice = Fault(CALLS["write"], "signal=INT", 1), Fault(CALLS["remove"], "signal=INT", 1)
    result, _ = run_with_faults(setting.folder, setting.command.arguments, *twice)
    assert (result.status, result.out) == (130, b"")
    assert result.err.startswith(INTERRUPTED)
    setting.check(result)

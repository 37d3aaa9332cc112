"""Items made ahead in a thread are the items, with what making them raises, and no thread stays behind."""

from __future__ import annotations

from contextlib import closing
from itertools import count, islice
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtext.errors import PathError
from nbtext.parallel.ahead import BATCHES_AHEAD, ahead, behind
from tests.process import until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def threads() -> int:
    """Return the number of threads of this process, also of those that Python does not list."""
    return len(list(Path("/proc/self/task").iterdir()))


@given(st.lists(st.integers(0, 5), max_size=30), st.integers(1, 6))
def test_all_items_come_in_order(items: list[int], batch_size: int) -> None:
    assert list(ahead(items, lambda item: item, batch_size)) == items


@given(st.integers(0, 20), st.integers(1, 6))
def test_a_failure_comes_after_the_items_before_it(n_items: int, batch_size: int) -> None:
    def failing() -> Iterator[int]:
        yield from range(n_items)
        raise PathError("cut short")

    items = ahead(failing(), lambda _: 1, batch_size)
    assert list(islice(items, n_items)) == list(range(n_items))
    with pytest.raises(PathError, match="cut short"):
        next(items)


def test_a_caller_that_stops_early_ends_the_thread_and_what_it_reads() -> None:
    before = threads()
    made: list[int] = []
    with closing(ahead((made.append(item) or item for item in count()), lambda _: 1, 1)) as items:  # type: ignore[func-returns-value]
        assert next(items) == 0
    until(lambda: threads() == before, "the end of the thread")
    assert len(made) <= BATCHES_AHEAD + 3


def test_without_a_thread_the_items_are_made_here(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    check_without_a_thread(monkeypatch, refused)


def test_a_thread_that_cannot_begin_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """As one that finds no memory for its first frame."""
    monkeypatch.setattr("nbtext.parallel.ahead._GRACE", 0.01)
    check_without_a_thread(monkeypatch, lambda *_: None)


def check_without_a_thread(monkeypatch: pytest.MonkeyPatch, start: Callable[..., object]) -> None:
    monkeypatch.setattr("nbtext.parallel.ahead.start_new_thread", start)
    assert list(ahead(range(5), lambda _: 1, 2)) == list(range(5))
    taken: list[int] = []
    with behind(taken.append) as take:
        take(1)
        assert taken == [1]


@given(st.lists(st.integers(), max_size=30))
def test_all_items_are_taken_in_order_when_the_work_behind_ends(items: list[int]) -> None:
    taken: list[int] = []
    with behind(taken.append) as take:
        for item in items:
            take(item)
    assert taken == items


@given(st.integers(0, 9), st.integers(1, 10))
def test_what_the_work_behind_raises_reaches_the_caller_and_ends_it(bad: int, n_items: int) -> None:
    before = threads()
    taken: list[int] = []

    def take_one(item: int) -> None:
        if item == bad:
            raise PathError("cut short")
        taken.append(item)

    def take_all() -> None:
        with behind(take_one) as take:
            for item in range(n_items):
                take(item)

    if bad < n_items:
        with pytest.raises(PathError, match="cut short"):
            take_all()
    else:
        take_all()
    assert taken == list(range(min(bad, n_items)))
    until(lambda: threads() == before, "the end of the thread")


def test_a_caller_that_fails_leaves_no_thread_behind() -> None:
    before = threads()

    def fail() -> None:
        with behind(lambda _: None) as take:
            take(1)
            raise PathError("cut short")

    with pytest.raises(PathError, match="cut short"):
        fail()
    until(lambda: threads() == before, "the end of the thread")

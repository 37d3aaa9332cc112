"""Steps of long work: who hears them, and in which order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbtext.steps import Step, is_watched, reporting, stepped, watching

if TYPE_CHECKING:
    import pytest


def test_steps_of_work_within_work_are_heard_outermost_first() -> None:
    heard: list[tuple[Step, ...]] = []
    with watching(heard.append):
        for _ in stepped("ab", "fold", 2):
            with reporting("iteration") as report:
                report(7, "near the minimum")
    one, two, end = (Step("fold", done, 2) for done in range(3))
    within = (Step("iteration", 0), Step("iteration", 7, None, "near the minimum"))
    assert heard == [(one,), *((one, step) for step in within), (one,), (two,), *((two, step) for step in within), (two,), (end,), ()]
    heard.clear()
    assert not is_watched()
    assert list(stepped("ab", "fold")) == ["a", "b"]
    assert heard == []


def test_a_fork_of_a_watched_process_is_not_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    with watching(print):
        assert is_watched()
        monkeypatch.setattr("nbtext.steps.os.getpid", lambda: 1)
        assert not is_watched()

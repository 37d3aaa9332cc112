"""Steps of long work: who hears them, and in which order."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING

import numpy as np

from nbtext.progress import (
    Pace,
    Step,
    is_progress_watched,
    start_progress,
    track_progress,
    watching,
)

if TYPE_CHECKING:
    import pytest


def test_nested_steps_are_reported_outermost_first() -> None:
    heard: list[tuple[Step, ...]] = []
    with watching(heard.append):
        for _ in track_progress("ab", "fold", 2):
            with start_progress("iteration") as report:
                report(7, "near the minimum")
    one, two, end = (Step("fold", done, 2) for done in range(3))
    within = (Step("iteration", 0), Step("iteration", 7, None, "near the minimum"))
    assert heard == [
        (one,),
        *((one, step) for step in within),
        (one,),
        (two,),
        *((two, step) for step in within),
        (two,),
        (end,),
        (),
    ]
    heard.clear()
    assert not is_progress_watched()
    assert list(track_progress("ab", "fold")) == ["a", "b"]
    assert heard == []


def test_forked_process_is_not_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    with watching(print):
        assert is_progress_watched()
        monkeypatch.setattr("nbtext.progress.os.getpid", lambda: 1)
        assert not is_progress_watched()


def test_pace_adapts_to_a_report_every_twentieth_of_a_second(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = [0.0]
    monkeypatch.setattr("nbtext.progress.time", SimpleNamespace(monotonic=lambda: now[0]))

    def dues(pace: Pace, seconds: float, reports: int) -> list[int]:
        """When reports come after so many seconds each."""
        found = []
        for _ in range(reports):
            now[0] += seconds
            pace.record_report()
            found.append(pace.next_report)
        return found

    pace = Pace()
    assert pace.next_report == 1
    assert dues(pace, 0.001, 4) == [3, 7, 15, 31]
    assert dues(pace, 1, 3) == [31 + 8, 39 + 4, 43 + 2]
    assert dues(pace, 1, 3) == [46, 47, 48]
    assert np.diff(dues(pace, 0, 15)).max() == 1024

"""The progress line on a terminal, once a command has taken longer than a second: what is done, at which rate, time left."""

from __future__ import annotations

import contextlib
import time
from functools import cached_property
from typing import TYPE_CHECKING

from nbtext.cli.messages import clear_progress, draw_progress
from nbtext.errors import format_quantity

if TYPE_CHECKING:
    from rich.console import Console

    from nbtext.progress import Step

SHOW_AFTER_SECONDS = 1.0
"""Seconds before anything is shown."""

DRAW_INTERVAL_SECONDS = 0.2
"""Seconds between two drawings."""

_BAR = 30


class ProgressLine:
    """Shows the steps that `nbtext.progress.observe_progress` hears of in one line, and erases it when the outermost work is over.

    It is drawn with rich, which is imported with the first line.
    """

    def __init__(self) -> None:
        self._begin = self._work_begin = time.monotonic()
        self._shown = 0.0

    def __call__(self, steps: tuple[Step, ...]) -> None:
        """Show how far the work is."""
        now = time.monotonic()
        if not steps:
            self._work_begin = now
            clear_progress()
        elif (
            now - self._begin > SHOW_AFTER_SECONDS
            and not 0 <= now - self._shown < DRAW_INTERVAL_SECONDS
        ):
            self._shown = now
            self.draw(steps, now - self._work_begin)

    def draw(self, steps: tuple[Step, ...], seconds: float) -> None:
        """Draw steps over the last line, after a bar if the share that is done is known and there is room; the outermost work has taken so many seconds."""
        share = None
        for step in reversed(steps):
            of_counted = (step.n_done + (share or 0.0)) / step.total if step.total else None
            share = of_counted if step.estimate_proportion is None else step.estimate_proportion()
        first = steps[0]
        parts = [part for step in steps for part in (_counted(step), step.detail) if part]
        if first.total is None and first.n_done and seconds:
            parts.insert(1, f"{first.n_done / seconds:,.0f} per second")
        if share:
            minutes, rest = divmod(round(seconds * (1 - share) / share), 60)
            parts.append(f"{minutes // 60}:{minutes % 60:02}:{rest:02} left")
        text = ", ".join(parts)
        room = self._console.width - len(text) - 2
        if share is None or room < _BAR // 2:
            line = text[: max(self._console.width - 1, 0)]
        else:
            from rich.progress_bar import ProgressBar

            with self._console.capture() as drawn:
                self._console.print(
                    ProgressBar(total=1, completed=share, width=min(_BAR, room)), end=""
                )
            line = f"{drawn.get()} {text}"
        with contextlib.suppress(OSError):
            draw_progress(line)

    @cached_property
    def _console(self) -> Console:
        from rich.console import Console

        return Console(stderr=True)


def _counted(step: Step) -> str:
    """Return how many are done, of how many if that is known."""
    return (
        format_quantity(step.n_done, step.noun)
        if step.total is None
        else f"{step.n_done:,} of {format_quantity(step.total, step.noun)}"
    )

"""The progress line on a terminal, shown if a command takes longer than a second."""

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
"""Time before the first line is drawn."""

DRAW_INTERVAL_SECONDS = 0.2
"""Minimum time between two drawings."""

_BAR_WIDTH = 30


class ProgressLine:
    """Shows the steps of `nbtext.progress.watching` in one line.

    The line has a bar, the numbers of items, the rate or the remaining time. It is erased when the
    outermost work ends. rich draws it, and is imported for the first line.
    """

    def __init__(self) -> None:
        self._start = time.monotonic()
        self._work_start = self._start
        self._last_drawn = 0.0

    def __call__(self, steps: tuple[Step, ...]) -> None:
        """Draw the steps if the last drawing is old enough; erase the line if there are none."""
        now = time.monotonic()
        if not steps:
            self._work_start = now
            clear_progress()
            return
        is_recent = 0 <= now - self._last_drawn < DRAW_INTERVAL_SECONDS
        if now - self._start > SHOW_AFTER_SECONDS and not is_recent:
            self._last_drawn = now
            self.draw(steps, now - self._work_start)

    def draw(self, steps: tuple[Step, ...], seconds: float) -> None:
        """Draw steps, outermost first, over the previous line.

        ``seconds`` is the time that the outermost work has taken. The bar is omitted if the
        proportion that is done is unknown, or if the terminal is too narrow.
        """
        proportion = _estimate_proportion(steps)
        text = _describe_steps(steps, proportion, seconds)
        width = self._console.width
        bar_space = width - len(text) - 2
        if proportion is None or bar_space < _BAR_WIDTH // 2:
            line = text[: max(width - 1, 0)]
        else:
            line = f"{self._render_bar(proportion, min(_BAR_WIDTH, bar_space))} {text}"
        with contextlib.suppress(OSError):
            draw_progress(line)

    def _render_bar(self, proportion: float, width: int) -> str:
        from rich.progress_bar import ProgressBar

        with self._console.capture() as capture:
            self._console.print(ProgressBar(total=1, completed=proportion, width=width), end="")
        return capture.get()

    @cached_property
    def _console(self) -> Console:
        from rich.console import Console

        return Console(stderr=True)


def _estimate_proportion(steps: tuple[Step, ...]) -> float | None:
    """Return the proportion of the outermost step that is done, or None if it is unknown.

    An inner step counts as a fraction of one item of the step around it.
    """
    proportion = None
    for step in reversed(steps):
        if step.estimate_proportion is not None:
            proportion = step.estimate_proportion()
        elif step.total:
            proportion = (step.n_done + (proportion or 0.0)) / step.total
        else:
            proportion = None
    return proportion


def _describe_steps(steps: tuple[Step, ...], proportion: float | None, seconds: float) -> str:
    """Return the numbers of items, the rate if the total is unknown, and the remaining time."""
    texts = []
    for step in steps:
        texts += [_format_count(step), step.detail]
    texts = [text for text in texts if text]
    outermost = steps[0]
    if outermost.total is None and outermost.n_done and seconds:
        texts.insert(1, f"{outermost.n_done / seconds:,.0f} per second")
    if proportion:
        seconds_left = round(seconds * (1 - proportion) / proportion)
        texts.append(f"{_format_duration(seconds_left)} left")
    return ", ".join(texts)


def _format_duration(seconds: int) -> str:
    """Return a time as hours:minutes:seconds."""
    minutes, seconds = divmod(seconds, 60)
    return f"{minutes // 60}:{minutes % 60:02}:{seconds:02}"


def _format_count(step: Step) -> str:
    """Return the number of items that are done, and the total if it is known."""
    if step.total is None:
        return format_quantity(step.n_done, step.noun)
    return f"{step.n_done:,} of {format_quantity(step.total, step.noun)}"

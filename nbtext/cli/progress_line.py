"""The progress line of a command on a terminal, shown if the command takes longer than a second.

`nbtext.cli.declarations.Command` connects the line to the reports of `nbtext.progress`.
"""

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

MAX_BAR_COLUMNS = 30
MIN_BAR_COLUMNS = 15


class ProgressLine:
    """Observer for `nbtext.progress.watching` that shows the steps of the work in one line.

    The line has a bar, the numbers of items, the rate or the remaining time. The line is erased
    when the outermost work ends. rich draws the bar. It is imported for the first line.
    """

    def __init__(self) -> None:
        now = time.monotonic()
        self._command_start = now
        self._outermost_start = now
        """Start of the outermost work. It is taken to be the end of the previous outermost work."""
        self._last_drawn = 0.0

    def __call__(self, steps: tuple[Step, ...]) -> None:
        """Draw the steps of the work, outermost first, unless the last drawing is recent.

        No steps mean that the outermost work has ended. Then the line is erased.
        """
        now = time.monotonic()
        if not steps:
            self._outermost_start = now
            clear_progress()
            return
        is_recent = now - self._last_drawn < DRAW_INTERVAL_SECONDS
        if now - self._command_start > SHOW_AFTER_SECONDS and not is_recent:
            self._last_drawn = now
            self.draw(steps, now - self._outermost_start)

    def draw(self, steps: tuple[Step, ...], seconds: float) -> None:
        """Draw steps, outermost first, over the previous line.

        ``seconds`` is the time that the outermost work has taken. The bar is omitted if the
        proportion of the work that is done is unknown, or if the terminal is too narrow.
        """
        proportion = _combine_proportions(steps)
        text = _describe_steps(steps, proportion, seconds)
        # A terminal may wrap after its last column.
        line_width = max(self._console.width - 1, 0)
        bar_width = min(line_width - 1 - len(text), MAX_BAR_COLUMNS)
        if proportion is None or bar_width < MIN_BAR_COLUMNS:
            line = text[:line_width]
        else:
            line = f"{self._render_bar(proportion, bar_width)} {text}"
        # If standard error cannot be written, the command continues without the line.
        with contextlib.suppress(OSError):
            draw_progress(line)

    def _render_bar(self, proportion: float, width: int) -> str:
        """Return a bar as text with control sequences for colours."""
        from rich.progress_bar import ProgressBar

        bar = ProgressBar(total=1, completed=proportion, width=width)
        with self._console.capture() as capture:
            self._console.print(bar, end="")
        return capture.get()

    @cached_property
    def _console(self) -> Console:
        from rich.console import Console

        return Console(stderr=True)


def _combine_proportions(steps: tuple[Step, ...]) -> float | None:
    """Return the finished proportion of the outermost step, or None if it is unknown.

    An inner step is work on the current item of the step around it. Its finished proportion is
    added to the number of finished items, or 0 if the proportion is unknown.
    """
    proportion = None
    for step in reversed(steps):  # from the innermost step
        inner_proportion = 0.0 if proportion is None else proportion
        if step.estimate_proportion is not None:
            proportion = step.estimate_proportion()
        elif step.total:
            proportion = (step.n_done + inner_proportion) / step.total
        else:
            proportion = None
    return proportion


def _describe_steps(steps: tuple[Step, ...], proportion: float | None, seconds: float) -> str:
    """Return the numbers of items, the rate if the total is unknown, and the remaining time.

    ``proportion`` is the finished proportion of the outermost step, and ``seconds`` its duration.
    """
    outermost, *inner_steps = steps
    texts = [_format_count(outermost)]
    if outermost.total is None and outermost.n_done and seconds:
        texts.append(f"{outermost.n_done / seconds:,.0f} per second")
    texts.append(outermost.detail)
    for step in inner_steps:
        texts += [_format_count(step), step.detail]
    if proportion:
        seconds_left = round(seconds * (1 - proportion) / proportion)
        texts.append(f"{_format_duration(seconds_left)} left")
    return ", ".join(text for text in texts if text)


def _format_duration(seconds: int) -> str:
    """Return a time as hours:minutes:seconds."""
    minutes, seconds = divmod(seconds, 60)
    return f"{minutes // 60}:{minutes % 60:02}:{seconds:02}"


def _format_count(step: Step) -> str:
    """Return the number of items that are done, and the total if it is known."""
    if step.total is None:
        return format_quantity(step.n_done, step.noun)
    return f"{step.n_done:,} of {format_quantity(step.total, step.noun)}"

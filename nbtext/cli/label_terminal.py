"""A terminal that sends single keys, given back as it was however the command ends; plain ANSI, so that it works over any line."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import termios
import tty
from codecs import getincrementaldecoder
from typing import TYPE_CHECKING, Any, Self

from nbtext.errors import UsageError
from nbtext.report.output_formats import has_styles

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import FrameType

_NAMED = {
    "\r": "enter",
    "\n": "enter",
    "\t": "tab",
    "\x7f": "backspace",
    "\b": "backspace",
    "\x04": "closed",
}
_SEQUENCES = {
    b"[A": "up",
    b"[B": "down",
    b"[5~": "page-up",
    b"[6~": "page-down",
    b"OA": "up",
    b"OB": "down",
}

_AFTER_ESCAPE = 0.05
"""Seconds in which the rest of a sequence comes; a line that is slower sends it in one packet all the same."""

_OPEN = "\x1b[?1049h\x1b[?25l"
_CLOSE = "\x1b[?25h\x1b[?1049l"
"""To the other screen, without the cursor, and back."""

_SIGNALS = (signal.SIGWINCH, signal.SIGTSTP, signal.SIGCONT, signal.SIGQUIT)


class Terminal:
    """Keys in, lines out; within ``with`` the terminal belongs to us."""

    def __init__(self) -> None:
        """Find the terminal: the standard streams, or the one that controls this process; raise `UsageError` without one."""
        self._plain = not has_styles()
        if sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty():
            self._input = sys.stdin.fileno()
            self._output = sys.stdout.fileno()
        else:
            try:
                self._input = self._output = os.open("/dev/tty", os.O_RDWR | os.O_CLOEXEC)
            except OSError:
                raise UsageError(
                    "nbtext label needs a terminal", hint="without one use --suggest and --take"
                ) from None
        self._before: list[Any] | None = None
        self._handlers: dict[int, Any] = {}
        self._decoder = getincrementaldecoder("utf-8")("replace")
        self._resized = False
        self._wake = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)

    def __enter__(self) -> Self:
        self._before = termios.tcgetattr(self._input)
        for number in _SIGNALS:
            self._handlers[number] = signal.signal(number, self._on_signal)
        self._woken = signal.set_wakeup_fd(self._wake[1], warn_on_full_buffer=False)
        self._take()
        return self

    def __exit__(self, *_: object) -> None:
        signal.set_wakeup_fd(self._woken)
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        self._give_back()

    @property
    def size(self) -> tuple[int, int]:
        """Columns and lines."""
        with contextlib.suppress(OSError):
            columns, lines = os.get_terminal_size(self._output)
            if columns and lines:
                return columns, lines
        return 80, 24

    def draw(self, lines: Sequence[str]) -> None:
        """Draw a whole screen."""
        self._write(
            "\n".join([*lines, ""])
            if self._plain
            else "\x1b[H" + "\n".join(f"{line}\x1b[K" for line in lines) + "\x1b[J"
        )

    def read_key(self) -> str:
        """Wait for a key: a character, a name, ``resized`` if the screen is to be drawn again, or ``closed`` if nobody is there any more."""
        while True:
            if self._resized:
                self._resized = False
                return "resized"
            ready, _, _ = select.select([self._input, self._wake[0]], [], [])
            if self._wake[0] in ready:
                with contextlib.suppress(BlockingIOError):
                    os.read(self._wake[0], 256)
                continue
            found = self._read()
            if found:
                return found

    def _read(self) -> str:
        try:
            byte = os.read(self._input, 1)
        except OSError:
            byte = b""
        if not byte:
            return "closed"
        if byte == b"\x1b":
            rest = b""  # nothing for the key itself, else that of a sequence
            while select.select([self._input], [], [], _AFTER_ESCAPE)[0] and (
                byte := os.read(self._input, 1)
            ):
                rest += byte
                if len(rest) > 1 and (byte.isalpha() or byte == b"~"):
                    break
            return _SEQUENCES.get(rest, "") if rest else "escape"
        character = self._decoder.decode(byte)
        return _NAMED.get(character, character if character.isprintable() else "")

    def _on_signal(self, number: int, _: FrameType | None) -> None:
        if number in (signal.SIGTSTP, signal.SIGQUIT):
            self._give_back()
            signal.signal(number, self._handlers[number])
            os.kill(os.getpid(), number)
            signal.signal(number, self._on_signal)  # a stopped process goes on here
            self._take()
        self._resized = True

    def _take(self) -> None:
        with contextlib.suppress(termios.error):
            tty.setcbreak(self._input, termios.TCSADRAIN)
        if not self._plain:
            self._write(_OPEN)

    def _give_back(self) -> None:
        if not self._plain:
            self._write(_CLOSE)
        if self._before is not None:
            with contextlib.suppress(termios.error):
                termios.tcsetattr(self._input, termios.TCSADRAIN, self._before)

    def _write(self, text: str) -> None:
        left = text.encode("utf-8", "replace")
        with contextlib.suppress(OSError):  # the next key says that nobody is there
            while left:
                left = left[os.write(self._output, left) :]

"""A terminal that sends single keys. Its state is restored however the command ends.

Only ANSI sequences are used, so that it works over any connection.
"""

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

_KEY_NAMES = {
    "\r": "enter",
    "\n": "enter",
    "\t": "tab",
    "\x7f": "backspace",
    "\b": "backspace",
    "\x04": "closed",
}
_ESCAPE_SEQUENCES = {
    b"[A": "up",
    b"[B": "down",
    b"[5~": "page-up",
    b"[6~": "page-down",
    b"OA": "up",
    b"OB": "down",
}

_ESCAPE_TIMEOUT_SECONDS = 0.05
"""Time to wait for the rest of an escape sequence. Slow connections send it in one packet."""

_OPEN_SCREEN = "\x1b[?1049h\x1b[?25l"
"""Switch to the alternate screen, and hide the cursor."""
_CLOSE_SCREEN = "\x1b[?25h\x1b[?1049l"
"""Show the cursor, and switch back."""

_HANDLED_SIGNALS = (signal.SIGWINCH, signal.SIGTSTP, signal.SIGCONT, signal.SIGQUIT)


class Terminal:
    """Reads keys and draws lines. Inside ``with``, the terminal sends single keys."""

    def __init__(self) -> None:
        """Use the standard streams, or else the controlling terminal of this process.

        Raise `UsageError` if there is no terminal.
        """
        self._is_plain = not has_styles()
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
        self._original_attributes: list[Any] | None = None
        self._handlers: dict[int, Any] = {}
        self._decoder = getincrementaldecoder("utf-8")("replace")
        self._is_resized = False
        self._wake_pipe = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)

    def __enter__(self) -> Self:
        self._original_attributes = termios.tcgetattr(self._input)
        for number in _HANDLED_SIGNALS:
            self._handlers[number] = signal.signal(number, self._on_signal)
        self._original_wakeup = signal.set_wakeup_fd(self._wake_pipe[1], warn_on_full_buffer=False)
        self._enter_screen()
        return self

    def __exit__(self, *_: object) -> None:
        signal.set_wakeup_fd(self._original_wakeup)
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        self._leave_screen()

    @property
    def size(self) -> tuple[int, int]:
        """Number of columns and of lines."""
        with contextlib.suppress(OSError):
            columns, lines = os.get_terminal_size(self._output)
            if columns and lines:
                return columns, lines
        return 80, 24

    def draw(self, lines: Sequence[str]) -> None:
        """Draw the whole screen."""
        if self._is_plain:
            self._write("\n".join([*lines, ""]))
            return
        # Home; each line, cleared to its end; clear the rest of the screen.
        cleared_lines = "\n".join(f"{line}\x1b[K" for line in lines)
        self._write(f"\x1b[H{cleared_lines}\x1b[J")

    def read_key(self) -> str:
        """Wait for a key, and return its character or its name.

        Return ``resized`` if the screen must be drawn again, and ``closed`` if the terminal is
        gone.
        """
        while True:
            if self._is_resized:
                self._is_resized = False
                return "resized"
            ready, _, _ = select.select([self._input, self._wake_pipe[0]], [], [])
            if self._wake_pipe[0] in ready:
                with contextlib.suppress(BlockingIOError):
                    os.read(self._wake_pipe[0], 256)
                continue
            key = self._read()
            if key:
                return key

    def _read(self) -> str:
        """Read one key. Return "" if it has no name, or if its character is not complete yet."""
        try:
            byte = os.read(self._input, 1)
        except OSError:
            byte = b""
        if not byte:
            return "closed"
        if byte == b"\x1b":
            return self._read_escape_sequence()
        character = self._decoder.decode(byte)
        return _KEY_NAMES.get(character, character if character.isprintable() else "")

    def _read_escape_sequence(self) -> str:
        """Read the bytes after Escape. If none follow soon, the key was Escape itself."""
        sequence = b""
        while select.select([self._input], [], [], _ESCAPE_TIMEOUT_SECONDS)[0]:
            byte = os.read(self._input, 1)
            if not byte:
                break
            sequence += byte
            if len(sequence) > 1 and (byte.isalpha() or byte == b"~"):
                break
        if not sequence:
            return "escape"
        return _ESCAPE_SEQUENCES.get(sequence, "")

    def _on_signal(self, number: int, _: FrameType | None) -> None:
        if number in (signal.SIGTSTP, signal.SIGQUIT):
            self._leave_screen()
            signal.signal(number, self._handlers[number])
            os.kill(os.getpid(), number)
            # A stopped process resumes here.
            signal.signal(number, self._on_signal)
            self._enter_screen()
        self._is_resized = True

    def _enter_screen(self) -> None:
        """Let the terminal send single keys, and open the screen."""
        with contextlib.suppress(termios.error):
            tty.setcbreak(self._input, termios.TCSADRAIN)
        if not self._is_plain:
            self._write(_OPEN_SCREEN)

    def _leave_screen(self) -> None:
        """Restore the terminal."""
        if not self._is_plain:
            self._write(_CLOSE_SCREEN)
        if self._original_attributes is not None:
            with contextlib.suppress(termios.error):
                termios.tcsetattr(self._input, termios.TCSADRAIN, self._original_attributes)

    def _write(self, text: str) -> None:
        unwritten = text.encode("utf-8", "replace")
        # If the terminal is gone, the next key is "closed".
        with contextlib.suppress(OSError):
            while unwritten:
                unwritten = unwritten[os.write(self._output, unwritten) :]

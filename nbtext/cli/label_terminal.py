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
"""Time to wait for the rest of an escape sequence. Even slow connections send it in one packet."""

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
                    "nbtext label needs a terminal",
                    hint=("without a terminal, use --suggest and --take"),
                ) from None
        self._original_attributes: list[Any] | None = None
        self._original_handlers: dict[int, Any] = {}
        """The handlers of signals before ``with``, by signal number."""
        self._decoder = getincrementaldecoder("utf-8")("replace")
        self._is_resized = False
        self._wake_pipe_end, self._signal_pipe_end = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        """A pipe to which each signal writes a byte, so that `read_key` stops waiting."""

    def __enter__(self) -> Self:
        self._original_attributes = termios.tcgetattr(self._input)
        for number in _HANDLED_SIGNALS:
            self._original_handlers[number] = signal.signal(number, self._on_signal)
        self._original_wakeup = signal.set_wakeup_fd(
            self._signal_pipe_end, warn_on_full_buffer=False
        )
        self._enter_screen()
        return self

    def __exit__(self, *_: object) -> None:
        signal.set_wakeup_fd(self._original_wakeup)
        for number, handler in self._original_handlers.items():
            signal.signal(number, handler)
        self._leave_screen()

    @property
    def size(self) -> tuple[int, int]:
        """Number of columns and of lines, or 80 and 24 if the terminal does not know them."""
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
            readable, _, _ = select.select([self._input, self._wake_pipe_end], [], [])
            if self._wake_pipe_end in readable:
                # The bytes have no meaning. `_on_signal` has changed the state.
                with contextlib.suppress(BlockingIOError):
                    os.read(self._wake_pipe_end, 256)
                continue
            key = self._read_byte()
            if key:
                return key

    def _read_byte(self) -> str:
        """Read a byte or an escape sequence, and return the key.

        Return "" if the key has no name, or if the byte does not complete a character.
        """
        try:
            byte = os.read(self._input, 1)
        except OSError:
            byte = b""
        if not byte:
            return "closed"
        if byte == b"\x1b":
            return self._read_escape_sequence()
        character = self._decoder.decode(byte)
        if character in _KEY_NAMES:
            return _KEY_NAMES[character]
        return character if character.isprintable() else ""

    def _read_escape_sequence(self) -> str:
        """Read the bytes after Escape. If none follow soon, the key was Escape itself.

        A sequence is ``[`` or ``O``, optional digits, and a final letter or ``~``.
        """
        sequence = b""
        while True:
            readable, _, _ = select.select([self._input], [], [], _ESCAPE_TIMEOUT_SECONDS)
            byte = os.read(self._input, 1) if readable else b""
            if not byte:
                break
            sequence += byte
            is_final = byte.isalpha() or byte == b"~"
            if len(sequence) > 1 and is_final:
                break
        if not sequence:
            return "escape"
        return _ESCAPE_SEQUENCES.get(sequence, "")

    def _on_signal(self, number: int, _: FrameType | None) -> None:
        """Ask for the screen to be drawn again. Stop or quit with the terminal restored."""
        if number in (signal.SIGTSTP, signal.SIGQUIT):
            self._leave_screen()
            signal.signal(number, self._original_handlers[number])
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
        """Write a text to the terminal. Nothing happens if the terminal is gone."""
        unwritten = text.encode("utf-8", "replace")
        # If the terminal is gone, the next key is "closed".
        with contextlib.suppress(OSError):
            while unwritten:
                unwritten = unwritten[os.write(self._output, unwritten) :]

"""What is said beside the data: on standard error, a line each, safe to look at."""

from __future__ import annotations

import contextlib
import sys
from dataclasses import dataclass, field

from nbtext.report.visible import visible

SHOWN = 10
"""Lines about single documents before they are only counted."""


@dataclass
class Messages:
    """Errors and warnings always (warnings not with ``quiet``); notices on a terminal or with ``verbose``."""

    verbose: bool = False
    quiet: bool = False
    failed: int = 0
    _shown: int = field(default=0, repr=False)

    def notice(self, text: str) -> None:
        """Something worth knowing that needs no action."""
        if not self.quiet and (self.verbose or _is_terminal()):
            say(text)

    def warn(self, text: str) -> None:
        """Something that may need action."""
        if not self.quiet:
            say(f"warning: {text}")

    def document_failed(self, identity: str, problem: Exception) -> None:
        """A document that could not be read."""
        self.failed += 1
        if self._shown < SHOWN:
            self._shown += 1
            say(f"{identity}: {problem}")

    def finish(self) -> int:
        """Count what was not shown; the exit status: 1 if a document could not be read."""
        if self.failed > self._shown:
            say(f"could not be read besides: {counted(self.failed - self._shown)}")
        return 1 if self.failed else 0


def counted(documents: int) -> str:
    """The number with its noun."""
    return f"{documents:,} {'document' if documents == 1 else 'documents'}"


def say(text: str) -> None:
    """One line on standard error, if there is one."""
    if sys.stderr is not None:
        with contextlib.suppress(OSError):  # there is nowhere to say that nothing can be said
            print(f"nbtext: {visible(text)}", file=sys.stderr)


def _is_terminal() -> bool:
    return sys.stderr is not None and sys.stderr.isatty()

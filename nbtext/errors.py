"""What can go wrong, each kind with the exit status of the command line's contract.

The library raises these; one place (`nbtext.cli.main`) prints them as one line and exits.


Counts with their nouns, as messages and reports print them.
"""

from __future__ import annotations


class NbtextError(Exception):
    """A failure with a message for people: what is wrong, where, and (``hint``) what to do."""

    exit_status = 70

    def __init__(self, message: str, *, where: str | None = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.where = where
        self.hint = hint

    def __str__(self) -> str:
        text = f"{self.where}: {self.message}" if self.where else self.message
        return f"{text}; {self.hint}" if self.hint else text


class DocumentError(NbtextError):
    """One document could not be read; the others can."""

    exit_status = 1


class UsageError(NbtextError, ValueError):
    """A wrong option, value or combination of them."""

    exit_status = 2


class ModelError(NbtextError):
    """A model that is missing, damaged, of a newer format, or no model at all."""

    exit_status = 3


class PathError(NbtextError):
    """A path that cannot be read or written."""

    exit_status = 4


class WorkerError(NbtextError):
    """A process that worked for this one has ended before its work; as memory that ran out, since that is how it mostly ends."""

    exit_status = 4


class LockedError(NbtextError):
    """A model that another process is writing, and goes on writing."""

    exit_status = 5


def reason(problem: OSError) -> str:
    """What the operating system said, without the number and the path that the caller names itself."""
    return (problem.strerror or str(problem) or type(problem).__name__).lower().rstrip(".")


def quantity(n: int, noun: str) -> str:
    """Return the number with its noun.

    >>> quantity(1, "class"), quantity(2_000, "class"), quantity(3, "document")
    ('1 class', '2,000 classes', '3 documents')
    """
    return f"{n:,} {plural(n, noun)}"


def plural(n: int, noun: str) -> str:
    """Return the noun as it stands after the number."""
    return noun if n == 1 else noun + ("es" if noun.endswith("s") else "s")

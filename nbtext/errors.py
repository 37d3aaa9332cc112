"""Exceptions, each with its exit status; `nbtext.cli.main` prints them as one line. Also counts with their nouns and lists of names, as messages and reports print them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from nbtext.fast_dataclasses import dataclass

RESTORE_HINT = "restore it or train again"
"""What to do about a damaged model."""

MAX_LISTED_CLASSES = 10
"""Classes that a message names."""

MAX_LISTED_LABEL_CHARS = 50
"""Characters of a label in a list of sizes."""

_OPTION = re.compile(r"(?<![\w-])--(?:set )?([a-z][a-z-]*)")


class NbtextError(Exception):
    """A failure: what is wrong (``message``), where, and what to do (``hint``)."""

    exit_status = 70

    def __init__(self, message: str, *, where: str | None = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.where = where
        self.hint = hint

    @property
    def line(self) -> str:
        """The parts in one line, as commands print them."""
        text = f"{self.where}: {self.message}" if self.where else self.message
        return f"{text}; {self.hint}" if self.hint else text

    def __str__(self) -> str:
        """Return the line with the names of parameters in place of options, for Python."""
        return _OPTION.sub(lambda option: option[1].replace("-", "_"), self.line)


class DocumentError(NbtextError):
    """One document could not be read; the others can."""

    exit_status = 1


class UsageError(NbtextError, ValueError):
    """A wrong option, value or combination of them."""

    exit_status = 2


class NoDocumentsError(UsageError):
    """A corpus has not one document that can be read."""

    def __init__(self, message: str = "the corpus has no documents that can be read") -> None:
        super().__init__(message)


class ModelError(NbtextError):
    """A model is missing, damaged, of a newer format, or not a model."""

    exit_status = 3


def malformed_model_error(finding: str) -> ModelError:
    """Return the error for a model that training cannot have made."""
    return ModelError(f"the model is malformed: {finding}")


def require_valid_model(condition: object, finding: str) -> None:
    """Raise `malformed_model_error` unless the condition holds."""
    if not condition:
        raise malformed_model_error(finding)


class PathError(NbtextError):
    """A path cannot be read or written."""

    exit_status = 4


class WorkerError(NbtextError):
    """A worker process ended before its work was done; reported as out of memory, the usual cause."""

    exit_status = 4


class LockedError(NbtextError):
    """Another process kept the model locked."""

    exit_status = 5


PASSED = "ok"
WARNING = "warning"
FAILED = "failed"


@dataclass(frozen=True)
class Finding:
    """The result of one check."""

    check: str
    result: str
    """``ok``, ``warning`` or ``failed``."""
    detail: str
    """The finding."""
    fix: str | None = None
    """The remedy, if one is needed."""

    @property
    def line(self) -> str:
        """Finding and remedy in one line."""
        return f"{self.detail}; {self.fix}" if self.fix else self.detail


def describe_os_error(problem: OSError) -> str:
    """Return the message of the operating system, without error number and path."""
    return (problem.strerror or str(problem) or type(problem).__name__).lower().rstrip(".")


def format_quantity(n: float, noun: str) -> str:
    """Return a number with its noun, in the plural unless the number is 1.

    >>> quantity(1, "class"), quantity(2_000, "class"), quantity(3, "document")
    ('1 class', '2,000 classes', '3 documents')
    """
    return f"{n:,} {pluralize(n, noun)}"


def join_names(names: Sequence[str], max_names: int) -> str:
    """Return the first names with commas between them, and "and others" if there are more.

    >>> listed(["a", "b"], 2), listed(["a", "b", "c"], 2)
    ('a, b', 'a, b and others')
    """
    return ", ".join(names[:max_names]) + (" and others" if len(names) > max_names else "")


def format_sizes(sizes: Mapping[str, float], max_labels: int) -> str:
    """Return the labels of the most documents with their numbers, and how many more there are.

    >>> sizes_in_words({"spam": 527, "ham": 3213, "other": 4}, 2), sizes_in_words({"1": 20, "5": 3}, 2)
    ('ham 3,213, spam 527; 1 more', '1 (20), 5 (3)')
    """
    form = "{} ({:,})" if any(label[-1:].isdigit() for label in sizes) else "{} {:,}"
    ordered = sorted(sizes.items(), key=lambda item: -item[1])
    shown = ", ".join(form.format(_beginning(label), size) for label, size in ordered[:max_labels])
    n_more = len(ordered) - max_labels
    return f"{shown}; {n_more:,} more" if n_more > 0 else shown


def _beginning(name: str) -> str:
    """Return a name on one line, cut if it is long."""
    text = " ".join(name.split())
    return (
        text if len(text) <= MAX_LISTED_LABEL_CHARS else f"{text[: MAX_LISTED_LABEL_CHARS - 3]}..."
    )


def pluralize(n: float, noun: str) -> str:
    """Return the noun as it stands after the number."""
    return noun if n == 1 else noun + ("es" if noun.endswith("s") else "s")


def unknown_class_error(label: str, classes: Sequence[str], where: str | None = None) -> UsageError:
    """Return the error for a label that no class has. It asks about classes with near names, and lists the first `MAX_LISTED_CLASSES`."""
    message = f"the model has no class {label!r}{did_you_mean(label, classes)}"
    return UsageError(
        message, where=where, hint=f"its classes are {join_names(classes, MAX_LISTED_CLASSES)}"
    )


def did_you_mean(given: str, known: Sequence[str]) -> str:
    """Return a question in brackets to put after an unknown name: at most three near known ones, or such as begin with it; empty if there are none.

    >>> did_you_mean("germna", ["german", "greek"])
    " (did you mean 'german'?)"
    """
    from difflib import get_close_matches

    near = (
        get_close_matches(given, known, cutoff=0.75)
        or [name for name in known if given and name.startswith(given)][:3]
    )
    return f" (did you mean {' or '.join(repr(name) for name in near)}?)" if near else ""

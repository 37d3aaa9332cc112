"""Exceptions with their exit status, findings of checks, and functions for the text of messages.

`nbtext.cli.main` prints an exception as one line. The functions return numbers with their nouns,
lists of names, and suggestions for unknown names.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from nbtext.fast_dataclasses import dataclass

RESTORE_HINT = "restore it or train again"
"""Hint for a damaged model."""

MAX_LISTED_CLASSES = 10
"""Maximum number of class names in a message."""

MAX_LISTED_LABEL_CHARS = 50
"""Limit of a label in a list of sizes."""

_OPTION_NAME = re.compile(r"(?<![\w-])--(?:set )?([a-z][a-z-]*)")
"""An option in a message, such as ``--ngrams`` or ``--set l2``."""


class NbtextError(Exception):
    """A failure: a message, and optionally its place (``where``) and a remedy (``hint``)."""

    exit_status = 70  # EX_SOFTWARE of sysexits.h; the subclasses have other statuses

    def __init__(self, message: str, *, where: str | None = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.where = where
        self.hint = hint

    @property
    def line(self) -> str:
        """Place, message and hint in one line, as commands print them."""
        text = f"{self.where}: {self.message}" if self.where else self.message
        return f"{text}; {self.hint}" if self.hint else text

    def __str__(self) -> str:
        """Return the line as Python shows it, with names of parameters instead of options."""
        return _OPTION_NAME.sub(lambda match: match[1].replace("-", "_"), self.line)


class DocumentError(NbtextError):
    """One document cannot be read, which does not affect others."""

    exit_status = 1


class UsageError(NbtextError, ValueError):
    """A wrong option, value or combination of them."""

    exit_status = 2


class NoDocumentsError(UsageError):
    """A corpus contains no document that can be read."""

    def __init__(self, message: str = "the corpus has no readable documents") -> None:
        super().__init__(message)


class ModelError(NbtextError):
    """A model file is missing, damaged, of a newer format, or another kind of file."""

    exit_status = 3


def malformed_model_error(finding: str) -> ModelError:
    """Return the error for a model file that training cannot have written."""
    return ModelError(f"the model is malformed: {finding}")


def require_valid_model(condition: object, finding: str) -> None:
    """Raise `ModelError` for a malformed model unless the condition is true."""
    if not condition:
        raise malformed_model_error(finding)


class PathError(NbtextError):
    """A path cannot be read or written."""

    exit_status = 4


class WorkerError(NbtextError):
    """A worker process ended early. The message is about memory, which is the usual cause."""

    exit_status = 4


class LockedError(NbtextError):
    """Another process locked the model for too long."""

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
    """The finding in words."""
    fix: str | None = None
    """The remedy, or None if the finding needs no action."""

    @property
    def line(self) -> str:
        """Finding and remedy in one line."""
        return f"{self.detail}; {self.fix}" if self.fix else self.detail


def describe_os_error(problem: OSError) -> str:
    """Return the message of the operating system, without error number and path."""
    return (problem.strerror or str(problem) or type(problem).__name__).lower().rstrip(".")


def format_quantity(n: float, noun: str) -> str:
    """Return a number with its noun, in the plural unless the number is 1.

    >>> format_quantity(1, "class"), format_quantity(2_000, "class"), format_quantity(3, "document")
    ('1 class', '2,000 classes', '3 documents')
    """
    return f"{n:,} {pluralize(n, noun)}"


def join_names(names: Sequence[str], max_names: int) -> str:
    """Return the first names with commas between them, and "and others" if there are more.

    >>> join_names(["a", "b"], 2), join_names(["a", "b", "c"], 2)
    ('a, b', 'a, b and others')
    """
    text = ", ".join(names[:max_names])
    if len(names) > max_names:
        text += " and others"
    return text


def format_sizes(sizes: Mapping[str, float], max_labels: int) -> str:
    """Return labels with their numbers of documents, largest first, and the number of other labels.

    Labels with equal numbers keep their order.

    >>> format_sizes({"spam": 527, "ham": 3213, "other": 4}, 2)
    'ham (3,213), spam (527); 1 more'
    """
    ordered = sorted(sizes.items(), key=lambda item: -item[1])
    text = ", ".join(f"{_shorten_label(label)} ({size:,})" for label, size in ordered[:max_labels])
    n_omitted = len(ordered) - max_labels
    if n_omitted > 0:
        text += f"; {n_omitted:,} more"
    return text


def _shorten_label(label: str) -> str:
    """Return a label on one line, with its end cut off if it is too long."""
    text = " ".join(label.split())
    if len(text) <= MAX_LISTED_LABEL_CHARS:
        return text
    return f"{text[: MAX_LISTED_LABEL_CHARS - 3]}..."


def pluralize(n: float, noun: str) -> str:
    """Return the noun in the form for this number."""
    if n == 1:
        return noun
    return noun + ("es" if noun.endswith("s") else "s")


def unknown_class_error(label: str, classes: Sequence[str], where: str | None = None) -> UsageError:
    """Return the error for a label that is not a class of the model.

    It suggests similar names, and lists the first `MAX_LISTED_CLASSES` classes.
    """
    message = f"the model has no class {label!r}{did_you_mean(label, classes)}"
    hint = f"its classes are {join_names(classes, MAX_LISTED_CLASSES)}"
    return UsageError(message, where=where, hint=hint)


def did_you_mean(name: str, candidates: Sequence[str]) -> str:
    """Return a question in brackets that suggests up to three candidates for an unknown name.

    The candidates are those most similar to the name. If none is similar, they are the first that
    begin with the name. The text begins with a blank, or is empty without a suggestion.

    >>> did_you_mean("germna", ["german", "greek"])
    " (did you mean 'german'?)"
    """
    from difflib import get_close_matches

    suggestions = get_close_matches(name, candidates, cutoff=0.75)
    if not suggestions and name:
        suggestions = [candidate for candidate in candidates if candidate.startswith(name)][:3]
    if not suggestions:
        return ""
    return f" (did you mean {' or '.join(map(repr, suggestions))}?)"

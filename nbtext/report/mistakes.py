"""A file of mistakes: JSON lines, the surest mistake first.

Lines wait in a temporary file, in memory while they are few; of each, 24 bytes are kept to sort by.
"""

from __future__ import annotations

import tempfile
from array import array
from typing import IO, TYPE_CHECKING, Any, Self

import numpy as np

from nbtext.errors import PathError, reason
from nbtext.report.records import json_line, number
from nbtext.store.atomic import check_replaceable, replace_file

if TYPE_CHECKING:
    from collections.abc import Iterable

    from nbtext.explain.mistakes import Mistake

IN_MEMORY = 1 << 25
"""Bytes of lines before they go to disk."""


class MistakeFile:
    """Collects mistakes, then writes them to ``path`` at one stroke. Raises `PathError` if it cannot be written, at once if that shows."""

    def __init__(self, path: str) -> None:
        check_replaceable(path)
        self._path = path
        self._lines = tempfile.SpooledTemporaryFile(IN_MEMORY)  # noqa: SIM115 - closed by __exit__
        self._sureness = array("d")
        self._ends = array("q", [0])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._lines.close()

    def add(self, mistakes: Iterable[Mistake]) -> None:
        """Keep mistakes."""
        try:
            for mistake in mistakes:
                line = json_line(mistake_record(mistake)).encode()
                self._lines.write(line)
                self._ends.append(self._ends[-1] + len(line))
                self._sureness.extend((mistake.probability, mistake.margin))
        except OSError as problem:
            raise PathError(
                f"cannot write: {reason(problem)}", where=tempfile.gettempdir(), hint="set TMPDIR to a folder with room"
            ) from None

    def write(self) -> None:
        """Replace the file: by falling probability of the wrong answer, then by its margin, then in the order of the documents."""
        sureness = np.array(self._sureness).reshape(-1, 2)
        order = np.lexsort((-sureness[:, 1], -sureness[:, 0]))

        def fill(file: IO[bytes]) -> None:
            for place in order.tolist():
                self._lines.seek(self._ends[place])
                file.write(self._lines.read(self._ends[place + 1] - self._ends[place]))

        replace_file(self._path, fill)


def mistake_record(mistake: Mistake) -> dict[str, Any]:
    """id, truth, answer, probability and terms; nats are null where a term rules the true class out."""
    made: dict[str, Any] = {
        "id": mistake.id,
        "truth": mistake.truth,
        "answer": mistake.answer,
        "probability": float(number(mistake.probability)),
        "terms": [{"term": term, "nats": float(number(nats)) if np.isfinite(nats) else None} for term, nats in mistake.terms],
    }
    if mistake.against is not None:
        made["against"] = mistake.against
    return made

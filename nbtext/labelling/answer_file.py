"""Files of answers: lines under a lock, each on the disk before the next document is shown.

A file is only appended to; taking an answer back cuts off the last line. A line that a crash left half-written has no line end: it is cut off when the
file is opened again. So every prefix of what was written is a whole file, and what was answered is never lost. Nothing is cut off from a file that holds
anything else, or that another program wrote to or replaced meanwhile.

The file of a review is a patch of a labelled corpus: while the corpus is read, documents get other labels, and the corpus stays as it is.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Self

from nbtext.corpus.streams import read_option_file
from nbtext.document_fields import FIELDS_KEY, parse_field_pairs
from nbtext.errors import (
    WARNING,
    Finding,
    LockedError,
    PathError,
    UsageError,
    describe_os_error,
    format_quantity,
    join_names,
)
from nbtext.prediction.labels import (
    find_label_separator,
    format_label_cell,
    make_label_set,
    split_label,
    to_json_label,
)
from nbtext.store.atomic import sync_folder
from nbtext.strict_json import parse_json

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from nbtext.corpus.document import Document, Notices
    from nbtext.prediction.labels import Label

_ENCODING = "utf-8", "surrogateescape"

_BEGINNING = b'{"id": "'
"""Of each line of `LabelAnswer`."""


class LabelAnswer(NamedTuple):
    """A document with its label, as a line of JSON that `nbtext train` reads."""

    id: str
    label: Label
    """A set is a list on the line."""
    text: str
    who: str | None = None
    time: str | None = None
    nbtext_fields: Sequence[tuple[str, str]] | None = None
    """The fields of the document; the name is that of `FIELDS_KEY`."""

    @property
    def line(self) -> str:
        """The line, without its end."""
        record = {name: value for name, value in self._asdict().items() if value is not None}
        return json.dumps(record | {"label": to_json_label(self.label)}, ensure_ascii=False)

    @classmethod
    def from_line(cls, line: str) -> LabelAnswer:
        """Return the document of a line; raise `ValueError` if it is none."""
        record = parse_json(line)
        if not isinstance(record, dict) or not all(
            isinstance(record.get(name), str) for name in ("id", "text")
        ):
            raise ValueError
        label = record.get("label")
        if isinstance(label, list) and all(isinstance(each, str) for each in label):
            label = make_label_set(label)
        elif not isinstance(label, str) or not label:
            raise ValueError
        fields = record.get(FIELDS_KEY)
        if fields is not None:
            parse_field_pairs(fields)
        return cls(
            record["id"], label, record["text"], record.get("who"), record.get("time"), fields
        )  # who and time as they are


class ReviewAnswer(NamedTuple):
    """A document with its old and its new label, as a line of TSV."""

    id: str
    old_label: str
    new_label: str

    @property
    def line(self) -> str:
        """The line, without its end."""
        return "\t".join(field.translate(_ESCAPES) for field in self)

    @classmethod
    def from_line(cls, line: str) -> ReviewAnswer:
        """Return the document of a line; raise `ValueError` if it is none."""
        identity, before, after = line.split("\t")
        if not before or not after:
            raise ValueError
        return cls(
            *(
                _ESCAPE.sub(lambda escape: _ESCAPED[escape[0]], field)
                for field in (identity, before, after)
            )
        )


LabellingAnswer = LabelAnswer | ReviewAnswer

_ESCAPED = {"\\\\": "\\", "\\t": "\t", "\\n": "\n", "\\r": "\r"}
_ESCAPES = str.maketrans({character: escape for escape, character in _ESCAPED.items()})
_ESCAPE = re.compile(r"\\([\\tnr])")


class AnswerFile:
    """Answers in a file that this process alone writes to."""

    def __init__(self, path: str, parse_line: Callable[[str], LabellingAnswer]) -> None:
        """Open the file, or make it; raise `LockedError` if another process has it, `PathError` if it is no such file."""
        self.path = path
        self.was_repaired = False
        """True if a half-written line was cut off."""
        try:
            is_new = not os.path.lexists(path)
            self._descriptor = os.open(
                path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOCTTY, 0o666
            )
            try:
                fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                self.answers = self._read(parse_line)
            except BaseException:
                os.close(self._descriptor)
                raise
            if is_new:
                sync_folder(Path(path).absolute().parent)
        except BlockingIOError:
            raise LockedError(
                "another session has this file open",
                where=path,
                hint="end it, or give another file",
            ) from None
        except OSError as problem:
            raise PathError(f"cannot write ({describe_os_error(problem)})", where=path) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)

    def append(self, answer: LabellingAnswer) -> None:
        """Write an answer; when this returns it is on the disk. Raise `PathError` if that fails, and then the file is as before."""
        self._require_unchanged()
        line = f"{answer.line}\n".encode(*_ENCODING)
        begin = self._ends[-1]
        left = line
        try:
            while left:
                left = left[os.write(self._descriptor, left) :]
            os.fsync(self._descriptor)
        except BaseException as problem:
            if left or isinstance(problem, OSError):  # a signal may come after the line is there
                with contextlib.suppress(OSError):
                    os.ftruncate(self._descriptor, begin)
            if isinstance(problem, OSError):
                raise PathError(
                    f"cannot write ({describe_os_error(problem)})",
                    where=self.path,
                    hint="the answers before are in it",
                ) from None
            raise
        self._ends.append(begin + len(line))
        self.answers.append(answer)

    def remove_last(self) -> None:
        """Cut off the last answer; raise `PathError` as `append` does."""
        self._require_unchanged()
        self._ends.pop()
        self.answers.pop()
        try:
            os.ftruncate(self._descriptor, self._ends[-1])
            os.fsync(self._descriptor)
        except OSError as problem:
            raise PathError(
                f"cannot write ({describe_os_error(problem)})", where=self.path
            ) from None

    def _require_unchanged(self) -> None:
        """Raise `PathError` if the path leads to another file by now, or another program wrote to this one."""
        ours = os.fstat(self._descriptor)
        try:
            there = os.stat(self.path)
        except OSError:
            there = None
        if there is None or not os.path.samestat(ours, there):
            raise PathError(
                "was removed or replaced meanwhile",
                where=self.path,
                hint="the answers before are in the old file; begin again",
            )
        if ours.st_size != self._ends[-1]:
            raise PathError(
                "another program wrote to this file meanwhile",
                where=self.path,
                hint="begin again, to go on from what it holds",
            )

    def _read(self, of_line: Callable[[str], LabellingAnswer]) -> list[LabellingAnswer]:
        """Return the answers; end a last line that is whole, cut it off if it is not."""
        with open(self._descriptor, "rb", closefd=False) as file:
            content = file.read()
        answers = read_session_answers(self.path, content, of_line)
        self._ends = [0, *accumulate(map(len, content.splitlines(keepends=True)[: len(answers)]))]
        """Where each line ends, after 0."""
        if self._ends[-1] < len(content):
            os.ftruncate(self._descriptor, self._ends[-1])
            self.was_repaired = True
        elif content and not content.endswith(b"\n"):
            self._ends[-1] += os.write(self._descriptor, b"\n")
        return answers


def read_session_answers(
    path: str, content: bytes, parse_line: Callable[[str], LabellingAnswer]
) -> list[LabellingAnswer]:
    """Return what `read_answers` does; the last line may lack its end, or be half-written if a session can have begun it."""
    rest = content[content.rfind(b"\n") + 1 :]
    if _is_object(rest):
        return read_answers(path, content + b"\n", parse_line)
    answers = read_answers(path, content, parse_line)
    if rest and not answers and not _BEGINNING.startswith(rest[: len(_BEGINNING)]):
        raise PathError(
            "is no file of answers of nbtext label", where=path, hint="give another file with --to"
        )
    return answers


def _is_object(line: bytes) -> bool:
    """Return True if a line is a JSON object. A half-written one is not; a line of TSV may have lost the end of its class."""
    try:
        return line.startswith(b"{") and isinstance(parse_json(line.decode(*_ENCODING)), dict)
    except ValueError:
        return False


def read_answers(
    path: str,
    content: bytes,
    parse_line: Callable[[str], LabellingAnswer],
    hint: str = "give another file with --to",
) -> list[LabellingAnswer]:
    """Return the answers of whole lines; raise `PathError` for a line that is none or a document that is there twice."""
    answers: list[LabellingAnswer] = []
    first: dict[str, int] = {}
    for number, line in enumerate(content[: content.rfind(b"\n") + 1].splitlines(), 1):
        try:
            answer = parse_line(line.decode(*_ENCODING))
        except ValueError:
            raise PathError(
                "is no answer of nbtext label", where=f"{path}:{number}", hint=hint
            ) from None
        if (before := first.setdefault(answer.id, number)) != number:
            raise PathError(
                f"{answer.id} has an answer in line {before} already",
                where=f"{path}:{number}",
                hint="remove one of the lines",
            )
        answers.append(answer)
    return answers


SHOWN = 3
"""Documents that are named in a warning."""


class LabelPatch:
    """Maps documents to the same ones under the labels of a patch."""

    def __init__(self, path: str) -> None:
        """Read a patch; raise `PathError` for a file that cannot be read, or is none."""
        content = read_option_file(path)
        if content and not content.endswith(b"\n"):
            raise PathError(
                "the last line has no end, as after a power cut",
                where=path,
                hint="end it, or remove it",
            )
        rows = read_answers(
            path,
            content,
            ReviewAnswer.from_line,
            hint="lines have a document, its old and its new label, with tabs between them",
        )
        self.path = path
        self._rows = {
            row.id: (number, row)
            for number, row in enumerate(rows, 1)
            if isinstance(row, ReviewAnswer)
        }

    def __call__(self, document: Document, notices: Notices) -> Document:
        """Return the document under its new label; raise `UsageError` if it had neither the old nor the new one."""
        if (found := self._rows.get(document.id)) is None:
            return document
        number, row = found
        label = format_label_cell(document.label or "")
        if label not in (row.old_label, row.new_label):
            message = f"{row.id} has the label {label!r}, not {row.old_label!r}"
            raise UsageError(
                message, where=f"{self.path}:{number}", hint="review it again, or remove the line"
            )
        notices.relabelled_ids.append(row.id)
        after = split_label(row.new_label, find_label_separator([document.label]))
        return document._replace(label=after)

    def find_warnings(self, notices: Notices) -> list[Finding]:
        """List the finding that documents are not in the corpus."""
        met = set(notices.relabelled_ids)
        unmet = [name for name in self._rows if name not in met]
        if not unmet:
            return []
        return [
            Finding(
                "labels",
                WARNING,
                f"{self.path}: {format_quantity(len(unmet), 'document')} not in the corpus: "
                f"{join_names(unmet, SHOWN)}",
            )
        ]

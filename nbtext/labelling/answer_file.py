"""Files of the answers of `nbtext label`, each written to disk before the next document is shown.

A file is locked. A new answer is appended, and undoing an answer cuts off the last line. A crash
can leave a half-written last line without a line end. This line is cut off when the file is opened
again. Complete answers are never lost. Nothing is cut off from a file of another kind, or from a
file that another program has written to or replaced.

The file of a review is a patch of a labelled corpus: `LabelPatch` replaces labels while the corpus
is read. The corpus itself is not changed.
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
from nbtext.store.atomic import record_change, sync_folder
from nbtext.strict_json import parse_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from nbtext.corpus.document import Document, Notices
    from nbtext.prediction.labels import Label

_ENCODING = "utf-8", "surrogateescape"
"""Encoding and error handler: names of files may have any bytes."""

_LINE_START = b'{"id": "'
"""First bytes of each line of a `LabelAnswer`."""

_UNESCAPED = {"\\\\": "\\", "\\t": "\t", "\\n": "\n", "\\r": "\r"}
_ESCAPES = str.maketrans({character: escape for escape, character in _UNESCAPED.items()})
_ESCAPE_PATTERN = re.compile(r"\\([\\tnr])")

MAX_NAMED_DOCUMENTS = 3
"""Documents that a warning lists by name."""


class LabelAnswer(NamedTuple):
    """A document with its label, as a line of JSON that `nbtext train` can read.

    The fields are the keys of the line.
    """

    id: str
    label: Label
    """A label set becomes a list in JSON."""
    text: str
    who: str | None = None
    time: str | None = None
    nbtext_fields: Sequence[tuple[str, str]] | None = None
    """The document's fields as pairs of name and content. The key is `FIELDS_KEY`."""

    @property
    def line(self) -> str:
        """The line of JSON, without its line end."""
        record = {name: value for name, value in self._asdict().items() if value is not None}
        return json.dumps(record | {"label": to_json_label(self.label)}, ensure_ascii=False)

    @classmethod
    def from_line(cls, line: str) -> LabelAnswer:
        """Parse a line of JSON. Raise `ValueError` if it is not an answer."""
        record = parse_json(line)
        is_answer = isinstance(record, dict) and all(
            isinstance(record.get(key), str) for key in ("id", "text")
        )
        if not is_answer:
            raise ValueError
        label = record.get("label")
        if isinstance(label, list) and all(isinstance(name, str) for name in label):
            label = make_label_set(label)
        elif not isinstance(label, str) or not label:
            raise ValueError
        fields = record.get(FIELDS_KEY)
        if fields is not None:
            parse_field_pairs(fields)  # only to raise `ValueError`
        return cls(
            id=record["id"],
            label=label,
            text=record["text"],
            who=record.get("who"),  # `who` and `time` are only copied, so they may be anything
            time=record.get("time"),
            nbtext_fields=fields,
        )


class ReviewAnswer(NamedTuple):
    """A document with its old and its new label, as a line of TSV."""

    id: str
    old_label: str
    new_label: str

    @property
    def line(self) -> str:
        """The line of TSV, without its line end."""
        return "\t".join(cell.translate(_ESCAPES) for cell in self)

    @classmethod
    def from_line(cls, line: str) -> ReviewAnswer:
        """Parse a line of TSV. Raise `ValueError` if it is not an answer."""
        document_id, old_label, new_label = line.split("\t")
        if not old_label or not new_label:
            raise ValueError
        return cls(_unescape(document_id), _unescape(old_label), _unescape(new_label))


def _unescape(cell: str) -> str:
    r"""Replace the escapes of a cell by their characters.

    >>> _unescape(r"a\\tb")
    'a\\tb'
    """
    return _ESCAPE_PATTERN.sub(lambda match: _UNESCAPED[match[0]], cell)


LabellingAnswer = LabelAnswer | ReviewAnswer


class AnswerFile:
    """A file of answers that only this process may write to. Use it as a context manager."""

    def __init__(self, path: str, parse_line: Callable[[str], LabellingAnswer]) -> None:
        """Open or create the file, lock it and read its answers.

        Raise `LockedError` if another process has the file open.
        Raise `PathError` if it cannot be opened, or if a line is not an answer.
        """
        self.path = path
        self.was_repaired = False
        """True if a half-written last line was cut off."""
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
                hint="end that session, or choose another file",
            ) from None
        except OSError as problem:
            raise PathError(f"cannot write ({describe_os_error(problem)})", where=path) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)

    def append(self, answer: LabellingAnswer) -> None:
        """Write an answer and wait until it is on disk.

        Raise `PathError` if that fails. The file is then unchanged.
        """
        self._require_unchanged()
        line = f"{answer.line}\n".encode(*_ENCODING)
        start = self._line_ends[-1]
        unwritten = line
        record_change()
        try:
            while unwritten:
                unwritten = unwritten[os.write(self._descriptor, unwritten) :]
            os.fsync(self._descriptor)
        except BaseException as problem:
            # If a signal interrupts after the whole line was written, the line is kept.
            if unwritten or isinstance(problem, OSError):
                # If this fails, too, the line is cut off when the file is opened again.
                with contextlib.suppress(OSError):
                    os.ftruncate(self._descriptor, start)
            if isinstance(problem, OSError):
                raise PathError(
                    f"cannot write ({describe_os_error(problem)})",
                    where=self.path,
                    hint="the earlier answers are in it",
                ) from None
            raise
        self._line_ends.append(start + len(line))
        self.answers.append(answer)

    def remove_last(self) -> None:
        """Cut off the last answer. Raise `PathError` if that fails."""
        self._require_unchanged()
        record_change()
        self._line_ends.pop()
        self.answers.pop()
        try:
            os.ftruncate(self._descriptor, self._line_ends[-1])
            os.fsync(self._descriptor)
        except OSError as problem:
            raise PathError(
                f"cannot write ({describe_os_error(problem)})", where=self.path
            ) from None

    def _require_unchanged(self) -> None:
        """Raise `PathError` if another program has replaced, removed or written to the file."""
        own_status = os.fstat(self._descriptor)
        try:
            path_status = os.stat(self.path)
        except OSError:
            path_status = None
        if path_status is None or not os.path.samestat(own_status, path_status):
            raise PathError(
                "was removed or replaced by another program",
                where=self.path,
                hint="the earlier answers are in the old file; start again",
            )
        if own_status.st_size != self._line_ends[-1]:
            raise PathError(
                "another program wrote to this file",
                where=self.path,
                hint="start again to continue with its content",
            )

    def _read(self, parse_line: Callable[[str], LabellingAnswer]) -> list[LabellingAnswer]:
        """Return the answers of the file, note the ends of their lines, and repair the last line.

        A complete last line gets its missing line end. A half-written last line is cut off.
        """
        with open(self._descriptor, "rb", closefd=False) as file:
            content = file.read()
        answers = read_session_answers(self.path, content, parse_line)
        lines = content.splitlines(keepends=True)[: len(answers)]
        self._line_ends = list(accumulate(map(len, lines), initial=0))
        """Offset of the end of each line, after a first 0."""
        end = self._line_ends[-1]
        if end < len(content):
            os.ftruncate(self._descriptor, end)
            self.was_repaired = True
        elif content and not content.endswith(b"\n"):
            os.write(self._descriptor, b"\n")
            self._line_ends[-1] += 1
        return answers


def read_session_answers(
    path: str, content: bytes, parse_line: Callable[[str], LabellingAnswer]
) -> list[LabellingAnswer]:
    """Parse the content of a session's file, of which the last line may be incomplete.

    A last line without a line end is an answer if it is a JSON object. Otherwise it may be half of
    an answer, and is ignored, if it follows other answers or starts like an answer.

    Raise `PathError` for any other content.
    """
    last_line = content[content.rfind(b"\n") + 1 :]
    if _is_json_object(last_line):
        return read_answers(path, content + b"\n", parse_line)
    answers = read_answers(path, content, parse_line)
    # A short last line may be only a part of `_LINE_START`, or empty.
    starts_like_answer = _LINE_START.startswith(last_line[: len(_LINE_START)])
    if not answers and not starts_like_answer:
        raise PathError(
            "is not a file of nbtext label", where=path, hint="choose another file with --to"
        )
    return answers


def _is_json_object(line: bytes) -> bool:
    """Return True if a line is a complete JSON object.

    A line of TSV cannot be known to be complete, because its last label may be cut off.
    """
    try:
        return line.startswith(b"{") and isinstance(parse_json(line.decode(*_ENCODING)), dict)
    except ValueError:
        return False


def read_answers(
    path: str,
    content: bytes,
    parse_line: Callable[[str], LabellingAnswer],
    hint: str = "choose another file with --to",
) -> list[LabellingAnswer]:
    """Parse all lines that have a line end.

    Raise `PathError` if a line is not an answer, or if a document has two answers.
    """
    answers: list[LabellingAnswer] = []
    line_numbers: dict[str, int] = {}  # by document id
    complete_lines = content[: content.rfind(b"\n") + 1].splitlines()
    for line_number, line in enumerate(complete_lines, start=1):
        try:
            answer = parse_line(line.decode(*_ENCODING))
        except ValueError:
            raise PathError(
                "is not an answer of nbtext label", where=f"{path}:{line_number}", hint=hint
            ) from None
        first_number = line_numbers.setdefault(answer.id, line_number)
        if first_number != line_number:
            raise PathError(
                f"line {first_number} has an answer for {answer.id} already",
                where=f"{path}:{line_number}",
                hint="remove one of the lines",
            )
        answers.append(answer)
    return answers


def _read_corrections(path: str, content: bytes) -> Iterator[ReviewAnswer]:
    """Yield the corrections of `nbtext serve`, in JSON. The old labels are not known, so empty.

    Raise `PathError` if a line is not a correction.
    """
    for line_number, line in enumerate(content.splitlines(), start=1):
        try:
            answer = LabelAnswer.from_line(line.decode(*_ENCODING))
        except ValueError:
            raise PathError(
                "is not a correction of nbtext serve",
                where=f"{path}:{line_number}",
                hint="lines are objects with the keys id, text and label",
            ) from None
        yield ReviewAnswer(answer.id, "", format_label_cell(answer.label))


class LabelPatch:
    """A callable that replaces the labels of documents by other labels.

    They are the labels of a review, or corrections of `nbtext serve`. The last correction of a
    document counts.
    """

    def __init__(self, path: str) -> None:
        """Read the file. Raise `PathError` if it cannot be read, or is not a patch."""
        content = read_option_file(path)
        if content and not content.endswith(b"\n"):
            raise PathError(
                "the last line is incomplete, as after a power cut",
                where=path,
                hint="complete it, or remove it",
            )
        answers: list[LabellingAnswer]
        if content.startswith(_LINE_START):
            answers = list(_read_corrections(path, content))
        else:
            answers = read_answers(
                path,
                content,
                ReviewAnswer.from_line,
                hint="lines have a document, its old and its new label, with tabs between them",
            )
        self.path = path
        self._numbered_answers = {
            answer.id: (line_number, answer)
            for line_number, answer in enumerate(answers, start=1)
            if isinstance(answer, ReviewAnswer)  # all of them, but the type checker cannot know
        }
        """Line number and answer by document id."""

    def __call__(self, document: Document, notices: Notices) -> Document:
        """Return the document with its new label, or unchanged if the patch does not name it.

        The id of a document in the patch is added to ``notices`` in place.

        Raise `UsageError` if the document has neither the old nor the new label.
        """
        if document.id not in self._numbered_answers:
            return document
        line_number, answer = self._numbered_answers[document.id]
        label = format_label_cell(document.label or "")
        if answer.old_label and label not in (answer.old_label, answer.new_label):
            message = f"{answer.id} has the label {label!r}, not {answer.old_label!r}"
            raise UsageError(
                message,
                where=f"{self.path}:{line_number}",
                hint="review it again, or remove the line",
            )
        notices.relabelled_ids.append(answer.id)
        new_label = split_label(answer.new_label, find_label_separator([document.label]))
        return document._replace(label=new_label)

    def find_warnings(self, notices: Notices) -> list[Finding]:
        """Return a warning if the corpus did not contain all documents of the patch.

        ``notices`` are the same object as in all calls for documents of the corpus.
        """
        relabelled_ids = set(notices.relabelled_ids)
        missing_ids = [name for name in self._numbered_answers if name not in relabelled_ids]
        if not missing_ids:
            return []
        n_missing = format_quantity(len(missing_ids), "document")
        names = join_names(missing_ids, MAX_NAMED_DOCUMENTS)
        return [Finding("labels", WARNING, f"{self.path}: {n_missing} not in the corpus: {names}")]

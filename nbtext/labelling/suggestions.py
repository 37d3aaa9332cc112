"""The next documents as rows to be filled in by an editor or a program, and rows that were filled in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbtext.errors import DocumentError, UsageError
from nbtext.label_sets import labels_in, separated
from nbtext.records import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from nbtext.corpus.document import Document
    from nbtext.labelling.session import Session


class _Suggestion(NamedTuple):
    """A document to be labelled, with the most probable class, or the set of labels; both are empty without labels."""

    id: str
    label: str
    """To be filled in."""
    suggested: str
    probability: float | str | None
    text: str


def suggest(session: Session, n: int) -> Iterator[_Suggestion]:
    """Yield the next n documents, or all that are left."""
    separator = session.plan.separator
    for row in session.suggestions(n):
        found = session.proposed(row)
        suggested: tuple[str, float | str | None] = found[0] if found else ("", None)
        if separator is not None and session.classes:
            suggested = separator.join(label for label, _ in found) or separator, separator.join(f"{p:.6g}" for _, p in found)
        yield _Suggestion(session.pool.documents[row].id, "", *suggested, session.pool.text(row))


def take(session: Session, rows: Iterable[Document], who: str | None = None, time: str | None = None) -> Iterator[Document]:
    """Add the labels of rows, documents with the columns id and label, and yield each, with its problem if it was not taken.

    A row without a label is not filled in yet; it is skipped without a message, as one that repeats a known label. A separator alone is no label.
    """
    for filled in rows:
        problem = filled.problem
        if problem is None and (label := filled.columns[1].strip()):
            try:
                _take(session, filled.columns[0], label, who, time)
            except (DocumentError, UsageError) as raised:
                problem = DocumentError(raised.message, hint=raised.hint)
        yield filled._replace(problem=problem)


def _take(session: Session, identity: str, label: str, who: str | None, time: str | None) -> None:
    row = session.pool.rows.get(identity)
    if row is None:
        raise DocumentError(f"the pool has no document {identity!r}", hint="leave the column id as it was printed")
    label = separated(label, session.plan.separator)
    if row not in session.labels or labels_in(session.labels[row]) != labels_in(label):
        session.answer(row, label, who, time)

"""The patch that a review wrote, applied to a labelled corpus while it is read: other labels, and the corpus stays as it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbtext.corpus.streams import file_content
from nbtext.errors import WARNING, Finding, PathError, UsageError, listed, quantity
from nbtext.label_sets import BETWEEN_LABELS, is_set, separated, written_label
from nbtext.labelling.answer_file import Reviewed, read_answers

if TYPE_CHECKING:
    from nbtext.corpus.document import Document, Notices

SHOWN = 3
"""Documents that are named in a warning."""


class LabelPatch:
    """Maps documents to the same ones under the labels of a patch."""

    def __init__(self, path: str) -> None:
        """Read a patch; raise `PathError` for a file that cannot be read, or is none."""
        content = file_content(path)
        if content and not content.endswith(b"\n"):
            raise PathError("the last line has no end, as after a power cut", where=path, hint="end it, or remove it")
        rows = read_answers(
            path, content, Reviewed.of_line, hint="lines have a document, its old and its new label, with tabs between them"
        )
        self.path = path
        self._rows = {row.id: (number, row) for number, row in enumerate(rows, 1) if isinstance(row, Reviewed)}

    def __call__(self, document: Document, notices: Notices) -> Document:
        """Return the document under its new label; raise `UsageError` if it had neither the old nor the new one."""
        if (found := self._rows.get(document.id)) is None:
            return document
        number, row = found
        label = written_label(document.label or "")
        if label not in (row.before, row.after):
            message = f"{row.id} has the label {label!r}, not {row.before!r}"
            raise UsageError(message, where=f"{self.path}:{number}", hint="review it again, or remove the line")
        notices.relabelled.append(row.id)
        after = separated(row.after, BETWEEN_LABELS if is_set(document.label) else None)
        return document._replace(label=after)

    def warnings(self, notices: Notices) -> list[Finding]:
        """List the finding that documents are not in the corpus."""
        met = set(notices.relabelled)
        unmet = [name for name in self._rows if name not in met]
        if not unmet:
            return []
        return [Finding("labels", WARNING, f"{self.path}: {quantity(len(unmet), 'document')} not in the corpus: {listed(unmet, SHOWN)}")]

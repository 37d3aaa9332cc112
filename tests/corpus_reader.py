"""Reading a corpus as the commands do, with the result in short."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from nbtext.corpus.detection.formats import resolve_format
from nbtext.corpus.document import Notices
from nbtext.corpus.reading import read_corpus
from nbtext.settings import Reading

if TYPE_CHECKING:
    from pathlib import Path

    from nbtext.corpus.document import Document
    from nbtext.prediction.labels import Label


def documents(
    *paths: str | Path, labelled: bool = True, notices: Notices | None = None, **reading: Any
) -> list[Document]:
    """All documents of some paths."""
    names = [path if isinstance(path, str) else str(path) for path in paths]
    settings = Reading.from_values(reading)
    settings = replace(settings, format=resolve_format(names, settings.format, labelled=labelled))
    return list(read_corpus(names, settings, notices or Notices(), labelled=labelled))


def texts(
    *paths: str | Path, labelled: bool = True, **reading: Any
) -> list[tuple[Label | None, str]]:
    """Label and text of all documents, none of which may have a problem."""
    found = documents(*paths, labelled=labelled, **reading)
    assert [document.problem for document in found] == [None] * len(found)
    return [(document.label, document.text.decode()) for document in found]


def problems(*paths: str | Path, labelled: bool = True, **reading: Any) -> dict[str, str]:
    """What is wrong with which document."""
    found = documents(*paths, labelled=labelled, **reading)
    return {
        document.id: document.problem.line for document in found if document.problem is not None
    }

"""What the commands that read a corpus share: the reading settings that hold, and what to say of what was noticed."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nbtext.cli.messages import counted
from nbtext.corpus.document import Notices
from nbtext.corpus.reading import read_corpus
from nbtext.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from nbtext.cli.messages import Messages
    from nbtext.corpus.document import Document


class Corpus:
    """Documents of the given paths, read once; `say_notices` afterwards tells what was noticed."""

    def __init__(self, paths: Sequence[str], reading: Mapping[str, Any], messages: Messages, *, labelled: bool) -> None:
        self._notices = Notices()
        self._messages = messages
        if "-" in paths and sys.stdin is not None and sys.stdin.isatty():
            messages.notice("reading standard input; Ctrl-D ends it")
        self._documents = read_corpus(paths, reading, self._notices, labelled=labelled)

    def __iter__(self) -> Iterator[Document]:
        """Every document, those with a problem included."""
        return self._documents

    def readable(self) -> Iterator[Document]:
        """The documents without a problem; the others are reported."""
        for document in self._documents:
            if document.problem is None:
                yield document
            else:
                self._messages.document_failed(document.id, document.problem)

    def say_notices(self) -> None:
        """Tell what was noticed while reading."""
        for warning in self._notices.warnings:
            self._messages.warn(warning)
        if self._notices.transcoded:
            self._messages.notice(f"not valid UTF-8 and read as Windows-1252: {counted(self._notices.transcoded)}")
        if self._notices.unlabelled:
            files = self._notices.unlabelled
            self._messages.notice(f"{files[0]}{' and others' if len(files) > 1 else ''}: in no class directory, left out")


def require_distinct(output: str, inputs: Sequence[str]) -> None:
    """Raise `UsageError` if the file to be written is one of those to be read, or would lie among the documents of a class."""
    target = Path(os.path.realpath(output))
    for path in inputs:
        source = Path(os.path.realpath(path))
        within = target.relative_to(source).parts if path != "-" and target.is_relative_to(source) else (".",)
        if len(within) != 1 and not any(part.startswith(".") for part in within):
            raise UsageError(f"{output} would be read and overwritten", hint="choose another --model")

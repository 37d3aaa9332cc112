"""What the commands that read a corpus share: the reading settings that hold, and what to say of what was noticed."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nbtext.attributes import KINDS, Attributes
from nbtext.cli.options import given
from nbtext.cli.progress import is_wanted, watched
from nbtext.corpus.directory import listed_paths
from nbtext.corpus.document import Notices
from nbtext.corpus.reading import read_corpus, resolve_format
from nbtext.errors import DocumentError, NbtextError, PathError, UsageError, quantity
from nbtext.settings import INPUT, READING
from nbtext.store.atomic import check_replaceable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from nbtext.cli.messages import Messages
    from nbtext.corpus.document import Document
    from nbtext.model import TextClassifier


class Corpus:
    """Documents of the given paths, read once; `say_notices` afterwards tells what was noticed."""

    def __init__(
        self,
        paths: Sequence[str],
        reading: Mapping[str, Any],
        messages: Messages,
        *,
        labelled: bool,
        columns: Sequence[str] = (),
        on_error: str = "record",
        progress: bool = True,
    ) -> None:
        self.paths, self.reading, self.labelled, self.columns = paths, reading, labelled, columns
        self.notices = self._notices = Notices()
        self.messages = self._messages = messages
        self.on_error = self._on_error = on_error
        self._broken_off: NbtextError | None = None
        if not paths:
            messages.warn("the list of files is empty")
        typed = "-" in paths and sys.stdin is not None and sys.stdin.isatty()
        if typed:
            messages.notice("reading standard input; Ctrl-D ends it")
        self._documents = read_corpus(paths, reading, self._notices, labelled=labelled, columns=columns)
        self.shows_progress = progress and not typed and is_wanted(quiet=messages.quiet)
        if self.shows_progress:
            self._documents = watched(self._documents, paths, resolve_format(paths, reading["format"]))

    def __iter__(self) -> Iterator[Document]:
        """Every document, those with a problem included, or as ``on_error`` says.

        Where a file breaks off (damaged, or a document that makes all fail) the documents end; what was read before is to be answered, so
        `say_notices` raises the reason, unless there was no document before.
        """
        begun = False
        try:
            for document in self._documents:
                if document.problem is not None and self._on_error == "fail":
                    raise _fatal(document.id, document.problem)
                if document.problem is not None and self._on_error == "skip":
                    self._messages.document_failed(document.id, document.problem)
                    continue
                begun = True
                yield document
        except (DocumentError, PathError) as problem:
            self.break_off(problem, begun=begun)

    def readable(self) -> Iterator[Document]:
        """The documents without a problem; the others are reported."""
        for document in self._documents:
            if document.problem is None:
                yield document
            elif self._on_error == "fail":
                raise _fatal(document.id, document.problem)
            else:
                self._messages.document_failed(document.id, document.problem)

    def break_off(self, problem: NbtextError, *, begun: bool) -> None:
        """Have `say_notices` raise what ended the reading early, or raise it now if no document was answered."""
        if not begun:
            raise problem
        self._broken_off = problem

    def say_notices(self) -> None:
        """Tell what was noticed while reading; raise what made it end early."""
        if self._broken_off is not None:
            raise self._broken_off
        for warning in self._notices.warnings:
            self._messages.warn(warning)
        if self._notices.transcoded:
            self._messages.notice(f"not valid UTF-8 and read as Windows-1252: {quantity(self._notices.transcoded, 'document')}")
        if self._notices.unlabelled:
            files = self._notices.unlabelled
            self._messages.notice(f"{files[0]}{' and others' if len(files) > 1 else ''}: in no class directory, left out")


def _fatal(identity: str, problem: DocumentError) -> DocumentError:
    return DocumentError(problem.message, where=identity, hint=problem.hint)


def corpus_paths(corpus: Sequence[str], options: dict[str, Any]) -> tuple[str, ...]:
    """The CORPUS arguments and then what ``--files-from`` lists; raises `UsageError` if there is neither."""
    source, null = options["files_from"], options["null"]
    if source is None:
        if null:
            raise UsageError("--null goes with --files-from")
        if not corpus:
            raise click.UsageError("Missing argument 'CORPUS...'.", click.get_current_context(silent=True))
        return tuple(corpus)
    if source == "-" and "-" in corpus:
        raise UsageError("standard input cannot be both a document and the list of files")
    return (*corpus, *listed_paths(source, null=null))


def on_error(options: dict[str, Any]) -> str:
    """What to do with documents that cannot be read."""
    return str(given(INPUT, {**options}).get("on_error", "record"))


def reading_of(model: TextClassifier, paths: Sequence[str], options: dict[str, Any]) -> dict[str, Any]:
    """How documents are read: as the model's training documents were, but for what the options say.

    Raises `UsageError` where counted features would meet a model of texts, and for other attributes than the model has.
    """
    reading = {**model.reading, **given(READING, options)}
    learnt, read = Attributes.of(model.reading), Attributes.of(reading)
    for kind, names, others in zip(KINDS, learnt, read, strict=True):
        if len(names) != len(others):
            raise UsageError(
                f"--{kind} names {quantity(len(others), 'column')}, and the model has {len(names)}", hint="name them in the model's order"
            )
    if resolve_format(paths, reading["format"]) == "svmlight" != model.reading["format"]:
        raise UsageError("the model was trained on texts, not on svmlight's counted features", hint="train one on features")
    return reading


def require_distinct(output: str, inputs: Sequence[str]) -> None:
    """Raise `UsageError` if the file to be written is one of those to be read, or would lie among the documents of a class."""
    target = Path(os.path.realpath(output))
    for path in inputs:
        source = Path(os.path.realpath(path))
        within = target.relative_to(source).parts if path != "-" and target.is_relative_to(source) else (".",)
        if len(within) != 1 and not any(part.startswith(".") for part in within):
            raise UsageError(f"{output} would be read and overwritten", hint="choose another --model")


def check_output_file(path: str, option: str, inputs: Sequence[str]) -> None:
    """Raise `UsageError` or `PathError` if an option names a file that cannot be written, or is one of the inputs."""
    if path in ("", "-"):
        raise UsageError(f"{option} needs the name of a file")
    try:
        require_distinct(path, inputs)
    except UsageError as problem:
        problem.hint = f"choose another {option}"
        raise
    check_replaceable(path)

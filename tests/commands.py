"""The commands that read or write a model, on a corpus of six documents, with what must come of them: for tests of what interrupts them.

They run in processes forked from one that has run such commands before, so that none of their system calls imports a module.
"""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nbtext import TextClassifier
from nbtext.errors import ModelError
from tests import fork_server
from tests.process import ENVIRONMENT, PETS, TIME_LIMIT, Result, corpus

if TYPE_CHECKING:
    from collections.abc import Mapping

MODEL = "m"

FOLDERS = {
    "pets": PETS,
    "more": {"dogs/3": "the puppy barks", "fish/1": "the goldfish swims round and round"},
}

Arguments = tuple[str, ...]


@dataclass(frozen=True)
class Command:
    """A command with the commands that make what it finds."""

    arguments: Arguments
    before: tuple[Arguments, ...] = (("train", "pets", "-m", MODEL),)
    once: bool = False
    """Whether a second run does nothing."""


TRAIN = Command(("train", "pets", "more", "-m", MODEL))

WRITING = {
    "train": TRAIN,
    "update": Command(("update", "more", "-m", MODEL)),
    "update once": Command(
        ("update", "more", "-m", MODEL, "--skip-known", "--backup"),
        (("train", "pets", "-m", MODEL, "--deduplicate"),),
        once=True,
    ),
    "forget": Command(("forget", "more", "-m", MODEL), (TRAIN.arguments,)),
    "merge": Command(
        ("merge", MODEL, "other", "--to", MODEL),
        (("train", "pets", "-m", MODEL), ("train", "more", "-m", "other")),
    ),
    "promote": Command(
        ("promote", "new", "-m", MODEL, "--backup"),
        (
            ("train", "pets", "-m", MODEL, "--deduplicate"),
            ("train", "pets", "more", "-m", "new", "--deduplicate"),
        ),
    ),
}
READING = {
    "classify": Command(
        ("classify", "pets/cats/1", "pets/dogs/1", "pets/dogs/2", "-m", MODEL, "--output", "tsv")
    ),
    "inspect": Command(("inspect", "-m", MODEL, "--output", "json")),
}


class Run:
    """A run of nbtext, going on or ended. Its outputs go to files, so that nobody has to read them meanwhile."""

    def __init__(
        self,
        *arguments: str | Path,
        cwd: Path,
        stdin: Path | None = None,
        stopped: bool = False,
        limits: Mapping[str, int] | None = None,
    ) -> None:
        self._outputs = tempfile.TemporaryFile(), tempfile.TemporaryFile()  # noqa: SIM115 - `result` closes them
        out, err = (output.fileno() for output in self._outputs)
        with (stdin or Path(os.devnull)).open("rb") as source:
            self.process = fork_server.start(
                ["-m", "nbtext", *map(str, arguments)],
                cwd=cwd,
                env={**os.environ, **ENVIRONMENT},
                stdin=source.fileno(),
                stdout=out,
                stderr=err,
                limits=limits,
                stopped=stopped,
                preloaded=True,
            )

    def result(self) -> Result:
        """How it ended, once it has."""
        status = self.process.wait(TIME_LIMIT)
        contents = []
        for output in self._outputs:
            with output:
                output.seek(0)
                contents.append(output.read())
        return Result(status, *contents)


def run(*arguments: str | Path, **how: Any) -> Result:
    """Run nbtext to its end; see `Run`."""
    return Run(*arguments, **how).result()


Files = dict[str, bytes]
"""The files in a folder, by name, not those in folders below."""


@dataclass(frozen=True)
class Setting:
    """A folder in which a command can be run, what is in it before and after, and what is printed."""

    folder: Path
    command: Command
    before: Files
    after: Files
    out: bytes

    @property
    def model(self) -> Path:
        """Where the model is."""
        return self.folder / MODEL

    @property
    def old(self) -> bytes:
        """The model before."""
        return self.before[MODEL]

    @property
    def new(self) -> bytes:
        """The model after."""
        return self.after[MODEL]

    def restore(self) -> None:
        """Put everything as it was before."""
        for name in read_folder(self.folder):
            if name not in self.before:
                (self.folder / name).unlink()
        for name, content in self.before.items():
            (self.folder / name).write_bytes(content)

    def left_over(self) -> set[str]:
        """Names of files that are there now and should be neither before nor after."""
        return {path.name for path in self.folder.iterdir() if path.is_file()} - {
            *self.before,
            *self.after,
        }

    def run(self, **how: Any) -> Result:
        """Run the command to its end."""
        return run(*self.command.arguments, cwd=self.folder, **how)

    def check(self, result: Result) -> None:
        """What must hold whatever happened: the model is the old one or the new one, and the next run leaves nothing that it should not.

        Where documents could not be read it may be another one, that of the others.
        """
        present = self.model.read_bytes()
        says_written = any(
            note.startswith(f"nbtext: {MODEL}: written, but ") for note in result.notes
        )
        if result.status == 0 or says_written:
            assert present == self.new, result
        elif result.status == 1:
            assert all(note.startswith("nbtext: ") for note in result.notes), result
            assert is_sound(self.model), result
        elif result.status in (3, 4, 5):
            assert present == self.old, result
        else:
            assert present in (self.old, self.new), result
        backup = self.folder / (MODEL + ".1")
        assert not backup.exists() or backup.read_bytes() == self.old, result
        if self.command.once and result.status:
            again = self.run()
            assert (again.status, self.model.read_bytes(), self.left_over()) == (
                0,
                self.new,
                set(),
            ), (result, again)
        elif self.left_over():
            self.restore_but(self.left_over())
            again = self.run()
            assert (again.status, self.model.read_bytes(), self.left_over()) == (
                0,
                self.new,
                set(),
            ), (result, again)

    def restore_but(self, names: set[str]) -> None:
        """Put everything as it was before, and leave some files there."""
        kept = {name: (self.folder / name).rename(self.folder / "kept" / name) for name in names}
        self.restore()
        for name, path in kept.items():
            path.rename(self.folder / name)


def read_folder(folder: Path) -> Files:
    """What is in a folder."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def prepare(folder: Path, command: Command) -> Setting:
    """A folder with the corpora and with what the command finds."""
    (folder / "kept").mkdir(exist_ok=True)
    for name, documents in FOLDERS.items():
        corpus(folder / name, documents)
    for arguments in command.before:
        assert run(*arguments, cwd=folder).status == 0
    before = read_folder(folder)
    done = run(*command.arguments, cwd=folder)
    assert (done.status, done.err) == (0, b""), done
    made = Setting(folder, command, before, read_folder(folder), done.out)
    assert is_sound(folder / MODEL)
    assert (made.new != made.old) == (command in WRITING.values())
    return made


@cache
def _sound(content: bytes, path: Path) -> bool:
    del content
    try:
        TextClassifier.load(str(path))
    except ModelError:
        return False
    return True


def is_sound(path: Path) -> bool:
    """Whether a model loads."""
    return _sound(path.read_bytes(), path)

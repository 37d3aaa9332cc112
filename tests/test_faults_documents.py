"""Faults 55 to 63 of the list of faults: documents that cannot be read, that are not what they seem, or of unknown encoding."""

from __future__ import annotations

import os
import random
from typing import TYPE_CHECKING

from tests.process import MEMORY, corpus, nbtext, python, succeeded

if TYPE_CHECKING:
    from pathlib import Path


def test_fault_55_one_unreadable_document_of_ten_thousand(pets: Path) -> None:
    corpus(
        pets, {f"in/{number:05}": "a cat" if number % 2 else "a dog" for number in range(10_000)}
    )
    (pets / "in/04321").unlink()
    (pets / "in/04321").symlink_to("nowhere")
    done = nbtext("classify in")
    reason = "cannot read: no such file or directory"
    assert (done.status, done.notes) == (1, [f"nbtext: in/04321: {reason}"])
    assert [row[0] for row in done.rows] == [f"in/{number:05}" for number in range(10_000)]
    assert [row for row in done.rows if not row[1]] == [["in/04321", "", reason]]
    assert all(
        row[1] == ("cats" if int(row[0][-5:]) % 2 else "dogs") for row in done.rows if row[1]
    )


PATCHED = """
import os, sys
import nbtext.corpus.directory as directory
from nbtext.cli.main import run
real = directory._read_file
def read_file(path, *arguments):
    if path.endswith('/gone'):
        os.unlink(path)
    return real(path, *arguments)
directory._read_file = read_file
sys.exit(run(sys.argv[1:]))
"""


def test_fault_56_file_that_vanishes_after_it_was_listed(pets: Path) -> None:
    corpus(pets, {"in/a": "a cat", "in/gone": "a cat", "in/z": "a dog"})
    done = python(PATCHED, "classify", "in")
    assert (done.status, done.notes) == (
        1,
        ["nbtext: in/gone: cannot read: no such file or directory"],
    )
    assert [row[:2] for row in done.rows] == [["in/a", "cats"], ["in/gone", ""], ["in/z", "dogs"]]


GROWING = """
import os, sys
from nbtext.cli.main import run
real = os.read
def read(descriptor, most):
    with open('log', 'ab') as log:
        log.write(b'dog ' * 4096)
    return real(descriptor, most)
import nbtext.corpus.directory as files
files.os = type(sys)('os')
files.os.__dict__.update(os.__dict__, read=read)
sys.exit(run(sys.argv[1:]))
"""


def test_fault_57_growing_file_is_read_as_it_was_when_opened(pets: Path) -> None:
    """What is read is what was there when it was opened."""
    corpus(pets, {"log": "cat"})
    done = python(GROWING, "classify", "log")
    assert [row[:2] for row in succeeded(done).rows] == [["log", "cats"]]
    assert (pets / "log").stat().st_size > 16_000


def test_fault_60_file_of_five_gigabytes_is_refused_without_memory(pets: Path) -> None:
    corpus(pets, {"in/a": "a cat", "in/b": ""})
    os.truncate(pets / "in/b", 5 << 30)
    done = nbtext("classify in", limits=MEMORY)
    assert (done.status, done.notes) == (
        1,
        ["nbtext: in/b: larger than 64 MiB; raise --set max-document-size=SIZE"],
    )
    lines = nbtext("classify in/a --format lines --max-document-size 3")
    assert (lines.status, lines.rows) == (
        1,
        [["in/a:1", "", "larger than 3 bytes; raise --set max-document-size=SIZE"]],
    )


def test_fault_61_binary_documents_are_reported(pets: Path) -> None:
    chance = random.Random(61)
    blobs = {
        f"in/{number:02}": bytes([0]) + chance.randbytes(chance.randint(0, 5000))
        for number in range(40)
    }
    corpus(pets, {**blobs, "in/text": "a cat"})
    done = nbtext("classify in -o jsonl")
    records = done.records
    assert done.status == 1
    assert len(records) == 41
    assert {record["error"].partition(" (")[0] for record in records[:-1]} == {"binary, not text"}
    assert len(done.notes) == 4
    assert nbtext("classify in --encoding latin-1").status == 0

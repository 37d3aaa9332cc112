"""Faults 46 to 54 of the list of faults: pipes, closed and full streams, terminals, locales, names and lists of names. See test_faults.py."""

from __future__ import annotations

import os
import random
from typing import TYPE_CHECKING

import pytest

from nbtext.cli.main import COMMAND_SUMMARIES
from tests.process import bash, corpus, fail, fresh_interpreters, nbtext, succeed

if TYPE_CHECKING:
    from pathlib import Path


def test_fault_46_every_output_ends_silently_when_the_pipe_closes(pets: Path) -> None:
    corpus(pets, {f"many/{number:04}": "a cat" for number in range(2000)})
    long = " ".join(["many"] * 3)
    for output in ("csv", "jsonl", "table", "tsv"):
        command = f"$NBTEXT classify {long} --output {output} | head -1 >/dev/null; echo ${{PIPESTATUS[0]}}"
        done = bash(command)
        assert (done.text, done.notes) == ("141\n", []), (output, done)
    with fresh_interpreters():
        done = bash(command, env={"PYTHONUNBUFFERED": "1"})
    assert (done.text, done.notes) == ("141\n", []), done


def test_fault_48_all_three_streams_closed_ends_with_a_status(pets: Path) -> None:
    assert bash("$NBTEXT classify pets <&- >&- 2>&-").status == 4
    assert bash("$NBTEXT train pets <&- 2>&- >/dev/null").status == 0


def test_fault_49_empty_standard_input_is_one_document_or_none(pets: Path) -> None:
    """One document without a word is a document; a table, lines or records without a row hold none."""
    assert [row[0] for row in succeed("classify -").rows] == ["-"]
    for file_format in ("csv", "tsv", "jsonl", "lines"):
        assert succeed("classify - --format", file_format).rows == []
        assert fail(2, "train - --format", file_format, "-m", "new")
    assert succeed("classify --lines").rows == []
    assert not (pets / "new").exists()


@pytest.mark.parametrize("command", COMMAND_SUMMARIES)
def test_fault_50_unknown_option_is_status_2_on_standard_error(command: str) -> None:
    assert f"see nbtext {command} --help" in fail(2, command, "--no-such-option")


def some_names(many: int) -> list[bytes]:
    """File names of any bytes but NUL and the slash, the same ones each time."""
    chance = random.Random(53)
    names = {
        bytes(
            chance.choice([*range(1, 0x2F), *range(0x30, 0x100)])
            for _ in range(chance.randint(1, 255))
        )
        for _ in range(many)
    }
    return sorted(names - {b".", b".."})


def test_fault_53_names_of_any_bytes_are_printed(pets: Path) -> None:
    names = some_names(200)
    (pets / "odd").mkdir()
    for name in names:
        (pets / "odd" / os.fsdecode(name)).write_text("a cat", encoding="utf-8")
    shown = [name for name in names if not name.startswith(b".")]
    out = succeed("classify odd").out
    ids = [line.split(b"\t")[0].removeprefix(b"odd/") for line in out.split(b"\n")[:-1]]
    assert [unescaped(identity) for identity in ids] == shown
    missing = nbtext("classify", *(b"none/" + name for name in names))
    assert missing.status == 1
    assert not any(byte < 0x20 and byte != 0x0A for byte in missing.err)
    assert len(missing.rows) == len(names)


def unescaped(field: bytes) -> bytes:
    """What a field of TSV stands for."""
    parts = field.split(b"\\\\")
    return b"\\".join(
        part.replace(b"\\t", b"\t").replace(b"\\n", b"\n").replace(b"\\r", b"\r") for part in parts
    )

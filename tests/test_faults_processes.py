"""Processes that are killed, that write at the same time, and that read what others write."""

from __future__ import annotations

import os
import random
import signal
import time
from typing import TYPE_CHECKING

import pytest

from tests.commands import MODEL, WRITING, Run, is_sound, prepare, run
from tests.process import corpus, error_line, succeeded, write
from tests.profiles import rounds

if TYPE_CHECKING:
    from pathlib import Path

ROUNDS = rounds(30, 200)
"""Over all commands."""


KILLED = ("train", "update", "update once", "merge", "promote")


@pytest.mark.repeated
@pytest.mark.parametrize("part", range(rounds(1, 2)))
@pytest.mark.parametrize("name", KILLED)
def test_fault_28_process_killed_at_any_time_leaves_old_or_new_model(
    tmp_path: Path, name: str, part: int
) -> None:
    """The old model is there, or the new one, and what the killed process left goes with the next run."""
    tried = prepare(tmp_path, WRITING[name])
    begin = time.monotonic()
    for _ in range(5):
        tried.run()
        tried.restore()
    lasts = (time.monotonic() - begin) / 5
    choice = random.Random(f"{name} {part}")
    killed = 0
    for share in (
        0,
        *(choice.uniform(0, 1.2) for _ in range(ROUNDS // (rounds(1, 2) * len(KILLED)))),
    ):
        tried.restore()
        running = Run(*tried.command.arguments, cwd=tmp_path)
        time.sleep(share * lasts)  # any time is as good as another
        running.process.kill()
        result = running.result()
        killed += result.status == -signal.SIGKILL
        assert result.status in (0, -signal.SIGKILL), result
        assert (result.out, result.err) == (b"", b"")
        tried.check(result)
    assert killed


@pytest.mark.repeated
@pytest.mark.parametrize("name", WRITING)
def test_fault_39_readers_get_old_or_new_model_during_replacement(
    tmp_path: Path, name: str
) -> None:
    """Every run of a reader answers as the old model does, or as the new one, in all of its rows, and never fails."""
    tried = prepare(tmp_path, WRITING[name])
    asked = (
        "classify",
        "pets/cats/1",
        "pets/dogs/1",
        "more/fish/1",
        "-m",
        MODEL,
        "--output",
        "jsonl",
    )
    right = set()
    for content in (tried.old, tried.new):
        tried.model.write_bytes(content)
        right.add(run(*asked, cwd=tmp_path).out)
    assert len(right) == 2
    given = set()
    for _ in range(rounds(2, 10)):
        tried.restore()
        writer = Run(*tried.command.arguments, cwd=tmp_path)
        readers = [Run(*asked, cwd=tmp_path) for _ in range(4)]
        for reader in readers:
            result = reader.result()
            assert (result.status, result.err) == (0, b""), result
            given.add(result.out)
        assert writer.result().status == 0
    assert given <= right


def test_fault_40_truncating_a_model_in_place_does_not_affect_a_reader(tmp_path: Path) -> None:
    """It is read as a whole at once and not mapped, so what happens to the file later does not matter."""
    from nbtext import TextClassifier

    TextClassifier().fit(["a cat", "a dog"] * 2, ["cats", "dogs"] * 2).save(str(tmp_path / MODEL))
    model = TextClassifier.load(str(tmp_path / MODEL))
    os.truncate(tmp_path / MODEL, 100)
    assert model.predict(["cat", "dog"]).tolist() == ["cats", "dogs"]


def test_fault_41_update_with_unreadable_documents_adds_the_others_or_none(tmp_path: Path) -> None:
    """They are named and the others are learnt, with status 1; or nothing is, if one asks for that."""
    tried = prepare(tmp_path, WRITING["update"])
    corpus(tmp_path / "more", {"dogs/2": b"\0" * 9 + b"binary", "dogs/9": b"\0" * 9 + b"binary"})
    tried.restore()
    strict = run(*tried.command.arguments, "--on-error", "fail", cwd=tmp_path)
    assert (strict.status, len(strict.notes), tried.model.read_bytes()) == (1, 1, tried.old)
    result = tried.run()
    assert (result.status, len(result.notes), tried.model.read_bytes()) == (1, 2, tried.new)


def test_fault_75_merged_counts_stop_before_they_are_inexact(tmp_path: Path) -> None:
    """The last model whose counts are exact stays, and loads; a larger one is not written."""
    write("c.svm", "a x:999999999\nb y:1\n")
    succeeded(run("train", "c.svm", "-m", MODEL, cwd=tmp_path))
    doublings = 0
    while True:
        write("again", (tmp_path / MODEL).read_bytes())
        result = run("merge", MODEL, "again", "--to", "merged", cwd=tmp_path)
        if result.status:
            break
        (tmp_path / "merged").replace(tmp_path / MODEL)
        doublings += 1
    assert "their sum must be below 2^53" in error_line(result, 2)
    assert 2**53 / 2 <= 10**9 * 2**doublings < 2**53
    assert is_sound(tmp_path / MODEL)
    assert not (tmp_path / "merged").exists()

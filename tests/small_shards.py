"""Runs nbtext with shards of so many bytes as the first argument says, so that small corpora are worth several processes.

Further words after colons change more: ``spawn`` has new interpreters in place of forked processes, ``stall`` has the workers of
classify and evaluate wait, ``alone`` lets no process start.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nbtext.cli.main import main
from nbtext.corpus import collection
from nbtext.corpus import shards as cutting
from nbtext.model import parallel_corpus
from nbtext.parallel import processes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

size_of_shards = 0


def small_shards(
    paths: Sequence[str], options: Any, size: int = 0, *, is_local: bool = True
) -> Iterator[cutting.Shard]:
    """Return small shards; otherwise like `nbtext.corpus.shards.split_corpus`."""
    del size
    return cutting.split_corpus(paths, options, size_of_shards, is_local=is_local)


def stall(of: object, shard: object) -> None:
    """In place of scoring: say that it has come to that, and wait to be killed."""
    del of, shard
    Path(f"stalled-{os.getpid()}").touch()
    signal.pause()


def refuse(self: object) -> None:
    """In place of starting a process."""
    del self
    raise BlockingIOError("no more processes")


if __name__ == "__main__":
    size_given, *changes = sys.argv.pop(1).split(":")
    size_of_shards = int(size_given)
    collection.split_corpus = small_shards  # type: ignore[attr-defined]
    parallel_corpus.MIN_COUNTING_SHARDS = parallel_corpus.MIN_SCORING_SHARDS = 1
    if "spawn" in changes:
        processes.uses_fork = lambda: False
    if "stall" in changes:
        parallel_corpus._score_shard = stall  # type: ignore[assignment]
    if "alone" in changes:
        import multiprocessing.process

        multiprocessing.process.BaseProcess.start = refuse  # type: ignore[method-assign]
    main()

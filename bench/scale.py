"""Training on a corpus of any size: `python bench/scale.py CORPUS GIGABYTES` prints a row of docs/scale.md, and the seconds of its parts.

The corpus is made of another one, given by its path: the words of each class are shuffled over its documents again and again. With
`--new-words N`, every N-th document gets a word found nowhere else, so that the vocabulary grows as well.
"""

from __future__ import annotations

import argparse
import os
import pickle
import subprocess
import sys
import tempfile
import time
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from measuring import MEBIBYTE, progress

from nbtext.corpus.collection import Corpus
from nbtext.corpus.document import Notices
from nbtext.corpus.reading import read_corpus
from nbtext.counts.counting import Analysis
from nbtext.model import TextClassifier
from nbtext.model.parallel_corpus import CountingContext, count_shards, join_partial_counts
from nbtext.parallel.processes import TaskBatch
from nbtext.settings import Reading

if TYPE_CHECKING:
    from collections.abc import Callable

GIGABYTE = 10**9
COLUMNS = {"format": "tsv", "label_column": "1", "text_column": "2"}
MOST_IN_PARTS = GIGABYTE // 2
INTERVAL = 0.1

Result = TypeVar("Result")


def write_table(corpus: str, size: int, new_words: int, table: Path) -> None:
    """Write a table of about so many bytes."""
    words: dict[str, list[bytes]] = {}
    lengths: dict[str, list[int]] = {}
    for document in read_corpus([corpus], Reading(), Notices(), labelled=True):
        found = document.text.split()
        words.setdefault(document.label or "", []).extend(found)
        lengths.setdefault(document.label or "", []).append(len(found))
    pools = {label: np.array(found, object) for label, found in words.items()}
    ends = {label: np.cumsum(found).tolist() for label, found in lengths.items()}
    chance, number = np.random.default_rng(1), count(1)
    with table.open("wb") as file:
        while file.tell() < size:
            for label, pool in pools.items():
                chance.shuffle(pool)
                shuffled, begin = pool.tolist(), 0
                for end in ends[label]:
                    more = (
                        b" new%d" % here
                        if (here := next(number)) % (new_words or here + 1) == 0
                        else b""
                    )
                    file.write(
                        b"%b\t%b%b\n" % (label.encode(), b" ".join(shuffled[begin:end]), more)
                    )
                    begin = end


def memory(process: int) -> int:
    """Return the bytes of a process and its children; what they share counts once."""
    total, pending = 0, [process]
    while pending:
        folder = Path(f"/proc/{pending.pop()}")
        try:
            lines = (folder / "smaps_rollup").read_text().splitlines()
            pending += map(int, (folder / "task" / folder.name / "children").read_text().split())
        except OSError:  # it has ended
            continue
        total += sum(int(line.split()[1]) << 10 for line in lines if line.startswith("Pss:"))
    return total


def train(table: Path, jobs: int) -> tuple[float, float, float]:
    """Return the seconds, the seconds of processors, and the peak of memory in MiB of training on a table."""
    options = [f"--{name.replace('_', '-')}={value}" for name, value in COLUMNS.items()]
    model = table.with_suffix(".joblib")
    begin, peak = time.perf_counter(), 0
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "nbtext",
            "train",
            str(table),
            *options,
            f"--jobs={jobs}",
            f"--model={model}",
        ]
    )
    while (ended := os.wait4(process.pid, os.WNOHANG))[0] == 0:
        peak = max(peak, memory(process.pid))
        time.sleep(INTERVAL)
    seconds = time.perf_counter() - begin
    process.returncode = os.waitstatus_to_exitcode(ended[1])
    if process.returncode:
        sys.exit(f"nbtext train ended with {process.returncode}")
    return seconds, ended[2].ru_utime + ended[2].ru_stime, peak / MEBIBYTE


def timed(work: Callable[[], Result]) -> tuple[float, Result]:
    begin = time.process_time()
    result = work()
    return time.process_time() - begin, result


def print_parts(table: Path) -> None:
    """Print what each part of training on many machines takes, measured on two halves of the beginning of the table."""
    corpus = Corpus([str(table)], Reading.from_values(COLUMNS), labelled=True)
    model = TextClassifier()
    model.reading = corpus.reading
    shards, reader = corpus.split_into_shards()
    counting = CountingContext(reader, Analysis.from_settings(model.settings))
    measured = [
        (number, shard)
        for number, shard in enumerate(shards)
        if shard.byte_range is None or shard.byte_range.start < MOST_IN_PARTS
    ]
    halves = [measured[: len(measured) // 2], measured[len(measured) // 2 :]]
    n_bytes = sum(
        (shard.byte_range.end or table.stat().st_size) - shard.byte_range.start
        for _, shard in measured
        if shard.byte_range is not None
    )
    seconds, pieces = timed(lambda: [count_shards(counting, TaskBatch(half)) for half in halves])
    sent = len(pickle.dumps(pieces[0], 5))
    merging, (counts, _) = timed(lambda: join_partial_counts(pieces))
    estimating, _ = timed(lambda: model.learn(counts))
    print(
        f"counting {seconds * GIGABYTE / n_bytes:.1f} s/GB, a sum is {sent / MEBIBYTE:.0f} MiB, adding two {merging:.2f} s, estimating {estimating:.2f} s"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus")
    parser.add_argument("gigabytes", type=float)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--new-words", type=int, default=0, metavar="N")
    parser.add_argument(
        "--table", type=Path, help="write the corpus here and keep it, or use it if it is there"
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        table = options.table or Path(folder) / "corpus.tsv"
        if not table.exists():
            progress(f"writing {options.gigabytes:g} GB")
            write_table(options.corpus, int(options.gigabytes * GIGABYTE), options.new_words, table)
        size = table.stat().st_size / GIGABYTE
        progress(f"training on {size:.2f} GB")
        seconds, processor, peak = train(table, options.jobs)
        print("| GB | jobs | seconds | seconds of a processor | MB/s | peak MiB, all processes |")
        print("|---:|---:|---:|---:|---:|---:|")
        print(
            f"| {size:.2f} | {options.jobs} | {seconds:.1f} | {processor:.1f} | {1000 * size / seconds:.0f} | {peak:.0f} |"
        )
        print_parts(table)


if __name__ == "__main__":
    main()

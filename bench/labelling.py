"""A simulated labeller: `python bench/labelling.py FOLDER` prints Markdown tables, with `--write` also into bench/README.md.

FOLDER holds 20news-bydate-train and 20news-bydate-test; SMS Spam comes with nbtext. The labeller is a loop of the engine behind `nbtext label`: it
asks for the next document and answers its true class. The accuracy is that of the model `nbtext train --stop-words default` makes of these labels, on the
test part. Labels needed are those from which on the mean of five runs stays at or above the mean of random choice at the end; the interval is by drawing
runs with replacement.

`--only time` measures a key on a pool of 100,000 documents, `--only kill` kills scripted sessions at random moments.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import pty
import random
import re
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
from dataclasses import replace
from math import sqrt
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # the nbtext beside this file, not an installed one

import numpy as np  # noqa: E402
from measuring import progress, write_between  # noqa: E402

from nbtext.corpus.document import Notices  # noqa: E402
from nbtext.corpus.reading import read_corpus  # noqa: E402
from nbtext.counts.corpus_counts import Subsets  # noqa: E402
from nbtext.counts.counting import Analysis  # noqa: E402
from nbtext.counts.matrix import stack_matrices  # noqa: E402
from nbtext.evaluation.cross_validation import train_and_score  # noqa: E402
from nbtext.labelling.pool import count_pool  # noqa: E402
from nbtext.labelling.session import QueryPlan, Session  # noqa: E402
from nbtext.prediction.rule import predict_minimum_error  # noqa: E402
from nbtext.settings import Reading, Settings  # noqa: E402

README = Path(__file__).resolve().with_name("README.md")
SEEDS = 5
STUDENT = 2.776
"""97.5 % quantile of Student's distribution with `SEEDS` − 1 degrees of freedom."""
STRATEGIES = ("random", "uncertain", "typical", "mixed")
POOL = 100_000
KILLED = 50
SETTINGS = replace(Settings.from_values({"stop_words": "default", "calibration": "none"}))


class Corpus(NamedTuple):
    title: str
    train: str
    test: str
    step: int
    most: int


class Counted:
    """A corpus counted once: its training part as a pool, and all of it for models of chosen documents."""

    def __init__(self, corpus: Corpus) -> None:
        analysis = Analysis.from_settings(SETTINGS)
        documents = [
            [*read_corpus([path], Reading(), Notices(), labelled=True)]
            for path in (corpus.train, corpus.test)
        ]
        whole = count_pool([each for part in documents for each in part], analysis)
        self.subsets = Subsets(whole.table, whole.counted_documents)
        self.n_pool, n = len(documents[0]), len(whole.pool)
        self.pool = count_pool([each._replace(label=None) for each in documents[0]], analysis).pool
        self.truth = [str(each.label) for each in documents[0]]
        self.test = np.arange(n) >= self.n_pool

    def accuracy(self, rows: list[int]) -> float:
        """Return the accuracy on the test part of a model of these documents."""
        training = np.zeros(len(self.test), np.bool_)
        training[rows] = True
        right = 0
        for block in train_and_score(self.subsets, SETTINGS, training, self.test)[1]:
            right += np.count_nonzero(predict_minimum_error(block.log_posterior) == block.classes)
        return right / np.count_nonzero(self.test)


def simulated(counted: Counted, strategy: str, seed: int, step: int, most: int) -> list[float]:
    """Return the accuracy after each ``step`` labels."""
    session, found = Session(counted.pool, QueryPlan(strategy, seed=seed)), []
    for n in range(1, most + 1):
        row = session.choose_document()
        session.answer(row, counted.truth[row])
        if n % step == 0:
            found.append(counted.accuracy(list(session.labels)))
    return found


def needed(curves: np.ndarray, target: float, step: int) -> float:
    """Return the labels from which on the mean of the curves, shape (n_runs, n_sizes), stays at the target; infinite if it does not."""
    below = np.flatnonzero(curves.mean(axis=0) < target)
    first = below[-1] + 1 if below.size else 0
    return step * (first + 1) if first < curves.shape[1] else np.inf


def needed_interval(curves: np.ndarray, target: float, step: int) -> tuple[float, float]:
    """Return the 95 % interval of that by drawing runs with replacement."""
    drawn = np.random.default_rng(0).integers(len(curves), size=(1000, len(curves)))
    low, high = np.quantile(
        [needed(curves[runs], target, step) for runs in drawn], (0.025, 0.975), method="nearest"
    )
    return float(low), float(high)


def interval(values: list[float], digits: int) -> str:
    half = STUDENT * np.std(values, ddof=1) / sqrt(len(values))
    return f"{np.mean(values):.{digits}f} ± {half:.{digits}f}"


def learning_table(corpus: Corpus) -> str:
    counted = Counted(corpus)
    curves = {}
    for strategy in STRATEGIES:
        for seed in range(SEEDS):
            progress(f"{corpus.title}: {strategy}, seed {seed}")
            curves[strategy, seed] = simulated(counted, strategy, seed, corpus.step, corpus.most)
    of_strategy = {
        strategy: np.array([curves[strategy, seed] for seed in range(SEEDS)])
        for strategy in STRATEGIES
    }
    target = float(of_strategy["random"][:, -1].mean())
    shown = [corpus.most // 6, corpus.most // 3, corpus.most * 3 // 5, corpus.most]
    heads = [f"accuracy at {n}" for n in shown] + [
        f"labels needed for {target:.3f}",
        f"of {corpus.most}",
    ]
    lines = [
        f"### {corpus.title}: {counted.n_pool:,} documents in the pool",
        "",
        f"| --next | {' | '.join(heads)} |",
        "|---" * (len(heads) + 1) + "|",
    ]
    for strategy, found in of_strategy.items():
        cells = [interval(list(found[:, n // corpus.step - 1]), 3) for n in shown]
        n = needed(found, target, corpus.step)
        low, high = (
            f"{end:.0f}" if end < np.inf else f"over {corpus.most}"
            for end in needed_interval(found, target, corpus.step)
        )
        cells += (
            [f"{n:.0f} ({low} to {high})", f"{n / corpus.most:.0%}"]
            if n < np.inf
            else [f"over {corpus.most}", ""]
        )
        lines.append(f"| `{strategy}` | {' | '.join(cells)} |")
    return "\n".join(lines)


def time_table(corpus: Corpus, keys: int = 300) -> str:
    """Measure what follows a key: the label is counted, the next document chosen, its probabilities and the estimate computed."""
    counted = Counted(corpus)
    times = -(-POOL // counted.n_pool)
    n, generator = times * counted.n_pool, np.random.default_rng(0)
    hashes = generator.integers(1 << 63, size=n, dtype=np.uint64)
    documents = [
        document._replace(id=str(row))
        for row, document in enumerate(counted.pool.documents * times)
    ]
    pool = replace(
        counted.pool,
        documents=documents,
        matrix=stack_matrices([counted.pool.matrix] * times),
        hashes=hashes,
    )
    session, found = Session(pool), []
    row = session.choose_document()
    for _ in range(keys):
        begin = time.process_time()
        session.answer(row, counted.truth[row % counted.n_pool])
        row = session.choose_document()
        session.predict_probabilities(row)
        session.estimate_accuracy()
        found.append(1000 * (time.process_time() - begin))
    figures = [np.median(found), np.quantile(found, 0.99), max(found)]
    head = f"### A key on a pool of {n:,} documents, {pool.matrix.terms.size:,} counts, {len(session.classes)} classes"
    row_of = f"| {' | '.join(f'{figure:.0f} ms' for figure in figures)} |"
    return f"{head}\n\n| median of {keys} | 99 % are below | largest |\n|---:|---:|---:|\n{row_of}"


def kill_table(corpus: Corpus) -> str:
    """Kill sessions at random moments; every answer that the screen has gone on from must be in the file."""
    lost = answers = broken = 0
    draw = random.Random(0)
    with tempfile.TemporaryDirectory() as folder:
        for number in range(KILLED):
            progress(f"kill {number + 1} of {KILLED}")
            path = Path(folder, f"labels-{number}.jsonl")
            shown = killed(corpus.train, path, draw)
            content = path.read_bytes()
            whole = content[: content.rfind(b"\n") + 1]
            broken += len(whole) < len(content)
            n = len([json.loads(line) for line in whole.splitlines()])
            lost += max(shown - n, 0)
            answers += shown
    return f"### kill -9 at {KILLED} random moments\n\n| answers given | half-written last lines | answers lost |\n|---:|---:|---:|\n| {answers} | {broken} | {lost} |"


def killed(pool: str, path: Path, draw: random.Random) -> int:
    """Answer as fast as the screen goes on, and kill the session; return the labels that the screen had counted."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    command = [sys.executable, "-m", "nbtext", "label", pool, "--to", str(path)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm"}
    with subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment, start_new_session=True
    ) as session:
        os.close(theirs)
        os.write(ours, b"nspam\rnham\r")
        seen, end = b"", None
        while end is None or time.monotonic() < end:
            if select.select([ours], [], [], 0.001)[0]:
                seen += os.read(ours, 65536)
            if end is None and b"2 labels" in seen:
                end = time.monotonic() + draw.uniform(0, 0.5)
            if end is not None:
                os.write(ours, draw.choice([b"1", b"2"]))
        session.send_signal(signal.SIGKILL)
        while select.select([ours], [], [], 0.05)[0]:
            try:
                seen += os.read(ours, 65536)
            except OSError:
                break
        os.close(ours)
    return max(int(n) for n in re.findall(rb"\x1b\[H(\d+) label", seen))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="", choices=("", "news", "sms", "time", "kill"))
    parser.add_argument("--write", action="store_true", help="put the tables into bench/README.md")
    options = parser.parse_args()
    news = Corpus(
        "20 Newsgroups by date",
        *(str(options.folder / f"20news-bydate-{part}") for part in ("train", "test")),
        20,
        600,
    )
    sms = Corpus(
        "SMS Spam",
        *(str(ROOT / "corpora" / "sms-spam" / f"{part}.tsv.bz2") for part in ("train", "test")),
        10,
        300,
    )
    made = {
        "news": lambda: learning_table(news),
        "sms": lambda: learning_table(sms),
        "time": lambda: time_table(news),
        "kill": lambda: kill_table(sms),
    }
    tables = "\n\n".join(make() for name, make in made.items() if options.only in ("", name))
    print(tables)
    if options.write:
        write_between(README, "labelling", tables)


if __name__ == "__main__":
    main()

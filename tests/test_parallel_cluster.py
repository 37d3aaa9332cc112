"""Counting on other machines: a real Dask scheduler and two workers on the loopback, one of which is killed in the middle.

Also tests `model/parallel_corpus.py`.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, NamedTuple

import pytest

from nbtext.parallel.cluster import connect_cluster, run_on_cluster
from tests.process import (
    ENVIRONMENT,
    SERVICE_DESK,
    content,
    error_line,
    fail,
    nbtext,
    python,
    start,
    succeed,
    succeeded,
    write,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

pytest.importorskip("distributed", reason="the extra nbtext[dask] is not installed")

pytestmark = pytest.mark.xdist_group("cluster")

PATIENCE = 60
"""Seconds that anything here may take before the test counts as failed."""

BUSY = 0.3
"""Seconds of processor time after which a worker has something to lose."""


class Cluster(NamedTuple):
    address: str
    workers: list[subprocess.Popen[bytes]]


def started(*arguments: str) -> subprocess.Popen[bytes]:
    environment = {**ENVIRONMENT, "PYTHONWARNINGS": "ignore"}  # Dask's own
    return subprocess.Popen(
        [sys.executable, "-m", *arguments, "--no-dashboard"],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


@contextmanager
def running_cluster(folder: Path, n_workers: int) -> Iterator[Cluster]:
    """Run a scheduler and its workers of one thread each."""
    file = folder / "scheduler.json"
    scheduler = started(
        "distributed.cli.dask_scheduler",
        "--host",
        "127.0.0.1",
        "--port",
        "0",
        "--scheduler-file",
        str(file),
    )
    workers = []
    try:
        wait_until(lambda: file.is_file() and file.stat().st_size > 0)
        address = json.loads(file.read_text())["address"]
        workers = [
            started(
                "distributed.cli.dask_worker",
                address,
                "--nthreads",
                "1",
                "--no-nanny",
                "--local-directory",
                str(folder / "dask"),
            )
            for _ in range(n_workers)
        ]
        yield Cluster(address, workers)
    finally:
        for process in (*workers, scheduler):
            process.kill()
            process.wait()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with running_cluster(tmp_path_factory.mktemp("cluster"), 2) as cluster:
        yield cluster


def wait_until(condition: object) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < end
        time.sleep(0.02)


def processor_time(process: subprocess.Popen[bytes]) -> float:
    fields = Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def corpus(path: Path, megabytes: int) -> Path:
    """A table of words drawn from a hundred thousand, in two classes."""
    random = Random(0)
    words = [f"w{random.getrandbits(40):x}" for _ in range(100_000)]
    with path.open("w", encoding="ascii") as file:
        for row in range(megabytes * 1000):
            file.write(f"c{row % 2}\t{' '.join(random.choices(words, k=90))}\n")
    return path


def several_labels(name: str, rows: int, seed: int) -> list[Path]:
    """Two files of documents with no, one or two labels; the first document of the second file is the first of several labels."""
    random, labels, files = Random(seed), ["corn", "grain", "oil"], [[], []]  # type: ignore[var-annotated]
    for row in range(rows):
        given = random.sample(labels, random.randrange(3)) if row % 2 else [random.choice(labels)]
        words = [f"{label}{random.randrange(9)}" for label in [*given, "word"] for _ in range(6)]
        files[row % 2].append(
            json.dumps({"label": given if row % 2 else given[0], "text": " ".join(words)}) + "\n"
        )
    return [write(f"{name}{place}.jsonl", "".join(lines)) for place, lines in enumerate(files)]


@pytest.mark.exhaustive
def test_cluster_gives_the_same_model_as_one_process(cluster: Cluster, tmp_path: Path) -> None:
    train = ("train", SERVICE_DESK / "train")
    succeed(*train, "-m", "here")
    succeed(*train, "-m", "there", "--scheduler", cluster.address)
    assert content("here") == content("there")
    succeed("update", SERVICE_DESK / "test", "-m", "here")
    succeed("update", SERVICE_DESK / "test", "-m", "there", "--scheduler", cluster.address)
    assert content("here") == content("there")


@pytest.mark.exhaustive
def test_a_single_thread_of_a_cluster_does_all_the_work(tmp_path: Path) -> None:
    with running_cluster(tmp_path, 1) as cluster, connect_cluster(cluster.address) as client:
        results = run_on_cluster(
            client, lambda power, batch: [os.getpid(), *(n**power for n in batch)], 2, range(6)
        )
        batches = sorted(results)
    assert [pid for pid, *_ in batches] == [cluster.workers[0].pid] * len(batches)
    assert [square for _, *squares in batches for square in squares] == [0, 1, 4, 9, 16, 25]


@pytest.mark.exhaustive
def test_cluster_gives_the_same_multi_label_model_as_one_process(
    cluster: Cluster, tmp_path: Path
) -> None:
    first, more = several_labels("first", 300, 1), several_labels("more", 100, 2)
    for name, where in (("here", ()), ("there", ("--scheduler", cluster.address))):
        succeed("train", *first, "-m", name, *where)
        succeed("update", *more, "-m", name, *where)
    assert content("here") == content("there")
    assert succeed("classify --text grain1 -m there").rows


def test_several_processes_give_the_same_multi_label_model(tmp_path: Path) -> None:
    first = several_labels("first", 200, 1)
    succeed("train", *first, "-m", "one")
    succeed("train", *first, "-m", "two", "--jobs", "2")
    assert content("one") == content("two")


@pytest.mark.exhaustive
def test_unreadable_documents_are_reported_in_order(cluster: Cluster, tmp_path: Path) -> None:
    table = corpus(tmp_path / "corpus.tsv", 9)
    lines = table.read_text().splitlines(keepends=True)
    for row in (10, 7000):
        lines[row] = "nothing but a label\n"
    table.write_text("".join(lines))
    here, there = (nbtext("train", table, "-m", name, *more) for name, *more in (
        ("here",), ("there", "--scheduler", cluster.address)
    ))  # fmt: skip
    assert here.status == there.status == 1
    assert here.notes == there.notes
    assert [note.split(":")[2] for note in there.notes] == ["11", "7001"]
    assert content("here") == content("there")


@pytest.mark.exhaustive
def test_killed_worker_loses_nothing(cluster: Cluster, tmp_path: Path) -> None:
    table = corpus(tmp_path / "corpus.tsv", 40)
    succeed("train", table, "-m", "here")
    victim = cluster.workers[0]
    before = processor_time(victim)
    command = [
        sys.executable,
        "-m",
        "nbtext",
        "train",
        str(table),
        "-m",
        "there",
        "--scheduler",
        cluster.address,
    ]
    training = start(command, env=ENVIRONMENT, stderr=subprocess.PIPE)
    wait_until(lambda: processor_time(victim) > before + BUSY or training.poll() is not None)
    assert training.poll() is None
    victim.send_signal(signal.SIGKILL)
    _, told = training.communicate(timeout=PATIENCE)
    assert (training.returncode, told) == (0, b"")
    assert content("here") == content("there")


def test_missing_cluster_is_refused(tmp_path: Path) -> None:
    train, nowhere = ("train", SERVICE_DESK / "train"), ("--scheduler", "tcp://127.0.0.1:1")
    assert "--backend dask needs --scheduler" in fail(2, *train, "--backend", "dask")
    assert "is not the address of a scheduler" in fail(2, *train, "--scheduler", "nonsense://x")
    code = "import sys; from nbtext.cli.main import run; from nbtext.parallel import cluster; cluster.CONNECT_TIMEOUT_SECONDS = 1; sys.exit(run(sys.argv[1:]))"
    done = python(code, *train, "--backend", "dask", *nowhere)
    assert "does not answer" in error_line(done, 4)
    assert "--scheduler cannot be used with --classifier logistic" in fail(
        2, *train, *nowhere, "--classifier", "logistic"
    )
    assert "standard input" in fail(2, "train -", *nowhere)


@pytest.mark.exhaustive
def test_cluster_logs_are_not_printed(cluster: Cluster) -> None:
    """Dask gives some of its loggers a level and a handler of their own, and its client warns of each worker that went."""
    code = (
        "import logging, sys\n"
        "from nbtext.parallel.cluster import connect_cluster\n"
        "with connect_cluster(sys.argv[1]):\n"
        "    for name in ('distributed', 'distributed.client', 'distributed.comm.tcp', 'tornado.application'):\n"
        "        logging.getLogger(name).warning('a worker went')\n"
    )
    succeeded(python(code, cluster.address))

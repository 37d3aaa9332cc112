"""Measure nbtext beside public tools on 20 Newsgroups, as whole processes, and print Markdown tables.

    python bench/run.py CORPORA                     all tables; CORPORA holds the three directories named in CORPORA_NEEDED
    python bench/run.py CORPORA --only start-up     some tables
    python bench/run.py CORPORA --write             all tables, also into bench/README.md

Seconds are those of a processor for the whole process: interpreter, imports, reading, work and writing. The commands of a table run in
turn, round after round, so that a noisy machine slows all of them; with more than one run, a first round is not counted. Ratios are
medians over rounds of seconds(command) / seconds(nbtext in the same round). Peak memory is what the kernel says of the ended process;
this process stays small, because a child's peak starts at its parent's, and leaves all preparation to children.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import os
import platform
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from measuring import MEBIBYTE, CommandError, in_turn, markdown, measure, progress, write_between
from tools import NBTEXT, PEERS, PYTHON, Corpus, missing, prepared, quality, tools

README = Path(__file__).resolve().with_name("README.md")
CORPORA_NEEDED = ("20news-bydate-train", "20news-bydate-test", "20news-19997")
WORDS_TABLE = ("--format", "tsv", "--label-column", "1", "--text-column", "2")
PACKAGES = ("nbtext", "numpy", "scikit-learn", "fasttext-wheel", "vowpalwabbit")


def table(title: str, columns: list[str], rows: list[list[str]]) -> str:
    return f"### {title}\n\n{markdown(columns, rows)}"


def unmeasured(name: str, problem: str, columns: list[str]) -> list[str]:
    return [name, problem, *[""] * (len(columns) - 2)]


def file_size(path: Path | str) -> int:
    return Path(path).stat().st_size


def train_table(corpora: Path, scratch: Path, options: argparse.Namespace) -> str:
    """Training alone: reading a directory per class (fastText, Vowpal Wabbit: one prepared file), fitting, writing the model."""
    corpus = prepared(corpora / "20news-19997", scratch)
    chosen = [
        tool
        for tool in tools(corpus, corpus, scratch)
        if "--ngrams" not in tool.name and "Tfidf" not in tool.name
    ]
    progress("training on all of 20 Newsgroups")
    series = in_turn(
        {tool.name: tool.train for tool in chosen},
        options.runs,
        {tool.name: missing(tool) for tool in chosen},
    )
    columns = ["tool", "seconds", "ratio to nbtext", "peak MiB", "model MiB"]
    rows = []
    for tool in chosen:
        mine = series[tool.name]
        figures = mine.runs and (
            mine.seconds(),
            mine.ratio(series["nbtext"]),
            mine.peak(),
            file_size(tool.model) / MEBIBYTE,
        )
        row = (
            [f"{figures[0]:.2f}", f"{figures[1]:.2f}", f"{figures[2]:.0f}", f"{figures[3]:.1f}"]
            if figures
            else []
        )
        rows.append([tool.name, *row] if row else unmeasured(tool.name, mine.problem, columns))
    files = sum(len(names) for _, _, names in os.walk(corpus.folder))
    return table(f"Training on 20 Newsgroups, {files:,} files", columns, rows)


def accuracy_table(corpora: Path, scratch: Path, options: argparse.Namespace) -> str:
    """Training on the earlier documents, then a second process that loads the model and classifies all later ones."""
    chosen = tools(
        *(prepared(corpora / f"20news-bydate-{part}", scratch) for part in ("train", "test")),
        scratch,
    )
    absent = {tool.name: missing(tool) for tool in chosen}
    progress("training by date")
    training = in_turn({tool.name: tool.train for tool in chosen}, options.runs, absent)
    progress("classifying by date")
    classifying = in_turn(
        {tool.name: tool.classify for tool in chosen},
        options.runs,
        {name: one.problem for name, one in training.items()},
    )
    columns = ["tool", "accuracy", "macro F1", "train seconds", "classify seconds", "peak MiB"]
    rows = []
    for tool in chosen:
        learnt, judged = training[tool.name], classifying[tool.name]
        if not judged.runs:
            rows.append(unmeasured(tool.name, judged.problem, columns))
            continue
        accuracy, macro_f1 = quality(tool, judged.runs[-1].output)
        times = f"{learnt.seconds():.2f}", f"{judged.seconds():.2f}"
        rows.append(
            [
                tool.name,
                f"{accuracy:.4f}",
                f"{macro_f1:.4f}",
                *times,
                f"{max(learnt.peak(), judged.peak()):.0f}",
            ]
        )
    files = sum(len(names) for _, _, names in os.walk(corpora / "20news-bydate-test"))
    return table(f"20 Newsgroups by date, {files:,} documents to classify", columns, rows)


def start_up_table(corpora: Path, scratch: Path, options: argparse.Namespace) -> str:
    """Short processes: the help page, and one document with a model that is already there; three times the rounds."""
    train, test = (
        Corpus(str(corpora / f"20news-bydate-{part}"), "", "") for part in ("train", "test")
    )
    ours, theirs = (
        next(tool for tool in tools(train, test, scratch) if tool.name.startswith(name))
        for name in ("nbtext", "scikit-learn")
    )
    document = str(min((corpora / "20news-bydate-test" / "sci.space").iterdir()))
    progress("start-up")
    measure(ours.train)
    rounds = options.runs * 3
    sklearn = "scikit-learn: load the model, classify one document"
    absent = {
        sklearn: in_turn({sklearn: theirs.train}, 1, {sklearn: missing(theirs)})[sklearn].problem
    }
    helping = in_turn(
        {
            "nbtext --help": [NBTEXT, "--help"],
            'python -c "import click"': [PYTHON, "-c", "import click"],
        },
        rounds,
    )
    commands = {
        "nbtext classify, one document": [NBTEXT, "classify", document, "-m", str(ours.model)],
        'python -c "import numpy"': [PYTHON, "-c", "import numpy"],
        sklearn: [PYTHON, PEERS, "sklearn-classify", str(theirs.model), document],
    }
    columns = ["command", "milliseconds", "ratio to nbtext", "peak MiB"]
    rows = []
    for series in (helping, in_turn(commands, rounds, absent)):
        base = next(iter(series.values()))
        for name, one in series.items():
            row = (
                [f"{one.seconds() * 1000:.0f}", f"{one.ratio(base):.2f}", f"{one.peak():.0f}"]
                if one.runs
                else []
            )
            rows.append([name, *row] if row else unmeasured(name, one.problem, columns))
    return table("Start-up", columns, rows)


def throughput_table(corpora: Path, scratch: Path, options: argparse.Namespace) -> str:
    """Training from one table of labels and words, beside counting its words; and peak memory as the table grows."""
    tables = {}
    for copies in (1, 4, 12) if options.full else (1, 4):
        progress(f"writing {copies} copies of 20 Newsgroups")
        tables[copies] = str(scratch / f"{copies}.tsv")
        measure(
            [
                PYTHON,
                PEERS,
                "prepare-table",
                str(corpora / "20news-19997"),
                str(copies),
                tables[copies],
            ]
        )
    progress("training from one table")
    model = str(scratch / "table.joblib")
    learn = {
        copies: [NBTEXT, "train", path, *WORDS_TABLE, "-m", model]
        for copies, path in tables.items()
    }
    commands = {
        "nbtext train": learn[4],
        "nbtext train --jobs 2": [*learn[4], "--jobs", "2"],
        "LC_ALL=C wc -w": ["env", "LC_ALL=C", "wc", "-w", tables[4]],
    }
    series = in_turn(commands, options.runs)
    megabytes = {copies: file_size(path) / 1e6 for copies, path in tables.items()}
    rows = []
    for name, one in series.items():
        rows.append(
            [
                name,
                f"{one.seconds():.2f}",
                f"{one.ratio(series['nbtext train']):.2f}",
                f"{one.clock():.2f}",
            ]
        )
    columns = ["command", "seconds", "ratio to nbtext", "seconds on the clock"]
    speeds = table(f"Training from one table of {megabytes[4]:.0f} MB", columns, rows)
    grown = [
        (
            f"{size:.0f}",
            series["nbtext train"].peak() if copies == 4 else measure(learn[copies]).peak,
        )
        for copies, size in megabytes.items()
    ]
    return f"{speeds}\n\n{table('Memory of nbtext train as the table grows', ['MB', 'peak MiB'], [[size, f'{peak:.0f}'] for size, peak in grown])}"


def cross_validation_table(corpora: Path, scratch: Path, options: argparse.Namespace) -> str:
    """Ten folds with the same model on both sides: multinomial, one pseudo-count, no calibration."""
    del scratch
    corpus = str(corpora / "20news-bydate-train")
    progress("cross-validation")
    theirs = "scikit-learn CountVectorizer, MultinomialNB"
    commands = {
        "nbtext": [
            NBTEXT,
            "cross-validate",
            corpus,
            "--folds",
            "10",
            "--smoothing",
            "1",
            "--calibration",
            "none",
        ],
        theirs: [PYTHON, PEERS, "sklearn-cross-validate", corpus],
    }
    series = in_turn(
        commands,
        options.runs,
        {} if importlib.util.find_spec("sklearn") else {theirs: "not installed"},
    )
    columns = ["tool", "seconds", "ratio to nbtext", "peak MiB"]
    rows = [
        [name, f"{one.seconds():.2f}", f"{one.ratio(series['nbtext']):.2f}", f"{one.peak():.0f}"]
        if one.runs
        else unmeasured(name, one.problem, columns)
        for name, one in series.items()
    ]
    return table("Ten-fold cross-validation, 11,314 files", columns, rows)


TABLES = {
    "train": train_table,
    "accuracy": accuracy_table,
    "start-up": start_up_table,
    "throughput": throughput_table,
    "cross-validation": cross_validation_table,
}


def machine(runs: int) -> str:
    """What the tables were measured on and with."""
    cpuinfo = Path("/proc/cpuinfo")
    models = (
        [
            line.partition(":")[2].strip()
            for line in cpuinfo.read_text().splitlines()
            if line.startswith("model name")
        ]
        if cpuinfo.exists()
        else []
    )
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / (1 << 30)
    try:
        system = platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        system = platform.platform(terse=True)
    versions = []
    for name in PACKAGES:
        try:
            versions.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            versions.append(f"{name} not installed")
    return (
        f"{datetime.now(UTC):%Y-%m-%d}, {runs} {'run' if runs == 1 else 'runs'}. {models[0] if models else platform.machine()}, "
        f"{os.cpu_count()} cores, {memory:.0f} GiB, {system}, Python {platform.python_version()}; {', '.join(versions)}."
    )


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description="Measure nbtext beside public tools on 20 Newsgroups."
    )
    parser.add_argument("corpora", type=Path, help=f"a folder with {', '.join(CORPORA_NEEDED)}")
    parser.add_argument(
        "--runs", type=int, default=3, help="rounds to take the median of (default 3)"
    )
    parser.add_argument(
        "--only",
        nargs="+",
        choices=TABLES,
        metavar="NAME",
        help=f"only these tables: {', '.join(TABLES)}",
    )
    parser.add_argument(
        "--full",
        action="store_true",
        help="also the memory on twelve copies of the corpus (needs 1 GB of disk)",
    )
    parser.add_argument(
        "--write", action="store_true", help="also put the tables into bench/README.md"
    )
    options = parser.parse_args()
    absent = [name for name in CORPORA_NEEDED if not (options.corpora / name).is_dir()]
    if absent:
        sys.exit(f"{options.corpora}: no directory {', '.join(absent)} in it")
    if options.runs < 1:
        parser.error("--runs must be 1 or more")
    if options.write and options.only:
        parser.error("--write takes all tables from one run; leave out --only")
    if not Path(NBTEXT).exists():
        sys.exit("nbtext is not installed beside this Python: python -m pip install --editable .")
    return options


def main() -> None:
    options = arguments()
    parts = [machine(options.runs)]
    print(parts[0], flush=True)
    with tempfile.TemporaryDirectory() as scratch:
        for name in options.only or TABLES:
            folder = Path(scratch) / name
            folder.mkdir()
            try:
                parts.append(TABLES[name](options.corpora.resolve(), folder, options))
            except CommandError as failure:
                sys.exit(f"{name}: {failure}")
            print(f"\n{parts[-1]}", flush=True)
    if options.write:
        write_between(README, "results", "\n\n".join(parts))


if __name__ == "__main__":
    main()

"""Every command on small and large corpora: `python bench/commands.py FOLDER` prints a Markdown table, with `--write` also into bench/README.md.

FOLDER is that of models.py. The last column is a made corpus of many classes, two documents each for training. A cell holds the seconds of
a processor and the peak MiB of the whole process, so that other work on the machine counts little; all takes about ten minutes. `--only
report inspect` measures some commands, `--corpus SMS` on some corpora.
"""

from __future__ import annotations

import argparse
import random
import shutil
import signal
import sys
import tempfile
from pathlib import Path

from measuring import NBTEXT, CommandError, markdown, measure, progress, write_between
from models import Corpus, corpora

README = Path(__file__).resolve().with_name("README.md")
MANY_CLASSES, TESTED = 20_000, 1_000
"""Of the made corpus, and of how many of them there is a document to test."""
MEASURED = ("20 Newsgroups by date", "Banking77", "SMS Spam")
MOST_SECONDS = 60
"""A command that takes more of a processor is ended."""

LONG_DOCUMENT = 5_000_000
"""Bytes, of the words of the test documents over and over."""

COMMANDS = {
    "train": "train {train} -m {written} {reading}",
    "train --classifier logistic": "train {train} -m {written} {reading} --classifier logistic",
    "the same, bigrams, all words": "train {train} -m {written} {reading} --classifier logistic --min-df 2 --ngrams 2 --stop-words none"
    " --stemmer none",
    "train --classifier average": "train {train} -m {written} {reading} --classifier average",
    "train --unlabelled": "train {train} -m {written} {reading} --unlabelled {test}",
    "tune": "tune {train} --try min-df=1 -m {written} {reading}",
    "classify one": "classify {one} -m {model} --format lines",
    "classify 5 MB in one document": "classify {long} -m {model} --format dir --document text",
    "classify all": "classify {test} -m {model} {reading}",
    "classify --coverage": "classify {test} -m {model} {reading} --coverage 0.95",
    "label --suggest": "label {test} {reading} --to {labels} --suggest 20",
    "prevalence": "prevalence {test} -m {model}",
    "evaluate": "evaluate {test} -m {model}",
    "cross-validate": "cross-validate {train} {reading}",
    "learning-curve": "learning-curve {train} {reading}",
    "compare": "compare {model} {other} {test}",
    "suspects": "suspects {train} {reading}",
    "report": "report {test} -m {model} --to {page}",
    "report --learning-curve": "report {test} -m {model} --learning-curve {train} --to {page}",
    "explain one": "explain {one} -m {model} --format lines",
    "explain 5 MB in one document": "explain {long} -m {model} --format dir --document text",
    "explain all": "explain {test} -m {model} {reading}",
    "why-not one": "why-not {label} {one} -m {model} --format lines",
    "why-not 5 MB in one document": "why-not {label} {long} -m {model} --format dir --document text",
    "why-not all": "why-not {label} {test} -m {model} {reading}",
    "select-features": "select-features -m {model}",
    "inspect": "inspect -m {model}",
    "tokens, 5 MB in one document": "tokens {long} -m {model} --format dir --document text",
    "generate": "generate -n 100 -m {model}",
    "update": "update {test} -m {changed}",
    "forget": "forget {test} -m {changed}",
    "merge": "merge {model} {other} --to {written}",
    "relabel": "relabel {label} {another} -m {changed}",
    "prune": "prune --min-df 2 -m {changed}",
    "promote": "promote {changed} -m {written}",
    "drift": "drift {log}",
    "doctor": "doctor -m {model}",
    "doctor on a corpus": "doctor {train} {reading}",
    "help": "help",
    "completion": "completion bash",
}
"""Each with its arguments, but for the names in braces, which `places` gives. A command that changes a model gets a new copy of it."""


def many_classes(folder: Path, classes: int) -> Corpus:
    """Write documents of made words: of 30, four belong to the class."""
    chance, common = random.Random(1), [f"word{number}" for number in range(5000)]
    rows = []
    for number in range(classes):
        own = [f"own{number}{letter}" for letter in "abcd"]
        rows.append(
            [
                f"class{number}\t{' '.join([*own, *chance.choices(common, k=26)])}\n"
                for _ in range(3)
            ]
        )
    for name, part in (
        ("train", [line for lines in rows for line in lines[:2]]),
        ("test", [lines[2] for lines in rows[:TESTED]]),
    ):
        (folder / f"many-{name}.tsv").write_text("".join(part), encoding="utf-8")
    return Corpus(folder / "many-train.tsv", folder / "many-test.tsv", ("--format", "tsv"))


def places(corpus: Corpus, folder: Path) -> dict[str, str]:
    """Train the models that the commands ask, and return what stands for each name in braces."""
    model, other, both, log = (
        folder / name for name in ("model.joblib", "other.joblib", "both.joblib", "drift.log")
    )
    for part, file in ((corpus.train, model), (corpus.test, other)):
        measure([*NBTEXT, "train", str(part), "-m", str(file), *corpus.reading, *corpus.analysis])
    measure([*NBTEXT, "merge", str(model), str(other), "--to", str(both)])
    answers = (
        measure([*NBTEXT, "classify", str(corpus.test), "-m", str(model), "--drift", str(log)])
        .output.decode()
        .splitlines()
    )
    labels = sorted({answer.split("\t")[1] for answer in answers})
    words = measure([*NBTEXT, "generate", "-n", "100", "-m", str(model)]).output
    (folder / "one.txt").write_bytes(words.splitlines()[-1] + b"\n")
    texts = (
        b"".join(file.read_bytes() for file in sorted(corpus.test.rglob("*")) if file.is_file())
        or corpus.test.read_bytes()
    )
    (folder / "long").mkdir()
    (folder / "long" / "document.txt").write_bytes(
        (texts * (LONG_DOCUMENT // len(texts) + 1))[:LONG_DOCUMENT]
    )
    return {
        "train": str(corpus.train), "test": str(corpus.test), "reading": " ".join(corpus.reading), "one": str(folder / "one.txt"),
        "long": str(folder / "long"), "label": labels[0], "another": labels[-1], "page": str(folder / "page.html"), "log": str(log),
        "model": str(model), "other": str(other), "both": str(both), "written": str(folder / "written.joblib"),
        "changed": str(folder / "changed.joblib"), "labels": str(folder / "labels.jsonl"),
    }  # fmt: skip


def measured(command: str, place: dict[str, str]) -> str:
    """Run a command once; return seconds of a processor and peak MiB, or why there are none."""
    arguments = command.format(**place).split()
    if place["changed"] in arguments:
        shutil.copy(place["both"], place["changed"])
    try:
        run = measure([*NBTEXT, *arguments], keep=False, most=MOST_SECONDS)
    except CommandError as failure:
        print(failure, file=sys.stderr)
        return {-signal.SIGKILL: f"over {MOST_SECONDS}", 2: "refused"}.get(failure.status, "failed")
    return f"{run.processor:.1f} / {run.peak:.0f}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument(
        "--only", nargs="+", default=[""], help="commands that begin with one of these"
    )
    parser.add_argument(
        "--corpus", nargs="+", default=[""], help="corpora with one of these in their names"
    )
    parser.add_argument("--classes", type=int, default=MANY_CLASSES, help="of the made corpus")
    parser.add_argument("--write", action="store_true", help="put the table into bench/README.md")
    options = parser.parse_args()
    chosen = {
        name: command for name, command in COMMANDS.items() if name.startswith(tuple(options.only))
    }
    columns: dict[str, list[str]] = {}
    with tempfile.TemporaryDirectory() as scratch:
        found = {
            title: corpus
            for title, corpus in corpora(options.folder, Path(scratch)).items()
            if title in MEASURED
        }
        found[f"{options.classes:,} classes"] = many_classes(Path(scratch), options.classes)
        for number, (title, corpus) in enumerate(found.items()):
            if not any(part in title for part in options.corpus):
                continue
            folder = Path(scratch) / str(number)
            folder.mkdir()
            progress(f"{title}: preparing")
            place = places(corpus, folder)
            columns[title] = []
            for name, command in chosen.items():
                columns[title].append(measured(command, place))
                progress(f"{title}: {name}: {columns[title][-1]}")
    rows = [[name, *cells] for name, *cells in zip(chosen, *columns.values(), strict=True)]
    table = markdown(["seconds of a processor / peak MiB", *columns], rows)
    print(table)
    if options.write:
        write_between(README, "commands", table)


if __name__ == "__main__":
    main()

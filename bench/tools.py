"""The tools of the comparison: the commands that train and classify, and how good the answers are."""

from __future__ import annotations

import importlib.util
import statistics
import sys
from dataclasses import dataclass
from pathlib import Path

from measuring import measure, progress

PYTHON = sys.executable
NBTEXT = str(Path(PYTHON).with_name("nbtext"))
PEERS = str(Path(__file__).resolve().with_name("peers.py"))


@dataclass(frozen=True)
class Corpus:
    """One corpus as a directory per class, and the same texts as one file each for fastText and Vowpal Wabbit."""

    folder: str
    fasttext: str
    vw: str


@dataclass(frozen=True)
class Tool:
    """How one tool trains on a corpus, writing `model`, and classifies all of another; `module` must be there, if it names one."""

    name: str
    module: str
    model: Path
    train: list[str]
    classify: list[str]
    truth: str = ""  # the prepared file whose lines begin with the right answers; else each answer names its document's path
    answers: Path | None = None  # where classify leaves its answers, if not on standard output


def prepared(folder: Path, scratch: Path) -> Corpus:
    progress(f"preparing {folder.name}")
    corpus = Corpus(
        str(folder), str(scratch / f"{folder.name}.fasttext"), str(scratch / f"{folder.name}.vw")
    )
    measure([PYTHON, PEERS, "prepare", corpus.folder, corpus.fasttext, corpus.vw])
    return corpus


def tools(train: Corpus, test: Corpus, scratch: Path) -> list[Tool]:
    """Every tool of the comparison, trained on one corpus and classifying another."""

    def nbtext(name: str, *options: str) -> Tool:
        model = scratch / f"{name}.joblib"
        commands = (
            [NBTEXT, "train", train.folder, "-m", str(model), *options],
            [NBTEXT, "classify", test.folder, "-m", str(model)],
        )
        return Tool(name, "", model, *commands)

    def sklearn(name: str, kind: str) -> Tool:
        model = scratch / f"sklearn-{kind}.joblib"
        learn = [PYTHON, PEERS, "sklearn-train", kind, train.folder, str(model)]
        return Tool(
            name,
            "sklearn",
            model,
            learn,
            [PYTHON, PEERS, "sklearn-classify", str(model), test.folder],
        )

    def fasttext(name: str, *settings: str) -> Tool:
        model = scratch / f"{name}.bin"
        learn = [PYTHON, PEERS, "fasttext-train", train.fasttext, str(model), *settings]
        return Tool(
            name,
            "fasttext",
            model,
            learn,
            [PYTHON, PEERS, "fasttext-classify", str(model), test.fasttext],
            test.fasttext,
        )

    model, cache, answers = scratch / "vw.model", scratch / "vw.cache", scratch / "vw.answers"
    vw = [PYTHON, "-m", "vowpalwabbit", "--quiet"]
    one_against_all = [
        "--oaa",
        str(len(list(Path(train.folder).iterdir()))),
        "--loss_function",
        "logistic",
        "--bit_precision",
        "22",
    ]
    passes = ["--passes", "5", "--holdout_off", "--cache_file", str(cache), "--kill_cache"]
    learn = [*vw, "--data", train.vw, *one_against_all, *passes, "--final_regressor", str(model)]
    judge = [
        *vw,
        "--data",
        test.vw,
        "--testonly",
        "--initial_regressor",
        str(model),
        "--predictions",
        str(answers),
    ]
    return [
        nbtext("nbtext"),
        nbtext(
            "nbtext --ngrams 2 --stop-words none --stemmer none",
            "--ngrams",
            "2",
            "--stop-words",
            "none",
            "--stemmer",
            "none",
        ),
        sklearn("scikit-learn CountVectorizer, MultinomialNB", "bayes"),
        sklearn("scikit-learn TfidfVectorizer, LinearSVC", "svc"),
        fasttext("fastText"),
        fasttext("fastText lr=1.0 epoch=25", "lr=1.0", "epoch=25"),
        Tool("Vowpal Wabbit", "vowpalwabbit", model, learn, judge, test.vw, answers),
    ]


def missing(tool: Tool) -> str:
    return "" if not tool.module or importlib.util.find_spec(tool.module) else "not installed"


def quality(tool: Tool, output: bytes) -> tuple[float, float]:
    """Accuracy and macro F1 of what a tool's classify command answered."""
    if tool.truth:
        answers = (tool.answers.read_bytes() if tool.answers else output).decode().splitlines()
        with Path(tool.truth).open(encoding="utf-8", newline="\n") as lines:
            pairs = list(zip((line.partition(" ")[0] for line in lines), answers, strict=True))
    else:
        rows = [line.split("\t") for line in output.decode().splitlines()]
        pairs = [(Path(row[0]).parent.name, row[1]) for row in rows]
    scores = []
    for label in sorted({truth for truth, _ in pairs}):
        right = sum(truth == answer == label for truth, answer in pairs)
        scores.append(
            2 * right / sum((truth == label) + (answer == label) for truth, answer in pairs)
        )
    return sum(truth == answer for truth, answer in pairs) / len(pairs), statistics.mean(scores)

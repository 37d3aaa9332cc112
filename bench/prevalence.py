"""Shares of classes among documents, by several methods: `python bench/prevalence.py FOLDER` prints a Markdown table, with `--write` into bench/README.md.

FOLDER holds 20 Newsgroups as `run.py` takes it. A sample has 500 test documents, drawn with replacement, with class shares from Dirichlet(1); the truth
is the shares in the sample. Everything follows from the posteriors of the test documents and of left-out training documents.
"""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from measuring import progress, write_between

from nbtext import TextClassifier
from nbtext.corpus.collection import Corpus
from nbtext.model.corpus_flow import score_corpus
from nbtext.promises.class_shares import ClassLikelihoods, class_likelihoods, class_shares, most_likely_shares

if TYPE_CHECKING:
    from collections.abc import Callable

    from nbtext.model.left_out import LeftOutPosteriors

    Floats = np.ndarray[Any, np.dtype[np.float64]]

README = Path(__file__).resolve().with_name("README.md")
SAMPLES, DOCUMENTS = 1000, 500


def split(source: Path, target: Path) -> tuple[Path, Path]:
    """Copy a random two thirds of each class for training, the rest for testing."""
    for group in sorted(source.iterdir()):
        files = sorted(group.iterdir())
        random.Random(f"3/{group.name}").shuffle(files)
        cut = len(files) * 2 // 3
        for part, chosen in (("train", files[:cut]), ("test", files[cut:])):
            (target / part / group.name).mkdir(parents=True)
            for file in chosen:
                shutil.copyfile(file, target / part / group.name / file.name)
    return target / "train", target / "test"


def adjusted(confusion: Floats, found: Floats) -> Floats:
    """Return the shares π under which a mean ``found``, shape (n_classes,), of what ``confusion`` says of each class, one a row, is most likely."""
    shares = np.full(len(found), 1 / len(found))
    for _ in range(500):
        shares = shares * (confusion @ (found / np.maximum(shares @ confusion, 1e-12)))
    return shares


def methods(model: TextClassifier, left_out: LeftOutPosteriors) -> dict[str, Callable[[Floats], Floats]]:
    """Return functions from log posteriors to shares; the last is that of `nbtext prevalence`."""
    n_classes = len(model.classes)

    def counts(log_posterior: Floats) -> Floats:
        return np.bincount(log_posterior.argmax(axis=1), minlength=n_classes) / len(log_posterior)

    def means(log_posterior: Floats) -> Floats:
        return np.exp(log_posterior).mean(axis=0)

    def confusion(by: Callable[[Floats], Floats]) -> Floats:
        return np.stack([by(left_out.log_posterior[left_out.classes == number]) for number in range(n_classes)])

    of_counts, of_means = confusion(counts), confusion(means)
    uncorrected, corrected = ClassLikelihoods.uncorrected(model.prior), class_likelihoods(model)
    return {
        "counting answers": counts,
        "EM on the class prior": lambda given: most_likely_shares(uncorrected.given(given)),
        "adjusted counts": lambda given: adjusted(of_counts, counts(given)),
        "probabilistic adjusted counts": lambda given: adjusted(of_means, means(given)),
        "nbtext prevalence": lambda given: most_likely_shares(corrected.given(given)),
    }


def compare(name: str, train: Path, test: Path, samples: int) -> list[str]:
    """Return the rows of a corpus."""
    progress(name)
    model = TextClassifier().fit_corpus(str(train), document="mail")
    parts, labels = [], []
    for block in score_corpus(model, Corpus([str(test)], model.reading, labelled=True)):
        parts.append(block.log_posterior)
        labels += [model.classes.index(str(document.label)) for document in block.documents]
    posterior, classes = np.concatenate(parts), np.array(labels)
    of_class = [np.flatnonzero(classes == number) for number in range(len(model.classes))]
    by_method, likelihoods = methods(model, model.left_out_posteriors()), class_likelihoods(model)
    draw, errors, held, widths = np.random.default_rng(7), [], [], []
    for _ in range(samples):
        drawn = draw.choice(len(of_class), DOCUMENTS, p=draw.dirichlet(np.ones(len(of_class))))
        given = posterior[[draw.choice(of_class[number]) for number in drawn]]
        truth = np.bincount(drawn, minlength=len(of_class)) / DOCUMENTS
        errors.append([np.abs(method(given) - truth).mean() for method in by_method.values()])
        found = class_shares(given, model.classes, likelihoods).prevalence.values()
        held.append(np.mean([each.low - 1e-9 <= share <= each.high + 1e-9 for each, share in zip(found, truth.tolist(), strict=True)]))
        widths.append(np.mean([each.high - each.low for each in found]))
    table = np.array(errors)

    def interval(values: list[float] | Floats, form: str) -> str:
        mean, margin = np.mean(values), 1.96 * np.std(values) / np.sqrt(samples)
        return f"{mean:{form}} ({mean - margin:{form}} to {mean + margin:{form}})"

    rows = []
    for place, method in enumerate(by_method):
        ratio = table[:, place].mean() / table[:, 0].mean()
        last = f"{interval(held, '.1%')}, {np.mean(widths):.4f} wide" if place == len(by_method) - 1 else "–"
        rows.append(f"| {name} | {method} | {interval(table[:, place], '.5f')} | {ratio:.2f} | {last} |")
    return rows


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--samples", type=int, default=SAMPLES)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        halves = {
            "random two thirds": split(options.folder / "20news-19997", Path(scratch)),
            "by date": (options.folder / "20news-bydate-train", options.folder / "20news-bydate-test"),
        }
        rows = [row for name, (train, test) in halves.items() for row in compare(name, train, test, options.samples)]
    title = f"### Shares of classes: {options.samples:,} samples of {DOCUMENTS} test documents"
    heads = ["| 20 Newsgroups | method | mean error of a share | to counting | 95 % intervals hold the truth |", "|---|---|---|---|---|"]
    text = "\n".join([title, "", *heads, *rows]) + "\n"
    if options.write:
        write_between(README, "prevalence", text)
    sys.stdout.write(text)


if __name__ == "__main__":
    main()

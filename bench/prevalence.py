"""Shares of classes among documents, by several methods: `python bench/prevalence.py FOLDER` prints a Markdown table, with `--write` into bench/README.md.

FOLDER holds 20 Newsgroups as `run.py` takes it. A sample has 500 test documents, drawn with replacement, with class shares from Dirichlet(1); the truth
is the shares in the sample. Everything follows from the posteriors of the test documents and of left-out training documents.

`--few` measures instead how often intervals hold the truth with few labels: `python bench/prevalence.py FOLDER --few --samples 200 --models 10`. FOLDER
holds `reuters-90` too, of which the documents of one topic are taken. Samples are spread over models of different training documents, and drawn
without replacement as far as a class has documents.
"""

from __future__ import annotations

import argparse
import json
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
from nbtext.errors import UsageError
from nbtext.guarantees.class_proportions import (
    ClassLikelihoods,
    estimate_class_proportions,
    fit_proportion_estimator,
    fit_proportions,
    require_labelled_documents,
)
from nbtext.model.parallel_corpus import score_corpus
from nbtext.model.training import compute_held_out_posteriors

if TYPE_CHECKING:
    from collections.abc import Callable

    from nbtext.prediction.calibration import HeldOutPosteriors

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


def methods(
    model: TextClassifier, left_out: HeldOutPosteriors
) -> dict[str, Callable[[Floats], Floats]]:
    """Return functions from log posteriors to shares; the last is that of `nbtext prevalence`."""
    n_classes = len(model.classes)

    def counts(log_posterior: Floats) -> Floats:
        return np.bincount(log_posterior.argmax(axis=1), minlength=n_classes) / len(log_posterior)

    def means(log_posterior: Floats) -> Floats:
        return np.exp(log_posterior).mean(axis=0)

    def confusion(by: Callable[[Floats], Floats]) -> Floats:
        return np.stack(
            [by(left_out.log_posterior[left_out.classes == number]) for number in range(n_classes)]
        )

    of_counts, of_means = confusion(counts), confusion(means)
    uncorrected, corrected = (
        ClassLikelihoods.from_prior(model.fitted.classifier.prior),
        fit_proportion_estimator(model),
    )
    return {
        "counting answers": counts,
        "EM on the class prior": lambda given: fit_proportions(
            uncorrected.compute_likelihoods(given)
        ),
        "adjusted counts": lambda given: adjusted(of_counts, counts(given)),
        "probabilistic adjusted counts": lambda given: adjusted(of_means, means(given)),
        "nbtext prevalence": lambda given: fit_proportions(corrected.compute_likelihoods(given)),
    }


def compare(name: str, train: Path, test: Path, samples: int) -> list[str]:
    """Return the rows of a corpus."""
    progress(name)
    model = TextClassifier().fit_corpus(str(train), document="mail")
    parts, labels = [], []
    for block in score_corpus(model.fitted, Corpus([str(test)], model.reading, labelled=True)):
        parts.append(block.log_posterior)
        labels += [model.classes.index(str(document.label)) for document in block.documents]
    posterior, classes = np.concatenate(parts), np.array(labels)
    of_class = [np.flatnonzero(classes == number) for number in range(len(model.classes))]
    by_method, likelihoods = (
        methods(model, compute_held_out_posteriors(model.fitted)),
        fit_proportion_estimator(model),
    )
    draw, errors, held, widths = np.random.default_rng(7), [], [], []
    for _ in range(samples):
        drawn = draw.choice(len(of_class), DOCUMENTS, p=draw.dirichlet(np.ones(len(of_class))))
        given = posterior[[draw.choice(of_class[number]) for number in drawn]]
        truth = np.bincount(drawn, minlength=len(of_class)) / DOCUMENTS
        errors.append([np.abs(method(given) - truth).mean() for method in by_method.values()])
        found = estimate_class_proportions(given, model.classes, likelihoods).prevalence.values()
        held.append(
            np.mean(
                [
                    each.low - 1e-9 <= share <= each.high + 1e-9
                    for each, share in zip(found, truth.tolist(), strict=True)
                ]
            )
        )
        widths.append(np.mean([each.high - each.low for each in found]))
    table = np.array(errors)

    def interval(values: list[float] | Floats, form: str) -> str:
        mean, margin = np.mean(values), 1.96 * np.std(values) / np.sqrt(samples)
        return f"{mean:{form}} ({mean - margin:{form}} to {mean + margin:{form}})"

    rows = []
    for place, method in enumerate(by_method):
        ratio = table[:, place].mean() / table[:, 0].mean()
        last = (
            f"{interval(held, '.1%')}, {np.mean(widths):.4f} wide"
            if place == len(by_method) - 1
            else "–"
        )
        rows.append(
            f"| {name} | {method} | {interval(table[:, place], '.5f')} | {ratio:.2f} | {last} |"
        )
    return rows


Rows = list[tuple[str, str]]
LABELS = (40, 60, 100, 200, 1000)
CLASSIFIERS = ("multinomial", "logistic", "average")


def news(folder: Path) -> dict[str, Rows]:
    """Return class, subject and text of the posts of `split`, which has the parts train and test."""
    parts: dict[str, Rows] = {}
    for part in ("train", "test"):
        rows = parts[part] = []
        for file in sorted((folder / part).rglob("*")):
            if file.is_file():
                head, _, body = file.read_text(encoding="latin-1").partition("\n\n")
                subjects = [
                    line[8:] for line in head.splitlines() if line.lower().startswith("subject:")
                ]
                rows.append((file.parent.name, " ".join(subjects) + "\n" + body))
    return parts


def reuters(folder: Path) -> dict[str, Rows]:
    """Return class and text of the documents of one topic."""
    parts: dict[str, Rows] = {}
    for part in ("train", "test"):
        with (folder / f"{part}.jsonl").open(encoding="utf-8") as lines:
            rows = [json.loads(line) for line in lines]
        parts[part] = [(row["labels"][0], row["text"]) for row in rows if len(row["labels"]) == 1]
    return parts


def held_by(
    classifier: str, train: Rows, test: Rows, samples: int, seed: int
) -> tuple[list[float], list[float]] | str:
    """Return the shares of intervals that hold the truth and their widths, one of each for a sample, or the error of `nbtext prevalence`."""
    model = TextClassifier(classifier=classifier).fit(
        [text for _, text in train], [label for label, _ in train]
    )
    try:
        require_labelled_documents(model)
        likelihoods = fit_proportion_estimator(model)
    except UsageError as problem:
        return problem.message
    test = [row for row in test if row[0] in model.classes]
    posterior, classes = (
        model.predict_log_proba([text for _, text in test]),
        np.array([model.classes.index(label) for label, _ in test]),
    )
    draw, n_classes, held, widths = np.random.default_rng(seed), len(model.classes), [], []
    here = np.unique(classes)
    for _ in range(samples):
        wanted = draw.multinomial(DOCUMENTS, draw.dirichlet(np.ones(here.size)))
        chosen = [
            draw.permutation(np.flatnonzero(classes == number))[:n]
            for number, n in zip(here, wanted, strict=True)
        ]
        rows = np.concatenate(chosen)
        truth = np.bincount(classes[rows], minlength=n_classes) / rows.size
        found = estimate_class_proportions(
            posterior[rows], model.classes, likelihoods
        ).prevalence.values()
        held.append(
            float(
                np.mean(
                    [
                        each.low - 1e-9 <= share <= each.high + 1e-9
                        for each, share in zip(found, truth.tolist(), strict=True)
                    ]
                )
            )
        )
        widths.append(float(np.mean([each.high - each.low for each in found])))
    return held, widths


def few_labels(
    news_parts: dict[str, Rows], reuters_parts: dict[str, Rows], samples: int, models: int
) -> list[str]:
    """Return a row for each corpus, classifier and number of labels."""
    rows = []
    for name, parts, n_classes in (
        ("3 newsgroups", news_parts, 3),
        ("20 newsgroups", news_parts, 20),
        ("Reuters", reuters_parts, None),
    ):
        for n_labels in LABELS:
            for classifier in CLASSIFIERS:
                progress(f"{name}, {n_labels}, {classifier}")
                held, widths, refused = [], [], ""
                for seed in range(models):
                    draw = random.Random(f"{name}/{n_labels}/{seed}")
                    names = sorted({label for label, _ in parts["train"]})
                    names = draw.sample(names, n_classes) if n_classes else names
                    train, test = (
                        [row for row in parts[part] if row[0] in names]
                        for part in ("train", "test")
                    )
                    found = held_by(
                        classifier, draw.sample(train, n_labels), test, -(-samples // models), seed
                    )
                    if isinstance(found, str):
                        refused = found
                        break
                    held += found[0]
                    widths += found[1]
                cell = refused or f"{np.mean(held):.3f}"
                rows.append(
                    f"| {name} | {n_labels:,} | {classifier} | {cell} | {'–' if refused else f'{np.mean(widths):.3f}'} |"
                )
                progress(rows[-1])
    return rows


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--samples", type=int, default=SAMPLES)
    parser.add_argument(
        "--few", action="store_true", help="measure intervals with few labels instead"
    )
    parser.add_argument(
        "--models", type=int, default=10, help="models of different documents, with --few"
    )
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        if options.few:
            split(options.folder / "20news-19997", Path(scratch))
            found = few_labels(
                news(Path(scratch)),
                reuters(options.folder / "reuters-90"),
                options.samples,
                options.models,
            )
            head = [
                "| corpus | labels | classifier | 95 % intervals hold the truth | mean width |",
                "|---|---|---|---|---|",
            ]
            sys.stdout.write("\n".join([*head, *found]) + "\n")
            return
        halves = {
            "random two thirds": split(options.folder / "20news-19997", Path(scratch)),
            "by date": (
                options.folder / "20news-bydate-train",
                options.folder / "20news-bydate-test",
            ),
        }
        rows = [
            row
            for name, (train, test) in halves.items()
            for row in compare(name, train, test, options.samples)
        ]
    title = f"### Shares of classes: {options.samples:,} samples of {DOCUMENTS} test documents"
    heads = [
        "| 20 Newsgroups | method | mean error of a share | to counting | 95 % intervals hold the truth |",
        "|---|---|---|---|---|",
    ]
    text = "\n".join([title, "", *heads, *rows]) + "\n"
    if options.write:
        write_between(README, "prevalence", text)
    sys.stdout.write(text)


if __name__ == "__main__":
    main()

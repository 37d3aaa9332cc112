"""Promises kept on real corpora: `python bench/guarantees.py FOLDER` prints Markdown tables, with `--write` also into bench/README.md.

FOLDER holds 20news-19997, 20news-bydate-train, 20news-bydate-test, banking77 and sms-spam as their authors packed them. A corpus without a test part
is divided at random, two thirds of each class for training, as often as `--repeats` says. It is counted once: each model is what training on its
documents alone would give, but for the choices of `auto`, which are made once. It takes about ten minutes.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from measuring import progress, write_between

from nbtext import TextClassifier
from nbtext.corpus.collection import Corpus
from nbtext.corpus.detection.formats import resolve_reading
from nbtext.counts.corpus_counts import Subsets
from nbtext.evaluation.cross_validation import (
    choose_corpus_settings,
    draw_stratified_folds,
    train_and_score,
)
from nbtext.evaluation.drift_log import DriftRecorder
from nbtext.fitted_model import FittedModel
from nbtext.guarantees.precision import fit_precision_thresholds, list_min_probabilities
from nbtext.guarantees.prediction_sets import fit_set_rule
from nbtext.metrics.intervals import wilson_interval
from nbtext.model.parallel_corpus import count_corpus, note_columns, score_corpus
from nbtext.model.training import compute_held_out_posteriors
from nbtext.prediction.rule import DecisionRule
from nbtext.settings import Reading

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from nbtext.prediction.calibration import HeldOutPosteriors

README = Path(__file__).resolve().with_name("README.md")
MAIL = Reading(document="mail")
BANKING = Reading(text_column="text", label_column="category")
SMS = Reading(format="tsv")


class Judged(NamedTuple):
    """A model by what it says of documents left out in training, and what it says of test documents of known classes."""

    classes: list[str]
    left_out: HeldOutPosteriors
    log_posterior: NDArray[np.float64]
    truth: NDArray[np.int64]
    drift: str = ""


def resampled(path: Path, reading: Reading, repeats: int) -> Iterator[Judged]:
    """Yield models of a random two thirds of each class."""
    model = TextClassifier()
    model.reading = resolve_reading(reading, [str(path)], labelled=True)
    counted = count_corpus(
        model.analysis, Corpus((str(path),), model.reading, labelled=True), note=note_columns
    ).counts
    subsets, settings = Subsets(counted.table, counted.documents), model.settings
    choices = choose_corpus_settings(subsets, settings)
    for seed in range(repeats):
        training, test = next(
            iter(draw_stratified_folds(counted.documents.classes, 3, np.random.default_rng(seed)))
        )
        learnt, blocks = train_and_score(subsets, settings, training, test, choices)
        counts = subsets.select_counts(training, settings.keep_documents)
        left_out = compute_held_out_posteriors(
            FittedModel(settings, model.analysis.stop_list, counts, learnt, {}, "text")
        )
        parts = [(block.log_posterior, block.classes) for block in blocks]
        progress(f"{path.name}: {seed + 1} of {repeats}")
        yield Judged(
            list(counted.table.classes), left_out, *map(np.concatenate, zip(*parts, strict=True))
        )


def given(train: Path, test: Path, reading: Reading) -> Judged:
    """Return the model of a corpus with a test part."""
    model = TextClassifier().fit_corpus(train, **dict(reading))
    number, watch = (
        {label: place for place, label in enumerate(model.classes)},
        DriftRecorder(model, ""),
    )
    blocks = watch.observe(
        score_corpus(model.fitted, Corpus((str(test),), model.reading, labelled=True))
    )
    parts = [
        (block.log_posterior, [number[document.label] for document in block.documents])
        for block in blocks
    ]
    found, line = map(np.concatenate, zip(*parts, strict=True)), watch.to_record()
    drift = ", ".join(
        f"{name.replace('_', '-')} {line[name]['distance']:.2f}"
        for name in ("unknown", "log_likelihood")
        if line[name]["distance"] is not None
    )
    return Judged(model.classes, compute_held_out_posteriors(model.fitted), *found, drift)


def share(hits: NDArray[np.bool_]) -> str:
    low, high = wilson_interval(int(hits.sum()), hits.size)
    return f"{hits.mean():.4f} ({low:.4f} to {high:.4f})"


def of_sets(
    judged: Judged, coverage: float, *, by_class: bool = False
) -> tuple[NDArray[np.bool_], float, list[float]]:
    """Return which sets hold the true class, their mean size, and the coverage of each class."""
    members = fit_set_rule(
        judged.left_out, judged.classes, coverage, by_class=by_class
    ).predict_mask(judged.log_posterior)
    held = members[np.arange(judged.truth.size), judged.truth]
    return (
        held,
        float(members.sum(axis=1).mean()),
        [float(held[judged.truth == k].mean()) for k in np.unique(judged.truth)],
    )


def sets_rows(name: str, models: list[Judged], coverage: float) -> Iterator[list[str]]:
    """Yield a row for the promise over all documents, and one within each class."""
    for by_class in (False, True):
        found = [of_sets(judged, coverage, by_class=by_class) for judged in models]
        reached = [held.mean() for held, *_ in found]
        written = (
            share(found[0][0])
            if len(found) == 1
            else f"{np.mean(reached):.4f} (sd {np.std(reached):.4f})"
        )
        least = np.mean([min(of_classes) for *_, of_classes in found])
        promise = f"{coverage:g} by class" if by_class else f"{coverage:g}"
        yield [
            name,
            promise,
            written,
            f"{least:.3f}",
            f"{np.mean([size for _, size, _ in found]):.2f}",
            models[0].drift,
        ]


def precision_row(name: str, models: list[Judged], precision: float) -> list[str]:
    """Return how often a precision was kept, and how many documents were answered."""
    reached, answered, kept = [], [], 0
    for judged in models:
        found = fit_precision_thresholds(judged.left_out, judged.classes, DecisionRule(), precision)
        answers = (
            DecisionRule(precise_from=list_min_probabilities(found))
            .decide(judged.log_posterior)
            .predictions
        )
        right = (answers == judged.truth)[answers >= 0]
        answered.append(right.size / answers.size)
        kept += not right.size or wilson_interval(int(right.sum()), right.size)[1] >= precision
        reached += [right.mean()] if right.size else []
    spread = f"{np.mean(reached):.4f} (least {min(reached):.4f})" if reached else "no answers"
    return [
        name,
        f"{precision:g}",
        spread,
        f"{kept} of {len(models)}",
        f"{np.mean(answered):.3f}",
        f"{answered.count(0)} of {len(models)}",
    ]


def table(*rows: list[str]) -> str:
    return "\n".join(f"| {' | '.join(cells)} |" for cells in rows)


def main() -> None:
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("folder", type=Path)
    arguments.add_argument("--repeats", type=int, default=100)
    arguments.add_argument("--write", action="store_true")
    options = arguments.parse_args()
    folder, repeats = options.folder, options.repeats
    sets, precisions = [], []
    random = {
        "20 Newsgroups, random": (folder / "20news-19997", MAIL, (0.95,), (0.9, 0.97, 0.99)),
        "SMS Spam, random": (
            folder / "sms-spam" / "SMSSpamCollection",
            SMS,
            (0.99,),
            (0.99, 0.995),
        ),
    }
    for name, (path, reading, coverages, asked) in random.items():
        models = list(resampled(path, reading, repeats))
        sets += [row for coverage in coverages for row in sets_rows(name, models, coverage)]
        precisions += [precision_row(name, models, precision) for precision in asked]
    banking = given(folder / "banking77" / "train.csv", folder / "banking77" / "test.csv", BANKING)
    dated = given(folder / "20news-bydate-train", folder / "20news-bydate-test", MAIL)
    for name, judged, coverage in (
        ("Banking77", banking, 0.9),
        ("20 Newsgroups by date", dated, 0.95),
    ):
        sets += sets_rows(name, [judged], coverage)
        precisions += [precision_row(name, [judged], precision) for precision in (0.9, 0.97)]
    drift = "drift: unknown tokens, log-likelihood"
    text = "\n\n".join((
        "### Sets of classes (`classify --coverage`)",
        table(["corpus", "promised", "coverage reached", "least of a class", "classes in a set", drift], ["---", *["---:"] * 5], *sets),
        "### Precision (`classify --min-precision`)",
        table(
            ["corpus", "asked for", "precision reached", "kept within the test interval", "answered", "no answers at all"],
            ["---", *["---:"] * 5],
            *precisions,
        ),
    ))  # fmt: skip
    print(text)
    if options.write:
        write_between(README, "guarantees", text)


if __name__ == "__main__":
    main()

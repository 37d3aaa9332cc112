"""What unlabelled text brings to few labels, and to none: `python bench/unlabelled.py FOLDER` prints Markdown tables, with `--write` also into bench/README.md.

FOLDER holds the directories `20news-bydate-train` and `20news-bydate-test`. From each class of the training half so many documents are drawn with their
labels, the others without; accuracy is that on the test half. For the last row a random half of the test half is the text without labels, and the
other half the test. The second table is of seed words and the whole training half without labels; words alone answer with the class of which a
document holds most, the first of several.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
from pathlib import Path
from statistics import fmean, stdev

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from measuring import measure, progress, write_between

from nbtext import TextClassifier
from nbtext.cli.option_files import read_seeds
from nbtext.corpus.document import Document
from nbtext.counts.counting import count_labelled_documents
from nbtext.model.training import resolve_seed_terms

README = Path(__file__).resolve().with_name("README.md")
LABELS = (5, 20, 100)
STUDENT = {2: 12.706, 3: 4.303, 4: 3.182, 5: 2.776}
"""The 97.5 % quantile of Student's t by number of seeds."""

MODELS = {
    "counts": (),
    "log counts": ("--weighting", "log"),
    "log counts, and unlabelled": ("--weighting", "log", "--unlabelled", "pool"),
}

WORDS = {
    "alt.atheism": "atheism atheist belief god morality",
    "comp.graphics": "graphics image polygon rendering 3d",
    "comp.os.ms-windows.misc": "windows microsoft dos driver ini",
    "comp.sys.ibm.pc.hardware": "ide bios motherboard isa controller",
    "comp.sys.mac.hardware": "mac apple macintosh powerbook nubus",
    "comp.windows.x": "x11 xterm motif widget server",
    "misc.forsale": "sale sell offer shipping condition",
    "rec.autos": "car engine ford dealer automobile",
    "rec.motorcycles": "bike motorcycle rider ride helmet",
    "rec.sport.baseball": "baseball pitcher inning hitter catcher",
    "rec.sport.hockey": "hockey nhl goalie puck playoffs",
    "sci.crypt": "encryption crypto cipher decrypt key",
    "sci.electronics": "circuit voltage electronics amplifier resistor",
    "sci.med": "medical disease doctor patient treatment",
    "sci.space": "space nasa orbit shuttle moon",
    "soc.religion.christian": "christian church jesus christ scripture",
    "talk.politics.guns": "gun firearm weapon rifle nra",
    "talk.politics.mideast": "israel arab jew turkish palestinian",
    "talk.politics.misc": "government president tax congress election",
    "talk.religion.misc": "religion cult prophet mormon faith",
}
"""Chosen once from what the names of the groups mean, before any was measured."""


def linked(files: list[Path], folder: Path, *, by_class: bool) -> None:
    """Link files into a folder of each class, or all into one."""
    for file in files:
        target = (
            folder / file.parent.name / file.name
            if by_class
            else folder / f"{file.parent.name}-{file.name}"
        )
        target.parent.mkdir(parents=True, exist_ok=True)
        target.symlink_to(file.resolve())


def drawn(corpus: Path, n_labels: int | None, seed: int, root: Path) -> None:
    """Fill ``labelled``, ``pool`` and ``test`` of a folder."""
    train, test = (
        sorted(file for file in (corpus / f"20news-bydate-{part}").rglob("*") if file.is_file())
        for part in ("train", "test")
    )
    if n_labels is None:
        random.Random(seed).shuffle(test)
        half = len(test) // 2
        parts = train, test[:half], test[half:]
    else:
        labelled = []
        for label in sorted({file.parent.name for file in train}):
            files = [file for file in train if file.parent.name == label]
            random.Random(f"{seed}/{label}").shuffle(files)
            labelled += files[:n_labels]
        parts = labelled, sorted(set(train) - set(labelled)), test
    for name, files in zip(("labelled", "pool", "test"), parts, strict=True):
        linked(files, root / name, by_class=name != "pool")


def accuracies(root: Path) -> list[float]:
    """Return the accuracy of each model."""
    found, nbtext = [], [sys.executable, "-m", "nbtext"]
    for options in MODELS.values():
        given = [str(root / option) if option == "pool" else option for option in options]
        measure([*nbtext, "train", str(root / "labelled"), *given, "-m", str(root / "model")])
        output = measure(
            [*nbtext, "evaluate", str(root / "test"), "-m", str(root / "model"), "-o", "json"]
        ).output
        found.append(float(json.loads(output)["accuracy"]))
    return found


def of_words(corpus: Path, root: Path) -> str:
    """Return a table of the accuracy of words alone, and of words and unlabelled documents."""
    train, test = corpus / "20news-bydate-train", corpus / "20news-bydate-test"
    words, model = root / "words.tsv", root / "model"
    words.write_text(
        "".join(f"{label}\t{word}\n" for label, each in WORDS.items() for word in each.split()),
        encoding="utf-8",
    )
    analysis = TextClassifier().analysis
    files = (file for file in sorted(test.rglob("*")) if file.is_file())
    texts = (
        Document(file.name, file.parent.name, file.read_text(errors="replace").encode())
        for file in files
    )
    counts = count_labelled_documents(texts, analysis, keep_all=True)
    table, documents = counts.table, counts.documents
    votes = np.zeros((len(documents), table.n_classes))
    for seed in resolve_seed_terms(read_seeds(str(words)), analysis):
        entries = documents.matrix.terms == table.vocabulary.find_terms([seed.term])[0]
        rows = documents.matrix.entry_documents[entries]
        votes[rows, table.classes.index(seed.label)] += documents.matrix.counts[entries]
    alone = np.mean(votes.argmax(axis=1) == documents.classes)
    nbtext = [sys.executable, "-m", "nbtext"]
    measure([*nbtext, "train", "--seeds", str(words), "--unlabelled", str(train), "-m", str(model)])
    with_pool = json.loads(
        measure([*nbtext, "evaluate", str(test), "-m", str(model), "-o", "json"]).output
    )["accuracy"]
    return f"| words a class | words alone | words, and unlabelled |\n| --- | ---: | ---: |\n| 5 | {alone:.3f} | {float(with_pool):.3f} |"


def cell(values: list[float]) -> str:
    """Return mean and half the width of its 95 % interval."""
    return f"{fmean(values):.3f} ± {STUDENT[len(values)] * stdev(values) / len(values) ** 0.5:.3f}"


def table(corpus: Path, seeds: int) -> str:
    """Measure every row."""
    rows = [["labels a class", *MODELS], ["---", *["---:"] * len(MODELS)]]
    for n_labels in (*LABELS, None):
        found = []
        for seed in range(1, seeds + 1):
            progress(f"{n_labels or 'all'} labels a class, seed {seed}")
            with tempfile.TemporaryDirectory() as scratch:
                drawn(corpus, n_labels, seed, Path(scratch))
                found.append(accuracies(Path(scratch)))
        rows.append([str(n_labels or "all"), *map(cell, map(list, zip(*found, strict=True)))])
    return "\n".join(f"| {' | '.join(cells)} |" for cells in rows)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument(
        "--seeds",
        type=int,
        default=5,
        choices=sorted(STUDENT),
        help="how often documents are drawn",
    )
    parser.add_argument("--write", action="store_true", help="put the table into bench/README.md")
    options = parser.parse_args()
    measured = {"unlabelled": table(options.folder, options.seeds)}
    with tempfile.TemporaryDirectory() as scratch:
        measured["seed words"] = of_words(options.folder, Path(scratch))
    for name, text in measured.items():
        print(text, end="\n\n")
        if options.write:
            write_between(README, name, text)


if __name__ == "__main__":
    main()

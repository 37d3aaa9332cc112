"""Every classifier on real corpora: `python bench/models.py FOLDER` prints Markdown tables, with `--write` also into
bench/README.md and, in short, docs/models.md.

FOLDER holds 20news-bydate-train, 20news-bydate-test, banking77, germeval2018 and sms-spam as their authors packed them. SMS Spam has no
test part: every third line is one. Seconds are those of a processor, of the whole training command.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from measuring import NBTEXT, markdown, measure, write_between

ROOT = Path(__file__).resolve().parents[1]
PAGES = (ROOT / "bench" / "README.md", ROOT / "docs" / "models.md")

MODELS = {
    "multinomial (default)": (),
    "multinomial, bigrams, all words": ("--ngrams", "2", "--stop-words", "none", "--stemmer", "none"),
    "bernoulli": ("--classifier", "bernoulli"),
    "complement": ("--classifier", "complement"),
    "complement, tf-idf": ("--classifier", "complement", "--weighting", "tfidf"),
    "complement, tf-idf, bigrams, all words": (
        "--classifier", "complement", "--weighting", "tfidf", "--ngrams", "2", "--stop-words", "none", "--stemmer", "none",
    ),
    "gaussian": ("--classifier", "gaussian"),
    "logistic": ("--classifier", "logistic"),
    "average": ("--classifier", "average"),
    "logistic, bigrams, all words": (
        "--classifier", "logistic", "--min-df", "2", "--ngrams", "2", "--stop-words", "none", "--stemmer", "none",
    ),
}  # fmt: skip


class Corpus(NamedTuple):
    """Where the two parts are, and how they are read and analysed."""

    train: Path
    test: Path
    reading: tuple[str, ...] = ()
    analysis: tuple[str, ...] = ()


def corpora(folder: Path, scratch: Path) -> dict[str, Corpus]:
    """The corpora by name."""
    lines = (
        (folder / "sms-spam" / "SMSSpamCollection")
        .read_text(encoding="utf-8")
        .splitlines(keepends=True)
    )
    for name, chosen in (("train", (0, 1)), ("test", (2,))):
        (scratch / f"sms-{name}.tsv").write_text(
            "".join(line for number, line in enumerate(lines) if number % 3 in chosen),
            encoding="utf-8",
        )
    tweets = ("--format", "tsv", "--text-column", "1", "--label-column", "2")
    germeval, banking = folder / "germeval2018", folder / "banking77"
    return {
        "20 Newsgroups by date": Corpus(
            folder / "20news-bydate-train", folder / "20news-bydate-test"
        ),
        "Banking77": Corpus(
            banking / "train.csv",
            banking / "test.csv",
            ("--text-column", "text", "--label-column", "category"),
        ),
        "GermEval 2018": Corpus(
            germeval / "germeval2018.training.txt",
            germeval / "germeval2018.test.txt",
            tweets,
            ("--language", "german"),
        ),
        "SMS Spam": Corpus(
            scratch / "sms-train.tsv", scratch / "sms-test.tsv", ("--format", "tsv")
        ),
    }


def row(name: str, options: tuple[str, ...], corpus: Corpus, model: Path) -> list[str]:
    """One model's figures on one corpus."""
    if "--stemmer" not in options:
        options = (*options, *corpus.analysis)
    seconds = measure(
        [*NBTEXT, "train", str(corpus.train), "-m", str(model), *corpus.reading, *options]
    ).processor
    said = json.loads(
        measure(
            [*NBTEXT, "evaluate", str(corpus.test), "-m", str(model), "-q", "-o", "json"]
        ).output
    )
    figures = [f"{said[figure]:.3f}" for figure in ("accuracy", "macro_f1", "log_loss", "ece")]
    return [name, *figures, f"{seconds:.1f}"]


def figures(folder: Path, only: str) -> dict[str, list[list[str]]]:
    """The rows of each corpus."""
    found: dict[str, list[list[str]]] = {}
    with tempfile.TemporaryDirectory() as scratch:
        for title, corpus in corpora(folder, Path(scratch)).items():
            for name, options in MODELS.items():
                if only in name:
                    print(f"{title}: {name}", file=sys.stderr)
                    found.setdefault(title, []).append(
                        row(name, options, corpus, Path(scratch) / "model.joblib")
                    )
    return found


def tables(found: dict[str, list[list[str]]]) -> str:
    """A table for each corpus."""
    columns = ["model", "accuracy", "macro F1", "log loss", "calibration error", "seconds"]
    return "\n\n".join(f"### {title}\n\n{markdown(columns, rows)}" for title, rows in found.items())


def summary(found: dict[str, list[list[str]]]) -> str:
    """Accuracy and log loss of all corpora in one table."""
    columns = [[f"{cells[1]}, {cells[3]}" for cells in rows] for rows in found.values()]
    names = [cells[0] for cells in next(iter(found.values()), [])]
    return markdown(
        ["accuracy, log loss", *found],
        [[name, *cells] for name, *cells in zip(names, *columns, strict=True)],
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="", help="models with this in their name")
    parser.add_argument(
        "--write",
        action="store_true",
        help="put the tables into bench/README.md and docs/models.md",
    )
    options = parser.parse_args()
    found = figures(options.folder, options.only)
    for page, text in zip(PAGES, (tables(found), summary(found)), strict=True):
        print(text)
        if options.write:
            write_between(page, "measured", text)


if __name__ == "__main__":
    main()

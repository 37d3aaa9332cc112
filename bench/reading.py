"""How fast each reader is, beside counting, in seconds of a processor: `python bench/reading.py FOLDER` prints a Markdown table, with `--write` also
into bench/README.md.

FOLDER holds 20news-19997.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import mailbox
import statistics
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from measuring import markdown, write_between

from nbtext.corpus.document import Notices
from nbtext.corpus.reading import read_corpus
from nbtext.counts.counting import Analysis, count_labelled_documents
from nbtext.settings import Reading, Settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from nbtext.corpus.document import Document

README = Path(__file__).resolve().with_name("README.md")
MEGABYTE = 1_000_000


def read(path: Path, **reading: object) -> Iterable[Document]:
    return read_corpus([str(path)], Reading.from_values(reading), Notices(), labelled=True)


def write_files(documents: list[Document], folder: Path) -> dict[str, tuple[Path, dict[str, Any]]]:
    """The documents in every format: where, and how they are read. In tsv and fasttext white space within a document becomes blanks."""
    texts = [(document.label or "", document.text.decode()) for document in documents]
    with (folder / "c.jsonl").open("w", encoding="utf-8") as file:
        file.writelines(
            json.dumps({"label": label, "text": text}, ensure_ascii=False) + "\n"
            for label, text in texts
        )
    with (folder / "c.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows((label, text.replace("\0", "")) for label, text in texts)
    with (folder / "c.tsv").open("w", encoding="utf-8") as file:
        file.writelines(f"{label}\t{' '.join(text.split())}\n" for label, text in texts)
    with (folder / "c.ft").open("w", encoding="utf-8") as file:
        file.writelines(f"__label__{label} {' '.join(text.split())}\n" for label, text in texts)
    (folder / "c.jsonl.gz").write_bytes(gzip.compress((folder / "c.jsonl").read_bytes(), 6))
    box = mailbox.mbox(folder / "c.mbox")
    for document in documents:
        box.add(document.text)
    box.close()
    made = {
        "jsonl": "c.jsonl",
        "jsonl, gzip": "c.jsonl.gz",
        "csv": "c.csv",
        "tsv": "c.tsv",
        "fasttext": "c.ft",
        "mbox": "c.mbox",
    }
    return {name: (folder / file, {}) for name, file in made.items()}


def timed(work: Callable[[], object], runs: int) -> float:
    seconds = []
    for _ in range(runs):
        begin = time.process_time()
        work()
        seconds.append(time.process_time() - begin)
    return statistics.median(seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--write", action="store_true", help="put the table into bench/README.md")
    options = parser.parse_args()
    corpus = options.folder / "20news-19997"
    analysis = Analysis.from_settings(Settings())
    with tempfile.TemporaryDirectory() as folder:
        sources = {"dir": (corpus, {}), "dir, --document mail": (corpus, {"document": "mail"})}
        sources |= write_files(list(read(corpus)), Path(folder))
        rows = []
        for name, (path, reading) in sources.items():
            documents = [document for document in read(path, **reading) if document.problem is None]
            megabytes = sum(len(document.text) for document in documents) / MEGABYTE
            reads = timed(
                lambda path=path, reading=reading: sum(1 for _ in read(path, **reading)),
                options.runs,
            )
            counts = timed(
                lambda documents=documents: count_labelled_documents(documents, analysis),
                options.runs,
            )
            figures = (
                f"{megabytes:.1f} M",
                f"{reads:.2f}",
                f"{megabytes / reads:.0f}",
                f"{counts:.2f}",
                f"{megabytes / counts:.0f}",
            )
            rows.append([name, *figures, f"{reads / counts:.2f}"])
    table = markdown(
        [
            "format",
            "bytes read",
            "reading, s",
            "reading, MB/s",
            "counting, s",
            "counting, MB/s",
            "reading / counting",
        ],
        rows,
    )
    print(table)
    if options.write:
        write_between(README, "reading", table)


if __name__ == "__main__":
    main()

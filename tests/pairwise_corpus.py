"""One small corpus, written in the format and with the columns of a configuration."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import random
from collections import Counter
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

TOPICS = {
    "garden": "rose tulip bed leaf prune water dig seed 花园 玫瑰 wasser gießen",
    "küche": "soup noodle butter pan fry boil salt garlic 厨房 面条 topf kochen",
    "clock": "watch tower hour pendulum wind strike late bell 钟楼 时间 uhr schlagen",
}
"""Words of each class, in three languages, one of them without spaces."""

COMMON = (
    "the",
    "and",
    "in",
    "of",
    "don't",
    "house",
    "day",
    "street",
    "running",
    "runs",
    "rain",
    "3.5",
    "今天",
    "und",
    "nicht",
)
ENCODED = "TWFuIGlzIGRpc3Rpbmd1aXNoZWQsIG5vdCBvbmx5IGJ5IGhpcyByZWFzb24sIGJ1dCBieSB0aGlz"
COLOURS = {"garden": "red green", "küche": "white red", "clock": "black white"}
SENDERS = ("ann@example.org", "bob@example.org", "cid@example.com")
COLUMNS = (
    "topic",
    "body",
    "subject",
    "sender",
    "id",
    "colour",
    "visits",
    "size",
    "weight",
    "file",
    "part",
)

SEEDS = "garden\trose\ngarden\tcompost\t3\nküche\tsoup\t5\nküche\tleek\nclock\tpendulum\nclock\tdial\t0.5\n"
FILES = {
    "seeds.txt": SEEDS,
    "values.txt": "garden\tcolour=green\nküche\tcolour=red\t2\nclock\tcolour=blue\n",
    "against.txt": SEEDS + "clock\t!soup\t2\nküche\t!rose\n",
    "smoothing.txt": "*\t0.25\nrose\t2\nsoup\t0.01\n",
    "prior.txt": "garden\t1\nküche\t2\nclock\t3\n",
    "stop.txt": "house\nday\nand\nthe\n",
    "label-costs.toml": '[garden]\nmissed = 9\n["küche"]\nfalse = 2\n',
    "costs.toml": '[garden]\nclock = 2\n[clock]\ngarden = 5\n"küche" = 1\n',
}
"""What options name."""


class Made(NamedTuple):
    """A document."""

    values: dict[str, str]
    """By column."""
    lines: tuple[str, ...]


def documents(number: int, seed: int) -> list[Made]:
    """Draw documents in a fixed way: half of their words are those of their class."""
    draw = random.Random(seed)
    found = []
    for place in range(number):
        label = list(TOPICS)[place % len(TOPICS)]
        words = [
            draw.choice(TOPICS[label].split() if draw.random() < 0.5 else COMMON)
            for _ in range(draw.randrange(6, 14))
        ]
        middle, class_number = len(words) // 2, place % len(TOPICS)
        values = {
            "topic": label,
            "subject": f"offer of {draw.choice(TOPICS[label].split())}",
            "sender": SENDERS[class_number if draw.random() < 0.7 else draw.randrange(3)],
            "id": f"d{seed}-{place}",
            "colour": draw.choice(COLOURS[label].split()) if place % 7 else "",
            "visits": str(draw.randrange(3) + 4 * class_number),
            "size": "" if place % 8 == 1 else f"{draw.gauss(2 * class_number, 1):.3f}",
            "file": f"files/d{seed}-{place}",
            "part": "test" if place % 11 == 4 else "train",
            "weight": ("1", "2", "0.5", "1", "0", "0.125", "3")[place % 7],
        }
        lines = (
            " ".join(words[:middle]) + ",",
            *([ENCODED] if place % 5 == 0 else []),
            " ".join(words[middle:]) + ".",
        )
        found.append(Made(values, lines))
    found[1] = found[1]._replace(lines=("the and of",))
    found[2] = found[2]._replace(lines=("",))
    found[9] = found[9]._replace(lines=found[6].lines)
    for place in (3, number - 4):
        found[place] = found[place]._replace(
            lines=found[place].lines + ("rose and tulip in the bed of leaves.",) * 60
        )
    return found


class Writer:
    """Writes documents in the format, the encoding and the compression of a configuration, into the present folder."""

    def __init__(self, configuration: Mapping[str, Any]) -> None:
        self.given = configuration
        self.format: str = configuration.get("format") or "csv"
        self.kind = (
            "mail"
            if self.format in ("mbox", "maildir")
            else configuration.get("document") or "text"
        )
        self.encoding: str = configuration.get("encoding") or "utf-8"

    def write(self, name: str, made: Sequence[Made], *, labelled: bool) -> tuple[str, ...]:
        """Write documents; return the paths, with ``name`` in them."""
        if self.format in ("dir", "maildir"):
            return self.folders(name, made, labelled=labelled)
        if self.format == "lines" and labelled:
            classes = {
                label: [document for document in made if document.values["topic"] == label]
                for label in TOPICS
            }
            return tuple(
                self.put(
                    f"{name}/{self.file_name(label, '')}.txt",
                    "".join(f"{self.cell(each) or '.'}\n" for each in mine).encode(
                        self.encoding, "replace"
                    ),
                )
                for label, mine in classes.items()
            )
        if self.format == "mbox":
            boxes: dict[str, bytes] = {}
            for document in made:
                box = self.file_name(document.values["topic"], "") if labelled else name
                message = (
                    b"From ann@example.org Sat Jan  3 01:05:34 2026\n"
                    + self.content(document)
                    + b"\n\n"
                )
                boxes[box] = boxes.get(box, b"") + message
            return tuple(self.put(f"{name}/{box}.mbox", content) for box, content in boxes.items())
        rows = [
            {
                **document.values,
                "topic": self.topic(document.values) if labelled else "",
                "body": self.cell(document),
            }
            for document in made
        ]
        if self.given.get("file_column"):
            for document in made:
                self.put_document(document.values["file"], document)
        lines = (
            self.table(rows) if self.format in ("csv", "tsv") else [self.line(row) for row in rows]
        )
        suffix = {"fasttext": "ft", "svmlight": "svm", "lines": "txt"}.get(self.format, self.format)
        return (
            self.put(
                f"{name}.{suffix}",
                "".join(f"{line}\n" for line in lines).encode(self.encoding, "replace"),
            ),
        )

    def file_name(self, label: str, rest: str) -> str:
        """Return the name of a file of a class, which shows it where a pattern is given."""
        return f"{label}-{rest}" if self.given.get("label_pattern") else label + rest

    def put_document(self, path: str, document: Made) -> None:
        """Write a document as a file beside the corpus."""
        Path(path).parent.mkdir(exist_ok=True)
        Path(path).write_bytes(self.content(document))

    def put(self, path: str, content: bytes) -> str:
        """Write a file; return its path."""
        suffix = self.given.get("compression")
        place = Path(path if suffix is None else f"{path}.{suffix}")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(COMPRESSIONS[suffix](content))
        return str(place)

    def content(self, document: Made) -> bytes:
        """Return a document as a file holds it."""
        values, body = document.values, "\n".join(document.lines)
        if self.kind == "html":
            body = f"<html><title>{values['subject']}</title><body><p>{body}</p></body></html>"
        if self.kind != "mail":
            return body.encode(self.encoding, "replace")
        head = (
            f"Subject: {values['subject']}\nSender: {values['sender']}\nFrom: ann@example.org\n\n"
        )
        return head.encode() + f"{body}\n> old words\n-- \nAnn".encode(self.encoding, "replace")

    def cell(self, document: Made) -> str:
        """Return a document as a line holds it."""
        found = self.content(document).decode(self.encoding)
        return found if self.format in ("csv", "jsonl") else found.replace("\n", " ")

    def folders(self, name: str, made: Sequence[Made], *, labelled: bool) -> tuple[str, ...]:
        """Write a file for each document."""
        for number, document in enumerate(made):
            folder = f"{name}/{document.values['topic']}" if labelled else name
            file = (
                self.file_name(document.values["topic"], str(number)) if labelled else str(number)
            )
            self.put(
                f"{folder}/cur/{file}" if self.format == "maildir" else f"{folder}/{file}",
                self.content(document),
            )
            for other in ("new", "tmp") if self.format == "maildir" else ():
                Path(folder, other).mkdir(exist_ok=True)
        return (name,)

    def line(self, row: Mapping[str, str]) -> str:
        """Return a row in a format of lines."""
        label = row["topic"]
        labels = self.labels(row) if label and self.given.get("labels") == "several" else []
        if self.format == "jsonl":
            values = (
                {**row, "topic": labels, "label": labels}
                if label and self.given.get("labels") == "several"
                else {**row, "label": label}
            )
            return json.dumps(
                {**values, "text": row["body"]}, ensure_ascii=self.encoding != "utf-8"
            )
        if self.format == "svmlight":
            return " ".join(
                [
                    label or "?",
                    *(
                        f"{word.strip(',.')}:{n}"
                        for word, n in Counter(row["body"].split()).items()
                    ),
                ]
            )
        marked = " ".join(f"__label__{each}" for each in labels or [label] if each)
        return f"{marked} {row['body']}" if marked and self.format == "fasttext" else row["body"]

    def topic(self, values: Mapping[str, str]) -> str:
        """Return the cell of the class, or of several labels."""
        separator = self.given.get("label_separator")
        return values["topic"] if separator is None else separator.join(self.labels(values))

    def labels(self, row: Mapping[str, str]) -> list[str]:
        """Return the labels of a document that may have several: its class, the colour too, or none."""
        place = int(row["id"].rpartition("-")[2])
        return (
            []
            if place % 7 == 5 and self.format != "fasttext"
            else [row["topic"], *row["colour"].split()[place % 2 :]]
        )

    def table(self, rows: Sequence[Mapping[str, str]]) -> Iterator[str]:
        """Yield the lines of a table, with a header if a column is called by name."""
        options = (
            "label_column",
            "text_column",
            "id_column",
            "weight_column",
            "tag_fields",
            "categorical",
            "count",
            "numeric",
            "file_column",
            "where",
        )
        named = any(self.given.get(option) not in (None, "1", "none") for option in options)
        delimiter = self.given.get("delimiter") or {"csv": ",", "tsv": "\t"}[self.format]
        if named if self.given.get("header") is None else self.given["header"]:
            yield delimiter.join(COLUMNS)
        for row in rows:
            cells = [row[column] for column in COLUMNS]
            if self.format == "csv":
                yield delimiter.join(
                    f'"{cell.replace(QUOTE, QUOTE * 2)}"'
                    if {delimiter, QUOTE, "\n"} & set(cell)
                    else cell
                    for cell in cells
                )
            else:
                yield delimiter.join(cell.replace(delimiter, ",") for cell in cells)


QUOTE = '"'
COMPRESSIONS: dict[str | None, Callable[[bytes], bytes]] = {
    None: bytes,
    "gz": lambda content: gzip.compress(content, mtime=0),
    "bz2": bz2.compress,
    "xz": partial(lzma.compress, preset=0),
}

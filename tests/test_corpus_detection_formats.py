"""What holds for every format: the same documents give the same labels, texts and counts, compressed or not.

Also tests `corpus/lines.py` and `corpus/reading.py`.
"""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import lzma
import mailbox
import textwrap
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from nbtext import TextClassifier
from nbtext.corpus.detection.formats import count_document_lines, resolve_format, resolve_reading
from nbtext.corpus.shards import load_reader
from nbtext.settings import FORMATS, Reading
from tests.corpus_reader import documents, texts
from tests.count_tables import to_dictionaries
from tests.process import bash, corpus, fail, in_json, succeed, succeeded, write

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.oracle import Counts

Rows = list[tuple[str, str]]
ROWS: Rows = [
    ("ham", "see you at lunch lunch"), ("spam", "win a prize"), ("ham", "the café is open"), ("spam", "prize prize 世界 win"), ("ham", "at noon"),
]  # fmt: skip
COMPRESSORS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".xz": partial(lzma.compress, preset=0),
    ".bz2": bz2.compress,
}


def write_dir(folder: Path, rows: Rows) -> list[Path]:
    corpus(folder / "c", {f"{label}/{number}": text for number, (label, text) in enumerate(rows)})
    return [folder / "c"]


def of_table(name: str, delimiter: str) -> Callable[[Path, Rows], list[Path]]:
    def write(folder: Path, rows: Rows) -> list[Path]:
        out = io.StringIO()
        if name.endswith("csv"):
            csv.writer(out, delimiter=delimiter).writerows(rows)
        else:
            out.writelines(f"{label}{delimiter}{text}\n" for label, text in rows)
        (folder / name).write_bytes(out.getvalue().encode())
        return [folder / name]

    return write


def write_jsonl(folder: Path, rows: Rows) -> list[Path]:
    path = folder / "c.jsonl"
    path.write_text(
        "".join(json.dumps({"text": text, "label": label}) + "\n" for label, text in rows),
        encoding="utf-8",
    )
    return [path]


def write_json(folder: Path, rows: Rows) -> list[Path]:
    path = folder / "c.json"
    path.write_text(
        json.dumps([{"text": text, "label": label} for label, text in rows], indent=2),
        encoding="utf-8",
    )
    return [path]


def write_lines(folder: Path, rows: Rows) -> list[Path]:
    labels = {label for label, _ in rows}
    corpus(
        folder / "c",
        {
            f"{label}.txt": "".join(f"{text}\n" for other, text in rows if other == label)
            for label in labels
        },
    )
    return [folder / "c"]


def write_svmlight(folder: Path, rows: Rows) -> list[Path]:
    path = folder / "c.svmlight"
    counted = [
        (label, " ".join(f"{word}:{count}" for word, count in Counter(text.split()).items()))
        for label, text in rows
    ]
    path.write_text(
        "".join(f"{label} {features} # {label}:1\n" for label, features in counted),
        encoding="utf-8",
    )
    return [path]


def mail(text: str) -> bytes:
    return f"Subject: \nContent-Type: text/plain; charset=utf-8\n\n{text}".encode()


def of_mailbox(
    kind: type[mailbox.mbox | mailbox.Maildir], suffix: str
) -> Callable[[Path, Rows], list[Path]]:
    def write(folder: Path, rows: Rows) -> list[Path]:
        paths = [folder / f"{label}{suffix}" for label in sorted({label for label, _ in rows})]
        for path in paths:
            box: Any = kind(path)
            for label, text in rows:
                if path.name == label + suffix:
                    box.add(mail(text))
            box.close()
        return paths

    return write


WRITERS: dict[str, Callable[[Path, Rows], list[Path]]] = {
    "dir": write_dir,
    "csv": of_table("c.csv", ","),
    "tsv": of_table("c.tsv", "\t"),
    "jsonl": write_jsonl,
    "json": write_json,
    "lines": write_lines,
    "fasttext": of_table("c.ft", " "),
    "svmlight": write_svmlight,
    "mbox": of_mailbox(mailbox.mbox, ".mbox"),
    "maildir": of_mailbox(mailbox.Maildir, ""),
}
LABELLED = pytest.mark.parametrize("name", sorted(WRITERS))


def written(name: str, folder: Path, rows: Rows) -> list[Path]:
    return WRITERS[name](
        folder,
        [(f"__label__{label}", text) for label, text in rows] if name == "fasttext" else rows,
    )


def files_of(paths: list[Path]) -> list[Path]:
    """The files given, and those below directories given."""
    return [inner for path in paths for inner in [path, *path.rglob("*")] if inner.is_file()]


def bag(name: str, text: str) -> Counter[str]:
    """The words of a text, so that formats with and without order compare."""
    if name != "svmlight":
        return Counter(text.split())
    return Counter(
        {word: int(count) for word, _, count in (item.rpartition(":") for item in text.split())}
    )


def counts(paths: list[Path], *more: str) -> Counts:
    """What `nbtext train` counts."""
    model = paths[0].parent / "nbtext.joblib"
    succeed("train", *paths, "-m", model, "--stop-words", "none", "--stemmer", "none", *more)
    return to_dictionaries(TextClassifier.load(str(model)).fitted.statistics)


def test_every_format_has_a_writer_and_a_reader() -> None:
    assert {*FORMATS, "json"} == set(WRITERS)
    assert all(callable(load_reader(layout)) for layout in FORMATS.values())


@LABELLED
def test_labels_and_texts_are_read_as_written(tmp_path: Path, name: str) -> None:
    found = texts(*written(name, tmp_path, ROWS), headers="subject")
    assert sorted(
        (label or "", sorted(bag(name, text).items())) for label, text in found
    ) == sorted((label, sorted(Counter(text.split()).items())) for label, text in ROWS)


@LABELLED
def test_same_documents_give_the_same_statistics_in_every_format(tmp_path: Path, name: str) -> None:
    (tmp_path / "as").mkdir()
    rows = [
        (label, " ".join(word for word in text.split() if len(word) > 1)) for label, text in ROWS
    ]
    pairs = ("--unspaced", "pairs")  # counted features have none
    of_mail = ("--headers", "subject") if name in ("mbox", "maildir") else ()
    found = counts(
        written(name, tmp_path / "as", rows), *of_mail, *(() if name == "svmlight" else pairs)
    )
    assert found == counts(write_dir(tmp_path, rows), *pairs)


@LABELLED
def test_format_is_detected_and_stored_in_the_model(tmp_path: Path, name: str) -> None:
    paths = written(name, tmp_path, ROWS)
    succeed("train", *paths)
    assert TextClassifier.load("nbtext.joblib").reading["format"] == (
        "jsonl" if name == "json" else name
    )
    result = succeed("classify", *paths)
    assert len(result.rows) == len(ROWS)
    assert {len(row) for row in result.rows} == {3}
    evaluated = in_json("evaluate -q", *paths)
    assert evaluated["n"] == len(ROWS)


@LABELLED
@pytest.mark.parametrize("suffix", sorted(COMPRESSORS))
def test_compressed_files_are_read_like_uncompressed_ones(
    tmp_path: Path, name: str, suffix: str
) -> None:
    paths = written(name, tmp_path, ROWS)
    expected = texts(*paths)
    for path in files_of(paths):
        path.with_name(path.name + suffix).write_bytes(COMPRESSORS[suffix](path.read_bytes()))
        path.unlink()
    assert (
        texts(*(path if path.is_dir() else path.with_name(path.name + suffix) for path in paths))
        == expected
    )


@LABELLED
def test_document_above_the_limit_is_a_problem_and_the_others_are_read(
    tmp_path: Path, name: str
) -> None:
    rows = [("a", "x1 " * 10), ("a", "word " * 5000), ("a", "y2 y3")]
    if name == "svmlight":
        rows[1] = ("a", " ".join(f"word{number}" for number in range(5000)))
    given: dict[str, Any] = {"format": name} if name == "lines" else {}
    found = documents(*written(name, tmp_path, rows), max_document_size="1K", **given)
    assert sorted(document.problem is None for document in found) == [False, True, True]
    assert {document.problem.line for document in found if document.problem} == {
        "larger than 1 KiB; raise --set max-document-size=SIZE"
    }
    again = tmp_path / "again"
    again.mkdir()
    assert len(texts(*written(name, again, rows), max_document_size="1M", **given)) == 3


@pytest.mark.parametrize("name", sorted({*WRITERS} - {"json", "lines"}))
def test_named_encoding_is_strict(tmp_path: Path, name: str) -> None:
    paths = written(name, tmp_path, [("a", "caf\xe9 one"), ("a", "two three")])
    for path in files_of(paths):
        path.write_bytes(
            path.read_bytes()
            .replace("é".encode(), b"\xe9")
            .replace(b"\\u00e9", b"\xe9")
            .replace(b"utf-8", b"us-ascii")
        )
    assert sorted(bag(name, text)["café"] for _, text in texts(*paths, encoding="latin-1")) == [
        0,
        1,
    ]
    assert sorted(bag(name, text)["café"] for _, text in texts(*paths)) == [0, 1]
    assert [
        document.problem.line
        for document in documents(*paths, encoding="utf-8")
        if document.problem
    ]


@pytest.mark.parametrize(
    ("first", "name"),
    [(b'{"a": 1}', "jsonl"), (b"__label__x y", "fasttext"), (b"From a@b Sat", "mbox"), (b"{nothing", "dir"), (b"a,b", "dir"), (b"", "dir"), (b"[1]", "dir"), (b'[ {"a": 1},', "jsonl")],
)  # fmt: skip
def test_first_line_sets_the_format_only_for_labelled_input(
    tmp_path: Path, first: bytes, name: str
) -> None:
    path = tmp_path / "corpus"
    for content in (first, gzip.compress(first)):
        path.write_bytes(content + b"\n")
        assert resolve_format([str(path)], "auto") == "dir"
    path.write_bytes(first + b"\nmore\n")
    assert resolve_format([str(path)], "auto", labelled=True) == name
    path.write_bytes(gzip.compress(first + b"\nmore\n"))
    assert resolve_format([str(path)], "auto", labelled=True) == name


@pytest.mark.parametrize(
    ("suffix", "name"),
    [(suffix, name) for name, layout in FORMATS.items() for suffix in layout.suffixes],
)
def test_suffix_sets_the_format_compressed_or_not(suffix: str, name: str) -> None:
    assert [
        resolve_format([f"x{ending}"], "auto")
        for ending in (suffix, suffix.upper(), f"{suffix}.gz", f"{suffix}.XZ")
    ] == [name] * 4
    assert resolve_format([f"x{suffix}"], "lines") == "lines"


@pytest.mark.parametrize(
    ("names", "kind"),
    [
        (["a/1", "b/2.txt", "b/.hidden/3.eml", "b/.4.html"], "text"),
        (["a/1.eml", "b/deep/2.EML.gz"], "mail"),
        (["a/1.html", "b/2.htm", "c/3.xhtml.xz"], "html"),
        (["a/1.eml", "b/2.partial.emlx"], "mail"),
        (["a/1.eml", "b/2"], "by-name"),
        (["a/1.eml.gz", "b/2.txt.gz"], "by-name"),
        (["a/eml", "b/x.eml.txt"], "text"),
        ([], "text"),
    ],
)
def test_file_names_set_the_kind_of_documents(tmp_path: Path, names: list[str], kind: str) -> None:
    (tmp_path / "in").mkdir()
    corpus(tmp_path / "in", dict.fromkeys(names, "x"))
    path = "in"
    assert resolve_reading(Reading(), [path], labelled=True).document == kind
    assert resolve_reading(Reading(), [path, path], labelled=False).document == kind
    assert resolve_reading(Reading(document="html"), [path], labelled=True).document == "html"
    assert resolve_reading(Reading(document="by-name"), [path], labelled=True).document == "by-name"
    assert (
        resolve_reading(Reading(document="by-name", format="jsonl"), [path], labelled=True).document
        == "text"
    )
    files = [str(tmp_path / "in" / name) for name in names if "/." not in name]
    assert (
        resolve_reading(Reading(), [*files, "-"][: len(files) or 1], labelled=False).document
        == kind
    )
    (tmp_path / "outside").mkdir()
    corpus(tmp_path / "outside", {"1.eml": "x"})
    (tmp_path / "in" / "linked").symlink_to("../outside")
    corpus(tmp_path / "in", {"README.html": "x"})
    alone = kind == "mail" or not names
    assert resolve_reading(Reading(), [path], labelled=True).document == (
        "mail" if alone else "by-name"
    )


def test_documents_of_several_kinds_are_read_by_name(tmp_path: Path) -> None:
    files = {
        "a/1.eml": "Subject: lunch\n\nat noon",
        "a/2.html": "<p>at <b>one</b><script>no()</script>",
        "a/3": "<p>x",
    }
    corpus(tmp_path, files)
    found = dict(zip(files, (d.text.decode().split() for d in documents(tmp_path)), strict=True))
    assert found == {"a/1.eml": ["lunch", "at", "noon"], "a/2.html": ["at", "one"], "a/3": ["<p>x"]}
    assert [text for _, text in texts(tmp_path, document="text")] == list(files.values())


def test_emlx_messages_are_read(tmp_path: Path) -> None:
    message = b"Subject: tea\n\nat five\n"
    packed = b"%-10d\n%b<plist/>\n" % (len(message), message)
    corpus(
        tmp_path / "box",
        {
            "ham/1.emlx": packed,
            "ham/2.partial.EMLX.gz": gzip.compress(packed),
            "spam/3.emlx": message,
            "spam/4.emlx": b"9" * 5000,
        },
    )
    read = ["tea\n\nat five\n"] * 3
    assert [text for _, text in texts(tmp_path / "box", headers="subject")] == [*read, "9" * 5000]
    assert [
        text for _, text in texts(tmp_path / "box/ham/1.emlx", labelled=False, headers="subject")
    ] == read[:1]
    succeed("train box -m m")
    assert succeed("classify box/ham/1.emlx -m m").rows[0][1] == "ham"
    corpus(tmp_path / "box", {"spam/5": packed})
    assert documents(tmp_path / "box/spam/5", labelled=False)[0].text == packed


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        ("my bin is full\nthe lamp is out\na tree fell on the road\n", 3),
        ("a\nb\r\nccccc\nd", 4),
        ("x" * 300 + "\n" + "y" * 280 + "\n" + "z" * 290, 3),
        ("a\nbbbb\n", None),
        ("my bin is full\n\nthe lamp is out\na tree fell on the road\n", None),
        (
            textwrap.fill(
                "who wrote this letter did not know how many lines it has, but broke them " * 9, 72
            )
            + "\nyours",
            None,
        ),
        ("", None),
    ],
)
def test_files_of_lines_are_distinguished_from_documents(
    tmp_path: Path, content: str, lines: int | None
) -> None:
    write("f", content)
    assert count_document_lines("f") == lines


def test_list_of_documents_is_refused_as_a_list_of_corpora(tmp_path: Path) -> None:
    corpus(tmp_path, {"c/a/1": "one", "c/b/1": "two", "list": "c/a/1\nc/b/1\n", "corpora": "c\n"})
    line = fail(2, "train --files-from list")
    assert line.startswith(
        "nbtext: c/a/1 is not a directory with one sub-directory per class; each path is a corpus, also in a list of"
    )
    succeed("train --files-from corpora")


def test_pipe_is_inspected_and_read_once(tmp_path: Path) -> None:
    succeeded(
        bash(
            "$NBTEXT train <(printf '__label__a cats\\n__label__b dogs\\n') && $NBTEXT classify --text cats"
        )
    )
    assert "no value at the key 'label'" in bash('$NBTEXT train <(echo \'{"text": "x"}\')').notes[0]

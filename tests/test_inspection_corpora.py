"""`nbtext doctor CORPUS`: what a corpus looks like before training, and each thing that may be unusual in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from nbtext.corpus.detection.formats import detect_text_kinds
from nbtext.inspection.corpora import MIN_CLASS_DOCUMENTS
from tests.process import PETS, corpus, fail, in_json, nbtext, succeed, write

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

CLEAN = [
    f"the {pet} that we saw at the {place} on day {day}"
    for day in range(MIN_CLASS_DOCUMENTS)
    for place in ("vet", "zoo")
    for pet in ("kitten", "puppy")
]
"""Texts of the labels cats and dogs, in turns, with nothing unusual."""


def table(
    texts: Sequence[str] = CLEAN, labels: Sequence[str] = ("cats", "dogs"), more: str = ""
) -> str:
    """A table whose labels take turns, and further rows."""
    quoted = (text.replace('"', '""') for text in texts)
    return (
        "label,text\n"
        + "".join(
            f'{labels[number % len(labels)]},"{text}"\n' for number, text in enumerate(quoted)
        )
        + more
    )


def sizes(*arguments: str | Path) -> dict[str, Any]:
    """What the command says of a corpus in figures."""
    figures: dict[str, Any] = in_json("doctor", *arguments)["corpus"]
    return figures


def list_warnings_of(*arguments: str | Path) -> list[tuple[str, str, str]]:
    """Check, finding and remedy of all that is not ok."""
    checks = in_json("doctor", *arguments)["checks"]
    assert {found["result"] for found in checks} <= {"ok", "warning"}
    return [
        (found["check"], found["detail"], found["fix"])
        for found in checks
        if found["result"] == "warning"
    ]


def test_clean_corpus_has_no_findings(tmp_path: Path) -> None:
    write("c.csv", table())
    assert list_warnings_of("c.csv") == []
    assert sizes("c.csv") == {
        "format": "csv", "kind": "text", "columns": "class in column 'label', text in column 'text', the first line is a header",
        "class_sizes": {"cats": 10, "dogs": 10}, "documents": 20, "empty": 0, "median_bytes": 41, "most_bytes": 42,
        "unreadable": 0, "first_unreadable": [], "not_utf8": 0,
    }  # fmt: skip
    shown = succeed("doctor c.csv").text
    assert "2 classes: cats (10), dogs (10)" in shown
    assert "→" not in shown
    assert (
        list_warnings_of(
            corpus(
                tmp_path,
                {
                    "c/a/1": "é" * 20,
                    **{f"c/{label}/{n}": f"{label}{n}" for label in "ab" for n in range(2, 7)},
                },
            )
            / "c"
        )
        == []
    )


def fillers(label: str, n: int = MIN_CLASS_DOCUMENTS) -> str:
    return "".join(f"{label},{label} number {number} is here\n" for number in range(n))


FOUND: dict[str, tuple[str, str | bytes, tuple[str, str, str]]] = {
    "empty texts": (
        "c.csv", table(more="cats,\n"),
        ("documents", "without text: 1 document", "see --text-column and --document"),
    ),
    "unreadable": (
        "c.csv", table(more="cats\ncats\n"),
        ("documents", "could not be read: 2 documents; first c.csv:22: expected 2 columns, found 1; check --delimiter", "mend or remove them; train leaves them out"),
    ),
    "repeated": (
        "c.csv", table(more=f"cats,{CLEAN[0]}\ncats,{CLEAN[2]}\n"),
        ("documents", "with the text of another: 2 documents; first c.csv:2, like c.csv:22", "to count each text once, add --deduplicate to train"),
    ),
    "one class": (
        "c.csv", table(labels=["cats"]),
        ("classes", "there is only one class, cats, so it is always predicted", "add documents of another class"),
    ),
    "small classes": (
        "c.csv", table(more=f"fish,it swims\n{fillers('birds', MIN_CLASS_DOCUMENTS - 1)}"),
        ("classes", "2 classes with fewer than 5 documents: birds (4), fish (1)", "add documents, join such classes, or remove them"),
    ),
    "similar labels": (
        "c.csv", table(labels=["cats", "dogs", "Cats", "dogs "]),
        ("labels", "labels that differ only in case, spaces, Unicode form or as 1 and 1.0: 'Cats' and 'cats', 'dogs' and 'dogs '", "write them in the same way, or join them with nbtext relabel"),
    ),
    "a class each": (
        "c.csv", table(labels=CLEAN),
        ("columns", "nearly every document has its own class: 20 classes, 20 documents", "see --label-column and --text-column"),
    ),
    "quoted cells": (
        "c.tsv", table().replace(',"', '\t"').replace("label,text\n", ""),
        ("columns", "c.tsv: cells look quoted, and in tsv a quote is a character", "if they are, use --format csv --delimiter tab"),
    ),
    "paths": (
        "c.csv", table([f"mails/{number}.txt" for number in range(20)]),
        ("columns", "c.csv: the texts are names of files, and the names are counted, not the files", "use --file-column text"),
    ),
    "html": (
        "c.csv", table([f'<p class="x">{text}</p>' for text in CLEAN[:4]] + CLEAN[4:]),
        ("texts", "read as text, and look like html: 4 documents", "use --document html"),
    ),
    "mail": (
        "c.jsonl", "".join(f'{{"label": "{n % 2}", "text": "Path: a!b\\nX-Long: a\\n b\\nSubject: {text}\\n\\nhello"}}\n' for n, text in enumerate(CLEAN)),
        ("texts", "read as text, and look like mail: 20 documents", "use --document mail"),
    ),
    "another language": (
        "c.csv", table([f"das ist der {n}. Hund, den wir nicht bei dem Arzt gesehen haben" for n in range(20)]),
        ("texts", "by its stop words the language is german, not english", "use --language german"),
    ),
    "one of two languages": (
        "c.csv", table([f"det er nu den {n}. hund som jeg ikke har set hos os, og han kan være syg" for n in range(20)]),
        ("texts", "by its stop words the language is danish or norwegian, not english", "use --language danish or norwegian"),
    ),
    "no terms": (
        "c.csv", table(["!" * n for n in range(1, 21)]),
        ("texts", "the documents contain no terms, so all predictions are the same", "nbtext tokens shows why a word is dropped"),
    ),
    "not UTF-8": (
        "c.jsonl", b"".join(b'{"label": "%d", "text": "caf\xe9 %d"}\n' % (n % 2, n) for n in range(20)),
        ("encoding", "not valid UTF-8 and read as Windows-1252: 20 documents", "if letters look wrong, see --encoding"),
    ),
}  # fmt: skip


@pytest.mark.usefixtures("tmp_path")
@pytest.mark.parametrize("kind", FOUND)
def test_each_problem_is_found_and_nothing_else(kind: str) -> None:
    name, content, expected = FOUND[kind]
    write(name, content)
    assert list_warnings_of(name) == [expected]
    assert f"→ {expected[2]}" in succeed("doctor", name).text


WARNED = ["one class", "similar labels", "a class each", "quoted cells", "paths", "no terms"]


@pytest.mark.usefixtures("tmp_path")
@pytest.mark.parametrize("kind", WARNED)
def test_train_warns_in_the_same_words(kind: str) -> None:
    name, content, (_, detail, fix) = FOUND[kind]
    write(name, content)
    assert nbtext("train", name).notes == [f"nbtext: warning: {detail}; {fix}"]
    assert nbtext("train", name, "-q").notes == []


def test_header_read_as_a_row_is_reported(tmp_path: Path) -> None:
    write("c.csv", table().replace("label", "topic"))
    (found,) = list_warnings_of("c.csv", "--no-header")
    assert found == (
        "columns",
        "the only document of class 'topic' looks like the header of the table",
        "if it is, add --header",
    )
    assert f"nbtext: warning: {found[1]}; {found[2]}" in nbtext("train c.csv --no-header").notes


def test_texts_under_several_labels_are_reported(tmp_path: Path) -> None:
    write(
        "c.csv",
        table(
            [*CLEAN] * 6,
            labels=["cats", "dogs"],
            more=f"dogs,{CLEAN[0]}\ndogs,{CLEAN[2]}\ncats,{CLEAN[0]}\n",
        ),
    )
    last = list_warnings_of("c.csv")[-1]
    assert last == (
        "labels",
        "2 texts under several labels: first c.csv:4 (cats) and c.csv:123 (dogs)",
        "keep one of them; train --deduplicate keeps the last",
    )
    assert f"nbtext: {last[1]}; {last[2]}" not in nbtext("train c.csv -v").notes
    assert any(
        "2 texts under several labels" in note
        for note in nbtext("train c.csv -v --deduplicate").notes
    )


def test_few_repeated_texts_and_empty_texts_are_not_reported(tmp_path: Path) -> None:
    rows = [f"{text} {number}" for number in range(6) for text in CLEAN]
    write("c.csv", table(rows, more=f"cats,{rows[0]}\ncats,\ndogs,\n"))
    assert [detail for _, detail, _ in list_warnings_of("c.csv")] == ["without text: 2 documents"]


def test_multi_label_documents_are_counted_by_label(tmp_path: Path) -> None:
    path = write("c.csv", table([*CLEAN, *CLEAN], labels=["a;b", "b", "", "", "a;b;A"]))
    assert sizes(path, "--label-separator", ";")["class_sizes"] == {"b": 24, "a": 16, "A": 8}
    assert (
        "classes\tok\t3 classes: b (24), a (16), A (8); 1.20 labels a document"
        in nbtext("doctor c.csv --label-separator ; -o tsv").text
    )
    assert [
        (check, detail.partition(":")[0])
        for check, detail, _ in list_warnings_of(path, "--label-separator", ";")
    ] == [
        ("labels", "labels that differ only in case, spaces, Unicode form or as 1 and 1.0"),
        ("documents", "with the text of another"),
    ]
    write("one.csv", table(labels=["a", ""]))
    assert list_warnings_of("one.csv", "--label-separator", ";") == []


def test_field_that_reveals_the_class_is_reported(tmp_path: Path) -> None:
    mails = {
        f"c/{label}/{n}.eml": f"Subject: about {label}\n\nwords {label} {n}\n"
        for label in ("ham", "spam")
        for n in range(20)
    }
    corpus(tmp_path, mails)
    (found,) = list_warnings_of("c")
    assert found[0] == "fields"
    assert found[1].startswith(
        "the field subject reveals the classes of 100.0% of the training documents, by terms such as subject:"
    )
    assert nbtext("train c").notes == [f"nbtext: warning: {found[1]}; {found[2]}"]


def test_language_of_the_settings_is_compared_with_the_texts(tmp_path: Path) -> None:
    name, content, _ = FOUND["another language"]
    write(name, content)
    assert list_warnings_of(name, "--language", "de") == []
    assert (
        list_warnings_of(name, "--language", "japanese")[0][1]
        == "by its stop words the language is german, not japanese"
    )
    write("nbtext.toml", 'language = "german"\n')
    assert list_warnings_of(name) == []
    write("few.csv", table(["das ist der"]))
    assert "stop words" not in str(list_warnings_of("few.csv"))
    write("codes.csv", table([f"a{n} die b{n} c{n} d{n} e{n} f{n} g{n} h{n}" for n in range(40)]))
    assert list_warnings_of("codes.csv") == []


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("From a@b Mon\nReceived: by x\n\tfor y\nSubject: z\n\n", {"mail"}), ("From: a\r\nTo: b\r\n", {"mail"}), ("Subject: only\n\nhello", set()),
        ("Q: why?\nA: so\n\nTo: you", set()), ("from: here on\nit goes", set()), ("12:30 x\nto: y\ndate: z", set()),
        ("a<br/>b", {"html"}), ("<!DOCTYPE HTML>", {"html"}), ("</P >", {"html"}), ("a < b and c > d", set()), ("<a.b@c.d>", set()), ("<alice>", set()),
        ("Received: x\nSubject: y\n\n<p>", {"mail", "html"}), ("From a@b Mon\nTo: c\nSubject: d\n\ne\n\n" * 2, {"mbox"}),
    ],
)  # fmt: skip
def test_mail_and_html_are_recognised_by_their_start(text: str, kinds: set[str]) -> None:
    assert set(detect_text_kinds(text.encode())) == kinds


def test_train_reports_what_files_look_like(tmp_path: Path) -> None:
    mail = {
        f"c/{'ab'[n % 2]}/{n:05}.7c53336b": f"From: a@b.example\nSubject: {text}\n\nhello\n"
        for n, text in enumerate(CLEAN)
    }
    corpus(tmp_path, mail)
    said = "read as text, and look like mail: {}; use --document mail"
    assert nbtext("train c").notes == [
        "nbtext: warning: c: " + said.format("8 documents of 8 looked at")
    ]
    assert said.format("20 documents").partition(";")[0] in succeed("doctor c").text
    for given in ("--document mail", "--document text"):
        succeed(f"train -q c {given}")
        assert nbtext(f"train c {given}").notes == []
    corpus(
        tmp_path,
        {
            "boxes/a/1": "From a@b Mon\nSubject: c\n\nd\n\n" * 3,
            "boxes/b/2": "From a@b Mon\nSubject: c\n\nd\n\n" * 3,
            "boxes/b/x": "y",
        },
    )
    assert (
        nbtext("train boxes")
        .notes[0]
        .endswith("read as text, and look like mbox: 2 documents of 3 looked at; use --format mbox")
    )
    write("c/a/x.html", "<p>hello")
    assert "look like mail" in str(nbtext("train c").notes)
    corpus(
        tmp_path,
        {f"plain/{label}/{n}": text for label in "ab" for n, text in enumerate(CLEAN)}
        | {"plain/a/mail": next(iter(mail.values()))},
    )
    succeed("train plain")


def test_documents_read_as_mail_or_html_are_not_reported_as_such(tmp_path: Path) -> None:
    for kind in ("html", "mail"):
        name, content, _ = FOUND[kind]
        write(name, content)
        assert kind not in str(list_warnings_of(name, "--document", kind))


def test_table_columns_are_reported(tmp_path: Path) -> None:
    path = write("c.csv", "body,topic\nit purrs,cats\nit barks,dogs\n")
    assert (
        sizes(path)["columns"]
        == "class in column 'topic', text in column 'body', the first line is a header"
    )
    assert sizes(path, "--no-header")["columns"] == "class in column 1, text in column 2, no header"
    assert "columns" in succeed("doctor", path).text


def test_class_per_file_is_reported(tmp_path: Path) -> None:
    corpus(
        tmp_path,
        {
            f"c/{name}.txt": "".join(f"{name} {n}\n" for n in range(MIN_CLASS_DOCUMENTS))
            for name in ("good", "bad")
        },
    )
    figures = sizes("c")
    assert (figures["format"], figures["class_sizes"], list_warnings_of("c")) == (
        "lines",
        {"bad": MIN_CLASS_DOCUMENTS, "good": MIN_CLASS_DOCUMENTS},
        [],
    )


def test_formats_without_words_have_no_language_findings(tmp_path: Path) -> None:
    write("c.svm", "".join(f"{n % 2} die:9 der:9 {n}:1\n" for n in range(20)))
    assert list_warnings_of("c.svm") == []
    write("c.csv", "label,age\n" + "".join(f"{'ab'[n % 2]},{n}\n" for n in range(20)))
    assert list_warnings_of("c.csv", "--numeric", "age") == []


def test_files_outside_classes_and_empty_classes_are_reported(tmp_path: Path) -> None:
    corpus(
        tmp_path,
        {
            **{
                f"c/{label}/{n}": f"word {label}{n}"
                for label in "ab"
                for n in range(MIN_CLASS_DOCUMENTS)
            },
            "c/README": "r",
            "c/empty/.keep": "",
        },
    )
    assert list_warnings_of("c") == [
        ("classes", "c/empty: no documents in this class", "add some, or remove it")
    ]
    assert "c/README: outside the class folders, ignored" in succeed("doctor c").text


def test_unreadable_corpus_is_reported(pets: Path) -> None:
    corpus(pets, {"bad/a/1": b"\0", "bad/b/2": b"\0"})
    record = in_json("doctor bad")
    assert record["corpus"]["first_unreadable"][0] == {
        "id": "bad/a/1",
        "error": "binary, not text (first control byte at position 0)",
    }
    assert [found["result"] for found in record["checks"]] == ["ok", "warning", "ok", "warning"]
    assert "Python" not in succeed("doctor pets").text
    assert "cannot read" in fail(4, "doctor missing")
    write("cut.csv.gz", b"\x1f\x8b\x08\x00")
    assert "cut.csv.gz" in fail(4, "doctor cut.csv.gz")
    assert sizes("pets")["class_sizes"] == {"cats": 2, "dogs": 2}
    assert len(PETS) == 4

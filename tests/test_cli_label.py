"""`nbtext label`: rows to be filled in and rows that were."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING, Literal

import pytest

from tests.labelling_pools import labelled_texts
from tests.process import corpus, fail, json_lines, nbtext, succeed, write

if TYPE_CHECKING:
    from pathlib import Path

TEXTS = labelled_texts(40)


@pytest.fixture
def pool(tmp_path: Path) -> Path:
    """A folder with a folder of documents, ``pool``."""
    return corpus(
        tmp_path,
        {f"pool/{row:02}.txt": f"{text}\n\x1b]0;x\x07" for row, (_, text) in enumerate(TEXTS)},
    )


def truth(name: str) -> str:
    return TEXTS[int(name[5:7])][0]


def filled(printed: str, form: str) -> str:
    """Rows with true labels."""
    if form == "jsonl":
        records = [json.loads(line) for line in printed.splitlines()]
        return "".join(
            json.dumps({**record, "label": truth(record["id"])}) + "\n" for record in records
        )
    delimiter = "," if form == "csv" else "\t"
    quoting: Literal[0, 3] = csv.QUOTE_MINIMAL if form == "csv" else csv.QUOTE_NONE
    head, *rows = csv.reader(io.StringIO(printed, newline=""), delimiter=delimiter, quoting=quoting)
    assert head == ["id", "label", "suggested", "probability", "text"]
    out = io.StringIO(newline="")
    writer = csv.writer(
        out, delimiter=delimiter, quoting=quoting, quotechar=None if form == "tsv" else '"'
    )
    writer.writerows([head, *([name, truth(name), *others] for name, _, *others in rows)])
    return out.getvalue()


@pytest.mark.parametrize("form", ["tsv", "csv", "jsonl"])
def test_filled_in_suggestions_are_imported_and_used_in_training(pool: Path, form: str) -> None:
    for number in (1, 2, 3):
        rows = succeed("label pool --suggest 8 -o", form).text
        (pool / f"rows.{form}").write_text(filled(rows, form), encoding="utf-8", newline="")
        done = nbtext("label pool --take", f"rows.{form}", "-v")
        assert done.status == 0
        assert done.notes[-1].startswith(
            f"nbtext: labels.jsonl: 8 new labels, {8 * number} in all, "
        )
    labels = json_lines((pool / "labels.jsonl").read_bytes())
    assert len({record["id"] for record in labels}) == 24
    assert all(
        record["label"] == truth(record["id"]) and set(record) == {"id", "label", "text"}
        for record in labels
    )
    succeed("train labels.jsonl")
    answers = succeed("classify pool").rows
    assert sum(label == truth(name) for name, label, _ in answers) >= 32


def test_suggestions_have_a_predicted_class_once_there_are_labels(
    pool: Path,
) -> None:
    rows = succeed("label pool --suggest 3").rows
    assert [row[1:4] for row in rows[1:]] == [["", "", ""]] * 3
    write("rows.csv", "id,label\npool/00.txt,cats\npool/01.txt,dogs\n")
    succeed("label pool --take rows.csv")
    for row in succeed("label pool --suggest 3").rows[1:]:
        assert row[2] in ("cats", "dogs")
        assert 0.5 <= float(row[3]) <= 1


def test_invalid_rows_are_reported_by_position_and_the_others_imported(pool: Path) -> None:
    rows = "id\tlabel\npool/00.txt\tcats\npool/xx.txt\tcats\npool/01.txt\t\npool/00.txt\tdogs\npool/00.txt\tcats\npool/02.txt\tdogs\n"
    write("rows.tsv", rows)
    done = nbtext("label pool --take rows.tsv")
    assert done.status == 1
    assert done.notes == [
        "nbtext: rows.tsv:3: the pool has no document 'pool/xx.txt'; do not change the column id",
        "nbtext: rows.tsv:5: pool/00.txt has the label 'cats' already; undo it first",
    ]
    assert len((pool / "labels.jsonl").read_text(encoding="utf-8").splitlines()) == 2


def test_who_and_times_are_stored_on_request(pool: Path) -> None:
    write("rows.csv", "id,label\npool/00.txt,cats\npool/01.txt,dogs\n")
    succeed("label pool --take rows.csv --who ada --times --to other.jsonl")
    record = json.loads((pool / "other.jsonl").read_text(encoding="utf-8").splitlines()[0])
    assert record["who"] == "ada"
    assert record["time"].endswith("Z")
    succeed("train other.jsonl")
    assert not (pool / "labels.jsonl").exists()


def test_incomplete_last_line_is_reported_and_removed(pool: Path) -> None:
    write("rows.csv", "id,label\npool/00.txt,cats\n")
    succeed("label pool --take rows.csv")
    whole = (pool / "labels.jsonl").read_bytes()
    write("labels.jsonl", whole + b'{"id": "pool/01.t')
    done = nbtext("label pool --take rows.csv")
    assert (done.status, len(done.notes)) == (0, 1)
    assert "an incomplete line was removed" in done.notes[0]
    assert (pool / "labels.jsonl").read_bytes() == whole


def test_invalid_options_are_refused_in_one_line(pool: Path) -> None:
    assert "choose another --to" in fail(2, "label pool --suggest 2 --to pool/00.txt")
    line = fail(2, "label pool --review --suggest 2")
    assert line.startswith("nbtext: --suggest cannot be used with --review: ")
    assert not (pool / "review.tsv").exists()
    write("notes.txt", "milk\n")
    line = fail(4, "label pool --suggest 2 --to notes.txt")
    assert (
        line
        == "nbtext: notes.txt:1: is not an answer of nbtext label; choose another file with --to"
    )
    assert (pool / "notes.txt").read_text(encoding="utf-8") == "milk\n"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("pool.csv", "text,n\na cat,1\na dog,2\n"),
        ("pool.jsonl", '{"text": "a cat"}\n{"text": "a dog"}\n'),
    ],
)
def test_pool_may_be_a_table(pool: Path, name: str, content: str) -> None:
    (pool / name).write_text(content, encoding="utf-8")
    rows = succeed("label", name, "--suggest", "5", "--text-column", "text").rows[1:]
    assert sorted(row[4] for row in rows) == ["a cat", "a dog"]
    assert all(row[0].startswith(f"{name}:") for row in rows)


def test_mail_fields_are_kept_in_the_label_file(tmp_path: Path) -> None:
    mails = {
        f"{label}/{number}": f"Subject: {label} offer {number}\nFrom: {label}@example.org\n\nBody of {label} {number}\n"
        for label in "ab"
        for number in range(3)
    }
    corpus(tmp_path / "mail", mails)
    answers = "".join(f"mail/{name}\t{name[0]}\n" for name in mails)
    write("filled.tsv", f"id\tlabel\n{answers}")
    succeed("label mail --document mail --take filled.tsv")
    assert (
        nbtext("label mail --document mail --suggest 9").out.count(b"\n") == 1
    )  # all are known again
    seen = []
    for trained in (("labels.jsonl",), ("mail", "--document", "mail")):
        assert nbtext("train", *trained).status == 0
        seen.append(nbtext("select-features -o tsv").out)
    assert seen[0] == seen[1]
    assert b"subject:offer" in seen[0]
    write(
        "odd.jsonl",
        '{"label": "a", "text": "x", "nbtext_fields": [["subject"]]}\n{"label": "a", "text": "y"}\n',
    )
    assert b"is not a list of names and contents" in nbtext("train odd.jsonl").err


def test_multi_label_rows_are_suggested_and_imported(pool: Path) -> None:
    write(
        "rows.csv",
        "id,label\n"
        + "".join(f"pool/{row:02}.txt,{truth(f'pool/{row:02}')}|pets\n" for row in range(8))
        + "pool/08.txt,|\npool/09.txt,\n",
    )
    assert (
        nbtext("label pool --take rows.csv --label-separator | -v")
        .notes[-1]
        .startswith("nbtext: labels.jsonl: 9 new documents, 9 in all, ")
    )
    sets = [record["label"] for record in json_lines((pool / "labels.jsonl").read_bytes())]
    assert sets[-1] == []
    assert all(
        each == sorted([truth(f"pool/{row:02}"), "pets"]) for row, each in enumerate(sets[:-1])
    )
    assert (
        nbtext("label pool --take rows.csv -v")
        .notes[-1]
        .startswith("nbtext: labels.jsonl: 0 new documents, 9 in all, ")
    )
    for _, label, suggested, probability, _ in succeed("label pool --suggest 5").rows[1:]:
        assert label == ""
        assert suggested == "|" or len(suggested.split("|")) == len(probability.split("|"))
    write("changed.csv", "id,label\npool/00.txt,pets\n")
    assert (
        f"pool/00.txt has the label '{'|'.join(sets[0])}' already"
        in nbtext("label pool --take changed.csv").notes[0]
    )
    write("seeds.tsv", "cats\tcat\n")
    assert "documents of several labels cannot be used with --seeds" in fail(
        2, "label pool --suggest 2 --seeds seeds.tsv"
    )
    succeed("train labels.jsonl")
    assert "pets" in succeed("classify pool").rows[0][1]

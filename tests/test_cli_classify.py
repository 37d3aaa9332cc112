"""`nbtext classify`: one record for each document, in order, in every form.

Also tests `report/predictions.py`.
"""

from __future__ import annotations

import csv
import io
import json
import os
import socket
from typing import TYPE_CHECKING, Any

import pytest

from tests.process import SERVICE_DESK, corpus, fail, json_lines, nbtext, succeed, write

if TYPE_CHECKING:
    from pathlib import Path


def strictly(line: str) -> Any:
    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    return json.loads(line, parse_constant=refuse)


def test_classify_prints_one_record_per_document_in_order(service_desk_model: Path) -> None:
    files = sorted((SERVICE_DESK / "test").rglob("*.txt"), key=os.fsencode, reverse=True)
    for paths in ([SERVICE_DESK / "test"], files, [*files[:3], SERVICE_DESK / "test", files[0]]):
        expected = [
            name for path in paths for name in ([path] if path.is_file() else reversed(files))
        ]
        rows = succeed("classify -m", service_desk_model, *paths).rows
        assert [row[0] for row in rows] == [str(name) for name in expected]
        assert all(0 < float(probability) <= 1 for _, _, probability in rows)
    assert sum(row[1] == row[0].split("/")[-2] for row in rows) > 0.7 * len(rows)


def test_ranked_classes_are_columns_of_csv_and_rows_of_a_table(service_desk_model: Path) -> None:
    command = ("classify", "-m", service_desk_model, "--text", "my bin", "--limit", "3", "--output")
    _, record = csv.reader(io.StringIO(succeed(*command, "csv").text))
    lines = succeed(*command, "table").text.splitlines()[2:]
    assert [line.split() for line in lines] == [record[:3], record[3:5], record[5:7]]
    assert record[7:] == [""]
    assert succeed(*command[:-1]).text == succeed(*command, "csv").text  # in a pipe
    assert "tsv always has three columns" in fail(2, *command, "tsv")


def test_csv_has_probabilities_and_a_column_of_reasons(
    service_desk_model: Path, tmp_path: Path
) -> None:
    corpus(
        tmp_path,
        {"in/1": "my bin", "in/2": b"\0", "in/3": "my bin was not emptied by the bin lorry"},
    )
    done = nbtext("classify in --min-probability 0.7 -o csv -m", service_desk_model)
    head, *rows = csv.reader(io.StringIO(done.text))
    assert head == ["id", "label", "probability", "reason"]
    assert [(row[1], row[2] != "" and float(row[2]) > 0.7) for row in rows] == [
        ("", False),
        ("", False),
        ("waste-collection", True),
    ]
    assert [row[3].partition(" ")[0] for row in rows] == ["low-probability", "binary,", ""]
    assert [
        row[2].partition(" ")[0]
        for row in nbtext("classify in --min-probability 0.7 -m", service_desk_model).rows[:2]
    ] == [
        "low-probability",
        "binary,",
    ]


def test_several_texts_are_numbered_records(service_desk_model: Path) -> None:
    texts = ("my bin", "the tax", "")
    several = succeed(
        "classify -m", service_desk_model, *(part for text in texts for part in ("--text", text))
    ).rows
    alone = [succeed("classify -m", service_desk_model, "--text", text).rows[0] for text in texts]
    assert several == [[str(number), *row[1:]] for number, row in enumerate(alone, 1)]
    assert [row[0] for row in alone] == ["-"] * 3


def test_keep_all_preserves_json_lines_records(pets: Path) -> None:
    records = [
        {"text": "it barks", "n": 5, "label": "x", "model": "T", "meta": {"a": [1, None]}},
        {"text": "it purrs", "reason": "\u00e9"},
    ]
    write("in.jsonl", "".join(f"{json.dumps(record)}\n" for record in records) + "nothing\n")
    done = nbtext("classify in.jsonl --keep all")
    first, second, third = map(strictly, done.text.splitlines())
    answer = {key: first.pop(key) for key in ("label", "probability", "model")}
    assert answer["label"] == "dogs"
    assert first == {
        "text": "it barks",
        "n": 5,
        "given_label": "x",
        "given_model": "T",
        "meta": {"a": [1, None]},
    }
    assert (second["text"], second["given_reason"], second["label"]) == (
        "it purrs",
        "\u00e9",
        "cats",
    )
    assert (done.status, sorted(third)) == (1, ["error", "label", "model", "probability"])
    assert "name the columns" in fail(2, "classify in.jsonl --keep all -o csv")


def test_keep_all_needs_lines_with_columns(pets: Path) -> None:
    line = fail(2, "classify --lines --keep all", stdin=b"it barks\n")
    assert line == (
        "nbtext: --keep all is for tables, not for lines; use --format csv, tsv or jsonl, or "
        "remove --keep"
    )
    record = b'{"text": "it barks", "n": 5}\n'
    [printed] = json_lines(succeed("classify --lines --keep all --format jsonl", stdin=record).text)
    assert (printed["text"], printed["n"], printed["label"]) == ("it barks", 5, "dogs")
    table = b"text,n\nit barks,5\n"
    kept = succeed("classify --lines --keep all --format csv --text-column text", stdin=table)
    header, row = kept.text.splitlines()
    assert header == "text,n,label,probability,reason"
    assert row.startswith("it barks,5,dogs,")


def test_unreadable_documents_are_records_too(pets: Path) -> None:
    corpus(pets, {"in/1": "a cat", "in/3": b"\0", "in/4": "a dog"})
    os.mkfifo(pets / "in/2")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.path.relpath(pets / "in/5"))
    (pets / "in/6").symlink_to("6")
    paths = ("in", "nothere", "in/1")
    done = nbtext("classify", *paths)
    ids = ["in/1", "in/2", "in/3", "in/4", "in/5", "in/6", "nothere", "in/1"]
    assert (done.status, [row[0] for row in done.rows]) == (1, ids)
    assert [row[1] for row in done.rows] == ["cats", "", "", "dogs", "", "", "", "cats"]
    assert done.notes == [f"nbtext: {name}: {why}" for name, label, why in done.rows if not label]
    again = nbtext("classify", *paths, "--output", "jsonl")
    records = [strictly(line) for line in again.text.split("\n")[:-1]]
    assert [record.get("error", "") for record in records] == [
        why if not label else "" for _, label, why in done.rows
    ]
    assert [record["probability"] is None for record in records] == [
        not label for _, label, _ in done.rows
    ]
    table = nbtext("classify", *paths, "--output", "table")
    assert (table.status, table.notes, table.text.count("\n")) == (1, done.notes, len(ids) + 2)


def test_documents_without_known_words_get_the_prior_and_a_notice(pets: Path) -> None:
    corpus(pets, {"empty": "", "stop": "the of and", "unknown": "zebra", "known": "cat"})
    arguments = ("classify", "empty", "stop", "unknown", "known")
    assert [row[1:] for row in succeed(*arguments).rows[:3]] == [["cats", "0.5"]] * 3
    verbose = nbtext(*arguments, "-v")
    assert verbose.notes == [
        "nbtext: predicted like an empty document, because the model knows none of its terms: 3 documents"
    ]
    records = [strictly(line) for line in succeed(*arguments, "-o", "jsonl").text.split("\n")[:-1]]
    assert [bool(record.get("notice")) for record in records] == [True, True, True, False]


def test_impossible_document_gets_no_prediction(pets: Path) -> None:
    succeed("train pets --estimate ml")
    done = succeed("classify -", stdin=b"cats bark")
    assert done.rows == [["-", "", "impossible"]]
    record = strictly(succeed("classify - -o jsonl", stdin=b"cats bark").text)
    assert len(record.pop("model")) == 12
    assert record == {"id": "-", "label": None, "probability": None, "abstained": "impossible"}


def test_standard_input_is_one_document_unless_a_format_is_set(pets: Path) -> None:
    said = b"cats\tpurr\ndogs\tbark\n"
    assert [row[0] for row in succeed("classify -", stdin=said).rows] == ["-"]
    assert [row[0] for row in succeed("classify - --format lines", stdin=said).rows] == [
        "-:1",
        "-:2",
    ]
    by_table = succeed("classify - --format tsv --id-column 1", stdin=said)
    assert [row[:2] for row in by_table.rows] == [["cats", "cats"], ["dogs", "dogs"]]
    assert succeed("classify - --format lines").out == b""


def test_files_named_like_options_are_classified(pets: Path) -> None:
    corpus(pets, {"-": "a cat", "--help": "a cat", "-rf": "a cat"})
    assert [row[:2] for row in succeed("classify -- ./- --help -rf").rows] == [
        ["./-", "cats"], ["--help", "cats"], ["-rf", "cats"],
    ]  # fmt: skip


def test_file_names_of_any_bytes_are_printed_as_they_are(pets: Path) -> None:
    names = [
        b"\xff\xfe",
        b"new\nline",
        b"tab\there",
        b"back\\slash\r",
        b"\x1b[31m",
        "語\u202e".encode(),
        b"x" * 255,
    ]
    for name in names:
        (pets / os.fsdecode(name)).write_text("a cat")
    lines = succeed("classify", *names).out.split(b"\n")[:-1]
    escaped = [
        n.replace(b"\\", b"\\\\")
        .replace(b"\n", b"\\n")
        .replace(b"\t", b"\\t")
        .replace(b"\r", b"\\r")
        for n in names
    ]
    assert [line.split(b"\t")[0] for line in lines] == escaped
    out = succeed("classify", *names, "-o", "jsonl").out
    assert [
        os.fsencode(strictly(line)["id"])
        for line in out.decode("ascii" if b"\xe8" not in out else "utf-8").split("\n")[:-1]
    ] == names
    assert b"\x1b" not in out
    failed = nbtext("classify", b"no\x1b[31m\n\xff\xc2\x9b\xe2\x80\xae")
    assert failed.notes == [
        "nbtext: no\\x1b[31m\\x0a\\xff\\x9b\\u202e: cannot read: no such file or directory"
    ]


@pytest.mark.parametrize("make", ["nothing", "directory", "fifo", "text", "loop"])
@pytest.mark.parametrize(
    "command",
    [["classify", "pets"], ["evaluate", "pets"], ["select-features"], ["inspect"]],
    ids=lambda command: command[0],
)
def test_invalid_model_paths_exit_with_status_3(pets: Path, make: str, command: list[str]) -> None:
    path = pets / "model"
    if make == "directory":
        path.mkdir()
    elif make == "fifo":
        os.mkfifo(path)
    elif make == "text":
        path.write_text("hello")
    elif make == "loop":
        path.symlink_to("model")
    assert fail(3, *command, "-m", "model").startswith("nbtext: model: ")
    assert fail(3, *command, env={"NBTEXT_MODEL": "model"}).startswith("nbtext: model: ")


def test_rows_before_a_broken_row_are_classified(pets: Path) -> None:
    done = nbtext("classify - --format csv --text-column 1", stdin=b'a cat\na dog,x\n"open')
    assert done.status == 4
    assert (
        done.notes[-1]
        == "nbtext: standard input: line 3: not valid csv (unexpected end of data); if quotes in this file are ordinary characters, use --format tsv --delimiter ','"
    )

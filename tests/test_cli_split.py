"""`nbtext split`: every record is in exactly one part, byte for byte, and equal texts are together.

Also tests `corpus/stored_records.py` and `evaluation/holdout.py`.
"""

from __future__ import annotations

import csv
import io
import json
import tempfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtext.corpus.stored_records import iter_stored_records
from nbtext.errors import UsageError
from nbtext.evaluation.holdout import DocumentFacts, divide_by_label, divide_by_time
from nbtext.settings import Reading
from tests.process import REPOSITORY, SERVICE_DESK, content, corpus, fail, nbtext, succeed, write

if TYPE_CHECKING:
    from collections.abc import Sequence


def make_facts(
    labels: Sequence[str | tuple[str, ...]],
    texts: Sequence[str] | None = None,
    column: Sequence[str] = (),
) -> DocumentFacts:
    names = [str(row) for row in range(len(labels))]
    return DocumentFacts(
        [label if isinstance(label, tuple) else (label,) for label in labels],
        [text.encode() for text in (names if texts is None else texts)],
        list(column),
        names,
    )


def read_rows(name: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(content(name).decode(), newline="")))


ROWS = [(f"c{row % 3}", f"text {row}", f"2026-01-{row:02}") for row in range(1, 31)]


def write_table(name: str, rows: Sequence[Sequence[str]] = ROWS) -> bytes:
    text = io.StringIO()
    csv.writer(text).writerows([("label", "text", "date"), *rows])
    return write(name, text.getvalue()).read_bytes()


def test_rows_are_copied_byte_for_byte(tmp_path: Path) -> None:
    table = b'\xef\xbb\xbf"label";text\r\na;"one\r\ntwo; ""three"""\r\n\r\nb;caf\xe9\nb;"x"\na;last'
    write("t.csv", table)
    notes = nbtext("split t.csv --delimiter ; --test 0.5 -v").notes
    assert "nbtext: t-train.csv: 2 documents" in notes
    header, *rows = b'\xef\xbb\xbf"label";text\r\n', b'a;"one\r\ntwo; ""three"""\r\n', b"b;caf\xe9\n", b'b;"x"\n', b"a;last"  # fmt: skip
    parts = [content("t-train.csv"), content("t-test.csv")]
    assert all(part.startswith(header) for part in parts)
    assert sum(map(len, parts)) == 2 * len(header) + sum(map(len, rows))
    assert all([row in parts[0], row in parts[1]].count(True) == 1 for row in rows)


def test_note_about_the_delimiter_stays_in_front(tmp_path: Path) -> None:
    write("t.csv", "sep=;\nlabel;text\n" + "".join(f"a;{row}\nb;{row}x\n" for row in range(5)))
    succeed("split t.csv")
    for part in ("train", "test"):
        assert content(f"t-{part}.csv").startswith(b"sep=;\nlabel;text\n")
    succeed("train t-train.csv")
    succeed("evaluate t-test.csv")


@given(
    st.lists(
        st.tuples(st.sampled_from("ab"), st.text('x"\r\n,;é ', min_size=1, max_size=6)),
        min_size=1,
        max_size=12,
    ),
    st.sampled_from(["\n", "\r\n", "\r"]),
)
def test_stored_records_are_the_file(rows: list[tuple[str, str]], line_end: str) -> None:
    text = io.StringIO()
    csv.writer(text, lineterminator=line_end).writerows(rows)
    stored = text.getvalue().encode()
    with tempfile.NamedTemporaryFile(suffix=".csv") as file:
        Path(file.name).write_bytes(stored)
        records = list(iter_stored_records(file.name, Reading(format="csv")))
    assert b"".join(records) == stored
    assert len(records) == len(list(csv.reader(io.StringIO(stored.decode(), newline=""))))


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("uvwxyz")), min_size=2, max_size=40),
    st.sampled_from([0.1, 0.2, 0.5, 0.8]),
    st.integers(0, 5),
)
def test_equal_texts_and_groups_are_together(
    rows: list[tuple[str, str]], proportion: float, seed: int
) -> None:
    labels, texts = zip(*rows, strict=True)
    groups = [str(row % 7) for row in range(len(rows))]
    for column in ((), groups):
        facts = make_facts(labels, texts, column)
        try:
            is_test = divide_by_label(facts, proportion, seed)
        except UsageError:  # a part would have no documents
            continue
        for values in (texts, column):
            parts_by_value: dict[str, set[bool]] = {}
            for value, part in zip(values, is_test.tolist(), strict=False):
                parts_by_value.setdefault(value, set()).add(part)
            assert all(len(parts) == 1 for parts in parts_by_value.values())
        assert np.array_equal(is_test, divide_by_label(facts, proportion, seed))


@given(
    st.lists(st.sampled_from("abcd"), min_size=10, max_size=60),
    st.sampled_from([0.1, 0.2, 0.5]),
    st.integers(0, 5),
)
def test_each_label_has_the_proportion(labels: list[str], proportion: float, seed: int) -> None:
    is_test = divide_by_label(make_facts(labels), proportion, seed)
    assert abs(is_test.sum() - proportion * len(labels)) < 1
    for label, n_documents in Counter(labels).items():
        n_test = sum(is_test[row] for row in range(len(labels)) if labels[row] == label)
        assert abs(n_test - proportion * n_documents) <= 1


def test_several_labels_have_the_proportion() -> None:
    generator = np.random.default_rng(0)
    label_sets = [tuple(name for name in "abcdef" if generator.random() < 0.4) for _ in range(400)]
    is_test = divide_by_label(make_facts(label_sets), 0.25, seed=1)
    for name in "abcdef":
        rows = [row for row in range(400) if name in label_sets[row]]
        assert abs(is_test[rows].mean() - 0.25) < 0.03


def test_seed_changes_the_division() -> None:
    facts = make_facts(["a"] * 50)
    assert not np.array_equal(divide_by_label(facts, 0.2, 0), divide_by_label(facts, 0.2, 1))


def test_newest_documents_are_the_test_part(tmp_path: Path) -> None:
    write_table("t.csv", list(reversed(ROWS)))
    succeed("split t.csv --time-column date --test 0.3")
    assert {row["date"] for row in read_rows("t-test.csv")} == {date for *_, date in ROWS[-9:]}
    times = ["1", "1", "2", "3", "3"]
    assert divide_by_time(make_facts("aabbb", column=times), 0.4).tolist() == [
        False, False, False, True, True,
    ]  # fmt: skip
    texts = ["old", "x", "y", "old", "z"]
    assert divide_by_time(make_facts("aabbb", texts, times), 0.4).tolist() == [
        False, False, False, False, True,
    ]  # fmt: skip
    with pytest.raises(UsageError, match="has no time"):
        divide_by_time(make_facts("ab", column=["1", ""]), 0.5)


def test_groups_stay_together(tmp_path: Path) -> None:
    write_table(
        "t.csv", [(label, text, f"g{row % 8}") for row, (label, text, _) in enumerate(ROWS)]
    )
    succeed("split t.csv --group-column date --to .")
    groups = [{row["date"] for row in read_rows(f"t-{part}.csv")} for part in ("train", "test")]
    assert not groups[0] & groups[1]
    assert len(groups[0] | groups[1]) == 8


def test_lines_of_json_are_divided(tmp_path: Path) -> None:
    lines = [json.dumps({"text": f"é {row}", "label": f"c{row % 2}", "id": 7}) for row in range(20)]
    write("t.jsonl", "\n".join(lines))
    succeed("split t.jsonl")
    parts = [content(f"t-{part}.jsonl").decode().splitlines() for part in ("train", "test")]
    assert [len(part) for part in parts] == [16, 4]
    assert sorted(parts[0] + parts[1]) == sorted(lines)
    write("a.jsonl", "[\n" + ",\n".join(lines) + "]")
    assert "an object on each line" in fail(2, "split a.jsonl")


def test_folder_becomes_tables_that_train_reads(tmp_path: Path) -> None:
    succeed("split", SERVICE_DESK / "train", "--to", "parts")
    sizes = [len(read_rows(f"parts/train-{part}.csv")) for part in ("train", "test")]
    assert sizes == [178, 44]
    by_file = ("--file-column", "file")
    succeed("train parts/train-train.csv", *by_file)
    evaluation = json.loads(succeed("evaluate parts/train-test.csv -o json", *by_file).out)
    assert evaluation["n"] == 44


def test_unreadable_rows_are_reported_and_used_for_training(tmp_path: Path) -> None:
    stored = write_table("t.csv")
    write("t.csv", stored + b"c1,,\r\n,no label,\r\n")
    done = nbtext("split t.csv")
    assert done.status == 1
    assert done.notes[0].startswith("nbtext: t.csv:33: the label is empty")
    assert content("t-train.csv").endswith(b",no label,\r\n")
    assert len(read_rows("t-train.csv")) + len(read_rows("t-test.csv")) == 32


def test_compressed_public_table_is_divided(tmp_path: Path) -> None:
    succeed("split", REPOSITORY / "corpora/sms-spam/train.tsv.bz2")
    parts = [content(f"train-{part}.tsv").splitlines() for part in ("train", "test")]
    spam = [sum(line.startswith(b"spam\t") for line in part) / len(part) for part in parts]
    assert abs(spam[0] - spam[1]) < 0.01
    texts = [{line.partition(b"\t")[2] for line in part} for part in parts]
    assert not texts[0] & texts[1]


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        ("t.csv", 4, "t-test.csv: exists already; choose another folder with --to"),
        ("t.csv --to lines.txt", 4, "lines.txt: file exists"),
        ("t.csv t.csv", 2, "split needs one file or folder"),
        ("-", 2, "split needs one file or folder"),
        ("t.csv --test 1", 2, "--test must be"),
        ("lines.txt --format lines", 2, "split cannot divide lines"),
        ("one.csv", 2, "the test part would have no documents"),
        ("t.csv --time-column date --seed 1", 2, "--seed cannot be used with --time-column"),
        ("t.csv --group-column nothing", 4, "no column is called 'nothing'"),
        ("open.csv", 4, "line 2: not valid csv"),
    ],
)
def test_wrong_usage_writes_nothing(
    tmp_path: Path, arguments: str, status: int, message: str
) -> None:
    write_table("t.csv")
    corpus(
        tmp_path,
        {
            "t-test.csv": "precious",
            "lines.txt": "a\nb\n",
            "one.csv": "label,text\na,b\n",
            "open.csv": 'label,text\na,"b\n',
        },
    )
    names = sorted(path.name for path in tmp_path.iterdir())
    if "t-test.csv" not in message:
        (tmp_path / "t-test.csv").rename("kept")
        names = sorted(path.name for path in tmp_path.iterdir())
    assert message in fail(status, f"split {arguments}")
    assert sorted(path.name for path in Path().iterdir()) == names

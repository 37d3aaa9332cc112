"""Tables whose columns no option names: recognised, said on a terminal, remembered by the model, or refused with the columns shown.

Tests `corpus/detection/columns.py` through the command; its decisions one by one are in `test_corpus_detection_columns.py`.
"""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.process import (
    ENVIRONMENT,
    bash,
    content,
    corpus,
    fail,
    in_json,
    nbtext,
    start,
    succeed,
    succeeded,
    write,
)

if TYPE_CHECKING:
    from pathlib import Path

    from tests.process import Result

PETS = [
    ("it purrs, on the sofa", "cats"),
    ("it barks at the postman", "dogs"),
    ("it scratches the sofa", "cats"),
    ("it fetches, sticks", "dogs"),
] * 6

HEADED = "text,category\n" + "".join(f'"{text}",{label}\n' for text, label in PETS)
SWAPPED = "".join(f"{text} {number}\t{label}\n" for number, (text, label) in enumerate(PETS))


@pytest.fixture
def tables(tmp_path: Path) -> Path:
    return corpus(
        tmp_path,
        {
            "headed.csv": HEADED,
            "swapped.tsv": SWAPPED,
            "plain.tsv": "".join(f"{label}\t{text}\n" for text, label in PETS),
        },
    )


def classes(folder: Path, model: str = "nbtext.joblib") -> list[str]:
    return sorted(in_json("inspect -m", model, cwd=folder)["classes"])


def test_header_is_recognised_and_stored_in_the_model(tables: Path) -> None:
    done = nbtext("train headed.csv -v")
    assert done.notes[0] == (
        "nbtext: headed.csv: class in column 'category', text in column 'text', the first line is a header; "
        "if this is wrong, set --label-column, --text-column or --no-header"
    )
    succeed("train headed.csv --label-column category --text-column text -m named")
    assert content("named") == content("nbtext.joblib")
    write("new.csv", "when,text\n2024-01-02,it barks\n")
    assert [row[:2] for row in succeed("classify new.csv").rows] == [["new.csv:2", "dogs"]]
    assert in_json("evaluate -q headed.csv")["n"] == len(PETS)
    assert "no column is called 'text'" in fail(4, "classify plain.tsv")


def test_recognised_columns_are_reported_only_with_verbose(tables: Path) -> None:
    for table in ("headed.csv", "swapped.tsv", "plain.tsv"):
        succeed("train", table)
        assert classes(tables) == ["cats", "dogs"]


def test_text_column_before_the_label_is_recognised(tables: Path) -> None:
    said = "class in column 2, text in column 1, no header; if this is wrong, set --label-column, --text-column or --header"
    assert nbtext("train swapped.tsv -v").notes[0] == f"nbtext: swapped.tsv: {said}"
    succeed("train swapped.tsv --label-column 2 --text-column 1 -m named")
    assert content("named") == content("nbtext.joblib")


def test_every_training_command_recognises_the_same_columns(tables: Path) -> None:
    for command in ("cross-validate", "suspects", "learning-curve", "tune"):
        options = (
            ["--try", "min-df=1"]
            if command == "tune"
            else ["--folds", "2"]
            if command == "cross-validate"
            else []
        )
        done = nbtext(command, "headed.csv", *options, "-v")
        assert done.status == 0, done
        assert sum("class in column 'category'" in note for note in done.notes) == 1, done
    succeed("train headed.csv")
    succeed("update headed.csv -q")
    assert "columns" in succeed("doctor headed.csv").text


def test_pipe_is_read_once(tables: Path) -> None:
    succeed("train headed.csv -m file")
    for given in (
        "cat headed.csv | $NBTEXT train - --format csv",
        "$NBTEXT train --format csv <(cat headed.csv)",
        "gzip -c headed.csv | $NBTEXT train - --format csv",
    ):
        succeeded(bash(given))
        assert content("nbtext.joblib") == content("file")


def test_ambiguous_columns_are_refused_and_shown(tables: Path) -> None:
    lines = SWAPPED.splitlines()
    write(
        "three.tsv",
        "".join(
            f"{line}\t{'odd' if number % 2 else 'even'}\n" for number, line in enumerate(lines)
        ),
    )
    line = fail(2, "train three.tsv")
    assert line == (
        "nbtext: three.tsv: it is not clear which column is the class: 1 ('it purrs, on the sofa 0'), 2 ('cats'), 3 ('even'); use --label-column"
    )
    assert warnings(nbtext("train three.tsv --label-column 3")) == [
        "three.tsv: column 1 has longer texts than column 2, which is read; use --text-column 1"
    ]
    succeed("train three.tsv --label-column 2")
    assert classes(tables) == ["cats", "dogs"]
    assert fail(2, "doctor three.tsv") == line


def test_refusals_show_cells_that_are_not_utf_8(tmp_path: Path) -> None:
    rows = b"".join(b"%d m\xfc\xdfte\tk\xe4se %d\tnot\xe9 %d\n" % (k, k, k) for k in range(12))
    write("three.tsv", rows)
    line = fail(2, "train three.tsv --label-column 2")
    assert "1 ('0 müßte'), 2 ('käse 0'), 3 ('noté 0')" in line
    line = fail(2, "train three.tsv --label-column 2 --encoding utf-8")
    assert "1 ('0 m\ufffd\ufffdte')" in line
    write("titled.csv", b"M\xfcller\n\nlabel,text\na,b\nc,d\n")
    assert "not part of the table: 'Müller'; remove" in fail(2, "train titled.csv")


def warnings(result: Result) -> list[str]:
    assert result.status == 0, result
    return [note.removeprefix("nbtext: warning: ") for note in result.notes]


def test_wrongly_named_columns_give_a_warning(tables: Path) -> None:
    wrong = warnings(nbtext("train swapped.tsv --label-column 1 --text-column 2"))
    assert wrong == [
        "nearly every document has its own class: 24 classes, 24 documents; see --label-column and --text-column"
    ]
    line = fail(2, "train headed.csv --label-column 2 --text-column 1")
    assert line.endswith(
        "the first row looks like a header: text, category; add --header or --no-header"
    )
    headless = warnings(nbtext("train headed.csv --label-column 2 --text-column 1 --no-header"))
    write(
        "few.csv",
        "animal,sound\n" + "".join(f"cat {number},sound {number}\n" for number in range(6)),
    )
    assert warnings(nbtext("train few.csv"))[0].startswith(
        "nearly every document has its own class: 7 classes, 7 documents"
    )
    assert headless == [
        "the only document of class 'category' looks like the header of the table; if it is, add --header"
    ]


def test_tables_of_paths_give_a_warning(tables: Path) -> None:
    (tables / "files").mkdir()
    for number, (text, _) in enumerate(PETS):
        (tables / "files" / str(number)).write_text(text)
    write(
        "files/list.csv",
        "path,label\n" + "".join(f"{number},{label}\n" for number, (_, label) in enumerate(PETS)),
    )
    (said,) = warnings(nbtext("train files/list.csv --text-column path --label-column label"))
    assert said.startswith(
        "files/list.csv: the texts are names of files, and the names are counted, not the files; use --file-column "
    )


def test_semicolons_are_recognised(tables: Path) -> None:
    write("excel.csv", HEADED.replace('",', '";').replace("text,", "text;"))
    assert "delimiter ';'" in nbtext("train excel.csv -v").notes[0]
    assert classes(tables) == ["cats", "dogs"]


STREAMS = {
    "jsonl": (
        ['{"id": "t1", "text": "it purrs"}', '{"id": "t2", "text": "it barks"}'],
        ["--format", "jsonl", "--id-column", "id"],
    ),
    "csv": (
        ["id,text", '"t1","it, purrs"', "t2,it barks"],
        ["--format", "csv", "--id-column", "id"],
    ),
    "lines": (["it purrs", "it barks"], []),
    "tsv": (
        ["t1\tit purrs", "t2\tit barks"],
        ["--format", "tsv", "--id-column", "1", "--text-column", "2", "--no-header"],
    ),
}


@pytest.mark.parametrize("name", STREAMS)
def test_streamed_records_are_classified_immediately_with_their_ids(
    tables: Path, name: str
) -> None:
    succeed("train headed.csv")
    lines, options = STREAMS[name]
    pipe = subprocess.PIPE
    with start(
        [sys.executable, "-m", "nbtext", "classify", "--lines", *options],
        env=ENVIRONMENT,
        stdin=pipe,
        stdout=pipe,
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        answers = []
        for line in lines:
            child.stdin.write(line.encode() + b"\n")
            if not line.startswith("id,"):  # which is written together with the first record
                child.stdin.flush()
                answers.append(
                    child.stdout.readline().decode().split("\t")[:2]
                )  # comes before the next line is written
        child.stdin.close()
        assert (child.stdout.read(), child.wait()) == (b"", 0)
    first, second = ("-:1", "-:2") if name == "lines" else ("t1", "t2")
    assert answers == [[first, "cats"], [second, "dogs"]]


def test_lines_are_documents_unless_a_format_or_column_is_set(tables: Path) -> None:
    succeed("train headed.csv")
    for options, ids in (
        ([], ["-:1", "-:2"]),
        (["--id-column", "id"], ["a"]),
        (["--format", "fasttext"], ["-:1", "-:2"]),
    ):
        done = succeed("classify --lines", *options, stdin=b"id,text\na,it barks\n")
        assert [row[0] for row in done.rows] == ids


def test_text_option_passes_one_document(tables: Path) -> None:
    succeed("train headed.csv")
    assert [row[:2] for row in succeed("classify --text 'it barks'").rows] == [["-", "dogs"]]
    assert succeed("explain --text 'it barks'").rows[0][:2] == ["-", "dogs"]
    assert succeed("why-not cats --text 'it barks'").rows[0][:3] == ["-", "dogs", "cats"]
    assert [row[4] for row in succeed("tokens --text 'it barks'").rows] == ["it", "barks"]
    assert [row[4] for row in succeed("tokens --no-model --text 'it barks'").rows] == [
        "it",
        "barks",
    ]
    corpus(
        tables,
        {
            "legs.csv": "label,text,legs\ncats,it purrs,4\nbirds,it sings,2\n",
            "counts.svm": "cats purrs:2\ndogs barks:3\n",
        },
    )
    succeed("train legs.csv --label-column label --text-column text --count legs")
    assert succeed("classify --text 'it sings'").rows[0][:2] == ["-", "birds"]
    succeed("train counts.svm")
    assert "trained on counted features" in fail(2, "classify --text barks")


MAIL = "From a@b Sat Nov 21 10:00:00 2026\nSubject: the dog\n\nIt barks.\n\nFrom c@d Sun Nov 22 10:00:00 2026\nSubject: the cat\n\nIt purrs.\n"


def test_format_of_a_file_overrides_the_format_of_training(pets: Path) -> None:
    corpus(
        pets,
        {
            "headed.csv": HEADED,
            "inbox": MAIL,
            "inbox.mbox": MAIL,
            "letter": "the dog, it barks",
            "list.jsonl": '{"text": "it barks"}\n',
        },
    )
    succeed("train pets")
    for name, ids in (
        ("headed.csv", [f"headed.csv:{n}" for n in range(2, 26)]), ("inbox", ["inbox:1", "inbox:2"]), ("inbox.mbox", ["inbox.mbox:1", "inbox.mbox:2"]),
        ("list.jsonl", ["list.jsonl:1"]), ("letter", ["letter"]),
    ):  # fmt: skip
        done = nbtext("classify", name, "-v")
        assert [row[0] for row in done.rows] == ids
        assert any(
            "like the training documents; if this is wrong, set --format" in note
            for note in done.notes
        ) == (name != "letter")
    assert [row[0] for row in succeed("classify inbox.mbox --format dir").rows] == ["inbox.mbox"]
    mixed = nbtext("classify letter headed.csv")
    assert mixed.notes == [
        "nbtext: warning: headed.csv: read as dir like letter, but it looks like csv; classify it separately, or set --format"
    ]


def test_text_only_table_needs_no_columns(tables: Path) -> None:
    corpus(tables, {"in/1": "it barks", "in/2": "it purrs", "letter": "Hello, it barks"})
    for table in ("headed.csv", "swapped.tsv", "plain.tsv"):
        succeed("train", table)
        assert [row[:2] for row in succeed("classify -", stdin=b"it barks\n").rows] == [
            ["-", "dogs"]
        ]
        assert [row[:2] for row in succeed("classify letter").rows] == [["letter", "dogs"]]
        assert [row[:2] for row in succeed("classify in").rows] == [
            ["in/1", "dogs"],
            ["in/2", "cats"],
        ]
    assert len(succeed("classify -", stdin=b"dogs\tit barks\ncats\tit purrs\n").rows) == 2
    succeed("train headed.csv")
    assert "no column is called 'text'" in fail(4, "classify -", stdin=b"id,body\n1,it barks\n")


def test_mail_and_html_in_folders_are_recognised(tmp_path: Path) -> None:
    """As with the option; by what was read in training, later commands read too."""
    letters = {
        "a/1.eml": "Subject: lunch\n\nat noon",
        "a/2.eml": "Subject: tea\n\nat five",
        "b/1.eml": "Subject: prize\n\nyou win",
    }
    corpus(tmp_path, {"mail/" + name: text for name, text in letters.items()})
    corpus(
        tmp_path,
        {"mixed/" + name: text for name, text in {**letters, "b/2.html": "<p>w<b>in</b>"}.items()},
    )
    corpus(
        tmp_path, {"plain/" + name.replace(".eml", ".txt"): text for name, text in letters.items()}
    )
    notes = nbtext("train mail -v").notes
    assert (
        notes[0]
        == "nbtext: mail: all files have names of mail; if they are text, add --document text"
    )
    assert "names of mail" not in notes[1]
    succeed("train mail --document mail -m given")
    assert content("given") == content("nbtext.joblib")
    rows = nbtext("classify - mail/b/1.eml", stdin=letters["b/1.eml"].encode()).rows
    assert rows[0][1:] == rows[1][1:]
    succeed("train mail --document text -m as-text")
    succeed("train plain -m of-text")
    assert content("as-text") == content("of-text")
    notes = nbtext("train mixed -v").notes
    assert notes[0].startswith(
        "nbtext: mixed: each file is read by its name, .eml as mail, .emlx as mail, .html as html, "
    )
    found = in_json("inspect")
    assert found["reading"]["document"] == "by-name"
    page = nbtext("tokens mixed/b/2.html").text
    assert "win" in page
    assert "script" not in page
    filtered = nbtext("classify --mail-filter", stdin=letters["b/1.eml"].encode()).text
    assert filtered.startswith("X-Nbtext: b; ")


def test_file_of_lines_gives_a_notice_about_the_format(pets: Path) -> None:
    corpus(
        pets,
        {
            "messages.txt": "the cat purrs\nit barks\na dog that barks at the postman\n",
            "letter": "the cat\n\npurrs\n",
        },
    )
    succeed("train pets")
    asked = "nbtext: messages.txt: read as one document of at least 3 lines; if each line is a document, add --format lines"
    assert asked in nbtext("classify messages.txt -v").notes
    assert asked in nbtext("label messages.txt --suggest 1 -v").notes
    for arguments in (["messages.txt", "--format", "dir"], ["messages.txt", "letter"], ["letter"]):
        assert not any(
            "if each line" in note for note in nbtext("classify", *arguments, "-v").notes
        )
    assert len(nbtext("classify messages.txt --format lines -v").rows) == 3


def test_pipes_are_read_as_documents(pets: Path) -> None:
    succeed("train pets")
    os.mkfifo(pets / "fifo")
    for command in (
        "$NBTEXT classify <(echo a dog)",
        "echo a dog | $NBTEXT classify /dev/stdin",
        "(echo a dog > fifo) & $NBTEXT classify fifo",
    ):
        assert [row[1] for row in succeeded(bash(command)).rows] == ["dogs"], command


def test_folder_of_maildirs_is_recognised(tmp_path: Path) -> None:
    for name, text in (("ham", "At noon?"), ("spam", "A prize!")):
        corpus(
            tmp_path / "Mail" / name,
            {
                "cur/1": f"Subject: {name}\n\n{text}",
                "new/2": f"Subject: more {name}\n\n{text}",
                "tmp/3": "half",
            },
        )
    succeed("train Mail")
    assert classes(tmp_path) == ["ham", "spam"]
    rows = succeed("classify Mail").rows
    assert [row[:2] for row in rows] == [
        [f"Mail/{name}/{file}", name] for name in ("ham", "spam") for file in ("cur/1", "new/2")
    ]


def test_tables_of_other_programs_are_refused_with_a_remedy(tables: Path) -> None:
    for name, remedy in (
        ("t.parquet", "make it jsonl first"),
        ("t.xlsx", "save the sheet as csv first"),
    ):
        (tables / name).write_bytes(b"PAR1")
        assert remedy in fail(2, "train", name)
    for name, begins, remedy in (
        ("t.db", b"SQLite format 3\0", "sqlite3 -csv"),
        ("t.pdf", b"%PDF-1.4\n", "pdftotext"),
        ("t.feather", b"ARROW1\0\0", "make it jsonl"),
        ("t.pkl", b"\x80\x04]", "make it csv"),
    ):
        write(name, begins)
        assert remedy in fail(2, "train", name)
    write("packed.zip", b"PK\3\4")
    assert "unpack the archive first" in fail(2, "train packed.zip")
    write("quoted.tsv", 'cats\t"it said ""purr"" twice"\ndogs\tit barks\n')
    (said,) = nbtext("train quoted.tsv").notes
    assert "use --format csv --delimiter tab" in said
    succeed("train quoted.tsv --format csv --delimiter tab")
    write("all.tsv", "".join(f'"{label}"\t"{text}"\n' for text, label in PETS))
    assert "cells look quoted" in nbtext("train all.tsv").notes[0]
    write("without", SWAPPED)
    succeed("train without")
    assert classes(tables) == ["cats", "dogs"]


def test_keep_prints_input_columns_next_to_predictions(tables: Path) -> None:
    succeed("train headed.csv")
    corpus(
        tables,
        {"new.csv": 'id,text,date\n7,"it purrs, ""loudly""",2024\n8,"it\nbarks",2025\n9,short\n'},
    )
    kept = nbtext("classify new.csv --keep all --limit 1")
    head, *rows = csv.reader(io.StringIO(kept.text))
    assert head == ["id", "text", "date", "label", "probability", "reason"]
    assert [row[:4] for row in rows[:2]] == [
        ["7", 'it purrs, "loudly"', "2024", "cats"],
        ["8", "it\nbarks", "2025", "dogs"],
    ]
    assert (kept.status, rows[2]) == (
        1,
        ["", "", "", "", "", "expected 3 columns, found 2; check --delimiter"],
    )
    lines = nbtext("classify new.csv --keep date,id -o tsv").rows
    assert [row[:3] for row in lines[:3]] == [
        ["date", "id", "label"],
        ["2024", "7", "cats"],
        ["2025", "8", "dogs"],
    ]
    record = json.loads(nbtext("classify new.csv --keep date -o jsonl").text.splitlines()[0])
    assert list(record) == ["date", "label", "probability", "model"]
    assert "given_model" not in nbtext("classify new.csv --keep all").text  # csv has no fingerprint
    write("new.jsonl", '{"n": 1, "text": "it barks"}\n')
    assert [row[:2] for row in succeed("classify new.jsonl --keep n -o tsv").rows] == [
        ["n", "label"],
        ["1", "dogs"],
    ]
    assert "no column is called 'x'" in fail(4, "classify new.csv --keep x")
    write("judged.csv", "text,label\nit barks,cats\n")
    assert succeed("classify judged.csv --keep all").text.startswith("text,given_label,label,prob")
    judged = succeed("classify judged.csv --keep label -o jsonl").records[0]
    assert (judged["given_label"], judged["label"]) == ("cats", "dogs")
    succeed("train plain.tsv")
    assert nbtext("classify plain.tsv --keep all").text.startswith(
        "1,2,label,probability,reason\ncats,"
    )


def test_kept_column_name_with_a_colon_is_printed_unchanged(tables: Path) -> None:
    succeed("train headed.csv")
    write("new.csv", "dc:title,text\nCats,it purrs\n")
    head, row = succeed("classify new.csv --keep dc:title -o csv").text.splitlines()
    assert head == "dc:title,label,probability,reason"
    assert row.startswith("Cats,cats,")


def test_several_text_columns_are_joined_or_counted_as_fields(tables: Path) -> None:
    corpus(tables, {
        "news.csv": "label,title,text\ncats,purring,it sleeps\ndogs,barking,it sleeps\n",
        "news.jsonl": '{"label": "cats", "title": "purring", "text": "it sleeps"}\n{"label": "dogs", "title": "barking", "text": "it sleeps"}\n',
    })  # fmt: skip
    for name in ("news.csv", "news.jsonl"):
        succeed("train", name, "--label-column", "label", "--text-column", "title,text")
        assert [row[1] for row in succeed("classify", name).rows] == ["cats", "dogs"]
        succeed(
            "train",
            name,
            "--label-column",
            "label",
            "--text-column",
            "title,text",
            "--tag-fields",
            "title",
        )
        assert [row[1] for row in succeed("classify", name).rows] == ["cats", "dogs"]
        assert "title:bark" in succeed("select-features").text
        assert succeed("classify --text 'it sleeps'").rows[0][0] == "-"


def test_train_and_doctor_print_the_same_warnings_of_unusual_data(tmp_path: Path) -> None:
    texts = [f"{'cat purrs' if n % 2 else 'dog barks'} number{n}" for n in range(40)]
    labels = ["cats" if n % 2 else "dogs" for n in range(40)]
    rows = list(zip(labels, texts, strict=True))
    split = [
        {"text": text, "label": label, "split": "train" if n % 3 else "test"}
        for n, (label, text) in enumerate(rows)
    ]
    judged = [
        {"text": text, "label": label, "answer": "accept" if n % 3 else "reject"}
        for n, (label, text) in enumerate(rows)
    ]
    stray = "".join(
        f"{label},{chr(34) * (n == 10)}{text}{chr(34) * (n == 30)}\n"
        for n, (label, text) in enumerate(rows)
    )
    corpus(
        tmp_path,
        {
            "split.jsonl": "".join(json.dumps(record) + "\n" for record in split),
            "judged.json": json.dumps(judged),
            "stray.csv": f"label,text\n{stray}",
        },
    )
    for file, said in (
        (
            "split.jsonl",
            "column split names parts of a corpus, and all are read; add --where split=train",
        ),
        (
            "judged.json",
            "annotators rejected some rows, by column answer, and all rows are read; add --where answer=accept",
        ),
        (
            "stray.csv",
            "stray.csv:12: a cell in quotes contains lines that look like rows, and is read as one cell",
        ),
    ):
        [note] = nbtext("train", file, "-m", "m").notes
        assert said in note
        assert said.partition(";")[0] in " ".join(succeed("doctor", file).text.split()), file
    assert nbtext("train split.jsonl -m m --where split=train").notes == []
    assert nbtext("train stray.csv -m m --format tsv --delimiter ,").notes == []


def test_quoted_text_in_several_lines_gives_no_warning(tmp_path: Path) -> None:
    rows = "".join(
        f'{"ab"[n % 2]},"Dear all,\nthe cat is back\nand so, it seems, is the dog\nBye\nword{n}"\n'
        for n in range(20)
    )
    corpus(tmp_path, {"t.csv": f"label,text\n{rows}"})
    assert nbtext("train t.csv -m m").notes == []


def test_lines_above_the_header_are_refused_with_a_remedy(tmp_path: Path) -> None:
    rows = "".join(f"{'ab'[n % 2]},text number {n}\n" for n in range(20))
    corpus(
        tmp_path,
        {"t.csv": f"Report of May\n\nlabel,text\n{rows}", "plain.csv": f"label,text\n{rows}"},
    )
    for options in ("", "--header", "--label-column label --text-column text"):
        said = fail(2, "train t.csv -m m", *options.split())
        assert (
            said
            == "nbtext: t.csv: the first line is not part of the table: 'Report of May'; remove the lines above the header, which begins with 'label'"
        )
    assert nbtext("train plain.csv -m m").notes == []


def test_records_inside_a_json_object_are_found(tmp_path: Path) -> None:
    intents = {
        "intents": [
            {"tag": tag, "patterns": [f"{tag} word{n}" for n in range(6)]}
            for tag in ("hello", "bye")
        ]
    }
    rasa = {
        "rasa_nlu_data": {
            "common_examples": [
                {"text": f"{'ab'[n % 2]} word{n}", "intent": "ab"[n % 2]} for n in range(8)
            ]
        }
    }
    issues = [
        {
            "title": f"it {'fails' if n % 2 else 'hangs'} {n}",
            "labels": [{"name": "bug"}] if n % 2 else [],
        }
        for n in range(8)
    ]
    corpus(
        tmp_path,
        {
            "i.json": json.dumps(intents, indent=1),
            "r.json": json.dumps(rasa, indent=1),
            "gh.json": json.dumps(issues),
        },
    )
    assert fail(2, "train i.json").endswith(
        "use --set records=KEY with the key of the documents: intents"
    )
    succeed("train i.json --records intents -m m")
    assert (
        "12 documents" in succeed("inspect -m m --output json").text
        or "12" in succeed("inspect -m m").text
    )
    assert "rasa_nlu_data.common_examples" in fail(2, "train r.json")
    succeed("train r.json --records rasa_nlu_data.common_examples -m m")
    assert "no array at the key 'x'" in fail(
        4, "train r.json --records x --label-column a --text-column b"
    )
    succeed("train gh.json --label-column labels.name --text-column title -m m")
    corpus(
        tmp_path, {"nlu.yml": 'version: "3.1"\nnlu:\n- intent: hello\n  examples: |\n    - hi\n'}
    )
    assert "rasa data convert nlu" in fail(2, "train nlu.yml")


def test_answers_with_a_column_of_right_labels_are_added(tables: Path) -> None:
    """Only the wrong answers have a right label; the old model is a backup."""
    succeed("train headed.csv")
    old_model = content("nbtext.joblib")
    write("new.csv", "text\nit purrs\nit chirps\nit barks\n")
    answers = succeed("classify new.csv --keep all -o csv").text.splitlines()
    rights = ("right", "", "birds", "")
    rows = [f"{row},{right}\n" for row, right in zip(answers, rights, strict=True)]
    write("answers.csv", "".join(rows))
    by_right = ("--label-column", "right", "--backup")
    failed = nbtext("update answers.csv", *by_right)
    assert failed.status == 1
    assert failed.notes[0] == (
        "nbtext: answers.csv:2: the label is empty; "
        "to skip documents without a label: --where 'right!='"
    )
    write("nbtext.joblib", old_model)
    succeed("update answers.csv --where right!=", *by_right)
    assert content("nbtext.joblib.1") == old_model
    assert succeed("classify --text chirps").rows[0][1] == "birds"

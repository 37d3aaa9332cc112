from __future__ import annotations

import os
import random
from typing import TYPE_CHECKING, Any

import joblib
import pytest

from nbtext import TextClassifier
from nbtext.settings import READING, TRAINING
from tests.model_changes import inspect_json
from tests.process import (
    PETS,
    SERVICE_DESK,
    content,
    corpus,
    fail,
    in_json,
    names,
    nbtext,
    succeed,
    write,
)

if TYPE_CHECKING:
    from pathlib import Path


def test_train_is_silent_and_verbose_describes_the_model(pets: Path) -> None:
    assert succeed("train pets -m m").out == b""
    verbose = nbtext("train pets -m m -v")
    assert (verbose.status, verbose.out) == (0, b"")
    learnt, described = verbose.notes
    assert (
        learnt
        == "nbtext: Trained m on 4 documents of 2 classes: cats (2), dogs (2). Next: nbtext evaluate TEST --model m"
    )
    assert described.startswith("nbtext: m: 2 classes, 4 documents, ")


@pytest.mark.parametrize(
    ("other", "same"),
    [
        ({"classifier": "dirichlet-multinomial"}, {}),
        ({"calibration": "length"}, {}),
        ({"calibration": "length", "estimate": "ml"}, {"estimate": "ml"}),
        (
            {"classifier": "average", "members": "Dirichlet-multinomial:0.5+bernoulli"},
            {"classifier": "average", "members": "multinomial:0.5+bernoulli"},
        ),
    ],
    ids=str,
)
def test_synonymous_option_values_give_the_same_model(
    other: dict[str, str], same: dict[str, str], pets: Path
) -> None:
    for name, options in {"other": other, "same": same}.items():
        succeed(
            "train pets -m", name, *(f"--{option}={value}" for option, value in options.items())
        )
    assert content("other") == content("same")
    write("nbtext.toml", "".join(f'{option} = "{value}"\n' for option, value in other.items()))
    succeed("train pets -m by-file")
    assert content("by-file") == content("same")


def test_model_is_written_to_the_requested_path(pets: Path) -> None:
    (pets / "nbtext.joblib").unlink()
    succeed("train pets")
    succeed("train pets", env={"NBTEXT_MODEL": "by-environment"})
    succeed("train pets -m by-option", env={"NBTEXT_MODEL": "other"})
    succeed("train pets", env={"NBTEXT_MODEL": ""})
    assert names(pets) == ["by-environment", "by-option", "nbtext.joblib", "pets"]


def test_same_corpus_gives_the_same_bytes(tmp_path: Path, service_desk_model: Path) -> None:
    files = [path for path in (SERVICE_DESK / "train").rglob("*.txt") if path.is_file()]
    random.Random(1).shuffle(files)
    for path in files:
        copy = tmp_path / "elsewhere" / path.parent.name / path.name
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(path.read_bytes())
    succeed("train", "elsewhere", "-m", "m", env={"LC_ALL": "C", "TZ": "Asia/Tokyo"})
    assert content("m") == service_desk_model.read_bytes()


def test_joblib_loads_the_model(service_desk_model: Path) -> None:
    loaded = joblib.load(service_desk_model)
    assert isinstance(loaded, TextClassifier)
    assert loaded.reading.format == "dir"
    assert loaded.counts.table.class_documents.tolist() == [37] * 6


def test_one_class_works_and_warns(tmp_path: Path) -> None:
    corpus(tmp_path, {"c/only/1": "some words"})
    done = nbtext("train c")
    assert (done.status, done.notes) == (
        0,
        [
            "nbtext: warning: there is only one class, only, so it is always predicted; add documents of another class"
        ],
    )
    assert nbtext("train c -q").notes == []
    assert succeed("classify -", stdin=b"anything").rows == [["-", "only", "1"]]
    assert in_json("evaluate -q c")["accuracy"] == 1
    for by in ("mutual-information", "presence", "chi2", "log-odds"):
        for output in ("tsv", "csv", "jsonl", "table"):
            assert b"word" in succeed("select-features --criterion", by, "--output", output).out


def test_documents_without_terms_are_trained_on(tmp_path: Path) -> None:
    corpus(tmp_path, {"c/a/1": "", "c/b/1": "? !", "c/b/2": ""})
    done = nbtext("train c")
    assert (done.status, done.notes) == (
        0,
        [
            "nbtext: warning: the documents contain no terms, so all predictions are the same; nbtext tokens shows why a word is dropped"
        ],
    )
    assert succeed("classify -", stdin=b"anything").rows == [["-", "b", "0.666667"]]
    assert succeed("select-features").out == b""
    succeed("inspect")
    succeed("evaluate -q c")


def test_unreadable_documents_are_named_and_the_others_used(tmp_path: Path) -> None:
    corpus(
        tmp_path,
        {
            "c/a/1": "red apple",
            "c/b/1": "green pear",
            "c/b/bin": b"\0",
            **{f"c/b/bad{n:02}": b"\0" for n in range(14)},
        },
    )
    (tmp_path / "c/a/\x1b[31m\n").symlink_to("nowhere")
    for quiet in ([], ["-q"]):
        done = nbtext("train c", *quiet)
        assert (done.status, len(done.notes)) == (1, 5)
        assert done.notes[0] == "nbtext: c/a/\\x1b[31m\\x0a: cannot read: no such file or directory"
        assert (
            done.notes[1]
            == "nbtext: c/b/bad00: binary, not text (first control byte at position 0)"
        )
        assert (
            done.notes[-1]
            == "nbtext: 12 more unreadable documents: binary, not text (first control byte at position 0)"
        )
    assert inspect_json(tmp_path)["documents"] == 2


def test_notices_are_printed_with_verbose(tmp_path: Path) -> None:
    corpus(tmp_path, {"c/a/1": b"caf\xe9", "c/b/1": "z w", "c/README": "r", "c/empty/.keep": ""})
    done = nbtext("train c -v")
    assert done.notes[:3] == [
        "nbtext: warning: c/empty: no documents in this class; add some, or remove it",
        "nbtext: not valid UTF-8 and read as Windows-1252: 1 document; if letters look wrong, see --encoding",
        "nbtext: c/README: outside the class folders, ignored",
    ]
    assert nbtext("train c").notes == done.notes[:1]


def test_documents_with_invalid_bytes_for_their_charset_are_counted(tmp_path: Path) -> None:
    part = b"Content-Type: text/plain; charset=gb2312\n\nword "
    corpus(
        tmp_path,
        {
            "c/a/1.eml": part + b"\xff",
            "c/a/2.eml": part,
            "c/b/1.eml": part + b"\xff\xff",
            "c/b/2.eml": part,
        },
    )
    notice = "with bytes that do not fit their charset, read as U+FFFD: 2 documents"
    for jobs in ("1", "2"):
        assert f"nbtext: {notice}" in nbtext(f"train c -v --jobs {jobs}").notes
    assert nbtext("train c").notes == []
    checked = nbtext("doctor c").text
    assert notice in checked
    assert "all valid in their encoding" not in checked


def test_reading_settings_are_stored_and_can_be_overridden(tmp_path: Path) -> None:
    corpus(
        tmp_path,
        {
            "t.csv": "topic;body\nx;red apple\ny;green pear\n",
            "new.csv": "body;topic\nred;?\n",
            "line.txt": "an apple\n",
        },
    )
    succeed("train t.csv --label-column topic --text-column body --delimiter ';'")
    assert succeed("classify new.csv").rows[0][:2] == ["new.csv:2", "x"]
    assert succeed("classify line.txt --format dir").rows[0][:2] == ["line.txt", "x"]
    remembered = {
        "format": "csv",
        "label_column": "topic",
        "text_column": "body",
        "delimiter": ";",
        "encoding": "auto",
    }
    assert remembered.items() <= inspect_json(tmp_path)["reading"].items()


def test_table_on_standard_input_is_read(tmp_path: Path) -> None:
    succeed("train - --format tsv", stdin=b"x\tred apple\ny\tgreen pear\n")
    assert succeed("classify - --format lines", stdin=b"apple\npear\n").text.count("\n") == 2


WRONG = {
    "format": ["xml", ""], "document": ["pdf"], "headers": ["", ","], "label_column": ["0", ""], "label_separator": [""], "records": [""], "label_pattern": ["", "[a-z]", "(a)(b)", "("], "file_column": ["0", ""], "text_column": ["0"], "id_column": ["0"],
    "delimiter": ["", "ab", "\n", '"'], "encoding": ["klingon", ""], "classifier": ["svm"], "language": ["klingon"],
    "encoded_lines": ["perhaps", ""], "unspaced": ["triples", ""], "members": ["", "svm", "logistic"], "class_weight": ["heavy", ""], "weight_column": ["0", ""],
    "stop_words": [""], "stemmer": ["klingon"], "ngrams": ["0", "-1", "1.5", "x", ""], "char_ngrams": ["0", "5-3", "3-", "x", ""], "min_df": ["0", "x"], "max_df": ["-0.1", "1.1", "nan", "x"],
    "top": ["0", "x"], "criterion": ["luck"], "smoothing": ["-1", "nan", "inf", "x", ""], "prior_shape": ["round"], "estimate": ["median"],
    "class_prior": ["smoothed:-1", "smoothed:x"], "max_document_size": ["0", "-1", "x", ""], "max_unpacked_size": ["0", "-1", "x", ""],
    "calibration": ["platt", ""], "weighting": ["heavy", ""], "l2": ["0", "-1", "nan", "x", ""], "keep_documents": ["-1", "1.5", "x", "9999999"],
    "categorical": ["", "a,,b", "a,a", "0"], "tag_fields": ["", "a,,b"], "count": [",", "a,a"], "numeric": [",", "a,a"],
    "latent": ["0", "1.5", "x"], "covariance": ["own"], "covariance_shape": ["round"], "shrinkage": ["-0.1", "1.1", "nan", "x"],
}  # fmt: skip


@pytest.mark.parametrize(
    "parameter",
    [p for p in (*READING, *TRAINING) if p.metavar],
    ids=lambda parameter: parameter.name,
)
def test_invalid_values_are_refused_with_the_name_of_the_option(pets: Path, parameter: Any) -> None:
    for value in WRONG[parameter.name]:
        line = fail(2, "train pets", f"{parameter.option}={value}")
        assert parameter.display_name in line or parameter.name == "stop_words"


def test_model_file_next_to_the_class_folders_is_ignored(tmp_path: Path) -> None:
    corpus(tmp_path, PETS)
    for _ in range(2):
        succeed("train .")
    assert inspect_json(tmp_path)["documents"] == 4


def test_class_names_may_contain_any_characters(tmp_path: Path) -> None:
    names = ["=cmd()", "new\nline", "tab\there", "\x1b[31m", " ", "a..", "語", "<script>"]
    corpus(tmp_path, {f"c/{name}/1": f"word{number}" for number, name in enumerate(names)})
    (tmp_path / os.fsdecode(b"c/caf\xe9")).mkdir()
    (tmp_path / os.fsdecode(b"c/caf\xe9/1")).write_text("coffee")
    succeed("train c")
    assert TextClassifier.load("nbtext.joblib").classes == sorted([*names, "café"])
    rows = succeed("classify c").rows
    assert len(rows) == 9
    assert {row[1] for row in rows} == {
        "=cmd()",
        "new\\nline",
        "tab\\there",
        "\x1b[31m",
        " ",
        "a..",
        "語",
        "<script>",
        "café",
    }
    assert b"\x1b" not in succeed("inspect").out

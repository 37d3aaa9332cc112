"""--files-from, --null, --on-error: where documents come from, and what happens when one cannot be read.

Also tests `cli/corpus.py` and `corpus/streams.py`.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from tests.process import bash, content, corpus, fail, in_json, nbtext, succeed, succeeded, write

if TYPE_CHECKING:
    from pathlib import Path

MIXED: dict[str, str | bytes] = {"1.txt": "the cat", "2.bin": b"\0\1", "3.txt": "the dog"}


def ids(*arguments: str, stdin: bytes = b"") -> list[str]:
    return [row[0] for row in succeed("classify", *arguments, stdin=stdin).rows]


@pytest.mark.parametrize("end", [b"", b"\0"])
def test_files_from_accepts_names_of_any_bytes(pets: Path, end: bytes) -> None:
    names = [b"new\nline", b"\xff", b" ", b"-", b"-v", b"tab\t"]
    for name in names:
        (pets / os.fsdecode(name)).write_text("the cat")
    listed = b"\0".join(names) + end
    write("list", listed)
    shown = [
        os.fsdecode(name).replace("\n", "\\n").replace("\t", "\\t")
        for name in (*names[:3], b"./-", *names[4:])
    ]
    assert ids("--files-from", "-", "-0", stdin=listed) == shown
    assert ids("--files-from", "list", "--null") == shown
    assert ids("pets/dogs/1", "--files-from", "list", "--null") == ["pets/dogs/1", *shown]
    assert ids("--files-from", "-", stdin=b" \n\n\xff") == [" ", "\udcff"]


def test_files_from_reads_the_output_of_find(pets: Path) -> None:
    result = succeeded(
        bash("find pets -type f -print0 | sort -z | $NBTEXT classify --files-from - -0")
    )
    assert [row[:2] for row in result.rows] == [
        [f"pets/{label}/{n}", label] for label in ("cats", "dogs") for n in (1, 2)
    ]


def test_empty_file_list_gives_no_rows_and_a_warning(pets: Path) -> None:
    result = nbtext("classify --files-from - -0")
    assert (result.status, result.out, result.notes) == (
        0,
        b"",
        ["nbtext: warning: the list of files is empty"],
    )
    assert nbtext("classify --files-from - -q").notes == []
    for command in ("train", "evaluate"):
        result = nbtext(command, "--files-from", "-")
        assert (result.status, result.out) == (2, b"")
        assert result.notes[-1] == "nbtext: the corpus has no readable documents"


def test_train_and_evaluate_read_file_lists(pets: Path) -> None:
    write("list", "pets\n")
    succeed("train --files-from list -m m")
    assert in_json("evaluate -q --files-from list -m m")["n"] == 4


@pytest.mark.parametrize("command", ["train", "classify", "evaluate"])
def test_invalid_file_lists_are_refused(pets: Path, command: str) -> None:
    assert "list of files" in fail(2, command, "-", "--files-from", "-")
    assert "--null needs --files-from" in fail(2, command, "pets", "-0")
    assert "none: cannot read: no such file" in fail(4, command, "--files-from", "none")


def test_on_error_selects_record_skip_or_fail(pets: Path) -> None:
    corpus(pets / "in", MIXED)
    why = "binary, not text (first control byte at position 0)"
    note = f"nbtext: in/2.bin: {why}"
    for choice, rows, notes in (
        ([], ["in/1.txt", "in/2.bin", "in/3.txt"], [note]),
        (["--on-error", "record"], ["in/1.txt", "in/2.bin", "in/3.txt"], [note]),
        (["--on-error", "skip"], ["in/1.txt", "in/3.txt"], [note]),
        (["--on-error", "fail"], ["in/1.txt"], [note]),
    ):
        result = nbtext("classify in", *choice)
        assert (result.status, [row[0] for row in result.rows], result.notes) == (1, rows, notes)


def test_train_and_evaluate_skip_or_fail_on_unreadable_documents(pets: Path) -> None:
    succeed("train pets")
    corpus(pets / "pets/dogs", {"3": b"\0"})
    before = content("nbtext.joblib")
    note = "nbtext: pets/dogs/3: binary, not text (first control byte at position 0)"
    assert fail(1, "train pets --on-error fail") == note
    assert fail(1, "evaluate pets --on-error fail") == note
    assert content("nbtext.joblib") == before
    for choice in ("record", "skip"):
        result = nbtext("train pets --on-error", choice, "-m", choice)
        assert (result.status, result.notes, content(choice)) == (1, [note], before)


@pytest.mark.parametrize(
    "line",
    ["evaluate in", "compare nbtext.joblib nbtext.joblib in", "cross-validate in --folds 2", "learning-curve in --folds 2", "suspects in",
     "report in", "tokens in", "tune in --folds 2 --try ngrams=1,2", "update in", "prevalence in"],
)  # fmt: skip
def test_unreadable_document_is_reported_once_and_the_others_are_used(
    pets: Path, line: str
) -> None:
    corpus(
        pets,
        {f"in/{label}/{n}": f"the {label} {n}" for label in ("cats", "dogs") for n in range(30)},
    )
    succeed("train in")
    whole = nbtext(line)
    corpus(pets, {"in/dogs/bad": b"\0"})
    done = nbtext(line)
    note = "nbtext: in/dogs/bad: binary, not text (first control byte at position 0)"
    assert (done.status, sorted(done.notes), done.out) == (
        1,
        sorted([*whole.notes, note]),
        whole.out,
    )


@pytest.mark.parametrize(
    "command",
    [
        "train",
        "evaluate",
        "cross-validate",
        "learning-curve",
        "tune",
        "suspects",
        "report",
        "update",
        "forget",
        "classify",
        "tokens",
    ],
)
def test_missing_or_empty_corpus_is_refused(pets: Path, command: str) -> None:
    (pets / "hollow/class").mkdir(parents=True)
    assert (
        f"Missing argument 'CORPUS...', or - for standard input; see nbtext {command} --help"
        in fail(2, command)
    )
    if command not in ("classify", "tokens"):
        assert "nothere: cannot read: no such file or directory" in fail(4, command, "nothere")
        if command not in ("update", "forget"):
            assert "has no readable documents" in fail(2, command, "hollow")


@pytest.mark.parametrize("command", ["classify", "explain", "explain --why-not dogs", "tokens"])
def test_predicting_commands_read_piped_input_without_a_path(pets: Path, command: str) -> None:
    for piped in (b"it purrs", b"it purrs\n" * 3):
        assert nbtext(command, stdin=piped) == nbtext(f"{command} -", stdin=piped)
    assert "Missing argument" in fail(2, command, stdin=b"")


@pytest.mark.parametrize("command", ["evaluate", "train", "update", "forget", "prevalence"])
def test_training_and_evaluating_commands_need_a_path_even_in_a_pipe(
    pets: Path, command: str
) -> None:
    assert "or - for standard input" in fail(2, command, stdin=b"cats,it purrs\n")


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_allow_unreadable_tolerates_a_number_of_documents(pets: Path, jobs: str) -> None:
    corpus(
        pets,
        {f"in/{label}/{n}": f"the {label} {n}" for label in ("cats", "dogs") for n in range(20)},
    )
    succeed("train in -m whole")
    corpus(pets, {"in/dogs/bad": b"\0", "in/cats/bad": b"\0"})
    for allowed in ("2", "5%", "4.9%"):
        done = nbtext("train in -m new --jobs", jobs, "--allow-unreadable", allowed)
        assert (done.status, len(done.notes)) == (0, 2), allowed
        assert content("new") == content("whole")
    for allowed in ("1", "4.7%", "0", "0%"):
        write("new", b"old")
        done = nbtext("train in -m new --jobs", jobs, "--allow-unreadable", allowed)
        assert (done.status, content("new")) == (1, b"old"), allowed
        assert (
            done.notes[-1]
            == f"nbtext: 2 of 42 documents could not be read, more than --allow-unreadable {allowed}"
        )
    for command in (
        "evaluate in",
        "classify in",
        "cross-validate in --folds 2",
        "update in",
        "tokens in",
    ):
        assert nbtext("train in -m m --allow-unreadable 2").status == 0
        model = "" if "cross" in command else " -m m"
        assert nbtext(command + model, "--allow-unreadable", "5%").status == 0, command
        assert nbtext(command + model, "--allow-unreadable", "1").status == 1, command
        assert nbtext(command + model).status == 1, command


@pytest.mark.parametrize("value", ["", "x", "-1", "101%", "1.5", "%"])
def test_invalid_allow_unreadable_is_refused(pets: Path, value: str) -> None:
    assert "--allow-unreadable must be a number of documents, or a percentage such as 1%" in fail(
        2, "train pets --allow-unreadable", value
    )


@pytest.mark.parametrize(
    "typed",
    [
        "--headers subject",
        "--set structure=true",
        "--set drop-quotes=true",
        "--set drop-signatures=true",
    ],
)
def test_mail_options_are_refused_for_other_documents(pets: Path, typed: str) -> None:
    write("t.csv", "label,text\ncats,it purrs\ndogs,it barks\n")
    succeed("train pets -m m")
    for command in (
        "train t.csv",
        "cross-validate t.csv --folds 2",
        "classify t.csv -m m",
        "tokens t.csv --model none",
    ):
        said = fail(2, command, *typed.split())
        option = typed.partition("=")[0] if "=" in typed else "--headers"
        assert f"{option} is for mail, and these documents are text" in said, command
    write("nbtext.toml", "headers = 'subject'\ndrop-quotes = true\n")
    succeed("train t.csv -m m")
    succeed("train pets --document mail -m m", *typed.split())

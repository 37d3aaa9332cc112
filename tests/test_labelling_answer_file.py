"""Files of answers: nothing is lost, wherever a process ends; one session at a time."""

from __future__ import annotations

import os
import resource
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtext.errors import LockedError, PathError
from nbtext.labelling.answer_file import AnswerFile, LabelAnswer, LabellingAnswer, ReviewAnswer
from tests.profiles import examples

if TYPE_CHECKING:
    from pathlib import Path

ANSWERS = [
    LabelAnswer("a/1", "cats", "a cat\npurrs \x1b[31m"),
    LabelAnswer("b\t2", "Hünde", "ein “Hund”", "ada", "2026-01-01T00:00:00Z"),
]


def opened(path: Path) -> AnswerFile:
    return AnswerFile(str(path), LabelAnswer.from_line)


def test_appended_answers_are_read_again(tmp_path: Path) -> None:
    path = tmp_path / "labels.jsonl"
    for number, answer in enumerate(ANSWERS):
        with opened(path) as file:
            assert file.answers == ANSWERS[:number]
            file.append(answer)
    with opened(path) as file:
        assert file.answers == ANSWERS
        assert not file.was_repaired
        file.remove_last()
    assert path.read_text(encoding="utf-8") == ANSWERS[0].line + "\n"


def test_truncated_last_line_loses_no_earlier_answer(tmp_path: Path) -> None:
    path = tmp_path / "labels.jsonl"
    lines = [f"{answer.line}\n".encode() for answer in ANSWERS]
    whole = b"".join(lines)
    ends = (len(lines[0]) - 1, len(whole) - 1)  # a line is whole before its end is there
    for end in range(len(whole) + 1):
        path.write_bytes(whole[:end])
        kept = sum(end >= each for each in ends)
        with opened(path) as file:
            assert file.answers == ANSWERS[:kept]
            assert file.was_repaired == (end not in (0, *ends, len(lines[0]), len(whole)))
            file.append(LabelAnswer("c", "cats", ""))
        with opened(path) as file:
            assert len(file.answers) == kept + 1


def test_second_session_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "labels.jsonl"
    with opened(path), pytest.raises(LockedError, match="another session has this file open"):
        opened(path)
    opened(path).__exit__(None, None, None)


@pytest.mark.parametrize(
    "content",
    [
        b'{"precious": 1}',
        b"milk",
        b"a\tb\tc",
        b'{"id": "x"}',
        b"\x00",
        b'[{"id": "x"',
        b"{" * 10_000,
    ],
)
@pytest.mark.parametrize("kind", [LabelAnswer, ReviewAnswer])
def test_foreign_file_without_line_end_is_refused_unchanged(
    tmp_path: Path, content: bytes, kind: type[LabellingAnswer]
) -> None:
    path = tmp_path / "precious"
    path.write_bytes(content)
    with pytest.raises(PathError, match="choose another file with to"):
        AnswerFile(str(path), kind.from_line)
    assert path.read_bytes() == content


def test_incomplete_review_line_is_removed(tmp_path: Path) -> None:
    path = tmp_path / "review.tsv"
    path.write_bytes(b"a\tx\ty\nb\tx\tyel")
    with AnswerFile(str(path), ReviewAnswer.from_line) as file:
        assert file.was_repaired
        assert file.answers == [ReviewAnswer("a", "x", "y")]
    assert path.read_bytes() == b"a\tx\ty\n"


def test_lines_appended_by_another_program_are_not_changed(
    tmp_path: Path,
) -> None:
    path = tmp_path / "labels.jsonl"
    with opened(path) as file:
        file.append(ANSWERS[0])
        with path.open("a") as other:
            other.write('{"note": 1}\n')
        content = path.read_bytes()
        for change in (file.remove_last, lambda: file.append(ANSWERS[1])):
            with pytest.raises(
                PathError,
                match=r"labels.jsonl: another program wrote to this file; start again",
            ):
                change()
            assert path.read_bytes() == content
        assert file.answers == [ANSWERS[0]]


@pytest.mark.parametrize("is_replaced", [True, False])
def test_answer_is_not_written_to_a_removed_or_replaced_file(
    tmp_path: Path, is_replaced: bool
) -> None:
    path = tmp_path / "labels.jsonl"
    with opened(path) as file:
        file.append(ANSWERS[0])
        path.rename(tmp_path / "old")
        if is_replaced:
            path.write_bytes((tmp_path / "old").read_bytes())
        for change in (file.remove_last, lambda: file.append(ANSWERS[1])):
            with pytest.raises(
                PathError,
                match=r"labels.jsonl: was removed or replaced by another program; the earlier answers are in the old file",
            ):
                change()
        assert path.exists() == is_replaced
        (tmp_path / "old").replace(path)
        file.append(ANSWERS[1])
    with opened(path) as file:
        assert file.answers == ANSWERS


@pytest.mark.parametrize(
    "line",
    [
        "",
        "x",
        "[]",
        "[" * 100_000,
        '{"id": "a", "label": "b"}',
        '{"id": "a", "label": "", "text": "c"}',
        '{"id": 1, "label": "b", "text": "c"}',
        '{"id": "a", "label": "b", "text": "c", "label": "d"}',
    ],
    ids=range(8),
)
def test_invalid_label_file_is_refused_unchanged(tmp_path: Path, line: str) -> None:
    path = tmp_path / "labels.jsonl"
    path.write_text(f"{ANSWERS[0].line}\n{line}\n", encoding="utf-8")
    before = path.read_bytes()
    with pytest.raises(PathError, match=r"labels.jsonl:2: is not an answer of nbtext label"):
        opened(path)
    assert path.read_bytes() == before


def test_document_with_two_answers_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "labels.jsonl"
    path.write_text(f"{ANSWERS[0].line}\n" * 2, encoding="utf-8")
    with pytest.raises(PathError, match=r"labels.jsonl:2: line 1 has an answer for a/1 already"):
        opened(path)


def test_full_disk_leaves_the_file_unchanged(tmp_path: Path) -> None:
    path = tmp_path / "labels.jsonl"
    with opened(path) as file:
        file.append(ANSWERS[0])
        before, limits = path.read_bytes(), resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 20, limits[1]))
        try:
            with pytest.raises(PathError, match="cannot write"):
                file.append(LabelAnswer("long", "cats", "word " * 100))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        assert path.read_bytes() == before
        file.append(ANSWERS[1])
    with opened(path) as file:
        assert file.answers == ANSWERS


def test_directory_is_refused_as_answer_file(tmp_path: Path) -> None:
    with pytest.raises(PathError, match="is a directory"):
        opened(tmp_path)
    assert os.listdir(tmp_path) == []


@examples(60)
@given(st.lists(st.text(st.characters(codec="utf-8")), min_size=3, max_size=3).filter(all))
def test_review_answer_is_one_tsv_line(fields: list[str]) -> None:
    answer: LabellingAnswer = ReviewAnswer(*fields)
    assert answer.line.count("\t") == 2
    assert "\n" not in answer.line
    assert "\r" not in answer.line
    assert ReviewAnswer.from_line(answer.line) == answer

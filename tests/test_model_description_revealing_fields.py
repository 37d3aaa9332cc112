"""The warning of `model/description.py` that a field gives the class away."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.process import corpus, nbtext

if TYPE_CHECKING:
    from pathlib import Path


def train(folder: Path, mails: dict[str, str]) -> list[str]:
    corpus(folder, mails)
    return nbtext("train mails --document mail", cwd=folder).notes


def test_header_that_separates_the_classes_is_named(tmp_path: Path) -> None:
    mails = {
        f"mails/{label}/{number}": f"X-Box: box{label}\nSubject: {number}\n\nword{number}\n"
        for label in ("a", "b", "c")
        for number in range(20)
    }
    [note] = train(tmp_path, mails)
    assert (
        "the field x-box reveals the classes of 100.0% of the training documents, by terms such as x-box:"
        in note
    )


def test_revealing_stop_word_is_shown_unstemmed(tmp_path: Path) -> None:
    mails = {
        f"mails/{label}/{number}": f"X-Box: {word}\n\nword{number}\n"
        for label, word in (("a", "and"), ("b", "the"))
        for number in range(20)
    }
    [note] = train(tmp_path, mails)
    assert "by terms such as x-box:and; " in note


def test_header_present_in_one_class_is_named(tmp_path: Path) -> None:
    mails = {
        f"mails/a/{number}": f"Subject: {number}\nX-Box: {number}\n\nword\n" for number in range(20)
    }
    [note] = train(
        tmp_path,
        {**mails, **{f"mails/b/{number}": f"Subject: {number}\n\nword\n" for number in range(30)}},
    )
    assert "the field header reveals the classes" in note
    assert "header:x-box;" in note


def test_few_documents_or_less_revealing_fields_give_no_warning(tmp_path: Path) -> None:
    mails = {
        f"mails/{label}/{number}": f"X-Box: box{label}\n\nword\n"
        for label in "ab"
        for number in range(19)
    }
    assert train(tmp_path, mails) == []
    more = {
        f"mails/{label}/x{number}": "X-Box: both boxa boxb\n\nword\n"
        for label in "ab"
        for number in range(2)
    }
    assert train(tmp_path, more) == []

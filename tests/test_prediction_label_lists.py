"""Several labels in one value: lists in brackets, and marks of labels."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from nbtext.errors import DocumentError
from nbtext.prediction.label_lists import (
    is_label_list,
    is_label_marks,
    parse_label_list,
    select_marked_labels,
)
from tests.process import corpus, fail, in_json, succeed

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("label", "items"),
    [
        ('["a", "b"]', ["a", "b"]),
        ("['a', 'b']", ["a", "b"]),
        ("['a' 'b']", ["a", "b"]),
        ("[1, 2]", ["1", "2"]),
        ("[]", []),
        ("[it's, b]", ["it's", " b"]),
        ('{"choices": ["a", "b"]}', ["a", "b"]),
        ("{'choices': ['a']}", ["a"]),
    ],
)
def test_label_lists_are_parsed_into_items(label: str, items: list[str]) -> None:
    assert is_label_list(label)
    assert parse_label_list(label) == items


@pytest.mark.parametrize("label", ["a", "a, b", "[a", '{"a": 1}', ""])
def test_other_texts_are_a_single_item(label: str) -> None:
    assert not is_label_list(label)
    assert parse_label_list(label) == [label]


def test_marked_labels_are_selected() -> None:
    assert select_marked_labels(
        [("a", "1"), ("b", " 0 "), ("c", "TRUE"), ("d", ""), ("e", "1.0")]
    ) == [
        "a",
        "c",
        "e",
    ]
    with pytest.raises(DocumentError, match="the mark of label 'a' must be 0 or 1, not '2'"):
        select_marked_labels([("a", "2")])
    assert is_label_marks({"a": 1, "b": 0.2, "c": False})
    assert not any(map(is_label_marks, ({}, {"a": "b"}, {"a": 2}, ["a"], {"a": None})))


def sizes(*arguments: str | Path) -> dict[str, int]:
    succeed("train", *arguments, "-m", "m")
    found = in_json("inspect -m m")["classes"]
    return (
        {each["class"]: each["documents"] for each in found}
        if isinstance(found, list)
        else {k: v["documents"] for k, v in found.items()}
    )


def test_indicator_columns_and_lists_in_cells_give_label_sets(
    tmp_path: Path,
) -> None:
    sets = [["toxic"], ["toxic", "insult"], [], ["threat"], ["insult"], ["toxic", "threat"]] * 4
    texts = [f"text {' '.join(each) or 'fine'} word{n}" for n, each in enumerate(sets)]
    names = ("toxic", "insult", "threat")
    marks = "".join(
        f"{','.join(str(int(name in each)) for name in names)},{text}\n"
        for each, text in zip(sets, texts, strict=True)
    )
    records = [
        {"cats": {name: float(name in each) for name in names}, "text": text}
        for each, text in zip(sets, texts, strict=True)
    ]
    corpus(
        tmp_path,
        {
            "marks.csv": f"{','.join(names)},comment\n{marks}",
            "lists.csv": "label,comment\n"
            + "".join(f'"{each}",{text}\n' for each, text in zip(sets, texts, strict=True)),
            "marks.jsonl": "".join(json.dumps(record) + "\n" for record in records),
            "flat.jsonl": "".join(
                json.dumps({**record["cats"], "text": record["text"]}) + "\n"  # type: ignore[dict-item]
                for record in records
            ),
            "sets.jsonl": "".join(
                json.dumps({"label": each, "text": text}) + "\n"
                for each, text in zip(sets, texts, strict=True)
            ),
        },
    )
    wanted = sizes("sets.jsonl")
    assert wanted == {"toxic": 12, "insult": 8, "threat": 8}
    columns = ("--label-column", ",".join(names))
    assert sizes("marks.csv", *columns, "--text-column", "comment") == wanted
    assert sizes("lists.csv", "--label-separator", "list") == wanted
    assert sizes("marks.jsonl") == wanted
    assert sizes("flat.jsonl", *columns) == wanted
    assert "use --label-column toxic,insult,threat" in fail(2, "train marks.csv")

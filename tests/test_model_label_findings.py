"""What the names of classes show: lists of labels, missing values, names that differ in little."""

from __future__ import annotations

import pytest

from nbtext.model.label_findings import check_label_names, detect_label_separator
from nbtext.settings import Reading


@pytest.mark.parametrize(
    ("labels", "separator"),
    [
        (["card", "card;fee"], ";"),
        (["a|b", "a", "b"], "|"),
        (["a#b", "b#c", "a"], "#"),
        (["a,b", "b,c", "a,c"], ","),
        (['["a"]', '["a", "b"]'], "list"),
        (["['a', 'b']", "['b']"], "list"),
        (["<http://x/a> <http://x/b>", "<http://x/a>"], " "),
        (["a,__label__b", "c,__label__b"], ","),
        (["card", "fee"], None),
        (["C#", "F#"], None),
        (["Smith, Ann", "Roe, Ann"], None),
        (["waste collection", "waste bins", "waste"], None),
        ([], None),
    ],
)
def test_label_separator_is_detected_by_repeated_parts(
    labels: list[str], separator: str | None
) -> None:
    assert detect_label_separator(labels) == separator


def list_findings(*labels: str, **reading: str) -> list[str]:
    return [finding.line for finding in check_label_names(labels, Reading(**reading))]  # type: ignore[arg-type]


def test_unusual_labels_give_a_warning_with_a_remedy() -> None:
    assert list_findings("cats", "dogs") == []
    assert list_findings("card", "card;fee") == [
        "labels that look like lists of several, such as 'card;fee'; if they are, add --label-separator ';'"
    ]
    assert list_findings("card", "card;fee", label_separator="|") == []
    assert list_findings("a,", "b") == [
        "labels that end in ',': 'a,'; remove it if it is not part of the name"
    ]
    [missing] = list_findings("a", "NaN", format="csv", label_column="topic")
    assert missing.endswith("'NaN'; if its documents have no label, add --where topic!=NaN")
    [similar] = list_findings("1", "1.0", "2")
    assert "'1' and '1.0'" in similar
    assert list_findings("1.10", "1.1") == []  # versions

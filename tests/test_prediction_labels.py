"""Tests of sets of labels as one text."""

from hypothesis import given
from hypothesis import strategies as st

from nbtext.prediction.labels import have_several, is_set, label_set, labels_in, shown_label

LABELS = st.text(st.characters(codec="utf-8", exclude_characters="\x1f"), min_size=1)


@given(st.lists(LABELS))
def test_a_set_has_its_labels_once_and_in_order(labels: list[str]) -> None:
    joined = label_set(labels)
    assert is_set(joined)
    assert labels_in(joined) == sorted(set(labels))


@given(LABELS)
def test_one_label_is_no_set(label: str) -> None:
    assert not is_set(label)
    assert labels_in(label) == [label] == [shown_label(label)]


def test_the_reserved_label_comes_first() -> None:
    assert have_several(("", "a"))
    assert not have_several(("a", "b"))
    assert not have_several(())

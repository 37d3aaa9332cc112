"""Small models that many tests share, and the two lists that a model is made of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from nbtext import TextClassifier
from tests.process import PETS

if TYPE_CHECKING:
    from collections.abc import Iterable

Label = TypeVar("Label")
Text = TypeVar("Text")
PET_LABELS = [name.partition("/")[0] for name in PETS]


def parted(labelled: Iterable[tuple[Label, Text]]) -> tuple[list[Text], list[Label]]:
    """Return texts and labels."""
    documents = list(labelled)
    return [text for _, text in documents], [label for label, _ in documents]


def of_pets(**settings: Any) -> TextClassifier:
    """Return a model of `PETS`."""
    return TextClassifier(**settings).fit(PETS.values(), PET_LABELS)

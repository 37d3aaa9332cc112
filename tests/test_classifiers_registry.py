from __future__ import annotations

import pytest

from nbtext.classifiers.base import Classifier
from nbtext.classifiers.registry import CLASSIFIERS, classifier_class
from nbtext.settings import CLASSIFIERS as NAMES


def test_every_name_has_a_class() -> None:
    assert list(CLASSIFIERS) == list(NAMES)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_the_class_of_a_name(name: str) -> None:
    assert issubclass(classifier_class(name), Classifier)

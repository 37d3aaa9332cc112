"""Settings for all tests."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from nbtext import TextClassifier
from tests.process import PETS, SERVICE_DESK, corpus, nbtext, succeeded

if TYPE_CHECKING:
    from collections.abc import Iterator

settings.register_profile("nbtext", deadline=None, print_blob=True)
settings.load_profile("nbtext")


@pytest.fixture(scope="session")
def service_desk_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of the training part of corpora/service-desk, made by the command. Not to be written to."""
    path = tmp_path_factory.mktemp("service-desk") / "nbtext.joblib"
    succeeded(nbtext("train", SERVICE_DESK / "train", "-m", path))
    return path


@pytest.fixture
def pets(tmp_path: Path) -> Path:
    """A folder with a corpus of two classes in ``pets`` and its model as ``nbtext.joblib``."""
    labels = [name.partition("/")[0] for name in PETS]
    TextClassifier().fit(PETS.values(), labels).save(str(tmp_path / "nbtext.joblib"))
    corpus(tmp_path / "pets", PETS)
    return tmp_path


@pytest.fixture
def shared_folder() -> Iterator[Path]:
    """An empty folder that other users may enter and read."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)

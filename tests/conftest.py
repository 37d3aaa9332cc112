"""Settings for all tests."""

from __future__ import annotations

import gc
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings

from tests.model_changes import DAYS, MORE
from tests.models import pets_classifier
from tests.process import PETS, SERVICE_DESK, InterpreterStarts, corpus, fresh_interpreters, succeed
from tests.profiles import EXHAUSTIVELY, OF_ROOM, USUAL, exhaustive

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_FRESH_INTERPRETERS = 70

settings.register_profile("nbtext", deadline=None, print_blob=True, max_examples=USUAL)
# The same examples each time, so that a run fails only for what was changed; those of `make test` are new ones each time.
settings.register_profile(
    "exhaustive",
    settings.get_profile("nbtext"),
    max_examples=USUAL * EXHAUSTIVELY,
    derandomize=True,
)
settings.register_profile("room", settings.get_profile("nbtext"), max_examples=USUAL // OF_ROOM)
settings.load_profile("nbtext")


@pytest.hookimpl(trylast=True)  # hypothesis marks its tests before
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Choose the tests of `make test`, or with the profile ``exhaustive`` of hypothesis those of `make test-exhaustive`."""
    wanted = {"exhaustive", "repeated", "hypothesis"}
    kept: list[pytest.Item] = []
    left: list[pytest.Item] = []
    for item in items:
        marks = {mark.name for mark in item.iter_markers()}
        (kept if (marks & wanted if exhaustive() else "exhaustive" not in marks) else left).append(
            item
        )
    # The tests of a group come first: one worker begins with them, and others steal from its end, so that a group stays together.
    items[:] = sorted(kept, key=lambda item: item.get_closest_marker("xdist_group") is None)
    config.hook.pytest_deselected(items=left)


@pytest.fixture(autouse=True)
def _starts(request: pytest.FixtureRequest) -> Iterator[None]:
    """Be in the test's folder, if it has one; fork Python programs, or start new interpreters if the test is marked so."""
    before = Path.cwd()
    if "tmp_path" in request.fixturenames:
        os.chdir(request.getfixturevalue("tmp_path"))
    with fresh_interpreters(request.node.get_closest_marker("fresh_interpreters") is not None):
        yield
    os.chdir(before)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Tell whoever started this worker how many interpreters were started; fail if all together were too many."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["fresh interpreters"] = InterpreterStarts.count
    elif InterpreterStarts.count > MAX_FRESH_INTERPRETERS:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Add the number of interpreters that a worker started."""
    InterpreterStarts.count += getattr(node, "workeroutput", {}).get("fresh interpreters", 0)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how many interpreters were started, in the last lines if these are why the run fails."""
    if InterpreterStarts.count > MAX_FRESH_INTERPRETERS:
        terminalreporter.write_line(
            f"FAILED: {InterpreterStarts.count} fresh interpreters, at most {MAX_FRESH_INTERPRETERS}: mark fewer tests with fresh_interpreters",
            red=True,
        )
    else:
        terminalreporter.write_line(
            f"fresh interpreters: {InterpreterStarts.count}, at most {MAX_FRESH_INTERPRETERS}"
        )


@pytest.fixture(scope="session")
def service_desk_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of the training part of corpora/service-desk, made by the command. Not to be written to."""
    path = tmp_path_factory.mktemp("service-desk") / "nbtext.joblib"
    succeed("train", SERVICE_DESK / "train", "-m", path)
    return path


@pytest.fixture(scope="module")
def labels_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of documents that may have several labels, alone in its folder."""
    from tests.test_classifiers_multi_label import trained

    path = tmp_path_factory.mktemp("several") / "nbtext.joblib"
    trained().save(str(path))
    return path


@pytest.fixture(scope="session")
def pets_model(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The file of a model of `PETS`."""
    path = tmp_path_factory.mktemp("pets") / "nbtext.joblib"
    pets_classifier().save(str(path))
    return path.read_bytes()


@pytest.fixture
def pets(tmp_path: Path, pets_model: bytes) -> Path:
    """A folder with a corpus of two classes in ``pets`` and its model as ``nbtext.joblib``."""
    (tmp_path / "nbtext.joblib").write_bytes(pets_model)
    corpus(tmp_path / "pets", PETS)
    return tmp_path


@pytest.fixture
def pets_and_more(pets: Path) -> Path:
    """`pets`, with the documents of `MORE` in ``more``, and the model trained on both as ``both``."""
    corpus(pets / "more", MORE)
    succeed("train pets more --model both")
    succeed("train pets")
    return pets


@pytest.fixture
def days(tmp_path: Path) -> Path:
    """Three days of documents, some of them met before."""
    return corpus(tmp_path, DAYS)


@pytest.fixture
def shared_folder() -> Iterator[Path]:
    """An empty folder that other users may enter and read."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


def pytest_collection_finish() -> None:
    """Keep what was imported and collected out of the garbage collector's sight, which would look at it again and again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)

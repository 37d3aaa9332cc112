"""Model files that are missing, are something else, or mean harm: refused with status 3 in one line, without code, haste or memory."""

from __future__ import annotations

import os
import socket
from typing import TYPE_CHECKING, Any

import pytest

from nbtext import TextClassifier
from nbtext.store import FORMAT_VERSION
from tests.fixtures.make import FOLDER
from tests.malicious_pickles import (
    BY_JOBLIB,
    DEPTH,
    GADGETS,
    LENGTHS,
    MARK,
    SHAPES,
    TYPES,
    load_under_watch,
    packed,
)
from tests.model_bytes import (
    Parts,
    frame_end,
    frame_start,
    join_model_bytes,
    split_model_bytes,
)
from tests.process import MEMORY, content, error_line, fail, nbtext, python, write

if TYPE_CHECKING:
    from pathlib import Path

COMMANDS = (["classify", "pets/cats/1"], ["evaluate", "pets"], ["inspect"], ["select-features"])


@pytest.fixture
def parts(pets: Path) -> Parts:
    return split_model_bytes(content("nbtext.joblib"))


def test_fault_2_model_that_is_not_a_regular_file_is_refused(pets: Path) -> None:
    os.mkfifo(pets / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
        for name in ("pets", "pipe", "socket", "/dev/zero", "/dev/tty"):
            assert f"nbtext: {name}: " in error_line(nbtext("inspect -m", name, limits=MEMORY), 3)


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become somebody else")
def test_fault_3_unreadable_model_is_refused(shared_folder: Path) -> None:
    TextClassifier().fit(["a cat"], ["cats"]).save(str(shared_folder / "m"))
    (shared_folder / "m").chmod(0)
    code = (
        "import difflib, os, sys; from nbtext.cli import main, inspect; from nbtext import TextClassifier; import nbtext.store\n"
        "os.chdir(sys.argv[1]); os.setgid(65534); os.setuid(65534); sys.exit(main.run(['inspect', '-m', 'm']))"
    )
    assert "m: cannot read the model: permission denied" in error_line(
        python(code, shared_folder), 3
    )


HOSTILE = {"gadgets": GADGETS, "shapes": SHAPES, "types": TYPES, "lengths": LENGTHS, "depth": DEPTH}


@pytest.mark.parametrize("kind", [*HOSTILE, "packed"])
def test_fault_9_hostile_pickles_are_not_unpickled(pets: Path, kind: str) -> None:
    files = HOSTILE.get(kind) or packed(content("nbtext.joblib"))
    statuses, seen, done = load_under_watch(pets / "nbtext.joblib", files, pets)
    assert (statuses, seen) == (dict.fromkeys(files, 3), [])
    assert len(done.notes) == len(files)
    assert all(
        "not an nbtext model" in note or "the model is damaged" in note for note in done.notes
    )
    assert not (pets / MARK).exists()


@pytest.mark.parametrize("kind", HOSTILE)
def test_fault_9_hostile_pickles_behind_a_valid_header_are_not_unpickled(
    pets: Path, parts: Parts, kind: str
) -> None:
    """In place of the opcodes that call nbtext, and after them."""
    end = frame_end(FORMAT_VERSION)
    start = frame_start(FORMAT_VERSION, len(parts.payload))
    files = {}
    for name, hostile in HOSTILE[kind].items():
        for way, frame in {"instead": (hostile, end), "after": (start, end + hostile)}.items():
            files[f"{name}, {way}"] = join_model_bytes(parts.decoded, parts.payload, frame=frame)
    statuses, seen, _ = load_under_watch(pets / "nbtext.joblib", files, pets)
    assert (statuses, seen) == (dict.fromkeys(files, 3), [])
    assert not (pets / MARK).exists()


@pytest.mark.parametrize("kind", HOSTILE)
def test_fault_9_hostile_pickles_in_format_2_are_not_unpickled(pets: Path, kind: str) -> None:
    """In place of what joblib reads before the first array; nbtext takes the arrays from where the index says they are, or refuses the file."""
    honest = FOLDER / "format-2/multinomial.model"
    parts = split_model_bytes(honest.read_bytes())
    first = min(place["offset"] for place in parts.decoded["arrays"].values())
    short = {name: content for name, content in HOSTILE[kind].items() if len(content) < first}
    assert short or kind == "depth"
    before = {
        name: join_model_bytes(parts.decoded, content + parts.payload[len(content) :], version=2)
        for name, content in short.items()
    }
    instead = {
        f"{name}, alone": join_model_bytes(parts.decoded, content, version=2)
        for name, content in HOSTILE[kind].items()
    }
    statuses, seen, _ = load_under_watch(honest, {**before, **instead}, pets)
    assert (statuses, seen) == ({**dict.fromkeys(before, 0), **dict.fromkeys(instead, 3)}, [])
    assert not (pets / MARK).exists()


def test_fault_16_no_other_file_is_opened(pets: Path, parts: Parts) -> None:
    """Not that of a name in the file."""
    index = parts.decoded
    index["settings"]["training"]["stop_words"] = "/etc/passwd"
    index["settings"]["training"]["class_prior"] = "/etc/passwd"
    statuses, seen, _ = load_under_watch(
        pets / "nbtext.joblib", {"names": join_model_bytes(index, parts.payload)}, pets
    )
    assert (statuses, seen) == ({"names": 3}, [])


def test_watcher_detects_unpickling_by_joblib(pets: Path) -> None:
    """So that what it does not see of nbtext says something."""
    _, seen, _ = load_under_watch(
        pets / "nbtext.joblib", {"gadget": GADGETS["os.system"]}, pets, BY_JOBLIB
    )
    assert {entry.split(" ")[0] for entry in seen} >= {"pickle.find_class", "os.system"}
    assert (pets / MARK).exists()


@pytest.mark.parametrize("name", ["token_pattern", "pattern", "tokenizer"])
def test_fault_22_model_with_a_token_pattern_is_refused(
    pets: Path, parts: Parts, name: str
) -> None:
    index: Any = parts.decoded
    index["settings"]["training"][name] = r"(\w+\s?)+$"
    write("m", join_model_bytes(index, parts.payload))
    line = fail(3, "classify pets/cats/1 -m m")
    assert f"settings that this nbtext does not know: unknown parameter '{name}'" in line

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from nbtext.errors import ModelError
from nbtext.store import read_model_file
from tests.models import pets_classifier
from tests.process import fail, python, write
from tests.profiles import some

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("model") / "m"
    pets_classifier(ngrams=2, top=5, stop_words="none").save(str(path))
    return path.read_bytes()


def damages(content: bytes) -> Iterator[tuple[str, bytes]]:
    for length in range(len(content)):
        yield f"cut to {length} bytes", content[:length]
    for place in range(len(content)):
        damaged = bytearray(content)
        damaged[place] ^= 1 << place % 8
        yield f"bit {place % 8} of byte {place} flipped", bytes(damaged)
    yield "one byte more", content + b"\0"
    yield "twice", content + content


@pytest.mark.repeated
def test_every_damage_is_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "m"
    for what, damaged in some([*damages(content)], 2000):
        path.write_bytes(damaged)
        with pytest.raises(ModelError) as raised:
            read_model_file(str(path))
        assert str(raised.value).startswith(f"{path}: "), what


def test_command_refuses_damage_with_one_line(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "m"
    for damaged in (
        b"",
        content[:40],
        content[:-1],
        content[:100] + b"\xff" + content[101:],
        content + b"x",
    ):
        path.write_bytes(damaged)
        assert str(path) in fail(3, "inspect -m", path)


@pytest.mark.parametrize(
    "text",
    [
        b"hello world\n",
        b"<!doctype html><title>404</title>",
        b"\x89PNG\r\n\x1a\n",
        b"\x80\x04N.",
        b"\x80\x04B",
    ],
)
def test_other_files_are_reported_as_not_a_model(text: bytes, tmp_path: Path) -> None:
    write("m", text)
    with pytest.raises(ModelError, match="not an nbtext model"):
        read_model_file("m")


def test_file_that_is_not_a_model_is_not_read_completely(tmp_path: Path) -> None:
    with (tmp_path / "m").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(ModelError, match="not an nbtext model"):
        read_model_file("m")


@pytest.mark.fresh_interpreters("what is imported")
def test_reading_a_model_imports_no_joblib(pets: Path) -> None:
    code = "import sys; from nbtext.store import read_model_file; read_model_file('nbtext.joblib'); print('joblib' in sys.modules)"
    done = python(code)
    assert (done.status, done.out) == (0, b"False\n"), done

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.process import (
    PET_FILES,
    SERVICE_DESK,
    corpus,
    error_line,
    fail,
    nbtext,
    python,
    succeed,
    write,
)
from tests.services import Service

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    corpus(tmp_path, PET_FILES)
    succeed("train", "pets", "-m", "m", cwd=tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("options", "status", "text"),
    [
        ("", 2, "serve needs --socket PATH or --port N"),
        ("--socket s --port 1", 2, "--socket and --port exclude each other"),
        ("--socket s --listen ::1", 2, "--listen needs --port"),
        ("--socket s --learn", 2, "--learn needs --corrections"),
        ("--port 70000", 2, "from 0 to 65,535"),
        ("--port 0 --max-size x", 2, "a number of bytes"),
        ("--port 0 --token-file none", 4, "none: "),
        ("--port 0 --token-file empty", 4, "is not a token"),
        ("--port 0 --listen 192.0.2.1", 4, "192.0.2.1:0: cannot listen"),
        ("--port 0 -m none", 3, "none: "),
        ("--port 0 --corrections pets", 4, "pets: cannot write"),
        ("--port 0 --corrections m", 4, "is not a file of corrections"),
        ("--port 0 --min-probability cows=1", 2, "no class 'cows'"),
        ("--port 0 --coverage 0.9", 2, ""),
    ],
)
def test_wrong_options_end_with_a_status_and_a_line(
    folder: Path, options: str, status: int, text: str
) -> None:
    write(str(folder / "empty"), "")
    assert text in fail(status, "serve", "-m", "m", *options.split(), cwd=folder)
    assert not (folder / "s").exists()


def test_a_model_that_cannot_learn_is_refused(folder: Path) -> None:
    succeed("train", "pets", "--weighting", "tfidf", "-m", "m", cwd=folder)
    options = ["--port", "0", "--corrections", "c", "--learn"]
    fail(2, "serve", "-m", "m", *options, cwd=folder)


@pytest.mark.fresh_interpreters("the other ones have imported waitress")
def test_without_waitress_a_line_says_how_to_install_it(folder: Path) -> None:
    code = "import sys; sys.modules['waitress'] = None; from nbtext.cli.main import run; sys.exit(run(sys.argv[1:]))"
    line = error_line(python(code, "serve", "--port", "0", "-m", "m", cwd=folder), 2)
    assert line == (
        "nbtext: the package waitress is missing; install it: pip install 'nbtext[serve]'"
    )


def test_the_log_can_be_json_or_off(folder: Path) -> None:
    with Service("--log-format", "json", folder=folder) as service:
        service.ask("/health")
        lines = [json.loads(line) for line in service.log]
    assert [line["level"] for line in lines] == ["notice", "notice"]
    assert lines[1]["message"].startswith("GET /health 200: 0 bytes, ")
    assert lines[1]["model"]
    done = nbtext("serve", "--help", cwd=folder)
    assert done.status == 0


def test_the_proportions_of_other_documents_replace_the_prior(folder: Path) -> None:
    succeed("train", SERVICE_DESK / "train", "-m", "m", cwd=folder)
    options = ["--prior-from", str(SERVICE_DESK / "test")]
    printed = nbtext(
        *("classify", "-", "-m", "m", "-o", "jsonl", *options), cwd=folder, stdin=b"the bin"
    )
    with Service(*options, folder=folder) as service:
        assert service.ask("/classify", "the bin").body == printed.out

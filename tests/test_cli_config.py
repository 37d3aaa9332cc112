"""Defaults from nbtext.toml, pyproject.toml and the environment: `nbtext.cli.config`, through the real command."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.process import SERVICE_DESK, error_line, nbtext

TRAIN = str(SERVICE_DESK / "train")


@pytest.fixture
def below(tmp_path: Path) -> Path:
    """A folder below that of the file of defaults."""
    folder = tmp_path / "deep" / "below"
    folder.mkdir(parents=True)
    return folder


def write(folder: Path, text: str, name: str = "nbtext.toml") -> None:
    (folder / name).write_text(text)


def trained(folder: Path, *arguments: str, **environment: str) -> bytes:
    """Return the model that train makes in a folder."""
    done = nbtext("train", TRAIN, "-m", "here.joblib", *arguments, cwd=folder, env=environment)
    assert done.status == 0, done.err
    return (folder / "here.joblib").read_bytes()


def test_a_model_made_under_defaults_is_that_of_the_same_options(tmp_path: Path, below: Path) -> None:
    (tmp_path / "stops.txt").write_text("street road")
    write(tmp_path, 'language = "german"\n[train]\nngrams = 2\nsurface-forms = true\nheaders = ["from", "subject"]\nsmoothing = 0.5\n')
    options = ("--language=german", "--ngrams=2", "--surface-forms", "--headers=from,subject", "--smoothing=0.5")
    made = trained(below)
    assert made == trained(below, "--no-config", *options)
    assert made != trained(below, "--no-config")
    assert trained(below, "--ngrams", "1") == trained(below, "--no-config", *options, "--ngrams=1")
    write(below, "[tool.nbtext.train]\nngrams = 2\n", "pyproject.toml")
    assert trained(below) == trained(below, "--no-config", "--ngrams=2")  # the nearest file alone
    write(below, "[tool.other]\nname = 'nbtext'\n", "pyproject.toml")
    assert trained(below) == made
    assert trained(below, "--config", str(tmp_path / "nbtext.toml")) == made


def test_the_environment_comes_between_command_line_and_file(tmp_path: Path, below: Path) -> None:
    write(tmp_path, "ngrams = 3\nmin-df = 2\n")
    three = trained(below, "--no-config", "--ngrams=3", "--min-df=2")
    assert trained(below) == three
    assert trained(below, NBTEXT_NGRAMS="2") == trained(below, "--no-config", "--ngrams=2", "--min-df=2")
    assert trained(below, NBTEXT_NGRAMS="2", NBTEXT_TRAIN_NGRAMS="3") == three
    assert trained(below, "--ngrams=3", NBTEXT_NGRAMS="2", NBTEXT_TRAIN_MIN_DF="") == three
    assert trained(below, "--no-config", NBTEXT_DROP_QUOTES="yes", NBTEXT_NOTHING_KNOWN="1") == trained(
        below, "--no-config", "--drop-quotes"
    )


def test_paths_are_those_beside_the_file(tmp_path: Path, below: Path) -> None:
    (tmp_path / "stops.txt").write_text("street road")
    write(tmp_path, 'model = "models/desk.joblib"\nstop-words = "stops.txt"\n')
    (tmp_path / "models").mkdir()
    assert nbtext("train", TRAIN, cwd=below).status == 0
    assert (tmp_path / "models" / "desk.joblib").is_file()
    done = nbtext("inspect", "--output", "json", cwd=below)
    assert done.status == 0
    assert "stops.txt" in done.text
    write(tmp_path, 'stop-words = "german"\n')
    assert trained(below) == trained(below, "--no-config", "--stop-words=german")


@pytest.mark.parametrize(
    ("text", "status", "message"),
    [
        ("languag = 'german'", 2, "there is no option or command 'languag'; did you mean 'language'?"),
        ("[train]\nonc = true", 2, "nbtext.toml [train]: there is no option or command 'onc'; did you mean 'once'?"),
        ("[train]\nngrams = 'x'", 2, "nbtext.toml [train]: --ngrams must be a whole number from 1 to 10, not 'x'"),
        ("[train]\nngrams = true", 2, "nbtext.toml [train]: --ngrams takes no truth value"),
        ("[train]\nngrams = {a = 1}", 2, "nbtext.toml [train]: --ngrams takes no table"),
        ("once = 3", 2, "nbtext.toml: --once is true or false, not 3"),
        ("train = 3", 2, "write [train] above them"),
        ("classifier = 'svm'", 2, "nbtext.toml: --classifier must be one of"),
        ("jobs = -1", 2, "nbtext.toml: --jobs must be a whole number from 0"),
        ("[train", 4, "nbtext.toml: not valid TOML"),
    ],
)
def test_what_is_wrong_is_told_with_the_place(tmp_path: Path, text: str, status: int, message: str) -> None:
    write(tmp_path, text)
    assert message in error_line(nbtext("train", TRAIN, cwd=tmp_path), status)
    assert nbtext("train", "--help", cwd=tmp_path).status == 0
    assert not (tmp_path / "nbtext.joblib").exists()


def test_wrong_values_of_the_environment_and_files_that_are_not_there(tmp_path: Path) -> None:
    line = error_line(nbtext("train", TRAIN, cwd=tmp_path, env={"NBTEXT_MIN_DF": "none"}), 2)
    assert line.startswith("nbtext: $NBTEXT_MIN_DF: --min-df must be")
    assert "nowhere.toml" in error_line(nbtext("train", TRAIN, "--config=nowhere.toml", cwd=tmp_path), 4)


def test_an_option_of_other_commands_is_no_mistake(tmp_path: Path) -> None:
    write(tmp_path, "min-probability = 0.9\nmodel = 'm'\n[suspects]\nnumber = 3\n")
    assert nbtext("train", TRAIN, cwd=tmp_path).status == 0


def test_help_shows_what_holds_and_where_it_comes_from(tmp_path: Path, below: Path) -> None:
    write(tmp_path, "language = 'german'\n[train]\nonce = true\n")
    done = nbtext("help", "config", cwd=below, env={"NBTEXT_TRAIN_NGRAMS": "2"})
    assert f"File of defaults: {tmp_path}{os.sep}nbtext.toml" in done.text
    lines = [line.split() for line in done.text.splitlines()]
    assert ["ngrams", "=", "2", "from", "$NBTEXT_TRAIN_NGRAMS,", "for", "train"] in lines
    assert f"  once = true   from {tmp_path}/nbtext.toml [train], for train" in done.text
    assert f"  language = german   from {tmp_path}/nbtext.toml, for label, train, " in done.text
    assert "No defaults are set." in nbtext("help", "config", cwd=Path("/")).text

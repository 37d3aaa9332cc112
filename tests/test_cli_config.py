"""Defaults from nbtext.toml, pyproject.toml and the environment: `nbtext.cli.config`, through the real command.

Also tests `cli/option_files.py`.
"""

from __future__ import annotations

import os
import re
import shutil
from importlib import import_module
from pathlib import Path

import click
import pytest

from nbtext.cli.config import InputPath, OutputPath
from nbtext.cli.main import COMMAND_SUMMARIES, OLD_COMMANDS
from tests.process import SERVICE_DESK, content, fail, nbtext

TRAIN = str(SERVICE_DESK / "train")
WRITTEN = {"to", "drift", "errors", "predictions", "disagreements", "corrections", "socket"}


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


def test_defaults_in_a_file_equal_the_same_options(tmp_path: Path, below: Path) -> None:
    (tmp_path / "stops.txt").write_text("street road")
    write(
        tmp_path,
        'language = "german"\n[train]\nngrams = 2\nsurface-forms = true\ndocument = "mail"\nheaders = ["from", "subject"]\nsmoothing = 0.5\n',
    )
    options = (
        "--language=german",
        "--ngrams=2",
        "--surface-forms",
        "--document=mail",
        "--headers=from,subject",
        "--smoothing=0.5",
    )
    made = trained(below)
    assert made == trained(below, "--no-config", *options)
    assert made != trained(below, "--no-config")
    assert trained(below, "--ngrams", "1") == trained(below, "--no-config", *options, "--ngrams=1")
    write(below, "[tool.nbtext.train]\nngrams = 2\n", "pyproject.toml")
    assert trained(below) == trained(below, "--no-config", "--ngrams=2")  # the nearest file alone
    write(below, "[tool.other]\nname = 'nbtext'\n", "pyproject.toml")
    assert trained(below) == made
    assert trained(below, "--config", str(tmp_path / "nbtext.toml")) == made


def test_environment_overrides_the_file_and_options_override_both(
    tmp_path: Path, below: Path
) -> None:
    write(tmp_path, "ngrams = 3\nmin-df = 2\n")
    three = trained(below, "--no-config", "--ngrams=3", "--min-df=2")
    assert trained(below) == three
    assert trained(below, NBTEXT_NGRAMS="2") == trained(
        below, "--no-config", "--ngrams=2", "--min-df=2"
    )
    assert trained(below, NBTEXT_NGRAMS="2", NBTEXT_TRAIN_NGRAMS="3") == three
    assert trained(below, "--ngrams=3", NBTEXT_NGRAMS="2", NBTEXT_TRAIN_MIN_DF="") == three
    assert trained(
        below, "--no-config", NBTEXT_SURFACE_FORMS="yes", NBTEXT_NOTHING_KNOWN="1"
    ) == trained(below, "--no-config", "--surface-forms")


def test_settings_in_the_environment_equal_the_option_set(tmp_path: Path, below: Path) -> None:
    logistic = ("--classifier=logistic", "--set", "l2=0.25")
    expected = trained(below, *logistic)
    assert trained(below, "--classifier=logistic") != expected
    assert trained(below, "--classifier=logistic", NBTEXT_SET="l2=0.25") == expected
    assert trained(below, "--classifier=logistic", NBTEXT_TRAIN_SET="l2=0.25") == expected
    assert trained(below, *logistic, NBTEXT_SET="l2=3") == expected
    both = {"NBTEXT_SET": "l2=3", "NBTEXT_TRAIN_SET": "\n l2=0.25 \nsurface-forms=false"}
    assert trained(below, "--classifier=logistic", **both) == expected
    assert trained(below, "--classifier=logistic", NBTEXT_L2="0.25", NBTEXT_SET="l2=3") == expected
    write(tmp_path, "l2 = 3")
    assert trained(below, "--classifier=logistic", NBTEXT_SET="l2=0.25") == expected
    text = nbtext("help config", cwd=below, env={"NBTEXT_SET": "l2=0.25"}).text
    assert "l2 = 0.25   from $NBTEXT_SET, for train," in text


def test_wrong_settings_in_the_environment_are_refused(tmp_path: Path) -> None:
    for variable, value, message in (
        ("NBTEXT_SET", "l3=1", "--set does not know 'l3'; see nbtext help settings"),
        ("NBTEXT_SET", "l2", "--set must be NAME=VALUE, not 'l2'; see nbtext help settings"),
        ("NBTEXT_SET", "ngrams=2", "--set cannot set ngrams, which has its own option; give"),
        ("NBTEXT_SET", "l2=much", "l2 "),
        ("NBTEXT_TRAIN_SET", "drop-quotes=perhaps", "--set drop-quotes must be true or false"),
    ):
        line = fail(2, "train", TRAIN, env={variable: value})
        assert line.startswith(f"nbtext: ${variable}: "), line
        assert message in line
    assert nbtext("train", TRAIN).status == 0
    document = ("classify", "--text", "a street lamp")
    printed = nbtext(*document).out
    done = nbtext(*document, env={"NBTEXT_SET": "l2=0.25"})  # only training has this setting
    assert (done.status, done.out) == (0, printed)
    line = fail(2, *document, env={"NBTEXT_CLASSIFY_SET": "l2=0.25"})
    assert line.startswith("nbtext: $NBTEXT_CLASSIFY_SET: --set l2 is for commands that train")
    assert nbtext("generate", env={"NBTEXT_SET": "l3=1"}).status == 0


def test_paths_in_a_config_file_are_relative_to_it(tmp_path: Path, below: Path) -> None:
    (tmp_path / "stops.txt").write_text("street road")
    write(tmp_path, 'model = "models/desk.joblib"\nstop-words = "stops.txt"\n')
    (tmp_path / "models").mkdir()
    assert nbtext("train", TRAIN, cwd=below).status == 0
    assert (tmp_path / "models" / "desk.joblib").is_file()
    done = nbtext("inspect --output json", cwd=below)
    assert done.status == 0
    assert "stops.txt" in done.text
    write(tmp_path, 'stop-words = "german"\n')
    assert trained(below) == trained(below, "--no-config", "--stop-words=german")


@pytest.mark.parametrize(
    ("text", "status", "message"),
    [
        (
            "languag = 'german'",
            2,
            "nbtext.toml: there is no option or command 'languag'; did you mean 'language'?",
        ),
        (
            "[train]\ndeduplicat = true",
            2,
            "nbtext.toml [train]: there is no option or command 'deduplicat'; did you mean 'deduplicate'?",
        ),
        (
            "[train]\nngrams = 'x'",
            2,
            "nbtext.toml [train]: --ngrams must be a whole number from 1 to 10, not 'x'",
        ),
        ("[train]\nngrams = true", 2, "nbtext.toml [train]: --ngrams cannot be true or false"),
        ("[train]\nngrams = {a = 1}", 2, "nbtext.toml [train]: --ngrams cannot be a table"),
        ("deduplicate = 3", 2, "nbtext.toml: --deduplicate must be true or false, not 3"),
        ("train = 3", 2, "write [train] in the line above them"),
        ("classifier = 'svm'", 2, "nbtext.toml: --classifier must be one of"),
        ("jobs = -1", 2, "nbtext.toml: --jobs must be a whole number from 0"),
        ("[train", 4, "nbtext.toml: not valid TOML"),
        ("a = " + "[" * 100_000, 4, "nbtext.toml: not valid TOML: it is nested too deeply"),
        ("a = " + "{a=" * 100_000, 4, "nbtext.toml: not valid TOML: it is nested too deeply"),
        ("a" + ".a" * 100_000 + " = 1", 4, "nbtext.toml: a key has more than 32 parts"),
        ("['a'" + ' . "b"' * 100_000 + "]", 4, "nbtext.toml: a key has more than 32 parts"),
        ("#" * (1 << 20) + "\n", 4, "nbtext.toml: is larger than 1 MiB"),
        ("a" * 1_000 + " = 1", 2, f"option or command '{'a' * 30}\u2026{'a' * 29}'"),
        ('model = "a\\u0000b"', 2, "nbtext.toml: --model: a path cannot contain NUL"),
    ],
)
def test_config_errors_are_reported_with_their_position(
    tmp_path: Path, text: str, status: int, message: str
) -> None:
    write(tmp_path, text)
    assert message in fail(status, "train", TRAIN)
    assert nbtext("train --help").status == 0
    assert not (tmp_path / "nbtext.joblib").exists()


def test_invalid_environment_values_and_missing_config_files_are_refused(tmp_path: Path) -> None:
    line = fail(2, "train", TRAIN, env={"NBTEXT_MIN_DF": "none"})
    assert line.startswith("nbtext: $NBTEXT_MIN_DF: --min-df must be")
    assert "nowhere.toml" in fail(4, "train", TRAIN, "--config=nowhere.toml")


def test_options_of_other_commands_are_accepted_in_a_config_file(tmp_path: Path) -> None:
    write(tmp_path, "min-probability = 0.9\nmodel = 'm'\n[suspects]\nnumber = 3\n")
    assert nbtext("train", TRAIN).status == 0


def test_help_config_shows_the_defaults_and_their_sources(tmp_path: Path, below: Path) -> None:
    write(tmp_path, "language = 'german'\n[train]\ndeduplicate = true\n")
    done = nbtext("help config", cwd=below, env={"NBTEXT_TRAIN_NGRAMS": "2"})
    assert f"File of defaults: {tmp_path}{os.sep}nbtext.toml" in done.text
    lines = [line.split() for line in done.text.splitlines()]
    assert ["ngrams", "=", "2", "from", "$NBTEXT_TRAIN_NGRAMS,", "for", "train"] in lines
    text = " ".join(done.text.split())
    assert f"deduplicate = true from {tmp_path}/nbtext.toml [train], for train" in text
    assert f"language = german from {tmp_path}/nbtext.toml, for train, label, " in text
    assert "No defaults are set." in nbtext("help config", cwd=Path("/")).text


ELSEWHERE = {
    "model": ("train", 'model = "../rc"'),
    "model absolute": ("train", 'model = "{above}/rc"'),
    "model through a link": ("train", 'model = "link"'),
    "model through a folder": ("train", 'model = "up/rc"'),
    "model that a link would make": ("train", 'model = "dangling"'),
    "drift": ("classify", 'drift = "../rc"'),
    "errors of all commands": ("evaluate", 'errors = "../rc"', ""),
    "to": ("report", 'to = "../rc"'),
    "labels": ("label", 'to = "../rc"'),
    "files-from": ("train", 'files-from = "../rc"'),
    "a list of paths": ("train", 'files-from = "list"'),
    "stop-words": ("train", 'stop-words = "../rc"'),
    "class-prior": ("train", 'class-prior = "{above}/rc"'),
    "smoothing": ("train", 'smoothing = "link"'),
    "unlabelled": ("train", 'unlabelled = ["pool", "../pool"]'),
    "from-folder": ("train", 'from-folder = "a=~/pool"'),
    "training": ("evaluate", 'training = "../pool"'),
    "costs": ("classify", 'costs = "../rc"'),
}
"""Commands with a default that leads out of the folder."""


@pytest.mark.parametrize(
    ("case", "name"),
    [
        *((case, "nbtext.toml") for case in ELSEWHERE),
        ("model", "pyproject.toml"),
        ("drift", "pyproject.toml"),
    ],
)
def test_discovered_config_cannot_name_paths_outside_its_folder(
    tmp_path: Path, case: str, name: str
) -> None:
    command, line, *table = ELSEWHERE[case]
    folder = tmp_path / "sent"
    (folder / "below").mkdir(parents=True)
    (tmp_path / "rc").write_text("# mine\n")
    for link, target in {"link": "../rc", "up": "..", "dangling": "../new"}.items():
        (folder / link).symlink_to(target)
    (folder / "list").write_text(f"pool\n{tmp_path}/rc\n")
    section = ".".join(
        filter(None, ["tool.nbtext" if name == "pyproject.toml" else "", *(table or [command])])
    )
    write(folder, (f"[{section}]\n" if section else "") + line.format(above=tmp_path) + "\n", name)
    before = sorted(tmp_path.rglob("*"))
    for place in (folder, folder / "below"):
        told = fail(2, command, TRAIN, cwd=place, env={"HOME": str(tmp_path)})
        assert "outside the folder of this file; add --config" in told
    assert (tmp_path / "rc").read_text() == "# mine\n"
    assert sorted(tmp_path.rglob("*")) == before
    assert (
        "outside"
        not in nbtext(
            command, TRAIN, "--config", name, cwd=folder, env={"HOME": str(tmp_path)}
        ).err.decode()
    )


@pytest.mark.parametrize("command", ["train", "doctor", "cross-validate --folds 2"])
def test_discovered_config_cannot_read_table_files_outside_its_folder(
    tmp_path: Path, command: str
) -> None:
    folder = tmp_path / "sent"
    folder.mkdir()
    write(folder, 'file-column = "path"\n')
    for name in ("private", "sent/1", "sent/2", "sent/3"):
        (tmp_path / name).write_text("zebra\n")
    rows = "label,path\na,1\nb,2\na,3\nb,1\n"
    (folder / "inside.csv").write_text(rows)
    assert nbtext(command, "inside.csv", cwd=folder).status == 0
    (folder / "link").symlink_to("../private")
    for path in ("../private", str(tmp_path / "private"), "link"):
        (folder / "t.csv").write_text(f"{rows}a,{path}\n")
        done = nbtext(command, "t.csv", cwd=folder)
        assert done.status == (0 if command == "doctor" else 1)
        assert "outside the folder" in " ".join((done.err + done.out).decode().split())
        for way in ("--file-column=path", "--config=nbtext.toml"):
            assert nbtext(command, "t.csv", way, cwd=folder).status == 0


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a model, a copy of it, and a worse one."""
    folder: Path = tmp_path_factory.mktemp("written")
    assert nbtext("train", TRAIN, "--stemmer=none", cwd=folder).status == 0
    assert nbtext("train", TRAIN, "--top=3", "-m", "other.joblib", cwd=folder).status == 0
    shutil.copy(folder / "nbtext.joblib", folder / "copy.joblib")
    return folder


OUTPUTS = {
    "model": ("train", TRAIN),
    "drift": ("classify", TRAIN),
    "errors": ("evaluate", TRAIN, "-m", "other.joblib"),
    "predictions": ("cross-validate", TRAIN, "--folds=2"),
    "disagreements": ("compare", "nbtext.joblib", "other.joblib", TRAIN),
    "report to": ("report", TRAIN),
    "explain to": ("explain", f"{TRAIN}/taxes-and-fees"),
    "merge to": ("merge", "nbtext.joblib", "copy.joblib"),
}
"""Each output with a command that writes it."""


@pytest.mark.parametrize("case", OUTPUTS)
def test_discovered_config_output_replaces_only_files_of_nbtext(
    tmp_path: Path, written: Path, case: str
) -> None:
    shutil.copytree(written, tmp_path, dirs_exist_ok=True)
    command, option = OUTPUTS[case][0], case.rsplit(maxsplit=1)[-1]
    write(tmp_path, f'[{command}]\n{option} = "out"\n')
    for begins in (
        b"mine",
        b'{"id": "a", "label": "b", "text": "c"}\n',
        b"<!doctype html>\n<p>mine",
        b"---\ntitle: mine\n---\n",
        b"\x80\x04",
    ):
        (tmp_path / "out").write_bytes(begins)
        told = fail(2, *OUTPUTS[case])
        assert (
            f"[{command}]: --{option}: out is not a file that nbtext wrote for this option; add --config nbtext.toml"
            in told
        )
        assert content("out") == begins
    (tmp_path / "out").write_bytes(b"")
    for _ in range(2):  # the second time it is there
        done = nbtext(*OUTPUTS[case])
        assert done.status == 0, done.err
        assert (tmp_path / "out").stat().st_size


def test_every_path_option_has_a_path_type() -> None:
    for name in (*COMMAND_SUMMARIES, *OLD_COMMANDS):
        command: click.Command = import_module(f"nbtext.cli.{name.replace('-', '_')}").command
        for option in command.params:
            if isinstance(option, click.Option) and option.name != "config":
                is_path = {"FILE", "PATH", "CORPUS"} & set(
                    re.split(r"\W", option.make_metavar(click.Context(command)))
                )
                assert isinstance(option.type, InputPath) == bool(is_path), (name, option.opts)
                assert isinstance(option.type, OutputPath) == (
                    bool(is_path) and (option.opts[-1] == "--model" or option.name in WRITTEN)
                ), option.opts


def test_discovered_config_cannot_name_a_scheduler(tmp_path: Path) -> None:
    write(tmp_path, 'backend = "dask"\nscheduler = "tcp://192.0.2.1:8786"\n')
    assert "--scheduler: the file of defaults cannot set an address" in fail(2, "train", TRAIN)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can use a file away")
@pytest.mark.parametrize("name", ["nbtext.toml", "pyproject.toml"])
def test_discovered_config_of_another_user_is_ignored_with_a_warning(
    tmp_path: Path, below: Path, name: str
) -> None:
    write(tmp_path, "ngrams = 3\n")
    write(
        below, "[tool.nbtext]\nngrams = 2\n" if name == "pyproject.toml" else "ngrams = 2\n", name
    )
    os.chown(below / name, 12345, 12345)
    done = nbtext("train", TRAIN, cwd=below)
    assert done.notes == [
        f"nbtext: warning: {name}: it belongs to another user and is ignored; --config {name} reads it"
    ]
    assert (below / "nbtext.joblib").read_bytes() == trained(below, "--no-config", "--ngrams=3")
    assert trained(below, "--config", name) == trained(below, "--no-config", "--ngrams=2")
    assert not nbtext("inspect -q", cwd=below).err
    assert nbtext("help config", cwd=below).err.count(b"another user") == 1


def test_config_is_found_in_folders_with_special_names(tmp_path: Path) -> None:
    folder = tmp_path / "a [b] c" / "below"
    folder.mkdir(parents=True)
    write(folder.parent, '[train]\nmodel = "m"\n')
    assert nbtext("train", TRAIN, cwd=folder).status == 0
    assert (folder.parent / "m").is_file()

"""What is imported when: a command costs no more than the packages that it needs, and nothing for `type_names.py`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from nbtext import TextClassifier
from tests.process import (
    PET_FILES,
    PETS,
    content,
    corpus,
    error_line,
    fresh_interpreters,
    python,
    succeeded,
)

if TYPE_CHECKING:
    from pathlib import Path

HEAVY = (
    "nltk",
    "scipy",
    "joblib",
    "rich",
    "click",
    "numpy",
    # np.unique loads it, which takes as long as twenty modules of this package.
    "numpy.ma",
    "sklearn",
    "pandas",
    "Stemmer",
    "stop_words",
)
FIT = "from nbtext import TextClassifier; model = TextClassifier(**{}).fit(['the engines stall', 'a keeper saves'], ['cars', 'football'])"


def imported(code: str) -> set[str]:
    """Which of the heavy packages a new interpreter has imported after running some code."""
    script = f"{code}\nimport json, sys\nprint(json.dumps([name for name in {HEAVY!r} if name in sys.modules]))"
    with fresh_interpreters():
        return set(json.loads(python(script).text.splitlines()[-1]))


@pytest.fixture(scope="module")
def model_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = tmp_path_factory.mktemp("imports") / "model.joblib"
    TextClassifier().fit(["the engines stall", "a keeper saves"], ["cars", "football"]).save(
        str(path)
    )
    return path


def test_importing_the_package_imports_nothing_else() -> None:
    assert imported("import nbtext; nbtext.__version__") == set()


def test_default_training_does_not_import_nltk() -> None:
    assert (
        imported(FIT.format({})) & {"nltk", "rich", "click", "sklearn", "joblib", "pandas"} == set()
    )


def test_training_with_given_smoothing_does_not_import_scipy() -> None:
    settings = {"smoothing": 1, "stop_words": "none", "stemmer": "none"}
    assert imported(FIT.format(settings)) - {"numpy.ma"} == {"numpy"}


def test_porter_stemmer_imports_nltk() -> None:
    assert "nltk" in imported(FIT.format({"stemmer": "porter"}))


def test_classifying_from_python_imports_only_numpy_and_the_stemmer(model_path: Path) -> None:
    code = f"from nbtext import TextClassifier; print(TextClassifier.load({str(model_path)!r}).predict(['engine']).tolist())"
    assert imported(code) == {"numpy", "Stemmer"}


def test_classifying_columns_by_logistic_regression_imports_no_more(tmp_path: Path) -> None:
    path, rows = (
        str(tmp_path / "columns.joblib"),
        [
            {"text": "an engine", "size": 1, "hue": "red"},
            {"text": "a keeper", "size": 2, "hue": "blue"},
        ],
    )
    TextClassifier(classifier="logistic", numeric="size", categorical="hue").fit(
        rows, ["cars", "football"]
    ).save(path)
    code = f"from nbtext import TextClassifier; print(TextClassifier.load({path!r}).predict([{rows[0]!r}]).tolist())"
    assert imported(code) == {"numpy", "Stemmer"}


def test_classifying_from_the_command_line_adds_only_click(
    model_path: Path, tmp_path: Path
) -> None:
    document = tmp_path / "document.txt"
    # Longer than the shortest line that may be encoded data.
    document.write_text("an engine\n" * 20, encoding="utf-8")
    classify = f"from nbtext.cli.main import run; run(['classify', {str(document)!r}, '--model', {str(model_path)!r}])"
    mail = f"import io, sys; sys.stdin = io.TextIOWrapper(io.BytesIO(b'To: a\\n')); run(['classify', '--mail-filter', '--model', {str(model_path)!r}])"
    assert imported(f"{classify}\n{mail}") == {"numpy", "Stemmer", "click"}


def test_quick_update_imports_nothing_that_chooses(model_path: Path, tmp_path: Path) -> None:
    document = tmp_path / "document.txt"
    document.write_text("an engine\n", encoding="utf-8")
    update = f"run(['update', '--quick', '--label', 'cars', {str(document)!r}, '--model', {str(model_path)!r}])"
    expected = {"numpy", "numpy.ma", "Stemmer", "click"}
    assert imported(f"from nbtext.cli.main import run; {update}") == expected


COMPILED = """
import sys
from dataclasses import is_dataclass
from nbtext.cli.main import run
run(sys.argv[1:])
found = {value for name, module in list(sys.modules.items()) if name.startswith("nbtext.") for value in vars(module).values() if isinstance(value, type) and is_dataclass(value)}
print(len(found) > 10, [each.__name__ for each in found if each.__init__.__code__.co_filename == "<string>"])
"""
"""Says whether there are dataclasses, and which were compiled."""


@pytest.mark.fresh_interpreters("what is imported")
def test_classifying_compiles_no_dataclass(model_path: Path, tmp_path: Path) -> None:
    """The methods of one take longer than those of twenty of `nbtext.fast_dataclasses`."""
    classify = ["classify", "--text", "an engine", "--model", str(model_path)]
    assert python(COMPILED, *classify).text.splitlines()[-1] == "True []"


def test_explaining_from_the_command_line_imports_no_more(model_path: Path, tmp_path: Path) -> None:
    document = tmp_path / "document.txt"
    document.write_text("an engine", encoding="utf-8")
    explain = ["explain", str(document), "--model", str(model_path), "-o"]
    code = f"from nbtext.cli.main import run\nfor output in ('tsv', 'jsonl'):\n    run([*{explain!r}, output])"
    assert imported(code) == {"numpy", "Stemmer", "click"}


def test_help_imports_only_click() -> None:
    calls = [["--help"], ["--version"], ["classify", "--help"], ["train", "--help"]]
    assert imported(f"from nbtext.cli.main import run\nfor call in {calls!r}:\n    run(call)") == {
        "click"
    }


WATCHED = """
import os, sys
from nbtext.cli.main import run
def watch(event, arguments):
    global is_locked
    if event in ("open", "os.remove") and str(arguments[0]).endswith(".lock"):
        is_locked = event == "open"
    if event == "import" and is_locked:
        print(arguments[0], end=" ", flush=True)
for folder in os.listdir():
    child = os.fork()
    if not child:
        os.chdir(folder)
        is_locked = False
        sys.addaudithook(watch)
        os._exit(run([*folder.split(), "-q"]))
    print(folder, os.waitpid(child, 0)[1], flush=True)
"""
"""In each folder runs the command that its name is, and prints the modules that were imported while the model was locked, and the status."""

LOCKING = {
    "train pets --deduplicate", "update more", "update more --skip-known --backup", "forget more", "relabel cats felines", "prune --min-df 2",
    "merge nbtext.joblib other -o nbtext.joblib", "promote other --backup",
    "update more --quick", "update more --quick --skip-known", "forget more --quick", "update --choose",
}  # fmt: skip


@pytest.mark.fresh_interpreters("what is imported")
def test_nothing_is_imported_while_the_lock_is_held(tmp_path: Path) -> None:
    """Nor can anything fail to load then. A stemmer is imported where a model has one."""
    model = TextClassifier(stemmer="none").fit(
        [*PETS.values(), "the bird sings"], ["cats", "cats", "dogs", "dogs", "birds"]
    )
    for command in LOCKING:
        corpus(tmp_path / command, {**PET_FILES, "more/birds/1": "the bird sings"})
        for name in ("nbtext.joblib", "other"):
            model.save(str(tmp_path / command / name))
    done = succeeded(python(WATCHED))
    assert set(done.text.splitlines()) == {f"{command} 0" for command in LOCKING}


FULL = """
import resource, sys
from nbtext.cli.main import main
library, sys.argv = sys.argv[1], ["nbtext", *sys.argv[2:]]
def fill(event, arguments):
    if event == "import" and library in (arguments[1] or ""):
        resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))
sys.addaudithook(fill)
main()
"""


@pytest.mark.fresh_interpreters("what is imported")
@pytest.mark.parametrize("library", ["_multiarray_umath", "Stemmer"])
def test_library_that_cannot_be_loaded_is_status_4_and_the_model_stays(
    pets: Path, library: str
) -> None:
    """One of numpy, which says a page about that, and another."""
    model = content("nbtext.joblib")
    line = error_line(python(FULL, library, "update", "pets"), 4)
    assert library in line
    assert line.endswith(".so: cannot load it: cannot open shared object file: Too many open files")
    assert (content("nbtext.joblib"), sorted(path.name for path in pets.iterdir())) == (
        model,
        ["nbtext.joblib", "pets"],
    )

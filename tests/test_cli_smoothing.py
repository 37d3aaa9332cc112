"""`--smoothing FILE` of the real command: models of it, and what is wrong with a file.

Also tests `cli/option_files.py`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from nbtext import TextClassifier
from tests.process import (
    PET_FILES,
    PETS,
    Result,
    content,
    corpus,
    fail,
    in_json,
    nbtext,
    succeed,
    succeeded,
    write,
)

if TYPE_CHECKING:
    from pathlib import Path

FILE = "*\t0.5\nsofas\t4\nbark\t0.25\nnowhere\t2\n"


@pytest.fixture
def pets(tmp_path: Path) -> Path:
    return corpus(tmp_path, {**PET_FILES, "alpha": FILE})


def trained(pets: Path, *options: str) -> Result:
    return succeed("train pets --smoothing alpha", *options, cwd=pets)


def test_smoothing_file_gives_the_model_of_the_library(pets: Path) -> None:
    trained(pets, "-m", "one")
    trained(pets, "-m", "two")
    assert content("one") == content("two")
    model = TextClassifier(smoothing={"*": 0.5, "sofas": 4, "bark": 0.25, "nowhere": 2})
    model.fit(PETS.values(), [name.split("/")[0] for name in PETS])
    answers = succeed("classify pets -m one --scores --output jsonl").text.splitlines()
    posterior = model.predict_proba(
        [PETS[json.loads(line)["id"].removeprefix("pets/")] for line in answers]
    )
    assert [json.loads(line)["probability"] for line in answers] == pytest.approx(
        posterior.max(axis=1)
    )
    found = in_json("inspect -m one")
    assert (found["smoothing"], found["terms_with_own_smoothing"]) == (0.5, 2)
    assert found["training"]["smoothing"] == {"*": 0.5, "bark": 0.25, "nowhere": 2, "sofas": 4}
    shown = succeed("inspect -m one").text
    assert "0.5, 2 terms with their own" in shown
    assert "smoothing * 0.5, bark 0.25, nowhere 2, sofas 4" in shown
    assert (
        "smoothing 0.5, 2 terms with their own"
        in nbtext("train pets --smoothing alpha -v").notes[-1]
    )


def test_update_uses_the_stored_pseudo_counts(pets: Path) -> None:
    write("alpha", FILE + "kennel\t3\n")
    trained(pets)
    (pets / "alpha").unlink()
    corpus(pets, {"more/dogs/3": "a kennel in the garden"})
    succeed("update more")
    model = TextClassifier.load("nbtext.joblib")
    names = [
        model.fitted.statistics.vocabulary.get_term(term)
        for term in model.fitted.parameters.own_pseudo_counts.terms.tolist()
    ]
    assert dict(
        zip(names, model.fitted.parameters.own_pseudo_counts.pseudo_counts.tolist(), strict=True)
    ) == {
        "bark": 0.25,
        "kennel": 3.0,
        "sofa": 4.0,
    }


def test_numeric_column_has_no_own_pseudo_count(pets: Path) -> None:
    write("dice.csv", "die,face,text\nfair,1,a red one\nloaded,2,a blue one\n")
    options = ("dice.csv", "--label-column", "die", "--text-column", "text", "--smoothing", "alpha")
    write("alpha", "*\t1\nface=1\t3\nred\t2\n")
    for command in ("train", "cross-validate"):
        refused = fail(2, command, *options, "--count", "face")
        assert (
            "--smoothing names 'face=1', a number at 'face', and is for terms and for values of --categorical; remove the line"
            in refused
        )
    succeed("train", *options)
    succeed("train", *options, "--categorical", "face=6")
    found = in_json("inspect --term face=1 --term red --term face")
    assert [word["terms"][0]["term"] for word in found["words"]] == ["face=1", "red", "face"]
    assert found["words"][0]["terms"][0]["classes"]["fair"]["probability"] == pytest.approx(
        (1 + 3) / (1 + 3 + 5)
    )
    assert found["words"][0]["terms"][0]["classes"]["fair"]["posterior"] == [4, 5]
    assert found["attributes"]["face"]["classes"]["loaded"]["probability"] == pytest.approx(
        {"1": 3 / 9, "2": 2 / 9, "(4 never seen)": 4 / 9}
    )


def parse_output(result: Result) -> Any:
    return json.loads(succeeded(result).text)


@pytest.mark.parametrize("options", ["--folds 2", "--leave-one-out"])
def test_cross_validation_with_equal_numbers_in_a_file_matches_the_number(
    pets: Path, options: str
) -> None:
    write("equal", "*\t0.3\ndogs\t0.3\nsofa\t0.3\n")
    found, wanted, other = (
        parse_output(
            nbtext(f"cross-validate pets {options}", "--smoothing", smoothing, "--output", "json")
        )
        for smoothing in ("equal", "0.3", "alpha")
    )
    assert found == wanted
    assert other["log_loss"] != wanted["log_loss"]


def test_tune_tries_files_and_numbers(pets: Path) -> None:
    write("equal", "*\t3\ndogs\t3\n")
    tried = parse_output(nbtext("tune pets --try smoothing=alpha,3,equal --folds 2 --output json"))[
        "settings"
    ]
    of = {
        setting["setting"].get("smoothing"): {**setting, "rank": 0, "setting": {}, "command": ""}
        for setting in tried
    }
    assert of["equal"] == of["3"] != of["alpha"]
    succeed("tune pets --smoothing alpha --try estimate=mean,map --folds 2 -m tuned")
    assert TextClassifier.load("tuned").settings["smoothing"]["sofas"] == 4


@pytest.mark.parametrize(
    ("smoothing", "options", "status", "message"),
    [
        (
            "missing",
            [],
            2,
            "--smoothing does not know 'missing'; use auto, evidence, leave-one-out, a number or a file",
        ),
        ("pets", [], 4, "pets: cannot read"),
        ("latin", [], 4, "latin: cannot read: not UTF-8"),
        ("malformed", [], 4, "malformed: line 2 is not a term, a tab and a number from 0"),
        ("negative", [], 4, "negative: line 2 is not a term, a tab and a number from 0"),
        (
            "silent",
            [],
            4,
            "silent: the line for all other terms, '*', is missing; add a line: *, a tab and a number",
        ),
        ("twice", [], 2, "two numbers for 'sofa', by 'sofa' and 'sofas'"),
        ("stop", ["--stop-words", "default"], 2, "'the', which is not a term: it is a stop word"),
    ],
)
@pytest.mark.parametrize("command", ["train", "cross-validate", "tune", "learning-curve"])
def test_invalid_smoothing_files_are_refused_in_one_line(
    pets: Path, command: str, smoothing: str, options: list[str], status: int, message: str
) -> None:
    files: dict[str, str | bytes] = {
        "latin": b"*\t1\n\xe9t\xe9\t2\n", "malformed": "*\t1\nsofa 2\n", "negative": "*\t1\nsofa\t-2\n", "silent": "sofa\t2\n",
        "twice": "*\t1\nsofa\t2\nsofas\t3\n", "stop": "*\t1\nthe\t2\n",
    }  # fmt: skip
    corpus(pets, files)
    folds = {
        "cross-validate": ["--folds", "2"],
        "tune": ["--folds", "2"],
        "learning-curve": ["--folds", "2"],
    }.get(command, [])
    assert message in fail(status, command, "pets", *folds, "--smoothing", smoothing, *options)
    assert not (pets / "nbtext.joblib").exists()


def test_names_of_textbooks_give_the_models_of_the_numbers(pets: Path) -> None:
    """On the command line, in `nbtext.toml`, and among the values of tune."""
    succeed("train pets -m number --smoothing 1 --set estimate=ml")
    succeed("train pets -m name --smoothing laplace --set estimate=mle")
    assert content("name") == content("number")
    write("nbtext.toml", '[train]\nsmoothing = "jeffreys"\n')
    succeed("train pets -m default")
    assert in_json("inspect -m default")["smoothing"] == 0.5
    tuned = "tune pets --try smoothing=laplace,1 --folds 2 -m tuned --output json"
    [*_, last] = json.loads(succeed(tuned).text)["settings"]
    assert last["rank"] == 2  # the default and one more

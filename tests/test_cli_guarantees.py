"""Options of answers in `cli/shared_options.py`: sets of classes and answers of a given precision, as real processes."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.process import REPOSITORY, fail, in_json, nbtext, succeed

if TYPE_CHECKING:
    from pathlib import Path

TEST = REPOSITORY / "corpora" / "service-desk" / "test"
WORDS = {"a|b": "sofa cat purr", "c\\d": "dog bark bone", "plain": "sun rain wind"}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of three classes with 40 documents each and 12 doubtful ones; two of the names need an escape."""
    home = tmp_path_factory.mktemp("promises")
    rows = []
    for number in range(120):
        label = list(WORDS)[number % 3]
        own, other = WORDS[label].split(), WORDS[list(WORDS)[(number // 3) % 3]].split()
        rows.append(
            {
                "label": label,
                "text": " ".join([*own[: 1 + number % 3], *other[: number % 2], f"w{number % 7}"]),
            }
        )
        if number % 10 == 0:
            rows.append(
                {"label": list(WORDS)[(number // 10) % 3], "text": f"sofa dog sun w{number % 7}"}
            )
    (home / "train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    succeed("train train.jsonl", cwd=home)
    for name, text in {
        "sure": "sofa cat purr cat",
        "torn": "sofa dog sun",
        "strange": "zyzzyva",
    }.items():
        (home / name).write_text(text)
    return home


def records(home: Path, *arguments: str) -> list[dict[str, Any]]:
    return succeed("classify sure torn strange -o jsonl", *arguments, cwd=home).records


def test_prediction_sets_are_in_every_format(home: Path) -> None:
    sure, torn, strange = records(home, "--coverage", "0.95")
    assert sure["labels"][0]["label"] == sure["label"] == "a|b"
    assert sure["coverage"] == 0.95
    probabilities = [each["probability"] for each in torn["labels"]]
    assert len(probabilities) > 1
    assert probabilities == sorted(probabilities, reverse=True)
    assert torn["probability"] == probabilities[0]
    assert strange["notice"] == "no-known-terms"
    names = "|".join(
        each["label"].replace("\\", "\\\\").replace("|", "\\|") for each in torn["labels"]
    )
    asked = ("classify", "torn", "--coverage", "0.95", "-o")
    assert succeed(*asked, "tsv", cwd=home).text.split("\t")[1] == names.replace("\\", "\\\\")
    [heads, row] = csv.reader(io.StringIO(succeed(*asked, "csv", cwd=home).text))
    assert (heads, row[1]) == (["id", "label", "probability", "reason"], names)
    assert names in succeed(*asked, "table", cwd=home).text


def test_empty_and_full_sets_are_named(home: Path) -> None:
    sure, torn, _ = records(home, "--coverage", "0.1")
    assert len(sure["labels"]) <= 1
    assert (torn["label"], torn["labels"], torn["abstained"]) == (None, [], "empty-set")
    [_, tsv, _] = nbtext("classify sure torn strange --coverage 0.1 -o tsv", cwd=home).rows
    assert tsv == ["torn", "", "empty-set"]
    (home / "even").write_text("sofa dog sun w1")
    assert (
        succeed("classify even --coverage 0.99 -o jsonl", cwd=home).records[0]["notice"]
        == "full-set"
    )


def test_too_few_documents_for_a_guarantee_are_refused_or_warned_of(home: Path) -> None:
    assert "at least 199 held-out documents" in fail(2, "classify sure --coverage 0.995", cwd=home)
    result = nbtext("classify sure --coverage 0.98 --by-class -o tsv", cwd=home)
    assert "fewer than 49 of their training documents" in result.err.decode()
    assert result.rows[0][1].count("|") >= 2


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--by-class"], "--by-class needs"),
        (["--coverage", "1"], "above 0 and below 1"),
        (["--min-precision", "plain=0.9,x=0.8"], "the model has no class 'x'"),
        (["--min-precision", "plain=high"], "above 0 and below 1, not 'high'"),
        (["--min-probability", "plan=0.5"], "has no class 'plan'"),
    ],
)
def test_invalid_guarantee_options_are_refused(home: Path, options: list[str], said: str) -> None:
    result = nbtext("classify sure", *options, cwd=home)
    assert result.status == 2
    assert said in result.err.decode()


def test_imprecise_predictions_are_withheld(home: Path) -> None:
    sure, torn, strange = records(home, "--min-precision", "0.93")
    assert sure["label"] == "a|b"
    assert torn["abstained"] == "low-precision"
    assert strange["abstained"] == "no-known-terms"
    result = nbtext("classify sure --min-precision 0.999", cwd=home)
    assert "nbtext inspect --thresholds" in result.notes[0]
    assert result.rows[0][1:] == ["", "low-precision"]
    result = nbtext("classify sure --min-precision plain=0.999", cwd=home)
    assert "plain is never predicted: " in result.notes[0]
    assert result.rows[0][1] == "a|b"
    assert records(home, "--min-probability", "a|b=1")[0]["abstained"] == "low-probability"


def test_thresholds_show_how_many_more_documents_are_needed(home: Path) -> None:
    table = succeed("inspect --thresholds 0.999", cwd=home).text
    assert "never" in table
    said = in_json("inspect --thresholds plain=0.6,a|b=0.999", cwd=home)["thresholds"]
    assert [each["precision"] for each in said] == [0.999, None, 0.6]
    assert [each["probability"] is None for each in said] == [True, False, False]
    assert said[0]["more"] is None or said[0]["more"] > 2000
    assert "--by-class needs" in fail(2, "inspect --by-class", cwd=home)


def test_evaluate_reports_how_well_guarantees_were_kept(service_desk_model: Path) -> None:
    asked = ("evaluate", TEST, "-m", service_desk_model)
    said = in_json(*asked, "--coverage", "0.8")
    sets = said["sets"]
    assert sets["coverage"] == said["set_coverage"]
    assert (
        sum(group["n"] for group in sets["per_size"].values())
        == sum(group["n"] for group in sets["per_class"].values())
        == sets["n"]
        == 78
    )
    table = succeed(*asked, "--coverage", "0.8", "--by-class").text
    assert "required coverage  0.8 of the documents of each class" in table
    result = nbtext(*asked, "--coverage", "0.8", "--fail-over", "set_size=1")
    assert (result.status, result.notes) == (
        6,
        [f"nbtext: gate not met: set_size is {said['set_size']:.6g}, over 1"],
    )
    risk = in_json(*asked, "--min-precision", "0.6")
    assert risk["risk_curve"][-1]["precision"] == pytest.approx(said["accuracy"])
    assert 0 < risk["answered"] < 1
    assert "the most probable predictions" in succeed(*asked, "--min-precision", "0.6").text

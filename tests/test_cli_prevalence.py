"""`nbtext prevalence` in every form, and ``--prior-from`` of classify and evaluate.

Also tests `cli/proportions.py` and part of `report/comparisons.py`.
"""

from __future__ import annotations

import csv
import json
from pathlib import Path
from shutil import copyfile

import pytest

from tests.process import SERVICE_DESK, fail, in_json, nbtext, succeed, write

TEST = str(SERVICE_DESK / "test")
LABELS = sorted(folder.name for folder in (SERVICE_DESK / "test").iterdir())


@pytest.fixture
def desk(service_desk_model: Path, tmp_path: Path) -> Path:
    """A folder with a model, and its test documents as a table with days."""
    copyfile(service_desk_model, tmp_path / "nbtext.joblib")
    rows = [("text", "day")]
    for place, file in enumerate(sorted(Path(TEST).rglob("*.txt"))):
        rows.append((file.read_text(encoding="utf-8"), f"2026-05-0{1 + place % 3}"))
    with (tmp_path / "messages.csv").open("w", encoding="utf-8", newline="") as file_:
        csv.writer(file_).writerows(rows)
    return tmp_path


def test_every_format_has_the_same_proportions(desk: Path) -> None:
    found = in_json("prevalence", TEST)
    assert list(found) == ["documents", "prevalence", "drift"]
    assert found["documents"] == sum(file.is_file() for file in Path(TEST).rglob("*"))
    assert list(found["prevalence"]) == LABELS
    assert sum(share["proportion"] for share in found["prevalence"].values()) == pytest.approx(
        1, abs=1e-4
    )
    lines = succeed("prevalence", TEST, "-o", "jsonl").records
    assert lines == [{"label": label, **share} for label, share in found["prevalence"].items()]
    rows = succeed("prevalence", TEST, "-o", "tsv").rows
    assert rows == [
        [label, *map(str, share.values())] for label, share in found["prevalence"].items()
    ]
    assert succeed("prevalence", TEST, "-o", "csv").text.startswith(
        "label,proportion,low,high,counted\n"
    )
    table = succeed("prevalence", TEST).text
    largest = max(found["prevalence"], key=lambda label: found["prevalence"][label]["proportion"])
    assert table.splitlines()[4].split()[:2] == [
        largest,
        f"{found['prevalence'][largest]['proportion']:.3f}",
    ]


def test_prevalence_with_few_labels_is_refused_in_one_line(tmp_path: Path) -> None:
    write("one.tsv", "a\tcat dog\n")
    reading = ("--label-column", "1", "--text-column", "2")
    assert nbtext("train one.tsv", *reading).status == 0  # it warns of the only class
    for command in (("prevalence", "one.tsv"), ("evaluate", "one.tsv", "--prior-from", "one.tsv")):
        line = fail(2, *command, *reading)
        assert (
            "proportions of 1 class need at least 25 labelled documents, and the model has 1"
            in line
        )


def test_by_column_gives_a_row_per_value(desk: Path) -> None:
    whole = in_json("prevalence messages.csv --group-by day")
    days = whole["groups"]["day"]
    assert list(days) == ["2026-05-01", "2026-05-02", "2026-05-03"]
    assert sum(day["documents"] for day in days.values()) == whole["documents"]
    lines = nbtext("prevalence messages.csv --group-by day -o jsonl").records
    assert lines == [{"day": day, **found} for day, found in days.items()]
    table = succeed("prevalence messages.csv --group-by day").text
    assert [line.split()[0] for line in table.splitlines()[-3:]] == list(days)


def test_unreadable_documents_are_reported_and_not_counted(desk: Path) -> None:
    (desk / "inbox").mkdir()
    write("inbox/1", b"the lamp in our street is broken")
    write("inbox/2", b"\0\1")
    done = nbtext("prevalence inbox -o json")
    assert done.status == 1
    assert done.notes[0].startswith("nbtext: inbox/2: binary")
    assert json.loads(done.text)["documents"] == 1
    (desk / "inbox/1").unlink()
    (why,) = (none := nbtext("prevalence inbox")).notes  # one document, one line
    assert none.status == 2
    assert why.startswith("nbtext: inbox/2: binary")


def test_out_of_distribution_documents_give_a_warning(desk: Path) -> None:
    write("other.txt", "".join(f"quantum flux capacitor number{n} warp\n" for n in range(60)))
    done = nbtext("prevalence other.txt --format lines")
    assert done.status == 0
    assert (
        "differ from the training documents by more than class proportions (unknown tokens"
        in done.notes[0]
    )


def test_model_without_a_sample_estimates_without_correction(desk: Path) -> None:
    succeed(
        "train",
        str(SERVICE_DESK / "train"),
        "--keep-documents",
        "0",
        "--calibration",
        "none",
        "-m",
        "bare.joblib",
    )
    done = nbtext("prevalence", TEST, "-m", "bare.joblib", "-o", "json")
    assert done.status == 0
    assert "not corrected by held-out documents" in done.notes[0]
    assert "drift" not in json.loads(done.text)


def test_prior_from_adjusts_predictions_to_other_proportions(desk: Path) -> None:
    """An inbox of mail about waste alone makes an unclear message one about waste."""
    plain = succeed("classify --text hello -o jsonl").text
    waste = f"{TEST}/waste-collection"
    shifted = succeed("classify --text hello --prior-from", waste, "-o", "jsonl").text
    assert json.loads(shifted)["label"] == "waste-collection"
    assert json.loads(shifted)["probability"] > json.loads(plain)["probability"]
    before, after = (
        in_json("evaluate", TEST, *more)["log_loss"] for more in ((), ("--prior-from", waste))
    )
    assert after > before
    fail(2, "classify --text hello --prior-from -")
    fail(2, "classify --text hello --prior-from", waste, "--coverage", "0.9")


def test_prior_from_documents_are_read_like_the_classified_ones(desk: Path) -> None:
    bins, cars = (
        "the bin was not emptied again so please empty it",
        "no place to park a car near the station",
    )
    write("two.csv", f"one,two\n{cars},{bins}\n{cars},{bins}\n")
    write("one.csv", f"one\n{cars}\n{cars}\n")
    of_both, of_one = (
        succeed("classify two.csv --text-column one -o jsonl --prior-from", path).text
        for path in ("two.csv", "one.csv")
    )
    assert of_both == of_one

"""Attributes beside text on the command line: tables and JSON lines, without and with a text, through the commands.

Also tests `report/models.py`.
"""

from __future__ import annotations

import json
from math import lgamma
from typing import TYPE_CHECKING

import pytest

from tests.process import fail, in_json, nbtext, succeed, write

if TYPE_CHECKING:
    from pathlib import Path

DATING = """height,hair,eye,likes
t,d,l,+
s,d,l,+
t,b,l,-
t,r,l,-
s,b,l,-
t,b,w,+
t,d,w,+
s,b,w,+
"""
LOOKS = ("--label-column", "likes", "--categorical", "height,hair,eye")

PEOPLE = """label,text,age,visits,city
a,the cat sat,34.5,3,Rome
a,the dog,30,0,Oslo
b,a bird sang,12,9,Rome
b,birds sing songs,14.25,7,
c,cars drive,50,1,Oslo
c,a car,,2,Bonn
"""
ALL = (
    "--label-column",
    "label",
    "--text-column",
    "text",
    "--categorical",
    "city",
    "--count",
    "visits",
    "--numeric",
    "age",
)


@pytest.fixture
def dating(tmp_path: Path) -> Path:
    write("dating.csv", DATING)
    return tmp_path


@pytest.fixture
def people(tmp_path: Path) -> Path:
    write("people.csv", PEOPLE)
    return tmp_path


def test_columns_without_a_text_are_reported(people: Path) -> None:
    notes = nbtext("train -v people.csv --numeric age").notes
    assert (
        "people.csv: class in column 'label', no text, the first line is a header; if this is wrong, set --label-column, --text-column or --no-header"
        in notes[0]
    )
    assert "no text" not in "".join(
        nbtext("train -v people.csv --numeric age --text-column text").notes
    )


def test_table_without_a_text_is_trained_and_classified(dating: Path) -> None:
    succeed("train dating.csv", *LOOKS, "--estimate", "ml")
    write("new.csv", "height,hair,eye\nt,b,l\nt,r,w\n,,\n")
    answers = succeed("classify new.csv --output jsonl --scores").text.splitlines()
    first, second, third = (json.loads(line) for line in answers)
    assert first["label"] == "-"
    assert first["probability"] == pytest.approx((1 / 6) / (1 / 6 + 0.06))
    assert second["abstained"] == "impossible"
    assert (
        third["abstained"] == "no known terms"
        if "abstained" in third
        else third["probability"] == pytest.approx(5 / 8)
    )


def test_columns_without_a_header_are_numbered(dating: Path) -> None:
    rows = DATING.splitlines()[1:]
    write("bare.tsv", "".join(row.replace(",", "\t") + "\n" for row in rows))
    succeed("train dating.csv", *LOOKS, "-m", "named")
    succeed("train bare.tsv --label-column 4 --categorical 1,2,3 -m numbered")
    ours, theirs = (
        [row[1:] for row in succeed("classify bare.tsv -m", model, *more).rows]
        for model, *more in (
            ("named", "--categorical", "1,2,3", "--format", "tsv", "--no-header"),
            ("numbered",),
        )
    )
    assert ours == theirs


def test_value_of_the_wrong_type_is_a_reading_error(people: Path) -> None:
    write("people.csv", PEOPLE + "c,a cart,old,1,Bonn\n")
    done = nbtext("train people.csv", *ALL)
    assert done.status == 1
    assert done.notes == [
        "nbtext: people.csv:8: the value 'old' at 'age' is not a number; leave it empty if it is unknown"
    ]


def test_attributes_must_name_as_many_columns_as_the_model_has(people: Path) -> None:
    line = fail(2, "train people.csv --label-column label --categorical city,city")
    assert "--categorical must be names or numbers of columns" in line
    (people / "c" / "a").mkdir(parents=True)
    (people / "c" / "a" / "1").write_text("a text")
    succeed("train people.csv", *ALL)
    complaint = fail(2, "classify people.csv --numeric age,visits")
    assert "--numeric names 2 columns, and the model has 1" in complaint


def test_repeated_attribute_values_are_not_reported_as_leakage(dating: Path) -> None:
    succeed("train dating.csv", *LOOKS)
    succeed("evaluate dating.csv")


def test_declared_values_that_never_occur_get_a_pseudo_count(tmp_path: Path) -> None:
    throws = {"fair": "12341", "loaded": "4441"}
    table = "die,face\n" + "".join(
        f"{die},{face}\n" for die, faces in throws.items() for face in faces
    )
    write("dice.csv", table)
    train = ("train", "dice.csv", "--label-column", "die", "--smoothing", "0.5")
    for declared, n_values in (("face=6", 6), ("face=4", 4), ("face", 4)):
        for estimate, more in (("mean", 0), ("map", 1)):
            succeed(*train, "--categorical", declared, "--estimate", estimate)
            found = in_json("inspect")["attributes"]["face"]
            for die, faces in throws.items():
                shares = {
                    face: (faces.count(face) + 0.5) / (len(faces) + n_values * 0.5)
                    for face in "1234"
                }
                if n_values > 4:
                    shares["(2 never seen)"] = 2 * 0.5 / (len(faces) + n_values * 0.5)
                assert found["classes"][die]["probability"] == pytest.approx(shares), (
                    declared,
                    more,
                )
    write("thrown.csv", "face\n4\n6\n")
    four, six = succeed("classify thrown.csv").rows
    assert (four[1], six[1]) == (
        "loaded",
        "fair",
    )  # a value never seen adds nothing, and more throws were fair
    said = fail(2, *train, "--categorical", "face=3")
    assert "'face' has 4 values, and 3 are declared; declare at least face=4" in said
    assert "none twice" in fail(2, *train, "--categorical", "face=6,face")


@pytest.mark.parametrize("declared", [5, 60])
def test_evidence_smoothing_includes_declared_values(tmp_path: Path, declared: int) -> None:
    write("dice.csv", "die,face\n" + "a,1\n" * 7 + "a,2\n" * 4 + "b,2\nb,3\nb,3\n" * 3)
    succeed("train dice.csv --label-column die --categorical", f"face={declared}")
    found = in_json("inspect")["attributes"]["face"]

    def evidence(alpha: float) -> float:
        counts = ((7, 4), (3, 6))
        rising = sum(lgamma(n + alpha) - lgamma(alpha) for of_class in counts for n in of_class)
        return rising + sum(
            lgamma(declared * alpha) - lgamma(sum(of_class) + declared * alpha)
            for of_class in counts
        )

    best = found["smoothing"]
    assert evidence(best) > max(evidence(0.99 * best), evidence(1.01 * best))

"""`nbtext explain`: records that sum up, and the text shaded on a terminal.

Also tests `report/explanations.py`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pytest

from tests.process import PETS, SERVICE_DESK, corpus, nbtext, succeed, write
from tests.test_cli_colours import COLOUR
from tests.test_cli_terminal import EVIL, on_terminal

if TYPE_CHECKING:
    from pathlib import Path

TEST = SERVICE_DESK / "test"


def records(*arguments: str | Path) -> list[dict[str, Any]]:
    return succeed(*arguments, "-o", "jsonl").records


def test_tsv_contributions_sum_to_the_log_odds(service_desk_model: Path) -> None:
    rows = succeed("explain", TEST / "taxes-and-fees", "-m", service_desk_model).rows
    assert {len(row) for row in rows} == {9}
    for name in {row[0] for row in rows}:
        parts = [row for row in rows if row[0] == name]
        assert parts[0][3] == "prior"
        assert [row[3] for row in parts][-2:] == ["log-odds", "calibrated"]
        assert math.fsum(float(row[5]) for row in parts[:-2]) == pytest.approx(
            float(parts[-2][5]), abs=1e-4
        )
        assert {row[8] for row in parts if row[3] == "word" and float(row[5])} <= {""}


def test_limit_adds_up_the_other_contributions_in_every_format(service_desk_model: Path) -> None:
    letter = next((TEST / "taxes-and-fees").iterdir())
    explain = ("explain", letter, "-m", service_desk_model)
    [everything] = records(*explain)
    [limited] = records(*explain, "-n", "3")
    sizes = sorted((abs(word["nats"]) for word in everything["words"]), reverse=True)
    assert [abs(word["nats"]) for word in limited["words"]] == sizes[:3]
    assert limited["others"]["count"] == sum(size > 0 for size in sizes[3:])
    assert limited["prior"] + limited["others"]["nats"] + sum(
        word["nats"] for word in limited["words"]
    ) == pytest.approx(limited["log_odds"])
    rows = succeed(*explain, "-n", "3").rows
    assert [row[3] for row in rows] == ["prior", *["word"] * 3, "others", "log-odds", "calibrated"]
    assert [row[4] for row in rows[1:4]] == [word["word"] for word in limited["words"]]
    words = len(everything["words"])
    assert "others" not in records(*explain, "-n", str(words))[0]


def test_explain_reads_documents_with_the_models_settings(tmp_path: Path) -> None:
    rows = "".join(f"{name.partition('/')[0]},{text},{name},4\n" for name, text in PETS.items())
    corpus(
        tmp_path,
        {
            "pets.csv": f"topic,body,sender,legs\n{rows}",
            "letter": "Subject: the cat\nFrom: a dog\n\npurrs",
        },
    )
    columns = ["--label-column", "topic", "--text-column", "body", "--id-column", "sender"]
    succeed("train pets.csv", *columns, "--count", "legs", "-m", "m")
    of = records("explain", "pets.csv", "-m", "m")
    assert [each["id"] for each in of] == list(PETS)
    assert [each["attributes"] for each in of] == [
        [{"name": "legs", "value": "4", "nats": 0.0}]
    ] * 4
    succeed("train pets.csv", *columns, "-m", "n")
    [mail] = records(
        "explain",
        "letter",
        "-m",
        "n",
        "--format",
        "dir",
        "--document",
        "mail",
        "--headers",
        "subject",
    )
    assert mail["text"].split() == ["the", "cat", "purrs"]


@pytest.mark.parametrize("output", ["table", "tsv", "jsonl"])
def test_unreadable_document_is_reported_and_the_others_explained(pets: Path, output: str) -> None:
    write("mail", b"\x00\x01")
    done = nbtext("explain pets/cats/1 none -o", output)
    assert (done.status, len(done.notes)) == (1, 1)
    assert "none" in done.notes[0]
    assert "purrs" in done.text
    assert "none" in done.text


def test_terminal_shows_shaded_text(pets: Path) -> None:
    corpus(pets, {"letter": "The cat barks, the cats purr."})
    status, screen = on_terminal("explain", "letter", env={"COLORTERM": "truecolor"})
    assert status == 0
    assert COLOUR.search(screen)
    assert "\x1b[1;" in screen  # bold
    assert "\x1b[4;" in screen  # underlined
    _, plain = on_terminal("explain", "letter", env={"NO_COLOR": "1"})
    assert COLOUR.findall(plain) == []
    assert "\x1b[1m" in plain
    assert "\x1b[4m" in plain
    _, dumb = on_terminal("explain", "letter", env={"TERM": "dumb"})
    assert "\x1b" not in dumb
    assert "cat[+" in dumb
    assert "barks[−" in dumb
    assert "\nlog odds" in dumb.replace("\n ", "\n")


def test_pipe_shows_marks_instead_of_colours(pets: Path) -> None:
    done = succeed("explain pets/dogs/1 -o table", env={"FORCE_COLOR": "1"})
    assert b"\x1b" not in done.out
    assert "barks[+" in done.text


def test_texts_cannot_move_the_cursor(pets: Path) -> None:
    corpus(pets, {"letter": f"{EVIL} the cat\x9b2J purrs\u202e"})
    for arguments in (["-o", "table"], ["-o", "tsv"], ["-o", "jsonl"]):
        _, screen = on_terminal(
            "explain", "letter", *arguments, env={"NO_COLOR": "1", "TERM": "dumb"}
        )
        assert not set(screen) & set("\x1b\x07\x9b\u202e\u2028")
        assert "purrs" in screen


def test_impossible_documents_have_no_explanation(pets: Path) -> None:
    corpus(pets, {"letter": "the cat barks"})
    succeed("train pets --estimate ml -m ml")
    [impossible] = records("explain", "letter", "-m", "ml")
    assert {name: impossible[name] for name in ("id", "label", "abstained")} == {
        "id": "letter",
        "label": None,
        "abstained": "impossible",
    }
    assert impossible["ruled_out"] == [
        {"class": "cats", "by": "word", "word": "barks", "term": "bark"},
        {"class": "dogs", "by": "word", "word": "cat", "term": "cat"},
    ]
    [certain] = records("explain", "pets/cats/1", "-m", "ml")
    assert certain["log_odds"] is None
    assert {
        "word": "purrs",
        "nats": None,
        "rules_out": "dogs",
        "count": 1,
        "places": [[8, 13]],
        "terms": ["purr"],
    } in certain["words"]
    assert nbtext("explain letter -m ml").rows == [
        ["letter", "", "", "none", "", "", "", "", "impossible"]
    ]
    table = succeed("explain letter -m ml -o table").text
    assert [line.split() for line in table.splitlines()[-2:]] == [
        ["cats", "barks,", "the", "term", "bark"],
        ["dogs", "cat"],
    ]
    assert "impossible" in table
    assert "+∞" in nbtext("explain pets/cats/1 -m ml -o table").text


def test_documents_without_known_words_show_the_prior(pets: Path) -> None:
    corpus(pets, {"empty": "", "strange": "zyzzyva"})
    empty, strange = records("explain", "empty", "strange")
    assert (empty["words"], empty["notice"], empty["log_odds"]) == ([], "empty", empty["prior"])
    assert (strange["words"][0]["dropped"], strange["notice"]) == ("not-in-model", "no-known-terms")
    assert "1 word adds nothing" in succeed("explain empty strange -o table").text

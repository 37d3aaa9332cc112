"""`nbtext why-not`: the words without which a label is predicted, in sentences and in records.

Also tests `report/explanations.py`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tests.process import SERVICE_DESK, corpus, nbtext, succeed

if TYPE_CHECKING:
    from pathlib import Path

TEST = SERVICE_DESK / "test"
WANTED = "noise-and-neighbours"


def test_removing_the_listed_words_predicts_the_label(
    service_desk_model: Path, tmp_path: Path
) -> None:
    found = succeed(
        "why-not", WANTED, TEST / "waste-collection", "-m", service_desk_model, "-o", "jsonl"
    ).records
    texts, probabilities = {}, []
    for number, of in enumerate(found):
        assert ("remove" in of) != ("why" in of)
        if "why" in of:
            assert (of["why"] == "already-predicted") == (of["label"] == WANTED)
            continue
        text = (TEST / "waste-collection" / of["id"].rpartition("/")[2]).read_text(encoding="utf-8")
        gone = of["remove"]["words"]
        left = [
            "" if word.strip(".,?!:;()\"'").casefold() in gone else word
            for word in text.replace("-", " ").split()
        ]
        texts[f"{number:02d}"] = " ".join(left)
        probabilities.append(f"{of['remove']['probability']:.6g}")
        assert left.count("") == of["remove"]["occurrences"]
    assert len(texts) > 8
    corpus(tmp_path / "changed", texts)
    answers = succeed("classify", "changed", "-m", service_desk_model).rows
    assert [row[1:] for row in answers] == [[WANTED, probability] for probability in probabilities]


def test_tsv_has_a_line_per_word(service_desk_model: Path) -> None:
    rows = succeed("why-not", WANTED, TEST, "-m", service_desk_model).rows
    assert {len(row) for row in rows} == {7}
    assert {row[6] for row in rows} == {"", "already-predicted"}
    assert all((row[6] == "") == bool(row[3] and row[4] and row[5]) for row in rows)
    assert {row[2] for row in rows} == {WANTED}
    assert len({row[0] for row in rows}) == 78


def test_table_contains_sentences(pets: Path) -> None:
    corpus(pets, {"letter": "the cat purrs; a dog scratches the sofa", "cat": "cat cat dog"})
    text = succeed("why-not dogs letter cat pets/dogs/1 -o table").text
    assert "remove    these 3 words: cat, sofa, purrs; then 0." in text
    assert "remove    this word: cat 2 times; then 0." in text
    assert "why not   it is predicted already" in text
    assert "fewest" not in text


def test_insufficient_words_are_reported(pets: Path) -> None:
    corpus(pets, {"prior": "cats\t1\ndogs\t99999\n"})
    succeed("train pets --class-prior prior -m m")
    done = nbtext("why-not cats -m m --text dog -o table")
    assert (done.status, done.notes) == (0, [])
    assert "why not   up to 20 words are not enough" in done.text
    assert succeed("why-not cats -m m --text dog").rows[0][1:] == [
        "dogs",
        "cats",
        "",
        "",
        "",
        "not-enough",
    ]
    [record] = succeed("why-not cats -m m --text dog -o jsonl").records
    assert record.pop("model") == json.loads(succeed("inspect -o json -m m").out)["fingerprint"]
    assert record.keys() == {"id", "label", "probability", "wanted", "wanted_probability", "why"}
    assert record["why"] == "not-enough"


def test_class_with_prior_zero_has_the_reason_no_prior(pets: Path) -> None:
    corpus(pets, {"prior": "cats\t1\ndogs\t0\n"})
    succeed("train pets --class-prior prior -m m")
    assert succeed("why-not dogs pets/cats/1 -m m").rows[0][3:] == ["", "", "", "no-prior"]
    assert "prior probability is 0" in succeed("why-not dogs pets/cats/1 -m m -o table").text


def test_unreadable_documents_are_reported(pets: Path) -> None:
    for output in ("table", "tsv", "jsonl"):
        done = nbtext("why-not dogs pets/cats/1 none -o", output)
        assert (done.status, len(done.notes)) == (1, 1)
        assert "none" in done.text


def test_why_not_command_equals_explain_why_not(pets: Path) -> None:
    for form in ("table", "tsv", "jsonl"):
        old = succeed("why-not dogs pets -o", form)
        assert succeed("explain pets --why-not dogs -o", form).out == old.out

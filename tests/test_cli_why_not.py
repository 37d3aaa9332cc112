"""`nbtext why-not`: what it names turns the answers, in sentences and in records.

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


def test_what_it_names_turns_the_answers(service_desk_model: Path, tmp_path: Path) -> None:
    lines = succeed("why-not", WANTED, TEST / "waste-collection", "-m", service_desk_model, "-o", "jsonl").text.splitlines()
    found = [json.loads(line) for line in lines]
    texts = {}
    for number, of in enumerate(found):
        if of.get("why") == "answered-so":
            continue
        text = (TEST / "waste-collection" / of["id"].rpartition("/")[2]).read_text(encoding="utf-8")
        if of["remove"]["words"] is not None:
            gone = of["remove"]["words"]
            texts[f"{number}-without"] = " ".join(
                "" if word.strip(".,?!:;()\"'").casefold() in gone else word for word in text.replace("-", " ").split()
            )
        added = [word for each in of["add"]["terms"] for word in [each["term"]] * each["count"]]
        texts[f"{number}-with"] = " ".join([text, *added])
    assert len(texts) > 15
    corpus(tmp_path / "changed", texts)
    answers = succeed("classify", "changed", "-m", service_desk_model).rows
    assert {label for _, label, _ in answers} == {WANTED}


def test_tsv_has_a_line_for_each_word(service_desk_model: Path) -> None:
    rows = succeed("why-not", WANTED, TEST, "-m", service_desk_model).rows
    assert {len(row) for row in rows} == {8}
    assert {row[3] for row in rows} == {"remove", "add", "none"}
    assert {row[7] for row in rows if row[3] == "none"} == {"answered-so"}
    assert {row[2] for row in rows} == {WANTED}
    assert len({row[0] for row in rows}) == 78


def test_sentences(pets: Path) -> None:
    corpus(pets, {"letter": "the cat purrs; a dog scratches the sofa"})
    text = succeed("why-not dogs letter pets/dogs/1 -o table").text
    assert "the fewest words; then 0." in text
    assert "the fewest terms; then 0." in text
    assert "it is the answer already" in text


def test_a_class_of_prior_zero(pets: Path) -> None:
    corpus(pets, {"prior": "cats\t1\ndogs\t0\n"})
    succeed("train pets --class-prior prior -m m")
    assert succeed("why-not dogs pets/cats/1 -m m").rows[0][3:] == ["none", "", "", "", "no-prior"]
    assert "prior probability is 0" in succeed("why-not dogs pets/cats/1 -m m -o table").text


def test_unreadable_documents(pets: Path) -> None:
    for output in ("table", "tsv", "jsonl"):
        done = nbtext("why-not dogs pets/cats/1 none -o", output)
        assert (done.status, len(done.notes)) == (1, 1)
        assert "none" in done.text


def test_the_old_name_prints_what_explain_prints(pets: Path) -> None:
    for form in ("table", "tsv", "jsonl"):
        old = succeed("why-not dogs pets -o", form)
        assert succeed("explain pets --why-not dogs -o", form).out == old.out

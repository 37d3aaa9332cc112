"""`nbtext card`: front matter that a parser of YAML reads, figures of `nbtext evaluate`, hostile names, and saved evaluations.

Also tests `report/model_card.py`.
"""

from __future__ import annotations

import json
from shutil import copyfile
from typing import TYPE_CHECKING, Any

import pytest

from nbtext import TextClassifier
from tests.process import SERVICE_DESK, error_line, fail, nbtext, succeed, write

if TYPE_CHECKING:
    from pathlib import Path

yaml: Any = pytest.importorskip("yaml")
TEST = str(SERVICE_DESK / "test")


@pytest.fixture
def desk(service_desk_model: Path, tmp_path: Path) -> Path:
    """A folder with a model."""
    copyfile(service_desk_model, tmp_path / "nbtext.joblib")
    return tmp_path


def parts(card: str) -> tuple[dict[str, Any], str]:
    """The front matter, read by a parser, and the Markdown."""
    begin, front, text = card.split("---\n", 2)
    assert not begin
    found: dict[str, Any] = yaml.safe_load(front)
    return found, text


def test_a_card_has_the_figures_of_an_evaluation(desk: Path) -> None:
    evaluated = succeed("evaluate", TEST, "-o", "json").text
    write("figures.json", evaluated)
    judged = json.loads(evaluated)
    front, text = parts(succeed("card", TEST, "--license", "mit").text)
    assert list(front) == ["license", "language", "library_name", "pipeline_tag", "tags", "model-index"]
    assert (front["license"], front["language"], front["pipeline_tag"]) == ("mit", ["en"], "text-classification")
    [entry] = front["model-index"]
    [result] = entry["results"]
    assert (entry["name"], result["dataset"]["name"], result["task"]["type"]) == ("nbtext", TEST, "text-classification")
    assert {metric["type"]: metric["value"] for metric in result["metrics"]} == {
        kind: pytest.approx(judged[name], rel=1e-5)
        for name, kind in (("accuracy", "accuracy"), ("macro_f1", "f1"), ("log_loss", "log_loss"), ("brier", "brier_score"), ("ece", "ece"))
    }
    low, high = judged["intervals"]["accuracy"]
    assert f"| Accuracy | {judged['accuracy']:.4f} | {low:.4f} to {high:.4f} |" in text
    assert "Where the documents come from: not recorded" in text
    assert text.count("\n## ") == 8 - 1
    saved = succeed("card --evaluation figures.json --dataset", TEST, "--license", "mit").text
    assert parts(saved)[0] == front
    assert parts(saved)[1].startswith(text[: text.index("## Evaluation")])


def test_a_card_without_an_evaluation_has_no_figures(desk: Path) -> None:
    front, text = parts(succeed("card --name", "desk: the 'service' desk").text)
    assert list(front) == ["language", "library_name", "pipeline_tag", "tags"]
    assert "# desk: the 'service' desk\n" in text
    assert "not evaluated on test documents" in text
    assert "No promise was tested." in text
    succeed("card --to card.md --name", "desk: the 'service' desk")
    assert (desk / "card.md").read_text(encoding="utf-8").endswith(text)


def test_a_promise_that_was_tested(desk: Path) -> None:
    write("figures.json", succeed("evaluate", TEST, "--coverage", "0.9", "-o", "json").text)
    text = parts(succeed("card --evaluation figures.json").text)[1]
    assert "promise to hold the true class with probability 0.9 held it for 0.9744 of 78 test documents" in text


HOSTILE = ['"quoted": yes', "a\nb: - c\n---\n", "#| no *stars* [x](y) <b>", "\u2028\x7f\x1b[31m", "- list", "{a: b}"]


def test_labels_and_names_break_neither_yaml_nor_tables(tmp_path: Path) -> None:
    texts = [f"word{place} common" for place in range(len(HOSTILE))]
    TextClassifier().fit(texts, HOSTILE).save("nbtext.joblib")
    write("test.jsonl", "".join(json.dumps({"label": label, "text": text}) + "\n" for label, text in zip(HOSTILE, texts, strict=True)))
    for name in HOSTILE:
        front, text = parts(succeed("card test.jsonl --name", name, "--dataset", name, "--license", name, "-q").text)
        assert front["license"] == name
        assert front["model-index"][0]["name"] == front["model-index"][0]["results"][0]["dataset"]["name"] == name
        table = text[text.index("## Classes") : text.index("## Settings")].splitlines()
        rows = [line for line in table if line.startswith("|")]
        assert len(rows) == 2 + len(HOSTILE)
        assert {row.replace("\\|", "").count("|") for row in rows} == {8}
        assert not set(text) & set("\u2028\x7f\x1b")


def test_the_card_is_no_part_of_the_page_any_more(desk: Path) -> None:
    assert "write it with nbtext report --to card.md" in fail(2, "report", TEST, "--card")
    assert not (desk / "report.html").exists()


def test_what_is_no_evaluation(desk: Path) -> None:
    for content in (
        b"",
        b"[]",
        b'{"n": 1, "per_class": {"a": 5}}',
        b'{"n": 1, "per_class": {}, "accuracy": "high"}',
        b"\xff",
        b"[" * 100_000,
    ):
        write("figures.json", content)
        assert "not an evaluation" in fail(4, "card --evaluation figures.json")
    fail(4, "card --evaluation missing.json")
    fail(2, "card", TEST, "--evaluation", "figures.json")
    fail(2, "card --to nbtext.joblib")


def test_a_model_without_a_sample_says_nothing_of_suspects_and_calibration(desk: Path) -> None:
    succeed(
        "train",
        str(SERVICE_DESK / "train"),
        "--sample",
        "0",
        "--calibration",
        "none",
        "--stemmer",
        "none",
        "--stop-words",
        "none",
    )
    front, text = parts(succeed("card").text)
    assert "language" not in front
    assert "Probabilities are not calibrated." in text
    assert "Suspects" not in text
    assert "| `stemmer` | none |" in text


def test_the_old_name_writes_what_report_writes(desk: Path) -> None:
    for arguments in ((TEST, "--license", "mit"), ("--name", "Desk")):
        old = succeed("card", *arguments).text
        succeed("report", *arguments, "--to", "card.md")
        assert (desk / "card.md").read_text(encoding="utf-8") == old
    succeed("report --to card.md --title x")
    assert "\n# x\n" in (desk / "card.md").read_text(encoding="utf-8")
    assert "--license and --to page.html exclude each other" in fail(2, "report", TEST, "--to", "page.html", "--license", "mit")
    refused = nbtext("report", TEST, "--evaluation", "saved.json", "--to", "card.md")
    assert "--evaluation and CORPUS exclude each other" in error_line(refused, 2)

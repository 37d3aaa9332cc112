from __future__ import annotations

from typing import TYPE_CHECKING

from tests.process import PETS, SERVICE_DESK, corpus, fail, in_json, nbtext, succeed
from tests.report_example import Page

if TYPE_CHECKING:
    from pathlib import Path


def test_report_has_the_metrics_of_evaluate(service_desk_model: Path, tmp_path: Path) -> None:
    done = nbtext("report -v", SERVICE_DESK / "test", "-m", service_desk_model)
    assert (done.status, done.out) == (0, b"")
    assert done.notes[-1] == "nbtext: wrote report.html; open it in a browser"
    page = Page((tmp_path / "report.html").read_text(encoding="utf-8"))
    said = in_json("evaluate", SERVICE_DESK / "test", "-m", service_desk_model)
    assert f"evaluated on {said['n']} documents" in page.text
    for figure in ("accuracy", "macro_f1", "ece", "brier", "log_loss"):
        assert f"{said[figure]:.3f}" in page.text
    assert all(label.split("-")[0] in page.text for label in said["classes"])
    marks = page.all("mark")
    assert {mark["class"] for mark in marks} == {"for", "against"}
    assert str(service_desk_model) in page.text


def test_training_corpus_adds_a_learning_curve_and_leakage(
    service_desk_model: Path, tmp_path: Path
) -> None:
    corpora = (SERVICE_DESK / "train", "--learning-curve", SERVICE_DESK / "train")
    succeed("report", *corpora, "-m", service_desk_model)
    page = Page((tmp_path / "report.html").read_text(encoding="utf-8"))
    assert "learning" in {section["class"] for section in page.all("section")}
    assert "These metrics may be too good:" in page.text
    risk, curve = (svg for svg in page.all("svg") if svg["class"] == "chart curve")
    assert risk["aria-label"].startswith("Precision is 100.0\u00a0% for the most probable")
    assert curve["aria-label"].startswith("Learning curve: accuracy goes from")


def test_small_training_corpus_gives_no_learning_curve(pets: Path) -> None:
    done = nbtext("report pets --learning-curve pets")
    assert done.status == 0
    assert [note for note in done.notes if "no learning curve" in note] == [
        "nbtext: warning: no learning curve: 4 documents are too few for 5 folds"
    ]
    assert "learning" not in {
        section["class"]
        for section in Page((pets / "report.html").read_text(encoding="utf-8")).all("section")
    }


def test_same_corpus_and_model_give_identical_reports(
    service_desk_model: Path, tmp_path: Path
) -> None:
    pages = []
    for number in range(2):
        folder = tmp_path / str(number)
        folder.mkdir()
        environment = {"LC_ALL": ("C", "C.UTF-8")[number], "TZ": ("UTC", "Asia/Tokyo")[number]}
        succeed(
            "report", SERVICE_DESK / "test", "-m", service_desk_model, cwd=folder, env=environment
        )
        pages.append((folder / "report.html").read_bytes())
    assert pages[0] == pages[1]


def test_report_uses_the_title_and_output_path(pets: Path) -> None:
    succeed("report pets --to pages.html --title 'Cats & <dogs>'")
    page = Page((pets / "pages.html").read_text(encoding="utf-8"))
    assert [text for element, text in page.texts if element == "h1"] == ["Cats & <dogs>"]
    assert "nbtext report pets --to pages.html --title 'Cats & <dogs>'" in page.text


def test_unknown_labels_are_named(pets: Path) -> None:
    corpus(pets, {"test/newts/1": "a newt on the sofa", "test/cats/1": PETS["cats/1"]})
    done = nbtext("report test")
    assert (done.status, done.notes) == (
        0,
        ["nbtext: warning: labels that the model does not have: newts"],
    )
    assert "newts" in Page((pets / "report.html").read_text(encoding="utf-8")).text


def test_removed_model_card_options_refer_to_the_docs(pets: Path) -> None:
    recipe = "docs/model-card.md fills a model card with the JSON of nbtext inspect and evaluate"
    told = fail(2, "report pets --to card.md")
    assert (
        told
        == f"nbtext: --to card.md would not be Markdown: report writes a page of HTML; {recipe}"
    )
    assert not (pets / "card.md").exists()
    for option in ("--evaluation saved.json", "--license mit", "--dataset pets", "--card"):
        assert (
            fail(2, "report pets", *option.split())
            == f"nbtext: the option {option.split()[0]} was removed; {recipe}"
        )

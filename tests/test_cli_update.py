from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import pytest

from nbtext import TextClassifier
from tests.changing import ADDITIVE, NOT_ADDITIVE
from tests.process import HOUSE, PETS, SERVICE_DESK, corpus, error_line, nbtext, run, succeeded

if TYPE_CHECKING:
    from pathlib import Path

MORE = {"birds/1": "the bird sings in the tree", "cats/3": "a kitten is a young cat", "dogs/3": "the puppy sleeps"}


def options(setting: dict[str, Any]) -> list[str]:
    """The options of `nbtext train` for some parameters."""
    return [f"--{name.replace('_', '-')}={value}" for name, value in setting.items()]


def inspected(folder: Path) -> Any:
    return json.loads(succeeded(nbtext("inspect", "--output", "json", cwd=folder)).out)


@pytest.fixture
def desk(pets: Path) -> Path:
    """`pets`, with further documents in ``more``, and the model trained on both as ``both``."""
    corpus(pets / "more", MORE)
    succeeded(nbtext("train", "pets", "more", "--model", "both", cwd=pets))
    succeeded(nbtext("train", "pets", cwd=pets))
    return pets


@pytest.mark.parametrize("setting", [ADDITIVE[name] for name in ("defaults", "bigrams", "binary", "dirichlet-multinomial")], ids=str)
def test_updates_make_the_file_that_training_makes_and_forgetting_unmakes_it(setting: dict[str, Any], tmp_path: Path) -> None:
    given = options(setting)
    folders = [SERVICE_DESK / "train", SERVICE_DESK / "test"]
    corpus(tmp_path / "c", {**PETS, **MORE})
    for model, paths in (("all", [*folders, "c"]), ("some", folders[:1]), ("daily", folders[:1])):
        succeeded(nbtext("train", *paths, *given, "--model", model, cwd=tmp_path))
    for path in ("c", folders[1]):
        succeeded(nbtext("update", path, "--model", "daily", cwd=tmp_path))
    assert (tmp_path / "daily").read_bytes() == (tmp_path / "all").read_bytes()
    succeeded(nbtext("forget", "c", folders[1], "--model", "daily", cwd=tmp_path))
    assert (tmp_path / "daily").read_bytes() == (tmp_path / "some").read_bytes()


def test_new_classes_and_terms_are_welcome(desk: Path) -> None:
    done = nbtext("update", "more", "-v", cwd=desk)
    assert (done.status, done.out) == (0, b"")
    assert done.notes[0].startswith("nbtext: nbtext.joblib: 3 classes, 7 documents, ")
    assert succeeded(nbtext("classify", "-", cwd=desk, stdin=b"a bird sings")).rows[0][1] == "birds"


def test_documents_are_read_as_those_of_training_but_for_what_options_say(tmp_path: Path) -> None:
    rows = {"a.csv": "topic;body\nx;red apple\n", "b.csv": "topic;body\ny;green pear\n", "c.jsonl": '{"label": "y", "text": "a plum"}\n'}
    corpus(tmp_path, rows)
    reading = ["--label-column", "topic", "--text-column", "body", "--delimiter", ";"]
    succeeded(nbtext("train", "a.csv", "b.csv", *reading, "-m", "both", cwd=tmp_path))
    nbtext("train", "a.csv", *reading, "-q", cwd=tmp_path)
    succeeded(nbtext("update", "b.csv", cwd=tmp_path))
    assert (tmp_path / "nbtext.joblib").read_bytes() == (tmp_path / "both").read_bytes()
    succeeded(nbtext("update", "c.jsonl", "--format", "jsonl", "--label-column", "label", "--text-column", "text", cwd=tmp_path))
    assert inspected(tmp_path)["documents"] == 3
    assert inspected(tmp_path)["reading"]["delimiter"] == ";"


def test_counted_features_and_texts_do_not_meet(tmp_path: Path) -> None:
    corpus(tmp_path, {"t.svm": "x red:2 blue:1\ny green:1\n", "c/x/1": "red", "c/y/1": "green"})
    succeeded(nbtext("train", "t.svm", "-m", "features", cwd=tmp_path))
    succeeded(nbtext("train", "c", "-m", "texts", cwd=tmp_path))
    line = error_line(nbtext("update", "c", "--format", "dir", "-m", "features", cwd=tmp_path), 2)
    assert "was trained on svmlight's counted features, not on texts" in line
    line = error_line(nbtext("update", "t.svm", "--format", "svmlight", "-m", "texts", cwd=tmp_path), 2)
    assert "was trained on texts, not on svmlight's counted features" in line
    succeeded(nbtext("update", "t.svm", "-m", "features", cwd=tmp_path))


def test_an_empty_night_changes_nothing(desk: Path) -> None:
    (desk / "night/cats").mkdir(parents=True)
    before = (desk / "nbtext.joblib").stat().st_ino
    for command in ("update", "forget"):
        assert nbtext(command, "night", "-q", cwd=desk).status == 0
        assert nbtext(command, "night", "-v", cwd=desk).notes == [
            "nbtext: there is nothing to " + ("learn" if command == "update" else "forget"),
            "nbtext: warning: night/cats: no documents in this class",
        ]
    assert (desk / "nbtext.joblib").stat().st_ino == before


def test_documents_that_cannot_be_read_are_named_and_the_rest_is_learnt(desk: Path) -> None:
    corpus(desk, {"more/dogs/bad": b"\0"})
    before = (desk / "nbtext.joblib").read_bytes()
    assert "more/dogs/bad: binary" in error_line(nbtext("update", "more", "--on-error", "fail", cwd=desk), 1)
    assert (desk / "nbtext.joblib").read_bytes() == before
    done = nbtext("update", "more", cwd=desk)
    assert (done.status, done.notes) == (1, ["nbtext: more/dogs/bad: binary, not text (a zero byte at 0)"])
    assert (desk / "nbtext.joblib").read_bytes() == (desk / "both").read_bytes()


def test_a_document_that_was_never_learnt_is_named_and_nothing_is_forgotten(desk: Path) -> None:
    corpus(desk, {"odd/cats/1": PETS["cats/1"], "odd/cats/2": PETS["dogs/1"], "lines.tsv": "dogs\tthe dog barks\n"})
    before = (desk / "nbtext.joblib").read_bytes()
    assert error_line(nbtext("forget", "odd", cwd=desk), 2) == "nbtext: odd/cats/2: was never learnt as 'cats'; nothing is forgotten"
    line = error_line(nbtext("forget", "lines.tsv", "--format", "tsv", cwd=desk), 2)
    assert line == "nbtext: lines.tsv:1: was never learnt as 'dogs'; nothing is forgotten"
    assert error_line(nbtext("forget", "pets", cwd=desk), 2).startswith("nbtext: the model has learnt no other documents")
    assert (desk / "nbtext.joblib").read_bytes() == before


def test_what_makes_the_model_less_useful_than_it_was_is_told_once(desk: Path) -> None:
    corpus(desk, {"c/Cats/1": "another", "d/Cats/1": "and one more"})
    assert "labels that differ only in case" in nbtext("update", "c", cwd=desk).notes[0]
    succeeded(nbtext("update", "d", cwd=desk))
    assert "there is only one class" in nbtext("forget", "pets", "c", cwd=desk).notes[0]


@pytest.mark.parametrize("setting", [NOT_ADDITIVE[name] for name in ("logistic", "tf-idf")], ids=str)
def test_models_that_are_not_made_of_counts_alone_offer_training(setting: dict[str, Any], desk: Path) -> None:
    succeeded(nbtext("train", "pets", "more", *options(setting), cwd=desk))
    kind = f"--classifier {setting['classifier']} --weighting {setting.get('weighting', 'counts')}"
    for command in (
        ["update", "nothing-there"],
        ["forget", "nothing-there"],
        ["relabel", "cats", "c"],
        ["prune", "--min-df", "2"],
    ):
        line = error_line(nbtext(*command, cwd=desk), 2)
        assert line == f"nbtext: a model of {kind} cannot be changed exactly; train it again on all documents"
    line = error_line(nbtext("merge", "both", "nbtext.joblib", "-o", "new", cwd=desk), 2)
    assert line.startswith(f"nbtext: nbtext.joblib: a model of {kind}")


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["update", "more", "-m", "none"], 3, "none: there is no model; make one with nbtext train"),
        (["update", "more", "-m", "more/cats/3"], 3, "more/cats/3: not an nbtext model"),
        (["update", "nothere"], 4, "nothere: cannot read: no such file or directory"),
        (["update"], 2, "Missing argument 'CORPUS...'"),
        (["update", "nbtext.joblib", "--format", "tsv"], 2, "would be read and overwritten"),
        (["update", "more", "--lock-timeout", "-1"], 2, "--lock-timeout"),
        (["forget", "more", "--once"], 2, "nbtext.joblib: the model has no ledger; forget without --once"),
        (["relabel", "cat", "c"], 2, "there is no class 'cat'; there is cats"),
        (["relabel", "cats", ""], 2, "'' cannot be a label; labels are text and not empty"),
        (["relabel", "cats"], 2, "Missing argument 'NEW'"),
        (["relabel", "cats", "c", "-m", "none"], 3, "none: there is no model"),
        (["prune"], 2, "there is no limit to prune by; give --min-df or --max-df"),
        (["prune", "--min-df", "9"], 2, "terms is left; lower --min-df or raise --max-df"),
        (["prune", "--max-df", "1.5"], 2, "--max-df"),
        (["merge", "nbtext.joblib", "-o", "new"], 2, "there is only one model to merge; name two or more"),
        (["merge", "nbtext.joblib", "./nbtext.joblib", "-o", "new"], 2, "./nbtext.joblib: the model is named twice"),
        (["merge", "nbtext.joblib", "none", "-o", "new"], 3, "none: there is no model"),
        (["merge", "nbtext.joblib", "both"], 2, "Missing option '-o' / '--output'"),
        (["merge", "nbtext.joblib", "both", "-o", "pets"], 4, "pets: is a directory"),
        (["merge", "nbtext.joblib", "plain", "-o", "new"], 2, "plain: cannot be added to nbtext.joblib: they do not count alike, by --stemmer"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_told_in_one_line(desk: Path, arguments: list[str], status: int, message: str) -> None:
    succeeded(nbtext("train", "pets", "--stemmer", "none", "-m", "plain", cwd=desk))
    before = {path: path.read_bytes() for path in desk.iterdir() if path.is_file()}
    assert message in error_line(nbtext(*arguments, cwd=desk), status)
    assert {path: path.read_bytes() for path in desk.iterdir() if path.is_file()} == before


def test_models_merged_on_the_command_line(desk: Path) -> None:
    succeeded(nbtext("train", "more", "-m", "second", cwd=desk))
    succeeded(nbtext("merge", "nbtext.joblib", "second", "-o", "new", cwd=desk))
    succeeded(nbtext("merge", "second", "nbtext.joblib", "-o", "second", cwd=desk))
    assert (desk / "new").read_bytes() == (desk / "second").read_bytes() == (desk / "both").read_bytes()


def test_a_class_relabelled_on_the_command_line(desk: Path) -> None:
    rows = "".join(
        f"{'animals' if name.startswith('dogs') else name.partition('/')[0]}\t{text}\n" for name, text in {**PETS, **MORE}.items()
    )
    (desk / "rows.tsv").write_text(rows)
    (desk / "nbtext.joblib").write_bytes((desk / "both").read_bytes())
    succeeded(nbtext("relabel", "dogs", "animals", cwd=desk))
    expected = TextClassifier().fit([*PETS.values(), *MORE.values()], [row.partition("\t")[0] for row in rows.splitlines()])
    expected.reading = TextClassifier.load(str(desk / "both")).reading
    expected.save(str(desk / "expected"))
    assert (desk / "nbtext.joblib").read_bytes() == (desk / "expected").read_bytes()
    succeeded(nbtext("relabel", "cats", "animals", cwd=desk))
    assert {label: of["documents"] for label, of in inspected(desk)["classes"].items()} == {"animals": 6, "birds": 1}


def test_a_pruned_model_is_smaller_and_can_be_updated(desk: Path) -> None:
    (desk / "nbtext.joblib").write_bytes((desk / "both").read_bytes())
    done = nbtext("prune", "--min-df", "2", "-v", cwd=desk)
    assert done.notes[0] == "nbtext: removed 13 of 17 terms"
    assert (desk / "nbtext.joblib").stat().st_size < (desk / "both").stat().st_size
    corpus(desk, {"new/fish/1": "the fish and the cat", "gone/cats/1": PETS["cats/1"]})
    succeeded(nbtext("update", "new", cwd=desk))
    assert (inspected(desk)["terms"], inspected(desk)["closed_vocabulary"]) == (4, True)
    assert "vocabulary   4; pruned, so no others are learnt\n" in succeeded(nbtext("inspect", cwd=desk)).text
    assert succeeded(nbtext("forget", "new", "gone", cwd=desk)).out == b""
    assert inspected(desk)["documents"] == 6


def test_a_given_class_prior_has_to_know_a_new_class(desk: Path) -> None:
    (desk / "prior").write_text("cats\t1\ndogs\t3\n")
    succeeded(nbtext("train", "pets", "--class-prior", "prior", cwd=desk))
    before = (desk / "nbtext.joblib").read_bytes()
    assert "the class prior has no number for class 'birds'" in error_line(nbtext("update", "more", cwd=desk), 2)
    assert (desk / "nbtext.joblib").read_bytes() == before
    succeeded(nbtext("relabel", "dogs", "birds", cwd=desk))
    assert {label: of["prior"] for label, of in inspected(desk)["classes"].items()} == {"birds": 0.75, "cats": 0.25}


def test_another_version_of_the_stemmer_is_told_of_once(desk: Path) -> None:
    model = TextClassifier.load(str(desk / "nbtext.joblib"))
    now = model.written_by["PyStemmer"]
    model.written_by["PyStemmer"] = "1.0"
    model.save(str(desk / "nbtext.joblib"))
    done = nbtext("update", "more", cwd=desk)
    text = f"the words of the model were stemmed by PyStemmer 1.0, these are by {now}; where stems differ, train again"
    assert (done.status, done.notes) == (0, [f"nbtext: warning: {text}"])
    assert (desk / "nbtext.joblib").read_bytes() == (desk / "both").read_bytes()
    succeeded(nbtext("forget", "more", cwd=desk))


def test_several_processes_count_for_an_update(desk: Path) -> None:
    rows = [f"{label}\t{words} {number // 2}\n" for number in range(60) for label, words in (("x", "ant bee"), ("y", "cat"))]
    (desk / "rows.tsv").write_text("".join(rows))
    before, earlier = (desk / "nbtext.joblib").read_bytes(), TextClassifier.load(str(desk / "nbtext.joblib")).statistics
    for once in ([], ["--once"]):
        files = []
        for shards in ([], [sys.executable, "-m", "tests.small_shards", "200"]):
            jobs = ["rows.tsv", "--format", "tsv", "-q", *(["--jobs", "2"] if shards else [])]
            command = shards or [sys.executable, "-m", "nbtext"]
            (desk / "nbtext.joblib").write_bytes(before)
            succeeded(run([*command, "update", *jobs, *once], cwd=desk, env=HOUSE))
            files.append((desk / "nbtext.joblib").read_bytes())
            succeeded(run([*command, "forget", *jobs, *once], cwd=desk, env=HOUSE))
            assert TextClassifier.load(str(desk / "nbtext.joblib")).statistics == earlier
            (desk / "nbtext.joblib.ledger").unlink(missing_ok=True)
        assert files[0] == files[1]

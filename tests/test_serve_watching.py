from __future__ import annotations

import json
from threading import Thread
from typing import TYPE_CHECKING

import pytest

from nbtext import TextClassifier
from nbtext.prediction.rule import DecisionRule
from nbtext.report.predictions import PredictionWriter
from nbtext.serve.served_model import ServedModel
from nbtext.serve.watching import ModelInUse, learn
from tests.process import PET_FILES, corpus, succeed, wait_until, write
from tests.services import JSON, Service

if TYPE_CHECKING:
    from pathlib import Path


def build(model: TextClassifier) -> ServedModel:
    """A model without options."""
    return ServedModel(
        model, DecisionRule(), None, 0.0, iter, PredictionWriter("jsonl"), {}, model.reading
    )


def model_in_use(path: str | None = None, log: list[str] | None = None) -> ModelInUse:
    """The model of the folder ``pets``, or in a file."""
    if path is None:
        TextClassifier().fit_corpus("pets").save("m")
        path = "m"
    lines = [] if log is None else log
    return ModelInUse(path, build, lines.append)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    corpus(tmp_path, PET_FILES)
    corpus(tmp_path, {"more/fish/1": "the goldfish swims", "more/dogs/3": "the puppy barks"})
    succeed("train", "pets", "-m", "m", cwd=tmp_path)
    succeed("train", "pets", "more", "-m", "new", cwd=tmp_path)
    return tmp_path


def test_a_promoted_model_is_used_while_requests_run(folder: Path) -> None:
    with Service(folder=folder) as service:
        old = service.ask("/model").record["model"]
        replies: list[tuple[int, str]] = []

        def ask() -> None:
            while not replies or replies[-1][1] == old:
                reply = service.ask("/classify", "the goldfish")
                replies.append((reply.status, reply.record["model"]))

        clients = [Thread(target=ask) for _ in range(4)]
        for client in clients:
            client.start()
        wait_until(lambda: len(replies) > 20, "replies")
        succeed("promote", "new", "-m", "m", cwd=folder)
        for client in clients:
            client.join()
        assert {status for status, _ in replies} == {200}
        assert len({model for _, model in replies}) == 2
        assert service.ask("/classify", "goldfish swims").record["label"] == "fish"
        assert sum("now in use: model " in line for line in service.log) == 1


@pytest.mark.parametrize("damage", ["cut", "other", "gone", "folder"])
def test_a_broken_model_is_logged_and_the_old_one_stays(folder: Path, damage: str) -> None:
    with Service(folder=folder) as service:
        old = service.ask("/classify", "the cat").body
        (folder / "m").unlink()
        if damage == "cut":
            (folder / "m").write_bytes((folder / "new").read_bytes()[:-9])
        elif damage == "other":
            (folder / "m").write_bytes(b"no model")
        elif damage == "folder":
            (folder / "m").mkdir()
        wait_until(lambda: any("model in use stays" in line for line in service.log), "a line")
        assert service.ask("/classify", "the cat").body == old
        if damage == "folder":
            (folder / "m").rmdir()
        (folder / "new").rename(folder / "m")
        wait_until(lambda: len(service.ask("/model").record["classes"]) == 3, "the model")
        assert sum("model in use stays" in line for line in service.log) == 1


def test_a_model_that_does_not_fit_the_options_is_not_used(folder: Path) -> None:
    write(str(folder / "costs"), "[dogs]\ncats = 2\n")
    succeed("train", "more", "-m", "new", cwd=folder)
    with Service("--costs", "costs", folder=folder) as service:
        succeed("promote", "new", "-m", "m", cwd=folder)
        wait_until(lambda: any("model in use stays" in line for line in service.log), "a line")
        assert service.ask("/model").record["classes"] == ["cats", "dogs"]


def test_learning_gives_the_model_of_a_quick_update(folder: Path) -> None:
    old = TextClassifier.load(str(folder / "m"))
    before = old.counts
    [document] = build(old).read(b"", b'{"text": "the hamster runs"}\n')
    learnt = learn(old, [document._replace(label="dogs")])
    assert old.counts is before
    write(str(folder / "c.jsonl"), '{"id": "1", "label": "dogs", "text": "the hamster runs"}\n')
    succeed("update", "--quick", "c.jsonl", "-m", "m", cwd=folder)
    learnt.save(str(folder / "learnt"))
    assert (folder / "learnt").read_bytes() == (folder / "m").read_bytes()


def test_the_service_learns_corrections_and_writes_them_at_the_end(folder: Path) -> None:
    with Service("--corrections", "c.jsonl", "--learn", folder=folder) as service:
        body = json.dumps({"text": "the hamster runs and runs", "label": "dogs"})
        assert service.ask("/correct", body, JSON).status == 200
        wait_until(
            lambda: service.ask("/classify", "a hamster").record.get("notice") is None, "learning"
        )
        # Another process changes the model meanwhile. Both changes are kept.
        succeed("update", "more", "-m", "m", cwd=folder)
        wait_until(lambda: len(service.ask("/model").record["classes"]) == 3, "the update")
        wait_until(
            lambda: service.ask("/classify", "a hamster").record.get("notice") is None, "learning"
        )
        assert service.stop() == 0
    succeed("train", "pets", "more", "-m", "other", cwd=folder)
    succeed("update", "--quick", "c.jsonl", "-m", "other", cwd=folder)
    assert (folder / "other").read_bytes() == (folder / "m").read_bytes()


def test_corrections_that_cannot_be_saved_at_the_end_are_reported(folder: Path) -> None:
    with Service("--corrections", "c.jsonl", "--learn", folder=folder) as service:
        body = json.dumps({"text": "the hamster runs", "label": "dogs"})
        assert service.ask("/correct", body, JSON).status == 200
        (folder / "m").unlink()
        assert service.stop() == 3
        assert service.log[-1] == (
            "nbtext: m: 1 correction could not be added; add the last lines of the --corrections "
            "file with nbtext update"
        )
    assert "hamster" in (folder / "c.jsonl").read_text()


def test_saving_keeps_what_other_processes_wrote(folder: Path) -> None:
    log: list[str] = []
    used = model_in_use(str(folder / "m"), log)
    [document] = used.served.read(b"", b'{"text": "the hamster runs"}\n')
    used.add(document._replace(label="dogs"))
    succeed("promote", "new", "-m", "m", cwd=folder)
    used.start()
    used.stop()
    assert used.served.model.classes == ["cats", "dogs", "fish"]
    assert (
        used.served.fitted.fingerprint == TextClassifier.load(str(folder / "m")).fitted.fingerprint
    )
    assert used.served.model.counts.labelled_statistics.n_documents == 7
    assert [line for line in log if "written" in line] == [
        "written: the model with 1 more corrections"
    ]

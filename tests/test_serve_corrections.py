from __future__ import annotations

import json
import os
import signal
from http.client import HTTPException
from threading import Thread
from typing import TYPE_CHECKING

import pytest

from nbtext import TextClassifier
from nbtext.errors import PathError
from nbtext.serve.corrections import CorrectionFile
from tests.process import PET_FILES, corpus, fail, json_lines, nbtext, succeed, wait_until, write
from tests.services import JSON, Service

if TYPE_CHECKING:
    from pathlib import Path

KEYS = ["id", "text", "label", "predicted", "model", "time"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    corpus(tmp_path, PET_FILES)
    succeed("train", "pets", "-m", "m", cwd=tmp_path)
    return tmp_path


def correct(service: Service, **record: object) -> dict[str, object]:
    reply = service.ask(
        "/correct", json.dumps({"text": "the cat", "label": "dogs", **record}), JSON
    )
    assert reply.status == 200, reply
    stored: dict[str, object] = reply.record
    return stored


def test_a_correction_is_a_line_of_json_with_the_prediction(folder: Path) -> None:
    with Service("--corrections", "c.jsonl", folder=folder) as service:
        first = correct(service)
        named = correct(service, id="mail 7", text="der Kater\n\u2028läuft")
        before = service.ask("/classify", "the cat").body
    assert list(first) == KEYS
    assert (first["text"], first["label"], first["predicted"]) == ("the cat", "dogs", "cats")
    assert first["model"] == TextClassifier.load(str(folder / "m")).fitted.fingerprint
    assert named["id"] == "mail 7"
    assert json_lines((folder / "c.jsonl").read_bytes()) == [
        first,
        named,
    ]
    assert (folder / "c.jsonl").stat().st_mode & 0o777 == 0o600
    # Nothing is learnt without --learn.
    assert (
        nbtext("classify", "-", "-m", "m", "-o", "jsonl", cwd=folder, stdin=b"the cat").out
        == before
    )


def test_update_reads_corrections_without_options(folder: Path) -> None:
    with Service("--corrections", "c.jsonl", folder=folder) as service:
        correct(service)
        correct(service, text="Subject: a hamster\n\nruns", label="cats")
    succeed("update", "c.jsonl", "-m", "m", cwd=folder)
    corpus(folder, {"pets/dogs/x": "the cat", "pets/cats/x": "Subject: a hamster\n\nruns"})
    succeed("train", "pets", "-m", "other", cwd=folder)
    assert (folder / "m").read_bytes() == (folder / "other").read_bytes()


@pytest.mark.parametrize("options", [[], ["--set", "tag-fields=subject"], ["--headers", "from"]])
def test_corrections_of_mail_keep_its_fields(folder: Path, options: list[str]) -> None:
    mails = {
        f"mail/{label}/{number}": f"Subject: {word} {number}\n\n{word} text\n"
        for number in range(3)
        for label, word in (("ham", "meeting"), ("spam", "prize"))
    }
    corpus(folder, mails)
    options = ["--document", "mail", *options]
    succeed("train", "mail", "-m", "m", *options, cwd=folder)
    with Service("--corrections", "c.jsonl", folder=folder) as service:
        form = service.ask("/").body
        csrf = form.partition(b'name="csrf" value="')[2].partition(b'"')[0].decode()
        body = f"csrf={csrf}&mail=1&label=ham&text=Subject:+prize+draw%0D%0A%0D%0AFrom:+talk%0D%0A"
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        assert service.ask("/correct", body, headers).status == 200
    succeed("update", "c.jsonl", "-m", "m", cwd=folder)
    corpus(folder, {"mail/ham/x": "Subject: prize draw\n\nFrom: talk\n"})
    succeed("train", "mail", "-m", "other", *options, cwd=folder)
    assert (folder / "m").read_bytes() == (folder / "other").read_bytes()


def test_train_relabels_documents_by_their_last_correction(folder: Path) -> None:
    with Service("--corrections", "c.jsonl", folder=folder) as service:
        correct(service, id="pets/cats/2", label="cats")
        correct(service, id="pets/cats/2", label="dogs")
    succeed("train", "pets", "--relabel", "c.jsonl", "-m", "m", cwd=folder)
    (folder / "pets/cats/2").rename(folder / "pets/dogs/9")
    succeed("train", "pets", "-m", "other", cwd=folder)
    assert (folder / "m").read_bytes() == (folder / "other").read_bytes()
    write(str(folder / "c.jsonl"), '{"id": "pets/cats/1", "label": "dogs"}\n')
    line = fail(4, "train", "pets", "--relabel", "c.jsonl", "-m", "m", cwd=folder)
    assert "c.jsonl:1: is not a correction" in line


@pytest.mark.parametrize("round_number", range(3))
def test_confirmed_corrections_survive_a_kill(folder: Path, round_number: int) -> None:
    service = Service("--corrections", "c.jsonl", folder=folder)
    confirmed: list[str] = []

    def send(client: int) -> None:
        number = 0
        while True:
            name = f"{client}-{number}"
            body = json.dumps({"id": name, "text": "the cat " * 5000, "label": "dogs"})
            try:
                reply = service.ask("/correct", body, JSON)
            except (OSError, HTTPException):
                return
            assert reply.status == 200
            confirmed.append(name)
            number += 1

    clients = [Thread(target=send, args=(client,)) for client in range(4)]
    for client in clients:
        client.start()
    wait_until(lambda: len(confirmed) > 10 * (round_number + 1), "corrections")
    service.process.send_signal(signal.SIGKILL)
    service.process.wait()
    for client in clients:
        client.join()
    with Service("--corrections", "c.jsonl", folder=folder) as again:
        assert correct(again, id="last")["id"] == "last"
    names = [line["id"] for line in json_lines((folder / "c.jsonl").read_bytes())]
    assert set(confirmed) <= set(names)
    assert len(set(names)) == len(names)


def test_the_file_may_be_moved_away_meanwhile(folder: Path) -> None:
    with Service("--corrections", "c.jsonl", folder=folder) as service:
        correct(service, id="1")
        (folder / "c.jsonl").rename(folder / "done.jsonl")
        correct(service, id="2")
    names = [
        line["id"]
        for name in ("done.jsonl", "c.jsonl")
        for line in json_lines((folder / name).read_bytes())
    ]
    assert names == ["1", "2"]


@pytest.mark.parametrize("half", [b"{", b'{"id": "', b'{"id": "2", "text": "' + b"x" * (3 << 20)])
def test_half_of_a_line_is_removed(tmp_path: Path, half: bytes) -> None:
    path = tmp_path / "c"
    whole = b'{"id": "1"}\n'
    path.write_bytes(whole + half)
    file = CorrectionFile(str(path))
    assert path.read_bytes() == whole
    path.write_bytes(half)
    file.append(whole)
    assert path.read_bytes() == whole


@pytest.mark.parametrize("content", [b"notes", b"notes\n", b'{"id": "1"}\nnotes', b"[]\n"])
def test_a_file_of_other_content_is_left_unchanged(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "c"
    path.write_bytes(content)
    with pytest.raises(PathError, match="is not a file of corrections"):
        CorrectionFile(str(path))
    assert path.read_bytes() == content


def test_a_correction_that_cannot_be_written_is_not_confirmed(folder: Path) -> None:
    with Service("--corrections", "c.jsonl", folder=folder) as service:
        (folder / "c.jsonl").unlink()
        (folder / "c.jsonl").mkdir()
        reply = service.ask("/correct", b'{"text": "x", "label": "dogs"}', JSON)
        assert (reply.status, list(reply.record)) == (500, ["error"])
        assert any("c.jsonl: cannot write" in line for line in service.log)
        os.rmdir(folder / "c.jsonl")
        correct(service)


def test_without_the_option_corrections_are_refused(folder: Path) -> None:
    with Service(folder=folder) as service:
        reply = service.ask("/correct", b'{"text": "x", "label": "dogs"}', JSON)
        assert (reply.status, "--corrections FILE" in reply.record["error"]) == (404, True)
        assert b"formaction" not in service.ask("/", b"text=cat", JSON).body

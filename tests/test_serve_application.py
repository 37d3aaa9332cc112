"""The routes of the service, by the real command on a socket. Also tests `serve/requests.py` and `serve/served_model.py`."""

from __future__ import annotations

import io
import json
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtext.serve.application import Application
from nbtext.serve.requests import Guard
from tests.process import PET_FILES, corpus, error_line, nbtext, succeed
from tests.profiles import examples
from tests.services import FORM, JSON, JSON_LINES, Service
from tests.test_serve_watching import model_in_use

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MAIL = b"From ann Sat\nx-nbtext: forged\nSubject: the dog\n\nbarks at the postman\n"
RECORDS = b'{"text": "the cat purrs"}\n{"text": "dogs bark"}\n'


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = corpus(tmp_path_factory.mktemp("served"), PET_FILES)
    succeed("train", "pets", "-m", "m", cwd=made)
    return made


@pytest.fixture(scope="module")
def service(folder: Path) -> Iterator[Service]:
    with Service("--corrections", "corrections", "--timeout", "2", folder=folder) as running:
        yield running


@pytest.mark.parametrize(
    ("command", "headers", "options", "body"),
    [
        ("classify", {}, [], b"the cat purrs"),
        ("classify", FORM, [], b"the cat purrs & barks=1"),
        ("classify", {"Content-Type": "text/plain; charset=utf-8"}, [], "Müll".encode()),
        ("classify", {}, [], b""),
        ("classify", {}, [], b"\xff\xfe\x00\xd8"),
        ("classify", JSON_LINES, ["--format", "jsonl"], RECORDS),
        ("classify", JSON_LINES, ["--format", "jsonl"], b'{"text": "a"}\n{"body": "b"}\n'),
        ("explain", {}, [], b"the cat purrs"),
        ("explain", JSON_LINES, ["--format", "jsonl"], RECORDS),
    ],
)
def test_records_are_those_of_the_command(
    service: Service,
    folder: Path,
    command: str,
    headers: dict[str, str],
    options: list[str],
    body: bytes,
) -> None:
    printed = nbtext(command, "-", "-m", "m", "-o", "jsonl", *options, cwd=folder, stdin=body)
    reply = service.ask(f"/{command}", body, headers)
    if printed.status in (0, 1):
        assert (reply.status, reply.body) == (200, printed.out)
    else:
        assert reply.status == 400
        assert reply.record["error"] in error_line(printed, printed.status)


def test_a_list_and_an_object_of_json_are_records(service: Service) -> None:
    lines = service.ask("/classify", RECORDS, JSON_LINES).body
    records = [json.loads(line) for line in RECORDS.splitlines()]
    assert service.ask("/classify", json.dumps(records), JSON).body == lines
    assert (
        service.ask("/classify", json.dumps(records[0], indent=1), JSON).body
        == (lines.splitlines(keepends=True)[0])
    )


@pytest.mark.parametrize("options", [["--limit", "2"], ["--scores"], ["--min-probability", "0.9"]])
def test_options_of_predictions_are_those_of_classify(
    folder: Path, tmp_path: Path, options: list[str]
) -> None:
    corpus(tmp_path, {})
    printed = nbtext(
        "classify", "-", "-m", "m", "-o", "jsonl", *options, cwd=folder, stdin=b"cats bark"
    )
    (tmp_path / "m").write_bytes((folder / "m").read_bytes())
    with Service(*options, folder=tmp_path) as running:
        assert running.ask("/classify", "cats bark").body == printed.out


def test_explain_compares_with_the_class_of_the_query(service: Service) -> None:
    assert service.ask("/explain?against=dogs", "the cat").record["against"] == "dogs"
    reply = service.ask("/explain?against=cows", "the cat")
    assert (reply.status, "no class 'cows'" in reply.record["error"]) == (400, True)


@pytest.mark.parametrize(
    "message",
    [MAIL, b"", b"\n", b"no mail at all", b"\x00\xff\r\n\r\n\x80", MAIL * 400, b" x\n\ny"],
)
def test_filter_returns_what_the_mail_filter_writes(
    service: Service, folder: Path, message: bytes
) -> None:
    printed = nbtext("classify", "--mail-filter", "-m", "m", cwd=folder, stdin=message)
    reply = service.ask("/filter", message, FORM)
    assert (reply.status, reply.body) == (200, printed.out)


def test_filter_returns_a_message_that_is_too_long_for_the_model(tmp_path: Path) -> None:
    succeed("train", corpus(tmp_path / "c", PET_FILES) / "pets", "-m", "m", cwd=tmp_path)
    with Service("--set", "max-document-size=60", folder=tmp_path) as running:
        reply = running.ask("/filter", b"Subject: x\n\n" + b"y" * 60)
        assert "a message was not classified: larger than" in running.log[1]
    assert reply.body == b"X-Nbtext: ; reason=error\nSubject: x\n\n" + b"y" * 60


def test_model_and_health_name_the_model(service: Service) -> None:
    model = service.ask("/model").record
    assert model["classes"] == ["cats", "dogs"]
    assert service.ask("/health").record == {"status": "ok", "model": model["model"]}


@pytest.mark.parametrize(
    ("path", "body", "headers", "status"),
    [
        ("/classify", b"{", JSON, 400),
        ("/classify", b"[1]", JSON, 400),
        ("/classify", b"1", JSON, 400),
        ("/classify", b"[" * 100_000, JSON, 400),
        ("/classify", b'{"text": "a", "text": "b"}', JSON, 400),
        ("/classify", b"\x89PNG", {"Content-Type": "image/png"}, 415),
        ("/classify", b"\x1f\x8b", {"Content-Encoding": "gzip"}, 415),
        ("/explain", b"x", {"Content-Type": "multipart/form-data"}, 415),
        ("/classify", None, {}, 405),
        ("/health", b"x", {}, 405),
        ("/nowhere", None, {}, 404),
        ("/../m", None, {}, 404),
        ("/correct", b"label=dogs&text=x", FORM, 403),
        ("/correct", b"x", {"Content-Type": "text/plain"}, 415),
        ("/correct", b'{"id": {"a": 1}, "text": "a", "label": "cats"}', JSON, 400),
        ("/correct", b'{"text": "x"}', JSON, 400),
        ("/correct", b'{"text": "x", "label": "cows"}', JSON, 400),
        ("/correct", b'{"text": "x", "label": ["cats", "dogs"]}', JSON, 400),
        ("/correct", b'{"text": "x", "label": []}', JSON, 400),
        ("/correct", b'{"text": "x", "label": {}}', JSON, 400),
        ("/correct", b'{"body": "x", "label": "dogs"}', JSON, 200),
        ("/classify", b"x", {"Host": "evil.example"}, 403),
        ("/classify", b"x", {"Host": "[::1"}, 403),
        ("/classify", b"x", {"Origin": "http://evil.example"}, 403),
        ("/classify", b"x", {"Origin": "null"}, 403),
        ("/classify", b"x", {"Host": "localhost:8", "Origin": "http://localhost:9"}, 403),
        ("/classify", b"x", {"Host": "localhost:8", "Origin": "http://localhost:8"}, 200),
    ],
)
def test_wrong_requests_get_a_status_and_lines(
    service: Service, path: str, body: bytes | None, headers: dict[str, str], status: int
) -> None:
    n_lines = len(service.log)
    reply = service.ask(path, body, headers)
    assert reply.status == status
    if status != 200:
        assert list(reply.record) == ["error"]
        assert b"Traceback" not in reply.body
    [line] = service.log[n_lines:]
    assert f" {status}: " in line
    assert "evil" not in line


def test_a_wrong_method_is_refused(service: Service) -> None:
    for method in ("PUT", "DELETE", "OPTIONS", "HEAD", "BREW"):
        assert service.ask("/classify", b"x", method=method).status == 405


def test_a_message_comes_back_when_its_request_is_refused(service: Service) -> None:
    reply = service.ask("/filter", MAIL, {"Host": "evil.example"})
    assert (reply.status, reply.body) == (403, MAIL)


def test_the_log_has_no_text_of_documents(service: Service) -> None:
    service.ask("/classify", "secretive")
    service.ask("/classify?text=secretive", "x")
    service.ask("/secretive", "x")
    service.ask("/classify", b'{"secretive', JSON)
    assert "secretive" not in "".join(service.log)


def test_a_model_of_columns_reads_its_columns(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("label,message,size\n" + "a,hello world,1\nb,bye moon,9\n" * 3)
    succeed(
        "train", "t.csv", "--text-column", "message", "--numeric", "size", "-m", "m", cwd=tmp_path
    )
    with Service("--corrections", "fixed.jsonl", folder=tmp_path) as running:
        record = b'{"message": "hello", "size": 1.5}'
        printed = nbtext(
            *("classify", "-", "-m", "m", "-o", "jsonl", "--format", "jsonl"),
            cwd=tmp_path,
            stdin=record,
        )
        assert running.ask("/classify", record, JSON).body == printed.out
        stored = running.ask("/correct", record[:-1] + b', "label": "b"}', JSON).record
        assert (stored["text"], stored["size"], stored["predicted"]) == ("hello", "1.5", "a")


def test_a_model_of_many_labels_takes_a_list(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("label,text\n" + "a;b,hello world\nb,bye moon\na,hello\n" * 5)
    succeed("train", "t.csv", "--label-separator", ";", "-m", "m", cwd=tmp_path)
    with Service("--corrections", "fixed.jsonl", folder=tmp_path) as running:
        printed = nbtext("classify", "-", "-m", "m", "-o", "jsonl", cwd=tmp_path, stdin=b"hello")
        assert running.ask("/classify", "hello").body == printed.out
        for label, stored in (["b", "a"], ["a", "b"]), ([], []), ("a", ["a"]):
            body = json.dumps({"text": "moon", "label": label})
            assert running.ask("/correct", body, JSON).record["label"] == stored
        page = running.ask("/", b"text=hello", FORM).body
        assert page.count(b'type="checkbox" name="label"') == 2


def test_a_model_with_a_column_of_paths_reads_no_files_for_requests(tmp_path: Path) -> None:
    corpus(tmp_path, {"a.txt": "hello", "b.txt": "bye", "t.csv": "label,file\nx,a.txt\ny,b.txt\n"})
    succeed("train", "t.csv", "--file-column", "file", "-m", "m", cwd=tmp_path)
    with Service(folder=tmp_path) as running:
        assert running.ask("/classify", b'{"file": "a.txt"}', JSON).status == 400


def environ_of(path: str, body: Any, **headers: str) -> dict[str, Any]:
    """The request of WSGI. The body may be an object with a method ``read``."""
    stream = io.BytesIO(body) if isinstance(body, bytes) else body
    return {"REQUEST_METHOD": "POST", "PATH_INFO": path, "wsgi.input": stream, **headers}


def call(application: Application, environ: dict[str, Any]) -> tuple[int, bytes]:
    statuses: list[str] = []
    body = b"".join(application(environ, lambda status, _: statuses.append(status)))
    return int(statuses[0].split()[0]), body


class Slow:
    """A body that is read when ``may_end`` is set."""

    def __init__(self) -> None:
        self.has_begun, self.may_end = Event(), Event()

    def read(self) -> bytes:
        self.has_begun.set()
        self.may_end.wait()
        return b"the cat"


def test_a_full_service_refuses_requests_and_returns_messages(pets: Path) -> None:
    del pets
    application = Application(model_in_use(), Guard(None), lambda _: None, max_requests=1)
    slow = Slow()
    replies: list[tuple[int, bytes]] = []
    first = Thread(target=lambda: replies.append(call(application, environ_of("/classify", slow))))
    first.start()
    slow.has_begun.wait()
    status, body = call(application, environ_of("/classify", b"x"))
    assert (status, list(json.loads(body))) == (429, ["error"])
    assert call(application, environ_of("/filter", MAIL)) == (429, MAIL)
    slow.may_end.set()
    first.join()
    assert replies[0][0] == 200
    assert call(application, environ_of("/classify", b"x"))[0] == 200


def test_the_token_is_needed_if_there_is_one(pets: Path) -> None:
    del pets
    application = Application(model_in_use(), Guard("sécret"), lambda _: None, max_requests=9)

    def ask(**headers: str) -> int:
        return call(application, environ_of("/classify", b"x", **headers))[0]

    assert ask() == 401
    for wrong in ("Bearer", "Bearer secret", "Basic", "Basic !", "Digest x", "Bearer sécre"):
        assert ask(HTTP_AUTHORIZATION=wrong) == 401
    assert ask(HTTP_AUTHORIZATION="Bearer sécret", HTTP_HOST="desk.example") == 200
    assert ask(HTTP_AUTHORIZATION="bAsIc OnPDqWNyZXQ=") == 200
    assert ask(HTTP_AUTHORIZATION="Bearer sécret", HTTP_ORIGIN="http://evil") == 403
    health = {**environ_of("/health", b""), "REQUEST_METHOD": "GET"}
    assert call(application, health)[0] == 200


@examples(150)
@given(
    path=st.sampled_from(["/classify", "/explain", "/correct", "/filter", "/"]),
    media_type=st.sampled_from(
        ["", "application/json", "application/x-ndjson", "x/y", FORM["Content-Type"]]
    ),
    body=st.one_of(
        st.binary(max_size=200),
        st.recursive(
            st.one_of(st.none(), st.booleans(), st.floats(), st.text(max_size=5)),
            lambda inner: st.one_of(
                st.lists(inner, max_size=3),
                st.dictionaries(st.sampled_from(["text", "label", "id", "x"]), inner, max_size=3),
            ),
            max_leaves=6,
        ).map(lambda value: json.dumps(value).encode()),
    ),
)
def test_no_body_causes_an_internal_error(
    application_of_pets: Application, path: str, media_type: str, body: bytes
) -> None:
    status, answer = call(application_of_pets, environ_of(path, body, CONTENT_TYPE=media_type))
    assert status in (200, 400, 403, 404, 415), answer
    if path == "/filter":
        head, _, rest = answer.partition(b"X-Nbtext: ")
        assert status == 200
        assert len(head) + len(rest) >= len(body)


@pytest.fixture(scope="module")
def application_of_pets(folder: Path) -> Application:
    return Application(model_in_use(str(folder / "m")), Guard(None), lambda _: None, max_requests=9)

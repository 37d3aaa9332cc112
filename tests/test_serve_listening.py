from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from threading import Thread
from typing import TYPE_CHECKING

import pytest

from tests.process import ENVIRONMENT, PET_FILES, TIME_LIMIT, corpus, fail, succeed, wait_until
from tests.services import JSON, Service, connect, read_all

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = corpus(tmp_path_factory.mktemp("listening"), PET_FILES)
    succeed("train", "pets", "-m", "m", cwd=made)
    return made


@pytest.fixture(scope="module")
def service(folder: Path) -> Iterator[Service]:
    with Service("--timeout", "1", "--max-size", "2K", folder=folder) as running:
        yield running


def post(length: int, body: bytes = b"", headers: bytes = b"") -> bytes:
    """A request as bytes."""
    return b"POST /classify HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n%b\r\n%b" % (
        length,
        headers,
        body,
    )


@pytest.mark.parametrize(
    ("content", "status"),
    [
        (b"nonsense\r\n\r\n", 400),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400),
        (post(-1), 400),
        (post(3000, b"x" * 3000), 413),
        (post(2049), 413),
        (
            b"POST /classify HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nBA0\r\n"
            + b"x" * 2976
            + b"\r\n0\r\n\r\n",
            413,
        ),
        (b"POST /classify HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400),
        (b"POST /classify HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n", 501),
        (b"GET /health HTTP/1.1\r\nX: " + b"x" * 40_000 + b"\r\n\r\n", 431),
        (b"GET /health HTTP/1.1\r\n" + b"X: y\r\n" * 7000 + b"\r\n", 431),
        (post(10, b"slow"), 408),
        (b"POST /classify HTTP/1.1\r\nHost: loc", 408),
    ],
)
def test_requests_that_cannot_be_received_get_a_status_and_lines(
    service: Service, content: bytes, status: int
) -> None:
    n_lines = len(service.log)
    head, _, body = service.send(content).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.")
    assert int(head.split()[1]) == status
    assert list(json.loads(body)) == ["error"]
    assert f" {status}: " in service.log[n_lines]


def test_a_body_that_trickles_in_is_refused(service: Service) -> None:
    with connect(service.path) as connection:
        connection.sendall(post(1000))
        answer = b""
        connection.settimeout(0.1)
        while not answer:
            connection.sendall(b"x")
            try:
                answer = connection.recv(1000)
            except TimeoutError:
                continue
    assert answer.startswith(b"HTTP/1.1 408 ")


def test_a_request_that_is_cut_off_changes_nothing(service: Service) -> None:
    for content in (b"", b"POST", post(10), post(10, b"half")):
        with connect(service.path) as connection:
            connection.sendall(content)
    assert service.ask("/health").status == 200


def test_one_connection_takes_many_requests(service: Service) -> None:
    with connect(service.path) as connection:
        connection.sendall(
            post(3, b"cat") + post(3, b"dog") + post(3, b"cat", b"Connection: close\r\n")
        )
        answer = read_all(connection)
    assert answer.count(b"HTTP/1.1 200 OK") == 3


def test_a_packed_body_may_not_unpack_to_more_than_the_limit(service: Service) -> None:
    import gzip

    for n, status in ((10, 200), (50_000, 400)):
        body = gzip.compress(b'{"text": "x"}\n' * n)
        assert len(body) < 2048
        reply = service.ask("/classify", body, {"Content-Type": "application/x-ndjson"})
        assert reply.status == status


def test_only_the_owner_can_use_the_socket(service: Service) -> None:
    assert service.path.stat().st_mode & 0o777 == 0o600


def test_a_second_service_does_not_take_the_socket(service: Service, folder: Path) -> None:
    line = fail(4, "serve", "--socket", "socket", "-m", "m", cwd=folder)
    assert line.startswith("nbtext: socket: cannot listen: address already in use")
    assert service.ask("/health").status == 200


def test_the_socket_of_a_killed_service_is_replaced(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "m").write_bytes((folder / "m").read_bytes())
    killed = Service(folder=tmp_path)
    killed.process.send_signal(signal.SIGKILL)
    killed.process.wait()
    assert killed.path.exists()
    with Service(folder=tmp_path) as service:
        assert service.ask("/health").status == 200
    assert not killed.path.exists()


def test_a_file_that_is_no_socket_stays(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "socket").write_text("mine")
    line = fail(4, "serve", "--socket", tmp_path / "socket", "-m", "m", cwd=folder)
    assert "is not a socket" in line
    assert (tmp_path / "socket").read_text() == "mine"
    long = str(tmp_path / ("x" * 200))
    assert "cannot listen" in fail(4, "serve", "--socket", long, "-m", "m", cwd=folder)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("port", [False, True])
def test_a_signal_ends_the_service_after_its_requests(
    folder: Path, tmp_path: Path, number: int, port: bool
) -> None:
    (tmp_path / "m").write_bytes((folder / "m").read_bytes())
    service = Service(folder=tmp_path, port=port)
    begun = service.connection()
    begun.connect()
    assert begun.sock is not None
    begun.sock.sendall(post(7, b"the "))
    statuses: list[int] = []

    def ask() -> None:
        statuses.append(service.ask("/classify", b"the cat " * 100_000).status)

    clients = [Thread(target=ask) for _ in range(4)]
    for client in clients:
        client.start()
    wait_until(lambda: len(service.log) > 1, "a first response")
    service.process.send_signal(number)
    wait_until(lambda: port or not service.path.exists(), "the end of the socket")
    begun.sock.sendall(b"cat")
    answer = read_all(begun.sock)
    assert answer.startswith(b"HTTP/1.1 200 OK")
    assert service.process.wait(TIME_LIMIT) == 0
    for client in clients:
        client.join()
    assert statuses == [200] * 4
    assert service.log[-1] == "nbtext: stopped"
    begun.close()


ACTIVATE = """
import os, sys
os.dup2(int(sys.argv[1]), 3)
os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS="1")
sys.argv[1:] = sys.argv[2:]
from nbtext.cli.main import main
main()
"""


def test_systemd_passes_a_socket(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "activated"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        client = connect(path)  # before the service runs
        client.sendall(post(3, b"cat", b"Connection: close\r\n"))
        with subprocess.Popen(
            [sys.executable, "-c", ACTIVATE, str(listener.fileno()), "serve", "-m", folder / "m"],
            pass_fds=[listener.fileno()],
            env={**os.environ, **ENVIRONMENT},
            stderr=subprocess.PIPE,
        ) as service:
            assert read_all(client).startswith(b"HTTP/1.1 200 OK")
            client.close()
            service.terminate()
            _, log = service.communicate(timeout=TIME_LIMIT)
            assert service.returncode == 0, log
        assert path.exists()  # it belongs to systemd


def test_on_a_port_the_service_answers_only_this_machine(folder: Path) -> None:
    with Service(folder=folder, port=True) as service:
        assert service.log[0].startswith("nbtext: listening on http://127.0.0.1:")
        assert service.ask("/classify", b"the cat", JSON | {"Content-Type": ""}).status == 200
        assert service.ask("/health", headers={"Host": "evil.example"}).status == 200
        assert service.ask("/model", headers={"Host": f"evil.example:{service.port}"}).status == 403


def test_the_loopback_address_of_ipv6_needs_no_token(folder: Path) -> None:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("this machine has no IPv6")
    with Service("--listen", "::1", folder=folder, port=True) as service:
        assert service.log[0].startswith("nbtext: listening on http://[::1]:")


def test_another_address_needs_a_token(folder: Path, tmp_path: Path) -> None:
    line = fail(2, "serve", "--port", "0", "--listen", "0.0.0.0", "-m", "m", cwd=folder)
    assert "needs --token-file" in line
    (tmp_path / "token").write_text("s3cret\n")
    (tmp_path / "m").write_bytes((folder / "m").read_bytes())
    options = ["--listen", "0.0.0.0", "--token-file", "token"]
    with Service(*options, folder=tmp_path, port=True) as service:
        assert service.ask("/classify", b"cat").status == 401
        headers = {"Authorization": "Bearer s3cret", "Content-Type": "text/plain"}
        assert service.ask("/classify", b"cat", headers).status == 200
        assert "s3cret" not in "".join(service.log)

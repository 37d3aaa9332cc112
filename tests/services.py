"""A running `nbtext serve`, and requests to it."""

from __future__ import annotations

import http.client
import json
import signal
import socket
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from tests.process import ENVIRONMENT, TIME_LIMIT, start, wait_until

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

JSON = {"Content-Type": "application/json"}
JSON_LINES = {"Content-Type": "application/x-ndjson"}
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


class UnixConnection(http.client.HTTPConnection):
    """A connection to a Unix socket."""

    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=TIME_LIMIT)
        self.path = path

    def connect(self) -> None:
        """Connect to the socket."""
        self.sock = connect(self.path)


def connect(path: Path) -> socket.socket:
    """Return a connected Unix socket."""
    connected = socket.socket(socket.AF_UNIX)
    connected.settimeout(TIME_LIMIT)
    connected.connect(str(path))
    return connected


class Reply(NamedTuple):
    """A response."""

    status: int
    body: bytes
    headers: Mapping[str, str]

    @property
    def record(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)


class Service:
    """A running `nbtext serve`. It must end with the status 0 when it is stopped."""

    def __init__(
        self, *options: str | Path, folder: Path, port: bool = False, model: str = "m"
    ) -> None:
        self.folder = folder
        self.path = folder / "socket"
        self._log = folder / f"log-{len(list(folder.glob('log-*')))}"
        place = ["--port", "0"] if port else ["--socket", "socket"]
        with self._log.open("wb") as log:
            self.process = start(
                [sys.executable, "-m", "nbtext", "serve", "-m", model, *place, *options],
                cwd=folder,
                env=ENVIRONMENT,
                stderr=log.fileno(),
            )
        wait_until(
            lambda: any("listening on" in line for line in self.log) or self.has_ended,
            "the service",
        )
        assert not self.has_ended, self.log

    @property
    def has_ended(self) -> bool:
        """Whether the process has ended."""
        return self.process.poll() is not None

    @property
    def log(self) -> list[str]:
        """The lines on standard error so far."""
        return self._log.read_text(encoding="utf-8").splitlines()

    @property
    def port(self) -> int:
        """The port that the service listens on."""
        return int(self.log[0].rpartition(":")[2])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if not self.has_ended:
            assert self.stop() == 0, self.log

    def connection(self) -> http.client.HTTPConnection:
        """Return a new connection."""
        if self.path.exists():
            return UnixConnection(self.path)
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=TIME_LIMIT)

    def ask(
        self,
        path: str,
        body: bytes | str | None = None,
        headers: Mapping[str, str] | None = None,
        method: str | None = None,
    ) -> Reply:
        """Send a request on a connection of its own: POST if it has a body."""
        connection = self.connection()
        content = body.encode() if isinstance(body, str) else body
        try:
            connection.request(
                method or ("GET" if body is None else "POST"), path, content, dict(headers or {})
            )
            answer = connection.getresponse()
            return Reply(answer.status, answer.read(), dict(answer.getheaders()))
        finally:
            connection.close()

    def send(self, content: bytes) -> bytes:
        """Send bytes, and return all that comes back until the service closes the connection."""
        with connect(self.path) as connection:
            connection.sendall(content)
            return read_all(connection)

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Send a signal, and return the exit status."""
        self.process.send_signal(number)
        return self.process.wait(TIME_LIMIT)


def read_all(connection: socket.socket) -> bytes:
    """Return all that comes until the connection is closed."""
    content = b""
    with suppress(ConnectionResetError):
        while part := connection.recv(1 << 16):
            content += part
    return content

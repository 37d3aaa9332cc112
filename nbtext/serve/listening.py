"""Listen on sockets with waitress, and receive requests within limits of size and time.

Only this module imports waitress, which is optional.
"""

from __future__ import annotations

import logging
import os
import select
import signal
import socket
import stat
import time
from contextlib import suppress
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from waitress.adjustments import Adjustments
from waitress.channel import HTTPChannel
from waitress.server import BaseWSGIServer, TcpWSGIServer, UnixWSGIServer
from waitress.task import ErrorTask, ThreadedTaskDispatcher
from waitress.utilities import Error
from waitress.wasyncore import loop

from nbtext.errors import PathError, describe_os_error

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

SPARE_THREADS = 4
"""Threads in addition to one for each request: they refuse requests when all others are busy."""

MAX_IDLE_CONNECTIONS = 200
"""Open connections in addition to one for each request; further ones wait to be accepted."""

MAX_HEADER_BYTES = 1 << 15

_FIRST_ACTIVATED_DESCRIPTOR = 3
"""The first descriptor that systemd passes, SD_LISTEN_FDS_START."""

_MESSAGES = {
    400: "the request is not valid HTTP",
    408: "the request did not arrive in time",
    413: "the request is longer than --max-size",
    431: "the headers are too long",
    501: "this transfer encoding is not supported",
}
"""The message for a request that cannot be received, by status."""


class Limits(NamedTuple):
    """Limits of requests."""

    max_bytes: int
    """Size of a body."""
    timeout_seconds: int
    """Time in which a request must arrive, and in which a client must read its response."""
    max_requests: int
    """Number of requests that are answered at the same time."""


class WsgiApplication(Protocol):
    """An application that can also describe a request that was not received."""

    def __call__(
        self, environ: dict[str, Any], start_response: Callable[..., object]
    ) -> Iterable[bytes]:
        """Answer a request."""

    def refuse(self, status: int, message: str) -> bytes:
        """Log a request that could not be received, and return the body of the response."""


class _LateRequestError(Error):  # type: ignore[misc]
    code = 408
    reason = "Request Timeout"


class _RefusalTask(ErrorTask):  # type: ignore[misc]
    """The response to a request that could not be received."""

    def execute(self) -> None:
        """Write the response, and close the connection."""
        error = self.request.error
        message = _MESSAGES.get(error.code, "the request could not be answered")
        body = self.channel.server.application.refuse(error.code, message)
        self.status = f"{error.code} {error.reason}"
        self.response_headers = [("Content-Type", "application/json")]
        self.set_close_on_finish()
        self.content_length = len(body)
        self.write(body)


class _Channel(HTTPChannel):  # type: ignore[misc]
    """A connection. Each of its requests must arrive in time."""

    error_task_class = _RefusalTask
    request: Any = None
    """The request that is being received."""
    request_start = 0.0
    """Time at which the first bytes of the current request arrived."""

    def received(self, data: bytes) -> bool:
        """Receive bytes, which may begin a request."""
        if self.request is None:
            self.request_start = time.time()
        is_received: bool = super().received(data)
        return is_received

    def refuse_late_request(self, cutoff: float) -> None:
        """Answer a request that began before ``cutoff`` and is still incomplete."""
        with self.requests_lock:
            if self.request is None or self.requests or self.request_start > cutoff:
                return
            request = self.request
            self.request = None
            request.error = _LateRequestError("")
            request.completed = True
            self.requests.append(request)
        self.server.add_task(self)

    @property
    def is_busy(self) -> bool:
        """Whether a request is being received or answered, or a response is being sent."""
        return bool(self.requests or self.request is not None or self.total_outbufs_len)


class _TimedServer(BaseWSGIServer):  # type: ignore[misc]
    """A listening socket whose connections are checked every second."""

    channel_class = _Channel

    def maintenance(self, now: float) -> None:
        """Close idle connections, and refuse requests that arrive too slowly."""
        for channel in list(self.active_channels.values()):
            channel.refuse_late_request(now - self.adj.channel_timeout)
        super().maintenance(now)  # closes the other connections without a response


class _TcpServer(_TimedServer, TcpWSGIServer):  # type: ignore[misc]
    pass


class _UnixServer(_TimedServer, UnixWSGIServer):  # type: ignore[misc]
    pass


class UnixSocketFile(NamedTuple):
    """The file of a listening Unix socket."""

    path: str
    inode: int

    @classmethod
    def create(cls, path: str) -> tuple[socket.socket, UnixSocketFile]:
        """Return a socket that listens at ``path`` with the permissions 600, and its file.

        The socket of a process that was killed is replaced. Raise `PathError` if another process
        listens there, or for another kind of file.
        """
        listener = socket.socket(socket.AF_UNIX)
        old_mask = os.umask(0o177)
        try:
            _remove_abandoned_socket(path)
            listener.bind(path)
            listener.listen()
            return listener, cls(path, os.stat(path).st_ino)
        except PathError:
            listener.close()
            raise
        except OSError as problem:
            listener.close()
            raise PathError(
                f"cannot listen: {describe_os_error(problem)}",
                where=path,
                hint="choose another --socket",
            ) from None
        finally:
            os.umask(old_mask)

    def remove(self) -> None:
        """Remove the file, unless another process has replaced it."""
        with suppress(OSError):
            if os.lstat(self.path).st_ino == self.inode:
                os.unlink(self.path)


def _remove_abandoned_socket(path: str) -> None:
    """Remove a socket at which no process listens. Raise `PathError` for a file of another kind."""
    if not os.path.lexists(path):
        return
    if not stat.S_ISSOCK(os.lstat(path).st_mode):
        raise PathError("is not a socket", where=path, hint="choose another --socket")
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(path)
        except ConnectionRefusedError:
            os.unlink(path)


def open_tcp_socket(host: str, port: int) -> socket.socket:
    """Return a socket that listens at an address. Raise `PathError` if that fails."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except OSError as problem:
        raise PathError(
            f"cannot listen: {describe_os_error(problem)}",
            where=f"{host}:{port}",
            hint="choose another --port or --listen",
        ) from None


def take_activated_sockets() -> list[socket.socket]:
    """Return the sockets that systemd opened for this process (sd_listen_fds).

    The variables are removed from the environment, so that child processes do not use the sockets.
    """
    process = os.environ.pop("LISTEN_PID", "")
    number = os.environ.pop("LISTEN_FDS", "")
    if process != str(os.getpid()) or not number.isdigit():
        return []
    end = _FIRST_ACTIVATED_DESCRIPTOR + int(number)
    sockets = []
    for descriptor in range(_FIRST_ACTIVATED_DESCRIPTOR, end):
        os.set_inheritable(descriptor, False)
        sockets.append(socket.socket(fileno=descriptor))
    return sockets


def is_local(listener: socket.socket) -> bool:
    """Return True if only processes of this machine can connect to a socket."""
    if listener.family == socket.AF_UNIX:
        return True
    return ip_address(listener.getsockname()[0]).is_loopback


def format_address(listener: socket.socket) -> str:
    """Return the path of a socket, or its address and port."""
    if listener.family == socket.AF_UNIX:
        return str(listener.getsockname())
    host, port, *_ = listener.getsockname()
    shown_host = f"[{host}]" if ":" in host else host
    return f"http://{shown_host}:{port}"


def serve_until_signal(
    sockets: Sequence[socket.socket],
    application: WsgiApplication,
    limits: Limits,
    *,
    on_start: Callable[[], None],
    on_stop: Callable[[], None],
) -> None:
    """Answer requests until a signal (TERM, INT or HUP), then finish the requests that have begun.

    ``on_start`` is called when a signal would do so. ``on_stop`` is called after the signal, before
    the last connections are accepted.
    """
    logging.getLogger("waitress").addHandler(logging.NullHandler())
    logging.getLogger("waitress").propagate = False
    adjustments = Adjustments(
        sockets=list(sockets),
        ident=None,
        clear_untrusted_proxy_headers=False,  # they are not used
        max_request_body_size=limits.max_bytes + 1,
        max_request_header_size=MAX_HEADER_BYTES,
        channel_timeout=limits.timeout_seconds,
        cleanup_interval=1,
        recv_bytes=1 << 16,
        connection_limit=limits.max_requests + MAX_IDLE_CONNECTIONS,
    )
    dispatcher = ThreadedTaskDispatcher()
    dispatcher.set_thread_count(limits.max_requests + SPARE_THREADS)
    connections: dict[int, Any] = {}
    servers = [
        _create_server(listener, application, connections, dispatcher, adjustments)
        for listener in sockets
    ]
    is_stopping = []

    def stop(number: int, _: object) -> None:
        is_stopping.append(number)
        servers[0].pull_trigger()  # wakes up the loop

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, stop)
    on_start()
    while not is_stopping:
        loop(timeout=1, use_poll=True, map=connections, count=1)
    on_stop()
    _finish(servers, connections, time.monotonic() + limits.timeout_seconds)
    dispatcher.shutdown(timeout=1)


def _create_server(
    listener: socket.socket,
    application: WsgiApplication,
    connections: dict[int, Any],
    dispatcher: ThreadedTaskDispatcher,
    adjustments: Adjustments,
) -> _TimedServer:
    """Return a server for a socket. It adds itself and its connections to ``connections``."""
    server_class = _UnixServer if listener.family == socket.AF_UNIX else _TcpServer
    return server_class(
        application,
        connections,
        _sock=listener,
        dispatcher=dispatcher,
        adj=adjustments,
        sockinfo=(listener.family, listener.type, listener.proto, listener.getsockname()),
        bind_socket=False,
    )


def _finish(servers: Sequence[_TimedServer], connections: dict[int, Any], deadline: float) -> None:
    """Accept connections that wait already, close the sockets, and finish requests."""
    listeners = [server.socket for server in servers]
    while select.select(listeners, [], [], 0)[0] and time.monotonic() < deadline:
        loop(timeout=0, use_poll=True, map=connections, count=1)
    for server in servers:
        server.accepting = False
        server.del_channel()
        server.socket.close()
    loop(timeout=0, use_poll=True, map=connections, count=1)  # reads what has arrived
    while time.monotonic() < deadline and any(
        channel.is_busy for server in servers for channel in server.active_channels.values()
    ):
        loop(timeout=0.05, use_poll=True, map=connections, count=1)

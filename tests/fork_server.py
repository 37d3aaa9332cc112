"""Many runs of Python programs in little time: a server that has imported nbtext, numpy and scipy forks a process for each.

A run is what ``python -m MODULE`` or ``python -c CODE`` is once its imports are done: a process with streams, a working directory, an
environment, limits and signals of its own, and an exit status. The server has run nothing of nbtext, so no run starts with what another left.

`start` is for tests; ``tests/fork_client.py`` stands for Python in shell scripts. Both send the same request: a dictionary (see `Server.fork`)
with the three standard streams as file descriptors. The answers are the process id and, at the end, the status.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import fcntl
import gc
import io
import marshal
import os
import resource
import runpy
import selectors
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import traceback
import types
import warnings
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from typing import IO, TYPE_CHECKING, NoReturn, Self

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

REPOSITORY = Path(__file__).resolve().parent.parent
NUMBER = struct.Struct("=q")
PAGE = resource.getpagesize()
PR_SET_PTRACER = 0x59616D61


class Process:
    """A run that goes on or has ended, with the part of the interface of `subprocess.Popen` that tests need."""

    def __init__(self, connection: socket.socket, streams: Sequence[IO[bytes] | None]) -> None:
        self._connection = connection
        self.pid = NUMBER.unpack(_received(connection, NUMBER.size))[0]
        self.returncode: int | None = None
        self.stdin, self.stdout, self.stderr = streams

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for stream in (self.stdin, self.stdout, self.stderr):
            if stream is not None:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()
        self.wait()

    def poll(self) -> int | None:
        """Return the exit status, or None while the run goes on."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end; return the exit status, negative if a signal killed it. Raise `subprocess.TimeoutExpired`."""
        if self.returncode is None:
            self._connection.settimeout(timeout or 1e-6)  # 0 would mean something else
            if timeout is None:
                self._connection.settimeout(None)
            try:
                self.returncode = NUMBER.unpack(_received(self._connection, NUMBER.size))[0]
            except TimeoutError:
                raise subprocess.TimeoutExpired("a forked run", timeout or 0) from None
            self._connection.close()
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send a signal, unless the run has ended."""
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        """Kill the run."""
        self.send_signal(signal.SIGKILL)

    def communicate(
        self, stdin: bytes = b"", /, timeout: float | None = None
    ) -> tuple[bytes, bytes]:
        """Write to standard input, read both outputs to their ends, and wait. Raise `subprocess.TimeoutExpired`."""
        rest = memoryview(stdin)
        chunks: dict[int, list[bytes]] = {1: [], 2: []}
        with selectors.DefaultSelector() as selector:
            for number, stream in enumerate((self.stdin, self.stdout, self.stderr)):
                if stream is not None:
                    os.set_blocking(stream.fileno(), False)
                    selector.register(
                        stream,
                        selectors.EVENT_READ if number else selectors.EVENT_WRITE,
                        (number, stream),
                    )
            while selector.get_map():
                ready = selector.select(timeout)
                if not ready:
                    raise subprocess.TimeoutExpired("a forked run", timeout or 0)
                for key, _ in ready:
                    number, stream = key.data
                    if number:
                        chunks[number].append(os.read(key.fd, 1 << 16))
                        ended = not chunks[number][-1]
                    else:
                        try:
                            rest = rest[os.write(key.fd, rest[: 1 << 16]) if rest else 0 :]
                        except BrokenPipeError:
                            rest = rest[:0]
                        ended = not rest
                    if ended:
                        selector.unregister(stream)
                        stream.close()
        self.wait(timeout)
        return b"".join(chunks[1]), b"".join(chunks[2])


def start(
    program: Sequence[str],
    *,
    cwd: str | Path | None = None,
    env: Mapping[str, str] | None = None,
    stdin: int | None = None,
    stdout: int | None = None,
    stderr: int | None = None,
    new_session: bool = False,
    limits: Mapping[str, int] | None = None,
    stopped: bool = False,
    preloaded: bool = False,
) -> Process:
    """Begin a run of ``find_program``: "-m", a module and its arguments, or "-c", code and its arguments.

    Streams are as in `subprocess.Popen`. ``limits``: by names of `resource`, in bytes or numbers; AS is counted from what the process has
    already. ``stopped``: the run stops itself before it begins, until it is sent SIGCONT, and may be traced. ``preloaded``: by a server that has
    run some commands once, so that the run makes no system calls to import modules.
    """
    theirs: list[int] = []
    ours: list[IO[bytes] | None] = []
    try:
        for number, wanted in enumerate((stdin, stdout, stderr)):
            if wanted == subprocess.PIPE:
                reading, writing = os.pipe()
                theirs.append(reading if number == 0 else writing)
                ours.append(open(*((writing, "wb") if number == 0 else (reading, "rb"))))  # noqa: SIM115 - descriptors
            else:
                theirs.append(
                    os.open(os.devnull, os.O_RDWR)
                    if wanted == subprocess.DEVNULL
                    else os.dup(number if wanted is None else wanted)
                )
                ours.append(None)
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(_server(preloaded))
        request = {
            "program": list(program),
            "cwd": os.fsencode(cwd or Path.cwd()),
            "env": dict(os.environ if env is None else env),
            "limits": dict(limits or {}),
            "session": new_session,
            "stopped": stopped,
        }
        content = marshal.dumps(request)
        socket.send_fds(connection, [NUMBER.pack(len(content))], theirs)
        connection.sendall(content)
    finally:
        for descriptor in theirs:
            os.close(descriptor)
    return Process(connection, ours)


@cache
def _server(preloaded: bool) -> str:
    """Start a server that lasts as long as this process; return the path of its socket."""
    folder = tempfile.TemporaryDirectory(prefix="nbtext-fork-")
    path = f"{folder.name}/socket"
    server = subprocess.Popen(
        [sys.executable, "-m", "tests.fork_server", path, *(["preloaded"] if preloaded else [])],
        cwd=REPOSITORY,
        # Large pieces of memory that were freed go back to the system, so that a run under a limit of memory finds no room for its arrays in them.
        env={
            **os.environ,
            "PYTHONPATH": str(REPOSITORY),
            "PYTHONWARNINGS": "error",
            "OPENBLAS_NUM_THREADS": "1",
            "MALLOC_MMAP_THRESHOLD_": "65536",
        },
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert server.stdin is not None
    assert server.stdout is not None
    assert server.stdout.read() == b"", (
        "the fork server did not start"
    )  # it closes its output when it listens
    server.stdout.close()

    def end() -> None:
        server.stdin.close()  # type: ignore[union-attr]
        server.wait()
        folder.cleanup()

    atexit.register(end)
    return path


def client() -> str:
    """Return what a shell script runs in place of Python: the client, with the path of the server's socket."""
    return f"{sys.executable} -IS {Path(__file__).with_name('fork_client.py')} {_server(False)}"


class Server:
    """Forks a process for each request, and says how it ended."""

    def __init__(self, path: str) -> None:
        self._selector = selectors.DefaultSelector()
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(path)
        self._listener.listen(64)
        self._selector.register(self._listener, selectors.EVENT_READ, self._accept)
        self._selector.register(
            0, selectors.EVENT_READ, None
        )  # it ends with the process that started it

    def serve(self) -> None:
        """Answer requests until standard input ends."""
        while True:
            for key, _ in self._selector.select():
                if key.data is None:
                    return
                key.data()

    def _accept(self) -> None:
        connection, _ = self._listener.accept()
        length, streams, _, _ = socket.recv_fds(connection, NUMBER.size, 64)
        request = marshal.loads(_received(connection, NUMBER.unpack(length)[0]))
        number = os.fork()
        if not number:
            _become(streams, **request)
        for stream in streams:
            os.close(stream)
        connection.sendall(NUMBER.pack(number))
        handle = os.pidfd_open(number)

        def ended() -> None:
            self._selector.unregister(handle)
            os.close(handle)
            status = os.waitstatus_to_exitcode(os.waitpid(number, 0)[1])
            with connection, contextlib.suppress(BrokenPipeError):
                connection.sendall(NUMBER.pack(status))

        self._selector.register(handle, selectors.EVENT_READ, ended)


def _received(connection: socket.socket, length: int) -> bytes:
    content = b""
    while len(content) < length:
        chunk = connection.recv(length - len(content))
        assert chunk, "the other side has gone"
        content += chunk
    return content


def _become(
    streams: Sequence[int],
    program: Sequence[str],
    cwd: bytes,
    env: Mapping[str, str],
    limits: Mapping[str, int],
    *,
    session: bool,
    stopped: bool,
    umask: int | None = None,
    further: Sequence[int] = (),
    closed: Sequence[int] = (),
    inherited: Iterable[tuple[int, int, int]] = (),
) -> NoReturn:
    """Be the program, in a forked process. ``umask``, ``further`` and ``closed`` files and ``inherited`` limits are those of a shell's client."""
    status = 99
    try:
        above = [fcntl.fcntl(stream, fcntl.F_DUPFD, 512) for stream in streams]
        os.closerange(3, 512)
        for stream, number in zip(above, (0, 1, 2, *further), strict=True):
            os.dup2(stream, number)
            os.close(stream)
        _open_streams(closed)
        os.environ.clear()
        os.environ.update(env)
        os.chdir(cwd)
        if session:
            os.setsid()
        if umask is not None:
            os.umask(umask)
        for which, soft, hard in inherited:
            resource.setrlimit(which, (soft, hard))
        signal.signal(
            signal.SIGINT, signal.default_int_handler
        )  # whoever runs the tests may ignore signals, as nohup does
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
            signal.signal(number, signal.SIG_DFL)
        for name, value in limits.items():
            if name == "AS":
                _take_free_memory()
            limit = value + (_address_space() if name == "AS" else 0)
            resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (limit, limit))
        if stopped:
            warnings.simplefilter(
                "ignore", ResourceWarning
            )  # a signal between the opening of a file and what follows leaves it to Python
            ctypes.CDLL(None).prctl(
                PR_SET_PTRACER, -1, 0, 0, 0
            )  # so that a process that is not its parent may trace it
            os.kill(os.getpid(), signal.SIGSTOP)
        status = _run(program)
    finally:
        os._exit(status)


def _address_space() -> int:
    """Return the bytes of address space that this process has."""
    pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[0]
    return int(pages) * PAGE


TAKEN: list[bytes | None] = []
"""What :func:`_take_free_memory` holds until the run ends."""


def _take_free_memory() -> None:
    """Take what the server's own work left free on the heap: it must not make room for the run."""
    TAKEN.extend([None] * 1_000_000)  # grown now, not where there is no room
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (_address_space(), hard))
    number = 0
    for size in (1 << 20, 1 << 17, 1 << 14, 1 << 11, 480, 240, 96):
        try:
            while number < len(TAKEN):
                TAKEN[number] = bytes(size)
                number += 1
        except MemoryError:
            continue
    resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def _open_streams(closed: Sequence[int]) -> None:
    """Make the standard streams as Python does at its start; the server's own were opened on other files."""
    for number, (name, mode) in enumerate((("stdin", "rb"), ("stdout", "wb"), ("stderr", "wb"))):
        stream = None
        if number in closed:
            os.close(number)
        else:
            raw = open(number, mode, closefd=False)  # noqa: SIM115 - it stays open
            errors = "backslashreplace" if name == "stderr" else "strict"
            stream = io.TextIOWrapper(
                raw, "utf-8", errors, line_buffering=name == "stderr" or raw.isatty()
            )
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def _run(program: Sequence[str]) -> int:
    """Run a module or code to its end as Python does, and return the exit status."""
    kind, what, *arguments = program
    try:
        try:
            if kind == "-m":
                sys.argv = [what, *arguments]
                if what == "nbtext":
                    import_module(
                        "nbtext.cli.main"
                    ).main()  # as its __main__ does, which would be read from its file
                runpy.run_module(what, run_name="__main__", alter_sys=True)
            else:
                sys.argv = ["-c", *arguments]
                main = types.ModuleType("__main__")
                sys.modules["__main__"] = main
                exec(compile(what, "<string>", "exec"), main.__dict__)
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()
    except SystemExit as done:
        if done.code is None or isinstance(done.code, int):
            status = done.code or 0
        else:
            sys.stderr.write(f"{done.code}\n")
            status = 1
    except BaseException:  # noqa: BLE001 - as the interpreter does
        traceback.print_exc()
        status = 1
    else:
        status = 0
    if sys.stderr is not None:
        sys.stderr.flush()
    return status


PRELOADED_COMMANDS: Sequence[Sequence[str]] = (
    ("train", "pets", "-v"),
    ("train", "nothing"),
    ("classify", "pets/cats/1", "nothing"),
    ("inspect",),
    ("update", "pets", "-v"),
    ("update", "pets", "--skip-known", "--backup"),
    ("forget", "pets"),
    ("merge", "nbtext.joblib", "nbtext.joblib", "--to", "merged.joblib"),
)


def _import_all() -> None:
    """Import every module of nbtext and what they import when they are used."""
    import nbtext

    for module in walk_packages(nbtext.__path__, "nbtext."):
        if module.name != "nbtext.__main__":
            import_module(module.name)
    for name in (
        "joblib",
        "numpy.random",
        "queue",
        "rich.console",
        "rich.table",
        "scipy.special",
        "Stemmer",
        "stop_words",
    ):
        import_module(name)


def _preload() -> None:
    """Run the commands that tests put faults into, so that no module is imported afterwards."""
    from nbtext.cli.main import run
    from tests.process import PETS, corpus

    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 2)
    os.close(nothing)
    here = Path.cwd()
    limits = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(
        resource.RLIMIT_AS, (1 << 46, limits[1])
    )  # so that no thread is begun, whose memory all runs would have to spare
    with tempfile.TemporaryDirectory() as name:
        os.chdir(corpus(Path(name), {f"pets/{path}": text for path, text in PETS.items()}))
        for arguments in PRELOADED_COMMANDS:
            run(list(arguments))
        os.chdir(here)
    resource.setrlimit(resource.RLIMIT_AS, limits)


def _main() -> None:
    path, *how = sys.argv[1:]
    listening = os.dup(1)
    os.dup2(2, 1)
    _import_all()
    if how:
        _preload()
    gc.collect()
    gc.freeze()  # the collector would write to what all runs share
    server = Server(path)
    os.close(listening)
    server.serve()
    os._exit(0)


if __name__ == "__main__":
    _main()

"""Pickles that mean harm to whoever unpickles them, made without running what is in them, and a process that looks at what loading does."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import os
import pickle
import runpy
import shutil
import signal
import socket
import struct
import subprocess
import sys
import webbrowser
import zlib
from importlib import import_module
from operator import methodcaller
from pathlib import Path
from typing import TYPE_CHECKING, Any

import joblib
import numpy as np
from joblib.numpy_pickle import NumpyArrayWrapper

from tests.process import ENVIRONMENT, MEMORY, Result, run

if TYPE_CHECKING:
    from collections.abc import Callable

MARK = "PWNED"
"""A file of this name in the working directory is the sign that code has run."""


class Reduced:
    """What unpickles by calling something."""

    def __init__(self, *how: Any) -> None:
        self.how = how

    def __reduce__(self) -> tuple[Any, ...]:
        return self.how


def call(function: Callable[..., Any], *arguments: Any) -> bytes:
    """A pickle that calls a function."""
    return pickle.dumps(Reduced(function, arguments), protocol=4)


TOUCH = f"open({MARK!r}, 'w')"

GADGETS = {
    "os.system": call(os.system, f"touch {MARK}"),
    "subprocess.Popen": call(subprocess.Popen, ["touch", MARK]),
    "subprocess.check_output": call(subprocess.check_output, ["touch", MARK]),
    "os.execvp": call(os.execvp, "touch", ["touch", MARK]),
    "os.posix_spawnp": call(os.posix_spawnp, "touch", ["touch", MARK], {}),
    "os.kill": call(os.kill, 0, signal.SIGTERM),
    "os._exit": call(os._exit, 0),
    "os.abort": call(os.abort),
    "sys.exit": call(sys.exit, 0),
    "eval": call(eval, TOUCH),
    "exec": call(exec, TOUCH),
    "compile": call(compile, TOUCH, "x", "exec"),
    "open": call(open, MARK, "w"),
    "__import__": call(__import__, "antigravity"),
    "import_module": call(import_module, "this"),
    "runpy": call(runpy.run_module, "this"),
    "rmtree": call(shutil.rmtree, "nothing"),
    "Path.touch": call(methodcaller("touch"), Path(MARK)),
    "webbrowser": call(webbrowser.open, "file:///nothing"),
    "socket": call(socket.create_connection, ("127.0.0.1", 9)),
    "joblib.load": call(joblib.load, "other"),
    "numpy.load": call(np.load, "other", None, True),
    "bytearray": call(bytearray, 3 * 10**9),
    "persistent": b"\x80\x04Pfoo\n.",
    "extension": b"\x80\x04\x82\x01.",
}


def array(shape: tuple[int, ...], dtype: str = "f8") -> bytes:
    """An array as joblib announces it, and one byte of it."""
    return (
        pickle.dumps(
            NumpyArrayWrapper(np.ndarray, shape, "C", np.dtype(dtype), allow_mmap=True), protocol=4
        )
        + b"\x01"
    )


SHAPES = {
    f"shape {shape}": array(shape)
    for shape in ((10**15,), (2**62,), (-5,), (2**32, 2**32), (1,) * 70)
}
SHAPES["itemsize"] = array((1,), "U500000000")

FIELD_FAR_AWAY = Reduced(
    np.dtype, ("V8", False, True), (3, "|", None, ("a",), {"a": (np.dtype("f8"), 10**9)}, 8, 1, 16)
)
OBJECT_UNFLAGGED = Reduced(np.dtype, ("O8", False, True), (3, "|", None, None, None, -1, -1, 0))

TYPES = {
    name: pickle.dumps(value, protocol=4)
    for name, value in (("field far away", FIELD_FAR_AWAY), ("hidden object", OBJECT_UNFLAGGED))
}

LENGTHS = {
    "frame": b"\x80\x04\x95" + struct.pack("<Q", 3 * 10**9) + b"N.",
    "bytearray8": b"\x80\x05\x96" + struct.pack("<Q", 3 * 10**9) + b"x.",
    "binbytes8": b"\x80\x04\x8e" + struct.pack("<Q", 3 * 10**9) + b"x.",
    "binunicode8": b"\x80\x04\x8d" + struct.pack("<Q", 10**12) + b"x.",
    "long4": b"\x80\x04\x8b" + struct.pack("<i", 2**31 - 1) + b"x.",
    "binbytes": b"\x80\x04B" + struct.pack("<I", 2**32 - 1) + b"nbtext\r\n",
    "memo": b"\x80\x04Nr" + struct.pack("<I", 2**32 - 1) + b".",
}

DEPTH = {
    "nested tuple as a key": b"\x80\x04}N\x85\x94"
    + b"".join(b"h" + bytes([j]) + b"\x86\x94" for j in range(60))
    + b"K\x01s.",
    "deep lists": b"\x80\x04" + b"]" * 1_000_000 + b"a" * 999_999 + b".",
}


def packed(model: bytes) -> dict[str, bytes]:
    """A model compressed, and what unpacks to a hundred times its size."""
    return {
        "gzip": gzip.compress(model),
        "zlib": zlib.compress(model),
        "zlib and a byte": zlib.compress(model) + b"x",
        "bzip2": bz2.compress(model),
        "xz": lzma.compress(model),
        "bomb": zlib.compress(bytes(10**8)),
        "old joblib": b"ZF" + b"0xffffffffff".ljust(19) + zlib.compress(b"N."),
    }


WATCHER = """
import json, sys
import joblib
from nbtext.cli.main import run
def load(path):
    return HOW
load(sys.argv[1])  # imports what it needs
allowed, seen = {sys.argv[1]}, []
def watch(event, arguments):
    if event == "open":
        path, mode, flags = arguments
        if str(path) not in allowed or flags & 3:
            seen.append(f"open {path} {mode} {flags}")
    elif event.partition(".")[0] in ("os", "subprocess", "pickle", "socket", "ctypes", "shutil", "webbrowser", "exec", "compile", "import"):
        if event not in ("os.listdir", "os.scandir"):
            seen.append(f"{event} {arguments!r:.80}")
sys.addaudithook(watch)
statuses = []
for path in sys.argv[2:]:
    allowed.add(path)
    statuses.append(load(path))
sys.stdout.flush()
print(json.dumps([statuses, seen]))
"""


BY_NBTEXT = 'run(["inspect", "-m", path])'
BY_JOBLIB = "bool(joblib.load(path))"


def load_under_watch(
    honest: Path, files: dict[str, bytes], folder: Path, how: str = BY_NBTEXT
) -> tuple[dict[str, int], list[str], Result]:
    """The status with which each file is inspected in one process of little memory, what else the process did, and all that it printed."""
    paths = {}
    for number, (name, content) in enumerate(files.items()):
        paths[name] = folder / f"{number}.joblib"
        paths[name].write_bytes(content)
    done = run(
        [sys.executable, "-c", WATCHER.replace("HOW", how), honest, *paths.values()],
        cwd=folder,
        env=ENVIRONMENT,
        limits=MEMORY,
    )
    assert done.status == 0, done
    statuses, seen = json.loads(done.out.splitlines()[-1])
    return dict(zip(paths, statuses, strict=True)), seen, done

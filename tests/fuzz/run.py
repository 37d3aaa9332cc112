"""Fuzz one target until a time is over or it fails: `python -m tests.fuzz.run TARGET SECONDS [FOLDER]`.

With atheris (`pip install atheris`) inputs are bred by what code they reach and, given a FOLDER, kept there; without it they are random changes of
the seeds. An input that fails is written to a file whose name is printed; once the fault is mended it belongs among the seeds.
"""

from __future__ import annotations

import random
import sys
import time
import traceback
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable

PIECES = (
    b"", b"\0", b"\xff", b"\n", b"\r\n", b'"', b"'", b",", b"\t", b"{", b"}", b"[", b"]", b":", b"\\u", b"\\ud800", b"-1", b"0", b"1e999", b"9" * 30,
    b"null", b"\xed\xa0\x80", b"\xc3", b"\xef\xbb\xbf", b"\xff\xfe", b"--", b"From ", b"<", b">", b"&#x", b"=?", b"?=", b"__label__", b"\x1f\x8b\x08",
    "é".encode() * 60,
)  # fmt: skip
"""What means something to one reader or another."""


def changed(seeds: list[bytes], choice: random.Random) -> bytes:
    """A seed with some changes: bytes and pieces replaced, put in, taken out, repeated, or the end of another seed."""
    content = bytearray(choice.choice(seeds))
    for _ in range(choice.randint(1, 6)):
        at = choice.randint(0, len(content))
        end = min(at + choice.choice((0, 1, 1, 2, 4, 30)), len(content))
        kind = choice.randrange(5)
        if kind == 0 and at < len(content):
            content[at] ^= 1 << choice.randrange(8)
        elif kind == 1:
            content[at:end] = choice.choice(PIECES)
        elif kind == 2:
            content[at:end] = b""
        elif kind == 3:
            content[at:at] = content[at:end] * choice.choice((1, 2, 50))
        elif kind == 4:
            other = choice.choice(seeds)
            content[at:] = other[choice.randint(0, len(other)) :]
    return bytes(content)


def at_random(
    name: str, target: Callable[[bytes], None], seeds: list[bytes], seconds: float
) -> None:
    """Change seeds until the time is over."""
    end, number = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        content = changed(seeds, random.Random(number))
        try:
            target(content)
        except Exception:  # noqa: BLE001 - whatever it is, it is what is looked for
            found = Path(f"failed-{name}-{number}")
            found.write_bytes(content)
            traceback.print_exc()
            sys.exit(f"{name}: input {number} fails; see {found}")
        number += 1
    sys.stdout.write(f"{name}: {number} inputs, none fails\n")


def main() -> NoReturn:
    """Fuzz the target of the command line."""
    name, seconds, *folders = sys.argv[1:]
    try:
        atheris = import_module("atheris")
    except ImportError:
        from tests.fuzz.targets import TARGETS, seeds

        at_random(name, TARGETS[name], seeds(name), float(seconds))
        sys.exit(0)
    with atheris.instrument_imports(include=["nbtext", "email", "html", "csv", "json"]):
        from tests.fuzz.targets import TARGETS, seeds
    folder = Path(folders[0]) if folders else None
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        for number, content in enumerate(seeds(name)):
            (folder / f"seed-{number}").write_bytes(content)
    options = [
        f"-max_total_time={seconds}",
        "-timeout=20",
        "-rss_limit_mb=1500",
        *([str(folder)] if folder else []),
    ]
    atheris.Setup([sys.argv[0], *options], TARGETS[name])
    atheris.Fuzz()
    sys.exit(0)


if __name__ == "__main__":
    main()

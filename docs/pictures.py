"""Make the pictures of docs/pictures: terminals as SVG, and pages of HTML.

The commands run in a terminal, and a browser shows the pages.

    python docs/pictures.py            make all of them (the pages need Chromium)
    python docs/pictures.py --check    exit 1 if a picture does not show what is printed today

A screenshot holds the SHA-256 of the page that it shows, so that checking it needs no browser.
"""
# ruff: noqa: INP001, S603, S607, T201 - a script, not a package, which runs nbtext and tells what it made

from __future__ import annotations

import hashlib
import html
import io
import os
import pty
import re
import shlex
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
import zlib
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs" / "pictures"
TEST = "corpora/service-desk/test"
LETTER = f"{TEST}/waste-collection/new-day-not-told.txt"
TRAIN = "nbtext train corpora/service-desk/train"
SPAM = "corpora/sms-spam"
BANK = "corpora/banking77"
MESSAGE = "Congratulations! Call now to claim your prize"


class Terminal(NamedTuple):
    """Commands typed into a terminal; what the first of them print is not shown."""

    shown: tuple[str, ...]
    before: tuple[str, ...] = (TRAIN,)
    columns: int = 100


class Page(NamedTuple):
    """The upper part of a page that a command writes to page.html."""

    command: str
    before: str = TRAIN
    width: int = 1000
    height: int = 1000


PICTURES = {
    "first": Terminal(
        (
            f"nbtext train {SPAM}/train.tsv.bz2 --quiet",
            f"nbtext evaluate {SPAM}/test.tsv.bz2 | head -n 3",
            f'nbtext explain --text "{MESSAGE}" --limit 3',
        ),
        before=(),
        columns=80,
    ),
    "explain": Terminal(
        (f"nbtext explain {LETTER} --limit 5", f"nbtext explain {LETTER} --why-not taxes-and-fees")
    ),
    "evaluate": Terminal((f"nbtext evaluate {TEST} --all",)),
    "report": Page(
        f"nbtext report {BANK}/test.csv.bz2 --title 'Questions to a bank' --to page.html",
        before=f"nbtext train {BANK}/train.csv.bz2",
    ),
    "explained": Page(f"nbtext explain {LETTER} --html page.html", height=900),
}

SVG = """\
<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{ font-family: "Fira Code", "DejaVu Sans Mono", Menlo, Consolas, monospace; font-size: {char_height}px; line-height: {line_height}px; }}
.{unique_id}-title {{ font-size: 18px; font-weight: bold; font-family: sans-serif; }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal"><rect x="0" y="0" width="{terminal_width}" height="{terminal_height}" /></clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""
"""rich's own without fonts from the network."""


class Desk:
    """A directory as a reader of the pages has it: the corpora, and nbtext on the path."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "corpora").symlink_to(ROOT / "corpora")
        program = folder / ".bin" / "nbtext"
        program.parent.mkdir()
        program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m nbtext "$@"\n')
        program.chmod(0o755)
        self.environment = {
            "PATH": f"{program.parent}:/usr/bin:/bin",
            "PYTHONPATH": str(ROOT),
            "TERM": "xterm-256color",
            "COLORTERM": "truecolor",
        }

    def run(self, command: str) -> None:
        """Run a command whose output nobody sees."""
        subprocess.run(
            ["bash", "-c", command],
            cwd=self.folder,
            env=self.environment,
            check=True,
            stdout=subprocess.DEVNULL,
        )

    def typed(self, command: str, columns: int) -> str:
        """Return what the terminal shows."""
        ours, theirs = pty.openpty()
        termios.tcsetwinsize(theirs, (50, columns))
        process = subprocess.Popen(
            ["bash", "-c", command],
            cwd=self.folder,
            env=self.environment,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
        )
        os.close(theirs)
        found = b""
        while part := _read(ours):
            found += part
        os.close(ours)
        if process.wait() != 0:
            raise SystemExit(f"{command}: status {process.returncode}\n{found.decode()}")
        return found.decode().replace("\r\n", "\n")


def _read(terminal: int) -> bytes:
    """Return the output that is there; nothing once the last process has left the terminal.

    Linux reports that by an error.
    """
    try:
        return os.read(terminal, 1 << 16)
    except OSError:
        return b""


def drawn(name: str, picture: Terminal) -> str:
    """Return the picture of a terminal, as SVG."""
    from rich.console import Console
    from rich.text import Text

    with tempfile.TemporaryDirectory() as folder:
        desk = Desk(Path(folder))
        for command in picture.before:
            desk.run(command)
        console = Console(
            record=True,
            width=picture.columns,
            file=io.StringIO(),
            force_terminal=True,
            color_system="truecolor",
            legacy_windows=False,
        )
        for command in picture.shown:
            console.print(Text(f"$ {command}", style="bold"))
            console.print(Text.from_ansi(desk.typed(command, picture.columns)), end="")
    return console.export_svg(title="nbtext", code_format=SVG, unique_id=name)


def written(page: Page) -> bytes:
    """Return the page that the command writes."""
    with tempfile.TemporaryDirectory() as folder:
        desk = Desk(Path(folder))
        desk.run(page.before)
        desk.run(page.command)
        return (Path(folder) / "page.html").read_bytes()


def photographed(page: Page, content: bytes) -> bytes:
    """Return a PNG of the upper part of a page, with the digest of the page in it."""
    browser = next(
        (
            path
            for name in ("chromium", "chromium-browser", "google-chrome")
            if (path := shutil.which(name))
        ),
        None,
    )
    if browser is None:
        raise SystemExit("there is no chromium to show a page")
    with tempfile.TemporaryDirectory() as folder:
        file, shot = Path(folder) / "page.html", Path(folder) / "shot.png"
        file.write_bytes(content)
        options = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            f"--window-size={page.width},{page.height}",
        ]
        subprocess.run(
            [browser, *options, f"--screenshot={shot}", file.as_uri()],
            check=True,
            capture_output=True,
        )
        png = shot.read_bytes()
    end = len(png) - 12  # the last chunk, IEND, is empty
    text = b"tEXt" + b"sha256\0" + hashlib.sha256(content).hexdigest().encode()
    return (
        png[:end]
        + struct.pack(">I", len(text) - 4)
        + text
        + struct.pack(">I", zlib.crc32(text))
        + png[end:]
    )


def shown(svg: str) -> list[str]:
    """Return the text in a picture of a terminal but for seconds; how rich draws it may change."""
    words = " ".join(
        html.unescape(text) for text in re.findall(r"<text[^>]*>([^<]*)</text>", svg)
    ).split()
    return [word for word, unit in pairwise([*words, ""]) if unit != "s"]


def is_up_to_date(name: str, picture: Terminal | Page) -> bool:
    """Whether the picture shows what nbtext prints today."""
    if isinstance(picture, Terminal):
        path = FOLDER / f"{name}.svg"
        return path.exists() and shown(path.read_text(encoding="utf-8")) == shown(
            drawn(name, picture)
        )
    path = FOLDER / f"{name}.png"
    return (
        path.exists() and hashlib.sha256(written(picture)).hexdigest().encode() in path.read_bytes()
    )


def make(name: str, picture: Terminal | Page) -> None:
    """Write the picture."""
    if isinstance(picture, Terminal):
        (FOLDER / f"{name}.svg").write_text(drawn(name, picture), encoding="utf-8")
    else:
        (FOLDER / f"{name}.png").write_bytes(photographed(picture, written(picture)))


def main(arguments: list[str]) -> int:
    """Make those that are not up to date, or with --check name them."""
    FOLDER.mkdir(exist_ok=True)
    stale = [name for name, picture in PICTURES.items() if not is_up_to_date(name, picture)]
    for name in stale:
        if arguments == ["--check"]:
            print(
                f"docs/pictures: {name} does not show what is printed today; run python docs/pictures.py",
                file=sys.stderr,
            )
        else:
            make(name, PICTURES[name])
    return 1 if stale and arguments == ["--check"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""nbtext as a spam filter, beside bogofilter: `python bench/mail.py FOLDER` prints Markdown tables, with `--write` also into bench/README.md.

FOLDER holds the SpamAssassin public corpus, unpacked: folders of messages with "ham" or "spam" in their names. A random two thirds of each
class are for training, the others for testing. For the seconds, the corpus is repeated until it has so many mails, each copy with a line of
its own at the end. bogofilter is Debian's package of that name; without it its row says so.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import random
import shutil
import socket
import statistics
import subprocess
import tempfile
import time
from bisect import bisect_left, bisect_right
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from measuring import NBTEXT, markdown, measure, progress, write_between

if TYPE_CHECKING:
    from collections.abc import Callable

README = Path(__file__).resolve().with_name("README.md")
CLASSES = ("ham", "spam")
SURE = 0.99
"""Where bogofilter calls a message spam by default."""

MAILS = 18_855
"""In the table of seconds."""

WORDS = (
    "lunch",
    "invoice",
    "meeting",
    "offer",
    "holiday",
    "parcel",
    "password",
    "photo",
    "server",
    "ticket",
)

FORMAT = ("--format", "dir")
"""Each class is a Maildir, which bogofilter needs; it would always be read as mail."""

MAIL = ("--document", "mail")
MODELS = {
    "nbtext (default)": MAIL,
    "nbtext --weighting binary": (*MAIL, "--weighting", "binary"),
    "nbtext --classifier logistic": (*MAIL, "--classifier", "logistic"),
    "nbtext --classifier average": (*MAIL, "--classifier", "average"),
    "nbtext, raw text": ("--document", "text"),
    "nbtext --headers subject --no-structure": (*MAIL, "--headers", "subject", "--no-structure"),
}


class Tool(NamedTuple):
    """Commands that train on a folder of both classes, and the one that classifies another; ``databases`` would be added to by training again."""

    name: str
    train: list[list[str]]
    classify: list[str]
    databases: tuple[Path, ...] = ()

    @property
    def is_bogofilter(self) -> bool:
        return bool(self.databases)


def tools(train: Path, test: Path, scratch: Path, only: str) -> list[Tool]:
    """Return the tools with this in their names, with their commands."""
    scratch.mkdir()
    bogofilter = ["bogofilter", "--no-config-file", "-d", str(scratch)]
    learn = [
        [*bogofilter, option, "-B", str(train / label)]
        for label, option in zip(CLASSES, ("-n", "-s"), strict=True)
    ]
    ask = [*bogofilter, "-TT", "-B", *(str(test / label) for label in CLASSES)]
    found = [Tool("bogofilter", learn, ask, (scratch / "wordlist.db",))]
    for number, (name, arguments) in enumerate(MODELS.items()):
        model = str(scratch / f"{number}.joblib")
        ask = [*NBTEXT, "classify", str(test), "-m", model, *FORMAT, "-o", "jsonl", "--scores"]
        found.append(
            Tool(name, [[*NBTEXT, "train", str(train), "-m", model, *FORMAT, *arguments]], ask)
        )
    return [tool for tool in found if only in tool.name]


class Scored(NamedTuple):
    """What a tool holds of one message: the class it belongs to, the probability of spam, and a figure that grows with it."""

    label: str
    probability: float
    score: float


def scored(output: bytes, *, by_bogofilter: bool) -> list[Scored]:
    """Return the scores in the output of a classifying command."""
    if by_bogofilter:
        rows = [line.rsplit(" ", 1) for line in output.decode().splitlines()]
        return [Scored(Path(path).parts[-3], float(score), float(score)) for path, score in rows]
    found = []
    for record in map(json.loads, output.decode().splitlines()):
        spam = next(
            (each for each in record.get("labels", []) if each["label"] == "spam"),
            {"probability": 0.5, "log_odds": 0.0},
        )
        found.append(Scored(Path(record["id"]).parts[-3], spam["probability"], spam["log_odds"]))
    return found


def figures(messages: list[Scored]) -> list[str]:
    """Return accuracy, ham lost at .5 and where the tool is sure, and 1 − AUC: how often a spam is held less likely to be spam than a ham."""
    hams = sorted(message.score for message in messages if message.label == "ham")
    spams = [message.score for message in messages if message.label == "spam"]
    right = sum(
        (message.probability > 0.5) == (message.label == "spam") for message in messages
    ) / len(messages)
    lost, surely = (
        sum(m.label == "ham" and m.probability > at for m in messages) / len(hams)
        for at in (0.5, SURE)
    )
    below = sum(
        len(hams) - (bisect_left(hams, score) + bisect_right(hams, score)) / 2 for score in spams
    ) / (len(hams) * len(spams))
    return [f"{right:.4f}", f"{lost:.4f}", f"{surely:.4f}", f"{below:.3%}"]


def split(folder: Path, root: Path) -> None:
    """Link two thirds of the messages of each class into ``train``, the others into ``test``, as Maildirs."""
    for label in CLASSES:
        folders = [path for path in folder.iterdir() if path.is_dir() and label in path.name]
        files = sorted(
            (file for path in folders for file in path.iterdir() if file.name != "cmds"),
            key=lambda f: (f.parent.name, f.name),
        )
        random.Random(f"1/{label}").shuffle(files)
        cut = len(files) * 2 // 3
        for part, chosen in (("train", files[:cut]), ("test", files[cut:])):
            for place in ("cur", "new", "tmp"):
                (root / part / label / place).mkdir(parents=True)
            for file in chosen:
                shutil.copy(file, root / part / label / "cur" / f"{file.parent.name}-{file.name}")


def repeat(source: Path, target: Path, mails: int) -> None:
    """Write so many copies of the messages of a folder and its sister, each with a line of random words at the end."""
    files = sorted(
        (
            file
            for part in ("train", "test")
            for file in (source / part).rglob("*")
            if file.is_file()
        ),
        key=lambda f: f.name,
    )
    for label in CLASSES:
        for place in ("cur", "new", "tmp"):
            (target / label / place).mkdir(parents=True)
    chance = random.Random(1)
    for number in range(mails):
        file = files[number % len(files)]
        line = " ".join(chance.choices(WORDS, k=3)).encode()
        path = target / file.parts[-3] / "cur" / f"{number // len(files)}-{file.name}"
        path.write_bytes(
            file.read_bytes() + (b"\n%b %d\n" % (line, number) if number >= len(files) else b"")
        )


def judged(tool: Tool) -> list[str]:
    """Return the figures of a tool after training once."""
    for command in tool.train:
        measure(command)
    return figures(scored(measure(tool.classify).output, by_bogofilter=tool.is_bogofilter))


def timed(tool: Tool, runs: int) -> list[str]:
    """Return the least seconds of a processor in some runs, of training and of classifying, and the most memory."""
    learning, asking, peak = [], [], 0.0
    for _ in range(runs):
        for database in tool.databases:
            database.unlink(missing_ok=True)
        learnt = [measure(command) for command in tool.train]
        answered = measure(tool.classify)
        learning.append(sum(each.processor for each in learnt))
        asking.append(answered.processor)
        peak = max(peak, answered.peak, *(each.peak for each in learnt))
    return [f"{min(learning):.1f}", f"{min(asking):.1f}", f"{peak:.0f}"]


def table(title: str, heads: list[str], found: list[Tool], row: Callable[[Tool], list[str]]) -> str:
    """Measure every tool, and return a table with a row for each."""
    rows = []
    for tool in found:
        progress(f"{title}: {tool.name}")
        is_there = not tool.is_bogofilter or shutil.which("bogofilter")
        rows.append(
            [tool.name, *(row(tool) if is_there else ["not installed", *[""] * (len(heads) - 1)])]
        )
    return f"### {title}\n\n{markdown(['', *heads], rows)}"


BATCH = 100
"""Mails that are learnt at once."""


class SingleMails(NamedTuple):
    """Commands that filter one mail, learn one, and learn `BATCH` mails at once."""

    name: str
    filter_one: list[str]
    learn_one: list[str]
    learn_batch: list[str]


def single_mail_tools(scratch: Path, mail: Path, batch: Path) -> list[SingleMails]:
    """Train bogofilter and nbtext, and return their commands for single mails."""
    (scratch / "bogofilter").mkdir(parents=True)
    bogofilter = ["bogofilter", "--no-config-file", "-d", str(scratch / "bogofilter")]
    found = []
    if shutil.which("bogofilter"):
        for label, option in zip(CLASSES, ("-n", "-s"), strict=True):
            measure([*bogofilter, option, "-B", str(scratch.parent / "train" / label)])
        found.append(
            SingleMails(
                "bogofilter",
                [*bogofilter, "-p", "-e", "-I", str(mail)],
                [*bogofilter, "-s", "-I", str(mail)],
                [*bogofilter, "-s", "-B", str(batch)],
            )
        )
    for name, quick in (("nbtext, update", []), ("nbtext, update --quick", ["--quick"])):
        model = str(scratch / f"{len(found)}.joblib")
        measure([*NBTEXT, "train", str(scratch.parent / "train"), "-m", model, *FORMAT, *MAIL])
        filter_one = [*NBTEXT, "classify", "--mail-filter", "-m", model]
        update = [*NBTEXT, "update", "--quiet", *quick, "--label", "spam", "-m", model]
        found.append(
            SingleMails(
                name,
                ["sh", "-c", f'exec "$@" < "{mail}"', "sh", *filter_one],
                [*update, str(mail)],
                [*update, str(batch)],
            )
        )
    return found


class Connection(http.client.HTTPConnection):
    """A connection to the socket of `nbtext serve`."""

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self.host)


def post(path: str, place: str, body: bytes, media_type: str) -> None:
    """Send a request to the socket at ``path``, and require the status 200."""
    connection = Connection(path)
    connection.request("POST", place, body, {"Content-Type": media_type, "Host": "localhost"})
    reply = connection.getresponse()
    reply.read()
    connection.close()
    assert reply.status == 200, reply.status


def measure_service(model: str, mail: Path) -> list[str]:
    """Return the milliseconds of a processor that the service takes to filter and to learn a mail."""
    path = str(mail.parent / "socket")
    corrections = ("--corrections", str(mail.parent / "corrections.jsonl"), "--learn")
    arguments = ["serve", "--quiet", "--socket", path, "-m", model, *corrections]
    service = subprocess.Popen([*NBTEXT, *arguments], stderr=subprocess.DEVNULL)
    message = mail.read_bytes()
    record = {"text": message.decode("latin-1"), "label": "spam"}
    requests = (
        ("/filter", message, "message/rfc822", 200),
        ("/correct", json.dumps(record).encode(), "application/json", 20),
    )
    cells = []
    try:
        while not Path(path).exists():
            time.sleep(0.05)
        for place, body, media_type, number in requests:
            post(path, place, body, media_type)
            time.sleep(1)  # learning follows the response
            before = read_processor_seconds(service.pid)
            for _ in range(number):
                post(path, place, body, media_type)
                if place == "/correct":
                    time.sleep(0.5)
            seconds = read_processor_seconds(service.pid) - before
            cells.append(f"{1000 * seconds / number:.0f}")
    finally:
        service.terminate()
        service.wait()
    return [*cells, ""]


def read_processor_seconds(process: int) -> float:
    """Return the seconds of a processor that a process of Linux has taken."""
    fields = Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def single_mails(scratch: Path, runs: int) -> str:
    """Measure filtering and learning of single mails, and return a table of milliseconds."""
    mails = sorted((scratch / "test" / "spam" / "cur").iterdir())[:BATCH]
    batch = scratch / "batch"
    for place in ("cur", "new", "tmp"):
        (batch / place).mkdir(parents=True)
    for mail in mails:
        shutil.copy(mail, batch / "cur" / mail.name)
    rows = []
    for tool in single_mail_tools(scratch / "single", mails[0], batch):
        progress(f"single mails: {tool.name}")
        rounds = [[measure(command).processor for command in tool[1:]] for _ in range(runs)]
        medians = [statistics.median(column) for column in zip(*rounds, strict=True)]
        rows.append([tool.name, *(f"{1000 * seconds:.0f}" for seconds in medians)])
    progress("single mails: nbtext serve --learn")
    model = str(scratch / "single" / f"{len(rows) - 1}.joblib")
    rows.append(["nbtext serve --learn", *measure_service(model, mails[0])])
    heads = ["", "filter one mail", "learn one mail", f"learn {BATCH} mails at once"]
    return f"### One mail at a time: milliseconds\n\n{markdown(heads, rows)}"


def tables(options: argparse.Namespace, scratch: Path) -> str:
    """Measure every tool on the split, on many mails, and on single mails."""
    split(options.folder, scratch)
    repeat(scratch, scratch / "many", options.mails)
    n_train, n_test = (
        sum(file.is_file() for file in (scratch / part).rglob("*")) for part in ("train", "test")
    )
    megabytes = (
        sum(file.stat().st_size for file in (scratch / "many").rglob("*") if file.is_file()) / 1e6
    )
    quality = tools(scratch / "train", scratch / "test", scratch / "quality", options.only)
    speed = tools(scratch / "many", scratch / "many", scratch / "speed", options.only)
    heads = ["accuracy", "ham lost", f"ham lost where p > {SURE}", "1 − AUC"]
    return "\n\n".join([
        table(f"Spam: {n_train:,} mails for training, {n_test:,} for testing", heads, quality, judged),
        table(
            f"Seconds for {options.mails:,} mails, {megabytes:.0f} MB",
            ["train seconds", "classify seconds", "peak MiB"], speed, lambda tool: timed(tool, options.runs),
        ),
        single_mails(scratch, max(options.runs, 5)),
    ])  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument(
        "--runs", type=int, default=1, help="rounds of the table of seconds; the fastest counts"
    )
    parser.add_argument("--mails", type=int, default=MAILS, help="mails of that table")
    parser.add_argument("--only", default="", help="tools with this in their name")
    parser.add_argument("--write", action="store_true", help="put the tables into bench/README.md")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        measured = tables(options, Path(scratch))
    print(measured)
    if options.write:
        write_between(README, "mail", measured)


if __name__ == "__main__":
    main()

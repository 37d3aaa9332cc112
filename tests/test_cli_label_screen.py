"""`nbtext label` at a terminal, through a real pseudo-terminal: keys in, screens out, and the terminal as it was whatever happens.

Also tests `cli/label_rendering.py`, `cli/label_terminal.py` and `labelling/review.py`.
"""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import signal
import struct
import sys
import termios
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import pytest

from nbtext.cli.label_rendering import MAX_SHOWN_CHARS, render_classes, render_highlighted_text
from tests import test_classifiers_multi_label as made
from tests.labelling_pools import labelled_texts
from tests.process import (
    ENVIRONMENT,
    TIME_LIMIT,
    content,
    corpus,
    fail,
    json_lines,
    start,
    succeed,
    wait_until,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.process import Running

TEXTS = labelled_texts(40)
EVIL = "\x1b]0;title\x07\x1b[31mred\x9b2J\u202egnp\u2028"
CODES = re.compile(r"\x1b\[[?\d;]*[A-Za-z]")


class Screen:
    """A pseudo-terminal with the command behind it."""

    def __init__(self, ours: int, theirs: int, child: Running) -> None:
        self.ours, self.theirs, self.child = ours, theirs, child
        self.raw = b""

    def read(self) -> bytes:
        """Read what there is; return all so far."""
        with suppress(BlockingIOError):
            while True:
                self.raw += os.read(self.ours, 65536)
        return self.raw

    @property
    def height(self) -> int:
        """Lines of the last screen by now."""
        self.read()
        return len(self.frame)

    @property
    def frame(self) -> list[str]:
        """The lines of the last whole screen, without styles."""
        whole, _, _ = self.raw.rpartition(b"\x1b[J")
        return CODES.sub("", whole.rpartition(b"\x1b[H")[2].decode()).split("\r\n")

    def wait(self, wanted: str) -> list[str]:
        """Wait until the last screen holds some words."""

        def there() -> bool:
            self.read()
            return wanted in "\n".join(self.frame)

        wait_until(there, wanted)
        return self.frame

    def type(self, keys: str, wanted: str) -> list[str]:
        """Send keys; wait for a screen."""
        os.write(self.ours, keys.encode())
        return self.wait(wanted)

    def label(self, label: str, n: int) -> None:
        """Name the class of the document; wait until there are n labels."""
        self.type(label, f"class: {label}_")
        self.type("\r", f"{n} label{'s' * (n != 1)}, ")

    def resize(self, columns: int, lines: int) -> None:
        fcntl.ioctl(self.theirs, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        self.child.send_signal(signal.SIGWINCH)

    def end(self) -> int:
        """Exit status."""
        wait_until(lambda: (self.read(), self.child.poll())[1] is not None, "the end")
        self.read()
        return self.child.wait()


@contextmanager
def screen(
    folder: Path,
    *arguments: str,
    size: tuple[int, int] = (80, 24),
    env: dict[str, str] | None = None,
) -> Iterator[Screen]:
    ours, theirs = pty.openpty()
    os.set_blocking(ours, False)
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
    environment = {**ENVIRONMENT, "TERM": "xterm-256color", "LC_ALL": "C.UTF-8", **(env or {})}
    command = [sys.executable, "-m", "nbtext", "label", *(arguments or ("pool",))]
    before = termios.tcgetattr(theirs)
    with start(
        command,
        cwd=folder,
        env=environment,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        new_session=True,
    ) as child:
        found = Screen(ours, theirs, child)
        try:
            yield found
            assert child.wait(TIME_LIMIT) is not None
            if child.returncode != -signal.SIGKILL:
                assert termios.tcgetattr(theirs) == before
        finally:
            child.kill()
            os.close(ours)
            os.close(theirs)


@pytest.fixture
def pool(tmp_path: Path) -> Path:
    return corpus(tmp_path, {f"pool/{row:02}.txt": text for row, (_, text) in enumerate(TEXTS)})


def labels(folder: Path) -> list[tuple[str, str]]:
    records = json_lines((folder / "labels.jsonl").read_bytes())
    return [(record["id"], record["label"]) for record in records]


def name(frame: list[str]) -> str:
    return str(re.findall(r"pool/\d\d\.txt", "\n".join(frame))[0])


def test_session_from_the_first_class_to_a_model(pool: Path) -> None:
    with screen(pool) as shown:
        first = name(shown.wait("0 labels, 40 left"))
        assert shown.frame[-1].startswith("Type the first class, then Enter")
        assert "no class is suggested yet" in "\n".join(shown.type("\r", "no class is suggested"))
        shown.label("cats", 1)
        shown.label("dogs", 2)
        assert re.search(r">?1 0\.\d\d cats +>?2 0\.\d\d dogs", shown.frame[-2])
        assert shown.frame[-1].startswith("Esc quit  Enter >class  1-0 class  a-z name  Tab skip")
        assert "Enter: new class" in shown.type("c", "Tab: cats")[-1]
        shown.type("\t", "class: cats_")
        assert "Enter: done" in shown.frame[-1]
        third = name(shown.type("\r", "3 labels, "))
        shown.type("2", "4 labels, 36 left")
        assert name(shown.type("\x7f", "undone; label it again")) == third
        shown.type("1", "4 labels, 36 left")
        fifth = name(shown.frame)
        assert name(shown.type("\t", "4 labels, 35 left")) != fifth
        shown.type("\r", "5 labels, 34 left")
        shown.type("9", "the key 9 has no effect here; see the last line")
        shown.type("/", "search (empty: next match): _")
        shown.type("engine", "engine_")
        assert "engine" in "\n".join(shown.type("\r", "found without a label")[3:])
        shown.type("\x1b", "")
        assert shown.end() == 0
        assert (
            b"labels.jsonl: 5 labels, 2 classes; train a model with nbtext train labels.jsonl"
            in b" ".join(shown.raw.split())
        )
    done = labels(pool)
    assert done[0] == (first, "cats")
    assert [label for _, label in done[:4]] == ["cats", "dogs", "cats", "cats"]
    assert done[3][0] == third
    succeed("train labels.jsonl")


def test_accuracy_is_estimated_after_five_random_documents(pool: Path) -> None:
    with screen(pool, "pool", "--random-share", "1") as shown:
        shown.wait("0 labels")
        shown.label("cats", 1)
        shown.label("dogs", 2)
        shown.type("1", "3 labels")
        assert "at random" not in shown.type("1", "4 labels")[0]
        assert re.fullmatch(
            r"5 labels, 35 left \| accuracy about \d\.\d\d \(\d\.\d\d to \d\.\d\d, 5 at random\)",
            shown.type("2", "5 labels")[0],
        )
        shown.type("\x1b", "")
        assert shown.end() == 0


def test_killed_session_is_resumed(pool: Path) -> None:
    with screen(pool) as shown:
        shown.wait("0 labels")
        shown.label("cats", 1)
        shown.label("dogs", 2)
        following = name(shown.frame)
        shown.child.send_signal(signal.SIGKILL)
        shown.end()
    assert [label for _, label in labels(pool)] == ["cats", "dogs"]
    with screen(pool) as shown:
        assert name(shown.wait("2 labels, 38 left")) == following
        shown.type("1", "3 labels, 37 left")
        shown.type("\x04", "")
        assert shown.end() == 0


@pytest.mark.parametrize(
    ("number", "status"),
    [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 130), (signal.SIGQUIT, -3)],
)
def test_signals_restore_the_terminal(pool: Path, number: int, status: int) -> None:
    with screen(pool) as shown:
        shown.wait("0 labels")
        shown.label("cats", 1)
        shown.type("n", "class: n_")
        shown.child.send_signal(number)
        assert shown.end() == status
        assert shown.raw.count(b"\x1b[?1049h") == shown.raw.count(b"\x1b[?25h\x1b[?1049l") == 1
    assert [label for _, label in labels(pool)] == ["cats"]


def test_failures_restore_the_terminal(pool: Path) -> None:
    with screen(pool, "pool", "--to", "gone/labels.jsonl") as shown:
        assert shown.end() == 4
    (pool / "labels.jsonl").touch()
    with screen(pool) as shown:
        shown.wait("0 labels")
        with screen(pool) as second:
            assert second.end() == 5
            assert (
                b"labels.jsonl: another session has this file open; end that session, or choose another file"
                in b" ".join(second.raw.split())
            )
        shown.type("\x1b", "")
        assert shown.end() == 0


def test_replaced_label_file_ends_the_session_in_one_line(pool: Path) -> None:
    with screen(pool) as shown:
        shown.wait("0 labels")
        shown.label("cats", 1)
        (pool / "labels.jsonl").rename(pool / "old")
        os.write(shown.ours, b"dogs\r")
        assert shown.end() == 4
    after = b" ".join(shown.raw.rpartition(b"\x1b[?1049l")[2].split())
    assert (
        after
        == b"nbtext: labels.jsonl: was removed or replaced by another program; the earlier answers are in the old file; start again"
    )
    assert len(content("old").splitlines()) == 1
    assert not (pool / "labels.jsonl").exists()


def test_suspending_restores_the_terminal_and_resuming_redraws(pool: Path) -> None:
    with screen(pool) as shown:
        shown.wait("0 labels")
        shown.child.send_signal(
            signal.SIGTSTP
        )  # the group has no shell, so the kernel lets it go on at once

        def again() -> bool:
            shown.read()
            return shown.raw.count(b"\x1b[?1049h") == 2 and shown.raw.rstrip().endswith(b"\x1b[J")

        wait_until(again, "the second screen")
        assert shown.raw.index(b"\x1b[?1049l") < shown.raw.rindex(b"\x1b[?1049h")
        shown.label("cats", 1)
        shown.type("\x1b", "")
        assert shown.end() == 0


@pytest.mark.parametrize("size", [(80, 24), (40, 12), (20, 8), (12, 6), (200, 60)])
def test_frame_fits_the_screen(pool: Path, size: tuple[int, int]) -> None:
    corpus(pool, {"pool/long.txt": "word " * 500 + "unbroken" * 60 + "\n" + "\u4e2d\u6587" * 90})
    with screen(pool, size=size) as shown:
        for label in ("a class with a rather long name", "dogs", "cats"):
            os.write(shown.ours, f"{label}\r".encode())
        os.write(shown.ours, b"/unbroken\r   \x1b[5~ \x1b")
        assert shown.end() == 0
    frames = [
        CODES.sub("", frame.partition(b"\x1b[J")[0].decode()).split("\r\n")
        for frame in shown.raw.split(b"\x1b[H")[1:]
    ]
    assert len(frames) > 10
    for frame in frames:
        assert len(frame) <= size[1]
        assert all(
            len(line) + sum(character > "\u2fff" for character in line) < size[0] for line in frame
        )


def test_resizing_redraws_the_screen(pool: Path) -> None:
    with screen(pool) as shown:
        shown.wait("Type the first class")
        shown.resize(30, 10)
        wait_until(lambda: shown.height == 10, "the smaller screen")
        assert all(len(line) < 30 for line in shown.frame)
        assert shown.frame[-1].startswith("Type the first class")
        shown.resize(100, 30)
        wait_until(lambda: shown.height == 30, "the larger screen")
        shown.type("\x1b", "")
        assert shown.end() == 0


@pytest.mark.parametrize(
    "env", [{}, {"NO_COLOR": "1"}, {"LC_ALL": "C"}, {"TERM": "dumb", "LC_ALL": "C"}], ids=str
)
def test_documents_cannot_move_the_cursor_and_plain_terminals_work(
    pool: Path, env: dict[str, str]
) -> None:
    words = ("alpha beta", "gamma delta", "alpha gamma", "beta delta")
    corpus(
        pool,
        {
            f"evil/{EVIL}{number}": f"{EVIL} \u00e9t\u00e9 {both}"
            for number, both in enumerate(words)
        },
    )
    with screen(pool, "evil", env=env) as shown:
        wait_until(lambda: b"Type the first" in shown.read(), "the screen")
        for keys in (b"cats\r", b"dogs\r"):
            os.write(shown.ours, keys)
        wait_until(lambda: b"2 labels" in shown.read(), "two labels")
        os.write(shown.ours, b"\x1b")
        assert shown.end() == 0
    text = shown.raw.decode()
    assert not set(CODES.sub("", text)) & set("\x1b\x07\x9b\u202e\u2028")
    assert ("\x1b[" in text) == (env.get("TERM") != "dumb")
    assert ("48;5;" in text) == (not env.keys() & {"NO_COLOR", "TERM"})
    assert text.isascii() == ("LC_ALL" in env)


def test_review_shows_only_suspects_and_writes_a_patch(tmp_path: Path) -> None:
    wrong = {3: "cars", 11: "cars"}
    texts = {
        f"corpus/{wrong.get(row, label)}/{row:02}.txt": text
        for row, (label, text) in enumerate(TEXTS)
        if label != "cars" or row > 20
    }
    corpus(tmp_path, texts)
    suspects = [row[0] for row in succeed("suspects corpus --stop-words default").rows]
    assert len(suspects) > 2
    with screen(tmp_path, "corpus", "--review") as shown:
        shown.wait(f"0 reviewed, 0 changed, {len(suspects)} left")
        assert shown.frame[-1].startswith("Esc quit  = keep label  Enter >class")
        assert re.match(r"is \w+, looks like \w+, \d+ to 1", shown.frame[1])
        shown.type("=", "1 reviewed, 0 changed")
        shown.type("horses", "horses_")
        shown.type("\r", "2 reviewed, 1 changed")
        shown.type("\x7f", "1 reviewed, 0 changed")
        shown.type("dogs", "dogs_")
        shown.type("\r", "2 reviewed")
        shown.type(
            "\t", f"2 reviewed, {1 - ('/dogs/' in suspects[1])} changed, {len(suspects) - 3} left"
        )
        shown.type("\x1b", "")
        assert shown.end() == 0
    lines = [
        line.split("\t")
        for line in (tmp_path / "review.tsv").read_text(encoding="utf-8").splitlines()
    ]
    labels_of = [name.split("/")[1] for name in suspects]
    assert lines == [[suspects[0], labels_of[0], labels_of[0]], [suspects[1], labels_of[1], "dogs"]]
    assert {
        str(path.relative_to(tmp_path)) for path in (tmp_path / "corpus").rglob("*.txt")
    } == set(texts)
    succeed("train corpus --relabel review.tsv")
    with screen(tmp_path, "corpus", "--review") as shown:
        shown.wait(f"{len(suspects) - 2} left")
        shown.type("\x1b", "")
        assert shown.end() == 0


def test_without_a_terminal_the_error_names_the_alternative(pool: Path) -> None:
    assert (
        fail(2, "label pool")
        == "nbtext: nbtext label needs a terminal; without a terminal, use --suggest and --take"
    )
    assert not (pool / "labels.jsonl").exists()


def test_words_are_wrapped_whole_and_highlighted() -> None:
    pieces = [("one ", 0.0), ("two", 2.0), (" three\nfo", 0.0), ("ur", -2.0), (" five", 0.0)]
    assert render_highlighted_text(pieces, 16) == ["one two[+2.00]", "three", "four[−2.00] five"]
    assert render_highlighted_text([("a" * 25, 0.0)], 10) == ["a" * 10, "a" * 10, "a" * 5]
    assert render_highlighted_text([("fo", 0.0), ("ur", 1.0), ("t five", 0.0)], 12) == [
        "four[+1.00]t",
        "five",
    ]
    assert render_highlighted_text([], 10) == [""]


@pytest.mark.parametrize("character", ["a", "\u00e9", "\u4e2d"])
def test_text_without_spaces_is_folded(character: str) -> None:
    assert "".join(render_highlighted_text([(character * 1_000, 0.0)], 79)) == character * 1_000


def test_long_document_is_shown_truncated() -> None:
    *_, last = render_highlighted_text([("word " * MAX_SHOWN_CHARS, 0.0)], 79)
    assert last.endswith(" [...]")


def test_classes_are_in_columns_and_limited_to_the_most_probable() -> None:
    few = [("cats", 0.75), ("dogs", 0.25)]
    assert render_classes(few, 80, 4) == [">1 0.75 cats   2 0.25 dogs"]
    many = [(f"class-{number:02}", number / 1000) for number in range(30)]
    lines = render_classes(many, 40, 3)
    assert len(lines) == 3
    assert all(len(line) <= 40 for line in lines)
    assert "class-29" in lines[-1]
    assert "class-00" not in "".join(lines)


@pytest.fixture
def tagged(tmp_path: Path) -> Path:
    """A pool whose documents have some of two labels, or none."""
    texts = {
        f"pool/{row:02}.txt": f"{'purrs cat milk ' * (row % 2)}{'engine road wheel ' * (row // 2 % 2)}plain {row}"
        for row in range(24)
    }
    return corpus(tmp_path, texts)


def set_of(document: str) -> list[str]:
    row = int(document[5:7])
    return ["cats"] * (row % 2) + ["engines"] * (row // 2 % 2)


def switch_to(shown: Screen, wanted: list[str]) -> None:
    """Switch known labels until those wanted are on, the first of the two being that of key 1."""
    for key, label in (("1", "cats"), ("2", "engines")):
        is_on = f">{key} " in shown.frame[-2]
        if is_on != (label in wanted):
            shown.type(key, f"{' ' if is_on else '>'}{key} ")


def test_multi_label_keys_toggle_labels_which_are_stored_together(tagged: Path) -> None:
    with screen(tagged, "pool", "--label-separator", "|", "--times", "--who", "ada") as shown:
        first = name(shown.wait("0 documents, 24 left"))
        assert shown.frame[-1].startswith("Type the first class")
        shown.type("cats | engines", "engines_")
        assert shown.type("\r", ">2 0.00 engines")[-2] == ">1 0.00 cats     >2 0.00 engines"
        shown.type("2", " 2 0.00 engines")
        second = name(shown.type("\r", "1 document, 23 left"))
        switch_to(shown, [])
        third = name(shown.type("\r", "2 documents, 22 left"))  # no label, which is not a skip
        shown.type("\t", "2 documents, 21 left")
        assert name(shown.type("\x7f", "undone; label it again")) == third
        assert name(shown.type("\x7f", "1 document, 23 left")) == second
        switch_to(shown, [])
        shown.type("engines", "engines_")
        shown.type("\r", ">2 0.00 engines")
        switch_to(shown, ["engines"])
        third = name(shown.type("\r", "2 documents, 22 left"))
        assert "engines" in shown.frame[-2]
        shown.type("\x7f", "1 document, 23 left")
        assert "engines" not in shown.frame[-2]  # no document has it any more
        shown.type("engines", "engines_")
        shown.type("\r", ">2 0.00 engines")
        switch_to(shown, ["engines"])
        assert name(shown.type("\r", "2 documents, 22 left")) == third
        for n in range(3, 17):
            switch_to(shown, set_of(name(shown.frame)))
            shown.type("\r", f"{n} documents, {24 - n} left")
        shown.type("\x1b", "")
        assert shown.end() == 0
        assert (
            b"labels.jsonl: 16 documents, 2 labels; train a model with nbtext train labels.jsonl"
            in b" ".join(shown.raw.split())
        )
    records = json_lines((tagged / "labels.jsonl").read_bytes())
    assert [(record["id"], record["label"]) for record in records[:2]] == [
        (first, ["cats"]),
        (second, ["engines"]),
    ]
    assert {len(record["label"]) for record in records} == {0, 1, 2}
    assert all(record["label"] == set_of(record["id"]) for record in records[2:])
    assert all(record["who"] == "ada" and record["time"].endswith("Z") for record in records)
    with screen(tagged) as shown:  # the file says that there may be several
        left = name(shown.wait("16 documents, 8 left"))
        on = [
            label
            for key, label in (("1", "cats"), ("2", "engines"))
            if f">{key} " in shown.frame[-2]
        ]
        shown.type("\r", "17 documents, 7 left")
        shown.type("\x1b", "")
        assert shown.end() == 0
    assert json_lines((tagged / "labels.jsonl").read_bytes())[-1]["label"] == on == set_of(left)
    succeed("train labels.jsonl --min-df 1")
    assert (
        json.loads(succeed("classify --text purrs -o jsonl -n 2").text)["labels"][0]["label"]
        == "cats"
    )


def test_multi_label_review_suggests_the_suspected_label_set(tmp_path: Path) -> None:
    rows = [
        {"label": labels, "text": text} for text, labels in zip(made.TEXTS, made.SETS, strict=True)
    ]
    rows += [
        {"label": ["corn", "oil"], "text": "corn0 corn1 corn2 corn0"},
        {"label": [], "text": "corn1 corn2 grain1 grain2 grain0 grain3"},
    ]
    lines = [json.dumps({"id": f"d{number}", **row}) for number, row in enumerate(rows)]
    corpus(tmp_path, {"all.jsonl": "\n".join(lines) + "\n"})
    found = [
        row[:3] for row in succeed("suspects all.jsonl --stop-words default --id-column id").rows
    ]
    assert {tuple(row) for row in found} >= {("d60", "corn|oil", "corn")}
    with screen(tmp_path, "all.jsonl", "--review", "--id-column", "id") as shown:
        for n, (_, label, suggested) in enumerate(found):
            shown.wait(f"{n} reviewed")
            assert shown.frame[1].startswith(
                f"is {label or 'without a label'}, looks like {suggested or 'without a label'}, "
            )
            if n == 0:
                shown.type("=", "1 reviewed, 0 changed")
            elif n < len(found) - 1:
                shown.type("\r", f"{n + 1} reviewed, {n} changed")
            else:
                os.write(shown.ours, b"\r")
        assert shown.end() == 0
    patch = [line.split("\t") for line in (tmp_path / "review.tsv").read_text("utf-8").splitlines()]
    assert patch == [
        [row, label or "|", (label if n == 0 else suggested) or "|"]
        for n, (row, label, suggested) in enumerate(found)
    ]
    succeed("train all.jsonl --id-column id --relabel review.tsv")

"""A spam filter in a mailbox: real delivery agents pipe mail through nbtext, and it learns from what is moved between folders.

The configurations are those of docs/mail.md. The packages procmail and maildrop of Debian have the agents.
"""

from __future__ import annotations

import re
import shutil
from typing import TYPE_CHECKING

import pytest

from tests.process import (
    ENVIRONMENT,
    REPOSITORY,
    Result,
    content,
    corpus,
    fail,
    nbtext,
    python_in_shell,
    run,
    succeed,
)

if TYPE_CHECKING:
    from pathlib import Path

SPAM, HAM = (
    b"From: a@example.com\nSubject: You win\n\nClaim the prize\n",
    b"From: ann@example.org\nSubject: lunch\n\nat noon?\n",
)
FOLDERS = ("--from-folder", "spam=Maildir/.Junk", "--from-folder", "ham=Maildir")


def configuration(title: str) -> str:
    """What stands on the page under this title."""
    page = (REPOSITORY / "docs/mail.md").read_text(encoding="utf-8")
    found = re.search(
        rf"^```text\n(# {re.escape(title)}\n.*?)^```$", page, re.MULTILINE | re.DOTALL
    )
    assert found
    return found[1]


def install(kind: str, title: str, home: Path) -> None:
    """Give a home a delivery agent's configuration from the page, and nbtext on the agent's path; skip the test if there is no such agent."""
    if shutil.which(kind) is None:
        pytest.skip(f"{kind} is not installed")
    variables = " ".join(f"{name}='{value}'" for name, value in ENVIRONMENT.items())
    corpus(
        home, {"bin/nbtext": f'#!/bin/sh\n{variables} exec {python_in_shell()} -m nbtext "$@"\n'}
    )
    (home / "bin/nbtext").chmod(0o755)
    quote = '"' if kind == "maildrop" else ""
    written = configuration(title).replace("$HOME", str(home))
    (home / "rules").write_text(f"PATH={quote}{home}/bin:/usr/bin:/bin{quote}\n{written}")
    (home / "rules").chmod(0o600)


def maildirs(home: Path, *folders: str) -> None:
    """Make Maildirs."""
    for folder in folders:
        for name in ("cur", "new", "tmp"):
            (home / folder / name).mkdir(parents=True)


@pytest.fixture(params=["procmail", "maildrop"])
def agent(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A delivery agent with a model that tells spam from ham."""
    kind = str(request.param)
    install(kind, "~/.procmailrc" if kind == "procmail" else "~/.mailfilter", tmp_path)
    maildirs(tmp_path, "Maildir", "Maildir/.Junk")
    corpus(
        tmp_path,
        {
            "Maildir/.Junk/cur/1:2,S": "Subject: win\n\na prize for you\n",
            "Maildir/cur/2:2,S": "Subject: minutes\n\nof our lunch\n",
        },
    )
    succeed("train --deduplicate", *FOLDERS, "-m", "mail.joblib")
    return kind


def deliver(agent: str, home: Path, message: bytes) -> Result:
    """Have a message delivered."""
    return run(
        [agent, *(["-m"] if agent == "procmail" else []), str(home / "rules")],
        cwd=home,
        stdin=message,
        env={"HOME": str(home)},
    )


def new(folder: Path) -> list[bytes]:
    """The messages that were delivered to a folder."""
    return [file.read_bytes() for file in (folder / "new").iterdir()]


def test_mail_gets_a_header_and_is_delivered_by_it(agent: str, tmp_path: Path) -> None:
    for message in (SPAM, HAM):
        assert deliver(agent, tmp_path, message).status == 0
    [spam], [ham] = new(tmp_path / "Maildir/.Junk"), new(tmp_path / "Maildir")
    for label, message, found in (("spam", SPAM, spam), ("ham", HAM, ham)):
        header, _, rest = found.partition(b"\n")
        assert header.startswith(b"X-Nbtext: %b; probability=" % label.encode())
        assert rest.rstrip(b"\n") == message.rstrip(b"\n")  # procmail ends mail with an empty line


def test_mail_is_delivered_unchanged_without_a_model_and_forged_headers_are_ignored(
    agent: str, tmp_path: Path
) -> None:
    (tmp_path / "mail.joblib").unlink()
    forged = b"X-Nbtext: spam; probability=1\n" + HAM
    done = deliver(agent, tmp_path, forged)
    assert done.status == 0
    assert new(tmp_path / "Maildir/.Junk") == []
    assert [found.rstrip(b"\n") for found in new(tmp_path / "Maildir")] == [forged.rstrip(b"\n")]
    log = tmp_path / "mail.log"
    assert b"mail.joblib: the model file does not exist" in (
        log.read_bytes() if log.exists() else done.err
    )


def test_moved_messages_change_class_and_others_stay(agent: str, tmp_path: Path) -> None:
    for message in (SPAM, HAM):
        deliver(agent, tmp_path, message)

    def update() -> str:
        done = nbtext("update --skip-known", *FOLDERS, "-m", "mail.joblib", "-v")
        assert done.status == 0
        return done.notes[0].removeprefix("nbtext: ")

    assert (
        update()
        == "added 2 documents; moved from another class: 0, already in the model: 2, repeated in the input: 0"
    )
    [letter] = (tmp_path / "Maildir/new").iterdir()
    for target in (
        "Maildir/cur/3:2,",
        "Maildir/cur/3:2,S",
        "Maildir/.Junk/cur/3:2,FS",
        "Maildir/.Junk/cur/9:2,FS",
        "Maildir/cur/3:2,RS",
    ):
        letter = letter.rename(tmp_path / target)
        moved = int(target.endswith(("cur/3:2,FS", ",RS")))
        assert (
            update()
            == f"added 0 documents; moved from another class: {moved}, already in the model: {4 - moved}, repeated in the input: 0"
        )
    succeed("train --deduplicate", *FOLDERS, "-m", "again")
    assert content("again") == content("mail.joblib")
    rows = succeed("select-features --top 100 -m mail.joblib -o tsv").rows
    assert rows
    assert not [row for row in rows if "nbtext" in row[1].lower() or "probabl" in row[1]]


def test_mail_is_sorted_into_the_folder_of_its_class(tmp_path: Path) -> None:
    install("procmail", "~/.procmailrc, to sort", tmp_path)
    maildirs(tmp_path, "Maildir", "Maildir/.Bills", "Maildir/.Friends")
    corpus(
        tmp_path,
        {
            "Maildir/.Bills/cur/1": "Subject: invoice\n\nto pay by May\n",
            "Maildir/.Friends/cur/1": "Subject: lunch\n\nat noon?\n",
        },
    )
    succeed("train Maildir/.Bills Maildir/.Friends -m sorter.joblib")
    for message in (
        b"Subject: invoice\n\ninvoice of May to pay, second invoice\n",
        b"Subject: zyzzyva\n\n",
    ):
        assert deliver("procmail", tmp_path, message).status == 0
    assert [len(new(tmp_path / "Maildir" / folder)) for folder in ("", ".Bills", ".Friends")] == [
        1,
        1,
        0,
    ]


def test_header_does_not_change_the_identity_of_a_message(tmp_path: Path) -> None:
    corpus(
        tmp_path,
        {
            "Maildir/.Junk/1": SPAM,
            "Maildir/1": HAM,
            "marked/1": b"X-Nbtext: ham; probability=1\n" + SPAM,
        },
    )
    succeed("train --deduplicate", *FOLDERS)
    done = nbtext("update --skip-known --from-folder spam=marked -v")
    assert (
        done.notes[0]
        == "nbtext: added 0 documents; moved from another class: 0, already in the model: 1, repeated in the input: 0"
    )


def test_from_folder_can_be_combined_with_drop_unlabelled(tmp_path: Path) -> None:
    corpus(tmp_path, {"Maildir/.Junk/1": SPAM, "Maildir/1": HAM, "more/1": SPAM + b"again\n"})
    succeed("train", *FOLDERS)
    done = nbtext("update --from-folder spam=more --drop-unlabelled -v")
    assert (done.status, any(", 3 documents, " in note for note in done.notes)) == (0, True)


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_from_folder_sets_the_class_of_any_kind_of_mail_folder(tmp_path: Path, jobs: str) -> None:
    corpus(tmp_path, {"junk/1": SPAM, "junk/more/2": SPAM, "inbox": b"From ann Sat\n" + HAM})
    (tmp_path / "mail").mkdir()
    shutil.move(tmp_path / "junk", tmp_path / "mail/junk")
    succeed(
        "train --from-folder", "Müll=~/mail/junk", "-q", "-j", jobs, env={"HOME": str(tmp_path)}
    )
    succeed("update --from-folder gut=inbox -j", jobs)
    succeed("train --from-folder", "Müll=mail/junk", "-m", "other", "-q")
    rows = succeed("classify inbox mail --format dir").rows
    assert [row[1] for row in rows] == ["gut", "Müll", "Müll"]


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (
            "--from-folder spam",
            2,
            "--from-folder needs LABEL=PATH, such as spam=Maildir/.Junk, not 'spam'",
        ),
        (
            "--from-folder =x",
            2,
            "--from-folder needs LABEL=PATH, such as spam=Maildir/.Junk, not '=x'",
        ),
        ("--from-folder a=nothere", 4, "nothere: cannot read: no such file or directory"),
    ],
)
def test_invalid_from_folder_is_refused_in_one_line(
    tmp_path: Path, arguments: str, status: int, said: str
) -> None:
    corpus(tmp_path, {"mail/1": HAM})
    assert fail(status, f"train {arguments}") == f"nbtext: {said}"

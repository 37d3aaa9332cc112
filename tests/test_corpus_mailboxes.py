"""mbox and Maildir, and what a mail repeats: quotes and signatures.

Also tests `corpus/mail/mail.py`.
"""

from __future__ import annotations

import mailbox
import os
from functools import partial
from timeit import repeat
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtext import TextClassifier
from nbtext.corpus.collection import Corpus
from nbtext.corpus.detection.formats import choose_reading, resolve_reading
from nbtext.corpus.document import LabelledFolder, Notices
from nbtext.corpus.mail.mail import MailOptions, _drop_quotes, _drop_signature, read_mail
from nbtext.corpus.mailboxes import MESSAGE_START, _to_class_name
from nbtext.corpus.reading import create_reader_options, read_shard
from nbtext.corpus.shards import split_corpus
from nbtext.corpus.streams import BUFFER_BYTES
from nbtext.errors import PathError, UsageError
from nbtext.prediction.labels import make_label_set
from nbtext.settings import Reading
from tests.corpus_reader import documents, problems, texts
from tests.operation_counts import DOUBLE, steps
from tests.oracle_mail import text_by_email_package
from tests.process import content, corpus, fail, nbtext, succeed, write

if TYPE_CHECKING:
    from pathlib import Path

BOX = b"From a@b Sat Nov 21\nSubject: one\n\nfirst body\n\nFrom c@d Sun\nSubject: two\n\nlast\nFrom here on\nFrom there\n>From afar\n"


def box(folder: Path, content: bytes, name: str = "spam.mbox") -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_mbox_messages_are_read(tmp_path: Path, end: bytes) -> None:
    path = box(tmp_path, BOX.replace(b"\n", end))
    assert [(label, text.split()) for label, text in texts(path, headers="subject")] == [
        ("spam", ["one", "first", "body"]),
        ("spam", ["two", "last", "From", "here", "on", "From", "there", "From", "afar"]),
    ]
    assert [document.id for document in documents(path)] == [f"{path}:1", f"{path}:2"]
    assert texts(path, headers="from")[0][1].split() == ["first", "body"]


DATE = "Sat Jan  1 00:00:00 2022"


@pytest.mark.parametrize(
    ("lines", "begins"),
    [
        (f"From ann@b.example {DATE}\nSubject: x", True), (f"From - {DATE}\r\nX-Mozilla-Status: 1", True), ("From \nReceived: by x", True),
        (f"From ann at b.example  {DATE}\nFrom: x", True), ("From ann@b.example\nsubject: x", True), ("\nFrom ann\nSubject: x", True),
        (f"From ann@b.example {DATE}\n>From bob {DATE}\nPosted: x\n  y\nTo: x", True), ("From A. Bee 1 Jan 2022 00:00:00 +0100\nDate: x", True),
        ("From ann\nSubject: x", False), ("\nFrom the prize office, with love\nSubject: x", False), (f"\nFrom ann@b.example {DATE}\nNote: x", False),
        (f"\nFrom ann@b.example {DATE}\n\nSubject: x", False), ("From ann@b.example we heard:\nDate: x", False), ("From 10:30 on\nto: x", False),
        (f"\n>From ann@b.example {DATE}\nSubject: x", False), (f" From ann@b.example {DATE}\nSubject: x", False),
        (f"\nFrom ann@b.example {DATE}\nhttp://a.example:\nTo: x", False),
    ],
)  # fmt: skip
def test_mbox_message_starts_are_recognised(tmp_path: Path, lines: str, begins: bool) -> None:
    path = box(tmp_path, f"From a@b {DATE}\nSubject: one\n\nbody\n{lines}\n\nbody\n".encode())
    assert len(documents(path)) == 1 + begins


@pytest.mark.parametrize(
    "unit",
    [
        b"From ",
        b"From a@b Sat\n",
        b"From Jan ",
        b"From a@b Sat\na: b\n",
        b"a: b\n",
        b"From a@b Sat\nsubject:\n",
    ],
)
def test_mbox_takes_linear_time(unit: bytes) -> None:
    content = unit * (1 << 21 >> len(unit).bit_length())
    small, large = (
        min(repeat(partial(MESSAGE_START.findall, part), number=1, repeat=3))
        for part in (content[: len(content) // 4], content)
    )
    assert large < 12 * small + 0.02


@pytest.mark.parametrize(
    "size", [BUFFER_BYTES - 60, BUFFER_BYTES - 5, BUFFER_BYTES + 40, 3 * BUFFER_BYTES]
)
def test_mbox_messages_across_buffer_ends_are_found(tmp_path: Path, size: int) -> None:
    path = box(tmp_path, (b"From a@b Sat\nSubject: one\n\n" + b"x" * size + b"\n") * 3)
    assert [len(text) for _, text in texts(path, headers="subject")] == [
        len("one\n\n") + size + 1
    ] * 3
    assert list(problems(path, max_document_size=str(size))) == [
        f"{path}:{number}" for number in (1, 2, 3)
    ]


def test_invalid_mbox_is_refused_or_read_as_one_message(tmp_path: Path) -> None:
    path = box(tmp_path, b"\nSubject: alone\n\nbody\n")
    with pytest.raises(PathError, match='not an mbox: it does not begin with "From "'):
        documents(path)
    assert [text.split() for _, text in texts(path, labelled=False, headers="subject")] == [
        ["alone", "body"]
    ]
    assert documents(box(tmp_path, b"")) == documents(box(tmp_path, b""), labelled=False) == []
    with pytest.raises(UsageError, match="standard input has no name"):
        documents("-", format="mbox")
    assert "not an mbox" in fail(4, "train", box(tmp_path, b"x\n"), "-m", "m")


@given(
    st.lists(
        st.text(st.characters(codec="ascii", exclude_characters="\r\0\x1b\x1c\x1d\x1e\x1f")).filter(
            lambda text: ">From " not in text
        ),
        max_size=5,
    )
)
def test_mbox_written_by_the_mailbox_module_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, bodies: list[str]
) -> None:
    path = tmp_path_factory.mktemp("box") / "a.mbox"
    made = mailbox.mbox(path)
    for body in bodies:
        made.add(f"Subject: s\n\n{body}\n")
    made.close()
    assert [text for _, text in texts(path, headers="subject")] == [
        f"s\n\n{body}\n" for body in bodies
    ]


def test_message_above_the_limit_is_skipped(tmp_path: Path) -> None:
    path = box(tmp_path, BOX.replace(b"first body", b"x" * 300_000))
    assert problems(path, max_document_size="100K") == {
        f"{path}:1": "larger than 100 KiB; raise --set max-document-size=SIZE"
    }
    assert len(documents(path, max_document_size="100K")) == 2


def test_maildir_is_read(tmp_path: Path) -> None:
    corpus(
        tmp_path / ".ham",
        {
            "cur/1:2,S": "Subject: a\n\nb",
            "new/2": "c: d\n\ne",
            "tmp/3": "not yet",
            "dovecot-uidlist": "1",
            "cur/.hidden": "x",
        },
    )
    assert [
        (document.id, document.label, document.text.split())
        for document in documents(tmp_path / ".ham", headers="subject")
    ] == [
        (f"{tmp_path}/.ham/cur/1:2,S", "ham", [b"a", b"b"]),
        (f"{tmp_path}/.ham/new/2", "ham", [b"e"]),
    ]
    assert len(documents(tmp_path / ".ham/new", labelled=False, format="maildir")) == 1
    assert len(documents(tmp_path / ".ham/new/2", labelled=False, format="maildir")) == 1
    with pytest.raises(PathError, match="not a Maildir"):
        documents(tmp_path, format="maildir")
    os.mkfifo(tmp_path / ".ham/new/fifo")
    assert problems(tmp_path / ".ham") == {f"{tmp_path}/.ham/new/fifo": "not a regular file"}


LETTERS = f"From a@b {DATE}\nSubject: one\n\nbody\n\nFrom a@b {DATE}\nSubject: two\n\nbody\n"
LETTER = LETTERS.partition("\n\nFrom")[0]


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ({"spam.mbox": LETTERS, "ham.mbx": LETTER, "empty.mbox": ""}, {"spam": 2, "ham": 1}),
        ({"Inbox": LETTERS, "Inbox.msf": "// <!-- <mdb:mork", "Junk": LETTER, "Junk.msf": "", "Drafts": "", "popstate.dat": "x"}, {"Inbox": 2, "Junk": 1}),
        ({"Old": LETTERS, "Work.sbd/A": LETTERS, "Work.sbd/B.sbd/C": LETTERS}, {"Old": 2, "Work/A": 2, "Work/B/C": 2}),
        ({"spam/2002": LETTERS, "spam/2003.mbox": LETTERS, "ham/x": LETTERS}, {"spam": 4, "ham": 2}),
        ({"Junk.mbox/mbox": LETTER + "\n\n" + LETTERS, "Junk.mbox/table_of_contents": "\0", "Sent.mbox/mbox": LETTERS}, {"Junk": 3, "Sent": 2}),
    ],
)  # fmt: skip
def test_folder_of_mboxes_has_a_class_per_file(
    tmp_path: Path, files: dict[str, str], found: dict[str, int]
) -> None:
    corpus(tmp_path / "boxes", files)
    for jobs in ("1", "2"):
        succeed(f"train boxes -m m --jobs {jobs}")
        model = TextClassifier.load("m")
        assert (
            dict(zip(model.classes, model.counts.table.class_documents.tolist(), strict=True))
            == found
        )
    assert f"{len(found)} classes" in succeed("doctor boxes").text
    assert len(succeed("classify boxes -m m").rows) == sum(found.values())
    assert {
        document.label for document in documents(LabelledFolder("boxes", "all"), format="mbox")
    } == {"all"}
    left_out = sum(name.endswith((".msf", ".dat", "contents")) for name in files)
    assert (
        "outside the class folders, ignored" in str(nbtext("train boxes -m m -v").notes)
    ) == bool(left_out)


@pytest.mark.parametrize("more", [{"b/README": "text"}, {"b/1.eml": LETTER}, {"b/2": LETTER}])
def test_folder_with_other_files_is_not_a_folder_of_mboxes(
    tmp_path: Path, more: dict[str, str]
) -> None:
    corpus(tmp_path, {"b/spam.mbox": LETTERS, "b/ham.mbox": LETTERS, **more})
    *warned, said = nbtext("train b -m m").notes
    assert "has no sub-directories" in said
    assert all("look like mbox" in each and "use --format mbox" in each for each in warned)
    done = nbtext("train b -m m --format mbox")
    assert (
        done.status == 0
        or 'b/README: not an mbox: it does not begin with "From "; if each line' in done.notes[0]
    )
    os.mkfifo(tmp_path / "b/pipe")
    assert len(documents("b", labelled=False)) == 3 + len(more)


def test_mbox_folders_can_be_classes(tmp_path: Path) -> None:
    corpus(tmp_path, {"one/Junk": LETTERS, "one/Junk.msf": "", "Sent.mbox/mbox": LETTERS})
    succeed("train --from-folder spam=one --from-folder ham=Sent.mbox -m m")
    assert TextClassifier.load("m").classes == ["ham", "spam"]
    succeed("train one Sent.mbox -m m")
    assert TextClassifier.load("m").classes == ["Junk", "Sent"]
    (tmp_path / "Gmail").mkdir()
    write("Gmail/All.mbox", GMAIL)
    assert [document.label for document in documents("Gmail", label_column="X-Gmail-Labels")][
        :3
    ] == list(map(make_label_set, LABELS))


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("Entw&APw-rfe", "Entwürfe"),
        ("&U,BTFw-", "台北"),
        ("A&-B", "A&B"),
        ("R&D-x", "R&D-x"),
        ("a&b", "a&b"),
        ("&2AA-", "&2AA-"),
        ("&AAA-", "&AAA-"),
    ],
)
def test_folder_names_in_modified_utf_7_are_decoded(name: str, shown: str) -> None:
    """The second is the example of RFC 3501 (5.1.3)."""
    assert _to_class_name(name) == shown


def test_subfolders_of_a_single_maildir_are_classes(tmp_path: Path) -> None:
    folders = {
        "Maildir": 1,
        "Maildir/.Junk": 2,
        "Maildir/.Work.Reports": 1,
        "Maildir/.Sent": 0,
        "Maildir/Lists": 1,
        "Maildir/.Entw&APw-rfe": 1,
    }
    for folder, n in folders.items():
        corpus(tmp_path, {f"{folder}/{part}/.x": "" for part in ("cur", "new", "tmp")})
        corpus(
            tmp_path,
            {
                f"{folder}/cur/{number}.host:2,S": f"Subject: {folder} {number}\n\n"
                for number in range(n)
            },
        )
    corpus(
        tmp_path,
        {"Maildir/.imap/x": "", "Maildir/dovecot.index": "x", "Maildir/subscriptions": "Junk\n"},
    )
    path = tmp_path / "Maildir"
    for jobs in ("1", "2"):
        succeed(f"train Maildir -m m --jobs {jobs}")
        assert TextClassifier.load("m").classes == [
            "Entwürfe",
            "INBOX",
            "Junk",
            "Lists",
            "Work.Reports",
        ]
    shown = succeed("doctor Maildir").text
    assert "5 classes: Junk (2), " in shown
    assert "no messages" not in shown
    assert [row[0] for row in succeed("classify Maildir -m m").rows] == ["Maildir/cur/0.host:2,S"]
    assert {document.label for document in documents(path, path / ".Junk")} == {"Maildir", "Junk"}
    assert {document.label for document in documents(LabelledFolder(str(path), "ham"))} == {"ham"}
    os.link(path / "cur/0.host:2,S", path / ".Junk/new/9")
    assert next(iter(Corpus([str(path)], Reading(), labelled=True))).label == make_label_set(
        ["INBOX", "Junk"]
    )


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("new\n\nOn Monday Ann wrote:\n> old\n>> older\n\nnew too\n", "new\n\n\nnew too\n"), ("Ann writes:\n\n> old\nyes", "yes"),
        ("AB> old\n|not\nyes >no", "|not\nyes >no"), ("a:\nb\n> c\n", "a:\nb\n"), ("yes\n\n-----Original Message-----\nFrom: x\n", "yes\n\n"),
        ("a\r\nX says:\r\n> b\r\nc\r\n", "a\r\nc\r\n"), ("> all\n", ""), ("", ""), ("here:\n\n\n> far\n", "here:\n\n\n"),
    ],
)  # fmt: skip
def test_quotes_are_dropped_with_their_introduction(text: str, kept: str) -> None:
    assert _drop_quotes(text.encode()).decode() == kept


def test_empty_lines_take_linear_time() -> None:
    small, large = (b"\n>\n" * n for n in (1_000, 2_000))
    assert steps(lambda: _drop_quotes(large)) < DOUBLE * steps(lambda: _drop_quotes(small))


def test_message_in_several_maildirs_has_all_labels(tmp_path: Path) -> None:
    corpus(
        tmp_path,
        {
            f"{folder}/{part}/.x": ""
            for folder in ("work", "home")
            for part in ("cur", "new", "tmp")
        },
    )
    corpus(tmp_path, {"work/cur/1": "Subject: tax\n\nform", "home/new/2": "Subject: ann\n\nhello"})
    (tmp_path / "home/cur/3").hardlink_to(tmp_path / "work/cur/1")
    assert [document.label for document in documents(tmp_path)] == [
        make_label_set(["home", "work"]),
        "home",
    ]


GMAIL = """From a Sat Jan 01 00:00:00 2025
Subject: one
X-Gmail-Labels: Inbox,"Taxes, 2024",=?UTF-8?Q?Caf=C3=A9,?=
 =?UTF-8?Q?Bo=C3=AEte?=, Unread

form

From b Sat Jan 01 00:00:00 2025
X-GMAIL-LABELS: Work/Plans,
 Inbox
Subject: two

plan

From c Sat Jan 01 00:00:00 2025
Subject: three
X-Gmail-Labels:

hello

From d Sat Jan 01 00:00:00 2025
Subject: four

no header
"""
LABELS = [["Inbox", "Taxes, 2024", "Café", "Boîte", "Unread"], ["Work/Plans", "Inbox"], []]


def test_label_column_can_be_a_mail_header(tmp_path: Path) -> None:
    corpus(tmp_path, {"all.mbox": GMAIL})
    found = documents(tmp_path / "all.mbox", label_column="X-Gmail-Labels")
    assert [document.label for document in found[:3]] == list(map(make_label_set, LABELS))
    assert [str(document.problem) for document in found if document.problem] == [
        "no header 'x-gmail-labels'; see label_column"
    ]
    for number, message in enumerate(GMAIL.split("From ")[1:]):
        corpus(
            tmp_path,
            {
                f"flat/{number}.eml": message.partition("\n")[2],
                f"dir/cur/{number}": message.partition("\n")[2],
            },
        )
    corpus(tmp_path, {"dir/new/.x": "", "dir/tmp/.x": ""})
    given = documents(
        LabelledFolder(str(tmp_path / "dir"), "work"),
        label_column="X-Gmail-Labels",
        format="maildir",
    )
    assert [document.label for document in given] == ["work"] * 4
    for folder in ("flat", "dir"):
        assert [
            document.label
            for document in documents(tmp_path / folder, label_column="X-Gmail-Labels")
        ] == [
            *map(make_label_set, LABELS),
            None,
        ]


@pytest.mark.parametrize(
    ("where", "chosen"),
    [
        ("from=ann@example.org", "12"), ("From=ANN@example.org", "12"), ("from=Ann Lee <Ann@Example.org>", "1"), ("from!=ann@example.org", "345"),
        ("from=<bob@example.org>", "3"), ("from=Müller", "4"), ("to=ann@example.org", "3"), ("subject=tea at five", "2"), ("subject=tea", ""),
        ("subject=", "345"), ("from=", "5"), ("from!=", "1234"), ("from=example.org", ""), ("subject=Grüße", "1"), ("x-nothing=1", ""),
    ],
)  # fmt: skip
def test_where_selects_mails_by_a_header(tmp_path: Path, where: str, chosen: str) -> None:
    mails = [
        "From: Ann Lee <Ann@Example.org>\nSubject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=", "Subject: tea\n at  five\nFROM: ann@example.org (Ann)",
        'From: bob@example.org\nTo: cyd@example.org, "Lee, Ann" <ann@example.org>', "From: =?iso-8859-1?q?M=FCller?=", "Date: today",
    ]  # fmt: skip
    corpus(
        tmp_path / "box",
        {f"a/{number}.eml": f"{mail}\n\nbody\n" for number, mail in enumerate(mails, 1)},
    )
    found = Corpus(["box"], Reading(), labelled=True, condition=where)
    assert "".join(document.id[-5] for document in found) == chosen
    corpus(
        tmp_path, {"all.mbox": "".join(f"From x@y {DATE}\n{mail}\n\nbody\n\n" for mail in mails)}
    )
    assert [
        document.id for document in Corpus(["all.mbox"], Reading(), labelled=True, condition=where)
    ] == [f"all.mbox:{n}" for n in chosen]


def test_mails_of_a_sender_can_be_forgotten(tmp_path: Path) -> None:
    for label in ("ham", "spam"):
        corpus(
            tmp_path / "box",
            {
                f"{label}/{who}.eml": f"From: {who}@example.org\nSubject: {label} {who}\n\nbody\n"
                for who in ("ann", "bob", "cyd")
            },
        )
    succeed("train box -m m")
    assert "forgot 2 documents" in str(
        nbtext("forget box --where from=ann@example.org -m m -v").notes
    )
    succeed("train box -m rest --where from!=ann@example.org --jobs 2")
    assert content("m") == content("rest")
    assert (
        "has no columns, such as from; use csv, tsv or jsonl, or add --document mail for a header"
        in fail(2, "train box -m m --document text --where from=ann@example.org")
    )


def test_label_header_is_not_read_as_text(tmp_path: Path) -> None:
    corpus(
        tmp_path,
        {
            "c.mbox": "From a\nX-Topic: tax, home\nSubject: form\n\nbody\n\nFrom b\nX-Topic: tax\nSubject: other\n\nwords\n"
        },
    )
    model = TextClassifier().fit_corpus(tmp_path / "c.mbox", label_column="x-topic")
    assert model.classes == ["home", "tax"]
    assert b"subject" in model.counts.table.vocabulary.text
    assert b"x-topic" not in model.counts.table.vocabulary.text
    assert [
        document.fields
        for document in documents(tmp_path / "c.mbox", labelled=False, label_column="x-topic")
    ] == [
        [(b"subject", words), (b"", b"header:subject links:0 parts:1 type:text/plain")]
        for words in (b"form", b"other")
    ]
    table = corpus(tmp_path, {"t.csv": "x-topic,text\n"}) / "t.csv"
    assert choose_reading(model.reading, [str(table)], {}).label_column is None


def test_messages_renamed_during_reading_are_found(tmp_path: Path) -> None:
    corpus(
        tmp_path,
        {
            "spam/new/1": "Subject: one\n\n",
            "spam/cur/2:2,": "Subject: two\n\n",
            "spam/cur/3:2,": "gone",
            "spam/tmp/4": "",
        },
    )
    paths = ["spam"]
    source = create_reader_options(
        resolve_reading(Reading(), paths, labelled=True), Notices(), labelled=True
    )
    [shard] = split_corpus(paths, source)
    (tmp_path / "spam/new/1").rename(tmp_path / "spam/cur/1:2,S")
    (tmp_path / "spam/cur/2:2,").rename(tmp_path / "spam/cur/2:2,FS")
    (tmp_path / "spam/cur/3:2,").unlink()
    found = {document.id.rpartition("/")[2]: document for document in read_shard(shard, source)}
    assert [word in found[name].text for name, word in (("1:2,S", b"one"), ("2:2,FS", b"two"))] == [
        True,
        True,
    ]
    assert "no such file" in str(found["3:2,"].problem)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("body\n-- \nAnn\n", "body\n"),
        ("a\n--\nb\n--\r\nAnn", "a\n--\nb\n"),
        ("a -- b\n---\n", "a -- b\n---\n"),
        ("--", ""),
    ],
)
def test_signatures_are_dropped(text: str, kept: str) -> None:
    assert _drop_signature(text.encode()).decode() == kept


def test_quotes_and_signatures_are_dropped_only_on_request(tmp_path: Path) -> None:
    path = box(
        tmp_path,
        b"From x\nSubject: s\n\n> old\nnew\n-- \nAnn\n\nFrom x\nContent-Type: text/html\n\n<blockquote>old</blockquote>new\n",
    )
    assert [text.split() for _, text in texts(path, headers="subject")] == [
        ["s", ">", "old", "new", "--", "Ann"],
        ["old", "new"],
    ]
    assert [text.split() for _, text in texts(path, headers="subject", drop_quotes=True)] == [
        ["s", "new", "--", "Ann"],
        ["new"],
    ]
    assert [
        text.split()
        for _, text in texts(path, headers="subject", drop_quotes=True, drop_signatures=True)
    ] == [["s", "new"], ["new"]]


HEADERS = st.sampled_from([
    b"Subject: Re: Moon", b"subject:  caf\xe9", b"From: a@b (Ann)", b"Subject: =?utf-8?q?caf=C3=A9?= x", b"Subject: folded\n\tline\n  more",
    b"X-Empty:", b"Content-Type: text/plain", b"Content-Type: text/plain; charset=iso-8859-15", b'content-type: TEXT/PLAIN; charset="utf-8"',
    b"Content-Type: text/html", b"Content-Type: text/plain; format=flowed", b"Content-Type: x", b"Content-Transfer-Encoding: 8bit",
    b"Content-Transfer-Encoding: quoted-printable", b"Content-Transfer-Encoding: 7BIT", b"Content-Disposition: attachment", b"Content-Length: 3",
    b"MIME-Version: 1.0",
])  # fmt: skip
BODIES = st.lists(
    st.sampled_from(
        [
            b"word ",
            b"caf\xe9 ",
            "é ".encode(),
            b"\n",
            b"\r\n",
            b"> quoted\n",
            b"=3D",
            b"Zm9v",
            b"--\n",
            b"<p>",
            b"\r",
        ]
    ),
    max_size=12,
)


@given(
    st.lists(HEADERS, max_size=6),
    st.sampled_from([b"\n", b"\r\n"]),
    BODIES,
    st.sampled_from(["auto", "latin-1"]),
)
def test_well_formed_messages_match_the_email_package(
    headers: list[bytes], end: bytes, body: list[bytes], encoding: str
) -> None:
    message = end.join([*headers, b""]) + end + b"".join(body)
    names = ["subject", "from", "x-empty"]
    (read, doubts, _), slow = (
        read_mail(message, MailOptions([name.encode() for name in names], encoding=encoding)),
        text_by_email_package(message, names, encoding),
    )
    assert (read.split(), doubts) == (slow[0].split(), slow[1])

from __future__ import annotations

from email.message import EmailMessage

import pytest

from nbtext.corpus.mail.mail import MailOptions, read_mail
from tests.operation_counts import DOUBLE, steps


def items(body: bytes) -> list[str]:
    return read_mail(body, MailOptions((), structure=True))[2][-1][1].decode().split()


def page(markup: str) -> list[str]:
    return items(b"Content-Type: text/html\n\n" + markup.encode())


def test_message_parts_become_structure_items() -> None:
    message = EmailMessage()
    message.set_content(
        "see http://ann@www.Shop.example.org:80/x and ftp://10.2.3.4/",
        charset="iso-8859-1",
        cte="quoted-printable",
    )
    message.add_alternative("<p>hello", subtype="html")
    message.add_attachment(b"\0\1", maintype="application", subtype="zip", filename="Bill.2002.PIF")
    assert items(message.as_bytes()) == [
        "attachment:pif", "charset:iso-8859-1", "charset:utf-8", "encoding:7bit", "encoding:base64", "encoding:quoted-printable", "host:10", "host:10.2", "host:10.2.3",
        "host:example.org", "host:org", "host:www.shop.example.org", "images:0", "links:2", "parts:4", "tags:1",
        "type:application/zip", "type:multipart/alternative", "type:multipart/mixed", "type:text/html", "type:text/plain",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("markup", "found"),
    [
        ("<FONT color = '#FF0000'>x</FONT>", {"tag:font", "colour:#ff0000", "tags:2"}), ("<body bgcolor=white><font color=white>x", {"hidden:colour", "colour:white"}),
        ("<p style='display: none'>x", {"hidden:display:none"}), ("<span style='font-size:0px'>x", {"hidden:size:0"}), ("<font size=12>x", set()),
        ("V<!-- x -->ia<!-- -->gra <!-- y --> a", {"split-words:2"}), ("<img src='http://a.example.com/i.gif'><img>", {"images:2", "host:example.com"}),
        ("<a href='http://x.example.com/'>www.bank.example</a>", {"link:other"}), ("<A href=http://x.example.com>http://example.com/a</A>", {"link:same"}),
        ("<a href='http://x.example.com/'>click</a>", {"links:1"}),
    ],
)  # fmt: skip
def test_html_features_become_structure_items(markup: str, found: set[str]) -> None:
    read = set(page(markup))
    assert found <= read
    assert {item.partition(":")[0] for item in read - found} <= {
        "type",
        "parts",
        "links",
        "host",
        "tag",
        "tags",
        "images",
        "split-words",
        "colour",
    }


def test_large_numbers_are_binned_in_powers_of_two() -> None:
    assert [items(b"\n" + b"http://a.example " * number)[-3] for number in (0, 1, 3, 4, 7, 8, 1000)] == [
        "links:0", "links:1", "links:3", "links:4", "links:4", "links:8", "links:512",
    ]  # fmt: skip


def test_structure_is_off_with_named_headers() -> None:
    assert read_mail(b"Content-Type: text/html\n\n<p>x", MailOptions())[2] == []


NAME = "é" * 60
"""Longer than what is kept of an item, of characters of two bytes."""


@pytest.mark.parametrize(
    ("message", "item"),
    [
        (f"From: {NAME}@xy.example", "from:" + NAME[:44] + "@xy.example"), (f"From: a@{NAME}.examples", "from:" + NAME[:45] + ".examples"),
        (f"Content-Type: text/x{NAME}", "type:text/x" + "\ufffd" * 31), (f"Content-Type: text/html\n\n<xy{NAME}>", "tag:xy" + NAME[:49]), (f"Content-Type: text/html\n\n<x{NAME}>", "tag:x" + NAME[:49]),
    ],
)  # fmt: skip
def test_long_items_are_truncated_at_characters(message: str, item: str) -> None:
    """A part of a character at the end of an item ended the run."""
    _, _, fields = read_mail(message.encode(), MailOptions(None, structure=True))
    assert item in dict(fields)[b""].decode().split(" ")


def test_many_parts_take_linear_time() -> None:
    def work(n: int) -> int:
        message = (
            b"Content-Type: multipart/mixed; boundary=b\n\n"
            + b"--b\nContent-Type: text/html\n\n<b>x</b>\n" * n
        )
        return steps(lambda: items(message))

    assert work(400) < DOUBLE * work(200)


@pytest.mark.parametrize("declared", ["base64 (a (b) c)", "(a (b (c)) (d)) base64", "(a)base64"])
def test_nested_comments_are_ignored(declared: str) -> None:
    assert "encoding:base64" in items(b"Content-Transfer-Encoding: %b\n\nYQ==" % declared.encode())


def test_content_header_of_digits_takes_linear_time() -> None:
    """500 parts with 4 kB of digits in place of a parameter, each others, would take minutes."""
    parts = b"".join(
        b"--b\nContent-Type: text/plain; %d%b\n\nx\n" % (number, b"1" * 5000)
        for number in range(500)
    )
    assert "parts:256" in items(b"Content-Type: multipart/mixed; boundary=b\n\n" + parts)

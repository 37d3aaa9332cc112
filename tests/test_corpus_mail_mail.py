from __future__ import annotations

import base64
from email.message import EmailMessage

import pytest

from nbtext.corpus.mail.mail import MailOptions, read_mail
from tests.operation_counts import DOUBLE, steps
from tests.process import python

SUBJECT = MailOptions()


def text(body: bytes, *headers: str) -> str:
    return read_mail(body, MailOptions([name.encode() for name in headers or ("subject",)]))[
        0
    ].decode()


def words(body: bytes, *headers: str) -> list[str]:
    return text(body, *headers).split()


def test_chosen_headers_come_before_the_body() -> None:
    body = b"From: Ann <ann@example.org>\nsubject: Hello\n there\nReceived: x\nSUBJECT: Again\n\nBody: text\n"
    assert words(body) == ["Hello", "there", "Again", "Body:", "text"]
    assert words(body, "from", "subject") == [
        "Ann",
        "<ann@example.org>",
        "Hello",
        "there",
        "Again",
        "Body:",
        "text",
    ]
    assert words(body, "none") == ["Body:", "text"]


def test_newsgroup_message_is_read_as_sent() -> None:
    body = b"Newsgroups: sci.space\nPath: a!b\nSubject: Re: Moon\nLines: 2\n\nIn article <1@x> he says:\n> the moon\nNo \xa3.\n"
    assert words(body, "subject") == [
        "Re:",
        "Moon",
        "In",
        "article",
        "<1@x>",
        "he",
        "says:",
        ">",
        "the",
        "moon",
        "No",
        "£.",
    ]
    assert read_mail(body, SUBJECT)[1].is_transcoded


def test_messages_without_headers_or_body_are_read() -> None:
    assert words(b"just some words\nand more\n") == ["just", "some", "words", "and", "more"]
    assert words(b"Subject: only\nFrom: a\n") == ["only"]
    assert words(b"") == []


@pytest.mark.parametrize(
    ("raw", "read"),
    [
        (b"=?utf-8?b?Y2Fmw6k=?=", "café"), (b"=?utf-8?b?Y2Fmw6k?=", "café"), (b"=?ISO-8859-1?Q?caf=E9_au_lait?=", "café au lait"),
        (b"=?utf-8?q?caf?= =?utf-8?q?=C3=A9?=", "café"), (b"=?utf-8?B?R3LD?=\n =?UTF-8?B?tsOfZQ==?=", "Größe"), (b"=?utf-8?q?=C3?= =?utf-8?b?ng==?=", "Þ"),
        (b"=?gb2312?b?1A==?= =?gb2312?b?yg==?=!", "允!"), (b"=?utf-8?q?=C3?= a =?utf-8?q?=A9?=", "Ã a ©"), (b"=?iso-2022-jp?b?GyRCMnEbKEI=?= =?iso-2022-jp?b?GyRCNUQbKEI=?=", "会議"),
        (b"=?utf-8?q?a?= =?iso-8859-1?q?=E9?=", "aé"), (b"a =?utf-8?q?b?= c", "a b c"), (b"=?utf-8*en?q?b?=", "b"),
        (b"=?klingon?q?caf=C3=A9?=", "café"), (b"=?base64?q?abc?=", "abc"), (b"=?utf-8?b?a?=", "a"), (b"=?utf-8?q?caf=E9?=", "café"),
        (b"caf\xe9", "café"), ("café".encode(), "café"), (b"caf\xe9 =?utf-8?q?=C3=A9?=", "café é"), (b"=?utf-8?x?abc?=", "=?utf-8?x?abc?="),
    ],
)  # fmt: skip
def test_encoded_headers_are_decoded(raw: bytes, read: str) -> None:
    assert text(b"Subject: " + raw + b"\n\n").strip() == read


@pytest.mark.parametrize("encoding", ["7bit", "8bit", "quoted-printable", "base64"])
@pytest.mark.parametrize("charset", ["utf-8", "iso-8859-15", "cp1252"])
def test_transfer_encodings_and_charsets_are_decoded(encoding: str, charset: str) -> None:
    message = EmailMessage()
    message["Subject"] = "Größe"
    message.set_content(
        "naïve café €\n" if encoding != "7bit" else "plain\n", charset=charset, cte=encoding
    )
    assert words(message.as_bytes()) == [
        "Größe",
        *(["naïve", "café", "€"] if encoding != "7bit" else ["plain"]),
    ]


def test_mail_in_utf_16_is_decoded() -> None:
    body = base64.encodebytes("naïve".encode("utf-16"))
    assert words(
        b"Content-Type: text/plain; charset=utf-16\nContent-Transfer-Encoding: base64\n\n" + body
    ) == ["naïve"]


CASINO = "<p>Casino bonus lottery prize"
MEETING = "Meeting agenda minutes report"


def alternatives(*parts: tuple[str, str]) -> bytes:
    pieces = "".join(
        f"--b\nContent-Type: {kind}; charset=utf-8\n\n{content}\n" for kind, content in parts
    )
    return f"Content-Type: multipart/alternative; boundary=b\n\n{pieces}--b--\n".encode()


@pytest.mark.parametrize(
    "blank",
    [
        "",
        " \n\t",
        "\u00a0 \u00a0",
        "\u200b\u200c\ufeff",
        "\u3164\u115f",
        "____ -- !!",
        "&nbsp;&zwnj;&#847;",
    ],
)
def test_blank_alternative_does_not_hide_another(blank: str) -> None:
    kind = "text/html" if "&" in blank else "text/plain"
    assert (
        words(alternatives((kind, blank), ("text/html", CASINO)))[-4:]
        == words(alternatives(("text/html", CASINO), (kind, blank)))[-4:]
        == CASINO[3:].split()
    )


@pytest.mark.parametrize(
    "kind",
    [
        "text/calendar",
        "text/css",
        "text/vcard",
        "text/x-vcard",
        "text/rtf",
        "text/javascript",
        "application/pdf",
        "image/png",
    ],
)
def test_non_text_parts_are_ignored_and_hide_nothing(kind: str) -> None:
    assert words(alternatives(("text/html", CASINO), (kind, MEETING))) == CASINO[3:].split()
    assert words(f"Content-Type: {kind}\n\n{MEETING}".encode()) == []


@pytest.mark.parametrize(
    "kind",
    [
        "text/markdown",
        "text/x-notes",
        "text/csv",
        "TEXT/X-Amp-HTML",
        "text/enriched",
        "text/richtext",
        "text/xml",
    ],
)
def test_other_text_types_are_read_without_tags(kind: str) -> None:
    text = (
        MEETING
        if kind in ("text/markdown", "text/x-notes", "text/csv")
        else f"<bold>{MEETING}</bold>"
    )
    assert words(f"Content-Type: {kind}\n\n{text}".encode()) == MEETING.split()


@pytest.mark.parametrize(
    ("plain", "page", "both"),
    [
        (MEETING, CASINO, True), (MEETING, f"<p>{MEETING.upper()}", False), (MEETING, f"<p>{MEETING} " + " ".join(map(str, range(99))), False),
        (MEETING, "<p>meeting agenda casino bonus", False), (MEETING, "<p>meeting casino bonus prize", True), ("casino", CASINO, False), ("meeting", CASINO, True),
        ("会議の議事録を送ります", "<p>会議の議事\n録を送ります", False), ("会議の議事録を送ります", "<p>賞金を獲得しました今すぐ", True), ("การประชุม", "<p>รางวัลใหญ่", True),
    ],
)  # fmt: skip
def test_alternatives_with_different_words_are_both_read(plain: str, page: str, both: bool) -> None:
    shown = [*plain.split(), *(page[3:].split() if both else [])]
    assert words(alternatives(("text/plain", plain), ("text/html", page))) == shown
    assert words(alternatives(("text/html", page), ("text/plain", plain))) == shown


def test_alternatives_are_read_if_they_add_words() -> None:
    parts = (
        ("text/plain", MEETING),
        ("text/markdown", f"*{MEETING}*"),
        ("text/html", CASINO),
        ("text/html", "<p>" + CASINO),
    )
    assert words(alternatives(*parts)) == [*MEETING.split(), *CASINO[3:].split()]


def test_alternatives_of_punctuation_are_read() -> None:
    assert words(alternatives(("text/plain", "!"), ("text/html", "<p>?"))) == ["?"]


def test_many_alternatives_take_linear_time() -> None:
    def work(n: int) -> int:
        message = alternatives(*(("text/plain", f"a{number} b{number}") for number in range(n)))
        return steps(lambda: read_mail(message, SUBJECT))

    assert work(600) < DOUBLE * work(300)


def test_charset_is_taken_from_the_html_if_the_header_has_none() -> None:
    page = "<meta charset=koi8-r>мир".encode("koi8-r")
    assert words(b"Content-Type: text/html\n\n" + page) == ["мир"]
    assert words(
        b"Content-Type: text/html; charset=koi8-r\n\n" + page.replace(b"koi8-r", b"cp1251")
    ) == ["мир"]


@pytest.mark.parametrize("charset", [b"klingon", b"base64", b"us-ascii", b'"', b"utf-8", b"=?x?="])
def test_unknown_or_wrong_charset_is_replaced_by_detection(charset: bytes) -> None:
    assert words(b"Content-Type: text/plain; charset=" + charset + b"\n\ncaf\xe9") == ["café"]


def test_plain_alternative_is_preferred() -> None:
    message = EmailMessage()
    message.set_content("plain words")
    message.add_alternative("<p>html words</p>", subtype="html")
    message.add_attachment(b"attached words", maintype="text", subtype="plain", filename="a.txt")
    message.add_attachment(b"\0\1", maintype="application", subtype="octet-stream", filename="b")
    assert words(message.as_bytes()) == ["plain", "words"]
    empty = EmailMessage()
    empty.set_content(" \n")
    empty.add_alternative("<p>html words</p>", subtype="html")
    assert words(empty.as_bytes()) == ["html", "words"]


def test_message_inside_a_message_is_read() -> None:
    inner, outer = EmailMessage(), EmailMessage()
    inner["Subject"] = "inner subject"
    inner.set_content("inner words")
    outer["Subject"] = "outer"
    outer.set_content("see below")
    outer.add_attachment(inner, disposition="inline")
    assert words(outer.as_bytes()) == ["outer", "see", "below", "inner", "words"]


def test_pathological_mail_takes_linear_time() -> None:
    code = (
        "from nbtext.corpus.mail.mail import MailOptions, read_mail\n"
        "for piece in '<a ', '<!--', '<script>', '</script ', '<', '&#', '<a b=\"', '=?', '=?a?q?', '://', '@', 'a.', 'a@', '--', 'color', ';a=':\n"
        "    for kind in 'text/html', 'text/plain':\n"
        "        head = f'Subject: {piece * 20_000}\\nFrom: {piece * 20_000}\\nReceived: {piece * 20_000}\\nContent-Type: {kind}; {piece * 999}'\n"
        "        read_mail(f'{head}\\n\\n{piece * 200_000}'.encode(), MailOptions(None, structure=True))\n"
    )
    assert python(code).status == 0


@pytest.mark.parametrize("parameters", [b"; a=b", b"; charset*%d*=x", b"\\;", b";"])
@pytest.mark.parametrize(
    "begin", [b"Content-Type: text/html", b'Content-Type: multipart/mixed; a="']
)
def test_header_parameters_take_linear_time(begin: bytes, parameters: bytes) -> None:
    """The email package takes the square of their number: 2 MB took 21 seconds."""

    def work(n: int) -> int:
        header = b"".join(
            parameters % number if b"%d" in parameters else parameters for number in range(n)
        )
        message = begin + header + b"\n\n<p>hello\n"
        return steps(lambda: read_mail(message, SUBJECT))

    assert work(6_000) < DOUBLE * work(3_000)


def test_long_header_is_read_completely() -> None:
    name = "; ".join(f"name*{number}*={'x' * 60}" for number in range(40))
    message = (
        f'Content-Type: text/plain; {name}; charset="koi8-r"\nX-Kind: plain\n\n'.encode()
        + "мир".encode("koi8-r")
    )
    assert words(message) == ["мир"]


def test_parameter_number_may_have_any_number_of_digits() -> None:
    """Of 4,301 digits it was an internal error."""
    assert words(b"Content-Type: multipart/mixed; boundary*" + b"9" * 4301 + b"*=x\n\nhello") in (
        [],
        ["hello"],
    )


@pytest.mark.parametrize(
    "body",
    [
        b"Content-Type: message/rfc822\n\n" * 3000 + b"word",
        b"".join(
            b"Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n" % (n, n) for n in range(3000)
        )
        + b"\nword",
    ],
    ids=["messages", "multiparts"],
)
def test_deeply_nested_mail_is_read_as_text_below_a_depth(body: bytes) -> None:
    assert words(body)[-1] == "word"


@pytest.mark.parametrize(
    ("body", "read"),
    [
        (b"Content-Type: multipart/mixed; boundary=x\n\nno boundary line", "no boundary line"),
        (b"Content-Type: multipart/mixed\n\nno boundary", "no boundary"),
        (b"Content-Type: multipart/mixed; boundary=x\n\nbefore\n--x\n\nnot closed", "not closed"),
        (b"Content-Type: multipart/mixed; boundary=x\n\n--x\n\none\n--xy\ntwo\n--x--\nthree", "one --xy two"),
        (b"Content-Transfer-Encoding: base64\n\nd29yZA\n--\na footer", "word"),
        (b"Content-Transfer-Encoding: base64\n\nd29yZ", "wor"), (b"Content-Transfer-Encoding: base64\n\n!\nd29y\n*\nZA==\nfooter", "word"),
        *((b"Content-Transfer-Encoding: " + how + b"\n\nd29yZA==", "word") for how in (b"base64;", b'"Base64"', b"base64 (yes)", b"(yes) base64", b"'base64'")),
        (b"Content-Transfer-Encoding: quoted-printable; a=b\n\nw=6Frd", "word"),
        (b"Content-Transfer-Encoding: base64\n\nd2!9yZGFi\n____\nThe list\n-- \nx", "wordab"), (b"Content-Transfer-Encoding: base64\n\nICAg\n--\n" + base64.b64encode(b"word " * 9), "word " * 9),
        (b"Content-Type: text/plain charset=us-ascii\n\nword", "word"), (b"Content-Type: x\n\nword", "word"),
        (b"Subject: a\nno header\nContent-Transfer-Encoding: base64\n\nd29yZA==", "a word"), (b"Subject: a\nno empty line\n\nword", "a no empty line word"), (b"Subject: a\nno header\nLines: 1\n\nword", "a word"),
        (b" cut off\nSubject: a\n\nword", "a word"), (b"From x\n>From y\nSubject: a\n\nword", "a word"), (b"no header\nSubject: a\n\nword", "no header Subject: a word"),
        (b"Subject: a\0b\n\nwo\0rd", "a\0b wo\0rd"),
    ],
)  # fmt: skip
def test_malformed_mail_is_read_as_far_as_possible(body: bytes, read: str) -> None:
    assert words(body) == read.split()

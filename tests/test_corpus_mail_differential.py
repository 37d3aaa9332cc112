"""Mail of many kinds, made by Python's `email` package: read as that package reads it, or there is a reason for the difference."""

from __future__ import annotations

import base64
import random
import re
from email import message_from_bytes
from email.header import Header
from email.message import EmailMessage, MIMEPart
from email.policy import default

import pytest

from nbtext.corpus.mail.mail import MailOptions, read_mail
from tests.oracle_mail import text_by_html_parser
from tests.profiles import some

WORDS = {
    "us-ascii": "meeting agenda minutes report invoice parcel", "utf-8": "größe naïve мир 会議 שלום ąžuolas", "iso-8859-15": "cœur été größe ŷ".replace(" ŷ", " ÿ"),
    "iso-8859-2": "żółw łódź ćma", "koi8-r": "мир один почта", "windows-1251": "мир один почта", "windows-1255": "שלום דואר", "shift_jis": "会議 議事録 送信",
    "euc-jp": "会議 議事録 送信", "iso-2022-jp": "会議 議事録 送信", "gb2312": "会议 邮件 中国", "big5": "會議 郵件 中國", "euc-kr": "회의 메일 보고", "utf-16": "größe мир 会議", "utf-7": "größe мир 会議",
}  # fmt: skip
CASINO = "casino bonus lottery prize"


def sentence(chance: random.Random, charset: str) -> str:
    return " ".join(
        chance.choices(WORDS[charset].split() + WORDS["us-ascii"].split(), k=chance.randint(5, 30))
    )


def encoding_for(chance: random.Random, charset: str) -> str:
    return chance.choice(
        ["base64", "quoted-printable"]
        if charset in ("utf-16", "utf-7")
        else ["base64", "quoted-printable", "8bit"]
    )


def filled(
    message: EmailMessage, chance: random.Random, text: str, charset: str, subtype: str = "plain"
) -> None:
    content = (
        f"<p>{text.replace(' ', chance.choice([' ', '&nbsp;', '<br>', ' <i>x</i> '.replace('x', '')]))}</p>"
        if subtype == "html"
        else text
    )
    message.set_content(
        content.encode(charset),
        "text",
        subtype,
        cte=encoding_for(chance, charset),
        params={"charset": charset},
    )


def with_subject(message: EmailMessage, subject: str, charset: str) -> bytes:
    """Return a message under a subject as the older of the package's two writers writes it: the other loses blanks between encoded words."""
    return f"Subject: {Header(subject, charset).encode()}\n".encode() + message.as_bytes()


def make_mail(chance: random.Random) -> tuple[bytes, str]:
    """Return a message, and what a person sees of it."""
    charset = chance.choice(list(WORDS))
    message = EmailMessage()
    text = sentence(chance, charset)
    kind = chance.choice(
        ["plain", "html", "alternative", "mixed", "related", "forwarded", "attached"]
    )
    if kind in ("plain", "html"):
        filled(message, chance, text, charset, kind)
    elif kind == "alternative":
        message.make_alternative()
        for subtype in ("plain", "html"):
            part = EmailMessage()
            filled(part, chance, text, charset, subtype)
            message.attach(part)
    elif kind == "mixed":
        message.make_mixed()
        for _ in range(2):
            part = EmailMessage()
            filled(part, chance, text, charset, chance.choice(["plain", "html"]))
            message.attach(part)
        text = f"{text} {text}"
    elif kind == "related":
        filled(message, chance, text, charset, "html")
        message.add_related(b"\x89PNG", "image", "png", cid="<1>")
    else:
        filled(message, chance, text, charset)
        other = EmailMessage()
        other["Subject"] = "forwarded"
        filled(other, chance, CASINO, "utf-8")
        message.add_attachment(other, disposition="inline" if kind == "forwarded" else "attachment")
        text = f"{text} {CASINO}" if kind == "forwarded" else text
    of_subject = chance.choice(
        [each for each in WORDS if not each.startswith("utf-") or each == "utf-8"]
    )
    subject = sentence(chance, of_subject)
    return with_subject(message, subject, of_subject), f"{subject} {text}"


def by_nbtext(message: bytes) -> list[str]:
    return words(read_mail(message, MailOptions())[0].decode())


def by_email(message: bytes) -> list[str]:
    parsed = message_from_bytes(message, policy=default)
    return words(" ".join([str(parsed["subject"] or ""), *shown(parsed)]))


def shown(part: MIMEPart) -> list[str]:
    if part.get_content_disposition() == "attachment":
        return []
    if part.get_content_type() == "multipart/alternative":
        chosen = part.get_body(("plain", "html"))
        return [] if chosen is None else shown(chosen)
    if part.is_multipart():
        return (
            [text for each in part.iter_parts() for text in shown(each)]
            if part.get_content_maintype() == "multipart"
            else shown(part.get_content())
        )
    if part.get_content_type() not in ("text/plain", "text/html"):
        return []
    try:
        content = part.get_content()
    except LookupError:
        return []
    return [text_by_html_parser(content) if part.get_content_type() == "text/html" else content]


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text)


@pytest.mark.parametrize("seed", some(range(240), 120))
def test_usual_mail_matches_the_email_package(seed: int) -> None:
    message, text = make_mail(random.Random(seed))
    assert by_nbtext(message) == by_email(message) == words(text)


def part(
    text: str, kind: str = "plain", charset: str = "utf-8", cte: str = "base64"
) -> EmailMessage:
    message = EmailMessage()
    message.set_content(text.encode(charset), "text", kind, cte=cte, params={"charset": charset})
    return message


def alternative(*parts: EmailMessage) -> bytes:
    message = EmailMessage()
    message.make_alternative()
    for each in parts:
        message.attach(each)
    return message.as_bytes()


def labelled(text: str, codec: str, label: str) -> bytes:
    message = EmailMessage()
    message.set_content(
        text.encode(codec), "text", "plain", cte="base64", params={"charset": label}
    )
    return message.as_bytes()


def declared(encoding: str, before: bytes = b"") -> bytes:
    return (
        part(CASINO)
        .as_bytes()
        .replace(b": base64\n", b": " + encoding.encode() + b"\n")
        .replace(b"\n\n", b"\n\n" + before, 1)
    )


def cut(text: str, charset: str, size: int) -> bytes:
    content = text.encode(charset)
    pieces = [
        base64.b64encode(content[start : start + size]).decode()
        for start in range(0, len(content), size)
    ]
    return (
        "Subject: " + "\n ".join(f"=?{charset}?b?{piece}?=" for piece in pieces) + "\n\n"
    ).encode()


PAGE = f"<p>{CASINO}</p>"
EITHER = "the package reads the plain alternative, whatever the other says"
NAMES = "the package reads a charset by Python's name for it, browsers by the table of labels"
ALONE = "the package decodes each encoded word alone"
EXACT = "the package knows exact names of transfer encodings only"
OTHER = "the package's get_body() takes text/plain and text/html only"
MARKS = "the package replaces what is not UTF-8, and nbtext reads text without any UTF-8 as Windows-1252"

DIFFERENCES = {
    **{f"plain part of {blank!r}": (alternative(part(blank), part(PAGE, "html")), CASINO, EITHER) for blank in ("\r\n", " ", "\u00a0", "\u200b", "--")},
    "another plain part": (alternative(part("meeting agenda minutes"), part(PAGE, "html")), f"meeting agenda minutes {CASINO}", EITHER),
    "the same in both": (alternative(part(CASINO), part(PAGE, "html")), CASINO, ""),
    "a calendar last": (alternative(part(PAGE, "html"), part("BEGIN:VCALENDAR", "calendar")), CASINO, ""),
    "a calendar first": (alternative(part("BEGIN:VCALENDAR", "calendar"), part(PAGE, "html")), CASINO, ""),
    **{f"text/{kind}": (part(CASINO, kind).as_bytes(), CASINO, OTHER) for kind in ("markdown", "x-notes", "enriched")},
    **{f"{label} for {codec}": (labelled(text, codec, label), text, NAMES) for text, codec, label in (
        ("镕基", "gbk", "gb2312"), ("会議①", "cp932", "shift_jis"), ("똠방각하", "cp949", "euc-kr"), ("cœur", "cp1252", "iso-8859-1"), ("会議①", "euc_jis_2004", "euc-jp"),
        ("שלום", "iso8859-8", "iso-8859-8-i"), ("été", "mac-roman", "x-mac-roman"), ("ภาษา", "cp874", "windows-874"), ("їжак", "koi8-u", "koi8-ru"),
    )},
    **{f"{label}, as Python": (labelled(text, label, label), text, "") for text, label in (("été", "cp850"), ("мир", "utf-7"), ("中国", "hz"), ("мир", "utf-16"), ("会議", "iso-2022-jp"))},
    **{f"transfer encoding {name}": (declared(name), CASINO, EXACT) for name in ("base64;", '"base64"', "base64 (yes)", "(yes) base64")},
    **{f"{before!r} before base64": (declared("base64", before), CASINO, "") for before in (b"!\n", b"\0", b"\xef\xbb\xbf", b"***\n\n")},
    "a mark of UTF-16": (b"Content-Type: text/plain; charset=utf-8\n\n\xff\xfecasino bonus lottery", "ÿþcasino bonus lottery", MARKS),
    "bytes that do not fit": ("Content-Type: text/plain; charset=utf-8\n\nмир один ".encode() + b"\xff", "мир один", ""),
    **{f"{charset} cut after {size}": (cut(text, charset, size), text, ALONE) for text, charset, size in (("Größe", "utf-8", 3), ("会议邮件", "gb2312", 3), ("会議議事録", "shift_jis", 5))},
    "iso-2022-jp cut in its escapes": (cut("会議議事録", "iso-2022-jp", 5), "会議議事録", ALONE),
}  # fmt: skip
"""Messages, what a person sees of them, and why the package reads something else, if it does."""


@pytest.mark.parametrize("name", DIFFERENCES)
def test_differences_from_the_email_package_have_a_reason(name: str) -> None:
    message, text, reason = DIFFERENCES[name]
    assert by_nbtext(message) == words(text)
    assert reason or by_email(message) == words(
        text
    )  # later versions of the package may have fewer differences

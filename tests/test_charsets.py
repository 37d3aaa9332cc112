"""Labels of charsets: each is read as browsers and mail programs read it."""

from __future__ import annotations

import base64

import pytest

from nbtext.charsets import _TABLE, UNDEFINED_AS_CONTROLS, find_codec
from nbtext.corpus.decoding import NO_DECODING_ISSUES
from nbtext.corpus.html import decode_html
from nbtext.corpus.mail.mail import MailOptions, read_mail
from nbtext.errors import UsageError
from nbtext.settings import Reading

WORDS = {
    "utf-8": "naïve漢", "cp866": "мир", "iso8859-2": "żółw", "iso8859-3": "ĝis", "iso8859-4": "ķīļ", "iso8859-5": "мир", "iso8859-6": "سلام", "iso8859-7": "αβγ",
    "iso8859-8": "שלום", "iso8859-10": "þorpið", "iso8859-13": "ąžuolas", "iso8859-14": "ŵy", "iso8859-15": "cœur", "iso8859-16": "ș€", "koi8-r": "мир", "koi8-u": "їжак",
    "mac-roman": "été", "cp874": "ภาษา…", "cp1250": "žluť™", "cp1251": "мир™", "cp1252": "cœur™", "cp1253": "αβγ™", "cp1254": "ığdır™", "cp1255": "שלום™", "cp1256": "سلام™",
    "cp1257": "ąžuolas™", "cp1258": "đ₫™", "mac-cyrillic": "мир", "gb18030": "镕基㐂", "big5hkscs": "嘅咗碁", "euc_jis_2004": "会議①", "iso2022_jp_ext": "会議ｶ", "cp932": "会議①",
    "cp949": "똠방각하", "utf-16-be": "мир", "utf-16": "мир",
}  # fmt: skip
"""By codec, a word that few others read from its bytes."""


LABELS: dict[str, list[str]] = {}
for row in _TABLE.strip().splitlines():
    LABELS.setdefault(row.split()[0], []).extend(row.split()[1:])


def read_as_mail(body: bytes, label: str) -> str:
    head = f"Content-Type: text/plain; charset={label}\nContent-Transfer-Encoding: base64\n\n"
    return read_mail(head.encode() + base64.encodebytes(body), MailOptions())[0].decode()


def test_charset_table_has_all_labels_of_the_standard() -> None:
    """The standard has 228 labels; six of them mean that the text is not read."""
    labels = [label for of_codec in LABELS.values() for label in of_codec]
    assert len(labels) == len(set(labels)) == 222
    assert set(WORDS) == set(LABELS)


@pytest.mark.parametrize("codec", WORDS)
def test_every_charset_label_is_decoded_with_its_encoding(codec: str) -> None:
    word = WORDS[codec]
    body = word.encode(codec)
    for label in LABELS[codec]:
        for spelling in (label, label.upper(), f'" {label}"'):
            assert read_as_mail(body, spelling) == word, spelling
        assert find_codec(label) == Reading.from_values({"encoding": label}).encoding == codec
        if not codec.startswith("utf-16"):
            page = f"<meta charset={label}>".encode() + body
            assert decode_html(page, "auto")[0].decode().strip() == word, label


@pytest.mark.parametrize(
    ("label", "codec"),
    [
        ("latin-1", "cp1252"), ("ISO8859_1", "cp1252"), ("euc_kr", "cp949"), ("EUC-CN", "gb18030"), ("cp850", "cp850"), ("ibm437", "cp437"), ("utf-7", "utf-7"),
        ("unicode-1-1-utf-7", "utf-7"), ("hz-gb-2312", "hz"), ("iso-2022-kr", "iso2022_kr"), ("utf-32", "utf-32"), ("cp037", "cp037"),
        *((name, None) for name in ("", "klingon", "base64", "rot13", "undefined", "idna", "punycode", "unicode_escape", "iso-2022-cn", "u\0", "x" * 999)),
    ],
)  # fmt: skip
def test_charset_names_of_python_are_accepted_if_they_are_charsets(
    label: str, codec: str | None
) -> None:
    assert find_codec(label) == codec


@pytest.mark.parametrize("name", ["punycode", "idna", "base64", "undefined"])
def test_codecs_that_are_not_charsets_are_refused(name: str) -> None:
    with pytest.raises(UsageError, match="encoding"):
        Reading.from_values({"encoding": name})


def test_bytes_undefined_in_windows_codecs_decode_to_control_characters() -> None:
    assert bytes(range(256)).decode("cp1252", UNDEFINED_AS_CONTROLS)[0x80:0x82] == "€\x81"
    for codec, body in (("cp1253", b"\xd2"), ("cp949", b"\x81"), ("utf-8", b"\x81")):
        with pytest.raises(UnicodeDecodeError):
            body.decode(codec, UNDEFINED_AS_CONTROLS)


def test_page_that_declares_utf_16_in_ascii_is_decoded_as_utf_8() -> None:
    assert decode_html("<meta charset=utf-16>café!".encode(), "auto") == (
        " café!".encode(),
        NO_DECODING_ISSUES,
    )

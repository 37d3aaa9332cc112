from __future__ import annotations

import contextlib
import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtext.corpus.decoding import (
    DecodingIssues,
    check_not_binary,
    decode_name,
    decode_with_charset,
    detect_encoding,
    is_ascii_compatible,
    is_wide_encoding,
    to_utf8,
)
from nbtext.errors import DocumentError, UsageError

TEXT = "Ärger – “naïve” 語 🙂 a"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_byte_order_mark_sets_the_encoding(encoding: str) -> None:
    assert to_utf8(*detect_encoding(TEXT.encode(encoding), "auto")) == (TEXT.encode(), False)


@pytest.mark.parametrize(
    ("mark", "encoding"),
    [(b"\xfe\xff", "utf-16-be"), (b"\xff\xfe", "utf-16-le"), (b"\x00\x00\xfe\xff", "utf-32-be")],
)
def test_byte_order_marks_of_either_byte_order_are_read(mark: bytes, encoding: str) -> None:
    assert to_utf8(*detect_encoding(mark + TEXT.encode(encoding), "auto")) == (TEXT.encode(), False)


def test_named_encoding_overrides_the_mark() -> None:
    assert detect_encoding(b"\xff\xfea", "latin-1") == (b"\xff\xfea", "latin-1")


def test_text_that_is_not_utf8_is_read_as_windows_1252() -> None:
    assert to_utf8(b"caf\xe9 \x80 \x93x\x94", "auto") == ("café € “x”".encode(), True)
    assert to_utf8(b"\xe9\x81", "auto") == ("é\ufffd".encode(), True)


@given(
    st.binary(max_size=60),
    st.sampled_from(
        ["auto", "utf-8", "latin-1", "cp1252", "utf-16", "utf-7", "shift_jis", "unicode_escape"]
    ),
)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_every_document_becomes_utf8_or_is_refused(body: bytes, encoding: str) -> None:
    with contextlib.suppress(DocumentError):
        text, transcoded = to_utf8(body, encoding)
        text.decode()
        assert not transcoded or encoding == "auto"


@given(st.text())
def test_utf8_is_unchanged(text: str) -> None:
    assert to_utf8(text.encode(), "auto") == (text.encode(), False)


def test_named_encoding_is_strict() -> None:
    assert to_utf8(b"caf\xe9", "latin-1") == ("café".encode(), False)
    with pytest.raises(DocumentError, match=r"not valid utf-8 at byte 3; see encoding"):
        to_utf8(b"caf\xe9", "utf-8")


GUESSED, REPLACED = DecodingIssues(is_transcoded=True), DecodingIssues(has_replacements=True)


@pytest.mark.parametrize(
    ("body", "charset", "text", "doubts"),
    [
        (b"\xff\xfebin lid", "utf-8", "ÿþbin lid", GUESSED), (b"\xff\xfebin lid", None, "ÿþbin lid", GUESSED), ("\ufeffä".encode(), "utf-8", "ä", DecodingIssues()),
        ("мир".encode("utf-16"), "utf-16", "мир", DecodingIssues()), ("\ufeffмир".encode("utf-16-be"), "utf-16", "мир", DecodingIssues()), ("мир один".encode("utf-16"), None, "мир один", DecodingIssues()),
        ("мир".encode() + b"\xd0", "utf-8", "мир\ufffd", REPLACED), (b"caf\xe9", "utf-8", "café", GUESSED), ("会議".encode("cp932") + b"\x81", "shift_jis", "会議\ufffd", REPLACED),
        ("镕基".encode("gbk") + b"\xff", "gb2312", "镕基\ufffd", REPLACED), ("会議".encode(), "iso-2022-jp", "会議", DecodingIssues()), (b"\x1b$B-!2q\x1b(B a", "iso-2022-jp", "①会 a", DecodingIssues()),
        (b"\x1b$B2q", "iso-2022-jp", "会", DecodingIssues()), (b"\x1b$B2q5D\x1b(B \xff", "iso-2022-jp", "会議 \ufffd", REPLACED), (b"a\x81b", "iso-8859-1", "a\x81b", DecodingIssues()), (b"\xd2", "windows-1253", "\ufffd", REPLACED),
        (b"Gr+APYA3w-e", "utf-7", "Größe", DecodingIssues()), (b"caf\xe9 +AOk-", "utf-7", "caf\ufffd é", REPLACED), (b"~{VP9z~}", "hz-gb-2312", "中国", DecodingIssues()), (b"caf\xe9", "us-ascii", "café", GUESSED), ("é".encode(), "us-ascii", "é", DecodingIssues()),
        (b"caf\xe9", "iso-2022-cn", "café", GUESSED), (b"a\x00b", "utf-16", "a\ufffd", REPLACED),
    ],
)  # fmt: skip
def test_declared_charset_is_used_and_invalid_bytes_are_replaced(
    body: bytes, charset: str | None, text: str, doubts: DecodingIssues
) -> None:
    assert decode_with_charset(body, charset, "auto") == (text.encode(), doubts)


@given(
    st.binary(max_size=60),
    st.sampled_from(
        [
            "",
            "us-ascii",
            "utf-8",
            "gb2312",
            "iso-2022-jp",
            "utf-7",
            "utf-16",
            "hz",
            "big5",
            "cp1252",
            "punycode",
        ]
    ),
)
def test_declared_charset_never_raises(body: bytes, charset: str) -> None:
    decode_with_charset(body, charset, "auto")[0].decode()


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize(
    "text", ["the cat purrs", "Über „Katzen“", "кошка мурлычет", "η γάτα κοιμάται", "1\n2\n3\n4"]
)
def test_utf16_is_detected_without_a_mark(text: str, encoding: str) -> None:
    body = text.encode(encoding)
    assert is_wide_encoding(body)
    assert to_utf8(*detect_encoding(body, "auto")) == (text.encode(), False)
    assert detect_encoding(body, "latin-1") == (body, "latin-1")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\0",
        b"a\0b\0c",
        b"v\0i\0a\0gra",
        b"\0\0\0\0\0\0\0\0",
        b"one\0two\0three\0four",
        b"12345678",
    ],
)
def test_zero_bytes_are_not_enough_for_utf16(body: bytes) -> None:
    assert not is_wide_encoding(body)
    assert detect_encoding(body, "auto") == (body, "auto")


def packed(kind: str) -> bytes:
    """A file of 4,000 bytes that could not be made smaller."""
    return b"PK\x03\x04"[: 4 * (kind == "zip")] + random.Random(kind).randbytes(4000)


BINARY = {
    "control bytes alone": b"\0", "a program": b"\x7fELF\x02\x01\x01\0" + b"text" * 1000, "a picture": b"\x89PNG\r\n\x1a\n\0" + b"text" * 1000,
    "a document": b"%PDF-1.7\n\0" + b"text" * 1000, "a film": b"\0\0\0\x20ftypisom" + b"text" * 1000, "an archive": b"a".ljust(257, b"\0") + b"ustar",
    "a database": b"SQLite format 3\0" + b"text" * 1000, "packed": packed("zip"), "noise": packed("none"), "a tenth": b"ninebytes\0" * 10,
    "chinese": "漢字的電腦編碼，一個字兩個位元組。\n".encode("utf-16-le") * 9,
}  # fmt: skip


@pytest.mark.parametrize("what", BINARY)
def test_binary_files_are_refused(what: str) -> None:
    with pytest.raises(DocumentError, match=r"^binary, not text \("):
        check_not_binary(BINARY[what], whole_file=True)


TEXTS = {
    "one zero byte": b"win a prize\0", "short": b"\0a\0b\0", "a twentieth": (b"x" * 19 + b"\0") * 10, "not UTF-8, a hundredth": (b"caf\xe9".ljust(99) + b"\0") * 10,
    "colours": b"\x1b[1m\x1b[31mred\x1b[0m\0" * 4, "overstruck": b"b\bbo\bol\bld\bd\0", "about files": b"%PDF- and GIF89a and PK\3\4 begin files",
    "nothing": b"", "other control bytes": b"\1\2\3 a",
}  # fmt: skip


@pytest.mark.parametrize("what", TEXTS)
def test_texts_with_some_control_bytes_are_accepted(what: str) -> None:
    check_not_binary(TEXTS[what], whole_file=True)


@given(st.text(min_size=20), st.lists(st.sampled_from("\0\x1e\x1f\1"), max_size=4), st.randoms())
def test_few_random_control_bytes_in_a_text_are_accepted(
    text: str, control: list[str], chance: random.Random
) -> None:
    characters = [*re.sub("[\0-\x1f\x7f]", "", text + "word"), *control]
    chance.shuffle(characters)
    check_not_binary("".join(characters).encode())


def test_decode_name_refuses_nul_bytes() -> None:
    assert decode_name(b"caf\xe9") == "café"
    with pytest.raises(DocumentError, match=r"a name with a NUL byte: 'a.x00b'"):
        decode_name(b"a\0b")


@pytest.mark.parametrize("encoding", ["base64", "rot13", "zlib"])
def test_encodings_that_are_not_of_text_are_refused(encoding: str) -> None:
    with pytest.raises(UsageError, match="not a text encoding"):
        to_utf8(b"abc", encoding)


def test_ascii_compatible_encodings_are_recognised() -> None:
    compatible = ("auto", "utf-8", "latin-1", "cp1252", "koi8-r", "euc_jp", "gb18030")
    assert [
        name
        for name in (*compatible, "utf-16", "utf-32-le", "cp037", "base64")
        if is_ascii_compatible(name)
    ] == list(compatible)

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtext.corpus.decoding import detect_encoding, is_ascii_compatible, to_utf8
from nbtext.errors import DocumentError, UsageError

TEXT = "Ärger – “naïve” 語 🙂 a"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_a_byte_order_mark_is_believed(encoding: str) -> None:
    assert to_utf8(*detect_encoding(TEXT.encode(encoding), "auto")) == (TEXT.encode(), False)


@pytest.mark.parametrize(("mark", "encoding"), [(b"\xfe\xff", "utf-16-be"), (b"\xff\xfe", "utf-16-le"), (b"\x00\x00\xfe\xff", "utf-32-be")])
def test_marks_of_either_order(mark: bytes, encoding: str) -> None:
    assert to_utf8(*detect_encoding(mark + TEXT.encode(encoding), "auto")) == (TEXT.encode(), False)


def test_a_named_encoding_overrides_the_mark() -> None:
    assert detect_encoding(b"\xff\xfea", "latin-1") == (b"\xff\xfea", "latin-1")


def test_what_is_not_utf8_is_windows_1252() -> None:
    assert to_utf8(b"caf\xe9 \x80 \x93x\x94", "auto") == ("café € “x”".encode(), True)
    assert to_utf8(b"\xe9\x81", "auto") == ("é\ufffd".encode(), True)


@given(st.binary(max_size=60), st.sampled_from(["auto", "utf-8", "latin-1", "cp1252", "utf-16", "utf-7", "shift_jis", "unicode_escape"]))
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_every_document_becomes_utf8_or_is_refused(body: bytes, encoding: str) -> None:
    with contextlib.suppress(DocumentError):
        text, transcoded = to_utf8(body, encoding)
        text.decode()
        assert not transcoded or encoding == "auto"


@given(st.text())
def test_utf8_without_zero_bytes_stays_as_it_is(text: str) -> None:
    text = text.replace("\0", "")
    assert to_utf8(text.encode(), "auto") == (text.encode(), False)


def test_a_named_encoding_is_strict() -> None:
    assert to_utf8(b"caf\xe9", "latin-1") == ("café".encode(), False)
    with pytest.raises(DocumentError, match=r"not valid utf-8 at byte 3; see --encoding"):
        to_utf8(b"caf\xe9", "utf-8")


@pytest.mark.parametrize("body", [b"\0", b"\x7fELF\x02\x01\x01\0", "é\0".encode(), b"\xff\0", "hello".encode("utf-16-le")])
def test_binary_documents_are_refused(body: bytes) -> None:
    with pytest.raises(DocumentError, match="binary, not text"):
        to_utf8(body, "auto")


@pytest.mark.parametrize("encoding", ["base64", "rot13", "zlib"])
def test_encodings_that_are_not_of_text_are_refused(encoding: str) -> None:
    with pytest.raises(UsageError, match="no encoding of text"):
        to_utf8(b"abc", encoding)


def test_encodings_in_which_lines_can_be_found() -> None:
    compatible = ("auto", "utf-8", "latin-1", "cp1252", "koi8-r", "euc_jp", "gb18030")
    assert [name for name in (*compatible, "utf-16", "utf-32-le", "cp037", "base64") if is_ascii_compatible(name)] == list(compatible)

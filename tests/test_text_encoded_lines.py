"""Lines of encoded data have no words; everything else has."""

from __future__ import annotations

import base64
import binascii
from hashlib import sha256, sha384
from itertools import groupby
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtext import TextClassifier
from nbtext.counts.counting import Analysis, DocumentCounter
from nbtext.counts.vocabulary import Vocabulary
from nbtext.explain.token_trace import TokenTracer
from nbtext.model.description import count_encoded_lines, describe_model
from nbtext.settings import Settings
from nbtext.text.encoded_lines import (
    _ends_base64,
    _ends_hexadecimal,
    _ends_uuencode,
    _is_base64,
    _is_hexadecimal,
    _is_uuencode,
    drop_encoded_lines,
    find_encoded_lines,
)
from tests.models import count
from tests.profiles import examples

RANDOM = np.random.default_rng(1)
NOISE = RANDOM.bytes(700)
BITMAP = bytes(RANDOM.choice([0, 0, 0, 255, 7], 700).tolist())
PROSE = b"The bins were not emptied. " * 26
LINES = [
    b"The street lamp flickers at night and nobody came to look,",
    b"MY NEIGHBOURS AND I HAVE CALLED TWICE, SO PLEASE DO REPAIR IT",
    b"",
    b"x",
]


def rows(data: bytes, width: int) -> list[bytes]:
    return [data[begin : begin + width] for begin in range(0, len(data), width)]


def uuencode(data: bytes, *, backtick: bool) -> list[bytes]:
    return [binascii.b2a_uu(row, backtick=backtick).rstrip(b"\n") for row in rows(data, 45)]


def yenc(data: bytes) -> list[bytes]:
    escaped = b"".join(
        b"=%c" % ((byte + 64) % 256) if byte in b"\0\n\r=" else b"%c" % byte
        for byte in ((each + 42) % 256 for each in data)
    )
    return [row.decode("latin-1").encode() for row in rows(escaped, 128)]


def encoded(data: bytes) -> dict[str, list[bytes]]:
    in_base64 = base64.b64encode(data)
    return {
        "uuencode": uuencode(data, backtick=True),
        "uuencode with spaces": uuencode(data, backtick=False),
        "base64 of mail": rows(in_base64, 76),
        "base64 of PEM": rows(in_base64, 64),
        "base64 of PGP": [*rows(in_base64, 64), b"=njUN"],
        "hexadecimal": rows(data.hex().encode(), 60),
        "long hexadecimal": rows(data.hex().upper().encode(), 72),
        "hexadecimal as digests": rows(data.hex().encode(), 64),
    }


@pytest.mark.parametrize("data", [NOISE, BITMAP, PROSE], ids=["noise", "bitmap", "prose"])
@pytest.mark.parametrize("kind", encoded(NOISE))
@pytest.mark.parametrize("line_end", [b"\n", b"\r\n"])
def test_encoded_lines_are_dropped_and_the_others_kept(
    data: bytes, kind: str, line_end: bytes
) -> None:
    lines = encoded(data)[kind]
    text = line_end.join([*LINES, *lines, *LINES])
    kept, counts = drop_encoded_lines([text, PROSE, line_end.join(lines)])
    blank = [b""] * len(lines)
    assert kept == [line_end.join([*LINES, *blank, *LINES]), PROSE, line_end.join(blank)]
    assert counts.tolist() == [len(lines), 0, len(lines)]


def test_yenc_lines_between_markers_are_dropped() -> None:
    mark, end = b"=ybegin line=128 size=700 name=moon.gif", b"=yend size=700"
    for data in (NOISE, BITMAP, PROSE):
        lines = yenc(data)
        assert drop_encoded_lines([b"\n".join([mark, *lines, end, b"that is all"])])[0] == [
            b"\n".join([mark, *(b"" for _ in lines), end, b"that is all"])
        ]
    assert (
        find_encoded_lines([b"\n".join([mark, *LINES])])
        == find_encoded_lines([mark, b"\n".join([*LINES, end])])
        == {}
    )


def test_single_uuencode_line_and_base64_before_padding_are_dropped() -> None:
    for data in (NOISE, PROSE):
        assert drop_encoded_lines([b"see:\n" + uuencode(data, backtick=True)[3]])[0] == [b"see:\n"]
    signature = [
        b"iD8DBQE9Xf3vBsF1N7E0DXmARAkTqAJ9n6KJ1Ai3yX9VqTlJvWM0qF7J2gUbQqz4A",
        b"X9VqTlJv+M0qF7J/gUbQqzA=",
        b"=abcd",
    ]
    signature[0] = signature[0][:64]
    assert find_encoded_lines([b"\n".join(signature)]) == {0: [(0, 64), (65, 89), (90, 95)]}
    assert (
        find_encoded_lines([b"\n".join(signature[:1])])
        == find_encoded_lines([signature[0] + b"\n\n" + signature[1]])
        == {}
    )


NATURAL = {
    "digests": [sha256(b"%d" % number).hexdigest() for number in range(20)],
    "digests in base64": [base64.b64encode(sha384(b"%d" % number).digest()).decode() + "\n" for number in range(20)],
    "checksums": [f"{sha256(b'%d' % number).hexdigest()}  house{number}.txt" for number in range(20)],
    "commits": ["commit " + sha256(b"%d" % number).hexdigest()[:40] for number in range(20)],
    "identifiers": [f"{word}-4f2c-11ee-be56-0242ac120002-4f2c-11ee-be56-0242ac120002" for word in ("0a1b2c3d", "4e5f6a7b", "8c9d0e1f")],
    "addresses": [f"https://example.org/Some/Path/With/Many/Parts/page{number}?id=Abc{number}&x=1" for number in range(10, 20)],
    "paths": [f"/usr/local/share/SomeProgram/lib/python3/packages/module{number}" for number in range(10, 20)],
    "names": [f"testThatTheHttpServerRespondsWith{number}WhenTheResourceIsMissing" for number in range(400, 420)],
    "stack trace": [f"\tat org.example.service.{name}Controller.handleRequest({name}.java:123)" for name in ("Lamps", "Trees", "Roads")],
    "assembler": ["MOV AX, [BX+SI+10H] ; LOAD THE WORD AT THE INDEX, SEE P. 40, TOO", "MOV DX, 03F8H ; PORT", "MUL CX"] * 4,
    "macros": ["#define MAX(a,b) ((a)>(b)?(a):(b))", "MAX(A,B) ((A)>(B)?(A):(B)) /* DO NOT USE WITH SIDE EFFECTS! */"] * 4,
    "numbers": [" ".join(f"{number * 37 % 1000:5.1f}" for number in range(begin, begin + 10)) for begin in range(20)],
    "digits": ["3141592653589793238462643383279502884197169399375105820974944592"] * 5,
    "states": [f"M{letter} {number:>8} {number * 7:>10} {number * 31:>10} {number * 5:>10} {number * 3:>12}    " for number, letter in enumerate("ADEINOST", 4821)],
    "minified JSON": ['{"id":12,"Name":"Ab","x":3.5,"y":[1,2,3],"ok":true,"next":null,"b":7},'] * 5,
    "minified CSS": [".a{margin:0;padding:0}.b>li{color:#F0A;float:left}.c{width:10px}.dE9{}"] * 5,
    "compounds": ["Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamten", "Rindfleischetikettierungsueberwachungsaufgabenuebertragungsgesetze"] * 3,
    "one compound": ["Rindfleischetikettierungsueberwachungsaufgabenuebertragungsgesetze"] * 5,
    "DNA": ["ACGTTGCAACGGTTAACCGATCGATTACGGCATCGATCGGCTAGCTAACGATCGATCGAT"] * 5,
    "masked DNA": ["ACGTTGCAacggttaaccgatCGATTACGGCATCGATCGGCTAGCTAACGATCGATCGAT"] * 5,
    "protein": ["MKTAYIAKQRQISFVKSHFSRQLEERLGLIEVQAPILSRVGDGTQDNLSGAEKAVQVKVKA"] * 5,
    "pictures": ["MMMMMMMNNNNNHHHHQQQQ$$$$OOOOCCCC????7777>>>>!!!!::::----;;;;.", "MM" + "." * 59, "=" * 62, "/" * 64, "+-" * 32, "M" * 61],
    "headlines": ["MACEDONIAN HUMAN RIGHTS ACTIVISTS TO FACE A TRIAL IN GREECE..", "MANY MORE OF THEM HAVE BEEN ARRESTED IN THE CITY OF SALONICA."],
    "cut": ["END ------------------------- CUT HERE ---------------"],
    "ruler": ["=" * 30 + " y " + "=" * 30, "=y", "=yes"],
    "Chinese": ["路灯坏了很久没有人来修理请尽快派人来看看谢谢你们的帮助我们都很感激" * 2] * 4,
    "Japanese": ["街灯が壊れていますので早めに直していただけると助かりますよろしくお願いします"] * 4,
    "Thai": ["ไฟถนนเสียมานานแล้วยังไม่มีใครมาซ่อมกรุณาส่งคนมาดูด้วย"] * 4,
    "letters of a mask": ["aAbBcCdDeEfFgGhHiIjJkKlLmMnNoOpPqQrRsStTuUvVwWxXyYzZ" + "a" * 12] * 3,
}  # fmt: skip
"""Lines that look a little like encoded data."""


@pytest.mark.parametrize("kind", NATURAL)
def test_natural_lines_are_not_dropped(kind: str) -> None:
    for text in ("\n".join(NATURAL[kind]), "\r\n\r\n".join(NATURAL[kind])):
        assert find_encoded_lines([text.encode()]) == {}


def slow_encoded_lines(text: bytes) -> list[int]:
    """The numbers of the encoded lines, every line looked at by itself; without yEnc."""
    lines = [line.removesuffix(b"\r") for line in text.split(b"\n")]

    def kind(number: int) -> tuple[str, int]:
        line = lines[number]
        if (
            line.startswith(b"M")
            and 45 <= len(line) <= 62
            and all(0x20 <= byte <= 0x60 for byte in line)
        ):
            return "uuencode", 0
        if (
            60 <= len(line) <= 80
            and len(line) % 2 == 0
            and all(bytes((byte,)).isalnum() or byte in b"+/" for byte in line)
        ):
            return "base64", len(line)
        return "", 0

    found: set[int] = set()
    for (name, _), group in groupby(range(len(lines)), kind):
        run = list(group)
        begin, end = run[0], run[-1] + 1
        distinct = list(dict.fromkeys(lines[begin:end]))
        last, after = ([*lines, b"", b""][place] for place in (end, end + 1))
        if name == "uuencode" and _is_uuencode(distinct):
            end += _ends_uuencode(last)
        elif name == "base64" and _is_hexadecimal(distinct, last):
            end += _ends_hexadecimal(last)
        elif name == "base64" and _is_base64(distinct, last):
            end += _ends_base64(last)
            after = after if end > run[-1] + 1 else last
            end += (
                len(after) == 5
                and after.startswith(b"=")
                and all(bytes((byte,)).isalnum() or byte in b"+/" for byte in after[1:])
            )
        else:
            continue
        found.update(range(begin, end))
    return sorted(found)


POOL = [
    *LINES,
    *(
        line
        for data in (NOISE, BITMAP, PROSE)
        for lines in encoded(data).values()
        for line in (lines[1], lines[2], lines[-1])
    ),
    *(line.encode() for lines in NATURAL.values() for line in lines[:1]),
    b"=abcd",
    b"iQCVAgUBK9SPBmv14aSAK9PN==",
    b"end",
]
texts = st.lists(
    st.tuples(st.sampled_from(POOL), st.sampled_from([b"\n", b"\n", b"\n", b"\r\n", b"\n\n"])),
    max_size=10,
).map(lambda lines: b"".join(part for line in lines for part in line))


@examples(100)
@given(st.lists(texts, max_size=4))
def test_encoded_lines_match_a_check_of_each_line(block: list[bytes]) -> None:
    found = find_encoded_lines(block)
    for number, text in enumerate(block):
        begins = [0, *(place + 1 for place, byte in enumerate(text) if byte == ord("\n"))]
        assert [begins.index(begin) for begin, _ in found.get(number, [])] == slow_encoded_lines(
            text
        )
        assert all(text[end : end + 1] in (b"", b"\n", b"\r") for _, end in found.get(number, []))
    kept, counts = drop_encoded_lines(block)
    assert [len(found.get(number, [])) for number in range(len(block))] == counts.tolist()
    assert [text.count(b"\n") for text in kept] == [text.count(b"\n") for text in block]


@pytest.mark.parametrize(
    "parameters", [{}, {"ngrams": 2, "char_ngrams": "3"}, {"encoded_lines": "keep"}]
)
def test_traced_tokens_match_the_counts_and_dropped_ones_have_a_reason(
    parameters: dict[str, Any],
) -> None:
    analysis = Analysis(Settings(stop_words="none", unspaced="pairs", **parameters))

    @examples(20)
    @given(texts)
    def in_text(text: bytes) -> None:
        tokens = list(TokenTracer(analysis).trace_tokens(text))
        kept = [token for token in tokens if token.dropped is None]
        found = [token.term or "" for token in kept] + [
            piece.term for token in kept for piece in token.char_ngrams
        ]
        vocabulary = Vocabulary.from_terms(sorted(set(found), key=str.encode))
        matrix = DocumentCounter(analysis, vocabulary).count([text]).to_matrix()
        counted = [
            vocabulary.get_term(term)
            for term, n in zip(matrix.terms.tolist(), matrix.counts.tolist(), strict=True)
            for _ in range(n)
        ]
        assert sorted(counted, key=str.encode) == sorted(found, key=str.encode)
        spans = (
            find_encoded_lines([text]).get(0, [])
            if analysis.settings.encoded_lines == "drop"
            else []
        )
        for token in tokens:
            inside = any(begin <= (token.start or 0) < end for begin, end in spans)
            assert (token.dropped == "encoded-line") == inside

    in_text()


@pytest.mark.parametrize("size", [1, 100, 1000])
def test_document_split_into_pieces_has_the_same_words(
    size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = b"\n".join(
        [*LINES, *encoded(NOISE)["uuencode"], *LINES, *encoded(PROSE)["base64 of PGP"], *LINES]
    )
    analysis = Analysis(Settings(ngrams=2))
    whole = count([("a", text)], analysis)
    monkeypatch.setattr("nbtext.text.analyzer.MAX_PIECE_BYTES", size)
    assert count([("a", text)], analysis).table == whole.table


def corpus(*kinds: str) -> list[str]:
    return [
        "\n".join(("the street lamp", kind, *(line.decode() for line in encoded(NOISE)[kind])))
        for kind in kinds
    ]


def test_dropped_lines_are_counted_exactly_through_update_forget_and_merge() -> None:
    first, second = (
        corpus("uuencode", "base64 of mail"),
        [*corpus("hexadecimal"), "no encoded line", "moon"],
    )
    both = TextClassifier().fit([*first, *second], list("ababb"))
    one = TextClassifier().fit(first, list("ab"))
    n_lines = [
        sum(len(encoded(NOISE)[kind]) for kind in kinds)
        for kinds in (("uuencode", "base64 of mail"), ("hexadecimal",))
    ]
    assert (
        count_encoded_lines(one.fitted.statistics),
        count_encoded_lines(both.fitted.statistics),
    ) == (
        n_lines[0],
        sum(n_lines),
    )
    assert f"{n_lines[0]} encoded lines dropped" in describe_model(one.fitted)
    one.partial_fit(second, list("abb"))
    assert one.fitted.statistics == both.fitted.statistics
    one.forget(first, list("ab"))
    assert one.fitted.statistics == TextClassifier().fit(second, list("abb")).fitted.statistics
    assert count_encoded_lines(one.fitted.statistics) == n_lines[1]
    assert (
        count_encoded_lines(
            TextClassifier(encoded_lines="keep").fit(first, list("ab")).fitted.statistics
        )
        == 0
    )

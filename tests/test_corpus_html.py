from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtext.corpus.decoding import detect_encoding
from nbtext.corpus.html import HtmlDocument, decode_html
from tests.corpus_reader import texts
from tests.operation_counts import DOUBLE, steps
from tests.process import python, write
from tests.profiles import rounds

if TYPE_CHECKING:
    from pathlib import Path


def text_of_html(markup: str, *, drop_quotes: bool = False) -> str:
    return HtmlDocument.from_markup(markup.encode()).extract_text(drop_quotes=drop_quotes).decode()


@pytest.mark.parametrize(
    ("markup", "read"),
    [
        ("<title>T</title><p>one<p>two<li>three<td>four", "T one two three four"),
        ("un<b>bro</b>ken w<wbr>ord<br>line<hr/>rule<img alt='no'>x", "unbroken word line rule x"),
        ("a<script>if (1 < 2) '</p>' && x</script>b", "a b"), ("a<style>b</style >c<STYLE>d</STYLE>", "a c"), ("a<script src='x'/>b", "a b"),
        ("a<template>b<template>c</template>d</template>e", "a e"), ("a<noscript><p>b</noscript>c", "a c"), ("a</template></noscript>b", "a b"),
        ("a<template>b<p></noscript>c", "a"), ("a<!-- <p>b</p> -->c", "ac"), ("x<!DOCTYPE html>y<?php 1 ?>z<![CDATA[u]]>v<![if x]>w", "xyzvw"),
        ("&lt;p&gt; &eacute;&#233;&#xe9; &amp &nosuch; &#0; AT&T &", "<p> ééé & &nosuch; \ufffd AT&T &"), ("1 < 2 > 1", "1 < 2 > 1"), ("<p title='>'>x", "x"),
        ("open <b", "open"), ("open <!-- x", "open"), ("open</", "open"), ("<a href=x>y</a>z", "yz"), ("", ""), ("\0", "\0"),
    ],
)  # fmt: skip
def test_html_text_is_what_a_browser_shows(markup: str, read: str) -> None:
    assert text_of_html(markup).split() == read.split()


@pytest.mark.parametrize("zeros", [0, 1, 8, 9, 5000])
@pytest.mark.parametrize(
    ("number", "read"),
    [
        ("65", "A"),
        ("0", "\ufffd"),
        ("128512", "\U0001f600"),
        ("1114112", "\ufffd"),
        ("9" * 4301, "\ufffd"),
    ],
)
def test_character_references_of_any_length_are_decoded(number: str, read: str, zeros: int) -> None:
    """Python converts 4,300 digits at most; one page with more ended the run."""
    assert text_of_html(
        f"<p title='&#{'0' * zeros}{number};'>a&#{'0' * zeros}{number};b&#{number}"
    ).split() == [f"a{read}b{read}"]


def test_quotes_can_be_dropped() -> None:
    assert text_of_html(
        "<p>new<blockquote>old<blockquote>older</blockquote></blockquote>end", drop_quotes=True
    ).split() == ["new", "end"]


@pytest.mark.parametrize(
    ("body", "encoding", "read"),
    [
        ("<p>café".encode(), "auto", "café"), ("<p>café".encode("cp1252"), "auto", "café"), ("<p>café".encode("utf-16"), "auto", "café"),
        ('<meta charset="koi8-r"><p>мир'.encode("koi8-r"), "auto", "мир"), ('<meta charset="koi8-r"><p>мир'.encode(), "utf-8", "мир"),
        ("<meta http-equiv=content-type content='text/html; charset=iso-8859-7'>αβγ".encode("iso-8859-7"), "auto", "αβγ"),
        ("<meta charset=klingon>café".encode(), "auto", "café"), ("<meta charset=utf-8>caf\xe9".encode("latin-1"), "auto", "café"),
    ],
)  # fmt: skip
def test_html_encodings_are_detected(body: bytes, encoding: str, read: str) -> None:
    assert decode_html(*detect_encoding(body, encoding))[0].decode().strip() == read


def test_html_is_a_kind_of_document_in_any_format(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    write("a/1.html", "<p>see<script>not</script> you")
    write("c.csv", 'a,"<b>s</b>ee you"\n')
    assert [text.split() for _, text in texts(tmp_path, document="html", format="dir")] == [
        ["see", "you"]
    ]
    assert texts(tmp_path / "c.csv", document="html")[0][1].split() == ["see", "you"]


@given(
    st.lists(
        st.sampled_from(["word", "<p>", "</p>", "<b>", "</b>", " ", "<br>", "&amp;"]), max_size=30
    )
)
def test_html_text_matches_the_slow_twin(pieces: list[str]) -> None:
    shown = {"word": "word", "<b>": "", "</b>": "", "&amp;": "&"}
    assert (
        text_of_html("".join(pieces)).split()
        == "".join(shown.get(piece, " ") for piece in pieces).split()
    )


def test_unclosed_elements_take_linear_time() -> None:
    def work(n: int) -> int:
        markup = "<template>" * n + "</b></noscript>" * n
        return steps(lambda: text_of_html(markup))

    assert work(1_000) < DOUBLE * work(500)


@pytest.mark.repeated
def test_malformed_html_takes_linear_time() -> None:
    code = (
        "from nbtext.corpus.html import HtmlDocument\n"
        "for piece in '<a ', '<!--', '<script>', '</script ', '<', '</', '<!', '<?', '<![', '&#', '&', '<a b=\"', \"<a b='x>\", '<a =', '< a', '<a/', 'x ', '<a b=c ':\n"
        "    for start in '', '<a ', '<script>':\n"
        "        HtmlDocument.from_markup((start + piece * LENGTH).encode()).extract_text()\n"
    )
    assert python(f"LENGTH = {rounds(20_000, 200_000)}\n{code}").status == 0

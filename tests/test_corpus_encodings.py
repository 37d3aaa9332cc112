"""Guessing encodings: right on other languages, and silent on all that Windows-1252 can write."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtext.corpus.document import Notices
from nbtext.corpus.encodings import likely_encoding
from tests.languages import ENCODINGS, OTHERS, WESTERN
from tests.process import corpus, nbtext, succeeded

if TYPE_CHECKING:
    import random

SAME_LETTERS = {"iso-8859-9": "windows-1254", "iso-8859-7": "windows-1253"}
"""Encodings that are told by the name of one with the same letters."""


@pytest.mark.parametrize("language", WESTERN)
def test_western_texts_are_not_doubted(language: str) -> None:
    body = WESTERN[language].encode("cp1252")
    for text in (body, body * 50, body.decode("cp1252").upper().encode("cp1252"), body.decode("cp1252").title().encode("cp1252")):
        assert likely_encoding(text) is None
    assert not any(likely_encoding(body[begin : begin + size]) for begin in range(0, len(body), 40) for size in (40, 120, 200))


@given(st.lists(st.sampled_from(sorted(WESTERN)), min_size=2, max_size=4, unique=True), st.randoms())
def test_mixtures_of_western_texts_are_not_doubted(languages: list[str], chance: random.Random) -> None:
    sentences = [sentence for language in languages for sentence in WESTERN[language].split(". ")]
    chance.shuffle(sentences)
    assert likely_encoding(". ".join(sentences[: chance.randint(2, len(sentences))]).encode("cp1252")) is None


@pytest.mark.parametrize(
    "line",
    [
        "He said – and I quote – “it’s a café with a naïve résumé” … 5 % off at £3. The façade costs €40. ", "a – b ", "à la carte ", "è ", "±5°C ",
        "· item ", "¤ ¡ item º ", "x² ½ ¼ ¾ ", "§ 3 Abs. 2 – ", "© 2026 «Nuit» ", "naïve ", "Ÿÿ ÿÿÿ ", "¿Qué? ",
    ],
)  # fmt: skip
def test_marks_and_single_letters_are_not_doubted(line: str) -> None:
    for text in (line, line * 900, line.upper() * 900):
        assert likely_encoding(text.encode("cp1252", "ignore")[: 1 << 14]) is None


@pytest.mark.parametrize(("language", "encoding"), [(language, encoding) for language, names in ENCODINGS.items() for encoding in names])
def test_other_languages_are_found(language: str, encoding: str) -> None:
    found = likely_encoding(OTHERS[language].encode(encoding))
    assert found is not None
    told = SAME_LETTERS.get(encoding, encoding)
    if language in ("hungarian", "romanian", "greek"):  # in the encodings of both kinds the letters of the text are the same bytes
        assert OTHERS[language].encode(encoding).decode(found.encoding, "replace").lower().count("\ufffd") == 0
    else:
        assert found.encoding == told
    assert language in found.language.lower()
    assert likely_encoding((OTHERS[language] * 40).encode(encoding)[: 1 << 14]) == found


@given(st.binary(max_size=400))
def test_any_bytes_are_judged(sample: bytes) -> None:
    likely_encoding(sample)


def test_utf8_with_a_cut_letter_is_not_doubted() -> None:
    for text in (WESTERN["german"], WESTERN["french"], OTHERS["turkish"], OTHERS["russian"], OTHERS["chinese"]):
        assert likely_encoding(text.encode()[:-1] + b"\xc3") is None


@given(st.lists(st.binary(max_size=40).map(lambda line: b"caf\xe9 " + line), max_size=60), st.integers(1, 20))
def test_the_sample_does_not_depend_on_shards(bodies: list[bytes], size: int) -> None:
    whole, sum_of_shards = Notices(), Notices()
    for body in bodies * 10:
        whole.add_transcoded(body)
    for begin in range(0, len(bodies) * 10, size):
        shard = Notices()
        for body in (bodies * 10)[begin : begin + size]:
            shard.add_transcoded(body)
        sum_of_shards.add(shard)
    assert sum_of_shards == whole
    assert len(whole.sample) <= 1 << 14


def test_a_sample_has_the_lines_that_count() -> None:
    notices = Notices()
    notices.add_transcoded(b"plain\n" * 1000 + b"caf\xe9\nplain\nna\xefve\n" + b"x" * 10_000)
    assert notices.sample == b"caf\xe9\nna\xefve\n"


def test_training_tells_which_encoding_to_try(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("turkish")
    turkish, german = OTHERS["turkish"].split(". "), WESTERN["german"]
    corpus(folder, {f"c/{'ab'[number % 2]}/{number}": text.encode("cp1254") for number, text in enumerate(turkish)})
    done = nbtext("train", "c", "-v", "-m", "m", cwd=folder)
    note = (
        "nbtext: not valid UTF-8 and read as Windows-1252: 4 documents; they look like windows-1254 (Turkish): try --encoding windows-1254"
    )
    assert note in done.notes
    assert succeeded(nbtext("train", "c", "-m", "m", cwd=folder)).notes == []
    assert note not in nbtext("train", "c", "-v", "-m", "m", "--encoding", "windows-1254", cwd=folder).notes
    corpus(folder, {"d.tsv": f"a\t{german}\nb\t{german} und\n".encode("cp1252")})
    western = nbtext("train", "d.tsv", "-v", "-m", "m", cwd=folder)
    assert "nbtext: not valid UTF-8 and read as Windows-1252: 2 documents" in western.notes

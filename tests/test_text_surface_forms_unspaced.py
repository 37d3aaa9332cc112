"""Runs of scripts without spaces become pairs of characters."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtext import TextClassifier
from nbtext.settings import UNSPACED_LANGUAGES
from nbtext.text.analyzer import Analyzer
from nbtext.text.surface_forms import find_unspaced_runs
from nbtext.text.words import load_stop_words, split_words
from tests import oracle, strategies
from tests.profiles import examples

if TYPE_CHECKING:
    from pathlib import Path

MIXED = st.lists(
    st.sampled_from([
        *"手机壳の々〆ー漢字カガ", "か\u3099", "ｶﾞ", "ｲ", "ｰ", "\U00020bb7", "\U0001b001", "葛\U000e0100", "あ\ufe00", "㍿", "㌔", "①", "豈", "\ufa6e", "\U0003134b",
        *"ไฟถนนเแ", "น้ำ", "กี่", "\u0e31", "๓", "ສະ", "ຳ", "ភា", "្ស", "မြ", "န်", "၁", "\u200b", "\u200d", "。", "、", "・", "「",
        "a", "iPhone", "É", "é", "e\u0301", "Ａ", "２", "7", "'", "’", "-", " ", "\n", "한국어", "हिन्दी", "я", "😀", "⼀", "東" * 40,
    ]),
    max_size=14,
).map("".join)  # fmt: skip


def terms(
    texts: list[bytes], unspaced: str = "pairs", dropped: tuple[str, ...] = ()
) -> list[list[str]]:
    ids: dict[str, int] = {}
    analyzer = Analyzer(
        dropped, list, lambda found: [ids.setdefault(term, len(ids)) for term in found], unspaced
    )
    sequence, names = analyzer.analyse(texts), list(ids)
    found: list[list[str]] = [[] for _ in texts]
    for document, term in zip(sequence.documents.tolist(), sequence.terms.tolist(), strict=True):
        found[document].append(names[term])
    return found


@examples(150)
@given(st.lists(MIXED | strategies.texts, max_size=4))
def test_terms_of_unspaced_scripts_match_the_slow_twin(texts: list[str]) -> None:
    documents = [text.encode() for text in texts]
    assert terms(documents, dropped=("手机", "the")) == [
        oracle.terms(text, ("手机", "the"), split=oracle.pairs) for text in documents
    ]
    assert terms(documents, "words") == [oracle.terms(text) for text in documents]


@pytest.mark.parametrize("unassigned", ["\U0003134b", "\U0002a6e0", "\ufa6e", "\U0001aff4"])
def test_unassigned_code_point_ends_a_run(unassigned: str) -> None:
    text = f"東京{unassigned}都市{unassigned}"
    assert (
        terms([text.encode()])
        == [["東京", "都市"]]
        == [oracle.terms(text.encode(), split=oracle.pairs)]
    )


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("新手机壳", "新手 手机 机壳"),
        ("iPhone手机2024年", "iphone 手机 2024 年"),
        ("京都のお寺。古い", "京都 都の のお お寺 古い"),
        ("ｶﾞｲﾄﾞ ガイド か\u3099い がい", "ガイ イド ガイ イド がい がい"),
        ("ไฟถนนเสีย", "ไฟ ฟถ ถน นน นเ เสี สีย"),
        ("น้ำท่วม", "น\u0e49\u0e4d\u0e32ท\u0e48 ท\u0e48ว วม"),
        ("ភាសាខ្មែរ", "ភាសា សាខ្ ខ្មែ មែរ"),
        ("我。你", "我 你"),
        ("한국어 문장", "한국어 문장"),
        ("Tōkyō 東 кот", "tōkyō 東 кот"),
        ("東京\u200b都市", "東京 都市"),
    ],
)
def test_pairs_contain_characters_with_their_marks(text: str, wanted: str) -> None:
    assert terms([text.encode()]) == [wanted.split()]


def test_text_without_unspaced_scripts_has_no_runs() -> None:
    assert find_unspaced_runs(b"plain") is None
    assert find_unspaced_runs("déjà vu – “quoted” 한국어 😀 ทู".encode()[:-6]) is None
    assert find_unspaced_runs("ทู".encode()[3:]) is None  # a mark alone
    assert split_words("の") == []
    assert split_words("の", unspaced=True) == ["の"]


LAMPS_AND_BINS = {
    "chinese": (
        ["路口的路灯坏了请派人修理", "我家门前的路灯不亮了", "公园里有三盏路灯一直闪", "晚上路灯全部熄灭很危险", "新装的路灯太亮影响睡觉"],
        ["垃圾桶已经满了没有人倒", "楼下的垃圾桶被人偷走了", "请在车站旁边放一个垃圾桶", "垃圾没有按时收走很臭", "大件垃圾应该放在哪里"],
        ["街角那盏路灯晚上不亮", "门口的垃圾好几天没收"],
    ),
    "japanese": (
        ["家の前の街灯が消えています", "街灯がずっと点滅している", "新しい街灯を付けてほしい", "公園の街灯が壊れました", "夜になっても街灯が点かない"],
        ["ごみがまだ回収されていません", "粗大ごみの出し方を教えてください", "ごみ箱がいっぱいです", "駅前のごみ箱がなくなった", "燃えるごみの日はいつですか"],
        ["角の街灯が点きません", "ごみを出す日を知りたい"],
    ),
    "thai": (
        ["ไฟถนนหน้าบ้านดับ", "ขอให้ซ่อมไฟถนนด้วย", "ไฟถนนกะพริบทั้งคืน", "ซอยนี้ไม่มีไฟถนน", "ไฟถนนสว่างเกินไป"],
        ["ถังขยะเต็มแล้ว", "ไม่มีใครมาเก็บขยะ", "ขอถังขยะเพิ่มหนึ่งใบ", "ขยะชิ้นใหญ่ทิ้งที่ไหน", "มีคนขโมยถังขยะไป"],
        ["ไฟถนนตรงหัวมุมเสีย", "ขยะหน้าบ้านเหม็นมาก"],
    ),
}  # fmt: skip
"""Complaints about street lamps and about bins, and one new complaint about each."""


@pytest.mark.parametrize("language", LAMPS_AND_BINS)
def test_default_training_separates_classes_in_unspaced_scripts(language: str) -> None:
    lamps, bins, new = LAMPS_AND_BINS[language]
    texts, labels = [*lamps, *bins], ["lamps"] * len(lamps) + ["bins"] * len(bins)
    for model in (TextClassifier(), TextClassifier(language=language)):
        model.fit(texts, labels)
        assert model.predict(new).tolist() == ["lamps", "bins"]
    in_words = TextClassifier(unspaced="words").fit(texts, labels)
    assert np.ptp(in_words.predict_proba(new), axis=0).max() < 1e-9  # no word occurs twice
    with_ngrams = TextClassifier(char_ngrams="1-2").fit(["火", "水", "火"], list("aba"))
    assert with_ngrams.predict(["火", "水"]).tolist() == ["a", "b"]


@pytest.mark.parametrize("language", UNSPACED_LANGUAGES)
def test_unspaced_languages_have_no_stop_words_or_stemming(language: str) -> None:
    assert load_stop_words("default", language) == load_stop_words(language, "english") == []
    model = TextClassifier(language=language, unspaced="pairs").fit(
        ["the lamps 路灯", "the bins"], ["a", "b"]
    )
    assert model.fitted.statistics.vocabulary.list_single_terms() == [
        "bins",
        "lamps",
        "the",
        "路灯",
    ]


def test_stop_list_may_contain_single_characters(tmp_path: Path) -> None:
    (tmp_path / "list").write_text("的 路灯\n", "utf-8")
    model = TextClassifier(stop_words="list", unspaced="pairs").fit(
        ["的。路灯坏", "b的"], ["a", "b"]
    )
    assert model.fitted.statistics.vocabulary.list_single_terms() == ["灯坏"]


def test_explanations_show_pairs_at_their_position() -> None:
    from nbtext.explain.token_trace import TokenTracer

    lamps, bins, _ = LAMPS_AND_BINS["chinese"]
    model = TextClassifier().fit([*lamps, *bins], ["lamps"] * 5 + ["bins"] * 5)
    walker, text = TokenTracer.from_model(model.fitted), "a路灯坏 火。".encode()
    located = walker.locate_words(text, splits_pairs=True)
    assert [form.name for form in located.forms] == ["a", "路灯", "灯坏", "火"]
    assert (located.starts.tolist(), located.ends.tolist()) == ([0, 1, 4, 11], [1, 4, 10, 14])
    whole = walker.locate_words(text)
    assert [(form.name, len(form.term_ids)) for form in whole.forms] == [
        ("a", 0),
        ("路灯坏", 2),
        ("火", 1),
    ]
    tokens = [
        (token.start, token.end, token.form, token.term) for token in walker.trace_tokens(text)
    ]
    assert tokens[1:3] == [(1, 7, "路灯", "路灯"), (4, 10, "灯坏", "灯坏")]

"""Hypothesis strategies: hard texts, and small corpora whose words meet often enough for counts to matter."""

from __future__ import annotations

from hypothesis import strategies as st

from nbtext.corpus.document import Document

HARD = (
    "don't", "’tis", "rock’n’roll", "a''b", "'quoted'", "O'", "naïve", "nai\u0308ve", "ﬁre", "Straße", "İstanbul", "ΣΊΣΥΦΟΣ", "ǅ",
    "東京都", "東京 大阪", "हिन्दी", "क्षत्रिय", "\u0301ab", "x\u0338y", "co\u00adop\u00aderate", "\u00ad", "zero\u200bwidth", "zwj\u200djoin",
    "\u202eright\u202c", "\ufeffmark", "½kg", "m²", "Ⅷth", "①②", "𝔘𝔫𝔦", "K\u212ael", "e\u00ad\u0301", "\u0345α", "ﬀﬃ", "ﷺ", "a\u037eb",
    "nul\0byte", "tab\tnew\nline\r", "\x1f\x7f", "em—dash", "no\u00a0break", "snake_case", "3.14", "C++", "a@b.org", "👩\u200d💻", "\u0600١٢",
    "eightbyt", "ninebytes", "sixteen_bytes_16", "sixteenbytes16by", "seventeenbytes17b", "w" * 24, "w" * 63, "w" * 64, "w" * 65, "w" * 72,
    "v" * 255, "v" * 256, "x" * 400, "東" * 21 + "a", "東" * 22, "東" * 85, "東" * 86, "é" * 127 + "a", "é" * 128, "<\u0338", "=\u0338eq", "`\u0300",
)  # fmt: skip
"""Pieces on which tokenisers differ: apostrophes, marks, compatibility forms, invisible characters, lengths around every limit."""

ALPHABET = st.one_of(
    st.sampled_from("abzABZ09'’ .,-_\t\n\0\x1f\u00ad\u0301\u0338"),
    st.characters(
        codec="utf-8", exclude_characters="\x1b\x1c\x1d"
    ),  # readers leave none in a text, and no sequence of a terminal
)

texts = st.lists(
    st.one_of(
        st.sampled_from(HARD),
        st.text(ALPHABET, max_size=12),
        st.sampled_from([" ", "-", "'", "", "\0"]),
    ),
    max_size=12,
).map("".join)
"""Unicode text of any kind, without lone surrogates."""

documents = texts.map(str.encode)
"""The same as UTF-8."""

ITEMS = (
    b"from:ann@example.org",
    b"from:ant",
    b"host:example.org",
    b"host:\xc3\xa9t\xc3\xa9.fr",
    b"type:text/html",
    b"host:" + b"x" * 40 + b".org",
    b":",
    b"ant",
)

fields = st.builds(
    lambda words, items: [*words, (b"", b" ".join(items))] if items else words,
    st.lists(
        st.tuples(st.sampled_from((b"subject", b"from", b"\xc3\xa9t\xc3\xa9")), documents),
        max_size=3,
    ),
    st.lists(st.sampled_from(ITEMS), max_size=4),
)
"""What documents have beside their texts: words in fields, and items, of which some are terms of words too."""

documents_with_fields = st.builds(
    Document, st.just("x"), st.none(), documents, fields=st.just([]) | fields
)

WORDS = (
    "ant",
    "bee",
    "cat",
    "dog",
    "eel",
    "fox",
    "gnu",
    "hen",
    "东京",
    "été",
    "don't",
    "pneumonoultramicroscopic",
)

sequences = st.lists(st.sampled_from(WORDS), max_size=8)
"""The terms of a document over a small vocabulary."""

labels = st.sampled_from(["", "birds", "fish", "Mammals", "été", "☃"])

corpora = st.lists(st.tuples(labels.filter(bool), sequences), min_size=1, max_size=12)
"""Labelled documents as terms, one at least."""

lettered_corpora = st.lists(
    st.tuples(st.sampled_from("xyz"), st.lists(st.sampled_from("abcdef"), max_size=6)),
    min_size=2,
    max_size=10,
)
"""Labelled documents of few terms, two at least: what is left without one of them differs."""

keys = st.lists(
    st.one_of(
        st.integers(1, 2**64 - 1),
        st.integers(1, 50),
        st.integers(0, 62).flatmap(
            lambda power: st.integers(1, 2 ** (64 - power) - 1).map(lambda n: n << power)
        ),
        st.integers(1, 40).map(lambda n: n << 56),
    ),
    max_size=80,
)
"""Keys of a hash table: many that differ only in their highest or lowest bits."""

asked = st.lists(st.lists(st.sampled_from([*WORDS, "unseen"]), max_size=10), min_size=1, max_size=6)
"""Documents by their terms, to be answered by a model of `corpora`."""

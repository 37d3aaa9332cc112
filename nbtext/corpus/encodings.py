"""The encoding in which bytes that are not UTF-8 probably are, and the language.

Each language has its own letters beyond ASCII, and few of the others'. Bytes are decoded in each encoding, and the letters that come out are
scored by each of its languages: a letter by its rank among those of the language, next to which letters it stands, and its case. Windows-1252
competes with the languages that it can write, so it is doubted only if another encoding explains the bytes far better.

Charset-normalizer 3.5 was tried on the paragraphs of `tests/languages.py`: it takes German, Portuguese and Swedish for Windows-1250.
"""

from __future__ import annotations

import re
from collections import Counter
from math import log
from typing import NamedTuple

_WESTERN = {
    "Albanian": "ëç", "Catalan": "àéóíèòçúïü·", "Danish": "åøæé", "Dutch": "ëéïèöüêó", "English": "é£ïèöñ", "Estonian": "äõüöšž",
    "Faroese": "ðáíóøúæý", "Finnish": "äöå", "French": "éàèêçôâîûùœïë", "German": "üäößé", "Icelandic": "ðáíþóæöéúý", "Irish": "áíéóú",
    "Italian": "àèùòéì", "Portuguese": "ãçáéóíõêúâàô", "Spanish": "óíáéñú¿¡ü", "Swedish": "äåöé",
}  # fmt: skip
"""Languages that Windows-1252 can write: their letters beyond ASCII, the most frequent first."""

_CYRILLIC = {
    "Russian": "оеаинтсрвлкмдпуяыьгзбчйхжшюцщэфъё", "Ukrainian": "оанитіврескулдмпяьзгбчйхжїюцєшщфґ",
    "Bulgarian": "аиоетнрсвлкдпмзягъубчщжйцхшюфь", "Serbian": "аоиенрсвтјкпудлмзгбчшћњцжхљђфџ",
}  # fmt: skip

_CENTRAL = {
    "Polish": "łęąóżśćńź", "Czech": "íáěéřčžýšůúňťďó", "Slovak": "áčížšéýúťľôňďäóĺŕ", "Hungarian": "áéöóőüíúű", "Croatian or Slovene": "čšžćđ",
    "Romanian": "ăîşţâ",
}  # fmt: skip

_TURKISH = {"Turkish": "ıüşçğöİâîû"}

_BALTIC = {"Lithuanian": "ėšųžąįūčę", "Latvian": "āīēšūņļžčģķ"}

_GREEK = {"Greek": "αοτιενσηρςπκυμλίάόγέήωδχύθφώβξζψϊ"}

_HEBREW = {"Hebrew": "יוהלאמרבתשנעםדחקפכטגזסצןךףץ"}

_ARABIC = {"Arabic": "الينموتربعفدهسةقكحأجشصخطىإضثذزغءئآظؤ"}

_JAPANESE = {"Japanese": "のいにしたをはるとがでなてかっ、。すれらもこりまーンスさきけくうあそ日人年大本中一国会者"}

_KOREAN = {"Korean": "이다는의에을하고가지로한도를은기시사자서대해어리정인으나들그있라"}

_CHINESE = {"Chinese": "的，。一是不了在人有我他這这個个們们中來来上大為为和國国地到以說说時时要就出會会可也你對对生能"}

_LANGUAGES: dict[str, dict[str, str]] = {
    "windows-1252": _WESTERN,
    "windows-1254": _TURKISH,
    "windows-1250": _CENTRAL, "iso-8859-2": _CENTRAL,
    "windows-1251": _CYRILLIC, "koi8-r": _CYRILLIC, "koi8-u": _CYRILLIC, "iso-8859-5": _CYRILLIC, "cp866": _CYRILLIC,
    "windows-1253": _GREEK,
    "windows-1257": _BALTIC,
    "windows-1255": _HEBREW,
    "windows-1256": _ARABIC,
    "shift_jis": _JAPANESE, "euc_jp": _JAPANESE, "cp949": _KOREAN, "gb18030": _CHINESE, "big5": _CHINESE,
}  # fmt: skip
"""Encodings, of equal ones the more frequent first, and what is written in them.

Left out are iso-8859-9, whose letters are those of windows-1254, and iso-8859-7, which has all but one of windows-1253.
"""

_BEYOND_ASCII = re.compile(r"[^\x00-\x7f]")
_REPEATED = re.compile(r"([^\x00-\x7f])\1{2,}")

_SYLLABLES = (_JAPANESE, _KOREAN, _CHINESE)
"""Their tables have the most frequent characters only."""

_BESIDE_ASCII = (_WESTERN, _TURKISH, _CENTRAL, _BALTIC)
"""Letters of these stand beside letters of ASCII, those of all others never."""

_PUNCTUATION = frozenset("“”„‘’‚–—…«»‹›°§©®™€£•·´\u00a0\u00ad\u3000，。、！？：；（）《》「」")

_IMPROBABLE = log(1e-4)
"""Of a character that the language does not have."""

_MARK = log(0.1)
"""Of a punctuation mark."""

_OUT_OF_PLACE = log(1e-2)
"""Of a capital after a small letter, of a letter alone, of one of another script beside one of ASCII, and of a mark between two of these."""

_RARE = log(0.2)
"""Of a second letter beyond ASCII in a row where ASCII is used too, and of a capital where it is not."""

_SURE = 20.0
"""Nats by which the bytes are more probable in another encoding than in Windows-1252."""

_LETTERS = 4
"""So many different letters of the language, counting capitals, must be there: bullets and fractions are letters elsewhere."""

_KNOWN, _KNOWN_SYLLABLES = 0.8, 0.2
"""The least share of the characters beyond ASCII that are punctuation or letters of the language."""


class _Event(NamedTuple):
    """A character beyond ASCII, and what is beside it."""

    character: str
    before: str
    """One of "A" and "a" for letters of ASCII, "Ä" and "ä" for others, and " " for anything else."""
    after: str


class LikelyEncoding(NamedTuple):
    """An encoding, and the language whose letters it gives."""

    encoding: str
    language: str


def likely_encoding(sample: bytes) -> LikelyEncoding | None:
    """Return what lines that are not valid UTF-8 are probably written in; None for Windows-1252, and where nothing is clearly more probable."""
    western = _events(sample, "windows-1252")
    every = Counter[str]()
    for letters in _WESTERN.values():
        every.update(_shares(letters))
    mixture = {letter: share / len(_WESTERN) for letter, share in every.items()}
    least = max(_log_likelihood(western, shares, _WESTERN) for shares in (*map(_shares, _WESTERN.values()), mixture)) + _SURE
    found = None
    for encoding, languages in _LANGUAGES.items():
        events = _events(sample, encoding)
        for language, letters in languages.items():
            likelihood = _log_likelihood(events, _shares(letters), languages)
            if likelihood > least and _is_written_in(letters, events, languages):
                least, found = likelihood, LikelyEncoding(encoding, language)
    return found


def _events(sample: bytes, encoding: str) -> Counter[_Event]:
    text = _REPEATED.sub("", sample.decode(encoding, "replace"))
    return Counter(
        _Event(match[0], _kind(text[match.start() - 1 : match.start()]), _kind(text[match.end() : match.end() + 1]))
        for match in _BEYOND_ASCII.finditer(text)
    )


def _kind(character: str) -> str:
    if not character.isalpha():
        return " "
    return ("A" if character.isupper() else "a") if character.isascii() else ("Ä" if character.isupper() else "ä")


def _small(character: str) -> str:
    small = character.lower()
    return small if len(small) == 1 else character


def _shares(letters: str) -> dict[str, float]:
    """Return the probability of each letter by its rank r, in proportion to 1 / (r + 1): flatter than Zipf's law, as letters are."""
    weights = [1 / (rank + 2) for rank in range(len(letters))]
    return {letter: weight / sum(weights) for letter, weight in zip(letters, weights, strict=True)}


def _log_likelihood(events: Counter[_Event], shares: dict[str, float], languages: dict[str, str]) -> float:
    """Return the log-likelihood of characters in nats."""
    total = 0.0
    for (character, before, after), number in events.items():
        one = _IMPROBABLE
        beside = before + after
        if character in _PUNCTUATION:
            one = _MARK + _OUT_OF_PLACE * (before in "Ää" and after in "Ää")
        elif _small(character) in shares:
            one = log(shares[_small(character)])
            if languages not in _SYLLABLES:
                one += _OUT_OF_PLACE * (character.isupper() and before in "aä")
                one += _OUT_OF_PLACE * (beside == "  " and languages is not _WESTERN)
            if languages in _BESIDE_ASCII:
                one += _RARE * (before in "Ää")
            elif languages not in _SYLLABLES:
                one += _OUT_OF_PLACE * ("a" in beside or "A" in beside) + _RARE * character.isupper()
        total += number * one
    return total


def _is_written_in(letters: str, events: Counter[_Event], languages: dict[str, str]) -> bool:
    """Return whether there are enough letters of a language, and of others few."""
    found = Counter[str]()
    for event, number in events.items():
        found[event.character] += number
    known = {character: number for character, number in found.items() if _small(character) in letters}
    share = sum(number for character, number in found.items() if character in known or character in _PUNCTUATION) / max(found.total(), 1)
    capitals = sum(number for character, number in known.items() if character.isupper())
    if languages not in _BESIDE_ASCII and capitals * 2 > sum(known.values()):
        return False  # pairs of bytes of Chinese or Korean look like this
    return len(known) >= _LETTERS and share >= (_KNOWN_SYLLABLES if languages in _SYLLABLES else _KNOWN)

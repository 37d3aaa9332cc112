"""Everything that can be set, declared once: name, default, range and meaning feed the checks, the options and the reference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from nbtext.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

LANGUAGES = (
    "arabic", "catalan", "czech", "danish", "dutch", "english", "finnish", "french", "german", "greek", "hindi", "hungarian",
    "indonesian", "italian", "norwegian", "persian", "polish", "portuguese", "romanian", "russian", "spanish", "swedish", "turkish",
)  # fmt: skip
"""The languages for which there are both a stop list and a Snowball stemmer."""

SNOWBALL_STEMMERS = (
    "arabic", "armenian", "basque", "catalan", "czech", "danish", "dutch", "english", "esperanto", "estonian", "finnish", "french",
    "german", "greek", "hindi", "hungarian", "indonesian", "irish", "italian", "lithuanian", "nepali", "norwegian", "persian",
    "polish", "portuguese", "romanian", "russian", "serbian", "spanish", "swedish", "tamil", "turkish", "yiddish",
)  # fmt: skip
NLTK_STEMMERS = ("porter", "lancaster", "isri", "arlstem", "arlstem2", "cistem")
"""nltk's stemmers that need no data: English twice, Arabic three times, German."""

FORMATS = ("dir", "csv", "tsv", "jsonl", "lines", "fasttext", "svmlight", "mbox", "maildir")
"""How a corpus may be laid out; `nbtext.corpus.formats` has a reader for each."""

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}

CRITERIA = ("mutual-information", "presence", "chi2", "log-odds")
CALIBRATIONS = ("length", "temperature", "isotonic")


@dataclass(frozen=True)
class Parameter:
    """One setting: ``check`` turns a value, or the text of an option, into the canonical value or raises ValueError saying what is wanted."""

    name: str
    default: Any
    metavar: str
    check: Callable[[Any], Any]
    meaning: str

    @property
    def option(self) -> str:
        """How the command line spells it."""
        return "--" + self.name.replace("_", "-")

    @property
    def choices(self) -> tuple[str, ...]:
        """The names among which to choose, if there are any."""
        return self.check.choices if isinstance(self.check, _OneOf) else ()

    def checked(self, value: object) -> Any:  # noqa: ANN401 - each parameter has a type of its own
        """The canonical value; raises `UsageError` that names the option and what it takes."""
        if value is None and self.default is None:
            return None
        try:
            canonical = self.check(value)
        except (TypeError, ValueError) as problem:
            raise UsageError(f"{self.option} must be {problem}, not {value!r}") from None
        return value if repr(canonical) == repr(value) else canonical  # scikit-learn's clone wants the very object back


class _OneOf:
    """A check for one of some names, or what else may stand there."""

    def __init__(self, choices: tuple[str, ...], otherwise: Callable[[Any], Any] | None, wanted: str) -> None:
        self.choices, self._otherwise, self._wanted = choices, otherwise, wanted

    def __call__(self, value: object) -> object:
        if isinstance(value, str) and value in self.choices:
            return value
        if self._otherwise is not None:
            try:
                return self._otherwise(value)
            except (TypeError, ValueError):
                pass
        listed = ", ".join(self.choices)
        raise ValueError((f"one of {listed}" if len(self.choices) > 1 else listed) + (f" or {self._wanted}" if self._wanted else ""))


def _one_of(*choices: str, otherwise: Callable[[Any], Any] | None = None, wanted: str = "") -> _OneOf:
    return _OneOf(choices, otherwise, wanted)


def _number(kind: type[int | float], least: float, most: float, wanted: str) -> Callable[[Any], int | float]:
    def check(value: Any) -> int | float:  # noqa: ANN401
        try:
            number = kind(value)
        except (TypeError, ValueError, OverflowError):
            raise ValueError(wanted) from None
        if isinstance(value, bool) or not least <= number <= most or number != float(value):  # nan is in no range
            raise ValueError(wanted)
        return number

    return check


def _text(value: object) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError("a name")
    return value


def _whole(least: int, wanted: str) -> Callable[[Any], int | float]:
    return _number(int, least, 2**31, wanted)


def _names(value: object) -> str:
    names = [name.strip().lower() for name in value.split(",")] if isinstance(value, str) else []
    if not all(names) or not names:
        raise ValueError("names with commas between them")
    return ",".join(names)


def _column(value: object) -> str:
    text = str(value)
    if not text or (text.isascii() and text.isdigit() and int(text) < 1):
        raise ValueError("a column's name or its number from 1")
    return text


def _encoding(value: object) -> str:
    import codecs

    try:
        if value == "auto":
            return "auto"
        b"a".decode(_text(value), "ignore")  # raises for codecs that are not of text, such as base64
        return codecs.lookup(_text(value)).name
    except (LookupError, ValueError):
        raise ValueError("auto or the name of an encoding, such as utf-8 or latin-1") from None


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError("true or false")  # noqa: TRY004 - the caller makes one error of all
    return value


def _delimiter(value: object) -> str:
    text = {"tab": "\t", "\\t": "\t"}.get(str(value), str(value))
    if len(text) != 1 or text in '\n\r"':
        raise ValueError("one character")
    return text


def _size(value: object) -> str:
    text = str(value).upper().removesuffix("B").removesuffix("I")
    unit = text[-1:] if text[-1:] in _UNITS else ""
    number = text.removesuffix(unit)
    if isinstance(value, bool) or not (number.isascii() and number.isdigit()) or not 0 < int(number) * _UNITS[unit] < 2**62:
        raise ValueError("a number of bytes from 1, or a number with K, M or G")
    size = int(number) * _UNITS[unit]
    unit = next(unit for unit in reversed(_UNITS) if size % _UNITS[unit] == 0)
    return f"{size // _UNITS[unit]}{unit}"


def in_bytes(size: str) -> int:
    """The bytes that a canonical size means.

    >>> in_bytes("64M")
    67108864
    """
    return int(size.rstrip("KMG")) * _UNITS[size.lstrip("0123456789")]


def _smoothed(value: object) -> str:
    kind, _, added = _text(value).partition(":")
    if kind != "smoothed":
        raise ValueError
    return f"smoothed:{_number(float, 0, 1e12, '')(added)!r}".removesuffix(".0")


def _prior(value: object) -> object:
    if isinstance(value, str):
        return _smoothed(value)
    if not isinstance(value, dict) or not value:
        raise TypeError
    weights = {str(label): float(_number(float, 0, 1e12, "")(weight)) for label, weight in sorted(value.items())}
    if not sum(weights.values()):
        raise ValueError
    return weights


READING = (
    Parameter(
        "format", "auto", "NAME", _one_of("auto", *FORMATS),
        "How a corpus is laid out: dir (one sub-directory per class), csv (quoted), tsv (a quote is a character), jsonl (one JSON object a "
        "line), lines (one document a line, no labels), fasttext (__label__x text), svmlight (counted features), mbox or maildir (the class "
        "is the name of the file or folder). auto goes by directory and name; for training also by the first line.",
    ),
    Parameter(
        "document", "text", "KIND", _one_of("text", "html", "mail"),
        "How one document's bytes become text: text as it is; html: what a browser shows; mail: chosen headers and the text parts of a "
        "message. Always mail for mbox and maildir.",
    ),
    Parameter("headers", "subject", "NAMES", _names, "Which headers of a mail count, with commas between them."),
    Parameter("drop_quotes", False, "", _flag, "Leave out of a mail what it quotes of the one it answers."),
    Parameter("drop_signatures", False, "", _flag, 'Leave out of a mail what follows the last line that is only "--".'),
    Parameter(
        "label_column", None, "COLUMN", _column,
        "Column of the class: a name (the table has a header line) or a number from 1, by default 1; in jsonl a key, by default label.",
    ),
    Parameter(
        "text_column", None, "COLUMN", _column,
        "Column of the text: a name or a number from 1, by default 2; in jsonl a key (a.b for b inside a), by default text.",
    ),
    Parameter("id_column", None, "COLUMN", _column, "Column of the document's name: a name, number or key; else it is file and line."),
    Parameter("header", None, "", _flag, "Whether a table begins with a header line; by default if a column is given by name."),
    Parameter("delimiter", None, "CHARACTER", _delimiter, "Between columns: by default a comma for csv, a tab for tsv."),
    Parameter(
        "encoding", "auto", "NAME", _encoding,
        "Encoding of the documents; auto takes a byte order mark's word, then UTF-8, then Windows-1252 for a document that is not UTF-8. "
        "In mail it is that of parts that do not tell theirs.",
    ),
    Parameter(
        "max_document_size", "64M", "SIZE", _size,
        "A larger document is a problem, not read: bytes, or a number with K, M or G. Holds for files, rows, lines and messages.",
    ),
    Parameter(
        "max_unpacked_size", "4G", "SIZE", _size,
        "A compressed file (gzip, xz, bzip2) of many documents that unpacks to more is an error.",
    ),
)  # fmt: skip
"""How documents are read. A model remembers it."""

INPUT = (
    Parameter(
        "files_from", None, "FILE", _text,
        "Read further CORPUS paths from a file, or from standard input for -, one a line; a line that is only - is a file of that name.",
    ),
    Parameter("null", False, "", _flag, "The list of --files-from has NUL instead of line ends, as find -print0 writes it."),
    Parameter(
        "on_error", "record", "WHAT", _one_of("record", "skip", "fail"),
        "A document that cannot be read is told of and makes the exit status 1. record: the others are read, and classify has a record for it "
        "that says why; skip: there is no record; fail: end at once, nothing is written.",
    ),
)  # fmt: skip
"""Where documents are found, and what to do with one that cannot be read. A model does not remember it."""

TRAINING = (
    Parameter("classifier", "multinomial", "NAME", _one_of("multinomial"), "The kind of model: multinomial naive Bayes."),
    Parameter("language", "english", "NAME", _one_of(*LANGUAGES), f"Language of stop words and stemmer: {', '.join(LANGUAGES)}."),
    Parameter(
        "stop_words", "default", "NAME|FILE", _text,
        "Words to leave out: default (the language's list), another language's list, a file of words, or none.",
    ),
    Parameter(
        "stemmer", "snowball", "NAME", _one_of("snowball", "none", *SNOWBALL_STEMMERS, *NLTK_STEMMERS),
        f"Reduces words to stems: snowball (that of the language), none, Snowball's for another language by its name, or one of nltk's: {', '.join(NLTK_STEMMERS)}.",
    ),
    Parameter("ngrams", 1, "N", _number(int, 1, 10, "a whole number from 1 to 10"), "Also count sequences of up to N adjacent terms."),
    Parameter("min_df", 1, "N", _whole(1, "a whole number from 1"), "Leave out terms that fewer than N documents hold."),
    Parameter("max_df", 1.0, "SHARE", _number(float, 0, 1, "a share from 0 to 1"), "Leave out terms that a larger share of documents hold."),
    Parameter("top", None, "N", _whole(1, "a whole number from 1"), "Keep the N most informative terms."),
    Parameter("by", "mutual-information", "CRITERION", _one_of(*CRITERIA), f"What makes a term informative: {', '.join(CRITERIA)}."),
    Parameter(
        "smoothing", "auto", "auto|A", _one_of("auto", otherwise=_number(float, 0, 1e12, ""), wanted="a number from 0"),
        "Pseudo-count added to each count; auto takes the one under which the class counts are most probable (evidence), at most 1 per term.",
    ),
    Parameter(
        "prior_shape", "symmetric", "SHAPE", _one_of("symmetric", "background"),
        "Shape of the Dirichlet prior: symmetric (the same for all terms) or background (in proportion to the whole corpus; smoothing is then its "
        "total).",
    ),
    Parameter("estimate", "mean", "NAME", _one_of("mean", "map", "ml"), "Estimate of term probabilities: mean of the posterior, map (its mode), or ml (maximum likelihood)."),
    Parameter(
        "class_prior", "empirical", "KIND|FILE",
        _one_of("empirical", "uniform", otherwise=_prior, wanted="smoothed:A or a number of at least 0 for each class"),
        "Class probabilities before reading: empirical, uniform, smoothed:A, or a file of lines with a class, a tab and a weight.",
    ),
    Parameter(
        "calibration", "auto", "NAME", _one_of("auto", *CALIBRATIONS, "none"),
        "How scores become probabilities that can be believed, learnt from the sample, each document left out of the model: length (a temperature that "
        "grows with the document's length), temperature (one for all), isotonic (length, then a curve), or none, the posterior of the textbook. auto is length, "
        "and none with maximum likelihood.",
    ),
    Parameter("sample", 4096, "N", _number(int, 0, 1 << 20, "a whole number from 0 to 1,048,576"), "How many training documents the model keeps as term counts, to be calibrated from; 0 for none."),
)  # fmt: skip
"""How a model is made. A model remembers it."""


def checked(table: tuple[Parameter, ...], values: Mapping[str, object]) -> dict[str, Any]:
    """Canonical values of all parameters of a table, defaults where ``values`` has none; raises `UsageError` for a wrong or unknown one."""
    known = {parameter.name for parameter in table}
    for name in values:
        if name not in known:
            raise UsageError(f"there is no parameter {name!r}", hint=f"known are {', '.join(sorted(known))}")
    return {parameter.name: parameter.checked(values.get(parameter.name, parameter.default)) for parameter in table}

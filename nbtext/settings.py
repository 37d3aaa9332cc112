"""All settings, each declared once: name, type, default, range and help text.

Each field of `Reading` and `Settings` is one parameter. Checks, options, the reference and the
settings in a model file follow from the fields.

A check turns a value, or the text of an option, into the canonical value, which models store. For
an invalid value, it raises TypeError, or ValueError with the accepted values in words. The words
may be missing in a check that `_OneOf` calls, because `_OneOf` has them.
"""

from __future__ import annotations

import re
from dataclasses import field, fields, replace
from functools import cache, partial
from itertools import chain, groupby, islice
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, NamedTuple, Self, get_args

from nbtext.errors import ModelError, PathError, UsageError, did_you_mean
from nbtext.fast_dataclasses import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    Check = Callable[[object], object]
    ClassPrior = str | Mapping[str, float]

DEFAULT_TERM = "*"
"""The key for all other terms among pseudo-counts by term."""

MIN_PSEUDO_COUNT = 1e-12
MAX_PSEUDO_COUNT = 1e12
"""Range of a pseudo-count that is not 0. A smaller number, added to a count, would be lost."""

MODEL_CARD_HINT = (
    "docs/model-card.md fills a model card with the JSON of nbtext inspect and evaluate"
)
"""Hint for the removed options that wrote a model card."""

REMOVED_OPTIONS = {
    "max_terms": "--min-df makes the model smaller; counting needs about 300 bytes for each "
    "different term",
    **dict.fromkeys(("card", "dataset", "evaluation", "license"), MODEL_CARD_HINT),
    "verify": "nbtext doctor checks the installation and loads the model",
    "similarity": "nbtext evaluate CORPUS shows which classes are confused",
    "max_size": "--min-df makes a model smaller; nbtext tune CORPUS --try min-df=1,2,5 shows what "
    "that costs",
    "tries": "--time-limit none tries all known-good settings and can be repeated exactly",
    "sweep": "nbtext tune CORPUS --try smoothing=0.001,0.1,10 compares strengths of the prior on "
    "training documents",
}
"""Hints for options of earlier versions. Model files may still contain the training options."""

REMOVED_VALUES: dict[str, dict[object, str]] = {
    "classifier": {"dirichlet-multinomial": "it is another name of multinomial now"},
    "calibration": dict.fromkeys(
        ("isotonic", "temperature"),
        "auto fits a temperature that depends on the length of the document",
    ),
    "criterion": {
        "cross-validation": "remove it; nbtext tune evaluates on held-out documents",
        "leave-one-out": "nbtext cross-validate --leave-one-out evaluates one setting",
        **dict.fromkeys(
            ("evidence", "aic", "bic"), "nbtext inspect --criteria prints it for a model"
        ),
    },
    "format": {"tar": "unpack it first: tar -xf FILE"},
}
"""Hints for values that an option no longer accepts. Model files that contain them are rejected.

An option accepts a value that is also in `VALUE_ALIASES`, with another meaning than in the file.
"""

VALUE_ALIASES: dict[str, dict[str, str]] = {
    "classifier": {"dirichlet-multinomial": "multinomial"},
    "calibration": {"length": "auto"},
    "estimate": {"mle": "ml"},
    # Laplace's rule, and the prior of Jeffreys (1946), also Krichevsky and Trofimov (1981).
    "smoothing": {"laplace": "1", "jeffreys": "0.5", "krichevsky-trofimov": "0.5"},
}
"""Aliases of values by option, each with the canonical name. Help and completion omit them."""

RENAMED_PARAMETERS = {
    "by": "criterion",
    "sample": "keep_documents",
    "within": "time_limit",
}
"""Today's names of parameters by their old names, which users and model files may still have."""


def replace_old_names(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values with the names of today instead of old names of parameters.

    >>> replace_old_names({"by": "chi2", "top": 9})
    {'criterion': 'chi2', 'top': 9}
    """
    return {RENAMED_PARAMETERS.get(name, name): value for name, value in values.items()}


_BYTES_BY_UNIT = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_SIZE_LIMIT_BYTES = 2**62  # sizes must fit into 64 bits
_SECONDS_BY_UNIT = {"s": 1, "m": 60, "h": 3600}


@dataclass(frozen=True)
class TermSmoothing:
    """Pseudo-counts by term, made from pseudo-counts by word when the analysis is known."""

    default: float
    """The pseudo-count of all other terms."""
    term_values: Mapping[tuple[str, ...], float]
    """Pseudo-counts by term: a tuple of one string, or of the strings of an n-gram.

    The vocabulary may lack the term.
    """
    word_values: Mapping[str, float]
    """Pseudo-counts by word, as the user gave them.

    Only these include values of categorical columns, such as ``face=1``.
    """


if TYPE_CHECKING:
    Smoothing = str | float | tuple[float, float] | Mapping[str, float] | TermSmoothing


class _OneOf:
    """A check for one of several names, or for a value that passes the check ``otherwise``.

    ``expected`` describes such a value in messages. ``aliases`` maps further names to ``choices``.
    """

    def __init__(
        self,
        *choices: str,
        otherwise: Check | None = None,
        expected: str = "",
        aliases: Mapping[str, str] | None = None,
    ) -> None:
        self.choices = choices
        self._otherwise = otherwise
        self._expected = expected
        self._aliases = aliases or {}

    def __call__(self, value: object) -> object:
        """Return the canonical name, or the result of ``otherwise``."""
        if isinstance(value, str):
            value = self._aliases.get(value, value)
        if isinstance(value, str) and value in self.choices:
            return value
        if self._otherwise is not None:
            try:
                return self._otherwise(value)
            except (TypeError, ValueError, KeyError):
                pass
        expected = ", ".join(self.choices)
        if len(self.choices) > 1:
            expected = f"one of {expected}"
        if self._expected:
            expected += f" or {self._expected}"
        raise ValueError(expected)


def make_number_check(
    number_type: type[int | float], minimum: float, maximum: float, expected: str = ""
) -> Callable[[object], int | float]:
    """Return a check for a number in a range, ends included.

    ``expected`` describes the number and the range in messages.
    """

    def check(value: object) -> int | float:
        try:
            # A TypeError is raised for a value that cannot be a number.
            number = number_type(value)  # type: ignore[arg-type,call-overload]
        except (TypeError, ValueError, OverflowError):
            raise ValueError(expected) from None
        is_in_range = minimum <= number <= maximum  # False for nan
        is_changed = number != float(value)  # type: ignore[arg-type] # as 1.5 by int
        if isinstance(value, bool) or not is_in_range or is_changed:
            raise ValueError(expected)
        return number

    return check


def check_text(value: object) -> str:
    """Check for a string that is not empty."""
    if not isinstance(value, str) or not value:
        raise ValueError("a name")
    return value


def _split_items(value: object) -> list[str]:
    """Return the items of a comma-separated text, or of a list of strings from Python.

    The list is empty for other values, and for a list in which an item contains a comma.
    """
    if isinstance(value, str):
        return value.split(",")
    if isinstance(value, (list, tuple)) and all(
        isinstance(item, str) and "," not in item for item in value
    ):
        return list(value)
    return []


def _check_stop_words(value: object) -> str | tuple[str, ...]:
    """Check for a name or a collection of words. From Python, None means no stop words."""
    if value is None:
        return "none"
    if isinstance(value, (list, tuple, set, frozenset)) and all(
        isinstance(word, str) for word in value
    ):
        return tuple(sorted(value)) or "none"
    return check_text(value)


def check_names(value: object) -> str:
    """Check for comma-separated names, and return them in lower case."""
    names = [item.strip().lower() for item in _split_items(value)]
    if not all(names) or not names:
        raise ValueError("names with commas between them")
    return ",".join(names)


def check_column(value: object) -> str:
    """Check for the name of a column, or its number from 1."""
    column = str(value)
    is_number = column.isascii() and column.isdigit()
    if not column or (is_number and int(column) < 1):
        raise ValueError("a column's name or its number from 1")
    return column


def check_columns(value: object) -> str:
    """Check for comma-separated columns without repetitions, by name or number."""
    items = _split_items(value) or [""]  # "" is an invalid column
    columns = [check_column(item.strip()) for item in items]
    # --categorical may declare the number of values, as in face=6.
    names = {re.sub(r"=\d+$", "", column) for column in columns}
    is_repeated = len(names) < len(columns)
    if is_repeated or not all(map(str.isprintable, columns)):
        raise ValueError("names or numbers of columns with commas between them, none twice")
    return ",".join(columns)


_COLUMN_RANGE = re.compile(r"(?P<prefix>.*?)(?P<first>\d{1,6})-(?P=prefix)(?P<last>\d{1,6})")


def expand_column_range(column: str) -> list[str]:
    """Return the columns of a range, or the column alone if it is none.

    >>> expand_column_range("e8-e10"), expand_column_range("x-ray")
    (['e8', 'e9', 'e10'], ['x-ray'])
    """
    match = _COLUMN_RANGE.fullmatch(column)
    if match is None:
        return [column]
    width = len(match["first"]) if match["first"].startswith("0") else 0  # as in e00-e99
    numbers = range(int(match["first"]), int(match["last"]) + 1)
    return [f"{match['prefix']}{number:0{width}}" for number in numbers]


def check_number_columns(value: object) -> str:
    """Check for columns as `check_columns` does, or for ranges of columns such as ``e0-e383``."""
    items = check_columns(value)
    ranges = [expand_column_range(item) for item in items.split(",")]
    if not all(ranges):
        raise ValueError("a range such as e0-e383, the smaller number first")
    check_columns(",".join(chain.from_iterable(ranges)))
    return items


def check_condition(value: object) -> str:
    """Check for ``COLUMN=VALUE`` or ``COLUMN!=VALUE``."""
    name, equals, _ = str(value).partition("=")
    if not equals:
        raise ValueError("COLUMN=VALUE, such as split=train")
    check_column(name.removesuffix("!"))
    return str(value)


def negate_condition(condition: str) -> str:
    """Return the condition that is true where ``condition`` is false.

    >>> negate_condition("split=test"), negate_condition("split!=test")
    ('split!=test', 'split=test')
    """
    name, _, value = condition.partition("=")
    if name.endswith("!"):
        return f"{name.removesuffix('!')}={value}"
    return f"{name}!={value}"


def _check_group(value: object) -> str:
    """Check for a regular expression with one group."""
    try:
        if re.compile(check_text(value)).groups == 1:
            return str(value)
    except (re.error, RecursionError, OverflowError):
        pass
    raise ValueError("a regular expression with one group, such as '([a-z]+)_'")


def check_text_columns(value: object) -> str:
    """Check for a column, or for comma-separated columns."""
    if isinstance(value, str) and "," in value:
        return check_columns(value)
    return check_column(value)


def _check_codec(value: object) -> str:
    """Check for ``auto`` or a text encoding, and return its canonical name."""
    from nbtext.charsets import find_codec

    if value == "auto":
        return "auto"
    codec = find_codec(check_text(value))
    if codec is None:
        raise ValueError("auto or the name of an encoding, such as utf-8 or latin-1")
    return codec


def _check_flag(value: object) -> bool:
    """Check for True or False."""
    if not isinstance(value, bool):
        raise ValueError("true or false")  # noqa: TRY004 - the caller makes one error of all
    return value


def check_character(value: object) -> str:
    r"""Check for one character, or for ``tab`` or ``\t``, and return the character."""
    character = str(value)
    if character in ("tab", "\\t"):
        character = "\t"
    if len(character) != 1 or character in '\n\r"':
        raise ValueError("one character")
    return character


def check_size(value: object) -> str:
    """Check for a number of bytes, and return it in the largest unit that divides it."""
    match = re.fullmatch("([0-9]+)([KMG]?)I?B?", str(value).upper())
    n_bytes = int(match[1]) * _BYTES_BY_UNIT[match[2]] if match else 0
    if not 0 < n_bytes < _SIZE_LIMIT_BYTES:
        raise ValueError("a number of bytes from 1, or a number with K, M or G")
    units_from_largest = reversed(_BYTES_BY_UNIT)
    unit = next(unit for unit in units_from_largest if n_bytes % _BYTES_BY_UNIT[unit] == 0)
    return f"{n_bytes // _BYTES_BY_UNIT[unit]}{unit}"


def parse_size(size: str) -> int:
    """Return the bytes of a canonical size.

    >>> parse_size("64M")
    67108864
    """
    return int(size.rstrip("KMG")) * _BYTES_BY_UNIT[size.lstrip("0123456789")]


class UnreadableAllowance(NamedTuple):
    """How many documents may be unreadable: a number, or a percentage. The other field is 0."""

    text: str
    """The value of the option."""
    number: float = 0
    percentage: float = 0

    def max_unreadable(self, n_documents: int) -> float:
        """Return how many of ``n_documents`` may be unreadable.

        >>> check_allowance("5").max_unreadable(200), check_allowance("1%").max_unreadable(200)
        (5.0, 2.0)
        """
        return self.number + self.percentage * n_documents / 100


def check_allowance(value: object) -> UnreadableAllowance:
    """Check for a number of documents, or a percentage of all documents."""
    text = str(value)
    match = re.fullmatch(r"([0-9]+)|([0-9]+(?:\.[0-9]+)?)%", text)
    if match is None or float(match[2] or 0) > 100:
        raise ValueError("a number of documents, or a percentage such as 1%")
    return UnreadableAllowance(text, number=float(match[1] or 0), percentage=float(match[2] or 0))


MAX_DRAWN_WORDS = 1 << 24
"""Limit of the length of a randomly drawn document."""

MAX_OPTION_FILE_BYTES = 1 << 26
"""Limit of a file that an option names, such as stop words, costs or numbers by class."""

_PIECE_BYTES = 1 << 20


def read_within_limit(file: BinaryIO, path: str) -> bytes:
    """Return the content of a file that an option names.

    Raise `PathError` if the file is larger than `MAX_OPTION_FILE_BYTES`. It may be an endless
    device.
    """
    pieces = iter(partial(file.read, _PIECE_BYTES), b"")
    max_pieces = MAX_OPTION_FILE_BYTES // _PIECE_BYTES
    content = b"".join(islice(pieces, max_pieces + 1))  # one more piece shows a file too large
    if len(content) > MAX_OPTION_FILE_BYTES:
        raise PathError(f"is larger than {MAX_OPTION_FILE_BYTES >> 20} MiB", where=path)
    return content


def check_seconds(value: object) -> float:
    """Check for a time such as 60s, 5m or 1h, or ``none`` for no limit, and return its seconds."""
    text = str(value)
    if text == "none":
        return float("inf")
    unit = text[-1:]
    try:
        if unit in _SECONDS_BY_UNIT:
            seconds = float(text[:-1]) * _SECONDS_BY_UNIT[unit]
        else:
            seconds = float(text)
    except ValueError:
        seconds = 0.0  # invalid
    if not 0 < seconds < float("inf"):
        raise ValueError("a time such as 60s, 5m or 1h, or none")
    return seconds


def check_smoothed_prior(value: object) -> str:
    """Check for ``smoothed:A``, where A is at least 0."""
    name, _, text = check_text(value).partition(":")
    if name != "smoothed":
        raise ValueError
    pseudo_count = make_number_check(float, 0, MAX_PSEUDO_COUNT)(text)
    return f"smoothed:{pseudo_count!r}".removesuffix(".0")


def check_class_prior(value: object) -> ClassPrior:
    """Check for ``smoothed:A``, or weights by label that are not all 0."""
    if isinstance(value, str):
        return check_smoothed_prior(value)
    weights = _check_label_numbers(value, minimum=0, maximum=1e12)
    if not sum(weights.values()):
        raise ValueError
    return weights


def _check_label_numbers(value: object, minimum: float, maximum: float) -> dict[str, float]:
    """Check for numbers by label, and return them in the order of the labels."""
    if not isinstance(value, dict) or not value:
        raise TypeError
    check = make_number_check(float, minimum, maximum)
    return {str(label): float(check(number)) for label, number in sorted(value.items())}


def check_pseudo_counts(value: object) -> Smoothing:
    """Check for a pseudo-count, a pair of pseudo-counts, or pseudo-counts by term.

    A pseudo-count is 0, or from `MIN_PSEUDO_COUNT` to `MAX_PSEUDO_COUNT`. A pair is for documents
    with a term and without it, and has no 0. Pseudo-counts by term must include `DEFAULT_TERM`.
    """
    if isinstance(value, TermSmoothing):
        return value
    if isinstance(value, str) and "," in value:
        value = value.split(",")
    if isinstance(value, (tuple, list)):
        presence, absence = map(_check_pseudo_count, value)  # ValueError if this is no pair
        if not presence or not absence:
            raise ValueError
        return presence, absence
    if not isinstance(value, dict):
        return _check_pseudo_count(value)
    if DEFAULT_TERM not in value or not all(map(_is_line, value)):
        raise ValueError
    return {term: _check_pseudo_count(value[term]) for term in sorted(value)}


def _check_pseudo_count(value: object) -> int | float:
    pseudo_count = make_number_check(float, 0, MAX_PSEUDO_COUNT)(value)
    if 0 < pseudo_count < MIN_PSEUDO_COUNT:
        raise ValueError
    return pseudo_count


def _is_line(term: object) -> bool:
    """Return True for a text of one line. Raise ValueError if it has a lone surrogate."""
    return isinstance(term, str) and term.splitlines() == [term] and bool(term.encode())


def check_span(value: object) -> str:
    """Check for ``N`` or ``N-M``, two numbers from 1 to 10 in order."""
    match = re.fullmatch("([0-9]{1,2})(?:-([0-9]{1,2}))?", str(value))
    start = 0
    end = 0
    if match:
        start = int(match[1])
        end = int(match[2] or match[1])
    if not 1 <= start <= end <= 10:
        raise ValueError("a number from 1 to 10, or a range such as 3-5")
    return str(start) if start == end else f"{start}-{end}"


UNSPACED_LANGUAGES = ("chinese", "japanese", "korean", "thai")
"""Languages without stop list and stemmer.

Korean has spaces, but most of its words are joined to particles.
"""

LANGUAGE_CODES = {
    "ar": "arabic",
    "ca": "catalan",
    "cs": "czech",
    "da": "danish",
    "nl": "dutch",
    "en": "english",
    "fi": "finnish",
    "fr": "french",
    "de": "german",
    "el": "greek",
    "hi": "hindi",
    "hu": "hungarian",
    "id": "indonesian",
    "it": "italian",
    "nb": "norwegian",
    "nn": "norwegian",
    "no": "norwegian",
    "fa": "persian",
    "pl": "polish",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "es": "spanish",
    "sv": "swedish",
    "tr": "turkish",
    "zh": "chinese",
    "ja": "japanese",
    "ko": "korean",
    "th": "thai",
}
"""Languages by their ISO 639-1 codes."""

LANGUAGES = tuple(sorted({*LANGUAGE_CODES.values()}.difference(UNSPACED_LANGUAGES)))
"""Languages with a stop list and a Snowball stemmer."""


def _check_language_code(value: object) -> str:
    """Check for a language code such as ``de`` or ``pt-BR``, and return the name of the language.

    Raise KeyError for an unknown code.
    """
    code = str(value).replace("_", "-").partition("-")[0]
    return LANGUAGE_CODES[code.lower()]


SNOWBALL_STEMMERS = tuple(
    sorted(
        {
            *LANGUAGES,
            "armenian",
            "basque",
            "esperanto",
            "estonian",
            "irish",
            "lithuanian",
            "nepali",
            "serbian",
            "tamil",
            "yiddish",
        }
    )
)
"""Languages with a Snowball stemmer. Some of them have no stop list."""

NLTK_STEMMERS = {
    "porter": "nltk.stem.porter.PorterStemmer",
    "lancaster": "nltk.stem.lancaster.LancasterStemmer",
    "isri": "nltk.stem.isri.ISRIStemmer",
    "arlstem": "nltk.stem.arlstem.ARLSTem",
    "arlstem2": "nltk.stem.arlstem2.ARLSTem2",
    "cistem": "nltk.stem.cistem.Cistem",
}
"""Stemmer classes of nltk that need no data: two for English, three for Arabic, one for German."""


class Format(NamedTuple):
    """The layout of a corpus: its reader and its properties."""

    description: str
    """Text for the help of ``--format``."""
    reader: str
    """Module and function of `nbtext.corpus`.

    The function takes a path and a `Source`. It returns documents, or files with one document each.
    """
    suffixes: tuple[str, ...] = ()
    """Suffixes of files for which ``auto`` chooses this format."""
    first_bytes: bytes = b""
    """First bytes of files for which ``auto`` chooses this format in training."""
    has_columns: bool = False
    """Whether documents can have columns or keys in addition to label, text and id."""
    is_mail: bool = False
    """Whether documents are mail."""
    is_counted: bool = False
    """Whether documents are features that are counted already."""
    is_decoded: bool = False
    """Whether the reader yields documents in UTF-8."""
    has_line_per_document: bool = False
    """Whether files can be cut at any line end, so that several processes can read one file."""
    has_file_per_document: bool = False
    """Whether a path is a directory with a document in each file."""


KINDS_BY_SUFFIX = {
    ".eml": "mail",
    ".emlx": "mail",
    **dict.fromkeys((".html", ".htm", ".xhtml"), "html"),
}
"""The kind of a document by the suffix of its file. With any other suffix, the kind is text."""

KIND_BY_NAME = "by-name"
"""A value of ``--document``: the kind of each document follows from the name of its file."""

FORMATS = {
    "dir": Format(
        "in training, one sub-directory per class",
        "directory.list_files",
        has_file_per_document=True,
    ),
    "csv": Format("cells may be in quotes", "table.read_table", (".csv",), has_columns=True),
    "tsv": Format(
        "quotes have no special meaning",
        "table.read_table",
        (".tsv", ".tab"),
        has_columns=True,
        has_line_per_document=True,
    ),
    "jsonl": Format(
        "one JSON object per line, or an array",
        "lines.read_jsonl",
        (".jsonl", ".ndjson"),
        has_columns=True,
        is_decoded=True,
        has_line_per_document=True,
    ),
    "lines": Format(
        "one document per line, the class is the name of the file",
        "lines.read_lines",
        has_line_per_document=True,
    ),
    "fasttext": Format(
        "__label__x text", "lines.read_fasttext", (".ft",), b"__label__", has_line_per_document=True
    ),
    "svmlight": Format(
        "a label and index:count pairs",
        "lines.read_svmlight",
        (".svm", ".svmlight"),
        is_counted=True,
        has_line_per_document=True,
    ),
    "mbox": Format(
        "the class is the name of the file or folder",
        "mailboxes.read_mbox",
        (".mbox",),
        b"From ",
        is_mail=True,
    ),
    "maildir": Format(
        "the class is the name of the file or folder",
        "mailboxes.list_maildir_files",
        is_mail=True,
        has_file_per_document=True,
    ),
}
"""The formats of a corpus by name. Other code depends on their properties, not on the names."""

# Neighbours with the same description share it, such as "mbox and maildir: …".
_FORMAT_DESCRIPTIONS = "; ".join(
    f"{' and '.join(names)}: {description}"
    for description, names in groupby(FORMATS, lambda name: FORMATS[name].description)
)


CriterionName = Literal["mutual-information", "presence", "chi2", "log-odds"]
"""The criterion of ``--top``."""

CRITERIA = {
    "mutual-information": "mutual_information",
    "presence": "presence_information",
    "chi2": "chi2",
    "log-odds": "log_odds_of_terms",
}
"""The function of `nbtext.selection` for each criterion."""

TUNING_METRICS = {
    "accuracy": "accuracy",
    "macro-f1": "macro_f1",
    "micro-f1": "micro_f1",
    "log-loss": "log_loss",
}
"""The metrics of ``tune --metric``, with their names in `nbtext.metrics.outcomes.METRICS`."""

ClassifierName = Literal[
    "multinomial", "bernoulli", "complement", "gaussian", "logistic", "average"
]

CLASSIFIERS: dict[ClassifierName, str] = {
    "multinomial": "MultinomialNaiveBayes",
    "bernoulli": "BernoulliNaiveBayes",
    "complement": "ComplementNaiveBayes",
    "gaussian": "GaussianDiscriminantAnalysis",
    "logistic": "LogisticRegression",
    "average": "EnsembleClassifier",
}
"""The class of each classifier, in the module `nbtext/classifiers/NAME.py`."""

Weighting = Literal["counts", "binary", "log", "tfidf"]
WEIGHTINGS = get_args(Weighting)

AVERAGE: ClassifierName = "average"
"""The classifier that combines other classifiers."""

EncodedLines = Literal["drop", "keep"]

MIN_ENCODED_CHARS = 45
"""Minimum length of a line by which encoded data is recognised."""

Unspaced = Literal["auto", "pairs", "words"]
PriorShape = Literal["symmetric", "background"]
Estimate = Literal["mean", "map", "ml"]
Covariance = Literal["shared", "separate"]
CovarianceShape = Literal["full", "diagonal", "spherical", "spherical-unscaled"]
ClassWeight = Literal["balanced"]
CalibrationName = Literal["auto", "none"]
OnError = Literal["record", "skip", "fail"]

EVIDENCE_PREFIX = "evidence:"
"""Prefix of the members of an average if their weights are their evidence."""

_MEMBER = (
    rf"({'|'.join(name for name in CLASSIFIERS if name != AVERAGE)})"
    rf"(?::({'|'.join(WEIGHTINGS)}))?"
    r"(?::([0-9.][0-9.e-]*))?"
    r"(?:\*([0-9.][0-9.e-]*))?"
)
"""Pattern of a member of an average: classifier, weighting, pseudo-count and prior weight."""


def check_members(value: object) -> str:
    """Check for two or more different members of an average, with + between them.

    A member is a classifier, optionally followed by a colon and a weighting, and by a colon and a
    pseudo-count. After the prefix ``evidence:``, an asterisk and a prior weight may follow. The
    result has canonical names and numbers, and omits the weighting counts and prior weights of 1.
    """
    text = ""
    if isinstance(value, str):
        # Remove white space, the default weighting, and the + of an exponent.
        text = re.sub(r"\s|:counts|(?<=[0-9]e)\+", "", value.lower()).replace(",", "+")
    for alias, name in VALUE_ALIASES["classifier"].items():
        text = text.replace(alias, name)
    try:
        text = re.sub(r"(?<=:)[0-9.][^:+*]*", _format_pseudo_count, text)
        text = re.sub(r"\*([^:+*]*)", _format_prior_weight, text)
    except ValueError:
        raise ValueError(
            "models with a pseudo-count that is 0 or from 1e-12 to 1e12, such as multinomial:0.1, "
            "and after evidence: with a prior weight in this range, such as multinomial:0.1*3"
        ) from None
    members = text.removeprefix(EVIDENCE_PREFIX).split("+")
    names = {member.partition("*")[0] for member in members}
    is_repeated = len(names) < len(members)
    if "*" in text and not text.startswith(EVIDENCE_PREFIX):
        raise ValueError(
            "models without prior weights, which only weights by evidence use, as in "
            "evidence:multinomial:0.1*3+multinomial:1"
        )
    is_valid = all(re.fullmatch(_MEMBER, member) for member in members)
    if len(members) < 2 or is_repeated or not is_valid:
        raise ValueError(
            "two or more different classifiers with + between them, such as "
            "multinomial:log+logistic"
        )
    return text


def _format_pseudo_count(match: re.Match[str]) -> str:
    """Return the canonical text of a matched pseudo-count. Raise ValueError if it is invalid."""
    return str(check_pseudo_counts(match[0])).removesuffix(".0")


def _format_prior_weight(match: re.Match[str]) -> str:
    """Return the canonical text of a matched prior weight, which is empty for 1.

    Raise `ValueError` if the weight is invalid.
    """
    check = make_number_check(float, MIN_PSEUDO_COUNT, MAX_PSEUDO_COUNT)
    weight = str(check(match[1])).removesuffix(".0")
    return "" if weight == "1" else f"*{weight}"


OPTION_GROUPS = (
    "documents",
    "words",
    "model",
    "prediction",
    "evaluation",
    "output",
    "process",
)
"""The panels of a command's help, in order."""


@dataclass(frozen=True)
class Parameter:
    """One setting: its name, default, check and help.

    The docstring of the module describes what ``check`` returns, and the errors that it raises.
    """

    name: str
    default: object
    metavar: str
    """The placeholder of the value in the help. It is empty for a switch."""
    check: Check
    meaning: str
    """The help text. ``--help`` shows only its first sentence."""
    only_for: str | None = None
    """The only classifier that uses the parameter, or None if all use it."""
    group: str = "documents"
    """The panel of the help, one of `OPTION_GROUPS`."""
    common: bool = False
    """Whether ``--help`` shows the option. ``--help-all`` shows all options."""
    is_rare: bool = False
    """Whether users set it by ``--set NAME=VALUE``, because few need it. The option is hidden."""
    affects: str = ""
    """The first stage of training that depends on the parameter.

    ``terms``: how a text becomes terms. ``counts``: what is counted in addition to terms. Empty:
    what is computed from the counts.
    """

    @property
    def key(self) -> str:
        """The name on the command line."""
        return self.name.replace("_", "-")

    @property
    def option(self) -> str:
        """The option on the command line. It is hidden if the parameter is rare."""
        return f"--{self.key}"

    @property
    def old_options(self) -> list[str]:
        """Old names of `option`, which still work but are not shown."""
        return [f"--{old}" for old, name in RENAMED_PARAMETERS.items() if name == self.name]

    @property
    def display_name(self) -> str:
        """The name in help and messages: ``--ngrams``, or ``--set l2`` if it is rare."""
        return f"--set {self.key}" if self.is_rare else self.option

    def to_arguments(self, value: object) -> list[str]:
        """Return the command-line arguments that set this value.

        >>> PARAMETERS_BY_NAME["ngrams"].to_arguments(2)
        ['--ngrams', '2']
        >>> PARAMETERS_BY_NAME["l2"].to_arguments(0.1)
        ['--set', 'l2=0.1']
        >>> PARAMETERS_BY_NAME["surface_forms"].to_arguments(True)
        ['--set', 'surface-forms=true']
        """
        if self.is_rare:
            return ["--set", f"{self.key}={self.format_value(value)}"]
        if self.metavar:
            return [self.option, self.format_value(value)]
        return [self.option if value else f"--no-{self.key}"]

    @staticmethod
    def format_value(value: object) -> str:
        """Return the text of a value on the command line."""
        return str(value).lower() if isinstance(value, bool) else str(value)

    @property
    def value_hint(self) -> str:
        """The placeholder of the value in the help of ``--set``."""
        return self.metavar or "true|false"

    @property
    def choices(self) -> tuple[str, ...]:
        """The names that the parameter accepts, if any."""
        return self.check.choices if isinstance(self.check, _OneOf) else ()

    def validate(self, value: object) -> object:
        """Return the canonical value. Raise `UsageError` for an invalid value.

        None is valid if it is the default. If the value is already canonical, the result is the
        same object, which scikit-learn's ``clone`` requires.
        """
        if value is None and self.default is None:
            return None
        try:
            canonical = self.check(value)
        except (TypeError, ValueError) as problem:
            raise self._make_invalid_value_error(value, problem) from None
        is_canonical = repr(canonical) == repr(value)  # as numbers, 1 and True would be equal
        return value if is_canonical else canonical

    def _make_invalid_value_error(self, value: object, problem: Exception) -> UsageError:
        """Return the error for a value that the check rejected."""
        removed_values = REMOVED_VALUES.get(self.name, {})
        if isinstance(value, str) and value in removed_values:
            return UsageError(
                f"{self.display_name} does not take {value}", hint=removed_values[value]
            )
        suggestion = did_you_mean(str(value), self.choices)
        return UsageError(f"{self.display_name} must be {problem}, not {value!r}{suggestion}")


def declare(
    default: object,
    metavar: str,
    check: Any,  # noqa: ANN401 - a check, or a type of literals
    meaning: str,
    **attributes: object,
) -> Any:  # noqa: ANN401 - of the type of the field
    """Declare a field of `Reading` or `Settings` as the `Parameter` of the field's name.

    ``check`` may be a type of literals, which are the accepted values. The attributes are further
    fields of `Parameter`. Without ``group``, the parameter has the ``GROUP`` of its class.
    """
    literals = get_args(check)
    if literals:
        check = _OneOf(*literals)
    parameter = {"metavar": metavar, "check": check, "meaning": meaning, **attributes}
    return field(default=default, metadata={"parameter": parameter})


_check_positive = make_number_check(int, 1, 2**31, "a whole number from 1")

_declare_analysis = partial(declare, group="words", affects="terms")
_declare_gaussian = partial(declare, only_for="gaussian", is_rare=True)
_declare_column = partial(declare, None, "COLUMN", check_column)
_declare_columns = partial(declare, None, "COLUMNS", check_columns)
_declare_number_columns = partial(declare, None, "COLUMNS", check_number_columns)


def _iterate_file_values(values: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    """Yield names and values of the settings in a model file, and each classifier of an average."""
    yield from values.items()
    if values.get("classifier") == AVERAGE:
        members = str(values.get("members")).removeprefix(EVIDENCE_PREFIX)
        for member in members.split("+"):
            yield "classifier", re.split("[:*]", member)[0]


class SettingsBase:
    """Frozen settings whose fields are parameters. The constructor makes the values canonical.

    ``dict(settings)`` returns the values of the parameters by name.
    """

    GROUP = "documents"
    """The panel of parameters without a group of their own."""

    @classmethod
    @cache
    def parameters(cls) -> tuple[Parameter, ...]:
        """Return the parameters in the order of the fields."""
        parameters = []
        for declared_field in fields(cls):  # type: ignore[arg-type] # each subclass is a dataclass
            if "parameter" in declared_field.metadata:
                attributes = {"group": cls.GROUP, **declared_field.metadata["parameter"]}
                parameter = Parameter(declared_field.name, declared_field.default, **attributes)
                parameters.append(parameter)
        return tuple(parameters)

    @classmethod
    def from_values(cls, values: Mapping[str, object]) -> Self:
        """Return settings with these values, and defaults for other parameters.

        The names may be old names. Raise `UsageError` for an invalid value or an unknown name.
        """
        names = [parameter.name for parameter in cls.parameters()]
        values = replace_old_names(values)
        for name in values:
            if name not in names:
                raise UsageError(
                    f"unknown parameter {name!r}", hint=f"choose from {', '.join(sorted(names))}"
                )
        return cls(**values)

    @classmethod
    def from_model_file(cls, values: Mapping[str, object]) -> Self:
        """Return the settings in a model file, which may lack newer parameters.

        Raise `ModelError` for a removed value, and `UsageError` for an invalid value or an unknown
        name.
        """
        values = replace_old_names(values)
        for name, value in _iterate_file_values(values):
            if isinstance(value, str) and value in REMOVED_VALUES.get(name, {}):
                option = "--" + name.replace("_", "-")
                raise ModelError(
                    f"made with {option} {value}, which nbtext no longer has", hint="train again"
                )
        return cls.from_values(
            {name: value for name, value in values.items() if name not in REMOVED_OPTIONS}
        )

    def __post_init__(self) -> None:
        for parameter in self.parameters():
            value = self[parameter.name]
            if value is not parameter.default:  # most values are defaults, which are valid
                # A frozen dataclass rejects ``setattr``.
                object.__setattr__(self, parameter.name, parameter.validate(value))

    def keys(self) -> Iterator[str]:
        """Return the names of the parameters in order."""
        return (parameter.name for parameter in self.parameters())

    def __getitem__(self, name: str) -> Any:  # noqa: ANN401 - each parameter has a type of its own
        """Return the value of the parameter of this name."""
        return getattr(self, name)

    def __repr__(self) -> str:
        """Return the values that differ from the defaults."""
        texts = []
        for own_field in fields(self):  # type: ignore[arg-type] # each subclass is a dataclass
            value = self[own_field.name]
            if value != own_field.default:
                texts.append(f"{own_field.name}={value!r}")
        return f"{type(self).__name__}({', '.join(texts)})"


@dataclass(frozen=True, kw_only=True)
class Reading(SettingsBase):
    """How documents are read. A model stores how its training documents were read."""

    format: str = declare(
        "auto",
        "NAME",
        _OneOf("auto", *FORMATS),
        f"Layout of the corpus: {', '.join(FORMATS)}. auto: detect it by the names of files "
        f"and directories, in training also by the first lines of files. {_FORMAT_DESCRIPTIONS}.",
        common=True,
    )
    document: str = declare(
        "auto",
        "KIND",
        _OneOf("auto", "text", "html", "mail", KIND_BY_NAME),
        f"Kind of each document: auto, text, html, mail or {KIND_BY_NAME}. auto, with --format "
        f"dir: if the names of all files show the same kind, this kind, else {KIND_BY_NAME}; with "
        f"--file-column: {KIND_BY_NAME}; with other formats: text. html: count the text that a "
        f"browser shows; mail: count the chosen headers and the text parts; {KIND_BY_NAME}: mail "
        "for files .eml and .emlx, html for .html, .htm and .xhtml, text for other files. mbox "
        "and maildir always contain mail.",
    )
    headers: str = declare(
        "auto",
        "auto|NAMES",
        check_names,
        "Headers of a mail to count: auto, or names separated by commas. auto: the subject as "
        "text, and all headers as fields (terms such as from:ann), except headers with the "
        "class (such as X-Spam-Status), the mailing list, the recipient, dates or ids. Names: "
        "these headers as text.",
    )
    structure: bool | None = declare(
        None,
        "",
        _check_flag,
        "Count the structure of a mail: its parts, HTML tags, colours and links. On by default "
        "with --headers auto.",
        is_rare=True,
    )
    drop_quotes: bool = declare(
        False, "", _check_flag, "Ignore quotes from the mail that is answered.", is_rare=True
    )
    drop_signatures: bool = declare(
        False,
        "",
        _check_flag,
        'Ignore the signature of a mail: everything after the last line "--".',
        is_rare=True,
    )
    label_column: str | None = declare(
        None,
        "COLUMNS",
        check_text_columns,
        "Column of the class: a name, or a number from 1. A name means that the table has a header "
        "row. In jsonl this is a key, by default label; in mail a mail header such as "
        "X-Gmail-Labels, which has several labels. By default the column is detected from the "
        "header row or the values, else it is column 1. Several names, separated by commas: a "
        "column per label, with the name of the label; a cell is 1 if the document has the label.",
        common=True,
    )
    label_pattern: str | None = declare(
        None,
        "REGEX",
        _check_group,
        "The class is part of the name of the file: the first match of the group in this regular "
        "expression, such as '([a-z]+)_' in spam_17.txt. Folders are then not classes.",
    )
    label_separator: str | None = declare(
        None,
        "TEXT|list",
        check_text,
        "Documents have several labels, separated by TEXT, as in grain;wheat. An empty cell "
        "means no labels. White space around labels is dropped. list: each cell is a list in "
        "brackets, as JSON and Python write it.",
    )
    text_column: str | None = declare(
        None,
        "COLUMNS",
        check_text_columns,
        "Columns of the text: names, or numbers from 1. Several columns are joined. In jsonl "
        "these are keys, by default the key text; a.b is the key b inside a. By default a table's "
        "column is detected like the column of the class, else it is column 2. none: documents "
        "have no text.",
        common=True,
    )
    records: str | None = declare(
        None,
        "KEY",
        check_text,
        "In a JSON file, the key of the array whose objects are the documents, such as intents; "
        "a.b is the key b inside a.",
        is_rare=True,
    )
    file_column: str | None = _declare_column(
        "Column of paths of files, relative to the folder of the table. Each file is a document. "
        "In jsonl this is a key.",
    )
    tag_fields: str | None = declare(
        None,
        "NAMES",
        check_columns,
        "Headers or columns to count as fields, separated by commas. A word in a field is a term "
        "of its own, such as subject:offer. In jsonl these are keys.",
        is_rare=True,
    )
    id_column: str | None = _declare_column(
        "Column of the document's id: a name, number or key. By default the id is the file and the "
        "line."
    )
    categorical: str | None = _declare_columns(
        "Columns of categories, separated by commas. Categories are combined with the text as "
        "independent features. NAME=N: the column has N possible values, even if fewer occur in "
        "training, as in weekday=7. With --categorical, --count or --numeric, text is read only if "
        "--text-column is given.",
    )
    count: str | None = _declare_number_columns(
        "Columns of whole numbers from 0, or ranges of columns, combined with the text like "
        "--categorical."
    )
    numeric: str | None = _declare_number_columns(
        "Columns of real numbers, or ranges of columns such as e0-e383, combined with the text "
        "like --categorical. An empty cell is an unknown value."
    )
    weight_column: str | None = _declare_column(
        "Column of each document's weight in training. A weight is a number from 0 with at most "
        "three decimals: a document of weight 2 counts twice, a document of weight 0 not at all. "
        "none (the default of train): each document counts once. evaluate ignores weights.",
    )
    header: bool | None = declare(
        None,
        "",
        _check_flag,
        "Read the first row of a table as its header, or as a document. By default the row is a "
        "header if a column is given by name, or if no column is given and the row looks like a "
        "header. If columns are given by number and the row looks like a header, --header or "
        "--no-header is required.",
    )
    delimiter: str | None = declare(
        None,
        "CHARACTER",
        check_character,
        "Character between columns. By default a tab for tsv; for csv a comma, semicolon, tab or "
        "bar, whichever the first rows show.",
    )
    encoding: str = declare(
        "auto",
        "NAME",
        _check_codec,
        "Encoding of the documents, such as utf-8 or latin-1. auto: use the byte order mark if "
        "there is one, else UTF-8, else Windows-1252. In mail, NAME applies to parts that declare "
        "no encoding.",
    )
    max_document_size: str = declare(
        "64M",
        "SIZE",
        check_size,
        "Report documents larger than SIZE instead of reading them. SIZE is a number of bytes, "
        "or a number with K, M or G. The limit applies to files, rows, lines and messages.",
        is_rare=True,
    )
    max_unpacked_size: str = declare(
        "4G",
        "SIZE",
        check_size,
        "Fail if a compressed file of many documents unpacks to more than SIZE. Compression is "
        "gzip, xz, bzip2 or zstd.",
        is_rare=True,
    )

    @property
    def unweighted(self) -> Reading:
        """The settings to read the same documents without their weights, as for an evaluation."""
        if self.weight_column is None:
            return self
        header = self.header
        is_name = self.weight_column != "none" and not self.weight_column.isdigit()
        if header is None and is_name:
            header = True  # the name, which is removed here, means that there is a header line
        return replace(self, weight_column=None, header=header)

    @property
    def label_header(self) -> str:
        """The header of mail that has the labels, in lower case, or an empty text without one."""
        if self.document != "mail" or self.has_columns:
            return ""
        return (self.label_column or "").lower()

    @property
    def label_source(self) -> str:
        """The header of mail, or else the pattern of file names, that determines the label.

        It is empty if the path or a column determines the label.
        """
        if self.label_header:
            return self.label_header
        if self.has_columns:
            return ""
        return self.label_pattern or ""

    @property
    def layout(self) -> Format:
        """The properties of the format. All are False while the format is ``auto``."""
        return FORMATS.get(self.format, Format(description="", reader=""))

    @property
    def has_columns(self) -> bool:
        """Whether documents can have columns or keys."""
        return self.layout.has_columns

    @property
    def has_whole_files(self) -> bool:
        """Whether each document is a whole file, in a folder or named in a table."""
        if self.layout.has_file_per_document:
            return True
        return self.has_columns and self.file_column is not None

    @property
    def is_counted(self) -> bool:
        """Whether documents are features that are counted already, not texts."""
        return self.layout.is_counted


READING = Reading.parameters()

MAIL_PARAMETERS = ("headers", "structure", "drop_quotes", "drop_signatures")
"""The names of parameters of reading that determine the text of a mail."""

TIME_LIMIT = Parameter(
    "time_limit",
    None,
    "TIME",
    check_seconds,
    "Write the best model found within TIME, such as 60s, 5m or 1h; none: no limit. The default is "
    "60s without --try, and none with --try.",
    group="model",
    common=True,
)

SEARCH = (TIME_LIMIT,)
"""Limits of a search for settings. They are not stored in a model."""

WHERE = Parameter(
    "where",
    None,
    "COLUMN=VALUE",
    check_condition,
    "Read only rows with VALUE in COLUMN, such as split=train. COLUMN!=VALUE reads only rows with "
    "another value. In jsonl COLUMN is a key, in mail a header: from=ann@example.org reads only "
    "mail with this address in From.",
)

ON_ERROR = Parameter(
    "on_error",
    "record",
    "WHAT",
    _OneOf(*get_args(OnError)),
    "What to do with an unreadable document: record, skip or fail. The document is reported, and "
    "the exit status is 1, except with --allow-unreadable. skip and record: continue; record "
    "also prints the reason in the output of classify and explain. fail: stop, without writing a "
    "file or metrics.",
)

ALLOW_UNREADABLE = Parameter(
    "allow_unreadable",
    None,
    "N|P%",
    check_allowance,
    "Exit with status 0 if at most N documents, or P% of all documents, are unreadable. If more "
    "are unreadable, exit with status 1, without writing a file or metrics.",
)

FILES_FROM = Parameter(
    "files_from",
    None,
    "FILE",
    check_text,
    "Read more CORPUS paths from FILE, one per line. --files-from - reads standard input; a line - "
    'in FILE is a file with the name "-". Commands that need classes, such as train, expect a '
    "corpus on each line, not a single document.",
)

NULL = Parameter(
    "null",
    False,
    "",
    _check_flag,
    "Paths in --files-from end with NUL, as find -print0 writes them.",
)

INPUT = (FILES_FROM, NULL, WHERE, ON_ERROR, ALLOW_UNREADABLE)
"""Parameters of sources of documents and of unreadable documents. Models do not store them."""


@dataclass(frozen=True, kw_only=True)
class Settings(SettingsBase):
    """How a model is trained, and how its documents are read. A model stores its settings."""

    GROUP = "model"

    classifier: ClassifierName = declare(
        "multinomial",
        "NAME",
        _OneOf(*CLASSIFIERS, aliases=VALUE_ALIASES["classifier"]),
        f"Kind of model: {', '.join(CLASSIFIERS)}. multinomial: naive Bayes on counts; bernoulli: "
        "naive Bayes on the presence of terms; complement: naive Bayes on the counts of all other "
        "classes; gaussian: linear discriminant analysis after a singular value decomposition "
        "(not Gaussian naive Bayes); logistic: logistic regression, slower and often more "
        "accurate; average: the weighted mean of the probabilities of --set members.",
        common=True,
    )
    language: str = _declare_analysis(
        "english",
        "NAME",
        _OneOf(
            *LANGUAGES,
            *UNSPACED_LANGUAGES,
            otherwise=_check_language_code,
            expected="a code such as de",
        ),
        "Language of the documents, for stop words and stemmer. NAME is a code such as de or "
        f"pt-BR, or one of {', '.join(LANGUAGES)}, or {', '.join(UNSPACED_LANGUAGES)}. The last "
        f"{len(UNSPACED_LANGUAGES)} have no stop words and no stemmer.",
        common=True,
    )
    stop_words: str | tuple[str, ...] = _declare_analysis(
        "auto",
        "NAME|FILE",
        _check_stop_words,
        "Words to ignore: auto, default, a language, none, or a file of words. auto: the list of "
        "--language or no list, whichever predicts held-out documents better. Without a clear "
        "difference, use the list from 50 held-out documents, and no list below. With fewer than "
        "10, or with --ngrams 2 or more, use the list. default: always the list of --language.",
        common=True,
    )
    stemmer: str = _declare_analysis(
        "snowball",
        "NAME",
        _OneOf("snowball", "none", *SNOWBALL_STEMMERS, *NLTK_STEMMERS),
        "Reduce words to their stems: snowball, none, a language, or an nltk stemmer. snowball: "
        "the Snowball stemmer of --language. A language: its Snowball stemmer. The nltk stemmers "
        f"are {', '.join(NLTK_STEMMERS)}.",
        common=True,
    )
    encoded_lines: EncodedLines = _declare_analysis(
        "drop",
        "WHAT",
        EncodedLines,
        "Drop or keep lines of encoded data: uuencode, base64, yEnc, PGP and hexadecimal digits.",
        is_rare=True,
    )
    unspaced: Unspaced = _declare_analysis(
        "auto",
        "WHAT",
        Unspaced,
        "In scripts without spaces, count pairs of characters, or words: auto, pairs or words. "
        "The scripts are Chinese, Japanese, Thai, Lao, Khmer and Burmese. words: the text between "
        "spaces and punctuation. auto: pairs, unless held-out documents are predicted clearly "
        "better with words, or with both; with --ngrams, --set char-ngrams, --set "
        "surface-forms=true or --seeds always pairs.",
        is_rare=True,
    )
    surface_forms: bool = declare(
        False,
        "",
        _check_flag,
        "Also store the full words behind each stem. select-features, generate and inspect --term "
        "show them. Predictions stay the same; training takes longer, and the model is larger.",
        group="words",
        affects="counts",
        is_rare=True,
    )
    ngrams: int = _declare_analysis(
        1,
        "N",
        make_number_check(int, 1, 10, "a whole number from 1 to 10"),
        "Also count sequences of up to N adjacent words.",
        common=True,
    )
    char_ngrams: str | None = _declare_analysis(
        None,
        "N|N-M",
        check_span,
        "Also count sequences of N to M characters in each word. Stop words are skipped, and "
        "words are not stemmed first. The beginning and the end of a word count as a character "
        "each.",
        is_rare=True,
    )
    min_df: int = declare(
        1, "N", _check_positive, "Ignore terms that occur in fewer than N documents.", group="words"
    )
    max_df: float = declare(
        1.0,
        "SHARE",
        make_number_check(float, 0, 1, "a proportion from 0 to 1"),
        "Ignore terms that occur in more than this SHARE of the documents.",
        group="words",
    )
    top: int | None = declare(
        None, "N", _check_positive, "Use only the N most informative terms.", common=True
    )
    criterion: CriterionName = declare(
        "mutual-information",
        "CRITERION",
        _OneOf(*CRITERIA),
        f"How --top measures information: {', '.join(CRITERIA)}. mutual-information: of the "
        "class and each token; presence: of the class and whether a document has the term.",
    )
    weighting: Weighting = declare(
        "counts",
        "NAME",
        Weighting,
        "Weight of a term in a document: counts, binary, log or tfidf. counts: n, the number of "
        "occurrences; binary: 1; log: log(1 + n); tfidf: log(1 + n) times log(D / d) if d of D "
        "documents contain the term, with each document scaled to unit length.",
    )
    smoothing: Smoothing = declare(
        "auto",
        "KIND|A|A,B|FILE",
        _OneOf(
            "auto",
            "evidence",
            "leave-one-out",
            otherwise=check_pseudo_counts,
            expected="0, a number from 1e-12 to 1e12, or such numbers by term with one for '*', "
            "all others",
            aliases=VALUE_ALIASES["smoothing"],
        ),
        "Pseudo-count added to each count. laplace: 1. jeffreys or krichevsky-trofimov: 0.5. "
        "auto: as evidence, unless another pseudo-count predicts held-out documents clearly "
        "better. evidence: the number up to 1 with the greatest marginal likelihood of the term "
        "counts. leave-one-out: the number up to 1 with the greatest leave-one-out "
        "likelihood of a sample (up to 4,096) of the training documents. A,B (only "
        "bernoulli): A is added to the number of documents with the term, B to the number without. "
        "FILE: each line is a key, a tab and a number. The key is a term, a value of a column "
        "(color=red), or * for all others.",
        common=True,
    )
    prior_shape: PriorShape = declare(
        "symmetric",
        "SHAPE",
        PriorShape,
        "Shape of the Dirichlet prior: symmetric or background. symmetric: the same pseudo-count "
        "for all terms; background: pseudo-counts in proportion to the whole corpus, with the sum "
        "--smoothing.",
        is_rare=True,
    )
    estimate: Estimate = declare(
        "mean",
        "NAME",
        _OneOf(*get_args(Estimate), aliases=VALUE_ALIASES["estimate"]),
        "Estimate of term probabilities: mean, map or ml. mean: mean of the posterior; map: mode "
        "of the posterior; ml or mle: maximum likelihood.",
        is_rare=True,
    )
    members: str = declare(
        "multinomial:log+logistic",
        "A+B",
        check_members,
        "For average: the models to combine, joined by +. Each may have a weighting and a "
        "pseudo-count: multinomial:log:0.1. The prefix evidence: weights models of the same counts "
        "by p(m | data), as in evidence:multinomial:0.1+multinomial:1; a prior weight follows an "
        "asterisk, as in evidence:multinomial:0.1*3+multinomial:1.",
        only_for=AVERAGE,
        is_rare=True,
    )
    l2: str | float = declare(
        "auto",
        "auto|A",
        _OneOf(
            "auto", otherwise=make_number_check(float, 1e-6, 1e9), expected="a number from 1e-6"
        ),
        "For logistic: strength of the penalty on weights. A/2 times the sum of squared weights is "
        "added to the negative log-likelihood (other programs have C = 1/A). auto: the A that "
        "makes held-out documents (one in five) most probable after calibration.",
        only_for="logistic",
        is_rare=True,
    )
    latent: int = _declare_gaussian(
        100,
        "N",
        make_number_check(int, 1, 10000, "a whole number from 1 to 10,000"),
        "For gaussian: number of latent features of a document. The features come from a singular "
        "value decomposition of tf-idf, which may have fewer.",
    )
    covariance: Covariance = _declare_gaussian(
        "shared",
        "NAME",
        Covariance,
        "For gaussian: shared or separate covariance of the classes. shared: boundaries are "
        "linear; separate: they are quadratic.",
    )
    covariance_shape: CovarianceShape = _declare_gaussian(
        "full",
        "SHAPE",
        CovarianceShape,
        "For gaussian: full, diagonal, spherical or spherical-unscaled covariance. diagonal: "
        "features are independent in a class (Gaussian naive Bayes with --set "
        "covariance=separate); spherical: they also have the same variance, each number in units "
        "of its standard deviation; spherical-unscaled: numbers in their own units.",
    )
    shrinkage: str | float = _declare_gaussian(
        "auto",
        "auto|W",
        _OneOf("auto", otherwise=make_number_check(float, 0, 1), expected="a number from 0 to 1"),
        "For gaussian: weight from 0 to 1 of a simpler covariance. It makes the covariance "
        "invertible if there are few documents: a shared covariance shrinks towards a sphere, "
        "separate covariances towards the shared covariance. auto: by the variance and number of "
        "documents; 0: maximum likelihood.",
    )
    class_prior: ClassPrior = declare(
        "empirical",
        "KIND|FILE",
        _OneOf(
            "empirical",
            "uniform",
            otherwise=check_class_prior,
            expected="smoothed:A or a number of at least 0 for each class",
        ),
        "Prior probabilities of the classes: empirical, uniform, smoothed:A, or a file. "
        "empirical: the class proportions of training; uniform: equal; smoothed:A: the class "
        "proportions after adding A to the number of documents of each class. FILE: each line is a "
        "class, a tab and a weight.",
    )
    class_weight: ClassWeight | Mapping[str, float] | None = declare(
        None,
        "NAME",
        _OneOf(
            *get_args(ClassWeight),
            otherwise=partial(_check_label_numbers, minimum=1e-3, maximum=1e6),
            expected="a number from 0.001 by label",
        ),
        "balanced: give all classes the same weight in training. With D documents in K classes, "
        "D_k of them in class k, each document of class k has weight D/(K·D_k). The predicted "
        "probabilities are then valid if all classes are equally frequent.",
    )
    calibration: CalibrationName = declare(
        "auto",
        "NAME",
        _OneOf(*get_args(CalibrationName), aliases=VALUE_ALIASES["calibration"]),
        "How scores become probabilities: auto or none. auto: scores are divided by a temperature "
        "that grows with the length of the document, and is fitted to predictions of "
        "held-out training documents. "
        "none: scores are not divided. With --set estimate=ml (maximum likelihood), auto means "
        "none.",
        group="prediction",
    )
    keep_documents: int = declare(
        4096,
        "N",
        make_number_check(int, 0, 1 << 20, "a whole number from 0 to 1,048,576"),
        "Keep N training documents in the model, as term counts. Calibration is fitted to them. 0: "
        "keep none.",
        group="prediction",
        affects="counts",
        is_rare=True,
    )

    reading: Reading = Reading(document="text")

    @property
    def member_settings(self) -> tuple[Settings, ...]:
        """The settings of each member of an average. For another classifier, its own settings."""
        if self.classifier != AVERAGE:
            return (self,)
        return tuple(map(self._get_member, self.member_names))

    @property
    def classifier_names(self) -> set[str]:
        """The classifier and, for an average, the classifiers of its members."""
        return {self.classifier, *(member.classifier for member in self.member_settings)}

    def _get_member(self, name: str) -> Settings:
        """Return the settings of a member, such as ``multinomial:log:0.1``."""
        match: Any = re.fullmatch(_MEMBER, name)  # `check_members` guarantees a match
        classifier, weighting, pseudo_count, _prior_weight = match.groups()
        return replace(
            self,
            classifier=classifier,
            weighting=weighting or "counts",
            smoothing=float(pseudo_count) if pseudo_count else self.smoothing,
        )

    @property
    def member_names(self) -> list[str]:
        """The members of an average, as in ``--set members``."""
        return self.members.removeprefix(EVIDENCE_PREFIX).split("+")

    @property
    def member_priors(self) -> list[float]:
        """The prior probability p(m) of each member of an average by evidence."""
        weights = [float(name.partition("*")[2] or 1) for name in self.member_names]
        total = sum(weights)
        return [weight / total for weight in weights]

    @property
    def is_mixture(self) -> bool:
        """Whether the members of an average are weighed by their evidence."""
        return self.classifier == AVERAGE and self.members.startswith(EVIDENCE_PREFIX)

    @property
    def needs_log_sums(self) -> bool:
        """Whether sums of log(1 + n) are counted: the model, or a member, has the weighting log."""
        return any(member.weighting == "log" for member in self.member_settings)

    @property
    def absence_smoothing(self) -> float | None:
        """The second of two pseudo-counts, for documents without a term, or None."""
        if isinstance(self.smoothing, tuple) and self.estimate != "ml":
            _presence, absence = self.smoothing
            return absence
        return None

    @property
    def counts_stop_words(self) -> bool:
        """Whether stop words are counted, because training decides whether to select them."""
        return self.stop_words == "auto" and self.ngrams == 1 and not self.reading.is_counted

    @property
    def counts_pairs_and_words(self) -> bool:
        """Whether both pairs and words of scripts without spaces are counted.

        They are if training decides which of them to select.
        """
        has_only_words = self.ngrams == 1 and self.char_ngrams is None and not self.surface_forms
        return self.unspaced == "auto" and has_only_words and not self.reading.is_counted


TRAINING = Settings.parameters()

PARAMETERS_BY_NAME = {parameter.name: parameter for parameter in (*INPUT, *READING, *TRAINING)}
"""The parameters of commands that read documents or train."""

ANALYSIS_NAMES = tuple(parameter.name for parameter in TRAINING if parameter.affects == "terms")
"""The names of parameters that affect how a text becomes terms."""

COUNTING_NAMES = (
    *ANALYSIS_NAMES,
    *(parameter.name for parameter in TRAINING if parameter.affects == "counts"),
)
"""The names of parameters that affect the counts."""

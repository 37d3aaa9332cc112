"""Everything that can be set, declared once: name, type, default, range and meaning.

Each field of `Reading` and `Settings` is one parameter. Checks, options, the reference and the settings in a model file follow from the fields.
A check turns a value, or the text of an option, into the canonical value, or raises TypeError, or ValueError with what is wanted.
"""

from __future__ import annotations

import re
from dataclasses import field, fields, replace
from functools import cache, partial
from itertools import groupby, islice
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, NamedTuple, Self, get_args

from nbtext.errors import ModelError, PathError, UsageError, did_you_mean
from nbtext.fast_dataclasses import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    Check = Callable[[object], object]
    ClassPrior = str | Mapping[str, float]

DEFAULT_TERM = "*"
"""Among pseudo-counts by term: all terms that are not named."""

MIN_PSEUDO_COUNT = 1e-12
MAX_PSEUDO_COUNT = 1e12
"""Range of a pseudo-count that is not 0: adding a smaller one to a count would change nothing."""

MODEL_CARD_HINT = (
    "docs/model-card.md fills a model card with the JSON of nbtext inspect and evaluate"
)
"""What to do for a model card, which no command writes any more."""

REMOVED_OPTIONS = {
    "max_terms": "--min-df makes the model smaller; counting needs about 300 bytes for each "
    "different term",
    **dict.fromkeys(("card", "dataset", "evaluation", "license"), MODEL_CARD_HINT),
    "verify": "nbtext doctor checks the installation and loads the model",
    "similarity": "nbtext evaluate CORPUS shows which classes are confused",
    "max_size": "--min-df makes a model smaller; nbtext tune CORPUS --try min-df=1,2,5 shows what "
    "that costs",
    "tries": "--within none tries all known-good settings and can be repeated exactly",
    "sweep": "nbtext tune CORPUS --try smoothing=0.001,0.1,10 compares strengths of the prior on "
    "training documents",
}
"""Options of earlier versions, and what to use. Model files may still have those of training."""

REMOVED_VALUES: dict[str, dict[object, str]] = {
    "classifier": {"dirichlet-multinomial": "it is another name of multinomial now"},
    "calibration": dict.fromkeys(
        ("isotonic", "temperature"),
        "auto fits a temperature that depends on the length of the document",
    ),
    "by": {
        "cross-validation": "leave it out; nbtext tune judges by held-out documents",
        "leave-one-out": "nbtext cross-validate --leave-one-out judges one setting",
        **dict.fromkeys(
            ("evidence", "aic", "bic"), "nbtext inspect --criteria prints it for a model"
        ),
    },
    "format": {"tar": "unpack it first: tar -xf FILE"},
}
"""Values that an option no longer takes, and what to use. A model file that was made with one is refused.

One that is among `VALUE_ALIASES` too is taken again, with another meaning.
"""

VALUE_ALIASES: dict[str, dict[str, str]] = {
    "classifier": {"dirichlet-multinomial": "multinomial"},
    "calibration": {"length": "auto"},
}
"""Further names of values by option, which help and completion leave out, each with the name that models remember."""

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_SECONDS = {"s": 1, "m": 60, "h": 3600}


@dataclass(frozen=True)
class TermSmoothing:
    """Pseudo-counts by term, as `nbtext.model.training.resolve_smoothing_terms` makes them of pseudo-counts by word."""

    default: float
    """That of all terms that are not named."""
    term_values: Mapping[tuple[str, ...], float]
    """By term: one string, or those of an n-gram. A vocabulary need not hold it."""
    word_values: Mapping[str, float]
    """By word, as they were given; by value of a categorical column, as ``face=1``, they are only here."""


if TYPE_CHECKING:
    Smoothing = str | float | tuple[float, float] | Mapping[str, float] | TermSmoothing


class _OneOf:
    """Check for one of some names, or for what ``otherwise`` accepts, which ``wanted`` describes.

    ``other_names`` are taken too, each for the name that it stands for.
    """

    def __init__(
        self,
        *choices: str,
        otherwise: Check | None = None,
        wanted: str = "",
        other_names: Mapping[str, str] | None = None,
    ) -> None:
        self.choices = choices
        self._otherwise = otherwise
        self._wanted = wanted
        self._other_names = other_names or {}

    def __call__(self, value: object) -> object:
        """Return the name, or what ``otherwise`` makes of the value."""
        if isinstance(value, str):
            value = self._other_names.get(value, value)
        if isinstance(value, str) and value in self.choices:
            return value
        if self._otherwise is not None:
            try:
                return self._otherwise(value)
            except (TypeError, ValueError, KeyError):
                pass
        listed = ", ".join(self.choices)
        raise ValueError(
            (f"one of {listed}" if len(self.choices) > 1 else listed)
            + (f" or {self._wanted}" if self._wanted else "")
        )


def number(
    kind: type[int | float], least: float, most: float, wanted: str = ""
) -> Callable[[object], int | float]:
    """Return a check for a number in a range, ends included; ``wanted`` describes it."""

    def check(value: object) -> int | float:
        try:
            # A TypeError is raised for what cannot be a number.
            found = kind(value)  # type: ignore[arg-type,call-overload]
        except (TypeError, ValueError, OverflowError):
            raise ValueError(wanted) from None
        is_in_range = least <= found <= most  # nan is in no range
        is_changed = found != float(value)  # type: ignore[arg-type]
        if isinstance(value, bool) or not is_in_range or is_changed:
            raise ValueError(wanted)
        return found

    return check


def text(value: object) -> str:
    """Check for a string that is not empty."""
    if not isinstance(value, str) or not value:
        raise ValueError("a name")
    return value


def _parts(value: object) -> list[str]:
    """Return the parts of text with commas between them, or of a list from Python; none of anything else."""
    if isinstance(value, (list, tuple)) and all(
        isinstance(part, str) and "," not in part for part in value
    ):
        return list(value)
    return value.split(",") if isinstance(value, str) else []


def _stop_words(value: object) -> str | tuple[str, ...]:
    """Check for a name, or from Python for None, which stands for no words, or words themselves."""
    if isinstance(value, (list, tuple, set, frozenset)) and all(
        isinstance(word, str) for word in value
    ):
        return tuple(sorted(value)) or "none"
    return text("none" if value is None else value)


def names(value: object) -> str:
    """Check for names with commas between them; return them in lower case."""
    parts = [part.strip().lower() for part in _parts(value)]
    if not all(parts) or not parts:
        raise ValueError("names with commas between them")
    return ",".join(parts)


def column(value: object) -> str:
    """Check for a column's name or number."""
    given = str(value)
    if not given or (given.isascii() and given.isdigit() and int(given) < 1):
        raise ValueError("a column's name or its number from 1")
    return given


def columns(value: object) -> str:
    """Check for different columns, by name or number, with commas between them."""
    parts = [column(part.strip()) for part in _parts(value) or [""]]
    names = {
        re.sub(r"=\d+$", "", part) for part in parts
    }  # without the number of values that --categorical may declare
    if len(names) < len(parts) or any(not part.isprintable() for part in parts):
        raise ValueError("names or numbers of columns with commas between them, none twice")
    return ",".join(parts)


def condition(value: object) -> str:
    """Check for a column's name or number and a value, with an equals sign or != between them."""
    name, equals, _ = str(value).partition("=")
    if not equals:
        raise ValueError("COLUMN=VALUE, such as split=train")
    column(name.removesuffix("!"))
    return str(value)


def negate_condition(condition: str) -> str:
    """Return the condition that holds where this one does not.

    >>> opposite("split=test"), opposite("split!=test")
    ('split!=test', 'split=test')
    """
    name, _, value = condition.partition("=")
    return f"{name.removesuffix('!')}{'' if name.endswith('!') else '!'}={value}"


def _group(value: object) -> str:
    """Check for a regular expression with one group."""
    try:
        if re.compile(text(value)).groups == 1:
            return str(value)
    except (re.error, RecursionError, OverflowError):
        pass
    raise ValueError("a regular expression with one group, such as '([a-z]+)_'")


def text_columns(value: object) -> str:
    """Check for a column's name or number, or for several with commas between them."""
    return columns(value) if isinstance(value, str) and "," in value else column(value)


def _codec(value: object) -> str:
    """Check for ``auto`` or a text encoding; return its canonical name."""
    from nbtext.charsets import find_codec

    codec = "auto" if value == "auto" else find_codec(text(value))
    if codec is None:
        raise ValueError("auto or the name of an encoding, such as utf-8 or latin-1")
    return codec


def _flag(value: object) -> bool:
    """Check for true or false."""
    if not isinstance(value, bool):
        raise ValueError("true or false")  # noqa: TRY004 - the caller makes one error of all
    return value


def character(value: object) -> str:
    """Check for one character, or the name of the tab; return the character."""
    given = {"tab": "\t", "\\t": "\t"}.get(str(value), str(value))
    if len(given) != 1 or given in '\n\r"':
        raise ValueError("one character")
    return given


def size(value: object) -> str:
    """Check for a number of bytes; return it in the largest unit that divides it."""
    given = re.fullmatch("([0-9]+)([KMG]?)I?B?", str(value).upper())
    n = int(given[1]) * _UNITS[given[2]] if given else 0
    if not 0 < n < 2**62:
        raise ValueError("a number of bytes from 1, or a number with K, M or G")
    unit = next(unit for unit in reversed(_UNITS) if n % _UNITS[unit] == 0)
    return f"{n // _UNITS[unit]}{unit}"


def parse_size(canonical: str) -> int:
    """Return the bytes of a canonical size.

    >>> in_bytes("64M")
    67108864
    """
    return int(canonical.rstrip("KMG")) * _UNITS[canonical.lstrip("0123456789")]


class UnreadableAllowance(NamedTuple):
    """How many documents may be unreadable."""

    text: str
    """As the option has it."""
    number: float = 0
    percentage: float = 0

    def max_unreadable(self, n_documents: int) -> float:
        """Return how many of so many documents may be unreadable.

        >>> allowance("5").most(200), allowance("1%").most(200)
        (5.0, 2.0)
        """
        return self.number + self.percentage * n_documents / 100


def allowance(value: object) -> UnreadableAllowance:
    """Check for a number of documents or a percentage of them."""
    given = str(value)
    found = re.fullmatch(r"([0-9]+)|([0-9]+(?:\.[0-9]+)?)%", given)
    if found is None or float(found[2] or 0) > 100:
        raise ValueError("a number of documents, or a percentage such as 1%")
    return UnreadableAllowance(given, float(found[1] or 0), float(found[2] or 0))


MAX_DRAWN_WORDS = 1 << 24
"""Words of a document that is drawn, at most."""

MAX_OPTION_FILE_BYTES = 1 << 26
"""Bytes of a file that an option names, at most: stop words, seeds, costs, numbers by class or term."""

_PIECE = 1 << 20


def read_within_limit(file: BinaryIO, path: str) -> bytes:
    """Return the content of a file that an option names; raise `PathError` if it has more than `MAX_OPTION_FILE_BYTES` bytes, as a device may."""
    pieces = islice(iter(partial(file.read, _PIECE), b""), MAX_OPTION_FILE_BYTES // _PIECE + 1)
    content = b"".join(pieces)
    if len(content) > MAX_OPTION_FILE_BYTES:
        raise PathError(f"is larger than {MAX_OPTION_FILE_BYTES >> 20} MiB", where=path)
    return content


def seconds(value: object) -> float:
    """Check for a time such as 60s, 5m or 1h, or none; return its seconds."""
    given = str(value)
    if given == "none":
        return float("inf")
    try:
        found = float(given[:-1]) * _SECONDS[given[-1]] if given[-1:] in _SECONDS else float(given)
    except ValueError:
        found = 0.0
    if not 0 < found < float("inf"):
        raise ValueError("a time such as 60s, 5m or 1h, or none")
    return found


def smoothed(value: object) -> str:
    """Check for ``smoothed:A``, A at least 0."""
    kind, _, added = text(value).partition(":")
    if kind != "smoothed":
        raise ValueError
    return f"smoothed:{number(float, 0, 1e12)(added)!r}".removesuffix(".0")


def prior(value: object) -> ClassPrior:
    """Check for ``smoothed:A``, or weights by label that are not all 0."""
    if isinstance(value, str):
        return smoothed(value)
    weights = _by_label(value, 0, 1e12)
    if not sum(weights.values()):
        raise ValueError
    return weights


def _by_label(value: object, least: float, most: float) -> dict[str, float]:
    """Check for numbers by label; return them by the name of its class."""
    if not isinstance(value, dict) or not value:
        raise TypeError
    return {
        str(label): float(number(float, least, most)(weight))
        for label, weight in sorted(value.items())
    }


def pseudo_counts(value: object) -> Smoothing:
    """Check for 0 or a number from `MIN_PSEUDO_COUNT` to `MAX_PSEUDO_COUNT`, such numbers by term with one for `DEFAULT_TERM`, or two above 0."""

    def check(value: object) -> int | float:
        found = number(float, 0, MAX_PSEUDO_COUNT)(value)
        if 0 < found < MIN_PSEUDO_COUNT:
            raise ValueError
        return found

    if isinstance(value, TermSmoothing):
        return value
    two = value.split(",") if isinstance(value, str) and "," in value else value
    if isinstance(two, (tuple, list)):
        presence, absence = (check(side) for side in two)
        if not presence or not absence:
            raise ValueError
        return presence, absence
    if not isinstance(value, dict):
        return check(value)
    if DEFAULT_TERM not in value or not all(
        isinstance(term, str) and term.splitlines() == [term] and term.encode() for term in value
    ):
        raise ValueError
    return {term: check(value[term]) for term in sorted(value)}


def span(value: object) -> str:
    """Check for ``N`` or ``N-M``, whole numbers from 1 to 10, the second not below the first."""
    ends = re.fullmatch("([0-9]{1,2})(?:-([0-9]{1,2}))?", str(value))
    low, high = (int(end) for end in (ends[1], ends[2] or ends[1])) if ends else (0, 0)
    if not 1 <= low <= high <= 10:
        raise ValueError("a number from 1 to 10 or two of them such as 3-5")
    return str(low) if low == high else f"{low}-{high}"


UNSPACED_LANGUAGES = ("chinese", "japanese", "korean", "thai")
"""Languages without stop list and stemmer. Korean has spaces, but its words are mostly followed by particles without one."""

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
"""Languages by their codes of ISO 639-1."""

LANGUAGES = tuple(sorted({*LANGUAGE_CODES.values()}.difference(UNSPACED_LANGUAGES)))
"""The languages for which there are both a stop list and a Snowball stemmer."""


def _language_of_code(value: object) -> str:
    """Check for the code of a language, with or without that of a region (``de``, ``pt-BR``); return the name of the language."""
    return LANGUAGE_CODES[str(value).replace("_", "-").partition("-")[0].lower()]


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

NLTK_STEMMERS = {
    "porter": "nltk.stem.porter.PorterStemmer",
    "lancaster": "nltk.stem.lancaster.LancasterStemmer",
    "isri": "nltk.stem.isri.ISRIStemmer",
    "arlstem": "nltk.stem.arlstem.ARLSTem",
    "arlstem2": "nltk.stem.arlstem2.ARLSTem2",
    "cistem": "nltk.stem.cistem.Cistem",
}
"""Classes of nltk with a method ``stem`` that need no data, by name: for English twice, Arabic three times, German."""


class Format(NamedTuple):
    """A layout of corpora: its reader, and the traits that the rest of nbtext goes by."""

    description: str
    """For the help of ``--format``."""
    reader: str
    """Module and function of `nbtext.corpus`: from a path and a `ReaderOptions` to documents, or to files if there is a document in each."""
    suffixes: tuple[str, ...] = ()
    """Suffixes of files that ``auto`` takes for this format."""
    first_bytes: bytes = b""
    """First bytes of files that ``auto`` takes for this format in training."""
    has_columns: bool = False
    """Documents can have columns or keys beside label, text and id."""
    is_mail: bool = False
    """Documents are mail."""
    is_counted: bool = False
    """Documents are features that are counted already."""
    is_decoded: bool = False
    """The reader yields documents in UTF-8."""
    has_line_per_document: bool = False
    """Files can be cut at any line end, so that several processes share one."""
    has_file_per_document: bool = False
    """A path is a directory of files with a document in each."""


KINDS_BY_SUFFIX = {
    ".eml": "mail",
    ".emlx": "mail",
    **dict.fromkeys((".html", ".htm", ".xhtml"), "html"),
}
"""What a document is by the suffix of its file, if not text."""

KIND_BY_NAME = "by-name"
"""The kind of documents that have different ones, by the names of their files."""

FORMATS = {
    "dir": Format(
        "one sub-directory per class", "directory.list_files", has_file_per_document=True
    ),
    "csv": Format("quoted", "table.read_table", (".csv",), has_columns=True),
    "tsv": Format(
        "a quote is a character",
        "table.read_table",
        (".tsv", ".tab"),
        has_columns=True,
        has_line_per_document=True,
    ),
    "jsonl": Format(
        "one JSON object a line, or an array",
        "lines.read_jsonl",
        (".jsonl", ".ndjson"),
        has_columns=True,
        is_decoded=True,
        has_line_per_document=True,
    ),
    "lines": Format(
        "one document a line, the class is the name of the file",
        "lines.read_lines",
        has_line_per_document=True,
    ),
    "fasttext": Format(
        "__label__x text", "lines.read_fasttext", (".ft",), b"__label__", has_line_per_document=True
    ),
    "svmlight": Format(
        "counted features",
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
"""The formats of a corpus by name; whatever depends on a format goes by its traits."""


_DESCRIBED_FORMATS = ", ".join(
    f"{' or '.join(names)} ({description})"
    for description, names in groupby(FORMATS, lambda name: FORMATS[name].description)
)


CriterionName = Literal["mutual-information", "presence", "chi2", "log-odds"]
"""How ``--top`` measures information."""

CRITERIA = {
    "mutual-information": "mutual_information",
    "presence": "presence_information",
    "chi2": "chi2",
    "log-odds": "log_odds_of_terms",
}
"""The function of `nbtext.selection` by name."""

TUNING_METRICS = {
    "accuracy": "accuracy",
    "macro-f1": "macro_f1",
    "micro-f1": "micro_f1",
    "log-loss": "log_loss",
}
"""What the best setting is to be best in, and the name of the figure in `nbtext.metrics.outcomes.METRICS`."""

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
"""Name to class; the module is `nbtext/classifiers/NAME.py`, with underscores for hyphens."""

Weighting = Literal["counts", "binary", "log", "tfidf"]
WEIGHTINGS = get_args(Weighting)

AVERAGE: ClassifierName = "average"
"""The classifier that is made of others."""

EncodedLines = Literal["drop", "keep"]

MIN_ENCODED_CHARS = 45
"""Characters of the shortest line by which encoded data is recognised."""

Unspaced = Literal["auto", "pairs", "words"]
PriorShape = Literal["symmetric", "background"]
Estimate = Literal["mean", "map", "ml"]
Covariance = Literal["shared", "separate"]
CovarianceShape = Literal["full", "diagonal", "spherical", "spherical-unscaled"]
ClassWeight = Literal["balanced"]
CalibrationName = Literal["auto", "none"]
OnError = Literal["record", "skip", "fail"]


EVIDENCE_PREFIX = "evidence:"
"""Before the members of an average that are weighed by their evidence."""

_MEMBER = (
    rf"({'|'.join(name for name in CLASSIFIERS if name != AVERAGE)})"
    rf"(?::({'|'.join(WEIGHTINGS)}))?"
    r"(?::([0-9.][0-9.e-]*))?"
)
"""Classifier, weighting and pseudo-count of a member."""


def members(value: object) -> str:
    """Check for two or more different classifiers with + between them, each with a weighting, if it is not counts, and a pseudo-count after colons."""
    found = (
        re.sub(r"\s|:counts|(?<=[0-9]e)\+", "", value.lower()).replace(",", "+")
        if isinstance(value, str)
        else ""
    )
    for other_name, name in VALUE_ALIASES["classifier"].items():
        found = found.replace(other_name, name)
    try:
        found = re.sub(
            r"(?<=:)[0-9.][^:+]*", lambda own: str(pseudo_counts(own[0])).removesuffix(".0"), found
        )
    except ValueError:
        raise ValueError(
            "models with a pseudo-count that is 0 or from 1e-12 to 1e12, such as multinomial:0.1"
        ) from None
    parts = found.removeprefix(EVIDENCE_PREFIX).split("+")
    if (
        len(parts) < 2
        or len(set(parts)) < len(parts)
        or not all(re.fullmatch(_MEMBER, part) for part in parts)
    ):
        raise ValueError(
            "two or more different classifiers with + between them, such as "
            "multinomial:log+logistic"
        )
    return found


OPTION_GROUPS = ("documents", "words", "model", "answer", "output", "process")
"""The panels of a command's help, in order."""


@dataclass(frozen=True)
class Parameter:
    """One setting; ``check`` returns the canonical value, or raises ValueError with what is wanted."""

    name: str
    default: object
    metavar: str
    """Empty for a switch."""
    check: Check
    meaning: str
    """Its first sentence alone is shown by ``--help``."""
    only_for: str | None = None
    """The classifier that alone uses it, if it is not for all."""
    group: str = "documents"
    """Its panel, one of `OPTION_GROUPS`."""
    common: bool = False
    """Shown by ``--help``, not only by ``--help-all``."""
    is_rare: bool = False
    """Few need it: it is given as ``--set NAME=VALUE``, and its own option is hidden."""
    decides: str = ""
    """``terms`` if it decides how a text becomes terms, ``counts`` if it decides what else is counted; empty if it decides what is made of the counts."""

    @property
    def key(self) -> str:
        """The name on the command line."""
        return self.name.replace("_", "-")

    @property
    def option(self) -> str:
        """The option on the command line, which is hidden if it is rare."""
        return f"--{self.key}"

    @property
    def display_name(self) -> str:
        """What help and messages call it: ``--ngrams``, or ``--set l2`` if it is rare."""
        return f"--set {self.key}" if self.is_rare else self.option

    def to_arguments(self, value: object) -> list[str]:
        """Return the arguments of a command line that give it this value.

        >>> DECLARED["ngrams"].arguments(2), DECLARED["l2"].arguments(0.1), DECLARED["surface_forms"].arguments(True)
        (['--ngrams', '2'], ['--set', 'l2=0.1'], ['--set', 'surface-forms=true'])
        """
        if self.is_rare:
            return ["--set", f"{self.key}={self.format_value(value)}"]
        if self.metavar:
            return [self.option, self.format_value(value)]
        return [self.option if value else f"--no-{self.key}"]

    @staticmethod
    def format_value(value: object) -> str:
        """Return a value as on the command line."""
        return str(value).lower() if isinstance(value, bool) else str(value)

    @property
    def value_hint(self) -> str:
        """What stands for its values in help."""
        return self.metavar or "true|false"

    @property
    def choices(self) -> tuple[str, ...]:
        """The names among which to choose, if there are any."""
        return self.check.choices if isinstance(self.check, _OneOf) else ()

    def validate(self, value: object) -> object:
        """Return the canonical value; raise `UsageError` that names the option and what it takes."""
        if value is None and self.default is None:
            return None
        try:
            canonical = self.check(value)
        except (TypeError, ValueError) as problem:
            if isinstance(value, str) and (instead := REMOVED_VALUES.get(self.name, {}).get(value)):
                raise UsageError(
                    f"{self.display_name} does not take {value}", hint=instead
                ) from None
            raise UsageError(
                f"{self.display_name} must be {problem}, not "
                f"{value!r}{did_you_mean(str(value), self.choices)}"
            ) from None
        return (
            value if repr(canonical) == repr(value) else canonical
        )  # scikit-learn's clone wants the very object back


def declared(
    default: object,
    metavar: str,
    check: Any,  # noqa: ANN401 - a check, or a type of literals
    meaning: str,
    **others: object,
) -> Any:  # noqa: ANN401 - of the type of the field
    """Declare a field of `Reading` or `Settings` as a `Parameter` that has the field's name; ``group`` is by default that of the class.

    In place of a check there may be a type of literals, one of which is wanted.
    """
    if names := get_args(check):
        check = _OneOf(*names)
    return field(
        default=default,
        metadata={"parameter": {"metavar": metavar, "check": check, "meaning": meaning, **others}},
    )


_FROM_ONE = number(int, 1, 2**31, "a whole number from 1")

_of_words = partial(declared, group="words", decides="terms")
_of_column = partial(declared, None, "COLUMN", column)
_of_columns = partial(declared, None, "COLUMNS", columns)


def _values_with_members(values: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    """Yield the settings in a model file, and the classifier of each member of an average."""
    yield from values.items()
    if values.get("classifier") == AVERAGE:
        for member in str(values.get("members")).removeprefix(EVIDENCE_PREFIX).split("+"):
            yield "classifier", member.partition(":")[0]


class SettingsBase:
    """Frozen settings whose fields are parameters: checked and made canonical when they are made; ``dict`` gives the plain values by name."""

    GROUP = "documents"
    """The panel of parameters that name none."""

    @classmethod
    @cache
    def parameters(cls) -> tuple[Parameter, ...]:
        """Return the parameters in the order of the fields."""
        of_class = fields(cls)  # type: ignore[arg-type] # each subclass is a dataclass
        declared = [each for each in of_class if "parameter" in each.metadata]
        return tuple(
            Parameter(each.name, each.default, **{"group": cls.GROUP, **each.metadata["parameter"]})
            for each in declared
        )

    @classmethod
    def from_values(cls, values: Mapping[str, object]) -> Self:
        """Return settings of these values, defaults for others; raise `UsageError` for a wrong value or an unknown name."""
        known = [parameter.name for parameter in cls.parameters()]
        for name in values:
            if name not in known:
                raise UsageError(
                    f"there is no parameter {name!r}", hint=f"known are {', '.join(sorted(known))}"
                )
        return cls(**values)

    @classmethod
    def from_model_file(cls, values: Mapping[str, object]) -> Self:
        """Return the settings in a model file, which may be older than a parameter.

        Raise `ModelError` for a value that is gone, and as `of` does.
        """
        for name, value in _values_with_members(values):
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
            if (value := self[parameter.name]) is not parameter.default:  # most are the default
                object.__setattr__(self, parameter.name, parameter.validate(value))

    def keys(self) -> Iterator[str]:
        """Return the names of the parameters in order."""
        return (parameter.name for parameter in self.parameters())

    def __getitem__(self, name: str) -> Any:  # noqa: ANN401 - each parameter has a type of its own
        """Return the value of the parameter of this name."""
        return getattr(self, name)

    def __repr__(self) -> str:
        """Show what differs from the defaults."""
        every = fields(self)  # type: ignore[arg-type] # each subclass is a dataclass
        changed = [each for each in every if self[each.name] != each.default]
        shown = ", ".join(f"{each.name}={self[each.name]!r}" for each in changed)
        return f"{type(self).__name__}({shown})"


@dataclass(frozen=True, kw_only=True)
class Reading(SettingsBase):
    """How documents are read. A model remembers it."""

    format: str = declared(
        "auto",
        "NAME",
        _OneOf("auto", *FORMATS),
        f"Layout of the corpus: {', '.join(FORMATS)}. That is {_DESCRIBED_FORMATS}. auto: "
        "recognise it by directory and name, in training also by "
        "the first line.",
        common=True,
    )
    document: str = declared(
        "auto",
        "KIND",
        _OneOf("auto", "text", "html", "mail", KIND_BY_NAME),
        f"Kind of each document: auto, text, html, mail or {KIND_BY_NAME}. html: count the text that a "
        "browser shows; mail: count the chosen headers and the text "
        f"parts; {KIND_BY_NAME}: mail for files .eml and .emlx, html for .html, .htm and .xhtml, text "
        "for all others. auto: the kind that all files have by their names, "
        f"{KIND_BY_NAME} if they differ. Documents in other formats than dir are text by default; mbox "
        "and maildir always hold mail.",
    )
    headers: str = declared(
        "auto",
        "auto|NAMES",
        names,
        "Headers of a mail that count. auto: the subject as text, and it and all others as fields, "
        "except those that could give the class away. Or "
        "names, separated by commas: these are text.",
    )
    structure: bool | None = declared(
        None,
        "",
        _flag,
        "Count what a mail looks like: its parts, HTML tags, colours and links. "
        "By default with --headers auto.",
        is_rare=True,
    )
    drop_quotes: bool = declared(
        False, "", _flag, "Ignore what a mail quotes from the one it answers.", is_rare=True
    )
    drop_signatures: bool = declared(
        False,
        "",
        _flag,
        'Ignore the signature of a mail. It is all that follows the last line "--".',
        is_rare=True,
    )
    label_column: str | None = declared(
        None,
        "COLUMNS",
        text_columns,
        "Column of the class: a name, or a number from 1. A name means that the table has a header "
        "line. In jsonl it is a key, by default label; in "
        "mail a header such as X-Gmail-Labels, which has several labels. "
        "By default it is recognised by the header or the values, else it is column 1. Several "
        "names, with commas between them: there is a column for each "
        "label, with 1 where a document has it.",
        common=True,
    )
    label_pattern: str | None = declared(
        None,
        "REGEX",
        _group,
        "The class is in the name of the file: what the group of this regular expression finds "
        "first, as '([a-z]+)_' in spam_17.txt. Folders are no classes.",
    )
    label_separator: str | None = declared(
        None,
        "TEXT",
        text,
        "Documents have several labels: this text stands between two, as in grain;wheat. An empty "
        "cell has none. White space around labels is dropped. "
        "list: each cell is a list in brackets, as JSON and Python write it.",
    )
    text_column: str | None = declared(
        None,
        "COLUMNS",
        text_columns,
        "Columns of the text, joined if there are several: names, or numbers from 1. In jsonl they "
        "are keys, a.b for b inside a, by default text. By default the "
        "column is recognised as that of the class is, else it is column 2. none: there is no "
        "text.",
        common=True,
    )
    records: str | None = declared(
        None,
        "KEY",
        text,
        "In a JSON file, the key of the array whose objects are the documents, "
        "such as intents; a.b for b inside a.",
        is_rare=True,
    )
    file_column: str | None = _of_column(
        "Column of paths, from the folder of the table: each document is the file at the path. In "
        "jsonl it is a key.",
    )
    tag_fields: str | None = declared(
        None,
        "NAMES",
        columns,
        "Headers or columns to count as fields, separated by commas. A word in a field is a term "
        "of its own: subject:offer. In jsonl they are keys.",
        is_rare=True,
    )
    id_column: str | None = _of_column(
        "Column of the document's id: a name, number or key. By default the id is the file and the "
        "line."
    )
    categorical: str | None = _of_columns(
        "Columns of categories to count besides the text, separated by commas. They are combined "
        "with the text as independent features. NAME=N declares "
        "N different values even if training has fewer: face=6 for a die. With columns of this "
        "kind there is a text only if --text-column is given.",
    )
    count: str | None = _of_columns(
        "Columns of whole numbers from 0 to use besides the text. Otherwise like --categorical."
    )
    numeric: str | None = _of_columns(
        "Columns of real numbers to use besides the text. Otherwise like --categorical. An empty "
        "cell is an unknown value."
    )
    weight_column: str | None = _of_column(
        "Column of each document's weight in training. A weight is a number from 0 with at most "
        "three decimals: a document of weight 2 counts "
        "twice, one of weight 0 not at all. none: there is no such column.",
    )
    header: bool | None = declared(
        None,
        "",
        _flag,
        "Read the first row of a table as its header, or as a document. By "
        "default it is a header if a column is given by name, or if no column is given "
        "and it looks like one. With columns given by number, a first row that looks like a header "
        "ends with status 2.",
    )
    delimiter: str | None = declared(
        None,
        "CHARACTER",
        character,
        "Character between columns. By default a tab for tsv; for csv a comma, or a semicolon, tab "
        "or bar if the first rows show it.",
    )
    encoding: str = declared(
        "auto",
        "NAME",
        _codec,
        "Encoding of the documents, such as utf-8 or latin-1. auto: use the byte order mark if "
        "there is one, else UTF-8, else Windows-1252. "
        "In mail it applies to parts that declare none.",
    )
    max_document_size: str = declared(
        "64M",
        "SIZE",
        size,
        "Report documents larger than this instead of reading them. A size is a number of bytes, "
        "or a number with K, M or G. It applies to files, "
        "rows, lines and messages.",
        is_rare=True,
    )
    max_unpacked_size: str = declared(
        "4G",
        "SIZE",
        size,
        "Fail if a compressed file of many documents unpacks to more than this. Compression is "
        "gzip, xz, bzip2 or zstd.",
        is_rare=True,
    )

    @property
    def unweighted(self) -> Reading:
        """How the same documents are read without their weights, as for an evaluation."""
        if self.weight_column is None:
            return self
        named = (
            self.weight_column != "none" and not self.weight_column.isdigit()
        )  # then the table has a header line
        return replace(
            self, weight_column=None, header=True if named and self.header is None else self.header
        )

    @property
    def label_header(self) -> str:
        """The header of mail that has the labels, in lower case; empty if there is none."""
        return (
            (self.label_column or "").lower()
            if self.document == "mail" and not self.has_columns
            else ""
        )

    @property
    def label_source(self) -> str:
        """What shows the label in each document: a header of mail or the pattern of file names; empty if the path or a column does."""
        return self.label_header or ("" if self.has_columns else self.label_pattern or "")

    @property
    def layout(self) -> Format:
        """The format with its traits; one without any while it is not known."""
        return FORMATS.get(self.format, Format("", ""))

    @property
    def has_columns(self) -> bool:
        """Whether documents can have columns or keys."""
        return self.layout.has_columns

    @property
    def has_whole_files(self) -> bool:
        """Whether each document is a whole file, found in a folder or named in a table."""
        return self.layout.has_file_per_document or (
            self.has_columns and self.file_column is not None
        )

    @property
    def is_counted(self) -> bool:
        """Whether documents are features that are counted already, not texts."""
        return self.layout.is_counted


READING = Reading.parameters()

MAIL_PARAMETERS = ("headers", "structure", "drop_quotes", "drop_signatures")
"""Parameters of reading that decide which text a mail has."""

WITHIN = Parameter(
    "within",
    None,
    "TIME",
    seconds,
    "Write the best model found within a TIME such as 60s, 5m or 1h; none for no limit. It tries "
    "settings that are known to be good, or those of --try.",
    group="model",
    common=True,
)

SEARCH = (WITHIN,)
"""Limits of a search for settings. A model does not remember them."""

WHERE = Parameter(
    "where",
    None,
    "COLUMN=VALUE",
    condition,
    "Read only rows with this value in this column, such as split=train, or with another: "
    "split!=test. In jsonl it is a key, in mail a header: "
    "from=ann@example.org reads the mails with this address in From.",
)

ON_ERROR = Parameter(
    "on_error",
    "record",
    "WHAT",
    _OneOf(*get_args(OnError)),
    "What to do with a document that cannot be read: record, skip or fail. It is reported and "
    "makes the exit status 1. record: read the others, and "
    "let classify print a record that says why; skip: print no record; fail: stop at once and "
    "write nothing.",
)

ALLOW_UNREADABLE = Parameter(
    "allow_unreadable",
    None,
    "N|P%",
    allowance,
    "Accept that so many documents of a corpus, or this share such as 1%, cannot be read: the exit "
    "status is then 0. With more, it is 1 and nothing "
    "is written.",
)

FILES_FROM = Parameter(
    "files_from",
    None,
    "FILE",
    text,
    "Read more CORPUS paths from FILE, one a line; - is standard input. A line that is only - is a "
    "file of that name. Commands that need "
    "classes, such as train, expect a corpus on each line, not a single document.",
)

NULL = Parameter(
    "null",
    False,
    "",
    _flag,
    "Paths in --files-from end with NUL, as find -print0 writes them, and so do those of suspects "
    "--paths.",
)

INPUT = (FILES_FROM, NULL, WHERE, ON_ERROR, ALLOW_UNREADABLE)
"""Where documents are found, and what to do with one that cannot be read. A model does not remember it."""


@dataclass(frozen=True, kw_only=True)
class Settings(SettingsBase):
    """How a model is made: the parameters of training, and how documents are read. A model remembers them."""

    GROUP = "model"

    classifier: ClassifierName = declared(
        "multinomial",
        "NAME",
        _OneOf(*CLASSIFIERS, other_names=VALUE_ALIASES["classifier"]),
        f"Kind of model: {', '.join(CLASSIFIERS)}. The guide to models compares them.",
        common=True,
    )
    language: str = _of_words(
        "english",
        "NAME",
        _OneOf(
            *LANGUAGES, *UNSPACED_LANGUAGES, otherwise=_language_of_code, wanted="a code such as de"
        ),
        "Language of the documents, for stop words and stemmer. A code such as de or pt-BR will "
        f"do; or one of {', '.join(LANGUAGES)}; or {', '.join(UNSPACED_LANGUAGES)}, which have "
        "neither.",
        common=True,
    )
    stop_words: str | tuple[str, ...] = _of_words(
        "auto",
        "NAME|FILE",
        _stop_words,
        "Words to ignore: auto, default, a language, a file of words, or none. default: the list "
        "of --language. auto: that list too, unless left-out "
        "documents are clearly answered better without it, or fewer than 50 of them not worse; "
        "with --ngrams always the list.",
        common=True,
    )
    stemmer: str = _of_words(
        "snowball",
        "NAME",
        _OneOf("snowball", "none", *SNOWBALL_STEMMERS, *NLTK_STEMMERS),
        "Reduce words to their stems: snowball, none, or another stemmer. snowball: the stemmer of "
        "--language. Others are Snowball's for another "
        f"language, by its name, and those of nltk: {', '.join(NLTK_STEMMERS)}.",
        common=True,
    )
    encoded_lines: EncodedLines = _of_words(
        "drop",
        "WHAT",
        EncodedLines,
        "Drop or keep lines of encoded data. These are uuencode, base64, yEnc, PGP and hexadecimal "
        "digits.",
        is_rare=True,
    )
    unspaced: Unspaced = _of_words(
        "auto",
        "WHAT",
        Unspaced,
        "In scripts without spaces, count pairs of characters, or words: auto, pairs or words. The "
        "scripts are Chinese, Japanese, Thai, Lao, Khmer and "
        "Burmese. words: what stands between spaces and punctuation. auto: pairs, unless left-out "
        "documents are clearly answered better with words, or "
        "with both; with --ngrams, --set char-ngrams, --set surface-forms=true or --seeds always "
        "pairs.",
        is_rare=True,
    )
    surface_forms: bool = declared(
        False,
        "",
        _flag,
        "Also store the full words behind each stem. select-features, generate and inspect --term "
        "show them. Answers stay the same; training takes "
        "longer, and the model is larger.",
        group="words",
        decides="counts",
        is_rare=True,
    )
    ngrams: int = _of_words(
        1,
        "N",
        number(int, 1, 10, "a whole number from 1 to 10"),
        "Also count sequences of up to N adjacent words.",
        common=True,
    )
    char_ngrams: str | None = _of_words(
        None,
        "N|N-M",
        span,
        "Also count sequences of N to M characters in each word. Stop words have none, and words "
        "are not stemmed for it. The beginning and the end of "
        "a word count as a character each.",
        is_rare=True,
    )
    min_df: int = declared(
        1, "N", _FROM_ONE, "Ignore terms that occur in fewer than N documents.", group="words"
    )
    max_df: float = declared(
        1.0,
        "SHARE",
        number(float, 0, 1, "a share from 0 to 1"),
        "Ignore terms that occur in a larger share of documents.",
        group="words",
    )
    top: int | None = declared(
        None, "N", _FROM_ONE, "Use only the N most informative terms.", common=True
    )
    by: CriterionName = declared(
        "mutual-information",
        "CRITERION",
        _OneOf(*CRITERIA),
        f"How --top measures information: {', '.join(CRITERIA)}.",
    )
    weighting: Weighting = declared(
        "counts",
        "NAME",
        Weighting,
        "What a term counts in a document: counts, binary, log or tfidf. counts: n, how often it "
        "occurs; binary: 1; log: log(1 + n); tfidf: log(1 + n) "
        "times the logarithm of documents over those that contain it, with each document scaled to "
        "unit length.",
    )
    smoothing: Smoothing = declared(
        "auto",
        "KIND|A|FILE",
        _OneOf(
            "auto",
            "evidence",
            "leave-one-out",
            otherwise=pseudo_counts,
            wanted="0, a number from 1e-12 to 1e12, or such numbers by term with one for '*', all "
            "others",
        ),
        "Pseudo-count added to each count: auto, evidence, leave-one-out, or a number. evidence: "
        "the number that makes the class counts most "
        "probable; leave-one-out: the number that makes sampled documents most probable, each "
        "under its own class without it; both at most 1 per term. auto: "
        "that of evidence, unless left-out documents are clearly answered better with another. "
        "A,B: two numbers for bernoulli, for documents with a term and "
        "without. A file gives terms, and values of columns as face=1, their own numbers: lines of "
        "a term, a tab and a number, and one of * for all others.",
        common=True,
    )
    prior_shape: PriorShape = declared(
        "symmetric",
        "SHAPE",
        PriorShape,
        "Shape of the Dirichlet prior: symmetric or background. symmetric: the same for all terms; "
        "background: in proportion to the whole corpus, where "
        "--smoothing is the total.",
        is_rare=True,
    )
    estimate: Estimate = declared(
        "mean",
        "NAME",
        Estimate,
        "Estimate of term probabilities: mean, map or ml. mean: that of the posterior; map: its "
        "mode; ml: maximum likelihood.",
        is_rare=True,
    )
    members: str = declared(
        "multinomial:log+logistic",
        "A+B",
        members,
        "For average: the models to combine, with + between them. A colon and a weighting may "
        "follow each, and another with a pseudo-count: multinomial:log:0.1. "
        "After evidence: such models of the same counts are weighed by p(m | data): "
        "evidence:multinomial:0.1+multinomial:1.",
        only_for=AVERAGE,
        is_rare=True,
    )
    l2: str | float = declared(
        "auto",
        "auto|A",
        _OneOf("auto", otherwise=number(float, 1e-6, 1e9), wanted="a number from 1e-6"),
        "For logistic: strength of the penalty on weights. A/2 times the sum of squared weights is "
        "added to the negative log-likelihood (A is 1/C elsewhere). "
        "auto: the A that makes held-out documents, one in five, most probable after calibration.",
        only_for="logistic",
        is_rare=True,
    )
    latent: int = declared(
        100,
        "N",
        number(int, 1, 10000, "a whole number from 1 to 10,000"),
        "For gaussian: number of latent features of a document. They come from a singular value "
        "decomposition of tf-idf, which may have fewer.",
        only_for="gaussian",
        is_rare=True,
    )
    covariance: Covariance = declared(
        "shared",
        "NAME",
        Covariance,
        "For gaussian: shared or separate covariance of the classes. shared: boundaries are "
        "linear; separate: they are quadratic.",
        only_for="gaussian",
        is_rare=True,
    )
    covariance_shape: CovarianceShape = declared(
        "full",
        "SHAPE",
        CovarianceShape,
        "For gaussian: full, diagonal, spherical or spherical-unscaled covariance. diagonal: "
        "features are independent in a class (Gaussian naive Bayes with --set "
        "covariance=separate); "
        "spherical: they also have the same variance, each number in units of its standard "
        "deviation; spherical-unscaled: numbers in their own units.",
        only_for="gaussian",
        is_rare=True,
    )
    shrinkage: str | float = declared(
        "auto",
        "auto|W",
        _OneOf("auto", otherwise=number(float, 0, 1), wanted="a number from 0 to 1"),
        "For gaussian: weight from 0 to 1 of a simpler covariance. It gives the covariance an "
        "inverse with few documents: a shared one shrinks towards a sphere, "
        "separate ones towards the shared one. 0: maximum likelihood; auto: by the scatter and "
        "number of documents.",
        only_for="gaussian",
        is_rare=True,
    )
    class_prior: ClassPrior = declared(
        "empirical",
        "KIND|FILE",
        _OneOf(
            "empirical",
            "uniform",
            otherwise=prior,
            wanted="smoothed:A or a number of at least 0 for each class",
        ),
        "Class probabilities before reading: empirical, uniform, smoothed:A, or a file. empirical: "
        "as frequent as in training; smoothed:A: after adding A to "
        "the documents of each class. A file has lines of a class, a tab and a weight.",
    )
    class_weight: ClassWeight | Mapping[str, float] | None = declared(
        None,
        "NAME",
        _OneOf(
            *get_args(ClassWeight),
            otherwise=partial(_by_label, least=1e-3, most=1e6),
            wanted="a number from 0.001 by label",
        ),
        "Give all classes the same weight in training, if balanced. Each of the D_k documents of "
        "class k weighs D/(K·D_k), with D documents in K classes. "
        "Probabilities are then those of documents drawn equally from all classes.",
    )
    calibration: CalibrationName = declared(
        "auto",
        "NAME",
        _OneOf(*get_args(CalibrationName), other_names=VALUE_ALIASES["calibration"]),
        "How scores become probabilities: auto or none. auto: divided by a temperature that grows "
        "with the document's length, fitted to sampled training "
        "documents, each left out of the model; with maximum likelihood none. none: the posterior "
        "of the textbook.",
        group="answer",
    )
    sample: int = declared(
        4096,
        "N",
        number(int, 0, 1 << 20, "a whole number from 0 to 1,048,576"),
        "Keep N training documents in the model, as term counts. Calibration is fitted to them. 0: "
        "keep none.",
        group="answer",
        decides="counts",
        is_rare=True,
    )

    reading: Reading = Reading(document="text")

    @property
    def member_settings(self) -> tuple[Settings, ...]:
        """The settings of each member of an average; of any other classifier these settings."""
        if self.classifier != AVERAGE:
            return (self,)
        named: Any = [re.fullmatch(_MEMBER, name) for name in self.member_names]
        return tuple(
            replace(
                self,
                classifier=name,
                weighting=weighting or "counts",
                smoothing=float(own) if own else self.smoothing,
            )
            for name, weighting, own in (each.groups() for each in named)
        )

    @property
    def member_names(self) -> list[str]:
        """The members of an average, as ``--set members`` names them."""
        return self.members.removeprefix(EVIDENCE_PREFIX).split("+")

    @property
    def is_mixture(self) -> bool:
        """True for an average whose members are weighed by their evidence."""
        return self.classifier == AVERAGE and self.members.startswith(EVIDENCE_PREFIX)

    @property
    def needs_log_sums(self) -> bool:
        """True if the sums of log weights are counted: for ``--weighting log``, or a member of an average with it."""
        return any(each.weighting == "log" for each in self.member_settings)

    @property
    def absence_smoothing(self) -> float | None:
        """The pseudo-count of documents without a term; None if it is that of documents with it."""
        return (
            self.smoothing[1]
            if isinstance(self.smoothing, tuple) and self.estimate != "ml"
            else None
        )

    @property
    def counts_stop_words(self) -> bool:
        """Whether stop words are counted as other words, and training chooses whether they are selected."""
        return self.stop_words == "auto" and self.ngrams == 1 and not self.reading.is_counted

    @property
    def counts_pairs_and_words(self) -> bool:
        """Whether pairs and words of scripts without spaces are counted, and training chooses which of them are selected."""
        of_words = self.ngrams == 1 and self.char_ngrams is None and not self.surface_forms
        return self.unspaced == "auto" and of_words and not self.reading.is_counted


TRAINING = Settings.parameters()

PARAMETERS_BY_NAME = {each.name: each for each in (*INPUT, *READING, *TRAINING)}
"""The parameters of commands that read documents or train, by name."""

ANALYSIS_NAMES = tuple(each.name for each in TRAINING if each.decides == "terms")
"""The parameters that decide how a text becomes terms."""

COUNTING_NAMES = (*ANALYSIS_NAMES, *(each.name for each in TRAINING if each.decides == "counts"))
"""The parameters that decide what is counted; all others decide what is made of the counts."""

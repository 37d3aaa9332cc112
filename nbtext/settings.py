"""The checks of the parameter tables.

Each turns a value, or the text of an option, into the canonical value, or raises TypeError, or ValueError that says what is wanted.


Everything that can be set, declared once: name, default, range and meaning feed the checks, the options and the reference.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from nbtext.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


ALL_OTHERS = "*"
"""In place of a term: all terms that are not named."""


LEAST_PSEUDO_COUNT, MOST_PSEUDO_COUNT = 1e-12, 1e12
"""Of a pseudo-count that is not 0: a smaller one is lost when it is added to a count."""


_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


class OneOf:
    """A check for one of some names, or what else may stand there."""

    def __init__(self, choices: tuple[str, ...], otherwise: Callable[[Any], Any] | None, wanted: str) -> None:
        self.choices, self._otherwise, self._wanted = choices, otherwise, wanted

    def __call__(self, value: object) -> object:
        """The name, or what else is made of the value."""
        if isinstance(value, str) and value in self.choices:
            return value
        if self._otherwise is not None:
            try:
                return self._otherwise(value)
            except (TypeError, ValueError):
                pass
        listed = ", ".join(self.choices)
        raise ValueError((f"one of {listed}" if len(self.choices) > 1 else listed) + (f" or {self._wanted}" if self._wanted else ""))


def one_of(*choices: str, otherwise: Callable[[Any], Any] | None = None, wanted: str = "") -> OneOf:
    """A check for one of some names, or for what ``otherwise`` takes."""
    return OneOf(choices, otherwise, wanted)


def number(kind: type[int | float], least: float, most: float, wanted: str) -> Callable[[Any], int | float]:
    """A check for a number in a range; ``wanted`` says which."""

    def check(value: Any) -> int | float:  # noqa: ANN401
        try:
            found = kind(value)
        except (TypeError, ValueError, OverflowError):
            raise ValueError(wanted) from None
        if isinstance(value, bool) or not least <= found <= most or found != float(value):  # nan is in no range
            raise ValueError(wanted)
        return found

    return check


def text(value: object) -> str:
    """A text that is not empty."""
    if not isinstance(value, str) or not value:
        raise ValueError("a name")
    return value


def whole(least: int, wanted: str) -> Callable[[Any], int | float]:
    """A check for a whole number from ``least``."""
    return number(int, least, 2**31, wanted)


def names(value: object) -> str:
    """Names with commas between them, in lower case."""
    parts = [part.strip().lower() for part in value.split(",")] if isinstance(value, str) else []
    if not all(parts) or not parts:
        raise ValueError("names with commas between them")
    return ",".join(parts)


def column(value: object) -> str:
    """A column's name or number."""
    given = str(value)
    if not given or (given.isascii() and given.isdigit() and int(given) < 1):
        raise ValueError("a column's name or its number from 1")
    return given


def columns(value: object) -> str:
    """Columns by name or number, none twice, with commas between them."""
    parts = [column(part.strip()) for part in value.split(",")] if isinstance(value, str) else [""]
    if not all(parts) or len(set(parts)) < len(parts) or any(not part.isprintable() for part in parts):
        raise ValueError("names or numbers of columns with commas between them, none twice")
    return ",".join(parts)


def encoding(value: object) -> str:
    """The canonical name of an encoding of text, or ``auto``."""
    import codecs

    try:
        if value == "auto":
            return "auto"
        b"a".decode(text(value), "ignore")  # raises for codecs that are not of text, such as base64
        return codecs.lookup(text(value)).name
    except (LookupError, ValueError):
        raise ValueError("auto or the name of an encoding, such as utf-8 or latin-1") from None


def flag(value: object) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise ValueError("true or false")  # noqa: TRY004 - the caller makes one error of all
    return value


def delimiter(value: object) -> str:
    """One character; a tab may be given by name."""
    given = {"tab": "\t", "\\t": "\t"}.get(str(value), str(value))
    if len(given) != 1 or given in '\n\r"':
        raise ValueError("one character")
    return given


def size(value: object) -> str:
    """A number of bytes, with the largest unit that goes into it."""
    given = str(value).upper().removesuffix("B").removesuffix("I")
    unit = given[-1:] if given[-1:] in _UNITS else ""
    digits = given.removesuffix(unit)
    if isinstance(value, bool) or not (digits.isascii() and digits.isdigit()) or not 0 < int(digits) * _UNITS[unit] < 2**62:
        raise ValueError("a number of bytes from 1, or a number with K, M or G")
    n = int(digits) * _UNITS[unit]
    unit = next(unit for unit in reversed(_UNITS) if n % _UNITS[unit] == 0)
    return f"{n // _UNITS[unit]}{unit}"


def in_bytes(canonical: str) -> int:
    """The bytes that a canonical size means.

    >>> in_bytes("64M")
    67108864
    """
    return int(canonical.rstrip("KMG")) * _UNITS[canonical.lstrip("0123456789")]


def smoothed(value: object) -> str:
    """``smoothed:A``, A at least 0."""
    kind, _, added = text(value).partition(":")
    if kind != "smoothed":
        raise ValueError
    return f"smoothed:{number(float, 0, 1e12, '')(added)!r}".removesuffix(".0")


def prior(value: object) -> object:
    """``smoothed:A``, or weights by label, not all of them 0."""
    if isinstance(value, str):
        return smoothed(value)
    if not isinstance(value, dict) or not value:
        raise TypeError
    weights = {str(label): float(number(float, 0, 1e12, "")(weight)) for label, weight in sorted(value.items())}
    if not sum(weights.values()):
        raise ValueError
    return weights


def pseudo_counts(value: object) -> object:
    """0 or a number from `LEAST_PSEUDO_COUNT` to `MOST_PSEUDO_COUNT`, or such numbers by term, with one for `ALL_OTHERS`."""

    def check(value: object) -> int | float:
        found = number(float, 0, MOST_PSEUDO_COUNT, "")(value)
        if 0 < found < LEAST_PSEUDO_COUNT:
            raise ValueError
        return found

    if not isinstance(value, dict):
        return check(value)
    if ALL_OTHERS not in value or not all(isinstance(term, str) and term.splitlines() == [term] and term.encode() for term in value):
        raise ValueError
    return {term: check(value[term]) for term in sorted(value)}


def span(value: object) -> str:
    """``N`` or ``N-M``, whole numbers from 1 to 10, the second not below the first."""
    low, dash, high = str(value).partition("-")
    ends = [int(part) if part.isascii() and part.isdigit() and len(part) < 3 else 0 for part in ((low, high) if dash else (low, low))]
    if isinstance(value, (bool, float)) or not 1 <= ends[0] <= ends[1] <= 10:
        raise ValueError("a number from 1 to 10 or two of them such as 3-5")
    return str(ends[0]) if ends[0] == ends[1] else f"{ends[0]}-{ends[1]}"


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


CRITERIA = ("mutual-information", "presence", "chi2", "log-odds")


CLASSIFIERS = ("multinomial", "bernoulli", "complement", "dirichlet-multinomial", "gaussian", "logistic")
"""A name here, and a line in `nbtext.classifiers.registry`."""


WEIGHTINGS = ("counts", "binary", "log", "tfidf")


CALIBRATIONS = ("length", "temperature", "isotonic")


@dataclass(frozen=True)
class Parameter:
    """One setting: ``check`` turns a value, or the text of an option, into the canonical value or raises ValueError saying what is wanted."""

    name: str
    default: Any
    metavar: str
    check: Callable[[Any], Any]
    meaning: str
    only_for: str | None = None
    """The classifier that it is a setting of, if it is one's alone."""

    @property
    def option(self) -> str:
        """How the command line spells it."""
        return "--" + self.name.replace("_", "-")

    @property
    def choices(self) -> tuple[str, ...]:
        """The names among which to choose, if there are any."""
        return self.check.choices if isinstance(self.check, OneOf) else ()

    def checked(self, value: object) -> Any:  # noqa: ANN401 - each parameter has a type of its own
        """The canonical value; raises `UsageError` that names the option and what it takes."""
        if value is None and self.default is None:
            return None
        try:
            canonical = self.check(value)
        except (TypeError, ValueError) as problem:
            raise UsageError(f"{self.option} must be {problem}, not {value!r}") from None
        return value if repr(canonical) == repr(value) else canonical  # scikit-learn's clone wants the very object back


READING = (
    Parameter(
        "format", "auto", "NAME", one_of("auto", *FORMATS),
        "How a corpus is laid out: dir (one sub-directory per class), csv (quoted), tsv (a quote is a character), jsonl (one JSON object a "
        "line), lines (one document a line, no labels), fasttext (__label__x text), svmlight (counted features), mbox or maildir (the class "
        "is the name of the file or folder). auto goes by directory and name; for training also by the first line.",
    ),
    Parameter(
        "document", "text", "KIND", one_of("text", "html", "mail"),
        "How one document's bytes become text: text as it is; html: what a browser shows; mail: chosen headers and the text parts of a "
        "message. Always mail for mbox and maildir.",
    ),
    Parameter("headers", "subject", "NAMES", names, "Which headers of a mail count, with commas between them."),
    Parameter("drop_quotes", False, "", flag, "Leave out of a mail what it quotes of the one it answers."),
    Parameter("drop_signatures", False, "", flag, 'Leave out of a mail what follows the last line that is only "--".'),
    Parameter(
        "label_column", None, "COLUMN", column,
        "Column of the class: a name (the table has a header line) or a number from 1, by default 1; in jsonl a key, by default label.",
    ),
    Parameter(
        "text_column", None, "COLUMN", column,
        "Column of the text: a name or a number from 1, by default 2; in jsonl a key (a.b for b inside a), by default text. none: there is no text.",
    ),
    Parameter("id_column", None, "COLUMN", column, "Column of the document's name: a name, number or key; else it is file and line."),
    Parameter(
        "categorical", None, "COLUMNS", columns,
        "Columns or keys, with commas between them, whose values are categories; each adds its likelihood to that of the text. With attributes there "
        "is a text only if --text-column is given.",
    ),
    Parameter("count", None, "COLUMNS", columns, "The same for columns of whole numbers from 0, such as how often something happened."),
    Parameter("numeric", None, "COLUMNS", columns, "The same for columns of real numbers. An empty cell is a value that is not known."),
    Parameter("header", None, "", flag, "Whether a table begins with a header line; by default if a column is given by name."),
    Parameter("delimiter", None, "CHARACTER", delimiter, "Between columns: by default a comma for csv, a tab for tsv."),
    Parameter(
        "encoding", "auto", "NAME", encoding,
        "Encoding of the documents; auto takes a byte order mark's word, then UTF-8, then Windows-1252 for a document that is not UTF-8. "
        "In mail it is that of parts that do not tell theirs.",
    ),
    Parameter(
        "max_document_size", "64M", "SIZE", size,
        "A larger document is a problem, not read: bytes, or a number with K, M or G. Holds for files, rows, lines and messages.",
    ),
    Parameter(
        "max_unpacked_size", "4G", "SIZE", size,
        "A compressed file (gzip, xz, bzip2) of many documents that unpacks to more is an error.",
    ),
)  # fmt: skip
"""How documents are read. A model remembers it."""


INPUT = (
    Parameter(
        "files_from", None, "FILE", text,
        "Read further CORPUS paths from a file, or from standard input for -, one a line; a line that is only - is a file of that name. Where classes "
        "are needed, as in train, a path is a whole corpus and not one document.",
    ),
    Parameter("null", False, "", flag, "The list of --files-from has NUL instead of line ends, as find -print0 writes it."),
    Parameter(
        "on_error", "record", "WHAT", one_of("record", "skip", "fail"),
        "A document that cannot be read is told of and makes the exit status 1. record: the others are read, and classify has a record for it "
        "that says why; skip: there is no record; fail: end at once, nothing is written.",
    ),
)  # fmt: skip
"""Where documents are found, and what to do with one that cannot be read. A model does not remember it."""


TRAINING = (
    Parameter("classifier", "multinomial", "NAME", one_of(*CLASSIFIERS), f"The kind of model: {', '.join(CLASSIFIERS)}."),
    Parameter("language", "english", "NAME", one_of(*LANGUAGES), f"Language of stop words and stemmer: {', '.join(LANGUAGES)}."),
    Parameter(
        "stop_words", "default", "NAME|FILE", text,
        "Words to leave out: default (the language's list), another language's list, a file of words, or none.",
    ),
    Parameter(
        "stemmer", "snowball", "NAME", one_of("snowball", "none", *SNOWBALL_STEMMERS, *NLTK_STEMMERS),
        f"Reduces words to stems: snowball (that of the language), none, Snowball's for another language by its name, or one of nltk's: {', '.join(NLTK_STEMMERS)}.",
    ),
    Parameter(
        "surface_forms", False, "", flag,
        "Also count words as they stand where their stem is another, for select-features, generate and inspect --term to show; answers stay as they are. Training takes longer, "
        "and the model is larger.",
    ),
    Parameter("ngrams", 1, "N", number(int, 1, 10, "a whole number from 1 to 10"), "Also count sequences of up to N adjacent terms."),
    Parameter(
        "char_ngrams", None, "N|N-M", span,
        "Also count the sequences of N to M characters in each word that is no stop word, before stemming; the word's beginning and end count as "
        "a character each.",
    ),
    Parameter("min_df", 1, "N", whole(1, "a whole number from 1"), "Leave out terms that fewer than N documents hold."),
    Parameter("max_df", 1.0, "SHARE", number(float, 0, 1, "a share from 0 to 1"), "Leave out terms that a larger share of documents hold."),
    Parameter(
        "max_terms", None, "N", whole(1, "a whole number from 1"),
        "Keep no more than N terms, n-grams included, while counting, those in most documents, for corpora whose vocabulary does not fit into memory. "
        "A term left out that comes again begins anew, so counts may be too low; -v tells by how much at most.",
    ),
    Parameter("top", None, "N", whole(1, "a whole number from 1"), "Keep the N most informative terms."),
    Parameter("by", "mutual-information", "CRITERION", one_of(*CRITERIA), f"What makes a term informative: {', '.join(CRITERIA)}."),
    Parameter(
        "weighting", "counts", "NAME", one_of(*WEIGHTINGS),
        "What a term of a document counts for: counts (n, how often it occurs), binary (1), log (log(1 + n)), or tfidf (log(1 + n) times the logarithm of "
        "documents over those that hold it, each document scaled to unit length).",
    ),
    Parameter(
        "smoothing", "auto", "auto|leave-one-out|A|FILE",
        one_of("auto", "leave-one-out", otherwise=pseudo_counts, wanted="0, a number from 1e-12 to 1e12, or such numbers by term with one for '*', all others"),
        "Pseudo-count added to each count; auto takes the one under which the class counts are most probable (evidence), leave-one-out the one under "
        "which sampled documents are, each by its own class without it; both at most 1 per term. A file gives terms their own: lines of a term, a tab "
        "and a number, and one of * for all others.",
    ),
    Parameter(
        "prior_shape", "symmetric", "SHAPE", one_of("symmetric", "background"),
        "Shape of the Dirichlet prior: symmetric (the same for all terms) or background (in proportion to the whole corpus; smoothing is then its "
        "total).",
    ),
    Parameter("estimate", "mean", "NAME", one_of("mean", "map", "ml"), "Estimate of term probabilities: mean of the posterior, map (its mode), or ml (maximum likelihood)."),
    Parameter(
        "l2", "auto", "auto|A", one_of("auto", otherwise=number(float, 1e-6, 1e9, ""), wanted="a number from 1e-6"),
        "Only for logistic: A/2 times the sum of squared weights is added to the negative log-likelihood of the documents (A is 1/C elsewhere); auto "
        "takes the A under which documents held out, one in five, are most probable.",
        only_for="logistic",
    ),
    Parameter(
        "latent", 100, "N", number(int, 1, 10000, "a whole number from 1 to 10,000"),
        "For gaussian: describe documents by N latent features (singular value decomposition of tf-idf), or as many as there are.",
        only_for="gaussian",
    ),
    Parameter(
        "covariance", "shared", "NAME", one_of("shared", "separate"),
        "For gaussian: shared (all classes have one covariance, boundaries are linear) or separate (each has its own, they are quadratic).",
        only_for="gaussian",
    ),
    Parameter(
        "covariance_shape", "full", "SHAPE", one_of("full", "diagonal", "spherical"),
        "For gaussian: full, diagonal (features are independent in a class; with --covariance separate Gaussian naive Bayes) or spherical (and vary alike).",
        only_for="gaussian",
    ),
    Parameter(
        "shrinkage", "auto", "auto|W", one_of("auto", otherwise=number(float, 0, 1, ""), wanted="a number from 0 to 1"),
        "For gaussian: weight of the simpler covariance that one is drawn towards, so that it has an inverse with few documents: a shared one towards a sphere, "
        "separate ones towards the shared one. 0 is maximum likelihood; auto goes by the scatter and number of documents.",
        only_for="gaussian",
    ),
    Parameter(
        "class_prior", "empirical", "KIND|FILE",
        one_of("empirical", "uniform", otherwise=prior, wanted="smoothed:A or a number of at least 0 for each class"),
        "Class probabilities before reading: empirical, uniform, smoothed:A, or a file of lines with a class, a tab and a weight.",
    ),
    Parameter(
        "calibration", "auto", "NAME", one_of("auto", *CALIBRATIONS, "none"),
        "How scores become probabilities that can be believed, learnt from the sample, each document left out of the model: length (a temperature that "
        "grows with the document's length), temperature (one for all), isotonic (length, then a curve), or none, the posterior of the textbook. auto is length, "
        "and none with maximum likelihood.",
    ),
    Parameter("sample", 4096, "N", number(int, 0, 1 << 20, "a whole number from 0 to 1,048,576"), "How many training documents the model keeps as term counts, to be calibrated from; 0 for none."),
)  # fmt: skip
"""How a model is made. A model remembers it."""


ANALYSIS = ("language", "stop_words", "stemmer", "ngrams", "char_ngrams")
"""The parameters that decide how a text becomes terms."""


COUNTING = (*ANALYSIS, "surface_forms", "max_terms", "sample")
"""The parameters that decide what is counted; all others decide what is made of the counts."""


def checked(table: tuple[Parameter, ...], values: Mapping[str, object]) -> dict[str, Any]:
    """Canonical values of all parameters of a table, defaults where ``values`` has none; raises `UsageError` for a wrong or unknown one."""
    known = {parameter.name for parameter in table}
    for name in values:
        if name not in known:
            raise UsageError(f"there is no parameter {name!r}", hint=f"known are {', '.join(sorted(known))}")
    return {parameter.name: parameter.checked(values.get(parameter.name, parameter.default)) for parameter in table}

"""Everything that can be set, declared once: name, default, range and meaning feed the checks, the options and the reference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from nbtext import parameter_checks as checks
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
        return self.check.choices if isinstance(self.check, checks.OneOf) else ()

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
        "format", "auto", "NAME", checks.one_of("auto", *FORMATS),
        "How a corpus is laid out: dir (one sub-directory per class), csv (quoted), tsv (a quote is a character), jsonl (one JSON object a "
        "line), lines (one document a line, no labels), fasttext (__label__x text), svmlight (counted features), mbox or maildir (the class "
        "is the name of the file or folder). auto goes by directory and name; for training also by the first line.",
    ),
    Parameter(
        "document", "text", "KIND", checks.one_of("text", "html", "mail"),
        "How one document's bytes become text: text as it is; html: what a browser shows; mail: chosen headers and the text parts of a "
        "message. Always mail for mbox and maildir.",
    ),
    Parameter("headers", "subject", "NAMES", checks.names, "Which headers of a mail count, with commas between them."),
    Parameter("drop_quotes", False, "", checks.flag, "Leave out of a mail what it quotes of the one it answers."),
    Parameter("drop_signatures", False, "", checks.flag, 'Leave out of a mail what follows the last line that is only "--".'),
    Parameter(
        "label_column", None, "COLUMN", checks.column,
        "Column of the class: a name (the table has a header line) or a number from 1, by default 1; in jsonl a key, by default label.",
    ),
    Parameter(
        "text_column", None, "COLUMN", checks.column,
        "Column of the text: a name or a number from 1, by default 2; in jsonl a key (a.b for b inside a), by default text. none: there is no text.",
    ),
    Parameter("id_column", None, "COLUMN", checks.column, "Column of the document's name: a name, number or key; else it is file and line."),
    Parameter(
        "categorical", None, "COLUMNS", checks.columns,
        "Columns or keys, with commas between them, whose values are categories; each adds its likelihood to that of the text. With attributes there "
        "is a text only if --text-column is given.",
    ),
    Parameter("count", None, "COLUMNS", checks.columns, "The same for columns of whole numbers from 0, such as how often something happened."),
    Parameter("numeric", None, "COLUMNS", checks.columns, "The same for columns of real numbers. An empty cell is a value that is not known."),
    Parameter("header", None, "", checks.flag, "Whether a table begins with a header line; by default if a column is given by name."),
    Parameter("delimiter", None, "CHARACTER", checks.delimiter, "Between columns: by default a comma for csv, a tab for tsv."),
    Parameter(
        "encoding", "auto", "NAME", checks.encoding,
        "Encoding of the documents; auto takes a byte order mark's word, then UTF-8, then Windows-1252 for a document that is not UTF-8. "
        "In mail it is that of parts that do not tell theirs.",
    ),
    Parameter(
        "max_document_size", "64M", "SIZE", checks.size,
        "A larger document is a problem, not read: bytes, or a number with K, M or G. Holds for files, rows, lines and messages.",
    ),
    Parameter(
        "max_unpacked_size", "4G", "SIZE", checks.size,
        "A compressed file (gzip, xz, bzip2) of many documents that unpacks to more is an error.",
    ),
)  # fmt: skip
"""How documents are read. A model remembers it."""

INPUT = (
    Parameter(
        "files_from", None, "FILE", checks.text,
        "Read further CORPUS paths from a file, or from standard input for -, one a line; a line that is only - is a file of that name. Where classes "
        "are needed, as in train, a path is a whole corpus and not one document.",
    ),
    Parameter("null", False, "", checks.flag, "The list of --files-from has NUL instead of line ends, as find -print0 writes it."),
    Parameter(
        "on_error", "record", "WHAT", checks.one_of("record", "skip", "fail"),
        "A document that cannot be read is told of and makes the exit status 1. record: the others are read, and classify has a record for it "
        "that says why; skip: there is no record; fail: end at once, nothing is written.",
    ),
)  # fmt: skip
"""Where documents are found, and what to do with one that cannot be read. A model does not remember it."""

TRAINING = (
    Parameter("classifier", "multinomial", "NAME", checks.one_of(*CLASSIFIERS), f"The kind of model: {', '.join(CLASSIFIERS)}."),
    Parameter("language", "english", "NAME", checks.one_of(*LANGUAGES), f"Language of stop words and stemmer: {', '.join(LANGUAGES)}."),
    Parameter(
        "stop_words", "default", "NAME|FILE", checks.text,
        "Words to leave out: default (the language's list), another language's list, a file of words, or none.",
    ),
    Parameter(
        "stemmer", "snowball", "NAME", checks.one_of("snowball", "none", *SNOWBALL_STEMMERS, *NLTK_STEMMERS),
        f"Reduces words to stems: snowball (that of the language), none, Snowball's for another language by its name, or one of nltk's: {', '.join(NLTK_STEMMERS)}.",
    ),
    Parameter(
        "surface_forms", False, "", checks.flag,
        "Also count words as they stand where their stem is another, for select-features, generate and inspect --term to show; answers stay as they are. Training takes longer, "
        "and the model is larger.",
    ),
    Parameter("ngrams", 1, "N", checks.number(int, 1, 10, "a whole number from 1 to 10"), "Also count sequences of up to N adjacent terms."),
    Parameter(
        "char_ngrams", None, "N|N-M", checks.span,
        "Also count the sequences of N to M characters in each word that is no stop word, before stemming; the word's beginning and end count as "
        "a character each.",
    ),
    Parameter("min_df", 1, "N", checks.whole(1, "a whole number from 1"), "Leave out terms that fewer than N documents hold."),
    Parameter("max_df", 1.0, "SHARE", checks.number(float, 0, 1, "a share from 0 to 1"), "Leave out terms that a larger share of documents hold."),
    Parameter(
        "max_terms", None, "N", checks.whole(1, "a whole number from 1"),
        "Keep no more than N terms, n-grams included, while counting, those in most documents, for corpora whose vocabulary does not fit into memory. "
        "A term left out that comes again begins anew, so counts may be too low; -v tells by how much at most.",
    ),
    Parameter("top", None, "N", checks.whole(1, "a whole number from 1"), "Keep the N most informative terms."),
    Parameter("by", "mutual-information", "CRITERION", checks.one_of(*CRITERIA), f"What makes a term informative: {', '.join(CRITERIA)}."),
    Parameter(
        "weighting", "counts", "NAME", checks.one_of(*WEIGHTINGS),
        "What a term of a document counts for: counts (n, how often it occurs), binary (1), log (log(1 + n)), or tfidf (log(1 + n) times the logarithm of "
        "documents over those that hold it, each document scaled to unit length).",
    ),
    Parameter(
        "smoothing", "auto", "auto|leave-one-out|A|FILE",
        checks.one_of("auto", "leave-one-out", otherwise=checks.pseudo_counts, wanted="0, a number from 1e-12 to 1e12, or such numbers by term with one for '*', all others"),
        "Pseudo-count added to each count; auto takes the one under which the class counts are most probable (evidence), leave-one-out the one under "
        "which sampled documents are, each by its own class without it; both at most 1 per term. A file gives terms their own: lines of a term, a tab "
        "and a number, and one of * for all others.",
    ),
    Parameter(
        "prior_shape", "symmetric", "SHAPE", checks.one_of("symmetric", "background"),
        "Shape of the Dirichlet prior: symmetric (the same for all terms) or background (in proportion to the whole corpus; smoothing is then its "
        "total).",
    ),
    Parameter("estimate", "mean", "NAME", checks.one_of("mean", "map", "ml"), "Estimate of term probabilities: mean of the posterior, map (its mode), or ml (maximum likelihood)."),
    Parameter(
        "l2", "auto", "auto|A", checks.one_of("auto", otherwise=checks.number(float, 1e-6, 1e9, ""), wanted="a number from 1e-6"),
        "Only for logistic: A/2 times the sum of squared weights is added to the negative log-likelihood of the documents (A is 1/C elsewhere); auto "
        "takes the A under which documents held out, one in five, are most probable.",
        only_for="logistic",
    ),
    Parameter(
        "latent", 100, "N", checks.number(int, 1, 10000, "a whole number from 1 to 10,000"),
        "For gaussian: describe documents by N latent features (singular value decomposition of tf-idf), or as many as there are.",
        only_for="gaussian",
    ),
    Parameter(
        "covariance", "shared", "NAME", checks.one_of("shared", "separate"),
        "For gaussian: shared (all classes have one covariance, boundaries are linear) or separate (each has its own, they are quadratic).",
        only_for="gaussian",
    ),
    Parameter(
        "covariance_shape", "full", "SHAPE", checks.one_of("full", "diagonal", "spherical"),
        "For gaussian: full, diagonal (features are independent in a class; with --covariance separate Gaussian naive Bayes) or spherical (and vary alike).",
        only_for="gaussian",
    ),
    Parameter(
        "shrinkage", "auto", "auto|W", checks.one_of("auto", otherwise=checks.number(float, 0, 1, ""), wanted="a number from 0 to 1"),
        "For gaussian: weight of the simpler covariance that one is drawn towards, so that it has an inverse with few documents: a shared one towards a sphere, "
        "separate ones towards the shared one. 0 is maximum likelihood; auto goes by the scatter and number of documents.",
        only_for="gaussian",
    ),
    Parameter(
        "class_prior", "empirical", "KIND|FILE",
        checks.one_of("empirical", "uniform", otherwise=checks.prior, wanted="smoothed:A or a number of at least 0 for each class"),
        "Class probabilities before reading: empirical, uniform, smoothed:A, or a file of lines with a class, a tab and a weight.",
    ),
    Parameter(
        "calibration", "auto", "NAME", checks.one_of("auto", *CALIBRATIONS, "none"),
        "How scores become probabilities that can be believed, learnt from the sample, each document left out of the model: length (a temperature that "
        "grows with the document's length), temperature (one for all), isotonic (length, then a curve), or none, the posterior of the textbook. auto is length, "
        "and none with maximum likelihood.",
    ),
    Parameter("sample", 4096, "N", checks.number(int, 0, 1 << 20, "a whole number from 0 to 1,048,576"), "How many training documents the model keeps as term counts, to be calibrated from; 0 for none."),
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

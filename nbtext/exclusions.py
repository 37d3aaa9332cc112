"""What goes with what: one table of what settings, options and commands need, and what they take away.

A row is something asked for. Two rows exclude each other if one needs a trait that the other lacks; a row that needs an option is refused without it.
Kinds of models lack what they do not offer. Training, tune, the command line, the docs and the test of all pairs read this table.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from itertools import compress, permutations
from typing import TYPE_CHECKING, NamedTuple

from nbtext.document_parts import NO_TEXT, Attributes
from nbtext.errors import UsageError
from nbtext.settings import AVERAGE, READING, TRAINING, Settings

if TYPE_CHECKING:
    from nbtext.prediction.posterior import Posterior

TRAITS = {
    "sums": "a model of that kind does not follow from sums of counts",
    "labelled": "it cannot be updated exactly",
    "from-sums": "its counts would not be those of the labelled documents",
    "weights": "that model counts all documents alike",
    "joins": "they join the counts of --classifier multinomial",
    "leave-one-out": "it is exact only for --classifier multinomial without tf-idf",
    "evidence": "evidence, AIC and BIC are those of --classifier multinomial --weighting counts, bernoulli and gaussian",
    "mixes": "p(m | data) is of models of the same counts that have an evidence",
    "prior": "its scores have no class prior",
    "symmetric": "the numbers themselves are the shape",
    "background": "it takes symmetric",
    "own": "it takes one pseudo-count for all terms",
    "two": "bernoulli alone takes two numbers, of documents with a term and without",
    "attributes": "its scores are not log-likelihoods, so those of columns cannot be added to them",
    "posterior": "maximum likelihood has no prior",
    "smoothed": "a count of 0 would decide alone",
    "sample": "documents must be kept",
    "calibrated": "its weight is chosen by calibrated answers",
    "free": "labels choose the terms",
    "equal": "all classes must weigh alike",
    "source": "only one of them can be read",
    "text": "one of them is the text",
    "records": "a mail filter reads one message and writes it",
    "messages": "one asks for more messages, the other for none",
    "here": "the cluster does the counting",
    "labels": "all documents have the one label",
    "pool": "one learns from a pool, the other forgets it",
    "single": "a set of classes has no single answer",
    "shares": "the promise is for the class shares of training",
    "folds": "each document is left out alone",
    "draws": "documents are divided by time, not at random",
    "thresholds": "each of them says which labels are given",
    "contributions": "it shows changes of the document",
    "mode": "only one of them can be done",
    "rows": "the form is given by the other",
    "alone": "there must be no columns beside the text",
    "several": "it is for documents of one label",
}
"""Each trait: why rows that need it exclude those that lack it."""

REMEDIES = {
    "sums": "train it again on all documents",
    "labelled": "give --unlabelled POOL or --drop-unlabelled to nbtext update or forget, or train it again",
    "weights": "multinomial, bernoulli, complement and logistic take weights",
    "leave-one-out": "use folds, or for --smoothing auto or a number",
    "evidence": "cross-validate others",
    "mixes": "name one of multinomial and bernoulli, with several pseudo-counts: multinomial:0.1+multinomial:1",
    "prior": "leave it out, or take another classifier",
    "own": "give --smoothing one number",
    "two": "give --smoothing one number",
    "attributes": "leave out the classifier, or the columns",
    "posterior": "use --estimate mean",
    "smoothed": "give --smoothing a number above 0, and no --estimate ml",
    "sample": "train with a --sample above 0",
    "here": "use --jobs without --scheduler",
    "alone": "leave out the columns",
    "several": "leave it out; multinomial, bernoulli and logistic take several labels",
}
"""What to do where rows exclude each other by a trait, if not to leave one of them out."""

_MULTINOMIAL = "sums weights joins leave-one-out prior background own attributes"
KINDS = {
    "multinomial": {
        "counts": f"{_MULTINOMIAL} evidence mixes several",
        "binary": f"{_MULTINOMIAL} several",
        "log": f"{_MULTINOMIAL} several",
        "tfidf": "prior background own attributes",
    },
    "complement": {**dict.fromkeys(("counts", "binary", "log"), "sums weights background own"), "tfidf": "background own"},
    "bernoulli": dict.fromkeys(("counts", "binary"), "sums weights prior own two attributes several evidence mixes"),
    "gaussian": {"counts": "prior background attributes evidence"},
    "logistic": dict.fromkeys(("counts", "tfidf"), "weights prior background attributes several"),
    AVERAGE: {"counts": ""},
}
"""What each classifier offers with each weighting that it takes. An average besides offers what `_OF_ALL_MEMBERS` names if all members do."""

_OFFERED = frozenset(_MULTINOMIAL.split()) | {"evidence", "mixes", "two", "several"}
_OF_ALL_MEMBERS = frozenset({"sums", "weights", "prior", "mixes", "attributes"})
_NEEDED = {"complement": "smoothed", "logistic": "smoothed"}


class Row(NamedTuple):
    """Something asked for: what it is called, the traits that it needs and lacks, and what to do without it if that is not what the trait says.

    Traits have blanks between them. In `EVERYWHERE` and `COMMANDS` a row is about several options, with blanks between them, ``--output=csv`` for a value.
    """

    name: str
    needs: str = ""
    lacks: str = ""
    instead: str = ""
    wants: str = ""
    """Options of which one must be given too."""


SEED_WORDS = Row("--seeds", needs="joins posterior free", lacks="several")
POOL = Row("--unlabelled", needs="joins smoothed free from-sums sample calibrated equal alone", lacks="several")
DOCUMENT_WEIGHTS = Row("weights of documents", needs="weights alone")
EXACT_CHANGE = Row("an exact change of a model", needs="sums labelled")
LEARNT_UNLABELLED = Row("what it learnt from unlabelled documents", lacks="labelled")
CRITERIA = Row("a comparison by evidence, AIC or BIC", needs="evidence", lacks="several", instead="use nbtext cross-validate or tune")
CLUSTER = Row("--scheduler", needs="sums", lacks="here")
PATCH = Row("--relabel", needs="here")
SEVERAL_LABELS = Row("documents of several labels", needs="several")
MISTAKES = Row("--errors", lacks="several", instead="leave it out; nbtext suspects lists labels that may be wrong")
OTHER_SHARES = Row("--prior-from", lacks="several", instead="leave it out; nbtext prevalence estimates the shares")
JOINED_LABELS = Row("relabel to a label that is there", lacks="several", instead="relabel the documents, and train again")
LEAVE_ONE_OUT = Row("leave-one-out", needs="leave-one-out")


def _offers(settings: Settings) -> frozenset[str]:
    """Return the traits that the classifier offers; raise `UsageError` if it does not take the weighting."""
    kinds = KINDS[settings.classifier]
    if settings.weighting not in kinds:
        raise UsageError(
            f"--classifier {settings.classifier} and --weighting {settings.weighting} exclude each other",
            hint=f"it takes {', '.join(kinds)}",
        )
    offered = frozenset(kinds[settings.weighting].split())
    if settings.classifier == AVERAGE:
        offered |= _OF_ALL_MEMBERS.intersection(*(_offers(member) for member in settings.models))
        if len({(member.classifier, member.weighting) for member in settings.models}) > 1:
            offered -= {"mixes"}
    return offered


def _settings_rows(settings: Settings) -> Iterator[Row]:
    """Yield the rows of training settings."""
    classifier, weighting = settings.classifier, settings.weighting
    lacking = _OFFERED - _offers(settings)
    by_weighting = lacking.intersection(KINDS[classifier]["counts"].split() if weighting != "counts" else ())
    lacking -= by_weighting
    needed = " ".join(_NEEDED.get(each.classifier, "") for each in settings.models)
    if classifier == AVERAGE:
        yield Row(f"--members {settings.members}", needed, " ".join(lacking & _OF_ALL_MEMBERS))
        lacking -= _OF_ALL_MEMBERS
        needed = ""
    yield Row(f"--classifier {classifier}", needed, " ".join(lacking))
    yield Row(f"--weighting {weighting}", lacks=" ".join(by_weighting))
    asked = {
        Row("p(m | data) of --members", needs="mixes posterior smoothed"): settings.is_mixture,
        Row(f"--prior-shape {settings.prior_shape}", needs="background", lacks="symmetric"): settings.prior_shape != "symmetric",
        Row("--class-prior", needs="prior"): settings.class_prior not in ("empirical", "uniform"),
        Row("--class-prior FILE", lacks="several"): not isinstance(settings.class_prior, str),
        Row(f"--class-weight {settings.class_weight}", needs="weights alone", lacks="equal several"): settings.class_weight is not None,
        Row("--weight-column", needs="weights alone"): settings.reading.weight_column not in (None, NO_TEXT),
        Row("--categorical, --count or --numeric", needs="attributes", lacks="alone several"): Attributes.of(settings.reading).names,
        Row(f"--top {settings.top}", lacks="free"): settings.top is not None,
        Row("--sample 0", lacks="sample"): not settings.sample,
        Row("--calibration none", lacks="calibrated"): settings.calibration == "none",
        Row("--estimate ml", lacks="posterior smoothed several"): settings.estimate == "ml",
        Row("--smoothing 0", lacks="smoothed several"): any(each.smoothing == 0 for each in settings.models),
        Row("--smoothing leave-one-out", needs="leave-one-out sample", lacks="from-sums several"): settings.smoothing == "leave-one-out",
        Row("--smoothing A,B", needs="two"): isinstance(settings.smoothing, tuple),
        Row("--smoothing FILE", needs="own symmetric"): not isinstance(settings.smoothing, str | float | int | tuple),
    }
    yield from compress(asked, asked.values())


def needs_documents(settings: Settings) -> bool:
    """Return True if a model of these settings does not follow from sums of counts; raise `UsageError` for settings that exclude each other."""
    require_fitting(settings)
    return "sums" not in _offers(settings)


OF_READING, OF_ANALYSIS = (
    " ".join(each.option for each in table) for table in (READING, [each for each in TRAINING if each.decides == "terms"])
)

EVERYWHERE = (
    Row("--text --from-folder", needs="source", lacks="source"),
    Row("CORPUS --files-from", lacks="source"),
    Row("--file-column", needs="text"),
    Row("--text-column --text", lacks="text"),
    Row("--null", wants="--files-from"),
    Row("--verbose", needs="messages"),
    Row("--quiet", lacks="messages"),
    Row("--scheduler", lacks="here"),
    Row("--backend=dask", wants="--scheduler"),
    Row("--once --jobs --relabel", needs="here"),
    Row("--label", needs="labels"),
    Row("--from-folder --relabel --label-column", lacks="labels"),
    Row("--unlabelled --drop-unlabelled", needs="pool", lacks="pool"),
    Row("--coverage", needs="shares", lacks="single thresholds"),
    Row("--costs", lacks="thresholds"),
    Row("--decide", needs="thresholds"),
    Row("--costs --min-probability --limit --scores", needs="single"),
    Row("--min-precision", needs="shares single"),
    Row("--prior-from", lacks="shares"),
    Row("--fail-under-interval", wants="--fail-under --fail-over"),
)
"""Of all commands that have these options."""

COMMANDS = {
    "classify": (
        Row("--batch", wants="--lines"),
        Row("--lines", needs="source", lacks="source"),
        Row("--scores", wants="--output=jsonl"),
        Row("--by-class", wants="--coverage --min-precision"),
        Row("--mail-filter", lacks="records source"),
        Row(
            "--text --files-from --null --format --output --excel-safe --limit --scores --drift --lines --batch --exit-status-abstained --coverage "
            "--prior-from",
            needs="records",
        ),
    ),
    "cross-validate": (
        Row("--leave-one-out", lacks="folds"),
        Row("--folds --repeats --seed --group-column --time-column", needs="folds"),
        Row("--time-column", lacks="draws"),
        Row("--repeats --seed --group-column", needs="draws"),
    ),
    "evaluate": (Row("--by-class", wants="--coverage --min-precision"),),
    "explain": (
        Row("--why-not", lacks="contributions"),
        Row("--against --to", needs="contributions"),
        Row("--to", lacks="rows"),
        Row("--output", needs="rows"),
    ),
    "inspect": (
        Row("--by-class", wants="--thresholds"),
        Row(OF_READING, wants="--perplexity"),
    ),
    "label": (Row("--suggest --take --review", needs="mode", lacks="mode"),),
    "suspects": (
        Row("--null", wants="--files-from --paths"),
        Row("--paths --print0", lacks="rows"),
        Row("--output", needs="rows"),
    ),
    "tokens": (Row(OF_ANALYSIS, wants="--model=none --no-model"),),
}
"""Of one command besides."""


def _entries(command: str) -> Iterator[Row]:
    """Yield the entries about a command; what its own say that an option wants stands for what it wants everywhere."""
    own = COMMANDS.get(command, ())
    with_own_wants = {name for each in own if each.wants for name in each.name.split()}
    for each in EVERYWHERE:
        names = [name for name in each.name.split() if not (each.wants and name in with_own_wants)]
        if names:
            yield each._replace(name=" ".join(names))
    yield from own


def _options_rows(command: str, given: Mapping[str, str]) -> Iterator[Row]:
    """Yield the rows of options that were given to a command, by name with their values, CORPUS among them.

    Raise `UsageError` for one that is given without another.
    """

    def is_given(name: str) -> bool:
        option, equals, value = name.partition("=")
        return option in given and (not equals or given[option] == value)

    for entry in _entries(command):
        for name in filter(is_given, entry.name.split()):
            if entry.wants and not any(map(is_given, entry.wants.split())):
                wanted = entry.wants.replace("=", " ").split(" --")
                raise UsageError(f"{name.replace('=', ' ')} needs {' or --'.join(wanted)}")
            yield entry._replace(name=name.replace("=", " "))


def require_options(command: str, given: Mapping[str, str]) -> None:
    """Raise `UsageError` if options of a command exclude each other, or one is given without another that it needs."""
    _require_no_clash(*_options_rows(command, given))


def options_in_words(command: str, names: Container[str]) -> Iterator[str]:
    """Yield a line for each rule of the table about options of a command."""
    having: dict[str, tuple[list[str], list[str]]] = {}
    for entry in _entries(command):
        there = [name.replace("=", " ") for name in entry.name.split() if name.partition("=")[0] in names]
        if there and entry.wants:
            wanted = [name.replace("=", " ") for name in entry.wants.split() if name.partition("=")[0] in names]
            yield f"{' and '.join(there)} {'needs' if len(there) == 1 else 'need'} {' or '.join(wanted)}."
        for side, traits in enumerate((entry.needs, entry.lacks)):
            for trait in traits.split():
                having.setdefault(trait, ([], []))[side].extend(there)
    for trait, (needing, lacking) in having.items():
        if needing and lacking and len({*needing, *lacking}) > 1:
            yield f"{', '.join(dict.fromkeys(lacking))} / {', '.join(dict.fromkeys(needing))}: {TRAITS[trait]}."


def rows_of(kind: type[Posterior]) -> tuple[Row, ...]:
    """Return what documents with labels of a kind need."""
    return () if kind.is_exclusive else (SEVERAL_LABELS,)


def require_fitting(settings: Settings, *rows: Row) -> None:
    """Raise `UsageError` if settings, or what is asked of a model with them, exclude each other."""
    _require_no_clash(*rows, *_settings_rows(settings))


def _require_no_clash(*rows: Row) -> None:
    """Raise `UsageError` if two rows exclude each other, naming both, the one that needs first."""
    for one, other in permutations(rows, 2):
        if clashing := {*one.needs.split()}.intersection(other.lacks.split()):
            trait = min(clashing)
            hint = other.instead or REMEDIES.get(trait, "leave one of them out")
            raise UsageError(f"{one.name} and {other.name} exclude each other: {TRAITS[trait]}", hint=hint)

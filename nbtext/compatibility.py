"""What goes with what: one table of what settings, options and commands need, and what they lack.

A row is something asked for, with the traits of `nbtext.traits` that it needs and that it lacks.
Two rows exclude each other if one needs a trait that the other lacks; kinds of models lack what
they do not offer. Training, tune, the command line, the docs and the test of all pairs read this.

To extend it: a classifier is a line in `KINDS`, a setting a condition and a row in `OF_SETTINGS`,
an option a row in `EVERYWHERE` or `COMMANDS`, and what else can be asked of a model is a `Row` that
the caller gives to `require_fitting`.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import chain, permutations
from operator import attrgetter
from typing import TYPE_CHECKING

from nbtext import traits
from nbtext.document_fields import NO_TEXT, Attributes
from nbtext.errors import UsageError
from nbtext.settings import AVERAGE, READING, TRAINING, Settings

if TYPE_CHECKING:
    from nbtext.prediction.posterior import Posterior
    from nbtext.traits import Trait

_MULTINOMIAL = (
    traits.SUMS,
    traits.WEIGHTS,
    traits.JOINS,
    traits.LEAVE_ONE_OUT,
    traits.PRIOR,
    traits.BACKGROUND,
    traits.OWN,
    traits.ATTRIBUTES,
)
_COMPLEMENT = (traits.SUMS, traits.WEIGHTS, traits.BACKGROUND, traits.OWN)
_BERNOULLI = (
    traits.SUMS,
    traits.WEIGHTS,
    traits.PRIOR,
    traits.OWN,
    traits.TWO,
    traits.ATTRIBUTES,
    traits.SEVERAL,
    traits.EVIDENCE,
    traits.MIXES,
)
_LOGISTIC = (traits.WEIGHTS, traits.PRIOR, traits.BACKGROUND, traits.ATTRIBUTES, traits.SEVERAL)

KINDS: Mapping[str, Mapping[str, Sequence[Trait]]] = {
    "multinomial": {
        "counts": (*_MULTINOMIAL, traits.EVIDENCE, traits.MIXES, traits.SEVERAL),
        "binary": (*_MULTINOMIAL, traits.SEVERAL),
        "log": (*_MULTINOMIAL, traits.SEVERAL),
        "tfidf": (traits.PRIOR, traits.BACKGROUND, traits.OWN, traits.ATTRIBUTES),
    },
    "complement": {
        "counts": _COMPLEMENT,
        "binary": _COMPLEMENT,
        "log": _COMPLEMENT,
        "tfidf": (traits.BACKGROUND, traits.OWN),
    },
    "bernoulli": {"counts": _BERNOULLI, "binary": _BERNOULLI},
    "gaussian": {"counts": (traits.PRIOR, traits.BACKGROUND, traits.ATTRIBUTES, traits.EVIDENCE)},
    "logistic": {"counts": _LOGISTIC, "tfidf": _LOGISTIC},
    AVERAGE: {"counts": ()},
}
"""What each classifier offers with each weighting that it takes, in the order of the reference.

An average besides offers what `_OF_ALL_MEMBERS` names if all members do.
"""

_OFFERED_BY_SOME = frozenset(chain.from_iterable(kinds["counts"] for kinds in KINDS.values()))
_OF_ALL_MEMBERS = frozenset(
    {
        traits.SUMS,
        traits.WEIGHTS,
        traits.PRIOR,
        traits.MIXES,
        traits.ATTRIBUTES,
    }
)
_NEEDED_BY = {"complement": {traits.SMOOTHED}, "logistic": {traits.SMOOTHED}}

_NO_TRAITS: frozenset[Trait] = frozenset()
_by_name = attrgetter("name")


class Row:
    """Something asked for, by its name in messages, with the traits that it needs and lacks.

    ``instead`` says what to do without it, if that is not what the trait says.
    """

    def __init__(
        self,
        name: str,
        needs: AbstractSet[Trait] = _NO_TRAITS,
        lacks: AbstractSet[Trait] = _NO_TRAITS,
        instead: str = "",
    ) -> None:
        self.name = name
        self.needs = needs
        self.lacks = lacks
        self.instead = instead


SEED_WORDS = Row(
    "--seeds",
    needs={traits.JOINS, traits.POSTERIOR, traits.FREE},
    lacks={traits.SEVERAL},
)
POOL = Row(
    "--unlabelled",
    needs={
        traits.JOINS,
        traits.SMOOTHED,
        traits.FREE,
        traits.FROM_SUMS,
        traits.SAMPLE,
        traits.CALIBRATED,
        traits.EQUAL,
        traits.ALONE,
    },
    lacks={traits.SEVERAL},
)
DOCUMENT_WEIGHTS = Row("weights of documents", needs={traits.WEIGHTS, traits.ALONE})
EXACT_CHANGE = Row("an exact change of a model", needs={traits.SUMS, traits.LABELLED})
LEARNT_UNLABELLED = Row("what it learnt from unlabelled documents", lacks={traits.LABELLED})
CRITERIA = Row(
    "a comparison by evidence, AIC or BIC",
    needs={traits.EVIDENCE},
    lacks={traits.SEVERAL},
    instead="use nbtext cross-validate or tune",
)
CLUSTER = Row("--scheduler", needs={traits.SUMS}, lacks={traits.HERE})
PATCH = Row("--relabel", needs={traits.HERE})
SEVERAL_LABELS = Row("documents of several labels", needs={traits.SEVERAL})
MISTAKES = Row(
    "--errors",
    lacks={traits.SEVERAL},
    instead="leave it out; nbtext suspects lists labels that may be wrong",
)
OTHER_SHARES = Row(
    "--prior-from",
    lacks={traits.SEVERAL},
    instead="leave it out; nbtext prevalence estimates the shares",
)
JOINED_LABELS = Row(
    "relabel to a label that is there",
    lacks={traits.SEVERAL},
    instead="relabel the documents, and train again",
)
LEAVE_ONE_OUT = Row("leave-one-out", needs={traits.LEAVE_ONE_OUT})


def _is_mixture(settings: Settings) -> bool:
    return settings.is_mixture


def _has_prior_shape(settings: Settings) -> bool:
    return settings.prior_shape != "symmetric"


def _has_class_prior(settings: Settings) -> bool:
    return settings.class_prior not in ("empirical", "uniform")


def _has_class_prior_by_class(settings: Settings) -> bool:
    return not isinstance(settings.class_prior, str)


def _weighs_classes(settings: Settings) -> bool:
    return settings.class_weight is not None


def _reads_weights(settings: Settings) -> bool:
    return settings.reading.weight_column not in (None, NO_TEXT)


def _reads_attributes(settings: Settings) -> bool:
    return bool(Attributes.of(settings.reading).names)


def _selects_terms(settings: Settings) -> bool:
    return settings.top is not None


def _keeps_no_documents(settings: Settings) -> bool:
    return settings.sample == 0


def _is_not_calibrated(settings: Settings) -> bool:
    return settings.calibration == "none"


def _is_of_maximum_likelihood(settings: Settings) -> bool:
    return settings.estimate == "ml"


def _is_not_smoothed(settings: Settings) -> bool:
    return any(each.smoothing == 0 for each in settings.models)


def _is_smoothed_by_leave_one_out(settings: Settings) -> bool:
    return settings.smoothing == "leave-one-out"


def _has_two_pseudo_counts(settings: Settings) -> bool:
    return isinstance(settings.smoothing, tuple)


def _has_pseudo_counts_by_term(settings: Settings) -> bool:
    return not isinstance(settings.smoothing, str | float | int | tuple)


OF_SETTINGS: Sequence[tuple[Callable[[Settings], bool], Row]] = (
    (
        _is_mixture,
        Row(
            "p(m | data) of --set members",
            needs={traits.MIXES, traits.POSTERIOR, traits.SMOOTHED},
        ),
    ),
    (
        _has_prior_shape,
        Row(
            "--set prior-shape={prior_shape}",
            needs={traits.BACKGROUND},
            lacks={traits.SYMMETRIC},
        ),
    ),
    (_has_class_prior, Row("--class-prior", needs={traits.PRIOR})),
    (_has_class_prior_by_class, Row("--class-prior FILE", lacks={traits.SEVERAL})),
    (
        _weighs_classes,
        Row(
            "--class-weight {class_weight}",
            needs={traits.WEIGHTS, traits.ALONE},
            lacks={traits.EQUAL, traits.SEVERAL},
        ),
    ),
    (_reads_weights, Row("--weight-column", needs={traits.WEIGHTS, traits.ALONE})),
    (
        _reads_attributes,
        Row(
            "--categorical, --count or --numeric",
            needs={traits.ATTRIBUTES},
            lacks={traits.ALONE, traits.SEVERAL},
        ),
    ),
    (_selects_terms, Row("--top {top}", lacks={traits.FREE})),
    (_keeps_no_documents, Row("--set sample=0", lacks={traits.SAMPLE})),
    (_is_not_calibrated, Row("--calibration none", lacks={traits.CALIBRATED})),
    (
        _is_of_maximum_likelihood,
        Row(
            "--set estimate=ml",
            lacks={traits.POSTERIOR, traits.SMOOTHED, traits.SEVERAL},
        ),
    ),
    (_is_not_smoothed, Row("--smoothing 0", lacks={traits.SMOOTHED, traits.SEVERAL})),
    (
        _is_smoothed_by_leave_one_out,
        Row(
            "--smoothing leave-one-out",
            needs={traits.LEAVE_ONE_OUT, traits.SAMPLE},
            lacks={traits.FROM_SUMS, traits.SEVERAL},
        ),
    ),
    (_has_two_pseudo_counts, Row("--smoothing A,B", needs={traits.TWO})),
    (
        _has_pseudo_counts_by_term,
        Row("--smoothing FILE", needs={traits.OWN, traits.SYMMETRIC}),
    ),
)
"""Rows of training settings, each where its condition holds.

A name in braces stands for the value of that setting.
"""


class WithValue:
    """An option with one of its values."""

    def __init__(self, option: str, value: str) -> None:
        self.option = option
        self.value = value

    def __str__(self) -> str:
        """Return both as messages have them.

        >>> str(WithValue("--output", "csv"))
        '--output csv'
        """
        return f"{self.option} {self.value}"


if TYPE_CHECKING:
    Options = tuple[str | WithValue, ...]
    """Names of options, ``CORPUS`` among them, or options with one value."""


class OptionRow:
    """Options of a command, with the traits that each of them needs and lacks.

    ``wants`` are others, of which one must be given too.
    """

    def __init__(
        self,
        options: Options,
        needs: AbstractSet[Trait] = _NO_TRAITS,
        lacks: AbstractSet[Trait] = _NO_TRAITS,
        wants: Options = (),
    ) -> None:
        self.options = options
        self.needs = needs
        self.lacks = lacks
        self.wants = wants


_SHOWN = {each.option: each.shown for each in (*READING, *TRAINING)}
"""What messages call the options of parameters."""

OF_READING = tuple(each.option for each in READING)
OF_ANALYSIS = tuple(each.option for each in TRAINING if each.decides == "terms")

EVERYWHERE = (
    OptionRow(("--text", "--from-folder"), needs={traits.SOURCE}, lacks={traits.SOURCE}),
    OptionRow(("CORPUS", "--files-from"), lacks={traits.SOURCE}),
    OptionRow(("--file-column",), needs={traits.TEXT}),
    OptionRow(("--text-column", "--text"), lacks={traits.TEXT}),
    OptionRow(("--null",), wants=("--files-from",)),
    OptionRow(("--verbose",), needs={traits.MESSAGES}),
    OptionRow(("--quiet",), lacks={traits.MESSAGES}),
    OptionRow(("--scheduler",), lacks={traits.HERE}),
    OptionRow((WithValue("--backend", "dask"),), wants=("--scheduler",)),
    OptionRow(("--once", "--jobs", "--relabel"), needs={traits.HERE}),
    OptionRow(("--label",), needs={traits.LABELS}),
    OptionRow(("--from-folder", "--relabel", "--label-column"), lacks={traits.LABELS}),
    OptionRow(("--unlabelled", "--drop-unlabelled"), needs={traits.POOL}, lacks={traits.POOL}),
    OptionRow(
        ("--coverage",),
        needs={traits.SHARES},
        lacks={traits.SINGLE, traits.THRESHOLDS},
    ),
    OptionRow(("--costs",), lacks={traits.THRESHOLDS}),
    OptionRow(("--decide",), needs={traits.THRESHOLDS}),
    OptionRow(("--costs", "--min-probability", "--limit", "--scores"), needs={traits.SINGLE}),
    OptionRow(("--min-precision",), needs={traits.SHARES, traits.SINGLE}),
    OptionRow(("--prior-from",), lacks={traits.SHARES}),
    OptionRow(("--fail-under-interval",), wants=("--fail-under", "--fail-over")),
)
"""Of all commands that have these options."""

_BY_CLASS = OptionRow(("--by-class",), wants=("--coverage", "--min-precision"))

COMMANDS = {
    "classify": (
        OptionRow(("--batch",), wants=("--lines",)),
        OptionRow(("--lines",), needs={traits.SOURCE}, lacks={traits.SOURCE}),
        OptionRow(("--scores",), wants=(WithValue("--output", "jsonl"),)),
        _BY_CLASS,
        OptionRow(("--mail-filter",), lacks={traits.RECORDS, traits.SOURCE}),
        OptionRow(
            (
                "--text",
                "--files-from",
                "--null",
                "--format",
                "--output",
                "--excel-safe",
                "--limit",
                "--scores",
                "--drift",
                "--lines",
                "--batch",
                "--exit-status-abstained",
                "--coverage",
                "--prior-from",
            ),
            needs={traits.RECORDS},
        ),
    ),
    "cross-validate": (
        OptionRow(("--leave-one-out",), lacks={traits.FOLDS}),
        OptionRow(
            ("--folds", "--repeats", "--seed", "--group-column", "--time-column"),
            needs={traits.FOLDS},
        ),
        OptionRow(("--time-column",), lacks={traits.DRAWS}),
        OptionRow(("--repeats", "--seed", "--group-column"), needs={traits.DRAWS}),
    ),
    "evaluate": (_BY_CLASS,),
    "explain": (
        OptionRow(("--why-not",), lacks={traits.CONTRIBUTIONS}),
        OptionRow(("--against", "--to"), needs={traits.CONTRIBUTIONS}),
        OptionRow(("--to",), lacks={traits.ROWS}),
        OptionRow(("--output",), needs={traits.ROWS}),
    ),
    "inspect": (
        OptionRow(("--by-class",), wants=("--thresholds",)),
        OptionRow(OF_READING, wants=("--perplexity",)),
    ),
    "label": (
        OptionRow(
            ("--suggest", "--take", "--review"),
            needs={traits.MODE},
            lacks={traits.MODE},
        ),
    ),
    "suspects": (
        OptionRow(("--null",), wants=("--files-from", "--paths")),
        OptionRow(("--paths", "--print0"), lacks={traits.ROWS}),
        OptionRow(("--output",), needs={traits.ROWS}),
    ),
    "tokens": (OptionRow(OF_ANALYSIS, wants=(WithValue("--model", "none"), "--no-model")),),
}
"""Of one command besides."""


def needs_documents(settings: Settings) -> bool:
    """Return True if a model of these settings does not follow from sums of counts.

    Raise `UsageError` for settings that exclude each other.
    """
    require_fitting(settings)
    return traits.SUMS not in _offers(settings)


def rows_of(kind: type[Posterior]) -> tuple[Row, ...]:
    """Return what documents with labels of a kind need."""
    return () if kind.is_exclusive else (SEVERAL_LABELS,)


def require_fitting(settings: Settings, *rows: Row) -> None:
    """Raise `UsageError` if settings, or what is asked of a model with them, exclude each other."""
    _require_no_clash([*rows, *_settings_rows(settings)])


def require_options(command: str, given: Mapping[str, str]) -> None:
    """Raise `UsageError` if options exclude each other, or one lacks another that it needs.

    ``given`` has the value of each option, and of CORPUS, by name.
    """
    _require_no_clash(list(_given_rows(command, given)))


def options_in_words(command: str, names: Container[str]) -> Iterator[str]:
    """Yield a line for each rule of the table about options of a command."""
    needing: dict[Trait, list[str]] = {}
    lacking: dict[Trait, list[str]] = {}
    for row in _option_rows(command):
        there = [_shown(option) for option in row.options if _option_name(option) in names]
        if there and row.wants:
            need = "needs" if len(there) == 1 else "need"
            wanted = [_shown(option) for option in row.wants if _option_name(option) in names]
            yield f"{' and '.join(there)} {need} {' or '.join(wanted)}."
        for trait in sorted(row.needs, key=_by_name):
            needing.setdefault(trait, []).extend(there)
            lacking.setdefault(trait, [])
        for trait in sorted(row.lacks, key=_by_name):
            lacking.setdefault(trait, []).extend(there)
            needing.setdefault(trait, [])
    for trait, those in needing.items():
        others = lacking[trait]
        if those and others and len({*those, *others}) > 1:
            yield f"{_listed(others)} / {_listed(those)}: {trait.why}."


def _listed(options: Iterable[str]) -> str:
    """Return names with commas between them, each once."""
    return ", ".join(dict.fromkeys(options))


def _offers(settings: Settings) -> frozenset[Trait]:
    """Return the traits that the classifier offers.

    Raise `UsageError` if it does not take the weighting.
    """
    kinds = KINDS[settings.classifier]
    if settings.weighting not in kinds:
        both = f"--classifier {settings.classifier} and --weighting {settings.weighting}"
        raise UsageError(f"{both} exclude each other", hint=f"it takes {', '.join(kinds)}")
    offered = frozenset(kinds[settings.weighting])
    if settings.classifier == AVERAGE:
        offered |= _OF_ALL_MEMBERS.intersection(*(_offers(member) for member in settings.models))
        if len({(member.classifier, member.weighting) for member in settings.models}) > 1:
            offered -= {traits.MIXES}
    return offered


def _settings_rows(settings: Settings) -> Iterator[Row]:
    """Yield the rows of training settings."""
    yield from _classifier_rows(settings)
    for holds, row in OF_SETTINGS:
        if holds(settings):
            name = row.name.format_map(vars(settings))
            yield Row(name, row.needs, row.lacks, row.instead)


def _classifier_rows(settings: Settings) -> Iterator[Row]:
    """Yield the rows of classifier and weighting: they lack what they do not offer."""
    lacking = _OFFERED_BY_SOME - _offers(settings)
    needed = _NO_TRAITS.union(*(_NEEDED_BY.get(each.classifier, ()) for each in settings.models))
    by_weighting = _NO_TRAITS
    if settings.weighting != "counts":
        by_weighting = lacking.intersection(KINDS[settings.classifier]["counts"])
        lacking -= by_weighting
    if settings.classifier == AVERAGE:
        yield Row(f"--set members={settings.members}", needed, lacking & _OF_ALL_MEMBERS)
        yield Row(f"--classifier {AVERAGE}", lacks=lacking - _OF_ALL_MEMBERS)
    else:
        yield Row(f"--classifier {settings.classifier}", needed, lacking)
    yield Row(f"--weighting {settings.weighting}", lacks=by_weighting)


def _option_rows(command: str) -> Iterator[OptionRow]:
    """Yield the rows of a command.

    What its own say that an option wants stands for what it wants everywhere.
    """
    own = COMMANDS.get(command, ())
    with_own_wants = {str(option) for row in own if row.wants for option in row.options}
    for row in EVERYWHERE:
        options = row.options
        if row.wants:
            options = tuple(each for each in options if str(each) not in with_own_wants)
        if options:
            yield OptionRow(options, row.needs, row.lacks, row.wants)
    yield from own


def _given_rows(command: str, given: Mapping[str, str]) -> Iterator[Row]:
    """Yield a row for each option of the table that was given.

    Raise `UsageError` for one without another that it wants.
    """
    for row in _option_rows(command):
        for option in row.options:
            if not _is_given(option, given):
                continue
            if row.wants and not any(_is_given(each, given) for each in row.wants):
                raise UsageError(f"{_shown(option)} needs {' or '.join(map(_shown, row.wants))}")
            yield Row(_shown(option), row.needs, row.lacks)


def _shown(option: str | WithValue) -> str:
    return _SHOWN.get(option, option) if isinstance(option, str) else str(option)


def _option_name(option: str | WithValue) -> str:
    return option.option if isinstance(option, WithValue) else option


def _is_given(option: str | WithValue, given: Mapping[str, str]) -> bool:
    if isinstance(option, WithValue):
        return given.get(option.option) == option.value
    return option in given


def _require_no_clash(rows: Sequence[Row]) -> None:
    """Raise `UsageError` if two rows exclude each other, naming both, the one that needs first."""
    for one, other in permutations(rows, 2):
        if clashing := one.needs & other.lacks:
            trait = min(clashing, key=_by_name)
            raise UsageError(
                f"{one.name} and {other.name} exclude each other: {trait.why}",
                hint=other.instead or trait.remedy,
            )

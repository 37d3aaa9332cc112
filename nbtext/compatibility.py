"""What goes with what: one table of what settings, options and commands need, and what they lack.

A row is something asked for, with the traits of `nbtext.traits` that it needs and that it lacks.
Two rows exclude each other if one needs a trait that the other lacks; kinds of models lack what
they do not offer. Training, tune, the command line, the docs and the test of all pairs read this.

To extend it: a classifier is a line in `KINDS`, a setting a condition and a row in `SETTINGS_REQUESTS`,
an option a row in `SHARED_OPTION_GROUPS` or `COMMANDS`, and what else can be asked of a model is a `Row` that
the caller gives to `require_compatible_settings`.
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
    traits.COUNT_SUMS,
    traits.WEIGHTS,
    traits.JOINED_COUNTS,
    traits.LEAVE_ONE_OUT,
    traits.PRIOR,
    traits.BACKGROUND,
    traits.TERM_PSEUDO_COUNTS,
    traits.ATTRIBUTES,
)
_COMPLEMENT = (traits.COUNT_SUMS, traits.WEIGHTS, traits.BACKGROUND, traits.TERM_PSEUDO_COUNTS)
_BERNOULLI = (
    traits.COUNT_SUMS,
    traits.WEIGHTS,
    traits.PRIOR,
    traits.TERM_PSEUDO_COUNTS,
    traits.TWO_PSEUDO_COUNTS,
    traits.ATTRIBUTES,
    traits.MULTI_LABEL,
    traits.EVIDENCE,
    traits.MIXTURE,
)
_LOGISTIC = (traits.WEIGHTS, traits.PRIOR, traits.BACKGROUND, traits.ATTRIBUTES, traits.MULTI_LABEL)

OFFERED_TRAITS: Mapping[str, Mapping[str, Sequence[Trait]]] = {
    "multinomial": {
        "counts": (*_MULTINOMIAL, traits.EVIDENCE, traits.MIXTURE, traits.MULTI_LABEL),
        "binary": (*_MULTINOMIAL, traits.MULTI_LABEL),
        "log": (*_MULTINOMIAL, traits.MULTI_LABEL),
        "tfidf": (traits.PRIOR, traits.BACKGROUND, traits.TERM_PSEUDO_COUNTS, traits.ATTRIBUTES),
    },
    "complement": {
        "counts": _COMPLEMENT,
        "binary": _COMPLEMENT,
        "log": _COMPLEMENT,
        "tfidf": (traits.BACKGROUND, traits.TERM_PSEUDO_COUNTS),
    },
    "bernoulli": {"counts": _BERNOULLI, "binary": _BERNOULLI},
    "gaussian": {"counts": (traits.PRIOR, traits.BACKGROUND, traits.ATTRIBUTES, traits.EVIDENCE)},
    "logistic": {"counts": _LOGISTIC, "tfidf": _LOGISTIC},
    AVERAGE: {"counts": ()},
}
"""What each classifier offers with each weighting that it takes, in the order of the reference.

An average besides offers what `_OF_ALL_MEMBERS` names if all members do.
"""

_OFFERED_BY_SOME = frozenset(
    chain.from_iterable(kinds["counts"] for kinds in OFFERED_TRAITS.values())
)
_OF_ALL_MEMBERS = frozenset(
    {
        traits.COUNT_SUMS,
        traits.WEIGHTS,
        traits.PRIOR,
        traits.MIXTURE,
        traits.ATTRIBUTES,
    }
)
_NEEDED_BY = {"complement": {traits.SMOOTHED}, "logistic": {traits.SMOOTHED}}

_NO_TRAITS: frozenset[Trait] = frozenset()
_by_name = attrgetter("name")


class Request:
    """Something asked for, by its name in messages, with the traits that it needs and lacks.

    ``instead`` says what to do without it, if that is not what the trait says.
    """

    def __init__(
        self,
        name: str,
        needs: AbstractSet[Trait] = _NO_TRAITS,
        lacks: AbstractSet[Trait] = _NO_TRAITS,
        remedy: str = "",
    ) -> None:
        self.name = name
        self.needs = needs
        self.lacks = lacks
        self.instead = remedy


SEED_WORDS = Request(
    "--seeds",
    needs={traits.JOINED_COUNTS, traits.POSTERIOR, traits.LABEL_FREE_TERMS},
    lacks={traits.MULTI_LABEL},
)
UNLABELLED_POOL = Request(
    "--unlabelled",
    needs={
        traits.JOINED_COUNTS,
        traits.SMOOTHED,
        traits.LABEL_FREE_TERMS,
        traits.LABELLED_COUNTS,
        traits.SAMPLE,
        traits.CALIBRATED,
        traits.EQUAL_CLASS_WEIGHTS,
        traits.TEXT_ONLY,
    },
    lacks={traits.MULTI_LABEL},
)
DOCUMENT_WEIGHTS = Request("weights of documents", needs={traits.WEIGHTS, traits.TEXT_ONLY})
EXACT_CHANGE = Request(
    "an exact change of a model", needs={traits.COUNT_SUMS, traits.LABELLED_ONLY}
)
UNLABELLED_TRAINING = Request(
    "what it learnt from unlabelled documents", lacks={traits.LABELLED_ONLY}
)
INFORMATION_CRITERIA = Request(
    "a comparison by evidence, AIC or BIC",
    needs={traits.EVIDENCE},
    lacks={traits.MULTI_LABEL},
    remedy="use nbtext cross-validate or tune",
)
DASK_CLUSTER = Request("--scheduler", needs={traits.COUNT_SUMS}, lacks={traits.LOCAL_COUNTING})
RELABELLING = Request("--relabel", needs={traits.LOCAL_COUNTING})
MULTI_LABEL_DOCUMENTS = Request("documents of several labels", needs={traits.MULTI_LABEL})
ERROR_LISTING = Request(
    "--errors",
    lacks={traits.MULTI_LABEL},
    remedy="leave it out; nbtext suspects lists labels that may be wrong",
)
PRIOR_FROM_DOCUMENTS = Request(
    "--prior-from",
    lacks={traits.MULTI_LABEL},
    remedy="leave it out; nbtext prevalence estimates the shares",
)
LABEL_MERGE = Request(
    "relabel to a label that is there",
    lacks={traits.MULTI_LABEL},
    remedy="relabel the documents, and train again",
)
LEAVE_ONE_OUT_EVALUATION = Request("leave-one-out", needs={traits.LEAVE_ONE_OUT})


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
    return bool(Attributes.from_settings(settings.reading).names)


def _selects_terms(settings: Settings) -> bool:
    return settings.top is not None


def _keeps_no_documents(settings: Settings) -> bool:
    return settings.sample == 0


def _is_not_calibrated(settings: Settings) -> bool:
    return settings.calibration == "none"


def _is_of_maximum_likelihood(settings: Settings) -> bool:
    return settings.estimate == "ml"


def _is_not_smoothed(settings: Settings) -> bool:
    return any(each.smoothing == 0 for each in settings.member_settings)


def _is_smoothed_by_leave_one_out(settings: Settings) -> bool:
    return settings.smoothing == "leave-one-out"


def _has_two_pseudo_counts(settings: Settings) -> bool:
    return isinstance(settings.smoothing, tuple)


def _has_pseudo_counts_by_term(settings: Settings) -> bool:
    return not isinstance(settings.smoothing, str | float | int | tuple)


SETTINGS_REQUESTS: Sequence[tuple[Callable[[Settings], bool], Request]] = (
    (
        _is_mixture,
        Request(
            "p(m | data) of --set members",
            needs={traits.MIXTURE, traits.POSTERIOR, traits.SMOOTHED},
        ),
    ),
    (
        _has_prior_shape,
        Request(
            "--set prior-shape={prior_shape}",
            needs={traits.BACKGROUND},
            lacks={traits.SYMMETRIC},
        ),
    ),
    (_has_class_prior, Request("--class-prior", needs={traits.PRIOR})),
    (_has_class_prior_by_class, Request("--class-prior FILE", lacks={traits.MULTI_LABEL})),
    (
        _weighs_classes,
        Request(
            "--class-weight {class_weight}",
            needs={traits.WEIGHTS, traits.TEXT_ONLY},
            lacks={traits.EQUAL_CLASS_WEIGHTS, traits.MULTI_LABEL},
        ),
    ),
    (_reads_weights, Request("--weight-column", needs={traits.WEIGHTS, traits.TEXT_ONLY})),
    (
        _reads_attributes,
        Request(
            "--categorical, --count or --numeric",
            needs={traits.ATTRIBUTES},
            lacks={traits.TEXT_ONLY, traits.MULTI_LABEL},
        ),
    ),
    (_selects_terms, Request("--top {top}", lacks={traits.LABEL_FREE_TERMS})),
    (_keeps_no_documents, Request("--set sample=0", lacks={traits.SAMPLE})),
    (_is_not_calibrated, Request("--calibration none", lacks={traits.CALIBRATED})),
    (
        _is_of_maximum_likelihood,
        Request(
            "--set estimate=ml",
            lacks={traits.POSTERIOR, traits.SMOOTHED, traits.MULTI_LABEL},
        ),
    ),
    (_is_not_smoothed, Request("--smoothing 0", lacks={traits.SMOOTHED, traits.MULTI_LABEL})),
    (
        _is_smoothed_by_leave_one_out,
        Request(
            "--smoothing leave-one-out",
            needs={traits.LEAVE_ONE_OUT, traits.SAMPLE},
            lacks={traits.LABELLED_COUNTS, traits.MULTI_LABEL},
        ),
    ),
    (_has_two_pseudo_counts, Request("--smoothing A,B", needs={traits.TWO_PSEUDO_COUNTS})),
    (
        _has_pseudo_counts_by_term,
        Request("--smoothing FILE", needs={traits.TERM_PSEUDO_COUNTS, traits.SYMMETRIC}),
    ),
)
"""Rows of training settings, each where its condition holds.

A name in braces stands for the value of that setting.
"""


class OptionValue:
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
    Options = tuple[str | OptionValue, ...]
    """Names of options, ``CORPUS`` among them, or options with one value."""


class OptionGroup:
    """Options of a command, with the traits that each of them needs and lacks.

    ``wants`` are others, of which one must be given too.
    """

    def __init__(
        self,
        options: Options,
        needs: AbstractSet[Trait] = _NO_TRAITS,
        lacks: AbstractSet[Trait] = _NO_TRAITS,
        requires_any: Options = (),
    ) -> None:
        self.options = options
        self.needs = needs
        self.lacks = lacks
        self.wants = requires_any


_SHOWN = {each.option: each.display_name for each in (*READING, *TRAINING)}
"""What messages call the options of parameters."""

OF_READING = tuple(each.option for each in READING)
OF_ANALYSIS = tuple(each.option for each in TRAINING if each.decides == "terms")

SHARED_OPTION_GROUPS = (
    OptionGroup(("--text", "--from-folder"), needs={traits.ONE_SOURCE}, lacks={traits.ONE_SOURCE}),
    OptionGroup(("CORPUS", "--files-from"), lacks={traits.ONE_SOURCE}),
    OptionGroup(("--file-column",), needs={traits.ONE_TEXT}),
    OptionGroup(("--text-column", "--text"), lacks={traits.ONE_TEXT}),
    OptionGroup(("--null",), requires_any=("--files-from",)),
    OptionGroup(("--verbose",), needs={traits.MESSAGES}),
    OptionGroup(("--quiet",), lacks={traits.MESSAGES}),
    OptionGroup(("--scheduler",), lacks={traits.LOCAL_COUNTING}),
    OptionGroup((OptionValue("--backend", "dask"),), requires_any=("--scheduler",)),
    OptionGroup(("--once", "--jobs", "--relabel"), needs={traits.LOCAL_COUNTING}),
    OptionGroup(("--label",), needs={traits.LABELS}),
    OptionGroup(("--from-folder", "--relabel", "--label-column"), lacks={traits.LABELS}),
    OptionGroup(("--unlabelled", "--drop-unlabelled"), needs={traits.POOL}, lacks={traits.POOL}),
    OptionGroup(
        ("--coverage",),
        needs={traits.TRAINING_PROPORTIONS},
        lacks={traits.SINGLE_PREDICTION, traits.THRESHOLDS},
    ),
    OptionGroup(("--costs",), lacks={traits.THRESHOLDS}),
    OptionGroup(("--decide",), needs={traits.THRESHOLDS}),
    OptionGroup(
        ("--costs", "--min-probability", "--limit", "--scores"), needs={traits.SINGLE_PREDICTION}
    ),
    OptionGroup(
        ("--min-precision",), needs={traits.TRAINING_PROPORTIONS, traits.SINGLE_PREDICTION}
    ),
    OptionGroup(("--prior-from",), lacks={traits.TRAINING_PROPORTIONS}),
    OptionGroup(("--fail-under-interval",), requires_any=("--fail-under", "--fail-over")),
)
"""Of all commands that have these options."""

_BY_CLASS = OptionGroup(("--by-class",), requires_any=("--coverage", "--min-precision"))

COMMAND_OPTION_GROUPS = {
    "classify": (
        OptionGroup(("--batch",), requires_any=("--lines",)),
        OptionGroup(("--lines",), needs={traits.ONE_SOURCE}, lacks={traits.ONE_SOURCE}),
        OptionGroup(("--scores",), requires_any=(OptionValue("--output", "jsonl"),)),
        _BY_CLASS,
        OptionGroup(("--mail-filter",), lacks={traits.RECORDS, traits.ONE_SOURCE}),
        OptionGroup(
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
        OptionGroup(("--leave-one-out",), lacks={traits.FOLDS}),
        OptionGroup(
            ("--folds", "--repeats", "--seed", "--group-column", "--time-column"),
            needs={traits.FOLDS},
        ),
        OptionGroup(("--time-column",), lacks={traits.RANDOM_FOLDS}),
        OptionGroup(("--repeats", "--seed", "--group-column"), needs={traits.RANDOM_FOLDS}),
    ),
    "evaluate": (_BY_CLASS,),
    "explain": (
        OptionGroup(("--why-not",), lacks={traits.CONTRIBUTIONS}),
        OptionGroup(("--against", "--to"), needs={traits.CONTRIBUTIONS}),
        OptionGroup(("--to",), lacks={traits.OUTPUT_ROWS}),
        OptionGroup(("--output",), needs={traits.OUTPUT_ROWS}),
    ),
    "inspect": (
        OptionGroup(("--by-class",), requires_any=("--thresholds",)),
        OptionGroup(OF_READING, requires_any=("--perplexity",)),
    ),
    "label": (
        OptionGroup(
            ("--suggest", "--take", "--review"),
            needs={traits.ONE_MODE},
            lacks={traits.ONE_MODE},
        ),
    ),
    "suspects": (
        OptionGroup(("--null",), requires_any=("--files-from", "--paths")),
        OptionGroup(("--paths", "--print0"), lacks={traits.OUTPUT_ROWS}),
        OptionGroup(("--output",), needs={traits.OUTPUT_ROWS}),
    ),
    "tokens": (
        OptionGroup(OF_ANALYSIS, requires_any=(OptionValue("--model", "none"), "--no-model")),
    ),
}
"""Of one command besides."""


def needs_documents(settings: Settings) -> bool:
    """Return True if a model of these settings does not follow from sums of counts.

    Raise `UsageError` for settings that exclude each other.
    """
    require_compatible_settings(settings)
    return traits.COUNT_SUMS not in _get_offered_traits(settings)


def list_label_requests(kind: type[Posterior]) -> tuple[Request, ...]:
    """Return what documents with labels of a kind need."""
    return () if kind.is_exclusive else (MULTI_LABEL_DOCUMENTS,)


def require_compatible_settings(settings: Settings, *rows: Request) -> None:
    """Raise `UsageError` if settings, or what is asked of a model with them, exclude each other."""
    _require_no_clash([*rows, *_list_settings_requests(settings)])


def require_compatible_options(command: str, given: Mapping[str, str]) -> None:
    """Raise `UsageError` if options exclude each other, or one lacks another that it needs.

    ``given`` has the value of each option, and of CORPUS, by name.
    """
    _require_no_clash(list(_list_option_requests(command, given)))


def describe_option_rules(command: str, names: Container[str]) -> Iterator[str]:
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


def _get_offered_traits(settings: Settings) -> frozenset[Trait]:
    """Return the traits that the classifier offers.

    Raise `UsageError` if it does not take the weighting.
    """
    kinds = OFFERED_TRAITS[settings.classifier]
    if settings.weighting not in kinds:
        both = f"--classifier {settings.classifier} and --weighting {settings.weighting}"
        raise UsageError(f"{both} exclude each other", hint=f"it takes {', '.join(kinds)}")
    offered = frozenset(kinds[settings.weighting])
    if settings.classifier == AVERAGE:
        offered |= _OF_ALL_MEMBERS.intersection(
            *(_get_offered_traits(member) for member in settings.member_settings)
        )
        if len({(member.classifier, member.weighting) for member in settings.member_settings}) > 1:
            offered -= {traits.MIXTURE}
    return offered


def _list_settings_requests(settings: Settings) -> Iterator[Request]:
    """Yield the rows of training settings."""
    yield from _classifier_rows(settings)
    for holds, row in SETTINGS_REQUESTS:
        if holds(settings):
            name = row.name.format_map(vars(settings))
            yield Request(name, row.needs, row.lacks, row.instead)


def _classifier_rows(settings: Settings) -> Iterator[Request]:
    """Yield the rows of classifier and weighting: they lack what they do not offer."""
    lacking = _OFFERED_BY_SOME - _get_offered_traits(settings)
    needed = _NO_TRAITS.union(
        *(_NEEDED_BY.get(each.classifier, ()) for each in settings.member_settings)
    )
    by_weighting = _NO_TRAITS
    if settings.weighting != "counts":
        by_weighting = lacking.intersection(OFFERED_TRAITS[settings.classifier]["counts"])
        lacking -= by_weighting
    if settings.classifier == AVERAGE:
        yield Request(f"--set members={settings.members}", needed, lacking & _OF_ALL_MEMBERS)
        yield Request(f"--classifier {AVERAGE}", lacks=lacking - _OF_ALL_MEMBERS)
    else:
        yield Request(f"--classifier {settings.classifier}", needed, lacking)
    yield Request(f"--weighting {settings.weighting}", lacks=by_weighting)


def _option_rows(command: str) -> Iterator[OptionGroup]:
    """Yield the rows of a command.

    What its own say that an option wants stands for what it wants everywhere.
    """
    own = COMMAND_OPTION_GROUPS.get(command, ())
    with_own_wants = {str(option) for row in own if row.wants for option in row.options}
    for row in SHARED_OPTION_GROUPS:
        options = row.options
        if row.wants:
            options = tuple(each for each in options if str(each) not in with_own_wants)
        if options:
            yield OptionGroup(options, row.needs, row.lacks, row.wants)
    yield from own


def _list_option_requests(command: str, given: Mapping[str, str]) -> Iterator[Request]:
    """Yield a row for each option of the table that was given.

    Raise `UsageError` for one without another that it wants.
    """
    for row in _option_rows(command):
        for option in row.options:
            if not _is_given(option, given):
                continue
            if row.wants and not any(_is_given(each, given) for each in row.wants):
                raise UsageError(f"{_shown(option)} needs {' or '.join(map(_shown, row.wants))}")
            yield Request(_shown(option), row.needs, row.lacks)


def _shown(option: str | OptionValue) -> str:
    return _SHOWN.get(option, option) if isinstance(option, str) else str(option)


def _option_name(option: str | OptionValue) -> str:
    return option.option if isinstance(option, OptionValue) else option


def _is_given(option: str | OptionValue, given: Mapping[str, str]) -> bool:
    if isinstance(option, OptionValue):
        return given.get(option.option) == option.value
    return option in given


def _require_no_clash(rows: Sequence[Request]) -> None:
    """Raise `UsageError` if two rows exclude each other, naming both, the one that needs first."""
    for one, other in permutations(rows, 2):
        if clashing := one.needs & other.lacks:
            trait = min(clashing, key=_by_name)
            raise UsageError(
                f"{one.name} and {other.name} exclude each other: {trait.why}",
                hint=other.instead or trait.remedy,
            )

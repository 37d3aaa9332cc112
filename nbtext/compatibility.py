"""Compatibility table: which settings, options and commands can be combined.

A request is a setting, an option or an operation, with the traits of `nbtext.traits` that it needs
and lacks. Two requests exclude each other if one needs a trait that the other lacks. Training,
tune, the command line, the reference and the test of all pairs use this table.

To extend it, add a classifier to `OFFERED_TRAITS`, a setting to `SETTINGS_REQUESTS` with a
condition, an option to `SHARED_OPTION_GROUPS` or `COMMAND_OPTION_GROUPS`. Any other operation on a
model is a `Request` that its caller passes to `require_compatible_settings`.
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
"""The traits of each classifier with each weighting that it accepts, in the reference's order.

An average also offers the traits in `_SHARED_BY_MEMBERS` that all its members offer.
"""

_CLASSIFIER_TRAITS = frozenset(
    chain.from_iterable(weightings["counts"] for weightings in OFFERED_TRAITS.values())
)
"""All traits that some classifier offers. A classifier lacks the others among them."""

_SHARED_BY_MEMBERS = frozenset(
    {
        traits.COUNT_SUMS,
        traits.WEIGHTS,
        traits.PRIOR,
        traits.MIXTURE,
        traits.ATTRIBUTES,
    }
)

_NEEDED_TRAITS = {"complement": {traits.SMOOTHED}, "logistic": {traits.SMOOTHED}}

_NO_TRAITS: frozenset[Trait] = frozenset()
_get_name = attrgetter("name")


class Request:
    """A setting, option or operation, by its name in messages, with its needs and lacks.

    ``remedy`` is what to do if it is excluded; if it is empty, the remedy of the trait applies.
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
        self.remedy = remedy


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


def _uses_maximum_likelihood(settings: Settings) -> bool:
    return settings.estimate == "ml"


def _is_not_smoothed(settings: Settings) -> bool:
    return any(member.smoothing == 0 for member in settings.member_settings)


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
        _uses_maximum_likelihood,
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
"""The requests of training settings. A request applies if its condition is true.

In the name of a request, ``{setting}`` is replaced by the value of that setting.
"""


class OptionValue:
    """An option with one of its values, such as ``--output csv``."""

    def __init__(self, option: str, value: str) -> None:
        self.option = option
        self.value = value

    def __str__(self) -> str:
        """Return option and value with a blank between them.

        >>> str(OptionValue("--output", "csv"))
        '--output csv'
        """
        return f"{self.option} {self.value}"


if TYPE_CHECKING:
    Options = tuple[str | OptionValue, ...]
    """Names of options, or options with one value. ``CORPUS`` counts as an option."""


class OptionGroup:
    """Options of a command, with the traits that each of them needs and lacks.

    If ``requires_any`` is not empty, one of these options must be given too.
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
        self.requires_any = requires_any


_DISPLAY_NAMES = {parameter.option: parameter.display_name for parameter in (*READING, *TRAINING)}
"""Names of the options of parameters in messages."""

READING_OPTIONS = tuple(parameter.option for parameter in READING)
ANALYSIS_OPTIONS = tuple(parameter.option for parameter in TRAINING if parameter.affects == "terms")

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
"""The option groups of all commands that have these options."""

_BY_CLASS_GROUP = OptionGroup(("--by-class",), requires_any=("--coverage", "--min-precision"))

COMMAND_OPTION_GROUPS = {
    "classify": (
        OptionGroup(("--batch",), requires_any=("--lines",)),
        OptionGroup(("--lines",), needs={traits.ONE_SOURCE}, lacks={traits.ONE_SOURCE}),
        OptionGroup(("--scores",), requires_any=(OptionValue("--output", "jsonl"),)),
        _BY_CLASS_GROUP,
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
    "evaluate": (_BY_CLASS_GROUP,),
    "explain": (
        OptionGroup(("--why-not",), lacks={traits.CONTRIBUTIONS}),
        OptionGroup(("--against", "--to"), needs={traits.CONTRIBUTIONS}),
        OptionGroup(("--to",), lacks={traits.OUTPUT_ROWS}),
        OptionGroup(("--output",), needs={traits.OUTPUT_ROWS}),
    ),
    "inspect": (
        OptionGroup(("--by-class",), requires_any=("--thresholds",)),
        OptionGroup(READING_OPTIONS, requires_any=("--perplexity",)),
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
        OptionGroup(ANALYSIS_OPTIONS, requires_any=(OptionValue("--model", "none"), "--no-model")),
    ),
}
"""Further option groups of single commands."""


def needs_documents(settings: Settings) -> bool:
    """Return True if a model of these settings cannot be computed from sums of counts.

    Raise `UsageError` for settings that exclude each other.
    """
    require_compatible_settings(settings)
    return traits.COUNT_SUMS not in _get_offered_traits(settings)


def list_label_requests(kind: type[Posterior]) -> tuple[Request, ...]:
    """Return the requests of documents whose posterior is of this kind."""
    return () if kind.is_exclusive else (MULTI_LABEL_DOCUMENTS,)


def require_compatible_settings(settings: Settings, *requests: Request) -> None:
    """Raise `UsageError` if settings, or further requests to their model, exclude each other."""
    _require_no_conflict([*requests, *_list_settings_requests(settings)])


def require_compatible_options(command: str, values: Mapping[str, str]) -> None:
    """Raise `UsageError` if options exclude each other, or if a required option is missing.

    ``values`` has the value of each given option, and of CORPUS, by name.
    """
    _require_no_conflict(list(_list_option_requests(command, values)))


def describe_option_rules(command: str, names: Container[str]) -> Iterator[str]:
    """Yield a sentence for each rule about the options of a command that have these names."""
    needing: dict[Trait, list[str]] = {}
    lacking: dict[Trait, list[str]] = {}
    for group in _list_option_groups(command):
        options = _select_display_names(group.options, names)
        if options and group.requires_any:
            verb = "needs" if len(options) == 1 else "need"
            required = _select_display_names(group.requires_any, names)
            yield f"{' and '.join(options)} {verb} {' or '.join(required)}."
        for trait in sorted(group.needs, key=_get_name):
            needing.setdefault(trait, []).extend(options)
            lacking.setdefault(trait, [])
        for trait in sorted(group.lacks, key=_get_name):
            lacking.setdefault(trait, []).extend(options)
            needing.setdefault(trait, [])

    for trait, needing_options in needing.items():
        lacking_options = lacking[trait]
        is_conflict = needing_options and lacking_options
        if is_conflict and len({*needing_options, *lacking_options}) > 1:
            yield (
                f"{_join_distinct(lacking_options)} / {_join_distinct(needing_options)}: "
                f"{trait.reason}."
            )


def _select_display_names(options: Iterable[str | OptionValue], names: Container[str]) -> list[str]:
    """Return the display names of the options whose name is among ``names``."""
    return [_get_display_name(option) for option in options if _get_option_name(option) in names]


def _join_distinct(options: Iterable[str]) -> str:
    """Return names with commas between them, without repetitions."""
    return ", ".join(dict.fromkeys(options))


def _get_offered_traits(settings: Settings) -> frozenset[Trait]:
    """Return the traits that the classifier offers.

    Raise `UsageError` if it does not accept the weighting.
    """
    weightings = OFFERED_TRAITS[settings.classifier]
    if settings.weighting not in weightings:
        raise UsageError(
            f"--classifier {settings.classifier} and --weighting {settings.weighting} exclude each "
            "other",
            hint=f"it takes {', '.join(weightings)}",
        )
    offered = frozenset(weightings[settings.weighting])
    if settings.classifier != AVERAGE:
        return offered
    members = settings.member_settings
    offered |= _SHARED_BY_MEMBERS.intersection(*map(_get_offered_traits, members))
    if len({(member.classifier, member.weighting) for member in members}) > 1:
        offered -= {traits.MIXTURE}
    return offered


def _list_settings_requests(settings: Settings) -> Iterator[Request]:
    """Yield the requests of training settings."""
    yield from _list_classifier_requests(settings)
    for condition, request in SETTINGS_REQUESTS:
        if condition(settings):
            name = request.name.format_map(vars(settings))
            yield Request(name, request.needs, request.lacks, request.remedy)


def _list_classifier_requests(settings: Settings) -> Iterator[Request]:
    """Yield the requests of classifier and weighting: they lack the traits that they do not offer.

    If the classifier offers a trait with the weighting counts, the weighting lacks it, otherwise
    the classifier.
    """
    lacking = _CLASSIFIER_TRAITS - _get_offered_traits(settings)
    needs = _NO_TRAITS.union(
        *(_NEEDED_TRAITS.get(member.classifier, ()) for member in settings.member_settings)
    )
    lost_by_weighting = _NO_TRAITS
    if settings.weighting != "counts":
        lost_by_weighting = lacking.intersection(OFFERED_TRAITS[settings.classifier]["counts"])
        lacking -= lost_by_weighting
    if settings.classifier == AVERAGE:
        yield Request(f"--set members={settings.members}", needs, lacking & _SHARED_BY_MEMBERS)
        yield Request(f"--classifier {AVERAGE}", lacks=lacking - _SHARED_BY_MEMBERS)
    else:
        yield Request(f"--classifier {settings.classifier}", needs, lacking)
    yield Request(f"--weighting {settings.weighting}", lacks=lost_by_weighting)


def _list_option_groups(command: str) -> Iterator[OptionGroup]:
    """Yield the option groups of a command.

    If the command's own groups require other options for an option, the shared groups do not apply.
    """
    own_groups = COMMAND_OPTION_GROUPS.get(command, ())
    own_options = {
        str(option) for group in own_groups if group.requires_any for option in group.options
    }
    for group in SHARED_OPTION_GROUPS:
        options = group.options
        if group.requires_any:
            options = tuple(option for option in options if str(option) not in own_options)
        if options:
            yield OptionGroup(options, group.needs, group.lacks, group.requires_any)
    yield from own_groups


def _list_option_requests(command: str, values: Mapping[str, str]) -> Iterator[Request]:
    """Yield a request for each given option of a group.

    Raise `UsageError` if none of the options that it requires is given.
    """
    for group in _list_option_groups(command):
        for option in group.options:
            if not _is_given(option, values):
                continue
            name = _get_display_name(option)
            if group.requires_any and not any(
                _is_given(required, values) for required in group.requires_any
            ):
                required_names = " or ".join(map(_get_display_name, group.requires_any))
                raise UsageError(f"{name} needs {required_names}")
            yield Request(name, group.needs, group.lacks)


def _get_display_name(option: str | OptionValue) -> str:
    if isinstance(option, OptionValue):
        return str(option)
    return _DISPLAY_NAMES.get(option, option)


def _get_option_name(option: str | OptionValue) -> str:
    return option.option if isinstance(option, OptionValue) else option


def _is_given(option: str | OptionValue, values: Mapping[str, str]) -> bool:
    if isinstance(option, OptionValue):
        return values.get(option.option) == option.value
    return option in values


def _require_no_conflict(requests: Sequence[Request]) -> None:
    """Raise `UsageError` if two requests exclude each other. The message names the needy first."""
    for needing, lacking in permutations(requests, 2):
        conflicts = needing.needs & lacking.lacks
        if conflicts:
            trait = min(conflicts, key=_get_name)
            raise UsageError(
                f"{needing.name} and {lacking.name} exclude each other: {trait.reason}",
                hint=lacking.remedy or trait.remedy,
            )

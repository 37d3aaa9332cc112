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

from nbtext.document_fields import NO_TEXT, Attributes
from nbtext.errors import UsageError
from nbtext.settings import AVERAGE, READING, TRAINING, Settings
from nbtext.traits import (
    ATTRIBUTES,
    BACKGROUND,
    CALIBRATED,
    CHOICES,
    CONTRASTS,
    CONTRIBUTIONS,
    COUNT_SUMS,
    EQUAL_CLASS_WEIGHTS,
    EVIDENCE,
    FACTORS,
    FOLDS,
    JOINED_COUNTS,
    LABEL_FREE_TERMS,
    LABELLED_COUNTS,
    LABELLED_ONLY,
    LABELS,
    LEAVE_ONE_OUT,
    LINEAR,
    LOCAL_COUNTING,
    MESSAGES,
    MIXTURE,
    MULTI_LABEL,
    ONE_MODE,
    ONE_SOURCE,
    ONE_TEXT,
    OUTPUT_ROWS,
    PAGE_DETAILS,
    POOL,
    POSTERIOR,
    PRIOR,
    RANDOM_FOLDS,
    RANKING_DETAILS,
    RECORDS,
    SAMPLE,
    SINGLE_PREDICTION,
    SMOOTHED,
    SYMMETRIC,
    TERM_PSEUDO_COUNTS,
    TEXT_ONLY,
    THRESHOLDS,
    TRAINING_PROPORTIONS,
    TWO_PSEUDO_COUNTS,
    WEIGHTS,
)

if TYPE_CHECKING:
    from nbtext.prediction.posterior import Posterior
    from nbtext.traits import Trait

_MULTINOMIAL = (
    COUNT_SUMS,
    LINEAR,
    WEIGHTS,
    JOINED_COUNTS,
    LEAVE_ONE_OUT,
    PRIOR,
    BACKGROUND,
    TERM_PSEUDO_COUNTS,
    ATTRIBUTES,
)
_COMPLEMENT = (COUNT_SUMS, LINEAR, WEIGHTS, BACKGROUND, TERM_PSEUDO_COUNTS)
_BERNOULLI = (
    COUNT_SUMS,
    LINEAR,
    WEIGHTS,
    PRIOR,
    TERM_PSEUDO_COUNTS,
    TWO_PSEUDO_COUNTS,
    ATTRIBUTES,
    MULTI_LABEL,
    EVIDENCE,
    MIXTURE,
    FACTORS,
)
_LOGISTIC = (LINEAR, WEIGHTS, PRIOR, BACKGROUND, ATTRIBUTES, MULTI_LABEL)

OFFERED_TRAITS: Mapping[str, Mapping[str, Sequence[Trait]]] = {
    "multinomial": {
        "counts": (*_MULTINOMIAL, EVIDENCE, MIXTURE, MULTI_LABEL, FACTORS),
        "binary": (*_MULTINOMIAL, MULTI_LABEL, FACTORS),
        "log": (*_MULTINOMIAL, MULTI_LABEL),
        "tfidf": (LINEAR, PRIOR, BACKGROUND, TERM_PSEUDO_COUNTS, ATTRIBUTES),
    },
    "complement": {
        "counts": _COMPLEMENT,
        "binary": _COMPLEMENT,
        "log": _COMPLEMENT,
        "tfidf": (LINEAR, BACKGROUND, TERM_PSEUDO_COUNTS),
    },
    "bernoulli": {"counts": _BERNOULLI, "binary": _BERNOULLI},
    "gaussian": {"counts": (PRIOR, BACKGROUND, ATTRIBUTES, EVIDENCE)},
    "logistic": {"counts": _LOGISTIC, "tfidf": _LOGISTIC},
    AVERAGE: {"counts": ()},
}
"""The traits of each classifier with each weighting that it accepts, in the reference's order.

An average also offers the traits in `_SHARED_BY_MEMBERS` that all its members offer.
"""

# No weighting offers more than counts.
_CLASSIFIER_TRAITS = frozenset(
    chain.from_iterable(weightings["counts"] for weightings in OFFERED_TRAITS.values())
)
"""All traits that some classifier offers. A classifier that does not offer a trait lacks it."""

_SHARED_BY_MEMBERS = frozenset({COUNT_SUMS, WEIGHTS, PRIOR, MIXTURE, ATTRIBUTES})
"""The traits that an average has if all its members have them."""

_NEEDED_TRAITS = {"complement": {SMOOTHED}, "logistic": {SMOOTHED}}
"""The traits that a classifier needs, so that no other setting may lack them."""

_NO_TRAITS: frozenset[Trait] = frozenset()
_get_name = attrgetter("name")


class Request:
    """A setting, option or operation with its name in messages, and the traits it needs and lacks.

    ``remedy`` is the hint if another request needs a trait that this request lacks. If ``remedy``
    is empty, the hint is the remedy of the trait.
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
    needs={JOINED_COUNTS, POSTERIOR, LABEL_FREE_TERMS},
    lacks={MULTI_LABEL},
)
UNLABELLED_POOL = Request(
    "--unlabelled",
    needs={
        JOINED_COUNTS,
        SMOOTHED,
        LABEL_FREE_TERMS,
        LABELLED_COUNTS,
        SAMPLE,
        CALIBRATED,
        EQUAL_CLASS_WEIGHTS,
        TEXT_ONLY,
    },
    lacks={MULTI_LABEL},
)
DOCUMENT_WEIGHTS = Request("weights of documents", needs={WEIGHTS, TEXT_ONLY})
EXACT_CHANGE = Request("an exact change of a model", needs={COUNT_SUMS, LABELLED_ONLY})
UNLABELLED_TRAINING = Request("unlabelled training documents", lacks={LABELLED_ONLY})
INFORMATION_CRITERIA = Request(
    "a comparison by evidence, AIC or BIC",
    needs={EVIDENCE},
    lacks={MULTI_LABEL},
    remedy="use nbtext cross-validate or tune",
)
DASK_CLUSTER = Request("--scheduler", needs={COUNT_SUMS}, lacks={LOCAL_COUNTING})
RELABELLING = Request("--relabel", needs={LOCAL_COUNTING})
MULTI_LABEL_DOCUMENTS = Request("documents of several labels", needs={MULTI_LABEL})
ERROR_LISTING = Request(
    "--errors",
    lacks={MULTI_LABEL},
    remedy="remove it; nbtext suspects lists labels that may be wrong",
)
PRIOR_FROM_DOCUMENTS = Request(
    "--prior-from",
    lacks={MULTI_LABEL},
    remedy="remove it; nbtext prevalence estimates the proportions",
)
LABEL_MERGE = Request(
    "relabel to an existing label",
    lacks={MULTI_LABEL},
    remedy="relabel the documents, and train again",
)
TERM_WEIGHTS = Request("an export of weights", needs={LINEAR, TEXT_ONLY})
SQL_EXPORT = Request("an export as SQL", needs={SMOOTHED})
BY_HAND = Request(
    "--by-hand",
    needs={FACTORS},
    lacks={MULTI_LABEL},
    remedy="remove it; nbtext explain compares each label with all other documents",
)
LEAVE_ONE_OUT_EVALUATION = Request("leave-one-out", needs={LEAVE_ONE_OUT})


SETTINGS_REQUESTS: Sequence[tuple[Callable[[Settings], bool], Request]] = (
    (
        lambda settings: settings.is_mixture,
        Request(
            "p(m | data) of --set members",
            needs={MIXTURE, POSTERIOR, SMOOTHED},
        ),
    ),
    (
        lambda settings: settings.prior_shape != "symmetric",
        Request(
            "--set prior-shape={prior_shape}",
            needs={BACKGROUND},
            lacks={SYMMETRIC},
        ),
    ),
    (
        lambda settings: settings.class_prior not in ("empirical", "uniform"),
        Request("--class-prior", needs={PRIOR}),
    ),
    (
        lambda settings: not isinstance(settings.class_prior, str),
        Request("--class-prior FILE", lacks={MULTI_LABEL}),
    ),
    (
        lambda settings: settings.class_weight is not None,
        Request(
            "--class-weight {class_weight}",
            needs={WEIGHTS, TEXT_ONLY},
            lacks={EQUAL_CLASS_WEIGHTS, MULTI_LABEL},
        ),
    ),
    (
        lambda settings: settings.reading.weight_column not in (None, NO_TEXT),
        Request("--weight-column", needs={WEIGHTS, TEXT_ONLY}),
    ),
    (
        lambda settings: bool(Attributes.from_settings(settings.reading).names),
        Request(
            "--categorical, --count or --numeric",
            needs={ATTRIBUTES},
            lacks={TEXT_ONLY, MULTI_LABEL},
        ),
    ),
    (lambda settings: settings.top is not None, Request("--top {top}", lacks={LABEL_FREE_TERMS})),
    (
        lambda settings: settings.keep_documents == 0,
        Request("--set keep-documents=0", lacks={SAMPLE}),
    ),
    (
        lambda settings: settings.calibration == "none",
        Request("--calibration none", lacks={CALIBRATED}),
    ),
    (
        lambda settings: settings.estimate == "ml",
        Request(
            "--set estimate=ml",
            lacks={POSTERIOR, SMOOTHED, MULTI_LABEL},
        ),
    ),
    (
        lambda settings: any(member.smoothing == 0 for member in settings.member_settings),
        Request("--smoothing 0", lacks={SMOOTHED, MULTI_LABEL}),
    ),
    (
        lambda settings: settings.smoothing == "leave-one-out",
        Request(
            "--smoothing leave-one-out",
            needs={LEAVE_ONE_OUT, SAMPLE},
            lacks={LABELLED_COUNTS, MULTI_LABEL},
        ),
    ),
    (
        lambda settings: isinstance(settings.smoothing, tuple),
        Request("--smoothing A,B", needs={TWO_PSEUDO_COUNTS}),
    ),
    (
        lambda settings: not isinstance(settings.smoothing, str | float | int | tuple),
        Request("--smoothing FILE", needs={TERM_PSEUDO_COUNTS, SYMMETRIC}),
    ),
)
"""The requests of training settings. A request applies if its condition is true.

In the name of a request, ``{setting}`` is replaced by the value of that setting.
"""


class OptionGroup:
    """Options of a command, with the traits that each option needs and lacks.

    The options exclude each other if they need and lack the same trait. If ``requires_any`` is not
    empty, one of these options must be given too. An option is a name, or a name and a value, such
    as ``--output csv``. ``CORPUS`` counts as an option.
    """

    def __init__(
        self,
        options: Sequence[str],
        needs: AbstractSet[Trait] = _NO_TRAITS,
        lacks: AbstractSet[Trait] = _NO_TRAITS,
        requires_any: Sequence[str] = (),
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
    OptionGroup(("--text", "--from-folder"), needs={ONE_SOURCE}, lacks={ONE_SOURCE}),
    OptionGroup(("CORPUS", "--files-from"), lacks={ONE_SOURCE}),
    OptionGroup(("--file-column",), needs={ONE_TEXT}),
    OptionGroup(("--text-column", "--text"), lacks={ONE_TEXT}),
    OptionGroup(("--null",), requires_any=("--files-from",)),
    OptionGroup(("--verbose",), needs={MESSAGES}),
    OptionGroup(("--quiet",), lacks={MESSAGES}),
    OptionGroup(("--scheduler",), lacks={LOCAL_COUNTING}),
    OptionGroup(("--backend dask",), requires_any=("--scheduler",)),
    OptionGroup(("--deduplicate", "--skip-known", "--jobs", "--relabel"), needs={LOCAL_COUNTING}),
    OptionGroup(("--label",), needs={LABELS}),
    OptionGroup(("--from-folder", "--relabel", "--label-column"), lacks={LABELS}),
    OptionGroup(("--unlabelled", "--drop-unlabelled"), needs={POOL}, lacks={POOL}),
    OptionGroup(
        ("--coverage",),
        needs={TRAINING_PROPORTIONS},
        lacks={SINGLE_PREDICTION, THRESHOLDS},
    ),
    OptionGroup(("--costs",), lacks={THRESHOLDS}),
    OptionGroup(("--label-threshold",), needs={THRESHOLDS}),
    OptionGroup(("--costs", "--min-probability", "--limit", "--scores"), needs={SINGLE_PREDICTION}),
    OptionGroup(("--min-precision",), needs={TRAINING_PROPORTIONS, SINGLE_PREDICTION}),
    OptionGroup(("--prior-from",), lacks={TRAINING_PROPORTIONS}),
    OptionGroup(("--fail-under-interval",), requires_any=("--fail-under", "--fail-over")),
)
"""The option groups of all commands that have these options."""

_BY_CLASS_GROUP = OptionGroup(("--by-class",), requires_any=("--coverage", "--min-precision"))

_PAGE_GROUPS = (
    OptionGroup(("--to",), lacks={OUTPUT_ROWS}),
    OptionGroup(("--output",), needs={OUTPUT_ROWS}),
)
"""The groups of commands that write a page instead of rows."""

_QUICK_GROUPS = (
    OptionGroup(("--quick",), needs={CHOICES}),
    OptionGroup(("--unlabelled", "--drop-unlabelled"), lacks={CHOICES}),
)
"""The groups of commands that change a model."""

COMMAND_OPTION_GROUPS = {
    "classify": (
        OptionGroup(("--batch",), requires_any=("--lines",)),
        OptionGroup(("--lines",), needs={ONE_SOURCE}, lacks={ONE_SOURCE}),
        OptionGroup(("--scores",), requires_any=("--output jsonl",)),
        _BY_CLASS_GROUP,
        OptionGroup(("--mail-filter",), lacks={RECORDS, ONE_SOURCE}),
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
            needs={RECORDS},
        ),
    ),
    "cross-validate": (
        OptionGroup(("--leave-one-out",), lacks={FOLDS}),
        OptionGroup(
            ("--folds", "--repeats", "--seed", "--group-column", "--time-column"),
            needs={FOLDS},
        ),
        OptionGroup(("--time-column",), lacks={RANDOM_FOLDS}),
        OptionGroup(("--repeats", "--seed", "--group-column"), needs={RANDOM_FOLDS}),
        *_PAGE_GROUPS,
        OptionGroup(("--all",), needs={OUTPUT_ROWS}),
    ),
    "drift": _PAGE_GROUPS,
    "evaluate": (_BY_CLASS_GROUP,),
    "explain": (
        OptionGroup(("--why-not",), lacks={CONTRIBUTIONS}),
        OptionGroup(("--against", "--to"), needs={CONTRIBUTIONS}),
        *_PAGE_GROUPS,
        OptionGroup(("--output latex", "--output markdown"), requires_any=("--by-hand",)),
        OptionGroup(("--by-hand",), lacks={CONTRASTS}),
        OptionGroup(
            (
                "--against",
                "--why-not",
                "--to",
                "--limit",
                "--output tsv",
                "--output csv",
                "--output jsonl",
            ),
            needs={CONTRASTS},
        ),
    ),
    "forget": _QUICK_GROUPS,
    "inspect": (
        OptionGroup(("--by-class",), requires_any=("--thresholds",)),
        OptionGroup(READING_OPTIONS, requires_any=("--perplexity",)),
        OptionGroup(("--information",), requires_any=("--class",)),
        OptionGroup(
            ("--output tsv", "--output csv", "--output jsonl"),
            lacks={RANKING_DETAILS},
            requires_any=("--information",),
        ),
        OptionGroup(
            ("--criteria", "--term", "--thresholds", "--perplexity"), needs={RANKING_DETAILS}
        ),
        OptionGroup(("--regions",), requires_any=("--to",)),
        OptionGroup(("--to",), lacks={PAGE_DETAILS}, requires_any=("--term", "--regions")),
        OptionGroup(
            ("--criteria", "--class", "--thresholds", "--perplexity"), needs={PAGE_DETAILS}
        ),
        *_PAGE_GROUPS,
    ),
    "label": (
        OptionGroup(
            ("--suggest", "--take", "--review"),
            needs={ONE_MODE},
            lacks={ONE_MODE},
        ),
    ),
    "learning-curve": _PAGE_GROUPS,
    "prevalence": _PAGE_GROUPS,
    "split": (
        OptionGroup(("--time-column",), lacks={RANDOM_FOLDS}),
        OptionGroup(("--seed", "--group-column"), needs={RANDOM_FOLDS}),
    ),
    "suspects": (
        OptionGroup(("--null",), requires_any=("--files-from", "--paths")),
        OptionGroup(("--paths", "--print0"), lacks={OUTPUT_ROWS}),
        OptionGroup(("--output",), needs={OUTPUT_ROWS}),
    ),
    "tokens": (OptionGroup(ANALYSIS_OPTIONS, requires_any=("--model none", "--no-model")),),
    "tune": _PAGE_GROUPS,
    "update": (*_QUICK_GROUPS, OptionGroup(("--choose",), lacks={CHOICES})),
}
"""Option groups of single commands, in addition to the shared groups."""


def needs_documents(settings: Settings) -> bool:
    """Return True if a model of these settings cannot be computed from sums of counts.

    Raise `UsageError` for settings that exclude each other.
    """
    require_compatible_settings(settings)
    return COUNT_SUMS not in _get_offered_traits(settings)


def list_label_requests(posterior_type: type[Posterior]) -> tuple[Request, ...]:
    """Return the requests of labelled documents, which are none if each document has one label."""
    return () if posterior_type.is_exclusive else (MULTI_LABEL_DOCUMENTS,)


def require_compatible_settings(settings: Settings, *requests: Request) -> None:
    """Raise `UsageError` if settings, or further requests to their model, exclude each other."""
    _require_no_conflict([*requests, *_list_settings_requests(settings)])


def require_compatible_options(command: str, values: Mapping[str, str]) -> None:
    """Raise `UsageError` if options exclude each other, or if a required option is missing.

    ``values`` has the value of each given option, and of CORPUS, by name.
    """
    _require_no_conflict(list(_list_option_requests(command, values)))


def are_compatible_options(command: str, option: str, other_option: str) -> bool:
    """Return True unless two options of a command exclude each other, whatever their values."""
    requests = [
        Request(option_of_group, group.needs, group.lacks)
        for group in _list_option_groups(command)
        for option_of_group in group.options
        if option_of_group in (option, other_option)
    ]
    try:
        _require_no_conflict(requests)
    except UsageError:
        return False
    return True


def describe_option_rules(command: str, names: Container[str]) -> Iterator[str]:
    """Yield a sentence for each rule about the options of a command that have these names.

    The sentences have no reasons. Messages have them.
    """
    # The options that need, and that lack, each trait. Both have the traits of all groups.
    needing: dict[Trait, list[str]] = {}
    lacking: dict[Trait, list[str]] = {}
    for group in _list_option_groups(command):
        options = _select_display_names(group.options, names)
        if options and group.requires_any:
            verb = "needs" if len(options) == 1 else "need"
            required = _select_display_names(group.requires_any, names)
            yield f"{_join_names(options, 'and')} {verb} {_join_names(required, 'or')}."
        for trait in sorted(group.needs, key=_get_name):
            needing.setdefault(trait, []).extend(options)
            lacking.setdefault(trait, [])
        for trait in sorted(group.lacks, key=_get_name):
            lacking.setdefault(trait, []).extend(options)
            needing.setdefault(trait, [])

    for trait, needing_options in needing.items():
        yield from _describe_conflicts(needing_options, lacking[trait])


def _describe_conflicts(needing: Sequence[str], lacking: Sequence[str]) -> Iterator[str]:
    """Yield sentences on which options that need a trait exclude which options that lack the trait.

    Each sentence is about an option of the smaller group. If the groups are equal, each option
    excludes all others, and there is one sentence.
    """
    if not needing or not lacking:
        return
    if set(needing) == set(lacking):
        if len(set(needing)) > 1:
            names = _join_names(dict.fromkeys(needing), "and")
            yield f"{names} exclude each other."
        return
    subjects = dict.fromkeys(needing)  # a dict without repetitions keeps the order
    others = dict.fromkeys(lacking)
    if len(subjects) > len(others):
        subjects, others = others, subjects
    for subject in subjects:
        excluded = [option for option in others if option != subject]
        yield f"{subject}: not with {_join_names(excluded, 'or')}."


def _select_display_names(options: Iterable[str], names: Container[str]) -> list[str]:
    """Return the display names of the options whose name is among ``names``."""
    return [_get_display_name(option) for option in options if option.partition(" ")[0] in names]


def _join_names(names: Iterable[str], conjunction: str) -> str:
    """Return names with commas between them, and the conjunction before the last name.

    >>> _join_names(["--a", "--b", "--c"], "or")
    '--a, --b or --c'
    """
    *first_names, last_name = names
    if not first_names:
        return last_name
    return f"{', '.join(first_names)} {conjunction} {last_name}"


def _get_offered_traits(settings: Settings) -> frozenset[Trait]:
    """Return the traits that the classifier offers.

    Raise `UsageError` if it does not accept the weighting.
    """
    weightings = OFFERED_TRAITS[settings.classifier]
    if settings.weighting not in weightings:
        raise UsageError(
            f"--classifier {settings.classifier} cannot be used with --weighting "
            f"{settings.weighting}",
            hint=f"use --weighting {' or '.join(weightings)}",
        )
    offered = frozenset(weightings[settings.weighting])
    if settings.classifier != AVERAGE:
        return offered
    members = settings.member_settings
    offered |= _SHARED_BY_MEMBERS.intersection(*map(_get_offered_traits, members))
    count_types = {(member.classifier, member.weighting) for member in members}
    if len(count_types) > 1:  # p(m | data) compares models of the same counts
        offered -= {MIXTURE}
    return offered


def _list_settings_requests(settings: Settings) -> Iterator[Request]:
    """Yield the requests of training settings."""
    yield from _list_classifier_requests(settings)
    for condition, request in SETTINGS_REQUESTS:
        if condition(settings):
            name = request.name.format_map(vars(settings))
            yield Request(name, request.needs, request.lacks, request.remedy)


def _list_classifier_requests(settings: Settings) -> Iterator[Request]:
    """Yield the requests of the classifier and of the weighting.

    If the classifier does not offer a trait with this weighting, one of them lacks the trait: the
    weighting, if the classifier offers the trait with the weighting counts, else the classifier.
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

    If an own group of the command has required options for an option, they replace the required
    options of shared groups.
    """
    own_groups = COMMAND_OPTION_GROUPS.get(command, ())
    replaced = {option for group in own_groups if group.requires_any for option in group.options}
    for group in SHARED_OPTION_GROUPS:
        options = group.options
        if group.requires_any:
            options = [option for option in options if option not in replaced]
        if options:
            yield OptionGroup(options, group.needs, group.lacks, group.requires_any)
    yield from own_groups


def _list_option_requests(command: str, values: Mapping[str, str]) -> Iterator[Request]:
    """Yield a request for each given option of each group.

    Raise `UsageError` if an option requires other options, and none of them is given.
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


def _get_display_name(option: str) -> str:
    return _DISPLAY_NAMES.get(option, option)


def _is_given(option: str, values: Mapping[str, str]) -> bool:
    """Return True if an option is given. For a name and a value, it must have that value."""
    name, _, value = option.partition(" ")  # the value is empty if any value counts
    return name in values and value in ("", values[name])


def _require_no_conflict(requests: Sequence[Request]) -> None:
    """Raise `UsageError` if two requests exclude each other.

    The message first names the request that needs the trait, then the request that lacks it.
    """
    for needing, lacking in permutations(requests, 2):
        conflicts = needing.needs & lacking.lacks
        if conflicts:
            trait = min(conflicts, key=_get_name)
            raise UsageError(
                f"{needing.name} cannot be used with {lacking.name}: {trait.reason}",
                hint=lacking.remedy or trait.remedy,
            )

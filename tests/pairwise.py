"""Configurations in which every pair of values meets, and pairs that exclude each other.

A configuration has a value for each of `NUMBERS_OR_NAN`: the declared settings and readings, and what a corpus is made of besides. Values are `None` if not given.
"""

from __future__ import annotations

from functools import cache
from itertools import combinations, product
from typing import TYPE_CHECKING, Any

from nbtext.settings import ANALYSIS_NAMES, FORMATS, READING, TRAINING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    Value = Any
    Configuration = dict[str, Value]
    """A value by name; names that are missing are not given."""

REPRESENTATIVES: dict[str, tuple[Value, ...]] = {
    "language": ("german", "japanese"),
    "stop_words": ("default", "none", "french", "stop.txt"),
    "stemmer": ("none", "german", "porter"),
    "ngrams": (2, 3),
    "char_ngrams": ("3", "2-4"),
    "min_df": (2,),
    "max_df": (0.7,),
    "top": (12,),
    "weighting": (
        "counts",
        "binary",
        "log",
        "tfidf",
    ),  # counts too: with a pool, what is not given is log
    "smoothing": ("evidence", "leave-one-out", 0.5, 0, "0.1,2", "smoothing.txt"),
    "members": (
        "multinomial+bernoulli",
        "complement:tfidf+bernoulli",
        "gaussian+logistic",
        "evidence:multinomial:0.5+multinomial",
    ),
    "l2": (1,),
    "latent": (3,),
    "shrinkage": (0.5,),
    "class_prior": ("uniform", "smoothed:0.5", "prior.txt"),
    "class_weight": ("balanced",),
    "keep_documents": (12, 0),
    "headers": ("subject", "subject,from"),
    "structure": (True, False),
    "label_column": ("topic", "1"),
    "label_separator": ("|",),
    "label_pattern": ("([^/.-]+)-",),
    "text_column": ("body", "subject,body", "none"),
    "file_column": ("file",),
    "tag_fields": ("subject,sender",),
    "id_column": ("id",),
    "categorical": ("colour", "colour=9,sender"),
    "count": ("visits",),
    "numeric": ("size",),
    "weight_column": ("weight", "none"),
    "header": (True, False),
    "delimiter": (";",),
    "encoding": ("utf-8", "latin-1", "utf-16"),
    "max_document_size": ("2K",),
    "max_unpacked_size": ("1M",),
}
"""Of parameters that take more than names, or too many: what is tried besides the default."""

INPUTS: dict[str, tuple[Value, ...]] = {
    "labels": (None, "none", "several"),
    "seeds": (None, "seeds.txt", "against.txt"),
    "unlabelled": (None, "pool"),
    "source": (None, "files-from", "from-folder", "relabel", "once"),
    "on_error": (None, "skip", "fail"),
    "where": (None, "part=train"),
    "compression": (None, "gz", "bz2", "xz"),
}
"""What is not a parameter of a model."""


def _values() -> dict[str, tuple[Value, ...]]:
    found: dict[str, tuple[Value, ...]] = {}
    for parameter in (*READING, *TRAINING):
        others: Iterable[Value] = REPRESENTATIVES.get(parameter.name, ())
        if not others:
            others = (
                (not parameter.default,)
                if not parameter.metavar
                else [name for name in parameter.choices if name != parameter.default]
            )
        found[parameter.name] = (None, *others)
    return {**found, **INPUTS}


VALUES = _values()
"""By name; the first is not given."""

Condition = tuple[str, tuple["Value", ...]]
"""A name, and the values of it that are meant."""


def given(name: str, *but: Value) -> Condition:
    """Return all values of a name, but the one that is not given and these."""
    return name, tuple(value for value in VALUES[name] if value is not None and value not in but)


def among(name: str, *values: Value) -> Condition:
    """Return these values of a name."""
    return name, values


COLUMNS = tuple(name for name, layout in FORMATS.items() if layout.has_columns)
TABLES = among("format", None, *(name for name in COLUMNS if not FORMATS[name].is_decoded))
MAIL = (
    among("document", "mail"),
    among("format", *(name for name, layout in FORMATS.items() if layout.is_mail)),
)
COLUMNED = among("format", None, *COLUMNS)
FILES = among(
    "format",
    *(
        name
        for name, layout in FORMATS.items()
        if layout.has_file_per_document or name in ("lines", "mbox")
    ),
)
SEVERAL = (among("labels", "several"), given("label_separator"))
BY_EVIDENCE = among("members", "evidence:multinomial:0.5+multinomial")
OF_GAUSSIAN = (among("classifier", "gaussian"), among("members", "gaussian+logistic"))

NEEDS: tuple[tuple[Condition, tuple[Condition, ...]], ...] = (
    *((given(name), MAIL) for name in ("headers", "structure", "drop_quotes", "drop_signatures")),
    *(
        (given(name), (COLUMNED,))
        for name in (
            "label_column",
            "text_column",
            "id_column",
            "categorical",
            "count",
            "numeric",
            "weight_column",
        )
    ),
    *(
        (each, (TABLES,))
        for each in (given("header"), given("delimiter"), among("label_column", "1"))
    ),
    (given("tag_fields"), (COLUMNED, *MAIL)),
    (
        given("document"),
        (
            among(
                "format",
                *(
                    name
                    for name, layout in FORMATS.items()
                    if not layout.is_mail and not layout.is_counted
                ),
                None,
            ),
        ),
    ),
    (among("text_column", "none"), (given("categorical"), given("count"), given("numeric"))),
    (given("criterion"), (given("top"),)),
    (given("members"), (among("classifier", "average"),)),
    (given("l2"), (among("classifier", "logistic"), among("members", None, "gaussian+logistic"))),
    (given("l2"), (among("classifier", "logistic", "average"),)),
    *(
        (given(name), OF_GAUSSIAN)
        for name in ("latent", "covariance", "covariance_shape", "shrinkage")
    ),
    (among("source", "from-folder"), (among("format", "mbox", "maildir"),)),
    (among("labels", "none"), (given("seeds"),)),
    (among("labels", "none"), (given("unlabelled"),)),
    (among("labels", "none"), (among("source", None),)),
    (SEVERAL[0], (among("format", "jsonl", "fasttext"),)),
    (SEVERAL[1], (COLUMNED,)),
    (given("label_pattern"), (FILES,)),
    (given("file_column"), (COLUMNED,)),
    (given("where"), (COLUMNED,)),
    (among("smoothing", "0.1,2"), (among("classifier", "bernoulli"),)),
)
"""What a value needs to have a part in a model: one of some conditions. Without it, it is idle."""


ATTRIBUTES = (given("categorical"), given("count"), given("numeric"))
WEIGHTS = (given("class_weight"), among("weight_column", "weight"))
WORDS = tuple(given(name, "none") for name in (*ANALYSIS_NAMES, "surface_forms"))
AVERAGE = among("classifier", "average")
NO_POSTERIOR = (among("smoothing", 0), among("estimate", "ml"))

REFUSED: tuple[tuple[Condition, ...], ...] = (
    (given("file_column"), given("text_column")),
    (among("classifier", "bernoulli"), among("weighting", "log", "tfidf")),
    (among("classifier", "gaussian", "average"), given("weighting", "counts")),
    (among("classifier", "logistic"), among("weighting", "binary", "log")),
    (among("classifier", "bernoulli", "average"), given("prior_shape")),
    (among("classifier", "gaussian", "logistic", "average"), among("smoothing", "smoothing.txt")),
    (given("prior_shape"), among("smoothing", "smoothing.txt")),
    (given("classifier"), among("smoothing", "leave-one-out")),
    (among("weighting", "tfidf"), among("smoothing", "leave-one-out")),
    (among("keep_documents", 0), among("smoothing", "leave-one-out")),
    *((among("classifier", "complement", "logistic"), each) for each in NO_POSTERIOR),
    *((AVERAGE, among("members", None, *VALUES["members"][2:]), each) for each in NO_POSTERIOR),
    (among("classifier", "complement"), given("class_prior", "uniform")),
    (among("members", "complement:tfidf+bernoulli"), given("class_prior", "uniform")),
    *((among("classifier", "gaussian"), each) for each in WEIGHTS),
    *((given("members", "multinomial+bernoulli", "evidence:multinomial:0.5+multinomial"), each) for each in WEIGHTS),
    *((among("classifier", None, "complement"), among("weighting", "tfidf"), each) for each in WEIGHTS),
    *((each, weights) for each in ATTRIBUTES for weights in WEIGHTS),
    *((each, among("classifier", "complement")) for each in ATTRIBUTES),
    *((each, among("members", "complement:tfidf+bernoulli")) for each in ATTRIBUTES),
    *((given(name), each) for name in ("seeds", "unlabelled") for each in (given("classifier"), among("weighting", "tfidf"), given("top"))),
    (given("seeds"), among("estimate", "ml")),
    (given("unlabelled"), given("class_weight")),
    (given("unlabelled"), among("smoothing", "leave-one-out")),
    *((given("unlabelled"), each) for each in NO_POSTERIOR),
    (given("unlabelled"), among("keep_documents", 0)),
    (given("unlabelled"), among("calibration", "none")),
    *((given("unlabelled"), each) for each in ATTRIBUTES),
    *(
        (several, each)
        for several in SEVERAL
        for each in (
            given("seeds"), given("unlabelled"), given("class_weight"), *ATTRIBUTES, among("class_prior", "prior.txt"), *NO_POSTERIOR,
            among("smoothing", "leave-one-out"), given("classifier", "bernoulli", "logistic"),
        )
    ),
    *((several, among("classifier", None), among("weighting", "tfidf")) for several in SEVERAL),
    *((among("format", "svmlight"), each) for each in WORDS),
    (among("encoding", "utf-16"), among("format", *(name for name, layout in FORMATS.items() if not (layout.is_mail or layout.has_file_per_document)), None)),
    *(
        (among("header", False), each)
        for each in (
            among("label_column", "topic"), among("text_column", "body", "subject,body"), given("file_column"), given("where"), given("tag_fields"), given("id_column"),
            *ATTRIBUTES, among("weight_column", "weight"),
        )
    ),
)  # fmt: skip
"""What is refused together: conditions that must not all hold."""

NOT_TRIED: tuple[tuple[Condition, ...], ...] = (
    *(
        (among("encoding", "utf-16"), each) for each in MAIL
    ),  # the bytes of a message are not UTF-16
    *(
        (each, given("document"), among("text_column", None, "none")) for each in ATTRIBUTES
    ),  # there is no text of that kind
    *((several, among("source", "relabel")) for several in SEVERAL),  # a patch names one label
    *(
        (SEVERAL[1], each) for each in (among("labels", "none"), SEVERAL[0])
    ),  # there are none to separate
    (
        among("max_document_size", "2K"),
        among("on_error", "fail"),
    ),  # the first long document ends the run, with status 1
)
"""What has no meaning together."""


def holds(condition: Condition, configuration: Mapping[str, Value]) -> bool:
    """Return whether a configuration has one of the values."""
    return configuration.get(condition[0]) in condition[1]


def refused_alone() -> list[tuple[tuple[tuple[str, Value], ...], Configuration]]:
    """Return what is refused, value by value, each with the least configuration that has it."""
    chosen = [
        values
        for conditions in REFUSED
        for values in product(*([(name, value) for value in values] for name, values in conditions))
    ]
    least = ((values, _least(dict(values))) for values in chosen)
    return [
        (values, {name: value for name, value in found.items() if value is not None})
        for values, found in least
        if found is not None
    ]


def _least(values: Configuration) -> Configuration | None:
    """Return values with what they need; None if they exclude that."""
    for condition, needed in NEEDS:
        if holds(condition, values) and not any(holds(each, values) for each in needed):
            choice = next((each for each in needed if each[0] not in values), None)
            return None if choice is None else _least({**values, choice[0]: choice[1][0]})
    return values


def places(values: int) -> list[int]:
    """Return the places of the bits that are set."""
    return [place for place, bit in enumerate(bin(values)[:1:-1]) if bit == "1"]


class _Search:
    """Configurations as sets of values: integers with a bit for each of `NUMBERS_OR_NAN`."""

    def __init__(self) -> None:
        self.values = [(name, value) for name, values in VALUES.items() for value in values]
        self.bit = {value: 1 << place for place, value in enumerate(self.values)}
        self.domain = {name: self.mask((name, values)) for name, values in VALUES.items()}
        self.needs = [(self.mask(condition), self.mask(*needed)) for condition, needed in NEEDS]
        excluded = [
            [self.mask(condition) for condition in conditions]
            for conditions in (*REFUSED, *NOT_TRIED)
        ]
        self.excluded = [
            [conditions for conditions in excluded if any(bit & mask for mask in conditions)]
            for bit in self.bit.values()
        ]
        """By value, the conditions of which it meets one and that must not all hold."""
        self.met = [0] * len(self.values)
        """By value, those that it meets in a configuration."""

    def mask(self, *conditions: Condition) -> int:
        """Return the values that are in one of the conditions."""
        return sum({self.bit[name, value] for name, values in conditions for value in values})

    def gain(self, value: int, chosen: int) -> int:
        """Return how many of the chosen values this one has not met."""
        return (chosen & ~self.met[value]).bit_count()

    def excludes(self, value: int, chosen: int) -> bool:
        """Return whether a value excludes some of the chosen values, of which it is one."""
        return any(
            all(chosen & condition for condition in conditions)
            for conditions in self.excluded[value]
        )

    def unmet_need(self, chosen: int, open_: int) -> int | None:
        """Return values of which one is needed, 0 if none is left; None if nothing is needed."""
        return next(
            (
                needed & open_
                for condition, needed in self.needs
                if chosen & condition and not chosen & needed
            ),
            None,
        )

    def complete(self, chosen: int, open_: int) -> int | None:
        """Return the values chosen, with one of each name, such that many meet others for the first time; None if that cannot be.

        ``open_`` are the values that each name can still have.
        """
        wanted = self.unmet_need(chosen, open_)
        if wanted is None:
            if open_ == chosen:
                return chosen
            name, _ = self.values[
                max(places(open_ & ~chosen), key=lambda place: self.gain(place, chosen))
            ]
            wanted = self.domain[name]
        for place in sorted(places(wanted), key=lambda place: -self.gain(place, chosen)):
            bit, domain = 1 << place, self.domain[self.values[place][0]]
            if (
                not self.excludes(place, chosen | bit)
                and (found := self.complete(chosen | bit, open_ & ~domain | bit)) is not None
            ):
                return found
        return None

    def with_pair(self, one: int, other: int) -> int | None:
        """Return a configuration in which two values meet; None if there is none."""
        chosen = 1 << one | 1 << other
        if self.excludes(one, chosen) or self.excludes(other, chosen):
            return None
        both = self.domain[self.values[one][0]] | self.domain[self.values[other][0]]
        return self.complete(chosen, sum(self.domain.values()) & ~both | chosen)

    def run(self) -> Iterator[int]:
        """Yield configurations until every possible pair has met."""
        for one, other in combinations(
            reversed(range(len(self.values))), 2
        ):  # this way they are fewer
            if self.values[one][0] == self.values[other][0] or self.met[one] >> other & 1:
                continue
            found = self.with_pair(one, other)
            if found is not None:
                yield found
                for place in places(found):
                    self.met[place] |= found


@cache
def configurations() -> tuple[Configuration, ...]:
    """Return configurations in which every possible pair of values meets, of each only what is given."""
    search = _Search()
    return tuple(
        {
            name: value
            for name, value in map(search.values.__getitem__, places(found))
            if value is not None
        }
        for found in search.run()
    )

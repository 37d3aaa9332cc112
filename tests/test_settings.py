"""Every parameter: its default, what it takes, what it refuses. A new one in the tables is tested without a new test.

Also tests `settings.py`.
"""

from __future__ import annotations

import json
import math
from dataclasses import FrozenInstanceError, fields, replace
from typing import Any, get_args

import pytest

from nbtext import settings as parameters
from nbtext.errors import UsageError
from nbtext.settings import (
    CRITERIA,
    INPUT,
    LANGUAGE_CODES,
    LANGUAGES,
    READING,
    REMOVED_VALUES,
    SNOWBALL_STEMMERS,
    TRAINING,
    UNSPACED_LANGUAGES,
    VALUE_ALIASES,
    Parameter,
    Reading,
    Settings,
)

TABLES = [
    table
    for table in vars(parameters).values()
    if isinstance(table, tuple) and table and isinstance(table[0], Parameter)
]
ALL: list[Parameter] = [parameter for table in TABLES for parameter in table]
EVERY = pytest.mark.parametrize("parameter", ALL, ids=lambda parameter: parameter.name)
ALWAYS_WRONG: tuple[object, ...] = (
    "",
    [],
    {},
    object(),
    b"",
    (),
    math.nan,
    math.inf,
    -math.inf,
    -1,
)
"""No parameter takes any of these, but for those that `TAKES` tells. `WRONG` adds what is near the values that one takes."""

TAKES: dict[str, tuple[type, ...]] = {
    "label_column": (object,),
    "file_column": (object,),
    "text_column": (object,),
    "id_column": (object,),
    "weight_column": (object,),
    "stop_words": (list, tuple),
}
"""Columns are names, and almost any text is a name. Stop words may be a list, also an empty one."""

WRONG: dict[str, tuple[object, ...]] = {
    "drop_quotes": ("yes", 1, None),
    "max_document_size": ("0", "64X", "1.5M", "K", "-1K", True, "99999999999G"),
    "format": ("zip", "DIR", 1),
    "document": ("pdf", "Text", None),
    "headers": (",", "subject,,from", " ", 3),
    "label_column": ("", "0", 0, "00"),
    "text_column": ("", "0", 0),
    "id_column": ("", "0", 0),
    "label_pattern": ("spam", "(a)(b)", "(", "[a-z]+_"),
    "where": ("split", "=x", "0=x"),
    "weight_column": ("", "0", 0),
    "class_weight": ("Balanced", "none"),
    "header": ("yes", 1, 0, "true"),
    "delimiter": ("", "ab", "\n", '"', "\r"),
    "encoding": ("utf-99", 8, "utf\0", "base64"),
    "classifier": ("svm", 0),
    "language": ("klingon", "English", "xx", "de2"),
    "stop_words": (0, True),
    "stemmer": ("snow", "Porter", True),
    "ngrams": (0, 11, "9" * 400, "0", 1.5, "1.5", True, "two", None, 2**40),
    "char_ngrams": (0, 11, "0", "3-2", "3-", "-3", "3-5-7", "3-11", 3.0, True, "three", "³"),
    "min_df": (0, "-1", 2.5, False, "x", None),
    "max_df": (1.01, "-0.1", "nan", True, "half", None),
    "top": (0, "0", 2.5, True, "all"),
    "criterion": ("magic", "CHI2"),
    "smoothing": (
        -0.1,
        "-1",
        "nan",
        "inf",
        True,
        "none",
        1e13,
        1e-13,
        None,
        "1,",
        "1,0",
        "1,2,3",
        (1,),
    ),
    "prior_shape": ("flat", 0),
    "latent": (0, "0", 10001, 2.5, True, None),
    "covariance": ("own", 0),
    "covariance_shape": ("round", 0),
    "shrinkage": (1.01, "-0.1", "nan", True, "none", None),
    "estimate": ("mode", 1),
    "class_prior": (
        "smoothed",
        "smoothed:",
        "smoothed:-1",
        "smoothed:x",
        "smoothed:nan",
        {"a": -1},
        {"a": "x"},
        {"a": 0},
        {"a": True},
        1,
    ),
}

RIGHT: dict[str, tuple[tuple[object, object], ...]] = {
    "headers": (("Subject, From", "subject,from"), ("x-spam", "x-spam")),
    "label_column": ((3, "3"), ("class", "class"), ("12", "12")),
    "delimiter": (("tab", "\t"), ("\\t", "\t"), (";", ";")),
    "encoding": (("auto", "auto"), ("UTF8", "utf-8"), ("latin-1", "cp1252"), ("gb2312", "gb18030")),
    "max_document_size": (
        ("64M", "64M"),
        (64 << 20, "64M"),
        ("1048576", "1M"),
        ("1000", "1000"),
        (1, "1"),
        ("2g", "2G"),
        ("1KiB", "1K"),
    ),
    "header": ((True, True), (False, False), (None, None)),
    "classifier": (("dirichlet-multinomial", "multinomial"),),
    "calibration": (("length", "auto"),),
    "members": (("dirichlet-multinomial:binary+bernoulli", "multinomial:binary+bernoulli"),),
    "ngrams": ((1, 1), ("3", 3), (2.0, 2)),
    "char_ngrams": (("3-5", "3-5"), ("4", "4"), (4, "4"), ("4-4", "4"), ("03-5", "3-5")),
    "min_df": (("5", 5),),
    "max_df": (("0.5", 0.5), (1, 1.0), (0, 0.0)),
    "top": ((None, None), ("500", 500)),
    "smoothing": (
        ("auto", "auto"),
        ("0.5", 0.5),
        (0, 0.0),
        (1, 1.0),
        ("1e-12", 1e-12),
        ("0.1,2", (0.1, 2.0)),
        ([1, 2], (1.0, 2.0)),
    ),
    "language": tuple((name, name) for name in LANGUAGES),
    "stemmer": tuple((name, name) for name in ("snowball", "none", "porter", *SNOWBALL_STEMMERS)),
    "criterion": tuple((name, name) for name in CRITERIA),
    "class_prior": (
        ("smoothed:1.50", "smoothed:1.5"),
        ("uniform", "uniform"),
        ({"b": 1, "a": "2"}, {"a": 2.0, "b": 1.0}),
    ),
}


def wrong_values(parameter: Parameter) -> list[object]:
    values = [
        value for value in ALWAYS_WRONG if not isinstance(value, TAKES.get(parameter.name, ()))
    ]
    return [*values, *WRONG.get(parameter.name, ())]


def test_every_parameter_has_a_unique_name_and_examples_match() -> None:
    names = [parameter.name for parameter in ALL]
    assert len(names) == len(set(names))
    assert {*WRONG, *RIGHT, *TAKES} <= set(names)
    assert set(READING + INPUT + TRAINING) <= set(ALL)


@pytest.mark.parametrize(
    ("given", "language"),
    [
        ("de", "german"),
        ("pt-BR", "portuguese"),
        ("EN_us", "english"),
        ("zh", "chinese"),
        ("greek", "greek"),
    ],
)
def test_language_codes_are_accepted(given: str, language: str) -> None:
    assert Settings(language=given).language == language
    assert set(LANGUAGE_CODES.values()) == {*LANGUAGES, *UNSPACED_LANGUAGES}


def test_misspelt_value_gives_a_suggestion() -> None:
    with pytest.raises(UsageError, match=r"not 'germna' \(did you mean 'german'\?\)"):
        Settings(language="germna")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        (name, value)
        for name, gone in REMOVED_VALUES.items()
        for value in gone
        if value not in VALUE_ALIASES.get(name, {})
    ],
)
def test_removed_value_is_refused_with_its_replacement(name: str, value: str) -> None:
    [parameter] = [each for each in ALL if each.name == name]
    with pytest.raises(UsageError, match=f"{name} does not take {value}") as refused:
        parameter.validate(value)
    assert refused.value.hint == REMOVED_VALUES[name][value]


@pytest.mark.parametrize(
    ("name", "alias", "value"),
    [
        ("smoothing", "laplace", 1.0),
        ("smoothing", "jeffreys", 0.5),
        ("smoothing", "krichevsky-trofimov", 0.5),
        ("estimate", "mle", "ml"),
    ],
)
def test_name_of_a_textbook_is_the_same_setting(name: str, alias: str, value: object) -> None:
    assert dict(Settings.from_values({name: alias}))[name] == value


@EVERY
def test_invalid_value_error_names_option_and_value(
    parameter: Parameter,
) -> None:
    for value in wrong_values(parameter):
        if value is None and parameter.default is None:
            continue
        with pytest.raises(UsageError) as refused:
            parameter.validate(value)
        message = str(refused.value)
        assert message.startswith(f"{parameter.name} must be ")
        assert repr(value) in message
        assert len(message.removeprefix(f"{parameter.name} must be ").split(", not ")[0]) > 3


@EVERY
def test_default_is_canonical(parameter: Parameter) -> None:
    assert parameter.validate(parameter.default) == parameter.default
    assert type(parameter.validate(parameter.default)) is type(parameter.default)


@EVERY
def test_every_parameter_has_a_sentence_and_a_json_default(
    parameter: Parameter,
) -> None:
    name, colon, _ = parameter.meaning.partition(":")
    assert parameter.meaning[0].isupper() or (colon and name in parameter.choices)
    assert parameter.meaning.endswith(".")
    assert json.loads(json.dumps(parameter.default)) == parameter.default
    assert parameter.option == "--" + parameter.name.replace("_", "-")


@EVERY
def test_canonical_values_are_unchanged(parameter: Parameter) -> None:
    for value, canonical in RIGHT.get(parameter.name, ()):
        found = parameter.validate(value)
        assert (found, type(found)) == (canonical, type(canonical))
        assert parameter.validate(found) == found


def test_given_values_are_validated_and_others_are_defaults() -> None:
    found = Settings.from_values({"top": "7", "smoothing": "1e-2"})
    defaults: dict[str, Any] = {parameter.name: parameter.default for parameter in TRAINING}
    assert dict(found) == {**defaults, "top": 7, "smoothing": 0.01}
    assert dict(Reading.from_values({})) == {
        parameter.name: parameter.default for parameter in READING
    }


@pytest.mark.parametrize("kind", [Reading, Settings])
def test_settings_are_validated_on_creation_and_immutable(kind: type[Settings]) -> None:
    assert (Reading(encoding="UTF8").encoding, Settings(top="7").top) == ("utf-8", 7)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="ngrams must be"):
        replace(Settings(), ngrams=11)
    with pytest.raises(FrozenInstanceError):
        Settings().ngrams = 2  # type: ignore[misc]
    assert kind.from_values(dict(kind())) == kind()
    assert repr(kind()) == f"{kind.__name__}()"
    assert (
        repr(Settings(top=7, reading=Reading(format="csv")))
        == "Settings(top=7, reading=Reading(format='csv'))"
    )


@pytest.mark.parametrize("kind", [Reading, Settings])
def test_values_have_the_declared_type(kind: type[Settings]) -> None:
    for field, parameter in zip(fields(kind), kind.parameters(), strict=False):
        declared = str(field.type).replace("None", "NoneType").split(" | ")
        values = [parameter.default, *(canonical for _, canonical in RIGHT.get(field.name, ()))]
        if choices := get_args(getattr(parameters, declared[0], None)):
            assert (
                {value for value in values if value is not None}
                <= set(choices)
                == set(parameter.choices)
            ), field.name
        elif declared[0] not in ("Smoothing", "ClassPrior"):  # names of larger types
            assert {type(value).__name__ for value in values} <= set(declared), field.name


def test_unknown_parameter_is_named_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match=r"'alpha'.*smoothing"):
        Settings.from_values({"alpha": 1})

"""What goes with what: each pair of the table is refused in one line that names both.

What is in no pair is not refused. Tests `traits.py` too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
import pytest

from nbtext import TextClassifier, UsageError, compatibility, traits
from nbtext.cli.main import COMMAND_SUMMARIES as NAMES
from nbtext.cli.main import nbtext as program
from nbtext.compatibility import (
    COMMAND_OPTION_GROUPS,
    ERROR_LISTING,
    EXACT_CHANGE,
    INFORMATION_CRITERIA,
    LABEL_MERGE,
    MULTI_LABEL_DOCUMENTS,
    OFFERED_TRAITS,
    PRIOR_FROM_DOCUMENTS,
    SETTINGS_REQUESTS,
    SHARED_OPTION_GROUPS,
    OptionGroup,
    Request,
    _get_offered_traits,
    _list_option_requests,
    _list_settings_requests,
    require_compatible_options,
    require_compatible_settings,
)
from nbtext.counts.statistics import SeedTerm
from nbtext.settings import AVERAGE, CLASSIFIERS, EVIDENCE_PREFIX, WEIGHTINGS, Reading, Settings
from tests.process import fail, succeed, write

if TYPE_CHECKING:
    from pathlib import Path

    from nbtext.settings import ClassifierName, Weighting

TEXTS, LABELS = (
    ["it purrs", "it barks", "it purrs and naps", "it barks at night"],
    ["cats", "dogs", "cats", "dogs"],
)
EVERY_KIND = pytest.mark.parametrize(
    ("classifier", "weighting"),
    [(name, weighting) for name, kinds in OFFERED_TRAITS.items() for weighting in kinds],
)


def option_names(command: str) -> set[str]:
    """The options of a command by their long names, and CORPUS."""
    found = program.get_command(click.Context(program), command)
    assert found is not None
    return {
        name for each in found.params if isinstance(each, click.Option) for name in each.opts
    } | {"CORPUS"}


def named_by(row: OptionGroup) -> set[str]:
    """The options that a row names."""
    return {option.partition(" ")[0] for option in (*row.options, *row.requires_any)}


def test_every_classifier_has_traits_and_every_trait_is_needed_and_lacked() -> None:
    assert set(OFFERED_TRAITS) == set(CLASSIFIERS)
    assert {weighting for kinds in OFFERED_TRAITS.values() for weighting in kinds} == set(
        WEIGHTINGS
    )
    rows: list[Request | OptionGroup] = [
        value for value in vars(compatibility).values() if isinstance(value, Request)
    ]
    rows += [row for _, row in SETTINGS_REQUESTS]
    for table in (SHARED_OPTION_GROUPS, *COMMAND_OPTION_GROUPS.values()):
        rows += table
    needed = {trait for row in rows for trait in row.needs}
    offered = {
        trait for kinds in OFFERED_TRAITS.values() for offers in kinds.values() for trait in offers
    }
    lacked = {trait for row in rows for trait in row.lacks} | offered
    assert needed == lacked == set(traits.ALL_TRAITS)


@EVERY_KIND
def test_weights_are_accepted_exactly_by_classifiers_that_offer_them(
    classifier: ClassifierName, weighting: Weighting
) -> None:
    model = TextClassifier(classifier=classifier, weighting=weighting)
    if traits.WEIGHTS in _get_offered_traits(model.settings):
        model.fit(TEXTS, LABELS, [1, 2, 0.5, 1])
    else:
        with pytest.raises(
            UsageError,
            match=r"weights of documents cannot be used with (classifier|weighting|members) .*",
        ):
            model.fit(TEXTS, LABELS, [1, 2, 0.5, 1])


def test_refusal_names_both_settings_and_a_remedy() -> None:
    for settings, first, second in (
        (
            Settings(classifier="bernoulli", prior_shape="background"),
            "--set prior-shape=background",
            "--classifier bernoulli",
        ),
        (Settings(classifier="logistic", smoothing=0), "--classifier logistic", "--smoothing 0"),
        (
            Settings(weighting="tfidf", smoothing="leave-one-out"),
            "--smoothing leave-one-out",
            "--weighting tfidf",
        ),
        (
            Settings(
                classifier=AVERAGE, members="multinomial+complement", class_prior="smoothed:1"
            ),
            "--class-prior",
            "--set members",
        ),
    ):
        with pytest.raises(UsageError) as refused:
            require_compatible_settings(settings)
        assert refused.value.message.startswith(f"{first} cannot be used with {second}")
        assert refused.value.hint
    require_compatible_settings(Settings(), Request("something that needs nothing"))
    assert [found.name for found in _list_settings_requests(Settings())] == [
        "--classifier multinomial",
        "--weighting counts",
    ]


SETTINGS_ROWS: dict[str, dict[str, Any]] = {
    "p(m | data) of --set members": {
        "classifier": AVERAGE,
        "members": f"{EVIDENCE_PREFIX}multinomial:0.1+multinomial:1",
    },
    "--set prior-shape=background": {"prior_shape": "background"},
    "--class-prior": {"class_prior": "smoothed:1"},
    "--class-prior FILE": {"class_prior": {"a": 1, "b": 2}},
    "--class-weight balanced": {"class_weight": "balanced"},
    "--weight-column": {"reading": Reading(weight_column="weight")},
    "--categorical, --count or --numeric": {"reading": Reading(numeric="size")},
    "--top 9": {"top": 9},
    "--set keep-documents=0": {"keep_documents": 0},
    "--calibration none": {"calibration": "none"},
    "--set estimate=ml": {"estimate": "ml"},
    "--smoothing 0": {"smoothing": 0},
    "--smoothing leave-one-out": {"smoothing": "leave-one-out"},
    "--smoothing A,B": {"smoothing": (1, 2)},
    "--smoothing FILE": {"smoothing": {"*": 1}},
}
"""The row of each setting that needs or lacks something, with settings that have it."""


@pytest.mark.parametrize("name", SETTINGS_ROWS)
def test_each_setting_matches_its_row_of_the_table(name: str) -> None:
    found = {row.name for row in _list_settings_requests(Settings(**SETTINGS_ROWS[name]))}
    of_model = {
        each for each in found if each.startswith(("--set members", "--classifier", "--weighting"))
    }
    beside = {"--class-prior"} if name == "--class-prior FILE" else set()
    assert found - of_model - beside == {name}
    assert len(SETTINGS_ROWS) == len(SETTINGS_REQUESTS)


@pytest.mark.parametrize(
    "settings",
    [
        *({"classifier": name} for name, kinds in OFFERED_TRAITS.items() if traits.MULTI_LABEL not in kinds["counts"]),
        *({"weighting": name} for name, offers in OFFERED_TRAITS["multinomial"].items() if traits.MULTI_LABEL not in offers),
        {"class_weight": "balanced"}, {"class_prior": {"a": 1, "b": 2}}, {"estimate": "ml"}, {"smoothing": 0}, {"smoothing": "leave-one-out"}, {"numeric": "size"},
    ],
)  # fmt: skip
def test_single_label_settings_are_refused_for_multi_label_documents(
    settings: dict[str, Any],
) -> None:
    texts = (
        [{"text": "it purrs", "size": 1}, {"text": "it barks", "size": 2}]
        if "numeric" in settings
        else ["it purrs", "it barks"]
    )
    with pytest.raises(UsageError, match=r"^documents of several labels cannot be used with .*"):
        TextClassifier(**settings).fit(texts, [["a"], ["a", "b"]])
    assert TextClassifier().fit(["it purrs", "it barks"], [["a"], ["a", "b"]]).classes == ["a", "b"]


def test_multi_label_refusals_of_commands_name_an_alternative() -> None:
    for refused in (INFORMATION_CRITERIA, ERROR_LISTING, PRIOR_FROM_DOCUMENTS, LABEL_MERGE):
        with pytest.raises(UsageError) as found:
            require_compatible_settings(Settings(), MULTI_LABEL_DOCUMENTS, refused)
        assert (
            found.value.message
            == f"documents of several labels cannot be used with {refused.name}: this needs documents with one label each"
        )
        assert found.value.hint == refused.remedy != traits.MULTI_LABEL.remedy


@pytest.mark.usefixtures("tmp_path")
def test_refusal_names_the_ensemble_or_its_members() -> None:
    write(
        "t.jsonl",
        '{"label": ["a"], "text": "it purrs"}\n{"label": ["a", "b"], "text": "it barks"}\n',
    )
    refusal = "documents of several labels cannot be used with --classifier average: this needs documents with one label each"
    assert refusal in fail(2, "train t.jsonl --classifier average")
    assert refusal in fail(2, "train t.jsonl --classifier average --members multinomial+bernoulli")
    with pytest.raises(UsageError) as found:
        TextClassifier(classifier=AVERAGE).fit(["it purrs", "it barks"], [["a"], ["a", "b"]])
    assert found.value.message == refusal
    with pytest.raises(
        UsageError,
        match=r"an exact change of a model cannot be used with members=multinomial:log\+logistic",
    ):
        require_compatible_settings(Settings(classifier=AVERAGE), EXACT_CHANGE)


def test_seeds_are_refused_for_multi_label_documents() -> None:
    seeded = TextClassifier().begin_with([SeedTerm("a", ("purrs",), 1.0)])
    with pytest.raises(UsageError, match="cannot be used with"):
        seeded.fit(["it purrs", "it barks"], [["a"], ["a", "b"]])


@pytest.mark.parametrize("command", NAMES)
def test_options_in_the_table_exist_in_their_command(command: str) -> None:
    names = option_names(command)
    for row in COMMAND_OPTION_GROUPS.get(command, ()):
        assert named_by(row) <= names


def test_shared_options_exist_in_some_command() -> None:
    names = set().union(*map(option_names, NAMES))
    for row in SHARED_OPTION_GROUPS:
        assert named_by(row) <= names
    assert set(COMMAND_OPTION_GROUPS) <= set(NAMES)


REFUSED = (
    "classify --coverage --min-precision", "classify --coverage --label-threshold", "classify --costs --label-threshold", "classify --coverage --limit", "classify --coverage --mail-filter", "classify CORPUS --text",
    "cross-validate --folds --leave-one-out", "cross-validate --group-column --leave-one-out", "cross-validate --group-column --time-column",
    "cross-validate --repeats --time-column", "cross-validate --all --to", "cross-validate --output --to", "drift --output --to",
    "learning-curve --output --to", "prevalence --output --to", "tune --output --to", "explain --against --why-not", "explain --output --to", "explain --against --by-hand", "explain --by-hand --output=tsv",
    "explain --to --why-not", "label --suggest --take", "label --review --suggest", "label --review --take",
    "suspects --output --paths", "suspects --output --print0", "train --quiet --verbose", "train CORPUS --from-folder",
    "update --drop-unlabelled --unlabelled",
)  # fmt: skip
"""Commands with two options that exclude each other."""


@pytest.mark.parametrize("line", REFUSED)
def test_incompatible_options_are_refused_with_both_names(line: str) -> None:
    command, *options = line.split()
    with pytest.raises(UsageError) as refused:
        require_compatible_options(
            command,
            {name: value for name, _, value in (option.partition("=") for option in options)},
        )
    said = refused.value.message.replace("=", " ")
    assert sorted(said.partition(": ")[0].split(" cannot be used with ")) == sorted(
        option.replace("=", " ") for option in options
    )


def test_options_are_incompatible_in_either_order() -> None:
    for given in ({"--text": "x", "CORPUS": "('a',)"}, {"CORPUS": "('a',)", "--text": "x"}):
        with pytest.raises(UsageError, match="text cannot be used with CORPUS"):
            require_compatible_options("classify", given)
    with pytest.raises(UsageError, match="backend dask needs scheduler"):
        require_compatible_options("train", {"--backend": "dask"})
    require_compatible_options("train", {"--backend": "local", "--jobs": "2"})
    assert [
        found.name for found in _list_option_requests("train", {"--jobs": "2", "--model": "m"})
    ] == ["--jobs"]


def test_help_shows_the_compatibility_table() -> None:
    shown = " ".join(succeed("cross-validate --help-all").text.split())
    assert (
        "--leave-one-out: not with --folds, --repeats, --seed, --group-column or --time-column."
        in shown
    )
    assert "--null needs --files-from." in shown
    shown = " ".join(succeed("label --help-all").text.split())
    assert "--suggest, --take and --review exclude each other." in shown


def test_command_line_overrides_an_incompatible_config_file(pets: Path) -> None:
    write("nbtext.toml", "[classify]\ncoverage = 0.5\n")
    assert "cannot be used with" in fail(2, "classify pets --coverage 0.5 --min-probability 0.6")
    plain = succeed("classify pets --min-probability 0.6 --no-config")
    assert succeed("classify pets --min-probability 0.6").out == plain.out


def test_requirement_of_a_command_replaces_the_shared_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Option by option, however they are grouped in rows."""
    everywhere = (
        OptionGroup(("--a", "--b"), requires_any=("--c",)),
        OptionGroup(("--a",), needs={traits.FOLDS}),
    )
    of_suspects = (
        OptionGroup(("--d", "--a"), requires_any=("--e",)),
        OptionGroup(("--f",), lacks={traits.FOLDS}),
    )
    monkeypatch.setattr("nbtext.compatibility.SHARED_OPTION_GROUPS", everywhere)
    monkeypatch.setitem(COMMAND_OPTION_GROUPS, "suspects", of_suspects)
    with pytest.raises(UsageError, match="a needs e"):
        require_compatible_options("suspects", {"--a": "1", "--c": "1"})
    with pytest.raises(UsageError, match="b needs c"):
        require_compatible_options("suspects", {"--b": "1", "--e": "1"})
    with pytest.raises(UsageError, match="a needs c"):
        require_compatible_options("train", {"--a": "1", "--e": "1"})
    with pytest.raises(UsageError, match="a cannot be used with f"):
        require_compatible_options("suspects", {"--a": "1", "--e": "1", "--f": "1"})

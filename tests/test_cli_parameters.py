"""Parameters that a user gives (`cli/parameters.py`): options of their own, and ``--set`` for those that few need, as real commands."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from nbtext.cli.parameters import ExplicitSettings, format_arguments
from nbtext.errors import UsageError
from nbtext.settings import PARAMETERS_BY_NAME, READING, TRAINING, Settings
from tests.process import content, fail, nbtext, succeed, write

if TYPE_CHECKING:
    from pathlib import Path

RARE = [each for each in (*READING, *TRAINING) if each.is_rare]


@pytest.mark.parametrize(
    ("with_set", "with_options"),
    [
        ("--set prior-shape=background", "--prior-shape background"),
        (
            "--set estimate=map --smoothing 2 --set=keep-documents=0",
            "--estimate map --smoothing 2 --keep-documents 0",
        ),
        ("--set surface-forms=true", "--surface-forms"),
        ("--set surface-forms=false", "--no-surface-forms"),
        (
            "--set encoded_lines=keep --set max-document-size=1M",
            "--encoded-lines keep --max-document-size 1M",
        ),
        ("--classifier logistic --set l2=3 --set l2=0.5", "--classifier logistic --l2 0.5"),
        ("--set char-ngrams=2-3", "--char-ngrams=2-3"),
    ],
)
def test_set_equals_the_hidden_option(with_set: str, with_options: str, pets: Path) -> None:
    assert pets.exists()
    succeed(f"train pets -m a {with_set}")
    succeed(f"train pets -m b {with_options}")
    assert content("a") == content("b")


def test_invalid_settings_are_refused_by_name(pets: Path) -> None:
    assert pets.exists()
    assert fail(2, "train pets --set l3=1") == (
        "nbtext: --set does not know 'l3'; see nbtext help settings"
    )
    assert "--set does not know 'estimat' (did you mean 'estimate'?)" in fail(
        2, "train pets --set estimat=ml"
    )
    assert "--set cannot set ngrams, which has its own option; give --ngrams" in fail(
        2, "train pets --set ngrams=2"
    )
    assert "--set must be NAME=VALUE, not 'l2'" in fail(2, "train pets --set l2")
    assert "--set must be NAME=VALUE, not ''" in fail(2, "train pets --set")
    assert "--set drop-quotes must be true or false, not 'yes'" in fail(
        2, "train pets --set drop-quotes=yes"
    )
    assert "--set l2 must be auto or a number from 1e-6, not 'much'" in fail(
        2, "train pets --set l2=much"
    )
    assert "--set l2 is for commands that train; remove it" in fail(
        2, "classify pets --set l2=1"
    )  # a model has its own


def test_text_named_like_the_option_is_classified(pets: Path) -> None:
    assert pets.exists()
    succeed("train pets")
    assert succeed("classify", "--text", "--set").text
    write("--set", "a dog")
    assert succeed("classify", "--", "--set").text.startswith("--set\t")


def test_command_without_settings_has_no_set_option() -> None:
    assert "No such option '--set'" in fail(2, "select-features --set l2=1")


def test_config_files_name_settings_directly(pets: Path) -> None:
    assert pets.exists()
    write("nbtext.toml", "sample = 0\n")
    succeed("train pets -m a")
    succeed("train pets -m b --no-config --set keep_documents=0")
    assert content("a") == content("b")
    succeed("train pets -m c --set keep_documents=9")
    assert content("a") != content("c")
    write("nbtext.toml", 'set = ["sample=0"]\n')
    assert "write each setting by its own name, such as l2 = 1" in fail(2, "train pets")


def test_completion_suggests_names_and_values() -> None:
    def suggested(words: str) -> set[str]:
        env = {
            "_NBTEXT_COMPLETE": "bash_complete",
            "COMP_WORDS": words,
            "COMP_CWORD": str(len(words.split()) - 1),
        }
        return {line.removeprefix("plain,") for line in nbtext(env=env).text.splitlines()}

    assert suggested("nbtext train --set cov") == {"covariance=", "covariance-shape="}
    assert suggested("nbtext classify --set dr") == {"drop-quotes=", "drop-signatures="}
    assert suggested("nbtext train --set=covariance=s") == {
        "covariance=shared",
        "covariance=separate",
    }


def test_help_settings_lists_every_setting_and_help_all_names_it() -> None:
    text = succeed("help settings", env={"COLUMNS": "80"}).text
    everything = "".join(succeed("train --help-all").text.split())
    for parameter in RARE:
        assert f"  {parameter.key}={parameter.value_hint}" in text
        assert parameter.key in everything
    assert max(map(len, text.splitlines())) <= 80


def test_explicit_settings_are_validated_on_access_and_immutable() -> None:
    given = ExplicitSettings(Settings, {"ngrams": "2", "l2": "much"})
    assert "ngrams" in given
    assert "top" not in given
    changed = given.with_raw_values(l2="0.5", top="7")
    assert (
        changed.complete_settings.ngrams,
        changed.complete_settings.l2,
        changed.complete_settings.top,
    ) == (2, 0.5, 7)
    assert given.raw_values == {"ngrams": "2", "l2": "much"}
    with pytest.raises(UsageError, match="l2 must be"):
        given.values  # noqa: B018 - it is what raises


def test_explicit_settings_are_formatted_as_arguments() -> None:
    table = [PARAMETERS_BY_NAME[name] for name in ("ngrams", "l2", "null", "surface_forms", "top")]
    texts = {"ngrams": "2", "l2": "0.5", "null": True, "surface_forms": False, "top": None}
    assert format_arguments(table, texts) == [
        "--ngrams",
        "2",
        "--set",
        "l2=0.5",
        "--null",
        "--set",
        "surface-forms=false",
    ]

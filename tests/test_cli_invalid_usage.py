"""What is said of options and commands that there are not, of numbers that are none, and of what cannot be done.

Also tests `cli/shared_options.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
import pytest

from nbtext.cli.main import COMMAND_SUMMARIES, Commands
from nbtext.settings import MAX_OPTION_FILE_BYTES
from tests.model_changes import MORE, fail_unchanged
from tests.models import pets_classifier
from tests.process import bash, content, corpus, error_line, fail, nbtext, succeed, write

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("clasify", "No such command 'clasify' (did you mean 'classify'?); see nbtext --help"),
        (
            "cross-valdate corpus",
            "No such command 'cross-valdate' (did you mean 'cross-validate'?); see nbtext --help",
        ),
        ("select", "No such command 'select' (did you mean 'select-features'?); see nbtext --help"),
        ("inspekt", "No such command 'inspekt' (did you mean 'inspect'?); see nbtext --help"),
        ("xyzzy", "No such command 'xyzzy'; see nbtext --help"),
        ("", "No such command ''; see nbtext --help"),
        ("--versio", "No such option '--versio' (did you mean '--version'?); see nbtext --help"),
        (
            "train pets --stemer none",
            "No such option '--stemer' (did you mean '--stemmer'?); see nbtext train --help",
        ),
        (
            "evaluate --mdel x",
            "No such option '--mdel' (did you mean '--model'?); see nbtext evaluate --help",
        ),
        (
            "train --ngram",
            "No such option '--ngram' (did you mean '--ngrams'?); see nbtext train --help",
        ),
        ("train --xyzzy", "No such option '--xyzzy'; see nbtext train --help"),
        ("classify -Z", "No such option '-Z'; see nbtext classify --help"),
        (
            "classify x -j x",
            "--jobs must be a whole number from 0, not 'x'; see nbtext classify --help",
        ),
        (
            "classify x --jobs -1",
            "--jobs must be a whole number from 0, not '-1'; see nbtext classify --help",
        ),
        (
            "classify x --limit 1.5",
            "--limit must be a whole number from 1, not '1.5'; see nbtext classify --help",
        ),
        (
            "classify x --min-probability 2",
            "--min-probability must be a number from 0 to 1, not '2'; see nbtext classify --help",
        ),
        (
            "classify x --min-probability nan",
            "--min-probability must be a number from 0 to 1, not 'nan'; see nbtext classify --help",
        ),
        (
            "generate -n 0",
            "--limit must be a whole number from 1, not '0'; see nbtext generate --help",
        ),
        (
            "update x --lock-timeout soon",
            "--lock-timeout must be a number from 0, not 'soon'; see nbtext update --help",
        ),
        ("classify -m", "Option '--model' requires an argument; see nbtext classify --help"),
        ("classify --model", "Option '--model' requires an argument; see nbtext classify --help"),
        ("--log-format", "Option '--log-format' requires an argument; see nbtext --help"),
    ],
)
def test_mistyped_names_and_numbers_are_refused_with_suggestions(arguments: str, said: str) -> None:
    assert fail(2, arguments) == f"nbtext: {said}"


@pytest.mark.parametrize(
    ("arguments", "near"),
    [
        ("train pets --language germann", "german"),
        ("train pets --classifier bernouli", "bernoulli"),
        ("train pets --stop-words germna", "german"),
        ("train pets --criterion chi", "chi2"),
        ("train pets.csv --label-column topci --text-column body", "topic"),
        ("tune pets --try ngram=1,2", "ngrams"),
        ("evaluate pets --fail-under acuracy=1", "accuracy"),
        ("explain pets --against dgos", "dogs"),
        ("inspect --class dgos", "dogs"),
        ("select-features --criterion log-odd", "log-odds"),
        ("help trian", "train"),
    ],
    ids=str,
)
def test_misspelt_values_give_a_suggestion(pets: Path, arguments: str, near: str) -> None:
    write("pets.csv", "topic,body\ncats,purr\ndogs,bark\n")
    done = nbtext(arguments)
    assert done.status in {2, 4}
    assert f"did you mean '{near}'" in error_line(done, done.status)


def test_short_options_can_be_joined_with_values(pets: Path) -> None:
    for arguments in (
        ["-q", "-mpets.joblib"],
        ["-qm", "pets.joblib"],
        ["-m=pets.joblib", "-q"],
        ["-qmpets.joblib"],
    ):
        assert nbtext("train pets", *arguments).status == 0
        (pets / "pets.joblib").unlink()
    assert nbtext("train pets -m -q").status == 0
    assert (pets / "-q").exists()


@pytest.mark.parametrize("command", COMMAND_SUMMARIES)
def test_every_number_option_describes_its_range(command: str) -> None:
    context = click.Context(click.Command("nbtext"))
    found = Commands().get_command(context, command)
    assert found is not None
    for parameter in found.params:
        if isinstance(parameter.type, (click.IntRange, click.FloatRange)):
            convert: Any = parameter.type.convert
            for wrong in ("x", "-1"):
                with pytest.raises(
                    click.UsageError,
                    match=rf"^{max(parameter.opts, key=len)} must be a .*number (from|above) \d+.*, not '{wrong}'$",
                ):
                    convert(wrong, parameter, context)


def test_bounds_of_ranges_are_accepted(pets: Path) -> None:
    for value in ("0", "1"):
        succeed("classify pets/cats/1 --min-probability", value, "--jobs", "1")
    succeed("generate --seed 123456789012345678901234567890")


FILES = {"open.csv": 'a,text\nb,"c\n', "prior": "cats\t1\n", "list": "pets\n"}


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        ("classify pets --output xml", 2, "--output must be one of table, tsv, csv, jsonl, not 'xml'"),
        ("classify pets --format csv", 2, "is a directory, not a file of documents"),
        ("classify pets --encoding base64", 2, "--encoding"),
        ("classify pets/cats/1 --format csv --text-column x --no-header", 2, "use its number, or add --header"),
        ("evaluate pets/cats/1", 2, "is not a directory with one sub-directory per class"),
        ("evaluate -", 2, "- is empty; a corpus needs documents of each class"),
        ("evaluate pets --output jsno", 2, "--output must be one of table, tsv, csv, json, jsonl, not 'jsno' (did you mean 'json'?)"),
        ("inspect --class birds", 2, "the model has no class 'birds'; its classes are cats, dogs"),
        ("inspect --similarity", 2, "the option --similarity was removed; nbtext evaluate CORPUS shows which classes are confused"),
        ("inspect --verify", 2, "the option --verify was removed; nbtext doctor checks the installation and loads the model"),
        ("inspect --document mail", 2, "--document needs --perplexity"),
        ("inspect --perplexity nothere", 4, "nothere: cannot read"),
        ("inspect --perplexity birds", 2, "the corpus has no document of the model's classes"),
        ("learning-curve pets", 2, "4 documents are too few for 5 folds; lower --folds"),
        ("learning-curve pets --folds 1", 2, "--folds must be a whole number from 2, not '1'"),
        ("learning-curve pets --steps 0", 2, "--steps must be a whole number from 1 to 100, not '0'"),
        ("learning-curve pets --folds 2 --min-df 9", 2, "terms is left; lower --min-df or raise --max-df"),
        ("tokens doc -m missing", 3, "the model file does not exist"),
        ("tokens doc --ngrams 2", 2, "--ngrams needs --model none or --no-model"),
        ("tokens doc --no-model --ngrams 0", 2, "--ngrams must be a whole number from 1 to 10"),
        ("tokens doc --no-model --stop-words klingon", 2, "no stop list or file is called 'klingon'"),
        ("generate --class birds", 2, "the model has no class 'birds'; its classes are cats, dogs"),
        ("generate --length 0", 2, "see nbtext generate --help"),
        ("generate --seed -1", 2, "see nbtext generate --help"),
        ("generate --output xml", 2, "see nbtext generate --help"),
        ("compare both both", 2, "compare needs CORPUS or --files-from; to compare the content of the models: diff <(nbtext inspect -m both "),
        ("compare both both --disagreements x", 2, "compare needs CORPUS"),
        ("compare both both -0", 2, "--null needs --files-from"),
        ("update more -m none", 3, "none: the model file does not exist; make one with nbtext train"),
        ("update more -m more/cats/3", 3, "more/cats/3: not an nbtext model"),
        ("update nbtext.joblib --format tsv", 2, "would be read and overwritten"),
        ("update more --lock-timeout -1", 2, "--lock-timeout"),
        ("relabel cat c", 2, "the model has no class 'cat' (did you mean 'cats'?); its classes are cats, dogs"),
        ("relabel cats ''", 2, "'' cannot be a label; labels are text, not empty"),
        ("relabel cats", 2, "Missing argument 'NEW'"),
        ("relabel cats c -m none", 3, "none: the model file does not exist"),
        ("prune", 2, "no limit is given; add --min-df, --max-df or --ledger"),
        ("prune --min-df 9", 2, "terms is left; lower --min-df or raise --max-df"),
        ("prune --max-df 1.5", 2, "--max-df"),
        ("merge nbtext.joblib --to new", 2, "there is only one model to merge; name at least two"),
        ("merge nbtext.joblib ./nbtext.joblib --to new", 2, "./nbtext.joblib: the model is named twice"),
        ("merge nbtext.joblib none --to new", 3, "none: the model file does not exist"),
        ("merge nbtext.joblib both", 2, "Missing option '--to'"),
        ("merge nbtext.joblib both --to pets", 4, "pets: is a directory"),
        ("merge nbtext.joblib plain --to new", 2, "plain: cannot be added to nbtext.joblib: they differ in --stemmer"),
        ("compare nbtext.joblib", 2, "Missing argument 'B'"),
        ("compare nbtext.joblib nothere.joblib pets", 3, "nothere.joblib: the model file does not exist"),
        ("compare both counts pets", 2, "one model was trained on texts, the other on svmlight's counted features"),
        ("compare both both nothere", 4, "nothere: cannot read: no such file or directory"),
        ("compare both both hollow", 2, "the corpus has no readable documents"),
        ("compare both both pets --disagreements none/changed", 4, "the folder does not exist"),
        ("compare both both pets --disagreements -", 2, "--disagreements needs the name of a file"),
        ("compare both both pets --disagreements both", 2, "would be read and overwritten; choose another --disagreements"),
        ("compare both both pets --seed -1", 2, "--seed must be a whole number from 0, not '-1'"),
        ("tune pets --try smothing=1", 2, "--try does not know 'smothing' (did you mean 'smoothing'?)"),
        ("tune pets --try smoothing", 2, "--try smoothing needs values; write the values to try, such as --try smoothing=0.1,1"),
        ("tune pets --try smoothing=", 2, "--smoothing does not know ''"),
        ("tune pets --try smoothing=1,x", 2, "--smoothing does not know 'x'"),
        ("tune pets --try smoothing=none", 2, "--smoothing does not know 'none'"),
        ("tune pets --try ngrams=0", 2, "--ngrams must be"),
        ("tune pets --try ngrams=1 --try ngrams=2", 2, "--try ngrams is given twice; put all its values into one"),
        ("tune pets --try ngrams=1 --ngrams 2", 2, "--ngrams cannot be used with --try ngrams"),
        ("tune pets --try class-prior=nofile", 2, "--class-prior does not know 'nofile'"),
        ("tune pets --try stop-words=nofile", 2, "no stop list or file is called 'nofile'"),
        ("tune pets --try smoothing=" + ",".join(map(str, range(1001))), 2, "these are 1,001 settings, more than 1,000"),
        ("train pets --calibration isotonic", 2, "--calibration does not take isotonic; auto fits a temperature"),
        ("train pets --criterion evidence", 2, "--criterion does not take evidence; nbtext inspect --criteria prints it"),
        ("tune pets --criterion luck", 2, "--criterion must be one of mutual-information, "),
        ("tune pets --criterion evidence", 2, "--criterion does not take evidence; nbtext inspect --criteria prints it"),
        ("tune pets --criterion bic --try top=2,none", 2, "--criterion does not take bic; nbtext inspect --criteria"),
        ("tune pets --criterion leave-one-out", 2, "--criterion does not take leave-one-out; nbtext cross-validate --leave-one-out"),
        ("tune pets --criterion cross-validation", 2, "--criterion does not take cross-validation; remove it"),
        ("tune pets --folds 2 --min-df 8 --try ngrams=1,2", 2, "none of the"),
        ("tune pets --time-limit soon", 2, "--time-limit must be a time such as 60s, 5m or 1h, or none, not 'soon'"),
        ("tune pets --time-limit -1s", 2, "--time-limit must be a time"),
        ("tune pets --tries 2", 2, "the option --tries was removed; --time-limit none tries all"),
        ("tune pets --updatable --classifier logistic", 2, "an exact change of a model cannot be used with --classifier logistic"),
        ("tune pets -m no/model", 4, "no: the folder does not exist; make it first"),
        ("tune pets -m pets/cats/model", 2, "would be read and overwritten"),
        ("evaluate pets --fail-under accuracy", 2, "--fail-under must be NAME=VALUE, not 'accuracy'; such as"),
        ("evaluate pets --fail-under acuracy=0.8", 2, "--fail-under: unknown metric 'acuracy' (did you mean 'accuracy'?); choose from n, accuracy, macro_precision"),
        ("evaluate pets --fail-over ec=0.8", 2, "--fail-over: unknown metric 'ec' (did you mean 'ece'?); choose from log_loss, brier, ece, mean_cost, set_size"),
        ("evaluate pets --fail-under log_loss=0.6", 2, "--fail-under does not apply to log_loss, because less is better; use --fail-over log_loss=0.6"),
        ("evaluate pets --fail-over macro_f1=0.6", 2, "--fail-over does not apply to macro_f1, because more is better; use --fail-under macro_f1=0.6"),
        ("evaluate pets --fail-under accuracy=85", 2, "--fail-under accuracy must be a number from 0 to 1, not '85'"),
        ("evaluate pets --fail-under accuracy=high", 2, "--fail-under accuracy must be a number from 0 to 1, not 'high'"),
        ("evaluate pets --fail-under accuracy=nan", 2, "--fail-under accuracy must be a number from 0 to 1, not 'nan'"),
        ("evaluate pets --fail-under n=inf", 2, "--fail-under n must be a number from 0, not 'inf'"),
        ("evaluate pets --fail-under matthews=-2", 2, "--fail-under matthews must be a number from -1 to 1, not '-2'"),
        ("evaluate pets --fail-over log_loss=", 2, "--fail-over log_loss must be a number from 0, not ''"),
        ("evaluate pets --fail-over mean_cost=inf", 2, "--fail-over mean_cost must be a number, not 'inf'"),
        ("evaluate pets --fail-over mean_cost=1", 2, "there is no mean_cost without costs; add --costs FILE"),
        ("evaluate pets --fail-under top_2_accuracy=0.5", 2, "there is no top_2_accuracy with 2 classes"),
        ("evaluate pets --fail-under n=5 --fail-under-interval", 2, "there is no interval for n; remove --fail-under-interval"),
        ("evaluate pets --fail-under-interval", 2, "--fail-under-interval needs --fail-under or --fail-over"),
        ("evaluate birds --check-leakage nothere", 4, "nothere: cannot read: no such file or directory"),
        ("evaluate - --check-leakage - --format csv", 2, "standard input cannot be both the test and the training corpus"),
        ("evaluate birds --check-leakage hollow", 2, "the training corpus has no readable documents"),
        ("evaluate birds --prior-from pets --errors pets/cats/1", 2, "pets/cats/1 would be read and overwritten; choose another --errors"),
        ("evaluate birds --check-leakage pets --errors pets/cats/1", 2, "pets/cats/1 would be read and overwritten; choose another --errors"),
        ("train empty", 2, "empty: the directory has no sub-directories; a corpus has one sub-directory per class, with its documents inside"),
        ("train pets/cats/1", 2, "pets/cats/1 is not a directory with one sub-directory per class; each path is a corpus, also in a list of --files-from; for a table"),
        ("train pets --format csv", 2, "pets is a directory, not a file of documents; for a directory per class use --format dir"),
        ("train pets --format tar", 2, "--format does not take tar; unpack it first: tar -xf FILE"),
        ("train open.csv", 4, "open.csv: line 2: not valid csv (unexpected end of data); if quotes in this file are ordinary characters, use --format tsv --delimiter ','"),
        ("train open.csv --label-column x", 4, "open.csv: no column is called 'x'; the header has a, text"),
        ("train pets -m no/model", 4, "no: the folder does not exist; make it first"),
        ("train pets -m pets", 4, "pets: is a directory; use the name of a file"),
        ("train open.csv -m open.csv", 2, "open.csv would be read and overwritten; choose another --model"),
        ("train ./pets/../open.csv -m link", 2, "link would be read and overwritten; choose another --model"),
        ("train pets -m pets/cats/model", 2, "pets/cats/model would be read and overwritten; choose another --model"),
        ("train pets --min-df 9", 2, "lower --min-df or raise --max-df"),
        ("train pets --class-prior nofile", 2, "--class-prior does not know 'nofile'; use empirical, uniform, smoothed:A or a file"),
        ("train pets --class-prior open.csv", 4, "open.csv: line 1 is not a class, a tab and a number"),
        ("train pets --class-prior prior", 2, "the class prior lacks class 'dogs'; name every class"),
        ("train pets --stop-words nofile", 2, "no stop list or file is called 'nofile'; use none, a file, or one of "),
        ("train pets --stop-words pets", 4, "pets: is a directory"),
        ("train - --format tsv --encoding utf-16", 2, "make them UTF-8 first"),
        ("cross-validate pets --folds 300", 2, "there are only 4 documents, too few for 300 folds; lower --folds"),
        ("cross-validate pets --fail-under acuracy=1", 2, "--fail-under: unknown metric 'acuracy'"),
        ("cross-validate pets --fail-under mean_cost=1", 2, "--fail-under does not apply to mean_cost"),
        ("cross-validate pets --folds 2 --min-df 500", 2, "none of the"),
        ("cross-validate pets --folds 1", 2, "--folds must be a whole number from 2, not '1'"),
        ("suspects pets --excel-safe", 2, "--excel-safe needs --output csv"),
        ("suspects pets --min-log-odds -1", 2, "--min-log-odds must be a number from 0, not '-1'"),
        ("suspects pets --limit 0", 2, "--limit must be a whole number from 1, not '0'"),
        ("explain pets --against birds", 2, "no class 'birds'"),
        ("explain pets --to nbtext.joblib", 2, "overwritten"),
        ("why-not dog pets", 2, "did you mean 'dogs'"),
        ("why-not dogs", 2, "CORPUS"),
        ("explain", 2, "CORPUS"),
        ("report birds --learning-curve pets --to pets/cats/1", 2, "would be read and overwritten; choose another --to"),
        ("report pets --to nbtext.joblib", 2, "would be read and overwritten; choose another --to"),
        ("report pets --to pets/cats/1", 2, "would be read and overwritten; choose another --to"),
        ("report pets --to pets/cats/report.html", 2, "would be read and overwritten; choose another --to"),
        ("report --files-from list --to list", 2, "would be read and overwritten; choose another --to"),
        ("report pets --learning-curve -", 2, "--learning-curve cannot be standard input"),
        ("train pets -m -", 2, "--model needs the name of a file"),
        ("classify pets --drift -", 2, "--drift needs the name of a file"),
        ("report pets --to ''", 2, "--to needs the name of a file"),
        ("report pets --to -", 2, "--to needs the name of a file"),
        ("report pets --to no/such/folder/page.html", 4, "the folder does not exist"),
        ("report pets --to pets", 2, "pets"),
        ("report pets -m missing", 3, "missing: the model file does not exist"),
        ("report hollow --to prior", 2, "the corpus has no readable documents"),
        ("evaluate pets --errors nowhere/errors", 4, "the folder does not exist"),
        ("evaluate pets --errors more", 4, "is a directory"),
        ("evaluate pets --errors pets/cats/1", 2, "pets/cats/1 would be read and overwritten; choose another --errors"),
        ("evaluate pets --errors nbtext.joblib", 2, "nbtext.joblib would be read and overwritten; choose another --errors"),
        ("evaluate pets --errors -", 2, "--errors needs the name of a file"),
        ("evaluate hollow --errors prior", 2, "the corpus has no readable documents"),
        ("evaluate pets --group-by source", 2, "no columns, such as source"),
        ("evaluate pets --sweep prior", 2, "the option --sweep was removed; nbtext tune"),
        ("inspect --limit -1", 2, "from 0, not '-1'"),
        ("inspect --output latex", 2, "--output must be one of"),
        ("inspect more", 2, "unexpected extra argument"),
        ("inspect -v -q", 2, "--verbose cannot be used with --quiet"),
        ("select-features --limit 0", 2, "from 1, not '0'"),
        ("select-features --limit x", 2, "from 1, not 'x'"),
        ("select-features --criterion luck", 2, "--criterion must be one of"),
        ("select-features --output json", 2, "--output must be one of"),
        ("select-features more", 2, "unexpected extra argument"),
        ("select-features -v -q", 2, "--verbose cannot be used with --quiet"),
        ("drift log --last 0", 2, "--last"),
        ("drift log --last -1", 2, "--last"),
        ("drift log --last x", 2, "--last"),
        ("drift log --fail-over accuracy=1", 2, "--fail-over"),
        ("drift log --fail-over unknown", 2, "--fail-over"),
        ("drift log --fail-over unknown=-1", 2, "--fail-over"),
        ("drift log --fail-over unknown=nan", 2, "--fail-over"),
        ("drift log --fail-over any=inf", 2, "--fail-over"),
        ("classify pets --excel-safe", 2, "--excel-safe needs --output csv"),
        ("classify pets --output jsonl --excel-safe", 2, "--excel-safe needs --output csv"),
        ("select-features --output table --excel-safe", 2, "--excel-safe needs --output csv"),
        ("select-features --excel-safe", 2, "--excel-safe needs --output csv"),
        ("label pets --next best", 2, "--next must be one of"),
        ("classify --lines --format mbox", 2, "one document per line, not --format mbox"),
        ("train pets --tag-fields title -m new", 2, "--set tag-fields names columns"),
        ("train pets --numeric age", 2, "--format dir has no columns, such as age"),
    ],
)  # fmt: skip
def test_impossible_requests_are_refused_in_one_line(
    pets: Path, arguments: str, status: int, message: str
) -> None:
    corpus(
        pets,
        {
            **{f"more/{name}": text for name, text in MORE.items()},
            "birds/robin/1": "sings",
            "doc": "a cat",
            **FILES,
        },
    )
    (pets / "hollow/class").mkdir(parents=True)
    (pets / "empty").mkdir()
    (pets / "link").symlink_to("open.csv")
    if "plain" in arguments:
        pets_classifier(stemmer="none").save("plain")
    write("both", content("nbtext.joblib"))
    if " counts " in arguments:
        write("1.svm", "x a:1\ny b:1\n")
        succeed("train 1.svm -m counts")
    assert message in fail_unchanged(pets, arguments, status)


@pytest.mark.parametrize("option", ["--stop-words", "--class-prior", "--seeds", "--smoothing"])
def test_option_file_larger_than_the_limit_is_refused(pets: Path, option: str) -> None:
    with (pets / "large").open("wb") as file:
        file.truncate(MAX_OPTION_FILE_BYTES + 1)
    assert "large: is larger than 64 MiB" in fail(4, "train pets", option, "large")


@pytest.mark.parametrize(
    "pattern", ["(" * 500 + ")" * 500, "(a{4294967295})", "(" * 100_000, "((a)"]
)
def test_invalid_label_pattern_is_refused(pets: Path, pattern: str) -> None:
    assert fail(2, "train pets --label-pattern", pattern).startswith(
        "nbtext: --label-pattern must be a regular expression with one group"
    )


@pytest.mark.fresh_interpreters("the directory in which it starts")
def test_deleted_working_directory_is_reported(pets: Path) -> None:
    del pets
    done = bash("mkdir gone && cd gone && rmdir ../gone && $NBTEXT train corpus -m m")
    assert (done.status, done.notes) == (
        4,
        ["nbtext: the working directory does not exist; change to an existing one"],
    )


@pytest.mark.parametrize(
    "command",
    [
        "relabel cats",
        "update pets/cats/1 --new-class --label",
        "forget pets/cats/1 --label",
        "train -m new --unlabelled pets/cats --seeds",
    ],
)
def test_label_containing_the_separator_is_refused(pets: Path, command: str) -> None:
    """Such a text passes for a set of labels: of U+001Fb U+001Fc for b and c."""
    write("seeds", "\x1fb\x1fc\tpurr\ncats\tcat\n")
    line = fail(4, command, "seeds") if "--seeds" in command else fail(2, command, "\x1fb\x1fc")
    assert "is not a class" in line or "cannot be a label" in line
    assert "cannot be a label" in fail(2, "train -m new --from-folder", "\x1fb\x1fc=pets/cats")
    assert (pets / "nbtext.joblib").exists()
    assert not (pets / "new").exists()

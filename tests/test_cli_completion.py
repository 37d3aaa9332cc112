"""Completion in a shell: bash really does it; the scripts for zsh and fish ask nbtext in the same way.

Also tests `cli/shared_options.py`.
"""

from __future__ import annotations

import os
import pty
import shlex
import shutil
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from nbtext import TextClassifier
from nbtext.cli.completion import SHELLS
from nbtext.cli.help import TOPICS
from nbtext.cli.main import COMMAND_SUMMARIES
from nbtext.settings import CRITERIA, FORMATS, LANGUAGES, UNSPACED_LANGUAGES
from tests.process import (
    ENVIRONMENT,
    content,
    fail,
    python_in_shell,
    run,
    start,
    succeed,
    succeeded,
    wait_until,
    write,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A folder with nbtext in ``bin``, which is on the path."""
    program = tmp_path / "bin" / "nbtext"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {python_in_shell()} -m nbtext "$@"\n')
    program.chmod(0o755)
    write("corpus.csv", "a,b\n")
    TextClassifier(stemmer="none").fit(["a cat", "a dog"], ["cats", "dogs"]).save("nbtext.joblib")
    return tmp_path


def completed(words: list[str], home: Path) -> list[str]:
    """What bash offers for the last of the words."""
    shell = shutil.which("bash")
    if shell is None:
        pytest.skip("there is no bash")
    env = {**ENVIRONMENT, "PATH": f"{home / 'bin'}:{os.environ['PATH']}"}
    if run(
        [
            shell,
            "-c",
            "((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] >= 404)) && complete -o nosort -F none none",
        ]
    ).status:
        pytest.skip("this bash is older than 4.4 or has no programmable completion")
    line = " ".join(shlex.quote(word) for word in words)
    script = (
        'source <(nbtext completion bash)\n[[ $(complete -p nbtext) == *_nbtext_completion* ]] || exit 9\ncompopt() { echo "FILES"; }\n'
        f"COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}\n_nbtext_completion nbtext\n"
        'for word in "${COMPREPLY[@]}"; do echo "$word"; done'
    )
    return succeeded(run([shell, "--norc", "-c", script], cwd=home, env=env)).text.splitlines()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["nbtext", ""], list(COMMAND_SUMMARIES)),
        (["nbtext", "sel"], ["select-features"]),
        (["nbtext", "train", "--ngr"], ["--ngrams"]),
        (["nbtext", "train", "--language", "ger"], ["german"]),
        (["nbtext", "train", "--language", ""], [*LANGUAGES, *UNSPACED_LANGUAGES]),
        (["nbtext", "train", "--stop-words", "no"], ["none", "norwegian"]),
        (["nbtext", "train", "--stemmer", "por"], ["portuguese", "porter"]),
        (
            ["nbtext", "classify", "--format", "m"],
            [name for name in FORMATS if name.startswith("m")],
        ),
        (["nbtext", "classify", "--output", ""], ["table", "tsv", "csv", "jsonl"]),
        (["nbtext", "select-features", "--criterion", ""], list(CRITERIA)),
        (["nbtext", "evaluate", "--log-format", "j"], ["json"]),
        (["nbtext", "classify", "corp"], ["FILES"]),
        (["nbtext", "classify", "-m", ""], ["FILES"]),
        (["nbtext", "train", "--stop-words", "./"], ["FILES"]),
        (["nbtext", "train", "--classifier", "=", "mul"], ["multinomial"]),
        (["nbtext", "classify", "--output", "="], ["table", "tsv", "csv", "jsonl"]),
        (["nbtext", "tune", "--try", "ngr"], ["ngrams="]),
        (["nbtext", "why-not", ""], ["cats", "dogs"]),
        (["nbtext", "why-not", "-m", "missing", ""], []),
        (["nbtext", "explain", "--against", "d"], ["dogs"]),
        (["nbtext", "relabel", "c"], ["cats"]),
        (["nbtext", "help", "form"], ["formats"]),
        (["nbtext", "help", ""], ["commands", *TOPICS, *COMMAND_SUMMARIES]),
        (["nbtext", "completion", ""], list(SHELLS)),
    ],
    ids=lambda value: " ".join(value) if value[:1] == ["nbtext"] else None,
)
def test_bash_completes(words: list[str], expected: list[str], home: Path) -> None:
    assert completed(words, home) == expected


EVIL = (
    "evil$(touch${IFS}ran)",
    "it's; touch ran",
    'bin "lorry" `touch ran`',
    "*, a",
    "!!touch ran",
)
"""Names of classes that a shell would not take for one word, or would do something at."""

INTERACTIVE = {
    "bash": (["--norc", "--noprofile", "-i"], "source <(nbtext completion bash)"),
    "zsh": (["-f", "-i"], 'autoload -U compinit; compinit -D; eval "$(nbtext completion zsh)"'),
    "fish": (["--no-config", "-i"], "nbtext completion fish | source"),
}


@pytest.mark.parametrize("quote", ["", "'", '"'])
@pytest.mark.parametrize("shell", INTERACTIVE)
def test_completed_class_names_are_quoted_and_not_executed(
    shell: str, quote: str, home: Path
) -> None:
    found = shutil.which(shell)
    if found is None:
        pytest.skip(f"there is no {shell}")
    TextClassifier(stemmer="none").fit([f"cat {row}" for row in range(len(EVIL))], list(EVIL)).save(
        "nbtext.joblib"
    )
    program = home / "bin" / "nbtext"
    program.write_text(
        '#!/bin/sh\n[ -z "$_NBTEXT_COMPLETE" ] && [ "$1" = relabel ] && { printf "%s\\0" "$@" > new; mv new args; exit; }\n'
        f'exec {python_in_shell()} -m nbtext "$@"\n'
    )
    arguments, setup = INTERACTIVE[shell]
    env = {
        **ENVIRONMENT,
        "PATH": f"{home / 'bin'}:{os.environ['PATH']}",
        "HOME": str(home),
        "TERM": "xterm",
        "LC_ALL": "C.UTF-8",
    }
    ours, theirs = pty.openpty()
    os.set_blocking(ours, False)
    shown = b""

    def typed(keys: str, wanted: Callable[[], bool]) -> None:
        def done() -> bool:
            nonlocal shown
            with suppress(BlockingIOError):
                shown += os.read(ours, 65536)
            return wanted()

        os.write(ours, keys.encode())
        wait_until(done, keys)

    with start(
        ["setsid", "--ctty", found, *arguments], env=env, stdin=theirs, stdout=theirs, stderr=theirs
    ) as child:
        try:
            typed(f"{setup}; echo rea''dy\r", lambda: b"ready" in shown)
            for begun, expected in (("ev", EVIL[0]), ("it", EVIL[1]), ("bin", EVIL[2])):
                typed(f"nbtext relabel {quote}{begun}\t\r", (home / "args").exists)
                assert content("args").decode().split("\0") == ["relabel", expected, ""]
                (home / "args").unlink()
        finally:
            child.kill()
            os.close(ours)
            os.close(theirs)
    assert not (home / "ran").exists()


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_completion_script_is_valid_for_its_shell(shell: str, home: Path) -> None:
    found = shutil.which(shell)
    if found is None:
        pytest.skip(f"there is no {shell}")
    write("script", succeed("completion", shell).out)
    succeeded(run([found, "-n", "script"]))


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_completion_script_requests_are_answered(shell: str) -> None:
    assert f"_NBTEXT_COMPLETE={shell}_complete" in succeed("completion", shell).text
    asked = {
        "_NBTEXT_COMPLETE": f"{shell}_complete",
        "COMP_WORDS": "nbtext tr",
        "COMP_CWORD": "tr" if shell == "fish" else "1",
    }
    assert "train" in succeed(env=asked).text


@pytest.mark.parametrize("shell", SHELLS)
def test_names_with_control_characters_are_not_completed(shell: str, tmp_path: Path) -> None:
    labels = ["concern", "con\x1b[31mtrol", "con\nplain,trol", "con\u202egnp"]
    TextClassifier(stemmer="none").fit([f"cat {label}" for label in labels], labels).save(
        "nbtext.joblib"
    )
    asked = {
        "_NBTEXT_COMPLETE": f"{shell}_complete",
        "COMP_WORDS": "nbtext relabel con",
        "COMP_CWORD": "con" if shell == "fish" else "2",
    }
    lines = succeed(env=asked).text.splitlines()
    assert lines == (["plain", "concern", "_"] if shell == "zsh" else ["plain,concern"])


def test_unsupported_shells_are_refused() -> None:
    fail(2, "completion tcsh")
    fail(2, "completion")

"""`nbtext completion`: print the script that completes commands, options and values in a shell."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click
from click.shell_completion import BashComplete, add_completion_class

from nbtext.cli import panels

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

SHELLS = ("bash", "zsh", "fish")


class Bash(BashComplete):
    """Completion in bash, which makes three words of ``--classifier=mul`` and replaces only the last of them."""

    _kept = ""
    """The beginning of the word, up to "=", that bash keeps."""

    def get_completion_args(self) -> tuple[list[str], str]:
        """Return the words with those joined that an equals sign is between, and the last of them."""
        arguments, incomplete = super().get_completion_args()
        words: list[str] = []
        for word in (*arguments, incomplete):
            if words and (word == "=" or words[-1].endswith("=")):
                words[-1] += word
            else:
                words.append(word)
        self._kept = words[-1].removesuffix(incomplete) if incomplete != "=" else words[-1]
        return words[:-1], words[-1]

    def format_completion(self, item: CompletionItem) -> str:
        """Return a line of the answer."""
        return f"{item.type},{item.value.removeprefix(self._kept)}"


add_completion_class(Bash)


@panels.command("completion")
@click.argument("shell", type=panels.Choice(SHELLS))
@panels.log_format_option
def command(shell: str) -> int:
    """Print a script that lets a shell complete nbtext's commands, options and their values.

    Load it when the shell starts: in .bashrc or .zshrc, as eval "$(nbtext completion bash)"; for fish, as the file
    completions/nbtext.fish in its configuration folder. Bash must be 4.4 or later.

    \b
    Examples:
      nbtext completion bash > nbtext.bash
      nbtext completion fish
    """
    from click.shell_completion import get_completion_class

    root = click.get_current_context().find_root()
    made_by = get_completion_class(shell)
    assert made_by is not None  # noqa: S101 - click has all of SHELLS
    script = made_by(root.command, {}, "nbtext", "_NBTEXT_COMPLETE")
    sys.stdout.write((script.source_template % script.source_vars()).strip() + "\n")
    return 0

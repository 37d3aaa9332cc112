"""`nbtext completion`: print the script that completes commands, options and values in a shell."""

from __future__ import annotations

import sys
from typing import Any

import click

from nbtext.cli import panels
from nbtext.cli.options import Choice, log_format_option

SHELLS = ("bash", "zsh", "fish")


@panels.command("completion")
@click.argument("shell", type=Choice(SHELLS))
@log_format_option
def command(shell: str, **options: Any) -> int:
    """Print a script that lets a shell complete nbtext's commands, options and their values.

    Load it when the shell starts: in .bashrc or .zshrc, as eval "$(nbtext completion bash)"; for fish, as the file
    completions/nbtext.fish in its configuration folder. Bash must be 4.4 or later.

    \b
    Examples:
      nbtext completion bash > nbtext.bash
      nbtext completion fish
    """
    from click.shell_completion import get_completion_class

    del options
    root = click.get_current_context().find_root()
    made_by = get_completion_class(shell)
    assert made_by is not None  # noqa: S101 - click has all of SHELLS
    script = made_by(root.command, {}, "nbtext", "_NBTEXT_COMPLETE")
    sys.stdout.write((script.source_template % script.source_vars()).strip() + "\n")
    return 0

"""`nbtext completion`: print the script that completes commands, options and values in a shell."""

from __future__ import annotations

import sys

import click
from click.shell_completion import (
    BashComplete,
    CompletionItem,
    FishComplete,
    ShellComplete,
    ZshComplete,
    add_completion_class,
)

from nbtext.cli import declarations
from nbtext.report.output_formats import escape_controls


class _PrintableComplete(ShellComplete):
    """Completion that leaves out values with control characters.

    Each value is one line of the response, so a line break in a value would split it.
    """

    def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem]:
        """Return the completions that contain no control characters."""
        return [
            item
            for item in super().get_completions(args, incomplete)
            if escape_controls(item.value) == item.value
        ]


class _Bash(_PrintableComplete, BashComplete):
    """Completion in bash.

    Bash splits ``--classifier=mul`` into three words, and a completion replaces only the last word.
    Bash does not quote completions, so the script does. If the user has typed an opening quote, the
    script escapes the characters that are special within that quote. ``%`` is doubled in the script
    because it is a template.
    """

    source_template = r"""
%(complete_func)s() {
    local IFS=$'\n' response line text
    COMPREPLY=()
    mapfile -t response < <(
        env COMP_WORDS="${COMP_WORDS[*]}" COMP_CWORD="$COMP_CWORD" \
            %(complete_var)s=bash_complete "$1"
    )
    for line in "${response[@]}"; do
        case $line in
            file,*) compopt -o default ;;
            plain,*)
                text=${line#plain,}
                case ${COMP_WORDS[COMP_CWORD]} in
                    \'*) text=${text//\'/\'\\\'\'} ;;
                    \"*)
                        # in double quotes, bash replaces ! by its history; no escape prevents it
                        if [[ $text == *!* ]]; then continue; fi
                        text=${text//\\/\\\\}
                        text=${text//\"/\\\"}
                        text=${text//\$/\\\$}
                        text=${text//\`/\\\`} ;;
                    *)
                        # quote a text with special characters
                        if [[ ! $text =~ ^[[:alnum:]_./:=,@%%+-]*$ ]]; then
                            printf -v text %%q "$text"
                        fi ;;
                esac
                COMPREPLY+=("$text") ;;
        esac
    done
}
complete -o nosort -F %(complete_func)s %(prog_name)s
"""
    _prefix = ""
    """The start of the current word, up to "=", which a completion does not replace.

    `get_completion_args` sets it, and `format_completion` needs it afterwards.
    """

    def get_completion_args(self) -> tuple[list[str], str]:
        """Return the complete words and the incomplete last word, as before bash split them at "="."""
        arguments, incomplete = super().get_completion_args()
        first_word, *later_words = (*arguments, incomplete)
        words = [first_word]
        for word in later_words:
            is_split = word == "=" or words[-1].endswith("=")  # bash splits before and after "="
            if is_split:
                words[-1] += word
            else:
                words.append(word)
        last_word = words[-1]
        if incomplete == "=":
            self._prefix = last_word  # such as --classifier=, to be completed by a value
        else:
            self._prefix = last_word.removesuffix(incomplete)
        return words[:-1], last_word

    def format_completion(self, item: CompletionItem) -> str:
        """Return a line of the response: ``plain`` or ``file``, a comma and the text to insert."""
        return f"{item.type},{item.value.removeprefix(self._prefix)}"


class _Zsh(_PrintableComplete, ZshComplete):
    """Completion in zsh, which quotes the text that it inserts."""


class _Fish(_PrintableComplete, FishComplete):
    """Completion in fish, which quotes the text that it inserts."""

    source_template = FishComplete.source_template.replace('split ","', 'split --max 1 ","')
    """The script of click, except that a completion may contain commas."""


# click must know the classes too: it creates one of them when the shell asks for completions.
SHELLS = {shell.name: add_completion_class(shell) for shell in (_Bash, _Zsh, _Fish)}


@declarations.option_record
class CompletionOptions:
    """The argument of this command."""

    shell: str = declarations.argument(type=declarations.Choice(list(SHELLS)))


@declarations.command("completion", message_options=(declarations.LOG_FORMAT_OPTION,))
def command(options: CompletionOptions) -> None:
    """Print a script for a shell that completes nbtext's commands, options and their values.

    Load it when the shell starts. Put eval "$(nbtext completion bash)" into .bashrc, or the same with zsh into .zshrc.
    For fish, write the script to completions/nbtext.fish in the configuration folder. Bash must be 4.4 or later.

    \b
    Examples:
      nbtext completion bash > nbtext.bash
      nbtext completion fish
    """
    root = click.get_current_context().find_root()
    shell = SHELLS[options.shell](
        root.command, ctx_args={}, prog_name="nbtext", complete_var=declarations.COMPLETION_VARIABLE
    )
    script = shell.source_template % shell.source_vars()
    sys.stdout.write(script.strip() + "\n")

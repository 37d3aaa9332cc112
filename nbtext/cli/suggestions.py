"""What a shell offers when an option or an argument is to be completed, and what is offered in place of a mistyped name."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import click
    from click.shell_completion import CompletionItem

    Suggestions = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def suggest_values(choices: Sequence[str]) -> Suggestions:
    """Those of the values that begin as what is there, or, if there are none, files."""

    def suggest(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        fitting = [CompletionItem(choice) for choice in choices if choice.startswith(incomplete)]
        return fitting or suggest_files(context, parameter, incomplete)

    return suggest


def suggest_files(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Files and directories: the shell finds them itself."""
    from click.shell_completion import CompletionItem

    del context, parameter
    return [CompletionItem(incomplete, type="file")]


def did_you_mean(given: str, known: Sequence[str]) -> str:
    """A question in brackets to put after a name that there is not: the nearest of those known, or those that begin so; nothing if there are none."""
    from difflib import get_close_matches

    near = get_close_matches(given, known, cutoff=0.75) or [name for name in known if given and name.startswith(given)]
    return f" (did you mean {' or '.join(repr(name) for name in near)}?)" if near else ""

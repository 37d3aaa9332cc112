"""What a shell offers when an option or an argument is to be completed."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import click
    from click.shell_completion import CompletionItem

    Suggestions = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def values(choices: Sequence[str]) -> Suggestions:
    """Those of the values that begin as what is there, or, if there are none, files."""

    def suggest(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        fitting = [CompletionItem(choice) for choice in choices if choice.startswith(incomplete)]
        return fitting or files(context, parameter, incomplete)

    return suggest


def files(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Files and directories: the shell finds them itself."""
    from click.shell_completion import CompletionItem

    del context, parameter
    return [CompletionItem(incomplete, type="file")]

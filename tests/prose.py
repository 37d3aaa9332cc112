"""Check the English of docstrings, comments and pages, and the length of functions.

``python -m tests.prose`` prints each place that breaks a rule, and exits with status 1 if there is
one. `make lint` runs it. The rules are those of CONTRIBUTING.md. A pattern belongs here only if all
its matches are mistakes.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent

MAX_PAGE_COLUMNS = 140
"""Maximum length of a line of prose in a page."""

MAX_FUNCTION_LINES = 40
"""Maximum number of lines in a function, without its docstring, comments and blank lines."""

ADVICE_BY_PATTERN = {
    r"\b[Rr]eturn (what|those|that of|one of those|both of those)\b": "name the value",
    r"^Of [a-z]": "begin with the subject",
    r"\b[Bb]esides?\b": "write next to, in addition to or compared with",
    r"\b(anew|likewise|thereby|therewith|wherein|whereof)\b": "use an everyday word",
    r"\bas they stand\b": "write unchanged",
    r"\bbeyond chance\b": "write significant",
    r"\bpromis(e|es|ed|ing)\b": "write guarantee",
    r"\b(judge|judges|judged|judgements?)\b": "write evaluate or score",
    r"\bleft-out (document|test|text|token|label)": "write held-out",
    r"\blearn anew\b|\blearnt documents\b": "write train",
}
"""What to write instead of the words that a pattern matches."""


class Fault(NamedTuple):
    """A place that breaks a rule."""

    path: Path
    line: int
    message: str


def iter_python_prose(source: str) -> Iterator[tuple[int, str]]:
    """Yield the line number and the text of each docstring and comment.

    The docstring of a command is left out, because it is a help text.
    """
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef) and node.name == "command":
            continue
        statements = getattr(node, "body", None)
        if not isinstance(statements, list):
            continue
        for statement in statements:
            match statement:
                case ast.Expr(value=ast.Constant(value=str(text))):
                    yield statement.lineno, text

    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string.lstrip("# ")


def remove_code(text: str) -> str:
    """Return the text as one line, without examples and names in backticks."""
    lines = [line for line in text.split("\n") if not line.lstrip().startswith((">>>", "..."))]
    one_line = " ".join(" ".join(lines).split())
    return re.sub(r"``[^`]*``|`[^`]*`", "`code`", one_line)


def find_unclear_english(path: Path, source: str) -> Iterator[Fault]:
    """Yield the docstrings and comments that match a pattern of `ADVICE_BY_PATTERN`."""
    for line, text in iter_python_prose(source):
        prose = remove_code(text)
        for pattern, advice in ADVICE_BY_PATTERN.items():
            match = re.search(pattern, prose)
            if match:
                yield Fault(path, line, f"{match.group()!r}: {advice}")


def count_code_lines(function: ast.FunctionDef, lines: list[str]) -> int:
    """Count the lines of a body, without its docstring, comments and blank lines."""
    body = function.body
    if ast.get_docstring(function) is not None:
        body = body[1:]
    if not body:
        return 0
    body_lines = [line.strip() for line in lines[body[0].lineno - 1 : function.end_lineno]]
    return sum(1 for line in body_lines if line and not line.startswith("#"))


def find_long_functions(path: Path, source: str) -> Iterator[Fault]:
    """Yield the functions of more than `MAX_FUNCTION_LINES` lines."""
    lines = source.split("\n")
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef):
            n_lines = count_code_lines(node, lines)
            if n_lines > MAX_FUNCTION_LINES:
                message = f"{node.name} has {n_lines} lines of code: divide it"
                yield Fault(path, node.lineno, message)


def find_long_lines(path: Path, page: str) -> Iterator[Fault]:
    """Yield the lines of a page that are too long, except code, tables, links and pictures."""
    is_code = False
    for number, line in enumerate(page.split("\n"), 1):
        if line.startswith("```"):
            is_code = not is_code
        if is_code or line.lstrip().startswith(("|", "[", "![")):
            continue
        if len(line) > MAX_PAGE_COLUMNS:
            message = f"{len(line)} columns: begin a new line for each sentence"
            yield Fault(path, number, message)


def find_faults() -> Iterator[Fault]:
    """Yield all faults of the project, file by file."""
    for path in sorted((ROOT / "nbtext").rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        yield from find_unclear_english(path, source)
        yield from find_long_functions(path, source)
    for path in sorted([*(ROOT / "docs").rglob("*.md"), *ROOT.glob("*.md")]):
        yield from find_long_lines(path, path.read_text(encoding="utf-8"))


def main() -> int:
    """Print the faults and return the exit status."""
    faults = list(find_faults())
    for fault in faults:
        print(f"{fault.path.relative_to(ROOT)}:{fault.line}: {fault.message}")  # noqa: T201
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())

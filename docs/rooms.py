"""Write a page of the site for each package of the code: its modules, their names and the source.

The order is that of the table in architecture.md.
"""
# ruff: noqa: INP001 - an extension of conf.py, not a package

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from sphinx.domains.python import PythonDomain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sphinx.application import Sphinx

HERE = Path(__file__).parent
PACKAGE = HERE.parent / "nbtext"
FOLDER = HERE / "code"
UNSEARCHED = "---\nnosearch: true\n---\n\n"
ROW = re.compile(r"^\| (`[a-z_]+/?`(?:, `[a-z_]+/?`)*) \| (.+?) \| *(.*?) *\|$", re.MULTILINE)


class Room(NamedTuple):
    """A row of the table: modules and packages of nbtext, what they do, and the guide to them."""

    names: tuple[str, ...]
    purpose: str
    guide: str

    @property
    def modules(self) -> list[str]:
        """All modules, each package before what is in it."""
        found = []
        for name in self.names:
            files = (
                sorted((PACKAGE / name).rglob("*.py"))
                if (PACKAGE / name).is_dir()
                else [PACKAGE / f"{name}.py"]
            )
            found += [
                ".".join(("nbtext", *file.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(
                    ".__init__"
                )
                for file in files
            ]
        return found

    @property
    def page(self) -> str:
        """The page, in Markdown; links of the table lead up one level from here."""
        parts = [
            f"# {', '.join(self.names)}",
            self.purpose,
            re.sub(r"\]\(", "](../", f"The guide: {self.guide}") if self.guide else "",
        ]
        for module in self.modules:
            parts += [
                f"## {module}",
                f"```{{eval-rst}}\n.. automodule:: {module}\n   :members:\n   :undoc-members:\n```",
            ]
        return "\n\n".join(part for part in parts if part) + "\n"


class UnsearchedDomain(PythonDomain):
    """What the pages define: links lead there, the search does not."""

    def get_objects(self) -> Iterator[tuple[str, str, str, str, str, int]]:
        """Give each object the priority that keeps it out of the search."""
        return ((*entry, -1) for *entry, _ in super().get_objects())


def rooms() -> list[Room]:
    """Return the rooms, from the ground up."""
    table = (HERE / "architecture.md").read_text(encoding="utf-8")
    return [
        Room(tuple(re.findall(r"[a-z_]+", names)), purpose, guide)
        for names, purpose, guide in ROW.findall(table)
    ]


def write_pages(_app: Sphinx, _config: object) -> None:
    """Write those that are not there or have changed, so that Sphinx makes no page in vain."""
    FOLDER.mkdir(exist_ok=True)
    wanted = {f"{room.names[0]}.md": room.page for room in rooms()}
    wanted["index.md"] = (
        "# The code, room by room\n\n```{toctree}\n" + "\n".join(wanted) + "\n```\n"
    )
    for path in FOLDER.iterdir():
        if path.name not in wanted:
            path.unlink()
    for name, text in wanted.items():
        path = FOLDER / name
        if not path.exists() or path.read_text(encoding="utf-8") != UNSEARCHED + text:
            path.write_text(UNSEARCHED + text, encoding="utf-8")


def plain_text(
    _app: Sphinx, _what: str, _name: str, _thing: object, _options: object, lines: list[str]
) -> None:
    """Docstrings are plain text, in which |x| is an absolute value.

    The fields of a tuple need no explanation.
    """
    lines[:] = [
        "" if line.startswith("Alias for field number") else line.replace("|", "\\|")
        for line in lines
    ]


def setup(app: Sphinx) -> dict[str, bool]:
    """Tell Sphinx when to write them."""
    app.add_domain(UnsearchedDomain, override=True)
    app.connect("config-inited", write_pages)
    app.connect("autodoc-process-docstring", plain_text)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

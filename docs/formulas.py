"""What the site adds to pages that are written to be read as they are.

- φ_jk gets a subscript;
- the name of a function or file, `counts.statistics.ClassStatistics` or `text/words.py`, links to
  it, and may break behind a dot;
- a link that is called after a file, words.md, is called after the page.
"""
# ruff: noqa: INP001 - an extension of conf.py, not a package

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform

if TYPE_CHECKING:
    from sphinx.application import Sphinx

SUBSCRIPT = re.compile(
    r"(?:(?<=\b[^\W\d_])|(?<=\bdf))([²′]?)_(\{[^}]*\}|[^\W_²³ᵀ]{1,4}(?![^\W²³ᵀ]))"
)
"""Subscripts follow a single letter, which may have a mark, and df, the document frequency.

A name such as ``predict_proba`` has none.
"""


class Subscripts(SphinxPostTransform):
    """φ_jk becomes φ with the subscript jk."""

    default_priority = 400

    def run(self, **_: object) -> None:
        """Set the subscripts of every text outside of code."""
        for text in list(self.document.findall(nodes.Text)):
            if not isinstance(
                text.parent, (nodes.literal, nodes.literal_block, nodes.FixedTextElement)
            ) and SUBSCRIPT.search(text):
                text.parent.replace(text, parts(str(text)))


def parts(text: str) -> list[nodes.Node]:
    """Return the text, with nodes for its subscripts."""
    found: list[nodes.Node] = []
    end = 0
    for match in SUBSCRIPT.finditer(text):
        found += [
            nodes.Text(text[end : match.start()] + match[1]),
            nodes.subscript("", match[2].strip("{}")),
        ]
        end = match.end()
    return [*found, nodes.Text(text[end:])]


class Names(SphinxPostTransform):
    """Dotted names and paths in code lead to what nbtext has under them."""

    default_priority = 401

    def run(self, **_: object) -> None:
        """Link the names."""
        objects = self.env.domains.python_domain.objects
        for code in list(self.document.findall(nodes.literal)):
            path = re.sub(r"^nbtext[./]", "", code.astext().removesuffix(".py"))
            name = f"nbtext.{path.replace('/', '.')}"
            found = objects.get(name)
            if found and "." in code.astext() and not isinstance(code.parent, nodes.reference):
                target = self.app.builder.get_relative_uri(self.env.docname, found.docname)
                link = nodes.reference(
                    "", "", internal=True, refuri=f"{target}#{found.node_id}", reftitle=name
                )
                code.replace_self(link)
                link += nodes.literal("", "", *breakable(code.astext()))


def breakable(name: str) -> list[nodes.Node]:
    """Return the name, which may be broken behind its dots."""
    first, *others = name.split(".")
    found: list[nodes.Node] = [nodes.Text(first)]
    for other in others:
        found += [nodes.Text("."), nodes.raw("", "<wbr>", format="html"), nodes.Text(other)]
    return found


class Titles(SphinxPostTransform):
    """Where the text of a link is a file of these pages, the page's title is its text."""

    default_priority = 402

    def run(self, **_: object) -> None:
        """Call the links by the titles."""
        for text in list(self.document.findall(nodes.Text)):
            link = next(
                (
                    node
                    for node in (text.parent, text.parent.parent)
                    if isinstance(node, nodes.reference)
                ),
                None,
            )
            title = self.env.titles.get(str(text).removesuffix(".md"))
            if link is not None and str(text).endswith(".md") and title is not None:
                link.children = [nodes.inline("", title.astext())]


def setup(app: Sphinx) -> dict[str, bool]:
    """Tell Sphinx of them."""
    for transform in (Subscripts, Names, Titles):
        app.add_post_transform(transform)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

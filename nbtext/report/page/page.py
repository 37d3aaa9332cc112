"""The page as a whole: title, contents, sections, style. The same data give the same bytes."""

from __future__ import annotations

from pathlib import Path
from string import Template
from typing import IO, TYPE_CHECKING

from nbtext.report.page import sections
from nbtext.report.page.markup import NOTHING, Markup, element, escaped
from nbtext.store.atomic import replace_file

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nbtext.evaluation.gathering import ReportData

HERE = Path(__file__).parent


def html_page(data: ReportData) -> str:
    """Return one self-contained page of HTML, to be written as UTF-8: no script, nothing from elsewhere, all text from the data escaped."""
    parts = (
        ("summary", "Summary", sections.word_list(data)),
        ("figures", "Figures", sections.headline(data)),
        ("confusion", "Confusion", sections.confusion(data)),
        ("calibration", "Probabilities", sections.calibration(data)),
        ("classes", "Classes", sections.classes(data)),
        ("mistakes", "Mistakes", sections.mistakes(data)),
        ("terms", "Words", sections.terms(data)),
        ("learning", "Learning", sections.learning(data)),
        ("made", "How made", sections.provenance_section(data)),
    )
    return whole_page(data.title, [part for part in parts if part[2] != NOTHING])


def whole_page(title: str, parts: Sequence[tuple[str, object, Markup]], *further_styles: str) -> str:
    """Return a page of sections, each with its anchor and its name in the contents, in the common style and further ones."""
    return Template(_resource("page.html")).substitute(
        title=escaped(title),
        style=Markup("".join(map(_resource, ("style.css", *further_styles)))),
        contents="".join(element("li", element("a", name, href=f"#{anchor}")) for anchor, name, _ in parts),
        content="\n".join(content for _, _, content in parts),
    )


def write_page(path: str, data: ReportData) -> None:
    """Replace a file with the page. Raises `PathError` if it cannot be written."""
    write_html(path, html_page(data))


def write_html(path: str, page: str) -> None:
    """Replace a file with any page. Raises `PathError` if it cannot be written."""
    encoded = page.encode("utf-8", "replace")

    def write(file: IO[bytes]) -> None:
        file.write(encoded)

    replace_file(path, write)


def _resource(name: str) -> str:
    return (HERE / name).read_text(encoding="utf-8")

"""The page as a whole: title, contents, sections, style. The same data give the same bytes."""

from __future__ import annotations

from pathlib import Path
from string import Template
from typing import IO, TYPE_CHECKING

from nbtext.report.page import judgement, reasons
from nbtext.report.page.markup import NOTHING, Markup, element, escaped
from nbtext.store.atomic import replace_file

if TYPE_CHECKING:
    from nbtext.model.report_data import ReportData

HERE = Path(__file__).parent


def html_page(data: ReportData) -> str:
    """One self-contained page of HTML, to be written as UTF-8: no script, nothing from elsewhere, all text from the data escaped."""
    parts = (
        ("summary", "Summary", judgement.words(data)),
        ("figures", "Figures", judgement.headline(data)),
        ("confusion", "Confusion", judgement.confusion(data)),
        ("calibration", "Probabilities", judgement.calibration(data)),
        ("classes", "Classes", judgement.classes(data)),
        ("mistakes", "Mistakes", reasons.mistakes(data)),
        ("terms", "Words", reasons.terms(data)),
        ("learning", "Learning", judgement.learning(data)),
        ("made", "How made", reasons.made(data)),
    )
    present = [part for part in parts if part[2] != NOTHING]
    return Template(_resource("page.html")).substitute(
        title=escaped(data.title),
        style=Markup(_resource("style.css")),
        contents="".join(element("li", element("a", name, href=f"#{anchor}")) for anchor, name, _ in present),
        content="\n".join(content for _, _, content in present),
    )


def write_page(path: str, data: ReportData) -> None:
    """Write the page into a file, which is replaced as a whole. Raises `PathError` if it cannot be written."""
    page = html_page(data).encode("utf-8", "replace")

    def write(file: IO[bytes]) -> None:
        file.write(page)

    replace_file(path, write)


def _resource(name: str) -> str:
    return (HERE / name).read_text(encoding="utf-8")

from __future__ import annotations

import re
import runpy
import shutil
import sys
from html.parser import HTMLParser
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

import pytest

from tests import browser
from tests.process import ENVIRONMENT, REPOSITORY, fresh_interpreters, run
from tests.test_structure import LAYER_OF, LAYERS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

DOCS = REPOSITORY / "docs"
NARROW, WIDE = 390, 1300
QUESTIONS = {
    "GDPR": "erasing", "erase": "erasing", "imbalanced": "models", "pandas": "python", "FastAPI": "service", "systemd": "service",
    "docker": "service", "semicolon": "reading", "human review": "probabilities", "several labels": "several-labels",
}  # fmt: skip
"""What people type into the search, and a page that it shows among the first three."""

pytestmark = [pytest.mark.exhaustive, pytest.mark.xdist_group("site")]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pages; Sphinx fails at a link that leads nowhere and at a page that the navigation does not have."""
    folder = tmp_path_factory.mktemp("site")
    source = folder / "nbtext" / "docs"
    source.parent.mkdir()
    for name in ("nbtext", "bench", "corpora", "CHANGELOG.md"):
        (source.parent / name).symlink_to(REPOSITORY / name)
    shutil.copytree(
        DOCS, source, ignore=shutil.ignore_patterns("code", "reference.md", "__pycache__")
    )  # the build writes these pages
    options: list[str | Path] = [
        "--fail-on-warning",
        "--keep-going",
        "--quiet",
        "-d",
        folder / "doctrees",
    ]
    with fresh_interpreters():
        done = run(
            [sys.executable, "-m", "sphinx", *options, source, folder / "pages"],
            env={**ENVIRONMENT, "PYTHONWARNINGS": "default::DeprecationWarning:nbtext"},
            patience=600,
        )
    assert (done.status, done.notes) == (0, []), done
    return folder / "pages"


class Links(HTMLParser):
    """Anchors of a page, and what it links to."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.targets: set[str] = set()
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        del tag
        for name, value in attrs:
            if value and name == "id":
                self.anchors.add(value)
            elif value and name in {"href", "src"}:
                self.targets.add(value)


@pytest.fixture(scope="module")
def reader() -> Iterator[browser.Browser]:
    if browser.found() is None:
        pytest.skip(f"no browser on this machine: none of {', '.join(browser.NAMES)}")
    with browser.Browser(str(browser.found())) as opened:
        yield opened


@pytest.mark.parametrize("folder", [".", "code", "_modules/nbtext/language_model"])
@pytest.mark.parametrize("width", [NARROW, WIDE])
def test_each_page_fits_the_window_and_needs_no_network(
    reader: browser.Browser, site: Path, folder: str, width: int
) -> None:
    pages = sorted((site / folder).glob("*.html"))
    assert len(pages) > 1
    for page in pages:
        reader.open(page, width=width)
        assert reader.log == [], page
        assert all(request.startswith((site.as_uri(), "data:")) for request in reader.requests), (
            page
        )
        assert reader.value("document.documentElement.scrollWidth") <= width, page
        assert reader.value(
            "Array.from(document.images).every(image => image.complete && image.naturalWidth > 0)"
        ), page


def test_search_finds_the_pages_of_typical_questions_and_no_code(
    reader: browser.Browser, site: Path
) -> None:
    reader.open(site / "search.html", width=WIDE)
    for question, page in QUESTIONS.items():
        found = reader.value(
            f"Search._performSearch(...Search._parseQuery('{question}')).reverse().map(result => result[0])"
        )
        assert page in found[:3], (question, found)
        assert not any(name.startswith("code/") for name in found), (question, found)
    assert reader.value(
        "Search._performSearch(...Search._parseQuery('log_evidence')).map(result => result[0])"
    ) == ["mathematics"]


def test_formulas_have_subscripts_and_links_to_their_functions(site: Path) -> None:
    page = (site / "mathematics.html").read_text(encoding="utf-8")
    assert "φ<sub>jk</sub>" in page
    assert not re.search(
        r"\b[mφαπθ]_[a-z0-9]", re.sub(r"(?s)<(pre|code|title|script)\b.*?</\1>|<[^>]*>", "", page)
    )
    assert re.search(
        r'href="code/language_model.html#nbtext.language_model.smoothing.log_evidence"', page
    )
    assert 'id="nbtext.language_model.smoothing.log_evidence"' in (
        site / "code" / "language_model.html"
    ).read_text(encoding="utf-8")


def test_links_to_pages_show_their_titles(site: Path) -> None:
    for page in site.glob("*.html"):
        assert not re.search(
            r'<a class="reference internal"[^>]*>(<[^>]*>)*[\w/-]+\.md<',
            page.read_text(encoding="utf-8"),
        ), page


def test_no_link_is_dead(site: Path) -> None:
    pages = {page: Links(page) for page in site.rglob("*.html")}
    dead, followed = [], 0
    for page, links in pages.items():
        for target in map(urlsplit, links.targets):
            if not target.scheme and not target.netloc:
                followed += 1
                aim = (page.parent / unquote(target.path)).resolve() if target.path else page
                if not aim.exists() or (
                    target.fragment
                    and aim in pages
                    and unquote(target.fragment) not in pages[aim].anchors
                ):
                    dead.append((str(page.relative_to(site)), target.geturl()))
    assert dead == []
    assert followed > 10_000


def test_reference_has_an_anchor_for_each_option(site: Path) -> None:
    anchors = Links(site / "reference.html").anchors
    assert {
        "train-smoothing",
        "set-l2",
        "classify-min-probability",
        "evaluate-fail-under",
        "doctor-format",
    } <= anchors


def test_table_of_packages_matches_the_import_order() -> None:
    found = runpy.run_path(str(DOCS / "rooms.py"))["rooms"]()
    layers = [LAYER_OF[room.names[0]] for room in found]
    assert layers == sorted(layers)
    assert {name for room in found for name in room.names} == {
        name for layer in LAYERS for name in layer
    } - {"__main__"}
    assert all(room.guide for room in found)


def test_pictures_show_the_current_output() -> None:
    done = run([sys.executable, DOCS / "pictures.py", "--check"], env=ENVIRONMENT)
    assert done.status == 0, done


def test_every_picture_is_on_a_page() -> None:
    pages = "".join(
        path.read_text(encoding="utf-8") for path in (REPOSITORY / "README.md", *DOCS.glob("*.md"))
    )
    for path in (DOCS / "pictures").iterdir():
        assert f"pictures/{path.name})" in pages

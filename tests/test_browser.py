from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

import pytest

from nbtext.report.page.sections import build_report_page
from tests import browser
from tests.report_example import HOSTILE, example, without_optional_parts

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PROGRAM = browser.found()
NARROW, WIDE = 360, 1200

pytestmark = [
    pytest.mark.exhaustive,
    pytest.mark.skipif(
        PROGRAM is None, reason=f"no browser on this machine: none of {', '.join(browser.NAMES)}"
    ),
]

MANY = [f"class.number-{number}_of_many" for number in range(77)]
DATA = {
    "plain": example(),
    "bare": without_optional_parts(example(("only",))),
    "hostile": example(
        [f"{number}{text}" for number, text in enumerate(HOSTILE)], " ".join(HOSTILE)
    ),
    "many": example(MANY),
}


@pytest.fixture(scope="module")
def reader() -> Iterator[browser.Browser]:
    assert PROGRAM is not None
    with browser.Browser(PROGRAM) as opened:
        yield opened


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    for name, data in DATA.items():
        (folder / f"{name}.html").write_text(build_report_page(data), encoding="utf-8")
    return {name: folder / f"{name}.html" for name in DATA}


@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("width", [NARROW, WIDE])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_report_page_renders_without_errors_or_network_requests(
    reader: browser.Browser, pages: dict[str, Path], name: str, width: int, dark: bool
) -> None:
    reader.open(pages[name], width=width, dark=dark)
    assert reader.log == []
    assert reader.requests == [pages[name].as_uri()]
    assert reader.value("document.documentElement.scrollWidth") == width
    assert reader.value("document.compatMode") == "CSS1Compat"
    assert distinct_bytes(reader.screenshot()) > 60
    red, green, blue = reader.value(
        "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)"
    )
    assert max(red, green, blue) < 60 if dark else min(red, green, blue) > 200


def test_hostile_text_in_a_page_is_not_executed(
    reader: browser.Browser, pages: dict[str, Path]
) -> None:
    reader.open(pages["hostile"], width=WIDE)
    assert reader.value("document.title").startswith(
        "A report: <script>document.title='owned'</script>"
    )
    assert (
        reader.value(
            "document.querySelectorAll('script, img, iframe, [onerror], [onmouseover], [onfocus], [autofocus]').length"
        )
        == 0
    )
    assert reader.value("document.querySelectorAll('style').length") == 1
    assert reader.value("document.querySelector('main').nextElementSibling") is None


def test_content_security_policy_blocks_scripts_and_loading(
    reader: browser.Browser, tmp_path: Path
) -> None:
    page = tmp_path / "page.html"
    planted = "<script>document.title = 'owned'</script><img src='https://example.invalid/x.png'><p onclick='1'></p></main>"
    page.write_text(build_report_page(example()).replace("</main>", planted), encoding="utf-8")
    reader.open(page, width=WIDE)
    assert reader.value("document.title") == DATA["plain"].title
    assert len([line for line in reader.log if "Content Security Policy" in line]) >= 2
    assert reader.requests == [page.as_uri(), "https://example.invalid/x.png"]
    assert reader.blocked == ["csp"]


def test_screenshot_of_an_empty_page_has_few_distinct_bytes(
    reader: browser.Browser, tmp_path: Path
) -> None:
    page = tmp_path / "page.html"
    page.write_text("<!doctype html><title>nothing</title>", encoding="utf-8")
    reader.open(page, width=WIDE)
    assert distinct_bytes(reader.screenshot()) < 10


def test_wide_tables_scroll_in_their_own_frames(
    reader: browser.Browser, pages: dict[str, Path]
) -> None:
    reader.open(pages["many"], width=NARROW)
    frame = "document.querySelector('section.confusion figure .scroll')"
    assert reader.value(f"{frame}.scrollWidth > {frame}.clientWidth")
    assert reader.value("getComputedStyle(document.querySelector('.hint')).display") == "block"
    assert (
        reader.value(
            f"{frame}.scrollLeft = 300; {frame}.querySelector('tbody th').getBoundingClientRect().left"
        )
        < NARROW / 4
    )


def test_bars_and_marks_have_the_length_of_their_values(
    reader: browser.Browser, pages: dict[str, Path]
) -> None:
    reader.open(pages["plain"], width=WIDE)
    bar = "document.querySelector('table.bars svg')"
    share = reader.value(
        f"{bar}.querySelector('.value').getBoundingClientRect().width / {bar}.getBoundingClientRect().width"
    )
    assert share == pytest.approx(0.8, abs=0.01)
    for pair in ("mark.for", "mark.against"):
        assert reader.value(f"document.querySelector('blockquote {pair}').title.endsWith(' nats')")


def test_page_prints_dark_text_on_a_light_background(
    reader: browser.Browser, pages: dict[str, Path]
) -> None:
    reader.open(pages["plain"], width=WIDE, dark=True)
    try:
        reader.ask(
            "Emulation.setEmulatedMedia",
            media="print",
            features=[{"name": "prefers-color-scheme", "value": "dark"}],
        )
        assert reader.value("getComputedStyle(document.body).color") == "rgb(0, 0, 0)"
        assert (
            reader.value("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        )
        assert reader.value("getComputedStyle(document.querySelector('nav')).display") == "none"
        assert reader.pdf().startswith(b"%PDF-")
    finally:
        reader.ask("Emulation.setEmulatedMedia", media="")


def distinct_bytes(png: bytes) -> int:
    """How many values the bytes of a picture take, filtered as they are; a few for one of a single colour."""
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    parts, at = [], 8
    while at < len(png):
        size = int.from_bytes(png[at : at + 4], "big")
        if png[at + 4 : at + 8] == b"IDAT":
            parts.append(png[at + 8 : at + 8 + size])
        at += 12 + size
    return len(set(zlib.decompress(b"".join(parts))))

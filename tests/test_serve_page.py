from __future__ import annotations

import re
from html import unescape
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtext.serve.page import PageContent, build_form_page, make_content_policy
from tests import browser
from tests.process import PET_FILES, corpus, json_lines, succeed, wait_until
from tests.profiles import examples
from tests.services import FORM, Service
from tests.test_serve_watching import model_in_use

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from nbtext.serve.served_model import ServedModel

HOSTILE = "\"'></textarea><script>alert(1)</script><img src=x onerror=alert(2)> & \u202e\u200b"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = corpus(tmp_path_factory.mktemp("page"), PET_FILES)
    succeed("train", "pets", "-m", "m", cwd=made)
    return made


@pytest.fixture(scope="module")
def service(folder: Path) -> Iterator[Service]:
    with Service("--corrections", "c.jsonl", folder=folder, port=True) as running:
        yield running


@pytest.fixture(scope="module")
def served(folder: Path) -> ServedModel:
    return model_in_use(str(folder / "m")).served


class Elements(HTMLParser):
    """The elements of a page with their attributes."""

    def __init__(self, page: bytes) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page.decode())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def named(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.found if name == tag]


def get_csrf(service: Service) -> str:
    [field] = [
        attributes
        for attributes in Elements(service.ask("/").body).named("input")
        if attributes.get("name") == "csrf"
    ]
    return str(field["value"])


def submit(service: Service, path: str, **fields: Any) -> tuple[int, bytes]:
    reply = service.ask(path, urlencode(fields, doseq=True), FORM)
    return reply.status, reply.body


def test_the_page_shows_the_prediction_with_coloured_words(service: Service) -> None:
    status, page = submit(service, "/", text="the cat purrs")
    assert status == 200
    assert b'<b class="data">cats</b>, probability' in page
    assert re.search(rb'<mark class="f\d" title="[^"]*">(?:cat|purrs)</mark>', page)
    buttons = [each for each in Elements(page).named("button") if "name" in each]
    assert [(each["value"], each["formaction"]) for each in buttons] == [
        ("cats", "/correct"),
        ("dogs", "/correct"),
    ]
    assert page.decode().partition("<textarea")[2].partition(">\n")[2].startswith("the cat purrs<")


def test_one_click_stores_the_label(service: Service, folder: Path) -> None:
    text = "the cat\r\n\r\n  barks \u202e\u200b&amp;"
    csrf = get_csrf(service)
    status, page = submit(service, "/correct", text=text, label="dogs", csrf=csrf)
    assert (status, b'role="status">Stored: dogs<' in page) == (200, True)
    line = json_lines((folder / "c.jsonl").read_bytes())[-1]
    assert (line["text"], line["label"]) == (text.replace("\r\n", "\n"), "dogs")
    assert submit(service, "/correct", text=text, other=["", "cats"], csrf=csrf)[0] == 200
    assert json_lines((folder / "c.jsonl").read_bytes())[-1]["label"] == "cats"


def test_another_site_cannot_store_a_label(service: Service, folder: Path) -> None:
    before = (folder / "c.jsonl").read_bytes() if (folder / "c.jsonl").exists() else b""
    for csrf in ("", "x", "\u00fc"):
        assert submit(service, "/correct", text="x", label="dogs", csrf=csrf)[0] == 403
    body = urlencode({"text": "x", "label": "dogs", "csrf": get_csrf(service)})
    headers = {**FORM, "Origin": "http://evil.example"}
    assert service.ask("/correct", body, headers).status == 403
    assert ((folder / "c.jsonl").read_bytes() if before else b"") == before


def test_the_policy_allows_only_the_style_of_the_page(service: Service) -> None:
    reply = service.ask("/", b"text=cat", FORM)
    policy = reply.headers["Content-Security-Policy"]
    assert policy == make_content_policy()
    assert "unsafe" not in policy
    elements = Elements(reply.body)
    assert elements.named("script") == []
    assert [
        name for _, attributes in elements.found for name in attributes if name.startswith("on")
    ] == []
    assert not any("style" in attributes for _, attributes in elements.found)
    assert reply.headers["Referrer-Policy"] == "same-origin"
    assert reply.headers["Cache-Control"] == "no-store"


@examples(60)
@given(text=st.one_of(st.just(HOSTILE), st.text(max_size=80)), is_mail=st.booleans())
def test_any_text_stays_text(served: ServedModel, text: str, is_mail: bool) -> None:
    document = served.read_text(text)
    content = PageContent("token", True, text, is_mail, document, notice=text)
    page = build_form_page(served, content)
    tags = {tag for tag, _ in Elements(page).found}
    assert tags <= {
        *("html", "head", "meta", "title", "link", "style", "body", "header", "h1", "h2", "h3"),
        *("p", "main", "form", "input", "label", "textarea", "button", "ul", "li", "span", "svg"),
        *("rect", "line", "section", "b", "mark", "div", "table", "caption", "thead", "tbody"),
        *("tr", "th", "td", "ol", "select", "option", "wbr"),
    }
    shown = page.decode().partition("<textarea")[2].partition(">\n")[2].partition("</textarea>")[0]
    assert unescape(shown) == text.encode("utf-8", "replace").decode()


def press_enter(reader: browser.Browser) -> None:
    for kind in ("keyDown", "keyUp"):
        reader.ask(
            "Input.dispatchKeyEvent",
            type=kind,
            key="Enter",
            code="Enter",
            text="\r",
            windowsVirtualKeyCode=13,
        )


@pytest.mark.exhaustive
@pytest.mark.skipif(browser.found() is None, reason="no browser on this machine")
@pytest.mark.parametrize("width", [390, 1300])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_the_page_works_in_a_browser_by_keyboard(
    service: Service, folder: Path, width: int, dark: bool
) -> None:
    program = browser.found()
    assert program is not None
    with browser.Browser(program) as reader:
        reader.open(f"http://127.0.0.1:{service.port}/", width=width, dark=dark)
        reader.value("document.querySelector('textarea').focus()")
        reader.ask("Input.insertText", text=HOSTILE + " the cat")
        for button, result in (("button.main", ".answer"), ("button[name=label]", ".notice")):
            reader.value(f"document.querySelector('{button}').focus()")
            press_enter(reader)
            found = f"document.querySelector('{result}') !== null"
            wait_until(lambda found=found: reader.value(found), result)  # type: ignore[misc]
            assert reader.value("document.documentElement.scrollWidth") <= width
        assert reader.log == []
        assert all(f"127.0.0.1:{service.port}" in url or url == "data:," for url in reader.requests)
        assert reader.value("document.querySelector('.notice').textContent").startswith("Stored: ")
    assert json_lines((folder / "c.jsonl").read_bytes())[-1]["text"].endswith(" the cat")

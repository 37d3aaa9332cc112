"""A real browser, headless, driven by its DevTools protocol over a pipe: no package, no network, no port."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import select
import shutil
import subprocess
import tempfile
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")

QUIET = (
    "--headless", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--hide-scrollbars", "--disable-dev-shm-usage", "--remote-debugging-pipe",
)  # fmt: skip


def found() -> str | None:
    """The program of a Chromium on this machine; None if there is none."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


PATIENCE = 60.0
"""Seconds without a sign of life after which the browser counts as hanging."""


class Browser:
    """One browser with one page. What it logs, asks for and may not ask for is kept in ``log``, ``requests`` and ``blocked``."""

    def __init__(self, program: str) -> None:
        self._profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        ours, theirs = os.pipe(), os.pipe()
        self._process = subprocess.Popen(
            [program, *QUIET, *(["--no-sandbox"] if os.geteuid() == 0 else []), f"--user-data-dir={self._profile.name}"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            pass_fds=(3, 4), preexec_fn=lambda: _place(ours[0], theirs[1]),  # noqa: PLW1509 - no threads here
        )  # fmt: skip
        os.close(ours[0])
        os.close(theirs[1])
        self._commands, self._answers = ours[1], theirs[0]
        self._unread = b""
        self._number = 0
        self._session: str | None = None
        self._happened: list[str] = []
        self.log: list[str] = []
        self.requests: list[str] = []
        self.blocked: list[str] = []
        """Why each request that did not leave the browser did not."""
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.ask("Target.attachToTarget", targetId=target, flatten=True)[
            "sessionId"
        ]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError):
            self._write({"id": 0, "method": "Browser.close"})
        os.close(self._commands)
        try:
            self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._answers)
        self._profile.cleanup()

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        """One command of the protocol, and its answer."""
        self._number += 1
        command = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            command["sessionId"] = self._session
        self._write(command)
        while (answer := self._next()).get("id") != self._number:
            pass
        assert "error" not in answer, answer
        result: dict[str, Any] = answer["result"]
        return result

    def open(self, path: Path | str, *, width: int, height: int = 900, dark: bool = False) -> None:
        """Show a file, or the page at an address, in a window of this width, for a reader who likes it light or dark."""
        self.log.clear()
        self.requests.clear()
        self.blocked.clear()
        self.ask(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        self.ask(
            "Emulation.setEmulatedMedia",
            features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}],
        )
        self._happened.clear()
        self.ask("Page.navigate", url=path if isinstance(path, str) else path.as_uri())
        while "Page.loadEventFired" not in self._happened:
            self._next()

    def value(self, expression: str) -> Any:
        """What a JavaScript expression gives in the page."""
        return self.ask("Runtime.evaluate", expression=expression, returnByValue=True)[
            "result"
        ].get("value")

    def screenshot(self) -> bytes:
        """What is seen of the page, as a PNG."""
        return base64.b64decode(self.ask("Page.captureScreenshot")["data"])

    def pdf(self) -> bytes:
        """The page as it prints."""
        return base64.b64decode(self.ask("Page.printToPDF", printBackground=True)["data"])

    def _write(self, command: dict[str, Any]) -> None:
        data = json.dumps(command).encode() + b"\0"
        while data:
            data = data[os.write(self._commands, data) :]

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._unread:
            assert select.select([self._answers], [], [], PATIENCE)[0], (
                "the browser does not answer"
            )
            part = os.read(self._answers, 1 << 16)
            assert part, "the browser has ended"
            self._unread += part
        letters, self._unread = self._unread.split(b"\0", 1)
        message: dict[str, Any] = json.loads(letters)
        method, parameters = message.get("method", ""), message.get("params", {})
        self._happened.append(method)
        if method == "Log.entryAdded":
            self.log.append(parameters["entry"]["text"])
        elif method in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown"):
            self.log.append(str(parameters))
        elif method == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])
        elif method == "Network.loadingFailed":
            self.blocked.append(parameters.get("blockedReason", parameters["errorText"]))
        return message


def _place(commands: int, answers: int) -> None:
    """In the browser's process: commands come in by descriptor 3, answers go out by 4."""
    commands, answers = os.dup(commands), os.dup(answers)
    while commands in (3, 4):
        commands = os.dup(commands)
    while answers in (3, 4):
        answers = os.dup(answers)
    os.dup2(commands, 3)
    os.dup2(answers, 4)

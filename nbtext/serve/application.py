"""The routes of the service, as an application of WSGI."""

from __future__ import annotations

import hmac
import time
from http import HTTPStatus
from secrets import token_urlsafe
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

from nbtext.errors import NbtextError, UsageError
from nbtext.report.output_formats import format_json_line
from nbtext.serve.corrections import CorrectionFile, format_correction, read_label
from nbtext.serve.page import PageContent, build_form_page, make_content_policy
from nbtext.serve.requests import FORM, HTML, JSON, JSON_LINES, Guard, HttpRequest, RefusalError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from nbtext.corpus.document import Document
    from nbtext.serve.served_model import ServedModel
    from nbtext.serve.watching import ModelInUse

FILTER_PATH = "/filter"

_MESSAGE_TYPE = "application/octet-stream"
"""The type of a returned message. A browser must not show what another site sent."""

_HEADERS = (
    ("Cache-Control", "no-store"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Referrer-Policy", "same-origin"),
    ("X-Content-Type-Options", "nosniff"),
)
"""Headers of every response. Forms of the page have an origin only with a referrer."""

_NO_CORRECTIONS = "corrections are not stored; start nbtext serve with --corrections FILE"


class Response(NamedTuple):
    """The response to a request."""

    body: bytes
    media_type: str = JSON
    status: HTTPStatus = HTTPStatus.OK
    further_headers: tuple[tuple[str, str], ...] = ()


class Application:
    """The application of WSGI. Threads call it at the same time."""

    def __init__(
        self,
        model_in_use: ModelInUse,
        guard: Guard,
        log: Callable[[str], None],
        *,
        max_requests: int,
        corrections: CorrectionFile | None = None,
        learns: bool = False,
    ) -> None:
        self._model_in_use = model_in_use
        self._guard = guard
        self._log = log
        self._max_requests = max_requests
        self._corrections = corrections
        self._learns = learns
        self._csrf = token_urlsafe()
        self._n_active = 0
        self._lock = Lock()
        """Protects `_n_active`."""
        self._routes: dict[str, dict[str, Callable[[HttpRequest, ServedModel], Response]]] = {
            "/": {"GET": self._show_form, "POST": self._show_prediction},
            "/classify": {"POST": _classify},
            FILTER_PATH: {"POST": self._filter},
            "/explain": {"POST": _explain},
            "/correct": {"POST": self._correct},
            "/health": {"GET": _report_health},
            "/model": {"GET": _describe_model},
        }

    def __call__(
        self, environ: dict[str, Any], start_response: Callable[..., object]
    ) -> Iterable[bytes]:
        """Answer a request, and log it without its content."""
        start = time.perf_counter()
        with self._lock:
            self._n_active += 1
            is_full = self._n_active > self._max_requests
        try:
            request = HttpRequest.from_environ(environ)
            response = self._answer(request, is_full=is_full)
        finally:
            with self._lock:
                self._n_active -= 1
        status = f"{response.status.value} {response.status.phrase}"
        headers = [*_HEADERS, *response.further_headers, ("Content-Type", response.media_type)]
        start_response(status, [*headers, ("Content-Length", str(len(response.body)))])
        self._log_request(request, response, time.perf_counter() - start)
        return [response.body]

    def refuse(self, status: int, message: str) -> bytes:
        """Log a request that could not be received, and return the body of the response."""
        self._log(f"- - {status}: {message}")
        return _format_error(message)

    def _log_request(self, request: HttpRequest, response: Response, seconds: float) -> None:
        """Log a request, without a path or method that does not exist and so may be a text."""
        methods = self._routes.get(request.path, {})
        path = request.path if methods else "-"
        method = request.method if request.method in ("GET", "POST") else "-"
        self._log(
            f"{method} {path} {response.status.value}: {len(request.body)} bytes, "
            f"{1000 * seconds:.1f} ms"
        )

    def _answer(self, request: HttpRequest, *, is_full: bool) -> Response:
        """Return the response to a request, even if it fails."""
        if is_full:
            return _refuse(
                request, HTTPStatus.TOO_MANY_REQUESTS, "too many requests at once; try again"
            )
        try:
            return self._route(request)
        except RefusalError as problem:
            return _refuse(request, problem.status, problem.message)
        except NbtextError as problem:
            is_usage_error = isinstance(problem, UsageError) or str(problem.where).startswith("-")
            if is_usage_error:
                return _refuse(request, HTTPStatus.BAD_REQUEST, problem.line)
            self._log(f"failed: {problem.line}")
            return _refuse(request, HTTPStatus.INTERNAL_SERVER_ERROR, problem.message)
        except Exception as problem:  # noqa: BLE001 - one request must not end the process
            self._log(f"internal error: {type(problem).__name__}")
            return _refuse(request, HTTPStatus.INTERNAL_SERVER_ERROR, "internal error")

    def _route(self, request: HttpRequest) -> Response:
        """Return the response of the function for the path and the method."""
        methods = self._routes.get(request.path)
        if methods is None:
            raise RefusalError(
                HTTPStatus.NOT_FOUND, f"unknown path; paths are {', '.join(self._routes)}"
            )
        respond = methods.get(request.method)
        if respond is None:
            raise RefusalError(HTTPStatus.METHOD_NOT_ALLOWED, f"use {' or '.join(methods)}")
        if request.path != "/health":
            self._guard.check(request.headers)
        request.require_plain_body()
        return respond(request, self._model_in_use.served)

    def _show_form(self, _: HttpRequest, served: ServedModel) -> Response:
        return self._build_page(served)

    def _show_prediction(self, request: HttpRequest, served: ServedModel) -> Response:
        """Return the page with the prediction for the text of the form."""
        text, is_mail, document = _read_form_document(request, served)
        return self._build_page(served, text=text, is_mail=is_mail, document=document)

    def _build_page(self, served: ServedModel, **content: Any) -> Response:  # noqa: ANN401
        can_correct = self._corrections is not None
        page = build_form_page(served, PageContent(self._csrf, can_correct, **content))
        policy = ("Content-Security-Policy", make_content_policy())
        return Response(page, f"{HTML}; charset=utf-8", further_headers=(policy,))

    def _filter(self, request: HttpRequest, served: ServedModel) -> Response:
        """Return a message with its header, and log why it could not be classified."""
        content, failure = served.mark_message(request.body)
        if failure is not None:
            self._log(f"a message was not classified: {failure}")
        return Response(content, _MESSAGE_TYPE)

    def _correct(self, request: HttpRequest, served: ServedModel) -> Response:
        """Store the right label of a document. The response comes when it is on the disk."""
        if self._corrections is None:
            raise RefusalError(HTTPStatus.NOT_FOUND, _NO_CORRECTIONS)
        if request.media_type == FORM:
            form = request.parse_form()
            if not hmac.compare_digest(form.get("csrf", [""])[0].encode(), self._csrf.encode()):
                raise RefusalError(HTTPStatus.FORBIDDEN, "the form is old; open the page again")
            _, _, document = _read_form_document(request, served)
            labels = [*form.get("label", ()), *filter(None, form.get("other", ()))]
            self._store(served, document, labels, name=None)
            return self._build_page(served, notice=f"Stored: {', '.join(labels) or 'no label'}")
        if request.media_type != JSON:
            raise RefusalError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"send {JSON}")
        record = request.parse_json_body()
        if not isinstance(record, dict) or "label" not in record:
            raise RefusalError(HTTPStatus.BAD_REQUEST, 'send an object with the key "label"')
        documents = served.read(b"", request.read_json_lines())
        if len(documents) != 1:
            raise RefusalError(HTTPStatus.BAD_REQUEST, "send one document")
        name = record.get("id")
        if not isinstance(name, str | int | None):
            raise RefusalError(HTTPStatus.BAD_REQUEST, "the id must be a text or a whole number")
        line = self._store(
            served, documents[0], record["label"], None if name is None else str(name)
        )
        return Response(line)

    def _store(
        self, served: ServedModel, document: Document, label: object, name: str | None
    ) -> bytes:
        """Append a correction to the file, and return its line."""
        if document.problem is not None:
            raise RefusalError(HTTPStatus.BAD_REQUEST, document.problem.line)
        known_label = read_label(served, label)
        line = format_correction(served, document, known_label, name)
        assert self._corrections is not None  # noqa: S101 - `_correct` checks it
        self._corrections.append(line)
        if self._learns:
            self._model_in_use.add(document._replace(label=known_label))
        return line


def _read_form_document(request: HttpRequest, served: ServedModel) -> tuple[str, bool, Document]:
    """Return the text of the form, whether it is a mail, and the document in it."""
    form = request.parse_form()
    text = form.get("text", [""])[0]
    is_mail = "mail" in form
    if is_mail:
        return text, is_mail, served.read_message(text.encode("utf-8", "replace"))
    return text, is_mail, served.read_text(text)


def _classify(request: HttpRequest, served: ServedModel) -> Response:
    documents = served.read(request.body, request.read_json_lines())
    return Response(served.classify(documents), JSON_LINES)


def _explain(request: HttpRequest, served: ServedModel) -> Response:
    documents = served.read(request.body, request.read_json_lines())
    against = request.query.get("against", [None])[0]
    return Response(served.explain_as_json(documents, against), JSON_LINES)


def _report_health(_: HttpRequest, served: ServedModel) -> Response:
    return Response(_format_json({"status": "ok", "model": served.fitted.fingerprint}))


def _describe_model(_: HttpRequest, served: ServedModel) -> Response:
    return Response(_format_json(served.describe()))


def _refuse(request: HttpRequest, status: HTTPStatus, message: str) -> Response:
    """Return the response to a request that failed: for a mail filter, the message itself."""
    headers: tuple[tuple[str, str], ...] = ()
    if status == HTTPStatus.UNAUTHORIZED:
        headers = (("WWW-Authenticate", 'Basic realm="nbtext"'),)
    if request.path == FILTER_PATH and request.method == "POST":
        return Response(request.body, _MESSAGE_TYPE, status, headers)
    return Response(_format_error(message), JSON, status, headers)


def _format_error(message: str) -> bytes:
    return _format_json({"error": message})


def _format_json(record: dict[str, Any]) -> bytes:
    return format_json_line(record).encode()

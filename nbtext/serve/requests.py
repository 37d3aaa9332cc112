"""Check requests, and read the documents in their bodies."""

from __future__ import annotations

import hmac
import json
from base64 import b64decode
from http import HTTPStatus
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple, Self
from urllib.parse import parse_qs, urlsplit

from nbtext.corpus.detection.formats import choose_reading, resolve_reading
from nbtext.corpus.document import Notices
from nbtext.corpus.reading import read_corpus
from nbtext.corpus.streams import set_standard_input
from nbtext.errors import PathError, UsageError
from nbtext.strict_json import parse_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from nbtext.corpus.document import Document
    from nbtext.settings import Reading

JSON = "application/json"
JSON_LINES = "application/x-ndjson"
FORM = "application/x-www-form-urlencoded"
HTML = "text/html"

_JSON_LINES_TYPES = (JSON_LINES, "application/jsonl", "application/x-jsonlines")
_TEXT_TYPES = ("", FORM, "text/plain", "message/rfc822", "application/octet-stream")
"""Media types of a text. `FORM` is one because curl --data sends it by default."""

_LOCAL_NAMES = ("localhost", "127.0.0.1", "::1")

_STANDARD_INPUT_LOCK = Lock()
"""Only one request at a time can be read as standard input."""


class RefusalError(Exception):
    """A request that gets another status than 200, with the message of its response."""

    def __init__(self, status: HTTPStatus, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


class HttpRequest(NamedTuple):
    """A request over HTTP."""

    method: str
    path: str
    query: dict[str, list[str]]
    headers: Mapping[str, str]
    """The headers by their names in WSGI, such as ``HTTP_HOST``."""
    body: bytes

    @classmethod
    def from_environ(cls, environ: Mapping[str, Any]) -> Self:
        """Read a request of WSGI. Its body is complete."""
        return cls(
            environ["REQUEST_METHOD"],
            environ["PATH_INFO"],
            parse_qs(environ.get("QUERY_STRING", "")),
            environ,
            environ["wsgi.input"].read(),
        )

    @property
    def media_type(self) -> str:
        """The type of the body, without parameters."""
        return self.headers.get("CONTENT_TYPE", "").partition(";")[0].strip().lower()

    def require_plain_body(self) -> None:
        """Raise `RefusalError` for a body that is compressed, which would be read as a text."""
        encoding = self.headers.get("HTTP_CONTENT_ENCODING", "identity").strip().lower()
        if encoding != "identity":
            raise RefusalError(
                HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "send the body without Content-Encoding"
            )

    def read_json_lines(self) -> bytes | None:
        """Return the records of a body of JSON as lines, or None if the body is a text.

        Raise `RefusalError` for another type, and for a body that is not JSON.
        """
        if self.media_type in _JSON_LINES_TYPES:
            return self.body
        if self.media_type == JSON:
            records = self.parse_json_body()
            if isinstance(records, dict):
                records = [records]
            if isinstance(records, list) and all(isinstance(item, dict) for item in records):
                return "".join(json.dumps(record) + "\n" for record in records).encode()
            raise RefusalError(
                HTTPStatus.BAD_REQUEST, "JSON must be an object or a list of objects"
            )
        if self.media_type in _TEXT_TYPES:
            return None
        raise RefusalError(
            HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"send text/plain, {JSON} or {JSON_LINES}"
        )

    def parse_json_body(self) -> Any:  # noqa: ANN401 - any JSON
        """Return the body as JSON. Raise `RefusalError` if it is not valid."""
        try:
            return parse_json(self.body)
        except ValueError:
            raise RefusalError(HTTPStatus.BAD_REQUEST, "the body is not valid JSON") from None

    def parse_form(self) -> dict[str, list[str]]:
        """Return the fields of a form. Line ends are as in Unix."""
        text = self.body.decode("ascii", "replace").replace("%0D%0A", "%0A")
        try:
            return parse_qs(text, keep_blank_values=True, max_num_fields=10_000)
        except ValueError:
            raise RefusalError(HTTPStatus.BAD_REQUEST, "the form has too many fields") from None


class Guard(NamedTuple):
    """Decides which requests may be answered."""

    token: str | None
    """The secret of all clients, or None."""

    def check(self, headers: Mapping[str, str]) -> None:
        """Raise `RefusalError` for a wrong token, and for requests that other sites cause.

        Without a token, the host must be this machine. Otherwise, a page of another site could name
        its own host, and then let the name point to this machine (DNS rebinding).
        """
        if self.token is None:
            if _parse_host_name(headers.get("HTTP_HOST", "localhost")) not in _LOCAL_NAMES:
                raise RefusalError(HTTPStatus.FORBIDDEN, "the header Host must be localhost")
        elif not self._has_token(headers.get("HTTP_AUTHORIZATION", "")):
            raise RefusalError(HTTPStatus.UNAUTHORIZED, "the token is missing or wrong")
        origin = headers.get("HTTP_ORIGIN")
        if origin is not None and origin.partition("://")[2] != headers.get("HTTP_HOST"):
            raise RefusalError(HTTPStatus.FORBIDDEN, "requests of pages of other sites are refused")

    def _has_token(self, authorization: str) -> bool:
        """Return True for the token as a bearer (RFC 6750), or as the password of a browser."""
        scheme, _, credentials = authorization.partition(" ")
        if scheme.lower() == "basic":
            try:
                credentials = b64decode(credentials).decode().partition(":")[2]
            except ValueError:
                return False
        elif scheme.lower() != "bearer":
            return False
        return hmac.compare_digest(credentials.encode(), str(self.token).encode())


def _parse_host_name(host: str) -> str | None:
    """Return the name in a header Host, without its port."""
    try:
        return urlsplit(f"//{host}").hostname
    except ValueError:
        return None


def read_token(path: str) -> str:
    """Return the token in the first line of a file. Raise `PathError` if it is empty."""
    from nbtext.corpus.streams import read_option_file

    token = read_option_file(path).decode("utf-8", "replace").strip()
    if not token or "\n" in token:
        raise PathError("is not a token", where=path, hint="write one line of random letters")
    return token


def read_documents(
    body: bytes, training_reading: Reading, given_settings: Mapping[str, object]
) -> list[Document]:
    """Return the documents of a body, like `nbtext classify` from standard input.

    ``given_settings`` replace settings of the training documents. Raise `UsageError` or `PathError`
    if the body cannot be read. An unreadable document has its problem.
    """
    paths = ("-",)
    with _STANDARD_INPUT_LOCK:
        set_standard_input(body)
        reading = choose_reading(training_reading, paths, given_settings).unweighted
        if reading.file_column is not None:
            # Otherwise a request could read any file of this machine.
            raise UsageError("the model reads files that a column names, which requests cannot")
        reading = resolve_reading(reading, paths, labelled=False)
        return list(read_corpus(paths, reading, Notices(), labelled=False))

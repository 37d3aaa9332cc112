"""`nbtext classify --mail-filter`: copy one message from standard input to standard output, with a header that has its answer."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from nbtext.cli import messages, shared_options
from nbtext.corpus.mail.message import MAX_HEAD_BYTES, Message
from nbtext.corpus.streams import get_standard_input
from nbtext.errors import UsageError
from nbtext.report.predictions import format_mail_header

if TYPE_CHECKING:
    from nbtext.cli.prediction import ClassifyPredictionOptions
    from nbtext.cli.shared_options import QueryDocumentOptions
    from nbtext.scoring import Answer

_PIECE = 1 << 20


def filter_message(
    model_path: str, documents: QueryDocumentOptions, prediction: ClassifyPredictionOptions
) -> None:
    """Copy the message on standard input, marked with its answer.

    If anything fails, copy the message whole, marked with the reason ``error``, and raise what failed.
    """
    source = get_standard_input()
    start = source.read(MAX_HEAD_BYTES)
    message = Message.from_start(start)
    rest = b""
    answer: Answer | None = None
    try:
        if documents.corpus not in ((), ("-",)):
            raise UsageError(
                "--mail-filter reads one message on standard input", hint="leave out CORPUS"
            )
        from nbtext.cli.corpus import choose_document_reading
        from nbtext.cli.prediction import build_prediction_rules
        from nbtext.corpus.document import create_size_error
        from nbtext.corpus.reading import read_document_bytes
        from nbtext.scoring import iter_answers, score_documents
        from nbtext.settings import KIND_BY_NAME, parse_size

        model = shared_options.load_model(model_path)
        reading = choose_document_reading(model, documents)
        is_text = (
            not (reading.layout.has_file_per_document or reading.layout.is_mail)
            or reading.document == KIND_BY_NAME
        )  # without headers, or name
        is_mail = is_text and "document" not in documents.reading
        reading = replace(reading, format="dir", document="mail" if is_mail else reading.document)
        limit = parse_size(reading.max_document_size)
        rest = source.read(max(limit + 1 - len(start), 0))
        document = read_document_bytes("standard input", message.content + rest, reading)
        if len(start) + len(rest) > limit:
            document = document._replace(problem=create_size_error(limit))
        rule, _ = build_prediction_rules(prediction, model)
        [answer] = messages.report_failures(
            iter_answers(
                score_documents(model.fitted, [document]),
                model.fitted,
                rule,
                min_typicality=prediction.min_typicality,
            )
        )
    finally:
        _write(message, answer, rest)


def pass_through() -> None:
    """Copy the message on standard input, marked with the reason ``error``."""
    _write(Message.from_start(get_standard_input().read(MAX_HEAD_BYTES)), None)


def _write(message: Message, answer: Answer | None, rest: bytes = b"") -> None:
    """Write a message with its answer, and all that follows on standard input."""
    source = get_standard_input()
    output = sys.stdout.buffer
    output.write(message.with_mark(format_mail_header(answer)))
    output.write(rest)
    while piece := source.read(_PIECE):
        output.write(piece)

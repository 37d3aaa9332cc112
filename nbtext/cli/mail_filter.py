"""`nbtext classify --mail-filter`: copy a message from standard input to standard output.

A header with the prediction is added.
"""

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
    from nbtext.model import TextClassifier
    from nbtext.scoring import Answer
    from nbtext.settings import Reading

_PIECE_BYTES = 1 << 20


def filter_message(
    model_path: str, documents: QueryDocumentOptions, prediction: ClassifyPredictionOptions
) -> None:
    """Copy the message on standard input, marked with its prediction.

    If anything fails, copy the message whole, marked with the reason ``error``, and raise what
    failed.
    """
    source = get_standard_input()
    start = source.read(MAX_HEAD_BYTES)
    message = Message.from_start(start)
    remaining = b""
    answer: Answer | None = None
    try:
        if documents.corpus not in ((), ("-",)):
            raise UsageError(
                "--mail-filter reads one message on standard input", hint="leave out CORPUS"
            )
        from nbtext.cli.prediction import build_prediction_rules
        from nbtext.corpus.document import create_size_error
        from nbtext.corpus.reading import read_document_bytes
        from nbtext.scoring import iter_answers, score_documents
        from nbtext.settings import parse_size

        model = shared_options.load_model(model_path)
        reading = _choose_message_reading(model, documents)
        max_bytes = parse_size(reading.max_document_size)
        remaining = source.read(max(max_bytes + 1 - len(start), 0))
        document = read_document_bytes("standard input", message.content + remaining, reading)
        if len(start) + len(remaining) > max_bytes:
            document = document._replace(problem=create_size_error(max_bytes))
        rule, _ = build_prediction_rules(prediction, model)
        answers = iter_answers(
            score_documents(model.fitted, [document]),
            model.fitted,
            rule,
            min_typicality=prediction.min_typicality,
        )
        [answer] = messages.report_failures(answers)
    finally:
        _write(message, answer, remaining)


def _choose_message_reading(model: TextClassifier, documents: QueryDocumentOptions) -> Reading:
    """Return the settings to read one message.

    Unless ``--document`` is set, models of texts read the message as mail. A text has no headers
    and no name by which its kind could be detected.
    """
    from nbtext.cli.corpus import choose_document_reading
    from nbtext.settings import KIND_BY_NAME

    reading = choose_document_reading(model, documents)
    layout = reading.layout
    is_text = not (layout.has_file_per_document or layout.is_mail)
    is_text = is_text or reading.document == KIND_BY_NAME
    if is_text and "document" not in documents.reading:
        return replace(reading, format="dir", document="mail")
    return replace(reading, format="dir")


def pass_through() -> None:
    """Copy the message on standard input, marked with the reason ``error``."""
    _write(Message.from_start(get_standard_input().read(MAX_HEAD_BYTES)), None)


def _write(message: Message, answer: Answer | None, remaining: bytes = b"") -> None:
    """Write a message with its prediction, then ``remaining`` and the rest of standard input."""
    source = get_standard_input()
    output = sys.stdout.buffer
    output.write(message.with_mark(format_mail_header(answer)))
    output.write(remaining)
    while piece := source.read(_PIECE_BYTES):
        output.write(piece)

"""`nbtext classify --mail-filter`: add a header with the prediction to a message.

The message is copied from standard input to standard output.
"""

from __future__ import annotations

import sys
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

_PIECE_BYTES = 1 << 20


def filter_message(
    model_path: str, documents: QueryDocumentOptions, prediction: ClassifyPredictionOptions
) -> None:
    """Copy the message on standard input, and add a header with its prediction.

    After any error, copy the message with a header for the reason ``error``, and raise the error.
    """
    source = get_standard_input()
    start = source.read(MAX_HEAD_BYTES)
    message = Message.from_start(start)
    remaining = b""
    answer: Answer | None = None
    try:
        reads_standard_input = documents.corpus in ((), ("-",))
        if not reads_standard_input:
            raise UsageError(
                "--mail-filter reads one message on standard input", hint="remove CORPUS"
            )
        from nbtext.cli.corpus import choose_document_reading
        from nbtext.cli.prediction import build_rules_with_guarantees
        from nbtext.corpus.document import create_size_error
        from nbtext.corpus.reading import choose_message_reading, read_document_bytes
        from nbtext.scoring import iter_answers, score_documents
        from nbtext.settings import parse_size

        model = shared_options.load_model(model_path)
        reading = choose_message_reading(
            choose_document_reading(model, documents),
            is_document_given="document" in documents.reading,
        )
        max_bytes = parse_size(reading.max_document_size)
        remaining = source.read(max(max_bytes + 1 - len(start), 0))
        document = read_document_bytes("standard input", message.content + remaining, reading)
        if len(start) + len(remaining) > max_bytes:
            document = document._replace(problem=create_size_error(max_bytes))
        rule, _ = build_rules_with_guarantees(prediction, model)
        answers = iter_answers(
            score_documents(model.fitted, [document]),
            model.fitted,
            rule,
            min_typicality=prediction.min_typicality,
        )
        [answer] = messages.report_failures(answers)  # one document has one answer
    finally:
        # The message must not be lost. After an error, ``answer`` is None.
        _write(message, answer, remaining)


def pass_through() -> None:
    """Copy the message on standard input, and add a header for the reason ``error``."""
    start = get_standard_input().read(MAX_HEAD_BYTES)
    _write(Message.from_start(start), answer=None)


def _write(message: Message, answer: Answer | None, remaining: bytes = b"") -> None:
    """Write a message with its header, then ``remaining`` and the unread rest of standard input.

    The header is for the prediction, or for the reason ``error`` if ``answer`` is None.
    """
    source = get_standard_input()
    output = sys.stdout.buffer
    output.write(message.with_mark(format_mail_header(answer)))
    output.write(remaining)
    while piece := source.read(_PIECE_BYTES):
        output.write(piece)

"""`nbtext classify --mail-filter`: copy one message from standard input to standard output, with a header that has its answer."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from nbtext.cli import messages, shared_options
from nbtext.corpus.mail.message import LONGEST_HEAD, Message
from nbtext.corpus.streams import standard_input
from nbtext.errors import UsageError
from nbtext.report.predictions import mail_header

if TYPE_CHECKING:
    from nbtext.cli.prediction import ClassifyPredictionOptions
    from nbtext.cli.shared_options import AskedDocuments
    from nbtext.scoring import Answer

_PIECE = 1 << 20


def filter_message(
    model_path: str, documents: AskedDocuments, prediction: ClassifyPredictionOptions
) -> None:
    """Copy the message on standard input, marked with its answer.

    If anything fails, copy the message whole, marked with the reason ``error``, and raise what failed.
    """
    source = standard_input()
    start = source.read(LONGEST_HEAD)
    message = Message.of(start)
    rest = b""
    answer: Answer | None = None
    try:
        if documents.corpus not in ((), ("-",)):
            raise UsageError(
                "--mail-filter reads one message on standard input", hint="leave out CORPUS"
            )
        from nbtext.cli.corpus import reading_of
        from nbtext.cli.prediction import prediction_rules
        from nbtext.corpus.document import too_large
        from nbtext.corpus.reading import read_bytes
        from nbtext.scoring import answers_to, scored
        from nbtext.settings import BY_NAME, in_bytes

        model = shared_options.load_model(model_path)
        reading = reading_of(model, documents)
        is_text = (
            not (reading.layout.file_per_document or reading.layout.mail)
            or reading.document == BY_NAME
        )  # without headers, or name
        is_mail = is_text and "document" not in documents.reading
        reading = replace(reading, format="dir", document="mail" if is_mail else reading.document)
        limit = in_bytes(reading.max_document_size)
        rest = source.read(max(limit + 1 - len(start), 0))
        document = read_bytes("standard input", message.content + rest, reading)
        if len(start) + len(rest) > limit:
            document = document._replace(problem=too_large(limit))
        rule, _ = prediction_rules(prediction, model)
        [answer] = messages.reported(
            answers_to(
                scored(model.fitted, [document]),
                model.fitted,
                rule,
                min_typicality=prediction.min_typicality,
            )
        )
    finally:
        _write(message, answer, rest)


def pass_through() -> None:
    """Copy the message on standard input, marked with the reason ``error``."""
    _write(Message.of(standard_input().read(LONGEST_HEAD)), None)


def _write(message: Message, answer: Answer | None, rest: bytes = b"") -> None:
    """Write a message with its answer, and all that follows on standard input."""
    source = standard_input()
    output = sys.stdout.buffer
    output.write(message.marked(mail_header(answer)))
    output.write(rest)
    while piece := source.read(_PIECE):
        output.write(piece)

"""A model with the options of its predictions, which answers requests."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from nbtext.corpus.detection.formats import choose_reading
from nbtext.corpus.document import Document, create_size_error
from nbtext.corpus.mail.message import MAX_HEAD_BYTES, Message
from nbtext.corpus.reading import (
    TEXT_RECORD_READING,
    choose_message_reading,
    read_document_bytes,
)
from nbtext.explain.explanation import Explainer
from nbtext.report.explanations import make_json_record
from nbtext.report.output_formats import format_json_line
from nbtext.report.predictions import format_mail_header
from nbtext.scoring import iter_answers, score_documents
from nbtext.serve.requests import read_documents
from nbtext.settings import parse_size

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from nbtext.explain.explanation import ExplainedDocument
    from nbtext.fitted_model import FittedModel
    from nbtext.guarantees.prediction_sets import SetRule
    from nbtext.model import TextClassifier
    from nbtext.prediction.rule import DecisionRule
    from nbtext.report.predictions import PredictionWriter
    from nbtext.scoring import Answer, ScoredBlock
    from nbtext.settings import Reading

MESSAGE_NAME = "-"
"""The id of a text or a message, the same as for standard input."""


def choose_served_message_reading(
    reading: Reading, given_settings: Mapping[str, object]
) -> Reading:
    """Return the settings to read a message, given the settings of the training documents."""
    return choose_message_reading(
        choose_reading(reading, (), given_settings).unweighted,
        is_document_given="document" in given_settings,
    )


class MarkedMessage(NamedTuple):
    """A message with a header for its prediction."""

    content: bytes
    failure: str | None
    """The reason if the message could not be classified."""


class ServedModel(NamedTuple):
    """A model with the options of its predictions. It does not change."""

    model: TextClassifier
    rule: DecisionRule
    set_rule: SetRule | None
    min_typicality: float
    adjust_prior: Callable[[Iterable[ScoredBlock]], Iterator[ScoredBlock]]
    """Returns scored documents with the class prior of ``--prior-from``, or unchanged."""
    writer: PredictionWriter
    given_settings: Mapping[str, object]
    """Options that replace settings of the training documents, by name."""
    message_reading: Reading
    """The settings to read a message."""

    @property
    def fitted(self) -> FittedModel:
        """The trained model."""
        return self.model.fitted

    def read(self, text: bytes, json_lines: bytes | None = None) -> list[Document]:
        """Return the documents of lines of JSON, or else of a text."""
        if json_lines is None:
            return read_documents(text, self.model.reading, self.given_settings)
        settings = {**self.given_settings, "format": "jsonl"}
        return read_documents(json_lines, self.model.reading, settings)

    def read_text(self, text: str) -> Document:
        """Return a text, read like `nbtext classify --text`."""
        record = json.dumps({"id": MESSAGE_NAME, "text": text}).encode()
        settings = {**self.given_settings, **TEXT_RECORD_READING}
        return read_documents(record, self.model.reading, settings)[0]

    def read_message(self, content: bytes) -> Document:
        """Return a message, read like `nbtext classify --mail-filter`."""
        reading = self.message_reading
        max_bytes = parse_size(reading.max_document_size)
        if len(content) > max_bytes:
            return Document(MESSAGE_NAME, problem=create_size_error(max_bytes))
        return read_document_bytes(MESSAGE_NAME, content, reading)

    def predict(self, documents: Iterable[Document], top_k: int) -> Iterator[Answer]:
        """Yield the prediction for each document, with the ``top_k`` most probable classes."""
        return iter_answers(
            self.adjust_prior(score_documents(self.fitted, documents)),
            self.fitted,
            self.rule,
            min_typicality=self.min_typicality,
            top_k=top_k,
            sets=self.set_rule,
        )

    def classify(self, documents: Iterable[Document]) -> bytes:
        """Return the lines that `nbtext classify --output jsonl` prints."""
        answers = self.predict(documents, self.writer.top_k)
        return "".join(map(format_json_line, map(self.writer.to_record, answers))).encode()

    def explain(
        self, documents: Iterable[Document], against: str | None = None
    ) -> Iterator[ExplainedDocument]:
        """Yield the explanations of the predictions."""
        return Explainer(self.fitted, against).explain(documents)

    def explain_as_json(self, documents: Sequence[Document], against: str | None) -> bytes:
        """Return the lines that `nbtext explain --output jsonl` prints."""
        lines = (
            format_json_line(make_json_record(explained, self.fitted.fingerprint))
            for explained in self.explain(documents, against)
        )
        return "".join(lines).encode()

    def mark_message(self, content: bytes) -> MarkedMessage:
        """Return a message with a header that has its prediction.

        After any error, the header has the reason ``error``.
        """
        failure = None
        message = Message.from_start(content[:MAX_HEAD_BYTES])
        remaining = content[MAX_HEAD_BYTES:]
        try:
            document = self.read_message(message.content + remaining)
            [answer] = self.predict([document], 0)  # one document has one answer
            value = format_mail_header(answer)
            if answer.problem is not None:
                failure = answer.problem.line
        except Exception as problem:  # noqa: BLE001 - the message must not be lost
            value = format_mail_header(None)
            failure = type(problem).__name__
        return MarkedMessage(message.with_mark(value) + remaining, failure)

    def describe(self) -> dict[str, Any]:
        """Return the properties of the model for clients."""
        statistics = self.model.counts.labelled_statistics
        return {
            "model": self.fitted.fingerprint,
            "classifier": self.model.settings.classifier,
            "classes": self.model.classes,
            "documents": statistics.n_documents,
        }

"""Write predictions as TSV, CSV, JSON lines or a table, or as the value of a mail header.

Predictions of `nbtext cross-validate`, and mistakes found by `nbtext evaluate`, are always written
as JSON lines.
"""

from __future__ import annotations

import json
import re
from contextlib import contextmanager
from itertools import chain, repeat
from math import isfinite, isnan
from typing import IO, TYPE_CHECKING, NamedTuple

from nbtext.corpus.document import RECORD_COLUMN
from nbtext.errors import PathError, describe_os_error
from nbtext.prediction.labels import LABEL_SEPARATOR
from nbtext.prediction.posterior import ClassPosterior
from nbtext.report.output_formats import (
    JSON_SIGNIFICANT_DIGITS,
    format_json_line,
    format_six_digits,
    make_tuple_columns,
    round_to_six_digits,
    write_records,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from nbtext.evaluation.cross_validation import Prediction
    from nbtext.explain.mistakes import MistakeFinder
    from nbtext.prediction.posterior import Posterior
    from nbtext.prediction.rule import DecisionRule
    from nbtext.report.output_formats import Columns
    from nbtext.scoring import Answer, RankedClass, ScoredBlock
    from nbtext.type_names import Names

_PREDICTION_KEY = re.compile(
    r"(label|probability)(_\d+)?|labels|expected_cost|reason|coverage|abstained|error|notice"
)
"""Matches the columns and the JSON keys in which predictions are written, except `_MODEL_KEY`."""

_MODEL_KEY = "model"
"""The key of the fingerprint of the model, which only JSON has."""


def _rename_input_columns(names: Iterable[str], *, is_json: bool = False) -> tuple[str, ...]:
    """Return names of input columns. A name that predictions use gets the prefix ``given_``."""

    def is_used(name: str) -> bool:
        return bool(_PREDICTION_KEY.fullmatch(name)) or (is_json and name == _MODEL_KEY)

    return tuple(f"given_{name}" if is_used(name) else name for name in names)


class PredictionWriter(NamedTuple):
    """Writer of predictions in one output format. Its fields are options of the user."""

    output: str
    """``tsv``, ``csv``, ``jsonl`` or ``table``."""
    top_k: int = 0
    """Number of most probable classes that are written for each document."""
    show_costs: bool = False
    """Write the expected cost of each prediction (not in ``tsv``)."""
    show_scores: bool = False
    """Write scores and log odds of the ``top_k`` classes (``jsonl`` only)."""
    flush: bool = False
    """Flush the output after each prediction."""
    escape: Callable[[str], str] = str
    """Makes the text of a cell safe, for example for spreadsheets."""
    input_columns: tuple[str, ...] = ()
    """Columns of the input that are written instead of the id. Without any, the id is written."""
    coverage: float | None = None
    """For prediction sets, the guaranteed proportion of sets with the true class; else None."""
    posterior_type: type[Posterior] = ClassPosterior
    """An exclusive type if each document has exactly one label."""

    @property
    def has_one_label(self) -> bool:
        """True if a prediction is one label, False if it is a set of labels."""
        return self.posterior_type.is_exclusive and self.coverage is None

    @property
    def keeps_whole_record(self) -> bool:
        """True if the only input column is the whole JSON record of the document."""
        return self.input_columns == (RECORD_COLUMN,)

    @property
    def columns(self) -> Columns:
        """The columns of a row of `to_rows`, which depend on the output format."""
        headings = ["id"]
        if self.input_columns:
            headings = list(_rename_input_columns(self.input_columns))
        headings += ["label", "probability"]
        formats = {"probability": ".6g", "expected_cost": ".6g"}
        if self.output == "csv":
            for rank in range(2, self.top_k + 1):
                headings += [f"label_{rank}", f"probability_{rank}"]
                formats[f"probability_{rank}"] = ".6g"
        if self.show_costs and self.output != "tsv":
            headings.append("expected_cost")
        if self.output == "csv":
            headings.append("reason")
        return make_tuple_columns(*headings, formats=formats)

    def to_rows(self, prediction: Answer) -> list[tuple[object, ...]]:
        """Return the rows of a prediction, with the values of `columns`.

        All formats have the input columns or the id, the label and the probability. If there is no
        label, ``csv`` has the reason in its last column, and the other formats have the reason
        instead of the probability. The classes of rank 2 to ``top_k`` are columns in ``csv``, and
        rows in a table, because a table should be narrow.
        """
        first_cells = self._get_first_cells(prediction)
        reason = prediction.problem.line if prediction.problem else prediction.abstained
        probability_or_reason = self._get_probability(prediction)
        if prediction.label is None and self.output != "csv":
            probability_or_reason = reason
        row = (*first_cells, self._format_labels(prediction), probability_or_reason)
        if self.output == "tsv":
            return [row]

        costs = [prediction.expected_cost] if self.show_costs else []
        # A prediction set may have more classes than `top_k`.
        lower_ranked = [
            (ranked.label, ranked.probability) for ranked in prediction.ranked[1 : self.top_k]
        ]
        if self.output == "table":
            empty_cells = ["" for _ in first_cells]
            empty_costs = ["" for _ in costs]
            lower_rows = [(*empty_cells, *pair, *empty_costs) for pair in lower_ranked]
            return [(*row, *costs), *lower_rows]

        n_missing = max(self.top_k - 1, 0) - len(lower_ranked)
        cell_pairs = [*lower_ranked, *repeat(("", ""), n_missing)]
        return [(*row, *chain.from_iterable(cell_pairs), *costs, reason)]

    def _get_first_cells(self, prediction: Answer) -> tuple[str, ...]:
        """Return the id, or the input columns, which are empty if a document could not be read."""
        if not self.input_columns:
            return (prediction.id,)
        return prediction.columns or tuple("" for _ in self.input_columns)

    def _get_probability(self, prediction: Answer) -> str | float | None:
        """Return the probability of the label. A multi-label model has one per label, as text."""
        if self.posterior_type.is_exclusive or not prediction.labels:
            return prediction.probability
        return LABEL_SEPARATOR.join(map(format_six_digits, prediction.probabilities))

    def _format_labels(self, prediction: Answer) -> str:
        r"""Return the label, or the labels of a set separated by |, most probable first.

        In labels of a set, | and \ are written \| and \\.
        """
        if self.has_one_label:
            return prediction.label or ""
        return LABEL_SEPARATOR.join(
            re.sub(r"([|\\])", r"\\\1", label) for label in prediction.labels
        )

    def to_record(self, prediction: Answer) -> dict[str, object]:
        """Return a record for JSON: input columns or id, label, probability, and optional keys.

        The keys ``expected_cost``, ``labels`` and ``coverage`` depend on the options. The keys
        ``abstained``, ``error`` and ``notice`` depend on the prediction. ``model`` is the
        fingerprint of the model.
        """
        record = self._get_input_record(prediction)
        if self.posterior_type.is_exclusive:
            record["label"] = prediction.label
            record["probability"] = round_to_six_digits(prediction.probability)
        if self.show_costs:
            record["expected_cost"] = round_to_six_digits(prediction.expected_cost)
        lists_classes = self.top_k > 0 or not self.has_one_label
        if lists_classes and prediction.problem is None:
            record["labels"] = [self._make_class_record(ranked) for ranked in prediction.ranked]
            if self.coverage is not None:
                record["coverage"] = self.coverage
        if prediction.abstained is not None:
            record["abstained"] = prediction.abstained
        if prediction.problem is not None:
            record["error"] = prediction.problem.line
        if prediction.notice is not None:
            record["notice"] = prediction.notice
        if prediction.model is not None:
            record[_MODEL_KEY] = prediction.model
        return record

    def _get_input_record(self, prediction: Answer) -> dict[str, object]:
        """Return the id, the input columns by name, or the whole record of the input.

        The record is empty if the document could not be read, since it then has no columns.
        """
        if not self.input_columns:
            return {"id": prediction.id}
        if not prediction.columns:
            return {}
        if self.keeps_whole_record:
            input_record = json.loads(prediction.columns[0])
            names = _rename_input_columns(input_record, is_json=True)
            return dict(zip(names, input_record.values(), strict=True))
        names = _rename_input_columns(self.input_columns, is_json=True)
        return dict(zip(names, prediction.columns, strict=True))

    def _make_class_record(self, ranked: RankedClass) -> dict[str, object]:
        """Return a class with its probability. Infinite scores and log odds are None."""
        label, probability, score, log_odds = ranked
        record: dict[str, object] = {
            "label": label,
            "probability": round_to_six_digits(probability),
        }
        if self.show_scores:
            record["score"] = score if isfinite(score) else None
            record["log_odds"] = log_odds if isfinite(log_odds) else None
        return record

    def write(self, stream: Iterable[Answer]) -> None:
        """Print each prediction of a stream."""
        write_records(
            stream,
            self.output,
            self.columns,
            self.to_rows,
            self.to_record,
            escape=self.escape,
            flush=self.flush,
            tsv_header=bool(self.input_columns),
        )


_PLAIN_LABEL = re.compile(r"(?!.*=\?)[!-:<-~]+(?: [!-:<-~]+)*")
"""Matches a label that a header can contain without encoding.

Such a label has only ASCII characters and single spaces. It has no ";", which would end the label,
and no "=?", which would start an encoded word.
"""

_MAX_ENCODED_CHARS = 52
"""Length limit of a label that is not encoded, and of the text in an encoded word.

With this limit the line "X-Nbtext: =?utf-8?q?TEXT?=;" has 75 characters. A line with an encoded
word must not have more than 76 (RFC 2047, 2).
"""

_MAX_LINE_CHARS = 78
"""Recommended limit of a line of a header (RFC 5322, 2.1.1)."""


def format_mail_header(prediction: Answer | None) -> str:
    """Return the value of a mail header, in folded lines.

    It is ``LABEL; probability=P; reason=WHY; model=FINGERPRINT``. A part is omitted if the
    prediction does not have it. If ``prediction`` is None
    or has a problem, the message could not be read, and the value is ``; reason=error``. Labels
    that a header cannot contain are written as encoded words (RFC 2047).
    """
    from nbtext.corpus.mail.message import MARK_HEADER

    if prediction is None or prediction.problem is not None:
        return "; reason=error"
    label = LABEL_SEPARATOR.join(prediction.labels)
    is_plain = not label or _PLAIN_LABEL.fullmatch(label) is not None
    if not is_plain or len(label) > _MAX_ENCODED_CHARS:
        label = _encode_words(label)
    items = [label]
    if prediction.probability is not None:
        items.append(f"probability={format_six_digits(prediction.probability)}")
    reason = prediction.abstained or prediction.notice
    if reason:
        items.append(f"reason={reason}")
    if prediction.model is not None:
        items.append(f"model={prediction.model}")
    line = "; ".join(items)
    if len(f"{MARK_HEADER}: {line}") <= _MAX_LINE_CHARS:
        return line
    return ";\n ".join(items)


def _encode_words(label: str) -> str:
    """Return a label as encoded words in the encoding Q (RFC 2047, 4.2), one word per line."""
    words = [""]
    for character in label:
        code = "".join(map(_encode_byte, character.encode()))
        if len(words[-1]) + len(code) > _MAX_ENCODED_CHARS:
            words.append("")
        words[-1] += code
    return "\n ".join(f"=?utf-8?q?{word}?=" for word in words)


def _encode_byte(byte: int) -> str:
    if byte < 0x80 and chr(byte).isalnum():
        return chr(byte)
    return f"={byte:02X}"


def format_prediction_lines(
    predictions: Iterable[Prediction], names: Names, posterior_type: type[Posterior]
) -> Iterator[bytes]:
    """Yield a JSON line for each prediction of a cross-validation.

    A line has id, truth, answer (null if the model abstains) and probability (null if every class
    is impossible). ``names`` are the names of all documents.
    """
    for row, truth, predicted, probability in predictions:
        record = {
            "id": names[row],
            "truth": posterior_type.to_json_labels(truth),
            "answer": posterior_type.to_json_labels(predicted),
            "probability": None if isnan(probability) else round_to_six_digits(probability),
        }
        yield format_json_line(record).encode()


MAX_MEMORY_BYTES = 2**25
"""Bytes of lines that are kept in memory before they go to a temporary file."""


class _MistakeLine(NamedTuple):
    """The position of a line in the buffer. Lines are sorted by these fields in this order."""

    minus_probability: float
    minus_margin: float
    start: int
    length: int


@contextmanager
def open_mistake_writer(
    path: str, finder: MistakeFinder, rule: DecisionRule
) -> Iterator[Callable[[ScoredBlock], None]]:
    """Yield a function that collects the mistakes of a block, and write them when the context ends.

    The file has JSON lines. The largest probability of the wrong label comes first, then the
    largest margin, then the first document. If the context ends with an exception, nothing is
    written. Raise `PathError` if the file cannot be written, if possible before the first block.
    """
    import tempfile

    from nbtext.metrics.results import to_json_values
    from nbtext.store.atomic import check_replaceable, replace_file

    check_replaceable(path)  # raises before the first block
    lines: list[_MistakeLine] = []  # the lines themselves may go to a temporary file
    with tempfile.SpooledTemporaryFile(MAX_MEMORY_BYTES) as buffer:

        def collect(block: ScoredBlock) -> None:
            try:
                for mistake in finder.find_mistakes(block, block.posterior.decide(rule)):
                    record = to_json_values(mistake, JSON_SIGNIFICANT_DIGITS)
                    line = format_json_line(record).encode()
                    lines.append(
                        _MistakeLine(
                            minus_probability=-mistake.probability,
                            minus_margin=-mistake.margin,
                            start=buffer.tell(),
                            length=len(line),
                        )
                    )
                    buffer.write(line)
            except OSError as problem:
                raise PathError(
                    f"cannot write: {describe_os_error(problem)}",
                    where=tempfile.gettempdir(),
                    hint="set TMPDIR to a folder with room",
                ) from None

        def write_sorted(file: IO[bytes]) -> None:
            for line in sorted(lines):
                buffer.seek(line.start)
                file.write(buffer.read(line.length))

        yield collect
        replace_file(path, write_sorted)

"""Answers as lines of every form, predictions of cross-validation and misclassified documents as JSON lines."""

from __future__ import annotations

import json
import re
from contextlib import contextmanager
from itertools import chain
from math import isfinite
from operator import itemgetter
from typing import IO, TYPE_CHECKING, NamedTuple

from nbtext.corpus.document import RECORD_COLUMN
from nbtext.errors import PathError, describe_os_error
from nbtext.prediction.labels import LABEL_SEPARATOR
from nbtext.prediction.posterior import ClassPosterior
from nbtext.report.output_formats import (
    JSON_SIGNIFICANT_DIGITS,
    Column,
    format_json_line,
    format_six_digits,
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
    from nbtext.scoring import Answer, ScoredBlock
    from nbtext.type_names import Names

_OF_ANSWERS = re.compile(
    r"(label|probability)(_\d+)?|labels|expected_cost|reason|coverage|abstained|error|notice"
)
"""Names of columns and keys of answers."""


def _beside_answers(names: Iterable[str]) -> tuple[str, ...]:
    """Return names of kept columns, with ``given_`` before those that an answer has too."""
    return tuple(f"given_{name}" if _OF_ANSWERS.fullmatch(name) else name for name in names)


class PredictionWriter(NamedTuple):
    """The form of answers: ``output`` is tsv, csv, jsonl or table, ``flush`` prints each at once.

    ``top_k`` of the most probable classes come with each, with ``scores`` their scores too, and with ``costs`` the expected cost.
    """

    output: str
    top_k: int = 0
    show_costs: bool = False
    show_scores: bool = False
    flush: bool = False
    escape: Callable[[str], str] = str
    """Makes the text of a cell safe."""
    input_columns: tuple[str, ...] = ()
    """Columns of the input that come first, in place of the id."""
    coverage: float | None = None
    """If answers are sets of classes, the promised share of sets that hold the true class."""
    kind: type[Posterior] = ClassPosterior
    """Whether the labels of a document exclude each other."""

    @property
    def has_one_label(self) -> bool:
        """Whether a document gets a label, and not a set of them."""
        return self.kind.is_exclusive and self.coverage is None

    @property
    def columns(self) -> Columns:
        """Heads of the columns: options add some to csv, which has the reason last, those of costs to the table, and none to tsv but those that are kept."""
        heads = [(name, "") for name in _beside_answers(self.input_columns) or ("id",)]
        heads += [("label", ""), ("probability", ".6g")]
        if self.output == "csv":
            for rank in range(2, self.top_k + 1):
                heads += [(f"label_{rank}", ""), (f"probability_{rank}", ".6g")]
        if self.show_costs and self.output != "tsv":
            heads.append(("expected_cost", ".6g"))
        if self.output == "csv":
            heads.append(("reason", ""))
        return [Column(head, itemgetter(place), form) for place, (head, form) in enumerate(heads)]

    def rows(self, answer: Answer) -> list[tuple[object, ...]]:
        """Return document, label and probability, or no label and the reason why, then the columns that the form adds.

        In csv the reason has a column of its own. In a table, which may be narrow, the further classes have rows of their own.
        """
        kept = (
            (answer.columns or ("",) * len(self.input_columns))
            if self.input_columns
            else (answer.id,)
        )
        why_not = answer.problem.line if answer.problem else answer.abstained
        probability: str | float | None = answer.probability
        if not self.kind.is_exclusive and answer.labels:
            probability = LABEL_SEPARATOR.join(map(format_six_digits, answer.probabilities))
        first = (
            *kept,
            self._label(answer),
            why_not if answer.label is None and self.output != "csv" else probability,
        )
        if self.output == "tsv":
            return [first]
        costs = [answer.expected_cost] if self.show_costs else []
        others = [(ranked.label, ranked.probability) for ranked in answer.ranked[1 : self.top_k]]
        if self.output == "table":
            no_document = [""] * len(kept)
            no_costs = [""] * len(costs)
            return [(*first, *costs), *((*no_document, *other, *no_costs) for other in others)]
        beside = list(chain.from_iterable(others))
        left = [""] * (2 * (self.top_k - 1) - len(beside))
        return [(*first, *beside, *left, *costs, why_not)]

    def _label(self, answer: Answer) -> str:
        r"""Return the label, or those of a set, the most probable first, with | between them; | and \ inside a label are written \| and \\."""
        if self.has_one_label:
            return answer.label or ""
        return LABEL_SEPARATOR.join(re.sub(r"([|\\])", r"\\\1", label) for label in answer.labels)

    def record(self, answer: Answer) -> dict[str, object]:
        """Return id, label and probability; expected_cost, labels, abstained, error and notice where they apply."""
        kept: dict[str, object] = {"id": answer.id}
        if self.input_columns == (RECORD_COLUMN,):
            record = json.loads(answer.columns[0]) if answer.columns else {}
            kept = dict(zip(_beside_answers(record), record.values(), strict=True))
        elif self.input_columns:
            kept = dict(zip(_beside_answers(self.input_columns), answer.columns, strict=False))
        found = kept
        if self.kind.is_exclusive:
            found = {
                **kept,
                "label": answer.label,
                "probability": round_to_six_digits(answer.probability),
            }
        if self.show_costs:
            found["expected_cost"] = round_to_six_digits(answer.expected_cost)
        if (self.top_k or not self.has_one_label) and answer.problem is None:
            found["labels"] = [
                {
                    "label": label,
                    "probability": round_to_six_digits(probability),
                    **(
                        {
                            "score": score if isfinite(score) else None,
                            "log_odds": odds if isfinite(odds) else None,
                        }
                        if self.show_scores
                        else {}
                    ),
                }
                for label, probability, score, odds in answer.ranked
            ]
            if self.coverage is not None:
                found["coverage"] = self.coverage
        error = None if answer.problem is None else answer.problem.line
        reasons = {"abstained": answer.abstained, "error": error, "notice": answer.notice}
        return found | {name: why for name, why in reasons.items() if why is not None}

    def write(self, stream: Iterable[Answer]) -> None:
        """Print a line for each answer."""
        write_records(
            stream,
            self.output,
            self.columns,
            self.rows,
            self.record,
            escape=self.escape,
            flush=self.flush,
            tsv_header=bool(self.input_columns),
        )


_PLAIN_LABEL = re.compile(r"(?!.*=\?)[!-:<-~]+(?: [!-:<-~]+)*")
"""A label that stands in a header as it is: no ";", which ends it, and nothing that looks like an encoded word."""

_LONGEST_WORD = 52
_LONGEST_LINE = 78
"""Characters of a label, or of an encoded word in it without its frame, and of a line of a header (RFC 5322, 2.1.1)."""


def format_mail_header(answer: Answer | None) -> str:
    """Return the value of a mail header for an answer, its lines folded: ``LABEL; probability=P``, with ``reason=WHY`` instead or besides.

    The reason is ``error`` for None and for a message that could not be read; then there is no label. Labels that a header cannot hold are
    encoded words (RFC 2047).
    """
    from nbtext.corpus.mail.message import MARK_HEADER

    if answer is None or answer.problem is not None:
        return "; reason=error"
    label = LABEL_SEPARATOR.join(answer.labels)
    if len(label) > _LONGEST_WORD or not _PLAIN_LABEL.fullmatch(label or "-"):
        words = [""]  # in the encoding Q of RFC 2047 (4.2), one a line
        for character in label:
            written = "".join(
                chr(byte) if chr(byte).isalnum() and byte < 0x80 else f"={byte:02X}"
                for byte in character.encode()
            )
            if len(words[-1]) + len(written) > _LONGEST_WORD:
                words.append("")
            words[-1] += written
        label = "\n ".join(f"=?utf-8?q?{word}?=" for word in words)
    known = {
        "probability": format_six_digits(answer.probability),
        "reason": answer.abstained or answer.notice,
    }
    parts = [label, *(f"{name}={value}" for name, value in known.items() if value)]
    written = "; ".join(parts)
    return written if len(MARK_HEADER) + len(written) + 2 <= _LONGEST_LINE else ";\n ".join(parts)


def format_prediction_lines(
    predictions: Iterable[Prediction], names: Names, kind: type[Posterior]
) -> Iterator[bytes]:
    """Yield a JSON object for each: id, truth, answer (null if it abstains) and its probability (null too if no class is possible)."""
    for row, truth, answer, probability in predictions:
        yield format_json_line(
            {
                "id": names[row],
                "truth": kind.to_json_labels(truth),
                "answer": kind.to_json_labels(answer),
                "probability": round_to_six_digits(probability) if probability >= 0 else None,
            }
        ).encode()


IN_MEMORY = 1 << 25
"""Bytes of lines before they go to disk."""


@contextmanager
def open_mistake_writer(
    path: str, finder: MistakeFinder, rule: DecisionRule
) -> Iterator[Callable[[ScoredBlock], None]]:
    """Yield a function that keeps the mistakes of a block; unless an error ends that, write them as JSON lines, the most probable wrong answer first.

    Then they are sorted by margin, then in the order of the documents. Lines wait in a temporary file, in memory while they are few; their places
    are kept to sort by. Raises `PathError` if the file cannot be written, at once if that shows.
    """
    import tempfile

    from nbtext.metrics.results import to_json_values
    from nbtext.store.atomic import check_replaceable, replace_file

    check_replaceable(path)
    folder = tempfile.gettempdir()
    places = list[
        tuple[float, float, int, int]
    ]()  # probability and margin, both negative, begin and length
    with tempfile.SpooledTemporaryFile(IN_MEMORY) as lines:

        def look(block: ScoredBlock) -> None:
            try:
                for mistake in finder.find_mistakes(block, block.posterior.decide(rule)):
                    line = format_json_line(
                        to_json_values(mistake, JSON_SIGNIFICANT_DIGITS)
                    ).encode()
                    places.append((-mistake.probability, -mistake.margin, lines.tell(), len(line)))
                    lines.write(line)
            except OSError as problem:
                raise PathError(
                    f"cannot write: {describe_os_error(problem)}",
                    where=folder,
                    hint="set TMPDIR to a folder with room",
                ) from None

        def fill(file: IO[bytes]) -> None:
            for *_, begin, length in sorted(places):
                lines.seek(begin)
                file.write(lines.read(length))

        yield look
        replace_file(path, fill)

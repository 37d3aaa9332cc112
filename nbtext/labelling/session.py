"""A session of labelling: the labels so far, the next document, and how good the model is thought to be.

The documents have a random order, which their content and the seed give. A share of the questions goes to the first document of this order
that has no label. The documents at the beginning of the order, as far as all are labelled or skipped, are then a random sample of the pool, whoever
chose them, and their answers by models without them are an honest estimate: an estimate of documents chosen because they are hard is not.
"""

from __future__ import annotations

from functools import cached_property
from itertools import compress, count
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nbtext.corpus.document import Document
from nbtext.counts.statistics import expand_negative_seeds
from nbtext.document_fields import clean_fields, clean_text, parse_field_pairs
from nbtext.errors import DocumentError, UsageError, format_quantity
from nbtext.explain.contributions import distribute_to_words, split_weighted_text
from nbtext.explain.token_trace import TokenTracer
from nbtext.labelling.answer_file import AnswerFile, LabelAnswer
from nbtext.labelling.pool import DocumentPool, count_pool
from nbtext.labelling.query_strategies import (
    Representativeness,
    cap_length,
    compute_acquisition_scores,
)
from nbtext.labelling.running_model import RUNNING_MODELS, ClassSeed
from nbtext.metrics.intervals import Interval, wilson_interval
from nbtext.prediction.labels import LabelSets, format_label, list_labels, split_label
from nbtext.prediction.posterior import ClassPosterior, LabelPosterior, look_up_kind
from nbtext.text.analyzer import UNKNOWN_TERM

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from nbtext.counts.counting import Analysis
    from nbtext.counts.statistics import SeedTerm
    from nbtext.prediction.calibration import Calibration
    from nbtext.prediction.labels import Label
    from nbtext.prediction.posterior import Posterior
    from nbtext.type_names import Floats, Ints, TrueLabels

FEWEST_TO_CALIBRATE = 20
"""Labels from which probabilities are calibrated by them."""


class QueryPlan(NamedTuple):
    """Settings for choosing documents."""

    strategy: str = "mixed"
    """``mixed``, ``measure_pool_uncertainty``, ``typical`` or ``random``; see `nbtext.labelling.query_strategies`."""
    random_proportion: float = 0.1
    """The share of questions that goes to documents drawn at random."""
    seed: int = 0
    separator: str | None = None
    """What stands between labels, in rows and where they are typed, if a document may have several."""

    @property
    def kind(self) -> type[Posterior]:
        """Whether the labels of a document exclude each other."""
        return LabelPosterior if self.separator else ClassPosterior


class Suggestion(NamedTuple):
    """A document to be labelled by an editor or a program, with the most probable class, or the set of labels; both are empty without labels."""

    id: str
    label: str
    """To be filled in."""
    suggested: str
    probability: float | str | None
    text: str


class AccuracyEstimate(NamedTuple):
    """Documents of the random sample, and how many of them the models without them answer right."""

    n_documents: int
    n_correct: int

    @property
    def accuracy(self) -> float:
        """The share."""
        return self.n_correct / self.n_documents

    @property
    def interval(self) -> Interval:
        """Wilson's interval of the accuracy."""
        return wilson_interval(self.n_correct, self.n_documents)


class Session:
    """Labels of the documents of a pool. The documents from ``n_asked`` on have labels from elsewhere and are not asked about."""

    def __init__(
        self,
        pool: DocumentPool,
        plan: QueryPlan = QueryPlan(),
        *,
        n_asked: int | None = None,
        file: AnswerFile | None = None,
        seeds: Sequence[SeedTerm] = (),
    ) -> None:
        self.pool = pool
        self.plan = plan
        self.file = file
        self.n_asked = len(pool) if n_asked is None else n_asked
        self.classes: list[str] = list(dict.fromkeys(seed.label for seed in seeds))
        """In the order in which they came, by number."""
        seeds = expand_negative_seeds(seeds, self.classes)
        of_classes = [
            self._class_seed([seed for seed in seeds if seed.label == label])
            for label in self.classes
        ]
        self.model = look_up_kind(RUNNING_MODELS, plan.kind)(pool, of_classes)
        self.representativeness = Representativeness(pool)
        _ = pool.lengths, pool.documents_by_term  # made now, and not at the first key
        self.labels: dict[int, Label] = {}
        """The label or set of labels of each labelled document, in the order in which they were labelled."""
        self._is_left = np.arange(len(pool)) < self.n_asked
        factor = np.random.default_rng(plan.seed).integers(1 << 63, dtype=np.uint64) * np.uint64(
            2
        ) + np.uint64(1)
        self._random_order = np.argsort(pool.hashes[: self.n_asked] * factor, kind="stable")
        self._n_waiting = 0
        self._skipped: list[tuple[int, int]] = []
        """Documents that were skipped, each with how many answers there were."""

    def load_answers(self, answers: Iterable[tuple[int, Label]]) -> None:
        """Take over labels that are in the file already, by document, before any is given."""
        for row, label in answers:
            self._name(row, label)
        rows = np.array(list(self.labels), np.int64)
        self.model.add_rows(rows, self.encode_truth(rows))
        self.representativeness.add_rows(rows)
        self._is_left[rows] = False

    @property
    def n_waiting(self) -> int:
        """Documents that wait for a label."""
        return int(np.count_nonzero(self._is_left))

    @property
    def progress_text(self) -> str:
        """The number of labels, or of documents with several, in words."""
        return format_quantity(len(self.labels), self.model.answer_noun)

    def get_note(self, row: int) -> str:
        """Return a remark about a document, empty if there is none."""
        del row
        return ""

    def get_current_label(self, row: int) -> Label | None:
        """Return the label that a document to be asked about has already, None if it has none."""
        del row
        return None

    def choose_document(self) -> int | None:
        """Return the document to ask about, None if none is left."""
        if not self._is_left.any():
            return None
        asked = len(self.labels) + self._n_waiting
        is_random = int((asked + 1) * self.plan.random_proportion) > int(
            asked * self.plan.random_proportion
        )
        if not is_random and self.plan.strategy != "random" and len(self.classes) > 1:
            found = np.where(
                self._is_left,
                compute_acquisition_scores(
                    self.plan.strategy, self.pool, self.model, self.representativeness
                ),
                0.0,
            )
            if found[best := int(found.argmax())] > 0:
                return best
        return int(self._random_order[self._drawn])

    def answer(
        self, row: int, label: Label, who: str | None = None, time: str | None = None
    ) -> None:
        """Label a document; the answer is in the file when this returns. Raise `UsageError` for what cannot be a label."""
        if row in self.labels:
            raise UsageError(
                f"{self.pool.documents[row].id} has the label {format_label(self.labels[row])!r} "
                "already",
                hint="undo it first",
            )
        self.require_label(label)
        if self.file is not None:
            document = self.pool.documents[row]
            fields = [(name.decode(), content.decode()) for name, content in document.fields]
            self.file.append(
                LabelAnswer(document.id, label, document.text.decode(), who, time, fields or None)
            )
        self._name(row, label)
        self._learn(row)
        self._is_left[row] = False

    @staticmethod
    def require_label(label: Label) -> None:
        """Raise `UsageError` for what cannot be a label, or a set of labels."""
        for each in list_labels(label):
            if not each or each != each.strip() or not each.isprintable():
                raise UsageError(
                    f"{each!r} cannot be a label",
                    hint="labels are printable text without blanks around it",
                )

    def undo(self) -> int | None:
        """Take the last skip or answer of the file back and return its document, None if there is none."""
        if self._skipped and self._skipped[-1][1] == len(self.labels):
            row, _ = self._skipped.pop()
            self._is_left[row] = True
            return row
        if not self.labels or (self.file is not None and not self.file.answers):
            return None
        if self.file is not None:
            self.file.remove_last()
        row = next(reversed(self.labels))
        self._learn(row, -1)
        del self.labels[row]
        self._is_left[row] = row < self.n_asked
        while self.classes and self.model.is_empty(
            len(self.classes) - 1
        ):  # the newest: answers are taken back in turn
            self.model.drop_last_class()
            self.classes.pop()
        return row

    def skip(self, row: int) -> None:
        """Leave a document without label; it is not asked about again in this session."""
        self._is_left[row] = False
        self._skipped.append((row, len(self.labels)))

    def suggest(self, n: int) -> Iterator[Suggestion]:
        """Yield the next documents, at most n, as if each were labelled before the next is chosen; it then waits for its label."""
        separator = self.plan.separator
        while self._n_waiting < n and (row := self.choose_document()) is not None:
            self._n_waiting += 1
            self._is_left[row] = False
            self.representativeness.add(self.pool.find_neighbours(row))
            found = self.propose_labels(row)
            suggested: tuple[str, float | str | None] = found[0] if found else ("", None)
            if separator is not None and self.classes:
                suggested = (
                    separator.join(label for label, _ in found) or separator,
                    separator.join(f"{p:.6g}" for _, p in found),
                )
            yield Suggestion(self.pool.documents[row].id, "", *suggested, self.pool.get_text(row))

    def import_labels(
        self, rows: Iterable[Document], who: str | None = None, time: str | None = None
    ) -> Iterator[Document]:
        """Add the labels of rows, documents with the columns id and label, and yield each, with its problem if it was not taken.

        A row without a label is not filled in yet; it is skipped without a message, as one that repeats a known label. A separator alone is no label.
        """
        for filled in rows:
            problem = filled.problem
            if problem is None and (label := filled.columns[1].strip()):
                try:
                    self._take(filled.columns[0], label, who, time)
                except (DocumentError, UsageError) as raised:
                    problem = DocumentError(raised.message, hint=raised.hint)
            yield filled._replace(problem=problem)

    def _take(self, identity: str, label: str, who: str | None, time: str | None) -> None:
        row = self.pool.rows_by_id.get(identity)
        if row is None:
            raise DocumentError(
                f"the pool has no document {identity!r}",
                hint="leave the column id as it was printed",
            )
        found = split_label(label, self.plan.separator)
        if row not in self.labels or list_labels(self.labels[row]) != list_labels(found):
            self.answer(row, found, who, time)

    def predict_probabilities(self, row: int) -> list[tuple[str, float]]:
        """Return the classes and their probabilities, calibrated by the labels so far, in the order of the classes."""
        if not self.classes:
            return []
        rows = np.array([row])
        posterior = np.exp(self.compute_log_posterior(self.model.compute_scores(rows), rows)[0])
        return list(zip(self.classes, posterior.tolist(), strict=True))

    def propose_labels(self, row: int) -> list[tuple[str, float]]:
        """Return the classes that the model gives a document, with their probabilities, the most probable first."""
        found = sorted(self.predict_probabilities(row), key=lambda pair: -pair[1])
        if not found:
            return []
        chosen = self.model.select_labels(np.array([p for _, p in found]))
        return list(compress(found, chosen))

    def highlight_text(self, row: int, first: str, second: str) -> Iterator[tuple[str, float]]:
        """Return the text in pieces as `split_weighted_text` does: words with what they add to the log odds of the first class over the second, or of several labels over the rest."""
        pool = self.pool
        document = self.pool.documents[row]
        added = self.model.score_terms(pool.find_neighbours(row))
        nats = self.model.contrast_terms(
            added[self.classes.index(first)], added[self.classes.index(second)]
        )
        located = self._walker.locate_words(document.text, document.fields, splits_pairs=True)
        of_words = distribute_to_words(located, pool.matrix.take(np.array([row])), nats)
        return split_weighted_text(
            document.display_text,
            zip(located.starts.tolist(), located.ends.tolist(), of_words.tolist(), strict=True),
        )

    @cached_property
    def _walker(self) -> TokenTracer:
        return TokenTracer(
            self.pool.analysis, self.pool.vocabulary, np.ones(self.pool.n_terms, np.bool_)
        )

    def compute_log_posterior(self, scores: Floats, rows: Ints) -> Floats:
        """Return log p of each class, shape (n_docs, n_classes), by scores of some documents, calibrated if there are labels enough."""
        if self._calibration is None:
            return self.model.compute_log_posterior(cap_length(scores, self.pool.lengths[rows]))
        return self._calibration.compute_log_posterior(
            scores.T, self.pool.lengths[rows].astype(np.int64)
        )

    @cached_property
    def _calibration(self) -> Calibration | None:
        """Return the calibration of left-out labelled documents, None if there are too few."""
        rows = np.array(list(self.labels))
        if rows.size < FEWEST_TO_CALIBRATE:
            return None
        truth = self.encode_truth(rows)
        return self.model.fit_calibration(
            self.model.score_leave_one_out(rows, truth),
            truth,
            self.pool.lengths[rows].astype(np.int64),
        )

    def get_random_sample(self) -> Ints:
        """Return the random sample: the labelled documents before the first of the random order that waits for a label, shape (n,)."""
        return np.array(
            [row for row in self._random_order[: self._drawn].tolist() if row in self.labels],
            np.int64,
        )

    def estimate_accuracy(self) -> AccuracyEstimate:
        """Return how many documents of the random sample the models of all other labels answer right, of several labels the whole sets."""
        rows = self.get_random_sample()
        if not rows.size or len(self.classes) < 2:
            return AccuracyEstimate(0, 0)
        truth = self.encode_truth(rows)
        answers = self.model.predict(
            self.compute_log_posterior(self.model.score_leave_one_out(rows, truth), rows)
        )
        is_right = (answers == truth).reshape(len(truth), -1).all(axis=1)
        return AccuracyEstimate(rows.size, int(np.count_nonzero(is_right)))

    def list_waiting(self) -> list[int]:
        """Return the documents that wait for a label."""
        return np.flatnonzero(self._is_left).tolist()

    def search(self, text: str) -> list[int]:
        """Return the documents that wait whose text holds some words, case-folded."""
        needle = text.casefold()
        return [row for row in self.list_waiting() if needle in self.pool.get_text(row).casefold()]

    @property
    def _drawn(self) -> int:
        """Documents at the beginning of the random order that do not wait for a label."""
        return int(np.append(self._is_left[self._random_order], True).argmax())

    def _class_seed(self, seeds: Sequence[SeedTerm]) -> ClassSeed:
        terms = self.pool.vocabulary.find_terms([seed.term for seed in seeds])
        amounts = np.array([seed.pseudo_count for seed in seeds])
        return ClassSeed(terms[terms != UNKNOWN_TERM], amounts[terms != UNKNOWN_TERM])

    def encode_truth(self, rows: Ints) -> TrueLabels:
        """Return the classes of labelled documents, shape (n_docs,), or of several labels a mask of shape (n_docs, n_classes)."""
        numbers = {name: number for number, name in enumerate(self.classes)}
        found = LabelSets.from_rows(
            [[numbers[each] for each in list_labels(self.labels[row])] for row in rows.tolist()]
        )
        return self.model.encode_labels(found)

    def _name(self, row: int, label: Label) -> None:
        self.labels[row] = label
        for each in list_labels(label):
            if each not in self.classes:
                self.add_class(each)

    def add_class(self, name: str) -> None:
        """Add a class that no document has."""
        self.classes.append(name)
        self.model.add_class()

    def _learn(self, row: int, sign: int = 1) -> None:
        document = self.pool.find_neighbours(row)
        self.model.add(document, self.encode_truth(np.array([row])), sign)
        self.__dict__.pop("_calibration", None)
        self.representativeness.add(document, sign)


def open_session(
    documents: Iterable[Document],
    analysis: Analysis,
    plan: QueryPlan,
    answers: Sequence[LabelAnswer],
    file: AnswerFile | None,
    seeds: Sequence[SeedTerm] = (),
) -> Session:
    """Read and count the pool, and go on from answers.

    An answer whose document is not in the pool, or has another text there, teaches too: its document is counted behind those of the pool.
    """
    pooled = list[Document]()
    rows = list[int]()

    def all_documents() -> Iterator[Document]:
        for document in documents:
            pooled.append(document)
            yield document
        known = {document.id: row for row, document in reversed([*enumerate(pooled)])}
        behind = count(len(pooled))
        for answer in answers:
            row = known.get(answer.id)
            if row is None or answer.text not in (
                pooled[row].display_text,
                pooled[row].text.decode(),
            ):
                row = next(behind)
                text = clean_text(answer.text.encode("utf-8", "replace"))
                yield Document(
                    answer.id,
                    None,
                    text,
                    fields=clean_fields(parse_field_pairs(answer.nbtext_fields or [])),
                )
            rows.append(row)

    pool = count_pool(all_documents(), analysis).pool
    session = Session(pool, plan, n_asked=len(pooled), file=file, seeds=seeds)
    session.load_answers(zip(rows, (answer.label for answer in answers), strict=True))
    return session

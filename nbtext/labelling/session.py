"""A session of `nbtext label`: the labels so far, the next document, and the estimated accuracy.

Documents have a random order, which their content and the seed determine. A proportion of the
questions is about the first document of this order that waits for a label. All documents before
this document are labelled or skipped, so they are a random sample of the pool. Accuracy is
estimated on this sample by leave-one-out. Hard documents, which a strategy chooses, would bias the
estimate.
"""

from __future__ import annotations

from functools import cached_property
from itertools import compress
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nbtext.corpus.document import Document
from nbtext.counts.statistics import expand_negative_seeds
from nbtext.document_fields import clean_fields, clean_text, parse_field_pairs
from nbtext.errors import DocumentError, UsageError, format_quantity
from nbtext.explain.contributions import distribute_to_words, split_weighted_text
from nbtext.explain.token_trace import TokenTracer
from nbtext.labelling.answer_file import AnswerFile, LabelAnswer
from nbtext.labelling.pool import DocumentPool, count_pool, index_rows_by_id
from nbtext.labelling.query_strategies import (
    Representativeness,
    compute_acquisition_scores,
    scale_to_max_length,
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

MIN_LABELS_TO_CALIBRATE = 20
"""Probabilities are calibrated if there are so many labelled documents."""


class QueryPlan(NamedTuple):
    """Settings for choosing documents."""

    strategy: str = "mixed"
    """``mixed``, ``uncertain``, ``typical`` or ``random`` (`nbtext.labelling.query_strategies`)."""
    random_proportion: float = 0.1
    """Proportion of questions about randomly drawn documents."""
    seed: int = 0
    separator: str | None = None
    """Text between the labels of a multi-label document. None for single-label documents."""

    @property
    def kind(self) -> type[Posterior]:
        """The type of posterior: of classes, or of labels for multi-label documents."""
        return LabelPosterior if self.separator else ClassPosterior


class Suggestion(NamedTuple):
    """A document to be labelled with an editor or a program."""

    id: str
    label: str
    """Empty, for a person or a program to fill in."""
    suggested: str
    """The most probable class, or the proposed label set. Empty if the session has no labels."""
    probability: float | str | None
    """Probability of the class. For a label set, text with one probability per label."""
    text: str


class Skip(NamedTuple):
    """A document that was left undecided."""

    row: int
    n_answers: int
    """Number of answers before the skip. It orders skips and answers for `Session.undo`."""


class AccuracyEstimate(NamedTuple):
    """Accuracy on the random sample, each document predicted without its own label."""

    n_documents: int
    """0 if there is no estimate. Then the properties must not be used."""
    n_correct: int

    @property
    def accuracy(self) -> float:
        """Proportion of correctly predicted documents."""
        return self.n_correct / self.n_documents

    @property
    def interval(self) -> Interval:
        """Wilson's 95 % interval of the accuracy."""
        return wilson_interval(self.n_correct, self.n_documents)


class Session:
    """The labels of the documents of a pool, and the model that follows them."""

    def __init__(
        self,
        pool: DocumentPool,
        plan: QueryPlan = QueryPlan(),
        *,
        n_asked: int | None = None,
        file: AnswerFile | None = None,
        seeds: Sequence[SeedTerm] = (),
    ) -> None:
        """Start a session without labels.

        Only the first ``n_asked`` documents of the pool are asked about, by default all. All later
        documents are labelled documents from other pools. Answers are written to ``file`` if there
        is one. ``seeds`` are seed words of classes.
        """
        self.pool = pool
        self.plan = plan
        self.file = file
        self.n_asked = len(pool) if n_asked is None else n_asked
        self.classes: list[str] = list(dict.fromkeys(seed.label for seed in seeds))
        """Class names by class index: in the order in which they were first used."""
        seeds = expand_negative_seeds(seeds, self.classes)
        class_seeds = [self._create_class_seed(seeds, label) for label in self.classes]
        self.model = look_up_kind(RUNNING_MODELS, plan.kind)(pool, class_seeds)
        self.representativeness = Representativeness(pool)
        _ = pool.log_count_sums, pool.documents_by_term  # computed now, not at the first key press
        self.labels: dict[int, Label] = {}
        """The label or label set of each labelled row, in the order of labelling, for `undo`."""
        self._is_waiting = np.arange(len(pool)) < self.n_asked
        """Mask of the documents that wait for a label, shape (n_docs,)."""
        generator = np.random.default_rng(plan.seed)
        even_factor = generator.integers(2**63, dtype=np.uint64) * np.uint64(2)
        # Multiplication by an odd number maps 64-bit hashes one to one.
        odd_factor = even_factor + np.uint64(1)
        random_keys = pool.hashes[: self.n_asked] * odd_factor
        self._random_order = np.argsort(random_keys, kind="stable")
        """The first ``n_asked`` rows in random order."""
        self._n_suggested = 0
        """Number of documents that `suggest` has yielded."""
        self._skips: list[Skip] = []

    def _create_class_seed(self, seeds: Sequence[SeedTerm], label: str) -> ClassSeed:
        """Return the seeds of a class whose terms are in the vocabulary."""
        class_seeds = [seed for seed in seeds if seed.label == label]
        terms = self.pool.vocabulary.find_terms([seed.term for seed in class_seeds])
        pseudo_counts = np.array([seed.pseudo_count for seed in class_seeds])
        is_known = terms != UNKNOWN_TERM
        return ClassSeed(terms[is_known], pseudo_counts[is_known])

    def load_answers(self, answers: Iterable[tuple[int, Label]]) -> None:
        """Add the labels of earlier sessions, as pairs of row and label, to an empty session."""
        for row, label in answers:
            self._store_label(row, label)
        rows = np.array(list(self.labels), np.int64)
        self.model.add_rows(rows, self.encode_truth(rows))
        self.representativeness.add_rows(rows)
        self._is_waiting[rows] = False

    @property
    def n_waiting(self) -> int:
        """Number of documents that wait for a label."""
        return int(np.count_nonzero(self._is_waiting))

    @property
    def progress_text(self) -> str:
        """The number of labels, or of labelled multi-label documents, in words."""
        return format_quantity(len(self.labels), self.model.answer_noun)

    def get_note(self, row: int) -> str:
        """Return a note about a document for the screen. `ReviewSession` has notes."""
        del row
        return ""

    def get_current_label(self, row: int) -> Label | None:
        """Return the label before the question, which documents of a `ReviewSession` have."""
        del row
        return None

    def choose_document(self) -> int | None:
        """Return the row to ask about, or None if no document waits."""
        if not self._is_waiting.any():
            return None
        n_questions = len(self.labels) + self._n_suggested
        proportion = self.plan.random_proportion
        # Random questions are spread evenly: with this question, one more of them is due.
        is_random = int((n_questions + 1) * proportion) > int(n_questions * proportion)
        if not is_random and self.plan.strategy != "random" and len(self.classes) > 1:
            scores = compute_acquisition_scores(
                self.plan.strategy, self.pool, self.model, self.representativeness
            )
            scores = np.where(self._is_waiting, scores, 0.0)
            best = int(scores.argmax())
            if scores[best] > 0:  # else all waiting documents are equally good
                return best
        return int(self._random_order[self._n_drawn])

    def answer(
        self, row: int, label: Label, who: str | None = None, time: str | None = None
    ) -> None:
        """Label a document, after the answer was written to the file.

        Raise `UsageError` if the document has a label, or if ``label`` cannot be one.
        """
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
                LabelAnswer(
                    id=document.id,
                    label=label,
                    text=document.text.decode(),
                    who=who,
                    time=time,
                    nbtext_fields=fields or None,
                )
            )
        self._store_label(row, label)
        self._update_model(row)
        self._is_waiting[row] = False

    @staticmethod
    def require_label(label: Label) -> None:
        """Raise `UsageError` if ``label``, or a name in a label set, is not a valid label."""
        for name in list_labels(label):
            if not name or name != name.strip() or not name.isprintable():
                raise UsageError(
                    f"{name!r} cannot be a label",
                    hint="labels are printable text without blanks around it",
                )

    def undo(self) -> int | None:
        """Undo the last skip or answer. Return its row, or None if nothing can be undone."""
        row = self._pop_last_skip(len(self.labels))
        if row is not None:
            self._is_waiting[row] = True
            return row
        if not self.labels:
            return None
        if self.file is not None:
            if not self.file.answers:  # all labels are from other files
                return None
            self.file.remove_last()
        row = next(reversed(self.labels))
        self._update_model(row, sign=-1)  # needs the label
        del self.labels[row]
        is_from_this_pool = row < self.n_asked
        self._is_waiting[row] = is_from_this_pool
        # Answers are undone in reverse order, so only the newest classes can have become empty.
        while self.classes and self.model.is_empty(len(self.classes) - 1):
            self.model.drop_last_class()
            self.classes.pop()
        return row

    def _pop_last_skip(self, n_answers: int) -> int | None:
        """Forget the last skip and return its row. Return None if an answer followed the skip.

        ``n_answers`` is the number of answers so far.
        """
        if self._skips and self._skips[-1].n_answers == n_answers:
            return self._skips.pop().row
        return None

    def skip(self, row: int) -> None:
        """Leave a document unlabelled. It is not asked about again in this session."""
        self._is_waiting[row] = False
        self._skips.append(Skip(row, len(self.labels)))

    def suggest(self, n: int) -> Iterator[Suggestion]:
        """Yield up to n documents to label, with the labels that the model proposes.

        For the choice of later documents, a yielded document counts as labelled. So the documents
        are not all similar.
        """
        while self._n_suggested < n:
            row = self.choose_document()
            if row is None:
                return
            self._n_suggested += 1
            self._is_waiting[row] = False
            self.representativeness.add(self.pool.find_neighbours(row))
            label, probability = self._format_proposal(row)
            document_id = self.pool.documents[row].id
            yield Suggestion(
                document_id,
                label="",
                suggested=label,
                probability=probability,
                text=self.pool.get_text(row),
            )

    def _format_proposal(self, row: int) -> tuple[str, float | str | None]:
        """Return the proposed label and its probability.

        For multi-label documents, return the labels and the probabilities as text, joined by the
        separator. The labels of an empty set are the separator, so that they differ from no label.
        Return "" and None if the session has no labels.
        """
        if not self.classes:
            return "", None
        proposal = self.propose_labels(row)
        separator = self.plan.separator
        if separator is None:
            return proposal[0]
        label_text = separator.join(label for label, _ in proposal) or separator
        probability_text = separator.join(f"{probability:.6g}" for _, probability in proposal)
        return label_text, probability_text

    def import_labels(
        self, table_rows: Iterable[Document], who: str | None = None, time: str | None = None
    ) -> Iterator[Document]:
        """Add the label of each table row, then yield the row, with the problem if it was rejected.

        Table rows are documents with the columns id and label. Rows without a label, and rows that
        repeat a label, change nothing. A separator with nothing around it is an empty label set.
        """
        for table_row in table_rows:
            problem = table_row.problem
            if problem is None:
                document_id, label = table_row.columns
                try:
                    self._import_label(document_id, label.strip(), who, time)
                except (DocumentError, UsageError) as error:
                    problem = DocumentError(error.message, hint=error.hint)
            yield table_row._replace(problem=problem)

    def _import_label(
        self, document_id: str, label_text: str, who: str | None, time: str | None
    ) -> None:
        if not label_text:
            return
        row = self.pool.rows_by_id.get(document_id)
        if row is None:
            raise DocumentError(
                f"the pool has no document {document_id!r}",
                hint="do not change the column id",
            )
        label = split_label(label_text, self.plan.separator)
        repeats_label = row in self.labels and list_labels(self.labels[row]) == list_labels(label)
        if not repeats_label:
            self.answer(row, label, who, time)

    def predict_probabilities(self, row: int) -> list[tuple[str, float]]:
        """Return each class with its probability, in the order of the classes.

        Probabilities are calibrated if there are enough labels.
        """
        if not self.classes:
            return []
        rows = np.array([row])
        [log_posterior] = self.compute_log_posterior(self.model.compute_scores(rows), rows)
        return list(zip(self.classes, np.exp(log_posterior).tolist(), strict=True))

    def propose_labels(self, row: int) -> list[tuple[str, float]]:
        """Return the predicted labels with their probabilities, the most probable first."""
        candidates = sorted(self.predict_probabilities(row), key=lambda pair: -pair[1])
        if not candidates:
            return []
        probabilities = np.array([probability for _, probability in candidates])
        is_selected = self.model.select_labels(probabilities)
        return list(compress(candidates, is_selected))

    def highlight_text(self, row: int, label_a: str, label_b: str) -> Iterator[tuple[str, float]]:
        """Yield the text of a document in pieces, with the contribution of each piece in nats.

        Words contribute to the log odds of label a over label b, or over the rest for multi-label
        documents. Text between words has 0. See `split_weighted_text`.
        """
        document = self.pool.documents[row]
        scores = self.model.score_terms(self.pool.find_neighbours(row))
        term_contributions = self.model.contrast_terms(
            scores[self.classes.index(label_a)], scores[self.classes.index(label_b)]
        )
        words = self._tracer.locate_words(document.text, document.fields, splits_pairs=True)
        matrix = self.pool.matrix.take(np.array([row]))
        contributions = distribute_to_words(words, matrix, term_contributions)
        text = self.pool.get_text(row)
        is_shown = words.ends <= len(text.encode())
        columns = (words.starts, words.ends, contributions)
        spans = zip(*(column[is_shown].tolist() for column in columns), strict=True)
        return split_weighted_text(text, spans)

    @cached_property
    def _tracer(self) -> TokenTracer:
        is_selected = np.ones(self.pool.n_terms, np.bool_)
        return TokenTracer(self.pool.analysis, self.pool.vocabulary, is_selected)

    def compute_log_posterior(self, scores: Floats, rows: Ints) -> Floats:
        """Return log p of each class for the documents in ``rows``, shape (n_docs, n_classes).

        ``scores`` has shape (n_classes, n_docs). Probabilities are calibrated if there are enough
        labels.
        """
        lengths = self.pool.log_count_sums[rows]
        if self._calibration is None:
            scaled_scores = scale_to_max_length(scores, lengths)
            return self.model.compute_log_posterior(scaled_scores)
        return self._calibration.compute_log_posterior(scores.T, lengths.astype(np.int64))

    @cached_property
    def _calibration(self) -> Calibration | None:
        """The calibration, fitted to leave-one-out scores. None if there are too few labels.

        `_update_model` drops the cached value.
        """
        rows = np.array(list(self.labels))
        if rows.size < MIN_LABELS_TO_CALIBRATE:
            return None
        truth = self.encode_truth(rows)
        scores = self.model.score_leave_one_out(rows, truth)
        lengths = self.pool.log_count_sums[rows].astype(np.int64)
        return self.model.fit_calibration(scores, truth, lengths)

    def get_random_sample(self) -> Ints:
        """Return the rows of the random sample, shape (n,).

        These are the labelled documents before the first document of the random order that waits.
        """
        drawn_rows = self._random_order[: self._n_drawn].tolist()
        return np.array([row for row in drawn_rows if row in self.labels], np.int64)

    def estimate_accuracy(self) -> AccuracyEstimate:
        """Estimate the accuracy on the random sample by leave-one-out.

        A label set is correct if it has exactly the true labels.
        """
        rows = self.get_random_sample()
        if not rows.size or len(self.classes) < 2:
            return AccuracyEstimate(n_documents=0, n_correct=0)
        truth = self.encode_truth(rows)
        scores = self.model.score_leave_one_out(rows, truth)
        predicted = self.model.predict(self.compute_log_posterior(scores, rows))
        # One index per document, or a mask of labels, of which all must be equal.
        is_correct = (predicted == truth).reshape(rows.size, -1).all(axis=1)
        return AccuracyEstimate(rows.size, int(np.count_nonzero(is_correct)))

    def list_waiting(self) -> list[int]:
        """Return the rows that wait for a label."""
        return np.flatnonzero(self._is_waiting).tolist()

    def search(self, text: str) -> list[int]:
        """Return the waiting rows whose text contains ``text``, ignoring case."""
        needle = text.casefold()
        return [row for row in self.list_waiting() if needle in self.pool.get_text(row).casefold()]

    @property
    def _n_drawn(self) -> int:
        """Number of documents of the random order before the first document that waits."""
        is_waiting = self._is_waiting[self._random_order]
        is_end = np.append(is_waiting, True)  # the last end, if no document waits
        return int(is_end.argmax())

    def encode_truth(self, rows: Ints) -> TrueLabels:
        """Return the class indices of labelled rows, shape (n_docs,).

        For multi-label documents, return a mask of shape (n_docs, n_classes).
        """
        indices = {name: index for index, name in enumerate(self.classes)}
        label_names = [list_labels(self.labels[row]) for row in rows.tolist()]
        label_indices = [[indices[name] for name in names] for names in label_names]
        return self.model.encode_labels(LabelSets.from_rows(label_indices))

    def _store_label(self, row: int, label: Label) -> None:
        """Store the label of a row, and add new classes."""
        self.labels[row] = label
        for name in list_labels(label):
            if name not in self.classes:
                self.add_class(name)

    def add_class(self, name: str) -> None:
        """Add a class without documents."""
        self.classes.append(name)
        self.model.add_class()

    def _update_model(self, row: int, sign: int = 1) -> None:
        """Add a labelled row to the model. With ``sign`` −1, remove it."""
        document = self.pool.find_neighbours(row)
        truth = self.encode_truth(np.array([row]))
        self.model.add(document, truth, sign)
        self.representativeness.add(document, sign)
        self.__dict__.pop("_calibration", None)  # the cached property is not valid any more


def open_session(
    documents: Iterable[Document],
    analysis: Analysis,
    plan: QueryPlan,
    answers: Sequence[LabelAnswer],
    file: AnswerFile | None,
    seeds: Sequence[SeedTerm] = (),
) -> Session:
    """Read and count the pool, and resume from the answers of earlier sessions.

    Answers about other documents, or about documents whose text has changed, are used for training,
    too. Their documents are counted after the documents of the pool.
    """
    all_documents = list(documents)
    n_asked = len(all_documents)
    rows_by_id = index_rows_by_id(all_documents)
    labelled_rows: list[tuple[int, Label]] = []
    for answer in answers:
        row = rows_by_id.get(answer.id)
        if row is None or not _has_text(all_documents[row], answer.text):
            row = len(all_documents)
            all_documents.append(_to_document(answer))
        labelled_rows.append((row, answer.label))
    pool = count_pool(all_documents, analysis).pool
    session = Session(pool, plan, n_asked=n_asked, file=file, seeds=seeds)
    session.load_answers(labelled_rows)
    return session


def _has_text(document: Document, text: str) -> bool:
    """Return True if an answer's text is that of a document, with or without its fields."""
    return text in (document.display_text, document.text.decode())


def _to_document(answer: LabelAnswer) -> Document:
    """Return the document of an answer, without its label."""
    text = clean_text(answer.text.encode("utf-8", "replace"))
    fields = clean_fields(parse_field_pairs(answer.nbtext_fields or []))
    return Document(answer.id, label=None, text=text, fields=fields)

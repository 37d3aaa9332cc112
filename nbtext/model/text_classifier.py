"""`TextClassifier`: settings, counts and what was estimated from them, behind scikit-learn's conventions."""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from nbtext.compatibility import SEED_WORDS, needs_documents, require_compatible_settings
from nbtext.counts.corpus_counts import CorpusCounts, forget_documents
from nbtext.counts.counting import Analysis, check_word_settings, count_labelled_documents
from nbtext.counts.documents import NO_DOCUMENTS
from nbtext.counts.statistics import build_seed_vocabulary
from nbtext.document_fields import NON_TEXT_SETTINGS, serialise_document
from nbtext.errors import DocumentError, ModelError, UsageError, format_quantity
from nbtext.fitted_model import FittedModel, ScoredTexts, require_additive
from nbtext.model.state import decode_model, encode_model, list_versions
from nbtext.prediction.labels import list_labels
from nbtext.prediction.rule import NO_PREDICTION, DecisionRule
from nbtext.ragged import split_into_blocks
from nbtext.scoring import Answer, iter_answers, score_documents
from nbtext.settings import (
    COUNTING_NAMES,
    CalibrationName,
    ClassifierName,
    ClassWeight,
    Covariance,
    CovarianceShape,
    CriterionName,
    EncodedLines,
    Estimate,
    OnError,
    PriorShape,
    Reading,
    Settings,
    Unspaced,
    Weighting,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray
    from sklearn.utils import Tags

    from nbtext.corpus.collection import Progress
    from nbtext.corpus.document import Document, Notices
    from nbtext.counts.statistics import SeedTerm
    from nbtext.explain.explanation import ExplainedDocument
    from nbtext.model.python_input import IndicatorFormat, Label, Paths, Text, TypedClasses
    from nbtext.model.unlabelled import UnlabelledDocuments
    from nbtext.prediction.posterior import SetPredictor
    from nbtext.type_names import Floats, Mask


class TextClassifier:
    """Classifies texts by the counts of their terms in each class.

    Parameters
    ----------
    classifier : {"multinomial", "bernoulli", "complement", "gaussian", "logistic", "average"}
        Kind of model.
    language : str
        Language of stop words and stemmer, such as "english".
    stop_words : str, list of str or None
        "auto" (those of the language, unless left-out documents are clearly answered better with these words, or fewer than 50 not worse), "default" (those of the
        language), "none" or None, another language, the path of a file of words, or the words.
    stemmer : str
        "snowball" (that of the language), "none", another language, or one of nltk's, such as "porter".
    encoded_lines : {"drop", "keep"}
        Lines of encoded data, such as base64: drop or keep them.
    unspaced : {"auto", "pairs", "words"}
        Scripts without spaces: count pairs of adjacent characters, or words between spaces. "auto" is "pairs", unless left-out documents are clearly
        answered better with words, or with both.
    surface_forms : bool
        Also count words before stemming, to show them in place of stems. Predictions stay the same.
    ngrams : int
        Also count sequences of up to this many adjacent terms, from 1 to 10.
    char_ngrams : int or str or None
        Also count character sequences in each word: their length in characters, or a range such as "3-5".
    min_df : int
        Ignore terms in fewer documents.
    max_df : float
        Ignore terms in a larger share of documents, from 0 to 1.
    top : int or None
        Keep this many terms, the most informative ones.
    by : {"mutual-information", "presence", "chi2", "log-odds"}
        Criterion for ``top``.
    weighting : {"counts", "binary", "log", "tfidf"}
        Weight of a term in a document.
    smoothing : {"auto", "evidence", "leave-one-out"}, float, two floats or mapping
        Pseudo-count added to each count: the one of greatest evidence, the one that makes held-out documents most probable, a number, or
        numbers by term, with one for "*", all others. "auto" is "evidence", unless held-out documents are clearly answered better with another.
    prior_shape : {"symmetric", "background"}
        Dirichlet prior: the same for all terms, or in proportion to the whole corpus.
    estimate : {"mean", "map", "ml"}
        Estimate of term probabilities: mean or mode of the posterior, or maximum likelihood.
    members : str
        For "average": the models that are combined, such as "multinomial:log+logistic"; after a colon a weighting other than counts, and after another a pseudo-count.
        "evidence:multinomial:0.1+multinomial:1" weighs models of the same counts by p(m | data).
    l2 : {"auto"} or float
        For "logistic": ``l2 / 2`` times the sum of squared weights is added to the loss, in nats.
    latent : int
        For "gaussian": number of latent features.
    covariance : {"shared", "separate"}
        For "gaussian": one covariance for all classes, or one for each.
    covariance_shape : {"full", "diagonal", "spherical", "spherical-unscaled"}
        For "gaussian": shape of the covariance.
    shrinkage : {"auto"} or float
        For "gaussian": weight of a simpler covariance, from 0 to 1.
    class_prior : {"empirical", "uniform"}, str or mapping
        Class probabilities: shares of documents, equal, "smoothed:A" (A documents more in each class), or weights by label.
    class_weight : {"balanced"}, mapping or None
        "balanced" weighs documents so that all classes weigh the same: the class prior is then uniform, and probabilities are those of documents
        drawn from all classes alike. A mapping has the weight of the documents of each label, 1 for labels without one.
    calibration : {"auto", "none"}
        How scores become probabilities, learnt from held-out documents of the sample.
    sample : int
        Number of training documents that the model keeps as term counts; 0 for none.
    tag_fields : list of str or None
        Names of fields, or one text with commas between them: a word in a field is a term of its own (subject:offer). A document is then a mapping with
        these keys, and "text" for its text.
    categorical, count, numeric : list of str or None
        Names of attributes, or one text with commas between them: further keys of the mapping.

    Raises
    ------
    UsageError
        For a wrong value; it is a ValueError.

    Examples
    --------
    >>> model = TextClassifier(stemmer="none", stop_words="none", smoothing=1)
    >>> texts = ["Chinese Beijing Chinese", "Chinese Chinese Shanghai", "Chinese Macao", "Tokyo Japan Chinese"]
    >>> model.fit(texts, ["yes", "yes", "yes", "no"]).predict(["Chinese Chinese Chinese Tokyo Japan"])
    array(['yes'], dtype=object)
    >>> model
    TextClassifier(stop_words='none', stemmer='none', smoothing=1.0)
    """

    def __init__(
        self,
        *,
        classifier: ClassifierName = "multinomial",
        language: str = "english",
        stop_words: str | Collection[str] | None = "auto",
        stemmer: str = "snowball",
        encoded_lines: EncodedLines = "drop",
        unspaced: Unspaced = "auto",
        surface_forms: bool = False,
        ngrams: int = 1,
        char_ngrams: int | str | None = None,
        min_df: int = 1,
        max_df: float = 1.0,
        top: int | None = None,
        by: CriterionName = "mutual-information",
        weighting: Weighting = "counts",
        smoothing: str | float | tuple[float, float] | Mapping[str, float] = "auto",
        prior_shape: PriorShape = "symmetric",
        estimate: Estimate = "mean",
        members: str = "multinomial:log+logistic",
        l2: str | float = "auto",
        latent: int = 100,
        covariance: Covariance = "shared",
        covariance_shape: CovarianceShape = "full",
        shrinkage: str | float = "auto",
        class_prior: str | Mapping[str, float] = "empirical",
        class_weight: ClassWeight | Mapping[Any, float] | None = None,
        calibration: CalibrationName = "auto",
        sample: int = 4096,
        tag_fields: str | Sequence[str] | None = None,
        categorical: str | Sequence[str] | None = None,
        count: str | Sequence[str] | None = None,
        numeric: str | Sequence[str] | None = None,
    ) -> None:
        given = {name: value for name, value in locals().items() if name != "self"}
        self.settings = _changed(Settings(), given)
        self._fitted: FittedModel | None = None
        self._stop_list: Sequence[str] | None = None
        self._indicator: IndicatorFormat | None = None
        self.seeds: Sequence[SeedTerm] = ()
        """Terms whose pseudo-counts join the counts of a class."""

    def __repr__(self) -> str:
        """Show the parameters that differ from the defaults."""
        defaults = TextClassifier().get_params()
        changed = [
            f"{name}={value!r}"
            for name, value in self.get_params().items()
            if value != defaults[name]
        ]
        return f"{type(self).__name__}({', '.join(changed)})"

    def _repr_html_(self) -> str:
        """Show the parameters and what was learnt, for a notebook."""
        from html import escape

        learnt = (
            f"{format_quantity(len(self.classes), 'class')}, "
            f"{format_quantity(self.counts.labelled_statistics.n_documents, 'document')}"
            if self._fitted
            else "not trained"
        )
        return f"<pre>{escape(repr(self))}\n{learnt}</pre>"

    # The signature is that of scikit-learn.
    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: FBT001, FBT002
        """Return the parameters by name."""
        del deep
        return {**self.settings, **{kind: self.reading[kind] for kind in NON_TEXT_SETTINGS}}

    def set_params(self, **parameters: object) -> TextClassifier:
        """Change parameters. Counts stay and are estimated from again, unless documents would be counted otherwise.

        Raises `UsageError` for a wrong value or an unknown name, and leaves the model as it was.
        """
        before = self.settings
        after = _changed(self.settings, parameters)
        counted_alike = before.reading == after.reading and all(
            before[name] == after[name] for name in COUNTING_NAMES
        )
        counts = None if self._fitted is None else self.counts
        counted_alike &= not after.needs_log_sums or (
            counts is not None and counts.table.cell_logs is not None
        )
        if counts is not None and counted_alike and not needs_documents(after):
            return self.learn(counts, None, **parameters)
        if self.seeds:
            raise UsageError(
                "seed words are terms of the settings that they were given with",
                hint="set the parameters first",
            )
        self._stop_list = None
        self._replace(None)
        self.settings = after
        return self

    def fit(
        self,
        texts: Iterable[Text],
        labels: Iterable[Label],
        sample_weight: Iterable[float] | None = None,
    ) -> TextClassifier:
        """Learn from texts (str, or bytes in UTF-8) and their classes, one each; forget what was learnt before.

        Labels are str, int, float or bool, all of one type. A text may have several: lists of labels, or a matrix of 0 and 1, dense, sparse or a data
        frame, with a column a label. ``sample_weight`` has the weight of each text: a document of weight 2 counts as two, one
        of weight 0 not at all; weights are rounded to thousandths. Raises `UsageError` for a weight that is negative or no number.
        """
        from nbtext.model.python_input import InputLabels, iter_labelled_documents

        given = InputLabels(labels)
        self._looked_up()  # validate early: fail before counting, not after
        self.learn(
            count_labelled_documents(
                iter_labelled_documents(texts, given, self.reading, sample_weight), self.analysis
            )
        )
        self._indicator = given.indicator
        return self._replace(replace(self.fitted, label_kind=given.kind or "text"))

    def fit_corpus(
        self,
        paths: Paths,
        *,
        jobs: int = 1,
        scheduler: str | None = None,
        on_error: OnError = "record",
        on_problem: Callable[[str, DocumentError], object] | None = None,
        on_progress: Callable[[Progress], object] | None = None,
        notices: Notices | None = None,
        **reading: object,
    ) -> TextClassifier:
        """Learn from the labelled documents of a path or several, as `nbtext train` does; forgets what was learnt before.

        ``reading`` has parameters of `nbtext.settings.READING`. ``jobs`` processes count, 0 for as many as there are processors, or the cluster of a Dask
        ``scheduler``. Documents that cannot be read are passed to ``on_problem`` with their names and left out; with ``on_error="fail"`` the first
        raises `DocumentError`. ``on_progress`` and ``notices`` are those of `nbtext.corpus.collection.Corpus`. Raises `UsageError` if there is not one
        document, and `PathError` for a path that cannot be read.
        """
        from nbtext.corpus.collection import Corpus, ignore
        from nbtext.corpus.document import Notices
        from nbtext.corpus.reading import resolve_reading
        from nbtext.model.parallel_corpus import count_corpus
        from nbtext.model.python_input import to_path_names

        given = Reading.from_values({**self.reading, "document": "auto", **reading})
        corpus = Corpus(
            to_path_names(paths),
            given,
            True,
            (),
            on_error,
            on_problem or ignore,
            on_progress,
            notices or Notices(),
        )
        before = self.reading
        self.reading = corpus.reading = resolve_reading(given, corpus.paths, labelled=True)
        try:
            check_word_settings(self.settings)
            self._looked_up()  # validate early: fail before counting, not after
            self.learn(count_corpus(self.analysis, corpus, jobs, scheduler).counts)
        except BaseException:
            self.reading = before
            raise
        return self._replace(replace(self.fitted, label_kind="text"))

    def answer_corpus(
        self,
        paths: Paths,
        rule: DecisionRule = DecisionRule(),
        *,
        min_probability: float | None = None,
        min_typicality: float = 0.0,
        top_k: int = 0,
        jobs: int = 1,
        on_error: OnError = "record",
        on_problem: Callable[[str, DocumentError], object] | None = None,
        on_progress: Callable[[Progress], object] | None = None,
        notices: Notices | None = None,
        **reading: object,
    ) -> Iterator[Answer]:
        """Yield the answer to each document of a path or several, in order, as `nbtext classify` does.

        Documents are read as the training documents were, but for parameters of `nbtext.settings.READING` in ``reading``. One that cannot be read has
        an answer with its problem; with ``on_error="skip"`` it is left out and passed to ``on_problem``, with ``"fail"`` it raises `DocumentError`.
        The other arguments are those of `fit_corpus` and `answer`. Where a file breaks off, `PathError` is raised after the answers to the documents
        before.
        """
        from nbtext.corpus.collection import Corpus, ignore
        from nbtext.corpus.document import Notices
        from nbtext.corpus.reading import choose_reading
        from nbtext.model.parallel_corpus import score_corpus
        from nbtext.model.python_input import to_path_names

        names = to_path_names(paths)
        given = choose_reading(self.reading, names, reading)
        corpus = Corpus(
            names,
            given,
            False,
            (),
            on_error,
            on_problem or ignore,
            on_progress,
            notices or Notices(),
        )
        scores = score_corpus(self.fitted, corpus, jobs)
        rule = rule.at_least(min_probability)
        yield from iter_answers(
            scores, self.fitted, rule, min_typicality=min_typicality, top_k=top_k
        )
        corpus.raise_deferred()

    def partial_fit(
        self,
        texts: Iterable[Text],
        labels: Iterable[Label],
        sample_weight: Iterable[float] | None = None,
        *,
        classes: Iterable[object] | None = None,
    ) -> TextClassifier:
        """Learn from more texts, weighed as in `fit`; new classes and terms are welcome. The result is that of one `fit` with all of them.

        Raises `UsageError` for a classifier that needs all documents at once, for labels of another type, and for a label that is not in ``classes``,
        if they are given. A class without documents is none of the model.
        """
        self._require_additive()
        if classes is not None:
            from nbtext.model.python_input import validate_labels

            labels = validate_labels(labels, classes)
        if self._fitted is None:
            return self.fit(texts, labels, sample_weight)
        return self.learn(
            self.counts
            + count_labelled_documents(self._labelled(texts, labels, sample_weight), self.analysis)
        )

    def forget(
        self,
        texts: Iterable[Text],
        labels: Iterable[Label],
        sample_weight: Iterable[float] | None = None,
    ) -> TextClassifier:
        """Subtract texts, with the weights that they were learnt with; the statistics are as if they had never been learnt.

        Raises `UsageError` if one was not, and then subtracts none.
        """
        self._require_additive()
        gone = count_labelled_documents(
            self._labelled(texts, labels, sample_weight), self.analysis, keep_all=True
        )
        return self.learn(forget_documents(self.counts, gone))

    def learn(
        self,
        counts: CorpusCounts | None = None,
        pool: UnlabelledDocuments | None = None,
        **changes: object,
    ) -> TextClassifier:
        """Learn from the counts of labelled documents, and from a pool of unlabelled ones; forget what was learnt before.

        `nbtext.counts.counting.count` makes counts, under these settings; they add and subtract. Without ``counts`` learn again from the labelled documents
        that were learnt before, or with seed words and a pool from none. ``changes`` are parameters that do not count otherwise.
        Raises `UsageError` for a classifier that needs all documents if the counts do not have them, and if anything is wrong, and leaves the model as it was.
        """
        from nbtext.model.training import fit_parameters, resolve_smoothing_terms

        settings = _changed(self.settings, changes)
        stop_list = self.analysis.stop_list
        by_term = resolve_smoothing_terms(Analysis(settings, stop_list))
        if (
            counts is None
            and pool is not None
            and self.seeds
            and not (self._fitted and self.counts.labelled_statistics.n_documents)
        ):
            from nbtext.model.unlabelled import fit_seeds_only

            counts, learnt = fit_seeds_only(self.seeds, by_term)
        else:
            if counts is None:
                counts = self.counts
                if self.fitted.parameters.unlabelled_summary is not None:
                    from nbtext.model.unlabelled import remove_unlabelled_layers

                    counts = remove_unlabelled_layers(counts)
            documents = counts.documents if needs_documents(settings) else None
            if not counts.documents:
                require_additive(settings)
            counts = counts.with_log_sums(enabled=settings.needs_log_sums)
            counts = replace(
                counts if documents else counts.drop_derived_layers().reduce_unit(),
                documents=NO_DOCUMENTS,
            )
            if self.seeds and not counts.is_closed:
                counts = counts.widen(build_seed_vocabulary(self.seeds))[0]
            learnt = fit_parameters(counts, by_term, documents, seeds=self.seeds)
        if pool is not None:
            from nbtext.model.unlabelled import fit_unlabelled

            counts, learnt = fit_unlabelled(counts, by_term, learnt, pool)
        label_kind = self._fitted.label_kind if self._fitted else "text"
        return self._replace(
            FittedModel(settings, stop_list, counts, learnt, list_versions(settings), label_kind)
        )

    def begin_with(self, seeds: Sequence[SeedTerm]) -> TextClassifier:
        """Add seed words: their pseudo-counts are added wherever the model is estimated, and counts stay as they are.

        Raise `UsageError` for settings without such a prior, and for a word that no document could hold.
        """
        from nbtext.model.training import resolve_seed_terms

        require_compatible_settings(self.settings, SEED_WORDS)
        self.seeds = resolve_seed_terms(seeds, self.analysis)
        return self if self._fitted is None else self.learn()

    def predict(self, texts: Iterable[Text]) -> NDArray[Any]:
        """Return the most probable class of each text, shape (n_docs,), of equal ones the first; None where maximum likelihood rules out every class.

        Of a model of several labels return a tuple of labels for each, or a matrix of 0 and 1 if `fit` was given one.
        """
        if not self.fitted.posterior_type.is_exclusive:
            members = self._members(texts)
            if self._indicator and set(self.classes_).issubset(self._indicator.columns):
                return self._indicator.to_matrix(members, self.classes_)
            return np.fromiter(
                (tuple(self.classes_[row].tolist()) for row in members), object, len(members)
            )
        posterior = self.fitted.posterior_type(self.predict_log_proba(texts))
        best = posterior.decide(DecisionRule()).predictions
        answers = self.classes_[best]
        unanswered = best == NO_PREDICTION
        return np.where(unanswered, np.array(None), answers) if unanswered.any() else answers

    def predict_proba(self, texts: Iterable[Text]) -> NDArray[np.float64]:
        """Return p(C_k | d), shape (n_docs, n_classes), in the order of `classes_`; nan where maximum likelihood rules out every class."""
        return np.exp(self.predict_log_proba(texts))

    def predict_log_proba(self, texts: Iterable[Text]) -> NDArray[np.float64]:
        """Return log p(C_k | d), shape (n_docs, n_classes), in nats."""
        return self._stacked(texts, lambda scored: scored.log_posterior)

    def joint_log_likelihood(self, texts: Iterable[Text]) -> NDArray[np.float64]:
        """Return log p(d, C_k) before calibration, shape (n_docs, n_classes), in nats."""
        return self._stacked(texts, lambda scored: scored.scores)

    def answer(
        self,
        texts: Iterable[Text],
        rule: DecisionRule = DecisionRule(),
        *,
        min_probability: float | None = None,
        min_typicality: float = 0.0,
        top_k: int = 0,
        sets: SetPredictor | None = None,
    ) -> list[Answer]:
        """Return the answer to each text under a decision rule: its class, or the reason to abstain, as `nbtext classify` prints it.

        With ``min_probability`` abstain where the class is less probable, as with a rule that says so. Also abstain where less than a share ``min_typicality`` of the training documents of about the same length are less likely per token. An answer
        has the ``top_k`` most probable classes, or with ``sets``, a rule of `nbtext.guarantees.prediction_sets`, those of the set. Classes are named as in
        `classes`. Raises `UsageError` if the model does not know what is typical.
        """
        scores = score_documents(self.fitted, self._documents(texts))
        return list(
            iter_answers(
                scores,
                self.fitted,
                rule.at_least(min_probability),
                min_typicality=min_typicality,
                top_k=top_k,
                sets=sets,
            )
        )

    def explain(self, texts: Iterable[Text], against: str | None = None) -> list[ExplainedDocument]:
        """Return what each word of each text adds to the log odds of its class over the runner-up, as `nbtext explain` prints it.

        With ``against`` the class is compared with this one. Raises `UsageError` if there is no such class, or only one.
        """
        from nbtext.explain.explanation import Explainer

        return list(Explainer(self.fitted, against).explain(self._documents(texts)))

    def score(
        self,
        texts: Iterable[Text],
        labels: Iterable[Label],
        sample_weight: Sequence[float] | None = None,
    ) -> float:
        """Return the share of texts, or of their weights, whose class or set of labels is right."""
        from nbtext.model.python_input import extract_rows

        given = list(extract_rows(texts, self.reading))
        truth = self._labelled(given, labels)
        names = np.array(self.classes, object)[self._given_classes.order]
        pairs = zip(self._members(given), truth, strict=True)
        return float(
            np.average(
                [
                    tuple(sorted(names[row])) == list_labels(document.label or "")
                    for row, document in pairs
                ],
                weights=sample_weight,
            )
        )

    def save(
        self, path: str, ledger: bytes = b"", before: Callable[[Path], None] | None = None
    ) -> None:
        """Write the model file, atomically, with ``ledger`` and ``before`` as `write_model_file` takes them; first run the checks of the loader.

        Raises `PathError` if it cannot be written, and `RuntimeError` if the loader would refuse it, which is a defect of nbtext. In both
        cases the old file stays.
        """
        from nbtext.store import write_model_file

        settings, arrays = encode_model(replace(self.fitted, label_kind=self._kind))
        try:
            decode_model(
                settings, {name: array for name, array in arrays.items() if array.size}
            )  # a file leaves empty arrays out
        except ModelError as problem:
            raise RuntimeError(f"not written, because it would not load: {problem}") from problem
        write_model_file(path, settings, arrays, ledger, before)

    @classmethod
    def load(cls, path: str) -> TextClassifier:
        """Read a model file; raises `ModelError` if it is missing, damaged, of a format that is not read, or no model."""
        from nbtext.store import read_model_file

        settings, arrays = read_model_file(path)
        try:
            fitted = decode_model(settings, arrays)
        except ModelError as problem:
            problem.where = path
            raise
        model = cls()
        model._stop_list = fitted.stop_list
        model.seeds = fitted.parameters.weights.seeds
        return model._replace(fitted)

    @property
    def classes(self) -> list[str]:
        """The names of the classes, sorted: the order of all arrays by class but those of `classes_`."""
        return self.fitted.classes

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes as labels of the type that `fit` was given, sorted, shape (n_classes,): the columns of probabilities."""
        return self._given_classes.classes

    @property
    def fitted(self) -> FittedModel:
        """All that was learnt. Raises `UsageError` before training."""
        if self._fitted is None:
            raise not_trained_error()
        return self._fitted

    @property
    def counts(self) -> CorpusCounts:
        """Class statistics and sample. Raises `UsageError` before training."""
        return self.fitted.counts

    @property
    def reading(self) -> Reading:
        """How documents are read; `save` writes it with the model."""
        return self.settings.reading

    @reading.setter
    def reading(self, reading: Reading) -> None:
        self.settings = replace(self.settings, reading=reading)
        self._fitted = self._fitted and replace(self._fitted, settings=self.settings)

    @property
    def analysis(self) -> Analysis:
        """How documents are counted to be learnt; raises `UsageError` or `PathError` if there are no stop words of the name in the settings."""
        if self._stop_list is None:
            self._stop_list = list(Analysis.from_settings(self.settings).stop_list)
        return Analysis(self.settings, self._stop_list)

    @cached_property
    def _given_classes(self) -> TypedClasses:
        from nbtext.model.python_input import TypedClasses

        return TypedClasses.from_names(self.classes, self.fitted.label_kind)

    @property
    def _kind(self) -> str:
        """The type of the labels that go with those learnt."""
        kind = self.fitted.label_kind
        return kind if kind == "text" else self._given_classes.kind

    def _stacked(self, texts: Iterable[Text], rows_of: Callable[[ScoredTexts], Floats]) -> Floats:
        """Return rows of all texts, with columns in the order of `classes_`. Without records of documents: these take a third of the time of short texts."""
        from nbtext.model.python_input import iter_contents

        found = split_into_blocks(
            iter_contents(texts, self.reading),
            lambda content: len(serialise_document(*content)),
            self.fitted.max_block_documents,
        )
        rows = [rows_of(self.fitted.score(*zip(*block, strict=True))) for block in found]
        return (
            np.concatenate(rows)[:, self._given_classes.order]
            if rows
            else np.empty((0, self.fitted.statistics.n_classes))
        )

    def _members(self, texts: Iterable[Text]) -> Mask:
        """Return which classes each text gets, in the order of `classes_`."""
        log_posterior = self.predict_log_proba(texts)
        return (
            self.fitted.posterior_type(log_posterior)
            .predict(DecisionRule())
            .to_mask(log_posterior.shape[1])
        )

    def _documents(self, texts: Iterable[Text]) -> Iterator[Document]:
        from nbtext.corpus.document import Document
        from nbtext.model.python_input import iter_contents

        return (
            Document(str(place), None, *content)
            for place, content in enumerate(iter_contents(texts, self.reading))
        )

    def _labelled(
        self, texts: Iterable[Text], labels: Iterable[Label], weights: Iterable[float] | None = None
    ) -> Iterator[Document]:
        """Return texts with labels of the type of those learnt."""
        from nbtext.model.python_input import InputLabels, iter_labelled_documents

        return iter_labelled_documents(
            texts, InputLabels(labels, self._kind), self.reading, weights
        )

    def _require_additive(self) -> None:
        require_additive(self.settings, None if self._fitted is None else self.counts)

    def _looked_up(self) -> Settings:
        from nbtext.model.training import resolve_smoothing_terms

        return resolve_smoothing_terms(self.analysis)

    def _replace(self, fitted: FittedModel | None) -> TextClassifier:
        self._fitted = fitted
        if fitted is not None:
            self.settings = fitted.settings
        self.__dict__.pop("_given_classes", None)
        return self

    _estimator_type = "classifier"
    """For scikit-learn before 1.6."""

    def __sklearn_tags__(self) -> Tags:
        """Return tags: a classifier of texts, or with attributes of mappings, that needs one label for each."""
        from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags

        return Tags(
            estimator_type="classifier",
            target_tags=TargetTags(required=True, one_d_labels=True),
            classifier_tags=ClassifierTags(multi_label=True),
            input_tags=InputTags(one_d_array=True, two_d_array=False, string=True, dict=True),
        )

    def set_fit_request(self, *, sample_weight: bool | str | None = None) -> TextClassifier:
        """Say whether scikit-learn's tools pass on ``sample_weight`` to `fit` and `partial_fit`, or under which name."""
        routing = TextClassifier().get_metadata_routing()
        for method in (routing.fit, routing.partial_fit):
            method.add_request(param="sample_weight", alias=sample_weight)
        self._metadata_request = routing  # an attribute that scikit-learn's `clone` copies
        return self

    def get_metadata_routing(self) -> Any:  # noqa: ANN401 - scikit-learn has no types
        """Return what `set_fit_request` said, for scikit-learn."""
        from sklearn.utils.metadata_routing import MetadataRequest

        return getattr(self, "_metadata_request", None) or MetadataRequest(
            owner=type(self).__name__
        )

    def __sklearn_is_fitted__(self) -> bool:
        """Return whether the model is trained."""
        return self._fitted is not None


def not_trained_error() -> UsageError:
    """Return the error of a model that is asked before it has learnt; where scikit-learn is imported, it is also a `NotFittedError` of it."""
    kind: type[UsageError] = UsageError
    if "sklearn" in sys.modules:
        from sklearn.exceptions import NotFittedError

        # scikit-learn has no types.
        class NotTrainedError(UsageError, NotFittedError):  # type: ignore[misc]
            pass

        kind = NotTrainedError
    return kind("the model is not trained", hint="call fit or load first")


def _changed(settings: Settings, changes: Mapping[str, object]) -> Settings:
    """Return settings with some parameters changed, by the names of `TextClassifier.get_params`; raises `UsageError`."""
    beside = {name: changes[name] for name in NON_TEXT_SETTINGS if name in changes}
    others = {name: value for name, value in changes.items() if name not in NON_TEXT_SETTINGS}
    reading = Reading.from_values({**settings.reading, **beside})
    return replace(Settings.from_values({**settings, **others}), reading=reading)

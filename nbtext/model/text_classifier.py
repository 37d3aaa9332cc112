"""`TextClassifier`, the classifier for Python and for all commands.

It trains, predicts, saves and loads, with the conventions of scikit-learn.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from nbtext.compatibility import SEED_WORDS, needs_documents, require_compatible_settings
from nbtext.counts.corpus_counts import CorpusCounts, forget_documents
from nbtext.counts.counting import Analysis, check_word_settings, count_labelled_documents
from nbtext.counts.documents import NO_DOCUMENTS
from nbtext.counts.statistics import build_seed_vocabulary
from nbtext.counts.vocabulary import display_term
from nbtext.document_fields import NON_TEXT_SETTINGS, serialise_document
from nbtext.errors import DocumentError, ModelError, UsageError, format_quantity
from nbtext.fitted_model import (
    FittedModel,
    FittedParameters,
    ScoredTexts,
    UnseenChanges,
    require_additive,
)
from nbtext.model.keyword_hints import hint_keywords
from nbtext.model.state import (
    compute_counts_digest,
    decode_model,
    encode_model,
    list_versions,
)
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
    from nbtext.explain.explanation import Explanations
    from nbtext.metrics.results import CrossValidationResult, EvaluationResult
    from nbtext.model.python_input import IndicatorFormat, Label, Paths, Text, TypedClasses
    from nbtext.model.unlabelled import UnlabelledDocuments
    from nbtext.prediction.posterior import ClassSets
    from nbtext.store.model_file import StoredModel
    from nbtext.type_names import Floats, Ints, Mask


class TextClassifier:
    """Classifier of texts by the counts of their terms in each class.

    Parameters
    ----------
    classifier : {"multinomial", "bernoulli", "complement", "gaussian", "logistic", "average"}
        Kind of model.
    language : str
        Language of stop words and stemmer, such as "english".
    stop_words : str, list of str or None
        Words to ignore: "default" (the list of the language), "auto" (the same list, unless
        held-out documents are predicted clearly better with these words, or not worse if there are
        fewer than 50), "none" or None, another language, the path of a file of words, or the words.
    stemmer : str
        "snowball" (of the language), "none", another language, or one of nltk's, such as "porter".
    encoded_lines : {"drop", "keep"}
        Whether to drop lines of encoded data, such as base64.
    unspaced : {"auto", "pairs", "words"}
        How to count scripts without spaces: pairs of adjacent characters, or words between spaces.
        "auto" is "pairs", unless held-out documents are predicted clearly better with words, or
        with both.
    surface_forms : bool
        Also count words before stemming, to show them instead of stems. Predictions do not change.
    ngrams : int
        Also count sequences of up to this many adjacent terms, from 1 to 10.
    char_ngrams : int or str or None
        Also count character sequences in each word: their length in characters, or a range such as
        "3-5".
    min_df : int
        Ignore terms in fewer documents.
    max_df : float
        Ignore terms in a larger proportion of documents, from 0 to 1.
    top : int or None
        Use only this many terms, the most informative ones.
    criterion : {"mutual-information", "presence", "chi2", "log-odds"}
        Measure of information for ``top``.
    weighting : {"counts", "binary", "log", "tfidf"}
        Weight of a term in a document.
    smoothing : {"auto", "evidence", "leave-one-out"}, float, two floats or mapping
        Pseudo-count added to each count: the one of greatest evidence, the one that makes held-out
        documents most probable, a number ("laplace" is 1, "jeffreys" 0.5), or numbers by
        term, in which "*" means all other terms.
        "auto" is "evidence", unless held-out documents are predicted clearly better with another.
    prior_shape : {"symmetric", "background"}
        Dirichlet prior: the same for all terms, or in proportion to the whole corpus.
    estimate : {"mean", "map", "ml"}
        Estimate of term probabilities: mean or mode of the posterior, or maximum likelihood, also
        "mle".
    members : str
        For "average": the models to combine, such as "multinomial:log+logistic". After a first
        colon comes a weighting other than counts, after a second a pseudo-count.
        "evidence:multinomial:0.1+multinomial:1" weights models of the same counts by p(m | data);
        in "evidence:multinomial:0.1*3+multinomial:1" the first has three times the prior weight.
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
        Class probabilities: proportions of documents, equal, "smoothed:A" (A more documents in each
        class), or weights by label.
    class_weight : {"balanced"}, mapping or None
        "balanced" weights documents so that all classes have the same weight: the class prior is
        then uniform, and probabilities assume that all classes are equally frequent. A mapping has
        the weight of the documents of each label, 1 for labels without one.
    calibration : {"auto", "none"}
        Whether to calibrate probabilities on held-out documents of the sample.
    keep_documents : int
        Number of training documents that the model stores as term counts; 0 for none.
    tag_fields : list of str or None
        Names of fields, or one text with commas between them. A word in a field is a separate term
        (subject:offer). Each document is then a mapping with these keys, and "text" for its text.
    categorical, count, numeric : list of str or None
        Names of attributes, or one text with commas between them: further keys of the mapping.

    Raises
    ------
    UsageError
        For a wrong value; it is a ValueError.

    Examples
    --------
    >>> model = TextClassifier(stemmer="none", stop_words="none", smoothing=1)
    >>> texts = [
    ...     "Chinese Beijing Chinese",
    ...     "Chinese Chinese Shanghai",
    ...     "Chinese Macao",
    ...     "Tokyo Japan Chinese",
    ... ]
    >>> model = model.fit(texts, ["yes", "yes", "yes", "no"])
    >>> model.predict(["Chinese Chinese Chinese Tokyo Japan"])
    array(['yes'], dtype=object)
    >>> model
    TextClassifier(stop_words='none', stemmer='none', smoothing=1.0)
    """

    @hint_keywords
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
        criterion: CriterionName = "mutual-information",
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
        keep_documents: int = 4096,
        tag_fields: str | Sequence[str] | None = None,
        categorical: str | Sequence[str] | None = None,
        count: str | Sequence[str] | None = None,
        numeric: str | Sequence[str] | None = None,
    ) -> None:
        # So far, the local variables are the arguments.
        parameters = {name: value for name, value in locals().items() if name != "self"}
        self.settings = _replace_parameters(Settings(), parameters)
        self._fitted: FittedModel | None = None
        """None until the model is trained."""
        self._stop_list: Sequence[str] | None = None
        """The stop words of `settings`. None until `analysis` needs them."""
        self._indicator: IndicatorFormat | None = None
        """Format of the labels in the last `fit`, if they were a matrix of 0 and 1."""
        self.seeds: Sequence[SeedTerm] = ()
        """Terms whose pseudo-counts are added to the counts of a class."""

    def __repr__(self) -> str:
        """Return a call with the parameters that differ from the defaults."""
        defaults = TextClassifier().get_params()
        changes = [
            f"{name}={value!r}"
            for name, value in self.get_params().items()
            if value != defaults[name]
        ]
        return f"{type(self).__name__}({', '.join(changes)})"

    def _repr_html_(self) -> str:
        """Return the parameters and the size of the training corpus as HTML, for a notebook."""
        from html import escape

        status = "not trained"
        if self._fitted:
            n_documents = self.counts.labelled_statistics.n_documents
            status = (
                f"{format_quantity(len(self.classes), 'class')}, "
                f"{format_quantity(n_documents, 'document')}"
            )
        return f"<pre>{escape(repr(self))}\n{status}</pre>"

    # The signature is that of scikit-learn.
    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: FBT001, FBT002
        """Return the parameters by name."""
        del deep
        return {**self.settings, **{kind: self.reading[kind] for kind in NON_TEXT_SETTINGS}}

    def set_params(self, **parameters: object) -> TextClassifier:
        """Change parameters, and estimate a trained model again from its counts.

        If the model would count documents differently, or needs all documents, it is untrained
        afterwards. Raise `UsageError` for a wrong value or an unknown name; the model is then
        unchanged.
        """
        settings = _replace_parameters(self.settings, parameters)
        if self._fitted is not None and self._can_keep_counts(settings):
            return self.learn(self.counts, pool=None, **parameters)
        if self.seeds:
            raise UsageError(
                "seed words are terms of the settings that they were given with",
                hint="set the parameters first",
            )
        self._stop_list = None
        self._replace_fitted(None)
        self.settings = settings
        return self

    def _can_keep_counts(self, settings: Settings) -> bool:
        """Return whether a model with other settings can be estimated from the counts."""
        if needs_documents(settings) or self.settings.reading != settings.reading:
            return False
        if any(self.settings[name] != settings[name] for name in COUNTING_NAMES):
            return False
        return not settings.needs_log_sums or self.counts.table.cell_logs is not None

    def fit(
        self,
        texts: Iterable[Text],
        labels: Iterable[Label],
        sample_weight: Iterable[float] | None = None,
    ) -> TextClassifier:
        """Train on texts (str, or bytes in UTF-8) and their classes, one for each text.

        Earlier training is discarded. Labels are str, int, float or bool, all of one type. For a
        multi-label model pass lists of labels, or a matrix of 0 and 1 (dense, sparse or a data
        frame) with one column per label. ``sample_weight`` has the weight of each text, rounded to
        thousandths: a document of weight 2 counts as two, one of weight 0 is ignored.

        Raise `UsageError` for a weight that is negative or not a number.
        """
        from nbtext.model.python_input import InputLabels, iter_labelled_documents

        input_labels = InputLabels(labels)
        self._check_smoothing_terms()  # before the texts are counted, which takes long
        documents = iter_labelled_documents(texts, input_labels, self.reading, sample_weight)
        self.learn(count_labelled_documents(documents, self.analysis))
        self._indicator = input_labels.indicator
        label_kind = input_labels.kind or "text"  # None if all label sets are empty
        return self._replace_fitted(replace(self.fitted, label_kind=label_kind))

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
        """Train on the labelled documents of one or more paths, as `nbtext train` does.

        Earlier training is discarded. ``reading`` has parameters of `nbtext.settings.READING`.
        ``jobs`` processes count (0: one per processor), or the cluster of a Dask ``scheduler``.
        Unreadable documents are skipped and passed to ``on_problem`` with their names; with
        ``on_error="fail"`` the first raises `DocumentError`. ``on_progress`` and ``notices`` are
        arguments of `nbtext.corpus.collection.Corpus`.

        Raise `UsageError` if there are no documents, and `PathError` for an unreadable path.
        """
        from nbtext.corpus.collection import Corpus, ignore
        from nbtext.corpus.detection.formats import resolve_reading
        from nbtext.corpus.document import Notices
        from nbtext.model.parallel_corpus import count_corpus
        from nbtext.model.python_input import to_path_names

        path_names = to_path_names(paths)
        requested_reading = Reading.from_values({**self.reading, "document": "auto", **reading})
        corpus = Corpus(
            path_names,
            resolve_reading(requested_reading, path_names, labelled=True),
            labelled=True,
            on_error=on_error,
            on_problem=on_problem or ignore,
            on_progress=on_progress,
            notices=notices or Notices(),
        )
        old_reading = self.reading
        self.reading = corpus.reading
        try:
            check_word_settings(self.settings)
            self._check_smoothing_terms()  # before the corpus is counted, which takes long
            counted = count_corpus(self.analysis, corpus, jobs, scheduler)
            self.learn(counted.counts)
        except BaseException:  # the model stays as it was
            self.reading = old_reading
            raise
        return self._replace_fitted(replace(self.fitted, label_kind="text"))

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
        """Yield the answer to each document of one or more paths, in order, as `nbtext classify`.

        Documents are read like the training documents, except for parameters of
        `nbtext.settings.READING` in ``reading``. An unreadable document has an answer with its
        problem; with ``on_error="skip"`` it is skipped and passed to ``on_problem``, with
        ``on_error="fail"`` it raises `DocumentError`. The other arguments are the arguments of
        `fit_corpus` and `predict_records`. If a file ends too early, `PathError` is raised after
        the answers to the documents before the end.
        """
        from nbtext.corpus.collection import Corpus, ignore
        from nbtext.corpus.detection.formats import choose_reading
        from nbtext.corpus.document import Notices
        from nbtext.model.parallel_corpus import score_corpus
        from nbtext.model.python_input import to_path_names

        path_names = to_path_names(paths)
        corpus = Corpus(
            path_names,
            choose_reading(self.reading, path_names, reading),
            labelled=False,
            on_error=on_error,
            on_problem=on_problem or ignore,
            on_progress=on_progress,
            notices=notices or Notices(),
        )
        yield from iter_answers(
            score_corpus(self.fitted, corpus, jobs),
            self.fitted,
            rule.with_min_probability(min_probability),
            min_typicality=min_typicality,
            top_k=top_k,
        )
        corpus.raise_deferred()

    def partial_fit(
        self,
        texts: Iterable[Text],
        labels: Iterable[Label],
        sample_weight: Iterable[float] | None = None,
        *,
        classes: Iterable[object] | None = None,
        quick: bool = False,
    ) -> TextClassifier:
        """Add texts, weighted as in `fit`, to the training documents.

        The texts may have new classes and terms. The model is then the same as after one `fit` with
        all texts. Names in ``classes`` without documents are not added to the model. ``quick``
        updates the counts, and chooses no parameter again (see `recount`).

        Raise `UsageError` for a classifier that needs all documents at once, for labels of another
        type, and for a label that is not in ``classes``, if they are set.
        """
        self._require_additive()
        if classes is not None:
            from nbtext.model.python_input import validate_labels

            labels = validate_labels(labels, classes)
        if self._fitted is None:
            return self.fit(texts, labels, sample_weight)
        documents = self._label_documents(texts, labels, sample_weight)
        added = count_labelled_documents(documents, self.analysis)
        if quick:
            n_added = added.labelled_statistics.n_documents
            return self.recount(self.counts.with_sample_room() + added, n_added)
        return self.learn(self.counts + added)

    def forget(
        self,
        texts: Iterable[Text],
        labels: Iterable[Label],
        sample_weight: Iterable[float] | None = None,
        *,
        quick: bool = False,
    ) -> TextClassifier:
        """Remove texts, with the weights that they were added with, from the training documents.

        The statistics are as if the texts had never been added. ``quick`` is as in `partial_fit`.
        Raise `UsageError` if a text is not in the model; no text is removed then.
        """
        self._require_additive()
        documents = self._label_documents(texts, labels, sample_weight)
        removed = count_labelled_documents(documents, self.analysis, keep_all=True)
        counts = forget_documents(self.counts, removed)
        if quick:
            return self.recount(counts, removed.labelled_statistics.n_documents)
        return self.learn(counts)

    def recount(self, counts: CorpusCounts, n_changed: float) -> TextClassifier:
        """Replace the counts of the model, and keep the parameters that training chose.

        These are smoothing, stop words, terms of ``top``, calibration, typicality, and weights of
        the members of an average. ``counts`` differ from the present counts by ``n_changed``
        documents. The next `learn` chooses again. If the counts become equal to the counts that the
        parameters were chosen from, the model becomes the same as then.

        Raise `UsageError`, and change nothing, if the parameters do not apply to the counts.
        """
        from nbtext.model.training import keep_parameters

        old = self.fitted
        unseen = old.parameters.unseen or UnseenChanges(0, compute_counts_digest(old.counts))
        unseen = unseen._replace(documents=unseen.documents + n_changed)
        counts = self._prepare_counts(counts, self.settings)
        parameters = keep_parameters(old, counts)
        is_seen = compute_counts_digest(counts) == unseen.counts
        parameters = replace(parameters, unseen=None if is_seen else unseen)
        changed = replace(
            old,
            settings=self.settings,
            counts=counts,
            parameters=parameters,
            written_by=list_versions(self.settings),
            fingerprint=None,
        )
        return self._replace_fitted(changed)

    def learn(
        self,
        counts: CorpusCounts | None = None,
        pool: UnlabelledDocuments | None = None,
        **changes: object,
    ) -> TextClassifier:
        """Train on the counts of labelled documents, and on a pool of unlabelled documents.

        `nbtext.counts.counting.count_labelled_documents` makes counts for these settings, which can
        be added and subtracted. Without ``counts``, train again on the labelled documents of the
        model. A new model with seed words and a pool needs no labelled documents. ``changes`` are
        parameters that do not change how documents are counted.

        Raise `UsageError` for a wrong value, or for a classifier that needs all documents if the
        counts do not have them; the model is then unchanged.
        """
        from nbtext.model.training import resolve_smoothing_terms

        settings = _replace_parameters(self.settings, changes)
        stop_list = self.analysis.stop_list
        term_settings = resolve_smoothing_terms(Analysis(settings, stop_list))
        has_seeds_and_pool = bool(self.seeds) and pool is not None
        if has_seeds_and_pool and counts is None and not self._has_labelled_documents:
            from nbtext.model.unlabelled import fit_seeds_only

            counts, parameters = fit_seeds_only(self.seeds, term_settings)
        else:
            counts, parameters = self._fit_labelled(counts, settings, term_settings)
        if pool is not None:
            from nbtext.model.unlabelled import fit_unlabelled

            counts, parameters = fit_unlabelled(counts, term_settings, parameters, pool)
        label_kind = "text" if self._fitted is None else self._fitted.label_kind
        versions = list_versions(settings)
        return self._replace_fitted(
            FittedModel(settings, stop_list, counts, parameters, versions, label_kind)
        )

    @property
    def _has_labelled_documents(self) -> bool:
        if self._fitted is None:
            return False
        return bool(self.counts.labelled_statistics.n_documents)

    def _fit_labelled(
        self, counts: CorpusCounts | None, settings: Settings, term_settings: Settings
    ) -> tuple[CorpusCounts, FittedParameters]:
        """Return the counts to store and the parameters of a model of labelled documents.

        If ``counts`` is None, use the counts of this model. ``term_settings`` are ``settings`` with
        pseudo-counts by term.
        """
        from nbtext.model.training import fit_parameters

        if counts is None:
            counts = self.counts
            if self.fitted.parameters.unlabelled_summary is not None:
                from nbtext.model.unlabelled import remove_unlabelled_layers

                counts = remove_unlabelled_layers(counts)
        documents = counts.documents if needs_documents(settings) else None
        if not counts.documents:  # the model can only be estimated from the table
            require_additive(settings)
        counts = self._prepare_counts(counts.trim_sample(), settings, keeps_layers=bool(documents))
        return counts, fit_parameters(counts, term_settings, documents, seeds=self.seeds)

    def _prepare_counts(
        self, counts: CorpusCounts, settings: Settings, *, keeps_layers: bool = False
    ) -> CorpusCounts:
        """Return the counts to store. A classifier that needs documents keeps layers and unit."""
        counts = counts.with_log_sums(enabled=settings.needs_log_sums)
        if not keeps_layers:
            counts = counts.drop_derived_layers().reduce_unit()
        counts = replace(counts, documents=NO_DOCUMENTS)
        if self.seeds and not counts.is_closed:
            counts, _, _ = counts.widen(build_seed_vocabulary(self.seeds))
        return counts

    def begin_with(self, seeds: Sequence[SeedTerm]) -> TextClassifier:
        """Set seed words, whose pseudo-counts are added to the counts; train a trained model again.

        Raise `UsageError` for settings that do not support seed words, and for a word that is not a
        term in any document.
        """
        from nbtext.model.training import resolve_seed_terms

        require_compatible_settings(self.settings, SEED_WORDS)
        self.seeds = resolve_seed_terms(seeds, self.analysis)
        if self._fitted is None:
            return self
        return self.learn()

    @hint_keywords
    def predict(self, texts: Iterable[Text]) -> NDArray[Any]:
        """Return the most probable class of each text, shape (n_docs,).

        Of equally probable classes the first is returned, and None if maximum likelihood excludes
        every class. A multi-label model returns a tuple of labels for each text, or a matrix of 0
        and 1 if `fit` was passed one.
        """
        if not self.fitted.posterior_type.is_exclusive:
            return self._predict_label_sets(texts)
        posterior = self.fitted.posterior_type(self.predict_log_proba(texts))
        class_indices = posterior.decide(DecisionRule()).predictions
        predictions = self.classes_[class_indices]
        has_no_prediction = class_indices == NO_PREDICTION
        if has_no_prediction.any():
            return np.where(has_no_prediction, np.array(None), predictions)
        return predictions

    def _predict_label_sets(self, texts: Iterable[Text]) -> NDArray[Any]:
        """Return a tuple of labels for each text, or a matrix if `fit` was passed a matrix."""
        members = self._predict_mask(texts)
        if self._indicator and set(self.classes_).issubset(self._indicator.columns):
            return self._indicator.to_matrix(members, self.classes_)
        label_sets = (tuple(self.classes_[row].tolist()) for row in members)
        return np.fromiter(label_sets, object, len(members))

    @hint_keywords
    def predict_proba(self, texts: Iterable[Text]) -> NDArray[np.float64]:
        """Return p(C_k | d), shape (n_docs, n_classes), in the order of `classes_`.

        The probabilities are nan if maximum likelihood excludes every class.
        """
        return np.exp(self.predict_log_proba(texts))

    def predict_log_proba(self, texts: Iterable[Text]) -> NDArray[np.float64]:
        """Return log p(C_k | d), shape (n_docs, n_classes), in nats."""
        return self._score_texts(texts, lambda scored: scored.log_posterior)

    def joint_log_likelihood(self, texts: Iterable[Text]) -> NDArray[np.float64]:
        """Return log p(d, C_k) before calibration, shape (n_docs, n_classes), in nats."""
        return self._score_texts(texts, lambda scored: scored.scores)

    @hint_keywords
    def predict_records(
        self,
        texts: Iterable[Text],
        rule: DecisionRule = DecisionRule(),
        *,
        min_probability: float | None = None,
        min_typicality: float = 0.0,
        top_k: int = 0,
        sets: ClassSets | None = None,
    ) -> list[Answer]:
        """Return the answer to each text: its class, or the reason to abstain.

        `nbtext classify` returns the same answers. Abstain if the class is less probable than
        ``min_probability``, and if less than a proportion ``min_typicality`` of the training
        documents of about the same length are less likely per token. An answer contains the
        ``top_k`` most probable classes, under their names as in `classes`. ``sets``, a rule of
        `nbtext.guarantees.prediction_sets`, predicts sets of classes instead of a class.

        Raise `UsageError` if the model cannot measure typicality.
        """
        return list(
            iter_answers(
                score_documents(self.fitted, self._iter_documents(texts)),
                self.fitted,
                rule.with_min_probability(min_probability),
                min_typicality=min_typicality,
                top_k=top_k,
                sets=sets,
            )
        )

    answer = predict_records
    """Alias of `predict_records`."""

    def explain(self, texts: Iterable[Text] | Text, against: str | None = None) -> Explanations:
        """Explain the class of each text by the nats that each word adds to its log odds.

        `nbtext explain` shows the same explanations. The class is compared with the runner-up, or
        with the class ``against``. The result is a list, which a notebook shows as texts with
        coloured words. A single text need not be in a list. Raise `UsageError` if the model has no
        class ``against``, or only one class.
        """
        from nbtext.explain.explanation import Explainer, Explanations
        from nbtext.model.python_input import wrap_single_text

        documents = self._iter_documents(wrap_single_text(texts))
        return Explanations(Explainer(self.fitted, against).explain(documents))

    def weights_frame(self) -> Any:  # noqa: ANN401 - pandas is optional
        """Return the weights of terms and biases of classes as a data frame of pandas.

        The columns are those of ``nbtext export``: term, class, probability, weight, term_id, and
        for tf-idf also idf. Raise `UsageError` if pandas is missing or the model is not linear.
        """
        from nbtext.model.weights import build_weights_frame

        return build_weights_frame(self.fitted)

    def score(
        self,
        texts: Iterable[Text],
        labels: Iterable[Label],
        sample_weight: Sequence[float] | None = None,
    ) -> float:
        """Return the accuracy: the weighted proportion of texts whose labels are all correct."""
        from nbtext.model.python_input import extract_rows

        rows = list(extract_rows(texts, self.reading))
        documents = self._label_documents(rows, labels)
        class_names = np.array(self.classes, object)[self._typed_classes.order]  # as in `classes_`
        is_correct = [
            tuple(sorted(class_names[members])) == list_labels(document.label or "")
            for members, document in zip(self._predict_mask(rows), documents, strict=True)
        ]
        return float(np.average(is_correct, weights=sample_weight))

    def evaluate(
        self, texts: Iterable[Text], labels: Iterable[Label], rule: DecisionRule = DecisionRule()
    ) -> EvaluationResult:
        """Return the metrics of the predictions for texts with these labels.

        They equal the metrics of `nbtext evaluate`; ``result.to_dict()`` equals its JSON, except
        that it does not report test texts in the sample. Labels that the model does not know count
        as mistakes. Raise `UsageError` if there are no texts.
        """
        # The package above this one, which imports this module.
        evaluation = import_module("nbtext.evaluation.evaluate")
        documents = self._label_documents(texts, labels)
        result: EvaluationResult = evaluation.evaluate_documents(self, documents, rule).result()
        return result

    def cross_validate(
        self,
        texts: Iterable[Text],
        labels: Iterable[Label],
        folds: int = 10,
        seed: int = 0,
        *,
        repeats: int = 1,
        groups: Iterable[object] | None = None,
        sample_weight: Iterable[float] | None = None,
        rule: DecisionRule = DecisionRule(),
        jobs: int = 1,
    ) -> CrossValidationResult:
        """Return the metrics of models with these parameters on texts that each was not trained on.

        They equal the metrics of `nbtext cross-validate` for the same documents in the same order.
        Texts with the same value in ``groups`` are in the same fold. ``sample_weight`` has weights
        for training; the metrics count every text once. This model is not changed and need not be
        trained.

        Raise `UsageError` if there are fewer texts or groups than folds.
        """
        from nbtext.model.python_input import InputLabels, iter_labelled_documents

        # The package above this one, which imports this module.
        cross_validation = import_module("nbtext.evaluation.cross_validation")
        documents = iter_labelled_documents(texts, InputLabels(labels), self.reading, sample_weight)
        result: CrossValidationResult = cross_validation.validate_texts(
            documents,
            self.analysis,
            rule,
            n_folds=folds,
            seed=seed,
            repeats=repeats,
            groups=groups,
            jobs=jobs,
        )
        return result

    def save(
        self, path: str, ledger: bytes = b"", before: Callable[[Path], None] | None = None
    ) -> None:
        """Write the model file, atomically, after a check that it can be loaded.

        ``ledger`` is stored with the model. ``before`` is called with the resolved path just before
        an old file is replaced. Raise `PathError` if the file cannot be written, and `RuntimeError`
        if it could not be loaded, which is a defect of nbtext. The old file stays in both cases.
        """
        from nbtext.store import write_model_file

        settings, arrays = encode_model(replace(self.fitted, label_kind=self._label_kind))
        stored_arrays = {name: array for name, array in arrays.items() if array.size}
        try:
            decode_model(settings, stored_arrays)
        except ModelError as problem:
            raise RuntimeError(f"not written, because it would not load: {problem}") from problem
        write_model_file(path, settings, arrays, ledger, before)

    @classmethod
    def load(cls, path: str) -> TextClassifier:
        """Read a model file; raise `ModelError` if it is missing, damaged or of another format.

        Predictions do not need the sample of documents, so it is checked when it is first used.
        """
        from nbtext.store import read_model_file

        stored = read_model_file(path)
        try:
            return cls._from_stored(stored, path)
        except ModelError as problem:
            problem.where = path
            raise

    @classmethod
    def _from_stored(cls, stored: StoredModel, path: str | None = None) -> TextClassifier:
        """Return the model of a model file; raise `ModelError` if it is malformed.

        ``path`` is as in `decode_model`.
        """
        fitted = decode_model(
            stored.settings, stored.arrays, path=path, fingerprint=stored.fingerprint
        )
        model = cls()
        model._stop_list = fitted.stop_list
        model.seeds = fitted.parameters.weights.seeds
        return model._replace_fitted(fitted)

    @property
    def classes(self) -> list[str]:
        """The names of the classes, sorted: the order of all arrays by class of the model."""
        return self.fitted.classes

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes as sorted labels of the type in `fit`, the columns of probabilities."""
        return self._typed_classes.classes

    @property
    def feature_log_prob_(self) -> NDArray[np.float64]:
        """log p(term | class) in nats, shape (n_classes, n_terms), as in scikit-learn.

        Rows are in the order of `classes_`, columns in the order of `get_feature_names_out`. The
        probability is that a token of the class is the term; for the classifier "bernoulli" that
        a document of the class contains the term. Other classifiers than "multinomial" and
        "bernoulli" have no such probabilities, so they do not have this attribute.
        """
        from nbtext.classifiers.base import get_term_probabilities
        from nbtext.language_model.dirichlet import log

        probabilities = get_term_probabilities(self.fitted.text_classifier)
        if probabilities is None:
            raise AttributeError(
                f"the classifier {self.settings.classifier!r} has no probabilities of terms"
            )
        by_term = log(probabilities.compute_probability(self._list_used_terms()))
        return by_term.T[self._typed_classes.order]

    # The signature is that of scikit-learn.
    def get_feature_names_out(self, input_features: object = None) -> NDArray[Any]:
        """Return the terms that the classifier uses, shape (n_terms,), sorted by their bytes.

        Terms are stems unless the parameter ``stemmer`` is "none". The terms of an n-gram are
        separated by spaces.
        """
        del input_features
        vocabulary = self.fitted.statistics.vocabulary
        terms = self._list_used_terms().tolist()
        names = (display_term(vocabulary.get_term(term)) for term in terms)
        return np.fromiter(names, object, len(terms))

    def _list_used_terms(self) -> Ints:
        """Return the indices of the terms of texts that the classifier uses."""
        fitted = self.fitted
        return np.flatnonzero(fitted.parameters.selected_terms & fitted.text_terms)

    @property
    def fitted(self) -> FittedModel:
        """The trained model. Raise `UsageError` before training."""
        if self._fitted is None:
            raise not_trained_error()
        return self._fitted

    @property
    def counts(self) -> CorpusCounts:
        """Class statistics and sample. Raise `UsageError` before training."""
        return self.fitted.counts

    @property
    def reading(self) -> Reading:
        """How documents are read. `save` writes it with the model."""
        return self.settings.reading

    @reading.setter
    def reading(self, reading: Reading) -> None:
        if reading == self.reading:
            return
        self.settings = replace(self.settings, reading=reading)
        if self._fitted is not None:
            # The model differs from its file now.
            self._fitted = replace(self._fitted, settings=self.settings, fingerprint=None)

    @property
    def analysis(self) -> Analysis:
        """How training documents are counted.

        Raise `UsageError` or `PathError` if the stop words of the settings cannot be found.
        """
        if self._stop_list is None:
            self._stop_list = list(Analysis.from_settings(self.settings).stop_list)
        return Analysis(self.settings, self._stop_list)

    @cached_property
    def _typed_classes(self) -> TypedClasses:
        from nbtext.model.python_input import TypedClasses

        return TypedClasses.from_names(self.classes, self.fitted.label_kind)

    @property
    def _label_kind(self) -> str:
        """The type of labels that the model accepts.

        It is "text" if files added classes of another type to a model of numbers.
        """
        if self.fitted.label_kind == "text":
            return "text"
        return self._typed_classes.kind

    def _score_texts(
        self, texts: Iterable[Text], select: Callable[[ScoredTexts], Floats]
    ) -> Floats:
        """Return the selected scores of all texts, with columns in the order of `classes_`."""
        # Not by `score_documents`, because to make documents takes a third of the time for short
        # texts.
        from nbtext.model.python_input import iter_contents

        content_blocks = split_into_blocks(
            iter_contents(texts, self.reading),
            lambda content: len(serialise_document(*content)),
            self.fitted.max_block_documents,
        )
        score_blocks = []
        for block in content_blocks:
            # Texts, and if the model has any, fields and attribute values.
            columns = zip(*block, strict=True)
            score_blocks.append(select(self.fitted.score(*columns)))
        if not score_blocks:
            return np.empty((0, self.fitted.statistics.n_classes))
        return np.concatenate(score_blocks)[:, self._typed_classes.order]

    def _predict_mask(self, texts: Iterable[Text]) -> Mask:
        """Return which classes each text gets, in the order of `classes_`, (n_docs, n_classes)."""
        log_posterior = self.predict_log_proba(texts)
        labels = self.fitted.posterior_type(log_posterior).predict(DecisionRule())
        return labels.to_mask(log_posterior.shape[1])

    def _iter_documents(self, texts: Iterable[Text]) -> Iterator[Document]:
        """Yield texts as documents, with their position as the name."""
        from nbtext.corpus.document import Document
        from nbtext.model.python_input import iter_contents

        for position, content in enumerate(iter_contents(texts, self.reading)):
            yield Document(str(position), None, *content)  # without a label

    def _label_documents(
        self, texts: Iterable[Text], labels: Iterable[Label], weights: Iterable[float] | None = None
    ) -> Iterator[Document]:
        """Return documents with labels of the type of the model."""
        from nbtext.model.python_input import InputLabels, iter_labelled_documents

        input_labels = InputLabels(labels, self._label_kind)
        return iter_labelled_documents(texts, input_labels, self.reading, weights)

    def _require_additive(self) -> None:
        require_additive(self.settings, None if self._fitted is None else self.counts)

    def _check_smoothing_terms(self) -> None:
        """Raise `UsageError` for settings that cannot be combined, or a pseudo-count of no term."""
        from nbtext.model.training import resolve_smoothing_terms

        resolve_smoothing_terms(self.analysis)

    def _replace_fitted(self, fitted: FittedModel | None) -> TextClassifier:
        """Replace the trained model and its settings, or forget it if ``fitted`` is None."""
        self._fitted = fitted
        if fitted is not None:
            self.settings = fitted.settings
        self.__dict__.pop("_typed_classes", None)  # the cached property of the old classes
        return self

    _estimator_type = "classifier"
    """For scikit-learn before 1.6."""

    def __sklearn_tags__(self) -> Tags:
        """Return tags for scikit-learn: a classifier of texts that can be multi-label."""
        from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags

        return Tags(
            estimator_type="classifier",
            target_tags=TargetTags(required=True, one_d_labels=True),
            classifier_tags=ClassifierTags(multi_label=True),
            input_tags=InputTags(one_d_array=True, two_d_array=False, string=True, dict=True),
        )

    def set_fit_request(self, *, sample_weight: bool | str | None = None) -> TextClassifier:
        """Set whether, or under which name, scikit-learn passes ``sample_weight`` to `fit`.

        The same applies to `partial_fit`.
        """
        routing = TextClassifier().get_metadata_routing()
        for method in (routing.fit, routing.partial_fit):
            method.add_request(param="sample_weight", alias=sample_weight)
        self._metadata_request = routing  # scikit-learn's `clone` copies the attribute of this name
        return self

    def get_metadata_routing(self) -> Any:  # noqa: ANN401 - scikit-learn has no types
        """Return the requests that `set_fit_request` set, for scikit-learn."""
        from sklearn.utils.metadata_routing import MetadataRequest

        request = getattr(self, "_metadata_request", None)
        return request or MetadataRequest(owner=type(self).__name__)

    def __sklearn_is_fitted__(self) -> bool:
        """Return whether the model is trained."""
        return self._fitted is not None


def model_from_joblib(header: bytes, payload: bytes) -> TextClassifier:
    """Return the model of a model file that joblib or pickle loads.

    The pickle in the file calls this function. Raise `ModelError` unless both parts are undamaged.
    """
    from nbtext.store.model_file import read_pickled_parts

    stored = read_pickled_parts(header, payload)
    return TextClassifier._from_stored(stored)  # noqa: SLF001 - as load


def not_trained_error() -> UsageError:
    """Return the error of a model that is not trained.

    If scikit-learn is imported, the error is also a `NotFittedError` of scikit-learn.
    """
    error_type: type[UsageError] = UsageError
    if "sklearn" in sys.modules:
        from sklearn.exceptions import NotFittedError

        # scikit-learn has no types.
        class NotTrainedError(UsageError, NotFittedError):  # type: ignore[misc]
            pass

        error_type = NotTrainedError
    return error_type("the model is not trained", hint="call fit or load first")


def _replace_parameters(settings: Settings, changes: Mapping[str, object]) -> Settings:
    """Return settings with changed parameters, by the names of `TextClassifier.get_params`.

    Raise `UsageError` for a wrong value or an unknown name.
    """
    training_changes = dict(changes)
    reading_changes = {
        name: training_changes.pop(name) for name in NON_TEXT_SETTINGS if name in changes
    }
    reading = Reading.from_values({**settings.reading, **reading_changes})
    return replace(Settings.from_values({**settings, **training_changes}), reading=reading)

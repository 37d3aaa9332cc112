"""Class labels that a person would take for one another.

A model in a line, and what to know of it before relying on it.

Texts and labels as they are given to `TextClassifier`: str or bytes, or with attributes mappings, in step.

What a model says of some texts.

Which versions of which packages wrote a model.

What scikit-learn asks of a classifier beyond fitting and predicting. Only the method that only scikit-learn calls imports it.

`TextClassifier`: parameters, statistics and what was learnt from them, behind scikit-learn's conventions.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from functools import cached_property, partial
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nbtext import __version__
from nbtext.attributes import KINDS, Attributes
from nbtext.classifiers.base import LinearClassifier, class_prior
from nbtext.counts.corpus_counts import CorpusCounts, forget_documents, limit_vocabulary
from nbtext.counts.counting import DocumentCounter, InTurn, count_corpus, count_documents, document_counter
from nbtext.counts.documents import DocumentSample
from nbtext.counts.matrix import TERM_WEIGHTS_AT_ONCE
from nbtext.counts.vocabulary import is_category_of
from nbtext.decision import NO_ANSWER, minimum_error
from nbtext.errors import DocumentError, ModelError, UsageError, quantity
from nbtext.model.state import State, from_plain, to_plain
from nbtext.model.training import Learnt, classifier, language_models, learn, looked_up, needs_documents, require_additive
from nbtext.settings import COUNTING, NLTK_STEMMERS, READING, TRAINING, checked
from nbtext.text.analyzer import BLOCK_DOCUMENTS, blocks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray
    from sklearn.utils import Tags

    from nbtext.classifiers.base import Classifier
    from nbtext.counts.documents import CountedDocuments
    from nbtext.counts.matrix import DocumentTermMatrix
    from nbtext.counts.statistics import ClassStatistics
    from nbtext.language_model.dirichlet import LanguageModels
    from nbtext.model.training import Learnt

    Text = str | bytes | Mapping[str, object]


SHOWN = 5


def alike(labels: Iterable[str]) -> str | None:
    """Which labels differ only in case, in white space or in Unicode's ways of writing a letter; None if there are none such.

    >>> alike(["Cats", "cats", "dogs"])
    "'Cats' and 'cats'"
    """
    groups: dict[str, list[str]] = {}
    for label in labels:
        groups.setdefault(" ".join(unicodedata.normalize("NFKC", label).casefold().split()), []).append(label)
    found = [" and ".join(map(repr, group)) for group in groups.values() if len(group) > 1]
    return (", ".join(found[:SHOWN]) + (" and others" if len(found) > SHOWN else "")) or None


def describe(statistics: ClassStatistics, learnt: Learnt) -> str:
    """Return the size and the smoothing of a model in one line."""
    attributes = f", {quantity(len(statistics.attributes.names), 'attribute')}" if statistics.attributes.names else ""
    n_own = len(learnt.own)
    own = f", {quantity(n_own, 'term')} with {'its' if n_own == 1 else 'their'} own" if n_own else ""
    return (
        f"{quantity(statistics.n_classes, 'class')}, {quantity(statistics.n_documents, 'document')}, "
        f"{quantity(int(statistics.class_tokens.sum()), 'token')}, {quantity(int(np.count_nonzero(learnt.selected)), 'term')}{attributes}, smoothing {learnt.smoothing:.3g}{own}"
    )


def warnings(classifier: Classifier, statistics: ClassStatistics, learnt: Learnt, parameters: Mapping[str, Any]) -> list[str]:
    """List what makes a model less useful than its user may think."""
    found = []
    if statistics.n_classes == 1:
        found.append(f"there is only one class, {statistics.classes[0]}; every answer will be that")
    if statistics.attributes.names:
        if empty := _without_values(statistics):
            found.append(f"no document has a value of {', '.join(empty)}")
    elif not learnt.selected.any():
        found.append("the documents hold no terms; every answer will be the same")
    if similar := alike(statistics.classes):
        found.append(f"labels that differ only in case, spaces or Unicode form: {similar}")
    chosen = parameters["classifier"]
    idle = [each.option for each in TRAINING if each.only_for not in (None, chosen) and parameters[each.name] != each.default]
    if idle:
        found.append(f"--classifier {chosen} makes no use of {', '.join(idle)}")
    return [*found, *classifier.warnings()]


def _without_values(statistics: ClassStatistics) -> list[str]:
    """List the attributes of which no training document has a value."""
    names = statistics.attributes
    empty = [name for name in names.categorical if not is_category_of(statistics.vocabulary, name).any()]
    if statistics.moments is not None:
        documents = statistics.moments.documents.sum(axis=0).tolist()
        empty += [name for name, n in zip(names.numbers, documents, strict=True) if not n]
    return empty


TEXT = "text"
"""The key of the text where documents are mappings; the others are attributes."""


def labelled_texts(texts: Iterable[Text], labels: Iterable[str], attributes: Attributes) -> Iterator[tuple[str, bytes]]:
    """Labels with their documents; raises `UsageError` if there are more of one than of the other, or none."""
    end = object()
    number = 0
    for label, text in zip_longest(labels, all_utf8(texts, attributes), fillvalue=end):
        if label is end or text is end:
            raise UsageError(f"there are {'fewer' if label is end else 'more'} labels than texts", hint="give each text one label")
        number += 1
        yield (str(label) if isinstance(label, str) else label), text  # type: ignore[misc] # a label of a numpy array is a str of its own kind
    if not number:
        raise UsageError("there are no texts")


def all_utf8(texts: Iterable[Text], attributes: Attributes) -> Iterator[bytes]:
    """Each document in valid UTF-8; raises `UsageError` for one text where several are wanted, and with its place for what is no document."""
    if isinstance(texts, (str, bytes)):
        raise UsageError("one text was given where several are wanted", hint="put it into a list")
    return _each(texts, partial(_document, attributes) if attributes.names else _utf8)


def _each(texts: Iterable[Text], utf8: Callable[[object], bytes]) -> Iterator[bytes]:
    for place, text in enumerate(texts):
        try:
            document = utf8(text)
        except (DocumentError, UsageError) as problem:
            raise UsageError(problem.message, where=f"texts[{place}]", hint=problem.hint) from None
        yield document


def _document(attributes: Attributes, given: object) -> bytes:
    if isinstance(given, (str, bytes)):
        return attributes.document(_utf8(given), [""] * len(attributes.names))
    if not isinstance(given, Mapping):
        keys = ", ".join((TEXT, *attributes.names))
        raise UsageError(f"{given!r} is not a document", hint=f"give a mapping with the keys {keys}, or a text")
    values = [given.get(name) for name in attributes.names]
    return attributes.document(_utf8(given.get(TEXT, "")), ["" if value is None else str(value) for value in values])


def _utf8(text: object) -> bytes:
    """Valid UTF-8 of a text; what is not valid becomes a question mark or U+FFFD. Raises `UsageError` for what is no text, such as None or NaN."""
    if isinstance(text, str):
        return text.encode("utf-8", "replace")
    if isinstance(text, bytes):
        return text.decode("utf-8", "replace").encode()
    raise UsageError(f"{text!r} is not a text; texts are str, or bytes in UTF-8", hint="leave the document out, or give an empty text")


class ScoredTexts(NamedTuple):
    """What the model says of some texts; the first two of shape (n_docs, n_classes), the others (n_docs,)."""

    scores: NDArray[np.float64]
    """log p(d, C_k), in nats."""
    log_posterior: NDArray[np.float64]
    """log p(C_k | d), calibrated, in nats."""
    lengths: NDArray[np.int64]
    """Tokens of terms that count."""
    unknown: NDArray[np.int64]
    """Other tokens: of terms that the model does not know or that do not count."""


def versions(parameters: Mapping[str, Any]) -> dict[str, str]:
    """What wrote a model: nbtext, and the stemming package whose stems the model's terms are."""
    if parameters["stemmer"] == "none":
        return {"nbtext": __version__}
    if parameters["stemmer"] in NLTK_STEMMERS:
        from importlib.metadata import version

        return {"nbtext": __version__, "nltk": version("nltk")}
    import Stemmer

    return {"nbtext": __version__, "PyStemmer": Stemmer.version()}


class Classes(list[str]):
    """The classes as a list that scikit-learn's scorers of two classes can take for the array that they expect."""

    def __eq__(self, other: object) -> Any:  # noqa: ANN401 - as numpy does it
        """Whether two lists are equal; compared with one label, for each class whether it is that one, shape (n_classes,)."""
        return np.array(self, object) == other if isinstance(other, str) else super().__eq__(other)

    __hash__ = None

    def tolist(self) -> list[str]:
        """A plain list."""
        return list(self)


class ForScikitLearn:
    """What scikit-learn wants to know of a classifier before it takes it for one."""

    _estimator_type = "classifier"
    """For scikit-learn before 1.6."""

    _counts: CorpusCounts | None

    def __sklearn_tags__(self) -> Tags:
        """A classifier of texts, or of mappings where there are attributes, that needs one label for each."""
        from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags

        return Tags(
            estimator_type="classifier",
            target_tags=TargetTags(required=True, one_d_labels=True),
            classifier_tags=ClassifierTags(),
            input_tags=InputTags(one_d_array=True, two_d_array=False, string=True, dict=True),
        )

    def __sklearn_is_fitted__(self) -> bool:
        """Whether there is something to answer from."""
        return self._counts is not None


MADE_OF_COUNTS = ("classifier", "language_models", "prior", "_counter")
"""What is made of parameters, counts and what was learnt when it is asked for first."""


class TextClassifier(ForScikitLearn):
    """Classifies texts by what the words of each class look like.

    Keyword arguments are the parameters of `nbtext.settings.TRAINING`; a wrong one raises `UsageError` (a ValueError). With
    ``categorical``, ``count`` or ``numeric`` a document is a mapping of the names there to values, and of ``text`` to its text.

    >>> model = TextClassifier(stemmer="none", stop_words="none", smoothing=1)
    >>> texts = ["Chinese Beijing Chinese", "Chinese Chinese Shanghai", "Chinese Macao", "Tokyo Japan Chinese"]
    >>> model.fit(texts, ["yes", "yes", "yes", "no"]).predict(["Chinese Chinese Chinese Tokyo Japan"])
    ['yes']
    """

    def __init__(self, **parameters: object) -> None:
        attributes = {kind: parameters.pop(kind) for kind in KINDS if kind in parameters}
        self.parameters = checked(TRAINING, parameters)
        self.reading = checked(READING, attributes)
        self._counts: CorpusCounts | None = None
        self._learnt: Learnt | None = None
        self._stop_list: list[str] | None = None
        self.written_by: dict[str, str] = {}

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: FBT001, FBT002 - scikit-learn's signature
        """The parameters by name."""
        del deep
        return {**self.parameters, **{kind: self.reading[kind] for kind in KINDS}}

    def set_params(self, **parameters: object) -> TextClassifier:
        """Change parameters. Counts stay and are estimated from anew, unless other parameters would have counted otherwise."""
        before = self.get_params()
        reading = checked(READING, {**self.reading, **{kind: parameters.pop(kind) for kind in KINDS if kind in parameters}})
        after = checked(TRAINING, {**self.parameters, **parameters})
        counted_alike = all(before[name] == {**reading, **after}[name] for name in (*COUNTING, *KINDS))
        self.reading = reading
        if self._counts is not None and counted_alike and not needs_documents(after):
            return self._estimate(self._counts, after)
        self._stop_list = None
        return self._replace(after, None, None)

    def fit(self, texts: Iterable[Text], labels: Iterable[str]) -> TextClassifier:
        """Learn from texts (str, or bytes in UTF-8) and their classes, one each; forgets what was learnt before."""
        return self.fit_stream(labelled_texts(texts, labels, self._attributes))

    def fit_stream(self, labelled: Iterable[tuple[str, bytes]]) -> TextClassifier:
        """Learn from a stream of (label, text in valid UTF-8) that is read once and not kept."""
        looked_up(self.parameters, self.stop_list, self.reading)  # raises now what it would raise when all is counted
        if not self._needs_documents:
            return self._estimate(count_corpus(labelled, self.parameters, self.stop_list, self.reading), self.parameters)
        return self.fit_counted(*count_documents(labelled, self.parameters, self.stop_list, self.reading))

    def fit_counted(self, statistics: ClassStatistics, documents: CountedDocuments) -> TextClassifier:
        """Learn from a whole corpus as `nbtext.counts.counting.count_documents` counts it under these parameters."""
        counts = CorpusCounts(statistics, DocumentSample.of(documents, self.parameters["sample"]))
        return self._estimate(counts, self.parameters, documents if self._needs_documents else None)

    def partial_fit(self, texts: Iterable[Text], labels: Iterable[str]) -> TextClassifier:
        """Learn from more texts; new classes and terms are welcome. The result is that of one `fit` with all of them.

        Raises `UsageError` for a classifier that needs all documents at once.
        """
        require_additive(self.parameters)
        more = count_corpus(labelled_texts(texts, labels, self._attributes), self.parameters, self.stop_list, self.reading)
        return self.learn(more if self._counts is None else self._counts + more)

    def forget(self, texts: Iterable[Text], labels: Iterable[str]) -> TextClassifier:
        """Take texts away; the statistics are as if they had never been learnt. Raises `UsageError` if one was not, and takes none away."""
        require_additive(self.parameters)
        labelled = labelled_texts(texts, labels, self._attributes)
        return self.learn(forget_documents(self.counts, *count_documents(labelled, self.parameters, self.stop_list, self.reading)))

    def learn(self, counts: CorpusCounts, **changes: object) -> TextClassifier:
        """Make of other counts, or with parameters changed that do not count otherwise, what training makes of them.

        Raises `UsageError` for a classifier that needs all documents, or if anything is wrong, and leaves the model as it was.
        """
        parameters = checked(TRAINING, {**self.parameters, **changes})
        require_additive(parameters)
        return self._estimate(counts, parameters)

    def predict(self, texts: Iterable[Text]) -> list[str | None]:
        """The most probable class of each text, the first in order of equals; None where maximum likelihood rules out every class."""
        classes = self.classes_
        return [None if best == NO_ANSWER else classes[best] for best in minimum_error(self.predict_log_proba(texts)).tolist()]

    def predict_proba(self, texts: Iterable[Text]) -> NDArray[np.float64]:
        """p(C_k | d), shape (n_docs, n_classes), in the order of `classes_`; nan where maximum likelihood rules out every class."""
        return np.exp(self.predict_log_proba(texts))

    def predict_log_proba(self, texts: Iterable[Text]) -> NDArray[np.float64]:
        """log p(C_k | d), shape (n_docs, n_classes), in nats."""
        return self._stacked(texts, lambda block: self.score_block(block).log_posterior)

    def joint_log_likelihood(self, texts: Iterable[Text]) -> NDArray[np.float64]:
        """log p(d, C_k), shape (n_docs, n_classes), in nats, as estimated: calibration has no part in it."""
        return self._stacked(texts, lambda block: self.score_block(block).scores)

    def score_block(self, texts: Sequence[bytes]) -> ScoredTexts:
        """Score some texts, at most `documents_at_once`."""
        return self.score_counts(self._counter.count(texts).matrix())

    def score_counts(self, matrix: DocumentTermMatrix) -> ScoredTexts:
        """Score the counts of some texts, at most `documents_at_once`."""
        scores, lengths = self.classifier.joint_log_likelihood(matrix)
        unknown = matrix.tokens - lengths
        log_posterior = self.learnt.calibration.log_posterior(self.classifier.log_scale(scores, lengths), lengths)
        return ScoredTexts(scores, log_posterior, lengths, unknown)

    def typicality(self, scores: NDArray[np.float64], lengths: NDArray[np.int64], unknown: NDArray[np.int64]) -> NDArray[np.float64]:
        """The share of training documents of about its length that are less likely per token than a scored text, shape (n_docs,).

        Raises `UsageError` if the model keeps no likelihoods of training documents.
        """
        per_token = self.classifier.likelihood_per_token(scores, lengths, unknown)
        if self.learnt.typicality is None or per_token is None:
            raise UsageError(
                "the model does not know what is typical",
                hint="train --classifier multinomial on counts, or dirichlet-multinomial, with smoothing, calibration and a sample of at least 50 documents, "
                "and without values beside the text",
            )
        return self.learnt.typicality.share_below(*per_token)

    def score(self, texts: Iterable[Text], labels: Iterable[str]) -> float:
        """Accuracy on texts whose classes are known."""
        given = texts if isinstance(texts, (str, bytes)) else list(texts)
        truth = [label for label, _ in labelled_texts(given, labels, self._attributes)]
        return sum(answer == label for answer, label in zip(self.predict(given), truth, strict=True)) / len(truth)

    def save(self, path: str, before: Callable[[Path, bytes], None] | None = None) -> None:
        """Write the model file, atomically, with ``before`` as `write_model_file` takes it; first run the checks of the loader.

        Raises `PathError` if it cannot be written, and `RuntimeError` if the loader would refuse it, which is a defect of nbtext. In both
        cases the old file stays.
        """
        from nbtext.store import write_model_file

        settings, arrays = to_plain(State(self.parameters, self.reading, self.stop_list, self.counts, self.learnt, self.written_by))
        try:
            from_plain(settings, {name: array for name, array in arrays.items() if array.size})  # a file leaves empty arrays out
        except ModelError as problem:
            raise RuntimeError(f"not written, because it would not load: {problem}") from problem
        write_model_file(path, settings, arrays, before)

    @classmethod
    def load(cls, path: str) -> TextClassifier:
        """Read a model file; raises `ModelError` if it is missing, damaged, of a newer format, or no model."""
        from nbtext.store import read_model_file

        settings, arrays = read_model_file(path)
        try:
            state = from_plain(settings, arrays)
        except ModelError as problem:
            problem.where = path
            raise
        model = cls()
        model.parameters, model.reading, model._stop_list, model._counts, model._learnt, model.written_by = state
        return model

    def describe(self) -> str:
        """The model in one line."""
        return describe(self.statistics, self.learnt)

    def warnings(self) -> list[str]:
        """What makes the model less useful than one may think."""
        return warnings(self.classifier, self.statistics, self.learnt, self.parameters)

    @property
    def documents_at_once(self) -> int:
        """As many documents as may be scored together: with a hundred thousand classes few."""
        return max(min(BLOCK_DOCUMENTS, TERM_WEIGHTS_AT_ONCE // self.statistics.n_classes), 1)

    @property
    def classes_(self) -> list[str]:
        """The classes in the order of all arrays by class: sorted."""
        return Classes(self.statistics.classes)

    @property
    def counts(self) -> CorpusCounts:
        """What was counted. Raises `UsageError` before training."""
        if self._counts is None:
            raise UsageError("the model is not trained", hint="call fit or load first")
        return self._counts

    @property
    def statistics(self) -> ClassStatistics:
        """The counts by class. Raises `UsageError` before training."""
        return self.counts.statistics

    @property
    def learnt(self) -> Learnt:
        """Terms that count, smoothing, calibration. Raises `UsageError` before training."""
        if self._learnt is None:
            raise UsageError("the model is not trained", hint="call fit or load first")
        return self._learnt

    @property
    def stop_list(self) -> list[str]:
        """The stop words, sorted; raises `UsageError` or `PathError` if there are none of that name."""
        if self._stop_list is None:
            from nbtext.text.words import stop_words

            self._stop_list = stop_words(self.parameters["stop_words"], self.parameters["language"])
        return self._stop_list

    @cached_property
    def classifier(self) -> Classifier:
        """The estimated model."""
        return classifier(self.statistics, self.learnt, self.parameters)

    @property
    def linear(self) -> LinearClassifier | None:
        """The estimated model of the texts, if its scores are sums over tokens."""
        of_texts = self.classifier.of_texts
        return of_texts if isinstance(of_texts, LinearClassifier) else None

    @cached_property
    def language_models(self) -> LanguageModels:
        """The language models of the classes, whatever the classifier."""
        return language_models(self.statistics, self.learnt, self.parameters)

    @cached_property
    def prior(self) -> NDArray[np.float64]:
        """π_k, shape (n_classes,)."""
        return class_prior(self.parameters["class_prior"], self.statistics)

    @cached_property
    def _counter(self) -> DocumentCounter:
        return InTurn(partial(document_counter, self.parameters, self.stop_list, self.statistics.vocabulary, self.reading))

    @property
    def _attributes(self) -> Attributes:
        return Attributes.of(self.reading)

    def _stacked(self, texts: Iterable[Text], rows_of: Callable[[Sequence[bytes]], NDArray[np.float64]]) -> NDArray[np.float64]:
        rows = [rows_of(block) for block in blocks(all_utf8(texts, self._attributes), len, self.documents_at_once)]
        return np.concatenate(rows) if rows else np.empty((0, self.statistics.n_classes))

    @property
    def _needs_documents(self) -> bool:
        return needs_documents(self.parameters)

    def _estimate(self, counts: CorpusCounts, parameters: dict[str, Any], documents: CountedDocuments | None = None) -> TextClassifier:
        """Replace what was learnt; if anything is wrong, raise and leave it as it was."""
        counts = limit_vocabulary(counts, parameters["max_terms"])
        class_prior(parameters["class_prior"], counts.statistics)  # raises now what it would raise at the first question
        self._replace(parameters, counts, learn(counts, looked_up(parameters, self.stop_list, self.reading), documents))
        self.written_by = versions(parameters)
        return self

    def _replace(self, parameters: dict[str, Any], counts: CorpusCounts | None, learnt: Learnt | None) -> TextClassifier:
        self.parameters, self._counts, self._learnt = parameters, counts, learnt
        for made_of_them in MADE_OF_COUNTS:
            self.__dict__.pop(made_of_them, None)
        return self

    def __getstate__(self) -> dict[str, Any]:
        """What makes the model, for pickle and copy: what is made of it is made again, and a stemmer cannot be pickled."""
        return {name: value for name, value in self.__dict__.items() if name not in MADE_OF_COUNTS}

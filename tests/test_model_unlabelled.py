"""EM over unlabelled documents: against a slow twin, and what it leaves as it was."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from math import lgamma, log
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from numpy.typing import NDArray

from nbtext import TextClassifier
from nbtext.classifiers.base import get_term_probabilities
from nbtext.counts.statistics import SeedTerm
from nbtext.errors import UsageError
from nbtext.inspection.criteria import compute_criteria, estimate_labelled_classifier
from nbtext.model import unlabelled
from nbtext.model.description import list_warnings
from nbtext.model.operations import AUTO_WEIGHTINGS, train_with_best_weighting
from nbtext.model.training import compute_held_out_posteriors
from nbtext.model.unlabelled import EM_ITERATIONS, UnlabelledDocuments
from tests.count_tables import dense
from tests.model_changes import saved
from tests.models import require_sound
from tests.models import unlabelled as unlabelled_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from nbtext.settings import Weighting

TOPICS = {
    "cats": "cat purr mouse whisker kitten claw milk basket",
    "dogs": "dog bark bone leash puppy paw kennel ball",
}
MORE_TOPICS = TOPICS | {"fish": "fish fin scale water swim bowl milk bone"}
COMMON = ["house", "garden", "day", "food", "child", "street", "morning", "rain"]

Texts = list[bytes]
Table = NDArray[np.float64]


def documents(n: int, seed: int, topics: dict[str, str] = TOPICS) -> tuple[Texts, list[str]]:
    """Short documents of each topic, most of whose words are common to all."""
    random = np.random.default_rng(seed)
    labels = random.choice(list(topics), n).tolist()
    return [
        " ".join([*random.choice(topics[label].split(), 3), *random.choice(COMMON, 4)]).encode()
        for label in labels
    ], labels


def few(n: int = 12, **settings: Any) -> TextClassifier:
    """A model of a few labelled documents."""
    return TextClassifier(**{"stop_words": "none", "stemmer": "none", **settings}).fit(
        *documents(n, 1)
    )


def pool(model: TextClassifier, n: int = 200) -> UnlabelledDocuments:
    """Unlabelled documents as the model counts them."""
    return UnlabelledDocuments.from_documents(model.analysis, unlabelled_of(documents(n, 2)[0]))


def rows(texts: Sequence[bytes], vocabulary: list[str]) -> Table:
    """Counts by document and term."""
    counted = [Counter(text.decode().split()) for text in texts]
    return np.array([[count[term] for term in vocabulary] for count in counted], np.float64)


@pytest.mark.parametrize("topics", [TOPICS, MORE_TOPICS], ids=["two topics", "three topics"])
@pytest.mark.parametrize("weighting", ["counts", "log", "binary"])
def test_language_models_after_em_match_a_slow_twin(
    weighting: Weighting, topics: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unlabelled, "UNLABELLED_WEIGHTS", (0.3,))
    (texts, labels), unlabelled_texts = documents(12, 1, topics), documents(200, 2, topics)[0]
    alone, model = (
        TextClassifier(stop_words="none", stemmer="none", weighting=weighting, smoothing=0.2).fit(
            texts, labels
        )
        for _ in range(2)
    )
    model.learn(
        pool=UnlabelledDocuments.from_documents(model.analysis, unlabelled_of(unlabelled_texts))
    )
    assert [layer.weight for layer in model.counts.table.layers] == [None, 0.3]
    vocabulary = model.fitted.statistics.vocabulary.list_single_terms()

    def transform(counts: Table) -> Table:
        return {
            "counts": counts,
            "log": np.log1p(counts),
            "binary": (counts > 0).astype(np.float64),
        }[weighting]

    counted, truth = (
        rows(unlabelled_texts, vocabulary),
        np.eye(len(topics))[[alone.classes.index(label) for label in labels]],
    )
    labelled, others = transform(rows(texts, vocabulary)), transform(counted)
    sums, class_documents = labelled.T @ truth, truth.sum(axis=0)
    known, prior = sums.sum(axis=1) > 0, class_documents
    total = sums

    def log_probability(counts: Table) -> Table:
        return np.log(
            np.where(
                known[:, None],
                (counts + 0.2) / (counts[known].sum(axis=0) + 0.2 * known.sum()),
                1.0,
            )
        )

    for _ in range(EM_ITERATIONS):
        rest = total.sum(axis=1, keepdims=True) - total
        weights = (1 - 1 / len(topics)) * (log_probability(total) - log_probability(rest))
        scores = others @ weights + np.log(prior / prior.sum())
        shares = (
            np.rint(
                1000
                * np.exp(
                    alone.fitted.parameters.calibration.compute_log_posterior(
                        scores, counted.sum(axis=1).astype(np.int64)
                    )
                )
            )
            / 1000
        )
        total, prior, known = (
            sums + 0.3 * others.T @ shares,
            class_documents + 0.3 * shares.sum(axis=0),
            np.ones_like(known),
        )
    expected = (total + 0.2) / (total.sum(axis=0) + 0.2 * len(vocabulary))
    found = get_term_probabilities(model.fitted.classifier)
    assert found is not None
    assert np.allclose(found.compute_probability(np.arange(len(vocabulary))), expected, rtol=1e-6)
    assert np.allclose(model.fitted.classifier.prior, prior / prior.sum())


def test_unlabelled_documents_improve_accuracy_and_keep_labelled_counts() -> None:
    alone, model = few(), few()
    model.learn(pool=pool(model))
    texts, labels = documents(300, 3)
    assert model.score(texts, labels) > alone.score(texts, labels)
    before, after = alone.counts.table, model.counts.table.labelled_table
    assert after.cell_counts.dtype == np.int64
    for name in ("class_documents", "cell_classes", "cell_counts", "cell_documents"):
        assert np.array_equal(getattr(after, name), getattr(before, name))
    assert after.n_terms > before.n_terms
    assert (np.diff(after.term_offsets) == 0).any()


@pytest.mark.parametrize(
    "settings",
    [{}, {"weighting": "log"}, {"ngrams": 2}, {"min_df": 2}, {"prior_shape": "background"}],
    ids=str,
)
def test_unlabelled_layer_is_stored_and_can_be_removed(
    settings: dict[str, Any], tmp_path: Path
) -> None:
    alone, model = few(**settings), few(**settings)
    model.learn(pool=pool(model))
    content, texts = saved(model, tmp_path), documents(20, 5)[0]
    loaded = TextClassifier.load("saved")
    assert np.array_equal(loaded.predict_log_proba(texts), model.predict_log_proba(texts))
    require_sound("saved")
    assert saved(loaded, tmp_path) == content
    assert saved(loaded.learn(), tmp_path) == saved(alone, tmp_path) != content
    assert loaded.fitted.parameters.unlabelled_summary is None


def test_relearning_replaces_the_unlabelled_layer_in_any_document_order(
    tmp_path: Path,
) -> None:
    model, texts = few(), documents(60, 2)[0]
    first = saved(
        model.learn(pool=UnlabelledDocuments.from_documents(model.analysis, unlabelled_of(texts))),
        tmp_path,
    )
    model.learn(pool=pool(model, 30))
    assert saved(model, tmp_path) != first
    assert (
        saved(
            model.learn(
                pool=UnlabelledDocuments.from_documents(model.analysis, unlabelled_of(texts[::-1]))
            ),
            tmp_path,
        )
        == first
    )


def test_unlabelled_weight_is_chosen_by_held_out_documents_and_may_be_zero(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    model = few(40)
    model.learn(pool=pool(model))
    figures, [_, layer] = model.fitted.parameters.unlabelled_summary, model.counts.table.layers
    assert figures is not None
    assert min(figures.losses, key=figures.losses.__getitem__) == f"{layer.weight:g}"
    monkeypatch.setattr(unlabelled, "UNLABELLED_WEIGHTS", ())
    none = few(40)
    expected = none.predict_log_proba(documents(20, 5)[0])
    none.learn(pool=pool(none))
    assert none.fitted.parameters.unlabelled_summary is not None
    assert not none.counts.uses_unlabelled
    saved(none, tmp_path)
    assert np.array_equal(
        TextClassifier.load("saved").predict_log_proba(documents(20, 5)[0]), expected
    )


def test_weighting_is_chosen_by_held_out_documents(monkeypatch: pytest.MonkeyPatch) -> None:
    def loss(model: TextClassifier) -> float:
        assert model.fitted.parameters.unlabelled_summary is not None
        return min(model.fitted.parameters.unlabelled_summary.losses.values())

    each = {
        weighting: few(40, weighting=weighting).learn(pool=pool(few()))
        for weighting in AUTO_WEIGHTINGS
    }
    model = train_with_best_weighting(few(40, weighting="log"), None, pool(few()))
    best = min(each, key=lambda weighting: loss(each[weighting]))
    asked = documents(20, 5)[0]
    assert (model.settings.weighting, loss(model)) == (best, loss(each[best]))
    assert np.array_equal(model.predict_log_proba(asked), each[best].predict_log_proba(asked))
    monkeypatch.setattr(unlabelled, "UNLABELLED_WEIGHTS", ())
    model = train_with_best_weighting(few(40, weighting="log"), None, pool(few()))
    assert model.settings.weighting == "counts"
    assert np.array_equal(model.predict_log_proba(asked), few(40).predict_log_proba(asked))


def test_calibration_and_guarantees_use_held_out_labelled_documents() -> None:
    model = few(40)
    model.learn(pool=pool(model))
    assert model.fitted.parameters.calibration_quality is not None
    assert model.fitted.parameters.calibration_quality["documents"] == 40
    assert len(compute_held_out_posteriors(model.fitted).truth) == 40


def test_too_few_labelled_documents_for_unlabelled_ones_are_refused() -> None:
    model = few(6)
    with pytest.raises(UsageError, match="6 labelled documents cannot show"):
        model.learn(pool=pool(model))


def test_model_with_an_unlabelled_layer_refuses_exact_changes() -> None:
    model = few()
    model.learn(pool=pool(model))
    for change in (model.partial_fit, model.forget):
        with pytest.raises(UsageError, match="cannot be used with unlabelled training documents"):
            change(["a cat"], ["cats"])


def test_weighted_labelled_documents_work_with_unlabelled_ones() -> None:
    texts, labels = documents(20, 1)
    model = TextClassifier(stop_words="none", stemmer="none").fit(
        texts, labels, sample_weight=[0.5, 2] * 10
    )
    model.learn(pool=pool(model))
    assert np.allclose(np.exp(model.predict_log_proba(documents(20, 5)[0])).sum(axis=1), 1)
    assert replace(model.counts.table, vocabulary=model.fitted.statistics.vocabulary).unit != 1


SEEDS = [
    SeedTerm("cats", ("cat",), 10.0),
    SeedTerm("cats", ("whisker",), 10.0),
    SeedTerm("dogs", ("dog",), 10.0),
    SeedTerm("dogs", ("bone",), 10.0),
]


@pytest.mark.parametrize("seeds", [[], SEEDS], ids=["no seeds", "seeds"])
def test_unlabelled_documents_are_not_data_of_the_criteria(
    seeds: list[SeedTerm], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unlabelled, "UNLABELLED_WEIGHTS", (0.3,))
    texts, labels = documents(12, 1)
    model = (
        TextClassifier(stop_words="none", stemmer="none", smoothing=0.5)
        .begin_with(seeds)
        .fit(texts, labels)
    )
    model.learn(pool=pool(model))
    assert model.counts.uses_unlabelled
    found, terms = (
        compute_criteria(estimate_labelled_classifier(model)),
        model.fitted.statistics.vocabulary.list_single_terms(),
    )
    evidence = likelihood = 0.0
    for label in model.classes:
        counts = Counter(
            " ".join(
                text.decode() for text, own in zip(texts, labels, strict=True) if own == label
            ).split()
        )
        alpha = {
            term: 0.5 + sum(seed.pseudo_count for seed in seeds if seed[:2] == (label, (term,)))
            for term in terms
        }
        n, total = counts.total(), sum(alpha.values())
        evidence += (
            lgamma(total)
            - lgamma(n + total)
            + sum(lgamma(alpha[term] + counts[term]) - lgamma(alpha[term]) for term in terms)
        )
        likelihood += sum(m * log(m / n) for m in counts.values()) + labels.count(label) * log(
            labels.count(label) / 12
        )
    assert found.evidence == pytest.approx(evidence)
    assert found.log_likelihood == pytest.approx(likelihood)
    assert found.tokens == sum(len(text.split()) for text in texts)


def test_seed_words_with_unlabelled_documents_have_no_data_for_the_criteria() -> None:
    model = TextClassifier(stop_words="none", stemmer="none")
    found = compute_criteria(
        estimate_labelled_classifier(model.begin_with(SEEDS).learn(pool=pool(model)))
    )
    assert (found.tokens, found.evidence, found.log_likelihood) == (0, 0, 0)


@pytest.mark.parametrize("weighting", ["counts", "log"])
def test_seed_words_and_unlabelled_documents_are_enough_for_a_model(
    weighting: Weighting, tmp_path: Path
) -> None:
    model = TextClassifier(stop_words="none", stemmer="none", weighting=weighting)
    model.begin_with(SEEDS).learn(
        pool=UnlabelledDocuments.from_documents(model.analysis, unlabelled_of(documents(200, 2)[0]))
    )
    assert model.score(*documents(300, 3)) > 0.9
    assert model.counts.labelled_statistics.n_documents == 0
    content = saved(model, tmp_path)
    loaded = TextClassifier.load("saved")
    assert saved(loaded, tmp_path) == content
    require_sound("saved")
    assert "not calibrated" in list_warnings(loaded.fitted)[0]
    with pytest.raises(UsageError, match="cannot be used with unlabelled training documents"):
        loaded.partial_fit(["a cat"], ["cats"])
    with pytest.raises(UsageError, match="nothing would remain"):
        loaded.learn()


def test_seed_words_with_labelled_documents_change_no_count(tmp_path: Path) -> None:
    alone, model = few(), few()
    model.begin_with(SEEDS).learn(pool=pool(model))
    assert np.array_equal(
        model.counts.table.labelled_table.cell_counts, alone.counts.table.cell_counts
    )
    assert model.fitted.parameters.calibration_quality is not None
    assert list(model.fitted.parameters.weights.seeds) == sorted(SEEDS)
    saved(model, tmp_path)
    texts = documents(9, 5)[0]
    assert np.array_equal(
        TextClassifier.load("saved").predict_log_proba(texts), model.predict_log_proba(texts)
    )


def test_negated_seed_word_counts_for_later_classes_too(
    tmp_path: Path,
) -> None:
    against = [SeedTerm("cats", ("purr",), -10.0)]
    model, again = (
        TextClassifier(stop_words="none", stemmer="none").begin_with(against) for _ in range(2)
    )
    texts, labels = documents(60, 1, MORE_TOPICS)
    early = [place for place, label in enumerate(labels) if label != "fish"]
    model.fit([texts[place] for place in early], [labels[place] for place in early])
    saved(model, tmp_path)
    model = TextClassifier.load("saved")
    late = [place for place, label in enumerate(labels) if label == "fish"]
    model.partial_fit([texts[place] for place in late], ["fish"] * len(late))
    again.fit(texts, labels)
    assert np.array_equal(model.fitted.statistics.cell_counts, again.fitted.statistics.cell_counts)
    [purr] = model.fitted.statistics.vocabulary.find(["purr"])
    assert (dense(model.fitted.statistics) - dense(model.counts.table))[purr].tolist() == [
        0,
        10,
        10,
    ]


@pytest.mark.parametrize(
    ("seed", "named"),
    [
        (SeedTerm("birds", ("wing",), 1.0), "birds"),
        (SeedTerm("cats", ("--",), 1.0), "not a term"),
        (SeedTerm("cats", ("big cat",), 1.0), "2 terms"),
    ],
)
def test_seeds_of_impossible_terms_or_unknown_classes_are_refused(
    seed: SeedTerm, named: str
) -> None:
    model = few()
    with pytest.raises(UsageError, match=named):
        model.begin_with([*SEEDS, seed]).learn(pool=pool(model))

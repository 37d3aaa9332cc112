"""What a report of a model shows: figures, mistakes, excerpts and terms.

Also tests `inspection/terms.py` and `explain/mistakes.py`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtext import TextClassifier, selection
from nbtext.classifiers.base import LinearClassifier
from nbtext.corpus.document import Document
from nbtext.evaluation.report_data import MAX_QUOTED_MISTAKES, gather_report_data
from nbtext.explain.mistakes import HIGHLIGHT_NATS, MAX_EXCERPT_BYTES, ExcerptFinder
from nbtext.inspection.terms import find_class_terms
from nbtext.metrics.evaluation import Evaluation
from nbtext.metrics.results import to_json_values
from nbtext.prediction.posterior import ClassPosterior
from tests.models import train_on
from tests.operation_counts import calls
from tests.strategies import texts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nbtext.explain.mistakes import ExcerptPiece

LETTERS = [
    ("animals", "the cat and the dog chase a mouse"), ("animals", "cats sleep, dogs bark at the cat"), ("animals", "a dog eats"),
    ("ships", "the ship leaves the harbour with its cargo"), ("ships", "cargo ships and sails in the harbour"),
    ("stars", "a star far away shines"), ("stars", "stars and galaxies shine"),
]  # fmt: skip


def model_of(letters: Sequence[tuple[str, str]] = LETTERS, **parameters: Any) -> TextClassifier:
    labels, bodies = zip(*letters, strict=True)
    return TextClassifier(**parameters).fit(bodies, labels)


def documents(letters: Sequence[tuple[str, str]]) -> list[Document]:
    return [
        Document(str(number), label, text.encode("utf-8", "replace"))
        for number, (label, text) in enumerate(letters)
    ]


TEST = [
    ("animals", "a dog in the harbour looks at the ship and its cargo"), ("ships", "a ship with cats"), ("stars", "galaxies"),
    ("newts", "a newt in the harbour of a cargo ship"), ("ships", "harbour"), ("stars", "the cat, the dog"), ("animals", "dogs"),
]  # fmt: skip


def test_report_metrics_equal_the_evaluation() -> None:
    model = model_of()
    data = gather_report_data(model, documents(TEST), title="a title")
    evaluation = Evaluation(model.classes, label_proportions=np.array([3, 2, 2]) / 7)
    evaluation.add(
        [label for label, _ in TEST],
        ClassPosterior(model.predict_log_proba([text for _, text in TEST])),
    )
    result = evaluation.result()
    assert (data.title, data.evaluation.n) == ("a title", 7)
    assert to_json_values(data.evaluation) == {
        name: approximate(value) for name, value in to_json_values(result).items()
    }
    assert data.evaluation.baselines is not None
    assert data.evaluation.baselines.largest_class.label == "animals"
    assert data.evaluation.baselines.largest_class.accuracy == pytest.approx(2 / 7)
    assert data.calibrated.ece == pytest.approx(result.ece)
    assert data.calibrated.brier == pytest.approx(result.brier)
    assert data.calibrated.log_loss is None  # of a class that it does not know
    assert sum(part.documents for part in data.calibrated.bins) == 7
    assert data.evaluation.unknown_labels == ("newts",)


def approximate(value: object) -> object:
    return pytest.approx(value) if isinstance(value, float) else value


def test_uncalibrated_metrics_are_those_of_the_textbook_posterior() -> None:
    labels = sorted({label for label, _ in LETTERS})
    letters = [
        (labels[number % 3] if number % 4 == 0 else label, f"{text} {number}")
        for number in range(40)
        for label, text in LETTERS
    ]
    calibrated, bare = model_of(letters), model_of(letters, calibration="none")
    data, textbook = (
        gather_report_data(calibrated, documents(TEST), title=""),
        gather_report_data(bare, documents(TEST), title=""),
    )
    assert data.uncalibrated is not None
    assert textbook.uncalibrated is None
    assert [part.documents for part in data.uncalibrated.bins] == [
        part.documents for part in textbook.calibrated.bins
    ]
    assert data.uncalibrated.brier == pytest.approx(textbook.calibrated.brier)
    assert data.uncalibrated.confidence == pytest.approx(textbook.calibrated.confidence)


def test_mistakes_are_sorted_by_probability_without_repeated_texts() -> None:
    model = model_of()
    data = gather_report_data(model, documents([*TEST, *TEST]), title="")
    posterior = model.predict_proba([text for _, text in TEST])
    wrong = [
        (-row.max(), text, label, model.classes[row.argmax()])
        for (label, text), row in zip(TEST, posterior, strict=True)
        if model.classes[row.argmax()] != label
    ]
    assert [(quoted.mistake.truth, quoted.mistake.answer) for quoted in data.mistakes] == [
        (label, answer) for _, _, label, answer in sorted(wrong)
    ]
    assert [quoted.mistake.probability for quoted in data.mistakes] == pytest.approx(
        sorted((-sure for sure, *_ in wrong), reverse=True)
    )
    for mistake, of_truth, _ in data.mistakes:
        if mistake.truth == "newts":
            assert of_truth is None
        else:
            row = posterior[int(mistake.id) % len(TEST)]
            assert of_truth == pytest.approx(row[model.classes.index(mistake.truth)])
        assert mistake.terms


def test_only_the_most_probable_mistakes_are_kept() -> None:
    letters = [("ships", f"cat dog {'dog ' * number}") for number in range(40)]
    data = gather_report_data(model_of(), documents(letters), title="")
    assert len(data.mistakes) == MAX_QUOTED_MISTAKES
    assert {int(quoted.mistake.id) for quoted in data.mistakes} == set(
        range(40 - MAX_QUOTED_MISTAKES, 40)
    )


def test_impossible_documents_have_no_prediction() -> None:
    model = model_of(estimate="ml", smoothing="auto")
    data = gather_report_data(
        model,
        documents([("animals", "dog"), ("animals", "dog star ship"), ("ships", "dog star ship")]),
        title="",
    )
    assert data.evaluation.confusion == {"animals": {"": 1, "animals": 1}, "ships": {"": 1}}
    assert data.mistakes == ()


def marked_words(pieces: Sequence[ExcerptPiece]) -> dict[str, float]:
    return {piece.text: piece.nats for piece in pieces if piece.nats}


def test_excerpt_words_are_marked_with_their_contribution() -> None:
    model = model_of(stemmer="none", stop_words="none", smoothing=0.1)
    excerpt = ExcerptFinder(model.fitted).find_excerpt(
        Document("", None, "A CAT, a\n\tcat in the «harbour»: unheard-of!".encode()), 0, 1
    )
    assert "".join(piece.text for piece in excerpt) == "A CAT, a cat in the «harbour»: unheard-of!"
    linear = model.fitted.classifier
    assert isinstance(linear, LinearClassifier)
    weights = linear.compute_weights(
        np.array(model.fitted.statistics.vocabulary.find(["cat", "in", "harbour", "the"]))
    )
    nats = dict(
        zip(("cat", "in", "harbour", "the"), (weights[:, 0] - weights[:, 1]).tolist(), strict=True)
    )
    expected = {
        form: nats[form.lower()]
        for form in ("CAT", "cat", "in", "harbour", "the")
        if abs(nats[form.lower()]) >= HIGHLIGHT_NATS
    }
    assert marked_words(excerpt) == pytest.approx(expected)
    assert set(expected) == {"CAT", "cat", "in", "harbour"}


def test_excerpt_contains_the_part_with_the_largest_contributions() -> None:
    text = "and so on " * 300 + "a dog chases the cat " + "and so forth " * 300
    excerpt = ExcerptFinder(model_of().fitted).find_excerpt(Document("", None, text.encode()), 0, 1)
    quoted = "".join(piece.text for piece in excerpt)
    assert quoted.startswith("… ")
    assert quoted.endswith(" …")
    assert "dog chases the cat" in quoted
    assert len(quoted) <= MAX_EXCERPT_BYTES + 10
    assert set(marked_words(excerpt)) >= {"dog", "cat"}


QUOTING = ExcerptFinder(model_of().fitted)


@given(texts, st.integers(1, 60))
def test_excerpt_of_any_text_is_valid(text: str, times: int) -> None:
    whole = " ".join([text] * times)
    excerpt = QUOTING.find_excerpt(Document("", None, whole.encode()), 0, 2)
    quoted = "".join(piece.text for piece in excerpt).removeprefix("… ").removesuffix(" …")
    assert len(quoted.encode()) <= 2 * MAX_EXCERPT_BYTES
    assert quoted in b" ".join(whole.encode().split()).decode()


def test_counted_features_are_marked_unchanged() -> None:
    model = TextClassifier()
    model.reading = replace(model.reading, format="svmlight")
    train_on(model, [("a", b"1:3 2:1"), ("a", b"1:2"), ("b", b"3:4 2:1"), ("b", b"3:1")])
    assert set(
        marked_words(
            ExcerptFinder(model.fitted).find_excerpt(Document("", None, b"1:2 3:1 2:1 9:9"), 0, 1)
        )
    ) == {"1:2", "3:1"}


@pytest.mark.parametrize(
    "most", [selection.MAX_DENSE_PROBABILITIES, 0], ids=["all classes", "classes with the term"]
)
def test_top_terms_have_the_largest_mutual_information_summands(
    most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(selection, "MAX_DENSE_PROBABILITIES", most)
    model = model_of(stemmer="none", stop_words="none", smoothing=1)
    models, prior = model.fitted.language_models, model.fitted.classifier.prior
    every = np.arange(model.fitted.statistics.n_terms)
    probability = models.compute_probability(every)
    summands = probability * prior * np.log(probability / (probability @ prior)[:, np.newaxis])
    found = find_class_terms(model, 3, 2)
    assert [of.label for of in found] == ["animals", "ships"]
    for column, of in enumerate(found):
        best = np.argsort(-summands[:, column], kind="stable")[:3]
        assert [term for term, _ in of.terms] == [
            model.fitted.statistics.vocabulary.get_term(int(term)) for term in best
        ]
        assert [value for _, value in of.terms] == pytest.approx(summands[best, column].tolist())


def test_top_terms_of_few_classes_match_those_of_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = TextClassifier(stemmer="none", stop_words="none", calibration="none", smoothing=1)
    model.fit(
        [f"own{number} own{number} all{number % 7}" for number in range(300)],
        [f"class{number}" for number in range(300)],
    )
    monkeypatch.setattr("nbtext.inspection.terms.MAX_PROBABILITIES_IN_MEMORY", 1000)
    found, every = find_class_terms(model, 3, 4), calls(lambda: find_class_terms(model, 3, 4))
    monkeypatch.setattr(selection, "MAX_DENSE_PROBABILITIES", 0)
    assert calls(lambda: find_class_terms(model, 3, 4)) < every / 10
    for expected, few in zip(found, find_class_terms(model, 3, 4), strict=True):
        assert few.label == expected.label
        assert [term for term, _ in few.terms] == [term for term, _ in expected.terms]
        assert [value for _, value in few.terms] == pytest.approx(
            [value for _, value in expected.terms], rel=1e-12
        )

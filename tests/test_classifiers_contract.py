"""What every model has to do, of each classifier with each weighting that it takes, and with other settings. A new one is tested by its line in the registry.

Also tests `classifiers/base.py`.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from nbtext import TextClassifier, traits
from nbtext.classifiers.base import Training, get_additive_classifier, load_classifier_class
from nbtext.classifiers.complement import LENGTH_DIVISOR_ARRAY
from nbtext.compatibility import OFFERED_TRAITS, needs_documents
from nbtext.corpus.document import Document
from nbtext.counts.corpus_counts import Subsets
from nbtext.counts.counting import DocumentCounter
from nbtext.errors import ModelError, UsageError
from nbtext.evaluation.cross_validation import train_and_score
from nbtext.explain.counterfactual import ALREADY_PREDICTED, WhyNotFinder, WhyNotResult
from nbtext.model.training import resolve_smoothing_terms
from nbtext.settings import CLASSIFIERS, CRITERIA, WEIGHTINGS
from tests.models import count_documents, require_sound, split_labelled
from tests.process import SERVICE_DESK, fresh_interpreters, in_json, python, succeed, succeeded

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray


Labelled = tuple[str, str]
Options = dict[str, Any]

VARIANTS: list[Options] = [
    *({"classifier": name, "weighting": weighting} for name in CLASSIFIERS for weighting in OFFERED_TRAITS[name]),
    {"classifier": "average", "members": "multinomial+bernoulli"},
    {"classifier": "average", "members": "evidence:multinomial:0.3+multinomial"},
    *(
        {"classifier": "multinomial", **settings}
        for settings in (
            {"ngrams": 3}, {"prior_shape": "background"}, {"estimate": "map", "smoothing": 0.2}, {"min_df": 2, "max_df": 0.5, "ngrams": 2},
            {"class_prior": "uniform"}, {"class_prior": "smoothed:0.5"}, {"stemmer": "porter"}, {"weighting": "log", "keep_documents": 50},
            {"weighting": "tfidf", "prior_shape": "background"}, {"weighting": "tfidf", "estimate": "map"},
        )
    ),
    *(
        {"classifier": "gaussian", "covariance": covariance, "covariance_shape": shape, "latent": 9}
        for covariance, shape in (("shared", "diagonal"), ("shared", "spherical"), ("separate", "full"), ("separate", "diagonal"))
    ),
]  # fmt: skip
WEAK: list[Options] = [
    {"classifier": "complement", "weighting": "tfidf", "top": 9, "ngrams": 2},
    *({"classifier": "multinomial", "criterion": by, "top": 4} for by in CRITERIA),
    *(
        {"classifier": "multinomial", **settings}
        for settings in ({"estimate": "ml"}, {"smoothing": 0})
    ),
]
"""Settings with which a model of a small corpus knows too little for some tests."""
EVERY, EVERY_AND_WEAK = (
    pytest.mark.parametrize(
        "options", variants, ids=lambda options: "-".join(map(str, options.values()))
    )
    for variants in (VARIANTS, [*VARIANTS, *WEAK])
)
EVERY_NAME = pytest.mark.parametrize("name", CLASSIFIERS)

PLAIN: Options = {"stemmer": "none", "stop_words": "none"}
CLASSES = ("alpha", "beta", "gamma")
COMMON = [f"common{number:02d}" for number in range(20)]


def draw_corpus(n: int, seed: int) -> list[Labelled]:
    """Documents of three classes, in turn: half of their words are those of the class."""
    random = np.random.default_rng(seed)
    documents = []
    for number in range(n):
        label = CLASSES[number % len(CLASSES)]
        words = [
            f"{label}{random.integers(8)}" if own else COMMON[random.integers(len(COMMON))]
            for own in (random.random(10) < 0.5).tolist()
        ]
        documents.append((label, " ".join(words)))
    return documents


CORPUS = draw_corpus(75, 0)
ASKED = [text for _, text in draw_corpus(30, 1)]


def fitted(documents: list[Labelled], options: Options, **more: Any) -> TextClassifier:
    return TextClassifier(**{**PLAIN, **options, **more}).fit(*split_labelled(documents))


@cache
def _fit_cached(options: tuple[tuple[str, str], ...]) -> TextClassifier:
    return fitted(CORPUS, dict(options))


def cached_model(options: Options) -> TextClassifier:
    """The model of `CORPUS`, which no test changes."""
    return _fit_cached(tuple(options.items()))


def saved(model: TextClassifier, folder: Path) -> bytes:
    path = folder / "m"
    model.save(str(path))
    return path.read_bytes()


def is_additive(options: Options) -> bool:
    """Whether its statistics are enough, so that nothing depends on the order of anything."""
    return not needs_documents(TextClassifier(**options).settings)


def assert_same_scores(
    found: NDArray[np.float64], wanted: NDArray[np.float64], options: Options
) -> None:
    """Equal but for rounding; what is fitted step by step may end a step apart, with the same answers."""
    if is_additive(options):
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9)
    assert found.argmax(axis=1).tolist() == wanted.argmax(axis=1).tolist()


@EVERY
def test_classifier_learns_to_separate_classes(options: Options) -> None:
    model = cached_model(options)
    assert model.score(ASKED, [label for label, _ in draw_corpus(30, 1)]) > 0.8
    np.testing.assert_allclose(model.predict_proba(ASKED).sum(axis=1), 1, rtol=1e-9)


@EVERY_AND_WEAK
def test_fitting_twice_gives_identical_files(options: Options, tmp_path: Path) -> None:
    assert saved(fitted(CORPUS, options), tmp_path) == saved(cached_model(options), tmp_path)


@EVERY_AND_WEAK
def test_order_of_documents_does_not_change_scores(options: Options, tmp_path: Path) -> None:
    shuffled = [CORPUS[row] for row in np.random.default_rng(5).permutation(len(CORPUS)).tolist()]
    one, other = cached_model(options), fitted(shuffled, options)
    assert_same_scores(other.joint_log_likelihood(ASKED), one.joint_log_likelihood(ASKED), options)
    assert saved(one, tmp_path) == saved(other, tmp_path)
    together = one.joint_log_likelihood(ASKED)
    np.testing.assert_array_equal(
        one.joint_log_likelihood(text.encode() for text in ASKED), together
    )
    np.testing.assert_allclose(one.joint_log_likelihood(ASKED[::-1])[::-1], together, rtol=1e-12)
    np.testing.assert_allclose(
        np.concatenate([one.joint_log_likelihood([text]) for text in ASKED]),
        together,
        rtol=1e-9,
        atol=1e-9,
    )


@EVERY
def test_removing_the_words_of_why_not_predicts_the_wanted_label(options: Options) -> None:
    model = cached_model(options)
    found: list[WhyNotResult] = []
    for wanted in model.classes:
        found += WhyNotFinder(model.fitted, wanted).find(
            Document(text, None, text.encode()) for text in ASKED[:4]
        )
    changed = [
        (each.wanted, " ".join(word for word in each.id.split() if word not in each.removed_words))
        for each in found
        if each.removed_words
    ]
    assert len(changed) > 1
    assert model.predict([text for _, text in changed]).tolist() == [
        wanted for wanted, _ in changed
    ]
    assert sum(each.reason == ALREADY_PREDICTED for each in found) == 4


@EVERY
def test_renamed_classes_give_renamed_predictions(options: Options) -> None:
    names = {"alpha": "z", "beta": "a", "gamma": "m"}
    one = fitted(CORPUS, options, calibration="none")
    other = fitted([(names[label], text) for label, text in CORPUS], options, calibration="none")
    columns = [other.classes.index(names[label]) for label in one.classes]
    assert columns == [2, 0, 1]
    assert_same_scores(
        other.joint_log_likelihood(ASKED)[:, columns], one.joint_log_likelihood(ASKED), options
    )
    assert other.predict(ASKED).tolist() == [
        names[str(label)] for label in one.predict(ASKED).tolist()
    ]


@EVERY
def test_renamed_terms_do_not_change_scores(options: Options) -> None:
    words = sorted({word for _, text in CORPUS for word in text.split()})
    order = np.random.default_rng(2).permutation(len(words)).tolist()
    names = {word: f"w{number:03d}" for word, number in zip(words, order, strict=True)}

    def renamed(text: str) -> str:
        return " ".join(names.get(word, "zzz") for word in text.split())

    one = fitted(CORPUS, options, calibration="none")
    other = fitted([(label, renamed(text)) for label, text in CORPUS], options, calibration="none")
    asked = [renamed(text) for text in ASKED]
    if (
        "members" in options
    ):  # its weights are fitted by folds, and these go by the content of documents
        assert other.predict(asked).tolist() == one.predict(ASKED).tolist()
        return
    assert_same_scores(other.joint_log_likelihood(asked), one.joint_log_likelihood(ASKED), options)


@EVERY
def test_unknown_terms_do_not_change_scores(options: Options) -> None:
    model = cached_model(options)
    assert (
        model.joint_log_likelihood(["unseen word", ""]).tolist()
        == [model.joint_log_likelihood([" "])[0].tolist()] * 2
    )
    both = model.joint_log_likelihood(["alpha1 unseen beta2", "alpha1 beta2"])
    assert both[0].tolist() == both[1].tolist()
    assert np.isfinite(model.predict_proba(["unseen", ""])).all()


@EVERY
def test_only_selected_terms_change_scores(options: Options) -> None:
    model = fitted(CORPUS, options, top=5)
    kept = np.flatnonzero(model.fitted.parameters.selected_terms).tolist()
    assert len(kept) == 5
    others = [
        word
        for word in COMMON
        if word not in {model.fitted.statistics.vocabulary.get_term(number) for number in kept}
    ]
    assert (
        model.joint_log_likelihood([" ".join(others)]).tolist()
        == model.joint_log_likelihood([""]).tolist()
    )


@EVERY
def test_empty_training_documents_are_counted_as_documents(options: Options) -> None:
    model = fitted([*CORPUS, *((label, "") for label in CLASSES), ("alpha", "")], options)
    assert model.fitted.statistics.n_documents == len(CORPUS) + 4
    probabilities = model.predict_proba([*ASKED, "", " "])
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, rtol=1e-9)
    assert model.predict(ASKED).tolist() == cached_model(options).predict(ASKED).tolist()


@EVERY
def test_documents_without_terms_get_the_class_prior(options: Options, tmp_path: Path) -> None:
    model = fitted([("a", ""), ("b", ""), ("b", "-")], options)
    probabilities = model.predict_proba(["", "anything"])
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, rtol=1e-9)
    assert probabilities[0].tolist() == probabilities[1].tolist()
    saved(model, tmp_path)
    np.testing.assert_array_equal(
        TextClassifier.load("m").predict_proba(["", "anything"]), probabilities
    )


@EVERY
def test_single_class_is_always_predicted(options: Options) -> None:
    model = fitted([("only", text) for _, text in CORPUS], options)
    assert model.predict([*ASKED, ""]).tolist() == ["only"] * (len(ASKED) + 1)
    assert model.predict_proba(ASKED).tolist() == [[1.0]] * len(ASKED)


@EVERY
def test_class_with_one_document_is_predicted(options: Options) -> None:
    model = fitted([*CORPUS, ("single", "solo solo aria alone lonely one sole")], options)
    probabilities = model.predict_proba([*ASKED, "solo aria alone", ""])
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, rtol=1e-9)
    assert model.classes == [*CLASSES, "single"]
    assert cached_model(options).predict(ASKED).tolist() == model.predict(ASKED).tolist()


@EVERY_AND_WEAK
def test_saved_and_loaded_model_is_the_same(options: Options, tmp_path: Path) -> None:
    model = cached_model(options)
    written = saved(model, tmp_path)
    loaded = TextClassifier.load("m")
    assert (loaded.fitted.statistics, loaded.settings, loaded.reading) == (
        model.fitted.statistics,
        model.settings,
        model.reading,
    )
    assert saved(loaded, tmp_path) == written
    np.testing.assert_array_equal(
        loaded.joint_log_likelihood(ASKED), model.joint_log_likelihood(ASKED)
    )
    np.testing.assert_array_equal(loaded.predict_proba(ASKED), model.predict_proba(ASKED))


@EVERY
def test_additive_scores_are_sums_over_terms(options: Options) -> None:
    """But for what depends on the length of a document alone, and is the same in every class."""
    model = cached_model(options)
    summed = get_additive_classifier(model.fitted.classifier)
    if summed is None:
        pytest.skip("its scores are no sums over terms")
    texts = ["alpha1 beta2 beta2 common03", "gamma0 unseen", ""]
    counts = DocumentCounter(model.analysis, model.fitted.statistics.vocabulary).count(
        [text.encode() for text in texts]
    )
    matrix = counts.to_matrix().select_terms(summed.get_scored_terms())
    features, biases = summed.compute_features(matrix), summed.compute_document_biases(matrix)
    documents = features.entry_documents
    sums = biases.copy()
    np.add.at(sums, documents, summed.score_terms(features.terms, features.counts))
    scores = model.joint_log_likelihood(texts)
    np.testing.assert_allclose(sums - sums[:, :1], scores - scores[:, :1], atol=1e-9)
    answers, rivals = np.full(documents.size, 1), np.full(documents.size, 2)
    ahead = (
        biases[:, 1]
        - biases[:, 2]
        + np.bincount(
            documents, summed.compute_score_differences(features, answers, rivals), len(texts)
        )
    )
    np.testing.assert_allclose(ahead, scores[:, 1] - scores[:, 2], atol=1e-9)


@EVERY
def test_probabilities_of_the_model_pass_verification(options: Options, tmp_path: Path) -> None:
    saved(cached_model(options), tmp_path)
    require_sound("m")


@EVERY
def test_arrays_that_training_cannot_produce_are_refused(options: Options) -> None:
    model = cached_model(options)
    training = Training(
        model.fitted.statistics,
        model.fitted.parameters.selected_terms,
        model.fitted.parameters.smoothing,
        model.settings,
    )
    kept, chosen = (
        dict(model.fitted.parameters.classifier_arrays),
        load_classifier_class(options["classifier"]),
    )
    wrong = [{**kept, "more": np.ones(1)}]
    for name, array in kept.items():
        wrong += [{**kept, name: array.ravel()[:-1]}]
        wrong += (
            [{other: kept[other] for other in kept if other != name}]
            if name != LENGTH_DIVISOR_ARRAY
            else []
        )  # scores may be as they are
    for arrays in wrong:
        with pytest.raises(ModelError, match="the model is malformed"):
            chosen.from_arrays(training, arrays)
    chosen.from_arrays(training, kept)


@EVERY_AND_WEAK
def test_partial_fit_equals_one_fit_or_is_refused(options: Options, tmp_path: Path) -> None:
    whole, parts = cached_model(options), fitted(CORPUS[:40], options)
    texts, labels = [text for _, text in CORPUS[40:]], [label for label, _ in CORPUS[40:]]
    if is_additive(options):
        assert saved(parts.partial_fit(texts, labels), tmp_path) == saved(whole, tmp_path)
        return
    before = saved(parts, tmp_path)
    with pytest.raises(UsageError, match=r"an exact change of a model cannot be used with .*"):
        parts.partial_fit(texts, labels)
    assert saved(parts, tmp_path) == before


@EVERY
def test_calibration_does_not_change_predictions(options: Options) -> None:
    asked = [*ASKED, "alpha1", "beta2 beta2 common03", "gamma0 alpha1"]
    plain = fitted(CORPUS, options, calibration="none")
    model = fitted(CORPUS, options, calibration="auto")
    np.testing.assert_array_equal(
        model.joint_log_likelihood(asked), plain.joint_log_likelihood(asked)
    )
    assert model.predict(asked).tolist() == plain.predict(asked).tolist()
    assert model.fitted.parameters.calibration_quality is not None
    assert model.fitted.parameters.calibration_quality["documents"] > 10


@EVERY_AND_WEAK
@pytest.mark.parametrize("calibration", ["auto", "none"])
def test_cross_validation_equals_training_on_the_other_folds(
    options: Options, calibration: str
) -> None:
    model = TextClassifier(**{**PLAIN, **options, "calibration": calibration})
    statistics, documents = count_documents(
        [(label, text.encode()) for label, text in CORPUS], model.analysis
    )
    test = np.arange(len(CORPUS)) % 5 == 2
    _, blocks = train_and_score(
        Subsets(statistics, documents), resolve_smoothing_terms(model.analysis), ~test, test
    )
    (block,) = blocks
    apart = fitted([CORPUS[row] for row in np.flatnonzero(~test)], options, calibration=calibration)
    wanted = apart.predict_log_proba([CORPUS[row][1] for row in np.flatnonzero(test)])
    exactness = 1e-8 if is_additive(options) else 1e-2
    np.testing.assert_allclose(block.posterior.log_p, wanted, rtol=exactness, atol=exactness)
    assert block.posterior.log_p.argmax(axis=1).tolist() == wanted.argmax(axis=1).tolist()


@pytest.fixture(scope="module", params=list(CLASSIFIERS))
def trained(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a model of the service desk, by the real command."""
    folder: Path = tmp_path_factory.mktemp(request.param)
    succeed("train", SERVICE_DESK / "train", "--classifier", request.param, cwd=folder)
    return folder


def test_model_file_does_not_depend_on_the_hash_seed(tmp_path: Path) -> None:
    train = f"['train', {str(SERVICE_DESK / 'train')!r}, '--classifier', name, '-m', name]"
    code = f"import sys; from nbtext.cli.main import run; sys.exit(max(run({train}) for name in sys.argv[1:]))"
    models = []
    for folder, new in ((tmp_path / "forked", False), (tmp_path / "fresh", True)):
        folder.mkdir()
        with fresh_interpreters(new):  # with another hash seed
            succeeded(python(code, *CLASSIFIERS, cwd=folder, env={"OPENBLAS_NUM_THREADS": "1"}))
        models.append([(folder / name).read_bytes() for name in CLASSIFIERS])
    assert models[0] == models[1]


def test_commands_run_with_a_model_of_every_classifier(trained: Path) -> None:
    test = SERVICE_DESK / "test"
    classified = succeed("classify", test, cwd=trained)
    assert all(0 < float(probability) <= 1 for _, _, probability in classified.rows)
    judged = in_json("evaluate", test, cwd=trained)
    assert judged["n"] == len(classified.rows)
    assert judged["accuracy"] > 0.4
    shown = in_json("inspect", cwd=trained)
    assert shown["training"]["classifier"] in CLASSIFIERS
    succeed("inspect", cwd=trained)
    for by in ("mutual-information", "presence", "chi2", "log-odds"):
        assert len(succeed("select-features --limit 5 --criterion", by, cwd=trained).rows) == 5
    succeed("report", test, "--to", "page.html", cwd=trained)
    assert b"</html>" in (trained / "page.html").read_bytes()
    assert (
        succeed("classify --lines", cwd=trained, stdin=b"the printer is broken\n\n").text.count(
            "\n"
        )
        == 2
    )


@pytest.mark.fresh_interpreters("what is imported")
def test_classifying_with_a_model_imports_only_numpy(tmp_path: Path) -> None:
    for name in CLASSIFIERS:
        fitted(CORPUS, {"classifier": name}).save(str(tmp_path / name))
    code = (
        "import sys; from nbtext import TextClassifier\n"
        "for name in sys.argv[1:]: TextClassifier.load(name).predict(['the printer is broken']).tolist()\n"
        "print(*sorted({'scipy', 'nltk', 'joblib', 'click', 'rich'} & set(sys.modules)))"
    )
    assert succeeded(python(code, *CLASSIFIERS)).out == b"\n"


@EVERY_NAME
def test_unsupported_weighting_is_refused(name: str) -> None:
    for weighting in set(WEIGHTINGS) - set(OFFERED_TRAITS[name]):
        with pytest.raises(
            UsageError, match=f"classifier {name} cannot be used with weighting {weighting}"
        ):
            fitted(CORPUS, {"classifier": name, "weighting": weighting})


@EVERY_NAME
def test_unsupported_prior_shape_is_refused(name: str) -> None:
    for shape in ("symmetric", "background"):
        if shape == "symmetric" or traits.BACKGROUND in OFFERED_TRAITS[name]["counts"]:
            assert (
                fitted(CORPUS, {"classifier": name}, prior_shape=shape).score(
                    ASKED, [label for label, _ in draw_corpus(30, 1)]
                )
                > 0.7
            )
            continue
        with pytest.raises(UsageError, match=f"prior_shape={shape} cannot be used with .*"):
            fitted(CORPUS, {"classifier": name}, prior_shape=shape)

"""The weighted geometric mean of posteriors, against plain numpy and scipy, and the weights against those of calibration."""

from __future__ import annotations

from math import log
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtext import TextClassifier
from nbtext.classifiers.average import EnsembleClassifier, fit_ensemble_weights
from nbtext.classifiers.base import get_classifier_parameters
from nbtext.errors import UsageError
from nbtext.inspection.criteria import compute_criteria, estimate_labelled_classifier
from nbtext.inspection.overview import build_overview
from nbtext.model.training import compute_held_out_posteriors
from nbtext.prediction.calibration import fit_length_temperature
from nbtext.report.models import print_overview
from nbtext.settings import Settings
from tests.explained_models import model
from tests.models import require_sound, split_labelled
from tests.process import content, fail, in_json, nbtext, succeed, write
from tests.profiles import examples

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

ADDITIVE = "multinomial+bernoulli"


def pooled_by_hand(of: TextClassifier, texts: list[str]) -> Floats:
    """The scores Σ_m c_m n^β_m s_m of an average, from members that were trained by themselves."""
    average = of.fitted.classifier
    assert isinstance(average, EnsembleClassifier)
    total: Floats = np.zeros((len(texts), len(of.classes)))
    lengths = of.fitted.score([text.encode() for text in texts]).lengths
    for settings, scale, exponent in zip(
        of.settings.member_settings, *average.ensemble_weights, strict=True
    ):
        alone = model(
            classifier=settings.classifier, weighting=settings.weighting, calibration="none"
        )
        weights = np.where(
            lengths > 0, scale * np.maximum(lengths, 1.0) ** exponent, 1 / len(average.members)
        )
        total += weights[:, np.newaxis] * alone.joint_log_likelihood(texts)
    return total


@pytest.mark.parametrize(
    "members", ["multinomial:log+logistic", ADDITIVE, "bernoulli+complement:tfidf+multinomial"]
)
def test_ensemble_scores_are_weighted_sums_of_member_scores(members: str) -> None:
    of = model(classifier="average", members=members)
    texts = [
        "the red cat purrs",
        "dogs bark, fish swim",
        "cat",
        "unheard",
        "",
        "cat dog fish water postman sofa red white",
    ]
    np.testing.assert_allclose(
        of.joint_log_likelihood(texts), pooled_by_hand(of, texts), rtol=1e-5, atol=1e-5
    )


def draw_scores(
    seed: int, n_members: int = 2
) -> tuple[Floats, NDArray[np.int64], NDArray[np.int64], Floats]:
    """Scores of members that know something of the truth, the more the later the member, the true classes, lengths, and weights of documents."""
    random = np.random.default_rng(seed)
    truth, lengths = random.integers(0, 3, 120), random.integers(0, 60, 120)
    scores = random.normal(size=(120, n_members, 3)) * (1 + lengths / 10)[:, np.newaxis, np.newaxis]
    scores[np.arange(120), :, truth] += np.arange(n_members) * (1 + lengths / 20)[:, np.newaxis]
    return scores, truth, lengths, random.integers(1, 4, 120).astype(np.float64)


@examples(5)
@given(st.integers(0, 1000), st.integers(2, 3))
def test_ensemble_weights_match_the_optimum_of_scipy(seed: int, n_members: int) -> None:
    from scipy.optimize import minimize
    from scipy.special import logsumexp

    scores, truth, lengths, heavy = draw_scores(seed, n_members)
    heavy *= lengths > 0  # others have equal weights
    x = np.log(np.maximum(lengths, 1))
    centre = (heavy * x).sum() / heavy.sum()

    def loss(parameters: Floats) -> float:
        logs, exponents = parameters.reshape(2, n_members)
        weights = np.exp(logs + np.outer(x - centre, exponents))
        pooled = (weights[:, :, np.newaxis] * scores).sum(axis=1)
        penalty = ((logs + log(n_members)) ** 2).sum() + (exponents**2).sum()
        return float(
            heavy @ (logsumexp(pooled, axis=1) - pooled[np.arange(truth.size), truth]) + penalty / 2
        )

    pool = fit_ensemble_weights(scores, truth, lengths, heavy)
    found = np.concatenate((np.log(pool.scales) + pool.exponents * centre, pool.exponents))
    start = np.concatenate((np.full(n_members, -log(n_members)), np.zeros(n_members)))
    best = min(minimize(loss, begin, tol=1e-6).fun for begin in (start, found))
    assert loss(found) == pytest.approx(best, abs=1e-4)
    assert np.all(pool.scales > 0)


@examples(15)
@given(st.integers(0, 1000))
def test_weight_of_a_single_member_is_the_inverse_temperature(seed: int) -> None:
    """Both fits stop where a step gains next to nothing: the farthest apart of these seeds, 973, are 0.46 %."""
    scores, truth, lengths, heavy = draw_scores(seed)
    calibration, pool = (
        fit_length_temperature(scores[:, 1], truth, lengths, heavy),
        fit_ensemble_weights(scores[:, 1:], truth, lengths, heavy),
    )
    n = np.array([5, 20, 50])
    assert pool.compute_member_weights(n)[:, 0] == pytest.approx(
        1 / calibration.compute_temperatures(n), rel=5e-3
    )


def test_held_out_documents_are_not_predicted_better_than_new_ones() -> None:
    """Labels drawn by chance: weights fitted to the very documents that they answer would make these look less than certain to be a coin's throw."""
    draw = np.random.default_rng(4)
    losses = []
    for _ in range(24):
        texts = [" ".join(f"w{word}" for word in draw.integers(0, 40, 12)) for _ in range(60)]
        found = compute_held_out_posteriors(
            TextClassifier(classifier="average").fit(texts, list("ab") * 30).fitted
        )
        losses.append(-found.log_posterior[np.arange(len(found.truth)), found.truth.indices].mean())
    assert np.mean(losses) > np.log(2)


@pytest.mark.parametrize("seed", [0, 2, 3])
def test_long_held_out_document_with_wrong_label_keeps_positive_probability(seed: int) -> None:
    """Temperatures fitted without the long ones would be extrapolated to their length: one document would then outweigh all others in `prevalence`."""
    draw = np.random.default_rng(seed)
    short = [
        " ".join(f"w{word + 10 * (row % 2)}" for word in draw.integers(0, 30, draw.integers(3, 9)))
        for row in range(150)
    ]
    long = [" ".join(f"w{word + 10}" for word in draw.integers(0, 30, 200)) for _ in range(5)]
    found = compute_held_out_posteriors(
        TextClassifier(classifier="average").fit(short + long, list("ab") * 75 + ["a"] * 5).fitted
    )
    assert found.log_posterior[np.arange(len(found.truth)), found.truth.indices].min() > -5


def test_weights_without_documents_are_equal() -> None:
    pool = fit_ensemble_weights(
        np.empty((0, 3, 2)), np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0)
    )
    assert (pool.scales.tolist(), pool.exponents.tolist()) == ([1 / 3] * 3, [0] * 3)
    of = model(classifier="average", members="multinomial+complement+bernoulli", keep_documents=0)
    assert isinstance(of.fitted.classifier, EnsembleClassifier)
    assert of.fitted.classifier.ensemble_weights.scales.tolist() == [
        1 / len(of.fitted.classifier.members)
    ] * len(of.fitted.classifier.members)


@pytest.mark.parametrize(
    ("members", "wanted"),
    [
        ("multinomial:log, LOGISTIC", "multinomial:log+logistic"),
        ("multinomial:counts+bernoulli", "multinomial+bernoulli"),
        ("multinomial+multinomial:log", "multinomial+multinomial:log"),
        (
            "multinomial:1e3 + multinomial:1E+5+bernoulli:2e-7",
            "multinomial:1000+multinomial:100000+bernoulli:2e-07",
        ),
        (
            "Multinomial:0.1 + multinomial:counts:1+multinomial:log:2",
            "multinomial:0.1+multinomial:1+multinomial:log:2",
        ),
    ],
)
def test_names_of_members_are_normalised(members: str, wanted: str) -> None:
    settings = Settings(classifier="average", members=members)
    assert settings.members == wanted
    own = [
        f":{each.smoothing:g}" if isinstance(each.smoothing, float) else ""
        for each in settings.member_settings
    ]
    assert [
        f"{each.classifier}:{each.weighting}".removesuffix(":counts") + a
        for each, a in zip(settings.member_settings, own, strict=True)
    ] == wanted.split("+")


@pytest.mark.parametrize(
    "members",
    [
        *(
            "multinomial",
            "multinomial+multinomial:counts",
            "average+logistic",
            "multinomial+svm",
            "multinomial:x+logistic",
            "",
        ),
        *(
            "multinomial:1:2+logistic",
            "multinomial:-1+logistic",
            "multinomial:1e20+logistic",
            "evidence:multinomial:1",
            "evidence:",
            "proof:multinomial:1+multinomial",
        ),
    ],
)
def test_invalid_members_are_refused(members: str) -> None:
    with pytest.raises(UsageError, match="members must be"):
        Settings(members=members)


def test_weighting_that_a_member_does_not_support_is_refused() -> None:
    with pytest.raises(
        UsageError, match="classifier bernoulli cannot be used with weighting tfidf"
    ):
        model(classifier="average", members="multinomial+bernoulli:tfidf")


def test_attributes_add_to_the_ensemble_scores() -> None:
    rows = [
        {"text": "cat purrs", "legs": 4.5},
        {"text": "cat sleeps", "legs": 4},
        {"text": "fish swim", "legs": 0},
        {"text": "fish", "legs": 1},
    ]
    labels = ["cats", "cats", "fish", "fish"]
    of = TextClassifier(classifier="average", numeric="legs").fit(rows, labels)
    assert of.predict([{"text": "", "legs": 4}, {"text": "", "legs": 0.5}]).tolist() == [
        "cats",
        "fish",
    ]


def test_inspect_shows_the_ensemble_weights(capsys: pytest.CaptureFixture[str]) -> None:
    of = model(classifier="average")
    found = build_overview(of, 0)
    assert isinstance(of.fitted.classifier, EnsembleClassifier)
    assert [(name, weight.scale, weight.exponent) for name, weight in found.members.items()] == [
        (name, *weight)
        for name, weight in zip(
            ("multinomial:log", "logistic"),
            zip(*np.array(of.fitted.classifier.ensemble_weights).tolist(), strict=True),
            strict=True,
        )
    ]
    print_overview(found)
    [line] = [line for line in capsys.readouterr().out.splitlines() if line.startswith("weights")]
    assert f"multinomial:log {found.members['multinomial:log'].scale:.4g} · n^" in line
    assert build_overview(model(), 0).members == {}


COINS = "multinomial:0.1+multinomial:1+multinomial"


def by_evidence(members: str, rows: list[tuple[str, str]], **settings: Any) -> TextClassifier:
    """An average by p(m | data) without calibration."""
    plain = {
        "stemmer": "none",
        "stop_words": "none",
        "calibration": "none",
        "smoothing": 3,
        **settings,
    }
    of = TextClassifier(classifier="average", members=f"evidence:{members}", **plain)
    return of.fit(*split_labelled(rows))


ROWS = [
    ("a", "ant bee ant"),
    ("a", "ant cat"),
    ("b", "bee cow"),
    ("b", "cow"),
    ("c", "dog dog ant"),
]
ASKED = ["ant bee", "cow dog", "ant ant ant", "", "unheard"]


@pytest.mark.parametrize("classifier", ["multinomial", "bernoulli"])
def test_evidence_mixture_weights_member_posteriors_by_their_evidence(classifier: Any) -> None:
    """Against models of each pseudo-count, whose evidence is the product of predictions for the multinomial: tokens of a class one after the other."""
    of = by_evidence(f"{classifier}:0.1+{classifier}:1+{classifier}", ROWS)
    posteriors: list[Floats] = []
    evidences: list[float] = []
    for a in (0.1, 1.0, 3.0):
        alone = TextClassifier(
            classifier=classifier,
            stemmer="none",
            stop_words="none",
            calibration="none",
            smoothing=a,
        )
        alone.fit(*split_labelled(ROWS))
        posteriors.append(alone.predict_proba(ASKED))
        predictions = []
        for label in "abc":
            seen: list[str] = []
            for token in " ".join(text for each, text in ROWS if each == label).split():
                predictions.append(log((seen.count(token) + a) / (len(seen) + 5 * a)))
                seen.append(token)
        evidences.append(
            sum(predictions)
            if classifier == "multinomial"
            else compute_criteria(estimate_labelled_classifier(alone)).evidence or 0.0
        )
    shares = np.exp(np.array(evidences) - np.logaddexp.reduce(evidences))
    assert 0.05 < shares.max() < 0.95
    np.testing.assert_allclose(
        of.predict_proba(ASKED), np.einsum("m,mdk->dk", shares, posteriors), rtol=1e-9
    )
    shown = get_classifier_parameters(of.fitted.classifier).member_weights
    assert list(shown) == [f"{classifier}:0.1", f"{classifier}:1", classifier]
    assert [scale for scale, _ in shown.values()] == pytest.approx(shares.tolist(), rel=1e-9)


def test_prior_weights_of_members_multiply_their_evidence() -> None:
    """p(m | data) ∝ p(m) p(data | m), against the weights under equal priors."""
    equal = by_evidence("multinomial:0.1+multinomial:1+multinomial", ROWS)
    of = by_evidence("multinomial:0.1*1.0+multinomial:1*4+multinomial*5e-1", ROWS)
    assert of.settings.members == "evidence:multinomial:0.1+multinomial:1*4+multinomial*0.5"
    factors = np.array([1, 4, 0.5])
    evidences = np.array([m[0] for m in _member_weights(equal).values()]) * factors
    shares = evidences / evidences.sum()
    assert shares.min() > 1e-6
    np.testing.assert_allclose([m[0] for m in _member_weights(of).values()], shares, rtol=1e-9)
    found = build_overview(of, 0)
    assert found.member_priors == pytest.approx(
        dict(zip(found.members, factors / factors.sum(), strict=True))
    )
    assert build_overview(equal, 0).member_priors is None


def _member_weights(of: TextClassifier) -> dict[str, tuple[float, float]]:
    return dict(get_classifier_parameters(of.fitted.classifier).member_weights)


def test_prior_weights_are_kept_in_the_file_and_shown(tmp_path: Path) -> None:
    write("some.tsv", "".join(f"{label}\t{text}\n" for label, text in ROWS))
    members = "evidence:multinomial:0.1*3+multinomial:1"
    succeed(f"train some.tsv --model some --classifier average --set members={members}")
    shown = in_json("inspect --model some")
    assert shown["training"]["members"] == members
    assert shown["member_priors"] == {"multinomial:0.1*3": 0.75, "multinomial:1": 0.25}
    assert ", from p(m) 0.75, 0.25\n" in succeed("inspect --model some").text
    require_sound("some")


@pytest.mark.parametrize(
    ("members", "why"),
    [
        ("multinomial:1*3+multinomial:2", "models without prior weights"),
        ("evidence:multinomial:1*0+multinomial:2", "with a prior weight in this range"),
        ("evidence:multinomial:1*x+multinomial:2", "with a prior weight in this range"),
        ("evidence:multinomial:1*3+multinomial:1*2", "two or more different classifiers"),
        ("evidence:multinomial:1*3*2+multinomial:2", "two or more different classifiers"),
    ],
)
def test_invalid_prior_weights_are_refused(members: str, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        TextClassifier(classifier="average", members=members)


def test_evidence_weights_follow_added_and_removed_documents(tmp_path: Path) -> None:
    """The evidence is a function of the counts."""
    write("some.tsv", "".join(f"{label}\t{text}\n" for label, text in ROWS[:3]))
    write("rest.tsv", "".join(f"{label}\t{text}\n" for label, text in ROWS[3:]))
    options = f"--classifier average --combine evidence --members {COINS} --stemmer none"
    succeed(f"train some.tsv --model some {options}")
    succeed(f"train some.tsv rest.tsv --model all {options}")
    prefixed = options.replace("--combine evidence --members ", "--members evidence:")
    succeed(f"train some.tsv --model same {prefixed}")
    assert content("same") == content("some")
    succeed("update rest.tsv --model some")
    assert content("some") == content("all") != content("same")
    succeed("forget rest.tsv --model some")
    assert content("some") == content("same")
    weights = in_json("inspect --model all")["members"]
    assert sum(weight["scale"] for weight in weights.values()) == pytest.approx(1)
    assert f"multinomial:1 {weights['multinomial:1']['scale']:.4g}, " in (
        shown := succeed("inspect --model all").text
    )
    assert ", p(m | data)\n" in shown
    require_sound("all")
    assert (
        f"--set members=evidence:{COINS}"
        in nbtext(f"tune some.tsv {options} --try ngrams=1,2 --folds 2 --model tuned").text
    )


@pytest.mark.parametrize(
    ("members", "why"),
    [
        ("multinomial:1+bernoulli:1", "p(m | data) compares models of the same counts"),
        ("multinomial:log:1+multinomial:log:2", "p(m | data) compares models of the same counts"),
        ("gaussian:1+gaussian:2", "p(m | data) compares models of the same counts"),
        ("multinomial:0+multinomial:1", "a single count of 0 would decide"),
        ("multinomial:1+multinomial:2 --estimate ml", "maximum likelihood has no prior"),
    ],
)
def test_members_without_comparable_evidence_are_refused(
    pets: Path, members: str, why: str
) -> None:
    assert why in fail(2, f"train pets --classifier average --combine evidence --members {members}")


def test_model_with_negligible_evidence_gets_no_weight() -> None:
    rows = [("a", "ant " * 3000), ("b", "bee " * 3000)]
    of = by_evidence("multinomial:0.1+multinomial:1000", rows)
    alone = TextClassifier(stemmer="none", calibration="none", smoothing=0.1).fit(
        *split_labelled(rows)
    )
    assert of.predict_proba(["ant"])[0].tolist() == pytest.approx(
        alone.predict_proba(["ant"])[0].tolist()
    )


@pytest.mark.usefixtures("tmp_path")
def test_members_have_their_own_pseudo_counts() -> None:
    of = model(
        classifier="average", members="multinomial:0.1+multinomial:5+bernoulli", calibration="none"
    )
    average = of.fitted.classifier
    assert isinstance(average, EnsembleClassifier)
    chosen = model(classifier="bernoulli").fitted.parameters.smoothing
    assert [member.training.smoothing for member in average.members] == [0.1, 5.0, chosen]
    of.save("m")
    np.testing.assert_array_equal(
        TextClassifier.load("m").joint_log_likelihood(ASKED), of.joint_log_likelihood(ASKED)
    )

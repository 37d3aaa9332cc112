"""C. Manning, P. Raghavan, H. Schütze, Introduction to Information Retrieval (2008), chapter 13.

Table 13.1 with examples 13.1 (multinomial) and 13.2 (Bernoulli); examples 13.3 (mutual information, in bits) and 13.4 (χ²) on Reuters-RCV1.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest

from nbtext import TextClassifier
from nbtext.classifiers.bernoulli import BernoulliNaiveBayes
from tests.numbers.published import PLAIN, fitted, joint, posterior, probability
from tests.process import in_json, succeed
from tests.textbook import CHINA, CHINA_ASKED

if TYPE_CHECKING:
    from pathlib import Path

    from nbtext.counts.corpus_counts import CorpusCounts

CORPUS = [(label, " ".join(terms)) for label, terms in CHINA]
ASKED = " ".join(CHINA_ASKED)


def test_parameters_of_example_13_1_match_the_book() -> None:
    model = fitted(CORPUS, smoothing=1)
    assert dict(zip(model.classes, model.fitted.classifier.prior.tolist(), strict=True)) == {
        "yes": 3 / 4,
        "no": 1 / 4,
    }
    assert probability(model, "chinese") == {"yes": 3 / 7, "no": 2 / 9}
    assert (
        probability(model, "tokyo") == probability(model, "japan") == {"yes": 1 / 14, "no": 2 / 9}
    )


def test_document_of_example_13_1_is_classified_as_china() -> None:
    model = fitted(CORPUS, smoothing=1)
    assert joint(model, ASKED) == pytest.approx({"yes": 0.0003, "no": 0.0001}, abs=5e-5)
    yes, no = 3 / 4 * (3 / 7) ** 3 * 1 / 14 * 1 / 14, 1 / 4 * (2 / 9) ** 3 * 2 / 9 * 2 / 9
    assert joint(model, ASKED) == pytest.approx({"yes": yes, "no": no}, rel=1e-12)
    assert posterior(model, ASKED) == pytest.approx(
        {"yes": yes / (yes + no), "no": no / (yes + no)}, rel=1e-12
    )
    assert model.predict([ASKED]).tolist() == ["yes"]


def test_example_13_1_is_reproduced_by_the_commands(tmp_path: Path) -> None:
    (tmp_path / "train.tsv").write_text("".join(f"{label}\t{text}\n" for label, text in CORPUS))
    options = (
        "--smoothing",
        "1",
        "--stemmer",
        "none",
        "--stop-words",
        "none",
        "--calibration",
        "none",
    )
    succeed("train train.tsv", *options)
    ((_, label, share),) = succeed("classify --lines", stdin=f"{ASKED}\n".encode()).rows
    yes, no = 3 / 4 * (3 / 7) ** 3 * 1 / 14 * 1 / 14, 1 / 4 * (2 / 9) ** 3 * 2 / 9 * 2 / 9
    assert label == "yes"
    assert float(share) == pytest.approx(yes / (yes + no), rel=1e-5)


def test_document_of_example_13_2_is_not_classified_as_china() -> None:
    model = fitted(CORPUS, smoothing=1, classifier="bernoulli")
    assert isinstance(model.fitted.classifier, BernoulliNaiveBayes)
    terms = np.array(
        model.fitted.statistics.vocabulary.find(
            ["chinese", "japan", "tokyo", "beijing", "macao", "shanghai"]
        )
    )
    theta = dict(
        zip(
            model.classes,
            model.fitted.classifier.compute_probability(terms).T.tolist(),
            strict=True,
        )
    )
    assert theta["yes"] == pytest.approx([4 / 5, 1 / 5, 1 / 5, 2 / 5, 2 / 5, 2 / 5], rel=1e-12)
    assert theta["no"] == pytest.approx([2 / 3, 2 / 3, 2 / 3, 1 / 3, 1 / 3, 1 / 3], rel=1e-12)
    assert joint(model, ASKED) == pytest.approx({"yes": 0.005, "no": 0.022}, abs=5e-4)
    assert model.predict([ASKED]).tolist() == ["no"]


EXPORT = {
    ("poultry", "export"): 49,
    ("other", "export"): 27_652,
    ("poultry", ""): 141,
    ("other", ""): 774_106,
}
"""Documents of Reuters-RCV1 by class and by whether they hold "export": N11, N10, N01 and N00."""


def times(counts: CorpusCounts, n: int) -> CorpusCounts:
    """Counts of the same documents n times over, by doubling."""
    if n == 1:
        return counts
    half = times(counts, n // 2)
    return half + half + counts if n % 2 else half + half


@pytest.fixture(scope="module")
def reuters(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of the 801,948 documents, with no sample."""
    path: Path = tmp_path_factory.mktemp("reuters") / "nbtext.joblib"
    parts = [
        times(fitted([(label, text)], keep_documents=0, smoothing=1).counts, n)
        for (label, text), n in EXPORT.items()
    ]
    counts = parts[0] + parts[1] + parts[2] + parts[3]
    TextClassifier(**PLAIN, keep_documents=0, smoothing=1).learn(counts).save(str(path))
    return path


@pytest.mark.parametrize(
    ("criterion", "wanted"),
    [
        ("presence", pytest.approx(0.0001105 * math.log(2), abs=5e-8 * math.log(2))),
        ("chi2", pytest.approx(284, abs=0.5)),
    ],
)
def test_scores_of_export_in_examples_13_3_and_13_4_match_the_book(
    reuters: Path, criterion: str, wanted: object
) -> None:
    """Mutual information is printed in bits; nbtext has nats."""
    assert in_json("inspect -o json -m", reuters)["documents"] == 801_948
    ((_, term, score, label),) = succeed(
        "select-features --criterion", criterion, "-o", "tsv", "-m", reuters
    ).rows
    assert (term, label) == ("export", "poultry")
    assert float(score) == wanted

"""docs/course.md and docs/exercises.md: the numbers of the small examples a second time.

They are computed from the files of the examples, without the functions of nbtext.
"""

from __future__ import annotations

import csv
import math
import re
from collections import Counter
from fractions import Fraction
from itertools import pairwise, product
from typing import TYPE_CHECKING

import numpy as np
import pytest
from nltk.stem.snowball import SnowballStemmer
from scipy import integrate, optimize, stats

from nbtext.cli.help import read_topic
from tests import oracle
from tests.process import REPOSITORY

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tests.oracle import Labelled

DATA = REPOSITORY / "docs/course"
COURSE = (REPOSITORY / "docs/course.md").read_text(encoding="utf-8")
EXERCISES = (REPOSITORY / "docs/exercises.md").read_text(encoding="utf-8")

Row = dict[str, str]
Document = tuple[str, Counter[str]]


def section(title: str) -> str:
    """The example or exercise with this title, up to the next heading."""
    for page in (COURSE, EXERCISES):
        found = re.search(
            rf"^(#{{2,3}}) {re.escape(title)}\n(.*?)(?=^#|\Z)", page, re.MULTILINE | re.DOTALL
        )
        if found:
            return found[2]
    raise AssertionError(f"no example {title!r}")


def assert_printed(title: str, printed: str, value: float) -> None:
    """Assert that the example prints the number, and that it is the rounded value."""
    pattern = rf"(?<![\w.,]){re.escape(printed)}(?![\w]|[.,]\d)"
    assert re.search(pattern, section(title)), f"{printed} is not in {title!r}"
    number = float(printed.replace("−", "-").replace(",", ""))
    decimals = len(printed.partition(".")[2])
    assert abs(number - value) <= 0.500001 * 10**-decimals, (title, printed, value)


def read_rows(name: str) -> list[Row]:
    with (DATA / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def read_texts(name: str) -> list[Document]:
    lines = (DATA / name).read_text(encoding="utf-8").lower().splitlines()
    return [(label, Counter(text.split())) for label, text in (line.split("\t") for line in lines)]


def read_svmlight(name: str) -> list[Document]:
    documents = []
    for line in (DATA / name).read_text(encoding="utf-8").splitlines():
        label, *cells = line.split()
        counts: Counter[str] = Counter()
        for cell in cells:
            feature, _, count = cell.partition(":")
            counts[feature] = int(count)
        documents.append((label, counts))
    return documents


def estimate(counts: Counter[str], term: str, n_terms: int, pseudo_count: float = 1) -> Fraction:
    a = Fraction(pseudo_count)
    return (counts[term] + a) / (counts.total() + a * n_terms)


def sum_classes(documents: Sequence[Document]) -> dict[str, Counter[str]]:
    sums: dict[str, Counter[str]] = {}
    for label, counts in documents:
        sums.setdefault(label, Counter()).update(counts)
    return sums


def join_texts(
    documents: Sequence[Document], asked: str, prior: Mapping[str, Fraction] | None = None
) -> dict[str, Fraction]:
    """Joint probabilities of a text and each class, with a pseudo-count of 1."""
    sums = sum_classes(documents)
    n_terms = len(set().union(*sums.values()))
    labels = Counter(label for label, _ in documents)
    joint = {}
    for label, counts in sums.items():
        p = prior[label] if prior else Fraction(labels[label], len(documents))
        for term in asked.split():
            p *= estimate(counts, term, n_terms)
        joint[label] = p
    return joint


def join_columns(
    rows: Sequence[Row], target: str, asked: Row, pseudo_count: int
) -> dict[str, Fraction]:
    """Joint probabilities of categories and each label."""
    labels = Counter(row[target] for row in rows)
    joint = {}
    for label, n in labels.items():
        p = Fraction(n, len(rows))
        for column, value in asked.items():
            values = {row[column] for row in rows}
            hits = sum(row[column] == value for row in rows if row[target] == label)
            p *= Fraction(hits + pseudo_count, n + pseudo_count * len(values))
        joint[label] = p
    return joint


def normalize(joint: Mapping[str, Fraction | float]) -> dict[str, float]:
    total = sum(joint.values())
    return {label: float(p / total) for label, p in joint.items()}


def integrate_beta(power: float, failures: float, a: float, b: float) -> float:
    """∫ φ^power (1 − φ)^failures Beta(φ; a, b) dφ, numerically."""

    def weighted(phi: float) -> float:
        return float(phi**power * (1 - phi) ** failures * stats.beta.pdf(phi, a, b))

    return float(integrate.quad(weighted, 0, 1)[0])


SPAM = read_texts("spam.tsv")
PEOPLE = read_rows("people.csv")
PERSON = ("height", "hair", "eye")


def person(values: str) -> Row:
    return dict(zip(PERSON, values, strict=True))


# Estimates


def test_coin_by_maximum_likelihood_and_with_a_prior() -> None:
    faces = [row["face"] for row in read_rows("coin.csv")]
    heads, tails = faces.count("heads"), faces.count("tails")
    grid = np.linspace(0, 1, 100_001)[1:-1]
    likelihood = heads * np.log(grid) + tails * np.log1p(-grid)
    assert_printed("A coin, by maximum likelihood", "0.6000", grid[likelihood.argmax()])
    posterior = likelihood + np.log(grid) + np.log1p(-grid)  # the prior is Beta(2, 2)
    title = "A coin with a prior"
    assert_printed(title, "0.5714", grid[posterior.argmax()])
    mean = integrate_beta(heads + 1, tails, 2, 2) / integrate_beta(heads, tails, 2, 2)
    assert_printed(title, "0.5556", mean)


def test_interval_and_number_of_throws() -> None:
    title = "Three heads in five throws"
    assert_printed(title, ".245", stats.beta.ppf(0.025, 5, 4))
    assert_printed(title, ".843", stats.beta.ppf(0.975, 5, 4))
    assert_printed(title, "184.4", math.log(2 / 0.05) / (2 * 0.1**2))


@pytest.mark.parametrize(
    ("title", "pseudo_count", "printed"),
    [
        ("The prior is washed out", 2, ("0.556", "0.593", "0.599")),
        ("2. How strong is a prior?", 10, ("0.52", "0.571", "0.596")),
    ],
)
def test_prior_is_washed_out(title: str, pseudo_count: int, printed: tuple[str, ...]) -> None:
    throws = Counter((row["coin"], row["face"]) for row in read_rows("throws.csv"))
    for n, mean in zip((5, 50, 500), printed, strict=True):
        heads = throws[f"{n} throws", "heads"]
        assert heads + throws[f"{n} throws", "tails"] == n
        assert_printed(title, mean, (heads + pseudo_count) / (n + 2 * pseudo_count))


def test_ten_times_as_many_throws_shorten_the_interval() -> None:
    title = "The prior is washed out"
    widths = []
    for n in (5, 50, 500):
        low, high = stats.beta.ppf([0.025, 0.975], 3 * n // 5 + 2, 2 * n // 5 + 2)
        widths.append(high - low)
    assert_printed(title, "2.3", widths[0] / widths[1])
    assert_printed(title, "3.0", widths[1] / widths[2])
    assert_printed(title, "3.16", math.sqrt(10))


def test_strong_prior_needs_180_throws() -> None:
    for pseudo_count, n in ((10, 180), (2, 36)):
        assert f"n > {n}" in section("2. How strong is a prior?")
        assert Fraction(3 * n, 5) + pseudo_count == Fraction(59, 100) * (n + 2 * pseudo_count)
    assert "multiple of 5 is 185" in section("2. How strong is a prior?")
    assert (111 + 10) / (185 + 20) > 0.59


def test_four_coins() -> None:
    title = "Four coins"
    coins = dict(read_svmlight("coins.svm"))
    expected = {"A": (".667", ".6250"), "B": (".738", ".7273"), "C": (".25", ".3333")}
    for name, printed in {**expected, "D": (".497", ".4970")}.items():
        for pseudo_count, number in zip((1, 2), printed, strict=True):
            mean = estimate(coins[name], "1", 2, pseudo_count)
            assert_printed(title, number, float(mean))
    assert_printed(title, "0.597", stats.beta.ppf(0.025, 31, 11))
    assert_printed(title, "0.667", (3 + 4 * 3 / 4) / (5 + 4))


def test_bets_on_two_coins() -> None:
    title = "1. Two coins"
    assert stats.beta.cdf(0.5, 4, 2) == pytest.approx(3 / 16)
    below = stats.beta.cdf(0.5, 31, 11)
    assert_printed(title, ".0007", below)
    assert_printed(title, "1,378", (1 - below) / below)
    assert_printed(title, "0.284", stats.beta.ppf(0.025, 4, 2))


def test_die_bag_and_swan() -> None:
    faces = Counter(row["face"] for row in read_rows("die.csv"))
    assert_printed("A die", "0.2727", float(estimate(faces, "1", 6)))
    assert_printed("A die", ".0909", float(estimate(faces, "6", 6)))
    [(_, bag)] = read_texts("bag.tsv")
    assert_printed("A bag of words", "0.667", float(estimate(bag, "red", 2)))
    assert_printed("A bag of words", "0.947", stats.beta.ppf(0.975, 4, 2))
    swans = read_rows("swans.csv")
    joint = join_columns(swans, "swan", {"colour": "black"}, 1)
    assert_printed("A black swan", "0.714286", normalize(joint)["Australia"])
    assert join_columns(swans, "swan", {"colour": "black"}, 0)["Europe"] == 0


# Models


def test_prior_predictive_is_the_product_of_predictions() -> None:
    title = "Before the first throw"
    assert_printed(title, ".0214", integrate_beta(3, 2, 2, 2))
    assert_printed(title, "-3.84", math.log(integrate_beta(3, 2, 2, 2)))
    assert_printed(title, "−3.47", math.log(1 / 32))
    assert float(Fraction(3, 140)) == pytest.approx(integrate_beta(3, 2, 2, 2))


def test_posterior_of_two_models_of_four_throws() -> None:
    first, second = integrate_beta(3, 1, 0.5, 0.5), integrate_beta(3, 1, 2, 2)
    title = "An average of models"
    assert_printed(title, ".0391", first)
    assert_printed(title, ".0571", second)
    assert_printed(title, "0.406", first / (first + second))
    assert_printed(title, "0.594", second / (first + second))
    assert_printed(title, "0.6722", 3 * first / (3 * first + second))
    flat, strong = integrate_beta(3, 1, 1, 1), integrate_beta(3, 1, 10, 10)
    assert_printed("5. The evidence of two priors", ".0621", strong)
    assert_printed("5. The evidence of two priors", "0.446", flat / (flat + strong))


def read_letters(part: str) -> list[Labelled]:
    """Labels and n-grams up to 3, by the slow tokenizer of `tests/oracle.py`."""
    stem = SnowballStemmer("english").stem
    stop_words = set((REPOSITORY / "nbtext/text/stop_words_english.txt").read_text().split())
    folder = REPOSITORY / "corpora/service-desk" / part
    return [
        (path.parent.name, oracle.ngrams(oracle.terms(path.read_bytes(), stop_words, stem), 3))
        for path in sorted(folder.glob("*/*"))
    ]


def measure_accuracy(
    train: Sequence[Labelled], test: Sequence[Labelled], pseudo_count: float
) -> float:
    """Accuracy of naive Bayes over known terms."""
    sums = sum_classes([(label, Counter(terms)) for label, terms in train])
    vocabulary = set().union(*sums.values())
    n_documents = Counter(label for label, _ in train)
    n_hits = 0
    for true_label, terms in test:
        scores = {}
        for label, counts in sums.items():
            total = counts.total() + pseudo_count * len(vocabulary)
            logs = [
                math.log((counts[term] + pseudo_count) / total)
                for term in terms
                if term in vocabulary
            ]
            scores[label] = math.log(n_documents[label]) + math.fsum(logs)
        n_hits += max(scores, key=scores.__getitem__) == true_label
    return n_hits / len(test)


def test_overfitting_of_letters() -> None:
    train, test = read_letters("train"), read_letters("test")
    for pseudo_count, printed in ((0.001, "0.5769"), (1, "0.7051"), (100, "0.6795")):
        assert_printed("Overfitting", printed, measure_accuracy(train, test, pseudo_count))
        assert measure_accuracy(train, train, pseudo_count) == 1


# Language models


def test_next_term_and_perplexity() -> None:
    title = "The next term"
    sums = sum_classes(read_texts("china.tsv"))
    chinese = estimate(sums["yes"], "chinese", 6)
    assert_printed(title, "0.428571", float(chinese))
    assert_printed(title, "1.22239", -math.log2(chinese))
    assert_printed(title, ".847", -math.log(chinese))
    assert_printed(title, "2.639", -math.log(estimate(sums["yes"], "tokyo", 6)))
    for label, printed in (("yes", "3.5"), ("no", "4.5")):
        counts = sums[label]
        nats = math.fsum(-n * math.log(estimate(counts, term, 6)) for term, n in counts.items())
        assert_printed(title, printed, math.exp(nats / counts.total()))


def test_mutual_information_of_words() -> None:
    sums = sum_classes(SPAM)
    prior = {"spam": 3 / 8, "ham": 5 / 8}
    for term, printed in (("link", "0.0164474"), ("secret", "0.0129214"), ("sports", "0.011847")):
        phi = {label: float(estimate(sums[label], term, 12)) for label in prior}
        mixture = sum(phi[label] * prior[label] for label in prior)
        summands = {k: phi[k] * prior[k] * math.log(phi[k] / mixture) for k in prior}
        assert_printed('Mutual information of "link"', printed, sum(summands.values()))
        if term == "link":
            assert_printed('Mutual information of "link"', ".0767", mixture)
            assert_printed('Mutual information of "link"', ".0333", summands["spam"])
            assert_printed('Mutual information of "link"', ".0169", -summands["ham"])


def test_information_of_the_presence_of_a_word() -> None:
    title = "6. The most informative word"
    for term, printed in (("secret", "0.380396"), ("link", "0.323642"), ("sports", "0.323642")):
        table = Counter((label, term in counts) for label, counts in SPAM)
        information = 0.0
        for (label, present), n in table.items():
            of_label = sum(count for (k, _), count in table.items() if k == label)
            of_presence = sum(count for (_, e), count in table.items() if e == present)
            information += n / 8 * math.log(n * 8 / (of_label * of_presence))
        assert_printed(title, printed, information)
    assert_printed(title, ".6616", stats.entropy([3 / 8, 5 / 8]))
    assert_printed(title, ".2599", 3 / 8 * math.log(2))


# Naive Bayes


def join_fruits(asked: Row, pseudo_count: int) -> dict[str, float]:
    """Joint density of categories and ounces; virtual fruits are spread like all fruits."""
    rows = read_rows("fruits.csv")
    features = {name: value for name, value in asked.items() if name != "ounces"}
    everything = np.array([float(row["ounces"]) for row in rows])
    joint = {}
    for label, p in join_columns(rows, "fruit", features, pseudo_count).items():
        ounces = np.array([float(row["ounces"]) for row in rows if row["fruit"] == label])
        n = len(ounces) + pseudo_count
        mean = (ounces.sum() + pseudo_count * everything.mean()) / n
        squares = ((ounces**2).sum() + pseudo_count * (everything**2).mean()) / n
        density = stats.norm.pdf(float(asked["ounces"]), mean, math.sqrt(squares - mean**2))
        joint[label] = float(p) * density
    return joint


def test_fruit_by_colour_shape_leaf_and_ounces() -> None:
    asked = read_rows("fruits-new.csv")[0]
    title = "Fruit by colour, shape, leaf and ounces"
    joint = join_fruits(asked, 0)
    assert_printed(title, "0.0977205", joint["banana"])
    assert joint["apple"] == joint["pear"] == 0

    title = "The softmax of three classes"
    joint = join_fruits(asked, 1)
    exponentials = {label: math.exp(math.log(p)) for label, p in joint.items()}
    assert_printed(title, "0.839002", exponentials["banana"] / sum(exponentials.values()))
    assert_printed(title, "0.0957181", exponentials["apple"] / sum(exponentials.values()))
    assert_printed(title, "−3.2839", math.log(joint["banana"]))
    assert_printed(title, ".0375", joint["banana"])
    density = joint["banana"] / (3 / 10 * 3 / 6 * 4 / 6 * 4 / 5)
    assert_printed(title, ".4685", density)
    assert_printed(title, ".7194", (110 + 40.5) / 4 - 6.075**2)
    assert_printed(title, ".04467", sum(joint.values()))
    odds = joint["banana"] / (joint["apple"] + joint["pear"])
    assert_printed(title, "1.6508", math.log(odds))


def test_fruit_at_a_market() -> None:
    rows = read_rows("market.csv")
    joint = join_columns(rows, "fruit", {"long": "1", "sweet": "1", "yellow": "1"}, 0)
    title = "Fruit at a market"
    assert_printed(title, ".252", float(joint["banana"]))
    assert_printed(title, ".01875", float(joint["other"]))
    assert_printed(title, "0.930748", normalize(joint)["banana"])


def test_eight_people() -> None:
    title = "Eight people, by maximum likelihood"
    joint = join_columns(PEOPLE, "likes", person("tbl"), 0)
    assert joint == {"+": Fraction(6, 100), "-": Fraction(1, 6)}
    assert_printed(title, ".1667", float(joint["-"]))
    assert_printed(title, "0.735294", normalize(joint)["-"])

    title = "A zero in each class"
    assert set(join_columns(PEOPLE, "likes", person("trw"), 0).values()) == {0}
    joint = join_columns(PEOPLE, "likes", person("trw"), 1)
    assert_printed(title, ".02551", float(joint["+"]))
    assert_printed(title, ".015", float(joint["-"]))
    for values, label, printed in (
        ("tbl", "-", "0.610592"),
        ("trw", "+", "0.629723"),
        ("tdw", "+", "0.931532"),
    ):
        assert_printed(
            title, printed, normalize(join_columns(PEOPLE, "likes", person(values), 1))[label]
        )


def test_virtual_examples_of_a_class() -> None:
    title = "Virtual examples of a class"
    examples = [*PEOPLE, *6 * [{"likes": "+", "eye": "w"}], *6 * [{"likes": "-", "eye": "l"}]]
    for label, eye, printed in (("+", "w", "0.7692"), ("-", "l", "0.9091")):
        eyes = Counter(row["eye"] for row in examples if row["likes"] == label)
        assert_printed(title, printed, float(estimate(eyes, eye, 2)))


def test_best_accuracy_of_drawn_people() -> None:
    title = "Drawn people"
    kinds = list(product("st", "bdr", "lw"))
    joints = [join_columns(PEOPLE, "likes", person("".join(kind)), 1) for kind in kinds]
    assert sum(sum(joint.values()) for joint in joints) == 1
    best = sum(max(joint.values()) for joint in joints)
    assert f"{best} = .741" in section(title)
    assert_printed(title, ".741", float(best))


def test_leave_one_out_of_people_always_predicts_plus() -> None:
    n_hits = 0
    for held_out in PEOPLE:
        joint = {}
        for label in "+-":
            rows = [row for row in PEOPLE if row["likes"] == label and row is not held_out]
            joint[label] = Fraction(len(rows), 7)
            for column in PERSON:
                values = Counter(row[column] for row in rows)
                n_values = len({row[column] for row in PEOPLE})
                joint[label] *= estimate(values, held_out[column], n_values)
        assert joint["+"] > joint["-"]
        n_hits += held_out["likes"] == "+"
    assert_printed("Drawn people", "0.6250", n_hits / len(PEOPLE))


def log_evidence_of_people(groups: Sequence[Sequence[Row]], pseudo_count: float = 1) -> float:
    """The sum of log predictions, each row being added to the next one's prior."""
    logs = []
    for rows, column in product(groups, PERSON):
        n_values = len({row[column] for row in PEOPLE})
        seen: Counter[str] = Counter()
        for row in rows:
            logs.append(math.log(estimate(seen, row[column], n_values, pseudo_count)))
            seen[row[column]] += 1
    return math.fsum(logs)


def test_evidence_aic_and_bic_of_people() -> None:
    title = "Evidence, AIC and BIC"
    groups = [[row for row in PEOPLE if row["likes"] == label] for label in "+-"]
    assert_printed(title, "-20.81", log_evidence_of_people(groups))
    assert_printed(title, "-21.89", log_evidence_of_people([PEOPLE]))
    logs = [log_evidence_of_people(groups, a) for a in (1, 0.1, 0.01)]
    logs.append(log_evidence_of_people([PEOPLE]))
    total = math.fsum(math.exp(log) for log in logs)
    assert_printed(title, "0.7445", math.exp(logs[0]) / total)
    assert_printed(title, "0.2532", math.exp(logs[-1]) / total)
    assert_printed(title, "1.08", logs[0] - logs[-1])
    log_likelihood = math.fsum(
        math.log(join_columns(PEOPLE, "likes", {k: row[k] for k in PERSON}, 0)[row["likes"]])
        for row in PEOPLE
    )
    assert_printed(title, "-19.21", log_likelihood)
    assert_printed(title, "56.41", 2 * 9 - 2 * log_likelihood)
    assert_printed(title, "57.13", 9 * math.log(8) - 2 * log_likelihood)


def test_spam_and_the_effect_of_the_prior() -> None:
    title = "Spam, and the effect of the prior"
    half = {"spam": Fraction(1, 2), "ham": Fraction(1, 2)}
    equal = join_texts(SPAM, "today is secret", half)
    assert_printed(title, "0.586248", normalize(equal)["spam"])
    assert_printed(title, "0.540498", normalize(join_texts(SPAM, "today is secret"))["ham"])
    exercise = "4. Bayes' rule on the blackboard"
    assert_printed(exercise, "0.900735", normalize(join_texts(SPAM, "sports today"))["ham"])


def test_weights_of_absent_words() -> None:
    n = Counter(label for label, _ in SPAM)
    terms = sorted(set().union(*(counts for _, counts in SPAM)))

    def theta(term: str, label: str) -> float:
        hits = sum(term in counts for k, counts in SPAM if k == label)
        return (hits + 1) / (n[label] + 2)

    def logit(p: float) -> float:
        return math.log(p / (1 - p))

    weight = logit(theta("sports", "ham")) - logit(theta("sports", "spam"))
    assert_printed("Absent words", "2.1972", weight)
    absent = [math.log((1 - theta(t, "ham")) / (1 - theta(t, "spam"))) for t in terms]
    assert_printed("Absent words", "0.8723", math.log(n["ham"] / n["spam"]) + math.fsum(absent))


def test_china() -> None:
    joint = join_texts(read_texts("china.tsv"), "chinese chinese chinese tokyo japan")
    assert_printed("China, on the blackboard", "0.689759", normalize(joint)["yes"])


def test_counts_in_columns() -> None:
    title = "Counts in columns"
    rows = read_rows("parcels.csv")
    rate = {
        shop: float(np.mean([int(row["orders"]) for row in rows if row["shop"] == shop]))
        for shop in ("books", "games")
    }
    for orders, printed in ((4, "0.502763"), (5, "0.779682")):
        p = {shop: float(stats.poisson.pmf(orders, rate[shop])) for shop in rate}
        assert_printed(title, printed, normalize(p)["games"])
    assert_printed(title, ".0902", stats.poisson.pmf(4, rate["books"]))
    assert_printed(title, "3.99", 5 / math.log(3.5))


def test_digits_and_pixels() -> None:
    joint = join_texts(read_svmlight("digits.svm"), "1 1 1 2")
    assert_printed("Counts of digits", "0.898839", normalize(joint)["3"])

    images = read_svmlight("pixels.svm")
    title = "Pixels of digits"
    joint = {}
    for digit in "37":
        black = [counts for label, counts in images if label == digit]
        p = Fraction(len(black), len(images))
        for pixel in "123":
            theta = Fraction(sum(pixel in counts for counts in black) + 1, len(black) + 2)
            p *= theta if pixel in "12" else 1 - theta
        joint[digit] = p
    assert_printed(title, "0.9", normalize(joint)["3"])
    assert_printed(title, "0.75", normalize(join_texts(images, "1 2"))["3"])


# Decisions


def test_risks_and_the_threshold() -> None:
    p = normalize(join_texts(SPAM, "secret offer"))["spam"]
    title = "Minimum risk"
    assert_printed(title, ".7987", p)
    assert_printed(title, "0.603944", 3 * (1 - p))
    assert 0.5 < 3 * (1 - p) < p < 0.8

    ratio = (1 * Fraction(3, 8)) / (3 * Fraction(5, 8))
    assert_printed("The likelihood-ratio threshold", "0.2", float(ratio))
    odds = ratio * Fraction(5, 3)
    assert_printed("The likelihood-ratio threshold", "0.2500", float(odds / (1 + odds)))


def test_costs_of_blocked_messages() -> None:
    title = "7. Blocked messages"
    assert_printed(title, "0.0289", (33 + 2 * 10) / 1834)
    assert_printed(title, ".0414", (16 + 6 * 10) / 1834)
    assert_printed(title, "0.9809", 1 - (33 + 2) / 1834)
    assert_printed(title, "0.0909", 1 / 11)
    assert_printed("9. Calibration", "0.0153", (18 + 1 * 10) / 1834)


def test_mcnemar_of_pairs_of_words() -> None:
    ways = sum(math.comb(12, i) for i in range(6))
    assert f"2 · {ways}/4096" in section("12. An honest comparison")
    assert_printed("12. An honest comparison", ".77", 2 * ways / 2**12)
    assert stats.binomtest(7, 12).pvalue == pytest.approx(2 * ways / 2**12)


# Discriminant functions


def test_sigmoid() -> None:
    title = "The sigmoid of two classes"
    joint = join_texts(SPAM, "link")
    log_odds = math.log(joint["spam"] / joint["ham"])
    assert_printed(title, ".8391", log_odds)
    assert_printed(title, "0.698276", 1 / (1 + math.exp(-log_odds)))
    assert_printed(title, "−2.9267", math.log(joint["spam"]))


def test_boundary_of_points() -> None:
    title = "Discriminant analysis"
    for mean, printed in ((1, "-1.19315"), (5, "-13.1931")):
        assert_printed(title, printed, -(mean**2) / 2 + math.log(1 / 2))
    densities = [stats.norm.pdf(3, mean, 1) for mean in (1, 5)]
    assert densities[0] == pytest.approx(densities[1])


def test_circle_between_rings() -> None:
    title = "A quadratic boundary"
    rows = read_rows("rings.csv")
    normals = {}
    for ring in ("inner", "outer"):
        points = np.array([[float(r["x"]), float(r["y"])] for r in rows if r["ring"] == ring])
        normals[ring] = stats.multivariate_normal(points.mean(axis=0), np.cov(points.T, ddof=0))

    def difference(radius: float) -> float:
        point = [radius, 0]
        return float(normals["inner"].logpdf(point) - normals["outer"].logpdf(point))

    radius = optimize.brentq(difference, 0.1, 10)
    assert_printed(title, "1.72", radius)
    assert_printed(title, "2.957", radius**2)
    assert_printed(title, "0.515798", 1 / (1 + math.exp(-difference(1.7))))
    assert_printed(title, "0.516441", 1 / (1 + math.exp(difference(1.74))))


# Generative and discriminative


def read_numbers(name: str, target: str) -> tuple[np.ndarray, np.ndarray]:
    """Length and width of each row, and whether it has the first label."""
    rows = read_rows(name)
    first = min(row[target] for row in rows)
    numbers = np.array([[float(row["length"]), float(row["width"])] for row in rows])
    return numbers, np.array([row[target] == first for row in rows])


def fit_logistic(x: np.ndarray, t: np.ndarray, penalty: float) -> np.ndarray:
    """Weights and bias of the first label, those of the second being their opposites."""
    signs = np.where(t, 1, -1)

    def loss(parameters: np.ndarray) -> float:
        *weights, bias = parameters
        margins = 2 * signs * (x @ weights + bias)
        return float(np.logaddexp(0, -margins).sum() + penalty * np.square(weights).sum())

    return optimize.minimize(loss, np.zeros(x.shape[1] + 1), tol=1e-10).x


def log_loss_of(x: np.ndarray, t: np.ndarray, parameters: np.ndarray) -> float:
    margins = 2 * np.where(t, 1, -1) * (x @ parameters[:-1] + parameters[-1])
    return float(np.logaddexp(0, -margins).mean())


def naive_log_odds(x: np.ndarray, t: np.ndarray, asked: np.ndarray, a: int) -> np.ndarray:
    """Log odds of Gaussian naive Bayes; A virtual rows are spread like the whole table."""
    log_joint = []
    for rows in (x[t], x[~t]):
        n = len(rows) + a
        mean = (rows.sum(axis=0) + a * x.mean(axis=0)) / n
        squares = ((rows**2).sum(axis=0) + a * (x**2).mean(axis=0)) / n
        densities = stats.norm.logpdf(asked, mean, np.sqrt(squares - mean**2))
        log_joint.append(math.log(len(rows)) + densities.sum(axis=1))
    return np.asarray(log_joint[0] - log_joint[1])


def test_naive_bayes_and_logistic_regression_of_sizes() -> None:
    title = "Naive Bayes, discriminant analysis and logistic regression"
    x, t = read_numbers("sizes.csv", "kind")
    asked = np.array([[4.5, 4.0]])
    [naive] = naive_log_odds(x, t, asked, 1)
    assert_printed(title, "0.715538", 1 / (1 + math.exp(-naive)))
    mean, std = x.mean(axis=0), x.std(axis=0)
    *weights, bias = fit_logistic((x - mean) / std, t, penalty=1)
    margin = 2 * ((asked[0] - mean) / std @ weights + bias)
    assert 1 / (1 + math.exp(-margin)) == pytest.approx(0.519219, abs=1e-4)
    assert "0.519219" in section(title)
    *weights, bias = fit_logistic(x, t, penalty=2)  # a single weight v = 2w with γ = 1: v²/2 = 2w²
    assert_printed(title, ".522", 1 / (1 + math.exp(-2 * (asked[0] @ weights + bias))))


def linear_log_odds(x: np.ndarray, t: np.ndarray, asked: np.ndarray) -> np.ndarray:
    """Log odds of linear discriminant analysis, by maximum likelihood."""
    first, second = x[t], x[~t]
    means = [first.mean(axis=0), second.mean(axis=0)]
    covariance = np.cov(np.vstack([first - means[0], second - means[1]]).T, ddof=0)
    densities = [stats.multivariate_normal(mean, covariance).logpdf(asked) for mean in means]
    return np.asarray(densities[0] - densities[1] + math.log(len(first) / len(second)))


def test_covariance_helps_leaves_in_every_division_into_folds() -> None:
    x, t = read_numbers("leaves.csv", "tree")
    accuracy: dict[str, list[float]] = {"naive": [], "linear": []}
    for seed in range(6):
        random = np.random.default_rng(seed)
        folds = np.concatenate([random.permutation(30) % 5, random.permutation(30) % 5])
        n_hits = Counter[str]()
        for k in range(5):
            train, test = folds != k, folds == k
            naive = naive_log_odds(x[train], t[train], x[test], 1)
            linear = linear_log_odds(x[train], t[train], x[test])
            n_hits["naive"] += int(np.count_nonzero((naive > 0) == t[test]))
            n_hits["linear"] += int(np.count_nonzero((linear > 0) == t[test]))
        for name, metrics in accuracy.items():
            metrics.append(n_hits[name] / len(t))
    assert min(accuracy["naive"]) <= 0.6667 <= max(accuracy["naive"])
    assert max(accuracy["naive"]) + 0.05 < min(accuracy["linear"])
    assert min(accuracy["linear"]) <= 0.9333 + 0.02


def test_conditional_likelihood_and_penalty() -> None:
    title = "Conditional likelihood"
    x, t = read_numbers("leaves.csv", "tree")
    odds = naive_log_odds(x, t, x, 0)
    naive = float(np.logaddexp(0, -np.where(t, 1, -1) * odds).mean())
    assert_printed(title, "0.5478", naive)
    assert_printed(title, "−32.9", -60 * naive)

    standardized = (x - x.mean(axis=0)) / x.std(axis=0)
    weak = fit_logistic(standardized, t, penalty=1)
    loss = log_loss_of(standardized, t, weak)
    assert_printed(title, "0.2172", loss)
    assert_printed(title, "−13.0", -60 * loss)
    free = fit_logistic(standardized, t, penalty=0)
    assert_printed(title, "−5.9", -60 * log_loss_of(standardized, t, free))
    title = "A penalty is a Gaussian prior"
    strong = fit_logistic(standardized, t, penalty=100)
    assert_printed(title, "0.6520", log_loss_of(standardized, t, strong))
    for weights, printed in ((weak, ("1.669", "-1.684")), (strong, ("0.0744", "-0.0803"))):
        for weight, number in zip(weights[:2], printed, strict=True):
            assert weight == pytest.approx(float(number), abs=2e-3)
            assert number[:-1] in section(title)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_very_small_penalty_overfits_leaves(seed: int) -> None:
    title = "A penalty is a Gaussian prior"
    x, t = read_numbers("leaves.csv", "tree")
    x = (x - x.mean(axis=0)) / x.std(axis=0)
    assert_printed(title, ".098", log_loss_of(x, t, fit_logistic(x, t, penalty=1e-6)))
    random = np.random.default_rng(seed)
    folds = np.concatenate([random.permutation(30) % 5, random.permutation(30) % 5])
    losses = {}
    for penalty in (1e-6, 0.01):
        losses[penalty] = [
            log_loss_of(
                x[folds == k], t[folds == k], fit_logistic(x[folds != k], t[folds != k], penalty)
            )
            for k in range(5)
        ]
    assert np.mean(losses[1e-6]) > 1.3 * np.mean(losses[0.01])


def test_three_leaves_are_exceptions() -> None:
    x, is_beech = read_numbers("leaves.csv", "tree")
    is_longer = x[:, 0] > x[:, 1]
    assert np.count_nonzero(is_longer != is_beech) == 3
    assert "(3 of 60 are not)" in section(
        "Naive Bayes, discriminant analysis and logistic regression"
    )


def test_penalty_has_the_maximum_of_the_posterior() -> None:
    """With one weight for two classes the prior is N(0, 1/γ), γ the penalty of the weight."""
    x, t = read_numbers("leaves.csv", "tree")
    x = (x - x.mean(axis=0)) / x.std(axis=0)
    gamma, signs = 2.0, np.where(t, 1, -1)

    def minus_log_posterior(parameters: np.ndarray) -> float:
        *weights, bias = parameters
        likelihood = -np.logaddexp(0, -signs * (x @ weights + bias)).sum()
        return -float(likelihood + stats.norm.logpdf(weights, 0, 1 / math.sqrt(gamma)).sum())

    mode = optimize.minimize(minus_log_posterior, np.zeros(3), tol=1e-10).x
    # Weights w and −w: the log odds have the weight 2w, and the penalties add up to A·w².
    assert fit_logistic(x, t, penalty=2 * gamma) * 2 == pytest.approx(mode, abs=1e-3)


# Errata


def test_gradient_of_the_squared_error_has_a_factor_of_two() -> None:
    random = np.random.default_rng(0)
    x, t, beta = random.normal(size=(9, 3)), random.normal(size=9), random.normal(size=3)

    def error(parameters: np.ndarray) -> float:
        return float(np.square(t - x @ parameters).sum())

    gradient = optimize.approx_fprime(beta, error)
    assert gradient == pytest.approx(-2 * x.T @ (t - x @ beta), abs=1e-4)


def test_posterior_needs_the_prior_in_its_denominator() -> None:
    prior = stats.beta(2, 2).pdf

    def likelihood(phi: float) -> float:
        return phi**3 * (1 - phi) ** 2

    def weigh(phi: float) -> float:
        return float(likelihood(phi) * prior(phi))

    weighted, plain = (integrate.quad(function, 0, 1)[0] for function in (weigh, likelihood))
    assert weighted == pytest.approx(integrate_beta(3, 2, 2, 2))
    assert weighted / plain != pytest.approx(1)


def test_bic_approximates_the_evidence() -> None:
    """The difference stays bounded while n grows, so the factor of log n is |θ|/2."""
    differences = []
    for n in (1_000, 10_000, 100_000):
        heads = 3 * n // 5
        evidence = math.lgamma(heads + 1) + math.lgamma(n - heads + 1) - math.lgamma(n + 2)
        log_likelihood = heads * math.log(0.6) + (n - heads) * math.log(0.4)
        differences.append(evidence - (log_likelihood - 0.5 * math.log(n)))
    assert all(abs(b - a) < 0.01 for a, b in pairwise(differences))


@pytest.mark.parametrize("prior", [0.5, 0.8])
def test_discriminants_of_gaussian_classes(prior: float) -> None:
    means = np.array([[1.0, 0.0], [0.0, 2.0]])
    covariances = np.array([[[2.0, 0.5], [0.5, 1.0]], [[1.0, -0.3], [-0.3, 3.0]]])
    log_prior = np.log([prior, 1 - prior])
    x = np.array([0.7, 0.4])

    def log_joint(k: int, covariance: np.ndarray) -> float:
        return float(stats.multivariate_normal(means[k], covariance).logpdf(x) + log_prior[k])

    inverse = np.linalg.inv(covariances[0])
    scores = [
        m @ inverse @ x - m @ inverse @ m / 2 + p for m, p in zip(means, log_prior, strict=True)
    ]
    log_odds = log_joint(0, covariances[0]) - log_joint(1, covariances[0])
    assert scores[0] - scores[1] == pytest.approx(log_odds)

    quadratic = [
        -np.linalg.slogdet(c)[1] / 2 - (x - m) @ np.linalg.inv(c) @ (x - m) / 2 + p
        for m, c, p in zip(means, covariances, log_prior, strict=True)
    ]
    log_odds = log_joint(0, covariances[0]) - log_joint(1, covariances[1])
    assert quadratic[0] - quadratic[1] == pytest.approx(log_odds)


# The pages


def test_index_leads_to_every_example() -> None:
    examples = re.findall(r"^### (.*)$", COURSE, re.MULTILINE)
    links = set(re.findall(r"\[([^]]+)\]\(#", section("Index")))
    assert set(examples) <= links
    assert links <= {*examples, "Errata"}


def test_help_topic_lists_every_example() -> None:
    text = read_topic("course")
    lines = text.splitlines()
    assert len(lines) <= 60
    assert max(map(len, lines)) <= 80
    names = [
        re.split(r"  +", line.strip())[0]
        for line in lines
        if line.startswith("  ") and line[2] != " "
    ]
    examples = re.findall(r"^### (.*)$", COURSE, re.MULTILINE)
    assert names == examples


@pytest.mark.parametrize("page", [COURSE, EXERCISES], ids=["course", "exercises"])
def test_commands_of_a_page_fit_two_lines(page: str) -> None:
    commands = re.findall(r"^\$ (.*)$", page, re.MULTILINE)
    assert [command for command in commands if len(command) > 160] == []


@pytest.mark.parametrize("page", [COURSE, EXERCISES], ids=["course", "exercises"])
def test_answers_are_apart_from_their_commands(page: str) -> None:
    for example in re.split(r"^#{2,3} ", page, flags=re.MULTILINE)[1:]:
        for question in example.split("<details>")[:-1]:
            shown = question.rpartition("</details>")[2]
            assert "```console\n$ " in shown
            for block in re.findall(r"^```console\n(.*?)^```$", shown, re.MULTILINE | re.DOTALL):
                assert all(line.startswith("$ ") for line in block.splitlines())
    assert page.count("<details>") == page.count("</details>")


def test_twelve_exercises_have_a_solution() -> None:
    numbers = re.findall(r"^## (\d+)\. ", EXERCISES, re.MULTILINE)
    assert numbers == [str(number) for number in range(1, 13)]
    assert EXERCISES.count("<summary>Solution</summary>") == 12


def test_files_of_the_course_are_used() -> None:
    for path in DATA.iterdir():
        assert f"docs/course/{path.name}" in COURSE + EXERCISES

"""docs/mathematics.md: every formula has its row, every row a function that is there, and every section an example that computes it."""

from __future__ import annotations

import functools
import inspect
import re
from dataclasses import is_dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, NamedTuple

import pytest

from tests.process import REPOSITORY

if TYPE_CHECKING:
    from types import ModuleType

PAGE = (REPOSITORY / "docs/mathematics.md").read_text(encoding="utf-8")

SECTIONS = (
    "Symbols",
    "Class prior",
    "Language model",
    "Evidence and the choice of the prior",
    "Classifiers",
    "Posterior and decision",
    "Mutual information and other measures of terms",
    "Single documents",
    "Calibration",
    "Several labels",
    "Metrics of an evaluation",
    "Resampling",
)
"""In the order of lecture notes. What else the page has comes after them."""

SYMBOLS = (
    *(
        "k = 1..K",
        "j = 1..V",
        "d",
        "D_k, D",
        "m_jk",
        "N_k",
        "d_jk",
        "df_j",
        "n_jd",
        "n_d",
        "x_jd",
        "π_k",
        "φ_jk",
        "θ_jk",
        "α_j, α_0",
        "A, A_j",
        "μ",
    ),
    *(
        "s, b_j",
        r"\|θ\|",
        "w_jk, w_k0",
        "r_jk",
        "μ_k, Σ_k",
        "s_k",
        r"p(C_k \| d)",
        "λ_ij",
        "T",
        "I_j",
    ),
)

FORMULAS = {
    "class prior, maximum likelihood (`empirical`)": "classifiers.base.compute_class_prior",
    "class prior, smoothed (`smoothed:A`)": "classifiers.base.compute_class_prior",
    "class prior, uniform (`uniform`)": "classifiers.base.compute_class_prior",
    "class prior, given (a file)": "classifiers.base.compute_class_prior",
    "weight of a document of class k (`--class-weight balanced`)": "counts.statistics.compute_balancing_factors",
    "maximum likelihood (`ml`)": "language_model.dirichlet.maximum_likelihood",
    "maximum a posteriori (`map`)": "language_model.dirichlet.maximum_a_posteriori",
    "posterior mean, predictive (`mean`)": "language_model.dirichlet.posterior_mean",
    "symmetric prior": "language_model.dirichlet.LanguageModels.compute_pseudo_counts",
    "background prior": "language_model.dirichlet.LanguageModels.compute_pseudo_counts",
    "m-estimate": "language_model.dirichlet.LanguageModels.compute_pseudo_counts",
    "asymmetric prior": "language_model.dirichlet.TermPseudoCounts.look_up",
    "asymmetric prior of a column": "classifiers.attribute_likelihoods.get_value_pseudo_counts",
    "posterior of a term's probability": "language_model.dirichlet.compute_beta_posteriors",
    "credible interval": "language_model.dirichlet.compute_beta_intervals",
    "credible interval, Bernoulli": "classifiers.bernoulli.BernoulliNaiveBayes.compute_posteriors",
    "Bernoulli and Beta, posterior mean": "classifiers.bernoulli.beta_mean",
    "Bernoulli and Beta, MAP": "classifiers.bernoulli.beta_mode",
    "Bernoulli, log odds in more than two classes": "inspection.overview.ClassLogOdds",
    "posterior after n observations of the proportion p": "inspection.posteriors.make_growth",
    "prior of a term's probability": "language_model.dirichlet.compute_beta_priors",
    "information of a term": "inspection.terms.rank_next_terms",
    "seed words (`--seeds`)": "counts.statistics.count_seeds",
    "perplexity": "language_model.measures.perplexity",
    "generation of a document": "inspection.generation.DocumentGenerator",
    "draw of attributes": "inspection.attribute_draws.make_attribute_sampler",
    "draw of numbers, Gaussian discriminant analysis": "classifiers.gaussian.GaussianClasses.draw",
    "draw of terms": "language_model.sampling.Categorical.draw",
    "draw of a length": "language_model.sampling.draw_length",
    "draw of φ_k (`--draw`)": "language_model.sampling.draw_dirichlet",
    "draw of θ_jk (`--draw`)": "language_model.sampling.draw_beta",
    "evidence of a class": "language_model.measures.compute_class_log_evidence",
    "evidence of all classes, given the strength": "language_model.smoothing.log_evidence",
    "evidence of the complements": "language_model.smoothing.build_complement_histogram",
    "evidence of Bernoulli's coins": "language_model.smoothing.build_coin_histogram",
    r"prior predictive, p(x \| m)": "language_model.measures.compute_class_log_evidence",
    "evidence of the labels": "language_model.measures.compute_label_log_evidence",
    "posterior of models": "language_model.measures.compute_model_posteriors",
    "Bayes factor": "language_model.measures.compute_model_posteriors",
    "α by evidence (`evidence`)": "language_model.smoothing.maximise_evidence",
    "α by leave-one-document-out (`leave-one-out`)": "language_model.smoothing.choose_smoothing_by_leave_one_out",
    "log-likelihood of the corpus": "language_model.measures.measure_term_fit",
    "number of parameters": "language_model.measures.measure_term_fit",
    "another value than that of evidence (`auto`), stop words kept": "fitted_model.PairedTest.is_clear",
    "ψ": "language_model.smoothing.digamma",
    "AIC": "language_model.measures.MaximumLikelihoodFit.aic",
    "BIC": "language_model.measures.MaximumLikelihoodFit.bic",
    "categorical column": "classifiers.attribute_likelihoods.AttributeLikelihoods.compute_fits",
    "Bernoulli: evidence": "classifiers.bernoulli.measure_coin_fits",
    "Bernoulli: log L and parameters": "classifiers.bernoulli.measure_coin_fits",
    "Gaussian discriminant analysis: log L and parameters": "classifiers.gaussian.measure_gaussian_fits",
    "all parts of a model": "inspection.criteria.compute_criteria",
    "column of counts": "classifiers.attribute_likelihoods.measure_poisson_fits",
    "column of numbers": "classifiers.attribute_likelihoods.measure_normal_fits",
    "linear score": "classifiers.base.LinearClassifier.joint_log_likelihood",
    "multinomial": "classifiers.multinomial.MultinomialNaiveBayes",
    "Bernoulli": "classifiers.bernoulli.BernoulliNaiveBayes.joint_log_likelihood",
    "Bernoulli, weights": "classifiers.bernoulli.BernoulliNaiveBayes.compute_weights",
    "Bernoulli, two classes as a linear model": "classifiers.bernoulli.compute_two_class_boundary",
    "Bernoulli, bias": "classifiers.bernoulli.BernoulliNaiveBayes.bias",
    "complement": "classifiers.complement.ComplementNaiveBayes.compute_weights",
    "complement, counts of all other classes": "classifiers.complement.ComplementNaiveBayes.compute_probability",
    "complement, normalised weights (tf-idf)": "classifiers.complement.ComplementNaiveBayes.weight_scale",
    "complement, on the scale of log-probabilities": "classifiers.complement.log_proportions",
    "weighting `log`": "counts.weighting.log_counts",
    "inverse document frequency": "counts.weighting.inverse_document_frequency",
    "unit length": "counts.weighting.scale_to_unit_length",
    "weighting `tfidf`": "counts.weighting.weigh_matrix",
    "`auto` without evidence": "classifiers.base.get_default_smoothing",
    "attributes": "classifiers.with_attributes.AttributedClassifier.joint_log_likelihood",
    "categorical attribute": "classifiers.attribute_likelihoods.CategoricalAttribute.add_log_likelihood",
    "count attribute, Poisson": "classifiers.attribute_likelihoods.PoissonAttributes.compute_log_likelihood",
    "number attribute, Gaussian": "classifiers.attribute_likelihoods.NormalAttributes.compute_log_likelihood",
    "Gaussian discriminant": "classifiers.gaussian.GaussianDiscriminantAnalysis.joint_log_likelihood",
    "linear boundary, shared covariance": "classifiers.gaussian.GaussianClasses.compute_boundary",
    "quadratic boundary, separate covariances": "classifiers.gaussian.GaussianClasses.compute_boundary",
    "covariance λI, numbers in their own units (`spherical-unscaled`)": "classifiers.gaussian.compute_second_moments",
    "covariance, full, diagonal, spherical": "classifiers.gaussian.compute_second_moments",
    "covariance, shrunk": "classifiers.gaussian.estimate_covariances",
    "numbers beside the text, as features": "classifiers.attribute_likelihoods.NumberStandardizer.standardize",
    "latent features": "counts.latent.LatentSpace.project",
    "logistic": "classifiers.logistic.LogisticRegression.compute_weights",
    "logistic, columns": "classifiers.logistic.LogisticRegression.joint_log_likelihood",
    "log-count ratio": "classifiers.logistic.log_count_ratio",
    "average": "classifiers.average.EnsembleClassifier.joint_log_likelihood",
    "average by evidence": "classifiers.average.EnsembleClassifier.joint_log_likelihood",
    "average, weight of a member": "classifiers.average.EnsembleWeights.compute_member_weights",
    "average, fit": "classifiers.average.fit_ensemble_weights",
    "logistic, fit": "classifiers.logistic.minimize_by_lbfgs",
    "posterior of K classes": "prediction.posterior.normalize_log_joint",
    "posterior of two classes": "prediction.posterior.normalize_log_joint",
    "log odds": "prediction.posterior.Posterior.compute_log_odds",
    "minimum error": "prediction.rule.predict_minimum_error",
    "minimum risk": "prediction.rule.predict_minimum_risk",
    "abstaining": "prediction.rule.predict_minimum_risk",
    "likelihood-ratio threshold": "prediction.rule.compute_likelihood_ratio_threshold",
    "proportions of the classes in other documents (`prevalence`)": "guarantees.class_proportions.fit_proportions",
    "likelihoods of these documents": "guarantees.class_proportions.ClassLikelihoods",
    "proportions of labels, if documents have several": "guarantees.label_proportions.estimate_label_proportions",
    "interval of a proportion": "guarantees.class_proportions.estimate_class_proportions",
    "`impossible`": "prediction.rule.predict_minimum_error",
    "mutual information": "selection.mutual_information",
    "presence": "selection.presence_information",
    "χ²": "selection.chi2",
    "log odds of a term": "selection.log_odds_of_terms",
    "the class it speaks for": "selection.rank_terms",
    "leave-one-out": "language_model.smoothing.compute_leave_one_out_scores",
    "typicality": "prediction.typicality.Typicality.compute_proportion_below",
    "drift of a metric": "prediction.typicality.MeanStd.compute_distance",
    "drift of several runs": "prediction.typicality.MeanStd.pool",
    "drift of answers": "prediction.typicality.compute_total_variation",
    "temperature": "prediction.calibration.Calibration.compute_log_posterior",
    "accuracy, micro recall": "metrics.outcomes.accuracy",
    "log loss": "prediction.posterior.ClassPosterior.compute_log_losses",
    "Brier score": "prediction.posterior.ClassPosterior.compute_brier_scores",
    "calibration error": "metrics.outcomes.expected_calibration_error",
    "P@k": "metrics.ranking.compute_label_ranking_metrics",
    "nDCG at 5": "metrics.ranking.compute_label_ranking_metrics",
    "LRAP": "metrics.ranking.compute_label_ranking_metrics",
    "subset accuracy": "metrics.outcomes.accuracy",
    "F1 of a document": "metrics.outcomes.document_f1",
    "labels of a document, of an answer": "metrics.outcomes.labels_per_document",
    "coverage of sets (`--coverage`)": "guarantees.prediction_sets.SetGroup",
    "choice among settings": "evaluation.trials.choose_trial",
    "successive halving": "evaluation.tuning.plan_stages",
    "significantly better": "evaluation.trials.compute_trial_p_value",
    "corrected metric": "evaluation.trials.correct_metric",
    "k-fold cross-validation": "evaluation.cross_validation.cross_validate",
}
"""Rows that must be there, and the function that computes each."""

CODE = re.compile(r"`([^`\n]+)`")
DOTTED = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)+")


class Row(NamedTuple):
    """A row of a table that ends in code: what it is of, and the dotted names in it."""

    name: str
    formula: str
    paths: tuple[str, ...]


class Place(NamedTuple):
    """Where a dotted name leads."""

    module: ModuleType
    owner: object
    """What has the last part of the name: the module, or a class in it."""
    last: str


def sections() -> dict[str, str]:
    heading, *bodies = re.split(r"^## (.*)\n", PAGE, flags=re.MULTILINE)
    assert heading.startswith("# ")
    return dict(zip(bodies[::2], bodies[1::2], strict=True))


def tables(text: str) -> list[list[list[str]]]:
    """The tables of a text as rows of cells, the header first."""
    found = re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE)
    return [
        [
            [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
            for line in table.splitlines()
        ]
        for table in found
    ]


def dotted(text: str) -> tuple[str, ...]:
    return tuple(code for code in CODE.findall(text) if DOTTED.fullmatch(code))


def rows(kind: str) -> list[Row]:
    """The rows of all tables that have a column of that name."""
    return [
        Row(cells[0], cells[1], dotted(cells[header.index(kind)]))
        for header, _, *body in tables(PAGE)
        if kind in header
        for cells in body
    ]


def place(path: str) -> Place:
    """Where a path below nbtext leads; raises `ImportError` or `AttributeError` if that is nowhere."""
    parts = ["nbtext", *path.split(".")]
    n = len(parts)
    while n > 1 and not spec_exists(".".join(parts[:n])):
        n -= 1
    module = import_module(".".join(parts[:n]))
    owner: object = module
    for part in parts[n:-1]:
        owner = getattr(owner, part)
    return Place(module, owner, parts[-1])


@functools.cache
def spec_exists(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:  # the parent is a module, not a package
        return False


def fields(owner: object) -> tuple[str, ...]:
    return (
        tuple(owner.__dataclass_fields__) if is_dataclass(owner) else getattr(owner, "_fields", ())
    )


PATHS = sorted(set(dotted(PAGE)))


def test_page_names_many_functions() -> None:
    assert len(PATHS) > 120
    assert dotted("`a.b`, `nbtext/a.py`, `--smoothing 0.1`, `log`, `a.b.c2`") == ("a.b", "a.b.c2")


@pytest.mark.parametrize("path", PATHS)
def test_every_named_function_is_defined_there_with_a_docstring(path: str) -> None:
    module, owner, last = place(path)
    if last in fields(owner):
        return
    assert last in vars(owner), f"{path} is defined elsewhere"
    found = inspect.getattr_static(owner, last)
    if isinstance(found, (classmethod, staticmethod)):
        found = found.__func__
    if isinstance(found, property):
        found = found.fget
    if isinstance(found, functools.cached_property):
        found = found.func
    if inspect.isfunction(found) or inspect.isclass(found):
        assert found.__module__ == module.__name__, f"{path} is defined in {found.__module__}"
        assert found.__doc__, f"{path} has no docstring"


@pytest.mark.parametrize(
    "path",
    [
        "prediction.rule.no_such_function",
        "no_such_module.function",
        "language_model.dirichlet.LanguageModels.gone",
    ],
)
def test_missing_names_would_be_detected(path: str) -> None:
    with pytest.raises((ImportError, AttributeError, AssertionError)):
        test_every_named_function_is_defined_there_with_a_docstring(path)


@pytest.mark.parametrize("name", FORMULAS)
def test_every_formula_has_a_row_that_names_its_function(name: str) -> None:
    named = [row for row in rows("function") if row.name == name]
    assert any(FORMULAS[name] in row.paths and row.formula for row in named), (
        f"no row of {name} names {FORMULAS[name]}"
    )


def test_every_row_has_a_formula_and_a_function() -> None:
    found = rows("function")
    assert len(found) >= len(FORMULAS)
    assert [row.name for row in found if not row.paths or not row.formula] == []


def test_tests_named_on_the_page_exist() -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)`", PAGE)
    assert named
    assert [path for path in named if not (REPOSITORY / path).is_file()] == []


@pytest.mark.parametrize("symbol", SYMBOLS)
def test_every_symbol_is_linked_to_the_code(symbol: str) -> None:
    assert [
        bool(row.formula and row.paths) for row in rows("in the code") if row.name == symbol
    ] == [True]


def test_sections_are_in_the_order_of_lecture_notes() -> None:
    assert tuple(sections())[: len(SECTIONS)] == SECTIONS


@pytest.mark.parametrize("section", SECTIONS)
def test_every_section_computes_an_example(section: str) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```$", sections()[section], re.MULTILINE | re.DOTALL)
    assert any("assert " in block for block in blocks)

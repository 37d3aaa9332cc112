r"""Print Bayes' rule with its numbers (`nbtext.explain.by_hand`) as a table, Markdown or LaTeX.

LaTeX needs the package amsmath, and an encoding or engine that has the letters of the words.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import TYPE_CHECKING

from nbtext.errors import format_quantity
from nbtext.explain.by_hand import Ratio, multiply, to_decimal
from nbtext.report.output_formats import (
    escape_controls,
    format_grid,
    format_listing,
    format_six_digits,
    print_blocks,
    print_with_blank_lines,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from nbtext.explain.by_hand import BayesCalculation, Density, ExactNumber, Factor

MAX_FRACTION_PART = 10**12
"""A value with a larger numerator or denominator is printed only as a decimal number."""

LATEX_LINE_FACTORS = 4
"""Number of factors per line in LaTeX."""

_MARKDOWN_MARKS = re.compile(r"[\\`*_{}\[\]<>|#~$&]")


class _TextNotation:
    """Formulas in a line of text."""

    almost_equal = "≈"
    _superscripts = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")

    def format_number(self, digits: str) -> str:
        """Return a number, given its digits."""
        return digits

    def format_fraction(self, numerator: str, denominator: str) -> str:
        """Return a fraction, with parentheses around sums."""
        parts = [f"({part})" if " " in part else part for part in (numerator, denominator)]
        return "/".join(parts)

    def format_power(self, base: str, exponent: int) -> str:
        """Return a power, with parentheses around the base."""
        return f"({base}){str(exponent).translate(self._superscripts)}"

    def format_factor(self, factor: Factor, class_index: int) -> str:
        """Return a factor in a class. Its name is in another cell."""
        probability = factor.probabilities[class_index]
        text = _format_probability(probability, factor.power, self)
        if isinstance(probability, Ratio):
            return text
        parameters = (
            f"{symbol} {format_six_digits(value)}"
            for symbol, value in probability.parameters.items()
        )
        return f"{text} ({', '.join(parameters)})"


class _LatexNotation(_TextNotation):
    """Formulas in mathematics of LaTeX."""

    almost_equal = r"\approx"

    def format_number(self, digits: str) -> str:
        """Return a number with a power of 10 instead of an exponent."""
        return re.sub(r"e([+-]\d+)", lambda match: rf" \cdot 10^{{{int(match[1])}}}", digits)

    def format_fraction(self, numerator: str, denominator: str) -> str:
        """Return a fraction."""
        return rf"\frac{{{numerator}}}{{{denominator}}}"

    def format_power(self, base: str, exponent: int) -> str:
        """Return a power, with parentheses around the base."""
        return rf"\left({base}\right)^{{{exponent}}}"

    def format_factor(self, factor: Factor, class_index: int) -> str:
        """Return a factor in a class, with its name below a brace."""
        probability = factor.probabilities[class_index]
        name = format_latex_text(_format_name(factor))
        if not isinstance(probability, Ratio):
            for symbol, value in probability.parameters.items():
                digits = self.format_number(format_six_digits(value))
                name += rf",\ {_LATEX_SYMBOLS[symbol]} = {digits}"
        return rf"\underbrace{{{_format_probability(probability, factor.power, self)}}}_{{{name}}}"


_TEXT = _TextNotation()
_LATEX = _LatexNotation()

_LATEX_SYMBOLS = {"λ": r"\lambda", "μ": r"\mu", "σ²": r"\sigma^2"}

_LATEX_ESCAPES = str.maketrans(
    {character: f"\\{character}" for character in "{}$&#_%"}
    | {"\\": r"\textbackslash{}", "^": r"\textasciicircum{}", "~": r"\textasciitilde{}"}
)


def write_calculations(stream: Iterable[BayesCalculation], output: str) -> None:
    """Write calculations as they come, as ``latex``, ``markdown``, or else as text.

    Documents that could not be read are skipped.
    """
    print_calculation = {"latex": _print_latex, "markdown": _print_markdown}.get(
        output, _print_text
    )
    print_with_blank_lines(
        (calculation for calculation in stream if calculation.problem is None), print_calculation
    )


def format_latex_text(text: str) -> str:
    r"""Return a text for mathematics of LaTeX.

    >>> print(format_latex_text("50%_off"))
    \text{50\%\_off}
    """
    return rf"\text{{{_escape_latex(text)}}}"


def _escape_latex(text: str) -> str:
    return escape_controls(text).translate(_LATEX_ESCAPES)


def _escape_markdown(text: str) -> str:
    return _MARKDOWN_MARKS.sub(r"\\\g<0>", escape_controls(text))


def _format_name(factor: Factor) -> str:
    return f"without {factor.name}" if factor.is_absent else factor.name


def _format_digits(value: ExactNumber) -> str:
    """Return six digits of a number, which may be too small for a float."""
    number = float(value)
    if number or not value:
        return format_six_digits(number)
    return f"{to_decimal(value):.6g}".lower()


def _format_probability(probability: Ratio | Density, power: int, notation: _TextNotation) -> str:
    """Return a probability with its numbers, to the power of the occurrences of a term."""
    if not isinstance(probability, Ratio):
        return notation.format_number(_format_digits(probability.value))
    numerator = _format_count(probability.occurrences)
    denominator = _format_count(probability.total)
    if probability.pseudo_total:
        numerator += f" + {_format_count(probability.pseudo_count)}"
        denominator += f" + {_format_count(probability.pseudo_total)}"
    fraction = notation.format_fraction(numerator, denominator)
    return fraction if power == 1 else notation.format_power(fraction, power)


def _format_count(count: Fraction) -> str:
    return f"{float(count):.10g}"


def _format_steps(value: ExactNumber, notation: _TextNotation, quotient: str = "") -> str:
    """Return the right side of an equation: a short fraction or the ``quotient``, and six digits.

    The result begins with the sign, such as "= 81/268912 ≈ 0.000301214" or "≈ 0.000301214".
    """
    digits = _format_digits(value)
    is_fraction = isinstance(value, Fraction)
    sign = "=" if is_fraction and Fraction(digits) == value else notation.almost_equal
    last_step = f"{sign} {notation.format_number(digits)}"
    if is_fraction and 1 < value.denominator <= MAX_FRACTION_PART:
        fraction = notation.format_fraction(str(value.numerator), str(value.denominator))
        return f"= {fraction} {last_step}"
    if quotient:
        return f"{notation.almost_equal} {quotient} {last_step}"
    return last_step


def _drop_sign(steps: str) -> str:
    """Return the result of `_format_steps` without the first sign."""
    return steps.partition(" ")[2]


def _list_posteriors(calculation: BayesCalculation, notation: _TextNotation) -> list[str]:
    """Return the posterior of each class, from `_format_steps`."""
    evidence = notation.format_number(_format_digits(calculation.evidence))
    equations = []
    for product, posterior in zip(calculation.joint, calculation.posterior, strict=False):
        numerator = notation.format_number(_format_digits(product))
        quotient = notation.format_fraction(numerator, evidence)
        equations.append(_format_steps(posterior, notation, quotient))
    return equations


def _format_rest(factors: Sequence[Factor], class_index: int, notation: _TextNotation) -> str:
    """Return the product of the factors that are not shown."""
    return notation.format_number(_format_digits(multiply(factors, class_index)))


def _count_rest(factors: Sequence[Factor]) -> str:
    return format_quantity(len(factors), "more factor")


def _list_rows(calculation: BayesCalculation) -> Iterator[tuple[str, ...]]:
    """Yield a row for each factor, then for products and posteriors, with a cell per class."""
    shown, rest = calculation.split_factors()
    indices = range(len(calculation.classes))
    for factor in shown:
        yield (_format_name(factor), *(_TEXT.format_factor(factor, index) for index in indices))
    if rest:
        yield (f"({_count_rest(rest)})", *(_format_rest(rest, index, _TEXT) for index in indices))
    products = (_format_steps(product, _TEXT) for product in calculation.joint)
    yield ("product", *map(_drop_sign, products))
    if calculation.posterior:
        posteriors = _list_posteriors(calculation, _TEXT)
        yield ("posterior = product/sum", *map(_drop_sign, posteriors))


def _list_sentences(calculation: BayesCalculation) -> Iterator[str]:
    """Yield the tokens without factors, and the effect of calibration."""
    if calculation.n_unknown:
        yield f"The model ignores {format_quantity(calculation.n_unknown, 'token')}."
    if not calculation.posterior:
        yield "Every class has probability 0, so the posterior is not defined."
    elif calculation.temperature != 1:
        pairs = zip(calculation.classes, calculation.calibrated, strict=True)
        probabilities = ", ".join(f"{label} {format_six_digits(p)}" for label, p in pairs)
        yield (
            f"Calibration raises each product to the power 1/{calculation.temperature:.6g} "
            f"before the sum: {probabilities}."
        )


def _list_text_sentences(calculation: BayesCalculation) -> list[str]:
    """Return the sentences below a table."""
    total = _drop_sign(_format_steps(calculation.evidence, _TEXT))
    return [f"Sum over the classes: {total}", *_list_sentences(calculation)]


def _print_text(calculation: BayesCalculation) -> None:
    """Print a calculation as a table with a column per class."""
    sentences = _list_text_sentences(calculation)
    print_blocks(
        format_listing({"document": calculation.id}),
        format_grid(("factor", *calculation.classes), _list_rows(calculation)),
        "".join(f"{escape_controls(sentence)}\n" for sentence in sentences),
    )


def _print_markdown(calculation: BayesCalculation) -> None:
    """Print a calculation as a table of Markdown with a column per class."""
    rows = [("factor", *calculation.classes), *_list_rows(calculation)]
    lines = [f"| {' | '.join(map(_escape_markdown, row))} |\n" for row in rows]
    lines.insert(1, f"|{'---|' * len(rows[0])}\n")
    sentences = _list_text_sentences(calculation)
    print_blocks(
        f"Document {_escape_markdown(calculation.id)}\n",
        "".join(lines),
        *(f"{_escape_markdown(sentence)}\n" for sentence in sentences),
    )


def _print_latex(calculation: BayesCalculation) -> None:
    """Print a calculation as a paragraph of LaTeX with aligned equations."""
    products = [_LATEX.format_number(_format_digits(product)) for product in calculation.joint]
    equations = [
        *_iter_latex_products(calculation),
        rf"P(d) &\approx {' + '.join(products)}",
        f"  &{_format_steps(calculation.evidence, _LATEX)}",
    ]
    posteriors = _list_posteriors(calculation, _LATEX)
    for label, posterior in zip(calculation.classes, posteriors, strict=False):
        equations.append(rf"P({format_latex_text(label)} \mid d) &{posterior}")
    aligned = " \\\\\n".join(equations)
    print_blocks(
        f"\\paragraph{{{_escape_latex(calculation.id)}}}\n",
        f"\\begin{{align*}}\n{aligned}\n\\end{{align*}}\n",
        "".join(f"{_escape_latex(sentence)}\n" for sentence in _list_sentences(calculation)),
    )


def _iter_latex_products(calculation: BayesCalculation) -> Iterator[str]:
    """Yield the lines of the product of each class, aligned at the signs of equality."""
    shown, rest = calculation.split_factors()
    for index, label in enumerate(calculation.classes):
        factors = [_LATEX.format_factor(factor, index) for factor in shown]
        if rest:
            name = format_latex_text(_count_rest(rest))
            factors.append(rf"\underbrace{{{_format_rest(rest, index, _LATEX)}}}_{{{name}}}")
        class_name = format_latex_text(label)
        line_start = rf"P({class_name})\,P(d \mid {class_name}) &= "
        for start in range(0, len(factors), LATEX_LINE_FACTORS):
            yield line_start + r" \cdot ".join(factors[start : start + LATEX_LINE_FACTORS])
            line_start = r"  &\quad \cdot "
        yield f"  &{_format_steps(calculation.joint[index], _LATEX)}"

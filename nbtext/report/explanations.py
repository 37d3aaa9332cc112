"""Print single documents: their tokens, explanations, and words to remove for another label.

`nbtext tokens`, `explain` and `why-not` use it. Output is for people, or TSV, CSV or JSON lines.

An explanation compares the predicted label with another class: their log odds are a sum of
contributions of words. For people each word is shaded by its contribution, relative to the largest
contribution. Words for the label are bold on blue, and words for the other class are underlined on
orange, so they differ without colours too. Without a terminal, signed numbers follow the words.
"""

from __future__ import annotations

import sys
from bisect import bisect_right
from collections import Counter
from dataclasses import asdict, replace
from functools import partial
from itertools import islice, repeat
from math import isclose, isfinite
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from nbtext.errors import format_quantity
from nbtext.explain.contributions import split_weighted_text
from nbtext.explain.explanation import WordContribution
from nbtext.metrics.results import to_json_values
from nbtext.report.output_formats import (
    Column,
    escape_controls,
    format_grid,
    format_listing,
    format_nats,
    format_number,
    format_six_digits,
    format_table,
    has_styles,
    make_tuple_columns,
    print_blocks,
    print_with_blank_lines,
    render_text,
    wrap_sentence,
    write_records,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from rich.text import Text

    from nbtext.explain.counterfactual import WhyNotResult
    from nbtext.explain.explanation import (
        AttributeContribution,
        ExplainedDocument,
        Explanation,
        RuledOutClass,
    )
    from nbtext.explain.token_trace import NgramTerm, Token
    from nbtext.type_names import ParsedJson

SHADE_THRESHOLDS = (0.1, 1 / 3, 2 / 3)
"""Proportions of the largest contribution at which the shade levels 1, 2 and 3 start."""

LABEL_STYLES = (
    "",
    "bold rgb(0,0,0) on rgb(214,230,245)",
    "bold rgb(0,0,0) on rgb(143,184,222)",
    "bold rgb(255,255,255) on rgb(8,81,156)",
)
"""Styles of rich for words for the label, by shade level."""

OTHER_CLASS_STYLES = (
    "",
    "underline rgb(0,0,0) on rgb(253,226,200)",
    "underline rgb(0,0,0) on rgb(244,165,96)",
    "underline rgb(255,255,255) on rgb(148,66,8)",
)
"""Styles of rich for words for the other class, by shade level."""


class Summand(NamedTuple):
    """A summand of the log odds."""

    name: str
    contribution: float
    """In nats."""
    occurrences: str = ""
    """Number of occurrences of a word. Empty for other summands."""
    terms: str = ""
    """Terms of a word, or a remark on an attribute. Empty for other summands."""


def collect_summands(explanation: Explanation, top: int, noun: str) -> tuple[list[Summand], int]:
    """Return the summands of the log odds, and the number of words that contribute nothing.

    The summands are the prior, the ``top`` largest contributions, the sum of the smaller
    contributions, and the remainder if the contributions do not add up. The name of the sum is the
    number of contributions and ``noun``.
    """
    contributions = [
        Summand(word.word, word.nats, str(word.occurrences), ", ".join(word.terms))
        for word in explanation.words
        if word.nats != 0
    ]
    n_idle = len(explanation.words) - len(contributions)
    contributions += [
        Summand(
            f"{attribute.name}={attribute.value}", attribute.nats, terms="in addition to the text"
        )
        for attribute in explanation.attributes
    ]
    contributions.sort(key=lambda summand: abs(summand.contribution), reverse=True)

    summands = [Summand("without any word", explanation.prior), *contributions[:top]]
    smaller = contributions[top:]
    if smaller:
        smaller_sum = sum(summand.contribution for summand in smaller)
        summands.append(Summand(format_quantity(len(smaller), noun), smaller_sum))
    if explanation.remainder is not None:
        summands.append(Summand("rest: the words do not add up", explanation.remainder))
    return summands, n_idle


def describe_calibration(explanation: Explanation) -> list[str]:
    """Return sentences on the steps from the log odds to the probability."""
    steps = explanation.calibration
    sentences = []
    if not isclose(steps.on_scale, explanation.log_odds, abs_tol=1e-9):
        scaled_log_odds = format_signed_nats(steps.on_scale)
        sentences.append(f"As shares of the document the log odds are {scaled_log_odds}.")
    if steps.temperature is None:  # all labels are calibrated jointly
        calibrated = format_signed_nats(steps.log_odds)
        sentences.append(f"Calibration, of all labels together, makes that {calibrated} nats.")
    elif steps.temperature == 1:
        sentences.append("Calibration changes nothing.")
    else:
        calibrated = format_signed_nats(steps.on_scale / steps.temperature)
        sentences.append(f"Calibration divides by {steps.temperature:.4f}: {calibrated} nats.")
    probability = format_six_digits(explanation.probability)
    other_probability = format_six_digits(explanation.against_probability)
    sentences.append(
        f"So {explanation.label} has the probability {probability} "
        f"and {explanation.against} has {other_probability}."
    )
    return sentences


def describe_causes(explained: ExplainedDocument) -> list[tuple[str, str]]:
    """Return the classes that are impossible for a document, each with the cause in words."""
    return [(cause.label, _describe_cause(cause)) for cause in explained.ruled_out_classes]


def _describe_cause(cause: RuledOutClass) -> str:
    if cause.cause == "word":
        if cause.name == cause.term:
            return str(cause.name)
        return f"{cause.name}, the term {cause.term}"
    if cause.cause == "attribute":
        return f"{cause.name}={cause.value}"
    if cause.cause == "prior":
        return "the class prior"
    # A Bernoulli model also scores the terms that a document lacks.
    return "a term that all its training documents have and this one lacks"


def compute_shade_level(contribution: float, max_contribution: float) -> int:
    """Return a shade level from 0 (not shaded) to 3 for a contribution in nats.

    The level depends on the contribution's proportion of ``max_contribution``, the largest finite
    contribution. An infinite contribution has level 3.

    >>> [compute_shade_level(contribution, 2.0) for contribution in (0.0, 0.5, -1.0, 2.0)]
    [0, 1, 2, 3]
    """
    if contribution == 0:
        return 0
    if not isfinite(contribution):
        return len(SHADE_THRESHOLDS)
    return bisect_right(SHADE_THRESHOLDS, abs(contribution) / max_contribution)


def split_by_contribution(explanation: Explanation) -> Iterator[tuple[str, float]]:
    """Return the text in pieces with their nats: occurrences of words, and the text between words.

    The nats of a word are divided equally among its occurrences. Text between words has 0 nats.
    """
    occurrences = sorted(
        (start, end, word.nats / len(word.spans))
        for word in explanation.words
        for start, end in word.spans.tolist()
    )
    return split_weighted_text(explanation.text, occurrences)


def find_max_contribution(contributions: Iterable[float]) -> float:
    """Return the largest absolute value of finite numbers, 0 if there are none."""
    return max(map(abs, filter(isfinite, contributions)), default=0.0)


def format_signed_nats(contribution: float) -> str:
    """Return nats with a sign and two decimals."""
    return format_nats(contribution, 2)


def describe_idle_words(n: int) -> str:
    """Return a sentence without a full stop on the number of words that contribute nothing."""
    return f"{format_quantity(n, 'word')} {'adds' if n == 1 else 'add'} nothing"


EXPLANATION_COLUMNS = (
    "id",
    "label",
    "against",
    "kind",
    "name",
    "nats",
    "count",
    "places",
    "note",
)
"""Headings of the columns that an `ExplanationRow` has in TSV and CSV."""


class ExplanationRow(NamedTuple):
    """A row of an explanation for TSV and CSV."""

    id: str
    label: str
    against: str
    kind: str
    """``prior``, ``word``, ``attribute``, ``others``, ``rest``, ``log-odds``, ``calibrated`` or
    ``none``.
    """
    name: str = ""
    """The word or the attribute."""
    contribution: float | str = ""
    """In nats. The row ``log-odds`` has the sum of the rows before it."""
    occurrences: int | str = ""
    """Number of occurrences of the word."""
    positions: str = ""
    """Start and end of each occurrence, from `_format_positions`."""
    note: str | None = None


DEFAULT_TOP = 20
"""Number of contributions in a table or page if the user sets none. Records have all."""


def write_explanations(
    stream: Iterable[ExplainedDocument], output: str, top: int | None, fingerprint: str | None
) -> None:
    """Write explanations as they come, as ``table``, ``tsv``, ``csv`` or ``jsonl``.

    The records of ``jsonl`` have the ``fingerprint`` of the model.

    A ``table`` is for people: label, shaded text, the ``top`` largest contributions, probability.
    In the other formats, too, ``top`` limits the contributions. None stands for `DEFAULT_TOP` in a
    table, and for all contributions in the other formats.
    """
    if output == "table":
        table_top = DEFAULT_TOP if top is None else top
        print_with_blank_lines(stream, lambda explained: _print_explained(explained, table_top))
        return
    columns = make_tuple_columns(*EXPLANATION_COLUMNS, formats={"nats": ".6g"})
    write_records(
        stream,
        output,
        columns,
        partial(iter_explanation_rows, top=top),
        partial(make_json_record, fingerprint=fingerprint, top=top),
    )


class _OtherContributions(NamedTuple):
    """The contributions that are not shown one by one."""

    n: int
    nats: float


def _keep_largest(
    explanation: Explanation, top: int | None
) -> tuple[Explanation, _OtherContributions]:
    """Keep the ``top`` largest contributions, largest first, and add up the others.

    None keeps all contributions in their order.
    """
    if top is None:
        return explanation, _OtherContributions(0, 0.0)
    contributions: list[WordContribution | AttributeContribution] = [
        *explanation.words,
        *explanation.attributes,
    ]
    contributions.sort(key=lambda contribution: abs(contribution.nats), reverse=True)
    shown = contributions[:top]
    other_nats = [contribution.nats for contribution in contributions[top:] if contribution.nats]
    shown_explanation = replace(
        explanation,
        words=tuple(item for item in shown if isinstance(item, WordContribution)),
        attributes=tuple(item for item in shown if not isinstance(item, WordContribution)),
    )
    return shown_explanation, _OtherContributions(len(other_nats), sum(other_nats))


def _print_explained(explained: ExplainedDocument, top: int) -> None:
    """Print an explanation for people, or the reason why there is no answer."""
    explanation = explained.explanation
    if explanation is None:
        causes = ""
        if explained.ruled_out_classes:
            causes = format_grid(("class", "ruled out by"), describe_causes(explained))
        head = {"document": explained.id, "no answer": explained.missing_reason}
        print_blocks(format_listing(head), causes)
        return

    shaded_text = ""
    if explanation.text.strip():
        shaded_text = render_text(shade_text(split_by_contribution(explanation)))
    sentences = describe_calibration(explanation)
    print_blocks(
        format_listing(_make_heading(explanation)),
        shaded_text,
        _format_summands(explanation, top),
        "".join(f"{wrap_sentence(escape_controls(sentence))}\n" for sentence in sentences),
    )


def _make_heading(explanation: Explanation) -> dict[str, str]:
    """Return names and values for the document, its label, and the class compared with."""
    label_style = ""
    other_style = ""
    if has_styles():
        label_style = ", bold on blue"
        other_style = ", underlined on orange"
    probability = format_number(explanation.probability)
    other_probability = format_number(explanation.against_probability)
    return {
        "document": explanation.id,
        "answer": f"{explanation.label}  ({probability}){label_style}",
        "against": f"{explanation.against}  ({other_probability}){other_style}",
    }


def _format_summands(explanation: Explanation, top: int) -> str:
    """Return the summands of the log odds as a table, with their sum in the last row."""
    summands, n_idle = collect_summands(explanation, top, "other")
    rows = []
    for name, contribution, occurrences, terms in summands:
        is_in_document = bool(occurrences or terms)  # a word or an attribute
        shown_name = name if is_in_document else f"({name})"
        rows.append((shown_name, format_signed_nats(contribution), occurrences, terms))
    idle_words = describe_idle_words(n_idle) if n_idle else ""
    rows.append(("log odds", format_signed_nats(explanation.log_odds), "", idle_words))
    return format_grid(("part", "nats", "times", "terms"), rows, numeric_columns=(1, 2))


def iter_explanation_rows(
    explained: ExplainedDocument, top: int | None = None
) -> Iterator[ExplanationRow]:
    """Yield a row for each summand of the log odds, then for the sum and the probability.

    With ``top``, only the largest contributions have a row, and the sum of the others. A document
    without an answer has one row of the kind ``none``.
    """
    explanation = explained.explanation
    if explanation is None:
        yield ExplanationRow(explained.id, "", "", "none", note=explained.missing_reason)
        return
    explanation, others = _keep_largest(explanation, top)
    make_row = partial(ExplanationRow, explanation.id, explanation.label, explanation.against)
    yield make_row("prior", contribution=explanation.prior, note=explained.notice)
    for word in explanation.words:
        yield make_row(
            "word",
            word.word,
            word.nats,
            occurrences=word.occurrences,
            positions=_format_positions(word),
            note=word.drop_reason or _describe_count_sources(word),
        )
    for attribute in explanation.attributes:
        yield make_row("attribute", f"{attribute.name}={attribute.value}", attribute.nats)
    if others.n:
        yield make_row("others", contribution=others.nats, note=f"the sum of {others.n:,}")
    if explanation.remainder is not None:
        yield make_row("rest", contribution=explanation.remainder, note="words do not add up")
    yield make_row("log-odds", contribution=explanation.log_odds)
    probability = format_six_digits(explanation.probability)
    other_probability = format_six_digits(explanation.against_probability)
    probabilities = f"{probability} to {other_probability}"
    calibrated_log_odds = explanation.calibration.log_odds
    yield make_row("calibrated", contribution=calibrated_log_odds, note=probabilities)


def _format_positions(word: WordContribution) -> str:
    """Return start and end of each occurrence, such as "0-4,10-14"."""
    # All positions are formatted at once, because a long text has a million of them.
    template = ",".join(repeat("%d-%d", len(word.spans)))
    return template % tuple(word.spans.ravel().tolist())


def _describe_count_sources(word: WordContribution) -> str:
    """Return, as text, the proportions of a word's counts from seeds and unlabelled documents."""
    sources = (
        (word.seed_proportion, "seed words"),
        (word.unlabelled_proportion, "unlabelled documents"),
    )
    return ", ".join(
        f"{proportion:.0%} of its counts from {source}"
        for proportion, source in sources
        if proportion
    )


def make_json_record(
    explained: ExplainedDocument, fingerprint: str | None, top: int | None = None
) -> dict[str, ParsedJson]:
    """Return an explanation, with the fingerprint of the model, as a record for JSON.

    The record has the ``top`` largest contributions, or all for None.
    """
    return {**_make_explanation_record(explained, top), "model": fingerprint}


def _make_explanation_record(
    explained: ExplainedDocument, top: int | None = None
) -> dict[str, ParsedJson]:
    """Return an explanation as a record for JSON, with the ``top`` contributions, None for all.

    An infinite contribution becomes null, and gets a key ``rules_out`` with the class that is
    impossible.
    """
    explanation = explained.explanation
    if explanation is None:
        return _make_missing_record(explained)
    explanation, others = _keep_largest(explanation, top)
    record: dict[str, object] = {
        "id": explanation.id,
        "label": explanation.label,
        "probability": explanation.probability,
        "against": explanation.against,
        "against_probability": explanation.against_probability,
        "log_odds": explanation.log_odds,
        "prior": explanation.prior,
        "words": [_make_word_record(word, explanation.against) for word in explanation.words],
        "attributes": [
            {
                "name": attribute.name,
                "value": attribute.value,
                **_make_nats_record(attribute.nats, explanation.against),
            }
            for attribute in explanation.attributes
        ],
        "adds_up": explanation.remainder is None,
    }
    if others.n:
        record["others"] = {"count": others.n, "nats": others.nats}
    if explanation.remainder is not None:
        record["rest"] = explanation.remainder
    record["calibration"] = explanation.calibration
    if explained.notice:
        record["notice"] = explained.notice
    record["text"] = explanation.text
    return to_json_values(record)


def _make_missing_record(explained: ExplainedDocument) -> dict[str, ParsedJson]:
    """Return the record of a document without an answer: its id, and the reason."""
    record: dict[str, ParsedJson] = {"id": explained.id, "label": None}
    if explained.abstention is not None:
        record["abstained"] = explained.abstention
    if explained.problem is not None:
        record["error"] = explained.problem.line
    if explained.ruled_out_classes:
        record["ruled_out"] = [_make_cause_record(cause) for cause in explained.ruled_out_classes]
    return record


def _make_cause_record(cause: RuledOutClass) -> dict[str, ParsedJson]:
    """Return a class and the cause that makes it impossible."""
    record: dict[str, ParsedJson] = {"class": cause.label, "by": cause.cause}
    if cause.value is not None:  # an attribute
        record["name"] = cause.name
        record["value"] = cause.value
    elif cause.name is not None:
        record["word"] = cause.name
    if cause.term is not None:
        record["term"] = cause.term
    return record


def _make_word_record(word: WordContribution, other_class: str) -> dict[str, object]:
    """Return a word and its contribution, which may make the other class impossible."""
    record = {
        "word": word.word,
        **_make_nats_record(word.nats, other_class),
        "count": word.occurrences,
        "places": word.spans.tolist(),
        "terms": word.terms,
    }
    if word.drop_reason:
        record["dropped"] = word.drop_reason
    if word.unlabelled_proportion is not None:
        record["unlabelled"] = round(word.unlabelled_proportion, 6)
    if word.seed_proportion is not None:
        record["seeds"] = round(word.seed_proportion, 6)
    return record


def _make_nats_record(nats: float, other_class: str) -> dict[str, object]:
    """Return a contribution, and the class that it makes impossible if it is infinite."""
    if isfinite(nats):
        return {"nats": nats}
    return {"nats": nats, "rules_out": other_class}


def shade_text(
    pieces: Iterable[tuple[str, float]], escape: Callable[[str], str] = escape_controls
) -> Text:
    """Return pieces of a text, shaded by their contribution in nats, as text of rich.

    If styles are off, the contributions follow the words in brackets. ``escape`` makes each line
    safe to print.
    """
    from rich.text import Text

    pieces = list(pieces)
    max_contribution = find_max_contribution(contribution for _, contribution in pieces)
    use_styles = has_styles()
    shaded = Text()
    for piece, contribution in pieces:
        text = "\n".join(escape(line) for line in piece.expandtabs().splitlines())
        if piece.endswith("\n"):  # `splitlines` dropped it
            text += "\n"
        styles = LABEL_STYLES if contribution > 0 else OTHER_CLASS_STYLES
        shade_level = compute_shade_level(contribution, max_contribution)
        if shade_level > 0 and not use_styles:
            text += escape(f"[{format_signed_nats(contribution)}]")
        shaded.append(text, style=styles[shade_level] if use_styles else None)
    return shaded


def write_why_not(stream: Iterable[WhyNotResult], output: str, fingerprint: str | None) -> None:
    """Write words to remove as they come: ``table`` (sentences), ``tsv``, ``csv`` or ``jsonl``.

    The records of ``jsonl`` have the ``fingerprint`` of the model.
    """
    if output == "table":
        print_with_blank_lines(
            stream, lambda why_not: print_blocks(format_listing(describe_why_not(why_not)))
        )
        return
    headings = ("id", "label", "wanted", "word", "count", "probability", "why")
    columns = make_tuple_columns(*headings, formats={"probability": ".6g"})
    write_records(
        stream,
        output,
        columns,
        _iter_why_not_rows,
        lambda why_not: {**_make_why_not_record(why_not), "model": fingerprint},
    )


def _iter_why_not_rows(why_not: WhyNotResult) -> Iterator[tuple[object, ...]]:
    """Yield a row per word to remove, or one row with the reason why there is none.

    Rows have the document, its label, the wanted class, the word, its occurrences, the probability
    of the wanted class without all words to remove, and the reason.
    """
    first_cells = (why_not.id, why_not.label, why_not.wanted)
    if why_not.removed_words is None:
        reason = why_not.problem.line if why_not.problem else why_not.reason
        yield (*first_cells, "", "", "", reason)
        return
    for word, occurrences in why_not.removed_words.items():
        yield (*first_cells, word, occurrences, why_not.probability_without, "")


def _make_why_not_record(why_not: WhyNotResult) -> dict[str, object]:
    """Return label, wanted class and what to ``remove``, or ``why`` or ``error`` without words."""
    record: dict[str, object] = {
        "id": why_not.id,
        "label": why_not.label,
        "probability": why_not.probability,
        "wanted": why_not.wanted,
        "wanted_probability": why_not.wanted_probability,
    }
    if why_not.removed_words is not None:
        record["remove"] = {
            "words": list(why_not.removed_words),
            "occurrences": sum(why_not.removed_words.values()),
            "probability": why_not.probability_without,
        }
    if why_not.problem is not None:
        record["error"] = why_not.problem.line
    if why_not.reason is not None:
        record["why"] = why_not.reason
    return record


def describe_why_not(why_not: WhyNotResult) -> dict[str, str | None]:
    """Return names and values for people. A value that does not apply is None."""
    if why_not.problem is not None:
        return {"document": why_not.id, "error": why_not.problem.line}
    label = "none"
    if why_not.label is not None:
        label = f"{why_not.label}  ({format_number(why_not.probability, placeholder='')})"
    words_to_remove = None
    if why_not.removed_words is not None:
        words_to_remove = _describe_removal(why_not.removed_words, why_not.probability_without)
    return {
        "document": why_not.id,
        "answer": label,
        "wanted": f"{why_not.wanted}  ({format_number(why_not.wanted_probability)})",
        "why not": None if why_not.reason is None else _describe_reason(why_not.reason),
        "remove": words_to_remove,
    }


def _describe_reason(reason: str) -> str:
    """Return a reason of a `WhyNotResult` in words."""
    from nbtext.explain.counterfactual import (
        ALREADY_PREDICTED,
        MAX_REMOVED_WORDS,
        NOT_ENOUGH,
        ZERO_PRIOR,
    )

    descriptions = {
        ALREADY_PREDICTED: "it is predicted already",
        ZERO_PRIOR: "it is never predicted, because its prior probability is 0",
        NOT_ENOUGH: f"up to {MAX_REMOVED_WORDS} words are not enough",
    }
    return descriptions[reason]


def _describe_removal(words: Mapping[str, int], probability: float | None) -> str:
    """Return the words to remove with their occurrences, and the probability after the removal."""
    subject = "this word" if len(words) == 1 else f"these {len(words)} words"
    names = ", ".join(
        word if occurrences == 1 else f"{word} {occurrences} times"
        for word, occurrences in words.items()
    )
    return f"{subject}: {names}; then {format_number(probability, placeholder='')}"


MAX_TABLE_ROWS = 500
"""Rows of a table of tokens. A long text has several, so that the first rows appear at once."""


def _format_byte_range(token: Token) -> str:
    return "" if token.start is None else f"{token.start}–{token.end}"


WORD_COLUMNS: Sequence[Column[Token]] = (
    Column("bytes", _format_byte_range),
    Column("as written", lambda token: token.form),
    Column("word", lambda token: token.word),
    Column("term", lambda token: token.term),
    Column("term id", lambda token: token.term_id, "d"),
    Column("dropped", lambda token: token.dropped),
)
NGRAM_COLUMNS: Sequence[Column[Token]] = (
    Column("n-grams", lambda token: _format_terms(token.ngrams)),
    Column("character n-grams", lambda token: _format_terms(token.char_ngrams)),
)
"""Columns that a table omits if they are empty."""

TOKEN_FIELDS = ("start", "end", "kind", "form", "word", "term", "term_id", "dropped")
"""Fields of a `Token` that are columns of TSV and CSV, after the id of the document."""

_get_token_values = attrgetter(*TOKEN_FIELDS)


def write_tokens(documents: Iterable[tuple[str, Iterable[Token]]], output: str) -> None:
    """Write the tokens of documents as they come, as ``table``, ``tsv``, ``csv`` or ``jsonl``.

    A document is its name and its tokens.
    """
    if output == "table":
        print_with_blank_lines(documents, lambda document: _print_tokens(*document))
        return
    named_tokens = ((name, token) for name, tokens in documents for token in tokens)
    columns = make_tuple_columns("id", *TOKEN_FIELDS)
    write_records(named_tokens, output, columns, _iter_token_rows, _make_token_record)


def _make_token_record(named_token: tuple[str, Token]) -> dict[str, object]:
    name, token = named_token
    record = asdict(token)
    for term in record["char_ngrams"]:
        del term["end"]  # the same as that of the token
    return {"id": name, **record}


def _iter_token_rows(named_token: tuple[str, Token]) -> Iterator[tuple[object, ...]]:
    """Yield a row for a token and for each of its n-grams: id, and values of `TOKEN_FIELDS`."""
    name, token = named_token
    yield (name, *_get_token_values(token))
    for kind, ngrams in (("ngram", token.ngrams), ("char-ngram", token.char_ngrams)):
        for ngram in ngrams:
            term_cells = (ngram.term, ngram.term_id, ngram.dropped)
            yield (name, token.start, ngram.end, kind, "", "", *term_cells)  # no form, no word


def _print_tokens(name: str, tokens: Iterable[Token]) -> None:
    """Print the name of a document, tables of its tokens, and how many of them count."""
    n_tokens = 0
    drop_reasons: Counter[str] = Counter()
    stream = iter(tokens)
    sys.stdout.write(f"{escape_controls(name)}\n")
    while batch := list(islice(stream, MAX_TABLE_ROWS)):
        n_tokens += len(batch)
        drop_reasons.update(token.dropped for token in batch if token.dropped)
        ngram_columns = [
            column for column in NGRAM_COLUMNS if any(column.value(token) for token in batch)
        ]
        print_blocks(format_table([*WORD_COLUMNS, *ngram_columns], batch))
    counts = [f"counts: {n_tokens - drop_reasons.total():,} of {n_tokens:,}"]
    counts += [f"{n:,} {reason}" for reason, n in sorted(drop_reasons.items())]
    sys.stdout.write("; ".join(counts) + "\n")


def _format_terms(terms: tuple[NgramTerm, ...]) -> str:
    """Return terms separated by commas, with brackets around terms that do not count."""
    return ", ".join(term.term if term.dropped is None else f"({term.term})" for term in terms)

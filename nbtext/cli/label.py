"""`nbtext label`: label the documents of a pool, starting without labels."""

from __future__ import annotations

import time
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nbtext.cli import declarations, messages, shared_options
from nbtext.cli.parameters import INPUT_PATH, ExplicitSettings, parameters_field
from nbtext.cli.shared_options import ANALYSIS_PARAMETERS, DocumentOptions
from nbtext.errors import UsageError, format_quantity
from nbtext.settings import Reading, Settings

if TYPE_CHECKING:
    from collections.abc import Callable

    from nbtext.cli.corpus import CommandCorpus
    from nbtext.cli.label_terminal import Terminal
    from nbtext.counts.counting import Analysis
    from nbtext.counts.statistics import SeedTerm
    from nbtext.labelling.answer_file import AnswerFile
    from nbtext.labelling.session import Session, Suggestion
    from nbtext.prediction.labels import Label

STRATEGIES = ("mixed", "uncertain", "typical", "random")
DEFAULT_FILE = "labels.jsonl"
DEFAULT_REVIEW_FILE = "review.tsv"


@declarations.option_record
class LabelOptions:
    """Options that only this command has."""

    to: str | None = shared_options.to_field(
        "Append labels to FILE, and continue from the labels in FILE.",
        shown_default=f"{DEFAULT_FILE}; with --review {DEFAULT_REVIEW_FILE}",
    )
    strategy: str = declarations.common_option(
        "--next",
        "Choose the next document: mixed (uncertain and typical), uncertain, typical of the pool, "
        "or random.",
        group="documents",
        type=declarations.Choice(STRATEGIES),
        default=STRATEGIES[0],
    )
    random_share: float = declarations.option(
        "--random-share",
        "Draw this proportion of the documents at random. Accuracy is estimated only from the "
        "random documents; with 0 there is no estimate.",
        group="documents",
        hidden=True,
        type=shared_options.NumberInRange(0, 1),
        default=0.1,
        metavar="SHARE",
    )
    seed: int = shared_options.seed_field(
        "Seed of the random number generator; --seeds is another option.", group="documents"
    )
    suggest: int | None = declarations.common_option(
        "--suggest",
        "Print the next N documents as rows to fill in. The column label is empty.",
        group="output",
        type=shared_options.WholeNumber(1),
    )
    take: str | None = declarations.common_option(
        "--take",
        "Import labels from the rows of FILE, which needs the columns or keys id and label.",
        group="documents",
        type=INPUT_PATH,
    )
    review: bool = declarations.common_option(
        "--review",
        "Review documents whose label may be wrong, as the command nbtext suspects lists them. The "
        "output file has lines of document, old and new label; the corpus does not change.",
        group="documents",
    )
    output: str = shared_options.output_field(
        "tsv csv jsonl",
        text="Format of the rows of --suggest: id, label, suggested class, probability, text.",
    )
    excel_safe: bool = shared_options.excel_safe_field()
    seeds: str | None = declarations.option(
        "--seeds",
        "Start as if the words in FILE occurred in their classes. Each line of FILE has a class, "
        "a tab and a word, and optionally a tab and the number of occurrences, by default 10. A "
        "word that begins with ! counts against the class.",
        group="documents",
        type=INPUT_PATH,
    )
    who: str | None = declarations.option(
        "--who", "Store the name of the person with each label.", group="output", metavar="NAME"
    )
    times: bool = declarations.option("--times", "Store the time with each label.", group="output")
    analysis: ExplicitSettings[Settings] = parameters_field(Settings, only=ANALYSIS_PARAMETERS)

    @property
    def answer_path(self) -> str:
        """The path of the file of labels, or with ``--review`` of corrected labels."""
        if self.to:
            return self.to
        return DEFAULT_REVIEW_FILE if self.review else DEFAULT_FILE


@declarations.command("label")
def command(options: LabelOptions, documents: DocumentOptions) -> None:
    """Label documents, the most informative ones first; nbtext train reads the result.

    CORPUS has the documents to label (the pool), in any format. Labels in CORPUS are ignored,
    except with --review. A terminal shows one document after the other: number keys choose a class,
    a letter starts the name of a class (Tab completes it), and the last line shows the other keys.
    Words for the most probable class
    are bold on blue, words for the second class underlined on orange. Without a terminal,
    --suggest prints documents as rows without labels, an editor or a program fills in the labels,
    and --take imports the rows.

    With --label-separator, a document may have several labels: keys switch labels on and off, and
    Enter stores the labels that are on. Later sessions read the separator from the output file
    (--to).

    Each label is on the disk before the next document is shown. The output file has a JSON object
    per line, with id, label and text. To choose the next document and to suggest its class, nbtext
    trains a temporary model on all labels in the output file, including those of documents that are
    not in CORPUS.

    \b
    Examples:
      nbtext label inbox/
      nbtext label inbox/ --suggest 20 > rows.tsv
      nbtext label inbox/ --take rows.tsv
      nbtext label corpora/service-desk/train --review
    """
    from nbtext.cli.corpus import check_output_file, locate_documents
    from nbtext.cli.label_terminal import Terminal
    from nbtext.labelling.answer_file import AnswerFile, LabelAnswer, ReviewAnswer

    path = options.answer_path
    # This also rejects --excel-safe with a format other than csv.
    escape_cell = shared_options.make_cell_formatter(
        options.output, is_excel_safe=options.excel_safe
    )
    documents = locate_documents(documents)
    check_output_file(path, "--to", inputs=[])
    _require_outside_pool(path, documents)
    if options.suggest is not None:
        _print_suggestions(options.suggest, documents, options, escape_cell)
        return
    terminal = None
    if options.take is None:
        # If there is no terminal, the command fails before it creates the file.
        terminal = Terminal()
    answer_type = ReviewAnswer if options.review else LabelAnswer
    with AnswerFile(path, answer_type.from_line) as file:
        if file.was_repaired:
            messages.warn(
                f"{path}: an incomplete line was removed, as after a power cut; its document "
                "comes again"
            )
        session, source = _open_session(documents, options, file)
        if options.take is not None:
            _import_labels(options.take, session, options, documents)
        if terminal is not None:
            _run_screen(session, options, terminal)
    source.report_notices()


def _require_outside_pool(path: str, documents: DocumentOptions) -> None:
    """Raise `UsageError` if the file of labels would be read as a document of the pool."""
    target = Path(path).resolve()
    for pool_path in documents.paths:
        if pool_path != "-" and target.is_relative_to(Path(pool_path).resolve()):
            raise UsageError(f"{path} would be read as a document", hint="choose another --to")


def _print_suggestions(
    n: int, documents: DocumentOptions, options: LabelOptions, escape_cell: Callable[[str], str]
) -> None:
    """Print the next n documents as rows with an empty label."""
    from nbtext.report.output_formats import Column, write_records

    session, source = _open_session(documents, options, file=None)
    columns: list[Column[Suggestion]] = [
        Column("id", attrgetter("id")),
        Column("label", attrgetter("label")),
        Column("suggested", attrgetter("suggested")),
        Column("probability", attrgetter("probability"), ".6g"),
        Column("text", attrgetter("text")),
    ]
    write_records(session.suggest(n), options.output, columns, escape=escape_cell, tsv_header=True)
    source.report_notices()


def _import_labels(
    path: str, session: Session, options: LabelOptions, documents: DocumentOptions
) -> None:
    """Add the labels of the rows in the file of ``--take`` to the session."""
    from nbtext.cli.corpus import CommandCorpus

    # The rows are read as documents. They need no text, so the id serves as text.
    reading = Reading(text_column="id", encoding=documents.reading.complete_settings.encoding)
    row_file = DocumentOptions(paths=(path,))
    rows = CommandCorpus(row_file, reading, labelled=False, columns=("id", "label"), progress=False)
    n_before = len(session.labels)
    for row in session.import_labels(rows, options.who, _get_time(options)):
        if row.problem is not None:
            messages.report_failed_document(row.id, row.problem)
    rows.raise_deferred()
    n_new = format_quantity(len(session.labels) - n_before, f"new {session.model.answer_noun}")
    classes = format_quantity(len(session.classes), session.plan.kind.noun)
    messages.notify(f"{options.answer_path}: {n_new}, {len(session.labels):,} in all, {classes}")


def _run_screen(session: Session, options: LabelOptions, terminal: Terminal) -> None:
    """Ask about documents on the terminal."""
    from nbtext.cli.label_screen import SCREENS
    from nbtext.prediction.posterior import look_up_kind

    def store_answer(row: int, label: Label) -> None:
        session.answer(row, label, options.who, _get_time(options))

    screen_type = look_up_kind(SCREENS, session.plan.kind)
    with terminal:
        screen_type(session, terminal, store_answer).run()
    path = options.answer_path
    next_step = ""
    if not options.review:
        classes = format_quantity(len(session.classes), session.plan.kind.noun)
        next_step = f", {classes}; train a model with nbtext train {path}"
    messages.notify(f"{path}: {session.progress_text}{next_step}")


def _get_time(options: LabelOptions) -> str | None:
    """Return the present time in UTC, or None without ``--times``."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()) if options.times else None


def _open_session(
    documents: DocumentOptions, options: LabelOptions, file: AnswerFile | None
) -> tuple[Session, CommandCorpus]:
    """Return a session that continues from the labels in the file of ``--to``, and its corpus.

    ``file`` is the open file of ``--to``, in which the session stores labels. Without it
    (``--suggest``, which excludes ``--review``), the session only reads the labels.
    """
    from nbtext.cli.corpus import CommandCorpus, make_analysis
    from nbtext.labelling.session import QueryPlan, open_session
    from nbtext.prediction.labels import find_label_separator

    answers = _read_answers(options, file)
    reading = documents.reading.complete_settings
    source = CommandCorpus(documents, reading, labelled=options.review)
    analysis = make_analysis(options.analysis, source.reading)
    if options.review and file is not None:
        return _open_review(source, analysis, file), source
    separator = reading.label_separator or find_label_separator(answer.label for answer in answers)
    plan = QueryPlan(options.strategy, options.random_share, options.seed, separator)
    seeds: list[SeedTerm] = []
    if options.seeds is not None:
        from nbtext.cli.option_files import read_seeds
        from nbtext.compatibility import (
            SEED_WORDS,
            list_label_requests,
            require_compatible_settings,
        )
        from nbtext.model.training import resolve_seed_terms

        required_features = [SEED_WORDS, *list_label_requests(plan.kind)]
        require_compatible_settings(analysis.settings, *required_features)
        seeds = resolve_seed_terms(read_seeds(options.seeds), analysis)
    session = open_session(source.iter_readable(), analysis, plan, answers, file, seeds)
    return session, source


def _read_answers(options: LabelOptions, file: AnswerFile | None) -> Any:
    """Return the answers of the open file: `ReviewAnswer` with ``--review``, else `LabelAnswer`.

    Without an open file, read the file of ``--to``, if it exists. It is not opened for writing,
    because another session may be using it.
    """
    from nbtext.corpus.streams import read_option_file
    from nbtext.labelling.answer_file import LabelAnswer, read_session_answers

    if file is not None:
        return file.answers
    path = options.answer_path
    if not Path(path).exists():
        return []
    return read_session_answers(path, read_option_file(path), LabelAnswer.from_line)


def _open_review(source: CommandCorpus, analysis: Analysis, file: AnswerFile) -> Session:
    """Return the session that reviews a labelled corpus. Decisions are stored in ``file``."""
    from nbtext.labelling.pool import count_pool
    from nbtext.labelling.review import ReviewSession
    from nbtext.model.training import resolve_smoothing_terms

    counted_pool = count_pool(source.iter_readable(), analysis)
    return ReviewSession(counted_pool, resolve_smoothing_terms(analysis), file)

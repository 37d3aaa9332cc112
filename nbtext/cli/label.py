"""`nbtext label`: sort a pool of documents into classes, from zero."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from nbtext.cli import declarations, messages, shared_options
from nbtext.cli.parameters import INPUT_PATH, ExplicitSettings, parameters_field
from nbtext.cli.shared_options import ANALYSIS_PARAMETERS, DocumentOptions
from nbtext.errors import UsageError, format_quantity
from nbtext.fast_dataclasses import dataclass
from nbtext.settings import Reading, Settings

if TYPE_CHECKING:
    from collections.abc import Callable

    from nbtext.cli.corpus import CommandCorpus
    from nbtext.cli.label_terminal import Terminal
    from nbtext.counts.statistics import SeedTerm
    from nbtext.labelling.answer_file import AnswerFile
    from nbtext.labelling.session import Session, Suggestion

STRATEGIES = ("mixed", "uncertain", "typical", "random")
DEFAULT_FILE = "labels.jsonl"
DEFAULT_PATCH = "review.tsv"


@dataclass(frozen=True, kw_only=True)
class LabelOptions:
    """The options of this command alone."""

    to: str | None = shared_options.to_field(
        "Append labels to FILE, and go on from those in it.",
        shown_default=f"{DEFAULT_FILE}; with --review {DEFAULT_PATCH}",
    )
    strategy: str = declarations.common_option(
        "--next",
        "answer",
        "Choose the next document: uncertain, typical of those not yet labelled, both (mixed), or "
        "random.",
        type=declarations.Choice(STRATEGIES),
        default=STRATEGIES[0],
    )
    random_share: float = declarations.option(
        "--random-share",
        "answer",
        "Draw this share of the documents at random. Accuracy is estimated from them alone; with 0 "
        "there is no estimate.",
        hidden=True,
        type=shared_options.NumberInRange(0, 1),
        default=0.1,
        metavar="SHARE",
    )
    seed: int = shared_options.seed_field("answer", "Seed of the drawing.")
    suggest: int | None = declarations.common_option(
        "--suggest",
        "output",
        "Print the next N documents as rows to fill in. The column label is empty.",
        type=shared_options.WholeNumber(1),
    )
    take: str | None = declarations.common_option(
        "--take",
        "documents",
        "Add the labels of rows that were filled in. It needs the columns or keys id and label.",
        type=INPUT_PATH,
    )
    review: bool = declarations.common_option(
        "--review",
        "documents",
        "Ask about the documents of a labelled corpus that nbtext suspects finds. FILE then gets "
        "document, old and new label; the corpus stays.",
    )
    output: str = shared_options.output_field("tsv csv jsonl", "Of the rows of --suggest.")
    excel_safe: bool = shared_options.excel_safe_field()
    seeds: str | None = declarations.option(
        "--seeds",
        "documents",
        "Begin with words for the classes. A line of FILE has a class, a tab and a word, and "
        "optionally a tab and its pseudo-count, by default 10. A word after ! "
        "speaks against the class.",
        type=INPUT_PATH,
    )
    who: str | None = declarations.option(
        "--who", "output", "Store the name of the person with each label.", metavar="NAME"
    )
    times: bool = declarations.option("--times", "output", "Store the time with each label.")
    analysis: ExplicitSettings[Settings] = parameters_field(Settings, only=ANALYSIS_PARAMETERS)

    @property
    def file(self) -> str:
        """The file of labels, or of corrected labels."""
        return self.to or (DEFAULT_PATCH if self.review else DEFAULT_FILE)


@declarations.command("label")
def command(options: LabelOptions, documents: DocumentOptions) -> None:
    """Sort documents without labels into classes; nbtext train reads the result.

    CORPUS is the pool, in any format. Labels in it are ignored, except with --review. A terminal shows the most informative document first: number keys answer, n names a new class, and the last line shows the other keys. Words for the most probable class are bold on blue, words for the second
    one underlined on orange. Without a terminal, --suggest prints documents and --take adds the labels of the rows, filled in by an editor or a program.

    With --label-separator a document may have several labels: keys switch them on and off, and Enter stores those that are on. Later sessions know it from FILE.

    Each label is on the disk before the next document is shown. The file has a JSON object a line, with id, label and text. Labels of documents that
    are not in the pool teach too.

    \b
    Examples:
      nbtext label inbox/
      nbtext label inbox/ --suggest 20 > rows.tsv
      nbtext label inbox/ --take rows.tsv
      nbtext label corpora/service-desk/train --review
    """
    import time

    from nbtext.cli.corpus import check_output_file, locate_documents
    from nbtext.cli.label_terminal import Terminal
    from nbtext.labelling.answer_file import AnswerFile, LabelAnswer, ReviewAnswer
    from nbtext.report.output_formats import Column, write_records

    file_name = options.file
    safe = shared_options.make_cell_formatter(options.output, is_excel_safe=options.excel_safe)
    documents = locate_documents(documents)
    check_output_file(file_name, "--to", [])
    target = Path(file_name).resolve()
    if any(path != "-" and target.is_relative_to(Path(path).resolve()) for path in documents.paths):
        raise UsageError(f"{file_name} would be read as a document", hint="choose another --to")
    if options.suggest is not None:
        session, source = _session(documents, options, None)
        columns: list[Column[Suggestion]] = [
            Column("id", lambda found: found.id),
            Column("label", lambda found: found.label),
            Column("suggested", lambda found: found.suggested),
            Column("probability", lambda found: found.probability, ".6g"),
            Column("text", lambda found: found.text),
        ]
        write_records(
            session.suggest(options.suggest), options.output, columns, escape=safe, tsv_header=True
        )
        source.report_notices()
        return
    terminal = None if options.take is not None else Terminal()
    kind_of_line = ReviewAnswer if options.review else LabelAnswer

    def now() -> str | None:
        return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()) if options.times else None

    with AnswerFile(file_name, kind_of_line.from_line) as file:
        if file.was_repaired:
            messages.warn(
                f"{file_name}: a half-written line was cut off, as after a power cut; that "
                "document is asked about again"
            )
        session, source = _session(documents, options, file)
        if terminal is None:
            _take(session, options, documents, now)
        else:
            _ask(session, options, terminal, now)
    source.report_notices()


def _take(
    session: Session,
    options: LabelOptions,
    documents: DocumentOptions,
    now: Callable[[], str | None],
) -> None:
    """Add the labels of the rows of ``--take``."""
    from nbtext.cli.corpus import CommandCorpus

    reading = Reading(text_column="id", encoding=documents.reading.complete_settings.encoding)
    filled = DocumentOptions(paths=(options.take or "",))
    rows = CommandCorpus(filled, reading, labelled=False, columns=("id", "label"), progress=False)
    known = len(session.labels)
    for _ in messages.report_failures(session.import_labels(rows, options.who, now())):
        pass
    rows.raise_deferred()
    new = format_quantity(len(session.labels) - known, f"new {session.model.answer_noun}")
    classes = format_quantity(len(session.classes), session.plan.kind.noun)
    messages.notify(f"{options.file}: {new}, {len(session.labels):,} in all, {classes}")


def _ask(
    session: Session, options: LabelOptions, terminal: Terminal, now: Callable[[], str | None]
) -> None:
    """Ask about the documents on the terminal."""
    from nbtext.cli.label_screen import SCREENS
    from nbtext.prediction.posterior import look_up_kind

    screen = look_up_kind(SCREENS, session.plan.kind)
    with terminal:
        screen(
            session, terminal, lambda row, label: session.answer(row, label, options.who, now())
        ).run()
    classes = format_quantity(len(session.classes), session.plan.kind.noun)
    learn = "" if options.review else f", {classes}; learn them with nbtext train {options.file}"
    messages.notify(f"{options.file}: {session.progress_text}{learn}")


def _session(
    documents: DocumentOptions, options: LabelOptions, file: AnswerFile | None
) -> tuple[Session, CommandCorpus]:
    """Return the session or review that goes on from the labels of ``--to``, and the documents as they were read; without ``file`` labels are only read."""
    from nbtext.cli.corpus import CommandCorpus, make_analysis
    from nbtext.corpus.streams import read_option_file
    from nbtext.labelling.answer_file import LabelAnswer, read_session_answers
    from nbtext.labelling.session import QueryPlan, open_session
    from nbtext.prediction.labels import find_label_separator

    answers: Any = [] if file is None else file.answers
    if file is None and Path(options.file).exists():  # another session may be writing to it
        answers = read_session_answers(
            options.file, read_option_file(options.file), LabelAnswer.from_line
        )
    source = CommandCorpus(documents, documents.reading.complete_settings, labelled=options.review)
    analysis = make_analysis(options.analysis, source.reading)
    if options.review and file is not None:
        from nbtext.labelling.pool import count_pool
        from nbtext.labelling.review import ReviewSession
        from nbtext.model.training import resolve_smoothing_terms

        return ReviewSession(
            count_pool(source.iter_readable(), analysis), resolve_smoothing_terms(analysis), file
        ), source
    separator = documents.reading.complete_settings.label_separator or find_label_separator(
        answer.label for answer in answers
    )
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

        require_compatible_settings(analysis.settings, SEED_WORDS, *list_label_requests(plan.kind))
        seeds = resolve_seed_terms(read_seeds(options.seeds), analysis)
    return open_session(source.iter_readable(), analysis, plan, answers, file, seeds), source

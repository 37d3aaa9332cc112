"""`nbtext card`: write a model card."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from nbtext.cli import messages, option, panels
from nbtext.cli.config import CARD
from nbtext.errors import PathError, UsageError

if TYPE_CHECKING:
    from nbtext.type_names import Parsed


card_options = option.several(
    panels.option(
        "--evaluation", "documents",
        "Take the figures of a model card from FILE, which nbtext evaluate --output json printed, instead of from CORPUS.",
        type=option.PATH,
    ),
    panels.option(
        "--name", "output",
        "Name of the model in a model card.",
        hidden=True, metavar="TEXT", shown_default="the name of the model file",
    ),
    panels.option("--dataset", "output", "Name of the test documents in a model card.", metavar="TEXT", shown_default="CORPUS"),
    panels.option("--license", "output", "License in a model card, such as mit. Left out unless it is given.", metavar="NAME"),
)  # fmt: skip
"""For `write_card`."""


@panels.command("card", hidden=True)
@option.corpus_argument
@option.model_option
@option.to_option("Write the card to FILE, not to standard output.", CARD, old_names="-o --output")
@card_options
@option.jobs_option
@option.document_options
def command(model_path: str, to: str | None, **options: Any) -> None:
    """Write a model card: the old name of nbtext report --to card.md."""
    write_card(model_path, to, options)


def write_card(model_path: str, to: str | None, options: option.Options) -> None:
    """Write a model card to a file, or without one to standard output."""
    from contextlib import suppress
    from pathlib import Path

    from nbtext.cli.corpus import check_output_file, corpus_paths, documents_for, names_documents
    from nbtext.corpus.streams import file_content
    from nbtext.decision import DecisionRule
    from nbtext.evaluation.judging import judge_scored
    from nbtext.evaluation.label_errors import suspects_in_sample
    from nbtext.inspection.overview import overview
    from nbtext.metrics.results import json_values
    from nbtext.model.corpus_work import score_corpus
    from nbtext.model.training import left_out_posteriors
    from nbtext.report.model_card import TERMS_SHOWN, CardFacts, model_card
    from nbtext.store.atomic import replace_file
    from nbtext.strict_json import parsed_json

    model, saved, corpus = option.load_model(model_path), options["evaluation"], options["corpus"]
    check_output_file(to, "--to", [model_path, *corpus, saved])
    evaluation: Parsed = None
    if names_documents(options):
        documents = documents_for(model, corpus_paths(options), options, labelled=True)
        result = judge_scored(score_corpus(model.fitted, documents, options.get("jobs", 1)), model, DecisionRule()).result()
        documents.say_notices()
        messages.warn_of_unknown("the model", result.unknown_labels)
        evaluation = json_values(result)
    elif saved:
        with suppress(ValueError):
            evaluation = parsed_json(file_content(saved))
        if (
            not isinstance(evaluation, dict)
            or not isinstance(evaluation.get("per_class"), dict)
            or not isinstance(evaluation.get("n"), int)
        ):
            raise _no_evaluation(saved)
    try:
        suspects = suspects_in_sample(left_out_posteriors(model.fitted))
    except UsageError:  # the model cannot leave documents out
        suspects = None
    name, dataset = options["name"] or Path(model_path).stem, options["dataset"] or ", ".join(corpus) or None
    facts = CardFacts(name, overview(model, TERMS_SHOWN), options["license"], dataset, evaluation, suspects)
    try:
        card = model_card(facts)
    except (TypeError, ValueError, KeyError, AttributeError):
        if saved is None:
            raise
        raise _no_evaluation(saved) from None
    if to is None:
        sys.stdout.write(card)
    else:
        replace_file(to, lambda file: file.writelines([card.encode()]))


def _no_evaluation(path: str) -> PathError:
    return PathError("not an evaluation", where=path, hint="save one with nbtext evaluate CORPUS --output json")

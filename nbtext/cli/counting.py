"""What the commands that resample a corpus share: all of its documents counted once, under the options of training."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from nbtext.cli.options import given
from nbtext.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from nbtext.cli.corpus import Corpus
    from nbtext.cli.messages import Messages
    from nbtext.counts.documents import CountedDocuments
    from nbtext.counts.statistics import ClassStatistics


@dataclass(frozen=True)
class Counted:
    """A corpus as counts, with the names of its documents and their values in the columns asked for."""

    statistics: ClassStatistics
    documents: CountedDocuments
    names: list[str]
    columns: list[tuple[str, ...]]
    parameters: Mapping[str, Any]
    """As `nbtext.model.training` takes them."""
    reading: dict[str, Any]
    stop_list: list[str]
    source: Corpus
    """Of which `say_notices` is to be asked when the results are there."""


def counted_corpus(paths: Sequence[str], options: dict[str, Any], say: Messages, columns: Sequence[str] = ()) -> Counted:
    """Read and count a labelled corpus; raises what `nbtext train` raises for its options and documents."""
    from nbtext.classifiers.base import class_prior
    from nbtext.cli.corpus import Corpus, on_error
    from nbtext.cli.jobs import columns_of, documents_counted, no_documents
    from nbtext.corpus.reading import resolved
    from nbtext.counts.counting import require_words
    from nbtext.model import TextClassifier
    from nbtext.model.training import looked_up
    from nbtext.settings import READING, TRAINING, checked

    reading = resolved(checked(READING, given(READING, options)), paths, labelled=True)
    model = TextClassifier(**given(TRAINING, options))
    require_words(model.parameters, reading)
    parameters = looked_up(model.parameters, model.stop_list, reading)
    source = Corpus(paths, reading, say, labelled=True, columns=columns, on_error=on_error(options))
    statistics, documents, names, values = documents_counted(model, source, options.get("jobs", 1), columns_of) or no_documents()
    class_prior(model.parameters["class_prior"], statistics)  # raises now what it would raise in every fold
    return Counted(statistics, documents, names, values, parameters, reading, model.stop_list, source)


def refuse_together(options: dict[str, Any], asked: str, others: Sequence[str]) -> None:
    """Raise `UsageError` if options were given that the option asked for has no use for; names as in the program."""
    for other in others:
        if options[other] is not None:
            raise UsageError(f"--{asked.replace('_', '-')} and --{other.replace('_', '-')} exclude each other")

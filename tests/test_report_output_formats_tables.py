"""Tables: as rich would draw them, in far fewer steps."""

from __future__ import annotations

import io
from contextlib import redirect_stdout
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from nbtext import TextClassifier
from nbtext.corpus.document import Document
from nbtext.evaluation.evaluate import evaluate_documents
from nbtext.inspection.overview import build_overview
from nbtext.report import output_formats as tables
from nbtext.report.evaluations import write_evaluation
from nbtext.report.models import print_overview
from tests.operation_counts import calls
from tests.profiles import examples

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from nbtext.metrics.results import EvaluationResult

WORDS = [
    "",
    " ",
    "a",
    "bb ",
    "words-of-a-kind",
    "日本",
    "naïve",
    "e\u0301",
    "🌷",
    "x" * 30,
    "a b c d e f g h",
]
cells = st.lists(st.sampled_from(WORDS), max_size=5).map(" ".join)


def printed(write: Callable[[], object]) -> str:
    with redirect_stdout(io.StringIO()) as out:
        write()
    return out.getvalue()


def render_with_rich(
    title: str | None,
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    numeric: Sequence[int],
    width: int,
) -> str:
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for place, name in enumerate(columns):
        table.add_column(name, justify="right" if place in numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    console = Console(width=width, color_system=None, force_terminal=False)
    with console.capture() as drawn:
        console.print(table)
    return "\n".join(line.rstrip() for line in drawn.get().splitlines()).strip("\n") + "\n"


@examples(15)
@given(
    data=st.data(),
    n_columns=st.integers(1, 6),
    title=st.sampled_from([None, "t"]),
    width=st.sampled_from([200, 80, 60, 40]),
)
def test_table_is_drawn_as_by_rich(
    data: st.DataObject, n_columns: int, title: str | None, width: int
) -> None:
    some = st.lists(cells, min_size=n_columns, max_size=n_columns)
    columns, rows = "abcdef"[:n_columns], data.draw(st.lists(some, max_size=5))
    numeric = data.draw(st.lists(st.integers(0, n_columns - 1), max_size=3))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables, "DEFAULT_SCREEN_COLUMNS", width)
        found = printed(
            lambda: tables.print_blocks(tables.format_grid(columns, rows, numeric, title))
        )
    assert found.rstrip("\n") + "\n" == render_with_rich(title, columns, rows, numeric, width)


def test_two_columns_may_have_the_same_heading() -> None:
    columns: list[tables.Column[tuple[str, int]]] = [
        tables.Column("n", lambda row: row[0]),
        tables.Column("n", lambda row: row[1], ","),
    ]
    assert tables.format_table(columns, [("a", 1000)]).split() == ["n", "n", "─" * 9, "a", "1,000"]


def of_classes(n_classes: int) -> TextClassifier:
    texts = [f"word{number % 50} other{number % 7}" for number in range(n_classes)]
    return TextClassifier(calibration="none").fit(
        texts, [f"class {number}" for number in range(n_classes)]
    )


def evaluated(model: TextClassifier) -> EvaluationResult:
    documents = [Document(f"d{number}", f"class {number}", b"word1 other3") for number in range(20)]
    return evaluate_documents(model, documents).result()


@pytest.mark.parametrize("name", ["evaluate", "inspect"])
def test_tables_of_many_classes_take_linear_time(name: str) -> None:
    def work(model: TextClassifier) -> None:
        if name == "evaluate":
            write_evaluation("table", evaluated(model), show_all=True)
        else:
            print_overview(build_overview(model, 8))

    few, many = of_classes(300), of_classes(600)
    printed(lambda: work(few))  # imports
    taken = [calls(lambda model=model: printed(lambda: work(model))) for model in (few, many)]  # type: ignore[misc]
    assert taken[1] < 2.6 * taken[0]
    assert taken[1] - taken[0] < 300 * 200  # rich needs about 3,000 for each class

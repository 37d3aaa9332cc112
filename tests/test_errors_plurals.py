"""Counts with their nouns: "1 class", wherever one is printed."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from nbtext.errors import quantity
from tests.process import nbtext
from tests.test_structure import FILES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NOUNS = "attribute|class|column|document|feature|file|fold|group|label|model|n-gram|occurrence|other|row|run|term|token|word"
PLURAL = re.compile(rf"[ \u00a0](?:\w+ )?(?:{NOUNS})e?s\b")


def plurals_after_a_number(source: str) -> Iterator[str]:
    """Yield what stands in f-strings as "{n} documents"; names in capitals are constants, of which none is 1."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.JoinedStr):
            continue
        for value, after in zip(node.values, node.values[1:], strict=False):
            if (
                isinstance(value, ast.FormattedValue)
                and isinstance(after, ast.Constant)
                and isinstance(after.value, str)
                and PLURAL.match(after.value)
            ):
                shown = ast.unparse(value.value)
                if value.format_spec is not None and not shown.isupper():
                    yield f"{{{shown}}}{after.value}"


def test_no_count_is_printed_with_a_fixed_plural() -> None:
    for path in FILES:
        assert list(plurals_after_a_number(path.read_text(encoding="utf-8"))) == [], path


def test_a_fixed_plural_is_found() -> None:
    assert list(plurals_after_a_number('f"{n:,} documents, {MOST:,} terms, {name} classes"')) == ["{n} documents, "]


def test_one_is_singular_and_all_others_plural() -> None:
    assert [quantity(n, "class") for n in (0, 1, 2, 1000)] == ["0 classes", "1 class", "2 classes", "1,000 classes"]
    assert quantity(1, "training document") == "1 training document"


def test_a_model_of_one_document(tmp_path: Path) -> None:
    (tmp_path / "c.tsv").write_text("a\tmoon\n")
    trained = nbtext("train c.tsv -v -m m --sample 0")
    assert any("1 class, 1 document, 1 token, 1 term, " in note for note in trained.notes)

"""`nbtext relabel`: another name for a class, or two classes made one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbtext import TextClassifier
from tests.model_changes import MORE, inspect_json
from tests.process import PETS, content, succeed, write

if TYPE_CHECKING:
    from pathlib import Path


def test_relabel_renames_or_merges_classes(pets_and_more: Path) -> None:
    rows = "".join(
        f"{'animals' if name.startswith('dogs') else name.partition('/')[0]}\t{text}\n"
        for name, text in {**PETS, **MORE}.items()
    )
    write("rows.tsv", rows)
    write("nbtext.joblib", content("both"))
    succeed("relabel dogs animals")
    expected = TextClassifier().fit(
        [*PETS.values(), *MORE.values()], [row.partition("\t")[0] for row in rows.splitlines()]
    )
    expected.reading = TextClassifier.load("both").reading
    expected.save("expected")
    assert content("nbtext.joblib") == content("expected")
    succeed("relabel cats animals")
    assert {
        label: of["documents"] for label, of in inspect_json(pets_and_more)["classes"].items()
    } == {"animals": 6, "birds": 1}

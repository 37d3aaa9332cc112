"""The kernel: bytes to surface forms and their ids."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from nbtext.text.surface_forms import LONG_FORM_ID, MAX_INTERNED_BYTES, SurfaceTable, find_surfaces
from tests import oracle, strategies
from tests.profiles import examples

any_bytes = st.binary(max_size=30).map(lambda found: found.decode("latin-1").encode())
blocks = st.lists(st.one_of(strategies.documents, any_bytes), max_size=6)


@examples(25)
@given(blocks)
def test_surface_forms_match_a_split_of_each_document(texts: list[bytes]) -> None:
    surfaces = find_surfaces(texts)
    found: list[list[bytes]] = [[] for _ in texts]
    for document, form in zip(
        surfaces.documents.tolist(),
        surfaces.decode_forms(np.arange(surfaces.starts.size)),
        strict=True,
    ):
        found[document].append(form.encode())
    assert found == [oracle.surfaces(text) for text in texts]
    assert surfaces.documents.tolist() == sorted(surfaces.documents.tolist())


@examples(25)
@given(st.lists(blocks, max_size=4))
def test_each_surface_form_has_one_id(batches: list[list[bytes]]) -> None:
    table = SurfaceTable()
    ids: dict[str, int] = {}
    for texts in batches:
        surfaces = find_surfaces(texts)
        forms = surfaces.decode_forms(np.arange(surfaces.starts.size))
        for form, number in zip(forms, table.intern(surfaces).tolist(), strict=True):
            assert (number == LONG_FORM_ID) == (len(form.encode()) > MAX_INTERNED_BYTES)
            assert ids.setdefault(form, number) == number
    interned = [number for number in ids.values() if number != LONG_FORM_ID]
    assert len(set(interned)) == len(interned)
    assert all(0 <= number < table.id_limit for number in interned)


def test_forms_with_common_prefixes_and_suffixes_have_different_ids() -> None:
    parts = [b"abcdefgh", b"ijklmnop", b"qrstuvwx", b"abc"]
    forms = {a + b + c for a in parts for b in [*parts, b""] for c in [*parts, b""]} | {
        b"a" * n for n in range(2, MAX_INTERNED_BYTES + 1)
    }
    surfaces = find_surfaces([b" ".join(sorted(forms))])
    assert len(set(SurfaceTable().intern(surfaces).tolist())) == len(forms)


def test_empty_documents_have_no_forms() -> None:
    for texts in ([], [b""], [b"", b" \0 ", b"-"]):
        surfaces = find_surfaces(texts)
        assert surfaces.documents.tolist() == SurfaceTable().intern(surfaces).tolist() == []

"""Names of types, only for annotations: arrays by their contents, and values of JSON.

No module imports this one at run time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]
Ids = NDArray[np.int32]
"""Ids of terms, forms and documents, and other integers of 32 bits."""
Octets = NDArray[np.uint8]
Fingerprints = NDArray[np.bytes_]
Keys = NDArray[np.uint64]
"""Integers that encode pairs or bytes."""
AnyInts = NDArray[np.integer]
"""Integers of any width."""
Numbers = NDArray[np.integer | np.floating]
"""Counts: integers, or floats after weighting."""
TrueLabels = NDArray[Any]
"""Class indices, shape (n_docs,); for multi-label documents a mask, shape (n_docs, n_classes)."""
Array = NDArray[np.generic]
AnyArray = NDArray[Any]
"""An array whose type is in a comment."""
ScoresAndTokens = tuple[Floats, Ints]
"""Scores in nats, and the number of tokens of each document."""
TermFunction = Callable[[Ints], Floats]
"""Takes the ids of n terms, and returns a number for each term and class, shape (n, n_classes)."""
Arrays = Mapping[str, Numbers]
"""Arrays of a model file by name. Their reader checks the types."""
Fields = Sequence[tuple[bytes, bytes]]
"""Names, in the form of `nbtext.document_fields.normalise_field_name`, and contents of fields.

Contents are valid UTF-8 without separators. A name may occur several times. The last name may be
empty: its content is items separated by blanks, each with its field, as in
``host:example.org type:text/html``.
"""
Names = Sequence[str]
"""Names of classes, attributes, documents or other items, in a fixed order."""
AttributeValues = Sequence[Names]
"""The values of each document, in the order of `nbtext.document_fields.Attributes`, or empty."""
ParsedJson: TypeAlias = Any
"""A result of `json.loads`. Its reader checks the type."""

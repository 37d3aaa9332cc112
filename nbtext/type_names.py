"""Names of types, for annotations alone: arrays by what they hold, and the values of JSON. No module imports it when it runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]
Ids = NDArray[np.int32]
"""Numbers of terms, forms and documents, and other whole numbers of 32 bits."""
Octets = NDArray[np.uint8]
Fingerprints = NDArray[np.bytes_]
Keys = NDArray[np.uint64]
"""Numbers that stand for pairs or bytes."""
AnyInts = NDArray[np.integer]
"""Of any width."""
Numbers = NDArray[np.integer | np.floating]
"""Whole as they are counted, floats once they are weighed."""
TrueLabels = NDArray[Any]
"""Class numbers, shape (n_docs,); of several labels a mask, shape (n_docs, n_classes)."""
Array = NDArray[np.generic]
AnyArray = NDArray[Any]
"""Of a type that its comment says."""
ScoresAndTokens = tuple[Floats, Ints]
"""Numbers in nats, and tokens of each document."""
TermFunction = Callable[[Ints], Floats]
"""Returns numbers of some terms, given their ids, shape (n, n_classes)."""
Arrays = Mapping[str, Numbers]
"""Arrays of a model file by name, whose types their reader checks."""
Fields = Sequence[tuple[bytes, bytes]]
"""Names, as of `nbtext.document_fields.field_name`, and contents in valid UTF-8 without separators. A name may occur several times. The content without
a name, which stands last, are items with one space between two, each with its field in front: ``host:example.org type:text/html``."""
Names = Sequence[str]
"""Of classes, attributes, documents or anything else, in an order that matters."""
AttributeValues = Sequence[Names]
"""Those of the attributes of each document, or none at all, as `nbtext.document_fields.Attributes` orders them."""
ParsedJson: TypeAlias = Any
"""What `json.loads` returned, or would return: its reader checks it."""

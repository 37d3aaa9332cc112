"""nbtext: text classification on the command line and from Python.

>>> from nbtext import TextClassifier
>>> texts = ["the engine stalls", "the goalkeeper saves"]
>>> model = TextClassifier().fit(texts, ["cars", "football"])
>>> model.predict(["a stalling engine"])
array(['cars'], dtype=object)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nbtext.corpus.document import Document, Notices
    from nbtext.corpus.reading import read_corpus
    from nbtext.errors import (
        DocumentError,
        LockedError,
        ModelError,
        NbtextError,
        PathError,
        UsageError,
        WorkerError,
    )
    from nbtext.model import TextClassifier
    from nbtext.model.text_classifier import model_from_joblib
    from nbtext.prediction.rule import DecisionRule
    from nbtext.settings import Reading, Settings
    from nbtext.version import __version__

__all__ = [
    "DecisionRule",
    "Document",
    "DocumentError",
    "LockedError",
    "ModelError",
    "NbtextError",
    "Notices",
    "PathError",
    "Reading",
    "Settings",
    "TextClassifier",
    "UsageError",
    "WorkerError",
    "__version__",
    "model_from_joblib",
    "read_corpus",
]

_MODULE_OF_NAME = {
    "DecisionRule": "prediction.rule",
    "Document": "corpus.document",
    "Notices": "corpus.document",
    "Reading": "settings",
    "Settings": "settings",
    "TextClassifier": "model",
    "__version__": "version",
    "model_from_joblib": "model.text_classifier",
    "read_corpus": "corpus.reading",
}
"""Submodule of each public name. The exceptions, which are not here, are in `nbtext.errors`."""


def __getattr__(name: str) -> object:
    """Import a public name on first use: `nbtext --help` needs neither numpy nor a model."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    module = import_module(f"{__name__}.{_MODULE_OF_NAME.get(name, 'errors')}")
    return getattr(module, name)

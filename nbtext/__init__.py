"""nbtext: text classification on the command line and from Python.

>>> from nbtext import TextClassifier
>>> TextClassifier().fit(["the engine stalls", "the goalkeeper saves"], ["cars", "football"]).predict(["a stalling engine"])
['cars']
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nbtext.model import TextClassifier

__version__ = "0.1.0"
__all__ = ["TextClassifier", "__version__"]


def __getattr__(name: str) -> object:
    """Import on first use: `nbtext --help` needs neither numpy nor a model."""
    if name == "TextClassifier":
        from nbtext.model import TextClassifier

        return TextClassifier
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

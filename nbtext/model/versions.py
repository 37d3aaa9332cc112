"""Which versions of which packages wrote a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nbtext import __version__
from nbtext.settings import NLTK_STEMMERS

if TYPE_CHECKING:
    from collections.abc import Mapping


def versions(parameters: Mapping[str, Any]) -> dict[str, str]:
    """What wrote a model: nbtext, and the stemming package whose stems the model's terms are."""
    if parameters["stemmer"] == "none":
        return {"nbtext": __version__}
    if parameters["stemmer"] in NLTK_STEMMERS:
        from importlib.metadata import version

        return {"nbtext": __version__, "nltk": version("nltk")}
    import Stemmer

    return {"nbtext": __version__, "PyStemmer": Stemmer.version()}

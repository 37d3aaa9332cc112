"""What tests of changed models share: every kind of model that can be changed exactly, and corpora to change it by."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from nbtext import TextClassifier
from nbtext.compatibility import needs_documents
from nbtext.settings import CLASSIFIERS, Settings
from tests.models import split_labelled
from tests.process import content, fail, in_json, write

if TYPE_CHECKING:
    from pathlib import Path

MORE = {
    "birds/1": "the bird sings in the tree",
    "cats/3": "a kitten is a young cat",
    "dogs/3": "the puppy sleeps",
}
"""Documents to be learnt in addition to `tests.process.PETS`."""

FIRST = {
    "a/cats/1": "the cat purrs",
    "a/cats/2": "a cat climbs",
    "a/dogs/1": "the dog barks",
    "a/dogs/2": "a puppy sleeps",
}
SECOND = {
    "b/cats/7": "a puppy sleeps",
    "b/dogs/8": "the dog barks",
    "b/birds/9": "the bird sings",
    "b/birds/x": "the bird sings",
}
THIRD = {"c/dogs/1": "the bird sings", "c/dogs/2": "the dog swims"}
DAYS = {**FIRST, **SECOND, **THIRD}
"""Three days of documents, some of them met before."""

Corpus = list[tuple[str, str]]
"""Documents as label and text."""

ADDITIVE: dict[str, dict[str, Any]] = {
    "background": {"prior_shape": "background"},
    "map": {"estimate": "map", "smoothing": 0.5},
    "ml": {"estimate": "ml"},
    "leave-one-out": {"smoothing": "leave-one-out"},
    "top": {"top": 3, "criterion": "chi2"},
    "bigrams": {"ngrams": 2},
    "characters": {"char_ngrams": "2-3"},
    "surface forms": {"surface_forms": True},
    "by term": {"smoothing": {"*": 0.5, "ant": 3}},
    "no sample": {"keep_documents": 0},
    "smoothed prior": {"class_prior": "smoothed:0.5"},
    "binary bernoulli": {"classifier": "bernoulli", "ngrams": 2},
    "log": {"weighting": "log", "surface_forms": True},
    "log complement": {"classifier": "complement", "weighting": "log"},
    "binary": {"classifier": "complement", "weighting": "binary", "smoothing": 1},
    "average by evidence": {
        "classifier": "average",
        "members": "evidence:bernoulli:0.5+bernoulli:2",
    },
    "average of counts": {"classifier": "average", "members": "multinomial:log+bernoulli"},
    **{
        name: {"classifier": name}
        for name in CLASSIFIERS
        if not needs_documents(Settings(classifier=name))
    },
}
"""Settings of models that are made of counts alone."""

NOT_ADDITIVE: dict[str, dict[str, Any]] = {
    **{
        name: {"classifier": name}
        for name in CLASSIFIERS
        if needs_documents(Settings(classifier=name))
    },
    "gaussian": {"classifier": "gaussian", "latent": 2},
    "tf-idf": {"classifier": "complement", "weighting": "tfidf"},
}

WORDS = ("ant", "bee", "cat", "dog", "eel", "fox", "gnu", "hen", "the", "running")

documents = st.tuples(
    st.sampled_from("xyz"), st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join)
)
"""A label and a text; equal ones are likely."""

corpora = st.lists(documents, min_size=1, max_size=14)


def fitted(setting: dict[str, Any], labelled: Corpus) -> TextClassifier:
    """A model of some documents."""
    return TextClassifier(**setting).fit(*split_labelled(labelled))


def saved(model: TextClassifier, folder: Path) -> bytes:
    """The bytes of a model's file."""
    path = folder / "saved"
    model.save(str(path))
    return path.read_bytes()


def options(setting: dict[str, Any]) -> list[str]:
    """Return the options of `nbtext train` for some parameters."""
    return [f"--{name.replace('_', '-')}={value}" for name, value in setting.items()]


def inspect_json(folder: Path, model: str = "nbtext.joblib") -> Any:
    """Return what `nbtext inspect` says of a model."""
    return in_json("inspect -m", model, cwd=folder)


def damage_ledger(model: str = "nbtext.joblib") -> bytes:
    """Change the last byte of a model file, which is of its ledger, and return what it holds then."""
    changed = bytearray(content(model))
    changed[-1] ^= 1
    write(model, changed)
    return bytes(changed)


def fail_unchanged(folder: Path, line: str, status: int) -> str:
    """Run a command that must fail with one line and leave all files of the folder as they are; return it."""
    before = {path: path.is_file() and path.read_bytes() for path in folder.rglob("*")}
    said = fail(status, line, cwd=folder)
    assert {path: path.is_file() and path.read_bytes() for path in folder.rglob("*")} == before
    return said

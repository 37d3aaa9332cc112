"""A trained model changed: updated, documents forgotten, merged, relabelled, pruned; against the model trained on what is left."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given
from hypothesis import strategies as st

from nbtext import TextClassifier
from nbtext.counts.corpus_counts import NotInModelError
from nbtext.errors import UsageError
from nbtext.model.operations import merge_models, prune_terms, relabel_class
from tests.count_tables import to_dictionaries
from tests.model_changes import ADDITIVE, NOT_ADDITIVE, Corpus, corpora, documents, fitted, saved
from tests.models import split_labelled
from tests.profiles import examples

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

EVERY = pytest.mark.parametrize("setting", ADDITIVE.values(), ids=list(ADDITIVE))
FEW = examples(2, suppress_health_check=[HealthCheck.function_scoped_fixture])


@EVERY
@FEW
@given(
    corpus=corpora,
    cuts=st.lists(st.integers(1, 13), max_size=3),
    size=st.sampled_from([None, 3]),
    random=st.randoms(),
)
def test_updates_in_any_order_and_grouping_equal_training_at_once(
    setting: dict[str, Any],
    corpus: Corpus,
    cuts: list[int],
    size: int | None,
    random: Any,
    tmp_path: Path,
) -> None:
    if size and setting.get("keep_documents") is None:
        setting = {**setting, "keep_documents": size}
    whole = fitted(setting, corpus)
    shuffled = random.sample(corpus, len(corpus))
    bounds = [0, *sorted({cut for cut in cuts if cut < len(corpus)}), len(corpus)]
    model = TextClassifier(**setting)
    for begin, end in pairwise(bounds):
        model.partial_fit(*split_labelled(shuffled[begin:end]))
    assert saved(model, tmp_path) == saved(whole, tmp_path)


@EVERY
@FEW
@given(kept=corpora, gone=corpora, random=st.randoms())
def test_forget_equals_training_without_the_documents(
    setting: dict[str, Any], kept: Corpus, gone: Corpus, random: Any, tmp_path: Path
) -> None:
    earlier = fitted(setting, kept)
    model = fitted(setting, random.sample(kept + gone, len(kept + gone))).forget(
        *split_labelled(gone)
    )
    if setting.get("keep_documents") == 0:  # how far it would have held all documents is remembered
        assert model.fitted.statistics == earlier.fitted.statistics
    else:
        assert saved(model, tmp_path) == saved(earlier, tmp_path)


@examples(5)
@given(kept=corpora, gone=corpora, size=st.integers(0, 12))
def test_forget_removes_documents_from_the_sample_and_adds_none(
    kept: Corpus, gone: Corpus, size: int
) -> None:
    whole = fitted({"keep_documents": size}, kept + gone)
    before = hashes(whole)
    model = whole.forget(*split_labelled(gone))
    assert model.fitted.statistics == fitted({}, kept).fitted.statistics
    assert hashes(model) == before - hashes(fitted({}, gone))


def hashes(model: TextClassifier) -> Counter[tuple[int, str]]:
    """The documents of a sample by hash and label."""
    sample = model.counts.sample.documents
    return Counter(
        zip(
            sample.hashes.tolist(),
            [model.classes[number] for number in sample.classes],
            strict=True,
        )
    )


@given(corpus=corpora, gone=corpora, size=st.sampled_from([0, 2, 4096]))
def test_unknown_documents_are_named_if_they_can_be_distinguished(
    corpus: Corpus, gone: Corpus, size: int
) -> None:
    model = fitted({"keep_documents": size, "stop_words": "none", "stemmer": "none"}, corpus)
    before = to_dictionaries(model.fitted.statistics)
    left = Counter(corpus)
    left.subtract(gone)
    learnt = all(number >= 0 for number in left.values())
    problem = refusal(model, gone)
    if problem is None:
        assert learnt or size < len(corpus)
        assert model.fitted.statistics.n_documents == len(corpus) - len(gone)
        return
    assert to_dictionaries(model.fitted.statistics) == before
    if isinstance(problem, NotInModelError):
        named = gone[problem.index]
        assert not learnt
        assert problem.label == named[0]
        assert gone[: problem.index + 1].count(named) > corpus.count(named) or size < len(corpus)
    else:
        assert "nothing would remain" in str(problem)
        assert len(corpus) == len(gone)


def refusal(model: TextClassifier, gone: Corpus) -> UsageError | None:
    """Why documents cannot be forgotten."""
    try:
        model.forget(*split_labelled(gone))
    except UsageError as problem:
        return problem
    return None


def test_first_document_that_makes_counts_negative_is_named() -> None:
    corpus = [("x", "ant bee"), ("x", "cat dog"), ("y", "ant dog"), ("y", "eel")]
    model = fitted({"keep_documents": 0}, corpus)
    for gone, number in (
        ([("x", "ant bee"), ("x", "bee")], 1),  # there was one bee
        (
            [("x", "ant"), ("y", "eel"), ("x", "cat dog"), ("y", "dog")],
            2,
        ),  # bee would be left in no document
        (
            [("y", "eel"), ("y", "ant dog"), ("x", "ant bee"), ("y", "the")],
            3,
        ),  # there were two documents
        ([("z", "ant")], 0),
        ([("x", "fox"), ("x", "ant bee")], 0),
        (
            [("x", "ant dog"), ("x", "ant bee")],
            1,
        ),  # as far as one can tell there was ant dog, but not ant twice
    ):
        with pytest.raises(NotInModelError, match="nothing is removed") as raised:
            model.forget(*split_labelled(gone))
        assert (raised.value.index, raised.value.label) == (number, gone[number][0])
    assert to_dictionaries(model.fitted.statistics) == to_dictionaries(
        fitted({}, corpus).fitted.statistics
    )


def test_sample_distinguishes_documents_with_equal_counts() -> None:
    model = fitted({}, [("x", "ant bee"), ("x", "cat dog")])
    with pytest.raises(NotInModelError, match="document 1 was never added as 'x'"):
        model.forget(["bee ant"], ["x"])
    with pytest.raises(NotInModelError, match="document 2 was never added as 'x'"):
        model.forget(["ant bee", "ant bee"], ["x", "x"])
    with pytest.raises(
        NotInModelError, match="document 2 was never added as 'x'"
    ):  # though no count would fall below zero
        fitted({}, [("x", "ant bee"), ("x", "ant"), ("x", "bee")]).forget(
            ["ant bee", "ant bee"], ["x", "x"]
        )


@EVERY
@FEW
@given(parts=st.lists(corpora, min_size=2, max_size=4))
def test_merged_model_equals_a_model_of_all_documents(
    setting: dict[str, Any], parts: list[Corpus], tmp_path: Path
) -> None:
    models = [fitted(setting, part) for part in parts]
    files = [saved(model, tmp_path) for model in models]
    whole = merge_models(models, [f"m{number}" for number in range(len(parts))])
    assert saved(whole, tmp_path) == saved(
        fitted(setting, [document for part in parts for document in part]), tmp_path
    )
    assert [saved(model, tmp_path) for model in models] == files


@pytest.mark.parametrize(
    ("setting", "by"),
    [
        ({"stemmer": "none"}, "stemmer"), ({"language": "french"}, "language"), ({"ngrams": 2}, "ngrams"), ({"keep_documents": 7}, "keep_documents"),
        ({"char_ngrams": "2"}, "char_ngrams"), ({"stop_words": "none"}, "stop_words"), ({"numeric": "n"}, "numeric"),
    ],
)  # fmt: skip
def test_models_with_different_counting_cannot_be_merged(setting: dict[str, Any], by: str) -> None:
    models = [TextClassifier().fit(["ant"], ["x"]), TextClassifier(**setting).fit(["ant"], ["x"])]
    with pytest.raises(
        UsageError,
        match=f"^b: cannot be added to a: they differ in {by}; train both with the same {by}$",
    ):
        merge_models(models, "ab")


def test_merged_model_has_the_other_settings_of_the_first(tmp_path: Path) -> None:
    first, second = (
        {"classifier": "bernoulli", "smoothing": 1},
        {"class_prior": "uniform", "top": 1},
    )
    whole = merge_models([fitted(first, [("x", "ant")]), fitted(second, [("y", "bee")])], "ab")
    assert saved(whole, tmp_path) == saved(fitted(first, [("x", "ant"), ("y", "bee")]), tmp_path)


@EVERY
@FEW
@given(corpus=corpora, old=st.sampled_from("xyz"), new=st.sampled_from("wxyzé"))
def test_relabelled_model_equals_training_on_relabelled_documents(
    setting: dict[str, Any], corpus: Corpus, old: str, new: str, tmp_path: Path
) -> None:
    assume(old in {label for label, _ in corpus})
    model = relabel_class(fitted(setting, corpus), old, new)
    expected = fitted(setting, [(new if label == old else label, text) for label, text in corpus])
    if setting.get("keep_documents") == 0:
        assert model.fitted.statistics == expected.fitted.statistics
    else:
        assert saved(model, tmp_path) == saved(expected, tmp_path)


@pytest.mark.parametrize(
    ("old", "new", "weights"),
    [
        ("x", "y", {"y": 3, "z": 4}),
        ("x", "w", {"w": 1, "y": 2, "z": 4}),
        ("z", "z", {"x": 1, "y": 2, "z": 4}),
    ],
)
def test_given_class_priors_follow_relabelled_classes(
    old: str, new: str, weights: dict[str, float], tmp_path: Path
) -> None:
    corpus = [("x", "ant bee"), ("y", "ant cat"), ("z", "dog")]
    model = relabel_class(fitted({"class_prior": {"x": 1, "y": 2, "z": 4}}, corpus), old, new)
    expected = fitted(
        {"class_prior": weights}, [(new if label == old else label, text) for label, text in corpus]
    )
    assert model.fitted.classifier.prior.tolist() == expected.fitted.classifier.prior.tolist()
    assert saved(model, tmp_path) == saved(expected, tmp_path)


def test_unknown_class_is_refused_with_suggestions() -> None:
    model = fitted({}, [("network", "a bee"), ("newsletter", "a cat")])
    with pytest.raises(UsageError, match=r"no class 'netwrok' \(did you mean 'network'\?\)"):
        relabel_class(model, "netwrok", "x")
    with pytest.raises(UsageError, match="no class '★'; its classes are network, newsletter"):
        relabel_class(model, "★", "x")
    for label in ("", "\udcff"):
        with pytest.raises(UsageError, match="cannot be a label"):
            relabel_class(model, "network", label)


@pytest.mark.parametrize("setting", NOT_ADDITIVE.values(), ids=list(NOT_ADDITIVE))
def test_non_additive_models_refuse_exact_changes(setting: dict[str, Any], tmp_path: Path) -> None:
    corpus = [("x", "ant bee"), ("x", "ant cat"), ("y", "dog eel"), ("y", "dog fox")] * 3
    model = fitted(setting, corpus)
    before = saved(model, tmp_path)
    changes: tuple[Callable[[], object], ...] = (
        lambda: model.partial_fit(["a"], ["x"]),
        lambda: model.forget(["ant bee"], ["x"]),
        lambda: merge_models([model, model], "ab"),
        lambda: relabel_class(model, "x", "w"),
        lambda: prune_terms(model, 2, 1.0),
        lambda: model.learn(model.counts),
    )
    for change in changes:
        with pytest.raises(
            UsageError,
            match=r"an exact change of a model cannot be used with .*: .*; train it again on all documents",
        ):
            change()
    assert saved(model, tmp_path) == before


ATTRIBUTED = st.lists(
    st.tuples(
        documents,
        st.sampled_from(["red", "blue", "", "two words"]),
        st.one_of(st.none(), st.integers(0, 9)),
        st.one_of(st.none(), st.sampled_from([0.1, -2.5, 3e8])),
    ),
    min_size=1,
    max_size=10,
)


@FEW
@given(kept=ATTRIBUTED, more=ATTRIBUTED)
def test_attributes_are_added_removed_and_relabelled(
    kept: list[Any], more: list[Any], tmp_path: Path
) -> None:
    def of(
        rows: list[Any], names: dict[str, str] | None = None
    ) -> tuple[list[dict[str, object]], list[str]]:
        given = [
            {"text": text, "colour": colour, "n": n, "w": w} for (_, text), colour, n, w in rows
        ]
        return given, [(names or {}).get(label, label) for (label, _), *_ in rows]

    def trained(rows: list[Any], names: dict[str, str] | None = None) -> TextClassifier:
        return TextClassifier(categorical="colour", count="n", numeric="w").fit(*of(rows, names))

    earlier, whole = saved(trained(kept), tmp_path), saved(trained(kept + more), tmp_path)
    model = trained(kept).partial_fit(*of(more))
    assert saved(model, tmp_path) == whole
    assert saved(merge_models([trained(kept), trained(more)], "ab"), tmp_path) == whole
    first = kept[0][0][0]
    for new in ("w", "x"):
        assert saved(relabel_class(model, first, new), tmp_path) == saved(
            trained(kept + more, {first: new}), tmp_path
        )
    assert saved(model.forget(*of(more)), tmp_path) == earlier


@pytest.mark.parametrize(
    "setting",
    [s for s in ADDITIVE.values() if "char_ngrams" not in s and "ngrams" not in s],
    ids=str,
)
@FEW
@given(corpus=corpora, more=corpora, least=st.integers(1, 3), share=st.sampled_from([0.5, 1.0]))
def test_pruned_model_equals_training_without_the_removed_terms(
    setting: dict[str, Any], corpus: Corpus, more: Corpus, least: int, share: float, tmp_path: Path
) -> None:
    """With words as terms: the pruned model, and what it learns and forgets afterwards, is that of the other words blotted out."""
    setting = {
        **setting,
        "stop_words": "none",
        "stemmer": "none",
        "keep_documents": 0 if setting.get("keep_documents") == 0 else 4096,
    }
    held = Counter(word for _, text in corpus for word in set(text.split()))
    stays = {word for word, number in held.items() if least <= number <= share * len(corpus)}
    assume(stays)

    def blotted(labelled: Corpus) -> Corpus:
        return [
            (label, " ".join(word for word in text.split() if word in stays))
            for label, text in labelled
        ]

    model = prune_terms(fitted(setting, corpus), least, share)
    assert to_dictionaries(model.fitted.statistics) == to_dictionaries(
        fitted(setting, blotted(corpus)).fitted.statistics
    )
    model.partial_fit(*split_labelled(more))
    both = fitted(setting, blotted(corpus + more))
    assert to_dictionaries(model.fitted.statistics) == to_dictionaries(both.fitted.statistics)
    asked = ["ant bee", "cat", "hen running unknown"]
    if (
        setting.get("classifier") != "average"
    ):  # it learns from the sample, whose order is that of hashes of whole texts
        np.testing.assert_allclose(
            model.joint_log_likelihood(asked), both.joint_log_likelihood(asked), rtol=1e-9
        )
    model.forget(*split_labelled(more))
    assert to_dictionaries(model.fitted.statistics) == to_dictionaries(
        fitted(setting, blotted(corpus)).fitted.statistics
    )
    path = tmp_path / "m"
    model.save(str(path))
    loaded = TextClassifier.load(str(path))
    assert loaded.counts.is_closed
    assert saved(loaded, tmp_path) == path.read_bytes()


def test_pruned_model_adds_new_classes_but_no_terms() -> None:
    model = prune_terms(fitted({}, [("x", "ant bee"), ("x", "ant"), ("y", "bee fox")]), 2, 1.0)
    model.partial_fit(["gnu bee", "fox"], ["z", "z"])
    assert to_dictionaries(model.fitted.statistics).occurrences == {
        ("x", "ant"): 2,
        ("x", "bee"): 1,
        ("y", "bee"): 1,
        ("z", "bee"): 1,
    }
    assert model.classes == ["x", "y", "z"]
    assert not model.fit(["new words"], ["x"]).counts.is_closed


def test_prune_keeps_the_parts_of_ngrams() -> None:
    corpus = [("x", "red ant"), ("x", "red ant"), ("y", "red bee"), ("y", "red")]
    model = prune_terms(fitted({"ngrams": 2}, corpus), 2, 0.5)
    assert {term for _, term in to_dictionaries(model.fitted.statistics).occurrences} == {
        "red",
        "ant",
        "red ant",
    }


def test_merged_pruned_models_keep_the_common_terms() -> None:
    first, second = (
        [("x", "ant bee cat"), ("x", "ant bee")],
        [("y", "bee cat"), ("y", "bee cat ant")],
    )
    models = [prune_terms(fitted({}, corpus), 2, 1.0) for corpus in (first, second)]
    for whole in (merge_models(models, "ab"), merge_models(models[::-1], "ba")):
        assert to_dictionaries(whole.fitted.statistics).occurrences == {
            ("x", "bee"): 2,
            ("y", "bee"): 2,
        }
        assert whole.counts.is_closed
    with_open = merge_models([fitted({}, first), models[1]], "ab")
    assert to_dictionaries(with_open.fitted.statistics).occurrences == {
        ("x", "bee"): 2,
        ("x", "cat"): 1,
        ("y", "bee"): 2,
        ("y", "cat"): 2,
    }

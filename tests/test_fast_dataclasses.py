"""Dataclasses that are quick to define behave as the standard ones."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError, asdict, dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import pytest

from nbtext import fast_dataclasses

Decorator = Callable[..., Callable[[type], type]]


def make_dataclass(decorator: Decorator, **options: bool) -> type:
    @decorator(**options)
    class Point:
        """A class with a field of each kind."""

        NAME: ClassVar[str] = "point"
        x: int
        y: list[int] = field(default_factory=list)
        z: int = 3
        seen: int = field(default=0, init=False)

    return Point


BOTH = pytest.mark.parametrize("decorator", [dataclass, fast_dataclasses.dataclass])


@BOTH
def test_fields_are_set_by_position_name_or_default(decorator: Decorator) -> None:
    kind = make_dataclass(decorator)
    point = kind(1, z=5)
    assert asdict(point) == {"x": 1, "y": [], "z": 5, "seen": 0}
    assert point.y is not kind(1).y
    assert repr(point).endswith("Point(x=1, y=[], z=5, seen=0)")
    assert asdict(replace(point, x=2)) == {"x": 2, "y": [], "z": 5, "seen": 0}
    point.z = 6
    assert point.z == 6


@BOTH
@pytest.mark.parametrize(
    ("values", "named"),
    [((), {}), ((1, [], 3, 4), {}), ((1,), {"x": 1}), ((1,), {"w": 1})],
    ids=["few", "many", "twice", "unknown"],
)
def test_wrong_arguments_raise_type_error(
    decorator: Decorator, values: tuple[Any, ...], named: dict[str, Any]
) -> None:
    with pytest.raises(TypeError):
        make_dataclass(decorator)(*values, **named)
    with pytest.raises(TypeError):
        make_dataclass(decorator, kw_only=True)(1)


@BOTH
def test_equality_and_hash_use_the_fields(decorator: Decorator) -> None:
    mutable, frozen, by_identity = (
        make_dataclass(decorator),
        make_dataclass(decorator, frozen=True),
        make_dataclass(decorator, eq=False),
    )
    assert mutable(1) == mutable(1) != mutable(2)
    assert mutable(1) != make_dataclass(decorator)(1)
    with pytest.raises(TypeError):
        hash(mutable(1))
    assert hash(frozen(1, ())) == hash(frozen(1, ()))
    assert by_identity(1) != by_identity(1)
    assert len({by_identity(1), by_identity(1)}) == 2


@BOTH
def test_frozen_instance_cannot_be_changed(decorator: Decorator) -> None:
    point = make_dataclass(decorator, frozen=True)(1)
    with pytest.raises(FrozenInstanceError):
        setattr(point, "x", 2)  # noqa: B010
    with pytest.raises(FrozenInstanceError):
        delattr(point, "x")
    assert point.x == 1


@fast_dataclasses.dataclass(frozen=True)
class Base:
    """With a representation of its own, which its heir keeps."""

    x: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "x", abs(self.x))

    def __repr__(self) -> str:
        return f"<{self.x}>"

    @cached_property
    def double(self) -> int:
        return 2 * self.x


@fast_dataclasses.dataclass(frozen=True)
class Heir(Base):
    """One more field."""

    y: int = 0


def test_subclass_inherits_fields_and_methods_and_can_be_pickled() -> None:
    heir = pickle.loads(pickle.dumps(Heir(-1, 2)))
    assert (heir, repr(heir), heir.x, heir.y, heir.double) == (Heir(1, 2), "<1>", 1, 2, 2)

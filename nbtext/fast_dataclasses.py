"""Dataclasses that are quick to define, for modules that every command imports.

`dataclasses.dataclass` compiles the methods of each class, which takes 6.7 % of the instructions of a command that answers one document. Here all
classes share their methods. Making an instance takes some microseconds: where many are made, use the standard dataclass.
"""

from __future__ import annotations

from dataclasses import MISSING, FrozenInstanceError, fields
from dataclasses import dataclass as _standard
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # for a type checker it is the standard one
    from collections.abc import Callable
    from dataclasses import dataclass as dataclass  # noqa: PLC0414
else:

    def dataclass(
        *,
        frozen: bool = False,
        eq: bool = True,
        kw_only: bool = False,
    ) -> Any:  # noqa: ANN401
        """Return the decorator that does as `dataclasses.dataclass`, without compiling anything."""
        methods = {"__init__": _initialise, "__repr__": _represent}
        if eq:
            methods |= {"__eq__": _equals, "__hash__": _hash if frozen else None}
        if frozen:
            methods |= {"__setattr__": _refuse, "__delattr__": _refuse}

        def decorate(cls: type) -> type:
            for name, method in methods.items():
                if getattr(cls, name) is getattr(object, name):
                    setattr(cls, name, method)
            return _standard(init=False, repr=False, eq=False, kw_only=kw_only)(cls)

        return decorate


# Any dataclass.
def _initialise(self: Any, *values: object, **named: object) -> None:  # noqa: ANN401
    """Set the fields as given, or to their defaults; raise TypeError for a missing argument or one too many."""
    places, defaults, made, needed = _parameters(self.__class__)
    given = {**dict(zip(places, values, strict=False)), **named}
    if (
        len(values) > len(places)
        or len(given) < len(values) + len(named)
        or not needed <= given.keys() <= defaults.keys()
    ):
        raise TypeError(f"{type(self).__name__}() takes {', '.join(defaults)}, each once")
    vars(self).update(
        defaults, **{name: make() for name, make in made.items() if name not in given}
    )
    vars(self).update(given)
    if hasattr(self, "__post_init__"):
        self.__post_init__()


@cache
def _parameters(
    cls: type,
) -> tuple[list[str], dict[str, object], dict[str, Callable[[], object]], set[str]]:
    """Return the fields of a dataclass that may be given by place, all with their defaults, what makes a default anew, and those without any."""
    every = fields(cls)
    places = [each.name for each in every if each.init and not each.kw_only]
    made = {
        each.name: each.default_factory for each in every if each.default_factory is not MISSING
    }
    defaults = {each.name: each.default for each in every}
    return (
        places,
        defaults,
        made,
        {name for name, value in defaults.items() if value is MISSING} - made.keys(),
    )


def _values(self: Any) -> dict[str, object]:  # noqa: ANN401
    return {each.name: getattr(self, each.name) for each in fields(self)}


def _represent(self: object) -> str:
    shown = ", ".join(f"{name}={value!r}" for name, value in _values(self).items())
    return f"{type(self).__qualname__}({shown})"


def _equals(self: object, other: object) -> bool:
    return _values(self) == _values(other) if type(self) is type(other) else NotImplemented


def _hash(self: object) -> int:
    return hash(tuple(_values(self).values()))


def _refuse(self: object, name: str, *_: object) -> None:
    raise FrozenInstanceError(f"cannot change {name!r} of {type(self).__name__}")

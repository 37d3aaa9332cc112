"""Dataclasses that are quick to define, for modules that every command imports.

`dataclasses.dataclass` compiles the methods of each class; for those of one answer that takes a seventh of the whole command. Here all classes share
methods that look the fields up, so making an instance takes some microseconds. Where many instances are made, use the standard one.
"""

from __future__ import annotations

from dataclasses import MISSING, FrozenInstanceError, fields
from dataclasses import dataclass as _standard
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass  # noqa: PLC0414 - for a type checker it is the standard one
else:

    def dataclass(*, frozen: bool = False, eq: bool = True, kw_only: bool = False) -> Any:  # noqa: ANN401
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


def _initialise(self: Any, *values: object, **named: object) -> None:  # noqa: ANN401 - any dataclass
    """Set the fields as given, or to their defaults; raise TypeError for a missing argument or one too many."""
    places = [each.name for each in fields(self) if each.init and not each.kw_only]
    found = {each.name: each.default if each.default_factory is MISSING else each.default_factory() for each in fields(self)}
    known = set(found) - set(places[: len(values)])
    found |= {**dict(zip(places, values, strict=False)), **named}
    if len(values) > len(places) or not known.issuperset(named) or any(value is MISSING for value in found.values()):
        raise TypeError(f"{type(self).__name__}() takes {', '.join(found)}, each once")
    vars(self).update(found)
    if hasattr(self, "__post_init__"):
        self.__post_init__()


def _values(self: Any) -> dict[str, object]:  # noqa: ANN401
    return {each.name: getattr(self, each.name) for each in fields(self)}


def _represent(self: object) -> str:
    return f"{type(self).__qualname__}({', '.join(f'{name}={value!r}' for name, value in _values(self).items())})"


def _equals(self: object, other: object) -> bool:
    return _values(self) == _values(other) if type(self) is type(other) else NotImplemented


def _hash(self: object) -> int:
    return hash(tuple(_values(self).values()))


def _refuse(self: object, name: str, *_: object) -> None:
    raise FrozenInstanceError(f"cannot change {name!r} of {type(self).__name__}")

"""Dataclasses and named tuples that are quick to define, for modules that every command imports.

`dataclasses.dataclass` and `typing.NamedTuple` compile the methods of each class; for those of one answer that takes a fifth of the whole command.
Here all classes share their methods. Making a named tuple takes a third longer than a standard one, with fields given by name a microsecond more. A
dataclass takes some microseconds: where many instances are made, use the standard one.
"""

from __future__ import annotations

from dataclasses import MISSING, FrozenInstanceError, fields
from dataclasses import dataclass as _standard
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # for a type checker they are the standard ones
    from collections.abc import Callable, Iterable
    from dataclasses import dataclass as dataclass  # noqa: PLC0414
    from typing import NamedTuple as NamedTuple  # noqa: PLC0414
else:
    from _collections import _tuplegetter

    class _Naming(type):
        """Makes a class of tuples of the annotations in its body, with their values as defaults."""

        def __new__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> type:
            fields = tuple(namespace.get("__annotations__", ()))
            if fields:
                defaults = {field: namespace[field] for field in fields if field in namespace}
                namespace |= {field: _tuplegetter(place, None) for place, field in enumerate(fields)}
                namespace |= {"_fields": fields, "_field_defaults": defaults, "_last": tuple(defaults.values()), "__match_args__": fields}
            return super().__new__(cls, name, bases, {"__slots__": (), **namespace})

        @property
        def __signature__(cls) -> object:
            from inspect import Parameter, Signature

            kind, empty, default = Parameter.POSITIONAL_OR_KEYWORD, Parameter.empty, cls._field_defaults
            return Signature([Parameter(field, kind, default=default.get(field, empty)) for field in cls._fields])

    class NamedTuple(tuple, metaclass=_Naming):
        """Does as `typing.NamedTuple`, without compiling anything."""

        __slots__ = ()
        _fields, _field_defaults, _last = (), {}, ()

        def __new__(cls, *values: object, **named: object) -> Any:  # noqa: ANN401, D102
            if named:
                values = _completed(cls, values, named)
            elif missing := len(cls._fields) - len(values):
                values = values + cls._last[-missing:] if 0 < missing <= len(cls._last) else _completed(cls, values, named)
            return tuple.__new__(cls, values)

        @classmethod
        def _make(cls, values: Iterable[object]) -> Any:  # noqa: ANN401
            found = tuple.__new__(cls, values)
            if len(found) != len(cls._fields):
                raise TypeError(f"{cls.__name__} has {len(cls._fields)} fields, not {len(found)}")
            return found

        def _replace(self, **named: object) -> Any:  # noqa: ANN401
            found = self._make(map(named.pop, self._fields, self))
            return type(self)(*found, **named) if named else found

        def _asdict(self) -> dict[str, object]:
            return dict(zip(self._fields, self, strict=True))

        def __repr__(self) -> str:
            return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self._asdict().items())})"

        def __getnewargs__(self) -> tuple[object, ...]:
            return tuple(self)

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


def _completed(cls: Any, values: tuple[object, ...], named: dict[str, object]) -> list[object]:  # noqa: ANN401 - any named tuple
    """Return all fields in order, with defaults; raise TypeError for a missing argument or one too many."""
    fields: tuple[str, ...] = cls._fields
    found = cls._field_defaults | dict(zip(fields, values, strict=False)) | named
    if len(values) <= len(fields) == len(found) and named.keys().isdisjoint(fields[: len(values)]) and found.keys() <= set(fields):
        return [found[field] for field in fields]
    raise TypeError(f"{cls.__name__}() takes {', '.join(fields)}, each once")


def _initialise(self: Any, *values: object, **named: object) -> None:  # noqa: ANN401 - any dataclass
    """Set the fields as given, or to their defaults; raise TypeError for a missing argument or one too many."""
    places, defaults, made, needed = _parameters(self.__class__)
    given = {**dict(zip(places, values, strict=False)), **named}
    if len(values) > len(places) or len(given) < len(values) + len(named) or not needed <= given.keys() <= defaults.keys():
        raise TypeError(f"{type(self).__name__}() takes {', '.join(defaults)}, each once")
    vars(self).update(defaults, **{name: make() for name, make in made.items() if name not in given})
    vars(self).update(given)
    if hasattr(self, "__post_init__"):
        self.__post_init__()


@cache
def _parameters(cls: type) -> tuple[list[str], dict[str, object], dict[str, Callable[[], object]], set[str]]:
    """Return the fields of a dataclass that may be given by place, all with their defaults, what makes a default anew, and those without any."""
    every = fields(cls)
    places = [each.name for each in every if each.init and not each.kw_only]
    made = {each.name: each.default_factory for each in every if each.default_factory is not MISSING}
    defaults = {each.name: each.default for each in every}
    return places, defaults, made, {name for name, value in defaults.items() if value is MISSING} - made.keys()


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

"""Dataclasses that are quick to define, for modules that every command imports.

`dataclasses.dataclass` compiles methods for each class, which takes 6.7 % of the instructions of a
command that classifies one document. Here, all classes share the same methods. They create an
instance in some microseconds: use the standard dataclass for a class with many instances.
"""

from __future__ import annotations

from dataclasses import MISSING, FrozenInstanceError, fields
from dataclasses import dataclass as _standard_dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # type checkers see the standard dataclass
    from collections.abc import Callable
    from dataclasses import dataclass as dataclass  # noqa: PLC0414
else:

    def dataclass(
        *,
        frozen: bool = False,
        eq: bool = True,
        kw_only: bool = False,
    ) -> Any:  # noqa: ANN401
        """Return a decorator like `dataclasses.dataclass`, without compiling methods."""
        methods = {"__init__": _initialise, "__repr__": _represent}
        if eq:
            methods["__eq__"] = _equals
            methods["__hash__"] = _hash if frozen else None
        if frozen:
            methods |= {"__setattr__": _refuse_change, "__delattr__": _refuse_change}

        def decorate(cls: type) -> type:
            for name, method in methods.items():
                if getattr(cls, name) is getattr(object, name):  # the class defines no method
                    setattr(cls, name, method)
            return _standard_dataclass(init=False, repr=False, eq=False, kw_only=kw_only)(cls)

        return decorate


# The methods below work on any dataclass.
def _initialise(self: Any, *values: object, **named: object) -> None:  # noqa: ANN401
    """Set the fields to the arguments or their defaults.

    Raise TypeError if an argument is missing, unknown or repeated, or if there are too many.
    """
    positional, defaults, factories, required = _list_parameters(self.__class__)
    arguments = {**dict(zip(positional, values, strict=False)), **named}
    # `zip` drops surplus values, and a named argument replaces a value of the same name
    has_all_values = len(arguments) == len(values) + len(named)
    if not has_all_values or not required <= arguments.keys() <= defaults.keys():
        raise TypeError(f"{type(self).__name__}() takes {', '.join(defaults)}, each once")
    created = {name: create() for name, create in factories.items() if name not in arguments}
    # `created` and `arguments` replace each MISSING; `vars` also works if the class is frozen
    vars(self).update({**defaults, **created, **arguments})
    if hasattr(self, "__post_init__"):
        self.__post_init__()


@cache
def _list_parameters(
    cls: type,
) -> tuple[list[str], dict[str, object], dict[str, Callable[[], object]], set[str]]:
    """Return (positional, defaults, factories, required) of a dataclass.

    These are the names of positional parameters, the default of each field (`MISSING` if it has no
    default), the default factories by name, and the names of required parameters.
    """
    all_fields = fields(cls)
    positional = [field.name for field in all_fields if field.init and not field.kw_only]
    defaults = {field.name: field.default for field in all_fields}
    factories = {
        field.name: field.default_factory
        for field in all_fields
        if field.default_factory is not MISSING
    }
    required = {name for name, value in defaults.items() if value is MISSING} - factories.keys()
    return positional, defaults, factories, required


def _get_field_values(self: Any) -> dict[str, object]:  # noqa: ANN401
    return {field.name: getattr(self, field.name) for field in fields(self)}


def _represent(self: object) -> str:
    values = ", ".join(f"{name}={value!r}" for name, value in _get_field_values(self).items())
    return f"{type(self).__qualname__}({values})"


def _equals(self: object, other: object) -> bool:
    if type(self) is not type(other):
        return NotImplemented
    return _get_field_values(self) == _get_field_values(other)


def _hash(self: object) -> int:
    return hash(tuple(_get_field_values(self).values()))


def _refuse_change(self: object, name: str, *_: object) -> None:
    raise FrozenInstanceError(f"cannot change {name!r} of {type(self).__name__}")

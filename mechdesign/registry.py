"""Registers of classes by name: subclassing a notion or a utility adds to one, files name them."""

from __future__ import annotations

from typing import Any

from .errors import InputError


def register(cls: type, registry: dict[str, Any], subject: str, error: type[InputError]) -> None:
    """Add a class under its lower-case name; classes with abstract methods are left out.

    Raises ``error`` when another module has taken the name.
    """
    # ABCMeta fills __abstractmethods__ only after __init_subclass__, so look the methods up.
    if any(getattr(getattr(cls, name, None), "__isabstractmethod__", False) for name in dir(cls)):
        return
    known = registry.get(cls.__name__.lower())
    if known is not None and known.__module__ != cls.__module__:
        raise error(
            subject,
            expected="a class name that is not taken",
            got=f"{cls.__name__}, defined in {known.__module__} already",
            remedy="rename the class, or pass register=False",
        )
    registry[cls.__name__.lower()] = cls


def is_registered(value: Any, registry: dict[str, Any]) -> bool:
    """Whether the class of a value is the one that its name stands for."""
    own, known = type(value), registry.get(type(value).__name__.lower())
    # A class that was defined again, as in a notebook, is the same class.
    return known is not None and known.__module__ == own.__module__

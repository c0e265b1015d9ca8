"""Registers of classes by name: what subclassing a notion or a utility adds to."""

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

"""Warnings that a command gives when it has done what they are about."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import typer

_held: list[Callable[[], None]] = []


@contextmanager
def holding_back(*kinds: type[Warning]) -> Iterator[None]:
    """Give warnings of some kinds when the block has ended, and none where an error ends it.

    They are about what a command makes, which is nothing where it fails.
    """
    told = warnings.showwarning

    def hold(message: Any, category: type[Warning], *place: Any, **more: Any) -> None:
        show = functools.partial(told, message, category, *place, **more)
        if issubclass(category, kinds):
            _held.append(show)
        else:
            show()

    warnings.showwarning = hold
    try:
        yield
    except typer.Exit:
        tell_held()
        raise
    else:
        tell_held()
    finally:
        warnings.showwarning = told
        _held.clear()


def tell_held() -> None:
    """Give the warnings that are held back, as before a command that runs until it is stopped."""
    while _held:
        _held.pop(0)()

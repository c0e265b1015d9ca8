"""Names and parameters that will be taken away: they work and warn until then.

What is public stays for one minor version after it was replaced. ``until`` names the version that
takes it away; a test fails once that version is reached and the name is still there.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from .errors import FormerNameWarning, InputError, warn

F = TypeVar("F", bound=Callable[..., Any])

#: Former name, what takes its place, and the version without it.
FORMER: list[tuple[str, str, str]] = []


def former_name(name: str, now: F, until: str) -> F:
    """A function under the name it had: it warns, and is the same otherwise.

    >>> import warnings
    >>> def total(values): return sum(values)
    >>> add_up = former_name("add_up", total, "9.0")
    >>> with warnings.catch_warnings(record=True) as warned:
    ...     warnings.simplefilter("always")
    ...     add_up([1, 2])
    3
    >>> print(warned[0].message)
    add_up is called total now; the name goes in version 9.0
    """
    FORMER.append((name, now.__name__, until))

    @functools.wraps(now)
    def called(*args: Any, **kwargs: Any) -> Any:
        warn(
            f"{name} is called {now.__name__} now; the name goes in version {until}",
            FormerNameWarning,
        )
        return now(*args, **kwargs)

    called.__name__ = name
    return called  # type: ignore[return-value]


def former_parameter(name: str, now: str, until: str) -> Callable[[F], F]:
    """A decorator: the parameter ``now`` can still be passed as ``name``, with a warning.

    Raises :class:`InputError` where both are passed.
    """

    def decorate(function: F) -> F:
        if now not in inspect.signature(function).parameters:
            raise TypeError(f"{function.__name__} has no parameter {now}")
        FORMER.append((f"{function.__name__}({name}=)", now, until))

        @functools.wraps(function)
        def called(*args: Any, **kwargs: Any) -> Any:
            if name in kwargs:
                given = inspect.signature(function).bind_partial(
                    *args, **{key: value for key, value in kwargs.items() if key != name}
                )
                if now in given.arguments:
                    raise InputError(
                        f"{function.__name__}",
                        expected=f"{now}",
                        got=f"{now} and its former name {name}",
                        remedy=f"pass {now} alone",
                    )
                warn(
                    f"{name} of {function.__name__} is called {now} now; the name goes in version "
                    f"{until}",
                    FormerNameWarning,
                )
                kwargs[now] = kwargs.pop(name)
            return function(*args, **kwargs)

        return called  # type: ignore[return-value]

    return decorate

"""Arguments as they are declared beside a public function: what each may be, said once.

::

    @checked(PriorError, digits=Whole(1, 15, "digits of a rounded prior", "pass 2 or 3"))
    def rounded(self, digits: int) -> Prior: ...

The message comes from the declaration, and so do the bad values of tests: :attr:`Declared.bad`.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ParamSpec, Protocol, TypeVar

from .errors import InputError, quote
from .exact import is_whole
from .numeric import finite_number, truth_value

P = ParamSpec("P")
T = TypeVar("T")


class Declared(Protocol):
    """What an argument may be."""

    @property
    def bad(self) -> list[Any]:
        """Values that are refused."""

    def check(self, value: Any, name: str, error: type[InputError]) -> None:
        """Raise ``error`` for a value that is refused."""


@dataclass(frozen=True)
class Number:
    """A finite number between two ends; ``subject`` is what messages call it."""

    least: float = -math.inf
    most: float = math.inf
    subject: str = ""
    remedy: str = "correct the number"

    @property
    def bad(self) -> list[Any]:
        """Values that are refused."""
        beyond = [math.nextafter(self.least, -math.inf), math.nextafter(self.most, math.inf)]
        return [*beyond, math.nan, math.inf, -math.inf, "1", True, 1j, [1.0], {}]

    def check(self, value: Any, name: str, error: type[InputError]) -> None:
        """Raise ``error`` for a value that is refused."""
        subject = self.subject or name
        finite_number(value, subject, self.least, self.most, error=error, remedy=self.remedy)


@dataclass(frozen=True)
class Whole:
    """A whole number between two ends, or from one on; ``subject`` is what messages call it."""

    least: int
    most: int | None = None
    subject: str = ""
    remedy: str = "correct the number"

    @property
    def bad(self) -> list[Any]:
        """Values that are refused."""
        beyond = [] if self.most is None else [self.most + 1]
        return [self.least - 1, *beyond, self.least + 0.5, math.nan, "1", True, 1j, [1], {}]

    def check(self, value: Any, name: str, error: type[InputError]) -> None:
        """Raise ``error`` for a value that is refused."""
        if not is_whole(value, self.least, self.most):
            ends = f"of at least {self.least:,}"
            if self.most is not None:
                ends = f"from {self.least:,} to {self.most:,}"
            expected = f"a whole number {ends}"
            raise error(
                self.subject or name, expected=expected, got=quote(value), remedy=self.remedy
            )


@dataclass(frozen=True)
class Flag:
    """True or False."""

    @property
    def bad(self) -> list[Any]:
        """Values that are refused."""
        return [0, 1, "yes", "", [True], math.nan]

    def check(self, value: Any, name: str, error: type[InputError]) -> None:
        """Raise ``error`` for a value that is refused."""
        truth_value(value, name, error=error)


def checked(
    error: type[InputError], **arguments: Declared
) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Check arguments of a function by what is declared of each, before it runs.

    An argument that is ``None`` as when it is left out is not checked. What is declared stands in
    ``declared`` of the function, for tests.
    """

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        signature = inspect.signature(function)

        @functools.wraps(function)
        def whole(*given: P.args, **named: P.kwargs) -> T:
            for name, value in signature.bind(*given, **named).arguments.items():
                left_out = value is None and signature.parameters[name].default is None
                if name in arguments and not left_out:
                    arguments[name].check(value, name, error)
            return function(*given, **named)

        vars(whole)["declared"] = arguments
        return whole

    return decorate

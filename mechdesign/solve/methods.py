"""What a method is: it may refuse with a reason, else it answers with a kernel and duals."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

#: Dual weights of one bound: ``(over, under)`` of shapes ``(A, M)`` and ``(B, M)`` when every μ
#: is paired with every ν, ``(pairs,)`` of shape ``(P, M)`` when they are matched.
Multipliers = tuple[NDArray[np.float64], ...]


@dataclass(frozen=True, eq=False)
class Duals:
    """Dual numbers of a problem; any of them give a valid bound, good ones a tight one.

    Attributes
    ----------
    prices : ``(n,)`` dual of the row sums: what one more unit of row x would be worth
    multipliers : dual weights of each bound of the problem, in their order
    averages : dual numbers of each budget of the notions outside the likelihood family
    offset, power : the numbers are those of the gains (u − offset) / 2**power
    """

    prices: NDArray[np.float64] | None = None
    multipliers: tuple[Multipliers, ...] | None = None
    averages: tuple[Multipliers, ...] | None = None
    offset: float = 0.0
    power: int = 0

    def in_units_of_gains(self, masses: NDArray[np.float64]) -> Duals:
        """The same numbers for the gains as they are, as far as floats can hold them."""
        if not (self.offset or self.power):
            return self

        def scaled(parts: tuple[Multipliers, ...] | None) -> tuple[Multipliers, ...] | None:
            if parts is None:
                return None
            return tuple(tuple(np.ldexp(w, self.power) for w in part) for part in parts)

        prices = self.prices
        if prices is not None:
            prices = masses * self.offset + np.ldexp(prices, self.power)
        return Duals(prices, scaled(self.multipliers), scaled(self.averages))


@dataclass(frozen=True, eq=False)
class Candidate:
    """A method's answer, trusted in nothing: the certificate measures everything afresh.

    Attributes
    ----------
    kernel : ``(n, M)`` kernel on the support, feasible up to the method's accuracy
    duals : what the upper bound is recomputed from
    solver : what computed it, for the record
    details : facts worth keeping, such as iterations
    memory : what the method may start from for a neighbour; means nothing to others
    """

    kernel: NDArray[np.float64]
    duals: Duals
    solver: str
    details: dict[str, str] = field(default_factory=dict)
    memory: object = None


class Method(ABC):
    """A way to solve a problem."""

    name: ClassVar[str]
    #: One sentence: what it does and why it would be chosen.
    reason: ClassVar[str]
    source: ClassVar[str] = ""
    #: Whether its answers are meant to be optimal; those that are not are left out of comparisons.
    is_exact: ClassVar[bool] = True
    #: Whether other methods are asked for more digits where its gap is small, but not tiny.
    is_sharpened: ClassVar[bool] = True
    #: What else its answers are optimal for, where that is more than was asked.
    scope: ClassVar[str] = ""

    @abstractmethod
    def refusal(self, problem: Any) -> str | None:
        """Why the method does not apply, or ``None`` when it does."""

    @abstractmethod
    def solve(self, problem: Any) -> Candidate:
        """Solve a problem that was not refused. Raises :class:`SolverError`."""

    def solve_near(self, problem: Any, neighbour: Candidate) -> Candidate:
        """Solve with what the solution of a problem with nearby levels gave, where that helps."""
        return self.solve(problem)

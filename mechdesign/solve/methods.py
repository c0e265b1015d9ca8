"""What a method is: it may refuse with a reason, else it answers with a kernel and duals."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from .problem import Problem

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
    """

    prices: NDArray[np.float64] | None = None
    multipliers: tuple[Multipliers, ...] | None = None


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

    @abstractmethod
    def refusal(self, problem: Problem) -> str | None:
        """Why the method does not apply, or ``None`` when it does."""

    @abstractmethod
    def solve(self, problem: Problem) -> Candidate:
        """Solve a problem that was not refused. Raises :class:`SolverError`."""

    def solve_near(self, problem: Problem, neighbour: Candidate) -> Candidate:
        """Solve with what the solution of a problem with nearby levels gave, where that helps."""
        return self.solve(problem)


def constant_kernel(problem: Problem) -> NDArray[np.float64]:
    """The kernel that always reports the best single output, ``(n, M)``."""
    kernel = np.zeros(problem.shape)
    kernel[:, int(np.argmax(problem.objective.sum(axis=0)))] = 1.0
    return kernel

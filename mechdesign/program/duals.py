"""What a method answers with: a kernel and dual variables, trusted in nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..privacy.rows import Multipliers
from ..privacy.sums import SumDuals

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Duals:
    """Dual variables of a program; any numbers give a valid bound, good ones a tight one.

    Attributes
    ----------
    prices : ``(n,)`` dual of the row sums: by how much the optimum rises per unit added to row x
    multipliers : dual variables of each part of the cone, in their order
    sums : dual variables of each constraint on a sum over outcomes
    limits : ``(J,)`` of each limit, positive for its upper and negative for its lower end
    branches : dual variables of parts of a search that together are all of it
    inverse : ``(n, n)`` what stands for the inverse of the information matrix in the bound on the
        risk of estimates
    mixture : ``(k,)`` of each of several linear functions whose least is maximised; taken as
        shares of their sum
    convex : for each convex constraint of one's own kernels ``(k, n, M)``, at which it is
        linearised, and multipliers of its functions there, ``(k, functions)``
    offset, power : the numbers are those of the gains (u − offset) / 2**power
    """

    prices: NDArray[np.float64] | None = None
    multipliers: tuple[Multipliers, ...] | None = None
    sums: tuple[SumDuals, ...] | None = None
    offset: float = 0.0
    power: int = 0
    limits: NDArray[np.float64] | None = None
    mixture: NDArray[np.float64] | None = None
    branches: tuple[Branch, ...] | None = None
    convex: tuple[tuple[NDArray[np.float64], NDArray[np.float64]], ...] | None = None
    inverse: NDArray[np.float64] | None = None

    def mapped(self, change: Callable[[Array], Array]) -> Duals:
        """With a linear change of the numbers, which belong to any gains."""

        def parts(given: tuple[tuple[Array, ...], ...] | None) -> Any:
            return None if given is None else tuple(tuple(map(change, part)) for part in given)

        def numbers(given: Array | None) -> Array | None:
            return None if given is None else change(given)

        convex = self.convex
        if convex is not None:
            convex = tuple((points, change(eta)) for points, eta in convex)
        return replace(
            self,
            prices=numbers(self.prices),
            multipliers=parts(self.multipliers),
            sums=parts(self.sums),
            limits=numbers(self.limits),
            convex=convex,
        )

    def in_units_of_gains(self, masses: Array) -> Duals:
        """The same numbers for the gains as they are, as far as floats can hold them."""
        if not (self.offset or self.power):
            return self
        found = self.mapped(lambda numbers: np.ldexp(numbers, self.power))
        if found.prices is not None:
            found = replace(found, prices=masses * self.offset + found.prices)
        return replace(found, offset=0.0, power=0, mixture=None, branches=None, inverse=None)


@dataclass(frozen=True, eq=False)
class Branch:
    """A part of a search over outputs: the kernels in which some of them do not occur.

    Attributes
    ----------
    excluded : positions of these outputs
    duals : of the program without them
    counted : whether that program limits the sum of column maxima by the number of outputs
    """

    excluded: tuple[int, ...]
    duals: Duals
    counted: bool = False


@dataclass(frozen=True, eq=False)
class Candidate:
    """A method's answer, trusted in nothing: the certificate measures everything afresh.

    Attributes
    ----------
    kernel : ``(n, M)`` kernel on the symbols of the program, feasible up to the method's accuracy
    duals : what the upper bound is recomputed from
    solver : what computed it, for the record
    details : what else is known of the run, such as iterations
    warm_start : where the method may start for nearby levels; means nothing to others
    inside : ``(n, M)`` a kernel well inside of everything that is asked, for the repair to mix in
    """

    kernel: NDArray[np.float64]
    duals: Duals
    solver: str
    details: dict[str, str] = field(default_factory=dict)
    warm_start: object = None
    inside: NDArray[np.float64] | None = None

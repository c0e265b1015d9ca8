"""What a method answers with: a kernel and dual variables, trusted in nothing."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

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

    @property
    def averages(self) -> tuple[SumDuals, ...] | None:
        """The dual variables of sums, under their name of version 0.1."""
        return self.sums

    def in_units_of_gains(self, masses: NDArray[np.float64]) -> Duals:
        """The same numbers for the gains as they are, as far as floats can hold them."""
        if not (self.offset or self.power):
            return self

        def scaled(
            parts: tuple[tuple[NDArray[np.float64], ...], ...] | None,
        ) -> tuple[tuple[NDArray[np.float64], ...], ...] | None:
            if parts is None:
                return None
            return tuple(tuple(np.ldexp(w, self.power) for w in part) for part in parts)

        prices = self.prices
        if prices is not None:
            prices = masses * self.offset + np.ldexp(prices, self.power)
        limits = None if self.limits is None else np.ldexp(self.limits, self.power)
        convex = self.convex
        if convex is not None:
            convex = tuple((points, np.ldexp(eta, self.power)) for points, eta in convex)
        parts = scaled(self.multipliers), scaled(self.sums)
        return Duals(prices, *parts, limits=limits, convex=convex)


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


def scaled(duals: Duals, factor: float) -> Duals:
    """Dual variables times a positive factor."""

    def times(parts: tuple[tuple[Array, ...], ...] | None) -> tuple[tuple[Array, ...], ...] | None:
        return None if parts is None else tuple(tuple(factor * w for w in part) for part in parts)

    return replace(
        duals,
        prices=None if duals.prices is None else factor * duals.prices,
        multipliers=times(duals.multipliers),
        sums=times(duals.sums),
        limits=None if duals.limits is None else factor * duals.limits,
    )

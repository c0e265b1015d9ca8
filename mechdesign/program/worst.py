"""Programs of a worst case: the least of several linear functions, or the largest of risks.

Each function is f_i(K) = b_i + Σ_x s_ix Σ_y d_ixy K_xy with what every row of gains has in common
taken out: d ≥ 0 is zero somewhere in each row, and b_i = Σ_x s_ix min_y u_ixy counts in full.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import SolverError
from ..exact import DENOMINATOR_BITS, dyadic, nearest_float, to_weights
from ..requirement.base import Limit
from ..utility.truths import Truths, rational_masses
from ..utility.worst_case import Alternative
from .enclosures import Enclosure
from .program import EstimationProgram, LinearProgram, Objective, Shifted
from .rational import scaled_rows

Array = NDArray[np.float64]


@dataclass(frozen=True)
class LeastProgram(LinearProgram):
    """Maximise min_i f_i(K). The gains of the linear program are zero.

    Attributes
    ----------
    alternatives : the functions, over the symbols of the program
    """

    alternatives: tuple[Alternative, ...] = ()

    @property
    def objective_kind(self) -> Objective:
        """The least of several linear functions."""
        return "least"

    @cached_property
    def floors(self) -> tuple[Array, ...]:
        """min_y u_ixy of each function, ``(R,)``."""
        return tuple(one.gains.min(axis=1) for one in self.alternatives)

    @cached_property
    def rises(self) -> tuple[Array, ...]:
        """s_ix d_ixy of each function in floats, ``(R, M)``."""
        return tuple(
            np.array([float(s) for s in one.factors])[:, None] * (one.gains - floor[:, None])
            for one, floor in zip(self.alternatives, self.floors, strict=True)
        )

    @cached_property
    def exact_bases(self) -> tuple[Fraction, ...]:
        """b_i of each function."""
        return tuple(
            _weighted(one.factors, floor.tolist())
            for one, floor in zip(self.alternatives, self.floors, strict=True)
        )

    @cached_property
    def bases(self) -> tuple[float, ...]:
        """b_i less the least of them, in floats."""
        least = min(self.exact_bases)
        return tuple(nearest_float(base - least) for base in self.exact_bases)

    @cached_property
    def largest_rise(self) -> float:
        """What the least function can be above the least b_i, at most, in floats."""
        return float(
            min(
                base + rise.max(axis=1).sum()
                for base, rise in zip(self.bases, self.rises, strict=True)
            )
        )

    def exact_values(self, weights: NDArray[Any], bits: int) -> list[Fraction]:
        """f_i of integer weights over ``2**bits``, exactly."""
        return [
            scaled_rows(one.factors, weights[one.symbols], bits, one.gains)
            for one in self.alternatives
        ]

    def values(self, kernel: Array) -> Array:
        """f_i of a kernel in floats, less the least b_i, ``(k,)``."""
        return np.array(
            [
                base + float(np.vdot(rise, kernel[one.symbols]))
                for one, base, rise in zip(self.alternatives, self.bases, self.rises, strict=True)
            ]
        )

    def as_limit(self, position: int, least: float) -> Limit:
        """f_i(K) − min b ≥ least, for a function by its position."""
        one = self.alternatives[position]
        count, m = one.gains.shape
        scales = [Fraction(0)] * len(self.prior)
        for x, s in zip(one.symbols.tolist(), one.factors, strict=True):
            scales[x] = s
        low = min(self.exact_bases) + Fraction(least)
        symbols, outputs = np.repeat(one.symbols, m), np.tile(np.arange(m), count)
        values = one.gains.ravel()
        return Limit(symbols, outputs, values, low, None, one.label, tuple(scales))

    @cached_property
    def for_solvers(self) -> Shifted:
        """The program itself: what gains have in common is taken out when it is compiled."""
        return self.shifted(0.0, 0)

    def value(self, kernel: Array) -> float:
        """The least of the functions, in floating point."""
        return nearest_float(min(self.exact_bases)) + float(self.values(kernel).min())

    def enclose(self, weights: NDArray[Any], bits: int) -> Enclosure:
        """The least of the functions, exactly."""
        value = min(self.exact_values(weights, bits))
        return Enclosure(value, value)

    @cached_property
    def exact_tops(self) -> tuple[Fraction, ...]:
        """What each function is at most: every symbol reported as serves it best."""
        found = []
        for one in self.alternatives:
            gains = one.gains
            if self.forbidden is not None:
                gains = np.where(self.forbidden[one.symbols], one.gains.min(), gains)
            found.append(_weighted(one.factors, gains.max(axis=1).tolist()))
        return tuple(found)

    @cached_property
    def revealed_value(self) -> float:
        """The least of what each function is at most; no kernel has a larger value."""
        return nearest_float(min(self.exact_tops))

    @cached_property
    def _constant(self) -> tuple[NDArray[np.int64], Fraction]:
        """Weights of a row, the same for all symbols, for which the least is largest, and that."""
        gained = np.array([b + r.sum(axis=0) for b, r in zip(self.bases, self.rises, strict=True)])
        every = np.zeros(self.shape, dtype=bool) if self.forbidden is None else self.forbidden
        usable = np.flatnonzero(~np.any(every, axis=0))
        row = np.zeros(self.shape[1])
        row[usable] = _best_mixture(gained[:, usable])
        weights = to_weights(np.broadcast_to(row, self.shape).copy())
        return weights, min(self.exact_values(weights, DENOMINATOR_BITS))

    @property
    def _has_constant(self) -> bool:
        zeros = self.forbidden
        return not self.limits and (zeros is None or not np.any(zeros, axis=0).all())

    @cached_property
    def constant_value(self) -> float:
        """Value of the best constant kernel; ``-inf`` where none is known to be allowed."""
        return nearest_float(self._constant[1]) if self._has_constant else -math.inf

    @cached_property
    def exact_constant_value(self) -> Fraction:
        """The same in rationals; the least value of any kernel where there is none."""
        return self._constant[1] if self._has_constant else min(self.exact_bases)

    @property
    def constant_kernel(self) -> Array:
        """The best kernel whose rows are all the same, ``(n, M)``.

        Raises :class:`SolverError` where none is known to be allowed.
        """
        if not self._has_constant:
            raise SolverError(f"{self}: no constant kernel is known to satisfy all that is asked")
        return np.ldexp(self._constant[0].astype(float), -DENOMINATOR_BITS)

    @cached_property
    def gain_range(self) -> float:
        """The range of the least, see :meth:`exact_width`."""
        return nearest_float(self.exact_width(Fraction(0)))

    def exact_width(self, value: Fraction) -> Fraction:
        """From the least that the largest gains give to the least that the smallest give."""
        totals = [sum(one.factors, Fraction(0)) for one in self.alternatives]
        tops, bottoms = (
            [
                total * Fraction(float(choose(one.gains)))
                for total, one in zip(totals, self.alternatives, strict=True)
            ]
            for choose in (np.max, np.min)
        )
        return min(tops) - min(bottoms)

    def __str__(self) -> str:
        return f"{super().__str__()}, the least of {len(self.alternatives)} utilities"


def _weighted(scales: Sequence[Fraction], values: Sequence[float]) -> Fraction:
    return sum((s * Fraction(v) for s, v in zip(scales, values, strict=True)), Fraction(0))


def _best_mixture(gained: Array) -> Array:
    """The mixture r of columns for which min_i Σ_y v_iy r_y is largest, ``(M,)``."""
    from scipy.optimize import linprog

    k, m = gained.shape
    size = float(np.abs(gained).max()) or 1.0
    found = linprog(
        np.append(np.zeros(m), -1.0),
        A_ub=np.hstack([-gained / size, np.ones((k, 1))]),
        b_ub=np.zeros(k),
        A_eq=np.append(np.ones(m), 0.0)[None],
        b_eq=[1.0],
        bounds=[(0, None)] * (m + 1),
    )
    single = np.zeros(m)
    single[int(np.argmax(gained.min(axis=0)))] = 1.0
    if found.x is None:
        return single
    mixed = np.maximum(found.x[:m], 0.0)
    mixed /= mixed.sum()
    better = (gained @ mixed).min() > (gained @ single).min()
    return np.asarray(mixed if better else single)


# Of a truth in a least favourable mixture, before these are divided by their sum.
_SMALLEST_SHARE = 2.0**-60


@dataclass(frozen=True)
class WorstTruthProgram(EstimationProgram):
    """Minimise the largest risk over truths; the survey is that at the prior.

    Attributes
    ----------
    truths : of which the worst counts
    """

    truths: Truths = field(kw_only=True)

    @property
    def objective_kind(self) -> Objective:
        """Minus the worst of several risks."""
        return "worst estimation"

    @property
    def parts(self) -> int:
        """How many matrices stand for inverses in the bound."""
        return len(self.truths.listed) or 1

    def at(self, masses: Array) -> EstimationProgram:
        """The program at one truth, near some masses."""
        return self.with_truth(rational_masses(masses))

    def with_truth(self, truth: tuple[Fraction, ...]) -> EstimationProgram:
        """The program at one truth."""
        return EstimationProgram(
            self.prior,
            self.cone,
            self.sums,
            self.sum_labels,
            self.unexpressed,
            self.time_limit,
            self.utility,
            self.survey.moved(truth),
            self.most_outputs,
        )

    def at_mixture(self, mixture: Array | None) -> EstimationProgram:
        """The program at a mixture of the truths."""
        shares = self.least_favourable(mixture)
        if shares is None:
            return self.with_truth(self.survey.truth)
        if self.truths.every:
            return self.with_truth(shares)
        columns = zip(*(one.truth for one in self.truths.listed), strict=True)
        return self.with_truth(
            tuple(
                sum((w * v for w, v in zip(shares, column, strict=True)), Fraction(0))
                for column in columns
            )
        )

    @cached_property
    def revealed_value(self) -> float:
        """Minus the worst risk of an open survey."""
        return self.value(np.eye(len(self.prior)))

    def value(self, kernel: Array) -> float:
        """Minus the worst risk of a kernel, −∞ where some answer cannot be told."""
        ends = self.truths.risk(dyadic(kernel)[0])
        return float("-inf") if ends is None else nearest_float(-(ends[0] + ends[1]) / 2)

    def enclose(self, weights: NDArray[Any], bits: int) -> Enclosure | None:
        """Minus the worst risk between two rationals; ``None`` where it is −∞."""
        ends = self.truths.risk(weights)
        return None if ends is None else Enclosure(-ends[1], -ends[0])

    def least_favourable(self, mixture: Array | None) -> tuple[Fraction, ...] | None:
        """Positive shares of the truths, or masses of the symbols; ``None`` for what is none."""
        if mixture is None or not np.isfinite(mixture).all() or not mixture.max() > 0:
            return None
        # As FORMAT.md says, so that whoever reads a file bounds the risk at the same truth.
        positive = [Fraction(max(v, _SMALLEST_SHARE)) for v in mixture.tolist()]
        total = sum(positive, Fraction(0))
        return tuple(v / total for v in positive)

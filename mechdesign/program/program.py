"""The program: what is maximised and what a kernel must satisfy, with nothing said of notions.

Over the columns k_y = K[:, y] ≥ 0 of a kernel on n symbols, with M outputs or any number of them::

    maximise    Σ_y ⟨c_y, k_y⟩,   Σ_y μ(k_y)   or   −tr(A J⁻¹), J = Σ_y k_y k_yᵀ/(πᵀk_y)
    subject to  Σ_y k_y = 1                       rows
                k_y in a cone, the same for all y     cone: labelled sparse rows, and their shape
                k_xy = 0 for some entries         restrictions
                low_j ≤ Σ a_j,xy k_xy ≤ high_j    limits
                g_j(K) ≤ tolerance                convex constraints of one's own, in floats
                Σ_y φ_j(k_y) ≤ limit_j            sums over outcomes

Solvers work with factors slightly inside e^ε, so that rounding a kernel to integer weights leaves
it private; bounds use factors at or above e^ε, so that they hold for the true level
(:class:`mechdesign.privacy.constraint.Rounding`).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, SolverError
from ..exact import dyadic, nearest_float
from ..labels import counted
from ..prior import Prior
from ..privacy.constraint import Rounding
from ..privacy.rows import ConeRows, Multipliers
from ..privacy.sums import SumConstraint, most_maxima
from ..requirement.base import Limit
from ..requirement.convex import Convex
from ..utility.estimation import Estimation
from ..utility.sublinear import FInformation, SublinearUtility
from ..utility.survey import Survey
from .enclosures import Enclosure, kernel_enclosure, revealed_enclosure, sums_up
from .gains import LARGE, GainsByOutput
from .rational import difference, kernel_mean, mean_of

#: Share of a time limit for the search; the rest is for proving its bound afresh.
SEARCHING = 0.7

Array = NDArray[np.float64]
#: What is maximised: Σ ⟨c_y, k_y⟩, the least of several such sums, Σ μ(k_y) for a sum μ over
#: symbols of a function of the lift, Σ μ(k_y) for any other sublinear μ, or minus the risk of
#: estimates.
Objective = Literal["linear", "least", "information", "sublinear", "estimation", "worst estimation"]
#: Shapes that cones are recognised to have; ``"general"`` is any.
Shape = Literal["free", "upper lift", "lower lift", "lift", "ratio", "lift and ratio", "general"]

#: Largest size of a gain: sums and products of gains stay finite.
LARGEST_GAIN = 1e150
# Gains whose range is below this share of their size are taken from their least; ranges below the
# other number are scaled to one.
_FAR, _SMALL_RANGE = 2.0**-13, 2.0**-900
_LOWEST_POWER = -1100
# Terms up to which sums are rounded once.
_FEW = 10_000
# Entries of a block of gains.
_BLOCK = 1 << 20


@dataclass(frozen=True)
class TwoSided:
    """Columns k with l·q ≤ k_x ≤ h·q, q = pᵀk, and max k ≤ r·min k.

    ``lower`` is l in [0, 1], ``upper`` is h ≥ 1 and ``ratio`` is r ≥ 1; 0 and ``inf`` ask nothing.
    """

    lower: float
    upper: float
    ratio: float

    @property
    def has_lift_sides(self) -> bool:
        """Whether the lift is bounded at all."""
        return self.lower > 0 or self.upper < math.inf

    @property
    def shape(self) -> Shape:
        """Which of the three are asked."""
        if self.ratio < math.inf:
            return "lift and ratio" if self.has_lift_sides else "ratio"
        if self.lower > 0:
            return "lift" if self.upper < math.inf else "lower lift"
        return "upper lift" if self.upper < math.inf else "free"

    def implied(self, pmin: Fraction) -> set[str]:
        """Names of sides that the others imply where the least mass of a symbol is ``pmin``.

        A ratio of r keeps lifts between 1/(pmin + r (1 − pmin)) and r/(1 + pmin (r − 1)); lifts
        between l and h have a ratio of at most h/l. The factors are the rationals that they are.
        """
        if self.ratio == math.inf or not self.has_lift_sides:
            return set()
        lower, ratio = Fraction(self.lower), Fraction(self.ratio)
        found = set()
        if lower * (pmin + ratio * (1 - pmin)) <= 1:
            found.add("lower")
        if self.upper == math.inf or Fraction(self.upper) * (1 + pmin * (ratio - 1)) >= ratio:
            found.add("upper")
        elif Fraction(self.upper) <= ratio * lower:
            return {"ratio"}
        return found

    def without(self, names: set[str]) -> TwoSided:
        """The cone of the other sides."""
        return TwoSided(
            0.0 if "lower" in names else self.lower,
            math.inf if "upper" in names else self.upper,
            math.inf if "ratio" in names else self.ratio,
        )

    @property
    def is_constant(self) -> bool:
        """Whether a factor is one to working precision, so that columns are constant."""
        return min(self.upper, self.ratio) == 1 or self.lower == 1


@dataclass(frozen=True, eq=False)
class Cone:
    """The cone of columns: rows of several bounds, each labelled, and the shape they amount to.

    Attributes
    ----------
    prior : the prior over the symbols
    parts : rows of each bound
    """

    prior: Prior
    parts: tuple[ConeRows, ...]
    _shapes: dict[Rounding, TwoSided | None] = field(default_factory=dict, repr=False)

    def __len__(self) -> int:
        return len(self.parts)

    @property
    def shape(self) -> Shape:
        """What the cone was recognised to be."""
        found = self.two_sided(Rounding.INSIDE)
        return "general" if found is None else found.shape

    def two_sided(self, rounding: Rounding) -> TwoSided | None:
        """The two-sided cone that the rows amount to, or ``None`` when they are of another kind.

        Recognised by what is compared, not by the names of notions: (all points, prior), (prior,
        all points) and (all points, all points). Sides that the others imply are left out.
        """
        if rounding not in self._shapes:
            found = {way: self._recognised(way) for way in Rounding}
            every = [sides for sides in found.values() if sides is not None]
            implied = [
                sides.implied(min(map(self.prior.mass, range(len(self.prior))))) for sides in every
            ]
            for way, sides in found.items():
                # What rounding decides stays in.
                self._shapes[way] = sides and sides.without(set.intersection(*implied))
        return self._shapes[rounding]

    def _recognised(self, rounding: Rounding) -> TwoSided | None:
        if not self.prior.has_full_support:
            return None  # symbols without mass are tied to others by bounds of another kind
        lower, upper, ratio = 0.0, math.inf, math.inf
        for part in self.parts:
            kind = part.kind(self.prior)
            if None in kind:
                return None
            factor = part.factor(rounding)
            if kind == ("points", "prior"):
                upper = min(upper, factor)
            elif kind == ("prior", "points"):
                least = 1 / factor
                exact = rounding is Rounding.INSIDE or factor == 1
                lower = max(lower, least if exact else math.nextafter(least, 0.0))
            elif kind == ("points", "points"):
                ratio = min(ratio, factor)
            elif kind != ("prior", "prior"):
                return None
        return TwoSided(lower, upper, ratio)

    @cached_property
    def auxiliaries(self) -> int:
        """Number of auxiliary variables of one column."""
        return sum(part.auxiliaries for part in self.parts)

    @property
    def count(self) -> int:
        """Number of rows of one column."""
        return sum(part.count for part in self.parts)

    def matrix(self) -> Any:
        """Sparse rows over (k, t) inside e^ε: rows @ (k, t) ≤ 0 for some auxiliary t ≥ 0."""
        from scipy import sparse

        values, *places = self.entries_of_matrix()
        shape = self.count, len(self.prior) + self.auxiliaries
        return sparse.csr_array((values, tuple(places)), shape=shape)

    def entries_of_matrix(self) -> tuple[Array, NDArray[np.intp], NDArray[np.intp]]:
        """Values, rows and columns of :meth:`matrix`, without repetitions, in any order."""
        n, above, before = len(self.prior), 0, 0
        data, rows, columns = [np.zeros(0)], [np.zeros(0, int)], [np.zeros(0, int)]
        for part in self.parts:
            values, row, column = part.entries_of_matrix()
            data.append(values)
            rows.append(row + above)
            columns.append(np.where(column < n, column, column + before))
            above, before = above + part.count, before + part.auxiliaries
        return np.concatenate(data), np.concatenate(rows), np.concatenate(columns)

    def split(self, duals: Array) -> tuple[Multipliers, ...]:
        """Dual variables of each part from those of the rows inside e^ε, ``(R, M)``."""
        found, start = [], 0
        for part in self.parts:
            count = part.count
            found.append(part.split(duals[start : start + count]))
            start += count
        return tuple(found)

    def no_duals(self, outputs: int) -> tuple[Multipliers, ...]:
        """Dual variables that are all zero."""
        return tuple(part.no_duals(outputs) for part in self.parts)

    def combination(
        self, multipliers: tuple[Multipliers, ...], outputs: int
    ) -> tuple[Array, Array]:
        """Columns w_y with ⟨w_y, k⟩ ≤ 0 on the cone, ``(n, M)``, and the size of their terms.

        From dual variables of any quality, projected to feasibility outside e^ε.
        """
        total, size = np.zeros((len(self.prior), outputs)), np.zeros((len(self.prior), outputs))
        for part, given in zip(self.parts, multipliers, strict=True):
            plus, minus = part.weighted(*part.feasible(given))
            total += plus - minus
            size += plus + minus
        return total, size

    def inequalities(self, rounding: Rounding) -> list[tuple[int, ...]]:
        """Integer rows a with a·k ≥ 0, one for each pair of hypotheses, exactly at the factors.

        Raises :class:`SolverError` where there are too many to list.
        """
        rows = (pair.integers() for part in self.parts for pair in part.pairs(rounding))
        return list(dict.fromkeys(rows))

    def closed(self, forbidden: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Every entry that must be zero when some must, ``(n, M)``.

        Where all symbols of one ν of a pair are excluded from an outcome, those of μ are too.
        """
        found, before = forbidden.copy(), -1
        while before != (before := int(found.sum())):
            for part in self.parts:
                part.exclude(found)
        return found

    @property
    def terms(self) -> int:
        """Number of terms in the sums of :meth:`combination`."""
        return sum(part.terms for part in self.parts)

    @property
    def entries(self) -> int:
        """Number of masses of all hypotheses that are not zero."""
        return sum(part.entries for part in self.parts)


@dataclass(frozen=True)
class Program(ABC):
    """What every program has, whatever is maximised.

    Attributes
    ----------
    prior : over the symbols designed for
    cone : what every column satisfies
    sums : constraints on sums over outcomes
    sum_labels : the notion that asks for each of them, as it is written
    unexpressed : descriptions of what else is asked; it has no such form, no method satisfies it
    time_limit : seconds that a search may take; methods that do not search ignore it
    """

    prior: Prior
    cone: Cone
    sums: tuple[SumConstraint, ...]
    sum_labels: tuple[str, ...]
    unexpressed: tuple[str, ...]
    time_limit: float

    @property
    @abstractmethod
    def objective_kind(self) -> Objective:
        """What is maximised."""

    @property
    def sides(self) -> TwoSided | None:
        """The two-sided cone with factors for design, ``None`` for one of another kind."""
        return self.cone.two_sided(Rounding.INSIDE)

    @property
    @abstractmethod
    def constant_value(self) -> float:
        """Value of the best constant output, which is uninformative."""

    @property
    @abstractmethod
    def exact_constant_value(self) -> Fraction | None:
        """The same in rationals; ``None`` where it is −∞."""

    @property
    @abstractmethod
    def revealed_value(self) -> float:
        """Value of full disclosure; no kernel has a larger one."""

    @property
    @abstractmethod
    def constant_kernel(self) -> Array:
        """The kernel of the best constant output."""

    @abstractmethod
    def value(self, kernel: Array) -> float:
        """Objective of a kernel ``(n, M)``, in floating point."""

    @abstractmethod
    def enclose(self, weights: NDArray[Any], bits: int) -> Enclosure | None:
        """The value of integer weights over 2**bits, exact or between two rationals.

        ``None`` where floats fail.
        """

    @abstractmethod
    def width(self, value: float) -> float:
        """What gaps and losses are measured against, for a design of a given value."""

    @abstractmethod
    def exact_width(self, value: Fraction) -> Fraction:
        """The same in rationals, for a value that is not overstated."""

    @property
    def is_exact(self) -> bool:
        """Whether values and bounds are those of the utility, and not of a function in floats."""
        return True


@dataclass(frozen=True)
class LinearProgram(Program):
    """Maximise Σ_xy p_x u_xy K_xy.

    Attributes
    ----------
    stated : ``(n, M)``, u, or the utility that is asked for it by output; :attr:`gains` is the
        array, which is then made when it is first read
    forbidden : ``(n, M)``, entries that must be zero, with those that follow in the cone; ``None``
        for none
    limits : on sums over entries
    most_outputs : how many outputs may occur; ``None`` for all of them
    convex : convex constraints of one's own, in floats; all symbols are designed for with them
    """

    stated: Array | GainsByOutput
    forbidden: NDArray[np.bool_] | None = None
    limits: tuple[Limit, ...] = ()
    most_outputs: int | None = None
    convex: tuple[Convex, ...] = ()

    @cached_property
    def gains(self) -> Array:
        """``(n, M)``, u as an array."""
        if not isinstance(self.stated, GainsByOutput):
            return self.stated
        return np.concatenate([block for _, block in self.blocks()], axis=1)

    @property
    def is_by_output(self) -> bool:
        """Whether gains are stated by output and no array of them has been made."""
        return isinstance(self.stated, GainsByOutput) and "gains" not in self.__dict__

    @property
    def positions(self) -> Array | None:
        """Where outputs lie, ``(M, d)``, if gains fall with the distance from there."""
        return self.stated.positions if isinstance(self.stated, GainsByOutput) else None

    def columns(self, outputs: Sequence[int] | NDArray[np.intp]) -> Array:
        """Gains of some outputs, ``(n, k)``."""
        if isinstance(self.stated, GainsByOutput) and self.is_by_output:
            return self.stated.columns(outputs)
        return self.gains[:, outputs]

    def blocks(self) -> Iterator[tuple[slice, Array]]:
        """Gains of all outputs in turn, some at a time: which, and their ``(n, k)`` columns."""
        n, m = self.shape
        if not self.is_by_output:
            yield slice(0, m), self.gains
            return
        step = max(1, _BLOCK // n)
        for start in range(0, m, step):
            some = slice(start, min(start + step, m))
            yield some, self.columns(range(some.start, some.stop))

    @cached_property
    def _summary(self) -> tuple[Array, Array, Array]:
        """The least and the largest gain of each symbol, and the mean gain of each output."""
        p = self.prior.probabilities[:, None]
        found = [
            (block.min(axis=1), block.max(axis=1), (p * block).sum(axis=0))
            for _, block in self.blocks()
        ]
        least, most, means = zip(*found, strict=True)
        return np.min(least, axis=0), np.max(most, axis=0), np.concatenate(means)

    @property
    def extremes(self) -> tuple[Array, Array]:
        """The least and the largest gain of each symbol, ``(n,)`` each."""
        return self._summary[:2]

    @property
    def largest_gain(self) -> float:
        """The largest size of a gain."""
        least, most = self.extremes
        return max(float(most.max()), -float(least.min()))

    def on_outputs(self, outputs: NDArray[np.intp]) -> LinearProgram:
        """The program with these outputs alone, in this order, where nothing is asked of others.

        Bounds on what it can reach do not hold for all outputs.
        """
        values = {f.name: getattr(self, f.name) for f in fields(Program)}
        return LinearProgram(**values, stated=self.columns(outputs))

    @property
    def is_restricted(self) -> bool:
        """Whether anything is asked of single entries or their sums, so that constant kernels and
        mixtures with them may not do.
        """
        asked = self.forbidden is not None or bool(self.limits or self.convex)
        return asked or self.most_outputs is not None

    def without_outputs(self, excluded: Sequence[int], most: int | None = None) -> LinearProgram:
        """The program with some outputs forbidden, and any number of the others.

        With ``most`` the sum of column maxima is at most that, as with at most so many outputs.
        """
        if most is not None:
            labels = (*self.sum_labels, f"at most {counted(most, 'output')}")
            limited = replace(
                self, sums=(*self.sums, most_maxima(self.prior, most)), sum_labels=labels
            )
            return limited.without_outputs(excluded)
        forbidden = np.zeros(self.shape, dtype=bool)
        if self.forbidden is not None:
            forbidden |= self.forbidden
        forbidden[:, list(excluded)] = True
        if forbidden.any():
            return replace(self, forbidden=self.cone.closed(forbidden), most_outputs=None)
        return replace(self, most_outputs=None)

    @property
    def objective_kind(self) -> Objective:
        """Linear."""
        return "linear"

    def with_gains(self, gains: Array) -> LinearProgram:
        """The linear program of other gains, with all else as it is."""
        values = {f.name: getattr(self, f.name) for f in fields(LinearProgram)}
        return LinearProgram(**{**values, "stated": gains})

    @property
    def without_objective(self) -> LinearProgram:
        """What is asked of kernels alone: a value of zero for all."""
        return self.with_gains(np.zeros(self.shape))

    @property
    def shape(self) -> tuple[int, int]:
        """Symbols n and outputs M."""
        found = self.stated if self.is_by_output else self.gains
        return found.shape[0], found.shape[1]

    @cached_property
    def objective(self) -> Array:
        """C = p_x u_xy, ``(n, M)``: value per unit of kernel."""
        return self.prior.probabilities[:, None] * self.gains

    @cached_property
    def gain_range(self) -> float:
        """Max u − min u over support symbols and outputs."""
        least, most = (ends[self.prior.support] for ends in self.extremes)
        return float(most.max() - least.min())

    @cached_property
    def constant_value(self) -> float:
        """Value of the best constant output; ``-inf`` where every output is forbidden to some, or
        where there are limits, which it may break.
        """
        if self.limits or self.convex:
            return -math.inf
        return float(self._constant_values.max())

    @cached_property
    def _constant_values(self) -> Array:
        values = self._summary[2]
        if self.forbidden is None:
            return values
        return np.where(np.any(self.forbidden, axis=0), -math.inf, values)

    @cached_property
    def limit_rows(self) -> tuple[Any, Array, Array, Array]:
        """Limits as sparse rows over the kernel row by row, their ends, and the sum of the sizes of
        coefficients and ends of each.
        """
        from scipy import sparse

        n, m = self.shape
        values = [limit.coefficients for limit in self.limits]
        places = [limit.symbols * m + limit.outputs for limit in self.limits]
        rows = np.repeat(np.arange(len(values)), [len(v) for v in values])
        matrix = sparse.csr_array(
            (
                np.concatenate([np.zeros(0), *values]),
                (rows, np.concatenate([np.zeros(0, dtype=np.intp), *places])),
            ),
            shape=(len(values), n * m),
        )
        low, high = np.array([limit.ends for limit in self.limits]).reshape(-1, 2).T
        size = np.abs(matrix).sum(axis=1)
        size += np.where(np.isfinite(low), abs(low), 0) + np.where(np.isfinite(high), abs(high), 0)
        return matrix, low, high, size

    def allowed(self, values: Array) -> Array:
        """Values ``(n, M)`` with ``-inf`` at forbidden entries."""
        return values if self.forbidden is None else np.where(self.forbidden, -math.inf, values)

    @cached_property
    def revealed_value(self) -> float:
        """Σ_x max_y p_x u_xy: each symbol reported as serves it best."""
        if self.forbidden is None:
            return math.fsum((self.prior.probabilities * self.extremes[1]).tolist())
        return math.fsum(self.allowed(self.objective).max(axis=1).tolist())

    @property
    def constant_kernel(self) -> Array:
        """The kernel that always reports the best single output, ``(n, M)``.

        Raises :class:`SolverError` where no output is known to be allowed for every symbol.
        """
        if self.constant_value == -math.inf:
            raise SolverError(f"{self}: no constant kernel is known to satisfy all that is asked")
        kernel = np.zeros(self.shape)
        kernel[:, int(np.argmax(self._constant_values))] = 1.0
        return kernel

    def value(self, kernel: Array) -> float:
        """Σ c_xy k_xy for an ``(n, M)`` kernel; correctly rounded where that is cheap."""
        if kernel.size > _FEW:
            return float(np.vdot(self.objective, kernel))
        terms = self.objective * kernel
        return math.fsum(terms[terms != 0].tolist())

    def enclose(self, weights: NDArray[Any], bits: int) -> Enclosure:
        """Σ p_x u_xy K_xy, exactly."""
        gains: Array
        if weights.size > LARGE:
            used = np.flatnonzero(weights.any(axis=0))
            weights, gains = weights[:, used], self.columns(used)
        else:
            gains = self.gains
        value = kernel_mean(self.prior, weights, bits, gains)
        return Enclosure(value, value)

    @cached_property
    def for_solvers(self) -> Shifted:
        """The program with gains that floats can add up: near zero and not too small.

        A constant taken off all gains and a power of two change no optimum. Gains that are of one
        size with their range stay as they are.
        """
        offset, power = 0.0, 0
        if 0 < self.gain_range < self.largest_gain * _FAR:
            offset = float(self.extremes[0].min())
        if 0 < self.gain_range < _SMALL_RANGE:
            power = int(np.frexp(self.gain_range)[1])
        return self.shifted(offset, power)

    def shifted(self, offset: float, power: int) -> Shifted:
        """The program for the gains (u − offset) / 2**power, for a power of at most zero.

        Raises :class:`InputError` for numbers that lead beyond floats.
        """
        if not (offset or power):
            return Shifted(self, 0.0, 0, Fraction(0))
        good = _LOWEST_POWER <= power <= 0 and abs(offset) <= LARGEST_GAIN
        if good:
            high, low = difference(self.gains, np.full(self.shape, offset))
            gains = np.ldexp(high, -power)
            good = bool(np.isfinite(gains).all())
        if not good:
            raise InputError(
                "offset and power of gains",
                expected=f"an offset of size at most {LARGEST_GAIN:g}, a power of at most zero",
                got=f"{offset!r} and {power!r}",
                remedy="design again",
            )
        lost = Fraction(float(np.abs(low).max()))
        return Shifted(replace(self, stated=gains), offset, power, lost)

    @cached_property
    def exact_constant_value(self) -> Fraction:
        """Value of the constant kernel, exactly; the least value of any where there is none."""
        if self.constant_value == -math.inf:
            return mean_of(self.prior, self.extremes[0])
        best = int(np.argmax(self._constant_values))
        return mean_of(self.prior, self.columns([best])[:, 0])

    def width(self, value: float) -> float:
        """The range of the gains."""
        return self.gain_range

    def exact_width(self, value: Fraction) -> Fraction:
        """The range of the gains."""
        least, most = (ends[self.prior.support] for ends in self.extremes)
        return Fraction(float(most.max())) - Fraction(float(least.min()))

    def __str__(self) -> str:
        n, m = self.shape
        zeros = 0 if self.forbidden is None else int(self.forbidden.sum())
        more = f", {zeros} zeros" if zeros else ""
        more += f", {len(self.limits)} limits" if self.limits else ""
        most = self.most_outputs
        more += "" if most is None else f", at most {counted(most, 'output')}"
        more += f", {sum(c.count for c in self.convex)} convex constraints" if self.convex else ""
        return f"{counted(n, 'symbol')} × {counted(m, 'output')}, {_asked(self)}{more}"


@dataclass(frozen=True)
class Shifted:
    """A program whose gains are those of another, less an offset and over a power of two.

    Attributes
    ----------
    program : with the gains (u − offset) / 2**power, rounded
    offset, power : what was taken off, and the scale
    lost : what rounding took off any gain, at most
    """

    program: LinearProgram
    offset: float
    power: int
    lost: Fraction

    def bound(self, found: Fraction) -> Fraction:
        """A bound for the original gains from one for the shifted ones."""
        return Fraction(self.offset) + found / (1 << -self.power) + self.lost


@dataclass(frozen=True)
class SublinearProgram(Program):
    """Maximise Σ_y μ(k_y) for μ convex and positively homogeneous, over any number of outputs.

    n outputs suffice.

    Attributes
    ----------
    utility : which gives μ
    """

    utility: SublinearUtility

    @property
    def objective_kind(self) -> Objective:
        """Whether μ is a sum over symbols of a function of the lift."""
        return "information" if isinstance(self.utility, FInformation) else "sublinear"

    def column_values(self, columns: Array) -> Array:
        """μ of each column of an ``(n, M)`` array."""
        return self.utility.values(columns, self.prior)

    def lifted_values(self, deviations: Array) -> Array:
        """μ of columns of output mass one, by the deviations of their lifts from one, ``(C, n)``.

        An f-information is taken from the deviations, which 1 + d would round.
        """
        if sums_up(self.utility):
            values: Array = self.utility.finite_or_more(deviations) @ self.prior.probabilities
            return values
        return self.column_values((1 + deviations).T)

    @cached_property
    def constant_value(self) -> float:
        """μ(1): value of a constant output."""
        return float(self.column_values(np.ones((len(self.prior), 1)))[0])

    @property
    def constant_kernel(self) -> Array:
        """One output."""
        return np.ones((len(self.prior), 1))

    @cached_property
    def revealed_value(self) -> float:
        """Σ_x μ(e_x): every symbol revealed. No kernel has a larger value, as μ is subadditive.

        Infinite where the utility is a function whose numbers are beyond floats.
        """
        found = revealed_enclosure(self.utility, self.prior)
        return math.inf if found is None else nearest_float((found.low + found.high) / 2)

    def value(self, kernel: Array) -> float:
        """Σ_y μ(K_·y)."""
        return math.fsum(self.column_values(kernel))

    def width(self, value: float) -> float:
        """The value itself."""
        return abs(value)

    def exact_width(self, value: Fraction) -> Fraction:
        """The value itself."""
        return abs(value)

    @property
    def is_exact(self) -> bool:
        """Not where the utility is a function that was given."""
        return sums_up(self.utility) and self.utility.is_enclosed

    def enclose(self, weights: NDArray[Any], bits: int) -> Enclosure | None:
        """Σ_y μ(K_·y) between two rationals."""
        return kernel_enclosure(self.utility, self.prior, weights)

    @cached_property
    def exact_constant_value(self) -> Fraction:
        """μ(1), in the floats of the utility where it is a function."""
        return Fraction(self.constant_value)

    def __str__(self) -> str:
        return f"{counted(len(self.prior), 'symbol')}, {_asked(self)}, {self.utility!r}"


@dataclass(frozen=True)
class EstimationProgram(Program):
    """Minimise the risk tr(A J⁻¹), J = Σ_y k_y k_yᵀ/(πᵀk_y), over any number of outputs.

    Attributes
    ----------
    utility : which says what is estimated
    survey : the loss A and the truth π on the symbols designed for
    most_outputs : how many outputs may occur; ``None`` for any number
    apart : pairs of symbols that no output may be reported for both of
    """

    utility: Estimation
    survey: Survey
    most_outputs: int | None = None
    apart: frozenset[tuple[int, int]] = frozenset()

    def keeps_apart(self, deviations: Sequence[Any]) -> bool:
        """Whether one of each two symbols that share no output is zero in a column, whose lifts
        have these deviations from one.
        """
        return all(-1 in (deviations[x], deviations[z]) for x, z in self.apart)

    def with_zeros_of(self, kernel: Array) -> LinearProgram:
        """All that is asked of kernels with zeros where one has them, without an objective."""
        values = {f.name: getattr(self, f.name) for f in fields(Program)}
        return LinearProgram(
            **values, stated=np.zeros(kernel.shape), forbidden=self.cone.closed(kernel <= 0)
        )

    @property
    def objective_kind(self) -> Objective:
        """Minus a risk."""
        return "estimation"

    @property
    def constant_value(self) -> float:
        """A constant output answers nothing."""
        return 0.0 if self.survey.asks_nothing else -math.inf

    @property
    def exact_constant_value(self) -> Fraction | None:
        """Zero where nothing is asked."""
        return Fraction(0) if self.survey.asks_nothing else None

    @property
    def constant_kernel(self) -> Array:
        """One output."""
        return np.ones((len(self.prior), 1))

    @cached_property
    def revealed_value(self) -> float:
        """Minus the risk of an open survey."""
        return nearest_float(-self.survey.open_risk)

    def value(self, kernel: Array) -> float:
        """−tr(A J⁻¹) of a kernel, −∞ where some answer cannot be told."""
        ends = self.survey.risk(dyadic(kernel)[0])
        return -math.inf if ends is None else nearest_float(-(ends[0] + ends[1]) / 2)

    def enclose(self, weights: NDArray[Any], bits: int) -> Enclosure | None:
        """−tr(A J⁻¹) between two rationals; ``None`` where it is −∞."""
        ends = self.survey.risk(weights)
        return None if ends is None else Enclosure(-ends[1], -ends[0])

    def width(self, value: float) -> float:
        """The value itself."""
        return abs(value)

    def exact_width(self, value: Fraction) -> Fraction:
        """The value itself."""
        return abs(value)

    def with_truth_as_prior(self) -> EstimationProgram | None:
        """The same kernels and risks with the truth as prior, where all bounds compare all symbols
        with all, which no prior enters; ``None`` for other bounds.

        Columns are then normalised by πᵀr = 1, by which the risk is over a number that is known.
        """
        kinds = [part.kind(self.prior) for part in self.cone.parts]
        if not kinds or set(kinds) != {("points", "points")} or self.sums:
            return None
        truth = Prior(self.survey.truth, self.prior.labels)
        return replace(self, prior=truth, cone=Cone(truth, self.cone.parts))

    def __str__(self) -> str:
        return f"{counted(len(self.prior), 'symbol')}, {_asked(self)}, {self.utility!r}"


def _asked(program: Program) -> str:
    rows, sums = program.cone.count, len(program.sums)
    return f"cone of {rows} rows ({program.cone.shape})" + (f", {sums} sums" if sums else "")

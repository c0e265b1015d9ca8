"""How likely an outcome leaks more than a level, whatever is done to it afterwards.

The probability that ℓ(X→Y) exceeds a level may grow when outcomes are processed: two of them that
leak little about different symbols can be split and joined with one that leaks much. So a statement
"leaks at most ε but with probability δ" about a kernel says nothing about what others make of its
reports. The envelope does: it is the largest such probability over all post-processings
([SaeidianEnvelopes]).

For finite kernels it is a linear program. After any post-processing the outcomes that leak at least
ε about symbol x may be joined in one, as their likelihoods add up; so a post-processing is a share
w[x, y] of each outcome y for each symbol x, and

    maximise Σ w[x,y] q[y]   with   Σ_x w[x,y] ≤ 1,   Σ_y w[x,y] (K[x,y] − e^ε q[y]) ≥ 0.

Any multipliers t[x] ≥ 0 of the second rows prove Σ_y max(0, max_x q[y] + t[x] (K[x,y] − e^ε q[y]))
as an upper bound. Both sides are evaluated in rationals.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._audit import matched
from ..errors import LevelError, listed
from ..exact import (
    dot,
    exp_bounds,
    float_at_least,
    float_at_most,
    log_upper,
)
from ..labels import counted
from ..linear.highs import Model
from ..mechanism import Mechanism
from ..prior import Prior
from ..progress import advance, stage
from ..theory.leakage import outcome_leakage
from ..theory.validation import number
from ._refines import integer_rows
from .closed_envelope import closed_envelope

Array = NDArray[np.float64]
# Python's own integers, of any size.
Integers = NDArray[Any]
_LEVELS = 33
# Outcomes with levels of their own in a curve, and how far beside their leakage, relatively.
_JUMPS, _BESIDE, _ROUNDING = 50, 1e-9, 1e-6
# Levels up to which e^ε is taken, far above what floats tell from infinite.
_HIGHEST = 512.0
# Halvings of an interval of levels.
_HALVINGS = 40
# Denominator of the shares of a post-processing.
_BITS = 64
_ONE = 1 << _BITS
# Parts of the largest multiplier, of which others may be as small as floats are.
_MULTIPLIER_BITS = 256


@dataclass(frozen=True)
class EnvelopePoint:
    """The envelope at one level.

    Attributes
    ----------
    level : ε in nats
    at_most : proved: after no post-processing is P[leakage ≥ ε] larger; rounded up
    at_least : what :attr:`channel` attains, exact, rounded down
    before : P[leakage ≥ ε] of the reports as they are
    channel : the post-processing that attains it, a kernel from the outcomes to one outcome for
        each symbol that it speaks about and one for the rest
    """

    level: float
    at_most: float
    at_least: float
    before: float
    channel: Mechanism

    @property
    def gap(self) -> float:
        """Difference of the two sides."""
        return self.at_most - self.at_least


class LeakageEnvelope:
    """The largest probability, after any post-processing, that an outcome leaks at least a level.

    From :func:`leakage_envelope`.

    Attributes
    ----------
    mechanism, prior : the kernel and the prior it is about
    risk_averse : whether leakage is Λ(X→y), log q/min K, in place of ℓ(X→y)
    points : one :class:`EnvelopePoint` for each level, in rising order
    """

    def __init__(
        self, mechanism: Mechanism, prior: Prior, levels: Sequence[float], risk_averse: bool
    ) -> None:
        self.mechanism, self.prior, self.risk_averse = mechanism, prior, risk_averse
        self._kernel = _Kernel(mechanism, prior, risk_averse)
        points = []
        with stage("levels", total=len(levels)):
            for level in levels:
                points.append(self._kernel.point(level))
                advance()
        self.points = tuple(points)

    @property
    def levels(self) -> Array:
        """The levels of the points, in nats."""
        return np.array([point.level for point in self.points])

    @property
    def at_most(self) -> Array:
        """Proved upper bounds of the probabilities."""
        return np.array([point.at_most for point in self.points])

    @property
    def at_least(self) -> Array:
        """Probabilities that post-processings attain."""
        return np.array([point.at_least for point in self.points])

    @property
    def before(self) -> Array:
        """Probabilities of the reports as they are."""
        return np.array([point.before for point in self.points])

    @property
    def largest(self) -> float:
        """The level that no outcome exceeds, with or without post-processing, in nats."""
        return self._kernel.largest

    def at(self, level: float) -> EnvelopePoint:
        """The envelope at another level."""
        return self._kernel.point(_level(level))

    def closed_form(self, level: float) -> float | None:
        """The envelope at a level without a linear program, ``None`` where that is not known.

        For randomised response at any level; for other kernels up to the least leakage of an
        outcome and above the largest, which is everywhere for extremal mechanisms, whose outcomes
        all leak the same (:mod:`mechdesign.channels.closed_envelope`). Between the two sides of
        the point at that level, up to the rounding of e^level.
        """
        return self._kernel.closed(_level(level))

    def level_at(self, probability: float) -> float:
        """A level that is exceeded with at most this probability after any post-processing.

        The smallest one up to 1e-9 relative, by halving; what is proved at it stands in
        ``at(level).at_most``.
        """
        share = number(probability, "probability", 0, 1)
        high = self.largest
        if high == math.inf:
            # Outcomes that rule a symbol out leak without limit, and whoever joins them keeps that.
            if self._kernel.unlimited > Fraction(share):
                return math.inf
            high = 1.0
            while self._kernel.point(high).at_most > share:
                high *= 2
                if high > _HIGHEST:
                    return math.inf
        low = 0.0
        if self._kernel.point(low).at_most <= share:
            return low
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            if self._kernel.point(middle).at_most <= share:
                high = middle
            else:
                low = middle
            if high - low <= 1e-9 * high:
                break
        return high

    def __repr__(self) -> str:
        kind = "Λ" if self.risk_averse else "ℓ"
        return (
            f"<LeakageEnvelope of {kind}: {counted(len(self.points), 'level')} "
            f"up to {self.levels.max():.4g}, largest leakage {self.largest:.4g}>"
        )


def leakage_envelope(
    mechanism: Any,
    prior: Any,
    levels: Iterable[float] | float | None = None,
    *,
    risk_averse: bool = False,
) -> LeakageEnvelope:
    """How likely an outcome leaks at least a level, whatever is done to the reports afterwards.

    Parameters
    ----------
    mechanism : Mechanism, design or ``(N, M)`` matrix
    prior : Prior or N probabilities
    levels : levels in nats, optional
        A curve when left out: equally spaced from 0 to the largest leakage (to 10 where that is
        infinite), and on both sides of the leakages of up to 50 outcomes, where it may jump.
    risk_averse : bool
        Ask for Λ(X→y) = log q/min K (what PMC bounds) in place of ℓ(X→y) = log max K/q (PML).

    Returns
    -------
    LeakageEnvelope
        For each level the probability with a proof from both sides, and the post-processing.

    Raises
    ------
    LevelError
        For levels that are no numbers of at least 0.
    KernelError
        For a prior over other symbols.

    Examples
    --------
    Of reports that leak .5 with probability .23, others may make some that do with .37:

    >>> import mechdesign as md
    >>> m = md.Mechanism([[.5, .3, .2], [.1, .6, .3], [.2, .3, .5]])
    >>> point = md.leakage_envelope(m, [.2, .3, .5], .5).points[0]
    >>> round(point.before, 4), round(point.at_least, 4), round(point.at_most, 4)
    (0.23, 0.3673, 0.3673)
    """
    mechanism, prior = matched(mechanism, prior)
    risk_averse = bool(risk_averse)
    if levels is None:
        chosen = _curve(mechanism, prior, risk_averse)
    elif isinstance(levels, (int, float, np.number)):
        chosen = [_level(levels)]
    else:
        chosen = sorted(_level(v) for v in listed(levels, "levels", "numbers", LevelError))
        if not chosen:
            raise LevelError(
                "levels of an envelope",
                expected="at least one number",
                got="none",
                remedy="leave levels out for a curve up to the largest leakage",
            )
    return LeakageEnvelope(mechanism, prior, chosen, risk_averse)


def _level(value: Any) -> float:
    return number(value, "level of an envelope", 0, _HIGHEST)


def _curve(mechanism: Mechanism, prior: Prior, risk_averse: bool) -> list[float]:
    """Levels that show the whole curve."""
    found = outcome_leakage(mechanism, prior, risk_averse=risk_averse)
    found = np.unique(np.maximum(found[mechanism.output_distribution(prior) > 0], 0.0))
    top = float(found[-1]) if found[-1] < math.inf else 10.0
    jumps = found[found <= top][-_JUMPS:]
    # Of leakages that differ by rounding alone the least and the largest.
    apart = np.diff(jumps) > _ROUNDING * jumps[1:]
    first, last = np.ones(len(jumps), dtype=bool), np.ones(len(jumps), dtype=bool)
    first[1:], last[:-1] = apart, apart
    beside = np.concatenate([jumps[first] * (1 - _BESIDE), jumps[last] * (1 + _BESIDE)])
    levels = np.concatenate([np.linspace(0, top, _LEVELS), beside[beside <= top]])
    return [float(level) for level in np.unique(levels)]


class _Kernel:
    """A kernel without symbols of zero mass and outcomes of zero probability, as integers.

    Probabilities are K = rows/one and q = masses/(one · total).
    """

    def __init__(self, mechanism: Mechanism, prior: Prior, risk_averse: bool) -> None:
        self.outputs = mechanism.outputs
        self.symbols = prior.support.tolist()
        self.inputs = [mechanism.inputs[x] for x in self.symbols]
        weights, self.one = integer_rows(mechanism, self.symbols)
        self.total = sum(prior.weights)
        masses = dot([prior.weights[x] for x in self.symbols], weights)
        self.live = [y for y, mass in enumerate(masses) if mass]
        self.masses = np.array([int(masses[y]) for y in self.live], dtype=object)
        self.rows = np.array([[int(row[y]) for y in self.live] for row in weights], dtype=object)
        self.risk_averse = risk_averse
        self.largest = self._largest()

    def _largest(self) -> float:
        """The largest leakage of an outcome, rounded up."""
        best = Fraction(1)
        for y, mass in enumerate(self.masses):
            column = [row[y] for row in self.rows]
            if self.risk_averse:
                if not min(column):
                    return math.inf
                best = max(best, Fraction(mass, min(column) * self.total))
            else:
                best = max(best, Fraction(max(column) * self.total, mass))
        return log_upper(best)

    @property
    def unlimited(self) -> Fraction:
        """The probability of outcomes that some symbol never makes."""
        found = (m for y, m in enumerate(self.masses) if any(not row[y] for row in self.rows))
        return Fraction(sum(found), self.one * self.total)

    def closed(self, level: float) -> float | None:
        """The envelope at a level by a formula, rounded to nearest."""
        rows = [[Fraction(k, self.one) for k in row] for row in self.rows]
        masses = [Fraction(mass, self.one * self.total) for mass in self.masses]
        factor = exp_bounds(level)[0]
        found = closed_envelope(rows, masses, factor, risk_averse=self.risk_averse)
        return None if found is None else float(found)

    def sides(self, factor: Fraction) -> Integers:
        """K − e q for each symbol and outcome, or q − e K, ``(N, M)`` integers: times ``one ·
        total`` and the denominator of the factor.
        """
        above, below = factor.numerator, factor.denominator
        if self.risk_averse:
            return np.asarray(below * self.masses - above * self.total * self.rows)
        return np.asarray(below * self.total * self.rows - above * self.masses)

    def point(self, level: float) -> EnvelopePoint:
        """The envelope at a level."""
        lower, upper = exp_bounds(level)
        generous, strict = self.sides(lower), self.sides(upper)
        whole = self.one * self.total
        if (generous < 0).all():
            # Above the largest leakage no joining of outcomes reaches the level.
            none = np.zeros(self.rows.shape, dtype=object)
            return EnvelopePoint(level, 0.0, 0.0, 0.0, self._channel(none))
        alone = Fraction(int(self.masses[(strict >= 0).any(axis=0)].sum()), whole)
        proved, shares, reached = Fraction(1), self._as_they_are(strict), alone
        if alone < 1:  # else every outcome leaks as much, and nothing is left to be joined
            found, multipliers = self._solve(generous, lower.denominator)
            proved = min(proved, self._bound(generous, lower.denominator, multipliers))
            joined = _feasible(found, strict)
            attained = Fraction(int((joined.sum(axis=0) * self.masses).sum()), whole * _ONE)
            if attained >= alone:  # else the solver's answer is no better than doing nothing
                shares, reached = joined, attained
        return EnvelopePoint(
            level,
            float_at_least(max(proved, reached)),
            float_at_most(reached) + 0.0,
            float_at_most(alone) + 0.0,
            self._channel(shares),
        )

    def _solve(self, sides: Integers, scale: int) -> tuple[Array, Array]:
        """Shares w and multipliers t by HiGHS; not trusted."""
        from scipy import sparse

        n, m = sides.shape
        whole = self.one * self.total
        q = np.array([mass / whole for mass in self.masses])
        ratio = (sides / (scale * self.masses)).astype(float)
        largest = np.maximum(np.abs(ratio).max(axis=1), 1e-300)
        # Variables are the masses v = w q, symbol by symbol, so that no entry is as small as a rare
        # outcome. A row for each outcome, then one for each symbol.
        places = np.arange(n * m)
        matrix = sparse.csr_array(
            (
                np.concatenate([np.ones(n * m), (ratio / largest[:, None]).ravel()]),
                np.concatenate([places.reshape(n, m).T.ravel(), places]),
                np.concatenate([n * np.arange(m), n * m + m * np.arange(n + 1)]),
            ),
            shape=(m + n, n * m),
        )
        model = Model()
        model.load(
            np.ones(n * m),
            matrix,
            np.concatenate([np.full(m, -np.inf), np.zeros(n)]),
            np.concatenate([q, np.full(n, np.inf)]),
        )
        found = model.run("simplex")
        if found.point is None or found.duals is None:
            # Nothing is lost but tightness: the bound is 1 and the reports stay as they are.
            return np.zeros((n, m)), np.zeros(n)
        shares = np.clip(found.point.reshape(n, m) / q, 0, 1)
        return shares, np.maximum(-found.duals[m:], 0) / largest

    def _bound(self, sides: Integers, scale: int, multipliers: Array) -> Fraction:
        """The bound by any multipliers, which are rounded to whole parts of their largest."""
        unit = 1 << _MULTIPLIER_BITS
        top = Fraction(float(multipliers.max()))
        if not top:
            return Fraction(1)
        whole = np.array(
            [int(Fraction(t) / top * unit) for t in multipliers.tolist()], dtype=object
        )
        # All times scale · unit / top.
        one = Fraction(scale * unit) / top
        parts = (whole[:, None] * sides).max(axis=0)
        total = sum(
            max(one * mass + part, Fraction(0))
            for mass, part in zip(self.masses.tolist(), parts.tolist(), strict=True)
        )
        return Fraction(total) / (one * self.one * self.total)

    def _as_they_are(self, sides: Integers) -> Integers:
        """Each outcome that leaks as much by itself, for the first symbol that it does about."""
        shares = np.zeros(sides.shape, dtype=object)
        good = sides >= 0
        live = np.flatnonzero(good.any(axis=0))
        shares[good.argmax(axis=0)[live], live] = _ONE
        return shares

    def _channel(self, shares: Integers) -> Mechanism:
        """The post-processing: an outcome for each symbol that has a share, and the rest."""
        used = np.flatnonzero(shares.any(axis=1)).tolist()
        rows = np.zeros((len(self.outputs), len(used) + 1), dtype=object)
        rows[self.live, :-1] = shares[used].T
        rows[:, -1] = _ONE - rows[:, :-1].sum(axis=1)
        names = [("about", self.inputs[x]) for x in used]
        return Mechanism.from_weights(rows, _BITS, self.outputs, [*names, ("rest", None)])


def _feasible(shares: Array, sides: Integers) -> Integers:
    """Shares over 2**64 that satisfy every row exactly.

    All are rounded down, and those of outcomes that speak against their symbol are reduced.
    """
    scaled = (shares * float(_ONE)).tolist()
    exact = np.array([[int(v) for v in row] for row in scaled], dtype=object)
    totals = exact.sum(axis=0)
    for y in np.flatnonzero(totals > _ONE):
        exact[:, y] = exact[:, y] * _ONE // totals[y]
    products = exact * sides
    good, bad = (np.where(side, products, 0).sum(axis=1) for side in (sides > 0, sides < 0))
    for x in np.flatnonzero(-bad > good):
        row = exact[x]
        exact[x] = np.where(sides[x] < 0, row * good[x] // -bad[x], row)
    return exact

"""Pointwise maximal leakage for every prior of a set, for priors that are not known exactly."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np

from ..errors import LevelError, PriorError, is_iterable, quote
from ..exact import fraction
from ..labels import Label, counted, tidy
from ..prior import Prior
from .constraint import Array, Bound, Hypotheses
from .notion import LikelihoodBound
from .prior_sets import Ball, Box, checked_priors, masses_over


@dataclass(frozen=True)
class RobustPML(LikelihoodBound):
    """(ε, 𝒫)-PML: P(x|y)/P(x) ≤ e^ε for every x, every outcome y and every prior in a set 𝒫.

    Parameters
    ----------
    epsilon : float
        Level in nats.
    priors : list of Prior
        The vertices of 𝒫: the guarantee holds for all their mixtures. For other sets use
        :meth:`floor`, :meth:`box`, :meth:`ball` or :meth:`from_counts`.

    Notes
    -----
    K[x,y] ≤ e^ε Σ p_x' K[x',y] is linear in p, so it holds on 𝒫 when it holds at its vertices.
    Boxes and balls have too many of them; there the smallest Σ p k is compiled by duality and
    checked exactly by sorting. A symbol counts when some prior of 𝒫 gives it mass.
    The prior of the design only weighs the utility; it may lie outside 𝒫. Source:
    [SaeidianDisclosure] Definition 2.6.

    Examples
    --------
    >>> import mechdesign as md
    >>> counts = {"a": 500, "b": 300, "c": 200}
    >>> robust = md.RobustPML.from_counts(1, counts, confidence=.95)
    >>> found = md.design(md.Prior.from_counts(counts), md.utility.Hamming(), robust)
    >>> md.audit(found.mechanism, md.Prior([.52, .29, .19], ["a", "b", "c"])).pml <= 1
    True
    """

    epsilon: float
    priors: Any
    needs: ClassVar = ("priors",)
    references: ClassVar = ("SaeidianDisclosure", "Weissman2003")
    promise = (
        "For every prior of the set: whatever an adversary is after, no report multiplies what "
        "they can expect by more than {factor}. Nothing is asked of how "
        "unlikely a value may become."
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "priors", _checked_set(self.priors))

    def __str__(self) -> str:
        kind, *numbers = self.priors
        told = {
            "vertices": lambda: counted(len(numbers[0]), "vertex", "vertices"),
            "floor": lambda: f"no mass below {float(numbers[0]):.6g}",
            "box": lambda: f"ranges of {counted(len(numbers[0]), 'mass', 'masses')}",
            "ball": lambda: f"ball of radius {float(numbers[1]):.6g}",
        }
        return f"{self.title[:-1]}, {told[kind]()})"

    @classmethod
    def floor(cls, epsilon: float, least: float) -> Self:
        """Every prior with p_x ≥ ``least`` for all x; at 0, every prior, which is LDP."""
        return cls(epsilon, ("floor", least))

    @classmethod
    def box(cls, epsilon: float, ranges: Mapping[Label, tuple[float, float]]) -> Self:
        """Every prior with low ≤ p_x ≤ high, from ``{label: (low, high)}``."""
        if not hasattr(ranges, "items"):
            raise _no_mapping("box of priors", "{label: (low, high)}", ranges)
        return cls(epsilon, ("box", tuple((x, *_two(pair, x)) for x, pair in ranges.items())))

    @classmethod
    def ball(cls, epsilon: float, centre: Prior, radius: float) -> Self:
        """Every prior with Σ |p_x − centre_x| ≤ ``radius``."""
        return cls(epsilon, ("ball", centre, radius))

    @classmethod
    def from_counts(cls, epsilon: float, counts: Any, confidence: float = 0.95) -> Self:
        """The ball around observed frequencies that holds the true prior with a confidence.

        Parameters
        ----------
        counts : mapping or series of counts of n independent draws of the secret
            Labels that were possible but not observed need a count of 0.
        confidence : float
            With at least this probability over the draws, :func:`confidence_radius` is large enough
            and the guarantee is one for the true prior, whatever it is.
        """
        if not hasattr(counts, "items"):
            raise _no_mapping("counts", "{label: count}", counts)
        entries = dict(counts.items())
        numbers = list(entries.values())
        for value in numbers:
            if not _is_number(value, math.inf) or fraction(value) != int(value):
                raise PriorError(
                    "counts",
                    expected="whole numbers of draws",
                    got=quote(value),
                    remedy="give counts, not frequencies: the confidence depends on how many",
                )
        total = int(sum(numbers))
        radius = confidence_radius(total, len(numbers), confidence)
        centre = tuple((tidy(x), Fraction(int(c), total)) for x, c in entries.items())
        return cls(epsilon, ("ball", centre, radius))

    covers_zero_mass = True

    def bounds(self, prior: Prior) -> list[Bound]:
        """(δ_x, p) for every x that counts and every p of the set."""
        under, counting = self._set(prior)
        return [Bound(Hypotheses.points(prior, counting), under, self.epsilon)]

    def _set(self, prior: Prior) -> tuple[Hypotheses, list[int]]:
        """The set over the symbols of a prior, and the positions it gives mass to."""
        kind = self.priors[0]
        n = len(prior)
        if kind == "vertices":
            rows = masses_over(self.priors[1], prior)
            counting = [x for x in range(n) if any(row[x] for row in rows)]
            names = [f"vertex {i}" for i in range(len(rows))]
            return Hypotheses.mixtures(rows, names), counting
        if kind == "ball":
            (centre,) = masses_over((self.priors[1],), prior)
            distance = fraction(self.priors[2]) / 2
            low = [max(c - distance, Fraction(0)) for c in centre]
            high = [min(c + distance, Fraction(1)) for c in centre]
        else:
            low, high = self._ranges(prior)
            centre, distance = [], Fraction(0)
            rest = 1 - sum(low, Fraction(0))
            high = [min(h, v + rest) for v, h in zip(low, high, strict=True)]
        counting = [x for x in range(n) if high[x] > 0]
        if n <= 2:
            # An interval: two vertices.
            ends = [Fraction(1)]
            if n == 2:
                ends = [min(high[0], 1 - low[1]), max(low[0], 1 - high[1])]
            rows = [[v, 1 - v][:n] for v in ends]
            return Hypotheses.mixtures(rows, ["an end of the set"] * len(rows)), counting
        if kind == "ball":
            return Ball(centre, distance, "the ball of priors"), counting
        return Box(low, high, "the set of priors"), counting

    def _ranges(self, prior: Prior) -> tuple[list[Fraction], list[Fraction]]:
        n = len(prior)
        if self.priors[0] == "floor":
            low, high = [fraction(self.priors[1])] * n, [Fraction(1)] * n
        else:
            known = {x: (fraction(a), fraction(b)) for x, a, b in self.priors[1]}
            absent = [x for x in prior.labels if x not in known]
            if absent or len(known) != n:
                raise PriorError(
                    "box of priors",
                    expected=f"a range for each of the {n} symbols",
                    got=f"none for {quote(absent[0])}" if absent else f"{len(known)} ranges",
                    remedy="use the labels of the prior",
                )
            low = [known[x][0] for x in prior.labels]
            high = [known[x][1] for x in prior.labels]
        if sum(low) > 1 or sum(high) < 1:
            raise PriorError(
                "set of priors",
                expected="lower bounds that sum to at most 1, and upper ones to at least 1",
                got=f"sums {float(sum(low)):.6g} and {float(sum(high)):.6g}",
                remedy="widen the ranges; the set holds no prior",
            )
        return low, high

    def leakage(self, kernel: Array, prior: Prior) -> Array:
        """Largest log lift over the symbols and priors of the set, an ``(M,)`` array in nats."""
        least = self._least(kernel, prior)
        _, counting = self._set(prior)
        top = kernel[counting].max(axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            log = np.where(top > 0, np.log(top) - np.log(np.maximum(least, 0.0)), 0.0)
        return np.maximum(log, 0.0)

    def _least(self, kernel: Array, prior: Prior) -> Array:
        """Min pᵀK over the set by its dual, whose optimum is at one of the entries, ``(M,)``."""
        kind = self.priors[0]
        if kind == "vertices":
            rows = np.array(masses_over(self.priors[1], prior), dtype=float)
            return np.asarray((rows @ kernel).min(axis=0))
        if kind == "ball":
            centre = np.array(masses_over((self.priors[1],), prior)[0], dtype=float)
            distance = min(float(self.priors[2]) / 2, 1.0)
            rise = kernel - kernel.min(axis=0)
            taken = np.min(
                [t * distance + centre @ np.maximum(rise - t, 0.0) for t in rise], axis=0
            )
            return np.asarray(centre @ kernel - taken)
        low, high = (np.array(v, dtype=float) for v in self._ranges(prior))
        values = [
            low @ kernel + t * (1 - low.sum()) - (high - low) @ np.maximum(t - kernel, 0.0)
            for t in kernel
        ]
        return np.max(values, axis=0)


def confidence_radius(draws: int, symbols: int, confidence: float) -> float:
    """An r with P(Σ |p̂_x − p_x| ≤ r) ≥ ``confidence`` for n independent draws of N symbols.

    r = √(2 log((2^N − 2)/(1 − confidence))/n), from P(Σ |p̂ − p| ≥ r) ≤ (2^N − 2) e^{−n r²/2}: half
    the distance is the largest deviation over events, of which 2^N − 2 are not trivial, and each
    deviates by r/2 with probability at most e^{−n r²/2} by Hoeffding's inequality
    ([Weissman2003] Theorem 2.1). Never above 2, the distance of any two priors.

    Raises :class:`LevelError` for a confidence outside (0, 1) or no draws.

    >>> round(confidence_radius(10_000, 4, .95), 4)
    0.0336
    """
    good = isinstance(confidence, (int, float)) and 0 < confidence < 1
    if not good or draws < 1 or symbols < 1:
        raise LevelError(
            "confidence radius",
            expected="a confidence between 0 and 1, at least one draw and one symbol",
            got=f"confidence {quote(confidence)}, {draws} draws of {symbols} symbols",
            remedy="give for example confidence=0.95",
        )
    if symbols == 1:
        return 0.0
    # log(2^N − 2) without overflow; rounded up at the end.
    events = symbols * math.log(2) + math.log1p(-(2.0 ** (1 - symbols)))
    radius = math.sqrt(2 * (events - math.log1p(-confidence)) / draws)
    return min(radius * (1 + 1e-12), 2.0)


def _no_mapping(subject: str, form: str, given: Any) -> PriorError:
    return PriorError(
        subject,
        expected=f"a mapping {form}",
        got=quote(given),
        remedy="name each symbol by its label",
    )


def _two(pair: Any, label: Any) -> tuple[Any, Any]:
    try:
        low, high = pair
        if not 0 <= fraction(low) <= fraction(high) <= 1:
            raise ValueError
    except (TypeError, ValueError, OverflowError):
        raise PriorError(
            "range of a mass",
            expected="two numbers 0 ≤ low ≤ high ≤ 1",
            got=f"{quote(pair)} for {quote(label)}",
            remedy="write {label: (low, high)}",
        ) from None
    return low, high


def _checked_set(priors: Any) -> Any:
    """A set of priors as data: a tag and its numbers."""
    if isinstance(priors, (Prior, str)) or callable(priors) or not is_iterable(priors):
        if isinstance(priors, Prior):
            return ("vertices", checked_priors(priors))
        raise PriorError(
            "set of priors",
            expected="a list of Prior, the vertices",
            got=quote(priors),
            remedy="or use RobustPML.floor, .box, .ball or .from_counts",
        )
    content = tuple(priors)
    named = bool(content) and isinstance(content[0], str)
    kind = content[0] if named else "vertices"
    if kind == "vertices":
        listed = content[1] if named and len(content) > 1 else content
        return ("vertices", checked_priors(listed))
    if kind == "floor":
        (least,) = _numbers(content[1:], "least mass of a set of priors", 1)
        return ("floor", least)
    if kind == "ball":
        (radius,) = _numbers(content[2:], "radius of a ball of priors", 2)
        return ("ball", checked_priors([content[1]])[0], radius)
    try:
        ranges = [(tidy(x), a, b) for x, a, b in content[1]]
    except (TypeError, ValueError, IndexError):
        raise PriorError(
            "set of priors",
            expected="a list of Prior, the vertices",
            got=quote(priors),
            remedy="or use RobustPML.floor, .box, .ball or .from_counts",
        ) from None
    return ("box", tuple((x, *_two((a, b), x)) for x, a, b in ranges))


def _numbers(values: tuple[Any, ...], subject: str, most: float) -> tuple[Any, ...]:
    for value in values:
        if not _is_number(value, most):
            raise PriorError(
                subject,
                expected=f"a number from 0 to {most:g}",
                got=quote(value),
                remedy="correct it",
            )
    return tuple(tidy(value) for value in values)


def _is_number(value: Any, most: float) -> bool:
    """Whether a value is a number from zero to some other; ``True`` is none."""
    try:
        return not isinstance(value, bool) and bool(0 <= fraction(value) <= most)
    except (TypeError, ValueError, OverflowError):
        return False

"""Bounds that hold with equality: what they say of a prior, in floats."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ..mechanism import Mechanism
from ..prior import Prior
from .constraint import Bound
from .prior_sets import PriorSet

Array = NDArray[np.float64]
#: How far a bound may be from equality to bind, as a share.
_BINDS = 1e-6
# Exponents that floats hold.
_LARGEST = 700.0


def bounds_that_bind(
    find: Callable[[Prior], list[Bound]], mechanism: Mechanism, prior: Prior
) -> Callable[[Prior], Array]:
    """By how much bounds on ratios of likelihoods that bind at a prior are missed at another."""
    pairs = [
        (b, *where)
        for b, bound in enumerate(find(prior))
        for where in _binding_pairs(bound, mechanism.kernel)
    ]
    return partial(_ratios, find, mechanism.kernel, pairs)


def _factors(bound: Bound) -> Array:
    """What likelihood ratios are at most: of each matched pair, or one for all."""
    scales = np.array([1.0] if bound.scales is None else [float(s) for s in bound.scales])
    return np.asarray(np.exp(np.minimum(bound.epsilon * scales, _LARGEST)))


def _binding_pairs(bound: Bound, kernel: Array) -> list[tuple[int, int, int]]:
    """Hypotheses i over j whose likelihoods at output y are as far apart as they may be.

    Point masses and sets of priors are the same for every prior: one of those that agree is named.
    """
    sides = bound.over, bound.under
    fixed = [side.indices is not None or isinstance(side, PriorSet) for side in sides]
    if bound.is_vacuous or all(fixed):
        return []
    over, under = bound.over.of_kernel(kernel), bound.under.of_kernel(kernel)
    factors, found = _factors(bound), []
    for y in np.flatnonzero(kernel.any(axis=0)).tolist():
        high, low = over[:, y], under[:, y]
        if bound.pairing == "matched":
            near = np.flatnonzero((high > 0) & (high >= factors * low * (1 - _BINDS)))
            found += [(i, i, y) for i in near.tolist()]
            continue
        i, j = int(high.argmax()), int(low.argmin())
        if high[i] < factors[0] * low[j] * (1 - _BINDS):
            continue
        tops = [i] if fixed[0] else np.flatnonzero(high >= high[i] * (1 - _BINDS)).tolist()
        lows = [j] if fixed[1] else np.flatnonzero(low <= low[j] * (1 + _BINDS)).tolist()
        found += [(a, j, y) for a in tops] + [(i, b, y) for b in lows if b != j]
    return found


def _ratios(
    find: Callable[[Prior], list[Bound]],
    kernel: Array,
    pairs: Sequence[tuple[int, int, int, int]],
    prior: Prior,
) -> Array:
    """By how much likelihood ratios miss their bounds, relatively."""
    bounds = find(prior)
    used = {b for b, *_ in pairs}
    sides = {
        b: (
            bounds[b].over.of_kernel(kernel),
            bounds[b].under.of_kernel(kernel),
            _factors(bounds[b]),
        )
        for b in used
    }
    found = []
    for b, i, j, y in pairs:
        over, under, factors = sides[b]
        found.append(over[i, y] / (factors[i % len(factors)] * under[j, y]) - 1)
    return np.array(found)

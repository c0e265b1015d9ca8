"""The most that two kernels both tell: the greatest kernel below both in the order of Blackwell.

A kernel that can be made from the reports of A and from those of B is below both. Among these there
need not be a greatest one: for three symbols and more the order of Blackwell is no lattice
([MullerScarsini2006], [BertschingerRauh2014]). There is one

* where one kernel is a post-processing of the other: the worse of the two;
* where every report says for certain in which class of a partition the secret is, for each of the
  kernels a partition of its own. Whatever both can make is constant on the classes of either, so
  on those of the finest partition that is coarser than both, and that partition is the meet: what
  is common to both ([GacsKorner1973]);
* where a prior leaves two symbols. A kernel is then as good as its curve of tests, the largest
  power at each size, and reports of one make those of another where its curve is nowhere below
  ([Blackwell1953]). The lower of two curves is concave, so it is the curve of a kernel, and that
  kernel is the meet.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np

from ..errors import KernelError
from ..labels import counted, told_shape
from ..mechanism import Mechanism, as_mechanism
from ..prior import Prior
from ._refines import Refinement, Rows, refines, same_inputs

_BITS = 64
Point = tuple[Fraction, Fraction]
N = TypeVar("N", int, Fraction)


@dataclass(frozen=True, eq=False)
class Meet:
    """The greatest kernel that the reports of two kernels can both be made into.

    Attributes
    ----------
    kernel : over the symbols of positive mass
    from_first, from_second : the post-processings, with their proofs
    reason : why there is a greatest one
    """

    kernel: Mechanism
    from_first: Refinement
    from_second: Refinement
    reason: str

    def __str__(self) -> str:
        shape = told_shape(self.kernel.shape)
        return f"a kernel of {shape} is the most that both tell: {self.reason}"


def meet(first: Any, second: Any, prior: Prior | None = None) -> Meet:
    """The most that both kernels tell: the greatest one that can be made from either.

    Parameters
    ----------
    first, second : Mechanisms, designs or matrices over the same inputs
    prior : Prior, optional
        Only symbols of positive mass count; what its masses are does not matter.

    Returns
    -------
    Meet
        The kernel, and the post-processing of each of the two that makes it, up to 1e-9 in total
        variation.

    Raises
    ------
    KernelError
        For kernels over other inputs, and where no greatest kernel is known: three symbols and
        more, neither kernel above the other, and not both partitions. In general there is none.

    Notes
    -----
    [Blackwell1953]; [MullerScarsini2006]; [BertschingerRauh2014]; [GacsKorner1973].

    Examples
    --------
    An erasure and a flip, neither of which can be made from the other:

    >>> import mechdesign as md
    >>> both = md.meet([[.5, 0, .5], [0, .5, .5]], [[.8, .2], [.2, .8]])
    >>> print(both.kernel.kernel.round(4))
    [[0.6667 0.1667 0.1667]
     [0.1667 0.1667 0.6667]]
    """
    one, two, used = same_inputs(first, second, prior)
    labels = tuple(as_mechanism(first).inputs[x] for x in used)
    kernels = _over(one, labels), _over(two, labels)
    for below, above in (kernels, kernels[::-1]):
        if refines(above, below):
            return _made(kernels, below, "one kernel is a post-processing of the other")
    if len(used) == 2:
        return _made(kernels, _lower(one, two, labels), "two symbols have mass")
    mine, others = _classes(one), _classes(two)
    if mine is None or others is None:
        raise KernelError(
            "meet of two kernels",
            expected="two symbols of positive mass, two partitions, or one kernel that is a "
            "post-processing of the other; in general no kernel below both is above all others",
            got=f"{counted(len(used), 'symbol')} and neither",
            remedy="pass a prior on two symbols, or compare the kernels for one utility",
        )
    common = _common(mine, others)
    columns = np.array([[int(x in part) for part in common] for x in range(len(used))])
    return _made(kernels, Mechanism(columns, labels), "both kernels are partitions")


def _over(rows: Rows, labels: tuple[Any, ...]) -> Mechanism:
    weights, one = rows
    return Mechanism(
        np.array([[int(v) / one for v in row] for row in weights.tolist()]), inputs=labels
    )


def _made(kernels: tuple[Mechanism, Mechanism], kernel: Mechanism, reason: str) -> Meet:
    return Meet(kernel, refines(kernels[0], kernel), refines(kernels[1], kernel), reason)


# Two symbols


def _lower(one: Rows, two: Rows, labels: tuple[Any, ...]) -> Mechanism:
    """The kernel of the lower of two curves of tests, rounded downwards to 2**-64."""
    curves = [_curve(rows) for rows in (one, two)]
    points = {point for curve in curves for point in curve} | set(_crossings(*curves))
    sizes = sorted({size for size, _ in points})
    lower = [(size, min(_power(curve, size) for curve in curves)) for size in sizes]
    unit = 1 << _BITS
    # Larger sizes and less power stay below both curves.
    corners = _hull([(Fraction(0), Fraction(0)), *lower])
    rounded = [(math.ceil(size * unit), math.floor(power * unit)) for size, power in corners]
    return _kernel_of(_hull([(0, 0), *rounded, (unit, unit)]), labels)


def _curve(rows: Rows) -> list[Point]:
    """Corners (size, power) of the best tests, sizes under the second symbol, in rising order."""
    weights, one = rows
    columns = [(int(b), int(a)) for a, b in zip(*weights.tolist(), strict=True) if a or b]
    columns.sort(key=lambda c: Fraction(c[1], c[0] + c[1]), reverse=True)
    size = power = 0
    corners = [(Fraction(0), Fraction(0))]
    for b, a in columns:
        size, power = size + b, power + a
        corners.append((Fraction(size, one), Fraction(power, one)))
    return corners


def _power(curve: Sequence[Point], size: Fraction) -> Fraction:
    """The largest power at a size."""
    best = Fraction(0)
    for (s, p), (t, q) in pairwise(curve):
        if s <= size <= t:
            best = max(best, q if s == t else p + (q - p) * (size - s) / (t - s))
    return best


def _crossings(first: Sequence[Point], second: Sequence[Point]) -> list[Point]:
    """Points in which two curves cross between corners."""
    sizes = sorted({size for curve in (first, second) for size, _ in curve})
    found = []
    for s, t in pairwise(sizes):
        # Both curves are affine on the open interval, and concave, so continuous inside it.
        ends = []
        for curve in (first, second):
            middle = _power(curve, (s + t) / 2)
            third = _power(curve, s + (t - s) / 3)
            slope = (middle - third) / ((t - s) / 6)
            ends.append((middle - slope * (t - s) / 2, slope))
        (p, a), (q, b) = ends
        if a != b and 0 < (q - p) / (a - b) < t - s:
            at = s + (q - p) / (a - b)
            found.append((at, p + a * (at - s)))
    return found


def _hull(points: Sequence[tuple[N, N]]) -> list[tuple[N, N]]:
    """The least concave curve through or above points, by its corners."""
    found: list[tuple[N, N]] = []
    for x, y in sorted(set(points)):
        while len(found) > 1:
            (a, b), (c, d) = found[-2:]
            if (c - a) * (y - b) < (d - b) * (x - a):
                break
            found.pop()
        found.append((x, y))
    return found


def _kernel_of(corners: Sequence[tuple[int, int]], labels: tuple[Any, ...]) -> Mechanism:
    steps = [(q - p, t - s) for (s, p), (t, q) in pairwise(corners)]
    weights = np.array([[a for a, _ in steps], [b for _, b in steps]], dtype=object)
    return Mechanism.from_weights(weights, _BITS, labels, list(range(len(steps))))


# Partitions


def _classes(rows: Rows) -> list[set[int]] | None:
    """The partition that a kernel tells for certain and nothing else, ``None`` for others."""
    weights = rows[0].tolist()
    found: list[set[int]] = []
    for x, row in enumerate(weights):
        for part in found:
            other = weights[min(part)]
            if row == other:
                part.add(x)
                break
            if any(a and b for a, b in zip(row, other, strict=True)):
                return None
        else:
            found.append({x})
    return found


def _common(first: Sequence[set[int]], second: Sequence[set[int]]) -> list[set[int]]:
    """The finest partition that is coarser than both."""
    found: list[set[int]] = []
    for part in (*first, *second):
        touching = [other for other in found if other & part]
        found = [other for other in found if not other & part]
        found.append(part.union(*touching))
    return sorted(found, key=min)

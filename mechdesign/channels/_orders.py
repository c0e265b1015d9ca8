"""Two orders that are weaker than that of Blackwell: less noisy and more capable.

A is less noisy than B when I(U;Y_A) ≥ I(U;Y_B) for every U − X − Y, and more capable when
I(X;Y_A) ≥ I(X;Y_B) for every prior ([KornerMarton1977]). A post-processing is worse in both, and
less noisy implies more capable; neither turns round.

Less noisy is the order of matrices J_A(p) ⪰ J_B(p) at every prior p of full support, with
J_K(p) = K diag(1/pᵀK) Kᵀ ([MakurPolyanskiy2018]), and as both take p to the same vector it is
enough to look at directions that sum to zero. A prior and a direction v with vᵀJ_A v < vᵀJ_B v
prove that it fails. That it holds is proved by pieces of the simplex: on a piece J_A is at least
what it is at the largest pᵀA there, J_B at most what it is at the smallest pᵀB.

More capable compares two concave functions of p: on a piece the first is at least its chord, the
second at most a tangent.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import KernelError
from ..exact import Verdict
from ..labels import counted
from ..mechanism import as_mechanism
from ..prior import Prior
from ..theory.leakage import quiet_prior
from ..theory.validation import number, whole
from ._refines import Rows, refines, same_inputs

Array = NDArray[np.float64]
Point = tuple[Fraction, ...]
#: A piece of the simplex by its corners.
Piece = tuple[Point, ...]

_MOST_SYMBOLS = 8
# Rounding of informations in floats, generously: they are sums of a few hundred terms below 10.
_SLACK = 1e-12
_STARTS = 100


@dataclass(frozen=True, eq=False)
class ChannelOrder:
    """Whether one kernel is above another in an order, with what proves it.

    Attributes
    ----------
    verdict : yes, no, or undecided where the limit on pieces was reached
    order : "less noisy" or "more capable"
    prior : where it fails, ``None`` unless the verdict is no
    direction : with ``prior``, of "less noisy": v with vᵀ(J_A − J_B)v < 0, summing to zero; or
        ``None`` where the first is not even more capable
    excess : with ``prior``, by how much the second is ahead: −vᵀ(J_A − J_B)v, exact and rounded, or
        without a direction I(X;Y_B) − I(X;Y_A) in nats, rounded down
    pieces : into how many the priors were divided; 0 where another order decided
    at_most : where a post-processing decided, how far it is from the second in total variation
    """

    verdict: Verdict
    order: str
    prior: Prior | None
    direction: tuple[float, ...] | None
    excess: float
    pieces: int
    at_most: float = 0.0

    def __bool__(self) -> bool:
        return self.verdict is Verdict.YES

    def __str__(self) -> str:
        if self.verdict is Verdict.YES:
            how = f"by post-processing (up to {self.at_most:.3g} in total variation)"
            if self.pieces:
                how = f"for all priors, in {counted(self.pieces, 'piece')}"
            return f"yes: the first is {self.order}, {how}"
        if self.verdict is Verdict.NO:
            assert self.prior is not None
            at = ", ".join(f"{p:.4g}" for p in self.prior.probabilities)
            return f"no: the first is not {self.order}; the second is ahead at the prior ({at})"
        return f"undecided after {counted(self.pieces, 'piece')}; allow more with limit="


def less_noisy(
    first: Any, second: Any, *, limit: int = 4000, tolerance: float = 1e-9
) -> ChannelOrder:
    """Whether whatever depends on the secret is told at least as well by the first kernel.

    Parameters
    ----------
    first, second : Mechanisms, designs or matrices over the same inputs, at most 8
    limit : int
        On the pieces of the search.
    tolerance : float
        A second that is a post-processing of the first up to this in total variation counts as one,
        as in :func:`refines`; 0 asks for an exact one.

    Returns
    -------
    ChannelOrder
        True in conditions when the answer is yes; both answers are proved in rational numbers, but
        for the informations of a first that is not even more capable. Undecided is likely where the
        second has zeros that the first has not, and where both tell some direction equally well
        without one being a post-processing of the other.

    Raises
    ------
    KernelError
        For kernels over other inputs, or more than 8.

    Notes
    -----
    [KornerMarton1977]; [MakurPolyanskiy2018], Theorem 1. U is any feature of the secret, randomised
    or not.

    Examples
    --------
    An erasure tells more than a flip, though the flip cannot be made of it:

    >>> import mechdesign as md
    >>> erase = [[.55, 0, .45], [0, .55, .45]]
    >>> flip = [[.8, .2], [.2, .8]]
    >>> bool(md.refines(erase, flip)), bool(md.less_noisy(erase, flip))
    (False, True)
    """
    limit = _checked("less noisy", first, second, limit)
    room = number(tolerance, "tolerance", 0, 1)
    made = refines(first, second, tolerance=room)
    if made:
        return ChannelOrder(Verdict.YES, "less noisy", None, None, 0.0, 0, made.at_most)
    one, two, _ = same_inputs(first, second, None)
    found = _search("less noisy", _Noise(one, two), as_mechanism(first).inputs, limit)
    if found.verdict is Verdict.UNDECIDED:
        search = _Information(one, two, 0.0)
        weaker = _search("more capable", search, as_mechanism(first).inputs, limit)
        if weaker.verdict is Verdict.NO:
            return replace(weaker, order="less noisy")
    return found


def more_capable(
    first: Any, second: Any, *, limit: int = 4000, tolerance: float = 1e-9
) -> ChannelOrder:
    """Whether the first kernel has at least the mutual information of the second, for any prior.

    Parameters
    ----------
    first, second : Mechanisms, designs or matrices over the same inputs, at most 8
    limit : int
        On the pieces of the search.
    tolerance : float
        In nats; the second may be ahead by this.

    Returns
    -------
    ChannelOrder
        True in conditions when the answer is yes, as it is where the first is less noisy.

    Raises
    ------
    KernelError
        For kernels over other inputs, or more than 8.

    Notes
    -----
    [KornerMarton1977]. Informations are in floats, with room for their rounding (1e-12 nats).

    Examples
    --------
    >>> import mechdesign as md
    >>> erase, flip = [[.3, 0, .7], [0, .3, .7]], [[.8, .2], [.2, .8]]
    >>> bool(md.more_capable(erase, flip)), bool(md.less_noisy(erase, flip))
    (True, False)
    """
    limit = _checked("more capable", first, second, limit)
    room = number(tolerance, "tolerance", 1e-11, 1)
    made = refines(first, second, tolerance=0)
    one, two, _ = same_inputs(first, second, None)
    if _information_within(made.at_most, len(two[0][0])) <= room:
        return ChannelOrder(Verdict.YES, "more capable", None, None, 0.0, 0, made.at_most)
    labels = as_mechanism(first).inputs
    found = _search("more capable", _Information(one, two, room), labels, limit)
    if found.verdict is Verdict.UNDECIDED:
        stronger = _search("less noisy", _Noise(one, two), labels, limit)
        if stronger:
            return replace(stronger, order="more capable")
    return found


def _information_within(distance: float, outputs: int) -> float:
    """By how much informations differ at most where rows differ by this in total variation.

    An entropy does by δ log(m − 1) + h(δ) at most, by the inequality of Fannes and Audenaert, and
    an information is the difference of two.
    """
    if distance >= 0.5:
        return math.inf
    own = -distance * math.log(distance) if distance else 0.0
    rest = -(1 - distance) * math.log1p(-distance)
    return 2 * (distance * math.log(outputs) + own + rest) * (1 + _SLACK)


def _checked(order: str, first: Any, second: Any, limit: int) -> int:
    one, _, _ = same_inputs(first, second, None)
    most = whole(limit, "limit on pieces", 1, 10**7)
    n = len(one[0])
    if n > _MOST_SYMBOLS:
        raise KernelError(
            f"order: {order}",
            expected=f"at most {_MOST_SYMBOLS} inputs",
            got=str(n),
            remedy="ask md.refines, which is stronger and has no such limit",
        )
    return most


def _search(
    order: str, search: _Noise | _Information, labels: tuple[Any, ...], most: int
) -> ChannelOrder:
    n = len(labels)
    for point in _starts(n):
        failure = search.failure(point)
        if failure is not None:
            return _no(order, labels, point, failure, 0)
    whole_simplex = tuple(tuple(Fraction(int(i == x)) for i in range(n)) for x in range(n))
    pieces: deque[Piece] = deque([whole_simplex])
    done = 0
    while pieces:
        if done >= most:
            return ChannelOrder(Verdict.UNDECIDED, order, None, None, 0.0, done)
        # The largest first, so that a failure anywhere is come upon.
        piece = pieces.popleft()
        done += 1
        if search.holds_on(piece):
            continue
        centre = tuple(sum(v) / len(piece) for v in zip(*piece, strict=True))
        failure = search.failure(centre)
        if failure is not None:
            return _no(order, labels, centre, failure, done)
        pieces.extend(_halves(piece))
    return ChannelOrder(Verdict.YES, order, None, None, 0.0, done)


_Failure = tuple[tuple[float, ...] | None, float]


def _no(
    order: str, labels: tuple[Any, ...], point: Point, failure: _Failure, pieces: int
) -> ChannelOrder:
    prior = quiet_prior(list(point), labels)
    return ChannelOrder(Verdict.NO, order, prior, *failure, pieces)


def _starts(n: int) -> list[Point]:
    """Priors at which a failure is looked for first; fixed, of small denominators."""
    rng = np.random.default_rng(n)
    found = [(1,) * n]
    found += [tuple(int(v) for v in 1 + 100 * rng.dirichlet(np.ones(n))) for _ in range(_STARTS)]
    return [tuple(Fraction(v, sum(row)) for v in row) for row in found]


def _halves(piece: Piece) -> tuple[Piece, Piece]:
    """The two parts on both sides of the middle of the longest edge."""
    size = len(piece)
    pairs = [(i, j) for i in range(size) for j in range(i)]
    i, j = max(
        pairs,
        key=lambda e: sum((a - b) ** 2 for a, b in zip(piece[e[0]], piece[e[1]], strict=True)),
    )
    middle = tuple((a + b) / 2 for a, b in zip(piece[i], piece[j], strict=True))
    return (
        (*piece[:i], middle, *piece[i + 1 :]),
        (*piece[:j], middle, *piece[j + 1 :]),
    )


class _Noise:
    """J_A(p) − J_B(p) on directions e_x − e_0, exact."""

    def __init__(self, one: Rows, two: Rows) -> None:
        self._kernels = [
            [[Fraction(int(v), unit) for v in row] for row in rows.tolist()]
            for rows, unit in (one, two)
        ]

    def _likelihoods(self, which: int, point: Point) -> list[Fraction]:
        columns = zip(*self._kernels[which], strict=True)
        return [sum((p * k for p, k in zip(point, c, strict=True)), Fraction(0)) for c in columns]

    def _matrix(self, which: int, likelihoods: list[Fraction]) -> list[list[Fraction]] | None:
        """Σ_y d_y d_yᵀ/q_y with d_y the differences of column y; ``None`` where one is infinite."""
        rows = self._kernels[which]
        size = len(rows) - 1
        found = [[Fraction(0)] * size for _ in range(size)]
        for y, q in enumerate(likelihoods):
            d = [rows[x + 1][y] - rows[0][y] for x in range(size)]
            if not any(d):
                continue
            if not q:
                return None
            for i in range(size):
                for j in range(i + 1):
                    found[i][j] += d[i] * d[j] / q
        return found

    def _difference(self, top: list[Fraction], low: list[Fraction]) -> list[list[Fraction]] | None:
        a, b = self._matrix(0, top), self._matrix(1, low)
        if a is None or b is None:
            return None
        return [[u - v for u, v in zip(r, s, strict=True)] for r, s in zip(a, b, strict=True)]

    def holds_on(self, piece: Piece) -> bool:
        """Whether a lower bound of the difference is positive semidefinite on a piece."""
        ends = [[self._likelihoods(which, corner) for corner in piece] for which in (0, 1)]
        top = [max(values) for values in zip(*ends[0], strict=True)]
        low = [min(values) for values in zip(*ends[1], strict=True)]
        found = self._difference(top, low)
        if found is None:
            return False
        floats = _symmetric(found)
        # Floats only spare the exact decision where it would fail.
        if np.linalg.eigvalsh(floats)[0] < -1e-9 * np.abs(floats).max():
            return False
        return _is_semidefinite(found)

    def failure(self, point: Point) -> _Failure | None:
        """A direction with a negative value at a prior of full support, exact."""
        if min(point) <= 0:
            return None
        found = self._difference(self._likelihoods(0, point), self._likelihoods(1, point))
        if found is None:
            return None
        values, vectors = np.linalg.eigh(_symmetric(found))
        if values[0] >= 0:
            return None
        v = [Fraction(round(float(x) * 2**30), 2**30) for x in vectors[:, 0]]
        n = len(v)
        value = sum(
            (v[i] * v[j] * found[max(i, j)][min(i, j)] for i in range(n) for j in range(n)),
            Fraction(0),
        )
        if value >= 0:
            return None
        return (float(-sum(v, Fraction(0))), *map(float, v)), float(-value)


def _symmetric(lower: list[list[Fraction]]) -> Array:
    size = len(lower)
    return np.array(
        [[float(lower[max(i, j)][min(i, j)]) for j in range(size)] for i in range(size)]
    )


def _is_semidefinite(lower: list[list[Fraction]]) -> bool:
    """By elimination in rationals; the lower triangle is read."""
    rows = [list(row) for row in lower]
    size = len(rows)
    for k in range(size):
        pivot = rows[k][k]
        if pivot < 0 or (pivot == 0 and any(rows[i][k] for i in range(k + 1, size))):
            return False
        for i in range(k + 1, size) if pivot else ():
            share = rows[i][k] / pivot
            for j in range(k + 1, i + 1):
                rows[i][j] -= share * rows[j][k]
    return True


class _Information:
    """I(X;Y_A) − I(X;Y_B), chord against tangent."""

    def __init__(self, one: Rows, two: Rows, tolerance: float) -> None:
        self._a, self._b = (
            np.array([[int(v) / unit for v in row] for row in rows.tolist()])
            for rows, unit in (one, two)
        )
        self._tolerance = tolerance

    def holds_on(self, piece: Piece) -> bool:
        """Whether the chord of the first lies above a tangent of the second at all corners."""
        corners = np.array([[float(v) for v in corner] for corner in piece])
        chord = np.array([_information(self._a, p) for p in corners])
        for point in (corners.mean(axis=0), *corners):
            slopes = _divergences(self._b, point)
            # I is pᵀD(p), and its tangent at p is linear with slopes D(p), up to q's own change.
            if np.isfinite(slopes).all():
                tangent = corners @ slopes
                if (chord - tangent >= _SLACK - self._tolerance).all():
                    return True
        return False

    def failure(self, point: Point) -> _Failure | None:
        """How much the second is ahead at a prior."""
        p = np.array([float(v) for v in point])
        ahead = _information(self._b, p) - _information(self._a, p) - _SLACK
        return (None, ahead) if ahead > self._tolerance else None


def _divergences(kernel: Array, point: Array) -> Array:
    """D(K(x)‖pᵀK) for each x, in nats."""
    q = point @ kernel
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = kernel * (np.log(kernel) - np.log(q))
    return np.asarray(np.where(kernel > 0, terms, 0.0).sum(axis=1))


def _information(kernel: Array, point: Array) -> float:
    live = point > 0
    return float(point[live] @ _divergences(kernel, point)[live])

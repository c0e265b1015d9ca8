"""Whether one kernel's reports can be made from another's: the order of Blackwell.

B is a post-processing of A when B = A W for a kernel W. Then A is at least as good as B for every
use: any loss, any prior, any question. When it is not, there is a use on which B does better. The
least distance between A W and B is the deficiency of A towards B ([LeCam1964], [Torgersen1991]):

    δ(A, B) = min over W of max over x of TV((A W)(x), B(x)).

It is a linear program, and both sides of it are evaluated in rationals: a W bounds δ from above,
and a gain function g[x, y'] with ranges r[x] that sum to at most 1 bounds it from below by
Σ B[x,y'] g[x,y'] − Σ_y max_y' Σ_x A[x,y] g[x,y'], what B gains over any use of A's reports.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._audit import matched
from ..errors import KernelError, SolverError
from ..exact import Verdict, float_at_least, float_at_most
from ..labels import counted
from ..linear.highs import Model
from ..mechanism import Mechanism, as_mechanism
from ..prior import Prior
from ..theory.validation import number

Array = NDArray[np.float64]
# Kernels larger than this make a program that takes minutes.
_MOST_ENTRIES = 250_000
_BITS = 64


@dataclass(frozen=True, eq=False)
class Refinement:
    """Whether reports of one kernel can be made from those of another, with a proof either way.

    Attributes
    ----------
    verdict : yes, B is a post-processing of A up to the tolerance; no, it is not; or undecided
    at_most : proved: after :attr:`channel` the distribution of A's reports differs from that of
        B's by at most this, in total variation, for every symbol
    at_least : proved: no post-processing comes nearer for all symbols
    tolerance : what was taken as none
    channel : the post-processing, from the outputs of A to those of B
    gain : ``(N, M_B)`` gains with ranges that sum to at most 1; zero where the kernel is reached
    """

    verdict: Verdict
    at_most: float
    at_least: float
    tolerance: float
    channel: Mechanism
    gain: Array

    def __bool__(self) -> bool:
        return self.verdict is Verdict.YES

    @property
    def advantage(self) -> float:
        """What the second kernel gains over any use of the first one under :attr:`gain`."""
        return self.at_least

    def __str__(self) -> str:
        if self.verdict is Verdict.YES:
            return (
                "yes: the second is a post-processing of the first "
                f"(up to {self.at_most:.3g} in total variation), which is never worse"
            )
        if self.verdict is Verdict.NO:
            return (
                f"no: whatever is done to reports of the first, they differ by {self.at_least:.3g} "
                "or more in total variation for a symbol; there is a use on which the second is "
                "better"
            )
        return (
            f"undecided: the distance is between {self.at_least:.3g} and {self.at_most:.3g}, and "
            f"{self.tolerance:.3g} counts as none"
        )


def refines(
    first: Any, second: Any, prior: Prior | None = None, *, tolerance: float = 1e-9
) -> Refinement:
    """Whether the second kernel is a post-processing of the first: is the first never worse?

    Parameters
    ----------
    first, second : Mechanisms, designs or matrices over the same inputs
    prior : Prior, optional
        Only symbols of positive mass count.
    tolerance : float
        Distances in total variation up to this are none; 0 asks for an exact post-processing.

    Returns
    -------
    Refinement
        True in conditions when the answer is yes. With the post-processing, or with the gains on
        which the second does better, both evaluated in rational arithmetic.

    Raises
    ------
    KernelError
        For kernels over other inputs, or too large (N·M_B + M_A·M_B above 250,000).

    Notes
    -----
    Blackwell's theorem: the first refines the second if and only if no loss and no prior make the
    second the better one ([Blackwell1953]).

    Examples
    --------
    >>> import mechdesign as md
    >>> strong = md.randomised_response(md.Prior([.5, .3, .2]), 1.5)
    >>> weak = md.randomised_response(md.Prior([.5, .3, .2]), 1.0)
    >>> bool(md.refines(strong, weak)), bool(md.refines(weak, strong))
    (True, False)
    """
    one, two, _ = same_inputs(first, second, prior)
    limit = number(tolerance, "tolerance", 0, 1)
    n, m, k = len(one[0]), len(one[0][0]), len(two[0][0])
    if n * k + m * k > _MOST_ENTRIES:
        raise KernelError(
            "refinement",
            expected=f"kernels with N·M_B + M_A·M_B at most {_MOST_ENTRIES}",
            got=f"{counted(n, 'input')}, {m} and {counted(k, 'output')}",
            remedy="merge outputs with proportional columns (Mechanism.merge), or compare kernels "
            "over fewer symbols",
        )
    a = np.array([[int(v) / one[1] for v in row] for row in one[0]])
    b = np.array([[int(v) / two[1] for v in row] for row in two[0]])
    weights, gains = _solve(a, b)
    channel = _stochastic(weights)
    above = _distance(one, two, channel)
    gains, below = _advantage(one, two, gains)
    verdict = Verdict.UNDECIDED
    if above <= Fraction(limit):
        verdict = Verdict.YES
    elif below > Fraction(limit):
        verdict = Verdict.NO
    return Refinement(
        verdict,
        float_at_least(above),
        max(0.0, float_at_most(below)),
        limit,
        Mechanism.from_weights(
            channel, _BITS, as_mechanism(first).outputs, as_mechanism(second).outputs
        ),
        gains,
    )


Rows = tuple[NDArray[Any], int]


def same_inputs(first: Any, second: Any, prior: Any) -> tuple[Rows, Rows, list[int]]:
    """Two kernels as integers over one number each, over the symbols that have mass.

    Raises :class:`KernelError` for kernels over other inputs, or a prior over others.
    """
    one, two = as_mechanism(first), as_mechanism(second)
    if set(one.inputs) != set(two.inputs):
        raise KernelError(
            "order of kernels",
            expected="two kernels over the same inputs",
            got=f"{len(one.inputs)} and {len(two.inputs)} inputs that are not the same",
            remedy="give both kernels the same input labels",
        )
    used = list(range(len(one.inputs)))
    if prior is not None:
        used = matched(one, prior)[1].support.tolist()
    place = {label: x for x, label in enumerate(two.inputs)}
    return (
        integer_rows(one, used),
        integer_rows(two, [place[one.inputs[x]] for x in used]),
        used,
    )


def integer_rows(mechanism: Mechanism, used: list[int]) -> Rows:
    """Rows as integers over one number; rows that were read with rounding divided by sums."""
    weights = mechanism.weights.astype(object)[used]
    sums = [int(s) for s in weights.sum(axis=1)]
    if all(s == mechanism.denominator for s in sums):
        return weights, mechanism.denominator
    scale = math.lcm(*sums)
    return weights * np.array([scale // s for s in sums], dtype=object)[:, None], scale


def _solve(a: Array, b: Array) -> tuple[Array, Array]:
    """A post-processing and gains by HiGHS; neither is trusted."""
    from scipy import sparse

    (n, m), k = a.shape, b.shape[1]
    # Variables: W row by row, the excess of B over A W, and the distance d, which is minimised.
    channel = sparse.hstack(
        [
            sparse.kron(sparse.eye_array(m), np.ones((1, k))),
            sparse.csr_array((m, n * k + 1)),
        ]
    )
    reached = sparse.hstack(
        [
            sparse.kron(a, sparse.eye_array(k)),
            sparse.eye_array(n * k),
            sparse.csr_array((n * k, 1)),
        ]
    )
    spread = sparse.hstack(
        [
            sparse.csr_array((n, m * k)),
            -sparse.kron(sparse.eye_array(n), np.ones((1, k))),
            np.ones((n, 1)),
        ]
    )
    cost = np.zeros(m * k + n * k + 1)
    cost[-1] = -1
    for solver in ("simplex", "ipm"):
        model = Model()
        model.load(
            cost,
            sparse.vstack([channel, reached, spread]),
            np.concatenate([np.ones(m), b.ravel(), np.zeros(n)]),
            np.concatenate([np.ones(m), np.full(n * k + n, np.inf)]),
        )
        found = model.run(solver)
        if found.point is not None and found.duals is not None:
            return found.point[: m * k].reshape(m, k), -found.duals[m : m + n * k].reshape(n, k)
    raise SolverError(
        f"HiGHS found no post-processing for kernels of {m} and {k} outputs ({found.status}); "
        "their numbers are too extreme for it"
    )


def _stochastic(weights: Array) -> NDArray[Any]:
    """Rows over 2**64 that sum to exactly one, next to what a solver found."""
    clean = np.clip(weights, 0, 1)
    whole = [[int(Fraction(v) * (1 << _BITS)) for v in row] for row in clean.tolist()]
    rows = np.array(whole, dtype=object)
    for row in rows:
        total = int(row.sum())
        if total > 1 << _BITS:
            row[:] = [int(v) * (1 << _BITS) // total for v in row]
        row[int(np.argmax(row))] += (1 << _BITS) - int(row.sum())
    return rows


def _distance(one: Rows, two: Rows, channel: NDArray[Any]) -> Fraction:
    """The largest total variation between rows of A W and of B, exact."""
    (a, first), (b, second) = one, two
    apart = (a @ channel) * second - b * (first << _BITS)
    worst = max(sum(int(v) for v in row if v > 0) for row in apart.tolist())
    return Fraction(worst, (first << _BITS) * second)


def _advantage(one: Rows, two: Rows, gains: Array) -> tuple[Array, Fraction]:
    """Gains with ranges that sum to one at most, and what B gains by them over any use of A."""
    gains = gains - gains.min(axis=1, keepdims=True)
    total = gains.max(axis=1).sum()
    if not total > 0:
        return np.zeros_like(gains), Fraction(0)
    # Rounded towards zero, so that the ranges sum to one at most.
    whole = np.floor(gains / total * (1 - 1e-12) * (1 << 50)).astype(np.int64).astype(object)
    (a, first), (b, second) = one, two
    of_b = Fraction(int((b * whole).sum()), second << 50)
    of_a = Fraction(sum(int(max(row)) for row in (a.T @ whole).tolist()), first << 50)
    found = of_b - of_a
    if found <= 0:
        return np.zeros_like(gains), Fraction(0)
    return np.ldexp(whole.astype(float), -50), found

"""From a solver's kernel to integer weights that satisfy every bound exactly.

The kernel is rounded to weights over 2⁵³. Where an outcome still breaks a bound by v, the constant
column c = v/(e^ε − 1) is added to it and the rest is scaled by 1 − Σc: constant columns lie inside
every cone of the likelihood family, so this works for all notions alike and costs Σc of the
utility range at most. An outcome so rare that its correction outweighs it is merged into the most
frequent one, which is post-processing and free of any privacy cost. Where that would cost what
rare symbols contribute, its entries can first be rounded towards their average instead.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import CertificateError
from ..exact import DENOMINATOR, DENOMINATOR_BITS, Verdict, exp_lower, to_weights
from ..mechanism import Mechanism
from ..privacy.rows import Compared
from ..program.gains import LARGE
from ..program.program import Cone, LinearProgram, Program
from ..roots import least_passing

_ROUNDS = 40
_PATIENCE = 4
_TOO_MUCH = 0.5
# Share of a constant kernel that is tried first, and how often the one that passes is halved.
_LEAST_SHARE, _HALVINGS = 2.0**-50, 8
# Probability, given any symbol, of outputs that are left out where they could not be repaired.
_NEGLIGIBLE = 1e-7


@dataclass(frozen=True)
class Repair:
    """What was done to make a kernel exactly private.

    Attributes
    ----------
    merged : positions of outcomes merged into the most frequent one
    mixed : total constant mass mixed in, between 0 and 1
    rounds : how often the kernel was rounded and checked
    constant : whether only the constant kernel on its output distribution passed
    moved : largest share of the mass of a symbol that was moved to other outputs, for requirements
    inside : share of a kernel inside of all that is asked that was mixed in, where requirements
        forbid constant mass
    """

    merged: tuple[int, ...]
    mixed: float
    rounds: int
    constant: bool = False
    moved: float = 0.0
    inside: float = 0.0

    def __str__(self) -> str:
        if self.constant:
            return "replaced by a constant kernel"
        parts = []
        if self.merged:
            count = len(self.merged)
            parts.append("1 outcome merged" if count == 1 else f"{count} outcomes merged")
        if self.mixed:
            parts.append(f"{self.mixed:.2g} of constant mass mixed in")
        if self.inside:
            parts.append(f"{self.inside:.2g} of a kernel inside of all that is asked mixed in")
        if self.moved:
            parts.append(f"{self.moved:.2g} of the mass of a symbol moved to satisfy all")
        return ", ".join(parts) or "rounding alone"


def repair_kernel(
    kernel: NDArray[np.float64],
    cone: Cone,
    *,
    keep_rare: bool = False,
) -> tuple[NDArray[np.int64], Repair]:
    """Integer weights over 2⁵³, ``(n, M)``, whose columns lie in a cone, near a given kernel.

    With ``keep_rare`` an outcome is merged only after its entries were rounded towards their
    average, which most bounds allow however rare it is.

    Raises :class:`CertificateError` when the kernel holds no usable numbers.
    """
    live, cleaned = clean_columns(kernel)
    weights, repair = _repaired(np.ascontiguousarray(cleaned), cone, keep_rare)
    whole = np.zeros(kernel.shape, dtype=np.int64)
    whole[:, live] = weights
    return whole, replace(repair, merged=tuple(int(live[y]) for y in repair.merged))


def _repaired(
    start: NDArray[np.float64], cone: Cone, keep_rare: bool
) -> tuple[NDArray[np.int64], Repair]:
    """:func:`repair_kernel` for a clean kernel, which is changed in place."""
    masses = cone.prior.probabilities @ start
    merged: list[int] = []
    rare = np.zeros(start.shape[1], dtype=bool)
    added = np.zeros(start.shape[1])
    for round_number in range(1, _ROUNDS + 1):
        total = float(added.sum())
        if total >= _TOO_MUCH:
            break
        inwards = (rare, masses + added) if rare.any() else None
        weights = to_weights((1 - total) * start + added, inwards)
        needed = corrections(weights, cone)
        if not (needed > 0).any():
            return weights, Repair(tuple(merged), total, round_number)
        if not np.isfinite(needed).all():
            break
        # Rounding moves entries by two units or so, in every round anew.
        step = np.where(needed > 0, 1.5 * needed, 0.0)
        if round_number >= _PATIENCE:
            # Among thousands of outcomes at their bound some break it by rounding each time: give
            # all of them the room that the last ones needed.
            step = np.maximum(step, 1.5 * float(needed[needed > 0].min()))
        heavy = int(np.argmax(masses))
        for y in np.flatnonzero((step > 0) & (masses + added <= added + step)):
            if y == heavy:
                continue
            if keep_rare and not rare[y]:
                rare[y], step[y] = True, 0.0
            else:
                start[:, heavy] += start[:, y]
                start[:, y] = 0.0
                masses[heavy] += masses[y]
                masses[y] = added[y] = step[y] = 0.0
                merged.append(int(y))
        added += step
    average = masses / masses.sum()
    weights = to_weights(np.broadcast_to(average, start.shape).copy())
    return weights, Repair(tuple(merged), 1.0, _ROUNDS, constant=True)


def clean_columns(kernel: NDArray[np.float64]) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Outcomes that occur, and their columns of :func:`clean_kernel`.

    The others are private and stay so; a large kernel is not copied for them.
    """
    tried = np.arange(kernel.shape[1])
    if kernel.size > LARGE:
        tried = np.flatnonzero(kernel.any(axis=0))
    cleaned = clean_kernel(kernel[:, tried] if len(tried) < kernel.shape[1] else kernel)
    live = np.flatnonzero(cleaned.any(axis=0))
    return tried[live], cleaned[:, live]


def clean_kernel(kernel: NDArray[np.float64]) -> NDArray[np.float64]:
    """Negative entries cut off and rows divided by their sums; a fresh array."""
    if not np.isfinite(kernel).all():
        raise CertificateError("the solver returned a kernel with entries that are not finite")
    cut = np.maximum(kernel, 0.0)
    with np.errstate(over="ignore"):
        sums = cut.sum(axis=1)
    if not np.isfinite(sums).all():
        raise CertificateError("the solver returned a kernel with a row whose sum is not finite")
    if (sums < 0.5).any():
        raise CertificateError(
            f"the solver returned a kernel with a row that sums to {float(sums.min()):.3g}"
        )
    cut /= sums[:, None]
    return cut


def repair_far(
    kernel: NDArray[np.float64], cone: Cone, *, keep_rare: bool = False
) -> tuple[NDArray[np.int64], Repair]:
    """:func:`repair_kernel` for a kernel that may be far from the cone.

    Where the columns need constants c, (K + c) / (1 + Σc) lies in the cone, however large they are.
    At level zero nothing but a constant kernel does.
    """
    cleaned = clean_kernel(kernel)
    needed = corrections(to_weights(cleaned), cone, most=np.inf)
    total = float(needed.sum())
    if not (0 < total < np.inf):
        return repair_kernel(cleaned, cone, keep_rare=keep_rare)
    share = total / (1 + total)
    weights, repair = repair_kernel((cleaned + needed) / (1 + total), cone, keep_rare=keep_rare)
    return weights, replace(repair, mixed=joined(share, repair.mixed))


def joined(first: float, second: float) -> float:
    """Share of constant kernels after mixing in one share and then another."""
    return first + (1 - first) * second


def corrections(weights: NDArray[np.int64], cone: Cone, most: float = 1.0) -> NDArray[np.float64]:
    """Constant mass that each outcome needs to satisfy every bound, ``(M,)``; 0 where it does.

    Exact: with likelihoods a and b and F a rational at most e^ε, c = (a − F·b)/(F − 1), plus room
    for rounding. ``inf`` at level zero, and for ``most`` or more.
    """
    mechanism = Mechanism.from_weights(weights, DENOMINATOR_BITS)
    needed = np.zeros(weights.shape[1])
    for part in cone.parts:
        for compared in part.compared(mechanism):
            np.maximum(needed, _column_needs(compared, most), out=needed)
    return needed


def _column_needs(compared: Compared, most: float) -> NDArray[np.float64]:
    factor = exp_lower(compared.level)
    # over/over_total <= factor * under/under_total, multiplied out into integers.
    left = compared.over.astype(object) * (compared.under_total * factor.denominator)
    right = compared.under.astype(object) * (compared.over_total * factor.numerator)
    broken = np.asarray(left > right, dtype=bool)
    needed = np.zeros(len(left))
    if not broken.any():
        return needed
    if factor == 1:
        needed[broken] = np.inf
        return needed
    unit = compared.over_total * compared.under_total * (factor.numerator - factor.denominator)
    rounding = 4 * (factor + 1) / (factor - 1)
    for y in np.flatnonzero(broken):
        share = (Fraction(int(left[y] - right[y]), unit) + rounding) / DENOMINATOR
        # Added to what is there, more than everything asks for a constant kernel.
        needed[y] = float(share) if share < most else np.inf
    return needed


def keep_sums(program: Program, weights: NDArray[np.int64]) -> tuple[NDArray[np.int64], float]:
    """Weights that satisfy every constraint on a sum too, by mixing in a constant kernel.

    Returns them with the share of the constant kernel. Mixing keeps every column in the cone and
    lowers every sum in proportion, as a constant kernel has the least.
    """
    if not program.sums or _are_kept(program, weights):
        return weights, 0.0
    kernel = np.ldexp(weights.astype(float), -DENOMINATOR_BITS)
    constant = np.broadcast_to(program.prior.probabilities @ kernel, kernel.shape)

    def mixed(share: float) -> NDArray[np.int64] | None:
        tried, _ = repair_kernel((1 - share) * kernel + share * constant, program.cone)
        return tried if _are_kept(program, tried) else None

    found = least_passing(mixed, _LEAST_SHARE, 2.0, _HALVINGS)
    return (to_weights(program.constant_kernel), 1.0) if found is None else found[::-1]


def _are_kept(program: Program, weights: NDArray[np.int64]) -> bool:
    # Symbols of zero mass are not among these, though a notion may name them and would object.
    mechanism = Mechanism.from_weights(weights, DENOMINATOR_BITS, program.prior.labels)
    return all(c.evaluate(mechanism).verdict is Verdict.YES for c in program.sums)


def without_forbidden(program: LinearProgram, kernel: NDArray[np.float64]) -> NDArray[np.float64]:
    """A kernel without the traces that a solver left at forbidden entries.

    Nor at outputs that next to never occur and have such entries, as nothing can be added to them.
    """
    if program.forbidden is None:
        return kernel
    kernel = np.where(program.forbidden, 0.0, kernel)
    traces = kernel.max(axis=0) < _NEGLIGIBLE
    kernel[:, traces & program.forbidden.any(axis=0)] = 0.0
    return kernel


def check_forbidden(program: LinearProgram, weights: NDArray[Any]) -> None:
    """Raise :class:`CertificateError` for weights that are not zero where they must be."""
    if program.forbidden is not None and weights[program.forbidden].any():
        x, y = np.argwhere(program.forbidden & (weights > 0))[0].tolist()
        raise CertificateError(
            "the kernel failed its exact check and is withheld: symbol number "
            f"{x} is sent to output number {y}, which is forbidden"
        )

"""Lifts of independent reports of several columns together, without their product kernel.

The report (y_1, …, y_k) has the lift Π_i K_i[x_i, y_i] / q(y) at the combination x, with
q(y) = Σ_x p(x) Π_i K_i[x_i, y_i] over the combinations that have mass. Sums, maxima and minima over
combinations are taken one column after another, so that no table has a row for each combination
and a column for each report. What is largest is told by floats with room for their rounding, and
decided in integers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import quote
from ..exact import Verdict, compare_with_exp, log_upper, rounded_up
from ..labels import Label
from ..mechanism import Mechanism
from ..prior import Prior
from ..privacy import PrivacyNotion
from ..privacy.notion import Check, LikelihoodBound, Worst, shown_level

Array = NDArray[np.float64]

#: Entries of the largest table that is made, and products that are formed on the way.
MOST_CELLS, MOST_WORK = 1 << 24, 2_000_000_000
# Bits of products, and the least mass, with which floats neither vanish nor lose digits.
_MOST_BITS, _LEAST_MASS = 900, 1e-60
# Reports whose lift is so near to the largest are compared in integers, and how many may be; more
# get a bound with room for the rounding of sums of up to 2·10⁴ terms, each good to 2⁻⁵².
_NEAR, _MOST_NEAR = 1e-10, 4000
_ROUNDING = Fraction(1, 10**11)


@dataclass(frozen=True)
class ProductLifts:
    """Kernels of columns and the joint prior of their values.

    Attributes
    ----------
    kernels : of the columns
    prior : of the combinations, all of which have mass
    """

    kernels: tuple[Mechanism, ...]
    prior: Prior

    @property
    def is_possible(self) -> bool:
        """Whether tables stay small enough, and floats regular."""
        rows = [len(kernel.inputs) for kernel in self.kernels]
        outputs = [kernel.shape[1] for kernel in self.kernels]
        sizes = [
            math.prod(rows[: i + 1]) * math.prod(outputs[i + 1 :]) for i in range(-1, len(rows))
        ]
        work = [size * m for size, m in zip(sizes[1:], outputs, strict=True)]
        bits = sum(kernel.denominator.bit_length() for kernel in self.kernels)
        regular = bits <= _MOST_BITS
        regular &= float(self.prior.probabilities.min()) >= _LEAST_MASS and sum(rows) <= 20_000
        exact = all(kernel.is_exact for kernel in self.kernels)
        return regular and exact and max(sizes) <= MOST_CELLS and sum(work) <= MOST_WORK

    @property
    def _rows(self) -> list[NDArray[np.intp]]:
        """For each column the row of its kernel at each combination."""
        found = []
        for i, kernel in enumerate(self.kernels):
            row = {label: x for x, label in enumerate(kernel.inputs)}
            found.append(np.array([row[label[i]] for label in self.prior.labels]))
        return found

    def _over(self, start: float, masses: Array | float, combine: np.ufunc) -> Array:
        """The sum, maximum or minimum over combinations of masses times their likelihoods."""
        shape = [len(kernel.inputs) for kernel in self.kernels]
        table = np.full(shape, start)
        table[tuple(self._rows)] = masses
        flat = table.reshape(-1, 1)
        for kernel in reversed(self.kernels):
            # (combinations of the columns before, own values, reports of those behind)
            part = flat.reshape(-1, len(kernel.inputs), flat.shape[1])
            own = kernel.kernel
            found = np.full((len(part), own.shape[1], part.shape[2]), start)
            for x in range(len(own)):
                with np.errstate(invalid="ignore"):  # no combination: infinity times zero
                    combine(found, own[x][:, None] * part[:, x, None, :], out=found)
            flat = found.reshape(len(part), -1)
        return np.asarray(flat[0])

    def likelihoods(self) -> Array:
        """q(y) for every report, in the order of the product kernel."""
        return self._over(0.0, self.prior.probabilities, np.add)

    def largest(self) -> Array:
        """The largest likelihood of every report at a combination that has mass."""
        return self._over(0.0, 1.0, np.maximum)

    def least(self) -> Array:
        """The least likelihood of every report at a combination that has mass."""
        return self._over(math.inf, 1.0, np.fmin)

    def report(self, place: int) -> tuple[Label, ...]:
        """The labels of a report."""
        places = np.unravel_index(place, [kernel.shape[1] for kernel in self.kernels])
        return tuple(kernel.outputs[int(y)] for kernel, y in zip(self.kernels, places, strict=True))

    def exact(self, place: int, above: bool) -> tuple[Fraction | None, int]:
        """The largest lift of a report, or the inverse of the least, and where it is."""
        places = np.unravel_index(place, [kernel.shape[1] for kernel in self.kernels])
        product: Any = np.ones(len(self.prior), dtype=object)
        for kernel, rows, y in zip(self.kernels, self._rows, places, strict=True):
            product = product * kernel.weights.astype(object)[:, int(y)][rows]
        whole = int(sum(w * v for w, v in zip(self.prior.weights, product, strict=True)))
        x = int(product.argmax() if above else product.argmin())
        own = int(product[x]) * self.prior.total
        if above:
            return Fraction(own, whole), x
        return (Fraction(whole, own) if own else None), x

    def top(self, above: bool) -> tuple[Fraction | None, int, int, bool]:
        """The largest lift, or inverse of the least, with its report and combination; ``None``
        where it is infinite. Whether it is exact, or else an upper bound, which it is where very
        many reports are as near to the largest as floats tell.
        """
        whole = self.likelihoods()
        live = whole > 0
        if above:
            ratio = np.divide(self.largest(), whole, out=np.zeros_like(whole), where=live)
        else:
            least = self.least()
            with np.errstate(divide="ignore"):
                ratio = np.divide(whole, least, out=np.zeros_like(whole), where=live)
        best = int(ratio.argmax())
        value, x = self.exact(best, above)
        if value is None:
            return value, best, x, True
        near = np.flatnonzero(ratio >= ratio[best] * (1 - _NEAR))
        if len(near) > _MOST_NEAR:
            return Fraction(float(ratio[best])) * (1 + _ROUNDING), best, x, False
        found = [(*self.exact(int(y), above), int(y)) for y in near]
        value, x, best = max(found, key=lambda each: each[0] or 0)
        return value, best, x, True


def leaks_in_floats(total: PrivacyNotion, lifts: ProductLifts) -> list[float] | None:
    """The levels that all reports have together, in floats; ``None`` for other notions."""
    sides = _sides(total, lifts.prior)
    if sides is None:
        return None
    whole, found = lifts.likelihoods(), [0.0] * len(total.levels)
    live = whole > 0
    for bound, above in sides:
        with np.errstate(divide="ignore"):
            logs = np.log(lifts.largest() if above else lifts.least())[live] - np.log(whole[live])
        level = float(logs.max() if above else -logs.min())
        found[bound.parameter] = max(found[bound.parameter], level)
    return found


def check_lifts(total: PrivacyNotion, lifts: ProductLifts) -> Check | None:
    """The exact verdict on a notion that bounds lifts, such as PML, PMC, LIP and ALIP; ``None`` for
    other notions.

    Levels are exact, but for reports very many of which have nearly the largest lift: then they
    are bounded from above, up to a part in 10¹¹.
    """
    sides = _sides(total, lifts.prior)
    if sides is None:
        return None
    worst: list[Worst | None] = [None] * len(total.levels)
    decided = []
    for bound, above in sides:
        ratio, y, x, is_exact = lifts.top(above)
        point = quote(lifts.prior.labels[x])
        over, under = (point, "the prior") if above else ("the prior", point)
        level = math.inf if ratio is None else max(0.0, log_upper(ratio))
        verdict = Verdict.NO
        if ratio is not None:
            verdict = compare_with_exp(ratio, bound.epsilon)
        if verdict is Verdict.NO and not is_exact:
            verdict = Verdict.UNDECIDED
        report = lifts.report(y)
        shown = "infinite" if ratio is None else f"{float(ratio):.12g}"
        shown = shown if is_exact else f"at most {shown}"
        text = (
            f"outcome {quote(report)}: likelihood ratio of {over} to {under} is {shown}, level "
            f"{rounded_up(level, 12)} against {shown_level(bound.epsilon, 12)}"
        )
        own, k = Worst(level, report, over, under), bound.parameter
        before = worst[k]
        worst[k] = own if before is None or level > before.level else before
        excess = math.inf if math.isinf(level) else level / bound.epsilon
        decided.append((verdict, excess, report, ratio, text))
    order = (Verdict.NO, Verdict.UNDECIDED, Verdict.YES)
    verdict, _, report, ratio, text = min(decided, key=lambda d: (order.index(d[0]), -d[1]))
    return Check(total, verdict, tuple(w for w in worst if w), report, ratio, text)


def _sides(total: PrivacyNotion, prior: Prior) -> Sequence[tuple[Any, bool]] | None:
    """Bounds between every symbol and the prior, and whether symbols are above; ``None`` where
    there are others.
    """
    if not isinstance(total, LikelihoodBound):
        return None
    found = []
    for bound in total.checked_bounds(prior):
        above = {"points prior": True, "prior points": False}.get(bound.kinds(prior) or "")
        if above is None:
            return None
        found.append((bound, above))
    return found

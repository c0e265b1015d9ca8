"""What notions that keep budgets share."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..errors import LevelError, quote
from ..exact import Verdict
from ..labels import Label
from ..mechanism import Mechanism
from ..prior import Prior
from .budgets import Budget, Spent
from .notion import Check, PrivacyNotion, Worst


class AverageNotion(PrivacyNotion, register=False):
    """A notion that keeps one budget or several.

    A subclass gives :meth:`budgets`, which are compiled and exactly checked, and a measurement of
    its own: :meth:`leakage`, the share of each outcome, and :meth:`measure`, the level.
    """

    by_default: ClassVar[bool] = False

    @abstractmethod
    def budgets(self, prior: Prior) -> list[Budget]:
        """The budgets, for a prior over the kernel's inputs."""

    def check(self, mechanism: Mechanism, prior: Prior) -> Check:
        """Decide every budget in integers, rationals and enclosures of logarithms.

        Raises :class:`KernelError` when the prior is not over the kernel's inputs.
        """
        mechanism.check_prior(prior)
        found = [budget.spent(mechanism) for budget in self.budgets(prior)]
        worst = max(found, key=lambda spent: spent.level)
        order = (Verdict.NO, Verdict.UNDECIDED, Verdict.YES)
        verdict = next(v for v in order if any(spent.verdict is v for spent in found))
        output = mechanism.outputs[worst.output]
        return Check(
            self,
            verdict,
            (Worst(worst.level, output, worst.over, worst.under),),
            output,
            None,
            self._evidence(worst, output, verdict),
        )

    def _evidence(self, worst: Spent, output: Label, verdict: Verdict) -> str:
        text = f"{worst.over} against {worst.under}: level {worst.level:.12g}"
        if self.levels[0] < math.inf:
            text += f" against {self.levels[0]:.12g}"
        text += f", most of it at outcome {quote(output)}"
        return text + (" (rounding does not settle it)" if verdict is Verdict.UNDECIDED else "")


class DeltaNotion(AverageNotion, register=False):
    """An average notion up to a δ, which a subclass has as a field."""

    delta: float

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "delta", checked_delta(self.delta))

    def __str__(self) -> str:
        return f"{type(self).__name__}({self.levels[0]:.6g}, delta={self.delta:.6g})"


def checked_delta(value: Any) -> float:
    """A δ from 0 to 1, or a :class:`LevelError`."""
    good = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
    if not good or not 0 <= value <= 1:
        raise LevelError(
            "delta",
            expected="a number from 0 to 1",
            got=quote(value),
            remedy="give for example 1e-5",
        )
    return float(value)


def least_level(a: NDArray[np.float64], b: NDArray[np.float64], delta: float) -> float:
    """The least ε ≥ 0 with Σ max(a − e^ε b, 0) ≤ δ, by bisection on convex pieces."""
    live = a > b
    a, b = a[live], b[live]

    def excess(factor: float) -> float:
        return float(np.maximum(a - factor * b, 0.0).sum())

    if excess(1.0) <= delta:
        return 0.0
    if a[b == 0].sum() > delta:
        return math.inf
    # Newton from the left on a convex decreasing piecewise linear function ends in finitely many
    # steps at its root.
    factor = 1.0
    for _ in range(len(a) + 2):
        over = a - factor * b > 0
        slope, value = float(b[over].sum()), excess(factor) - delta
        if value <= 0 or slope == 0:
            break
        factor += value / slope
    return math.log(factor)

"""The problem: validated once at the door, so that nothing inside has to check again."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import PriorError, UtilityError
from ..labels import Label
from ..prior import Prior
from ..privacy.hypotheses import Bound
from ..privacy.notion import LikelihoodBound, PrivacyNotion, as_notions
from ..utility.base import LinearUtility, Utility, checked_matrix
from .cones import TwoSided, two_sided

#: Smallest positive mass of a symbol that floats can work with beside others.
SMALLEST_MASS = 1e-200
#: Largest size of a gain: sums and products of gains stay finite.
LARGEST_GAIN = 1e150


@dataclass(frozen=True)
class Problem:
    """Maximise a linear utility over the kernels that satisfy every notion.

    With p the prior on its n support symbols and u the gains::

        maximise    Σ_xy p_x u_xy K_xy
        subject to  Σ_y K_xy = 1,  K ≥ 0,
                    (μᵀK)_y ≤ e^ε (νᵀK)_y   for every y and every pair (μ, ν) of every bound

    Attributes
    ----------
    prior : the prior as given
    inner : the prior on the symbols designed for: its support, or all where a notion needs that
    utility, notions : what is maximised, what must hold
    outputs : M output labels
    gains : ``(n, M)`` gains on these symbols
    bounds : every bound of every notion on the inner prior that asks something
    others : notions outside the likelihood family
    """

    prior: Prior
    inner: Prior
    utility: Utility
    notions: tuple[PrivacyNotion, ...]
    outputs: tuple[Label, ...]
    gains: NDArray[np.float64]
    bounds: tuple[Bound, ...]
    others: tuple[PrivacyNotion, ...]

    @property
    def shape(self) -> tuple[int, int]:
        """Support symbols n and outputs M."""
        return self.gains.shape[0], self.gains.shape[1]

    @property
    def kept(self) -> NDArray[np.intp]:
        """Positions of the symbols designed for."""
        whole = len(self.inner) == len(self.prior)
        return np.arange(len(self.prior)) if whole else self.prior.support

    @property
    def not_a_bound(self) -> str:
        """Why methods for bounds on likelihood ratios refuse, where there are other notions."""
        return f"{self.others[0]} is not a bound on likelihood ratios"

    @cached_property
    def sides(self) -> TwoSided | None:
        """The two-sided cone that the bounds amount to, with factors for design."""
        return two_sided(self.bounds, self.inner, inner=True)

    @cached_property
    def objective(self) -> NDArray[np.float64]:
        """p_x u_xy, ``(n, M)``: utility per unit of kernel."""
        return self.inner.probabilities[:, None] * self.gains

    @cached_property
    def gain_range(self) -> float:
        """Max u − min u over support symbols and outputs."""
        gains = self.gains[self.inner.support]
        return float(gains.max() - gains.min())

    @cached_property
    def constant_value(self) -> float:
        """Utility of the best constant output, which reveals nothing."""
        return float(self.objective.sum(axis=0).max())

    def __str__(self) -> str:
        n, m = self.shape
        privacy = ", ".join(str(notion) for notion in self.notions)
        return f"{n} symbols × {m} outputs, {privacy}, {self.utility!r}"


def state_problem(prior: Prior, utility: Utility, privacy: Any, outputs: Any = None) -> Problem:
    """Coerce and validate everything a design is asked with.

    Raises
    ------
    PriorError, UtilityError, LevelError
        With what was expected, what came, and what to do.
    """
    if not isinstance(prior, Prior):
        raise PriorError(
            "prior",
            expected="a Prior",
            got=type(prior).__name__,
            remedy="wrap it: md.Prior(probabilities, labels)",
        )
    notions = as_notions(privacy)
    if not isinstance(utility, Utility):
        got = utility.__name__ + " (the class)" if isinstance(utility, type) else repr(utility)
        raise UtilityError(
            "utility",
            expected="a utility such as md.utility.Hamming()",
            got=got,
            remedy="make an instance; md.utility.Matrix(u) takes any matrix",
        )
    if not isinstance(utility, LinearUtility):
        raise UtilityError(
            "utility",
            expected="a linear utility",
            got=repr(utility),
            remedy="use Hamming, Distance, Matrix or BayesGain",
        )
    labels = utility.labels_for(prior, outputs)
    gains = checked_matrix(
        utility.gains(prior, labels), (len(prior), len(labels)), f"gains of {utility!r}"
    )
    largest = float(np.abs(gains).max())
    if largest > LARGEST_GAIN:
        raise UtilityError(
            f"gains of {utility!r}",
            expected=f"numbers of size at most {LARGEST_GAIN:g}",
            got=f"{largest:.3g}",
            remedy="divide the gains by a constant",
        )
    whole = not prior.has_full_support and any(n.covers_zero_mass for n in notions)
    inner = prior if whole else prior.restricted()
    if inner.pmin < SMALLEST_MASS:
        rare = prior.labels[min(prior.support, key=lambda i: prior.weights[i])]
        raise PriorError(
            "prior of a design",
            expected=f"masses of zero or at least {SMALLEST_MASS:g}",
            got=f"{inner.pmin:.3g} for {rare!r}",
            remedy="give the symbol zero mass, or merge it with another",
        )
    bounds: list[Bound] = []
    for notion in notions:
        if isinstance(notion, LikelihoodBound):
            bounds.extend(b for b in notion.checked_bounds(inner) if not b.is_vacuous)
    return Problem(
        prior,
        inner,
        utility,
        notions,
        labels,
        gains if whole else gains[prior.support],
        tuple(bounds),
        tuple(n for n in notions if not isinstance(n, LikelihoodBound)),
    )

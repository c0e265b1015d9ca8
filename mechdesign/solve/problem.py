"""The problem: validated once at the door, so that nothing inside has to check again."""

from __future__ import annotations

import math
import sys
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, PriorError, UtilityError, quote
from ..exact import DENOMINATOR_BITS, nearest_float
from ..labels import Label, name_outputs
from ..mechanism import Mechanism
from ..prior import Prior, as_prior
from ..privacy.hypotheses import Bound
from ..privacy.notion import LikelihoodBound, PrivacyNotion, as_notions
from ..utility.base import Utility
from ..utility.linear import LinearUtility, checked_matrix
from ..utility.sublinear import FInformation, SublinearUtility, check_sublinear
from .cones import TwoSided, two_sided
from .enclosures import Enclosure, kernel_enclosure, revealed_enclosure, sums_up
from .rational import difference, kernel_mean, mean_of

#: Smallest positive mass of a symbol that floats can work with beside others.
SMALLEST_MASS = 1e-200
#: Largest size of a gain: sums and products of gains stay finite.
LARGEST_GAIN = 1e150
#: Seconds that a search takes at most when nothing is said.
DEFAULT_LIMIT = 60.0
#: Entries of the largest kernel that is designed: symbols times outputs.
LARGEST_KERNEL = 10**8
# Gains whose range is below this share of their size are taken from their least; ranges below the
# other number are scaled to one.
_FAR, _SMALL_RANGE = 2.0**-13, 2.0**-900
_LOWEST_POWER = -1100
# Terms up to which sums are rounded once.
_FEW = 10_000


@dataclass(frozen=True)
class AnyProblem(ABC):
    """What every problem has, whatever is maximised.

    Attributes
    ----------
    prior : the prior as given
    inner : the prior on the symbols designed for: its support, or all where a notion needs that
    utility, notions : what is maximised, what must hold
    bounds : every bound of every notion on the inner prior that asks something
    others : notions outside the likelihood family
    time_limit : seconds that a search may take; methods that do not search ignore it
    """

    prior: Prior
    inner: Prior
    utility: Utility
    notions: tuple[PrivacyNotion, ...]
    bounds: tuple[Bound, ...]
    others: tuple[PrivacyNotion, ...]
    time_limit: float

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

    @property
    @abstractmethod
    def constant_value(self) -> float:
        """Utility of the best constant output, which reveals nothing."""

    @property
    @abstractmethod
    def exact_constant_value(self) -> Fraction:
        """The same in rationals."""

    @property
    @abstractmethod
    def revealed_value(self) -> float:
        """Utility of telling all; no kernel is worth more."""

    @property
    @abstractmethod
    def constant_kernel(self) -> NDArray[np.float64]:
        """The kernel of the best constant output."""

    @abstractmethod
    def worth(self, kernel: NDArray[np.float64]) -> float:
        """Utility of a kernel on the support symbols."""

    @abstractmethod
    def enclose(self, mechanism: Mechanism) -> Enclosure | None:
        """The utility of a kernel, exact or between two rationals; ``None`` where floats fail."""

    @abstractmethod
    def width(self, value: float) -> float:
        """What gaps and losses are measured against, for a design of a given value."""

    @abstractmethod
    def exact_width(self, value: Fraction) -> Fraction:
        """The same in rationals, for a value that is not overstated."""

    @property
    def is_exact(self) -> bool:
        """Whether values and bounds are those of the utility, and not of a function in floats."""
        return True

    def inner_weights(self, mechanism: Mechanism) -> NDArray[Any]:
        """Integer weights of the rows designed for."""
        whole = len(self.kept) == len(self.prior)
        return mechanism.weights if whole else mechanism.weights[self.kept]

    @abstractmethod
    def mechanism(self, weights: NDArray[np.int64]) -> Mechanism:
        """The mechanism over all symbols, those of zero mass included, with its labels."""


@dataclass(frozen=True)
class Problem(AnyProblem):
    """Maximise a linear utility over the kernels that satisfy every notion.

    With p the prior on its n support symbols and u the gains::

        maximise    Σ_xy p_x u_xy K_xy
        subject to  Σ_y K_xy = 1,  K ≥ 0,
                    (μᵀK)_y ≤ e^ε (νᵀK)_y   for every y and every pair (μ, ν) of every bound

    Attributes
    ----------
    outputs : M output labels
    gains : ``(n, M)`` gains on the support
    """

    outputs: tuple[Label, ...]
    gains: NDArray[np.float64]

    @property
    def shape(self) -> tuple[int, int]:
        """Support symbols n and outputs M."""
        return self.gains.shape[0], self.gains.shape[1]

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

    @cached_property
    def revealed_value(self) -> float:
        """Σ_x max_y p_x u_xy: each symbol reported as serves it best."""
        return math.fsum(self.objective.max(axis=1).tolist())

    @property
    def constant_kernel(self) -> NDArray[np.float64]:
        """The kernel that always reports the best single output, ``(n, M)``."""
        kernel = np.zeros(self.shape)
        kernel[:, int(np.argmax(self.objective.sum(axis=0)))] = 1.0
        return kernel

    def worth(self, kernel: NDArray[np.float64]) -> float:
        """Σ c_xy k_xy for an ``(n, M)`` kernel; correctly rounded where that is cheap."""
        if kernel.size > _FEW:
            return float(np.vdot(self.objective, kernel))
        terms = self.objective * kernel
        return math.fsum(terms[terms != 0].tolist())

    def enclose(self, mechanism: Mechanism) -> Enclosure:
        """Σ p_x u_xy K_xy, exactly."""
        weights = self.inner_weights(mechanism)
        value = kernel_mean(self.inner, weights, mechanism.bits, self.gains)
        return Enclosure(value, value)

    @cached_property
    def for_solvers(self) -> Shifted:
        """The problem with gains that floats can add up: near zero and not too small.

        A constant taken off all gains and a power of two change no optimum. Gains that are of one
        size with their range stay as they are.
        """
        largest = float(np.abs(self.gains).max())
        offset, power = 0.0, 0
        if 0 < self.gain_range < largest * _FAR:
            offset = float(self.gains.min())
        if 0 < self.gain_range < _SMALL_RANGE:
            power = int(np.frexp(self.gain_range)[1])
        return self.shifted(offset, power)

    def shifted(self, offset: float, power: int) -> Shifted:
        """The problem for the gains (u − offset) / 2**power, for a power of at most zero.

        Raises :class:`InputError` for numbers that lead beyond floats.
        """
        if not (offset or power):
            return Shifted(self, 0.0, 0, Fraction(0))
        good = _LOWEST_POWER <= power <= 0 and abs(offset) <= LARGEST_GAIN
        if good:
            high, low = difference(self.gains, np.full(self.shape, offset))
            gains = np.ldexp(high, -power)
            good = bool(np.isfinite(gains).all())
        if not good:
            raise InputError(
                "offset and power of gains",
                expected=f"an offset of size at most {LARGEST_GAIN:g}, a power of at most zero",
                got=f"{offset!r} and {power!r}",
                remedy="design again",
            )
        lost = Fraction(float(np.abs(low).max()))
        return Shifted(replace(self, gains=gains), offset, power, lost)

    @cached_property
    def exact_constant_value(self) -> Fraction:
        """Utility of the constant kernel, exactly."""
        best = int(np.argmax(self.objective.sum(axis=0)))
        return mean_of(self.inner, self.gains[:, best])

    def width(self, value: float) -> float:
        """The range of the gains."""
        return self.gain_range

    def exact_width(self, value: Fraction) -> Fraction:
        """The range of the gains."""
        gains = self.gains[self.inner.support]
        return Fraction(float(gains.max())) - Fraction(float(gains.min()))

    def mechanism(self, weights: NDArray[np.int64]) -> Mechanism:
        """All symbols back in: one of zero mass gets a copy of the row that serves it best."""
        prior = self.prior
        if len(self.inner) < len(prior):
            gains = self.utility.gains(prior, self.outputs)  # type: ignore[attr-defined]
            full = np.empty((len(prior), weights.shape[1]), dtype=np.int64)
            full[prior.support] = weights
            kernel = np.ldexp(weights.astype(np.float64), -DENOMINATOR_BITS)
            for i in np.setdiff1d(np.arange(len(prior)), prior.support):
                full[i] = weights[int(np.argmax(kernel @ gains[i]))]
            weights = full
        return Mechanism.from_weights(weights, DENOMINATOR_BITS, prior.labels, self.outputs)

    def __str__(self) -> str:
        n, m = self.shape
        privacy = ", ".join(str(notion) for notion in self.notions)
        return f"{n} symbols × {m} outputs, {privacy}, {self.utility!r}"


@dataclass(frozen=True)
class Shifted:
    """A problem whose gains are those of another, less an offset and over a power of two.

    Attributes
    ----------
    problem : with the gains (u − offset) / 2**power, rounded
    offset, power : what was taken off, and the scale
    lost : what rounding took off any gain, at most
    """

    problem: Problem
    offset: float
    power: int
    lost: Fraction

    def bound(self, found: Fraction) -> Fraction:
        """A bound for the original gains from one for the shifted ones."""
        return Fraction(self.offset) + found / (1 << -self.power) + self.lost


@dataclass(frozen=True)
class SublinearProblem(AnyProblem):
    """Maximise a sublinear utility over the kernels that satisfy every notion.

    With μ convex and positively homogeneous in a column::

        maximise    Σ_y μ(K_·y)
        subject to  Σ_y K_xy = 1,  K_·y in the cone that the bounds leave,

    over kernels with any number of outputs; n of them suffice.
    """

    utility: SublinearUtility

    @property
    def not_a_bound(self) -> str:
        """As for every problem, with what to do."""
        return (
            f"{super().not_a_bound}, which sub-convex utilities need; use a linear utility with "
            "it, or a bound such as PML, LDP or Pufferfish"
        )

    def worths(self, columns: NDArray[np.float64]) -> NDArray[np.float64]:
        """μ of each column of an ``(n, M)`` array on the support."""
        return self.utility.worths(columns, self.inner)

    def lifted_worths(self, deviations: NDArray[np.float64]) -> NDArray[np.float64]:
        """μ of columns of output mass one, by the deviations of their lifts from one, ``(C, n)``.

        An f-information is taken from the deviations, which 1 + d would round.
        """
        if sums_up(self.utility):
            worths: NDArray[np.float64] = (
                self.utility.finite_or_more(deviations) @ self.inner.probabilities
            )
            return worths
        return self.worths((1 + deviations).T)

    @cached_property
    def constant_value(self) -> float:
        """μ(1): what a constant output is worth."""
        return float(self.worths(np.ones((len(self.inner), 1)))[0])

    @property
    def constant_kernel(self) -> NDArray[np.float64]:
        """One output."""
        return np.ones((len(self.inner), 1))

    @cached_property
    def revealed_value(self) -> float:
        """Σ_x μ(e_x): every symbol revealed. No kernel is worth more, as μ is subadditive.

        Infinite where the utility is a function whose numbers are beyond floats.
        """
        found = revealed_enclosure(self.utility, self.inner)
        return math.inf if found is None else nearest_float((found.low + found.high) / 2)

    def worth(self, kernel: NDArray[np.float64]) -> float:
        """Σ_y μ(K_·y)."""
        return math.fsum(self.worths(kernel))

    def width(self, value: float) -> float:
        """The value itself."""
        return abs(value)

    def exact_width(self, value: Fraction) -> Fraction:
        """The value itself."""
        return abs(value)

    @property
    def is_exact(self) -> bool:
        """Not where the utility is a function that was given."""
        return sums_up(self.utility) and self.utility.is_enclosed

    def enclose(self, mechanism: Mechanism) -> Enclosure | None:
        """Σ_y μ(K_·y) between two rationals."""
        return kernel_enclosure(self.utility, self.inner, self.inner_weights(mechanism))

    @cached_property
    def exact_constant_value(self) -> Fraction:
        """μ(1), in the floats of the utility where it is a function."""
        return Fraction(self.constant_value)

    def mechanism(self, weights: NDArray[np.int64]) -> Mechanism:
        """Outputs of positive weight, named by the symbols they raise; all symbols back in.

        A symbol of zero mass gets a copy of the row of the most likely symbol.
        """
        prior = self.prior
        weights = weights[:, weights.any(axis=0)]
        p = self.inner.probabilities
        kernel = weights.astype(np.float64)
        raised = kernel > (p @ kernel) * (1 + 1e-9)
        labels = name_outputs(self.inner.labels, raised)
        full = np.empty((len(prior), weights.shape[1]), dtype=np.int64)
        full[:] = weights[int(np.argmax(p))]
        full[prior.support] = weights
        return Mechanism.from_weights(full, DENOMINATOR_BITS, prior.labels, labels)

    def __str__(self) -> str:
        privacy = ", ".join(str(notion) for notion in self.notions)
        return f"{len(self.inner)} symbols, {privacy}, {self.utility!r}"


def state_problem(
    prior: Prior,
    utility: Utility,
    privacy: Any,
    outputs: Any = None,
    time_limit: float | None = None,
) -> Problem | SublinearProblem:
    """Coerce and validate everything a design is asked with.

    Raises
    ------
    PriorError, UtilityError, LevelError
        With what was expected, what came, and what to do.
    """
    as_prior(prior)
    notions = as_notions(privacy)
    if not isinstance(utility, Utility):
        got = utility.__name__ + " (the class)" if isinstance(utility, type) else quote(utility)
        raise UtilityError(
            "utility",
            expected="a utility such as md.utility.Hamming()",
            got=got,
            remedy="make an instance; md.utility.Matrix(u) takes any matrix",
        )
    if not isinstance(utility, (LinearUtility, SublinearUtility)):
        raise UtilityError(
            "utility",
            expected="a linear or a sublinear utility",
            got=quote(utility),
            remedy="derive it from LinearUtility (a matrix of gains) or SublinearUtility (a convex "
            "function of a column)",
        )
    limit = _checked_limit(time_limit)
    if isinstance(utility, SublinearUtility) and outputs is not None:
        raise UtilityError(
            f"outputs for {quote(utility)}",
            expected="none, as the outputs are found by the design",
            got=quote(outputs),
            remedy="leave them out; merge or rename outputs of the mechanism afterwards",
        )
    gains, labels = None, ()
    _check_size(len(prior), len(prior), "symbols")
    if isinstance(utility, LinearUtility):
        gains, labels = _checked_gains(prior, utility, outputs)
    whole = not prior.has_full_support and any(n.covers_zero_mass for n in notions)
    inner = prior if whole else prior.restricted()
    if whole and isinstance(utility, SublinearUtility):
        raise PriorError(
            f"prior of a design for {quote(utility)}",
            expected="positive masses, as the notions tie symbols of zero mass to the others",
            got=f"{int((prior.probabilities == 0).sum())} of {len(prior)} symbols with zero mass",
            remedy="leave those symbols out, or give them a small mass",
        )
    if inner.pmin < SMALLEST_MASS:
        rare = prior.labels[min(prior.support, key=lambda i: prior.weights[i])]
        raise PriorError(
            "prior of a design",
            expected=f"masses of zero or at least {SMALLEST_MASS:g}",
            got=f"{inner.pmin:.3g} for {quote(rare)}",
            remedy="give the symbol zero mass, or merge it with another",
        )
    bounds: list[Bound] = []
    for notion in notions:
        if isinstance(notion, LikelihoodBound):
            bounds.extend(b for b in notion.checked_bounds(inner) if not b.is_vacuous)
    others = tuple(n for n in notions if not isinstance(n, LikelihoodBound))
    asked = (prior, inner, utility, notions, tuple(bounds), others, limit)
    if gains is not None:
        whole = whole or prior.has_full_support
        return Problem(*asked, labels, gains if whole else gains[prior.support])
    assert isinstance(utility, SublinearUtility)
    if not isinstance(utility, FInformation):
        check_sublinear(utility, inner)
    return SublinearProblem(*asked)  # type: ignore[arg-type]


def _checked_gains(
    prior: Prior, utility: LinearUtility, outputs: Any
) -> tuple[NDArray[np.float64], tuple[Label, ...]]:
    labels = utility.labels_for(prior, outputs)
    _check_size(len(prior), len(labels), "outputs")
    gains = checked_matrix(
        utility.gains(prior, labels), (len(prior), len(labels)), f"gains of {utility!r}"
    )
    largest = max(float(gains.max()), -float(gains.min()))
    if largest > LARGEST_GAIN:
        raise UtilityError(
            f"gains of {quote(utility)}",
            expected=f"numbers of size at most {LARGEST_GAIN:g}",
            got=f"{largest:.3g}",
            remedy="divide the gains by a constant",
        )
    return gains, labels


def _check_size(symbols: int, others: int, what: str) -> None:
    """Refuse, before anything is made, a kernel that no memory would hold."""
    if symbols * others > LARGEST_KERNEL:
        raise InputError(
            "design",
            expected=f"at most {LARGEST_KERNEL:,} entries of a kernel",
            got=f"{symbols:,} symbols × {others:,} {what}",
            remedy="merge symbols into groups first",
        )


def _checked_limit(limit: float | None) -> float:
    if limit is None:
        return DEFAULT_LIMIT
    numeric = isinstance(limit, (int, float)) and not isinstance(limit, bool)
    if not numeric or not limit > 0:
        raise InputError(
            "time limit",
            expected="a positive number of seconds",
            got=quote(limit),
            remedy="leave it out, or pass for example time_limit=60",
        )
    return float(min(limit, sys.maxsize))

"""``determined_prior``: how many digits of its prior a kernel gives back.

A kernel that was chosen with a prior satisfies equations in it, and whoever knows what was asked
can solve them. With q = pᵀk the mass of an output with column k these are

- bounds of notions and requirements that bind: max k = e^ε q at an output says what q is, P(x | y)
  = 0.4 at one is linear in p;
- limits that bind: an invariant kernel has pᵀK = p, so that p is its stationary distribution, and
  Σ p_x c_xy K_xy is the limit of a cost;
- the optimum itself. Multiplying columns by factors 1 + c_y with Σ c_y k_y = 0 leaves a kernel that
  keeps all bounds on ratios of likelihoods, so that at an optimum Σ c_y μ_p(k_y) = 0 where the
  utility is the sum over columns of μ_p, or has that derivative.

How exactly each of them holds at the true prior is computed, their system is solved to first order,
and the error is told that a share then has at most. What is found is given away. What is not found
may be given away all the same: by inequalities (which symbols are likelier), by optima of other
kinds, by masses that are known from elsewhere.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import InputError, ZeroMassWarning, quote
from .labels import Label, listing
from .mechanism import Mechanism
from .prior import Prior
from .privacy.binding_bounds import bounds_that_bind
from .privacy.notion import AverageNotion, LikelihoodBound, PrivacyNotion
from .requirement import Requirement
from .solve._design import Design
from .subsets import SubsetSelection
from .utility import Estimation, LinearUtility, SublinearUtility, Utility

Array = NDArray[np.float64]
#: What holds at a prior, as far from zero as it is off.
Conditions = Callable[[Prior], Array]

# A bound binds where it is missed by less than this; solvers leave some 1e-9.
_BINDS = 1e-6
# Equations are taken together with those that hold as exactly: the first holds to one in 10¹⁴.
_TIERS = tuple(10.0**-k for k in range(14, 5, -1))
# Relative step of derivatives, the size below which they are rounding, and that of a combination
# of columns or equations that are dependent.
_STEP, _FLAT, _DEPENDENT = 1e-5, 1e-8, 1e-7
# Rounding of a condition, relatively, and of what is seen as one.
_ROUNDING, _WHOLE = 4e-15, 1e-5
# Symbols times entries of a kernel up to which it is measured, and entries of a selection.
_MOST, _MOST_WRITTEN = 20_000_000, 10_000


@dataclass(frozen=True)
class DeterminedPrior:
    """What of a prior follows from a kernel that was designed for it.

    Attributes
    ----------
    labels : the symbols
    digits : of each share, how many decimal places follow, at most those that it has
    equations : how many independent equations in the shares were found
    free : how many shares could still be chosen at will under these
    sources : what the equations follow from
    whole : decimal places of the prior itself: the logarithm of its common denominator
    is_measured : whether equations were sought, which is not done for very large kernels
    """

    labels: tuple[Label, ...]
    digits: tuple[float, ...]
    equations: int
    free: int
    sources: tuple[str, ...]
    whole: float
    is_measured: bool = True

    @property
    def most(self) -> float:
        """The digits of the share that is known best."""
        return max(self.digits, default=0.0)

    def __str__(self) -> str:
        if not self.is_measured:
            return "not measured, as the kernel is too large"
        if not self.equations:
            return "no share of the prior follows from the kernel by equations"
        known = [d for d in self.digits if d > 0]
        by = listing(self.sources)
        if not known:
            what = "equation" if self.equations == 1 else "equations"
            return f"{self.equations} {what} in the shares of the prior, though no share, by {by}"
        least, most = math.floor(min(known)), math.floor(self.most)
        count = f"{least} to {most}" if least < most else f"{most}"
        which = "one share" if len(known) == 1 else f"{len(known)} shares"
        which = "every share" if len(known) == len(self.digits) else which
        end = ", which are all that it has" if min(known) >= self.whole else ""
        return f"{which} of the prior to {count} digits{end}, by {by}"


def determined_prior(design: Any) -> DeterminedPrior:
    """How many digits of its prior the kernel of a design gives back to whoever knows the question.

    Of the kernel, the notions with their parameters, the requirements and the utility, but not the
    prior, equations in the prior are set up and solved to first order. They are those of bounds and
    limits that bind, and of the optimum where its outputs are more than its independent columns. It
    is a lower bound on what is given away: inequalities are left aside, and so are optima under
    requirements on named outputs and notions of averages, and those of worst cases.

    Symbols without mass are taken as known, and so are equal masses, which say nothing of people.

    Parameters
    ----------
    design : Design or SubsetSelection
        What :func:`design` found, or :func:`subset_selection` for a prior.

    Raises
    ------
    InputError
        For anything else, such as a public form, which does not know its prior.

    Examples
    --------
    An invariant kernel has the prior as its stationary distribution, whatever its level is:

    >>> import mechdesign as md
    >>> prior = md.Prior.from_counts({"a": 1237, "b": 731, "c": 389})
    >>> kept = md.require.invariant()
    >>> found = md.design(prior, md.utility.Hamming(), md.LDP(1), subject_to=kept)
    >>> print(md.determined_prior(found))
    every share of the prior to 3 digits, which are all that it has, by 'the marginal is kept:
    pᵀK = p within 1e-12'
    >>> coarse = md.design(prior.rounded(1), md.utility.Hamming(), md.LDP(1), subject_to=kept)
    >>> round(md.determined_prior(coarse).most, 3)
    1.0
    """
    prior = getattr(design, "prior", None)
    if not isinstance(design, (Design, SubsetSelection)) or prior is None:
        raise InputError(
            "design",
            expected="what md.design found, which knows its prior",
            got=quote(design),
            remedy="pass the design itself, not its kernel or its public form",
        )
    live, whole = prior.support, math.log10(prior.total)
    nothing = DeterminedPrior(prior.labels, (0.0,) * len(prior), 0, len(live) - 1, (), whole)
    if len({prior.weights[x] for x in live}) == 1:
        return nothing
    asked = _Asked.of(design, prior)
    if asked is None:
        return replace(nothing, is_measured=False)
    named = list(_conditions(asked))
    equations = [(name, *_linearised(found, prior)) for name, found in named]
    rows = np.concatenate([np.zeros((0, len(live))), *(slopes for _, slopes, _ in equations)])
    off = np.concatenate([np.zeros(0), *(values for *_, values in equations)])
    names = [name for name, slopes, _ in equations for _ in slopes]
    sizes = np.linalg.norm(rows, axis=1)
    kept = np.flatnonzero((sizes > _FLAT) & (off < _BINDS * sizes))
    if not len(kept):
        return nothing
    rows, off = rows[kept] / sizes[kept, None], off[kept] / sizes[kept] + _ROUNDING
    shares = prior.probabilities[live]
    rank = int(np.linalg.matrix_rank(np.vstack([rows, _unit(shares)]), tol=_DEPENDENT)) - 1
    errors = np.min([_errors(rows[off <= t], off[off <= t], shares) for t in _TIERS], axis=0)
    with np.errstate(divide="ignore"):
        places = np.clip(-np.log10(2 * errors), 0.0, whole)
    digits = np.zeros(len(prior))
    digits[live] = places
    sources = tuple(dict.fromkeys(names[i] for i in kept.tolist()))
    return DeterminedPrior(
        prior.labels, tuple(digits.tolist()), rank, len(live) - 1 - rank, sources, whole
    )


@dataclass(frozen=True)
class _Asked:
    """A kernel and what it was chosen by."""

    prior: Prior
    mechanism: Mechanism
    notions: tuple[PrivacyNotion, ...]
    requirements: tuple[Requirement, ...]
    utility: Utility
    #: Symbols of equal mass, where the public form tells which these are.
    groups: Sequence[NDArray[np.integer]] = ()

    @classmethod
    def of(cls, design: Design | SubsetSelection, prior: Prior) -> _Asked | None:
        """Of a design, or of a selection whose matrix can be written; ``None`` for larger ones."""
        if isinstance(design, Design):
            if len(prior) * design.mechanism.kernel.size > _MOST:
                return None
            utility, asked = design.utility, design.requirements
            return cls(prior, design.mechanism, design.notions, asked, utility)
        if len(prior) * len(design.outputs) > _MOST_WRITTEN:
            return None
        rows = [[float(design.probability(x, y)) for y in design.outputs] for x in prior.labels]
        made = Mechanism(rows, prior.labels)
        return cls(prior, made, design.notions, (), Estimation(), design.layout.rows)


def _unit(vector: Array) -> Array:
    return np.asarray(vector / np.linalg.norm(vector))


def _errors(rows: Array, off: Array, shares: Array) -> Array:
    """By how much each share may be off where the equations are as far off as told; infinite where
    they leave it open. Unknown are relative changes of the shares, which keep their sum.
    """
    system = np.vstack([rows, _unit(shares)])
    inverse = np.linalg.pinv(system, rcond=_DEPENDENT)
    is_open = np.diag(inverse @ system) < 1 - _WHOLE
    errors = shares * (abs(inverse[:, :-1]) @ off)
    return np.asarray(np.where(is_open, np.inf, errors))


def _linearised(conditions: Conditions, prior: Prior) -> tuple[Array, Array]:
    """Derivatives ``(E, n)`` of conditions by relative changes of the shares, and how far each is
    off at the prior itself, ``(E,)``.
    """
    live = prior.support
    off, columns = abs(conditions(prior)), []
    for x in live.tolist():
        ends = []
        for step in (_STEP, -_STEP):
            masses = prior.probabilities.copy()
            masses[x] *= 1 + step
            ends.append(conditions(_prior_of(masses, prior)))
        columns.append((ends[0] - ends[1]) / (2 * _STEP))
    return np.array(columns).T.reshape(len(off), len(live)), off


def _prior_of(masses: Array, like: Prior) -> Prior:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ZeroMassWarning)
        return Prior.from_counts(masses, like.labels).with_schema(like.schema)


# What holds at the prior


def _conditions(asked: _Asked) -> Iterator[tuple[str, Conditions]]:
    """What binds, and what it is called."""
    prior, mechanism = asked.prior, asked.mechanism
    for notion in asked.notions:
        if not notion.uses_prior or math.inf in notion.levels:
            continue
        if isinstance(notion, LikelihoodBound):
            yield str(notion), bounds_that_bind(notion.checked_bounds, mechanism, prior)
        elif isinstance(notion, AverageNotion):
            yield str(notion), partial(_levels, notion, mechanism)
    for one in asked.requirements:
        if one.is_local:
            yield str(one), bounds_that_bind(one.bounds, mechanism, prior)
        else:
            ends = _binding_ends(one, mechanism, prior)
            yield str(one), partial(_limits, one, mechanism, ends)
    if asked.groups:
        yield "equal masses", partial(_spreads, asked.groups)
    if (optimum := _optimum(asked)) is not None:
        yield "the optimum", optimum


def _spreads(groups: Sequence[NDArray[np.integer]], prior: Prior) -> Array:
    """By how much masses of one group differ, relatively."""
    masses = [prior.probabilities[rows] for rows in groups]
    return np.concatenate([own[1:] / own[0] - 1 for own in masses])


def _levels(notion: AverageNotion, mechanism: Mechanism, prior: Prior) -> Array:
    """By how much levels that are kept on average are missed."""
    return np.array(notion.checked_measure(mechanism, prior)) - np.array(notion.levels)


def _binding_ends(
    asked: Requirement, mechanism: Mechanism, prior: Prior
) -> list[tuple[int, float]]:
    """Limits that bind, and where between its ends each does: 0 at the low one, 1 at the high."""
    found = []
    for i, (value, low, high) in enumerate(_values_of_limits(asked, mechanism, prior)):
        if high - low <= 2 * _BINDS:
            found.append((i, 0.5))
        elif value <= low + _BINDS or value >= high - _BINDS:
            found.append((i, float(value >= high - _BINDS)))
    return found


def _values_of_limits(
    asked: Requirement, mechanism: Mechanism, prior: Prior
) -> list[tuple[float, float, float]]:
    kernel = mechanism.kernel
    return [
        (float(limit.coefficients @ kernel[limit.symbols, limit.outputs]), *limit.ends)
        for limit in asked.limits(prior, mechanism.outputs)
    ]


def _limits(
    asked: Requirement, mechanism: Mechanism, ends: Sequence[tuple[int, float]], prior: Prior
) -> Array:
    """By how much limits are off the ends at which they bind."""
    values, found = _values_of_limits(asked, mechanism, prior), []
    for i, place in ends:
        value, low, high = values[i]
        end = (low + high) / 2 if place == 0.5 else (high if place else low)
        found.append(value - end)
    return np.array(found)


# What holds at an optimum


def _optimum(asked: _Asked) -> Conditions | None:
    """Sums of the values of columns that an optimum makes zero; ``None`` where nothing is known.

    Columns are taken at mass one under the prior of the design.
    """
    likelihoods = all(isinstance(notion, LikelihoodBound) for notion in asked.notions)
    if not likelihoods or not all(one.is_local for one in asked.requirements):
        return None
    kernel, live = asked.mechanism.kernel, asked.prior.support
    masses = asked.prior.probabilities @ kernel
    used = np.flatnonzero(masses > _BINDS)
    lifts = kernel[:, used] / masses[used]
    values = _values_of_columns(asked, lifts, masses[used], used)
    if values is None:
        return None
    *_, sizes, basis = np.linalg.svd(lifts[live])
    rank = int((sizes > _DEPENDENT * sizes[0]).sum())
    combinations = basis[rank:]
    if not len(combinations):
        return None
    scale = float(abs(values(asked.prior)).max()) or 1.0
    return lambda prior: np.asarray(combinations @ values(prior) / scale)


def _values_of_columns(
    asked: _Asked, columns: Array, masses: Array, used: NDArray[np.intp]
) -> Conditions | None:
    """The value of each column under a prior, or the derivative of the utility by its factor."""
    utility: Utility = asked.utility
    if isinstance(utility, SublinearUtility):
        return partial(utility.values, columns)
    if isinstance(utility, LinearUtility):
        outputs = asked.mechanism.outputs

        def gained(prior: Prior) -> Array:
            gains = utility.gains(prior, outputs)[:, used]
            return np.asarray(prior.probabilities @ (gains * columns))

        return gained
    if not isinstance(utility, Estimation) or utility.truth is not None:
        return None
    live = asked.prior.support
    # Up to what no kernel changes, the loss is the same for all truths.
    loss, some = utility.survey(asked.prior).losses, columns[live]
    if np.linalg.matrix_rank(some, tol=_DEPENDENT) < len(live):
        return None

    def informative(prior: Prior) -> Array:
        q = prior.probabilities[live] @ some
        scores = np.linalg.solve((some * (masses / q)) @ some.T, some)
        return np.asarray((scores * (loss @ scores)).sum(axis=0) / q)

    return informative

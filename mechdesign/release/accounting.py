"""What repeated reports about one person add up to.

Reports that are drawn independently given the secret compose to the product kernel. Where that is
small enough it is built and checked exactly; otherwise the level is bounded from the largest
likelihood ratios of single reports, which multiply.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, RepeatWarning, quote, warn
from ..mechanism import Mechanism, mechanism_of
from ..prior import Prior
from ..privacy import (
    LDP,
    PML,
    ApproximateLDP,
    ApproximatePufferfish,
    Bound,
    LikelihoodBound,
    MaximalCostLeakage,
    MaximalLeakage,
    MIPrivacy,
    MIPufferfish,
    PrivacyNotion,
)
from ..privacy.notion import as_notions
from ..published import needs_prior
from ..tables import is_missing
from .counts import count_rows

# Product kernels with more entries times reports are bounded, not built.
_MOST_WORK = 100_000
# Reports of one mechanism: more would be no count that floats can tell apart.
_MOST_TIMES = 10**15
# A mechanism and how often it reports.
_Repeated = tuple[Mechanism, int]
# Relative rounding of a product of ratios and of a sum of masses, generously.
_SLACK = 1e-11
# Levels that are at most the sum of those of single reports, as these are independent given X,
# and levels that are at most the logarithm of the largest likelihood ratio.
_ADDING = (MaximalLeakage, MaximalCostLeakage, MIPrivacy)
_BELOW_RATIO = (*_ADDING, MIPufferfish, ApproximateLDP, ApproximatePufferfish)


@dataclass(frozen=True)
class ComposedLevel:
    """What several reports together leak under one notion.

    Attributes
    ----------
    notion : the notion with the level that each report was asked to keep
    levels : levels of all reports together, in nats, rounded up; ``inf`` where something is ruled
        out
    exact : whether they come from the exact product kernel; else they are upper bounds
    """

    notion: PrivacyNotion
    levels: tuple[float, ...]
    exact: bool

    @property
    def meets(self) -> bool:
        """Whether the reports together still keep what was asked of each."""
        return all(
            have <= asked for have, asked in zip(self.levels, self.notion.levels, strict=True)
        )

    def __str__(self) -> str:
        # The notion writes its other parameters itself, such as δ.
        shown = re.sub(r"\binf\b", "infinite", str(self.notion.with_levels(*self.levels)))
        return shown if self.exact else f"{shown} at most"


@dataclass(frozen=True)
class Composition:
    """Several independent reports about the same secret, and what they leak together."""

    reports: int
    found: tuple[ComposedLevel, ...]

    def __iter__(self) -> Any:
        return iter(self.found)

    def __str__(self) -> str:
        return f"{self.reports} reports together: " + ", ".join(map(str, self.found))


def compose(
    *items: Any,
    times: int = 1,
    prior: Prior | None = None,
    notions: Iterable[PrivacyNotion] | None = None,
) -> Composition:
    """What independent reports about the same secret leak together.

    Parameters
    ----------
    items : Mechanisms or Designs with the same inputs
        One for each report.
    times : int
        How often the whole list is reported.
    prior, notions : optional
        When left out, what each design was asked to keep, under its own prior; for bare mechanisms
        LDP, and PML with a prior.

    Returns
    -------
    Composition
        Exact levels of the product kernel, or upper bounds where it is too large to build.

    Raises
    ------
    InputError
        For no mechanism, different inputs, or an impossible number of times.

    Examples
    --------
    >>> import mechdesign as md
    >>> flip = md.Mechanism([[.75, .25], [.25, .75]])
    >>> print(md.compose(flip, times=2, prior=md.Prior([.5, .5])))
    2 reports together: LDP(2.19722), PML(0.587787)
    """
    whole_number = isinstance(times, (int, np.integer)) and not isinstance(times, bool)
    if not items or not whole_number or not 1 <= times <= _MOST_TIMES:
        raise InputError(
            "composition",
            expected="at least one mechanism, once to 10^15 times",
            got=f"{len(items)} mechanisms, {quote(times)} times",
            remedy="pass what was reported",
        )
    kernels = [mechanism_of(item) for item in items]
    for kernel in kernels[1:]:
        if kernel.inputs != kernels[0].inputs:
            raise InputError(
                "composition",
                expected=f"mechanisms with the inputs {kernels[0].inputs[:6]}",
                got=f"one with {kernel.inputs[:6]}",
                remedy="only reports about the same secret compose this way",
            )
    whole = [(kernel, n * int(times)) for kernel, n in _distinct(kernels)]
    product = _product(whole)
    found = []
    for notion, known in _asked_of(items, prior, notions):
        if product is not None:
            levels = notion.check(product, known).achieved
            found.append(ComposedLevel(notion, tuple(levels), exact=True))
        elif isinstance(notion, LikelihoodBound):
            found.append(ComposedLevel(notion, _bounded(notion, whole, known), exact=False))
        else:
            most = _sum_bounded(notion, whole, known)
            found.append(ComposedLevel(notion, (most,) * len(notion.levels), exact=False))
    # The same notion under two priors is told once where they agree.
    return Composition(sum(n for _, n in whole), tuple(dict.fromkeys(found)))


def _asked_of(
    items: Sequence[Any], prior: Prior | None, notions: Any
) -> list[tuple[PrivacyNotion, Prior]]:
    """Which notions are asked, and under which priors."""
    own = dict.fromkeys(item.prior for item in items if hasattr(item, "prior"))
    priors = list(own) if prior is None else [prior]
    inputs = mechanism_of(items[0]).inputs
    if notions is None:
        # A public design holds no prior: what does not need one is told, and LDP for the rest.
        found = [
            (notion, prior or getattr(item, "prior", None), item)
            for item in items
            for notion in getattr(item, "notions", ())
        ]
        pairs = [
            (notion, known or Prior.uniform(inputs))
            for notion, known, _ in found
            if known is not None or not needs_prior(notion)
        ]
        stated = any(getattr(item, "stated", ()) for item in items)
        if pairs and len(pairs) == len(found) and not stated:
            return list(dict.fromkeys(pairs))
        if pairs or found or stated:
            free = [(LDP(math.inf), Prior.uniform(inputs))]
            told = any(isinstance(notion, LDP) for notion, _ in pairs)
            return list(dict.fromkeys([*pairs, *([] if told else free)]))
        notions = [LDP(math.inf)] + ([PML(math.inf)] if priors else [])
    # Without a prior any full one does for notions that need none.
    every = priors or [Prior.uniform(inputs)]
    return [(notion, known) for notion in as_notions(notions) for known in every]


def _product(kernels: list[_Repeated]) -> Mechanism | None:
    """The kernel of all reports together, with reports in any order merged; ``None`` if large."""
    groups: list[tuple[Mechanism, int]] = []
    for kernel, n in kernels:
        place = next((i for i, (k, _) in enumerate(groups) if k is kernel or k == kernel), None)
        if place is None:
            groups.append((kernel, n))
        else:
            groups[place] = (kernel, groups[place][1] + n)
    inputs, reports = kernels[0][0].inputs, sum(n for _, n in kernels)
    rows = len(inputs)
    size = math.prod(
        math.comb(int(kernel.weights.any(axis=0).sum()) + times - 1, times)
        for kernel, times in groups
    )
    if size * rows * reports > _MOST_WORK:
        return None
    columns: dict[tuple[Any, ...], NDArray[Any]] = {(): np.array([1] * rows, dtype=object)}
    for kernel, times in groups:
        parts = _repeated(kernel, times)
        columns = {
            (*key, outcome): column * part
            for key, column in columns.items()
            for outcome, part in parts.items()
        }
    matrix = np.stack(list(columns.values()), axis=1)
    bits = sum(kernel.bits * n for kernel, n in kernels)
    return Mechanism.from_weights(matrix, bits, inputs, list(columns), check=False)


def _repeated(kernel: Mechanism, times: int) -> dict[tuple[int, ...], NDArray[Any]]:
    """Weights of how often each outcome occurs in several reports of one mechanism."""
    weights = kernel.weights.astype(object)
    used = [y for y in range(kernel.shape[1]) if weights[:, y].any()]
    start = np.array([1] * len(weights), dtype=object)
    found: dict[tuple[int, ...], NDArray[Any]] = {(0,) * len(used): start}
    for _ in range(times):
        grown: dict[tuple[int, ...], NDArray[Any]] = {}
        for counts, column in found.items():
            for k, y in enumerate(used):
                key = (*counts[:k], counts[k] + 1, *counts[k + 1 :])
                added = column * weights[:, y]
                grown[key] = grown[key] + added if key in grown else added
        found = grown
    return found


def _bounded(notion: LikelihoodBound, kernels: list[_Repeated], prior: Prior) -> tuple[float, ...]:
    """Upper bounds on the levels: P(y|x)/P(y|x') of all reports is at most the product of ratios.

    With R that product, (δ_x K)(y)/(νK)(y) ≤ 1/Σ_x' ν_x'/R[x,x'] for every outcome y, and a mixture
    μ lies below the largest of its parts. All in logarithms, which do not overflow.
    """
    logs = _log_ratios(kernels)
    levels = [0.0] * len(notion.levels)
    for bound in notion.checked_bounds(prior):
        level = _bound_level(bound, logs)
        levels[bound.parameter] = max(levels[bound.parameter], level)
    return tuple(levels)


def _distinct(kernels: list[Mechanism]) -> list[_Repeated]:
    """The kernels and how often each is there; copies count apart, which costs time only."""
    found = {id(kernel): kernel for kernel in kernels}
    counts = Counter(map(id, kernels))
    return [(kernel, counts[key]) for key, kernel in found.items()]


def _log_ratios(kernels: list[_Repeated]) -> NDArray[np.float64]:
    """Logarithms of the largest likelihood ratios of all reports together, ``(N, N)``."""
    parts = [n * np.log(largest_ratios(kernel)) for kernel, n in kernels]
    return np.asarray(np.sum(parts, axis=0))


def _sum_bounded(notion: PrivacyNotion, kernels: list[_Repeated], prior: Prior) -> float:
    """An upper bound on the one level of an average or approximate notion; ``inf`` if unknown.

    Maximal leakage, maximal cost leakage and mutual information with the secret add up at most;
    maximal leakage and informations never exceed the logarithm of the number of symbols.
    """
    found = math.inf
    if isinstance(notion, _BELOW_RATIO):
        found = float(_log_ratios(kernels).max())
    if isinstance(notion, _ADDING):
        each = [(n, notion.check(kernel, prior).achieved[0]) for kernel, n in kernels]
        found = min(found, math.fsum(n * level for n, level in each))
    if isinstance(notion, (MaximalLeakage, MIPrivacy, MIPufferfish)):
        found = min(found, math.log(len(prior)))
    return found * (1 + _SLACK) + _SLACK


def _bound_level(bound: Bound, logs: NDArray[np.float64]) -> float:
    from scipy.special import logsumexp

    over, under = bound.over.matrix.toarray() > 0, bound.under.matrix.toarray()
    with np.errstate(divide="ignore"):
        masses = np.log(under)
    # against[x, j]: log of the largest likelihood ratio of the symbol x against hypothesis j.
    against = np.stack([-logsumexp(masses - row, axis=1) for row in logs])
    worst = np.stack([against[part].max(axis=0) for part in over])
    if bound.pairing == "matched":
        found = np.diagonal(worst).copy()
        scales = np.ones(len(found)) if bound.scales is None else np.array(bound.scales)
    else:
        found, scales = np.array([worst.max()]), np.ones(1)
    found = np.maximum(found, 0)
    found = np.where(found > _SLACK, found * (1 + _SLACK) + _SLACK, found + 2 * _SLACK)
    free = scales == 0
    each = found / np.where(free, 1, scales)
    each[free & (found > 4 * _SLACK)] = math.inf
    return float(each.max())


def largest_ratios(mechanism: Mechanism) -> NDArray[np.float64]:
    """The largest P(y|x)/P(y|x') over the outcomes y, ``(N, N)``, rounded up; ``inf`` over 0."""
    kernel = mechanism.kernel
    found = np.ones((len(kernel), len(kernel)))
    for column in kernel.T:
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = column[:, None] / column[None, :]
        np.maximum(found, np.where(column[:, None] > 0, ratio, 0), out=found)
    slack = 1 + 4 * np.finfo(float).eps + 2 * float(mechanism.row_error)
    return np.where(np.eye(len(kernel), dtype=bool), 1.0, found * slack)


def warn_of_repeats(frame: Any, person: str, item: Any) -> None:
    """Warn when a table holds several rows about one person, with what they add up to."""
    warn_of_rows(most_rows_of_one(frame, person), person, item)


def warn_of_rows(most: int, person: str, item: Any) -> None:
    """Warn when one person has more than one row."""
    if most > 1:
        warn(
            f"column {person!r}: one person has {most} rows; {compose(item, times=most)}, where "
            "each report alone keeps what was asked; report once per person, or design for "
            "less leakage",
            RepeatWarning,
        )


def most_rows_of_one(frame: Any, person: str) -> int:
    """The largest number of rows with the same value in a column of any table."""
    if isinstance(frame, Iterator) or hasattr(frame, "read_all"):
        raise InputError(
            "person",
            expected="a table that can be read twice",
            got=f"a {type(frame).__name__}",
            remedy="count the rows of each person first, and see md.compose",
        )
    counts = count_rows(frame, [person])
    return max((n for who, n in counts.items() if not is_missing(who)), default=0)

"""What repeated reports about one person add up to.

Reports that are drawn independently given the secret compose to the product kernel. Where that is
small enough it is built and checked exactly; otherwise the level is bounded from the largest
likelihood ratios of single reports, which multiply.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, RepeatWarning, UnknownNameError, warn
from ..mechanism import Mechanism
from ..prior import Prior
from ..privacy import LDP, PML, Bound, LikelihoodBound, PrivacyNotion
from .sampler import mechanism_of

# Product kernels with more entries are bounded, not built.
_MOST_ENTRIES = 200_000
# Relative rounding of a product of ratios and of a sum of masses, generously.
_SLACK = 1e-11


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
        name = type(self.notion).__name__
        shown = ", ".join("infinite" if v == math.inf else f"{v:.6g}" for v in self.levels)
        return f"{name}({shown})" if self.exact else f"{name}({shown}) at most"


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
        Those of the first design when left out; for bare mechanisms LDP, and PML with a prior.

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
    if not items or not isinstance(times, (int, np.integer)) or times < 1:
        raise InputError(
            "composition",
            expected="at least one mechanism, at least once",
            got=f"{len(items)} mechanisms, {times!r} times",
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
    prior = prior or next((i.prior for i in items if hasattr(i, "prior")), None)
    asked = list(notions or _notions_of(items))
    if not asked:
        asked = [LDP(math.inf)] + ([] if prior is None else [PML(math.inf)])
    whole = kernels * int(times)
    product = _product(whole)
    # Without a prior only notions that need none are asked; any full one does for them.
    known = prior or Prior.uniform(kernels[0].inputs)
    found = []
    for notion in asked:
        if product is not None:
            levels = notion.check(product, known).achieved
            found.append(ComposedLevel(notion, tuple(levels), exact=True))
        elif isinstance(notion, LikelihoodBound):
            found.append(ComposedLevel(notion, _bounded(notion, whole, known), exact=False))
        else:
            unknown = (math.inf,) * len(notion.levels)
            found.append(ComposedLevel(notion, unknown, exact=False))
    return Composition(len(whole), tuple(found))


def _notions_of(items: Sequence[Any]) -> list[PrivacyNotion]:
    return list(dict.fromkeys(n for item in items for n in getattr(item, "notions", ())))


def _product(kernels: list[Mechanism]) -> Mechanism | None:
    """The kernel of all reports together, with reports in any order merged; ``None`` if large."""
    names: dict[int, int] = {}
    numbers: list[int] = []
    for kernel in kernels:
        same = next((names[id(k)] for k in kernels[: len(numbers)] if k is kernel), None)
        if same is None:
            same = next(
                (n for k, n in zip(kernels, numbers, strict=False) if k == kernel), len(numbers)
            )
        names[id(kernel)] = same
        numbers.append(same)
    rows = len(kernels[0].inputs)
    columns: dict[tuple[Any, ...], NDArray[Any]] = {(): np.array([1] * rows, dtype=object)}
    for kernel, number in zip(kernels, numbers, strict=True):
        weights = kernel.weights.astype(object)
        used = [y for y in range(kernel.shape[1]) if weights[:, y].any()]
        grown: dict[tuple[Any, ...], NDArray[Any]] = {}
        for key, column in columns.items():
            for y in used:
                longer = tuple(sorted((*key, (number, y))))
                added = column * weights[:, y]
                grown[longer] = grown[longer] + added if longer in grown else added
            if len(grown) * rows > _MOST_ENTRIES:
                return None
        columns = {key: column for key, column in grown.items() if column.any()}
    matrix = np.stack(list(columns.values()), axis=1)
    bits = sum(kernel.bits for kernel in kernels)
    return Mechanism.from_weights(matrix, bits, kernels[0].inputs, list(columns), check=False)


def _bounded(notion: LikelihoodBound, kernels: list[Mechanism], prior: Prior) -> tuple[float, ...]:
    """Upper bounds on the levels: P(y|x)/P(y|x') of all reports is at most the product of ratios.

    With R that product, (δ_x K)(y)/(νK)(y) ≤ 1/Σ_x' ν_x'/R[x,x'] for every outcome y, and a mixture
    μ lies below the largest of its parts.
    """
    ratios = np.ones((len(prior), len(prior)))
    for kernel in kernels:
        ratios = ratios * largest_ratios(kernel)
    with np.errstate(divide="ignore"):
        inverse = 1 / ratios
    levels = [0.0] * len(notion.levels)
    for bound in notion.checked_bounds(prior):
        level = _bound_level(bound, inverse)
        levels[bound.parameter] = max(levels[bound.parameter], level)
    return tuple(levels)


def _bound_level(bound: Bound, inverse: NDArray[np.float64]) -> float:
    over, under = bound.over.matrix.toarray() > 0, bound.under.matrix.toarray()
    # against[x, j]: largest likelihood ratio of the symbol x against the hypothesis j.
    with np.errstate(divide="ignore"):
        against = 1 / (inverse @ under.T)
    worst = np.stack([against[part].max(axis=0) for part in over])
    if bound.pairing == "matched":
        found = np.diagonal(worst).copy()
        scales = np.ones(len(found)) if bound.scales is None else np.array(bound.scales)
    else:
        found, scales = np.array([worst.max()]), np.ones(1)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.maximum(np.log(found * (1 + _SLACK)), 0) * (1 + _SLACK)
        each = np.where(
            scales > 0, logs / np.where(scales > 0, scales, 1), np.where(logs > 0, math.inf, 0)
        )
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
    import narwhals.stable.v1 as nw

    try:
        table = nw.from_native(frame).lazy()
    except TypeError:
        raise InputError(
            "person",
            expected="a table that can be read twice",
            got=f"a {type(frame).__name__}",
            remedy="count the rows of each person first, and see md.compose",
        ) from None
    names = table.collect_schema().names()
    if person not in names:
        raise UnknownNameError("column of persons", person, names)
    counts = table.group_by(person).agg(nw.len().alias("rows")).select(nw.col("rows").max())
    most = counts.collect().to_dict(as_series=False)["rows"]
    return int(most[0] or 0) if most else 0

"""Joint tables of many columns of a plan, whose reports together are no kernel that fits in memory.

Reports of the columns are drawn independently, so that weights on all of them are products of
weights on each: with K_i a_i = I the product of a_i(y_i) is unbiased for the combination of values,
whatever the columns have to do with each other. Tables are made one column at a time, of the rows
that came.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, InputError, PrecisionWarning, quote, warn
from ..mechanism import Mechanism
from ..schema import Schema
from ..solve.columns_plan import MOST_ENTRIES, KernelPlan
from ._identifiability import ask, report_weights
from .likelihood import fit_of, maximise
from .references import FEWEST, reference_of
from .samples import CountedRows, Sample, read_columns
from .several_estimates import kernels_of, note_of_plan
from .subset_estimates import ManyEstimates

Vector = NDArray[np.float64]

# Cells of the largest table of estimates.
_MOST_CELLS = 1 << 22


def large_columns(designed: Any, column: Any) -> list[str] | None:
    """The columns of a plan whose reports together are too many for one kernel; else ``None``."""
    if not isinstance(designed, KernelPlan) or isinstance(column, str):
        return None
    names = list(designed.names) if column is None else list(Schema(tuple(column)).names)
    shapes = [kernel.shape for kernel in kernels_of(designed, names).values()]
    is_large = math.prod(n * m for n, m in shapes) > MOST_ENTRIES
    return names if is_large else None


def estimate_combinations(
    reports: Any,
    plan: KernelPlan,
    names: Sequence[str],
    *,
    confidence: float,
    target: str,
    missing: str,
    receipt: Any,
) -> tuple[ManyEstimates, dict[str, float]]:
    """Shares of all combinations of values of columns of a plan, by products of weights.

    Returns the shares, without the fit of all columns together, and the p-value of the fit of each.

    Raises :class:`DataError` for reports that are none of the plan's, fewer than 10 of them, or too
    many combinations.
    """
    kernels = kernels_of(plan, names)
    cells = math.prod(kernel.shape[0] for kernel in kernels.values())
    if cells > _MOST_CELLS:
        raise DataError(
            "joint table",
            expected=f"at most {_MOST_CELLS:,} combinations of values",
            got=f"{cells:,}",
            remedy=f"estimate fewer columns at a time, such as column={names[:2]!r}",
        )
    note = note_of_plan(reports, kernels, receipt)
    if isinstance(reports, Sample):
        raise InputError(
            "reports of many columns",
            expected="a table, or counts of tuples of reports",
            got="rows of a survey",
            remedy="estimate fewer columns at a time",
        )
    if isinstance(reports, Mapping):
        reports = _of_counts(reports, names)
    sample, places = read_columns(reports, kernels, (), missing)
    n = int(sample.repeats.sum())
    if n < FEWEST:
        raise DataError(
            "reports",
            expected=f"at least {FEWEST}",
            got=str(n),
            remedy="collect more; md.plan (mechdesign plan) says how many",
        )
    weights, fits = [], {}
    for name, kernel in kernels.items():
        reference = reference_of(plan[name], kernel)
        weights.append(report_weights(kernel, ask(kernel), reference))
        fits[name] = _fit(kernel, np.bincount(places[name], sample.repeats, kernel.shape[1]), n)
    share, rows = sample.repeats / n, list(places.values())
    values = contracted(share, rows, weights)
    second = contracted(share, rows, [a**2 for a in weights])
    likely = np.clip(values, 0.0, 1.0)
    # Of people at random, or of these people, whose values are what they are.
    fixed = likely**2 if target == "population" else likely
    errors = np.sqrt(np.maximum(second - fixed, 0.0) / n)
    if float(np.median(errors)) * 1.96 >= 0.5:
        warn(
            f"{n} reports say next to nothing about {len(values)} combinations "
            f"(± {1.96 * float(np.median(errors)):.2g}); estimate fewer columns at a time",
            PrecisionWarning,
        )
    labels = tuple(product(*(kernel.inputs for kernel in kernels.values())))
    found = ManyEstimates(labels, values, errors, n, confidence, target, 1.0, None, note)
    return found, fits


def contracted(
    share: Vector, places: Sequence[NDArray[np.int64]], weights: Sequence[Vector]
) -> Vector:
    """Σ_r share_r ⊗_i weights_i[places_i[r]] over rows r, as a vector of all combinations.

    >>> weights = [np.eye(2), np.array([[1, 2], [3, 4]])]
    >>> contracted(np.ones(1), [np.array([0]), np.array([1])], weights)
    array([3., 4., 0., 0.])
    """
    # Rows of the columns that are still to be taken in, each once, with sums over the others.
    rest, group = np.unique(np.column_stack(places), axis=0, return_inverse=True)
    sums = np.bincount(group.ravel(), share, len(rest))
    known: Vector = np.asarray(sums, dtype=np.float64)[:, None]
    for own in weights:
        here, rest = rest[:, 0], rest[:, 1:]
        group = np.zeros(len(rest), dtype=np.int64)
        if rest.shape[1]:
            rest, group = np.unique(rest, axis=0, return_inverse=True)
            group = group.ravel()
        made = np.zeros((int(group.max()) + 1, known.shape[1], own.shape[1]))
        for report in np.unique(here):
            rows = np.flatnonzero(here == report)
            made[group[rows]] += known[rows][:, :, None] * own[report]
        known = made.reshape(len(made), -1)
    return np.asarray(known[0])


def _fit(kernel: Mechanism, counts: NDArray[Any], n: int) -> float:
    found, gap, _ = maximise(kernel.kernel, counts[None, :] / n)
    return fit_of(kernel.kernel, counts / n, found[0], n, float(gap[0]))


def _of_counts(counts: Any, names: Sequence[str]) -> CountedRows:
    """Counts of tuples of reports as rows."""
    wrong = next((k for k in counts if not isinstance(k, tuple) or len(k) != len(names)), None)
    if wrong is not None:
        raise DataError(
            "counts of reports",
            expected=f"tuples of {len(names)} reports as keys",
            got=quote(wrong, 40),
            remedy="pass the table, or {('a', 'x', 1): 12, …}",
        )
    return CountedRows(tuple(names), dict(counts), {}, texts=False)

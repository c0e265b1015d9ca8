"""Joint tables of many columns of a plan, whose reports together are no kernel that fits in memory.

Reports of the columns are drawn independently, so that weights on all of them are products of
weights on each: with K_i a_i = I the product of a_i(y_i) is unbiased for the combination of values,
whatever the columns have to do with each other. Tables are made one column at a time, of the rows
that came.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, InputError, PrecisionWarning, quote, warn
from ..mechanism import Mechanism
from ..schema import Schema
from ..solve.columns_plan import MOST_ENTRIES, KernelPlan
from ._identifiability import ask_as_designed, report_weights
from ..inference.likelihood import fit_of, maximise
from .references import FEWEST, reference_of
from .samples import CountedRows, Sample, named_columns, read_columns
from .several_estimates import kernels_of, note_of_plan
from .subset_estimates import ManyEstimates
from .survey import Drawn, Survey, check_single, drawn_by, freedom_of

Vector = NDArray[np.float64]

# Cells of the largest table of estimates.
_MOST_CELLS = 1 << 22
# Cells of all tables of strata and clusters, which variances are made of one after the other.
_MOST_TABLES = 1 << 32


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
    survey: Survey,
    confidence: float,
    target: str,
    missing: str,
    receipt: Any,
) -> tuple[ManyEstimates, dict[str, float]]:
    """Shares of all combinations of values of columns of a plan, by products of weights; of
    designs for shares of features, those of their combinations.

    Returns the shares, without the fit of all columns together, and the p-value of the fit of each.

    Raises :class:`DataError` for reports that are none of the plan's, fewer than 10 of them, too
    many combinations, and for weights, strata, clusters or a population that cannot be used;
    :class:`InputError` for groups, and for designs for questions that are no shares.
    """
    if survey.by_group is not None:
        raise InputError(
            "by_group for so many columns at once",
            expected="it left out",
            got=quote(survey.by_group),
            remedy=f"estimate fewer of them at a time, such as column={list(names[:1])!r}",
        )
    kernels = kernels_of(plan, names)
    asked = {name: ask_as_designed(plan[name]) for name in kernels}
    for name, question in asked.items():
        if not np.isin(question.weights, (0, 1)).all():
            raise InputError(
                "columns",
                expected="shares to estimate of each, where there are so many combinations",
                got=f"column {quote(name)}, whose design asks for other weighted sums",
                remedy=f"estimate fewer columns at a time, such as column={list(names[:1])!r}",
            )
    cells = math.prod(len(question.labels) for question in asked.values())
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
        if survey.asked:
            raise InputError(
                "reports of a survey",
                expected="a table with all columns",
                got="counts",
                remedy="pass the table",
            )
        reports = _of_counts(reports, names)
    others = sorted(set(survey.columns))
    for name in kernels:
        named_columns(name, others)
    sample, places = read_columns(reports, kernels, others, missing)
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
        weights.append(report_weights(kernel, asked[name], reference))
        fits[name] = _fit(kernel, np.bincount(places[name], sample.repeats, kernel.shape[1]), n)
    tables = _Tables(list(places.values()), weights)
    freedom = math.inf
    if survey.asked:
        drawn = drawn_by(survey, sample)
        if target == "population":
            check_single(drawn, survey.strata)
        _check_work(drawn, cells, target, names)
        values, errors = _drawn_shares(tables, sample, drawn, survey.weighting, target)
        freedom = freedom_of(drawn, target)
    else:
        share = sample.repeats / n
        values = tables.sum(share)
        likely = np.clip(values, 0.0, 1.0)
        # Of people at random, or of these people, whose values are what they are.
        fixed = likely**2 if target == "population" else likely
        errors = np.sqrt(np.maximum(tables.squares(share) - fixed, 0.0) / n)
    if float(np.median(errors)) * 1.96 >= 0.5:
        warn(
            f"{n} reports say next to nothing about {len(values)} combinations "
            f"(± {1.96 * float(np.median(errors)):.2g}); estimate fewer columns at a time",
            PrecisionWarning,
        )
    labels = tuple(product(*(question.labels for question in asked.values())))
    found = ManyEstimates(labels, values, errors, n, confidence, target, 1.0, None, note, freedom)
    return found, fits


@dataclass(frozen=True, eq=False)
class _Tables:
    """Sums over rows of what their reports stand for, as vectors of all combinations.

    Attributes
    ----------
    places : for each column ``(R,)`` positions of its reports
    weights : for each column ``(M, N)``
    """

    places: Sequence[NDArray[np.int64]]
    weights: Sequence[Vector]

    def sum(self, mass: Vector, rows: Any = None) -> Vector:
        """Σ mass · z, over all rows or some of them."""
        some = self.places if rows is None else [place[rows] for place in self.places]
        return contracted(mass if rows is None else mass[rows], some, self.weights)

    def squares(self, mass: Vector) -> Vector:
        """Σ mass · z², of each combination alone."""
        return contracted(mass, self.places, [a**2 for a in self.weights])


def _check_work(drawn: Drawn, cells: int, target: str, names: Sequence[str]) -> None:
    """Refuse so many strata and clusters that their tables would take hours."""
    parts = len(drawn.units) + (0 if drawn.clusters is None else int(drawn.clusters.max()) + 1)
    if target == "population" and parts * cells > _MOST_TABLES:
        raise DataError(
            "joint table of a survey",
            expected=f"at most {_MOST_TABLES // cells:,} strata and clusters with {cells:,} "
            "combinations of values",
            got=f"{parts:,}",
            remedy=f"estimate fewer columns at a time, such as column={list(names[:2])!r}",
        )


def _drawn_shares(
    tables: _Tables, sample: Sample, drawn: Drawn, weighting: str, target: str
) -> tuple[Vector, Vector]:
    """Σ w z / Σ w (or Σ w z / N) of each combination, and its standard error: the diagonal of what
    :mod:`.survey` writes down, one table for each stratum and cluster.
    """
    n, w = sample.repeats.astype(float), drawn.weights
    ratio = weighting == "hajek"
    share = w / (float(w @ n) if ratio else float(drawn.population or 0))
    values = tables.sum(n * share)
    centre = values if ratio else np.zeros_like(values)
    # Values are 0 or 1, so that z² − z is without bias for the variance that the mechanism leaves.
    fraction = np.ones(len(n)) if target == "sample" else drawn.fractions[drawn.strata]
    mass = n * share**2 * fraction
    variance = np.maximum(tables.squares(mass) - tables.sum(mass), 0.0)
    if target == "population":
        variance += np.maximum(_between(tables, n, share, centre, drawn), 0.0)
    return values, np.sqrt(variance)


def _between(tables: _Tables, n: Vector, share: Vector, centre: Vector, drawn: Drawn) -> Vector:
    """(1 − f_h) n_h/(n_h − 1) Σ_c (u_c − ū_h)² of each combination, over all strata."""
    factor, more = np.zeros(len(drawn.units)), drawn.units > 1
    factor[more] = (1 - drawn.fractions[more]) * drawn.units[more] / (drawn.units[more] - 1)
    heavy = n * share

    def total(rows: Any) -> Vector:
        return tables.sum(heavy, rows) - centre * heavy[rows].sum()

    found = np.zeros_like(centre)
    if drawn.clusters is None:
        mass = heavy * share * factor[drawn.strata]
        found = tables.squares(mass) - centre * (2 * tables.sum(mass) - centre * mass.sum())
    else:
        for rows in _rows_of(drawn.clusters):
            found += factor[drawn.strata[rows[0]]] * total(rows) ** 2
    for rows in _rows_of(drawn.strata):
        stratum = drawn.strata[rows[0]]
        found -= factor[stratum] / drawn.units[stratum] * total(rows) ** 2
    return found


def _rows_of(codes: NDArray[np.int64]) -> list[NDArray[np.intp]]:
    """The rows of each code that occurs."""
    order = np.argsort(codes, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(codes[order])) + 1)


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

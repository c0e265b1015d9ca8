"""Shares of many symbols, or of combinations of values of many columns, from reports.

Reports of the columns of a plan are drawn independently, so that scores of them all are products of
scores of each: with K_i a_i = I the product of a_i(y_i) is unbiased for the combination of values,
whatever the columns have to do with each other. Tables are made one column at a time, of the rows
that came. Moments of scores are products as well, so that the interval of any of millions of shares
is found when it is asked for; the secrets of all others are taken to be what columns alone say.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, InputError, PrecisionWarning, UnknownNameError, quote, warn
from ..labels import Label, counted, short_names
from ..release._identifiability import FEWEST, ask_as_designed, report_weights
from ..release.receipts import Receipt, trace
from ..release.samples import CountedRows, Sample, named_columns, read_columns
from ..release.several_estimates import kernels_of, note_of_plan
from ..release.subset_counts import count_subset_reports
from ..schema import Schema
from ..solve.columns_plan import MOST_ENTRIES, KernelPlan
from ..subsets import SubsetSelection
from .intervals import CUBE, DOWN, SECOND, SQUARE, THIRD, UP, Answers, Mixed, Sampling
from .likelihood import fit_of, maximise
from .references import check_confidence, reference_of
from .surveys import Drawn, Survey, check_single, drawn_by, freedom_of

Vector = NDArray[np.float64]
Integers = NDArray[np.int64]

# Cells of the largest table of estimates.
_MOST_CELLS = 1 << 22
# Cells of all tables of strata and clusters, which variances are made of one after the other.
_MOST_TABLES = 1 << 32
# Groups of directions whose counts are held against chance.
_GROUPS = 64
_SHOWN = 10


@dataclass(frozen=True, eq=False)
class ManyEstimates:
    """Shares of many symbols, or of combinations of values, each with its standard error.

    Attributes
    ----------
    labels : the symbols
    values : ``(N,)`` unbiased estimates, which may lie outside [0, 1]
    errors : ``(N,)`` standard errors
    reports : number of reports
    confidence, target : as asked
    fit : p-value of the hypothesis that this mechanism made the reports, rather too large
    answers : what intervals are made of
    receipt : the receipt that says so, ``None`` where none came with the reports
    note : what could not be told of where the reports came from, a sentence or nothing
    """

    labels: tuple[Label, ...]
    values: Vector
    errors: Vector
    reports: int
    confidence: float
    target: str
    fit: float
    answers: Answers
    receipt: Receipt | None = None
    note: str = ""

    method = "inversion"

    @cached_property
    def _places(self) -> dict[Label, int]:
        return {label: i for i, label in enumerate(self.labels)}

    @cached_property
    def _limits(self) -> tuple[Vector, Vector]:
        return self.answers.limits(1 - self.confidence)

    @property
    def lower(self) -> Vector:
        """Lower confidence limits, each alone, inside [0, 1]."""
        return self._limits[0]

    @property
    def upper(self) -> Vector:
        """Upper confidence limits, each alone, inside [0, 1]."""
        return self._limits[1]

    def top(self, count: int = _SHOWN) -> list[dict[str, Any]]:
        """The symbols of largest estimates, largest first, one plain dictionary each.

        Symbols that are chosen for their estimates are mostly overestimated. Their intervals hold
        with the confidence for all N symbols at once (Bonferroni), and so for those chosen; they
        are wider than those of :attr:`lower`, :attr:`upper` and :meth:`rows`, each alone.
        """
        if not isinstance(count, (int, np.integer)) or isinstance(count, bool) or count < 1:
            raise InputError(
                "count", expected="a positive integer", got=quote(count), remedy="pass 10"
            )
        count = min(int(count), len(self.labels))
        places = np.argpartition(-self.values, count - 1)[:count]
        return self._together(places, self.confidence)

    def present(self, confidence: float = 0.95) -> list[dict[str, Any]]:
        """The symbols whose shares are above zero, all of them at once with this confidence.

        Their intervals hold for all N symbols at once, as in :meth:`top`.
        """
        check_confidence(confidence)
        which = np.flatnonzero(self.values > 0)
        zeros, tail = np.zeros(len(which)), (1 - confidence) / 2 / len(self.labels)
        above = np.ones(len(which), dtype=bool)
        some = self.answers.tails(zeros, which, above, self.answers.quantile_ratio(tail)) < tail
        return self._together(which[some], confidence)

    def _together(self, places: NDArray[Any], confidence: float) -> list[dict[str, Any]]:
        """Rows of some symbols, largest first, with intervals that hold for all at once."""
        places = places[np.argsort(-self.values[places], kind="stable")]
        alpha = (1 - confidence) / len(self.labels)
        return self._rows(places, *self.answers.limits(alpha, places))

    def rows(self) -> list[dict[str, Any]]:
        """One plain dictionary for each symbol, in their order, with intervals each alone."""
        return self._rows(np.arange(len(self.labels)), self.lower, self.upper)

    def _rows(self, places: NDArray[Any], lower: Vector, upper: Vector) -> list[dict[str, Any]]:
        return [
            {
                "label": self.labels[i],
                "estimate": float(self.values[i]),
                "error": float(self.errors[i]),
                "lower": float(low),
                "upper": float(high),
            }
            for i, low, high in zip(places.tolist(), lower, upper, strict=True)
        ]

    def __getitem__(self, label: Label) -> float:
        if label not in self._places:
            raise UnknownNameError("estimate of", label, map(str, self.labels[:_SHOWN]))
        return float(self.values[self._places[label]])

    def describe(self, *, together: bool = False) -> str:
        """Number of symbols and reports and what the intervals are about, in one line: those of
        each symbol alone, or of :meth:`top`, which hold together.
        """
        about = "all who might be asked" if self.target == "population" else "those who reported"
        return (
            f"unbiased inversion for {counted(len(self.labels), 'symbol')} from "
            f"{counted(self.reports, 'report')}; "
            f"{100 * self.confidence:g} % intervals for {about}"
            + (f", of all {len(self.labels)} symbols at once (Bonferroni)" if together else "")
        )

    def __repr__(self) -> str:
        lines = [f"{self.describe(together=True)}; largest estimates ± one standard error"]
        rows = self.top()
        names = short_names([row["label"] for row in rows], 28)
        lines += [
            f"{name:<28}  {row['estimate']:9.5f}  ± {row['error']:.5f}  "
            f"[{row['lower']:.5f}, {row['upper']:.5f}]"
            for name, row in zip(names, rows, strict=True)
        ]
        if self.note:
            lines.append(self.note)
        return "\n".join(lines)


def _check_errors(errors: Vector, n: int, what: str, remedy: str) -> None:
    """Warn of errors that say next to nothing."""
    typical = 1.96 * float(np.median(errors))
    if typical >= 0.5:
        warn(
            f"{n} reports say next to nothing about {what} (± {typical:.2g}); {remedy}",
            PrecisionWarning,
        )


def _check_count(n: int) -> None:
    if n < FEWEST:
        raise DataError(
            "reports",
            expected=f"at least {FEWEST}",
            got=str(n),
            remedy="collect more; md.plan (mechdesign plan) says how many",
        )


def share_path(first: Vector, own: Vector, others: Vector) -> Mixed:
    """The path of shares ``(N,)`` from moments of scores of those who count and of all others.

    Parameters
    ----------
    first : ``(N,)`` shares at which the others are as ``others`` says
    own, others : ``(6, N)`` moments given the secret itself, and given the others
    """
    base = first * own + (1 - first) * others
    ends = np.zeros_like(first), np.ones_like(first)
    return Mixed(first, *ends, base, others, own)


# Subset selections


def estimate_many(
    reports: Any,
    mechanism: SubsetSelection,
    column: str | None,
    *,
    confidence: float,
    target: str,
    missing: str,
    receipt: Any,
) -> ManyEstimates:
    """:func:`estimate` for reports of a subset selection, with every option checked."""
    counted = count_subset_reports(reports, mechanism, column, missing)
    n = counted.total
    _check_count(n)
    known, note = trace(reports, column, mechanism, receipt, n)
    codes, counts = counted.result()
    values = mechanism.shares_of(codes, counts)
    shares = np.clip(values, 0.0, 1.0)
    shares /= max(1.0, float(shares.sum()))
    variance = mechanism.variances(shares)
    if target == "sample":
        # What remains where the secrets are fixed and only reports are random.
        variance = np.maximum(variance - shares * (1 - shares), 0.0)
    errors = np.sqrt(variance / n)
    _check_errors(
        errors, n, f"the {len(values)} shares", "md.plan (mechdesign plan) says how many would"
    )
    sampling = Sampling(n, fraction=float(target == "sample"))
    return ManyEstimates(
        mechanism.inputs,
        values,
        errors,
        n,
        confidence,
        target,
        fit_of_directions(mechanism, codes, counts),
        Answers(values, _subset_path(mechanism, shares), sampling),
        known,
        note,
    )


def _subset_path(mechanism: SubsetSelection, shares: Vector) -> Mixed:
    """Moments given the symbol itself, and given others, mixed over their groups by the shares."""
    groups = np.asarray(mechanism.layout.group)
    own, other = mechanism.score_moments()
    mass = np.bincount(groups, shares, own.shape[1])
    rest = np.maximum(
        mass[None, :] - shares[:, None] * (np.arange(len(mass)) == groups[:, None]), 0
    )
    sizes = np.bincount(groups, minlength=len(mass))
    # Where nobody else is seen, others are alike.
    rest = np.where(rest.sum(axis=1, keepdims=True) > 0, rest, sizes)
    rest = rest / rest.sum(axis=1, keepdims=True)
    given = np.einsum("kng,ng->kn", other[:, groups, :], rest)
    rows = [own[:, groups], given]
    made = [
        np.stack([m[1], m[2], v, v, m[3], m[4]])
        for m, v in zip(rows, (np.ones(len(shares)), np.zeros(len(shares))), strict=True)
    ]
    return share_path(shares, *made)


def fit_of_directions(mechanism: SubsetSelection, codes: Integers, counts: Integers) -> float:
    """A p-value for the hypothesis that the mechanism made the reports.

    Directions have the same chances whatever the symbols are; raw data and other mechanisms'
    reports mostly lie elsewhere. With t = n·KL(f‖q) over k groups of directions it is
    e^-t (et/(k−1))^(k−1), a bound for every number of reports [Agrawal2020].
    """
    lines, directions, counts = mechanism.directions_of(codes, counts)
    total, groups = int(counts.sum()), min(_GROUPS, lines)
    ends = np.array([-(-k * lines // groups) for k in range(groups + 1)])
    place = np.searchsorted(ends, directions, side="right") - 1
    met = np.bincount(place, counts, groups)
    expected = np.diff(ends) / lines
    used = met > 0
    share = met[used] / total
    distance = total * float((share * np.log(share / expected[used])).sum())
    freedom = groups - 1
    if freedom == 0 or distance <= freedom:
        return 1.0
    return math.exp(freedom * (1 + math.log(distance / freedom)) - distance)


# Combinations of values


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
    _check_count(n)
    scores, fits, likely = [], {}, []
    for name, kernel in kernels.items():
        reference = reference_of(plan[name], kernel)
        scores.append(report_weights(kernel, asked[name], reference))
        counts = np.bincount(places[name], sample.repeats, kernel.shape[1])
        found, gap, _ = maximise(kernel.kernel, counts[None, :] / n)
        likely.append(found[0])
        fits[name] = fit_of(kernel.kernel, counts / n, found[0], n, float(gap[0]))
    tables = _Tables(list(places.values()), scores)
    matrices = [kernel.kernel for kernel in kernels.values()]
    path = product_path(matrices, [one.weights for one in asked.values()], scores, likely)
    if survey.asked:
        drawn = drawn_by(survey, sample)
        if target == "population":
            check_single(drawn, survey.strata)
        _check_work(drawn, cells, target, names)
        values, errors, sampling = _drawn_shares(
            tables, sample, drawn, survey.weighting, target, matrices
        )
    else:
        share = sample.repeats / n
        values = tables.sum(share)
        shares = np.clip(values, 0.0, 1.0)
        # Of people at random, or of these people, whose values are what they are.
        fixed = shares**2 if target == "population" else shares
        errors = np.sqrt(
            np.maximum(tables.squares(share) - fixed, _noise(matrices, scores, shares)) / n
        )
        sampling = Sampling(n, fraction=float(target == "sample"))
    _check_errors(errors, n, f"{len(values)} combinations", "estimate fewer columns at a time")
    labels = tuple(product(*(question.labels for question in asked.values())))
    answers = Answers(values, path, sampling)
    made = ManyEstimates(labels, values, errors, n, confidence, target, 1.0, answers, None, note)
    return made, fits


def product_path(
    kernels: Sequence[Vector],
    values: Sequence[Vector],
    scores: Sequence[Vector],
    likely: Sequence[Vector],
) -> Mixed:
    """The path of shares of combinations: moments are products over the columns.

    Those who count have, in each column, the symbol of largest moments among those that count;
    all others are as the columns alone say, as if they were independent.
    """
    own, others, least = (np.ones((5, 1)) for _ in range(3))
    share: Vector = np.ones(1)
    for kernel, v, a, p in zip(kernels, values, scores, likely, strict=True):
        by_symbol = np.stack([kernel @ a**k for k in range(5)])
        top = np.where(v > 0, by_symbol, -np.inf).max(axis=1)
        own = np.einsum("ka,kb->kab", own, top).reshape(5, -1)
        given = np.einsum("n,knf->kf", p, by_symbol)
        others = np.einsum("ka,kb->kab", others, given).reshape(5, -1)
        least = np.einsum("ka,kb->kab", least, by_symbol.min(axis=1)).reshape(5, -1)
        share = np.asarray(np.kron(share, p @ v), dtype=float)
    # What all have together is of those who count and of all others.
    rest = (others - share * own) / np.maximum(1 - share, 1e-12)
    rest[[2, 4]] = np.maximum(rest, least)[[2, 4]]
    return share_path(share, _central(own, 1.0), _central(rest, 0.0))


def _central(raw: Vector, value: float) -> Vector:
    """The six moments from the raw ones of order 0 to 4 ``(5, F)`` of scores of one mean.

    Third moments of one side are bounded by those of both, E|d|³ ≤ √(E d² · E d⁴).
    """
    second, third, fourth = raw[2], raw[3], raw[4]
    noise = np.maximum(second - value**2, 0)
    skewed = third - 3 * value * second + 2 * value**3
    spread = np.maximum(fourth - 4 * value * third + 6 * value**2 * second - 3 * value**4, 0)
    both = np.maximum(np.sqrt(noise * spread), np.abs(skewed))
    found = np.zeros((6, raw.shape[1]))
    found[SECOND], found[THIRD], found[SQUARE], found[CUBE] = second, third, value, value
    found[UP], found[DOWN] = (both + skewed) / 2, (both - skewed) / 2
    return found


def _noise(kernels: Sequence[Vector], scores: Sequence[Vector], shares: Vector) -> Vector:
    """``(F,)`` variance that the mechanisms leave of one person's scores at least, whatever the
    secrets are that have these shares.
    """
    least = np.ones(1)
    for kernel, a in zip(kernels, scores, strict=True):
        least = np.kron(least, (kernel @ a**2).min(axis=0))
    return np.maximum(least - shares, 0)


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
    tables: _Tables,
    sample: Sample,
    drawn: Drawn,
    weighting: str,
    target: str,
    kernels: Sequence[Vector],
) -> tuple[Vector, Vector, Sampling]:
    """Σ w z / Σ w (or Σ w z / N) of each combination, and its standard error: the diagonal of what
    :mod:`.surveys` writes down, one table for each stratum and cluster.
    """
    n, w = sample.repeats.astype(float), drawn.weights
    ratio = weighting == "hajek"
    share = w / (float(w @ n) if ratio else float(drawn.population or 0))
    values = tables.sum(n * share)
    centre = values if ratio else np.zeros_like(values)
    squares = float(share**2 @ n)
    fixed = np.ones(len(n)) if target == "sample" else drawn.fractions[drawn.strata]
    fraction = float((n * share**2) @ fixed) / squares
    known = squares * _noise(kernels, tables.weights, np.clip(values, 0, 1))
    # Values are 0 or 1, so that z² − z is without bias for the variance that the mechanism leaves.
    noise = np.maximum(tables.squares(n * share**2) - tables.sum(n * share**2), known)
    variance, seen, clusters = noise, None, 1.0
    if target == "population":
        between = np.maximum(_between(tables, n, share, centre, drawn), 0)
        seen = between + fraction * noise
        variance = np.maximum(seen, known)
        if drawn.clusters is not None:
            sizes = np.bincount(drawn.clusters, share * n)
            clusters = float(sizes @ sizes) / squares
    sampling = Sampling(
        1 / squares,
        float(share**3 @ n) / squares**2,
        fraction,
        seen,
        clusters,
        freedom_of(drawn, target),
    )
    return values, np.sqrt(variance), sampling


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

"""Estimates from reports of a sample survey: weights, strata, clusters, groups, finite populations.

Each report y stands for z = a_y, whose mean over the mechanism is what the person's secret counts
for. Estimates are ratios Σ w z / Σ w [Hajek1971] or totals Σ w z / N [Horvitz1952], and their
variance has two parts: who was asked, which a census would not have, and what the mechanism drew,
which it would. The spread of reports between clusters (or people) of a stratum holds both. With a
sampled fraction f of the stratum the first counts (1 − f) times, and the second in full:

    V = Σ_h (1 − f_h) n_h/(n_h − 1) Σ_c (u_c − ū_h)(u_c − ū_h)ᵀ + f_h Σ_i (w_i/W)² Var(z_i | x_i),

where u_c adds up w (z − estimate)/W over a cluster, and Var(z | x) is estimated without bias from
the report itself, as the kernel is known.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, InputError, PrecisionWarning, UnknownNameError, quote, warn
from ..labels import Label, counted, listing, parse_labels, shorten
from ..mechanism import Mechanism
from ..notebook import notebook_table
from ..utility.questions import Question
from ._identifiability import hidden_answers, least_variance
from .codes import ABSENT, Codebook, check_choice
from .estimates import Estimate, Intervals
from .likelihood import Convergence, maximise
from .pilots import shrunk_truth
from .receipts import Receipt
from .references import FEWEST
from .samples import Sample

Vector = NDArray[np.float64]

# Squares of so many answers are estimated one by one; of more, their variance is bounded.
_MOST_SQUARES = 64


@dataclass(frozen=True)
class Survey:
    """How a sample was drawn, as asked: names of columns, and sizes of the population."""

    weights: str | None = None
    strata: str | None = None
    clusters: str | None = None
    by_group: str | None = None
    population: Any = None
    weighting: str = "hajek"

    def __post_init__(self) -> None:
        for name in ("weights", "strata", "clusters", "by_group"):
            value = getattr(self, name)
            if value is not None and not isinstance(value, str):
                raise InputError(
                    name,
                    expected="the name of a column of the table of reports",
                    got=quote(value),
                    remedy="put the values beside the reports, and name their column",
                )
        check_choice("way of weighting", self.weighting, ("hajek", "horvitz-thompson"))
        if self.weighting != "hajek" and (self.population is None or self.by_group is not None):
            raise InputError(
                "weighting='horvitz-thompson'",
                expected="population= beside it, which totals are divided by, and no by_group=",
                got="groups" if self.by_group is not None else "no population",
                remedy="leave it out: shares are then divided by the sum of the weights",
            )

    @property
    def asked(self) -> list[str]:
        """Names of what is asked."""
        names = ("weights", "strata", "clusters", "by_group", "population")
        return [name for name in names if getattr(self, name) is not None]

    @property
    def columns(self) -> list[str]:
        """Names of the columns that are read."""
        named = (self.weights, self.strata, self.clusters, self.by_group)
        return [name for name in named if name is not None]


@dataclass(frozen=True)
class Drawn:
    """How the rows of a sample were drawn.

    Attributes
    ----------
    weights : ``(R,)`` of each person of a row
    strata : ``(R,)`` which stratum
    fractions : ``(H,)`` sampled share of each stratum, zero where the population is unlimited
    units : ``(H,)`` sampled clusters of each stratum, or people where there are no clusters
    clusters : ``(R,)`` which cluster, or ``None``
    population : size of the population in people, where it is known
    """

    weights: Vector
    strata: NDArray[np.int64]
    fractions: Vector
    units: NDArray[np.int64]
    clusters: NDArray[np.int64] | None
    population: int | None

    @property
    def freedom(self) -> int:
        """Degrees of freedom of the variance: units minus strata."""
        return int(self.units.sum()) - len(self.units)


def drawn_by(survey: Survey, sample: Sample) -> Drawn:
    """How each row of a sample was drawn.

    Raises
    ------
    DataError
        For weights that are negative or no numbers, strata with one unit only, and a population
        that is smaller than the sample or that does not name its strata.

    Warns
    -----
    PrecisionWarning
        Where clusters of several strata have the same name.
    """
    repeats = sample.repeats
    rows = len(repeats)
    names: list[Label] = [None]
    strata = np.zeros(rows, dtype=np.int64)
    if survey.strata is not None:
        names, strata = sample.categories(survey.strata, "strata")
    clusters, units = None, np.bincount(strata, repeats, len(names)).astype(np.int64)
    if survey.clusters is not None:
        labels, codes = sample.categories(survey.clusters, "clusters")
        # Clusters of different strata are different ones, whatever they are called.
        pairs, clusters = np.unique(strata * len(labels) + codes, return_inverse=True)
        units = np.bincount(pairs // len(labels), minlength=len(names))
        several = len(pairs) - len(np.unique(pairs % len(labels)))
        if several:
            warn(
                f"clusters in column {quote(survey.clusters)} have the same names in several "
                f"strata of {quote(survey.strata)} ({several} of {len(pairs)}) and count as "
                "different ones in each; if they are the same ones, errors are too small: take "
                "strata that clusters lie in, and name clusters of different strata differently",
                PrecisionWarning,
            )
    sizes = _sizes(survey, names, sample)
    fractions = np.zeros(len(names))
    if sizes is not None:
        over = units > sizes
        if over.any():
            unit = "people" if clusters is None else "clusters"
            first = int(np.flatnonzero(over)[0])
            raise DataError(
                "population",
                expected=f"at least as many {unit} as the sample has"
                + (" in every stratum" if survey.strata is not None else ""),
                got=f"{sizes[first]} for {units[first]} sampled ones"
                + (f" in {int(over.sum())} of {len(names)} strata" if over.sum() > 1 else ""),
                remedy=f"pass the number of {unit} that the sample was drawn from, itself included",
            )
        fractions = units / sizes
    weights = np.ones(rows)
    if survey.weights is not None:
        weights = sample.numbers(survey.weights, "weights")
        if (weights < 0).any():
            below = int(repeats[weights < 0].sum())
            raise DataError(
                f"weights in column {quote(survey.weights)}",
                expected="numbers of zero or more",
                got=f"{below} negative one{'s' * (below > 1)}",
                remedy="pass for how many people each one stands",
            )
    elif sizes is not None:
        weights = (sizes / units)[strata]
    if not weights @ repeats > 0:
        raise DataError(
            f"weights in column {quote(survey.weights)}",
            expected="at least one above zero",
            got="zeros only",
            remedy="pass for how many people each one stands",
        )
    people = int(sizes.sum()) if sizes is not None and clusters is None else None
    if survey.weighting != "hajek":
        _check_totals(people, float(weights @ repeats))
    return Drawn(weights, strata, fractions, units, clusters, people)


def check_single(drawn: Drawn, what: str | None) -> None:
    """Refuse strata with one unit that is not all of its population: nothing says how it varies."""
    single = (drawn.units < 2) & (drawn.fractions < 1)
    if single.any():
        unit = "person" if drawn.clusters is None else "cluster"
        where = "sample" if what is None else f"strata in column {quote(what)}"
        raise DataError(
            where,
            expected=f"at least two {'people' if unit == 'person' else 'clusters'} in each stratum",
            got=f"one {unit} in {int(single.sum())} of {len(single)}",
            remedy="merge such a stratum with one that is like it, or pass population= where all "
            "of it was asked",
        )


def _check_totals(people: int | None, total: float) -> None:
    if people is None or not 0.5 <= total / people <= 2:
        raise DataError(
            "weighting='horvitz-thompson'",
            expected="weights that add up to about the number of people in the population",
            got="a population counted in clusters"
            if people is None
            else f"a sum of {total:.6g} for {people}",
            remedy="pass for how many people each one stands, or leave weighting= out",
        )


def _sizes(survey: Survey, names: list[Label], sample: Sample) -> NDArray[np.int64] | None:
    """Size of the population of each stratum."""
    given = survey.population
    if given is None:
        return None
    wanted = "a whole number" if survey.strata is None else "a whole number for each stratum"
    sizes = given if isinstance(given, Mapping) else {None: given}
    if isinstance(given, Mapping) != (survey.strata is not None) or not all(
        _is_size(size) for size in sizes.values()
    ):
        raise InputError(
            "population",
            expected=wanted,
            got=quote(given, 60),
            remedy="pass population={'a': 1200, 'b': 800} with strata=, population=2000 without",
        )
    if survey.strata is None:
        return np.array([int(given)])
    keys = parse_labels([str(key) for key in sizes]) if sample.texts else list(sizes)
    book = Codebook(keys, "strata of the population")
    places = book.places(names)
    values = list(sizes.values())
    lost = int((places == ABSENT).sum())
    if lost:
        raise DataError(
            "population",
            expected="a size for every stratum of the sample",
            got=f"none for {lost} of {len(names)}",
            remedy="name each value of the column of strata",
        )
    empty = [label for i, label in enumerate(book.labels) if i not in set(places.tolist())]
    if empty:
        raise DataError(
            "population",
            expected="strata that were sampled",
            got=f"nobody of {listing(empty)}",
            remedy="merge them with strata that are like them, or leave them out where estimates "
            "are about the others",
        )
    return np.array([int(values[i]) for i in places])


def _is_size(size: Any) -> bool:
    whole = isinstance(size, (int, np.integer)) and not isinstance(size, bool)
    return whole and 1 <= size <= 1 << 53


# Variances


def design_covariance(scores: Any, repeats: NDArray[np.int64], drawn: Drawn) -> Vector:
    """Covariance ``(D, D)`` of Σ scores over people, for who was asked.

    Parameters
    ----------
    scores : ``(R, D)``, sparse or not, what one person of each row adds
    repeats : ``(R,)`` how many they are

    The part (1 − f_h) n_h/(n_h − 1) Σ_c (u_c − ū_h)(u_c − ū_h)ᵀ of each stratum.
    """
    from scipy.sparse import csr_array, issparse

    factor = np.zeros(len(drawn.units))
    more = drawn.units > 1
    factor[more] = (1 - drawn.fractions[more]) * drawn.units[more] / (drawn.units[more] - 1)

    def sums(of: Any, times: Vector, places: NDArray[np.int64], count: int) -> Any:
        rows = np.arange(len(times))
        return csr_array((times, (places, rows)), shape=(count, len(times))) @ of

    units, times, strata = scores, repeats.astype(float), drawn.strata
    if drawn.clusters is not None:
        count = int(drawn.clusters.max()) + 1
        units = sums(scores, times, drawn.clusters, count)
        times, strata = np.ones(count), np.zeros(count, dtype=np.int64)
        strata[drawn.clusters] = drawn.strata
    weights = (factor[strata] * times)[:, None]
    totals = sums(units, times, strata, len(factor))
    if issparse(units):
        square = (units.T @ units.multiply(weights).tocsr()).toarray()
        totals = totals.toarray()
    else:
        square = units.T @ (weights * units)
    return np.asarray(square - (totals * (factor / drawn.units)[:, None]).T @ totals)


class Noise:
    """The variance of what a report stands for, given the secret, estimated from the report.

    For weights a with K a = V it is a_y a_yᵀ − B_y where K B = V Vᵀ, unbiased whatever the secret.
    Where reports do not tell the squares, (E V)(E V)ᵀ stands for E V Vᵀ, which is no more, so that
    the variance is too large rather than too small.
    """

    def __init__(
        self, mechanism: Mechanism, question: Question, weights: Vector, reference: Vector
    ) -> None:
        self.weights, self.question = weights, question
        v = question.weights
        self.disjoint = bool(np.isin(v, (0, 1)).all() and (v.sum(axis=1) <= 1).all())
        self.squares: Vector | None = None
        if not self.disjoint and v.shape[1] ** 2 <= _MOST_SQUARES:
            products = (v[:, :, None] * v[:, None, :]).reshape(len(v), -1)
            asked = Question(tuple(range(products.shape[1])), products)
            if not hidden_answers(mechanism, asked):
                self.squares = least_variance(mechanism.kernel, asked, reference)

    def covariance(self, mass: Vector) -> Vector:
        """Σ_y mass_y Var(z | y), ``(F, F)``, for a mass ``(M,)`` of each report."""
        a = self.weights
        second = a.T @ (mass[:, None] * a)
        if self.disjoint:
            return np.asarray(second - np.diag(mass @ a))
        if self.squares is not None:
            return np.asarray(second - (mass @ self.squares).reshape(second.shape))
        mean, total = mass @ a, float(mass.sum())
        return np.asarray(second - np.outer(mean, mean) / total if total else second)


def student_limits(
    values: Vector, errors: Vector, confidence: float, freedom: float
) -> tuple[Vector, Vector]:
    """Values ± t · errors, with the degrees of freedom of the variance."""
    from scipy.stats import t

    z = float(t.isf((1 - confidence) / 2, freedom))
    return values - z * errors, values + z * errors


# Results


@dataclass(frozen=True, repr=False)
class SurveyEstimate(Estimate):
    """An estimate from a sample with weights, strata, clusters or a finite population.

    Attributes
    ----------
    noise : ``(F,)`` standard errors that the mechanism alone leaves, had everybody been asked
    strata, clusters : how many the variance was estimated from (people where no clusters are)
    freedom : degrees of freedom of the intervals
    effective : number of reports of equal weight that say as much, (Σw)²/Σw² [Kish1965]
    weighting : as asked
    group : the group that it is about, ``None`` for all
    """

    noise: Vector = field(default_factory=lambda: np.empty(0))
    strata: int = 1
    clusters: int = 0
    freedom: float = np.inf
    effective: float = 0.0
    weighting: str = "hajek"
    group: Label = None

    def describe(self) -> str:
        """Reports, strata, clusters and what the intervals are about, in one line."""
        parts = [f"{counted(self.reports, 'report')}"]
        if abs(self.effective - self.reports) > 0.5:
            parts.append(f"as exact as {self.effective:.1f} of equal weight")
        if self.strata > 1:
            parts.append(f"{counted(self.strata, 'stratum', 'strata')}")
        if self.clusters:
            parts.append(f"{counted(self.clusters, 'cluster')}")
        about = "the population" if self.target == "population" else "those who reported"
        return (
            f"unbiased inversion from {', '.join(parts)}; {100 * self.confidence:g} % intervals "
            f"for {about}"
        )


@dataclass(frozen=True, repr=False)
class Difference(Intervals):
    """Estimates of one group minus those of another, with intervals.

    Attributes
    ----------
    groups : the two, the first minus the second
    confidence : as asked
    """

    groups: tuple[Label, Label] = (None, None)
    confidence: float = 0.95

    def describe(self) -> str:
        """Which groups, in one line."""
        first, second = (shorten(group, 28) for group in self.groups)
        return f"{first} minus {second}; {100 * self.confidence:g} % intervals"


@dataclass(frozen=True, repr=False)
class GroupEstimates:
    """One estimate for each group of a sample.

    Attributes
    ----------
    column : name of the column of groups
    groups : their labels
    estimates : one for each
    covariance : ``(G·F, G·F)`` of all numbers, group by group: clusters that reach over several
        groups, and strata, tie their estimates together
    reports, fit, note, target, confidence : as in each
    """

    column: str
    groups: tuple[Label, ...]
    estimates: tuple[SurveyEstimate, ...]
    covariance: Vector

    @property
    def reports(self) -> int:
        """Number of reports of all groups."""
        return sum(each.reports for each in self.estimates)

    @property
    def note(self) -> str:
        """What could not be told of where the reports came from, or nothing."""
        return self.estimates[0].note

    def _place(self, group: Label) -> int:
        if group not in self.groups:
            raise UnknownNameError(f"group of {quote(self.column)}", group, map(str, self.groups))
        return self.groups.index(group)

    def __getitem__(self, group: Label) -> SurveyEstimate:
        return self.estimates[self._place(group)]

    def __len__(self) -> int:
        return len(self.groups)

    def difference(self, first: Label, second: Label) -> Difference:
        """Estimates of one group minus those of another, with their covariance taken in.

        Raises :class:`UnknownNameError` for other groups.
        """
        i, j = self._place(first), self._place(second)
        one, other = self.estimates[i], self.estimates[j]
        size = len(one.labels)
        contrast = np.zeros((len(self.covariance), size))
        contrast[i * size : (i + 1) * size] += np.eye(size)
        contrast[j * size : (j + 1) * size] -= np.eye(size)
        found = contrast.T @ self.covariance @ contrast
        errors = np.sqrt(np.maximum(np.diagonal(found), 0))
        values = one.values - other.values
        limits = student_limits(values, errors, one.confidence, one.freedom)
        return Difference(
            one.labels, values, errors, *limits, found, (first, second), one.confidence
        )

    def differences(self) -> list[Difference]:
        """Each group minus the first one."""
        return [self.difference(group, self.groups[0]) for group in self.groups[1:]]

    def rows(self) -> list[dict[str, Any]]:
        """One plain dictionary for each group and label."""
        return [
            {"group": group, **row}
            for group, each in zip(self.groups, self.estimates, strict=True)
            for row in each.rows()
        ]

    def __repr__(self) -> str:
        lines = [
            f"{quote(self.column)} {shorten(group, 28)}: {each!r}"
            for group, each in zip(self.groups, self.estimates, strict=True)
        ]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        head = ["group", "label", "estimate", "error", "lower", "upper"]
        return notebook_table(head, (row.values() for row in self.rows()), self.column)


# Estimates


def groups_of(
    survey: Survey, sample: Sample, drawn: Drawn
) -> tuple[list[Label], NDArray[np.int64]]:
    """Groups with enough reports, and the place of each row among them (ABSENT for others).

    Warns of groups of fewer than ten reports or without weight, which are left out; raises
    :class:`DataError` when none is left.
    """
    if survey.by_group is None:
        return [None], np.zeros(len(sample.repeats), dtype=np.int64)
    names, codes = sample.categories(survey.by_group, "groups")
    people = np.bincount(codes, sample.repeats, len(names))
    weight = np.bincount(codes, sample.repeats * drawn.weights, len(names))
    enough = (people >= FEWEST) & (weight > 0)
    few = [name for name, kept in zip(names, enough, strict=True) if not kept]
    if not enough.any():
        raise DataError(
            f"groups in column {quote(survey.by_group)}",
            expected=f"at least one with {FEWEST} reports and some weight",
            got=f"none of {len(names)}",
            remedy="merge groups, or collect more",
        )
    if few:
        warn(
            f"nothing is estimated for {listing(few)}: fewer than {FEWEST} reports, or no weight; "
            "collect more, or merge groups",
            PrecisionWarning,
        )
    places = np.full(len(names), ABSENT)
    places[enough] = np.arange(int(enough.sum()))
    return [name for name, kept in zip(names, enough, strict=True) if kept], places[codes]


@dataclass(frozen=True)
class Ratios:
    """Weighted estimates of all groups with their covariance.

    Attributes
    ----------
    values : ``(G, F)``
    covariance, noise : ``(G·F, G·F)`` in all, and from the mechanism alone
    frequencies : ``(G, M)`` weighted shares of the reports
    effective, reports : ``(G,)``
    """

    values: Vector
    covariance: Vector
    noise: Vector
    frequencies: Vector
    effective: Vector
    reports: NDArray[np.int64]


def weighted_ratios(
    sample: Sample,
    drawn: Drawn,
    groups: NDArray[np.int64],
    noise: Noise,
    *,
    target: str,
    weighting: str,
) -> Ratios:
    """Σ w z / Σ w of each group (or Σ w z / N), with its design-based covariance."""
    from scipy.sparse import csr_array

    a = noise.weights
    outputs, size = a.shape
    count = int(groups.max()) + 1
    kept = groups >= 0
    g, y, w = groups[kept], sample.reports[kept], drawn.weights[kept]
    n = sample.repeats[kept]
    cell = g * outputs + y

    def table(mass: Vector) -> Vector:
        found = np.bincount(cell, mass, count * outputs).astype(float)
        return found.reshape(count, outputs)

    heavy = table(w * n)
    total = heavy.sum(axis=1)
    unbiased = weighting == "hajek"
    below = total if unbiased else np.array([float(drawn.population or 0)])
    values = heavy @ a / below[:, None]
    scores = (w / below[g])[:, None] * (a[y] - (values[g] if unbiased else 0))
    columns = (g * size)[:, None] + np.arange(size)
    rows = np.repeat(np.flatnonzero(kept), size)
    shape = (len(kept), count * size)
    sparse = csr_array((scores.ravel(), (rows, columns.ravel())), shape=shape)
    fraction = np.ones(len(n)) if target == "sample" else drawn.fractions[drawn.strata][kept]
    parts = [
        _blocks(noise, table(w**2 * n * share) / below[:, None] ** 2)
        for share in (fraction, np.ones(len(n)))
    ]
    covariance = parts[0]
    if target == "population":
        covariance = covariance + design_covariance(sparse, sample.repeats, drawn)
    return Ratios(
        values,
        covariance,
        parts[1],
        heavy / total[:, None],
        total**2 / table(w**2 * n).sum(axis=1),
        np.bincount(g, n, count).astype(np.int64),
    )


def _blocks(noise: Noise, mass: Vector) -> Vector:
    """Covariances of the mechanism's noise in each group, which are independent of each other."""
    from scipy.linalg import block_diag

    found = block_diag(*(noise.covariance(each) for each in mass))
    np.fill_diagonal(found, np.maximum(np.diagonal(found), 0.0))
    return np.asarray(found)


def standard_errors(covariance: Vector) -> Vector:
    """Standard errors of a covariance, whose variances rounding may leave below zero."""
    return np.asarray(np.sqrt(np.maximum(np.diagonal(covariance), 0.0)))


def freedom_of(drawn: Drawn, target: str) -> float:
    """Degrees of freedom of intervals: none are lost where nobody's answer is left to chance."""
    if target == "sample" or bool((drawn.fractions >= 1).all()):
        return float(np.inf)
    return float(max(drawn.freedom, 1))


def check_plain(method: str, intervals: str) -> None:
    """Refuse other methods than the unbiased inversion with delta-method intervals."""
    for name, value, only in (("method", method, "inversion"), ("intervals", intervals, "delta")):
        if value != only:
            raise InputError(
                f"{name} of a survey with weights, strata, clusters, groups or a population",
                expected=repr(only),
                got=quote(value),
                remedy="leave it out",
            )


def estimate_groups(
    sample: Sample,
    survey: Survey,
    mechanism: Mechanism,
    question: Question,
    noise: Noise,
    prior: Vector,
    *,
    confidence: float,
    target: str,
    bounded: bool,
    fit: float,
    receipt: Receipt | None,
    note: str,
) -> GroupEstimates:
    """Weighted estimates of each group (of one group for all) from a sample.

    Parameters
    ----------
    prior : ``(N,)``, what the shrunk distribution is drawn to
    bounded : whether limits are cut to what answers can be
    fit, receipt, note : as they are known of all reports

    Raises
    ------
    DataError
        For weights, strata, clusters or a population that cannot be used.
    """
    drawn = drawn_by(survey, sample)
    if target == "population":
        check_single(drawn, survey.strata)
    names, places = groups_of(survey, sample, drawn)
    found = weighted_ratios(sample, drawn, places, noise, target=target, weighting=survey.weighting)
    likely, gap, steps = maximise(mechanism.kernel, found.frequencies)
    size = found.values.shape[1]
    freedom = freedom_of(drawn, target)
    low, high = question.weights.min(axis=0), question.weights.max(axis=0)
    made = []
    for i, name in enumerate(names):
        part = slice(i * size, (i + 1) * size)
        covariance = found.covariance[part, part]
        errors = standard_errors(covariance)
        lower, upper = student_limits(found.values[i], errors, confidence, freedom)
        f, effective = found.frequencies[i], float(found.effective[i])
        made.append(
            SurveyEstimate(
                question.labels,
                found.values[i],
                errors,
                np.clip(lower, low, high) if bounded else lower,
                np.clip(upper, low, high) if bounded else upper,
                covariance,
                int(found.reports[i]),
                "inversion",
                "delta",
                confidence,
                target,
                likely[i],
                Convergence(steps, float(gap[i])),
                fit,
                receipt,
                note,
                shrunk_truth(
                    mechanism.inputs,
                    likely[i],
                    prior,
                    [(mechanism.kernel, f, max(1, round(effective)))],
                ),
                schema=mechanism.schema,
                noise=standard_errors(found.noise[part, part]),
                strata=len(drawn.units),
                clusters=0 if drawn.clusters is None else int(drawn.units.sum()),
                freedom=freedom,
                effective=effective,
                weighting=survey.weighting,
                group=name,
            )
        )
    return GroupEstimates(survey.by_group or "", tuple(names), tuple(made), found.covariance)

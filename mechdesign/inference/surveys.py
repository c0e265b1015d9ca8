"""How the people of a survey were drawn: weights, strata, clusters, groups, finite populations.

Each report y stands for z = a_y, whose mean over the mechanism is what the person's secret counts
for. Estimates are ratios Σ w z / Σ w [Hajek1971] or totals Σ w z / N [Horvitz1952], and their
variance has two parts: who was asked, which a census would not have, and what the mechanism drew,
which it would. The spread of reports between clusters (or people) of a stratum holds both. With a
sampled fraction f of the stratum the first counts (1 − f) times, and the second in full:

    V = Σ_h (1 − f_h) n_h/(n_h − 1) Σ_c (u_c − ū_h)(u_c − ū_h)ᵀ + Σ_h f_h Σ_i (w_i/W)² Σ_x θ_x ν_x,

where u_c adds up w (z − estimate)/W over a cluster, and ν_x is the variance that the kernel leaves
of a secret x, at the likeliest shares θ of secrets. Reports that agree by chance spread less than
that noise, which is known: no variance is less than it (:func:`at_least`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, InputError, PrecisionWarning, quote, warn
from ..labels import Label, listing, parse_labels
from ..release._identifiability import FEWEST
from ..release.codes import ABSENT, Codebook, check_choice
from ..release.reports import Sample
from .intervals import Sampling

Vector = NDArray[np.float64]


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


def student_limits(
    values: Vector, errors: Vector, confidence: float, freedom: float
) -> tuple[Vector, Vector]:
    """Values ± t · errors, with the degrees of freedom of the variance."""
    from scipy.special import ndtri, stdtrit

    tail = (1 - confidence) / 2
    z = -float(ndtri(tail) if np.isinf(freedom) else stdtrit(freedom, tail))
    return values - z * errors, values + z * errors


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


class Units:
    """What clusters (or people) of each group add to its estimates, and how these vary.

    Parameters
    ----------
    sample, drawn : rows, and how they were drawn
    groups : ``(R,)`` the group of each row, ABSENT for rows that count nowhere
    scores : ``(M, F)`` of reports
    population : what sums are divided by, the sum of each group's weights where left out

    Attributes
    ----------
    shares : ``(R,)`` weight of one person of each row, over what sums are divided by
    totals : ``(G,)`` sums of shares, 1 for each group but for totals of a population
    frequencies : ``(G, M)`` weighted shares of the reports
    values : ``(G, F)``
    sampling : how the answers of each group came to be, for intervals, ``(G,)``
    """

    def __init__(
        self,
        sample: Sample,
        drawn: Drawn,
        groups: NDArray[np.int64],
        scores: Vector,
        *,
        target: str,
        population: int | None = None,
    ) -> None:
        kept = np.flatnonzero(groups >= 0)
        self._drawn = drawn
        self._group, reports, strata = groups[kept], sample.reports[kept], drawn.strata[kept]
        weights, people = drawn.weights[kept], sample.repeats[kept].astype(float)
        count, outputs = int(self._group.max()) + 1, len(scores)

        def sums(mass: Vector) -> Vector:
            return np.bincount(self._group, mass, count).astype(float)

        mass = sums(weights * people)
        below = mass if population is None else np.array([float(population)])
        self.totals = mass / below
        share = weights / below[self._group]
        cells = np.bincount(self._group * outputs + reports, share * people, count * outputs)
        cells = cells.reshape(count, outputs)
        self.values = cells @ scores
        self.frequencies = cells / self.totals[:, None]
        self.reports = sums(people).astype(np.int64)
        squares = sums(share**2 * people)
        fraction = np.ones(len(kept)) if target == "sample" else drawn.fractions[strata]
        clusters = np.ones(count)
        centred = scores[reports] - (self.values[self._group] if population is None else 0)
        order = np.argsort(self._group, kind="stable")
        unit, times = kept, people
        added = centred * share[:, None]
        if drawn.clusters is not None:
            pairs = self._group * (int(drawn.clusters.max()) + 1) + drawn.clusters[kept]
            known, first, place = np.unique(pairs, return_index=True, return_inverse=True)
            heavy = added * people[:, None]
            added = np.stack([np.bincount(place, one, len(known)) for one in heavy.T], axis=1)
            sizes = np.bincount(place, share * people, len(known))
            unit, times, order = (
                drawn.clusters[kept][first],
                np.ones(len(known)),
                np.arange(len(known)),
            )
            strata_of, group_of = strata[first], self._group[first]
            clusters = np.bincount(group_of, sizes**2, count) / squares
        else:
            strata_of, group_of = strata, self._group
        self._unit, self._times, self._added = unit[order], times[order], added[order]
        self._strata, group_of = strata_of[order], group_of[order]
        self._ends = np.searchsorted(group_of, np.arange(count + 1))
        self.fixed = sums(share**2 * people * fraction)
        self.sampling = Sampling(
            1 / squares,
            sums(share**3 * people) / squares**2,
            self.fixed / squares,
            clusters=clusters,
            freedom=freedom_of(drawn, target),
        )

    def _of(self, group: int) -> slice:
        return slice(int(self._ends[group]), int(self._ends[group + 1]))

    def between(self, i: int, j: int) -> tuple[Vector, int]:
        """Covariance ``(F, F)`` of who was asked in two groups, and the clusters that are in both.

        The part (1 − f_h) n_h/(n_h − 1) Σ_c (u_c − ū_h)(u_c − ū_h)ᵀ of all strata.
        """
        drawn, parts = self._drawn, (self._of(i), self._of(j))
        factor, more = np.zeros(len(drawn.units)), drawn.units > 1
        factor[more] = (1 - drawn.fractions[more]) * drawn.units[more] / (drawn.units[more] - 1)
        one, other = (self._added[part] for part in parts)
        weight = factor[self._strata[parts[0]]] * self._times[parts[0]]
        both = 0
        if i == j:
            square = one.T @ (weight[:, None] * other)
        elif drawn.clusters is None:
            square = np.zeros((one.shape[1], other.shape[1]))
        else:
            units, others = (self._unit[part] for part in parts)
            shared, at, there = np.intersect1d(units, others, return_indices=True)
            both = len(shared)
            square = one[at].T @ (weight[at, None] * other[there])
        known, totals = [], []
        for part, added in zip(parts, (one, other), strict=True):
            strata, place = np.unique(self._strata[part], return_inverse=True)
            heavy = added * self._times[part, None]
            known.append(strata)
            totals.append(np.stack([np.bincount(place, h, len(strata)) for h in heavy.T], axis=1))
        strata, at, there = np.intersect1d(known[0], known[1], return_indices=True)
        rest = (factor / drawn.units)[strata]
        return square - totals[0][at].T @ (rest[:, None] * totals[1][there]), both


def at_least(found: Vector, floor: Vector) -> Vector:
    """A covariance that is no less than another in any direction, nor than what was found."""
    values, vectors = np.linalg.eigh((found - floor + (found - floor).T) / 2)
    return np.asarray(floor + (vectors * np.maximum(values, 0)) @ vectors.T)


def freedom_of(drawn: Drawn, target: str) -> float:
    """Degrees of freedom of intervals: none are lost where nobody's answer is left to chance."""
    if target == "sample" or bool((drawn.fractions >= 1).all()):
        return float(np.inf)
    return float(max(drawn.freedom, 1))


def check_plain(method: str, intervals: str) -> None:
    """Refuse other methods than the unbiased inversion with binomial intervals."""
    for name, value, only in (
        ("method", method, "inversion"),
        ("intervals", intervals, "binomial"),
    ):
        if value != only:
            raise InputError(
                f"{name} of a survey with weights, strata, clusters, groups or a population",
                expected=repr(only),
                got=quote(value),
                remedy="leave it out",
            )

"""How the people of a survey were drawn: weights, strata, clusters, groups, finite populations.

Each report y stands for z = a_y, whose mean over the mechanism is what the person's secret counts
for. Estimates are ratios Σ w z / Σ w [Hajek1971] or totals Σ w z / N [Horvitz1952], and their
variance has two parts: who was asked, which a census would not have, and what the mechanism drew,
which it would. The spread of reports between clusters (or people) of a stratum holds both. With a
sampled fraction f of the stratum the first counts (1 − f) times, and the second in full:

    V = Σ_h (1 − f_h) n_h/(n_h − 1) Σ_c (u_c − ū_h)(u_c − ū_h)ᵀ + Σ_h f_h Σ_i (w_i/W)² Σ_x θ_x ν_x,

where u_c adds up w (z − estimate)/W over a cluster, and ν_x is the variance that the kernel leaves
of a secret x, at the likeliest shares θ of secrets by squared weights: noise is that of those who
weigh most. Reports that agree by chance spread less than that noise, which is known: no variance is
less than it (:func:`at_least`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, InputError, PrecisionWarning, quote, warn
from ..exact import is_whole
from ..labels import Label, listing, parse_labels
from ..release._identifiability import FEWEST
from ..release.codes import ABSENT, Codebook, check_choice
from ..release.reports import Places, Sample
from .intervals import Sampling

Vector = NDArray[np.float64]


_COLUMNS = ("weights", "strata", "clusters", "by_group")


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
        for name in _COLUMNS:
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
        names = (*_COLUMNS, "population")
        return [name for name in names if getattr(self, name) is not None]

    @property
    def columns(self) -> list[str]:
        """Names of the columns that are read."""
        return [getattr(self, name) for name in self.asked if name != "population"]


@dataclass(frozen=True)
class Drawn:
    """How the rows of a sample were drawn.

    Attributes
    ----------
    weights : ``(R,)`` of each person of a row
    repeats : ``(R,)`` how many they are
    strata : ``(R,)`` which stratum
    fractions : ``(H,)`` sampled share of each stratum, zero where the population is unlimited
    units : ``(H,)`` sampled clusters of each stratum, or people where there are no clusters
    clusters : ``(R,)`` which cluster, or ``None``
    population : size of the population in people, where it is known
    """

    weights: Vector
    repeats: Places
    strata: Places
    fractions: Vector
    units: Places
    clusters: Places | None
    population: int | None

    def of(self, rows: Any) -> Drawn:
        """That of some of the rows, in the same strata."""
        clusters = self.clusters
        if clusters is not None:
            clusters = np.unique(clusters[rows], return_inverse=True)[1]
        w, n, h = self.weights[rows], self.repeats[rows], self.strata[rows]
        return replace(self, weights=w, repeats=n, strata=h, clusters=clusters)

    def by_unit(self, scores: Vector) -> tuple[Vector, Vector, Places]:
        """Sums of scores ``(R, D)`` over units, how many such units there are, and their strata."""
        if self.clusters is None:
            return scores, self.repeats.astype(float), self.strata
        first = np.unique(self.clusters, return_index=True)[1]
        sums = _sums(scores * self.repeats[:, None], self.clusters, len(first))
        return sums, np.ones(len(first)), self.strata[first]

    def sampling(self, target: str) -> Sampling:
        """How an answer came to be of which weights are those of all divided by one number.

        Degrees of freedom are those of variances, were units alike but for their weights
        [Satterthwaite1946]: units less strata where strata weigh the same, fewer where some weigh
        more. Nothing is lost to strata of which nobody's answer was left to chance.
        """
        fractions = np.ones(len(self.units)) if target == "sample" else self.fractions
        squares = self.weights**2 * self.repeats
        heavy, times, strata = self.by_unit(self.weights[:, None])
        both = np.column_stack([heavy[:, 0] ** 2 * times, times])
        spread, units = _sums(both, strata, len(self.units)).T
        left, second = spread * (1 - fractions), squares.sum()
        lost = (left**2 / np.maximum(units - 1, 1)).sum()
        return Sampling(
            1 / second,
            squares @ self.weights / second**2,
            # One where all are, with nothing left to rounding.
            1 - squares @ (1 - fractions)[self.strata] / second,
            clusters=spread.sum() / second,
            freedom=max(left.sum() ** 2 / lost, 1.0) if lost > 0 else np.inf,
        )


def _sums(rows: Vector, places: Places, count: int) -> Vector:
    """Sums ``(count, D)`` of rows ``(R, D)`` at their places."""
    found = np.zeros((count, rows.shape[1]))
    np.add.at(found, places, rows)
    return found


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
    names: list[Label] = [None]
    weights, strata = np.ones(len(repeats)), np.zeros(len(repeats), dtype=np.int64)
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
        fractions = units / sizes
        over, unit = fractions > 1, "people" if clusters is None else "clusters"
        if over.any():
            raise DataError(
                "population",
                expected=f"at least as many {unit} as the sample has"
                + (" in every stratum" if survey.strata is not None else ""),
                got=f"{sizes[over][0]} for {units[over][0]} sampled ones (1 of {over.sum()})",
                remedy=f"pass the number of {unit} that the sample was drawn from, itself included",
            )
    if survey.weights is not None:
        weights = sample.numbers(survey.weights, "weights")
        below = int(repeats[weights < 0].sum())
        if below or not weights @ repeats > 0:
            raise DataError(
                f"weights in column {quote(survey.weights)}",
                expected="numbers of zero or more, one of them above zero",
                got=f"{below} negative one{'s' * (below > 1)}" if below else "zeros only",
                remedy="pass for how many people each one stands",
            )
    elif sizes is not None:
        weights = (sizes / units)[strata]
    people = int(sizes.sum()) if sizes is not None and clusters is None else None
    total = float(weights @ repeats)
    if survey.weighting != "hajek" and (people is None or not 0.5 <= total / people <= 2):
        raise DataError(
            "weighting='horvitz-thompson'",
            expected="weights that add up to about the number of people in the population",
            got=f"a sum of {total:.6g} for {people or 'a population counted in clusters'}",
            remedy="pass for how many people each one stands, or leave weighting= out",
        )
    return Drawn(weights, repeats, strata, fractions, units, clusters, people)


def check_single(drawn: Drawn, what: str | None) -> None:
    """Refuse strata with one unit that is not all of its population: nothing says how it varies."""
    single = (drawn.units < 2) & (drawn.fractions < 1)
    one, several = ("person", "people") if drawn.clusters is None else ("cluster", "clusters")
    if single.any():
        raise DataError(
            "sample" if what is None else f"strata in column {quote(what)}",
            expected=f"at least two {several} in each stratum",
            got=f"one {one} in {single.sum()} of {len(single)}",
            remedy="merge such a stratum with one that is like it, or pass population= where all "
            "of it was asked",
        )


def _sizes(survey: Survey, names: list[Label], sample: Sample) -> Places | None:
    """Size of the population of each stratum."""
    given, by_stratum = survey.population, survey.strata is not None
    if given is None:
        return None
    sizes = given if (several := isinstance(given, Mapping)) else {None: given}
    if several != by_stratum or not all(is_whole(size, 1, 1 << 53) for size in sizes.values()):
        raise InputError(
            "population",
            expected="a whole number" + " for each stratum" * by_stratum,
            got=quote(given, 60),
            remedy="pass population={'a': 1200, 'b': 800} with strata=, population=2000 without",
        )
    if not by_stratum:
        return np.array([given])
    keys = parse_labels([str(key) for key in sizes]) if sample.texts else list(sizes)
    book = Codebook(keys, "strata of the population")
    places = book.places(names)
    lost = int((places == ABSENT).sum())
    empty = [label for i, label in enumerate(book.labels) if i not in places]
    if lost or empty:
        raise DataError(
            "population",
            expected="a size for every stratum of the sample, and for no other",
            got=f"none for {lost} of {len(names)}" if lost else f"nobody of {listing(empty)}",
            remedy="name each value of the column of strata; merge strata that nobody is of with "
            "ones that are like them, or leave them out where estimates are about the others",
        )
    return np.array(list(sizes.values()), dtype=np.int64)[places]


# Variances


def design_covariance(scores: Vector, drawn: Drawn, others: Vector | None = None) -> Vector:
    """Covariance ``(D, D)`` of Σ scores over people, for who was asked, with sums of other scores
    or their own.

    The part (1 − f_h) n_h/(n_h − 1) Σ_c (u_c − ū_h)(u_c − ū_h)ᵀ of each stratum; scores ``(R, D)``
    are what one person of each row adds.
    """
    sums, times, strata = drawn.by_unit(scores)
    beside = (sums if others is None else drawn.by_unit(others)[0]) * times[:, None]
    factor = (1 - drawn.fractions) / np.maximum(drawn.units - 1, 1)
    totals, same = (_sums(one, strata, len(factor)) for one in (sums * times[:, None], beside))
    square = sums.T @ ((factor * drawn.units)[strata, None] * beside)
    return np.asarray(square - totals.T @ (factor[:, None] * same))


def student_limits(
    values: Vector, errors: Vector, confidence: float, freedom: float
) -> tuple[Vector, Vector]:
    """Values ± t · errors, with the degrees of freedom of the variance."""
    from scipy.special import stdtrit

    far = float(stdtrit(freedom, (1 - confidence) / 2)) * errors
    return values + far, values - far


# Estimates


def groups_of(survey: Survey, sample: Sample, drawn: Drawn) -> tuple[list[Label], Places]:
    """Groups with enough reports, and the place of each row among them (ABSENT for others).

    Warns of groups of fewer than ten reports or without weight, which are left out; raises
    :class:`DataError` when none is left.
    """
    if survey.by_group is None:
        return [None], np.zeros(len(sample.repeats), dtype=np.int64)
    names, codes = sample.categories(survey.by_group, "groups")
    people, weight = (
        np.bincount(codes, sample.repeats * of, len(names)) for of in (1, drawn.weights)
    )
    enough = (people >= FEWEST) & (weight > 0)
    kept, few = ([names[i] for i in np.flatnonzero(one)] for one in (enough, ~enough))
    if not kept:
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
    return kept, np.where(enough, np.cumsum(enough) - 1, ABSENT)[codes]


class Units:
    """What people of each group add to its estimates, and how these vary.

    Parameters
    ----------
    sample, drawn : rows, and how they were drawn
    groups : ``(R,)`` the group of each row, ABSENT for rows that count nowhere
    scores : ``(M, F)`` of reports
    population : what sums are divided by, the sum of each group's weights where left out

    Attributes
    ----------
    parts : how the rows of each group were drawn, with weights over what sums are divided by
    frequencies : ``(G, M)`` weighted shares of the reports
    squared : the same by squared weights
    """

    def __init__(
        self,
        sample: Sample,
        drawn: Drawn,
        groups: Places,
        scores: Vector,
        population: int | None = None,
    ) -> None:
        self._drawn, self._added = drawn, np.zeros((len(groups), scores.shape[1]))
        order = np.argsort(groups, kind="stable")[int((groups < 0).sum()) :]
        self._rows = np.split(order, np.flatnonzero(np.diff(groups[order])) + 1)
        self.parts, found = [], []
        for rows in self._rows:
            part, reports = drawn.of(rows), sample.reports[rows]
            below = float(population or part.weights @ part.repeats)
            part = replace(part, weights=part.weights / below)
            cells = np.bincount(reports, part.weights * part.repeats, len(scores))
            centred = scores[reports] - (0 if population else cells @ scores)
            self._added[rows] = centred * part.weights[:, None]
            self.parts.append(part)
            heavy = np.bincount(reports, part.weights**2 * part.repeats, len(scores))
            found.append([cells / cells.sum(), heavy / heavy.sum()])
        self.frequencies, self.squared = np.swapaxes(found, 0, 1)

    def between(self, i: int, j: int) -> tuple[Vector, int]:
        """Covariance ``(F, F)`` of who was asked in two groups, and the clusters in both."""
        first, second, clusters = self._rows[i], self._rows[j], self._drawn.clusters
        rows = np.union1d(first, second)
        one, other = (self._added[rows] * np.isin(rows, part)[:, None] for part in (first, second))
        both = rows[:0] if clusters is None else np.intersect1d(clusters[first], clusters[second])
        return design_covariance(one, self._drawn.of(rows), other), len(both)


def at_least(found: Vector, floor: Vector) -> Vector:
    """A covariance that is no less than another in any direction, nor than what was found."""
    values, vectors = np.linalg.eigh((found - floor + (found - floor).T) / 2)
    return np.asarray(floor + (vectors * np.maximum(values, 0)) @ vectors.T)

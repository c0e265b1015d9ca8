"""What estimates are: numbers with standard errors, covariances and intervals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from typing import Any

import numpy as np

from ..errors import UnknownNameError, quote
from ..labels import Label, counted, shorten
from ..notebook import Tabular, notebook_table
from ..prior import Prior
from ..schema import Schema
from .intervals import Answers, difference_limits
from .likelihood import Convergence
from .number_answers import NumberAnswers
from .observed import FromOthers, arms_of, roots
from .rows import Intervals, Limited, Vector
from .surveys import at_least

#: What intervals are about.
ALL, THESE = "all who might be asked", "those who reported"


@dataclass(frozen=True, repr=False)
class Estimate(NumberAnswers):
    """Frequencies (or another feature) of the secret, with intervals.

    Attributes
    ----------
    values : ``(F,)`` estimates; by inversion they are unbiased and may lie outside of what is
        possible; :attr:`projected` are not, and intervals hold these
    reports : number of reports
    method, intervals, confidence, target : as asked
    distribution : ``(N,)`` of largest likelihood over all symbols, in the order of the inputs
    convergence : of that maximisation, with the proven gap
    fit : p-value of the hypothesis that this mechanism made the reports, rather too large
    receipt : the receipt that says so, ``None`` where none came with the reports
    note : what could not be told of where the reports came from, a sentence or nothing
    shrunk : ``distribution`` drawn towards the design's prior (uniform for a mechanism) by the
        share of their distance that noise explains; a next round takes it as its truth
    schema : names of the columns that the labels are made of, with their bins, where known;
        :meth:`mean`, :meth:`quantile` and :meth:`histogram` are about numbers in bins
    noise : ``(F,)`` standard errors that the mechanism alone leaves, had everybody been asked
    strata, clusters : how many the variance was estimated from (people where no clusters are)
    freedom : degrees of freedom of the intervals
    effective : number of reports of equal weight that say as much, (Σw)²/Σw² [Kish1965]
    weighting : as asked
    group : the group that it is about, ``None`` for all
    by_design : whether weights, strata, clusters, groups or a population were asked for
    """

    reports: int
    method: str
    intervals: str
    confidence: float
    target: str
    distribution: Vector
    convergence: Convergence
    fit: float
    receipt: Any = None
    note: str = ""
    shrunk: Prior | None = None
    schema: Schema | None = None
    noise: Any = None
    strata: int = 1
    clusters: int = 0
    freedom: float = np.inf
    effective: float = 0.0
    weighting: str = "hajek"
    group: Label = None
    by_design: bool = False
    observed: Any = None

    @cached_property
    def answers(self) -> Answers | FromOthers:
        """What intervals are made of."""
        return self.observed.answers()

    def describe(self) -> str:
        """Method, number of reports and what the intervals are about, in one line."""
        parts = [counted(self.reports, "report")]
        if self.by_design:
            if abs(self.effective - self.reports) > 0.5:
                parts.append(f"as exact as {self.effective:.1f} of equal weight")
            if self.strata > 1:
                parts.append(counted(self.strata, "stratum", "strata"))
            if self.clusters:
                parts.append(counted(self.clusters, "cluster"))
        kind = "" if self.intervals == "binomial" else f" ({self.intervals})"
        way = "unbiased inversion" if self.method == "inversion" else "maximum likelihood"
        people = "the population" if self.by_design else ALL
        rate = self.told_rate(f"{kind} for {people if self.target == 'population' else THESE}")
        return f"{way} from {', '.join(parts)}; {rate}"

    def remarks(self) -> list[str]:
        """Lines below the numbers: how near the largest likelihood is, and projections."""
        lines = [f"likelihood {self.convergence}"] if self.method == "likelihood" else []
        return [*lines, *super().remarks()]


@dataclass(frozen=True, repr=False)
class Difference(Limited, Intervals):
    """Estimates of one group minus those of another, with intervals.

    Attributes
    ----------
    confidence : as asked
    answers : what intervals are made of
    groups : the two, the first minus the second
    """

    confidence: float
    answers: FromOthers
    groups: tuple[Label, Label] = (None, None)

    @property
    def projected(self) -> Vector:
        """Differences of projected estimates."""
        return self.answers.projected

    def describe(self) -> str:
        """Which groups, in one line."""
        first, second = (shorten(group, 28) for group in self.groups)
        return f"{first} minus {second}; {self.told_rate()}"


@dataclass(frozen=True, repr=False, eq=False)
class GroupEstimates(Tabular):
    """One estimate for each group of a sample.

    Attributes
    ----------
    column : name of the column of groups
    groups : their labels
    estimates : one for each
    reports, fit, note, target, confidence : as in each
    cross : covariance ``(F, F)`` of the estimates of two groups by their positions, and how many
        clusters are in both, of two that differ
    """

    column: str
    groups: tuple[Label, ...]
    estimates: tuple[Estimate, ...]
    cross: Callable[[int, int], tuple[Vector, int]]

    @property
    def reports(self) -> int:
        """Number of reports of all groups."""
        return sum(each.reports for each in self.estimates)

    @property
    def note(self) -> str:
        """What could not be told of where the reports came from, or nothing."""
        return self.estimates[0].note

    @cached_property
    def covariance(self) -> Vector:
        """``(G·F, G·F)`` of all numbers, group by group: clusters that reach over several groups,
        and strata, tie their estimates together.
        """
        places = range(len(self))
        return np.block([[self.cross(i, j)[0] for j in places] for i in places])

    @cached_property
    def _arms(self) -> Callable[[float], Vector]:
        return cache(partial(arms_of, [each.observed for each in self.estimates]))

    def with_limits(
        self, confidence: float | None = None, side: str = "both", *, together: bool = False
    ) -> GroupEstimates:
        """The same with other limits, see :meth:`Estimate.limits`; ``together`` are all numbers of
        a group, and of a difference.
        """
        made = (each.with_limits(confidence, side, together=together) for each in self.estimates)
        return replace(self, estimates=tuple(made))

    def _place(self, group: Label) -> int:
        if group not in self.groups:
            raise UnknownNameError(f"group of {quote(self.column)}", group, map(str, self.groups))
        return self.groups.index(group)

    def __getitem__(self, group: Label) -> Estimate:
        return self.estimates[self._place(group)]

    def __len__(self) -> int:
        return len(self.groups)

    def difference(self, first: Label, second: Label) -> Difference:
        """Estimates of one group minus those of another, with their covariance taken in.

        Raises :class:`UnknownNameError` for other groups.
        """
        i, j = self._place(first), self._place(second)
        one, other = self.estimates[i], self.estimates[j]
        cross, both = self.cross(i, j)
        apart = one.covariance + other.covariance - cross - cross.T
        # People of one cluster may be alike; what the kernel adds is not.
        found = at_least(apart, one.observed.noise + other.observed.noise)
        cross = cross - (found - apart) / 2

        def arms(alpha: float) -> Vector:
            return self._arms(alpha)[:, [j, i]]

        return difference_of(other, one, arms, found, cross, both, groups=(first, second))

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


def difference_of(
    first: Estimate,
    second: Estimate,
    arms: Callable[[float], Vector],
    covariance: Vector,
    cross: Vector,
    shared: int,
    kind: Any = Difference,
    **told: Any,
) -> Any:
    """A second estimate less a first, with the covariance of that and of the two, ``(F, F)``.

    ``arms`` are those of :func:`arms_of`, ``(3, 2, F)``, of intervals that miss with a probability;
    ``shared`` is the number of people, or clusters, that are in both.
    """
    product = first.errors * second.errors
    alike = np.divide(np.diagonal(cross), product, out=np.zeros_like(product), where=product > 0)
    # Few people in both say little of how alike the two are.
    alike = np.clip(alike, -1, 1) * shared / (shared + 4)
    held, room = second.projected - first.projected, np.ptp(first.observed.values, axis=0)

    def both(alpha: float) -> tuple[Vector, Vector]:
        one, other = np.swapaxes(arms(alpha), 0, 1)
        return difference_limits(one, other, held, room, alike)

    values, answers = (
        second.values - first.values,
        FromOthers(held, -room, room, both, (first.answers, second.answers)),
    )
    found = values, roots(covariance), values, values, covariance, first.confidence, answers
    made = kind(first.labels, *found, **told)
    return made.with_limits(side=first.side, together=first.together)


def joined_notes(notes: Sequence[str]) -> str:
    """Notes that say something, in one."""
    return "; ".join(note for note in notes if note)

"""``GroupedSelection``: subset selection for a few groups of symbols, each of one mass.

A report is a type, which comes for each group with its own chance, and a residue family for each
group that the type splits. A symbol's own group draws the residue of the symbol by a profile, the
shifts of other groups are uniform. So two symbols of different groups have independent residues,
whatever directions the groups share.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from ..errors import LevelError
from ..exact import DENOMINATOR
from ..labels import Label, counted
from ..prior import Prior
from ..privacy import LDP
from ..privacy.notion import PrivacyNotion
from ..published import told_in_public
from .family import Floats, Integers
from .group_errors import GroupErrors
from .permuted import PermutedFamily
from .profile import Family
from .report_types import Layout, ReportType
from .risk import least_risk
from .selection import (
    LevelCheck,
    Lifts,
    SubsetSelection,
    SymmetryCertificate,
    asked_bounds,
    check_any_masses,
    judged,
    kept,
)
from .types_program import Groups, Prices, least_objective, shapes_of

MOST_REPORTS = 1 << 62
# Symbols up to which bounds are told to the smaller of two tolerances.
_FEW, _FINE, _COARSE = 5000, 1e-9, 1e-6


def tolerance_for(sizes: Sequence[int]) -> float:
    """To what share of it the least risk is told."""
    return _FINE if sum(sizes) <= _FEW else _COARSE


def _mean(
    slots: Sequence[Any],
    masses: Sequence[Fraction],
    ends: Sequence[Sequence[Fraction]],
    i: int,
    c: int,
    worst: Callable[[Sequence[Fraction]], Fraction],
) -> Fraction:
    """An end of the mean over all groups at reports of class c of group i, of ends of each group
    and class.
    """
    return sum(
        (
            mass * (row[c] if j == i or (slot is not None and slot == slots[i]) else worst(row))
            for j, (slot, mass, row) in enumerate(zip(slots, masses, ends, strict=True))
        ),
        Fraction(0),
    )


def lifts_of(layout: Layout, types: Iterable[ReportType]) -> Iterator[Lifts]:
    """Of each type bounds on 1/lift, lift and ratio at its reports, and what is attained.

    An entry is compared with means at reports of its own class, which groups that share a direction
    share as well, and of any class of other groups.
    """
    one_class = ((Fraction(1),) * 4,)
    for one in types:
        split = [part for part in one.parts if part is not None]
        is_full = all(part.family.is_full for part in split)
        is_alike = all(len(set(part.profiles)) == 1 for part in split)
        chances = [Fraction(weight, DENOMINATOR) for weight in one.chances]
        classes = [one_class if part is None else part.classes for part in one.parts]
        masses = [share * chance for share, chance in zip(layout.shares, chances, strict=True)]
        slots = [None if part is None else part.slot for part in one.parts]
        lower, upper = ([[row[k] for row in rows] for rows in classes] for k in (2, 3))
        entries = [
            (
                chance * row[0],
                chance * row[1],
                _mean(slots, masses, lower, i, c, min),
                _mean(slots, masses, upper, i, c, max),
            )
            for i, (chance, rows) in enumerate(zip(chances, classes, strict=True))
            for c, row in enumerate(rows)
        ]
        high, low = max(row[0] for row in entries), min(row[1] for row in entries)
        values = (
            max(row[3] / row[1] for row in entries) if low else None,
            max(row[0] / row[2] for row in entries) if all(row[2] for row in entries) else None,
            high / low if low else None,
        )
        yield values, (is_full and is_alike, is_full and is_alike, is_alike)


class GroupedKernel(SubsetSelection):
    """A kernel whose reports stand for subsets of symbols in groups, however it was found.

    Attributes
    ----------
    inputs : labels of the symbols
    layout : which group each symbol is in, with the masses that estimates are best for
    types : how reports are drawn
    """

    def _draw_by(
        self,
        inputs: tuple[Label, ...],
        layout: Layout,
        types: Iterable[ReportType],
        notions: Iterable[PrivacyNotion],
    ) -> None:
        """Take over how reports are drawn; raises ``ValueError`` where that is no kernel."""
        self.inputs, self.notions = inputs, tuple(notions)
        self.has_names = any(type(x) is not int or x != i for i, x in enumerate(inputs))
        self.layout, self.types = layout, tuple(types)
        sizes = layout.sizes
        for one in self.types:
            if len(one.chances) != len(sizes) or len(one.parts) != len(sizes):
                raise ValueError("expected a chance and a part for each group")
            if min(one.chances) < 0 or max(one.chances) == 0:
                raise ValueError("expected chances from 0 on")
            if any(one.part(i).family.size != sizes[i] for i in one.split):
                raise ValueError("expected families of the sizes of the groups")
        if any(
            sum(each) != DENOMINATOR for each in zip(*(t.chances for t in self.types), strict=True)
        ):
            raise ValueError("expected chances with sum one")
        if sum(one.reports for one in self.types) > MOST_REPORTS:
            raise ValueError("more reports than there are integers")
        self.errors = GroupErrors(self.layout, self.types)

    @property
    def outputs(self) -> range:
        """The reports, integers from 0 on."""
        return range(self.offsets[-1])

    @cached_property
    def offsets(self) -> tuple[int, ...]:
        """Where the reports of each type begin, and where those of the last one end."""
        found = [0]
        for one in self.types:
            found.append(found[-1] + one.reports)
        return tuple(found)

    # Levels

    def _checked(self, notions: Iterable[PrivacyNotion]) -> tuple[LevelCheck, ...]:
        rows, found = list(lifts_of(self.layout, self.types)), []
        for notion in notions:
            check_any_masses(notion)
            found.append(judged(notion, rows))
        return tuple(found)

    def check(self, notion: PrivacyNotion) -> LevelCheck:
        """Decide exactly whether it keeps a notion under its masses, and at which levels."""
        return self._checked([notion])[0]

    @property
    def log_ratio(self) -> float:
        """The LDP level that it has whatever it was made for, in nats, rounded up."""
        return self.check(LDP(np.inf)).achieved[0]

    # Errors

    def variances(self, truth: Floats) -> Floats:
        """N times the variance of the estimate of each share, where they are as given, ``(N,)``."""
        return self.errors.variances(np.asarray(truth, dtype=float))

    @property
    def worst_variance(self) -> float:
        """The largest n times the variance of any share's estimate, over all distributions."""
        return self.errors.worst

    def shares_of(self, reports: Integers, counts: Integers) -> Floats:
        """Unbiased estimates of all shares, from distinct reports in rising order."""
        return self.errors.shares_of(self.offsets, reports, counts)

    def directions_of(
        self, reports: Integers, counts: Integers
    ) -> tuple[Family, Integers, Integers]:
        """Directions that are independent of the symbols, how often each came, and their family.

        They are those of the type that came most often.
        """
        kinds = np.searchsorted(self.offsets, reports, side="right") - 1
        met = np.bincount(kinds, counts, len(self.types))
        met[[not one.slots for one in self.types]] = -1
        t = int(np.argmax(met))
        one, rows = self.types[t], kinds == t
        return one.slots[0][0], one.digits(reports[rows] - self.offsets[t])[0], counts[rows]

    # The kernel

    def probability(self, symbol: Label, report: int) -> Fraction:
        """P(report | symbol), exactly."""
        row, number = self.inputs.index(symbol), self.outputs[report]
        t = int(np.searchsorted(self.offsets, number, side="right")) - 1
        one, i = self.types[t], int(self.layout.group[row])
        found = Fraction(one.chances[i], DENOMINATOR)
        inside = np.array([number - self.offsets[t]], dtype=np.int64)
        digits = one.digits(inside)
        for k, (family, _) in enumerate(one.slots):
            found *= Fraction(*family.chance(int(digits[k][0]) * family.base)) * family.base
        for j in one.split:
            found /= one.part(j).family.base
        if one.parts[i] is None:
            return found
        part = one.part(i)
        place = self.layout.place[[row]]
        residues, classes = part.family.residues(one.of_group(inside, i), place)
        return found * part.profiles[int(classes[0])].value_at(int(residues[0]))

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of labels and weights: equal for equal kernels."""
        digest = hashlib.sha256(b"mechdesign subset selection of groups")
        digest.update(json.dumps([repr(label) for label in self.inputs]).encode())
        digest.update(self.layout.group.astype("<i8").tobytes())
        for one in self.types:
            rows: list[Any] = [list(map(str, one.chances))]
            for part in one.parts:
                if part is None:
                    rows.append(None)
                    continue
                family = part.family
                row = [[str(p.count), str(p.high), str(p.middle)] for p in part.profiles]
                rows.append([family.size, family.base, family.dimension, row])
                if isinstance(family, PermutedFamily):
                    rows.append([family.placements, list(map(str, family.masses))])
            digest.update(json.dumps(rows).encode())
        return digest.hexdigest()


class GroupedSelection(GroupedKernel):
    """A kernel whose reports stand for subsets of symbols in groups of equal mass.

    It is made by :func:`subset_selection` of a prior, and is used like the one of equal masses.

    Attributes
    ----------
    inputs : labels of the symbols
    notions : what it keeps, under the prior
    prior : masses of the symbols
    layout : which group each symbol is in
    types : how reports are drawn
    prices : what proves the bound
    certificate : what is proved of levels and risk
    """

    def __init__(
        self,
        prior: Prior,
        notions: Iterable[PrivacyNotion],
        types: Iterable[ReportType],
        prices: Prices,
        layout: Layout | None = None,
    ) -> None:
        self._prior, self.prices = prior, prices
        self._draw_by(prior.labels, Layout.of(prior) if layout is None else layout, types, notions)
        self.certificate = self._certified()

    def _certified(self) -> SymmetryCertificate:
        checks = kept(self._checked(self.notions))
        bounds = asked_bounds(self.notions, outside=True)
        shapes = shapes_of(bounds, min(self.layout.masses), outside=True)
        groups = Groups.of_symbols(self.layout.sizes, self.layout.masses)
        tolerance = tolerance_for(self.layout.sizes)
        least = least_objective(groups, shapes, self.prices, tolerance)
        # Nor is any risk below that of an open survey.
        bound = max(Fraction(least), Fraction(1)) - self.layout.certain
        return SymmetryCertificate(checks, self.errors.risk, bound)

    @property
    def prior(self) -> Prior:
        """The prior that notions are kept under."""
        return self._prior

    def __repr__(self) -> str:
        notions = ", ".join(map(str, self.notions))
        return (
            f"SubsetSelection({len(self.inputs)} symbols in "
            f"{counted(len(self.layout.sizes), 'group')}, {notions}: {len(self.outputs)} reports "
            f"of {self.bytes_per_report} bytes, {counted(len(self.types), 'type')}; "
            f"risk {self.risk:.6g}, at most {self.gap:.2g} above the least)"
        )


class PublicSelection(GroupedKernel):
    """What others may know of a selection of groups: how reports are drawn and what they keep.

    That takes which symbols are in one group, but not how likely they are: groups are known by
    their symbols, chances by the groups. The prior stays behind, and with it levels under it, risk
    and bound at it and the dual variables. Notions that are about no prior are checked; the others
    are what the maker states. Estimates are unbiased whatever the shares are, and weighed as is
    best where all are equal; so are :attr:`risk` and :attr:`bound`.

    What cannot be left out are the chances. They were fitted to the masses, and groups stand in the
    order of these, the largest first.

    Attributes
    ----------
    inputs : labels of the symbols
    notions : what it keeps
    stated : names and levels of what it keeps besides, whose parameters are not told
    layout : which group each symbol is in
    types : how reports are drawn
    """

    def __init__(
        self,
        inputs: Iterable[Any],
        notions: Iterable[PrivacyNotion],
        types: Iterable[ReportType],
        layout: Layout,
        stated: Iterable[str] = (),
    ) -> None:
        told, named = told_in_public(notions)
        self.stated = (*named, *stated)
        self._draw_by(tuple(inputs), layout.without_masses, types, told)
        self.certificate = self._certified()

    @classmethod
    def of(cls, selection: GroupedKernel) -> PublicSelection:
        """The public form of a selection of groups."""
        stated = selection.stated if isinstance(selection, PublicSelection) else ()
        return cls(selection.inputs, selection.notions, selection.types, selection.layout, stated)

    def _certified(self) -> SymmetryCertificate:
        known = [notion for notion in self.notions if not notion.uses_prior]
        bound = least_risk(len(self.inputs), asked_bounds(known, outside=True))
        return SymmetryCertificate(kept(self._checked(known)), self.errors.risk, bound)

    @property
    def prior(self) -> None:
        """Nothing: it is not told."""
        return

    def check(self, notion: PrivacyNotion) -> LevelCheck:
        """Decide exactly whether it keeps a notion that is about no prior, and at which levels.

        Raises :class:`LevelError` for the others.
        """
        if notion.uses_prior:
            raise LevelError(
                f"privacy notion {notion}",
                expected="one that is about no prior, such as LDP",
                got="the public form of a selection, which does not tell its prior",
                remedy="check it with the file of the design",
            )
        return super().check(notion)

    def __repr__(self) -> str:
        known = [str(notion) for notion in self.notions if not notion.uses_prior]
        stated = [str(notion) for notion in self.notions if notion.uses_prior]
        stated += self.stated
        told = f"checked here: {', '.join(known) or 'none'}"
        if stated:
            told += f"; stated by its maker, under a prior that is not told: {', '.join(stated)}"
        return (
            f"public form of a subset selection ({len(self.inputs)} symbols in "
            f"{counted(len(self.layout.sizes), 'group')}, {len(self.outputs)} reports of "
            f"{counted(self.bytes_per_report, 'byte')}, {counted(len(self.types), 'type')}; {told})"
        )

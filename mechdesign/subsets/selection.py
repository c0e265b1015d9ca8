"""``SubsetSelection``: a kernel whose reports stand for subsets, and how its levels are decided.

Symbols come in groups of equal mass, often in one. A report is a type, which comes for each group
with its own chance, and for each group that the type splits a direction and a shift, which groups
of equal geometry share in part. A symbol's own group draws the residue of the symbol by a profile,
the shifts of other groups are uniform. So two symbols of different groups have independent
residues, whatever directions the groups share.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from ..errors import CertificateError, InputError, LevelError, quote
from ..exact import (
    DENOMINATOR,
    DENOMINATOR_BITS,
    Verdict,
    compare_with_exp,
    float_at_least,
    float_at_most,
    log_upper,
    nearest_float,
)
from ..labels import Label
from ..mechanism import ImplicitKernel
from ..prior import Prior
from ..privacy import LDP
from ..privacy.notion import PrivacyNotion
from ..published import told_in_public
from .bounds import LiftBounds, asked_bounds, asked_parts, check_any_masses, least_risk
from .family import Floats, Integers
from .permuted import PermutedFamily
from .program import Groups, Prices, float_shapes, least_objective
from .report_types import Family, Layout, ReportType
from .scores import Scores

MOST_REPORTS = 1 << 62
#: What is bounded, in the order of :data:`Lifts`.
LIFTS = ("lower", "upper", "ratio")
# Symbols up to which bounds are told to the smaller of two tolerances.
_FEW, _FINE, _COARSE = 5000, 1e-9, 1e-6
# Labels that are hashed at once.
_CHUNK = 1 << 16

#: Bounds on 1/lift, lift and ratio, ``None`` for none, and whether each is attained.
Lifts = tuple[tuple[Fraction | None, ...], tuple[bool, ...]]


def tolerance_for(layout: Layout) -> float:
    """To what share of it the least risk is told."""
    return _FINE if len(layout.group) <= _FEW else _COARSE


@dataclass(frozen=True)
class LevelCheck:
    """The exact verdict on one notion.

    Attributes
    ----------
    notion : with the level asked
    verdict : ``Verdict.YES`` where it is proved
    achieved : levels that the kernel has at most, in nats, rounded up
    """

    notion: PrivacyNotion
    verdict: Verdict
    achieved: tuple[float, ...]


@dataclass(frozen=True)
class SymmetryCertificate:
    """What is proved of a subset selection, with integers and rationals, and of groups by prices.

    Attributes
    ----------
    checks : of each notion
    risk_exact : n times the mean squared error of n reports, summed over the symbols, which have
        their masses
    bound_exact : what it is at least for every kernel that keeps the notions
    """

    checks: tuple[LevelCheck, ...]
    risk_exact: Fraction
    bound_exact: Fraction

    @property
    def gap(self) -> float:
        """How much larger the risk is than the bound, as a share of the bound."""
        return max(0.0, float_at_least(self.risk_exact / self.bound_exact - 1))


class SubsetSelection(ImplicitKernel):
    """A kernel whose reports stand for subsets of the symbols, see :func:`subset_selection`.

    Whatever draws or takes reports takes it like a mechanism; it holds no matrix.

    Attributes
    ----------
    inputs : labels of the symbols, a range where they have none
    notions : what it keeps
    layout : which group each symbol is in
    types : how reports are drawn
    certificate : what is proved of levels and risk
    """

    notions: tuple[PrivacyNotion, ...]
    layout: Layout
    types: tuple[ReportType, ...]

    def __init__(
        self,
        symbols: Sequence[Label],
        notions: Iterable[PrivacyNotion],
        layout: Layout,
        types: Iterable[ReportType],
    ) -> None:
        self.inputs: Any = symbols
        self.notions, self.layout, self.types = tuple(notions), layout, tuple(types)
        sizes = layout.sizes
        for one in self.types:
            if not len(one.chances) == len(one.parts) == len(sizes):
                raise ValueError("expected a chance and a part for each group")
            if min(one.chances) < 0 or max(one.chances) == 0:
                raise ValueError("expected chances from 0 on")
            if any(part.family.size != sizes[i] for i, part in one.split.items()):
                raise ValueError("expected families of the sizes of the groups")
        if {sum(row) for row in zip(*(t.chances for t in self.types), strict=True)} != {
            DENOMINATOR
        }:
            raise ValueError("expected chances with sum one")
        if self.offsets[-1] > MOST_REPORTS:
            raise ValueError("more reports than there are integers")
        self._scores = Scores(layout, self.types)
        known = [notion for notion in self.notions if self._knows(notion)]
        checks = kept(self._judged(notion) for notion in known)
        bound = self._bound(asked_bounds(known, outside=True))
        self.certificate = SymmetryCertificate(checks, self._scores.risk, bound)

    def _bound(self, bounds: LiftBounds) -> Fraction:
        """What the risk is at least for every kernel that keeps bounds."""
        return least_risk(len(self.inputs), bounds)

    def _knows(self, notion: PrivacyNotion) -> bool:
        """Whether it can tell how far a notion is kept."""
        return True

    @property
    def outputs(self) -> range:
        """The reports, integers from 0 on."""
        return range(self.offsets[-1])

    @cached_property
    def offsets(self) -> tuple[int, ...]:
        """Where the reports of each type begin, and where those of the last one end."""
        ends = np.cumsum([0, *(one.reports for one in self.types)], dtype=object)
        return tuple(map(int, ends))

    @property
    def has_names(self) -> bool:
        """Whether labels are others than the positions."""
        named = enumerate(() if isinstance(self.inputs, range) else self.inputs)
        return any(type(x) is not int or x != i for i, x in named)

    @property
    def bytes_per_report(self) -> int:
        """Bytes that hold a report."""
        return ((len(self.outputs) - 1).bit_length() + 7) // 8

    @property
    def prior(self) -> Prior | None:
        """The prior that notions of a prior are kept under; ``None`` where none is told."""
        return Prior.uniform(self.inputs if self.has_names else len(self.inputs))

    # What it is good for

    @property
    def risk(self) -> float:
        """N times the mean squared error summed over the symbols, which have their masses."""
        return nearest_float(self.certificate.risk_exact)

    @property
    def bound(self) -> float:
        """What the risk is at least for every kernel that keeps the notions, rounded down."""
        return float_at_most(self.certificate.bound_exact)

    @property
    def gap(self) -> float:
        """How much larger the risk is than the bound, as a share of it."""
        return self.certificate.gap

    @property
    def level(self) -> tuple[float, ...]:
        """The levels it has at most, in nats, rounded up, in the order of the notions."""
        return tuple(level for check in self.certificate.checks for level in check.achieved)

    @property
    def log_ratio(self) -> float:
        """The LDP level that it has whatever it was made for, in nats, rounded up."""
        return self._judged(LDP(math.inf)).achieved[0]

    def reports_for(self, error: float) -> int:
        """How many reports bring the root of the mean squared error, summed, to ``error``.

        Raises :class:`InputError` for anything but a positive number.
        """
        known = isinstance(error, (int, float, np.number)) and not isinstance(error, bool)
        if not known or not 0 < error < math.inf:
            raise InputError(
                "error",
                expected="a positive number",
                got=quote(error),
                remedy="pass the root of the squared error that all frequencies together may have",
            )
        return math.ceil(self.certificate.risk_exact / Fraction(error) ** 2)

    def risk_at(self, truth: Iterable[float]) -> float:
        """The risk where symbols have the given shares."""
        return float(self.variances(np.array([*truth], dtype=float)).sum())

    def variances(self, truth: Floats) -> Floats:
        """N times the variance of the estimate of each share, where they are as given, ``(N,)``."""
        return self._scores.variances(np.asarray(truth, dtype=float))

    @property
    def worst_variance(self) -> float:
        """The largest n times the variance of any share's estimate, over all distributions."""
        return self._scores.worst

    def score_moments(self) -> tuple[Floats, Floats]:
        """Moments of the score of a symbol, whose mean :meth:`shares_of` is, given the secret.

        Raw moments of order one to three, and E (a − v)₊³ and E (a − v)₋³ for the value v that is
        estimated: one where the symbol is the secret, zero elsewhere.

        Returns
        -------
        own : ``(5, G)``
            Where the secret is the symbol, by its group.
        other : ``(5, G, G)``
            Where it is another one, by the group of the symbol and that of the secret. In one group
            it is the mean over all other symbols, of which each has the same where classes of
            directions have equal profiles: wherever a group fills its space, and under bounds on
            ratios alone.
        """
        return self._scores.moments

    def check(self, notion: PrivacyNotion) -> LevelCheck:
        """Decide exactly whether it keeps a notion, and at which levels.

        Raises :class:`LevelError` for notions that do not treat symbols alike.

        >>> import mechdesign as md
        >>> str(md.subset_selection(1000, md.LDP(1)).check(md.PML(1)).verdict)
        'yes'
        """
        if not self._knows(notion):
            raise LevelError(
                f"privacy notion {notion}",
                expected="one that is about no prior, such as LDP",
                got="the public form of a selection, which does not tell its prior",
                remedy="check it with the file of the design",
            )
        return self._judged(notion)

    def _judged(self, notion: PrivacyNotion) -> LevelCheck:
        """The levels of one notion from bounds on lifts and ratios at all kinds of reports."""
        if len(self.layout.masses) > 1:
            check_any_masses(notion)
        worst, verdict = dict[int, float](), Verdict.YES
        for kind, parameter, level in asked_parts(notion):
            place = LIFTS.index(kind)
            for values, are_attained in self._lifts:
                value = values[place]
                reached = math.inf if value is None else max(0.0, log_upper(value))
                worst[parameter] = max(worst.get(parameter, 0.0), reached)
                if level is None:
                    continue
                answer = Verdict.NO if value is None else compare_with_exp(value, level)
                if answer is Verdict.NO and not are_attained[place]:
                    answer = Verdict.UNDECIDED
                if verdict is Verdict.YES or answer is Verdict.NO:
                    verdict = answer
        return LevelCheck(notion, verdict, tuple(worst[k] for k in sorted(worst)))

    @cached_property
    def _lifts(self) -> list[Lifts]:
        return [lifts_of(self.layout, one) for one in self.types]

    # Reports

    def shares_of(self, reports: Integers, counts: Integers) -> Floats:
        """Unbiased estimates of all shares, from distinct reports in rising order."""
        return self._scores.shares_of(self.offsets, reports, counts)

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
        """P(report | symbol), exactly.

        >>> import mechdesign as md
        >>> found = md.subset_selection(3, md.LDP(1))
        >>> sum(found.probability(0, y) for y in found.outputs)
        Fraction(1, 1)
        """
        row, number = self.inputs.index(symbol), self.outputs[report]
        t = int(np.searchsorted(self.offsets, number, side="right")) - 1
        one, i = self.types[t], int(self.layout.group[row])
        inside = np.array([number - self.offsets[t]], dtype=np.int64)
        found = Fraction(one.chances[i], DENOMINATOR)
        for (family, _), digits in zip(one.slots, one.digits(inside), strict=False):
            found *= Fraction(*family.chance(int(digits[0]) * family.base)) * family.base
        for part in one.split.values():
            found /= part.family.base
        if (own := one.parts[i]) is None:
            return found
        place = self.layout.place[[row]].astype(np.int64)
        residues, classes = own.family.residues(one.of_group(inside, i), place)
        return found * own.profiles[int(classes[0])].value_at(int(residues[0]))

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of labels and weights: equal for equal kernels."""
        alone = len(self.layout.masses) == 1
        digest = hashlib.sha256(b"mechdesign subset selection" + b" of groups" * (not alone))
        digest.update(b"[[" if alone else b"[")
        for start in range(0, len(self.inputs), _CHUNK):
            labels = json.dumps([*map(repr, self.inputs[start : start + _CHUNK])])
            digest.update(b", "[: 2 * bool(start)] + labels[1:-1].encode())
        digest.update(b"]")
        if not alone:
            digest.update(self.layout.group.astype("<i8").tobytes())
        for one in self.types:
            rows: list[Any] = [[*map(str, one.chances)]]
            for part in one.parts:
                if part is None:
                    rows.append(None)
                    continue
                family = part.family
                profiles = [[p.count, p.high, p.middle] for p in part.profiles]
                placed = []
                if isinstance(family, PermutedFamily):
                    placed = [family.placements, [*map(str, family.masses)]]
                if alone:
                    head = [[DENOMINATOR_BITS, family.base, family.dimension], family.projective]
                    digest.update(f", {json.dumps(head)[1:]}{json.dumps(profiles)}".encode())
                    rows = placed
                    continue
                texts = [[*map(str, row)] for row in profiles]
                rows.append([family.size, family.base, family.dimension, texts])
                rows += [placed] * bool(placed)
            if rows:
                digest.update(json.dumps(rows).encode())
        return digest.hexdigest()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SubsetSelection):
            return NotImplemented
        return self.fingerprint == other.fingerprint and self.notions == other.notions

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def _size(self) -> str:
        """Symbols, groups, reports and types in words, ``…`` before the reports."""
        groups, (first, *_) = len(self.layout.sizes), self.types
        symbols = f"{len(self.inputs)} symbols" + f" in {groups} groups" * (groups > 1)
        described = f"{len(self.types)} types"
        if groups == 1 and (part := first.parts[0]) is not None:
            described = part.family.describe(part.profiles[0].count)
        reports = f"{len(self.outputs)} reports of {self.bytes_per_report} bytes, {described}"
        return f"{symbols}…{reports}"

    def __repr__(self) -> str:
        told = self._size().replace("…", f", {', '.join(map(str, self.notions))}: ")
        risk = f"risk {self.risk:.6g}, at most {self.gap:.2g} above the least"
        return f"SubsetSelection({told}; {risk})"


class GroupedSelection(SubsetSelection):
    """A selection for symbols of a few masses, made by :func:`subset_selection` of a prior.

    Attributes
    ----------
    prior : masses of the symbols, under which notions are kept
    prices : what proves the bound
    """

    def __init__(
        self,
        prior: Prior,
        notions: Iterable[PrivacyNotion],
        layout: Layout,
        types: Iterable[ReportType],
        prices: Prices,
    ) -> None:
        self._prior, self.prices = prior, prices
        super().__init__(prior.labels, notions, layout, types)

    def _bound(self, bounds: LiftBounds) -> Fraction:
        masses, sizes = self.layout.masses, self.layout.sizes
        shapes = float_shapes(bounds, min(masses), outside=True)
        groups = Groups.of(sizes, masses, sizes, sizes)
        least = least_objective(groups, shapes, self.prices, tolerance_for(self.layout))
        # Nor is any risk below that of an open survey.
        return max(Fraction(least), Fraction(1)) - self.layout.certain

    @property
    def prior(self) -> Prior:
        """The prior that notions are kept under."""
        return self._prior


class PublicSelection(SubsetSelection):
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
        inputs: Sequence[Label],
        notions: Iterable[PrivacyNotion],
        layout: Layout,
        types: Iterable[ReportType],
        stated: Iterable[str] = (),
    ) -> None:
        told, named = told_in_public(notions)
        self.stated = (*named, *stated)
        super().__init__(inputs, told, layout.without_masses, types)

    @classmethod
    def of(cls, selection: SubsetSelection) -> PublicSelection:
        """The public form of a selection of groups."""
        stated = selection.stated if isinstance(selection, PublicSelection) else ()
        return cls(selection.inputs, selection.notions, selection.layout, selection.types, stated)

    def _knows(self, notion: PrivacyNotion) -> bool:
        return not notion.uses_prior

    @property
    def prior(self) -> None:
        """Nothing: it is not told."""
        return

    def __repr__(self) -> str:
        known = [str(notion) for notion in self.notions if self._knows(notion)]
        stated = [str(notion) for notion in self.notions if not self._knows(notion)]
        stated += self.stated
        told = f"checked here: {', '.join(known) or 'none'}"
        if stated:
            told += f"; stated by its maker, under a prior that is not told: {', '.join(stated)}"
        size = self._size().replace("…", ", ")
        return f"public form of a subset selection ({size}; {told})"


def lifts_of(layout: Layout, one: ReportType) -> Lifts:
    """Bounds on 1/lift, lift and ratio at the reports of a type, and what is attained.

    An entry is compared with means at reports of its own class, which groups that share a direction
    share as well, and of any class of other groups.
    """
    split = one.split.values()
    is_full = all(part.family.is_full for part in split)
    is_alike = all(len(set(part.profiles)) == 1 for part in split)
    chances = [Fraction(weight, DENOMINATOR) for weight in one.chances]
    masses = [share * chance for share, chance in zip(layout.shares, chances, strict=True)]
    classes = [((Fraction(1),) * 4,) if part is None else part.classes for part in one.parts]
    slots = [i if part is None else part.slot for i, part in enumerate(one.parts)]

    def mean(i: int, c: int, k: int, worst: Callable[..., Fraction]) -> Fraction:
        parts = zip(masses, classes, slots, strict=True)
        ends = (
            mass * (rows[c][k] if slot == slots[i] else worst(row[k] for row in rows))
            for mass, rows, slot in parts
        )
        return sum(ends, Fraction(0))

    entries = [
        (chance * row[0], chance * row[1], mean(i, c, 2, min), mean(i, c, 3, max))
        for i, (chance, rows) in enumerate(zip(chances, classes, strict=True))
        for c, row in enumerate(rows)
    ]
    high, low = max(row[0] for row in entries), min(row[1] for row in entries)
    values = (
        max(row[3] / row[1] for row in entries) if low else None,
        max(row[0] / row[2] for row in entries) if all(row[2] for row in entries) else None,
        high / low if low else None,
    )
    return values, (is_full and is_alike, is_full and is_alike, is_alike)


def kept(checks: Iterable[LevelCheck]) -> tuple[LevelCheck, ...]:
    """The checks; raises :class:`CertificateError` where one is not passed."""
    checks = tuple(checks)
    for check in checks:
        if check.verdict is not Verdict.YES:
            raise CertificateError(
                f"{check.notion}: the weights have level {check.achieved}", checks
            )
    return checks

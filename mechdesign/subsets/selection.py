"""``SubsetSelection``: a kernel whose reports stand for subsets, and how its levels are decided.

Symbols come in groups of equal mass, often in one. A report is a type, which comes for each group
with its own chance, and for each group that the type splits a direction and a shift, which groups
of equal geometry share in part. A symbol's own group draws the residue of the symbol by a profile,
the shifts of other groups are uniform. So two symbols of different groups have independent
residues, whatever directions the groups share.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from ..certificate.certificate import GAP_TOLERANCE
from ..certificate.designed import Designed
from ..errors import CertificateError, LevelError
from ..exact import DENOMINATOR, Verdict, float_at_least, float_at_most, nearest_float
from ..labels import Label, counted
from ..mechanism import ImplicitKernel
from ..prior import Prior
from ..privacy import LDP
from ..privacy.notion import PrivacyNotion
from ..published import told_in_public
from ..utility.estimation import Estimation
from .bounds import LiftBounds, asked_bounds, least_risk
from .parts import Floats, Integers
from .program import Prices, Program
from .relaxation import Multipliers, Relaxation
from .report_types import MOST_REPORTS, Layout, LevelCheck, ReportType, check_levels
from .scores import Scored

#: What a design names that found its kernel so.
SUBSETS = "subset-selection"


@dataclass(frozen=True)
class SymmetryCertificate:
    """What is proved of a subset selection, with integers and rationals, and of groups by prices.

    Attributes
    ----------
    checks : of each notion
    risk_exact : n times the mean squared error of n reports, summed over the symbols, which have
        their masses
    least_exact : what it is at least for every kernel that keeps the notions
    """

    checks: tuple[LevelCheck, ...]
    risk_exact: Fraction
    least_exact: Fraction

    @property
    def value(self) -> float:
        """Minus the risk."""
        return -nearest_float(self.risk_exact)

    @property
    def bound(self) -> float:
        """Upper bound on the value of every kernel that keeps the notions, rounded up."""
        return -float_at_most(self.least_exact)

    @property
    def gap(self) -> float:
        """(bound − value) / |value|, rounded up."""
        return max(0.0, float_at_least(1 - self.least_exact / self.risk_exact))

    @property
    def is_optimal(self) -> bool:
        """Whether the gap is at most 1e-6."""
        return self.gap <= GAP_TOLERANCE

    #: A bound is always known.
    gap_is_known = True


class SubsetSelection(Designed, Scored, ImplicitKernel):
    """A kernel whose reports stand for subsets of the symbols, see :func:`subset_selection`.

    Whatever draws or takes reports takes it like a mechanism, and it says what a :class:`Design`
    does of value, bound and levels; it holds no matrix.

    Attributes
    ----------
    inputs : labels of the symbols, a range where they are their positions
    utility : what it is designed for, the frequencies of all symbols
    notions : what it keeps
    layout : which group each symbol is in
    types : how reports are drawn
    prior : masses under which notions are kept; ``None`` where they are not told
    prices : what proves the bound, of several groups: by symmetry where their masses are equal
        (:class:`Prices`), else by a relaxation (:class:`Multipliers`)
    certificate : what is proved of levels and risk
    """

    utility = Estimation()
    method = SUBSETS

    def __init__(
        self,
        symbols: Prior | Sequence[Label],
        notions: Iterable[PrivacyNotion],
        layout: Layout,
        types: Iterable[ReportType],
        prices: Prices | Multipliers | None = None,
    ) -> None:
        self._prior = symbols if isinstance(symbols, Prior) else None
        labels: Any = symbols.labels if isinstance(symbols, Prior) else symbols
        has_names = any(type(x) is not int or x != i for i, x in enumerate(labels))
        self.inputs = labels if has_names else range(len(labels))
        self.schema = symbols.schema if isinstance(symbols, Prior) else None
        self.notions, self.prices = tuple(notions), prices
        super().__init__(layout, [*types])
        chances = [*zip(*(one.chances for one in self.types), strict=True)]
        is_one = {*map(sum, chances)} == {DENOMINATOR} and min(map(min, chances)) >= 0
        if not is_one or self.offsets[-1] > MOST_REPORTS:
            raise ValueError("expected chances with sum one, of reports that are machine integers")
        self._lifts = [one.lifts(layout.shares) for one in self.types]
        known = [notion for notion in self.notions if self._knows(notion)]
        checks = tuple(map(self.check, known))
        for check in checks:
            if check.verdict is not Verdict.YES:
                raise CertificateError(
                    f"{check.notion}: the weights have level {check.achieved}", checks
                )
        least = self._least(asked_bounds(known, outside=True))
        self.certificate = SymmetryCertificate(checks, self.risk_exact, least)

    def _least(self, bounds: LiftBounds) -> Fraction:
        """What the risk is at least for every kernel."""
        prices, layout = self.prices, self.layout
        if prices is None:
            return least_risk(len(self.inputs), bounds)
        # Nor is any risk below that of an open survey.
        open_risk, found = 1 - layout.certain, 0.0
        if isinstance(prices, Prices):
            found = Program(layout, bounds, outside=True).least(prices)
            return max(Fraction(found) - layout.certain, open_risk)
        if self._prior is not None and bounds.ratio is not None:
            excess = float_at_least(bounds.ratio - 1)
            masses = self._prior.probabilities
            found = Relaxation(masses, prices.sizes, excess).bound(prices.weights)
        return max(Fraction(found), open_risk)

    def _knows(self, notion: PrivacyNotion) -> bool:
        """Whether it can tell how far a notion is kept."""
        return True

    @property
    def prior(self) -> Prior | None:
        """The prior that notions of a prior are kept under; ``None`` where none is told."""
        if self._prior is None and len(self.layout.sizes) == 1:
            return Prior.uniform(self.inputs if self.has_names else len(self.inputs))
        return self._prior

    @property
    def outputs(self) -> range:
        """The reports, integers from 0 on."""
        return range(self.offsets[-1])

    @property
    def mechanism(self) -> SubsetSelection:
        """The kernel, which is this itself."""
        return self

    @property
    def source(self) -> str:
        """The paper of subset selection."""
        return "YeBarg2018"

    @property
    def has_names(self) -> bool:
        """Whether labels are others than the positions."""
        return not isinstance(self.inputs, range)

    @property
    def bytes_per_report(self) -> int:
        """Bytes that hold a report."""
        return ((len(self.outputs) - 1).bit_length() + 7) // 8

    @property
    def level(self) -> tuple[float, ...]:
        """The levels it has at most, in nats, rounded up, in the order of the notions."""
        return tuple(level for check in self.certificate.checks for level in check.achieved)

    @property
    def log_ratio(self) -> float:
        """The LDP level that it has whatever it was made for, in nats, rounded up."""
        return self.check(LDP(math.inf)).achieved[0]

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
        return check_levels(notion, self._lifts)

    # Reports

    def directions_of(self, reports: Integers, counts: Integers) -> tuple[int, Integers, Integers]:
        """Uniform integers that reports hold whatever the symbols are, how many there may be, and
        how often each came.

        They are directions of the type that came most often.
        """
        kinds = np.searchsorted(self.offsets, reports, side="right") - 1
        met = 1 + np.bincount(kinds, counts, len(self.types))
        t = int(np.argmax(met * [bool(one.parts) for one in self.types]))
        one, rows = self.types[t], kinds == t
        numbers, *_ = np.unravel_index(reports[rows] - self.offsets[t], one.radices)
        each = one.slots[0].each
        return each, numbers % each, counts[rows]

    def probability(self, symbol: Label, report: int) -> Fraction:
        """P(report | symbol), exactly.

        >>> import mechdesign as md
        >>> found = md.subset_selection(3, md.LDP(1))
        >>> sum(found.probability(0, y) for y in found.outputs)
        Fraction(1, 1)
        """
        row, number = self.inputs.index(symbol), np.array([self.outputs[report]])
        return Fraction(self._chances(number, [row], object)[0, 0])

    def likelihood(self, reports: Integers) -> Floats:
        """``(R, N)`` chances of reports given each symbol."""
        return self._chances(reports, range(len(self.inputs)), float)

    def _chances(self, reports: Integers, symbols: Sequence[int], kind: Any) -> Any:
        """Chances of reports given some symbols, as numbers of a kind."""
        found = np.empty((len(reports), len(symbols)), dtype=kind)
        kinds = np.searchsorted(self.offsets, reports, side="right") - 1
        for t in np.unique(kinds).tolist():
            rows, one = np.flatnonzero(kinds == t), self.types[t]
            drawn, common = one.drawn(inside := reports[rows] - self.offsets[t]), np.ones(1, kind)
            for own, at in zip(one.slots, np.unravel_index(inside, one.radices), strict=False):
                common = common * own.chances.astype(kind)[at // own.each]
            bases = math.prod(part.base for part in one.parts.values())
            for i, members in enumerate(self.layout.rows):
                values = (one.residues(i)[0] * one.means[i] / bases).astype(kind)
                for column in np.flatnonzero(np.isin(symbols, members)).tolist():
                    met: Any = values[0, 0]
                    if part := one.parts.get(i):
                        place = np.searchsorted(members, np.full(len(rows), symbols[column]))
                        classes = np.minimum(drawn[i][0][1], part.dimension)
                        met = values[classes, part.levels_at(*drawn[i], place)]
                    found[rows, column] = common * met
        return found

    # The kernel

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of labels and weights: equal for equal kernels."""
        digest = hashlib.sha256(repr((self.inputs, self.types)).encode())
        digest.update(self.layout.group.tobytes())
        return digest.hexdigest()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SubsetSelection):
            return NotImplemented
        return self.fingerprint == other.fingerprint and self.notions == other.notions

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def _told(self, what: str) -> str:
        """Its size in words."""
        groups = len(self.layout.sizes)
        symbols = f"{len(self.inputs)} symbols" + f" in {groups} groups" * (groups > 1)
        reports = f"{len(self.outputs)} reports of {counted(self.bytes_per_report, 'byte')}"
        return f"{symbols}{what}{reports}, {counted(len(self.types), 'type')}"

    def __repr__(self) -> str:
        least = f"{self._risk_line[:-1]}; of any kernel at least {-self.bound:.10g})"
        return "\n".join([*self._said(self.method), least, f"kernel {self._told(': ')}"])


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
    stated : names and levels of what it keeps besides, whose parameters are not told
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
        super().__init__(inputs, told, Layout(layout.group), types)

    def _knows(self, notion: PrivacyNotion) -> bool:
        return not notion.uses_prior

    @classmethod
    def of(cls, selection: SubsetSelection) -> PublicSelection:
        """The public form of a selection of groups."""
        stated = selection.stated if isinstance(selection, PublicSelection) else ()
        layout, types = selection.layout, selection.types
        made = cls(selection.inputs, selection.notions, layout, types, stated)
        made.schema = selection.schema
        return made

    def __repr__(self) -> str:
        known, stated = list[str](), list[str]()
        for notion in self.notions:
            (known if self._knows(notion) else stated).append(str(notion))
        told = f"checked here: {', '.join(known) or 'none'}"
        if stated := [*stated, *self.stated]:
            told += f"; stated by its maker, under a prior that is not told: {', '.join(stated)}"
        return f"public form of a subset selection ({self._told(', ')}; {told})"

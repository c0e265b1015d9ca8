"""``SubsetSelection``: a kernel whose reports stand for subsets, and how its levels are decided."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from ..errors import CertificateError, InputError, LevelError, quote
from ..exact import (
    DENOMINATOR_BITS,
    Verdict,
    compare_with_exp,
    exp_bounds,
    float_at_least,
    float_at_most,
    log_upper,
    nearest_float,
)
from ..labels import Label, check_labels
from ..mechanism import ImplicitKernel
from ..prior import Prior
from ..privacy import LDP
from ..privacy.notion import LikelihoodBound, PrivacyNotion
from .family import Floats, Integers
from .permuted import PermutedFamily
from .profile import Family, LiftBounds, Profile
from .risk import least_risk, scores, uniform_risk, variances, worst_variance

# Rounding of logarithms, generously.
# Labels whose text is hashed at once.
_AT_ONCE = 1 << 16
_ROUNDING = 1e-12
# The level above which bounds are taken for one at it in designs, and for none in bounds: weights
# have 53 bits, and what floats hold of larger factors is no more than that of these.
_HIGHEST = Fraction(40)
_REMEDY = "name LDP, PML, PMC, LIP or ALIP, or design for a prior of fewer symbols with md.design"


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
    """What is proved of a subset selection, with integers and rationals alone.

    Attributes
    ----------
    checks : of each notion
    risk_exact : n times the mean squared error of n reports, summed over the symbols, where all are
        equally frequent
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
    inputs : labels of the symbols
    notions : what it keeps
    family : the reports and which residue each symbol has at them
    profiles : integer weights of the residues, for each class of reports
    certificate : what is proved of levels and risk
    """

    def __init__(
        self,
        inputs: Iterable[Any] | int,
        notions: Iterable[PrivacyNotion],
        family: Family,
        profiles: Sequence[Profile],
    ) -> None:
        labels = None if isinstance(inputs, int) else inputs
        self.inputs: tuple[Label, ...] = check_labels(labels, family.size, "symbols", InputError)
        self.has_names = labels is not None
        self.notions, self.family = tuple(notions), family
        self.profiles = tuple(profiles)
        alike = family.projective and not all(p.is_one_residue for p in self.profiles)
        if alike or [p.base for p in self.profiles] != [family.base] * family.dimension:
            raise ValueError("expected a profile for each class, of one residue over lines")
        first = self.profiles[0]
        others = len({value for value, _ in first.values[1:]})
        if isinstance(family, PermutedFamily) and not family.tells_apart(first.count, others):
            raise ValueError("expected placements of the elements that the profile raises")
        self.certificate = self._certified()

    def _certified(self) -> SymmetryCertificate:
        checks = kept(_check(notion, self.family, self.profiles) for notion in self.notions)
        outside = asked_bounds(self.notions, outside=True)
        risk = uniform_risk(self.family, self.profiles)
        return SymmetryCertificate(checks, risk, least_risk(self.family.size, outside))

    @property
    def outputs(self) -> range:
        """The reports, integers from 0 on."""
        return range(self.family.reports)

    @property
    def bytes_per_report(self) -> int:
        """Bytes that hold a report."""
        return ((len(self.outputs) - 1).bit_length() + 7) // 8

    @property
    def prior(self) -> Prior | None:
        """The uniform prior that notions of a prior are kept under; ``None`` where none is told."""
        return Prior.uniform(self.inputs if self.has_names else len(self.inputs))

    # What it is good for

    @property
    def risk(self) -> float:
        """N times the mean squared error summed over the symbols, all equally frequent."""
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
        return _check(LDP(math.inf), self.family, self.profiles).achieved[0]

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
        return float(self.variances(np.asarray(list(truth), dtype=float)).sum())

    def variances(self, truth: Floats) -> Floats:
        """N times the variance of the estimate of each share, where they are as given, ``(N,)``."""
        return variances(self.family, self.profiles, np.asarray(truth, dtype=float))

    def check(self, notion: PrivacyNotion) -> LevelCheck:
        """Decide exactly whether it keeps a notion, and at which levels.

        Raises :class:`LevelError` for notions that do not treat symbols alike.

        >>> import mechdesign as md
        >>> str(md.subset_selection(1000, md.LDP(1)).check(md.PML(1)).verdict)
        'yes'
        """
        return _check(notion, self.family, self.profiles)

    @property
    def worst_variance(self) -> float:
        """The largest n times the variance of any share's estimate, over all distributions."""
        return worst_variance(self.family, self.profiles)

    # Reports

    def shares_of(self, reports: Integers, counts: Integers) -> Floats:
        """Unbiased estimates of all shares, from distinct reports in rising order."""
        sums = self.family.transform(reports, counts, scores(self.family, self.profiles))
        return np.asarray(1 / self.family.points + sums / float(counts.sum()))

    def directions_of(
        self, reports: Integers, counts: Integers
    ) -> tuple[Family, Integers, Integers]:
        """Directions that are independent of the symbols, how often each came, and their family."""
        return self.family, self.family.split(reports)[0], counts

    # The kernel

    def probability(self, symbol: Label, report: int) -> Fraction:
        """P(report | symbol), exactly.

        >>> import mechdesign as md
        >>> found = md.subset_selection(3, md.LDP(1))
        >>> sum(found.probability(0, y) for y in found.outputs)
        Fraction(1, 1)
        """
        place, number = self.inputs.index(symbol), self.outputs[report]
        residues, classes = self.family.residues(
            np.array([number], dtype=np.int64), np.array([place], dtype=np.int64)
        )
        profile = self.profiles[int(classes[0])]
        return profile.value_at(int(residues[0])) * Fraction(*self.family.chance(number))

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of labels and weights: equal for equal kernels."""
        family = self.family
        digest = hashlib.sha256(b"mechdesign subset selection")
        # The text of a list of lists, some labels at a time: there may be millions.
        for start in range(0, len(self.inputs), _AT_ONCE):
            texts = json.dumps([repr(v) for v in self.inputs[start : start + _AT_ONCE]])
            digest.update((("[[" if start == 0 else ", ") + texts[1:-1]).encode())
        parts = [[DENOMINATOR_BITS, family.base, family.dimension], family.projective]
        digest.update(f"], {json.dumps(parts)[1:]}".encode())
        rows = [[p.count, p.high, p.middle] for p in self.profiles]
        digest.update(json.dumps(rows).encode())
        if isinstance(family, PermutedFamily):
            digest.update(json.dumps([family.placements, list(map(str, family.masses))]).encode())
        return digest.hexdigest()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SubsetSelection):
            return NotImplemented
        return self.fingerprint == other.fingerprint and self.notions == other.notions

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __repr__(self) -> str:
        family, first = self.family, self.profiles[0]
        notions = ", ".join(map(str, self.notions))
        return (
            f"SubsetSelection({len(self.inputs)} symbols, {notions}: {family.reports} reports of "
            f"{self.bytes_per_report} bytes, {family.describe(first.count)}; "
            f"risk {self.risk:.6g}, at most {self.gap:.2g} above the least)"
        )


# What notions ask where all masses are equal


def check_any_masses(notion: PrivacyNotion) -> None:
    """Raise :class:`LevelError` for a notion whose levels depend on masses of symbols."""
    if _parts(notion) != _parts(notion, ((2, 1, 1), (5, 3, 1, 1, 2))):
        raise LevelError(
            f"privacy notion {notion}",
            expected="the same levels whatever the masses of the symbols are",
            got="other ones for symbols of equal mass",
            remedy=_REMEDY,
        )


def _parts(
    notion: PrivacyNotion, counts: Iterable[tuple[int, ...]] = ((1,) * 3, (1,) * 5)
) -> list[tuple[str, int, Fraction | None]]:
    """What a notion bounds (lower or upper lift, or ratio), by which of its levels, and those.

    It is read from the hypotheses that the notion names for small priors.
    """
    found = []
    for masses in counts:
        prior = Prior.from_counts(masses)
        parts = []
        bounds = notion.checked_bounds(prior) if isinstance(notion, LikelihoodBound) else [None]
        for bound in bounds:
            kinds = None if bound is None else _KINDS.get(bound.kinds(prior) or "")
            if bound is None or kinds is None:
                raise LevelError(
                    f"privacy notion {notion}",
                    expected="one that bounds likelihoods of symbols by those of others or of the "
                    "prior, whatever the symbols are",
                    got="one of another kind",
                    remedy=_REMEDY,
                )
            level = None if bound.epsilon == math.inf else Fraction(bound.epsilon)
            parts.append((kinds, bound.parameter, level))
        found.append(parts)
    if found[0] != found[1]:
        raise LevelError(
            f"privacy notion {notion}",
            expected="the same levels for any number of symbols",
            got="other ones for 3 and for 5",
            remedy=_REMEDY,
        )
    return found[0]


#: Bounds on 1/lift, lift and ratio, ``None`` for none, and whether each is attained.
Lifts = tuple[tuple[Fraction | None, ...], tuple[bool, ...]]

_KINDS = {"points points": "ratio", "points prior": "upper", "prior points": "lower"}


def asked_bounds(notions: Iterable[PrivacyNotion], *, outside: bool = False) -> LiftBounds:
    """The bounds of notions together, with rationals just inside or outside of e^ε."""
    lower, upper, ratio = Fraction(0), None, None
    for notion in notions:
        for kind, _, level in _parts(notion):
            if level is None or (outside and level > _HIGHEST):
                continue
            factor = exp_bounds(min(level, _HIGHEST))[outside]
            if kind == "lower":
                lower = max(lower, 1 / factor)
            elif kind == "upper":
                upper = factor if upper is None else min(upper, factor)
            else:
                ratio = factor if ratio is None else min(ratio, factor)
    return LiftBounds(lower, upper, ratio)


def _check(notion: PrivacyNotion, family: Family, profiles: Sequence[Profile]) -> LevelCheck:
    """The levels of one notion at all classes of reports, decided exactly."""
    # Two symbols that differ in digit i have every pair of residues at some report.
    return judged(
        notion,
        [
            (profile.lifts(family, i), (family.is_full,) * 2 + (family.size > family.powers[i],))
            for i, profile in enumerate(profiles)
        ],
    )


def judged(notion: PrivacyNotion, lifts: Iterable[Lifts]) -> LevelCheck:
    """The levels of one notion from bounds on 1/lift, lift and ratio at all kinds of reports."""
    lifts, worst, verdict = list(lifts), dict[int, float](), Verdict.YES
    for kind, parameter, level in _parts(notion):
        place = ("lower", "upper", "ratio").index(kind)
        for values, are_attained in lifts:
            value, attained = values[place], are_attained[place]
            reached = math.inf if value is None else max(0.0, log_upper(value))
            worst[parameter] = max(worst.get(parameter, 0.0), reached)
            if level is None:
                continue
            answer = Verdict.NO if value is None else compare_with_exp(value, level)
            if answer is Verdict.NO and not attained:
                answer = Verdict.UNDECIDED
            if verdict is Verdict.YES or answer is Verdict.NO:
                verdict = answer
    return LevelCheck(notion, verdict, tuple(worst[k] for k in sorted(worst)))


def kept(checks: Iterable[LevelCheck]) -> tuple[LevelCheck, ...]:
    """The checks; raises :class:`CertificateError` where one is not passed."""
    checks = tuple(checks)
    for check in checks:
        if check.verdict is not Verdict.YES:
            raise CertificateError(
                f"{check.notion}: the weights have level {check.achieved}", checks
            )
    return checks


def levels_from_ratio(
    notion: PrivacyNotion, log_ratio: float, least_mass: float
) -> tuple[float, ...]:
    """Levels that hold where no two of the symbols have likelihoods further apart.

    With R = e^log_ratio and p the least mass of a symbol, a lift is at most 1/(p + (1 − p)/R), and
    at least the same of 1/R. Nothing needs to be known of p, which is 0 then.
    """
    own = -math.log(least_mass) if least_mass else math.inf
    if log_ratio == math.inf:
        upper, lower = own, math.inf
    else:
        upper = -float(np.logaddexp(-own, math.log1p(-least_mass) - log_ratio))
        lower = float(np.logaddexp(-own, math.log1p(-least_mass) + log_ratio))
    known = {"ratio": log_ratio, "upper": upper, "lower": lower}
    found: dict[int, float] = {}
    for kind, parameter, _ in _parts(notion):
        level = max(0.0, known[kind]) * (1 + _ROUNDING) + _ROUNDING
        found[parameter] = max(found.get(parameter, 0.0), level)
    return tuple(found[k] for k in sorted(found))

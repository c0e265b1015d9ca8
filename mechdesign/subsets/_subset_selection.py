"""``subset_selection``: frequencies of many symbols, by subsets of one size, without a matrix."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from ..errors import CertificateError, InputError, LevelError, listed, quote
from ..exact import (
    DENOMINATOR_BITS,
    LARGEST_LEVEL,
    Verdict,
    compare_with_exp,
    exp_bounds,
    float_at_least,
    float_at_most,
    is_whole,
    log_upper,
    nearest_float,
)
from ..labels import Label, check_labels
from ..mechanism import ImplicitKernel
from ..prior import Prior
from ..privacy import LDP
from ..privacy.notion import LikelihoodBound, PrivacyNotion, as_notions
from .family import AffineFamily, Floats
from .finite_fields import is_prime
from .permuted import PermutedFamily, is_possible, permuted_family
from .profile import Family, LiftBounds, Profile, best_profiles
from .risk import least_risk, uniform_risk, variances, worst_variance

MOST_SYMBOLS = 1 << 24
# Points of the space for one symbol, or in all, beyond which no family is tried.
_MOST_POINTS, _ALWAYS = 64, 1 << 24
# Symbols times directions of a family whose estimates look at all of them.
_MOST_PAIRS = 1 << 30
# Residues of a family in which each comes with every multiple of a direction: estimates take time
# in proportion.
_MOST_RESIDUES = 2048
# All primes up to this are tried as number of residues, and some next to roots of N.
_PRIMES = 257
# Entries of a column that may be raised where permutations of it are reports.
_MOST_RAISED = 1 << 11
# Rounding of logarithms, generously.
_ROUNDING = 1e-12
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
        checks = tuple(_check(notion, self.family, self.profiles) for notion in self.notions)
        for check in checks:
            if check.verdict is not Verdict.YES:
                raise CertificateError(
                    f"{check.notion}: the weights have level {check.achieved}", checks
                )
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
        return ((self.family.reports - 1).bit_length() + 7) // 8

    @property
    def prior(self) -> Prior:
        """The uniform prior that notions of a prior are kept under."""
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
        left = int(residues[0])
        for value, n in self.profiles[int(classes[0])].values:
            if left < n:
                return value * Fraction(*self.family.chance(number))
            left -= n
        raise AssertionError("a residue is below q")

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of labels and weights: equal for equal kernels."""
        family = self.family
        digest = hashlib.sha256(b"mechdesign subset selection")
        parts = [[repr(v) for v in self.inputs], [DENOMINATOR_BITS, family.base, family.dimension]]
        digest.update(json.dumps([*parts, family.projective]).encode())
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


def subset_selection(symbols: Any, privacy: Any, *, tolerance: float = 0.0025) -> SubsetSelection:
    """Few reports give the frequencies of many symbols, by a kernel that needs no matrix.

    For symbols of equal mass and notions that treat them alike, columns of two levels (and a third
    for one symbol) have the least mean squared error of estimated frequencies: a report is a subset
    of the symbols, which holds the true one more often ([YeBarg2018] under LDP). A report is one
    integer of a few bytes, and neither design nor draws nor estimates make a matrix. Where at most
    some two thousand symbols are in a subset, the subsets are permutations of the best one that
    balance all pairs of symbols: the error is the least of all kernels, whatever N is. Elsewhere
    they are blocks of an affine geometry, which estimates read by one transform, so that N = 10⁶
    takes seconds; the error is the least of the geometries tried, 0.1 % above the least of all
    kernels or less under LDP and about 1 % under bounds of the lift.
    :attr:`SubsetSelection.gap` says how much larger it is at most, over the bound by symmetry.

    Parameters
    ----------
    symbols : int, labels, or a Prior or counts of equal masses
        From 2 to 2²⁴ of them.
    privacy : notion, or list of notions
        LDP, PML, PMC, LIP, ALIP and others that bound likelihoods against those of other symbols or
        of the uniform prior. Under LDP the level holds whatever the frequencies are.
    tolerance : float from 0 on
        How much larger the risk may be than the least that was found, as a share of it, where that
        makes reports fewer, and with them smaller.

    Returns
    -------
    SubsetSelection
        For :func:`privatize`, :func:`estimate`, :func:`plan` and :func:`save`, as a mechanism.

    Raises
    ------
    InputError
        For too few or too many symbols, masses that differ, labels that are not distinct, or a
        tolerance that is none.
    LevelError
        For a notion of another kind, and levels at which nothing can be told apart.

    Examples
    --------
    >>> import mechdesign as md
    >>> found = md.subset_selection(1_000_000, md.LDP(1))
    >>> found.bytes_per_report, round(found.risk), found.gap < 1e-3
    (4, 3683029, True)
    """
    inputs, size = _symbols(symbols)
    notions = as_notions(privacy)
    known = isinstance(tolerance, (int, float, np.number)) and not isinstance(tolerance, bool)
    if not known or not 0 <= tolerance < math.inf:
        raise InputError(
            "tolerance",
            expected="a number from 0 on",
            got=quote(tolerance),
            remedy="leave it out, or pass 0 for the least risk",
        )
    family, profiles = _select(size, asked_bounds(notions), Fraction(tolerance))
    return SubsetSelection(inputs, notions, family, profiles)


def _symbols(symbols: Any) -> tuple[Any, int]:
    """Labels, or their number, and the number."""
    if isinstance(symbols, Mapping):  # masses or counts, as a prior takes them
        symbols = Prior.from_counts(symbols)
    if isinstance(symbols, Prior):
        if len(set(symbols.weights)) > 1:
            raise InputError(
                "symbols",
                expected="symbols of equal mass",
                got=f"a prior with masses from {symbols.pmin:.3g} on",
                remedy="pass their labels alone (LDP does not depend on masses), or use md.design",
            )
        symbols = symbols.labels
    if isinstance(symbols, (int, np.integer)) and not isinstance(symbols, bool):
        size = int(symbols)
        symbols = size
    else:
        symbols = listed(
            symbols,
            "symbols",
            "a number of symbols or a list of labels",
            InputError,
            "pass for example 1_000_000 or ['a', 'b']",
        )
        size = len(symbols)
    if not is_whole(size, 2, MOST_SYMBOLS):
        raise InputError(
            "symbols",
            expected=f"2 to {MOST_SYMBOLS:,} symbols",
            got=quote(size),
            remedy="pass their number or a list of labels",
        )
    return symbols, size


# What notions ask where all masses are equal


def _parts(notion: PrivacyNotion) -> list[tuple[str, int, Fraction | None]]:
    """What a notion bounds (lower or upper lift, or ratio), by which of its levels, and those.

    It is read from the hypotheses that the notion names for small uniform priors.
    """
    found = []
    for size in (3, 5):
        prior = Prior.uniform(size)
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


_KINDS = {"points points": "ratio", "points prior": "upper", "prior points": "lower"}


def asked_bounds(notions: Iterable[PrivacyNotion], *, outside: bool = False) -> LiftBounds:
    """The bounds of notions together, with rationals just inside or outside of e^ε."""
    lower, upper, ratio = Fraction(0), None, None
    for notion in notions:
        for kind, _, level in _parts(notion):
            if level is None or (outside and level > LARGEST_LEVEL):
                continue
            factor = exp_bounds(min(level, Fraction(LARGEST_LEVEL)))[outside]
            if kind == "lower":
                lower = max(lower, 1 / factor)
            elif kind == "upper":
                upper = factor if upper is None else min(upper, factor)
            else:
                ratio = factor if ratio is None else min(ratio, factor)
    return LiftBounds(lower, upper, ratio)


def _check(notion: PrivacyNotion, family: Family, profiles: Sequence[Profile]) -> LevelCheck:
    """The levels of one notion at all classes of reports, decided exactly."""
    lifts = [profile.lifts(family, i) for i, profile in enumerate(profiles)]
    worst: dict[int, float] = {}
    verdict = Verdict.YES
    for kind, parameter, level in _parts(notion):
        for i, values in enumerate(lifts):
            value = values[("lower", "upper", "ratio").index(kind)]
            # Two symbols that differ in digit i have every pair of residues at some report.
            attained = family.size > family.powers[i] if kind == "ratio" else family.is_full
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


def levels_from_ratio(notion: PrivacyNotion, log_ratio: float, symbols: int) -> tuple[float, ...]:
    """Levels that hold where no two of N symbols of equal mass have likelihoods further apart.

    With R = e^log_ratio a lift is at most 1/(1/N + (1 − 1/N)/R), and at least the same of 1/R.
    """
    own = math.log(symbols)
    if log_ratio == math.inf:
        upper, lower = own, math.inf
    else:
        upper = -float(np.logaddexp(-own, math.log1p(-1 / symbols) - log_ratio))
        lower = float(np.logaddexp(-own, math.log1p(-1 / symbols) + log_ratio))
    known = {"ratio": log_ratio, "upper": upper, "lower": lower}
    found: dict[int, float] = {}
    for kind, parameter, _ in _parts(notion):
        level = max(0.0, known[kind]) * (1 + _ROUNDING) + _ROUNDING
        found[parameter] = max(found.get(parameter, 0.0), level)
    return tuple(found[k] for k in sorted(found))


# The best family


def _select(
    size: int, bounds: LiftBounds, tolerance: Fraction
) -> tuple[Family, tuple[Profile, ...]]:
    """The smallest family among those whose risk is next to the least."""
    found: list[tuple[Fraction, tuple[Family, tuple[Profile, ...]]]] = []
    if (permuted := permute_column(size, bounds)) is not None:
        found.append((uniform_risk(*permuted), permuted))
    for base, dimension in _candidates(size, bounds.share(size)):
        made = make_family(size, base, dimension, bounds)
        if made is not None:
            found.append((uniform_risk(*made), made))
    if not found:
        raise LevelError(
            "privacy levels",
            expected="levels at which symbols can be told apart",
            got="bounds that leave equal rows only, in 53 bits",
            remedy="ask for larger levels",
        )
    best = min(risk for risk, _ in found)
    near = [made for risk, made in found if risk <= best * (1 + tolerance)]
    return min(near, key=lambda made: made[0].reports)


def make_family(
    size: int, base: int, dimension: int, bounds: LiftBounds
) -> tuple[AffineFamily, tuple[Profile, ...]] | None:
    """The family over F_base^dimension with its best profiles.

    ``None`` where a class has equal rows only. Of many residues one is told from the others, as
    estimates would take too long otherwise.
    """
    family = AffineFamily(size, base, dimension)
    profiles = best_profiles(family, bounds, single=base > _MOST_RESIDUES)
    if profiles is None:
        return None
    if all(profile.is_one_residue for profile in profiles):
        family = AffineFamily(size, base, dimension, projective=True)
    return family, profiles


def permute_column(size: int, bounds: LiftBounds) -> tuple[PermutedFamily, tuple[Profile]] | None:
    """Permutations of the best column, whose risk is the least of all kernels.

    ``None`` for large alphabets where it has many raised entries, as estimates would take too long,
    or where no balance is found.
    """
    if not is_possible(size) or min(size, 1 + size * bounds.share(size)) > _MOST_RAISED:
        return None
    found = best_profiles(PermutedFamily(size, 1, ((0,),), (1,)), bounds)
    if found is None:
        return None
    (profile,) = found
    alone = len({value for value, n in profile.values[1:]}) > 1
    family = permuted_family(size, profile.count, middle=alone)
    return None if family is None else (family, (profile,))


def _candidates(size: int, share: float) -> list[tuple[int, int]]:
    """Primes q and dimensions m with q^m ≥ N, not far above it.

    Among them is the one next to that of which a single residue has the best share.
    """
    found = []
    primes = [q for q in range(2, _PRIMES + 1) if is_prime(q)]
    # One residue has the best share, or all but one.
    for part in (share, 1 - share):
        if 0 < 1 / size < part:
            primes.append(_prime_from(max(2, round(1 / part))))
    for dimension in (1, 2, 3):
        q = max(2, round(size ** (1 / dimension)) - 1)
        primes.append(_prime_from(q if q**dimension >= size else q + 1))
    for q in dict.fromkeys(primes):
        dimension, points = 1, q
        while points < size:
            dimension, points = dimension + 1, points * q
        by_lines = dimension == 2 and size * q <= _MOST_PAIRS
        if points <= max(_MOST_POINTS * size, _ALWAYS) or by_lines:
            found.append((q, dimension))
    return found


def _prime_from(number: int) -> int:
    while not is_prime(number):
        number += 1
    return number

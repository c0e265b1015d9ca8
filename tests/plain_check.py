"""A second opinion on a design, from its numbers alone and without any code of the package.

It is given the masses of the prior as fractions of the numbers that were passed, the names and
levels of the notions, the integer weights of the kernel, the gains or the name of an information,
and the claims: value, bound and gap. It decides privacy in rationals, with e^ε enclosed by decimals
of growing precision; encloses the value; and for up to three symbols finds a private kernel that is
as good as any by listing the vertices of the cone, so that a bound below it is false. For linear
utilities of more symbols a dense linear program in floats proposes a kernel, which is then checked
like any other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, permutations, product
from math import comb, lcm
from typing import Any

import numpy as np
from flint import arb, ctx, fmpq
from scipy.optimize import linprog

Row = list[Fraction]
Pair = tuple[Row, Row, Fraction]

#: Decimal digits of e^ε that are tried one after the other.
DIGITS = (60, 240, 1000)
#: Bits in which logarithms and roots are tried one after the other.
BITS = (160, 640, 2560)
#: Gap up to which a design may be called optimal.
OPTIMAL = Fraction(1, 10**6)
#: Values of sub-convex utilities below this have no relative gap that floats can hold.
TOO_SMALL = Fraction(1, 10**290)
GIVEN_TOO_SMALL = Fraction(1, 10**9)
#: Dense programs are solved up to this level and size, this much inside the levels asked.
LARGEST_LEVEL, LARGEST_PROGRAM, INSIDE = 8, 40, 1e-7


@dataclass(frozen=True)
class Asked:
    """A notion: its name, its levels, and what else defines it, all in plain numbers.

    ``more`` holds, by notion: ``pairs`` of positions (DP), with factors (ContextAwareLDP);
    ``distances`` (MetricPrivacy); ``factors`` by position (SymbolPML and its kin,
    InputDiscriminativeLDP); ``sensitive`` positions (UtilityOptimisedLDP);
    ``entries``, ``low``, ``high`` (EntryPML); ``rows`` of {value: chance} for each symbol (features
    and side information); ``secrets`` as rows of chances, ``pairs`` of them and ``thetas``
    (Pufferfish); ``kind`` and its numbers (RobustPML); ``delta``; ``tables`` and ``thetas``
    (MIPufferfish); ``costs`` of guesses, a row for each symbol (InferenceCost).
    """

    name: str
    levels: tuple[float, ...]
    more: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Claim:
    """All that is said of a design, as numbers.

    Attributes
    ----------
    masses : of the symbols, with sum one
    asked : the notions
    weights, bits : the kernel is ``weights / 2**bits``
    gains : ``gains[x][y]`` of a linear utility, else ``None``
    information : name of a sub-convex utility, else ``None``
    value, bound, gap : what is claimed; ``None`` stands for unknown
    optimal : whether the design is said to be optimal
    """

    masses: tuple[Fraction, ...]
    asked: tuple[Asked, ...]
    weights: tuple[tuple[int, ...], ...]
    bits: int
    gains: tuple[tuple[Fraction, ...], ...] | None
    information: str | None
    value: float
    bound: float | None
    gap: float | None
    optimal: bool


@dataclass
class Opinion:
    """What is wrong with a claim, what could not be decided, and what is said to be unknown."""

    faults: list[str] = field(default_factory=list)
    undecided: list[str] = field(default_factory=list)
    unknown: bool = False
    #: Whether the bound was held against an optimum, or another private kernel, found here.
    compared: bool = False
    challenged: bool = False


# e^ε and comparisons with it


@lru_cache(maxsize=4096)
def exp_between(level: Fraction, digits: int) -> tuple[Fraction, Fraction]:
    """Rationals below and above e^level."""
    if level == 0:
        return Fraction(1), Fraction(1)
    if (base := getattr(level, "base", None)) is not None:  # so many times a logarithm
        if level.times.denominator == 1:
            return (base**level.times.numerator,) * 2
        log = Context(prec=2 * digits).divide(Decimal(base.numerator), Decimal(base.denominator))
        level = level.times * Fraction(log.ln(Context(prec=2 * digits)))
    level = Fraction(level)
    ends = []
    for rounding, sign in ((ROUND_FLOOR, -1), (ROUND_CEILING, 1)):
        context = Context(prec=digits, rounding=rounding, Emin=-(10**6), Emax=10**6)
        power = context.divide(Decimal(level.numerator), Decimal(level.denominator))
        # Python's exp is correctly rounded, to the nearest: one unit on either side covers it.
        near = Fraction(Context(prec=digits, Emin=-(10**6), Emax=10**6).exp(power))
        ends.append(near * (1 + Fraction(sign, 10 ** (digits - 2))))
    return ends[0], ends[1]


def at_most(left: Fraction, level: Fraction, right: Fraction) -> bool | None:
    """Whether left ≤ e^level · right, for numbers that are not negative; ``None`` if too close."""
    if left <= right:
        return True
    if right == 0 or level == 0:
        return False
    for digits in DIGITS:
        low, high = exp_between(level, digits)
        if left <= low * right:
            return True
        if left > high * right:
            return False
    return None


# Notions as pairs of hypotheses


def point(n: int, x: int) -> Row:
    return [Fraction(int(i == x)) for i in range(n)]


def normal(row: Row) -> Row:
    total = sum(row)
    return [v / total for v in row]


def pairs_of(asked: Asked, p: Row) -> Iterator[Pair] | None:
    """Every (μ, ν, level) with (μᵀK)(y) ≤ e^level (νᵀK)(y); ``None`` if it is no such notion."""
    maker = PAIRS.get(asked.name)
    return None if maker is None else maker(asked, p)


def _levels(asked: Asked) -> list[Fraction | None]:
    return [None if math.isinf(v) else Fraction(v) for v in asked.levels]


def _pml(asked: Asked, p: Row) -> Iterator[Pair]:
    upper = _levels(asked)[-1]
    if upper is not None:
        yield from ((point(len(p), x), p, upper) for x in range(len(p)) if p[x])


def _pmc(asked: Asked, p: Row) -> Iterator[Pair]:
    lower = _levels(asked)[0]
    if lower is not None:
        yield from ((p, point(len(p), x), lower) for x in range(len(p)) if p[x])


def _both(asked: Asked, p: Row) -> Iterator[Pair]:
    yield from _pmc(asked, p)
    yield from _pml(asked, p)


def _ldp(asked: Asked, p: Row) -> Iterator[Pair]:
    (level,) = _levels(asked)
    if level is not None:
        n = len(p)
        yield from ((point(n, a), point(n, b), level) for a, b in permutations(range(n), 2))


def _dp(asked: Asked, p: Row) -> Iterator[Pair]:
    (level,) = _levels(asked)
    if level is not None:
        for a, b in asked.more["pairs"]:
            yield point(len(p), a), point(len(p), b), level
            yield point(len(p), b), point(len(p), a), level


def _metric(asked: Asked, p: Row) -> Iterator[Pair]:
    (level,) = _levels(asked)
    table = asked.more["distances"]
    for a, b in permutations(range(len(p)), 2):
        if level is not None and table[a][b] != math.inf:
            yield point(len(p), a), point(len(p), b), level * Fraction(table[a][b])


def _entry(asked: Asked, p: Row) -> Iterator[Pair]:
    (level,) = _levels(asked)
    n, low, high = (asked.more[k] for k in ("entries", "low", "high"))
    for ones in range(n) if level is not None else ():
        rest = [Fraction(1)]
        for i in range(n - 1):
            c = high if i < ones else low
            rest = [
                (rest[t] if t < len(rest) else 0) * (1 - c) + (rest[t - 1] if t else 0) * c
                for t in range(len(rest) + 1)
            ]
        given = [*rest, Fraction(0)], [Fraction(0), *rest]
        for chance, d in product((low, high), (0, 1)):
            # A value that no chance in the range allows cannot be conditioned on.
            if (low < 1) if d == 0 else (high > 0):
                whole = [(1 - chance) * a + chance * b for a, b in zip(*given, strict=True)]
                yield given[d], whole, level


def _joint(rows: Any, p: Row) -> dict[Any, Row]:
    joint: dict[Any, Row] = {}
    for x, row in enumerate(rows):
        total = sum(Fraction(v) for v in row.values())
        for value, mass in row.items():
            if mass and p[x]:
                joint.setdefault(value, [Fraction(0)] * len(p))[x] += p[x] * Fraction(mass) / total
    return joint


def _feature(above: bool) -> Callable[[Asked, Row], Iterator[Pair]]:
    def pairs(asked: Asked, p: Row) -> Iterator[Pair]:
        (level,) = _levels(asked)
        for row in _joint(asked.more["rows"], p).values() if level is not None else ():
            yield (normal(row), p, level) if above else (p, normal(row), level)

    return pairs


def _given(above: bool) -> Callable[[Asked, Row], Iterator[Pair]]:
    def pairs(asked: Asked, p: Row) -> Iterator[Pair]:
        (level,) = _levels(asked)
        for row in _joint(asked.more["rows"], p).values() if level is not None else ():
            inside = normal(row)
            for x in range(len(p)):
                if inside[x]:
                    alone = point(len(p), x)
                    yield (alone, inside, level) if above else (inside, alone, level)

    return pairs


def secret_pairs(asked: Asked, p: Row) -> Iterator[tuple[Row, Row]]:
    """P_θ(X|s) and P_θ(X|s') both ways, for every pair of secrets and every θ."""
    for theta in asked.more["thetas"] or [p]:
        for a, b in asked.more["pairs"]:
            mine, theirs = (
                [m * c for m, c in zip(theta, asked.more["secrets"][s], strict=True)]
                for s in (a, b)
            )
            if any(mine) and any(theirs):
                yield normal(mine), normal(theirs)
                yield normal(theirs), normal(mine)


def _pufferfish(asked: Asked, p: Row) -> Iterator[Pair]:
    (level,) = _levels(asked)
    if level is not None:
        yield from ((a, b, level) for a, b in secret_pairs(asked, p))


def _robust(asked: Asked, p: Row) -> Iterator[Pair]:
    """Vertices of the set of priors; those of boxes and balls are listed for few symbols."""
    (level,) = _levels(asked)
    if level is None:
        return
    corners = prior_corners(asked.more, len(p))
    for x in range(len(p)):
        if any(corner[x] for corner in corners):
            yield from ((point(len(p), x), corner, level) for corner in corners)


def prior_corners(more: dict[str, Any], n: int) -> list[Row]:
    """Vertices of a set of priors, or at least priors whose mixtures are the set."""
    if more["kind"] == "vertices":
        return [list(v) for v in more["priors"]]
    corners = []
    if more["kind"] == "ball":
        # To lower Σ p k most, mass moves from the largest entries to the smallest one: for each
        # order of the symbols, it is taken in that order and handed to the last.
        centre, distance = more["centre"], more["radius"] / 2
        for order in permutations(range(n)):
            row, left = list(centre), min(distance, 1 - centre[order[-1]])
            for x in order[:-1]:
                taken = min(row[x], left)
                row[x] -= taken
                row[order[-1]] += taken
                left -= taken
            corners.append(row)
    else:
        low, high = more["low"], more["high"]
        for order in permutations(range(n)):
            row, left = list(low), 1 - sum(low)
            for x in order:
                given = min(high[x] - low[x], left)
                row[x] += given
                left -= given
            corners.append(row)
    return [list(row) for row in dict.fromkeys(map(tuple, corners))]


def _by_symbol(above: bool, below: bool) -> Callable[[Asked, Row], Iterator[Pair]]:
    def pairs(asked: Asked, p: Row) -> Iterator[Pair]:
        (level,) = _levels(asked)
        for x, r in enumerate(asked.more["factors"]):
            if level is not None and p[x] and r < math.inf:
                alone, own = point(len(p), x), level * Fraction(r)
                if above:
                    yield alone, p, own
                if below:
                    yield p, alone, own

    return pairs


def _discriminative(asked: Asked, p: Row) -> Iterator[Pair]:
    (level,) = _levels(asked)
    factors = asked.more["factors"]
    for a, b in permutations(range(len(p)), 2):
        r = min(factors[a], factors[b])
        if level is not None and r < math.inf:
            yield point(len(p), a), point(len(p), b), level * Fraction(r)


def _context(asked: Asked, p: Row) -> Iterator[Pair]:
    (level,) = _levels(asked)
    for (a, b), r in asked.more["pairs"].items():
        if level is not None and r < math.inf:
            yield point(len(p), a), point(len(p), b), level * Fraction(r)


def _sensitive(asked: Asked, p: Row) -> Iterator[Pair]:
    (level,) = _levels(asked)
    for a, b in permutations(range(len(p)), 2):
        if level is not None and a in asked.more["sensitive"]:
            yield point(len(p), a), point(len(p), b), level


PAIRS: dict[str, Callable[[Asked, Row], Iterator[Pair]]] = {
    "PML": _pml,
    "PMC": _pmc,
    "LIP": _both,
    "ALIP": _both,
    "LDP": _ldp,
    "FreeLunch": _ldp,
    "DP": _dp,
    "MetricPrivacy": _metric,
    "SymbolPML": _by_symbol(True, False),
    "SymbolPMC": _by_symbol(False, True),
    "SymbolLIP": _by_symbol(True, True),
    "InputDiscriminativeLDP": _discriminative,
    "ContextAwareLDP": _context,
    "UtilityOptimisedLDP": _sensitive,
    "EntryPML": _entry,
    "FeaturePML": _feature(True),
    "FeaturePMC": _feature(False),
    "ConditionalPML": _given(True),
    "ConditionalPMC": _given(False),
    "Pufferfish": _pufferfish,
    "RobustPML": _robust,
}


# Notions that limit a sum over outcomes


def _peak(asked: Asked, p: Row, columns: list[Row]) -> bool | None:
    top = sum(max(k[x] for x in range(len(p)) if p[x]) for k in columns)
    return at_most(Fraction(top), Fraction(asked.levels[0]), Fraction(1))


def _trough(asked: Asked, p: Row, columns: list[Row]) -> bool | None:
    low = sum(min(k[x] for x in range(len(p)) if p[x]) for k in columns)
    return at_most(Fraction(1), Fraction(asked.levels[0]), Fraction(low))


def guesses(asked: Asked, p: Row) -> list[Row]:
    """p_x c(x,w) for each guess w, over what the best one costs without a report."""
    table = zip(*asked.more["costs"], strict=True)
    rows = [[m * Fraction(c) for m, c in zip(p, costs, strict=True)] for costs in table]
    before = min(sum(row) for row in rows)
    return [[v / before for v in row] for row in rows]


def _guess(asked: Asked, p: Row, columns: list[Row]) -> bool | None:
    rows = guesses(asked, p)
    low = sum(min(dot(row, k) for row in rows) for k in columns)
    return at_most(Fraction(1), Fraction(asked.levels[0]), Fraction(low))


def _excess(asked: Asked, columns: list[Row], pairs: Iterator[tuple[Row, Row]]) -> bool | None:
    """Σ max(μᵀk − e^ε νᵀk, 0) ≤ δ for each pair."""
    delta = Fraction(asked.more["delta"])
    verdict: bool | None = True
    for over, under in pairs:
        both = [(dot(over, k), dot(under, k)) for k in columns]
        for digits in DIGITS:
            low, high = exp_between(Fraction(asked.levels[0]), digits)
            if sum(max(a - low * b, 0) for a, b in both) <= delta:
                break
            if sum(max(a - high * b, 0) for a, b in both) > delta:
                return False
        else:
            verdict = None
    return verdict


def _told(level: float, both: dict[Any, Row], public: dict[Any, Row], columns: list[Row]) -> Any:
    """I(A; Y | C) ≤ ε, for the masses of X with each (a, c) and with each c."""
    terms = []
    for k in columns:
        for (_, c), row in both.items():
            joint = dot(row, k)
            if joint:
                terms.append((joint, joint * sum(public[c]) / (sum(row) * dot(public[c], k))))
    if all(ratio == 1 for _, ratio in terms):
        return True
    for bits in BITS:
        with ctx.workprec(bits):
            shares = (ball(joint) * ball(ratio).log() for joint, ratio in terms)
            low, high = ends(sum(shares, arb(0)))
        if high <= Fraction(level):
            return True
        if low > Fraction(level):
            return False
    return None


def _information(asked: Asked, p: Row, columns: list[Row]) -> bool | None:
    both = {
        (x, 0): [m if i == x else Fraction(0) for i in range(len(p))] for x, m in enumerate(p) if m
    }
    return _told(asked.levels[0], both, {0: p}, columns)


def _informations(asked: Asked, p: Row, columns: list[Row]) -> bool | None:
    verdicts = []
    for theta, table in product(asked.more["thetas"] or [p], asked.more["tables"]):
        both: dict[Any, Row] = {}
        public: dict[Any, Row] = {}
        for x, (a, c) in enumerate(table):
            if theta[x]:
                both.setdefault((a, c), [Fraction(0)] * len(p))[x] += theta[x]
                public.setdefault(c, [Fraction(0)] * len(p))[x] += theta[x]
        verdicts.append(_told(asked.levels[0], both, public, columns))
    if False in verdicts:
        return False
    return None if None in verdicts else True


SUMS: dict[str, Callable[[Asked, Row, list[Row]], bool | None]] = {
    "MaximalLeakage": _peak,
    "MaximalCostLeakage": _trough,
    "InferenceCost": _guess,
    "MIPrivacy": _information,
    "MIPufferfish": _informations,
    "ApproximateLDP": lambda asked, p, columns: _excess(
        asked,
        columns,
        ((point(len(p), a), point(len(p), b)) for a, b in permutations(range(len(p)), 2)),
    ),
    "ApproximatePufferfish": lambda asked, p, columns: _excess(
        asked, columns, secret_pairs(asked, p)
    ),
}


# Privacy


def check_rows(claim: Claim, opinion: Opinion) -> None:
    """Rows of weights that are not negative and sum to exactly one."""
    for x, row in enumerate(claim.weights):
        if any(w < 0 for w in row):
            opinion.faults.append(f"row {x} has a negative weight")
        if sum(row) != 1 << claim.bits:
            opinion.faults.append(f"row {x} does not sum to one")


def check_privacy(claim: Claim, opinion: Opinion) -> None:
    """Every notion, in rationals."""
    p = list(claim.masses)
    whole = 1 << claim.bits
    columns = list(map(list, zip(*claim.weights, strict=True)))
    for asked in claim.asked:
        if asked.name == "RobustPML" and asked.more["kind"] != "vertices":
            _check_set(asked, [[Fraction(w, whole) for w in k] for k in columns], opinion)
            continue
        pairs = pairs_of(asked, p)
        if pairs is None:
            if not any(math.isinf(v) for v in asked.levels):
                exact = [[Fraction(w, whole) for w in k] for k in columns]
                _note(opinion, asked, SUMS[asked.name](asked, p, exact))
            continue
        for over, under, level in pairs:
            # Integers for both, so that a column costs two products of integers.
            common = lcm(*(v.denominator for v in (*over, *under)))
            a, b = ([int(v * common) for v in row] for row in (over, under))
            for k in columns:
                left = sum(u * w for u, w in zip(a, k, strict=True))
                right = sum(u * w for u, w in zip(b, k, strict=True))
                _note(opinion, asked, at_most(left, level, right))


def _check_set(asked: Asked, columns: list[Row], opinion: Opinion) -> None:
    """PML for every prior of a box or a ball: the least Σ p k is found by sorting k."""
    more, (level,) = asked.more, _levels(asked)
    is_ball = more["kind"] == "ball"
    for k in columns if level is not None else ():
        order = sorted(range(len(k)), key=k.__getitem__)
        if is_ball:
            row, left = list(more["centre"]), min(more["radius"] / 2, 1 - more["centre"][order[0]])
            row[order[0]] += left
            for x in reversed(order[1:]):
                taken = min(row[x], left)
                row[x], left = row[x] - taken, left - taken
            counts = [c + more["radius"] > 0 for c in more["centre"]]
        else:
            row, left = list(more["low"]), 1 - sum(more["low"])
            counts = [min(h, v + left) > 0 for v, h in zip(row, more["high"], strict=True)]
            for x in order:
                given = min(more["high"][x] - row[x], left)
                row[x], left = row[x] + given, left - given
        top = max(v for v, counted in zip(k, counts, strict=True) if counted)
        _note(opinion, asked, at_most(top, level, dot(row, k)))


def _note(opinion: Opinion, asked: Asked, verdict: bool | None) -> None:
    where = f"{asked.name}{asked.levels}"
    if verdict is None:
        opinion.undecided.append(where)
    elif not verdict:
        opinion.faults.append(f"not private: {where}")


# Value


def dot(left: Any, right: Any) -> Fraction:
    return sum((a * b for a, b in zip(left, right, strict=True) if a and b), Fraction(0))


def ball(value: Fraction) -> Any:
    return arb(fmpq(value.numerator, value.denominator))


def ends(value: Any) -> tuple[Fraction, Fraction]:
    """The ends of a ball, exactly."""
    found = []
    for end in (value.lower(), value.upper()):
        mantissa, exponent = (int(v) for v in end.man_exp())
        found.append(Fraction(mantissa) * Fraction(2) ** exponent)
    return found[0], found[1]


#: F of a deviation d of a lift from one, exactly; a column is worth q Σ p F(k/q − 1).
RATIONAL: dict[str, Callable[[Fraction], Fraction]] = {
    "total variation": lambda d: abs(d) / 2,
    "chi-square": lambda d: d * d,
    "cubic": lambda d: abs(d) ** 3,
}
#: F of a lift t as a ball.
REAL: dict[str, Callable[[Any], Any]] = {
    "mutual information": lambda t: t * t.log() - t + 1,
    "squared Hellinger": lambda t: (t.sqrt() - 1) ** 2,
}


#: Size of the rounding error of F(d), in units of 2^-53, where F is given as a function of floats:
#: the lift t = 1 + d is rounded before F is asked, and a root is steep near nothing.
GIVEN: dict[str, Callable[[Fraction], Fraction]] = {
    "squared Hellinger": lambda d: 8 * abs(d) + 4 * _steepness(1 + d),
    "cubic": lambda d: 8 * d * d * (1 + abs(d)),
    "largest entry": lambda d: Fraction(8),
}


def _steepness(t: Fraction) -> Fraction:
    root = Fraction(math.sqrt(t))
    return min(1 / root, root * 2**53) if root else Fraction(0)


def column_rounding(claim: Claim, k: Row) -> Fraction:
    """How far the worth of a column may be off as its utility is a function of floats."""
    size = GIVEN.get(claim.information or "")
    q = dot(claim.masses, k)
    if size is None or q == 0:
        return Fraction(0)
    terms = (m * size(v / q - 1) for m, v in zip(claim.masses, k, strict=True) if m)
    return q * sum(terms, Fraction(0)) / 2**53


def given_rounding(claim: Claim) -> Fraction:
    """How far a value may be off because its utility is a function of floats that a user wrote."""
    whole = 1 << claim.bits
    columns = ([Fraction(w, whole) for w in k] for k in zip(*claim.weights, strict=True))
    return sum((column_rounding(claim, k) for k in columns), Fraction(0))


def column_worth(claim: Claim, k: Row, bits: int) -> tuple[Fraction, Fraction]:
    """Enclosure of what a column is worth, at the best output for a linear utility."""
    p = claim.masses
    if claim.gains is not None:
        best = max(
            dot([m * g for m, g in zip(p, gains, strict=True)], k)
            for gains in zip(*claim.gains, strict=True)
        )
        return best, best
    if claim.information == "largest entry":
        top = max(v for v, m in zip(k, p, strict=True) if m)
        return top, top
    q = dot(p, k)
    if q == 0:
        return Fraction(0), Fraction(0)
    lifts = [(m, v / q) for m, v in zip(p, k, strict=True) if m]
    rational = RATIONAL.get(claim.information or "")
    if rational is not None:
        value = q * sum(m * rational(t - 1) for m, t in lifts)
        return value, value
    curve = REAL[claim.information or ""]
    low = high = Fraction(0)
    with ctx.workprec(bits):
        for m, t in lifts:
            if t == 1:
                continue
            at_zero = Fraction(1), Fraction(1)
            a, b = ends(curve(ball(t))) if t else at_zero
            low, high = low + q * m * max(a, 0), high + q * m * b
    return low, high


def value_between(claim: Claim) -> tuple[Fraction, Fraction]:
    """Enclosure of the value of the kernel to a relative 1e-20 or better."""
    whole = 1 << claim.bits
    columns = [[Fraction(w, whole) for w in k] for k in zip(*claim.weights, strict=True)]
    if claim.gains is not None:
        exact = sum(
            dot([m * g for m, g in zip(claim.masses, gains, strict=True)], k)
            for gains, k in zip(zip(*claim.gains, strict=True), columns, strict=True)
        )
        return Fraction(exact), Fraction(exact)
    low = high = Fraction(0)
    for bits in BITS:
        found = [column_worth(claim, k, bits) for k in columns]
        low, high = (sum((f[i] for f in found), Fraction(0)) for i in (0, 1))
        if high - low <= high / 10**20:
            break
    return low, high


# Value, bound and gap


def check_claims(claim: Claim, opinion: Opinion) -> None:
    """value ≤ bound, the value itself, the gap as it is defined, and what may be unknown."""
    low, high = value_between(claim)
    value = (low + high) / 2
    if not math.isfinite(claim.value):
        opinion.faults.append(f"value {claim.value}")
        return
    unit = gain_range(claim) if claim.gains is not None else abs(value)
    given = given_rounding(claim)
    if abs(Fraction(claim.value) - value) > unit / 10**9 + spacing(claim.value) + given:
        opinion.faults.append(f"value {claim.value!r} is off, it is {rough(value)}")
    if claim.bound is None or not math.isfinite(claim.bound):
        opinion.unknown = True
        if claim.gap is not None:
            opinion.faults.append(f"gap {claim.gap!r} without a bound")
        if not may_be_unknown(claim, value):
            opinion.faults.append("the bound is said to be unknown")
        return
    bound = Fraction(claim.bound)
    if bound < low - given:
        opinion.faults.append(
            f"bound {claim.bound!r} below the value {rough(low)} (by {rough(low - bound)})"
        )
    check_gap(claim, value, unit, given, opinion)


def check_gap(
    claim: Claim, value: Fraction, unit: Fraction, given: Fraction, opinion: Opinion
) -> None:
    """(bound − value)/unit up to the rounding of the two floats that it is told with."""
    assert claim.bound is not None
    difference = max(Fraction(claim.bound) - value, Fraction(0))
    if claim.gap is None or math.isnan(claim.gap):
        opinion.unknown = True
        if not may_be_unknown(claim, value):
            opinion.faults.append("the gap is said to be unknown")
        if claim.optimal:
            opinion.faults.append("optimal with an unknown gap")
        return
    if unit == 0 and claim.gains is not None:
        # All gains are equal, so every kernel is optimal.
        if claim.gap != 0 or difference > 64 * spacing(claim.bound):
            opinion.faults.append(f"gap {claim.gap!r} where all gains are equal")
        return
    if unit == 0:
        if difference > 0 and claim.gap != math.inf:
            opinion.faults.append(f"gap {claim.gap!r} where the unit is nothing")
        return
    true = difference / unit
    rounding = 2 * (spacing(claim.value) + spacing(claim.bound) + given) / unit
    allowed = true / 10**9 + rounding + Fraction(1, 10**15)
    if Fraction(claim.gap) < true - allowed:
        opinion.faults.append(f"gap {claim.gap!r} where it is {rough(true)}")
    # A utility given as a function of floats is allowed what its numbers may be off by.
    elif not given and Fraction(claim.gap) > true + allowed:
        opinion.faults.append(f"gap {claim.gap!r} where it is only {rough(true)}")
    if claim.optimal and true > OPTIMAL * (1 + Fraction(1, 10**9)) + rounding:
        opinion.faults.append(f"said to be optimal, with a gap of {rough(true)}")


def may_be_unknown(claim: Claim, value: Fraction) -> bool:
    """Whether a gap may be unknown: nothing to divide by, or nothing that floats could tell.

    A utility that a user gave as a function of floats has values that are off by some 1e-16 of the
    numbers in it; what is tiny beside them is not known.
    """
    if claim.gains is not None:
        return False
    return value < (GIVEN_TOO_SMALL if claim.information in GIVEN else TOO_SMALL)


def gain_range(claim: Claim) -> Fraction:
    """Max u − min u over the symbols of positive mass."""
    assert claim.gains is not None
    kept = [g for row, m in zip(claim.gains, claim.masses, strict=True) if m for g in row]
    return max(kept) - min(kept)


def spacing(value: float) -> Fraction:
    return Fraction(math.ulp(value))


def rough(value: Fraction) -> str:
    """A rational of any size as a short text."""
    if not value:
        return "0"
    return f"{Decimal(value.numerator) / Decimal(value.denominator):.8e}"


# An optimum of its own


def check_optimum(claim: Claim, opinion: Opinion, symbols: int = 3) -> None:
    """For few symbols: a private kernel as good as any, which no bound may be below."""
    if claim.bound is None or not math.isfinite(claim.bound) or len(claim.masses) > symbols:
        return
    best = best_private_value(claim)
    if best is None:
        return
    opinion.compared = True
    if Fraction(claim.bound) < best:
        opinion.faults.append(
            f"bound {claim.bound!r} below what a private kernel has, {rough(best)} "
            f"(by {rough(1 - Fraction(claim.bound) / best)} of it)"
        )


def best_private_value(claim: Claim) -> Fraction | None:
    """The largest value over kernels whose columns are vertices of the cone, a little rounded in.

    Levels enter by a rational below e^ε (60 digits), so that every kernel looked at is private.
    ``None`` for notions that are no cones.
    """
    p = list(claim.masses)
    n = len(p)
    rows = [point(n, x) for x in range(n)]
    for asked in claim.asked:
        pairs = pairs_of(asked, p)
        if pairs is None:
            return None
        for over, under, level in pairs:
            factor = exp_between(level, DIGITS[0])[0] if level else Fraction(1)
            rows.append([factor * b - a for a, b in zip(over, under, strict=True)])
    worth = [
        (ray, column_worth(claim, ray, BITS[0])[0] - column_rounding(claim, ray))
        for ray in rays_of(rows, n)
    ]
    best: Fraction | None = None
    for some in combinations(worth, n):
        shares = mixture([ray for ray, _ in some], n)
        if shares is not None:
            value = sum((s * w for s, (_, w) in zip(shares, some, strict=True)), Fraction(0))
            best = value if best is None else max(best, value)
    ones = [Fraction(1)] * n
    constant = column_worth(claim, ones, BITS[0])[0] - column_rounding(claim, ones)
    return constant if best is None else max(best, constant)


def competitor(claim: Claim) -> Fraction | None:
    """The exact value of a private kernel found by a dense linear program, or ``None``.

    For linear utilities and bounds on likelihood ratios of moderate size. The program is solved in
    floats at slightly smaller factors, its answer mixed with a constant one, rounded to integers
    and checked like any kernel: what passes is private, whatever the solver did.
    """
    assert claim.gains is not None
    p, n, m = list(claim.masses), len(claim.masses), len(claim.gains[0])
    below: list[list[float]] = []
    for asked in claim.asked:
        if asked.name == "RobustPML" and asked.more["kind"] != "vertices":
            return None
        pairs = pairs_of(asked, p)
        if pairs is None:
            return None
        for over, under, level in pairs:
            if level > LARGEST_LEVEL:
                return None
            factor = 1 + math.expm1(level) * (1 - INSIDE)
            row = [float(a) - factor * float(b) for a, b in zip(over, under, strict=True)]
            size = max(map(abs, row))
            below.append([v / size for v in row] if size else row)
    width = gain_range(claim)
    if n * m > LARGEST_PROGRAM or width == 0:
        return None
    least = min(min(row) for row in claim.gains)
    cost = [
        [-float(m_x * (g - least) / width) for g in row]
        for m_x, row in zip(p, claim.gains, strict=True)
    ]
    rows = np.array(below).reshape(len(below), n)
    found = linprog(
        np.array(cost).ravel(),
        np.kron(rows, np.eye(m)) if below else None,
        np.zeros(len(below) * m) if below else None,
        np.kron(np.eye(n), np.ones(m)),
        np.ones(n),
        method="highs-ds",
    )
    if found.status != 0:
        return None
    kernel = np.maximum(found.x.reshape(n, m), 0) + INSIDE / m
    units = 1 << 60
    weights = [[int(v * units / row.sum()) for v in row] for row in kernel]
    for row in weights:
        row[row.index(max(row))] += units - sum(row)
    rival = replace(claim, weights=tuple(map(tuple, weights)), bits=60)
    opinion = Opinion()
    check_rows(rival, opinion)
    check_privacy(rival, opinion)
    return None if opinion.faults or opinion.undecided else value_between(rival)[0]


def check_competitor(claim: Claim, opinion: Opinion) -> None:
    """No private kernel is worth more than the bound."""
    if claim.gains is None or claim.bound is None or not math.isfinite(claim.bound):
        return
    if opinion.compared:
        return  # with the best kernel of all
    best = competitor(claim)
    if best is None:
        return
    opinion.challenged = True
    if Fraction(claim.bound) < best:
        opinion.faults.append(f"bound {claim.bound!r} below a private kernel's {rough(best)}")
    (value, _), unit = value_between(claim), gain_range(claim)
    if claim.optimal and best > value + unit * OPTIMAL:
        opinion.faults.append(f"said to be optimal, and a private kernel has {rough(best)}")


def rays_of(rows: list[Row], n: int) -> list[Row]:
    """Extreme rays of {k : a·k ≥ 0 for each row}, scaled to a sum of one."""
    rows = [list(row) for row in dict.fromkeys(tuple(row) for row in rows if any(row))]
    found: dict[tuple[Fraction, ...], None] = {}
    for some in combinations(rows, n - 1):
        ray = orthogonal(list(some), n)
        for sign in (1, -1):
            k = [sign * v for v in ray]
            if any(k) and all(v >= 0 for v in k) and all(dot(row, k) >= 0 for row in rows):
                found[tuple(normal(k))] = None
    return [list(ray) for ray in found]


def orthogonal(rows: list[Row], n: int) -> Row:
    """A vector orthogonal to n − 1 others, by minors; zero where they are dependent."""
    return [
        (-1) ** j * determinant([[v for i, v in enumerate(row) if i != j] for row in rows])
        for j in range(n)
    ]


def determinant(rows: list[Row]) -> Fraction:
    if not rows:
        return Fraction(1)
    return sum(
        (
            (-1) ** j * rows[0][j] * determinant([r[:j] + r[j + 1 :] for r in rows[1:]])
            for j in range(len(rows))
            if rows[0][j]
        ),
        Fraction(0),
    )


def mixture(rays: list[Row], n: int) -> Row | None:
    """Shares with Σ share·ray = 1 in each entry, by Cramer's rule; ``None`` if there are none."""
    table = [[ray[x] for ray in rays] for x in range(n)]
    whole = determinant(table)
    if whole == 0:
        return None
    shares = []
    for j in range(n):
        changed = [[*row[:j], Fraction(1), *row[j + 1 :]] for row in table]
        share = determinant(changed) / whole
        if share < 0:
            return None
        shares.append(share)
    return shares


def check(claim: Claim) -> Opinion:
    """All of it."""
    opinion = Opinion()
    check_rows(claim, opinion)
    if opinion.faults:
        return opinion  # what is no kernel has no value
    check_privacy(claim, opinion)
    check_claims(claim, opinion)
    check_optimum(claim, opinion)
    check_competitor(claim, opinion)
    return opinion


def binomial(n: int, chance: Fraction) -> Row:
    """Masses of a count of n independent entries."""
    return [comb(n, t) * chance**t * (1 - chance) ** (n - t) for t in range(n + 1)]

"""Does a saved file bear out what it claims? Proved from the file alone, in rational numbers.

Nothing but the standard library is imported, so that reading this file once is enough to trust it;
``FORMAT.md`` beside it says what a file means. Run it on its own, isolated from all else::

    python -I -S verify.py m.json

Every claim is *proved*, *refuted*, or *not proved here*, which is never a yes. Exit codes: 0 all
proved; 1 something refuted; 2 a file that cannot be read; 3 nothing refuted, but not all proved.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import struct
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Any

LARGEST_FILE, DEEPEST, LONGEST_NUMBER, MOST_DIGITS = 1 << 28, 64, 3600, 400_000
MOST_BITS, LARGEST_GAIN, LARGEST_LEVEL, LONGEST_NAME = 1 << 20, 1e150, 2000, 200
GAP_TOLERANCE, NOTHING, ROW_TOLERANCE = Fraction(1e-6), Fraction(1e-11), Fraction(1e-6)
TOLERANCE = 1e-12
PROVED, REFUTED, OPEN, UNREADABLE = "proved", "refuted", "not proved here", "unreadable"
CODES = {PROVED: 0, REFUTED: 1, UNREADABLE: 2, OPEN: 3}

_INTEGER = re.compile(r"-?(0|[1-9][0-9]*)")
_ZERO, _ONE = Fraction(0), Fraction(1)
_Matrix = dict[tuple[int, int], Fraction]
_Rows = Sequence[Sequence[Fraction]]


class UnreadableError(Exception):
    """What is no file of this format."""


def _need(holds: Any, message: str) -> None:
    if not holds:
        raise UnreadableError(message)


@dataclass
class Report:
    """The claims of one file, each with its state and a detail."""

    claims: list[dict[str, str]] = field(default_factory=list)

    def add(self, claim: str, holds: bool | None, detail: str = "") -> None:
        """A claim that holds, does not, or (``None``) is not decided here."""
        state = {True: PROVED, False: REFUTED, None: OPEN}[holds]
        self.claims.append({"claim": claim, "state": state, "detail": detail})

    @property
    def state(self) -> str:
        """The worst state of any claim."""
        return _worst(fact["state"] for fact in self.claims)


def _worst(states: Iterable[Any]) -> str:
    found = set(states)
    return next((s for s in (REFUTED, UNREADABLE, OPEN) if s in found), PROVED)


def _every(answers: Iterable[bool | None]) -> bool | None:
    """Whether all are true: false where one is false, else undecided where one is."""
    found = list(answers)
    return False if False in found else None if None in found else True


# Reading


def parse(data: bytes) -> Any:
    """Strict JSON: names once, no NaN or infinity, nothing too long or nested too deep."""
    _need(len(data) <= LARGEST_FILE, f"more than {LARGEST_FILE} bytes")
    try:
        content = json.loads(
            data.decode("utf-8"),
            object_pairs_hook=_once,
            parse_int=lambda text: int(_within(text, LONGEST_NUMBER, "a long number")),
            parse_float=lambda text: _within(
                float(_within(text, LONGEST_NUMBER, "a long number")),
                sys.float_info.max,
                "a number beyond floats",
            ),
            parse_constant=lambda text: _need(False, f"the number {text}"),
        )
    except (ValueError, RecursionError) as problem:
        raise UnreadableError(f"no JSON: {type(problem).__name__}") from None
    level = [content]
    for _ in range(DEEPEST + 1):
        parts = [list(p.values()) if isinstance(p, dict) else p for p in level]
        level = [v for part in parts if isinstance(part, list) for v in part]
    _need(not level, f"nested deeper than {DEEPEST}")
    return content


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    _need(len(dict(pairs)) == len(pairs), "a name that is there twice")
    return dict(pairs)


def _within(value: Any, limit: float, message: str) -> Any:
    _need((len(value) if isinstance(value, str) else abs(value)) <= limit, message)
    return value


def _integer(word: Any) -> int:
    """An integer, in JSON or as its decimal digits in quotes."""
    if type(word) is int:
        return word
    _need(isinstance(word, str) and len(word) <= MOST_DIGITS, "an integer of another form")
    _need(_INTEGER.fullmatch(word), "an integer of other signs than decimal digits")
    return -_digits(word[1:]) if word[0] == "-" else _digits(word)


def _digits(text: str) -> int:
    low = len(text) // 2  # Python reads a limited number of digits at once
    if len(text) <= LONGEST_NUMBER:
        return int(text)
    return _digits(text[:-low]) * 10**low + _digits(text[-low:])


def _text(value: int) -> str:
    low = value.bit_length() // 7
    if value.bit_length() <= 3 * LONGEST_NUMBER:
        return str(value)
    above, below = divmod(value, 10**low)
    return _text(above) + _text(below).rjust(low, "0")


def _fraction(word: Any) -> Fraction:
    """A rational: a number of JSON, exact, or a text p or p/q."""
    if isinstance(word, (int, float, Fraction)) and not isinstance(word, bool):
        return Fraction(word)
    above, slash, below = word.partition("/")
    under = _integer(below) if slash else 1
    _need(under > 0, "a denominator that is not positive")
    return Fraction(_integer(above), under)


def _number(value: Any) -> Any:
    """A parameter: ``"inf"``, {"text": …}, {"fraction": …}; lists are tuples."""
    if isinstance(value, dict):
        return value["text"] if "text" in value else _fraction(value["fraction"])
    if isinstance(value, list):
        return tuple(map(_number, value))
    return math.inf if value == "inf" else value


def _label(value: Any) -> Any:
    """A label: text, number, true, false, null, {"float": "inf"} or {"tuple": [...]}."""
    if isinstance(value, dict):
        return float(value["float"]) if "float" in value else tuple(map(_label, value["tuple"]))
    return value


def _list(value: Any) -> list[Any]:
    _need(isinstance(value, list), "no list")
    return list(value)


def _labels(values: Any) -> tuple[Any, ...]:
    found = tuple(map(_label, _list(values)))
    _need(found and len(set(found)) == len(found), "labels that are not distinct")
    return found


def _level(value: Any, most: float = math.inf) -> float:
    good = isinstance(value, (int, float)) and not isinstance(value, bool)
    _need(good and 0 <= value <= most, "a level that is no number in its range")
    return float(value)


def _real(value: Any) -> Fraction:
    """A number of JSON, as a float."""
    _need(isinstance(value, (int, float)) and not isinstance(value, bool), "no number")
    return Fraction(float(value))


def _flag(value: Any) -> bool:
    _need(isinstance(value, bool), "neither true nor false")
    return bool(value)


@dataclass(frozen=True)
class _Prior:
    """Labels and integer weights over their sum."""

    labels: tuple[Any, ...]
    weights: tuple[int, ...]

    @cached_property
    def total(self) -> int:
        return sum(self.weights)

    @cached_property
    def support(self) -> list[int]:
        return [x for x, w in enumerate(self.weights) if w]

    @cached_property
    def masses(self) -> list[Fraction]:
        return [Fraction(w, self.total) for w in self.weights]


@dataclass(frozen=True)
class _Kernel:
    """Integer weights over 2**bits, a row for each input."""

    inputs: tuple[Any, ...]
    outputs: tuple[Any, ...]
    bits: int
    rows: list[list[int]]

    def total(self, terms: _Matrix) -> Fraction:
        """Σ a_xy K_xy."""
        found = sum((a * self.rows[x][y] for (x, y), a in terms.items()), _ZERO)
        return found / (1 << self.bits)


def _read_prior(part: Any, report: Report) -> _Prior:
    names, weights = _labels(part["labels"]), [_integer(w) for w in _list(part["weights"])]
    _need(min(weights) >= 0 and len(weights) == len(names), "weights of a prior")
    prior = _Prior(names, tuple(w // math.gcd(*weights) for w in weights))
    nearest = [w / prior.total for w in prior.weights]
    same = json.dumps(part["probabilities"]) == json.dumps(nearest)
    report.add("probabilities", same, "nearest to the exact masses")
    return prior


def _read_kernel(part: Any, report: Report, room: Fraction = _ZERO) -> _Kernel:
    """The kernel of a file; rows that are off by up to ``room`` are neither right nor wrong."""
    bits, given = _integer(part["denominator_bits"]), _list(part["weights"])
    _need(0 <= bits <= MOST_BITS, "denominator_bits out of range")
    inputs, outputs = _labels(part["inputs"]), _labels(part["outputs"])
    rows = [[_integer(w) for w in _list(row)] for row in given]
    _need([len(row) for row in rows] == [len(outputs)] * len(inputs), "weights of another shape")
    report.add("weights", min(map(min, rows)) >= 0, "are not negative")
    off = max(Fraction(abs(sum(row) - (1 << bits)), 1 << bits) for row in rows)
    fits = off == 0 or (None if off <= room else False)
    report.add("rows", fits, f"sum to 2^{bits}" if fits else f"off by up to {float(off):.3g}")
    return _Kernel(inputs, outputs, bits, rows)


def _grid(given: Any, shape: tuple[int, int]) -> list[list[Fraction]]:
    """A matrix of numbers, of the shape of a kernel."""
    rows = [[_real(v) for v in row] for row in given]
    _need([len(row) for row in rows] == [shape[1]] * shape[0], "a matrix of another shape")
    return rows


# The exponential


@lru_cache(maxsize=4096)
def exp_bounds(level: Fraction, bits: int = 192) -> tuple[Fraction, Fraction]:
    """Rationals around e^level for a level from 0 to 2000, both 1 at level 0.

    The series at level/2^k in integers over 2^p, each term rounded both ways, then k squares.
    """
    if level == 0:
        return _ONE, _ONE
    halvings = math.ceil(level).bit_length() + 3
    tiny = max(0, level.denominator.bit_length() - level.numerator.bit_length())
    p = bits + tiny + 2 * halvings + 16
    top, bottom = level.numerator, level.denominator << halvings
    low = high = below = above = 1 << p
    step = 0
    while above > 1:
        step += 1
        below, above = below * top // (bottom * step), -(-above * top // (bottom * step))
        low, high = low + below, high + above
    high += 1  # the terms that follow are less than the last one, which is at most one
    for _ in range(halvings):
        low, high = low * low >> p, -(-high * high >> p)
    return Fraction(low, 1 << p), Fraction(high, 1 << p)


def _factor(level: float | Fraction) -> Fraction | None:
    """A rational at or above e^level; ``None`` beyond the largest level, which asks nothing."""
    return None if level > LARGEST_LEVEL else exp_bounds(Fraction(level))[1]


def _at_most_exp(ratio: Fraction | None, level: float | Fraction) -> bool | None:
    """Whether ratio ≤ e^level, ``None`` for an infinite ratio; undecided where it is too close."""
    if level == math.inf:
        return True
    if ratio is None:
        return False
    if level > LARGEST_LEVEL:  # e > 2^1.44
        bits = ratio.numerator.bit_length() - ratio.denominator.bit_length() + 1
        return True if bits <= Fraction(144, 100) * Fraction(level) else None
    for bits in (192, 768, 3072):
        low, high = exp_bounds(Fraction(level), bits)
        if ratio <= low or ratio > high:
            return ratio <= low
    return None


def _nearest(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _float_up(value: Fraction) -> float:
    near = _nearest(value)
    return near if near >= value else math.nextafter(near, math.inf)


# What notions ask


@dataclass(frozen=True)
class _Family:
    """Hypotheses: integer masses by position, over one total."""

    total: int
    rows: tuple[dict[int, int], ...]

    def likelihoods(self, column: Sequence[int]) -> list[int]:
        return [sum(m * column[x] for x, m in row.items()) for row in self.rows]


@dataclass(frozen=True)
class _PriorSet:
    """A set of priors: a ball moves ``room`` from its centre, symbols giving up to their caps; a
    box adds ``room`` to lower bounds, its centre, symbols taking up to their caps.
    """

    centre: list[Fraction]
    caps: list[Fraction]
    room: Fraction
    is_ball: bool

    def least(self, column: Sequence[int]) -> Fraction:
        """The least pᵀk over the set: from the largest to the least entry, or to the smallest."""
        value = sum((c * k for c, k in zip(self.centre, column, strict=True)), _ZERO)
        left, low = self.room, min(column) if self.is_ball else 0
        for x in sorted(range(len(column)), key=column.__getitem__, reverse=self.is_ball):
            part = min(left, self.caps[x])
            value += part * (low - column[x] if self.is_ball else column[x])
            left -= part
        return value

    def inside(self, weights: list[Fraction]) -> list[Fraction]:
        """A multiple of a distribution of the set, of the same mass as given numbers."""
        mass = sum(weights, _ZERO)
        away = [w - c * mass for w, c in zip(weights, self.centre, strict=True)]
        caps, target = [cap * mass for cap in self.caps], self.room * mass
        if self.is_ball:
            apart = sum(map(abs, away), _ZERO) / 2
            away = [a * target / apart for a in away] if apart > target else away
        else:
            away = [min(max(a, _ZERO), cap) for a, cap in zip(away, caps, strict=True)]
            total = sum(away, _ZERO)
            if total > target:
                away = [a * target / total for a in away]
            elif total < target:
                share = (target - total) / (sum(caps, _ZERO) - total)
                away = [a + (cap - a) * share for a, cap in zip(away, caps, strict=True)]
        return [c * mass + a for c, a in zip(self.centre, away, strict=True)]


@dataclass(frozen=True)
class _Part:
    """One constraint of a notion, by ``kind``.

    ``"ratio"``: μᵀk ≤ e^level νᵀk for all or, with ``scales`` on the level, for matched pairs.
    ``"excess"``: Σ max(μᵀk − e^level νᵀk, 0) ≤ delta, matched. ``"maxima"``, ``"minima"``: of the
    symbols of ``over``, summed. ``"information"``: a sum of logarithms, not decided here.
    """

    over: _Family
    under: Any
    level: float
    scales: list[Fraction] | None = None
    parameter: int = 0
    kind: str = "ratio"
    delta: Fraction = _ZERO
    given: Fraction | None = None

    @property
    def factor(self) -> Fraction | None:
        """A rational at or above e^level, or the one that is given in its place."""
        return _factor(self.level) if self.given is None else self.given


def _points(places: Iterable[int]) -> _Family:
    return _Family(1, tuple({x: 1} for x in places))


def _mixtures(rows: _Rows) -> _Family:
    """Rows of masses, each divided by its sum."""
    scaled = [[m / sum(row, _ZERO) for m in row] for row in rows]
    total = math.lcm(*(m.denominator for row in scaled for m in row))
    whole = ({x: int(m * total) for x, m in enumerate(row) if m} for row in scaled)
    return _Family(total, tuple(whole))


#: The parameters of each notion, in the order in which its constructor takes them.
FIELDS = {
    **dict.fromkeys(("PML", "PMC", "LIP", "LDP", "FreeLunch", "MIPrivacy"), "epsilon"),
    **dict.fromkeys(("MaximalLeakage", "MaximalCostLeakage"), "epsilon"),
    **dict.fromkeys(("FeaturePML", "FeaturePMC"), "epsilon feature"),
    **dict.fromkeys(("ConditionalPML", "ConditionalPMC"), "epsilon side"),
    "ALIP": "epsilon_l epsilon_u",
    "DP": "epsilon neighbours",
    "MetricPrivacy": "epsilon distances",
    "EntryPML": "epsilon entries low high",
    "Pufferfish": "epsilon secrets pairs priors",
    "RobustPML": "epsilon priors",
    "ApproximateLDP": "epsilon delta",
    "ApproximatePufferfish": "epsilon delta secrets pairs priors",
    "MIPufferfish": "epsilon features priors",
}
#: Notions that say the same under every prior, and can be checked without one.
WITHOUT_PRIOR = {"LDP", "FreeLunch", "DP", "MetricPrivacy", "ApproximateLDP"}


def _parts(name: str, given: dict[str, Any], prior: _Prior) -> list[_Part]:
    """The constraints of a notion over the symbols of a prior, in the order of dual variables."""
    fields = FIELDS[name].split()
    _need(sorted(given) == sorted(fields), f"parameters of {name}")
    first, *rest = (_number(given[key]) for key in fields)
    level, n = _level(first), range(len(prior.labels))
    live, symbols = _points(prior.support), _points(n)
    whole = _Family(prior.total, ({x: prior.weights[x] for x in prior.support},))
    if name in ("LDP", "FreeLunch") or (name, *rest) == ("DP", "all"):
        return [_Part(symbols, symbols, level)]
    if name == "DP":
        return [_matched(_neighbours(rest[0], prior.labels), level)]
    if name == "MetricPrivacy":
        return [_matched(_metric(rest[0], prior.labels), level)]
    if name in ("PML", "PMC", "LIP", "ALIP"):
        upper = _Part(live, whole, _level(rest[0]) if rest else level, None, len(rest))
        lower = _Part(whole, live, level)
        return {"PML": [upper], "PMC": [lower], "LIP": [upper, lower]}.get(name, [lower, upper])
    if name.startswith(("Feature", "Conditional")):
        joint = _joint(rest[0], prior)
        sides = [(_mixtures(joint), whole)]
        if name.startswith("Conditional"):
            sides = [(_points(x for x in n if row[x]), _mixtures([row])) for row in joint]
        return [_Part(*(side if name.endswith("L") else side[::-1]), level) for side in sides]
    if name == "EntryPML":
        return [_entries(level, rest, prior)]
    if name == "RobustPML":
        return [_robust(level, *rest[0], prior)]
    if name == "Pufferfish":
        return [_secrets(level, rest, prior)]
    if name.startswith("Maximal"):
        return [_Part(live, live, level, kind="maxima" if name == "MaximalLeakage" else "minima")]
    if name.startswith("MI"):
        count = len(rest[0]) * len(rest[1] or [None]) if rest else 1
        return [_Part(live, live, level, kind="information")] * count
    pairs = [(x, z) for x in n for z in n if x != z] or [(0, 0)]
    part = _Part(_points(x for x, _ in pairs), _points(z for _, z in pairs), level)
    if name == "ApproximatePufferfish":
        part = _secrets(level, rest[1:], prior)
    delta = Fraction(_level(rest[0], 1))
    return [_Part(part.over, part.under, level, kind="excess", delta=delta)]


def _matched(pairs: list[tuple[int, int, Fraction]], level: float) -> _Part:
    """Pairs of symbols with factors on the level, both ways; without any, one of itself."""
    both = [p for i, j, d in pairs for p in ((i, j, d), (j, i, d))] or [(0, 0, _ONE)]
    over, under = _points(i for i, _, _ in both), _points(j for _, j, _ in both)
    return _Part(over, under, level, [d for _, _, d in both])


def _values(labels: Sequence[Any]) -> list[Fraction]:
    _need(not any(isinstance(v, str) for v in labels), "labels that are no numbers")
    return [_fraction(v) for v in labels]


def _databases(labels: Sequence[Any]) -> list[tuple[Any, ...]]:
    return [tuple(v) for v in labels]


def _apart(first: tuple[Any, ...], second: tuple[Any, ...]) -> int:
    return sum(a != b for a, b in zip(first, second, strict=True))


def _neighbours(relation: Any, labels: tuple[Any, ...]) -> list[tuple[int, int, Fraction]]:
    """Pairs of positions in order, the smaller first."""
    n = range(len(labels))
    if relation == "adjacent":
        pairs = list(pairwise(sorted(n, key=_values(labels).__getitem__)))
    elif relation == "hamming":
        rows = _databases(labels)
        pairs = [(i, j) for i in n for j in range(i) if _apart(rows[i], rows[j]) == 1]
    else:
        pairs = [(labels.index(a), labels.index(b)) for a, b in relation]
    return [(*pair, _ONE) for pair in sorted({(min(p), max(p)) for p in pairs})]


def _metric(distances: Any, labels: tuple[Any, ...]) -> list[tuple[int, int, Fraction]]:
    """Pairs that imply all others, with their distances: neighbours on a line, edges of a graph;
    else symbols at distance zero with the first of them, then pairs with nothing exactly between,
    or all pairs where symbols at distance zero have other distances to the rest.
    """
    kind, content = distances if isinstance(distances, tuple) else (distances, ())
    n = range(len(labels))
    if kind == "absolute":
        values = _values(labels)
        line = pairwise(sorted(n, key=values.__getitem__))
        return [(i, j, values[j] - values[i]) for i, j in line]
    if kind == "graph":
        edges = [(labels.index(a), labels.index(b), _fraction(d)) for a, b, d in content]
        _need(all(d > 0 for _, _, d in edges), "an edge without length")
        return edges
    table = _table(kind, content, labels)
    _need(all(table[i][j] == table[j][i] for i in n for j in n), "distances that differ by way")
    exact = {(i, j): Fraction(table[i][j]) for i in n for j in n if table[i][j] < math.inf}
    twins = [(table[i].index(0), i) for i in n if table[i].index(0) < i]
    if any(table[a] != table[b] for a, b in twins):
        return [(i, j, exact[i, j]) for i in n for j in range(i) if (i, j) in exact]
    kept = set(n) - {i for _, i in twins}

    def is_between(z: int, i: int, j: int) -> bool:
        left, right = exact.get((i, z), _ZERO), exact.get((z, j), _ZERO)
        return left > 0 and right > 0 and left + right <= exact[i, j]

    others = [(i, j) for i, j in exact if i < j and i in kept and j in kept]
    deciding = [(i, j) for i, j in others if not any(is_between(z, i, j) for z in kept)]
    return [(i, j, exact[i, j]) for i, j in [*twins, *deciding]]


def _table(kind: str, content: Any, labels: tuple[Any, ...]) -> list[list[float]]:
    if kind == "matrix":
        sizes = [len(row) for row in content]
        _need(sizes == [len(labels)] * len(labels), "a matrix of another size")
        return [[_level(d) for d in row] for row in content]
    if kind == "discrete":
        return [[float(a != b) for b in labels] for a in labels]
    rows = _databases(labels)
    if kind == "hamming":
        return [[float(_apart(a, b)) for b in rows] for a in rows]
    _need(kind == "euclidean", "a metric that is not known")
    places = [[float(v) for v in _values(row)] for row in rows]
    return [
        [math.sqrt(sum((a - b) ** 2 for a, b in zip(u, v, strict=True))) for v in places]
        for u in places
    ]


def _entries(level: float, given: list[Any], prior: _Prior) -> _Part:
    """P(T | entry is d) against P(T): j other entries at high, the rest at low."""
    size, low, high = given[0], *map(_fraction, given[1:])
    _need(prior.labels == tuple(range(len(prior.labels))), "symbols that are not 0 … n")
    _need(type(size) is int and size == len(prior.labels) - 1, "another number of entries")
    _need(size > 0 and 0 <= low <= high <= 1, "chances of an entry")
    over, under = [], []
    for j in range(size if low < high else 1):
        law = [_ONE]
        for chance in [high] * j + [low] * (size - 1 - j):
            law = _thrown(chance, law)
        # The entry's own chance is where d is least likely.
        for d, p in ((0, high),) * (low < 1) + ((1, low),) * (high > 0):
            over.append([_ZERO, *law] if d else [*law, _ZERO])
            under.append(_thrown(p, law))
    return _Part(_mixtures(over), _mixtures(under), level, [_ONE] * len(over))


def _thrown(chance: Fraction, law: list[Fraction]) -> list[Fraction]:
    """The law of a count and one more entry."""
    ends = zip([*law, _ZERO], [_ZERO, *law], strict=True)
    return [(1 - chance) * a + chance * b for a, b in ends]


def _joint(table: Any, prior: _Prior) -> list[list[Fraction]]:
    """P(X = x, U = u) for each value u, in the order in which the symbols bring them."""
    rows = {name: {u: _fraction(m) for u, m in row} for name, row in table}
    found: dict[Any, list[Fraction]] = {}
    for x in prior.support:
        chances = rows[prior.labels[x]]
        total = sum(chances.values(), _ZERO)
        _need(total > 0 and min(chances.values()) >= 0, "chances of a feature")
        for u, chance in chances.items():
            if chance:
                row = found.setdefault(u, [_ZERO] * len(prior.labels))
                row[x] += prior.masses[x] * chance / total
    return list(found.values())


def _masses_over(priors: Any, prior: _Prior) -> list[list[Fraction]]:
    """Each prior of a set over the symbols of the design's, or that one where there is no set."""
    found = []
    for given in () if priors is None else priors:
        masses = {name: _fraction(m) for name, m in given}
        _need(set(masses) <= set(prior.labels) and min(masses.values()) >= 0, "priors of a notion")
        _need(sum(masses.values()) == 1, "a prior of a notion that does not sum to one")
        found.append([masses.get(name, _ZERO) for name in prior.labels])
    return [prior.masses] if priors is None else found


def _secrets(level: float, given: list[Any], prior: _Prior) -> _Part:
    """(P(X|s), P(X|s')) and back, for every prior and every pair of secrets with mass under it."""
    secrets, pairs, priors = given
    chances = {name: {x: _fraction(c) for x, c in content} for name, content in secrets}
    for content in chances.values():
        _need(all(0 <= c <= 1 for c in content.values()), "chances of a secret")
    rows = []
    for masses in _masses_over(priors, prior):
        for pair in pairs:
            both = [
                [m * chances[s].get(x, _ZERO) for x, m in zip(prior.labels, masses, strict=True)]
                for s in pair
            ]
            if any(both[0]) and any(both[1]):
                rows += [both, both[::-1]]
    if not rows:
        whole = _mixtures([prior.masses])
        return _Part(whole, whole, level)
    over, under = (_mixtures([row[side] for row in rows]) for side in (0, 1))
    return _Part(over, under, level, [_ONE] * len(rows))


def _robust(level: float, kind: str, *content: Any) -> _Part:
    """Every symbol that some prior of the set gives mass, against all of the set."""
    prior = content[-1]
    n = range(len(prior.labels))
    if kind == "vertices":
        rows = _masses_over(content[0], prior)
        return _Part(_points(x for x in n if any(row[x] for row in rows)), _mixtures(rows), level)
    if kind == "ball":
        (centre,), room = _masses_over(content[:1], prior), _fraction(content[1]) / 2
        _need(0 <= room <= 1, "the radius of a ball")
        low = [max(c - room, _ZERO) for c in centre]
        high = [min(c + room, _ONE) for c in centre]
        found = _PriorSet(centre, centre, room, True)
    else:
        _need(kind in ("floor", "box"), "a set of priors of another kind")
        given = content[0] if kind == "box" else [(x, content[0], 1) for x in prior.labels]
        ranges = {x: (_fraction(a), _fraction(b)) for x, a, b in given}
        _need(set(ranges) == set(prior.labels), "a box over other symbols")
        _need(all(0 <= a <= b <= 1 for a, b in ranges.values()), "ranges of masses")
        low, high = ([ranges[x][i] for x in prior.labels] for i in (0, 1))
        _need(sum(low) <= 1 <= sum(high), "a set without priors")
        room = 1 - sum(low, _ZERO)
        high = [min(b, a + room) for a, b in zip(low, high, strict=True)]
        found = _PriorSet(low, [b - a for a, b in zip(low, high, strict=True)], room, False)
    over = _points(x for x in n if high[x] > 0)
    if len(n) == 1:
        return _Part(over, _points([0]), level)
    if len(n) == 2:  # an interval, whose ends are listed
        return _Part(over, _mixtures([[v, 1 - v] for v in (high[0], 1 - high[1])]), level)
    return _Part(over, found, level)


# Privacy


@dataclass(frozen=True)
class _Measured:
    """What decides one constraint at a level: ratios with scales, or likelihoods of pairs."""

    ratios: list[tuple[Fraction | None, Fraction]]
    pairs: list[tuple[list[Fraction], list[Fraction]]] = field(default_factory=list)
    delta: Fraction = _ZERO

    def holds(self, level: float) -> bool | None:
        if level == math.inf:
            return True
        within = (self._is_within(a, b, level) for a, b in self.pairs)
        return _every([*(_at_most_exp(r, Fraction(level) * d) for r, d in self.ratios), *within])

    def _is_within(self, a: list[Fraction], b: list[Fraction], level: float) -> bool | None:
        """Whether Σ max(a − e^level b, 0) ≤ delta, which falls with the level."""
        bounds = exp_bounds(Fraction(min(level, LARGEST_LEVEL)), 768)
        most, least = (
            sum((max(u - f * v, _ZERO) for u, v in zip(a, b, strict=True)), _ZERO) for f in bounds
        )
        if most <= self.delta:
            return True
        return False if least > self.delta and level <= LARGEST_LEVEL else None


def _measure(part: _Part, kernel: _Kernel) -> _Measured | None:
    """The exact numbers that decide a constraint; ``None`` for sums of logarithms."""
    if part.kind == "information":
        return None
    columns, one = list(zip(*kernel.rows, strict=True)), 1 << kernel.bits
    over, totals = [part.over.likelihoods(column) for column in columns], (part.over.total, 1)
    if part.kind == "maxima":
        return _Measured([(Fraction(sum(map(max, over)), one), _ONE)])
    if part.kind == "minima":
        return _Measured([(_largest([(one, sum(map(min, over)))], 1, 1), _ONE)])
    if isinstance(part.under, _PriorSet):
        sets = zip(map(max, over), map(part.under.least, columns), strict=True)
        return _Measured([(_largest(sets, *totals), _ONE)])
    under, totals = [part.under.likelihoods(c) for c in columns], (totals[0], part.under.total)
    mine, theirs = list(zip(*over, strict=True)), list(zip(*under, strict=True))
    if part.kind == "excess":
        a = [[Fraction(v, one * totals[0]) for v in row] for row in mine]
        b = [[Fraction(v, one * totals[1]) for v in row] for row in theirs]
        return _Measured([], list(zip(a, b, strict=True)), part.delta)
    if part.scales is None:
        pairs = zip(map(max, over), map(min, under), strict=True)
        return _Measured([(_largest(pairs, *totals), _ONE)])
    rows = zip(mine, theirs, part.scales, strict=True)
    return _Measured([(_largest(zip(a, b, strict=True), *totals), d) for a, b, d in rows])


def _largest(pairs: Iterable[tuple[Any, Any]], over: int, under: int) -> Fraction | None:
    """The largest ratio of likelihoods over their totals, ``None`` for infinity."""
    found = _ZERO
    for a, b in pairs:
        if a and not b:
            return None
        if a * under * found.denominator > found.numerator * b * over:
            found = Fraction(a * under) / (b * over)
    return found


def _check_notion(
    part: dict[str, Any], prior: _Prior, kernel: _Kernel, said: Any, report: Report
) -> bool | None:
    """Whether the kernel has one notion of a file; in the report, also the levels it is said to."""
    name, given = part["name"], part["parameters"]
    shown = ", ".join(str(v) for v in given.values() if isinstance(v, (int, float, str)))
    if name not in FIELDS:
        report.add(f"privacy: {name}({shown})", None, "a notion that is not defined here")
        return None
    parts = _parts(name, given, prior)
    measured = [(p, m) for p in parts if (m := _measure(p, kernel))]
    if len(measured) < len(parts):
        report.add(f"privacy: {name}({shown})", None, "a sum of logarithms is not rational")
        return None
    holds = _every(m.holds(p.level) for p, m in measured)
    report.add(f"privacy: {name}({shown})", holds, "for every outcome" if holds else "not so")
    levels = [] if said is None else [_level(_number(v)) for v in said]
    _need(said is None or len(levels) == 1 + max(p.parameter for p in parts), "achieved levels")
    for k, level in enumerate(levels):
        least = level
        for _ in range(4 if name == "MetricPrivacy" else 1):  # where lengths divide it, it is rough
            least = math.nextafter(min(least, LARGEST_LEVEL), 0.0)
        enough, more = (
            _every(m.holds(v) for p, m in measured if p.parameter == k) for v in (level, least)
        )
        is_least = level == 0 or (None if more is None else not more)
        report.add(f"achieved: {name} {level!r}", _every([enough, is_least]), "rounded up")
    return holds


# What requirements ask


@dataclass(frozen=True)
class _Limit:
    """low ≤ Σ a_xy K_xy ≤ high; ``None`` asks nothing."""

    terms: _Matrix
    low: Fraction | None
    high: Fraction | None

    def holds(self, kernel: _Kernel) -> bool:
        value = kernel.total(self.terms)
        low, high = (value if end is None else end for end in (self.low, self.high))
        return low <= value <= high

    def at(self, kept: list[int]) -> _Limit:
        return replace(self, terms={(kept.index(x), y): a for (x, y), a in self.terms.items()})

    @property
    def forbids(self) -> bool:
        """Whether it leaves its entries no value but zero."""
        signs = {a > 0 for a in self.terms.values()}
        return (signs == {True} and self.high == 0) or (signs == {False} and self.low == 0)


#: The parameters of each requirement.
REQUIREMENTS = {
    "Entry": "high low x y",
    "Diagonal": "limits_of",
    "Pattern": "allowed",
    "Within": "distance limit",
    "Monotone": "",
    "Symmetric": "tolerance",
    "Rows": "matrices name right sense tolerance",
    "EveryOutput": "coefficients",
    "Cost": "costs each limit",
    "LeastGain": "gains least masses name",
    "Invariant": "tolerance",
    "OutputShare": "high low y",
    "EqualError": "costs groups tolerance",
    "Unbiased": "tolerance values",
}


def _limits(part: dict[str, Any], prior: _Prior, outputs: tuple[Any, ...]) -> Iterator[_Limit]:
    """The limits of a requirement on the entries of a kernel, in the order of dual variables."""
    name, given = part["name"], {key: _number(v) for key, v in part["parameters"].items()}
    _need(sorted(given) == REQUIREMENTS[name].split(), f"parameters of {name}")
    labels, masses, shape = prior.labels, prior.masses, (len(prior.labels), len(outputs))
    n, m = map(range, shape)
    ones, alike = [_ONE] * len(n), [[_ONE] * len(m)] * len(n)

    def room(scale: Fraction = _ONE) -> Fraction:
        if given["tolerance"] is None:
            return Fraction(TOLERANCE * float(scale))
        return Fraction(_level(given["tolerance"]))

    def scaled(values: _Rows, scales: Sequence[Fraction], *, rows: Any = n, at: Any = m) -> _Matrix:
        found = {(x, y): scales[x] * values[x][y] for x in rows for y in at}
        return {place: a for place, a in found.items() if a}

    def entry(x: int, y: int, low: Any, high: Any) -> _Limit:
        most = None if high is None else _fraction(high)
        return _Limit({(x, y): _ONE}, _fraction(low) if low else None, most)

    if name == "Entry":
        for x in n if given["x"] == () else [labels.index(given["x"])]:
            for y in m if given["y"] == () else [outputs.index(given["y"])]:
                yield entry(x, y, given["low"], given["high"])
    elif name == "Diagonal":
        for label, low, high in given["limits_of"]:
            for v in [v for v in labels if v in outputs] if label == () else [label]:
                yield entry(labels.index(v), outputs.index(v), low, high)
    elif name in ("Pattern", "Within"):
        key = "allowed" if name == "Pattern" else "distance"
        if given[key] is not None:
            table = _grid(given[key], shape)
        else:
            are_numbers = {type(v) for v in (*labels, *outputs)} <= {int, float}
            _need(are_numbers or labels == outputs, "labels without distances")
            ours, theirs = (labels, outputs) if are_numbers else (tuple(n), tuple(n))
            table = [[abs(Fraction(a) - Fraction(b)) for b in theirs] for a in ours]
        far = [[not v if name == "Pattern" else v > _fraction(given["limit"]) for v in row]
               for row in table]  # fmt: skip
        terms = {(x, y): _ONE for x in n for y in m if far[x][y]}
        if terms:
            yield _Limit(terms, None, _ZERO)
    elif name == "Monotone":
        for x in n[:-1]:
            for y in m[1:]:
                tails = {(x + i, z): _ONE - 2 * i for i in (0, 1) for z in m[y:]}
                yield _Limit(tails, None, _ZERO)
    elif name == "Symmetric":
        _need(labels == outputs, "outputs that are not the symbols")
        for x in n:
            for z in range(x):
                yield _Limit({(x, z): _ONE, (z, x): -_ONE}, -room(), room())
    elif name == "Rows":
        sense = given["sense"]
        _need(sense in ("<=", ">=", "=="), "a sense that is none of three")
        for matrix, right in zip(given["matrices"], given["right"], strict=True):
            values, b = _grid(matrix, shape), _fraction(right)
            off = room(max(abs(v) for row in values for v in row) or _ONE) * (sense == "==")
            ends = None if sense == "<=" else b - off, None if sense == ">=" else b + off
            yield _Limit(scaled(values, ones), *ends)
    elif name == "EveryOutput":
        local = {labels.index(x): _fraction(a) for x, a in given["coefficients"]}
        _need(len(local) == len(given["coefficients"]), "a symbol that is there twice")
        for y in m:
            yield _Limit({(x, y): a for x, a in local.items() if a}, None, _ZERO)
    elif name == "Cost":
        costs, most = _grid(given["costs"], shape), _fraction(given["limit"])
        each = _flag(given["each"])
        for rows in [[x] for x in n] if each else [n]:
            yield _Limit(scaled(costs, ones if each else masses, rows=rows), None, most)
    elif name == "LeastGain":
        scales = masses if given["masses"] is None else [_fraction(v) for v in given["masses"]]
        _need(len(scales) == len(n), "masses of a least gain")
        yield _Limit(scaled(_grid(given["gains"], shape), scales), _fraction(given["least"]), None)
    elif name == "OutputShare":
        low, high = _fraction(given["low"]), _fraction(given["high"])
        terms = scaled(alike, masses, at=[outputs.index(given["y"])])
        yield _Limit(terms, low if low > 0 else None, high if high < 1 else None)
    elif name == "Invariant":
        for y, label in enumerate(outputs):
            share = masses[labels.index(label)] if label in labels else _ZERO
            off = room() if share else _ZERO
            yield _Limit(scaled(alike, masses, at=[y]), share - off, share + off)
    elif name == "Unbiased":
        known = {label: _fraction(v) for label, v in given["values"]}
        off, table = room(max(_ONE, *map(abs, known.values()))), [[known[y] for y in outputs]]
        for x, label in enumerate(labels):
            terms = scaled(table * len(n), ones, rows=[x])
            yield _Limit(terms, known[label] - off, known[label] + off)
    else:
        costs = [[Fraction(a != b) for b in outputs] for a in labels]
        costs = costs if given["costs"] is None else _grid(given["costs"], shape)
        shares: list[list[Fraction]] = []
        for group in given["groups"]:
            places = {labels.index(x) for x in group}
            total = sum((masses[x] for x in places), _ZERO)
            mine = [masses[x] / total if x in places else _ZERO for x in n]
            for other in shares:
                between = [a - b for a, b in zip(mine, other, strict=True)]
                yield _Limit(scaled(costs, between), -room(), room())
            shares.append(mine)


@dataclass(frozen=True)
class _Asked:
    """What is asked of a kernel on the symbols that are designed for, at positions ``kept``.

    ``limits`` are those that dual variables price, ``zeros`` entries that must be zero.
    ``is_known`` is false where a notion or a requirement has no definition here.
    """

    prior: _Prior
    kept: list[int]
    outputs: int
    parts: list[_Part]
    limits: list[_Limit]
    zeros: set[tuple[int, int]]
    is_known: bool

    @classmethod
    def of(cls, content: dict[str, Any], prior: _Prior, outputs: tuple[Any, ...]) -> _Asked:
        notions, wished = content["notions"], content.get("requirements", [])
        known = [n for n in notions if n["name"] in FIELDS]
        held = [
            (part["name"], limit)
            for part in wished
            if part["name"] in REQUIREMENTS
            for limit in _limits(part, prior, outputs)
        ]
        # Symbols without mass are designed for only where something ties them to others.
        whole = any(_ties(n["name"], n["parameters"]) for n in known)
        named = {x for _, limit in held for x, _ in limit.terms}
        whole = whole or not named <= set(prior.support)
        kept = [x for x, w in enumerate(prior.weights) if whole or w]
        held = [(name, limit.at(kept)) for name, limit in held]
        inner = _Prior(*(tuple(v[x] for x in kept) for v in (prior.labels, prior.weights)))
        parts = [part for n in known for part in _parts(n["name"], n["parameters"], inner)]
        parts = [part for part in parts if part.level < math.inf]
        local = [limit for name, limit in held if name == "EveryOutput"]
        parts += [_local(limit, len(kept)) for limit in local[:: len(outputs)]]
        limits = [limit for name, limit in held if name != "EveryOutput"]
        zeros = {place for limit in limits if limit.forbids for place in limit.terms}
        is_known = len(known) == len(notions) and all(r["name"] in REQUIREMENTS for r in wished)
        limits = [limit for limit in limits if not limit.forbids]
        found = cls(inner, kept, len(outputs), parts, limits, zeros, is_known)
        found._close()
        return found

    def _close(self) -> None:
        """Add the zeros that follow: where a ν has no likelihood at an outcome, μ has none."""
        before = -1
        while before < (before := len(self.zeros)):
            for part in [p for p in self.parts if p.kind == "ratio"]:
                for y in {y for _, y in self.zeros}:
                    column = [int((x, y) not in self.zeros) for x in range(len(self.kept))]
                    if isinstance(part.under, _PriorSet):
                        never = [not part.under.least(column)]
                    else:
                        never = [not v for v in part.under.likelihoods(column)]
                    if part.scales is None:
                        never = [any(never)] * len(part.over.rows)
                    for row, is_never in zip(part.over.rows, never, strict=True):
                        self.zeros.update((x, y) for x in row if is_never)

    def allowed(self, x: int) -> list[int]:
        return [y for y in range(self.outputs) if (x, y) not in self.zeros]


def _local(limit: _Limit, n: int) -> _Part:
    """Σ_x a_x K[x, y] ≤ 0 as a bound on likelihoods: those of a⁺ at most a factor times of a⁻."""
    a = {x: v for (x, _), v in limit.terms.items()}
    over, under = ([max(sign * a.get(x, _ZERO), _ZERO) for x in range(n)] for sign in (1, -1))
    factor = sum(under, _ZERO) / sum(over, _ZERO)
    return _Part(_mixtures([over]), _mixtures([under]), 0.0, given=factor)


def _ties(name: str, given: dict[str, Any]) -> bool:
    """Whether a notion is about symbols without mass, too, other than as copies of others."""
    named = name in ("MetricPrivacy", "EntryPML") or (name == "DP" and given["neighbours"] != "all")
    return named or (name in FIELDS and given.get("priors") is not None)


# Value and bound


@dataclass(frozen=True)
class _Function:
    """base + Σ_x s_x Σ_y (u_xy − f_x) K_xy, the base being Σ s f, for scales s of some symbols."""

    scales: dict[int, Fraction]
    gains: list[list[Fraction]]
    floors: list[Fraction]

    @cached_property
    def base(self) -> Fraction:
        return sum((s * self.floors[x] for x, s in self.scales.items()), _ZERO)

    @cached_property
    def terms(self) -> list[list[Fraction]]:
        rows = enumerate(zip(self.gains, self.floors, strict=True))
        return [[self.scales.get(x, _ZERO) * (u - f) for u in row] for x, (row, f) in rows]

    def extreme(self, choose: Any) -> Fraction:
        """The sum of the scales times the largest, or least, gain."""
        most = choose(choose(self.gains[x]) for x in self.scales)
        return sum(self.scales.values(), _ZERO) * most

    def on(self, kept: list[int]) -> _Function:
        scales = {kept.index(x): s for x, s in self.scales.items()}
        return _Function(scales, [self.gains[x] for x in kept], [self.floors[x] for x in kept])


def _functions(part: Any, prior: _Prior, outputs: int, report: Report) -> list[_Function]:
    """The linear functions whose least is the utility, one for a linear one."""
    if "gains" in part:
        scales, gains = {x: prior.masses[x] for x in prior.support}, _gains(part, prior, outputs)
        return [_Function(scales, gains, [_ZERO] * len(gains))]
    found, entries = [], _list(part["parts"])
    for entry in entries:
        gains, masses = _gains(entry["utility"], prior, outputs), prior.masses
        if entry["prior"] is not None:
            use = _read_prior(entry["prior"], report)
            masses = [use.masses[use.labels.index(label)] for label in prior.labels]
            _need(sum(masses) == 1, "a prior of use over other symbols")
        if _flag(part["each"]):
            _need(len(entries) == 1, "symbols of several utilities")
            return [_Function({x: _ONE}, gains, list(map(min, gains))) for x in prior.support]
        weight = Fraction(_level(entry["weight"]))
        scales = {x: weight * mass for x, mass in enumerate(masses) if mass}
        found.append(_Function(scales, gains, list(map(min, gains))))
    return found


def _gains(part: Any, prior: _Prior, outputs: int) -> list[list[Fraction]]:
    rows = _grid(part["gains"], (len(prior.labels), outputs))
    _need(all(abs(u) <= LARGEST_GAIN for row in rows for u in row), "gains that are too large")
    return rows


@dataclass
class _Sides:
    """The cone l ≤ k/pᵀk ≤ h, max k ≤ r min k, at or outside the true factors."""

    low: Fraction = _ZERO
    high: Fraction | None = None
    ratio: Fraction | None = None

    @classmethod
    def of(cls, parts: list[_Part], prior: _Prior) -> _Sides:
        """What some parts amount to; the others are left out, which is safe."""
        found, whole, symbols = cls(), _mixtures([prior.masses]), _points(range(len(prior.labels)))
        for part in parts:
            factor = None if part.scales else part.factor
            if factor is None:
                continue
            if (part.over, part.under) == (symbols, whole):
                found.high = min(factor, found.high or factor)
            elif (part.over, part.under) == (whole, symbols):
                found.low = max(1 / factor, found.low)
            elif (part.over, part.under) == (symbols, symbols):
                found.ratio = min(factor, found.ratio or factor)
        return found

    def support(self, e: list[Fraction], p: list[Fraction]) -> Fraction:
        """Sup of ⟨e, k⟩ over the cone with pᵀk = 1; the smaller of two where both are asked."""
        found = []
        order = sorted(range(len(e)), key=lambda x: e[x] / p[x], reverse=True)
        value, left = self.low * sum(e), 1 - self.low
        for x in order:
            room = left if self.high is None else min(left, (self.high - self.low) * p[x])
            value += room * e[x] / p[x]
            left -= room
        found.append(value)
        if self.ratio is not None:
            above, mass = sum(e, _ZERO), _ONE
            best = above
            for x in order:
                above += (self.ratio - 1) * e[x]
                mass += (self.ratio - 1) * p[x]
                best = max(best, above / mass)
            found.append(best)
        return min(found)


def _matrix(part: Any, *shape: int) -> _Matrix:
    """Positive entries of a matrix of dual variables; others ask nothing."""
    _need(part["shape"] == list(shape), f"dual variables of another shape than {shape}")
    places = list(zip(_list(part["rows"]), _list(part["columns"]), strict=True))
    _need(all(type(v) is int for place in places for v in place), "a place that is no number")
    fits = all(0 <= i < shape[0] and 0 <= y < shape[1] for i, y in places)
    _need(fits and len(set(places)) == len(places), "places outside a matrix, or twice")
    values = zip(places, _list(part["values"]), strict=True)
    return {place: _real(v) for place, v in values if _real(v) > 0}


def _add(taken: _Matrix, family: _Family, i: int, y: int, weight: Fraction) -> None:
    for x, m in family.rows[i].items():
        taken[x, y] = taken.get((x, y), _ZERO) + weight * m / family.total


def _price_ratio(part: _Part, given: Any, shape: tuple[int, int], taken: _Matrix) -> None:
    """Add to w what the dual variables of a bound give, made feasible: ⟨w_y, k⟩ ≤ 0 on the cone.

    Those of matched pairs are a on μ and e^level a on ν. Else a on the μ and b on the ν are
    feasible when e^level Σ a ≤ Σ b: a is scaled to b, and a b on a set of priors moved into it.
    """
    (n, outputs), factor = shape, part.factor
    a = _matrix(given[0], len(part.over.rows), outputs)
    _need(len(given) == (2 if part.scales is None else 1), "dual variables of another kind")
    if part.scales is not None:
        for (i, y), v in a.items():
            own = _factor(Fraction(part.level) * part.scales[i])
            if own is not None:
                _add(taken, part.over, i, y, v)
                _add(taken, part.under, i, y, -own * v)
        return
    is_set = isinstance(part.under, _PriorSet)
    under = _points(range(n)) if is_set else part.under
    b = _matrix(given[1], len(under.rows), outputs)
    if factor is None:
        return
    for y in {y for _, y in b}:
        mine = {i: v for (i, z), v in a.items() if z == y}
        theirs = {j: v for (j, z), v in b.items() if z == y}
        mine = mine or dict.fromkeys(range(len(part.over.rows)), _ONE)
        share = sum(theirs.values(), _ZERO) / (factor * sum(mine.values(), _ZERO))
        if is_set:
            theirs = dict(enumerate(part.under.inside([theirs.get(x, _ZERO) for x in range(n)])))
        for i, v in mine.items():
            _add(taken, part.over, i, y, share * v)
        for j, v in theirs.items():
            _add(taken, under, j, y, -v)


def _price_sum(part: _Part, s: _Matrix, outputs: int, shrink: bool, taken: _Matrix) -> Fraction:
    """Add to w minorants of one sum: Σ ⟨w_y, k_y⟩ is at most the limit that is returned."""
    factor, tops = part.factor, dict[int, Fraction]()
    if factor is None:
        return _ZERO
    if part.kind == "excess":
        # As s was found inside e^level, with the smaller share what it takes off the ν is kept.
        share = min(_inside(part.level), Fraction(10**7)) / factor if shrink else _ONE
        for (i, y), v in s.items():
            tops[i] = max(tops.get(i, _ZERO), v * share)
            _add(taken, part.over, i, y, v * share)
            _add(taken, part.under, i, y, -factor * v * share)
        return part.delta * sum(tops.values(), _ZERO)
    sign = 1 if part.kind == "maxima" else -1
    sums = [sum((v for (_, z), v in s.items() if z == y), _ZERO) for y in range(outputs)]
    for (i, y), v in s.items():
        _add(taken, part.over, i, y, sign * v)
    if sign > 0:
        return max(sums) * min(factor, Fraction(len(part.over.rows)))
    return -min(sums) / factor


def _inside(level: float) -> Fraction:
    """The factor that solvers are given, a little below e^level; any up to that would be safe."""
    excess = math.expm1(min(level, 690.0))
    room = min(1e-13 * (1 + excess) / excess, 1e-3) if excess else 0.0
    return Fraction(max(1.0, math.nextafter(1 + excess * (1 - room), 0.0)))


def _disclosed(asked: _Asked, terms: _Rows, taken: _Matrix) -> Fraction:
    """Σ_x max_y (c_xy − w_xy), a bound where Σ_y ⟨w_y, k_y⟩ ≤ 0 for every private kernel."""
    tops = [
        [row[y] - taken.get((x, y), _ZERO) for y in asked.allowed(x)] for x, row in enumerate(terms)
    ]
    return sum((max(row, default=_ZERO) for row in tops), _ZERO)  # without outputs all is true


def _without_limits(asked: _Asked, terms: list[list[Fraction]], duals: Any) -> Fraction:
    """The least bound that dual variables other than those of limits prove for Σ c_xy K_xy."""
    shape, p = (len(terms), asked.outputs), asked.prior.masses
    found, taken = [_disclosed(asked, terms, {})], dict[tuple[int, int], Fraction]()
    cone = [part for part in asked.parts if part.kind == "ratio"]
    sums = [part for part in asked.parts if part.kind != "ratio"]
    if duals["multipliers"] is not None:
        for part, given in zip(cone, _list(duals["multipliers"]), strict=True):
            _price_ratio(part, _list(given), shape, taken)
        found.append(_disclosed(asked, terms, taken))
    rates = [[c / p[x] for c in row] for x, row in enumerate(terms) if p[x]]
    low, high = min(map(min, rates)), max(map(max, rates))
    if sums and len(_list(duals.get("averages") or [])) == len(sums):
        given = [
            (part, _matrix(numbers[0], len(part.over.rows), shape[1]))
            for part, numbers in zip(sums, duals["averages"], strict=True)
            if part.kind != "information"
        ]
        # Small ones may be noise, which costs a factor e^level: without them, too.
        for floor in (_ZERO, (high - low) / 10**9):
            for shrink in (False, True):
                more, limit = dict(taken), _ZERO
                for part, s in given:
                    kept = {place: v for place, v in s.items() if v > floor}
                    limit += _price_sum(part, kept, shape[1], shrink, more)
                found.append(_disclosed(asked, terms, more) + limit)
    if duals["prices"] is not None and len(rates) == len(terms):
        sides, prices = _Sides.of(cone, asked.prior), [float(_real(v)) for v in duals["prices"]]
        clamped = _clamped(prices, rates, p)
        # Far below the others, where they are in no supremum.
        least = low - 1024 * (high - low + max(abs(low), abs(high)))
        rates = [
            [least if (x, y) in asked.zeros else v for y, v in enumerate(row)]
            for x, row in enumerate(rates)
        ]
        for tried in (prices, clamped):
            quotients = [v / float(mass) for v, mass in zip(tried, p, strict=True)]
            if all(map(math.isfinite, quotients)):
                found.append(_priced(rates, list(map(Fraction, quotients)), p, sides))
    return min(found)


def _priced(rates: _Rows, prices: list[Fraction], p: list[Fraction], sides: _Sides) -> Fraction:
    """Σ p π + max_y sup{Σ_x p_x (u_xy − π_x) k_x : k in the cone, pᵀk = 1}."""
    columns = zip(*rates, strict=True)
    rows = [list(zip(p, column, prices, strict=True)) for column in columns]
    tops = [sides.support([mass * (u - v) for mass, u, v in row], p) for row in rows]
    return sum((mass * v for mass, v in zip(p, prices, strict=True)), max(tops))


def _clamped(prices: list[float], rates: _Rows, p: list[Fraction]) -> list[float]:
    """Prices within what a row can contribute, give or take the range; any would be safe."""
    rough = [[_nearest(u) for u in row] for row in rates]
    width = max(map(max, rough)) - min(map(min, rough))
    rows = zip(prices, p, rough, strict=True)
    ends = [(v, float(m) * (min(r) - width), float(m) * (max(r) + width)) for v, m, r in rows]
    return [min(max(v, low), high) for v, low, high in ends]


def _tried(numbers: list[Fraction]) -> list[list[Fraction]]:
    """Numbers as given, and without those that are small enough to be noise."""
    least = max(map(abs, numbers), default=_ZERO) / 10**9
    return [numbers, [v if abs(v) > least else _ZERO for v in numbers]]


def _bound(asked: _Asked, functions: list[_Function], duals: Any) -> Fraction:
    """The least bound that dual variables prove for the least of some functions."""
    found = [min(f.base + _disclosed(asked, f.terms, {}) for f in functions)]
    if not asked.is_known:
        return found[0]
    mixture, limits = duals.get("mixture"), duals.get("limits")
    given = [_ONE] * len(functions) if mixture is None else [_real(v) for v in _list(mixture)]
    prices = [_ZERO] * len(asked.limits) if limits is None else [_real(v) for v in _list(limits)]
    offset, power = _real(duals.get("offset", 0)), duals.get("power", 0)
    _need(type(power) is int and -1100 <= power <= 0, "a power that is out of range")
    unit = Fraction(1, 1 << -power)
    for weights in _tried([max(v, _ZERO) for v in given]):
        if not any(weights):
            continue
        shares = [w / sum(weights) for w in weights]
        scales: dict[int, Fraction] = {}
        for share, f in zip(shares, functions, strict=True):
            for x, s in f.scales.items():
                scales[x] = scales.get(x, _ZERO) + share * s
        mixed = [
            [
                sum((w * f.terms[x][y] for w, f in zip(shares, functions, strict=True) if w), _ZERO)
                for y in range(asked.outputs)
            ]
            for x in range(len(asked.kept))
        ]
        for etas in ([_ZERO] * len(prices), *_tried(prices)):
            terms = [
                [(c - scales.get(x, _ZERO) * offset) / unit for c in row]
                for x, row in enumerate(mixed)
            ]
            constant = sum((w * f.base for w, f in zip(shares, functions, strict=True)), _ZERO)
            constant /= unit
            for eta, limit in zip(etas, asked.limits, strict=True):
                end = limit.high if eta > 0 else limit.low
                if eta and end is not None:
                    constant += eta * end
                    for (x, y), a in limit.terms.items():
                        terms[x][y] -= eta * a
            own = constant + _without_limits(asked, terms, duals)
            found.append(offset * sum(scales.values()) + unit * own)
    return min(found)


# Whole files


def _check_design(content: dict[str, Any], report: Report) -> None:
    prior = _read_prior(content["prior"], report)
    kernel = _read_kernel(content["mechanism"], report)
    saved, notions = content["certificate"], _list(content["notions"])
    _need(kernel.inputs == prior.labels, "a kernel with other inputs than the prior has")
    pairs = zip(notions, _list(saved["achieved"]), strict=True)
    found = [_check_notion(part, prior, kernel, _list(said), report) for part, said in pairs]
    yes = saved["verdicts"] == ["yes"] * len(notions)
    report.add("verdicts", _every([yes, *found]), "yes to every notion")
    for part in content.get("requirements", []):
        holds = None
        if part["name"] in REQUIREMENTS:
            holds = all(limit.holds(kernel) for limit in _limits(part, prior, kernel.outputs))
        report.add(f"requirement: {part['name']}", holds)
    if _flag(saved["repair"]["constant"]):
        report.add("constant", all(row == kernel.rows[0] for row in kernel.rows), "equal rows")
    report.add("fingerprint", saved["fingerprint"] == _fingerprint(content, prior, kernel))
    gap, is_known = math.inf if saved["gap"] == "unknown" else _level(saved["gap"]), None
    if content["utility"].keys() & {"gains", "parts"}:
        is_known = _check_claims(content, gap, prior, kernel, report)
    else:
        kind = "an estimation" if "questions" in content["utility"] else "a sub-convex utility"
        for claim in ("value", "bound", "gap"):
            report.add(claim, None, f"of {kind}: not rational, or searched for")
    fits = _flag(saved["optimal"]) is (gap <= GAP_TOLERANCE)
    report.add("optimal", _every([fits, is_known]), "a gap up to 1e-6")


def _check_claims(
    content: dict[str, Any], gap: float, prior: _Prior, kernel: _Kernel, report: Report
) -> bool | None:
    """Value, bound and gaps of a utility that is linear, or the least of linear ones; whether the
    gap is proved.
    """
    saved, utility = content["certificate"], content["utility"]
    functions = _functions(utility, prior, len(kernel.outputs), report)
    values = [
        f.base
        + kernel.total({(x, y): c for x, row in enumerate(f.terms) for y, c in enumerate(row) if c})
        for f in functions
    ]
    value = min(values)
    for k, part in enumerate(utility.get("parts", [])):
        if part["goal"] is not None and not utility["each"]:
            reached = values[k] >= _real(part["goal"]) * Fraction(part["weight"])
            report.add(f"goal {k + 1}", reached)
    asked = _Asked.of(content, prior, kernel.outputs)
    functions = [f.on(asked.kept) for f in functions]
    width = min(f.extreme(max) for f in functions) - min(f.extreme(min) for f in functions)
    own = _bound(asked, functions, saved["duals"])

    is_exact, said = saved.get("bound_exact") is not None, _real(saved["value"])
    # Files without exact numbers are of a version that computed value and gap in floats.
    size = 0 if is_exact else max(_ONE, width, abs(value)) / 10**12
    near = said == _nearest(value) or abs(said - value) <= size
    report.add("value", near, f"{_nearest(value)!r}")
    if saved.get("value_exact") is not None:
        report.add("value_exact", _fraction(saved["value_exact"]) == value)
    bound: Any = math.inf if saved["bound"] == "inf" else _real(saved["bound"])
    if is_exact:
        rounded, bound = bound, _fraction(saved["bound_exact"])
        report.add("bound, rounded", rounded == max(_float_up(bound), _nearest(value)), "up")
    proved = False if bound < value else True if own <= bound else None
    report.add("bound", proved, f"the dual variables prove {_float_up(own)!r}")

    def share(top: Any, base: Fraction) -> float:
        """(top − value) / base, rounded up."""
        if top <= value:
            return 0.0
        return _float_up((top - value) / base) if base and top < math.inf else math.inf

    fits: bool | None = (
        gap == share(bound, width) if is_exact else gap <= share(bound + size, width)
    )
    is_known = _every([fits, proved, gap >= share(own, width) or None])
    report.add("gap", is_known, "of the range of gains")
    low, high = _constants(asked, functions, width)

    def gained(top: Any, constant: Fraction) -> float | None:
        gain = top - constant
        is_some = width > 0 and gain > NOTHING * width and gain < math.inf
        return share(top, gain) if is_some else None

    told = None if saved["gain_gap"] is None else _level(saved["gain_gap"])
    ends = [gained(bound, low), gained(bound + size, high)]
    if told is None:
        fits = None in ends
    else:
        most = share(bound + size, NOTHING * width) if ends[1] is None else ends[1]
        fits = ends[0] is not None and told <= most
        least = gained(bound if is_exact else own, low)
        fits = fits and (least is None or told >= least or (False if is_exact else None))
    if len(functions) > 1 and ends[0] != ends[1]:
        fits = fits and None  # which constant kernel is the best is not known
    report.add("gain_gap", _every([fits, proved]), "of what can be gained")
    return is_known


def _constants(
    asked: _Asked, functions: list[_Function], width: Fraction
) -> tuple[Fraction, Fraction]:
    """The value of the best constant kernel, between two numbers; where none is known to satisfy
    all that is asked, the least value of any.
    """
    free = [y for y in range(asked.outputs) if not any(z == y for _, z in asked.zeros)]
    if asked.limits or not free:
        least = min(sum((min(row) for row in f.terms), f.base) for f in functions)
        return least, least
    sums = [[sum((row[y] for row in f.terms), f.base) for y in free] for f in functions]
    # Which one is the best was counted in floats.
    size = max(abs(f.extreme(choose)) for f in functions for choose in (max, min))
    room = width / 10**9 + size * len(asked.kept) / (1 << 48) + Fraction(1, 1 << 1060)
    return max(map(min, zip(*sums, strict=True))) - room, min(map(max, sums))


def _check_infeasible(content: dict[str, Any], report: Report) -> None:
    """That no kernel does what is asked: a utility of zero is bounded below zero."""
    prior, outputs = _read_prior(content["prior"], report), _labels(content["outputs"])
    asked = _Asked.of(content, prior, outputs)
    nothing = [[_ZERO] * len(outputs) for _ in asked.kept]
    own = _bound(asked, [_Function({}, nothing, [_ZERO] * len(nothing))], content["duals"])
    own = own if all(map(asked.allowed, range(len(asked.kept)))) else min(own, -_ONE)
    report.add("infeasible", own < 0 or None, f"a utility of zero is at most {_float_up(own)!r}")
    said = Fraction(_level(content["below_zero"]))
    report.add("below_zero", said * (1 - Fraction(1, 10**9)) <= -own or None)


def _named(parts: list[Any]) -> list[list[str]]:
    """Name and parameters of notions or requirements, in a canonical text."""
    return [
        [p["name"], *(_canonical((k, _number(v))) for k, v in sorted(p["parameters"].items()))]
        for p in parts
    ]


def _fingerprint(content: dict[str, Any], prior: _Prior, kernel: _Kernel) -> str:
    """SHA-256 of prior, labels, notions and weights of a design."""
    notions = _named(content["notions"])
    names = [[repr(v) for v in prior.labels], [repr(v) for v in kernel.outputs]]
    parts = [[_text(w) for w in prior.weights], *names, notions, kernel.bits]
    parts += [_named(content["requirements"])] if content.get("requirements") else []
    digest = hashlib.sha256(json.dumps(parts).encode())
    weights = [w for row in kernel.rows for w in row]
    if max(weights) < 1 << 62:
        digest.update(struct.pack(f"<{len(weights)}q", *weights))
    else:
        digest.update(",".join(map(_text, weights)).encode())
    return digest.hexdigest()


def _public_fingerprint(content: dict[str, Any], kernel: _Kernel) -> str:
    """SHA-256 of labels, weights in lowest terms, and what is guaranteed."""
    joined = 1 << kernel.bits
    for row in kernel.rows:
        for w in row:
            joined |= w
    spare = (joined & -joined).bit_length() - 1
    names = [[repr(v) for v in kernel.inputs], [repr(v) for v in kernel.outputs]]
    digest = hashlib.sha256(json.dumps([*names, kernel.bits - spare]).encode())
    for row in kernel.rows:
        digest.update((",".join(_text(w >> spare) for w in row) + ";").encode())
    told = [
        [part["name"], *(repr((k, _number(v))) for k, v in sorted(part["parameters"].items()))]
        for part in content["notions"]
    ]
    parts = [digest.hexdigest(), [*told, *content.get("stated", [])]]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _canonical(value: Any) -> str:
    return f"({','.join(map(_canonical, value))})" if isinstance(value, tuple) else repr(value)


def _check_public(content: dict[str, Any], report: Report) -> None:
    """A design without its prior: what needs none is proved."""
    kernel = _read_kernel(content["mechanism"], report)
    anything = _Prior(kernel.inputs, (1,) * len(kernel.inputs))
    for part in _list(content["notions"]):
        if part["name"] in WITHOUT_PRIOR:
            _check_notion(part, anything, kernel, None, report)
        else:
            report.add(f"privacy: {part['name']}", None, "of a prior that the file does not hold")
    for text in _list(content.get("stated", [])):
        _need(isinstance(text, str), "a notion that is no text")
        report.add(f"privacy: {text}", None, "stated by its maker, without its parameters")
    report.add("fingerprint", content["fingerprint"] == _public_fingerprint(content, kernel))


def check(data: bytes) -> Report:
    """Every claim of a file; raises :class:`UnreadableError` for one of another form."""
    content = parse(data)
    _need(isinstance(content, dict) and content.get("format") == "mechdesign", "another format")
    schema = 2 if "requirements" in content else 1
    _need(content.get("schema") == schema and type(content["schema"]) is int, "an unknown schema")
    report = Report()
    kept = {key: value for key, value in content.items() if key != "digest"}
    text = json.dumps(kept, sort_keys=True, separators=(",", ":"))
    report.add("digest", content.get("digest") == hashlib.sha256(text.encode()).hexdigest())
    try:
        if content["kind"] == "design":
            _check_design(content, report)
        elif content["kind"] == "public":
            _check_public(content, report)
        elif content["kind"] == "infeasible":
            _check_infeasible(content, report)
        else:
            _need(content["kind"] == "mechanism", "an unknown kind")
            _read_kernel(content["mechanism"], report, ROW_TOLERANCE)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, ArithmeticError) as wrong:
        raise UnreadableError(f"a part is missing or wrong: {type(wrong).__name__}") from wrong
    return report


def main(arguments: Sequence[str] | None = None) -> int:
    """Check files named on the command line; ``--json`` prints JSON. Returns the exit code."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    files = [word for word in given if word != "--json"]
    if not files:
        print("usage: python verify.py [--json] FILE...", file=sys.stderr)
        return CODES[UNREADABLE]
    results: list[dict[str, Any]] = []
    for name in files:
        try:
            with open(name, "rb") as file:
                report = check(file.read(LARGEST_FILE + 1))
        except (OSError, ValueError, UnreadableError) as wrong:
            report = Report([{"claim": "file", "state": UNREADABLE, "detail": str(wrong)}])
        results.append({"file": name, "state": report.state, "claims": report.claims})
    if "--json" in given:
        print(json.dumps(results, indent=1))
    else:
        for found in results:
            print(ascii(f"{found['file']}: {found['state']}")[1:-1])
            for fact in found["claims"]:
                line = f"  {fact['state']:16} {fact['claim']}  {fact['detail']}"
                print(ascii(line.rstrip())[1:-1])
    return CODES[_worst(str(found["state"]) for found in results)]


if __name__ == "__main__":
    sys.exit(main())

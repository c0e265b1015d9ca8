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
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Any

LARGEST_FILE, DEEPEST, LONGEST_NUMBER, MOST_DIGITS = 1 << 28, 64, 3600, 400_000
MOST_BITS, LARGEST_GAIN, LARGEST_LEVEL, LONGEST_NAME = 1 << 20, 1e150, 2000, 200
GAP_TOLERANCE, NOTHING, ROW_TOLERANCE = Fraction(1e-6), Fraction(1e-11), Fraction(1e-6)
PROVED, REFUTED, OPEN, UNREADABLE = "proved", "refuted", "not proved here", "unreadable"
CODES = {PROVED: 0, REFUTED: 1, UNREADABLE: 2, OPEN: 3}

_INTEGER = re.compile(r"-?(0|[1-9][0-9]*)")
_ZERO, _ONE = Fraction(0), Fraction(1)
_Matrix = dict[tuple[int, int], Fraction]
# A linear function of the kernel: for each of its symbols s_x and a row of gains.
_Function = dict[int, tuple[Fraction, list[Fraction]]]
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
            parse_int=lambda text: int(_short(text)),
            parse_float=lambda text: _finite(float(_short(text))),
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


def _short(text: str) -> str:
    _need(len(text) <= LONGEST_NUMBER, "a number that is too long")
    return text


def _finite(value: float) -> float:
    _need(math.isfinite(value), "a number beyond floats")
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
    _need(isinstance(word, str), "a rational that is neither number nor text")
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

    @property
    def total(self) -> int:
        return sum(self.weights)

    @property
    def support(self) -> list[int]:
        return [x for x, w in enumerate(self.weights) if w]

    @property
    def masses(self) -> list[Fraction]:
        return [Fraction(w, self.total) for w in self.weights]


@dataclass(frozen=True)
class _Kernel:
    """Integer weights over 2**bits, a row for each input."""

    inputs: tuple[Any, ...]
    outputs: tuple[Any, ...]
    bits: int
    rows: list[list[int]]


def _read_prior(part: Any, report: Report) -> _Prior:
    names, weights = _labels(part["labels"]), [_integer(w) for w in _list(part["weights"])]
    _need(len(weights) == len(names), "weights of another number than labels")
    _need(min(weights) >= 0 and any(weights), "weights of a prior that are no masses")
    prior = _Prior(names, tuple(w // math.gcd(*weights) for w in weights))
    nearest = [w / prior.total for w in prior.weights]
    same = json.dumps(part["probabilities"]) == json.dumps(nearest)
    report.add("probabilities", same, "nearest to the exact masses")
    return prior


def _read_kernel(part: Any, report: Report, room: Fraction = _ZERO) -> _Kernel:
    """The kernel of a file; rows that are off by up to ``room`` are neither right nor wrong."""
    bits, rows = _integer(part["denominator_bits"]), _list(part["weights"])
    _need(0 <= bits <= MOST_BITS, "denominator_bits out of range")
    inputs, outputs = _labels(part["inputs"]), _labels(part["outputs"])
    kernel = _Kernel(inputs, outputs, bits, [[_integer(w) for w in _list(row)] for row in rows])
    _need(len(rows) == len(inputs), "rows of another number than inputs")
    _need(all(len(row) == len(outputs) for row in rows), "a row of another length than outputs")
    report.add("weights", min(map(min, kernel.rows)) >= 0, "are not negative")
    off = max(Fraction(abs(sum(row) - (1 << bits)), 1 << bits) for row in kernel.rows)
    fits = off == 0 or (None if off <= room else False)
    report.add("rows", fits, f"sum to 2^{bits}" if fits else f"off by up to {float(off):.3g}")
    return kernel


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


def _points(places: Iterable[int]) -> _Family:
    return _Family(1, tuple({x: 1} for x in places))


def _mixtures(rows: _Rows) -> _Family:
    """Rows of masses, each divided by its sum."""
    _need(all(min(row) >= 0 and any(row) for row in rows), "masses of a hypothesis")
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
    _need(all(isinstance(v, (tuple, str)) and v for v in labels), "labels that are no databases")
    _need(len({len(v) for v in labels}) == 1, "databases of several lengths")
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
    _need(not any(table[i][i] for i in n), "a distance of a symbol to itself")
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
        _need(len(content) == len(labels), "a matrix of another size")
        _need(all(len(row) == len(labels) for row in content), "a matrix of another size")
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
        _need(prior.labels[x] in rows, "a symbol without a feature")
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
    named = {_label(x) for _, content in given.get("secrets", ()) for x, _ in content}
    _need(named <= set(prior.labels), "a secret of symbols that the prior has not")
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


# Value and bound


@dataclass(frozen=True)
class _Objective:
    """Σ c_xy K_xy + constant, in integers c over a unit, for c_xy = p_x u_xy.

    A limit Σ a_xy K_xy ≤ b with a price η ≥ 0 takes η a off c and adds η b to the constant.
    """

    prior: _Prior
    gains: list[list[Fraction]]
    constant: Fraction = _ZERO

    @cached_property
    def scale(self) -> int:
        return math.lcm(*(u.denominator for row in self.gains for u in row))

    @cached_property
    def unit(self) -> int:
        return self.prior.total * self.scale

    @cached_property
    def rows(self) -> list[list[int]]:
        pairs = zip(self.prior.weights, self.gains, strict=True)
        return [[w * int(u * self.scale) for u in row] for w, row in pairs]

    @property
    def width(self) -> Fraction:
        """The range of the gains at symbols of positive mass."""
        counted = [self.gains[x] for x in self.prior.support]
        return max(map(max, counted)) - min(map(min, counted))

    def value(self, rows: list[list[int]], bits: int) -> Fraction:
        pairs = zip(self.rows, rows, strict=True)
        total = sum(c * k for cs, ks in pairs for c, k in zip(cs, ks, strict=True))
        return self.constant + Fraction(total, self.unit << bits)

    def without(self, taken: _Matrix) -> Fraction:
        """Σ_x max_y (c_xy − w_xy), a bound where Σ_y ⟨w_y, k_y⟩ ≤ 0 for every private kernel."""
        total = self.constant
        for x, row in enumerate(self.rows):
            plain = [c for y, c in enumerate(row) if (x, y) not in taken]
            tops = [Fraction(max(plain), self.unit)] if plain else []
            priced = (y for y in range(len(row)) if (x, y) in taken)
            total += max([*tops, *(Fraction(row[y], self.unit) - taken[x, y] for y in priced)])
        return total

    def priced(self, per_mass: list[Fraction], sides: _Sides) -> Fraction:
        """Σ λ + max_y sup{⟨c_y − λ, k⟩ : k in the cone, pᵀk = 1} for λ_x = p_x π_x."""
        weights, more = self.prior.weights, math.lcm(*(v.denominator for v in per_mass))
        lam = [w * int(v * more) * self.scale for w, v in zip(weights, per_mass, strict=True)]
        tops = []
        for y in range(len(self.gains[0])):
            e = [row[y] * more - v for row, v in zip(self.rows, lam, strict=True)]
            tops.append(sides.support(e, self.prior))
        return self.constant + (sum(lam) + max(tops)) / (self.unit * more)


@dataclass(frozen=True)
class _Least:
    """min_i Σ_x s_ix Σ_y u_ixy K_xy, at most the same sum of any mixture of the functions."""

    prior: _Prior
    functions: list[_Function]

    def _each(self, of_row: Callable[[int, list[Fraction]], Fraction]) -> list[Fraction]:
        return [
            sum((s * of_row(x, row) for x, (s, row) in one.items()), _ZERO)
            for one in self.functions
        ]

    def value(self, rows: list[list[int]], bits: int) -> Fraction:
        def mean(x: int, row: list[Fraction]) -> Fraction:
            return sum((u * k for u, k in zip(row, rows[x], strict=True) if k), _ZERO) / (1 << bits)

        return min(self._each(mean))

    @property
    def width(self) -> Fraction:
        """From the least that the largest gains give to the least that the smallest give."""
        shares = [sum((s for s, _ in one.values()), _ZERO) for one in self.functions]
        rows = [[row for _, row in one.values()] for one in self.functions]
        tops = [s * max(map(max, some)) for s, some in zip(shares, rows, strict=True)]
        return min(tops) - min(
            s * min(map(min, some)) for s, some in zip(shares, rows, strict=True)
        )

    def bound(self, asked: list[_Part] | None, duals: Any) -> Fraction:
        """The least bound that the mixture of the dual variables proves, without its noise too."""
        found = [min(self._each(lambda _, row: max(row)))]
        given = duals.get("mixture")
        weights = [_ONE] * len(self.functions) if given is None else list(map(_real, _list(given)))
        _need(len(weights) == len(self.functions), "a mixture of other functions")
        floors = self._each(lambda _, row: min(row))
        for least in (_ZERO, max(weights) / 10**9):
            kept = [w if w > least else _ZERO for w in weights]
            if not any(kept):
                continue
            shares = [w / sum(kept) for w in kept]
            gains = dict[int, list[Fraction]]()
            for share, one in zip(shares, self.functions, strict=True):
                for x, (s, row) in one.items() if share else ():
                    rate = share * s / self.prior.masses[x]
                    before, low = gains.get(x, [_ZERO] * len(row)), min(row)
                    gains[x] = [g + rate * (u - low) for g, u in zip(before, row, strict=True)]
            count = len(next(iter(self.functions[0].values()))[1])
            rows = [gains.get(x, [_ZERO] * count) for x in range(len(self.prior.labels))]
            constant = sum((w * f for w, f in zip(shares, floors, strict=True)), _ZERO)
            found.append(_bound(_Objective(self.prior, rows, constant), asked, duals))
        return min(found)


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
            factor = None if part.scales else _factor(part.level)
            if factor is None:
                continue
            if (part.over, part.under) == (symbols, whole):
                found.high = min(factor, found.high or factor)
            elif (part.over, part.under) == (whole, symbols):
                found.low = max(1 / factor, found.low)
            elif (part.over, part.under) == (symbols, symbols):
                found.ratio = min(factor, found.ratio or factor)
        return found

    def support(self, e: list[int], prior: _Prior) -> Fraction:
        """Sup of ⟨e, k⟩ over the cone with pᵀk = 1; the smaller of two where both are asked."""
        weights, total, found = prior.weights, prior.total, []
        order = sorted(range(len(e)), key=lambda x: Fraction(e[x], weights[x]), reverse=True)
        if self.ratio is None or self.low > 0 or self.high is not None:
            value, left = self.low * sum(e), (1 - self.low) * total
            for x in order:
                room = left if self.high is None else (self.high - self.low) * weights[x]
                value += min(left, room) * e[x] / weights[x]
                left -= min(left, room)
            found.append(value)
        if self.ratio is not None:
            above, mass = Fraction(sum(e)), _ONE
            best = above
            for x in order:
                above += (self.ratio - 1) * e[x]
                mass += (self.ratio - 1) * Fraction(weights[x], total)
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
    (n, outputs), factor = shape, _factor(part.level)
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
    for y in range(outputs):
        mine = {i: v for (i, z), v in a.items() if z == y}
        theirs = {j: v for (j, z), v in b.items() if z == y}
        mass = sum(theirs.values(), _ZERO)
        mine = mine or dict.fromkeys(range(len(part.over.rows)), _ONE)
        share = mass / (factor * sum(mine.values())) if factor is not None else _ZERO
        if is_set and mass:
            theirs = dict(enumerate(part.under.inside([theirs.get(x, _ZERO) for x in range(n)])))
        for i, v in mine.items() if mass else ():
            _add(taken, part.over, i, y, share * v)
        for j, v in theirs.items():
            _add(taken, under, j, y, -v)


def _price_sum(part: _Part, s: _Matrix, outputs: int, shrink: bool, taken: _Matrix) -> Fraction:
    """Add to w minorants of one sum: Σ ⟨w_y, k_y⟩ is at most the limit that is returned."""
    factor, tops = _factor(part.level), dict[int, Fraction]()
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
    return (
        max(sums) * min(factor, Fraction(len(part.over.rows))) if sign > 0 else -min(sums) / factor
    )


def _inside(level: float) -> Fraction:
    """The factor that solvers are given, a little below e^level; any up to that would be safe."""
    excess = math.expm1(min(level, 690.0))
    room = min(1e-13 * (1 + excess) / excess, 1e-3) if excess else 0.0
    return Fraction(max(1.0, math.nextafter(1 + excess * (1 - room), 0.0)))


def _bound(objective: _Objective, asked: list[_Part] | None, duals: Any) -> Fraction:
    """The least bound that dual variables prove; without any, that of full disclosure.

    ``asked`` is ``None`` where not all notions are known, so that they belong to no constraint.
    """
    shape = len(objective.gains), len(objective.gains[0])
    found, taken = [objective.without({})], dict[tuple[int, int], Fraction]()
    cone = [p for p in asked or () if p.kind == "ratio"]
    sums = [p for p in asked or () if p.kind != "ratio"]
    if asked is not None and duals["multipliers"] is not None:
        _need(len(duals["multipliers"]) == len(cone), "dual variables of other bounds")
        for part, given in zip(cone, _list(duals["multipliers"]), strict=True):
            _price_ratio(part, _list(given), shape, taken)
        found.append(objective.without(taken))
    if sums and len(_list(duals.get("averages") or [])) == len(sums):
        given = [
            (p, _matrix(numbers[0], len(p.over.rows), shape[1]))
            for p, numbers in zip(sums, duals["averages"], strict=True)
            if p.kind != "information"
        ]
        # Small ones may be noise, which costs a factor e^level: without them, too.
        for floor in (_ZERO, objective.width / 10**9):
            for shrink in (False, True):
                more, limit = dict(taken), _ZERO
                for part, s in given:
                    kept = {place: v for place, v in s.items() if v > floor}
                    limit += _price_sum(part, kept, shape[1], shrink, more)
                found.append(objective.without(more) + limit)
    if duals["prices"] is not None and all(objective.prior.weights):
        _need(len(duals["prices"]) == shape[0], "prices of another number than symbols")
        sides = _Sides.of(cone, objective.prior)
        prices = [float(_real(v)) for v in _list(duals["prices"])]
        for tried in (prices, _clamped(prices, objective)):
            rates = [v / float(p) for v, p in zip(tried, objective.prior.masses, strict=True)]
            if all(map(math.isfinite, rates)):
                found.append(objective.priced([Fraction(v) for v in rates], sides))
    return min(found)


def _clamped(prices: list[float], objective: _Objective) -> list[float]:
    """Prices within what a row can contribute, give or take the range; any would be safe."""
    rough = [[_nearest(u) for u in row] for row in objective.gains]
    width = max(map(max, rough)) - min(map(min, rough))
    rows = zip(prices, objective.prior.masses, rough, strict=True)
    ends = [(v, float(p) * (min(r) - width), float(p) * (max(r) + width)) for v, p, r in rows]
    return [min(max(v, low), high) for v, low, high in ends]


# Whole files


def _check_design(content: dict[str, Any], report: Report) -> None:
    prior = _read_prior(content["prior"], report)
    kernel = _read_kernel(content["mechanism"], report)
    saved, notions = content["certificate"], _list(content["notions"])
    _need(kernel.inputs == prior.labels, "a kernel with other inputs than the prior has")
    _need(notions and isinstance(content["agreement"], list), "no notions, or no list of methods")
    pairs = zip(notions, _list(saved["achieved"]), strict=True)
    found = [_check_notion(part, prior, kernel, _list(said), report) for part, said in pairs]
    yes = saved["verdicts"] == ["yes"] * len(notions)
    report.add("verdicts", _every([yes, *found]), "yes to every notion")
    if _is_constant(content["method"], saved["solver"], saved["repair"]):
        report.add("constant", all(row == kernel.rows[0] for row in kernel.rows), "equal rows")
    report.add("fingerprint", saved["fingerprint"] == _fingerprint(content, prior, kernel))
    gap, is_known = math.inf if saved["gap"] == "unknown" else _level(saved["gap"]), None
    if {"gains", "parts"} & content["utility"].keys():
        is_known = _check_claims(content, gap, prior, kernel, report)
    else:
        for claim in ("value", "bound", "gap"):
            report.add(claim, None, "of a sub-convex utility: not rational, or searched for")
    fits = _flag(saved["optimal"]) is (gap <= GAP_TOLERANCE)
    report.add("optimal", _every([fits, is_known]), "a gap up to 1e-6")


def _is_constant(method: Any, solver: Any, repair: Any) -> bool:
    """What is said of how the kernel was made, which proves nothing: whether all rows are equal."""
    for name in (method, solver):
        good = isinstance(name, str) and len(name) <= LONGEST_NAME and name.isprintable()
        _need(good, "a name that is no short line")
    counts = [*_list(repair["merged"]), repair["rounds"]]
    _need(all(type(v) is int and v >= 0 for v in counts), "a record that is no count")
    loss = 0 if repair["loss"] == "unknown" else _level(repair["loss"])
    _need(loss < math.inf and _level(repair["mixed"], 1) <= 1, "a record that is no share")
    return _flag(repair["constant"])


def _check_claims(
    content: dict[str, Any], gap: float, prior: _Prior, kernel: _Kernel, report: Report
) -> bool | None:
    """Value, bound and gaps of a linear utility, or of the least of several; whether the gap is
    proved.
    """
    saved, notions, utility = content["certificate"], content["notions"], content["utility"]
    # Symbols without mass are designed for only where a notion ties them to others.
    whole = any(_ties(part["name"], part["parameters"]) for part in notions)
    kept = list(range(len(prior.labels)) if whole else prior.support)
    inner = _Prior(tuple(prior.labels[x] for x in kept), tuple(prior.weights[x] for x in kept))
    plain: _Objective | _Least
    if "parts" in utility:
        plain = _Least(inner, _functions(utility, prior, kernel, kept))
    else:
        gains = _gains(utility, kernel)
        plain = _Objective(inner, [gains[x] for x in kept])
    value, width = plain.value([kernel.rows[x] for x in kept], kernel.bits), plain.width
    offset, power = _real(saved["duals"].get("offset", 0)), saved["duals"].get("power", 0)
    _need(type(power) is int and -1100 <= power <= 0, "a power that is out of range")
    unit = Fraction(1, 1 << -power)
    asked = None
    if all(part["name"] in FIELDS for part in notions):
        parts = [p for n in notions for p in _parts(n["name"], n["parameters"], inner)]
        asked = [p for p in parts if p.level < math.inf]
    if isinstance(plain, _Least):
        own = plain.bound(asked, saved["duals"])
    else:
        shifted = _Objective(inner, [[(u - offset) / unit for u in row] for row in plain.gains])
        own = offset + unit * _bound(shifted, asked, saved["duals"])

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

    def share(top: Any) -> float:
        if top <= value:
            return 0.0
        return _float_up((top - value) / width) if width and top < math.inf else math.inf

    fits = gap == share(bound) if is_exact else gap <= share(bound + size)
    is_known = _every([fits, proved, gap >= share(own) or None])
    report.add("gap", is_known, "of the range of gains")
    if isinstance(plain, _Least):
        report.add(
            "gain_gap", None, "of what the best constant kernel lacks, which is searched for"
        )
        return is_known
    # Which constant output is the best was counted in floats.
    constants = [Fraction(sum(column), plain.unit) for column in zip(*plain.rows, strict=True)]
    largest = max(abs(u) for row in plain.gains for u in row)
    room = width / 10**9 + largest * len(kernel.rows) / (1 << 48) + Fraction(1, 1 << 1060)

    def gained(top: Any) -> list[float | None]:
        gains = [top - c for c in constants if max(constants) - c <= room]
        some = [width > 0 and g > NOTHING * width and g < math.inf for g in gains]
        pairs = zip(gains, some, strict=True)
        return [_float_up(max(top - value, _ZERO) / g) if s else None for g, s in pairs]

    share_of_gain = None if saved["gain_gap"] is None else _level(saved["gain_gap"])
    fits = share_of_gain in gained(bound)
    if not is_exact and share_of_gain is not None:
        fits = any(v is None or share_of_gain <= v for v in gained(bound + size))
        proved = (proved and any(v is None or share_of_gain >= v for v in gained(own))) or None
    report.add("gain_gap", _every([fits, proved]), "of what can be gained")
    return is_known


def _gains(utility: dict[str, Any], kernel: _Kernel) -> list[list[Fraction]]:
    """Gains of a linear utility, a row for each symbol."""
    gains = [[_real(u) for u in _list(row)] for row in _list(utility["gains"])]
    _need(len(gains) == len(kernel.inputs), "gains of another number of symbols")
    _need(all(len(row) == len(kernel.outputs) for row in gains), "gains of other outputs")
    _need(all(abs(u) <= LARGEST_GAIN for row in gains for u in row), "gains that are too large")
    return gains


def _functions(
    utility: dict[str, Any], prior: _Prior, kernel: _Kernel, kept: list[int]
) -> list[_Function]:
    """The functions whose least is maximised, each with s_x and a row of gains for its symbols."""
    parts = [(part, _gains(part["utility"], kernel)) for part in _list(utility["parts"])]
    _need(parts and all(part["goal"] is None for part, _ in parts), "no utilities, or a goal")
    if _flag(utility["each"]):
        _need(len(parts) == 1, "several utilities of which each symbol counts")
        return [{kept.index(x): (_ONE, parts[0][1][x])} for x in prior.support]
    found = []
    for part, gains in parts:
        weight, masses = _real(part["weight"]), prior.masses
        _need(weight > 0, "a weight that is not positive")
        if part["prior"] is not None:
            use = _read_prior(part["prior"], Report())
            _need(set(use.labels) == set(prior.labels), "a prior of use over other symbols")
            place = dict(zip(use.labels, use.masses, strict=True))
            masses = [place[label] for label in prior.labels]
            _need(
                all(w or not m for w, m in zip(prior.weights, masses, strict=True)), "mass beyond"
            )
        found.append({kept.index(x): (weight * m, gains[x]) for x, m in enumerate(masses) if m})
    return found


def _ties(name: str, given: dict[str, Any]) -> bool:
    """Whether a notion is about symbols without mass, too, other than as copies of others."""
    named = name in ("MetricPrivacy", "EntryPML") or (name == "DP" and given["neighbours"] != "all")
    return named or (name in FIELDS and given.get("priors") is not None)


def _fingerprint(content: dict[str, Any], prior: _Prior, kernel: _Kernel) -> str:
    """SHA-256 of prior, labels, notions and weights of a design."""
    notions = [
        [
            part["name"],
            *(_canonical((k, _number(v))) for k, v in sorted(part["parameters"].items())),
        ]
        for part in content["notions"]
    ]
    names = [[repr(v) for v in prior.labels], [repr(v) for v in kernel.outputs]]
    parts = [[_text(w) for w in prior.weights], *names, notions, kernel.bits]
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
    _need(content.get("schema") == 1 and type(content["schema"]) is int, "an unknown schema")
    report = Report()
    kept = {key: value for key, value in content.items() if key != "digest"}
    text = json.dumps(kept, sort_keys=True, separators=(",", ":"))
    report.add("digest", content.get("digest") == hashlib.sha256(text.encode()).hexdigest())
    try:
        if content["kind"] == "design":
            _check_design(content, report)
        elif content["kind"] == "public":
            _check_public(content, report)
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

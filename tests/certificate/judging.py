"""What is true of a saved file, recomputed from its text alone, to judge what is said of it.

Nothing of the package is used: what notions and requirements ask is read here from ``FORMAT.md``,
privacy is decided in rationals, and optima of few symbols are found by dense programs. A truth is
``True``, ``False`` or ``None`` where it is not decided here; :class:`MeaninglessError` says that a
part of a file has no meaning, so that nothing may be proved of it.
"""

from __future__ import annotations

import datetime
import json
import math
import pickle
import re
import signal
import time
import warnings
from collections.abc import Callable, Iterator
from decimal import Context, Decimal
from fractions import Fraction
from itertools import combinations, pairwise, permutations, product
from pathlib import Path
from typing import Any, NamedTuple

import cvxpy as cp
import numpy as np
from dense_programs import constraints_on, largest
from flint import fmpq, fmpq_mat
from forging import Forgery, digest, fingerprint, label, typed
from plain_check import (
    SUMS,
    Asked,
    Opinion,
    at_most,
    pairs_of,
)
from plain_check import _check_set as _robust_faults
from plain_requirements import PlainRow

File = dict[str, Any]
ZERO, ONE = Fraction(0), Fraction(1)
#: Share of the range, or of a risk, by which a claim must be off to be called false by floats.
OFF = 1e-6
#: No ratio of weights over 2^(2^20) is beyond e to this.
LARGEST_LEVEL = 800_000.0
#: Ratio of coefficients up to which floats tell them apart.
FAR = 1e9
#: Levels up to which dense programs are asked.
LARGEST_TOLD = 8.0


class MeaninglessError(Exception):
    """A part of a file that has no meaning."""


def need(holds: Any, what: str) -> None:
    if not holds:
        raise MeaninglessError(what)


# Words of a file


def real(word: Any) -> Fraction:
    """A finite number, or a rational in words."""
    if isinstance(word, dict):
        need(set(word) == {"fraction"} and isinstance(word["fraction"], str), "a number in words")
        return rational(word["fraction"])
    need(type(word) in (int, float) and abs(word) < math.inf, "a number")
    return Fraction(word)


def rational(text: Any) -> Fraction:
    need(isinstance(text, str) and text.isascii(), "a rational")
    above, slash, below = text.partition("/")
    need(above.removeprefix("-").isdigit() and (not slash or below.isdigit()), "a rational")
    numbers = [int(Decimal(word)) for word in (above, below) if word]
    need(len(numbers) == 1 or numbers[1], "a denominator")
    return Fraction(*numbers)


def level_of(word: Any) -> Any:
    if word == "inf":
        return math.inf
    if isinstance(word, dict):
        need(len(word) == 1, "a level in words")
        ((kind, text),) = word.items()
        value, near = rational(text), Context(prec=200)
        need(value > (kind == "ln"), "a level in words")
        if kind == "fraction":
            return min(value, Fraction(LARGEST_LEVEL))
        need(kind in ("ln", "bits"), "a level in words")
        # Above the logarithm, as a kernel of rationals may have it, and so near that no other does.
        base = value if kind == "ln" else Fraction(2)
        log = near.divide(Decimal(base.numerator), Decimal(base.denominator)).ln(near)
        return Fraction(near.next_plus(near.next_plus(log))) * (1 if kind == "ln" else value)
    need(type(word) in (int, float) and 0 <= word < math.inf, "a level")
    return min(float(word), LARGEST_LEVEL)


def listed(word: Any, count: int | None = None) -> list[Any]:
    need(isinstance(word, list) and count in (None, len(word)), "a list of another length")
    return word


def plain(word: Any) -> Any:
    """A label in parameters: tuples are lists there."""
    if isinstance(word, dict):
        return word["text"] if "text" in word else typed(word)
    if isinstance(word, list):
        return tuple(map(plain, word))
    return math.inf if word == "inf" else word


def index(word: Any, labels: list[Any]) -> int:
    value = plain(word)
    need(value in labels, "a label that is known")
    return labels.index(value)


def once(places: list[Any]) -> list[Any]:
    need(places and len(set(places)) == len(places), "something, and nothing twice")
    return places


def labels_of(words: Any) -> list[Any]:
    found = list(map(label, listed(words)))
    return once(found)


def integer(word: Any) -> int:
    value = rational(word) if isinstance(word, str) else word
    need(isinstance(value, Fraction) or type(value) is int, "an integer")
    need(value.denominator == 1, "an integer")
    return int(value)


def masses_of(prior: Any) -> list[Fraction]:
    weights = list(map(integer, listed(prior["weights"], len(prior["labels"]))))
    need(min(weights) >= 0 < sum(weights), "masses")
    return [Fraction(w, sum(weights)) for w in weights]


def kernel_of(part: Any) -> tuple[list[list[int]], int]:
    """Integer weights, and what they are over."""
    n, m = len(part["inputs"]), len(part["outputs"])
    rows = [list(map(integer, listed(row, m))) for row in listed(part["weights"], n)]
    if "denominator" in part:
        return rows, integer(part["denominator"])
    need(0 <= integer(part["denominator_bits"]) <= 1 << 20, "bits")
    return rows, 1 << integer(part["denominator_bits"])


def table_of(word: Any, n: int, m: int) -> list[list[Fraction]]:
    return [[real(v) for v in listed(row, m)] for row in listed(word, n)]


# Notions, as what they ask of pairs


KEYS = {
    name: {"epsilon", *more}
    for more, names in {
        (): "PML PMC LIP LDP FreeLunch MaximalLeakage MaximalCostLeakage MIPrivacy",
        ("neighbours",): "DP",
        ("distances",): "MetricPrivacy",
        ("levels_of",): "SymbolPML SymbolPMC SymbolLIP InputDiscriminativeLDP ContextAwareLDP",
        ("sensitive",): "UtilityOptimisedLDP",
        ("entries", "low", "high"): "EntryPML",
        ("feature",): "FeaturePML FeaturePMC",
        ("side",): "ConditionalPML ConditionalPMC",
        ("secrets", "pairs", "priors"): "Pufferfish",
        ("delta", "secrets", "pairs", "priors"): "ApproximatePufferfish",
        ("delta",): "ApproximateLDP",
        ("priors",): "RobustPML",
        ("costs",): "InferenceCost",
        ("features", "priors"): "MIPufferfish",
    }.items()
    for name in names.split()
} | {"ALIP": {"epsilon_l", "epsilon_u"}}


class Symbols:
    """Labels and masses of a file, and what its notions ask of them in plain numbers."""

    def __init__(self, labels: list[Any], masses: list[Fraction], attributes: Any = None) -> None:
        self.labels, self.masses, self.n = labels, masses, len(labels)
        self.attributes = attributes or []
        self.numbers = [self._numbered(x) for x in labels] if attributes else labels

    def _numbered(self, value: Any) -> Any:
        tables = [midpoints(one["bins"]) if "bins" in one else {} for one in self.attributes]
        if len(tables) == 1:
            return tables[0].get(value, value)
        return tuple(table.get(v, v) for table, v in zip(tables, value, strict=True))

    def asked(self, notion: Any) -> Asked:
        name, given = notion["name"], notion["parameters"]
        if isinstance(name, str) and name not in KEYS:
            raise UndecidedError
        need(isinstance(name, str) and set(given) == KEYS[name], "parameters")
        keys = ("epsilon_l", "epsilon_u") if name == "ALIP" else ("epsilon",)
        levels = tuple(level_of(given[key]) for key in keys)
        more = getattr(self, f"_{name}", lambda **_: {})(
            **{k: v for k, v in given.items() if k not in keys}
        )
        return Asked(name, levels, more)

    def _index(self, word: Any) -> int:
        return index(word, self.labels)

    def _DP(self, neighbours: Any) -> dict[str, Any]:
        n = range(self.n)
        if neighbours == "all":
            return {"pairs": list(combinations(n, 2))}
        if neighbours == "adjacent":
            return {"pairs": self._line()}
        if neighbours == "hamming":
            return {"pairs": [(i, j) for i, j in combinations(n, 2) if self._differ(i, j) == 1]}
        pairs = [tuple(self._index(x) for x in listed(pair, 2)) for pair in listed(neighbours)]
        need(all(a != b for a, b in pairs), "a symbol beside itself")
        return {"pairs": pairs}

    def _line(self) -> list[tuple[int, int]]:
        need(all(type(v) in (int, float) and math.isfinite(v) for v in self.numbers), "numbers")
        return list(pairwise(sorted(range(self.n), key=lambda x: Fraction(self.numbers[x]))))

    def _differ(self, i: int, j: int) -> int:
        a, b = self.numbers[i], self.numbers[j]
        need(isinstance(a, (tuple, str)) and type(a) is type(b) and len(a) == len(b), "tuples")
        return sum(u != v for u, v in zip(a, b, strict=True))

    def _MetricPrivacy(self, distances: Any) -> dict[str, Any]:
        n, kind = range(self.n), distances
        if isinstance(distances, list):
            kind, content = listed(distances, 2)
        table: list[list[Any]] = [[Fraction(0) for _ in n] for _ in n]
        if kind == "graph":
            table = [[ZERO if i == j else math.inf for j in n] for i in n]
            for edge in listed(content):
                a, b, d = listed(edge, 3)
                i, j, length = self._index(a), self._index(b), real(d)
                need(i != j and length > 0, "an edge")
                table[i][j] = table[j][i] = min(length, table[i][j])
            for z, i, j in product(n, repeat=3):
                table[i][j] = min(table[i][j], table[i][z] + table[z][j])
            return {"distances": table}
        if kind == "matrix":
            for i, row in enumerate(listed(content, self.n)):
                for j, d in enumerate(listed(row, self.n)):
                    table[i][j] = math.inf if d == "inf" else real(d)
            need(all(table[i][j] == table[j][i] >= 0 for i in n for j in n), "distances")
            need(not any(table[i][i] for i in n), "distances")
            return {"distances": table}
        for i, j in permutations(n, 2):
            if kind == "discrete":
                table[i][j] = ONE
            elif kind == "hamming":
                table[i][j] = Fraction(self._differ(i, j))
            elif kind == "absolute":
                self._line()
                table[i][j] = abs(Fraction(self.numbers[i]) - Fraction(self.numbers[j]))
            else:
                need(kind == "euclidean", "a metric")
                a, b = self.numbers[i], self.numbers[j]
                need(isinstance(a, tuple) and isinstance(b, tuple) and len(a) == len(b), "points")
                squares = [(float(u) - float(v)) ** 2 for u, v in zip(a, b, strict=True)]
                table[i][j] = Fraction(math.sqrt(sum(squares)))
        return {"distances": table}

    def _factors(self, levels_of: Any) -> dict[str, Any]:
        known = {}
        for entry in listed(levels_of):
            name, factor = listed(entry, 2)
            need(plain(name) not in known, "a label twice")
            known[plain(name)] = math.inf if factor == "inf" else real(factor)
        need(all(r > 0 for r in known.values()), "a factor")
        need(all(x in known for x, m in zip(self.labels, self.masses, strict=True) if m), "all")
        return {"factors": [known.get(x, math.inf) for x in self.labels]}

    _SymbolPML = _SymbolPMC = _SymbolLIP = _InputDiscriminativeLDP = _factors

    def _ContextAwareLDP(self, levels_of: Any) -> dict[str, Any]:
        pairs = {}
        for entry in listed(levels_of):
            a, b, r = listed(entry, 3)
            pair, factor = (self._index(a), self._index(b)), math.inf if r == "inf" else real(r)
            need(pair not in pairs and pair[0] != pair[1] and factor > 0, "a pair")
            pairs[pair] = factor
        return {"pairs": pairs}

    def _UtilityOptimisedLDP(self, sensitive: Any) -> dict[str, Any]:
        return {"sensitive": once([self._index(x) for x in listed(sensitive)])}

    def _EntryPML(self, entries: Any, low: Any, high: Any) -> dict[str, Any]:
        need(self.labels == list(range(self.n)), "symbols 0 … n")
        need(type(entries) is int and entries == self.n - 1 > 0, "entries")
        low, high = real(low), real(high)
        need(0 <= low <= high <= 1, "chances")
        return {"entries": entries, "low": low, "high": high}

    def _joint(self, table: Any) -> dict[str, Any]:
        live = [x for x in range(self.n) if self.masses[x]]
        names = [one["name"] for one in self.attributes]
        if isinstance(table, str) or (
            table and isinstance(table, list) and all(isinstance(v, str) for v in table)
        ):
            wanted = [table] if isinstance(table, str) else once(table)
            need(set(wanted) <= set(names), "a column that is known")
            places = [names.index(name) for name in wanted]
            whole = [x if len(names) > 1 else (x,) for x in self.labels]
            return {"rows": [{tuple(x[k] for k in places): ONE} for x in whole]}
        known: dict[Any, dict[Any, Fraction]] = {}
        for entry in listed(table):
            name, row = listed(entry, 2)
            pairs = [listed(pair, 2) for pair in listed(row)]
            need(plain(name) not in known, "a label twice")
            once([plain(u) for u, _ in pairs])
            known[plain(name)] = {plain(u): real(c) for u, c in pairs}
        rows = [known.get(x, {}) for x in self.labels]
        need(all(rows[x] for x in live), "a value of every symbol")
        need(
            all(sum(row.values()) > 0 and min(row.values()) >= 0 for row in rows if row), "chances"
        )
        return {"rows": [row or {None: ONE} for row in rows]}

    def _FeaturePML(self, feature: Any) -> dict[str, Any]:
        return self._joint(feature)

    def _ConditionalPML(self, side: Any) -> dict[str, Any]:
        return self._joint(side)

    _FeaturePMC, _ConditionalPMC = _FeaturePML, _ConditionalPML

    def _one_prior(self, given: Any) -> list[Fraction]:
        row: dict[int, Fraction] = {}
        for pair in listed(given):
            name, mass = listed(pair, 2)
            x = self._index(name)
            need(x not in row, "a label twice")
            row[x] = real(mass)
        need(row and min(row.values()) >= 0 and sum(row.values()) == 1, "a prior")
        return [row.get(x, ZERO) for x in range(self.n)]

    def _thetas(self, priors: Any) -> list[list[Fraction]]:
        if priors is None:
            return []
        need(listed(priors), "at least one prior")
        return [self._one_prior(one) for one in priors]

    def _Pufferfish(self, secrets: Any, pairs: Any, priors: Any) -> dict[str, Any]:
        names, rows = [], []
        for entry in listed(secrets):
            name, content = listed(entry, 2)
            row: dict[int, Fraction] = {}
            for pair in listed(content):
                x, chance = self._index(listed(pair, 2)[0]), real(pair[1])
                need(x not in row and 0 <= chance <= 1, "a chance")
                row[x] = chance
            need(row, "a secret of nobody")
            names.append(plain(name))
            rows.append([row.get(x, ZERO) for x in range(self.n)])
        once(names)
        both = [tuple(index(s, names) for s in listed(pair, 2)) for pair in listed(pairs)]
        need(all(a != b for a, b in both), "a secret beside itself")
        return {"secrets": rows, "pairs": both, "thetas": self._thetas(priors)}

    def _ApproximatePufferfish(self, delta: Any, **given: Any) -> dict[str, Any]:
        return {**self._Pufferfish(**given), **self._ApproximateLDP(delta)}

    def _ApproximateLDP(self, delta: Any) -> dict[str, Any]:
        need(0 <= real(delta) <= 1, "delta")
        return {"delta": real(delta)}

    def _RobustPML(self, priors: Any) -> dict[str, Any]:
        kind = listed(priors)[0] if priors else None
        if kind == "vertices":
            rows = self._thetas(listed(priors, 2)[1])
            need(rows, "at least one prior")
            return {"kind": kind, "priors": rows}
        if kind == "ball":
            _, centre, radius = listed(priors, 3)
            need(0 <= real(radius) <= 2, "a radius")
            return {"kind": kind, "centre": self._one_prior(centre), "radius": real(radius)}
        need(kind in ("floor", "box"), "a set of priors")
        if kind == "floor":
            low, high = [real(listed(priors, 2)[1])] * self.n, [ONE] * self.n
        else:
            rows = [listed(row, 3) for row in listed(listed(priors, 2)[1], self.n)]
            order = once([self._index(row[0]) for row in rows])
            low, high = ([real(rows[order.index(x)][k]) for x in range(self.n)] for k in (1, 2))
        need(all(0 <= a <= b <= 1 for a, b in zip(low, high, strict=True)), "ranges")
        need(sum(low) <= 1 <= sum(high), "a set without priors")
        return {"kind": "box", "low": low, "high": high}

    def _InferenceCost(self, costs: Any) -> dict[str, Any]:
        need(listed(costs, self.n) and listed(costs[0]), "costs")
        table = table_of(costs, self.n, len(costs[0]))
        need(min(map(min, table)) >= 0, "costs")
        before = min(
            sum(p * row[w] for p, row in zip(self.masses, table, strict=True))
            for w in range(len(table[0]))
        )
        need(before > 0, "a guess without cost")
        return {"costs": table}

    def _MIPufferfish(self, features: Any, priors: Any) -> dict[str, Any]:
        raise UndecidedError

    def _MIPrivacy(self) -> dict[str, Any]:
        raise UndecidedError


class UndecidedError(Exception):
    """What is not decided here."""


def midpoints(bins: Any) -> dict[Any, float]:
    """Numbers in the place of bins."""
    labels, edges, of = labels_of(bins["labels"]), [], bins.get("of", "numbers")
    need(of in ("numbers", "dates", "year", "quarter", "month", "weekday"), "what bins are of")
    for text in listed(bins["edges"], len(labels) + 1):
        if text in ("inf", "-inf"):
            edges.append(float(text))
        elif of == "dates":
            need(re.fullmatch(r"\d{4}(-\d\d){2}(T\d\d(:\d\d){2}(\.\d{6})?)?", text), "a date")
            time = datetime.datetime.fromisoformat(text)
            seconds = 3600 * time.hour + 60 * time.minute + time.second
            days = time.toordinal() - datetime.date(1970, 1, 1).toordinal()
            edges.append(days + (seconds + Fraction(time.microsecond, 10**6)) / 86400)
        else:
            edges.append(rational(text))
    need(bins["whole"] or of in ("numbers", "dates"), "whole parts of dates")
    need(all(a < b for a, b in pairwise(edges)), "edges that increase")
    need(bins["closed"] in ("left", "right") and type(bins["whole"]) is bool, "bins")
    sides = []
    for k, (low, high) in enumerate(pairwise(edges)):
        if bins["whole"]:
            left = bins["closed"] == "left"
            first = k == 0 and low > -math.inf
            if low > -math.inf:
                low = math.ceil(low) if left or first else math.floor(low) + 1
            if high < math.inf:
                last = k == len(labels) - 1
                high = math.floor(high) if not left or last else math.ceil(high) - 1
        sides.append((float(low), float(high)))
    found = {}
    for k, (low, high) in enumerate(sides):
        if low == -math.inf and high == math.inf:
            low, high = -0.5, 0.5
        elif math.inf in (-low, high):
            beside = k + 1 if low == -math.inf else k - 1
            width = sides[beside][1] - sides[beside][0] if 0 <= beside < len(sides) else math.inf
            width = width if width < math.inf else 1.0
            low, high = (high - width, high) if low == -math.inf else (low, low + width)
        found[labels[k]] = low + (high - low) / 2
    return found if of in ("numbers", "dates", "year") else {}


def keeps(asked: Asked, masses: list[Fraction], columns: list[list[Fraction]]) -> bool | None:
    """Whether a kernel has a notion, in rationals."""
    if asked.name == "RobustPML" and asked.more["kind"] != "vertices":
        opinion = Opinion()
        _robust_faults(asked, columns, opinion)
        return False if opinion.faults else None if opinion.undecided else True
    pairs = pairs_of(asked, masses)
    if pairs is None:
        return True if math.inf in asked.levels else SUMS[asked.name](asked, masses, columns)
    found = True
    for over, under, level in pairs:
        for k in columns:
            left = sum((a * v for a, v in zip(over, k, strict=True) if a and v), ZERO)
            right = sum((b * v for b, v in zip(under, k, strict=True) if b and v), ZERO)
            verdict = at_most(left, min(level, Fraction(LARGEST_LEVEL)), right)
            if verdict is False:
                return False
            found = found and verdict
    return found


def achieved(asked: Asked, said: Any, masses: Any, columns: Any) -> list[bool | None]:
    """Whether each level that is claimed is the least: no lower one is kept, it is."""
    levels = [level_of(word) for word in listed(said, len(asked.levels))]
    rough = bool({"distances", "factors"} & set(asked.more)) or asked.name == "ContextAwareLDP"
    parts = [Asked(asked.name, (v,), asked.more) for v in levels]
    if asked.name == "ALIP":
        parts = [Asked(name, (v,)) for name, v in zip(("PMC", "PML"), levels, strict=True)]
    found = []
    for part in parts:
        (level,) = part.levels
        less = math.nextafter(min(level, 3000.0), 0.0)
        less *= 1 - 1e-12 if rough else 1
        verdicts = [keeps(part, masses, columns)]
        if level > 0:
            below = keeps(Asked(part.name, (less,), part.more), masses, columns)
            verdicts.append(None if below is None else not below)
        found.append(False if False in verdicts else None if None in verdicts else True)
    return found


# Requirements, as limits of sums of entries


Terms = dict[tuple[int, int], Fraction]
Limit = tuple[Terms, Fraction | None, Fraction | None]
REQUIRED_KEYS = {
    "Entry": {"x", "y", "low", "high"},
    "Diagonal": {"limits_of"},
    "Pattern": {"allowed"},
    "Within": {"limit", "distance"},
    "Monotone": set(),
    "Symmetric": {"tolerance"},
    "Rows": {"matrices", "sense", "right", "tolerance", "name"},
    "Cost": {"costs", "limit", "each"},
    "LeastGain": {"gains", "least", "masses", "name"},
    "OutputShare": {"y", "low", "high"},
    "Invariant": {"tolerance"},
    "EqualError": {"groups", "tolerance", "costs"},
    "Unbiased": {"values", "tolerance"},
    "Sums": {"shape", "places", "values", "sense", "right", "tolerance", "name"},
    "EveryOutput": {"coefficients"},
    "Posterior": {"symbols", "low", "high", "relative"},
    "FewOutputs": {"most"},
    "Apart": {"symbols"},
}


class Wishes:
    """What requirements ask of a kernel from some symbols to some outputs."""

    def __init__(self, symbols: Symbols, outputs: list[Any]) -> None:
        self.labels, self.masses, self.outputs = symbols.labels, symbols.masses, outputs
        self.n, self.m = range(symbols.n), range(len(outputs))

    def limits(self, wish: Any) -> list[Limit]:
        name, given = wish["name"], wish["parameters"]
        need(isinstance(name, str) and name in REQUIRED_KEYS, "a requirement")
        need(set(given) == REQUIRED_KEYS[name], "parameters")
        return list(getattr(self, f"_{name}")(**given))

    def _ends(self, terms: Terms, low: Any, high: Any) -> Limit:
        ends = [None if end is None else real(end) for end in (low, high)]
        need(ends != [None, None], "an end")
        need(None in ends or ends[0] <= ends[1], "ends in order")
        return terms, ends[0], ends[1]

    def _near(self, terms: Terms, value: Fraction, tolerance: Any, scale: Fraction = ONE) -> Limit:
        off = Fraction(1e-12 * float(scale)) if tolerance is None else real(tolerance)
        need(off >= 0, "a tolerance")
        return terms, value - off, value + off

    def _table(self, word: Any) -> list[list[Fraction]]:
        return table_of(word, len(self.n), len(self.m))

    def _Entry(self, x: Any, y: Any, low: Any, high: Any) -> Iterator[Limit]:
        rows = self.n if x == [] else [index(x, self.labels)]
        columns = self.m if y == [] else [index(y, self.outputs)]
        for end in (low, high):
            need(end is None or 0 <= real(end) <= 1, "a probability")
        for i, j in product(rows, columns):
            yield self._ends({(i, j): ONE}, low, high)

    def _Diagonal(self, limits_of: Any) -> Iterator[Limit]:
        need(listed(limits_of), "a limit")
        for entry in limits_of:
            name, low, high = listed(entry, 3)
            some = [plain(name)] if name != [] else [v for v in self.labels if v in self.outputs]
            for v in some:
                need(v in self.labels and v in self.outputs, "a label that is known")
                place = self.labels.index(v), self.outputs.index(v)
                yield self._ends({place: ONE}, low, high)

    def _Pattern(self, allowed: Any) -> Iterator[Limit]:
        table = self._table(allowed)
        for i, j in product(self.n, self.m):
            if not table[i][j]:
                yield {(i, j): ONE}, None, ZERO

    def _Within(self, limit: Any, distance: Any) -> Iterator[Limit]:
        most = real(limit)
        need(type(limit) in (int, float) and most >= 0, "a distance")
        if distance is None:
            numbers = {type(v) for v in [*self.labels, *self.outputs]} <= {int, float}
            need(numbers or self.labels == self.outputs, "labels with distances")
            both = (self.labels, self.outputs) if numbers else (self.n, self.n)
            far = [[(0 if a == b else abs(a - b)) > most for b in both[1]] for a in both[0]]
        else:
            far = [[d > most for d in row] for row in self._table(distance)]
        for i, j in product(self.n, self.m):
            if far[i][j]:
                yield {(i, j): ONE}, None, ZERO

    def _Monotone(self) -> Iterator[Limit]:
        for x, y in product(self.n[:-1], self.m[1:]):
            yield {(x + i, z): ONE - 2 * i for i in (0, 1) for z in self.m[y:]}, None, ZERO

    def _Symmetric(self, tolerance: Any) -> Iterator[Limit]:
        need(self.labels == self.outputs, "outputs that are the symbols")
        for x, z in combinations(self.n, 2):
            yield self._near({(x, z): ONE, (z, x): -ONE}, ZERO, tolerance)

    def _Rows(self, matrices: Any, sense: Any, right: Any, tolerance: Any, name: Any) -> Any:
        need(isinstance(name, str) and listed(matrices), "matrices, and a name")
        for word, end in zip(matrices, listed(right, len(matrices)), strict=True):
            table, b = self._table(word), real(end)
            size = max(abs(v) for row in table for v in row) or ONE
            terms = {(i, j): table[i][j] for i, j in product(self.n, self.m) if table[i][j]}
            need(sense in ("<=", ">=", "=="), "a sense")
            yield {
                "<=": (terms, None, b), ">=": (terms, b, None),
                "==": self._near(terms, b, tolerance, size),
            }[sense]  # fmt: skip

    def _Sums(
        self, shape: Any, places: Any, values: Any, sense: Any, right: Any, tolerance: Any,
        name: Any,
    ) -> Iterator[Limit]:  # fmt: skip
        need(listed(shape) == [len(self.n), len(self.m)], "the shape of the kernel")
        need(all(type(v) is int for v in shape) and isinstance(name, str), "a shape, a name")
        need(listed(places) and sense in ("<=", "=="), "sums")
        count = len(places)
        for where, row, end in zip(
            places, listed(values, count), listed(right, count), strict=True
        ):
            if listed(where):
                once(where)
            need(
                all(type(i) is int and 0 <= i < len(self.n) * len(self.m) for i in where), "places"
            )
            amounts, b = [real(v) for v in listed(row, len(where))], real(end)
            terms = {divmod(i, len(self.m)): a for i, a in zip(where, amounts, strict=True) if a}
            size = max(map(abs, terms.values()), default=ONE)
            off = 0 if len(row) == 1 and b == 0 else tolerance
            yield self._near(terms, b, off, size) if sense == "==" else (terms, None, b)

    def _Cost(self, costs: Any, limit: Any, each: Any) -> Iterator[Limit]:
        table, most = self._table(costs), real(limit)
        need(type(each) is bool and type(limit) in (int, float), "a limit of costs")
        if each:
            for x in self.n:
                yield {(x, y): table[x][y] for y in self.m if table[x][y]}, None, most
        else:
            yield self._weighed(table), None, most

    def _weighed(self, table: Any, scales: Any = None) -> Terms:
        scales = self.masses if scales is None else scales
        return {
            (x, y): scales[x] * table[x][y]
            for x, y in product(self.n, self.m)
            if scales[x] * table[x][y]
        }

    def _LeastGain(self, gains: Any, least: Any, masses: Any, name: Any) -> Iterator[Limit]:
        scales = None if masses is None else [real(v) for v in listed(masses, len(self.n))]
        need(isinstance(name, str) and (scales is None or min(scales) >= 0), "masses")
        yield self._weighed(self._table(gains), scales), real(least), None

    def _OutputShare(self, y: Any, low: Any, high: Any) -> Iterator[Limit]:
        j = index(y, self.outputs)
        need(all(0 <= real(end) <= 1 for end in (low, high)), "a share")
        yield self._ends(self._column(j), low, high)

    def _column(self, y: int) -> Terms:
        return {(x, y): m for x, m in enumerate(self.masses) if m}

    def _Invariant(self, tolerance: Any) -> Iterator[Limit]:
        for y, name in enumerate(self.outputs):
            mass = self.masses[self.labels.index(name)] if name in self.labels else ZERO
            yield self._near(self._column(y), mass, tolerance if mass else 0)

    def _EqualError(self, groups: Any, tolerance: Any, costs: Any) -> Iterator[Limit]:
        laws, least = [], len(listed(groups)) >= 2
        need(least, "two groups")
        table = (
            [[Fraction(a != b) for b in self.outputs] for a in self.labels]
            if costs is None
            else self._table(costs)
        )
        for group in groups:
            inside = once([index(x, self.labels) for x in listed(group)])
            total = sum(self.masses[x] for x in inside)
            need(total > 0, "a group with mass")
            law = [self.masses[x] / total if x in inside else ZERO for x in self.n]
            for other in laws:
                between = [a - b for a, b in zip(law, other, strict=True)]
                yield self._near(self._weighed(table, between), ZERO, tolerance)
            laws.append(law)

    def _Unbiased(self, values: Any, tolerance: Any) -> Iterator[Limit]:
        known: dict[Any, Fraction] = {}
        for entry in listed(values):
            name, value = listed(entry, 2)
            need(plain(name) not in known, "a label twice")
            known[plain(name)] = real(value)
        wanted = {*self.labels, *self.outputs}
        need(set(known) == wanted, "a value of every label, and of no other")
        size = max(ONE, *map(abs, known.values()))
        for x, name in enumerate(self.labels):
            terms = {(x, y): known[out] for y, out in enumerate(self.outputs) if known[out]}
            yield self._near(terms, known[name], tolerance, size)

    def _EveryOutput(self, coefficients: Any) -> Iterator[Limit]:
        pairs = [listed(pair, 2) for pair in listed(coefficients)]
        places = once([index(name, self.labels) for name, _ in pairs])
        local = {x: real(a) for x, (_, a) in zip(places, pairs, strict=True)}
        for y in self.m:
            yield {(x, y): a for x, a in local.items() if a}, None, ZERO

    def _Posterior(self, symbols: Any, low: Any, high: Any, relative: Any) -> Iterator[Limit]:
        inside = once([index(x, self.labels) for x in listed(symbols)])
        need(type(relative) is bool and (low, high) != (None, None), "ends")
        unit = sum(self.masses[x] for x in inside) if relative else ONE
        for sign, end in ((1, high), (-1, low)):
            if end is None:
                continue
            edge = real(end) * unit
            local = {x: sign * m * ((x in inside) - edge) for x, m in enumerate(self.masses) if m}
            for y in self.m:
                yield {(x, y): a for x, a in local.items() if a}, None, ZERO

    def _FewOutputs(self, most: Any) -> list[Limit]:
        need(type(most) is int and most > 0, "a number of outputs")
        return []

    def _Apart(self, symbols: Any) -> list[Limit]:
        need(len(once([index(x, self.labels) for x in listed(symbols)])) > 1, "two symbols")
        return []

    def holds(self, wish: Any, rows: list[list[Fraction]]) -> bool:
        limits = self.limits(wish)
        if wish["name"] == "FewOutputs":
            return sum(map(any, zip(*rows, strict=True))) <= wish["parameters"]["most"]
        if wish["name"] == "Apart":
            some = [rows[index(x, self.labels)] for x in wish["parameters"]["symbols"]]
            return all(sum(map(bool, column)) <= 1 for column in zip(*some, strict=True))
        for terms, low, high in limits:
            value = sum((a * rows[x][y] for (x, y), a in terms.items()), ZERO)
            if (low is not None and value < low) or (high is not None and value > high):
                return False
        return True


# Optima by dense programs in floats


def best_of(
    asked: list[Asked], limits: list[Limit], masses: Any, m: int, gains: list[Any], kept: Any = None
) -> float | None:
    """The largest least value of some functions of the entries; ``None`` where there is no kernel.

    ``kept`` are the outputs that may occur.
    """
    told = [one for one in asked if math.inf not in one.levels or one.name == "ALIP"]
    sizes = [[abs(v) for v in (*terms.values(), low, high) if v] for terms, low, high in limits]
    sizes.append([p for p in masses if p])
    levels = [level for one in told for level in one.levels if level < math.inf]
    if any(level > LARGEST_TOLD for level in levels) or any(
        some and max(some) > FAR * min(some) for some in sizes
    ):
        raise UndecidedError  # floats hold no such ratio
    K = cp.Variable((len(masses), m), nonneg=True)
    constraints = constraints_on(K, masses, told, [PlainRow(*limit) for limit in limits])
    if kept is not None:
        constraints.append(K[:, [y for y in range(m) if y not in kept]] == 0)
    values = [cp.sum(cp.multiply(np.array(table), K)) for table in gains] or [0 * K[0, 0]]
    try:
        return largest(cp.minimum(*values) if len(values) > 1 else values[0], constraints)
    except cp.error.SolverError as failure:  # numbers of too many sizes
        raise UndecidedError from failure


# Estimates


def loss_of(utility: Any, n: int) -> list[list[Fraction]]:
    """A = FᵀWF of questions and weights."""
    asked, weights = utility["questions"], utility["weights"]
    need(asked is None or listed(asked), "questions")
    rows = [[ONE * (x == z) for z in range(n)] for x in range(n)]
    rows = rows if asked is None else table_of(asked, len(asked), n)
    count = len(rows)
    if weights is None:
        table = [[ONE * (i == j) for j in range(count)] for i in range(count)]
    elif listed(weights, count) and isinstance(weights[0], list):
        table = table_of(weights, count, count)
        need(all(table[i][j] == table[j][i] for i in range(count) for j in range(i)), "symmetry")
    else:
        table = [[real(w) * (i == j) for j in range(count)] for i, w in enumerate(weights)]
    need(np.linalg.eigvalsh(np.array(table, float)).min() > -1e-9, "weights")
    need(any(map(any, table)), "weights")
    return [
        [
            sum((rows[f][x] * table[f][g] * rows[g][z]
                 for f, g in product(range(count), repeat=2) if table[f][g]), ZERO)
            for z in range(n)
        ]
        for x in range(n)
    ]  # fmt: skip


def truths_of(utility: Any, symbols: Symbols) -> list[list[Fraction]] | str:
    given = utility["truth"]
    if given == "any":
        return "any"
    found = []
    for one in given if isinstance(given, list) else [given]:
        if one is None:
            found.append(symbols.masses)
            continue
        labels, masses = labels_of(one["labels"]), masses_of(one)
        own = symbols.labels if set(labels) == set(symbols.labels) else list(range(symbols.n))
        need(set(labels) == set(own), "a truth over the symbols")
        found.append([masses[labels.index(x)] for x in own])
        live = [bool(m) for m in symbols.masses]
        need([bool(m) for m in found[-1]] == live, "a truth with the same symbols")
    need(found, "a truth")
    return found


def exact_risk_of(rows: Any, truth: list[Fraction], loss: Any) -> Fraction | None:
    """tr(A J⁻¹) − πᵀAπ on live symbols; ``None`` where J is singular."""
    live = [x for x, m in enumerate(truth) if m]
    n, masses = len(live), [truth[x] for x in live]
    table = [[ZERO] * n for _ in live]
    for k in zip(*(rows[x] for x in live), strict=True):
        share = sum((p * v for p, v in zip(masses, k, strict=True)), ZERO)
        for x, z in product(range(n), repeat=2):
            table[x][z] += k[x] * k[z] / share if share else 0

    def matrix(entries: Any) -> Any:
        return fmpq_mat(n, n, [fmpq(v.numerator, v.denominator) for v in entries])

    information = matrix(v for row in table for v in row)
    if information.det() == 0:
        return None
    found = matrix(loss[x][z] for x in live for z in live) * information.inv()
    trace = sum((found[x, x] for x in range(n)), fmpq(0))
    mean = sum((truth[x] * loss[x][z] * truth[z] for x in live for z in live), ZERO)
    return Fraction(int(trace.p), int(trace.q)) - mean


_known: dict[bytes, Any] = {}


def remembered(make: Callable[..., Any], *given: Any) -> Any:
    """The same answer to the same question."""
    key = pickle.dumps((make.__name__, given))
    if key not in _known:
        _known[key] = make(*given)
    return _known[key]


# Claims


Truth = tuple[str, Any]  # a claim, and whether it is true or why it has no meaning


def nearest(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def up(value: Fraction) -> float:
    near = nearest(value)
    return near if near >= value else math.nextafter(near, math.inf)


def near(said: Any, value: float, off: float = 1e-9) -> bool:
    return type(said) in (int, float) and abs(said - value) <= off * abs(value) + 1e-300


def truths(content: File) -> Iterator[Truth]:
    """Every claim of a file in order, with its truth."""
    yield "digest", content["digest"] == digest(content)
    kind = content["kind"]
    maker = {
        "design": _design, "infeasible": _infeasible, "public": _public, "mechanism": _mechanism,
        "plan": _plan, "public plan": _plan,
    }.get(kind)  # fmt: skip
    selections = ("subset selection", "grouped selection", "public selection")
    need(maker or kind in selections, "a kind of file")
    if maker:
        yield from maker(content)


def _tried(claim: str, decide: Callable[[], Any]) -> Truth:
    try:
        return claim, decide()
    except UndecidedError:
        return claim, None
    except (MeaninglessError, *ODD) as wrong:
        return claim, f"{type(wrong).__name__}: {wrong}"


ODD = ArithmeticError, AttributeError, LookupError, TypeError, ValueError, RecursionError


def _kernel(part: Any) -> tuple[list[Truth], list[list[Fraction]]]:
    rows, one = kernel_of(part)
    labels_of(part["inputs"])
    labels_of(part["outputs"])
    claims: list[Truth] = [
        ("weights", all(w >= 0 for row in rows for w in row)),
        ("rows", all(sum(row) == one for row in rows)),
    ]
    return claims, [[Fraction(w, one) for w in row] for row in rows]


def _prior(part: Any) -> tuple[Truth, Symbols]:
    labels, masses = labels_of(part["labels"]), masses_of(part)
    same = json.dumps(part["probabilities"]) == json.dumps([float(m) for m in masses])
    attributes = part.get("attributes")
    if attributes is not None:
        names = once([one["name"] for one in listed(attributes)])
        need(all(isinstance(name, str) for name in names), "names")
        fits = (isinstance(x, tuple) and len(x) == len(names) for x in labels)
        need(len(names) == 1 or all(fits), "labels of all columns")
    return ("probabilities", same), Symbols(labels, masses, attributes)


def _notions(content: File, symbols: Symbols, rows: Any, saved: Any) -> Iterator[Truth]:
    columns = list(map(list, zip(*rows, strict=True)))
    verdicts = []
    for k, notion in enumerate(listed(content["notions"])):
        claim = _tried("privacy", lambda n=notion: keeps(symbols.asked(n), symbols.masses, columns))
        verdicts.append(claim[1])
        yield claim
        if saved is not None:
            yield from _achieved(symbols, notion, saved["achieved"][k], columns)
    if saved is not None:
        yes = saved["verdicts"] == ["yes"] * len(content["notions"])
        bad = False in verdicts or not yes
        yield "verdicts", False if bad else True if all(v is True for v in verdicts) else None


def _achieved(symbols: Symbols, notion: Any, said: Any, columns: Any) -> list[Truth]:
    found = _tried(
        "achieved", lambda: achieved(symbols.asked(notion), said, symbols.masses, columns)
    )[1]
    if isinstance(found, list):
        return [("achieved", truth) for truth in found]
    return [("achieved", found)] * (len(said) if isinstance(said, list) else 1)


def _design(content: File) -> Iterator[Truth]:
    saved, utility = content["certificate"], content["utility"]
    claim, symbols = _prior(content["prior"])
    yield claim
    claims, rows = _kernel(content["mechanism"])
    yield from claims
    if False in [truth for _, truth in claims]:
        return  # what is no kernel has no value
    need(labels_of(content["mechanism"]["inputs"]) == symbols.labels, "the same symbols")
    same = content["mechanism"].get("attributes") == content["prior"].get("attributes")
    need(same, "the same columns")
    yield from _notions(content, symbols, rows, saved)
    outputs = labels_of(content["mechanism"]["outputs"])
    space = Wishes(symbols, outputs)
    for wish in content.get("requirements", []):
        if wish["name"] in REQUIRED_KEYS:
            yield _tried("requirement", lambda w=wish: space.holds(w, rows))
        else:
            yield "requirement", None
    if saved["repair"]["constant"]:
        yield "constant", all(row == rows[0] for row in rows)
    yield _tried("fingerprint", lambda: saved["fingerprint"] == fingerprint(content))
    if utility.keys() & {"gains", "parts"}:
        yield from _linear(content, symbols, rows, space)
    elif "questions" in utility:
        yield from _estimates(content, symbols, rows)


def _functions(utility: Any, symbols: Symbols, m: int) -> list[tuple[list[Fraction], Any, Any]]:
    """Scales, gains and goal of each linear function."""
    need(("gains" in utility) != ("parts" in utility), "a utility of one kind")
    if "gains" in utility:
        return [(symbols.masses, table_of(utility["gains"], symbols.n, m), None)]
    found = []
    need(type(utility["each"]) is bool, "each")
    for part in listed(utility["parts"]):
        gains, scales = table_of(part["utility"]["gains"], symbols.n, m), symbols.masses
        if part["prior"] is not None:
            _, use = _prior(part["prior"])
            need(set(use.labels) == set(symbols.labels), "a prior of use over the symbols")
            scales = [use.masses[use.labels.index(x)] for x in symbols.labels]
            live = all(p or not q for p, q in zip(symbols.masses, scales, strict=True))
            need(live, "use where there is mass")
        weight = real(part["weight"])
        need(weight > 0, "a weight")
        goal = None if part["goal"] is None else weight * real(part["goal"])
        if utility["each"]:
            need(len(utility["parts"]) == 1, "one part")
            units = [[ONE * (x == z) for z in range(symbols.n)] for x in range(symbols.n)]
            return [(units[x], gains, None) for x in range(symbols.n) if symbols.masses[x]]
        found.append(([weight * q for q in scales], gains, goal))
    need(found, "a part")
    return found


def _linear(content: File, symbols: Symbols, rows: Any, space: Wishes) -> Iterator[Truth]:
    saved, m = content["certificate"], len(rows[0])
    try:
        functions = _functions(content["utility"], symbols, m)
    except (MeaninglessError, *ODD) as wrong:
        for claim in ("value", "value_exact", "bound", "gap", "optimal"):
            yield claim, f"utility: {wrong}"
        return
    entries = list(product(range(symbols.n), range(m)))
    values = [sum((s[x] * u[x][y] * rows[x][y] for x, y in entries), ZERO) for s, u, _ in functions]
    value = min(values)
    for (_, _, goal), own in zip(functions, values, strict=True):
        if goal is not None:
            yield "goal", own >= goal
    live = [[r for q, r in zip(s, u, strict=True) if q] for s, u, _ in functions]
    sums = [sum(s, ZERO) for s, _, _ in functions]
    tops = [t * max(map(max, r)) for t, r in zip(sums, live, strict=True)]
    lows = [t * min(map(min, r)) for t, r in zip(sums, live, strict=True)]
    width, said = min(tops) - min(lows), real(saved["value"])
    yield "value", said == nearest(value)
    yield _tried("value_exact", lambda: words(saved["value_exact"]) == value)
    bound, told = math.inf, saved["bound"]
    if saved["bound_exact"] is not None:
        bound = words(saved["bound_exact"])
        yield "bound, rounded", told in (max(up(bound), nearest(value)), max(up(bound), said))
    else:
        yield "bound, rounded", told == "inf"
    best, largest = None, max(max(map(abs, tops + lows)), width)
    off = Fraction(OFF) * width + largest / 10**15
    try:
        key = (content["notions"], content.get("requirements", []), content["prior"],
               content["utility"], content["mechanism"]["outputs"])  # fmt: skip
        best = remembered(_best_value, *key)
    except UndecidedError:
        best = None
    except (MeaninglessError, *ODD) as wrong:
        yield "bound", f"{type(wrong).__name__}: {wrong}"
        return
    is_bound = None if best is None else bound == math.inf or bound >= best - off
    yield "bound", False if bound < value else is_bound
    gap = math.inf if saved["gap"] == "unknown" else saved["gap"]

    def share(top: Any) -> float:
        if top <= value:
            return 0.0
        return up((top - value) / width) if width and top < math.inf else math.inf

    yield "gap", share(bound) == gap
    yield "gap", None if best is None else not gap < (best - value - off) / (width or 1)
    good = best is None or not saved["optimal"] or best - value <= off + width / 10**6
    yield "optimal", saved["optimal"] is (gap <= 1e-6) and good
    if saved["gain_gap"] is not None and len(functions) == 1 and not content.get("requirements"):
        scales, gains, _ = functions[0]
        middle = max(
            sum(s * row[y] for s, row in zip(scales, gains, strict=True)) for y in range(m)
        )
        if bound - middle > width / 10**6 and bound < math.inf:
            true = float((bound - value) / (bound - middle))
            yield "gain_gap", abs(saved["gain_gap"] - true) <= 1e-6 * true + 1e-12


def words(text: Any) -> Fraction:
    return rational(text) if isinstance(text, str) else real(text)


def _best_value(
    notions: Any, wishes: Any, prior: Any, utility: Any, outputs: Any
) -> Fraction | None:
    """The largest value of kernels with all that is asked, by dense programs."""
    symbols = Symbols(labels_of(prior["labels"]), masses_of(prior), prior.get("attributes"))
    outs, named = list(map(label, outputs)), [w for w in wishes if w["name"] in REQUIRED_KEYS]
    asked, space = [symbols.asked(one) for one in notions], Wishes(symbols, outs)
    functions, m = _functions(utility, symbols, len(outs)), len(outs)
    if len(named) < len(wishes):
        return None  # what is not known here may ask anything
    if any(wish["name"] == "Apart" for wish in named):
        return None
    limits = [limit for wish in named for limit in space.limits(wish)]
    # In units of the gains above the least, so that they are near one.
    tables = [[[s * u for u in row] for s, row in zip(scales, gains, strict=True)]
              for scales, gains, _ in functions]  # fmt: skip
    bases = [sum(min(row) for row in table) for table in tables]
    unit = max(max(max(row) - min(row) for row in table) for table in tables) or ONE
    rows = [[[(v - min(row)) / unit for v in row] for row in table] for table in tables]
    base = min(bases)
    for (_, _, goal), table, low in zip(functions, rows, bases, strict=True):
        if goal is not None:
            terms = {(x, y): v for x, row in enumerate(table) for y, v in enumerate(row) if v}
            limits.append((terms, (goal - low) / unit, None))
    shifted = [
        np.array(t, float) + float((b - base) / unit) / symbols.n
        for t, b in zip(rows, bases, strict=True)
    ]
    few = [w["parameters"]["most"] for w in named if w["name"] == "FewOutputs"]
    choices = [None] if not few or min(few) >= m else list(combinations(range(m), min(few)))
    found = [best_of(asked, limits, symbols.masses, m, shifted, kept) for kept in choices]
    most = max((one for one in found if one is not None), default=None)
    return None if most is None else base + Fraction(most) * unit


def _estimates(content: File, symbols: Symbols, rows: Any) -> Iterator[Truth]:
    saved, utility = content["certificate"], content["utility"]
    if saved["value"] == "-inf":
        return  # a question has no estimate
    said, names = real(saved["value"]), ("value", "bound", "gap", "optimal")
    try:
        loss, truths = loss_of(utility, symbols.n), truths_of(utility, symbols)
        if utility["answers"] is not None:
            labels_of(utility["answers"])
            need(len(utility["answers"]) == len(utility["questions"]), "a name of each answer")
    except (MeaninglessError, *ODD) as wrong:
        yield from [(name, f"utility: {wrong}") for name in names]
        return
    value = None
    if isinstance(truths, list):
        risks = [remembered(exact_risk_of, rows, truth, loss) for truth in truths]
        value = None if None in risks else -max(risks)
        # A double at or below it, by at most a share of 2^-40.
        near = abs(value or 0) / 2**40 + Fraction(5e-324)
        yield "value", None if value is None else said <= value <= said + near
        if saved["value_exact"] is not None:
            yield _tried("value_exact", lambda: words(saved["value_exact"]) == value)
    bound, gap = math.inf, math.inf if saved["gap"] == "unknown" else saved["gap"]
    if saved["bound_exact"] is not None:
        bound = words(saved["bound_exact"])
        yield "bound, rounded", saved["bound"] == max(up(bound), float(said))
    else:
        yield "bound, rounded", saved["bound"] == "inf"
    yield "bound", None  # no better kernel is looked for here
    if bound < math.inf and said:
        yield "gap", gap == (up((bound - said) / abs(said)) if bound > said else 0.0)
    yield "optimal", saved["optimal"] is (gap <= 1e-6)
    yield "gain_gap", saved["gain_gap"] is None


def _infeasible(content: File) -> Iterator[Truth]:
    yield _prior(content["prior"])[0]
    labels_of(content["outputs"])
    key = content["notions"], content["requirements"], content["prior"], content["outputs"]
    yield _tried("infeasible", lambda: remembered(_has_none, *key))


def _has_none(notions: Any, wishes: Any, prior: Any, outputs: Any) -> bool | None:
    symbols = Symbols(labels_of(prior["labels"]), masses_of(prior), prior.get("attributes"))
    asked, space = (
        [symbols.asked(one) for one in notions],
        Wishes(symbols, list(map(label, outputs))),
    )
    if not {wish["name"] for wish in wishes} <= set(REQUIRED_KEYS):
        return None
    limits = [limit for wish in wishes for limit in space.limits(wish)]
    found = best_of(asked, limits, symbols.masses, len(outputs), [])
    return None if found is None else False


WITHOUT_PRIOR = {
    "LDP", "FreeLunch", "DP", "ApproximateLDP", "MetricPrivacy", "InputDiscriminativeLDP",
    "ContextAwareLDP", "UtilityOptimisedLDP", "RobustPML", "EntryPML",
}  # fmt: skip


def _public(content: File) -> Iterator[Truth]:
    claims, rows = _kernel(content["mechanism"])
    yield from claims
    labels = labels_of(content["mechanism"]["inputs"])
    symbols = Symbols(labels, [Fraction(1, len(labels))] * len(labels),
                      content["mechanism"].get("attributes"))  # fmt: skip
    columns = list(map(list, zip(*rows, strict=True)))
    for notion in listed(content["notions"]):
        own = notion["name"] in WITHOUT_PRIOR or notion["parameters"].get("priors") is not None
        yield _tried(
            "privacy",
            lambda n=notion, own=own: (
                keeps(symbols.asked(n), symbols.masses, columns) if own else "no prior"
            ),
        )
    for _ in content.get("stated", []):
        yield "privacy", "stated alone"
    if not content["notions"] and not content.get("stated"):
        yield "privacy", "no notion"
    yield _tried("fingerprint", lambda: content["fingerprint"] == fingerprint(content))
    if "questions" in content or "answers" in content:
        need(len(labels_of(content["answers"])) == len(content["questions"]), "answers")
        table = table_of(content["questions"], len(content["answers"]), len(labels))
        need(all(not v or 1e-60 <= abs(v) <= 1e60 for row in table for v in row), "questions")


def _mechanism(content: File) -> Iterator[Truth]:
    need(not content.keys() & {"prior", "notions", "stated", "utility", "certificate"}, "claims")
    claims, _ = _kernel(content["mechanism"])
    yield from claims


def _plan(content: File) -> Iterator[Truth]:
    kind = "public" if content["kind"] == "public plan" else "design"
    names = once([part["name"] for part in listed(content["columns"])])
    need(len(names) > 1 and all(isinstance(name, str) for name in names), "columns")
    files, kernels = [part[kind] for part in content["columns"]], []
    for name, own in zip(names, files, strict=True):
        need(own["kind"] == kind and own["format"] == "mechdesign", "files of columns")
        yield from ((f"{name}: {claim}", truth) for claim, truth in truths(own))
        rows, one = kernel_of(own["mechanism"])
        inputs = labels_of(own["mechanism"]["inputs"])
        kernels.append(
            dict(zip(inputs, [[Fraction(w, one) for w in r] for r in rows], strict=True))
        )
    notion, needs = content["total"], content["total"]["name"] not in WITHOUT_PRIOR
    labels, masses = list(product(*kernels)), None
    if content.get("prior") is not None:
        claim, everybody = _prior(content["prior"])
        yield claim
        need([one["name"] for one in content["prior"]["attributes"]] == names, "its columns")
        for place, own in enumerate(files):
            alone = dict(
                zip(labels_of(own["prior"]["labels"]), masses_of(own["prior"]), strict=True)
            )
            sums: dict[Any, Fraction] = {}
            for x, mass in zip(everybody.labels, everybody.masses, strict=True):
                sums[x[place]] = sums.get(x[place], ZERO) + mass
            yield f"{names[place]}: prior", sums == alone
        live = [(x, p) for x, p in zip(everybody.labels, everybody.masses, strict=True) if p]
        if needs:
            labels, masses = [x for x, _ in live], [p for _, p in live]
    if needs and masses is None:
        yield "privacy", "no prior"
        return
    if len(labels) * math.prod(len(next(iter(k.values()))) for k in kernels) > 4000:
        return
    masses = masses or [Fraction(1, len(labels))] * len(labels)
    rows = [
        [math.prod(c) for c in product(*(k[v] for k, v in zip(kernels, x, strict=True)))]
        for x in labels
    ]
    columns, symbols = list(map(list, zip(*rows, strict=True))), Symbols(labels, masses)
    yield _tried("privacy", lambda: keeps(symbols.asked(notion), masses, columns))
    if content.get("achieved") is not None:
        yield from _achieved(symbols, notion, content["achieved"], columns)


def faults(content: Any, claims: list[dict[str, str]], state: str) -> list[str]:
    """What is said to be proved of a file and is not true."""
    found: list[str] = []
    proved: dict[str, list[bool]] = {}
    for fact in claims:
        proved.setdefault(_key(fact["claim"]), []).append(fact["state"] == "proved")
    told: dict[str, int] = {}
    try:
        facts = list(truths(content))
    except (MeaninglessError, *ODD) as wrong:
        is_claimed = state == "proved" or any(
            any(proved.get(key, ())) for key in ("privacy", "value", "bound", "infeasible")
        )
        return [f"no meaning: {type(wrong).__name__}: {wrong}"] if is_claimed else []
    for claim, truth in facts:
        place = told.setdefault(claim, 0)
        told[claim] += 1
        said = proved.get(claim, [])
        is_proved = said[min(place, len(said) - 1)] if said else state == "proved"
        if isinstance(truth, str) and claim not in ("privacy", "requirement"):
            is_proved = state == "proved"
        if is_proved and truth is not None and truth is not True:
            found.append(f"{claim} is {truth}")
    return found


def _key(claim: str) -> str:
    """The claim without the parameters in it."""
    head, colon, rest = claim.partition(": ")
    if head in ("privacy", "achieved", "requirement"):
        return head
    if colon:
        return f"{head}: {_key(rest)}"
    return "goal" if claim.startswith("goal ") else claim


# Trials


class TooLongError(Exception):
    """Work that was not bounded."""


#: Seconds of the processor after which no end is awaited.
NO_END = 20.0


def limited(seconds: float, work: Callable[[], Any]) -> Any:
    """What work returns; raises :class:`TooLongError` once it has taken too long."""

    def stop(*_: Any) -> None:
        raise TooLongError

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        return work()
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


#: What the checker may prove though the package does not read it, with the reasons.
STRICTER = (
    ("the file claims (a bound|bound|gap|gain_gap|optimal)", "it wants the bound that it computes"),
    ("the file claims achieved", "and of levels that are rough the one that it finds"),
    ("(rows|columns|values|duals) stands there otherwise", "and matrices in the order it writes"),
)


class Trial(NamedTuple):
    """What checker and reader say of a forgery, and what is wrong with that."""

    state: str
    is_read: bool
    faults: list[str]
    seconds: float = 0.0  # of the processor, for the checker


def tried(forgery: Forgery, checker: Any, path: Path) -> Trial:
    """A forgery is judged, checked and read."""
    import mechdesign as md
    from mechdesign.errors import StorageError

    data = forgery.data
    claims: list[dict[str, str]] = []
    why, begin = "", time.process_time()
    try:
        report = limited(NO_END, lambda: checker.check(data))
        state, claims = report.state, report.claims
    except checker.UnreadableError as wrong:
        state, why = "unreadable", str(wrong)
    except TooLongError:
        return Trial("endless", False, ["no end"])
    except Exception as wrong:
        return Trial("crash", False, [f"crash: {type(wrong).__name__}: {wrong}"])
    seconds = time.process_time() - begin
    found = faults(forgery.content, claims, state) if claims else []
    path.write_bytes(data)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            limited(NO_END, lambda: md.load(path))
        is_read, told = True, ""
    except StorageError as wrong:
        is_read, told = False, str(wrong).removeprefix(f"{path}: ")
    except TooLongError:
        is_read, told = False, "no end"
        found.append("the reader finds no end")
    except Exception as wrong:
        is_read, told = False, f"{type(wrong).__name__}: {wrong}"
        found.append(f"the reader ends with {told}")
    known = any(re.match(pattern, told) for pattern, _ in STRICTER)
    known = known or any(re.search(rf"\(ValueError: {pattern}", told) for pattern, _ in STRICTER)
    if state == "proved" and not is_read and not known:
        found.append(f"proved, but not read: {told}")
    if is_read and state in ("refuted", "unreadable"):
        bad = [fact["claim"] for fact in claims if fact["state"] == "refuted"]
        found.append(f"read, but {state}: {why or bad}")
    return Trial(state, is_read, found, seconds)

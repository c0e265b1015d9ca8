"""Random designs over every registered notion and every kind of utility, hostile numbers first.

Each one comes as what the package is called with, and as plain numbers for :mod:`plain_check`.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, permutations
from typing import Any

import numpy as np
from numpy.random import Generator
from plain_check import Asked, Claim, Opinion, check

import mechdesign as md
from mechdesign.errors import (
    DisclosureWarning,
    GapWarning,
    MechdesignError,
    NoMethodError,
    ZeroMassWarning,
)
from mechdesign.privacy import NOTIONS

#: Chance of a symbol without mass, in priors that have such symbols.
EMPTY = 0.3


@dataclass(frozen=True)
class Asking:
    """A design to be asked for, and how to write it down.

    Attributes
    ----------
    masses : numbers handed to ``Prior.from_counts``, with ``labels``
    utility, privacy : as handed to ``design``
    asked : the same notions in plain numbers
    gains : of a linear utility, in the order of labels and outputs, else ``None``
    information : the name of a sub-convex one in :mod:`plain_check`, else ``None``
    code : what the call looks like
    """

    masses: list[float]
    labels: list[Any] | None
    utility: Any
    privacy: Any
    asked: tuple[Asked, ...]
    gains: Any
    information: str | None
    outputs: Any
    code: str

    @property
    def prior(self) -> md.Prior:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ZeroMassWarning)
            return md.Prior.from_counts(self.masses, self.labels)


# Priors and levels


def random_masses(rng: Generator, n: int) -> list[float]:
    """n masses, rare ones down to 1e-30 among them, sometimes none at all."""
    kind = rng.integers(6)
    if kind == 0:
        masses = rng.dirichlet(np.ones(n))
    elif kind == 1:
        masses = np.full(n, 1 / n)
    elif kind == 2:
        masses = 10.0 ** rng.uniform(-30, 0, n)
    elif kind == 3:
        masses = 10.0 ** -rng.integers(0, 31, n).astype(float)
    elif kind == 4:
        masses = rng.dirichlet(np.ones(n))
        masses[rng.integers(n)] = 10.0 ** -rng.uniform(1, 30)
    else:
        masses = rng.integers(1, 30, n).astype(float)
    masses = masses / masses.sum()
    if rng.random() < 0.1:
        masses[rng.random(n) < EMPTY] = 0.0
        if not masses.any():
            masses[0] = 1.0
    return [float(m) for m in masses]


def random_level(rng: Generator) -> float:
    """Usual levels, tiny ones from 1e-14 on, huge ones, none and infinite."""
    kind = rng.random()
    if kind < 0.5:
        return round(float(rng.uniform(0.05, 5)), 3)
    if kind < 0.8:
        return float(10 ** rng.uniform(-14, math.log10(30)))
    if kind < 0.9:
        return float(rng.choice([0.0, 1e-14, 1e-9, 30.0, math.inf, math.log(2)]))
    return float(rng.choice([700.0, 709.0, 710.0, 745.0, 746.0, 1000.0, 2000.0]))


# Notions: each maker gives the notion, its plain form, and how it is written


Made = tuple[Any, Asked, str]


def _simple(name: str, levels: int = 1) -> Callable[[Generator, int, list[float]], Made]:
    def make(rng: Generator, n: int, masses: list[float]) -> Made:
        values = tuple(random_level(rng) for _ in range(levels))
        return _made(name, values)

    return make


def _made(name: str, levels: tuple[float, ...], call: Any = (), **more: Any) -> Made:
    notion = getattr(md, name)(*levels, *call)
    written = ", ".join([*map(_number, levels), *map(_written, call)])
    return notion, Asked(name, levels, more), f"md.{name}({written})"


def _number(value: float) -> str:
    return "math.inf" if value == math.inf else repr(value)


def _written(value: Any) -> str:
    if isinstance(value, md.Prior):
        return f"md.Prior.from_counts({list(value.weights)!r})"
    if isinstance(value, list):
        return "[" + ", ".join(map(_written, value)) + "]"
    if isinstance(value, tuple):
        return "(" + ", ".join(map(_written, value)) + ",)"
    if isinstance(value, float):
        return _number(value)
    return repr(value)


def _theta(rng: Generator, n: int, support: list[int]) -> md.Prior:
    counts = [0] * n
    for x in support:
        counts[x] = int(rng.integers(1, 30))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ZeroMassWarning)
        return md.Prior.from_counts(counts)


def _thetas(rng: Generator, n: int, masses: list[float]) -> Any:
    if rng.random() < 0.6:
        return None, None
    support = [x for x, m in enumerate(masses) if m] if rng.random() < 0.7 else list(range(n))
    priors = [_theta(rng, n, support) for _ in range(int(rng.integers(1, 3)))]
    return priors, [[Fraction(w, q.total) for w in q.weights] for q in priors]


def _dp(rng: Generator, n: int, masses: list[float]) -> Made:
    level = (random_level(rng),)
    kind = rng.integers(3)
    if kind == 0:
        return _made("DP", level, ("adjacent",), pairs=[(x, x + 1) for x in range(n - 1)])
    every = list(combinations(range(n), 2))
    if kind == 1 or not every:
        return _made("DP", level, ("all",), pairs=every)
    some = [pair for pair in every if rng.random() < 0.5] or every[:1]
    return _made("DP", level, (some,), pairs=some)


def _metric(rng: Generator, n: int, masses: list[float]) -> Made:
    level = (random_level(rng),)
    kind = rng.integers(3)
    if kind == 0:
        table = [[Fraction(abs(a - b)) for b in range(n)] for a in range(n)]
        return _made("MetricPrivacy", level, ("absolute",), distances=table)
    if kind == 1:
        table = [[Fraction(int(a != b)) for b in range(n)] for a in range(n)]
        return _made("MetricPrivacy", level, ("discrete",), distances=table)
    lengths = np.round(rng.uniform(0.1, 3, (n, n)), 2)
    lengths[rng.random((n, n)) < 0.2] = math.inf
    lengths = np.triu(lengths, 1) + np.triu(lengths, 1).T
    given = [[float(v) for v in row] for row in lengths]
    return _made("MetricPrivacy", level, (given,), distances=given)


def _some_factors(rng: Generator, n: int) -> list[float]:
    found = rng.choice([0.25, 0.5, 1.0, 1.0, 2.0, 3.7, math.inf], n)
    return [float(r) for r in found]


def _by_symbol(name: str) -> Callable[[Generator, int, list[float]], Made]:
    def make(rng: Generator, n: int, masses: list[float]) -> Made:
        factors = _some_factors(rng, n)
        return _made(name, (random_level(rng),), (factors,), factors=factors)

    return make


def _context(rng: Generator, n: int, masses: list[float]) -> Made:
    every = list(permutations(range(n), 2))
    pairs = {
        pair: r
        for pair, r in zip(every, _some_factors(rng, len(every)), strict=True)
        if rng.random() < 0.6
    }
    given = [(a, b, r) for (a, b), r in pairs.items()]
    return _made("ContextAwareLDP", (random_level(rng),), (given,), pairs=pairs)


def _sensitive(rng: Generator, n: int, masses: list[float]) -> Made:
    some = [x for x in range(n) if rng.random() < 0.5] or [int(rng.integers(n))]
    return _made("UtilityOptimisedLDP", (random_level(rng),), (some,), sensitive=some)


def _entry(rng: Generator, n: int, masses: list[float]) -> Made:
    low = float(rng.choice([0.0, 0.1, 0.25, 0.3, 0.5]))
    high = float(rng.choice([0.5, 0.75, 1.0])) if rng.random() < 0.5 else None
    call = (max(n - 1, 1), low) if high is None else (max(n - 1, 1), low, high)
    top = 1 - Fraction(low) if high is None else Fraction(high)
    return _made(
        "EntryPML",
        (random_level(rng),),
        call,
        entries=max(n - 1, 1),
        low=Fraction(low),
        high=top,
    )


def _table(rng: Generator, n: int) -> tuple[dict[int, Any], list[dict[Any, Any]]]:
    """A feature by symbol: a value, or chances of a few."""
    values = int(rng.integers(1, 4))
    given: dict[int, Any] = {}
    for x in range(n):
        if rng.random() < 0.7:
            given[x] = int(rng.integers(values))
        else:
            given[x] = {v: int(rng.integers(1, 9)) for v in range(values) if rng.random() < 0.7}
            given[x] = given[x] or {0: 1}
    return given, [row if isinstance(row, dict) else {row: 1} for row in given.values()]


def _of_table(name: str) -> Callable[[Generator, int, list[float]], Made]:
    def make(rng: Generator, n: int, masses: list[float]) -> Made:
        given, rows = _table(rng, n)
        return _made(name, (random_level(rng),), (given,), rows=rows)

    return make


def _secrets(rng: Generator, n: int) -> tuple[dict[str, Any], list[list[Fraction]], list[Any]]:
    count = int(rng.integers(2, 4))
    given: dict[str, Any] = {}
    rows = []
    for s in range(count):
        inside = [x for x in range(n) if rng.random() < 0.5] or [int(rng.integers(n))]
        if rng.random() < 0.7:
            given[f"s{s}"] = inside
            chances = {x: Fraction(1) for x in inside}
        else:
            given[f"s{s}"] = {x: int(rng.integers(1, 5)) / 4 for x in inside}
            chances = {x: Fraction(c) for x, c in given[f"s{s}"].items()}
        rows.append([chances.get(x, Fraction(0)) for x in range(n)])
    return given, rows, list(combinations(range(count), 2))


def _pufferfish(rng: Generator, n: int, masses: list[float]) -> Made:
    given, rows, pairs = _secrets(rng, n)
    priors, thetas = _thetas(rng, n, masses)
    call = (given,) if priors is None else (given, None, priors)
    return _made("Pufferfish", (random_level(rng),), call, secrets=rows, pairs=pairs, thetas=thetas)


def _robust(rng: Generator, n: int, masses: list[float]) -> Made:
    level = random_level(rng)
    kind = rng.integers(4)
    number = _number(level)
    if kind == 0:
        priors = [_theta(rng, n, list(range(n))) for _ in range(int(rng.integers(1, 4)))]
        rows = [[Fraction(w, q.total) for w in q.weights] for q in priors]
        return _made("RobustPML", (level,), (priors,), kind="vertices", priors=rows)
    if kind == 1:
        least = float(rng.choice([0.0, 0.01, 0.1])) if n < 10 else 0.0
        notion = md.RobustPML.floor(level, least)
        more = {"kind": "box", "low": [Fraction(least)] * n, "high": [Fraction(1)] * n}
        return notion, Asked("RobustPML", (level,), more), f"md.RobustPML.floor({number}, {least})"
    weights = rng.integers(1, 20, n)
    total = int(weights.sum())
    if kind == 2:
        ranges = {
            x: (round(float(w / total * 0.5), 4), min(round(float(w / total * 1.7), 4), 1.0))
            for x, w in enumerate(weights)
        }
        notion = md.RobustPML.box(level, ranges)
        low, high = ([Fraction(r[i]) for r in ranges.values()] for i in (0, 1))
        more = {"kind": "box", "low": low, "high": high}
        return notion, Asked("RobustPML", (level,), more), f"md.RobustPML.box({number}, {ranges})"
    centre, radius = [int(w) for w in weights], round(float(rng.choice([0.0, 0.1, 0.5, 1.5])), 3)
    notion = md.RobustPML.ball(level, md.Prior.from_counts(centre), radius)
    more = {
        "kind": "ball",
        "centre": [Fraction(w, total) for w in centre],
        "radius": Fraction(radius),
    }
    code = f"md.RobustPML.ball({number}, md.Prior.from_counts({centre}), {radius})"
    return notion, Asked("RobustPML", (level,), more), code


def _mi_pufferfish(rng: Generator, n: int, masses: list[float]) -> Made:
    tables, given = [], []
    for _ in range(int(rng.integers(1, 3))):
        public = rng.random() < 0.5
        rows = [(int(rng.integers(2)), int(rng.integers(2)) if public else 0) for _ in range(n)]
        tables.append(rows)
        given.append(dict(enumerate(rows)))
    priors, thetas = _thetas(rng, n, masses)
    call = (given,) if priors is None else (given, priors)
    return _made("MIPufferfish", (random_level(rng),), call, tables=tables, thetas=thetas)


def _delta(rng: Generator) -> float:
    return float(rng.choice([0.0, 1e-9, 0.01, 0.1, 0.3, 1.0]))


def _approximate_ldp(rng: Generator, n: int, masses: list[float]) -> Made:
    delta = _delta(rng)
    return _made("ApproximateLDP", (random_level(rng),), (delta,), delta=delta)


def _inference(rng: Generator, n: int, masses: list[float]) -> Made:
    costs = rng.uniform(0.1, 3, (n, int(rng.integers(1, 4)))).round(3).tolist()
    return _made("InferenceCost", (random_level(rng),), (costs,), costs=costs)


def _approximate_pufferfish(rng: Generator, n: int, masses: list[float]) -> Made:
    given, rows, pairs = _secrets(rng, n)
    delta = _delta(rng)
    return _made(
        "ApproximatePufferfish",
        (random_level(rng),),
        (delta, given),
        delta=delta,
        secrets=rows,
        pairs=pairs,
        thetas=None,
    )


_MAKERS: dict[str, Callable[[Generator, int, list[float]], Made]] = {
    "PML": _simple("PML"),
    "PMC": _simple("PMC"),
    "LIP": _simple("LIP"),
    "ALIP": _simple("ALIP", 2),
    "LDP": _simple("LDP"),
    "FreeLunch": _simple("FreeLunch"),
    "DP": _dp,
    "MetricPrivacy": _metric,
    "SymbolPML": _by_symbol("SymbolPML"),
    "SymbolPMC": _by_symbol("SymbolPMC"),
    "SymbolLIP": _by_symbol("SymbolLIP"),
    "InputDiscriminativeLDP": _by_symbol("InputDiscriminativeLDP"),
    "ContextAwareLDP": _context,
    "UtilityOptimisedLDP": _sensitive,
    "EntryPML": _entry,
    "FeaturePML": _of_table("FeaturePML"),
    "FeaturePMC": _of_table("FeaturePMC"),
    "ConditionalPML": _of_table("ConditionalPML"),
    "ConditionalPMC": _of_table("ConditionalPMC"),
    "Pufferfish": _pufferfish,
    "RobustPML": _robust,
    "MaximalLeakage": _simple("MaximalLeakage"),
    "MaximalCostLeakage": _simple("MaximalCostLeakage"),
    "MIPrivacy": _simple("MIPrivacy"),
    "MIPufferfish": _mi_pufferfish,
    "InferenceCost": _inference,
    "ApproximateLDP": _approximate_ldp,
    "ApproximatePufferfish": _approximate_pufferfish,
}


def _asking(
    make: Callable[[Generator, int, list[float]], Made],
) -> Callable[[Generator, int, list[float]], Made]:
    """The same, drawn again where a notion asks nothing of any pair, which is refused."""

    def drawn(rng: Generator, n: int, masses: list[float]) -> Made:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            prior = md.Prior.from_counts(masses)
        while True:
            found = make(rng, n, masses)
            try:
                found[0].constraints(prior)
            except md.errors.LevelError as wrong:
                if "asks nothing of any pair" in str(wrong):
                    continue
            return found

    return drawn


MAKERS = {name: _asking(make) for name, make in _MAKERS.items()}
#: The notions that column generation knows, which sub-convex utilities are drawn with most often.
BOXES = ("PML", "PMC", "LIP", "ALIP", "LDP")
CONES = tuple(name for name in MAKERS if issubclass(NOTIONS[name.lower()], md.LikelihoodBound))


# Utilities


def _random_gains(rng: Generator, n: int, m: int) -> Any:
    kind = rng.integers(7)
    if kind == 0:
        return rng.integers(-3, 4, (n, m)).astype(float)
    gains = rng.uniform(-1, 1, (n, m))
    if kind == 1:
        return gains * 10.0 ** float(rng.integers(-300, 150))
    if kind == 2:
        return gains + 10.0 ** float(rng.integers(2, 16)) * float(rng.choice([-1, 1]))
    if kind == 3:
        return rng.integers(0, 5, (n, m)) * 5e-324
    if kind == 4:
        return np.full((n, m), float(rng.choice([0.0, 1.0, -3.7, 1e100])))
    if kind == 5:
        gains[rng.integers(n), rng.integers(m)] *= 10.0 ** float(rng.integers(3, 100))
    return gains


def _linear(rng: Generator, n: int) -> tuple[Any, Any, Any, str]:
    """Utility, gains, outputs asked, and how it is written."""
    kind = rng.integers(6)
    if kind == 0:
        outputs = None
        gains = np.eye(n)
        if n > 1 and rng.random() < 0.3:
            outputs = [int(x) for x in rng.permutation(n)[: int(rng.integers(1, n + 1))]]
            gains = gains[:, outputs]
        return md.utility.Hamming(), gains, outputs, "md.utility.Hamming()"
    if kind == 1:
        name = str(rng.choice(["absolute", "squared", "discrete"]))
        outputs = sorted({float(v) for v in rng.integers(-2, n + 2, int(rng.integers(1, 9)))})
        if rng.random() < 0.5:
            outputs = None
        places = range(n) if outputs is None else outputs
        if name == "discrete":
            gains = [[-float(x != y) for y in places] for x in range(n)]
        else:
            power = 1 if name == "absolute" else 2
            gains = [[-(float(abs(x - y)) ** power) for y in places] for x in range(n)]
        return md.utility.Distance(name), gains, outputs, f"md.utility.Distance({name!r})"
    m = n if rng.random() < 0.5 else int(rng.integers(1, 11))
    gains = _random_gains(rng, n, m)
    code = repr(gains.tolist())
    if kind == 2:
        return md.utility.BayesGain(gains), gains, None, f"md.utility.BayesGain({code})"
    if kind == 3:
        return md.utility.Distance(-gains), gains, None, f"md.utility.Distance({(-gains).tolist()})"
    return md.utility.Matrix(gains), gains, None, f"md.utility.Matrix({code})"


INFORMATIONS: dict[str, tuple[Callable[[], Any], str]] = {
    "mutual information": (md.utility.MutualInformation, "md.utility.MutualInformation()"),
    "total variation": (md.utility.TotalVariation, "md.utility.TotalVariation()"),
    "chi-square": (md.utility.ChiSquare, "md.utility.ChiSquare()"),
    "squared Hellinger": (
        lambda: md.utility.FInformation(lambda t: (np.sqrt(t) - 1) ** 2, "squared Hellinger"),
        "md.utility.FInformation(lambda t: (np.sqrt(t) - 1) ** 2)",
    ),
    "cubic": (
        lambda: md.utility.FInformation(lambda t: np.abs(t - 1) ** 3, "cubic"),
        "md.utility.FInformation(lambda t: np.abs(t - 1) ** 3)",
    ),
    "largest entry": (
        lambda: md.utility.Sublinear(lambda k, p: k[p > 0].max(), "largest entry"),
        "md.utility.Sublinear(lambda k, p: k[p > 0].max())",
    ),
}


# Whole designs


def random_asking(rng: Generator, subconvex: bool) -> Asking:
    """A design with a linear or a sub-convex utility."""
    n = int(rng.integers(1, 9))
    count = 1 if rng.random() < 0.75 else int(rng.integers(2, 4))
    if subconvex:
        names = rng.choice(BOXES if rng.random() < 0.7 else CONES, count).tolist()
    else:
        names = rng.choice(list(MAKERS), count).tolist()
    if "EntryPML" in names:
        n = max(n, 2)
    masses = random_masses(rng, n)
    if subconvex:
        # Symbols without mass are refused where others are tied to them.
        masses = [m or float(rng.choice([1e-9, 0.1])) for m in masses]
    made = [MAKERS[name](rng, n, masses) for name in names]
    notions = [notion for notion, _, _ in made]
    gains = information = outputs = None
    if subconvex:
        information = str(rng.choice(list(INFORMATIONS)))
        utility, utility_code = INFORMATIONS[information][0](), INFORMATIONS[information][1]
    else:
        utility, gains, outputs, utility_code = _linear(rng, n)
    labels = None
    privacy = notions[0] if count == 1 else notions
    notion_code = ", ".join(code for _, _, code in made)
    notion_code = notion_code if count == 1 else f"[{notion_code}]"
    more = "" if outputs is None else f", outputs={outputs}"
    code = f"md.design(md.Prior.from_counts({masses}), {utility_code}, {notion_code}{more})"
    asked = tuple(asked for _, asked, _ in made)
    return Asking(masses, labels, utility, privacy, asked, gains, information, outputs, code)


def claim_of(asking: Asking, found: Any) -> Claim:
    """What a design says, in numbers."""
    exact = [Fraction(m) for m in asking.masses]
    total = sum(exact)
    gains = None
    if asking.gains is not None:
        gains = tuple(tuple(Fraction(float(g)) for g in row) for row in asking.gains)
    mechanism = found.mechanism
    return Claim(
        tuple(m / total for m in exact),
        asking.asked,
        tuple(tuple(int(w) for w in row) for row in mechanism.weights),
        mechanism.bits,
        gains,
        asking.information,
        float(found.value),
        _known(found.bound),
        _known(found.gap),
        found.status == "optimal",
    )


def _known(value: Any) -> float | None:
    """``None`` for what is unknown, which is told by no number, or by an infinite one."""
    return None if value is None or not math.isfinite(value) else float(value)


@dataclass
class Tally:
    """What came of many designs."""

    designs: int = 0
    refused: int = 0
    undecided: int = 0
    unknown: int = 0
    compared: int = 0
    challenged: int = 0
    optimal: int = 0
    faults: Any = None

    def __post_init__(self) -> None:
        self.faults = []


def judge(asking: Asking, tally: Tally) -> Opinion | None:
    """Design and check; what is wrong is added to the tally with the call that shows it."""
    tally.designs += 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for kind in (GapWarning, ZeroMassWarning, DisclosureWarning):
            warnings.simplefilter("ignore", kind)
        try:
            found = md.design(asking.prior, asking.utility, asking.privacy, asking.outputs)
        except NoMethodError as refusal:
            tally.refused += 1
            if not may_be_refused(asking):
                tally.faults.append((str(refusal)[:300], asking.code))
            return None
        except MechdesignError as error:
            tally.faults.append((f"{type(error).__name__}: {error}"[:300], asking.code))
            return None
        except Exception as error:  # whatever else is raised is a fault to be shown
            tally.faults.append((f"raw {type(error).__name__}: {error}"[:300], asking.code))
            return None
    claim = claim_of(asking, found)
    opinion = check(claim)
    tally.faults += [(fault, asking.code) for fault in opinion.faults]
    tally.undecided += bool(opinion.undecided)
    tally.unknown += opinion.unknown
    tally.compared += opinion.compared
    tally.challenged += opinion.challenged
    tally.optimal += found.status == "optimal"
    return opinion


def may_be_refused(asking: Asking) -> bool:
    """Sub-convex utilities are designed for bounds on likelihood ratios on few symbols."""
    return asking.gains is None and len(asking.masses) > 6

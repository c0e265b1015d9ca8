"""Files with what must be said of them, decided by how they were made and by the library itself.

The checker of ``mechdesign/certificate/verify.py`` is never asked what is right.
"""

from __future__ import annotations

import copy
import functools
import hashlib
import json
import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from fractions import Fraction
from typing import Any

import numpy as np

import mechdesign as md
from mechdesign.certificate.certificate import Certificate, examine, fingerprint
from mechdesign.errors import CountsWarning, InfeasibleError, OpenBinWarning, ZeroMassWarning
from mechdesign.exact import Verdict, exp_bounds, float_at_least
from mechdesign.program.duals import Duals
from mechdesign.program.problem import state_problem
from mechdesign.storage import from_json, to_json

ABC = md.Prior([0.5, 0.3, 0.2], labels=["a", "b", "c"])
GRID = md.Prior([0.1, 0.2, 0.3, 0.4])
PAIRS = md.Prior([0.1, 0.2, 0.3, 0.4], labels=[(0, 0), (0, 1), (1, 0), (1, 1)])
ENDLESS = md.Prior([0.1, 0.2, 0.3, 0.4], labels=[0.0, -math.inf, 1.0, math.inf])
UNEVEN = md.Prior([0.1, 0.2, 0.3, 0.4], labels=[0, 1, 2.5, 5])
ONE = md.Prior([1], labels=["a"])
TWO = md.Prior([0.6, 0.4], labels=["no", "yes"])
OTHER = md.Prior([0.4, 0.4, 0.2], labels=["a", "b", "c"])
with warnings.catch_warnings():
    warnings.simplefilter("ignore", ZeroMassWarning)
    HALVES = md.Prior([0.5, 0.5, 0], labels=["a", "b", "c"])
    EMPTY = md.Prior([0.5, 0.5, 0], labels=["a", "b", "c"])
    BETWEEN = md.Prior([0.5, 0, 0.5], [0, 1, 2])
HAMMING, ABSOLUTE = md.utility.Hamming(), md.utility.Distance("absolute")
GAINS = md.utility.Matrix([[1, 0, 0.5], [0, 1, 0.2], [0, 0.3, 1]])
GAINS3 = md.utility.Matrix([[1, 0, 0.5], [0, 1, 0.2], [0, 0.3, 1]], ["a", "b", "c"])
WIDE3 = md.utility.Matrix([[3, -1, 0.5], [0, 1, 0.2], [-2, 0.3, 1]], ["a", "b", "c"])
WIDE = md.utility.Matrix([[3, -1, 0.5, 0.1], [0, 1, 0.2, 0.6], [-2, 0.3, 1, 0.5]])
FEATURE = {"a": 0, "b": {0: 1, 1: 3}, "c": 1}
LEVELS = {"a": 1, "b": 0.5, "c": math.inf}
SECRETS = {"s": ["a"], "t": {"b": 0.5, "c": 1}}
FOUR = md.utility.Matrix([[1, 2, 3, 2], [2, 5, 5, 5], [4, 2, 5, -5], [-5, 3, -1, 3]])
TWINS = [[0, 0, 1, 2], [0, 0, 1, 2], [1, 1, 0, 3], [2, 2, 3, 0]]
ODD = [[0, 0, 1, 2], [0, 0, 2, 2], [1, 2, 0, 3], [2, 2, 3, 0]]
FAR = [[0, 1, math.inf, 2], [1, 0, 1, 2.5], [math.inf, 1, 0, 3], [2, 2.5, 3, 0]]
EDGES = [(0, 1, 0.5), (1, 2, Fraction(1, 3)), (2, 3, 2)]
PLANE = md.Prior([0.1, 0.2, 0.3, 0.4], labels=[(0, 0), (0, 3), (4, 0), (4.5, 3)])
BOX = {"a": (0.3, 0.6), "b": (0.2, 0.5), "c": (0.1, 0.15)}
TABLE = {"a": ("f", 0), "b": ("m", 0), "c": ("f", 1)}

#: Designs whose every claim can be proved.
LINEAR: dict[str, tuple[Any, ...]] = {
    "two notions": (ABC, HAMMING, [md.PML(0.5), md.LDP(1.0)]),
    "pml": (ABC, WIDE, md.PML(0.4)),
    "pmc": (ABC, GAINS, md.PMC(0.7)),
    "lip": (ABC, GAINS, md.LIP(0.7)),
    "alip": (ABC, WIDE, md.ALIP(0.9, 0.3)),
    "ldp": (ABC, WIDE, md.LDP(0.8)),
    "ldp, nothing": (ABC, HAMMING, md.LDP(0)),
    "ratio": (ABC, WIDE, md.LDP(md.ratio("7/3"))),
    "bits and nats": (ABC, GAINS, md.ALIP(md.bits("1.5"), Fraction(1, 3))),
    "steps": (GRID, ABSOLUTE, md.MetricPrivacy(md.ratio(3), "absolute")),
    "huge level": (ABC, HAMMING, [md.LDP(3000), md.PMC(0.5)]),
    "ratio twice": (ABC, WIDE, [md.LDP(0.8), md.LDP(0.5), md.LDP(0.9)]),
    "lift twice": (ABC, WIDE, [md.LIP(0.8), md.LIP(0.4), md.LIP(0.9)]),
    "free lunch": (PAIRS, HAMMING, md.FreeLunch(0.4)),
    "lift and ratio": (ABC, WIDE, [md.LIP(0.4), md.LDP(0.6)]),
    "zero mass": (EMPTY, HAMMING, md.LDP(0.5)),
    "zero mass, tied": (BETWEEN, ABSOLUTE, md.DP(1, "adjacent")),
    "zero mass, in a set": (EMPTY, HAMMING, md.RobustPML(0.4, [ABC, OTHER])),
    "far gains": (ABC, md.utility.Matrix(1e9 + np.eye(3)), md.LDP(1)),
    "tiny gains": (ABC, md.utility.Matrix(5e-324 * np.eye(3)), md.LDP(1)),
    "equal gains": (ABC, md.utility.Matrix(np.ones((3, 2))), md.LDP(1)),
    "adjacent": (GRID, ABSOLUTE, md.DP(1.0, "adjacent")),
    "hamming": (PAIRS, HAMMING, md.DP(1.0, "hamming")),
    "listed neighbours": (GRID, HAMMING, md.DP(0.7, [(0, 2), (3, 1), (2, 0)])),
    "one pair": (GRID, HAMMING, [md.DP(0.7, [(0, 1)]), md.PML(0.4)]),
    "line": (GRID, md.utility.Distance("squared"), md.MetricPrivacy(1.0, "absolute")),
    "discrete": (GRID, HAMMING, md.MetricPrivacy(0.6, "discrete")),
    "hamming distance": (PAIRS, HAMMING, md.MetricPrivacy(0.6, "hamming")),
    "euclidean": (PLANE, HAMMING, md.MetricPrivacy(0.3, "euclidean")),
    "matrix": (GRID, HAMMING, md.MetricPrivacy(0.6, FAR)),
    "twins": (GRID, HAMMING, md.MetricPrivacy(0.6, TWINS)),
    "no metric": (GRID, HAMMING, md.MetricPrivacy(0.6, ODD)),
    "graph": (GRID, HAMMING, md.MetricPrivacy.graph(0.6, EDGES)),
    "symbols": (ABC, HAMMING, md.SymbolPML(0.4, LEVELS)),
    "symbols, cost": (ABC, GAINS, md.SymbolPMC(0.4, LEVELS)),
    "symbols, both": (ABC, WIDE, md.SymbolLIP(0.4, LEVELS)),
    "symbols, one": (ABC, HAMMING, [md.SymbolLIP(1, LEVELS | {"b": math.inf}), md.LDP(1)]),
    "discriminative": (ABC, WIDE, md.InputDiscriminativeLDP(0.6, LEVELS)),
    "discriminative, zero mass": (BETWEEN, HAMMING, md.InputDiscriminativeLDP(1, [1, 2, 0.5])),
    "one way": (ABC, HAMMING, md.ContextAwareLDP(0.7, [("a", "b", 2.5), ("b", "c"), ("c", "a")])),
    "sensitive": (ABC, WIDE, md.UtilityOptimisedLDP(0.7, ["b", "a"])),
    "entries": (GRID, HAMMING, md.EntryPML(0.1, 3, 0.3)),
    "feature": (ABC, HAMMING, md.FeaturePML(0.4, FEATURE)),
    "feature cost": (ABC, HAMMING, md.FeaturePMC(0.4, FEATURE)),
    "conditional": (ABC, HAMMING, md.ConditionalPML(0.4, FEATURE)),
    "conditional cost": (ABC, HAMMING, md.ConditionalPMC(0.4, FEATURE)),
    "secrets": (ABC, HAMMING, md.Pufferfish(0.5, SECRETS)),
    "secrets, priors": (ABC, HAMMING, md.Pufferfish(0.5, SECRETS, None, [ABC, OTHER])),
    "secrets without mass": (
        ABC,
        HAMMING,
        [md.Pufferfish(0.5, {"s": ["a"], "t": ["b"], "u": ["c"]}, None, [ABC, HALVES])],
    ),
    "no pair of one": (ONE, HAMMING, [md.DP(1, []), md.SymbolLIP(1, {"a": math.inf}), md.PML(1)]),
    "vertices": (ABC, HAMMING, md.RobustPML(0.4, [ABC, OTHER])),
    "floor": (ABC, HAMMING, md.RobustPML.floor(0.4, 0.1)),
    "box": (ABC, HAMMING, md.RobustPML.box(0.4, BOX)),
    "ball": (ABC, HAMMING, md.RobustPML.ball(0.4, ABC, 0.2)),
    "interval": (TWO, HAMMING, md.RobustPML.ball(0.4, TWO, 0.2)),
    "maximal": (ABC, HAMMING, md.MaximalLeakage(0.3)),
    "maximal cost": (ABC, GAINS, md.MaximalCostLeakage(0.7)),
    "inference": (ABC, HAMMING, md.InferenceCost(0.4, [[0, 1, 0.5], [2, 0, 0.5], [0.3, 1, 0.5]])),
    "inference, zero mass": (EMPTY, HAMMING, md.InferenceCost(0.4, [[0, 1], [2, 0], [1, 1]])),
    "maximal with lift": (ABC, WIDE, [md.MaximalLeakage(0.2), md.PML(0.4)]),
    "approximate": (ABC, HAMMING, md.ApproximateLDP(1.0, 1e-3)),
    "approximate, far": (ABC, HAMMING, [md.ApproximateLDP(20.0, 0.25), md.PMC(1)]),
    "approximate secrets": (ABC, HAMMING, md.ApproximatePufferfish(0.5, 1e-3, SECRETS)),
}
NOT_C = [[1, 1, 0], [1, 1, 1], [0, 1, 1]]
R = md.require
SUMS = md.requirement.Sums
COSTS, OTHER_COSTS = [[0, 1, 3], [1, 0, 1], [3, 1, 0]], [[0, 1, 3], [2, 0, 1], [3, 1, 0]]
VALUES = {0: 0.5, 1: 0.75, 2: 1, 3: 2}
#: Designs under requirements, and requirements of which the last one is broken by their kernels.
REQUIRED: dict[str, tuple[tuple[Any, ...], list[Any], Any]] = {
    "entry": ((ABC, HAMMING, md.PML(0.4)), [R.at_most("a", "b", 0.2)], R.at_least("a", "b", 0.21)),
    "entries alike": (
        (ABC, HAMMING, md.LDP(1)),
        [R.at_least(None, None, 0.2)],
        R.at_most(None, "b", 0.3),
    ),
    "zero": ((ABC, HAMMING, md.PML(0.6)), [R.zero("a", "c")], R.zero("a", "a")),
    "zeros of some neighbours": (
        (GRID, HAMMING, md.DP(1, [(0, 1), (2, 3)])),
        [R.zero(0, 3)],
        R.zero(3, 3),
    ),
    "diagonal": (
        (ABC, HAMMING, md.LDP(1)),
        [R.diagonal(at_least=0.5)],
        R.diagonal({"b": 0.9}, {"b": 1.0}),
    ),
    "pattern": (
        (ABC, HAMMING, md.PML(0.6)),
        [R.zero(pattern=NOT_C)],
        R.zero(pattern=[[1, 1, 1], [1, 0, 1], [1, 1, 1]]),
    ),
    "within": ((GRID, ABSOLUTE, md.PML(0.5)), [R.zero(farther_than=2)], R.zero(farther_than=0.5)),
    "within numbers without end": (
        (ENDLESS, HAMMING, md.PML(2)),
        [R.zero(farther_than=1)],
        R.zero(farther_than=0),
    ),
    "few outputs": ((ABC, HAMMING, md.PML(0.5)), [R.outputs(2)], R.outputs(1)),
    "sums": (
        (ABC, HAMMING, md.PML(0.5)),
        [SUMS((3, 3), ((0, 4), (8, 1)), ((1.0, -1.0), (0.0, 2.0)), "<=", (0.05, 0.2))],
        SUMS((3, 3), ((0, 4), (8, 1)), ((1.0, -1.0), (0.0, 2.0)), "<=", (-0.5, 0.2)),
    ),
    "sums that are equal": (
        (ABC, HAMMING, md.LDP(2)),
        [SUMS((3, 3), ((0, 4), ()), ((3.0, -3.0), ()), "==", (0.3, 0.0))],
        SUMS((3, 3), ((0, 4),), ((3.0, -3.0),), "==", (0.3 + 4e-12,)),
    ),
    "sums of one entry": (
        (ABC, HAMMING, md.PML(0.6)),
        [SUMS((3, 3), ((2,), (1,)), ((1.0,), (2.0,)), "==", (0.0, 0.25), 1e-3)],
        SUMS((3, 3), ((0,),), ((1.0,),), "==", (0.0,), 0.5),
    ),
    "within positions": (
        (ABC, HAMMING, md.PML(0.6)),
        [R.zero(farther_than=1)],
        R.zero(farther_than=0),
    ),
    "within distances": (
        (ABC, HAMMING, md.PML(0.6)),
        [R.zero(farther_than=1.5, distance=[[0, 1, 2], [1, 0, 1], [1, 1, 0]])],
        R.zero(farther_than=0),
    ),
    "monotone": (
        (
            GRID,
            md.utility.Matrix([[0, 2, 0, 1], [1, 0, 0, 0], [1, 1, 0, 0], [0, 0, 0, 1]]),
            md.LDP(1),
        ),
        [R.monotone()],
        R.at_most(0, 0, 0.0),
    ),
    "symmetric": ((GRID, ABSOLUTE, md.PML(0.5)), [R.symmetric()], R.at_least(0, 0, 0.99)),
    "nearly symmetric": ((ABC, WIDE3, md.LDP(0.5)), [R.symmetric(0.01)], R.symmetric(1e-4)),
    "rows": (
        (ABC, WIDE3, md.LDP(1)),
        [R.rows([np.eye(3), np.ones((3, 3)) - np.eye(3)], "<=", [1.4, 2.0])],
        R.rows([np.eye(3)], ">=", [1.6]),
    ),
    "rows that forbid": (
        (ABC, HAMMING, md.PML(0.6)),
        [R.rows([[[0, 0, -1], [0, 0, 0], [0, 0, 0]]], ">=", [0.0])],
        R.at_most("b", "b", 0.0),
    ),
    "rows, equal": (
        (ABC, WIDE3, md.LDP(1)),
        [R.rows([np.eye(3) / 7], "==", [0.2])],
        R.rows([np.eye(3)], "==", [1.41]),
    ),
    "rows, at least": (
        (ABC, WIDE3, md.LDP(1)),
        [R.rows([np.eye(3)], ">=", [1.5])],
        R.rows([np.eye(3)], "<=", [1.4]),
    ),
    "every output": (
        (ABC, HAMMING, md.PML(1)),
        [R.every_output({"a": 1, "b": -1.5})],
        R.every_output({"a": 1, "b": -1}),
    ),
    "posterior": (
        (ABC, HAMMING, md.PML(1)),
        [R.lift(["b", "c"], at_least=0.7, at_most=1.5)],
        R.lift(["b", "c"], at_least=0.9),
    ),
    "cost": ((ABC, HAMMING, md.LDP(1)), [R.cost(COSTS, 0.525)], R.cost(COSTS, 0.5)),
    "cost of each": (
        (ABC, HAMMING, md.LDP(1)),
        [R.cost(COSTS, 0.9, each=True)],
        R.cost(COSTS, 0.7, each=True),
    ),
    "invariant": ((ABC, HAMMING, md.LDP(1)), [R.invariant()], R.at_least("a", "a", 0.99)),
    "share": (
        (ABC, HAMMING, md.LDP(1)),
        [R.output("c", 0.3, 0.5), R.at_least("a", "a", 0.3)],
        R.output("c", 0.31),
    ),
    "share, at most": (
        (ABC, HAMMING, md.LDP(1)),
        [R.output("a", high=0.3)],
        R.output("a", high=0.29),
    ),
    "equal error": (
        (ABC, HAMMING, md.LDP(1)),
        [R.equal_error([["a"], ["b", "c"]], 0.01)],
        R.equal_error([["a"], ["b"], ["c"]], 1e-3),
    ),
    "equal cost": (
        (ABC, GAINS3, md.LDP(1)),
        [R.equal_error([["a"], ["b"]], 0.01, costs=OTHER_COSTS)],
        R.equal_error([["a"], ["b"]], 1e-3, costs=OTHER_COSTS),
    ),
    "unbiased": ((GRID, ABSOLUTE, md.LDP(3)), [R.unbiased(VALUES, 0.5)], R.unbiased(VALUES, 0.1)),
    "zero mass, required": (
        (EMPTY, HAMMING, md.LDP(1)),
        [R.at_least("c", "c", 0.5)],
        R.at_least("c", "c", 0.6),
    ),
}
W = md.utility.WorstCase
#: The least of several linear utilities, with and without requirements and goals.
WORST: dict[str, tuple[tuple[Any, ...], list[Any]]] = {
    "symbols": ((ABC, W.symbols(HAMMING), md.LDP(1)), []),
    "utilities": ((ABC, W([GAINS3, WIDE3], weights=[1, 0.5]), md.PML(0.6)), []),
    "priors of use": ((ABC, W(HAMMING, priors=[ABC, OTHER]), md.LIP(0.7)), []),
    "goals": ((ABC, W([HAMMING, WIDE3], goals=[0.5, None]), md.LDP(1)), []),
    "worst, required": ((ABC, W.symbols(HAMMING), md.PML(0.6)), [R.zero("a", "c"), R.monotone()]),
    "zero mass in use": ((EMPTY, W(HAMMING, priors=[EMPTY]), md.LDP(1)), []),
}
#: What no kernel satisfies, and a notion or requirements in whose place some do.
IMPOSSIBLE: dict[str, tuple[tuple[Any, ...], list[Any], Any]] = {
    "impossible entry": ((ABC, HAMMING, md.LDP(0.5)), [R.diagonal(at_least=0.6)], md.LDP(2)),
    "impossible zeros": (
        (ABC, HAMMING, md.LDP(0.5)),
        [R.zero(pattern=np.eye(3))],
        md.LDP(math.inf),
    ),
    "impossible neighbours": (
        (GRID, ABSOLUTE, md.DP(0.5, "adjacent")),
        [R.at_least(0, 0, 0.8), R.at_most(1, 0, 0.2)],
        md.DP(2, "adjacent"),
    ),
    "impossible zero": (
        (ABC, HAMMING, md.RobustPML.floor(0.5, 0.1)),
        [R.zero("a", "b"), R.at_least("b", "b", 0.1)],
        None,
    ),
    "impossible sum": (
        (ABC, HAMMING, md.MaximalLeakage(0.1)),
        [R.diagonal(at_least=0.6)],
        md.MaximalLeakage(2),
    ),
    "impossible rows": ((ABC, HAMMING, md.LDP(9)), [R.rows([np.eye(3)], ">=", [3.5])], None),
    "impossible goals": (
        (ABC, W([HAMMING, HAMMING], goals=[0.9, None]), md.LDP(0.5)),
        [],
        md.LDP(5),
    ),
}
#: Designs of which only a part can be proved, and the claims that cannot.
PARTLY: dict[str, tuple[tuple[Any, ...], set[str]]] = {
    name: ((ABC, utility, md.LDP(1.0)), {"value", "bound", "gap", "optimal"})
    for name, utility in {
        "information": md.utility.MutualInformation(),
        "chi-square": md.utility.ChiSquare(),
        "variation": md.utility.TotalVariation(),
    }.items()
} | {
    name: ((ABC, HAMMING, notion), {"privacy", "verdicts", "bound", "gap", "gain_gap", "optimal"})
    for name, notion in {
        "average": md.MIPrivacy(0.2),
        "average secrets": md.MIPufferfish(0.05, [TABLE], [ABC, OTHER]),
    }.items()
}


@dataclass
class Case:
    """A file, and what must be said of it.

    ``states`` are those of claims by the beginning of their names; ``own`` are ends between which
    the bound must lie that its dual variables prove.
    """

    name: str
    data: bytes
    state: set[str]
    states: dict[str, str] = field(default_factory=dict)
    own: tuple[float, float] | None = None


def in_bytes(item: Any) -> bytes:
    content = item if isinstance(item, dict) else to_json(item)
    return json.dumps(content).encode()


def resealed(content: dict[str, Any]) -> dict[str, Any]:
    """With a digest that fits, as a stranger would compute it."""
    kept = {key: value for key, value in content.items() if key != "digest"}
    text = json.dumps(kept, sort_keys=True, separators=(",", ":"))
    return {**kept, "digest": hashlib.sha256(text.encode()).hexdigest()}


def changed(content: dict[str, Any], path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    """With one value in another's place, or with none there, and a digest that fits."""
    content = copy.deepcopy(content)
    part = content
    for key in path[:-1]:
        part = part[key]
    if value is GONE:
        del part[path[-1]]
    else:
        part[path[-1]] = value
    return resealed(content)


OTHERS = (
    "every output", "goals", "rows", "cost", "symbols", "priors of use", "zero mass in use",
    "nearly symmetric", "within positions", "sums",
)  # fmt: skip
MORE = {"labels": [*"abcd"], "weights": [*"1111"], "probabilities": [0.25] * 4}
BOX_ROWS = [("a", 0.3, 0.6), ("b", 0.2, 0.5), ("c", 0.1, 0.15)]
GONE = object()
STATES = ("proved", "refuted", "not proved here")


def designed(*asked: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return md.design(*asked)


def required(name: str) -> Any:
    """A design under requirements, or of the least of several utilities."""
    asked, wishes = (REQUIRED | WORST)[name][:2]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return md.design(*asked, subject_to=wishes)


def impossible(name: str) -> Any:
    """The proof that nothing does what is asked."""
    asked, wishes, _ = IMPOSSIBLE[name]
    try:
        md.design(*asked, subject_to=wishes)
    except InfeasibleError as refused:
        return refused.proof
    raise AssertionError(f"{name} is possible")


def claiming(
    found: Any, notions: Any = None, mechanism: Any = None, requirements: Any = None, **claims: Any
) -> bytes:
    """A design that says something else of itself, under a fingerprint that fits."""
    notions = found.notions if notions is None else tuple(notions)
    mechanism = mechanism or found.mechanism
    requirements = found.requirements if requirements is None else tuple(requirements)
    text = fingerprint(found.prior, mechanism, notions, requirements)
    certificate = replace(found.certificate, fingerprint=text, **claims)
    return in_bytes(
        replace(
            found,
            notions=notions,
            mechanism=mechanism,
            certificate=certificate,
            requirements=requirements,
        )
    )


def examined(found: Any, duals: Duals) -> Certificate:
    """What the library proves of the same kernel with other dual variables."""
    c = found.certificate
    outputs = found.mechanism.outputs
    asked = found.requirements
    problem = state_problem(found.prior, found.utility, found.notions, outputs, None, asked)
    return examine(problem, found.mechanism, duals, c.repair, c.repair_loss, c.solver)


def shaken(duals: Duals, rng: np.random.Generator, size: float) -> Duals:
    """Dual variables with noise, negative ones and more of them."""

    def noisy(numbers: Any) -> Any:
        more = rng.normal(0, size, np.shape(numbers)) * (rng.random(np.shape(numbers)) < 0.7)
        return np.asarray(numbers) * rng.uniform(1 - size, 1 + size) + more

    def parts(given: Any) -> Any:
        return None if given is None else tuple(tuple(map(noisy, part)) for part in given)

    prices = None if duals.prices is None else noisy(duals.prices)
    limits, mixture = (
        None if given is None else noisy(given) for given in (duals.limits, duals.mixture)
    )
    return replace(
        duals,
        prices=prices,
        multipliers=parts(duals.multipliers),
        sums=parts(duals.sums),
        limits=limits,
        mixture=mixture,
    )


#: What a public form may ask of three symbols, from end to end.
QUESTION = {"questions": [[1e60, -1e-60, 0]], "answers": ["a"]}


def honest_cases() -> Iterator[Case]:
    """Files as the library writes them."""
    for name, asked in LINEAR.items():
        found = designed(*asked)
        c = found.certificate
        room = 1e-10 * max(1.0, abs(c.bound))
        yield Case(name, in_bytes(found), {"proved"}, {}, (c.bound - room, c.bound))
    # Prices alone prove this one, under both bounds, with the best price far from the first.
    prior, both = md.Prior.from_counts([17, 19, 6, 3]), [md.PML(0.7), md.LDP(1.0)]
    found = md.design(prior, FOUR, both, solver="structured")
    assert found.certificate.bound_source == "prices"
    yield Case("lift and ratio, by prices", in_bytes(found), {"proved"})
    for name in (*REQUIRED, *WORST):
        found = required(name)
        c = found.certificate
        room = 1e-10 * max(1.0, abs(c.bound))
        # Which constant kernel is the best for the least of several utilities, is not known.
        state, states = ({"proved"}, {"requirement": "proved"} if found.requirements else {})
        if name in WORST and not found.requirements:
            state = {"proved", "not proved here"}
            states = dict.fromkeys(("value", "bound", "gap", "optimal"), "proved")
        yield Case(name, in_bytes(found), state, states, (c.bound - room, c.bound))
    for name in IMPOSSIBLE:
        states = {"infeasible": "proved", "below_zero": "proved"}
        yield Case(name, in_bytes(impossible(name)), {"proved"}, states)
    for name, (asked, open_claims) in PARTLY.items():
        states = dict.fromkeys(open_claims, "not proved here")
        yield Case(name, in_bytes(designed(*asked)), {"not proved here"}, states)
    # A requirement of one's own has no definition in the checker, so nothing follows from it.
    own = json.loads(in_bytes(required("cost")))
    own["requirements"][0]["name"] = "Mine"
    claims = ("requirement", "bound", "gap", "gain_gap", "optimal")
    states = dict.fromkeys(claims, "not proved here")
    states["fingerprint"] = "refuted"  # it is of the name as well
    yield Case("own", in_bytes(resealed(own)), {"refuted"}, states)
    found = designed(*LINEAR["ldp"])
    yield Case("mechanism", in_bytes(found.mechanism), {"proved"})
    public = in_bytes(md.PublicDesign.of(found.mechanism, found.notions))
    yield Case("public", public, {"proved"}, {"privacy: LDP": "proved"})
    asking = in_bytes(resealed({**json.loads(public), **QUESTION}))
    yield Case("public, with a question", asking, {"proved"}, {"fingerprint": "proved"})
    nothing = in_bytes(md.PublicDesign.of(found.mechanism, []))
    states = {"privacy": "not proved here", "fingerprint": "proved"}
    yield Case("public, without a notion", nothing, {"not proved here"}, states)
    off = md.Mechanism([[0.1, 0.9], [0.3, 0.7]])
    assert off.row_error
    yield Case("rows by floats", in_bytes(off), {"not proved here"}, {"rows": "not proved here"})
    wide = md.Mechanism.from_weights(np.array([[1 << 99, 1 << 99], [1, (1 << 100) - 1]]), 100)
    yield Case("long weights", in_bytes(wide), {"proved"})
    third = (1 << 14000) // 3
    long = np.array([[third, (1 << 14000) - third], [(1 << 14000) - third, third]], dtype=object)
    public = md.PublicDesign.of(md.Mechanism.from_weights(long, 14000), [md.LDP(1)])
    yield Case("very long weights", in_bytes(public), {"proved"})
    even = md.PublicDesign.of(md.Mechanism.from_weights([[2, 6], [6, 2]], 3), [md.LDP(2)])
    yield Case("weights with a common divisor", in_bytes(even), {"proved"})
    below = 3**300
    above = math.floor(exp_bounds(Fraction(1), 4000)[0] * below)
    near = np.array([[above, (1 << 480) - above], [below, (1 << 480) - below]], dtype=object)
    public = md.PublicDesign.of(md.Mechanism.from_weights(near, 480), [md.LDP(1)])
    states = {"privacy: LDP": "not proved here"}
    yield Case("a ratio too near to e", in_bytes(public), {"not proved here"}, states)
    vague = md.PublicDesign.of(wide, [md.PML(0.1), md.RobustPML(0.2, [TWO])])
    open_states = {"privacy: PML": "not proved here", "privacy: RobustPML": "not proved here"}
    yield Case("stated", in_bytes(vague), {"not proved here"}, open_states)
    weights = np.array([[1 << 63, 1 << 63], [3 << 62, 1 << 62]], dtype=object)
    mixed = replace(
        designed(TWO, HAMMING, md.LDP(1)),
        mechanism=md.Mechanism.from_weights(weights, 64, TWO.labels, TWO.labels),
    )
    states = {"fingerprint": "proved", "privacy: LDP": "proved", "value": "refuted"}
    yield Case("weights beyond 2^62", claiming(mixed), {"refuted"}, states)
    even = designed(*LINEAR["equal gains"])
    more = even.certificate.value_exact + 1
    weak = {"bound_exact": more, "bound": float(more), "gap": math.inf, "gain_gap": None}
    yield Case("equal gains, no gap", claiming(even, **weak), {"proved"})
    content, nothing = json.loads(in_bytes(found)), {"bound": "inf", "bound_exact": None}
    nothing |= {"gap": "unknown", "gain_gap": None, "optimal": False}
    content["certificate"] |= nothing
    yield Case("nothing known", in_bytes(resealed(content)), {"proved"})


def shaken_cases(noises: int = 2) -> Iterator[Case]:
    """Bounds from dual variables of any quality, beside what the library makes of them."""
    for number, name in enumerate((*LINEAR, *REQUIRED, *WORST)):
        if name == "few outputs":
            continue  # the library has bounds for parts of a search beside these
        found = designed(*LINEAR[name]) if name in LINEAR else required(name)
        for noise in range(noises):
            rng = np.random.default_rng([number, noise])
            outputs = found.mechanism.outputs
            problem = state_problem(found.prior, found.utility, found.notions, outputs)
            size = float(problem.program.exact_width(Fraction(0)))
            weak = examined(found, shaken(found.certificate.duals, rng, (0.3, 0.01)[noise % 2]))
            data = in_bytes(replace(found, certificate=weak))
            worst = name in WORST and not found.requirements
            state = {"proved", "not proved here"} if worst else {"proved"}
            room = 1e-10 * max(size, abs(weak.bound))
            # Prices prove more here than the library takes from them.
            is_more = name in ("one pair", "symbols, one")
            least = found.value if is_more else weak.bound - room
            own = (max(least, found.value - room * 1e-3), weak.bound)
            yield Case(f"{name}, noise {noise}", data, state, {"bound": "proved"}, own)


def false_cases() -> Iterator[Case]:
    """Designs that claim what is not so, under digests and fingerprints that fit."""
    refuted = {"refuted"}
    for name, asked in LINEAR.items():
        if name.endswith("twice"):
            continue  # a claim is found by the name of its notion
        found = designed(*asked)
        c = found.certificate
        for k, (notion, check) in enumerate(zip(found.notions, c.checks, strict=True)):
            levels = [level * 0.999 - 1e-6 for level in check.achieved]
            if min(levels) <= 0 or max(check.achieved) == math.inf or math.inf in notion.levels:
                continue  # nothing stronger, or other dual variables
            stronger = [*found.notions]
            stronger[k] = notion.with_levels(*levels)
            data = claiming(found, stronger)
            yield Case(
                f"{name}, level", data, refuted, {f"privacy: {type(notion).__name__}": "refuted"}
            )
        for k, check in enumerate(c.checks):
            for place, worst in enumerate(check.worst):
                for level in _others(worst.level):
                    moved = [*check.worst]
                    moved[place] = replace(worst, level=level)
                    checks = [*c.checks]
                    checks[k] = replace(check, worst=tuple(moved))
                    data = claiming(found, checks=tuple(checks))
                    states = {f"achieved: {type(check.notion).__name__} {level!r}": "refuted"}
                    yield Case(f"{name}, achieved {level}", data, refuted, states)
        yield from _other_kernels(name, found)
    for name, (_, _, broken) in REQUIRED.items():
        found = required(name)
        assert broken.check(found.mechanism, found.prior).verdict is Verdict.NO, name
        yield from _other_kernels(name, found)
        unproved = {"duals": Duals(), "bound": math.inf, "bound_exact": None}
        data = claiming(found, requirements=[broken], **unproved)
        states = {f"requirement: {type(broken).__name__}": "refuted"}
        yield Case(f"{name}, broken", data, refuted, states)
    for name in WORST:
        found = required(name)
        yield from _other_kernels(name, found)
        c, content = found.certificate, json.loads(in_bytes(found))
        for claim, value in (("value", c.value + 0.01), ("gap", c.gap / 2 - 1e-9)):
            data = in_bytes(changed(content, ("certificate", claim), abs(value)))
            yield Case(f"{name}, {claim}", data, refuted, {claim: "refuted"})
        data = in_bytes(changed(content, ("certificate", "gain_gap"), 2))
        yield Case(f"{name}, gain_gap", data, refuted | {"not proved here"})
    found = required("goals")
    data = in_bytes(changed(json.loads(in_bytes(found)), ("utility", "parts", 0, "goal"), 0.9))
    yield Case("a goal", data, refuted, {"goal 1": "refuted"})
    for name, (_, _, other) in IMPOSSIBLE.items():
        yield from _false_proofs(name, other)
    for name in ("pml", "far gains", "maximal", "tiny gains", "zero mass", "share", "goals"):
        found = designed(*LINEAR[name]) if name in LINEAR else required(name)
        yield from _false_numbers(name, found)


def _false_proofs(name: str, other: Any) -> Iterator[Case]:
    """Proofs of what is possible, or without dual variables that prove it."""
    content = json.loads(in_bytes(impossible(name)))
    states, pending = {"infeasible": "not proved here"}, {"not proved here"}
    if other is not None:
        notion = json.loads(in_bytes(designed(IMPOSSIBLE[name][0][0], HAMMING, other)))
        data = in_bytes(changed(content, ("notions",), notion["notions"]))
        yield Case(f"{name}, other level", data, pending, states)
    data = in_bytes(changed(content, ("requirements",), []))
    yield Case(f"{name}, nothing required", data, pending | {"unreadable"})
    if "zero" not in name:
        none = {**content["duals"], "multipliers": None, "prices": None}
        none["limits"] = [0.0 for _ in content["duals"]["limits"]]
        data = in_bytes(changed(content, ("duals",), none))
        yield Case(f"{name}, no duals", data, pending, states)
    data = in_bytes(changed(content, ("below_zero",), content["below_zero"] * 1.01))
    yield Case(f"{name}, overstated", data, pending, {"below_zero": "not proved here"})


def _other_kernels(name: str, found: Any) -> Iterator[Case]:
    """Kernels of which the library says by its own check which notions they have."""
    n, m = found.mechanism.shape
    reveal = np.zeros((n, m), dtype=np.int64)
    reveal[np.arange(n), np.arange(n) % m] = 1
    told = md.Mechanism.from_weights(reveal, 0, found.mechanism.inputs, found.mechanism.outputs)
    for share in (1, 1e-6, 2.0**-60):
        other = found.mechanism.mix(told, share) if share != 1 else told
        states = {}
        for notion in found.notions:
            verdict = str(notion.check(other, found.prior).verdict)
            claim = f"privacy: {type(notion).__name__}"
            states[claim] = {"yes": "proved", "no": "refuted"}[verdict]
        for wish in found.requirements:
            verdict = str(wish.check(other, found.prior).verdict)
            claim = f"requirement: {type(wish).__name__}"
            states[claim] = {"yes": "proved", "no": "refuted"}[verdict]
        # Other kernels have other levels, values and gaps, but for some that are reached already.
        state = {"refuted", "not proved here"} if "refuted" in states.values() else set(STATES)
        yield Case(f"{name}, told {share}", claiming(found, mechanism=other), state, states)


def _others(level: float) -> list[float]:
    if level == math.inf:
        return [1.0, 1e6]
    ulps = [level]
    for _ in range(9):
        ulps.append(math.nextafter(ulps[-1], math.inf))
    below = math.nextafter(level, 0.0)
    return [ulps[-1], level + 0.5, *([below - 8 * (level - below)] if level else [])]


def _false_numbers(name: str, found: Any) -> Iterator[Case]:
    c = found.certificate
    value, bound = c.value_exact, c.bound_exact
    problem = state_problem(found.prior, found.utility, found.notions, found.mechanism.outputs)
    width = problem.program.exact_width(value)
    tiny = width / 10**40
    up = math.nextafter(c.value, math.inf)
    refuted, pending = {"refuted"}, {"not proved here"}

    def of(claim: str, state: set[str] = refuted, **claims: Any) -> Case:
        return Case(f"{name}, {claims}", claiming(found, **claims), state, {claim: min(state)})

    yield of("value", value=up, bound=max(up, c.bound))
    yield of("value_exact", value_exact=value + tiny)
    yield of("value_exact", value_exact=value - tiny)
    yield of("bound, rounded", bound=math.nextafter(c.bound, math.inf))
    low = value - tiny
    yield of("bound", bound_exact=low, bound=max(float_at_least(low), c.value), gap=0.0)
    # True or not, the dual variables of the file do not prove it.
    if bound > value:
        low = value
        yield of(
            "bound",
            pending,
            bound_exact=low,
            bound=max(float_at_least(low), c.value),
            gap=0.0,
            gain_gap=None if c.gain_gap is None else 0.0,
        )
        yield of("gap", gap=0.0)
        yield of("gap", gap=c.gap * 2)
        yield of("gap", gap=math.inf)
    more = bound + width
    gap = float_at_least((more - value) / width)
    yield of("optimal", bound_exact=more, bound=float_at_least(more), gap=gap / 3)
    yield of("gain_gap", gain_gap=0.123)
    if c.gain_gap is not None:
        yield of("gain_gap", gain_gap=None)
        yield of("gain_gap", gain_gap=c.gain_gap * 1.01 + 1e-15)


def broken_cases() -> Iterator[Case]:
    """Files of another form, each by one change of a good one, and other things than files."""
    unreadable = {"unreadable"}
    good = {name: json.loads(in_bytes(designed(*asked))) for name, asked in LINEAR.items()}
    first = good["two notions"]

    def of(name: str, path: tuple[Any, ...], value: Any, state: set[str] = unreadable) -> Case:
        return Case(
            f"{name}, {path}: {value!r}"[:90], in_bytes(changed(good[name], path, value)), state
        )

    for text in (
        b"", b"{", b"[]", b"null", b'"mechdesign"', b"\xff", b"\xef\xbb\xbf{}", b"NaN", b"[1e999]",
        b"[" * 70 + b"]" * 70, b"[" * 10**5, b"1" * 5000,
        in_bytes(first).replace(b'"a"', b"NaN", 1),
        in_bytes(first).replace(b'"schema": 1', b'"schema": 1, "schema": 1', 1),
        in_bytes(first)[:-1], in_bytes(first) + b"x",
        *(
            in_bytes(first).replace(b'{"format"', b'{"extra": ' + more + b', "format"', 1)
            for more in (b"1e999", b"1" * 4000, b"0." + b"1" * 4000, b"[" * 65 + b"]" * 65)
        ),
    ):  # fmt: skip
        yield Case(f"text {text[:20]!r}", text, unreadable)
    for path in [*_places(first)]:
        if path[0] not in ("digest", "version", "utility") and path[-1] not in OPTIONAL:
            yield of("two notions", path, GONE)
    yield Case(
        "digest", in_bytes({**first, "digest": "0" * 64}), {"refuted"}, {"digest": "refuted"}
    )
    two, weights = "two notions", ("mechanism", "weights")
    given, saved = ("notions", 0, "parameters"), ("certificate",)
    saved_exact = (*saved, "bound_exact")
    one = first["mechanism"]["weights"][0]
    refuted = {"refuted"}
    lone = json.loads(in_bytes(designed(*LINEAR["ldp"]).mechanism))
    for path, value, told in (
        (("weights", 0, 0), "0", refuted),
        (("weights", 1), ["-1", str((1 << 53) + 1), "0", "0"], unreadable),
    ):
        data = in_bytes(changed(lone, ("mechanism", *path), value))
        states = {"rows": "refuted"} if told == refuted else {}
        yield Case(f"mechanism, {path}", data, told, states)
    public = json.loads(in_bytes(md.PublicDesign.of(designed(*LINEAR["ldp"]).mechanism, [])))
    for path, value, state in (
        (("fingerprint",), "0" * 64, refuted), (("stated",), [5], unreadable),
        (("stated",), ["PML(1)"], refuted),
    ):  # fmt: skip
        yield Case(f"public, {path}", in_bytes(changed(public, path, value)), state)
    asking = {**public, **QUESTION}
    for path, value in (
        (("questions", 0, 0), 1.1e60), (("questions", 0, 1), -9e-61), (("questions",), []),
        (("questions", 0), [1, 2, 3, 4]), (("answers",), ["a", "b"]),
        (("answers", 0), {"float": "nan"}),
    ):  # fmt: skip
        data = in_bytes(changed(asking, path, value))
        yield Case(f"public, a question with {path} {value}", data, unreadable)
    for name in ("questions", "answers"):
        alone = {key: value for key, value in asking.items() if key != name}
        yield Case(f"public, without {name} alone", in_bytes(resealed(alone)), unreadable)
    twice = {**asking, "questions": asking["questions"] * 2, "answers": [1, 1.0]}
    yield Case("public, two names that are one", in_bytes(resealed(twice)), unreadable)
    told = [{"name": "LDP", "parameters": {"epsilon": 0.5}}]
    data = in_bytes(changed(public, ("notions",), told))
    yield Case("public, a level", data, refuted, {"privacy: LDP": "refuted"})
    others = {**good, **{name: json.loads(in_bytes(required(name))) for name in OTHERS}}
    parameters = ("requirements", 0, "parameters")
    for name, path, value in (
        ("sums", (*parameters, "shape"), [3, 2]),
        ("sums", (*parameters, "places"), [[0, 0], [8, 1]]),
        ("goals", (*parameters, "masses"), [1, 1, 1, 1]),
        ("goals", ("utility", "gains"), others["rows"]["utility"]["gains"]),
        ("symbols", ("utility", "parts"), others["symbols"]["utility"]["parts"] * 2),
        ("priors of use", ("utility", "parts", 0, "prior"), MORE),
        ("zero mass in use", ("utility", "parts", 0, "prior", "weights"), ["1", "1", "1"]),
        ("cost", (*parameters, "costs"), [row[:2] for row in COSTS]),
        ("rows", (*parameters, "right"), [1.4]),
        ("nearly symmetric", (*parameters, "tolerance"), -0.1),
        ("within positions", ("mechanism", "outputs"), ["a", "b", "z"]),
        ("nearly symmetric", ("mechanism", "outputs"), ["a", "b", "z"]),
        ("rows", ("certificate", "duals", "limits"), [0.1]),
        ("goals", ("certificate", "duals", "mixture"), [0.1]),
        ("graph", (*given, "distances"), ["graph", [[0, 1, 0], [1, 2, 0.5], [2, 3, 2]]]),
        ("box", (*given, "priors"), ["box", [*map(list, BOX_ROWS), ["z", 0, 1]]]),
    ):
        data = in_bytes(changed(others[name], path, value))
        yield Case(f"{name}, {path}: {value}"[:90], data, unreadable)
    for name, state in (("nothing", "proved"), ("symmetry", "unreadable")):
        table = [[0, 2, 1, 1], [2, 0, 1, 1], [1, 1, 0, 1], [1, 1, 1, 0]]
        found = md.PublicDesign.of(
            designed(*LINEAR["no metric"]).mechanism, [md.MetricPrivacy(9, table)]
        )
        content = json.loads(in_bytes(found))
        if name == "symmetry":
            table = ["matrix", [[0, 1, 1, 1], *table[1:]]]
            content = changed(content, ("notions", 0, "parameters", "distances"), table)
        yield Case(f"metric, {name}", in_bytes(content), {state})
    moved = json.loads(json.dumps(good["entries"]).replace("[0, 1, 2, 3]", "[3, 2, 1, 0]"))
    yield Case("entries of other counts", in_bytes(resealed(moved)), unreadable)
    words = json.loads(json.dumps(good["adjacent"]).replace("[0, 1, 2, 3]", '["0", "1", "2", "3"]'))
    assert words["prior"]["labels"] == ["0", "1", "2", "3"]
    yield Case("numbers in quotes", in_bytes(resealed(words)), unreadable)
    low = {**first["certificate"], "bound_exact": "-" + "1" * 400}
    data = in_bytes(changed(first, saved, {**low, "bound": low["value"]}))
    yield Case("a bound below floats", data, refuted, {"bound, rounded": "proved"})
    data = in_bytes(changed(first, ("notions", 0, "name"), "Unheard"))
    yield Case("unheard", data, refuted, {"privacy: Unheard": "not proved here"})
    alike = json.loads(in_bytes(designed(*LINEAR["ldp, nothing"])))
    data = in_bytes(changed(alike, (*saved, "repair", "constant"), True))
    yield Case("rows alike by repair", data, {"proved"}, {"constant": "proved"})
    for path, value in (
        ((*weights, 0), [str(int(one[0]) - 1), *one[1:]]), (("prior", "weights"), ["1"] * 3),
        (("mechanism", "denominator_bits"), 52), (("mechanism", "outputs", 0), "z"),
        (("prior", "probabilities", 0), 0.25), ((*saved, "fingerprint"), "0" * 64),
        ((*saved, "optimal"), False), ((*saved, "repair", "constant"), True),
        (("utility", "gains", 0, 0), 0.99),
    ):  # fmt: skip
        yield of(two, path, value, refuted)
    duals, shares = (*saved, "duals"), (*saved, "duals", "multipliers")
    matrix = {"shape": [3, 3], "rows": [0], "columns": [0], "values": [0.5]}
    twice = {"shape": [3, 3], "rows": [0, 0], "columns": [0, 0], "values": [0.5, 0.5]}
    line = good["line"]["certificate"]["duals"]["multipliers"][0]
    yield of("line", (*shares, 0), [*line, matrix])
    alone = ["a", "b", "b"]
    for path, *values in (
        ((*weights, 0), [*one, "0"], ["-1", str(int(one[0]) + int(one[1]) + 1), "0"]),
        ((*weights, 0, 0), "0x10", "0" + one[0], f"{one[0][0]}_{one[0][1:]}", 1.5, "1" * 400_001),
        (weights, first["mechanism"]["weights"][:2]), (("schema",), 2, True),
        (("format",), "other"),
        (("kind",), "other", "mechanism"), (("mechanism", "denominator_bits"), -1, 1 << 21, True),
        (("mechanism", "inputs"), alone, [], ["b", "a", "c"]),
        (("mechanism", "outputs"), alone, []),
        (("mechanism", "inputs", 0), {"tuple": ["a"]}), (("prior", "labels"), alone),
        (("prior", "weights"), ["1", "1"], ["0"] * 3, ["-1", "1", "1"], ["1/2", "1", "1"]),
        (("notions",), {}, []), (("notions", 0, "parameters", "epsilon"), -0.5, True, None, "x"),
        (("notions", 0, "parameters"), {"epsilon": 1.0, "delta": 0}),
        ((*saved, "verdicts"), ["yes"]), ((*saved, "verdicts", 0), "no"),
        ((*saved, "achieved"), [[1.0]]), ((*saved, "achieved", 0), None, [1.0, 1.0]),
        ((*saved, "optimal"), 1), ((*saved, "repair", "constant"), 0), ((*saved, "value"), "x"),
        ((*saved, "gap"), True), ((*saved, "gain_gap"), [1]),
        (saved_exact, "x", "1/0", "1/-2", "0.5", True, "1" * 400_001),
        (("utility", "gains"), [[1.0, 0.0, 0.0]], [[1.0] * 4] * 3, [[1e151, 0.0, 0.0]] * 3),
        ((*duals, "prices"), [0.1], [True, 0.1, 0.1]), ((*duals, "power"), 1, -1101, 0.5),
        ((*duals, "offset"), True), ((*shares, 0), [matrix]), ((*shares, 0, 0), twice),
        (shares, first["certificate"]["duals"]["multipliers"][:1]),
        *(
            ((*shares, 0, 0), {**matrix, part: value})
            for part, value in (
                ("shape", [3, 2]), ("shape", [2, 3]), ("rows", [3]), ("columns", [-1]),
                ("rows", [0, 1]), ("values", ["1"]), ("values", [0.5, 0.5]),
            )
        ),
    ):  # fmt: skip
        for value in values:
            yield of(two, path, value)
    for name, key, values in (
        ("adjacent", "neighbours", [[[0, 9]]]),
        ("line", "distances", ["other", ["matrix", [[0]]]]),
        ("matrix", "distances", [
            ["matrix", [[0, 1, 1, 1], [2, 0, 1, 1], [1, 1, 0, 1], [1, 1, 1, 0]]],
            ["matrix", [[0, -1, 1, 1], [-1, 0, 1, 1], [1, 1, 0, 1], [1, 1, 1, 0]]],
        ]),
        ("graph", "distances", [["graph", [[0, 9, 1]]]]),
        ("entries", "entries", [2, 10**12]),
        ("entries", "low", [-0.1, 0.9]),
        ("entries", "high", [1.1]),
        ("feature", "feature", [[["a", [[0, 0]]], ["b", [[0, 1]]], ["c", [[0, 1]]]],
                                [["a", [[0, 2], [1, -1]]], ["b", [[0, 1]]], ["c", [[0, 1]]]]]),
        ("secrets", "secrets", [[["s", [["z", 1]]], ["t", [["b", 1]]]],
                                [["s", [["a", 1.5]]], ["t", [["b", 1]]]]]),
        ("secrets", "pairs", [[["s", "u"]]]),
        ("secrets, priors", "priors", [[[["a", 0.5]]], [[["a", 2], ["b", -1]]]]),
        ("vertices", "priors", [["vertices", [[["a", 0.5]]]]]),
        ("floor", "priors", [["floor", -0.1], ["floor", 0.4]]),
        ("box", "priors", [
            ["box", [["a", 0, 1], ["b", 0.5, 0.4], ["c", 0, 1]]],
            ["box", [["a", 0.5, 1], ["b", 0.5, 1], ["c", 0.5, 1]]],
            ["box", [["a", 0, 0.2], ["b", 0, 0.2], ["c", 0, 0.2]]],
        ]),
        ("ball", "priors", [["ball", [["a", 0.5], ["b", 0.25], ["c", 0.25]], 2.5],
                            ["ball", [["a", 0.5], ["b", 0.25], ["c", 0.25]], -0.5],
                            ["ball", [["a", 0.5], ["b", 0.25], ["c", 0.5]], 0.5]]),
        ("approximate", "delta", [-0.1, 1.1]),
    ):  # fmt: skip
        for value in values:
            yield of(name, (*given, key), value)


FIVE = md.Prior.from_counts([60, 30, 20, 15, 12], ["a", "b", "c", "d", "e"])
ESTIMATES: dict[str, dict[str, Any]] = {
    "frequencies": {},
    "a question": {"of": [[1, 2, 3, 4, 5]]},
    "two questions": {"of": [[1, 2, 3, 4, 5], [1, 0, 0, 1, 0]], "weights": [1, 3]},
    "weights": {"weights": [1, 2, 3, 4, 5]},
    "a matrix of weights": {"weights": np.eye(5) + 0.3 * np.eye(5)[::-1]},
    "another truth": {"truth": {"e": 1, "d": 2, "c": 3, "b": 4, "a": 5}},
    "a list of truths": {"truth": [[1, 1, 1, 1, 2], [4, 1, 1, 1, 1]]},
}
#: Cones of which all extreme columns are priced: whether ends of lifts and ratios bind, alone,
#: together, at what corners.
LISTED = {
    "ratios": md.LDP(1),
    "wide ratios": md.LDP(3),
    "lifts above": md.PML(0.7),
    "lifts below": md.PMC(0.4),
    "lifts": md.LIP(0.6),
    "lifts of two levels": md.ALIP(0.3, 0.8),
    "lifts that ask little above": md.ALIP(0.3, 3.0),
    "ratios and lifts above": [md.LDP(1), md.PML(0.4)],
    "ratios and lifts below": [md.LDP(0.8), md.PMC(0.4)],
    "ratios and lifts": [md.LDP(0.7), md.LIP(0.5)],
    "two of each": [md.LDP(1), md.LDP(0.9), md.PML(0.5), md.PML(0.6), md.PMC(0.7), md.PMC(0.6)],
}
PROVED = dict.fromkeys(("value", "bound", "gap", "optimal"), "proved")
SEARCHED = dict.fromkeys(("bound", "gap", "optimal"), "not proved here")


def listed_cases() -> Iterator[Case]:
    """Designs for estimates whose bounds follow from their prices of all extreme columns."""
    open_state, duals = {"not proved here"}, ("certificate", "duals")
    for name, notions in LISTED.items():
        found = md.design(FIVE, md.utility.Estimation(), notions)
        content = json.loads(in_bytes(found))
        bound = content["certificate"]["bound"]
        own = bound * (1 + 1e-9), bound
        yield Case(f"estimates, {name}", in_bytes(content), {"proved"}, PROVED, own)
        # A little less cannot be proved, as a kernel is that good; nor without the dual variables.
        for place, what in (
            ("prices", [0.0] * 5),
            ("prices", None),
            ("prices", content["certificate"]["duals"]["prices"][::-1]),
            ("inverse", (1.001 * np.array(content["certificate"]["duals"]["inverse"])).tolist()),
            ("inverse", GONE),
        ):
            data = in_bytes(changed(content, (*duals, place), what))
            yield Case(f"estimates, {name}, {place} changed", data, open_state, SEARCHED)
    content = json.loads(in_bytes(md.design(FIVE, md.utility.Estimation(), md.LDP(1))))
    for place, what in (("prices", [1.0] * 4), ("inverse", [[1.0] * 4] * 5)):
        data = in_bytes(changed(content, (*duals, place), what))
        yield Case(f"estimates, {place} of another shape", data, {"unreadable"})
    asked = md.utility.Estimation(weights=np.eye(5) + 0.3 * np.eye(5)[::-1])
    content = json.loads(in_bytes(md.design(FIVE, asked, md.LDP(1))))
    for name, weights in (
        ("indefinite", np.eye(5) + 1.5 * np.eye(5)[::-1]),
        ("negative", np.diag([1.0, 1, 1, 1, -1])),
        ("with zeros on the diagonal", np.eye(5)[::-1] - np.diag([0.0, 0, 1, 0, 0])),
        ("not symmetric", np.eye(5) + np.triu(np.ones((5, 5)), 1) / 5),
    ):
        data = in_bytes(changed(content, ("utility", "weights"), weights.tolist()))
        yield Case(f"weights that are {name}", data, {"refuted"}, {"bound": "not proved here"})
    twice = md.utility.Estimation(of=[[1, 0, 2, 0, 1]], weights=[[2.0]])
    yield Case("one question", in_bytes(md.design(FIVE, twice, md.LDP(1))), {"proved"}, PROVED)
    many = md.Prior.from_counts(range(3, 16))
    found = md.design(many, md.utility.Estimation(), md.LDP(1))
    yield Case("estimates, many symbols", in_bytes(found), open_state, SEARCHED)


#: Cones that requirements cut, or of which notions ask other things, with what each column keeps,
#: and another end of a requirement at which the dual variables prove less.
CUT: dict[str, tuple[Any, list[Any], dict[str, Any] | None]] = {
    "a ratio": (md.LDP(1), [R.ratio("a", "b", 1.3)], {"coefficients": [["a", 1.0], ["b", -1.4]]}),
    "a ceiling": (md.LDP(1), [R.posterior("b", at_most=0.3)], {"high": 0.31}),
    "a floor": (md.PML(0.7), [R.posterior(["a", "d"], at_least=0.4)], {"low": 0.39}),
    "ends of a lift": (md.LIP(0.6), [R.lift(["c", "e"], 0.9, 1.2)], {"high": 1.25}),
    "no level": ([md.LDP(2500), md.PML(1)], [R.posterior("a", at_most=0.6)], {"high": 0.61}),
    "two cuts": (md.LDP(1), [R.ratio("a", "b", 1.5), R.lift("c", at_most=1.2)], None),
    "lengths": (
        md.MetricPrivacy(1, distances=[[abs(x - z) / 2 for x in range(5)] for z in range(5)]),
        [],
        None,
    ),
    "a choice": (md.PML(1), [R.apart("a", "c")], None),
    "a choice of three": (md.PML(1.4), [R.apart("a", "c", "e")], {"symbols": ["a", "c"]}),
    "a choice under a cut": (
        md.PML(1),
        [R.apart("b", "c"), R.posterior("a", at_most=0.7)],
        None,
    ),
}


def cut_cases() -> Iterator[Case]:
    """Designs for estimates where columns must keep more than bounds on lifts and ratios."""
    estimation, parameters = md.utility.Estimation(), ("requirements", 0, "parameters")
    refuted = {"refuted"}
    for name, (notions, wishes, other) in CUT.items():
        found = md.design(FIVE, estimation, notions, subject_to=wishes)
        content = json.loads(in_bytes(found))
        bound = content["certificate"]["bound"]
        own = bound * (1 + 1e-9), bound
        yield Case(f"estimates, {name}", in_bytes(content), {"proved"}, PROVED, own)
        if other is not None:
            # The fingerprint is of the requirement as well; less is proved, as more is allowed.
            wider = content
            for key, value in other.items():
                wider = changed(wider, (*parameters, key), value)
            states = {"bound": "not proved here", "requirement": "proved"}
            yield Case(f"estimates, {name}, wider", in_bytes(wider), refuted, states)
    free = md.design(FIVE, estimation, md.PML(1))
    for name in ("a ceiling", "a floor", "ends of a lift", "a choice", "a choice of three"):
        wish = CUT[name][1][0]
        assert wish.check(free.mechanism, FIVE).verdict is Verdict.NO
        states = {f"requirement: {type(wish).__name__}": "refuted", "bound": "proved"}
        yield Case(f"not {name}", claiming(free, requirements=[wish]), refuted, states)
    # Columns that are not alike there are none of a kernel.
    asked = md.utility.Estimation({x: "abcde".find(x) // 2 for x in FIVE.labels})
    equal = md.design(FIVE, asked, md.PML(1), subject_to=R.ratio("a", "b", 1))
    yield Case("estimates, rows that are alike", in_bytes(equal), {"proved"}, PROVED)
    nine = md.Prior.from_counts(range(3, 12))
    wide = md.design(nine, estimation, md.LDP(1), subject_to=R.ratio(0, 8, 1.3))
    yield Case("estimates, a cut of many", in_bytes(wide), {"not proved here"}, SEARCHED)


def estimate_cases() -> Iterator[Case]:
    """Designs for estimates: their value is proved, and so is their bound."""
    saved, open_state, refuted = ("certificate",), {"not proved here"}, {"refuted"}
    estimation = md.utility.Estimation
    made = {}
    for name, asked in ESTIMATES.items():
        found = md.design(FIVE, estimation(**asked), md.PML(1))
        made[name] = content = json.loads(in_bytes(found))
        yield Case(name, in_bytes(content), {"proved"}, PROVED)
        value = content["certificate"]["value"]
        # No more than the risk may be said; a little less may, and then the gap is another.
        for share, state in ((2e-15, "proved"), (1e-8, "refuted"), (-3e-16, "refuted")):
            data = in_bytes(changed(content, (*saved, "value"), value * (1 + share)))
            yield Case(f"{name}, value off by {share}", data, refuted, {"value": state})
    content = made["frequencies"]
    value = content["certificate"]["value"]
    for place, what in (
        ("truth", made["another truth"]["utility"]["truth"]),
        ("questions", [[1, 0, 0, 0, 0]]),
        ("weights", [1, 1, 1, 1, 2]),
    ):
        forged = changed(content, ("utility", place), what)
        if place == "questions":
            forged = changed(forged, ("utility", "answers"), ["a"])
        yield Case(f"another {place}", in_bytes(forged), refuted, {"value": "refuted"})
    truth = made["another truth"]["utility"]["truth"]
    nobody = {**truth, "weights": ["0", *truth["weights"][1:]]}
    shares = [int(w) / sum(map(int, nobody["weights"])) for w in nobody["weights"]]
    nobody["probabilities"] = shares
    data = in_bytes(changed(content, ("utility", "truth"), nobody))
    yield Case("a truth without a symbol", data, {"unreadable"})
    numbered = {**truth, "labels": [*range(5)], "weights": truth["weights"][::-1]}
    numbered["probabilities"] = truth["probabilities"][::-1]
    at_places = changed(made["another truth"], ("utility", "truth"), numbered)
    yield Case("a truth by places", in_bytes(at_places), {"proved"}, {"value": "proved"})
    for claim in ("bound_exact", "value_exact"):
        data = in_bytes(changed(content, (*saved, claim), "-1/2"))
        yield Case(f"another {claim} of a risk", data, refuted)
    sure = json.loads(in_bytes(md.design(md.Prior([1.0], ["a"]), estimation(), md.LDP(1))))
    yield Case("one symbol alone", in_bytes(sure), {"proved"}, PROVED)
    for name, file, exact in (("one symbol", sure, "1/7"), ("some symbols", content, "0")):
        data = in_bytes(changed(file, (*saved, "value_exact"), exact))
        yield Case(f"risk of {name} {exact}", data, refuted, {"value_exact": "refuted"})
    exact = (*saved, "bound_exact")
    below = changed(content, exact, str(Fraction(value) * (1 + Fraction(1, 10**6))))
    yield Case("a bound below the value", in_bytes(below), refuted, {"bound": "refuted"})
    apart = changed(content, exact, str(Fraction(value) * (1 - Fraction(1, 1000))))
    states = {"bound": "proved", "bound, rounded": "refuted", "gap": "refuted"}
    yield Case("a bound with another gap", in_bytes(apart), refuted, states)
    share = float_at_least(Fraction(1, 1000))
    for gap, state in ((share, "proved"), (math.nextafter(share, 0), "refuted"), (2.0, "refuted")):
        data = in_bytes(changed(changed(apart, (*saved, "gap"), gap), (*saved, "optimal"), False))
        yield Case(f"a gap of {gap}", data, {"refuted", "proved"}, {"gap": state})
    better = json.loads(in_bytes(md.design(FIVE, estimation(), md.LDP(0.99))))
    better = changed(better, ("notions", 0, "parameters", "epsilon"), 1.0)
    yield Case("a bound of a smaller level", in_bytes(better), refuted, SEARCHED)
    nothing = changed(content, ("utility", "questions"), [[1] * 5])
    nothing = changed(nothing, ("utility", "answers"), ["a"])
    yield Case("nothing asked", in_bytes(nothing), {"unreadable"})
    unknown = {"bound": 1.0, "bound_exact": "1", "gap": "unknown", "optimal": False}
    open_gap = changed(sure, saved, {**sure["certificate"], **unknown})
    yield Case("one symbol, gap unknown", in_bytes(open_gap), {"proved"}, {"gap": "proved"})
    closed = changed(sure, saved, {**sure["certificate"], **unknown, "gap": 1.0})
    yield Case("one symbol, a gap", in_bytes(closed), refuted, {"gap": "refuted"})
    told = md.design(FIVE, estimation(), md.PML(20))
    yield Case("everything told", in_bytes(told), open_state | {"proved"}, {"value": "proved"})
    yield from _of_any_truth(saved, open_state, refuted)
    found = md.design(ABC, estimation(), md.LDP(1))
    weights, bits = found.mechanism.weights, found.mechanism.bits
    for name, rows, told, state in (
        ("rows alike", weights[[0, 0, 2]], refuted, "refuted"),
        (
            "an output that never occurs",
            np.column_stack([weights, weights[:, 0] * 0]),
            {"proved"},
            "proved",
        ),
    ):
        mechanism = md.Mechanism.from_weights(rows, bits, ABC.labels)
        yield Case(name, claiming(found, mechanism=mechanism), told, {"value": state})
    found = without_mass(estimation())
    yield Case("a symbol without mass", in_bytes(found), {"proved"}, PROVED)


def without_mass(asked: Any) -> Any:
    """A file of estimates where a symbol has no mass and the row of another one."""
    labels = ["a", "b", "c", "d"]
    known = md.design(md.Prior.from_counts([3, 2, 1], ["a", "c", "d"]), asked, md.PML(0.6))
    weights, bits = known.mechanism.weights[[0, 0, 1, 2]], known.mechanism.bits
    kernel = md.Mechanism.from_weights(weights, bits, labels, known.mechanism.outputs)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ZeroMassWarning)
        return md.certify(kernel, md.Prior.from_counts([3, 0, 2, 1], labels), asked, md.PML(0.6))


def _of_any_truth(saved: tuple[str], open_state: set[str], refuted: set[str]) -> Iterator[Case]:
    """The largest risk of all truths is between that at the one in the file and one above it."""
    asked = md.utility.Estimation(truth="any")
    found = md.design(FIVE, asked, md.PML(1))
    content = json.loads(in_bytes(found))
    yield Case("any truth", in_bytes(content), {"proved"}, PROVED)
    value = content["certificate"]["value"]
    for share in (1e-8, -1e-8):
        data = in_bytes(changed(content, (*saved, "value"), value * (1 + share)))
        yield Case(f"any truth, value off by {share}", data, refuted, {"value": "refuted"})
    place = (*saved, "worst")
    told = {"value": "not proved here", "bound": "proved"}
    data = in_bytes(changed(content, place, ["1"] * 5))
    yield Case("any truth: another that is not the worst", data, open_state, told)
    for given in (["0", "1", "1", "1", "1"], ["1"] * 4):
        data = in_bytes(changed(content, place, given))
        yield Case(f"any truth: worst at {given}", data, {"unreadable"})
    data = in_bytes(changed(content, (*saved, "duals", "mixture"), [1.0] * 4))
    yield Case("any truth: a mixture of four", data, {"unreadable"})
    less = json.loads(json.dumps(content))
    del less["certificate"]["worst"]
    yield Case("any truth: no worst", in_bytes(resealed(less)), open_state, told)
    sure = md.design(md.Prior([1.0], ["a"]), md.utility.Estimation(truth="any"), md.LDP(1))
    yield Case("any truth of one symbol", in_bytes(sure), {"proved"}, PROVED)
    found = without_mass(asked)
    yield Case("any truth of some symbols", in_bytes(found), {"proved"}, PROVED)
    found = md.design(ABC, asked, md.LDP(1))
    weights, bits = found.mechanism.weights, found.mechanism.bits
    alike = md.Mechanism.from_weights(weights[[0, 0, 2]], bits, ABC.labels)
    data = claiming(found, mechanism=alike)
    yield Case("any truth, rows alike", data, refuted, {"value": "refuted"})


def named_cases() -> Iterator[Case]:
    """Files whose symbols are made of columns with names."""
    pairs = [("a", "f"), ("a", "m"), ("b", "f"), ("b", "m")]
    both = md.Prior([0.1, 0.2, 0.3, 0.4], labels=pairs).with_schema(["class", "sex"])
    one = ABC.with_schema(["job"])
    twins = md.Prior([0.5, 0.3, 0.2], labels=["aa", "bb", "cc"])
    made = {}
    for name, prior, notion in (
        ("a column of two", both, md.FeaturePML(0.3, "sex")),
        ("both columns", both, md.FeaturePML(0.5, ["class", "sex"])),
        ("the only column", one, md.FeaturePML(0.4, "job")),
        ("no columns", twins, md.LDP(1)),
    ):
        made[name] = json.loads(in_bytes(md.design(prior, HAMMING, notion)))
        yield Case(name, in_bytes(made[name]), {"proved"}, {"privacy": "proved"})
    for name, names in (
        ("a column of two", []),
        ("a column of two", ["sex", "sex"]),
        ("a column of two", ["sex", 3]),
        ("a column of two", [None, "sex"]),
        ("a column of two", ["class", "sex", "age"]),
        ("no columns", ["first", "second"]),
        ("no columns", ["first", "second", "third"]),
        ("the only column", []),
    ):
        content = made[name]
        for part in ("prior", "mechanism"):
            attributes = [{"name": name} for name in names]
            content = changed(content, (part, "attributes"), attributes)
        yield Case(f"{name} as {names}", in_bytes(content), {"unreadable"})
    content = changed(made["the only column"], ("mechanism", "attributes"), [{"name": "other"}])
    yield Case("a kernel of another column", in_bytes(content), {"unreadable"})


def subset_cases() -> Iterator[Case]:
    """Subset selections, whose privacy is proved at the weights of each class of reports."""
    open_state, refuted = {"not proved here"}, {"refuted"}
    epsilon = ("notions", 0, "parameters", "epsilon")
    place = ("types", 0, "parts", 0)
    for n, notion in ((31, md.LDP(1)), (49, md.LIP(0.5)), (49, md.PML(1)), (1000, md.LDP(1))):
        content = json.loads(in_bytes(md.subset_selection(n, notion)))
        part = content["types"][0]["parts"][0]
        is_full = part["base"] ** part["dimension"] == n
        proved = is_full or isinstance(notion, md.LDP)
        privacy = {"privacy": "proved" if proved else "not proved here"}
        placed = "placements" in part
        risk = {"risk": "not proved here" if placed else "proved"}
        states = {"weights": "proved", "rows": "proved", **risk, **privacy}
        yield Case(f"{n} symbols, {notion}", in_bytes(content), open_state, states)
        if not placed:
            data = in_bytes(changed(content, ("risk_exact",), "1/3"))
            yield Case(f"{n} symbols, another risk", data, refuted, {"risk": "refuted"})
            data = in_bytes(changed(content, (*place, "base"), part["base"] + 1))
            yield Case(f"{n} symbols, no prime", data, {"unreadable"})
        state = "refuted" if is_full else "not proved here"
        data = in_bytes(changed(content, epsilon, 0.3))
        yield Case(f"{n} symbols, {notion} as 0.3", data, {state}, {"privacy": state})
        data = in_bytes(changed(content, place, None))
        yield Case(f"{n} symbols, {notion}, all alike", data, {"unreadable"})
        if len(part["profiles"]) == 1:
            # All symbols but one are high or in the middle, so that none may be low.
            for low, state in ((0, "proved"), (1, "refuted")):
                high = 1 << 52
                only = {"count": part["base"] - 1, "high": str(high), "middle": str(high - low)}
                data = in_bytes(changed(content, (*place, "profiles", 0), only))
                told = {"weights": state}
                yield Case(f"{n} symbols, {low} low", data, open_state | refuted, told)
        data = in_bytes(changed(content, ("notions", 0, "name"), "Mine"))
        told = {"privacy": "not proved here"}
        yield Case(f"{n} symbols, {notion} as another", data, open_state, told)
        data = in_bytes(changed(content, ("notions", 0, "parameters"), {"epsilon": 9.0, "more": 1}))
        yield Case(f"{n} symbols, {notion} with more", data, {"unreadable"})
        for path, value in (
            (("base",), 1), (("profiles",), part["profiles"] * 2), (("profiles", 0, "count"), 0),
            (("profiles", 0, "count"), part["base"]),
        ):  # fmt: skip
            data = in_bytes(changed(content, (*place, *path), value))
            yield Case(f"{n} symbols, {notion}, {path} {value}"[:90], data, {"unreadable"})
        if placed:
            again = part["placements"][0]["elements"][1]
            for value in (again, part["base"], -1):
                path = (*place, "placements", 0, "elements", 0)
                data = in_bytes(changed(content, path, value))
                yield Case(f"{n} symbols, {notion}, element {value}", data, {"unreadable"})
            for path, value in ((("placements", 0, "mass"), "0"), (("placements",), [])):
                data = in_bytes(changed(content, (*place, *path), value))
                yield Case(f"{n} symbols, {notion}, {path} {value}", data, {"unreadable"})
        for name, value in (("high", 1 << 53), ("middle", -1)):
            data = in_bytes(changed(content, (*place, "profiles", 0, name), str(value)))
            told = refuted if value > 0 else {"unreadable"}
            yield Case(f"{n} symbols, {notion}, {name} {value}", data, told)


def group_cases() -> Iterator[Case]:
    """Subset selections of groups, whose privacy is proved at all classes of reports together."""
    open_state, refuted, unreadable = {"not proved here"}, {"refuted"}, {"unreadable"}
    epsilon = ("notions", 0, "parameters", "epsilon")
    proved = {"weights": "proved", "rows": "proved", "privacy": "proved", "risk": "not proved here"}
    for masses, notion in (
        ([3, 1, 1, 1], md.LDP(1)), ([5, 5, 1, 1, 1], md.PML(1)), ([7, 1, 1, 1], md.ALIP(1, 0.5)),
    ):  # fmt: skip
        found = md.subset_selection(md.Prior.from_counts(masses), notion, tolerance=0)
        content, name = json.loads(in_bytes(found)), f"groups {masses}, {notion}"
        yield Case(name, in_bytes(content), open_state, proved)
        if len(notion.levels) == 1:
            level = found.certificate.checks[0].achieved[0]
            for share, state in ((1 + 1e-6, "proved"), (1 - 1e-6, "refuted")):
                data = in_bytes(changed(content, epsilon, level * share))
                yield Case(f"{name}, {share}", data, open_state | refuted, {"privacy": state})
        for other, more in (("Mine", {}), ("PML", {"more": 1.0})):
            asked = [{"name": other, "parameters": {"epsilon": 9.0, **more}}]
            data = in_bytes(changed(content, ("notions",), asked))
            told = {"unreadable"} if more else open_state
            states = {} if more else {"privacy": "not proved here"}
            yield Case(f"{name} as {other}", data, told, states)
    content = json.loads(in_bytes(md.subset_selection({"a": 3, "b": 1, "c": 1, "d": 1}, md.LDP(1))))
    split = next(i for i, one in enumerate(content["types"]) if one["parts"][1] is not None)
    part, first = ("types", split, "parts", 1), ("types", split, "chances", 0)
    weight = int(content["types"][split]["chances"][0])
    for path, value in (
        (first, str(weight + 1)), ((*part, "profiles", 0, "middle"), str(1 << 60)),
    ):  # fmt: skip
        data = in_bytes(changed(content, path, value))
        yield Case(f"groups, {path} {value}"[:90], data, refuted)
    whole = [str(1 << 53)] * 2
    for extra, state in ((["0", "0"], refuted), (["3", "2"], open_state)):
        # Of one type without parts, and another one that takes nothing or less from it.
        left = [str(int(w) - int(e)) for w, e in zip(whole, extra, strict=True)]
        types = [{"chances": chances, "parts": [None, None]} for chances in (left, extra)]
        data = in_bytes(changed(content, ("types",), types))
        yield Case(f"groups, type of {extra}", data, state, {"rows": "proved"})
    for path, value in (
        (first[:-1], [str(weight)]), (part[:-1], []), (("prior", "labels"), ["a", "b"]),
        (("prior", "weights", 1), "7"), ((*part, "base"), 1), ((*part, "dimension"), 2),
        ((*part, "profiles"), []), ((*part, "profiles", 0, "count"), 0),
        ((*part, "profiles", 0, "count"), 3), ((*part, "profiles", 0, "high"), "-1"),
        ((*part, "placements"), []), (first, "-1"),
    ):  # fmt: skip
        data = in_bytes(changed(content, path, value))
        yield Case(f"groups, {path} {value}"[:90], data, unreadable)
    many = {"labels": list(range(65)), "weights": list(map(str, range(1, 66)))}
    types = [{"chances": [str(1 << 53)] * 65, "parts": [None] * 65}]
    data = changed(content, ("prior",), {**content["prior"], **many})
    data = in_bytes(changed(data, ("types",), types))
    yield Case("groups, too many masses", data, unreadable)
    few = md.PublicSelection.of(md.subset_selection({"a": 3, "b": 1}, md.LDP(1)))
    public = json.loads(in_bytes(few))
    types = [{"chances": [str(1 << 53)], "parts": [None]}]
    data = changed(changed(public, ("types",), types), ("groups",), [0, 0])
    yield Case("public groups, one of them", in_bytes(data), unreadable)
    yield from _classes_of(content, part)
    # Of 400 and 100 symbols over primes some residues stand for fewer symbols than others.
    content = json.loads(
        in_bytes(md.subset_selection({i: 1 + (i < 400) for i in range(500)}, md.LDP(1)))
    )
    yield Case("uneven groups", in_bytes(content), open_state, proved)
    for name, level in (("PML", 9.0), ("LDP", 0.5)):
        asked = [{"name": name, "parameters": {"epsilon": level}}]
        data = in_bytes(changed(content, ("notions",), asked))
        yield Case(f"uneven groups, {name}", data, open_state, {"privacy": "not proved here"})


def _classes_of(content: dict[str, Any], part: tuple[Any, ...]) -> Iterator[Case]:
    """Groups of four, of which two classes of reports show two residues in their own ways."""
    half, some = 1 << 52, 1 << 50
    even = {"count": 1, "high": str(half), "middle": str(half)}
    more = {"count": 1, "high": str(half + some), "middle": str(half - some)}
    prior = {**content["prior"], "labels": [*"abcde"], "weights": ["3", "1", "1", "1", "1"]}
    prior["probabilities"] = [int(w) / 7 for w in prior["weights"]]
    whole = changed(content, ("prior",), prior)
    ratio = math.log(5 / 3)
    for profiles, level, state in (
        ([more, more], 1.01 * ratio, "proved"), ([more, more], 0.99 * ratio, "refuted"),
        ([even, more], 1.01 * ratio, "proved"), ([even, more], 0.99 * ratio, "not proved here"),
    ):  # fmt: skip
        one = {"base": 2, "dimension": 2, "profiles": profiles}
        types = [{"chances": [str(1 << 53)] * 2, "parts": [None, one]}]
        asked = [{"name": "LDP", "parameters": {"epsilon": level}}]
        data = in_bytes(changed(changed(whole, ("types",), types), ("notions",), asked))
        states = {"privacy": state, "rows": "proved", "weights": "proved"}
        yield Case(f"classes, {state}", data, {"refuted", "not proved here"}, states)
    each = [{**more, "high": str(half + i), "middle": str(half - i)} for i in range(1 << 12 | 1)]
    one = {"base": 2, "dimension": len(each), "profiles": each}
    types = [{"chances": [str(1 << 53)] * 2, "parts": [None, one]}]
    data = in_bytes(changed(whole, ("types",), types))
    yield Case("classes, too many", data, {"unreadable"})


def bin_cases() -> Iterator[Case]:
    """Distances between bins are those of their midpoints, no larger and no smaller."""
    inf, whole = math.inf, md.bins(edges=[0, 18, 65, 120], whole=True)
    made: dict[str, tuple[md.Prior, Any]] = {}
    for name, bins in {
        "whole": whole,
        "open": md.bins(edges=[-inf, 0, 0.1, 0.7, inf]),
        "whole, open, right": md.bins(edges=[-inf, 0, 18, 65, inf], whole=True, closed="right"),
        "open at one end": md.bins(edges=[1, 2.5, inf]),
        "halves": md.bins(edges=[-inf, 3, inf]),
        "days": md.bins(edges=[date(2019, 12, 31), date(2020, 2, 29), date(2021, 1, 1), inf]),
        "times": md.bins(edges=[datetime(1969, 1, 1, 7, 0, 0, 5), date(1970, 1, 2), date.max]),
        "years": md.bins(of="year", edges=[1990, 2000, 2001, 2003]),
    }.items():
        prior = md.Prior.from_counts({x: i for i, x in enumerate(bins.labels, 1)})
        step = float(np.diff(bins.midpoints).mean())
        made[name] = prior.with_schema({"x": bins}), md.MetricPrivacy(2 / step, "absolute")
    pairs = md.Prior.uniform([(x, y) for x in whole.labels for y in (0, 1)])
    both = pairs.with_schema({"age": whole, "sex": None})
    made["bins and a number"] = both, md.MetricPrivacy(0.02, "euclidean")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ZeroMassWarning)
        empty = md.Prior([0.5, 0, 0.5], whole.labels).with_schema({"x": whole})
    made["a bin without mass"] = empty, md.DP(1, "adjacent")
    told = {}
    for name, (prior, notion) in made.items():
        content = told[name] = json.loads(in_bytes(md.design(prior, HAMMING, notion)))
        yield Case(f"bins {name}", in_bytes(content), {"proved"}, {"privacy": "proved"})
        less = changed(
            content, ("notions", 0, "parameters", "epsilon"), notion.epsilon * (1 - 1e-6)
        )
        yield Case(f"bins {name}, less", in_bytes(less), {"refuted"}, {"privacy": "refuted"})
        found = from_json(content)
        public = json.loads(in_bytes(md.PublicDesign.of(found.mechanism, found.notions)))
        yield Case(f"bins {name}, public", in_bytes(public), {"proved"}, {"privacy": "proved"})
    days = "2020-02-30", "20200229", "2020-02-29T00:00:00+00:00", "18262", "2018-01-01"
    for name, place, value in (
        ("whole", "closed", "both"), ("whole", "whole", 1), ("whole", "edges", ["0", "18", "65"]),
        ("whole", "edges", ["0", "65", "18", "120"]), ("whole", "of", "decade"),
        ("whole", "edges", ["0", "18", "65", "2020-01-01"]), ("years", "whole", False),
        *(("days", "edges", ["2019-12-31", day, "2021-01-01", "inf"]) for day in days),
    ):  # fmt: skip
        data = told[name]
        for where in ("prior", "mechanism"):
            data = changed(data, (where, "attributes", 0, "bins", place), value)
        yield Case(f"bins with {place} {value}", in_bytes(data), {"unreadable"})


# What a stranger writes into a file


def telling(name: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """A file that says of the identity kernel that it has a notion, and is best."""
    content = json.loads(in_bytes(designed(ABC, HAMMING, md.PML(3))))
    content["notions"] = [{"name": name, "parameters": parameters}]
    content["mechanism"]["weights"] = [[str((x == y) << 53) for y in range(3)] for x in range(3)]
    saved = content["certificate"]
    saved |= {"achieved": [[0.0]], "value": 1.0, "value_exact": "1", "bound": 1.0}
    saved |= {"bound_exact": "1", "gap": 0.0, "gain_gap": 0.0, "optimal": True}
    saved["duals"] = {"prices": None, "multipliers": None}
    return resealed(content)


UNTIED = [[0.0 if x == z else "inf" for z in range(3)] for x in range(3)]
SLANTED = [[0.0, 1.0, 1.0], [1.0, 0.0, 1.0], [1.0, 2.0, 0.0]]
#: Parameters with which a notion would ask nothing, or be read in two ways.
VACUOUS: list[tuple[str, dict[str, Any]]] = [
    ("SymbolLIP", {"epsilon": 0.1, "levels_of": [["a", 1.0], ["b", 1.0], ["c", 1.0]], "ways": ""}),
    (
        "SymbolPML",
        {"epsilon": 0.1, "levels_of": [["a", 1.0], ["b", 1.0], ["c", 1.0], ["a", "inf"]]},
    ),
    ("FeaturePML", {"epsilon": 0.1, "feature": []}),
    ("FeaturePML", {"epsilon": 0.1, "feature": [[x, [[0, 1], [0, 0]]] for x in "abc"]}),
    ("DP", {"epsilon": 0.1, "neighbours": ""}),
    ("DP", {"epsilon": 0.1, "neighbours": []}),
    ("DP", {"epsilon": 0.1, "neighbours": "hamming"}),
    ("MetricPrivacy", {"epsilon": 0.1, "distances": ["graph", []]}),
    ("MetricPrivacy", {"epsilon": 0.1, "distances": ["matrix", UNTIED]}),
    *(
        (name, {"epsilon": 0.1, "levels_of": [[x, "inf"] for x in "abc"] + more})
        for name in ("SymbolPML", "SymbolLIP", "InputDiscriminativeLDP")
        for more in ([], [["z", 1.0]])
    ),
    ("SymbolPMC", {"epsilon": 9.0, "levels_of": [[x, 1.0] for x in "abcz"]}),
    ("ContextAwareLDP", {"epsilon": 0.1, "levels_of": []}),
    ("ContextAwareLDP", {"epsilon": 0.1, "levels_of": [["a", "b", "inf"]]}),
    ("ContextAwareLDP", {"epsilon": 0.1, "levels_of": [["a", "z", 1.0], ["a", "b", 9.0]]}),
    ("FeaturePML", {"epsilon": 0.1, "feature": [[x, [[0, 1]]] for x in "abc"]}),
    ("InferenceCost", {"epsilon": 0.1, "costs": [[1.0, 2.0], [1.0, 3.0], [2.0, 2.0]]}),
    ("RobustPML", {"epsilon": 0.1, "priors": ["vertices", [[["a", 1]]]]}),
    ("RobustPML", {"epsilon": 0.1, "priors": ["ball", [["a", 1]], 0]}),
    ("ApproximateLDP", {"epsilon": 0.1, "delta": 1.0}),
    ("DP", {"epsilon": 0.1, "neighbours": [["a", "a"]]}),
    ("DP", {"epsilon": 0.1, "neighbours": ["ab"]}),
    ("ContextAwareLDP", {"epsilon": 0.1, "levels_of": [["a", "b", 9.0], ["a", "b", 1.0]]}),
    ("MetricPrivacy", {"epsilon": 0.1, "distances": ["absolute", "x"]}),
    ("UtilityOptimisedLDP", {"epsilon": 0.1, "sensitive": ["a", "a"]}),
    ("MetricPrivacy", {"epsilon": 0.1, "distances": ["matrix", [[0.5, 1.0, 1.0]] * 3]}),
    ("MetricPrivacy", {"epsilon": 0.1, "distances": ["matrix", SLANTED]}),
    ("InferenceCost", {"epsilon": 0.1, "costs": [[0.0], [0.0], [0.0]]}),
    ("DP", {"epsilon": 0.1, "neighbours": [["a", "b"], ["c", "c"]]}),
    ("PML", {"epsilon": 10**60}),
    ("RobustPML", {"epsilon": 0.1, "priors": ["vertices", [[["a", 5], ["a", 1]]]]}),
    ("RobustPML", {"epsilon": 0.1, "priors": ["vertices", [[["a", 1]]], 3]}),
    *(
        ("Pufferfish", {"epsilon": 0.1, "secrets": secrets, "pairs": pairs, "priors": priors})
        for secrets, pairs, priors in (
            ([["s", [["a", 1]]], ["t", [["b", 1]]]], [], None),
            ([["s", [["a", 1]]], ["t", [["a", 0.5]]]], [["s", "t"]], None),
            ([["s", [["a", 1]]], ["t", [["b", 1]]]], [["s", "t"]], []),
            ([["s", [["a", 1]]], ["t", [["b", 1]]]], ["st"], None),
            ([["s", [["a", 1]]], ["s", [["b", 1]]]], [], None),
            ([["s", [["a", 1], ["a", 0]]], ["t", [["b", 1]]]], [["s", "t"]], None),
        )
    ),
    ("LDP", {"epsilon": {"text": 0.8}}),
    ("LDP", {"epsilon": 1}),
]


#: Parameters with which a requirement would ask nothing, or be read in two ways.
IDLE: list[tuple[str, dict[str, Any]]] = [
    ("Unbiased", {"values": [["a", 1.0], ["b", 0.5], ["c", 0.0], ["z", 9e99]], "tolerance": None}),
    ("Unbiased", {"values": [["a", 1.0], ["b", 0.5], ["c", 0.0], ["a", 0.5]], "tolerance": 0.9}),
    ("Entry", {"x": "a", "y": "a", "low": None, "high": None}),
    ("Entry", {"x": "a", "y": "a", "low": "", "high": None}),
    ("Entry", {"x": "a", "y": "a", "low": 0.9, "high": 0.1}),
    *(
        ("Posterior", {"symbols": symbols, "low": low, "high": high, "relative": False})
        for symbols, low, high in (
            ([], None, 0.9), (["a", "a"], None, 0.9), (["a"], None, None), (["a"], 0.9, 0.1),
        )
    ),
    ("Apart", {"symbols": ["a"]}),
    ("Apart", {"symbols": ["a", "a"]}),
    ("EqualError", {"groups": [["a", "b"]], "tolerance": 0.5, "costs": None}),
    ("EqualError", {"groups": [["a", "a"], ["b"]], "tolerance": 0.5, "costs": None}),
    ("EqualError", {"groups": [["a"], ["b"]], "tolerance": 0.0, "costs": None}),
    ("FewOutputs", {"most": 1e9}),
    ("Within", {"limit": "3/2", "distance": None}),
    ("EveryOutput", {"coefficients": [["a", 1.0], ["b", -1.0], ["a", -9.0]]}),
    ("EveryOutput", {"coefficients": [["a", 1.0], ["b", -0.5]]}),
    ("EveryOutput", {"coefficients": [["a", -1.0], ["b", -1.0]]}),
]  # fmt: skip


def _with(part: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {**part, **more}


def closed_files() -> Iterator[tuple[str, dict[str, Any]]]:
    """Files with what nothing asks for, or reads: names, lists, types and signs."""
    asked = md.design(ABC, md.utility.Estimation(), md.LDP(1))
    made = {
        "lip": designed(*LINEAR["lip"]),
        "few": required("few outputs"),
        "asked": asked,
        "any": md.design(ABC, md.utility.Estimation(truth="any"), md.LDP(1)),
        "public": md.PublicDesign.of(asked.mechanism, asked.notions, ["PML(1)"]),
        "selection": md.subset_selection(4, md.LDP(1)),
    }
    files = {name: json.loads(in_bytes(item)) for name, item in made.items()}
    part = {"shape": [9, 9], "rows": [], "columns": [], "values": []}
    saved, duals = ("certificate",), ("certificate", "duals")
    branch = files["few"]["certificate"]["duals"]["branches"][0]
    for name, path, value in (
        ("lip", (*duals, "inverse"), [[0.0] * 3] * 3), ("lip", (*duals, "branches"), []),
        ("few", (*duals, "branches", 0), _with(branch, excluded=[3])),
        ("few", (*duals, "branches", 0), _with(branch, more=1)),
        ("few", (*duals, "branches", 0, "duals", "branches"), []),
        ("asked", (*duals, "limits"), [0.0]), ("asked", (*duals, "multipliers"), [[part, part]]),
        ("lip", (*saved, "arithmetic"), "floats"), ("asked", (*saved, "arithmetic"), "floats"),
        ("lip", (*saved, "worst"), ["1"] * 3), ("asked", (*saved, "worst"), ["1"] * 3),
        ("any", (*saved, "worst"), ["1"] * 4), ("any", (*saved, "worst"), ["1\n"] * 3),
        ("lip", ("utility", "class"), "Hamming"), ("lip", ("utility", "parameters"), {}),
        ("lip", ("method",), "x\n"), ("lip", ("mechanism", "weights", 0, 0), "1\n"),
        ("lip", (*saved, "fingerprint"), files["lip"]["certificate"]["fingerprint"] + "\n"),
        ("lip", (*saved, "value_exact"), files["lip"]["certificate"]["value_exact"] + "\n"),
        ("lip", (*saved, "repair", "merged"), [3]), ("lip", (*saved, "repair", "more"), 1),
        ("lip", (*saved, "gap"), 1 << 60), ("lip", (*saved, "repair", "loss"), 1 << 60),
        ("public", ("prior",), files["lip"]["prior"]), ("public", ("questions",), [[1.0] * 3]),
        ("selection", ("prior",), files["lip"]["prior"]), ("selection", ("stated",), ["x"]),
    ):  # fmt: skip
        yield f"{name}: {path} {value}"[:70], changed(files[name], path, value)


def stranger_cases() -> Iterator[Case]:
    """What asks nothing or two things, is longer or shorter than it is, or stands there twice."""
    unreadable, saved = {"unreadable"}, ("certificate",)
    for number, (name, parameters) in enumerate(VACUOUS):
        data = in_bytes(telling(name, parameters))
        yield Case(f"asks nothing {number}: {name}", data, unreadable)
    for name, content in closed_files():
        yield Case(name, in_bytes(content), unreadable)
    wish = md.require.at_least("a", "a", 0.2)
    asked = json.loads(in_bytes(md.design(ABC, HAMMING, md.LDP(1), subject_to=wish)))
    for number, (name, parameters) in enumerate(IDLE):
        given = {"name": name, "parameters": parameters}
        # Without dual variables, so that nothing but what is required is of another form.
        bare = changed(asked, (*saved, "duals"), {"prices": None, "multipliers": None})
        data = in_bytes(changed(bare, ("requirements", 0), given))
        yield Case(f"requires nothing {number}: {name}", data, unreadable)
    barred = json.loads(in_bytes(md.design(ABC, HAMMING, md.PML(1), subject_to=R.zero("a", "c"))))
    data = in_bytes(changed(barred, ("requirements",), barred["requirements"] * 2))
    yield Case("required twice", data, unreadable)
    words = md.Prior([0.5, 0.3, 0.2], [("1", "0"), ("2", "0"), ("3", "1")])
    texts = json.loads(in_bytes(md.design(words, HAMMING, md.LDP(1))))
    far = [{"name": "MetricPrivacy", "parameters": {"epsilon": 1.0, "distances": "euclidean"}}]
    yield Case("distances of texts", in_bytes(changed(texts, ("notions",), far)), unreadable)
    several = [
        R.rows([np.eye(3)], "<=", [2.0]),
        R.rows([np.eye(3), np.ones((3, 3))], "<=", [2.0, 4]),
    ]
    found = md.design(ABC, GAINS3, md.LDP(1), subject_to=several)
    yield Case("rows of two lengths", in_bytes(found), {"proved"}, PROVED)
    linear, limits = json.loads(in_bytes(designed(*LINEAR["lip"]))), asked
    tied = json.loads(in_bytes(designed(*LINEAR["zero mass, in a set"])))
    for content, name, numbers in (
        (linear, "prices", [0.0] * 4), (linear, "prices", [0.0] * 2), (limits, "limits", [0.0] * 9),
        (tied, "prices", [0.0] * 4), (linear, "offset", 1e200), (linear, "power", 1),
        (linear, "prices", [1 << 60] * 3),
    ):  # fmt: skip
        data = in_bytes(changed(content, (*saved, "duals", name), numbers))
        yield Case(f"duals {name} {numbers}"[:60], data, unreadable)
    data = in_bytes(changed(linear, ("method",), "x" * 201))
    yield Case("a long name of a method", data, unreadable)
    whole = changed(
        linear, ("prior", "weights"), [str(2 * int(w)) for w in linear["prior"]["weights"]]
    )
    yield Case("masses with a common divisor", in_bytes(whole), unreadable)
    tried = json.loads(in_bytes(md.design(FIVE, md.utility.Estimation(), md.LDP(1))))
    for path, value in (
        ((*saved, "duals", "prices"), [*tried["certificate"]["duals"]["prices"], -1e6]),
        (("utility", "weights"), [1.0] * 4),
    ):
        yield Case(f"estimates, {path[-1]}", in_bytes(changed(tried, path, value)), unreadable)
    asking = changed(tried, ("utility", "questions"), [[1.0, 0, 0, 0, 0], [0, 1.0, 0, 0, 0]])
    data = in_bytes(changed(asking, ("utility", "answers"), ["x", "x"]))
    yield Case("answers with one name", data, unreadable)
    data = in_bytes(changed(tried, (*saved, "gain_gap"), 0.0))
    yield Case("a gain of estimates", data, {"refuted"}, {"gain_gap": "refuted"})
    less = changed(tried, (*saved, "value"), -1.0)
    data = in_bytes(changed(less, (*saved, "value_exact"), "-1"))
    yield Case("an exact value of no kernel", data, {"refuted"}, {"value_exact": "refuted"})
    dependent = json.loads(json.dumps(tried))
    dependent["mechanism"]["weights"][1] = dependent["mechanism"]["weights"][0]
    for content, state in ((dependent, "proved"), (tried, "refuted")):
        data = in_bytes(changed(content, (*saved, "value"), "-inf"))
        yield Case(f"estimates of nothing, {state}", data, {"refuted"}, {"value": state})
    loose = md.utility.Estimation(truth="any")
    every = json.loads(in_bytes(md.design(ABC, loose, md.LDP(1))))
    bent = [[1.0, 2.0, 0.0], [2.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    data = in_bytes(changed(every, ("utility", "weights"), bent))
    told = {"value": "not proved here"}
    yield Case("any truth, a negative eigenvalue", data, {"refuted", "not proved here"}, told)
    use = md.utility.WorstCase([(GAINS3, OTHER)])
    used = json.loads(in_bytes(md.design(ABC, use, md.LDP(1))))
    stranger = {**used["utility"]["parts"][0]["prior"], "labels": ["a", "b", "z"]}
    data = in_bytes(changed(used, ("utility", "parts", 0, "prior"), stranger))
    yield Case("a prior of use over others", data, unreadable)
    long = ["1" + "0" * 20_000 + "7", "3" + "0" * 20_000, "1", "7" * 20_000, "9" * 19_999]
    data = in_bytes(changed(tried, ("prior", "weights"), long))
    yield Case("masses of many digits", data, {"refuted"}, {"all else": "not proved here"})
    yield from _strange_selections(unreadable)


def _strange_selections(unreadable: set[str]) -> Iterator[Case]:
    placed = json.loads(in_bytes(md.subset_selection(30, md.LIP(3))))
    (part,) = placed["types"][0]["parts"]
    assert "placements" in part
    for path, value in (
        (("labels",), ["a", "b"]), (("symbols",), 29), (("types", 0, "chances"), []),
        (("types", 0, "parts"), [None]), (("types",), []),
    ):  # fmt: skip
        data = in_bytes(changed(placed, path, value))
        yield Case(f"30 placed symbols, {path} {value}"[:60], data, unreadable)
    grouped = md.subset_selection({"a": 3, "b": 1, "c": 1, "d": 1}, [md.LDP(1), md.PML(1)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CountsWarning)
        public = json.loads(in_bytes(md.public_form(grouped)))
    states = {"privacy: LDP": "proved", "rows": "proved", "privacy: PML": "not proved here"}
    yield Case("public selection", in_bytes(public), {"not proved here"}, states)
    stated = in_bytes(changed(public, ("stated",), ["FeaturePML(1)"]))
    told = {"privacy: FeaturePML": "not proved here"}
    yield Case("public selection, stated", stated, {"not proved here"}, told)
    for path, value in (
        (("groups",), [0, 2, 2, 2]), (("groups",), [0, 0, 0, 0]), (("labels",), ["a", "b", "c"]),
        (("attributes",), [{"name": "x"}, {"name": "y"}]),
    ):  # fmt: skip
        data = in_bytes(changed(public, path, value))
        yield Case(f"public selection, {path[0]} {value}", data, unreadable)
    even = [{"chances": [str(1 << 53)] * 3, "parts": [None] * 3}]
    holed = changed(changed(public, ("groups",), [0, 2, 2, 2]), ("types",), even)
    yield Case("public selection, a group of nobody", in_bytes(holed), unreadable)
    for i, one in enumerate(public["types"]):
        for k, part in enumerate(one["parts"]):
            if part is not None:
                place = ("types", i, "parts", k, "profiles")
                data = in_bytes(changed(public, place, part["profiles"] * 2))
                yield Case(f"public selection, profiles of {i} twice", data, unreadable)
    less = changed(public, ("notions", 0, "parameters", "epsilon"), 0.3)
    yield Case(
        "public selection, less",
        in_bytes(less),
        {"not proved here"},
        {"privacy": "not proved here"},
    )
    one = json.loads(in_bytes(grouped))
    alone = {"labels": [*"abcd"], "weights": ["1"] * 4, "probabilities": [0.25] * 4}
    types = [{"chances": [str(1 << 53)] * 2, "parts": [None, None]}]
    data = changed(changed(one, ("prior",), alone), ("types",), types)
    yield Case("a single group", in_bytes(data), unreadable)
    whole = {"labels": [*"abcdefg"], "weights": [str(i) for i in range(1, 8)]}
    whole |= {"probabilities": [i / 28 for i in range(1, 8)]}
    seven = [{"chances": [str(1 << 53)] * 7, "parts": [None] * 7}]
    prices = {"inside": [0.0] * 7, "across": [[0.0] * 7] * 7, "row": [0.0] * 7}
    data = changed(changed(one, ("prior",), whole), ("types",), seven)
    yield Case("seven groups", in_bytes(changed(data, ("prices",), prices)), unreadable)
    profiles = [{"count": 1, "high": str((1 << 52) + i), "middle": str(1 << 52)} for i in range(20)]
    part = {"base": 2, "dimension": 20, "profiles": profiles}
    many = [{"chances": [str(1 << 53)] * 3, "parts": [part, part, part]}]
    wide = changed(changed(public, ("groups",), [0, 1, 2, 0]), ("types",), many)
    yield Case("classes of three groups, too many", in_bytes(wide), unreadable)
    twins = md.Prior([0.5, 0.3, 0.2], [("a", 0), ("b", 1), ("b", 0)]).with_schema(["x", "y"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CountsWarning)
        made = md.public_form(md.plan_columns(twins, None, md.LDP(1), joint=False))
    plan = json.loads(in_bytes(made))
    for columns in (
        plan["columns"][:1] * 2,
        [{**plan["columns"][0], "name": "z"}, plan["columns"][1]],
    ):
        data = in_bytes(changed(plan, ("columns",), columns))
        yield Case(f"public plan of {[c['name'] for c in columns]}", data, unreadable)


#: Names that a file may leave out.
OPTIONAL = {
    "value_exact", "bound_exact", "arithmetic", "bound_source", "gains", "method", "agreement",
    "solver", "merged", "mixed", "rounds", "loss",
}  # fmt: skip


def level_cases() -> Iterator[Case]:
    """Levels that are no doubles, and kernels over any number, under fingerprints of others."""
    refuted, unreadable = {"refuted"}, {"unreadable"}
    quarters = md.Mechanism.from_weights([[3, 1], [1, 3]], 2)
    public = json.loads(in_bytes(md.PublicDesign.of(quarters, [md.LDP(md.ratio(3))])))
    level = ("notions", 0, "parameters", "epsilon")
    fine = Fraction(3) - Fraction(1, 10**30)
    for word, state in (
        ({"ln": "3"}, "proved"), ({"ln": str(fine)}, "refuted"), ({"bits": "3/2"}, "refuted"),
        ({"bits": "8/5"}, "proved"), ({"fraction": "11/10"}, "proved"),
        ({"fraction": "12/11"}, "refuted"),
    ):  # fmt: skip
        data = in_bytes(changed(public, level, word))
        yield Case(f"level {word}", data, {state, *refuted}, {"privacy: LDP": state})
    beyond = Fraction((1 << 1001) * 3 + 1, 3)
    for word in (
        {"ln": "6/2"}, {"ln": "2/3"}, {"ln": "1"}, {"bits": "2"}, {"bits": "6/4"},
        {"fraction": "7/2"}, {"fraction": str(beyond)}, {"bits": str(beyond)},
    ):  # fmt: skip
        yield Case(f"level {word}"[:60], in_bytes(changed(public, level, word)), unreadable)
    below = (1 << 8200) + 1
    weights = [["3", str(below - 3)], ["1", str(below - 1)]]
    for rows, word, state in (
        (weights, {"ln": "3"}, "proved"),
        (weights[::-1], {"ln": str(fine)}, "refuted"),
        ([[weights[0][1], "3"], [weights[1][1], "1"]], {"ln": "3"}, "proved"),
    ):
        data = changed(_over(public, str(below), rows), level, word)
        yield Case(f"long, {word}", in_bytes(data), refuted, {"rows": "proved", "privacy": state})
    rows = [["2", "1"], ["1", "2"]]
    even = md.Mechanism.over(np.array([[2, 1], [1, 2]]), 3)
    thirds = json.loads(in_bytes(md.PublicDesign.of(even, [md.LDP(md.ratio(2))])))
    assert thirds["mechanism"]["denominator"] == "3"
    yield Case("thirds", in_bytes(thirds), {"proved"})
    uneven = _over(thirds, "3", [["2", "1"], ["1", "1"]])
    yield Case("thirds, a row that is off", in_bytes(uneven), refuted, {"rows": "refuted"})
    for one in ("0", "1", "4", "-3"):
        yield Case(f"a denominator of {one}", in_bytes(_over(public, one, rows)), unreadable)
    both = changed(public, ("mechanism", "denominator"), "3")
    yield Case("two denominators", in_bytes(both), unreadable)
    found = json.loads(in_bytes(designed(*LINEAR["ldp"])))
    mechanism = found["mechanism"]
    most = [[str(3 * int(w)) for w in row] for row in mechanism["weights"]]
    other = _over(found, str(3 << mechanism["denominator_bits"]), most)
    yield Case("a design over no power of two", in_bytes(other), unreadable)


def _over(content: dict[str, Any], one: str, rows: list[list[str]]) -> dict[str, Any]:
    """A file with the kernel of these weights over that number."""
    kept = {key: v for key, v in content["mechanism"].items() if key != "denominator_bits"}
    return changed(content, ("mechanism",), {**kept, "denominator": one, "weights": rows})


def plan_cases() -> Iterator[Case]:
    """Kernels for several columns, and what independent reports of all have together."""
    proved = {"privacy": "proved", "achieved": "proved"}
    open_state, refuted, unreadable = {"not proved here"}, {"refuted"}, {"unreadable"}
    epsilon = ("total", "parameters", "epsilon")
    twins = md.Prior([0.5, 0.3, 0.2], [("a", 0), ("b", 1), ("b", 0)]).with_schema(["x", "y"])
    for notion in (md.PML(1), md.LDP(1.5)):
        plan = md.plan_columns(twins, None, notion, joint=False)
        content = json.loads(in_bytes(plan))
        marginal = {"x: prior": "proved", "y: prior": "proved"}
        yield Case(f"plan, {notion}", in_bytes(content), {"proved"}, {**proved, **marginal})
        for path, value, claim in (
            (epsilon, 0.5, "privacy"), (("achieved",), [0.1], "achieved"),
            (("achieved",), [9.0], "achieved"), (("prior", "weights"), ["1", "2", "3"], "x: prior"),
        ):  # fmt: skip
            data = in_bytes(changed(content, path, value))
            yield Case(f"plan, {notion}, {path} {value}", data, refuted, {claim: "refuted"})
        for path, value in (
            (("columns", 1, "name"), "x"), (("columns", 1, "design", "kind"), "public"),
            (("columns",), content["columns"][:1]),
            (("prior", "attributes"), [{"name": "y"}, {"name": "x"}]),
        ):  # fmt: skip
            data = in_bytes(changed(content, path, value))
            yield Case(f"plan, {notion}, {path} {value}", data, unreadable)
        told = [md.PublicDesign.of(d.mechanism, d.notions) for d in plan.designs]
        public = json.loads(in_bytes(md.PublicPlan.of(plan.names, told, plan.total)))
        states = proved if isinstance(notion, md.LDP) else {"privacy": "not proved here"}
        own = {"proved"} if isinstance(notion, md.LDP) else open_state
        yield Case(f"public plan, {notion}", in_bytes(public), own, states)
        kernel = ("columns", 0, "public", "mechanism", "weights")
        uneven = [[str(9 << 50), str(7 << 50)], [str(15 << 50), str(1 << 50)]]
        bits = ("columns", 0, "public", "mechanism", "denominator_bits")
        alone = json.loads(in_bytes(plan.designs[0].mechanism))
        data = in_bytes(changed(public, ("columns", 0, "public"), resealed(alone)))
        yield Case(f"public plan, {notion}, with a mechanism alone", data, unreadable)
        again = changed(public, ("columns", 1, "name"), "x")
        yield Case(f"public plan, {notion}, one name twice", in_bytes(again), unreadable)
        data = in_bytes(changed(changed(public, kernel, uneven), bits, 54))
        state = "refuted" if isinstance(notion, md.LDP) else "not proved here"
        yield Case(f"public plan, {notion}, uneven", data, refuted, {"privacy": state})


def _places(part: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Names in objects, outside of labels and numbers."""
    if isinstance(part, dict):
        for key, value in part.items():
            yield (*path, key)
            yield from _places(value, (*path, key))


@functools.cache
def all_cases() -> tuple[Case, ...]:
    """All of the above, those that decide most first; made once in a process."""
    makers: tuple[Callable[[], Iterator[Case]], ...] = (
        honest_cases, broken_cases, false_cases, shaken_cases, estimate_cases, listed_cases,
        cut_cases, subset_cases, named_cases, plan_cases, group_cases, bin_cases, level_cases,
        stranger_cases,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OpenBinWarning)
        return tuple(case for make in makers for case in make())


def faults(checker: Any, cases: Sequence[Case]) -> Iterator[str]:
    """What a checker says of files that must not be said, and of numbers."""
    yield from faults_of_numbers(checker)
    yield from faults_of_files(checker, cases)


def faults_of_files(checker: Any, cases: Sequence[Case]) -> Iterator[str]:
    for case in cases:
        try:
            report = checker.check(case.data)
        except checker.UnreadableError:
            if "unreadable" not in case.state:
                yield f"{case.name}: unreadable"
            continue
        if report.state not in case.state:
            yield f"{case.name}: {report.state}, {_open(report)}"
        for claim, state in case.states.items():
            said = {f["state"] for f in report.claims if f["claim"].startswith(claim)}
            exact = {f["state"] for f in report.claims if f["claim"] == claim} or said
            # A claim of several parts is refuted where one of them is.
            if exact != {state} and not (state == "refuted" and state in exact):
                yield f"{case.name}: {claim} is {exact}, not {state}"
        if case.own is not None:
            (text,) = (f["detail"] for f in report.claims if f["claim"] == "bound")
            own = float(text.rpartition(" ")[2])
            if not case.own[0] <= own <= case.own[1]:
                yield f"{case.name}: proves {own}, not between {case.own}"


def _open(report: Any) -> list[dict[str, str]]:
    return [fact for fact in report.claims if fact["state"] != "proved"]


def faults_of_numbers(checker: Any) -> Iterator[str]:
    """Of the size of a file, and of the exponential."""
    most, checker.LARGEST_FILE = checker.LARGEST_FILE, 1
    try:
        checker.parse(b"[]")
        yield "a file that is too large is read"
    except checker.UnreadableError:
        pass
    finally:
        checker.LARGEST_FILE = most
    for opening, closing in ((b"[", b"]"), (b'{"a":', b"}")):
        for depth in (checker.DEEPEST + 1, checker.DEEPEST + 2):
            inner = b"" if opening == b"[" else b"0"
            depth -= bool(inner)
            text = opening * depth + inner + closing * depth
            is_deep = depth + bool(inner) > checker.DEEPEST + 1
            try:
                checker.parse(text)
                if is_deep:
                    yield "a file that is nested too deep is read"
            except checker.UnreadableError:
                if not is_deep:
                    yield "a file that is nested less deep is not read"
    for text in (b"9" * (checker.LONGEST_NUMBER + 1), b"1e400", b"NaN", b"-Infinity"):
        try:
            checker.parse(b"[" + text + b"]")
            yield "a number that is too long, too large or none is read"
        except checker.UnreadableError:
            pass
    try:
        checker._real((1 << 53) + 1)
        yield "a label that doubles round has a distance"
    except checker.UnreadableError:
        pass
    # A notion without a prior is about symbols without mass as well, of others they have no pair.
    certain = checker._Prior(("a", "b"), [1, 0])
    for name, parameters, is_asked in (
        ("DP", {"epsilon": 0.1, "neighbours": []}, True),
        ("FeaturePML", {"epsilon": 0.1, "feature": [[x, [[0, 1]]] for x in "ab"]}, False),
    ):
        try:
            certain.asks({"name": name, "parameters": parameters})
            found = False
        except checker.UnreadableError:
            found = True
        if found != is_asked:
            yield f"{name} without a pair is read otherwise than it is"
    levels = [0.0, 5e-324, 1e-300, 1e-14, 1e-3, 0.5, 1.0, 1.5, math.log(2), 30.0, 709.0, 2000.0]
    for level in map(Fraction, levels):
        low, high = checker.exp_bounds(level)
        below, above = exp_bounds(level, 4000)
        if not low <= below <= above <= high:
            yield f"e^{float(level)} is not between {float(low)} and {float(high)}"
        tight = high - low <= (low - 1) / 2**128
        if not tight:
            yield f"e^{float(level)} is known too roughly"

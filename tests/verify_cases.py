"""Files with what must be said of them, decided by how they were made and by the library itself.

The checker of ``mechdesign/certificate/verify.py`` is never asked what is right.
"""

from __future__ import annotations

import copy
import hashlib
import json
import math
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np

import mechdesign as md
from mechdesign.certificate.certificate import Certificate, examine, fingerprint
from mechdesign.errors import ZeroMassWarning
from mechdesign.exact import exp_bounds, float_at_least
from mechdesign.solve.method import Duals
from mechdesign.solve.problem import state_problem
from mechdesign.storage import to_json

ABC = md.Prior([0.5, 0.3, 0.2], labels=["a", "b", "c"])
GRID = md.Prior([0.1, 0.2, 0.3, 0.4])
PAIRS = md.Prior([0.1, 0.2, 0.3, 0.4], labels=[(0, 0), (0, 1), (1, 0), (1, 1)])
TWO = md.Prior([0.6, 0.4], labels=["no", "yes"])
OTHER = md.Prior([0.4, 0.4, 0.2], labels=["a", "b", "c"])
with warnings.catch_warnings():
    warnings.simplefilter("ignore", ZeroMassWarning)
    EMPTY = md.Prior([0.5, 0.5, 0], labels=["a", "b", "c"])
    BETWEEN = md.Prior([0.5, 0, 0.5], [0, 1, 2])
HAMMING, ABSOLUTE = md.utility.Hamming(), md.utility.Distance("absolute")
GAINS = md.utility.Matrix([[1, 0, 0.5], [0, 1, 0.2], [0, 0.3, 1]])
WIDE = md.utility.Matrix([[3, -1, 0.5, 0.1], [0, 1, 0.2, 0.6], [-2, 0.3, 1, 0.5]])
LOW = md.utility.Matrix([[2, -1.5, 0.4, 0.3], [-1, 1.5, -0.5, 0.2], [0.1, 0.3, 0.7, 0.9]])
FEATURE = {"a": 0, "b": {0: 1, 1: 3}, "c": 1}
SECRETS = {"s": ["a"], "t": {"b": 0.5, "c": 1}}
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
    "alip, one side": (ABC, GAINS, md.ALIP(math.inf, 0.3)),
    "ldp": (ABC, WIDE, md.LDP(0.8)),
    "ldp, nothing": (ABC, HAMMING, md.LDP(0)),
    "large level": (ABC, HAMMING, [md.LDP(800), md.PML(1)]),
    "huge level": (ABC, HAMMING, [md.LDP(3000), md.PMC(0.5)]),
    "unbounded": (ABC, HAMMING, md.PML(math.inf)),
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
    "all": (GRID, ABSOLUTE, md.DP(0.5, "all")),
    "listed neighbours": (GRID, HAMMING, md.DP(0.7, [(0, 2), (3, 1), (2, 0)])),
    "no neighbours": (GRID, HAMMING, [md.DP(0.7, []), md.PML(0.4)]),
    "line": (GRID, md.utility.Distance("squared"), md.MetricPrivacy(1.0, "absolute")),
    "discrete": (GRID, HAMMING, md.MetricPrivacy(0.6, "discrete")),
    "hamming distance": (PAIRS, HAMMING, md.MetricPrivacy(0.6, "hamming")),
    "euclidean": (PLANE, HAMMING, md.MetricPrivacy(0.3, "euclidean")),
    "matrix": (GRID, HAMMING, md.MetricPrivacy(0.6, FAR)),
    "twins": (GRID, HAMMING, md.MetricPrivacy(0.6, TWINS)),
    "no metric": (GRID, HAMMING, md.MetricPrivacy(0.6, ODD)),
    "graph": (GRID, HAMMING, md.MetricPrivacy.graph(0.6, EDGES)),
    "entries": (GRID, HAMMING, md.EntryPML(0.1, 3, 0.3)),
    "entries, any": (GRID, HAMMING, md.EntryPML(0.3, 3, 0.0, 0.5)),
    "entries, one chance": (GRID, HAMMING, md.EntryPML(0.3, 3, 0.25, 0.25)),
    "feature": (ABC, HAMMING, md.FeaturePML(0.4, FEATURE)),
    "feature cost": (ABC, HAMMING, md.FeaturePMC(0.4, FEATURE)),
    "conditional": (ABC, HAMMING, md.ConditionalPML(0.4, FEATURE)),
    "conditional cost": (ABC, HAMMING, md.ConditionalPMC(0.4, FEATURE)),
    "secrets": (ABC, HAMMING, md.Pufferfish(0.5, SECRETS)),
    "secrets, priors": (ABC, HAMMING, md.Pufferfish(0.5, SECRETS, None, [ABC, OTHER])),
    "no secrets": (TWO, HAMMING, [md.Pufferfish(0.5, {"s": ["no"]}), md.LDP(1)]),
    "vertices": (ABC, HAMMING, md.RobustPML(0.4, [ABC, OTHER])),
    "floor": (ABC, HAMMING, md.RobustPML.floor(0.4, 0.1)),
    "box": (ABC, HAMMING, md.RobustPML.box(0.4, BOX)),
    "ball": (ABC, HAMMING, md.RobustPML.ball(0.4, ABC, 0.2)),
    "interval": (TWO, HAMMING, md.RobustPML.ball(0.4, TWO, 0.2)),
    "interval, box": (TWO, HAMMING, md.RobustPML.box(0.4, {"no": (0.3, 0.9), "yes": (0.4, 0.6)})),
    "maximal": (ABC, HAMMING, md.MaximalLeakage(0.3)),
    "maximal cost": (ABC, GAINS, md.MaximalCostLeakage(0.7)),
    "maximal with lift": (ABC, WIDE, [md.MaximalLeakage(0.2), md.PML(0.4)]),
    "approximate": (ABC, HAMMING, md.ApproximateLDP(1.0, 1e-3)),
    "approximate, far": (ABC, HAMMING, [md.ApproximateLDP(20.0, 0.25), md.PMC(1)]),
    "approximate secrets": (ABC, HAMMING, md.ApproximatePufferfish(0.5, 1e-3, SECRETS)),
    "zero mass, tied by one": (BETWEEN, ABSOLUTE, [md.DP(1, "adjacent"), md.LDP(1.5)]),
    "cost and ratio": (ABC, WIDE, [md.PMC(0.2), md.LDP(0.6)]),
}
#: Designs of which only a part can be proved, and the claims that cannot.
PARTLY: dict[str, tuple[tuple[Any, ...], set[str]]] = (
    {
        name: ((ABC, utility, md.LDP(1.0)), {"value", "bound", "gap", "optimal"})
        for name, utility in {
            "information": md.utility.MutualInformation(),
            "chi-square": md.utility.ChiSquare(),
            "variation": md.utility.TotalVariation(),
        }.items()
    }
    | {
        name: (
            (ABC, HAMMING, notion),
            {"privacy", "verdicts", "bound", "gap", "gain_gap", "optimal"},
        )
        for name, notion in {
            "average": md.MIPrivacy(0.2),
            "average secrets": md.MIPufferfish(0.05, [TABLE], [ABC, OTHER]),
        }.items()
    }
    | {
        name: (asked, {"gain_gap"})
        for name, asked in {
            "least of symbols": (ABC, md.utility.WorstCase.symbols(GAINS), md.LDP(1.0)),
            "least of symbols, one empty": (
                EMPTY,
                md.utility.WorstCase.symbols(HAMMING),
                md.PML(0.3),
            ),
            "least of several": (
                ABC,
                md.utility.WorstCase([WIDE, (LOW, OTHER)], weights=[1, 0.7]),
                [md.PML(0.4), md.MaximalLeakage(0.3)],
            ),
        }.items()
    }
)


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


GONE = object()
STATES = ("proved", "refuted", "not proved here")


def designed(*asked: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return md.design(*asked)


def claiming(found: Any, notions: Any = None, mechanism: Any = None, **claims: Any) -> bytes:
    """A design that says something else of itself, under a fingerprint that fits."""
    notions = found.notions if notions is None else tuple(notions)
    mechanism = mechanism or found.mechanism
    text = fingerprint(found.prior, mechanism, notions)
    certificate = replace(found.certificate, fingerprint=text, **claims)
    return in_bytes(replace(found, notions=notions, mechanism=mechanism, certificate=certificate))


def examined(found: Any, duals: Duals) -> Certificate:
    """What the library proves of the same kernel with other dual variables."""
    c = found.certificate
    outputs = found.mechanism.outputs
    problem = state_problem(found.prior, found.utility, found.notions, outputs)
    return examine(problem, found.mechanism, duals, c.repair, c.repair_loss, c.solver)


def shaken(duals: Duals, rng: np.random.Generator, size: float) -> Duals:
    """Dual variables with noise, negative ones and more of them."""

    def noisy(numbers: Any) -> Any:
        more = rng.normal(0, size, np.shape(numbers)) * (rng.random(np.shape(numbers)) < 0.7)
        return np.asarray(numbers) * rng.uniform(1 - size, 1 + size) + more

    def parts(given: Any) -> Any:
        return None if given is None else tuple(tuple(map(noisy, part)) for part in given)

    prices = None if duals.prices is None else noisy(duals.prices)
    return replace(
        duals, prices=prices, multipliers=parts(duals.multipliers), sums=parts(duals.sums)
    )


def honest_cases() -> Iterator[Case]:
    """Files as the library writes them."""
    for name, asked in LINEAR.items():
        found = designed(*asked)
        c = found.certificate
        room = 1e-10 * max(1.0, abs(c.bound))
        yield Case(name, in_bytes(found), {"proved"}, {}, (c.bound - room, c.bound))
    for name, (asked, open_claims) in PARTLY.items():
        states = dict.fromkeys(open_claims, "not proved here")
        yield Case(name, in_bytes(designed(*asked)), {"not proved here"}, states)
    found = designed(*LINEAR["ldp"])
    yield Case("mechanism", in_bytes(found.mechanism), {"proved"})
    public = in_bytes(md.PublicDesign.of(found.mechanism, found.notions))
    yield Case("public", public, {"proved"}, {"privacy: LDP": "proved"})
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
    old = json.loads(in_bytes(found))
    for claim in ("value_exact", "bound_exact"):
        del old["certificate"][claim]
    yield Case("of version 0.1", in_bytes(resealed(old)), {"proved"})
    saved = ("certificate",)
    for claim, factor in (("gap", 1.5), ("gain_gap", 1.5), ("value", 1 + 1e-10)):
        more = old["certificate"][claim] * factor + 1e-10
        data = in_bytes(changed(old, (*saved, claim), more))
        yield Case(f"of version 0.1, {claim}", data, {"refuted"}, {claim: "refuted"})
    for claim in ("gap", "gain_gap"):
        data = in_bytes(changed(old, (*saved, claim), 0.0))
        yield Case(f"of version 0.1, no {claim}", data, {"not proved here"})
    data = in_bytes(changed(old, (*saved, "value"), math.nextafter(found.value, 1)))
    yield Case("of version 0.1, rounded", data, {"proved"})
    unknown = {**old["certificate"], "bound": "inf", "gap": "unknown", "gain_gap": None}
    unknown["optimal"] = False
    yield Case("nothing known", in_bytes(changed(old, saved, unknown)), {"proved"})


def shaken_cases(noises: int = 2) -> Iterator[Case]:
    """Bounds from dual variables of any quality, beside what the library makes of them."""
    for number, (name, asked) in enumerate(LINEAR.items()):
        found = designed(*asked)
        for noise in range(noises):
            rng = np.random.default_rng([number, noise])
            size = float(np.ptp(found.utility.gains(found.prior, found.mechanism.outputs)))
            weak = examined(found, shaken(found.certificate.duals, rng, (0.3, 0.01)[noise % 2]))
            data = in_bytes(replace(found, certificate=weak))
            room = 1e-10 * max(size, abs(weak.bound))
            # Prices prove more here than the library takes from them.
            least = found.value if name == "no neighbours" else weak.bound - room
            own = (max(least, found.value - room * 1e-3), weak.bound)
            yield Case(f"{name}, noise {noise}", data, {"proved"}, {}, own)
    found = designed(*LINEAR["pml"])
    c = found.certificate
    weak = examined(found, replace(c.duals, prices=np.array([0.0, 0.1, 1.5e308])))
    data = in_bytes(replace(found, certificate=weak))
    yield Case("prices beyond floats", data, {"proved"})


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
    for name in ("pml", "far gains", "maximal", "tiny gains", "zero mass"):
        yield from _false_numbers(name, designed(*LINEAR[name]))


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
    width = found.utility.gains(found.prior, found.mechanism.outputs)
    width = Fraction(float(width.max())) - Fraction(float(width.min()))
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
        b"[" * 70 + b"]" * 70, b"[" * 10**5, b"1" * 5000, b"[0." + b"1" * 5000 + b"]",
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
    one = first["mechanism"]["weights"][0]
    less = [str(int(one[0]) - 1), *one[1:]]
    refuted = {"refuted"}
    lone = json.loads(in_bytes(designed(*LINEAR["ldp"]).mechanism))
    for path, value, claim in (
        (("weights", 0, 0), "0", "rows"),
        (("weights", 1), ["-1", str((1 << 53) + 1), "0", "0"], "weights"),
    ):
        data = in_bytes(changed(lone, ("mechanism", *path), value))
        yield Case(f"mechanism, {path}", data, refuted, {claim: "refuted"})
    public = json.loads(in_bytes(md.PublicDesign.of(designed(*LINEAR["ldp"]).mechanism, [])))
    for path, value, state in (
        (("fingerprint",), "0" * 64, refuted), (("stated",), [5], unreadable),
        (("stated",), ["PML(1)"], refuted), (("stated",), {}, unreadable),
        (("notions",), {}, unreadable),
    ):  # fmt: skip
        yield Case(f"public, {path}", in_bytes(changed(public, path, value)), state)
    told = [{"name": "LDP", "parameters": {"epsilon": 0.5}}]
    data = in_bytes(changed(public, ("notions",), told))
    yield Case("public, a level", data, refuted, {"privacy: LDP": "refuted"})
    yield of(two, (*weights, 0), less, refuted)
    yield of(two, (*weights, 0), [*one, "0"])
    yield of(two, (*weights, 0), ["-1", str(int(one[0]) + int(one[1]) + 1), "0"], refuted)
    for digits in ("0x10", "+" + one[0], " " + one[0], "0" + one[0], one[0][0] + "_" + one[0][1:]):
        yield of(two, (*weights, 0, 0), digits)
    for path in (weights, ("notions",), ("mechanism", "inputs"), ("utility", "gains")):
        yield of(two, path, {})
    yield of(two, (*weights, 0, 0), 1.5)
    yield of(two, (*weights, 0, 0), "1" * 400_001)
    yield of(two, weights, first["mechanism"]["weights"][:2])
    for bits in (-1, 1 << 21, "x", 1.0, True):
        yield of(two, ("mechanism", "denominator_bits"), bits)
    yield of(two, ("mechanism", "denominator_bits"), 52, refuted)
    words = json.loads(json.dumps(good["adjacent"]).replace("[0, 1, 2, 3]", '["0", "1", "2", "3"]'))
    assert words["prior"]["labels"] == ["0", "1", "2", "3"]
    yield Case("numbers in quotes", in_bytes(resealed(words)), unreadable)
    for place in (("mechanism", "inputs"), ("mechanism", "outputs"), ("prior", "labels")):
        yield of(two, place, ["a", "b", "b"])
        yield of(two, place, [])
    yield of(two, ("mechanism", "inputs"), ["b", "a", "c"])
    yield of(two, ("mechanism", "inputs", 0), {"tuple": ["a"]})
    yield of(two, ("mechanism", "outputs", 0), "z", refuted)
    for value in (["1", "1"], ["0", "0", "0"], ["-1", "1", "1"], ["1/2", "1", "1"]):
        yield of(two, ("prior", "weights"), value)
    yield of(two, ("prior", "weights"), ["1", "1", "1"], refuted)
    yield of(two, ("prior", "probabilities", 0), 0.25, refuted)
    for schema in (0, 2, True, 1.0, "1"):
        yield of(two, ("schema",), schema)
    yield of(two, ("format",), "other")
    yield of(two, ("kind",), "other")
    for level in (-0.5, True, None, "x", [1], {"text": "x"}):
        yield of(two, ("notions", 0, "parameters", "epsilon"), level)
    yield of(two, ("notions", 0, "parameters"), {"epsilon": 1.0, "delta": 0})
    yield of(two, ("notions",), [])
    yield of(two, ("notions", 0, "name"), "Unheard", refuted)
    saved = ("certificate",)
    yield of(two, (*saved, "verdicts"), ["yes"], refuted)
    yield of(two, (*saved, "verdicts", 0), "no", refuted)
    yield of(two, (*saved, "achieved"), [[1.0]])
    yield of(two, (*saved, "achieved", 0), [1.0, 1.0])
    yield of(two, (*saved, "fingerprint"), "0" * 64, refuted)
    yield of(two, (*saved, "optimal"), False, refuted)
    yield of(two, (*saved, "optimal"), 1)
    yield of(two, (*saved, "repair", "constant"), True, refuted)
    for part, value in (
        ("constant", 0), ("rounds", -1), ("rounds", 1.5), ("rounds", True), ("merged", [-1]),
        ("mixed", 1.5), ("mixed", -0.1), ("loss", -1), ("loss", "inf"), ("loss", "x"),
    ):  # fmt: skip
        yield of(two, (*saved, "repair", part), value)
    for text in ("x" * 201, "a\nb", 5):
        yield of(two, ("method",), text)
        yield of(two, (*saved, "solver"), text)
    for claim in ("value", "bound", "gap", "gain_gap"):
        for value in (True, "x", [1]):
            yield of(two, (*saved, claim), value)
    for claim in ("value_exact", "bound_exact"):
        for value in ("x", "1/0", "1/-2", "1//2", [1], True, "0.5"):
            yield of(two, (*saved, claim), value)
    gains = ("utility", "gains")
    for value in ([[1.0, 0.0, 0.0]], [[1.0]] * 3, [[1e151, 0.0, 0.0]] * 3, [["1", 0.0, 0.0]] * 3):
        yield of(two, gains, value)
    yield of(two, (*gains, 0, 0), 0.99, refuted)
    duals = (*saved, "duals")
    for value in ([0.1], "x", [True, 0.1, 0.1]):
        yield of(two, (*duals, "prices"), value)
    for power in (1, -1101, 0.5, True):
        yield of(two, (*duals, "power"), power)
    yield of(two, (*duals, "offset"), True)
    shares = (*duals, "multipliers")
    yield of(two, shares, first["certificate"]["duals"]["multipliers"][:1])
    nothing = {"shape": [3, 3], "rows": [], "columns": [], "values": []}
    for part in ("rows", "columns", "values"):
        yield of(two, (*shares, 0, 0), {**nothing, part: {}})
    matrix = {"shape": [3, 3], "rows": [0], "columns": [0], "values": [0.5]}
    for part, value in (
        ("shape", [3, 2]), ("shape", [2, 3]), ("rows", [3]), ("rows", [-1]), ("columns", [3]),
        ("columns", [-1]), ("rows", [0, 1]), ("rows", [True]), ("columns", [0.0]),
        ("values", ["1"]), ("values", [0.5, 0.5]),
    ):  # fmt: skip
        yield of(two, (*shares, 0, 0), {**matrix, part: value})
    twice = {"shape": [3, 3], "rows": [0, 0], "columns": [0, 0], "values": [0.5, 0.5]}
    yield of(two, (*shares, 0, 0), twice)
    yield of(two, (*shares, 0), [matrix])
    yield of(
        "line", (*shares, 0), [*good["line"]["certificate"]["duals"]["multipliers"][0], matrix]
    )
    given = ("notions", 0, "parameters")
    for name, key, values in (
        ("adjacent", "neighbours", ["other", [[0, 9]], [[0]], 5]),
        ("hamming", "neighbours", ["adjacent"]),
        ("line", "distances", ["hamming", "euclidean", "other", ["matrix", [[0]]], 5]),
        ("matrix", "distances", [
            ["matrix", [[0, 1, 1, 1], [2, 0, 1, 1], [1, 1, 0, 1], [1, 1, 1, 0]]],
            ["matrix", [[1, 1, 1, 1], [1, 0, 1, 1], [1, 1, 0, 1], [1, 1, 1, 0]]],
            ["matrix", [[0, 1], [1, 0], [1, 1], [1, 1]]],
            ["matrix", [[0, -1, 1, 1], [-1, 0, 1, 1], [1, 1, 0, 1], [1, 1, 1, 0]]],
            ["other", []],
        ]),
        ("graph", "distances", [["graph", [[0, 1, 0]]], ["graph", [[0, 9, 1]]]]),
        ("entries", "entries", [2, 4, 3.0, True, 10**12]),
        ("entries", "low", [-0.1, 0.9, 1.1]),
        ("entries", "high", [0.1, 1.1, None]),
        ("feature", "feature", [[["a", [[0, 1]]]],
                                [["a", [[0, 0]]], ["b", [[0, 1]]], ["c", [[0, 1]]]],
                                [["a", [[0, 2], [1, -1]]], ["b", [[0, 1]]], ["c", [[0, 1]]]]]),
        ("secrets", "secrets", [[["s", [["z", 1]]], ["t", [["b", 1]]]],
                                [["s", [["a", 1.5]]], ["t", [["b", 1]]]],
                                [["s", [["a", -0.5]]], ["t", [["b", 1]]]]]),
        ("secrets", "pairs", [[["s", "u"]], None]),
        ("secrets, priors", "priors", [[[["a", 0.5]]], [[["z", 1]]], [[["a", 2], ["b", -1]]]]),
        ("vertices", "priors", [["other", []], ["vertices", []], ["vertices", [[["a", 0.5]]]]]),
        ("floor", "priors", [["floor", -0.1], ["floor", 0.4], ["floor", 1.1]]),
        ("box", "priors", [
            ["box", [["a", 0, 1], ["b", 0, 1]]],
            ["box", [["a", 0, 1], ["b", 0, 1], ["z", 0, 1]]],
            ["box", [["a", 0, 1], ["b", 0.5, 0.4], ["c", 0, 1]]],
            ["box", [["a", 0, 1], ["b", 0, 1.1], ["c", 0, 1]]],
            ["box", [["a", -0.1, 1], ["b", 0, 1], ["c", 0, 1]]],
            ["box", [["a", 0.5, 1], ["b", 0.5, 1], ["c", 0.5, 1]]],
            ["box", [["a", 0, 0.2], ["b", 0, 0.2], ["c", 0, 0.2]]],
        ]),
        ("ball", "priors", [["ball", [["a", 0.5], ["b", 0.25], ["c", 0.25]], 2.5],
                            ["ball", [["a", 1.5], ["b", -0.5]], 1.5],
                            ["ball", [["a", 0.5], ["b", 0.25], ["c", 0.25]], -0.5],
                            ["ball", [["a", 0.5], ["b", 0.25], ["c", 0.5]], 0.5]]),
        ("approximate", "delta", [-0.1, 1.1, True]),
    ):  # fmt: skip
        for value in values:
            yield of(name, (*given, key), value)


def least_cases() -> Iterator[Case]:
    """Worst cases: dual variables of any quality, other claims, and other forms."""
    asked = {name: case for name, (case, _) in PARTLY.items() if name.startswith("least")}
    pending, refuted, unreadable = {"not proved here"}, {"refuted"}, {"unreadable"}
    for number, (name, case) in enumerate(asked.items()):
        found = designed(*case)
        c, count = found.certificate, len(found.certificate.duals.mixture)
        state, open_claims = pending, {"gain_gap": "not proved here"}
        for noise in range(6):
            rng = np.random.default_rng([number, noise, 5])
            mixture = c.duals.mixture + rng.normal(0, (0, 1e-3, 0.3)[noise % 3], count)
            if noise > 2:
                mixture[int(np.argmin(mixture))] = 1e-12  # no more than noise
            weak = examined(found, replace(c.duals, mixture=mixture))
            data = in_bytes(replace(found, certificate=weak))
            own = (weak.bound - 1e-10, weak.bound)
            yield Case(f"{name}, mixture {noise}", data, pending, open_claims, own)
        weak = examined(found, replace(c.duals, mixture=None))
        data = in_bytes(replace(found, certificate=weak))
        yield Case(f"{name}, none", data, pending, open_claims, (weak.bound - 1e-10, weak.bound))
        weak = examined(found, replace(Duals(), mixture=np.ones(count)))
        data = in_bytes(replace(found, certificate=weak))
        yield Case(f"{name}, bare", data, pending, open_claims, (weak.bound - 1e-10, weak.bound))
        good = json.loads(in_bytes(found))
        bound, value = c.bound_exact, c.value_exact
        for path, other, state, states in (
            (
                ("value_exact",),
                str(value + Fraction(1, 10**30)),
                refuted,
                {"value_exact": "refuted"},
            ),
            (("value",), c.value + 1e-9, refuted, {"value": "refuted"}),
            (("gap",), c.gap * 1.5, refuted, {"gap": "refuted"}),
            (("gap",), c.gap / 1.5, refuted, {"gap": "refuted"}),
            (("bound_exact",), str(value - (bound - value)), refuted, {"bound": "refuted"}),
            (("duals", "mixture"), [1.0] * (count + 1), unreadable, {}),
            (("duals", "mixture"), "x", unreadable, {}),
            (("duals", "mixture"), [True] * count, unreadable, {}),
        ):
            data = in_bytes(changed(good, ("certificate", *path), other))
            yield Case(f"{name}, {path}", data, state, states)
        first, last = good["utility"]["parts"][0], good["utility"]["parts"][-1]
        parts = ("utility", "parts")
        for path, other in (
            (parts, []), ((*parts, 0, "goal"), 0.1), ((*parts, 0, "utility", "gains"), [[1.0]]),
            (("utility", "each"), 1), (parts, GONE),
        ):  # fmt: skip
            state = unreadable if other is not GONE else {"not proved here", "unreadable"}
            yield Case(f"{name}, {path}", in_bytes(changed(good, path, other)), state)
        if good["utility"]["each"]:
            data = in_bytes(changed(good, parts, [first, first]))
            yield Case(f"{name}, two", data, unreadable)
            continue
        use = last["prior"]
        elsewhere = {**use, "labels": ["a", "b", "z"]}
        for path, others in (("weight", (0, -0.7, "x")), ("prior", (elsewhere, {}))):
            for other in others:
                data = in_bytes(changed(good, (*parts, -1, path), other))
                yield Case(f"{name}, {path}: {other!r}"[:60], data, unreadable)
        states = {"value": "refuted"}
        turned = {**use, "labels": use["labels"][::-1]}
        for path, other in (("weight", 0.69), ("prior", None), ("prior", turned)):
            data = in_bytes(changed(good, (*parts, -1, path), other))
            yield Case(f"{name}, other {path}", data, refuted, states)
    empty, other = asked["least of symbols, one empty"][0], "least of several, one empty"
    found = designed(empty, md.utility.WorstCase([HAMMING, GAINS]), md.LDP(1.0))
    yield Case(other, in_bytes(found), pending, {"gain_gap": "not proved here"})
    tied = designed(BETWEEN, md.utility.WorstCase([HAMMING, ABSOLUTE]), md.DP(1, "adjacent"))
    yield Case("least, tied", in_bytes(tied), pending, {"gain_gap": "not proved here"})
    good = json.loads(in_bytes(found))
    good["utility"]["parts"][0]["prior"] = {
        "labels": ["a", "b", "c"], "weights": ["1", "1", "2"], "probabilities": [0.25, 0.25, 0.5]
    }  # fmt: skip
    yield Case(f"{other}, mass beyond", in_bytes(resealed(good)), unreadable)


#: Names that a file may leave out.
OPTIONAL = {"value_exact", "bound_exact", "arithmetic", "bound_source", "gains"}


def _places(part: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Names in objects, outside of labels and numbers."""
    if isinstance(part, dict):
        for key, value in part.items():
            yield (*path, key)
            yield from _places(value, (*path, key))


def all_cases() -> list[Case]:
    """All of the above, those that decide most first."""
    makers: tuple[Callable[[], Iterator[Case]], ...] = (
        honest_cases, least_cases, broken_cases, false_cases, shaken_cases,
    )  # fmt: skip
    return [case for make in makers for case in make()]


def faults(checker: Any, cases: list[Case]) -> Iterator[str]:
    """What a checker says of files that must not be said."""
    yield from _faults_of_exp(checker)
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
            if exact != {state}:
                yield f"{case.name}: {claim} is {exact}, not {state}"
        if case.own is not None:
            (text,) = (f["detail"] for f in report.claims if f["claim"] == "bound")
            own = float(text.rpartition(" ")[2])
            if not case.own[0] <= own <= case.own[1]:
                yield f"{case.name}: proves {own}, not between {case.own}"


def _open(report: Any) -> list[dict[str, str]]:
    return [fact for fact in report.claims if fact["state"] != "proved"]


def _faults_of_exp(checker: Any) -> Iterator[str]:
    levels = [0.0, 5e-324, 1e-300, 1e-14, 1e-3, 0.5, 1.0, 1.5, math.log(2), 30.0, 709.0, 2000.0]
    for level in map(Fraction, levels):
        low, high = checker.exp_bounds(level)
        below, above = exp_bounds(level, 4000)
        if not low <= below <= above <= high:
            yield f"e^{float(level)} is not between {float(low)} and {float(high)}"
        tight = high - low <= (low - 1) / 2**128
        if not tight:
            yield f"e^{float(level)} is known too roughly"

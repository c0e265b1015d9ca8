"""Errata of the two papers on information density, [GrosseID] and [SaeidianPMC]."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from ..errors import InputError, quote
from ..mechanism import Mechanism
from ..prior import Prior
from ..privacy.differential import LDP
from ..privacy.pointwise import LIP, PMC, PML
from . import instances
from .costs import worst_miss
from .mistakes import erratum
from .observation import observe
from .theorems import Claim, at_least, at_most, equal, holds
from .tight import tight_conversion

Pairs = Iterator[tuple[Claim, Claim]]


@erratum(
    "E1",
    source="GrosseID",
    place="Proposition 3 and Corollary 4",
    kind="misprint",
    printed="The conditions ask ε_u < 1/(1−pmin).",
    corrected="ε_u < log 1/(1−pmin); above it the closed form has a negative diagonal.",
)
def _condition_without_log() -> Pairs:
    prior, level = Prior([0.5, 0.5]), 1.0
    assert level < 1 / (1 - prior.pmin)
    diagonal = float(instances.high_privacy_kernel(prior, level).min())
    yield (
        at_least(diagonal, 0.0, "diagonal entry at p = (.5, .5), ε = 1"),
        at_least(level, -math.log1p(-prior.pmin), "the level is outside the corrected condition"),
    )


@erratum(
    "E2",
    source="GrosseID",
    place="Proposition 2, last displays of the proof",
    kind="misprint",
    printed="max_x i(x;y) is bounded by (1 − e^-ε_l (1−pmin))/pmin.",
    corrected="by the logarithm of it, as the proposition says; some mechanism attains that.",
)
def _display_without_log() -> Pairs:
    prior, low = Prior([0.5, 0.3, 0.2]), 0.7
    kernel = instances.release_or_draw(prior, low)
    found = instances.measure("pml", kernel, prior)[0]
    display = (1 - math.exp(-low) * (1 - prior.pmin)) / prior.pmin
    yield (
        equal(found, display, "largest PML under .7-PMC at p = (.5, .3, .2)"),
        equal(found, math.log(display)),
    )


def truncations(share: Any = Fraction(1, 2), sizes: Iterable[int] = range(2, 40)) -> list[Any]:
    """With probability 1 − ``share`` the secret, else an independent draw, on n symbols.

    The prior halves from symbol to symbol (the last two are equal), so that for a dyadic share all
    numbers are dyadic and the kernels exact. As n grows the prior tends to a geometric one on
    infinitely many symbols. In closed form, for every n and in the limit::

        PMC of every outcome      −log share
        PML of outcome y          log(share + (1 − share)/p_y)         unbounded as p_y → 0
        LDP                       log(1 + (1 − share)/(share·pmin))    unbounded as pmin → 0

    Returns
    -------
    list of dict
        n, and the exact likelihood ratios e^PMC, e^PML and e^LDP as fractions

    Raises
    ------
    InputError
        For a share that is no dyadic number between 0 and 1, or fewer than two symbols.
    """
    a = Fraction(share)
    if not 0 < a < 1 or a.denominator & (a.denominator - 1):
        raise InputError(
            "share of independent draws",
            expected="a dyadic number between 0 and 1",
            got=quote(share),
            remedy="pass for example 0.5",
        )
    rows = []
    for n in sizes:
        if n < 2:
            raise InputError(
                "size of a truncation",
                expected="at least 2 symbols",
                got=str(n),
                remedy="pass numbers from 2 on",
            )
        masses = [Fraction(1, 1 << min(k + 1, n - 1)) for k in range(n)]
        prior = Prior(masses)
        bits = (n - 1) + a.denominator.bit_length() - 1
        weights = np.array(
            [
                [int((a * masses[y] + (1 - a) * (x == y)) * (1 << bits)) for y in range(n)]
                for x in range(n)
            ],
            dtype=object,
        )
        mechanism = Mechanism.from_weights(weights, bits)
        row: dict[str, Any] = {"n": n}
        for notion in (PMC(1.0), PML(1.0), LDP(1.0)):
            row[type(notion).__name__] = _largest_ratio(notion, mechanism, prior)
        rows.append(row)
    return rows


def _largest_ratio(notion: PMC | PML | LDP, mechanism: Mechanism, prior: Prior) -> Fraction:
    ratio = notion.check(mechanism, prior).ratio
    assert ratio is not None
    return ratio


@erratum(
    "E3a",
    source="SaeidianPMC",
    place="Theorem 5",
    kind="false",
    printed="On general alphabets, essentially bounded PMC implies essentially bounded PML.",
    corrected="False on infinite alphabets; on finite ones ε_l-PMC implies ε_u*(ε_l)-PML, which "
    "grows without bound as pmin → 0.",
)
def _pmc_bounds_pml() -> Pairs:
    rows = truncations(Fraction(1, 2), (2, 10, 60, 200))
    for row in rows[1:]:
        # Were PML bounded by a function of PMC, here 2, it would be bounded by its value at n = 2.
        claimed = (1 - Fraction(1, 2) * (1 - _pmin(row["n"]))) / _pmin(row["n"])
        yield (
            holds(
                row["PML"] <= rows[0]["PML"], f"e^PML stays bounded at e^PMC = 2, n = {row['n']}"
            ),
            holds(row["PMC"] == 2 and row["PML"] == claimed),
        )


@erratum(
    "E3b",
    source="SaeidianPMC",
    place="Theorem 6",
    kind="false",
    printed="PMC is essentially bounded if and only if the mechanism is ε-LDP for a finite ε.",
    corrected="Only if LDP then PMC; the converse holds on finite alphabets, at a level "
    "ε_l + ε_u*(ε_l) that grows without bound as pmin → 0.",
)
def _pmc_bounds_ldp() -> Pairs:
    rows = truncations(Fraction(1, 4), (2, 10, 60, 200))
    for row in rows[1:]:
        closed = 1 + 3 / _pmin(row["n"])
        yield (
            holds(
                row["LDP"] <= rows[0]["LDP"], f"e^LDP stays bounded at e^PMC = 4, n = {row['n']}"
            ),
            holds(row["PMC"] == 4 and row["LDP"] == closed),
        )


def _log(ratio: Fraction) -> float:
    return math.log(ratio.numerator) - math.log(ratio.denominator)


def _pmin(n: int) -> Fraction:
    return Fraction(1, 1 << (n - 1))


@erratum(
    "E3c",
    source="SaeidianPMC",
    place="Theorem 5, on the unit interval",
    kind="false",
    printed="Bounded PMC implies bounded PML for a secret with a density.",
    corrected="X uniform on (0,1) with density ½ + (2/x)·1{3x/4 ≤ y ≤ x} has PMC at most "
    "log(1 + 4 log(4/3)) and unbounded PML.",
)
def _pmc_bounds_pml_on_the_interval() -> Pairs:
    from scipy.integrate import trapezoid

    closed = math.log1p(4 * math.log(4 / 3))
    for y in (1e-2, 1e-4, 1e-8):
        # The density of Y, by the trapezoidal rule in log x, and the extremes of the likelihood.
        x = np.exp(np.linspace(math.log(y), math.log(min(1.0, 4 * y / 3)), 2001))
        density = 0.5 + float(trapezoid(2 / x * x, np.log(x)))
        cost = math.log(density / 0.5)
        gain = math.log((0.5 + 2 / y) / density)
        yield (
            at_most(gain, 3.0, f"PML at y = {y:g}, beside a PMC of {cost:.4f}"),
            equal(cost, closed),
        )


@erratum(
    "E4",
    source="SaeidianPMC",
    place="Footnote 5",
    kind="misprint",
    printed="ε_r = ε + log 2/(2−e^ε) makes randomised response the binary PML mechanism.",
    corrected="ε_r = ε + log 1/(2−e^ε).",
)
def _footnote() -> Pairs:
    prior, level = Prior([0.5, 0.5]), 0.3
    kernel = instances.high_privacy_kernel(prior, level)
    found = instances.measure("ldp", kernel, prior)[0]
    yield (
        equal(found, level + math.log(2 / (2 - math.exp(level))), "LDP level at ε = .3"),
        equal(found, level - math.log(2 - math.exp(level))),
    )


def gaussian_tail(level: float) -> float:
    """P(Λ(X → Y) ≥ level) for X uniform on ±1 and Y = X + N(0, 1), in closed form.

    There e^Λ = (1 + e^(2|y|))/2, so the event is |Y| ≥ ½ log(2e^level − 1).
    """
    edge = 0.5 * math.log(2 * math.exp(level) - 1)
    return _upper_tail(edge - 1) + _upper_tail(edge + 1)


def _upper_tail(z: float) -> float:
    return 0.5 * math.erfc(z / math.sqrt(2))


@erratum(
    "E5",
    source="SaeidianPMC",
    place="Example 6, last sentence",
    kind="false",
    printed="Λ is dominated by a Gaussian with mean r/2 and variance 4r(r+1).",
    corrected="Bounds (15) to (18) hold: P(Λ ≥ β + r/2) ≤ 2·exp(−β²/(8(r²+r))).",
)
def _gaussian_domination() -> Pairs:
    r, level = 1.0, 1.0
    found = gaussian_tail(level)
    normal = _upper_tail((level - r / 2) / math.sqrt(4 * r * (r + 1)))
    bound = 2 * math.exp(-((level - r / 2) ** 2) / (8 * (r * r + r)))
    yield (
        at_most(found, normal, "P(Λ ≥ 1) for X uniform on ±1, σ = 1"),
        at_most(found, bound),
    )


@erratum(
    "E6a",
    source="SaeidianPMC",
    place="Section III-C, after (9b); also Section V-B of the earlier paper",
    kind="false",
    printed="Jensen's inequality is strict, so maximal cost leakage underestimates E[Λ].",
    corrected="Maximal cost leakage is at most E[Λ], with equality where Λ is constant.",
)
def _jensen() -> Pairs:
    prior = Prior([0.5, 0.5])
    kernel = instances.randomised_response(2, 1.0)
    cost = instances.maximal_cost_leakage(kernel)
    per_outcome = PMC(1.0).leakage(kernel, prior)
    mean = float((prior.probabilities @ kernel) @ per_outcome)
    yield (
        holds(cost < mean - 1e-9, "binary randomised response at ε = 1: strictly less"),
        equal(cost, mean),
    )


@erratum(
    "E6b",
    source="GrosseID",
    place="Section V-B, first display",
    kind="misprint",
    printed="The display −log E[e^-Λ] is maximal realizable cost.",
    corrected="It is maximal cost leakage; maximal realizable cost is max_y Λ(X → y).",
)
def _realizable() -> Pairs:
    prior = Prior([0.6, 0.4])
    kernel = np.array([[0.8, 0.2], [0.5, 0.5]])
    per_outcome = PMC(1.0).leakage(kernel, prior)
    display = -math.log(float((prior.probabilities @ kernel) @ np.exp(-per_outcome)))
    yield (
        equal(float(per_outcome.max()), display, "max Λ for an asymmetric binary kernel"),
        equal(instances.maximal_cost_leakage(kernel), display),
    )


@erratum(
    "E12",
    source="GrosseID",
    place="Corollary 1",
    kind="misprint",
    printed="ε-PML implies (ε_l(ε), ε)-ALIP for ε ≤ log 1/(1−pmin).",
    corrected="For ε < log 1/(1−pmin): at equality ε_l is a division by zero, and a mechanism may "
    "rule a symbol out.",
)
def _boundary() -> Pairs:
    # With pmin = 1/2 the boundary is ε = log 2, where releasing the secret is allowed.
    prior = Prior([0.5, 0.5])
    found = instances.measure("pmc", np.eye(2), prior)[0]
    level = instances.measure("pml", np.eye(2), prior)[0]
    yield (
        at_most(found, 1e6, "PMC of releasing a fair coin, which is log(2)-PML"),
        equal(level, math.log(2)),
    )


@erratum(
    "E13",
    source="SaeidianPMC",
    place="Section II-D, after Proposition 1; Section III-C of the earlier paper",
    kind="loose",
    printed="ε-LIP implies 2ε-LDP.",
    corrected="It implies less wherever no two symbols can take both ends of the lift at once; for "
    "a fair coin log(2e^ε − 1), and that is tight.",
)
def _twice() -> Pairs:
    for level in (0.1, 1.0):
        found = tight_conversion(LIP(level), LDP, Prior([0.5, 0.5]))
        yield (
            equal(found.target.levels[0], 2 * level, f"least LDP level under LIP({level:g})"),
            equal(found.levels[0].attained, math.log(2 * math.exp(level) - 1)),
        )


@erratum(
    "E18",
    source="SaeidianPMC",
    place="Theorem 1, proof; also Theorem 2 of the earlier paper",
    kind="loose",
    printed="The supremum over features is approached by splitting x* into sufficiently many "
    "parts.",
    corrected="It is attained: by the split into k parts from k ≥ P(x*)/(1 − P(x*)) on, and for "
    "every prior by a feature of two values.",
)
def _two_values() -> Pairs:
    prior = Prior([0.8, 0.1, 0.1])
    seen = observe(Mechanism([[0.2, 0.8], [0.7, 0.3], [0.7, 0.3]]), prior, 0)
    p, posterior = 0.8, 0.16 / 0.3
    enough = math.ceil(p / (1 - p) - 1e-9)
    split = math.log((1 - max(p / enough, 1 - p)) / (1 - max(posterior / enough, 1 - posterior)))
    two = worst_miss(seen)
    assert two.feature.shape[1] == 2
    for attained, about in ((two.attained, "two values"), (split, f"x* in {enough} parts")):
        yield (
            at_most(attained, seen.cost * 0.999, f"{about} fall short of Λ at p = (.8, .1, .1)"),
            equal(attained, math.log(p / posterior)),
        )

"""Grosse, Saeidian, Sadeghi, Oechtering, Skoglund: information density, [GrosseID].

In the order of the paper. Results that the paper on pointwise maximal cost states as well are
checked there: Theorem 1 to 3, Propositions 1 and 2, Example 1, Corollaries 4 and 5, Remark 1.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np
from numpy.random import Generator

from ..prior import Prior
from ..privacy import ALIP, PMC, PML
from ..solve._design import design
from ..theory.conversions import convert
from ..utility.linear import Matrix
from .claims import Claims, Pairs, at_least, at_most, equal, erratum, theorem
from .measurements import (
    high_privacy_kernel,
    measure,
    release_or_draw,
)
from .measurements import maximal_cost_leakage as plain_maximal_cost_leakage
from .published_conversions import register_rules
from .random_instances import (
    mild_prior,
    some_high_privacy_level,
)

result = partial(theorem, source="GrosseID")
mistake = partial(erratum, source="GrosseID")


# Section III: conversions, Figure 1


register_rules("ID-Cor-1", "ID-Cor-2", "ID-Cor-3", "ID-Sec-3C.1", "ID-Sec-3C.2")


# Section IV: mechanism design


@result(
    "ID-Prop-3",
    statement="Where ε_l ≥ ε_l*(ε_u), the best (ε_l, ε_u)-ALIP mechanism is the best ε_u-PML one.",
    conditions="finite alphabets, ε_u < log 1/(1−pmin)",
    tight=True,
)
def _same_optimum(rng: Generator) -> Claims:
    prior = mild_prior(rng, 2, 4)
    u = some_high_privacy_level(rng, prior)
    low = convert(PML(u), to=PMC, prior=prior).levels[0] + float(rng.uniform(0, 1))
    gains = Matrix(rng.uniform(0, 1, (len(prior), int(rng.integers(2, 5)))))
    wide, narrow = design(prior, gains, PML(u)), design(prior, gains, ALIP(low, u))
    yield equal(narrow.value, wide.value, "expected utility of the two designs", scale=wide.value)


# Errata


@mistake(
    "E1",
    place="Proposition 3 and Corollary 4",
    kind="misprint",
    printed="The conditions ask ε_u < 1/(1−pmin).",
    corrected="ε_u < log 1/(1−pmin); above it the closed form has a negative diagonal.",
)
def _condition_without_log() -> Pairs:
    prior, level = Prior([0.5, 0.5]), 1.0
    assert level < 1 / (1 - prior.pmin)
    diagonal = float(high_privacy_kernel(prior, level).min())
    yield (
        at_least(diagonal, 0.0, "diagonal entry at p = (.5, .5), ε = 1"),
        at_least(level, -math.log1p(-prior.pmin), "the level is outside the corrected condition"),
    )


@mistake(
    "E2",
    place="Proposition 2, last displays of the proof",
    kind="misprint",
    printed="max_x i(x;y) is bounded by (1 − e^-ε_l (1−pmin))/pmin.",
    corrected="by the logarithm of it, as the proposition says; some mechanism attains that.",
)
def _display_without_log() -> Pairs:
    prior, low = Prior([0.5, 0.3, 0.2]), 0.7
    kernel = release_or_draw(prior, low)
    found = measure("pml", kernel, prior)[0]
    display = (1 - math.exp(-low) * (1 - prior.pmin)) / prior.pmin
    yield (
        equal(found, display, "largest PML under .7-PMC at p = (.5, .3, .2)"),
        equal(found, math.log(display)),
    )


@mistake(
    "E6b",
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
        equal(plain_maximal_cost_leakage(kernel), display),
    )


@mistake(
    "E12",
    place="Corollary 1",
    kind="misprint",
    printed="ε-PML implies (ε_l(ε), ε)-ALIP for ε ≤ log 1/(1−pmin).",
    corrected="For ε < log 1/(1−pmin): at equality ε_l is a division by zero, and a mechanism may "
    "rule a symbol out.",
)
def _boundary() -> Pairs:
    # With pmin = 1/2 the boundary is ε = log 2, where releasing the secret is allowed.
    prior = Prior([0.5, 0.5])
    found = measure("pmc", np.eye(2), prior)[0]
    level = measure("pml", np.eye(2), prior)[0]
    yield (
        at_most(found, 1e6, "PMC of releasing a fair coin, which is log(2)-PML"),
        equal(level, math.log(2)),
    )

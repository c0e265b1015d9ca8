"""Errata of the paper on information density, [GrosseID].

The paper was read as LaTeX reconstructed from its PDF: what looks like a misprint may have arisen
there. Displays are cited as they were read.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from ..prior import Prior
from ..privacy import PMC
from ..theory.rules import RULES
from .claims import Pairs, at_least, equal, erratum, holds
from .measurements import high_privacy_kernel, measure, release_or_draw
from .measurements import maximal_cost_leakage as plain_maximal_cost_leakage

mistake = partial(erratum, source="GrosseID")


@mistake(
    "E1",
    place="Proposition 3 and Corollary 4",
    kind="misprint",
    quotation="ε_u < 1/(1−p_min)",
    printed="The conditions ask ε_u < 1/(1−pmin).",
    reading="With a logarithm, as in Proposition 1 and all corollaries of Section III.",
    corrected="ε_u < log 1/(1−pmin); above it the closed form has a negative diagonal.",
    proof="The diagonal entry 1 − e^ε(1−p_i) is non-negative for the smallest mass exactly when "
    "ε ≤ log 1/(1−pmin), and t ≥ log t leaves a gap between the two conditions for every pmin.",
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
    place="Proposition 2, last display of the proof",
    kind="misprint",
    quotation="max_x i(x; y) ≤ (1 − e^{−ε_l}(1 − p_min))/p_min",
    printed="max_x i(x;y) is bounded by (1 − e^-ε_l (1−pmin))/pmin.",
    reading="With a logarithm on the right, as the proposition states it.",
    corrected="by the logarithm of it, as the proposition says; some mechanism attains that.",
    proof="The display before it bounds the ratio P(x|y)/P(x), whose logarithm is i(x;y); the "
    "mechanism that releases the secret or a sample of the prior attains the bound.",
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
    place="Section V-B, before the first display",
    kind="misprint",
    quotation="maximal realizable cost can be expressed as",
    printed="The display −log E[e^-Λ] is maximal realizable cost.",
    reading="The symbol in the display is that of maximal cost leakage; only the words before it "
    "name the other one.",
    corrected="It is maximal cost leakage; maximal realizable cost is max_y Λ(X → y).",
    proof="E[e^-Λ] = Σ_y P(y) min_x P(y|x)/P(y) = Σ_y min_x P(y|x), and −log of it is the closed "
    "form of maximal cost leakage.",
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
    "E19",
    place="Table I, its header",
    kind="misprint",
    quotation="to \\ from",
    printed="Rows are where an implication leads to, columns where it comes from.",
    reading="With the two words exchanged the corollaries are where they belong. Two cells fit the "
    "header as printed: that of LIP and LDP cites a theorem that other papers use for LDP to LIP, "
    "and that of ALIP and PML, “Prop. 1, 2”, fits both ways.",
    corrected="Rows are where an implication comes from: Corollary 2, in the row of PML and the "
    "column of LIP, leads from PML to LIP; Corollaries 1 and 3 likewise.",
    proof="The premise of Corollaries 1 to 3 is ε-PML, by their statements.",
)
def _transposed_table() -> Pairs:
    row = "pml"
    for name, column in (("ID-Cor-1", "alip"), ("ID-Cor-2", "lip"), ("ID-Cor-3", "ldp")):
        rule = RULES[name]
        yield (
            holds(rule.premises == (column,), f"{name} leads from its column, {column.upper()}"),
            holds(rule.premises == (row,) and rule.conclusion == column),
        )

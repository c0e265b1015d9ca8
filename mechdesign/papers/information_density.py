"""Grosse, Saeidian, Sadeghi, Oechtering, Skoglund: information density, [GrosseID].

In the order of the paper. Results that the paper on pointwise maximal cost states as well are
checked there: Theorem 1 to 3, Propositions 1 and 2, Example 1, Corollaries 4 and 5, Remark 1.
"""

from __future__ import annotations

import math
from functools import partial

from numpy.random import Generator

from ..privacy import ALIP, LDP, LIP, PMC, PML
from ..privacy.notion import PrivacyNotion
from ..solve._design import find_design
from ..theory.conversions import convert
from ..utility import MutualInformation
from ..utility.linear import Matrix
from .claims import Claims, at_least, at_most, equal, holds, theorem
from .measurements import measure, towards_constant
from .published_conversions import register_rules
from .random_instances import mild_prior, positive_kernel, some_high_privacy_level
from .sub_convex import best_value, information_value, some_values

result = partial(theorem, source="GrosseID")

# How often a kernel is mixed with a constant one until it meets a level.
_MOST_TRIALS = 100


# Section III: conversions, Figure 1


register_rules("ID-Cor-1", "ID-Cor-2", "ID-Cor-3", "ID-Sec-3C.1", "ID-Sec-3C.2")


# Section IV: mechanism design


@result(
    "ID-Prop-3",
    statement="Where ε_l ≥ ε_l*(ε_u), the best (ε_l, ε_u)-ALIP mechanism is the best ε_u-PML one.",
    conditions="finite alphabets, ε_u < log 1/(1−pmin); linear utilities and sub-convex ones, by "
    "designs and by listing vertices",
    tight=True,
)
def _same_optimum(rng: Generator) -> Claims:
    prior = mild_prior(rng, 2, 4)
    u = some_high_privacy_level(rng, prior)
    star = convert(PML(u), to=PMC, prior=prior).levels[0]
    low = star + float(rng.uniform(0, 1))
    gains = Matrix(rng.uniform(0, 1, (len(prior), int(rng.integers(2, 5)))))
    wide, narrow = find_design(prior, gains, PML(u)), find_design(prior, gains, ALIP(low, u))
    yield equal(narrow.value, wide.value, "expected utility of the two designs", scale=wide.value)
    p, high = prior.probabilities, math.exp(u)
    for name, value in some_values(rng, p).items():
        alone = best_value(p, 0.0, high, value)
        both = best_value(p, math.exp(-low), high, value)
        yield equal(both, alone, f"{name}, all vertices", scale=max(abs(alone), 1e-3))
    # Below ε_l* the lower bound matters.
    information = information_value(p)
    alone = best_value(p, 0.0, high, information)
    both = best_value(p, math.exp(-star * 0.8), high, information)
    yield holds(both < alone - 1e-9, "a control: a lower bound that is not implied")
    found = find_design(prior, MutualInformation(), ALIP(low, u))
    # The value of a design is certified between two numbers that this lies between.
    yield at_least(found.value + 1e-6, alone, "design by mutual information")
    yield at_most(found.value, alone, "design by mutual information", scale=1e-3)


@result(
    "ID-Tab-1",
    statement="Each cell of Table I: a guarantee in its row, at its level, implies the guarantee "
    "in its column at the level of the result it cites (header as in E19).",
    conditions="finite alphabets, every symbol of positive mass; PML below log 1/(1−pmin)",
    tight=True,
)
def _table(rng: Generator) -> Claims:
    prior = mild_prior(rng)
    kernel = positive_kernel(rng, len(prior))
    limit = -0.95 * math.log1p(-prior.pmin)
    for _ in range(_MOST_TRIALS):
        if measure("pml", kernel, prior)[0] <= limit:
            break
        kernel = towards_constant(kernel, 0.3)
    least = prior.pmin
    measured = {name: measure(name, kernel, prior) for name in ("pml", "lip", "alip", "ldp")}
    (u,), (both,), (low, high), (e,) = (measured[n] for n in ("pml", "lip", "alip", "ldp"))
    star = math.log(least / (1 - math.exp(u) * (1 - least)))
    one = math.log(least + math.exp(e) * (1 - least))
    two = -math.log(least + math.exp(-e) * (1 - least))
    cells: dict[tuple[type[PrivacyNotion], type[PrivacyNotion]], tuple[float, ...]] = {
        (PML, LIP): (star,),
        (PML, ALIP): (star, u),
        (PML, LDP): (star + u,),
        (LIP, PML): (both,),
        (LIP, ALIP): (both, both),
        (LIP, LDP): (2 * both,),
        (ALIP, PML): (high,),
        (ALIP, LIP): (max(low, high),),
        (ALIP, LDP): (low + high,),
        (LDP, PML): (two,),
        (LDP, LIP): (max(one, two),),
        (LDP, ALIP): (one, two),
    }
    for (first, then), levels in cells.items():
        # What the library derives may be stronger than the cell, by further results.
        given = first.at(*measured[first.__name__.lower()])
        derived = convert(given, to=then, prior=prior).levels
        for found, claimed, own in zip(
            derived, levels, measured[then.__name__.lower()], strict=True
        ):
            cell = f"{first.__name__} to {then.__name__}"
            yield at_most(found, claimed, f"{cell}, derived")
            yield at_most(own, claimed, f"{cell}, random kernel")
    for first, then in ((PML, LIP), (PML, ALIP), (LDP, PML), (LDP, LIP), (ALIP, LIP)):
        given = first.at(*measured[first.__name__.lower()])
        derived = convert(given, to=then, prior=prior).levels
        for found, claimed in zip(derived, cells[first, then], strict=True):
            yield equal(found, claimed, f"{first.__name__} to {then.__name__}, the formula")

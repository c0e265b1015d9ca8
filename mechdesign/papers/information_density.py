"""Grosse, Saeidian, Sadeghi, Oechtering, Skoglund: information density, [GrosseID].

In the order of the paper. Results that the paper on pointwise maximal cost states as well are
checked there: Theorem 1 to 3, Propositions 1 and 2, Example 1, Corollaries 4 and 5, Remark 1.
"""

from __future__ import annotations

from functools import partial

from numpy.random import Generator

from ..privacy import ALIP, PMC, PML
from ..solve._design import design
from ..theory.conversions import convert
from ..utility.linear import Matrix
from .claims import Claims, equal, theorem
from .published_conversions import register_rules
from .random_instances import (
    mild_prior,
    some_high_privacy_level,
)

result = partial(theorem, source="GrosseID")


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

"""Results about databases, with their checks."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.random import Generator

from ..mechanism import Mechanism
from ..prior import Prior
from .databases import (
    Database,
    conditional_leakage,
    dp_level,
    entry_leakage,
    free_lunch_level,
)
from .draws import some_kernel, some_masses
from .features import feature_leakage
from .limits import Characterisation, correlated_database, dp_as_pml, free_lunch_as_pml
from .properties import outcome_leakage
from .theorems import Claim, at_least, at_most, equal, holds, theorem

# The approaches stay below their suprema by less than the checks' tolerance.
_SHRINK = 1e-11


def _instance(rng: Generator, independent: bool = False) -> tuple[Mechanism, Database]:
    size, entries = (int(v) for v in ((2, 2), (3, 2), (2, 3))[rng.integers(3)])
    shape = (size,) * entries
    if independent:
        parts = [Prior.from_counts(some_masses(rng, size)) for _ in range(entries)]
        database = Database.independent(parts)
    else:
        database = Database(some_masses(rng, size**entries).reshape(shape))
    kernel = some_kernel(rng, len(database), int(rng.integers(2, 4)))
    return Mechanism(kernel, database.prior.labels), database


def _pairs(mechanism: Mechanism, database: Database, apart: int) -> float:
    """Log of the largest likelihood ratio of databases that differ in at most ``apart`` entries."""
    rows, labels = mechanism.kernel, database.prior.labels
    return max(
        float(np.log(rows[a] / rows[b]).max())
        for a, first in enumerate(labels)
        for b, second in enumerate(labels)
        if sum(d != e for d, e in zip(first, second, strict=True)) <= apart
    )


def _formulation(
    found: Characterisation, which: int, claimed: float, leakage: float
) -> Iterator[Claim]:
    yield equal(found.level, claimed, "level from all pairs of databases")
    yield at_most(leakage, claimed, "random prior")
    near = found.approaches[which]
    yield at_least(near.leakage, claimed, f"limiting prior: {near.statement}")
    yield holds(near.database.prior.has_full_support, "of full support")


def _is_product(database: Database) -> bool:
    joint = np.ones(())
    for i in range(database.entries):
        joint = joint[..., None] * database.marginal(i).probabilities
    return bool(np.allclose(joint, database.joint, rtol=1e-9, atol=0))


@theorem(
    "PML-Thm-4.2.1",
    statement="Differential privacy is the supremum of ℓ(D_i→y|d_-i) over all priors of full "
    "support.",
    source="SaeidianDisclosure",
    conditions="finite alphabets, priors of full support",
    tight=True,
    also=("PML-Def-4.1",),
)
def _dp_conditional(rng: Generator) -> Iterator[Claim]:
    mechanism, database = _instance(rng)
    found = dp_as_pml(mechanism, database, _SHRINK)
    leakage = float(conditional_leakage(mechanism, database).max())
    yield from _formulation(found, 0, _pairs(mechanism, database, 1), leakage)


@theorem(
    "PML-Thm-4.2.2",
    statement="Differential privacy is the supremum of ℓ(D_i→y|d_-i) over product priors.",
    source="SaeidianDisclosure",
    conditions="finite alphabets, product priors of full support",
    tight=True,
)
def _dp_product(rng: Generator) -> Iterator[Claim]:
    mechanism, database = _instance(rng, independent=True)
    found = dp_as_pml(mechanism, database, _SHRINK)
    leakage = float(conditional_leakage(mechanism, database).max())
    yield from _formulation(found, 1, _pairs(mechanism, database, 1), leakage)
    yield holds(_is_product(found.approaches[1].database), "a product prior")


@theorem(
    "PML-Thm-4.2.3",
    statement="Differential privacy is the supremum of ℓ(D_i→y) over product priors.",
    source="SaeidianDisclosure",
    conditions="finite alphabets, product priors of full support",
    tight=True,
)
def _dp_entries(rng: Generator) -> Iterator[Claim]:
    mechanism, database = _instance(rng, independent=True)
    found = dp_as_pml(mechanism, database, _SHRINK)
    leakage = float(entry_leakage(mechanism, database).max())
    yield from _formulation(found, 2, _pairs(mechanism, database, 1), leakage)
    yield holds(_is_product(found.approaches[2].database), "a product prior")


@theorem(
    "PML-Rem-B.1",
    statement="No prior of full support attains the suprema of Theorem 4.2, unless the mechanism "
    "is "
    "constant.",
    source="SaeidianDisclosure",
    conditions="finite alphabets, a mechanism that is not constant",
)
def _not_attained(rng: Generator) -> Iterator[Claim]:
    mechanism, database = _instance(rng)
    level = dp_level(mechanism, database)
    yield holds(float(conditional_leakage(mechanism, database).max()) < level, "random prior")
    for near in dp_as_pml(mechanism, database, 1e-4).approaches:
        yield holds(near.leakage < level, near.statement)


@theorem(
    "PML-Thm-4.3",
    statement="An ε-DP mechanism may leak within δ of log 1/min P(D_i) about an entry of a "
    "correlated "
    "database, for every ε and δ.",
    source="SaeidianDisclosure",
    conditions="correlated entries",
)
def _correlated(rng: Generator) -> Iterator[Claim]:
    epsilon, delta = float(rng.uniform(0.05, 2)), float(rng.uniform(0.001, 0.5))
    entry = Prior.from_counts(some_masses(rng, int(rng.integers(2, 4))))
    found = correlated_database(epsilon, delta, entry)
    yield holds(found.leakage > found.ceiling - delta, "within δ")
    yield at_most(found.leakage, found.ceiling, "not more than everything")
    rows = found.mechanism.kernel
    steps = np.abs(np.diff(np.log(rows), axis=0)).max()
    yield at_most(float(steps), epsilon, "neighbouring counts")
    small = correlated_database(2.0, 0.5, entry)
    database, mechanism = small.expanded()
    yield at_most(dp_level(mechanism, database), 2.0, "all neighbouring databases")
    leaked = entry_leakage(mechanism, database)[0]
    yield equal(float(leaked.max()), small.leakage, "all databases", scale=1.0)
    alone = Database.iid(entry, small.entries)
    again = float(entry_leakage(mechanism, alone).max())
    yield at_most(again, 2.0, "independent entries keep to ε")


@theorem(
    "PML-Thm-4.5.1",
    statement="Free-lunch privacy is the supremum of ℓ(X→y) over all priors of full support.",
    source="SaeidianDisclosure",
    conditions="finite alphabets, priors of full support",
    tight=True,
    also=("PML-Def-4.4",),
)
def _free_lunch(rng: Generator) -> Iterator[Claim]:
    mechanism, database = _instance(rng)
    found = free_lunch_as_pml(mechanism, database, _SHRINK)
    leakage = float(outcome_leakage(mechanism, database.prior).max())
    claimed = _pairs(mechanism, database, database.entries)
    yield from _formulation(found, 0, claimed, leakage)


@theorem(
    "PML-Thm-4.5.2",
    statement="Free-lunch privacy is the supremum of ℓ(X→y) over product priors.",
    source="SaeidianDisclosure",
    conditions="finite alphabets, product priors of full support",
    tight=True,
)
def _free_lunch_product(rng: Generator) -> Iterator[Claim]:
    mechanism, database = _instance(rng, independent=True)
    found = free_lunch_as_pml(mechanism, database, _SHRINK)
    leakage = float(outcome_leakage(mechanism, database.prior).max())
    claimed = _pairs(mechanism, database, database.entries)
    yield from _formulation(found, 1, claimed, leakage)
    yield holds(_is_product(found.approaches[1].database), "a product prior")


@theorem(
    "PML-Thm-4.5.3",
    statement="Free-lunch privacy is the supremum of ℓ(D_i→y) over all priors and entries.",
    source="SaeidianDisclosure",
    conditions="finite alphabets, priors of full support, the best entry i",
    tight=True,
)
def _free_lunch_entries(rng: Generator) -> Iterator[Claim]:
    mechanism, database = _instance(rng)
    found = free_lunch_as_pml(mechanism, database, _SHRINK)
    leakage = float(entry_leakage(mechanism, database).max())
    claimed = _pairs(mechanism, database, database.entries)
    yield from _formulation(found, 2, claimed, leakage)


@theorem(
    "D-Databases-1",
    statement="One entry need not be enough in Theorem 4.5(3): about entry i at most "
    "log max_{d≠d'} max P(y|d)/min P(y|d') leaks, under any prior.",
    conditions="finite alphabets; the printed proof fixes an arbitrary entry",
    tight=True,
)
def _one_entry(rng: Generator) -> Iterator[Claim]:
    # The most and the least likely pair share the first entry.
    high, low, middle = rng.uniform(0.8, 0.95), rng.uniform(0.05, 0.1), rng.uniform(0.3, 0.5)
    column = np.array([high, low, middle, middle])
    rows = list(Database(np.ones((2, 2))).prior.labels)
    mechanism = Mechanism(np.column_stack([column, 1 - column]), rows)
    limit = max(
        math.log(a.max() / b.min())
        for k in (column, 1 - column)
        for a, b in ((k[:2], k[2:]), (k[2:], k[:2]))
    )
    level = free_lunch_level(mechanism, Database(np.ones((2, 2))))
    yield holds(limit < level - 0.1, "below the free-lunch level")
    for _ in range(5):
        database = Database(rng.dirichlet(np.full(4, 0.3)).reshape(2, 2) + 1e-9)
        yield at_most(float(entry_leakage(mechanism, database)[0].max()), limit, "random prior")
    # Both share their first value, so it is the second entry that tells them apart.
    near = free_lunch_as_pml(mechanism, Database(np.ones((2, 2))), _SHRINK).approaches[2]
    second = float(entry_leakage(mechanism, near.database)[1].max())
    yield equal(second, level, "the second entry reaches the level")


@theorem(
    "PML-Sec-4",
    statement="ℓ(D_i→y) ≤ ℓ(X→y): an entry is a feature of the database.",
    source="SaeidianDisclosure",
    conditions="finite alphabets, any joint prior",
)
def _entries(rng: Generator) -> Iterator[Claim]:
    mechanism, database = _instance(rng)
    found, whole = entry_leakage(mechanism, database), outcome_leakage(mechanism, database.prior)
    for i in range(database.entries):
        yield at_most(float((found[i] - whole).max()), 0.0, "pre-processing")
        same = feature_leakage(mechanism, database.prior, database.entry(i))
        yield at_most(float(np.abs(same - found[i]).max()), 0.0, "measured as a feature")

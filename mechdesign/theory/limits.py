"""Differential and free-lunch privacy as PML under the worst priors, and the priors that show it.

Each characterisation is a supremum over priors that no prior attains; the proofs approach it by
priors that shrink onto a few databases. Here these priors are built at a finite distance, and the
leakage is measured under them. Source: [SaeidianDisclosure] Theorems 4.2, 4.3 and 4.5.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import LevelError, quote
from ..exact import (
    LARGEST_LEVEL,
    Verdict,
    compare_with_exp,
    exp_lower,
    log_bounds,
    log_upper,
)
from ..labels import Label
from ..mechanism import Mechanism
from ..prior import Prior
from .databases import (
    Database,
    conditional_leakage,
    dp_level,
    entry_leakage,
    free_lunch_leakage,
    free_lunch_level,
    likelihoods,
    neighbour_leakage,
)
from .inputs import number
from .observation import as_mechanism

_MOST_ENTRIES = 100_000
# Everything leaks less than this many nats: 1/min P is not above e to it.
_LARGEST_DELTA = 700.0


@dataclass(frozen=True)
class Approach:
    """A prior near the worst one for a statement, and what leaks under it.

    Attributes
    ----------
    statement : what is maximised over which priors
    database : the prior, of full support
    leakage : what the mechanism leaks under it, measured, in nats
    """

    statement: str
    database: Database
    leakage: float


@dataclass(frozen=True)
class Characterisation:
    """A privacy level and its formulations in terms of PML.

    Attributes
    ----------
    notion : ``"differential privacy"`` or ``"free-lunch privacy"``
    level : in nats
    approaches : one per formulation; each leakage is below the level and tends to it
    """

    notion: str
    level: float
    approaches: tuple[Approach, ...]

    @property
    def gap(self) -> float:
        """How far the furthest approach stays below the level."""
        return max(self.level - a.leakage for a in self.approaches)


def dp_as_pml(mechanism: Mechanism, database: Database, shrink: float = 1e-9) -> Characterisation:
    """Differential privacy as PML about single entries ([SaeidianDisclosure] Theorem 4.2).

    The level is the supremum of (1) ℓ(D_i→y|d_{-i}) over all priors of full support, (2) the same
    over product priors, and (3) ℓ(D_i→y) over product priors.

    Parameters
    ----------
    mechanism : on the databases of ``database``
    database : says what the databases are; its masses do not matter
    shrink : mass that the priors leave to other databases, relative to the smallest positive
        entry of the kernel; the leakages tend to the level as it goes to zero

    Examples
    --------
    >>> import mechdesign as md
    >>> pairs = Database.iid(md.Prior([.5, .5]), 2)
    >>> flip = md.Mechanism([[.75, .25], [.25, .75]])
    >>> both = md.Mechanism(flip.product(flip).kernel, pairs.prior.labels)
    >>> found = dp_as_pml(both, pairs)
    >>> round(found.level, 6), [round(a.leakage, 6) for a in found.approaches]
    (1.098612, [1.098612, 1.098612, 1.098612])
    """
    kernel, size, n = _kernel(mechanism, database)
    small = _small(kernel, shrink)
    y = int(neighbour_leakage(mechanism, database).argmax())
    column = kernel[..., y]
    i, rest = _worst_entry(column)
    moved = np.moveaxis(column, i, 0).reshape(size, -1)
    low, lowest = int(moved[:, rest].argmin()), moved.argmin(axis=0)
    # (1): whatever the others are, the entry is almost surely the value that makes y least likely.
    joint = np.full(moved.shape, small / max(size - 1, 1))
    joint[lowest, np.arange(moved.shape[1])] = 1 - small
    correlated = _unmoved(joint / moved.shape[1], i, size, n)
    # (2): independent entries, this one almost surely the value for the worst others.
    uniform = [np.full(size, 1 / size)] * n
    single = [_near(low, size, small) if j == i else uniform[j] for j in range(n)]
    # (3): independent entries, all of them almost sure.
    places = np.unravel_index(rest, (size,) * (n - 1))
    sure = [_near(int(p), size, small) for p in places]
    sure.insert(i, _near(low, size, small))
    names = database.alphabet
    approaches = (
        _approach(
            "ℓ(D_i→y|d_-i) over all priors", conditional_leakage, mechanism, correlated, names
        ),
        _approach(
            "ℓ(D_i→y|d_-i) over product priors",
            conditional_leakage,
            mechanism,
            _outer(single),
            names,
        ),
        _approach("ℓ(D_i→y) over product priors", entry_leakage, mechanism, _outer(sure), names),
    )
    return Characterisation("differential privacy", dp_level(mechanism, database), approaches)


def free_lunch_as_pml(
    mechanism: Mechanism, database: Database, shrink: float = 1e-9
) -> Characterisation:
    """Free-lunch privacy as PML ([SaeidianDisclosure] Theorem 4.5).

    The level is the supremum of (1) ℓ(X→y) over all priors of full support, (2) the same over
    product priors, and (3) ℓ(D_i→y) over all priors and entries. One entry is not enough for (3):
    the most and the least likely database must differ in it. Parameters as in :func:`dp_as_pml`.
    """
    kernel, size, n = _kernel(mechanism, database)
    small = _small(kernel, shrink)
    y = int(free_lunch_leakage(mechanism, database).argmax())
    column = kernel[..., y]
    low, high = int(column.argmin()), int(column.argmax())
    whole = _near(low, column.size, small).reshape(column.shape)
    lows, highs = (np.unravel_index(x, column.shape) for x in (low, high))
    product_prior = _outer([_near(int(d), size, small) for d in lows])
    # (3): an entry in which the two databases differ tells them apart when the others go with it.
    i = next((j for j in range(n) if lows[j] != highs[j]), 0)
    moved = np.moveaxis(np.arange(column.size).reshape(column.shape), i, 0).reshape(size, -1)
    joint = np.full(moved.shape, 1 / moved.shape[1])
    for x in (high, low):
        d, rest = (int(v[0]) for v in np.nonzero(moved == x))
        joint[d] = _near(rest, moved.shape[1], small)
    joint *= _near(int(lows[i]), size, small)[:, None]
    names = database.alphabet
    approaches = (
        _approach("ℓ(X→y) over all priors", _whole, mechanism, whole, names),
        _approach("ℓ(X→y) over product priors", _whole, mechanism, product_prior, names),
        _approach(
            "ℓ(D_i→y) over all priors",
            entry_leakage,
            mechanism,
            _unmoved(joint, i, size, n),
            names,
        ),
    )
    return Characterisation("free-lunch privacy", free_lunch_level(mechanism, database), approaches)


def _kernel(mechanism: Mechanism, database: Database) -> tuple[NDArray[np.float64], int, int]:
    return likelihoods(mechanism, database), len(database.alphabet), database.entries


def _small(kernel: NDArray[np.float64], shrink: float) -> float:
    shrink = number(shrink, "shrink", 0, 0.5, ends="()")
    return max(float(shrink * kernel[kernel > 0].min()), sys.float_info.min)


def _worst_entry(column: NDArray[np.float64]) -> tuple[int, int]:
    """The entry, and the place of the others, where one entry changes the likelihood most."""
    best, where = -1.0, (0, 0)
    for i in range(column.ndim):
        moved = np.moveaxis(column, i, 0).reshape(column.shape[0], -1)
        top, low = moved.max(axis=0), moved.min(axis=0)
        with np.errstate(divide="ignore"):
            ratio = np.where(top > 0, top / np.where(low > 0, low, 1), 1.0)
        ratio[(top > 0) & (low == 0)] = math.inf
        if ratio.max() > best:
            best, where = float(ratio.max()), (i, int(ratio.argmax()))
    return where


def _near(place: int, size: int, small: float) -> NDArray[np.float64]:
    """A distribution on ``size`` places with mass 1 − small on one of them."""
    masses = np.full(size, small / max(size - 1, 1))
    masses[place] = 1 - small if size > 1 else 1.0
    return masses


def _outer(marginals: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    joint = np.ones(())
    for masses in marginals:
        joint = joint[..., None] * masses
    return joint


def _unmoved(joint: NDArray[np.float64], axis: int, size: int, n: int) -> NDArray[np.float64]:
    return np.moveaxis(joint.reshape((size,) * n), 0, axis)


def _whole(mechanism: Mechanism, database: Database) -> NDArray[np.float64]:
    """ℓ(X→y) for every outcome."""
    kernel = as_mechanism(mechanism).kernel
    q = database.prior.probabilities @ kernel
    live = q > 0
    top = kernel[database.prior.support].max(axis=0)
    leakage: NDArray[np.float64] = np.log(np.where(live, top, 1.0) / np.where(live, q, 1.0))
    return np.maximum(leakage, 0.0)


def _approach(
    statement: str, measure: Any, mechanism: Mechanism, joint: Any, alphabet: tuple[Label, ...]
) -> Approach:
    database = Database(joint, alphabet)
    return Approach(statement, database, float(measure(mechanism, database).max()))


@dataclass(frozen=True)
class CorrelatedDatabase:
    """A database whose entries are copies of one another, under a differentially private mechanism.

    Attributes
    ----------
    entries : n
    entry : distribution of D_i, the same for each i; all entries are equal
    mechanism : kernel from the number of entries that have the least likely value, 0 … n, to the
        outcomes "many" and "few": exactly ε-differentially private
    epsilon : its differential privacy level asked, in nats
    leakage : ℓ(D_i→"many"), a float not above it
    ceiling : log 1/min P(D_i): what publishing D_i would leak
    """

    entries: int
    entry: Prior
    mechanism: Mechanism
    epsilon: float
    leakage: float
    ceiling: float

    def expanded(self) -> tuple[Database, Mechanism]:
        """The database over D^n and the mechanism on it, for n small enough to list them."""
        rare = self.entry.labels[_rarest(self.entry)]
        masses = {(d,) * self.entries: self.entry.mass(x) for x, d in enumerate(self.entry.labels)}
        database = Database(masses, self.entry.labels)
        counts = [row.count(rare) for row in database.prior.labels]
        weights = np.array([self.mechanism.weights[c] for c in counts], dtype=object)
        bits, outputs = self.mechanism.bits, self.mechanism.outputs
        return database, Mechanism.from_weights(weights, bits, database.prior.labels, outputs)


def correlated_database(
    epsilon: float, delta: float, entry: Prior | None = None
) -> CorrelatedDatabase:
    """An ε-DP mechanism that leaks within δ of everything about an entry of a correlated database.

    [SaeidianDisclosure] Theorem 4.3, constructed: all n entries are equal, and the mechanism says
    "many" with probability e^{−ε(n−c)}/2 when c of them have the least likely value. A single entry
    moves both probabilities by a factor of at most e^ε; all of them together by e^{εn}, so that
    "many" leaves no doubt. The number of entries is the smallest for which this mechanism does it.

    Parameters
    ----------
    epsilon : differential privacy level, above 0
    delta : how far below log 1/min P(D_i) the leakage may stay, above 0
    entry : distribution of an entry; fair bits when left out

    Raises
    ------
    LevelError
        For levels that are not positive, or so small that more than 100,000 entries are needed.

    Examples
    --------
    >>> import mechdesign as md
    >>> found = correlated_database(.5, .01, md.Prior([.9, .1]))
    >>> found.entries, round(found.leakage, 4), round(found.ceiling, 4)
    (14, 2.2944, 2.3026)
    """
    epsilon = number(epsilon, "epsilon", 0, math.inf, ends="()")
    delta = number(delta, "delta", 0, math.inf, ends="()")
    entry = Prior.uniform(2) if entry is None else entry
    if not isinstance(entry, Prior) or len(entry.support) < 2:
        raise LevelError(
            "entry of a correlated database",
            expected="a Prior with at least two symbols of positive mass",
            got=quote(entry),
            remedy="leave it out for fair bits",
        )
    rare = entry.mass(_rarest(entry))
    # From n on, log(1 + (1−p)/p·e^{−εn}) < δ.
    log_odds = float(log_bounds((1 - rare) / rare)[1])
    least = (log_odds - math.log(math.expm1(min(delta, _LARGEST_DELTA)))) / epsilon
    entries = math.ceil(min(max(least, 1.0), _MOST_ENTRIES + 1))
    while entries <= _MOST_ENTRIES:
        mechanism = _rising(entries, epsilon)
        top, low = (int(mechanism.weights[c, 0]) for c in (entries, 0))
        # log(1 + odds·low/top) is what the leakage lacks.
        lacking = 1 + (1 - rare) / rare * Fraction(low, top)
        if compare_with_exp(lacking, Fraction(delta)) is Verdict.YES:
            exact = log_bounds(1 / (rare * lacking))[0]
            leakage, ceiling = float(exact), log_upper(1 / rare)
            if Fraction(leakage) > exact:
                leakage = math.nextafter(leakage, 0.0)
            return CorrelatedDatabase(entries, entry, mechanism, epsilon, leakage, ceiling)
        entries += 1
    raise LevelError(
        "correlated database",
        expected=f"levels for which {_MOST_ENTRIES} entries are enough",
        got=f"epsilon={quote(epsilon)}, delta={quote(delta)}",
        remedy="ask for a larger epsilon or delta",
    )


def _rarest(entry: Prior) -> int:
    return min((int(x) for x in entry.support), key=lambda x: entry.weights[x])


def _rising(entries: int, epsilon: float) -> Mechanism:
    """Exact weights w_c ≤ e^ε·w_{c−1} with w_n one half: both outcomes keep to the factor e^ε."""
    factor = exp_lower(Fraction(epsilon))
    # exp_lower stops at the largest level, so larger ones need no more bits.
    bits = 64 + math.ceil(entries * min(epsilon, LARGEST_LEVEL) / math.log(2))
    weights = [1 << (bits - 1)]
    for _ in range(entries):
        weights.append(-(-weights[-1] * factor.denominator // factor.numerator))
    column = np.array(weights[::-1], dtype=object)
    table = np.column_stack([column, (1 << bits) - column])
    return Mechanism.from_weights(table, bits, range(entries + 1), ["many", "few"])

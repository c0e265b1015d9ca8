"""Databases: n entries over one alphabet, drawn from any joint distribution.

What a mechanism leaks about an entry, with and without knowledge of the others, and the levels of
differential and free-lunch privacy. Both are PML under the worst priors: suprema that no prior
attains, approached by priors that shrink onto a few databases, which are built here at a finite
distance. Source: [SaeidianDisclosure] Section 4.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import DataError, KernelError, LevelError, is_iterable, listed, quote
from ..exact import (
    LARGEST_LEVEL,
    Verdict,
    compare_with_exp,
    exp_lower,
    is_whole,
    log_bounds,
    log_upper,
)
from ..labels import Label, check_labels, counted, listing, tidy
from ..mechanism import Mechanism, mechanism_of
from ..prior import Prior
from ..privacy.features import feature
from .leakage import outcome_leakage, quiet_prior
from .validation import number, whole

_MOST_DATABASES = 1 << 16
_MOST_ENTRIES = 100_000
# Everything leaks less than this many nats: 1/min P is not above e to it.
_LARGEST_DELTA = 700.0


class Database:
    """A random database (D_1, …, D_n) over D^n.

    The symbols of its :attr:`Database.prior` are tuples of n entries, in the order of
    ``itertools.product(alphabet, repeat=n)``: a mechanism on it has these tuples as inputs.

    Parameters
    ----------
    joint : n-dimensional array of masses with k = len(alphabet) places per axis, or a mapping from
        tuples of entries to masses (tuples left out have mass zero)
    alphabet : the values of an entry; 0 … k−1 for an array when left out

    Raises
    ------
    DataError
        For shapes that do not fit, tuples of other entries, or more than 65,536 databases.
    PriorError
        For masses that are negative or all zero; they are divided by their sum.

    Examples
    --------
    >>> twins = Database({("a", "a"): .6, ("b", "b"): .3, ("a", "b"): .1}, ["a", "b"])
    >>> twins.marginal(0).probabilities
    array([0.7, 0.3])
    >>> Database.iid(Prior([.5, .5]), 3)
    Database(3 entries over 2 values, 8 databases)
    """

    __slots__ = ("alphabet", "entries", "prior")

    alphabet: tuple[Label, ...]
    #: Number of entries n.
    entries: int
    #: The joint distribution, over the tuples in D^n.
    prior: Prior

    def __init__(
        self, joint: ArrayLike | Mapping[Any, Any], alphabet: Iterable[Any] | None = None
    ) -> None:
        if isinstance(joint, Mapping):
            if alphabet is None:
                alphabet = dict.fromkeys(d for row in joint for d in _row(row))
            values = list(alphabet)
            self.alphabet = check_labels(values, len(values), "alphabet of entries", DataError)
            sizes = {len(_row(row)) for row in joint}
            if len(sizes) != 1:
                raise _bad("tuples of one length", f"lengths {sorted(sizes)}")
            self.entries = sizes.pop()
            rows = _rows(self.alphabet, self.entries)
            strange = [row for row in joint if tuple(tidy(d) for d in row) not in set(rows)]
            if strange:
                raise _bad(f"entries among {listing(self.alphabet)}", quote(strange[0]))
            known = {tuple(tidy(d) for d in row): mass for row, mass in joint.items()}
            self.prior = quiet_prior([known.get(row, 0) for row in rows], rows)
            return
        try:
            masses = np.asarray(joint)
        except ValueError:
            raise _bad("one axis of k places per entry", "rows of different lengths") from None
        if masses.ndim == 0 or len(set(masses.shape)) != 1 or masses.size == 0:
            raise _bad("one axis of k places per entry", f"shape {masses.shape}")
        size = masses.shape[0]
        self.alphabet = check_labels(alphabet, size, "alphabet of entries", DataError)
        self.entries = masses.ndim
        self.prior = quiet_prior(masses.ravel(), _rows(self.alphabet, self.entries))

    @classmethod
    def independent(cls, marginals: Sequence[Prior]) -> Database:
        """Independent entries, each with its own distribution over one alphabet; exact."""
        found = listed(marginals, "database", "a list of priors", DataError)
        if not found or not all(isinstance(m, Prior) for m in found):
            raise _bad("at least one Prior per entry", quote(marginals))
        if len({m.labels for m in found}) != 1:
            raise _bad("marginals over one alphabet", "different labels")
        rows = _rows(found[0].labels, len(found))
        weights = [math.prod(part) for part in product(*(m.weights for m in found))]
        return cls._of(found[0].labels, len(found), quiet_prior(weights, rows))

    @classmethod
    def iid(cls, entry: Prior, entries: int) -> Database:
        """Independent entries with one distribution."""
        return cls.independent(
            [entry] * whole(entries, "number of entries", 1, 60, error=DataError)
        )

    @classmethod
    def _of(cls, alphabet: tuple[Label, ...], entries: int, prior: Prior) -> Database:
        made = cls.__new__(cls)
        made.alphabet, made.entries, made.prior = alphabet, entries, prior
        return made

    @property
    def joint(self) -> NDArray[np.float64]:
        """The masses as an array with one axis per entry."""
        return self.prior.probabilities.reshape((len(self.alphabet),) * self.entries)

    def entry(self, position: int) -> Mechanism:
        """D_i as a feature of the database (positions count from 0)."""
        i = self._position(position)
        return feature(self.prior, lambda row: row[i])

    def marginal(self, position: int) -> Prior:
        """P(D_i), exact."""
        i = self._position(position)
        masses: dict[Label, Fraction] = dict.fromkeys(self.alphabet, Fraction(0))
        for x, row in enumerate(self.prior.labels):
            masses[row[i]] += self.prior.mass(x)
        return quiet_prior(list(masses.values()), self.alphabet)

    def _position(self, position: int) -> int:
        if not is_whole(position, 0, self.entries - 1):
            raise DataError(
                "position of an entry",
                expected=f"a number from 0 to {self.entries - 1}",
                got=quote(position),
                remedy="count entries from 0",
            )
        return int(position)

    def __len__(self) -> int:
        return len(self.prior)

    def __repr__(self) -> str:
        return (
            f"Database({counted(self.entries, 'entry', 'entries')} over "
            f"{counted(len(self.alphabet), 'value')}, "
            f"{counted(len(self), 'database')})"
        )

    def kernel(self, mechanism: Mechanism) -> NDArray[np.float64]:
        """P(y|x) with one axis per entry and one for the outcome."""
        mechanism = mechanism_of(mechanism)
        if mechanism.inputs != self.prior.labels:
            raise KernelError(
                "mechanism on a database",
                expected=f"the {len(self)} inputs {self.prior.labels[:3]}…",
                got=f"{len(mechanism.inputs)} inputs {mechanism.inputs[:3]}…",
                remedy="give it database.prior.labels as inputs",
            )
        return mechanism.kernel.reshape((len(self.alphabet),) * self.entries + (-1,))


def _row(row: Any) -> tuple[Any, ...]:
    if isinstance(row, (str, bytes)) or not is_iterable(row):
        raise _bad("tuples of entries", quote(row))
    return tuple(row)


def _rows(alphabet: tuple[Label, ...], entries: int) -> list[tuple[Label, ...]]:
    if len(alphabet) ** entries > _MOST_DATABASES:
        raise _bad(f"at most {_MOST_DATABASES} databases", f"{len(alphabet)}^{entries} of them")
    return list(product(alphabet, repeat=entries))


def _bad(expected: str, got: str) -> DataError:
    return DataError(
        "database", expected=expected, got=got, remedy="see the examples of theory.Database"
    )


def _likelihoods(mechanism: Mechanism, database: Any) -> NDArray[np.float64]:
    """What :meth:`Database.kernel` gives; :class:`DataError` for what is no database."""
    if not isinstance(database, Database):
        raise _bad("a theory.Database", quote(database))
    return database.kernel(mechanism)


def entry_leakage(mechanism: Mechanism, database: Database) -> NDArray[np.float64]:
    """ℓ(D_i→y) for every entry and outcome, an ``(n, M)`` array in nats.

    Never more than ℓ(X→y). Entries of positive marginal mass count.
    """
    kernel, joint = _likelihoods(mechanism, database), database.joint
    q = np.tensordot(joint, kernel, axes=joint.ndim)
    found = []
    for i in range(database.entries):
        mass = np.moveaxis(joint, i, 0).reshape(len(database.alphabet), -1)
        rows = np.moveaxis(kernel, i, 0).reshape(*mass.shape, -1)
        total = mass.sum(axis=1)
        live = total > 0
        given = np.einsum("dr,dry->dy", mass[live], rows[live]) / total[live, None]
        found.append(_log_of(given.max(axis=0), q))
    return np.array(found)


def conditional_leakage(mechanism: Mechanism, database: Database) -> NDArray[np.float64]:
    """Max over d_{-i} of ℓ(D_i→y|d_{-i}), an ``(n, M)`` array in nats.

    What the outcome tells about an entry to someone who knows all others
    ([SaeidianDisclosure] Definition 2.5); d_{-i} runs over what has positive mass.
    """
    kernel, joint = _likelihoods(mechanism, database), database.joint
    found = []
    for i in range(database.entries):
        mass = np.moveaxis(joint, i, 0).reshape(len(database.alphabet), -1)
        rows = np.moveaxis(kernel, i, 0).reshape(*mass.shape, -1)
        total = mass.sum(axis=0)
        share = mass / np.where(total > 0, total, 1)
        q = np.einsum("dr,dry->ry", share, rows)
        top = np.where(share[:, :, None] > 0, rows, 0).max(axis=0)
        found.append(_log_of(top[total > 0], q[total > 0]).max(axis=0))
    return np.array(found)


def _log_of(top: NDArray[np.float64], q: NDArray[np.float64]) -> NDArray[np.float64]:
    live = (q > 0) & (top > 0)
    ratio = np.where(live, top, 1.0) / np.where(live, q, 1.0)
    leakage: NDArray[np.float64] = np.maximum(np.log(ratio), 0.0)
    return leakage


def neighbour_leakage(mechanism: Mechanism, database: Database) -> NDArray[np.float64]:
    """Log max P(y|x)/P(y|x') over databases that differ in one entry, ``(M,)`` in nats.

    Its largest entry is the level of differential privacy ([SaeidianDisclosure] Definition 4.1).
    """
    kernel = _likelihoods(mechanism, database)
    worst = np.zeros(kernel.shape[-1])
    for i in range(database.entries):
        top, low = kernel.max(axis=i), kernel.min(axis=i)
        axes = tuple(range(database.entries - 1))
        worst = np.maximum(worst, _spread(top, low).max(axis=axes))
    return worst


def free_lunch_leakage(mechanism: Mechanism, database: Database) -> NDArray[np.float64]:
    """Log max P(y|x)/P(y|x') over all pairs of databases, ``(M,)`` in nats.

    Its largest entry is the level of free-lunch privacy ([SaeidianDisclosure] Definition 4.4): the
    leakage capacity of the mechanism.
    """
    kernel = _likelihoods(mechanism, database)
    axes = tuple(range(database.entries))
    return _spread(kernel.max(axis=axes), kernel.min(axis=axes))


def _spread(top: NDArray[np.float64], low: NDArray[np.float64]) -> NDArray[np.float64]:
    with np.errstate(divide="ignore"):
        spread: NDArray[np.float64] = np.where(
            top > 0, np.log(np.where(top > 0, top, 1)) - np.log(np.where(top > 0, low, 1)), 0.0
        )
    return spread


def dp_level(mechanism: Mechanism, database: Database) -> float:
    """The level of differential privacy in nats; ``inf`` when neighbours can be told apart."""
    return float(neighbour_leakage(mechanism, database).max())


def free_lunch_level(mechanism: Mechanism, database: Database) -> float:
    """The level of free-lunch privacy in nats."""
    return float(free_lunch_leakage(mechanism, database).max())


# Differential and free-lunch privacy as PML under the worst priors


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
    sure = _near(low, column.size, small).reshape(column.shape)
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
        _approach("ℓ(X→y) over all priors", _secret_leakage, mechanism, sure, names),
        _approach("ℓ(X→y) over product priors", _secret_leakage, mechanism, product_prior, names),
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
    return _likelihoods(mechanism, database), len(database.alphabet), database.entries


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


def _secret_leakage(mechanism: Mechanism, database: Database) -> NDArray[np.float64]:
    """ℓ(X→y) for every outcome."""
    return outcome_leakage(mechanism, database.prior)


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
        one, outputs = self.mechanism.denominator, self.mechanism.outputs
        return database, Mechanism.over(weights, one, database.prior.labels, outputs)


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

"""Databases: n entries over one alphabet, drawn from any joint distribution.

What a mechanism leaks about an entry, with and without knowledge of the others, and the levels of
differential and free-lunch privacy. Source: [SaeidianDisclosure] Section 4.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import DataError, KernelError, is_iterable, quote
from ..labels import Label, check_labels, listing, tidy
from ..mechanism import Mechanism
from ..prior import Prior
from .features import feature
from .inputs import listed, whole
from .observation import as_mechanism, quiet_prior

_MOST_DATABASES = 1 << 16


class Database:
    """A random database (D_1, …, D_n) over D^n.

    The symbols of its :attr:`prior` are tuples of n entries, in the order of
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
        good = isinstance(position, (int, np.integer)) and not isinstance(position, bool)
        if not good or not 0 <= position < self.entries:
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
            f"Database({self.entries} entries over {len(self.alphabet)} values, "
            f"{len(self)} databases)"
        )

    def kernel(self, mechanism: Mechanism) -> NDArray[np.float64]:
        """P(y|x) with one axis per entry and one for the outcome."""
        mechanism = as_mechanism(mechanism)
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


def likelihoods(mechanism: Mechanism, database: Any) -> NDArray[np.float64]:
    """What :meth:`Database.kernel` gives; :class:`DataError` for what is no database."""
    if not isinstance(database, Database):
        raise _bad("a theory.Database", quote(database))
    return database.kernel(mechanism)


def entry_leakage(mechanism: Mechanism, database: Database) -> NDArray[np.float64]:
    """ℓ(D_i→y) for every entry and outcome, an ``(n, M)`` array in nats.

    Never more than ℓ(X→y). Entries of positive marginal mass count.
    """
    kernel, joint = likelihoods(mechanism, database), database.joint
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
    kernel, joint = likelihoods(mechanism, database), database.joint
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
    kernel = likelihoods(mechanism, database)
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
    kernel = likelihoods(mechanism, database)
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

"""Balanced block designs: sets of d among N symbols, any two of which share equally many.

As outputs of subset selection they estimate as well as all sets of d symbols: each symbol is in r
sets and each two symbols are together in λ = r(d − 1)/(N − 1). There are at least N of them
(Fisher). Those of N sets, the symmetric ones, are translates of a difference set: points of
projective spaces ([Singer1938]), quadratic residues, and quadratic forms over GF(2); or rows of
Hadamard matrices ([Paley1933]). Of a symmetric design the symbols outside of one set, and those
within it, make designs of one set less: affine spaces come of projective ones. Rows of a Hadamard
matrix of order N and their complements are 2N − 2 halves. Each design is checked before it is
returned.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from math import isqrt

import numpy as np
from numpy.typing import NDArray

from .finite_fields import powers, prime_power

Incidence = NDArray[np.bool_]

#: Symbols up to which designs are looked for.
MOST_SYMBOLS = 512


@cache
def block_design(n: int, d: int) -> Incidence | None:
    """Which of n symbols are in each of b sets of d, ``(n, b)``; ``None`` where none is known.

    Column y is the set y, all sets differ, and b is the least of the designs that are known. Exact:
    every pair of symbols is in the same number of sets.
    """
    if not 0 < d < n or n > MOST_SYMBOLS:
        return None
    if 2 * d > n:
        other = block_design(n, n - d)
        return None if other is None else _frozen(~other)
    if (sets := symmetric_design(n, d)) is not None:
        return sets
    found = [np.unique(sets, axis=1) for sets in _wider_candidates(n, d)]
    found = [sets for sets in found if is_block_design(sets, d)]
    return _frozen(min(found, key=lambda sets: sets.shape[1])) if found else None


@cache
def symmetric_design(n: int, d: int) -> Incidence | None:
    """A block design of as many sets as symbols, ``(n, n)``; ``None`` where none is known."""
    if not 0 < d < n or n > MOST_SYMBOLS or d * (d - 1) % (n - 1):
        return None
    if 2 * d > n:
        other = symmetric_design(n, n - d)
        return None if other is None else _frozen(~other)
    for found in _candidates(n, d):
        if found.shape == (n, n) and is_block_design(found, d):
            return _frozen(found)
    return None


def is_block_design(sets: Incidence, d: int) -> bool:
    """Whether all sets ``(n, b)`` have d symbols, and every two symbols share equally many."""
    n, b = sets.shape
    if n < 2 or b * d % n or (sets.sum(axis=0) != d).any():
        return False
    together = sets.astype(np.int64) @ sets.T.astype(np.int64)
    each = b * d // n
    shared, rest = divmod(each * (d - 1), n - 1)
    return not rest and bool((together == shared + (each - shared) * np.eye(n, dtype=int)).all())


def _frozen(sets: Incidence) -> Incidence:
    sets.setflags(write=False)
    return sets


def _candidates(n: int, d: int) -> Iterator[Incidence]:
    if d == 1:
        yield np.eye(n, dtype=bool)
    if 2 * d == n - 1 and n % 4 == 3 and (power := prime_power(n)):
        yield _field_translates(*power, 2)
    for q in range(2, isqrt(n) + 1):
        power = prime_power(q)
        size, points = 3, q * q + q + 1
        while power and points < n:
            points, size = points * q + 1, size + 1
        if power and points == n and (q ** (size - 1) - 1) // (q - 1) == d:
            yield _translates(n, _singer(*power, size))
    m = n.bit_length() - 1
    if n == 1 << m and m % 2 == 0 and d == (n - isqrt(n)) // 2:
        yield _bent(m)
    if 2 * d == n - 1 and (rows := hadamard(n + 1)) is not None:
        rows = rows * rows[:, :1] * rows[:1] * rows[0, 0]  # ones in the first row and column
        yield rows[1:, 1:] > 0


def _wider_candidates(n: int, d: int) -> Iterator[Incidence]:
    """Designs of more sets than symbols, up to sets that occur more than once."""
    if 2 * d == n and (rows := hadamard(n)) is not None:
        halves = (rows * rows[:1])[1:].T > 0  # ones in the first row, and half of all others
        yield np.hstack([halves, ~halves])
    shared, rest = divmod(d * (d - 1), n - d)
    if not rest and (whole := symmetric_design(n + d + shared, d + shared)) is not None:
        yield whole[~whole[:, 0], 1:]
    size, rest = divmod(n * (n - 1), d)
    if not rest and (whole := symmetric_design(size + 1, n)) is not None:
        yield whole[whole[:, 0], 1:]


@cache
def hadamard(n: int) -> NDArray[np.int64] | None:
    """Orthogonal rows of ±1, ``(n, n)``: Paley's, and products; ``None`` where none is known."""
    if n <= 2:
        return np.array([[1, 1], [1, -1]])[:n, :n]
    if n % 4:
        return None
    if (n - 1) % 4 == 3 and (power := prime_power(n - 1)):
        rows = np.eye(n, dtype=np.int64)
        rows[0, 1:], rows[1:, 0] = 1, -1
        rows[1:, 1:] += _characters(*power)
        return rows
    if n // 2 % 4 == 2 and (power := prime_power(n // 2 - 1)):
        half = np.ones((n // 2, n // 2), dtype=np.int64)
        half[1:, 1:] = _characters(*power)
        half[0, 0] = 0
        twice = np.kron(np.eye(n // 2, dtype=np.int64), [[1, -1], [-1, -1]])
        return np.asarray(np.kron(half, [[1, 1], [1, -1]]) + twice)
    for m in range(2, isqrt(n) + 1):
        if n % m == 0:
            left, right = hadamard(m), hadamard(n // m)
            if left is not None and right is not None:
                return np.asarray(np.kron(left, right))
    return None


def _characters(p: int, k: int) -> NDArray[np.int64]:
    """The quadratic character of differences in GF(p^k): 1, −1, and 0 for equal elements."""
    squares = _field_translates(p, k, 2).astype(np.int64)
    return np.asarray(2 * squares - 1 + np.eye(p**k, dtype=np.int64))


def _translates(n: int, base: set[int]) -> Incidence:
    column = np.zeros(n, dtype=bool)
    column[sorted(base)] = True
    return np.column_stack([np.roll(column, shift) for shift in range(n)])


def _bent(m: int) -> Incidence:
    """Translates in GF(2)^m of the zeros' complement of x₁x₂ + x₃x₄ + …."""
    x = np.arange(1 << m)
    parity = np.zeros(len(x), dtype=np.int64)
    for i in range(0, m, 2):
        parity ^= (x >> i) & (x >> (i + 1)) & 1
    return np.asarray(parity[x[:, None] ^ x[None, :]] == 1)


def _singer(p: int, k: int, size: int) -> set[int]:
    """Points of a hyperplane: powers whose trace from GF(q^size) to GF(q) is zero, q = p^k."""
    steps, q = powers(p, k * size), p**k
    order = len(steps)
    points = order // (q - 1)
    places = np.arange(points)
    trace = np.zeros((points, k * size), dtype=np.int64)
    factor = 1
    for _ in range(size):
        trace += steps[places * factor % order]
        factor = factor * q % order
    return set(np.flatnonzero(~(trace % p).any(axis=1)).tolist())


def _field_translates(p: int, k: int, exponent: int) -> Incidence:
    """Translates in GF(p^k) of the powers of an exponent other than zero."""
    n = p**k
    base = p ** np.arange(k)
    codes = powers(p, k) @ base if k > 1 else None
    chosen = np.zeros(n, dtype=bool)
    if codes is None:
        chosen[sorted({pow(x, exponent, p) for x in range(1, p)})] = True
    else:
        chosen[codes[::exponent]] = True
    digits = np.arange(n)[:, None] // base % p
    difference = (digits[:, None, :] - digits[None, :, :]) % p @ base
    return np.asarray(chosen[difference])

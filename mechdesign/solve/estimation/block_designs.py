"""Symmetric block designs: N sets of d among N symbols, any two of which share equally many.

As outputs of subset selection they estimate as well as all sets of d symbols: each symbol is in d
sets and each two symbols are together in λ = d(d − 1)/(N − 1). Sets are the translates of a
difference set: points of projective spaces ([Singer1938]), quadratic and quartic residues, twin
primes, and quadratic forms over GF(2). Each is checked before it is returned.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from math import isqrt

import numpy as np
from numpy.typing import NDArray

from ...subsets.finite_fields import is_prime, powers, prime_power

Incidence = NDArray[np.bool_]

#: Symbols up to which designs are looked for.
MOST_SYMBOLS = 512


@cache
def symmetric_design(n: int, d: int) -> Incidence | None:
    """Which of n symbols are in each of n sets of d, ``(n, n)``; ``None`` where none is known.

    Column y is the set y. Exact: every pair of symbols is in the same number of sets.
    """
    if not 0 < d < n or n > MOST_SYMBOLS or d * (d - 1) % (n - 1):
        return None
    if 2 * d > n:
        other = symmetric_design(n, n - d)
        return None if other is None else _frozen(~other)
    for found in _candidates(n, d):
        if is_symmetric_design(found, d):
            return _frozen(found)
    return None


def is_symmetric_design(sets: Incidence, d: int) -> bool:
    """Whether each symbol is in d of the sets of d, and every two are in equally many."""
    n = len(sets)
    if sets.shape != (n, n) or (sets.sum(axis=0) != d).any():
        return False
    together = sets.astype(np.int64) @ sets.T.astype(np.int64)
    shared, rest = divmod(d * (d - 1), max(n - 1, 1))
    return not rest and bool((together == shared + (d - shared) * np.eye(n, dtype=int)).all())


def _frozen(sets: Incidence) -> Incidence:
    sets.setflags(write=False)
    return sets


def _candidates(n: int, d: int) -> Iterator[Incidence]:
    if d == 1:
        yield np.eye(n, dtype=bool)
    if 2 * d == n - 1 and n % 4 == 3:
        if power := prime_power(n):
            yield _field_translates(*power, 2)
        for p in range(3, isqrt(n) + 1):
            if p * (p + 2) == n and is_prime(p) and is_prime(p + 2):
                yield _translates(n, _twin_primes(p))
    if is_prime(n) and n % 4 == 1 and d in ((n - 1) // 4, (n + 3) // 4):
        quartic = {pow(x, 4, n) for x in range(1, n)}
        yield _translates(n, quartic | {0} if 4 * d == n + 3 else quartic)
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


def _translates(n: int, base: set[int]) -> Incidence:
    column = np.zeros(n, dtype=bool)
    column[sorted(base)] = True
    return np.column_stack([np.roll(column, shift) for shift in range(n)])


def _twin_primes(p: int) -> set[int]:
    """Where the quadratic characters modulo p and p + 2 agree, and the multiples of p + 2."""
    n, one, two = p * (p + 2), _squares(p), _squares(p + 2)
    found = set(range(0, n, p + 2))
    for x in range(n):
        if x % p and x % (p + 2) and (x % p in one) is (x % (p + 2) in two):
            found.add(x)
    return found


def _squares(p: int) -> set[int]:
    return {x * x % p for x in range(1, p)}


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

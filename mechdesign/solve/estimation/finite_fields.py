"""Finite fields: elements are numbers whose digits to a prime base are polynomials over it.

In GF(p^k) with k > 1 the element p is x, a root of the first primitive polynomial xᵏ − Σ tᵢ xⁱ in
the lexicographic order of its tail (t₀, t₁, …).
"""

from __future__ import annotations

from functools import cache
from itertools import product
from math import isqrt

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]


def is_prime(number: int) -> bool:
    """Whether an integer is a prime."""
    return number > 1 and all(number % k for k in range(2, isqrt(number) + 1))


def prime_power(n: int) -> tuple[int, int] | None:
    """(p, k) with n = p^k."""
    found = prime_powers(n)
    return found[0] if len(found) == 1 else None


def prime_powers(n: int) -> tuple[tuple[int, int], ...]:
    """The (p, k) whose powers p^k have the product n, by rising primes."""
    found, p = [], 2
    while n > 1:
        if p * p > n:
            p = n
        k = 0
        while n % p == 0:
            n, k = n // p, k + 1
        if k:
            found.append((p, k))
        p += 1
    return tuple(found)


@cache
def powers(p: int, k: int) -> Integers:
    """Powers of a primitive element of GF(p^k) as vectors over GF(p), ``(p^k − 1, k)``."""
    order = p**k - 1
    for tail in product(range(p), repeat=k):
        if not tail[0]:
            continue
        step = np.array(tail, dtype=np.int64)
        found = np.zeros((order, k), dtype=np.int64)
        found[0, 0] = 1
        for i in range(1, order):
            # x times a vector: shifted, with xᵏ replaced by the tail.
            found[i, 1:] = found[i - 1, :-1]
            found[i] = (found[i] + found[i - 1, -1] * step) % p
            if found[i, 0] == 1 and not found[i, 1:].any():
                break
        else:
            return found
    raise AssertionError("every finite field has a primitive element")


class Field:
    """GF(p^k), elementwise on arrays of its numbers from 0 to p^k − 1."""

    def __init__(self, p: int, k: int) -> None:
        self.prime, self.degree, self.order = p, k, p**k
        if k > 1:
            self._power = powers(p, k) @ p ** np.arange(k)
            self._logarithm = np.zeros(self.order, dtype=np.int64)
            self._logarithm[self._power] = np.arange(self.order - 1)

    def times(self, left: Integers, right: Integers) -> Integers:
        """Products."""
        if self.degree == 1:
            return np.asarray(left * right % self.prime)
        place = (self._logarithm[left] + self._logarithm[right]) % (self.order - 1)
        return np.asarray(np.where((left == 0) | (right == 0), 0, self._power[place]))

    def plus(self, left: Integers, right: Integers) -> Integers:
        """Sums."""
        return self._by_digits(left, right, 1)

    def minus(self, left: Integers, right: Integers) -> Integers:
        """Differences."""
        return self._by_digits(left, right, -1)

    def inverse(self, numbers: Integers) -> Integers:
        """Of numbers other than zero, the power q − 2."""
        found, square, left = np.ones_like(numbers), numbers, self.order - 2
        while left:
            if left & 1:
                found = self.times(found, square)
            square, left = self.times(square, square), left >> 1
        return found

    def _by_digits(self, left: Integers, right: Integers, sign: int) -> Integers:
        if self.degree == 1:
            return np.asarray((left + sign * right) % self.prime)
        found = np.zeros(np.broadcast_shapes(left.shape, right.shape), dtype=np.int64)
        unit = 1
        for _ in range(self.degree):
            found += (left // unit + sign * (right // unit)) % self.prime * unit
            unit *= self.prime
        return found

"""Finite fields of p^k elements, which are polynomials over the integers modulo a prime p.

For k > 1 the element x is a root of the first primitive polynomial xᵏ − Σ tᵢ xⁱ in the
lexicographic order of its tail (t₀, t₁, …).
"""

from __future__ import annotations

import math
from functools import cache
from itertools import product
from math import isqrt

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]


def prime_power(n: int) -> tuple[int, int] | None:
    """(p, k) with n = p^k."""
    p = next((p for p in range(2, isqrt(n) + 1) if n % p == 0), n)
    k = round(math.log(n, p)) if n > 1 else 0
    return (p, k) if k and p**k == n else None


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

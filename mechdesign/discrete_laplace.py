"""Integers from the discrete Laplace distribution, exactly: only integers are drawn and compared.

P(y) is proportional to e^(−|y|/t) for every integer y; the sampler is that of [Canonne2020],
Algorithms 1 and 2. A count of people with such noise is 1/t-differentially private where a person
changes it by one.
"""

from __future__ import annotations

import random
from fractions import Fraction


def discrete_laplace(scale: Fraction, source: random.Random) -> int:
    """One integer y with P(y) proportional to exp(−|y|/scale), for a positive rational scale.

    >>> source = random.Random(1)
    >>> [discrete_laplace(Fraction(3, 2), source) for _ in range(8)]
    [0, 0, 3, 0, 4, 0, -1, 0]
    """
    t, s = scale.numerator, scale.denominator
    while True:
        rest = source.randrange(t)
        if not _is_below_exp(rest, t, source):
            continue
        whole = 0
        while _is_below_exp(1, 1, source):
            whole += 1
        size, is_negative = (rest + t * whole) // s, source.randrange(2)
        if size or not is_negative:
            return -size if is_negative else size


def _is_below_exp(above: int, below: int, source: random.Random) -> bool:
    """True with probability e^(−above/below), for a ratio from 0 to 1."""
    k = 1
    while source.randrange(below * k) < above:
        k += 1
    return k % 2 == 1

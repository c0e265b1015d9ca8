"""What a kernel does for whoever answers, in one sentence that a layman can check."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NamedTuple

#: Shares are told as so many of at most so many.
_MOST = 10
# How far a share may be from the one that is told, relative to it.
_NEAR = Fraction(1, 10)


class Protection(NamedTuple):
    """A sentence by its name in ``wording.toml``, and the two numbers in it."""

    sentence: str
    few: int
    many: int


def protection(mechanism: Any) -> Protection:
    """What is true of a kernel, whoever answers what.

    ``by_chance``: a kernel is a mixture of one distribution for all, of the weight Σ_y min_x
    P(y|x), and of others: so often chance alone decides. Where that is nought, ``by_others``: how
    many inputs each report fits at least; and ``plain`` where a report fits one alone.

    >>> import mechdesign as md
    >>> protection(md.Mechanism([[.75, .25], [.25, .75]]))
    Protection(sentence='by_chance', few=1, many=2)
    """
    weights = mechanism.weights
    share = Fraction(sum(int(column.min()) for column in weights.T), mechanism.denominator)
    if share > 0:
        # Rows of a kernel that was given in floats may sum to a little more than one.
        return Protection("by_chance", *simple_share(min(share, Fraction(1))))
    possible = weights != 0
    fewest = int(possible.sum(axis=0)[possible.any(axis=0)].min())
    return Protection("by_others" if fewest > 1 else "plain", fewest, len(weights))


def simple_share(share: Fraction) -> tuple[int, int]:
    """A share as so many of so many: the fewest of at most ten that are near enough, or one of many
    where it is small.

    >>> simple_share(Fraction(35, 100)), simple_share(Fraction(1, 730)), simple_share(Fraction(1))
    ((1, 3), (1, 730), (1, 1))
    """
    if share * _MOST < 1:
        return 1, round(1 / share)
    most = 1 if share == 1 else 1 - Fraction(1, _MOST)
    near = (min(share.limit_denominator(n), most) for n in range(1, _MOST + 1))
    found = next(one for one in near if abs(one / share - 1) <= _NEAR)
    return found.numerator, found.denominator

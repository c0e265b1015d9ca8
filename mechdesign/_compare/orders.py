"""Which kernels of a comparison are at least as good as others whatever the use.

A comparison ranks kernels by one utility. Where the reports of one kernel can be made from those of
another, the other is never worse for any utility, prior or question ([Blackwell1953]). What a
post-processing cannot raise, mutual information and the levels of PML and LDP, is compared first
and rules most pairs out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any

from ..channels._refines import refines
from ..exact import Verdict

# Kernels up to so many entries of two post-processings, for tens of pairs in a second.
_MOST_ENTRIES = 2000
# Mutual information is in floats, and post-processings are found up to a tolerance.
_ROOM = 1e-6
_MONOTONE = ("mutual_information", "achieved_pml", "achieved_ldp")


@dataclass(frozen=True)
class Order:
    """Whether one kernel of a comparison is at least as good as another whatever the use.

    Attributes
    ----------
    prior, utility, target : the panel and the target
    first, second : names of the notions that the kernels were designed for
    verdict : yes, the reports of the second can be made from those of the first; no; or undecided,
        also for kernels that are too large to ask on the way (:func:`mechdesign.refines` does)
    """

    prior: str
    utility: str
    target: float
    first: str
    second: str
    verdict: Verdict


def orders_of(group: Sequence[Any]) -> Iterator[Order]:
    """Every ordered pair of the kernels of points at one target of one panel."""
    for one, two in permutations(group, 2):
        yield Order(one.prior, one.utility, one.target, one.notion, two.notion, _verdict(one, two))


def _verdict(one: Any, two: Any) -> Verdict:
    if any(getattr(one, name) < getattr(two, name) * (1 - _ROOM) - _ROOM for name in _MONOTONE):
        return Verdict.NO
    n, m = one.design.mechanism.shape
    k = two.design.mechanism.shape[1]
    if (n + m) * k > _MOST_ENTRIES:
        return Verdict.UNDECIDED
    return refines(one.design, two.design, one.design.prior).verdict


def order_lines(orders: Sequence[Order], start: str) -> Iterator[str]:
    """What the orders of one panel say, in sentences."""
    targets = list(dict.fromkeys(order.target for order in orders))
    found: dict[tuple[str, str], list[float]] = {}
    for order in orders:
        if order.verdict is Verdict.YES:
            found.setdefault((order.first, order.second), []).append(order.target)
    same: dict[tuple[str, str], list[float]] = {}
    above: dict[tuple[str, str], list[float]] = {}
    for (first, second), where in found.items():
        back = found.get((second, first), [])
        both = [target for target in where if target in back]
        if both and (second, first) not in same:
            same[first, second] = both
        if alone := [target for target in where if target not in back]:
            above[first, second] = alone
    parts = [
        f"the kernel of {first} is at least as good as that of {second} {_at(where, targets)}"
        for (first, second), where in above.items()
    ]
    parts += [
        f"the kernels of {first} and {second} are equally good {_at(where, targets)}"
        for (first, second), where in same.items()
    ]
    if parts:
        yield (
            f"{start}Whatever the use, not only for this utility: {'; '.join(parts)}. The reports "
            "of the other can be made from its own."
        )
    elif orders and all(order.verdict is Verdict.NO for order in orders):
        yield (
            f"{start}None of these kernels is better than another whatever the use: of every two "
            "each is ahead for some utility."
        )


def _at(where: Sequence[float], targets: Sequence[float]) -> str:
    if len(where) == len(targets):
        return "at the only target" if len(targets) == 1 else f"at all {len(targets)} targets"
    some = ", ".join(f"{target:.4g}" for target in where[:4])
    more = ", …" if len(where) > 4 else ""
    return f"at {len(where)} of {len(targets)} targets ({some}{more})"

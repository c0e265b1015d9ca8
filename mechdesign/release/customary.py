"""The matrices that post-randomisation uses by custom, each at the level that is asked.

Each is a family with one parameter. The largest parameter at which every notion holds is found by
halving, and what is measured is the exact check that an audit makes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..exact import Verdict
from ..mechanism import Mechanism, best_guesses
from ..prior import Prior
from ..privacy.notion import PrivacyNotion
from ..requirement.base import Requirement
from ..utility.base import Utility
from .risk import share_unchanged

Array = NDArray[np.float64]

# Parameters that are looked at before the interval between two of them is halved, and how often:
# the leakage of a two-stage matrix need not grow with its parameter.
_LOOKS, _HALVINGS = 64, 40
#: sdcMicro's own α, and the seed of the diagonals that it draws.
ALPHA, SEED = 0.5, 0


@dataclass(frozen=True, eq=False)
class Customary:
    """A customary matrix at the asked level, or the reason why there is none.

    Attributes
    ----------
    name, source : what it is, and who uses it, as a key of the bibliography
    setting : its parameters, such as ``pd = 0.61``; where none keeps the notions, what the least
        one leaks
    mechanism : the matrix; ``None`` where no parameter keeps the notions
    value : utility of it, in the unit of the design's
    unchanged : share of records whose value stays as it is
    correct : share of records that an intruder guesses right from what is published
    unmet : the requirements that it does not meet
    """

    name: str
    source: str
    setting: str
    mechanism: Mechanism | None = None
    value: float = float("nan")
    unchanged: float = float("nan")
    correct: float = float("nan")
    unmet: tuple[str, ...] = ()


def kept_or_uniform(p: Array, pd: float) -> Array:
    """Every value is kept with probability pd, and each other value is as likely as the next.

    From pd = 1/n, where all rows are alike, to the identity at pd = 1.
    """
    n = len(p)
    kernel = np.full((n, n), (1 - pd) / (n - 1))
    np.fill_diagonal(kernel, pd)
    return kernel


def kept_or_redrawn(p: Array, pd: float) -> Array:
    """Every value is kept with probability pd, else drawn anew from the marginals: invariant."""
    return pd * np.eye(len(p)) + (1 - pd) * p


def two_stage(p: Array, diagonal: Array, alpha: float = 1.0) -> Array:
    """α P Q + (1 − α) I, where Q draws a value from its posterior under P: invariant.

    P has the given diagonal and equal entries in the rest of each row.
    """
    n = len(p)
    first = np.repeat((1 - diagonal)[:, None] / (n - 1), n, axis=1)
    np.fill_diagonal(first, diagonal)
    joint = p[:, None] * first
    published = joint.sum(axis=0)
    # A value that P never publishes has no posterior, and is never drawn from it either.
    back = np.divide(joint.T, published[:, None], out=np.eye(n), where=published[:, None] > 0)
    return alpha * (first @ back) + (1 - alpha) * np.eye(n)


def customary_matrices(
    prior: Prior,
    utility: Utility,
    notions: Sequence[PrivacyNotion],
    requirements: Sequence[Requirement] = (),
) -> tuple[Customary, ...]:
    """The customary matrices for a prior, each with the largest parameter that keeps the notions.

    Kept with probability pd or else uniform ([Kooiman1997]); kept or else drawn from the marginals;
    the two-stage matrix ([Gouweleeuw1998]); and that of sdcMicro ([Templ2015]), which mixes a
    two-stage matrix of diagonals drawn between pd and 1 with the identity, by its own α = 0.5.
    """
    p, n = prior.probabilities, len(prior)
    drawn = np.random.default_rng(SEED).random(n)
    least = 1 / n
    families: list[tuple[str, str, str, float, Callable[[float], Array]]] = [
        ("kept, else uniform", "Kooiman1997", "", least, lambda pd: kept_or_uniform(p, pd)),
        ("kept, else by the marginals", "Kooiman1997", "", 0.0, lambda pd: kept_or_redrawn(p, pd)),
        (
            "two-stage, invariant",
            "Gouweleeuw1998",
            "",
            least,
            lambda pd: two_stage(p, np.full(n, pd)),
        ),
        (
            "sdcMicro",
            "Templ2015",
            f", alpha = {ALPHA:g}",
            0.0,
            lambda pd: two_stage(p, pd + (1 - pd) * drawn, ALPHA),
        ),
    ]

    def made(kernel: Array) -> Mechanism:
        return Mechanism(kernel, prior.labels, prior.labels)

    def keeps(kernel: Array) -> bool:
        mechanism = made(kernel)
        return all(notion.check(mechanism, prior).verdict is Verdict.YES for notion in notions)

    found = []
    for name, source, more, low, family in families:
        pd = largest_parameter(lambda pd, of=family: keeps(of(pd)), low)  # type: ignore[misc]
        if pd is None:
            checks = [notion.check(made(family(low)), prior) for notion in notions]
            over = next(c for c in checks if c.verdict is not Verdict.YES)
            leaked = over.notion.with_levels(*over.achieved)
            found.append(Customary(name, source, f"{leaked} even at pd = {low:.4g}{more}"))
            continue
        mechanism = made(family(pd))
        unmet = [r for r in requirements if r.check(mechanism, prior).verdict is not Verdict.YES]
        found.append(
            Customary(
                name,
                source,
                f"pd = {pd:.4g}{more}",
                mechanism,
                utility.value(mechanism, prior),
                share_unchanged(mechanism, prior),
                best_guesses(mechanism, prior)[1],
                tuple(map(str, unmet)),
            )
        )
    return tuple(found)


def largest_parameter(keeps: Callable[[float], bool], low: float) -> float | None:
    """The largest parameter from ``low`` to 1 that keeps something, or ``None``.

    >>> round(largest_parameter(lambda pd: pd <= .3, 0.0), 9)
    0.3
    """
    looks = np.linspace(1.0, low, _LOOKS + 1)
    place = next((i for i, pd in enumerate(looks) if keeps(float(pd))), None)
    if place is None:
        return None
    if place == 0:
        return 1.0
    below, above = float(looks[place]), float(looks[place - 1])
    for _ in range(_HALVINGS):
        middle = (below + above) / 2
        below, above = (middle, above) if keeps(middle) else (below, middle)
    return below

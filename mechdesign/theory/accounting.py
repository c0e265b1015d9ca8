"""What several releases leak together: exact levels of composed mechanisms, and honest bounds.

Levels of local differential privacy add up under composition. Those of PML and PMC do not: they
speak about the prior, and the second release meets the posterior of the first. What holds instead
is the level of one release plus the leakage capacity of the others; and the exact level of the
composed kernel can simply be measured ([SaeidianPMC] Lemma 1.7).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from ..errors import KernelError, LevelError, quote
from ..exact import float_at_least
from ..mechanism import Mechanism
from ..prior import Prior
from ..privacy import DP, LDP, PMC, PML, MetricPrivacy
from ..privacy.notion import PrivacyNotion
from .disclosure import leakage_capacity
from .formulas import Setting, log_above
from .inputs import listed, whole
from .observation import as_mechanism
from .properties import product_of

# Notions that compare symbols only: their levels add up, whatever the prior.
_OF_SYMBOLS = (LDP, DP, MetricPrivacy)
_MOST_TYPES = 200_000
_MOST_OUTPUTS = 1 << 16


@dataclass(frozen=True, eq=False)
class Account:
    """What several releases leak together, under one notion with one level.

    Attributes
    ----------
    notion : class of the notion
    level : exact level of the composed kernel in nats, rounded up
    parts : exact levels of the releases on their own
    bound : a bound on ``level`` from the parts that is valid: their sum for independent secrets and
        for LDP, DP and metric privacy; for PML and PMC on one secret the best of "one level plus
        the capacities of the others" (for PML at most log 1/pmin); ``inf`` for other notions on one
        secret
    mechanism : the composed kernel
    """

    notion: type[PrivacyNotion]
    level: float
    parts: tuple[float, ...]
    bound: float
    mechanism: Mechanism

    @property
    def sum_of_parts(self) -> float:
        """The sum of the single levels: for PML and PMC on one secret *not* a bound."""
        return math.fsum(self.parts)

    @property
    def adds_up(self) -> bool:
        """Whether the composed level stays within the sum of the single levels."""
        return self.level <= self.sum_of_parts * (1 + 1e-12)

    def __str__(self) -> str:
        parts = " + ".join(f"{p:.6g}" for p in self.parts)
        verdict = "within" if self.adds_up else "MORE THAN"
        return (
            f"{self.notion.__name__.lower()}: {self.level:.6g} nats together, {verdict} the sum "
            f"{parts} = {self.sum_of_parts:.6g}; bound {self.bound:.6g}"
        )


def account(
    mechanisms: Sequence[Mechanism],
    prior: Prior,
    notion: type[PrivacyNotion] | PrivacyNotion = PML,
) -> Account:
    """Exact accounting for independent reports about one secret (parallel composition).

    Parameters
    ----------
    mechanisms : kernels or designs with the prior's symbols as inputs
    prior : over the symbols
    notion : a notion with one level, such as ``md.PML`` or ``md.LDP``; for one that needs more,
        such as ``md.DP(1, "hamming")``, an instance, whose level is ignored

    Raises
    ------
    LevelError
        For a notion with more than one level.
    KernelError
        For mechanisms on other symbols, or more than 65,536 tuples of outcomes (use
        :func:`repeated` when it is one mechanism many times).

    Examples
    --------
    Two reports that leak little on their own, and together everything about the rarest symbol:

    >>> import mechdesign as md
    >>> prior = md.Prior([.02, .49, .49])
    >>> one = md.Mechanism([[.5, .5], [.5, .5], [0, 1]])
    >>> two = md.Mechanism([[.5, .5], [0, 1], [.5, .5]])
    >>> found = md.theory.account([one, two], prior)
    >>> [round(level, 3) for level in found.parts], round(found.level, 3), found.adds_up
    ([0.673, 0.673], 3.912, False)
    """
    found = [as_mechanism(m) for m in listed(mechanisms, "accounting", "mechanisms", KernelError)]
    if not found:
        raise KernelError(
            "accounting",
            expected="at least one mechanism",
            got="none",
            remedy="pass the releases in a list",
        )
    if math.prod(m.shape[1] for m in found) > _MOST_OUTPUTS:
        raise KernelError(
            "accounting",
            expected=f"at most {_MOST_OUTPUTS} tuples of outcomes",
            got=str(math.prod(m.shape[1] for m in found)),
            remedy="use theory.repeated for one mechanism many times, or merge outcomes first",
        )
    together = found[0]
    for other in found[1:]:
        together = together.parallel(other)
    parts = tuple(_level(m, prior, notion) for m in found)
    kind = type(notion) if isinstance(notion, PrivacyNotion) else notion
    return Account(
        kind,
        _level(together, prior, notion),
        parts,
        _bound(found, parts, prior, kind),
        together,
    )


def account_product(
    parts: Sequence[tuple[Mechanism, Prior]], notion: type[PrivacyNotion] = PML
) -> Account:
    """Exact accounting for independent secrets, each released by its own mechanism.

    PML, PMC and LDP levels add up exactly ([SaeidianPMC] Lemma 1.3).
    """
    if isinstance(notion, PrivacyNotion):
        raise LevelError(
            "notion to account for",
            expected="a notion class that one level defines, such as md.PML",
            got=quote(notion),
            remedy="pass the class, not an instance: what it needs is not told for the tuples",
        )
    pairs = listed(parts, "accounting", "pairs (mechanism, prior)", KernelError)
    together, prior = product_of(pairs)
    levels = tuple(_level(as_mechanism(m), p, notion) for m, p in pairs)
    level = _level(together, prior, notion)
    return Account(notion, level, levels, _sum_above(levels), together)


def _level(
    mechanism: Mechanism, prior: Prior, notion: type[PrivacyNotion] | PrivacyNotion
) -> float:
    kind: Any = type(notion) if isinstance(notion, PrivacyNotion) else notion
    known = isinstance(kind, type) and issubclass(kind, PrivacyNotion)
    if not known or (kind is not notion and not kind.needs):
        raise LevelError(
            "notion to account for",
            expected="a notion class that one level defines, such as md.PML",
            got=quote(notion),
            remedy="pass the class, not an instance",
        )
    if isinstance(notion, type) and kind.needs:
        raise LevelError(
            "notion to account for",
            expected="an instance, because the notion needs " + ", ".join(kind.needs),
            got=f"the class {kind.__name__}",
            remedy="pass an instance at any level to theory.account",
        )
    if len(kind.level_fields) != 1:
        raise LevelError(
            "notion to account for",
            expected="a notion with one level",
            got=f"{kind.__name__}, which has {len(kind.level_fields)}",
            remedy="account for each side on its own: md.PML and md.PMC",
        )
    template = notion if isinstance(notion, PrivacyNotion) else notion.at(math.inf)
    return template.with_levels(math.inf).check(mechanism, prior).achieved[0]


def _bound(
    found: list[Mechanism], parts: tuple[float, ...], prior: Prior, notion: type[PrivacyNotion]
) -> float:
    if issubclass(notion, _OF_SYMBOLS):
        return _sum_above(parts)
    if notion not in (PML, PMC):
        return math.inf if len(found) > 1 else parts[0]
    capacities = [leakage_capacity(m, prior) for m in found]
    best = min(
        _sum_above((part, *capacities[:i], *capacities[i + 1 :])) for i, part in enumerate(parts)
    )
    if notion is PMC:
        return best
    most = log_above(1 / Setting(prior).pmin)
    return best if most is None else min(best, float_at_least(most))


def _sum_above(levels: Sequence[float]) -> float:
    """A sum of levels that were rounded up, rounded up itself."""
    return (
        math.inf if math.inf in levels else float_at_least(sum(map(Fraction, levels), Fraction(0)))
    )


def repeated(mechanism: Mechanism, times: int) -> Mechanism:
    """The same mechanism run independently ``times`` times on one secret, by counts of outcomes.

    The order of the reports tells nothing, so outcomes are the counts of each label, as tuples in
    the order of the mechanism's outputs. The kernel is exact, and its levels under every notion
    are those of the full list of reports.

    Raises
    ------
    KernelError
        For fewer than one run, or more than 200,000 different counts.

    Examples
    --------
    >>> flip = Mechanism([[.75, .25], [.25, .75]])
    >>> repeated(flip, 2).outputs
    ((0, 2), (1, 1), (2, 0))
    >>> repeated(flip, 2).kernel[0]
    array([0.0625, 0.375 , 0.5625])
    """
    mechanism = as_mechanism(mechanism)
    times = whole(times, "number of runs", 1, error=KernelError)
    outputs = mechanism.shape[1]
    count = math.comb(times + outputs - 1, outputs - 1)
    if count > _MOST_TYPES:
        raise KernelError(
            "repeated mechanism",
            expected=f"at most {_MOST_TYPES} different counts of outcomes",
            got=str(count),
            remedy="merge outcomes first, or run it less often",
        )
    powers = [[[1] for _ in range(outputs)] for _ in range(mechanism.shape[0])]
    for x, row in enumerate(mechanism.weights.tolist()):
        for y, weight in enumerate(row):
            for _ in range(times):
                powers[x][y].append(powers[x][y][-1] * int(weight))
    types = list(_types(times, outputs))
    table = np.empty((mechanism.shape[0], len(types)), dtype=object)
    for j, counts in enumerate(types):
        ways = _multinomial(counts)
        for x in range(mechanism.shape[0]):
            table[x, j] = ways * math.prod(powers[x][y][c] for y, c in enumerate(counts))
    return Mechanism.from_weights(
        table, mechanism.bits * times, mechanism.inputs, types, check=False
    )


def _types(total: int, places: int) -> Any:
    if places == 1:
        yield (total,)
        return
    for first in range(total + 1):
        for rest in _types(total - first, places - 1):
            yield (first, *rest)


def _multinomial(counts: tuple[int, ...]) -> int:
    ways, left = 1, sum(counts)
    for c in counts:
        ways *= math.comb(left, c)
        left -= c
    return ways

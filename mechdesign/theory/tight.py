"""Tight conversions: the smallest level that always holds, proved, and a kernel that attains it.

Notions of the likelihood family ask every column of a kernel to lie in a cone. What they imply
about a pair (μ, ν) of another notion is therefore the largest μᵀk/νᵀk over that cone: nothing else
about the kernel matters, because a column that attains it can be completed to a kernel. Found in
closed form where the cone is two-sided and the pairs are symbols and the prior, by knapsacks in
rational arithmetic for other pairs, and by linear programs with recomputed bounds for other cones.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ..certificate.shape import Sides
from ..errors import LevelError, quote
from ..exact import Level, float_at_least, level_bounds
from ..mechanism import Mechanism
from ..prior import Prior
from ..privacy.constraint import Distribution, Group
from ..privacy.notion import LikelihoodBound, PrivacyNotion, as_notions
from .exact_cone import ClosedForm, ConeProgram, ExactCone, Knapsack, complete, make_cone
from .rules import check_prior


@dataclass(frozen=True)
class TightLevel:
    """One level of a tight conversion.

    Attributes
    ----------
    level : proved to hold for every mechanism that satisfies the source, in nats, rounded up
    attained : the exact level of the witness, rounded down; 0 without one
    over, under : names of the hypotheses that decide
    method : closed form, knapsack or linear program
    witness : a mechanism that satisfies the source exactly and has level ``attained``;
        ``None`` when rounding left none
    """

    level: float
    attained: float
    over: str
    under: str
    method: str
    witness: Mechanism | None

    @property
    def gap(self) -> float:
        """By how much the level may be too large, in nats."""
        return 0.0 if self.level == self.attained else self.level - self.attained

    @property
    def reason(self) -> str:
        """Why the level is infinite; empty when it is not."""
        if self.level != math.inf:
            return ""
        end = "a witness shows it" if self.attained == math.inf else "no finite bound was found"
        return f"the likelihood of {self.over} against {self.under} is unbounded; {end}"


@dataclass(frozen=True)
class TightConversion:
    """The tight conversion of notions into another one, for a prior.

    Attributes
    ----------
    source : the notions that are known to hold
    target : the notion that they imply, at its smallest levels
    prior : the prior it is for
    levels : one entry per level of the target
    """

    source: tuple[PrivacyNotion, ...]
    target: LikelihoodBound
    prior: Prior
    levels: tuple[TightLevel, ...]

    @property
    def gap(self) -> float:
        """By how much a level may be too large, in nats: the largest over the levels."""
        return max(level.gap for level in self.levels)

    @property
    def reason(self) -> str:
        """Why a level is infinite; empty when none is."""
        return "; ".join(level.reason for level in self.levels if level.reason)

    def __repr__(self) -> str:
        given = ", ".join(map(str, self.source))
        attained = ", ".join(f"{level.attained:.6g}" for level in self.levels)
        reason = f" ({self.reason})" if self.reason else ""
        return f"{given} implies {self.target}{reason}; attained: {attained}"


def tight_conversion(privacy: Any, to: Any, prior: Prior) -> TightConversion:
    """The smallest levels at which a notion follows from others, with witnesses.

    Parameters
    ----------
    privacy : a notion of the likelihood family, or a list of which all hold
    to : class of the target, or an instance (for what it needs beside levels, which are ignored)
    prior : prior of the secret

    Raises
    ------
    LevelError
        When either side is not in the likelihood family.

    Examples
    --------
    Two bounds on the lift imply a smaller LDP level than their sum when N = 2:

    >>> import mechdesign as md
    >>> found = tight_conversion(md.LIP(1.0), md.LDP, md.Prior([.5, .5]))
    >>> round(found.target.epsilon, 6)  # log(2e − 1)
    1.48988
    >>> md.LIP(1.0).check(found.levels[0].witness, found.prior).verdict
    <Verdict.YES: 'yes'>
    >>> found.gap < 1e-12
    True
    """
    check_prior(prior)
    source = as_notions(privacy)
    template = as_template(to)
    cone, questions = make_cone(
        source, prior, (g for part in template.constraints(prior).cone for g in part.groups())
    )
    found = tuple(
        _answer(cone, template, [q for q in questions if q.parameter == k], k, known_levels(source))
        for k in range(len(template.level_fields))
    )
    target = template.with_levels(*(entry.level for entry in found))
    return TightConversion(source, target, prior, found)


def known_levels(given: Iterable[PrivacyNotion]) -> dict[Fraction | None, float]:
    """Levels that are no floats, by the rationals above them that conversions reckon with."""
    levels = (level for notion in given for level in notion.levels)
    return {level_bounds(v)[1]: v for v in levels if isinstance(v, Level)}


def as_template(to: Any) -> LikelihoodBound:
    """The target at level one; raises :class:`LevelError` for what cannot be one."""
    if inspect.isclass(to) and issubclass(to, LikelihoodBound):
        if to.needs:
            raise LevelError(
                "target of a conversion",
                expected="an instance, because the notion needs " + ", ".join(to.needs),
                got=f"the class {to.__name__}",
                remedy="pass an instance at any level",
            )
        return to.at(1.0)
    if isinstance(to, LikelihoodBound):
        return to.with_levels(*(1.0 for _ in to.level_fields))
    raise LevelError(
        "target of a tight conversion",
        expected="a notion that bounds likelihood ratios, such as md.LDP",
        got=to.__name__ if inspect.isclass(to) else quote(to),
        remedy="name its class, or leave out tight=True (--tight)",
    )


def _answer(
    cone: ExactCone,
    template: LikelihoodBound,
    questions: Iterable[Group],
    parameter: int,
    known: Mapping[Fraction | None, float],
) -> TightLevel:
    best: tuple[Fraction | None, Distribution, Distribution, Any] | None = None
    closed = None if cone.sides is None else ClosedForm(cone.sides)
    knapsack = None if cone.sides is None else Knapsack(cone.sides)
    general = _General(ConeProgram(cone), cone.part)
    for group in questions:
        method: Any = general
        over, under = group.over, group.under
        if closed is not None and all(map(closed.knows, (*over, *under))):
            method, over, under = closed, closed.shortlist(over), closed.shortlist(under)
        elif knapsack is not None and knapsack.applies:
            method = knapsack
        for mu in over:
            for nu in under:
                level = _scaled(_level(cone, method, mu, nu), group.scale)
                if best is None or _above(level, best[0]):
                    best = (level, mu, nu, method)
    if best is None:
        return TightLevel(0.0, 0.0, "", "", "closed form", None)
    level, mu, nu, method = best
    upper = math.inf if level is None else known.get(level, float_at_least(level))
    # A constant column lies in every cone.
    witness = complete(method.column(mu, nu), cone) or complete([Fraction(1)] * cone.size, cone)
    attained = 0.0 if witness is None else _attained(template, witness, cone.prior, parameter)
    return TightLevel(upper, min(attained, upper), mu.name, nu.name, method.name, witness)


@dataclass(frozen=True)
class _General:
    """A linear program, and beside it the bound of the two-sided cone around this one.

    The latter stays finite where levels are too extreme for a solver's floats.
    """

    program: ConeProgram
    part: Sides | None
    name = "linear program"

    def level(self, mu: Distribution, nu: Distribution) -> Fraction | None:
        """The smaller of the two bounds."""
        around = self._around(mu, nu)
        found = [self.program.level(mu, nu), None if around is None else around.level(mu, nu)]
        return min((v for v in found if v is not None), default=None)

    def column(self, mu: Distribution, nu: Distribution) -> list[Fraction]:
        """The program's column; that of the cone around where the program has none."""
        around = self._around(mu, nu)
        known = around is not None and around.level(mu, nu) is not None
        if around is not None and known and self.program.level(mu, nu) is None:
            return around.column(mu, nu)
        return self.program.column(mu, nu)

    def _around(self, mu: Distribution, nu: Distribution) -> ClosedForm | Knapsack | None:
        if self.part is None:
            return None
        closed, knapsack = ClosedForm(self.part), Knapsack(self.part)
        if closed.knows(mu) and closed.knows(nu):
            return closed
        return knapsack if knapsack.applies else None


def _level(cone: ExactCone, method: Any, mu: Distribution, nu: Distribution) -> Fraction | None:
    """The level of a pair, and no more than what chains of the source's own pairs give."""
    level: Fraction | None = method.level(mu, nu)
    if isinstance(method, ClosedForm):
        return level
    listed = cone.chained(mu, nu)
    if listed is None:
        return level
    return listed if level is None else min(level, listed)


def _scaled(level: Fraction | None, scale: Fraction) -> Fraction | None:
    if level is None or scale == 1:
        return level
    if scale == 0:
        return Fraction(0) if level == 0 else None
    return level / scale


def _above(level: Fraction | None, best: Fraction | None) -> bool:
    return best is not None and (level is None or level > best)


def _attained(template: LikelihoodBound, witness: Mechanism, prior: Prior, parameter: int) -> float:
    """The level of a witness, rounded down."""
    level = template.check(witness, prior).achieved[parameter]
    return level if level in (0.0, math.inf) else math.nextafter(level, 0.0)

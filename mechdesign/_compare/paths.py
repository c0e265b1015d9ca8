"""One notion along a path of levels: which level meets a target, and the design there."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from ..errors import LevelError, quote
from ..prior import Prior
from ..privacy.average import MIPrivacy
from ..privacy.differential import LDP
from ..privacy.families import Family
from ..privacy.notion import NOTIONS, LikelihoodBound, PrivacyNotion
from ..privacy.pointwise import PML
from ..solve.designing import Design
from ..solve.problem import AnyProblem, Problem, state_problem
from ..solve.sweeping import Walk
from ..theory.conversions import implications
from ..theory.rules import QUANTITIES
from ..theory.tight import tight_conversion
from ..utility.base import Utility
from .crossing import find_crossing
from .store import Store

# How near a design must come to what it is matched by, as a share of it.
_NEAR = 1e-6
# Guarantees are matched closer, as no design is needed to know them.
_EXACT = 1e-12
# What rounding may add to a loss, as a share of all that can be lost.
_ROUNDING = 1e-12
# Level that a search for a loss looks at first.
_FIRST = 0.5
# Levels at which the leakage of kernels is looked at before one is searched for, as a better kernel
# may leak less.
_LOOKS = tuple(2.0 ** (k / 4) for k in range(-16, 21))


@dataclass(frozen=True)
class FrontierPoint:
    """One design of a frontier. Levels and leakages in nats.

    Attributes
    ----------
    prior, utility, notion : names of what was compared
    target : what was matched: the level ε, an implied LDP level, an achieved PML level or a loss
    attained : what the design has of it; ``target`` or, where nothing meets that, short of it
    epsilon : the level the notion was asked at
    value, bound, gap, method : as in :class:`mechdesign.Design`
    loss : expected utility lost against telling all
    kept : (value − telling nothing)/(telling all − telling nothing), 1 where nothing can be gained
    kept_bound : the same of the bound
    achieved_pml, achieved_ldp, mutual_information : what the kernel leaks
    implied : levels that published results say follow, by name of the notion
    design : the design
    """

    prior: str
    utility: str
    notion: str
    target: float
    attained: float
    epsilon: float
    value: float
    bound: float
    gap: float
    method: str
    loss: float
    kept: float
    kept_bound: float
    achieved_pml: float
    achieved_ldp: float
    mutual_information: float
    implied: dict[str, tuple[float, ...]]
    design: Design

    @property
    def implied_ldp(self) -> float:
        """LDP level that the guarantee implies."""
        return self.implied["LDP"][0]

    @property
    def privacy(self) -> str:
        """What was asked, such as ``"pml:0.5"``; several joined with ``+``."""
        return "+".join(notion.spec for notion in self.design.notions)


@dataclass(frozen=True)
class Missing:
    """A target that no level of a notion meets, and why."""

    prior: str
    utility: str
    notion: str
    target: float
    reason: str


@dataclass(frozen=True)
class Task:
    """A stretch of one path: what a process works off on its own."""

    prior_name: str
    prior: Prior
    utility_name: str
    utility: Utility
    family: Family
    targets: tuple[float, ...]
    match: str
    outputs: Any
    solver: str
    folder: str | None

    def run(self) -> list[FrontierPoint | Missing]:
        """The points of the stretch."""
        return list(self.points())

    def points(self) -> Iterator[FrontierPoint | Missing]:
        """The points one by one."""
        path = _Path(self)
        for target in self.targets:
            level, reason = MATCHES[self.match](path, target)
            if reason:
                yield Missing(self.prior_name, self.utility_name, self.family.name, target, reason)
                continue
            yield path.point(target, level)


class _Path:
    """Designs of one family by level, each made once."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.store = None if task.folder is None else Store(task.folder)
        self.walk = Walk(task.solver)
        self.first: AnyProblem | None = None
        self.designs: dict[float, tuple[AnyProblem, Design]] = {}
        self.implied_levels: dict[float, dict[str, tuple[float, ...]]] = {}
        self.leaked: dict[float, float] = {}

    def design(self, level: float) -> tuple[AnyProblem, Design]:
        if level not in self.designs:
            self.designs[level] = self._designed(level)
        return self.designs[level]

    def _designed(self, level: float) -> tuple[AnyProblem, Design]:
        task = self.task
        notions = task.family.at(level)
        problem: AnyProblem = state_problem(task.prior, task.utility, notions, task.outputs)
        if isinstance(problem, Problem) and isinstance(self.first, Problem):
            problem = replace(problem, gains=self.first.gains)  # one array serves all
        self.first = self.first or problem
        kept = None if self.store is None else self.store.get(problem, task.solver)
        found = self.walk.step(problem) if kept is None else kept
        if self.store is not None and kept is None:
            self.store.put(problem, task.solver, found)
        return problem, found

    def implied(self, level: float) -> dict[str, tuple[float, ...]]:
        if level not in self.implied_levels:
            notions = self.task.family.at(level)
            self.implied_levels[level] = implied_levels(notions, self.task.prior)
        return self.implied_levels[level]

    def implied_ldp(self, level: float) -> float:
        return self.implied(level)["LDP"][0]

    def achieved_pml(self, level: float) -> float:
        if level not in self.leaked:
            self.leaked[level] = _achieved(PML, self.design(level)[1])
        return self.leaked[level]

    def loss(self, level: float) -> float:
        problem, found = self.design(level)
        return max(problem.revealed_value - found.value, 0.0)

    def point(self, target: float, level: float) -> FrontierPoint:
        problem, found = self.design(level)
        task = self.task
        nothing, room = problem.constant_value, problem.revealed_value - problem.constant_value
        attained = {
            "epsilon": lambda: level,
            "ldp": lambda: self.implied_ldp(level),
            "pml": lambda: self.achieved_pml(level),
            "loss": lambda: self.loss(level),
        }[task.match]()
        return FrontierPoint(
            prior=task.prior_name,
            utility=task.utility_name,
            notion=task.family.name,
            target=target,
            attained=attained,
            epsilon=level,
            value=found.value,
            bound=found.bound,
            gap=found.gap,
            method=found.method,
            loss=self.loss(level),
            kept=_share(found.value - nothing, room),
            kept_bound=_share(found.bound - nothing, room),
            achieved_pml=self.achieved_pml(level),
            achieved_ldp=_achieved(LDP, found),
            mutual_information=MIPrivacy.at(math.inf).measure(found.mechanism, task.prior)[0],
            implied=self.implied(level),
            design=found,
        )


def _achieved(cls: type[PrivacyNotion], found: Design) -> float:
    """The level of a notion that a design's kernel has, exact and rounded up."""
    return cls.at(math.inf).check(found.mechanism, found.prior).achieved[0]


def implied_levels(
    notions: tuple[PrivacyNotion, ...], prior: Prior
) -> dict[str, tuple[float, ...]]:
    """What follows from a guarantee, by name; LDP by a tight conversion where nothing is published.

    Levels are rounded up, and infinite where nothing finite follows.
    """
    found = {entry.name: entry.levels for entry in implications(notions, prior).found}
    names = {type(notion).__name__.lower() for notion in notions}
    if not names & set(QUANTITIES) and all(isinstance(n, LikelihoodBound) for n in notions):
        found["LDP"] = tight_conversion(notions, NOTIONS["ldp"], prior).target.levels
    return found


# Ways of matching: from a path and a target to a level, or the reason why there is none.


def _by_epsilon(_: _Path, target: float) -> tuple[float, str]:
    return target, ""


def _by_ldp(path: _Path, target: float) -> tuple[float, str]:
    def excess(level: float) -> float:
        return path.implied_ldp(level) - target

    found = find_crossing(excess, target, _EXACT * target, 0.0, above=False)
    if found.below is None:
        return 0.0, "no level of it is known to imply LDP at the target"
    return found.below, ""


def _by_pml(path: _Path, target: float) -> tuple[float, str]:
    def excess(level: float) -> float:
        return path.achieved_pml(level) - target

    if excess(math.inf) <= 0:
        return math.inf, ""
    known = max((level for level in (0.0, *_LOOKS, target) if excess(level) <= 0), default=None)
    if known is None:
        return 0.0, "its best kernel leaks more at every level that was tried"
    above = min((level for level in _LOOKS if level > known), default=2 * known)
    found = find_crossing(excess, above, _NEAR * target, _NEAR, above=False, known=known)
    return (known if found.below is None else found.below), ""


def _share(gain: float, room: float) -> float:
    """What is kept of all that could be; NaN where that is not a finite number.

    Where telling all is worth no more than telling nothing, all that there is is kept.
    """
    if not math.isfinite(room):
        return math.nan
    return gain / room if room > 0 else 1.0


def _by_loss(path: _Path, target: float) -> tuple[float, str]:
    problem, _ = path.design(0.0)
    width = problem.revealed_value - problem.constant_value

    def excess(level: float) -> float:
        # What meets the target to rounding meets it.
        return target - path.loss(level) + _ROUNDING * width

    found = find_crossing(excess, _FIRST, 0.0, _NEAR, above=True)
    if found.above is not None:
        return found.above, ""
    least = path.loss(math.inf)
    if least > target + _NEAR * width:
        return 0.0, f"it loses at least {least:.4g} at every level"
    return math.inf, ""


#: What frontiers can be matched by.
MATCHES: dict[str, Callable[[_Path, float], tuple[float, str]]] = {
    "epsilon": _by_epsilon,
    "ldp": _by_ldp,
    "pml": _by_pml,
    "loss": _by_loss,
}
#: The same in words.
MATCHED_BY = {
    "epsilon": "level ε (nats)",
    "ldp": "implied LDP level (nats)",
    "pml": "achieved PML level (nats)",
    "loss": "expected loss",
}


def check_match(match: Any) -> str:
    """The name of a way of matching, or a :class:`LevelError`."""
    if not isinstance(match, str) or match not in MATCHES:
        raise LevelError(
            "match of a comparison",
            expected="one of " + ", ".join(MATCHES),
            got=quote(match),
            remedy="pass match='epsilon' for the same level, 'ldp' for the same implied LDP level",
        )
    return str(match)

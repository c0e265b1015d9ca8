"""One notion along a path of levels: which level meets a target, and the design there.

Designs can be kept in a folder, so that a comparison that was stopped goes on where it was.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from ..errors import (
    CertificateError,
    InfeasibleError,
    LevelError,
    StorageError,
    UntoldError,
    quote,
)
from ..prior import Prior
from ..privacy.average import MIPrivacy
from ..privacy.differential import LDP
from ..privacy.free_level import Family
from ..privacy.notion import NOTIONS, LikelihoodBound, PrivacyNotion
from ..privacy.pointwise import PML
from ..program.problem import Problem, designable, state_problem
from ..program.program import LinearProgram
from ..requirement.base import Requirement
from ..solve._design import Design
from ..solve._sweep import Walk
from ..storage import (
    asked_to_json,
    load,
    problem_to_json,
    requirement_to_json,
    save,
)
from ..stored_values import label_to_json
from ..theory.conversions import implications
from ..theory.rules import PUBLISHED_QUANTITIES
from ..theory.tight import tight_conversion
from ..utility.base import Utility
from ..utility.estimation import Estimation
from .comparison import FrontierPoint, Missing

# How near a design must come to what it is matched by, as a share of it.
_NEAR = 1e-6
# Guarantees are matched closer, as no design is needed to know them.
_EXACT = 1e-12
# What rounding may add to a loss, as a share of all that can be lost.
_ROUNDING = 1e-12
# Level that a search for a loss looks at first.
_FIRST = 0.5
# Doublings until a level counts as unlimited, and steps of the search between two levels.
_DOUBLINGS = 40
_STEPS = 60
# Levels at which the leakage of kernels is looked at before one is searched for, as a better kernel
# may leak less.
_LOOKS = tuple(2.0 ** (k / 4) for k in range(-16, 21))


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
    requirements: tuple[Requirement, ...] = ()
    time_limit: float | None = None

    def problem(self, notions: Any) -> Problem:
        """What is designed for notions."""
        return designable(
            state_problem(
                self.prior, self.utility, notions, self.outputs, self.time_limit, self.requirements
            )
        )

    def run(self) -> list[FrontierPoint | Missing]:
        """The points of the stretch."""
        return list(self.points())

    def points(self) -> Iterator[FrontierPoint | Missing]:
        """The points one by one."""
        path = _Path(self)
        for target in self.targets:
            level, reason = MATCHES[self.match](path, target)
            if not reason:
                reason = path.obstacle(level)
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
        self.first: Problem | None = None
        self.designs: dict[float, tuple[Problem, Design]] = {}
        self.implied_levels: dict[float, dict[str, tuple[float, ...]]] = {}
        self.leaked: dict[float, float] = {}
        self.impossible: tuple[float, str] | None = None
        self.obstacles: dict[float, str] = {}

    def obstacle(self, level: float) -> str:
        """Why no kernel has what is asked at a level; nothing where one does.

        What is impossible at a level is so at every lower one.
        """
        estimates = isinstance(self.task.utility, Estimation)
        if not self.task.requirements and not estimates:
            return ""
        if self.impossible is not None and level <= self.impossible[0]:
            return self.impossible[1]
        if level not in self.obstacles:
            self.obstacles[level] = ""
            try:
                self.design(level)
            except InfeasibleError as proof:
                self.impossible = level, _reason(proof)
                return self.impossible[1]
            except UntoldError:
                self.impossible = level, "no kernel's reports answer what is to be estimated"
                return self.impossible[1]
            except CertificateError as failure:  # too little room for rounding, perhaps none
                self.obstacles[level] = str(failure)
        return self.obstacles[level]

    def design(self, level: float) -> tuple[Problem, Design]:
        if level not in self.designs:
            self.designs[level] = self._designed(level)
        return self.designs[level]

    def _designed(self, level: float) -> tuple[Problem, Design]:
        task = self.task
        problem = task.problem(task.family.at(level))
        mine, its = problem.program, None if self.first is None else self.first.program
        if isinstance(mine, LinearProgram) and isinstance(its, LinearProgram):
            # One array of gains serves all.
            problem = replace(problem, program=replace(mine, stated=its.stated))
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
        if self.obstacle(level):
            return math.inf
        if level not in self.leaked:
            self.leaked[level] = _achieved(PML, self.design(level)[1])
        return self.leaked[level]

    def loss(self, level: float) -> float:
        if self.obstacle(level):
            return math.inf
        return max(self.ends[1] - self.design(level)[1].value, 0.0)

    @cached_property
    def ends(self) -> tuple[float, float]:
        """Values of the best uninformative kernel and of full disclosure, whatever is required."""
        task = self.task
        problem = state_problem(task.prior, task.utility, PML(0.0), task.outputs)
        return problem.program.constant_value, problem.program.revealed_value

    def share(self, value: float) -> float:
        """The share of what can be gained; of estimates that of reports an open survey needs."""
        least, most = self.ends
        if not isinstance(self.task.utility, Estimation):
            return _share(value - least, most - least)
        return most / value if value < most else 1.0

    def gains_nothing(self, level: float) -> bool:
        """Whether the design at a level is no better than the one at level zero."""
        at_zero, there = (self.share(self.design(one)[1].value) for one in (0.0, level))
        return there - at_zero <= _NEAR

    def point(self, target: float, level: float) -> FrontierPoint:
        found = self.design(level)[1]
        task = self.task
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
            kept=self.share(found.value),
            kept_bound=self.share(found.bound),
            achieved_pml=self.achieved_pml(level),
            achieved_ldp=_achieved(LDP, found),
            mutual_information=MIPrivacy.at(math.inf).measure(found.mechanism, task.prior)[0],
            implied=self.implied(level),
            design=found,
        )


def _reason(proof: InfeasibleError) -> str:
    """Why a target has no point: what clashes with the notion, and its smallest level."""
    clash = [text for text in proof.clash if text not in proof.levels]
    if not proof.levels:
        return f"no kernel satisfies {' and '.join(clash)}"
    smallest = " or ".join(
        f"{level:.4g}" if level < math.inf else "infinite" for level in proof.levels.values()
    )
    return f"no kernel satisfies {' and '.join(clash)} below its level of {smallest}"


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
    if not names & PUBLISHED_QUANTITIES and all(isinstance(n, LikelihoodBound) for n in notions):
        found["LDP"] = tight_conversion(notions, NOTIONS["ldp"], prior).target.levels
    return found


def _share(gain: float, possible: float) -> float:
    """The share of the possible gain; NaN where that is not a finite number.

    It is all of it where full disclosure has no larger value than an uninformative kernel.
    """
    if not math.isfinite(possible):
        return math.nan
    return gain / possible if possible > 0 else 1.0


# Ways of matching: from a path and a target to a level, or the reason why there is none.


def _by_epsilon(_: _Path, target: float) -> tuple[float, str]:
    return target, ""


def _by_ldp(path: _Path, target: float) -> tuple[float, str]:
    def beyond(level: float) -> float:
        return path.implied_ldp(level) - target

    found = bracket_root(beyond, target, _EXACT * target, 0.0, above=False)
    if found.below is None:
        return 0.0, "no level of it is known to imply LDP at the target"
    return found.below, ""


def _by_pml(path: _Path, target: float) -> tuple[float, str]:
    def beyond(level: float) -> float:
        return path.achieved_pml(level) - target

    if reason := path.obstacle(math.inf):
        return 0.0, reason
    if beyond(math.inf) <= 0:
        return math.inf, ""
    known = max((level for level in (0.0, *_LOOKS, target) if beyond(level) <= 0), default=None)
    if known is None:
        return 0.0, "its best kernel leaks more at every level that was tried"
    above = min((level for level in _LOOKS if level > known), default=2 * known)
    found = bracket_root(beyond, above, _NEAR * target, _NEAR, above=False, known=known)
    level = known if found.below is None else found.below
    if target > 0 and level <= _NEAR * target and path.gains_nothing(level):
        # A jump at zero: what is found below it depends on the rounding of a solver.
        if not path.design(0.0)[1].certificate.is_optimal:
            return 0.0, (
                "its level would be zero within rounding, where no best kernel could be proved, "
                "and at every larger level that was tried its best kernel leaks more"
            )
        return 0.0, ""
    return level, ""


def _by_loss(path: _Path, target: float) -> tuple[float, str]:
    if reason := path.obstacle(math.inf):
        return 0.0, reason
    least, most = path.ends
    width = most - least if math.isfinite(least) else abs(most)

    def short(level: float) -> float:
        # What meets the target to rounding meets it.
        return target - path.loss(level) + _ROUNDING * width

    found = bracket_root(short, _FIRST, 0.0, _NEAR, above=True)
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


# The bracketed root of a monotone function


@dataclass(frozen=True)
class Bracket:
    """Two neighbouring levels: at ``below`` the function is at most 0, at ``above`` positive.

    ``above`` is ``None`` where the function never is positive, ``below`` where it is from the
    start on.
    """

    below: float | None
    above: float | None


def bracket_root(
    function: Callable[[float], float],
    start: float,
    near: float,
    width: float,
    *,
    above: bool,
    known: float = 0.0,
) -> Bracket:
    """Bracket the root of an increasing function of the level.

    Parameters
    ----------
    function : increasing; infinite values are fine, jumps too
    start : where to look first
    near : a value this close to zero ends the search, on the side that is wanted
    width : so does a bracket this narrow, relative to its upper end
    above : which side that is
    known : a level that the search begins at; where the function is not positive

    Examples
    --------
    >>> found = bracket_root(lambda level: level * level - 2, 1.0, 1e-12, 1e-12, above=False)
    >>> round(found.below, 9), found.below**2 <= 2 < found.above**2
    (1.414213562, True)
    """
    low, at_low = known, function(known)
    if at_low > 0:
        return Bracket(None, known)
    if function(math.inf) <= 0:
        return Bracket(math.inf, None)
    high = max(start, 1e-6)
    at_high = function(high)
    for _ in range(_DOUBLINGS):
        if at_high > 0:
            break
        low, at_low = high, at_high
        high, at_high = 2 * high, function(2 * high)
    else:
        return Bracket(math.inf, None)
    halve = False
    for _ in range(_STEPS):
        if high - low <= width * high or (at_high if above else -at_low) <= near:
            break
        middle = _between(low, high, at_low, at_high, halve)
        if not low < middle < high:
            break  # neighbouring floats
        found, before = function(middle), high - low
        if found > 0:
            high, at_high = middle, found
        else:
            low, at_low = middle, found
        # A side that hardly moves is a sign to halve instead of interpolating.
        halve = high - low > before / 2
    return Bracket(low, high)


def _between(low: float, high: float, at_low: float, at_high: float, halve: bool) -> float:
    middle = (low + high) / 2
    if halve or math.isinf(at_high) or math.isinf(at_low) or at_high <= at_low:
        return math.sqrt(low * high) if 0 < 8 * low < high else middle
    share = -at_low / (at_high - at_low)
    return low + min(max(share, 0.02), 0.98) * (high - low)


# Designs kept in a folder


class Store:
    """A folder with one file per design, named after what was asked.

    A design that is read back is proved again, as :func:`mechdesign.load` does, so a folder cannot
    bring in a kernel that is not private or an optimum that is none.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder_name(folder))
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except (OSError, ValueError) as problem:
            why = problem.strerror if isinstance(problem, OSError) else problem
            raise StorageError(
                f"folder {folder}: cannot be made ({why}); choose another name."
            ) from None

    def _file(self, problem: Problem, solver: str) -> Path:
        asked: dict[str, Any] = {
            "problem": _by_gains(problem_to_json(problem)),
            "solver": solver,
            "time_limit": problem.program.time_limit,
        }
        text = json.dumps(asked, sort_keys=True)
        return self.folder / f"{hashlib.sha256(text.encode()).hexdigest()[:32]}.json"

    def get(self, problem: Problem, solver: str) -> Design | None:
        """The design kept for a problem, if there is one; raises :class:`StorageError`."""
        path = self._file(problem, solver)
        if not path.exists():
            return None
        try:
            found = load(path)
        except StorageError as cause:
            raise StorageError(
                f"{cause} Remove {path}, and the comparison designs that point again."
            ) from None
        if not isinstance(found, Design) or not _answers(found, problem):
            raise StorageError(
                f"file {path}: expected the design its name stands for, got another; remove it."
            )
        return found

    def put(self, problem: Problem, solver: str, found: Design) -> None:
        """Keep a design; the file appears only when it is complete."""
        save(found, self._file(problem, solver), overwrite=True)


def folder_name(folder: Any) -> str:
    """The name of a folder to keep designs in; raises :class:`StorageError` for what is none."""
    if not isinstance(folder, (str, Path)) or not str(folder).strip():
        raise StorageError(
            f"folder to keep designs in: expected a path, got {quote(folder)}; name a folder."
        )
    return str(folder)


def _answers(found: Design, problem: Problem) -> bool:
    outputs = found.mechanism.outputs if problem.outputs else ()
    required = [requirement_to_json(requirement) for requirement in found.requirements]
    asked = {
        **asked_to_json(found.prior, found.notions, found.utility, outputs),
        "outputs": [label_to_json(label) for label in outputs],
        **({"requirements": required} if required else {}),
    }
    given, wanted = _by_gains(asked), _by_gains(problem_to_json(problem))
    if "gains" in wanted["utility"]:
        # A matrix may be read back under another name; its gains are the same.
        given["utility"].pop("name")
        wanted["utility"].pop("name")
    return given == wanted


def _by_gains(asked: dict[str, Any]) -> dict[str, Any]:
    """What is asked, a linear utility by its gains whatever class it is of."""
    utility = asked["utility"]
    if "gains" in utility:
        utility = {key: utility[key] for key in ("name", "gains")}
    return {**asked, "utility": utility}

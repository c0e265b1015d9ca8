"""``compare``: frontiers of utility against level for several notions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ..certificate.certificate import gap_out_of
from ..errors import GapWarning, InputError, LevelError, StorageError, is_iterable, quote, warn
from ..prior import Prior, as_prior
from ..privacy.free_level import as_families
from ..privacy.notion import check_level
from ..privacy.pointwise import PML
from ..program.problem import Problem, state_problem
from ..progress import counter
from ..requirement.base import as_requirements
from ..solve._sweep import check_jobs
from ..solve.choice import choose
from ..storage import problem_to_json
from ..utility.base import Utility
from ..utility.estimation import Estimation
from ..utility.linear import default_utility
from .comparison import Comparison, FrontierPoint, Missing
from .path import Store, Task, check_match, folder_name

# Levels that are looked at when none are given.
_LEVELS = np.linspace(0.1, 2.0, 20)
_LOSSES = 20
# Reports at the largest of these losses of estimates, over those of an open survey.
_MOST_TIMES = 300
# Stretches that each process gets, so that none waits long for the last one.
_PIECES = 4


def compare(
    prior: Any,
    utility: Any,
    notions: Any,
    levels: Iterable[float] | None = None,
    outputs: Any = None,
    *,
    match: str = "epsilon",
    solver: str = "auto",
    jobs: int = 1,
    resume: str | Path | None = None,
    progress: bool = False,
    subject_to: Any = (),
    time_limit: float | None = None,
) -> Comparison:
    """The best utility that each notion allows, at levels that are matched.

    Parameters
    ----------
    prior : a prior, or several: a list, or a mapping of names and priors
    utility : a utility, or several likewise; ``None`` as in :func:`design`
    notions : notion classes, texts, or functions from a level to a notion or a list of notions
        Such as ``[md.PML, md.LDP, "alip:2e,e"]``; a mapping gives them names. A class with several
        levels gets the same for all.
    levels : what to match at, ascending or not; 20 levels from 0.1 to 2 when left out
        Nats, or losses in units of the utility for ``match="loss"``, where 20 losses between full
        disclosure and an uninformative kernel are taken for each prior and utility when none are
        given.
    match : {"epsilon", "ldp", "pml", "loss"}
        What the notions are given equally. ``"epsilon"``: the same level. ``"ldp"``: the level
        whose guarantee implies LDP at the target (by published results). ``"pml"``: the largest
        level found whose best kernel leaks the target as measured by PML, never more; a better
        kernel may leak less, so several levels can do; level zero where every other one leaks more.
        ``"loss"``: the smallest level whose best kernel loses at most the target against full
        disclosure.
    outputs, solver : as in :func:`design`
    jobs : processes to run in, as in :func:`sweep`
    resume : folder that designs are kept in
        A comparison that was stopped goes on where it was; every design read back is proved again.
    progress : show a progress bar on standard error
    subject_to : requirement or list of them, optional
        As in :func:`design`, the same for every point. Targets at which no kernel satisfies them
        are listed in ``missing``, with the reason. Losses and shares of what can be gained are
        those without them, so that comparisons with and without requirements can be compared.
    time_limit : seconds for each design, as in :func:`design`

    Returns
    -------
    Comparison
        Each point holds its design, so an exactly checked kernel and a proven bound.

    Raises
    ------
    LevelError
        For no notion, no level, or what is neither a class, a text nor a function; and what
        :func:`design` raises, before anything is designed.
    StorageError
        For a folder that cannot be used, or a design in it that was altered.

    Examples
    --------
    >>> import mechdesign as md
    >>> table = compare(md.Prior([.6, .4]), md.utility.Hamming(), [md.PML, md.LDP], [.1, 1])
    >>> table.notions, len(table)
    (('PML', 'LDP'), 4)
    >>> print(table.verdict[1])
    At ε = 1: PML 1 (100.0%), LDP 0.7311 (32.8%); in brackets the share of what can be gained over
    an uninformative mechanism.
    """
    check_match(match)
    priors = {name: as_prior(entry) for name, entry in _named(prior, Prior, "prior").items()}
    if utility is None:
        utility = _default_of(priors)
    utilities = _named(utility, Utility, "utility")
    families = as_families(notions)
    targets = None if levels is None else _checked_levels(levels, match)
    check_jobs(jobs)
    folder = None if resume is None else folder_name(resume)
    requirements = as_requirements(subject_to)
    tasks: list[Task] = []
    for prior_name, known in priors.items():
        for utility_name, goal in utilities.items():
            mine = _default_levels(known, goal, outputs, match) if targets is None else targets
            tasks += [
                Task(
                    prior_name,
                    known,
                    utility_name,
                    goal,
                    family,
                    mine,
                    match,
                    outputs,
                    solver,
                    folder,
                    requirements,
                    time_limit,
                )
                for family in families
            ]
    for task in tasks:  # what cannot be designed is refused before anything is
        for level in {task.targets[len(task.targets) // 2], task.targets[-1]}:
            notions = task.family.at(level)
            problem = task.problem(notions)
            if match != "ldp":  # where what implies no LDP is left out, not designed
                choose(problem, solver)
            if resume is not None:
                _check_storable(problem)
    if resume is not None:
        Store(resume)
    found = list(_run(tasks, jobs, progress))
    points = tuple(entry for entry in found if isinstance(entry, FrontierPoint))
    _warn_of_gaps(points)
    missing = tuple(entry for entry in found if isinstance(entry, Missing))
    names = tuple(family.name for family in families)
    return Comparison(priors, utilities, names, match, points, missing, requirements)


def _check_storable(problem: Problem) -> None:
    """Raise before any work when a design for a problem could not be kept in a file."""
    try:
        problem_to_json(problem)
    except StorageError as failure:
        raise StorageError(
            f"resume: a design cannot be kept ({failure}); leave out resume."
        ) from None


def _run(tasks: list[Task], jobs: int, progress: bool) -> Iterator[FrontierPoint | Missing]:
    total = sum(len(task.targets) for task in tasks)
    with counter(total, "designing", show=progress) as advance:
        if jobs == 1:
            for task in tasks:
                for point in task.points():
                    advance(1)
                    yield point
            return
        from joblib import Parallel, delayed, effective_n_jobs

        pieces = _pieces(tasks, _PIECES * effective_n_jobs(jobs))
        for part in Parallel(n_jobs=jobs, return_as="generator")(
            delayed(piece.run)() for piece in pieces
        ):
            advance(len(part))
            yield from part


def _pieces(tasks: list[Task], count: int) -> list[Task]:
    """The tasks, long ones cut into stretches, so that there are at least so many."""
    cuts = max(1, -(-count // len(tasks)))
    return [
        replace(task, targets=tuple(map(float, piece)))
        for task in tasks
        for piece in np.array_split(np.array(task.targets), min(cuts, len(task.targets)))
    ]


def _default_of(priors: Mapping[str, Prior]) -> Utility:
    """What a design is for where nothing is said, which must be the same for all priors."""
    found = {repr(one): one for one in map(default_utility, priors.values())}
    if len(found) > 1:
        raise InputError(
            "utility of a comparison",
            expected="one, where some priors are of bins and others of symbols without an order",
            got="None",
            remedy="pass for example md.utility.Hamming()",
        )
    return next(iter(found.values()))


def _named(given: Any, kind: type, noun: str) -> dict[str, Any]:
    """One prior or utility, a list of them or a mapping, by name."""
    if isinstance(given, kind):
        given = [given]
    if isinstance(given, Mapping):
        found = {str(name): entry for name, entry in given.items()}
    elif is_iterable(given) and not isinstance(given, (str, bytes)):
        listed = list(given)
        found = {_name(entry, noun, k, len(listed)): entry for k, entry in enumerate(listed)}
        if len(found) < len(listed):
            found = {f"{noun} {k + 1}": entry for k, entry in enumerate(listed)}
    else:
        found = {}
    if not found or not all(isinstance(entry, kind) for entry in found.values()):
        raise InputError(
            f"{noun} of a comparison",
            expected=f"a {noun}, a list of them, or a mapping of names and them",
            got=quote(given),
            remedy="pass for example "
            + ("md.Prior([.5, .3, .2])" if noun == "prior" else "md.utility.Hamming()"),
        )
    return found


def _name(entry: Any, noun: str, place: int, count: int) -> str:
    if isinstance(entry, Utility):
        return repr(entry).removesuffix("()")
    return noun if count == 1 else f"{noun} {place + 1}"


def _checked_levels(levels: Any, match: str) -> tuple[float, ...]:
    what = "losses" if match == "loss" else "levels"
    if not is_iterable(levels) or isinstance(levels, (str, bytes)):
        raise LevelError(
            f"{what} of a comparison",
            expected=f"a list of {what}",
            got=quote(levels),
            remedy="pass for example [0.1, 0.5, 1]",
        )
    found = tuple(_checked_level(level, match) for level in levels)
    if not found or len(set(found)) < len(found):
        raise LevelError(
            f"{what} of a comparison",
            expected="at least one, each once",
            got="none" if not found else "one of them twice",
            remedy="pass for example [0.1, 0.5, 1]",
        )
    return found


def _checked_level(level: Any, match: str) -> float:
    if match != "loss":
        return check_level(level, "level of a comparison")
    try:
        return check_level(level, "loss")
    except LevelError:
        raise LevelError(
            "loss of a comparison",
            expected="a non-negative number in units of the utility",
            got=quote(level),
            remedy="give what may be lost against full disclosure, such as 0.1",
        ) from None


def _default_levels(prior: Prior, utility: Utility, outputs: Any, match: str) -> tuple[float, ...]:
    if match != "loss":
        return tuple(map(float, _LEVELS))
    problem = state_problem(prior, utility, PML(0.0), outputs)
    if isinstance(utility, Estimation):  # from a tenth more reports than an open survey needs
        times = np.geomspace(1.1, _MOST_TIMES, _LOSSES)
        needed = -problem.program.revealed_value
        return tuple(float(needed * (k - 1)) for k in times) if needed > 0 else (0.0,)
    width = problem.program.revealed_value - problem.program.constant_value
    shares = (np.arange(_LOSSES) + 0.5) / _LOSSES
    losses = tuple(float(share * width) for share in shares)
    return losses if width > 0 else (0.0,)


def _warn_of_gaps(points: tuple[FrontierPoint, ...]) -> None:
    loose = [point for point in points if not point.design.certificate.is_optimal]
    if loose:
        worst = max(loose, key=lambda point: point.gap)
        warn(
            f"{len(loose)} of {len(points)} points are certified private, but their optimality is "
            f"only proved up to a gap (largest "
            f"{gap_out_of(worst.gap, worst.design.utility.gap_unit)}, {worst.notion} at "
            f"{worst.target:g}); the bounds in the table hold",
            GapWarning,
        )

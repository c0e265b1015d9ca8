"""``sweep``: designs along a path of levels, each with a warm start from the one before."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from ..errors import InfeasibleError, InputError, LevelError, UntoldError, is_iterable, quote
from ..prior import Prior
from ..privacy.notion import PrivacyNotion
from ..program.duals import Candidate
from ..program.problem import Problem, designable, state_problem
from ..program.program import LinearProgram
from ..requirement.base import as_requirements
from ..utility.base import Utility
from ._design import Design, run_solver, warn_of_gap
from .choice import check_solver
from .method import Method

#: Processes at most.
_MOST_JOBS = 10_000


def sweep(
    prior: Prior,
    utility: Utility | None,
    privacies: Iterable[Any],
    outputs: Any = None,
    *,
    solver: str | Method = "auto",
    jobs: int = 1,
    progress: bool = False,
    subject_to: Any = (),
    time_limit: float | None = None,
) -> list[Any]:
    """One design for each of a path of privacy demands, in the order given.

    Points next to each other should have nearby levels: the search for a design starts from a
    point that the search for the one before passed early on its way, which halves its length. Each
    design is certified on its own, so the start costs nothing in trust.

    Parameters
    ----------
    prior, utility, outputs, solver : as in :func:`design`
    privacies : notions, or lists of notions, such as ``[md.PML(e) for e in levels]``
    jobs : int
        Processes to run in (through joblib, whose backends may be set around the call); the path
        is cut into as many contiguous pieces. ``-1`` for one per processor. Starting processes
        takes a second or two, so this is for paths that take longer.
    progress : bool
        Show a progress bar on standard error.
    subject_to : requirement or list of them, optional
        As in :func:`design`, the same for every point. Where no kernel does what is asked, the
        list holds the :class:`InfeasibleError` that says so, with its proof, in place of a design.
    time_limit : float, optional
        Seconds for each point, as in :func:`design`.

    Returns
    -------
    list of Design, or of InfeasibleError where requirements leave no kernel, or of UntoldError
    where no kernel answers what is to be estimated, as at level zero

    Raises
    ------
    InputError
        For ``solver="all"``, an impossible number of jobs, or a path that is no list of notions;
        and what :func:`design` raises for each point.

    Examples
    --------
    >>> import mechdesign as md
    >>> path = md.sweep(md.Prior([.5, .3, .2]), md.utility.Hamming(), [md.LDP(1), md.LDP(2)])
    >>> [round(found.value, 4) for found in path]
    [0.5848, 0.787]
    """
    check_solver(solver)
    if solver == "all":
        raise InputError(
            "solver of a sweep",
            expected="one method, or 'auto'",
            got="'all'",
            remedy="run design(..., solver='all') on the points that matter",
        )
    check_jobs(jobs)
    if isinstance(privacies, (PrivacyNotion, type)) or not is_iterable(privacies):
        raise LevelError(
            "path of a sweep",
            expected="a list of notions such as [md.PML(e) for e in levels]",
            got=quote(privacies),
            remedy="pass one notion for each point",
        )
    problems: list[Problem] = []
    requirements = as_requirements(subject_to)
    for privacy in privacies:
        problem = designable(
            state_problem(prior, utility, privacy, outputs, time_limit, requirements)
        )
        first = problems[0] if problems else problem
        mine, its = problem.program, first.program
        if isinstance(mine, LinearProgram) and isinstance(its, LinearProgram):
            # One array of gains serves all points, and one is sent to each process.
            problem = replace(problem, program=replace(mine, stated=its.stated))
        problems.append(problem)
    pieces = _pieces(problems, jobs)
    if len(pieces) == 1:
        found = _run_piece(pieces[0], solver, progress)
    else:
        from joblib import Parallel, delayed

        results = Parallel(n_jobs=jobs)(
            delayed(_run_piece)(piece, solver, False) for piece in pieces
        )
        found = [design for result in results for design in result]
    for entry in found:
        if isinstance(entry, Design):
            warn_of_gap(entry)
    return found


def check_jobs(jobs: Any) -> None:
    """Raise :class:`InputError` for what is no number of processes."""
    if isinstance(jobs, bool) or not isinstance(jobs, int) or not 0 < abs(jobs) <= _MOST_JOBS:
        raise InputError(
            "jobs",
            expected="a number of processes, or -1 for one per processor",
            got=quote(jobs),
            remedy="pass jobs=1",
        )


def _pieces(problems: list[Problem], jobs: int) -> list[list[Problem]]:
    if jobs == 1 or len(problems) < 2:
        return [problems]
    from joblib import effective_n_jobs

    count = min(effective_n_jobs(jobs), len(problems))
    cuts = np.array_split(np.arange(len(problems)), count)
    return [[problems[i] for i in cut] for cut in cuts]


def _run_piece(
    problems: list[Problem], solver: str | Method, progress: bool
) -> list[Design | InfeasibleError | UntoldError]:
    from ..progress import track

    walk = Walk(solver)
    found: list[Design | InfeasibleError | UntoldError] = []
    for problem in track(problems, "designing", show=progress):
        try:
            found.append(walk.step(problem))
        except (InfeasibleError, UntoldError) as failure:
            found.append(failure)
    return found


class Walk:
    """Designs one after another, each starting from what the one before passed on its way."""

    def __init__(self, solver: str | Method) -> None:
        self._solver = solver
        self._start: tuple[str, Candidate] | None = None

    def step(self, problem: Problem) -> Design:
        """The next design."""
        found, self._start = run_solver(problem, self._solver, self._start)
        return found

"""Drivers: each solves a case and says how long it took, what it found, and what is proved.

Time runs from arrays in memory to a kernel in memory. Ours includes repair, exact check and bound;
the others return a kernel that nobody checked.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from .cases import Case

DRIVERS: dict[str, Callable[[Case, float], dict[str, Any]]] = {}


def driver(name: str) -> Callable[[Callable[..., dict[str, Any]]], Callable[..., dict[str, Any]]]:
    """Register a driver; it gets the case and a time limit in seconds."""

    def add(function: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
        DRIVERS[name] = function
        return function

    return add


def _levels(case: Case) -> list[float]:
    if case.levels == 1:
        return [case.level]
    return [float(level) for level in np.linspace(0.1, 3.0, case.levels)]


def stated(case: Case) -> tuple[Any, Any, list[Any]]:
    import mechdesign as md

    privacies = [_privacy(case, level) for level in _levels(case)]
    if case.utility == "euclidean":
        side = math.isqrt(case.n)
        cells = [(x // side, x % side) for x in range(case.n)]
        return md.Prior(case.masses(), cells), md.utility.Distance("euclidean"), privacies
    p, u = case.arrays()
    if case.utility == "information":
        return md.Prior.from_counts(p), md.utility.MutualInformation(), privacies
    return md.Prior.from_counts(p), md.utility.Matrix(u), privacies


def _privacy(case: Case, level: float) -> Any:
    import mechdesign as md

    name = case.notion
    if name in ("Line", "Grid", "Square"):
        return md.MetricPrivacy(level, case.distances())
    if name == "PML+Square":
        return [md.PML(level), md.MetricPrivacy(level, case.distances())]
    if name == "LIP+LDP":
        # LIP(1) alone gives LDP(2), LDP(1.5) alone more than LIP(1): both count.
        return [md.LIP(level), md.LDP(1.5 * level)]
    if name == "PML+LDP":
        return [md.PML(level), md.LDP(level)]
    if name == "line":
        from .neighbours import OnALine

        return OnALine(level)
    return getattr(md, name)(level)


def requirements(case: Case) -> list[Any]:
    """What a case requires beside privacy."""
    from mechdesign import require

    found: list[Any] = []
    if "band" in case.required:
        found.append(require.zero(farther_than=case.n // 3))
    if "floors" in case.required:
        found.append(require.diagonal(at_least=0.2 / case.n))
    if "cost" in case.required:
        found.append(require.cost(*case.costs()))
    return found


def _program(case: Case) -> Any:
    from mechdesign.linear.compiled import compile_program
    from mechdesign.program.problem import state_problem

    prior, utility, notions = stated(case)
    problem = state_problem(prior, utility, notions[0], subject_to=requirements(case))
    return compile_program(problem.program)


@driver("ours")
def ours(case: Case, limit: float) -> dict[str, Any]:  # noqa: ARG001
    """``design`` or ``sweep``, certified."""
    import mechdesign as md

    start = time.perf_counter()
    prior, utility, notions = stated(case)
    found = (
        [md.design(prior, utility, notions[0], subject_to=requirements(case))]
        if len(notions) == 1
        else md.sweep(prior, utility, notions)
    )
    seconds = time.perf_counter() - start
    return {
        "seconds": seconds,
        "value": found[-1].value,
        "gap": max(d.gap for d in found),
        "certified": all(d.certificate.is_optimal for d in found),
        "note": found[0].method,
    }


def _forced(case: Case, solver: str) -> dict[str, Any]:
    import mechdesign as md

    _one_level(case)
    start = time.perf_counter()
    prior, utility, notions = stated(case)
    found = md.design(prior, utility, notions[0], solver=solver, subject_to=requirements(case))
    return {
        "seconds": time.perf_counter() - start,
        "value": found.value,
        "gap": found.gap,
        "certified": found.certificate.is_optimal,
        "note": found.method,
    }


@driver("ours-simplex")
def ours_simplex(case: Case, limit: float) -> dict[str, Any]:  # noqa: ARG001
    """``design`` made to use the simplex method, to check the rule of choice."""
    return _forced(case, "highs-simplex")


@driver("ours-structured")
def ours_structured(case: Case, limit: float) -> dict[str, Any]:  # noqa: ARG001
    """``design`` made to use the structured method, to check the rule of choice."""
    return _forced(case, "structured")


@driver("ours-clarabel")
def ours_clarabel(case: Case, limit: float) -> dict[str, Any]:  # noqa: ARG001
    """``design`` made to use direct Clarabel, to check the rule of choice."""
    return _forced(case, "clarabel")


@driver("enumeration")
def enumeration(case: Case, limit: float) -> dict[str, Any]:  # noqa: ARG001
    """Every extreme column in one linear program, as published; for sub-convex utilities."""
    if case.n > 12:
        raise ValueError("too many extreme columns to list")
    return _forced(case, "vertices")


@driver("clarabel")
def clarabel_direct(case: Case, limit: float) -> dict[str, Any]:
    """The same sparse program handed to Clarabel directly."""
    import clarabel
    from scipy import sparse

    _one_level(case)
    start = time.perf_counter()
    program = _program(case)
    size, equalities = program.cost.size, program.equal.shape[0]
    upper, lower = np.isfinite(program.high), np.isfinite(program.low)
    limits = [program.limits[upper], -program.limits[lower]]
    right = [program.high[upper], -program.low[lower]]
    below = [program.below, *limits, -sparse.eye_array(size)]
    rows = sum(part.shape[0] for part in below)
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.time_limit = limit
    solution = clarabel.DefaultSolver(
        sparse.csc_matrix((size, size)),
        -program.cost,
        sparse.csc_matrix(sparse.vstack([program.equal, *below])),
        np.concatenate([np.ones(equalities), program.right, *right, np.zeros(size)]),
        [clarabel.ZeroConeT(equalities), clarabel.NonnegativeConeT(rows)],
        settings,
    ).solve()
    value = -solution.obj_val * program.scale + program.shift.sum()
    return _plain(start, value, str(solution.status), str(solution.status) == "Solved")


def _highs(case: Case, limit: float, solver: str) -> dict[str, Any]:
    import highspy

    from mechdesign.linear.highs import highs_model

    start = time.perf_counter()
    total, value, status = 0.0, math.nan, ""
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    highs.setOptionValue("solver", solver)
    highs.setOptionValue("threads", 1)
    for number, level in enumerate(_levels(case)):
        program = _program(Case(**{**case.__dict__, "level": level, "levels": 1}))
        model = highs_model(program)
        if number == 0:
            highs.passModel(model)
        else:
            basis = highs.getBasis()
            highs.passModel(model)
            highs.setBasis(basis)
        highs.setOptionValue("time_limit", max(limit - total, 1.0))
        highs.run()
        total = time.perf_counter() - start
        status = highs.modelStatusToString(highs.getModelStatus())
        value = highs.getInfo().objective_function_value * program.scale + program.shift.sum()
        if status != "Optimal":
            break
    return _plain(start, value, status, status == "Optimal")


@driver("highs-simplex")
def highs_simplex(case: Case, limit: float) -> dict[str, Any]:
    """HiGHS simplex; along a sweep it starts from the neighbour's basis."""
    return _highs(case, limit, "simplex")


@driver("highs-ipm")
def highs_ipm(case: Case, limit: float) -> dict[str, Any]:
    """HiGHS interior point with crossover."""
    _one_level(case)
    return _highs(case, limit, "ipm")


@driver("highs-pdlp")
def highs_pdlp(case: Case, limit: float) -> dict[str, Any]:
    """HiGHS first-order method at its default accuracy."""
    _one_level(case)
    return _highs(case, limit, "pdlp")


@driver("cvxpy-sparse")
def cvxpy_sparse(case: Case, limit: float) -> dict[str, Any]:  # noqa: ARG001
    """The program a careful cvxpy user writes: auxiliary columns, default solver Clarabel."""
    return _cvxpy(case, naive=False)


@driver("cvxpy-naive")
def cvxpy_naive(case: Case, limit: float) -> dict[str, Any]:  # noqa: ARG001
    """The program a hasty cvxpy user writes: all pairs."""
    return _cvxpy(case, naive=True)


def _cvxpy(case: Case, *, naive: bool) -> dict[str, Any]:
    import cvxpy as cp

    _one_level(case)
    if case.notion not in ("LDP", "PML", "LIP"):
        raise ValueError("written out in cvxpy are LDP, PML and LIP only")
    p, u = case.arrays()
    start = time.perf_counter()
    kernel = cp.Variable(u.shape, nonneg=True)
    factor = math.exp(case.level)
    rules = [cp.sum(kernel, axis=1) == 1]
    if case.notion == "LDP" and naive:
        for x in range(case.n):
            rules += [kernel[x] <= factor * kernel[z] for z in range(case.n) if z != x]
    elif case.notion == "LDP":
        low = cp.Variable((1, case.m))
        rows = np.ones((case.n, 1))
        rules += [kernel >= rows @ low, kernel <= factor * (rows @ low)]
    else:
        q = cp.reshape(p @ kernel, (1, case.m), order="C")
        if not naive:
            auxiliary = cp.Variable((1, case.m))
            rules.append(auxiliary == q)
            q = auxiliary
        rows = np.ones((case.n, 1))
        rules.append(kernel <= factor * (rows @ q))
        if case.notion == "LIP":
            rules.append(kernel >= (rows @ q) / factor)
    task = cp.Problem(cp.Maximize(cp.sum(cp.multiply(p[:, None] * u, kernel))), rules)
    task.solve(solver="CLARABEL")
    return _plain(start, float(task.value), task.status, task.status == "optimal")


@driver("qif")
def qif_peer(case: Case, limit: float) -> dict[str, Any]:  # noqa: ARG001
    """qif's optimal design under the discrete metric; says whether the kernel is private."""
    import qif

    _one_level(case)
    if case.notion in ("Line", "Grid", "Square"):
        d = case.distances()
    elif case.notion == "LDP" and case.utility == "hamming":
        d = 1.0 - np.eye(case.n)
    else:
        raise ValueError("qif is run on LDP with the 0-1 loss, and on metrics")
    p, u = case.arrays()
    start = time.perf_counter()
    kernel = np.asarray(
        qif.mechanism.d_privacy.min_loss_given_d(
            p, case.n, lambda a, b: case.level * d[a, b], lambda a, b: u.max() - u[a, b]
        )
    )
    found = _plain(start, float((p[:, None] * u * kernel).sum()), "", True)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(kernel)
        apart = np.abs(logs[:, None, :] - logs[None, :, :])
        # Outcomes that rule out both symbols tell them not apart.
        apart = np.where(np.isnan(apart), 0.0, apart).max(axis=2)
        rates = np.where(d > 0, apart / d, 0.0).max()
    found["note"] = f"achieved level {float(rates):.12g}"
    return found


def _town(case: Case) -> tuple[Any, Any, float]:
    """Cells of 100 m around Stockholm, visits to them, and metres within which the level holds."""
    import mechdesign as md

    if case.notion != "TwoLevels":
        raise ValueError("this driver runs places in two levels only")
    rows = max(1, round(math.sqrt(case.n / 1.2)))
    shape = rows, max(2, case.n // rows)
    step = math.degrees(100 / 6_371_000)
    east = 18.0 + shape[1] * step / math.cos(math.radians(59.3))
    town = md.places.grid((59.3, 18.0, 59.3 + shape[0] * step, east), shape)
    masses = np.random.default_rng(case.seed).dirichlet(np.ones(len(town)))
    return town, town.carried(md.Prior.from_counts(masses, town.labels)), 1000.0


@driver("two-levels")
def two_levels(case: Case, limit: float) -> dict[str, Any]:  # noqa: ARG001
    """``md.places.two_levels``, its level measured exactly over all pairs."""
    import mechdesign as md

    town, prior, within = _town(case)
    start = time.perf_counter()
    blocks = 6 if len(town) > 1000 else 3
    made = md.places.two_levels(town, prior, case.level, within, blocks=blocks)
    return _plain(start, -made.loss, f"achieved level {made.achieved:.12g}", True)


def _one_level(case: Case) -> None:
    if case.levels > 1:
        raise ValueError("this driver runs single designs only")


def _plain(start: float, value: float, note: str, finished: bool) -> dict[str, Any]:
    return {
        "seconds": time.perf_counter() - start,
        "value": float(value),
        "gap": None,
        "certified": False,
        "finished": finished,
        "note": note,
    }

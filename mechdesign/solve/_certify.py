"""``certify``: a kernel from anywhere, made exactly private, checked, and bounded."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..certificate.bounds import clamped_prices
from ..certificate.certificate import certify as certified
from ..certificate.certificate import examine, fitting_duals
from ..certificate.infeasible import check_feasible, check_possible
from ..certificate.repair import clean_kernel
from ..certificate.shape import sides_outside
from ..errors import (
    CertificateError,
    InputError,
    KernelError,
    NoMethodError,
    UtilityError,
    quote,
)
from ..exact import DENOMINATOR_BITS, Verdict, to_weights
from ..labels import Label, check_labels
from ..linear.highs import column_duals
from ..mechanism import Mechanism
from ..numeric import finite_matrix
from ..prior import Prior, as_prior
from ..program.duals import Candidate, Duals
from ..program.problem import Problem, state_problem
from ..program.program import LinearProgram
from ..utility.base import Utility
from ..utility.linear import OutputUtility, default_utility
from ._design import GIVEN_METHOD, Design, run_solver

Array = NDArray[np.float64]

#: Negative entries and errors of row sums up to this are what a solver leaves.
SOLVER_ERROR = 1e-3


def certify(
    kernel: Any,
    prior: Prior,
    utility: Utility | None,
    privacy: Any,
    duals: Any = None,
    outputs: Any = None,
    time_limit: float | None = None,
    subject_to: Any = (),
) -> Design:
    """A kernel from anywhere: made exactly private, checked exactly, and bounded.

    The kernel is rounded to integer weights, and constant columns are added until every notion
    holds, or outcomes merged where that costs less; one that is private already stays as it is. Its
    value is exact, and the bound holds for every kernel that satisfies the notions, so that the gap
    says how much a better kernel could gain. Under requirements, which constant columns may break,
    a kernel that is far from them gives way to the nearest one that satisfies everything.

    Parameters
    ----------
    kernel : (N, M) array, Mechanism, Design, data frame, or solved cvxpy expression
        Rows are the symbols of the prior. Negative entries and row sums may be off by 1e-3, as
        solvers leave them. Labels of inputs are matched with the prior. Rows of symbols of zero
        mass are kept where the notions hold with them; else each is a copy of another row.
    prior : Prior
    utility : Utility, or ``None`` for the one that ``design`` takes when none is given
    privacy : PrivacyNotion or list of them
        All of a list must hold. Levels in nats.
    duals : N numbers or Duals, optional
        What the bound is computed from, of any quality: row prices λ, by how much the optimum rises
        per unit added to the sum of a row (0 for symbols of zero mass), or what
        ``found.certificate.duals`` holds. Left out, :func:`design` is run for them. ``Duals()``
        leaves the bound that needs none. Row prices say nothing of limits on sums over outcomes
        and of requirements: their bound is that of the other notions, with the entries that must be
        zero. Leave them out there.
    outputs : M labels, optional
        Those of the kernel, or the utility's own, when left out.
    time_limit : float, optional
        Seconds for a search for the bound (sub-convex utilities), 60 when left out.
    subject_to : requirement or list of them, optional
        What else must hold, from ``md.require``, as in :func:`design`; checked exactly too.

    Returns
    -------
    Design
        Its method is ``"given"``; ``certificate.repair`` and ``certificate.repair_loss`` say what
        was changed and what it cost.

    Raises
    ------
    InputError
        For a kernel of another shape, entries that are not finite or negative, rows that do not
        sum to one, and dual variables that are no finite numbers or of other shapes.
    InfeasibleError
        When no kernel satisfies everything that is asked, with the proof.
    CertificateError
        When a notion or requirement fails its exact check on the repaired kernel.
    SolverError
        When the bound was left to :func:`design` and every method failed.

    Examples
    --------
    >>> import mechdesign as md
    >>> prior = md.Prior([.5, .3, .2])
    >>> told = md.certify([[.58, .21, .21], [.21, .58, .21], [.21, .21, .58]], prior,
    ...     md.utility.Hamming(), md.LDP(1))
    >>> told.method, str(told.certificate.repair), round(told.value, 6), round(told.bound, 6)
    ('given', '0.016 of constant mass mixed in', 0.576117, 0.584847)
    """
    as_prior(prior)
    utility = default_utility(prior) if utility is None else utility
    rows, labels = _read(kernel, prior)
    if outputs is not None and not isinstance(utility, OutputUtility):
        labels = check_labels(outputs, rows.shape[1], "outputs", UtilityError)
    problem = _problem(rows, labels, prior, utility, privacy, outputs, time_limit, subject_to)
    check_possible(problem)
    kept = rows[problem.kept]
    numbers, said = _duals(problem, duals, rows.shape)
    named = problem
    if not problem.outputs and labels is not None:
        named = replace(problem, outputs=labels)
    candidate = Candidate(kept, numbers, f"given, bounded {said}")
    try:
        mechanism, certificate = certified(named, candidate, given=True)
    except CertificateError:
        check_feasible(problem)
        raise
    own = _with_own_rows(named, mechanism, rows)
    if own is not None:
        c, mechanism = certificate, own
        certificate = examine(problem, own, c.duals, c.repair, c.repair_loss, c.solver)
    return Design(
        mechanism,
        prior,
        utility,
        problem.notions,
        GIVEN_METHOD,
        certificate,
        requirements=problem.requirements,
    )


# The kernel


def _read(kernel: Any, prior: Prior) -> tuple[Array, tuple[Label, ...] | None]:
    """Rows in the order of the prior, and the kernel's own output labels where it has some."""
    kernel = getattr(kernel, "mechanism", kernel)
    if type(kernel).__module__.partition(".")[0] == "cvxpy":
        kernel = kernel.value
        if kernel is None:
            raise KernelError(
                "kernel",
                expected="a cvxpy expression that has a value",
                got="one without",
                remedy="solve its problem first, and look at the status of the solution",
            )
    if not isinstance(kernel, Mechanism):
        matrix = clean_kernel(_checked_rows(kernel, len(prior)))
        if not hasattr(kernel, "columns"):
            return matrix, None
        index = getattr(kernel, "index", None)
        inputs = None if index is None else list(index)
        kernel = Mechanism(matrix, inputs, list(kernel.columns))
    _check_count(kernel.shape[0], len(prior))
    if _is_plain(kernel.inputs):
        own = None if _is_plain(kernel.outputs) else kernel.outputs
        return np.array(kernel.kernel), own
    if set(kernel.inputs) != set(prior.labels):
        kernel.check_prior(prior)
    place = {label: x for x, label in enumerate(kernel.inputs)}
    return kernel.kernel[[place[label] for label in prior.labels]], kernel.outputs


def _is_plain(labels: tuple[Label, ...]) -> bool:
    """Whether labels are those that nobody gave."""
    return labels == tuple(range(len(labels)))


def _check_count(rows: int, symbols: int) -> None:
    if rows != symbols:
        raise KernelError(
            "kernel",
            expected=f"{symbols} rows, one per symbol of the prior",
            got=str(rows),
            remedy="give one row per symbol",
        )


def _checked_rows(kernel: Any, symbols: int) -> Array:
    """The numbers of a kernel, or a :class:`KernelError` that says what is wrong with them."""
    asked = f"an array of numbers of shape ({symbols}, M), a row for each symbol, or a Mechanism"
    matrix = finite_matrix(
        kernel, "kernel", error=KernelError, expected=asked, remedy="correct the entry"
    )
    _check_count(len(matrix), symbols)
    if (matrix < -SOLVER_ERROR).any():
        x, y = np.argwhere(matrix < -SOLVER_ERROR)[0].tolist()
        raise KernelError(
            "kernel",
            expected=f"probabilities, negative by {SOLVER_ERROR:g} at most",
            got=f"{matrix[x, y]:.6g} in row {x}, column {y}",
            remedy="correct the entry, or solve with more accuracy",
        )
    with np.errstate(over="ignore"):
        sums = matrix.sum(axis=1)
    worst = int(np.argmax(np.abs(sums - 1)))
    if not abs(sums[worst] - 1) <= SOLVER_ERROR:
        raise KernelError(
            "kernel",
            expected=f"rows with sum 1 (within {SOLVER_ERROR:g})",
            got=f"sum {sums[worst]:.9g} in row {worst}",
            remedy="correct the row, or solve with more accuracy",
        )
    return matrix


# The problem


def _problem(
    rows: Array,
    own: tuple[Label, ...] | None,
    prior: Prior,
    utility: Utility,
    privacy: Any,
    outputs: Any,
    time_limit: float | None,
    subject_to: Any,
) -> Problem:
    """The problem that the kernel is an answer to, with as many outputs."""
    has_names = isinstance(utility, OutputUtility)
    asked = (outputs if outputs is not None else own) if has_names else None
    problem = state_problem(prior, utility, privacy, asked, time_limit, subject_to)
    count = len(problem.outputs)
    if has_names and rows.shape[1] != count:
        raise KernelError(
            "kernel",
            expected=f"{count} columns, one per output {quote(list(problem.outputs))}",
            got=str(rows.shape[1]),
            remedy="give one column per output, or say what the columns are with outputs=[…]",
        )
    return problem


def _with_own_rows(problem: Problem, mechanism: Mechanism, rows: Array) -> Mechanism | None:
    """The mechanism with the rows that were given for symbols left out of the problem.

    ``None`` where there are none, or where a notion or requirement does not hold with them.
    """
    left_out = np.setdiff1d(np.arange(len(rows)), problem.kept)
    place = {label: y for y, label in enumerate(problem.outputs)}
    if not len(left_out) or not set(mechanism.outputs) <= set(place):
        return None
    own = rows[left_out][:, [place[label] for label in mechanism.outputs]]
    if not (own.sum(axis=1) >= 1 - SOLVER_ERROR).all():
        return None  # they report what nobody else does
    weights = mechanism.weights.copy()
    weights[left_out] = to_weights(clean_kernel(own))
    found = Mechanism.from_weights(weights, DENOMINATOR_BITS, mechanism.inputs, mechanism.outputs)
    found = found.with_schema(mechanism.schema)
    verdicts = [notion.check(found, problem.prior).verdict for notion in problem.notions]
    verdicts += [asked.check(found, problem.prior).verdict for asked in problem.requirements]
    return found if all(verdict is Verdict.YES for verdict in verdicts) else None


# The bound


def _duals(problem: Problem, given: Any, shape: tuple[int, int]) -> tuple[Duals, str]:
    """Dual variables that the bound is computed from, and where they are from."""
    if given is None:
        try:
            found = run_solver(problem, "auto")[0].certificate
        except NoMethodError:
            return Duals(), "without duals"
        return found.duals, f"by {found.solver}"
    if not isinstance(given, Duals):
        return _completed(problem, Duals(_row_prices(problem, given))), "by given duals"
    fitting = fitting_duals(problem.program, given, shape[1])
    if fitting is None:
        raise InputError(
            "duals",
            expected=f"arrays of the shapes of a program of {problem}",
            got=_shapes(given),
            remedy="pass found.certificate.duals of a design for the same problem, N row prices, "
            "or Duals() for a bound without any",
        )
    arrays = [fitting.prices] if fitting.prices is not None else []
    for parts in (fitting.multipliers, fitting.sums):
        arrays += [np.asarray(numbers) for part in parts or () for numbers in part]
    arrays += [fitting.limits] if fitting.limits is not None else []
    if not all(np.isfinite(numbers).all() for numbers in arrays):
        raise _not_finite("an infinite one or no number")
    if fitting.multipliers is None and fitting.sums is None and fitting.prices is not None:
        fitting = _completed(problem, fitting)
    return fitting, "by given duals"


def _shapes(duals: Duals) -> str:
    prices = "no prices" if duals.prices is None else f"prices of shape {np.shape(duals.prices)}"
    limits = "" if duals.limits is None else f", and {np.size(duals.limits)} for limits"
    parts = duals.multipliers or ()
    count = len(parts) if isinstance(parts, (tuple, list)) else quote(parts)
    return f"{prices}, and {count} parts of multipliers{limits}"


def _not_finite(got: str) -> InputError:
    return InputError(
        "duals",
        expected="finite numbers",
        got=got,
        remedy="pass the dual values of the row sums, or leave them out",
    )


def _row_prices(problem: Problem, given: Any) -> Array:
    """Prices of the rows designed for, from one number for each symbol."""
    n = len(problem.prior)
    try:
        if np.iscomplexobj(given):
            raise TypeError
        prices = np.array(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        prices = np.zeros(0)
        got = quote(given)
    else:
        got = f"an array of shape {prices.shape}"
    if prices.shape != (n,):
        raise InputError(
            "duals",
            expected=f"{n} row prices, one per symbol, or a mechdesign.solve.Duals",
            got=got,
            remedy="pass the dual values of the row sums, or leave them out",
        )
    if not np.isfinite(prices).all():
        x = int(np.flatnonzero(~np.isfinite(prices))[0])
        raise _not_finite(f"{prices[x]} for symbol {quote(problem.prior.labels[x])}")
    return prices[problem.kept]


def _completed(problem: Problem, duals: Duals) -> Duals:
    """Row prices with multipliers of the pairs, where the bound does not follow without them."""
    program = problem.program
    if not isinstance(program, LinearProgram) or not program.cone.count:
        return duals
    assert duals.prices is not None
    if sides_outside(program.cone) is not None:
        return duals
    shifted = program.shifted(duals.offset, duals.power).program
    # Beyond what a row can contribute a price says nothing, and floats lose the rest.
    residual = shifted.objective - clamped_prices(shifted, duals.prices)[:, None]
    rows = program.cone.matrix()
    found = column_duals(rows, program.prior.probabilities, residual)
    return replace(duals, multipliers=program.cone.split(found))

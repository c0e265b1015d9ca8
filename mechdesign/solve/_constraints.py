"""``constraints``: what notions ask of a kernel, for a cvxpy problem of one's own."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import InputError, KernelError, LevelError, RequirementError, quote
from ..labels import Label, check_labels
from ..prior import Prior, as_prior
from ..privacy.notion import as_notions
from ..privacy.sums import ConicRows, SumConstraint
from ..requirement.base import Limit, Requirement, as_requirements
from .linear_program import EQUATION, limit_rows
from .problem import ask, check_size, forbidden_entries
from .program import Cone


def constraints(
    kernel: Any, prior: Prior, privacy: Any, subject_to: Any = (), outputs: Any = None
) -> list[Any]:
    """What makes a cvxpy expression a kernel that satisfies privacy notions, as a convex set.

    For an objective of one's own, K being an ``(N, M)`` variable, the constraints ask::

        Σ_y K_xy = 1,   K ≥ 0                        a kernel
        (μᵀK)_y ≤ e^ε (νᵀK)_y                        pairs of hypotheses, at every outcome y
        Σ_y φ(k_y) ≤ limit                           notions that limit a sum over outcomes
        K_xy = 0,   low ≤ Σ a_xy K_xy ≤ high         requirements

    with sparse rows and auxiliary variables, so that there are O(NM) non-zeros where hypotheses are
    symbols and the prior. Factors lie slightly inside e^ε. What a solver returns keeps them up to
    its accuracy only: hand it to :func:`certify`, which makes it exactly private.

    Parameters
    ----------
    kernel : cvxpy.Variable or affine cvxpy expression, (N, M)
        Row x is the distribution of the output for the x-th symbol of the prior; any M.
    prior : Prior
        Symbols of zero mass have rows too, which satisfy what the notions ask of them.
    privacy : PrivacyNotion or list of them
        All of a list must hold. Levels in nats.
    subject_to : requirement or list of them, optional
        What else must hold, from ``md.require``. Equations are asked without their tolerance.
    outputs : M labels, optional
        What requirements call the columns; the symbols of the prior, where there are as many, when
        left out.

    Returns
    -------
    list of cvxpy constraints
        The first says that rows sum to one. In a problem that maximises Σ p_x u_xy K_xy alone, its
        ``dual_value`` holds the row prices λ that :func:`certify` takes as ``duals``.

    Raises
    ------
    InputError
        Where cvxpy is not installed, for a notion that can be audited only, for what is no affine
        expression with one row per symbol, and for requirements that do not fit the labels. For
        cvxpy see [DiamondBoyd2016].

    Examples
    --------
    The kernel of most entropy among those that report the true symbol with a chance of 0.58:

    >>> import cvxpy as cp, mechdesign as md
    >>> prior = md.Prior([.5, .3, .2])
    >>> K = cp.Variable((3, 3))
    >>> told = prior.probabilities @ cp.diag(K) >= .58
    >>> problem = cp.Problem(
    ...     cp.Maximize(prior.probabilities @ cp.sum(cp.entr(K), axis=1)),
    ...     [*md.constraints(K, prior, md.LDP(1)), told],
    ... )
    >>> round(float(problem.solve(solver="CLARABEL")), 3)
    0.92
    """
    cp = _cvxpy()
    as_prior(prior)
    notions = as_notions(privacy)
    n, m = _checked_shape(cp, kernel, prior)
    requirements = as_requirements(subject_to)
    if few := next((r for r in requirements if r.most_outputs is not None), None):
        raise RequirementError(
            f"cvxpy constraints of {few}",
            expected="requirements that are linear in the kernel",
            got="a choice among outputs",
            remedy="leave it out and forbid outputs by md.require.zero(None, y), or use md.design",
        )
    labels = _labels(prior, m, outputs, requirements)
    asked = ask(notions, prior, requirements)
    if asked.unexpressed:
        raise LevelError(
            f"cvxpy constraints of {asked.unexpressed[0]}",
            expected="notions that are rows of a cone or limit sums over outcomes",
            got="one that can be audited only",
            remedy="leave it out, and check the kernel for it with md.audit",
        )
    found = [cp.sum(kernel, axis=1) == 1, kernel >= 0]
    cone = Cone(prior, tuple(rows for _, rows in asked.cone))
    if cone.count:
        found.append(_columns(cp, cone, kernel, n, m) <= 0)
    for _, constraint in asked.sums:
        found += _sum(cp, constraint, kernel, n, m)
    limits = [
        limit.without_zeros() for asker in requirements for limit in asker.limits(prior, labels)
    ]
    return found + _limits(cp, limits, cone, kernel)


def _cvxpy() -> Any:
    try:
        import cvxpy
    except ImportError:
        raise InputError(
            "cvxpy constraints",
            expected="cvxpy to be installed",
            got="no module of that name",
            remedy="install it with: pip install 'mechdesign[cvxpy]'",
        ) from None
    return cvxpy


def _checked_shape(cp: Any, kernel: Any, prior: Prior) -> tuple[int, int]:
    """Symbols and outputs; :class:`KernelError` for what is no affine expression of them."""
    n = len(prior)
    remedy = f"make a variable K = cvxpy.Variable(({n}, M)) for M outputs"
    if not isinstance(kernel, cp.Expression):
        got = quote(kernel)
    elif len(kernel.shape) != 2 or kernel.shape[0] != n or kernel.shape[1] == 0:
        got = f"one of shape {kernel.shape}"
    elif not kernel.is_real():
        got = "a complex one"
    elif not kernel.is_affine():
        got = f"one that is {kernel.curvature.lower()}"
    else:
        check_size(n, kernel.shape[1], "outputs")
        return n, kernel.shape[1]
    raise KernelError(
        "kernel of cvxpy constraints",
        expected=f"an affine cvxpy expression of shape ({n}, M), a row for each symbol",
        got=got,
        remedy=remedy,
    )


def _labels(
    prior: Prior, count: int, outputs: Any, requirements: tuple[Requirement, ...]
) -> tuple[Label, ...]:
    """What requirements call the columns; none where nothing asks for their names."""
    if outputs is not None:
        return check_labels(outputs, count, "outputs", KernelError)
    if count == len(prior):
        return prior.labels
    if far := next((r for r in requirements if not r.is_local), None):
        raise RequirementError(
            f"{far} with a kernel of {count} columns",
            expected="labels of the columns, as there are not as many as symbols",
            got="none",
            remedy="name them with outputs=[…]",
        )
    return ()


def _limits(cp: Any, limits: list[Limit], cone: Cone, kernel: Any) -> list[Any]:
    """Entries that must be zero, and limits on sums over entries."""
    n, m = kernel.shape
    point, found = cp.vec(kernel, order="F"), []
    zeros = forbidden_entries(limits, cone, m)
    if zeros is not None:
        found.append(point[np.flatnonzero(zeros.ravel(order="F"))] == 0)
    rows, low, high, _ = limit_rows([limit for limit in limits if not limit.forbids], n, n * m)
    same = high - low <= EQUATION
    for chosen, sign, ends in (
        (np.isfinite(high) & ~same, 1, high),
        (np.isfinite(low) & ~same, -1, -low),
    ):
        if chosen.any():
            found.append(sign * rows[chosen] @ point <= ends[chosen])
    if same.any():
        found.append(rows[same] @ point == (low + high)[same] / 2)
    return found


def _columns(cp: Any, cone: Cone, kernel: Any, n: int, m: int) -> Any:
    """Rows of the cone at every column, ``(rows, M)``."""
    rows = cone.matrix().tocsc()
    total = rows[:, :n] @ kernel
    if cone.auxiliaries:
        total += rows[:, n:] @ cp.Variable((cone.auxiliaries, m), nonneg=True)
    return total


def _sum(cp: Any, constraint: SumConstraint, kernel: Any, n: int, m: int) -> list[Any]:
    """The epigraph of a sum over outcomes: linear rows first, then cones."""
    epigraph = constraint.epigraph(n, m)
    point = cp.vec(kernel, order="F")
    if epigraph.size:
        own = cp.Variable(epigraph.size, nonneg=epigraph.is_signed)
        point = cp.hstack([point, own])
    found = [epigraph.rows.tocsr() @ point <= np.asarray(epigraph.right)]
    return found + [_cone(cp, rows, rows.matrix.tocsr() @ point) for rows in epigraph.cones]


def _cone(cp: Any, rows: ConicRows, values: Any) -> Any:
    count = rows.matrix.shape[0] // rows.dimension
    parts = cp.reshape(values, (count, rows.dimension), order="C")
    if rows.kind == "exponential":
        return cp.ExpCone(parts[:, 0], parts[:, 1], parts[:, 2])
    if rows.kind == "power":
        return cp.PowCone3D(parts[:, 0], parts[:, 1], parts[:, 2], rows.alpha)
    return cp.SOC(parts[:, 0], parts[:, 1:], axis=1)

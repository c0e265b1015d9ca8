"""``constraints``: what notions ask of a kernel, for a cvxpy problem of one's own."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import InputError, KernelError, LevelError, quote
from ..prior import Prior, as_prior
from ..privacy.notion import as_notions
from ..privacy.sums import ConicRows, SumConstraint
from .problem import ask, check_size
from .program import Cone


def constraints(kernel: Any, prior: Prior, privacy: Any) -> list[Any]:
    """What makes a cvxpy expression a kernel that satisfies privacy notions, as a convex set.

    For an objective of one's own, K being an ``(N, M)`` variable, the constraints ask::

        Σ_y K_xy = 1,   K ≥ 0                        a kernel
        (μᵀK)_y ≤ e^ε (νᵀK)_y                        pairs of hypotheses, at every outcome y
        Σ_y φ(k_y) ≤ limit                           notions that limit a sum over outcomes

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

    Returns
    -------
    list of cvxpy constraints
        The first says that rows sum to one. In a problem that maximises Σ p_x u_xy K_xy alone, its
        ``dual_value`` holds the row prices λ that :func:`certify` takes as ``duals``.

    Raises
    ------
    InputError
        Where cvxpy is not installed, for a notion that can be audited only, and for what is no
        affine expression with one row per symbol. For cvxpy see [DiamondBoyd2016].

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
    asked = ask(notions, prior)
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
    return found


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

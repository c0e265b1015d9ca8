"""``constraints``: what notions ask of a kernel, for a cvxpy problem of one's own."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import KernelError, LevelError, RequirementError, quote
from ..labels import Label, check_labels
from ..linear.cvxpy_form import kernel_constraints
from ..prior import Prior, as_prior
from ..privacy.notion import as_notions
from ..program.problem import DEFAULT_LIMIT, ask, check_size, forbidden_entries
from ..program.program import Cone, LinearProgram
from ..requirement.base import Requirement, as_requirements
from ..requirement.convex import Convex, OwnConstraints


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
        For a notion that can be audited only, for what is no affine
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
    import cvxpy as cp

    as_prior(prior)
    notions = as_notions(privacy)
    m = _checked_shape(cp, kernel, prior)
    requirements = as_requirements(subject_to)
    if few := next((r for r in requirements if r.most_outputs is not None or r.apart(prior)), None):
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
    stated = [part for asker in requirements for part in asker.stated(prior, labels)]
    limits = [limit.without_zeros() for part in stated for limit in part.limits(prior, labels)]
    cone = Cone(prior, tuple(rows for _, rows in asked.cone))
    zeros = forbidden_entries(limits, cone, m)
    limits = [limit for limit in limits if not limit.forbids]
    sums = tuple(constraint for _, constraint in asked.sums)
    program = LinearProgram(
        prior, cone, sums, (), (), DEFAULT_LIMIT, np.zeros(kernel.shape), zeros, tuple(limits)
    )
    found = kernel_constraints(program, kernel)
    convex = [part for part in stated if isinstance(part, Convex)]
    return [*found, *(g <= 0 for part in convex for g in part.on_kernel(kernel))]


def _checked_shape(cp: Any, kernel: Any, prior: Prior) -> int:
    """How many outputs there are; :class:`KernelError` for what is no affine expression of them."""
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
        return int(kernel.shape[1])
    raise KernelError(
        "kernel of cvxpy constraints",
        expected=f"an affine cvxpy expression of shape ({n}, M), a row for each symbol",
        got=got,
        remedy=remedy,
    )


def _labels(
    prior: Prior, count: int, outputs: Any, requirements: tuple[Requirement, ...]
) -> tuple[Label, ...]:
    """What requirements call the columns."""
    if outputs is not None:
        return check_labels(outputs, count, "outputs", KernelError)
    if count == len(prior):
        return prior.labels
    named = [r for r in requirements if not (r.is_local or isinstance(r, OwnConstraints))]
    if far := next(iter(named), None):
        raise RequirementError(
            f"{far} with a kernel of {count} columns",
            expected="labels of the columns, as there are not as many as symbols",
            got="none",
            remedy="name them with outputs=[…]",
        )
    return tuple(range(count))

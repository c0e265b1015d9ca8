"""Requirements of one's own in cvxpy: linear constraints exactly, other convex ones in floats.

A function of a cvxpy variable K says what must hold. What compares affine expressions becomes
:class:`Sums`, whose coefficients are the floats that cvxpy found, and is checked exactly. What is
left, g(K) ≤ 0 for convex g, holds within a tolerance in floats; by convexity any gradient at any
point K₀ gives a limit g(K₀) + ⟨∇g(K₀), K − K₀⟩ ≤ tolerance that every such kernel satisfies.
See [DiamondBoyd2016].
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..errors import RequirementError, is_iterable, quote
from ..labels import Label
from ..mechanism import Mechanism
from ..prior import Prior
from .base import Limit, Requirement, checked_name, finite, keep
from .own import Sums

Array = NDArray[np.float64]

#: How far g(K) may lie above zero where nothing is said.
CONVEX_TOLERANCE = 1e-9
# The least tolerance that floats can tell from their rounding.
_LEAST_TOLERANCE = 1e-12
# Random kernels at which coefficients and gradients of cvxpy are compared with its values.
_TRIALS, _AGREED = 4, 1e-9
#: Gradients and values are allowed this share of their size for rounding.
ROUNDING = 1e-12
# What stands for a violation that floats cannot say.
_UNKNOWN = Fraction(2) ** 1100
_SUBJECT = "cvxpy constraints of one's own"


@dataclass(frozen=True)
class OwnConstraints(Requirement, register=False):
    """What a function of a cvxpy variable asks, before the shape of the kernel is known."""

    function: Callable[[Any], Any]
    tolerance: float = CONVEX_TOLERANCE
    name: str = ""

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise RequirementError(
                _SUBJECT,
                expected="a function of a cvxpy variable K that gives constraints on it",
                got=quote(self.function),
                remedy="write md.require.cvxpy(lambda K: [cvxpy.norm(K) <= 2])",
            )
        tolerance = finite(self.tolerance, "tolerance of cvxpy constraints", _LEAST_TOLERANCE)
        keep(self, tolerance=tolerance, name=checked_name(self.name, "cvxpy constraints"))

    def on(self, kernel: Any) -> list[Any]:
        """The constraints on a cvxpy expression of the shape of a kernel, as they are given."""
        import cvxpy as cp

        given = self.function(kernel)
        found = list(given) if is_iterable(given) else [given]
        for part in found:
            if not isinstance(part, cp.constraints.constraint.Constraint):
                raise RequirementError(
                    _SUBJECT,
                    expected="cvxpy constraints, such as cvxpy.norm(K) <= 2",
                    got=quote(part),
                    remedy="compare expressions of K with <=, >= or ==, and return a list",
                )
        return found

    def stated(self, prior: Prior, outputs: Sequence[Label]) -> tuple[Requirement, ...]:
        """What it asks of kernels of one shape: sums over entries, and convex constraints.

        Raises :class:`RequirementError` for constraints that are not convex in cvxpy's rules, or
        not on the variable that was given.
        """
        import cvxpy as cp

        kernel = cp.Variable((len(prior), len(outputs)), name="K")
        constraints = self.on(kernel)
        for constraint in constraints:
            _check_constraint(constraint, kernel)
        lower, same = _normalised(cp, constraints)
        above = [expression for expression in lower if expression.is_affine()]
        convex = [expression for expression in lower if not expression.is_affine()]
        found: list[Requirement] = []
        for expressions, sense in ((above, "<="), (same, "==")):
            if expressions:
                found.append(_sums(kernel, expressions, sense, self.name))
        if convex:
            own = Convex(kernel.shape, tuple(map(str, convex)), self.tolerance, self.name)
            keep(own, asked=self, variable=kernel, expressions=tuple(convex))
            own.check_gradients()
            found.append(own)
        return tuple(found)

    def limits(self, prior: Prior, outputs: Sequence[Label]) -> Iterator[Limit]:
        """Those of its linear part."""
        for requirement in self.stated(prior, outputs):
            yield from requirement.limits(prior, outputs)

    def excess(self, mechanism: Mechanism, prior: Prior) -> tuple[Fraction, str]:
        """The largest of what it asks."""
        asked = self.stated(prior, mechanism.outputs)
        return max((r.excess(mechanism, prior) for r in asked), key=lambda pair: pair[0])

    @property
    def description(self) -> str:
        """The name."""
        return self.name or "cvxpy constraints"


@dataclass(frozen=True, eq=False)
class Convex(Requirement, register=False):
    """g(K) ≤ tolerance for convex functions g of a kernel of one shape, checked in floats.

    Attributes
    ----------
    shape : of the kernel
    texts : the functions, as cvxpy writes them
    tolerance : how far a function may lie above zero
    name : what they stand for
    asked, variable, expressions : the requirement that they are from, and what cvxpy evaluates
    """

    shape: tuple[int, int]
    texts: tuple[str, ...]
    tolerance: float
    name: str = ""
    asked: Any = field(default=None, init=False, repr=False)
    variable: Any = field(default=None, init=False, repr=False)
    expressions: tuple[Any, ...] = field(default=(), init=False, repr=False)
    is_exact: ClassVar[bool] = False

    @property
    def count(self) -> int:
        """How many functions there are, entries of matrices counted."""
        return sum(expression.size for expression in self.expressions)

    def on_kernel(self, kernel: Any) -> list[Any]:
        """The functions g of a cvxpy expression of the shape of a kernel."""
        import cvxpy as cp

        mine = _normalised(cp, self.asked.on(self.variable))[0]
        others = _normalised(cp, self.asked.on(kernel))[0]
        return [other for own, other in zip(mine, others, strict=True) if not own.is_affine()]

    def values(self, kernel: Array) -> Array:
        """The functions g at a kernel, ``(count,)``; NaN where cvxpy has no value."""
        with _at(self.variable, kernel):
            return np.concatenate([_value(expression) for expression in self.expressions])

    def gradients(self, kernel: Array) -> Any:
        """A subgradient of each g at a kernel, ``(count, N M)``, sparse, with entries row by row.

        NaN where cvxpy has none, as at the end of the domain of a logarithm.

        Raises :class:`RequirementError` where cvxpy has no gradient of a function.
        """
        with _at(self.variable, kernel):
            return _gradients(self.variable, self.expressions)

    def check_gradients(self) -> None:
        """Raise :class:`RequirementError` where gradients are not below the functions at random
        kernels, so that the functions are not what cvxpy takes them for.
        """
        rng = np.random.default_rng(0)
        kernels = rng.dirichlet(np.ones(self.shape[1]), (_TRIALS, self.shape[0]))
        for first in kernels:
            values, slopes = self.values(first), self.gradients(first)
            for second in kernels:
                below = values + slopes @ (second - first).ravel()
                size = 1 + abs(values) + abs(slopes).sum(axis=1)
                wrong = below > self.values(second) + _AGREED * size
                if wrong.any():
                    raise RequirementError(
                        str(self),
                        expected="gradients of cvxpy that lie below the functions",
                        got="one that lies above at a random kernel",
                        remedy="write the constraint with other atoms of cvxpy",
                    )

    def is_kept(self, kernel: Array) -> bool:
        """Whether every g is at most the tolerance, in floats."""
        return bool((self.values(kernel) <= self.tolerance).all())

    def stated(self, prior: Prior, outputs: Sequence[Label]) -> tuple[Requirement, ...]:
        """Itself, for kernels of its shape."""
        if (len(prior), len(outputs)) != self.shape:
            raise RequirementError(
                str(self),
                expected=f"a kernel of shape {self.shape}",
                got=f"shape {(len(prior), len(outputs))}",
                remedy="ask for it again, with md.require.cvxpy",
            )
        return (self,)

    def limits(self, prior: Prior, outputs: Sequence[Label]) -> Iterator[Limit]:
        """None: programs hold it as it is, and linearise it where they must."""
        return iter(())

    def excess(self, mechanism: Mechanism, prior: Prior) -> tuple[Fraction, str]:
        """Of the function that is largest, in floats."""
        values = self.values(mechanism.kernel)
        worst = int(np.argmax(np.where(np.isnan(values), math.inf, values)))
        value = float(values[worst])
        ends = np.cumsum([expression.size for expression in self.expressions])
        where = self.texts[int(np.searchsorted(ends, worst, side="right"))]
        evidence = f"{where[:80]}, in floats"
        if not math.isfinite(value):
            return (-_UNKNOWN if value == -math.inf else _UNKNOWN), evidence
        return Fraction(value) - Fraction(self.tolerance), evidence

    @property
    def description(self) -> str:
        """The name, or the functions, and that they are checked in floats."""
        count = self.count
        what = self.name or (f"{count} convex constraints" if count > 1 else "a convex constraint")
        return f"{what} (checked in floats, within {self.tolerance:g})"


# What cvxpy says of an expression.


@contextmanager
def _at(variable: Any, kernel: Array) -> Iterator[None]:
    """The variable has the value of a kernel; what its logarithms warn of is no news."""
    before = variable.value
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        variable.save_value(np.asarray(kernel, dtype=float))
        try:
            yield
        finally:
            variable.save_value(before)


def _value(expression: Any) -> Array:
    value = expression.value
    if value is None:
        return np.full(expression.size, math.nan)
    dense = value.toarray() if hasattr(value, "toarray") else value
    return np.asarray(dense, dtype=float).ravel(order="F")


def _gradients(variable: Any, expressions: Sequence[Any]) -> Any:
    from scipy import sparse

    rows = [_gradient(variable, expression) for expression in expressions]
    return sparse.vstack(rows).tocsr()


def _gradient(variable: Any, expression: Any) -> Any:
    from scipy import sparse

    n, m = variable.shape
    try:
        found = expression.grad.get(variable)
    except NotImplementedError:
        raise RequirementError(
            _SUBJECT,
            expected="functions whose gradients cvxpy has, as the bound rests on them",
            got=quote(str(expression)),
            remedy="write it with other atoms, such as cvxpy.max(cvxpy.abs(K)) for a norm_inf",
        ) from None
    if found is None:
        column = np.full((expression.size, 1), math.nan)
        return sparse.csr_array(np.hstack([column, np.zeros((expression.size, n * m - 1))]))
    if not sparse.issparse(found):
        found = sparse.csc_array(np.asarray(found, dtype=float).reshape(n * m, expression.size))
    entries = found.tocoo()
    place, row = entries.coords if hasattr(entries, "coords") else (entries.row, entries.col)
    # Entries of cvxpy stand column by column.
    y, x = np.divmod(place, n)
    return sparse.csr_array((entries.data, (row, x * m + y)), shape=(expression.size, n * m))


def _check_constraint(constraint: Any, kernel: Any) -> None:
    """Raise :class:`RequirementError` for what is not convex, or not on the kernel alone."""
    others = [v for v in constraint.variables() if v is not kernel]
    if others or constraint.parameters() or not constraint.variables():
        got = f"{constraint} without it"
        if others:
            got = f"another variable, {others[0].name()}, in {constraint}"
        elif constraint.parameters():
            got = f"a parameter, {constraint.parameters()[0].name()}, in {constraint}"
        raise RequirementError(
            _SUBJECT,
            expected="constraints on the variable that the function is called with, alone",
            got=quote(got),
            remedy="use the argument of the function, and numbers for everything else",
        )
    if any(argument.is_complex() for argument in constraint.args) or not constraint.is_dcp():
        raise RequirementError(
            _SUBJECT,
            expected="convex constraints: convex ≤ concave, affine == affine (cvxpy's DCP rules)",
            got=quote(str(constraint)),
            remedy="see https://dcp.stanford.edu/rules for what cvxpy can tell to be convex",
        )


def _normalised(cp: Any, constraints: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """Expressions that are at most zero, and those that are zero."""
    found = [_sides(cp, constraint) for constraint in constraints]
    return [g for lower, _ in found for g in lower], [e for _, same in found for e in same]


def _sides(cp: Any, constraint: Any) -> tuple[list[Any], list[Any]]:
    kinds, arguments = cp.constraints, constraint.args
    if isinstance(constraint, kinds.Inequality):
        return [constraint.expr], []
    if isinstance(constraint, (kinds.Equality, kinds.Zero)):
        return [], [constraint.expr]
    if isinstance(constraint, kinds.NonNeg):
        return [-arguments[0]], []
    if isinstance(constraint, kinds.NonPos):
        return [arguments[0]], []
    if isinstance(constraint, kinds.PSD):
        return [cp.lambda_max(-(arguments[0] + arguments[0].T) / 2)], []
    if isinstance(constraint, kinds.SOC):
        top, rows = arguments
        axis = constraint.axis if len(rows.shape) > 1 else None
        return [cp.norm(rows, 2, axis=axis) - (top if axis is not None else cp.sum(top))], []
    if isinstance(constraint, kinds.ExpCone):
        x, y, z = arguments
        return [x + cp.rel_entr(y, z), -y, -z], []
    raise RequirementError(
        _SUBJECT,
        expected="inequalities, equations, second-order, semidefinite or exponential cones",
        got=quote(type(constraint).__name__),
        remedy="write the constraint with atoms of cvxpy, such as geo_mean for power cones",
    )


def _sums(kernel: Any, expressions: list[Any], sense: str, name: str) -> Sums:
    """Affine expressions that are at most zero, or zero, by the coefficients that cvxpy has."""
    n, m = kernel.shape
    rng = np.random.default_rng(0)
    with _at(kernel, np.zeros((n, m))):
        constants = np.concatenate([_value(expression) for expression in expressions])
        slopes = _gradients(kernel, expressions)
    size = abs(slopes).sum(axis=1) + abs(constants)
    for _ in range(_TRIALS):
        point = rng.uniform(-1, 1, (n, m))
        with _at(kernel, point):
            values = np.concatenate([_value(expression) for expression in expressions])
        if not (abs(slopes @ point.ravel() + constants - values) <= _AGREED * (1 + size)).all():
            raise RequirementError(
                _SUBJECT,
                expected="affine expressions with finite coefficients",
                got=quote(str(expressions[0])),
                remedy="write it with other atoms of cvxpy, or with md.require.rows",
            )
    slopes.eliminate_zeros()
    ends = slopes.indptr[1:-1]
    return Sums(
        (n, m),
        tuple(tuple(row.tolist()) for row in np.split(slopes.indices, ends)),
        tuple(tuple(row.tolist()) for row in np.split(slopes.data, ends)),
        sense,
        tuple((0.0 - constants).tolist()),
        None,
        name,
    )

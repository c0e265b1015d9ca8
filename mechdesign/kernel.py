"""What made reports, as far as estimates, plans and regressions ask.

Whatever draws reports, a matrix, a subset selection, a column of a plan or the public form of one,
is a :class:`MatrixKernel` to them: chances of reports given each secret, weights of reports whose
mean is an answer without bias, and moments of these weights given each secret, which are the noise
it adds. Of a matrix K they are its entries, a with K a = V, and K a^k. Independent reports of
columns have products of chances, weights and moments, so that those of all columns together need
not be made (:class:`mechdesign.inference.many.Columns`); shares of the symbols of a large subset
selection have closed forms of their own.

Reports show q = pᵀK only, so that two distributions of the secret that differ by a direction d with
dᵀK = 0 look the same for ever. A weighted sum Σ v_x p_x is told when v is orthogonal to every such
direction, which is when v = K a for some weights a. A question is a matrix ``V`` of shape
``(N, F)``: answer f is Σ_x V[x, f] p_x.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, reduce
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .labels import Label
from .mechanism import ImplicitKernel, mechanism_of
from .published import kernel_fingerprint
from .schema import Schema
from .utility.questions import Question

Vector = NDArray[np.float64]

# A combination of symbols that moves the reports by less than this needs more than 1e16 of them.
_TOLERANCE = 1e-8
# Coefficients of a dependence below this are rounding; so are components of a question along one
# below this share of what its coefficients lie between.
_NOTHING = 1e-6
# Entries of the largest matrix that is made of a kernel without one.
_MOST_ENTRIES = 1 << 23
# The least mass of a symbol in a reference, times the number of symbols, and relative singular
# values that count.
_LEAST, _RANK = 1e-6, 1e-10


@dataclass(frozen=True)
class MatrixKernel:
    """A kernel with a matrix, of one secret or of several together.

    Attributes
    ----------
    inputs : the symbols
    matrix : ``(N, M)`` chances of reports given each of them
    schema : names of the columns that inputs are made of, where known
    fingerprint : that of a kernel that was designed, by which what it tells is kept; else unique
    """

    inputs: tuple[Label, ...] = field(compare=False)
    matrix: Vector = field(compare=False)
    schema: Schema | None = field(default=None, compare=False)
    fingerprint: Any = field(default_factory=object)

    @classmethod
    def of(cls, designed: Any) -> MatrixKernel:
        """That of a design, a mechanism or a subset selection, or of what stands in its place.

        Raises :class:`KernelError` for selections of so many symbols that no matrix is made.
        """
        found = getattr(designed, "mechanism", designed)
        if isinstance(found, MatrixKernel):
            return found
        if isinstance(found, ImplicitKernel) and is_small(found):
            return _with_matrix(_Implicit(found.fingerprint, found))
        found = mechanism_of(found)
        return cls(found.inputs, found.kernel, found.schema, kernel_fingerprint(found))

    @classmethod
    def product(cls, kernels: Sequence[MatrixKernel], names: Sequence[str]) -> MatrixKernel:
        """Independent reports of several columns as one, of tuples of symbols."""
        bins = tuple(None if k.schema is None else k.schema.bins[0] for k in kernels)
        inputs = tuple(product(*(kernel.inputs for kernel in kernels)))
        return cls(
            inputs, outer(*(kernel.matrix for kernel in kernels)), Schema(tuple(names), bins)
        )

    def likelihood(self, reports: NDArray[np.int64]) -> Vector:
        """``(R, N)`` chances of reports given each secret."""
        return np.asarray(self.matrix.T[reports])

    def scores(self, question: Question, reference: Vector) -> Vector:
        """``(M, F)`` weights of reports, see :func:`least_variance`."""
        return least_variance(self.matrix, question, reference)

    def moments(self, scores: Vector) -> Vector:
        """``(5, N, F)`` raw moments of weights of reports given each secret."""
        return np.stack([self.matrix @ scores**k for k in range(5)])

    @property
    def rank(self) -> int:
        """Number of independent combinations of frequencies that reports tell."""
        return len(_decomposed(self)[0])

    @property
    def weakest(self) -> float:
        """The smallest singular value that counts, of 1."""
        return float(_decomposed(self)[0][-1])

    def untold(self, question: Question) -> list[Label]:
        """Answers that reports do not tell, however many there are."""
        # Answers differ by their origin, which is always told, from those that are decided on.
        v = question.centred
        shown = np.abs(_decomposed(self)[1].T @ v).max(axis=0, initial=0)
        hidden = shown > _NOTHING * np.ptp(v, axis=0)
        return [label for label, is_so in zip(question.labels, hidden, strict=True) if is_so]

    @cached_property
    def blocks(self) -> list[tuple[Label, ...]]:
        """The finest groups of symbols that no dependence between rows of the kernel crosses."""
        # Dependences are a space that splits by groups exactly where its projector has blocks.
        linked = np.abs(_decomposed(self)[1] @ _decomposed(self)[1].T) > _NOTHING
        groups, unseen = [], np.ones(len(linked), dtype=bool)
        while unseen.any():
            group = np.arange(len(linked)) == int(unseen.argmax())
            while (grown := group | linked[group].any(axis=0)).sum() > group.sum():
                group = grown
            groups.append(tuple(self.inputs[i] for i in np.flatnonzero(group)))
            unseen &= ~group
        return groups


@dataclass(frozen=True)
class _Implicit:
    """A kernel without a matrix, which is kept by its fingerprint."""

    fingerprint: str
    kernel: ImplicitKernel = field(compare=False)


@lru_cache(maxsize=4)
def _with_matrix(found: _Implicit) -> MatrixKernel:
    chances = found.kernel.likelihood(np.arange(found.kernel.shape[1])).T
    return MatrixKernel(tuple(found.kernel.inputs), chances, None, found.fingerprint)


@lru_cache(maxsize=8)
def _decomposed(kernel: MatrixKernel) -> tuple[Vector, Vector]:
    """Singular values of D_p^½ K D_q^-½ for the uniform p, of 0 to 1, that count, and the
    directions ``(N, D)`` of the prior which no report shows.
    """
    n, used = len(kernel.matrix), kernel.matrix[:, kernel.matrix.any(axis=0)]
    rows = np.sqrt(1 / n) * used / np.sqrt(used.mean(axis=0))
    # With more symbols than reports, the directions that no report shows are wanted too.
    left, values, _ = np.linalg.svd(rows, full_matrices=n > rows.shape[1])
    rank = int((values > _TOLERANCE).sum())
    return values[:rank], left[:, rank:].copy()


def is_small(kernel: ImplicitKernel) -> bool:
    """Whether a matrix is made of a kernel without one."""
    return math.prod(kernel.shape) <= _MOST_ENTRIES


def outer(*matrices: Vector) -> Vector:
    """Entries of matrices for all combinations of their rows and columns, multiplied."""
    return np.asarray(reduce(np.kron, matrices), dtype=float)  # type: ignore[arg-type]


def least_variance(kernel: Vector, question: Question, reference: Vector) -> Vector:
    """Weights a ``(M, F)`` on reports with K a = V, of least variance at a reference distribution.

    With D = diag(Kᵀp) they are D⁻¹Kᵀ(KD⁻¹Kᵀ)⁺V, those that :class:`mechdesign.utility.Estimation`
    designs for. They are fixed before any report is seen, so that Σ_y a_y f_y is unbiased whatever
    the secret's distribution is. Symbols that the reference rules out count as next to impossible.
    """
    from scipy.linalg import lstsq

    possible = np.maximum(reference, _LEAST / len(kernel)) @ kernel
    root = np.sqrt(np.where(kernel.any(axis=0), possible, 1.0))
    how = {"cond": _RANK, "lapack_driver": "gelsy", "check_finite": False}
    centred = lstsq(kernel / root, question.centred, **how)[0] / root[:, None]
    return np.asarray(centred + question.origin)

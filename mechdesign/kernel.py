"""Kernel: what made reports, as far as estimates, plans and regressions ask.

Whatever draws reports has inputs, outputs and a fingerprint, and is asked for three things more:
chances of reports given each secret, weights of reports whose mean is an answer without bias, and
moments of these weights given each secret, which are the noise that it adds. Of a matrix K they are
its entries, a with K a = V, and K a^k. Independent reports of several columns have products of
chances, weights and moments, so that neither the kernel of all of them together nor its weights
need be made (:class:`ProductKernel`). A subset selection has all of it in closed form
(:class:`mechdesign.subsets.SubsetSelection`).

Reports show q = pᵀK only, so that two distributions of the secret that differ by a direction d with
dᵀK = 0 look the same for ever. A weighted sum Σ v_x p_x is told when v is orthogonal to every such
direction, which is when v = K a for some weights a. A question is a matrix ``V`` of shape
``(N, F)``: answer f is Σ_x V[x, f] p_x.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .labels import Label
from .mechanism import mechanism_of
from .published import kernel_fingerprint
from .schema import Schema
from .utility.questions import Question

Vector = NDArray[np.float64]

# A combination of symbols that moves the reports by less than this needs more than 1e16 of them.
_TOLERANCE = 1e-8
# Coefficients of a dependence below this are rounding; so are components of a question along one
# below this share of its largest coefficient.
_NOTHING = 1e-6
# The least mass of a symbol in a reference, times the number of symbols, and relative singular
# values that count.
_LEAST, _RANK = 1e-6, 1e-10
# Rows whose triangle has a diagonal like that are independent beyond doubt.
_SURE = 1e-6
# Decompositions that are kept by fingerprint, those of the kernels asked for last.
_KEPT = 8
_DECOMPOSED: dict[str, tuple[Vector, Vector]] = {}


@dataclass(frozen=True, eq=False)
class MatrixKernel:
    """A kernel with a matrix, of one secret or of several together.

    Attributes
    ----------
    inputs : the symbols
    matrix : ``(N, M)`` chances of reports given each of them
    schema : names of the columns that inputs are made of, where known
    fingerprint : that of a kernel that was designed, by which what it tells is kept
    """

    inputs: tuple[Label, ...]
    matrix: Vector
    schema: Schema | None = None
    fingerprint: str | None = None

    @classmethod
    def of(cls, designed: Any) -> MatrixKernel:
        """That of a design or mechanism, or of what stands in its place."""
        found = getattr(designed, "mechanism", designed)
        if isinstance(found, MatrixKernel):
            return found
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

    @classmethod
    def mixture(
        cls,
        inputs: tuple[Label, ...],
        matrices: Sequence[Vector],
        shares: Sequence[float],
        schema: Schema | None = None,
    ) -> MatrixKernel:
        """One report of any of several kernels, each with its chance, that says which."""
        parts = [share * matrix for matrix, share in zip(matrices, shares, strict=True)]
        return cls(inputs, np.hstack(parts), schema)

    @cached_property
    def _decomposed(self) -> tuple[Vector, Vector]:
        """Singular values of D_p^½ K D_q^-½ for the uniform p, of 0 to 1, that count, and the
        directions ``(N, D)`` of the prior which no report shows.
        """
        if self.fingerprint is not None and self.fingerprint in _DECOMPOSED:
            return _DECOMPOSED[self.fingerprint]
        n, kernel = len(self.matrix), self.matrix[:, self.matrix.any(axis=0)]
        rows = np.sqrt(1 / n) * kernel / np.sqrt(kernel.mean(axis=0))
        # With more symbols than reports, the directions that no report shows are wanted too.
        left, values, _ = np.linalg.svd(rows, full_matrices=n > rows.shape[1])
        rank = int((values > _TOLERANCE).sum())
        found = values[:rank], left[:, rank:].copy()
        if self.fingerprint is not None:
            while len(_DECOMPOSED) >= _KEPT:
                _DECOMPOSED.pop(next(iter(_DECOMPOSED)))
            _DECOMPOSED[self.fingerprint] = found
        return found

    @property
    def rank(self) -> int:
        """Number of independent combinations of frequencies that reports tell."""
        return len(self._decomposed[0])

    @property
    def weakest(self) -> float:
        """The smallest singular value that counts, of 1."""
        return float(self._decomposed[0][-1])

    def untold(self, question: Question) -> list[Label]:
        """Answers that reports do not tell, however many there are."""
        v = question.weights
        shown = np.abs(self._decomposed[1].T @ v).max(axis=0, initial=0)
        hidden = shown > _NOTHING * np.abs(v).max(axis=0)
        return [label for label, is_so in zip(question.labels, hidden, strict=True) if is_so]

    @cached_property
    def blocks(self) -> list[tuple[Label, ...]]:
        """The finest groups of symbols that no dependence between rows of the kernel crosses."""
        # Dependences are a space that splits by groups exactly where its projector has blocks.
        linked = np.abs(self._decomposed[1] @ self._decomposed[1].T) > _NOTHING
        groups, unseen = [], np.ones(len(linked), dtype=bool)
        while unseen.any():
            group = np.arange(len(linked)) == int(unseen.argmax())
            while (grown := group | linked[group].any(axis=0)).sum() > group.sum():
                group = grown
            groups.append(tuple(self.inputs[i] for i in np.flatnonzero(group)))
            unseen &= ~group
        return groups


def outer(*matrices: Vector) -> Vector:
    """Entries of matrices for all combinations of their rows and columns, multiplied."""
    return np.asarray(reduce(np.kron, matrices), dtype=float)  # type: ignore[arg-type]


def least_variance(kernel: Vector, question: Question, reference: Vector) -> Vector:
    """Weights a ``(M, F)`` on reports with K a = V, of least variance at a reference distribution.

    With D = diag(Kᵀp) they are D⁻¹Kᵀ(KD⁻¹Kᵀ)⁺V, those that :class:`mechdesign.utility.Estimation`
    designs for. They are fixed before any report is seen, so that Σ_y a_y f_y is unbiased whatever
    the secret's distribution is. Symbols that the reference rules out count as next to impossible.
    """
    used = np.asarray(kernel.any(axis=0), dtype=bool)
    possible = np.maximum(reference, _LEAST / len(kernel))
    root = np.sqrt(np.where(used, possible @ kernel, 1.0))
    rows = kernel / root
    triangle = np.zeros((1, 1))
    if len(rows) <= rows.shape[1]:
        basis, triangle = np.linalg.qr(rows.T)
    size = np.abs(np.diagonal(triangle))
    if size.min() > _SURE * size.max():
        from scipy.linalg import solve_triangular

        found = basis @ solve_triangular(triangle, question.weights, trans="T")
    else:
        found = np.linalg.pinv(rows, rcond=_RANK) @ question.weights
    return np.asarray(np.where(used[:, None], found / root[:, None], 0.0))

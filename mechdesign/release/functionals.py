"""What is asked about the secret: symbols, blocks of symbols, or a feature, as weights on symbols.

Every question is a matrix ``V`` of shape ``(N, F)``: answer f is Σ_x V[x, f] p_x.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, InputError, UnknownNameError
from ..labels import Label, listing
from ..mechanism import Mechanism
from ..privacy.features import distinct, values_at
from .identify import REMEDY, TOLERANCE, identifiability, refuse_untold, scaled_rows

BY = ("symbols", "blocks")
# Share of the uniform distribution in a reference, and relative singular values that count.
_SHARE, _RANK = 1e-3, 1e-10


@dataclass(frozen=True)
class Question:
    """Names of the answers, and the weights ``(N, F)`` of each symbol in each."""

    labels: tuple[Label, ...]
    weights: NDArray[np.float64]
    kind: str


def ask(
    mechanism: Mechanism,
    feature: Mapping[Any, Any] | Callable[[Any], Any] | None = None,
    by: str = "symbols",
) -> Question:
    """The question about symbols, blocks, or a feature; refused where reports cannot answer it."""
    if not isinstance(by, str) or by not in BY:
        raise UnknownNameError("what to estimate (by)", by, BY)
    if feature is not None and by != "symbols":
        raise InputError(
            "question",
            expected="either a feature or by='blocks'",
            got="both",
            remedy="leave one of them out",
        )
    if feature is not None:
        question = _feature(mechanism, feature)
        if mechanism.shape[0] > 1 and not np.ptp(question.weights, axis=0).any():
            raise DataError(
                "feature",
                expected="values that differ between inputs",
                got="one value for all of them, which no report is needed for",
                remedy="give inputs that should be told apart different values",
            )
    elif by == "blocks":
        found = identifiability(mechanism)
        refuse_untold(found)
        blocks = found.blocks
        weights = np.array([[x in block for block in blocks] for x in mechanism.inputs], float)
        names = tuple(block[0] if len(block) == 1 else block for block in blocks)
        question = Question(names, weights, "frequency")
    else:
        question = Question(mechanism.inputs, np.eye(mechanism.shape[0]), "frequency")
    _check_answerable(mechanism, question)
    return question


def _feature(mechanism: Mechanism, feature: Mapping[Any, Any] | Callable[[Any], Any]) -> Question:
    if not callable(feature) and not isinstance(feature, Mapping):
        raise InputError(
            "feature",
            expected="a function of an input, or a mapping from inputs to values",
            got=type(feature).__name__,
            remedy="pass for example {'a': 1, 'b': 0}",
        )
    values = values_at(feature, mechanism.inputs, DataError)
    numeric = [isinstance(v, (int, float)) and not isinstance(v, bool) for v in values]
    if all(numeric):
        numbers = np.array(values, dtype=float)
        if not bool(np.isfinite(numbers).all()):
            raise DataError(
                "feature",
                expected="finite numbers",
                got=str(values),
                remedy="give every input a finite value",
            )
        return Question(("mean",), numbers[:, None], "mean")
    groups = distinct(values, DataError)
    return Question(
        tuple(groups), np.array([[v == g for g in groups] for v in values], float), "frequency"
    )


def report_weights(
    mechanism: Mechanism, question: Question, reference: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Weights a ``(M, F)`` on reports with K a = V, of least variance at a reference distribution.

    With D = diag(Kᵀp) they are D⁻¹Kᵀ(KD⁻¹Kᵀ)⁺V. They are fixed before any report is seen, so that
    Σ_y a_y f_y is unbiased whatever the secret's distribution is. The reference is mixed with
    a little of the uniform distribution, so that symbols it rules out keep a finite variance.
    """
    kernel = mechanism.kernel
    used = np.asarray(kernel.any(axis=0), dtype=bool)
    mixed = (1 - _SHARE) * reference + _SHARE / len(kernel)
    root = np.sqrt(np.where(used, mixed @ kernel, 1.0))
    found = np.linalg.pinv(kernel / root, rcond=_RANK) @ question.weights
    return np.asarray(np.where(used[:, None], found / root[:, None], 0.0))


def _check_answerable(mechanism: Mechanism, question: Question) -> None:
    rows = scaled_rows(mechanism)
    left, values, _ = np.linalg.svd(rows, full_matrices=True)
    rank = int((values > TOLERANCE).sum())
    hidden = left[:, rank:]
    if hidden.shape[1] == 0:
        return
    names = [
        label
        for label, v in zip(question.labels, question.weights.T, strict=True)
        if np.abs(hidden.T @ v).max() > 1e-6 * max(np.abs(v).max(), 1)
    ]
    if names:
        refuse_untold(identifiability(mechanism))
        raise DataError(
            "mechanism",
            expected=f"one whose reports tell {listing(names)}",
            got=f"one where {identifiability(mechanism)}, however many reports there are",
            remedy=f"estimate by='blocks' (--by blocks) or another feature, or {REMEDY}",
        )

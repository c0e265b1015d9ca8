"""What reports can tell, however many there are, and the weights that tell it best.

The reports show q = pᵀK only, so two distributions of the secret that differ by a direction d with
dᵀK = 0 look the same for ever. A weighted sum Σ v_x p_x is identifiable when v is orthogonal to
every such direction, which is when v = Ka for some weights a on the reports. A question is a matrix
``V`` of shape ``(N, F)``: answer f is Σ_x V[x, f] p_x.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, InputError, UntoldWarning, warn
from ..labels import Label, listing
from ..mechanism import ImplicitKernel, Mechanism, mechanism_of
from ..published import kernel_fingerprint
from ..utility.estimation import Asked, Estimation
from ..utility.questions import Question, feature_question
from .codes import check_choice

#: Fewest reports that anything is estimated from.
FEWEST = 10
# A combination of symbols that moves the reports by less than this needs more than 1e16 of them.
_TOLERANCE = 1e-8
# What to do where reports do not tell symbols apart.
_REMEDY = (
    "design for estimates, md.design(…, md.utility.Estimation(), …) or 'mechdesign design … "
    "-u estimation', whose reports distinguish all symbols at every positive level"
)
# The same of a kernel that answers none of the questions which it comes with.
_AGAIN = "take the kernel that was designed for these answers"
# Coefficients of a dependence below this are rounding; so are components of a question along one
# below this share of its largest coefficient.
_NOTHING = 1e-6
# The least mass of a symbol in a reference, times the number of symbols, and relative singular
# values that count.
_LEAST, _RANK = 1e-6, 1e-10
# Rows whose triangle has a diagonal like that are independent beyond doubt.
_SURE = 1e-6


@dataclass(frozen=True)
class Identification:
    """What can be estimated from the reports of a mechanism.

    Attributes
    ----------
    symbols : the inputs
    rank : number of independent combinations of frequencies that the reports tell (N for all)
    identifiable : for each symbol, whether its own frequency is among them
    blocks : the finest groups of symbols whose totals are identifiable and that no dependence
        between rows of the kernel crosses; a group of one is an identifiable symbol
    weakest : smallest singular value that counts, of 1: the combination that is told worst needs
        about 1/weakest² times the reports that an open survey needs
    answers : of a design for questions, those of its answers that the reports tell
    unanswered : the others of its answers
    """

    symbols: tuple[Label, ...]
    rank: int
    identifiable: tuple[bool, ...]
    blocks: tuple[tuple[Label, ...], ...]
    weakest: float
    answers: tuple[Label, ...] = ()
    unanswered: tuple[Label, ...] = ()

    @property
    def is_complete(self) -> bool:
        """Whether every symbol's frequency can be estimated."""
        return all(self.identifiable)

    @property
    def tells_nothing(self) -> bool:
        """Whether reports are uninformative: alike for every distribution of the symbols."""
        return self.rank == 1 and len(self.symbols) > 1

    @property
    def is_one_block(self) -> bool:
        """Whether the share of no symbol or group can be estimated; weighted sums may be."""
        return len(self.blocks) == 1 and len(self.symbols) > 1

    @property
    def advice(self) -> str:
        """How many symbols the reports tell apart, and what to do about it, in a sentence or two.

        Empty where all of them are told apart.
        """
        if self.is_complete:
            return ""
        if self.answers:
            return (
                f"reports answer what the design asks ({listing(self.answers)}), as estimates and "
                f"plans do, and not the share of every symbol: {self}"
            )
        if self.unanswered:
            return (
                f"reports answer nothing of what the design asks ({listing(self.unanswered)}), "
                f"however many there are: {self}; {_AGAIN}"
            )
        if self.tells_nothing:
            return (
                f"reports tell none of the {len(self.symbols)} symbols apart, so nothing can be "
                f"estimated from any number of them; {_REMEDY}"
            )
        if self.is_one_block:
            return (
                f"reports tell no symbol and no group of the {len(self.symbols)} symbols from the "
                f"others, only {self.rank - 1} weighted sum{'s' * (self.rank > 2)} of their "
                f"shares; estimate such a feature, or {_REMEDY}"
            )
        return (
            f"reports tell {len(self.blocks)} groups apart, not all {len(self.symbols)} symbols: "
            f"{self}; estimate by='blocks' (--by blocks), or {_REMEDY}"
        )

    def __str__(self) -> str:
        if self.is_complete:
            return f"all {len(self.symbols)} symbols are identifiable"
        mixed = [block for block in self.blocks if len(block) > 1]
        groups = "; ".join(f"({listing(block)})" for block in mixed[:4])
        more = f" and {len(mixed) - 4} more groups" if len(mixed) > 4 else ""
        return (
            f"{sum(self.identifiable)} of {len(self.symbols)} symbols are identifiable; only the "
            f"totals of {groups}{more} are"
        )


def identifiability(mechanism: Any) -> Identification:
    """Which symbols, and which groups of symbols, can be estimated from reports.

    Decided to a tolerance: a combination that moves the reports by less than 1e-8 would take more
    than 1e16 reports to see and counts as not identifiable.

    Examples
    --------
    >>> import mechdesign as md
    >>> coarse = md.Mechanism([[.8, .2], [.2, .8], [.2, .8]], inputs=["a", "b", "c"])
    >>> md.identifiability(coarse).blocks
    (('a',), ('b', 'c'))
    """
    found = mechanism_of(mechanism)
    identified = _identification(found, _decomposed(found))
    own = designed_question(mechanism)
    if own is None:
        return identified
    hidden = hidden_answers(found, own)
    told = tuple(label for label in own.labels if label not in hidden)
    return replace(identified, answers=told, unanswered=tuple(hidden))


@dataclass(frozen=True, eq=False)
class _Decomposed:
    """Singular values of D_p^½ K D_q^-½ for the uniform p, which lie between 0 and 1.

    Attributes
    ----------
    values : of rows that count
    hidden : ``(N, D)`` directions of the prior which no report shows
    """

    values: NDArray[np.float64]
    hidden: NDArray[np.float64]

    @property
    def rank(self) -> int:
        return len(self.values)


_DECOMPOSED: dict[str, _Decomposed] = {}
# Decompositions that are kept, those of the kernels asked for last.
_KEPT = 8


def _decomposed(mechanism: Mechanism) -> _Decomposed:
    """One decomposition of each kernel, kept by its fingerprint."""
    name = kernel_fingerprint(mechanism)
    if name not in _DECOMPOSED:
        n = mechanism.shape[0]
        kernel = mechanism.kernel[:, mechanism.kernel.any(axis=0)]
        rows = np.sqrt(1 / n) * kernel / np.sqrt(kernel.mean(axis=0))
        # With more symbols than reports, the directions that no report shows are wanted too.
        left, values, _ = np.linalg.svd(rows, full_matrices=n > rows.shape[1])
        rank = int((values > _TOLERANCE).sum())
        while len(_DECOMPOSED) >= _KEPT:
            _DECOMPOSED.pop(next(iter(_DECOMPOSED)))
        _DECOMPOSED[name] = _Decomposed(values[:rank], left[:, rank:].copy())
    return _DECOMPOSED[name]


def rank_of(mechanism: Mechanism) -> int:
    """Number of independent combinations of frequencies that reports tell."""
    return _decomposed(mechanism).rank


def _identification(mechanism: Mechanism, known: _Decomposed) -> Identification:
    """What reports tell."""
    rank, values = known.rank, known.values
    groups, alone = _components(mechanism.shape[0], known.hidden)
    labels = mechanism.inputs
    return Identification(
        labels,
        rank,
        tuple(alone),
        tuple(tuple(labels[i] for i in group) for group in groups),
        float(values[rank - 1]),
    )


def warn_of_untold(mechanism: Any) -> None:
    """Warn, before anything is spent, of a mechanism whose reports are uninformative."""
    if isinstance(mechanism, ImplicitKernel):
        return  # it is made to tell every symbol from the others
    found = identifiability(mechanism)
    if found.tells_nothing:
        warn(found.advice, UntoldWarning)


def _refuse_untold(found: Identification, designed: Any) -> None:
    """Raise :class:`DataError` where no share can be estimated: that of all is always one."""
    if found.is_one_block:
        raise DataError(
            "mechanism",
            expected="one whose reports tell symbols or groups of symbols apart",
            got=f"one whose reports tell none of the {len(found.symbols)} symbols apart"
            + ("" if found.tells_nothing else f", only {found.rank - 1} weighted sums of shares"),
            remedy=_remedy(designed),
        )


def _components(n: int, hidden: NDArray[np.float64]) -> tuple[list[list[int]], list[bool]]:
    """Groups of rows that no linear dependence crosses, and which rows no dependence touches."""
    if not hidden.shape[1]:
        return [[i] for i in range(n)], [True] * n
    # Dependences are a space that splits by groups exactly where its projector has blocks.
    linked = np.abs(hidden @ hidden.T) > _NOTHING
    groups: list[list[int]] = []
    unseen = np.ones(n, dtype=bool)
    while unseen.any():
        group = np.arange(n) == int(unseen.argmax())
        while (grown := group | linked[group].any(axis=0)).sum() > group.sum():
            group = grown
        groups.append(np.flatnonzero(group).tolist())
        unseen &= ~group
    sizes = {i: len(group) for group in groups for i in group}
    return groups, [sizes[i] == 1 for i in range(n)]


# Questions


@dataclass(frozen=True)
class AskedKernel:
    """A kernel in the place of a design, with what its reports are to answer, all of it, if that is
    known.
    """

    mechanism: Mechanism
    question: Question | None


def designed_question(designed: Any) -> Question | None:
    """What a design for questions asks, or its public form; ``None`` for other kernels."""
    found = getattr(designed, "question", None)
    return found if isinstance(found, Question) else None


def question_of_rounds(designs: Sequence[Any], kernels: Sequence[Mechanism]) -> Question | None:
    """What the last of some designs that is one for questions asks, so far as each kernel tells it;
    all of it where they tell none of it.
    """
    asked = [own for own in map(designed_question, designs) if own is not None]
    return (told_by(asked[-1], kernels) or asked[-1]) if asked else None


def ask_as_designed(
    designed: Any, feature: Asked = None, by: str = "symbols", *, hidden: bool = False
) -> Question:
    """The question of :func:`ask`; by default what a design for questions asks, so far as its
    reports tell it.
    """
    check_choice("what to estimate (by)", by, ("symbols", "blocks"))
    own = designed_question(designed)
    if feature is not None or by != "symbols" or own is None:
        return ask(designed, feature, by, hidden=hidden)
    found = mechanism_of(designed)
    told = told_by(own, [found])
    is_short = told is None or (isinstance(designed, AskedKernel) and told.labels != own.labels)
    if is_short and not hidden:
        raise DataError(
            "mechanism",
            expected=f"one whose reports tell {listing(hidden_answers(found, own))}",
            got=f"one where {identifiability(found)}, however many reports there are",
            remedy=f"estimate by='blocks' (--by blocks) or a feature, or {_AGAIN}",
        )
    return told or own


def told_by(asked: Question, kernels: Sequence[Mechanism]) -> Question | None:
    """The answers that the reports of every kernel tell; ``None`` where they tell none of them."""
    hidden = {label for kernel in kernels for label in hidden_answers(kernel, asked)}
    told = [label not in hidden for label in asked.labels]
    if not any(told):
        return None
    labels = tuple(label for label in asked.labels if label not in hidden)
    # Sums do not depend on where numbers lie: a question has its answer to the last bit.
    return Question(labels, np.ascontiguousarray(asked.weights[:, told]))


def _remedy(designed: Any) -> str:
    """What to do where reports do not tell what is asked."""
    own = designed_question(designed)
    if own is None:
        return _REMEDY
    told = told_by(own, [mechanism_of(designed)])
    if told is None:
        return _AGAIN
    return (
        f"estimate what the design asks ({listing(told.labels)}), as where no feature and no "
        "blocks are named, or ask for this in a design of its own"
    )


def ask(
    designed: Any,
    feature: Asked = None,
    by: str = "symbols",
    *,
    hidden: bool = False,
    remedy: str | None = None,
) -> Question:
    """The question about symbols, blocks, or a feature, of a kernel or a design.

    Refused where reports cannot answer it, unless answers may be ``hidden``; ``remedy`` is what to
    do then.
    """
    check_choice("what to estimate (by)", by, ("symbols", "blocks"))
    mechanism = mechanism_of(designed)
    if feature is not None and by != "symbols":
        raise InputError(
            "question",
            expected="either a feature or by='blocks'",
            got="both",
            remedy="leave one of them out",
        )
    known = _decomposed(mechanism)
    if feature is not None:
        question = _featured(feature, mechanism)
        if mechanism.shape[0] > 1 and not np.ptp(question.weights, axis=0).any():
            raise DataError(
                "feature",
                expected="values that differ between inputs",
                got="one value for all of them, which no report is needed for",
                remedy="give inputs that should be told apart different values",
            )
    elif by == "blocks":
        found = _identification(mechanism, known)
        _refuse_untold(found, designed)
        blocks = found.blocks
        weights = np.array([[x in block for block in blocks] for x in mechanism.inputs], float)
        names = tuple(block[0] if len(block) == 1 else block for block in blocks)
        question = Question(names, weights)
    else:
        question = Question(mechanism.inputs, np.eye(mechanism.shape[0]))
    untold = [] if hidden else _hidden_answers(question, known.hidden)
    if untold:
        found = _identification(mechanism, known)
        if remedy is None:
            _refuse_untold(found, designed)
        raise DataError(
            "mechanism",
            expected=f"one whose reports tell {listing(untold)}",
            got=f"one where {found}, however many reports there are",
            remedy=remedy
            or f"estimate by='blocks' (--by blocks) or another feature, or {_remedy(designed)}",
        )
    return question


def _featured(feature: Any, mechanism: Mechanism) -> Question:
    """A feature, or several questions in the forms that a design for estimates takes."""
    if isinstance(feature, (list, tuple, np.ndarray)):
        return Estimation(feature).question(mechanism.inputs, mechanism.schema)
    return feature_question(feature, mechanism.inputs, mechanism.schema)


def hidden_answers(mechanism: Mechanism, question: Question) -> list[Label]:
    """Answers that reports cannot tell, however many there are."""
    return _hidden_answers(question, _decomposed(mechanism).hidden)


def _hidden_answers(question: Question, hidden: NDArray[np.float64]) -> list[Label]:
    """Answers that depend on directions ``(N, D)`` of the prior which no report shows."""
    if hidden.shape[1] == 0:
        return []
    return [
        label
        for label, v in zip(question.labels, question.weights.T, strict=True)
        if np.abs(hidden.T @ v).max() > _NOTHING * np.abs(v).max()
    ]


def report_weights(
    mechanism: Mechanism, question: Question, reference: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Weights a ``(M, F)`` on reports with K a = V, of least variance at a reference distribution.

    With D = diag(Kᵀp) they are D⁻¹Kᵀ(KD⁻¹Kᵀ)⁺V, those that :class:`mechdesign.utility.Estimation`
    designs for. They are fixed before any report is seen, so that Σ_y a_y f_y is unbiased whatever
    the secret's distribution is. Symbols that the reference rules out count as next to impossible.
    """
    return least_variance(mechanism.kernel, question, reference)


def least_variance(
    kernel: NDArray[np.float64], question: Question, reference: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The weights of :func:`report_weights`, for kernels ``(N, M)`` of several rounds side by side
    too, each multiplied by its share of the reports.
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

"""What reports can tell, however many there are, and which questions they answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..errors import DataError, InputError, UntoldWarning, warn
from ..kernel import MatrixKernel, Vector, least_variance
from ..labels import Label, listing
from ..mechanism import ImplicitKernel, Mechanism
from ..prior import Prior
from ..utility.estimation import Asked, Estimation
from ..utility.questions import Question, feature_question
from .codes import check_choice

#: Fewest reports that anything is estimated from.
FEWEST = 10
# What to do where reports do not tell symbols apart.
_REMEDY = (
    "design for estimates, md.design(…, md.utility.Estimation(), …) or 'mechdesign design … "
    "-u estimation', whose reports distinguish all symbols at every positive level"
)
# The same of a kernel that answers none of the questions which it comes with.
_AGAIN = "take the kernel that was designed for these answers"


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
    kernel, own = MatrixKernel.of(mechanism), designed_question(mechanism)
    found = _identification(kernel)
    if own is None:
        return found
    hidden = kernel.untold(own)
    told = tuple(label for label in own.labels if label not in hidden)
    return replace(found, answers=told, unanswered=tuple(hidden))


def _identification(kernel: MatrixKernel) -> Identification:
    alone = {block[0] for block in kernel.blocks if len(block) == 1}
    return Identification(
        kernel.inputs,
        kernel.rank,
        tuple(x in alone for x in kernel.inputs),
        tuple(kernel.blocks),
        kernel.weakest,
    )


def warn_of_untold(mechanism: Any) -> None:
    """Warn, before anything is spent, of a mechanism whose reports are uninformative."""
    if isinstance(mechanism, ImplicitKernel):
        return  # it is made to tell every symbol from the others
    found = identifiability(mechanism)
    if found.tells_nothing:
        warn(found.advice, UntoldWarning)


# Questions


@dataclass(frozen=True)
class AskedKernel:
    """A kernel in the place of a design, with what its reports are to answer, all of it, if that is
    known.
    """

    mechanism: Mechanism | MatrixKernel
    question: Question | None
    prior: Prior | None = None


def designed_question(designed: Any) -> Question | None:
    """What a design for questions asks, or its public form; ``None`` for other kernels."""
    found = getattr(designed, "question", None)
    return found if isinstance(found, Question) else None


def question_of_rounds(designs: Sequence[Any], kernels: Sequence[Any]) -> Question | None:
    """What the last of some designs that is one for questions asks, so far as each kernel tells it;
    all of it where they tell none of it.
    """
    asked = [own for own in map(designed_question, designs) if own is not None]
    return (told_by(asked[-1], kernels) or asked[-1]) if asked else None


def told_by(asked: Question, kernels: Sequence[Any]) -> Question | None:
    """The answers that the reports of every kernel tell; ``None`` where they tell none of them."""
    hidden = {label for kernel in kernels for label in hidden_answers(kernel, asked)}
    told = [label not in hidden for label in asked.labels]
    if not any(told):
        return None
    labels = tuple(label for label in asked.labels if label not in hidden)
    # Sums do not depend on where numbers lie: a question has its answer to the last bit.
    return Question(labels, np.ascontiguousarray(asked.weights[:, told]))


def hidden_answers(kernel: Any, question: Question) -> list[Label]:
    """Answers that reports cannot tell, however many there are."""
    return MatrixKernel.of(kernel).untold(question)


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
    told = told_by(own, [designed])
    is_short = told is None or (isinstance(designed, AskedKernel) and told.labels != own.labels)
    if is_short and not hidden:
        kernel = MatrixKernel.of(designed)
        remedy = f"estimate by='blocks' (--by blocks) or a feature, or {_AGAIN}"
        raise _untold(kernel, kernel.untold(own), remedy)
    return told or own


def ask(
    designed: Any,
    feature: Any = None,
    by: str = "symbols",
    *,
    hidden: bool = False,
    remedy: str | None = None,
) -> Question:
    """The question about symbols, blocks, or a feature, of a kernel or a design.

    Refused where reports cannot answer it, unless answers may be ``hidden``; ``remedy`` is what to
    do then.
    """
    if feature is not None and by != "symbols":
        raise InputError(
            "question",
            expected="either a feature or by='blocks'",
            got="both",
            remedy="leave one of them out",
        )
    kernel = MatrixKernel.of(designed)
    inputs = kernel.inputs
    if isinstance(feature, (list, tuple, np.ndarray)):
        question = Estimation(feature).question(inputs, kernel.schema)
    elif feature is not None:
        question = feature_question(feature, inputs, kernel.schema)
    elif by == "blocks":
        weights = np.array([[x in block for block in kernel.blocks] for x in inputs], float)
        names = tuple(block[0] if len(block) == 1 else block for block in kernel.blocks)
        question = Question(names, weights)
    else:
        question = Question(inputs, np.eye(len(inputs)))
    if feature is not None and len(inputs) > 1 and not np.ptp(question.weights, axis=0).any():
        raise DataError(
            "feature",
            expected="values that differ between inputs",
            got="one value for all of them, which no report is needed for",
            remedy="give inputs that should be told apart different values",
        )
    untold = [] if hidden else kernel.untold(question)
    is_one = _identification(kernel).is_one_block and (by == "blocks" or remedy is None)
    if untold and not is_one:
        other = "estimate by='blocks' (--by blocks) or another feature, or "
        raise _untold(kernel, untold, remedy or other + _remedy(designed))
    if is_one and (untold or by == "blocks"):
        sums = f", only {kernel.rank - 1} weighted sums of shares" if kernel.rank > 1 else ""
        raise DataError(
            "mechanism",
            expected="one whose reports tell symbols or groups of symbols apart",
            got=f"one whose reports tell none of the {len(inputs)} symbols apart{sums}",
            remedy=_remedy(designed),
        )
    return question


def _remedy(designed: Any) -> str:
    """What to do where reports do not tell what is asked."""
    own = designed_question(designed)
    if own is None:
        return _REMEDY
    told = told_by(own, [designed])
    if told is None:
        return _AGAIN
    return (
        f"estimate what the design asks ({listing(told.labels)}), as where no feature and no "
        "blocks are named, or ask for this in a design of its own"
    )


def _untold(kernel: MatrixKernel, untold: Sequence[Label], remedy: str) -> DataError:
    return DataError(
        "mechanism",
        expected=f"one whose reports tell {listing(untold)}",
        got=f"one where {_identification(kernel)}, however many reports there are",
        remedy=remedy,
    )


def report_weights(mechanism: Mechanism, question: Question, reference: Vector) -> Vector:
    """Weights on reports with K a = V, see :func:`mechdesign.kernel.least_variance`."""
    return least_variance(mechanism.kernel, question, reference)

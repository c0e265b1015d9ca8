"""``estimate_rounds``: one estimate from several surveys, each under a kernel of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, KernelError, listed
from ..kernel import MatrixKernel
from ..labels import counted
from ..mechanism import Mechanism, mechanism_of
from ..release._identifiability import AskedKernel, ask_as_designed, question_of_rounds
from ..release.codes import check_choice
from ..release.receipts import trace
from ..release.reports import Sample, sample_of
from ..theory._composition import Composition, compose
from ..utility.estimation import Asked
from .estimator import Options, answered, warn_of_errors
from .likelihood import Fitted
from .references import CONFIDENCE, prior_of, reference_of
from .results import Estimate, joined_notes

Vector = NDArray[np.float64]


@dataclass(frozen=True, repr=False)
class RoundsEstimate(Estimate):
    """An estimate from several rounds of reports.

    Attributes
    ----------
    rounds : number of reports of each round
    people : "different" or "same", as asked
    leaked : levels that hold for every person, over all of their reports
    """

    rounds: tuple[int, ...] = ()
    people: str = "different"
    leaked: Composition | None = None

    def describe(self) -> str:
        """Rounds, method, number of reports and what each person gave away, in one line."""
        each = " + ".join(map(str, self.rounds))
        return f"{counted(len(self.rounds), 'round')} ({each}); {super().describe()}; {self.leaked}"


def estimate_rounds(
    reports: Any,
    mechanisms: Any,
    column: Any = None,
    *,
    people: str = "different",
    feature: Asked = None,
    by: str = "symbols",
    confidence: float = CONFIDENCE,
    missing: str = "error",
    receipts: Any = None,
    misfit: str = "error",
    truth: Any = None,
) -> RoundsEstimate:
    """The distribution of the secret from several rounds of reports, such as a pilot and the rest.

    Rounds are added up with the weights of least variance at the truth: with
    J_i = K_i diag(1/q_i) K_iᵀ, J = Σ n_i J_i and f_i the frequencies of reports of round i,

        π̂ = J⁻¹ Σ n_i K_i diag(1/q_i) f_i,   of covariance J⁻¹ − ππᵀ/n at the truth π.

    Parameters
    ----------
    reports : list of tables, columns or mappings from output to count, one for each round
        With the same people in all rounds: one table with a column for each, or a mapping from
        pairs of outputs to counts.
    mechanisms : list of Mechanisms or Designs with the same inputs, one for each round
    column : name, or list of names, one for each round
    people : {"different", "same"}
        Whether nobody reports in more than one round, or all report in both of two, independently.
    feature, by, confidence, missing, misfit : as in :func:`estimate`; without a feature the
        questions of the last design that was made for some (``of``), else every frequency
    receipts : list of receipts, one for each round, optional
    truth : Prior, mapping from symbol to mass or count, or N numbers, optional
        Where the variance is least; that of the last design when left out.

    Raises
    ------
    InputError
        For numbers of rounds that do not match, and three rounds or more of the same people.
    DataError, KernelError
        As in :func:`estimate`, and for mechanisms with different inputs.

    Notes
    -----
    The estimate is unbiased where kernels and truth are fixed before the reports. Where the truth
    comes from a round that is added up too, a bias of the order of one over its reports stays.

    Examples
    --------
    >>> import mechdesign as md
    >>> flip = md.Mechanism([[.75, .25], [.25, .75]], ["no", "yes"], ["no", "yes"])
    >>> clear = md.Mechanism([[.9, .1], [.1, .9]], ["no", "yes"], ["no", "yes"])
    >>> found = md.estimate_rounds([{"no": 60, "yes": 40}, {"no": 660, "yes": 340}], [flip, clear])
    >>> found.rounds, round(found["no"], 4)
    ((100, 1000), 0.7)
    >>> print(found.leaked)
    2 reports of different people, for each of them: LDP(2.19722)
    """
    check_choice("people of the rounds", people, ("different", "same"))
    options, is_same = Options(confidence=confidence, misfit=misfit, by=by), people == "same"
    designs = listed(mechanisms, "rounds", "mechanisms, one for each round", InputError)
    kernels = kernels_of_rounds(designs)
    columns = one_each(column, len(kernels), "columns of rounds")
    known = one_each(receipts, len(kernels), "receipts of rounds")
    parts, groups = [reports], [list(zip(map(str, columns), kernels, strict=True))]
    if not is_same:
        parts = listed(reports, "rounds", "reports, one table for each round", InputError)
        groups = [[pair] for pair in zip(columns, kernels, strict=True)]
    elif len(kernels) != 2:
        raise InputError(
            "rounds of the same people",
            expected="two",
            got=str(len(kernels)),
            remedy="add rounds up two by two, or pass the mechanism in parallel to md.estimate",
        )
    elif column is None:
        groups = [[(str(i), kernel) for i, kernel in enumerate(kernels)]]
    if len(parts) != len(groups):
        raise _mismatch(f"{len(kernels)}, one for each mechanism", str(len(parts)))
    counts, matrices, notes = [], [], []
    for i, (part, group) in enumerate(zip(parts, groups, strict=True)):
        tally = sample_of(part, dict(group), (), missing).tally(*(k.shape[1] for _, k in group))
        counts.append(tally.ravel())
        # Reports of one person are one report of mechanisms in parallel.
        first, *others = (kernel.kernel for _, kernel in group)
        for other in others:
            first = np.einsum("na,nb->nab", first, other).reshape(len(first), -1)
        matrices.append(first)
        if not is_same:
            about = part, columns[i], kernels[i], known[i], int(tally.sum())
            notes.append(trace(*about, f"reports of round {i + 1}")[1])
    sizes, tallies = [int(each.sum()) for each in counts], np.concatenate(counts)
    shares, last = [size / sum(sizes) for size in sizes], (designs[-1], kernels[-1])
    stacked = np.hstack([share * part for share, part in zip(shares, matrices, strict=True)])
    whole = MatrixKernel(kernels[0].inputs, stacked, kernels[0].schema)
    asked = AskedKernel(whole, question_of_rounds(designs, [whole]))
    question = ask_as_designed(asked, feature, by)
    # A sum of distances of rounds has lighter tails than one of all reports together.
    fitted = Fitted.of(stacked, tallies)
    options.judge(fitted.fit)
    scores = whole.scores(question, reference_of(*last, truth))
    spread = None if is_same else _spread(matrices, fitted.likely, scores, shares, question.weights)
    made: Any
    (made,) = answered(
        whole,
        question,
        scores,
        Sample({"": np.flatnonzero(tallies)}, tallies[tallies > 0]),
        fitted,
        options,
        prior=prior_of(*last),
        spread=spread,
        kind=RoundsEstimate,
        note=joined_notes(notes),
        rounds=tuple(sizes) * (2 if is_same else 1),
        people=people,
        leaked=compose(*designs, people=people),
    ).estimates
    warn_of_errors(made)
    assert isinstance(made, RoundsEstimate)
    return made


def _spread(
    matrices: Sequence[Vector], p: Vector, scores: Vector, shares: Sequence[float], v: Vector
) -> Vector:
    """Covariance ``(F, F)`` of what people count for, less what sizes of rounds do not vary."""
    total = v.T @ (p[:, None] * v)
    ends = np.cumsum([matrix.shape[1] for matrix in matrices])[:-1]
    for matrix, share, own in zip(matrices, shares, np.split(scores, ends), strict=True):
        mean = p @ matrix @ own
        total = total - share * np.outer(mean, mean)
    return np.asarray(total)


def kernels_of_rounds(designs: Sequence[Any]) -> list[Mechanism]:
    """The kernel of each round; raises :class:`KernelError` for different inputs."""
    kernels = [mechanism_of(one) for one in designs]
    if not kernels:
        raise _mismatch("at least one mechanism", "none")
    if any(kernel.inputs != kernels[0].inputs for kernel in kernels):
        raise KernelError(
            "rounds of a survey",
            expected=f"mechanisms with the inputs {kernels[0].inputs[:6]}",
            got="others",
            remedy="give the same labels in the same order to all of them",
        )
    return kernels


def one_each(given: Any, count: int, subject: str) -> list[Any]:
    """One entry for each round; a single one, or none, is that of all of them."""
    if not isinstance(given, (list, tuple)):
        return [given] * count
    if len(given) != count:
        raise InputError(
            subject,
            expected=f"{'two' if count == 2 else count}, one for each round",
            got=str(len(given)),
            remedy="name one for each round, or leave them out",
        )
    return list(given)


def _mismatch(expected: str, got: str) -> InputError:
    return InputError(
        "rounds of a survey",
        expected=expected,
        got=got,
        remedy="pass [first reports, second reports] and [first design, second design]",
    )

"""``estimate_rounds``: one estimate from several surveys, each under a kernel of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, KernelError, listed, quote
from ..labels import Label, counted
from ..mechanism import Mechanism, mechanism_of
from ..release._identifiability import (
    AskedKernel,
    ask_as_designed,
    least_variance,
    question_of_rounds,
    rank_of,
)
from ..release.codes import check_choice
from ..release.receipts import trace
from ..release.reports import sample_of
from ..theory._composition import Composition, compose
from ..utility.estimation import Asked
from ._estimate import AskedReports, estimate, judge_fit, warn_of_errors
from .likelihood import fit_of, maximise
from .pilots import shrunk_truth
from .references import CONFIDENCE, check_confidence, prior_of, reference_of
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
    check_confidence(confidence)
    designs = listed(mechanisms, "rounds", "mechanisms, one for each round", InputError)
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
    if people == "same":
        options = {"feature": feature, "by": by, "confidence": confidence, "misfit": misfit}
        return _of_the_same(reports, designs, column, missing, truth, options)
    parts = listed(reports, "rounds", "reports, one table for each round", InputError)
    if len(parts) != len(kernels):
        raise _mismatch(f"{len(kernels)}, one for each mechanism", str(len(parts)))
    columns = _one_each(column, len(parts), "columns of rounds")
    known = _one_each(receipts, len(parts), "receipts of rounds")
    counts = [
        sample_of(part, {name: kernel}, (), missing).tally(len(kernel.outputs))
        for part, kernel, name in zip(parts, kernels, columns, strict=True)
    ]
    sizes = [int(count.sum()) for count in counts]
    notes = [
        trace(part, name, kernel, receipt, n, f"reports of round {i}")[1]
        for i, (part, name, kernel, receipt, n) in enumerate(
            zip(parts, columns, kernels, known, sizes, strict=True), 1
        )
    ]
    any_round = _pooled(kernels)
    own = question_of_rounds(designs, [any_round])
    question = ask_as_designed(AskedKernel(any_round, own), feature, by)
    reports_of_all = sum(sizes)
    shares = [n / reports_of_all for n in sizes]
    stacked = np.hstack([s * kernel.kernel for s, kernel in zip(shares, kernels, strict=True)])
    pooled = np.concatenate(counts) / reports_of_all
    likely, gap, steps = maximise(stacked, pooled[None, :])
    p = likely[0]
    # A sum of distances of rounds has lighter tails than one of all reports together.
    fit = fit_of(stacked, pooled, p, reports_of_all, float(gap[0]))
    judge_fit(fit, misfit)
    last = designs[-1]
    scores = least_variance(stacked, question, reference_of(last, kernels[-1], truth))
    asked = AskedReports(
        kernels[0],
        question,
        scores,
        prior_of(last, kernels[-1]),
        confidence=confidence,
        fit=fit,
        note=joined_notes(notes),
        kernel=stacked,
    )
    spread = _spread(kernels, p, scores, shares, question.weights)
    made = asked.of_frequencies(pooled, p, reports_of_all, float(gap[0]), steps, spread)
    rounds = [
        (kernel.kernel, count / n, n)
        for kernel, count, n in zip(kernels, counts, sizes, strict=True)
    ]
    made = replace(made, shrunk=shrunk_truth(kernels[0].inputs, p, asked.prior, rounds, asked.rank))
    warn_of_errors(made, question)
    return _of_rounds(made, tuple(sizes), people, compose(*designs, people="different"))


def _of_rounds(
    made: Estimate, rounds: tuple[int, ...], people: str, leaked: Composition
) -> RoundsEstimate:
    fields = {name: getattr(made, name) for name in Estimate.__dataclass_fields__}
    return RoundsEstimate(**fields, rounds=rounds, people=people, leaked=leaked)


def _of_the_same(
    reports: Any, designs: list[Any], column: Any, missing: str, truth: Any, options: dict[str, Any]
) -> RoundsEstimate:
    """Both reports of each person are one report of the two mechanisms in parallel."""
    if len(designs) != 2:
        raise InputError(
            "rounds of the same people",
            expected="two",
            got=str(len(designs)),
            remedy="add rounds up two by two, or pass the mechanism in parallel to md.estimate",
        )
    first, second = map(mechanism_of, designs)
    both = first.parallel(second)
    names = [str(name or i) for i, name in enumerate(_one_each(column, 2, "columns"))]
    named = dict(zip(names, (first, second), strict=True))
    counts = sample_of(reports, named, (), missing).tally(len(first.outputs), len(second.outputs))
    reference = reference_of(designs[-1], second, truth)
    pairs = dict(zip(both.outputs, counts.ravel().tolist(), strict=True))
    asked = AskedKernel(both, question_of_rounds(designs, [both]))
    made = estimate(pairs, asked, truth=reference, **options)
    n = made.reports
    shrunk = shrunk_truth(
        both.inputs,
        made.distribution,
        prior_of(designs[-1], second),
        [(both.kernel, counts.ravel() / n, n)],
        rank_of(both),
    )
    made = replace(made, shrunk=shrunk, note="")
    return _of_rounds(made, (n, n), "same", compose(*designs))


def _pooled(kernels: Sequence[Mechanism]) -> Mechanism:
    """One mechanism that reports under any of them, each with some chance: for what can be told."""
    if len(kernels) == 1:
        return kernels[0]
    extra = (len(kernels) - 1).bit_length()
    bits = max(kernel.bits for kernel in kernels)
    # Chances of a power of two in all, the rest of it with the last.
    chances = [1] * (len(kernels) - 1)
    chances.append((1 << extra) - len(chances))
    parts = [
        kernel.weights.astype(object) * (chance << (bits - kernel.bits))
        for kernel, chance in zip(kernels, chances, strict=True)
    ]
    labels: list[Label] = [(i, y) for i, kernel in enumerate(kernels) for y in kernel.outputs]
    return Mechanism.from_weights(
        np.hstack(parts), bits + extra, kernels[0].inputs, labels, check=False
    )


def _spread(
    kernels: Sequence[Mechanism], p: Vector, scores: Vector, shares: Sequence[float], v: Vector
) -> Vector:
    """Covariance ``(F, F)`` of what people count for, less what sizes of rounds do not vary."""
    total = v.T @ (p[:, None] * v)
    ends = np.cumsum([kernel.shape[1] for kernel in kernels])[:-1]
    for kernel, share, own in zip(kernels, shares, np.split(scores, ends), strict=True):
        mean = p @ kernel.kernel @ own
        total = total - share * np.outer(mean, mean)
    return np.asarray(total)


def _one_each(given: Any, count: int, subject: str) -> list[Any]:
    """One entry for each round; a single one, or none, is that of all of them."""
    if not isinstance(given, (list, tuple)):
        return [given] * count
    if len(given) != count:
        raise InputError(
            subject,
            expected=f"{count}, one for each round",
            got=quote(given),
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

"""Several rounds of reports, each under a kernel of its own: added up, or what changed.

Rounds of different people are one report of a mixture of their kernels, two reports of one person
are one report of kernels in parallel, and a change is a difference of two arms that share people.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, InputError, KernelError, listed, quote
from ..kernel import MatrixKernel
from ..labels import counted
from ..mechanism import Mechanism, mechanism_of
from ..release._identifiability import AskedKernel, ask_as_designed, question_of_rounds
from ..release.codes import check_choice
from ..release.identities import encode_identities
from ..release.receipts import trace
from ..release.reports import Sample, coded, sample_of
from ..theory._composition import Composition, compose
from ..utility.estimation import Asked
from ._estimate import estimate
from .estimator import Options, answered, warn_of_errors
from .likelihood import Fitted
from .observed import arms_of
from .references import CONFIDENCE, prior_of, reference_of
from .results import Difference, Estimate, difference_of, joined_notes
from .surveys import at_least

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
    kernels = _kernels_of(designs)
    columns = _one_each(column, len(kernels), "columns of rounds")
    known = _one_each(receipts, len(kernels), "receipts of rounds")
    if is_same:
        names = ["0", "1"] if column is None else list(map(str, columns))
        parts, groups = [reports], [dict(zip(names, kernels, strict=False))]
        if len(kernels) != 2 or len(groups[0]) != 2:
            raise InputError(
                "rounds of the same people",
                expected="two, each in a column of its own",
                got=f"{len(kernels)} in {counted(len(groups[0]), 'column')}",
                remedy="name the column of each; of more rounds pass the mechanism in parallel to "
                "md.estimate",
            )
    else:
        parts = listed(reports, "rounds", "reports, one table for each round", InputError)
        groups = [{name: kernel} for name, kernel in zip(columns, kernels, strict=True)]
    if len(parts) != len(groups):
        raise _mismatch(f"{len(kernels)}, one for each mechanism", str(len(parts)))
    counts, matrices, notes = [], [], []
    for i, (part, group) in enumerate(zip(parts, groups, strict=True)):
        own = [kernel.kernel for kernel in group.values()]
        tally = sample_of(part, group, (), missing).tally(*(k.shape[1] for k in own))
        counts.append(tally.ravel())
        # Reports of one person are one report of mechanisms in parallel.
        matrices.append(reduce(lambda a, b: np.einsum("na,nb->nab", a, b).reshape(len(a), -1), own))
        if not is_same:
            about = part, columns[i], kernels[i], known[i], int(tally.sum())
            notes.append(trace(*about, f"reports of round {i + 1}")[1])
    sizes, tallies = [int(each.sum()) for each in counts], np.concatenate(counts)
    shares, last = np.array(sizes) / sum(sizes), (designs[-1], kernels[-1])
    stacked = np.hstack([share * part for share, part in zip(shares, matrices, strict=True)])
    whole = MatrixKernel(kernels[0].inputs, stacked, kernels[0].schema)
    asked = AskedKernel(whole, question_of_rounds(designs, [whole]))
    question = ask_as_designed(asked, feature, by)
    # A sum of distances of rounds has lighter tails than one of all reports together.
    fitted = Fitted.of(stacked, tallies)
    options.judge(fitted.fit)
    scores = whole.scores(question, reference_of(*last, truth))
    # What people count for varies, less what sizes of rounds do not.
    v, p, starts = question.centred, fitted.likely, np.cumsum([0, *map(len, counts[:-1])])
    means = np.add.reduceat((p @ stacked)[:, None] * (scores - question.origin), starts)
    spread = v.T @ (p[:, None] * v) - means.T @ (means / shares[:, None])
    made: Any
    (made,) = answered(
        whole,
        question,
        scores,
        Sample({"": np.flatnonzero(tallies)}, tallies[tallies > 0]),
        fitted,
        options,
        prior=prior_of(*last),
        spread=None if is_same else spread,
        kind=RoundsEstimate,
        note=joined_notes(notes),
        rounds=tuple(sizes) * (2 if is_same else 1),
        people=people,
        leaked=compose(*designs, people=people),
    ).estimates
    warn_of_errors(made)
    assert isinstance(made, RoundsEstimate)
    return made


# Changes


@dataclass(frozen=True, repr=False)
class ChangeEstimate(Difference):
    """The change of frequencies, or of another feature, between two rounds.

    Attributes
    ----------
    values : ``(F,)`` those of the second round less those of the first
    errors_apart : ``(F,)`` standard errors that different people in both rounds would have
    rounds : the estimates of each round
    both : how many persons reported in both rounds
    kept : share of these whose two reports are equal
    confidence : as asked
    note : what could not be told of where the reports came from, a sentence or nothing
    """

    errors_apart: Any = None
    rounds: tuple[Estimate, ...] = ()
    both: int = 0
    kept: float = 0.0
    note: str = ""

    def describe(self) -> str:
        """Numbers of reports, and of persons in both rounds, in one line."""
        first, second = (made.reports for made in self.rounds)
        return (
            f"change from {first} to {counted(second, 'report')}, of "
            f"{counted(self.both, 'person')} in both rounds ({100 * self.kept:.3g} % "
            f"of them with equal reports); {self.told_rate()}"
        )


def estimate_change(
    first: Any,
    second: Any,
    mechanisms: Any,
    column: Any = None,
    *,
    person: Any,
    feature: Asked = None,
    by: str = "symbols",
    confidence: float = CONFIDENCE,
    missing: str = "error",
    receipts: Any = None,
    misfit: str = "error",
    truth: Any = None,
) -> ChangeEstimate:
    """How frequencies of the secret changed between two rounds, whoever took part in both.

    Reports of one person in two rounds depend on each other: under one key a person whose value
    stayed has the same report again, so that it adds nothing to the error of the change, which may
    then be many times smaller than that of two surveys of different people. Where all draws are
    fresh, only the values of those who stayed are common to both. With scores a(y), whose mean
    estimates the answers without bias, n₁ and n₂ reports and m persons in both rounds, the
    covariance of the change is

        V₁/n₁ + V₂/n₂ − m/(n₁ n₂) · (C + Cᵀ),   C = Cov(a₁(Y₁), a₂(Y₂)) over these m,

    taken from the reports themselves, however they were drawn.

    Parameters
    ----------
    first, second : tables with a column of reports and one of persons
    mechanisms : Mechanism or Design, or a list of two with the same inputs, one for each round
    column : name of the column of reports, or a list of two
    person : name of the column of persons, or a list of two; 7 and ``"7"`` are one person. Several
        rows of a person with the same report count once.
    feature, by, confidence, missing, misfit, truth : as in :func:`estimate`; ``missing`` is "error"
        or "drop". Without a feature the change of what the last design asks that was made for
        questions (``of``), so far as reports of both rounds tell it, else of every frequency.
    receipts : list of two receipts, optional

    Raises
    ------
    DataError
        As in :func:`estimate`, and for a person with two reports in one round, or none at all.
    InputError, KernelError
        For mechanisms with different inputs, and where something is not one for each round.

    Notes
    -----
    Intervals are made of those of both rounds, for all who might be asked. Where persons were given
    an earlier report because their budget was spent, changes of their values are not seen, and the
    estimate of a change is too small.

    Examples
    --------
    >>> import mechdesign as md, pandas as pd
    >>> flip = md.Mechanism([[.75, .25], [.25, .75]], ["no", "yes"], ["no", "yes"])
    >>> one = pd.DataFrame({"id": range(100), "x": ["no"] * 70 + ["yes"] * 30})
    >>> two = one.assign(x=["no"] * 60 + ["yes"] * 40)
    >>> found = md.estimate_change(one, two, flip, "x", person="id")
    >>> round(found["yes"], 3), [round(e["yes"], 3) for e in found.rounds], found.kept
    (0.2, [0.1, 0.3], 0.9)
    >>> bool(found.errors[1] < found.errors_apart[1] / 2)
    True
    """
    check_choice("policy for missing reports", missing, ("error", "drop"))
    designs, columns, persons, known = (
        _one_each(given, 2, what)
        for what, given in (
            ("mechanisms of rounds", mechanisms),
            ("columns of rounds", column),
            ("columns of persons", person),
            ("receipts of rounds", receipts),
        )
    )
    kernels = _kernels_of(designs)
    best = reference_of(designs[-1], kernels[-1], truth)
    told, notes, made = [], [], []
    for i, (table, kernel) in enumerate(zip((first, second), kernels, strict=True)):
        of = _reports_of(table, columns[i], persons[i], kernel, missing)
        counts = np.bincount(list(of.values()), minlength=len(kernel.outputs)).tolist()
        about = table, columns[i], kernel, known[i], len(of), f"reports of round {i + 1}"
        receipt, note = trace(*about)
        one = estimate(
            dict(zip(kernel.outputs, counts, strict=True)),
            AskedKernel(kernel, question_of_rounds(designs, kernels)),
            receipt=receipt,
            feature=feature,
            by=by,
            confidence=confidence,
            misfit=misfit,
            truth=best,
        )
        told.append(of)
        notes.append(note)
        made.append(one)
    both = [who for who in told[0] if who in told[1]]
    (apart, noise), common = np.zeros((2, *made[0].covariance.shape)), []
    for of, one in zip(told, made, strict=True):
        own = _centred(one.observed.scores[list(of.values())])
        apart = apart + own.T @ own / len(own) ** 2
        # Under one key those who are in both rounds may have had the same draws.
        noise = noise + (1 - len(both) / len(own)) * one.observed.noise
        common.append(_centred(one.observed.scores[[of[who] for who in both]]) / len(own))
    cross = common[0].T @ common[1]
    equal = sum(kernels[0].outputs[told[0][w]] == kernels[1].outputs[told[1][w]] for w in both)
    found = difference_of(
        made[0],
        made[1],
        lambda alpha: np.hstack([arms_of([one.observed], alpha) for one in made]),
        at_least(apart - cross - cross.T, noise),
        cross,
        len(both),
        kind=ChangeEstimate,
        errors_apart=np.sqrt(np.diagonal(apart)),
        rounds=tuple(made),
        both=len(both),
        kept=equal / len(both) if both else 0.0,
        note=joined_notes(notes),
    )
    assert isinstance(found, ChangeEstimate)
    return found


def _centred(scores: Vector) -> Vector:
    return scores - scores.sum(axis=0) / max(len(scores), 1)


def _reports_of(
    table: Any, column: Any, person: Any, kernel: Mechanism, missing: str
) -> dict[bytes, int]:
    """The position of the report of each person."""
    if not isinstance(column, str) or not isinstance(person, str) or column == person:
        raise InputError(
            "columns",
            expected="names of a column of reports and of one of persons",
            got=f"{quote(column, 40)} and {quote(person, 40)}",
            remedy="pass column= and person=",
        )
    sample = sample_of(table, {column: kernel}, [person], missing, fewest=0)
    people, rows = coded(sample.columns[person], person)
    # An empty cell of a text file is a missing identity.
    people = [None if who == "" and sample.texts else who for who in people]
    identities = encode_identities(people, person)
    found: dict[bytes, int] = {}
    for row, place in zip(rows.tolist(), sample.reports.tolist(), strict=True):
        if found.setdefault(identities[row], place) != place:
            raise DataError(
                f"column {person!r}",
                expected="one report of each person in a round",
                got="several for one of them",
                remedy="keep one row per person",
            )
    return found


# What belongs to each round


def _kernels_of(designs: Sequence[Any]) -> list[Mechanism]:
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


def _one_each(given: Any, count: int, subject: str) -> list[Any]:
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

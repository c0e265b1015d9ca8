"""``estimate_change``: how the distribution of the secret changed between two rounds of reports."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, InputError, KernelError, listed, quote
from ..labels import counted
from ..mechanism import Mechanism, mechanism_of
from ..release._identifiability import (
    AskedKernel,
    ask_as_designed,
    least_variance,
    question_of_rounds,
)
from ..release.codes import check_choice
from ..release.identities import encode_identities
from ..release.persons import plain_identity
from ..release.receipts import trace
from ..release.reports import coded, sample_of
from ..utility.estimation import Asked
from ._estimate import covariances, estimate
from .observed import arms_of
from .references import CONFIDENCE, check_confidence, reference_of
from .results import Estimate, Intervals, difference_of, joined_notes
from .surveys import at_least

Vector = NDArray[np.float64]


@dataclass(frozen=True, repr=False)
class ChangeEstimate(Intervals):
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

    errors_apart: Vector
    rounds: tuple[Estimate, Estimate]
    both: int
    kept: float
    confidence: float
    note: str = ""

    def describe(self) -> str:
        """Numbers of reports, and of persons in both rounds, in one line."""
        first, second = (made.reports for made in self.rounds)
        return (
            f"change from {first} to {counted(second, 'report')}, of "
            f"{counted(self.both, 'person')} in both rounds ({100 * self.kept:.3g} % "
            f"of them with equal reports); {100 * self.confidence:g} % intervals"
        )

    def closing(self) -> list[str]:
        """Lines below the numbers: what could not be told."""
        return [self.note] if self.note else []


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
    check_confidence(confidence)
    designs, columns, persons, known = (
        _two(given, what)
        for given, what in (
            (mechanisms, "mechanisms of rounds"),
            (column, "columns of rounds"),
            (person, "columns of persons"),
            (receipts, "receipts of rounds"),
        )
    )
    kernels = [mechanism_of(one) for one in designs]
    if kernels[0].inputs != kernels[1].inputs:
        raise KernelError(
            "rounds of a survey",
            expected=f"mechanisms with the inputs {kernels[0].inputs[:6]}",
            got="others",
            remedy="give the same labels in the same order to both of them",
        )
    told = [
        _reports_of(table, name, who, kernel, missing)
        for table, name, who, kernel in zip((first, second), columns, persons, kernels, strict=True)
    ]
    reference = reference_of(designs[-1], kernels[-1], truth)
    own = question_of_rounds(designs, kernels)
    made, scores, notes = [], [], []
    for i, (table, name, kernel, receipt, of) in enumerate(
        zip((first, second), columns, kernels, known, told, strict=True), 1
    ):
        counts = np.bincount(list(of.values()), minlength=len(kernel.outputs))
        receipt, note = trace(table, name, kernel, receipt, len(of), f"reports of round {i}")
        asked = AskedKernel(kernel, own)
        made.append(
            estimate(
                dict(zip(kernel.outputs, counts.tolist(), strict=True)),
                asked,
                feature=feature,
                by=by,
                confidence=confidence,
                receipt=receipt,
                misfit=misfit,
                truth=reference,
            )
        )
        question = ask_as_designed(asked, feature, by)
        scores.append(least_variance(kernel.kernel, question, reference))
        notes.append(note)
    both = [(y, told[1][who]) for who, y in told[0].items() if who in told[1]]
    apart, cross = _covariances(told, scores, both)
    covariance = at_least(apart - cross - cross.T, _known_noise(made, len(both)))
    ends = [arms_of([one._observed()], 1 - confidence)[:, 0] for one in made]
    difference = difference_of(
        made[0], made[1], (ends[0], ends[1]), covariance, np.diagonal(cross), len(both)
    )
    labels = [[kernel.outputs[y] for y in range(len(kernel.outputs))] for kernel in kernels]
    equal = sum(labels[0][y] == labels[1][z] for y, z in both)
    return ChangeEstimate(
        made[0].labels,
        difference.values,
        difference.errors,
        difference.lower,
        difference.upper,
        covariance,
        np.sqrt(np.diagonal(apart)),
        (made[0], made[1]),
        len(both),
        equal / len(both) if both else 0.0,
        confidence,
        joined_notes(notes),
    )


def _covariances(
    told: list[dict[bytes, int]], scores: list[Vector], both: list[tuple[int, int]]
) -> tuple[Vector, Vector]:
    """Covariance of the change for different people, and of the two estimates with each other."""
    apart: Vector = np.zeros((scores[0].shape[1],) * 2)
    for of, score in zip(told, scores, strict=True):
        own = score[list(of.values())]
        own = own - own.mean(axis=0)
        apart = apart + own.T @ own / len(own) ** 2
    if not both:
        return apart, np.zeros_like(apart)
    first, second = (
        score[list(part)] for score, part in zip(scores, zip(*both, strict=True), strict=True)
    )
    common = (first - first.mean(axis=0)).T @ (second - second.mean(axis=0))
    return apart, common / (len(told[0]) * len(told[1]))


def _known_noise(made: list[Estimate], both: int) -> Vector:
    """What the mechanism adds to the change for people who are in one round only: under one key the
    others may have had the same draws in both.
    """
    found: Vector = np.zeros_like(made[0].covariance)
    for one in made:
        seen = one.observed
        assert seen is not None
        noise, _ = covariances(seen.kernel, seen.scores, seen.values, seen.likely)
        found = found + (one.reports - both) * noise / one.reports**2
    return found


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
    identities = list(map(plain_identity, encode_identities(people, person)))
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


def _two(given: Any, subject: str) -> list[Any]:
    """One for each round; a single one, or none, is that of both."""
    if not isinstance(given, (list, tuple)):
        return [given, given]
    found = listed(given, subject, "a list of two, one for each round", InputError)
    if len(found) != 2:
        raise InputError(
            subject,
            expected="two, one for each round",
            got=str(len(found)),
            remedy="name one for each round",
        )
    return found

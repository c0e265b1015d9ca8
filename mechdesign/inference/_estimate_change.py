"""``estimate_change``: how the distribution of the secret changed between two rounds of reports."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, InputError, quote
from ..labels import counted
from ..mechanism import Mechanism
from ..release._identifiability import AskedKernel, question_of_rounds
from ..release.codes import check_choice
from ..release.identities import encode_identities
from ..release.persons import plain_identity
from ..release.receipts import trace
from ..release.reports import coded, sample_of
from ..utility.estimation import Asked
from ._estimate import estimate
from ._estimate_rounds import kernels_of_rounds, one_each
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
        one_each(given, 2, what)
        for what, given in (
            ("mechanisms of rounds", mechanisms),
            ("columns of rounds", column),
            ("columns of persons", person),
            ("receipts of rounds", receipts),
        )
    )
    kernels = kernels_of_rounds(designs)
    asked = [AskedKernel(kernel, question_of_rounds(designs, kernels)) for kernel in kernels]
    options: dict[str, Any] = {
        "feature": feature,
        "by": by,
        "confidence": confidence,
        "misfit": misfit,
    }
    options["truth"] = reference_of(designs[-1], kernels[-1], truth)
    told, notes = [], []
    made: list[Any] = []
    for i, table in enumerate((first, second)):
        kernel, name = kernels[i], columns[i]
        of = _reports_of(table, name, persons[i], kernel, missing)
        counts = np.bincount(list(of.values()), minlength=len(kernel.outputs))
        about = f"reports of round {i + 1}"
        receipt, note = trace(table, name, kernel, known[i], len(of), about)
        named = dict(zip(kernel.outputs, counts.tolist(), strict=True))
        made.append(estimate(named, asked[i], receipt=receipt, **options))
        told.append(of)
        notes.append(note)
    both = [who for who in told[0] if who in told[1]]
    seen = [one.observed for one in made]
    apart, noise = np.zeros((2, *seen[0].noise.shape))
    common = []
    for of, one in zip(told, seen, strict=True):
        own = _centred(one.scores[list(of.values())])
        apart = apart + own.T @ own / len(own) ** 2
        # Under one key those who are in both rounds may have had the same draws.
        noise = noise + (1 - len(both) / len(own)) * one.noise
        common.append(_centred(one.scores[[of[who] for who in both]]) / len(own))
    cross = common[0].T @ common[1]
    covariance = at_least(apart - cross - cross.T, noise)
    arms = [arms_of([one], 1 - confidence)[:, 0] for one in seen]
    change = difference_of(made[0], made[1], arms, covariance, np.diagonal(cross), len(both))
    equal = sum(kernels[0].outputs[told[0][w]] == kernels[1].outputs[told[1][w]] for w in both)
    found = {field.name: getattr(change, field.name) for field in fields(Intervals)}
    return ChangeEstimate(
        **found,
        errors_apart=np.sqrt(np.diagonal(apart)),
        rounds=(made[0], made[1]),
        both=len(both),
        kept=equal / len(both) if both else 0.0,
        confidence=confidence,
        note=joined_notes(notes),
    )


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

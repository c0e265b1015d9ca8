"""Leakage envelopes and coefficients of contraction, on a terminal and as plain values."""

from __future__ import annotations

import math
from typing import Any

from ..channels._contraction import Contraction
from ..channels._leakage_envelope import LeakageEnvelope
from ..storage import prior_to_json
from ..stored_values import label_to_json
from .tables import Table, column, number, picked
from .text import Report


def print_envelope(
    found: LeakageEnvelope, probability: float | None = None, level: float | None = None
) -> None:
    """The envelope at its levels, and the level of a probability where one was asked."""
    out = Report()
    kind = "Λ (PMC)" if found.risk_averse else "ℓ (PML)"
    out.head(f"Probability of leaking at least a level of {kind}, after any post-processing")
    heads = (
        column("level", "level (nats)", is_number=True),
        column("before", "as reports are", is_number=True),
        column("at_least", "at least", is_number=True),
        column("at_most", "at most", is_number=True),
    )
    rows = tuple(
        (
            number(point.level, 6),
            number(point.before, 4),
            number(point.at_least, 6),
            number(point.at_most, 6),
        )
        for point in found.points
    )
    out.table(Table("Both sides are proved", heads, rows))
    out.line(f"largest leakage of an outcome: {_shown(found.largest)} nats")
    if probability is not None and level is not None:
        out.line(
            f"a level that is reached or exceeded with probability {probability:g} at most: "
            f"{_shown(level)} nats"
        )


def envelope_json(
    found: LeakageEnvelope, probability: float | None = None, level: float | None = None
) -> dict[str, Any]:
    """The envelope as plain values; closed forms are ``None`` where none is known."""
    return {
        "prior": prior_to_json(found.prior),
        "leakage": "pmc" if found.risk_averse else "pml",
        "largest": found.largest,
        "points": [
            {
                **picked(point, "level before at_least at_most"),
                "closed_form": found.closed_form(point.level),
            }
            for point in found.points
        ],
        "probability": probability,
        "level_at_probability": level,
    }


def print_contraction(
    found: Contraction, reports: tuple[float, float] | None = None, *, is_test: bool = False
) -> None:
    """What reports keep, and how many of them it takes."""
    out = Report()
    out.line(f"{found}; {found.at_least:.6g} is attained")
    out.line(f"told apart best: {found.pair[0]!r} and {found.pair[1]!r}")
    out.line(f"reports keep at most {found.information:.6g} of relative entropies")
    if reports is None:
        return
    what = "to tell these two distributions apart" if is_test else "for this squared error"
    out.line(
        f"reports {what}: {_count(reports[0])} or more with any kernel of this coefficient; "
        f"{_count(reports[1])} suffice with the kernel that was asked about or found"
        if reports[1] < math.inf
        else f"reports {what}: {_count(reports[0])} or more with any kernel of this coefficient; "
        "with the kernel that was asked about or found no number is known to suffice"
    )


def contraction_json(
    found: Contraction, reports: tuple[float, float] | None = None
) -> dict[str, Any]:
    """The coefficient, and reports where they were asked, as plain values."""
    return {
        **picked(found, "level at_most at_least"),
        "pair": [label_to_json(label) for label in found.pair],
        **picked(found, "affinity information"),
        "reports": None if reports is None else {"needed": reports[0], "sufficient": reports[1]},
    }


def _shown(level: float) -> str:
    return "infinite" if level == math.inf else f"{level:.6g}"


def _count(reports: float) -> str:
    return "infinitely many" if reports == math.inf else f"{int(reports):,}"

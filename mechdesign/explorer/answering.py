"""What follows from the settings: the design, what it leaks, and what its notions imply."""

from __future__ import annotations

from dataclasses import dataclass

from .._audit import AuditReport, audit
from ..labels import listing
from ..release._identifiability import identifiability
from ..solve._design import Design, design
from ..theory import Implications, implications
from .settings import Settings


@dataclass(frozen=True)
class Answer:
    """A certified design for the settings, with everything the page says about it.

    Attributes
    ----------
    settings : what was asked
    found : the design; its kernel passed an exact check of every notion
    report : what it leaks
    implied : what follows from the notions asked, for every mechanism that satisfies them
    notes : what a person should know about this answer
    """

    settings: Settings
    found: Design
    report: AuditReport
    implied: Implications
    notes: tuple[str, ...]

    @property
    def is_final(self) -> bool:
        """Whether more time cannot improve the design."""
        return self.found.certificate.is_optimal


def answer(settings: Settings, time_limit: float | None = None) -> Answer:
    """Design, audit and draw conclusions.

    Parameters
    ----------
    settings : Settings
    time_limit : float, optional
        Seconds for methods that search; the best kernel found by then is certified with its gap.

    Raises
    ------
    MechdesignError
        For settings that cannot be used, and where no method applies or the solver fails.
    """
    prior, notions = settings.prior(), settings.notions()
    found = design(prior, settings.goal(), notions, time_limit=time_limit)
    notes = []
    empty = [prior.labels[i] for i, w in enumerate(prior.weights) if w == 0]
    if empty:
        notes.append(
            f"Symbols without mass ({listing(empty)}) play no part in the design: each gets a copy "
            "of the row that serves it best."
        )
    told = identifiability(found.mechanism).advice
    if told:
        notes.append(f"{told[0].upper()}{told[1:]}.")
    return Answer(
        settings,
        found,
        audit(found.mechanism, prior, notions),
        implications(notions, prior),
        tuple(notes),
    )

"""What a report says of a kernel, as plain rows: beliefs, disclosures, implications, versions."""

from __future__ import annotations

import math
import platform
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import metadata

import numpy as np

from .. import __version__
from ..errors import MechdesignError, quote
from ..labels import short_names
from ..mechanism import Mechanism
from ..prior import Prior
from ..privacy.differential import LDP
from ..privacy.notion import LikelihoodBound, PrivacyNotion
from ..privacy.pointwise import ALIP, LIP, PMC, PML
from ..release._identifiability import identifiability
from ..theory.conversions import implications, rounded_up
from ..theory.disclosure import compatible_symbols
from ..theory.rules import STATEMENTS
from ..theory.tight import tight_conversion

# Libraries whose version matters to who wants the same numbers again.
_LIBRARIES = ("numpy", "scipy", "highspy", "clarabel", "python-flint", "matplotlib", "jinja2")

# Smallest implied levels are computed for priors up to this size, and shown where they are that
# near to what a mechanism has.
_FEW, _NEAR = 10, 1e-6


@dataclass(frozen=True)
class Belief:
    """What a report can make of the belief in one symbol.

    Attributes
    ----------
    symbol : label
    before : its prior probability
    least, most : smallest and largest posterior after any report that can occur
    least_after, most_after : the reports they come from
    is_ruled_out, is_certain : whether some report rules the symbol out, or leaves only it; exact
    """

    symbol: str
    before: float
    least: float
    least_after: str
    most: float
    most_after: str
    is_ruled_out: bool
    is_certain: bool


def beliefs(mechanism: Mechanism, prior: Prior) -> list[Belief]:
    """One :class:`Belief` per symbol of positive mass."""
    posterior = mechanism.posterior(prior)
    symbols, reports = short_names(prior.labels, 60), short_names(mechanism.outputs, 40)
    left = compatible_symbols(mechanism, prior)
    seen = [j for j, label in enumerate(mechanism.outputs) if label in left]
    found = []
    for x in prior.support:
        row = posterior[x, seen]
        low, high = seen[int(np.argmin(row))], seen[int(np.argmax(row))]
        label = prior.labels[x]
        found.append(
            Belief(
                symbols[x],
                float(prior.probabilities[x]),
                float(row.min()),
                reports[low],
                float(row.max()),
                reports[high],
                any(label not in possible for possible in left.values()),
                (label,) in left.values(),
            )
        )
    return found


def disclosure_lines(mechanism: Mechanism, prior: Prior) -> list[str]:
    """What reports tell for certain, in sentences."""
    left = compatible_symbols(mechanism, prior)
    size = len(prior.support)
    if size == 1:
        return ["The secret has one possible value, so there is nothing left to tell."]
    certain = [label for label, symbols in left.items() if len(symbols) == 1]
    partial = {label: s for label, s in left.items() if 1 < len(s) < size}
    lines = []
    if certain:
        shown = _listed(
            f"{quote(label)} (only {quote(left[label][0])} is possible)" for label in certain
        )
        lines.append(f"{len(certain)} of {len(left)} reports reveal the secret: {shown}.")
    else:
        lines.append("No report reveals the secret: at least two values stay possible.")
    if partial:
        shown = _listed(
            f"{quote(label)} leaves {len(s)} of {size} values" for label, s in partial.items()
        )
        lines.append(f"Some reports rule values out: {shown}.")
    if not certain and not partial:
        lines.append(
            "No report rules out any value, so nothing about the secret that was uncertain is ever "
            "told for certain."
        )
    elif partial or certain:
        lines.append(
            "A yes-or-no question about the secret is told for certain when a report leaves only "
            "values with one answer to it."
        )
    return lines


def told_lines(mechanism: Mechanism) -> list[str]:
    """What can be estimated from reports, however many there are, in sentences."""
    found = identifiability(mechanism)
    size = len(found.symbols)
    if size == 1:
        return ["The secret has one possible value, so there is nothing to estimate."]
    if found.is_complete:
        return [f"Reports tell all {size} values apart: the share of each can be estimated."]
    return [f"{found.advice[0].upper()}{found.advice[1:]}."]


@dataclass(frozen=True)
class Implied:
    """One implied guarantee, with the results that lead to it.

    ``smallest`` are the least levels that hold, where they were computed, else empty.
    """

    name: str
    levels: str
    smallest: str
    steps: tuple[str, ...]
    reason: str


def implied_rows(
    notions: Sequence[PrivacyNotion], prior: Prior
) -> tuple[list[Implied], list[tuple[str, str, str]]]:
    """Implied guarantees, and the results they rest on: identifier, statement, source."""
    rows, used = [], {}
    smallest = _smallest(notions, prior)
    for entry in implications(list(notions), prior).found:
        steps = tuple(str(step) for step in entry.derivation)
        least = smallest.get(entry.name, "")
        rows.append(Implied(entry.name, _levels(entry.levels), least, steps, entry.reason))
        used.update({step.id: step.source for step in entry.derivation})
    cited = [
        (name, STATEMENTS[name], source or "derived in this project")
        for name, source in used.items()
    ]
    return rows, cited


def _levels(levels: Iterable[float]) -> str:
    return ", ".join("infinite" if math.isinf(v) else rounded_up(v, 6) for v in levels)


def _smallest(notions: Sequence[PrivacyNotion], prior: Prior) -> dict[str, str]:
    """The least levels of the usual notions that hold for every kernel with these, if soon found.

    Each is proved to hold, and a mechanism attains it within :data:`_NEAR`.
    """
    if len(prior) > _FEW or not all(isinstance(notion, LikelihoodBound) for notion in notions):
        return {}
    found = {}
    for target in (PML, PMC, LIP, ALIP, LDP):
        try:
            tight = tight_conversion(list(notions), target, prior)
        except MechdesignError:
            continue  # the published level stands
        if tight.gap <= _NEAR:
            found[target.__name__] = _levels(tight.target.levels)
    return found


def versions() -> list[tuple[str, str]]:
    """Versions of mechdesign, Python, and the libraries that the numbers rest on."""
    rows = [("mechdesign", __version__), ("Python", platform.python_version())]
    for name in _LIBRARIES:
        try:
            rows.append((name, metadata.version(name)))
        except metadata.PackageNotFoundError:
            rows.append((name, "not installed"))
    return rows


def _listed(words: Iterable[str], most: int = 6) -> str:
    shown = list(words)
    more = f", and {len(shown) - most} more" if len(shown) > most else ""
    return ", ".join(shown[:most]) + more

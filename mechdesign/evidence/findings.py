"""What an audit from samples found: a verdict on every notion, with what it rests on."""

from __future__ import annotations

import html
import math
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import quote
from ..labels import Label
from ..notebook import Tabular, notebook_table
from ..prior import Prior
from ..privacy.notion import AverageNotion, LikelihoodBound


class SampleVerdict(Enum):
    """What samples say about a claim."""

    VIOLATED = "violated"
    CONSISTENT = "consistent"
    CANNOT_TELL = "cannot tell"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True)
class LevelLimits:
    """Confidence limits on one level of a notion, in nats.

    Attributes
    ----------
    field : name of the level
    claimed : what was claimed
    lower, upper : limits on the level that the mechanism has
    upper_of_counted : upper limit on the level of the outcomes, or groups, that were counted alone;
        ``upper`` also covers outcomes that never occurred and what groups leave out
    estimate : the level of the frequencies themselves; no limit of anything
    output, over, under : the outcome and the hypotheses with the largest lower limit
    scale : what the level is multiplied by for these two; their likelihood ratio is at least
        e^(scale · lower)
    has_scales : whether some pair of the notion multiplies the level by something else than 1
    """

    field: str
    claimed: float
    lower: float
    upper: float
    upper_of_counted: float
    estimate: float
    output: Label
    over: str
    under: str
    scale: float = 1.0
    has_scales: bool = False


@dataclass(frozen=True)
class SampleFinding:
    """What samples say about one notion.

    Attributes
    ----------
    notion : the notion at the level that was claimed
    verdict : violated only where a lower limit is above the claim, consistent only where every
        upper limit is at or below it
    levels : the limits, one entry per level of the notion
    p_value : the smallest error, over all limits together, at which the claim would be called
        violated; at most 1 minus the confidence just where it is
    needed : about how many reports would settle it if frequencies stayed as they are, ``None``
        where none would or the verdict stands, or where hardly any report occurs twice
    reason : the verdict in a sentence
    """

    notion: LikelihoodBound | AverageNotion
    verdict: SampleVerdict
    levels: tuple[LevelLimits, ...]
    p_value: float
    needed: int | None
    reason: str


@dataclass(frozen=True, eq=False)
class SampleAudit(Tabular):
    """What samples say about all notions that were asked, at once.

    Attributes
    ----------
    findings : one for each notion
    confidence : with which all limits of all notions hold together
    prior : the prior that notions refer to
    prior_is_given : whether it was given; else it is the frequencies of the inputs, taken as they
        are
    counts : ``(N, M)`` reports that the limits rest on, by input and outcome
    outputs : the outcomes, or groups of them
    outputs_are_stated : whether these are all outcomes that there are
    grouped : how reports were put into groups, ``None`` where they were not
    learned_from : number of reports that groups were learned from, which no limit rests on
    calls : how often the mechanism was called, ``None`` for reports that were given
    """

    findings: tuple[SampleFinding, ...]
    confidence: float
    prior: Prior
    prior_is_given: bool
    counts: NDArray[np.float64]
    outputs: tuple[Label, ...]
    outputs_are_stated: bool
    grouped: str | None
    learned_from: int
    calls: int | None

    def __getitem__(self, notion: LikelihoodBound | AverageNotion) -> SampleFinding:
        for finding in self.findings:
            if finding.notion == notion:
                return finding
        raise KeyError(str(notion))

    @property
    def samples(self) -> int:
        """Number of reports that the limits rest on."""
        return int(self.counts.sum())

    @property
    def verdict(self) -> SampleVerdict:
        """Violated where some notion is, consistent where all are."""
        found = {finding.verdict for finding in self.findings}
        order = (SampleVerdict.VIOLATED, SampleVerdict.CANNOT_TELL, SampleVerdict.CONSISTENT)
        return next(verdict for verdict in order if verdict in found)

    def rows(self) -> list[dict[str, Any]]:
        """One row for each level of each notion, as plain values."""
        return [
            {
                "notion": str(finding.notion),
                "level": level.field,
                "claimed": level.claimed,
                "lower": level.lower,
                "upper": level.upper,
                "upper_of_counted": level.upper_of_counted,
                "estimate": level.estimate,
                "verdict": str(finding.verdict),
                "p_value": finding.p_value,
                "output": level.output,
                "over": level.over,
                "under": level.under,
                "needed": finding.needed,
            }
            for finding in self.findings
            for level in finding.levels
        ]

    @property
    def basis(self) -> list[str]:
        """What the limits rest on, in sentences."""
        inputs = int((self.counts.sum(axis=1) > 0).sum())
        number = f"{self.samples:,} reports about {inputs} input{'s' * (inputs != 1)}"
        lines = [
            f"All limits hold together with confidence {self.confidence:g}; they rest on {number}."
        ]
        if self.calls is not None:
            lines.append(f"The mechanism was called {self.calls:,} times.")
        if not any(finding.notion.uses_prior for finding in self.findings):
            pass
        elif self.prior_is_given:
            lines.append("The prior was given.")
        else:
            lines.append(
                "The prior is the frequencies of the inputs, taken as they are: the limits hold "
                "for exactly this prior, whatever the population is."
            )
        if self.grouped is not None:
            groups = f"{len(self.outputs)} group{'s' * (len(self.outputs) != 1)}"
            lines.append(f"Reports were put into {groups}: {self.grouped}.")
        if self.learned_from:
            lines.append(
                f"They were learned from {self.learned_from:,} other reports, on which no limit "
                "rests."
            )
        if self.outputs_are_stated:
            lines.append(f"It was stated that there are no outcomes but these {len(self.outputs)}.")
        elif self.grouped is None:
            lines.append("Outcomes that never occurred are not excluded.")
        return lines

    def __repr__(self) -> str:
        lines = [f"Audit of {self.samples:,} reports (nats, confidence {self.confidence:g})"]
        for finding in self.findings:
            lines.append(f"  {finding.notion}: {finding.verdict}; {finding.reason}")
            for level in finding.levels:
                lines.append(
                    f"    {level.field}: {level.claimed:.6g} claimed, at least "
                    f"{shown(level.lower)}, at most {shown(level.upper)}"
                )
        lines += [f"  {line}" for line in self.basis]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = self.rows()
        table = notebook_table(list(rows[0]), (row.values() for row in rows))
        return f"<pre>{html.escape(repr(self))}</pre>{table}"


def shown(level: float) -> str:
    """A level in few digits."""
    return "infinite" if level == math.inf else f"{level:.4g}"


def shown_p(p_value: float) -> str:
    """A p-value in few digits, rounded up.

    >>> shown_p(0.01231), shown_p(1.0), shown_p(1e-300)
    ('0.0124', '1', 'below 1e-290')
    """
    if p_value < 1e-290:
        return "below 1e-290"
    if p_value >= 1:
        return "1"
    digits = 2 - math.floor(math.log10(p_value))
    return f"{math.ceil(p_value * 10.0 ** min(digits, 300)) / 10.0 ** min(digits, 300):.3g}"


def evidence_of(level: LevelLimits) -> str:
    """The outcome and the pair that a lower limit rests on, in words."""
    return f"outcome {quote(level.output)}, {level.over} against {level.under}"

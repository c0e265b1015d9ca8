"""Which published conversions are tight for a prior."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..exact import float_at_least, level_bounds
from ..prior import Prior
from ..privacy.notion import NOTIONS, LikelihoodBound, PrivacyNotion, check_level
from ..theory.conversions import family_rules
from ..theory.rules import Refused, Setting
from ..theory.tight import TightConversion, tight_conversion

# Levels this close, relative to their size, count as equal.
_EQUAL = 1e-9


@dataclass(frozen=True)
class TightnessRow:
    """One published conversion at one level.

    Attributes
    ----------
    id, source : of the result, and its key into ``references.bib``
    given : the notion it starts from
    published : what the result says follows
    tight : the smallest level that follows, with its witness
    verdict : ``"tight"``, ``"loose"``, or ``"nothing follows"``
    """

    id: str
    source: str
    given: PrivacyNotion
    published: PrivacyNotion
    tight: TightConversion
    verdict: str

    @property
    def excess(self) -> float:
        """By how much the published level is too large, in nats: the largest over its levels."""
        return max(
            0.0 if entry.attained == level else level - entry.attained
            for level, entry in zip(self.published.levels, self.tight.levels, strict=True)
        )


@dataclass(frozen=True, repr=False)
class TightnessReport:
    """Published conversions beside the tight ones; iterate for the rows."""

    prior: Prior
    epsilon: float
    entries: tuple[TightnessRow, ...]

    def __iter__(self) -> Iterator[TightnessRow]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def __getitem__(self, name: str) -> TightnessRow:
        return next(row for row in self.entries if row.id.lower() == name.lower())

    def __repr__(self) -> str:
        counts = Counter(row.verdict for row in self.entries)
        said = ", ".join(f"{number} {verdict}" for verdict, number in counts.items())
        lines = [f"Published conversions at {self.epsilon:.6g} nats: {said}"]
        texts = [(row.id, str(row.given), str(row.published)) for row in self.entries]
        wide = [max(map(len, column)) for column in zip(*texts, strict=True)]
        for (name, given, published), row in zip(texts, self.entries, strict=True):
            tight = f", {row.tight.target} follows" if row.verdict == "loose" else ""
            lines.append(
                f"{name:<{wide[0]}}  {given:<{wide[1]}} ⇒ {published:<{wide[2]}}  "
                f"{row.verdict}{tight}"
            )
        return "\n".join(lines)

    def rows(self) -> list[dict[str, Any]]:
        """One dictionary per conversion, for a data frame."""
        return [
            {
                "id": row.id,
                "given": str(row.given),
                "published": str(row.published),
                "tight": str(row.tight.target),
                "attained": [entry.attained for entry in row.tight.levels],
                "verdict": row.verdict,
                "excess": row.excess,
                "source": row.source,
            }
            for row in self.entries
        ]


def tightness_report(prior: Prior, epsilon: float) -> TightnessReport:
    """For each published conversion whether it is tight for this prior.

    Parameters
    ----------
    prior : prior of the secret
    epsilon : level of the notion that each conversion starts from, in nats

    Raises
    ------
    LevelError
        For a level that is not a non-negative number.

    Examples
    --------
    Twice the level is too much for LDP from LIP when the secret is a fair coin:

    >>> import mechdesign as md
    >>> report = tightness_report(md.Prior([.5, .5]), .5)
    >>> report["ID-Sec-3C.1"].verdict, report["PMC-Thm-4.1"].verdict
    ('loose', 'tight')
    """
    level = check_level(epsilon, "level of the report")
    setting = Setting(prior)
    rows = []
    for rule in family_rules():
        start, target = NOTIONS[rule.premises[0]], NOTIONS[rule.conclusion]
        given = start.at(level)
        exact = tuple(None if v == math.inf else level_bounds(v)[1] for v in given.levels)
        try:
            levels = rule.apply(setting, exact)
        except Refused:
            levels = (None,) * len(target.level_fields)
        published = target.at(*(math.inf if v is None else float_at_least(v) for v in levels))
        tight = tight_conversion(given, target, prior)
        rows.append(
            TightnessRow(rule.id, rule.source, given, published, tight, _verdict(published, tight))
        )
    return TightnessReport(prior, level, tuple(rows))


def _verdict(published: PrivacyNotion, tight: TightConversion) -> str:
    assert isinstance(published, LikelihoodBound)
    attained = [entry.attained for entry in tight.levels]
    if all(math.inf in (entry.attained, entry.level) for entry in tight.levels):
        return "nothing follows"
    pairs = zip(published.levels, attained, strict=True)
    same = all(a == b or a - b <= _EQUAL * max(1.0, a) for a, b in pairs)
    return "tight" if same else "loose"

"""What has been told so far about one person, after what was really reported.

A level of a mechanism speaks of its worst outcome. Once reports are there, what they tell is
known: the posterior, and with it the pointwise leakage under every notion that bounds likelihood
ratios. It is often far below the sum of the levels, and never above the level of the mechanism that
all reports together are. As a notion asks the same of every outcome, going on as long as no next
outcome exceeds its level keeps the whole within it, whichever mechanisms were chosen on the way
([Saeidian2023PML] for leakage at an outcome, [Rogers2016] for odometers and filters). Differential
privacy has no such account: it would not change with what was reported.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from ..errors import KernelError, LevelError, quote
from ..exact import Verdict, compare_with_exp, log_upper
from ..labels import Label, counted
from ..mechanism import Mechanism, mechanism_of
from ..prior import Prior
from ..privacy import LDP, LIP, PMC, PML, LikelihoodBound, PrivacyNotion
from ..privacy.notion import as_notions
from .leakage import quiet_prior


@dataclass(frozen=True)
class Odometer:
    """Reports about one secret that is the same all along, and what they tell; exact.

    Make one with a prior, and go on with :meth:`after`, which gives a new one.

    Parameters
    ----------
    prior : Prior or N probabilities
        Of the secret before any report.

    Attributes
    ----------
    reports : the outcomes so far, in order
    likelihoods : P(reports|x) for each symbol, exact, over their largest

    Examples
    --------
    Each of three answers is ln 3 of LDP, and what they told depends on what they were:

    >>> import mechdesign as md
    >>> flip = md.Mechanism([[.75, .25], [.25, .75]], [0, 1], ["no", "yes"])
    >>> told = md.Odometer([.5, .5]).after(flip, "no").after(flip, "yes")
    >>> round(told.level(md.PML), 6), told.posterior.probabilities.tolist()
    (0.0, [0.5, 0.5])
    >>> round(told.after(flip, "yes").level(md.PML), 6)
    0.405465
    >>> told.allows(flip, md.PML(.5)), told.after(flip, "yes").allows(flip, md.PML(.5))
    (True, False)
    """

    prior: Prior
    reports: tuple[Label, ...] = field(default=(), init=False)
    likelihoods: tuple[Fraction, ...] = field(default=(), init=False)

    def __post_init__(self) -> None:
        if not isinstance(self.prior, Prior):
            object.__setattr__(self, "prior", Prior(self.prior))
        object.__setattr__(self, "likelihoods", (Fraction(1),) * len(self.prior))

    def after(self, mechanism: Any, outcome: Label) -> Odometer:
        """The odometer after one more report.

        Parameters
        ----------
        mechanism : Mechanism or design with the symbols of the prior as inputs, in any order
        outcome : what it reported

        Raises
        ------
        KernelError
            For other inputs, an outcome that it does not have, or one that could not occur after
            the reports before.
        """
        kernel = mechanism_of(mechanism)
        if outcome not in kernel.outputs:
            raise KernelError(
                "report",
                expected=f"an outcome of the kernel, such as {quote(kernel.outputs[0])}",
                got=quote(outcome),
                remedy="pass the report as it was made (text and numbers differ)",
            )
        found = self._with(kernel, kernel.outputs.index(outcome))
        if not any(found[x] for x in self.prior.support.tolist()):
            raise KernelError(
                "report",
                expected="one that can occur after those before, for a symbol of positive mass",
                got=f"{quote(outcome)}, which cannot",
                remedy="check which kernel made it, and that the secret was the same all along",
            )
        told = Odometer(self.prior)
        object.__setattr__(told, "reports", (*self.reports, outcome))
        object.__setattr__(told, "likelihoods", _scaled(found))
        return told

    def _with(self, kernel: Mechanism, place: int) -> list[Fraction]:
        order = _places(kernel, self.prior)
        # Rows that were read with rounding are divided by their sums.
        column = kernel.weights[:, place].tolist()
        sums = kernel.weights.astype(object).sum(axis=1).tolist()
        return [
            have * Fraction(int(column[x]), int(sums[x]))
            for have, x in zip(self.likelihoods, order, strict=True)
        ]

    @property
    def posterior(self) -> Prior:
        """P(x | reports), exact."""
        masses = [have * self.prior.mass(x) for x, have in enumerate(self.likelihoods)]
        return quiet_prior(masses, self.prior.labels)

    def level(self, notion: type[PrivacyNotion] | PrivacyNotion) -> float:
        """What was told so far under a notion with one level, in nats, rounded up.

        Parameters
        ----------
        notion : a class such as ``md.PML``, or an instance, whose level is ignored

        Raises
        ------
        LevelError
            For notions that average over outcomes, which say nothing about one, and for those with
            several levels (see :meth:`levels`).
        """
        found = self.levels(notion)
        if len(found) != 1:
            raise LevelError(
                "notion of an odometer",
                expected="one with one level",
                got=quote(notion),
                remedy="ask for levels(…)",
            )
        return found[0]

    def levels(self, notion: type[PrivacyNotion] | PrivacyNotion) -> tuple[float, ...]:
        """The levels that were reached so far, in nats, rounded up; ``inf`` where something is
        ruled out.
        """
        asked = _pointwise(notion)
        found = [0.0] * len(asked.level_fields)
        for bound, pair, ratio in _ratios(asked, self.prior, self.likelihoods):
            level = _level(ratio, bound.scale(pair))
            found[bound.parameter] = max(found[bound.parameter], level)
        return tuple(found)

    def within(self, *notions: PrivacyNotion | Iterable[PrivacyNotion]) -> bool:
        """Whether what was told so far is within the levels of all notions, decided exactly.

        Notions are given one by one, or in a list.
        """
        return _within(_listed(notions), self.prior, self.likelihoods)

    def allows(self, mechanism: Any, *notions: PrivacyNotion | Iterable[PrivacyNotion]) -> bool:
        """Whether one more report stays within the levels, whatever it will be.

        Asking before each release, and stopping on no, is a mechanism whose every outcome is
        within, as what is asked depends on earlier reports alone.

        Raises
        ------
        LevelError
            For notions that average over outcomes.
        """
        kernel, asked = mechanism_of(mechanism), _listed(notions)
        support = self.prior.support.tolist()
        for y in range(kernel.shape[1]):
            found = self._with(kernel, y)
            live = support if all(n.uses_prior for n in asked) else range(len(found))
            if any(found[x] for x in live) and not _within(asked, self.prior, _scaled(found)):
                return False
        return True

    def __str__(self) -> str:
        shown = ", ".join(
            f"{kind.__name__}({self.level(kind):.6g})" for kind in (PML, PMC, LIP, LDP)
        )
        return f"{counted(len(self.reports), 'report')} told {shown} so far"


def _listed(notions: tuple[Any, ...]) -> tuple[PrivacyNotion, ...]:
    """Notions that were given one by one, or all in one list."""
    return as_notions(notions[0] if len(notions) == 1 else notions)


def _places(kernel: Mechanism, prior: Prior) -> list[int]:
    """The position of each symbol of the prior among the inputs."""
    if set(kernel.inputs) != set(prior.labels):
        raise KernelError(
            "odometer",
            expected=f"a kernel over the {len(prior)} symbols of the prior",
            got=f"one over {counted(len(kernel.inputs), 'input')}",
            remedy="only reports about the same secret are told together",
        )
    place = {label: x for x, label in enumerate(kernel.inputs)}
    return [place[label] for label in prior.labels]


def _scaled(likelihoods: list[Fraction]) -> tuple[Fraction, ...]:
    top = max(likelihoods)
    return tuple(v / top for v in likelihoods) if top else tuple(likelihoods)


def _pointwise(notion: Any) -> LikelihoodBound:
    found = notion
    if isinstance(notion, type) and issubclass(notion, LikelihoodBound) and not notion.needs:
        found = notion.at(math.inf)
    if not isinstance(found, LikelihoodBound):
        raise LevelError(
            "notion of an odometer",
            expected="one that bounds likelihood ratios, such as md.PML or md.DP(1, 'adjacent')",
            got=quote(notion),
            remedy="averages over outcomes say nothing about one; notions that need more than "
            "levels are passed as instances",
        )
    return found


def _ratios(
    notion: LikelihoodBound, prior: Prior, likelihoods: tuple[Fraction, ...]
) -> Iterator[tuple[Any, int, Fraction | None]]:
    """Every bound with its pairs and their ratios; ``None`` for an infinite one."""
    # A kernel with these likelihoods at its first outcome; the second takes the rest.
    common = math.lcm(*(v.denominator for v in likelihoods))
    column = [int(v * common) for v in likelihoods]
    bits = max(1, common.bit_length())
    rest = [(1 << bits) - v for v in column]
    weights = np.array([column, rest], dtype=object).T
    kernel = Mechanism.from_weights(weights, bits, prior.labels, [0, 1])
    for bound in notion.checked_bounds(prior):
        for pair, ratio in enumerate(bound.largest_ratios(kernel, 0)):
            yield bound, pair, ratio


def _level(ratio: Fraction | None, scale: Fraction) -> float:
    if ratio is None:
        return math.inf
    log = max(0.0, log_upper(ratio)) if ratio > 1 else 0.0
    if scale == 1 or not log:
        return log
    return math.nextafter(log / float(scale), math.inf) if scale else math.inf


def _within(
    notions: tuple[PrivacyNotion, ...], prior: Prior, likelihoods: tuple[Fraction, ...]
) -> bool:
    for notion in notions:
        for bound, pair, ratio in _ratios(_pointwise(notion), prior, likelihoods):
            if bound.is_vacuous:
                continue
            if ratio is None or compare_with_exp(ratio, bound.level(pair)) is not Verdict.YES:
                return False
    return True

"""The face that whatever was designed has, with a matrix or without one."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError, UtilityError, quote
from ..utility.estimation import Estimation
from .certificate import gap_out_of, gap_text

if TYPE_CHECKING:
    from ..privacy.notion import PrivacyNotion
    from ..utility.base import Utility

# Errors below this are slips.
_LEAST_ERROR = 1e-12


class Designed:
    """A kernel with what was asked of it, ``utility`` and ``notions``, and its ``certificate``."""

    utility: Utility
    notions: tuple[PrivacyNotion, ...]
    method: str
    certificate: Any

    @property
    def value(self) -> float:
        """Expected utility of the mechanism, maximised."""
        return float(self.certificate.value)

    @property
    def bound(self) -> float:
        """Proven upper bound on the utility of every private mechanism."""
        return float(self.certificate.bound)

    @property
    def gap(self) -> float:
        """(bound − value) over the utility's range, or over |value| where the utility is not
        linear; infinite where it is unknown.
        """
        return float(self.certificate.gap)

    @property
    def risk(self) -> float:
        """Mean squared error of the best unbiased estimate from reports, times their number.

        Raises :class:`UtilityError` for a design for another utility than estimation.
        """
        if not isinstance(self.utility, Estimation):
            raise UtilityError(
                "risk of a design",
                expected="one for md.utility.Estimation()",
                got=f"one for {quote(self.utility)}",
                remedy="ask md.utility.Estimation().risk(found.mechanism, found.prior)",
            )
        return 0.0 - self.value

    def reports_for(self, error: float) -> int:
        """How many reports bring the root of the mean squared error of all answers down to an
        error, at the truth that was designed for.

        Raises :class:`UtilityError` as :attr:`risk`, :class:`InputError` for an error that is no
        positive number.

        Examples
        --------
        >>> import mechdesign as md
        >>> found = md.design(md.Prior.uniform(3), md.utility.Estimation(), md.LDP(1))
        >>> round(found.risk, 6), found.reports_for(0.05)
        (5.026755, 2011)
        """
        number = isinstance(error, (int, float, np.number)) and not isinstance(error, bool)
        if not (number and _LEAST_ERROR <= error <= 1 / _LEAST_ERROR):
            raise InputError(
                "error of an estimate",
                expected=f"a positive number from {_LEAST_ERROR:g} to {1 / _LEAST_ERROR:g}",
                got=quote(error),
                remedy="pass the root of the mean squared error that is good enough, such as 0.01",
            )
        return max(1, math.ceil(Fraction(self.risk) / Fraction(float(error)) ** 2))

    @property
    def source(self) -> str:
        """The paper of the result or method that found it."""
        raise NotImplementedError

    def cite(self) -> str:
        """BibTeX of what a text that uses the design cites: the papers of its notions, its utility
        and the result or method that found it, and this package.

        Examples
        --------
        >>> import mechdesign as md
        >>> found = md.design(md.Prior.uniform(3), md.utility.Hamming(), md.LDP(1))
        >>> [line for line in found.cite().splitlines() if line.startswith("@")][-1]
        '@misc{mechdesign,'
        """
        from ..citations import bibtex

        asked = [key for notion in self.notions for key in notion.references]
        return bibtex([*asked, *self.utility.references, self.source])

    @property
    def status(self) -> str:
        """``"optimal"`` when the gap is at most 1e-6, else ``"private, gap …"``."""
        return "optimal" if self.certificate.is_optimal else f"private, gap {gap_text(self.gap)}"

    def _said(self, method: str) -> list[str]:
        """What was asked, value and bound, how it was found, and the levels."""
        asked = ", ".join(str(notion) for notion in self.notions)
        return [
            f"Design for {asked}, {self.utility!r}: {self.status}",
            f"value  {self.value:.10g}",
            f"bound  {self.bound:.10g}  (gap {gap_out_of(self.gap, self.utility.gap_unit)})",
            f"method {method}",
            *(
                f"exact  {check.notion}: {check.verdict}, achieved "
                + ", ".join(f"{level:.10g}" for level in check.achieved)
                for check in self.certificate.checks
            ),
        ]

    @property
    def _risk_line(self) -> str:
        return f"risk   {self.risk:.10g} (squared error times the number of reports)"

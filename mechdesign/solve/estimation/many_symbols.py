"""Subset selection as a method: which designs have reports that are subsets, and no matrix."""

from __future__ import annotations

from typing import Any

from ...errors import InputError, LevelError, SolverError
from ...prior import Prior
from ...privacy.notion import PrivacyNotion
from ...program.duals import Candidate
from ...subsets.bounds import asked_bounds
from ...subsets.choice import MOST_GROUPS
from ...subsets.selection import SUBSETS
from ...utility.base import Utility
from ...utility.estimation import Estimation
from ..method import Method
from .method import MOST_SYMBOLS

#: Symbols above which it is the first choice. There a search for columns takes 20 to 40 s of the
#: processor in place of 1, for a risk that is lower by 0.2 % (70 symbols, 1/x, LDP(1)) and 0.3 %
#: (75, 0.95^x, LDP(2)), and higher by 3 % (85, 1/x, LDP(3)) and 0.05 % (100, 1/x, LDP(1)).
FEW_SYMBOLS = 70


class SubsetMethod(Method):
    """Subset selection, which :func:`mechdesign.design` makes itself, as it solves no program."""

    name = SUBSETS
    features = frozenset[str]()
    reason = (
        f"for more than {FEW_SYMBOLS} symbols reports are subsets of them, drawn alike for symbols "
        "of near masses, without a matrix; the gap says what that costs at most"
    )
    source = "YeBarg2018"

    def refusal(self, program: Any, asked: dict[str, str] | None = None) -> str | None:
        """It is no way to solve a program."""
        return "it makes no matrix: design and explain alone take it"

    def solve(self, program: Any) -> Candidate:
        """Raises :class:`SolverError`."""
        raise SolverError(f"{self.name}: {self.refusal(program)}")


def is_subset_design(
    prior: Prior,
    utility: Utility | None,
    notions: tuple[PrivacyNotion, ...],
    is_restricted: bool,
    solver: str | Method,
) -> bool:
    """Whether a design is a subset selection: of every frequency, where more than ``FEW_SYMBOLS``
    keep bounds on ratios alone or have a few masses, and wherever ``solver`` names it.

    Raises :class:`InputError` where it is named and something else is asked.
    """
    is_named = isinstance(solver, str) and solver.lower() == SUBSETS
    is_plain = isinstance(utility, Estimation) and utility.asks_frequencies and not is_restricted
    if is_named and not is_plain:
        raise InputError(
            f"solver {SUBSETS}",
            expected="md.utility.Estimation() of every frequency at the prior, without outputs and "
            "requirements",
            got="something else",
            remedy="leave out of=, weights=, truth=, outputs= and subject_to= (reports of all "
            "frequencies answer other questions too), or take another solver",
        )
    if is_named or not is_plain or solver != "auto" or len(prior) <= FEW_SYMBOLS:
        return is_named
    if len(prior) > MOST_SYMBOLS:
        return True  # it says what it cannot do
    try:
        by_mean = asked_bounds(notions).are_by_mean
    except LevelError:
        return False
    return not by_mean or len({*prior.weights}) <= MOST_GROUPS

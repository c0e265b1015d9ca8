"""``try_out``: what a design would do with a column, before anything leaves or is written."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .checks import Whole, checked
from .errors import InputError
from .inference._estimate import estimate
from .inference.many import ManyEstimates
from .inference.planning import plan
from .inference.results import Estimate
from .labels import Label
from .mechanism import best_guesses
from .notebook import Tabular
from .prior import Prior
from .privacy import LDP
from .release.sampler import Sampler
from .solve._design import Design, design
from .subsets import SubsetSelection
from .utility.estimation import Estimation

if TYPE_CHECKING:
    from .privacy.notion import PrivacyNotion

#: The errors of shares for which a trial says how many reports they take.
ERRORS = (0.01, 0.02, 0.05)
# People of a prior that was counted of nobody.
_PEOPLE = 1000
# The fewest whose survey says anything.
_FEWEST = 10


@dataclass(frozen=True, eq=False)
class Trial(Tabular):
    """A design, and one survey with it: what is true of the people, and what their reports say.

    Attributes
    ----------
    design : that of the least error of frequencies
    shares : ``(N,)`` the true share of each symbol among these people
    estimate : shares estimated from one report of each person
    reports : for each error of :data:`ERRORS` how many reports keep all intervals within it in nine
        surveys of ten; infinite where no number does
    guesses : how likely a best guess of the secret of somebody is right, before and after their
        report; of reports that are subsets, the most that it can be
    """

    design: Design | SubsetSelection
    shares: NDArray[np.float64]
    estimate: Estimate | ManyEstimates
    reports: dict[float, float]
    guesses: tuple[float, float]

    @property
    def people(self) -> int:
        """How many people reported."""
        return self.estimate.reports

    @property
    def labels(self) -> Sequence[Label]:
        """The symbols."""
        return self.estimate.labels

    def rows(self) -> list[dict[str, Any]]:
        """One plain dictionary for each symbol: its true share, its estimate and the interval."""
        made = self.estimate.rows()
        return [
            {**row, "true": share} for row, share in zip(made, self.shares.tolist(), strict=True)
        ]

    def sentences(self) -> list[str]:
        """Whether it is private, what one report gives away, and how many an error takes."""
        asked = ", ".join(map(str, self.design.notions))
        most = "at most " if isinstance(self.design, SubsetSelection) else ""
        before, after = (f"{100 * chance:.3g} %" for chance in self.guesses)
        takes = ", ".join(
            f"± {100 * error:g} % takes {number:,.0f} reports"
            if math.isfinite(number)
            else f"± {100 * error:g} % is not reached by any number"
            for error, number in self.reports.items()
        )
        return [
            f"Private: {asked}, checked exactly. With one report, the best guess of somebody's "
            f"secret is right in {most}{after} of cases; without, in {before}.",
            f"Every share within {takes}.",
        ]

    def __repr__(self) -> str:
        lines = [
            f"{row['label']!s:<20.20} {row['true']:.4f} true, {row['estimate']:.4f} estimated, "
            f"{row['lower']:.4f} to {row['upper']:.4f}"
            for row in self.rows()
        ]
        return "\n".join([*self.sentences(), *lines])

    def plot(self, ax: Any = None) -> Any:
        """The estimates with their intervals beside what is true; returns the matplotlib axes."""
        from .plotting._plot_estimate import plot_estimate

        made: Any = self.estimate
        return plot_estimate(made, truth=self.shares, ax=ax)


@checked(InputError, people=Whole(_FEWEST, remedy="leave it out for as many as were counted"))
def try_out(
    data: Any,
    column: str | None = None,
    privacy: PrivacyNotion | Iterable[PrivacyNotion] | None = None,
    *,
    people: int | None = None,
    rng: Any = None,
    **read: Any,
) -> Trial:
    """Design for the frequencies of a column, draw a report of each person, and estimate.

    Nothing is written and nothing recorded; reports are forgotten once they are counted.

    Parameters
    ----------
    data : a table (a path, a frame, whatever :meth:`Prior.from_data` reads), or a Prior
    column : of the secret, for a table
    privacy : notion or list of them; ``LDP(1)`` where left out
    people : int, optional
        How many report, of whom the shares are those of the prior as nearly as whole numbers can
        be. As many as were counted where left out, ten at least, and 1,000 where nobody was.
    rng : int or numpy.random.Generator, optional
        For the same reports again.
    **read : what :meth:`Prior.from_data` takes, such as ``bins`` or ``sep``

    Raises
    ------
    InputError
        For a Prior with a column, and a number of people below 10.
    MechdesignError
        What :meth:`Prior.from_data` and :func:`design` raise.

    Examples
    --------
    >>> import mechdesign as md
    >>> prior = md.Prior.from_counts({"no": 700, "yes": 300})
    >>> found = md.try_out(prior, privacy=md.LDP(2), rng=1)
    >>> found.people, found.reports[0.05]
    (1000, 662)
    >>> [round(guess, 3) for guess in found.guesses]
    [0.7, 0.881]
    """
    prior = _prior_of(data, column, read)
    notions = LDP(1) if privacy is None else privacy
    made = design(prior, Estimation(), notions)
    counts = _people_of(prior, people)
    reports: Any = Sampler(made, rng).draw_codes(np.repeat(np.arange(len(counts)), counts))
    before = max(prior.weights) / prior.total
    if isinstance(made, SubsetSelection):
        odds = before * math.exp(made.log_ratio)
        after = odds / (odds + 1 - before)
    else:
        after = best_guesses(made.mechanism, prior)[1]
        drawn = np.bincount(reports, minlength=made.mechanism.shape[1]).tolist()
        reports = dict(zip(made.mechanism.outputs, drawn, strict=True))
    return Trial(
        made,
        counts / counts.sum(),
        estimate(reports, made),
        {error: plan(made, error=error).reports for error in ERRORS},
        (before, after),
    )


def _prior_of(data: Any, column: str | None, read: dict[str, Any]) -> Prior:
    if not isinstance(data, Prior):
        return Prior.from_data(data, column, **read)
    if column is not None or read:
        raise InputError(
            "column",
            expected="a table with it",
            got="a Prior, which is counted already",
            remedy="leave out the column and how it is read",
        )
    return data


def _people_of(prior: Prior, people: int | None) -> NDArray[np.int64]:
    """How many people have each symbol."""
    number = max(prior.counted or _PEOPLE, _FEWEST) if people is None else int(people)
    quotas = [weight * number for weight in prior.weights]
    counts = np.array([quota // prior.total for quota in quotas])
    rest = [quota % prior.total for quota in quotas]
    missing = number - int(counts.sum())
    counts[sorted(range(len(rest)), key=lambda place: -rest[place])[:missing]] += 1
    return counts

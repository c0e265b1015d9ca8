"""How far a report is from where somebody was: the loss of reports about places, as a utility."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..errors import UnknownNameError, UtilityError, quote
from ..labels import Label
from ..place_sets import PlaceSet
from ..prior import Prior
from ..utility import LinearUtility

KINDS = ("metres", "squared")
REPORTS = ("point", "cell")


class PlaceLoss(LinearUtility, register=False):
    """−E[d(X, Y)]: the expected distance of the report from the place, as its negative.

    Beside :meth:`Places.privacy` it is what [Bordenabe2014] design for, as a linear program.

    Parameters
    ----------
    places : Places
    kind : {"metres", "squared"}
        Metres, or square metres.
    reports : {"point", "cell"}
        Whether outputs are coordinates of places or their names.

    Raises
    ------
    UtilityError, UnknownNameError
        For priors over other symbols, other outputs, and unknown kinds.
    """

    references: ClassVar = ("Bordenabe2014",)

    def __init__(self, places: PlaceSet, kind: str = "metres", reports: str = "point") -> None:
        costs_of(places, kind)
        check_reports(reports)
        self.places, self.kind, self.reports = places, kind, reports

    @property
    def spec(self) -> str:
        """``metres`` or ``squared-metres``."""
        return "metres" if self.kind == "metres" else "squared-metres"

    @property
    def description(self) -> str:
        """What is maximised, in a line."""
        unit = "distance" if self.kind == "metres" else "squared distance"
        return f"the negative of the expected {unit} of the report from the place, in metres"

    def output_labels(self, prior: Prior) -> tuple[Label, ...]:
        """Coordinates of all places, or their names."""
        return self.places.labels if self.reports == "point" else self.places.names

    def gains(self, prior: Prior, outputs: Sequence[Label]) -> NDArray[np.float64]:
        """−d, an ``(N, M)`` array over the prior's places and the outputs."""
        rows = self._positions(prior.labels, self.places.labels, "prior")
        known = self.places.labels if self.reports == "point" else self.places.names
        columns = self._positions(outputs, known, "outputs")
        return -costs_of(self.places, self.kind)[np.ix_(rows, columns)]

    def _positions(
        self, labels: Sequence[Label], known: Sequence[Label], subject: str
    ) -> list[int]:
        place = {label: i for i, label in enumerate(known)}
        other = next((label for label in labels if label not in place), None)
        if other is not None:
            raise UtilityError(
                f"{subject} of the loss of places",
                expected=f"places such as {quote(known[0])}",
                got=quote(other),
                remedy="make the prior by the places: places.prior(visits)",
            )
        return [place[label] for label in labels]

    def __repr__(self) -> str:
        return f"PlaceLoss({self.kind})"


def costs_of(places: PlaceSet, kind: Any) -> NDArray[np.float64]:
    """Losses of a kind between places, ``(N, N)``; raises :class:`UnknownNameError`."""
    if not isinstance(kind, str) or kind not in KINDS:
        raise UnknownNameError("loss of places", kind, KINDS)
    return places.distances if kind == "metres" else places.distances**2


def check_reports(reports: Any) -> None:
    """Raise :class:`UnknownNameError` unless reports are points or cells."""
    if not isinstance(reports, str) or reports not in REPORTS:
        raise UnknownNameError("kind of reports", reports, REPORTS)

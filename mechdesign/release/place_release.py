"""Two columns of coordinates made reports by a kernel over places: points are snapped to places."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, asked_by
from ..labels import Label
from ..place_sets import MISSING, PlaceSet, degrees
from .codes import ABSENT, KEPT_OR_REPLACED, NULL_OR_REPLACED, rows_told
from .column import Reader
from .several import JointRelease


class PlaceRelease(JointRelease):
    """Privatises points, a latitude and a longitude in each row, by a kernel over places.

    Parameters are those of :class:`JointRelease`. Points that belong to no place of the kernel are
    unseen values, points that lack a coordinate are missing ones, and the policy says what is done
    with both.
    """

    _set: PlaceSet

    def _understand(self, labels: Sequence[Label], schema: Any) -> None:
        self._set = schema.places
        place = {label: i for i, label in enumerate(labels)}
        # Positions of inputs by places; a place without a row is none.
        self._inputs = np.array([place.get(label, ABSENT) for label in self._set.labels])

    def codes(self, read: Reader) -> NDArray[np.int64]:
        """Input positions for the rows of a part, by the policy; -1 for null reports."""
        found, blank = self._snapped(read)
        if blank.any() and self.policy.missing == "error":
            raise DataError(
                f"columns {self.column}",
                expected="no missing values",
                got=f"{int(blank.sum())} in the {self.rows + len(blank)} rows read",
                remedy=f"fill them in, or choose {asked_by(*KEPT_OR_REPLACED)}",
            )
        return self._decided(found, blank)

    def positions(
        self, read: Reader, values: Sequence[Any], places: NDArray[Any]
    ) -> NDArray[np.int64]:
        """Positions of the places of the points, whatever the policy is."""
        return self._snapped(read)[0]

    def settings(self, is_repeatable: bool, mark: Callable[[str], str]) -> dict[str, Any]:
        """What decides the reports, the places among it."""
        told = super().settings(is_repeatable, mark)
        return {**told, "places": mark(json.dumps(self._set.to_json(), sort_keys=True))}

    def _snapped(self, read: Reader) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Positions of inputs, -1 where there is none, and which rows lack a coordinate."""
        lat, lon = (degrees(read(name), name, texts=self.texts) for name in self._columns)
        places = self._set.snap(lat, lon)
        found = np.where(places >= 0, self._inputs[np.maximum(places, 0)], ABSENT)
        return found, places == MISSING

    def _unseen(self, unseen: NDArray[np.bool_]) -> DataError:
        rows = np.flatnonzero(unseen)
        return DataError(
            f"columns {self.column}",
            expected="points within the places of the design",
            got="points outside" + rows_told(rows, self.rows, len(unseen)),
            remedy="design for larger bounds or a larger reach, or choose "
            + asked_by(*NULL_OR_REPLACED),
        )

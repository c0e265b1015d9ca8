"""One column of a pandas data frame, with its dtype and index kept."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .batches import ColumnRelease, load_arrow, same_labels
from .receipts import KEY, receipts_of, receipts_to_text


def privatize_pandas(frame: Any, release: ColumnRelease, *, part: bool = False) -> Any:
    """A shallow copy of the frame, or of a part of a table, with the column replaced."""
    import pandas as pd

    release.find_among(list(frame.columns))
    series = frame[release.column]
    codes = _codes(series, release)
    identities = identities_of(frame, release, codes)
    drawn = release.draw(codes, identities)
    outputs = release.mechanism.outputs
    if isinstance(series.dtype, pd.CategoricalDtype):
        ordered = bool(series.dtype.ordered) and outputs == release.mechanism.inputs
        labels = pd.Index(list(outputs), tupleize_cols=False)
        values = pd.Series(pd.Categorical.from_codes(drawn, categories=labels, ordered=ordered))
    else:
        # Positions that are not there become null.
        values = _labels(outputs, series.dtype).reindex(drawn)
    made = frame.copy(deep=False)
    made[release.column] = values.set_axis(frame.index)
    carried = {**receipts_of(frame), str(release.column): release.receipt(rows=not part)}
    made.attrs = {**frame.attrs, KEY: receipts_to_text(carried)}
    return made


def identities_of(
    frame: Any, release: ColumnRelease, codes: NDArray[np.int64] | None
) -> list[bytes] | None:
    """Identities of the rows, checked; ``None`` where there are none."""
    if release.identity is None:
        return None
    return release.admit(_values(frame[release.identity.column]), codes)


def survey_pandas(frame: Any, release: ColumnRelease) -> tuple[list[bytes], Any]:
    """Identities of the rows and, where they are persons, their symbols."""
    assert release.identity is not None
    codes = _codes(frame[release.column], release) if release.identity.by_person else None
    return release.admit(_values(frame[release.identity.column]), codes), codes


def _codes(series: Any, release: ColumnRelease) -> NDArray[np.int64]:
    values = _values(series)
    return release.encode_values(values) if isinstance(values, list) else release.encode(values)


def _values(series: Any) -> Any:
    """An Arrow array, or a list where values of several types have no common Arrow type."""
    pa = load_arrow()
    try:
        return pa.Array.from_pandas(series)
    except (
        pa.ArrowInvalid,
        pa.ArrowTypeError,
        pa.ArrowNotImplementedError,
        OverflowError,
        UnicodeError,
    ):
        return series.to_list()


def _labels(outputs: tuple[Any, ...], dtype: Any) -> Any:
    """Labels as a series of the dtype where they fit it, else of their own."""
    import pandas as pd

    plain = np.empty(len(outputs), dtype=object)
    plain[:] = outputs
    try:
        found = pd.Series(plain, dtype=dtype)
        if same_labels(found.tolist(), outputs):
            return found
    except (ValueError, TypeError, OverflowError):
        pass
    return pd.Series(plain).infer_objects()

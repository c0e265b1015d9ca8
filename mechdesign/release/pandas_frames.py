"""One column of a pandas data frame, with its dtype and index kept."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .batches import ColumnRelease, load_arrow, same_labels
from .receipts import KEY, receipts_of, receipts_to_text


def privatize_pandas(frame: Any, release: ColumnRelease) -> Any:
    """A shallow copy of the frame with the column replaced."""
    import pandas as pd

    release.find_among(list(frame.columns))
    series = frame[release.column]
    drawn = release.draw(_codes(series, release))
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
    carried = {**receipts_of(frame), str(release.column): release.receipt()}
    made.attrs = {**frame.attrs, KEY: receipts_to_text(carried)}
    return made


def _codes(series: Any, release: ColumnRelease) -> NDArray[np.int64]:
    pa = load_arrow()
    try:
        array = pa.Array.from_pandas(series)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
        # Values of several types have no common Arrow type.
        return release.encode_values(series.to_list())
    return release.encode(array)


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

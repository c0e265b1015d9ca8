"""What a collector gives away: raw reports as Parquet, in constant memory."""

from __future__ import annotations

from typing import IO, Any

import numpy as np

from ..release.adapters import label_array
from ..release.receipts import with_receipt
from ..subsets import SubsetSelection
from .estimates import Estimator
from .store import Store


def write_reports(estimator: Estimator, store: Store, file: IO[bytes]) -> int:
    """Write all reports of a kernel as Parquet to an open file; returns how many.

    The columns are ``report``, in the type of the labels, and ``nonce``, by which the reports of
    several collectors can be told apart; the receipt in the metadata names the kernel.
    """
    import pyarrow as pa
    from pyarrow import parquet

    collected = estimator.collected
    labels = None
    if not isinstance(collected.public, SubsetSelection):
        labels = label_array(collected.public.outputs, pa.string())
    kind = pa.int64() if labels is None else labels.type
    fields = [("report", kind), ("nonce", pa.binary(16))]
    schema = with_receipt(pa.schema(fields), collected.receipt)
    rows = 0
    with parquet.ParquetWriter(file, schema) as writer:
        for page in store.pages(estimator.number):
            codes = pa.array(np.array([code for _, code in page], dtype=np.int64))
            reports: Any = codes if labels is None else labels.take(codes)
            nonces = pa.array([nonce for nonce, _ in page], type=pa.binary(16))
            writer.write_table(pa.Table.from_arrays([reports, nonces], schema=schema))
            rows += len(page)
    return rows

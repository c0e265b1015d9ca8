"""Receipts: what released data says about the mechanism that made it.

A receipt travels in the metadata of Arrow tables and Parquet files, in ``attrs`` of pandas frames
and in a JSON file next to a CSV file. It names the kernel by its fingerprint, so that estimates can
refuse reports of another mechanism.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from .. import __version__
from ..errors import DataError, StorageError
from ..mechanism import Mechanism
from ..reading import parse_json
from .sampler import mechanism_of

KEY = "mechdesign"
SCHEMA = 1


def kernel_fingerprint(mechanism: Mechanism) -> str:
    """SHA-256 of labels and weights: equal for equal kernels, whatever their denominator.

    >>> a = Mechanism.from_weights([[1, 1]], 1)
    >>> b = Mechanism.from_weights([[2, 2]], 2)
    >>> kernel_fingerprint(a) == kernel_fingerprint(b)
    True
    """
    weights, bits = mechanism.weights, mechanism.bits
    joined = int(np.bitwise_or.reduce(weights, axis=None)) | 1 << bits
    spare = (joined & -joined).bit_length() - 1
    digest = hashlib.sha256()
    parts = [[repr(v) for v in mechanism.inputs], [repr(v) for v in mechanism.outputs]]
    digest.update(json.dumps([*parts, bits - spare]).encode())
    for row in weights:
        digest.update((",".join(str(int(w) >> spare) for w in row) + ";").encode())
    return digest.hexdigest()


@dataclass(frozen=True)
class Receipt:
    """What made the reports of one column.

    Attributes
    ----------
    column : the column of reports
    kernel : fingerprint of the kernel that drew them
    design : fingerprint in the certificate of the design, where there is one
    notions : what the certificate guarantees, such as ``PML(0.5)``
    source : where the random words came from
    for_production : false for reports drawn with a seed, which whoever knows it can undo
    missing, unseen : what was done with values that are no inputs
    rows : number of rows, where it is known
    row, person : the column whose identities the reports belong to, where they were drawn with a
        key: by row, or one report for each person
    key : fingerprint of that key; the same key, kernel and column give the same reports again,
        another key a second release
    """

    column: str
    kernel: str
    design: str | None
    notions: tuple[str, ...]
    source: str
    for_production: bool
    missing: str = "error"
    unseen: str = "error"
    rows: int | None = None
    version: str = field(default=__version__)
    schema: int = SCHEMA
    row: str | None = None
    person: str | None = None
    key: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Plain values; what only reports with a key have is left out of others."""
        values = {**asdict(self), "notions": list(self.notions)}
        for name in ("row", "person", "key"):
            if values[name] is None:
                del values[name]
        return values


def make_receipt(item: Any, column: str, words: Any, **more: Any) -> Receipt:
    """The receipt of a column drawn from a design or a mechanism."""
    certificate = getattr(item, "certificate", None)
    return Receipt(
        str(column),
        kernel_fingerprint(mechanism_of(item)),
        None if certificate is None else certificate.fingerprint,
        tuple(str(notion) for notion in getattr(item, "notions", ())),
        words.source,
        words.for_production,
        **more,
    )


def receipts_to_text(receipts: Mapping[str, Receipt]) -> str:
    """JSON of receipts by column."""
    return json.dumps({name: receipt.to_json() for name, receipt in receipts.items()})


def receipts_from_text(text: str | bytes, name: str = "table") -> dict[str, Receipt]:
    """The inverse of :func:`receipts_to_text`.

    Raises :class:`DataError` for text that is no receipt, or for one of an unknown schema.
    """
    try:
        content = parse_json(text, f"receipt of {name}")
        found = {}
        for column, part in content.items():
            if part["schema"] != SCHEMA:
                raise DataError(
                    f"receipt of {name}",
                    expected=f"schema version {SCHEMA}",
                    got=f"{part['schema']!r}, written by mechdesign {part.get('version')}",
                    remedy="upgrade mechdesign",
                )
            found[str(column)] = Receipt(**{**part, "notions": tuple(part["notions"])})
        return found
    except DataError:
        raise
    except (StorageError, ValueError, TypeError, KeyError, AttributeError) as problem:
        raise DataError(
            f"receipt of {name}",
            expected="JSON written by mechdesign",
            got=f"something else ({type(problem).__name__})",
            remedy="take the receipt that was written with the reports",
        ) from None


def schema_receipts(schema: Any) -> dict[str, Receipt]:
    """The receipts in the metadata of an Arrow schema."""
    text = (schema.metadata or {}).get(KEY.encode())
    return {} if text is None else receipts_from_text(text)


def with_receipt(schema: Any, receipt: Receipt) -> Any:
    """The Arrow schema with one more receipt in its metadata."""
    kept = {**schema_receipts(schema), receipt.column: receipt}
    return schema.with_metadata(
        {**(schema.metadata or {}), KEY.encode(): receipts_to_text(kept).encode()}
    )


def receipts_of(data: Any) -> dict[str, Receipt]:
    """The receipts that a table carries, by column; empty where it carries none."""
    if isinstance(getattr(data, "attrs", None), dict):
        text = data.attrs.get(KEY)
        return {} if text is None else receipts_from_text(text)
    if type(data).__module__.startswith("pyarrow") and hasattr(data, "schema"):
        return schema_receipts(data.schema)
    return {}


def check_receipt(receipt: Receipt, mechanism: Any) -> None:
    """Refuse reports that another kernel made."""
    own = kernel_fingerprint(mechanism_of(mechanism))
    if receipt.kernel != own:
        raise DataError(
            f"reports in column {receipt.column!r}",
            expected=f"reports of this mechanism (kernel {own[:12]}…)",
            got=f"reports of another (kernel {receipt.kernel[:12]}…, "
            + (", ".join(receipt.notions) or "no notion")
            + ")",
            remedy="pass the mechanism that made them",
        )

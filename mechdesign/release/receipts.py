"""Receipts: what released data says about the mechanism that made it.

A receipt travels in the metadata of Arrow tables and Parquet files, in ``attrs`` of pandas frames
and in a JSON file next to a CSV file. It names the kernel by its fingerprint, so that estimates can
refuse reports of another mechanism. Other tables, and what is merged, joined or renamed, lose it:
:func:`save_receipt` keeps it in a file of its own, which :func:`estimate` takes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from .. import __version__
from ..errors import DataError, StorageError, UnknownNameError, quote
from ..exact import write_integer
from ..files import parse_json, read_text, write_text
from ..mechanism import Mechanism
from ..privacy import DP, LDP, ApproximateLDP, MetricPrivacy
from ..privacy.notion import notion_fields
from .sampler import mechanism_of

KEY = "mechdesign"
SCHEMA = 1
#: What these ask of a kernel is the same under every prior of all its symbols.
FREE = (LDP, DP, MetricPrivacy, ApproximateLDP)


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
        digest.update((",".join(write_integer(int(w) >> spare) for w in row) + ";").encode())
    return digest.hexdigest()


def told_in_public(notions: Iterable[Any]) -> tuple[tuple[Any, ...], tuple[str, ...]]:
    """Notions whose parameters say nothing about the data, and the names and levels of the others.

    Sets of priors, chances given a side information and the like may be counts of people.

    >>> import mechdesign as md
    >>> told_in_public([md.PML(1), md.RobustPML.from_counts(0.5, {"a": 3, "b": 2})])
    ((PML(epsilon=1.0),), ('RobustPML(0.5)',))
    """
    whole, named = [], []
    for notion in notions:
        values = notion_fields(notion).values()
        if isinstance(notion, FREE) or all(
            value is None or isinstance(value, (int, float)) for value in values
        ):
            whole.append(notion)
        else:
            named.append(str(notion))
    return tuple(whole), tuple(named)


def public_fingerprint(
    mechanism: Mechanism, notions: Iterable[Any], stated: Iterable[str] = ()
) -> str:
    """SHA-256 of a kernel and the notions it keeps, which says nothing else about a prior.

    The fingerprint in a certificate covers the prior as well. Where that was counted in data,
    whoever has the fingerprint can try counts until they find those of the people, so it must not
    go where reports go. Nor must that of a notion that holds priors: ``stated`` is what is told of
    such, see :func:`told_in_public`.
    """
    whole, named = told_in_public(notions)
    parts: list[Any] = [
        [type(notion).__name__, *(repr(pair) for pair in sorted(notion_fields(notion).items()))]
        for notion in whole
    ]
    parts += [*named, *stated]
    return hashlib.sha256(json.dumps([kernel_fingerprint(mechanism), parts]).encode()).hexdigest()


@dataclass(frozen=True)
class Receipt:
    """What made the reports of one column.

    Attributes
    ----------
    column : the column of reports
    kernel : fingerprint of the kernel that drew them
    design : public fingerprint of the design, where there is one
    notions : what the certificate guarantees, such as ``PML(0.5)``
    source : where the random words came from
    for_production : false for reports drawn with a seed, which whoever knows it can undo
    missing, unseen : what was done with values that are no inputs
    rows : number of rows, where it is known
    row, person : the column whose identities the reports belong to, where they were drawn with a
        key: by row, or one report for each person
    key : fingerprint of that key; the same key, kernel and column give the same reports again,
        another key a second release
    reports : fingerprint of the reports, where it is known; a column of another name is known by it
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
    reports: str | None = None
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


_FIELDS = {part.name for part in fields(Receipt)}
_OPTIONAL = {part.name for part in fields(Receipt) if part.default is None or part.name == "design"}


def _fitting(name: str, value: Any) -> Any:
    """A field of a receipt; ``TypeError`` or ``ValueError`` for what none can hold there."""
    texts = value if name == "notions" else [value]
    if name in ("for_production", "rows", "schema"):
        if type(value) is not (bool if name == "for_production" else int) and not (
            name == "rows" and value is None
        ):
            raise TypeError(f"the field {name} of a receipt holds another kind of value")
        if name == "rows" and value is not None and value < 0:
            raise ValueError("a receipt of fewer than no rows")
    elif value is None and name in _OPTIONAL:
        return value
    elif not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise TypeError(f"the field {name} of a receipt holds another kind of value")
    return value


def make_receipt(item: Any, column: str, words: Any, **more: Any) -> Receipt:
    """The receipt of a column drawn from a design or a mechanism."""
    mechanism, notions = mechanism_of(item), getattr(item, "notions", ())
    # In the order of the public form, so that it does not matter which of the two was applied.
    whole, named = told_in_public(notions)
    stated = (*named, *getattr(item, "stated", ()))
    return Receipt(
        str(column),
        kernel_fingerprint(mechanism),
        public_fingerprint(mechanism, whole, stated) if whole or stated else None,
        (*map(str, whole), *stated),
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
                    got=f"{quote(part['schema'])}, written by mechdesign {part.get('version')}",
                    remedy="upgrade mechdesign",
                )
            known = {key: _fitting(key, part[key]) for key in part if key in _FIELDS}
            found[str(column)] = Receipt(**{**known, "notions": tuple(part["notions"])})
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
    """The receipts that a table carries, by column; empty where it carries none.

    Metadata outlive slices, filters and concatenations, so a number of rows larger than that of the
    table is left out; a smaller one says that some rows came from elsewhere.
    """
    found: dict[str, Receipt] = {}
    if isinstance(getattr(data, "attrs", None), dict):
        text = data.attrs.get(KEY)
        found = {} if text is None else receipts_from_text(text)
    elif type(data).__module__.startswith("pyarrow") and hasattr(data, "schema"):
        found = schema_receipts(data.schema)
    rows = _rows_of(data) if found else None
    return {
        column: receipt
        if rows is None or receipt.rows is None or receipt.rows <= rows
        else replace(receipt, rows=None)
        for column, receipt in found.items()
    }


def _rows_of(data: Any) -> int | None:
    """The number of rows, where it takes no computing."""
    rows = getattr(data, "num_rows", None)
    if rows is None and type(data).__module__.startswith("pandas"):
        rows = len(data)
    return rows if isinstance(rows, int) else None


def save_receipt(data: Any, path: str | Path, *, overwrite: bool = False) -> None:
    """Write the receipt of reports to a file, for tables that lose it on their way.

    Parameters
    ----------
    data : Receipt, or a table that carries receipts
    path : file to write, JSON
    overwrite : whether it may exist

    Raises
    ------
    DataError
        For a table that carries none.
    StorageError
        When the file exists or cannot be written.

    Examples
    --------
    >>> import tempfile, mechdesign as md, pandas as pd
    >>> flip = md.Mechanism([[.75, .25], [.25, .75]], ["no", "yes"], ["no", "yes"])
    >>> made = md.privatize(pd.DataFrame({"x": ["no", "yes"] * 10}), "x", flip, rng=1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     md.save_receipt(made, folder + "/receipt.json")
    ...     counts = made["x"].value_counts().to_dict()
    ...     md.estimate(counts, flip, receipt=folder + "/receipt.json").receipt.column
    'x'
    """
    found = {data.column: data} if isinstance(data, Receipt) else receipts_of(data)
    if not found:
        raise DataError(
            "receipt",
            expected="a receipt, or a table that carries one",
            got=f"a {type(data).__name__} without",
            remedy="save it with the reports: md.privatize(..., receipt='receipt.json')",
        )
    note = {"receipts": json.loads(receipts_to_text(found))}
    write_text(json.dumps(note, indent=1) + "\n", path, overwrite=overwrite)


def load_receipt(path: str | Path, column: str | None = None) -> Receipt:
    """The receipt of a column from a file: that of :func:`save_receipt`, or one beside a CSV file.

    Where the file holds one receipt only, its column may have another name by now.
    """
    try:
        text = json.dumps(json.loads(read_text(path))["receipts"])
    except (ValueError, KeyError, TypeError, RecursionError):
        raise DataError(
            f"receipt {Path(path).name}",
            expected="JSON written by mechdesign",
            got="something else",
            remedy="take the receipt that was written with the reports",
        ) from None
    found = receipts_from_text(text, Path(path).name)
    if column in found:
        return found[column]
    if len(found) != 1:
        raise UnknownNameError(f"column of receipt {Path(path).name}", column, found)
    return next(iter(found.values()))


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

"""The ledger: which mechanisms were applied to whom, so that repeated releases are added up."""

from __future__ import annotations

import datetime
import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from .errors import InputError, RepeatWarning, StorageError, warn
from .files import check_writable, write_text
from .reading import read_json
from .release.accounting import compose
from .release.receipts import Receipt
from .storage import from_json, to_json

FORMAT, SCHEMA = "mechdesign-ledger", 1


def read_ledger(path: str | Path) -> dict[str, Any]:
    """The content of a ledger; an empty one where there is no file.

    Raises :class:`StorageError` for a file that is no ledger or has an unknown schema.
    """
    if not Path(path).exists():
        return {"format": FORMAT, "schema": SCHEMA, "releases": [], "mechanisms": {}}
    try:
        content = read_json(path)
    except StorageError as problem:
        raise StorageError(f"ledger {path}: {problem}") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise StorageError(
            f"ledger {path}: expected a ledger written by mechdesign, got something else; choose "
            "another name for the ledger."
        )
    if content.get("schema") != SCHEMA:
        raise StorageError(
            f"ledger {path}: expected schema version {SCHEMA}, got {content.get('schema')!r}; "
            "upgrade mechdesign to read it."
        )
    releases, mechanisms = content.get("releases"), content.get("mechanisms")
    if (
        not isinstance(releases, list)
        or not isinstance(mechanisms, dict)
        or not all(map(_is_release, releases))
    ):
        raise StorageError(
            f"ledger {path}: a part is missing or has another form, so the file was edited or "
            "damaged; take the original ledger."
        )
    return content


def _is_release(row: Any) -> bool:
    words = ("about", "column", "kernel", "date")
    return isinstance(row, dict) and all(isinstance(row.get(word), str) for word in words)


def check_ledger(path: str | Path, others: Iterable[Path]) -> None:
    """Refuse, before anything is released, a ledger that a release could not be recorded in."""
    read_ledger(path)
    check_writable(path, overwrite=True)
    if os.path.realpath(path) in {os.path.realpath(other) for other in others}:
        raise InputError(
            "--ledger",
            expected="a file of its own",
            got=f"{path}, which is written or read as well",
            remedy="choose another name for the ledger",
        )


def warn_of_earlier(path: str | Path, about: str, column: str, item: Any) -> int:
    """Warn of earlier releases about the same people and secret, with what all add up to.

    Returns how many there were.
    """
    content = read_ledger(path)
    earlier = [r for r in content["releases"] if (r["about"], r["column"]) == (about, column)]
    if not earlier:
        return 0
    try:
        kinds = dict.fromkeys(release["kernel"] for release in earlier)
        made = {kind: from_json(content["mechanisms"][kind], str(path)) for kind in kinds}
        total = str(compose(*(made[release["kernel"]] for release in earlier), item))
    except KeyError:
        raise StorageError(
            f"ledger {path}: the mechanism of a release is missing, so the file was edited; take "
            "the original ledger."
        ) from None
    except InputError:
        total = "what they add up to is not known, as the mechanisms have different inputs"
    warn(
        f"column {column!r} of {about} was released {len(earlier)} time"
        f"{'s' if len(earlier) > 1 else ''} before, last on {earlier[-1]['date']}; {total}; "
        "keep the earlier reports instead, unless that much leakage is allowed",
        RepeatWarning,
    )
    return len(earlier)


def record(path: str | Path, about: str, receipt: Receipt, item: Any, output: str) -> None:
    """Add a release to a ledger, which is made if it is not there."""
    content = read_ledger(path)
    entry = {
        "about": about,
        "date": datetime.date.today().isoformat(),
        "output": output,
        **receipt.to_json(),
    }
    content["releases"].append(entry)
    content["mechanisms"].setdefault(receipt.kernel, to_json(item))
    write_text(json.dumps(content, indent=1) + "\n", path, overwrite=True)

"""Ledgers of the first kind: one JSON object beside the output, with whole designs in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .errors import InputError, StorageError
from .files import read_json, read_text
from .mechanism import Mechanism
from .privacy.notion import PrivacyNotion, parse_notion
from .release.sampler import mechanism_of
from .storage import from_json

FORMAT = "mechdesign-ledger"


def specs(item: Any) -> list[str]:
    """The notions of a design as they are written on the command line, where they can be."""
    return [notion.spec for notion in getattr(item, "notions", ()) if _is_readable(notion)]


def _is_readable(notion: PrivacyNotion) -> bool:
    try:
        return parse_notion(notion.spec) == notion
    except InputError:
        return False


def is_first(path: Path) -> bool:
    """Whether a file is a ledger of the first kind."""
    return is_first_text(read_text(path))


def is_first_text(text: str) -> bool:
    """Whether a text is that of a ledger of the first kind."""
    text = text.lstrip()[:400]
    return text.startswith("{") and f'"format": "{FORMAT}"' in text and '"schema": 1' in text


def read_first(path: Path) -> tuple[list[dict[str, Any]], dict[str, Mechanism]]:
    """Releases and kernels of a ledger that holds whole designs; raises :class:`StorageError`."""
    try:
        content = read_json(path)
        made = {key: from_json(item, str(path)) for key, item in content["mechanisms"].items()}
        kernels = {key: mechanism_of(item) for key, item in made.items()}
        rows = [
            {
                "kind": "release",
                "time": str(row["date"]),
                "name": Path(row["about"]).name,
                "about": [f"file {row['about']}", f"name {row['about']}"],
                "column": str(row["column"]),
                "kernel": str(row["kernel"]),
                "design": row.get("design"),
                "notions": specs(made[row["kernel"]]),
                "source": row.get("source"),
                "output": Path(row["output"]).name,
            }
            for row in content["releases"]
        ]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise StorageError(
            f"ledger {path}: a part is missing or has another form, so the file was edited or "
            "damaged; take the original ledger."
        ) from None
    return rows, kernels

"""Which releases of a ledger are about the same secrets, and which gave the same reports again."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from .receipts import Fingerprint, Receipt


def by_column(releases: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The releases, and each column of those of several as one of its own."""
    found = []
    for release in releases:
        found.append(release)
        found += [{**release, **part} for part in release.get("parts", ())]
    return found


def same_secrets(
    releases: Sequence[dict[str, Any]],
    finger: Fingerprint,
    who: str,
    column: str,
    people: str | None = None,
) -> list[dict[str, Any]]:
    """The releases about the same secrets, by what they are, or by whom they are said to be of,
    without those whose draws are on the accounts of these people.
    """
    found = []
    for release in releases:
        known = release.get("secrets") or {}
        named = column == release["column"] and who in release["about"]
        straight = finger.sequence == known.get("sequence")
        counted = people and (release.get("persons") or {}).get("people") == people
        if not counted and (named or straight or finger.values == known.get("values")):
            found.append({**release, "in_other_order": not named and not straight})
    return found


def report_inputs(pairs: str | None, receipt: Receipt) -> dict[str, Any] | None:
    """All that reports under a key are a function of, besides their column and kernel."""
    if receipt.key is None or pairs is None:
        return None
    of = {} if receipt.round is None else {"round": receipt.round}
    return {"key": receipt.key, "pairs": pairs, **of}


def is_again(release: dict[str, Any], receipt: Receipt, drawn_by: dict[str, Any] | None) -> bool:
    """Whether a release gives the very reports of an earlier one again: nothing new is told."""
    return (
        drawn_by is not None
        and release.get("drawn by") == drawn_by
        and (release["column"], release["kernel"]) == (receipt.column, receipt.kernel)
    )


def distinct(releases: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The last of those that gave the same reports, and all others."""
    found = {}
    for release in releases:
        same = [release["column"], release["kernel"], release.get("drawn by"), release["number"]]
        found[json.dumps(same[:3] if same[2] else same, sort_keys=True)] = release
    return list(found.values())


def known_secrets(
    releases: Sequence[dict[str, Any]], columns: Mapping[str, Fingerprint], who: str
) -> list[str]:
    """Those of some columns that were released as secrets under the same name.

    They are known by what they hold, or by whom they are about; reports of them are none.
    """
    found = []
    for name, finger in columns.items():
        own = [release for release in releases if release["column"] == name]
        are_reports = any(release.get("reports") == finger.sequence for release in own)
        if not are_reports and same_secrets(own, finger, who, name):
            found.append(name)
    return found

"""Whether reports came from the mechanism that is said to have made them, as far as can be told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import DataError, InputError, MisfitWarning, UnknownNameError, warn
from .fingerprints import known_reports
from .receipts import Receipt, check_receipt, load_receipt

#: Estimates from reports that fit the mechanism with a smaller probability are refused.
MISFIT = 1e-6
MISFITS = ("error", "warn")


@dataclass(frozen=True)
class Trace:
    """What is known of where reports came from.

    Attributes
    ----------
    receipt : the receipt that names the mechanism, ``None`` where none came with the reports
    note : what could not be told, a sentence; empty where all reports are accounted for
    """

    receipt: Receipt | None
    note: str


def trace(
    reports: Any, column: str | None, mechanism: Any, given: Any, count: int, name: str = "reports"
) -> Trace:
    """Find the receipt of reports, the one given or one that their table carries, and check it.

    Parameters
    ----------
    reports : table, column or counts
    column : name of their column in a table
    given : Receipt, path of a file with one, or ``None``
    count : number of reports

    Raises
    ------
    DataError
        When the receipt names another mechanism.
    """
    found = None
    if isinstance(given, Receipt):
        found = given
    elif isinstance(given, (str, Path)):
        found = load_receipt(given, column)
    elif given is not None:
        raise InputError(
            "receipt",
            expected="a Receipt, or the path of a file with one",
            got=type(given).__name__,
            remedy="pass what md.save_receipt wrote",
        )
    elif column is not None and not isinstance(reports, Mapping):
        found = known_reports(reports, column)
    if found is None:
        return Trace(
            None,
            f"no receipt came with the {name}: whether this mechanism made them could not be told, "
            "and those of a noisier one would fit it as well",
        )
    check_receipt(found, mechanism)
    if found.rows is not None and count > found.rows:
        return Trace(
            found,
            f"the receipt that came with the {name} is of {found.rows} of {count}: whether this "
            "mechanism made the others could not be told",
        )
    return Trace(found, "")


def check_misfit_option(misfit: str) -> None:
    """Raise :class:`UnknownNameError` for what is no way to take a misfit."""
    if misfit not in MISFITS:
        raise UnknownNameError("what to do about a misfit", misfit, MISFITS)


def judge_fit(fit: float, misfit: str, name: str = "reports") -> None:
    """Refuse reports, or warn of them, that the mechanism makes next to never.

    ``fit`` bounds the probability of such reports whatever the secrets are, so that of a million
    honest estimates at most one is refused.
    """
    if fit >= MISFIT:
        return
    if misfit == "warn":
        warn(
            f"such {name} have probability {fit:.1g} at most from this mechanism, whatever the "
            "distribution of the secret; check that it made them and that nobody changed them",
            MisfitWarning,
        )
        return
    raise DataError(
        name,
        expected="reports of this mechanism",
        got=f"some that it makes with probability {fit:.1g} at most, whatever the secrets are",
        remedy="check that it made them, that nobody changed them and that they are no raw data; "
        "misfit='warn' (--misfit warn) estimates all the same",
    )

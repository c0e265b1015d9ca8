"""``count_reports``: raw reports in any engine, reduced to counts that add up."""

from __future__ import annotations

from typing import Any

from ..errors import DataError, quote
from ..mechanism import kernel_of
from .report_counts import ReportCounts
from .reports import sample_of


def count_reports(
    reports: Any, mechanism: Any, column: str | None = None, *, missing: str = "error"
) -> ReportCounts:
    """How often each output was reported, counted where the reports are.

    DuckDB, Dask, Spark, Polars and Arrow group by the column themselves; what comes back has at
    most as many rows as the kernel has outputs. In SQL it is ::

        SELECT report, count(*) AS reports FROM collected GROUP BY report

    whose rows, as a mapping, :class:`ReportCounts` takes. Where reports of several collectors may
    hold the same one twice, as a device sent it to both, each nonce counts once ::

        SELECT report, count(*) AS reports
        FROM (SELECT DISTINCT nonce, report FROM collected) GROUP BY report

    Parameters
    ----------
    reports : table with ``column``, column of reports, or mapping from output to count
        Any table that :func:`privatize` takes, or the path of one. A receipt that it carries must
        name this mechanism.
    mechanism : Mechanism, Design or SubsetSelection
    column : name of the column in a table
    missing : {"error", "drop"}
        Null reports.

    Raises
    ------
    DataError
        For reports that the mechanism cannot produce or did not make.

    Examples
    --------
    >>> import mechdesign as md
    >>> flip = md.Mechanism([[.75, .25], [.25, .75]], ["no", "yes"], ["no", "yes"])
    >>> md.count_reports(["no", "no", "yes"], flip)["no"]
    2
    """
    if column is not None and not isinstance(column, str):
        raise DataError(
            "column",
            expected="the name of the column of reports",
            got=quote(column),
            remedy="pass its name, or leave it out for a list of reports",
        )
    made = kernel_of(mechanism)
    outputs, counts = sample_of(reports, {column: made}, (), missing, fewest=0).totals()
    met = {made.outputs[place]: n for place, n in zip(outputs, counts.tolist(), strict=True)}
    sources = reports.sources if isinstance(reports, ReportCounts) else ()
    return ReportCounts(made, met, sources=sources)

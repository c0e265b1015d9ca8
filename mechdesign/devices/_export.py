"""``export``: a file by which a device or a database draws reports itself."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .._public_form import public_form
from ..errors import InputError, KernelError, UnknownNameError, quote
from ..files import write_text
from ..mechanism import Mechanism, kernel_of
from ..published import PublicDesign
from ..release._identifiability import warn_of_untold
from ..release.codings import joined
from ..release.drawing import check_order, columns_of
from ..solve.columns_plan import KernelPlan
from .bins_sql import check_numbers
from .javascript import client_module
from .sql import sql_script

TARGETS = ("javascript", "sql")
# Of a module that does not say what is asked.
_COLUMN = "report"


def export(
    designed: Any,
    path: str | Path,
    *,
    to: str,
    column: str | Sequence[str] | None = None,
    dialect: str | None = None,
    table: str | None = None,
    keep: Sequence[str] | None = None,
    into: str | None = None,
    overwrite: bool = False,
) -> None:
    """Write a file that draws reports of a kernel where the secret is, with exactly its chances.

    The file holds the public form of a design: kernel, labels and guarantee, but no prior.

    Parameters
    ----------
    designed : Design, Mechanism or KernelPlan
    path : file to write
    to : {"javascript", "sql"}
        JavaScript: one ES module without dependencies, for browsers and Node: it draws from
        ``crypto.getRandomValues``, remembers its reports, so that the same value of the same person
        has the same report for ever (in IndexedDB of a browser, in files of Node), and makes
        receipts. With a secret key and an identity it gives the reports that :func:`privatize`
        gives with ``person=`` and ``key=``.

        A plan is one module for all of its columns, with one file of receipts. It refuses
        combinations of values that the guarantee is not about, and holds a list of the others
        where it is not about all. A collector tells reports apart by their kernels, so that columns
        with equal kernels need a collector each.
        In SQL each column of a plan is an export of its own, into ``…_COLUMN_reports``.

        SQL: a table of the weights, and one transaction that makes a table of reports from a
        table of secrets, with one random word for each row from the engine's own secure source.
        Numbers of a column with bins are placed as :func:`privatize` places them, by the type that
        the column has; in PostgreSQL and DuckDB :func:`bins_to_sql` does the same alone.
        Values that are no inputs stop it, and nothing is written then. The receipt is the comment
        of the table of reports.
    column : str, or list of str, optional
        What is asked, as in :func:`privatize`; the columns that the kernel knows when left out, and
        ``"report"`` in JavaScript where it knows none. The name belongs to receipts and to the
        reports of a key. SQL reads the secret from this column, or these, and a report of several
        stands in columns of the same names where outputs are tuples, else in one of all names.
    dialect : {"postgresql"}, for SQL
        Engines without secure randomness, such as DuckDB, are refused.
    table, into : for SQL
        The table with the secrets, and the new one, ``…_reports`` when left out (with the name of
        the column before it for plans). A dot ends the name of a schema, unless it is in double
        quotes.
    keep : names of other columns to copy beside the reports, for SQL
    overwrite : whether the file may exist

    Raises
    ------
    UnknownNameError
        For an unknown target or dialect.
    InputError
        For options of the other target, an engine without secure randomness, and bad names.
    KernelError
        For a kernel without a matrix; for SQL, also for weights that are no multiples of 2⁻⁵³ and
        labels of several types.
    StorageError
        For JavaScript, labels other than text, numbers, truth values, ``None`` and tuples of
        these; and when the file exists or cannot be written.

    Warns
    -----
    CountsWarning
        When the kernel reveals the masses of the prior it was fitted to.
    UntoldWarning
        When its reports are uninformative.

    Examples
    --------
    >>> import tempfile, mechdesign as md
    >>> from pathlib import Path
    >>> flip = md.Mechanism([[.75, .25], [.25, .75]], ["no", "yes"], ["no", "yes"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     md.export(flip, folder + "/client.mjs", to="javascript")
    ...     "getRandomValues" in Path(folder, "client.mjs").read_text()
    True
    """
    if not isinstance(to, str) or to not in TARGETS:
        raise UnknownNameError("target of an export", to, TARGETS)
    only_sql = {"dialect": dialect, "table": table, "keep": keep, "into": into}
    if to == "javascript":
        for name, value in only_sql.items():
            if value is not None:
                raise InputError(
                    name,
                    expected="--to sql with it",
                    got=f"--to {to}",
                    remedy="leave it out",
                )
        text = device_module(designed, column)[1]
    else:
        columns, is_plan = _columns(designed, column), isinstance(designed, KernelPlan)
        if is_plan and (column is None or len(columns) != 1):
            raise InputError(
                "column",
                expected="one column of the plan, whose reports are to be drawn in SQL",
                got="none" if column is None else str(len(columns)),
                remedy=f"name one (--column {designed.names[0]}), and write a file for each",
            )
        for name, value in {"column": columns or None, **only_sql}.items():
            if value is None and name in ("column", "dialect", "table"):
                raise InputError(
                    name,
                    expected=f"it beside --to {to}",
                    got="none",
                    remedy="add for example --dialect postgresql --table people --column answer",
                )
        mechanism = _published(designed[columns[0]] if is_plan else designed)
        apart = columns[0] if is_plan else ""
        text = sql_script(
            mechanism, dialect, table=table, columns=columns, keep=keep, into=into, apart=apart
        )
    write_text(text, path, overwrite=overwrite)


def device_module(
    designed: Any, column: str | Sequence[str] | None = None
) -> tuple[dict[str, Mechanism | PublicDesign], str]:
    """What draws reports in a browser or in Node: kernels by column, in their public form, and the
    text of one ES module for all of them.

    Parameters and errors are those of :func:`export`.
    """
    columns = _columns(designed, column)
    if not isinstance(designed, KernelPlan):
        kernels = {joined(columns) or _COLUMN: _published(designed)}
        return kernels, client_module([(one, name) for name, one in kernels.items()])
    if len(columns) != len(designed.names) or len(set(columns)) < len(columns):
        raise InputError(
            "column",
            expected=f"{len(designed.names)} different names, one for each column of the plan",
            got=str(len(columns)),
            remedy="leave them out for those of the plan",
        )
    kernels = dict(zip(columns, map(_published, designed.designs), strict=True))
    known = None
    if designed.combinations is not None:
        places = [{x: i for i, x in enumerate(one.inputs)} for one in kernels.values()]
        known = sorted(
            [place[x] for place, x in zip(places, row, strict=True)]
            for row in designed.combinations
        )
    return kernels, client_module(
        [(one, name) for name, one in kernels.items()],
        together=f"{designed.total} of {joined(columns)} together",
        combinations=known,
    )


def _columns(designed: Any, column: Any) -> tuple[str, ...]:
    """The columns that are named, else those that the design knows, or none."""
    known = columns_of(designed)
    columns = known if column is None else _named(column)
    check_order(columns, known)
    return columns


def _named(column: Any) -> tuple[str, ...]:
    found = column if isinstance(column, (list, tuple)) else (column,)
    if not found or not all(isinstance(name, str) and name for name in found):
        raise InputError(
            "column",
            expected="the name of what is asked, or of each part of it",
            got=quote(column),
            remedy="pass text such as 'answer'",
        )
    return tuple(found)


def _published(designed: Any) -> Mechanism | PublicDesign:
    """What others may have of a design, or a kernel as it is."""
    found = kernel_of(designed)
    if not isinstance(found, Mechanism):
        raise KernelError(
            "kernel",
            expected="one with a matrix",
            got=f"a {type(found).__name__}",
            remedy="draw its reports with mechdesign apply (md.privatize), or design for fewer "
            "symbols",
        )
    schema = found.schema
    if schema is not None and schema.places is not None:
        raise KernelError(
            "kernel",
            expected="inputs that a device or a database has",
            got="places, to which points are snapped first",
            remedy="draw its reports with mechdesign apply (md.privatize), or export the kernel "
            "alone (found.mechanism.with_schema(None)) and snap before",
        )
    if found.schema is not None:
        for name, bins in zip(found.schema.names, found.schema.bins, strict=True):
            if bins is not None:
                check_numbers(bins, f"bins of column {quote(name)}")
    warn_of_untold(designed)
    made = public_form(designed)
    assert isinstance(made, Mechanism)
    return made

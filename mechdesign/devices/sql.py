"""A kernel as SQL: a table of its weights, and statements that draw one report for each row.

Integers decide, as everywhere: a word of 53 random bits lies in exactly one of the intervals of a
row of the kernel, which are as long as its weights.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from typing import Any

from .. import __version__
from .._bins import MISSING, Bins
from ..errors import InputError, KernelError, UnknownNameError, listed, quote
from ..exact import DENOMINATOR_BITS
from ..labels import Label, listing
from ..mechanism import Mechanism
from ..published import shown_fingerprint
from ..release.codes import cell_text
from ..release.codings import joined
from ..release.receipts import make_receipt, receipts_to_text
from .bins_sql import place_in_bins
from .sql_names import identifier, text_literal

DIALECTS = ("postgresql",)
# Engines that people ask for, whose random functions are not secure, and why.
_INSECURE = {
    "duckdb": "DuckDB, whose random() and uuid() are known to whoever knows a seed (setseed)",
    "sqlite": "SQLite, whose random() is no secure source",
    "mysql": "MySQL, whose rand() and uuid() can be guessed",
}
_NAME = re.compile(r'"(?:[^"]|"")+"|[^".]+')
# 53 of the 122 random bits of a UUID of version 4: the first 48, and 5 of those behind its version.
# PostgreSQL has them from its secure source and fails where there is none.
_DIGITS = "pg_catalog.replace(pg_catalog.gen_random_uuid()::text, '-', '')"
_WORD = "('x' || pg_catalog.substr(hex, 1, 12) || pg_catalog.substr(hex, 14, 2))::bit(56)::bigint"
_SPARE = 56 - DENOMINATOR_BITS


class _Engine:
    """The words of PostgreSQL, as a receipt names them."""

    source = "PostgreSQL (gen_random_uuid)"
    for_production = True


def sql_script(
    mechanism: Mechanism,
    dialect: Any,
    *,
    table: Any,
    columns: Sequence[Any],
    keep: Any = None,
    into: Any = None,
    apart: str = "",
) -> str:
    """Statements that draw reports for columns of a table, in one transaction.

    Parameters
    ----------
    dialect : {"postgresql"}
    table : the table with the secrets; a dot ends the name of its schema, unless it is in ``"``
    columns : that which holds them, or several for inputs that are tuples of their values; outputs
        that are such tuples, too, stand in columns of the same names, others in one of all names
    keep : other columns to copy beside the reports
    into : new table for the reports; ``…_reports`` beside the other when left out
    apart : stands before ``_reports`` there, where other tables of reports are made beside it

    Raises
    ------
    UnknownNameError
        For an unknown dialect.
    InputError
        For engines without secure randomness, and for names that the engine cannot have.
    KernelError
        For weights that are no multiples of 2⁻⁵³, and labels without a type of the engine.
    """
    _check_dialect(dialect)
    parts = _parts(table, "table")
    beside = f"_{apart}_reports" if apart else "_reports"
    made = [*parts[:-1], parts[-1] + beside] if into is None else _parts(into, "into")
    source, target = _joined(parts), _joined(made)
    kernel = _joined([*made[:-1], made[-1] + "_kernel"])
    others = [keep] if isinstance(keep, str) else keep
    if others is None:
        others = []
    others = listed(others, "keep", "names of columns", InputError, "pass a list such as ['id']")
    secrets, kept = ([identifier(name, "column") for name in some] for some in (columns, others))
    schema = mechanism.schema
    bins = schema.bins if schema is not None and len(schema) == len(secrets) else ()
    inputs = _Labels(mechanism.inputs, len(secrets), "input", bins)
    outputs = _Labels(mechanism.outputs, len(secrets), "output")
    reported = secrets if len(outputs.names) > 1 else [identifier("_".join(columns), "column")]
    for what, found, expected in (
        ("keep", [*secrets, *kept], "columns, those of the secret not among them"),
        ("keep", [*reported, *kept], "columns, those of the reports not among them"),
        ("into", [source, target, kernel], "tables than that of the secrets"),
    ):
        if len(set(found)) < len(found):
            raise InputError(
                what,
                expected=f"different {expected}",
                got="a name that is there twice",
                remedy="choose other names",
            )
    matches = " AND ".join(inputs.matches(i) for i in range(len(secrets)))
    rows = ",\n".join(
        f"  ({inputs.literals(x)}, {outputs.literals(y)}, {low}, {high})"
        for x, y, low, high in intervals(mechanism)
    )
    receipt = make_receipt(mechanism, joined(columns), _Engine)
    note = f'{{"receipts": {receipts_to_text({receipt.column: receipt})}}}'
    read = [inputs.read(f"t.{name}", i) for i, name in enumerate(secrets)]
    copied = [f"t.{name}" for name in kept]
    taken = ", ".join(f"{value} AS c{i}" for i, value in enumerate([*read, *copied]))
    told = ", ".join(
        [f"k.{out} AS {name}" for out, name in zip(outputs.names, reported, strict=True)]
        + [f"t.c{i} AS {name}" for i, name in enumerate(kept, len(secrets))]
    )
    asked = ", ".join(f"{value} AS c{i}" for i, value in enumerate(read))
    check = f"""DECLARE
  total bigint;
  others bigint;
BEGIN
  SELECT count(*), count(*) FILTER (WHERE NOT EXISTS (SELECT FROM {kernel} AS k WHERE {matches}))
    INTO total, others FROM (SELECT {asked} FROM {source} AS t) AS t;
  IF total = 0 THEN
    RAISE EXCEPTION 'table: expected at least one row, got none; check how it was filled.';
  ELSIF others > 0 THEN
    RAISE EXCEPTION 'column: expected inputs of the kernel, got other values in % of % rows; \
correct them, or design for them.', others, total;
  END IF;
END"""
    count = f"""BEGIN
  IF (SELECT count(*) FROM {target}) <> (SELECT count(*) FROM {source}) THEN
    RAISE EXCEPTION 'reports: expected one for each row, got another number; draw from a table \
whose rows stay as they are.';
  END IF;
END"""
    told_as = " ".join(f"--column {shlex.quote(name)}" for name in _plain(reported))
    copied_out = shlex.quote(
        f"\\copy (SELECT {', '.join(reported)} FROM {target}) TO 'reports.csv' CSV HEADER"
    )
    named = shown_fingerprint(receipt.kernel)
    described = shlex.quote(f"SELECT obj_description({text_literal(target)}::regclass)")
    return f"""-- Made by mechdesign {__version__}: reports of kernel {named} (fingerprint).
-- Run it as a whole, as by psql -v ON_ERROR_STOP=1 -f FILE: all of it happens, or nothing.
-- Whoever runs it has the secrets. A second run would give second reports of the same people; it
-- fails where the tables of the first are there.
--
-- To estimate from the reports, with DESIGN the file of that kernel (a design, or its public form):
-- the comment of the table is the receipt, which names the kernel, so that another is refused.
--   psql -c {copied_out}
--   psql -Atc {described} > receipt.json
--   mechdesign estimate DESIGN reports.csv {told_as} --receipt receipt.json
BEGIN ISOLATION LEVEL REPEATABLE READ;

-- Words from low to high - 1, of 2^{DENOMINATOR_BITS}, give this output for this input.
CREATE TABLE {kernel} (
  {inputs.columns}, {outputs.columns},
  low bigint NOT NULL, high bigint NOT NULL, CHECK (low < high)
);
INSERT INTO {kernel} VALUES
{rows};

{_block(check)}

-- Each row has one word: it is drawn, kept, and then looked up.
CREATE TABLE {target} AS
WITH drawn AS MATERIALIZED (
  SELECT {taken}, {_DIGITS} AS hex FROM {source} AS t
), words AS MATERIALIZED (
  SELECT *, {_WORD} >> {_SPARE} AS word FROM drawn
)
SELECT {told} FROM words AS t JOIN {kernel} AS k
  ON {matches} AND t.word >= k.low AND t.word < k.high;
COMMENT ON TABLE {target} IS {text_literal(note)};

{_block(count)}

COMMIT;
"""


def intervals(mechanism: Mechanism) -> Iterator[tuple[Label, Label, int, int]]:
    """Input, output and the words that give it, from low to high - 1, where there are some.

    >>> flip = Mechanism.from_weights([[1, 0], [1, 0]], 0, ["no", "yes"])
    >>> list(intervals(flip))[0] == ("no", 0, 0, 2**53)
    True

    Raises :class:`KernelError` for weights that are no multiples of 2⁻⁵³.
    """
    times, finer = divmod(1 << DENOMINATOR_BITS, mechanism.denominator)
    if finer or not mechanism.is_exact:
        raise KernelError(
            "kernel",
            expected=f"entries that are multiples of 2^-{DENOMINATOR_BITS} and sum to one exactly",
            got="finer ones" if mechanism.is_exact else "rows that are rounded",
            remedy="take a design, or make the kernel exact with md.certify",
        )
    for x, row in zip(mechanism.inputs, mechanism.weights, strict=True):
        ends = accumulate((int(weight) * times for weight in row), initial=0)
        for y, (low, high) in zip(mechanism.outputs, pairwise(ends), strict=True):
            if low < high:
                yield x, y, low, high


# What is written into statements


class _Labels:
    """Labels of a kernel as columns of its table: one, or one for each part of tuples.

    Attributes
    ----------
    names : of the columns
    """

    def __init__(
        self, labels: Sequence[Label], parts: int, what: str, bins: Sequence[Bins | None] = ()
    ) -> None:
        self._is_split = parts > 1 and all(isinstance(x, tuple) and len(x) == parts for x in labels)
        self._what, self._bins = what, (bins or (None,) * parts)
        if parts > 1 and what == "input" and not self._is_split:
            raise KernelError(
                "inputs of the kernel",
                expected=f"tuples of {parts} values, one for each column",
                got=listing(labels),
                remedy="name as many columns as the inputs are made of",
            )
        columns = zip(*labels, strict=True) if self._is_split else [labels]
        self._values = [list(dict.fromkeys(own)) for own in columns]
        count = len(self._values)
        self.names = [what] if count == 1 else [f"{what}_{i + 1}" for i in range(count)]
        self._kinds = [
            _kind([v for v in own if v is not None or what == "output"], f"{what}s")
            for own in self._values
        ]

    @property
    def columns(self) -> str:
        """Their definitions."""
        rule = " NOT NULL" if self._what == "output" else ""
        pairs = zip(self.names, self._kinds, strict=True)
        return ", ".join(f"{name} {kind}{rule}" for name, kind in pairs)

    def literals(self, label: Label) -> str:
        """The values of a label."""
        parts = label if self._is_split else [label]
        pairs = zip(parts, self._kinds, strict=True)
        return ", ".join(_literal(part, kind) for part, kind in pairs)

    def read(self, value: str, place: int) -> str:
        """What stands for a secret: its own value, or the place of its bin."""
        bins = self._bins[place]
        return value if bins is None else place_in_bins(bins, value, "postgresql")

    def matches(self, place: int) -> str:
        """The condition that column c0, c1, … of the secrets t holds the value of the kernel k."""
        name, kind, bins = self.names[place], self._kinds[place], self._bins[place]
        own, is_null = f"t.c{place}", f"t.c{place} IS NULL"
        if bins is not None:
            known = [label if label in self._values[place] else None for label in bins.labels]
            listed = ", ".join(_literal(label, kind) for label in known)
            own, is_null = f"(ARRAY[{listed}]::{kind}[])[{own} + 1]", f"{own} = {MISSING}"
        same = f"{own} = k.{name}" + (' COLLATE "C"' if kind == "text" else "")
        if None not in self._values[place]:
            return same
        return f"({same} OR {is_null} AND k.{name} IS NULL)"


def _check_dialect(dialect: Any) -> None:
    why = _INSECURE.get(dialect) if isinstance(dialect, str) else None
    if why is not None:
        raise InputError(
            "dialect",
            expected="an engine with a secure source of random numbers (postgresql)",
            got=why,
            remedy="draw outside it: md.privatize(relation, …), or mechdesign apply on a file",
        )
    if not isinstance(dialect, str) or dialect not in DIALECTS:
        raise UnknownNameError("dialect", dialect, DIALECTS)


def _parts(name: Any, what: str) -> list[str]:
    """The parts of a name that may have a schema before it."""
    found = _NAME.findall(name) if isinstance(name, str) else []
    if not found or ".".join(found) != name:
        raise InputError(
            what,
            expected="the name of a table, such as people or survey.people",
            got=quote(name),
            remedy='put names with dots or quotes into double quotes, as in survey."my.people"',
        )
    return [part[1:-1].replace('""', '"') if part[0] == '"' else part for part in found]


def _joined(parts: Sequence[str]) -> str:
    return ".".join(identifier(part, "table") for part in parts)


def _plain(names: Sequence[str]) -> list[str]:
    """Names that are written in double quotes, as they are."""
    return [name[1:-1].replace('""', '"') for name in names]


def _block(body: str) -> str:
    """Statements between dollars, in a tag that does not occur in them."""
    tag = "$mechdesign$"
    while tag in body:
        tag = tag[:-1] + "_$"
    return f"DO {tag}{body}{tag};"


def _kind(labels: Sequence[Label], what: str) -> str:
    """The type of PostgreSQL for labels, tuples as JSON."""
    types = {type(label) for label in labels}
    if types == {str} and not any("\0" in label for label in labels):
        return "text"
    if types == {tuple} and what == "outputs":
        return "text"
    if types == {bool}:
        return "boolean"
    if types == {int}:
        return "numeric" if max(map(abs, labels)) >> 63 else "bigint"
    if types <= {int, float} and all(map(_is_double, labels)):
        return "double precision"
    raise KernelError(
        f"{what} of the kernel",
        expected="labels of one type that a column has: text without NUL, numbers or truth values",
        got=listing(labels),
        remedy="relabel them",
    )


def _is_double(number: int | float) -> bool:
    """Whether a double has exactly this value."""
    return isinstance(number, float) or abs(number) <= 1 << DENOMINATOR_BITS


def _literal(label: Label, kind: str) -> str:
    if label is None:
        return "NULL"
    if kind == "text":
        return text_literal(cell_text(label))
    if kind == "double precision":
        return f"'{float(label)!r}'"
    return str(label).upper() if kind == "boolean" else str(label)

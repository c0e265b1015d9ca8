"""Counts of reports by kernel and output: all that an estimate needs, and they add up.

Reports of one kernel are exchangeable: an estimate depends on them only through how often each
output came. So a collector keeps counts, collectors in several places add theirs up, and an engine
that holds raw reports reduces them to counts by one grouping.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..errors import DataError, StorageError, listed, quote
from ..files import new_file, parse_json, read_text, write_text
from ..labels import Label, counted, tidy
from ..mechanism import kernel_of
from ..published import kernel_fingerprint, shown_fingerprint
from ..stored_values import label_from_json, label_to_json
from ..tables import open_table
from ..tables.reading import read_columns

FORMAT, SCHEMA = "mechdesign-counts", 1
_MOST = 1 << 53


def report_text(report: Any) -> str:
    """One text for each report, equal for reports that are equal in JSON, whoever writes them.

    Numbers are compared by value, as JavaScript writes 1.0 as 1; lists and tuples are the same.
    Text never equals a number, nor ``true`` a 1. Raises :class:`StorageError` for what no file can
    hold as a label, such as NaN.

    >>> report_text(1.0), report_text("1"), report_text(("a", True))
    ('1', '"1"', '["a",true]')
    """
    return json.dumps(_plain(tidy(report)), separators=(",", ":"), ensure_ascii=False)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        with suppress(LookupError, ValueError, ArithmeticError, TypeError, AttributeError):
            value = label_from_json(value)
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    if isinstance(value, float) and math.isfinite(value) and value.is_integer():
        return int(value)
    return label_to_json(value)


class ReportCounts:
    """How often each output of one kernel was reported.

    Parameters
    ----------
    mechanism : Mechanism, Design or SubsetSelection
        What made the reports; the counts keep its fingerprint, not the kernel.
    counts : mapping from output to count, optional
    sources : names of collectors, optional
        Where counts come from: those that share a source are not added up, as the same reports
        would count twice.

    Attributes
    ----------
    kernel : fingerprint of the kernel, as receipts name it
    counts : mapping from the report, as JSON text (:func:`report_text`), to how often it came
    sources : as given, sorted

    Raises
    ------
    DataError
        For what is no output of the kernel, and for counts that are no integers.

    Examples
    --------
    >>> import mechdesign as md
    >>> flip = md.Mechanism([[.75, .25], [.25, .75]], ["no", "yes"], ["no", "yes"])
    >>> here = md.ReportCounts(flip, {"no": 4000, "yes": 1000})
    >>> there = md.ReportCounts(flip, {"no": 2000, "yes": 3000})
    >>> (here + there)["no"], len(here + there)
    (6000, 10000)
    >>> round(md.estimate(here + there, flip)["no"], 6)
    0.7
    """

    kernel: str
    counts: Mapping[str, int]
    sources: tuple[str, ...]

    def __init__(
        self,
        mechanism: Any,
        counts: Mapping[Label, int] | None = None,
        *,
        sources: Iterable[str] = (),
    ) -> None:
        made = kernel_of(mechanism)
        if counts is not None and not isinstance(counts, Mapping):
            raise DataError(
                "counts of reports",
                expected="a mapping from output to count",
                got=quote(counts, 40),
                remedy="count a column or a table with md.count_reports",
            )
        names = listed(sources, "sources", "names of collectors", DataError)
        known, found, wrong = _places(made), Counter[str](), 0
        for label, count in (counts or {}).items():
            if known(text := _text_of(label)):
                found[text] += checked_count(tidy(count))
            else:
                wrong += 1
        if wrong:
            raise DataError(
                "counts of reports",
                expected="outputs of the mechanism",
                got=f"{wrong} other value{'s' if wrong > 1 else ''}",
                remedy="pass the mechanism that made the reports",
            )
        self._set(kernel_fingerprint(made), found, names)

    def _set(self, kernel: str, counts: Mapping[str, int], sources: Iterable[str]) -> ReportCounts:
        names = list(sources)
        if not all(isinstance(name, str) for name in names):
            raise _no_counts("sources that are no names")
        self.kernel, self.sources = kernel, tuple(sorted(names))
        self.counts = {text: counts[text] for text in sorted(counts) if counts[text]}
        return self

    # Reading

    def __len__(self) -> int:
        """Number of reports."""
        return sum(self.counts.values())

    def __bool__(self) -> bool:
        return True

    def __getitem__(self, label: Label) -> int:
        return self.counts.get(_text_of(label), 0)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ReportCounts):
            return NotImplemented
        return (self.kernel, self.counts) == (other.kernel, other.counts)

    def __repr__(self) -> str:
        kernel = shown_fingerprint(self.kernel)
        met = counted(len(self.counts), "output")
        return f"{counted(len(self), 'report')} of kernel {kernel}, {met} met"

    def by_label(self, mechanism: Any) -> dict[Label, int]:
        """Counts by output of the mechanism; raises :class:`DataError` for another kernel."""
        made = kernel_of(mechanism)
        own = kernel_fingerprint(made)
        if self.kernel != own:
            raise DataError(
                "counts of reports",
                expected=f"those of this mechanism (kernel {shown_fingerprint(own)})",
                got=f"those of another (kernel {shown_fingerprint(self.kernel)})",
                remedy="pass the mechanism that made the reports",
            )
        outputs = made.outputs
        if isinstance(outputs, range):
            return {int(text): count for text, count in self.counts.items()}
        return {
            label: count for label in outputs if (count := self.counts.get(report_text(label), 0))
        }

    # Adding up

    def merge(self, *others: ReportCounts) -> ReportCounts:
        """The sum of these counts and others, which must be of the same kernel.

        Raises :class:`DataError` for counts of another kernel, and for those that share a source,
        as the same reports would count twice.
        """
        return sum(others, self)

    def __add__(self, other: Any) -> ReportCounts:
        if isinstance(other, int) and other == 0:  # as ``sum`` begins
            return self
        if not isinstance(other, ReportCounts):
            return NotImplemented
        if other.kernel != self.kernel:
            raise DataError(
                "counts of reports",
                expected=f"those of one kernel ({shown_fingerprint(self.kernel)})",
                got=f"those of two (and {shown_fingerprint(other.kernel)})",
                remedy="add up counts of each kernel alone; md.estimate_rounds combines estimates",
            )
        if shared := {*self.sources} & {*other.sources}:
            raise DataError(
                "counts of reports",
                expected="counts of different collectors",
                got=f"two of collector {quote(min(shared))}",
                remedy="take the later of the two: the same reports would count twice",
            )
        total = Counter(self.counts) + Counter(other.counts)
        checked = {text: checked_count(count) for text, count in total.items()}
        sources = {*self.sources, *other.sources}
        return ReportCounts.__new__(ReportCounts)._set(self.kernel, checked, sources)

    __radd__ = __add__

    # Files

    def to_json(self) -> dict[str, Any]:
        """Plain values, the inverse of :meth:`from_json`."""
        return {
            "format": FORMAT,
            "schema": SCHEMA,
            "kernel": self.kernel,
            "sources": list(self.sources),
            "reports": len(self),
            "counts": [[json.loads(text), count] for text, count in self.counts.items()],
        }

    @classmethod
    def from_json(cls, content: Any) -> ReportCounts:
        """Counts from plain values; raises :class:`DataError` for anything else."""
        if not isinstance(content, dict):
            raise _no_counts("something else")
        try:
            if content["format"] != FORMAT or content["schema"] != SCHEMA:
                raise _no_counts("another format or schema version")
            kernel, found = content["kernel"], {}
            for report, count in content["counts"]:
                found[report_text(report)] = checked_count(count)
            if len(found) != len(content["counts"]) or sum(found.values()) != content["reports"]:
                raise _no_counts("counts that do not add up")
            return cls.__new__(cls)._set(_digest(kernel), found, content["sources"])
        except DataError:
            raise
        except (TypeError, KeyError, ValueError, AttributeError, StorageError) as problem:
            raise _no_counts(f"something else ({type(problem).__name__})") from None

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write a file: Parquet where its name says so, else JSON.

        Parquet has the columns ``kernel``, ``report`` (JSON text) and ``count``, and the sources in
        its metadata. Raises :class:`StorageError` when the file exists or cannot be written.
        """
        if Path(path).suffix.lower() != ".parquet":
            write_text(json.dumps(self.to_json(), indent=1) + "\n", path, overwrite=overwrite)
            return
        import pyarrow as pa
        from pyarrow import parquet

        columns = [[self.kernel] * len(self.counts), [*self.counts], [*self.counts.values()]]
        types = {"kernel": pa.string(), "report": pa.string(), "count": pa.int64()}
        note = self.to_json()
        del note["counts"]
        schema = pa.schema(types, {FORMAT: json.dumps(note)})
        table = pa.table(dict(zip(types, columns, strict=True)), schema)
        with new_file(path, overwrite=overwrite) as name:
            parquet.write_table(table, name)

    @classmethod
    def load(cls, path: str | Path) -> ReportCounts:
        """Read what :meth:`save` wrote; raises :class:`DataError` for a file that holds none."""
        if Path(path).suffix.lower() != ".parquet":
            return cls.from_json(parse_json(read_text(path), f"file {path}", "pass counts"))
        try:
            note = json.loads((open_table(path).schema.metadata or {})[FORMAT.encode()])
            kernels, texts, counts = read_columns(path, ["kernel", "report", "count"])
            if {*kernels, note["kernel"]} != {note["kernel"]}:
                raise _no_counts("counts of several kernels")
            pairs = [[json.loads(text), n] for text, n in zip(texts, counts, strict=True)]
        except DataError:
            raise
        except (KeyError, ValueError, TypeError) as problem:
            raise _no_counts(f"something else ({type(problem).__name__})") from None
        return cls.from_json({**note, "counts": pairs})


def _text_of(label: Any) -> str:
    """The text of a report; nothing for what can be none."""
    try:
        return report_text(label)
    except (StorageError, TypeError):
        return ""


def _places(made: Any) -> Any:
    """A function that says whether a text is that of an output which may occur."""
    outputs = made.outputs
    if isinstance(outputs, range):
        return lambda text: text.isascii() and text.isdigit() and int(text) in outputs
    occurs = (made.weights != 0).any(axis=0)
    return {report_text(o) for o, some in zip(outputs, occurs, strict=True) if some}.__contains__


def checked_count(count: Any) -> int:
    """How often something was reported; raises :class:`DataError` for what is no such number."""
    if not isinstance(count, int) or isinstance(count, bool) or not 0 <= count <= _MOST:
        raise DataError(
            "counts of reports",
            expected="integers from 0 to 2**53",
            got=f"{quote(count, 40)} for one of them",
            remedy="pass how often each output was reported",
        )
    return count


def _digest(text: Any) -> str:
    if not isinstance(text, str) or not re.fullmatch("[0-9a-f]{64}", text):
        raise _no_counts("a kernel without a fingerprint")
    return text


def _no_counts(got: str) -> DataError:
    return DataError(
        "counts of reports",
        expected="what md.ReportCounts wrote, or a collector gives at /counts",
        got=got,
        remedy="take the file as it was written",
    )

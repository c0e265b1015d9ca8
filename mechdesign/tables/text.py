"""Separated text: its separator found, its encoding checked, every row of one length.

Arrow reads it. Before Arrow stands a stream that recodes and checks the bytes, and puts behind the
last row one that no file can hold: where Arrow does not meet that, a quote was left open.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

from ..errors import DataError, InputError, UnknownNameError, quote

# Bytes that are read at a time, and those at the beginning that show how a file is written.
_CHUNK, _HEAD = 1 << 19, 1 << 20
# Bytes of a block, which holds a whole row; the larger ones where a row is longer. Arrow reads up
# to 32 blocks ahead, so that most are small.
_BLOCKS = (1 << 19, 1 << 22, 1 << 26)
_SEPARATORS = ",;\t|"
# Rows that a separator must part alike.
_SAMPLED = 100
_MARK = "\0"
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


@dataclass(frozen=True)
class Dialect:
    """How a text file is written, as far as it is said.

    Parameters
    ----------
    sep : sign between cells; found by the first rows when left out
    encoding : such as ``"latin-1"``; UTF-8, or what a byte-order mark says, when left out
    """

    sep: str | None = None
    encoding: str | None = None

    def __post_init__(self) -> None:
        sep = {"tab": "\t", "\\t": "\t"}.get(self.sep, self.sep)  # type: ignore[arg-type]
        object.__setattr__(self, "sep", sep)
        is_sign = isinstance(sep, str) and len(sep.encode("utf-8", "replace")) == 1
        if sep is not None and (not is_sign or sep in '"\r\n\0'):
            raise InputError(
                "separator",
                expected="one sign, such as ; or tab",
                got=quote(sep),
                remedy="leave it out to have it found",
            )
        try:
            if self.encoding is not None:
                " ".encode(self.encoding)
        except (LookupError, TypeError):
            known = ("utf-8", "utf-16", "latin-1", "cp1252")
            raise UnknownNameError("encoding", self.encoding, known) from None


#: A file of which nothing is said.
AS_FOUND = Dialect()


class _CheckedText(io.RawIOBase):
    """Bytes of text in UTF-8 without a byte-order mark; refuses what is none, with its line."""

    def __init__(self, raw: BinaryIO, name: str, encoding: str | None, end: str = "") -> None:
        self._raw, self._name, self._end = raw, name, end
        self._ready, self._lines, self._is_done = b"", 0, False
        self._first = raw.read(4)
        marked = next((way for mark, way in _MARKS if self._first.startswith(mark)), None)
        self._encoding = marked or encoding or "utf-8"
        self._decoder = codecs.getincrementaldecoder(self._encoding)()

    def readable(self) -> bool:
        """It can be read."""
        return True

    def close(self) -> None:
        """Close what is read."""
        self._raw.close()
        super().close()

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer; 0 at the end."""
        while not self._ready and not self._is_done:
            self._ready = self._next()
        part = self._ready[: len(buffer)]
        buffer[: len(part)] = part
        self._ready = self._ready[len(part) :]
        return len(part)

    def _next(self) -> bytes:
        raw, self._first = self._first + self._raw.read(_CHUNK), b""
        self._is_done = not raw
        wrong = "other bytes"
        try:
            text = self._decoder.decode(raw, self._is_done)
        except UnicodeDecodeError as problem:
            text = problem.object[: problem.start].decode(self._encoding, "ignore")
        else:
            wrong = ""
        before, zero, _ = text.partition(_MARK)
        if wrong or zero:
            such = "utf-16" if zero else "latin-1"
            raise DataError(
                f"table {self._name}",
                expected=f"text in {self._encoding.removesuffix('-sig').upper()}",
                got=f"{'a zero byte' if zero else wrong} in line "
                f"{self._lines + _lines_in(before) + 1}",
                remedy=f"name its encoding, such as encoding='{such}' (--encoding {such}), or save "
                "it in UTF-8",
            )
        self._lines += _lines_in(text)
        return (text + (self._end if self._is_done else "")).encode()


def _lines_in(text: str) -> int:
    return max(text.count("\n"), text.count("\r"))


class TextFile:
    """A text file with a header.

    Parameters
    ----------
    opened : function that opens its bytes, unpacked, from the beginning
    name : of the file, for messages
    dialect : what is said of how it is written

    Attributes
    ----------
    sep : the sign between cells
    header : names of columns
    """

    def __init__(self, opened: Callable[[], BinaryIO], name: str, dialect: Dialect) -> None:
        self._opened, self._name, self._encoding = opened, name, dialect.encoding
        with self._stream() as stream:
            head = stream.read(_HEAD)
        text = head.decode("utf-8", "ignore")
        # Spreadsheets read and write such a line before the header.
        said = re.match(r"sep=(.)\r?\n", text)
        taken = [said[0]] if said else []
        text = text[said.end() :] if said else text
        self.sep = dialect.sep or (said and said[1]) or self._separator(text, len(head) < _HEAD)
        rows = csv.reader(_taken(text, taken), delimiter=self.sep)
        try:
            self.header = next(filter(None, rows), [])
        except csv.Error:
            most = "names of columns of at most 131,072 signs"
            raise self._refused(most, "longer ones") from None
        if not self.header:
            raise DataError(
                f"table {name}",
                expected="a header line and rows",
                got="an empty file",
                remedy="check the path",
            )
        self._start = sum(len(line.encode()) for line in taken)
        self._is_said = said is not None

    def _stream(self, start: int = 0, end: str = "") -> io.BufferedReader:
        """The text from a byte on, with more behind it."""
        text = _CheckedText(self._opened(), self._name, self._encoding, end)
        stream: io.BufferedReader = io.BufferedReader(text, _CHUNK)
        stream.read(start)
        return stream

    def _refused(self, expected: str, got: str, remedy: str = "") -> DataError:
        remedy = remedy or "check quotes and separators"
        return DataError(f"table {self._name}", expected=expected, got=got, remedy=remedy)

    def _separator(self, text: str, is_whole: bool) -> str:
        """The sign that parts the first rows into as many cells each as the header has."""
        samples = {sep: _sample(text, sep, is_whole) for sep in _SEPARATORS}
        widths = {sep: len(rows[0]) for sep, rows in samples.items() if rows and len(rows[0]) > 1}
        alike = {s: n for s, n in widths.items() if {len(row) for row in samples[s]} == {n}}
        known = alike or widths
        best = [sep for sep, width in known.items() if width == max(known.values())]
        if len(best) > 1:
            raise self._refused(
                "one sign between cells",
                f"rows that {' and '.join(map(quote, best))} part alike",
                "say which it is with sep= (--sep)",
            )
        return best[0] if best else ","

    def batches(self, columns: Sequence[int]) -> Iterator[Any]:
        """Record batches of the columns at some places, all of them text.

        Raises :class:`DataError` for a row of another length than the header, with its line.
        """
        import pyarrow as pa
        from pyarrow import csv as arrow_csv

        kept = [str(place) for place in columns]
        schema = pa.schema([(self.header[place], pa.string()) for place in columns])
        end = "\n" + self.sep.join([_MARK] * len(self.header)) + "\n"
        done, is_ended = 0, False
        for block in _BLOCKS:
            again = done
            try:
                with (
                    self._stream(self._start, end) as stream,
                    arrow_csv.open_csv(
                        stream,
                        arrow_csv.ReadOptions(
                            block_size=block,
                            use_threads=False,
                            column_names=[str(i) for i in range(len(self.header))],
                        ),
                        arrow_csv.ParseOptions(delimiter=self.sep, newlines_in_values=True),
                        arrow_csv.ConvertOptions(
                            column_types=dict.fromkeys(kept, pa.string()),
                            strings_can_be_null=False,
                            include_columns=kept,
                            check_utf8=False,
                        ),
                    ) as reader,
                ):
                    for batch in reader:
                        rows = batch.num_rows
                        is_ended = bool(rows) and batch.column(0)[rows - 1].as_py() == _MARK
                        # Of a file that is read again, what came before is not taken twice.
                        skipped = min(again, rows)
                        again -= skipped
                        fresh = batch.slice(skipped, rows - skipped - is_ended)
                        done += fresh.num_rows
                        if fresh.num_rows:
                            yield pa.RecordBatch.from_arrays(fresh.columns, schema=schema)
                break
            except pa.ArrowInvalid as problem:
                is_long = "straddl" in str(problem)
                if is_long and block != _BLOCKS[-1]:
                    continue
                if is_long:
                    most = f"rows of at most {_BLOCKS[-1]:,} bytes"
                    raise self._refused(most, "a longer one") from None
                raise self._ragged() from None
        if not is_ended:
            raise self._refused(
                "quotes that are closed",
                "a cell that takes in all lines behind it, to the last one",
                "close the quote, or double it where it is meant as a character",
            )

    def _ragged(self) -> DataError:
        """What is wrong with a file that Arrow refuses; the line is found by reading it again."""
        width, where, got = len(self.header), "", "another number"
        lines = io.TextIOWrapper(self._stream(), "utf-8", newline="")
        most = csv.field_size_limit(_BLOCKS[-1])
        with lines:
            rows = csv.reader(lines, delimiter=self.sep)
            before = 0
            try:
                for row in rows:
                    if row and len(row) != width and (before or not self._is_said):
                        where, got = f", in line {before + 1}", str(len(row))
                        break
                    before = rows.line_num
            except csv.Error:
                pass
            finally:
                csv.field_size_limit(most)
        return self._refused(
            f"{width} cells in every row, as the header has",
            got + where,
            "complete the row, put quotes around cells that hold the separator, or name another "
            "with sep= (--sep)",
        )


def _taken(text: str, taken: list[str]) -> Iterator[str]:
    """The lines of a text, each kept in a list when it is taken."""
    for line in io.StringIO(text, newline=""):
        taken.append(line)
        yield line


def _sample(text: str, sep: str, is_whole: bool) -> list[list[str]]:
    """The first rows of a text that are there as a whole, without empty ones."""
    rows: list[list[str]] = []
    try:
        for row in csv.reader(io.StringIO(text, newline=""), delimiter=sep):
            rows += [row] if row else []
            if len(rows) > _SAMPLED:
                break
        else:
            rows = rows if is_whole or len(rows) < 2 else rows[:-1]
    except csv.Error:
        pass
    return rows

"""Reports that can be drawn again: functions of a secret key and of the identity of their row.

An identity is written as bytes in one way, whatever holds it: the integer 7 of NumPy, Arrow,
polars or Spark and the text ``"7"`` of a CSV file are one identity. A UUID is its text. The key is
as secret as the data.
"""

from __future__ import annotations

import datetime
import os
import secrets
import stat
import tempfile
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from hashlib import blake2b
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, ExposureWarning, InputError, StorageError, quote, warn
from ..files import check_folder, check_named, write_text
from ..labels import counted, tidy
from ..published import shown_fingerprint
from ..tables.counting import is_missing
from ..tables.frames import listed_values
from .codes import ABSENT
from .words import SeededWords, SystemWords, Words, words_from

_FEWEST_BYTES = 32
_FIRST = "mechdesign-key-1 "
_EPOCH = datetime.datetime(1970, 1, 1)
_NANOSECONDS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
_LONGEST = 32
# Bytes of a word, and words that one hash has at most.
_WORD_BYTES, _MOST_WORDS = 8, 8
# Identities that are remembered in memory, and parts that the digests of others are sorted in.
_HELD, _BUCKETS = 1 << 17, 256
_RECORD = np.dtype([("first", "<u8"), ("second", "<u8"), ("symbol", "<i4")])
# What stands for another symbol of a person who is known to have several.
_ANOTHER = -2


# Keys


class ReleaseKey:
    """A secret that reports are a function of, together with the identities of their rows.

    It is as secret as the data: whoever knows it can undo every report. It never appears in what
    is printed, in receipts or in files of reports; its fingerprint does and says nothing about it.

    Parameters
    ----------
    secret : at least 32 bytes that nobody can guess

    Attributes
    ----------
    fingerprint : 32 hexadecimal digits, equal for equal keys

    Raises
    ------
    InputError
        For anything but bytes, and for too few of them.
    """

    def __init__(self, secret: bytes) -> None:
        is_bytes = isinstance(secret, (bytes, bytearray))
        if not is_bytes or len(secret) < _FEWEST_BYTES:
            raise InputError(
                "key",
                expected=f"at least {_FEWEST_BYTES} secret bytes, or what md.release_key() returns",
                got=counted(len(secret), "byte") if is_bytes else type(secret).__name__,
                remedy="make one with md.release_key(), or keep one in a file with "
                "md.release_key('release.key')",
            )
        self._secret = bytes(secret)
        # Keys of every length become one of 64 bytes, the most that BLAKE2b takes.
        self._root = blake2b(self._secret, digest_size=64, person=b"mechdesign-root").digest()
        name = blake2b(key=self._root, digest_size=16, person=b"mechdesign-name")
        self.fingerprint = name.hexdigest()

    def hash(self, digest_size: int, context: bytes) -> blake2b:
        """Keyed BLAKE2b that has taken in a context, to be copied for each row."""
        found = blake2b(key=self._root, digest_size=digest_size, person=b"mechdesign-words")
        found.update(len(context).to_bytes(8, "little") + context)
        return found

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ReleaseKey):
            return NotImplemented
        return secrets.compare_digest(self._secret, other._secret)

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __reduce__(self) -> Any:
        return ReleaseKey, (self._secret,)

    def __repr__(self) -> str:
        return f"ReleaseKey(fingerprint {shown_fingerprint(self.fingerprint)})"


def release_key(path: str | Path | None = None) -> ReleaseKey:
    """A secret key for :func:`privatize`: a fresh one, or the one that a file holds.

    Under the same key the same row gets the same report again: in every library, months later, on
    another machine. Keep one key for one set of people, whose identities mean the same in every
    table that it is used for; take another key for other people and for a release that is meant to
    be a new one.

    Parameters
    ----------
    path : file, optional
        Read where it exists; otherwise made, for its owner's eyes only (mode 0600). Of several
        processes that make it at once, one does and the others read it. Without a path the key is
        drawn from the operating system and kept nowhere.

    Returns
    -------
    ReleaseKey

    Raises
    ------
    StorageError
        For a file that holds no key, or cannot be read or made.

    Warns
    -----
    ExposureWarning
        When others may read the file.

    Examples
    --------
    >>> import mechdesign as md
    >>> md.release_key() == md.release_key()
    False
    """
    if path is None:
        return ReleaseKey(secrets.token_bytes(_FEWEST_BYTES))
    check_named(path, "key file")
    try:
        target = Path(path)
        if not target.exists():
            _make(target)
        return _read(target)
    except (TypeError, ValueError):
        raise StorageError(
            f"key file: expected the name of a file, got a {type(path).__name__} that names none; "
            "pass for example 'release.key'."
        ) from None
    except OSError as problem:
        raise StorageError(
            f"key file {path}: cannot be read or made ({problem.strerror}); choose another name."
        ) from None


def _make(target: Path) -> None:
    """Write a fresh key; one that another process made meanwhile stays as it is."""
    check_folder(target)
    text = _FIRST + secrets.token_hex(_FEWEST_BYTES) + "\n"
    try:
        write_text(text, target, overwrite=False, private=True)
    except StorageError:
        if not target.exists():
            raise
    else:
        # Reports that were made under a key that is lost cannot be made again.
        with open(target, "rb") as file:
            os.fsync(file.fileno())


def _read(target: Path) -> ReleaseKey:
    with open(target, "rb") as file:
        text = file.read(1024)
        mode = os.fstat(file.fileno()).st_mode
    try:
        line = text.decode("ascii").rstrip("\r\n")
        secret = bytes.fromhex(line.removeprefix(_FIRST))
        if not line.startswith(_FIRST) or len(secret) < _FEWEST_BYTES:
            raise ValueError
    except ValueError:
        raise StorageError(
            f"key file {target}: expected a key that md.release_key wrote, got something else; "
            "name the key file, or a new file to make one."
        ) from None
    if os.name == "posix" and stat.S_IMODE(mode) & 0o077:
        warn(
            f"key file {target}: others may read it (mode {stat.S_IMODE(mode):04o}), and whoever "
            "has the key can undo the reports; chmod 600",
            ExposureWarning,
        )
    return ReleaseKey(secret)


# Identities


@dataclass(frozen=True)
class Identity:
    """Which column identifies the rows, and under which key.

    Attributes
    ----------
    column : the column of identities
    by_person : whether rows of the same identity share one report; otherwise that is an error
    key : the secret
    source, for_production : as of words, for the receipt
    round : name of a round of fresh draws; ``None`` for those that are the same for ever
    """

    column: str
    by_person: bool
    key: ReleaseKey
    source: str
    for_production: bool
    round: str | None = None

    def receipt_fields(self) -> dict[str, Any]:
        """What a receipt says about it."""
        named = "person" if self.by_person else "row"
        return {named: str(self.column), "key": self.key.fingerprint, "round": self.round}


class IdentityWords(Words):
    """BLAKE2b under a secret key of column, kernel, round, identity, symbol and a counter.

    The symbol is part of what is hashed: should a row come again with another symbol, its word is
    independent of the first, where a shared word would let two reports rule symbols out.

    Parameters
    ----------
    identity : whose key it is
    column, kernel : name of the column of secrets, fingerprint of the kernel
    identities, codes : of each row, encoded, and the position of its symbol
    admitted : words of the only rows that may come, sorted, where they are known; those of others
        are an error
    rounds : that of each row, where they differ; else all are of the round of the identity
    """

    def __init__(
        self,
        identity: Identity,
        column: str,
        kernel: str,
        identities: Sequence[bytes],
        codes: NDArray[np.int64],
        admitted: NDArray[np.uint64] | None = None,
        rounds: Sequence[str | None] | None = None,
    ) -> None:
        super().__init__()
        self.source, self.for_production = identity.source, identity.for_production
        self._column, self._admitted = identity.column, admitted
        name = column.encode("utf-8", "surrogatepass")
        context = len(name).to_bytes(8, "little") + name + bytes.fromhex(kernel)
        self._key, self._context = identity.key, context
        self._identities, self._codes = identities, codes
        self._round, self._rounds = identity.round, rounds

    def next_words(self, number: int) -> NDArray[np.uint64]:
        """Words of the next rows."""
        words = self._digests(number, _WORD_BYTES)
        if self._admitted is not None and number:
            places = np.minimum(np.searchsorted(self._admitted, words), len(self._admitted) - 1)
            others = int((self._admitted[places] != words).sum())
            if others:
                raise _changed(self._column, others)
        return words

    def next_several(self, number: int, each: int) -> NDArray[np.uint64]:
        """Several words for each of the next rows, from hashes of up to eight of them."""
        if self._admitted is not None:
            self.next_words(number)
        size = min(each, _MOST_WORDS)
        parts = [
            self._digests(number, _WORD_BYTES * size, k).reshape(number, size)
            for k in range(-(-each // size))
        ]
        return np.hstack(parts)[:, :each]

    def _start(self, size: int, of: str | None) -> blake2b:
        """A hash of so many bytes that has taken in all but the row."""
        # What is behind the fingerprint, which has a fixed length, is the round.
        told = b"" if of is None else of.encode("utf-8", "surrogatepass")
        return self._key.hash(size, self._context + told)

    def _digests(self, number: int, size: int, counter: int = 0) -> NDArray[np.uint64]:
        """Hashes of the next rows, one after another, as words."""
        part = slice(self.position, self.position + number)
        codes, identities = self._codes[part], self._identities[part]
        heads = {int(code): _head(int(code), counter) for code in np.unique(codes)}
        digests = []
        if self._rounds is None:
            copy = self._start(size, self._round).copy
            for code, identity in zip(codes.tolist(), identities, strict=True):
                found = copy()
                found.update(heads[code] + identity)
                digests.append(found.digest())
        else:
            rounds = self._rounds[part]
            starts = {one: self._start(size, one) for one in set(rounds)}
            for code, identity, one in zip(codes.tolist(), identities, rounds, strict=True):
                found = starts[one].copy()
                found.update(heads[code] + identity)
                digests.append(found.digest())
        return np.frombuffer(b"".join(digests), dtype="<u8").astype(np.uint64, copy=False)

    def more_bits(self, position: int) -> Iterator[bytes]:
        """Further bytes for one row."""
        code, identity = int(self._codes[position]), self._identities[position]
        of = self._round if self._rounds is None else self._rounds[position]
        start = self._start(_WORD_BYTES, of)
        for counter in count(1):
            found = start.copy()
            found.update(_head(code, counter) + identity)
            yield found.digest()


def _head(code: int, counter: int) -> bytes:
    # Of fixed length, so that the identity, which comes last, needs no mark of its end.
    return code.to_bytes(8, "little", signed=True) + counter.to_bytes(8, "little")


def words_and_identity(
    rng: Any, column: str, row: str | None, person: str | None, key: Any, of_round: Any = None
) -> tuple[Words, Identity | None]:
    """What the arguments ``rng``, ``row``, ``person``, ``key`` and ``round`` of a release mean.

    Raises :class:`InputError` for a key without identities or with a seed, for a round without a
    key, and for identities that are the secret itself.
    """
    round_name = _round_name(of_round, key)
    for name, what in (("row", row), ("person", person)):
        if what is not None and what == column:
            raise InputError(
                name,
                expected="another column than the secret",
                got=f"{column!r} for both",
                remedy="name the column that identifies the rows",
            )
    if key is not None and row is None and person is None:
        raise InputError(
            "key",
            expected="row= or person= with it (--row, --person)",
            got="a key alone",
            remedy="name the column that identifies the rows",
        )
    if key is not None and rng is not None:
        raise InputError(
            "rng",
            expected="a key or a seed",
            got="both",
            remedy="leave rng= (--seed) out; the key alone makes the reports repeatable",
        )
    by_person = row is None
    named = person if by_person else row
    if named is None or (by_person and key is None):
        return words_from(rng, str(column)), None
    if key is not None:
        source = "secret key of the user (BLAKE2b of each identity)"
        return SystemWords(), Identity(named, by_person, _key_of(key), source, True, round_name)
    if rng is None:
        source = "operating system (one secret key, BLAKE2b of each identity)"
        return SystemWords(), Identity(named, by_person, release_key(), source, True)
    return SystemWords(), Identity(named, by_person, _seeded(rng), SeededWords.source, False)


def _round_name(given: Any, key: Any) -> str | None:
    """The name of a round: a whole number is its digits."""
    if given is None:
        return None
    whole = isinstance(given, (int, np.integer)) and not isinstance(given, bool)
    if whole and abs(given) < 1 << 63:
        given = str(int(given))
    if not isinstance(given, str) or not given.strip():
        raise InputError(
            "round",
            expected="a whole number below 2**63, or text that names the round",
            got=quote(given),
            remedy="pass for example round=2 (--round 2), and the same one for the same reports",
        )
    if key is None:
        raise InputError(
            "round",
            expected="a key with it (--key), under which each round has draws of its own",
            got="none",
            remedy="leave it out: without a key all draws are fresh",
        )
    return given


def _key_of(key: Any) -> ReleaseKey:
    """What a ``key=`` argument means: a key, its bytes, or the path of its file."""
    if isinstance(key, Path):
        return release_key(key)
    return key if isinstance(key, ReleaseKey) else ReleaseKey(key)


def _seeded(rng: Any) -> ReleaseKey:
    """A key that is no secret, from a seed or a generator."""
    if isinstance(rng, np.random.Generator):
        return ReleaseKey(rng.bytes(32))
    words = words_from(rng)
    if not isinstance(words, SeededWords):
        raise InputError(
            "rng",
            expected="None, a seed or a NumPy generator where rows have identities",
            got=f"a {type(rng).__name__}",
            remedy="pass a secret key as key=",
        )
    return ReleaseKey(blake2b(str(words.seed).encode(), person=b"mechdesign-seed").digest())


class Admission:
    """Notices identities that come again, over all parts of a table.

    It remembers every identity, in about a hundred bytes each.
    """

    def __init__(self, identity: Identity) -> None:
        self.identity = identity
        self._symbols: dict[bytes, int] = {}
        # Rows so far, those whose identity came before, and persons with several symbols.
        self._rows = self._again = 0
        self._inconsistent: set[bytes] = set()

    def admit(self, identities: Sequence[bytes], codes: NDArray[np.int64] | None) -> None:
        """Take in the rows of one part.

        Raises :class:`DataError` for a row's identity that came before, and for a person with
        several symbols. It quotes none of them, as they are data.
        """
        self._rows += len(identities)
        self._remember(identities, codes)
        self._refuse(self._again + len(self._inconsistent))

    def _remember(self, identities: Sequence[bytes], codes: NDArray[np.int64] | None) -> None:
        if not self.identity.by_person:
            before = len(self._symbols)
            self._symbols.update(dict.fromkeys(map(shortened, identities), 0))
            self._again += before + len(identities) - len(self._symbols)
            return
        assert codes is not None
        for identity, code in zip(identities, codes.tolist(), strict=True):
            if code != ABSENT:
                short = shortened(identity)
                if self._symbols.setdefault(short, code) != code:
                    self._inconsistent.add(short)

    def _refuse(self, count: int) -> None:
        if count:
            raise repeated(self.identity, count, self._rows)


class SpooledAdmission(Admission):
    """The same over a table of any length, in bounded memory, refused after all of its parts.

    It remembers the first identities. Of longer tables, digests go into a nameless file in a
    folder, 20 bytes a row. What came again is counted by :meth:`compare`. The digests are keyed:
    whoever gets hold of the file learns nothing.
    """

    def __init__(self, identity: Identity, folder: Path) -> None:
        super().__init__(identity)
        self._folder = folder
        self._digest = blake2b(digest_size=16, key=secrets.token_bytes(32))
        self._waiting = np.empty(_HELD, dtype=_RECORD)
        self._filled = 0
        self._spool: Any = None
        # Where the parts of each bucket lie: after every run of records that was written.
        self._ends: list[NDArray[np.int64]] = []

    def __enter__(self) -> SpooledAdmission:
        return self

    def __exit__(self, *_: object) -> None:
        if self._spool is not None:
            self._spool.close()

    def admit(self, identities: Sequence[bytes], codes: NDArray[np.int64] | None) -> None:
        """Take in the rows of one part."""
        self._rows += len(identities)
        if self._spool is None:
            self._remember(identities, codes)
            if len(self._symbols) >= _HELD:
                held, self._symbols = self._symbols, {}
                self._spool = self._opened()
                self._keep(list(held), np.fromiter(held.values(), np.int64, len(held)))
                # Each is counted once, with the symbols that it has in later parts.
                known, self._inconsistent = self._inconsistent, set()
                self._keep(list(known), np.full(len(known), _ANOTHER))
            return
        if self.identity.by_person:
            assert codes is not None
            told = codes != ABSENT
            identities = [i for i, one in zip(identities, told.tolist(), strict=True) if one]
            codes = codes[told]
        else:
            codes = np.zeros(len(identities), np.int64)
        self._keep([shortened(identity) for identity in identities], codes)

    def _opened(self) -> Any:
        try:
            return tempfile.TemporaryFile(dir=self._folder)
        except OSError as problem:
            raise self._no_room(problem) from None

    def _no_room(self, problem: OSError) -> StorageError:
        return StorageError(
            f"identities: a temporary file cannot be written in {self._folder} "
            f"({problem.strerror}); make room there, 20 bytes for each row, or write the reports "
            "to another folder."
        )

    def _keep(self, identities: Sequence[bytes], codes: NDArray[np.int64]) -> None:
        """Put digests of rows with their symbols to those that wait to be written."""
        digests = []
        for identity in identities:
            found = self._digest.copy()
            found.update(identity)
            digests.append(found.digest())
        records = np.empty(len(digests), dtype=_RECORD)
        numbers = np.frombuffer(b"".join(digests), dtype="<u8").reshape(-1, 2)
        records["first"], records["second"], records["symbol"] = numbers.T[0], numbers.T[1], codes
        while len(records):
            taken = records[: len(self._waiting) - self._filled]
            self._waiting[self._filled : self._filled + len(taken)] = taken
            self._filled += len(taken)
            records = records[len(taken) :]
            if self._filled == len(self._waiting):
                self._write()

    def _write(self) -> None:
        """Write those that wait, bucket by bucket."""
        records = self._waiting[: self._filled]
        buckets = (records["first"] >> np.uint64(56)).astype(np.intp)
        order = np.argsort(buckets, kind="stable")
        try:
            self._spool.write(records[order].tobytes())
        except OSError as problem:
            raise self._no_room(problem) from None
        self._ends.append(np.cumsum(np.bincount(buckets, minlength=_BUCKETS)))
        self._filled = 0

    def compare(self) -> None:
        """Raise :class:`DataError` for what came again, with the count of all parts."""
        again = self._again + len(self._inconsistent)
        if self._spool is not None:
            self._write()
            again += sum(self._repeats(self._bucket(number)) for number in range(_BUCKETS))
        self._refuse(again)

    def _bucket(self, number: int) -> NDArray[Any]:
        """All records of a bucket, in the order of their digests and symbols."""
        parts, start = [], 0
        for ends in self._ends:
            first = int(ends[number - 1]) if number else 0
            self._spool.seek((start + first) * _RECORD.itemsize)
            parts.append(self._spool.read((int(ends[number]) - first) * _RECORD.itemsize))
            start += int(ends[-1])
        found = np.frombuffer(b"".join(parts), dtype=_RECORD)
        return found[np.lexsort((found["symbol"], found["second"], found["first"]))]

    def _repeats(self, records: NDArray[Any]) -> int:
        """Rows whose identity came before, or persons with several symbols."""
        now, before = records[1:], records[:-1]
        same = (now["first"] == before["first"]) & (now["second"] == before["second"])
        if not self.identity.by_person:
            return int(same.sum())
        # A person with three symbols is one person.
        persons = np.cumsum(~same)
        return len(np.unique(persons[same & (now["symbol"] != before["symbol"])]))


def shortened(identity: bytes) -> bytes:
    """An identity in few bytes; no two are the same."""
    return identity if len(identity) <= _LONGEST else blake2b(identity, digest_size=31).digest()


def repeated(identity: Identity, count: int | None = None, rows: int = 0) -> DataError:
    """The error for identities that come again: in how many rows, or for how many persons, of the
    rows that were read.
    """
    if identity.by_person:
        return DataError(
            f"column {identity.column!r}",
            expected="one value of the secret for each person, who then has one report",
            got="several"
            + (f" for {count} of them in the {rows} rows read" if count else " for a person"),
            remedy="keep one row per person, or name a unique column with row= (--row) so that "
            "each row has a report of its own; levels then add up",
        )
    return DataError(
        f"column {identity.column!r}",
        expected="a different identity in each row",
        got=f"{counted(count, 'row')} whose identity came before, of the {rows} rows read"
        if count
        else "some that are repeated",
        remedy="name a column without repeats with row= (--row), or where rows are about the same "
        "person give that column as person= (--person) with a key",
    )


def _changed(column: Any, count: int) -> DataError:
    """The error for rows that were not there when the identities of a lazy table were checked."""
    return DataError(
        f"column {column!r}",
        expected="the rows that the table had when it was privatised",
        got=f"{count} of another identity or secret",
        remedy="privatise the table as it is now with the same key; where the plan numbers its "
        "rows or is random, collect it first",
    )


def missing_identity(column: Any) -> DataError:
    """The error for rows without an identity."""
    return DataError(
        f"column {column!r}",
        expected="an identity in each row",
        got="missing values",
        remedy="fill them in, or drop those rows",
    )


def check_type(kind: Any, column: Any) -> None:
    """Raise :class:`DataError` for an Arrow type that holds no identities."""
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if pa.types.is_floating(kind):
        raise _refuse(column, "floating-point numbers")
    if pa.types.is_nested(kind) or pa.types.is_boolean(kind):
        raise _refuse(column, f"values of type {kind}")


def encode_identities(values: Any, column: Any, texts: bool = False) -> list[bytes]:
    """Identities of an Arrow array or a list as bytes, equal for equal ones in every library.

    Parameters
    ----------
    values : pyarrow Array, ChunkedArray or list
    column : its name, for errors
    texts : whether they were read from a text file, where an empty cell is a missing one

    Raises
    ------
    DataError
        For missing values, floating-point numbers and other types.
    """
    found = encode_some(values, column, texts)
    if any(identity is None for identity in found):
        raise missing_identity(column)
    return found  # type: ignore[return-value]


def encode_some(values: Any, column: Any, texts: bool = False) -> list[bytes | None]:
    """:func:`encode_identities`, with ``None`` for missing values."""
    if isinstance(values, list):
        return [_encode(value, column) for value in values]
    import pyarrow as pa

    check_type(values.type, column)
    if pa.types.is_dictionary(values.type):
        if isinstance(values, pa.ChunkedArray):
            return [i for chunk in values.chunks for i in encode_some(chunk, column, texts)]
        # A value that is coded twice, or null, is what it stands for.
        distinct = encode_some(values.dictionary, column, texts)
        return [None if i is None else distinct[i] for i in values.indices.to_pylist()]
    kind = values.type
    if pa.types.is_timestamp(kind):
        zone, unit = b"u" if kind.tz else b"n", _NANOSECONDS[kind.unit]
        ticks = values.cast(pa.int64()).to_pylist()
        return [None if v is None else b"t%s%d" % (zone, v * unit) for v in ticks]
    listed = listed_values(values, column)
    if pa.types.is_integer(kind):
        return [None if v is None else b"s%d" % v for v in listed]
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        if texts:
            listed = [v if v and v.strip() else None for v in listed]
        return [None if v is None else b"s" + v.encode() for v in listed]
    return [_encode(value, column) for value in listed]


def _encode(value: Any, column: Any) -> bytes | None:
    if isinstance(value, np.datetime64):
        ticks = value.astype("datetime64[ns]")
        return None if np.isnat(ticks) else b"tn%d" % int(ticks.astype(np.int64))
    value = tidy(value)
    if is_missing(value):
        return None
    if isinstance(value, int) and not isinstance(value, bool):
        return b"s%d" % value
    if isinstance(value, str):
        return b"s" + value.encode("utf-8", "surrogatepass")
    if isinstance(value, uuid.UUID):
        return b"s" + str(value).encode()
    if isinstance(value, (bytes, bytearray)):
        return b"b" + bytes(value)
    if isinstance(value, datetime.datetime):
        zone = b"n"
        nanoseconds = getattr(value, "nanosecond", 0)
        if hasattr(value, "to_pydatetime"):
            value = value.to_pydatetime(warn=False)
        if value.tzinfo is not None:
            value, zone = value.astimezone(datetime.UTC).replace(tzinfo=None), b"u"
        ticks = (value - _EPOCH) // datetime.timedelta(microseconds=1) * 1000 + nanoseconds
        return b"t%s%d" % (zone, ticks)
    if isinstance(value, datetime.date):
        return b"d%d" % (value - _EPOCH.date()).days
    if isinstance(value, Decimal) and value.is_finite() and value == value.to_integral_value():
        return b"s%d" % int(value)
    kinds = {float: "floating-point numbers", Decimal: "numbers that are not whole"}
    raise _refuse(column, kinds.get(type(value), f"values of type {type(value).__name__}"))


def _refuse(column: Any, got: str) -> DataError:
    return DataError(
        f"column {column!r}",
        expected="identities that are integers, text, UUIDs, bytes, dates or times",
        got=got,
        remedy="convert the column, for example to integers or text",
    )

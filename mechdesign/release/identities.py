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
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from hashlib import blake2b, shake_256
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
from ..tables.parts import parts_of
from .codes import ABSENT
from .words import SeededWords, SystemWords, Words, words_from

_FEWEST_BYTES = 32
_FIRST = "mechdesign-key-1 "
_EPOCH = datetime.datetime(1970, 1, 1)
_NANOSECONDS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
_LONGEST = 32
# Bytes of a word, and words that one hash has at most.
_WORD_BYTES, _MOST_WORDS = 8, 8
# Records of identities that are held in memory, and parts that those of others are sorted in.
_HELD, _BUCKETS = 1 << 17, 256
# Identities that are hashed at once: what is made of them stays in the cache.
_PART = 1 << 14
# Words of 32 bits that a short identity has, behind its length, and of its digest.
_PLACES, _OUT = 1 + _LONGEST // 4, 4
# What a record has for a row whose report is null.
_NO_SYMBOL = np.uint64((ABSENT + (1 << 64)) % (1 << 64))


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

    def _start(self, size: int, code: int, counter: int, of: str | None) -> blake2b:
        """A hash of so many bytes that has taken in all but the identity."""
        # What is behind the fingerprint, which has a fixed length, is the round.
        told = b"" if of is None else of.encode("utf-8", "surrogatepass")
        found = self._key.hash(size, self._context + told)
        # Of fixed length, so that the identity, which comes last, needs no mark of its end.
        found.update(code.to_bytes(8, "little", signed=True) + counter.to_bytes(8, "little"))
        return found

    def _digests(self, number: int, size: int, counter: int = 0) -> NDArray[np.uint64]:
        """Hashes of the next rows, one after another, as words."""
        part = slice(self.position, self.position + number)
        told: list[Any] = self._codes[part].tolist()
        copies: dict[Any, Any]
        if self._rounds is None:
            of = self._round
            copies = {code: self._start(size, code, counter, of).copy for code in set(told)}
        else:
            told = list(zip(told, self._rounds[part], strict=True))
            copies = {one: self._start(size, one[0], counter, one[1]).copy for one in set(told)}
        found = hashed(map(copies.__getitem__, told), self._identities[part])
        return np.frombuffer(found, dtype="<u8").astype(np.uint64, copy=False)

    def more_bits(self, position: int) -> Iterator[bytes]:
        """Further bytes for one row."""
        of = self._round if self._rounds is None else self._rounds[position]
        for counter in count(1):
            start = self._start(_WORD_BYTES, int(self._codes[position]), counter, of)
            yield hashed([start.copy], [self._identities[position]])


def hashed(copies: Iterable[Callable[[], Any]], messages: Iterable[bytes]) -> bytes:
    """The digests of messages, one after another, by copies of hashes that are under way."""
    pairs = zip(copies, messages, strict=False)
    # An update gives nothing, and then the digest is taken.
    return b"".join([(one := copy()).update(text) or one.digest() for copy, text in pairs])


def words_and_identity(
    rng: Any, column: str, row: str | None, person: str | None, key: Any, of_round: Any = None
) -> tuple[Words, Identity | None]:
    """What the arguments ``rng``, ``row``, ``person``, ``key`` and ``round`` of a release mean.

    Raises :class:`InputError` for a key without identities or with a seed, and for a round without
    a key.
    """
    round_name = _round_name(of_round, key)
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

    It remembers 24 bytes of each row: the symbol, and 16 bytes of a digest by multilinear hashing
    with secret coefficients, under which two given identities, that do not depend on these, have
    one digest with a chance of 2⁻¹²⁸ [LemireKaser2014].

    Parameters
    ----------
    identity : whose rows they are; without one everybody may come again
    folder : where a table of any length has room, in bounded memory: records of long ones go into a
        nameless file, and what came again is refused by :meth:`compare`; without one it is refused
        by the part that has it
    key : secret bytes that the coefficients and the fingerprint of :meth:`compare` depend on
    """

    def __init__(
        self, identity: Identity | None, folder: Path | None = None, key: bytes = b""
    ) -> None:
        self.identity, self._folder, self._key = identity, folder, key
        self._by_person = identity is not None and identity.by_person
        seed = shake_256(b"mechdesign-again" + (key or secrets.token_bytes(32)))
        drawn = np.frombuffer(seed.digest(8 * _OUT * (_PLACES + 1)), dtype="<u8")
        self._added, *factors = drawn.astype(np.uint64).reshape(_PLACES + 1, _OUT)
        self._factors = np.array(factors)
        self._rows = 0
        # Sorted records, the larger ones first; those that wait, with a folder.
        self._runs: list[NDArray[np.uint64]] = []
        self._spool: Any = None
        # Where the parts of each bucket lie, of every run of records that was written.
        self._ends: list[NDArray[np.int64]] = []

    def __enter__(self) -> Admission:
        return self

    def __exit__(self, *_: object) -> None:
        if self._spool is not None:
            self._spool.close()

    def admit(self, identities: Sequence[bytes], codes: NDArray[np.int64] | None) -> None:
        """Take in the rows of one part.

        Without a folder, raises :class:`DataError` for a row's identity that came before, and for a
        person with several symbols. It quotes none of them, as they are data.
        """
        self._rows += len(identities)
        if not len(identities):
            return
        import pyarrow as pa

        coded = getattr(identities, "array", None)
        coded = pa.array(identities, pa.large_binary()) if coded is None else coded
        records = np.zeros((3, len(coded)), dtype=np.uint64)
        for part in parts_of(len(coded), _PART):
            records[:2, part] = self._digests(coded[part])
        if codes is not None:
            records[2] = codes
        if self._folder is None:
            self._compare_now(records)
            return
        self._runs.append(records)
        if sum(run.shape[1] for run in self._runs) >= _HELD:
            self._write()

    def _digests(self, identities: Any) -> NDArray[np.uint64]:
        """Two words for each of some identities in an Arrow array."""
        import pyarrow as pa

        starts = np.frombuffer(identities.buffers()[1], dtype=np.int64)
        starts = starts[identities.offset :][: len(identities) + 1]
        lengths = np.diff(starts)
        if (longest := int(lengths.max())) > _LONGEST:
            short = [shortened(identity) for identity in identities.to_pylist()]
            return self._digests(pa.array(short, pa.large_binary()))
        cells = np.zeros((len(lengths), max(4, longest + -longest % 4)), dtype=np.uint8)
        signs = np.frombuffer(identities.buffers()[2] or b"", dtype=np.uint8)
        cells[np.arange(cells.shape[1]) < lengths[:, None]] = signs[starts[0] : starts[-1]]
        words = cells.view("<u4").astype(np.uint64)
        found = words @ self._factors[1 : 1 + words.shape[1]]
        found += lengths.astype(np.uint64)[:, None] * self._factors[0] + self._added
        found >>= np.uint64(32)
        return (found[:, ::2] << np.uint64(32) | found[:, 1::2]).T

    def _compare_now(self, fresh: NDArray[np.uint64]) -> None:
        """Take in records, none of whose identities came before."""
        near = [
            run[:, np.unique(np.searchsorted(run[0], fresh[0]).clip(max=run.shape[1] - 1))]
            for run in self._runs
        ]
        whole = _sorted(np.concatenate([*near, fresh], axis=1) if near else fresh)
        self._refuse(self._repeats(whole))
        fresh = fresh if near else whole
        while self._runs and self._runs[-1].shape[1] <= fresh.shape[1]:
            fresh = np.concatenate([self._runs.pop(), fresh], axis=1)
        self._runs.append(_sorted(fresh) if near else whole)

    def _refuse(self, count: int) -> None:
        if count and self.identity is not None:
            raise repeated(self.identity, count, self._rows)

    def _write(self) -> None:
        """Write those that wait, bucket by bucket."""
        records = np.concatenate(self._runs, axis=1)
        self._runs = []
        buckets = (records[0] >> np.uint64(56)).astype(np.uint8)
        order = np.argsort(buckets, kind="stable")
        try:
            if self._spool is None:
                self._spool = tempfile.TemporaryFile(dir=self._folder)
            self._spool.write(records.T[order].tobytes())
        except OSError as problem:
            raise StorageError(
                f"identities: a temporary file cannot be written in {self._folder} "
                f"({problem.strerror}); make room there, 24 bytes for each row, or write the "
                "reports to another folder."
            ) from None
        self._ends.append(np.cumsum([0, *np.bincount(buckets, minlength=_BUCKETS)]))

    def compare(self) -> str | None:
        """Raise :class:`DataError` for what came again, with the count of all parts.

        Returns
        -------
        A fingerprint of the identities with their symbols, the same in any order; ``None`` without
        identities.
        """
        told = blake2b(digest_size=16, key=self._key, person=b"mechdesign-pairs")
        again = 0
        for records in self._all():
            again += self._repeats(records)
            told.update(records.T.tobytes())
        self._refuse(again)
        return told.hexdigest() if self.identity else None

    def most(self) -> int:
        """The most rows of one identity."""
        found = [0]
        for records in self._all():
            new = (records[:2, 1:] != records[:2, :-1]).any(axis=0)
            starts = np.flatnonzero(np.concatenate([[True], new, [True]]))
            found.append(int(np.diff(starts).max(initial=0)))
        return max(found)

    def _all(self) -> Iterator[NDArray[np.uint64]]:
        """All records, sorted, in parts that have no identity in common."""
        if self._spool is None:
            yield from (_sorted(np.concatenate(self._runs, axis=1)) for _ in self._runs[:1])
            return
        if self._runs:
            self._write()
        for number in range(_BUCKETS):
            parts, start = [], 0
            for ends in self._ends:
                first, last = ends[number : number + 2].tolist()
                self._spool.seek(24 * (start + first))
                parts.append(self._spool.read(24 * (last - first)))
                start += int(ends[-1])
            yield _sorted(np.frombuffer(b"".join(parts), dtype=np.uint64).reshape(-1, 3).T)

    def _repeats(self, records: NDArray[np.uint64]) -> int:
        """Of sorted records, rows whose identity came before, or persons with several symbols."""
        if self._by_person and (records[2] == _NO_SYMBOL).any():
            records = records[:, records[2] != _NO_SYMBOL]
        same = (records[:2, 1:] == records[:2, :-1]).all(axis=0)
        if not self._by_person or not same.any():
            return int(same.sum())
        # A person with three symbols is one person.
        persons = np.cumsum(~same)
        return len(np.unique(persons[same & (records[2, 1:] != records[2, :-1])]))


def _sorted(records: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Records in the order of their digests, and of symbols where these are equal."""
    found = records.take(np.argsort(records[0]), axis=1)
    if (found[0, 1:] == found[0, :-1]).any():
        found = found.take(np.lexsort(found[::-1]), axis=1)
    return found


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


class Identities(Sequence[Any]):
    """Encoded identities, ``None`` where one is missing.

    They lie in an Arrow array of bytes, and become Python's when they are asked for.
    """

    def __init__(self, array: Any) -> None:
        self.array = array

    def __len__(self) -> int:
        return len(self.array)

    @property
    def known(self) -> Identities:
        """Those that are there."""
        return Identities(self.array.drop_null())

    def __getitem__(self, place: Any) -> Any:
        found = self.array[place]
        return found.to_pylist() if isinstance(place, slice) else found.as_py()

    def __iter__(self) -> Iterator[Any]:
        for part in parts_of(len(self), _PART):
            yield from self[part]


def encode_identities(values: Any, column: Any, texts: bool = False) -> Identities:
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
    if found.array.null_count:
        raise missing_identity(column)
    return found


def encode_some(values: Any, column: Any, texts: bool = False) -> Identities:
    """:func:`encode_identities`, with ``None`` for missing values."""
    import pyarrow as pa

    chunks = values.chunks if isinstance(values, pa.ChunkedArray) else [values]
    parts = [chunk[part] for chunk in chunks for part in parts_of(len(chunk))]
    found = [_encoded(part, column, texts) for part in parts] or [pa.nulls(0, pa.large_binary())]
    return Identities(pa.concat_arrays(found))


def _encoded(values: Any, column: Any, texts: bool) -> Any:
    """A part of a column as an Arrow array of encoded identities."""
    import pyarrow as pa
    from pyarrow import compute

    encoded = pa.large_binary()
    if isinstance(values, list):
        return pa.array([_encode(value, column) for value in values], encoded)
    kind = values.type
    check_type(kind, column)
    if pa.types.is_dictionary(kind):
        # A value that is coded twice, or null, is what it stands for.
        return _encoded(values.dictionary, column, texts).take(values.indices)
    if pa.types.is_timestamp(kind):
        zone, unit = b"u" if kind.tz else b"n", _NANOSECONDS[kind.unit]
        ticks = values.cast(pa.int64()).to_pylist()
        return pa.array(
            [None if v is None else b"t%s%d" % (zone, v * unit) for v in ticks], encoded
        )
    if not (
        pa.types.is_integer(kind) or pa.types.is_string(kind) or pa.types.is_large_string(kind)
    ):
        return pa.array(
            [_encode(value, column) for value in listed_values(values, column)], encoded
        )
    cells = values.cast(pa.string())
    if texts:
        blank = compute.equal(compute.utf8_trim_whitespace(cells), "")
        cells = compute.if_else(blank, pa.scalar(None, pa.string()), cells)
    return compute.binary_join_element_wise("s", cells, "").cast(encoded)


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

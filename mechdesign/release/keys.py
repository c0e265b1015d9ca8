"""Secret keys under which reports can be drawn again, and the files that hold them."""

from __future__ import annotations

import os
import secrets
import stat
import tempfile
from hashlib import blake2b
from pathlib import Path
from typing import Any

from ..errors import ExposureWarning, InputError, StorageError, warn

FEWEST_BYTES = 32
_FIRST = "mechdesign-key-1 "


class ReleaseKey:
    """A secret that reports are a function of, together with the identities of their rows.

    It is as secret as the data: whoever knows it can undo every report. It never appears in what
    is printed, in receipts or in files of reports; its fingerprint does and tells nothing about it.

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
        enough = isinstance(secret, (bytes, bytearray)) and len(secret) >= FEWEST_BYTES
        if not enough:
            kind = type(secret).__name__
            raise InputError(
                "key",
                expected=f"at least {FEWEST_BYTES} secret bytes, or what md.release_key() returns",
                got=f"{len(secret)} bytes" if isinstance(secret, (bytes, bytearray)) else kind,
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
        return f"ReleaseKey(fingerprint {self.fingerprint[:12]}…)"


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
        return ReleaseKey(secrets.token_bytes(FEWEST_BYTES))
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


def as_key(key: Any) -> ReleaseKey:
    """What a ``key=`` argument means: a key, or its bytes."""
    return key if isinstance(key, ReleaseKey) else ReleaseKey(key)


def _make(target: Path) -> None:
    """Write a fresh key under a name that nobody has, complete at the moment it is there."""
    handle, text = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    name = Path(text)
    try:
        with os.fdopen(handle, "w", encoding="ascii") as file:
            file.write(_FIRST + secrets.token_hex(FEWEST_BYTES) + "\n")
            file.flush()
            os.fsync(file.fileno())
        try:
            # Unlike a rename, a link replaces nothing.
            os.link(name, target)
        except FileExistsError:
            return
        except OSError:
            # A file system without links.
            handle = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(handle, "w", encoding="ascii") as file:
                file.write(name.read_text(encoding="ascii"))
    finally:
        name.unlink(missing_ok=True)


def _read(target: Path) -> ReleaseKey:
    with open(target, "rb") as file:
        text = file.read(1024)
        mode = os.fstat(file.fileno()).st_mode
    try:
        line = text.decode("ascii").rstrip("\r\n")
        secret = bytes.fromhex(line.removeprefix(_FIRST))
        if not line.startswith(_FIRST) or len(secret) < FEWEST_BYTES:
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

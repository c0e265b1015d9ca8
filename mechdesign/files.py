"""Files and JSON: read within limits, written whole or not at all, by one process at a time.

One function reads every JSON file of the library. What it lets through is small enough to work
with, nested no deeper than people write, and says each thing once.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import signal
import stat
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from .errors import LeftoverWarning, StorageError, asked_by, quote, warn

if TYPE_CHECKING:
    from filelock import BaseFileLock

P = ParamSpec("P")
T = TypeVar("T")

# Largest file that is read whole, in bytes.
_LARGEST_TEXT = 1 << 30
# Lists and objects inside one another, at most. Labels are tuples of tuples, and no deeper.
_DEEPEST = 64
# Digits of an integer that JSON readers everywhere take.
_MOST_DIGITS = 3600
#: How a file that exists is replaced, in Python and at the command line.
OVERWRITTEN = ("overwrite=True", "--force")
_TAKE_ANOTHER = "pass a saved design, or a kernel as .csv"


# Reading


def check_named(path: object, subject: str = "file") -> None:
    """Raise :class:`StorageError` for an empty text, which a path takes for the current folder."""
    if isinstance(path, str) and not path:
        raise StorageError(
            f"{subject}: expected the name of a file, got an empty text; name one, or leave it out."
        )


def regular_file(path: str | Path) -> Path:
    """The path of a regular file, or a :class:`StorageError`.

    A device or a pipe has no end or none yet, so nothing waits for one.
    """
    check_named(path)
    try:
        target = Path(path)
        found = target.stat()
    except FileNotFoundError:
        raise StorageError(
            f"file: expected an existing file, got {path}; check the path."
        ) from None
    except (OSError, ValueError, TypeError) as problem:
        why = problem.strerror if isinstance(problem, OSError) else problem
        raise StorageError(
            f"file {_shown(path)}: cannot be read ({why}); check the path."
        ) from None
    if not stat.S_ISREG(found.st_mode):
        kind = "a folder" if stat.S_ISDIR(found.st_mode) else "a device, a pipe or a socket"
        raise StorageError(
            f"file {path}: cannot be read (expected a regular file, got {kind}); check the path."
        )
    return target


def read_text(path: str | Path) -> str:
    """The text of a regular file in UTF-8, or a :class:`StorageError`."""
    target = regular_file(path)
    try:
        if target.stat().st_size > _LARGEST_TEXT:
            raise StorageError(
                f"file {path}: expected at most {_LARGEST_TEXT:,} bytes, got "
                f"{target.stat().st_size:,}; check the path."
            )
        text = target.read_text(encoding="utf-8")
    except UnicodeDecodeError as problem:
        raise StorageError(
            f"file {path}: cannot be read (expected UTF-8 text, got other bytes at place "
            f"{problem.start}); save it in UTF-8."
        ) from None
    except OSError as problem:
        raise StorageError(
            f"file {path}: cannot be read ({problem.strerror}); check the path."
        ) from None
    return text


def read_json(path: str | Path, remedy: str = _TAKE_ANOTHER, *, exact: bool = False) -> Any:
    """The content of a JSON file; raises :class:`StorageError` as :func:`parse_json` does."""
    return parse_json(read_text(path), f"file {path}", remedy, exact=exact)


def parse_json(
    text: str | bytes, subject: str, remedy: str = _TAKE_ANOTHER, *, exact: bool = False
) -> Any:
    """The content of a JSON text, where every name in an object is there once.

    Raises :class:`StorageError` that names the cause: no JSON, a byte-order mark, a name twice, an
    integer too long, or lists in lists deeper than 64; ``remedy`` says what else to hand in.
    Numbers with a point are floats, or the rationals that they say where they are ``exact``.

    >>> parse_json('{"a": [1, 0.5]}', "file m.json")
    {'a': [1, 0.5]}
    """
    if isinstance(text, bytes):
        try:
            text = text.decode("utf-8")
        except UnicodeDecodeError:
            raise _no_json(subject, "bytes that are no UTF-8", remedy) from None
    if text.startswith("\ufeff"):
        raise _no_json(
            subject,
            "a byte-order mark before it",
            "save the file as UTF-8 without a byte-order mark",
        )
    deep = f"lists or objects nested deeper than {_DEEPEST}"
    try:
        read: Any = float
        if exact:
            from .exact import read_fraction as read  # with what numbers need
        content = json.loads(text, object_pairs_hook=_once, parse_int=_integer, parse_float=read)
    except RecursionError:
        raise _no_json(subject, deep, remedy) from None
    except ValueError as problem:
        raise _no_json(subject, f"text that is no JSON ({problem})", remedy) from None
    if _is_deep(content):
        raise _no_json(subject, deep, remedy)
    return content


def _is_deep(content: Any) -> bool:
    """Whether lists and objects lie deeper in one another than they may."""
    level = [content]
    for _ in range(_DEEPEST + 1):
        inner: list[Any] = []
        for part in level:
            if isinstance(part, dict):
                inner += part.values()
            elif isinstance(part, list):
                inner += part
        level = [part for part in inner if isinstance(part, (dict, list))]
        if not level:
            return False
    return True


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise ValueError(f"the name {quote(name, 40)} is there twice")
        found[name] = value
    return found


def _integer(digits: str) -> int:
    if len(digits) > _MOST_DIGITS:
        raise ValueError(f"an integer of {len(digits):,} digits, which must be in quotes")
    return int(digits)


def _shown(path: Any) -> str:
    return str(path) if isinstance(path, (str, Path)) else quote(path)


def _no_json(subject: str, got: str, remedy: str) -> StorageError:
    return StorageError(f"{subject}: expected JSON, got {got}; {remedy}.")


# Interrupts


class _Waiting:
    """Interrupts that wait while something is done that must not stop half-way."""

    depth = 0  # how many such things are under way, one in another
    came = False


def _let_interrupts_come() -> None:
    """End what must not stop half-way; raises the interrupt that waited."""
    _Waiting.depth -= 1
    if _Waiting.came and not _Waiting.depth:
        _Waiting.came = False
        raise KeyboardInterrupt


def undisturbed(function: Callable[P, T]) -> Callable[P, T]:
    """Let an interrupt wait that comes while a function runs, until it has ended.

    So nothing is made without the note that it is to be removed. It is raised right behind; where
    :func:`noticed_interrupts` is not under way, nothing waits.
    """

    @functools.wraps(function)
    def whole(*arguments: P.args, **named: P.kwargs) -> T:
        _Waiting.depth += 1
        try:
            return function(*arguments, **named)
        finally:
            _let_interrupts_come()

    return whole


def unstopped(function: Callable[P, T]) -> Callable[P, T]:
    """Let no interrupt stop a function, nor come behind it: when it has ended, all is done."""

    @functools.wraps(function)
    def whole(*arguments: P.args, **named: P.kwargs) -> T:
        _Waiting.depth += 1
        try:
            return function(*arguments, **named)
        finally:
            _Waiting.depth -= 1
            _Waiting.came = False

    return whole


@contextmanager
def noticed_interrupts() -> Iterator[Callable[[], None]]:
    """A function that raises ``KeyboardInterrupt`` when one came, even where it was lost.

    Python drops an interrupt that arrives inside some callbacks, such as those of imports.
    """
    interrupts = []

    def handler(number: int, frame: FrameType | None) -> None:
        interrupts.append(number)
        if _Waiting.depth:
            _Waiting.came = True
        else:
            signal.default_int_handler(number, frame)

    def check() -> None:
        if interrupts:
            raise KeyboardInterrupt

    ours = (
        threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    )
    if ours:
        # An interrupt that nobody noticed may have cut short what kept count.
        _Waiting.depth, _Waiting.came = 0, False
        signal.signal(signal.SIGINT, handler)
    try:
        yield check
    finally:
        if ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)


# Writing


def check_writable(path: str | Path, *, overwrite: bool, subject: str = "output") -> None:
    """Raise :class:`StorageError` when a file exists that may not be replaced."""
    check_named(path, subject)
    try:
        target = Path(path)
        target.stat()
    except TypeError:
        raise StorageError(
            f"{subject}: expected the name of a file, got {quote(path)}; pass for example 'm.json'."
        ) from None
    except FileNotFoundError:
        pass
    except (OSError, ValueError) as problem:
        why = problem.strerror if isinstance(problem, OSError) else problem
        raise StorageError(
            f"{subject} {path}: cannot be written ({why}); choose another name."
        ) from None
    if target.is_dir():
        raise StorageError(
            f"{subject} {path}: expected a file name, got a folder; name a file in it."
        )
    if target.exists() and not target.is_file():
        raise StorageError(
            f"{subject} {path}: expected a file, got a device, a pipe or a socket; choose another "
            "name."
        )
    if target.exists() and not overwrite:
        raise StorageError(
            f"{subject} {path}: expected a new file, got one that exists; choose another name, or "
            f"replace it with {asked_by(*OVERWRITTEN)}."
        )
    if not target.parent.exists():
        raise StorageError(
            f"{subject} {path}: expected an existing folder, got {target.parent}; create it first."
        )


def write_text(text: str, path: str | Path, *, overwrite: bool, private: bool = False) -> None:
    """Write a file whole or not at all; a private one may be read by its owner only."""
    try:
        with (
            new_file(path, overwrite=overwrite, private=private) as name,
            os.fdopen(os.open(name, os.O_WRONLY), "w", encoding="utf-8") as file,
        ):
            file.write(text)
    except UnicodeEncodeError:
        raise StorageError(
            f"output {path}: a label holds characters that UTF-8 has no code for; relabel."
        ) from None


@contextmanager
def new_file(path: str | Path, *, overwrite: bool, private: bool = False) -> Iterator[Path]:
    """A name to write to, which becomes the file when all went well and is removed otherwise.

    Without ``overwrite`` the file is made exclusively: one that appeared meanwhile stays as it is,
    and is an error. A private file may be read by its owner only.
    """
    check_writable(path, overwrite=overwrite)
    target = Path(path)
    try:
        handle, text = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        os.close(handle)
        name = Path(text)
        try:
            yield name
            publish(name, target, overwrite=overwrite, private=private)
        except BaseException:
            name.unlink(missing_ok=True)
            raise
    except OSError as problem:
        raise StorageError(f"output {path}: cannot be written ({problem.strerror}).") from None


class Claim:
    """The right to make one file, and others beside it, which no other process has meanwhile.

    What is being written lies in hidden files, ``.mechdesign-…partial``, that only their owner can
    read. A process that was killed leaves them behind; as nobody can write them without the claim,
    whoever has it next knows that they are nobody's, says so, and removes them.
    """

    def __init__(self, target: Path, *, overwrite: bool) -> None:
        self.target, self.overwrite = target, overwrite
        digest = hashlib.sha256(os.fsencode(target.name)).hexdigest()[:16]
        self._stem = f".mechdesign-{digest}"
        self._parts: list[Path] = []

    @property
    def lock(self) -> Path:
        """The file that is locked while somebody has the claim."""
        return self.target.parent / f"{self._stem}.lock"

    def sweep(self) -> None:
        """Remove what a process that was killed left behind, with a warning."""
        left = sorted(self.target.parent.glob(f"{self._stem}-*.partial"))
        for name in left:
            name.unlink(missing_ok=True)
        if left:
            warn(
                f"output {self.target}: a run that was stopped left {len(left)} unfinished file"
                f"{'s' if len(left) > 1 else ''} ({left[0].name}) with reports in the folder; "
                "removed",
                LeftoverWarning,
            )

    def sweep_others(self) -> None:
        """Do the same for other targets in the folder that nobody is writing now.

        What other users left, or are writing, is theirs.
        """
        from filelock import FileLock, Timeout

        names = filter(_is_mine, self.target.parent.glob(".mechdesign-*-*.partial"))
        for stem in sorted({name.name.rpartition("-")[0] for name in names} - {self._stem}):
            other = Claim(self.target, overwrite=False)
            other._stem = stem
            try:
                with FileLock(other.lock, mode=0o600, timeout=0):
                    other.sweep()
                    other.lock.unlink(missing_ok=True)
            except Timeout:
                continue  # somebody is writing it

    @undisturbed
    def part(self) -> Path:
        """A new empty hidden file beside the target."""
        handle, text = tempfile.mkstemp(
            dir=self.target.parent, prefix=f"{self._stem}-", suffix=".partial"
        )
        os.close(handle)
        self._parts.append(Path(text))
        return self._parts[-1]

    def publish(self, *files: tuple[Path, Path]) -> None:
        """Give hidden files their names, all or none of them."""
        made: list[Path] = []
        try:
            for name, target in files:
                publish(name, target, overwrite=self.overwrite, private=False)
                made.append(target)
        except BaseException:
            for target in made if not self.overwrite else ():
                target.unlink(missing_ok=True)
            raise

    def leave(self, lock: BaseFileLock) -> None:
        """Remove the hidden files that were not published, and give the claim up."""
        for name in self._parts:
            name.unlink(missing_ok=True)
        if lock.is_locked:
            # Gone while it is held: who waits for the file that was removed tries again.
            self.lock.unlink(missing_ok=True)
            lock.release()


def _is_mine(path: Path) -> bool:
    """Whether a file is there and belongs to this user."""
    try:
        return path.stat().st_uid == (os.geteuid() if hasattr(os, "geteuid") else 0)
    except FileNotFoundError:
        return False


@contextmanager
def claimed(path: str | Path, *, overwrite: bool) -> Iterator[Claim]:
    """The claim on a file that is about to be made.

    Raises :class:`StorageError` when another process has it, or when the file may not be written.
    """
    from filelock import FileLock, Timeout

    check_writable(path, overwrite=overwrite)
    claim = Claim(Path(path), overwrite=overwrite)
    # Interrupts wait, but for those that come while the claim is used.
    _Waiting.depth += 1
    try:
        lock = FileLock(claim.lock, mode=0o600)
        check_folder(claim.lock)
        try:
            try:
                lock.acquire(timeout=0)
            except Timeout:
                raise StorageError(
                    f"output {path}: expected a file that nobody else writes, got one that another "
                    "process is writing; wait for it, or choose another name."
                ) from None
            # It may have been made before the claim was ours.
            check_writable(path, overwrite=overwrite)
            claim.sweep()
            claim.sweep_others()
            try:
                _let_interrupts_come()
                yield claim
            finally:
                _Waiting.depth += 1
        finally:
            claim.leave(lock)
    except OSError as problem:
        raise StorageError(f"output {path}: cannot be written ({problem.strerror}).") from None
    finally:
        _let_interrupts_come()


@undisturbed
def check_folder(path: Path) -> None:
    """Raise ``OSError`` where no file can be made beside another; a lock would wait there.

    Not by making the lock itself: where the file system has no locks, its being there is the lock.
    """
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".probe")
    try:
        os.close(handle)
    finally:  # also where an interrupt comes
        Path(name).unlink(missing_ok=True)


def publish(name: Path, target: Path, *, overwrite: bool, private: bool) -> None:
    """Give a complete file its name; exclusively, unless another may be replaced."""
    os.chmod(name, 0o600 if private else 0o666 & ~_umask())
    if overwrite:
        os.replace(name, target)
        return
    try:
        try:
            os.link(name, target)
        except FileExistsError:
            raise
        except OSError:
            # A file system without links: the name is taken by an empty file first.
            os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            os.replace(name, target)
    except FileExistsError:
        raise StorageError(
            f"output {target}: expected a new file, got one that was made meanwhile; choose "
            f"another name, or replace it with {asked_by(*OVERWRITTEN)}."
        ) from None
    name.unlink(missing_ok=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask

"""Text files, read and written whole or not at all."""

from __future__ import annotations

import os
import signal
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .errors import StorageError, quote
from .reading import read_text as read_text


def check_writable(path: str | Path, *, overwrite: bool) -> None:
    """Raise :class:`StorageError` when a file exists that may not be replaced."""
    try:
        target = Path(path)
        target.stat()
    except TypeError:
        raise StorageError(
            f"output: expected the name of a file, got {quote(path)}; pass for example 'm.json'."
        ) from None
    except FileNotFoundError:
        pass
    except (OSError, ValueError) as problem:
        why = problem.strerror if isinstance(problem, OSError) else problem
        raise StorageError(
            f"output {path}: cannot be written ({why}); choose another name."
        ) from None
    if target.is_dir():
        raise StorageError(f"output {path}: expected a file name, got a folder; name a file in it.")
    if target.exists() and not target.is_file():
        raise StorageError(
            f"output {path}: expected a file, got a device, a pipe or a socket; choose another "
            "name."
        )
    if target.exists() and not overwrite:
        raise StorageError(
            f"output {path}: expected a new file, got one that exists; choose another name, or "
            "replace it with overwrite=True (--force)."
        )
    if not target.parent.exists():
        raise StorageError(
            f"output {path}: expected an existing folder, got {target.parent}; create it first."
        )


def write_text(text: str, path: str | Path, *, overwrite: bool) -> None:
    """Write a file whole or not at all."""
    try:
        with (
            new_file(path, overwrite=overwrite) as name,
            os.fdopen(os.open(name, os.O_WRONLY), "w", encoding="utf-8") as file,
        ):
            file.write(text)
    except UnicodeEncodeError:
        raise StorageError(
            f"output {path}: a label holds characters that UTF-8 has no code for; relabel."
        ) from None


@contextmanager
def new_file(path: str | Path, *, overwrite: bool) -> Iterator[Path]:
    """A name to write to, which becomes the file when all went well and is removed otherwise."""
    check_writable(path, overwrite=overwrite)
    target = Path(path)
    try:
        handle, text = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        os.close(handle)
        name = Path(text)
        try:
            yield name
            os.chmod(name, 0o666 & ~_umask())
            os.replace(name, target)
        except BaseException:
            name.unlink(missing_ok=True)
            raise
    except OSError as problem:
        raise StorageError(f"output {path}: cannot be written ({problem.strerror}).") from None


@contextmanager
def noticed_interrupts() -> Iterator[Callable[[], None]]:
    """A function that raises ``KeyboardInterrupt`` when one came, even where it was lost.

    Python drops an interrupt that arrives inside some callbacks, such as those of imports.
    """
    seen = []

    def handler(number: int, frame: Any) -> None:
        seen.append(number)
        signal.default_int_handler(number, frame)

    def check() -> None:
        if seen:
            raise KeyboardInterrupt

    ours = (
        threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    )
    if ours:
        signal.signal(signal.SIGINT, handler)
    try:
        yield check
    finally:
        if ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask

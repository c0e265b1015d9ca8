"""Which files are meant: one, several, those of a folder, or those that a pattern matches."""

from __future__ import annotations

import atexit
import functools
import glob
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from ..data import example_path
from ..errors import DataError, StorageError, quote
from ..files import check_named, regular_file

#: What stands for standard input.
STANDARD_INPUT = "-"
#: The hidden folder, in that of the reports, of a run under way or stopped.
RUN = ".mechdesign-run"
_RECEIPT = ".receipt.json"
#: Endings of names of text files, and what packs them, as Arrow calls it.
TEXT_ENDINGS = (".csv", ".tsv", ".tab", ".txt", ".dat", ".data")
PACKINGS = {"": None, ".gz": "gzip", ".zst": "zstd"}
_SEPARATED = tuple(ending + packing for ending in TEXT_ENDINGS for packing in PACKINGS)
#: Endings of names of Arrow files, also called Feather.
ARROW_ENDINGS = (".feather", ".arrow", ".ipc")
_SHEET = ".xlsx"
_ENDINGS = (*_SEPARATED, ".parquet", *ARROW_ENDINGS, ".arrows", _SHEET)


def file_ending(path: str | Path, *, written: bool = False) -> str:
    """The ending of a file of a kind that is read, or written; raises :class:`DataError`."""
    name = Path(path).name.lower()
    known = [ending for ending in _ENDINGS if not written or ending != _SHEET]
    ending = next((ending for ending in known if name.endswith(ending)), None)
    if ending is None:
        also = "" if written else " or .xlsx"
        remedy = "name it so" if written else "convert it, or pass a data frame in Python"
        if not written and name.endswith(".json"):
            remedy = (
                "name the table of people; a saved design goes to mechdesign check, apply or "
                "estimate"
            )
        raise DataError(
            "output" if written else "table",
            expected="a name that ends in .csv, .tsv or .txt (also with .gz or .zst), .parquet, "
            f".feather, .arrow{also}",
            got=str(path),
            remedy=remedy,
        )
    return ending


def is_text(path: str | Path) -> bool:
    """Whether a file is one of separated text, by its name."""
    return file_ending(path) in _SEPARATED


def receipt_path(path: str | Path) -> Path:
    """Where the receipt of a text file is: next to it."""
    return Path(f"{path}{_RECEIPT}")


@functools.cache
def _copied_input() -> Any:
    """What comes from standard input, kept until the process ends, as some read it twice."""
    copy = tempfile.NamedTemporaryFile(prefix="mechdesign-")
    atexit.register(copy.close)
    shutil.copyfileobj(sys.stdin.buffer, copy)
    copy.flush()
    return copy


def file_of(source: Any) -> tuple[str, Path]:
    """The name, for messages, and the place of a file that is there.

    Raises :class:`DataError` for what is no name of a regular file or of a shipped table.
    """
    if str(source) == STANDARD_INPUT:
        return "standard input", Path(_copied_input().name)
    expected, got = "the name of a file or of a shipped table", quote(source)
    remedy = "check the path; 'mechdesign doctor data' lists the shipped tables"
    try:
        # A path takes an empty text for the current folder.
        path = example_path(source) or Path(source or "\0")
        if path.exists():
            return path.name, regular_file(path)
        expected, got = "an existing file or the name of a shipped table", str(source)
    except StorageError as problem:
        expected, got = "a readable file", str(problem).partition(";")[0]
    except OSError as problem:
        expected, got = "a readable file", f"{source} ({problem.strerror})"
    except (TypeError, ValueError, OverflowError):
        pass
    raise DataError("table", expected=expected, got=got, remedy=remedy)


@dataclass(frozen=True)
class Inputs:
    """Files that are read as one table.

    Attributes
    ----------
    base : the folder that all names are in
    names : of the files, relative to it, sorted
    is_deep : whether files of any depth in the folder are meant
    """

    base: Path
    names: tuple[str, ...]
    is_deep: bool

    @property
    def paths(self) -> list[Path]:
        """Where the files are."""
        return [self.base / name for name in self.names]


def find_inputs(source: Any) -> Inputs | None:
    """The files of a folder, a pattern or a list of paths; ``None`` for what names one file.

    Raises :class:`DataError` for none, for one file under two names, for several kinds of files
    and for linked folders, which may lead out of the folder, or around in it.
    """
    if isinstance(source, (list, tuple)) and all(isinstance(p, (str, os.PathLike)) for p in source):
        found = _listed([Path(path) for path in source])
    elif not isinstance(source, (str, os.PathLike)) or "\0" in str(source):
        return None  # what is no path is refused when it is opened
    else:
        check_named(source, "table")
        path = Path(source)
        if os.path.isdir(path):
            found = Inputs(path, tuple(sorted(_walk(path))), True)
        elif not os.path.exists(path) and glob.has_magic(str(path)):
            found = _matching(path)
        else:
            return None
    if not found.names:
        raise DataError(
            "table",
            expected="a folder or a pattern with files",
            got=f"none in {source}",
            remedy="check the path; names that begin with a dot or an underscore are left out",
        )
    endings = {file_ending(path) for path in found.paths}
    if len(endings) > 1:
        raise DataError(
            "table",
            expected="files of one kind",
            got=", ".join(sorted(endings)),
            remedy="name a pattern of one kind, such as '*.parquet'",
        )
    known: dict[tuple[int, int], str] = {}
    for name, path in zip(found.names, found.paths, strict=True):
        if not path.is_file():
            raise DataError(
                "table",
                expected="files that can be read",
                got=f"{path}, a link to no file, a device or a pipe",
                remedy="take it away",
            )
        there = path.stat()
        other = known.setdefault((there.st_dev, there.st_ino), name)
        if other != name:
            raise DataError(
                "table",
                expected="each file once, as its people would get two reports each",
                got=f"{name} and {other}, which are one file",
                remedy="take the link away",
            )
    return found


def _listed(paths: Sequence[Path]) -> Inputs:
    base = Path(os.path.commonpath([path.parent.absolute() for path in paths] or [Path()]))
    names = [path.absolute().relative_to(base).as_posix() for path in paths]
    return Inputs(base, tuple(sorted(set(names))), False)


def _is_meant(name: str) -> bool:
    parts = PurePosixPath(name).parts
    return not any(part[0] in "._" for part in parts) and not name.endswith(_RECEIPT)


def _walk(base: Path) -> Iterator[str]:
    for folder, inner, files in os.walk(base):
        inner[:] = [name for name in inner if name[0] not in "._"]
        linked = [name for name in inner if Path(folder, name).is_symlink()]
        if linked:
            raise DataError(
                "table",
                expected="a folder without linked folders",
                got=f"{Path(folder, linked[0])}, a link",
                remedy="put the files there, or name the folder it links to",
            )
        for file in files:
            name = Path(folder, file).relative_to(base).as_posix()
            if _is_meant(name):
                yield name


def _matching(pattern: Path) -> Inputs:
    parts = pattern.parts
    first = next(i for i, part in enumerate(parts) if glob.has_magic(part))
    base = Path(*parts[:first]) if first else Path()
    inner = os.path.join(*parts[first:])
    files = glob.glob(inner, root_dir=base, recursive=True)
    names = {Path(name).as_posix() for name in files if not (base / name).is_dir()}
    return Inputs(base, tuple(sorted(filter(_is_meant, names))), "**" in parts[first:])

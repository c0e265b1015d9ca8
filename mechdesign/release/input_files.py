"""Which files are meant: one, those of a folder, or those that a pattern of names matches."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from ..errors import DataError
from ..files import check_named
from .csv_files import CSV_ENDINGS

#: The hidden folder, in that of the reports, of a run under way or stopped.
RUN = ".mechdesign-run"
_RECEIPT = ".receipt.json"
_ENDINGS = (*CSV_ENDINGS, ".parquet")


def file_ending(path: str | Path) -> str:
    """The ending of a file of a kind that is read here; raises :class:`DataError` for others."""
    name = Path(path).name.lower()
    ending = next((ending for ending in _ENDINGS if name.endswith(ending)), None)
    if ending is None:
        raise DataError(
            "file",
            expected=f"a name that ends in {', '.join(_ENDINGS[:-1])} or {_ENDINGS[-1]}",
            got=str(path),
            remedy="convert it, or privatise a data frame in Python with md.privatize",
        )
    return ending


def is_csv(path: str | Path) -> bool:
    """Whether a file is one of comma-separated values, compressed or not."""
    return file_ending(path) in CSV_ENDINGS


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
    """The files of a folder or a pattern; ``None`` for what names one file.

    Raises :class:`DataError` for none, for one file under two names, for several kinds of files
    and for linked folders, which may lead out of the folder, or around in it.
    """
    if not isinstance(source, (str, os.PathLike)) or "\0" in str(source):
        return None  # what is no path is refused when it is opened
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

"""The kernels whose reports are collected, in their public form: a collector holds no prior."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, cast

from .._public_form import is_public, public_form
from ..errors import CountsWarning, InputError, StorageError, quote
from ..forms._write_form import Form
from ..kernel_files import load_release
from ..mechanism import Mechanism
from ..release.receipts import Receipt, make_receipt
from ..release.report_counts import report_text
from ..solve.columns_plan import KernelPlan
from ..storage import to_json
from ..subsets import SubsetSelection


class _Devices:
    """Where the randomness of collected reports comes from, as far as a collector knows."""

    source = "drawn by who sent them, as they say"
    for_production = True


@dataclass(frozen=True, eq=False)
class Collected:
    """One kernel whose reports are accepted.

    Attributes
    ----------
    name : name of its file, and for a plan of the column
    public : what others may have of it, which is all that is kept here
    path : the file, ``None`` for an object
    """

    name: str
    public: Mechanism | SubsetSelection
    path: Path | None = None
    stamp: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        """Refuse what is not its own public form: all that is kept here may be handed out."""
        if not is_public(self.public) or isinstance(self.public, KernelPlan):
            raise InputError(
                "designs",
                expected="the public form of a kernel",
                got=type(self.public).__name__,
                remedy="make it by Collected.of",
            )

    @classmethod
    def of(cls, designed: Any, name: str = "design", path: Path | None = None) -> Collected:
        """A design, a mechanism or a subset selection, of which the public form is kept.

        Raises :class:`StorageError` for what has none, :class:`InputError` for a plan.
        """
        stamp = None if path is None else _stamp(path)
        return cls(name, cast(Any, public_form(designed)), path, stamp)

    @cached_property
    def receipt(self) -> Receipt:
        """What is said of the reports: the kernel they name and what it guarantees."""
        return make_receipt(self.public, "report", _Devices())

    @property
    def digest(self) -> str:
        """Fingerprint of the kernel."""
        return self.receipt.kernel

    @property
    def digests(self) -> frozenset[str]:
        """Fingerprints that reports may name: of the kernel, and of it with its guarantee."""
        return frozenset(filter(None, (self.receipt.kernel, self.receipt.design)))

    @cached_property
    def text(self) -> str:
        """The public form, as a file holds it."""
        return json.dumps(to_json(self.public))

    @cached_property
    def code(self) -> Callable[[Any], int | None]:
        """A function from a report to the position of its output, ``None`` for what is none.

        Outputs that no input gives are none: no device draws them.
        """
        outputs = self.public.outputs
        if isinstance(self.public, SubsetSelection):
            size = len(outputs)
            return lambda report: (
                report if type(report) is int and 0 <= report < size else None  # True is no report
            )
        occurs = (self.public.weights != 0).any(axis=0)
        places = {report_text(o): j for j, o in enumerate(outputs) if occurs[j]}
        named = {o: j for j, o in enumerate(outputs) if occurs[j] and type(o) is str}

        def find(report: Any) -> int | None:
            if type(report) is str:
                return named.get(report)
            try:
                return places.get(report_text(report))
            except StorageError:
                return None

        return find

    @property
    def has_changed(self) -> bool:
        """Whether the file is another by now, or gone; what was read from it stays in use."""
        return self.path is not None and _stamp(self.path) != self.stamp


def _stamp(path: Path) -> tuple[int, ...] | None:
    """What changes with a file, ``None`` where there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def load_form(paths: Sequence[str | Path], wording: Any) -> Form:
    """The page on which the public answers what one file asks.

    Raises :class:`InputError` for several files: a page asks one design, or one plan.
    """
    if len(paths) != 1:
        raise InputError(
            "--form",
            expected="one design, or one plan of several columns",
            got=f"{len(paths)} files",
            remedy="start a collector for each, or design the columns together",
        )
    with warnings.catch_warnings():
        # Which the collector itself says.
        warnings.simplefilter("ignore", CountsWarning)
        return Form.of(load_release(Path(paths[0])), wording)


def load_kernels(paths: Sequence[str | Path]) -> list[Collected]:
    """The kernels of files, of a plan those of all its columns.

    Raises :class:`InputError` for two files, or two columns, of one kernel, by which reports are
    told apart.
    """
    found = [part for path in paths for part in _load(Path(path))]
    known: dict[str, Collected] = {}
    for part in found:
        other = known.setdefault(part.digest, part)
        if other is not part:
            raise InputError(
                "designs",
                expected="files of different kernels",
                got=f"{other.name} and {part.name}, which hold one kernel",
                remedy="name it once; columns of a plan with one kernel need a collector each, of "
                "their own designs",
            )
    return found


def _load(path: Path) -> list[Collected]:
    designed = load_release(path)
    if isinstance(designed, KernelPlan):
        named = [f"{path.name}, {quote(name)}" for name in designed.names]
        pairs = zip(designed.designs, named, strict=True)
        return [Collected.of(one, name, path) for one, name in pairs]
    return [Collected.of(designed, path.name, path)]

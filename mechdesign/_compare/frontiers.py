"""What a comparison found: points, tables, the verdict."""

from __future__ import annotations

import csv
import html
import io
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from ..errors import InputError, UnknownNameError, quote
from ..files import write_text
from ..labels import excel_safe_cell
from ..prior import Prior
from ..utility.base import Utility
from .paths import FrontierPoint, Missing
from .verdicts import Ranking, rank, verdict_lines

E = TypeVar("E", FrontierPoint, Missing)

#: Columns of the table, in their order; all are attributes of a point.
COLUMNS = (
    "prior",
    "utility",
    "notion",
    "target",
    "attained",
    "epsilon",
    "privacy",
    "value",
    "bound",
    "gap",
    "loss",
    "kept",
    "achieved_pml",
    "achieved_ldp",
    "implied_ldp",
    "mutual_information",
    "method",
)


@dataclass(frozen=True)
class Comparison:
    """Frontiers of several notions, as a table with a verdict.

    Iterating gives the points. :func:`mechdesign.plot_frontiers` draws them.

    Attributes
    ----------
    priors, utilities : what was compared, by name
    notions : names of the notions, in the order given
    match : what the points of different notions share: ``"epsilon"``, ``"ldp"``, ``"pml"`` or
        ``"loss"``
    points : one :class:`FrontierPoint` per prior, utility, notion and target, each with its design
        and certificate
    missing : the targets that a notion cannot meet, with the reason
    """

    priors: dict[str, Prior]
    utilities: dict[str, Utility]
    notions: tuple[str, ...]
    match: str
    points: tuple[FrontierPoint, ...]
    missing: tuple[Missing, ...] = ()

    def __iter__(self) -> Iterator[FrontierPoint]:
        return iter(self.points)

    def __len__(self) -> int:
        return len(self.points)

    @property
    def panels(self) -> tuple[tuple[str, str], ...]:
        """Pairs of a prior and a utility by name; each has a frontier per notion."""
        return tuple((prior, utility) for prior in self.priors for utility in self.utilities)

    def select(
        self, notion: str | None = None, prior: str | None = None, utility: str | None = None
    ) -> Comparison:
        """The part about one notion, prior or utility; raises :class:`UnknownNameError`."""
        for kind, name, known in (
            ("notion", notion, self.notions),
            ("prior", prior, self.priors),
            ("utility", utility, self.utilities),
        ):
            if name is not None and name not in known:
                raise UnknownNameError(f"{kind} of a comparison", name, known)

        return replace(
            self,
            priors={k: v for k, v in self.priors.items() if prior in (None, k)},
            utilities={k: v for k, v in self.utilities.items() if utility in (None, k)},
            notions=tuple(name for name in self.notions if notion in (None, name)),
            points=_part(self.points, notion, prior, utility),
            missing=_part(self.missing, notion, prior, utility),
        )

    def frontier(
        self, notion: str, prior: str | None = None, utility: str | None = None
    ) -> tuple[list[float], list[float]]:
        """Targets and values of one notion; name prior and utility where there are several."""
        part = self.select(notion, prior, utility)
        if len(part.panels) > 1:
            raise InputError(
                "frontier of a comparison",
                expected="the names of one prior and one utility",
                got=f"{len(part.panels)} pairs of them",
                remedy=f"pass prior={quote(self.panels[0][0])} and "
                f"utility={quote(self.panels[0][1])}",
            )
        return [point.target for point in part], [point.value for point in part]

    def rows(self) -> list[dict[str, Any]]:
        """One dictionary per point, with the columns of :meth:`to_frame`."""
        return [{name: getattr(point, name) for name in COLUMNS} for point in self.points]

    def to_frame(self, backend: Any = "pandas") -> Any:
        """The points as a tidy data frame: one line per point, one column per quantity.

        ``backend`` is what narwhals can make: ``"pandas"``, ``"polars"`` or ``"pyarrow"``.
        """
        import narwhals as nw

        columns = {name: [getattr(p, name) for p in self.points] for name in COLUMNS}
        try:
            return nw.from_dict(columns, backend=backend).to_native()
        except (ImportError, ValueError, TypeError) as problem:
            raise InputError(
                "backend of a data frame",
                expected="'pandas', 'polars' or 'pyarrow', installed",
                got=f"{quote(backend)} ({problem})",
                remedy="install it with: pip install 'mechdesign[frames]'",
            ) from None

    def to_csv(
        self, path: str | Path, *, overwrite: bool = False, excel_safe: bool = False
    ) -> None:
        """Write the table; numbers read back as the same floats.

        With ``excel_safe`` names that a spreadsheet would run get an apostrophe, see
        :func:`mechdesign.labels.excel_safe_cell`.
        """
        write_text(self.csv_text(excel_safe=excel_safe), path, overwrite=overwrite)

    def csv_text(self, *, excel_safe: bool = False) -> str:
        """The table as CSV."""
        buffer = io.StringIO()
        writer = csv.DictWriter(buffer, COLUMNS, lineterminator="\n")
        writer.writeheader()
        for row in self.rows():
            if excel_safe:
                row = {key: excel_safe_cell(value) for key, value in row.items()}
            writer.writerow(row)
        return buffer.getvalue()

    @cached_property
    def rankings(self) -> tuple[Ranking, ...]:
        """Who is ahead at each target of each panel, by how much, as far as it is proved."""
        return rank(self.points, self.match)

    @cached_property
    def verdict(self) -> tuple[str, ...]:
        """What the comparison says, in sentences."""
        return tuple(verdict_lines(self.points, self.missing, self.rankings, self.match))

    @property
    def worst_gap(self) -> float:
        """The largest gap of any point, 0 when there are none."""
        return max((point.gap for point in self.points), default=0.0)

    def pivot(
        self, prior: str | None = None, utility: str | None = None
    ) -> tuple[list[str], list[list[float | None]]]:
        """A table of one panel, a line per target and a column per notion: header and lines."""
        part = self.select(prior=prior, utility=utility)
        targets = sorted({p.target for p in part.points} | {m.target for m in part.missing})
        found = {(p.target, p.notion): p.value for p in part.points}
        lines: list[list[float | None]] = [
            [target, *(found.get((target, name)) for name in self.notions)] for target in targets
        ]
        return [self.match, *self.notions], lines

    def __repr__(self) -> str:
        text: list[str] = []
        for prior, utility in self.panels:
            header, lines = self.pivot(prior, utility)
            width = max(12, *map(len, header))
            text += [f"{utility}, {prior}, value by {header[0]}"]
            text += ["  ".join(f"{h:>{width}}" for h in header)]
            text += ["  ".join(f"{cell(v):>{width}}" for v in line) for line in lines]
        return "\n".join([*text, *self.verdict])

    def _repr_html_(self) -> str:
        parts = []
        for prior, utility in self.panels:
            header, lines = self.pivot(prior, utility)
            head = "".join(f"<th>{html.escape(h)}</th>" for h in header)
            body = "".join(
                "<tr>" + "".join(f"<td>{cell(v)}</td>" for v in line) + "</tr>" for line in lines
            )
            parts.append(
                f"<table><caption>{html.escape(f'{utility}, {prior}')}</caption>"
                f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
            )
        said = "".join(f"<p>{html.escape(line)}</p>" for line in self.verdict)
        return "".join(parts) + said


def _part(entries: tuple[E, ...], notion: Any, prior: Any, utility: Any) -> tuple[E, ...]:
    """Entries of one notion, prior or utility; ``None`` stands for all."""
    return tuple(
        entry
        for entry in entries
        if notion in (None, entry.notion)
        and prior in (None, entry.prior)
        and utility in (None, entry.utility)
    )


def cell(value: float | None) -> str:
    """A number of a table; nothing where there is none."""
    if value is None:
        return ""
    return "infinite" if math.isinf(value) else f"{value:.6g}"

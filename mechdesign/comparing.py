"""``compare``: frontiers of utility against level for several notions."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from .errors import LevelError
from .prior import Prior
from .privacy.notion import PrivacyNotion, check_level
from .solve.designing import Design
from .solve.sweeping import sweep
from .utility.base import Utility


@dataclass(frozen=True)
class FrontierPoint:
    """One design of a frontier: ``notion`` names the family, ``epsilon`` the level in nats."""

    notion: str
    epsilon: float
    value: float
    bound: float
    gap: float
    method: str
    design: Design


@dataclass(frozen=True)
class Comparison:
    """Frontiers of several notions on the same prior and utility, as a table.

    Iterating gives the points; :meth:`rows` plain dictionaries for a data frame; see
    :func:`mechdesign.plot_frontiers` for the plot.
    """

    prior: Prior
    utility: Utility
    points: tuple[FrontierPoint, ...]

    def __iter__(self) -> Iterator[FrontierPoint]:
        return iter(self.points)

    def __len__(self) -> int:
        return len(self.points)

    @property
    def notions(self) -> tuple[str, ...]:
        """Names of the notions, in the order given."""
        return tuple(dict.fromkeys(point.notion for point in self.points))

    def frontier(self, notion: str) -> tuple[list[float], list[float]]:
        """Levels and values of one notion."""
        chosen = [point for point in self.points if point.notion == notion]
        return [point.epsilon for point in chosen], [point.value for point in chosen]

    def rows(self) -> list[dict[str, Any]]:
        """One dictionary per point: notion, epsilon, value, bound, gap, method."""
        return [
            {
                "notion": point.notion,
                "epsilon": point.epsilon,
                "value": point.value,
                "bound": point.bound,
                "gap": point.gap,
                "method": point.method,
            }
            for point in self.points
        ]

    def pivot(self) -> tuple[list[str], list[list[float | None]]]:
        """A table with a line per level and a column per notion: header and lines."""
        levels = list(dict.fromkeys(point.epsilon for point in self.points))
        found = {(point.epsilon, point.notion): point.value for point in self.points}
        lines: list[list[float | None]] = [
            [level, *(found.get((level, name)) for name in self.notions)] for level in levels
        ]
        return ["epsilon", *self.notions], lines

    def __repr__(self) -> str:
        header, lines = self.pivot()
        text = [f"{self.utility!r}, value by level in nats", "  ".join(f"{h:>12}" for h in header)]
        text += ["  ".join(_cell(v) for v in line) for line in lines]
        return "\n".join(text)

    def _repr_html_(self) -> str:
        header, lines = self.pivot()
        head = "".join(f"<th>{html.escape(h)}</th>" for h in header)
        body = "".join(
            "<tr>" + "".join(f"<td>{_cell(v).strip()}</td>" for v in line) + "</tr>"
            for line in lines
        )
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def compare(
    prior: Prior,
    utility: Utility,
    notions: Iterable[type[PrivacyNotion] | Callable[[float], Any]],
    epsilons: Iterable[float],
    outputs: Any = None,
    *,
    solver: str = "auto",
    jobs: int = 1,
    progress: bool = False,
) -> Comparison:
    """The best utility that each notion allows at each level.

    Parameters
    ----------
    notions : notion classes, or functions from a level to a notion or a list of notions
        Such as ``[md.PML, md.LDP, lambda e: md.ALIP(2 * e, e)]``. A class with several levels gets
        the same for all. The name shown is ``__name__``.
    epsilons : levels in nats
    prior, utility, outputs, solver, jobs, progress : as in :func:`sweep`

    Raises
    ------
    LevelError
        For no notion, no level, or what is neither a class nor a function; and what :func:`sweep`
        raises.

    Examples
    --------
    >>> import mechdesign as md
    >>> table = compare(md.Prior([.6, .4]), md.utility.Hamming(), [md.PML, md.LDP], [.1, 1])
    >>> table.notions, len(table)
    (('PML', 'LDP'), 4)
    """
    if isinstance(notions, type):
        notions = [notions]
    if not isinstance(epsilons, Iterable) or isinstance(epsilons, str):
        raise LevelError(
            "levels of a comparison",
            expected="a list of levels",
            got=repr(epsilons),
            remedy="pass for example [0.1, 0.5, 1]",
        )
    levels = [check_level(epsilon, "level of a comparison") for epsilon in epsilons]
    families = list(notions)
    if not levels or not families:
        raise LevelError(
            "comparison",
            expected="at least one notion and one level",
            got=f"{len(families)} notions and {len(levels)} levels",
            remedy="pass for example [md.PML, md.LDP] and [0.1, 0.5, 1]",
        )
    points: list[FrontierPoint] = []
    for position, family in enumerate(families):
        if isinstance(family, PrivacyNotion) or not callable(family):
            raise LevelError(
                "notion of a comparison",
                expected="a notion class or a function of the level",
                got=repr(family),
                remedy="pass md.PML rather than md.PML(0.5)",
            )
        make: Callable[[float], Any] = getattr(family, "at", family)
        name = getattr(family, "__name__", "")
        name = name if name and name != "<lambda>" else f"notion {position + 1}"
        designs = sweep(
            prior,
            utility,
            [make(level) for level in levels],
            outputs,
            solver=solver,
            jobs=jobs,
            progress=progress,
        )
        points += [
            FrontierPoint(name, level, d.value, d.bound, d.gap, d.method, d)
            for level, d in zip(levels, designs, strict=True)
        ]
    return Comparison(prior, utility, tuple(points))


def _cell(value: float | None) -> str:
    return f"{'':>12}" if value is None else f"{value:12.6g}"

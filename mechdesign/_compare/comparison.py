"""A comparison: its points, the tables of them, and the verdict that they prove."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import Any, TypeVar

from ..errors import InputError, UnknownNameError, quote
from ..files import write_text
from ..labels import excel_safe_cell
from ..notebook import Tabular, notebook_table
from ..prior import Prior
from ..privacy.notion import PrivacyNotion, told_apart
from ..requirement.base import Requirement
from ..solve._design import Design
from ..tables.writing import csv_text
from ..theory.rules import PUBLISHED_QUANTITIES
from ..utility.base import Utility
from ..utility.estimation import Estimation
from ..utility.sublinear import MutualInformation
from .orders import Order, order_lines, orders_of

# Shares of what can be gained that count as the same.
_SAME = 1e-6
#: Leakages that designs of equal loss are compared by.
_LEAKS = {
    "achieved_pml": "pointwise maximal leakage",
    "achieved_ldp": "local differential privacy",
    "mutual_information": "mutual information",
}
_SHARED = {
    "epsilon": "the same level",
    "ldp": "the same implied LDP level",
    "pml": "the same achieved PML level",
    "loss": "the same expected loss",
}
#: The notion that nothing can exceed where it is what is matched by.
_CEILINGS = {"ldp": "LDP", "pml": "PML"}
_CEILING_SENTENCES = {
    "ldp": "Each of these guarantees implies LDP at the target, so none can give more than LDP "
    "itself; what matters here is how much each of the others gives away for its own promise.",
    "pml": "A kernel that leaks at most the target satisfies PML at the target, so none can give "
    "more than PML itself; what matters here is how much each of the others gives away for its own "
    "promise.",
}
_SYMBOL = {"epsilon": "ε", "ldp": "implied LDP", "pml": "achieved PML", "loss": "loss"}
#: What points share, as tables, pages and charts name it.
MATCHED_BY = {
    "epsilon": "level ε (nats)",
    "ldp": "implied LDP level (nats)",
    "pml": "achieved PML level (nats)",
    "loss": "expected loss",
}
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
#: What the risk of estimates is.
RISK_IN_WORDS = "squared error × reports"
#: Those that follow where estimates are compared.
RISKS = ("risk", "least_risk")


def asks_reports(utility: Utility) -> bool:
    """Whether a utility is about estimates, whose risks are compared: the fewest reports win."""
    return isinstance(utility, Estimation)


@dataclass(frozen=True)
class FrontierPoint:
    """One design of a frontier. Levels and leakages in nats.

    The best values of estimates are minus their risks, and an uninformative kernel has none: the
    share that is kept of them is that of the reports which an open survey needs.

    Attributes
    ----------
    prior, utility, notion : names of what was compared
    target : what was matched: the level ε, an implied LDP level, an achieved PML level or a loss
    attained : what the design has of it; ``target`` or, where nothing meets that, short of it
    epsilon : the level the notion was asked at
    value, bound, gap, method : as in :class:`mechdesign.Design`
    loss : expected utility lost against full disclosure
    kept : share of the possible gain: (value − that of an uninformative kernel)/(value of full
        disclosure − that of an uninformative kernel), 1 where no gain is possible; of estimates the
        reports that an open survey needs over those that the kernel needs
    kept_bound : the same of the bound
    achieved_pml, achieved_ldp, mutual_information : what the kernel leaks
    implied : levels that published results say follow, by name of the notion
    design : the design
    """

    prior: str
    utility: str
    notion: str
    target: float
    attained: float
    epsilon: float
    value: float
    bound: float
    gap: float
    method: str
    loss: float
    kept: float
    kept_bound: float
    achieved_pml: float
    achieved_ldp: float
    mutual_information: float
    implied: dict[str, tuple[float, ...]]
    design: Design

    @property
    def implied_ldp(self) -> float:
        """LDP level that the guarantee implies."""
        return self.implied["LDP"][0]

    @property
    def risk(self) -> float | None:
        """Squared error of estimates times the number of reports; ``None`` for other utilities."""
        return self.design.risk if isinstance(self.design.utility, Estimation) else None

    @property
    def least_risk(self) -> float | None:
        """What it is at least under the notion, by the proven bound."""
        return 0.0 - self.bound if isinstance(self.design.utility, Estimation) else None

    @property
    def privacy(self) -> str:
        """What was asked, such as ``"pml:0.5"``; several joined with ``+``."""
        return "+".join(notion.spec for notion in self.design.notions)


@dataclass(frozen=True)
class Missing:
    """A target that no level of a notion meets, and why."""

    prior: str
    utility: str
    notion: str
    target: float
    reason: str


E = TypeVar("E", FrontierPoint, Missing)


@dataclass(frozen=True)
class Comparison(Tabular):
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
    requirements : what else every kernel satisfies
    """

    priors: dict[str, Prior]
    utilities: dict[str, Utility]
    notions: tuple[str, ...]
    match: str
    points: tuple[FrontierPoint, ...]
    missing: tuple[Missing, ...] = ()
    requirements: tuple[Requirement, ...] = ()

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
        """One dictionary per point, with the columns of :meth:`to_frame`.

        What is asked, ``privacy``, has parameters where notions cannot be told apart without them.
        """
        asked = ["+".join(texts) for texts in self.asked(lambda notion: notion.spec)]
        return [
            {name: getattr(point, name) for name in self.columns} | {"privacy": text}
            for point, text in zip(self.points, asked, strict=True)
        ]

    def asked(self, text: Callable[[PrivacyNotion], str] = str) -> list[list[str]]:
        """The notions of each point as text, those of different points told apart."""
        counts = [len(p.design.notions) for p in self.points]
        texts = iter(told_apart([n for p in self.points for n in p.design.notions], text))
        return [[next(texts) for _ in range(count)] for count in counts]

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns of the table: risks where estimates are compared."""
        return COLUMNS + RISKS * any(map(asks_reports, self.utilities.values()))

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
        cell = excel_safe_cell if excel_safe else lambda value: value
        rows = ([cell(row.get(name)) for name in self.columns] for row in self.rows())
        return csv_text([self.columns, *rows])

    @cached_property
    def rankings(self) -> tuple[Ranking, ...]:
        """Who is ahead at each target of each panel, by how much, as far as it is proved."""
        return _rank(self.points, self.match)

    @cached_property
    def verdict(self) -> tuple[str, ...]:
        """What the comparison proves, in sentences."""
        said = _verdict(self.points, self.missing, self.rankings, self.match)
        return (
            *(f"Required throughout: {r}." for r in self.requirements),
            *said,
            *self._order_lines(),
        )

    @cached_property
    def orders(self) -> tuple[Order, ...]:
        """Of every two kernels at one target, whether one is never worse, whatever the use.

        By :func:`mechdesign.refines`, for each ordered pair of notions.
        """
        return tuple(
            order
            for _, panel in _panels(self.points)
            for _, group in _by_target(panel)
            for order in orders_of(group)
        )

    def _order_lines(self) -> Iterator[str]:
        several = {p.prior for p in self.points}, {p.utility for p in self.points}
        for panel, _ in _panels(self.points):
            names = [name for name, known in zip(panel, several, strict=True) if len(known) > 1]
            here = [order for order in self.orders if (order.prior, order.utility) == panel]
            yield from order_lines(here, f"{', '.join(reversed(names))}: " if names else "")

    @property
    def worst_gap(self) -> float:
        """The largest gap of any point, 0 when there are none."""
        return max((point.gap for point in self.points), default=0.0)

    def pivot(
        self, prior: str | None = None, utility: str | None = None
    ) -> tuple[list[str], list[list[float | None]]]:
        """A table of one panel, a line per target and a column per notion: header and lines.

        The numbers are values, of estimates risks.
        """
        part = self.select(prior=prior, utility=utility)
        targets = sorted({p.target for p in part.points} | {m.target for m in part.missing})
        found = {(p.target, p.notion): p.value if p.risk is None else p.risk for p in part.points}
        lines: list[list[float | None]] = [
            [target, *(found.get((target, name)) for name in self.notions)] for target in targets
        ]
        return [self.match, *self.notions], lines

    def quantity(self, utility: str) -> str:
        """What the numbers of a utility's tables are, in words."""
        return RISK_IN_WORDS if asks_reports(self.utilities[utility]) else "value"

    def __repr__(self) -> str:
        text: list[str] = []
        for prior, utility in self.panels:
            header, lines = self.pivot(prior, utility)
            width = max(12, *map(len, header))
            text += [f"{utility}, {prior}, {self.quantity(utility)} by {header[0]}"]
            text += ["  ".join(f"{h:>{width}}" for h in header)]
            text += ["  ".join(f"{cell(v):>{width}}" for v in line) for line in lines]
        return "\n".join([*text, *self.verdict])

    def _repr_html_(self) -> str:
        parts = []
        for prior, utility in self.panels:
            header, lines = self.pivot(prior, utility)
            rows = [map(cell, line) for line in lines]
            about = f"{utility}, {prior}"
            if asks_reports(self.utilities[utility]):
                about += f", {self.quantity(utility)}"
            parts.append(notebook_table(header, rows, about))
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
    """A number of a table; empty where there is none."""
    if value is None:
        return ""
    return "infinite" if math.isinf(value) else f"{value:.6g}"


# The verdict


@dataclass(frozen=True)
class Ranking:
    """The notions at one target of one panel, best first.

    Attributes
    ----------
    prior, utility, target : the panel and the target
    order : names of the notions, by value from the best
    leaders : those whose bounds reach the best one's value
    lead : what each leader is ahead of all others, as a share of what can be gained: at least that,
        as its value is compared with their proven bounds; 0 where all lead, or nothing is proved.
        Of estimates the share of reports that it saves
    """

    prior: str
    utility: str
    target: float
    order: tuple[str, ...]
    leaders: tuple[str, ...]
    lead: float


def _rank(points: Iterable[FrontierPoint], match: str) -> tuple[Ranking, ...]:
    """One :class:`Ranking` per panel and target; none where designs share their loss."""
    if match == "loss":
        return ()
    return tuple(
        _ranked(prior, utility, target, group)
        for (prior, utility), panel in _panels(points)
        for target, group in _by_target(panel)
    )


def _ranked(prior: str, utility: str, target: float, points: Sequence[FrontierPoint]) -> Ranking:
    order = sorted(points, key=lambda p: -p.kept)
    best = order[0].kept
    estimates = asks_reports(order[0].design.utility)
    # In the order given, so that the same leaders are the same whoever is ahead by rounding.
    near = _SAME * (best if estimates else 1.0)
    leaders = tuple(p.notion for p in points if p.kept_bound >= best - near)
    others = [p.kept_bound for p in order if p.notion not in leaders]
    least = min(p.kept for p in order if p.notion in leaders)
    lead = max(least - max(others), 0.0) if others else 0.0
    if estimates:
        lead /= least
    names = tuple(p.notion for p in order)
    return Ranking(prior, utility, target, names, leaders, lead)


def _verdict(
    points: Sequence[FrontierPoint],
    missing: Sequence[Missing],
    rankings: Sequence[Ranking],
    match: str,
) -> Iterator[str]:
    """The verdict in sentences, panel by panel."""
    priors, utilities = {p.prior for p in points}, {p.utility for p in points}
    for (prior, utility), panel in _panels(points):
        names = [utility] * (len(utilities) > 1) + [prior] * (len(priors) > 1)
        start = f"{', '.join(names)}: " if names else ""
        if match == "loss":
            yield from _leak_lines(panel, start)
            continue
        here = [r for r in rankings if (r.prior, r.utility) == (prior, utility)]
        yield from _lead_lines(panel, here, match, start)
    notions = {p.notion for p in points}
    if match == "epsilon":
        yield from _implied_lines(points)
    elif len(notions) > 1 and _has_ceiling(points, match):
        yield _CEILING_SENTENCES[match]
    if match != "epsilon":
        yield from _declared_lines(points)
    yield from _short_lines(points, match)
    yield from _missing_lines(missing)


def _lead_lines(
    panel: Sequence[FrontierPoint], rankings: Sequence[Ranking], match: str, start: str
) -> Iterator[str]:
    count = len(rankings)
    estimates = asks_reports(panel[0].design.utility)
    same_words = " need the same and the fewest" if estimates else " give the same and the most"
    led: dict[tuple[tuple[str, ...], bool], list[float]] = {}
    for ranking in rankings:
        led.setdefault((ranking.leaders, _same(panel, ranking)), []).append(ranking.target)
    parts = []
    for (leaders, same), targets in sorted(led.items(), key=lambda pair: -len(pair[1])):
        where = f"at {len(targets)} of {count} targets"
        if len(targets) == count:
            where = "at the only target" if count == 1 else f"at all {count} targets"
        leading = _listed(leaders) + (
            " does"
            if len(leaders) == 1
            else same_words
            if same
            else " cannot be told apart, as their bounds overlap,"
        )
        parts.append(f"{leading} {where} ({_spans(targets, rankings)})")
    asked = "needs the fewest reports" if estimates else "gives the most utility"
    yield f"{start}Which {asked} at {_SHARED[match]}? " + "; ".join(parts) + "."
    middle = rankings[count // 2]
    values = {p.notion: p for p in panel if p.target == middle.target}
    shown = ", ".join(
        f"{name} {abs(p.value) if estimates else p.value:.4g} ({p.kept:.1%})"
        for name, p in ((name, values[name]) for name in middle.order)
    )
    about = (
        f"{RISK_IN_WORDS}, in brackets the share of the reports that an open survey needs."
        if estimates
        else "in brackets the share of what can be gained over an uninformative mechanism."
    )
    yield f"{start}At {_SYMBOL[match]} = {middle.target:.4g}: {shown}; {about}"
    widest = max(rankings, key=lambda r: r.lead)
    if widest.lead > 0:
        rest = [name for name in widest.order if name not in widest.leaders]
        yield (
            f"{start}The largest lead is that of {_listed(widest.leaders)} over {rest[0]} at "
            f"{_SYMBOL[match]} = {widest.target:.4g}: at least {widest.lead:.1%} "
            f"{'fewer reports' if estimates else 'of what could be gained'}, proved by the "
            "certificates."
        )


def _same(panel: Sequence[FrontierPoint], ranking: Ranking) -> bool:
    """Whether the leaders have one value, rather than bounds that overlap."""
    there = [p for p in panel if p.target == ranking.target and p.notion in ranking.leaders]
    kept = [p.kept for p in there]
    unit = max(kept) if asks_reports(there[0].design.utility) else 1.0
    return max(kept) - min(kept) <= _SAME * unit


def _leak_lines(panel: Sequence[FrontierPoint], start: str) -> Iterator[str]:
    targets = list(_by_target(panel))
    middle, there = targets[len(targets) // 2]
    for name, description in _LEAKS.items():
        if name == "mutual_information" and isinstance(there[0].design.utility, MutualInformation):
            continue  # the same for all, as that is the loss
        led: dict[tuple[str, ...], list[float]] = {}
        for target, group in targets:
            least = min(getattr(p, name) for p in group)
            edge = least * (1 + 1e-5) + 1e-9
            best = tuple(p.notion for p in group if getattr(p, name) <= edge)
            led.setdefault(best, []).append(target)
        parts = [
            f"{_listed(names)} at {len(where)} of {len(targets)}"
            for names, where in sorted(led.items(), key=lambda pair: -len(pair[1]))
        ]
        shown = ", ".join(
            f"{p.notion} {_nats(getattr(p, name))}"
            for p in sorted(there, key=lambda p: getattr(p, name))
        )
        yield (
            f"{start}At the same expected loss, the kernels with the least {description} are those "
            f"of {'; '.join(parts)} {'loss' if len(targets) == 1 else 'losses'}. At loss "
            f"{middle:.4g}: {shown} nats."
        )


def _implied_lines(points: Sequence[FrontierPoint]) -> Iterator[str]:
    """Notions that imply others at each level, which therefore cannot give more."""
    groups = [group for _, panel in _panels(points) for _, group in _by_target(panel)]
    implications = _implications(
        points, lambda name, other: all(_implies(group, name, other) for group in groups)
    )
    if implications:
        yield (
            f"At each of these levels {'; '.join(implications)}. A notion that implies another "
            "cannot give more at the same level: that is a theorem, not a merit. To compare like "
            "with like, match by what the guarantees imply or what the kernels leak (match 'ldp', "
            "'pml' or 'loss')."
        )


def _implications(
    points: Sequence[FrontierPoint], implies: Callable[[str, str], bool]
) -> list[str]:
    names = list(dict.fromkeys(p.notion for p in points))
    found = []
    for name in names:
        implied = [other for other in names if other != name and implies(name, other)]
        if implied:
            found.append(f"{name} implies {_listed(implied)}")
    return found


def _declared_lines(points: Sequence[FrontierPoint]) -> Iterator[str]:
    """What conversions of one's own say of equal levels, where levels are not what is matched."""
    by_name: dict[str, list[FrontierPoint]] = {}
    for point in points:
        by_name.setdefault(point.notion, []).append(point)

    def implies(name: str, other: str) -> bool:
        given, wanted = (_only_kind(by_name[one]) for one in (name, other))
        if not given or not wanted or {given.lower(), wanted.lower()} <= PUBLISHED_QUANTITIES:
            return False
        return all(max(p.implied.get(wanted, (math.inf,))) <= p.epsilon for p in by_name[name])

    declared = _implications(points, implies)
    if declared:
        yield (
            f"At equal levels {'; '.join(declared)}, by the conversions that are declared; the "
            "levels that are matched here may differ."
        )


def _only_kind(points: Sequence[FrontierPoint]) -> str | None:
    """The class of the notion of some points, where that is one at their level and no more."""
    kinds = set()
    for p in points:
        notions = p.design.notions
        if len(notions) > 1 or notions[0].needs or set(notions[0].levels) != {p.epsilon}:
            return None
        kinds.add(type(notions[0]).__name__)
    return kinds.pop() if len(kinds) == 1 else None


def _implies(group: Sequence[FrontierPoint], name: str, other: str) -> bool:
    pair = {p.notion: p for p in group}
    if name not in pair or other not in pair:
        return False
    levels: dict[str, tuple[float, ...]] = pair[name].implied
    wanted = pair[other].design.notions
    return all(
        type(n).__name__ in levels
        and not n.needs
        and all(a <= b for a, b in zip(levels[type(n).__name__], n.levels, strict=True))
        for n in wanted
    )


def _has_ceiling(points: Sequence[FrontierPoint], match: str) -> bool:
    """Whether the notion of that name is the one that nothing can exceed."""
    asked = [p.design.notions for p in points if p.notion == _CEILINGS.get(match)]
    return bool(asked) and all(
        len(notions) == 1 and type(notions[0]).__name__ == _CEILINGS[match] for notions in asked
    )


def _short_lines(points: Sequence[FrontierPoint], match: str) -> Iterator[str]:
    """Points that stay away from what they were matched by, as leakage moves in steps."""
    if match not in ("ldp", "pml"):
        return
    for name in dict.fromkeys(p.notion for p in points):
        short = [
            p for p in points if p.notion == name and p.attained < p.target * (1 - 1e-3) - 1e-9
        ]
        zero = [p for p in short if match == "pml" and p.epsilon == 0]
        if zero:
            short = [p for p in short if p not in zero]
            yield (
                f"{name} is matched at level zero, within rounding, at "
                f"{_count(len(zero), 'point')} (targets "
                f"{', '.join(f'{p.target:.4g}' for p in zero)}): at every larger level that was "
                "tried its best kernel leaks more than the target."
            )
        if short:
            worst = max(short, key=lambda p: p.target - p.attained)
            why = (
                "no level of it comes nearer"
                if match == "ldp"
                else "the leakage of its best kernels moves in steps"
            )
            yield (
                f"{name} stays below the target at {_count(len(short), 'point')} (most at "
                f"{worst.target:.4g}: {worst.attained:.4g}), as {why}."
            )


def _missing_lines(missing: Sequence[Missing]) -> Iterator[str]:
    for (name, reason), group in groupby(missing, key=lambda m: (m.notion, m.reason)):
        yield f"{name} has no point at {_count(len(list(group)), 'target')}: {reason}."


def _panels(
    points: Iterable[FrontierPoint],
) -> Iterator[tuple[tuple[str, str], list[FrontierPoint]]]:
    found: dict[tuple[str, str], list[FrontierPoint]] = {}
    for point in points:
        found.setdefault((point.prior, point.utility), []).append(point)
    yield from found.items()


def _by_target(panel: Iterable[FrontierPoint]) -> Iterator[tuple[float, list[FrontierPoint]]]:
    found: dict[float, list[FrontierPoint]] = {}
    for point in panel:
        found.setdefault(point.target, []).append(point)
    yield from sorted(found.items())


def _spans(targets: Sequence[float], rankings: Sequence[Ranking]) -> str:
    """Stretches of consecutive targets, such as ``0.1 to 0.5, 2``."""
    order = [r.target for r in rankings]
    places = sorted(order.index(target) for target in targets)
    spans: list[list[int]] = []
    for place in places:
        if spans and place == spans[-1][1] + 1:
            spans[-1][1] = place
        else:
            spans.append([place, place])
    return ", ".join(
        f"{order[a]:.4g}" if a == b else f"{order[a]:.4g} to {order[b]:.4g}" for a, b in spans
    )


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " and " + names[-1]


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _nats(level: float) -> str:
    return "infinite" if math.isinf(level) else f"{level:.4g}"

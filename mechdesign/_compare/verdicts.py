"""What a comparison says in words: who is ahead, by how much, and what is proved of it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from ..utility.sublinear import MutualInformation
from .paths import FrontierPoint, Missing

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
_CEILING_WORDS = {
    "ldp": "Each of these guarantees implies LDP at the target, so none can give more than LDP "
    "itself; what matters here is how much each of the others gives away for its own promise.",
    "pml": "A kernel that leaks at most the target satisfies PML at the target, so none can give "
    "more than PML itself; what matters here is how much each of the others gives away for its own "
    "promise.",
}
_SYMBOL = {"epsilon": "ε", "ldp": "implied LDP", "pml": "achieved PML", "loss": "loss"}


@dataclass(frozen=True)
class Ranking:
    """The notions at one target of one panel, best first.

    Attributes
    ----------
    prior, utility, target : the panel and the target
    order : names of the notions, by value from the best
    leaders : those whose values cannot be told apart from the best one's
    lead : what each leader is ahead of all others, as a share of what can be gained: at least that,
        as its value is compared with their proven bounds; 0 where all lead, or nothing is proved
    """

    prior: str
    utility: str
    target: float
    order: tuple[str, ...]
    leaders: tuple[str, ...]
    lead: float


def rank(points: Iterable[FrontierPoint], match: str) -> tuple[Ranking, ...]:
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
    # In the order given, so that the same leaders are the same whoever is ahead by rounding.
    leaders = tuple(p.notion for p in points if p.kept_bound >= best - _SAME)
    others = [p.kept_bound for p in order if p.notion not in leaders]
    least = min(p.kept for p in order if p.notion in leaders)
    lead = max(least - max(others), 0.0) if others else 0.0
    names = tuple(p.notion for p in order)
    return Ranking(prior, utility, target, names, leaders, lead)


def verdict_lines(
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
        yield _CEILING_WORDS[match]
    yield from _short_lines(points, match)
    yield from _missing_lines(missing)


def _lead_lines(
    panel: Sequence[FrontierPoint], rankings: Sequence[Ranking], match: str, start: str
) -> Iterator[str]:
    count = len(rankings)
    led: dict[tuple[tuple[str, ...], bool], list[float]] = {}
    for ranking in rankings:
        led.setdefault((ranking.leaders, _same(panel, ranking)), []).append(ranking.target)
    parts = []
    for (leaders, same), targets in sorted(led.items(), key=lambda item: -len(item[1])):
        where = f"at {len(targets)} of {count} targets"
        if len(targets) == count:
            where = "at the only target" if count == 1 else f"at all {count} targets"
        word = _listed(leaders) + (
            " does"
            if len(leaders) == 1
            else " give the same and the most"
            if same
            else " cannot be told apart, as their bounds overlap,"
        )
        parts.append(f"{word} {where} ({_spans(targets, rankings)})")
    yield f"{start}Which gives the most utility at {_SHARED[match]}? " + "; ".join(parts) + "."
    middle = rankings[count // 2]
    values = {p.notion: p for p in panel if p.target == middle.target}
    shown = ", ".join(
        f"{name} {values[name].value:.4g} ({values[name].kept:.1%})" for name in middle.order
    )
    yield (
        f"{start}At {_SYMBOL[match]} = {middle.target:.4g}: {shown}; in brackets the share of what "
        "could be gained over telling nothing."
    )
    widest = max(rankings, key=lambda r: r.lead)
    if widest.lead > 0:
        rest = [name for name in widest.order if name not in widest.leaders]
        yield (
            f"{start}The largest lead is that of {_listed(widest.leaders)} over {rest[0]} at "
            f"{_SYMBOL[match]} = {widest.target:.4g}: at least {widest.lead:.1%} of what could be "
            "gained, proved by the certificates."
        )


def _same(panel: Sequence[FrontierPoint], ranking: Ranking) -> bool:
    """Whether the leaders have one value, rather than bounds that overlap."""
    kept = [p.kept for p in panel if p.target == ranking.target and p.notion in ranking.leaders]
    return max(kept) - min(kept) <= _SAME


def _leak_lines(panel: Sequence[FrontierPoint], start: str) -> Iterator[str]:
    targets = list(_by_target(panel))
    middle, there = targets[len(targets) // 2]
    for name, words in _LEAKS.items():
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
            for names, where in sorted(led.items(), key=lambda item: -len(item[1]))
        ]
        shown = ", ".join(
            f"{p.notion} {_nats(getattr(p, name))}"
            for p in sorted(there, key=lambda p: getattr(p, name))
        )
        yield (
            f"{start}At the same expected loss, the kernels with the least {words} are those of "
            f"{'; '.join(parts)} {'loss' if len(targets) == 1 else 'losses'}. At loss "
            f"{middle:.4g}: {shown} nats."
        )


def _implied_lines(points: Sequence[FrontierPoint]) -> Iterator[str]:
    """Notions that imply others at each level, which therefore cannot give more."""
    names = list(dict.fromkeys(p.notion for p in points))
    groups = [group for _, panel in _panels(points) for _, group in _by_target(panel)]
    facts = []
    for name in names:
        implied = [
            other
            for other in names
            if other != name and all(_implies(group, name, other) for group in groups)
        ]
        if implied:
            facts.append(f"{name} implies {_listed(implied)}")
    if facts:
        yield (
            f"At each of these levels {'; '.join(facts)}. A notion that implies another cannot "
            "give more at the same level: that is a theorem, not a merit. To compare like with "
            "like, match by what the guarantees imply or what the kernels leak (match 'ldp', "
            "'pml' or 'loss')."
        )


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


def _count(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def _nats(level: float) -> str:
    return "infinite" if math.isinf(level) else f"{level:.4g}"

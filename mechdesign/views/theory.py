"""Results, errata and conversions on a terminal and as plain values."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from rich.table import Table
from rich.text import Text

from ..labels import shorten
from ..papers.claims import Erratum, Outcome, Theorem
from ..storage import label_to_json, mechanism_to_json
from ..theory import Implication, Implications, TightConversion
from ..theory.conversions import rounded_up
from .text import console


def print_theorems(results: Iterable[Theorem]) -> None:
    """Identifier, statement and source of each result."""
    table = Table("id", "statement", "tight", "source", show_lines=False)
    rows = list(results)
    for result in rows:
        source = result.source or "derived here"
        table.add_row(result.id, result.statement, "yes" if result.tight else "", source)
    out = console()
    out.print(table)
    out.print(Text(f"{len(rows)} results; check them with: mechdesign theorems check --all"))


def print_theorem(result: Theorem) -> None:
    """All there is to say about one result."""
    out = console()
    out.print(Text(result.id, style="bold"))
    for name, text in (
        ("also", ", ".join(result.also)),
        ("statement", result.statement),
        ("conditions", result.conditions),
        ("tight", "yes: each check holds an instance that attains it" if result.tight else "no"),
        ("source", result.source or "derived in this project"),
    ):
        if text:
            out.print(Text(f"{name:<11} {text}"), soft_wrap=True)


def print_outcomes(outcomes: Sequence[tuple[Theorem, Outcome]]) -> None:
    """Which results held, and the claim of each that came closest to failing."""
    table = Table("id", "holds", "claims", "closest claim")
    for result, outcome in outcomes:
        claim = outcome.worst
        text = f"{claim.about}: {claim.found:.6g} {claim.relation} {claim.claimed:.6g}"
        style = "green" if outcome.ok else "bold red"
        verdict = Text("yes" if outcome.ok else "NO", style=style)
        table.add_row(Text(result.id), verdict, str(outcome.claims), Text(text))
    out = console()
    out.print(table)
    failed = [result.id for result, outcome in outcomes if not outcome.ok]
    word = f"{len(failed)} failed: {', '.join(failed)}" if failed else "all hold"
    out.print(Text(f"{len(outcomes)} results checked, {word}"))


def print_errata(entries: Iterable[Erratum]) -> None:
    """Place, kind, printed and corrected statement of each erratum."""
    table = Table("id", "where", "kind", "printed", "corrected", show_lines=True)
    for entry in entries:
        where = f"{entry.source}, {entry.place}"
        table.add_row(entry.id, where, entry.kind, entry.printed, entry.corrected)
    console().print(table)


def print_erratum(entry: Erratum) -> None:
    """One erratum with its counterexamples, computed now."""
    out = console()
    out.print(Text(f"{entry.id}  {entry.source}, {entry.place} ({entry.kind})", style="bold"))
    out.print(Text(f"printed     {entry.printed}"), soft_wrap=True)
    out.print(Text(f"corrected   {entry.corrected}"), soft_wrap=True)
    for example in entry.counterexamples():
        out.print(Text(f"computed    {example}"), soft_wrap=True)


def print_implications(found: Implications, entries: Sequence[Implication]) -> None:
    """Each implied level with the results it rests on, or why there is none."""
    out = console()
    out.print(Text(", ".join(map(str, found.given)) + " implies", style="bold"))
    table = Table("guarantee", "level in nats", "by")
    for entry in entries:
        steps = "\n".join(map(str, entry.derivation)) or entry.reason or "given"
        if entry.reason and entry.derivation:
            steps += "\n" + entry.reason
        table.add_row(entry.name, Text(_levels(entry.levels)), Text(steps))
    out.print(table)


def print_tight(conversions: Sequence[TightConversion]) -> None:
    """Each tight level with what decides it and whether a witness attains it."""
    out = console()
    given = ", ".join(map(str, conversions[0].source))
    out.print(Text(f"{given} implies, at the smallest levels that always hold", style="bold"))
    table = Table("guarantee", "level in nats", "attained", "decided by", "method")
    for found in conversions:
        for entry in found.levels:
            pair = f"{shorten(entry.over, 30)} against {shorten(entry.under, 30)}"
            attained = "no witness" if entry.witness is None else f"{entry.attained:.12g}"
            name = type(found.target).__name__
            level = _levels((entry.level,))
            table.add_row(name, Text(level), Text(attained), Text(pair), entry.method)
    out.print(table)


def _levels(levels: Iterable[float]) -> str:
    return ", ".join("infinite" if v == math.inf else rounded_up(v, 12) for v in levels)


def theorem_json(result: Theorem) -> dict[str, Any]:
    """A result as plain values."""
    return {
        "id": result.id,
        "also": list(result.also),
        "statement": result.statement,
        "conditions": result.conditions,
        "tight": result.tight,
        "source": result.source,
    }


def outcome_json(result: Theorem, outcome: Outcome) -> dict[str, Any]:
    """The outcome of a check as plain values."""
    return {
        "id": result.id,
        "holds": outcome.ok,
        "claims": outcome.claims,
        "closest": {
            "about": outcome.worst.about,
            "found": outcome.worst.found,
            "relation": outcome.worst.relation,
            "claimed": outcome.worst.claimed,
        },
    }


def erratum_json(entry: Erratum) -> dict[str, Any]:
    """An erratum as plain values, its counterexamples computed now."""
    return {
        "id": entry.id,
        "source": entry.source,
        "place": entry.place,
        "kind": entry.kind,
        "printed": entry.printed,
        "corrected": entry.corrected,
        "counterexamples": [str(example) for example in entry.counterexamples()],
        "stands": entry.stands,
    }


def implications_json(found: Implications, entries: Sequence[Implication]) -> dict[str, Any]:
    """Implied levels with their derivations as plain values."""
    return {
        "given": [notion.spec for notion in found.given],
        "prior": _prior_json(found),
        "implied": [
            {
                "name": entry.name,
                "levels": list(entry.levels),
                "reason": entry.reason,
                "derivation": [
                    {
                        "id": step.id,
                        "source": step.source,
                        "premises": list(step.premises),
                        "conclusion": step.conclusion,
                    }
                    for step in entry.derivation
                ],
            }
            for entry in entries
        ],
    }


def tight_json(conversions: Sequence[TightConversion]) -> dict[str, Any]:
    """Tight levels with their witnesses as plain values."""
    return {
        "given": [notion.spec for notion in conversions[0].source],
        "prior": _prior_json(conversions[0]),
        "implied": [
            {
                "name": type(found.target).__name__,
                "levels": [
                    {
                        "level": entry.level,
                        "attained": entry.attained,
                        "over": entry.over,
                        "under": entry.under,
                        "method": entry.method,
                        "witness": None
                        if entry.witness is None
                        else mechanism_to_json(entry.witness),
                    }
                    for entry in found.levels
                ],
                "reason": found.reason,
            }
            for found in conversions
        ],
    }


def _prior_json(found: Implications | TightConversion) -> dict[str, Any]:
    return {
        "labels": [label_to_json(label) for label in found.prior.labels],
        "probabilities": found.prior.probabilities.tolist(),
    }

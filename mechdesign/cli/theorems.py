"""``mechdesign research theorems``: list, show and check what the library rests on."""

from __future__ import annotations

import re
from typing import Annotated, Any

import typer

from ..errors import UnknownNameError
from .exit_codes import NOT_MET
from .options import AsJson, refuse
from .output import print_json

_MOST_INSTANCES = 100_000
_ACTIONS = ("list", "show", "check", "errata", "coverage")


def theorems(
    action: Annotated[str, typer.Argument(help="list, show, check, errata or coverage.")] = "list",
    names: Annotated[
        list[str] | None, typer.Argument(help="Identifiers, such as PMC-Thm-4.1 or E7.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Check every result.")] = False,
    number: Annotated[int, typer.Option("--instances", help="Random instances of each.")] = 5,
    seed: Annotated[int, typer.Option(help="Seed of the random instances.")] = 0,
    as_json: AsJson = False,
) -> None:
    """List the results the library rests on, show one, or check them on random instances.

    'errata' lists what is wrong in the papers, with counterexamples; with identifiers, 'show' does.
    'coverage' lists every numbered statement of the papers, what checks it, and how far; 'check'
    with the identifier of one that several results check together, PMC-Lem-1, runs all of them.
    """
    from ..papers.catalogue import errata, known_theorems, statements

    if not isinstance(action, str) or action not in _ACTIONS:
        raise UnknownNameError("action of theorems", action, _ACTIONS)
    if action in ("list", "errata", "coverage") and names:
        refuse(
            f"theorems {action}",
            "no identifiers",
            " ".join(names),
            f"write: mechdesign research theorems show {names[0]}",
        )
    if action == "list":
        _list(known_theorems(), as_json)
    elif action == "errata":
        _errata(errata(), as_json)
    elif action == "coverage":
        _coverage(statements(), as_json)
    elif action == "show":
        if not names:
            refuse(
                "theorems show",
                "the identifier of a result",
                "none",
                "write for example: mechdesign research theorems show PMC-Thm-4.1",
            )
        _show(names, as_json)
    else:
        _check(names or [], everything, number, seed, as_json)


def _list(results: Any, as_json: bool) -> None:
    from ..views.plain import theorem_json
    from ..views.text import print_theorems

    if as_json:
        print_json([theorem_json(result) for result in results])
    else:
        print_theorems(results)


def _errata(entries: Any, as_json: bool) -> None:
    from ..views.plain import erratum_json
    from ..views.text import print_errata

    if as_json:
        print_json([erratum_json(entry) for entry in entries])
    else:
        print_errata(entries)
    if not all(entry.stands for entry in entries):
        raise typer.Exit(NOT_MET)


def _coverage(entries: Any, as_json: bool) -> None:
    from ..views.plain import statement_json
    from ..views.text import print_coverage

    if as_json:
        print_json([statement_json(entry) for entry in entries])
    else:
        print_coverage(entries)


def _show(names: list[str], as_json: bool) -> None:
    from ..papers.catalogue import errata, find_erratum, find_theorem, known_theorems, statements
    from ..views.plain import erratum_json, statement_json, theorem_json
    from ..views.text import print_coverage, print_erratum, print_theorem

    results = {name.lower() for r in known_theorems() for name in (r.id, *r.also)}
    numbered = {entry.id.lower(): entry for entry in statements()}
    mistakes = {entry.id.lower() for entry in errata()}
    shown = []
    for name in names:
        # E and a number is meant as an erratum, so that a mistake in it is answered with those.
        if name.strip().lower() in mistakes or re.fullmatch(r"[Ee]\d+\w?", name.strip()):
            entry = find_erratum(name)
            shown.append(erratum_json(entry))
            if not as_json:
                print_erratum(entry)
        elif name.strip().lower() in numbered and name.strip().lower() not in results:
            # A statement that several results check together.
            statement = numbered[name.strip().lower()]
            shown.append(statement_json(statement))
            if not as_json:
                print_coverage([statement])
        else:
            result = find_theorem(name)
            shown.append(theorem_json(result))
            if not as_json:
                print_theorem(result)
    if as_json:
        print_json(shown)


def _check(names: list[str], everything: bool, number: int, seed: int, as_json: bool) -> None:
    import sys

    from ..papers.catalogue import find_results, known_theorems
    from ..progress import track
    from ..views.plain import outcome_json
    from ..views.text import print_outcomes

    if everything == bool(names):
        refuse(
            "theorems check",
            "either identifiers or --all",
            "both" if everything else "neither",
            "write: mechdesign research theorems check --all",
        )
    if not 1 <= number <= _MOST_INSTANCES or not 0 <= seed < 2**64:
        refuse(
            "theorems check",
            f"1 to {_MOST_INSTANCES:,} instances and a seed from 0 to 2^64 - 1",
            f"--instances {number} --seed {seed}",
            "correct the number",
        )
    named = (result for name in names for result in find_results(name))
    results = known_theorems() if everything else tuple(dict.fromkeys(named))
    outcomes = [
        (result, result.check(seed, instances=number))
        for result in track(results, "checking", show=sys.stderr.isatty())
    ]
    if as_json:
        print_json([outcome_json(result, outcome) for result, outcome in outcomes])
    else:
        print_outcomes(outcomes)
    if not all(outcome.ok for _, outcome in outcomes):
        raise typer.Exit(NOT_MET)

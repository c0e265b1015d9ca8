"""``mechdesign design`` and ``mechdesign show``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..arguments import read_outputs, read_prior, read_utility
from ..errors import InputError, StorageError, UntoldWarning, warn
from .options import (
    AsJson,
    Column,
    ExcelSafe,
    Force,
    MaxSymbols,
    Missing,
    Outputs,
    PriorText,
    Privacy,
    Table,
    Weights,
    note,
    plain,
    print_json,
    say,
)

if TYPE_CHECKING:
    from ..release._identifiability import Identification


Public = Annotated[
    Path | None,
    typer.Option(
        help="Save what others may have: kernel, labels and guarantee, without the prior, which "
        "may be the counts of people."
    ),
]


def design(
    table: Table = None,
    column: Column = None,
    weights: Weights = None,
    missing: Missing = "error",
    max_symbols: MaxSymbols = None,
    prior: PriorText = None,
    privacy: Privacy = None,
    utility: Annotated[
        str,
        typer.Option(
            "--utility",
            "-u",
            help="hamming, absolute, squared (losses on numeric labels), mutual-information, "
            "total-variation, chi-square, or a CSV matrix of gains with symbols as rows and "
            "outputs as columns.",
        ),
    ] = "hamming",
    outputs: Outputs = None,
    solver: Annotated[
        str,
        typer.Option(help="auto, all (every method that applies), a method, or a cvxpy solver."),
    ] = "auto",
    explain: Annotated[
        bool, typer.Option("--explain", help="Say which method would be used and why; no solving.")
    ] = False,
    time_limit: Annotated[
        float | None,
        typer.Option(help="Seconds for a search (mutual information and the like); default 60."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Save the design as JSON.")
    ] = None,
    csv: Annotated[Path | None, typer.Option("--csv", help="Save the kernel as CSV.")] = None,
    excel_safe: ExcelSafe = False,
    public: Public = None,
    as_json: AsJson = False,
    force: Force = False,
) -> None:
    """Design the best mechanism for a column, certify it, and say what it leaks."""
    from .._audit import audit as run_audit
    from ..files import check_writable
    from ..privacy.notion import parse_notion
    from ..release._identifiability import identifiability
    from ..solve._design import design as run_design
    from ..solve._design import explain as run_explain
    from ..storage import save, seal, to_json, write_csv
    from ..views import text as reporting

    if not privacy:
        raise InputError(
            "--privacy",
            expected="at least one notion with a level",
            got="none",
            remedy="add for example --privacy pml:0.5",
        )
    notions = [parse_notion(spec) for spec in privacy]
    known = read_prior(table, column, weights, missing, prior, max_symbols)
    goal = read_utility(utility, known)
    labels = read_outputs(outputs)
    if explain and any(path is not None for path in (output, csv, public)):
        raise InputError(
            "--explain",
            expected="no --output, --csv or --public, as nothing is solved",
            got="one of them",
            remedy="leave out --explain to design and save",
        )
    if explain:
        choice = run_explain(known, goal, notions, labels, solver)
        if as_json:
            print_json(
                {
                    "method": choice.method.name,
                    "why": choice.method.reason,
                    "source": choice.method.source,
                    "refused": choice.refusals,
                    "also": choice.also,
                }
            )
        else:
            say(str(choice))
        return
    named = [path for path in (output, csv, public) if path is not None]
    for path in named:
        check_writable(path, overwrite=force)
    if len(set(named)) < len(named):
        raise StorageError(f"output {output}: expected different names, got the same one twice.")
    found = run_design(known, goal, notions, labels, solver, time_limit)
    report = run_audit(found.mechanism, known, notions)
    if output is not None:
        save(found, output, overwrite=force)
    if csv is not None:
        write_csv(found.mechanism, csv, overwrite=force, excel_safe=excel_safe)
    if public is not None:
        save(found, public, overwrite=force, public=True)
    told = identifiability(found.mechanism)
    if told.tells_nothing:
        warn(told.advice, UntoldWarning)
    if as_json:
        print_json(seal({**to_json(found), "audit": plain(report.summary())}))
        return
    reporting.print_design(found, report)
    _print_told(told)
    for path in named:
        note(f"saved {path}")


def _print_told(told: Identification) -> None:
    """What can be estimated from reports, where that is not everything."""
    if told.advice and not told.tells_nothing:
        typer.echo(f"{told.advice[0].upper()}{told.advice[1:]}.")


def show(
    file: Annotated[str, typer.Argument(help="A file written by 'mechdesign design --output'.")],
    public: Public = None,
    as_json: AsJson = False,
    force: Force = False,
) -> None:
    """Check a saved design again and print it."""
    from .._audit import audit as run_audit
    from ..release._identifiability import identifiability
    from ..solve._design import Design
    from ..storage import load, save, to_json
    from ..views import text as reporting

    item = load(file)
    if public is not None:
        save(item, public, overwrite=force, public=True)
        note(f"saved {public}")
    if as_json:
        print_json(to_json(item))
    elif isinstance(item, Design):
        reporting.print_design(item, run_audit(item.mechanism, item.prior, list(item.notions)))
        _print_told(identifiability(item.mechanism))
    else:
        say(repr(item))

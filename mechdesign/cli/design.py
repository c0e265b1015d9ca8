"""``mechdesign design``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import InfeasibleError, UntoldWarning, quote, warn
from ..progress import waiting
from .designed_prior import DesignSource
from .options import (
    AsJson,
    ExcelSafe,
    Force,
    Of,
    OfWeights,
    Outputs,
    Privacy,
    Public,
    Require,
    TruthText,
    asked_of,
    check_distinct,
    labels_or_number,
    read_goal,
    read_notion,
    read_notions,
    read_required,
    read_solver,
    refuse,
    refuse_typed,
    say_advice,
)
from .output import note, plain, print_json, say

if TYPE_CHECKING:
    from ..utility import Utility


# What is asked of one kernel alone.
_OF_ONE = (
    *("privacy", "utility", "of", "truth", "require", "outputs", "solver", "explain"),
    *("csv", "excel_safe"),
)


def design(
    context: typer.Context,
    source: DesignSource,
    privacy: Privacy = None,
    utility: Annotated[
        str | None,
        typer.Option(
            "--utility",
            "-u",
            help="estimation (the default: the fewest reports for the same error; see --of), "
            "hamming (the chance that a report is the symbol; the default with --require or names "
            "in --outputs), "
            "absolute or squared (losses on numeric labels, or midpoints of bins), of one column "
            "as hamming:COLUMN, mutual-information, total-variation, chi-square, a CSV matrix of "
            "gains with symbols as rows and outputs as columns, or one of your own: "
            "package.module:Name. The least of several: worst-symbol:hamming, or worst: and parts "
            "weight*utility@prior>=goal joined with +, such as worst:hamming+0.1*absolute.",
        ),
    ] = None,
    of: Of = None,
    of_weights: OfWeights = None,
    truth: TruthText = None,
    total: Annotated[
        str | None,
        typer.Option(
            metavar="NOTION:LEVEL",
            help="In place of --privacy: what the reports of several columns have together, such "
            "as ldp:2. The level is split over the --column for the fewest reports, a kernel for "
            "each; --of-weights says what the errors of each column weigh.",
        ),
    ] = None,
    joint: Annotated[
        bool | None,
        typer.Option(
            "--joint/--no-joint",
            help="With --total: compare with one design for all columns at once; for up to 16 "
            "combinations when left out.",
        ),
    ] = None,
    require: Require = None,
    outputs: Outputs = None,
    solver: Annotated[
        Any,
        typer.Option(
            help="auto, all (every method that applies), a method, a cvxpy solver, or a method of "
            "your own: package.module:Name."
        ),
        read_solver,
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
    """Design the best mechanism for a column, with proof.

    Where nothing else is asked it is for the frequencies of its symbols, under LDP(1). For those of
    more than seventy symbols a report is a subset of them, without a matrix. With --total a plan
    for several columns, each with a kernel of its own.
    """
    from .._audit import audit as run_audit
    from ..files import check_writable
    from ..kernel_files import write_csv
    from ..mechanism import mechanism_of
    from ..release._identifiability import identifiability
    from ..solve._design import design as run_design
    from ..solve._design import explain as run_explain
    from ..storage import save, to_json
    from ..subsets import SubsetSelection
    from ..tables.counting import AS_MANY_AS_RECUR
    from ..views.plain import choice_json, design_json
    from ..views.text import print_design, print_subset_selection

    check_distinct(
        {"--output": output, "--csv": csv, "--public": public},
        {"the table": source.table, "--utility": utility, "--bins-from": source.bins_from},
    )
    if total is not None:
        refuse_typed(context, _OF_ONE, "beside --total, which asks for shares of each column")
        written = {path: path == public for path in (output, public) if path is not None}
        _split(source, total, of_weights, joint, time_limit, written, as_json, force)
        return
    if joint is not None:
        refuse("--joint", "--total beside it", "it alone", "add for example --total ldp:2")
    notions = read_notions(privacy or ["ldp:1"])
    # What names outputs, or asks something of them, is about reports that are symbols.
    is_number = outputs is not None and len(outputs) == 1 and isinstance(outputs[0], int)
    is_about_symbols = bool(require) or (outputs is not None and not is_number)
    utility = utility or ("hamming" if is_about_symbols else "estimation")
    many = AS_MANY_AS_RECUR if utility.strip().lower() == "estimation" else None
    known = source.read_prior(many)
    goal: Utility = read_goal(utility, known)
    goal = asked_of(goal, known, of, of_weights, truth)
    labels = labels_or_number(goal, outputs)
    required = read_required(require, known, [goal], labels)
    if explain and any(path is not None for path in (output, csv, public)):
        refuse(
            "--explain",
            "no --output, --csv or --public, as nothing is solved",
            "one of them",
            "leave out --explain to design and save",
        )
    if explain:
        choice = run_explain(known, goal, notions, labels, solver, required)
        if as_json:
            print_json(choice_json(choice))
        else:
            say(str(choice))
        return
    named = [path for path in (output, csv, public) if path is not None]
    for path in named:
        check_writable(path, overwrite=force)
    source.hint_at_bins(known)
    try:
        with waiting("designing", show=sys.stderr.isatty(), limit=time_limit):
            found = run_design(known, goal, notions, labels, solver, time_limit, required)
    except InfeasibleError as impossible:
        _tell_impossible(impossible, output, force=force, as_json=as_json)
        raise
    if csv is not None:
        write_csv(mechanism_of(found), csv, overwrite=force, excel_safe=excel_safe)
    if output is not None:
        save(found, output, overwrite=force)
    if public is not None:
        save(found, public, overwrite=force, public=True)
    if isinstance(found, SubsetSelection):
        if as_json:
            print_json(to_json(found))
        else:
            print_subset_selection(found)
        for path in named:
            note(f"saved {path}")
        return
    with waiting("auditing", show=sys.stderr.isatty()):
        report = run_audit(found.mechanism, known, notions, required)
        identified = identifiability(found)
    if identified.tells_nothing:
        warn(identified.advice, UntoldWarning)
    if as_json:
        left_out = {"left_out": report.left_out} if report.left_out else {}
        print_json(design_json(found, audit=plain({**report.summary(), **left_out})))
        return
    print_design(found, report)
    say_advice(identified)
    for path in named:
        note(f"saved {path}")


def _split(
    source: DesignSource,
    total: str,
    of_weights: str | None,
    joint: bool | None,
    time_limit: float | None,
    written: dict[Path, bool],
    as_json: bool,
    force: bool,
) -> None:
    """A level split over several columns of a table; files are written, some in public form."""
    from ..arguments import read_levels
    from ..files import check_writable
    from ..solve._plan_columns import plan_columns
    from ..storage import save
    from ..views.plain import columns_plan_json

    for path in written:
        check_writable(path, overwrite=force)
    asked, names = read_notion(total), source.column or []
    if source.prior is not None or len(names) < 2:
        got = "--prior" if source.prior is not None else f"{len(names)} of them"
        remedy = "add for example --column class --column sex"
        refuse("columns of a plan", "TABLE and --column at least twice", got, remedy)
    weights = [1.0] * len(names) if of_weights is None else read_levels(of_weights)
    if len(weights) != len(names):
        expected = f"{len(names)} numbers, one for each column"
        refuse("--of-weights", expected, quote(of_weights), "write for example 1,2")
    known = source.read_prior()
    source.hint_at_bins(known)
    with waiting("designing", show=sys.stderr.isatty()):
        errors = dict(zip(names, weights, strict=True))
        found = plan_columns(known, errors, asked, joint=joint, time_limit=time_limit)
    for path, is_public in written.items():
        save(found, path, overwrite=force, public=is_public)
    if as_json:
        print_json(columns_plan_json(found))
    else:
        say(repr(found))
    for path in written:
        note(f"saved {path}")


def _tell_impossible(
    impossible: InfeasibleError, output: Path | None, *, force: bool, as_json: bool
) -> None:
    """Keep the proof where the design was to be saved, and print it where JSON was asked for."""
    from ..storage import save, seal, to_json

    if output is not None:
        save(impossible.proof, output, overwrite=force)
    if as_json:
        said = {
            "message": str(impossible),
            "clash": list(impossible.clash),
            "smallest_levels": plain(impossible.levels),
        }
        print_json(seal({**to_json(impossible.proof), **said}))
    if output is not None:
        note(f"saved the proof that there is no such kernel as {output}")

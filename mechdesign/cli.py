"""The command line: ``mechdesign design``, ``audit``, ``compare``, ``show`` and ``data``.

Reports go to standard output, everything else to standard error. Exit codes: 0 done; 1 an audited
kernel does not (provably) meet an asked level; 2 the input cannot be used; 3 a solver or an exact
check failed.
"""

from __future__ import annotations

import json
import math
import os
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from . import __version__
from .arguments import (
    align_prior,
    read_levels,
    read_outputs,
    read_prior,
    read_utility,
)
from .errors import InputError, MechdesignError, NoMethodError, StorageError

OK, NOT_MET, BAD_INPUT, FAILED = 0, 1, 2, 3

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="Design, certify and audit optimal privacy mechanisms for finite secrets. "
    "Levels are in nats. Exit codes: 0 done, 1 an audited kernel misses an asked level, "
    "2 bad input, 3 a solver or an exact check failed.",
)

Privacy = Annotated[
    list[str] | None,
    typer.Option(
        "--privacy",
        "-p",
        metavar="NOTION:LEVEL",
        help="Privacy notion and level in nats, such as pml:0.5, ldp:1 or alip:1.0,0.5 "
        "(lower, upper). Repeat it: all must hold.",
    ),
]
Table = Annotated[
    str | None,
    typer.Argument(help="CSV file with a header, or a shipped table (see 'mechdesign data')."),
]
Outputs = Annotated[str | None, typer.Option(help="Output labels, separated by commas.")]
Column = Annotated[str | None, typer.Option(help="Column of TABLE that holds the secret.")]
Weights = Annotated[
    str | None, typer.Option(help="Column of counts, for tables with one line per group.")
]
Missing = Annotated[str, typer.Option(help="What to do with missing values: error or drop.")]
PriorText = Annotated[
    str | None,
    typer.Option(
        "--prior",
        help="Prior in place of a table: 0.5,0.3,0.2 or a=0.5,b=0.3,c=0.2 or a JSON file.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for scripts.")]
Force = Annotated[bool, typer.Option("--force", help="Replace output files that exist.")]


@app.callback(invoke_without_command=True)
def _root(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        typer.echo(f"mechdesign {__version__}")
        raise typer.Exit(OK)


@app.command()
def design(
    table: Table = None,
    column: Column = None,
    weights: Weights = None,
    missing: Missing = "error",
    prior: PriorText = None,
    privacy: Privacy = None,
    utility: Annotated[
        str,
        typer.Option(
            "--utility",
            "-u",
            help="hamming, absolute, squared (losses on numeric labels), or a CSV matrix of gains "
            "with symbols as rows and outputs as columns.",
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
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Save the design as JSON.")
    ] = None,
    csv: Annotated[Path | None, typer.Option("--csv", help="Save the kernel as CSV.")] = None,
    as_json: AsJson = False,
    force: Force = False,
) -> None:
    """Design the best mechanism for a column, certify it, and say what it leaks."""
    from . import reporting
    from .auditing import audit as run_audit
    from .files import check_writable
    from .privacy.notion import parse_notion
    from .solve.designing import design as run_design
    from .solve.designing import explain as run_explain
    from .storage import save, seal, to_json, write_csv

    if not privacy:
        raise InputError(
            "--privacy",
            expected="at least one notion with a level",
            got="none",
            remedy="add for example --privacy pml:0.5",
        )
    notions = [parse_notion(spec) for spec in privacy]
    known = read_prior(table, column, weights, missing, prior)
    goal = read_utility(utility, known)
    labels = read_outputs(outputs)
    if explain and (output is not None or csv is not None):
        raise InputError(
            "--explain",
            expected="no --output and no --csv, as nothing is solved",
            got="one of them",
            remedy="leave out --explain to design and save",
        )
    if explain:
        choice = run_explain(known, goal, notions, labels, solver)
        if as_json:
            _print_json(
                {
                    "method": choice.method.name,
                    "why": choice.method.reason,
                    "source": choice.method.source,
                    "refused": choice.refusals,
                    "also": choice.also,
                }
            )
        else:
            typer.echo(str(choice))
        return
    for path in (output, csv):
        if path is not None:
            check_writable(path, overwrite=force)
    if output is not None and output == csv:
        raise StorageError(f"output {output}: expected two names, got the same one twice.")
    found = run_design(known, goal, notions, labels, solver)
    report = run_audit(found.mechanism, known, notions)
    if output is not None:
        save(found, output, overwrite=force)
    if csv is not None:
        write_csv(found.mechanism, csv, overwrite=force)
    if as_json:
        _print_json(seal({**to_json(found), "audit": plain(report.summary())}))
        return
    reporting.print_design(found, report)
    for path in (output, csv):
        if path is not None:
            _note(f"saved {path}")


@app.command()
def audit(
    kernel: Annotated[
        str, typer.Argument(help="A saved design, or a kernel as CSV with labels or as JSON rows.")
    ],
    table: Annotated[
        str | None, typer.Option("--data", help="CSV file or shipped table for the prior.")
    ] = None,
    column: Column = None,
    weights: Weights = None,
    missing: Missing = "error",
    prior: PriorText = None,
    privacy: Privacy = None,
    normalise: Annotated[
        bool, typer.Option("--normalise", help="Accept rows that do not sum to one, and divide.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Say what a kernel leaks under every notion, and whether it meets asked levels.

    A saved design brings its own prior and notions; --privacy asks for others.
    """
    from . import reporting
    from .auditing import audit as run_audit
    from .privacy.notion import parse_notion
    from .solve.designing import Design
    from .storage import load_kernel

    notions: Sequence[Any] = [parse_notion(spec) for spec in privacy or []]
    given = None
    if any(option is not None for option in (table, column, prior)):
        given = read_prior(table, column, weights, missing, prior)
    item = load_kernel(kernel, normalise=normalise)
    mechanism = item.mechanism if isinstance(item, Design) else item
    if isinstance(item, Design):
        given = given or item.prior
        notions = notions or item.notions
    if given is None:
        raise InputError(
            "prior",
            expected="a prior for the kernel's inputs",
            got="none",
            remedy="add --prior 0.5,0.3,0.2 or --data TABLE --column COLUMN",
        )
    given = align_prior(given, mechanism.inputs, named=prior is None or "=" in prior)
    report = run_audit(mechanism, given, list(notions) or None)
    if as_json:
        _print_json(reporting.audit_json(report))
    else:
        reporting.print_audit(report)
    if report.verdict is not None and str(report.verdict) != "yes":
        raise typer.Exit(NOT_MET)


@app.command()
def compare(
    table: Table = None,
    column: Column = None,
    weights: Weights = None,
    missing: Missing = "error",
    prior: PriorText = None,
    notion: Annotated[
        list[str] | None, typer.Option("--notion", help="Notion, such as pml. Repeat it.")
    ] = None,
    levels: Annotated[
        str, typer.Option(help="Levels in nats: 0.1,0.5,1 or first:last:count.")
    ] = "0.1:2:20",
    utility: Annotated[
        str, typer.Option("--utility", "-u", help="As for 'mechdesign design'.")
    ] = "hamming",
    outputs: Outputs = None,
    plot: Annotated[
        Path | None, typer.Option(help="Save the plot (png, pdf or svg; needs matplotlib).")
    ] = None,
    jobs: Annotated[int, typer.Option(help="Processes to run in; -1 for one per core.")] = 1,
    as_json: AsJson = False,
    force: Force = False,
) -> None:
    """Compare how much utility several notions allow, level by level."""
    from . import reporting
    from .comparing import compare as run_compare
    from .files import check_writable
    from .privacy.notion import find_notion
    from .storage import SCHEMA

    known = read_prior(table, column, weights, missing, prior)
    goal = read_utility(utility, known)
    families = [find_notion(name) for name in notion or ["pml", "lip", "ldp"]]
    if plot is not None:
        check_writable(plot, overwrite=force)
        reporting.check_plot(plot)
    found = run_compare(
        known,
        goal,
        families,
        read_levels(levels),
        read_outputs(outputs),
        jobs=jobs,
        progress=sys.stderr.isatty(),
    )
    if plot is not None:
        reporting.save_plot(found, plot)
    if as_json:
        prior_rows = dict(zip(map(str, known.labels), known.probabilities.tolist(), strict=True))
        _print_json({"schema": SCHEMA, "prior": prior_rows, "points": found.rows()})
    else:
        reporting.print_comparison(found)
    if plot is not None:
        _note(f"saved {plot}")


@app.command()
def show(
    file: Annotated[str, typer.Argument(help="A file written by 'mechdesign design --output'.")],
    as_json: AsJson = False,
) -> None:
    """Check a saved design again and print it."""
    from . import reporting
    from .auditing import audit as run_audit
    from .solve.designing import Design
    from .storage import load, to_json

    item = load(file)
    if as_json:
        _print_json(to_json(item))
    elif isinstance(item, Design):
        reporting.print_design(item, run_audit(item.mechanism, item.prior, list(item.notions)))
    else:
        typer.echo(repr(item))


@app.command()
def data(as_json: AsJson = False) -> None:
    """List the shipped tables, with their sources."""
    from . import reporting
    from .data import EXAMPLES

    if as_json:
        _print_json({name: vars(table) for name, table in EXAMPLES.items()})
    else:
        reporting.print_examples()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code. No input makes it raise."""
    command = typer.main.get_command(app)
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        warnings.showwarning = _show_warning
        for stream in (sys.stdout, sys.stderr):
            # A label that the terminal cannot show is written as its code.
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="backslashreplace")
        try:
            args = None if arguments is None else list(arguments)
            code: Any = command.main(args=args, prog_name="mechdesign", standalone_mode=False)
            if code == 130:
                return _fail("interrupted; nothing was written", 130)
            sys.stdout.flush()
        except (InputError, StorageError) as problem:
            return _fail(str(problem), BAD_INPUT)
        except NoMethodError as problem:
            return _fail(f"{problem}; ask for other notions or another solver.", BAD_INPUT)
        except MechdesignError as problem:
            return _fail(str(problem), FAILED)
        except (BrokenPipeError, SystemExit):
            # Whoever read our output has seen enough (typer leaves by SystemExit then).
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return OK
        except OSError as problem:
            return _fail(f"output cannot be written ({problem.strerror})", FAILED)
        except Exception as problem:
            if not hasattr(problem, "format_message"):
                raise
            text = problem.format_message()
            if type(problem).__name__ == "NoArgsIsHelpError":
                print(text, file=sys.stderr)
                return BAD_INPUT
            if text:
                return _fail(text, BAD_INPUT)
            return BAD_INPUT
        except KeyboardInterrupt:
            return _fail("interrupted; nothing was written", 130)
    return int(code or OK)


def _fail(message: str, code: int) -> int:
    print("error: " + " ".join(message.split()), file=sys.stderr)
    return code


def _note(message: str) -> None:
    print(message, file=sys.stderr)


def _show_warning(message: Any, *_: Any, **__: Any) -> None:
    print(f"warning: {message}", file=sys.stderr)


def _print_json(value: Any) -> None:
    typer.echo(json.dumps(plain(value), indent=1, allow_nan=False))


def plain(value: Any) -> Any:
    """JSON has no infinity: write it as text."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {str(key): plain(v) for key, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    return value


if __name__ == "__main__":
    sys.exit(main())

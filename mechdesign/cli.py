"""The command line: ``mechdesign design``, ``audit``, ``compare``, ``show`` and ``data``.

Reports go to standard output, everything else to standard error. Exit codes: 0 done; 1 an audited
kernel does not (provably) meet an asked level; 2 the input cannot be used; 3 a solver or an exact
check failed.
"""

from __future__ import annotations

import json
import math
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from . import __version__
from .errors import DataError, InputError, MechdesignError, StorageError, UnknownNameError

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
Column = Annotated[str | None, typer.Option(help="Column of TABLE that holds the secret.")]
Weights = Annotated[
    str | None, typer.Option(help="Column of counts, for tables with one line per group.")
]
Missing = Annotated[str, typer.Option(help="What to do with missing values: error or drop.")]
PriorText = Annotated[
    str | None,
    typer.Option("--prior", help="Prior in place of a table: 0.5,0.3,0.2 or a=0.5,b=0.3,c=0.2."),
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
    table: Annotated[
        str | None,
        typer.Argument(help="CSV file with a header, or a shipped table (see 'mechdesign data')."),
    ] = None,
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
    outputs: Annotated[str | None, typer.Option(help="Output labels, separated by commas.")] = None,
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
    from .privacy.notion import parse_notion
    from .solve.designing import design as run_design
    from .solve.designing import explain as run_explain
    from .storage import check_writable, save, to_json, write_csv

    if not privacy:
        raise InputError(
            "--privacy",
            expected="at least one notion with a level",
            got="none",
            remedy="add for example --privacy pml:0.5",
        )
    notions = [parse_notion(spec) for spec in privacy]
    known = _prior(table, column, weights, missing, prior)
    goal = _utility(utility, known)
    labels = _outputs(outputs)
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
        _print_json({**to_json(found), "audit": report.summary()})
        return
    reporting.print_design(found, report)
    for path in (output, csv):
        if path is not None:
            _note(f"saved {path}")


@app.command()
def audit(
    kernel: Annotated[str, typer.Argument(help="A saved design (.json) or a kernel (.csv).")],
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
    from .mechanism import Mechanism
    from .privacy.notion import parse_notion
    from .solve.designing import Design
    from .storage import load
    from .tables import read_matrix

    notions: Sequence[Any] = [parse_notion(spec) for spec in privacy or []]
    given = None
    if any(option is not None for option in (table, column, prior)):
        given = _prior(table, column, weights, missing, prior)
    if kernel.lower().endswith(".json"):
        item = load(kernel)
        mechanism = item.mechanism if isinstance(item, Design) else item
        if isinstance(item, Design):
            given = given or item.prior
            notions = notions or item.notions
    else:
        matrix, inputs, columns = read_matrix(kernel)
        mechanism = Mechanism(matrix, inputs, columns, normalise=normalise)
    if given is None:
        raise InputError(
            "prior",
            expected="a prior for the kernel's inputs",
            got="none",
            remedy="add --prior 0.5,0.3,0.2 or --data TABLE --column COLUMN",
        )
    given = _aligned(given, mechanism.inputs, named=prior is None or "=" in prior)
    report = run_audit(mechanism, given, list(notions) or None)
    if as_json:
        _print_json(reporting.audit_json(report))
    else:
        reporting.print_audit(report)
    if report.verdict is not None and str(report.verdict) != "yes":
        raise typer.Exit(NOT_MET)


@app.command()
def compare(
    table: Annotated[
        str | None,
        typer.Argument(help="CSV file with a header, or a shipped table (see 'mechdesign data')."),
    ] = None,
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
    outputs: Annotated[str | None, typer.Option(help="Output labels, separated by commas.")] = None,
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
    from .storage import check_writable

    known = _prior(table, column, weights, missing, prior)
    goal = _utility(utility, known)
    families = [_family(name) for name in notion or ["pml", "lip", "ldp"]]
    if plot is not None:
        check_writable(plot, overwrite=force)
    found = run_compare(
        known,
        goal,
        families,
        _levels(levels),
        _outputs(outputs),
        jobs=jobs,
        progress=sys.stderr.isatty(),
    )
    if plot is not None:
        reporting.save_plot(found, plot)
    if as_json:
        _print_json({"prior": list(known.weights), "points": found.rows()})
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
        try:
            args = None if arguments is None else list(arguments)
            code = command.main(args=args, prog_name="mechdesign", standalone_mode=False)
            sys.stdout.flush()
        except (InputError, StorageError) as problem:
            return _fail(str(problem), BAD_INPUT)
        except MechdesignError as problem:
            return _fail(str(problem), FAILED)
        except BrokenPipeError:
            # Whoever read our output has seen enough.
            sys.stderr.close()
            return OK
        except Exception as problem:
            if not hasattr(problem, "format_message"):
                raise
            text = problem.format_message()
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
    typer.echo(json.dumps(_plain(value), indent=1, allow_nan=False))


def _plain(value: Any) -> Any:
    """JSON has no infinity: write it as text."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {str(key): _plain(v) for key, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    return value


def _prior(
    table: str | None, column: str | None, weights: str | None, missing: str, text: str | None
) -> Any:
    from .prior import Prior

    if (table is None) == (text is None):
        raise InputError(
            "prior",
            expected="either a table or --prior",
            got="neither" if table is None else "both",
            remedy="give TABLE with --column, or --prior 0.5,0.3,0.2",
        )
    if text is not None:
        return _parse_prior(text)
    assert table is not None
    if column is None:
        raise InputError(
            f"table {table}",
            expected="--column with the column of the secret",
            got="none",
            remedy="add for example --column " + _first_column(table),
        )
    return Prior.from_csv(table, column, weights=weights, missing=missing)


def _family(name: str) -> Any:
    from .privacy.notion import find_notion

    return find_notion(name)


def _levels(text: str) -> list[float]:
    import numpy as np

    parts = text.split(":") if ":" in text else text.split(",")
    try:
        if ":" not in text:
            return [float(part) for part in parts]
        first, last, count = float(parts[0]), float(parts[1]), int(parts[2])
        if len(parts) != 3 or count < 1:
            raise ValueError
        return [float(level) for level in np.linspace(first, last, count)]
    except (ValueError, IndexError):
        raise InputError(
            "--levels",
            expected="levels such as 0.1,0.5,1 or first:last:count",
            got=repr(text),
            remedy="write for example 0.1:2:20",
        ) from None


def _first_column(table: str) -> str:
    from .tables import csv_header

    return csv_header(table)[0]


def _parse_prior(text: str) -> Any:
    from .labels import parse_labels
    from .prior import Prior

    labels: list[str] | None = None
    numbers = [part.strip() for part in text.split(",")]
    if all("=" in part for part in numbers):
        pairs = [part.rpartition("=") for part in numbers]
        labels = [pair[0].strip() for pair in pairs]
        numbers = [pair[2].strip() for pair in pairs]
    values = []
    for word in numbers:
        try:
            values.append(float(word))
        except ValueError:
            raise InputError(
                "--prior",
                expected="numbers separated by commas",
                got=repr(word),
                remedy="write 0.5,0.3,0.2 or a=0.5,b=0.3,c=0.2",
            ) from None
    return Prior(values, None if labels is None else parse_labels(labels))


def _utility(text: str, prior: Any) -> Any:
    from .tables import read_matrix
    from .utility import Distance, Hamming, Matrix

    name = text.strip().lower()
    if name == "hamming":
        return Hamming()
    if name in ("absolute", "abs", "squared"):
        return Distance(name)
    if not Path(text).exists():
        raise UnknownNameError(
            "utility (or file of gains)", text, ["hamming", "absolute", "squared"]
        )
    matrix, rows, columns = read_matrix(text)
    place = {label: i for i, label in enumerate(rows)}
    absent = [label for label in prior.labels if label not in place]
    if absent or len(rows) != len(prior):
        raise DataError(
            f"utility matrix {text}",
            expected=f"one row for each symbol {list(prior.labels)[:8]}",
            got=f"rows {rows[:8]}",
            remedy="label the rows with the symbols of the prior",
        )
    return Matrix(matrix[[place[label] for label in prior.labels]], columns)


def _outputs(text: str | None) -> list[Any] | None:
    from .labels import parse_labels

    return None if text is None else parse_labels([part.strip() for part in text.split(",")])


def _aligned(prior: Any, inputs: tuple[Any, ...], *, named: bool) -> Any:
    """The prior in the order of the kernel's inputs, matched by label where labels were given."""
    from .prior import Prior

    if not named and len(prior) == len(inputs):
        return Prior.from_counts(prior.weights, inputs)
    if set(prior.labels) == set(inputs):
        return Prior.from_counts([prior.weights[prior.index(label)] for label in inputs], inputs)
    return prior


if __name__ == "__main__":
    sys.exit(main())

"""What can be done from a terminal? One file per command, with its name.

In: arguments, which ``arguments`` and ``options`` read.
Out: what Python gives for them, shown by ``views`` on standard output; everything else goes to
standard error. Exit codes: 0 done; 1 an audited kernel does not (provably) meet an asked level, or
a checked result fails; 2 the input cannot be used; 3 a solver or an exact check failed; 4 no kernel
does what is asked, which is proved. Those of ``verify`` are its own.

No input makes :func:`main` raise; where code of one's own does, the message names its method.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from .. import __version__
from ..errors import (
    InfeasibleError,
    InputError,
    MechdesignError,
    NoMethodError,
    StorageError,
    visible,
)
from ..extensions import load_module
from .apply import apply
from .audit import audit
from .certify import certify
from .compare import compare
from .compose import compose
from .convert import convert
from .data import data
from .design import design
from .estimate import estimate
from .explore import explore
from .export import export
from .ledger import ledger
from .options import BAD_INPUT, FAILED, INFEASIBLE, OK, spelled_out
from .places import places
from .plan import plan
from .plan_columns import plan_columns
from .plot import plot
from .pram import pram
from .regress import regress
from .report import report
from .serve import serve
from .show import show
from .smallest import smallest
from .subset_selection import subset_selection
from .theorems import theorems
from .verify import verify

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="Design, certify and audit optimal privacy mechanisms for finite secrets. "
    "Levels are in nats. Exit codes: 0 done, 1 an audited kernel misses an asked level "
    "or a checked result fails, 2 bad input, 3 a solver or an exact check failed, 4 no kernel does "
    "what is asked (proved).",
)


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
    modules: Annotated[
        list[str] | None,
        typer.Option(
            "--import",
            metavar="MODULE",
            help="Import a module first, for files that name utilities or notions of your own. "
            "Repeat it.",
        ),
    ] = None,
) -> None:
    if version:
        typer.echo(f"mechdesign {__version__}")
        raise typer.Exit(OK)
    for module in modules or []:
        load_module(module, "--import")
    if context.invoked_subcommand is None:
        raise InputError(
            "command", expected="a command", got="none", remedy="see: mechdesign --help"
        )


for command in (
    design,
    smallest,
    audit,
    certify,
    compare,
    explore,
    serve,
    report,
    plot,
    convert,
    theorems,
    show,
    verify,
    data,
    apply,
    export,
    pram,
    estimate,
    regress,
    plan,
    plan_columns,
    compose,
    ledger,
    subset_selection,
    places,
):
    app.command()(spelled_out(command))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
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
        except InfeasibleError as problem:
            return _fail(str(problem), INFEASIBLE)
        except MechdesignError as problem:
            untold = getattr(problem, "is_proved", False)
            return _fail(str(problem), INFEASIBLE if untold else FAILED)
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
    print("error: " + visible(" ".join(message.split())), file=sys.stderr)
    return code


def _show_warning(message: Any, *_: Any, **__: Any) -> None:
    print("warning: " + visible(" ".join(str(message).split())), file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())

"""The commands, each in the module of its name, put together for one run."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Annotated

import typer

from .. import __version__
from ..errors import InputError
from ..extensions import load_module
from .exit_codes import OK
from .options import spelled_out

#: Every command, in the order of the help.
COMMANDS = (
    "design",
    "smallest",
    "audit",
    "audit-samples",
    "certify",
    "compare",
    "explore",
    "serve",
    "report",
    "plot",
    "convert",
    "theorems",
    "show",
    "verify",
    "data",
    "apply",
    "export",
    "pram",
    "estimate",
    "estimate-change",
    "regress",
    "plan",
    "plan-columns",
    "compose",
    "order",
    "envelope",
    "contraction",
    "ledger",
    "subset-selection",
    "places",
)


def application(arguments: Sequence[str]) -> typer.Typer:
    """The command line for some arguments: the one command that they begin with, else all.

    Reading the options of all of them takes longer than most commands do.
    """
    asked = arguments[0] if arguments else ""
    app = typer.Typer(
        add_completion=False,
        no_args_is_help=True,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        help="Design, certify and audit optimal privacy mechanisms for finite secrets. "
        "Levels are in nats. Exit codes: 0 done, 1 an audited kernel misses an asked level "
        "or a checked result fails, 2 bad input, 3 a solver or an exact check failed, 4 no kernel "
        "does what is asked (proved).",
    )
    app.callback(invoke_without_command=True)(_root)
    for name in (asked,) if asked in COMMANDS else COMMANDS:
        place = name.replace("-", "_")
        command = getattr(import_module(f"{__package__}.{place}"), place)
        app.command()(spelled_out(command))
    return app


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

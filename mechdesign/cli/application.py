"""The commands, each in the module of its name, put together for one run."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from .. import __version__
from ..errors import InputError
from ..extensions import load_module
from .exit_codes import OK
from .parameters import spelled_out

#: Every command, by the question that it answers, in the order of the help.
QUESTIONS = {
    "Where to begin?": ("try",),
    "Which mechanism is best?": ("design", "smallest", "pram", "plan-columns"),
    "… for places, or tried out in a browser?": ("places", "explore"),
    "What does a kernel leak, and does it keep what is claimed?": (
        *("audit", "audit-samples", "certify", "verify", "show", "envelope"),
    ),
    "Which notion, which kernel?": ("compare", "convert", "order", "compose", "contraction"),
    "How is a column privatised or collected?": ("apply", "export", "serve", "ledger"),
    "What do reports say, and how many does it take?": (
        *("estimate", "estimate-change", "regress", "plan"),
    ),
    "How is it shown?": ("report", "plot"),
    "What is here, and what went wrong?": ("data", "theorems", "explain", "doctor"),
}
#: Modules of commands that do not bear their names.
MODULES = {"try": "try_out"}
COMMANDS = tuple(name for names in QUESTIONS.values() for name in names)


class _ByQuestion(TyperGroup):
    """Help that lists the commands under the questions that they answer."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write a section for each question."""
        widest = max(map(len, self.commands), default=0)
        # As much as fits in one line, and on a narrow terminal what wraps into a few.
        room = max(formatter.width - 6 - widest, 40)
        for question, names in QUESTIONS.items():
            rows = [
                (name.ljust(widest), self.commands[name].get_short_help_str(room))
                for name in names
                if name in self.commands
            ]
            if rows:
                formatter.write(f"\n{question}\n")
                with formatter.indentation():
                    formatter.write_dl(rows)


def _narrow() -> dict[str, int]:
    """Settings for a terminal that is narrower than help is made for otherwise."""
    columns = shutil.get_terminal_size().columns
    return {"terminal_width": max(columns - 2, 20)} if columns < 52 else {}


def application(arguments: Sequence[str]) -> typer.Typer:
    """The command line for some arguments: the one command that they begin with, else all.

    Reading the options of all of them takes longer than most commands do.
    """
    asked = arguments[0] if arguments else ""
    app = typer.Typer(
        cls=_ByQuestion,
        context_settings=_narrow(),
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        help="Design, certify and audit optimal privacy mechanisms for finite secrets. "
        "Levels are in nats. Exit codes: 0 done, 1 an audited kernel misses an asked level "
        "or a checked result fails, 2 bad input, 3 a solver or an exact check failed, 4 no kernel "
        "does what is asked (proved), 5 what was found could not be printed. Errors end with a "
        "code: mechdesign explain CODE.",
    )
    app.callback(invoke_without_command=True)(_root)
    for name in (asked,) if asked in COMMANDS else COMMANDS:
        place = MODULES.get(name, name.replace("-", "_"))
        command = getattr(import_module(f"{__package__}.{place}"), place)
        app.command(name)(spelled_out(command))
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

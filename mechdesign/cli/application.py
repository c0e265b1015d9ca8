"""The commands, each in the module of its name, which is imported when it is asked for."""

from __future__ import annotations

import re
import shutil
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, ClassVar

import typer
from typer.core import TyperGroup
from typer.main import get_command

from .. import __version__
from ..errors import InputError, nearest_name, quote
from ..extensions import load_module
from .exit_codes import OK
from .parameters import spelled_out

#: Every command, by the question that it answers, in the order of the help.
QUESTIONS: dict[str, tuple[str, ...]] = {
    "Where to begin?": ("try",),
    "Which mechanism is best?": ("design", "smallest", "pram"),
    "… for places, or tried out in a browser?": ("places", "explore"),
    "Is it private, and as good as it can be?": ("check", "verify", "audit", "certify"),
    "Which notion, and what do several reports give away?": ("compare", "compose"),
    "How is a column privatised or collected?": ("apply", "export", "serve", "ledger"),
    "What do reports say, and how many does it take?": ("estimate", "regress", "plan"),
    "How is it shown to others?": ("report",),
    "What lies behind it, and does all work here?": ("research", "doctor"),
}
COMMANDS = tuple(name for names in QUESTIONS.values() for name in names)
#: Questions of those who compare guarantees and kernels, below ``research``.
RESEARCH: dict[str, tuple[str, ...]] = {
    "What follows from a guarantee, and who proved it?": ("convert", "theorems"),
    "Which kernel is better, and what becomes of its reports?": (
        *("order", "envelope", "contraction"),
    ),
}
#: Modules of commands that do not bear their names.
MODULES = {"try": "try_out"}
#: What those are called here who look for something else.
MEANT = {
    **{name: f"research {name}" for names in RESEARCH.values() for name in names},
    **dict.fromkeys(("privatize", "privatise", "randomize", "randomise", "release"), "apply"),
    **dict.fromkeys(("collect", "form", "survey"), "serve"),
    **dict.fromkeys(("freq", "frequencies", "shares", "histogram", "mean", "joint"), "estimate"),
    **dict.fromkeys(("show", "load", "print", "info"), "check"),
    **dict.fromkeys(("audit-samples", "leakage", "test"), "audit"),
    **dict.fromkeys(("explain", "data", "datasets", "selftest"), "doctor"),
    **dict.fromkeys(("plot", "draw", "picture", "page"), "report"),
    **dict.fromkeys(("javascript", "sql"), "export"),
    **dict.fromkeys(("sample-size", "power"), "plan"),
    **dict.fromkeys(("optimise", "optimize", "kernel", "subset-selection"), "design"),
    **dict.fromkeys(("gui", "ui", "browser"), "explore"),
    **dict.fromkeys(("prove", "proof"), "verify"),
    "budget": "ledger",
    "plan-columns": "design --total",
    "estimate-change": "estimate --change",
    "version": "--version",
}


class _ByQuestion(TyperGroup):
    """Commands under the questions that they answer, each loaded when it is asked for."""

    questions: ClassVar[dict[str, tuple[str, ...]]] = QUESTIONS

    def list_commands(self, ctx: Any) -> list[str]:
        """Their names, in the order of the help."""
        return [name for names in self.questions.values() for name in names]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """A command, ``None`` where there is none of this name."""
        return load_command(cmd_name) if cmd_name in self.list_commands(ctx) else None

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that arguments begin with; what is none is answered with what was meant."""
        name, known = args[0], self.list_commands(ctx)
        if name in known or name.startswith("-"):
            return super().resolve_command(ctx, args)
        own = nearest_name(name, known)
        other = MEANT.get(name.lower()) or (
            not own and MEANT.get(nearest_name(name, [*MEANT]) or "")
        )
        meant = f"mechdesign {other}" if other else f"{ctx.command_path} {own}"
        told = (
            f"did you mean '{meant}'?" if own or other else f"{ctx.command_path} --help lists all"
        )
        return ctx.fail(f"there is no command {quote(name)}; {told}")

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write a section for each question."""
        widest = max(map(len, self.list_commands(ctx)))
        for question, names in self.questions.items():
            formatter.write(f"\n{question}\n")
            with formatter.indentation():
                formatter.write_dl([(name.ljust(widest), first_sentence(name)) for name in names])


class _Research(_ByQuestion):
    questions = RESEARCH


def _place(name: str) -> str:
    return MODULES.get(name, name.replace("-", "_"))


def first_sentence(name: str) -> str:
    """What a command does in a line, as its docstring begins; its module is not imported."""
    if name == "research":
        return _ABOUT_RESEARCH
    place = _place(name)
    source = Path(__file__).with_name(f"{place}.py").read_text(encoding="utf-8")
    found = re.search(rf'^def {place}\(.*?-> None:\n    """(.*?)(?:\n\n|""")', source, re.S | re.M)
    assert found is not None, name
    return " ".join(found[1].split()).partition(". ")[0].removesuffix(".") + "."


def load_command(name: str) -> Any:
    """A command as click runs it."""
    if name == "research":
        return get_command(_group(_Research, _research, _ABOUT_RESEARCH))
    place = _place(name)
    app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    app.command(name)(spelled_out(getattr(import_module(f"{__package__}.{place}"), place)))
    return get_command(app)


def _group(cls: type[_ByQuestion], callback: Any, about: str) -> typer.Typer:
    columns = shutil.get_terminal_size().columns
    # On a narrow terminal the help is narrower than it is made for otherwise.
    narrow = {"terminal_width": max(columns - 2, 20)} if columns < 52 else {}
    app = typer.Typer(
        cls=cls,
        add_completion=cls is _ByQuestion,
        context_settings={"help_option_names": ["-h", "--help"], **narrow},
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        help=about,
    )
    app.callback(invoke_without_command=True)(callback)
    return app


_ABOUT = (
    "Design, certify and audit optimal privacy mechanisms for finite secrets. "
    "Levels are in nats. Exit codes: 0 done, 1 an audited kernel misses an asked level "
    "or a checked result fails, 2 bad input, 3 a solver or an exact check failed, 4 no kernel "
    "does what is asked (proved), 5 what was found could not be printed. Errors end with a "
    "code: mechdesign doctor CODE says more."
)
_ABOUT_RESEARCH = "Convert guarantees, order kernels, check results of papers."


def application() -> typer.Typer:
    """The command line; reading the options of one command takes longer than most do."""
    return _group(_ByQuestion, _root, _ABOUT)


def _expect_command(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        path = context.command_path
        raise InputError("command", expected="a command", got="none", remedy=f"see: {path} --help")


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
    _expect_command(context)


def _research(context: typer.Context) -> None:
    _expect_command(context)

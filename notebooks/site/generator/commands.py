"""The page of the command line, from the commands themselves."""

import inspect

import click
import typer

from mechdesign.cli.application import application


def _text(help_text: str | None) -> str:
    """A help text as Markdown: what it sets apart stays as it is."""
    return escape(inspect.cleandoc(help_text or "").replace("\b", ""))


def escape(text: str) -> str:
    """Signs that Markdown would read."""
    for sign in "\\*_<>[]|$`":
        text = text.replace(sign, f"\\{sign}")
    return text


def _rows(command, context) -> str:
    lines = ["| option | meaning |", "| --- | --- |"]
    for parameter in command.params:
        record = parameter.get_help_record(context)
        if record is None:
            name, meaning = parameter.make_metavar(context), getattr(parameter, "help", "") or ""
        else:
            name, meaning = record
        cell = " ".join(f"{name}".replace("|", "\\|").split())
        lines.append(f"| `{cell}` | {escape(' '.join(meaning.split()))} |")
    return "\n".join(lines)


def _section(path: list[str], command, parent) -> str:
    context = click.Context(command, info_name=path[-1], parent=parent)
    usage = " ".join([*path, *command.collect_usage_pieces(context)])
    level = "#" * len(path)
    text = f"{level} {' '.join(path)}\n\n{_text(command.help)}\n\n```text\n{usage}\n```\n\n"
    text += _rows(command, context) + "\n\n"
    for name, below in getattr(command, "commands", {}).items():
        text += _section([*path, name], below, context)
    return text


def page() -> str:
    """All commands with their options."""
    root = typer.main.get_command(application([]))
    return _section(["mechdesign"], root, None).replace("# mechdesign\n", "# Command line\n", 1)

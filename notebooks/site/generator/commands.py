"""The page of the command line, from the commands themselves."""

import inspect
import re

import click
import typer

from mechdesign.cli.application import QUESTIONS, RESEARCH, application, load_command


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
        # Newer versions of typer put the Python type behind the name of an argument.
        cell = " ".join(re.sub(r" <.*>$", "", f"{name}").replace("|", "\\|").split())
        lines.append(f"| `{cell}` | {escape(' '.join(meaning.split()))} |")
    return "\n".join(lines)


def _section(title: str, path: list[str], command, parent=None):
    context = click.Context(command, info_name=path[-1], parent=parent)
    usage = " ".join([*path, *command.collect_usage_pieces(context)])
    text = f"{title}\n\n{_text(command.help)}\n\n```text\n{usage}\n```\n\n"
    return text + _rows(command, context) + "\n\n", context


def page() -> str:
    """All commands with their options, under the questions that they answer."""
    root = typer.main.get_command(application())
    text, context = _section("# Command line", ["mechdesign"], root)
    for question, names in QUESTIONS.items():
        text += f"## {question}\n\n"
        for name in names:
            path, command = ["mechdesign", name], load_command(name)
            text += _section(f"### {' '.join(path)}", path, command, context)[0]
            for below in sum(RESEARCH.values(), ()) if name == "research" else ():
                longer = [*path, below]
                command = load_command(below)
                text += _section(f"### {' '.join(longer)}", longer, command, context)[0]
    return text

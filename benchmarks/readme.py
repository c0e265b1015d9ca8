"""Tables between markers of the README."""

from __future__ import annotations

from pathlib import Path

import typer


def write_table(readme: Path, begin: str, end: str, table: str) -> None:
    """Replace what stands between two markers."""
    head, found, rest = readme.read_text(encoding="utf-8").partition(begin)
    _, closed, tail = rest.partition(end)
    if not found or not closed:
        raise typer.BadParameter(f"{readme} lacks the markers {begin} and {end}")
    readme.write_text(f"{head}{begin}\n{table}\n{end}{tail}", encoding="utf-8")
    typer.echo(f"wrote the table into {readme}")

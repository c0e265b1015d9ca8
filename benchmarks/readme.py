"""Rows of measurements, and the tables of them in files and between markers of the README."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import typer


def read_rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a file with one JSON object a line."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def write_page(output: Path, text: str) -> None:
    """A file with nothing but tables."""
    output.write_text(text + "\n", encoding="utf-8")
    typer.echo(f"wrote {output}")


def write_table(readme: Path, begin: str, end: str, table: str) -> None:
    """Replace what stands between two markers."""
    head, found, rest = readme.read_text(encoding="utf-8").partition(begin)
    _, closed, tail = rest.partition(end)
    if not found or not closed:
        raise typer.BadParameter(f"{readme} lacks the markers {begin} and {end}")
    readme.write_text(f"{head}{begin}\n{table}\n{end}{tail}", encoding="utf-8")
    typer.echo(f"wrote the table into {readme}")

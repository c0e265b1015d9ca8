"""Rows of measurements, and the pages of tables made of them."""

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

"""The files of the package and what is written in them, read when a test asks for it."""

from __future__ import annotations

import ast
import functools
from pathlib import Path

import mechdesign

ROOT = Path(mechdesign.__file__).parent


def module_name(path):
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


FILES = {module_name(path): path for path in sorted(ROOT.rglob("*.py"))}


@functools.cache
def tree(name):
    """The syntax tree of a module."""
    return ast.parse(FILES[name].read_text(encoding="utf-8"))

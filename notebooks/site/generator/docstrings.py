"""Docstrings as they are written: mathematics in plain text, sources by their keys in brackets."""

import re

from .bibliography import entries

_KEYS = re.compile(r"\[(" + "|".join(map(re.escape, entries())) + r")((?:, [^\]\[]+)?)\]")
# What stays as it is: literals, and the texts of roles.
_LITERAL = re.compile(r"(``.*?``|:[\w:]+:`.*?`|`[^`]+`)")


def readable(text: str) -> str:
    """A line of prose: bars and trailing underscores are signs, keys of sources are links."""
    parts = _LITERAL.split(text)
    for i in range(0, len(parts), 2):
        part = re.sub(r"(?<!\\)\|", r"\\|", parts[i])
        part = re.sub(r"(\w)_(?!\w)", r"\1\\_", part)
        parts[i] = _KEYS.sub(lambda m: f":ref:`[{m[1]}{m[2]}] <bib-{m[1].lower()}>`", part)
    return "".join(parts)


def prose(lines: list[str]) -> None:
    """Rewrite the prose of a docstring in place; examples and literal blocks stay."""
    inside: int | None = None
    for i, text in enumerate(lines):
        indent = len(text) - len(text.lstrip())
        if text.strip() and inside is not None and indent <= inside:
            inside = None
        if inside is None and text.lstrip().startswith(">>>"):
            inside = indent - 1
        elif inside is None:
            lines[i] = readable(text)
            inside = indent if text.rstrip().endswith("::") else None
        elif not text.strip() and i + 1 < len(lines) and lines[i + 1].strip():
            # An example ends with an empty line, unless another one follows.
            following = len(lines[i + 1]) - len(lines[i + 1].lstrip())
            if following == inside + 1 and not lines[i + 1].lstrip().startswith(">>>"):
                inside = None


def setup(app):
    app.connect("autodoc-process-docstring", lambda app, what, name, obj, opt, lines: prose(lines))
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}

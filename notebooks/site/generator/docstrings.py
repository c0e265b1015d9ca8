"""Docstrings as they are written: mathematics in plain text, sources by their keys in brackets.

Attributes are listed as they are documented, several in one line too: napoleon would take what is
said of them for a type, and all names of a line but the last for another one.
"""

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


_NAMES = re.compile(r"(\w+(?:, \w+)*) : (\S.*)")
# Stands for a colon that napoleon would take for the end of a type.
_COLON = "\ue000"


def attributes(lines: list[str]) -> None:
    """Make a list of the section "Attributes" in place.

    Raises ``ValueError`` for an entry that is not ``name, name : what they are``; more of it is
    indented.
    """
    for start in range(len(lines) - 1):
        if lines[start].strip() == "Attributes" and set(lines[start + 1].strip()) == {"-"}:
            break
    else:
        return
    end = start + 2
    made = [":Attributes:"]
    while end < len(lines) and lines[end].strip():
        entry = _NAMES.fullmatch(lines[end])
        if entry:
            made.append(f"    * **{entry[1]}** – {entry[2]}")
        elif lines[end].startswith("    ") and len(made) > 1:
            made.append(f"      {lines[end].strip()}")
        else:
            raise ValueError(f"attributes are no 'name : what it is': {lines[end]!r}")
        end += 1
    lines[start:end] = made


def before(app, what, name, obj, options, lines):
    """What napoleon should not see."""
    if what == "class" or what == "exception":
        attributes(lines)
    elif what in ("property", "attribute", "data") and lines:
        lines[0] = lines[0].replace(":", _COLON)


def after(app, what, name, obj, options, lines):
    """Prose as it is written."""
    lines[:] = [text.replace(_COLON, ":") for text in lines]
    prose(lines)


def setup(app):
    app.connect("autodoc-process-docstring", before, priority=400)
    app.connect("autodoc-process-docstring", after)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}

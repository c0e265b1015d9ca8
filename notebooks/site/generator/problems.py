"""The page of errors and warnings: what each is raised for, and what a message says."""

import inspect

from mechdesign import errors


def classes(base: type) -> list[tuple[int, type]]:
    """A class and those below it, with their depth."""
    found = [(0, base)]
    for below in base.__subclasses__():
        if below.__module__ == errors.__name__:
            found += [(depth + 1, each) for depth, each in classes(below)]
    return found


def rows(base: type) -> str:
    """A table of a tree of classes."""
    lines = ["| code | class | when |", "| --- | --- | --- |"]
    for depth, each in classes(base):
        meaning = (inspect.getdoc(each) or "").split("\n\n")[0].replace("\n", " ")
        code = getattr(each, "code", "")
        name = "  " * 2 * depth + f"{{py:class}}`~mechdesign.errors.{each.__name__}`"
        lines.append(
            f"| {code} | {name} | {meaning.replace('``', '`').replace('|', chr(92) + '|')} |"
        )
    return "\n".join(lines) + "\n"


def tables() -> str:
    """Errors, then warnings."""
    trees = {"Errors": errors.MechdesignError, "Warnings": errors.MechdesignWarning}
    return "\n".join(f"## {title}\n\n{rows(base)}" for title, base in trees.items())

"""Pages of errors and warnings: one for each code, and a table of all of them."""

import inspect

from mechdesign import errors

#: Codes from here on are warnings.
WARNINGS = "MD800"


def subject(kind: errors.Kind) -> str:
    """What a kind is about: its class with a link to it, or the words of the command line."""
    if inspect.isclass(getattr(errors, kind.name, None)):
        return f"{{py:class}}`~mechdesign.errors.{kind.name}`"
    return kind.name


def page(kind: errors.Kind) -> str:
    """The page of one code."""
    text = f"# {kind.code}: {kind.name}\n\n{kind.meaning}\n\n**What to do.** {kind.remedy}\n"
    found = getattr(errors, kind.name, None)
    if inspect.isclass(found):
        bases = " → ".join(f"`{each.__name__}`" for each in found.__mro__[:-3])
        text += f"\nIn Python {subject(kind)}, which can be caught as {bases}.\n"
    return text + f"\nOn the command line `mechdesign doctor {kind.code}` says the same.\n"


def rows(kinds: list[errors.Kind]) -> str:
    """A table of kinds."""
    lines = ["| code | what | meaning |", "| --- | --- | --- |"]
    lines += [
        f"| [{kind.code}](errors/{kind.code}.md) | {subject(kind)} | {kind.meaning} |"
        for kind in kinds
    ]
    return "\n".join(lines) + "\n"


def tables() -> str:
    """Errors, then warnings."""
    parts = {
        "Errors": [kind for kind in errors.KINDS if kind.code < WARNINGS],
        "Warnings": [kind for kind in errors.KINDS if kind.code >= WARNINGS],
    }
    return "\n".join(f"## {title}\n\n{rows(kinds)}" for title, kinds in parts.items())


def pages() -> dict[str, str]:
    """The page of every code, by its name."""
    return {f"{kind.code}.md": page(kind) for kind in errors.KINDS}

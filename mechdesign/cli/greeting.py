"""What ``mechdesign`` says without arguments."""

from __future__ import annotations

from .. import __version__

#: Commands to try, in this order, with what each does; they need nothing but each other.
FIRST_COMMANDS = (
    (
        "mechdesign design titanic --column survived --privacy ldp:1 --output survived.json",
        "design, prove and save a mechanism from whose reports frequencies can be estimated",
    ),
    (
        "mechdesign verify survived.json",
        "prove again what the file claims, by a checker that shares nothing with the first",
    ),
    ("mechdesign doctor", "say what is installed, and whether it works"),
)


def greeting() -> str:
    """Name, version, three commands, and where to go on.

    >>> greeting().splitlines()[2].strip()
    'mechdesign design titanic --column survived --privacy ldp:1 --output survived.json'
    """
    lines = [f"mechdesign {__version__} designs, proves and audits privacy mechanisms. Try:", ""]
    for command, purpose in FIRST_COMMANDS:
        lines += [f"  {command}", f"      {purpose}", ""]
    return "\n".join([*lines, "All commands: mechdesign --help"])

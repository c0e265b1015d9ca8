"""The examples of a written page, run in order in an empty folder, as a reader would.

Python blocks share their names. In ``sh`` blocks every line is a command of ours; ``# exit 1`` at
its end says with which code it leaves, else with 0. A ``text`` block directly below one of these is
what it prints: dots stand for anything, spaces count as one. Other blocks are not run.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import re
import shlex
import sys
import types
import warnings
from pathlib import Path

from mechdesign.cli import main

SITE = Path(__file__).parents[1] / "notebooks" / "site"
#: The page whose blocks write people.csv, which examples of other pages use.
TABLE = SITE / "do" / "example-table.md"
_BLOCK = re.compile(r"^(`{3,})(\w*)[^\n]*\n(.*?)^\1\s*$", re.M | re.S)
_FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def blocks(text):
    """Language, content and line of each fenced block, with what is said to be printed."""
    found = []
    for match in _BLOCK.finditer(text):
        language, content = match[2], match[3]
        between = text[found[-1]["end"] : match.start()].strip() if found else "?"
        if language == "text" and not between and found[-1]["language"] in ("python", "sh"):
            found[-1] |= {"printed": content, "end": match.end()}
            continue
        line = text.count("\n", 0, match.start()) + 2
        block = {"language": language, "content": content, "line": line, "printed": None}
        found.append(block | {"end": match.end()})
    return found


def commands(content):
    """Arguments and exit code of each line, continued lines taken together."""
    for line in content.replace("\\\n", " ").splitlines():
        words, _, note = line.partition("#")
        code = re.fullmatch(r"\s*exit (\d)\s*", note)
        assert not note or code, f"what is {note!r}?"
        arguments = shlex.split(words)
        if arguments:
            assert arguments[0] == "mechdesign", f"not a command of ours: {line}"
            yield arguments[1:], int(code[1]) if code else 0


def run_page(path):
    """Run the blocks of a page in the working folder; how many there were."""
    page = sys.modules["page"] = types.ModuleType("page")
    names = vars(page)
    ran = 0
    for block in blocks(path.read_text(encoding="utf-8")):
        if block["language"] not in ("python", "sh"):
            continue
        ran += 1
        place = f"{path.name}, line {block['line']}"
        out = io.StringIO()
        with contextlib.redirect_stdout(out), warnings.catch_warnings():
            if block["language"] == "python":
                code = compile(block["content"], place, "exec", dont_inherit=True)
                exec(code, names)
            else:
                warnings.simplefilter("default")
                for arguments, code in commands(block["content"]):
                    got = main(arguments)
                    assert got == code, f"{place}: {arguments} left with {got}, not {code}"
        if block["printed"] is not None:
            same = doctest.OutputChecker().check_output(block["printed"], out.getvalue(), _FLAGS)
            assert same, f"{place} says\n{block['printed']}\nand prints\n{out.getvalue()}"
    return ran


if __name__ == "__main__":
    run_page(Path(sys.argv[1]))

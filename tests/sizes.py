"""How large each room of the package and of its tests is, and whether one has grown unseen.

A room is a folder of ``mechdesign`` or ``tests``; files beside the folders are one room, and data
is none. Counted are tokens of Python but for comments and docstrings, so that packing lines changes
nothing; long texts and files of other languages count by their words and signs.

    python tests/sizes.py            fails where a room is larger than recorded
    python tests/sizes.py --record   records the sizes of today
"""

from __future__ import annotations

import ast
import io
import json
import re
import sys
import tokenize
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
RECORD = Path(__file__).with_suffix(".json")
PARTS = ("mechdesign", "tests")
OTHERS = (".css", ".html", ".j2", ".js", ".json", ".jsonl", ".mjs", ".sql", ".toml", ".ts", ".yaml")
NOT_SAID = {
    *(tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT),
    *(tokenize.ENCODING, tokenize.ENDMARKER),
}
LONG = 100


def tokens(source):
    """How many tokens a module has without comments and docstrings."""
    docstrings = set()
    for node in ast.walk(ast.parse(source)):
        says = isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))
        if says and ast.get_docstring(node, clean=False) is not None:
            docstrings.add((node.body[0].lineno, node.body[0].col_offset))
    return sum(
        words(token.string) if token.type == tokenize.STRING and len(token.string) > LONG else 1
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if token.type not in NOT_SAID and token.start not in docstrings
    )


def words(text):
    return len(re.findall(r"\w+|[^\w\s]", text))


def sizes(root=ROOT):
    """Tokens of each room."""
    found = Counter()
    for part in PARTS:
        for path in sorted((root / part).rglob("*")):
            inside = path.relative_to(root / part).parts
            is_data = inside[0] in ("data", "recorded") or path.name == RECORD.name
            if is_data or "__pycache__" in inside or not path.is_file():
                continue
            room = f"{part}/{inside[0]}" if len(inside) > 1 else part
            if path.suffix == ".py":
                found[room] += tokens(path.read_text(encoding="utf-8"))
            elif path.suffix in OTHERS:
                found[room] += words(path.read_text(encoding="utf-8"))
    return dict(sorted(found.items()))


def grown(found, recorded):
    """What to say of each room that is larger than recorded."""
    return [
        f"{room} has {size:,} tokens, {size - recorded.get(room, 0):,} more than recorded: make it "
        "smaller, or record it (python tests/sizes.py --record) in a commit that says why"
        for room, size in found.items()
        if size > recorded.get(room, 0)
    ]


if __name__ == "__main__":
    now = sizes()
    if "--record" in sys.argv[1:]:
        RECORD.write_text(json.dumps(now, indent=1) + "\n", encoding="utf-8")
    too_large = grown(now, json.loads(RECORD.read_text(encoding="utf-8")))
    print(*too_large or [f"{sum(now.values()):,} tokens, no room larger than recorded"], sep="\n")
    sys.exit(bool(too_large))

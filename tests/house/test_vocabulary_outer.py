"""The rooms around the designs say one standard term for one thing, in code and in their tests.

Names are held against the terms for names, and docstrings, comments and other text against the
terms for sentences; templates of pages are text as a whole.
"""

from __future__ import annotations

import ast
import functools
import io
import re
import tokenize
from pathlib import Path

import pytest
from checks import for_each

import mechdesign

PACKAGE = Path(mechdesign.__file__).parent
TESTS = Path(__file__).parents[1]
ROOMS = (
    ("release", "_compare", "views", "plotting", "explorer", "collector", "cli", "data"),
    ("storage", "arguments", "extensions", "registry", "progress", "notebook"),
    ("files", "tables", "_audit"),
)
TEST_ROOMS = (
    "release",
    "storage",
    "audit",
    "compare",
    "views",
    "plotting",
    "explorer",
    "collector",
    "cli",
)

# Parts of names, between underscores or capitals, and what to say instead.
PARTS = {
    "worth|worths": "value, objective, shadow price",
    "desk|rival|rivals|haste|calm": "page state, alternative, quick limit, debounce",
    "theta|aims|raised|pull|spread|settle": "what the quantity is",
    "sight|hopes?|fears?|bites?": "random outcome, gain or cost adversaries, binds",
    "facts?|subjects": "what they hold",
}
# Whole names that say nothing of what they hold.
NAMES = {
    "item|items|draws|instances|seen": "what it holds",
    "word|words": "label, fragment, text, arguments, options; random words excepted",
}
SENTENCES = {
    r"worths?": "value, shadow price",
    r"tell(s|ing)? (nothing|all|everything)": "uninformative, full disclosure",
    r"dual numbers?": "dual variables",
    r"bit(es|ing)": "binds",
    r"desk|rivals?|haste|hasty|calm": "page state, alternative, quick limit, debounce",
    r"solve near": "warm start",
    r"adversar(y|ies) who (hopes?|fears?)|some sight": "gain, cost adversaries; random outcome",
    r"only grows|passes zero|made true": "bracketed root; projected to feasibility",
    r"subjects|facts": "what they are",
}

RANDOM = "64-bit random words, as texts on sampling say"
PUBLIC = "the parameter of a public function, and of functions of a user's own beside it"
# A module, a term, and why it may stand there.
ALLOWED = [
    *((f"release/{name}.py", "words", RANDOM) for name in ("drawing", "identities")),
    *((f"release/{name}.py", "words", RANDOM) for name in ("receipts", "engines")),
    *(("release/sampler.py", term, RANDOM) for term in ("word", "words")),
    ("release/words.py", "words", RANDOM),
    ("release/byte_table.py", "words", RANDOM),
    *(("tests/release/test_byte_table.py", term, RANDOM) for term in ("word", "words")),
    *(("release/subset_reports.py", term, RANDOM) for term in ("word", "words")),
    ("tests/release/test_leading_bits.py", "words", RANDOM),
    ("tests/release/test_subset_reports.py", "words", RANDOM),
    ("tests/release/test_release_sampler.py", "words", RANDOM),
    ("tests/release/test_release_identities.py", "words", RANDOM),
    *(
        (f"plotting/{name}.py", "item", PUBLIC)
        for name in ("_plot_kernel", "_plot_lifts", "_plot_places")
    ),
    ("views/pages.py", "item", PUBLIC),
    ("storage.py", "item", PUBLIC),
    ("cli/theorems.py", "instances", "random instances on which a theorem is checked"),
    ("tests/release/test_release_told.py", "tells nothing", "`tells_nothing` is a public property"),
    ("release/_identifiability.py", "tells nothing", "`tells_nothing` is a public property"),
    ("cli/design.py", "tells nothing", "`tells_nothing` is a public property"),
    ("cli/certify.py", "tells nothing", "`tells_nothing` is a public property"),
    ("cli/apply.py", "tells nothing", "`tells_nothing` is a public property"),
    ("cli/options.py", "tells nothing", "`tells_nothing` is a public property"),
]


def modules():
    rooms = [PACKAGE / name for names in ROOMS for name in names]
    rooms += [TESTS / name for name in TEST_ROOMS]
    found = {}
    for room in rooms:
        single = room.with_suffix(".py")
        for path in [single] if single.exists() else sorted(room.rglob("*.py")):
            inside = path.is_relative_to(PACKAGE)
            name = path.relative_to(PACKAGE if inside else TESTS.parent).as_posix()
            found[name] = path.read_text(encoding="utf-8")
    return found


MODULES = modules()
TEMPLATES = {
    path.name: path.read_text(encoding="utf-8")
    for path in sorted((PACKAGE / "views" / "templates").iterdir())
}


def names(tree):
    """Names that a module gives or uses; members of objects only in parts, see ``offences``."""
    for node in ast.walk(tree):
        for field in ("id", "arg", "name", "asname"):
            name = getattr(node, field, None)
            if isinstance(name, str):
                yield name


def texts(source, tree):
    """Docstrings, messages and comments."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.string


@functools.cache
def cut(text):
    """Lower-case words with one space between them, cut at underscores and capitals too."""
    split = re.sub(r"(?<=[a-zà-ÿ0-9])(?=[A-Z])", " ", text)
    return " ".join(re.findall(r"[^\W_]+", split)).lower()


def told(text, terms):
    """The terms that stand in a text."""
    return {found.group() for found in re.finditer(rf"\b(?:{'|'.join(terms)})\b", cut(text))}


def offences(source):
    """The forbidden terms of a module."""
    tree = ast.parse(source)
    found = set()
    for name in set(names(tree)):
        found |= told(name, [*PARTS, *SENTENCES])
        found |= {name} if re.fullmatch("|".join(NAMES), name) else set()
    for name in {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}:
        found |= told(name, [*PARTS, *SENTENCES])
    for text in set(texts(source, tree)):
        found |= told(text, SENTENCES)
    return found


@for_each("module", MODULES)
def test_the_terms_are_those_of_the_field(module):
    allowed = {term for where, term, _ in ALLOWED if where == module}
    found = offences(MODULES[module])
    assert found - allowed == set()
    assert allowed <= found, "an allowance that nothing uses is to go"


@for_each("template", TEMPLATES)
def test_so_are_those_of_the_pages(template):
    assert not told(TEMPLATES[template], SENTENCES)


def test_every_room_is_read_and_every_allowance_is_for_a_module():
    rooms = {name.split("/")[0].removesuffix(".py") for name in MODULES} - {"tests"}
    assert rooms == {name for names in ROOMS for name in names}
    assert {name.split("/")[1] for name in MODULES if name.startswith("tests/")} == set(TEST_ROOMS)
    assert {where for where, *_ in ALLOWED} <= set(MODULES)
    assert len(TEMPLATES) > 1


@for_each(
    ("source", "term"),
    [
        ("def price_worth(x):\n    return x\n", "worth"),
        ("class PageDesk:\n    pass\n", "desk"),
        ('"""Of a kernel that tells\n    nothing."""\n', "tells nothing"),
        ("raise ValueError(f'{2} dual numbers')\n", "dual numbers"),
        ("def f(*, theta=0):\n    return theta\n", "theta"),
        ("x = view.rival\n", "rival"),
        ("x = 1  # which bites\n", "bites"),
        ("for item in found:\n    pass\n", "item"),
        ("from m import facts\n", "facts"),
    ],
)
def test_a_planted_offence_is_found(source, term):
    assert term in offences(source)


@pytest.mark.parametrize("source", ["worthwhile = 1\n", "x = table.items()\n", "item_size = 1\n"])
def test_parts_of_other_words_are_none(source):
    assert offences(source) == set()

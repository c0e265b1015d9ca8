"""Single changes of the code, and whether the checks of results or the tests of a file see them.

A change swaps ``__code__`` of the functions that it concerns, in a process that is forked for it:
nothing is written, and a change that never ends meets a limit of the processor's time.
"""

from __future__ import annotations

import ast
import gc
import importlib
import inspect
import json
import os
import random
import resource
import signal
import sys
import types
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]

#: The files that are changed, and the tests of each.
FILES = {
    "theory._composition": ["theory/test_composition.py"],
    "theory.adversaries": ["theory/test_adversaries.py"],
    "theory.conversions": ["theory/test_conversions.py"],
    "theory.counting_queries": ["theory/test_disclosure.py"],
    "theory.databases": ["theory/test_databases.py"],
    "theory.disclosure": ["theory/test_disclosure.py"],
    "theory.leakage": ["theory/test_properties.py", "theory/test_adversaries.py"],
    "theory.rules": ["theory/test_conversions.py"],
    "theory.tight": ["theory/test_tight.py"],
    "noise.additive": ["noise/test_noise.py", "noise/test_noise_for_pufferfish.py"],
    "noise.bounded": ["noise/test_noise.py"],
    "noise.information": ["noise/test_noise_for_pufferfish.py"],
    "noise.response": ["noise/test_noise.py"],
}
#: Changes of the sample that nothing sees, and why that is right.
SURVIVORS = {
    "theory.adversaries.worst_gain: 1 / seen.prior[live] → 2 / seen.prior[live]": "a gain is "
    "compared with itself, so that a factor cancels",
    "theory.adversaries.worst_guess: 1 - 1e-12 → 2 - 1e-12": "a guard against rounding",
    "theory.adversaries.partition_cost: -math.log(lift[x]) → math.log(lift[x])": "the same cells, "
    "numbered from the other end",
    "theory.databases.dp_as_pml: joint / moved.shape[1] → joint * moved.shape[1]": "the masses of "
    "a database are divided by their sum",
    "theory.databases._near: small / max(size - 1, 1) → small * max(size - 1, 1)": "any small mass "
    "elsewhere approaches the supremum",
    "theory.databases._near: size - 1 → size + 1": "any small mass elsewhere approaches the "
    "supremum",
    "theory.counting_queries._log_tail: -math.inf → math.inf": "no caller asks for a tail without "
    "outcomes",
    "theory._composition._level: max(check.ratio.as_integer_ratio()) → "
    "min(check.ratio.as_integer_ratio())": "a limit on how long an exact level is",
    "theory._composition._level: max(check.ratio, Fraction(1)) → min(check.ratio, "
    "Fraction(1))": "not seen yet: no check compares levels of reports that tell something and "
    "nothing",
    "theory.counting_queries.laplace_count_bound: min(level, log_bounds(1 / c)[1]) → "
    "max(level, log_bounds(1 / c)[1])": "not seen yet: a bound, which is compared from one side",
    "theory.counting_queries.laplace_count_leakage: n + 1 → n + 2": "a fraction beyond "
    "all is nearest to no answer",
    "theory.counting_queries.laplace_count_leakage.log_density: size + 1 → size + 2": "a count "
    "beyond all has no chance",
    "theory.disclosure.easier_feature: (threshold + 1) / 2 → (threshold + 1) * 2": "not seen "
    "yet: any threshold that is above one serves",
    "theory.rules.ldp_information: level * high - low → level * high + low": "not seen yet: a "
    "bound, which is compared from one side",
    "theory.databases._rising: bits - 1 → bits - 2": "the largest weight may be a quarter as well",
    "theory.leakage.TwoSides.room: np.abs(apart).max() → np.abs(apart).min()": "the equalities "
    "that are read hold, so that both are zero",
    "theory._composition.adaptive: 1 << bits - second.bits → 2 << bits - second.bits": "all "
    "weights are scaled alike",
    "theory._composition.repeated: outputs - 1 → outputs - 2": "a limit of work",
    "noise.bounded.LaplaceMean.__post_init__: Fraction(self.scale) * self.entries → "
    "Fraction(self.scale) / self.entries": "a guard against overflow, far from all scales in use",
    "noise.bounded.LaplaceMean.sup_pmc: found + error → found - error": "the error is that of "
    "rounding",
    "noise.bounded.GaussianNoise._each: (np.abs(points) + abs(self.law.low)) / self.sigma → "
    "(np.abs(points) + abs(self.law.low)) * self.sigma": "a guard against overflow",
    "noise.bounded.GaussianNoise._radius: max(abs(self.law.low), abs(self.law.high)) → "
    "min(abs(self.law.low), abs(self.law.high))": "other laws than on [-A, A] are refused",
    "noise.information._is_independent: w * mass → "
    "w / mass": "a shortcut: what is computed without it is zero as well",
    "noise.information._drawn_together: moved[one] + min(two - one, Fraction(widest)) → "
    "moved[one] - min(two - one, Fraction(widest))": "the same places, mirrored",
    "noise.bounded.GaussianNoise._each: np.abs(points) + abs(self.law.low) → "
    "np.abs(points) - abs(self.law.low)": "a guard against overflow",
    "noise.bounded.GaussianNoise._log_mean: sigma / max(1.0, abs(apart)) → "
    "sigma * max(1.0, abs(apart))": "a length that the steps of an integral are compared with",
    "noise.bounded.GaussianNoise._reach: high - low → high + low": "how narrow a bracket becomes",
}
#: Limits of the processor's time of one change, in seconds: of the checks, and of the tests.
CHECKS, TESTS = 20, 120


@dataclass(frozen=True)
class Mutant:
    """One change: of which expression, in which function of which module, to what."""

    module: str
    function: str
    before: str
    after: str
    line: int
    column: int
    kind: str

    @property
    def id(self) -> str:
        """The same in every process, and whatever lines stand above."""
        return f"{self.module}.{self.function}: {self.before} → {self.after}"


class _Sites(ast.NodeVisitor):
    """All places of a module where one of the changes applies."""

    def __init__(self, module: str) -> None:
        self.module, self.names, self.found = module, [], []

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self.names.append(node.name)
        for part in node.body:
            if not (isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant)):
                self.visit(part)
        self.names.pop()

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self.names.append(node.name)
        for part in node.body:
            if isinstance(part, ast.FunctionDef):
                self.visit(part)
        self.names.pop()

    def visit_Raise(self, node: ast.Raise) -> None:
        """Messages are not changed."""

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Texts are not changed."""

    def visit_If(self, node: ast.If) -> None:
        # A refusal, and what it asks for, is not arithmetic.
        if not any(isinstance(part, ast.Raise) for part in node.body):
            self.visit(node.test)
            for part in node.body:
                self.visit(part)
        for part in node.orelse:
            self.visit(part)

    def generic_visit(self, node: ast.AST) -> None:
        for kind, changed in _changes(node):
            self.found.append(
                Mutant(
                    self.module,
                    ".".join(self.names),
                    ast.unparse(node),
                    ast.unparse(changed),
                    node.lineno,
                    node.col_offset,
                    kind,
                )
            )
        super().generic_visit(node)


_SIGNS = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult}
_ROLES = {"min": "max", "max": "min", "argmin": "argmax", "argmax": "argmin"}


def _is_number(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Constant)
        and isinstance(node.value, (int, float))
        and not isinstance(node.value, bool)
        # Smaller and larger ones are guards against rounding and limits of work.
        and 1e-3 <= abs(node.value) <= 1000
    )


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.JoinedStr) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str)
    )


def _changes(node: ast.AST):
    """Kinds of changes of a node, with the node changed."""
    if isinstance(node, ast.BinOp) and not _is_text(node.left) and not _is_text(node.right):
        for here, there in _SIGNS.items():
            if isinstance(node.op, here):
                yield "sign", ast.BinOp(node.left, there(), node.right)
        if isinstance(node.op, ast.Pow) and _is_number(node.right):
            bigger = ast.Constant(node.right.value + 1)
            yield "exponent", ast.BinOp(node.left, node.op, bigger)
        for side in ("left", "right"):
            part = getattr(node, side)
            if _is_number(part) and not isinstance(node.op, ast.Pow):
                parts = {"left": node.left, "right": node.right}
                parts[side] = ast.Constant(part.value + 1 if part.value >= 1 else part.value * 1.5)
                yield "factor", ast.BinOp(parts["left"], node.op, parts["right"])
    if (
        isinstance(node, ast.UnaryOp)
        and isinstance(node.op, ast.USub)
        and not _is_number(node.operand)
    ):
        yield "sign", node.operand
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Name) and node.func.id in _ROLES:
            swapped = ast.Name(_ROLES[node.func.id], ast.Load())
            yield "role", ast.Call(swapped, node.args, node.keywords)
        if isinstance(node.func, ast.Attribute) and node.func.attr in _ROLES:
            swapped = ast.Attribute(node.func.value, _ROLES[node.func.attr], ast.Load())
            yield "role", ast.Call(swapped, node.args, node.keywords)


def sites(module: str) -> list[Mutant]:
    """All changes of a module, in the order of the file."""
    visitor = _Sites(module)
    visitor.visit(ast.parse(source_of(module)))
    return visitor.found


def source_of(module: str) -> str:
    return inspect.getsource(importlib.import_module(f"mechdesign.{module}"))


def sample(count: int, reached: set[tuple[str, str, int]]) -> list[Mutant]:
    """So many changes of functions that some check reaches, spread over files and functions.

    One more stands for each kind of change that is not among them.
    """
    rng = random.Random(20)
    by_function: dict[tuple[str, str], list[Mutant]] = {}
    for module in FILES:
        lines = _function_lines(module)
        for mutant in sites(module):
            outer = mutant.function.split(".")
            starts = {lines.get(".".join(outer[: k + 1])) for k in range(len(outer))}
            if any((module, line) in {(m, at) for m, _, at in reached} for line in starts if line):
                by_function.setdefault((module, mutant.function), []).append(mutant)
    for group in by_function.values():
        rng.shuffle(group)
    every = [mutant for group in by_function.values() for mutant in group]
    picked: list[Mutant] = []
    seen: set[str] = set()
    while len(picked) < count and any(by_function.values()):
        for group in by_function.values():
            while group and len(picked) < count:
                mutant = group.pop()
                if mutant.id not in seen:
                    seen.add(mutant.id)
                    picked.append(mutant)
                    break
    kinds = {mutant.kind for mutant in picked}
    others = {mutant.kind: mutant for mutant in every if mutant.kind not in kinds}
    return picked + list(others.values())


def _function_lines(module: str) -> dict[str, int]:
    """First lines of the functions of a module, by their names with those of their classes."""
    found: dict[str, int] = {}

    def walk(node: ast.AST, names: tuple[str, ...]) -> None:
        for part in ast.iter_child_nodes(node):
            inner = names
            if isinstance(part, (ast.FunctionDef, ast.ClassDef)):
                inner = (*names, part.name)
                if isinstance(part, ast.FunctionDef):
                    decorated = [d.lineno for d in part.decorator_list]
                    found[".".join(inner)] = min([part.lineno, *decorated])
            walk(part, inner)

    walk(ast.parse(source_of(module)), ())
    return found


class _Change(ast.NodeTransformer):
    def __init__(self, mutant: Mutant) -> None:
        self.mutant, self.done = mutant, 0

    def generic_visit(self, node: ast.AST) -> ast.AST:
        if (
            (getattr(node, "lineno", None), getattr(node, "col_offset", None))
            == (self.mutant.line, self.mutant.column)
            and isinstance(node, (ast.BinOp, ast.UnaryOp, ast.Call))
            and ast.unparse(node) == self.mutant.before
        ):
            for _, changed in _changes(node):
                if ast.unparse(changed) == self.mutant.after and not self.done:
                    self.done += 1
                    return ast.copy_location(changed, node)
        return super().generic_visit(node)


def changed_tree(text: str, mutant: Mutant) -> ast.Module:
    """The parsed text of a module with one change made."""
    change = _Change(mutant)
    tree = ast.fix_missing_locations(change.visit(ast.parse(text)))
    assert change.done == 1, mutant
    return tree


def apply(mutant: Mutant) -> int:
    """Swap in the changed code; how many living functions changed."""
    module = importlib.import_module(f"mechdesign.{mutant.module}")
    text = source_of(mutant.module)
    filename = inspect.getsourcefile(module)
    tree = changed_tree(text, mutant)
    return _swap(module, compile(text, filename, "exec"), compile(tree, filename, "exec"))


def rewrite(module_name: str, before: str, after: str) -> int:
    """Swap in the code of a module with one piece of its text changed, which occurs once."""
    module = importlib.import_module(f"mechdesign.{module_name}")
    text = source_of(module_name)
    assert text.count(before) == 1, (module_name, before, text.count(before))
    filename = inspect.getsourcefile(module)
    changed = text.replace(before, after)
    return _swap(module, compile(text, filename, "exec"), compile(changed, filename, "exec"))


def _swap(module: types.ModuleType, old: types.CodeType, new: types.CodeType) -> int:
    replaced = {}
    pairs = [(old, new)]
    while pairs:
        one, two = pairs.pop()
        inner = [
            [c for c in code.co_consts if isinstance(c, types.CodeType)] for code in (one, two)
        ]
        assert len(inner[0]) == len(inner[1])
        for a, b in zip(*inner, strict=True):
            if a != b:
                replaced[a.co_name, a.co_firstlineno] = (a, b)
            pairs.append((a, b))
    swapped = 0
    for thing in gc.get_objects():
        if isinstance(thing, types.FunctionType) and thing.__module__ == module.__name__:
            code = thing.__code__
            found = replaced.get((code.co_name, code.co_firstlineno))
            if found is not None and code == found[0]:
                thing.__code__ = found[1]
                swapped += 1
        if callable(getattr(type(thing), "cache_clear", None)):
            thing.cache_clear()
    return swapped


def reached_by_checks() -> dict[str, set[tuple[str, str, int]]]:
    """Functions of the changed files that each check reaches: (module, name, first line).

    Checks that reach less come first: they take less time.
    """
    from mechdesign.papers import catalogue

    files = {
        str(Path(inspect.getsourcefile(importlib.import_module(f"mechdesign.{m}"))).resolve()): m
        for m in FILES
    }
    found: dict[str, set[tuple[str, str, int]]] = {}
    for result in catalogue.known_theorems():
        touched: set[tuple[str, str, int]] = set()

        def note(frame, event, argument, touched=touched):
            if event == "call" and frame.f_code.co_filename in files:
                code = frame.f_code
                touched.add((files[code.co_filename], code.co_name, code.co_firstlineno))

        sys.setprofile(note)
        try:
            result.check(1, instances=2)
        finally:
            sys.setprofile(None)
        found[result.id] = touched
    return dict(sorted(found.items(), key=lambda entry: len(entry[1])))


def verdict(change: Callable[[], int], module: str, names: list[str], *, tests: bool) -> str:
    """Who sees a change: ``checks``, ``tests``, ``limit``, or nobody, ``survived``.

    Each is asked in a process of its own, where ``change`` is called first; ``names`` are the
    results whose checks reach what is changed.
    """
    for seconds, run in ((CHECKS, _checks), (TESTS, _tests))[: 2 if tests else 1]:
        child = os.fork()
        if child == 0:
            status = 2
            try:
                resource.setrlimit(resource.RLIMIT_CPU, (_spent() + seconds, _spent() + seconds))
                # A process that waits for ever spends no time; this is far beyond what one takes.
                signal.alarm(60 * seconds)
                quiet = os.open(os.devnull, os.O_WRONLY)
                os.dup2(quiet, 1)
                os.dup2(quiet, 2)
                if not _applied(change):
                    os._exit(3)
                status = run(module, names)
            finally:
                os._exit(status)
        _, code = os.waitpid(child, 0)
        if os.WIFSIGNALED(code):
            return "limit"
        if os.WEXITSTATUS(code) == 3:
            return "not applied"
        if os.WEXITSTATUS(code) != 0:
            return "checks" if run is _checks else "tests"
    return "survived"


def _applied(change: Callable[[], int]) -> bool:
    """Whether a change found its place; an error in making it is none that a check has seen."""
    try:
        return change() > 0
    except (AssertionError, SyntaxError, ValueError, TypeError):
        return False


def _spent() -> int:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return int(used.ru_utime + used.ru_stime) + 1


def _checks(module: str, names: list[str]) -> int:
    import warnings

    from mechdesign.papers import catalogue

    warnings.simplefilter("ignore")
    for name in names:
        if not catalogue.find_theorem(name).check(1, instances=3).ok:
            return 1
    noisy = ("SaeidianDisclosure", "NuradhaGoldfeld")
    if module.startswith(("noise", "theory.counting")):
        return int(not all(e.stands for e in catalogue.errata() if e.source in noisy))
    return 0


def _tests(module: str, names: list[str]) -> int:
    import pytest

    os.chdir(ROOT)
    files = [str(ROOT / "tests" / file) for file in FILES[module]]
    # Whether they fail is all that is asked: no assertion is rewritten to say why.
    options = ["-x", "-q", "-n", "0", "-p", "no:cacheprovider", "--all", "-m", "not slow"]
    options += ["--assert=plain"]
    return int(pytest.main([*options, *files]))


#: Changes that survived all tests at a time: module, text, changed text, and who is to see it.
NAMED = (
    ("noise.additive", "a / (d * _growth(2 * e / d))", "a / (d * _growth(2 * e))"),
    ("noise.additive", "s / (d * _growth(e / d))", "s / (d * _growth(e))"),
    ("noise.additive", "_exp_lower(2 * Fraction(h) / d - 1)", "_exp_lower(2 * Fraction(h) - 1)"),
    ("noise.additive", "min(1.0, float_at_least(sum", "0.98 * min(1.0, float_at_least(sum"),
    ("noise.additive", "bound = 2 * _binary_entropy(share)", "bound = _binary_entropy(share)"),
    ("noise.additive", "+ 2 * share * log_bounds(", "+ share * log_bounds("),
    ("noise.bounded", "* (beta / spread)) / 8))", "* (beta / spread)) / 6))"),
    ("theory.counting_queries", "c**2 / (2 * (n * b) ** 2)", "c**2 / (4 * (n * b) ** 2)"),
    (
        "theory.rules",
        "return min(level, s_hi * high * level / z_lo - log_bounds(z_lo)[0])",
        "return Fraction(98, 100) * min(level, s_hi * high * level / z_lo - log_bounds(z_lo)[0])",
    ),
    (
        "theory.disclosure",
        "prior.min_entropy(),\n        -math.log(prior.pmin),",
        "prior.min_entropy(),\n        -0.9 * math.log(prior.pmin),",
    ),
)


def run(count: int, *, tests: bool) -> None:
    """Make the named changes, and so many others, one after the other; print who saw each."""
    if tests:
        # Loaded once, not in every process that is forked. Plugins of pytest are not among them: it
        # refuses to start where one is there before it.
        for heavy in ("pytest", "scipy.optimize", "scipy.stats"):
            importlib.import_module(heavy)
    reached = reached_by_checks()
    # A control: a change that changes nothing is seen by nobody, neither checks nor tests.
    nothing = verdict(lambda: 1, "theory._composition", list(reached)[:40], tests=tests)
    _say({"id": "no change", "kind": "control", "seen": nothing})
    for module, before, after in NAMED:
        names = [n for n, t in reached.items() if any(m == module for m, _, _ in t)]
        found = verdict(
            lambda m=module, b=before, a=after: rewrite(m, b, a), module, names, tests=False
        )
        _say({"id": f"{module}: {before} → {after}", "kind": "named", "seen": found})
    for mutant in sample(count, set().union(*reached.values())):
        lines = _function_lines(mutant.module)
        parts = mutant.function.split(".")
        starts = {lines.get(".".join(parts[: k + 1])) for k in range(len(parts))}
        names = [
            name
            for name, touched in reached.items()
            if any(m == mutant.module and at in starts for m, _, at in touched)
        ]
        asked = tests and mutant.id not in SURVIVORS
        found = verdict(lambda mutant=mutant: apply(mutant), mutant.module, names, tests=asked)
        _say({"id": mutant.id, "kind": mutant.kind, "seen": found})


def _say(row: dict[str, str]) -> None:
    print(json.dumps(row, ensure_ascii=False), flush=True)


if __name__ == "__main__":
    run(int(sys.argv[1]), tests="--tests" in sys.argv)

"""``mechdesign doctor``: what is installed here, and whether it works.

Each check compares the package with something it does not compute itself: a series summed in
rationals, the checker that runs in an interpreter of its own, a kernel that is known to leak, the
chances that a kernel says. Random numbers are judged at a level that a sound generator misses once
in 10^9 runs.
"""

from __future__ import annotations

import math
import platform
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import asdict
from fractions import Fraction
from importlib import metadata, util
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import typer

from .. import __version__
from ..errors import KINDS, explained
from ..extras import BASE, EXTRAS
from .exit_codes import FAILED
from .options import AsJson
from .output import print_json, say

# Distributions that are not named as the modules that they hold.
_DISTRIBUTIONS = {"flint": "python-flint", "sklearn": "scikit-learn"}
_NUMBER = 1 << 16
# Standard deviations beyond which sums of fair bits lie once in 10^9.
_FAR = 6.2


def doctor(
    topics: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="TOPIC...",
            help="Codes of errors and warnings such as MD103, 'codes' for all of them, or 'data' "
            "for the tables that are shipped.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Say whether all works here, or what the code of an error means.

    Exact arithmetic, proofs, solvers and entropy are tested in seconds; exit code 3 when a check
    fails. With a topic: what the code of an error or a warning means and what to do, or which
    tables are shipped, with their sources.
    """
    if topics == ["data"]:
        _tell_tables(as_json)
    elif topics:
        _explain(topics, as_json)
    else:
        _examine(as_json)


def _tell_tables(as_json: bool) -> None:
    from ..data import EXAMPLES
    from ..views.text import print_examples

    if as_json:
        print_json({name: vars(table) for name, table in EXAMPLES.items()})
    else:
        print_examples()


def _explain(codes: list[str], as_json: bool) -> None:
    is_all = codes == ["codes"]
    kinds = KINDS if is_all else [explained(code) for code in codes]
    if as_json:
        print_json([asdict(kind) for kind in kinds])
        return
    for kind in kinds:
        more = "" if is_all else f"\n  {kind.meaning}\n  What to do: {kind.remedy}"
        say(f"{kind.code}  {kind.name}{more}")


def _examine(as_json: bool) -> None:
    checks = [_run(name, check) for name, check in _CHECKS.items()]
    extras = {name: _missing(modules) for name, modules in EXTRAS.items()}
    versions = {name: version for name in _modules() if (version := _version(name))}
    found: dict[str, Any] = {
        "mechdesign": __version__,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.release()}, {platform.machine()}",
        "encoding": getattr(sys.stdout, "encoding", None) or "unknown",
        "versions": versions,
        "extras": {name: not missing for name, missing in extras.items()},
        "checks": [{"name": name, "passed": ok, "said": said} for name, ok, said in checks],
    }
    if as_json:
        print_json(found)
    else:
        say(f"mechdesign {__version__}, Python {found['python']}, {found['system']}")
        for name, version in versions.items():
            say(f"  {name} {version}")
        for name, missing in extras.items():
            lacks = f"not installed: {', '.join(missing)}; pip install 'mechdesign[{name}]'"
            say(f"extra {name}: {lacks if missing else 'installed'}")
        for name, ok, said in checks:
            say(f"{'ok    ' if ok else 'FAILED'} {name}: {said}")
    if not all(ok for _, ok, _ in checks):
        raise typer.Exit(FAILED)


def _modules() -> list[str]:
    return list(dict.fromkeys([*BASE, *chain(*EXTRAS.values())]))


def _missing(modules: Iterable[str]) -> list[str]:
    return [module for module in modules if util.find_spec(module) is None]


def _version(module: str) -> str:
    try:
        return metadata.version(_DISTRIBUTIONS.get(module, module))
    except metadata.PackageNotFoundError:
        return ""


def _run(name: str, check: Callable[[], str]) -> tuple[str, bool, str]:
    try:
        return name, True, check()
    except AssertionError as problem:
        return name, False, str(problem)
    except Exception as problem:  # a library that does not fit may do anything
        return name, False, f"{type(problem).__name__}: {problem}"


def _expect(holds: bool, otherwise: str) -> None:
    if not holds:
        raise AssertionError(otherwise)


def _small_design() -> Any:
    from ..prior import Prior
    from ..privacy import PML
    from ..solve._design import design
    from ..utility.linear import Hamming

    return design(Prior([0.5, 0.3, 0.2]), Hamming(), PML(0.5))


def _libraries() -> str:
    """What the package itself brings is here; a clone that was updated may ask for more."""
    missing = _missing(BASE)
    _expect(not missing, f"not installed: {', '.join(missing)}; pip install mechdesign")
    return "all that the package needs is installed"


def _exact_arithmetic() -> str:
    """Enclosures of e^ε hold the partial sums of its series and what the rest can add."""
    from ..exact import exp_bounds

    for level in (Fraction(1, 10), Fraction(1, 2), Fraction(3)):
        term, total = Fraction(1), Fraction(1)
        for place in range(1, 60):
            term *= level / place
            total += term
        # From here on each term is below a twentieth of the one before.
        low, high = exp_bounds(level, 64)
        _expect(low <= total + term and total <= high, f"e^{level} is not where its series is")
        _expect(high - low < Fraction(1, 1 << 50), f"the enclosure of e^{level} is wide")
    return "enclosures of e^ε hold its series in rationals"


def _proof() -> str:
    """A design is proved in an interpreter of its own; the same file, altered, is not."""
    from ..storage import save

    checker = Path(__file__).parents[1] / "certificate" / "verify.py"
    with tempfile.TemporaryDirectory(prefix="mechdesign-doctor-") as folder:
        path = Path(folder) / "design.json"
        save(_small_design(), path)
        command = [sys.executable, "-I", "-S", str(checker), str(path)]
        done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8")
        _expect(done.returncode == 0, f"the checker says {done.stdout or done.stderr}")
        text = path.read_text(encoding="utf-8")
        path.write_text(text.replace('"0.5"', '"0.25"').replace("0.5", "0.4"), encoding="utf-8")
        altered = subprocess.run(command, capture_output=True, text=True, encoding="utf-8")
        _expect(altered.returncode != 0, "the checker accepts a file that was altered")
    return "a design is proved by the checker of files, an altered one is refused"


def _leak() -> str:
    """The audit refuses a kernel that is known to leak, by one part in 2^50."""
    from .._audit import audit
    from ..mechanism import Mechanism
    from ..prior import Prior
    from ..privacy import LDP

    level = math.log(3)
    sound, broken = [[0.75, 0.25], [0.25, 0.75]], [[0.75 + 2**-50, 0.25 - 2**-50], [0.25, 0.75]]
    prior, notion = Prior([0.5, 0.5], [0, 1]), LDP(level)
    for rows, wanted in ((sound, True), (broken, False)):
        (check,) = audit(Mechanism(rows), prior, [notion]).checks
        _expect((check.verdict.value == "yes") is wanted, f"{rows} under {notion}: {check.verdict}")
    return "a kernel that leaks 10^-15 too much is refused, one at its level is not"


def _solvers() -> str:
    """Every linear solver that is installed reaches the optimum that is known in closed form."""
    from ..prior import Prior
    from ..privacy import LDP
    from ..solve._design import design
    from ..utility.linear import Hamming

    names = ("highs-simplex", "clarabel")
    best = math.exp(1) / (math.exp(1) + 2)
    for name in names:
        found = design(Prior.uniform(3), Hamming(), LDP(1), solver=name)
        _expect(
            abs(found.value - best) < 1e-6 and found.bound >= found.value,
            f"{name} gives {found.value}, the optimum is {best}",
        )
    return f"{', '.join(names)} reach the optimum of randomised response"


def _entropy() -> str:
    """Bits of the operating system are fair, differ between draws, and make reports as said."""
    import numpy as np

    from ..release.sampler import Sampler
    from ..release.words import words_from

    first, second = (words_from(None).take(_NUMBER) for _ in range(2))
    _expect(not np.array_equal(first, second), "two draws are the same")
    bits = np.unpackbits(first.view(np.uint8))
    for what, ones, number in (
        ("ones", int(bits.sum()), len(bits)),
        ("changes", int((bits[1:] != bits[:-1]).sum()), len(bits) - 1),
    ):
        far = abs(ones - number / 2) / math.sqrt(number / 4)
        _expect(far < _FAR, f"{what} among {number} bits lie {far:.1f} standard deviations off")
    mechanism = _small_design().mechanism
    for row in range(len(mechanism.inputs)):
        drawn = np.bincount(
            Sampler(mechanism).draw_codes([row] * _NUMBER), minlength=len(mechanism.outputs)
        )
        chances = np.asarray(mechanism.kernel)[row]
        deviation = np.sqrt(_NUMBER * chances * (1 - chances))
        off = np.abs(drawn - _NUMBER * chances)
        _expect(bool((off <= _FAR * deviation + 1e-6).all()), f"reports of input {row}: {drawn}")
    return f"{len(bits):,} bits are fair, {_NUMBER:,} reports of each input as the kernel says"


_CHECKS = {
    "libraries": _libraries,
    "exact arithmetic": _exact_arithmetic,
    "proof": _proof,
    "leak": _leak,
    "solvers": _solvers,
    "entropy": _entropy,
}

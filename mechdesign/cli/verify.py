"""``mechdesign verify``."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryFile
from typing import Annotated, Any

import typer

from .. import __version__
from ..progress import advance, stage, waiting
from .options import AsJson, print_json

# A file, not a module: a process of its own runs it, which has nothing of this package.
_CHECKER = Path(__file__).parents[1] / "certificate" / "verify.py"


def verify(
    files: Annotated[
        list[str], typer.Argument(metavar="FILE...", help="Files that 'mechdesign' saved.")
    ],
    as_json: AsJson = False,
) -> None:
    """Prove what saved files claim, by a checker that shares nothing with what wrote them.

    It runs in an isolated interpreter with the standard library alone. Where it refutes a level,
    the library's own audit adds a witness: the output and the two hypotheses at which the kernel
    leaks most, the level that it has and the one claimed. Exit codes: 0 all is proved, 1 something
    is refuted, 2 a file cannot be read, 3 nothing is refuted, but something is not proved here
    ('mechdesign show' computes it).
    """
    names = [str(Path(name).absolute()) if name.startswith("-") else name for name in files]
    is_watched = sys.stderr.isatty()
    command = [sys.executable, "-I", "-S", str(_CHECKER), "--json"]
    with waiting("proving", show=is_watched):
        code, printed, said = _run([*command, *["--progress"] * is_watched, *names])
        told = json.loads(printed) if printed else {"files": []}
        for found in told["files"]:
            found["witnesses"] = _witnesses(found)
    if said:
        typer.echo(said, nl=False, err=True)
    if as_json:
        print_json({**told, "version": __version__})
    else:
        for found in told["files"]:
            _say_file(found)
    raise typer.Exit(code)


def _run(command: list[str]) -> tuple[int, str, str]:
    """The exit code of the checker, what it printed, and what it said besides how far it is."""
    with (
        TemporaryFile("w+", encoding="utf-8") as printed,
        subprocess.Popen(
            [*command, "--with-parent"],
            stdin=subprocess.PIPE,  # open as long as this process is there, however it ends
            stdout=printed,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        ) as process,
    ):
        assert process.stderr is not None
        try:
            said = _follow(process.stderr)
            code = process.wait()
        except BaseException:
            process.kill()
            raise
        printed.seek(0)
        return code, printed.read(), said


def _follow(lines: Iterable[str]) -> str:
    """Tell who waits how far the checker is; the lines that say something else."""
    others, before = list[str](), 0
    with ExitStack() as stages:
        for line in lines:
            match line.split():
                case ["progress", done, total]:
                    if done == "0":
                        stages.close()
                        stages.enter_context(stage("extreme columns", total=int(total)))
                        before = 0
                    advance(int(done) - before)
                    before = int(done)
                case _:
                    others.append(line)
    return "".join(others)


def _witnesses(found: dict[str, Any]) -> list[dict[str, Any]]:
    """Where the kernels of a file leak more than it claims, for each level that is refuted."""
    refuted = (one["claim"] for one in found["claims"] if one["state"] == "refuted")
    if not any("privacy: " in claim for claim in refuted):
        return []
    from ..errors import MechdesignError
    from ..files import read_json
    from ..storage import unmet_notions
    from ..stored_values import label_to_json

    try:
        checks = unmet_notions(read_json(found["file"]))
    except MechdesignError:
        return []
    return [
        {
            "notion": str(check.notion),
            "output": label_to_json(worst.output),
            "over": worst.over,
            "under": worst.under,
            "level": worst.level,
            "claimed": claimed,
        }
        for check in checks
        for worst, claimed in zip(check.worst, check.notion.levels, strict=True)
        if worst.level > claimed
    ]


def _say_file(found: dict[str, Any]) -> None:
    """The claims of a file as the checker itself prints them, then the witnesses."""
    lines = [f"{found['file']}: {found['state']}"]
    for one in found["claims"]:
        lines.append(f"  {one['state']:16} {one['claim']}  {one['detail']}".rstrip())
    if found["witnesses"]:
        from ..exact import rounded_up
        from ..stored_values import label_from_json
    for one in found["witnesses"]:
        output, level = label_from_json(one["output"]), rounded_up(one["level"], 12)
        lines.append(
            f"  {'witness':16} {one['notion']}: output {output!r}, {one['over']} against "
            f"{one['under']}: level {level} nats, claimed {one['claimed']!r}"
        )
    for line in lines:
        typer.echo(ascii(line)[1:-1])

"""What ``mechdesign verify`` does, by nothing that its checker does not need."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from .. import __version__
from ..progress import advance, stage, waiting
from .output import print_json

# A file, not a module: a process of its own runs it, which has nothing of this package.
_CHECKER = Path(__file__).parents[1] / "certificate" / "verify.py"


def asked_alone(arguments: Sequence[str]) -> bool:
    """Whether there are files and no option but ``--json``."""
    options = {name for name in arguments if name.startswith("-")}
    return "" not in arguments and options <= {"--json"} and len(arguments) > len(options)


def prove(arguments: Sequence[str]) -> int:
    """Print what a checker says of files, with ``--json`` among them as JSON; its exit code."""
    files = [name for name in arguments if name != "--json"]
    is_watched = sys.stderr.isatty()
    command = [sys.executable, "-I", "-S", str(_CHECKER), "--json"]
    with waiting("proving", show=is_watched):
        code, printed, said = _run([*command, *["--progress"] * is_watched, *files])
        told = json.loads(printed) if printed else {"files": []}
        for found in told["files"]:
            found["witnesses"] = _witnesses(found)
    sys.stderr.write(said)
    if "--json" in arguments:
        print_json({**told, "version": __version__})
    else:
        for found in told["files"]:
            _say_file(found)
    return code


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
        print(ascii(line)[1:-1])

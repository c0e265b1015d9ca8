"""Designs kept in a folder, so that a sweep that was stopped goes on where it was."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from ..errors import StorageError, quote
from ..solve.designing import Design
from ..solve.problem import AnyProblem, Problem
from ..storage import asked_to_json, label_to_json, load, problem_to_json, save


class Store:
    """A folder with one file per design, named after what was asked.

    A design that is read back is proved again, as :func:`mechdesign.load` does, so a folder cannot
    bring in a kernel that is not private or an optimum that is none.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder_name(folder))
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except (OSError, ValueError) as problem:
            why = problem.strerror if isinstance(problem, OSError) else problem
            raise StorageError(
                f"folder {folder}: cannot be made ({why}); choose another name."
            ) from None

    def _file(self, problem: AnyProblem, solver: str) -> Path:
        asked: dict[str, Any] = {
            "problem": problem_to_json(problem),
            "solver": solver,
            "time_limit": problem.time_limit,
        }
        text = json.dumps(asked, sort_keys=True)
        return self.folder / f"{hashlib.sha256(text.encode()).hexdigest()[:32]}.json"

    def get(self, problem: AnyProblem, solver: str) -> Design | None:
        """The design kept for a problem, if there is one; raises :class:`StorageError`."""
        path = self._file(problem, solver)
        if not path.exists():
            return None
        try:
            found = load(path)
        except StorageError as cause:
            raise StorageError(
                f"{cause} Remove {path}, and the comparison designs that point again."
            ) from None
        if not isinstance(found, Design) or not _answers(found, problem):
            raise StorageError(
                f"file {path}: expected the design its name stands for, got another; remove it."
            )
        return found

    def put(self, problem: AnyProblem, solver: str, found: Design) -> None:
        """Keep a design; the file appears only when it is complete."""
        save(found, self._file(problem, solver), overwrite=True)


def folder_name(folder: Any) -> str:
    """The name of a folder to keep designs in; raises :class:`StorageError` for what is none."""
    if not isinstance(folder, (str, Path)) or not str(folder).strip():
        raise StorageError(
            f"folder to keep designs in: expected a path, got {quote(folder)}; name a folder."
        )
    return str(folder)


def _answers(found: Design, problem: AnyProblem) -> bool:
    outputs = found.mechanism.outputs if isinstance(problem, Problem) else ()
    asked = asked_to_json(found.prior, found.notions, found.utility, outputs)
    wanted = problem_to_json(problem)
    # A matrix may be read back under another name; what it pays is the same.
    for entry in (asked, wanted):
        if "gains" in entry["utility"]:
            del entry["utility"]["name"]
    return {**asked, "outputs": [label_to_json(label) for label in outputs]} == wanted

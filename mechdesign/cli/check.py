"""``mechdesign check``."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import StorageError
from ..progress import waiting
from .options import AsJson, Force, Public, Reports, say_advice
from .output import note, print_json, say

_REPORTS = 1000


def check(
    file: Annotated[str, typer.Argument(help="A file that 'mechdesign' saved.")],
    reports: Reports = _REPORTS,
    public: Public = None,
    csv: Annotated[Path | None, typer.Option("--csv", help="Save the kernel as CSV.")] = None,
    as_json: AsJson = False,
    force: Force = False,
) -> None:
    """Check a saved design again: whether it is private, and how good.

    Value and bound, privacy and requirements are computed anew; a file that says otherwise is
    refused with exit code 2. 'mechdesign verify' proves the same by a checker of its own, and
    'mechdesign audit' judges it by other notions or another prior.
    """
    from ..certificate.infeasible import Infeasibility
    from ..kernel_files import write_csv
    from ..mechanism import mechanism_of
    from ..solve._design import Design
    from ..storage import load, save, to_json
    from ..subsets import SubsetSelection

    with waiting("checking", show=sys.stderr.isatty()):
        loaded: Any = load(file)
    if public is not None:
        if isinstance(loaded, Infeasibility):
            raise StorageError(
                f"file {file}: expected a design for --public, got the proof that there is none; "
                "leave out --public."
            )
        save(loaded, public, overwrite=force, public=True)
        note(f"saved {public}")
    if csv is not None:
        write_csv(mechanism_of(loaded), csv, overwrite=force)
        note(f"saved {csv}")
    if as_json:
        from ..solve.columns_plan import ColumnsPlan
        from ..views.plain import columns_plan_json, design_json

        told: Any = columns_plan_json if isinstance(loaded, ColumnsPlan) else to_json
        print_json((design_json if isinstance(loaded, Design) else told)(loaded))
    elif isinstance(loaded, Design):
        from .._audit import audit
        from ..release._identifiability import identifiability
        from ..views.text import print_design

        found = audit(loaded.mechanism, loaded.prior, list(loaded.notions), loaded.requirements)
        print_design(loaded, found, reports)
        say_advice(identifiability(loaded))
    elif isinstance(loaded, SubsetSelection):
        from ..views.text import print_subset_selection

        print_subset_selection(loaded)
    else:
        say(repr(loaded))
        if reports != _REPORTS:
            note(
                "errors are shown at a distribution, and this file holds none; "
                f"mechdesign plan {shlex.quote(file)} --reports {reports} shows them"
            )

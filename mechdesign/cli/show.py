"""``mechdesign show``."""

from __future__ import annotations

import shlex
import sys
from typing import Annotated

import typer

from ..errors import StorageError
from ..progress import waiting
from .options import AsJson, Force, Public, Reports, note, print_json, say, say_advice

_REPORTS = 1000


def show(
    file: Annotated[str, typer.Argument(help="A file written by 'mechdesign design --output'.")],
    reports: Reports = _REPORTS,
    public: Public = None,
    as_json: AsJson = False,
    force: Force = False,
) -> None:
    """Check a saved design again and print it."""
    from .._audit import audit as run_audit
    from ..certificate.infeasible import Infeasibility
    from ..release._identifiability import identifiability
    from ..solve._design import Design
    from ..solve.columns_plan import ColumnsPlan, KernelPlan
    from ..storage import load, save, to_json
    from ..subsets import SubsetSelection
    from ..views.plain import columns_plan_json, design_json
    from ..views.text import print_design, print_subset_selection

    with waiting("checking", show=sys.stderr.isatty()):
        loaded = load(file)
    if isinstance(loaded, Infeasibility):
        if public is not None:
            raise StorageError(
                f"file {file}: expected a design for --public, got the proof that there is none; "
                "leave out --public."
            )
        if as_json:
            print_json(to_json(loaded))
        else:
            say(repr(loaded))
        return
    if isinstance(loaded, KernelPlan):
        if public is not None:
            save(loaded, public, overwrite=force, public=True)
            note(f"saved {public}")
        if as_json:
            if isinstance(loaded, ColumnsPlan):
                print_json(columns_plan_json(loaded))
            else:
                print_json(to_json(loaded))
        else:
            say(repr(loaded))
        return
    if isinstance(loaded, SubsetSelection):
        if as_json:
            print_json(to_json(loaded))
        else:
            print_subset_selection(loaded)
        if public is not None:
            save(loaded, public, overwrite=force, public=True)
            note(f"saved {public}")
        return
    if public is not None:
        save(loaded, public, overwrite=force, public=True)
        note(f"saved {public}")
    if as_json:
        print_json(design_json(loaded) if isinstance(loaded, Design) else to_json(loaded))
    elif isinstance(loaded, Design):
        report = run_audit(
            loaded.mechanism, loaded.prior, list(loaded.notions), loaded.requirements
        )
        print_design(loaded, report, reports)
        say_advice(identifiability(loaded))
    else:
        say(repr(loaded))
        if reports != _REPORTS:
            note(
                "errors are shown at a distribution, and this file holds none; "
                f"mechdesign plan {shlex.quote(file)} --reports {reports} shows them"
            )

"""``mechdesign explore``."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer

from .held_warnings import tell_held
from .options import PriorSource, Privacy, read_notions


def explore(
    source: PriorSource,
    privacy: Privacy = None,
    utility: Annotated[
        str,
        typer.Option(
            "--utility",
            "-u",
            help="What the page begins with: estimation, hamming, absolute, squared, "
            "mutual-information, total-variation or chi-square.",
        ),
    ] = "estimation",
    port: Annotated[
        int | None, typer.Option(help="Port on this machine; 0 for any that is free.")
    ] = None,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the page in the browser.")
    ] = True,
) -> None:
    """Serve a page on this machine to try notions and levels by hand.

    Without a table or a prior it begins with the passenger class of the Titanic; without --privacy
    with LDP(1), beside PML and LIP.
    """
    from ..explorer import server, settings

    server.check_framework()
    if source.table is None and source.prior is None:
        source = replace(source, table="titanic", column=source.column or ["class"])
    known, read = source.read_prior(), None
    tell_held()
    if source.table is not None and source.column and not source.bins:
        first, *others = source.column
        columns = (first, *others) if others else first
        read = settings.Column(
            source.table, columns, source.weights, source.missing, source.sep, source.encoding
        )
    notions = read_notions(privacy) if privacy else ()
    begun = settings.Settings.of_prior(known, read, notions, utility)
    server.serve(begun, port, show=browser)

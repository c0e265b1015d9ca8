"""``mechdesign explore``."""

from __future__ import annotations

from typing import Annotated

import typer

from ..arguments import read_prior
from .options import Column, MaxSymbols, Missing, PriorText, Table, Weights


def explore(
    table: Table = None,
    column: Column = None,
    weights: Weights = None,
    missing: Missing = "error",
    max_symbols: MaxSymbols = None,
    prior: PriorText = None,
    port: Annotated[
        int | None, typer.Option(help="Port on this machine; 0 for any that is free.")
    ] = None,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the page in the browser.")
    ] = True,
) -> None:
    """Serve a page on this machine where prior, notions, level and utility are set by hand.

    Without a table or a prior it begins with the passenger class of the Titanic.
    """
    from ..explorer import server, settings

    server.check_framework()
    if table is None and prior is None:
        table, column = "titanic", column or "class"
    known = read_prior(table, column, weights, missing, prior, max_symbols)
    source = None
    if table is not None and column is not None:
        source = settings.Column(table, column, weights, missing)
    server.serve(settings.Settings.of_prior(known, source), port, show=browser)

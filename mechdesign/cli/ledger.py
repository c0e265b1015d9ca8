"""``mechdesign ledger``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .options import AsJson, Force, TableFile, expect_table, refuse, save_rows, save_table
from .output import print_json


def ledger(
    person: Annotated[
        str | None,
        typer.Option(
            help="Identity, as in the column of --person: what this person gave away over time."
        ),
    ] = None,
    about: Annotated[
        str | None, typer.Option(help="Name of the people, where their releases have one.")
    ] = None,
    ledger: Annotated[
        Path | None, typer.Option(help="Ledger, in place of your own (MECHDESIGN_LEDGER).")
    ] = None,
    output: TableFile = None,
    as_json: AsJson = False,
    force: Force = False,
) -> None:
    """Say what was released, or what one person has given away."""
    from ..errors import StorageError, UnknownNameError, quote
    from ..release.ledger import Ledger
    from ..views.tables import account_table
    from ..views.text import print_account, print_releases

    expect_table(output, force=force)
    book = Ledger(ledger)
    if not book.path.exists():
        raise StorageError(
            f"ledger {book.path}: expected a ledger, got none; name one with --ledger."
        )
    if person is not None:
        account = book.person(person, about)
        known = book.people()
        if known and about not in known:
            # "0 draws" would mislead where all that was told stands under another name.
            names = [name for name in known if name is not None]
            if names and about is not None:
                raise UnknownNameError("name of the people", about, names)
            refuse(
                "--about",
                f"one of {', '.join(map(quote, names))}"
                if names
                else "none, as the people of these releases have no name",
                "none" if about is None else quote(about),
                "add --about" if names else "leave it out",
            )
        if output is not None:
            save_table(account_table(account), output, force=force)
        if as_json:
            print_json(account.to_json())
            return
        print_account(account)
        return
    releases = book.releases()
    told = ("time", "name", "column", "kernel", "notions", "output", "finished")
    rows = [{key: release.get(key) for key in told} for release in releases]
    plain = [{**row, "notions": ", ".join(row["notions"] or ())} for row in rows]
    save_rows("Releases", plain, output, force=force)
    if as_json:
        print_json(rows)
        return
    print_releases(releases)

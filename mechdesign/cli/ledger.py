"""``mechdesign ledger``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .options import AsJson, refuse
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
    as_json: AsJson = False,
) -> None:
    """Say what was released, or what one person has given away."""
    from ..errors import StorageError, UnknownNameError, quote
    from ..release.ledger import Ledger
    from ..views.text import print_account, print_releases

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
        if as_json:
            print_json(account.to_json())
            return
        print_account(account)
        return
    releases = book.releases()
    if as_json:
        told = ("time", "name", "column", "kernel", "notions", "output", "finished")
        print_json([{key: release.get(key) for key in told} for release in releases])
        return
    print_releases(releases)

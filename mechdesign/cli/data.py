"""``mechdesign data``."""

from __future__ import annotations

from .options import AsJson, print_json


def data(as_json: AsJson = False) -> None:
    """List the shipped tables, with their sources."""
    from ..data import EXAMPLES
    from ..views.text import print_examples

    if as_json:
        print_json({name: vars(table) for name, table in EXAMPLES.items()})
    else:
        print_examples()

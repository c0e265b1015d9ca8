"""``export``: a file by which a device or a database draws reports itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..errors import InputError, KernelError, UnknownNameError, quote
from ..files import write_text
from ..mechanism import Mechanism, kernel_of
from ..published import PublicDesign
from ..release._identifiability import warn_of_untold
from ..solve._design import Design
from ..storage import public_form
from .javascript import client_module

TARGETS = ("javascript",)


def export(
    designed: Any,
    path: str | Path,
    *,
    to: str,
    column: str = "report",
    overwrite: bool = False,
) -> None:
    """Write a file that draws reports of a kernel where the secret is, with exactly its chances.

    The file holds the public form of a design: kernel, labels and guarantee, but no prior.

    Parameters
    ----------
    designed : Design or Mechanism
    path : file to write
    to : {"javascript"}
        One ES module without dependencies, for browsers and Node: it draws from
        ``crypto.getRandomValues``, remembers its reports, so that the same value of the same person
        has the same report for ever, and makes receipts. With a secret key and an identity it gives
        the reports that :func:`privatize` gives with ``person=`` and ``key=``.
    column : name of what is asked; it belongs to receipts, and to the reports of a key
    overwrite : whether the file may exist

    Raises
    ------
    UnknownNameError
        For an unknown target.
    KernelError
        For a kernel without a matrix.
    StorageError
        For labels other than text, numbers, truth values, ``None`` and tuples of these, and when
        the file exists or cannot be written.

    Warns
    -----
    CountsWarning
        When the kernel reveals the masses of the prior it was fitted to.
    UntoldWarning
        When its reports are uninformative.

    Examples
    --------
    >>> import tempfile, mechdesign as md
    >>> from pathlib import Path
    >>> flip = md.Mechanism([[.75, .25], [.25, .75]], ["no", "yes"], ["no", "yes"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     md.export(flip, folder + "/client.mjs", to="javascript")
    ...     "getRandomValues" in Path(folder, "client.mjs").read_text()
    True
    """
    if not isinstance(to, str) or to not in TARGETS:
        raise UnknownNameError("target of an export", to, TARGETS)
    if not isinstance(column, str) or not column:
        raise InputError(
            "column",
            expected="the name of what is asked",
            got=quote(column),
            remedy="pass text such as 'answer'",
        )
    write_text(client_module(_published(designed), column), path, overwrite=overwrite)


def _published(designed: Any) -> Mechanism | PublicDesign:
    """What others may have of a design, or a kernel as it is."""
    found = kernel_of(designed)
    if not isinstance(found, Mechanism):
        raise KernelError(
            "kernel",
            expected="one with a matrix",
            got=f"a {type(found).__name__}",
            remedy="draw its reports with mechdesign apply (md.privatize), or design for fewer "
            "symbols",
        )
    warn_of_untold(designed)
    return public_form(designed) if isinstance(designed, Design) else found

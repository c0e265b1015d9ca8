"""Options of commands that draw reports, and what is said of a release."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..labels import counted
from .options import ShowValues, TextForm, refuse
from .output import note, say

if TYPE_CHECKING:
    from ..release.receipts import Receipt


@dataclass(frozen=True, kw_only=True)
class ReleaseOptions(TextForm):
    """How reports are drawn, and where that is recorded."""

    row: Annotated[
        str | None,
        typer.Option(
            help="Column with a different identity in each row; with the same key it gets the same "
            "report again."
        ),
    ] = None
    person: Annotated[
        str | None,
        typer.Option(
            help="Column that says whom a row is about; repeats are warned of, or with a key and "
            "without --row share one report."
        ),
    ] = None
    key: Annotated[
        Path | None,
        typer.Option(
            help="File with the secret key that goes with --row or --person; made (mode 0600) if "
            "missing. Keep it as secret as the data."
        ),
    ] = None
    ledger: Annotated[
        Path | None,
        typer.Option(
            help="Ledger of releases, in place of your own (MECHDESIGN_LEDGER, or in your data "
            "folder)."
        ),
    ] = None
    about: Annotated[
        str | None,
        typer.Option(help="Name of the people in the ledger; the input file when left out."),
    ] = None
    seed: Annotated[
        int | None, typer.Option(help="Seed, for research only: whoever knows it can undo reports.")
    ] = None
    budget: Annotated[
        str | None,
        typer.Option(
            help="What all draws of one person may come to over time, such as ldp:3 or pml:2; with "
            "--person. Under a --key, values as before are no new draws."
        ),
    ] = None
    spent: Annotated[
        str,
        typer.Option(
            help="Where a budget is spent: error, or earlier (who has spent it gets an earlier "
            "report again)."
        ),
    ] = "error"
    of_round: Annotated[
        str | None,
        typer.Option(
            "--round", help="Name of a round of deliberately fresh draws under the --key."
        ),
    ] = None
    drop_column: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Column of the table that is not written, such as another secret. Repeat it.",
        ),
    ] = None
    only_reports: Annotated[
        bool, typer.Option("--only-reports", help="Write the columns of reports and no others.")
    ] = False
    show_values: ShowValues = False

    @property
    def book(self) -> Path:
        """The ledger."""
        from ..release.ledger import default_ledger

        return self.ledger or default_ledger()

    def check(
        self,
        table: str,
        output: Path,
        *,
        force: bool,
        read: Iterable[Path | None] = (),
        written: Iterable[Path | None] = (),
    ) -> None:
        """Raise :class:`InputError` for files of one name, among those read and written too."""
        from ..files import check_writable
        from ..release.folder_release import check_apart
        from ..tables.files import find_inputs, receipt_path

        inputs = find_inputs(table)
        if inputs is None:
            check_writable(output, overwrite=force)
        else:
            check_apart(inputs, output)
            for name, path in (("--key", self.key), ("--ledger", self.book)):
                if path is not None and path.resolve().is_relative_to(output.resolve()):
                    refuse(
                        name,
                        "a file outside of the folder of reports",
                        str(path),
                        "keep it where nobody else reads",
                    )
        if Path(table).exists() and output.exists() and output.samefile(table):
            refuse(
                "--output",
                "another file than the input",
                str(output),
                "keep the original until the reports are checked",
            )
        own = (output, receipt_path(output), self.book, Path(f"{self.book}.key"))
        taken, known = (
            {os.path.realpath(path) for path in paths if path is not None}
            for paths in ((*own, *written), (*read, *written))
        )
        if self.key is not None and os.path.realpath(self.key) in taken:
            refuse(
                "--key",
                "another file than those of the output and the ledger",
                str(self.key),
                "keep the key where nobody else reads",
            )
        if self.ledger is not None and os.path.realpath(self.ledger) in known:
            refuse(
                "--ledger",
                "a file of its own",
                f"{self.ledger}, which is read or written as well",
                "choose another name for the ledger",
            )

    def write(
        self,
        table: str,
        output: Path,
        column: str | list[str] | None,
        designed: Any,
        *,
        force: bool,
        **more: Any,
    ) -> Receipt:
        """Privatise columns of a file, and record it."""
        from ..release._privatize_file import privatize_file

        if isinstance(column, list) and len(column) == 1:
            column = column[0]
        is_new = self.key is not None and not Path(self.key).exists()
        receipt = privatize_file(
            table,
            output,
            designed if column is None else column,
            None if column is None else designed,
            row=self.row,
            person=self.person,
            key=self.key,
            rng=self.seed,
            overwrite=force,
            progress=sys.stderr.isatty(),
            ledger=self.ledger,
            about=self.about,
            budget=self.budget,
            spent=self.spent,
            round=self.of_round,
            show_values=self.show_values,
            drop=self.drop_column,
            only_reports=self.only_reports,
            sep=self.sep,
            encoding=self.encoding,
            **more,
        )
        if is_new:
            note(
                f"a new key was made, {self.key}: keep it, as rows get the same reports under "
                "it alone; where they had reports under another key, these tell more of them"
            )
        elif self.row is not None and self.key is None and self.seed is None:
            note(
                "without --key the secret that identities were hashed with is gone: another run "
                "gives other reports, which tell more"
            )
        return receipt


def say_receipt(receipt: Receipt) -> None:
    """What was released, in a few lines."""
    from ..published import shown_fingerprint

    kept = ", ".join(receipt.notions) or "no notion was checked"
    kernel = shown_fingerprint(receipt.kernel)
    drawn = "reports" if receipt.rows is None else counted(receipt.rows, "report")
    say(f"{drawn} of {receipt.column!r}: {kept}, kernel {kernel} (fingerprint)")
    say(f"random words: {receipt.source}")
    if receipt.key is not None:
        say(f"key: fingerprint {shown_fingerprint(receipt.key)}")

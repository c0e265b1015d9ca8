"""What ``mechdesign audit`` says of a mechanism from its inputs and reports alone."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from ..arguments import read_outputs
from ..errors import InputError, quote
from ..labels import Label
from ..progress import waiting
from .options import KernelSource, Outputs, read_notions, refuse, save_rows
from .output import note, print_json


def _read_partition(partition: str) -> Any:
    """Edges of intervals, or the name of what is learned."""
    from ..evidence.partition import TREE

    if partition.strip().lower() == TREE:
        return TREE
    try:
        return [float(part) for part in partition.split(",")]
    except ValueError:
        raise InputError(
            "--partition",
            expected="edges of intervals separated by commas, or tree",
            got=quote(partition),
            remedy="write for example --partition=-1,0,1",
        ) from None


@dataclass(frozen=True, kw_only=True)
class SampleOptions:
    """Where samples come from, and how they are judged."""

    reported: Annotated[
        str | None,
        typer.Option(help="Column with the reports of a table whose --column holds the inputs."),
    ] = None
    mechanism: Annotated[
        str | None,
        typer.Option(
            metavar="package.module:function",
            help="A mechanism to call in place of a file: a function from an input to a report.",
        ),
    ] = None
    inputs: Annotated[
        list[Label] | None,
        typer.Option(help="With --mechanism: its inputs, separated by commas; else of --prior."),
        read_outputs,
    ] = None
    confidence: Annotated[
        float,
        typer.Option(help="Of samples: with which all limits of all notions hold together."),
    ] = 0.95
    outputs: Outputs = None
    partition: Annotated[
        Any,
        typer.Option(
            help="Groups of reports that are numbers: edges of intervals such as -1,0,1, or tree, "
            "learned from half of the reports (a quarter of the calls).",
        ),
        _read_partition,
    ] = None
    calls: Annotated[int, typer.Option(help="Most calls of --mechanism.")] = 100_000
    batch: Annotated[
        bool,
        typer.Option(
            "--batch", help="--mechanism takes an input and a number, and returns as many reports."
        ),
    ] = False
    seed: Annotated[int, typer.Option(help="Of the split of samples into halves.")] = 0
    report: Annotated[
        Path | None,
        typer.Option(
            help="Of samples: write a page for those who did not make the mechanism (.html)."
        ),
    ] = None
    title: Annotated[str | None, typer.Option(help="Heading of the page.")] = None

    @property
    def are_given(self) -> bool:
        """Whether samples are meant."""
        return self.reported is not None or self.mechanism is not None

    def judge(
        self, source: KernelSource, *, as_json: bool, output: Path | None, force: bool
    ) -> bool:
        """Print what samples say of each claim; whether all are consistent with them."""
        from ..arguments import read_prior as prior_of
        from ..evidence._audit_samples import audit_samples
        from ..evidence.findings import SampleVerdict
        from ..views.samples import print_sample_audit, sample_audit_json, write_sample_report

        if self.report is not None:
            _expect_page(self.report, force=force)
        notions = read_notions(source.privacy)
        known = None if source.prior is None else prior_of(source.prior)
        given, reports = self._read(source, known)
        with waiting("judging samples", show=sys.stderr.isatty()):
            found = audit_samples(
                given,
                reports,
                notions,
                self.confidence,
                prior=known,
                outputs=self.outputs,
                partition=self.partition,
                calls=self.calls,
                batch=self.batch,
                seed=self.seed,
            )
        if self.report is not None:
            more = {} if self.title is None else {"title": self.title}
            write_sample_report(found, self.report, overwrite=force, **more)
        save_rows("Judged samples", found.rows(), output, force=force)
        if as_json:
            print_json(sample_audit_json(found))
        else:
            print_sample_audit(found)
        if self.report is not None:
            note(f"saved {self.report}")
        return found.verdict is SampleVerdict.CONSISTENT

    def _read(self, source: KernelSource, prior: Any) -> tuple[Any, Any]:
        """Inputs and reports of a table, or the inputs of a mechanism and the mechanism."""
        from ..extensions import find_function
        from ..tables.counting import read_labels

        if self.mechanism is None:
            columns = source.column or []
            if not source.kernel or len(columns) != 1 or self.inputs is not None:
                refuse(
                    f"table {source.kernel or ''}".strip(),
                    "--column with the inputs and --reported with the reports, no --inputs",
                    "--inputs" if self.inputs is not None else "not both of them",
                    "name the two columns",
                )
            assert self.reported is not None
            names = [columns[0], self.reported]
            given, reports = read_labels(source.kernel, names, source.dialect)
            return given, reports
        if source.kernel or source.column or self.reported is not None:
            refuse(
                "--mechanism",
                "no table, no --column and no --reported, as it makes the reports",
                "one of them",
                "leave them out",
            )
        symbols = self.inputs or (None if prior is None else list(prior.labels))
        if symbols is None:
            refuse(
                "--mechanism",
                "--inputs or --prior with the symbols to call it with",
                "neither",
                "add for example --inputs no,yes",
            )
        return symbols, find_function(self.mechanism, "mechanism")


def _expect_page(report: Path, *, force: bool) -> None:
    """Raise before any work where a page could not be written."""
    from ..files import check_writable
    from ..views.pages import check_pages

    if report.suffix.lower() not in (".html", ".htm"):
        got = quote(report.suffix or "none")
        refuse("--report", "a name that ends in .html", got, "choose such a name")
    check_writable(report, overwrite=force)
    check_pages()

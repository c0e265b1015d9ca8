"""``mechdesign serve``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .options import refuse


def serve(
    designs: Annotated[
        list[str],
        typer.Argument(
            metavar="DESIGN...",
            help="Saved designs, kernels or plans, whose reports are collected. Of a design with "
            "a prior its public form is taken.",
        ),
    ],
    database: Annotated[
        str,
        typer.Option(
            help="File for reports and counts (SQLite), or postgresql://USER@HOST/NAME. Several "
            "processes may share it."
        ),
    ] = "collected.sqlite",
    host: Annotated[
        str, typer.Option(help="Address to listen at; 0.0.0.0 for every one of this machine.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port; 0 for any that is free.")] = 8780,
    rate: Annotated[
        float, typer.Option(help="Reports a second from one address, on average.")
    ] = 20_000.0,
    largest: Annotated[int, typer.Option("--max-body", help="Bytes of a request at most.")] = 1
    << 20,
    patience: Annotated[
        float, typer.Option(help="Seconds that a client may take to send a request.")
    ] = 10.0,
    allow_origin: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ORIGIN",
            help="Pages that may send reports from browsers, such as https://survey.example, or "
            "* for all. Repeat it. Without it none may.",
        ),
    ] = None,
    form: Annotated[
        str | None,
        typer.Option(
            metavar="QUESTION|FILE",
            help="Serve a page at /form on which the public answers this question; the report is "
            "drawn in the browser. A .toml or .json file has wording, choices and languages.",
        ),
    ] = None,
    token_file: Annotated[
        Path | None, typer.Option(help="File with the token that whoever sends must know.")
    ] = None,
    reader_token_file: Annotated[
        Path | None,
        typer.Option(help="File with the token for estimates and exports; the other by default."),
    ] = None,
) -> None:
    """Collect reports that devices draw, and show the estimate.

    POST /reports takes {"kernel", "report", "nonce"} or a list of them; a report is stored when it
    is acknowledged, and counts once however often it is sent. GET / is a page with the estimate,
    /estimate the same as JSON, /counts what md.ReportCounts adds up, /reports.parquet all reports,
    /kernels the public designs, /health whether all is well.
    """
    from ..collector import server
    from ..collector.gate import Limits
    from ..collector.kernels import load_form, load_kernels

    server.check_framework()
    for name, value in (("--rate", rate), ("--max-body", largest), ("--patience", patience)):
        if not 0 < value < float("inf"):
            refuse(name, "a positive number", str(value), "leave it out")
    if form is not None and token_file is not None:
        refuse(
            "--token-file",
            "none beside --form: a page that everybody may open keeps no secret",
            "one",
            "leave it out; --reader-token-file keeps estimates and exports",
        )
    tokens = (
        server.read_token(token_file, "--token-file"),
        server.read_token(reader_token_file, "--reader-token-file"),
    )
    server.serve(
        load_kernels(designs),
        database,
        host=host,
        port=port,
        limits=Limits(body=largest, rate=rate, patience=patience),
        token=tokens[0],
        reader_token=tokens[1],
        origins=allow_origin or (),
        form=None if form is None else load_form(designs, form),
    )

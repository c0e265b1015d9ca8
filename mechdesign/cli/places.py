"""``mechdesign places``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..arguments import read_bounds, read_cells, read_nats
from ..progress import waiting
from .designed_prior import PriorChange
from .options import (
    AsJson,
    Force,
    Public,
    TextForm,
    check_distinct,
    expect_picture,
    read_notion,
    refuse,
)
from .output import note, plain, print_json, say

if TYPE_CHECKING:
    from ..places import Places


def places(
    visits: Annotated[
        str, typer.Argument(help="File of any kind with points, one visit in a row, in degrees.")
    ],
    level: Annotated[
        str, typer.Option(help="Level in nats between places --within metres apart: 0.7 or ln2.")
    ],
    within: Annotated[float, typer.Option(help="Metres that the level is for.")],
    change: PriorChange,
    bounds: Annotated[
        str | None,
        typer.Option(help="South, west, north and east of a grid: 59.29,17.97,59.37,18.15."),
    ] = None,
    cells: Annotated[
        str | None, typer.Option(help="Cells of the grid: 6, or rows and columns as 4x6.")
    ] = None,
    side: Annotated[
        float | None, typer.Option(help="Side of square cells in metres, in place of --cells.")
    ] = None,
    points: Annotated[
        Path | None,
        typer.Option(help="File of any kind that lists the places, in place of a grid."),
    ] = None,
    roads: Annotated[
        Path | None,
        typer.Option(
            help="With --points, which have names then: file with the columns from, to and "
            "metres. Distances are along shortest paths."
        ),
    ] = None,
    reach: Annotated[
        float | None, typer.Option(help="With --points: metres beyond which a point is outside.")
    ] = None,
    latitude: Annotated[str, typer.Option(help="Column of latitudes.")] = "latitude",
    longitude: Annotated[str, typer.Option(help="Column of longitudes.")] = "longitude",
    weights: Annotated[str | None, typer.Option(help="Column of counts.")] = None,
    outside: Annotated[
        str, typer.Option(help="Visits that belong to no place: error, or drop.")
    ] = "error",
    missing: Annotated[
        str, typer.Option(help="Visits without coordinates: error, or drop.")
    ] = "error",
    added: Annotated[
        float, typer.Option(help="Visits that every place gets beside those in the table.")
    ] = 1.0,
    loss: Annotated[str, typer.Option(help="metres, or squared.")] = "metres",
    reports: Annotated[
        str, typer.Option(help="point: coordinates of a place; cell: its name.")
    ] = "point",
    hide: Annotated[
        float | None,
        typer.Option(help="Metres by which the best attack shall be off at least, on average."),
    ] = None,
    privacy: Annotated[
        list[str] | None,
        typer.Option("--privacy", "-p", help="A further notion that must hold, such as ldp:5."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Save the design as JSON.")
    ] = None,
    picture: Annotated[
        Path | None, typer.Option(help="Draw the prior on a map: .png, .svg or .pdf.")
    ] = None,
    public: Public = None,
    as_json: AsJson = False,
    force: Force = False,
    *,
    form: TextForm,
) -> None:
    """Design reports of where somebody was, with the least loss.

    They are geo-indistinguishable, and of all such the least loss is expected of them.

    'mechdesign apply' then takes tables of raw points, which it snaps to the places.
    """
    from .._audit import audit as run_audit
    from ..files import check_writable
    from ..mechanism import Mechanism
    from ..solve._design import matrix_design
    from ..storage import save
    from ..views.plain import design_json
    from ..views.text import print_design

    check_distinct(
        {"--output": output, "--public": public, "--picture": picture},
        {
            "the visits": visits,
            "--points": None if points is None else str(points),
            "--roads": None if roads is None else str(roads),
        },
    )
    named = [path for path in (output, public) if path is not None]
    for path in named:
        check_writable(path, overwrite=force)
    if picture is not None:
        expect_picture(picture, force=force)
    columns = (latitude, longitude)
    made = _places(bounds, cells, side, points, roads, reach, columns, form)
    counted = made.prior(
        form.opened(visits),
        columns=columns,
        weights=weights,
        outside=outside,
        missing=missing,
        added=added,
    )
    known = change.changed(counted)
    notions: list[Any] = [made.privacy(read_nats(level, "--level"), within)]
    if hide is not None:
        notions.append(made.hidden(known, hide))
    notions += [read_notion(text) for text in privacy or []]
    with waiting("designing", show=sys.stderr.isatty()):
        found = matrix_design(known, made.loss(loss, reports), notions)
    report = run_audit(found.mechanism, known, notions)
    if output is not None:
        save(found, output, overwrite=force)
    if public is not None:
        save(found, public, overwrite=force, public=True)
    if picture is not None:
        from ..plotting._plot_places import plot_places
        from ..plotting.style import save_figure

        save_figure(plot_places(known).figure, picture, overwrite=force)
        named.append(picture)
    silent = Mechanism([[1.0]] * len(made), made.labels, ["none"])
    told = {
        "places": len(made),
        "expected_distance": made.expected_loss(found),
        "error_of_best_attack": made.error(found),
        "error_without_report": made.error(silent, known),
    }
    if as_json:
        print_json({**design_json(found, audit=plain(report.summary())), **told})
    else:
        print_design(found, report)
        say(
            f"{made!r}: the report is {told['expected_distance']:.6g} m off on average, the best "
            f"attack {told['error_of_best_attack']:.6g} m "
            f"({told['error_without_report']:.6g} m without a report)."
        )
    for path in named:
        note(f"saved {path}")


def _places(
    bounds: str | None,
    cells: str | None,
    side: float | None,
    points: Path | None,
    roads: Path | None,
    reach: float | None,
    columns: tuple[str, str],
    form: TextForm,
) -> Places:
    from ..places import from_frame, from_roads, grid

    if (bounds is None) == (points is None):
        refuse(
            "places",
            "either --bounds of a grid or --points, a list of places",
            "neither" if bounds is None else "both",
            "write for example --bounds 59.29,17.97,59.37,18.15 --cells 6",
        )
    if points is not None:
        if cells is not None or side is not None:
            refuse("--cells and --side", "--bounds with them", "--points", "leave them out")
        if roads is not None:
            tables = form.opened(points), form.opened(roads)
            return from_roads(*tables, columns=columns, reach=reach)
        return from_frame(form.opened(points), columns=columns, reach=reach)
    for option, given in (("--reach", reach), ("--roads", roads)):
        if given is not None:
            refuse(option, "--points with it", "--bounds", "leave it out")
    assert bounds is not None
    shape = None if cells is None else read_cells(cells, "--cells")
    return grid(read_bounds(bounds, "--bounds"), shape, side=side)

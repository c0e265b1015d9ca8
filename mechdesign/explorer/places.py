"""Places of a map on the page: what is asked for, the best reports of it, and their pictures.

Nothing here knows of the page. Maps are drawn from the numbers alone, without tiles of a network.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import mechdesign as md

from ..arguments import read_bounds, read_cells, read_nats
from ..errors import InputError
from ..solve import matrix_design
from ..views.html import escape, number
from .settings import message, parse_number

#: Places that the page designs for; more take longer than a visitor waits.
MOST_PLACES = 100
#: What a file of the visitor may hold.
HOLDS = {"visits": "Visits, which give the prior", "places": "The places, in place of a grid"}
# Colours of no and of the largest probability, and the size of a picture.
_PALE, _DARK = (238, 243, 247), (0, 74, 117)
_WIDTH, _TALLEST, _DOT = 460.0, 460.0, 7.0


@dataclass(frozen=True)
class MapSettings:
    """What a visitor writes of a map; texts are read when a design is asked for.

    Attributes
    ----------
    bounds, cells : of a grid: south, west, north and east in degrees; ``6`` or ``4x6``
    level : nats between places ``within`` metres apart, such as ``ln 2``
    within : metres
    file : CSV file with the columns latitude and longitude, optional
    holds : what it holds, one of :data:`HOLDS`
    """

    bounds: str = "59.29,17.97,59.37,18.15"
    cells: str = "6x6"
    level: str = "ln 2"
    within: str = "1000"
    file: str | None = None
    holds: str = "visits"


@dataclass(frozen=True, eq=False)
class MapResult:
    """The best reports about some places, as plain numbers.

    Attributes
    ----------
    names : of the places, their coordinates
    kernel : ``(N, N)`` probability of each report, a place, from each place
    prior : ``(N,)`` their masses
    cells : ``(N, 4)`` left, lower, right and upper end in metres; of a list of places its points
    is_grid : whether they are cells
    losses : metres that a report is off on average, by mechanism; the first is the optimum
    attack : metres that the best attack is off on average, and without any report
    level, within, verdict, gap : what is kept, whether it is proved, how far the bound may be off
    """

    names: tuple[str, ...]
    kernel: Any
    prior: Any
    cells: Any
    is_grid: bool
    losses: tuple[tuple[str, float], ...]
    attack: tuple[float, float]
    level: float
    within: float
    verdict: str
    gap: str


def design_map(asked: MapSettings) -> MapResult | str:
    """The best reports, or the message of an error, which another process can return."""
    try:
        return _design(asked)
    except md.MechdesignError as problem:
        return message(problem)


def _design(asked: MapSettings) -> MapResult:
    from ..plotting import customary_losses

    level = read_nats(asked.level, "level of places")
    within = parse_number(asked.within, "metres that the level is for")
    if asked.file is not None and asked.holds == "places":
        places = md.places.from_csv(asked.file)
    else:
        bounds = read_bounds(asked.bounds, "bounds of places")
        places = md.places.grid(bounds, read_cells(asked.cells, "cells of places"))
    if len(places) > MOST_PLACES:
        raise InputError(
            "places of the page",
            expected=f"at most {MOST_PLACES}",
            got=f"{len(places)}",
            remedy="take larger cells, or use 'mechdesign places' and md.places.two_levels",
        )
    visits = asked.file if asked.holds == "visits" else None
    known = places.uniform() if visits is None else places.prior(visits, added=1)
    found = matrix_design(known, places.loss(), places.privacy(level, within))
    silent = md.Mechanism([[1.0]] * len(places), places.labels, ["none"])
    # East, then north.
    plane = places.plane[:, ::-1]
    half = np.array(places.step)[::-1] / 2 if places.shape is not None else np.zeros(2)
    return MapResult(
        tuple(f"{lat:.6g}, {lon:.6g}" for lat, lon in places.coordinates.tolist()),
        found.mechanism.kernel,
        known.probabilities,
        np.hstack([plane - half, plane + half]),
        places.shape is not None,
        (("optimum", -found.value), *customary_losses(places, known, level, within)),
        (places.error(found), places.error(silent, known)),
        level,
        within,
        str(found.certificate.checks[0].verdict),
        number(found.gap, 2) if found.certificate.gap_is_known else "unknown",
    )


def map_summary(result: MapResult) -> str:
    """What was found in a sentence."""
    attack, before = result.attack
    return (
        f"{len(result.names)} places. A report is {result.losses[0][1]:.5g} m off on average; the "
        f"best attack on it {attack:.5g} m, without a report {before:.5g} m. Level "
        f"{number(result.level)} within {result.within:g} m, checked exactly: {result.verdict}; "
        f"gap {result.gap}."
    )


def losses_table(result: MapResult) -> str:
    """Metres that reports are off on average under each mechanism."""
    best = result.losses[0][1]
    rows = "".join(
        f'<tr><th scope="row">{escape(name)}</th><td>{loss:.5g}</td>'
        f"<td>{f'{loss / best:.3g}' if best > 0 else '–'}</td></tr>"
        for name, loss in result.losses
    )
    return (
        '<table class="losses"><caption class="unseen">Expected distance of the report from the '
        'place</caption><thead><tr><th scope="col">mechanism</th><th scope="col">metres off</th>'
        f'<th scope="col">of the optimum</th></tr></thead><tbody>{rows}</tbody></table>'
    )


def map_picture(result: MapResult, place: int | None) -> str:
    """The reports of one place on a map, or the prior for ``None``, as SVG."""
    values = result.prior if place is None else result.kernel[place]
    size = result.cells[:, 2:].max(axis=0) - result.cells[:, :2].min(axis=0)
    low = result.cells[:, :2].min(axis=0)
    margin = 0.0 if result.is_grid else 2 * _DOT
    scale = min(_WIDTH / max(size[0], 1e-9), _TALLEST / max(size[1], 1e-9))
    width, height = size * scale + 2 * margin
    ends = (result.cells - np.tile(low, 2)) * scale + margin
    parts = []
    for name, value, (left, lower, right, upper) in zip(
        result.names, values.tolist(), ends.tolist(), strict=True
    ):
        title = f"<title>{escape(name)}: {value:.4g}</title>"
        look = f'fill="{_colour(value / max(values.max(), 1e-300))}"'
        if result.is_grid:
            box = f'x="{left:.2f}" y="{height - upper:.2f}"'
            sides = f'width="{right - left:.2f}" height="{upper - lower:.2f}"'
            parts.append(f"<rect {box} {sides} {look}>{title}</rect>")
        else:
            at = f'cx="{left:.2f}" cy="{height - lower:.2f}" r="{_DOT:g}"'
            parts.append(f"<circle {at} {look}>{title}</circle>")
    if place is not None:
        left, lower, right, upper = ends[place]
        middle = f'cx="{(left + right) / 2:.2f}" cy="{height - (lower + upper) / 2:.2f}"'
        parts.append(f'<circle {middle} r="4" fill="none" stroke="#b34a00" stroke-width="2.5"/>')
    of = "Prior" if place is None else f"Reports of somebody at {result.names[place]}"
    most = int(values.argmax())
    label = f"{of}: {values[most]:.3g} at most, at {result.names[most]}"
    return (
        f'<svg class="map" role="img" aria-label="{escape(label)}" viewBox="0 0 {width:.2f} '
        f'{height:.2f}" width="{width:.0f}">{"".join(parts)}</svg>'
    )


def _colour(share: float) -> str:
    """Between pale and dark, by the square root so that small shares are seen."""
    part = share**0.5
    mixed = (round(a + part * (b - a)) for a, b in zip(_PALE, _DARK, strict=True))
    return "#" + "".join(f"{value:02x}" for value in mixed)

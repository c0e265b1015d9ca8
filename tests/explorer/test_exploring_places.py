"""Places on the page: what is shown is what the library designs, and what is refused is told."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from checks import for_each

import mechdesign as md
from mechdesign.explorer.places import (
    MapSettings,
    design_map,
    losses_table,
    map_picture,
    map_summary,
)

SMALL = MapSettings(cells="3x4", level="ln 2", within="2000")
TOWN = md.places.grid((59.29, 17.97, 59.37, 18.15), (3, 4))


@pytest.fixture
def visits(tmp_path):
    path = tmp_path / "visits.csv"
    path.write_text("latitude,longitude\n59.30,17.98\n59.36,18.14\n59.36,18.14\n")
    return path


def test_a_map_is_designed_as_the_library_does(visits):
    asked = MapSettings(cells="3x4", level="ln2", within="2000", file=str(visits))
    known = TOWN.prior(str(visits), added=1)
    found = design_map(asked)
    direct = md.design(known, TOWN.loss(), TOWN.privacy(md.ratio(2), 2000))
    np.testing.assert_array_equal(found.prior, known.probabilities)
    np.testing.assert_array_equal(found.kernel, direct.mechanism.kernel)
    losses = dict(found.losses)
    assert losses["optimum"] == pytest.approx(TOWN.expected_loss(direct))
    assert losses["exponential"] > losses["optimum"]
    noisy = md.noise.planar_laplace(TOWN, math.log(2), 2000)
    assert losses["planar Laplace"] == pytest.approx(TOWN.expected_loss(noisy, known))
    assert min(losses.values()) == losses["optimum"]
    assert found.attack[0] == pytest.approx(TOWN.error(direct))
    assert found.attack[0] < found.attack[1]
    assert "checked exactly: yes" in map_summary(found)
    assert losses_table(found).count("<tr>") == 1 + len(losses)


def test_a_picture_shows_each_report_where_it_is():
    found = design_map(SMALL)
    rects = re.findall(
        r'<rect x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" height="([\d.]+)" fill="(#\w+)"'
        r"><title>([^:]+): ([^<]+)</title>",
        map_picture(found, 0),
    )
    assert len(rects) == 12
    place = {f"{lat:.6g}, {lon:.6g}": i for i, (lat, lon) in enumerate(TOWN.coordinates.tolist())}
    left, top = ({} for _ in range(2))
    for x, y, _, _, _, name, value in rects:
        assert float(value) == pytest.approx(found.kernel[0, place[name]], rel=1e-3)
        left[place[name]], top[place[name]] = float(x), float(y)
    # East is to the right, north is up.
    for a in range(12):
        for b in range(12):
            (lat, lon), (other_lat, other_lon) = TOWN.coordinates[[a, b]].tolist()
            assert (left[a] < left[b]) == (lon < other_lon)
            assert (top[a] > top[b]) == (lat < other_lat)
    # The darkest is the likeliest.
    darkness = [int(colour[1:3], 16) for *_, colour, _, _ in rects]
    assert np.argmin(darkness) == np.argmax([float(value) for *_, value in rects])
    assert 'aria-label="Prior: 0.0833 at most' in map_picture(found, None)


def test_places_may_come_from_a_file(tmp_path):
    path = tmp_path / "places.csv"
    path.write_text("latitude,longitude\n59.30,18.00\n59.31,18.05\n59.35,18.02\n")
    found = design_map(MapSettings(file=str(path), holds="places", within="3000"))
    assert len(found.names) == 3
    assert [name for name, _ in found.losses] == ["optimum", "exponential", "exponential, remapped"]
    assert map_picture(found, 1).count("<circle") == 3 + 1


@for_each(
    ("changed", "said"),
    [
        ({"level": "much"}, "level of places"),
        ({"level": "nan"}, "level"),
        ({"within": "far"}, "metres"),
        ({"within": "-5"}, "within"),
        ({"bounds": "1,2,3"}, "bounds"),
        ({"bounds": "a,b,c,d"}, "bounds of places"),
        ({"cells": "many"}, "cells of places"),
        ({"cells": "11x10"}, "at most 100"),
        ({"file": "/nowhere.csv"}, "nowhere"),
    ],
)
def test_what_cannot_be_used_is_told_in_a_line(changed, said):
    found = design_map(MapSettings(**changed))
    assert isinstance(found, str)
    assert said in found
    assert "\n" not in found

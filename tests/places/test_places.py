"""Places: distances on the ground, points snapped to cells, and designs that carry them."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from checks import for_each

import mechdesign as md
from mechdesign.errors import (
    DataError,
    InputError,
    KernelError,
    LevelError,
    OutsideWarning,
    PriorError,
    StorageError,
    UnknownNameError,
    UtilityError,
    ZeroMassWarning,
)
from mechdesign.place_sets import MISSING, OUTSIDE, PlaceSet, great_circle

BOUNDS = (59.29, 17.97, 59.37, 18.15)
TOWN = md.places.grid(BOUNDS, cells=(3, 4))


def city(people, seed=0):
    """Visits around two centres, all within the bounds."""
    rng = np.random.default_rng(seed)
    centres = np.array([[59.315, 18.03], [59.345, 18.09]])
    points = centres[rng.integers(0, 2, people)] + rng.normal(0, 0.006, (people, 2)) * [1, 2]
    return np.clip(points, [59.291, 17.971], [59.369, 18.149])


VISITS = city(300)
PRIOR = TOWN.prior(VISITS, added=1)


@pytest.fixture(scope="module")
def found():
    return md.design(PRIOR, TOWN.loss(), TOWN.privacy(math.log(2), within=500))


# Distances


def ground(a, b):
    """The spherical law of cosines, in another form than the package's."""
    p, q = np.radians(a), np.radians(b)
    cosine = np.sin(p[0]) * np.sin(q[0]) + np.cos(p[0]) * np.cos(q[0]) * np.cos(p[1] - q[1])
    return 6_371_008.8 * math.acos(min(1.0, cosine))


GRIDS = {
    "cells": TOWN,
    "squares": md.places.grid(BOUNDS, side=2000),
    "one row": md.places.grid(BOUNDS, cells=(1, 7)),
    "south": md.places.grid((-34.2, 150.5, -33.5, 151.4), cells=4),
    "equator": md.places.grid((-3.0, -2.0, 3.0, 2.0), cells=(4, 3)),
    "far north": md.places.grid((69.0, 18.0, 70.0, 20.0), cells=(5, 5)),
}


@for_each("name", GRIDS)
def test_distances_of_a_grid_are_never_more_than_on_the_ground(name):
    """Longer ones would hide less than what is said."""
    places = GRIDS[name]
    n = len(places)
    true = np.array([[ground(a, b) for b in places.labels] for a in places.labels])
    # Labels are rounded to 10⁻⁶ degrees, about 0.1 m.
    assert (places.distances <= true + 0.25).all()
    off = ~np.eye(n, dtype=bool)
    assert (places.distances[off] >= 0.9 * true[off]).all()
    assert (places.distances == places.distances.T).all()
    assert (places.distances * 1024 == np.floor(places.distances * 1024)).all()
    # No detour is shorter than the direct way, up to rounding down.
    detours = (places.distances[:, :, None] + places.distances[None, :, :]).min(axis=1)
    assert (places.distances <= detours + 2 / 1024).all()


@pytest.mark.parametrize("name", ["cells", "squares", "far north"])
def test_a_cell_half_way_lies_between_in_exact_numbers(name):
    """So that constraints between far cells follow from those of near ones."""
    places = GRIDS[name]
    rows, columns = places.shape
    d = places.distances
    for i in range(rows * columns):
        for j in range(rows * columns):
            (a, b), (c, e) = divmod(i, columns), divmod(j, columns)
            if i != j and (a + c) % 2 == 0 and (b + e) % 2 == 0:
                z = (a + c) // 2 * columns + (b + e) // 2
                assert d[i, z] + d[z, j] <= d[i, j]


def test_squares_are_alike_in_both_directions():
    places = GRIDS["squares"]
    columns = places.shape[1]
    assert places.step[0] == places.step[1]
    assert places.distances[0, 1] == places.distances[0, columns]
    assert places.distances[0, columns + 1] == places.distances[1, columns]
    south, west, north, east = places.bounds
    assert (south, west) == BOUNDS[:2]
    assert north >= BOUNDS[2]
    assert east >= BOUNDS[3]


def test_great_circles_against_another_formula():
    rng = np.random.default_rng(3)
    points = rng.uniform([-80, -180], [80, 180], (20, 2))
    true = [
        [ground(a, b) if i != j else 0.0 for j, b in enumerate(points)]
        for i, a in enumerate(points)
    ]
    assert great_circle(points) == pytest.approx(np.array(true), rel=1e-6, abs=0.5)


# Points


def test_places_around_the_date_line_lie_side_by_side():
    points = [(-17.0, 179.9), (-16.9, 179.95), (-17.0, -179.9), (-16.9, -179.95)]
    islands = md.places.from_frame(points)
    assert np.ptp(islands.plane, axis=0).max() < 25_000
    np.testing.assert_allclose(islands.chart[:, 1], [179.9, 179.95, 180.1, 180.05])
    apart = np.hypot(*(islands.plane[:, None] - islands.plane[None]).transpose(2, 0, 1))
    np.testing.assert_allclose(apart, islands.distances, rtol=1e-3)
    # Other points stay where maps have them.
    world = md.places.from_frame([(0.0, -100.0), (0.0, 0.0), (0.0, 70.0)])
    np.testing.assert_array_equal(world.chart, world.coordinates)


def test_points_belong_to_the_cell_that_they_lie_in():
    rng = np.random.default_rng(1)
    lat, lon = rng.uniform(59.28, 59.38, 2000), rng.uniform(17.95, 18.17, 2000)
    codes = TOWN.snap(lat, lon)
    for a, b, code in zip(lat, lon, codes, strict=True):
        inside = BOUNDS[0] <= a <= BOUNDS[2] and BOUNDS[1] <= b <= BOUNDS[3]
        row = int((a - BOUNDS[0]) / (BOUNDS[2] - BOUNDS[0]) * 3)
        column = int((b - BOUNDS[1]) / (BOUNDS[3] - BOUNDS[1]) * 4)
        assert code == (row * 4 + column if inside else OUTSIDE)
    assert 0 < (codes == OUTSIDE).sum() < 2000


def test_corners_belong_to_the_grid_and_strange_points_do_not():
    south, west, north, east = BOUNDS
    nan, inf = math.nan, math.inf
    lat = [south, north, north, nan, south, inf, 95.0, south - 1e-9]
    lon = [west, east, west, west, nan, west, west, west]
    expected = [0, 11, 8, MISSING, MISSING, OUTSIDE, OUTSIDE, OUTSIDE]
    assert TOWN.snap(lat, lon).tolist() == expected


def test_every_centre_belongs_to_its_own_place():
    for places in (*GRIDS.values(), md.places.from_frame(VISITS[:40])):
        assert places.snap(*places.coordinates.T).tolist() == list(range(len(places)))


def test_points_belong_to_the_nearest_of_listed_places():
    places = md.places.from_frame(VISITS[:30], reach=1500)
    lat, lon = city(200, seed=5).T
    codes = places.snap(lat, lon)
    for a, b, code in zip(lat, lon, codes, strict=True):
        apart = [ground((a, b), c) for c in places.labels]
        assert code == (int(np.argmin(apart)) if min(apart) <= 1500 else OUTSIDE)
    # The antimeridian is no edge.
    islands = md.places.from_frame([(0.0, 179.9), (0.0, -179.0)])
    assert islands.snap([0.0], [-179.95]).tolist() == [0]
    assert islands.distances[0, 1] == pytest.approx(ground((0, 179.9), (0, -179.0)), abs=1e-2)


def test_roads_are_walked_along_shortest_paths(tmp_path):
    nodes = {"a": (59.3, 18.0), "b": (59.31, 18.0), "c": (59.31, 18.02), "d": (59.3, 18.02)}
    edges = [("a", "b", 1200), ("b", "c", 1300.5), ("c", "d", 1250), ("a", "b", 5000)]
    roads = md.places.from_roads(nodes, edges, reach=400)
    assert roads.names == ("a", "b", "c", "d")
    assert roads.distances[0].tolist() == [0, 1200, 2500.5, 3750.5]
    assert roads.snap([59.3001, 59.305], [18.0, 18.01]).tolist() == [0, OUTSIDE]
    (tmp_path / "nodes.csv").write_text(
        "name,latitude,longitude\n" + "".join(f"{k},{a},{b}\n" for k, (a, b) in nodes.items())
    )
    (tmp_path / "roads.csv").write_text(
        "from,to,metres\n" + "".join(f"{a},{b},{d}\n" for a, b, d in edges)
    )
    read = md.places.from_roads(tmp_path / "nodes.csv", tmp_path / "roads.csv", reach=400)
    assert read == roads
    found = md.design(roads.uniform(), roads.loss(), roads.privacy(1.0, within=1000))
    assert found.gap <= 1e-6


# Priors


def test_shares_of_visits_are_counted_cell_by_cell(tmp_path):
    prior = TOWN.prior(VISITS, added=2)
    codes = TOWN.snap(*VISITS.T)
    assert [int(prior.mass(i) * (300 + 24)) for i in range(12)] == [
        int((codes == i).sum()) + 2 for i in range(12)
    ]
    frame = pd.DataFrame({"lat": VISITS[:, 0], "lon": VISITS[:, 1], "n": 3})
    named = TOWN.prior(frame, columns=("lat", "lon"), weights="n", added=6)
    assert named == prior
    assert named.schema.names == ("lat", "lon")
    frame.to_csv(tmp_path / "visits.csv", index=False)
    assert (
        TOWN.prior(tmp_path / "visits.csv", columns=("lat", "lon"), weights="n", added=6) == prior
    )
    assert md.places.of(prior) == TOWN


def test_visits_outside_are_refused_or_counted():
    visits = [*VISITS.tolist(), (10.0, 10.0), (59.3, 60.0)]
    with pytest.raises(DataError, match="2 of 302 outside, first in row 301"):
        TOWN.prior(visits)
    with pytest.warns(OutsideWarning, match="2 of 302"):
        assert TOWN.prior(visits, outside="drop", added=1) == PRIOR


def test_cells_without_visits_are_told_of():
    with pytest.warns(ZeroMassWarning):
        TOWN.prior([(59.3, 18.0)])


# Designs


def test_a_design_is_optimal_and_private_in_metres(found):
    assert found.gap <= 1e-6
    kernel = found.mechanism.kernel
    d = TOWN.distances
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(kernel)
        apart = np.nan_to_num(np.abs(logs[:, None] - logs[None, :]), nan=0.0).max(axis=2)
    assert (apart <= math.log(2) * d / 500 + 1e-9).all()
    # Somewhere all of it is used.
    off = ~np.eye(12, dtype=bool)
    assert (apart[off] / d[off]).max() == pytest.approx(math.log(2) / 500, rel=1e-5)
    loss = (PRIOR.probabilities[:, None] * kernel * d).sum()
    assert -found.value == pytest.approx(loss)
    assert TOWN.expected_loss(found) == pytest.approx(loss)


def test_no_kernel_of_a_naive_program_loses_less(found):
    from scipy.optimize import linprog

    n, d = 12, TOWN.distances
    rows, right = [], []
    for y in range(n):
        for i in range(n):
            for j in range(n):
                if i != j:
                    row = np.zeros((n, n))
                    row[i, y], row[j, y] = 1.0, -math.exp(math.log(2) * d[i, j] / 500)
                    rows.append(row.ravel())
                    right.append(0.0)
    sums = np.kron(np.eye(n), np.ones(n))
    cost = (PRIOR.probabilities[:, None] * d).ravel()
    best = linprog(cost, np.array(rows), right, sums, np.ones(n))
    assert -found.value == pytest.approx(best.fun, rel=1e-5)


def test_reports_may_be_names_of_cells():
    goal = TOWN.loss("squared", reports="cell")
    found = md.design(PRIOR, goal, TOWN.privacy(1.0, within=500))
    assert set(found.mechanism.outputs) <= set(TOWN.names)
    out = md.privatize(frame_of(VISITS), found, rng=1)
    assert set(out["latitude_longitude"]) <= set(TOWN.names)
    assert TOWN.expected_loss(found, kind="squared") == pytest.approx(-found.value)


def frame_of(points):
    return pd.DataFrame(
        {"who": range(len(points)), "latitude": points[:, 0], "longitude": points[:, 1]}
    )


def test_a_saved_design_knows_its_places(found, tmp_path):
    md.save(found, tmp_path / "a.json")
    again = md.load(tmp_path / "a.json")
    assert md.places.of(again) == TOWN
    assert again.mechanism == found.mechanism
    assert again.value == found.value
    md.save(found, tmp_path / "public.json", public=True)
    assert md.places.of(md.load(tmp_path / "public.json")) == TOWN


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('"cells": [\n', '"cells": [\n    7,\n'),
        ("17.97", "17.9"),
        ('"bounds"', '"bound"'),
    ],
    ids=["cells", "bounds", "name"],
)
def test_a_file_whose_places_were_altered_is_refused(found, tmp_path, before, after):
    """The kernel would be private for other places than those that points are snapped to."""
    import json

    from mechdesign.storage import seal

    md.save(found, tmp_path / "a.json")
    text = (tmp_path / "a.json").read_text(encoding="utf-8")
    assert before in text
    content = json.loads(text.replace(before, after))
    (tmp_path / "b.json").write_text(json.dumps(seal(content)), encoding="utf-8")
    with pytest.raises(StorageError):
        md.load(tmp_path / "b.json")


# Reports


def test_points_are_snapped_and_drawn_from_the_row_of_their_place(found):
    """The same words give the same reports for raw points and for the centres of their cells."""
    centres = TOWN.coordinates[TOWN.snap(*VISITS.T)]
    raw = md.privatize(frame_of(VISITS), found, row="who", key=b"k" * 32)
    tidy = md.privatize(frame_of(centres), found, row="who", key=b"k" * 32)
    assert raw.equals(tidy)
    assert set(map(tuple, raw[["latitude", "longitude"]].to_numpy())) <= set(TOWN.labels)
    assert raw["who"].tolist() == list(range(300))


def test_reports_follow_the_kernel(found):
    point = np.tile(VISITS[:1], (40_000, 1))
    out = md.privatize(frame_of(point), found, rng=7)
    row = found.mechanism.kernel[TOWN.snap(*VISITS[:1].T)[0]]
    pairs = list(map(tuple, out[["latitude", "longitude"]].to_numpy()))
    counts = np.array([pairs.count(y) for y in found.mechanism.outputs])
    z = (counts - 40_000 * row) / np.sqrt(np.maximum(40_000 * row, 1.0))
    assert np.abs(z).max() < 4.5
    other = found.mechanism.kernel[(TOWN.snap(*VISITS[:1].T)[0] + 1) % 12]
    assert np.abs((counts - 40_000 * other) / np.sqrt(np.maximum(40_000 * other, 1.0))).max() > 10


def test_other_columns_and_libraries(found):
    import polars as pl
    import pyarrow as pa

    named = TOWN.prior(VISITS, added=1)
    table = frame_of(VISITS).rename(columns={"latitude": "lat", "longitude": "lon"})
    asked = {"columns": ["lat", "lon"], "row": "who", "key": b"k" * 32}
    wanted = md.privatize(table, None, found, **asked)
    polars = md.privatize(pl.from_pandas(table), None, found, **asked).to_pandas()
    arrow = md.privatize(pa.Table.from_pandas(table), None, found, **asked).to_pandas()
    assert polars.equals(wanted)
    assert arrow.equals(wanted)
    assert named.schema == found.prior.schema


def test_files_and_their_policies(found, tmp_path):
    table = frame_of(VISITS[:50]).astype({"latitude": object})
    table.loc[3, "latitude"] = None
    table.to_csv(tmp_path / "p.csv", index=False)
    with pytest.raises(DataError, match="no missing values, got 1 in the 50 rows read"):
        md.privatize_file(tmp_path / "p.csv", tmp_path / "r.csv", None, found, ledger=False)
    md.privatize_file(
        tmp_path / "p.csv", tmp_path / "r.csv", None, found, ledger=False, missing="keep"
    )
    read = pd.read_csv(tmp_path / "r.csv")
    assert read["latitude"].isna().tolist() == [i == 3 for i in range(50)]
    assert set(map(tuple, read.dropna()[["latitude", "longitude"]].to_numpy())) <= set(TOWN.labels)


def test_points_outside_are_refused_without_a_word_of_where(found):
    table = frame_of(np.vstack([VISITS[:5], [[48.85661, 2.35222]]]))
    with pytest.raises(
        DataError, match=r"points outside in 1 of the .* rows read, first in row 6"
    ) as refused:
        md.privatize(table, found)
    assert "48.8" not in str(refused.value)
    assert "2.35" not in str(refused.value)
    out = md.privatize(table, found, unseen="null", rng=1)
    assert out["latitude"].isna().tolist() == [False] * 5 + [True]
    moved = md.privatize(table, found, unseen="replace", replacement=TOWN.labels[0], rng=1)
    assert not moved["latitude"].isna().any()


def test_text_is_no_coordinate(found):
    table = frame_of(VISITS[:3]).astype({"longitude": object})
    table.loc[1, "longitude"] = "eighteen"
    with pytest.raises(DataError, match="coordinates in degrees") as refused:
        md.privatize(table, found)
    assert "eighteen" not in str(refused.value)


def test_places_are_not_exported_to_devices_that_cannot_snap(found, tmp_path):
    with pytest.raises(KernelError, match="snapped"):
        md.export(found, tmp_path / "a.mjs", to="javascript")
    assert not list(tmp_path.iterdir())


def test_a_density_is_estimated_from_reports():
    """Noise that tells all places apart; with reports of another kernel it fails."""
    noisy = md.noise.planar_geometric(TOWN, 0.6, within=1000)
    people = city(60_000, seed=11)
    out = md.privatize(frame_of(people), noisy, rng=5)
    found = md.estimate(out, noisy)
    true = np.bincount(TOWN.snap(*people.T), minlength=12) / len(people)
    errors = found.errors
    assert (np.abs(found.values - true) < 5 * errors).all()
    assert errors.max() < 0.02
    raw = np.bincount(TOWN.snap(*out[["latitude", "longitude"]].to_numpy().T), minlength=12)
    assert np.abs(raw / len(people) - true).max() > 5 * errors.max()


# Remapping


def test_a_remapped_kernel_loses_no_more_and_hides_as_much():
    noisy = md.noise.planar_laplace(TOWN, 1.0, within=1000)
    better = TOWN.remap(noisy, PRIOR)
    joint = noisy.joint(PRIOR)
    by_hand = sum((joint[:, y] @ TOWN.distances).min() for y in range(joint.shape[1]))
    assert TOWN.expected_loss(better, PRIOR) == pytest.approx(by_hand)
    assert by_hand < TOWN.expected_loss(noisy, PRIOR) - 1
    notion = TOWN.privacy(1.0, within=1000)
    before, after = (notion.check(m, PRIOR).achieved[0] for m in (noisy, better))
    assert after <= before
    # Remapping again changes nothing.
    assert TOWN.remap(better, PRIOR) == better
    assert md.audit(better, PRIOR, notion).verdict is md.Verdict.YES


def test_remapping_by_the_wrong_loss_is_worse():
    """A control: the guess must be that of the loss."""
    noisy = md.noise.planar_laplace(TOWN, 0.5, within=1000)
    right = TOWN.expected_loss(TOWN.remap(noisy, PRIOR, kind="squared"), PRIOR, "squared")
    wrong = TOWN.expected_loss(TOWN.remap(noisy, PRIOR), PRIOR, "squared")
    assert right < wrong


def test_remapping_an_optimum_changes_nothing(found):
    assert TOWN.expected_loss(TOWN.remap(found), PRIOR) == pytest.approx(-found.value, rel=1e-6)


def test_the_best_attack_is_the_error_of_the_remapped_kernel(found):
    noisy = md.noise.exponential(TOWN, 1.0, within=1000)
    assert TOWN.error(noisy, PRIOR) == pytest.approx(
        TOWN.expected_loss(TOWN.remap(noisy, PRIOR), PRIOR)
    )
    silent = md.Mechanism(np.ones((12, 1)), TOWN.labels, ["nothing"])
    before = (PRIOR.probabilities[:, None] * TOWN.distances).sum(axis=0).min()
    assert TOWN.error(silent, PRIOR) == pytest.approx(before)


def test_an_attack_may_be_limited_beside_the_metric():
    notion = TOWN.hidden(PRIOR, 1500.0)
    found = md.design(PRIOR, TOWN.loss(), [notion, TOWN.privacy(2.0, within=1000)])
    assert found.gap <= 1e-6
    assert TOWN.error(found) >= 1500.0 * (1 - 1e-12)
    alone = md.design(PRIOR, TOWN.loss(), TOWN.privacy(2.0, within=1000))
    assert TOWN.error(alone) < 1500.0


# What cannot be used

WRONG = {
    "bounds": (lambda: md.places.grid((1, 2, 3), 2), InputError, "south, west, north"),
    "upside down": (lambda: md.places.grid((60, 17, 59, 18), 2), InputError, "south before north"),
    "nan": (lambda: md.places.grid((math.nan, 17, 59, 18), 2), InputError, "finite"),
    "no cells": (lambda: md.places.grid(BOUNDS), InputError, "neither"),
    "both": (lambda: md.places.grid(BOUNDS, 2, side=5), InputError, "both"),
    "one cell": (lambda: md.places.grid(BOUNDS, 1), InputError, "2 to 10,000"),
    "many cells": (lambda: md.places.grid(BOUNDS, 1000), InputError, "10,000"),
    "text cells": (lambda: md.places.grid(BOUNDS, "many"), InputError, "rows and columns"),
    "tiny side": (lambda: md.places.grid(BOUNDS, side=0), InputError, "side"),
    "twice": (lambda: md.places.from_frame([(1.0, 2.0), (1.0, 2.0)]), InputError, "distinct"),
    "close": (lambda: md.places.from_frame([(1.0, 2.0), (1.0, 2.0 + 1e-10)]), InputError, "1 mm"),
    "blank": (lambda: md.places.from_frame([(1.0, 2.0), (math.nan, 2.0)]), DataError, "missing"),
    "pole": (lambda: md.places.from_frame([(1.0, 2.0), (91.0, 2.0)]), InputError, "latitude"),
    "unknown end": (
        lambda: md.places.from_roads({"a": (1, 2), "b": (1, 3)}, [("a", "x", 5)]),
        UnknownNameError,
        "crossing",
    ),
    "two parts": (
        lambda: md.places.from_roads({"a": (1, 2), "b": (1, 3), "c": (1, 4)}, [("a", "b", 5)]),
        InputError,
        "some path joins",
    ),
    "no length": (
        lambda: md.places.from_roads({"a": (1, 2), "b": (1, 3)}, [("a", "b", -5)]),
        InputError,
        "length of an edge",
    ),
    "no way": (
        lambda: md.places.from_roads({"a": (1, 2), "b": (1, 3)}, [("a", "b", 5), ("b", "b", 5)]),
        InputError,
        "from 'b' to itself",
    ),
    "policy": (lambda: TOWN.prior(VISITS, outside="skip"), UnknownNameError, "outside"),
    "columns": (lambda: TOWN.prior(VISITS, columns=("a",)), InputError, "two names"),
    "no table": (lambda: TOWN.prior("/nowhere.csv"), DataError, "existing file"),
    "within": (lambda: TOWN.privacy(1.0, within=0), LevelError, "within"),
    "level": (lambda: TOWN.privacy(math.nan, within=5), LevelError, "level"),
    "kind": (lambda: TOWN.loss("miles"), UnknownNameError, "metres"),
    "reports": (lambda: TOWN.loss(reports="dots"), UnknownNameError, "cell"),
    "error": (lambda: TOWN.hidden(PRIOR, 1e9), LevelError, "without a report"),
    "of": (lambda: md.places.of(md.Prior.uniform(2)), InputError, "over places"),
    "other prior": (
        lambda: TOWN.error(md.Mechanism(np.eye(2)), md.Prior.uniform(2)),
        InputError,
        "prior",
    ),
    "other places": (
        lambda: md.design(md.Prior.uniform(2), TOWN.loss(), md.LDP(1)),
        UtilityError,
        "prior",
    ),
    "other labels": (
        lambda: md.Prior.uniform([(1, 2), (3, 4)]).with_schema(PRIOR.schema),
        PriorError,
        "coordinates",
    ),
}


@for_each("name", WRONG)
def test_what_cannot_be_used_is_refused_in_one_line(name):
    make, error, match = WRONG[name]
    with pytest.raises(error, match=match) as refused:
        make()
    assert "\n" not in str(refused.value)


def test_places_read_back_are_the_same():
    for places in (*GRIDS.values(), md.places.from_frame(VISITS[:9], reach=math.inf)):
        again = PlaceSet.from_json(places.to_json())
        assert again == places
        assert (again.distances == places.distances).all()
        assert again != GRIDS["cells"] or places is TOWN

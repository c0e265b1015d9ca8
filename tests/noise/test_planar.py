"""Noise on a map: integrals against simulation, sums against loops, levels by the exact audit."""

from __future__ import annotations

import math

import numpy as np
import pytest
from checks import for_each

import mechdesign as md
from mechdesign.errors import LevelError

BOUNDS = (59.29, 17.97, 59.37, 18.15)
GRIDS = {
    "4×5": md.places.grid(BOUNDS, cells=(4, 5)),
    "one row": md.places.grid(BOUNDS, cells=(1, 6)),
    "one column": md.places.grid(BOUNDS, cells=(5, 1)),
    "squares": md.places.grid(BOUNDS, side=2500),
}
KERNELS = {
    "planar Laplace": md.noise.planar_laplace,
    "planar geometric": md.noise.planar_geometric,
    "exponential": md.noise.exponential,
}
LISTED = md.places.from_frame([(59.3, 18.0), (59.31, 18.05), (59.35, 18.02), (59.33, 18.1)])


@for_each("level", [0.1, math.log(2), 3.0])
@for_each("grid", GRIDS)
@for_each("name", KERNELS)
def test_the_exact_audit_agrees_with_the_level(name, grid, level):
    places = GRIDS[grid]
    kernel = KERNELS[name](places, level, within=1500)
    notion = places.privacy(level, within=1500)
    check = notion.check(kernel, places.uniform())
    assert check.verdict is md.Verdict.YES
    assert check.achieved[0] <= level
    # A control: noise for a level a little larger is refused.
    if name == "planar geometric" and grid == "4×5":
        loud = KERNELS[name](places, 1.001 * level, within=1500)
        assert notion.check(loud, places.uniform()).verdict is md.Verdict.NO


@for_each("level", [1e-5, 1e-4, 1e-3])
@for_each("grid", GRIDS)
def test_noise_that_is_far_longer_than_the_grid_keeps_its_level(grid, level):
    places = GRIDS[grid]
    kernel = md.noise.planar_laplace(places, level, within=1500)
    achieved = md.places.metric_level(kernel, places, within=1500)[0]
    # A kernel that reports nothing would keep it too.
    assert 0.05 * level < achieved <= level


@pytest.mark.parametrize("name", KERNELS)
def test_levels_near_the_rounding_are_kept(name):
    squares = md.places.grid(BOUNDS, cells=(4, 5))
    for level in (1e-9, 1e-12, 1e-15):
        if name == "planar geometric":
            with pytest.raises(LevelError, match="a few thousand cells"):
                KERNELS[name](squares, level, within=1500)
            continue
        kernel = KERNELS[name](squares, level, within=1500)
        assert md.places.metric_level(kernel, squares, within=1500)[0] <= level


@for_each("level", [1e-4, 1e-2, 1.0])
@for_each("far", [False, True])
def test_strips_of_planar_laplace_noise_against_angles(level, far):
    """The strip north of the grid, a column wide, by the mass of every direction."""
    from scipy.integrate import quad

    places = GRIDS["4×5"]
    h, w = places.step
    rate = level / 1500
    x, y = (0 * 5 + 2, 3 * 5 + 2) if not far else (0 * 5 + 1, 3 * 5 + 3)
    low, left, right = (2.5 * h, -0.5 * w, 0.5 * w) if not far else (2.5 * h, 1.5 * w, 2.5 * w)

    def across(u):
        # ∫ from low of e^(−r), along the strip at u metres to its side.
        inner, _ = quad(
            lambda t: rate * math.exp(-rate * math.hypot(low + t / rate, u)),
            0.0,
            60.0,
            points=[2 * rate * h, 0.01, 0.1, 1.0, 5.0],
            epsabs=0,
            epsrel=1e-10,
            limit=500,
        )
        return inner / (2 * math.pi)

    mass, _ = quad(across, left, right, epsabs=0, epsrel=1e-9)
    found = md.noise.planar_laplace(places, level, within=1500).kernel[x, y]
    # All entries get a part of 2⁻²⁰ alike where some are small.
    assert found == pytest.approx(mass, rel=2e-6, abs=2.0**-20 / 20)


def simulated(places, level, within, x, people, seed):
    """Cells of planar Laplace noise: the radius is Gamma(2), the angle uniform."""
    rng = np.random.default_rng(seed)
    radius, angle = rng.gamma(2.0, within / level, people), rng.uniform(0, 2 * np.pi, people)
    rows, columns = places.shape
    i, j = divmod(x, columns)
    a = np.clip(np.floor(i + 0.5 + radius * np.sin(angle) / places.step[0]), 0, rows - 1)
    b = np.clip(np.floor(j + 0.5 + radius * np.cos(angle) / places.step[1]), 0, columns - 1)
    return np.bincount((a * columns + b).astype(int), minlength=len(places))


@for_each("grid", GRIDS)
@for_each("level", [0.3, 1.5])
def test_planar_laplace_noise_falls_where_simulated_noise_falls(grid, level):
    places, people = GRIDS[grid], 400_000
    kernel = md.noise.planar_laplace(places, level, within=1500).kernel
    for x in (0, len(places) // 2, len(places) - 1):
        counts = simulated(places, level, 1500, x, people, seed=x)
        expected = people * kernel[x]
        assert (np.abs(counts - expected) <= 5 * np.sqrt(expected + 1) + 1).all()
    # A control: noise that is 5 % shorter is told apart.
    counts = simulated(places, 1.05 * level, 1500, len(places) // 2, people, seed=9)
    expected = people * kernel[len(places) // 2]
    assert (np.abs(counts - expected) > 5 * np.sqrt(expected + 1) + 1).any()


def test_planar_laplace_noise_against_adaptive_quadrature():
    from scipy.integrate import dblquad

    places = GRIDS["4×5"]
    rate = 1.0 / 1500
    h, w = places.step
    kernel = md.noise.planar_laplace(places, 1.0, within=1500).kernel
    x = 1 * 5 + 2
    for y, (a, b) in ((1 * 5 + 3, (0, 1)), (2 * 5 + 1, (1, -1)), (1 * 5 + 2, (0, 0))):
        mass, _ = dblquad(
            lambda u, v: rate**2 / (2 * math.pi) * math.exp(-rate * math.hypot(u, v)),
            (a - 0.5) * h,
            (a + 0.5) * h,
            (b - 0.5) * w,
            (b + 0.5) * w,
            epsabs=1e-10,
        )
        assert kernel[x, y] == pytest.approx(mass, abs=2e-6)


@pytest.mark.parametrize("grid", ["4×5", "one row"])
def test_planar_geometric_noise_against_a_loop(grid):
    places = GRIDS[grid]
    rows, columns = places.shape
    h, w = places.step
    rate, far = 1.0 / 1500, 40
    kernel = md.noise.planar_geometric(places, 1.0, within=1500).kernel
    masses = {
        (a, b): math.exp(-rate * math.hypot(a * h, b * w))
        for a in range(-far, far + 1)
        for b in range(-far, far + 1)
    }
    total = sum(masses.values())
    for x in range(len(places)):
        found = np.zeros(len(places))
        i, j = divmod(x, columns)
        for (a, b), mass in masses.items():
            k = min(max(i + a, 0), rows - 1)
            m = min(max(j + b, 0), columns - 1)
            found[k * columns + m] += mass / total
        assert kernel[x] == pytest.approx(found, abs=2e-6)


def test_the_exponential_mechanism_takes_any_places():
    kernel = md.noise.exponential(LISTED, 1.0, within=1000).kernel
    weights = np.exp(-LISTED.distances / 2000)
    assert kernel == pytest.approx(weights / weights.sum(axis=1, keepdims=True), abs=2e-6)
    for name in ("planar Laplace", "planar geometric"):
        with pytest.raises(LevelError, match="cells of a grid"):
            KERNELS[name](LISTED, 1.0, within=1000)


def test_an_optimum_loses_less_than_every_kernel_of_its_level():
    places = GRIDS["4×5"]
    rng = np.random.default_rng(4)
    prior = places.prior(
        rng.normal([59.33, 18.06], [0.01, 0.02], (200, 2)), added=1, outside="drop"
    )
    notion = places.privacy(1.0, within=1500)
    best = md.design(prior, places.loss(), notion)
    for make in KERNELS.values():
        noisy = make(places, 1.0, within=1500)
        remapped = places.remap(noisy, prior)
        losses = [places.expected_loss(m, prior) for m in (noisy, remapped)]
        assert -best.bound <= losses[1] < losses[0]
        assert md.certify(noisy, prior, places.loss(), notion).value == pytest.approx(-losses[0])


@for_each("name", KERNELS)
@for_each(
    ("level", "within"),
    [
        (0.0, 100),
        (-1.0, 100),
        (math.inf, 100),
        (math.nan, 100),
        (1.0, 0),
        (1.0, math.nan),
        ("a", 1),
    ],
)
def test_levels_without_a_meaning_are_refused(name, level, within):
    with pytest.raises(LevelError):
        KERNELS[name](GRIDS["4×5"], level, within=within)


def test_places_are_asked_for():
    for make in KERNELS.values():
        with pytest.raises(LevelError, match="places"):
            make([1, 2], 1.0, within=100)

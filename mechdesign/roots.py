"""One search for roots between two points, of many functions at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]

# Steps after which a bracket is narrowed no further; bisection alone takes 52.
_STEPS = 80


def crossings(
    function: Callable[[Vector, NDArray[np.intp]], Vector],
    inside: Vector,
    outside: Vector,
    tolerance: float = 1e-9,
) -> Vector:
    """Where each of K functions leaves what is at least zero, from inside to outside.

    Inverse quadratic interpolation where that is safe, else bisection [Chandrupatla1997]. The
    functions need not be continuous: what comes back lies within the tolerance of a place where the
    sign changes.

    Parameters
    ----------
    function : values at points ``(J,)`` of the functions at positions ``(J,)``
    inside, outside : ``(K,)`` points; a function that is not below zero outside has that as its end
    tolerance : of a root, relative to the distance of the two points
    """
    a, b = outside.astype(float), inside.astype(float)
    places = np.arange(len(a))
    fa, fb = function(a, places), function(b, places)
    found = np.where(fa >= 0, a, b)
    places = np.flatnonzero((fa < 0) & (fb >= 0) & (a != b))
    a, b, fa, fb = a[places], b[places], fa[places], fb[places]
    width = np.abs(b - a)
    t = np.full(len(places), 0.5)
    for _ in range(_STEPS):
        if not places.size:
            break
        x = a + t * (b - a)
        fx = function(x, places)
        same = np.sign(fx) == np.sign(fa)
        c, fc = np.where(same, a, b), np.where(same, fa, fb)
        b, fb = np.where(same, b, a), np.where(same, fb, fa)
        a, fa = x, fx
        near = np.abs(fa) < np.abs(fb)
        best = np.where(near, a, b)
        limit = tolerance * width / np.maximum(np.abs(b - a), np.finfo(float).tiny)
        done = (limit > 0.5) | (fx == 0)
        found[places[done]] = best[done]
        with np.errstate(divide="ignore", invalid="ignore"):
            xi, phi = (a - b) / (c - b), (fa - fb) / (fc - fb)
            smooth = (1 - np.sqrt(1 - xi) < phi) & (phi < np.sqrt(xi))
            step = fa / (fb - fa) * fc / (fb - fc) + (c - a) / (b - a) * fa / (fc - fa) * fb / (
                fc - fb
            )
        t = np.where(smooth & np.isfinite(step), step, 0.5)
        t = np.clip(t, np.minimum(limit, 0.5), 1 - np.minimum(limit, 0.5))
        keep = ~done
        places, width, t = places[keep], width[keep], t[keep]
        a, b, c, fa, fb, fc = a[keep], b[keep], c[keep], fa[keep], fb[keep], fc[keep]
    found[places] = a
    return found

"""The system in the prices: both factorisations solve it, whatever the scales of its symbols."""

from __future__ import annotations

import numpy as np
from checks import for_each, pairwise_cases

from mechdesign.solve.interior_point.systems import Reduced, Whole


def system(linked, seed=0, n=60, m=7, bound=0):
    """Parts of a system; so many symbols have hardly a free entry, others freer ones by decades."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(n))
    inverse = 10.0 ** rng.uniform(-3, 3, (m, n))
    inverse[:, :bound] *= 1e-14
    up = rng.normal(size=(m, n)) * 10.0 ** rng.uniform(-1, 1, (m, 1))
    if not linked:
        return p, inverse.sum(axis=0), None, up, None, np.ones(m)
    beta = inverse @ p**2
    rest = np.stack(
        [
            [(b - i * q * q) / b for i, q in zip(row, p, strict=True)]
            for row, b in zip(inverse, beta, strict=True)
        ]
    )
    own = (inverse * rest).sum(axis=0)
    return p, inverse.sum(axis=0), own, up, inverse * p / np.sqrt(beta)[:, None], np.sqrt(beta)


def product(diagonal, up, down, x):
    """S x in more digits."""
    up, x = up.astype(np.longdouble), x.astype(np.longdouble)
    found = diagonal * x + up.T @ (up @ x)
    return found if down is None else found - down.T @ (down.astype(np.longdouble) @ x)


@for_each("linked, bound, seed", pairwise_cases([False, True], [0, 1, 5], range(4)))
def test_both_solve_the_system(linked, bound, seed):
    p, diagonal, own, up, down, roots = system(linked, seed, bound=bound)
    b = np.random.default_rng(seed).normal(size=len(p))
    whole = Whole(diagonal if own is None else own, up, down, 0.0).solve(b)
    copies = up.copy(), None if down is None else down.copy()
    stays = np.arange(bound)
    found = Reduced(diagonal, *copies, stays, p, roots, 0.0).solve(b)
    for x in (whole, found):
        off = product(diagonal, up, down, x) - b
        assert np.abs(off).max() < 1e-6 * np.abs(b).max()
    np.testing.assert_allclose(found, whole, rtol=1e-5, atol=1e-6 * np.abs(whole).max())

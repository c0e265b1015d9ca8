"""Kernels, and reports of them, that tests of estimates share."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest

import mechdesign as md

quiet = pytest.mark.filterwarnings(
    "ignore::mechdesign.errors.PrecisionWarning", "ignore::mechdesign.errors.MisfitWarning"
)


def kernel_of(rows, labels="abc"):
    return md.Mechanism(rows, list(labels), list(labels))


def response(level, labels="ab"):
    """Randomised response."""
    rows = np.ones((len(labels), len(labels))) + np.expm1(level) * np.eye(len(labels))
    return kernel_of(rows / rows[0].sum(), labels)


FLIP = kernel_of([[0.75, 0.25], [0.25, 0.75]], ["no", "yes"])
CLEAR = kernel_of([[0.7, 0.2, 0.1], [0.1, 0.7, 0.2], [0.1, 0.1, 0.8]])
#: One of its rows hardly says anything.
THREE = kernel_of(0.9 * np.array([[1, 0, 0], [0, 1, 0], [1 / 3] * 3]) + 0.1 / 3)


def counted(counts, *mechanisms):
    """Counts by outputs of a mechanism, or tuples of them of several."""
    outputs = [one.outputs for one in mechanisms]
    labels = product(*outputs) if len(outputs) > 1 else outputs[0]
    return dict(zip(labels, np.rint(np.ravel(counts)).astype(int).tolist(), strict=True))


def are_held(found):
    """Whether intervals of shares hold what estimates are moved to, and are possible."""
    moved = np.clip(found.values, 0, 1)
    inside = (found.lower <= moved + 1e-9) & (moved <= found.upper + 1e-9)
    return bool((inside & (found.lower >= 0) & (found.upper <= 1)).all())


def table_of(n=600, **columns):
    """Reports beside what is known of each person; clusters lie within strata."""
    rng = np.random.default_rng(1)
    made = pd.DataFrame(
        {
            "r": rng.choice(list("abc"), n, p=[0.4, 0.35, 0.25]),
            "w": rng.uniform(0.5, 3, n).round(2),
            "s": rng.choice([1, 2, 3], n),
            "c": rng.integers(0, 25, n),
            "g": rng.choice(["old", "young"], n),
        }
    )
    return made.assign(c=made["c"] + 100 * made["s"]).assign(**columns)

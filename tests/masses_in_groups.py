"""Symbols in a few groups of one mass each, with notions to select subsets for, and what their
reports raise.
"""

from __future__ import annotations

import numpy as np

import mechdesign as md

# Masses of symbols and notions; two and three groups, in any order, and one symbol alone in one.
CASES = [
    ([3, 1, 1, 1], [md.LDP(1)]),
    ([1, 3, 3, 1, 1, 3], [md.LDP(0.4)]),
    ([5, 5, 1, 1, 1], [md.PML(1)]),
    ([4, 2, 2, 1, 1, 1], [md.LIP(0.7)]),
    ([2, 2, 1, 1, 1], [md.PMC(0.5)]),
    ([3, 3, 1, 1, 1], [md.LDP(1), md.PML(0.4)]),
    ([7, 1, 1, 1], [md.ALIP(1, 0.5)]),
]


def levels_of(part, drawn, shifts, symbols):
    """Which of the weights symbols have at reports: their residues are ranks in placements."""
    digits = [x[:, None] // part.base ** np.arange(part.dimension) for x in (drawn[0], symbols)]
    elements = ((digits[0] * digits[1] % part.base).sum(axis=1) + shifts) % part.base
    placements, _ = part.placements
    orders = [[*each, *({*range(part.base)} - {*each})] for each in placements or [()]]
    ranks = [orders[b].index(x) for b, x in zip(drawn[2], elements, strict=True)]
    return np.searchsorted(np.cumsum(part.sizes), ranks, side="right")

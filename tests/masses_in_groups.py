"""Symbols in a few groups of one mass each, with notions to select subsets for."""

from __future__ import annotations

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

"""Notions of the likelihood family beyond the five, by name, each at a level."""

from __future__ import annotations

from fractions import Fraction

import mechdesign as md

N = 4
FEATURE = {0: "a", 1: {"a": Fraction(1, 3), "b": Fraction(2, 3)}, 2: {"a": 0.25, "b": 0.75}, 3: "c"}
SIDE = {0: {"u": 1, "v": 1}, 1: {"u": 2, "v": 1}, 2: {"v": 1}, 3: {"u": 0.5, "v": 0.5}}
CORNERS = [md.Prior([0.4, 0.3, 0.2, 0.1]), md.Prior([0.1, 0.5, 0.1, 0.3])]
SECRETS = {"low": [0, 1], "high": [2, 3], "odd": [1, 3]}
RANGES = {0: (0.1, 0.4), 1: (0.2, 0.3), 2: (0.0, 0.5), 3: (0.15, 0.9)}
FACTORS = {0: 1.0, 1: 0.5, 2: 2.0, 3: 0.5}

MAKERS = {
    "DP adjacent": lambda e: md.DP(e, "adjacent"),
    "DP star": lambda e: md.DP(e, [(0, 1), (0, 2), (3, 0)]),
    "DP all": lambda e: md.DP(e, "all"),
    "free lunch": md.FreeLunch,
    "metric line": lambda e: md.MetricPrivacy(e, "absolute"),
    "metric graph": lambda e: md.MetricPrivacy.graph(
        e, [(0, 1, 1), (1, 2, 0.5), (2, 3, 2), (3, 0, 1.25)]
    ),
    "feature PML": lambda e: md.FeaturePML(e, FEATURE),
    "feature PMC": lambda e: md.FeaturePMC(e, FEATURE),
    "conditional PML": lambda e: md.ConditionalPML(e, SIDE),
    "conditional PMC": lambda e: md.ConditionalPMC(e, SIDE),
    "robust vertices": lambda e: md.RobustPML(e, CORNERS),
    "robust floor": lambda e: md.RobustPML.floor(e, 0.05),
    "robust box": lambda e: md.RobustPML.box(e, RANGES),
    "robust ball": lambda e: md.RobustPML.ball(e, CORNERS[0], 0.3),
    "pufferfish": lambda e: md.Pufferfish(e, SECRETS, priors=CORNERS),
    "pufferfish, one prior": lambda e: md.Pufferfish(e, SECRETS, [("low", "odd")]),
    "symbol PML": lambda e: md.SymbolPML(e, FACTORS),
    "symbol PMC": lambda e: md.SymbolPMC(e, FACTORS),
    "symbol LIP": lambda e: md.SymbolLIP(e, FACTORS),
    "discriminative": lambda e: md.InputDiscriminativeLDP(e, FACTORS),
    "context-aware": lambda e: md.ContextAwareLDP(
        e, [(0, 1), (1, 2, 0.5), (2, 0, 2), (3, 0, 1.25), (0, 3, 3)]
    ),
    "high and low": lambda e: md.UtilityOptimisedLDP(e, [1, 3]),
    "entry": lambda e: md.EntryPML(e, N - 1, 0.2),
}

"""The numbered statements of the paper on Pufferfish privacy, [NuradhaGoldfeld]."""

from __future__ import annotations

from functools import partial

from .statements import statement

numbered = partial(statement, source="NuradhaGoldfeld")

numbered(
    "PP-Def-1",
    says="Pufferfish privacy",
    by="ApproximatePufferfish Pufferfish",
    checked="PP-Def-1 PP-Def-1-General",
)
numbered(
    "PP-Def-2",
    says="functions as secrets",
    by="Pufferfish.specialised",
    checked="PP-Def-2 PP-Def-2-General",
)
numbered("PP-Fig-1", says="rows and the rest", by="Pufferfish.specialised", checked="PP-Fig-1")
numbered(
    "PP-Rem-1",
    says="special cases",
    by="DP Pufferfish",
    checked="PP-Rem-1 PP-Rem-1-General",
    errata="E10a",
)
numbered(
    "PP-Def-3",
    says="by mutual information",
    by="MIPufferfish",
    checked="PP-Def-3 PP-Def-3-General",
)
numbered(
    "PP-Rem-2",
    says="MI differential privacy",
    by="MIPufferfish",
    checked="PP-Rem-2 PP-Rem-2-General",
)
numbered(
    "PP-Thm-1",
    says="between two kinds of Pufferfish privacy",
    by="noise.variation_from_information noise.information_from_approximate",
    checked="PP-Thm-1.1 PP-Thm-1.2 PP-Thm-1.3 PP-Thm-1-General",
    errata="E8",
    partly="the second arrow is false as printed, for sets of priors that fix the masses of the "
    "secrets; it is checked where these may be any, a corrected one for given masses",
)
numbered(
    "PP-Thm-2",
    says="convexity, composition, post-processing",
    by="Mechanism.mix Mechanism.parallel Mechanism.merge",
    checked="PP-Thm-2.1 PP-Thm-2.2 PP-Thm-2.3 PP-Thm-2-General",
)
numbered(
    "PP-Rem-3",
    says="composition that is not adaptive",
    by="Mechanism.parallel",
    checked="PP-Rem-3",
    partly="sets of universally composable priors are defined elsewhere and have no list; "
    "composition for single databases, and its failure for others, are checked",
)
numbered("PP-Thm-3", says="Gaussian noise", by="noise.gaussian_variance", checked="PP-Thm-3")
numbered(
    "PP-Cor-1",
    says="Gaussian noise for DP",
    by="noise.gaussian_variance_for_dp",
    checked="PP-Cor-1",
    errata="E10e",
)
numbered(
    "PP-Rem-4",
    says="the classical mechanism",
    by="noise.classical_comparison noise.classical_gaussian_variance",
    checked="PP-Rem-4",
    errata="E10b",
)
numbered("PP-Rem-5", says="a mean", by="noise.gaussian_variance", checked="PP-Rem-5", errata="E9")
numbered("PP-Rem-6", says="Laplace noise", by="noise.laplace_scale", checked="PP-Rem-6")
numbered(
    "PP-Thm-4",
    says="Gaussian noise given the secret",
    by="noise.gaussian_variance_given_secret",
    checked="PP-Thm-4",
    errata="E7",
)
numbered(
    "PP-Rem-7",
    says="attribute privacy",
    by="noise.gaussian_variance_given_secret",
    checked="PP-Rem-7",
    partly="the noise of the work that it compares with is cited, not derived; how it grows, the "
    "reduction and its guarantee are checked",
)
numbered(
    "PP-Rem-8",
    says="privacy without noise",
    by="noise.gaussian_variance_given_secret",
    checked="PP-Rem-8",
    errata="E10c E10d",
)

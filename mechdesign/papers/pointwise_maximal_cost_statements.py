"""The numbered statements of the paper on pointwise maximal cost, [SaeidianPMC]."""

from __future__ import annotations

from functools import partial

from .statements import statement

numbered = partial(statement, source="SaeidianPMC")

numbered(
    "PMC-Def-1",
    says="Rényi divergence of order ∞",
    by="theory.observe",
    checked="PMC-Def-1",
)
numbered(
    "PMC-Def-2",
    says="PML by gain functions",
    by="theory.gain_leakage theory.worst_gain",
    checked="PMC-Def-2 PML-Thm-2.4",
)
numbered("PMC-Def-3", says="PML by guesses", by="theory.worst_guess", checked="PML-Def-2.3")
numbered(
    "PMC-Def-4",
    says="local information privacy",
    by="LIP",
    checked="PMC-Def-4 PMC-Def-4.2 PMC-Def-4-General",
)
numbered(
    "PMC-Def-5",
    says="asymmetric LIP",
    by="ALIP",
    checked="PMC-Def-5.1 PMC-Def-5.2 PMC-Def-5.3 PMC-Def-5-General",
)
numbered(
    "PMC-Def-6", says="local differential privacy", by="LDP", checked="PMC-Rem-1 PMC-Def-6-General"
)
numbered("PMC-Def-7", says="PMC by wrong guesses", by="theory.worst_miss", checked="PMC-Thm-1")
numbered(
    "PMC-Def-8",
    says="maximal cost leakage",
    by="theory.maximal_cost_leakage MaximalCostLeakage",
    checked="PMC-Def-8 PMC-Sec-III-C.1",
    errata="E6a",
)
numbered(
    "PMC-Def-9",
    says="maximal realizable cost",
    by="theory.maximal_realizable_cost",
    checked="PMC-Def-9 PMC-Sec-III-C.2",
)
numbered(
    "PMC-Def-10",
    says="maximal guesswork leakage",
    by="theory.worst_guesswork theory.guesswork_leakage",
    checked="PMC-Def-10 PMC-Sec-III-D.1",
)
numbered(
    "PMC-Def-11",
    says="PMC by cost functions",
    by="theory.cost_leakage theory.partition_cost",
    checked="PMC-Thm-3",
)
numbered(
    "PMC-Def-12",
    says="conditional PMC",
    by="ConditionalPMC theory.observe",
    checked="PMC-Cor-2 PMC-Cor-2-General",
)
numbered(
    "PMC-Prop-1",
    says="what LDP implies",
    by="convert",
    checked="PMC-Prop-1a PMC-Prop-1b PMC-Prop-1c PMC-Prop-1-Limit",
)
numbered("PMC-Prop-2", says="costs of features", by="theory.reduced_cost", checked="PMC-Prop-2")
numbered("PMC-Prop-3", says="LDP to PMC", by="convert", checked="PMC-Prop-3 PMC-Prop-1-Limit")
numbered("PMC-Thm-1", says="PMC is a divergence", by="theory.worst_miss PMC", checked="PMC-Thm-1")
numbered(
    "PMC-Thm-2",
    says="features and cost functions",
    by="theory.cost_of_feature theory.feature_of_cost",
    checked="PMC-Thm-2",
)
numbered(
    "PMC-Thm-3",
    says="PMC on general alphabets",
    by="theory.partition_cost",
    checked="PMC-Thm-3",
)
numbered("PMC-Thm-4", says="PML and PMC", by="convert", checked="PMC-Thm-4.1 PMC-Thm-4.2")
numbered(
    "PMC-Thm-5",
    says="bounded PMC and PML",
    by="convert",
    checked="PMC-Thm-5-Finite",
    errata="E3a E3c",
    partly="false as printed on infinite alphabets; what holds, on finite ones, is checked",
)
numbered(
    "PMC-Thm-6",
    says="bounded PMC and LDP",
    by="convert",
    checked="PMC-Thm-6-Finite PMC-Rem-1-General",
    errata="E3b",
    partly="half of it is false as printed on infinite alphabets; the other half is checked on "
    "finite and countable ones, and on an interval",
)
numbered("PMC-Cor-1", says="cost functions define PMC", by="theory.worst_cost", checked="PMC-Cor-1")
numbered(
    "PMC-Cor-2",
    says="conditional divergences",
    by="ConditionalPMC",
    checked="PMC-Cor-2 PMC-Cor-2-General",
)
numbered(
    "PMC-Cor-3",
    says="ALIP, LIP and LDP from either",
    by="convert implications",
    checked="PMC-Cor-3.1a PMC-Cor-3.1b PMC-Cor-3.1c PMC-Cor-3.2a PMC-Cor-3.2b PMC-Cor-3.2c",
    errata="E23",
)
numbered("PMC-Cor-4", says="a fair coin", by="convert", checked="PMC-Cor-4")
numbered(
    "PMC-Cor-5",
    says="optimal under ALIP",
    by="extremal design",
    checked="PMC-Cor-5 ID-Prop-3",
)
numbered(
    "PMC-Lem-1",
    says="properties of PMC",
    by="theory.pre_processing theory.post_processing theory.composition theory.additivity",
    checked=" ".join(f"PMC-Lem-1.{k}" for k in range(1, 8)) + " PMC-Lem-1-General",
)
numbered(
    "PMC-Lem-2",
    says="answers that are drawn",
    by="theory.cost_leakage",
    checked="PMC-Lem-2",
)
numbered(
    "PMC-Rem-1", says="LDP depends on the support", by="LDP", checked="PMC-Rem-1 PMC-Rem-1-General"
)
numbered("PMC-Rem-2", says="pre-processing", by="theory.pre_processing", checked="PMC-Lem-1.5")
numbered("PMC-Rem-3", says="PMC may be infinite", by="theory.observe PMC", checked="PMC-Rem-3")
numbered(
    "PMC-Rem-4",
    says="PMC by densities",
    by="noise.GaussianNoise noise.LaplaceMean",
    checked="PMC-Rem-4",
    partly="measurability is a matter of proof, not of calculation; the formulas with densities "
    "are checked",
)
numbered("PMC-Rem-5", says="the condition is needed", by="convert", checked="PMC-Rem-5")
numbered("PMC-Rem-6", says="the conversion is attained", by="extremal", checked="PMC-Ex-4")
numbered("PMC-Ex-1", says="distances", by="theory.power_leakage", checked="PMC-Ex-1")
numbered("PMC-Ex-2", says="α-loss", by="theory.alpha_leakage theory.alpha_loss", checked="PMC-Ex-2")
numbered("PMC-Ex-3", says="randomised response", by="noise.RandomisedResponse", checked="PMC-Ex-3")
numbered("PMC-Ex-4", says="the best PML mechanism", by="extremal", checked="PMC-Ex-4", errata="E4")
numbered(
    "PMC-Ex-5",
    says="Laplace noise on a mean",
    by="noise.LaplaceMean",
    checked="PMC-Ex-5",
    errata="E22",
    partly="sup Λ is what is printed where c and d are in the support, else less",
)
numbered(
    "PMC-Ex-6",
    says="Gaussian noise",
    by="noise.GaussianNoise",
    checked="PMC-Ex-6",
    errata="E5 E22",
    partly="the lower bounds hold as printed where −A and A are in the support",
)
numbered(
    "PMC-Fig-1",
    says="which bound implies which",
    by="plot_regions",
    checked="PMC-Fig-1",
    errata="E24",
    partly="the edges of the region imply; inside of it neither does",
)

"""The numbered statements of the paper on disclosure prevention, [SaeidianDisclosure]."""

from __future__ import annotations

from functools import partial

from .statements import statement

numbered = partial(statement, source="SaeidianDisclosure")

_OUTCOMES = (
    "outcomes may be infinitely many in the paper, with infima that none attains; checked with "
    "finitely many"
)

numbered("PML-Def-2.1", says="min-entropy", by="Prior.min_entropy", checked="PML-Def-2.1")
numbered(
    "PML-Def-2.2",
    says="Rényi divergence of order ∞",
    by="theory.observe",
    checked="PMC-Def-1",
    partly="measurable spaces cannot be listed; checked on finite and countable alphabets, and "
    "with densities on an interval and on the line",
)
numbered("PML-Def-2.3", says="PML by guesses", by="theory.worst_guess", checked="PML-Def-2.3")
numbered("PML-Thm-2.4", says="PML is a divergence", by="PML", checked="PML-Thm-2.4")
numbered("PML-Def-2.5", says="conditional PML", by="ConditionalPML", checked="PMC-Cor-2")
numbered(
    "PML-Def-2.6",
    says="(ε, P)-PML",
    by="RobustPML",
    checked="PML-Def-2.6",
    partly="checked for hulls of finitely many priors; other sets have no list of priors",
)
numbered(
    "PML-Def-2.7",
    says="leakage capacity",
    by="theory.leakage_capacity",
    checked="PML-Thm-2.8 PML-Def-2.7-General",
    partly=_OUTCOMES,
)
numbered(
    "PML-Thm-2.8",
    says="the largest leakage",
    by="theory.leakage_capacity",
    checked="PML-Thm-2.8 PML-Thm-2.8-General",
    partly=_OUTCOMES,
)
numbered(
    "PML-Ex-3.1",
    says="a quantised mean",
    by="theory.quantised_mean",
    checked="PML-Ex-3.1",
    errata="E21",
)
numbered(
    "PML-Ex-3.2",
    says="smokers and others",
    by="Prior.min_entropy",
    checked="PML-Ex-3.2",
    partly="what an insurer may conclude is an argument, not a calculation; the entropies of both "
    "shares are checked",
)
numbered(
    "PML-Def-3.3",
    says="disclosure",
    by="theory.disclosures",
    checked="PML-Thm-3.4 PML-Def-3.3-General",
    partly=_OUTCOMES,
)
numbered(
    "PML-Thm-3.4",
    says="one adversary and all",
    by="theory.disclosures",
    checked="PML-Thm-3.4 PML-Thm-3.4-General",
    partly=_OUTCOMES,
)
numbered(
    "PML-Thm-3.5",
    says="disclosure prevention",
    by="theory.hidden_above",
    checked="PML-Thm-3.5 PML-Thm-3.5-General",
    partly=_OUTCOMES,
)
numbered(
    "PML-Prop-3.6",
    says="an easier feature",
    by="theory.easier_feature",
    checked="PML-Prop-3.6 PML-Prop-3.6-General",
    errata="E11c",
    partly=_OUTCOMES,
)
numbered(
    "PML-Thm-3.7",
    says="absolute disclosure prevention",
    by="theory.uncertainty_bound theory.least_uncertainty",
    checked="PML-Thm-3.7 PML-Thm-3.7-General",
    errata="E17",
    partly=_OUTCOMES,
)
numbered(
    "PML-Prop-3.8",
    says="the cheapest disclosure",
    by="theory.cheapest_disclosure",
    checked="PML-Prop-3.8 PML-Prop-3.8-General",
    partly=_OUTCOMES,
)
numbered(
    "PML-Def-3.9",
    says="singling out",
    by="theory.singles_out",
    checked="PML-Cor-3.10 PML-Def-3.9-General",
    partly=_OUTCOMES,
)
numbered(
    "PML-Cor-3.10",
    says="nobody is singled out",
    by="theory.singles_out",
    checked="PML-Cor-3.10 PML-Cor-3.10-General",
    partly=_OUTCOMES,
)
numbered(
    "PML-Ex-3.11",
    says="more than m of n?",
    by="theory.threshold_query",
    checked="PML-Ex-3.11",
    errata="E11b E14",
)
numbered("PML-Fig-1", says="Chernoff bounds", by="theory.chernoff_bound", checked="PML-Fig-1")
numbered(
    "PML-Def-4.1",
    says="differential privacy",
    by="DP",
    checked="PML-Thm-4.2.1 PML-Def-4.1-General",
    partly=_OUTCOMES,
)
numbered(
    "PML-Thm-4.2",
    says="differential privacy as PML",
    by="theory.dp_as_pml",
    checked="PML-Thm-4.2.1 PML-Thm-4.2.2 PML-Thm-4.2.3 PML-Thm-4.2-General",
    partly=_OUTCOMES,
)
numbered(
    "PML-Thm-4.3",
    says="correlated entries",
    by="theory.correlated_database",
    checked="PML-Thm-4.3",
)
numbered(
    "PML-Def-4.4",
    says="free-lunch privacy",
    by="FreeLunch",
    checked="PML-Thm-4.5.1 PML-Def-4.4a PML-Def-4.4b PML-Def-4.4-General",
    partly=_OUTCOMES,
)
numbered(
    "PML-Thm-4.5",
    says="free-lunch privacy as PML",
    by="theory.free_lunch_as_pml",
    checked="PML-Thm-4.5.1 PML-Thm-4.5.2 PML-Thm-4.5.3 PML-Thm-4.5-General",
    errata="E15",
    partly=_OUTCOMES,
)
numbered(
    "PML-Prop-4.6",
    says="Laplace noise on a count",
    by="theory.laplace_count_bound noise.LaplaceMean",
    checked="PML-Prop-4.6 PML-Sec-4.1",
    errata="E11a E20",
)
numbered("PML-Rem-B.1", says="no prior attains it", by="theory.dp_as_pml", checked="PML-Rem-B.1")

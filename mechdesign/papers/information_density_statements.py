"""The numbered statements of the paper on information density, [GrosseID]."""

from __future__ import annotations

from functools import partial

from .statements import statement

numbered = partial(statement, source="GrosseID")

numbered("ID-Def-1", says="local information privacy", by="LIP", checked="PMC-Def-4 PMC-Def-4.2")
numbered("ID-Def-2", says="asymmetric LIP", by="ALIP", checked="PMC-Def-4.2 PMC-Def-5.3")
numbered("ID-Def-3", says="ε-PML", by="PML", checked="PML-Thm-2.4 PML-Def-2.6")
numbered("ID-Def-4", says="local differential privacy", by="LDP", checked="PMC-Rem-1")
numbered("ID-Thm-1", says="PML is the largest density", by="PML", checked="PMC-Def-5.1 PML-Thm-2.4")
numbered("ID-Thm-2", says="wrong guesses", by="theory.worst_miss", checked="PMC-Thm-1 PMC-Def-5.2")
numbered(
    "ID-Thm-3",
    says="features and cost functions",
    by="theory.cost_of_feature theory.feature_of_cost",
    checked="PMC-Thm-2",
)
numbered(
    "ID-Prop-1", says="an upper bound implies a lower one", by="convert", checked="PMC-Thm-4.1"
)
numbered(
    "ID-Prop-2",
    says="a lower bound implies an upper one",
    by="convert",
    checked="PMC-Thm-4.2",
    errata="E2",
)
numbered("ID-Prop-3", says="optimal under ALIP", by="design", checked="ID-Prop-3", errata="E1")
numbered("ID-Cor-1", says="PML to ALIP", by="convert", checked="ID-Cor-1")
numbered("ID-Cor-2", says="PML to LIP", by="convert", checked="ID-Cor-2")
numbered("ID-Cor-3", says="PML to LDP", by="convert", checked="ID-Cor-3")
numbered(
    "ID-Cor-4",
    says="best for sub-convex utilities",
    by="extremal",
    checked="PMC-Cor-5",
    errata="E1",
)
numbered("ID-Cor-5", says="cost functions define PMC", by="theory.worst_cost", checked="PMC-Cor-1")
numbered("ID-Ex-1", says="a fair coin", by="convert", checked="PMC-Cor-4")
numbered("ID-Rem-1", says="pre-processing", by="theory.pre_processing", checked="PMC-Lem-1.5")
numbered("ID-Fig-1", says="which bound implies which", by="plot_regions", checked="PMC-Fig-1")
numbered("ID-Tab-1", says="conversions", by="convert", checked="ID-Tab-1", errata="E19")

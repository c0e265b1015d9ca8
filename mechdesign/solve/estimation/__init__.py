"""Which kernel estimates from the fewest reports, and what proves it?

In: a cone of columns, a truth π and questions A. Out: columns with their weights, prices, and a
bound on the risk of every kernel.

The risk tr(A J⁻¹) of the information J = Σ_y k_y k_yᵀ / (πᵀk_y) is convex in the measure on columns
(an optimal design of experiments). Pricing maximises rᵀGr/(πᵀr) − λᵀr over the cone,
G ⪰ 0: :mod:`.pricing` finds columns and proves bounds, by a list of all extreme columns
(:mod:`.pricing_listed`).
"""

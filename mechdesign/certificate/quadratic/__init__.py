"""Which columns pay more than their prices, rᵀGr/(πᵀr) − λᵀr, and how much can any?

In: a cone, a quadratic form and prices.
Out: columns that pay, and a bound on what any does.

:mod:`.pricing` asks :mod:`.search` (local search), :mod:`.listed` (every extreme column of few
symbols), :mod:`.relaxation` (bounds for many), :mod:`.relaxed_design` (a whole design) and
:mod:`.cones` (cones of any kind), on numbers and boxes in :mod:`.forms`.
"""

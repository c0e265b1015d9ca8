"""From reports to numbers: estimates with intervals, plans, regressions."""

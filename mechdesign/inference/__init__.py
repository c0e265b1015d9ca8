"""What do reports say? Estimates, plans and regressions, with their errors."""

"""What do reports say? Regressions in which columns are known by reports of mechanisms only.

In: a table with reports beside public columns, and the mechanisms that made them.
Out: coefficients with errors that hold the noise of the mechanisms, or a refusal in one line.

``_regress`` reads what is asked; ``privatised`` has what reports stand for, their noise and how
many events they show, and solves linear regressions; ``latent`` maximises likelihoods.
"""

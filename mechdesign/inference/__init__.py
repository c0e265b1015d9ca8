"""What do reports say? Estimates with intervals, plans and regressions.

In: reports (a table, a column, counts) and the kernels that made them; how people were drawn.
Out: unbiased answers, errors that hold the noise of the kernels, intervals that hold at rare
answers and few people; or a refusal in one line.

``intervals`` is the one rule, on the path of distributions that ``likelihood`` finds; ``observed``
has the reports of one kernel with scores of questions, ``surveys`` how people were drawn.
``_estimate`` is for one kernel, of rounds, pairs and groups too, ``many`` for more shares than a
matrix holds. ``_regress`` reads what is asked, ``privatised`` has what reports stand for and solves
linear regressions, ``latent`` maximises likelihoods.
"""

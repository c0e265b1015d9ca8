"""How do solvers of others see a linear program?

In: a program with a linear objective.
Out: a kernel and dual variables, trusted in nothing, by HiGHS, Clarabel or cvxpy.
"""

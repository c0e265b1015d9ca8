"""General solvers: a compiled program goes in, a kernel and dual variables come out.

One module sets each library up, and nowhere else is it set up.
"""

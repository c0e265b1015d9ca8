"""How does a library of others solve a program? One module sets each of them up, once.

In: a compiled program, or a linear program of this package.
Out: a kernel and dual variables, trusted in nothing.
"""

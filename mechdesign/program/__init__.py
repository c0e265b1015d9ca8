"""What is a design asked for, as data?

In: a prior, a utility, notions and requirements.
Out: a problem, validated once, and the program that it amounts to: what is maximised, what a kernel
must satisfy; with kernels and dual variables as methods answer with them.
"""

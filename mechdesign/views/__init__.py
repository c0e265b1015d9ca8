"""How is a result shown?

In come designs, audits, comparisons, estimates, theorems. ``tables`` makes the rows of every table
once; ``text`` shows them on a terminal, ``html`` and ``pages`` in pages of one file, ``plain`` as
JSON.
"""

"""How is a result shown? As text on a terminal, as a page of one file, as JSON.

In: designs, audits, comparisons, estimates, theorems.
Out: ``tables`` makes the rows of every table once; ``text`` shows them on a terminal, ``html`` and
``pages`` in pages, ``plain`` as JSON.
"""

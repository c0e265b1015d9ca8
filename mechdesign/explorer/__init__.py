"""A page to explore designs in a browser: prior, notions, levels and utility by hand.

``settings`` says what is asked, ``answering`` what follows from it, ``frontiers`` how the utility
grows with the level; none of them knows of a browser. ``tables``, ``charts``, ``words`` and
``recipes`` put results into HTML, chart options, sentences and lines to copy. ``controls`` and
``page`` lay them out with NiceGUI, and ``serving`` serves the page on this machine alone.
"""

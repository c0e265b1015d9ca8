"""What do samples say about a claim? An audit of a mechanism whose kernel nobody shows.

In: inputs with their reports, or a mechanism to call; notions at the levels that are claimed.
Out: limits on every level that hold together, a verdict on every notion, how many reports would
tell where these do not.

``limits.py`` bounds likelihoods, ``hypotheses.py`` makes levels of them, ``judging.py`` verdicts;
``observations.py`` counts, ``partition.py`` groups what cannot be counted. ``controls.py`` holds
mechanisms that are known to be broken, and some that are not, to try an audit on.
"""

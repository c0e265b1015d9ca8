"""How is it explored in a browser? A page where prior, notions, levels and utility are set by hand.

In: a prior to begin with.
Out: a page, served on this machine alone, with the certified design for whatever is chosen on it.

The room stands on top of the library as any application does: it calls ``import mechdesign as md``
and the faces of other rooms, and only the command line knows it. ``questions`` (what is asked of an
estimation) → ``settings`` (what is chosen) →
``results`` (what follows from that) → ``state`` (what is computed when, for one visitor) → ``page``
(what is shown, with ``controls``, ``charts`` and ``markup``) → ``server``. Only ``page``,
its controls and cards, and ``server`` know NiceGUI.
"""

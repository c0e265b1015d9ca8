"""How are reports collected that people draw on their own devices?

In: public designs, and reports of them that arrive over HTTP, never secrets.
Out: counts in a database that survive a kill, estimates with intervals on a page, Parquet.

``kernels`` (what is collected) → ``incoming`` (what of a body is a report) → ``store`` (what is
kept, and when it is acknowledged) → ``estimates`` and ``page`` (what is shown) → ``exporting``
(what is given away) → ``gate`` (who may, and how often) → ``app`` → ``server``. Only ``store``
knows SQLAlchemy, only ``app`` Starlette, only ``server`` Granian. ``PLANNING.md`` plans large
collections.
"""

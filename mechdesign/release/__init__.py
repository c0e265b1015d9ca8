"""How does a kernel meet data? A column is privatised, estimated, planned, and recorded.

In: a mechanism or a design, and a table of any kind, or reports.
Out: exact draws in the same kind of table, with a receipt that names their mechanism; estimates
with error bars; and a ledger that adds up what was released of the same secrets.

A table goes through ``adapters``, ``engines`` or ``file_passes`` to ``column``, where ``codes``,
``identities`` and ``sampler`` make reports of its values; ``receipts`` and ``ledger`` remember.
scikit-learn finds the same in ``transformer``, OpenDP in ``measurement``.
"""

"""How does a kernel meet data? A column is privatised, estimated, planned, and recorded.

In: a mechanism or a design, and a table in any library, a CSV or Parquet file, or reports.
Out: exact draws in the same kind of table, with a receipt that names their mechanism; estimates
with error bars; and a ledger that adds up what was released of the same secrets.

A table goes through ``adapters``, ``engines`` or ``table_files`` to ``column``, where ``codes``,
``identities`` and ``sampler`` make reports of its values; ``receipts`` and ``ledger`` remember.
scikit-learn finds the same in ``transformer``, OpenDP in ``measurement``.
"""

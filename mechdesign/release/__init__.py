"""How does a kernel meet data? A column is privatised, estimated, planned, and recorded.

In: a mechanism or a design, and a table in any library, a CSV or Parquet file, or reports.
Out: exact draws in the same kind of table, with a receipt that names their mechanism; estimates
with error bars; and a ledger that adds up what was released of the same secrets.

``_privatize`` and ``_privatize_file`` lead from a table through ``adapters``, ``engines`` and
``table_files`` to ``column``, where ``codes`` makes values positions, ``identities`` or a seed give
random words and ``sampler`` draws. ``_estimate``, ``_estimate_joint`` and ``_plan`` ask
``_identifiability`` what reports can tell. ``receipts`` and ``ledger`` remember. scikit-learn finds
the same in ``transformer``, OpenDP in ``measurement``.
"""

"""Benchmarks: one registry of cases, drivers for us and the peers, interleaved side by side.

``python -m benchmarks run --group n200`` runs a group; ``python -m benchmarks table`` writes the
pages of tables that the site shows. Only ratios within one run mean anything.
"""

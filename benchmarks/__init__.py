"""Benchmarks: one registry of cases, drivers for us and the peers, interleaved side by side.

``python -m benchmarks run --group n200`` runs a group; ``python -m benchmarks table`` writes the
table that the README quotes. Only ratios within one run mean anything.
"""

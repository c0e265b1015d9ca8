"""How often each output, or tuple of outputs, was reported in columns of a file."""

from __future__ import annotations

from mechdesign.mechanism import mechanism_of
from mechdesign.release.reports import sample_of
from mechdesign.release.table_files import rows_of_file


def count_file(path, columns, mechanisms, missing="error"):
    kernels = dict(zip(columns, map(mechanism_of, mechanisms), strict=True))
    sample = sample_of(rows_of_file(path, columns), kernels, (), missing, fewest=0)
    found = {}
    for row, count in zip(zip(*sample.places.values(), strict=True), sample.repeats, strict=True):
        pairs = zip(kernels.values(), row, strict=True)
        outputs = tuple(kernel.outputs[place] for kernel, place in pairs)
        key = outputs if len(columns) > 1 else outputs[0]
        found[key] = found.get(key, 0) + int(count)
    return found

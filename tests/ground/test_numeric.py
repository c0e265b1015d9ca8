"""Numbers and matrices from anywhere: what is none is refused, NaN first of all."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
from checks import for_each, refused

import mechdesign as md
from mechdesign.errors import KernelError, RequirementError, UtilityError
from mechdesign.numeric import finite_matrix, finite_number

HALVES = [0.5, Fraction(1, 2), Decimal("0.5"), np.float32(0.5), np.float64(0.5), np.array(0.5)]
NO_NUMBERS = [
    *(math.nan, math.inf, np.float32("nan"), Decimal("nan"), Decimal("snan"), Decimal("inf")),
    *("0.5", b"1", True, np.True_, None, 1j, [0.5], np.array([0.5]), {}, object(), 10**400),
    *(np.array("0.5"), np.array(True), np.datetime64("2020-01-01")),
]


@for_each("value", HALVES)
def test_numbers_of_every_kind_become_floats(value):
    found = finite_number(value, "share", 0, 1)
    assert type(found) is float
    assert found == 0.5
    assert finite_matrix([[value, 1]], "gains").tolist() == [[0.5, 1.0]]


@for_each("value", NO_NUMBERS)
def test_what_is_no_number_is_refused(value):
    refused(lambda: finite_number(value, "share"), "share: expected a finite number")


def test_ends_are_named():
    refused(lambda: finite_number(2, "share", 0, 1), "from 0 to 1")
    refused(lambda: finite_number(-1, "width", 0), "of at least 0")
    assert finite_number(np.int64(3), "width", 0) == 3.0


MATRICES = {
    "text": [["1", "0"], ["0", "1"]],
    "one text": np.array([[1, "0"]], dtype=object),
    "bytes": [[b"1"]],
    "complex": [[1j]],
    "masked": np.ma.masked_array(np.eye(2), mask=np.eye(2)),
    "ragged": [[1], [0.5, 0.5]],
    "flat": [1, 0],
    "a number": 1,
    "nothing": None,
    "empty": [[]],
    "nan": [[math.nan]],
    "infinite": [[math.inf]],
    "too large": [[10**400]],
    "objects": [[object()]],
    "times": np.array([[1]], dtype="m8[s]"),
}
READERS = {
    "kernel": (md.Mechanism, KernelError),
    "utility": (md.utility.Matrix, UtilityError),
    "cost": (lambda m: md.require.cost(m, 1), RequirementError),
    "rows": (lambda m: md.require.rows(m, "<=", 1), RequirementError),
    "certified": (
        lambda m: md.certify(m, md.Prior([0.5, 0.5]), md.utility.Hamming(), md.LDP(1)),
        KernelError,
    ),
}


@for_each("reader", READERS)
@for_each("name", MATRICES)
def test_one_reader_of_matrices(reader, name):
    make, error = READERS[reader]
    refused(lambda: make(MATRICES[name]), error=error)


def test_matrices_are_copies():
    given = np.eye(2)
    found = finite_matrix(given, "gains")
    given[0, 0] = 7
    assert found[0, 0] == 1
    assert finite_matrix(np.ma.masked_array(np.eye(2)), "gains").sum() == 2  # nothing is masked

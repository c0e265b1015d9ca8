"""LAPACK and BLAS of SciPy without Python's lock, so that threads work side by side.

SciPy's own wrappers hold the lock while they compute. The addresses that it gives to Cython are
called through :mod:`ctypes`, which lets go of it. Matrices are C-contiguous and symmetric: what
LAPACK calls their lower triangle is the upper one here.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_INT, _CHAR = (ctypes.POINTER(t) for t in (ctypes.c_int, ctypes.c_char))
_SCALAR, _REAL = ctypes.POINTER(ctypes.c_double), ctypes.c_void_p
_SIGNATURES: dict[str, tuple[str, tuple[Any, ...]]] = {
    "dpotrf": ("cython_lapack", (_CHAR, _INT, _REAL, _INT, _INT)),
    "dtrtri": ("cython_lapack", (_CHAR, _CHAR, _INT, _REAL, _INT, _INT)),
    "dtrsv": ("cython_blas", (_CHAR, _CHAR, _CHAR, _INT, _REAL, _INT, _REAL, _INT)),
    "dsyrk": (
        "cython_blas",
        (_CHAR, _CHAR, _INT, _INT, _SCALAR, _REAL, _INT, _SCALAR, _REAL, _INT),
    ),
    "dtrsm": (
        "cython_blas",
        (_CHAR, _CHAR, _CHAR, _CHAR, _INT, _INT, _SCALAR, _REAL, _INT, _REAL, _INT),
    ),
    "dtrmm": (
        "cython_blas",
        (_CHAR, _CHAR, _CHAR, _CHAR, _INT, _INT, _SCALAR, _REAL, _INT, _REAL, _INT),
    ),
}

# Triangles up to this size are inverted by LAPACK, which is slow at it; larger ones in halves.
# Rows of their inverses are multiplied so many at a time.
_SMALL = 64


@cache
def _routine(name: str) -> Any:
    import importlib

    room, arguments = _SIGNATURES[name]
    capsule = importlib.import_module(f"scipy.linalg.{room}").__pyx_capi__[name]
    name_of = ctypes.pythonapi.PyCapsule_GetName
    name_of.restype, name_of.argtypes = ctypes.c_char_p, (ctypes.py_object,)
    address_of = ctypes.pythonapi.PyCapsule_GetPointer
    address_of.restype, address_of.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    address = address_of(capsule, name_of(capsule))
    return ctypes.CFUNCTYPE(None, *arguments)(address)


@cache
def _letter(value: bytes) -> Any:
    return ctypes.byref(ctypes.c_char(value))


@cache
def _int(value: int) -> Any:
    return ctypes.byref(ctypes.c_int(value))


_DOUBLE = ctypes.c_double
_ONE, _MINUS = (ctypes.byref(_DOUBLE(value)) for value in (1.0, -1.0))


def factorise(matrix: Array) -> bool:
    """Cholesky factor over an ``(n, n)`` matrix, in place; whether it is positive definite."""
    failed, n = ctypes.c_int(), _int(len(matrix))
    _routine("dpotrf")(_letter(b"L"), n, matrix.ctypes.data, n, ctypes.byref(failed))
    return failed.value == 0


def invert_triangle(factor: Array) -> None:
    """The inverse W of a factor over it, in place."""
    _invert_triangle(factor.ctypes.data, len(factor), len(factor))


def add_squares(inverse: Array, count: float, total: Array) -> None:
    """Add WᵀW, count times, to one triangle of a matrix, for the inverse W of a factor.

    What lies beside the triangle must be zero.
    """
    n, add = len(inverse), _routine("dsyrk")
    start, into, times = inverse.ctypes.data, total.ctypes.data, ctypes.byref(_DOUBLE(count))
    letters = _letter(b"L"), _letter(b"T")
    for first in range(0, n, _SMALL):
        last = min(first + _SMALL, n)
        size, rows, at = _int(last), _int(last - first), start + 8 * first
        add(*letters, size, rows, times, at, _int(n), _ONE, into, _int(n))


def _invert_triangle(start: int, size: int, apart: int) -> None:
    """The inverse over a triangle at an address, its columns so many entries apart."""
    if size <= _SMALL:
        failed = ctypes.c_int()
        _routine("dtrtri")(
            _letter(b"L"), _letter(b"N"), _int(size), start, _int(apart), ctypes.byref(failed)
        )
        return
    half = size // 2
    rest, below = start + 8 * half * (apart + 1), start + 8 * half
    _invert_triangle(start, half, apart)
    _invert_triangle(rest, size - half, apart)
    multiply, lower, plain = _routine("dtrmm"), _letter(b"L"), _letter(b"N")
    shape = _int(size - half), _int(half)
    for side, by, factor in ((lower, rest, _MINUS), (_letter(b"R"), start, _ONE)):
        multiply(side, lower, plain, plain, *shape, factor, by, _int(apart), below, _int(apart))


def solve_each(factors: Array, sides: Array) -> None:
    """Solve for a right-hand side ``(m, n)`` of each of ``(m, n, n)`` factors, in place."""
    n = sides.shape[1]
    solve, size, one = _routine("dtrsv"), _int(n), _int(1)
    lower, not_unit = _letter(b"L"), _letter(b"N")
    plain, transposed = _letter(b"N"), _letter(b"T")
    start, at = factors.ctypes.data, sides.ctypes.data
    for y in range(len(sides)):
        factor, side = start + 8 * y * n * n, at + 8 * y * n
        solve(lower, plain, not_unit, size, factor, size, side, one)
        solve(lower, transposed, not_unit, size, factor, size, side, one)


def half_solve(factor: Array, sides: Array) -> None:
    """Each row of ``(k, n)`` right-hand sides times the inverse of the factor alone, in place."""
    n, count = _int(len(factor)), _int(len(sides))
    letters = (_letter(c) for c in (b"L", b"L", b"N", b"N"))
    at = factor.ctypes.data, sides.ctypes.data
    _routine("dtrsm")(*letters, n, count, _ONE, at[0], n, at[1], n)

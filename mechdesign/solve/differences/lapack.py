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

#: Of numbers of eight bytes or of four.
Matrix = NDArray[np.float64] | NDArray[np.float32]

_INT, _CHAR = (ctypes.POINTER(t) for t in (ctypes.c_int, ctypes.c_char))
_SCALAR, _REAL = ctypes.c_void_p, ctypes.c_void_p
# Names without the letter that says how many bytes a number has.
_SIGNATURES: dict[str, tuple[str, tuple[Any, ...]]] = {
    "potrf": ("cython_lapack", (_CHAR, _INT, _REAL, _INT, _INT)),
    "trtri": ("cython_lapack", (_CHAR, _CHAR, _INT, _REAL, _INT, _INT)),
    "trsv": ("cython_blas", (_CHAR, _CHAR, _CHAR, _INT, _REAL, _INT, _REAL, _INT)),
    "syrk": (
        "cython_blas",
        (_CHAR, _CHAR, _INT, _INT, _SCALAR, _REAL, _INT, _SCALAR, _REAL, _INT),
    ),
    "trsm": (
        "cython_blas",
        (_CHAR, _CHAR, _CHAR, _CHAR, _INT, _INT, _SCALAR, _REAL, _INT, _REAL, _INT),
    ),
    "trmm": (
        "cython_blas",
        (_CHAR, _CHAR, _CHAR, _CHAR, _INT, _INT, _SCALAR, _REAL, _INT, _REAL, _INT),
    ),
}

# Triangles up to this size are inverted by LAPACK, which is slow at it; larger ones in halves.
# Rows of their inverses are multiplied so many at a time.
_SMALL = 64


class _Kind:
    """The routines for numbers of one size."""

    def __init__(self, letter: str, scalar: Any) -> None:
        self.letter, self.scalar, self.bytes = letter, scalar, ctypes.sizeof(scalar)
        self.one, self.minus = self.number(1.0), self.number(-1.0)

    def number(self, value: float) -> Any:
        """A number as routines take it."""
        return ctypes.byref(self.scalar(value))

    def __call__(self, name: str) -> Any:
        return _routine(self.letter, name)


@cache
def _routine(letter: str, name: str) -> Any:
    import importlib

    room, arguments = _SIGNATURES[name]
    capsule = importlib.import_module(f"scipy.linalg.{room}").__pyx_capi__[letter + name]
    name_of = ctypes.pythonapi.PyCapsule_GetName
    name_of.restype, name_of.argtypes = ctypes.c_char_p, (ctypes.py_object,)
    address_of = ctypes.pythonapi.PyCapsule_GetPointer
    address_of.restype, address_of.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    address = address_of(capsule, name_of(capsule))
    return ctypes.CFUNCTYPE(None, *arguments)(address)


_DOUBLE, _SINGLE = _Kind("d", ctypes.c_double), _Kind("s", ctypes.c_float)


def _kind(matrix: Any) -> _Kind:
    return _SINGLE if matrix.dtype == np.float32 else _DOUBLE


@cache
def _letter(value: bytes) -> Any:
    return ctypes.byref(ctypes.c_char(value))


@cache
def _int(value: int) -> Any:
    return ctypes.byref(ctypes.c_int(value))


def factorise(matrix: Matrix) -> bool:
    """Cholesky factor over an ``(n, n)`` matrix, in place; whether it is positive definite."""
    failed, n = ctypes.c_int(), _int(len(matrix))
    factor = _kind(matrix)("potrf")
    factor(_letter(b"L"), n, matrix.ctypes.data, n, ctypes.byref(failed))
    return failed.value == 0


def invert_triangle(factor: Matrix) -> None:
    """The inverse W of a factor over it, in place."""
    _invert_triangle(_kind(factor), factor.ctypes.data, len(factor), len(factor))


def add_squares(inverse: Matrix, count: float, total: Matrix) -> None:
    """Add WᵀW, count times, to one triangle of a matrix, for the inverse W of a factor.

    What lies beside the triangle must be zero.
    """
    n, kind = len(inverse), _kind(inverse)
    add, times = kind("syrk"), kind.number(count)
    start, into = inverse.ctypes.data, total.ctypes.data
    letters = _letter(b"L"), _letter(b"T")
    for first in range(0, n, _SMALL):
        last = min(first + _SMALL, n)
        size, rows, at = _int(last), _int(last - first), start + kind.bytes * first
        add(*letters, size, rows, times, at, _int(n), kind.one, into, _int(n))


def _invert_triangle(kind: _Kind, start: int, size: int, apart: int) -> None:
    """The inverse over a triangle at an address, its columns so many entries apart."""
    if size <= _SMALL:
        failed = ctypes.c_int()
        kind("trtri")(
            _letter(b"L"), _letter(b"N"), _int(size), start, _int(apart), ctypes.byref(failed)
        )
        return
    half = size // 2
    rest, below = start + kind.bytes * half * (apart + 1), start + kind.bytes * half
    _invert_triangle(kind, start, half, apart)
    _invert_triangle(kind, rest, size - half, apart)
    multiply, lower, plain = kind("trmm"), _letter(b"L"), _letter(b"N")
    shape = _int(size - half), _int(half)
    for side, by, factor in ((lower, rest, kind.minus), (_letter(b"R"), start, kind.one)):
        multiply(side, lower, plain, plain, *shape, factor, by, _int(apart), below, _int(apart))


def solve_each(factors: Matrix, sides: Matrix) -> None:
    """Solve for a right-hand side ``(m, n)`` of each of ``(m, n, n)`` factors, in place."""
    n, kind = sides.shape[1], _kind(factors)
    solve, size, one = kind("trsv"), _int(n), _int(1)
    lower, not_unit = _letter(b"L"), _letter(b"N")
    plain, transposed = _letter(b"N"), _letter(b"T")
    start, at = factors.ctypes.data, sides.ctypes.data
    for y in range(len(sides)):
        factor, side = start + kind.bytes * y * n * n, at + kind.bytes * y * n
        solve(lower, plain, not_unit, size, factor, size, side, one)
        solve(lower, transposed, not_unit, size, factor, size, side, one)


def half_solve(factor: Matrix, sides: Matrix) -> None:
    """Each row of ``(k, n)`` right-hand sides times the inverse of the factor alone, in place."""
    n, count, kind = _int(len(factor)), _int(len(sides)), _kind(factor)
    letters = (_letter(c) for c in (b"L", b"L", b"N", b"N"))
    at = factor.ctypes.data, sides.ctypes.data
    kind("trsm")(*letters, n, count, kind.one, at[0], n, at[1], n)

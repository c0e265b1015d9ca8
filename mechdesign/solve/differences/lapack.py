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
    "dlauum": ("cython_lapack", (_CHAR, _INT, _REAL, _INT, _INT)),
    "dpotrs": ("cython_lapack", (_CHAR, _INT, _INT, _REAL, _INT, _REAL, _INT, _INT)),
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


_ONE, _MINUS = (ctypes.byref(ctypes.c_double(value)) for value in (1.0, -1.0))


def factorise(matrix: Array) -> bool:
    """Cholesky factor over an ``(n, n)`` matrix, in place; whether it is positive definite."""
    failed, n = ctypes.c_int(), _int(len(matrix))
    _routine("dpotrf")(_letter(b"L"), n, matrix.ctypes.data, n, ctypes.byref(failed))
    return failed.value == 0


def invert(factor: Array) -> None:
    """The inverse over a factor, in place; one triangle of it."""
    failed, n = ctypes.c_int(), len(factor)
    _invert_triangle(factor.ctypes.data, n, n)
    _routine("dlauum")(_letter(b"L"), _int(n), factor.ctypes.data, _int(n), ctypes.byref(failed))


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


def solve(factor: Array, sides: Array) -> None:
    """Solve for each row of ``(k, n)`` right-hand sides, in place."""
    failed, n = ctypes.c_int(), _int(len(factor))
    count, at = _int(len(sides)), (factor.ctypes.data, sides.ctypes.data)
    _routine("dpotrs")(_letter(b"L"), n, count, at[0], n, at[1], n, ctypes.byref(failed))


def half_solve(factor: Array, sides: Array) -> None:
    """Each row of ``(k, n)`` right-hand sides times the inverse of the factor alone, in place."""
    n, count = _int(len(factor)), _int(len(sides))
    letters = (_letter(c) for c in (b"L", b"L", b"N", b"N"))
    at = factor.ctypes.data, sides.ctypes.data
    _routine("dtrsm")(*letters, n, count, _ONE, at[0], n, at[1], n)

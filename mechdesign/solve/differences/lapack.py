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

_INT, _CHAR, _REAL = (ctypes.POINTER(t) for t in (ctypes.c_int, ctypes.c_char, ctypes.c_double))
_SIGNATURES: dict[str, tuple[str, tuple[Any, ...]]] = {
    "dpotrf": ("cython_lapack", (_CHAR, _INT, _REAL, _INT, _INT)),
    "dpotri": ("cython_lapack", (_CHAR, _INT, _REAL, _INT, _INT)),
    "dpotrs": ("cython_lapack", (_CHAR, _INT, _INT, _REAL, _INT, _REAL, _INT, _INT)),
    "dtrsm": (
        "cython_blas",
        (_CHAR, _CHAR, _CHAR, _CHAR, _INT, _INT, _REAL, _REAL, _INT, _REAL, _INT),
    ),
}


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


def _letter(value: bytes) -> Any:
    return ctypes.byref(ctypes.c_char(value))


def _int(value: int) -> Any:
    return ctypes.byref(ctypes.c_int(value))


def _at(values: Array) -> Any:
    return values.ctypes.data_as(_REAL)


def factorise(matrix: Array) -> bool:
    """Cholesky factor over an ``(n, n)`` matrix, in place; whether it is positive definite."""
    failed, n = ctypes.c_int(), _int(len(matrix))
    _routine("dpotrf")(_letter(b"L"), n, _at(matrix), n, ctypes.byref(failed))
    return failed.value == 0


def invert(factor: Array) -> None:
    """The inverse over a factor, in place; one triangle of it."""
    failed, n = ctypes.c_int(), _int(len(factor))
    _routine("dpotri")(_letter(b"L"), n, _at(factor), n, ctypes.byref(failed))


def solve(factor: Array, sides: Array) -> None:
    """Solve for each row of ``(k, n)`` right-hand sides, in place."""
    failed, n = ctypes.c_int(), _int(len(factor))
    count = _int(len(sides))
    _routine("dpotrs")(_letter(b"L"), n, count, _at(factor), n, _at(sides), n, ctypes.byref(failed))


def half_solve(factor: Array, sides: Array) -> None:
    """Each row of ``(k, n)`` right-hand sides times the inverse of the factor alone, in place."""
    n, count, one = _int(len(factor)), _int(len(sides)), ctypes.byref(ctypes.c_double(1.0))
    letters = (_letter(c) for c in (b"L", b"L", b"N", b"N"))
    _routine("dtrsm")(*letters, n, count, one, _at(factor), n, _at(sides), n)

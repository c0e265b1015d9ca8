"""Priors, notions, utilities, kernels and dual numbers as plain values, and back."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import StorageError, quote
from .labels import Label
from .mechanism import Mechanism
from .prior import Prior
from .privacy.notion import NOTIONS, PrivacyNotion, notion_fields
from .reading import read_fraction, read_integer, write_fraction, write_integer
from .solve.method import Duals
from .solve.problem import Problem
from .utility import UTILITIES, Distance, Hamming, LinearUtility, Matrix, Utility

# Dual numbers of small problems may take this many entries.
_SMALL_MATRIX = 10**6
# Matrices of dual numbers that belong to one bound, with room to spare.
_MATRICES = 8
# Longer integers have no number in JSON that everybody reads.
_LONGEST_LABEL = 10_000


def problem_to_json(problem: Problem) -> dict[str, Any]:
    """What a design is asked for, as plain values; raises :class:`StorageError` as :func:`save`."""
    outputs = problem.outputs
    return {
        **asked_to_json(problem.prior, problem.notions, problem.utility, outputs),
        "outputs": [label_to_json(label) for label in outputs],
    }


def prior_to_json(prior: Prior) -> dict[str, Any]:
    """Labels, exact weights and probabilities of a prior, as plain values."""
    return {
        "labels": [label_to_json(label) for label in prior.labels],
        "weights": [write_integer(w) for w in prior.weights],
        "probabilities": prior.probabilities.tolist(),
    }


def asked_to_json(
    prior: Prior,
    notions: tuple[PrivacyNotion, ...],
    utility: Utility,
    outputs: tuple[Label, ...],
) -> dict[str, Any]:
    """Prior, notions and utility as plain values; raises :class:`StorageError`."""
    return {
        "prior": prior_to_json(prior),
        "notions": [notion_to_json(notion) for notion in notions],
        "utility": _utility_out(utility, prior, outputs),
    }


def _utility_out(utility: Utility, prior: Prior, outputs: tuple[Label, ...]) -> dict[str, Any]:
    if isinstance(utility, LinearUtility):
        gains = utility.gains(prior, outputs)
        return {"name": utility.spec, "gains": gains.tolist()}
    if _named_utility(utility.spec) is None:
        raise StorageError(
            f"save: {quote(utility)} is a function given at run time, which a file cannot hold; "
            "save found.mechanism instead, or derive a named class from FInformation or "
            "SublinearUtility whose constructor takes no arguments."
        )
    return {"name": utility.spec}


def _named_utility(name: str) -> Utility | None:
    """A registered utility other than a linear one, by the name it is saved under."""
    cls = UTILITIES.get(name)
    if cls is None or issubclass(cls, LinearUtility):
        return None
    try:
        utility = cls()
    except TypeError:
        return None
    return utility if utility.spec == name else None


def mechanism_to_json(mechanism: Mechanism) -> dict[str, Any]:
    """Integer weights and labels of a mechanism, as plain values."""
    return {
        "inputs": [label_to_json(label) for label in mechanism.inputs],
        "outputs": [label_to_json(label) for label in mechanism.outputs],
        "denominator_bits": mechanism.bits,
        "weights": [[write_integer(int(w)) for w in row] for row in mechanism.weights],
    }


def notion_to_json(notion: PrivacyNotion) -> dict[str, Any]:
    """Name and parameters of a notion as plain values; raises :class:`StorageError`."""
    values = {name: number_to_json(value) for name, value in notion_fields(notion).items()}
    return {"name": type(notion).__name__, "parameters": values}


def duals_to_json(duals: Duals) -> dict[str, Any]:
    """Dual numbers as plain values, matrices by their entries other than zero."""
    prices = None if duals.prices is None else duals.prices.tolist()
    multipliers = None
    if duals.multipliers is not None:
        multipliers = [[_sparse_out(part) for part in parts] for parts in duals.multipliers]
    found: dict[str, Any] = {"prices": prices, "multipliers": multipliers}
    if duals.sums is not None:
        found["averages"] = [[_sparse_out(part) for part in parts] for parts in duals.sums]
    if duals.offset or duals.power:
        found |= {"offset": duals.offset, "power": duals.power}
    return found


def _sparse_out(matrix: NDArray[np.float64]) -> dict[str, Any]:
    rows, columns = np.nonzero(matrix)
    return {
        "shape": list(matrix.shape),
        "rows": rows.tolist(),
        "columns": columns.tolist(),
        "values": matrix[rows, columns].tolist(),
    }


def number_to_json(value: Any) -> Any:
    """A parameter of a notion as a plain value; raises :class:`StorageError` for other things."""
    if isinstance(value, float) and math.isinf(value):
        return "inf"
    if value is None or isinstance(value, (int, float, str)):
        return value
    if isinstance(value, tuple):
        return [number_to_json(v) for v in value]
    if isinstance(value, Fraction):
        return {"fraction": write_fraction(value)}
    raise StorageError(
        f"parameter of a notion: expected numbers, text or tuples of these, got "
        f"{type(value).__name__}; save the mechanism alone, found.mechanism."
    )


def label_to_json(label: Label) -> Any:
    """A label as plain values; raises :class:`StorageError` for one that has no such form."""
    if isinstance(label, int) and label.bit_length() > _LONGEST_LABEL:
        raise StorageError(
            f"label {quote(label)}: expected an integer of at most {_LONGEST_LABEL} bits, got "
            "more; relabel before saving."
        )
    if isinstance(label, float) and math.isinf(label):
        return {"float": repr(label)}
    if label is None or (isinstance(label, (str, int, float, bool)) and label == label):
        return label
    if isinstance(label, tuple):
        return {"tuple": [label_to_json(part) for part in label]}
    raise StorageError(
        f"label {quote(label)}: expected text, a number or a tuple of these, got "
        f"{type(label).__name__}; relabel before saving."
    )


# From JSON


def prior_from_json(part: dict[str, Any]) -> Prior:
    """The exact prior that :func:`prior_to_json` wrote."""
    import warnings

    with warnings.catch_warnings():
        # Whoever made the design was told of symbols without mass.
        warnings.simplefilter("ignore")
        return Prior.from_counts(
            [read_fraction(w) for w in part["weights"]],
            [_label_in(label) for label in part["labels"]],
        )


def mechanism_from_json(part: dict[str, Any]) -> Mechanism:
    """The mechanism that :func:`mechanism_to_json` wrote, with its integer weights."""
    rows = [_weights_in(row) for row in part["weights"]]
    weights: NDArray[Any] = np.array(rows, dtype=object)
    if max(max(row) for row in rows) < 1 << 62:
        weights = weights.astype(np.int64)
    return Mechanism.from_weights(
        weights,
        read_integer(part["denominator_bits"]),
        [_label_in(label) for label in part["inputs"]],
        [_label_in(label) for label in part["outputs"]],
    )


def _weights_in(row: list[Any]) -> list[int]:
    """A row of integers; at once where all are short runs of digits, as they nearly always are."""
    if all(type(word) is str for word in row):
        digits = "".join(row)
        if digits.isascii() and digits.isdigit() and all(0 < len(word) < 4000 for word in row):
            return list(map(int, row))
    return [read_integer(word) for word in row]


def notion_from_json(part: dict[str, Any], name: str) -> PrivacyNotion:
    """The notion that was written; raises :class:`StorageError` for one that is not known."""
    cls = NOTIONS.get(part["name"].lower())
    if cls is None:
        raise StorageError(
            f"{name}: the notion {quote(part['name'])} is not known here; import the module that "
            "defines it, then load again."
        )
    return cls(**{key: number_from_json(value) for key, value in part["parameters"].items()})


def utility_from_json(
    part: dict[str, Any], prior: Prior, outputs: tuple[Label, ...], file: str
) -> Utility:
    """The utility that was written: a named one, or its matrix of gains over the outputs."""
    if "gains" not in part:
        utility = _named_utility(str(part["name"]))
        if utility is None:
            raise StorageError(
                f"{file}: the utility {quote(part['name'])} is not known here; import the "
                "module that defines it, then load again."
            )
        return utility
    gains = np.array(part["gains"], dtype=float)
    kind, _, detail = part["name"].partition(":")
    named: LinearUtility | None = None
    if kind == "hamming":
        named = Hamming()
    elif kind == "distance" and detail in ("absolute", "squared", "discrete"):
        named = Distance(detail)
    if named is not None and np.array_equal(named.gains(prior, outputs), gains):
        return named
    return Matrix(gains, outputs)


def duals_from_json(part: dict[str, Any], problem: Problem) -> Duals:
    """The dual numbers that :func:`duals_to_json` wrote, for the problem they are of.

    Raises ``ValueError`` for matrices larger than any dual numbers of the problem, each alone or
    all together, before they are made.
    """
    prior, parts = problem.program.prior, problem.program.cone.parts
    hypotheses = [part.width for part in parts]
    side = max(len(problem.prior), len(problem.outputs))
    most = max(_SMALL_MATRIX, 4 * side * max([side, *hypotheses]))
    prices = None if part["prices"] is None else np.array(part["prices"], dtype=float)
    if prices is not None and (prices.shape != (len(prior),) or not np.isfinite(prices).all()):
        raise ValueError(f"prices of shape {prices.shape} for {len(prior)} symbols")
    lists = [part["multipliers"], part.get("averages")]
    total = sum(_entries(matrix) for parts in lists for row in parts or () for matrix in row)
    if total > _MATRICES * most * max(1, len(problem.notions), len(parts)):
        raise ValueError(f"dual numbers of {total} entries together")
    multipliers, sums = (
        None if parts is None else tuple(tuple(_sparse_in(m, most) for m in row) for row in parts)
        for parts in lists
    )
    offset, power = float(part.get("offset", 0.0)), read_integer(part.get("power", 0))
    return Duals(prices, multipliers, sums, offset=offset, power=power)


def _entries(part: dict[str, Any]) -> int:
    rows, columns = (read_integer(size) for size in part["shape"])
    return max(rows, 0) * max(columns, 0)


def _sparse_in(part: dict[str, Any], most: int) -> NDArray[np.float64]:
    rows, columns = (read_integer(size) for size in part["shape"])
    if not (rows > 0 and columns > 0 and rows * columns <= most):
        raise ValueError(f"dual numbers of shape {rows}×{columns}, where {most} entries fit")
    matrix = np.zeros((rows, columns))
    matrix[part["rows"], part["columns"]] = part["values"]
    return matrix


def number_from_json(value: Any) -> Any:
    """The inverse of :func:`number_to_json`; tuples for lists."""
    if value == "inf":
        return math.inf
    if isinstance(value, dict):
        return read_fraction(value["fraction"])
    return tuple(number_from_json(v) for v in value) if isinstance(value, list) else value


def _label_in(label: Any) -> Label:
    if not isinstance(label, dict):
        return label
    if "float" in label:
        return float(label["float"])
    return tuple(_label_in(part) for part in label["tuple"])

"""Labels, parameters and questions as plain values of JSON, and back."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, time
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from .errors import StorageError, quote
from .exact import Level, read_fraction, write_fraction
from .labels import Label, tidy
from .privacy.notion import bits, ratio
from .utility.questions import Question

# Longer integers have no number in JSON that everybody reads.
_LONGEST_LABEL = 10_000


# Values that JSON has no word for: how they are named, and written as text and read again.
_TYPED: dict[str, tuple[type, Any, Any]] = {
    "date": (date, date.isoformat, date.fromisoformat),
    "timestamp": (datetime, datetime.isoformat, datetime.fromisoformat),
    "time": (time, time.isoformat, time.fromisoformat),
    "decimal": (Decimal, str, Decimal),
    "bytes": (bytes, bytes.hex, bytes.fromhex),
    "fraction": (Fraction, write_fraction, read_fraction),
}


def _typed_to_json(value: Any) -> dict[str, str] | None:
    """A value as its type with a text; ``None`` for others."""
    is_odd = isinstance(value, Decimal) and not value.is_finite()
    if is_odd or getattr(value, "tzinfo", None) not in (None, UTC):
        return None
    told = (
        {name: write(value)} for name, (kind, write, _) in _TYPED.items() if type(value) is kind
    )
    return next(told, None)


def _typed_from_json(told: dict[str, Any]) -> Any:
    """The inverse of :func:`_typed_to_json`; raises errors of Python for anything else."""
    ((name, text),) = told.items()
    return _TYPED[name][2](text)


def number_to_json(value: Any) -> Any:
    """A parameter of a notion or utility as a plain value; :class:`StorageError` for others."""
    value = tidy(value)
    if isinstance(value, float) and math.isinf(value):
        return "inf" if value > 0 else "-inf"
    if isinstance(value, str) and value in ("inf", "-inf"):
        return {"text": value}
    if value is None or isinstance(value, (int, float, str)):
        return value
    if isinstance(value, tuple):
        return [number_to_json(v) for v in value]
    if (typed := _typed_to_json(value)) is not None:
        return typed
    raise StorageError(
        f"parameter of a notion or utility: expected numbers, text or tuples of these, got "
        f"{type(value).__name__}; save the mechanism alone, found.mechanism."
    )


def number_from_json(value: Any) -> Any:
    """The inverse of :func:`number_to_json`; tuples for lists."""
    if value in ("inf", "-inf"):
        return float(value)
    if isinstance(value, dict):
        return value["text"] if "text" in value else _typed_from_json(value)
    return tuple(number_from_json(v) for v in value) if isinstance(value, list) else value


def level_to_json(level: float) -> Any:
    """A level of a notion as a plain value: a number, or what says exactly which it is."""
    if not isinstance(level, Level):
        return number_to_json(level)
    kind, value = level.told
    return {kind: write_fraction(value)}


def level_from_json(value: Any) -> Any:
    """The inverse of :func:`level_to_json`."""
    if isinstance(value, dict) and value.keys() <= {"ln", "bits"}:
        ((kind, text),) = value.items()
        return ratio(text) if kind == "ln" else bits(text)
    return number_from_json(value)


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
    if (typed := _typed_to_json(label)) is not None:
        return typed
    raise StorageError(
        f"label {quote(label)}: expected text, a number, a date, bytes or a tuple of these, got "
        f"{type(label).__name__}; relabel before saving."
    )


def label_from_json(label: Any) -> Label:
    """The inverse of :func:`label_to_json`."""
    if not isinstance(label, dict):
        return label
    if "float" in label:
        return {"inf": math.inf, "-inf": -math.inf}[label["float"]]
    if "tuple" in label:
        return tuple(label_from_json(part) for part in label["tuple"])
    return _typed_from_json(label)


def question_to_json(question: Question) -> dict[str, Any]:
    """Coefficients, a row for each answer, and names of the answers as plain values."""
    return {
        "questions": question.weights.T.tolist(),
        "answers": [label_to_json(label) for label in question.labels],
    }


def question_from_json(part: dict[str, Any]) -> Question | None:
    """The inverse of :func:`question_to_json`; ``None`` where a file asks nothing.

    Raises errors of Python for what has another form.
    """
    if not {"questions", "answers"} & part.keys():
        return None
    rows, answers = part["questions"], part["answers"]
    if len(rows) != len(answers):
        raise ValueError(f"{len(answers)} names for {len(rows)} answers")
    return Question(tuple(map(label_from_json, answers)), np.array(rows, dtype=float).T)

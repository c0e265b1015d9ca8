"""Labels, parameters and questions as plain values of JSON, and back."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from .errors import StorageError, quote
from .exact import read_fraction, write_fraction
from .labels import Label, tidy
from .utility.questions import Question

# Longer integers have no number in JSON that everybody reads.
_LONGEST_LABEL = 10_000


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
    if isinstance(value, Fraction):
        return {"fraction": write_fraction(value)}
    raise StorageError(
        f"parameter of a notion or utility: expected numbers, text or tuples of these, got "
        f"{type(value).__name__}; save the mechanism alone, found.mechanism."
    )


def number_from_json(value: Any) -> Any:
    """The inverse of :func:`number_to_json`; tuples for lists."""
    if value in ("inf", "-inf"):
        return float(value)
    if isinstance(value, dict):
        return value["text"] if "text" in value else read_fraction(value["fraction"])
    return tuple(number_from_json(v) for v in value) if isinstance(value, list) else value


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


def label_from_json(label: Any) -> Label:
    """The inverse of :func:`label_to_json`."""
    if not isinstance(label, dict):
        return label
    if "float" in label:
        return {"inf": math.inf, "-inf": -math.inf}[label["float"]]
    return tuple(label_from_json(part) for part in label["tuple"])


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
    for what in (rows, answers, *rows):
        if not isinstance(what, list):
            raise TypeError(f"expected a list of a question, got {quote(what, 40)}")
    if len(rows) != len(answers):
        raise ValueError(f"{len(answers)} names for {len(rows)} answers")
    for value in (value for row in rows for value in row):
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise TypeError(f"expected a coefficient of a question, got {quote(value, 40)}")
    return Question(tuple(map(label_from_json, answers)), np.array(rows, dtype=float).T)

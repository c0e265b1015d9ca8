"""A kernel as one ES module without dependencies; what it does is in ``client.mjs``."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from .. import __version__
from ..errors import KernelError, StorageError, quote
from ..exact import nearest_float, write_integer
from ..labels import Label
from ..mechanism import Mechanism
from ..published import PublicDesign
from ..release.receipts import make_receipt
from ..release.words import SeededWords
from ..stored_values import label_to_json

_TEMPLATE = Path(__file__).with_name("client.mjs")
_BLANK = "const DATA = null;\n"
# The largest integer that JavaScript has as a number among exact ones.
_SAFE = (1 << 53) - 1
# Letters that would end a script in a page.
_ESCAPES = {ord(letter): f"\\u{ord(letter):04x}" for letter in "<>&"}


class Device:
    """The words of a device, as a receipt names them."""

    source = "device (crypto.getRandomValues, remembered)"
    for_production = True


_SOURCES = {
    "system": Device.source,
    "key": "secret key of the user (BLAKE2b of each identity)",
    "test": SeededWords.source,
}


def client_module(
    columns: Sequence[tuple[Mechanism | PublicDesign, str]],
    *,
    together: str | None = None,
    combinations: Sequence[Sequence[int]] | None = None,
) -> str:
    """The text of the module for kernels, each in its public form with the name of its column.

    Parameters
    ----------
    columns : one kernel, or those of a plan
    together : what all reports of a plan guarantee, as a text
    combinations : positions of inputs for each combination that a guarantee is about, if not for
        all

    Raises :class:`StorageError` for labels that JavaScript has no value for.
    """
    parts = "".join(_column(mechanism, name, together) for mechanism, name in columns)
    known = "null"
    if combinations is not None:
        known = _array(_array(map(str, places)) for places in combinations)
    data = {
        "sources": _text(_SOURCES),
        "isPlan": _text(together is not None),
        "combinations": known,
        "columns": f"[\n{parts}  ]",
    }
    before, _, after = _TEMPLATE.read_text(encoding="utf-8").partition(_BLANK)
    return (
        f"// Made by mechdesign {__version__}.\n//\n{before}const DATA = {{\n"
        f"{_fields(data, 2)}}};\n{after}"
    )


def _column(mechanism: Mechanism | PublicDesign, column: str, together: str | None) -> str:
    receipt = replace(make_receipt(mechanism, column, Device), together=together)
    rows = (_array(f"{write_integer(int(w))}n" for w in row) for row in mechanism.weights)
    data = {
        "kernel": _text(receipt.kernel),
        "receipt": _text(receipt.to_json()),
        "inputs": _array(map(label_literal, mechanism.inputs)),
        "outputs": _array(map(label_literal, mechanism.outputs)),
        "bins": _bins(mechanism),
        "bits": str(mechanism.bits),
        "weights": "[\n" + "".join(f"        {row},\n" for row in rows) + "      ]",
    }
    return f"    {{\n{_fields(data, 6)}    }},\n"


def _fields(data: Mapping[str, str], indent: int) -> str:
    return "".join(f"{' ' * indent}{name}: {text},\n" for name, text in data.items())


def label_literal(label: Label) -> str:
    r"""A label as a JavaScript expression; integers beyond 2⁵³ as ``BigInt``, tuples as arrays.

    >>> print(label_literal(("</script>", 1 << 60, None, True)))
    ["\u003c/script\u003e", 1152921504606846976n, null, true]
    """
    plain = label_to_json(label)
    if isinstance(plain, dict) and not plain.keys() & {"float", "tuple"}:
        raise StorageError(
            f"label {quote(label)}: expected text, a number or a tuple of these, got a "
            f"{type(label).__name__}; relabel what devices report."
        )
    if isinstance(label, tuple):
        return _array(map(label_literal, label))
    if isinstance(label, int) and not isinstance(label, bool) and abs(label) > _SAFE:
        return f"{int(label)}n"
    if isinstance(label, float) and math.isinf(label):
        return "Infinity" if label > 0 else "-Infinity"
    return _text(label)


def _bins(mechanism: Mechanism) -> str:
    """The edges by which numbers of each attribute become labels; ``null`` without any."""
    schema = mechanism.schema
    if schema is None or not any(schema.bins):
        return "null"
    return _array("null" if bins is None else _edges(bins) for bins in schema.bins)


def _edges(bins: Any) -> str:
    finite = [edge for edge in bins.edges if not isinstance(edge, float)]
    if any(abs(edge) > _SAFE for edge in finite):
        raise KernelError(
            "bins",
            expected="edges whose size is below 2^53, among which numbers of JavaScript are exact",
            got="larger ones",
            remedy="choose other units",
        )
    edges = [label_literal(nearest_float(edge)) for edge in bins.edges]
    labels = _array(map(label_literal, bins.labels))
    sides = f"isLeft: {_text(bins.closed == 'left')}, isWhole: {_text(bins.whole)}"
    return f"{{edges: {_array(edges)}, {sides}, labels: {labels}}}"


def _text(value: Any) -> str:
    """JSON that stays what it is inside a script of a page."""
    return json.dumps(value).translate(_ESCAPES)


def _array(parts: Iterable[str]) -> str:
    return f"[{', '.join(parts)}]"

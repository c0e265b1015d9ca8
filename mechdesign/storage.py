"""Saving and loading designs and mechanisms, as JSON that is checked again when it is read.

A saved design carries the integer weights of the kernel, the exact prior, the notions, the
utility, and the dual numbers. Loading repeats the exact check of every notion and recomputes value,
bound and gaps, so a file that claims more privacy or a better optimum than its numbers bear out is
refused, even with a fitting digest. What cannot be computed from the numbers (which method and
solver found them, what the repair did) is a record, taken as it is.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import __version__
from .errors import CertificateError, InputError, StorageError
from .files import read_text, write_text
from .labels import Label
from .mechanism import Mechanism
from .prior import Prior
from .privacy.notion import NOTIONS, PrivacyNotion, notion_fields
from .solve.certificate import Certificate, examine
from .solve.designing import Agreement, Design
from .solve.methods import Duals, Multipliers
from .solve.problem import state_problem
from .solve.repair import Repair
from .tables import read_matrix
from .utility import UTILITIES, Distance, Hamming, LinearUtility, Matrix, Utility

FORMAT = "mechdesign"
SCHEMA = 1
_AGREEMENT = 1e-12
_LARGEST_MATRIX = 10**9


def save(item: Design | Mechanism, path: str | Path, *, overwrite: bool = False) -> None:
    """Write a design or a mechanism to a JSON file.

    The file appears under its name only when it is complete. Raises :class:`StorageError` when the
    file exists and ``overwrite`` is false, or when it cannot be written.

    Examples
    --------
    >>> import tempfile, mechdesign as md
    >>> found = md.design(md.Prior([.6, .4]), md.utility.Hamming(), md.LDP(1))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     md.save(found, folder + "/m.json")
    ...     md.load(folder + "/m.json").mechanism == found.mechanism
    True
    """
    write_text(json.dumps(to_json(item), indent=1) + "\n", path, overwrite=overwrite)


def load(path: str | Path) -> Design | Mechanism:
    """Read what :func:`save` wrote: a :class:`Design` or a :class:`Mechanism`.

    Raises :class:`StorageError` for an unknown schema version, a damaged file, or one whose
    contents do not bear out what it says.
    """
    return from_json(_parse(read_text(path), path), str(path))


def _parse(text: str, path: str | Path) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as problem:
        raise StorageError(
            f"file {path}: expected JSON written by mechdesign, got text that is no JSON "
            f"({problem}); pass a saved design, or a kernel as .csv."
        ) from None


def load_kernel(path: str | Path, *, normalise: bool = False) -> Design | Mechanism:
    """A kernel from any of the forms people keep them in, told apart by what the file holds.

    What :func:`save` wrote; a JSON array of rows; a JSON object with ``kernel`` and optionally
    ``inputs`` and ``outputs``; or a CSV matrix with labels.
    """
    text = "" if str(path).lower().endswith(".csv") else read_text(path)
    if text.lstrip()[:1] in ("{", "["):
        content = _parse(text, path)
        if isinstance(content, list):
            return Mechanism(content, normalise=normalise)
        if "kernel" in content and content.get("format") != FORMAT:
            return Mechanism(
                content["kernel"],
                content.get("inputs"),
                content.get("outputs"),
                normalise=normalise,
            )
        return from_json(content, str(path))
    matrix, inputs, outputs = read_matrix(path)
    return Mechanism(matrix, inputs, outputs, normalise=normalise)


def write_csv(mechanism: Mechanism, path: str | Path, *, overwrite: bool = False) -> None:
    """Write a kernel as CSV, see :func:`kernel_csv`."""
    write_text(kernel_csv(mechanism), path, overwrite=overwrite)


def kernel_csv(mechanism: Mechanism) -> str:
    """A kernel as CSV text: output labels in the header, input labels in the first column.

    Entries are written so that they read back as the same floats.
    """
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(["input", *mechanism.outputs])
    for label, row in zip(mechanism.inputs, mechanism.kernel, strict=True):
        writer.writerow([label, *(repr(float(value)) for value in row)])
    return buffer.getvalue()


# To JSON


def to_json(item: Design | Mechanism) -> dict[str, Any]:
    """What :func:`save` writes, as plain values."""
    if isinstance(item, Mechanism):
        body: dict[str, Any] = {"kind": "mechanism", "mechanism": mechanism_to_json(item)}
    elif isinstance(item, Design):
        body = _design_out(item)
    else:
        raise StorageError(
            f"save: expected a Design or a Mechanism, got {type(item).__name__}; pass the result "
            "of design()."
        )
    return seal({"format": FORMAT, "schema": SCHEMA, "version": __version__, **body})


def seal(content: dict[str, Any]) -> dict[str, Any]:
    """The content with the digest of everything in it."""
    return {**content, "digest": _digest(content)}


def _utility_out(item: Design) -> dict[str, Any]:
    utility = item.utility
    if isinstance(utility, LinearUtility):
        gains = utility.gains(item.prior, item.mechanism.outputs)
        return {"name": utility.spec, "gains": gains.tolist()}
    if _named_utility(utility.spec) is None:
        raise StorageError(
            f"save: {utility!r} is a function given at run time, which a file cannot hold; save "
            "found.mechanism instead, or derive a named class from FInformation or "
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


def _design_out(item: Design) -> dict[str, Any]:
    c = item.certificate
    return {
        "kind": "design",
        "prior": {
            "labels": [label_to_json(label) for label in item.prior.labels],
            "weights": [str(w) for w in item.prior.weights],
            "probabilities": item.prior.probabilities.tolist(),
        },
        "notions": [_notion_out(notion) for notion in item.notions],
        "utility": _utility_out(item),
        "mechanism": mechanism_to_json(item.mechanism),
        "method": item.method,
        "agreement": [vars(row) for row in item.agreement],
        "certificate": {
            "verdicts": [str(check.verdict) for check in c.checks],
            "achieved": [list(map(_number_out, check.achieved)) for check in c.checks],
            "value": c.value,
            "bound": c.bound,
            "bound_source": c.bound_source,
            "gap": c.gap,
            "gain_gap": c.gain_gap,
            "optimal": c.is_optimal,
            "repair": {
                "merged": list(c.repair.merged),
                "mixed": c.repair.mixed,
                "rounds": c.repair.rounds,
                "constant": c.repair.constant,
                "loss": c.repair_loss,
            },
            "solver": c.solver,
            "duals": _duals_out(c.duals),
            "fingerprint": c.fingerprint,
        },
    }


def mechanism_to_json(mechanism: Mechanism) -> dict[str, Any]:
    """Integer weights and labels of a mechanism, as plain values."""
    return {
        "inputs": [label_to_json(label) for label in mechanism.inputs],
        "outputs": [label_to_json(label) for label in mechanism.outputs],
        "denominator_bits": mechanism.bits,
        "weights": [[str(int(w)) for w in row] for row in mechanism.weights],
    }


def _notion_out(notion: PrivacyNotion) -> dict[str, Any]:
    values = {name: _number_out(value) for name, value in notion_fields(notion).items()}
    return {"name": type(notion).__name__, "parameters": values}


def _duals_out(duals: Duals) -> dict[str, Any]:
    prices = None if duals.prices is None else duals.prices.tolist()
    multipliers = None
    if duals.multipliers is not None:
        multipliers = [[_sparse_out(part) for part in parts] for parts in duals.multipliers]
    found = {"prices": prices, "multipliers": multipliers}
    if duals.averages is not None:
        found["averages"] = [[_sparse_out(part) for part in parts] for parts in duals.averages]
    return found


def _sparse_out(matrix: NDArray[np.float64]) -> dict[str, Any]:
    rows, columns = np.nonzero(matrix)
    return {
        "shape": list(matrix.shape),
        "rows": rows.tolist(),
        "columns": columns.tolist(),
        "values": matrix[rows, columns].tolist(),
    }


def _number_out(value: Any) -> Any:
    if isinstance(value, float) and math.isinf(value):
        return "inf"
    if value is None or isinstance(value, (int, float, str)):
        return value
    if isinstance(value, tuple):
        return [_number_out(v) for v in value]
    if isinstance(value, Fraction):
        return {"fraction": str(value)}
    raise StorageError(
        f"parameter of a notion: expected numbers, text or tuples of these, got "
        f"{type(value).__name__}; save the mechanism alone, found.mechanism."
    )


def label_to_json(label: Label) -> Any:
    """A label as plain values; raises :class:`StorageError` for one that has no such form."""
    if isinstance(label, float) and math.isinf(label):
        return {"float": repr(label)}
    if label is None or (isinstance(label, (str, int, float, bool)) and label == label):
        return label
    if isinstance(label, tuple):
        return {"tuple": [label_to_json(part) for part in label]}
    raise StorageError(
        f"label {label!r}: expected text, a number or a tuple of these, got "
        f"{type(label).__name__}; relabel before saving."
    )


def _digest(content: dict[str, Any]) -> str:
    kept = {key: value for key, value in content.items() if key != "digest"}
    text = json.dumps(kept, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


# From JSON


def from_json(content: Any, name: str = "file") -> Design | Mechanism:
    """The inverse of :func:`to_json`, with every claim checked again."""
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise StorageError(
            f"{name}: expected a file written by mechdesign, got something else; pass a saved "
            "design or mechanism."
        )
    if content.get("schema") != SCHEMA:
        raise StorageError(
            f"{name}: expected schema version {SCHEMA}, got {content.get('schema')!r} (written by "
            f"mechdesign {content.get('version', 'unknown')}); upgrade mechdesign to read it."
        )
    if content.get("digest") != _digest(content):
        raise StorageError(
            f"{name}: the contents do not match their digest, so the file was edited or damaged; "
            "design again, or take the original file."
        )
    try:
        if content["kind"] == "mechanism":
            return _mechanism_in(content["mechanism"])
        if content["kind"] == "design":
            return _design_in(content, name)
        raise StorageError(
            f"{name}: expected a design or a mechanism, got {content['kind']!r}; upgrade "
            "mechdesign to read it."
        )
    except StorageError:
        raise
    except InputError as problem:
        raise StorageError(f"{name}: {problem}") from None
    except (
        KeyError,
        TypeError,
        ValueError,
        IndexError,
        AttributeError,
        ArithmeticError,
    ) as problem:
        raise StorageError(
            f"{name}: a part is missing or has another form ({type(problem).__name__}: {problem}); "
            "design again, or take the original file."
        ) from None


def _design_in(content: dict[str, Any], name: str) -> Design:
    prior = _prior_in(content["prior"])
    mechanism = _mechanism_in(content["mechanism"])
    notions = tuple(_notion_in(part, name) for part in content["notions"])
    utility = _utility_in(content["utility"], prior, mechanism.outputs, name)
    saved = content["certificate"]
    outputs = mechanism.outputs if isinstance(utility, LinearUtility) else None
    problem = state_problem(prior, utility, notions, outputs)
    repair = saved["repair"]
    try:
        certificate = examine(
            problem,
            mechanism,
            _duals_in(saved["duals"]),
            Repair(
                tuple(map(int, repair["merged"])),
                float(repair["mixed"]),
                int(repair["rounds"]),
                bool(repair["constant"]),
            ),
            float(repair["loss"]),
            saved["solver"],
        )
    except CertificateError as failure:
        raise StorageError(f"{name}: the file was altered ({failure}); design again.") from None
    _compare_claims(content, certificate, prior, problem.width(certificate.value), name)
    if certificate.fingerprint != saved["fingerprint"]:
        raise StorageError(f"{name}: the fingerprint is that of another mechanism; design again.")
    agreement = tuple(Agreement(**row) for row in content["agreement"])
    return Design(
        mechanism,
        prior,
        utility,
        notions,
        str(content["method"]),
        certificate,
        agreement=agreement,
    )


def _compare_claims(
    content: dict[str, Any], certificate: Certificate, prior: Prior, width: float, name: str
) -> None:
    """Refuse a file whose claims its own numbers do not bear out."""
    saved = content["certificate"]
    margin = _AGREEMENT * max(1.0, width)
    gap_margin = margin / width if width > 0 else margin
    achieved = [level for check in certificate.checks for level in check.achieved]
    claims: list[tuple[str, Any, Any, float]] = [
        ("value", saved["value"], certificate.value, margin),
        ("bound", saved["bound"], certificate.bound, margin),
        ("gap", saved["gap"], certificate.gap, gap_margin),
        ("optimal", saved["optimal"], certificate.is_optimal, 0.0),
        ("verdicts", saved["verdicts"], [str(c.verdict) for c in certificate.checks], 0.0),
        ("achieved", [_number_in(v) for row in saved["achieved"] for v in row], achieved, 0.0),
        ("probabilities", content["prior"]["probabilities"], prior.probabilities.tolist(), 0.0),
    ]
    for claim, said, found, allowed in claims:
        same = abs(found - said) <= allowed if allowed else said == found
        if not same:
            raise StorageError(
                f"{name}: the file claims {claim} {said!r}, its numbers give {found!r}; design "
                "again."
            )


def _prior_in(part: dict[str, Any]) -> Prior:
    import warnings

    with warnings.catch_warnings():
        # Whoever made the design was told of symbols without mass.
        warnings.simplefilter("ignore")
        return Prior.from_counts(
            [Fraction(w) for w in part["weights"]], [_label_in(label) for label in part["labels"]]
        )


def _mechanism_in(part: dict[str, Any]) -> Mechanism:
    rows = [[int(w) for w in row] for row in part["weights"]]
    weights: NDArray[Any] = np.array(rows, dtype=object)
    if max(max(row) for row in rows) < 1 << 62:
        weights = weights.astype(np.int64)
    return Mechanism.from_weights(
        weights,
        int(part["denominator_bits"]),
        [_label_in(label) for label in part["inputs"]],
        [_label_in(label) for label in part["outputs"]],
    )


def _notion_in(part: dict[str, Any], name: str) -> PrivacyNotion:
    cls = NOTIONS.get(part["name"].lower())
    if cls is None:
        raise StorageError(
            f"{name}: the notion {part['name']!r} is not known here; import the module that "
            "defines it, then load again."
        )
    return cls(**{key: _number_in(value) for key, value in part["parameters"].items()})


def _utility_in(
    part: dict[str, Any], prior: Prior, outputs: tuple[Label, ...], file: str
) -> Utility:
    if "gains" not in part:
        utility = _named_utility(str(part["name"]))
        if utility is None:
            raise StorageError(
                f"{file}: the utility {part['name']!r} is not known here; import the module that "
                "defines it, then load again."
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


def _duals_in(part: dict[str, Any]) -> Duals:
    prices = None if part["prices"] is None else np.array(part["prices"], dtype=float)
    multipliers: tuple[Multipliers, ...] | None = None
    if part["multipliers"] is not None:
        multipliers = tuple(
            tuple(_sparse_in(matrix) for matrix in parts) for parts in part["multipliers"]
        )
    averages: tuple[Multipliers, ...] | None = None
    if part.get("averages") is not None:
        averages = tuple(tuple(_sparse_in(m) for m in parts) for parts in part["averages"])
    return Duals(prices, multipliers, averages)


def _sparse_in(part: dict[str, Any]) -> NDArray[np.float64]:
    rows, columns = (int(size) for size in part["shape"])
    if not 0 < rows * columns <= _LARGEST_MATRIX:
        raise ValueError(f"dual numbers of shape {rows}×{columns}")
    matrix = np.zeros((rows, columns))
    matrix[part["rows"], part["columns"]] = part["values"]
    return matrix


def _number_in(value: Any) -> Any:
    if value == "inf":
        return math.inf
    if isinstance(value, dict):
        return Fraction(value["fraction"])
    return tuple(_number_in(v) for v in value) if isinstance(value, list) else value


def _label_in(label: Any) -> Label:
    if not isinstance(label, dict):
        return label
    if "float" in label:
        return float(label["float"])
    return tuple(_label_in(part) for part in label["tuple"])

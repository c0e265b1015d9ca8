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
from pathlib import Path
from typing import Any

from . import __version__
from .errors import CertificateError, InputError, StorageError
from .files import read_text, write_text
from .mechanism import Mechanism
from .prior import Prior
from .release.published import PublicDesign
from .serialising import (
    asked_to_json,
    duals_from_json,
    duals_to_json,
    mechanism_from_json,
    mechanism_to_json,
    notion_from_json,
    notion_to_json,
    number_from_json,
    number_to_json,
    prior_from_json,
    utility_from_json,
)
from .solve.certificate import Certificate, examine
from .solve.designing import Agreement, Design
from .solve.problem import state_problem
from .solve.repair import Repair
from .tables import read_matrix
from .utility import LinearUtility

FORMAT = "mechdesign"
SCHEMA = 1
_AGREEMENT = 1e-12


def save(
    item: Design | Mechanism, path: str | Path, *, overwrite: bool = False, public: bool = False
) -> None:
    """Write a design or a mechanism to a JSON file.

    The file appears under its name only when it is complete. The file of a design holds its prior
    exactly, which may be the counts of people, so that only its owner may read it; with ``public``
    it holds what others may have: kernel, labels and guarantee, without the prior. That loads as a
    :class:`PublicDesign`, from which estimates and plans are made as from any mechanism.

    Raises :class:`StorageError` when the file exists and ``overwrite`` is false, or when it cannot
    be written.

    Examples
    --------
    >>> import tempfile, mechdesign as md
    >>> found = md.design(md.Prior([.6, .4]), md.utility.Hamming(), md.LDP(1))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     md.save(found, folder + "/m.json")
    ...     md.load(folder + "/m.json").mechanism == found.mechanism
    True
    """
    if public and isinstance(item, Design):
        item = PublicDesign.of(item.mechanism, item.notions)
    text = json.dumps(to_json(item), indent=1) + "\n"
    write_text(text, path, overwrite=overwrite, private=isinstance(item, Design))


def load(path: str | Path) -> Design | Mechanism:
    """Read what :func:`save` wrote: a :class:`Design`, a :class:`Mechanism`, or a
    :class:`PublicDesign`, which is one with a guarantee.

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
    if isinstance(item, PublicDesign):
        body: dict[str, Any] = {
            "kind": "public",
            "mechanism": mechanism_to_json(item),
            "notions": [notion_to_json(notion) for notion in item.notions],
            "fingerprint": item.fingerprint,
        }
    elif isinstance(item, Mechanism):
        body = {"kind": "mechanism", "mechanism": mechanism_to_json(item)}
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


def _design_out(item: Design) -> dict[str, Any]:
    c = item.certificate
    return {
        "kind": "design",
        **asked_to_json(item.prior, item.notions, item.utility, item.mechanism.outputs),
        "mechanism": mechanism_to_json(item.mechanism),
        "method": item.method,
        "agreement": [vars(row) for row in item.agreement],
        "certificate": {
            "verdicts": [str(check.verdict) for check in c.checks],
            "achieved": [list(map(number_to_json, check.achieved)) for check in c.checks],
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
            "duals": duals_to_json(c.duals),
            "fingerprint": c.fingerprint,
        },
    }


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
            return mechanism_from_json(content["mechanism"])
        if content["kind"] == "design":
            return _design_in(content, name)
        if content["kind"] == "public":
            return _public_in(content, name)
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


def _public_in(content: dict[str, Any], name: str) -> PublicDesign:
    notions = [notion_from_json(part, name) for part in content["notions"]]
    try:
        made = PublicDesign.of(mechanism_from_json(content["mechanism"]), notions)
    except CertificateError as failure:
        raise StorageError(f"{name}: the file was altered ({failure}); get it again.") from None
    if made.fingerprint != content["fingerprint"]:
        raise StorageError(f"{name}: the fingerprint is that of another design; get it again.")
    return made


def _design_in(content: dict[str, Any], name: str) -> Design:
    prior = prior_from_json(content["prior"])
    mechanism = mechanism_from_json(content["mechanism"])
    notions = tuple(notion_from_json(part, name) for part in content["notions"])
    utility = utility_from_json(content["utility"], prior, mechanism.outputs, name)
    saved = content["certificate"]
    outputs = mechanism.outputs if isinstance(utility, LinearUtility) else None
    problem = state_problem(prior, utility, notions, outputs)
    repair = saved["repair"]
    try:
        certificate = examine(
            problem,
            mechanism,
            duals_from_json(saved["duals"]),
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
        (
            "achieved",
            [number_from_json(v) for row in saved["achieved"] for v in row],
            achieved,
            0.0,
        ),
        ("probabilities", content["prior"]["probabilities"], prior.probabilities.tolist(), 0.0),
    ]
    for claim, said, found, allowed in claims:
        same = abs(found - said) <= allowed if allowed else said == found
        if not same:
            raise StorageError(
                f"{name}: the file claims {claim} {said!r}, its numbers give {found!r}; design "
                "again."
            )

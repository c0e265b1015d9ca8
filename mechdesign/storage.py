"""Saving and loading designs and mechanisms, as JSON that is checked again when it is read.

A saved design carries the integer weights of the kernel, the exact prior, the notions, the
utility, and the dual numbers. Loading repeats the exact check of every notion and recomputes value,
bound and gaps, so a file that claims more privacy or a better optimum than its numbers bear out is
refused, even with a fitting digest. What cannot be computed from the numbers is a record and proves
nothing: the method is kept where it could have found the kernel, and what it promises beyond the
certificate only where it finds that kernel again; the solver is kept where its name is one of ours,
and what the repair did where it is possible; what other methods found is written, but never read
back.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import math
from pathlib import Path
from typing import Any

from . import __version__
from .errors import (
    CertificateError,
    CountsWarning,
    InputError,
    StorageError,
    quote,
    visible,
    warn,
)
from .files import write_text
from .labels import excel_safe_cell
from .mechanism import Mechanism
from .prior import Prior
from .published import PublicDesign, needs_prior
from .reading import parse_json, read_json, read_text
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
from .solve.certificate import GAP_TOLERANCE, UNKNOWN, Certificate, examine
from .solve.designing import Agreement, Design, confirmed_method, confirmed_solver
from .solve.problem import state_problem
from .solve.repair import Repair
from .tables import read_matrix
from .utility import LinearUtility

FORMAT = "mechdesign"
SCHEMA = 1
_AGREEMENT = 1e-12
_LONGEST_NAME = 200


def save(
    item: Design | Mechanism, path: str | Path, *, overwrite: bool = False, public: bool = False
) -> None:
    """Write a design or a mechanism to a JSON file.

    The file appears under its name only when it is complete. The file of a design holds its prior
    exactly, which may be the counts of people, so that only its owner may read it; with ``public``
    it holds what others may have: kernel, labels and guarantee, without the prior. That loads as a
    :class:`PublicDesign`, from which estimates and plans are made as from any mechanism.

    Raises :class:`StorageError` when the file exists and ``overwrite`` is false, or when it cannot
    be written. Warns (:class:`CountsWarning`) when a public kernel tells the masses of its prior.

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
        _warn_of_fitted(item)
        item = PublicDesign.of(item.mechanism, item.notions)
    text = json.dumps(to_json(item), indent=1) + "\n"
    write_text(text, path, overwrite=overwrite, private=isinstance(item, Design))


def _warn_of_fitted(item: Design) -> None:
    """Warn that the kernel of a notion of its prior is a function of the masses."""
    fitted = [str(notion) for notion in item.notions if needs_prior(notion)]
    if fitted and len(set(item.prior.weights)) > 1:
        warn(
            f"the public form holds no prior, but {fitted[0]} is about one, and its masses can "
            "often be computed from the entries of a kernel that was fitted to it; where they were "
            "counted in the data, design under LDP or for a rounded prior before others get the "
            "kernel",
            CountsWarning,
        )


def load(path: str | Path) -> Design | Mechanism:
    """Read what :func:`save` wrote: a :class:`Design`, a :class:`Mechanism`, or a
    :class:`PublicDesign`, which is one with a guarantee.

    Raises :class:`StorageError` for an unknown schema version, a damaged file, or one whose
    contents do not bear out what it says.
    """
    return from_json(read_json(path), str(path))


def load_kernel(path: str | Path, *, normalise: bool = False) -> Design | Mechanism:
    """A kernel from any of the forms people keep them in, told apart by what the file holds.

    What :func:`save` wrote; a JSON array of rows; a JSON object with ``kernel`` and optionally
    ``inputs`` and ``outputs``; or a CSV matrix with labels.
    """
    text = "" if str(path).lower().endswith(".csv") else read_text(path)
    if text.lstrip("\ufeff \t\r\n")[:1] in ("{", "["):
        content = parse_json(text, f"file {path}")
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


def write_csv(
    mechanism: Mechanism, path: str | Path, *, overwrite: bool = False, excel_safe: bool = False
) -> None:
    """Write a kernel as CSV, see :func:`kernel_csv`."""
    write_text(kernel_csv(mechanism, excel_safe=excel_safe), path, overwrite=overwrite)


def kernel_csv(mechanism: Mechanism, *, excel_safe: bool = False) -> str:
    """A kernel as CSV text: output labels in the header, input labels in the first column.

    Entries are written so that they read back as the same floats. With ``excel_safe`` labels that
    a spreadsheet would run get an apostrophe, see :func:`mechdesign.labels.excel_safe_cell`; such
    a file names other labels.
    """
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    cell = excel_safe_cell if excel_safe else lambda label: label
    writer.writerow(["input", *map(cell, mechanism.outputs)])
    for label, row in zip(mechanism.inputs, mechanism.kernel, strict=True):
        writer.writerow([cell(label), *(repr(float(value)) for value in row)])
    return buffer.getvalue()


# To JSON


def to_json(item: Design | Mechanism) -> dict[str, Any]:
    """What :func:`save` writes, as plain values."""
    if isinstance(item, PublicDesign):
        body: dict[str, Any] = {
            "kind": "public",
            "mechanism": mechanism_to_json(item),
            "notions": [notion_to_json(notion) for notion in item.notions],
            **({"stated": list(item.stated)} if item.stated else {}),
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
        "agreement": [_agreement_out(row) for row in item.agreement],
        "certificate": {
            "verdicts": [str(check.verdict) for check in c.checks],
            "achieved": [list(map(number_to_json, check.achieved)) for check in c.checks],
            "value": number_to_json(c.value),
            "bound": number_to_json(c.bound),
            "bound_source": c.bound_source,
            "gap": _gap_out(c.gap),
            "gain_gap": c.gain_gap,
            "optimal": c.is_optimal,
            "arithmetic": "floats" if c.rests_on_floats else "exact",
            "repair": {
                "merged": list(c.repair.merged),
                "mixed": c.repair.mixed,
                "rounds": c.repair.rounds,
                "constant": c.repair.constant,
                "loss": _gap_out(c.repair_loss),
            },
            "solver": c.solver,
            "duals": duals_to_json(c.duals),
            "fingerprint": c.fingerprint,
        },
    }


def _agreement_out(row: Agreement) -> dict[str, Any]:
    return {
        **vars(row),
        "bound": number_to_json(row.bound),
        "gap": None if row.gap is None else _gap_out(row.gap),
    }


def _gap_out(gap: float) -> float | str:
    return gap if gap < UNKNOWN else "unknown"


def _gap_in(gap: Any) -> float:
    return UNKNOWN if gap == "unknown" else float(gap)


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
            f"{name}: expected schema version {SCHEMA}, got {quote(content.get('schema'))} "
            f"(written by mechdesign {quote(content.get('version', 'unknown'), 20)}); upgrade "
            "mechdesign to read it."
        )
    try:
        digest = _digest(content)
    except (ValueError, TypeError, RecursionError):
        raise StorageError(f"{name}: holds what is no JSON; take the original file.") from None
    if content.get("digest") != digest:
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
            f"{name}: expected a design or a mechanism, got {quote(content['kind'])}; upgrade "
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
            f"{name}: a part is missing or has another form ({type(problem).__name__}: "
            f"{visible(str(problem))[:200]}); "
            "design again, or take the original file."
        ) from None


def _public_in(content: dict[str, Any], name: str) -> PublicDesign:
    notions = [notion_from_json(part, name) for part in content["notions"]]
    stated = [_word(text) for text in content.get("stated", [])]
    try:
        made = PublicDesign.of(mechanism_from_json(content["mechanism"]), notions, stated)
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
    repair = _repair_in(saved["repair"], mechanism)
    try:
        certificate = examine(
            problem,
            mechanism,
            duals_from_json(saved["duals"], problem),
            repair,
            _loss_in(saved["repair"]["loss"]),
            confirmed_solver(_word(saved["solver"])),
        )
    except CertificateError as failure:
        raise StorageError(f"{name}: the file was altered ({failure}); design again.") from None
    _compare_claims(content, certificate, prior, problem.width(certificate.value), name)
    if certificate.fingerprint != saved["fingerprint"]:
        raise StorageError(f"{name}: the fingerprint is that of another mechanism; design again.")
    if not isinstance(content["agreement"], list):
        raise TypeError("the record of other methods is no list")
    method = confirmed_method(problem, _word(content["method"]), mechanism)
    return Design(mechanism, prior, utility, notions, method, certificate)


def _repair_in(part: dict[str, Any], mechanism: Mechanism) -> Repair:
    """The record of the repair; ``ValueError`` for one that no repair can have left."""
    merged, rounds, constant = part["merged"], part["rounds"], part["constant"]
    whole = [*merged, rounds]
    if not all(isinstance(v, int) and not isinstance(v, bool) and v >= 0 for v in whole):
        raise ValueError("the record of the repair holds other things than whole numbers")
    if not isinstance(constant, bool):
        raise TypeError("the record of the repair does not say whether the kernel is constant")
    if constant and (mechanism.weights != mechanism.weights[0]).any():
        raise ValueError("a constant kernel is claimed, and its rows differ")
    return Repair(tuple(merged), _share(part["mixed"], 1), rounds, constant)


def _loss_in(value: Any) -> float:
    return UNKNOWN if value == "unknown" else _share(value, math.inf)


def _share(value: Any, most: float) -> float:
    """A number from 0 to ``most``, finite."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"expected a number, got {quote(value)}")
    if not (0 <= value <= most and math.isfinite(value)):
        raise ValueError(f"expected a number from 0 to {most}, got {quote(value)}")
    return float(value)


def _word(text: Any) -> str:
    """A name of a method or a solver: one short line."""
    if not isinstance(text, str) or len(text) > _LONGEST_NAME or visible(text) != text:
        raise ValueError(
            f"expected a name of at most {_LONGEST_NAME} characters, got {quote(text)}"
        )
    return text


def _compare_claims(
    content: dict[str, Any], certificate: Certificate, prior: Prior, width: float, name: str
) -> None:
    """Refuse a file whose claims its own numbers do not bear out.

    Value, bound and gap are computed afresh. A file of a version that proved less, which does not
    name its arithmetic, may claim less than its numbers give; and where numbers are so small that
    rounding alone decided whether a design is optimal, what they give is what counts.
    """
    saved = content["certificate"]
    earlier = "arithmetic" not in saved
    margin = _AGREEMENT * max(1.0, width, abs(certificate.value))
    gap_margin = margin / width if width > 0 else margin
    achieved = [level for check in certificate.checks for level in check.achieved]
    value, bound = (number_from_json(saved[name]) for name in ("value", "bound"))
    gap, optimal = _gap_in(saved["gap"]), certificate.is_optimal
    claims: list[tuple[str, Any, Any, bool]] = [
        ("value", value, certificate.value, _near(value, certificate.value, margin)),
        ("bound", bound, certificate.bound, _near(bound, certificate.bound, margin, earlier)),
        ("gap", gap, certificate.gap, _near(gap, certificate.gap, gap_margin, earlier)),
        (
            "optimal",
            saved["optimal"],
            optimal,
            saved["optimal"] == optimal or (earlier and (optimal or gap_margin > GAP_TOLERANCE)),
        ),
    ]
    exact: list[tuple[str, Any, Any]] = [
        ("verdicts", saved["verdicts"], [str(c.verdict) for c in certificate.checks]),
        ("achieved", [number_from_json(v) for row in saved["achieved"] for v in row], achieved),
        ("probabilities", content["prior"]["probabilities"], prior.probabilities.tolist()),
    ]
    claims += [(claim, said, found, said == found) for claim, said, found in exact]
    for claim, said, found, borne_out in claims:
        if not borne_out:
            raise StorageError(
                f"{name}: the file claims {claim} {quote(said)}, its numbers give "
                f"{quote(found)}; design "
                "again."
            )


def _near(said: float, found: float, margin: float, or_more: bool = False) -> bool:
    return said == found or abs(found - said) <= margin or (or_more and said > found)

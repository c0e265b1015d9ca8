"""Whether a file says what its own numbers bear out, and in the form in which they are written."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from .certificate.certificate import UNKNOWN, Certificate
from .errors import GapWarning, InputError, quote, warn
from .exact import nearest_float, read_fraction
from .program.enclosures import SEARCHED

# What rounding may change of a value, a bound (or one of a search), as a share of what is gained.
_AGREEMENT, _SEARCHED = 1e-12, 1e-8
# Names in a file of what proves nothing, or of what is compared by compare_claims; of utilities;
# and of what is told apart by type.
_RECORDS = frozenset(
    ("version", "digest", "method", "agreement", "solver", "repair", "bound_source")
) | {"value", "bound", "bound_exact", "gap", "gain_gap", "optimal", "worst", "below_zero"}
_NAMES = frozenset(("name", "class", "parameters"))
_EXACT = frozenset(("parameters", "labels", "inputs", "outputs", "answers"))
#: Claims that another search from the same dual variables may prove otherwise.
_PROVED = ("bound", "bound_exact", "gap", "gain_gap", "optimal")


def difference(said: Any, own: Any, key: str = "", exact: bool = False) -> str | None:
    """The name of what does not stand in a file as its contents would be written, if anything.

    So a part that is there twice, in another order or of another type is refused; where ``exact``,
    as in labels, 1 is of another type than 1.0. Left out are records, which prove nothing, what was
    computed again before and may be otherwise in its last digits.
    """
    exact = exact or key in _EXACT
    pairs: Iterable[tuple[str, Any, Any]]
    if isinstance(said, dict) and isinstance(own, dict):
        left_out = _RECORDS | _NAMES if key == "utility" else _RECORDS
        a, b = said.keys() - left_out, own.keys() - left_out
        if a != b:
            return key or f"a part ({', '.join(sorted(a ^ b))})"
        pairs = ((name, said[name], own[name]) for name in b)
    elif isinstance(said, list) and isinstance(own, list) and len(said) == len(own):
        pairs = ((key, a, b) for a, b in zip(said, own, strict=True))
    else:
        types = {type(said), type(own)}
        is_number = types == {int, float} and type(own) is float and not no_double(said)
        same = len(types) == 1 or (is_number and not exact)
        return None if same and said == own else key
    found = (difference(a, b, name, exact) for name, a, b in pairs)
    return next((name for name in found if name is not None), None)


def no_double(value: Any) -> bool:
    """Whether a value is an integer that not every reader of JSON has as a double."""
    return type(value) is int and abs(value) > 1 << 53


def settled(
    saved: dict[str, Any],
    certificate: Certificate,
    found: dict[str, Any],
    width: float,
    limit: float,
) -> dict[str, Any]:
    """The claims with the bound that is proved here, where a longer search may have proved more.

    A claim that is better than what is proved is told and not kept. Raises :class:`InputError` for
    one that the kernel itself refutes.
    """
    value, bound, gap = certificate.value, _number(saved["bound"]), _number(saved["gap"])
    margin = _SEARCHED * max(v for v in (1.0, width, abs(value)) if v < math.inf)
    exact = saved["bound_exact"]
    least = bound if exact is None else min(bound, nearest_float(read_fraction(exact)))
    if not (bound >= value and least >= value - _AGREEMENT * max(1.0, abs(value)) and gap >= 0):
        raise InputError(
            f"the file claims bound {quote(bound)} and gap {quote(saved['gap'])}, its "
            f"kernel has the value {quote(value)}; design again."
        )
    better = least < certificate.bound - margin or gap * width < certificate.gap * width - margin
    if better or (saved["optimal"] and not certificate.is_optimal):
        warn(
            f"the file claims a bound of {least:.9g} and a gap of {gap:.2g}, which was not "
            f"proved within {limit:g} seconds; {certificate.bound:.9g} and {certificate.gap:.2g} "
            "were and are kept; design again with the time limit that it was made with",
            GapWarning,
        )
    return saved | {claim: found[claim] for claim in _PROVED}


def compare_claims(
    saved: dict[str, Any], certificate: Certificate, found: dict[str, Any], width: float
) -> None:
    """Raise :class:`InputError` for claims that the numbers of a file do not bear out.

    Value, bound and gaps are computed afresh. A bound of a search may end a little elsewhere, and
    functions given in floats may be rounded otherwise; another bound from the same dual variables
    may be a little smaller than what was stated, never larger. All else is the same to the last
    digit.
    """
    searched = certificate.bound_source.removesuffix(", at the least favourable truth") == SEARCHED
    agreement = _SEARCHED if searched else _AGREEMENT
    margin = agreement * max(v for v in (1.0, width, abs(certificate.value)) if v < math.inf)
    rough = searched or certificate.rests_on_floats or "worst" in saved
    is_other = saved["bound_exact"] != found["bound_exact"]
    shares = margin / width if width > 0 else margin
    room = dict[str, float]()
    if rough or is_other:
        room |= {"bound": margin, "bound_exact": margin, "gap": shares}
        if certificate.gain_gap and 0 < certificate.gap < UNKNOWN:
            room["gain_gap"] = shares * certificate.gain_gap / certificate.gap
    if rough:
        room["value"] = margin
    for claim in ("value", "value_exact", *_PROVED, "verdicts", "achieved", "arithmetic"):
        said, own = saved[claim], found[claim]
        near = said == own and isinstance(said, bool) is isinstance(own, bool)
        if not near and claim in room and None not in (said, own):
            exact = claim.endswith("_exact")
            a, b = ((read_fraction if exact else _number)(value) for value in (said, own))
            near = bool(abs(float(a - b)) <= room[claim] and (rough or a >= b))
        if not near:
            raise InputError(
                f"the file claims {claim} {quote(said)}, its numbers give {quote(own)}; "
                "design again."
            )


def _number(value: Any) -> float:
    """A number of a certificate, infinite where it is unknown."""
    if isinstance(value, str):
        return {"inf": math.inf, "-inf": -math.inf, "unknown": UNKNOWN}[value]
    return float(read_fraction(value)) if math.isfinite(value) else math.nan

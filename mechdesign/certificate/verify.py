"""Does a saved file bear out what it claims? Proved from the file alone, in rational numbers.

Nothing but the standard library is imported, so that reading this file once is enough to trust it;
``FORMAT.md`` beside it says what a file means. Run it on its own, isolated from all else::

    python -I -S verify.py m.json

Every claim is *proved*, *refuted*, or *not proved here*, which is never a yes. Exit codes: 0 all
proved; 1 something refuted; 2 a file that cannot be read; 3 nothing refuted, but not all proved.
"""

# ruff: noqa: N802 (names of notions and requirements are those of a file)

from __future__ import annotations

import functools
import hashlib
import json
import math
import os
import re
import struct
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from itertools import pairwise, product
from typing import Any, NamedTuple

LARGEST_FILE, DEEPEST, LONGEST_NUMBER, MOST_DIGITS = 1 << 28, 64, 3600, 400_000
MOST_BITS, LARGEST_GAIN, LARGEST_LEVEL, EXP_DIGITS, TOLERANCE = 1 << 20, 1e150, 2000, 100, 1e-12
MOST_CELLS, LARGEST_BASE = 1 << 20, 1 << 31  # of all columns of a plan; of a subset selection
RISK_BITS, MOST_TOLD = 256, 60  # of entries of J, and symbols up to which it is inverted
NEAR = Fraction(1, 1 << 40)  # how far below the value a file may state it, as a share
MOST_LISTED, SMALLEST_SHARE = 12, 2.0**-60  # symbols whose columns are priced; of a truth
LONGEST_CLAIM, MOST_BRANCHES = 2000, 8000
MOST_GROUPS = 6  # of equal masses, of a subset selection
LARGEST_POWER = 8192  # bits of powers of rationals that are written out
MOST_CUT = 8  # symbols whose columns are priced where the cone is of another kind
GAP_TOLERANCE, NOTHING, ROW_TOLERANCE = Fraction(1e-6), Fraction(1e-11), Fraction(1e-6)
LEAST_WORK, WORK_PER_BYTE = 15_000_000, 40  # steps of arithmetic that a file may ask for
PROVED, REFUTED, OPEN, UNREADABLE = "proved", "refuted", "not proved here", "unreadable"
CODES = {REFUTED: 1, UNREADABLE: 2, OPEN: 3, PROVED: 0}  # the worst first
WRONG = ArithmeticError, AttributeError, LookupError, TypeError, ValueError, struct.error
_ZERO, _ONE = Fraction(0), Fraction(1)
_Terms = dict[tuple[int, int], Fraction]  # coefficients of the entries of a kernel
_Rows = Sequence[Sequence[Fraction]]


class UnreadableError(Exception):
    """What is no file of this format."""


class WorkError(Exception):
    """More work than a file may ask for."""


def _need(holds: Any, message: str) -> None:
    if not holds:
        raise UnreadableError(message)


_work = {"done": 0, "most": LEAST_WORK, "bits": 0}


def _afford(steps: int, bits: int = 0) -> None:
    """Count steps of a microsecond, or more on long numbers of the file, or of so many bits."""
    bits = max(bits, _work["bits"])
    _work["done"] += steps * (1 + bits // 256 + (bits >> 10) ** 2)
    if _work["done"] > _work["most"]:
        raise WorkError(f"it takes more than {_work['most']:,} steps of arithmetic")


class Report:
    """The claims of one file, each with its state and a detail."""

    def __init__(self) -> None:
        self.claims: list[dict[str, str]] = []

    def add(self, claim: str, holds: bool | None, detail: str = "") -> None:
        """A claim that holds, does not, or (``None``) is not decided here."""
        state = {True: PROVED, False: REFUTED, None: OPEN}[holds]
        self.claims.append({"claim": claim, "state": state, "detail": detail})

    @property
    def state(self) -> str:
        """The worst state of any claim."""
        return min((fact["state"] for fact in self.claims), key=list(CODES).index)


def _every(answers: Iterable[bool | None]) -> bool | None:
    """Whether all are true: false where one is false, else undecided where one is."""
    return min(answers, key=(False, None, True).index, default=True)


# The form of a file: JSON Schema, with ``length`` for lists that are as long as others of that name
# in the same file or, where it is a small letter, in the same definition, and ``double`` for
# numbers that are written with a point or an exponent

_Form = dict[str, Any]


def _list(item: _Form, length: str = "", least: int = 0, most: int | None = None) -> _Form:
    found = {"length": length, "minItems": least or int(bool(length)), "maxItems": most}
    return {"type": "array", "items": item} | {key: part for key, part in found.items() if part}


def _row(*items: _Form) -> _Form:
    return {
        "type": "array",
        "prefixItems": [*items],
        "minItems": len(items),
        "maxItems": len(items),
    }


def _object(needed: dict[str, Any], also: dict[str, Any] | None = None, **more: Any) -> _Form:
    return {"type": "object", "required": [*needed], "properties": needed | (also or {}), **more}


def _only(needed: dict[str, _Form], also: dict[str, _Form] | None = None) -> _Form:
    return _object(needed, also, additionalProperties=False)


def _any(*forms: _Form) -> _Form:
    return {"anyOf": [*forms]}


def _of(name: str) -> _Form:
    return {"$ref": f"#/$defs/{name}"}


def _numbers(*ends: float, **more: Any) -> _Form:
    named = ("minimum", "maximum")[: len(ends)]
    return {"type": "number"} | dict(zip(named, ends, strict=True)) | more


def _double(*ends: float, **more: Any) -> _Form:
    return _numbers(*ends, **more) | {"double": True}


def _whole(*ends: int) -> _Form:
    return _numbers(*ends) | {"type": "integer"}


def _by(key: str, forms: Mapping[Any, _Form]) -> list[_Form]:
    """What an object has beside a name of it, by that name."""
    found: list[_Form] = []
    for name, form in forms.items():
        same = next((rule for rule in found if rule["then"] == form), None)
        if same is None:
            found.append({"if": {"properties": {key: {"enum": [name]}}}, "then": form})
        else:
            same["if"]["properties"][key]["enum"].append(name)
    return found


def _matrices(item: _Form, n: str, m: str) -> _Form:
    return _list(_list(item, m), n)


_NULL, _FLAG, _TEXT, _NUMBER = ({"type": t} for t in ("null", "boolean", "string", "number"))
_INF: _Form = {"const": "inf"}
_ENDLESS: _Form = {"enum": ["inf", "-inf"]}
_NAME = _of("name")
_LABEL, _VALUE, _EXACT, _LEVEL = _of("label"), _of("parameter"), _of("exact"), _of("level")
_DAY, _HOUR = "[0-9]{4}-[0-9]{2}-[0-9]{2}", r"[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{6})?(\+00:00)?"
# How values that JSON has no word for are read, and what their texts look like.
_WRITTEN: dict[str, tuple[Callable[[str], Any], str]] = {
    "date": (date.fromisoformat, _DAY),
    "timestamp": (datetime.fromisoformat, f"{_DAY}T{_HOUR}"),
    "time": (time.fromisoformat, _HOUR),
    "decimal": (Decimal, r"-?[0-9]+(\.[0-9]+)?(E[+-][0-9]+)?"),
    "bytes": (bytes.fromhex, "([0-9a-f]{2})*"),
}
_FACTOR, _MASSES, _PRIORS, _FEATURE = map(_of, ("factor", "masses", "priors", "feature"))
_SHAPE, _PLACES, _VALUES = map(_of, ("shape", "places", "values"))
_LEVELS_OF = {"levels_of": _list(_row(_VALUE, _FACTOR), least=1)}
_SECRETS = {
    "secrets": _of("secrets"),
    "pairs": _of("pairs"),
    "priors": _PRIORS,
}
_DISTANCES = _any(
    {"enum": ["absolute", "discrete", "hamming", "euclidean"]},
    _row({"const": "graph"}, _list(_row(_VALUE, _VALUE, _EXACT))),
    _row({"const": "matrix"}, _matrices(_any(_double(0), _INF), "N", "N")),
)
_SETS = _any(
    _row({"const": "vertices"}, _list(_MASSES, least=1)),
    _row({"const": "floor"}, _EXACT),
    _row({"const": "box"}, _list(_row(_VALUE, _EXACT, _EXACT), least=1)),
    _row({"const": "ball"}, _MASSES, _EXACT),
)
_RELATION = _any({"enum": ["all", "adjacent", "hamming"]}, _list(_row(_VALUE, _VALUE)))
_DELTA = {"delta": _double(0, 1)}
_NO_MORE: dict[str, _Form] = {}
#: Parameters of notions beside their levels.
_NOTION_FORMS: dict[str, dict[str, _Form]] = {
    **dict.fromkeys(("PML", "PMC", "LIP", "ALIP", "LDP", "FreeLunch"), _NO_MORE),
    **dict.fromkeys(("MaximalLeakage", "MaximalCostLeakage", "MIPrivacy"), _NO_MORE),
    **dict.fromkeys(("SymbolPML", "SymbolPMC", "SymbolLIP", "InputDiscriminativeLDP"), _LEVELS_OF),
    "ContextAwareLDP": {"levels_of": _list(_row(_VALUE, _VALUE, _FACTOR))},
    "UtilityOptimisedLDP": {"sensitive": _VALUES},
    "InferenceCost": {"costs": _matrices(_double(0), "N", "guess")},
    "DP": {"neighbours": _RELATION},
    "MetricPrivacy": {"distances": _DISTANCES},
    "EntryPML": {"entries": _whole(1), "low": _EXACT, "high": _EXACT},
    "FeaturePML": {"feature": _FEATURE},
    "FeaturePMC": {"feature": _FEATURE},
    "ConditionalPML": {"side": _FEATURE},
    "ConditionalPMC": {"side": _FEATURE},
    "Pufferfish": _SECRETS,
    "RobustPML": {"priors": _SETS},
    "ApproximateLDP": _DELTA,
    "ApproximatePufferfish": _DELTA | _SECRETS,
    "MIPufferfish": {
        "features": _list(_list(_row(_VALUE, _row(_VALUE, _VALUE)), least=1), least=1),
        "priors": _PRIORS,
    },
}
_REAL, _COSTS, _END, _ROOM = map(_of, ("real", "costs", "end", "room"))
_TOLERANCE = {"tolerance": _ROOM}
_RIGHT = {"right": _list(_REAL, "rows"), "name": _NAME} | _TOLERANCE
#: Parameters of requirements.
_REQUIREMENT_FORMS: dict[str, dict[str, _Form]] = {
    "Entry": {"x": _VALUE, "y": _VALUE, "low": _END, "high": _END},
    "Diagonal": {"limits_of": _list(_row(_VALUE, _END, _END), least=1)},
    "Pattern": {"allowed": _COSTS},
    "Within": {"limit": _double(0), "distance": _any(_NULL, _COSTS)},
    "Monotone": {},
    "Symmetric": _TOLERANCE,
    "Rows": {"matrices": _list(_COSTS, "rows"), "sense": {"enum": ["<=", ">=", "=="]}} | _RIGHT,
    "Sums": {
        "shape": _SHAPE,
        "places": _list(_PLACES, "rows"),
        "values": _list(_list(_REAL), "rows"),
        "sense": {"enum": ["<=", "=="]},
    }
    | _RIGHT,
    "FewOutputs": {"most": _whole(1)},
    "Apart": {"symbols": _list(_VALUE, least=2)},
    "EveryOutput": {"coefficients": _list(_row(_VALUE, _REAL), least=2)},
    "Posterior": {
        "symbols": _VALUES,
        **dict.fromkeys(("low", "high"), _any(_NULL, _double(0))),
        "relative": _FLAG,
    },
    "Cost": {"costs": _COSTS, "limit": _REAL, "each": _FLAG},
    "LeastGain": {
        "gains": _COSTS,
        "least": _REAL,
        "masses": _any(_NULL, _list(_EXACT, "N")),
        "name": _NAME,
    },
    "OutputShare": {"y": _VALUE, "low": _double(0, 1), "high": _double(0, 1)},
    "Invariant": _TOLERANCE,
    "Unbiased": {"values": _list(_row(_VALUE, _REAL), least=1)} | _TOLERANCE,
    "EqualError": {
        "groups": _list(_VALUES, least=2),
        "tolerance": _double(1e-14),
        "costs": _any(_NULL, _COSTS),
    },
}


def _asked_forms(forms: dict[str, dict[str, _Form]], levels: bool) -> _Form:
    """Names with parameters: those of a name that is known are closed; others may be of others."""
    given = {}
    for name, also in forms.items():
        own = ("epsilon_l", "epsilon_u") if name == "ALIP" else ("epsilon",)
        parameters = _only(dict.fromkeys(own if levels else (), _LEVEL) | also)
        given[name] = {"properties": {"parameters": parameters}}
    open_ = {"type": "object", "additionalProperties": _any(_VALUE, _LEVEL)}
    free = open_ if levels else _FREE
    return _only({"name": _TEXT, "parameters": free}) | {"allOf": _by("name", given)}


_FREE, _LINEAR, _DUAL, _SAID = map(_of, ("parameters", "linear", "dual", "said"))
_PRIOR, _KERNEL, _HASH, _DIGITS = map(_of, ("prior", "kernel", "hash", "digits"))
_ASKED = _list(_of("notion"))
_GAIN = _numbers(-LARGEST_GAIN, LARGEST_GAIN)
_RECORD: dict[str, _Form] = {"name": _TEXT}
_CLASS: dict[str, _Form] = {"class": _TEXT, "parameters": _FREE}
_GAINS = _RECORD | {"gains": _of("gains")}
_QUESTIONS = {"questions": _matrices(_NUMBER, "F", "N"), "answers": _list(_LABEL, "F")}
_ESTIMATION = {"name": _TEXT, "weights": _of("weights"), "truth": _of("truths")}
_PART = {
    "utility": _LINEAR,
    "prior": _any(_NULL, _PRIOR),
    "weight": _numbers(exclusiveMinimum=0),
    "goal": _any(_NULL, _NUMBER),
}
_ASKED_UTILITY = _any(
    _LINEAR,
    _only(_RECORD | {"each": _FLAG, "refine": _FLAG, "parts": _list(_only(_PART), least=1)}),
    _only(_ESTIMATION | _QUESTIONS),
    _only(_ESTIMATION | dict.fromkeys(_QUESTIONS, _NULL)),
    _only(_RECORD),
    _only(_RECORD | _CLASS),
)
# Prices are as many as columns of ``inverse`` are long, which a reference would not compare.
_PRICES = {"prices": _any(_NULL, _list(_NUMBER, "n")), "multipliers": _of("multipliers")}
_MIXTURE = {"mixture": _list(_NUMBER, least=1)}
_LIMITS = _MIXTURE | {
    "averages": _DUAL,
    "limits": _list(_NUMBER, least=1),
    "offset": _NUMBER,
    "power": _whole(-1100, 0),
}
_BRANCH = {"excluded": _PLACES, "counted": _FLAG, "duals": _only(_PRICES, _LIMITS)}
_DUALS = _only(_PRICES, _LIMITS | {"branches": _list(_only(_BRANCH), most=MOST_BRANCHES)})
_INVERSE = _PRICES | {"multipliers": _NULL, "inverse": _list(_list(_NUMBER, "n"), least=1)}
_DAY = "[0-9]{4}(-[0-9]{2}){2}(T[0-9]{2}(:[0-9]{2}){2}([.][0-9]{6})?)?"
_DATE = {"type": "string", "pattern": f"^{_DAY}$"}
_BINS_OF = ["numbers", "dates", "year", "quarter", "month", "weekday"]
_BINS = {
    "labels": _list(_TEXT, least=1),
    "edges": _list(_any(_ENDLESS, _of("fraction"), _DATE), least=2),
    "closed": {"enum": ["left", "right"]},
    "whole": _FLAG,
    "origin": {"enum": ["public", "a separate sample", "the secrets"]},
}
_COLUMNS = {"bins": _only(_BINS, {"of": {"enum": _BINS_OF}}), "places": {"type": "object"}}
_ATTRIBUTE = _only({"name": _TEXT}, _COLUMNS)
_ATTRIBUTES = {"attributes": _of("attributes")}
_GROUP_NUMBERS = _list(_whole(0, MOST_GROUPS - 1), least=2)
_REPAIR = _only(
    {
        "merged": _PLACES,
        "mixed": _numbers(0, 1),
        "rounds": _whole(0),
        "constant": _FLAG,
        "loss": _any(_numbers(0), {"const": "unknown"}),
    },
    dict.fromkeys(("moved", "inside"), _numbers(0, 1)),
)
_CERTIFICATE = _only(
    {
        "verdicts": _list({"const": "yes"}, "K"),
        "achieved": _list(_of("levels"), "K"),
        "value": _any(_NUMBER, {"const": "-inf"}),
        **dict.fromkeys(("value_exact", "bound_exact"), _any(_NULL, _of("fraction"))),
        "bound": _any(_NUMBER, _INF),
        "bound_source": _SAID,
        "gap": _any(_numbers(0), {"const": "unknown"}),
        "gain_gap": _any(_NULL, _numbers(0)),
        "optimal": _FLAG,
        "arithmetic": {"enum": ["floats", "exact"]},
        "repair": _REPAIR,
        "solver": _SAID,
        "duals": _any(_of("duals"), _of("estimates")),
        "fingerprint": _HASH,
    },
    {"worst": _list(_DIGITS)},
)
_GEOMETRY = {
    "base": _whole(2, LARGEST_BASE),
    "dimension": _whole(1, 63),
    "profiles": _list(_only({"count": _whole(1), "high": _DIGITS, "middle": _DIGITS}), least=1),
}
_PLACEMENTS = _list(_only({"elements": _list(_whole(0), least=1), "mass": _DIGITS}), least=1)
_PART = _only(_GEOMETRY, {"placements": _PLACEMENTS})
_TYPE = {"chances": _list(_DIGITS, "G"), "parts": _list(_any(_NULL, _PART), "G")}
_REPORTS = {"types": _of("types")}
_SELECTION = _REPORTS | {
    "notions": _ASKED | {"length": "K", "minItems": 1},
    "achieved": _list(_of("levels"), "K"),
    **dict.fromkeys(("risk_exact", "bound_exact"), _of("fraction")),
    "fingerprint": _HASH,
}
_COLUMN = {"name": _TEXT, "weight": _numbers(exclusiveMinimum=0)}
_LEVELS = _list(_any(_numbers(0), _INF))
_TOP: dict[str, _Form] = {
    "format": {"const": "mechdesign"},
    "schema": {"enum": [1, 2]},
    "version": _TEXT,
    "kind": _TEXT,
    "digest": _HASH,
}


_BESIDE = ("audit", "requirement_prices", "clash", "message", "smallest_levels")


def _file(needed: dict[str, _Form], also: dict[str, _Form] | None = None) -> _Form:
    return _only(needed, (also or {}) | {name: {} for name in (*_TOP, *_BESIDE)})


_PUBLIC = {"mechanism": _KERNEL, "notions": _ASKED, "fingerprint": _HASH}
_STATED = {"stated": _list(_SAID, least=1)}
#: What a file has by its kind.
_KINDS = {
    "design": _file(
        {
            "prior": _PRIOR,
            "mechanism": _KERNEL,
            "notions": _ASKED | {"length": "K", "minItems": 1},
            "utility": _ASKED_UTILITY,
            "method": _SAID,
            "agreement": _list({}),
            "certificate": _CERTIFICATE,
        },
        {"requirements": _list(_of("requirement"), least=1)},
    ),
    "public": _any(_file(_PUBLIC, _STATED), _file(_PUBLIC | _QUESTIONS, _STATED)),
    "mechanism": _file({"mechanism": _KERNEL}),
    "infeasible": _file(
        {
            "prior": _PRIOR,
            "notions": _ASKED | {"minItems": 1},
            "requirements": _list(_of("requirement"), least=1),
            "outputs": _list(_LABEL, "M"),
            "below_zero": _numbers(0),
            "duals": _of("duals"),
        }
    ),
    "subset selection": _file(
        {"symbols": _whole(2, 1 << 24), **_SELECTION},
        {"labels": _list(_LABEL, least=2), **_ATTRIBUTES},
    ),
    "grouped selection": _file(
        {
            "prior": _PRIOR,
            "prices": _any(
                _only(
                    {
                        "inside": _list(_NUMBER, "G"),
                        "across": _matrices(_NUMBER, "G", "G"),
                        "row": _list(_NUMBER, "G"),
                    }
                ),
                _only({"sizes": _list(_whole(1), "R"), "weights": _list(_NUMBER, "R")}),
            ),
            **_SELECTION,
        },
        {"groups": _GROUP_NUMBERS},
    ),
    "public selection": _file(
        {
            "groups": _GROUP_NUMBERS,
            "notions": _ASKED,
            "fingerprint": _HASH,
            **_REPORTS,
        },
        {"labels": _list(_LABEL), **_STATED, **_ATTRIBUTES},
    ),
    "plan": _file(
        {
            "columns": _list(_only(_COLUMN | {"design": {"$ref": "#"}}), least=2),
            "total": _of("notion"),
            "prior": _any(_NULL, _PRIOR),
            "achieved": _of("levels"),
        }
    ),
    "public plan": _file(
        {
            "columns": _list(_only({"name": _TEXT, "public": {"$ref": "#"}}), least=2),
            "total": _of("notion"),
        },
        {"achieved": _of("levels")},
    ),
}
_BASIC = {"type": ["string", "number", "boolean", "null"]}
_PATTERN = "(0|[1-9][0-9]*)"
_FRACTION = _only({"fraction": _of("fraction")})
_EXACT_LEVELS = ("fraction", "ln", "bits")  # nats, the logarithm of a number, times log 2
_DEFINED: dict[str, _Form] = {
    "label": _any(
        _BASIC,
        _only({"float": _ENDLESS}),
        _only({"tuple": _list(_LABEL)}),
        _of("typed"),
    ),
    "parameter": _any(_BASIC, _list(_VALUE), _only({"text": _ENDLESS}), _of("typed")),
    "typed": _any(
        _FRACTION,
        *(
            _only({name: {"type": "string", "pattern": f"^{form}$"}})
            for name, (_, form) in _WRITTEN.items()
        ),
    ),
    "exact": _any(_numbers(0), _only({"fraction": _of("share")})),
    "share": {
        "type": "string",
        "pattern": f"^{_PATTERN}(/[1-9][0-9]*)?$",
        "maxLength": LONGEST_NUMBER,
    },
    "level": _any(_double(0), _INF, *(_only({k: _of("share")}) for k in _EXACT_LEVELS)),
    "name": _any(
        {"type": "string", "pattern": r"^((?!-?inf)|-?inf[\s\S])[\s\S]*$"},
        _only({"text": _ENDLESS}),
    ),
    "factor": _any(_double(exclusiveMinimum=0), _INF),
    "real": _double(),
    "costs": _matrices(_REAL, "N", "M"),
    "end": _any(_NULL, _double(0, 1)),
    "room": _any(_NULL, _double(1e-14)),
    "masses": _list(_row(_VALUE, _EXACT), least=1),
    "priors": _any(_NULL, _list(_MASSES, least=1)),
    "feature": _any(_NAME, _list(_NAME, least=1), _list(_row(_VALUE, _MASSES), least=1)),
    "levels": _LEVELS | {"minItems": 1, "maxItems": 2},
    "digits": {"type": "string", "pattern": f"^{_PATTERN}$", "maxLength": MOST_DIGITS},
    "fraction": {
        "type": "string",
        "pattern": f"^-?{_PATTERN}(/[1-9][0-9]*)?$",
        "maxLength": MOST_DIGITS,
    },
    "hash": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
    "notion": _asked_forms(_NOTION_FORMS, True),
    "requirement": _asked_forms(_REQUIREMENT_FORMS, False),
    "prior": _only(
        {
            "labels": _list(_LABEL, "N"),
            "weights": _list(_DIGITS, "N"),
            "probabilities": _list(_numbers(0, 1), "N"),
        },
        _ATTRIBUTES,
    ),
    "kernel": _only(
        {
            "inputs": _list(_LABEL, "N"),
            "outputs": _list(_LABEL, "M"),
            "weights": _matrices(_DIGITS, "N", "M"),
        },
        {"denominator_bits": _whole(0, MOST_BITS), "denominator": _DIGITS} | _ATTRIBUTES,
    ),
    "duals": _DUALS,
    "estimates": _only(_INVERSE, _MIXTURE),
    "types": _list(_only(_TYPE), least=1),
    "attributes": _list(_ATTRIBUTE, least=1),
    "linear": _any(_only(_GAINS), _only(_GAINS | _CLASS)),
    "gains": _matrices(_GAIN, "N", "M"),
    "weights": _any(_NULL, _list(_numbers(0), "F"), _matrices(_NUMBER, "F", "F")),
    "truths": _any(_NULL, {"const": "any"}, _PRIOR, _list(_PRIOR, least=1)),
    "multipliers": _any(_NULL, _DUAL),
    "dual": _list(_list(_of("matrix"), least=1, most=2)),
    "matrix": _only(
        {"shape": _SHAPE, "rows": _PLACES, "columns": _PLACES, "values": _list(_NUMBER)}
    ),
    "shape": _row(_whole(1), _whole(1)),
    "places": _list(_whole(0)),
    "values": _list(_VALUE, least=1),
    "parameters": {"type": "object", "additionalProperties": _VALUE},
    "said": {"type": "string", "pattern": "^[^\x00-\x1f\x7f-\x9f]*$", "maxLength": 200},
    "secrets": _list(_row(_NAME, _MASSES), least=1),
    "pairs": _list(_row(_NAME, _NAME)),
}
_SCHEMAS: dict[int, _Form] = {
    1: {"properties": {"requirements": False}},
    2: {"required": ["requirements"]},
}
#: The whole of it, which ``--schema`` prints for readers in other languages.
FORM = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "A file saved by mechdesign",
    "description": "The form alone; FORMAT.md says what it means. Lists with one length are as "
    "long as each other, in one file; integers have neither a point nor an exponent.",
    **_object(
        _TOP | {"kind": {"enum": [*_KINDS]}}, allOf=[*_by("kind", _KINDS), *_by("schema", _SCHEMAS)]
    ),
    "$defs": _DEFINED,
}
_TYPES = {
    "null": (type(None),),
    "boolean": (bool,),
    "string": (str,),
    "number": (int, float),
    "integer": (int,),
    "array": (list,),
    "object": (dict,),
}


def _fit(form: Any, value: Any, sizes: dict[str, int]) -> None:
    """Raise :class:`UnreadableError` where a value has another form; note lengths in ``sizes``."""
    _need(form is not False, ": a part that it cannot have")
    if not form:
        return
    if "$ref" in form:
        name = form["$ref"].removeprefix("#").removeprefix("/$defs/")
        own = {key: size for key, size in sizes.items() if name and key.isupper()}
        _fit(_DEFINED[name] if name else FORM, value, own)
        sizes |= {key: size for key, size in own.items() if name and key.isupper()}
        return
    kinds = form.get("type", [])
    known = [t for word in ([kinds] if isinstance(kinds, str) else kinds) for t in _TYPES[word]]
    _need(not known or type(value) in known, f": expected {kinds}, got {type(value).__name__}")
    if "const" in form or "enum" in form:
        among = form.get("enum", [form.get("const")])
        fits = any(value == one and type(value) is type(one) for one in among)
        _need(fits, f": expected {' or '.join(map(repr, among))}")
    if "anyOf" in form:
        _fit_any(form["anyOf"], value, sizes)
    if isinstance(value, str):
        _need(len(value) <= form.get("maxLength", LARGEST_FILE), ": too long")
        _need(re.fullmatch(form.get("pattern", "(?s).*"), value), ": a text of other signs")
    elif isinstance(value, (int, float)):
        fits = form.get("minimum", value) <= value <= form.get("maximum", value)
        _need(fits and value > form.get("exclusiveMinimum", -math.inf), ": out of range")
        is_short = isinstance(value, float) or abs(value) <= 1 << 53 or kinds != "number"
        _need(is_short, ": an integer that no double is")
        _need(isinstance(value, float) or not form.get("double"), ": a number without a point")
    elif isinstance(value, list):
        name = form.get("length")
        same = not name or len(value) == sizes.setdefault(name, len(value))
        few = form.get("minItems", 0) <= len(value) <= form.get("maxItems", len(value))
        _need(same and few, ": another length")
        items = form.get("prefixItems") or [form.get("items", {})] * len(value)
        _fit_parts(zip([f"[{i}]" for i in range(len(value))], items, value, strict=True), sizes)
    elif isinstance(value, dict):
        for key in form.get("required", ()):
            _need(key in value, f".{key}: missing")
        named, other = form.get("properties", {}), form.get("additionalProperties", {})
        parts = [(f".{key}", named.get(key, other), part) for key, part in value.items()]
        _fit_parts(parts, sizes)
    for rule in form.get("allOf", ()):
        if all(value[key] in part["enum"] for key, part in rule["if"]["properties"].items()):
            _fit(rule["then"], value, sizes)


def _fit_parts(parts: Iterable[tuple[str, Any, Any]], sizes: dict[str, int]) -> None:
    place = ""
    try:
        for place, form, part in parts:  # noqa: B007
            _fit(form, part, sizes)
    except UnreadableError as wrong:
        raise UnreadableError(f"{place}{wrong}") from None


def _fit_any(forms: list[_Form], value: Any, sizes: dict[str, int]) -> None:
    found = []
    for form in forms:
        own = dict(sizes)
        try:
            _fit(form, value, own)
        except UnreadableError as wrong:
            found.append(str(wrong))
        else:
            sizes |= own
            return
    raise UnreadableError(max(found, key=lambda text: len(text.partition(": ")[0])))


# Numbers and labels


def parse(data: bytes) -> Any:
    """Strict JSON: names once, no NaN or infinity, nothing too long or nested too deep."""
    _need(len(data) <= LARGEST_FILE, f"more than {LARGEST_FILE} bytes")
    readers: Any = dict.fromkeys(("parse_int", "parse_float", "parse_constant"), _number)
    try:
        content = json.loads(data.decode("utf-8"), object_pairs_hook=_once, **readers)
    except (ValueError, RecursionError):
        raise UnreadableError("its content is no JSON, or was cut off") from None
    level = [content]
    for _ in range(DEEPEST + 1):
        parts = [list(p.values()) if isinstance(p, dict) else p for p in level]
        level = [v for part in parts if isinstance(part, list) for v in part]
    _need(not level, f"nested deeper than {DEEPEST}")
    return content


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    _need(len(dict(pairs)) == len(pairs), "a name that is there twice")
    return dict(pairs)


def _number(text: str) -> float:
    _need(len(text) <= LONGEST_NUMBER, "a long number")
    value = int(text) if text.lstrip("-").isdigit() else float(text)
    _need(abs(value) < math.inf, "a number beyond doubles, or none")
    return value


def _real(label: Any) -> float:
    _need(
        type(label) in (int, float, Decimal, Fraction) and label == float(label),
        "labels that are no doubles",
    )
    return float(label)


def _exact(value: Any) -> Fraction:
    """A number as it stands, or a text p or p/q."""
    if type(value) in (int, float, Fraction):
        return Fraction(value)
    above, _, below = value.partition("/")
    return Fraction(_integer(above), _integer(below or "1"))


def _integer(text: str) -> int:
    """An integer from its decimal digits, of which Python reads a limited number at once."""
    low = len(text) // 2
    if len(text) <= LONGEST_NUMBER:
        return int(text)
    if text[0] == "-":
        return -_integer(text[1:])
    return _integer(text[:-low]) * 10**low + _integer(text[-low:])


def _parameter(word: Any) -> Any:
    """A parameter: ``"inf"``, {"text": …}, a value with its type; lists are tuples."""
    if isinstance(word, dict):
        return word["text"] if "text" in word else _typed(word)
    if isinstance(word, list):
        return tuple(map(_parameter, word))
    return math.inf if word == "inf" else word


def _label(word: Any) -> Any:
    """A label: text, number, true, false, null, {"tuple": [...]}, or a value with its type."""
    if not isinstance(word, dict):
        return word
    return tuple(map(_label, word["tuple"])) if "tuple" in word else _typed(word)


def _typed(word: dict[str, str]) -> Any:
    """A value that JSON has no word for: its type, and a text that says which it is."""
    ((kind, text),) = word.items()
    if kind in ("float", "fraction"):
        return float(text) if kind == "float" else _reduced(text)
    if kind in _EXACT_LEVELS:
        return _level(word)
    try:
        return _WRITTEN[kind][0](text)
    except (ValueError, ArithmeticError):
        raise UnreadableError(f"{text!r}, which is no {kind}") from None


def _reduced(text: str) -> Fraction:
    """A rational as it is written: without a common divisor, an integer alone."""
    value, below = _exact(text), text.partition("/")[2]
    _need(below != "1" and value.denominator == _integer(below or "1"), "a number not reduced")
    return value


class _Log(float):
    """The level times · log(base), for a rational base above 1."""

    def __new__(cls, times: Fraction, base: Fraction) -> _Log:
        found = super().__new__(
            cls, times * (math.log(base.numerator) - math.log(base.denominator))
        )
        found.times, found.base = times, base
        return found

    times: Fraction
    base: Fraction

    def __repr__(self) -> str:
        if self.times != 1:
            return f"{self.times} bits"
        return f"ln {self.base}" if self.base.denominator == 1 else f"ln({self.base})"


def _level(word: Any) -> Any:
    """A level: a double, ``"inf"``, {"fraction": …} in nats that is no double, {"ln": …} of a
    number above 1, or {"bits": …} of one that is not whole, which is so many times log 2.
    """
    if not isinstance(word, dict):
        return _parameter(word)
    ((kind, text),) = word.items()
    value = _reduced(text)
    if kind == "ln":
        _need(value > 1, "the logarithm of no number above 1")
        return _Log(_ONE, value)
    _need(0 < value < 1 << 1000, "a level out of range")
    _need(value.denominator > 1 if kind == "bits" else float(value) != value, "a level not reduced")
    return _Log(value, Fraction(2)) if kind == "bits" else value


def _labels(words: list[Any]) -> tuple[Any, ...]:
    found = tuple(map(_label, words))
    _need(len(set(found)) == len(found), "labels that are not distinct")
    return found


def _table(pairs: Iterable[Any]) -> dict[Any, Any]:
    """What pairs of a name and something say of each name."""
    given = list(pairs)
    found = dict(given)
    _need(len(found) == len(given), "a name that is there twice")
    return found


def _attributes(part: Any, labels: tuple[Any, ...]) -> Any:
    """Names of the columns that labels are made of, with their bins; ``None`` where none are."""
    given = part.get("attributes")
    if given is None:
        return None
    names = [one["name"] for one in given]
    _need(len(set(names)) == len(names), "attributes that are not distinct")
    for label in labels if len(names) > 1 else ():
        _need(isinstance(label, tuple) and len(label) == len(names), "a label of other attributes")
    return given


def _days(text: str) -> Fraction:
    """Days since the first of 1970 of an edge of dates."""
    _need(re.fullmatch(_DAY, text), "edges that are no dates")
    since = datetime.fromisoformat(text) - datetime(1970, 1, 1)
    return Fraction(since // timedelta(microseconds=1), 86_400 * 10**6)


def _midpoints(bins: Any) -> dict[Any, float]:
    """The number that each label of bins stands for: the middle of the doubles nearest to its ends,
    of an open bin that of one as wide as the bin beside it, or of width one; none for months.
    """
    labels, whole, left = _labels(bins["labels"]), bins["whole"], bins["closed"] == "left"
    count, sides = len(labels), list[tuple[float, float]]()  # below an edge, and above it
    of = _BINS_OF.index(bins.get("of", "numbers"))
    _need(whole or of < 2, "parts of dates that are no whole numbers")
    read = _days if of == 1 else _exact
    edges = [float(t) if t in ("-inf", "inf") else read(t) for t in bins["edges"]]
    _need(all(a < b for a, b in pairwise(edges)), "edges that do not increase")
    for i, edge in enumerate(edges):
        sides.append((float(edge), float(edge)))
        if whole and math.isfinite(edge):
            first = math.ceil(edge) if i == 0 or (i < count and left) else math.floor(edge) + 1
            sides[-1] = (float(first - 1), float(first))
    ends = [(low, high) for (_, low), (high, _) in pairwise(sides)]
    widths = [math.inf, *(high - low + whole - whole for low, high in ends), math.inf]
    for i, near in ((0, widths[2]), (-1, widths[-3])):
        (low, high), width = ends[i], near if near < math.inf else 1.0
        if low == -math.inf:
            ends[i] = (-width / 2, width / 2) if high == math.inf else (high - width, high)
        elif high == math.inf:
            ends[i] = low, low + width
    middle = [low + (high - low) / 2 for low, high in ends]
    return dict(zip(labels, middle, strict=True)) if of < 3 else {}


def _grid(given: Any, n: int, m: int) -> list[list[Fraction]]:
    """A matrix of n rows of m doubles."""
    rows = [[Fraction(float(v)) for v in row] for row in given]
    _need([len(row) for row in rows] == [m] * n, "a matrix of another shape")
    return rows


def exp_bounds(level: Any) -> tuple[Fraction, Fraction]:
    """Rationals around e^level, both the same at 0 and at logarithms of rationals."""
    if not isinstance(level, _Log):
        return _around("exp", Fraction(level)) if level else (_ONE, _ONE)
    base, times = level.base, level.times
    size = max(base.numerator, base.denominator).bit_length()
    if times.denominator == 1 and times * size <= LARGEST_POWER:
        return base**times.numerator, base**times.numerator
    low, high = _around("ln", base)
    return exp_bounds(low * times)[0], exp_bounds(high * times)[1]


@functools.lru_cache(maxsize=4096)
def _around(function: str, value: Fraction) -> tuple[Fraction, Fraction]:
    """Rationals around exp or ln of a number: what is beside its correctly rounded value."""
    above = abs(value.numerator - value.denominator) if function == "ln" else value.numerator
    tiny = max(0, value.denominator.bit_length() - above.bit_length())
    context, ends = Context(EXP_DIGITS + tiny // 3, Emin=MIN_EMIN, Emax=MAX_EMAX), list[Fraction]()
    for rounding, beside in ((ROUND_FLOOR, context.next_minus), (ROUND_CEILING, context.next_plus)):
        context.rounding = rounding
        near = context.divide(Decimal(value.numerator), Decimal(value.denominator))
        ends.append(Fraction(beside(getattr(context, function)(near))))
    return ends[0], ends[1]


def _scaled(level: Any, scale: Fraction) -> Any:
    """A multiple of a finite level, exact."""
    if scale and isinstance(level, _Log):
        return _Log(level.times * scale, level.base)
    return Fraction(level) * scale


# What notions ask: pairs of hypotheses, which are masses by position

_Family = Sequence[dict[int, Any]]


def _mixture(masses: Sequence[Fraction]) -> dict[int, Fraction]:
    return {x: m / sum(masses, _ZERO) for x, m in enumerate(masses) if m}


def _likelihoods(family: _Family, column: Sequence[int]) -> list[Any]:
    _afford(len(family) + sum(map(len, family)) // 4)
    return [sum(m * column[x] for x, m in row.items()) for row in family]


def _least(under: _Family | _PriorSet, column: Sequence[int]) -> Any:
    return under.least(column) if isinstance(under, _PriorSet) else min(_likelihoods(under, column))


class _PriorSet(NamedTuple):
    """A set of priors: a ball moves ``room`` from its centre, symbols giving up to their caps; a
    box adds ``room`` to lower bounds, its centre, symbols taking up to their caps.
    """

    centre: list[Fraction]
    caps: list[Fraction]
    room: Fraction
    is_ball: bool

    def least(self, column: Sequence[int]) -> Fraction:
        """The least pᵀk over the set: from the largest to the least entry, or to the smallest."""
        _afford(6 * len(column))
        value = sum((c * k for c, k in zip(self.centre, column, strict=True)), _ZERO)
        left, low = self.room, min(column) if self.is_ball else 0
        for x in sorted(range(len(column)), key=column.__getitem__, reverse=self.is_ball):
            part = min(left, self.caps[x])
            value += part * (low - column[x] if self.is_ball else column[x])
            left -= part
        return value

    def inside(self, weights: list[Fraction]) -> list[Fraction]:
        """A multiple of a distribution of the set, of the same mass as given numbers."""
        _afford(8 * len(weights))
        mass, end = sum(weights, _ZERO), [_ZERO] * len(weights)
        away = [w - c * mass for w, c in zip(weights, self.centre, strict=True)]
        total = max(self.room * mass, sum(map(abs, away), _ZERO) / 2)
        if not self.is_ball:
            caps = [cap * mass for cap in self.caps]
            away = [min(max(a, _ZERO), cap) for a, cap in zip(away, caps, strict=True)]
            total = sum(away, _ZERO)
            end = caps if total < self.room * mass else end
        left = self.room * mass - total
        share = left / (sum(end, _ZERO) - total) if left else _ZERO
        moved = [a + (b - a) * share for a, b in zip(away, end, strict=True)]
        return [c * mass + a for c, a in zip(self.centre, moved, strict=True)]


class _Part(NamedTuple):
    """One constraint of a notion, by ``kind``, on groups of hypotheses μ and ν with a scale each.

    ``"all"``: μᵀk ≤ e^(level · scale) νᵀk for every μ and ν of one group. ``"matched"``: for the
    one μ and ν of each group. ``"excess"``: Σ max(μᵀk − e^level νᵀk, 0) ≤ delta over outcomes, for
    these. ``"maxima"``, ``"minima"``: Σ max_x k_x ≤ e^level, Σ min_x k_x ≥ e^−level, over the μ.
    ``"information"``: a sum of logarithms, not decided here.
    """

    kind: str
    groups: list[tuple[_Family, Any, Fraction]]
    level: Any
    delta: Fraction = _ZERO

    def factor(self, scale: Fraction | None = None) -> Any:
        """A rational at or above e^(level · scale), by default that of the first group; ``None``
        where that asks next to nothing.
        """
        level = _scaled(self.level, self.groups[0][2] if scale is None else scale)
        return exp_bounds(level)[1] if level <= LARGEST_LEVEL else None

    @property
    def is_idle(self) -> bool:
        """Whether it compares hypotheses with themselves alone, or allows whatever they are."""
        sides = [[*over, *([] if isinstance(under, _PriorSet) else under)]
                 for over, under, _ in self.groups]  # fmt: skip
        same: bool = all(row == rows[0] for rows in sides for row in rows)
        if self.kind == "minima":  # one guess is the best for every symbol
            least = {x: min(row.get(x, 0) for row in sides[0]) for x in sides[0][0]}
            same = {x: v for x, v in least.items() if v} in sides[0]
        return self.delta >= 1 or (same and self.kind != "information")


def _all(over: _Family, under: Any, level: float, scale: Fraction = _ONE) -> _Part:
    return _Part("all", [(over, under, scale)], level)


def _turn(parts: list[_Part]) -> list[_Part]:
    return [p._replace(groups=[(b, a, d) for a, b, d in p.groups]) for p in parts]


_NO_PART = _all([{0: 1}], [{0: 1}], math.inf)


def _matched(pairs: list[tuple[Any, Any, Fraction]], level: float) -> list[_Part]:
    return [_Part("matched", [([a], [b], d) for a, b, d in pairs], level)]


def _both_ways(pairs: Iterable[tuple[Any, ...]], level: float) -> list[_Part]:
    """Pairs of symbols with factors on the level; without any, one of itself."""
    both = [p for i, j, d in pairs for p in (({i: 1}, {j: 1}, d), ({j: 1}, {i: 1}, d))]
    return _matched(both or [({0: 1}, {0: 1}, _ONE)], level)


def _count(chances: Sequence[Any]) -> dict[int, Fraction]:
    """The law of a sum of independent entries of 0 and 1."""
    law = [_ONE]
    for c in chances:
        law = [(1 - c) * a + c * b for a, b in zip([*law, _ZERO], [_ZERO, *law], strict=True)]
    return _mixture(law)


def _with_delta(parts: list[_Part], delta: Any) -> list[_Part]:
    return [p._replace(kind="excess", delta=Fraction(delta)) for p in parts]


class _Prior:
    """Labels and integer weights. A method for each notion, with its parameters, gives what it
    asks: constraints on pairs of hypotheses, in the order of dual variables.
    """

    def __init__(self, labels: tuple[Any, ...], weights: list[int]) -> None:
        self.labels, self.weights, self.n = labels, weights, range(len(labels))
        self.masses = [Fraction(w, sum(weights)) for w in weights]
        self.symbols: _Family = [{x: 1} for x in self.n]
        self.live: _Family = [{x: 1} for x in self.n if weights[x]]
        self.whole: _Family = [_mixture(self.masses)]
        self.attributes: list[str] = []
        self.numbered = labels  # with numbers in the place of bins
        self.known = labels  # of the file, where symbols without mass are left out

    def with_columns(self, given: Any) -> _Prior:
        """Of columns of these names, some of which hold bins of numbers."""
        self.attributes = [one["name"] for one in given or []]
        tables = [_midpoints(one["bins"]) if "bins" in one else {} for one in given or []]
        if any(tables):
            one = len(tables) == 1
            rows = (zip(tables, (x,) if one else x, strict=True) for x in self.labels)
            found = [tuple(table.get(v, v) for table, v in row) for row in rows]
            self.numbered = tuple(row[0] if one else row for row in found)
        return self

    def asks(self, notion: dict[str, Any]) -> list[_Part]:
        given = {
            key: _level(value) if key.startswith("epsilon") else _parameter(value)
            for key, value in notion["parameters"].items()
        }
        name = notion["name"]
        _afford(str(notion).count("fraction"))
        parts = getattr(self, re.sub("PMC$", "PML", name))(**given) or [_NO_PART]
        parts = _turn(parts) if name.endswith("PMC") else parts  # a cost is a gain turned round
        about = self.symbols if name in WITHOUT_PRIOR else self.live
        _need(len(about) < 2 or not all(part.is_idle for part in parts), "a notion without a pair")
        return parts

    def PML(self, epsilon: float) -> list[_Part]:
        return [_all(self.live, self.whole, epsilon)]

    def LIP(self, epsilon: float) -> list[_Part]:
        return self.PML(epsilon) + _turn(self.PML(epsilon))

    def ALIP(self, epsilon_l: float, epsilon_u: float) -> list[_Part]:
        return _turn(self.PML(epsilon_l)) + self.PML(epsilon_u)

    def LDP(self, epsilon: float) -> list[_Part]:
        return [_all(self.symbols, self.symbols, epsilon)]

    FreeLunch = LDP

    def SymbolPML(self, epsilon: float, levels_of: Any) -> list[_Part]:
        found = self._by_level(levels_of, [x for x in self.n if self.weights[x]])
        return [_all(few, self.whole, epsilon, scale) for scale, few, _ in found]

    def SymbolLIP(self, epsilon: float, levels_of: Any) -> list[_Part]:
        parts = self.SymbolPML(epsilon, levels_of)
        return [each for part in parts for each in (part, *_turn([part]))]

    def InputDiscriminativeLDP(self, epsilon: float, levels_of: Any) -> list[_Part]:
        parts = []
        for scale, few, many in self._by_level(levels_of, list(self.n)):
            part = _all(few, many, epsilon, scale)
            parts += [part] if few == many else [part, *_turn([part])]
        return parts

    def _by_level(self, table: Any, places: list[int]) -> Iterator[tuple[Fraction, Any, Any]]:
        """Each finite factor, upwards, with its symbols and those of no smaller one."""
        factors = _table(table)
        _need({*factors} <= {*self.known}, "a level of what is no symbol")
        found = {x: factors[self.labels[x]] for x in places}
        for r in sorted({r for r in found.values() if r < math.inf}):
            few = [{x: 1} for x in places if found[x] == r]
            yield Fraction(r), few, [{x: 1} for x in places if found[x] >= r]

    def ContextAwareLDP(self, epsilon: float, levels_of: Any) -> list[_Part]:
        pairs = [(self.labels.index(a), self.labels.index(b)) for a, b, _ in levels_of]
        _need(len(set(pairs)) == len(pairs) and all(a != b for a, b in pairs), "pairs of levels")
        rows = [(i, j, r) for (i, j), (_, _, r) in zip(pairs, levels_of, strict=True)]
        found = [({i: 1}, {j: 1}, Fraction(r)) for i, j, r in rows if r < math.inf]
        return _matched(found, epsilon) if found else []

    def UtilityOptimisedLDP(self, epsilon: float, sensitive: Any) -> list[_Part]:
        few = [{x: 1} for x in sorted(map(self.labels.index, sensitive))]
        _need(len(set(sensitive)) == len(sensitive), "a symbol that is there twice")
        return [_all(few, self.symbols, epsilon)]

    def MaximalLeakage(self, epsilon: float) -> list[_Part]:
        return [_Part("maxima", [(self.live, (), _ONE)], epsilon)]

    def MaximalCostLeakage(self, epsilon: float) -> list[_Part]:
        return [_Part("minima", [(self.live, (), _ONE)], epsilon)]

    def InferenceCost(self, epsilon: float, costs: Any) -> list[_Part]:
        """Costs of guesses under the prior, over that of the best guess without a report."""
        table = list(zip(*_grid(costs, len(self.n), len(costs[0])), strict=True))
        rows = [_times_each(self.masses, column) for column in table]
        before = min(sum(row, _ZERO) for row in rows)
        _need(before > 0, "costs of guesses")
        guesses = [{x: v / before for x, v in enumerate(row) if v} for row in rows]
        return [_Part("minima", [(guesses, (), _ONE)], epsilon)]

    def MIPrivacy(self, epsilon: float) -> list[_Part]:
        return [_Part("information", [], epsilon)]

    def MIPufferfish(self, epsilon: float, features: Any, priors: Any) -> list[_Part]:
        return self.MIPrivacy(epsilon) * (len(features) * len(priors or [None]))

    def DP(self, epsilon: float, neighbours: Any) -> list[_Part]:
        if neighbours == "all":
            return self.LDP(epsilon)
        if neighbours == "adjacent":
            pairs = [(i, j) for i, j, _ in self._line()]
        elif neighbours == "hamming":
            table = self._table("hamming")
            pairs = [(i, j) for i in self.n for j in self.n if table[i][j] == 1]
        else:
            pairs = [(self.labels.index(a), self.labels.index(b)) for a, b in neighbours]
            _need(all(i != j for i, j in pairs), "a pair of a symbol with itself")
        ordered = sorted({(min(pair), max(pair)) for pair in pairs})
        return _both_ways([(i, j, _ONE) for i, j in ordered], epsilon)

    def MetricPrivacy(self, epsilon: float, distances: Any) -> list[_Part]:
        """Pairs that imply all others, with their distances: neighbours on a line, edges of a
        graph; else symbols at distance zero with the first of them, then pairs with nothing exactly
        between, or all pairs where symbols at distance zero have other distances to the rest.
        """
        kind, *content = distances if isinstance(distances, tuple) else (distances,)
        if kind == "absolute":
            return _both_ways(self._line(), epsilon)
        if kind == "graph":
            found = self.labels.index
            edges = [(found(a), found(b), _exact(d)) for a, b, d in content[0]]
            _need(all(d > 0 and i != j for i, j, d in edges), "an edge without length")
            return _both_ways(edges, epsilon)
        table, n = self._table(kind, *content), self.n
        _afford(len(n) ** 3)
        same = all(table[i][j] == table[j][i] for i in n for j in n)
        _need(
            same and not any(table[i][i] for i in n), "distances that differ by way, or to itself"
        )
        exact = {(i, j): Fraction(table[i][j]) for i in n for j in n if table[i][j] < math.inf}
        twins = [(table[i].index(0), i) for i in n if table[i].index(0) < i]
        kept = set(n) - {i for _, i in twins}

        def is_between(z: int, i: int, j: int) -> bool:
            left, right = exact.get((i, z), _ZERO), exact.get((z, j), _ZERO)
            return left > 0 and right > 0 and left + right <= exact[i, j]

        pairs = [(i, j) for i, j in exact if i < j and i in kept and j in kept]
        pairs = [*twins, *((i, j) for i, j in pairs if not any(is_between(z, i, j) for z in kept))]
        if any(table[a] != table[b] for a, b in twins):
            pairs = [(i, j) for i in n for j in range(i) if (i, j) in exact]
        return _both_ways([(i, j, exact[i, j]) for i, j in pairs], epsilon)

    def _line(self) -> list[tuple[int, int, Fraction]]:
        """Consecutive numbers, with their differences."""
        _need({type(v) for v in self.numbered} <= {int, float}, "labels that are no numbers")
        values = list(map(Fraction, self.numbered))
        order = pairwise(sorted(self.n, key=values.__getitem__))
        return [(i, j, values[j] - values[i]) for i, j in order]

    def _table(self, kind: str, *content: Any) -> list[list[float]]:
        if kind == "matrix":
            return [list(map(float, row)) for row in content[0]]
        if kind == "discrete":
            return [[float(i != j) for j in self.n] for i in self.n]
        _need(all(isinstance(v, tuple) and v for v in self.numbered), "labels that are no tuples")
        rows = [[list(zip(a, b, strict=True)) for b in self.numbered] for a in self.numbered]
        if kind == "hamming":
            return [[float(sum(u != v for u, v in pairs)) for pairs in row] for row in rows]
        points = [[[(_real(u) - _real(v)) ** 2 for u, v in pairs] for pairs in r] for r in rows]
        return [[math.sqrt(sum(squares)) for squares in row] for row in points]

    def EntryPML(self, epsilon: float, entries: Any, low: Any, high: Any) -> list[_Part]:
        """P(T | entry is d) against P(T): j other entries at high, the rest at low."""
        low, high = _exact(low), _exact(high)
        _need(self.labels == tuple(self.n), "symbols that are not 0 … n")
        _need(entries == len(self.n) - 1 and low <= high <= 1, "chances of an entry")
        _afford(entries**3, entries * _work["bits"])
        rows = []
        for j in range(entries if low < high else 1):
            others = [high] * j + [low] * (entries - 1 - j)
            # The entry's own chance is where d is least likely.
            for d, chance in ((0, high),) * (low < 1) + ((1, low),) * (high > 0):
                rows.append((_count([*others, d]), _count([*others, chance]), _ONE))
        return _matched(rows, epsilon)

    def FeaturePML(self, epsilon: float, feature: Any) -> list[_Part]:
        return [_all(list(map(_mixture, self._joint(feature))), self.whole, epsilon)]

    def ConditionalPML(self, epsilon: float, side: Any) -> list[_Part]:
        rows = map(_mixture, self._joint(side))
        return [_all([{x: 1} for x in row], [row], epsilon) for row in rows]

    def _joint(self, table: Any) -> list[list[Fraction]]:
        """P(X = x, U = u) for each value u, in the order in which the symbols bring them."""
        names = [table] if isinstance(table, str) else table
        if all(isinstance(name, str) for name in names):  # of attributes that the prior names
            places, one = [self.attributes.index(name) for name in names], len(self.attributes) == 1
            whole = [(label,) if one else label for label in self.labels]
            parts = [tuple(label[k] for k in places) for label in whole]
            table = [(x, ((u, 1),)) for x, u in zip(self.labels, parts, strict=True)]
        rows = {name: {u: _exact(m) for u, m in _table(row).items()}
                for name, row in _table(table).items()}  # fmt: skip
        found: dict[Any, list[Fraction]] = {}
        for x in [x for x in self.n if self.weights[x]]:
            chances = rows[self.labels[x]]
            total = sum(chances.values(), _ZERO)
            for u in [u for u, chance in chances.items() if chance]:
                row = found.setdefault(u, [_ZERO] * len(self.n))
                row[x] += self.masses[x] * chances[u] / total
        return list(found.values())

    def Pufferfish(self, epsilon: float, secrets: Any, pairs: Any, priors: Any) -> list[_Part]:
        """(P(X|s), P(X|s')) and back, for each prior and pair of secrets with mass under it."""
        chances = {name: {x: _exact(c) for x, c in _table(content).items()}
                   for name, content in _table(secrets).items()}  # fmt: skip
        known = all({*row} <= {*self.known} and max(row.values()) <= 1 for row in chances.values())
        _need(known and all(a != b for a, b in pairs), "secrets, or pairs of them")
        _afford(len(pairs) * len(self.n) * len(priors or [None]))
        rows = []
        for masses in [self.masses] if priors is None else self._priors(priors):
            for pair in pairs:
                given = [[chances[s].get(label, _ZERO) for label in self.labels] for s in pair]
                a, b = (_mixture(_times_each(masses, row)) for row in given)
                rows += [(a, b, _ONE), (b, a, _ONE)] if a and b else []
        return _matched(rows, epsilon) if rows else [_all(self.whole, self.whole, epsilon)]

    def _priors(self, priors: Any) -> list[list[Fraction]]:
        rows = [{name: _exact(m) for name, m in _table(given).items()} for given in priors]
        for row in rows:
            _need({*row} <= {*self.labels} and sum(row.values()) == 1, "a prior of a notion")
        return [[row.get(label, _ZERO) for label in self.labels] for row in rows]

    def RobustPML(self, epsilon: float, priors: Any) -> list[_Part]:
        """Every symbol that some prior of the set gives mass, against all of the set."""
        kind, *content = priors
        if kind == "vertices":
            rows = list(map(_mixture, self._priors(content[0])))
            live = [{x: 1} for x in self.n if any(x in row for row in rows)]
            return [_all(live, rows, epsilon)]
        if kind == "ball":
            (centre,), room = self._priors(content[:1]), _exact(content[1]) / 2
            _need(0 <= room <= 1, "the radius of a ball")
            found = _PriorSet(centre, centre, room, True)
        else:
            given = content[0] if kind == "box" else [(x, content[0], 1) for x in self.labels]
            ranges = _table((x, (_exact(a), _exact(b))) for x, a, b in given)
            _need(set(ranges) == set(self.labels), "a box over other symbols")
            _need(all(0 <= a <= b <= 1 for a, b in ranges.values()), "ranges of masses")
            low, high = ([ranges[x][i] for x in self.labels] for i in (0, 1))
            _need(sum(low) <= 1 <= sum(high), "a set without priors")
            room = 1 - sum(low, _ZERO)
            caps = [min(b - a, room) for a, b in zip(low, high, strict=True)]
            found = _PriorSet(low, caps, room, False)
        most = [1 - found.least([int(x != z) for z in self.n]) for x in self.n]
        interval = [_mixture([v, 1 - v]) for v in (most[0], 1 - most[-1])]
        under = interval if len(self.n) == 2 else found
        return [_all([{x: 1} for x in self.n if most[x]], under, epsilon)]

    def ApproximateLDP(self, epsilon: float, delta: Any) -> list[_Part]:
        pairs = [(x, z, _ONE) for x in self.symbols for z in self.symbols if x != z]
        return _with_delta(_matched(pairs or [({0: 1}, {0: 1}, _ONE)], epsilon), delta)

    def ApproximatePufferfish(self, epsilon: float, delta: Any, **given: Any) -> list[_Part]:
        return _with_delta(self.Pufferfish(epsilon, **given), delta)


NOTIONS = set(_NOTION_FORMS)
#: Those that say the same under every prior, and can be checked without one.
TIED = {"MetricPrivacy", "InputDiscriminativeLDP", "ContextAwareLDP", "UtilityOptimisedLDP"}
WITHOUT_PRIOR = {"LDP", "FreeLunch", "DP", "ApproximateLDP"} | TIED


# Priors and kernels of a file


def _read_prior(part: Any, report: Report) -> _Prior:
    labels, weights = _labels(part["labels"]), list(map(_integer, part["weights"]))
    _afford(4 * len(weights))
    _need(math.gcd(*weights) == 1, "weights of a prior with a common divisor")
    prior = _Prior(labels, weights)
    prior.with_columns(_attributes(part, labels))
    same = part["probabilities"] == list(map(float, prior.masses))
    report.add("probabilities", same, "nearest to the exact masses")
    return prior


class _Kernel:
    """Integer weights over one number, a row for each input; rows of a file that are off by up to
    ``room`` are neither right nor wrong.
    """

    def __init__(self, part: Any, report: Report, room: Fraction = _ZERO) -> None:
        self.inputs, self.outputs = _labels(part["inputs"]), _labels(part["outputs"])
        bits, self.one = part.get("denominator_bits"), _integer(part.get("denominator", "0"))
        is_other = self.one & (self.one - 1) and self.one.bit_length() <= MOST_BITS + 1
        _need(is_other if bits is None else not self.one, "a denominator that is none")
        self.one = self.one or 1 << bits
        _afford(2 * len(self.inputs) * len(self.outputs))
        self.rows = [list(map(_integer, row)) for row in part["weights"]]
        self.attributes = _attributes(part, self.inputs)
        self.weights = [w for row in self.rows for w in row]
        off = max(abs(Fraction(sum(row), self.one) - 1) for row in self.rows)
        report.add("rows", not off or (None if off <= room else False), f"off by {float(off):.3g}")

    def total(self, terms: _Terms) -> Fraction:
        """Σ a_xy K_xy."""
        return sum((a * self.rows[x][y] for (x, y), a in terms.items()), _ZERO) / self.one

    @property
    def bits(self) -> int:
        """Those of the power of two that the weights of a design are over."""
        _need(not self.one & (self.one - 1), "a design over no power of two")
        return self.one.bit_length() - 1


# Whether a kernel has a notion


class _Excess(NamedTuple):
    """Σ max(a − e^(level · scale) b, 0) ≤ limit, for numbers a and b: what decides a constraint."""

    a: Sequence[Any]
    b: Sequence[Any]
    scale: Fraction = _ONE
    limit: Fraction = _ZERO

    def fits(self, factor: Fraction) -> bool:
        above, under = factor.numerator, factor.denominator
        parts = (max(under * u - above * v, 0) for u, v in zip(self.a, self.b, strict=True))
        return sum(parts) <= under * self.limit

    def holds(self, level: Any) -> bool | None:
        """Whether it does at a level; undecided where that is too close, or too large."""
        if level == math.inf:
            return True
        if sum(u for u, v in zip(self.a, self.b, strict=True) if not v) > self.limit:
            return False
        power = _scaled(level, self.scale)
        low, high = exp_bounds(min(power, Fraction(LARGEST_LEVEL)))
        if self.fits(low):
            return True
        return None if self.fits(high) or power > LARGEST_LEVEL else False


def _measure(part: _Part, kernel: _Kernel | _Product) -> list[_Excess]:
    """The exact numbers that decide a constraint; none for sums of logarithms."""
    columns, one, found = list(zip(*kernel.rows, strict=True)), kernel.one, []
    for over, under, scale in part.groups:
        tops = [max(_likelihoods(over, column)) for column in columns]
        if part.kind == "maxima":
            found.append(_Excess([sum(tops)], [one]))
        elif part.kind == "minima":
            found.append(_Excess([one], [sum(_least(over, column) for column in columns)]))
        else:
            least = [_least(under, column) for column in columns]
            found.append(_Excess(tops, least, scale, part.delta * one))
    return found


def _check_notion(
    part: dict[str, Any], prior: _Prior, kernel: _Kernel | _Product, said: Any, report: Report
) -> bool | None:
    """Whether the kernel has one notion of a file; in the report, also the levels it is said to."""
    name, parts = part["name"], prior.asks(part) if part["name"] in NOTIONS else []
    found = [_measure(p, kernel) for p in parts]
    holds = _every(m.holds(p.level) for p, ms in zip(parts, found, strict=True) for m in ms)
    holds = holds if found and all(found) else None  # sums of logarithms, or no definition here
    report.add(f"privacy: {_shown(part)}", holds)
    if said is None or holds is None:
        return holds
    # The two parts of ALIP have a level each, those of another notion one.
    groups = found if name == "ALIP" else [[m for measured in found for m in measured]]
    for word, measured in zip(said, groups, strict=True):
        level = less = float(_parameter(word))
        for _ in range(4 if {"distances", "levels_of"} & set(part["parameters"]) else 1):
            # Where lengths or factors divide it, it is rough.
            less = math.nextafter(min(less, LARGEST_LEVEL), 0.0)
        enough, more = (_every(m.holds(v) for m in measured) for v in (level, less))
        is_least = level == 0 or (None if more is None else not more)
        report.add(f"achieved: {name} {level!r}", _every([enough, is_least]), "rounded up")
    return holds


def _shown(part: dict[str, Any]) -> str:
    """A notion or a requirement with all its parameters; what is very long is cut and hashed."""
    words = [
        repr(_parameter(v)) if key == "epsilon" else f"{key}={_parameter(v)!r}"
        for key, v in part["parameters"].items()
    ]
    text = f"{part['name']}({', '.join(words)})"
    digest = hashlib.sha256(text.encode()).hexdigest()
    return text if len(text) <= LONGEST_CLAIM else f"{text[:LONGEST_CLAIM]}... SHA-256 {digest}"


# What requirements ask


class _Limit(NamedTuple):
    """low ≤ Σ a_xy K_xy ≤ high; ``None`` asks nothing."""

    terms: _Terms
    low: Fraction | None
    high: Fraction | None

    def holds(self, kernel: _Kernel) -> bool:
        value = kernel.total(self.terms)
        low, high = (value if end is None else end for end in (self.low, self.high))
        return low <= value <= high

    @property
    def forbids(self) -> bool:
        """Whether it leaves its entries no value but zero."""
        signs = {a > 0 for a in self.terms.values()}
        return (signs == {True} and self.high == 0) or (signs == {False} and self.low == 0)


def _ends(terms: _Terms, low: Any, high: Any) -> _Limit:
    both = low is None or high is None or low <= high
    _need(both and (low is not None or high is not None), "ends of an entry")
    return _Limit(terms, _exact(low) if low else None, None if high is None else _exact(high))


def _near(terms: _Terms, value: Fraction, tolerance: Any, scale: Fraction = _ONE) -> _Limit:
    """Equal to a value up to a tolerance, or up to the usual one times a scale."""
    off = Fraction(TOLERANCE * float(scale) if tolerance is None else tolerance)
    return _Limit(terms, value - off, value + off)


def _distance(a: float, b: float) -> Any:
    """|a − b|, exactly; infinity has none from itself."""
    if math.inf in (abs(a), abs(b)):
        return _ZERO if a == b else math.inf
    return abs(Fraction(a) - Fraction(b))


def _times(scales: Sequence[Any], table: _Rows) -> _Terms:
    """s_x a_xy, where that is not zero."""
    rows = enumerate(zip(scales, table, strict=True))
    return {(x, y): s * a for x, (s, row) in rows if s for y, a in enumerate(row) if a}


class _Space:
    """The entries of a kernel. A method for each requirement, with its parameters, gives its
    limits on them, in the order of dual variables.
    """

    def __init__(self, prior: _Prior, outputs: tuple[Any, ...]) -> None:
        self.labels, self.masses, self.outputs = prior.labels, prior.masses, outputs
        self.n, self.m, self.ones = prior.n, range(len(outputs)), [_ONE] * len(prior.n)

    def asks(self, wish: dict[str, Any]) -> list[_Limit]:
        given = {key: _parameter(value) for key, value in wish["parameters"].items()}
        return list(getattr(self, wish["name"])(**given))

    def _grid(self, given: Any) -> list[list[Fraction]]:
        return _grid(given, len(self.n), len(self.m))

    def Entry(self, x: Any, y: Any, low: Any, high: Any) -> Iterator[_Limit]:
        for i in self.n if x == () else [self.labels.index(x)]:
            for j in self.m if y == () else [self.outputs.index(y)]:
                yield _ends({(i, j): _ONE}, low, high)

    def Diagonal(self, limits_of: Any) -> Iterator[_Limit]:
        for label, low, high in limits_of:
            for v in [v for v in self.labels if v in self.outputs] if label == () else [label]:
                yield from self.Entry(v, v, low, high)

    def Pattern(self, allowed: Any) -> list[_Limit]:
        table = self._grid(allowed)
        terms = {(x, y): _ONE for x in self.n for y in self.m if not table[x][y]}
        return [_Limit(terms, None, _ZERO)] if terms else []

    def Within(self, limit: Any, distance: Any) -> list[_Limit]:
        most, pair = _exact(limit), (self.labels, self.outputs)
        if distance is not None:
            table = self._grid(distance)
        else:  # of numbers, or of positions
            are_numbers = {type(v) for v in self.labels + self.outputs} <= {int, float}
            _need(are_numbers or self.labels == self.outputs, "labels without distances")
            rows, columns = pair if are_numbers else (self.n, self.n)
            table = [[_distance(a, b) for b in columns] for a in rows]
        return self.Pattern([[int(d <= most) for d in row] for row in table])

    def Monotone(self) -> Iterator[_Limit]:
        _afford(len(self.n) * len(self.m) ** 2)
        for x in self.n[:-1]:
            for y in self.m[1:]:
                tails = {(x + i, z): _ONE - 2 * i for i in (0, 1) for z in self.m[y:]}
                yield _Limit(tails, None, _ZERO)

    def Symmetric(self, tolerance: Any) -> Iterator[_Limit]:
        _need(self.labels == self.outputs, "outputs that are not the symbols")
        for x in self.n:
            for z in range(x):
                yield _near({(x, z): _ONE, (z, x): -_ONE}, _ZERO, tolerance)

    def Rows(
        self, matrices: Any, sense: Any, right: Any, tolerance: Any, name: Any
    ) -> Iterator[_Limit]:
        for table, b in zip(map(self._grid, matrices), map(_exact, right), strict=True):
            size = max(abs(v) for row in table for v in row)
            terms, low, high = _near(_times(self.ones, table), b, tolerance, size or _ONE)
            yield _Limit(terms, *{"<=": (None, b), ">=": (b, None), "==": (low, high)}[sense])

    def Sums(
        self, shape: Any, places: Any, values: Any, sense: Any, right: Any, tolerance: Any,
        name: Any,
    ) -> Iterator[_Limit]:  # fmt: skip
        _need(list(shape) == [len(self.n), len(self.m)], "sums over entries of another kernel")
        for where, row, b in zip(places, values, map(_exact, right), strict=True):
            pairs = zip(where, map(_exact, row), strict=True)
            terms = {divmod(i, len(self.m)): a for i, a in pairs if a}
            _need(len(set(where)) == len(where), "an entry that is there twice")
            zero = 0 if len(row) == 1 and b == 0 else tolerance
            limit = _near(terms, b, zero, max(map(abs, terms.values()), default=_ONE))
            yield limit if sense == "==" else _Limit(terms, None, b)

    def FewOutputs(self, most: Any) -> Iterator[_Limit]:
        return iter(())  # no sum of entries; without it a bound is larger

    def Apart(self, symbols: Any) -> Iterator[_Limit]:
        places = {self.labels.index(x) for x in symbols}
        _need(len(places) == len(symbols), "a symbol that is there twice")
        return iter(())  # nor is this one, which each column keeps or not

    def EveryOutput(self, coefficients: Any) -> Iterator[_Limit]:
        local = {self.labels.index(x): _exact(a) for x, a in _table(coefficients).items()}
        _need(sum(local.values()) <= 0 < max(local.values()), "coefficients of an output")
        for y in self.m:
            yield _Limit({(x, y): a for x, a in local.items() if a}, None, _ZERO)

    def Posterior(self, symbols: Any, low: Any, high: Any, relative: Any) -> Iterator[_Limit]:
        inside = {self.labels.index(x) for x in symbols}
        ends = [v for v in (low, high) if v is not None]
        _need(len(inside) == len(symbols) and ends and min(ends) == ends[0], "a posterior")
        unit = sum((self.masses[x] for x in inside), _ZERO) if relative else _ONE
        for end, sign in ((high, 1), (low, -1)):
            most = _ZERO if end is None else _exact(end) * unit
            local = {x: sign * m * ((x in inside) - most) for x, m in enumerate(self.masses) if m}
            if end is not None and max(local.values()) > 0:
                for y in self.m:
                    yield _Limit({(x, y): a for x, a in local.items() if a}, None, _ZERO)

    def Cost(self, costs: Any, limit: Any, each: Any) -> Iterator[_Limit]:
        ones = [[int(x == z) for z in self.n] for x in self.n]
        for scales in ones if each else [self.masses]:
            yield _Limit(_times(scales, self._grid(costs)), None, _exact(limit))

    def LeastGain(self, gains: Any, least: Any, masses: Any, name: Any) -> Iterator[_Limit]:
        scales = self.masses if masses is None else list(map(_exact, masses))
        yield _Limit(_times(scales, self._grid(gains)), _exact(least), None)

    def OutputShare(self, y: Any, low: Any, high: Any) -> Iterator[_Limit]:
        terms = self._column(self.outputs.index(y))
        yield _ends(terms, low, high)._replace(high=_exact(high) if high < 1 else None)

    def Invariant(self, tolerance: Any) -> Iterator[_Limit]:
        shares = dict(zip(self.labels, self.masses, strict=True))
        for y, label in enumerate(self.outputs):
            share = shares.get(label, _ZERO)
            yield _near(self._column(y), share, tolerance if share else 0)

    def _column(self, y: int) -> _Terms:
        return {(x, y): mass for x, mass in enumerate(self.masses) if mass}

    def Unbiased(self, values: Any, tolerance: Any) -> Iterator[_Limit]:
        known = {label: _exact(v) for label, v in _table(values).items()}
        _need({*known} <= {*self.labels, *self.outputs}, "a value of what is no label")
        size = max(_ONE, *map(abs, known.values()))
        for x, label in enumerate(self.labels):
            terms = {(x, y): known[out] for y, out in enumerate(self.outputs) if known[out]}
            yield _near(terms, known[label], tolerance, size)

    def EqualError(self, groups: Any, tolerance: Any, costs: Any) -> Iterator[_Limit]:
        differ = [[Fraction(a != b) for b in self.outputs] for a in self.labels]
        table, laws = differ if costs is None else self._grid(costs), list[dict[int, Fraction]]()
        _afford(len(groups) ** 2 * len(self.n) * len(self.m))
        for group in groups:
            inside = {self.labels.index(label) for label in group}
            law = _mixture([self.masses[x] if x in inside else _ZERO for x in self.n])
            _need(law and len(inside) == len(group), "a group without mass, or a symbol twice")
            for other in laws:
                between = [law.get(x, _ZERO) - other.get(x, _ZERO) for x in self.n]
                yield _near(_times(between, table), _ZERO, tolerance)
            laws.append(law)


REQUIREMENTS = set(_REQUIREMENT_FORMS)


# The bound


class _Function:
    """base + Σ c_xy K_xy for Σ s_x u_xy K_xy: s_x f_x of a floor f of each row is in the base."""

    def __init__(self, scales: list[Fraction], gains: _Rows, floors: Sequence[Fraction]) -> None:
        self.scales, self.base = scales, sum(_times_each(scales, floors), _ZERO)
        rows = list(zip(scales, gains, floors, strict=True))
        self.terms = [[s * (u - f) for u in row] for s, row, f in rows]
        live = [row for s, row, _ in rows if s] or [[_ZERO]]
        self.least, self.most = (sum(scales, _ZERO) * end(map(end, live)) for end in (min, max))

    def entries(self, kept: list[int]) -> _Terms:
        rows = enumerate(self.terms[x] for x in kept)
        return {(x, y): c for x, row in rows for y, c in enumerate(row)}


def _functions(part: Any, prior: _Prior, outputs: int, report: Report) -> list[_Function]:
    """The linear functions whose least is the utility, one for a linear one."""
    several, found = part.get("parts", [{"utility": part, "prior": None, "weight": 1}]), []
    for entry in several:
        gains, scales = _grid(entry["utility"]["gains"], len(prior.labels), outputs), prior.masses
        if entry["prior"] is not None:
            use = _read_prior(entry["prior"], report)
            scales = [use.masses[use.labels.index(label)] for label in prior.labels]
        floors = list(map(min, gains)) if "parts" in part else [_ZERO] * len(gains)
        weight = Fraction(entry["weight"])
        found.append(_Function([weight * mass for mass in scales], gains, floors))
    if part.get("each"):
        plain = {"prior": None, "weight": 1.0, "goal": None}
        _need([{**several[0], **plain}] == several, "symbols with weights or goals")
        ones = [[Fraction(x == z) for z in range(len(gains))] for x in range(len(gains))]
        found = [_Function(ones[x], gains, floors) for x, w in enumerate(prior.weights) if w]
    return found


class _Asked:
    """What is asked of a kernel on the symbols that are designed for, at positions ``kept``.

    ``limits`` are those that dual variables price, ``allowed`` the outputs of each symbol that must
    not be zero. ``is_known`` is false where a notion or a requirement has no definition here.
    """

    def __init__(self, content: dict[str, Any], prior: _Prior, outputs: tuple[Any, ...]) -> None:
        notions, wished = content["notions"], content.get("requirements", [])
        _table((json.dumps(part, sort_keys=True), None) for part in wished)
        known = [part for part in notions if part["name"] in NOTIONS]
        named = [part for part in wished if part["name"] in REQUIREMENTS]
        held = [(p["name"], limit) for p in named for limit in _Space(prior, outputs).asks(p)]
        # Symbols without mass are designed for only where something ties them to others.
        is_tied = any(not prior.weights[x] for _, limit in held for x, _ in limit.terms)
        for part in known:
            is_tied |= part["name"] in TIED | {"EntryPML", "InferenceCost"}
            is_tied |= part["parameters"].get("neighbours", "all") != "all"
            is_tied |= part["parameters"].get("priors") is not None
        kept = [x for x in prior.n if prior.weights[x] or is_tied]
        self.prior = _Prior(tuple(prior.labels[x] for x in kept), [prior.weights[x] for x in kept])
        self.prior.attributes, self.prior.known = prior.attributes, prior.labels
        self.prior.numbered = tuple(prior.numbered[x] for x in kept)
        parts = [part for notion in known for part in self.prior.asks(notion)]
        parts, zeros = [part for part in parts if part.level < math.inf], set[tuple[int, int]]()
        self.kept, self.limits = kept, list[_Limit]()
        self.apart = [
            {kept.index(prior.labels.index(_parameter(x))) for x in part["parameters"]["symbols"]}
            for part in named
            if part["name"] == "Apart"
        ]
        for name, limit in held:
            terms = {(kept.index(x), y): a for (x, y), a in limit.terms.items()}
            if name in ("EveryOutput", "Posterior"):  # the likelihood of a⁺ is at most that of a⁻
                size = -sum(min(a, _ZERO) for a in terms.values())
                over = {x: a / size for (x, _), a in terms.items() if a > 0}
                under = {x: -a / size for (x, _), a in terms.items() if a < 0}
                parts += [_all([over], [under], 0.0)] if min(terms)[1] == 0 else []
            elif limit.forbids:
                zeros |= set(terms)
            else:
                self.limits.append(limit._replace(terms=terms))
        self.cone = [part for part in parts if part.kind in ("all", "matched")]
        self.sums = [part for part in parts if part.kind not in ("all", "matched")]
        _close(zeros, self.cone, len(kept))
        ys = range(len(outputs))
        self.allowed = [[y for y in ys if (x, y) not in zeros] for x in range(len(kept))]
        self.is_known = len(known) == len(notions) and len(named) == len(wished)


def _close(zeros: set[tuple[int, int]], cone: list[_Part], n: int) -> None:
    """Add the zeros that follow: where a ν has no likelihood at an outcome, μ has none."""
    before = -1
    while before < (before := len(zeros)):
        for y in {y for _, y in zeros}:
            _afford(n * n)
            column = [int((x, y) not in zeros) for x in range(n)]
            for over, under, _ in [group for part in cone for group in part.groups]:
                if not _least(under, column):
                    zeros |= {(x, y) for row in over for x in row}


def _bound(asked: _Asked, functions: list[_Function], duals: Any) -> Fraction:
    """The bound that dual variables prove for the least of some functions, which is at most their
    mixture; that is at most what it is with η · (the end of a limit − Σ a K) ≥ 0 added.
    """
    if not asked.is_known:
        duals = {"prices": None, "multipliers": None}
    live = {x for f in functions for x, scale in enumerate(f.scales) if scale}
    _need(live <= set(asked.kept), "a prior of use over other symbols")
    _afford(20 * len(functions) * len(asked.kept) * len(functions[0].terms[0]))
    given = [max(v, 0.0) for v in duals.get("mixture", [1.0] * len(functions))]
    shares = [Fraction(v) / sum(map(Fraction, given)) for v in given]
    base = sum((share * f.base for share, f in zip(shares, functions, strict=True)), _ZERO)
    columns = [[f.scales[x] for f in functions] for x in asked.kept]
    scales = [sum(_times_each(shares, column), _ZERO) for column in columns]
    etas = [Fraction(v) for v in duals.get("limits", [0.0] * len(asked.limits))]
    largest = max(map(abs, etas), default=_ZERO)
    offset, power = Fraction(duals.get("offset", 0)), duals.get("power", 0)
    _need(abs(offset) <= LARGEST_GAIN * Fraction(1, 1 << -power), "offset: out of range")
    unit, found = Fraction(1, 1 << -power), []
    for noise in (largest / 10**9, largest):  # limits whose dual variables count, or none
        terms = [[-scale * offset / unit] * len(functions[0].terms[0]) for scale in scales]
        for share, f in zip(shares, functions, strict=True):
            _add(terms, f.entries(asked.kept), share / unit)
        constant = (base + offset * sum(scales, _ZERO)) / unit
        for eta, limit in zip(etas, asked.limits, strict=True):
            end = limit.high if eta > 0 else limit.low
            if abs(eta) > noise and end is not None:
                _add(terms, limit.terms, -eta)
                constant += eta * end
        found.append(unit * (constant + _without_limits(asked, terms, duals)))
    return min(found)


def _add(columns: list[list[Fraction]], terms: _Terms, weight: Fraction) -> None:
    for (x, y), a in terms.items():
        columns[x][y] += weight * a


def _without_limits(asked: _Asked, terms: list[list[Fraction]], duals: Any) -> Fraction:
    """The least bound that dual variables other than those of limits prove for Σ c_xy K_xy:
    Σ_x max_y (c_xy − w_xy) + b where Σ_y ⟨w_y, k_y⟩ ≤ b for every private kernel, or by prices.
    """
    rates = [[c / p for c in row] for row, p in zip(terms, asked.prior.masses, strict=True) if p]
    noise = (max(map(max, rates)) - min(map(min, rates))) / 10**9
    left, averages = [list(row) for row in terms], duals.get("averages")
    if duals["multipliers"] is not None:
        for part, given in zip(asked.cone, duals["multipliers"], strict=True):
            _take_off(left, part, given, _ZERO)
    tried = [(terms, _ZERO), (left, _ZERO)]
    for least in (_ZERO, noise) if averages is not None else ():
        rest = [list(row) for row in left]
        parts = zip(asked.sums, averages, strict=True)
        limit = sum((_take_off(rest, part, given, least) for part, given in parts), _ZERO)
        tried.append((rest, limit))
    found = []
    for rows, limit in tried:
        tops = zip(rows, asked.allowed, strict=True)
        # Without outputs all is true.
        found.append(sum((max((row[y] for y in ys), default=_ZERO) for row, ys in tops), limit))
    known = duals["prices"] is None or len(duals["prices"]) == len(terms)
    _need(known, "prices: another length")
    if duals["prices"] is not None and len(rates) == len(terms):
        found += _priced(asked, rates, list(map(float, duals["prices"])))
    return min(found)


def _take_off(left: list[list[Fraction]], part: _Part, given: Any, least: Fraction) -> Fraction:
    """Take off what the dual variables of one part give, made feasible; the limit b that they add.

    Those a of pairs are on μ, and e^level a on ν. Else a on the μ and b on the ν are feasible when
    e^level Σ a ≤ Σ b: a is scaled to b, and a b on a set of priors moved into it. For a sum over
    outcomes any a are; small ones are noise, which costs a factor e^level.
    """

    def take(row: dict[int, Any], y: int, weight: Fraction) -> None:
        for x, mass in row.items():
            left[x][y] -= weight * mass

    _need(len(given) == 1 + (part.kind in ("all", "information")), "dual variables of another kind")
    if part.kind == "information":
        return _ZERO
    m, factor, (over, under, _) = len(left[0]), part.factor(), part.groups[0]
    is_paired = part.kind in ("matched", "excess")
    a = _matrix(given[0], len(part.groups if is_paired else over), m)
    if part.kind in ("excess", "maxima", "minima"):
        # Solvers have a factor a little below e^level, and at most 10^7: what a takes off the ν.
        own = factor or _ONE
        inside = 1 - min(Fraction(1, 10**13), (own - 1) / own / 1000)
        share = min(inside, 10**7 / own) if is_paired else _ONE
        a = {place: share * v for place, v in a.items() if v > least}
    for (i, y), v in a.items() if is_paired else ():
        (row,), (other,), scale = part.groups[i]
        top = part.factor(scale)
        if top is not None:
            take(row, y, v)
            take(other, y, -top * v)
    if part.kind == "matched" or factor is None:
        return _ZERO
    if part.kind == "excess":
        tops = [max(v for (j, _), v in a.items() if j == i) for i in {i for i, _ in a}]
        return part.delta * sum(tops)
    if part.kind == "all":
        is_set = isinstance(under, _PriorSet)
        rows = [{x: 1} for x in range(len(left))] if is_set else under
        b = _matrix(given[1], len(rows), m)
        for y in {y for _, y in b}:
            mine = [a.get((i, y), _ZERO) for i in range(len(over))]
            mine = mine if any(mine) else [_ONE] * len(mine)
            theirs = [b.get((j, y), _ZERO) for j in range(len(rows))]
            share = sum(theirs, _ZERO) / (factor * sum(mine))
            for row, v in zip(over, mine, strict=True):
                take(row, y, share * v)
            for row, v in zip(rows, under.inside(theirs) if is_set else theirs, strict=True):
                take(row, y, -v)
        return _ZERO
    for (i, y), v in a.items():
        take(over[i], y, v if part.kind == "maxima" else -v)
    sums = [sum((v for (_, z), v in a.items() if z == y), _ZERO) for y in range(m)]
    most = max(sums) * min(factor, Fraction(len(over)))
    return most if part.kind == "maxima" else -min(sums) / factor


def _matrix(part: Any, n: int, m: int) -> _Terms:
    """Positive entries of a matrix of dual variables; others ask nothing."""
    _need(part["shape"] == [n, m], f"dual variables of another shape than {n, m}")
    places = list(zip(part["rows"], part["columns"], strict=True))
    fits = all(i < n and y < m for i, y in places)
    fits = fits and all(part["values"])
    _need(fits and len(set(places)) == len(places), "places outside a matrix, twice, or of zeros")
    values = zip(places, part["values"], strict=True)
    return {place: Fraction(v) for place, v in values if v > 0}


def _sides(asked: _Asked) -> tuple[Fraction, list[Fraction], list[Fraction]]:
    """Every l, h and r of l pᵀk ≤ k ≤ h pᵀk and max k ≤ r min k, l the largest: the parts of the
    cone that amount to that, the others left out.
    """
    p, low, highs, ratios = asked.prior, _ZERO, list[Fraction](), list[Fraction]()
    for part in [part for part in asked.cone if part.kind == "all" and part.factor() is not None]:
        pair = part.groups[0][:2]
        low = max(low, 1 / part.factor()) if pair == (p.whole, p.symbols) else low
        highs += [part.factor()] * (pair == (p.symbols, p.whole))
        ratios += [part.factor()] * (pair == (p.symbols, p.symbols))
    return low, highs, ratios


def _priced(asked: _Asked, rates: _Rows, prices: list[float]) -> list[Fraction]:
    """Bounds Σ p π + max_y sup{Σ_x p_x (u_xy − π_x) k_x : k in the cone, pᵀk = 1}, for prices as
    they are, or cut to what a row can contribute, give or take the range.
    """
    p, (low, highs, ratios) = asked.prior, _sides(asked)
    rough, masses = [list(map(_nearest, row)) for row in rates], list(map(float, p.masses))
    width = max(map(max, rough)) - min(map(min, rough))
    rows = zip(prices, masses, rough, strict=True)
    cut = [min(max(v, m * (min(r) - width)), m * (max(r) + width)) for v, m, r in rows]
    tried = [[v / m for v, m in zip(numbers, masses, strict=True)] for numbers in (prices, cut)]
    found = []
    for pis in [list(map(Fraction, row)) for row in tried if all(map(math.isfinite, row))]:
        tops, known = [], list(zip(rates, asked.allowed, pis, strict=True))
        left = [row[y] - pi for row, ys, pi in known for y in ys] or [_ZERO]
        # Forbidden entries are far below the others, where they are in no supremum.
        far = min(left) - 1024 * (max(left) - min(left) + max(map(abs, left)))
        _afford(40 * len(rates) * len(rates[0]))
        for y in range(len(rates[0])):
            off = [row[y] - pi if y in ys else far for row, ys, pi in known]
            column = list(zip(off, p.masses, strict=True))
            total = sum((d * m for d, m in column), _ZERO)
            value, free, above, weight, best = low * total, 1 - low, total, _ONE, total
            for d, m in sorted(column, reverse=True):
                room = min([free, *((high - low) * m for high in highs)])
                value, free = value + room * d, free - room
                if ratios:
                    above += (min(ratios) - 1) * d * m
                    weight += (min(ratios) - 1) * m
                    best = max(best, above / weight)
            if ratios:
                value = min(value, best)
            if ratios and (low or highs):
                value = min(value, _of_both(column, low, highs, min(ratios)))
            tops.append(value)
        found.append(sum((m * pi for m, pi in zip(p.masses, pis, strict=True)), max(tops)))
    return found


def _of_both(
    column: list[tuple[Fraction, Fraction]], low: Fraction, highs: list[Fraction], ratio: Fraction
) -> Fraction:
    """The least θ + max t Σ m min(d − θ, 0) + T Σ m max(d − θ, 0) over θ, for (d, m) of a column.

    Whatever the θ, it is a bound: t is the least entry, T = min(h, r t) the largest, and the
    maximum over t, of a function that is linear between corners, is at one of these.
    """
    most = min([ratio, *highs])
    least = max(low, 1 / ratio)
    corners = [(least, min(most, ratio * least)), (_ONE, most)]
    corners += [(most / ratio, most)] * (least < most / ratio < 1)
    ranked = sorted(column, reverse=True)
    mean, held, taken = sum((d * m for d, m in ranked), _ZERO), _ZERO, _ZERO
    whole, found = sum((m for _, m in ranked), _ZERO), list[Fraction]()
    for i, (d, m) in enumerate(ranked):
        held, taken = held + m, taken + d * m
        # Lines a + bθ of the corners, from the next value up to this one.
        lines = [
            (lo * (mean - taken) + hi * taken, 1 - lo * (whole - held) - hi * held)
            for lo, hi in corners
        ]
        end = ranked[i + 1][0] if i + 1 < len(ranked) else None
        prices = [d]
        for j, (a, b) in enumerate(lines):
            even = [(e - a) / (b - f) for e, f in lines[:j] if b != f]
            prices += [v for v in even if v <= d and (end is None or v >= end)]
        found.append(min(max(a + b * v for a, b in lines) for v in prices))
        if len(found) > 1 and found[-1] > found[-2]:
            break
    return min(found)


def _nearest(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _float_up(value: Fraction) -> float:
    near = _nearest(value)
    return near if near >= value else math.nextafter(near, math.inf)


# Whole files


def _check_design(content: dict[str, Any], report: Report) -> None:
    prior = _read_prior(content["prior"], report)
    kernel = _Kernel(content["mechanism"], report)
    saved, notions, utility = content["certificate"], content["notions"], content["utility"]
    duals, merged, is_asking = saved["duals"], saved["repair"]["merged"], "questions" in utility
    own = {"prices", "multipliers", "mixture", "inverse"} if is_asking else {*duals} - {"inverse"}
    is_few = "FewOutputs" in [part["name"] for part in content.get("requirements", ())]
    some = [y for branch in duals.get("branches", ()) for y in branch["excluded"]]
    is_fixed, m = bool(utility.keys() & {"gains", "parts"}), len(kernel.outputs)
    fits = {*duals} <= own and (is_few or "branches" not in duals)
    fits = fits and ("worst" not in saved or utility.get("truth") == "any")
    fits = fits and (saved["arithmetic"] == "exact" or not (is_fixed or is_asking))
    _need(fits and max(some + merged * is_fixed, default=0) < m, "a part that nothing asks for")
    _need(kernel.inputs == prior.labels, "a kernel with other inputs than the prior has")
    _need(kernel.attributes == content["prior"].get("attributes"), "a kernel of other attributes")
    pairs = zip(notions, saved["achieved"], strict=True)
    found = [_check_notion(part, prior, kernel, list(said), report) for part, said in pairs]
    report.add("verdicts", _every([saved["verdicts"] == ["yes"] * len(notions), *found]))
    for part in content.get("requirements", []):
        is_known = part["name"] in REQUIREMENTS
        limits = _Space(prior, kernel.outputs).asks(part) if is_known else []
        holds = _every(limit.holds(kernel) for limit in limits)
        if part["name"] == "FewOutputs":
            holds = sum(map(any, zip(*kernel.rows, strict=True))) <= part["parameters"]["most"]
        if part["name"] == "Apart":
            some = [
                kernel.rows[prior.labels.index(_parameter(x))]
                for x in part["parameters"]["symbols"]
            ]
            holds = all(sum(map(bool, column)) <= 1 for column in zip(*some, strict=True))
        report.add(f"requirement: {_shown(part)}", holds if is_known else None)
    if saved["repair"]["constant"]:
        report.add("constant", all(row == kernel.rows[0] for row in kernel.rows), "equal rows")
    report.add("fingerprint", saved["fingerprint"] == _fingerprint(content, prior, kernel))
    gap = math.inf if saved["gap"] == "unknown" else saved["gap"]
    is_proved: bool | None = None
    if is_fixed:
        is_proved = _check_claims(content, gap, prior, kernel, report)
    elif is_asking:
        is_proved = _check_risk(content, gap, prior, kernel, report)
    else:
        bound = math.inf if saved["bound_exact"] is None else _exact(saved["bound_exact"])
        wrong = {"bound": saved["bound"] != _stated_bound(saved), "value": False}
        wrong["gap"] = gap != _share_of(bound, saved)
        for claim, is_wrong in wrong.items():
            known = False if is_wrong else None
            report.add(claim, known, "of a sub-convex utility: not rational, or searched for")
    for fact in [fact for fact in report.claims if fact["claim"] == "value"]:
        fact["detail"] += f", of a utility that the file names {utility['name'][:200]!r}"
    said = saved["optimal"]
    how = "the file says it is" if said else "the file says that it is not"
    report.add("optimal", _every([said is (gap <= GAP_TOLERANCE), is_proved]), how)


def _check_claims(
    content: dict[str, Any], gap: float, prior: _Prior, kernel: _Kernel, report: Report
) -> bool | None:
    """Value, bound and gaps; whether the gap is proved."""
    saved, utility = content["certificate"], content["utility"]
    functions = _functions(utility, prior, len(kernel.outputs), report)
    values = [f.base + kernel.total(f.entries(list(prior.n))) for f in functions]
    value, asked = min(values), _Asked(content, prior, kernel.outputs)
    for k, part in enumerate(utility.get("parts", [])):
        if part["goal"] is not None:
            goal = Fraction(part["goal"]) * Fraction(part["weight"])
            report.add(f"goal {k + 1}", values[k] >= goal)
    width = min(f.most for f in functions) - min(f.least for f in functions)
    own = _bound(asked, functions, saved["duals"])
    near = saved["value"] == _nearest(value)
    told = "" if near else f"{saved['value']!r} is claimed, the kernel gives "
    report.add("value", near, f"{told}{_nearest(value)!r}")
    exact = saved["value_exact"] is not None and _exact(saved["value_exact"]) == value
    report.add("value_exact", exact)
    bound: Any = math.inf if saved["bound_exact"] is None else _exact(saved["bound_exact"])
    report.add("bound, rounded", saved["bound"] == _stated_bound(saved), "up")
    proved = False if bound < value else True if own <= bound else None
    report.add("bound", proved, f"the dual variables prove {_float_up(own)!r}")

    def share(base: Any) -> float:
        """(bound − value) / base, rounded up."""
        if bound <= value:
            return 0.0
        return _float_up((bound - value) / base) if base and bound < math.inf else math.inf

    is_known = _every([gap == share(width), proved])
    report.add("gap", is_known, "of the range of gains")
    # The value of the best constant kernel, which was found in floats, is between two numbers;
    # where none is known to satisfy all that is asked, it is the least of any.
    free = sorted(set.intersection(*map(set, asked.allowed)))
    if asked.limits or not free:
        ends = [min(sum(map(min, f.terms), f.base) for f in functions)] * 2
    else:
        sums = [[sum((row[y] for row in f.terms), f.base) for y in free] for f in functions]
        largest = max(abs(v) for f in functions for v in (f.least, f.most))
        room = width / 10**9 + largest * len(asked.kept) / (1 << 48) + Fraction(1, 1 << 1060)
        ends = [max(map(min, zip(*sums, strict=True))) - room, min(map(max, sums))]
    # Where there is next to nothing to be gained, there is no share of it.
    gained = [
        share(bound - end) if 0 < width * NOTHING < bound - end < math.inf else None for end in ends
    ]
    fits = None in gained
    if saved["gain_gap"] is not None:
        most = share(NOTHING * width) if gained[1] is None else gained[1]
        fits = gained[0] is not None and gained[0] <= saved["gain_gap"] <= most
    # Which constant kernel is the best for the least of several functions is not known.
    is_found = asked.is_known and (len(functions) == 1 or gained[0] == gained[1])
    report.add("gain_gap", _every([fits if is_found else None, proved]), "of what can be gained")
    return is_known


def _stated_bound(saved: dict[str, Any]) -> Any:
    """What the bound of a file has to be: the exact one rounded up, and no less than the value."""
    if saved["bound_exact"] is None:
        return "inf"
    return max(_float_up(_exact(saved["bound_exact"])), float(saved["value"]))


def _share_of(bound: Any, saved: dict[str, Any]) -> float:
    """(bound − value) / |value|, rounded up, of the exact value or else the one that is stated."""
    if bound == math.inf or saved["value"] == "-inf":
        return math.inf
    exact = saved["value_exact"]
    value = Fraction(saved["value"]) if exact is None else _exact(exact)
    if value >= bound:
        return 0.0
    return _float_up((bound - value) / abs(value)) if value else math.inf


def _check_risk(
    content: dict[str, Any], gap: float, prior: _Prior, kernel: _Kernel, report: Report
) -> bool | None:
    """Minus the risk of estimates, the worst of several truths; whether the gap is proved."""
    saved, utility, n = content["certificate"], content["utility"], len(prior.n)
    _afford(50 * n**3)
    asked, weights = utility["questions"] or _unit([1] * n), utility["weights"]
    is_matrix = bool(weights) and isinstance(weights[0], list)
    rows, f = list(zip(*_grid(asked, len(asked), n), strict=True)), len(asked)
    told = {row for row, w in zip(rows, prior.weights, strict=True) if w}
    _need(len(told) > 1 or not utility["questions"], "questions that ask nothing")
    _labels(utility["answers"] or [])
    table = _grid(weights if is_matrix else _unit(weights or [1] * f), f, f)
    loss = [[_dot(r, [_dot(w, c) for w in table]) for c in rows] for r in rows]
    given, truths = utility["truth"], list[list[Fraction]]()
    for part in [] if given == "any" else given if isinstance(given, list) else [given]:
        truth = prior if part is None else _read_prior(part, report)
        _afford(50 * n**3)
        named = prior.n if set(truth.labels) != set(prior.labels) else prior.labels
        masses = [truth.masses[truth.labels.index(label)] for label in named]
        fits = all(bool(v) is bool(w) for v, w in zip(masses, prior.weights, strict=True))
        _need(fits and len(masses) == len(truth.labels), "a truth over other symbols")
        truths.append(masses)
    value, bound = saved["value"], saved["bound_exact"] and _exact(saved["bound_exact"])
    holds, detail, exact = _has_risk(kernel, prior, loss, truths, saved)
    report.add("value", holds, detail)
    if saved["value_exact"] is not None:
        is_open = exact is None and holds is not False
        report.add("value_exact", None if is_open else _exact(saved["value_exact"]) == exact)
    try:
        own = _least_risk(_Asked(content, prior, kernel.outputs), truths, loss, saved["duals"])
        listed = own is not None and f"prices of all extreme columns prove {_float_up(-own)!r}"
    except WorkError as much:
        own, listed = None, f"by extreme columns: {much}"
    report.add("bound, rounded", saved["bound"] == _stated_bound(saved), "up")
    proved = True if own is not None and bound is not None and -own <= bound else None
    proved = False if bound is not None and value != "-inf" and bound < value else proved
    report.add("bound", proved, listed or "by a search, which is not repeated here")
    share = _share_of(math.inf if bound is None else bound, saved)
    is_known = _every([gap == share, holds, proved])
    report.add("gap", is_known, "as its bound")
    report.add("gain_gap", saved["gain_gap"] is None, "constant kernels answer nothing")
    return is_known


def _has_risk(
    kernel: _Kernel,
    prior: _Prior,
    loss: _Rows,
    truths: list[list[Fraction]],
    saved: dict[str, Any],
) -> tuple[bool | None, str, Fraction | None]:
    """Whether the risk of a kernel, the worst of some truths or, without any, of all truths, is at
    most minus the value of a file and nearly as large, where −∞ says that some question has no
    estimate; what it is found to be, and the value where that is known exactly.
    """
    if len(prior.n) > MOST_TOLD or not (truths or _is_positive(loss)):
        return None, "of many symbols, or of weights with a negative eigenvalue", None
    said = None if saved["value"] == "-inf" else -Fraction(saved["value"])
    undecided = said if saved["value_exact"] is None else None
    try:
        found = [_risk(kernel, masses, loss, undecided) for masses in truths]
        if not truths:
            found.append(_worst_risk(kernel, prior, loss, saved.get("worst"), undecided))
    except WorkError as much:
        return None, str(much), None
    ends = [pair for pair in found if pair]
    if len(ends) < len(found) and not any(pair[0] == math.inf for pair in ends):
        return None, "rows that are hardly told apart", None
    low, high = (max(pair[k] for pair in ends) for k in (0, 1))
    detail = "some question has no estimate" if low == math.inf else f"{-_nearest(high)!r}"
    if said is None or low == math.inf:
        return said is None and low == math.inf, detail, None
    exact = -low if low == high else None
    if not low <= said <= high + NEAR * high + Fraction(1, 1 << 1060):
        return False, detail, exact
    if high <= said:
        return True, detail, exact
    return None, f"between {detail} and {-_nearest(low)!r}", exact


def _least_risk(
    asked: _Asked, truths: list[list[Fraction]], loss: _Rows, duals: Any
) -> Fraction | None:
    """What no kernel's risk, the worst of some truths, is below; ``None`` for many symbols.

    With A ⪰ 0 centred, tr(A J⁻¹) ≥ 2 tr(A V) − tr(A VᵀJV) for every V; for V = (I − π1ᵀ)Y the last
    is Σ_y k_yᵀHk_y / πᵀk_y, H = V A Vᵀ. So for all shares w, Y and prices λ the risk is at least
    Σ w 2 tr(A Y) − Σ λ − max{Σ w rᵀHr / πᵀr − λᵀr : r in the cone, pᵀr = 1}, of a convex function.
    As H1 = 0, rᵀHr is that of what a column has beyond its lowest level. Nor is the risk below
    Σ w Σ π_x A_xx, that of an open survey.
    """
    p, n = asked.prior.masses, len(asked.kept)
    if n > MOST_LISTED or not all(p) or None in (duals.get("inverse"), duals["prices"]):
        return None
    given = duals.get("mixture", [1.0] * len(truths))
    weights = [Fraction(max(v, SMALLEST_SHARE)) for v in given]
    truths = [[truth[x] for x in asked.kept] for truth in truths]
    if not weights:
        return None
    if not truths:  # the worst is at least that of the least favourable one
        truths, weights = [weights], [_ONE]
    prices, part = [Fraction(v) for v in duals["prices"]], [loss[x] for x in asked.kept]
    part, forms = [[row[x] for x in asked.kept] for row in part], []
    if not _is_positive(part):
        return None
    table, least = _grid(duals["inverse"], n * len(truths), n), -sum(prices, _ZERO)
    top, open_risk = least, _ZERO
    for k, (weight, masses) in enumerate(zip(weights, truths, strict=True)):
        share, truth = weight / sum(weights), [v / sum(masses) for v in masses]
        off = [[_ONE * (x == z) - v for z in range(n)] for x, v in enumerate(truth)]  # I − π1ᵀ
        centred, inverse = _product(_turned(off), part, off), table[k * n : (k + 1) * n]
        least += 2 * share * _trace(centred, inverse)
        open_risk += share * sum((truth[x] * centred[x][x] for x in range(n)), _ZERO)
        root = _product(off, inverse)
        square = _product(root, centred, _turned(root))
        unit = math.lcm(*(v.denominator for row in square for v in row))
        forms.append((truth, [[int(v * unit) for v in row] for row in square], share / unit))
    rays = _rays(asked)
    for ray in rays:
        _afford(len(forms) * n * n)
        if any(sum(ray[x] > 0 for x in some) > 1 for some in asked.apart):
            continue
        value = -_dot(prices, ray)
        for truth, square, scale in forms:
            value += scale * _dot(ray, [_dot(row, ray) for row in square]) / _dot(truth, ray)
        top = max(top, value / _dot(p, ray))
    for low, high, some, x, middle in [] if rays else _extreme_columns(p, *_sides(asked)):
        _afford(len(forms) * n * n)
        live = {*some, *([x] if middle else [])} if not low else {*range(n)}
        if any(len(live & group) > 1 for group in asked.apart):
            continue
        wide, more = high - low, middle - low
        value = -low * sum(prices, _ZERO) - wide * sum(prices[z] for z in some) - more * prices[x]
        for truth, square, scale in forms:
            both = sum(sum(square[z][i] for i in some) for z in some)
            cross = sum(square[x][z] for z in some)
            size = low + more * truth[x] + wide * sum(truth[z] for z in some)
            spread = wide * wide * both + 2 * wide * more * cross + more * more * square[x][x]
            value += scale * spread / size
        top = max(top, value)
    return max(least - top, open_risk)


def _is_positive(table: _Rows) -> bool:
    """Whether a matrix is symmetric without a negative eigenvalue, by elimination."""
    rows, left = [list(row) for row in table], {*range(len(table))}
    is_symmetric = rows == _turned(rows)
    while is_symmetric and left:
        k = max(left, key=lambda i: rows[i][i])
        if rows[k][k] <= 0:
            return not any(rows[i][j] for i in left for j in left)
        left.remove(k)
        for i in left:
            share = rows[i][k] / rows[k][k]
            rows[i] = [v - share * w for v, w in zip(rows[i], rows[k], strict=True)]
    return is_symmetric


def _extreme_columns(
    p: list[Fraction], low: Fraction, highs: list[Fraction], ratios: list[Fraction]
) -> Iterator[tuple[Fraction, Fraction, list[int], int, Fraction]]:
    """Columns of a cone with pᵀr = 1, all extreme ones among them: one level, another, which
    symbols are at the other, and the place and value of one that may be between.

    With t the least entry and a ratio that binds, all are at t or r t, and pᵀr = 1 says what t is;
    or t is l or h/r, and all but one are at max(l, t) or min(h, r t).
    """
    n, most = len(p), min([*highs, 1 / min(p)])
    boxes = [(low, most)]
    if ratios:
        ratio = min(ratios)
        boxes = [(max(low, t), min(most, ratio * t)) for t in (low, most / ratio) if t]
    for number in range(1 << n):
        if "--progress" in sys.argv and number % 32 == 0:
            print(f"progress {number} {1 << n}", file=sys.stderr, flush=True)
        some = [x for x in range(n) if number >> x & 1]
        mass = sum((p[x] for x in some), _ZERO)
        for a, b in boxes:
            for x in {*range(n)} - {*some}:
                middle = a + (1 - a - (b - a) * mass) / p[x]
                if a <= middle <= b:
                    yield a, b, some, x, middle
        if ratios:
            t = 1 / (1 + (ratio - 1) * mass)
            if low <= t <= most / ratio:
                yield t, ratio * t, some, 0, t


def _rays(asked: _Asked) -> list[list[int]]:
    """Extreme rays of a cone of few symbols that is not of l, h and r alone; none for others.

    Of k ≥ 0, cut by one row after the other: the rays on its side stay, and each is joined to those
    beyond it, unless a third ray meets all the inequalities that both meet with equality.
    """
    n, p, rows = len(asked.kept), asked.prior, list[list[int]]()
    boxes = (p.symbols, p.whole), (p.whole, p.symbols), (p.symbols, p.symbols)
    parts = [(part.factor(d), (a, b)) for part in asked.cone for a, b, d in part.groups]
    if n > MOST_CUT or all(pair in boxes for _, pair in parts):
        return []
    for factor, (over, under) in parts:
        high = math.inf if factor is None else _float_up(factor)
        for a, b in product(
            over, [] if high == math.inf or isinstance(under, _PriorSet) else under
        ):
            row = [Fraction(high) * b.get(x, 0) - a.get(x, 0) for x in range(n)]
            unit = math.lcm(*(v.denominator for v in row))
            rows += [[int(v * unit) for v in row]] if min(row) < 0 else []
    rays = [[int(x == z) for z in range(n)] for x in range(n)]
    met = [frozenset({*range(n)} - {x}) for x in range(n)]
    for number, row in enumerate(rows, n):
        values = [_dot(row, ray) for ray in rays]
        found = [
            (rays[i], met[i] | ({number} if not v else set()))
            for i, v in enumerate(values)
            if v >= 0
        ]
        ups, downs = ([i for i, v in enumerate(values) if v * s > 0] for s in (1, -1))
        _afford(len(ups) * len(downs) // 8)
        for i, j in product(ups, downs):
            both = met[i] & met[j]
            if len(both) < n - 2:
                continue
            _afford(len(met) // 20)
            if sum(both <= other for other in met) == 2:
                ray = [values[i] * b - values[j] * a for a, b in zip(rays[i], rays[j], strict=True)]
                found.append(([v // math.gcd(*ray) for v in ray], both | {number}))
        rays, met = [ray for ray, _ in found], [tight for _, tight in found]
    # Columns of a kernel add up to ones: where these meet a row with equality every column does.
    tight = [row for row in rows if not sum(row)]
    return [ray for ray in rays if not any(_dot(row, ray) for row in tight)]


def _trace(a: _Rows, b: _Rows) -> Any:
    """tr(AB)."""
    return sum(_dot(row, column) for row, column in zip(a, _turned(b), strict=True))


def _turned(table: _Rows) -> list[list[Any]]:
    return list(map(list, zip(*table, strict=True)))


def _product(first: _Rows, *others: _Rows) -> list[list[Any]]:
    found = list(map(list, first))
    for other in others:
        found = [[_dot(row, column) for column in _turned(other)] for row in found]
    return found


def _dot(a: Sequence[Any], b: Sequence[Any]) -> Any:
    return sum(_times_each(a, b))


def _times_each(a: Sequence[Any], b: Sequence[Any]) -> list[Any]:
    return [u * v for u, v in zip(a, b, strict=True)]


def _unit(scales: Sequence[Any]) -> list[list[Any]]:
    return [[v if k == i else 0 for k in range(len(scales))] for i, v in enumerate(scales)]


def _risk(
    kernel: _Kernel, truth: Sequence[Fraction], loss: _Rows, said: Fraction | None
) -> tuple[Any, Any] | None:
    """tr(A J⁻¹) − πᵀAπ between two numbers; ``None`` where J is all but singular, infinite where
    some question has no estimate.

    J is rounded, which moves it by at most e in the Frobenius norm, and inverted exactly: X. Then
    ‖J⁻¹‖ ≤ ‖X‖/(1 − e‖X‖) ≤ 2‖X‖, and tr(A J⁻¹) is within 2e‖A‖‖X‖² of tr(A X). Of few symbols
    it is tr(A X) for X of some of them, if JXA = A, where that does not decide about ``said``.
    """
    live = [x for x, mass in enumerate(truth) if mass]
    rows, masses = [kernel.rows[x] for x in live], [truth[x] for x in live]
    common = math.lcm(*(v.denominator for v in masses))
    part = [[loss[x][z] for z in live] for x in live]
    whole, one = [int(v * common) for v in masses], 1 << RISK_BITS
    _afford(4 * len(live) * len(rows[0]), common.bit_length())
    shares = [_dot(whole, column) or 1 for column in zip(*rows, strict=True)]
    scaled = [[w * common * one // q for w, q in zip(row, shares, strict=True)] for row in rows]
    inverse = _inverse([[_dot(a, b) >> kernel.bits for b in rows] for a in scaled])
    inverse = [[v * one for v in row] for row in inverse]
    heavy, size = (1 + sum(sum(map(abs, row)) for row in table) for table in (part, inverse))
    off = Fraction(len(live) * (len(shares) + 1), one)
    less = _dot(masses, [_dot(row, masses) for row in part])
    if inverse and 2 * off * size < 1:
        risk, room = _trace(part, inverse) - less, 2 * off * heavy * size**2
        if len(live) > MOST_LISTED or (said is not None and not risk - room <= said < risk + room):
            return risk - room, risk + room
    if len(live) > MOST_LISTED:
        return None
    most, some, inverse = math.lcm(*shares), list[int](), []
    _afford(len(live) ** 2 * len(shares), most.bit_length())
    scaled = [[w * (most // q) for w, q in zip(row, shares, strict=True)] for row in rows]
    exact = [[_dot(a, b) for b in rows] for a in scaled]
    for x in range(len(live)):
        found = _inverse([[exact[i][j] for j in [*some, x]] for i in [*some, x]])
        some, inverse = ([*some, x], found) if found else (some, inverse)
    left = _product(inverse, [part[x] for x in some])  # XA, rows of zeros left out
    if _product([[row[x] for x in some] for row in exact], left) != part:
        return math.inf, math.inf
    trace = sum((row[x] for x, row in zip(some, left, strict=True)), _ZERO)
    risk = trace * Fraction(most << kernel.bits, common) - less
    return risk, risk


def _worst_risk(
    kernel: _Kernel, prior: _Prior, loss: _Rows, worst: list[str] | None, said: Fraction | None
) -> tuple[Any, Any] | None:
    """The largest risk of all truths on live symbols, between that at one of them, π, and the most
    of an estimate; ``None`` where J is all but singular, or no π is given.

    With d_y near 1/(πᵀk_y) the estimate B = (K D Kᵀ)⁻¹ K D is unbiased at every truth ρ. Its risk
    there, Σ ρ_x Σ_y k_xy b_yᵀAb_y − ρᵀAρ, is concave in ρ, and at most what its tangent at π is at
    the worst symbol.
    """
    live, masses = [x for x in prior.n if prior.weights[x]], [_ZERO] * len(prior.n)
    given = [_integer(v) for v in worst or ["1"] * len(live)]
    _need(len(given) == len(live) and min(given) > 0, "worst: other symbols than those with mass")
    truth, one = [Fraction(v, sum(given)) for v in given], 1 << RISK_BITS
    for x, mass in zip(live, truth, strict=True):
        masses[x] = mass
    least = _risk(kernel, masses, loss, said)
    if worst is None or least is None or least[0] == math.inf:
        return least if least and least[0] == math.inf else None
    rows = [kernel.rows[x] for x in live]
    columns, part = list(zip(*rows, strict=True)), [[loss[x][z] for z in live] for x in live]
    shares = [_dot(given, column) or 1 for column in columns]
    near = [sum(given) * one // q for q in shares]
    scaled = [_times_each(row, near) for row in rows]
    inverse = _inverse([[_dot(a, b) for b in rows] for a in scaled])
    if not inverse:
        return None
    asked = [[_dot(row, v) for v in inverse] for row in part]
    square = [[_dot(row, v) for v in zip(*asked, strict=True)] for row in inverse]
    unit = (max(abs(v) for row in square for v in row) or _ONE) / one
    above = [[math.ceil(v / unit) for v in row] for row in square]
    pairs, image = zip(near, columns, strict=True), [_dot(row, truth) for row in part]
    sizes = [d * d * _dot(k, [_dot(row, k) for row in above]) for d, k in pairs]
    scale, both = unit * kernel.one, zip(rows, image, strict=True)
    costs = [_dot(row, sizes) * scale - 2 * v for row, v in both]
    return least[0], max(costs) + _dot(truth, image)


def _inverse(matrix: list[list[int]]) -> list[list[Fraction]]:
    """Of integers, by elimination without fractions; empty for a singular matrix."""
    n, last = len(matrix), 1
    _afford(2 * n**3, n * max(abs(v) for row in matrix for v in row).bit_length())
    table = [[*row, *unit] for row, unit in zip(matrix, _unit([1] * n), strict=True)]
    for k in range(n):
        table[k:] = sorted(table[k:], key=lambda row: not row[k])
        top = table[k]
        if not top[k]:
            return []
        for i in {*range(n)} - {k}:
            lead, row = table[i][k], table[i]
            table[i] = [(top[k] * v - lead * w) // last for v, w in zip(row, top, strict=True)]
        last = top[k]
    return [[Fraction(v, row[k]) for v in row[n:]] for k, row in enumerate(table)]


def _check_infeasible(content: dict[str, Any], report: Report) -> None:
    """That no kernel does what is asked: a utility of zero is bounded below zero."""
    prior, outputs = _read_prior(content["prior"], report), _labels(content["outputs"])
    asked = _Asked(content, prior, outputs)
    zeros = [_ZERO] * len(prior.n)
    nothing = _Function(zeros, [[_ZERO] * len(outputs) for _ in zeros], zeros)
    own = _bound(asked, [nothing], content["duals"])
    own = own if all(asked.allowed) else min(own, -_ONE)
    report.add("infeasible", own < 0 or None, f"a utility of zero is at most {_float_up(own)!r}")
    report.add("below_zero", Fraction(content["below_zero"]) <= -own or None)


def _check_public(content: dict[str, Any], report: Report) -> None:
    """A design without its prior: what needs none is proved."""
    kernel = _Kernel(content["mechanism"], report)
    anything = _Prior(kernel.inputs, [1] * len(kernel.inputs)).with_columns(kernel.attributes)
    for part in content["notions"]:
        if part["name"] in WITHOUT_PRIOR:
            _check_notion(part, anything, kernel, None, report)
        else:
            report.add(f"privacy: {_shown(part)}", None, "of a prior that the file does not hold")
    for text in content.get("stated", []):
        report.add(f"privacy: {text}", None, "stated by its maker, without its parameters")
    common = math.gcd(kernel.one, *kernel.weights)
    over = kernel.one // common
    names = [list(map(repr, kernel.inputs)), list(map(repr, kernel.outputs))]
    tag = str(Decimal(over)) if over & (over - 1) else over.bit_length() - 1
    digest = hashlib.sha256(json.dumps([*names, tag]).encode())
    for row in kernel.rows:
        digest.update((",".join(str(Decimal(w // common)) for w in row) + ";").encode())
    if content.keys() & {"questions", "answers"}:
        answers = _labels(content["answers"])
        table = _grid(content["questions"], len(answers), len(kernel.inputs))
        fits = all(1e-60 <= abs(v) <= 1e60 for row in table for v in row if v)
        _need(fits, "questions of another form")
    told = [*_named(content["notions"], repr), *content.get("stated", [])]
    own = hashlib.sha256(json.dumps([digest.hexdigest(), told]).encode()).hexdigest()
    report.add("fingerprint", content["fingerprint"] == own)


def _check_groups(content: dict[str, Any], report: Report) -> None:
    """A subset selection of groups of equal or near masses: a report has a type, which comes with a
    chance of each group, and for each group that it splits a class of residues.
    """
    kind, symbols = content["kind"], content.get("symbols")
    is_public = kind == "public selection"  # of other masses than these, if of any
    numbers = content.get("groups", [0])
    _need({*numbers} == {*range(max(numbers) + 1)}, "groups that are not numbered from 0 on")
    if kind == "grouped selection":
        weights = _read_prior(content["prior"], report).weights
        if "groups" not in content:
            order = sorted({*weights}, reverse=True)
            numbers = [order.index(weight) for weight in weights]
        _need(len(numbers) == len(weights), "a group of each symbol")
        pairs = list(zip(numbers, weights, strict=True))
        own = [[w for j, w in pairs if j == i] for i in sorted({*numbers})]
        groups = [(Fraction(sum(masses), len(masses)), len(masses)) for masses in own]
    else:
        groups = [(_ONE, symbols or numbers.count(i)) for i in range(max(numbers) + 1)]
        size = sum(n for _, n in groups)
        _need("labels" not in content or len(_labels(content["labels"])) == size, "other labels")
    _need((len(groups) == 1) == (symbols is not None), "a single group, or several")
    _attributes(content, _labels(content.get("labels", [])))
    _need(len(groups) <= MOST_GROUPS, "too many groups")
    sums, columns = [0] * len(groups), list[tuple[_Prior, _Kernel]]()
    is_full, is_alike = "groups" not in content, True
    for one in content["types"]:
        chances, choices = list(map(_integer, one["chances"])), list[list[_Residues]]()
        report.add("weights", max(chances) > 0, "of types")
        sums = [a + b for a, b in zip(sums, chances, strict=True)]
        for (mass, size), chance, part in zip(groups, chances, one["parts"], strict=True):
            if part is None:
                choices.append([[(_ONE * mass * size, _ONE * chance)]])
                continue
            base, classes = part["base"], {*map(tuple, _classes(part, size, report))}
            is_alike = is_alike and (len(classes) == 1 or len(groups) == 1)
            is_full = is_full and base ** part["dimension"] == size
            scale = mass * Fraction(size, base)
            choices.append([[(scale * n, chance * base * w) for n, w in row] for row in classes])
        _need(math.prod(map(len, choices)) <= 1 << 12, "too many classes of reports")
        columns += [_column([pair for row in rows for pair in row]) for rows in product(*choices)]
    report.add("rows", {*sums} == {1 << 53}, "chances of types add up")
    for part in content["notions"]:
        _check_columns(part, columns, is_full, is_full and is_alike, report)
    for text in content.get("stated", ()):
        report.add(f"privacy: {text}", None, "stated by its maker, without its parameters")
    if not is_public:
        risk = _subset_risk(content) if len(groups) == 1 else None
        report.add("risk", risk, "n times the squared error, summed")
    for claim in ("achieved", "bound", "fingerprint")[2 * is_public :]:
        report.add(claim, None, "of a kernel without a matrix: mechdesign check computes it")


_Residues = list[tuple[Fraction, Fraction]]


def _classes(part: dict[str, Any], size: int, report: Report) -> list[_Residues]:
    """Residues with their weights in each class of reports about so many symbols."""
    base, power, placements = part["base"], part["dimension"], part.get("placements")
    _need(len(part["profiles"]) == power, "no profile for each class")
    if placements is None:
        _afford(math.isqrt(base) // 8)
        prime = all(base % d for d in range(2, math.isqrt(base) + 1))
        _need(prime and base**power >= size, "a base that is no prime, or too few points")
    else:
        _need(base == size and power == 1, "placements of other symbols")
    for one in placements or ():
        elements = {*one["elements"]}
        differ = max(elements) < base and len(elements) == len(one["elements"])
        _need(differ and _integer(one["mass"]) > 0, "a placement: each symbol once, some mass")
    return [_residues(profile, base, report) for profile in part["profiles"]]


def _residues(part: dict[str, Any], base: int, report: Report) -> _Residues:
    """How many residues there are of each weight, and that weight, with sum one."""
    count, high, middle = part["count"], _integer(part["high"]), _integer(part["middle"])
    _need(count < base, "count out of range")
    low, rest = (1 << 53) - high - middle, base - count - 1
    report.add("weights", min(high, middle, low) >= 0 and bool(rest or not low), "of residues")
    found = ((count, high), (1, middle), (rest, low))
    return [(_ONE * n, Fraction(max(w, 0), n << 53)) for n, w in found if n]


def _column(rows: _Residues) -> tuple[_Prior, _Kernel]:
    """A report with so much mass of symbols at each likelihood, as a kernel of one column."""
    both = zip(*rows, strict=True)
    masses, values = ([w * math.lcm(*(v.denominator for v in c)) for w in c] for c in both)
    types = {"inputs": list(range(len(rows))), "outputs": [0], "denominator_bits": 0}
    kernel = _Kernel({**types, "weights": [[str(int(w))] for w in values]}, Report())
    return _Prior(kernel.inputs, list(map(int, masses))), kernel


def _check_columns(
    part: dict[str, Any], columns: list[Any], is_full: bool, is_exact: bool, report: Report
) -> None:
    """A notion at every class of reports; not all of these need occur unless they are exact."""
    name = part["name"]
    known = name == "LDP" or (is_full and name in ("PML", "PMC", "LIP", "ALIP"))
    asked = [(p, k) for prior, k in columns for p in prior.asks(part)] if known else []
    holds = _every(m.holds(p.level) for p, k in asked for m in _measure(p, k))
    is_open = not known or (holds is False and not is_exact)
    text = f"privacy: {_shown(part)}"
    report.add(text, None if is_open else holds, "in integers, at every class of reports")


def _subset_risk(content: dict[str, Any]) -> bool | None:
    """Whether the risk is that of characters of the geometry; of placements it is not known."""
    (one,) = content["types"]
    (part,) = one["parts"]
    n, q, m, risk = content["symbols"], part["base"], part["dimension"], _ZERO
    v, pairs = q**m, [(n // w) * w * w + (n % w) ** 2 for w in (q**i for i in range(m + 1))]
    for i, profile in enumerate(part["profiles"]):
        count, (high, middle) = profile["count"], (_integer(profile[w]) for w in ("high", "middle"))
        levels = (count, high), (1, middle), (q - count - 1, (1 << 53) - high - middle)
        away = [(k, Fraction(q * w, k << 53) - 1) for k, w in levels if k]
        second, third = (sum(k * a**power for k, a in away) / q for power in (2, 3))
        alike = (pairs[i] - Fraction(pairs[i + 1] - pairs[i], q - 1)) / n
        share = Fraction((q - 1) * q ** (m - 1 - i), v - 1) * Fraction(v - 1, v) ** 2
        risk += share / second * (n + alike * third / second)
    said = _exact(content["risk_exact"]) + Fraction(1, n) - Fraction(2, v) + Fraction(n, v * v)
    return None if "placements" in part else said == risk


class _Product(NamedTuple):
    """Independent reports of several columns as one kernel over tuples of their values."""

    labels: list[Any]
    rows: list[list[int]]
    one: int

    @classmethod
    def of(cls, kernels: list[_Kernel], labels: list[Any]) -> _Product:
        tables = [dict(zip(k.inputs, k.rows, strict=True)) for k in kernels]
        rows = list[list[int]]()
        for label in labels:
            rows.append([1])
            for table, value in zip(tables, label, strict=True):
                rows[-1] = [a * b for a in rows[-1] for b in table[value]]
        return cls(labels, rows, math.prod(k.one for k in kernels))

    @classmethod
    def worst(cls, kernels: list[_Kernel]) -> _Product:
        """Of each column the two values whose likelihoods differ most: their ratios multiply."""
        tops, lows = 1, 1
        for k in kernels:
            ends = [(max(c), min(c)) for c in zip(*k.rows, strict=True) if any(c)]
            top, low = max(ends, key=lambda e: (not e[1], Fraction(e[0], e[1] or 1)))
            tops, lows = tops * top, lows * low
        return cls([1, 0], [[tops], [lows]], 1)


def _check_plan(content: dict[str, Any], report: Report) -> None:
    """The kernels of several columns, each a file, and what independent reports keep together."""
    columns, notion = content["columns"], content["total"]
    kind = "public" if content["kind"] == "public plan" else "design"
    names, files = [part["name"] for part in columns], [part[kind] for part in columns]
    _need(len(set(names)) == len(names), "columns that are not distinct")
    _need(all(own["kind"] == kind for own in files), "a column of another kind")
    for name, own in zip(names, files, strict=True):
        claims = _check_content(own).claims
        report.claims += [{**fact, "claim": f"{name}: {fact['claim']}"} for fact in claims]
    kernels = [_Kernel(own["mechanism"], Report()) for own in files]
    own_names = [[one["name"] for one in kernel.attributes or []] for kernel in kernels]
    _need(own_names == [[name] for name in names], "a column with the kernel of another")
    sizes, labels, weights = [len(k.inputs) for k in kernels], list[Any](), list[int]()
    if content.get("prior") is not None:
        prior = _read_prior(content["prior"], report)
        _need(prior.attributes == names, "a prior of other columns")
        known = zip(prior.labels, prior.weights, strict=True)
        labels, weights = map(list, zip(*(pair for pair in known if pair[1]), strict=True))
        for place, own in enumerate(files):
            alone, masses = _read_prior(own["prior"], Report()), dict[Any, Fraction]()
            for label, mass in zip(prior.labels, prior.masses, strict=True):
                masses[label[place]] = masses.get(label[place], _ZERO) + mass
            same = masses == dict(zip(alone.labels, alone.masses, strict=True))
            report.add(f"{names[place]}: prior", same, "is that of all columns, for this one alone")
    any_prior = notion["name"] in WITHOUT_PRIOR
    cells = math.prod(sizes) if any_prior else len(weights)
    outputs = math.prod(len(k.outputs) for k in kernels)
    if notion["name"] == "LDP":
        whole, weights = _Product.worst(kernels), [1, 1]
    elif not cells or cells * outputs > MOST_CELLS:
        why = "too many reports" if cells else "of a prior that the file does not hold"
        report.add(f"privacy: {notion['name']} of all columns together", None, why)
        return
    elif any_prior:
        whole = _Product.of(kernels, list(product(*(k.inputs for k in kernels))))
        weights = [1] * cells
    else:
        whole = _Product.of(kernels, labels)
    before = len(report.claims)
    everybody = _Prior(tuple(whole.labels), weights)
    _check_notion(notion, everybody, whole, content["achieved"], report)
    for fact in report.claims[before:]:
        fact["claim"] += " of all columns together"


def _fingerprint(content: dict[str, Any], prior: _Prior, kernel: _Kernel) -> str:
    """SHA-256 of prior, labels, notions and weights of a design."""
    parts: list[Any] = [[str(Decimal(w)) for w in prior.weights], list(map(repr, prior.labels))]
    parts += [list(map(repr, kernel.outputs)), _named(content["notions"], _canonical), kernel.bits]
    parts += [_named(part, _canonical) for part in [content.get("requirements")] if part]
    digest = hashlib.sha256(json.dumps(parts).encode())
    if max(kernel.weights) < 1 << 62:
        digest.update(struct.pack(f"<{len(kernel.weights)}q", *kernel.weights))
    else:
        digest.update(",".join(str(Decimal(w)) for w in kernel.weights).encode())
    return digest.hexdigest()


def _named(parts: Any, write: Callable[[Any], str]) -> list[list[str]]:
    """Name and parameters of notions or requirements, as texts."""
    pairs = [(p["name"], sorted(p["parameters"].items())) for p in parts]
    return [[name, *(write((k, _parameter(v))) for k, v in given)] for name, given in pairs]


def _canonical(value: Any) -> str:
    return f"({','.join(map(_canonical, value))})" if isinstance(value, tuple) else repr(value)


def check(data: bytes) -> Report:
    """Every claim of a file; raises :class:`UnreadableError` for one of another form."""
    content = parse(data)
    text = json.dumps(content)
    longest, common = max(map(len, re.findall('"[-/0-9]+"', text)), default=0), 1
    for word in sorted({*re.findall('"fraction": "-?[0-9]+/([0-9]+)"', text)}):
        common = common if common >> (1 << 19) else math.lcm(common, _integer(word))
    bits = max(longest * 10 // 3, common.bit_length())
    _work.update(done=0, most=LEAST_WORK + WORK_PER_BYTE * len(data), bits=bits)
    try:
        _fit(FORM, content, {})
    except UnreadableError as wrong:
        raise UnreadableError(f"no mechdesign file: file{wrong}") from None
    return _check_content(content)


def _check_content(content: dict[str, Any]) -> Report:
    report, kept = Report(), {key: value for key, value in content.items() if key != "digest"}
    text = json.dumps(kept, sort_keys=True, separators=(",", ":"))
    report.add("digest", content.get("digest") == hashlib.sha256(text.encode()).hexdigest())
    checks = {"design": _check_design, "public": _check_public, "infeasible": _check_infeasible}
    for kind in ("subset selection", "grouped selection", "public selection"):
        checks[kind] = _check_groups
    checks["plan"] = checks["public plan"] = _check_plan
    try:
        if content["kind"] == "mechanism":
            _Kernel(content["mechanism"], report, ROW_TOLERANCE)
        else:
            checks[content["kind"]](content, report)
            if "mechanism" in content and not [*content["notions"], *content.get("stated", [])]:
                report.add("privacy", None, "nothing is promised: the file names no notion")
    except WorkError as much:
        report.add("all else", None, str(much))
    except WRONG as wrong:
        raise UnreadableError("a part is missing or has another form") from wrong
    return report


def _end_with_input() -> None:
    sys.stdin.read()
    os._exit(CODES[UNREADABLE])


_WORDS = "--json", "--progress", "--schema", "--with-parent", "--help", "-h"


def main(arguments: Sequence[str] | None = None) -> int:
    """Check files named on the command line; ``--json`` prints JSON, ``--schema`` the form of files
    as JSON Schema. Returns the exit code.
    """
    given, results = [*(sys.argv[1:] if arguments is None else arguments)], list[dict[str, Any]]()
    if "--with-parent" in given:  # whoever started it holds its input open while alive
        threading.Thread(target=_end_with_input, daemon=True).start()
    for name in [word for word in given if word not in _WORDS]:
        try:
            with open(name, "rb") as file:
                report = check(file.read(LARGEST_FILE + 1))
            results.append({"file": name, "state": report.state, "claims": report.claims})
        except (OSError, ValueError, UnreadableError) as wrong:
            claim = {"claim": "file", "state": UNREADABLE, "detail": str(wrong.args[-1])}
            results.append({"file": name, "state": UNREADABLE, "claims": [claim]})
    state = min([found["state"] for found in results] or [UNREADABLE], key=list(CODES).index)
    if "--schema" in given:
        print(json.dumps(FORM, indent=1))
        return 0
    told = {"format": "mechdesign-verify", "schema": 1, "state": state, "files": results}
    if not results:
        print("usage: python verify.py [--json] [--progress] FILE...", file=sys.stderr)
    elif "--json" in given:
        print(json.dumps(told, indent=1))
    for found in results if "--json" not in given else ():
        print(ascii(f"{found['file']}: {found['state']}")[1:-1])
        for fact in found["claims"]:
            print(ascii(f"  {fact['state']:16} {fact['claim']}  {fact['detail']}".rstrip())[1:-1])
    return CODES[state]


if __name__ == "__main__":
    sys.exit(main())

"""Saving and loading designs and mechanisms, as JSON that is checked again when it is read.

A saved design carries the integer weights of the kernel, the exact prior, the notions, the
utility, and the dual variables. Loading repeats the exact check of every notion and recomputes
value, bound and gaps, so a file that claims more privacy or a better optimum than its numbers bear
out is refused, even with a fitting digest. A bound that took a longer search than loading makes is
told and replaced by the one that is proved. What cannot be computed from the numbers is a record
and proves nothing: the method is kept where it could have found the kernel, and what it promises
beyond the certificate only where it finds that kernel again; the solver is kept where its name is
one of ours, and what the repair did where it is possible; what other methods found is written, but
never read back.

Notions and utilities stand in a file by the name of their class and their parameters. A class of
one's own is found when the module that defines it has been imported; loading imports nothing.
"""

from __future__ import annotations

import hashlib
import json
import math
import warnings
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, NoReturn, TypeAlias

import numpy as np
from numpy.typing import NDArray

from . import __version__
from ._public_form import is_public, public_form
from .certificate.certificate import UNKNOWN, Certificate, examine
from .certificate.infeasible import Infeasibility, stated_proof
from .certificate.repair import Repair
from .errors import (
    CertificateError,
    InputError,
    MechdesignError,
    StorageError,
    quote,
    visible,
)
from .exact import (
    Verdict,
    common_integers,
    float_at_most,
    is_whole,
    read_fraction,
    read_integer,
    write_fraction,
    write_integer,
)
from .files import read_json, write_text
from .labels import Label
from .mechanism import MOST_BITS, Mechanism
from .numeric import finite_number
from .prior import Prior
from .privacy.notion import NOTIONS, Check, PrivacyNotion, notion_fields
from .program.enclosures import CUT_SHORT, RELAXED
from .program.problem import Problem, state_problem
from .published import PublicDesign, denominator_to_json
from .registry import is_registered
from .requirement import REQUIREMENTS, Convex, Requirement, requirement_fields
from .schema import Schema
from .solve._design import Design, confirmed_method, confirmed_solver
from .solve.columns_plan import KernelPlan, PublicPlan
from .stored_claims import compare_claims, difference, no_double, settled
from .stored_duals import check_shapes, duals_from_json, duals_to_json
from .stored_plans import plan_from_parts, plan_to_json
from .stored_values import (
    label_from_json,
    label_to_json,
    level_from_json,
    level_to_json,
    number_from_json,
    number_to_json,
    question_from_json,
    question_to_json,
)
from .subsets import PublicSelection, SubsetSelection, stored
from .utility import (
    UTILITIES,
    Distance,
    Estimation,
    Hamming,
    LinearUtility,
    Matrix,
    OutputUtility,
    Utility,
    WorstCase,
)

Saved: TypeAlias = Design | Mechanism | Infeasibility | SubsetSelection | KernelPlan

FORMAT = "mechdesign"
#: Of files without requirements, and of those that have some.
SCHEMA, REQUIRED_SCHEMA = 1, 2
#: What commands print beside a design: no part of it, and left out where it is read.
PRINTED = frozenset(("audit", "requirement_prices", "clash", "message", "smallest_levels"))
_LONGEST_NAME = 200
_REPAIR = {"merged", "mixed", "rounds", "constant", "moved", "inside", "loss"}
# What parts that are missing or of another form raise.
_WRONG = KeyError, TypeError, ValueError, IndexError, AttributeError, ArithmeticError


def save(item: Saved, path: str | Path, *, overwrite: bool = False, public: bool = False) -> None:
    """Write a design, a mechanism, or the proof that nothing does what is asked, to a JSON file.

    The file appears under its name only when it is complete. A file that holds a prior holds it
    exactly, which may be the counts of people, so that only its owner may read it (mode 0600);
    everybody may read one that holds none. With ``public`` it holds what others may have, see
    :func:`public_form`: of a design kernel, labels, guarantee and what it asks. That loads as a
    :class:`PublicDesign`, from which estimates and plans are made.

    Raises :class:`StorageError` when the file exists and ``overwrite`` is false, when it cannot be
    written, and for a public form of what has none. Warns (:class:`CountsWarning`) when a public
    kernel gives its prior back, and says how many digits.

    Examples
    --------
    >>> import tempfile, mechdesign as md
    >>> found = md.design(md.Prior([.6, .4]), md.utility.Hamming(), md.LDP(1))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     md.save(found, folder + "/m.json")
    ...     md.load(folder + "/m.json").mechanism == found.mechanism
    True
    """
    held = public_form(item) if public else item
    text = json.dumps(to_json(held), indent=1) + "\n"
    write_text(text, path, overwrite=overwrite, private=not is_public(held))


def load(path: str | Path) -> Saved:
    """Read what :func:`save` wrote: :class:`Design`, :class:`Mechanism`, :class:`SubsetSelection`,
    :class:`PublicDesign`, which is a mechanism with a guarantee, or the proof that nothing does
    what is asked, with its bound computed again.

    Raises :class:`StorageError` for an unknown schema version, a damaged file, or one whose
    contents do not bear out what it says.
    """
    return _content_in(read_json(path), str(path))


# To JSON: whole files


def to_json(designed: Saved) -> dict[str, Any]:
    """What :func:`save` writes, as plain values."""
    if isinstance(designed, PublicDesign):
        question = designed.question
        body: dict[str, Any] = {
            "kind": "public",
            **parts_to_json(
                mechanism=designed, notions=designed.notions, stated=designed.stated or None
            ),
            **({} if question is None else question_to_json(question)),
            "fingerprint": designed.fingerprint,
        }
    elif isinstance(designed, Mechanism):
        body = {"kind": "mechanism", **parts_to_json(mechanism=designed)}
    elif isinstance(designed, Design):
        body = _design_out(designed)
    elif isinstance(designed, Infeasibility):
        problem = designed.problem
        body = {
            "kind": "infeasible",
            **parts_to_json(
                prior=problem.prior,
                notions=problem.notions,
                requirements=problem.requirements,
                outputs=problem.outputs,
            ),
            "below_zero": float_at_most(-designed.bound),
            "duals": duals_to_json(designed.duals),
        }
    elif isinstance(designed, KernelPlan):
        plan = plan_to_json(designed, list(map(to_json, designed.designs)))
        body = {"kind": "public plan", **plan, "total": _notion_out(designed.total)}
        if not isinstance(designed, PublicPlan):
            prior = None if designed.prior is None else prior_to_json(designed.prior)
            body |= {"kind": "plan", "prior": prior}
    else:
        body = _subsets_out(designed)
    schema = REQUIRED_SCHEMA if "requirements" in body else SCHEMA
    return seal({"format": FORMAT, "schema": schema, "version": __version__, **body})


def seal(content: dict[str, Any]) -> dict[str, Any]:
    """The content with the digest of everything in it."""
    return {**content, "digest": _digest(content)}


def _design_out(design: Design) -> dict[str, Any]:
    c = design.certificate
    agreement = [
        {**vars(row), "bound": number_to_json(row.bound), "gap": row.gap and _gap_out(row.gap)}
        for row in design.agreement
    ]
    return {
        "kind": "design",
        **asked_to_json(design.prior, design.notions, design.utility, design.mechanism.outputs),
        **parts_to_json(requirements=design.requirements or None, mechanism=design.mechanism),
        "method": design.method,
        "agreement": agreement,
        "certificate": {**_certificate_out(c), **_worst_out(design)},
    }


def _certificate_out(c: Certificate) -> dict[str, Any]:
    left = {name: share for name in ("moved", "inside") if (share := getattr(c.repair, name))}
    return {
        "verdicts": [str(check.verdict) for check in c.checks],
        "achieved": [list(map(number_to_json, check.achieved)) for check in c.checks],
        "value": number_to_json(c.value),
        "value_exact": _exact_out(c.value_exact),
        "bound": number_to_json(c.bound),
        "bound_exact": _exact_out(c.bound_exact),
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
            **left,
            "loss": _gap_out(c.repair_loss),
        },
        "solver": c.solver,
        "duals": duals_to_json(c.duals),
        "fingerprint": c.fingerprint,
    }


def _worst_out(design: Design) -> dict[str, Any]:
    """Where the risk of a kernel is largest, for designs for every truth: what proves its value."""
    utility = design.utility
    truths = utility.truths(design.prior) if isinstance(utility, Estimation) else None
    if truths is None or not truths.every:
        return {}
    worst = truths.worst(design.mechanism.weights[design.prior.support])
    if worst is None:
        return {}
    return {"worst": list(map(write_integer, common_integers(worst.truth)[0]))}


def _subsets_out(item: Any) -> dict[str, Any]:
    if not isinstance(item, SubsetSelection):
        raise StorageError(
            f"save: expected a Design or a Mechanism, got {type(item).__name__}; pass the "
            "result of design(), or what has a kernel by its .mechanism."
        )
    kind, parts = "subset selection", dict[str, Any](notions=item.notions)
    if item.prices is not None and item.prior is not None:
        kind, parts["prior"] = "grouped selection", item.prior
    else:
        parts |= {"labels": item.inputs if item.has_names else None, "attributes": item.schema}
    if isinstance(item, PublicSelection):
        kind, parts["stated"] = "public selection", item.stated or None
    return {"kind": kind, **parts_to_json(**parts), **stored.to_numbers(item)}


def _exact_out(value: Fraction | None) -> str | None:
    return None if value is None else write_fraction(value)


def _gap_out(gap: float) -> float | str:
    return gap if gap < UNKNOWN else "unknown"


def _digest(content: dict[str, Any]) -> str:
    kept = {key: value for key, value in content.items() if key != "digest"}
    text = json.dumps(kept, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


# To JSON: parts


def parts_to_json(**parts: Any) -> dict[str, Any]:
    """Parts of a file by their names as plain values, see ``PARTS``; those that are ``None`` are
    left out. Raises :class:`StorageError` as :func:`save`.
    """
    return {name: PARTS[name][0](part) for name, part in parts.items() if part is not None}


def parts_from_json(content: dict[str, Any], *names: str) -> list[Any]:
    """The inverse of :func:`parts_to_json`, for parts that are there."""
    return [PARTS[name][1](content[name]) for name in names]


def problem_to_json(problem: Problem) -> dict[str, Any]:
    """What a design is asked for, as plain values; raises :class:`StorageError` as :func:`save`."""
    asked = asked_to_json(problem.prior, problem.notions, problem.utility, problem.outputs)
    return asked | parts_to_json(outputs=problem.outputs, requirements=problem.requirements or None)


def prior_to_json(prior: Prior) -> dict[str, Any]:
    """Labels, exact weights and probabilities of a prior, as plain values."""
    return {
        **parts_to_json(labels=prior.labels),
        "weights": list(map(write_integer, prior.weights)),
        "probabilities": prior.probabilities.tolist(),
        **parts_to_json(attributes=prior.schema),
    }


def asked_to_json(
    prior: Prior,
    notions: tuple[PrivacyNotion, ...],
    utility: Utility,
    outputs: tuple[Label, ...],
) -> dict[str, Any]:
    """Prior, notions and utility as plain values; raises :class:`StorageError`."""
    parts = parts_to_json(prior=prior, notions=notions)
    return {**parts, "utility": _utility_out(utility, prior, outputs)}


def _utility_out(utility: Utility, prior: Prior, outputs: tuple[Label, ...]) -> dict[str, Any]:
    if isinstance(utility, WorstCase):
        return {
            "name": utility.spec,
            "each": utility.each,
            "refine": utility.refine,
            "parts": [
                {
                    "utility": _utility_out(part.utility, prior, outputs),
                    "prior": None if part.prior is None else prior_to_json(part.prior),
                    "weight": part.weight,
                    "goal": part.goal,
                }
                for part in utility.parts
            ],
        }
    if isinstance(utility, LinearUtility):
        try:
            found = _named_out(utility)
        except StorageError:  # its gains say all that a design needs
            found = {"name": utility.spec}
        return {**found, "gains": utility.gains(prior, outputs).tolist()}
    if isinstance(utility, Estimation):
        plain = utility.of is None and utility.names is None
        asked = None if plain else utility.question(prior.labels, prior.schema)
        told = {"questions": None, "answers": None} if asked is None else question_to_json(asked)
        return {
            "name": utility.spec,
            **told,
            "weights": None if utility.weights is None else utility.weights.tolist(),
            "truth": _truth_out(utility.truth),
        }
    found = _named_out(utility)
    if "class" not in found and _utility_of(found) is None:
        raise StorageError(
            f"save: {quote(utility)} is a function given at run time, which a file cannot hold; "
            "save found.mechanism instead, or derive a class from FInformation or SublinearUtility "
            "that is a frozen dataclass, or whose constructor takes no arguments."
        )
    return found


def _truth_out(truth: Prior | tuple[Prior, ...] | str | None) -> Any:
    if isinstance(truth, tuple):
        return [prior_to_json(one) for one in truth]
    return prior_to_json(truth) if isinstance(truth, Prior) else truth


def _truth_in(part: Any) -> Any:
    if isinstance(part, list):
        return [prior_from_json(one) for one in part]
    return part if part is None or isinstance(part, str) else prior_from_json(part)


def _named_out(utility: Utility) -> dict[str, Any]:
    """Name of a utility; for a registered dataclass its class and parameters as well."""
    if not (is_dataclass(utility) and is_registered(utility, UTILITIES)):
        return {"name": utility.spec}
    values = {f.name: number_to_json(getattr(utility, f.name)) for f in fields(utility) if f.init}
    return {"name": utility.spec, "class": type(utility).__name__, "parameters": values}


def _utility_of(part: dict[str, Any]) -> Utility | None:
    """The registered utility that a file names; ``None`` where it is not known here."""
    name = part["name"]
    kind, _, rest = name.partition(":")
    which, _, of = rest.partition(":")
    if kind == "distance" and which in ("absolute", "squared", "euclidean", "discrete"):
        return Distance(which, of.split("+") if of else None)
    if kind == "hamming" and rest:
        return Hamming(rest.split("+"))
    if ("class" in part) != ("parameters" in part) or not isinstance(part.get("class", ""), str):
        raise ValueError("a utility with a class or with parameters alone")
    values = {key: number_from_json(value) for key, value in part.get("parameters", {}).items()}
    cls = UTILITIES.get(str(part.get("class", name)).lower())
    try:
        utility = None if cls is None else cls(**values)
    except (TypeError, InputError):  # it takes other parameters
        return None
    return utility if utility is not None and utility.spec == name else None


def mechanism_to_json(mechanism: Mechanism) -> dict[str, Any]:
    """Integer weights and labels of a mechanism, as plain values."""
    return {
        **parts_to_json(inputs=mechanism.inputs, outputs=mechanism.outputs),
        **denominator_to_json(mechanism.denominator),
        "weights": [[write_integer(int(w)) for w in row] for row in mechanism.weights],
        **parts_to_json(attributes=mechanism.schema),
    }


def _notion_out(notion: PrivacyNotion) -> dict[str, Any]:
    """Name and parameters of a notion as plain values; raises :class:`StorageError`."""
    if not is_registered(notion, NOTIONS):
        raise StorageError(
            f"save: expected a notion whose class is registered, got {quote(notion)}; leave "
            "register=False out of its class, or save the mechanism alone, found.mechanism."
        )
    writers = dict.fromkeys(notion.level_fields, level_to_json)
    values = {
        name: writers.get(name, number_to_json)(value)
        for name, value in notion_fields(notion).items()
    }
    return {"name": type(notion).__name__, "parameters": values}


def requirement_to_json(requirement: Requirement) -> dict[str, Any]:
    """Name and parameters of a requirement as plain values; raises :class:`StorageError`."""
    if isinstance(requirement, Convex):
        raise StorageError(
            f"save: expected requirements of numbers, got {quote(str(requirement))}, a function in "
            "cvxpy that is not linear; save the mechanism alone, found.mechanism."
        )
    if not (is_dataclass(requirement) and is_registered(requirement, REQUIREMENTS)):
        raise StorageError(
            f"save: expected a requirement that is a registered dataclass, got "
            f"{quote(requirement)}; save the mechanism alone, found.mechanism."
        )
    given = requirement_fields(requirement).items()
    values = {name: number_to_json(value) for name, value in given}
    return {"name": type(requirement).__name__, "parameters": values}


def requirement_from_json(part: dict[str, Any]) -> Requirement:
    """The requirement that was written; raises :class:`InputError` for one that is not known."""
    cls = _known(REQUIREMENTS, "requirement", part["name"])
    return cls(**{key: number_from_json(value) for key, value in part["parameters"].items()})


def _known(registry: dict[str, Any], kind: str, name: Any) -> Any:
    """The class of a name; raises :class:`InputError` for one that is not known."""
    found = registry.get(str(name).lower())
    return found or _unknown(kind, name)


# From JSON: whole files


def from_json(content: Any, name: str = "file") -> Design | Mechanism | SubsetSelection:
    """The inverse of :func:`to_json`, with every claim checked again, for what holds a kernel."""
    found = _content_in(content, name)
    if isinstance(found, KernelPlan):
        raise StorageError(
            f"{name}: expected one kernel, got a plan for {', '.join(found.names)}, which has one "
            "for each; mechdesign check prints it, apply and estimate take it."
        )
    if isinstance(found, Infeasibility):
        raise StorageError(
            f"{name}: expected a kernel, got the proof that none satisfies "
            f"{' and '.join(found.clash)}; mechdesign check prints it; what is asked has to change."
        )
    return found


def _content_in(content: Any, name: str) -> Saved:
    def refuse(what: str) -> StorageError:
        return StorageError(f"{name}: {what}")

    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise refuse(
            "expected a file written by mechdesign, got something else; pass a saved design or "
            "mechanism."
        )
    if content.get("schema") not in (SCHEMA, REQUIRED_SCHEMA):
        raise refuse(
            f"expected schema version {SCHEMA} or {REQUIRED_SCHEMA}, got "
            f"{quote(content.get('schema'))} (written by mechdesign "
            f"{quote(content.get('version', 'unknown'), 20)}); upgrade mechdesign to read it."
        )
    if not isinstance(content.get("version"), str):
        raise refuse("expected a version as text; take the original file.")
    try:
        digest = _digest(content)
    except (ValueError, TypeError, RecursionError):
        raise refuse("holds what is no JSON; take the original file.") from None
    if content.get("digest") != digest:
        raise refuse(
            "the contents do not match their digest, so the file was edited or damaged; design "
            "again, or take the original file."
        )
    try:
        if (read := _READERS.get(content["kind"])) is None:
            raise InputError(
                f"expected a design or a mechanism, got {quote(content['kind'])}; upgrade "
                "mechdesign to read it."
            )
        found = read(content)
        told = {name: part for name, part in content.items() if name not in PRINTED}
        other = difference(told, to_json(found))
        if other is not None:
            raise ValueError(f"{other} stands there otherwise than it would be written")
        return found
    except CertificateError as failure:
        raise refuse(f"the file was altered ({failure}); design again.") from None
    except (InputError, StorageError) as problem:
        raise refuse(str(problem)) from None
    except _WRONG as problem:
        raise refuse(
            f"a part is missing or has another form ({type(problem).__name__}: "
            f"{visible(str(problem))[:200]}); "
            "design again, or take the original file."
        ) from None


def _kernel_in(content: dict[str, Any]) -> Mechanism:
    return mechanism_from_json(content["mechanism"])


def _public_in(content: dict[str, Any]) -> PublicDesign:
    (notions,) = parts_from_json(content, "notions")
    mechanism, asked = _whole_mechanism(content["mechanism"]), question_from_json(content)
    return PublicDesign.of(mechanism, notions, _stated_in(content), asked)


def _stated_in(content: dict[str, Any]) -> list[str]:
    """Notions whose parameters are not told."""
    return [_name_in(text) for text in content.get("stated", [])]


def _proof_in(content: dict[str, Any]) -> Infeasibility:
    names = "prior", "notions", "requirements", "outputs"
    prior, notions, asked, outputs = parts_from_json(content, *names)
    proof = stated_proof(prior, notions, asked, outputs, partial(duals_from_json, content["duals"]))
    if proof is None:
        raise InputError(
            "the dual variables do not prove that no kernel satisfies what is asked, so the file "
            "was altered; design again."
        )
    check_shapes(proof.duals, proof.problem)
    claimed, found = _share(content["below_zero"], math.inf), float_at_most(-proof.bound)
    if not 0 <= claimed <= found:
        raise InputError(
            f"the file claims a bound of {quote(-claimed)}, its numbers give {quote(-found)}; "
            "design again."
        )
    return proof


def _subsets_in(content: dict[str, Any]) -> SubsetSelection:
    where = "prior" if content["kind"] == "grouped selection" else "labels"
    (symbols,) = parts_from_json(content, where) if where in content else [None]
    (notions,) = parts_from_json(content, "notions")
    stated = _stated_in(content) if content["kind"] == "public selection" else ()
    found = stored.from_numbers(content, symbols, notions, stated)
    if (schema := _schema_in(content)) is not None:
        schema.check(found.inputs, InputError)
        found.schema = schema
    return found


def _plan_in(content: dict[str, Any]) -> KernelPlan:
    held = "public" if content["kind"] == "public plan" else "design"
    designs = [
        _content_in(part[held], f"column {quote(part['name'])}") for part in content["columns"]
    ]
    prior = content["prior"] if held == "design" else None
    prior = None if prior is None else prior_from_json(prior)
    return plan_from_parts(content, designs, _notion_in(content["total"]), prior)


def _design_in(content: dict[str, Any]) -> Design:
    prior, notions = parts_from_json(content, "prior", "notions")
    mechanism = _whole_mechanism(content["mechanism"])
    if mechanism.schema != prior.schema:
        raise ValueError("prior and kernel name different columns")
    utility = _utility_in(content["utility"], prior, mechanism.outputs)
    saved = content["certificate"]
    outputs = mechanism.outputs if isinstance(utility, OutputUtility) else None
    asked = tuple(map(requirement_from_json, content.get("requirements", ())))
    problem = state_problem(prior, utility, notions, outputs, None, asked)
    repair = _repair_in(saved["repair"], mechanism, outputs is not None)
    loss = saved["repair"]["loss"]
    if any(no_double(saved[name]) for name in ("value", "bound", "gap", "gain_gap")):
        raise ValueError("an integer that no double is")
    certificate = examine(
        problem,
        mechanism,
        duals_from_json(saved["duals"], problem),
        repair,
        UNKNOWN if loss == "unknown" else _share(loss, math.inf),
        confirmed_solver(_name_in(saved["solver"])),
    )
    check_shapes(certificate.duals, problem)
    if not isinstance(saved["bound_source"], str) or not isinstance(content["agreement"], list):
        raise TypeError("bound_source is no text, or the record of other methods no list")
    if "worst" in saved:
        masses = [read_integer(w) for w in saved["worst"]]
        good = isinstance(utility, Estimation) and utility.truth == "any"
        good = good and len(masses) == prior.support.size and min(masses) > 0
        if not good or list(map(write_integer, masses)) != saved["worst"]:
            raise ValueError("worst: expected a positive mass for each symbol that has some")
    width, found = problem.program.width(certificate.value), _certificate_out(certificate)
    if RELAXED in certificate.bound_source or CUT_SHORT in certificate.bound_source:
        saved = settled(saved, certificate, found, width, problem.program.time_limit)
    compare_claims(saved, certificate, found, width)
    method = confirmed_method(problem, _name_in(content["method"]), mechanism)
    return Design(
        mechanism, prior, utility, notions, method, certificate, requirements=problem.requirements
    )


_READERS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "mechanism": _kernel_in,
    "design": _design_in,
    "public": _public_in,
    "infeasible": _proof_in,
    **dict.fromkeys(("subset selection", "grouped selection", "public selection"), _subsets_in),
    **dict.fromkeys(("plan", "public plan"), _plan_in),
}


def _repair_in(part: dict[str, Any], mechanism: Mechanism, is_fixed: bool) -> Repair:
    """The record of the repair; ``ValueError`` for one that no repair can have left. Positions are
    those of the outputs where they are fixed, else of those that a solver found.
    """
    merged, rounds, constant = part["merged"], part["rounds"], part["constant"]
    good = not part.keys() - _REPAIR and isinstance(merged, list) and isinstance(constant, bool)
    good = good and all(is_whole(number, 0) for number in (*merged, rounds))
    good = good and not (is_fixed and max(merged, default=0) >= mechanism.shape[1])
    if not good or (constant and (mechanism.weights != mechanism.weights[0]).any()):
        raise ValueError("a record of the repair that no repair leaves")
    shares = (part["mixed"], part.get("moved", 0.0), part.get("inside", 0.0))
    mixed, moved, inside = (_share(share, 1) for share in shares)
    return Repair(tuple(merged), mixed, rounds, constant, moved, inside)


def _share(value: Any, most: float) -> float:
    """A number from 0 to ``most``, finite."""
    return finite_number(None if no_double(value) else value, "share or bound", 0, most)


def _name_in(text: Any) -> str:
    """A name of a method or a solver: one short line."""
    if not isinstance(text, str) or len(text) > _LONGEST_NAME or visible(text) != text:
        raise ValueError(
            f"expected a name of at most {_LONGEST_NAME} characters, got {quote(text)}"
        )
    return text


# From JSON: parts


def unmet_notions(content: Any) -> list[Check]:
    """Exact checks of the notions that the kernels of a file, as plain values, do not satisfy.

    Nothing else that the file says is checked. A notion that is not known here, or that is about a
    prior which the file does not hold, is left out, and so is a part that cannot be read.
    """
    try:
        if "columns" in content:
            parts = [column.get("design", column.get("public")) for column in content["columns"]]
            return [check for part in parts for check in unmet_notions(part)]
        mechanism = mechanism_from_json(content["mechanism"])
        known = [part for part in content["notions"] if part["name"].lower() in NOTIONS]
        notions = [_notion_in(part) for part in known]
        if "prior" in content:
            prior = prior_from_json(content["prior"])
        else:
            prior = Prior.uniform(mechanism.inputs)
            notions = [notion for notion in notions if not notion.uses_prior]
        checks = [notion.check(mechanism, prior) for notion in notions]
    except (MechdesignError, *_WRONG):
        return []
    return [check for check in checks if check.verdict is Verdict.NO]


def prior_from_json(part: dict[str, Any]) -> Prior:
    """The exact prior that :func:`prior_to_json` wrote."""
    with warnings.catch_warnings():
        # Whoever made the design was told of symbols without mass.
        warnings.simplefilter("ignore")
        found = Prior.from_counts(
            map(read_fraction, part["weights"]), *parts_from_json(part, "labels")
        )
        return found.with_schema(_schema_in(part))


def mechanism_from_json(part: dict[str, Any]) -> Mechanism:
    """The mechanism that :func:`mechanism_to_json` wrote, with its integer weights."""
    rows = [_weights_in(row) for row in part["weights"]]
    weights: NDArray[Any] = np.array(rows, dtype=object)
    if max(max(row) for row in rows) < 1 << 62:
        weights = weights.astype(np.int64)
    bits = read_integer(part.get("denominator_bits", 0))
    one = 1 << bits if 0 <= bits <= MOST_BITS else 0
    one *= read_integer(part.get("denominator", 1))
    if not 0 < one < 2 << MOST_BITS:
        raise ValueError("a kernel over no number, or over a long one")
    found = Mechanism.over(weights, one, *parts_from_json(part, "inputs", "outputs"))
    return found.with_schema(_schema_in(part))


def _whole_mechanism(part: dict[str, Any]) -> Mechanism:
    """The same of a design or its public form, whose rows have sums of one exactly."""
    found = mechanism_from_json(part)
    if found.row_error:
        raise ValueError("rows of a design whose sum is not one")
    return found


def _schema_in(part: dict[str, Any]) -> Schema | None:
    return parts_from_json(part, "attributes")[0] if "attributes" in part else None


def _weights_in(row: list[Any]) -> list[int]:
    """A row of integers; at once where all are short runs of digits, as they nearly always are."""
    if all(type(cell) is str for cell in row):
        digits = "".join(row)
        if digits.isascii() and digits.isdigit() and all(0 < len(cell) < 4000 for cell in row):
            return list(map(int, row))
    return [read_integer(cell) for cell in row]


def _notion_in(part: dict[str, Any]) -> PrivacyNotion:
    """The notion that was written; raises :class:`InputError` for one that is not known."""
    cls = _known(NOTIONS, "notion", part["name"])
    readers = dict.fromkeys(cls.level_fields, level_from_json)
    values = part["parameters"].items()
    found: PrivacyNotion = cls(**{k: readers.get(k, number_from_json)(v) for k, v in values})
    return found


def _utility_in(part: dict[str, Any], prior: Prior, outputs: tuple[Label, ...]) -> Utility:
    """The utility that was written: a registered one, or its matrix of gains over the outputs."""
    if not isinstance(part["name"], str):
        raise TypeError("the name of a utility is no text")
    if "parts" in part:
        return _worst_case_in(part, prior, outputs)
    if "questions" in part:
        answers, truth = part["answers"], part["truth"]
        return Estimation(
            part["questions"],
            part["weights"],
            _truth_in(truth),
            names=None if answers is None else [label_from_json(label) for label in answers],
        )
    if "gains" not in part:
        utility = _utility_of(part)
        if utility is None or isinstance(utility, LinearUtility):
            return _unknown("utility", part.get("class", part["name"]))
        return utility
    gains = np.array(part["gains"], dtype=float)
    named = _utility_of(part)
    # Only where it gives the gains of the file: what they are is what was designed for.
    if isinstance(named, LinearUtility) and _gives(named, gains, prior, outputs):
        return named
    return Matrix(gains, outputs)


def _gives(
    utility: LinearUtility, gains: NDArray[Any], prior: Prior, outputs: tuple[Label, ...]
) -> bool:
    """Whether a utility is one for these labels, and has these gains."""
    try:
        return np.array_equal(utility.gains(prior, outputs), gains)
    except InputError:
        return False


def asked_from_json(part: dict[str, Any]) -> tuple[Prior, list[PrivacyNotion], Utility]:
    """Prior, notions and utility that :func:`asked_to_json` wrote, with ``outputs`` beside them."""
    prior, notions, outputs = parts_from_json(part, "prior", "notions", "outputs")
    return prior, list(notions), _utility_in(part["utility"], prior, outputs)


def _worst_case_in(part: dict[str, Any], prior: Prior, outputs: tuple[Label, ...]) -> WorstCase:
    parts = part["parts"]
    utilities = [_utility_in(entry["utility"], prior, outputs) for entry in parts]
    if part["each"]:
        (utility,) = utilities
        if not isinstance(utility, LinearUtility):
            raise TypeError("a worst case of a utility that is not linear")
        return WorstCase.symbols(utility, refine=part["refine"])
    priors = [None if one["prior"] is None else prior_from_json(one["prior"]) for one in parts]
    return WorstCase(
        list(zip(utilities, priors, strict=True)),
        weights=[entry["weight"] for entry in parts],
        goals=[entry["goal"] for entry in parts],
        refine=part["refine"],
    )


def _unknown(kind: str, name: Any) -> NoReturn:
    raise InputError(
        f"the {kind} {quote(name)} is not known here; import the module that defines it, then load "
        "again."
    )


def _all(*each: Callable[[Any], Any]) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    """How a list of parts is written and read, from how one is."""
    write, read = each
    return lambda parts: list(map(write, parts)), lambda parts: tuple(map(read, parts))


_LABELS = _all(label_to_json, label_from_json)
#: The parts that files of several kinds have: how each is written and how it is read.
PARTS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "prior": (prior_to_json, prior_from_json),
    "mechanism": (mechanism_to_json, mechanism_from_json),
    "notions": _all(_notion_out, _notion_in),
    "requirements": _all(requirement_to_json, requirement_from_json),
    "attributes": (Schema.to_json, Schema.from_json),
    "stated": (list, list),
    **dict.fromkeys(("labels", "inputs", "outputs"), _LABELS),
}

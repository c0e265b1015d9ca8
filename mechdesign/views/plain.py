"""Results as plain values, for ``--json``: what a script reads."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..prior import Prior
from ..published import kernel_fingerprint
from ..solve.sensitivity import requirement_prices
from ..storage import SCHEMA, mechanism_to_json, prior_to_json, seal, to_json
from ..stored_values import label_to_json
from .tables import (
    customary_table,
    intervals_table,
    many_estimates_table,
    outcome_table,
    picked,
    risk_table,
)

if TYPE_CHECKING:
    from .._audit import AuditReport
    from .._compare.comparison import Comparison
    from .._try_out import Trial
    from ..inference._estimate_joint import JointEstimate, TableEstimate
    from ..inference._estimate_rounds import ChangeEstimate, RoundsEstimate
    from ..inference._regress import Regression
    from ..inference.many import ManyEstimates
    from ..inference.planning import Plan, SmallestForReports
    from ..inference.results import Estimate, GroupEstimates
    from ..privacy.notion import Check
    from ..release._pram import Pram, Stratum
    from ..requirement.base import RequirementCheck
    from ..solve._design import Design
    from ..solve._smallest import SmallestLevel
    from ..solve.choice import Choice
    from ..solve.columns_plan import ColumnsPlan
    from ..subsets import LevelCheck, SubsetSelection
    from ..theory import (
        Erratum,
        Implication,
        Implications,
        Outcome,
        Statement,
        Theorem,
        TightConversion,
    )
    from ..theory._composition import Composition


def audit_json(report: AuditReport) -> dict[str, Any]:
    """What a kernel leaks, where, and the verdict on each notion asked."""
    return {
        "format": "mechdesign-audit",
        "schema": SCHEMA,
        "prior": _distribution(report.prior),
        "mechanism": mechanism_to_json(report.mechanism),
        "leakage": report.summary(),
        "worst": {
            name: [
                {
                    "level": worst.level,
                    "output": label_to_json(worst.output),
                    **picked(worst, "over under"),
                }
                for worst in leakage.worst
            ]
            for name, leakage in report.leakages.items()
        },
        "left_out": report.left_out,
        "outcomes": [
            {**row, "output": label_to_json(row["output"])}
            for row in outcome_table(report).records()
        ],
        "rules_out": [
            {"output": label_to_json(output), "inputs": list(map(label_to_json, inputs))}
            for output, inputs in report.ruled_out.items()
        ],
        "verdict": None if report.verdict is None else str(report.verdict),
        "checks": [_check(check) for check in report.checks],
        "requirements": [requirement_check_json(check) for check in report.kept],
    }


def requirement_check_json(check: RequirementCheck) -> dict[str, Any]:
    """The exact verdict on a requirement, by how much it is broken, and where."""
    return {
        "requirement": str(check.requirement),
        "verdict": str(check.verdict),
        **picked(check, "excess evidence"),
    }


def design_json(found: Design, **more: Any) -> dict[str, Any]:
    """A design as its file has it, with what its requirements cost and what else is given."""
    prices = requirement_prices(found)
    if prices is not None:
        more["requirement_prices"] = prices.limit_rows()
    content = to_json(found)
    return seal({**content, **more}) if more else content


def _check(check: Check) -> dict[str, Any]:
    return {
        "notion": check.notion.spec,
        "verdict": str(check.verdict),
        "achieved": list(check.achieved),
        "evidence": check.evidence,
    }


def subset_checks_json(selection: SubsetSelection, checks: Sequence[LevelCheck]) -> dict[str, Any]:
    """Verdicts and levels of a subset selection, under the masses that it was made for."""
    return {
        "symbols": len(selection.inputs),
        "kernel": selection.fingerprint,
        "checks": [
            {
                "notion": check.notion.spec,
                "verdict": str(check.verdict),
                "achieved": ["inf" if v == math.inf else v for v in check.achieved],
            }
            for check in checks
        ],
    }


def choice_json(choice: Choice) -> dict[str, Any]:
    """The method that a design would use, and why not the others."""
    return {
        "method": choice.method.name,
        "why": choice.method.reason,
        "source": choice.method.source,
        "refused": choice.refusals,
        "also": choice.also,
    }


def smallest_json(found: SmallestLevel | SmallestForReports) -> dict[str, Any]:
    """The smallest level that does what is asked, the one below that does not, and the design."""
    from ..solve._smallest import SmallestLevel

    if isinstance(found, SmallestLevel):
        proof = found.infeasible_below
        own = {
            "utility": found.design.utility.spec,
            "at_least": found.at_least,
            "value": found.design.value,
            "bound_below": found.bound_below,
            "infeasible_below": None if proof is None else proof.reason,
        }
    else:
        own = {
            **vars(found.asked),
            "rows": found.plan.rows(),
            "error_below": found.error_below,
        }
    return {
        "notion": found.family,
        **own,
        **picked(found, "level below steps"),
        "design": to_json(found.design),
    }


def comparison_json(found: Comparison, prior: Prior) -> dict[str, Any]:
    """Every point of a comparison under one prior, the rankings and the verdict."""
    return {
        "schema": SCHEMA,
        "prior": prior_to_json(prior),
        "match": found.match,
        "requirements": [str(requirement) for requirement in found.requirements],
        "points": found.rows(),
        "missing": [vars(entry) for entry in found.missing],
        "rankings": [vars(entry) for entry in found.rankings],
        "orders": [{**vars(entry), "verdict": str(entry.verdict)} for entry in found.orders],
        "verdict": list(found.verdict),
    }


def composition_json(found: Composition) -> dict[str, Any]:
    """What several reports leak together, notion by notion."""
    return {
        **picked(found, "reports people"),
        "together": [
            {
                "notion": type(level.notion).__name__,
                "asked": list(level.notion.levels),
                "levels": list(level.levels),
                "exact": level.exact,
            }
            for level in found
        ],
    }


def _limits_json(made: Any) -> dict[str, Any]:
    """Which limits numbers have."""
    return {name: getattr(made, name) for name in ("confidence", "side", "together")}


def many_estimates_json(
    made: ManyEstimates, kernel: str | dict[str, str], top: int | None = None
) -> dict[str, Any]:
    """Estimated shares of many symbols: of all of them with intervals each alone, or of the top
    ones with simultaneous ones.
    """
    return {
        "rows": many_estimates_table(made, top).records(),
        **picked(made, "reports method"),
        "intervals": "binomial",
        **_limits_json(made),
        "simultaneous": made.together or top is not None,
        **picked(made, "target fit"),
        "receipt": None if made.receipt is None else made.receipt.to_json(),
        "note": made.note,
        "kernel": kernel,
    }


def estimate_json(made: Estimate, kernel: str) -> dict[str, Any]:
    """Estimated frequencies; ``kernel`` is the fingerprint of the kernel that made the reports."""
    return {
        "rows": intervals_table(made).records(),
        **picked(made, "reports method intervals"),
        **_limits_json(made),
        **picked(made, "target fit"),
        "receipt": None if made.receipt is None else made.receipt.to_json(),
        "note": made.note,
        "likelihood": vars(made.convergence),
        "shrunk": None if made.shrunk is None else prior_to_json(made.shrunk),
        "kernel": kernel,
    }


def survey_json(made: Estimate, kernel: str) -> dict[str, Any]:
    """Estimated frequencies of a sample survey."""
    shown = estimate_json(made, kernel)
    for row, noise in zip(shown["rows"], made.noise, strict=True):
        row["noise"] = float(noise)
    shown.update(
        weighting=made.weighting,
        strata=made.strata,
        clusters=made.clusters,
        effective=made.effective,
        freedom=made.freedom,
    )
    return shown


def groups_json(made: GroupEstimates, kernel: str) -> dict[str, Any]:
    """Estimates of each group of a sample, and each less the first one."""
    found = [survey_json(each, kernel) for each in made.estimates]
    return {
        "by_group": made.column,
        "groups": [
            {"group": group, **shown} for group, shown in zip(made.groups, found, strict=True)
        ],
        "differences": [
            {"groups": list(each.groups), "rows": intervals_table(each).records()}
            for each in made.differences()
        ],
        "reports": made.reports,
        **_limits_json(made.estimates[0]),
        "kernel": kernel,
    }


def regression_json(made: Regression, kernel: str | dict[str, str]) -> dict[str, Any]:
    """Coefficients of a regression with a privatised column, or several."""
    rows = intervals_table(made).records()
    for row, p in zip(rows, made.pvalues, strict=True):
        row["p"] = float(p)
    return {
        "rows": rows,
        **picked(made, "reports family response column reference confidence freedom errors_by"),
        **picked(made, "log_likelihood fit"),
        "receipt": None if made.receipt is None else made.receipt.to_json(),
        "note": made.note,
        "kernel": kernel,
    }


def change_json(made: ChangeEstimate, kernels: Sequence[str]) -> dict[str, Any]:
    """The change between two rounds; ``kernels`` are the fingerprints of their kernels."""
    rows = intervals_table(made).records()
    for row, apart in zip(rows, made.errors_apart, strict=True):
        row["error_apart"] = float(apart)
    return {
        "rows": rows,
        "rounds": [
            estimate_json(one, kernel) for one, kernel in zip(made.rounds, kernels, strict=True)
        ],
        **picked(made, "both kept"),
        **_limits_json(made),
        "note": made.note,
        "kernels": list(kernels),
    }


def rounds_json(made: RoundsEstimate, kernels: Sequence[str]) -> dict[str, Any]:
    """An estimate from several rounds; ``kernels`` are the fingerprints of their kernels."""
    shown = estimate_json(made, kernels[0])
    shown.update(rounds=list(made.rounds), people=made.people, kernels=list(kernels))
    if made.leaked is not None:
        shown["leaked"] = composition_json(made.leaked)
    del shown["kernel"]
    return shown


def joint_json(
    made: JointEstimate, table: TableEstimate, given: str | None, kernels: Sequence[str]
) -> dict[str, Any]:
    """Joint frequencies of two columns, or those of one ``given`` the other."""
    rest = [name for name in made.names if name != given]
    return {
        "rows": given or rest[0],
        "columns": rest[-1],
        "given": given,
        "cells": table.records(),
        "reports": made.reports,
        "likelihood": vars(made.convergence),
        "note": made.note,
        "kernels": list(kernels),
        **picked(made, "method intervals"),
        **_limits_json(made),
        "target": made.target,
    }


def plan_json(found: Plan) -> dict[str, Any]:
    """How many reports an error takes, and the half-width of each interval.

    With the kernel of the narrowest widest interval beside it: the same for that, what every kernel
    takes at least, the weights of the answers that it is designed for, its risk with them, and the
    bound of that.
    """
    shown: dict[str, Any] = {
        **picked(found, "reports without_privacy cost confidence"),
        "assurance": found.assured,
        "rows": found.rows(),
    }
    if found.best is not None and found.best.design is not None:
        least = found.best.design
        weights = getattr(least.utility, "weights", None)
        shown["best"] = {
            **plan_json(found.best),
            "privacy": [notion.spec for notion in least.notions],
            "weights": None if weights is None else weights.tolist(),
            "risk": least.risk,
            "risk_at_least": -least.bound,
        }
        shown["fewest"] = found.fewest
    return shown


def trial_json(found: Trial) -> dict[str, Any]:
    """True and estimated shares, how many reports each error takes, and the best guess."""
    return {
        "privacy": [notion.spec for notion in found.design.notions],
        "people": found.people,
        "rows": [{**row, "label": label_to_json(row["label"])} for row in found.rows()],
        "reports": [
            {"error": error, "reports": None if math.isinf(number) else number}
            for error, number in found.reports.items()
        ],
        "guessed_before": found.guesses[0],
        "guessed_after": found.guesses[1],
        "kernel": kernel_fingerprint(found.design.mechanism),
    }


def pram_json(found: Pram) -> dict[str, Any]:
    """Matrices, risks and the customary matrices, by stratum."""
    return {
        "format": "mechdesign-pram",
        "schema": SCHEMA,
        "column": found.column,
        "strata_column": found.by,
        "pooled": found.pooled,
        "asked": [notion.spec for notion in found.notions],
        "required": [str(requirement) for requirement in found.requirements],
        **picked(found, "records unchanged correct_before correct_after"),
        "largest_posterior": found.largest,
        "strata": [_stratum(part) for part in found.strata],
    }


def _stratum(part: Stratum) -> dict[str, Any]:
    return {
        "stratum": None if part.name is None else label_to_json(part.name),
        "prior": _distribution(part.prior),
        "mechanism": mechanism_to_json(part.mechanism),
        "value": part.design.value,
        "bound": part.design.bound,
        "status": part.design.status,
        "checks": [_check(check) for check in part.checks],
        **picked(part, "records unchanged correct_before correct_after"),
        "risks": risk_table(part).records(),
        "customary": customary_table(part).records()[1:],
    }


# Results, errata and conversions


def theorem_json(result: Theorem) -> dict[str, Any]:
    """A result as plain values."""
    return {
        "id": result.id,
        "also": list(result.also),
        **picked(result, "statement conditions tight slack source"),
    }


def statement_json(entry: Statement) -> dict[str, Any]:
    """A numbered statement, and what checks it how far, as plain values."""
    return {
        **picked(entry, "id place source says"),
        "implemented": list(entry.implemented),
        "checked": list(entry.checked),
        "errata": list(entry.errata),
        "status": entry.status,
        "reason": entry.partly or entry.cannot,
    }


def outcome_json(result: Theorem, outcome: Outcome) -> dict[str, Any]:
    """The outcome of a check as plain values."""
    return {
        "id": result.id,
        "holds": outcome.ok,
        "claims": outcome.claims,
        "closest": {
            "about": outcome.worst.about,
            "found": outcome.worst.found,
            "relation": outcome.worst.relation,
            "claimed": outcome.worst.claimed,
        },
    }


def erratum_json(entry: Erratum) -> dict[str, Any]:
    """An erratum as plain values, its counterexamples computed now."""
    return {
        **picked(entry, "id source place kind quotation printed reading corrected proof"),
        "counterexamples": [str(example) for example in entry.counterexamples()],
        "stands": entry.stands,
    }


def implications_json(found: Implications, entries: Sequence[Implication]) -> dict[str, Any]:
    """Implied levels with their derivations as plain values."""
    return {
        "given": [notion.spec for notion in found.given],
        "prior": _distribution(found.prior),
        "implied": [
            {
                "name": entry.name,
                "levels": list(entry.levels),
                "reason": entry.reason,
                "derivation": [
                    {
                        **picked(step, "id source"),
                        "premises": list(step.premises),
                        "conclusion": step.conclusion,
                    }
                    for step in entry.derivation
                ],
            }
            for entry in entries
        ],
    }


def tight_json(conversions: Sequence[TightConversion]) -> dict[str, Any]:
    """Tight levels with their witnesses as plain values."""
    return {
        "given": [notion.spec for notion in conversions[0].source],
        "prior": _distribution(conversions[0].prior),
        "implied": [
            {
                "name": type(found.target).__name__,
                "levels": [
                    {
                        **picked(entry, "level attained over under method"),
                        "witness": None
                        if entry.witness is None
                        else mechanism_to_json(entry.witness),
                    }
                    for entry in found.levels
                ],
                "reason": found.reason,
            }
            for found in conversions
        ],
    }


def _distribution(prior: Prior) -> dict[str, Any]:
    return {
        "labels": [label_to_json(label) for label in prior.labels],
        "probabilities": prior.probabilities.tolist(),
    }


def columns_plan_json(plan: ColumnsPlan) -> dict[str, Any]:
    """A plan for several columns: levels, risks and kernels, what all leak, and other splits."""
    return {
        "total": str(plan.total),
        "verdict": str(plan.check.verdict),
        "achieved": list(plan.leaks),
        "risk": plan.risk,
        "columns": [
            {
                "name": name,
                "levels": list(found.notions[0].levels),
                "risk": found.risk,
                "weight": weight,
                "outputs": found.mechanism.shape[1],
                "kernel": kernel_fingerprint(found.mechanism),
            }
            for name, found, weight in zip(plan.names, plan.designs, plan.weights, strict=True)
        ],
        "others": [
            {
                "name": other.name,
                "levels": [list(levels) for levels in other.levels],
                "risk": other.risk,
                "leaks": list(other.leaks),
            }
            for other in plan.others
        ],
    }

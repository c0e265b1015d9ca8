"""Plans for several columns as plain values: what a file says of all of their designs together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .errors import StorageError
from .exact import Verdict
from .prior import Prior
from .privacy import PrivacyNotion
from .published import PublicDesign
from .schema import Schema
from .solve._design import Design
from .solve.columns_plan import ColumnsPlan, check_together
from .solve.public_plan import PublicPlan
from .stored_values import number_to_json
from .utility import Estimation


def plan_to_json(plan: ColumnsPlan, designs: Sequence[Any]) -> dict[str, Any]:
    """Names and weights of the columns with their designs, which are plain values already, and
    levels of all together.

    How other splits compare is not written: nothing in a file could show that it is true.
    """
    return {
        "columns": [
            {"name": name, "weight": weight, "design": found}
            for name, weight, found in zip(plan.names, plan.weights, designs, strict=True)
        ],
        "achieved": list(map(number_to_json, plan.check.achieved)),
    }


def plan_from_parts(
    content: dict[str, Any],
    designs: Sequence[Any],
    total: PrivacyNotion,
    prior: Prior | None,
    name: str,
) -> ColumnsPlan:
    """The plan that was written, with its exact check made again.

    Raises :class:`StorageError` where reports of all columns together do not have what the file
    says, and errors of Python for parts that do not fit each other.
    """
    names = Schema(tuple(part["name"] for part in content["columns"])).names
    if prior is not None and (prior.schema is None or prior.schema.names != names):
        raise ValueError("the prior of a plan is one of other columns")
    if prior is None and total.uses_prior:
        raise ValueError("a plan for a notion of a prior holds none")
    for column, found in zip(names, designs, strict=True):
        if not (isinstance(found, Design) and isinstance(found.utility, Estimation)):
            raise TypeError("a column of a plan without a design for its estimates")
        if found.prior.schema is None or found.prior.schema.names != (column,):
            raise ValueError("a column of a plan with the design of another")
        if prior is not None and prior.marginal(column) != found.prior:
            raise ValueError("a column of a plan with a design for another prior")
    check = check_together(total, [found.mechanism for found in designs], prior)
    if check.verdict is not Verdict.YES:
        raise StorageError(
            f"{name}: reports of all columns together do not keep {total} ({check.evidence}), so "
            "the file was altered; plan again."
        )
    weights = tuple(float(part["weight"]) for part in content["columns"])
    if min(weights) <= 0:
        raise ValueError("a weight that is not positive")
    return ColumnsPlan(names, tuple(designs), weights, total, prior, check)


def public_plan_to_json(plan: PublicPlan, designs: Sequence[Any]) -> dict[str, Any]:
    """Names of the columns with their kernels, which are plain values already, and levels of all
    together where no prior is needed to tell them.
    """
    told = (
        {} if plan.check is None else {"achieved": list(map(number_to_json, plan.check.achieved))}
    )
    columns = zip(plan.names, designs, strict=True)
    return {"columns": [{"name": name, "public": found} for name, found in columns], **told}


def public_plan_from_parts(
    content: dict[str, Any], designs: Sequence[Any], total: PrivacyNotion
) -> PublicPlan:
    """The public form that was written, with its total level checked again where that is possible.

    Raises :class:`CertificateError` where reports of all columns together do not have what the file
    says, and errors of Python for parts that do not fit each other.
    """
    names = Schema(tuple(part["name"] for part in content["columns"])).names
    if len(names) < 2:
        raise ValueError("a plan of less than two columns")
    for column, found in zip(names, designs, strict=True):
        if not isinstance(found, PublicDesign):
            raise TypeError("a column without the public form of its design")
        if found.schema is None or found.schema.names != (column,):
            raise ValueError("a column of a plan with the kernel of another")
    return PublicPlan.of(names, designs, total)

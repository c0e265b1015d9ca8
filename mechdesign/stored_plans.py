"""Plans for several columns as plain values: what a file says of all of their designs together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .errors import CertificateError
from .exact import Verdict
from .prior import Prior
from .privacy import PrivacyNotion
from .published import PublicDesign
from .schema import Schema
from .solve._design import Design
from .solve.columns_plan import ColumnsPlan, KernelPlan, PublicPlan, check_together
from .stored_values import number_to_json
from .utility import Estimation


def plan_to_json(plan: KernelPlan, designs: Sequence[Any]) -> dict[str, Any]:
    """Names of the columns with what their reports are drawn from, which are plain values already,
    and levels of all together where they are checked; weights where the plan has some.

    How other splits compare is not written: nothing in a file could show that it is true.
    """
    parts = [{"name": name} for name in plan.names]
    if isinstance(plan, ColumnsPlan):
        told = zip(plan.weights, designs, strict=True)
        own: list[dict[str, Any]] = [{"weight": weight, "design": found} for weight, found in told]
    else:
        own = [{"public": found} for found in designs]
    columns = [{**part, **more} for part, more in zip(parts, own, strict=True)]
    return {"columns": columns, **_levels(plan)}


def plan_from_parts(
    content: dict[str, Any],
    designs: Sequence[Any],
    total: PrivacyNotion,
    prior: Prior | None,
) -> KernelPlan:
    """The plan that was written, or its public form, with its exact check made again.

    Raises :class:`CertificateError` where reports of all columns together do not have what the file
    says, and errors of Python for parts that do not fit each other.
    """
    names = Schema(tuple(part["name"] for part in content["columns"])).names
    is_public = content["kind"] == "public plan"
    kind = PublicDesign if is_public else Design
    if len(names) < 2:
        raise ValueError("a plan of less than two columns")
    for column, found in zip(names, designs, strict=True):
        if not isinstance(found, kind):
            raise TypeError("a column of a plan without its design, or the public form of it")
        schema = found.schema if isinstance(found, PublicDesign) else found.prior.schema
        if schema is None or schema.names != (column,):
            raise ValueError("a column of a plan with the design of another")
    if is_public:
        return PublicPlan.of(names, designs, total)
    return _whole_plan(content, names, designs, total, prior)


def _whole_plan(
    content: dict[str, Any],
    names: tuple[str, ...],
    designs: Sequence[Any],
    total: PrivacyNotion,
    prior: Prior | None,
) -> ColumnsPlan:
    if prior is not None and (prior.schema is None or prior.schema.names != names):
        raise ValueError("the prior of a plan is one of other columns")
    if prior is None and total.uses_prior:
        raise ValueError("a plan for a notion of a prior holds none")
    for column, found in zip(names, designs, strict=True):
        if not isinstance(found.utility, Estimation):
            raise TypeError("a column of a plan without a design for its estimates")
        if prior is not None and prior.marginal(column) != found.prior:
            raise ValueError("a column of a plan with a design for another prior")
    check = check_together(total, [found.mechanism for found in designs], prior)
    if check.verdict is not Verdict.YES:
        raise CertificateError(check.evidence, (check,))
    weights = tuple(float(part["weight"]) for part in content["columns"])
    if min(weights) <= 0:
        raise ValueError("a weight that is not positive")
    return ColumnsPlan(names, tuple(designs), total, prior, check, weights)


def _levels(plan: KernelPlan) -> dict[str, Any]:
    if plan.check is None:
        return {}
    return {"achieved": list(map(number_to_json, plan.check.achieved))}

"""Which release a mechanism or a plan makes of the columns named: of one, of several, of points."""

from __future__ import annotations

from typing import Any

from ..errors import InputError, quote
from ..labels import counted
from ..mechanism import kernel_of
from ..solve.columns_plan import KernelPlan
from .codes import Policy
from .column import ColumnRelease, check_name
from .identities import words_and_identity
from .place_release import PlaceRelease
from .several import JointRelease, PlanRelease, joined


def release_of(
    mechanism: Any,
    columns: tuple[Any, ...],
    policy: Policy,
    *,
    row: str | None,
    person: str | None,
    key: Any,
    rng: Any,
    texts: bool = False,
    strata: Any = None,
    into: Any = None,
    of_round: Any = None,
) -> ColumnRelease:
    """The release of one column, of several by a kernel on tuples, or of those of a plan."""
    for option, given in (("row", row), ("person", person), ("strata", strata)):
        check_name(option, given)
    is_plan = isinstance(mechanism, KernelPlan)
    if len(columns) > 1 or is_plan:
        for name, what in (("row", row), ("person", person)):
            if what is not None and what in columns:
                raise InputError(
                    name,
                    expected="another column than the secrets",
                    got=f"{quote(what)} for both",
                    remedy="name the column that identifies the rows",
                )
    elif into is not None:
        raise InputError(
            "names of the columns of reports (into)",
            expected="several columns of secrets with them",
            got="one column, which keeps its name",
            remedy="leave into= (--into) out",
        )
    name = columns[0] if len(columns) == 1 else joined(columns)
    words, identity = words_and_identity(rng, name, row, person, key, of_round)
    if len(columns) == 1 and not is_plan:
        return ColumnRelease(
            mechanism, name, words, policy, texts=texts, identity=identity, strata=strata
        )
    if strata is not None:
        raise InputError(
            "strata",
            expected="one column of secrets with it",
            got=counted(len(columns), "column"),
            remedy="make the stratum a column of the prior",
        )
    if not is_plan:
        schema = getattr(kernel_of(mechanism), "schema", None)
        has_places = schema is not None and schema.places is not None
        joint = PlaceRelease if has_places else JointRelease
        return joint(mechanism, columns, words, policy, texts=texts, identity=identity, into=into)
    if into is not None:
        raise InputError(
            "names of the columns of reports (into)",
            expected="a kernel on tuples with them",
            got="a plan, whose reports keep the names of the columns",
            remedy="leave into= (--into) out, and rename the columns afterwards",
        )
    own = None if identity is not None else rng
    return PlanRelease(mechanism, columns, own, policy, texts=texts, identity=identity)

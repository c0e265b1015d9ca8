"""What a method is: it says as data what it handles, and answers with a kernel and its duals."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, get_args

from ..program.duals import Candidate
from ..program.features import features_of
from ..program.program import Shape

#: Every shape that a cone is recognised to have.
ANY_CONE: frozenset[str] = frozenset(get_args(Shape))
#: Kinds of cones that the epigraphs of sums over outcomes may bring, beside linear rows.
EVERY_SUM = frozenset({"sums", "exponential", "second-order", "power"})
#: Linear utilities over any cone; also the least of several, with zeros and limits.
LINEAR = ANY_CONE | {"linear"}
GENERAL = LINEAR | {"least", "zeros", "limits"}
#: Sub-convex utilities over any cone, or f-informations alone; risks of estimates.
INFORMATION = ANY_CONE | {"information"}
SUBLINEAR = INFORMATION | {"sublinear"}
ESTIMATION = ANY_CONE | {"estimation"}
#: The feature of methods whose ``solve`` also takes the solution for nearby levels.
WARM_START = "warm start"


class Method(ABC):
    """A way to solve a program.

    A subclass says in :attr:`features` what it can solve, adds what numbers decide in
    :meth:`condition`, and answers in :meth:`solve`. An instance of a class of one's own can be
    passed as ``solver=``. Nothing it returns is trusted.

    Attributes
    ----------
    features : names of all that it handles, as :func:`.features_of` has them: what is
        maximised, shapes of the cone, sums over outcomes and their cones, zeros, limits; begin with
        one of ``LINEAR``, ``GENERAL``, ``SUBLINEAR``, ``INFORMATION``, ``ESTIMATION``
    reason : one sentence: what it does and why it would be chosen
    is_exact : whether its answers are meant to be optimal; others are left out of comparisons
    is_sharpened : whether others are asked for more digits where its gap is small, but not tiny
    scope : what else its answers are optimal for, where that is more than was asked
    """

    name: ClassVar[str]
    features: frozenset[str]
    reason: str = "asked for"
    source: ClassVar[str] = ""
    is_exact: ClassVar[bool] = True
    is_sharpened: ClassVar[bool] = True
    scope: ClassVar[str] = ""

    def refusal(self, program: Any, asked: dict[str, str] | None = None) -> str | None:
        """Why the method does not apply, or ``None`` when it does. Nothing is solved for it.

        ``asked`` are the features of the program, where they are known.
        """
        asked = features_of(program) if asked is None else asked
        if not asked.keys() <= self.features:
            return next(why for feature, why in asked.items() if feature not in self.features)
        return self.condition(program)

    def condition(self, program: Any) -> str | None:
        """What else has to hold of a program that is handled: the reason why not, or ``None``."""
        return None

    def lateness(self, program: Any) -> int:
        """How many ranks later than its place in the order of preference it is asked."""
        return 0

    @abstractmethod
    def solve(self, program: Any) -> Candidate:
        """Solve a program that was not refused. Raises :class:`SolverError`.

        With the feature ``"warm start"`` it is also given the solution for nearby levels.
        """

"""What a method must handle to solve a program, and what one says that does not."""

from __future__ import annotations

from typing import Any

from ..labels import counted
from .program import EstimationProgram, LinearProgram, Objective, Program, Shape

# What a method does that handles an objective, and what one is that handles a shape.
_DONE: dict[Objective, str] = {
    "linear": "solve linear utilities",
    "least": "maximise the least of several utilities",
    "information": "solve sub-convex utilities",
    "sublinear": "solve sub-convex utilities that are no f-information",
    "estimation": "minimise the risk of estimates",
    "worst estimation": "minimise the worst risk of several truths",
}
_SHAPES: dict[Shape, str] = {
    "free": "the absence of bounds",
    "upper lift": "an upper bound on the lift alone",
    "lower lift": "a lower bound on the lift alone",
    "lift": "bounds on both sides of the lift",
    "ratio": "a bound on the ratios between all symbols",
    "lift and ratio": "bounds on the lift and on ratios together",
    "general": "bounds of another kind than one two-sided cone",
}


def features_of(program: Program) -> dict[str, str]:
    """Names of all that a method must handle, in the order in which they are looked at, each with
    what is said where it does not.
    """
    kind, shape = program.objective_kind, program.cone.shape
    found: dict[str, str] = {kind: f"it does not {_DONE[kind]}"}
    if program.unexpressed:
        found["unexpressed"] = f"{program.unexpressed[0]} is not a bound on likelihood ratios"
    asked: dict[str, tuple[Any, str]] = {}
    if isinstance(program, LinearProgram):
        asked["zeros"] = program.forbidden is not None, "some entries are forbidden"
        asked["limits"] = program.limits, "there are limits on entries or their sums"
        asked["convex"] = program.convex, "there are convex constraints of one's own"
    if isinstance(program, EstimationProgram):
        asked["apart"] = program.apart, "some symbols share no output"
    if isinstance(program, (LinearProgram, EstimationProgram)):
        most = program.most_outputs
        why = f"at most {counted(most or 0, 'output')} may occur"
        asked["few outputs"] = most is not None, why
    found |= {feature: why for feature, (holds, why) in asked.items() if holds}
    for label, constraint in zip(program.sum_labels, program.sums, strict=True):
        why = f"{label} is not a bound on likelihood ratios"
        if kind != "linear":
            why += (
                ", which a utility needs whose outputs the design finds; use a linear utility "
                "with it, or a bound such as PML, LDP or Pufferfish"
            )
        found.setdefault("sums", why)
        for cone in sorted(constraint.cones):
            found.setdefault(cone, f"{label} needs {cone} cones")
    return {**found, shape: f"it does not handle {_SHAPES[shape]}"}

"""A mechanism as a user-defined OpenDP measurement. Needs OpenDP: ``mechdesign[opendp]``."""

from __future__ import annotations

import math
from typing import Any

from ..errors import DataError, InputError
from ..extras import brought_by
from ..mechanism import mechanism_of
from ..prior import Prior
from ..privacy import LDP
from .sampler import Sampler


def to_opendp(mechanism: Any) -> Any:
    """An OpenDP measurement on one symbol, with its LDP level as the privacy loss.

    Input domain: an atom of the type of the inputs (text, integers or booleans); metric: discrete
    distance; measure: pure differential privacy. Any two symbols are at distance 1, where the map
    gives the exactly checked level of the kernel, rounded up. Draws use the operating system's
    entropy.

    The features ``honest-but-curious`` and ``contrib`` of OpenDP must be enabled by the caller
    (``opendp.prelude.enable_features``), as for every measurement that is defined in Python.

    Raises
    ------
    InputError
        For a kernel without a finite LDP level, or labels of other or of mixed types.
    MissingLibraryError
        When OpenDP is not installed.
    """
    with brought_by("opendp"):
        import opendp.prelude as dp
    kernel = mechanism_of(mechanism)
    sampler = Sampler(kernel)
    level = LDP(math.inf).check(kernel, Prior.uniform(kernel.inputs)).achieved[0]
    if level == math.inf:
        raise InputError(
            "mechanism for OpenDP",
            expected="a kernel with a finite LDP level",
            got="one where an outcome rules a symbol out",
            remedy="design with md.LDP, or use md.privatize",
        )
    kinds = {type(label) for label in kernel.inputs}
    names = {str: "String", int: "i64", bool: "bool"}
    if len(kinds) != 1 or not kinds <= set(names):
        raise InputError(
            "inputs of a mechanism for OpenDP",
            expected="labels of one type: text, integers or booleans",
            got=", ".join(sorted(kind.__name__ for kind in kinds)),
            remedy="relabel the inputs",
        )

    def draw(symbol: Any) -> Any:
        return sampler.draw([symbol])[0]

    def loss(distance: int) -> float:
        return level if distance else 0.0

    try:
        return dp.m.make_user_measurement(
            input_domain=dp.atom_domain(T=names[kinds.pop()]),
            input_metric=dp.discrete_distance(),
            output_measure=dp.max_divergence(),
            function=draw,
            privacy_map=loss,
        )
    except dp.OpenDPException as problem:
        raise DataError(
            "OpenDP",
            expected="the features contrib and honest-but-curious",
            got=" ".join(str(problem).split())[:160],
            remedy="call dp.enable_features('contrib', 'honest-but-curious') first",
        ) from None

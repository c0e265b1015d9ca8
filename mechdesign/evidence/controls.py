"""Mechanisms that are known to break what they claim, and some that keep it.

An auditor tries an audit on these first: it must find the broken ones, and accuse none of the
others. Each is a sampler with its claim and the reason; :func:`controls` lists them all.

>>> import numpy as np
>>> broken = [control.name for control in controls() if not control.keeps_claim]
>>> "Laplace noise in floats" in broken
True
>>> control = next(c for c in controls() if c.name == "one-hot bits, each at the whole level")
>>> reports = control.sampler(np.random.default_rng(0))("b", 3)
>>> len(reports), set(map(len, reports))
(3, {3})
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..labels import Label
from ..privacy.differential import DP, LDP
from ..privacy.notion import LikelihoodBound

#: Reports on an input, as many as asked.
Sampler = Callable[[Any, int], list[Any]]
Rng = np.random.Generator

# Scores of two neighbours whose weights leave the range of floats.
_UNDERFLOWING = {"first": (-1489.6, -1490.4), "second": (-1490.4, -1489.6)}
# Counts of queries in two neighbouring databases; each differs by at most one.
_QUERIES = {"low first": (0, 0, 0, 1, 1, 1), "high first": (1, 1, 1, 0, 0, 0)}
# A kernel of the kind that linear programs in floats return for metrics: weights below the
# tolerance of the solver became zeros in some rows and not in others.
_LINE = 4


@dataclass(frozen=True, eq=False)
class Control:
    """A mechanism of which it is known whether it keeps its claim.

    Attributes
    ----------
    name : what it is
    claim : the notion that it claims
    inputs : its symbols
    keeps_claim : whether the claim is true
    why : what is wrong, or why nothing is
    source : keys into the bibliography
    make : from a random generator to the sampler
    partition : how its reports are grouped for an audit, ``None`` where they can be counted
    outputs : all its outcomes, where they can be listed
    calls : how many calls show what it does
    """

    name: str
    claim: LikelihoodBound
    inputs: tuple[Label, ...]
    keeps_claim: bool
    why: str
    source: tuple[str, ...]
    make: Callable[[Rng], Sampler]
    partition: Any = None
    outputs: tuple[Label, ...] | None = None
    calls: int = 40_000

    def sampler(self, rng: Rng) -> Sampler:
        """The mechanism, drawing from a generator: ``(input, number)`` to as many reports."""
        return self.make(rng)


def controls() -> tuple[Control, ...]:
    """All controls, the broken ones first."""
    return (
        Control(
            "Laplace noise in floats",
            LDP(1.0),
            (0, 1),
            False,
            "the logarithm of a float takes values on a grid, and an added number moves it to "
            "another grid: the last bits of a report tell which number was added",
            ("Mironov2012",),
            _laplace_in_floats,
            partition="tree",
        ),
        Control(
            "geometric noise from eight random bits",
            DP(0.1, "adjacent"),
            (0, 1),
            False,
            "inverting a distribution function on few random bits leaves out some values and gives "
            "others too much, as floats do, only sooner",
            ("Mironov2012", "Balcer2019"),
            _geometric_of_a_byte,
            calls=100_000,
        ),
        Control(
            "geometric noise with two zeros",
            DP(0.5, "adjacent"),
            (0, 1),
            False,
            "a random sign and a geometric size give zero twice, so that the zero has twice its "
            "probability",
            ("Canonne2020",),
            lambda rng: _two_sided(rng, 0.5, reject=False),
        ),
        Control(
            "sparse vector, queries without noise",
            LDP(1.0),
            tuple(_QUERIES),
            False,
            "only the threshold has noise, so that answers that need two thresholds at once are "
            "impossible for one neighbour and not for the other",
            ("Lyu2017",),
            lambda rng: _sparse_vector(rng, 1.0, query_scale=0.0, most=len(_QUERIES)),
        ),
        Control(
            "sparse vector without a limit on answers",
            LDP(1.0),
            tuple(_QUERIES),
            False,
            "the noise of queries does not grow with the number of answers above the threshold, "
            "though each of them spends",
            ("Lyu2017",),
            lambda rng: _sparse_vector(rng, 1.0, query_scale=2.0, most=6),
            calls=400_000,
        ),
        Control(
            "one-hot bits, each at the whole level",
            LDP(1.0),
            ("a", "b", "c"),
            False,
            "each of two bits that differ is given the whole level",
            ("Erlingsson2014", "Wang2017"),
            lambda rng: _bits(rng, {"a": (1, 0, 0), "b": (0, 1, 0), "c": (0, 0, 1)}, 1.0),
        ),
        Control(
            "bits of a number, noise for one-hot bits",
            LDP(1.0),
            tuple(range(8)),
            False,
            "a symbol was mapped to the digits of its number, of which three can differ, and noise "
            "was made for two",
            ("Erlingsson2014",),
            lambda rng: _bits(rng, {x: (x >> 2, x >> 1 & 1, x & 1) for x in range(8)}, 0.5),
            calls=100_000,
        ),
        Control(
            "exponential mechanism that underflows",
            LDP(1.0),
            tuple(_UNDERFLOWING),
            False,
            "weights of low scores become zero, or the smallest float, before they are divided by "
            "their sum",
            ("McSherryTalwar2007", "Ilvento2020"),
            _exponential_that_underflows,
            outputs=(0, 1),
        ),
        Control(
            "kernel of a solver with zeros in some rows",
            DP(1.0, "adjacent"),
            tuple(range(_LINE)),
            False,
            "a linear program was solved to a tolerance, and weights below it were cut off",
            (),
            _kernel_with_zeros,
            outputs=tuple(range(_LINE)),
        ),
        Control(
            "randomised response",
            LDP(1.0),
            ("a", "b", "c"),
            True,
            "its odds are exactly the level",
            ("Warner1965", "Kairouz2016"),
            lambda rng: _of_kernel(rng, _response(3, 1.0), ("a", "b", "c")),
            outputs=("a", "b", "c"),
        ),
        Control(
            "geometric noise",
            DP(0.5, "adjacent"),
            (0, 1),
            True,
            "the second zero is drawn again",
            ("GhoshRoughgardenSundararajan2012", "Canonne2020"),
            lambda rng: _two_sided(rng, 0.5, reject=True),
        ),
        Control(
            "sparse vector",
            LDP(1.0),
            tuple(_QUERIES),
            True,
            "half of the level is for the threshold, half for one answer, then it stops",
            ("DworkRoth2014", "Lyu2017"),
            lambda rng: _sparse_vector(rng, 1.0, query_scale=4.0, most=1),
        ),
        Control(
            "one-hot bits",
            LDP(1.0),
            ("a", "b", "c"),
            True,
            "two bits differ, and each is given half of the level",
            ("Erlingsson2014", "Wang2017"),
            lambda rng: _bits(rng, {"a": (1, 0, 0), "b": (0, 1, 0), "c": (0, 0, 1)}, 0.5),
        ),
    )


def _laplace_in_floats(rng: Rng) -> Sampler:
    def draw(x: int, number: int) -> list[Any]:
        uniform = rng.random(number) - 0.5
        noise = -np.sign(uniform) * np.log1p(-2 * np.minimum(np.abs(uniform), 0.5 - 2**-54))
        return (x + noise).tolist()

    return draw


def _geometric_of_a_byte(rng: Rng) -> Sampler:
    """Two-sided geometric noise, its size by inversion of (b + ½)/256 for a byte b."""

    def draw(x: int, number: int) -> list[Any]:
        bits = rng.integers(256, size=number)
        size = np.floor(-np.log((bits + 0.5) / 256) / 0.1).astype(int)
        sign = rng.choice([-1, 1], size=number)
        return (x + sign * size).tolist()

    return draw


def _two_sided(rng: Rng, level: float, *, reject: bool) -> Sampler:
    """A sign times a geometric size; (−, 0) is drawn again where ``reject`` says so."""

    def pairs(number: int) -> tuple[NDArray[Any], NDArray[Any]]:
        size = rng.geometric(-math.expm1(-level), size=number) - 1
        return rng.choice([-1, 1], size=number), size

    def draw(x: int, number: int) -> list[Any]:
        sign, size = pairs(number)
        again = np.flatnonzero((sign < 0) & (size == 0)) if reject else np.array([], int)
        while len(again):
            sign[again], size[again] = pairs(len(again))
            again = again[(sign[again] < 0) & (size[again] == 0)]
        return (x + sign * size).tolist()

    return draw


def _sparse_vector(rng: Rng, level: float, *, query_scale: float, most: int) -> Sampler:
    """Above-threshold answers until there are ``most``; noise of queries at a scale over the level.

    The threshold is ½ with noise of scale 2 over the level.
    """

    def draw(x: str, number: int) -> list[Any]:
        queries = np.array(_QUERIES[x], float)
        threshold = 0.5 + rng.laplace(0, 2 / level, size=(number, 1))
        noise = rng.laplace(0, 1, size=(number, len(queries))) * query_scale / level
        above = queries + noise >= threshold
        before: NDArray[Any] = np.cumsum(above, axis=1) - above
        answers = np.where(before < most, above.astype(int), -1)
        return [tuple(row) for row in answers.tolist()]

    return draw


def _bits(rng: Rng, code: dict[Any, tuple[int, ...]], per_bit: float) -> Sampler:
    """Each bit of a code is kept with odds e to the level per bit."""
    keep = 1 / (1 + math.exp(-per_bit))

    def draw(x: Any, number: int) -> list[Any]:
        bits = np.array(code[x])
        flips = rng.random((number, len(bits))) >= keep
        return [tuple(row) for row in (bits ^ flips).tolist()]

    return draw


def _exponential_that_underflows(rng: Rng) -> Sampler:
    """Weights e^(score/2) in floats; scores of neighbours differ by at most one."""

    def draw(x: str, number: int) -> list[Any]:
        weights = np.exp(np.array(_UNDERFLOWING[x]) / 2)
        ends = np.cumsum(weights)
        return (
            np.searchsorted(ends, rng.random(number) * ends[-1], side="right").clip(0, 1).tolist()
        )

    return draw


def _kernel_with_zeros(rng: Rng) -> Sampler:
    """Truncated geometric noise on a line, with what is below 0.05 cut off and rows divided."""
    places = np.arange(_LINE)
    kernel = np.exp(-np.abs(places[:, None] - places))
    kernel /= kernel.sum(axis=1, keepdims=True)
    kernel[kernel < 0.05] = 0
    return _of_kernel(rng, kernel / kernel.sum(axis=1, keepdims=True), tuple(range(_LINE)))


def _response(size: int, level: float) -> NDArray[np.float64]:
    kernel = np.ones((size, size)) + np.eye(size) * math.expm1(level)
    return kernel / kernel.sum(axis=1, keepdims=True)


def _of_kernel(rng: Rng, kernel: NDArray[np.float64], labels: tuple[Label, ...]) -> Sampler:
    def draw(x: Label, number: int) -> list[Any]:
        codes = rng.choice(len(labels), size=number, p=kernel[labels.index(x)])
        return [labels[i] for i in codes.tolist()]

    return draw

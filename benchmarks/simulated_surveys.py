"""Simulated surveys: how often our intervals and Wald's hold the truth in one cell of a table.

A simulation takes the name of a kernel, a true share and a number of reports. All surveys of a cell
are one call of ``mechdesign.inference.intervals``, each of them a group.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from numpy.typing import NDArray

import mechdesign as md
from mechdesign.errors import DisclosureWarning
from mechdesign.inference import intervals

Vector = NDArray[np.float64]

#: Intervals of 95 %.
ALPHA, Z = 0.05, 1.959963984540054
# Surveys whose widths are compared, and numbers that are held at once.
WIDTHS, AT_ONCE = 20, 4_000_000


# Kernels


def response(size: int, level: float) -> Vector:
    """Randomised response."""
    kernel = np.ones((size, size)) + np.expm1(level) * np.eye(size)
    return np.asarray(kernel / kernel.sum(axis=1, keepdims=True))


def useless_row(size: int, keep: float) -> Vector:
    """One secret, the last, of which reports say next to nothing."""
    kernel = 0.9 * np.eye(size) + 0.1 / size
    kernel[-1] = keep * kernel[-1] + (1 - keep) / size
    return kernel


def rising(size: int) -> Vector:
    """The prior of designs, by which the secret that is asked for is the rarest."""
    return np.arange(1.0, size + 1) / (size * (size + 1) / 2)


def designed(size: int, notion: md.privacy.Notion) -> Callable[[], Vector]:
    def make() -> Vector:
        # That some of these hide next to nothing is meant.
        with warnings.catch_warnings(action="ignore", category=DisclosureWarning):
            found = md.design(md.Prior(rising(size)), md.utility.Estimation(), notion)
        return np.asarray(found.mechanism.kernel, float)

    return make


#: Kernels by name.
KERNELS: dict[str, Callable[[], Vector]] = {
    **{
        f"randomised response({level:g}), {size}": lambda size=size, level=level: response(
            size, level
        )
        for size, levels in (
            (2, (0.5, 1, 2, 4, 8, 14)),
            (3, (0.5, 2, 6, 8, 14)),
            (10, (0.5, 2, 6, 14)),
        )
        for level in levels
    },
    **{
        f"least error, {notion.__class__.__name__}({level:g}), {size}": designed(size, notion)
        for size in (3, 10)
        for level, notion in ((1, md.LDP(1)), (3, md.LDP(3)), (1, md.PML(1)), (1.7, md.PML(1.7)))
    },
    **{f"identity, {size}": lambda size=size: np.eye(size) for size in (2, 3, 10)},
    "useless row, 3": lambda: useless_row(3, 0),
    "nearly useless row, 3": lambda: useless_row(3, 0.1),
    "useless row, 10": lambda: useless_row(10, 0),
    "useless row, 20": lambda: useless_row(20, 0),
    "zeros, 2": lambda: np.array([[1, 0], [0.4, 0.6]]),
    "zeros, 3": lambda: np.array([[0.7, 0.3, 0], [0, 0.7, 0.3], [0.3, 0, 0.7]]),
    "zeros, 10": lambda: 0.6 * np.eye(10) + 0.4 * np.roll(np.eye(10), 1, axis=1),
}


@dataclass(frozen=True)
class Asked:
    """A kernel, and what is asked of its secrets.

    Attributes
    ----------
    kernel, values, scores : ``(N, M)``, ``(N, 1)`` and ``(M, 1)``
    """

    kernel: Vector
    values: Vector
    scores: Vector

    @classmethod
    def of(cls, kernel: Vector, values: Vector | None = None) -> Asked:
        """With scores of least variance where secrets have a rising distribution."""
        size = len(kernel)
        values = np.eye(size)[:, [0]] if values is None else values.reshape(-1, 1)
        kernel = kernel[:, kernel.any(axis=0)]
        kernel = kernel / kernel.sum(axis=1, keepdims=True)
        scaled = (kernel / (rising(size) @ kernel)).T
        return cls(kernel, values, np.asarray(scaled @ np.linalg.solve(kernel @ scaled, values)))

    @classmethod
    def of_reports(cls, scores: Vector) -> Asked:
        """Of reports themselves: what an arm of a difference is, which is never moved."""
        return cls(np.eye(len(scores)), scores, scores)

    def answers(self, frequencies: Vector, sampling: intervals.Sampling) -> intervals.Answers:
        # What a path starts from matters for more symbols than any of these kernels has.
        start = np.full((len(frequencies), len(self.kernel)), 1 / len(self.kernel))
        moments = intervals.matrix_moments(self.kernel, self.scores, self.values)
        path = intervals.path_of(self.kernel, frequencies, start, self.values, moments)
        means, squares = ((frequencies @ part).ravel() for part in (self.scores, self.scores**2))
        return intervals.Answers(means, path, sampling, squares)


@cache
def asked(name: str) -> Asked:
    """The share of the first secret under a kernel."""
    return Asked.of(KERNELS[name]())


# Simulated surveys


@dataclass(frozen=True)
class Held:
    """Surveys whose intervals held the truth.

    Attributes
    ----------
    surveys, ours, wald : how many there were, and in how many each way held it
    width : median ratio of widths, ours over Wald's; ``None`` where Wald's are not to hold
    """

    surveys: int
    ours: int
    wald: int
    width: float | None = None


def spread(size: int, share: float, alike: bool = False) -> Vector:
    """A distribution with a share of the first secret; all others have the last where alike."""
    rest = np.zeros(size - 1)
    rest[-1] = 1.0
    if not alike:
        rest = 1 / np.arange(1.0, size)
    return np.concatenate([[share], (1 - share) * rest / rest.sum()])


def reports(rng: np.random.Generator, kernel: Vector, secrets: NDArray[np.int64]) -> Vector:
    """Numbers of reports ``(..., M)`` of numbers of secrets ``(..., N)``."""
    return sum(  # type: ignore[return-value]
        rng.multinomial(secrets[..., x], kernel[x]) for x in range(len(kernel))
    )


def compared(share: float, n: int) -> bool:
    """Whether Wald's intervals are to hold, so that widths are compared."""
    return n >= 100 and share >= 0.1


def contained(answers: intervals.Answers, t: Vector) -> NDArray[np.bool_]:
    """Whether intervals hold answers, one for each, without looking for their ends."""
    tails = answers.tails(t, np.arange(len(t)), t <= answers.projected, ALPHA / 2)
    return np.asarray((tails >= ALPHA / 2) | (t == answers.projected))


def result(
    answers: intervals.Answers,
    truths: Vector,
    errors: Vector,
    repeats: NDArray[np.int64],
    widths: bool,
    z: float = Z,
) -> Held:
    """Of different surveys with Wald's standard errors, each of which came up so often."""
    ours = contained(answers, truths)
    # Rounding takes nothing from Wald's intervals of no width.
    wald = np.abs(answers.estimates - truths) <= z * errors + 1e-9
    ratio = None
    if widths:
        # Reports that agree tell Wald's intervals nothing, but for rounding.
        which = np.flatnonzero(errors > 1e-7)[:WIDTHS]
        low, high = answers.limits(ALPHA, which)
        ratio = float(np.median((high - low) / (2 * z * errors[which]))) if which.size else None
    total = int(repeats.sum())
    return Held(total, int(repeats @ ours), int(repeats @ wald), ratio)


def merged(parts: list[Held]) -> Held:
    sums = [sum(getattr(part, name) for part in parts) for name in ("surveys", "ours", "wald")]
    return Held(*sums, parts[0].width)


def _many_wrong(question: Asked, truth: Vector, n: int) -> bool:
    """Whether some thirty reports differ from what they are of, as seen from the skewness."""
    moments = truth @ intervals.matrix_moments(question.kernel, question.scores, question.values)
    noise = moments[intervals.SECOND, 0] - moments[intervals.SQUARE, 0]
    skewed = max(moments[intervals.UP, 0], moments[intervals.DOWN, 0])
    return bool(n * noise**3 >= 30 * skewed**2 > 0)


def simple(
    question: Asked,
    truth: Vector,
    share: float,
    n: int,
    rng: np.random.Generator,
    repetitions: int,
    these: bool = False,
) -> Held:
    """Surveys of n people drawn from a distribution; or about these people alone."""
    secrets = rng.multinomial(n, truth, size=repetitions)
    counts = reports(rng, question.kernel, secrets)
    answer = (secrets / n if these else np.tile(truth, (repetitions, 1))) @ question.values
    both, repeats = np.unique(np.hstack([counts, answer]), axis=0, return_counts=True)
    order = rng.permutation(len(both))
    both, repeats = both[order], repeats[order]
    frequencies = both[:, :-1] / n
    answers = question.answers(frequencies, intervals.Sampling(n, fraction=float(these)))
    second = (frequencies @ question.scores**2).ravel()
    # What the mechanism adds is known given the secret: the square of an indicator is itself.
    less = answers.estimates if these else answers.estimates**2
    errors = np.sqrt(np.maximum(second - less, 0) / n)
    widths = compared(share, n) and (not these or _many_wrong(question, truth, n))
    return result(answers, both[:, -1], errors, repeats, widths)


Simulation = Callable[[str, float, int, np.random.Generator, int], Held]


def of_shares(these: bool, alike: bool) -> Simulation:
    def simulate(
        name: str, share: float, n: int, rng: np.random.Generator, repetitions: int
    ) -> Held:
        question = asked(name)
        truth = spread(len(question.kernel), share, alike)
        return simple(question, truth, share, n, rng, repetitions, these)

    return simulate


def of_means(name: str, share: float, n: int, rng: np.random.Generator, repetitions: int) -> Held:
    """Means of numbers from zero, of which a share is larger."""
    kernel = asked(name).kernel
    question = Asked.of(kernel, np.arange(len(kernel), dtype=float))
    return simple(question, spread(len(kernel), 1 - share), share, n, rng, repetitions)


def of_cells(name: str, share: float, n: int, rng: np.random.Generator, repetitions: int) -> Held:
    """A cell of two columns, each privatised alone."""
    one = asked(name)
    question = Asked(
        np.kron(one.kernel, one.kernel),
        np.kron(one.values, one.values),
        np.kron(one.scores, one.scores),
    )
    return simple(question, spread(len(question.kernel), share), share, n, rng, repetitions)


def of_rounds(same: bool) -> Simulation:
    """Everybody reports twice, under two levels; or a third of all people under the first."""

    def simulate(
        name: str, share: float, n: int, rng: np.random.Generator, repetitions: int
    ) -> Held:
        first = asked(name).kernel
        size = len(first)
        second = (first + 1 / size) / 2 if size == first.shape[1] else first
        if same:
            kernel = np.einsum("xy,xz->xyz", first, second).reshape(size, -1)
        else:
            kernel = np.hstack([first / 3, 2 * second / 3])
        return simple(Asked.of(kernel), spread(size, share), share, n, rng, repetitions)

    return simulate


def _arm(question: Asked, counts: Vector, n: int) -> tuple[Vector, Vector, Vector, Vector]:
    """Estimates, ends and squares of errors of each survey of one arm."""
    frequencies, back = np.unique(counts / n, axis=0, return_inverse=True)
    arm = Asked.of_reports(question.scores).answers(frequencies, intervals.Sampling(n))
    low, high = arm.limits(ALPHA)
    squares = (frequencies @ question.scores**2).ravel() - arm.estimates**2
    found = (arm.estimates, low, high, np.maximum(squares, 0) / n)
    return tuple(part[back.ravel()] for part in found)  # type: ignore[return-value]


def _difference(
    first: tuple[Vector, ...],
    second: tuple[Vector, ...],
    truth: float,
    correlation: Vector | float,
    believed: Vector | float,
    widths: bool,
) -> Held:
    x, y = first[0], second[0]
    projected = np.clip(y, 0, 1) - np.clip(x, 0, 1)
    one = np.ones(1)
    low, high = intervals.difference_limits(
        (*first[:3], one), (*second[:3], one), projected, believed
    )
    variance = first[3] + second[3] - 2 * correlation * np.sqrt(first[3] * second[3])
    errors = np.sqrt(np.maximum(variance, 0))
    ours = (low - 1e-9 <= truth) & (truth <= high + 1e-9)
    wald = np.abs(y - x - truth) <= Z * errors + 1e-9
    ratio = None
    if widths:
        some = errors > 0
        ratio = float(np.median((high - low)[some] / (2 * Z * errors[some])))
    return Held(len(x), int(ours.sum()), int(wald.sum()), ratio)


def of_differences(
    name: str, share: float, n: int, rng: np.random.Generator, repetitions: int
) -> Held:
    """A group of n less one of three times as many with half the share."""
    question = asked(name)
    arms = []
    for people, part in ((3 * n, share / 2), (n, share)):
        secrets = rng.multinomial(people, spread(len(question.kernel), part), size=repetitions)
        arms.append(_arm(question, reports(rng, question.kernel, secrets), people))
    return _difference(arms[0], arms[1], share / 2, 0.0, 0.0, compared(share, n))


def of_changes(name: str, share: float, n: int, rng: np.random.Generator, repetitions: int) -> Held:
    """The same people twice, of whom one in five decides anew, with twice the share."""
    question = asked(name)
    kernel = question.kernel
    size, outcomes = kernel.shape
    before, after = (spread(size, part) for part in (share, min(2 * share, 0.8)))
    pairs = 0.8 * np.diag(before) + 0.2 * np.outer(before, after)
    seen = (kernel.T @ pairs @ kernel).ravel()
    counts = rng.multinomial(n, seen / seen.sum(), size=repetitions)
    table = counts.reshape(-1, outcomes, outcomes)
    first, second = (_arm(question, table.sum(axis=axis), n) for axis in (2, 1))
    a = question.scores.ravel()
    together = np.einsum("ryz,y,z->r", table / n, a, a) - first[0] * second[0]
    product = np.sqrt(first[3] * second[3]) * n
    correlation = np.divide(together, product, out=np.zeros_like(product), where=product > 0)
    truth = float(pairs[:, 0].sum() - share)
    widths = compared(share, n)
    return _difference(first, second, truth, correlation, correlation * n / (n + 4), widths)


# Sample surveys


@dataclass(frozen=True)
class Drawn:
    """How each of U units of a sample is drawn.

    Attributes
    ----------
    people, weights, strata, shares : ``(U,)`` how many people a unit has, the weight of each,
        the stratum, and the share that is asked for
    alike : how far people of a unit have the same secret, which makes units clusters; ``None``
        where they are no clusters
    """

    people: NDArray[np.int64]
    weights: Vector
    strata: NDArray[np.int64]
    shares: Vector
    alike: float | None = None


def weights_of_two(share: float, n: int) -> Drawn:
    """Every third person stands for two."""
    third = max(n // 3, 1)
    return Drawn(
        np.array([n - third, third]), np.array([1.0, 2]), np.zeros(2, int), np.full(2, share)
    )


def tied_weights(share: float, n: int) -> Drawn:
    """A fifth of the sample stands for half of the population, and has a rare share alone."""
    fifth = n // 5
    people = np.array([n - fifth, fifth])
    weights = 0.5 / people
    apart = min(share, 0.3)
    return Drawn(people, weights, np.arange(2), np.array([share - apart, share + apart]))


def many_weights(share: float, n: int) -> Drawn:
    """Weights as quantiles of a logarithmic normal distribution, in at most fifty steps."""
    from scipy.special import ndtri

    steps = min(n, 50)
    people = np.diff(np.round(np.linspace(0, n, steps + 1))).astype(int)
    weights = np.exp(0.8 * ndtri((np.arange(steps) + 0.5) / steps))
    return Drawn(people, weights, np.zeros(steps, int), np.full(steps, share))


def strata_of(share: float, n: int) -> Drawn:
    """Five strata of equal size in the sample and other ones in the population."""
    people = np.full(5, n // 5)
    weights = np.array([0.4, 0.3, 0.15, 0.1, 0.05])
    shares = share * np.array([0.5, 1, 2, 1, 1.0])
    shares[0] += (share - weights @ shares) / weights[0]
    return Drawn(people, weights / people, np.arange(5), shares)


def pairs_of(share: float, n: int) -> Drawn:
    """Strata of two people."""
    count = min(n, 1_000) // 2
    shares = np.where(np.arange(count) % 2 == 0, min(2 * share, 1), max(2 * share - 1, 0))
    shares = share + (shares - shares.mean())
    return Drawn(np.full(count, 2), np.ones(count), np.arange(count), np.clip(shares, 0, 1))


def clusters_of(alike: float, size: int = 5, weighted: bool = False) -> Callable[..., Drawn]:
    """Clusters of people of whom so many have the same secret, in two strata where weighted."""

    def make(share: float, n: int) -> Drawn:
        people = max(size, n // 200)
        count = n // people
        strata = np.arange(count) % 2 if weighted else np.zeros(count, int)
        weights = np.where(np.arange(count) % 4 < 2, 1.0, 2.0) if weighted else np.ones(count)
        return Drawn(np.full(count, people), weights, strata, np.full(count, share), alike)

    return make


def of_samples(design: Callable[[float, int], Drawn]) -> Simulation:
    """Weighted frequencies with the variance of the design."""

    def simulate(
        name: str, share: float, n: int, rng: np.random.Generator, repetitions: int
    ) -> Held:
        question, drawn = asked(name), design(share, n)
        size, outcomes = question.kernel.shape
        truths = np.stack([spread(size, part) for part in drawn.shares])
        weights = drawn.weights / (drawn.weights @ drawn.people)
        answer = float((weights * drawn.people) @ drawn.shares)
        at_once = max(1, AT_ONCE // (len(weights) * outcomes))
        parts = []
        for start in range(0, repetitions, at_once):
            count = min(at_once, repetitions - start)
            chances = np.broadcast_to(truths, (count, *truths.shape))
            if drawn.alike:
                ends = np.cumsum(truths, axis=1)[:, None, :]
                leading = (rng.random((len(weights), count, 1)) > ends).sum(axis=2).T
                own = np.eye(size)[np.minimum(leading, size - 1)]
                chances = (1 - drawn.alike) * chances + drawn.alike * own
            seen = chances @ question.kernel
            seen /= seen.sum(axis=-1, keepdims=True)
            parts.append(
                _surveyed(
                    question,
                    drawn,
                    weights,
                    rng.multinomial(drawn.people, seen),
                    answer,
                    compared(share, n) and not start,
                )
            )
        return merged(parts)

    return simulate


def _surveyed(
    question: Asked,
    drawn: Drawn,
    weights: Vector,
    counts: NDArray[np.int64],
    answer: float,
    widths: bool,
) -> Held:
    """Of numbers of reports ``(R, U, M)``."""
    frequencies = np.einsum("ruy,u->ry", counts, weights)
    away = question.scores.ravel() - (frequencies @ question.scores)
    strata = np.eye(int(drawn.strata.max()) + 1)[drawn.strata]
    if drawn.alike is None:
        sums = np.einsum("ruy,u,ry->ru", counts, weights, away) @ strata
        squares = np.einsum("ruy,u,ry->ru", counts, weights**2, away**2) @ strata
        units = drawn.people @ strata
        spread_of = (drawn.people * weights**2) @ strata
        clusters = float(spread_of.sum())
    else:
        totals = np.einsum("ruy,u,ry->ru", counts, weights, away)
        sums, squares, units = totals @ strata, totals**2 @ strata, strata.sum(axis=0)
        spread_of = ((weights * drawn.people) ** 2) @ strata
        clusters = float(spread_of.sum())
    variance = ((squares - sums**2 / units) * units / (units - 1)).sum(axis=1)
    variance = np.maximum(variance, 0)
    # Satterthwaite's, were all strata as varied: units less strata where these are equal.
    freedom = spread_of.sum() ** 2 / (spread_of**2 / (units - 1)).sum()
    second, third = (float(drawn.people @ weights**k) for k in (2, 3))
    sampling = intervals.Sampling(
        1 / second,
        third / second**2,
        0.0,
        variance,
        clusters / second,
        float(freedom),
    )
    answers = question.answers(frequencies, sampling)
    from scipy.special import stdtrit

    z = float(stdtrit(sampling.freedom, 1 - ALPHA / 2))
    ones = np.ones(len(frequencies), int)
    return result(answers, np.full(len(ones), answer), np.sqrt(variance), ones, widths, z)


def of_population(fraction: float, seen: bool) -> Simulation:
    """A part of a finite population, with the variance of the design where it is ``seen``."""

    def simulate(
        name: str, share: float, n: int, rng: np.random.Generator, repetitions: int
    ) -> Held:
        question = asked(name)
        size = len(question.kernel)
        whole = round(n / fraction)
        first = round(share * whole)
        population = np.concatenate([[first], rng.multinomial(whole - first, spread(size, 0)[1:])])
        secrets = rng.multivariate_hypergeometric(population, n, size=repetitions)
        counts = reports(rng, question.kernel, secrets)
        different, repeats = np.unique(counts, axis=0, return_counts=True)
        frequencies = different / n
        estimates = (frequencies @ question.scores).ravel()
        second = (frequencies @ question.scores**2).ravel()
        asking = np.maximum(second - estimates**2, 0) / (n - 1)
        noise = np.maximum(second - estimates, 0) / n
        variance = (1 - fraction) * asking + fraction * noise
        sampling = intervals.Sampling(n, fraction=fraction)
        if seen:
            sampling = replace(sampling, variance=variance, freedom=n - 1)
        answers = question.answers(frequencies, sampling)
        truths = np.full(len(frequencies), first / whole)
        return result(answers, truths, np.sqrt(variance), repeats, compared(share, n))

    return simulate

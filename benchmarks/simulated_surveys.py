"""Simulated surveys: how often our intervals and Wald's hold the truth in one cell of a table.

A simulation takes the name of a kernel, a true share and a number of reports. All surveys of a cell
are one call of ``mechdesign.inference.intervals``, each of them a group; any of them can be given
to the public function as well, which is to say the same.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

import mechdesign as md
from mechdesign.errors import DisclosureWarning
from mechdesign.inference import intervals
from mechdesign.inference.likelihood import maximise

Vector = NDArray[np.float64]

#: Intervals of 95 %.
ALPHA, Z = 0.05, 1.959963984540054
# Surveys whose widths are compared, numbers that are held at once, and results of a survey up to
# which the same ones are judged once.
WIDTHS, AT_ONCE, FEW = 40, 4_000_000, 64


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
    "useless row, 50": lambda: useless_row(50, 0),
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
    noise : ``(M, 1)`` scores whose mean is what the mechanism adds to the variance of a score
    """

    kernel: Vector
    values: Vector
    scores: Vector
    noise: Vector

    @classmethod
    def of(cls, kernel: Vector, values: Vector | None = None, truth: Vector | None = None) -> Asked:
        """With scores of least variance at a distribution, a rising one where left out."""
        size = len(kernel)
        values = np.eye(size)[:, [0]] if values is None else values.reshape(-1, 1)
        seen = (rising(size) if truth is None else truth) @ kernel
        scaled = np.divide(kernel, seen, out=np.zeros_like(kernel), where=seen > 0).T
        a, b = np.split(
            scaled @ np.linalg.solve(kernel @ scaled, np.hstack([values, values**2])), 2, axis=1
        )
        return cls(kernel, values, a, a**2 - b)

    def likely(self, frequencies: Vector) -> Vector:
        """Likeliest distributions ``(G, N)``."""
        return maximise(self.kernel, frequencies)[0]

    def answers(self, frequencies: Vector, sampling: intervals.Sampling) -> intervals.Answers:
        # What a path starts from matters where its distributions are not maximised.
        start = np.full((len(frequencies), len(self.kernel)), 1 / len(self.kernel))
        if len(self.kernel) > intervals.MOST_MAXIMISED:
            start = self.likely(frequencies)
        moments = intervals.matrix_moments(self.kernel, self.scores, self.values)
        path = intervals.path_of(self.kernel, frequencies, start, self.values, moments)
        means, squares = ((frequencies @ part).ravel() for part in (self.scores, self.scores**2))
        return intervals.Answers(means, path, sampling, squares)

    def added(self, likely: Vector) -> Vector:
        """Variances of a score that the mechanism adds, ``(G,)``, at distributions ``(G, N)``."""
        second, square = self.kernel @ self.scores**2, self.values**2
        return (likely @ np.maximum(second - square, 0)).ravel()

    def arm(self, answers: intervals.Answers) -> tuple[Vector, Vector, Vector]:
        """Estimates with ends that nothing moves into what is possible."""
        ones = np.ones(len(answers.estimates))
        within = [end(self.scores) * ones for end in (np.min, np.max)]
        return answers.estimates, *answers.limits(ALPHA, within=within)

    def variances(self, frequencies: Vector) -> tuple[Vector, Vector]:
        """Of a score, ``(G,)``, as was seen and as the mechanism adds."""
        second, noise = ((frequencies @ part).ravel() for part in (self.scores**2, self.noise))
        return np.maximum(second - (frequencies @ self.scores).ravel() ** 2, 0), np.maximum(
            noise, 0
        )


@cache
def mechanism(name: str) -> md.Mechanism:
    kernel = KERNELS[name]()
    kernel = kernel[:, kernel.any(axis=0)]
    return md.Mechanism(kernel / kernel.sum(axis=1, keepdims=True))


@cache
def asked(name: str) -> Asked:
    """The share of the first secret under a kernel."""
    return Asked.of(mechanism(name).kernel)


# Simulated surveys


@dataclass(frozen=True)
class Held:
    """Surveys whose intervals held the truth.

    Attributes
    ----------
    surveys, ours, wald : how many there were, and in how many each way held it
    width : mean width of ours over that of Wald's; ``None`` where these are not to hold, or next to
        nothing varies
    events : mean number of tosses on the rarer side of the coin of our intervals, where widths are
        compared
    """

    surveys: int
    ours: int
    wald: int
    width: float | None = None
    events: float | None = None


@dataclass(frozen=True)
class Judged:
    """Surveys with our intervals and Wald's.

    Attributes
    ----------
    estimates, errors : ``(R,)`` unbiased, and Wald's standard errors
    holds : whether our intervals hold answers ``(R,)``
    limits : our ends at some positions
    z : Wald's quantile
    events : how many tosses fall on the rarer side of the coin that an interval comes from
    """

    estimates: Vector
    errors: Vector
    holds: Callable[[Vector], NDArray[np.bool_]]
    limits: Callable[[NDArray[np.intp]], tuple[Vector, Vector]]
    z: float = Z
    events: Callable[[], Vector] | None = None

    @classmethod
    def of(cls, answers: intervals.Answers, variances: Vector, z: float = Z) -> Judged:
        def holds(t: Vector) -> NDArray[np.bool_]:
            # Without looking for the ends.
            tails = answers.tails(t, np.arange(len(t)), t <= answers.projected, ALPHA / 2)
            # Rounding takes nothing from intervals of no width.
            return np.asarray((tails >= ALPHA / 2) | (np.abs(t - answers.projected) <= 1e-9))

        errors = np.sqrt(np.maximum(variances, 0))
        return cls(
            answers.estimates,
            errors,
            holds,
            lambda k: answers.limits(ALPHA, k),
            z,
            answers.events,
        )

    @classmethod
    def difference(
        cls,
        arms: list[tuple[Vector, Vector, Vector]],
        variances: Vector,
        correlation: Vector | float,
    ) -> Judged:
        between = np.clip(arms[1][0], 0, 1) - np.clip(arms[0][0], 0, 1)
        low, high = intervals.difference_limits(*arms, between, np.ones(1), correlation)
        return cls(
            arms[1][0] - arms[0][0],
            np.sqrt(np.maximum(variances, 0)),
            lambda t: (low - 1e-9 <= t) & (t <= high + 1e-9),
            lambda k: (low[k], high[k]),
        )


@dataclass(frozen=True)
class Simulated:
    """Surveys of a cell.

    Attributes
    ----------
    counts, truths : ``(R, ...)`` numbers of reports, and ``(R,)`` what intervals are to hold
    judge : of numbers ``(R, ...)``
    public : what the public function says of one survey
    """

    counts: NDArray[np.int64]
    truths: Vector
    judge: Callable[[NDArray[np.int64]], Judged]
    public: Callable[[NDArray[np.int64]], Any]

    def held(self, widths: bool, rng: np.random.Generator) -> Held:
        """How often both intervals hold the truth, and their widths where these are asked for."""
        flat = self.counts.reshape(len(self.counts), -1)
        counts, truths, repeats = self.counts, self.truths, np.ones(len(flat), int)
        if flat.shape[1] <= FEW:
            both = np.column_stack([flat, truths])
            _, first, repeats = np.unique(both, axis=0, return_index=True, return_counts=True)
            order = rng.permutation(len(first))
            counts, truths, repeats = counts[first[order]], truths[first[order]], repeats[order]
        at_once = max(1, AT_ONCE // flat.shape[1])
        held, wald, ratio, events = 0, 0, None, None
        for start in range(0, len(counts), at_once):
            part = slice(start, start + at_once)
            found, t, times = self.judge(counts[part]), truths[part], repeats[part]
            held += int(times @ found.holds(t))
            wald += int(times @ (np.abs(found.estimates - t) <= found.z * found.errors + 1e-9))
            if widths and not start:
                which = np.arange(min(len(t), WIDTHS))
                low, high = found.limits(which)
                usual = 2 * found.z * times[which] @ found.errors[which]
                if usual > 1e-7 * times[which].sum():
                    ratio = float(times[which] @ (high - low) / usual)
                    if found.events is not None:
                        events = float(np.average(found.events(), weights=times))
        return Held(len(self.counts), held, wald, ratio, events)

    def apart(self, count: int) -> float:
        """How far estimates and ends by the public function are from ours, in some surveys."""
        found = self.judge(self.counts[:count])
        ours = np.stack([found.estimates, *found.limits(np.arange(count))])
        with warnings.catch_warnings(action="ignore"):
            public = np.array([self.public(one) for one in self.counts[:count]]).T
        return float(np.abs(ours - public).max())


def spread(size: int, share: float, alike: bool = False) -> Vector:
    """A distribution with a share of the first secret; all others have the last where alike."""
    rest = np.zeros(size - 1)
    rest[-1] = 1.0
    if not alike:
        rest = 1 / np.arange(1.0, size)
    return np.concatenate([[share], (1 - share) * rest / rest.sum()])


def reports(
    rng: np.random.Generator, kernel: Vector, secrets: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Numbers of reports ``(..., M)`` of numbers of secrets ``(..., N)``."""
    return sum(  # type: ignore[return-value]
        rng.multinomial(secrets[..., x], kernel[x]) for x in range(len(kernel))
    )


def target(these: bool) -> str:
    return "sample" if these else "population"


def first_of(found: Any) -> tuple[float, float, float]:
    """An estimate with its interval."""
    return tuple(  # type: ignore[return-value]
        float(np.ravel(part)[0]) for part in (found.values, found.lower, found.upper)
    )


def counted(made: md.Mechanism, counts: NDArray[np.int64]) -> dict[Any, int]:
    return dict(zip(made.outputs, counts.tolist(), strict=True))


Simulation = Callable[[str, float, int, np.random.Generator, int], Simulated]


def simple(
    question: Asked,
    truth: Vector,
    n: int,
    rng: np.random.Generator,
    repetitions: int,
    public: Callable[[NDArray[np.int64]], Any],
    these: bool = False,
) -> Simulated:
    """Surveys of n people drawn from a distribution; or about these people alone."""
    secrets = rng.multinomial(n, truth, size=repetitions)
    answer = (secrets / n if these else np.tile(truth, (repetitions, 1))) @ question.values

    def judge(counts: NDArray[np.int64]) -> Judged:
        frequencies = counts / n
        answers = question.answers(frequencies, intervals.Sampling(n, fraction=float(these)))
        return Judged.of(answers, question.variances(frequencies)[int(these)] / n)

    counts = reports(rng, question.kernel, secrets)
    return Simulated(counts, answer.ravel(), judge, lambda one: first_of(public(one)))


def of_shares(these: bool, alike: bool = False, numbers: bool = False) -> Simulation:
    """Shares of the first secret; or means of numbers from zero, of which a share is larger."""

    def simulate(
        name: str, share: float, n: int, rng: np.random.Generator, repetitions: int
    ) -> Simulated:
        made, question = mechanism(name), asked(name)
        size = len(made.inputs)
        options = {"truth": rising(size), "target": target(these), "misfit": "warn"}
        truth = spread(size, share, alike)
        if numbers:
            question = Asked.of(made.kernel, np.arange(size, dtype=float))
            options["feature"] = {label: float(label) for label in made.inputs}
            truth = spread(size, 1 - share)
        return simple(
            question,
            truth,
            n,
            rng,
            repetitions,
            lambda one: md.estimate(counted(made, one), made, **options),
            these,
        )

    return simulate


def of_cells(these: bool) -> Simulation:
    """A cell of two columns, each privatised alone."""

    def simulate(
        name: str, share: float, n: int, rng: np.random.Generator, repetitions: int
    ) -> Simulated:
        made = mechanism(name)
        size = len(made.kernel)
        one = Asked.of(made.kernel, truth=np.full(size, 1 / size))
        kernel, values, scores = (
            np.kron(part, part) for part in (one.kernel, one.values, one.scores)
        )
        question = Asked(kernel, values, scores, scores**2 - scores)
        pairs = [(y, z) for y in made.outputs for z in made.outputs]

        def public(counts: NDArray[np.int64]) -> Any:
            table = dict(zip(pairs, counts.tolist(), strict=True))
            return md.estimate_joint(table, [made, made], target=target(these), misfit="warn")

        truth = spread(len(kernel), share)
        return simple(question, truth, n, rng, repetitions, public, these)

    return simulate


def of_rounds(same: bool) -> Simulation:
    """Everybody reports twice, under two levels; or a third of all people under the first."""

    def simulate(
        name: str, share: float, n: int, rng: np.random.Generator, repetitions: int
    ) -> Simulated:
        first = mechanism(name)
        size, outcomes = first.kernel.shape
        second = first
        if size == outcomes:
            second = md.Mechanism((first.kernel + 1 / size) / 2)
        both, truth, options = [first, second], spread(size, share), {"misfit": "warn"}
        options["truth"] = rising(size)
        if same:
            kernel = np.einsum("xy,xz->xyz", first.kernel, second.kernel).reshape(size, -1)
            pairs = [(y, z) for y in first.outputs for z in second.outputs]
            return simple(
                Asked.of(kernel),
                truth,
                n,
                rng,
                repetitions,
                lambda one: md.estimate_rounds(
                    dict(zip(pairs, one.tolist(), strict=True)), both, people="same", **options
                ),
            )
        sizes = n // 3, n - n // 3
        kernel = np.hstack([k / n * made.kernel for k, made in zip(sizes, both, strict=True)])
        found = simple(
            Asked.of(kernel),
            truth,
            n,
            rng,
            1,
            lambda one: md.estimate_rounds(
                [
                    counted(made, part)
                    for made, part in zip(both, np.split(one, [outcomes]), strict=True)
                ],
                both,
                **options,
            ),
        )
        counts = np.hstack(
            [
                reports(rng, made.kernel, rng.multinomial(k, truth, size=repetitions))
                for k, made in zip(sizes, both, strict=True)
            ]
        )
        return replace(found, counts=counts, truths=np.full(repetitions, share))

    return simulate


def of_differences(none: bool) -> Simulation:
    """A group of n less one of three times as many with half the share; or ten times as many less
    a group of n in which nobody has what is asked for.
    """

    def simulate(
        name: str, share: float, n: int, rng: np.random.Generator, repetitions: int
    ) -> Simulated:
        import pandas as pd

        question, made = asked(name), mechanism(name)
        sizes, parts = ((n, 10 * n), (0.0, share)) if none else ((3 * n, n), (share / 2, share))
        total = sum(sizes)
        counts = np.stack(
            [
                reports(
                    rng,
                    question.kernel,
                    rng.multinomial(k, spread(len(question.kernel), part), size=repetitions),
                )
                for k, part in zip(sizes, parts, strict=True)
            ],
            axis=1,
        )

        def judge(counts: NDArray[np.int64]) -> Judged:
            arms, variances = [], 0.0
            for k, own in zip(sizes, counts.swapaxes(0, 1), strict=True):
                variance = question.variances(own / k)[0] / k * total / (total - 1)
                sampling = intervals.Sampling(k, variance=variance, freedom=k - 1)
                arms.append(question.arm(question.answers(own / k, sampling)))
                variances = variances + variance
            return Judged.difference(arms, variances, 0.0)

        def public(counts: NDArray[np.int64]) -> Any:
            reported = [np.repeat(made.outputs, one) for one in counts]
            table = pd.DataFrame(
                {"r": np.concatenate(reported), "g": np.repeat([0, 1], [len(r) for r in reported])}
            )
            found = md.estimate(
                table, made, "r", by_group="g", truth=rising(len(made.inputs)), misfit="warn"
            )
            return first_of(found.difference(1, 0))

        truths = np.full(repetitions, parts[1] - parts[0])
        return Simulated(counts, truths, judge, public)

    return simulate


def of_changes(both: float, stay: float = 0.8) -> Simulation:
    """Two rounds with twice the share in the second, that so many people have in common, of whom
    some decide anew.
    """

    def simulate(
        name: str, share: float, n: int, rng: np.random.Generator, repetitions: int
    ) -> Simulated:
        import pandas as pd

        question, made = asked(name), mechanism(name)
        kernel = question.kernel
        size, outcomes = kernel.shape
        before, after = (spread(size, part) for part in (share, min(2 * share, 0.8)))
        later = stay * before + (1 - stay) * after
        pairs = stay * np.diag(before) + (1 - stay) * np.outer(before, after)
        seen = (kernel.T @ pairs @ kernel).ravel()
        m = round(both * n)
        counts = np.hstack(
            [
                rng.multinomial(people, chances / chances.sum(), size=repetitions)
                for people, chances in (
                    (m, seen),
                    (n - m, before @ kernel),
                    (n - m, later @ kernel),
                )
            ]
        )
        a, ends = question.scores.ravel(), [outcomes**2, outcomes**2 + outcomes]

        def judge(counts: NDArray[np.int64]) -> Judged:
            common, *alone = np.split(counts, ends, axis=1)
            table = common.reshape(-1, outcomes, outcomes)
            arms, seen, errors, means = [], 0.0, 1.0, []
            for axis, own in zip((2, 1), alone, strict=True):
                margin = table.sum(axis=axis)
                f = (margin + own) / n
                arms.append(question.arm(question.answers(f, intervals.Sampling(n))))
                p = question.likely(f)
                known = (p @ kernel @ a**2) - (p @ question.values).ravel() ** 2
                errors = errors * np.sqrt(np.maximum(known, 0) / n)
                seen = seen + question.variances(f)[0] / n
                means.append(margin @ a / max(m, 1))
            cross = np.einsum("ryz,y,z->r", table, a, a) - m * means[0] * means[1]
            cross = cross / n**2
            correlation = np.divide(cross, errors, out=np.zeros_like(cross), where=errors > 0)
            correlation = np.clip(correlation, -1, 1) * m / (m + 4)
            return Judged.difference(arms, seen - 2 * cross, correlation)

        def public(counts: NDArray[np.int64]) -> Any:
            common, *alone = np.split(counts, ends)
            labels = np.array(made.outputs, dtype=object)
            pairs = np.repeat(np.arange(outcomes**2), common)
            tables = []
            for k, (own, places) in enumerate(zip(alone, np.divmod(pairs, outcomes), strict=True)):
                places = np.concatenate([places, np.repeat(np.arange(outcomes), own)])
                people = [*range(m), *range(m + (k + 1) * n, 2 * n + k * n)]
                tables.append(pd.DataFrame({"x": labels[places], "id": people}))
            return first_of(
                md.estimate_change(
                    *tables, made, "x", person="id", truth=rising(size), misfit="warn"
                )
            )

        truths = np.full(repetitions, float(later[0] - before[0]))
        return Simulated(counts, truths, judge, public)

    return simulate


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


def tied_weights(
    apart: float = 0.5, strata: int = 2, light: bool = False
) -> Callable[[float, int], Drawn]:
    """A fifth of the sample stands for half of the population, and has the share alone where it is
    no larger than ``apart``, which is half of how far the two shares then differ; or the others
    have it, who weigh little.
    """

    def make(share: float, n: int) -> Drawn:
        people = np.array([n - n // 5, n // 5])
        away = min(share, apart) * np.array([1, -1] if light else [-1, 1])
        return Drawn(people, 0.5 / people, np.arange(2) % strata, share + away)

    return make


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


def of_samples(design: Callable[[float, int], Drawn], these: bool = False) -> Simulation:
    """Weighted frequencies with the variance of the design; or about these people alone."""

    def simulate(
        name: str, share: float, n: int, rng: np.random.Generator, repetitions: int
    ) -> Simulated:
        question, drawn = asked(name), design(share, n)
        size = len(question.kernel)
        weights = drawn.weights / (drawn.weights @ drawn.people)
        truths = np.stack([spread(size, part) for part in drawn.shares])
        chances = np.broadcast_to(truths, (repetitions, *truths.shape))
        if drawn.alike:
            ends = np.cumsum(truths, axis=1)[:, None, :]
            leading = (rng.random((len(weights), repetitions, 1)) > ends).sum(axis=2).T
            own = np.eye(size)[np.minimum(leading, size - 1)]
            chances = (1 - drawn.alike) * chances + drawn.alike * own
        secrets = rng.multinomial(drawn.people, chances)
        answer = np.full(repetitions, float((weights * drawn.people) @ drawn.shares))
        if these:
            answer = secrets[..., 0] @ weights
        return Simulated(
            reports(rng, question.kernel, secrets),
            answer,
            lambda counts: _surveyed(question, drawn, weights, counts, these),
            lambda counts: _published(mechanism(name), drawn, counts, these),
        )

    return simulate


def _published(
    made: md.Mechanism, drawn: Drawn, counts: NDArray[np.int64], these: bool
) -> tuple[float, float, float]:
    """The public estimate from the table of a survey, numbers of reports ``(U, M)``."""
    import pandas as pd

    unit, report = (np.repeat(part.ravel(), counts.ravel()) for part in np.indices(counts.shape))
    table = pd.DataFrame(
        {
            "r": np.array(made.outputs, dtype=object)[report],
            "weights": drawn.weights[unit],
            "strata": drawn.strata[unit],
            "clusters": unit,
        }
    )
    options = {"weights": "weights"}
    if drawn.strata.any():
        options["strata"] = "strata"
    if drawn.alike is not None:
        options["clusters"] = "clusters"
    truth = rising(len(made.inputs))
    return first_of(
        md.estimate(table, made, "r", truth=truth, target=target(these), misfit="warn", **options)
    )


def _surveyed(
    question: Asked, drawn: Drawn, weights: Vector, counts: NDArray[np.int64], these: bool
) -> Judged:
    """Of numbers of reports ``(R, U, M)``."""
    from scipy.special import stdtrit

    frequencies = np.einsum("ruy,u->ry", counts, weights)
    away = question.scores.ravel() - (frequencies @ question.scores)
    strata = np.eye(int(drawn.strata.max()) + 1)[drawn.strata]
    totals = np.einsum("ruy,u,ry->ru", counts, weights, away)
    sums, second = totals @ strata, float(drawn.people @ weights**2)
    if drawn.alike is None:
        squares = np.einsum("ruy,u,ry->ru", counts, weights**2, away**2) @ strata
        units, own = drawn.people @ strata, (drawn.people * weights**2) @ strata
    else:
        squares, units = totals**2 @ strata, strata.sum(axis=0)
        own = ((weights * drawn.people) ** 2) @ strata
    variance = ((squares - sums**2 / units) * units / (units - 1)).sum(axis=1)
    sampling = intervals.Sampling(
        1 / second,
        float(drawn.people @ weights**3) / second**2,
        clusters=float(own.sum()) / second,
        variance=np.maximum(variance, 0),
        # Satterthwaite's, were all strata as varied: units less strata where these are equal.
        freedom=float(own.sum() ** 2 / (own**2 / (units - 1)).sum()),
    )
    squared = np.einsum("ruy,u->ry", counts, weights**2) / second
    noise, heavy = (question.added(question.likely(part)) for part in (frequencies, squared))
    if np.ptp(weights):
        more = np.divide(heavy, noise, out=np.ones_like(noise), where=noise > 0)
        sampling = replace(sampling, noise=more)
    if these:
        sampling = replace(sampling, variance=None, freedom=np.inf, fraction=1.0)
        variance = question.variances(frequencies)[1] * second
    z = float(stdtrit(sampling.freedom, 1 - ALPHA / 2))
    return Judged.of(question.answers(frequencies, sampling), variance, z)


def of_population(fraction: float) -> Simulation:
    """A part of a finite population."""

    def simulate(
        name: str, share: float, n: int, rng: np.random.Generator, repetitions: int
    ) -> Simulated:
        import pandas as pd

        question, made = asked(name), mechanism(name)
        size, whole = len(question.kernel), round(n / fraction)
        first = round(share * whole)
        population = np.concatenate([[first], rng.multinomial(whole - first, spread(size, 0)[1:])])
        secrets = rng.multivariate_hypergeometric(population, n, size=repetitions)

        def judge(counts: NDArray[np.int64]) -> Judged:
            frequencies, part = counts / n, n / whole
            p = question.likely(frequencies)
            seen, noise = question.variances(frequencies)
            known = (p @ question.kernel @ question.scores**2 - p @ question.values**2).ravel()
            asking = (1 - part) * seen / (n - 1)
            sampling = intervals.Sampling(
                n, fraction=part, variance=asking + part * known / n, freedom=n - 1
            )
            answers = question.answers(frequencies, sampling)
            return Judged.of(answers, (1 - part) * seen / (n - 1) + part * noise / n)

        def public(counts: NDArray[np.int64]) -> Any:
            table = pd.DataFrame({"r": np.repeat(np.array(made.outputs, dtype=object), counts)})
            options = {"truth": rising(size), "misfit": "warn"}
            return first_of(md.estimate(table, made, "r", population=whole, **options))

        truths = np.full(repetitions, first / whole)
        return Simulated(reports(rng, question.kernel, secrets), truths, judge, public)

    return simulate

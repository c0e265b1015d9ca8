"""Nuradha, Goldfeld: Pufferfish privacy by mutual information, [NuradhaGoldfeld].

In the order of the paper. Frameworks are on finite alphabets, queries have one dimension or
several; what is claimed comes from the notions and from ``mechdesign.noise``, what is found from
plain sums and integrals. Corrected where the errata say so.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from itertools import combinations, product
from typing import Any

import numpy as np
from numpy.random import Generator

from ..mechanism import Mechanism
from ..noise.additive import (
    classical_comparison,
    classical_gaussian_variance,
    gaussian_variance,
    gaussian_variance_for_dp,
    gaussian_variance_given_secret,
    information_from_approximate,
    laplace_scale,
    query_spread,
    variation_from_information,
)
from ..noise.information import noisy_information
from ..prior import Prior
from ..privacy import DP, ApproximatePufferfish, MIPufferfish, Pufferfish
from .claims import Claims, at_least, at_most, equal, holds, theorem
from .measurements import (
    Array,
    gaussian_information,
    mixture_information,
    mutual_information,
)
from .random_instances import (
    positive_kernel,
    some_level,
    some_masses,
)

result = partial(theorem, source="NuradhaGoldfeld")


def conditional_information(joint: Array) -> float:
    """I(G; M | W) of a joint distribution with axes (G, M, W)."""
    total = 0.0
    for w in range(joint.shape[2]):
        part = joint[:, :, w]
        mass = float(part.sum())
        if mass > 0:
            p = part.sum(axis=1) / mass
            live = p > 0
            total += mass * mutual_information(p[live], part[live] / mass / p[live, None])
    return total


def _laws(part: Array) -> Array:
    """P(M | g = a) for each a, one row each."""
    return part / part.sum(axis=1, keepdims=True)


def _total_variation(a: Array, b: Array) -> float:
    return float(np.abs(a - b).sum()) / 2


def _some_joint(rng: Generator, outputs: int | None = None) -> Array:
    """A positive joint distribution of (g, M, w)."""
    g, w = int(rng.integers(2, 4)), int(rng.integers(1, 3))
    m = int(rng.integers(2, 5)) if outputs is None else outputs
    prior = rng.dirichlet(np.ones(g * w)).reshape(g, w) + 0.02
    laws = np.stack([positive_kernel(rng, w, m) for _ in range(g)])
    joint = prior[:, None, :] * laws.transpose(0, 2, 1)
    return joint / joint.sum()


Functions = list[tuple[Callable[[Any], Any], Callable[[Any], Any] | None]]


def _row(i: int) -> Callable[[Any], Any]:
    return lambda x: x[i]


def _others(i: int) -> Callable[[Any], Any]:
    return lambda x: (*x[:i], *x[i + 1 :])


def _some_release(rng: Generator) -> tuple[Mechanism, Prior, Functions]:
    """A mechanism on databases of two or three bits, a prior, and rows with the rest public."""
    rows = int(rng.integers(2, 4))
    labels = list(product((0, 1), repeat=rows))
    prior = Prior.from_counts(some_masses(rng, len(labels)), labels)
    mechanism = Mechanism(positive_kernel(rng, len(labels), int(rng.integers(2, 5))), labels)
    return mechanism, prior, [(_row(i), _others(i)) for i in range(rows)]


def _joint(
    mechanism: Mechanism,
    prior: Prior,
    private: Callable[[Any], Any],
    public: Callable[[Any], Any] | None,
) -> Array:
    """The joint distribution of (g, M, w), summed from the definition."""
    secrets = sorted({private(x) for x in prior.labels})
    values = [None if public is None else public(x) for x in prior.labels]
    known = list(dict.fromkeys(values))
    found = np.zeros((len(secrets), mechanism.shape[1], len(known)))
    rows = zip(prior.labels, values, prior.probabilities, mechanism.kernel, strict=True)
    for x, w, mass, row in rows:
        found[secrets.index(private(x)), :, known.index(w)] += mass * row
    return found


# Definitions 1 to 3 and Theorem 1: mutual information beside other guarantees


@result(
    "PP-Def-1",
    statement="The level of (ε, δ)-Pufferfish privacy is the least ε with P(M∈A|R) ≤ e^ε P(M∈A|T) "
    "+ δ for all events A and pairs of secrets.",
    conditions="finite alphabets; all events",
    tight=True,
)
def _events(rng: Generator) -> Claims:
    mechanism, prior, functions = _some_release(rng)
    private = functions[0][0]
    delta = float(rng.uniform(0.01, 0.05))
    secrets = {str(a): [x for x in prior.labels if private(x) == a] for a in (0, 1)}
    laws = _laws(_joint(mechanism, prior, private, None)[:, :, 0])
    claimed, exact = 0.0, 0.0
    for size in range(1, mechanism.shape[1] + 1):
        for event in combinations(range(mechanism.shape[1]), size):
            for a, b in (laws[:, list(event)].sum(axis=1), laws[::-1, list(event)].sum(axis=1)):
                claimed = max(claimed, math.log(max(a - delta, 1e-300) / b))
                exact = max(exact, math.log(a / b))
    found = ApproximatePufferfish(1.0, delta, secrets).measure(mechanism, prior)[0]
    yield equal(found, claimed, "with δ, all events", scale=1.0)
    found = Pufferfish(1.0, secrets).measure(mechanism, prior)[0]
    yield equal(found, exact, "δ = 0, all events", scale=1.0)


@result(
    "PP-Def-2",
    statement="In the specialised framework secrets are values of a private and a public function, "
    "and pairs share the public one.",
    tight=True,
)
def _pairs_of_functions(rng: Generator) -> Claims:
    mechanism, prior, functions = _some_release(rng)
    total: Functions = [(lambda x: sum(x), _row(0)), (_row(1), None)]
    for chosen in (functions, total):
        claimed = 0.0
        for private, public in chosen:
            joint = _joint(mechanism, prior, private, public)
            for w in range(joint.shape[2]):
                part = joint[:, :, w]
                laws = _laws(part[part.sum(axis=1) > 0])
                ratios = np.log(laws.max(axis=0) / laws.min(axis=0))
                claimed = max(claimed, float(ratios.max()))
        framework = Pufferfish.specialised(1.0, prior.labels, chosen)
        yield equal(framework.measure(mechanism, prior)[0], claimed, "all pairs", scale=1.0)


@result(
    "PP-Def-3",
    statement="The level of ε-MI Pufferfish privacy is the largest I(g; M | w) over priors and "
    "edges (g, w).",
    tight=True,
)
def _supremum_of_information(rng: Generator) -> Claims:
    mechanism, prior, functions = _some_release(rng)
    other = Prior.from_counts(some_masses(rng, len(prior)), prior.labels)
    total: Functions = [(lambda x: sum(x), _row(0)), (_row(1), None)]
    for chosen in (functions, total):
        found = MIPufferfish.of_functions(1.0, prior.labels, chosen, priors=[prior, other])
        claimed = max(
            conditional_information(_joint(mechanism, p, *pair))
            for p in (prior, other)
            for pair in chosen
        )
        yield equal(found.measure(mechanism, prior)[0], claimed, "all edges, both priors")


@result(
    "PP-Fig-1",
    statement="For differential privacy row i is private and the others are public: the pairs are "
    "those databases that differ in one row.",
    tight=True,
)
def _neighbours(rng: Generator) -> Claims:
    rows, size = int(rng.integers(1, 4)), int(rng.integers(2, 4))
    labels = list(product(range(size), repeat=rows))
    functions: Functions = [(_row(i), _others(i)) for i in range(rows)]
    framework = Pufferfish.specialised(1.0, labels, functions)
    uniform = Prior.uniform(labels)
    apart = []
    for _, _, *laws in framework.hypotheses(uniform):
        one, two = (next(x for x, mass in zip(labels, law, strict=True) if mass) for law in laws)
        apart.append(sum(a != b for a, b in zip(one, two, strict=True)))
    claimed = rows * size ** (rows - 1) * math.comb(size, 2)
    yield equal(len(apart), claimed, "pairs of neighbours", scale=claimed)
    yield holds(set(apart) == {1}, "each pair differs in one row")


@result(
    "PP-Rem-1",
    statement="With rows private and the rest public Pufferfish privacy is differential privacy, "
    "for every prior; attribute privacy joins one constant public function to each attribute.",
    conditions="finite alphabets, priors of full support; the constant: see E10a",
    tight=True,
)
def _special_cases(rng: Generator) -> Claims:
    mechanism, prior, functions = _some_release(rng)
    apart = max(
        float(np.log(mechanism.kernel[a] / mechanism.kernel[b]).max())
        for a, x in enumerate(prior.labels)
        for b, y in enumerate(prior.labels)
        if sum(u != v for u, v in zip(x, y, strict=True)) == 1
    )
    found = Pufferfish.specialised(1.0, prior.labels, functions).measure(mechanism, prior)[0]
    yield equal(found, apart, "rows, all neighbours")
    yield equal(DP(1.0, "hamming").measure(mechanism, prior)[0], apart, "differential privacy")
    column: Functions = [(lambda x: sum(x), None)]
    laws = _laws(_joint(mechanism, prior, *column[0])[:, :, 0])
    claimed = float(np.log(laws.max(axis=0) / laws.min(axis=0)).max())
    found = Pufferfish.specialised(1.0, prior.labels, column).measure(mechanism, prior)[0]
    yield equal(found, claimed, "an attribute")


@result(
    "PP-Rem-2",
    statement="With rows private and the rest public ε-MI Pufferfish privacy is the largest "
    "I(X_i; M | X_-i).",
    tight=True,
)
def _information_about_rows(rng: Generator) -> Claims:
    mechanism, prior, functions = _some_release(rng)
    claimed = 0.0
    for i, _ in enumerate(functions):
        information = 0.0
        for rest in {_others(i)(x) for x in prior.labels}:
            members = [n for n, x in enumerate(prior.labels) if _others(i)(x) == rest]
            p = prior.probabilities[members]
            information += float(p.sum()) * mutual_information(
                p / p.sum(), mechanism.kernel[members]
            )
        claimed = max(claimed, information)
    found = MIPufferfish.of_functions(1.0, prior.labels, functions).measure(mechanism, prior)[0]
    yield equal(found, claimed, "all rows")


@result(
    "PP-Thm-1.1",
    statement="(ε, 0)-Pufferfish privacy implies I(g; M | w) ≤ ε; nearly attained by randomised "
    "response among very many secrets.",
    tight=True,
)
def _from_ratios(rng: Generator) -> Claims:
    mechanism, prior, functions = _some_release(rng)
    for chosen in (functions, [(_row(0), None)]):
        level = Pufferfish.specialised(1.0, prior.labels, chosen).measure(mechanism, prior)[0]
        found = MIPufferfish.of_functions(1.0, prior.labels, chosen).measure(mechanism, prior)[0]
        yield at_most(found, level, "random mechanism")
    # e^size equally likely secrets, each kept with e^level times the probability of another:
    # I = log N − h(q) − (1 − q) log(N − 1), in closed form for N beyond all floats.
    size = float(rng.uniform(5000, 9000))
    level = size + 6.0
    swapped = 1 / (math.exp(level - size) + 1)
    found = size - _binary_entropy(swapped) - swapped * size
    yield at_most(found, level, "randomised response among e^5000 secrets or more")


@result(
    "PP-Thm-1.2",
    statement="Without public information the laws of M given g = a and g = b are within "
    "√(I/2p_a) + √(I/2p_b) in total variation, I = I(g; M) (corrected, see E8).",
    tight=True,
)
def _to_total_variation(rng: Generator) -> Claims:
    joint = _some_joint(rng).sum(axis=2, keepdims=True)
    information = conditional_information(joint)
    laws, masses = _laws(joint[:, :, 0]), joint.sum(axis=(1, 2))
    for a in range(len(laws)):
        for b in range(a):
            bound = variation_from_information(information, masses[a], masses[b])
            yield at_most(_total_variation(laws[a], laws[b]), bound, f"secrets {a} and {b}")
    # Two secrets, the one rare, told from the other with a small advantage by one bit.
    rare, ahead = 1e-6, float(rng.uniform(0.02, 0.05))
    laws = np.array([[0.5 + ahead, 0.5 - ahead], [0.5, 0.5]])
    information = _information_of_two(rare, ahead)
    bound = variation_from_information(information, rare, 1 - rare)
    found = _total_variation(laws[0], laws[1])
    yield at_most(found, bound, "a rare secret", scale=bound)
    printed = math.sqrt(information / 2 / rare) + math.sqrt(information / 2 / (1 - rare))
    yield equal(bound, printed, "the formula", scale=printed)
    # The second arrow as printed holds where the masses of the two secrets may be any: at equal
    # masses, which Θ then contains, each law is within √(I/2)·√2 of the other's.
    for a in range(len(laws)):
        for b in range(a):
            even = mutual_information(np.array([0.5, 0.5]), laws[[a, b]])
            yield at_most(
                _total_variation(laws[a], laws[b]), math.sqrt(2 * even), "masses that may be any"
            )


def _information_of_two(rare: float, ahead: float) -> float:
    """I(g; M), to all digits, when M is ½ ± ``ahead`` for a secret of this mass and fair else."""
    return rare * _deficit(ahead) - _deficit(rare * ahead)


def _deficit(t: float) -> float:
    """Log 2 − h(½ + t), by its series: 2t² + (4/3)t⁴ + …"""
    return sum((2 * t) ** (2 * k) / (2 * k * (2 * k - 1)) for k in range(1, 30))


@result(
    "PP-Thm-1.3",
    statement="(ε, δ)-Pufferfish privacy implies I(g; M | w) ≤ 2h(δ') + 2δ' log min{|M|, |g|+1} "
    "with δ' = 1 − 2(1−δ)/(e^ε + 1), for every δ' from 0 to 1.",
    conditions="finite alphabets; the inequality is loose, the formula is pinned",
)
def _from_approximate(rng: Generator) -> Claims:
    joint = _some_joint(rng)
    level = float(rng.uniform(0, 0.5))
    for _ in range(6):
        delta = _least_delta(joint, level)
        moved = 1 - 2 * (1 - delta) / (math.exp(level) + 1)
        information = conditional_information(joint)
        about = f"δ' = {moved:.3g}"
        yield at_most(information, _third_arrow(moved, joint), about)
        values, outputs = joint.shape[0], joint.shape[1]
        bound = information_from_approximate(level, delta, values, outputs)
        yield at_most(information, bound, f"{about}, as computed")
        claimed = math.log(min(values, outputs))
        if moved <= 0.5:
            claimed = min(claimed, _third_arrow(moved, joint))
        yield equal(bound, claimed, f"{about}, the formula", scale=claimed)
        average = joint.sum(axis=1, keepdims=True) * joint.sum(axis=(0, 2))[None, :, None]
        joint = 0.5 * joint + 0.5 * average / average.sum()
    # Far beyond δ' = ½: nearly all is told.
    sure = np.full((2, 2), 1e-3)
    np.fill_diagonal(sure, 1.0)
    joint = (sure / sure.sum())[:, :, None]
    moved = 1 - 2 * (1 - _least_delta(joint, 0.0)) / 2
    yield at_most(conditional_information(joint), _third_arrow(moved, joint), "δ' near 1")


def _third_arrow(moved: float, joint: Array) -> float:
    """The printed bound, for any δ' from 0 to 1."""
    size = min(joint.shape[1], joint.shape[0] + 1)
    return 2 * _binary_entropy(moved) + 2 * moved * math.log(size)


def _least_delta(joint: Array, level: float) -> float:
    """The least δ at a level: the largest hockey-stick divergence of two conditional laws."""
    found = 0.0
    for w in range(joint.shape[2]):
        laws = _laws(joint[:, :, w])
        for a in laws:
            for b in laws:
                found = max(found, float(np.maximum(a - math.exp(level) * b, 0).sum()))
    return min(found, 1.0)


def _binary_entropy(share: float) -> float:
    return -sum(v * math.log(v) for v in (share, 1 - share) if v > 0)


# Theorem 2: properties


@result(
    "PP-Thm-2.1",
    statement="Choosing between two ε-MI mechanisms by a coin that is not looked at is ε-MI.",
    tight=True,
)
def _convexity(rng: Generator) -> Claims:
    first = _some_joint(rng, 3)
    masses = first.sum(axis=1)
    laws = np.stack([positive_kernel(rng, masses.shape[1], 3) for _ in range(len(masses))])
    second = masses[:, None, :] * laws.transpose(0, 2, 1)
    share = float(rng.uniform(0, 1))
    most = max(conditional_information(first), conditional_information(second))
    mixed = conditional_information(share * first + (1 - share) * second)
    yield at_most(mixed, most, "two random mechanisms", scale=most)
    own = conditional_information(first)
    same = conditional_information(share * first + (1 - share) * first)
    yield equal(same, own, "a mechanism with itself", scale=own)


@result(
    "PP-Thm-2.2",
    statement="Levels of mutual-information Pufferfish privacy add up under adaptive composition.",
    conditions="finite alphabets, two to four mechanisms",
    tight=True,
)
def _composition(rng: Generator) -> Claims:
    joined = _some_joint(rng, 2)
    parts = conditional_information(joined)
    for number in range(2, int(rng.integers(2, 5)) + 1):
        g, m, w = joined.shape
        # The next mechanism depends on the secret, on what came before and on what is public.
        later = np.stack([positive_kernel(rng, m * w, 2) for _ in range(g)])
        both = joined[:, :, :, None] * later.reshape(g, m, w, 2)
        given = both.transpose(0, 3, 2, 1).reshape(g, 2, w * m)
        parts += conditional_information(given)
        joined = both.transpose(0, 1, 3, 2).reshape(g, m * 2, w)
        yield equal(conditional_information(joined), parts, f"{number} mechanisms", scale=parts)


@result(
    "PP-Thm-2.3",
    statement="Post-processing does not raise I(g; M | w).",
    tight=True,
)
def _post_processing(rng: Generator) -> Claims:
    joint = _some_joint(rng)
    before = conditional_information(joint)
    channel = positive_kernel(rng, joint.shape[1])
    after = conditional_information(np.einsum("gmw,mz->gzw", joint, channel))
    yield at_most(after, before, "random processing", scale=before)
    turned = conditional_information(joint[:, ::-1, :])
    yield equal(turned, before, "outputs renamed", scale=before)


@result(
    "PP-Rem-3",
    statement="Where secrets are single databases, levels of mechanisms that are independent given "
    "the database add up, by ratios and by information; where they are not, ratios need not.",
    conditions="finite alphabets; universally composable sets of priors are not gone into",
    tight=True,
)
def _not_adaptive(rng: Generator) -> Claims:
    first, prior, functions = _some_release(rng)
    second = Mechanism(positive_kernel(rng, len(prior), 3), prior.labels)
    ratios = Pufferfish.specialised(1.0, prior.labels, functions)
    information = MIPufferfish.of_functions(1.0, prior.labels, functions)
    for notion, name in ((ratios, "ratios"), (information, "information")):
        parts = sum(notion.measure(m, prior)[0] for m in (first, second))
        found = notion.measure(first.parallel(second), prior)[0]
        yield at_most(found, parts, f"{name} of two mechanisms", scale=parts)
    twice = ratios.measure(first.parallel(first), prior)[0]
    yield equal(twice, 2 * ratios.measure(first, prior)[0], "ratios of one mechanism, twice")
    # A bit plus noise, and the noise: each alone leaks nothing about the bit, both disclose it.
    pairs = list(product((0, 1), repeat=2))
    even = Prior.uniform(pairs)
    masked = Mechanism(np.eye(2)[[(x + z) % 2 for x, z in pairs]], pairs)
    mask = Mechanism(np.eye(2)[[z for _, z in pairs]], pairs)
    bit = Pufferfish.specialised(1.0, pairs, [(_row(0), None)])
    for part in (masked, mask):
        yield equal(bit.measure(part, even)[0], 0.0, "alone", scale=1.0)
    yield equal(bit.measure(masked.parallel(mask), even)[0], math.inf, "together")


# Theorems 3 and 4: noise


def _some_query(rng: Generator) -> tuple[Prior, Callable[[Any], Any]]:
    """A prior on pairs (atom, public bit), neither uniform nor Gaussian, and the atom's value."""
    atoms = rng.uniform(-1, 1, 3)
    labels = [(a, w) for a in range(3) for w in (0, 1)]
    prior = Prior.from_counts(some_masses(rng, 6), labels)
    return prior, lambda x: float(atoms[x[0]] + 0.3 * x[1])


def _spreads(
    prior: Prior, query: Callable[[Any], Any], public: Callable[[Any], Any] | None
) -> tuple[float, float]:
    """E Var(f|w) and E√Var(f|w) of a number, from the definitions."""
    variance = deviation = 0.0
    known = [None if public is None else public(x) for x in prior.labels]
    for w in dict.fromkeys(known):
        members = [n for n, value in enumerate(known) if value == w]
        p = prior.probabilities[members]
        f = np.array([query(prior.labels[n]) for n in members])
        within = float(p @ (f - p @ f / p.sum()) ** 2 / p.sum())
        variance += float(p.sum()) * within
        deviation += float(p.sum()) * math.sqrt(within)
    return variance, deviation


def _plane_information(points: Array, masses: Array, noise: float) -> float:
    """I(f; f + N(0, noise·I)) for atoms in the plane, by the trapezoidal rule on a grid."""
    spread = math.sqrt(noise)
    axes = [np.arange(c.min() - 8 * spread, c.max() + 8 * spread, spread / 5) for c in points.T]
    rows = [
        np.exp(-((a[:, None] - c) ** 2) / (2 * noise)) for a, c in zip(axes, points.T, strict=True)
    ]
    joint = np.einsum("xk,yk,k->xyk", *rows, masses)
    total = joint.sum(axis=2)
    live = joint > 1e-290
    logs = np.zeros_like(joint)
    ratio = joint / masses / np.maximum(total, 1e-300)[:, :, None]
    logs[live] = np.log(ratio[live])
    cell = (spread / 5) ** 2 / (2 * math.pi * noise)
    return float((joint * logs).sum() * cell)


@result(
    "PP-Thm-3",
    statement="Gaussian noise of variance ΣE Var(f_j|w)/(d(e^{2ε/d} − 1)) makes a query of d "
    "numbers ε-MI; it is all that is needed when f is Gaussian with equal variances given w and "
    "determined by g and w.",
    conditions="d up to 6, public functions, Gaussian priors and others",
    tight=True,
)
def _gaussian_mechanism(rng: Generator) -> Claims:
    level = some_level(rng, 0.1, 1.0)
    for d in (1, 2, int(rng.integers(3, 7))):
        spread = float(rng.uniform(0.1, 2))
        noise = gaussian_variance(d * spread, level, d)
        found = d * gaussian_information(spread, 0.0, noise)
        yield equal(found, level, f"a Gaussian query, d = {d}")
        several = rng.uniform(0.1, 2, d)
        noise = gaussian_variance(float(several.sum()), level, d)
        found = sum(gaussian_information(float(v), 0.0, noise) for v in several)
        yield at_most(found, level, f"unequal variances, d = {d}")
    prior, query = _some_query(rng)
    for public in (None, _row(1)):
        variance, _ = query_spread(prior, query, [public])
        yield equal(variance, _spreads(prior, query, public)[0], "E Var(f|w)", scale=variance)
        scale = math.sqrt(gaussian_variance(variance, level))
        found = noisy_information(prior, query, _row(0), ("gaussian", scale), public, steps=4001)
        yield at_most(found, level, "a query with few values, beside public information")
    # All of f is the secret: the library's integral against another one.
    variance, _ = query_spread(prior, query)
    scale = math.sqrt(gaussian_variance(variance, level))
    found = noisy_information(prior, query, lambda x: x[0], ("gaussian", scale), _row(1))
    atoms = {x: query(x) for x in prior.labels}
    direct = 0.0
    for w in (0, 1):
        p = np.array([prior[x] for x in atoms if x[1] == w])
        places = [f for x, f in atoms.items() if x[1] == w]
        direct += float(p.sum()) * mixture_information(places, list(p / p.sum()), scale**2)
    yield at_most(abs(found - direct), 1e-7, "the integral", scale=1.0)
    points, masses = rng.uniform(-1, 1, (4, 2)), some_masses(rng, 4)
    spreads = masses @ (points - masses @ points) ** 2
    noise = gaussian_variance(float(spreads.sum()), level, 2)
    yield at_most(_plane_information(points, masses, noise), level, "four points of a plane")


@result(
    "PP-Cor-1",
    statement="Gaussian noise of variance Δ²/(2d(e^{2ε/d} − 1)) is ε-MI DP for sensitivity Δ.",
    conditions="d up to 6, rows with two and three values, other rows public; loose, see E10e; the "
    "formula is pinned",
)
def _gaussian_for_dp(rng: Generator) -> Claims:
    level = some_level(rng, 0.1, 1.0)
    for d in (1, 2, int(rng.integers(3, 7))):
        reach, p = float(rng.uniform(0.5, 2)), float(rng.uniform(0.05, 0.95))
        noise = gaussian_variance_for_dp(reach, level, d)
        # Two neighbours lie on a line, along which alone the noise matters.
        found = mixture_information([0.0, reach], [p, 1 - p], noise)
        yield at_most(found, level, f"one binary entry, d = {d}")
        printed = reach**2 / (2 * d * math.expm1(2 * level / d))
        yield equal(noise, printed, f"the formula, d = {d}", scale=printed)
        # The other rows are public, and decide how far apart the two values of a row are.
        public = some_masses(rng, 3)
        found = sum(
            float(q) * mixture_information([0.0, reach * float(part)], [p, 1 - p], noise)
            for q, part in zip(public, rng.uniform(0, 1, 3), strict=True)
        )
        yield at_most(found, level, f"one entry beside public ones, d = {d}")
        if d == 2:
            corners = reach * np.array([[0.0, 0.0], [1.0, 0.0], [0.5, math.sqrt(0.75)]])
            found = _plane_information(corners, some_masses(rng, 3), noise)
            yield at_most(found, level, "three values of a row, each two as far apart as may be")


@result(
    "PP-Rem-4",
    statement="The classical Gaussian mechanism takes 2 log(1.25/√(2ε))Δ²/ε'²; that of Corollary 1 "
    "takes less exactly when ε' < 2√((e^{2ε} − 1) log(1.25/√(2ε))).",
    conditions="d = 1 (see E10b)",
    tight=True,
)
def _classical(rng: Generator) -> Claims:
    level = some_level(rng, 0.001, 0.05)
    reach = float(rng.uniform(0.5, 2))
    log = math.log(1.25 / math.sqrt(2 * level))
    edge = 2 * math.sqrt(math.expm1(2 * level) * log)
    row = classical_comparison([level], min(edge, 1.0), reach)[0]
    yield equal(row["threshold"], edge, "threshold", scale=edge)
    if edge <= 1:
        yield equal(row["sigma_mi"], row["sigma_classical"], "both at it", scale=row["sigma_mi"])
    for share in (0.5, 0.9, 1.1, 2.0):
        target = share * edge
        if target <= 1:
            row = classical_comparison([level], target, reach)[0]
            less = row["sigma_mi"] < row["sigma_classical"]
            yield holds(less == (share < 1), f"{share} of the threshold")
            printed = 2 * log * reach**2 / target**2
            found = classical_gaussian_variance(reach, target, math.sqrt(2 * level))
            yield equal(found, printed, "the classical formula", scale=printed)


@result(
    "PP-Rem-5",
    statement="For the mean of n independent Gaussian entries of variance at most s, σ² = "
    "s/(n²(e^{2ε} − 1)) is just enough, whatever their means (corrected, see E9).",
    tight=True,
)
def _domain_knowledge(rng: Generator) -> Claims:
    n, most, level = int(rng.integers(1, 50)), float(rng.uniform(0.1, 100)), some_level(rng)
    noise = gaussian_variance(most / n**2, level)
    # Given the other rows the mean varies with one entry over n; determined by it.
    yield equal(gaussian_information(most / n**2, 0.0, noise), level, "the largest variance")
    for variance in rng.uniform(0, most, 3):
        found = gaussian_information(float(variance) / n**2, 0.0, noise)
        yield at_most(found, level, "a smaller one")


@result(
    "PP-Rem-6",
    statement="Laplace noise of scale ΣE√Var(f_j|w)/(d(e^{ε/d} − 1)) makes a query of d numbers "
    "ε-MI.",
    conditions="d up to 6; the inequality is loose, the formula is pinned",
)
def _laplace_mechanism(rng: Generator) -> Claims:
    level = some_level(rng, 0.1, 1.0)
    prior, query = _some_query(rng)
    for public in (None, _row(1)):
        _, deviation = query_spread(prior, query, [public])
        yield equal(deviation, _spreads(prior, query, public)[1], "E√Var(f|w)", scale=deviation)
        scale = laplace_scale(deviation, level)
        found = noisy_information(prior, query, _row(0), ("laplace", scale), public, steps=8001)
        yield at_most(found, level, "a query with few values, beside public information")
    # Independent coordinates: their informations add up.
    parts = [_some_query(rng) for _ in range(int(rng.integers(2, 4)))]
    deviations = [query_spread(p, f)[1] for p, f in parts]
    scale = laplace_scale(sum(deviations), level, len(parts))
    found = sum(
        noisy_information(p, f, lambda x: x, ("laplace", scale), steps=8001) for p, f in parts
    )
    yield at_most(found, level, f"{len(parts)} independent coordinates")
    for d in (1, 2, 5):
        printed = deviations[0] / (d * math.expm1(level / d))
        found = laplace_scale(deviations[0], level, d)
        yield equal(found, printed, f"the formula, d = {d}", scale=printed)


def _gaussian_entropy(variance: float, dimension: int = 1) -> float:
    return 0.5 * dimension * math.log(2 * math.pi * math.e * variance)


def _smeared_information(step: float, masses: Array, noise: float) -> float:
    """I(g; f + N(0, noise)) for f uniform on a unit interval that g moves by steps."""
    from scipy.special import ndtr

    spread = math.sqrt(noise)
    y = np.linspace(-8 * spread, (len(masses) - 1) * step + 1 + 8 * spread, 8001)
    rows = np.array(
        [
            ndtr((y - k * step) / spread) - ndtr((y - k * step - 1) / spread)
            for k in range(len(masses))
        ]
    )
    joint = masses[:, None] * rows
    total = joint.sum(axis=0)
    live = rows > 1e-250
    logs = np.zeros_like(rows)
    logs[live] = np.log(rows[live] / np.broadcast_to(total, rows.shape)[live])
    return float((joint * logs).sum() * (y[1] - y[0]))


@result(
    "PP-Thm-4",
    statement="Gaussian noise of variance (A − de^{2ε/d}B)/(d(e^{2ε/d} − 1)) is ε-MI, with B = "
    "(1/2π)·exp((2/d)h(f|g,w) − 1) (corrected, see E7); exact for jointly Gaussian f and g.",
    conditions="d up to 6, public functions; Gaussian, and uniform given the secret",
    tight=True,
)
def _gaussian_with_secret(rng: Generator) -> Claims:
    level = some_level(rng, 0.05, 0.5)
    for d in (1, 2, int(rng.integers(3, 7))):
        total = float(rng.uniform(0.1, 2))
        rest = total * math.exp(-2 * level / d) * float(rng.uniform(0.1, 0.95))
        entropy = _gaussian_entropy(rest, d)
        noise = gaussian_variance_given_secret(d * total, entropy, level, d)
        found = d * gaussian_information(total, rest, noise)
        yield equal(found, level, f"where noise is needed, d = {d}")
        free = total * math.exp(-2 * level / d) * float(rng.uniform(1.0, math.exp(2 * level / d)))
        entropy = _gaussian_entropy(free * (1 + 1e-12), d)
        noise = gaussian_variance_given_secret(d * total, entropy, level, d)
        yield equal(noise, 0.0, f"where it is not, d = {d}", scale=1.0)
        yield at_most(d * gaussian_information(total, free, 0.0), level, "and it is not")
    # Public information that the spreads depend on: A and h(f|g, w) are averages over it.
    for d in (1, 3):
        public, totals = some_masses(rng, 3), rng.uniform(0.5, 2, 3)
        rests = totals * rng.uniform(0.05, 0.3, 3)
        entropy = sum(
            float(p) * _gaussian_entropy(float(v), d) for p, v in zip(public, rests, strict=True)
        )
        noise = gaussian_variance_given_secret(d * float(public @ totals), entropy, level, d)
        found = sum(
            float(p) * d * gaussian_information(float(v), float(r), noise)
            for p, v, r in zip(public, totals, rests, strict=True)
        )
        yield at_most(found, level, f"spreads that public information decides, d = {d}")
    # The query is uniform on a unit interval that the secret moves: h(f|g) = 0.
    step, masses = float(rng.uniform(0.3, 1.5)), some_masses(rng, 3)
    places = np.arange(3) * step
    variance = float(masses @ (places - masses @ places) ** 2) + 1 / 12
    noise = gaussian_variance_given_secret(variance, 0.0, level)
    if noise > 1e-4:
        found = _smeared_information(step, masses, noise)
        yield at_most(found, level, "uniform given the secret")


@result(
    "PP-Rem-7",
    statement="For f Gaussian given g with one variance v and d = 1, Theorem 4 asks "
    "(Var f − e^{2ε}v)/(e^{2ε} − 1).",
    conditions="d = 1, no public information; the noise of the work that it compares with is not "
    "derived in the paper",
    tight=True,
)
def _attribute_privacy(rng: Generator) -> Claims:
    level = some_level(rng, 0.05, 0.5)
    means, masses = rng.uniform(-2, 2, 3), some_masses(rng, 3)
    rest = float(rng.uniform(0.01, 0.05))
    total = rest + float(masses @ (means - masses @ means) ** 2)
    noise = gaussian_variance_given_secret(total, _gaussian_entropy(rest), level)
    printed = max((total - math.exp(2 * level) * rest) / math.expm1(2 * level), 0.0)
    yield equal(noise, printed, "the reduction", scale=max(printed, 1e-3))
    found = mixture_information(list(means), list(masses), rest + noise)
    yield at_most(found, level, "three Gaussians of one variance")
    # Jointly Gaussian f and g: E(f|g) is linear, so that what lies between two secrets of a range
    # grows with it, and with it the noise by the distance; that of Theorem 4 does not change.
    slope = float(rng.uniform(0.5, 1))
    steady = gaussian_variance_given_secret(slope**2 + rest, _gaussian_entropy(rest), level)
    yield equal(gaussian_information(slope**2 + rest, rest, steady), level, "jointly Gaussian")
    by_distance = [
        2 * math.log(1.25 / 0.01) * (2 * slope * reach / level) ** 2 - rest
        for reach in (1.0, 10.0, 1000.0)
    ]
    yield holds(by_distance[0] < by_distance[1] < by_distance[2], "noise by the distance grows")
    yield at_least(by_distance[2], 1000 * steady, "beyond any multiple of the other")


@result(
    "PP-Rem-8",
    statement="A ≥ dB always; no noise is needed for jointly Gaussian f and g exactly when |ρ| ≤ "
    "√(1 − e^{-2ε}) (corrected, see E10c and E10d).",
    conditions="A ≥ dB for Gaussian and uniform laws in d up to 6",
    tight=True,
)
def _free_privacy(rng: Generator) -> Claims:
    level = some_level(rng, 0.005, 1.0)
    edge = math.sqrt(-math.expm1(-2 * level))
    rho = float(rng.uniform(-edge, edge))
    yield at_most(gaussian_information(1.0, 1 - rho * rho, 0.0), level, "a weaker correlation")
    yield equal(gaussian_information(1.0, 1 - edge * edge, 0.0), level, "at the edge", scale=level)
    for share in (-1.05, -0.95, 0.95, 1.05):
        rest = 1 - min(abs(share * edge), 0.999999) ** 2
        noise = gaussian_variance_given_secret(1.0, _gaussian_entropy(rest), level)
        yield holds((noise == 0) == (abs(share) < 1), f"noise at {share} of the edge")
    d = int(rng.integers(1, 7))
    widths = rng.uniform(0.1, 2, d)
    for spread, entropy, name in (
        (float(widths.sum()), sum(_gaussian_entropy(float(v)) for v in widths), "Gaussian"),
        (float((widths**2).sum()) / 12, float(np.log(widths).sum()), "uniform"),
    ):
        b = math.exp(2 * entropy / d - 1) / (2 * math.pi)
        yield at_least(spread, d * b, f"A against dB, {name}")
    same = float(rng.uniform(0.1, 2))
    b = math.exp(2 * _gaussian_entropy(same, d) / d - 1) / (2 * math.pi)
    yield equal(d * same, d * b, "A against dB, one variance")

"""The registry of cases. A group's docstring says what is expected to win, and why."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Case:
    """One problem: sizes, notion with its level, utility and prior by name, and a seed."""

    group: str
    n: int
    m: int
    notion: str
    utility: str
    prior: str
    level: float = 1.0
    seed: int = 0
    levels: int = 1
    required: str = ""

    @property
    def name(self) -> str:
        """A readable identifier."""
        size = f"{self.n}" if self.n == self.m else f"{self.n}x{self.m}"
        path = f" x{self.levels} levels" if self.levels > 1 else ""
        more = f" under {self.required}" if self.required else ""
        return f"{size} {self.notion}({self.level:g}) {self.utility}/{self.prior}{path}{more}"

    def masses(self) -> np.ndarray:
        """Prior ``(n,)``, made from the seed alone."""
        return self._drawn()[0]

    def _drawn(self) -> tuple[np.ndarray, np.random.Generator]:
        rng = np.random.default_rng(self.seed)
        p = {
            "dirichlet": lambda: rng.dirichlet(np.ones(self.n)),
            "zipf": lambda: 1 / np.arange(1, self.n + 1),
            "uniform": lambda: np.ones(self.n),
            "atom": lambda: np.append(0.7, 0.3 * rng.dirichlet(np.ones(self.n - 1))),
            "binomial": lambda: _binomial(self.n),
        }[self.prior]()
        return p / p.sum(), rng

    def arrays(self) -> tuple[np.ndarray, np.ndarray]:
        """Prior ``(n,)`` and gains ``(n, m)``, made from the seed alone."""
        p, rng = self._drawn()
        x, y = np.arange(self.n)[:, None], np.arange(self.m)[None, :]
        u = {
            "random": lambda: rng.random((self.n, self.m)),
            "hamming": lambda: (x == y).astype(float),
            "absolute": lambda: -np.abs(x - y).astype(float),
            "squared": lambda: -((x - y) ** 2).astype(float),
            "plane": lambda: -self.distances()[:, : self.m],
            "euclidean": lambda: -self.distances(),
            "information": lambda: np.zeros((self.n, self.m)),  # no gains: it is not linear
        }[self.utility]()
        return p, u

    def costs(self) -> tuple[np.ndarray, float]:
        """Costs ``(n, m)`` of the case's requirements, made from the seed alone, and their cap: a
        tenth below what outputs that ignore the costs pay.
        """
        costs = np.random.default_rng([self.seed, 1]).random((self.n, self.m))
        return costs, 0.45

    def distances(self) -> np.ndarray:
        """Distances of symbols ``(n, n)``: on a line, in rows of eight, or in a square."""
        x = np.arange(self.n)
        if self.notion == "Line":
            return np.abs(x[:, None] - x[None, :]).astype(float)
        width = 8 if self.notion == "Grid" else math.isqrt(self.n - 1) + 1
        points = np.stack([x // width, x % width], axis=1).astype(float)
        return np.sqrt(((points[:, None] - points[None, :]) ** 2).sum(axis=2))


def _binomial(n: int) -> np.ndarray:
    """Masses of a count among n - 1 people, a third of whom are counted."""
    from scipy.stats import binom

    return np.asarray(binom.pmf(np.arange(n), n - 1, 1 / 3)) + 1e-12


GROUPS: dict[str, Callable[[], Iterable[Case]]] = {}


def group(make: Callable[[], Iterable[Case]]) -> Callable[[], Iterable[Case]]:
    """Register a group of cases under the function's name."""
    GROUPS[make.__name__.rstrip("_")] = make
    return make


def _square(name: str, n: int) -> Iterable[Case]:
    for notion in ("LDP", "PML", "LIP"):
        for utility, prior in (
            ("random", "dirichlet"),
            ("hamming", "dirichlet"),
            ("absolute", "zipf"),
            ("squared", "uniform"),
        ):
            yield Case(name, n, n, notion, utility, prior)


@group
def small() -> Iterable[Case]:
    """Around the size where the choice changes, for drivers ours-simplex, ours-structured and
    ours-clarabel: the structured method wins, by up to two at N = 8 and up to eight at N = 24, but
    simplex ends at a vertex with a gap of 1e-13 in some tens of milliseconds, and is preferred
    there; from N = 32 on it would cost ten times as much.
    """
    for n in (8, 16, 24, 32):
        for notion in ("LDP", "PML"):
            for utility, prior in (("random", "dirichlet"), ("absolute", "zipf")):
                yield Case("small", n, n, notion, utility, prior)


@group
def n50() -> Iterable[Case]:
    """The structured method wins by about ten; naive formulations already need seconds."""
    return _square("n50", 50)


@group
def n200() -> Iterable[Case]:
    """The structured method wins: one 200×200 factorisation per iteration against general sparse
    ones; accuracy has a closed form. Direct Clarabel is the best general solver; simplex and
    first-order methods are far off.
    """
    return _square("n200", 200)


@group
def n400() -> Iterable[Case]:
    """As at 200, with a wider margin: our cost per iteration is that of dense matrix products."""
    return _square("n400", 400)


@group
def n1000() -> Iterable[Case]:
    """Only the structured method ends in seconds; the general ones are not worth waiting for."""
    return _square("n1000", 1000)


@group
def n2000() -> Iterable[Case]:
    """As at 1000; Hamming has a closed form, squared leaves few outputs, random stays costly."""
    for utility, prior in (
        ("hamming", "dirichlet"),
        ("squared", "uniform"),
        ("random", "dirichlet"),
    ):
        yield Case("n2000", 2000, 2000, "LDP", utility, prior)


@group
def rectangular() -> Iterable[Case]:
    """The structured method wins: its matrix has the number of symbols, not of outputs."""
    for n, m in ((20, 20000), (1000, 50)):
        for notion in ("LDP", "PML", "LIP"):
            yield Case("rectangular", n, m, notion, "random", "dirichlet")


@group
def sweeps() -> Iterable[Case]:
    """Fifty levels at N = 50: the structured method, started from a point that its neighbour passed
    early on its way, wins over a simplex that is started from its neighbour's basis.
    """
    for notion in ("LDP", "PML"):
        for utility, prior in (("random", "dirichlet"), ("absolute", "zipf")):
            yield Case("sweeps", 50, 50, notion, utility, prior, levels=50)


@group
def others() -> Iterable[Case]:
    """Bounds of other kinds than one two-sided cone: a lift and a ratio bounded together, and
    neighbours on a line, where blocks are eliminated along the line.
    """
    for n in (50, 100, 200):
        for notion in ("LIP+LDP", "line"):
            for utility, prior in (("random", "dirichlet"), ("absolute", "zipf")):
                yield Case("others", n, n, notion, utility, prior)


@group
def required() -> Iterable[Case]:
    """Zeros outside a band of a third of the symbols, floors on the diagonal and a cap on the
    expected cost, each case without them first. Under PML the structured method stays within five
    times its own time without them, as the rows beside the eliminated columns are few. Under LDP a
    zero forces its whole outcome, so floors and the cap stand alone, and it takes up to eight times
    as long: without floors it drops nearly all outputs of |x − y| early. Clarabel is level at
    N = 50 and three to nine times slower at N = 200, HiGHS ten times and more.
    """
    for n in (50, 100, 200):
        for notion, level, more in (
            ("PML", 2.0, "band, floors, cost"),
            ("PML", 3.0, "band, floors, cost"),
            ("LDP", 2.0, "floors, cost"),
        ):
            for asked in ("", more):
                yield Case("required", n, n, notion, "absolute", "dirichlet", level, required=asked)


@group
def peer() -> Iterable[Case]:
    """Against qif's optimal-design program, which writes out all pairs: we win by orders of
    magnitude, and its kernels are not always private.
    """
    for n in (20, 50, 100):
        yield Case("peer", n, n, "LDP", "hamming", "dirichlet")


@group
def metric() -> Iterable[Case]:
    """Metric privacy against qif: only pairs with nothing between them are compiled, so we win by
    more the larger the metric; from 18 symbols on a line its kernels leak without bound.
    """
    for n in (18, 19, 20, 50, 100):
        yield Case("metric", n, n, "Line", "absolute", "uniform")
    yield Case("metric", 64, 64, "Grid", "plane", "uniform")


@group
def information() -> Iterable[Case]:
    """Mutual information. Listing all extreme columns wins up to twelve symbols, as the linear
    program is all there is to it; above, it cannot run, and columns generated as prices ask for
    them take seconds. From a hundred different masses on, columns fitted to the masses need no
    search: a thousand symbols, also with an atom of .7, take some seconds.
    """
    for n in (8, 10, 12):
        for notion in ("LDP", "PML", "LIP"):
            yield Case("information", n, n, notion, "information", "dirichlet")
    for n in (50, 200):
        for notion in ("LDP", "PML", "LIP"):
            for prior in ("dirichlet", "uniform") if n > 50 else ("dirichlet", "zipf"):
                yield Case("information", n, n, notion, "information", prior)
    for notion in ("LDP", "PML", "LIP"):
        yield Case("information", 1000, 1000, notion, "information", "dirichlet")
    for notion in ("LDP", "PML", "LIP"):
        for level in (1.0, 2.0):
            yield Case("information", 1000, 1000, notion, "information", "zipf", level)
    for n in (200, 1000):
        yield Case("information", n, n, "LIP", "information", "atom")


@group
def map_() -> Iterable[Case]:
    """Cells of a square with gains of minus the distance, of which no array is made: ours begins
    with few outputs and wins by more the larger the map is; general solvers end up to 576 cells or
    so. Processor time is what counts, and memory is that of few outputs.
    """
    for side in (16, 24, 32, 45):
        for notion in ("LDP", "LIP", "PML"):
            yield Case("map", side**2, side**2, notion, "euclidean", "dirichlet")
    for notion, level in (("LDP", 4.0), ("LIP", 2.0), ("PML", 3.0)):
        yield Case("map", 1024, 1024, notion, "euclidean", "dirichlet", level)
    for notion in ("LDP", "LIP", "PML"):
        yield Case("map", 4900, 4900, notion, "euclidean", "dirichlet")
    yield Case("map", 10000, 10000, "LDP", "euclidean", "dirichlet")


@group
def places() -> Iterable[Case]:
    """Metric privacy on squares of a map and on a line, alone and with a bound on the lift, places
    in two levels, and lists that bound lift and ratio together, for drivers ours, two-levels,
    clarabel, highs-ipm and qif: we win by more the larger the square, as the work of a general
    solver grows with the fourth power of the number of cells. qif's kernels leak without bound on
    lines of 18 to 20.
    """
    for n in (18, 19, 20):
        yield Case("places", n, n, "Line", "absolute", "uniform")
    for side in (10, 16, 20):
        for prior in ("uniform", "dirichlet"):
            yield Case("places", side**2, side**2, "Square", "plane", prior)
    for prior in ("uniform", "binomial"):
        yield Case("places", 1000, 1000, "Line", "absolute", prior)
    yield Case("places", 3000, 3000, "TwoLevels", "plane", "dirichlet")
    for side in (7, 10):
        for prior in ("uniform", "dirichlet"):
            yield Case("places", side**2, side**2, "PML+Square", "plane", prior)
    for n in (200, 400):
        for utility, prior in (("random", "dirichlet"), ("absolute", "zipf")):
            yield Case("places", n, n, "PML+LDP", utility, prior)

"""``plan_columns``: a total level split over columns for the least total risk."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import (
    CertificateError,
    InputError,
    LevelError,
    NoMethodError,
    SolverError,
    is_iterable,
    quote,
)
from ..exact import Verdict
from ..prior import Prior
from ..privacy import LDP, LikelihoodBound, PrivacyNotion
from ..schema import Schema
from ..utility.estimation import Estimation
from ._design import Design, design
from .columns_plan import MOST_ENTRIES, ColumnsPlan, Split, check_together

# Shares of the total level that a search begins with, and columns up to which all are tried.
_GRID, _MOST_ON_GRID = (0.15, 0.3, 0.45, 0.6, 0.8, 1.0), 3
# Ratios of shares move by factors down to this one.
_FIRST_STEP, _LAST_STEP = 0.5, 0.04
# Shares that are no more apart are one; how far below the boundary a search may stay.
_SAME, _CLOSE, _FINAL = 1e-12, 2e-3, 1e-9
_LEAST_SHARE = 1e-3
# Symbols up to which a joint design is made unasked.
_JOINT_SYMBOLS = 16
# How often a plan that misses its exact check by rounding is moved inwards.
_RETRIES = 40


def plan_columns(
    data: Any,
    columns: Any = None,
    total: Any = None,
    *,
    missing: str = "error",
    max_symbols: int | None = None,
    bins: Any = None,
    joint: bool | None = None,
) -> ColumnsPlan:
    """Split a privacy level over several columns so that their frequencies take the fewest reports.

    Each column gets the kernel that estimates its frequencies best at its own level. The levels are
    those for which all reports of a person together have the total level, exactly, and the
    weighted sum of the risks is least, as far as a search over splits finds it.

    Parameters
    ----------
    data : table, joint Prior with named columns, or mapping from column name to Prior
        With priors of single columns alone, how they depend on each other is not known, so that
        only a notion without a prior, such as LDP, can be kept.
    columns : mapping from column name to weight, or list of names, optional
        What the squared errors of each column weigh, one each when left out. All columns of a
        prior, or of a mapping, when left out.
    total : PrivacyNotion
        What all reports together have: LDP, PML, PMC, LIP, ALIP or another bound on likelihood
        ratios that levels alone define. Under LDP and other notions without a prior it holds for
        all combinations of values; under others for those of the joint prior.
    missing, max_symbols, bins : as in :meth:`mechdesign.Prior.from_data`
    joint : bool, optional
        Whether a design for all columns at once is compared; for up to 16 combinations when left
        out.

    Returns
    -------
    ColumnsPlan
        Kernels, levels and risks of the columns, the exact verdict on all reports together, and
        how other splits compare: equal shares, the best shares that add up to the total level,
        which under PML may leak more than that, and the joint design.

    Raises
    ------
    InputError, LevelError
        For columns, weights and notions that cannot be used.
    DataError
        For tables as :meth:`mechdesign.Prior.from_data`, and where all reports together are too
        many to be checked.
    CertificateError
        When no split passes its exact check.

    Examples
    --------
    >>> import mechdesign as md
    >>> both = md.Prior.from_csv("titanic", ["class", "sex"])
    >>> plan = md.plan_columns(both, {"class": 1, "sex": 1}, total=md.LDP(2))
    >>> plan.check.verdict, [round(level, 2) for (level,) in plan.levels.values()]
    (<Verdict.YES: 'yes'>, [1.25, 0.75])
    """
    known, priors, weights = _asked(data, columns, total, missing, max_symbols, bins)
    search = _Search(priors, weights, total, known)
    shares = search.best(search.together)
    plan = _checked(search, shares)
    others = [
        _split("equal split", search, search.equal()),
        _split("additive split", search, search.best(lambda found: float(np.sum(found)))),
    ]
    small = known is not None and len(known) <= _JOINT_SYMBOLS
    if known is not None and (small if joint is None else joint):
        others += _joint(search, known, weights)
    return replace(plan, others=tuple(others))


# What is asked


def _asked(
    data: Any, columns: Any, total: Any, missing: str, max_symbols: int | None, bins: Any
) -> tuple[Prior | None, dict[str, Prior], dict[str, float]]:
    """The joint prior, the prior of each column, and what its errors weigh."""
    _check_total(total)
    alone = isinstance(data, Mapping) and all(isinstance(p, Prior) for p in data.values())
    if columns is None and isinstance(data, Prior) and data.schema is not None:
        columns = data.schema.names
    elif columns is None and alone:
        columns = tuple(data)
    weights = _weights(columns)
    if alone:
        if total.uses_prior:
            raise InputError(
                f"plan for {total}",
                expected="a table, or a prior of all columns together, as the notion is about "
                "what their values tell of each other",
                got="priors of single columns",
                remedy="pass the table, Prior.from_data(table, [...]), or ask for md.LDP",
            )
        Schema.of(list(weights))
        priors = {name: _one_of(data, name) for name in weights}
        return None, priors, weights
    if isinstance(data, Prior):
        known = data.marginal(list(weights))
    else:
        known = Prior.from_data(
            data, list(weights), missing=missing, max_symbols=max_symbols, bins=bins
        )
    return known, {name: known.marginal(name) for name in weights}, weights


def _one_of(priors: Mapping[str, Prior], name: str) -> Prior:
    if name not in priors:
        raise InputError(
            "columns of a plan",
            expected="one of " + ", ".join(map(quote, priors)),
            got=quote(name),
            remedy="give its prior too",
        )
    return priors[name].with_schema(name)


def _check_total(total: Any) -> None:
    if not isinstance(total, PrivacyNotion):
        got = f"the class {total.__name__}" if isinstance(total, type) else quote(total)
        raise LevelError(
            "total level of a plan",
            expected="a notion with its level, such as md.LDP(1) or md.PML(0.5)",
            got=got,
            remedy="pass total=md.LDP(1)",
        )
    if not isinstance(total, LikelihoodBound) or total.needs:
        raise LevelError(
            f"total level {total}",
            expected="a notion of likelihood ratios that levels alone define, such as LDP or PML",
            got=type(total).__name__,
            remedy="design each column by itself, and check them by md.compose",
        )
    if not all(0 < level < math.inf for level in total.levels):
        raise LevelError(
            f"total level {total}",
            expected="levels that are positive and finite",
            got=", ".join(f"{level:g}" for level in total.levels),
            remedy="give a level such as 1",
        )


def _weights(columns: Any) -> dict[str, float]:
    if columns is None:
        columns = ()
    given = columns if isinstance(columns, Mapping) else None
    if given is None and not (isinstance(columns, str) or is_iterable(columns)):
        raise InputError(
            "columns of a plan",
            expected="a mapping from column names to weights, or a list of names",
            got=quote(columns),
            remedy="pass for example {'class': 1, 'sex': 1}",
        )
    names = Schema.of(list(given) if given is not None else columns).names
    if len(names) < 2:
        raise InputError(
            "columns of a plan",
            expected="at least two columns",
            got=str(len(names)),
            remedy="design a single column by md.design(prior, md.utility.Estimation(), notion)",
        )
    found = {}
    for name in names:
        weight = 1.0 if given is None else given[name]
        number = isinstance(weight, (int, float, np.number)) and not isinstance(weight, bool)
        if not number or not 0 < weight < math.inf:
            raise InputError(
                f"weight of column {quote(name)}",
                expected="a positive number",
                got=quote(weight),
                remedy="leave out columns that do not matter",
            )
        found[name] = float(weight)
    return found


# The search


@dataclass
class _Search:
    """Designs of columns by their shares of the total level, each made once."""

    priors: dict[str, Prior]
    weights: dict[str, float]
    total: PrivacyNotion
    known: Prior | None
    made: dict[tuple[int, float], Design] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.priors)

    def design(self, place: int, share: float) -> Design:
        """The design of a column for a share of the total level."""
        share = min(max(share, _LEAST_SHARE), 1.0)
        key = (place, share)
        if key not in self.made:
            prior = list(self.priors.values())[place]
            notion = self.total.with_levels(*(share * level for level in self.total.levels))
            self.made[key] = design(prior, Estimation(), notion)
        return self.made[key]

    def designs(self, shares: NDArray[np.float64]) -> list[Design]:
        """The design of each column."""
        return [self.design(i, float(share)) for i, share in enumerate(shares)]

    def risk(self, shares: NDArray[np.float64]) -> float:
        """The weighted sum of the risks."""
        pairs = zip(self.weights.values(), self.designs(shares), strict=True)
        return math.fsum(weight * found.risk for weight, found in pairs)

    def together(self, shares: NDArray[np.float64]) -> float:
        """What all reports leak, as a share of the total level, in floats."""
        if isinstance(self.total, LDP):
            return float(np.sum(shares))
        kernels = [found.mechanism for found in self.designs(shares)]
        if self.total.uses_prior:
            assert self.known is not None
            over = self.known.restricted()
        else:
            over = Prior.uniform(list(product(*(kernel.inputs for kernel in kernels))))
        whole = np.ones((len(over), 1))
        for place, kernel in enumerate(kernels):
            row = {label: i for i, label in enumerate(kernel.inputs)}
            own = kernel.kernel[[row[label[place]] for label in over.labels]]
            if whole.size * own.shape[1] > MOST_ENTRIES:
                check_together(self.total, kernels, self.known)  # says that it is too large
            whole = (whole[:, :, None] * own[:, None, :]).reshape(len(over), -1)
        leaks = np.atleast_2d(self.total.leakage(whole, over)).max(axis=1)
        return float((leaks / np.array(self.total.levels)).max())

    def best(self, leak: Callable[[NDArray[np.float64]], float]) -> NDArray[np.float64]:
        """Shares of least risk among those whose ``leak`` is at most one."""
        ratios = np.ones(len(self))
        if len(self) <= _MOST_ON_GRID:
            grid = [np.array(point) for point in product(_GRID, repeat=len(self))]
            inside = [(self.risk(point), i) for i, point in enumerate(grid) if leak(point) <= 1]
            if inside:
                ratios = grid[min(inside)[1]]
        shares = self._scaled(ratios, leak, _CLOSE)
        least, step = self.risk(shares), _FIRST_STEP
        while step > _LAST_STEP:
            is_better = False
            for place in range(len(self)):
                for factor in (1 + step, 1 / (1 + step)):
                    turned = shares.copy()
                    turned[place] *= factor
                    other = self._scaled(turned, leak, _CLOSE)
                    risk = self.risk(other)
                    if risk < least * (1 - 1e-6):
                        shares, least, is_better = other, risk, True
            step = step if is_better else step / 2
        return self._filled(self._scaled(shares, leak, _FINAL), leak)

    def equal(self) -> NDArray[np.float64]:
        """Equal shares, as large as all reports together allow."""
        return self._scaled(np.ones(len(self)), self.together, _FINAL)

    def _scaled(
        self,
        ratios: NDArray[np.float64],
        leak: Callable[[NDArray[np.float64]], float],
        close: float,
    ) -> NDArray[np.float64]:
        """The shares in these ratios that leak just at most one; none of them is above one."""

        def at(scale: float) -> NDArray[np.float64]:
            return np.clip(ratios * scale, _LEAST_SHARE, 1.0)

        high = 1 / float(ratios.min())
        if leak(at(high)) <= 1:
            return at(high)
        # Shares that add up to less than a half leak less than one, in all but odd cases.
        low = 0.5 / float(ratios.sum())
        while leak(at(low)) > 1:
            high, low = low, low / 2
            if low * float(ratios.max()) < _LEAST_SHARE:
                raise CertificateError(
                    f"no split of {self.total} over {', '.join(self.priors)} was found that keeps "
                    "it; plan fewer columns, or ask for LDP."
                )
        while high - low > close * low:
            middle = math.sqrt(low * high)
            if leak(at(middle)) <= 1:
                low = middle
            else:
                high = middle
        return at(low)

    def _filled(
        self, shares: NDArray[np.float64], leak: Callable[[NDArray[np.float64]], float]
    ) -> NDArray[np.float64]:
        """Each share in turn as large as the others allow, for what a common factor left."""
        for place in np.argsort(shares):
            top = shares.copy()
            top[place] = 1.0
            if leak(top) <= 1:
                shares = top
                continue
            low, high = float(shares[place]), 1.0
            while high - low > _FINAL * low:
                top[place] = (low + high) / 2
                if leak(top) <= 1:
                    low = float(top[place])
                else:
                    high = float(top[place])
            shares = shares.copy()
            shares[place] = low
        return shares


def _checked(search: _Search, shares: NDArray[np.float64]) -> ColumnsPlan:
    """The plan with its exact check; shares shrink where rounding fails it."""
    check = None
    for retry in range(_RETRIES):
        factor = 1 - (0 if retry == 0 else _SAME * 2.0**retry)
        designs = search.designs(shares * factor)
        check = check_together(search.total, [d.mechanism for d in designs], search.known)
        if check.verdict is Verdict.YES:
            weights = tuple(search.weights.values())
            names = tuple(search.priors)
            total, known = search.total, search.known
            return ColumnsPlan(names, tuple(designs), weights, total, known, check)
    assert check is not None
    raise CertificateError(f"no split passed its exact check: {check.evidence}", (check,))


# Others that it is compared with


def _split(name: str, search: _Search, shares: NDArray[np.float64]) -> Split:
    designs = search.designs(shares)
    check = check_together(search.total, [d.mechanism for d in designs], search.known)
    levels = tuple(found.notions[0].levels for found in designs)
    return Split(name, levels, search.risk(shares), check.achieved)


def _joint(search: _Search, known: Prior, weights: Mapping[str, float]) -> list[Split]:
    """One kernel for all columns at once, for the same errors; none where no method finds it."""
    names: Sequence[str] = tuple(search.priors)
    each = [weights[name] for name in names for _ in search.priors[name].labels]
    try:
        found = design(known, Estimation(list(names), each), search.total)
    except (NoMethodError, SolverError):
        # It is compared only; the plan stands without it.
        return []
    return [Split("joint design", (), found.risk, found.certificate.checks[0].achieved)]

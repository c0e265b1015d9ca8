"""``plan_columns``: a total level split over columns for the least total risk."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import (
    CertificateError,
    DataError,
    InputError,
    LevelError,
    NoMethodError,
    SolverError,
    is_iterable,
    quote,
)
from ..exact import Verdict
from ..mechanism import warn_of_disclosure
from ..prior import Prior
from ..privacy import LDP, LikelihoodBound, PrivacyNotion
from ..program.problem import check_limit, designable, state_problem
from ..program.program import EstimationProgram
from ..progress import stage
from ..roots import crossings
from ..schema import Schema
from ..utility.estimation import Estimation
from ._design import Design, find_design
from .columns_plan import ColumnsPlan, Split, check_together, large_lifts, product_rows
from .estimation.method import relaxed_risk
from .product_lifts import leaks_in_floats

# Shares of the total level for which every column is designed first.
_TABLE = (0.02, 0.06, 0.15, 0.3, 0.5, 0.75, 1.0)
# A share moves by this factor where slopes are taken, and by no more than that one in a step.
_NUDGE, _FARTHEST = 1.15, 3.0
# A search ends when a step gains less, and after this many.
_GAIN, _STEPS = 5e-4, 12
# Shares that are no more apart are one; how far below the boundary a search may stay.
_SAME, _CLOSE, _FINAL = 1e-12, 2e-3, 1e-9
# Room that one share is given beside the others is looked for from here on.
_ROOM = 1e-4
_LEAST_SHARE = 1e-3
# Shares at which a model of the risk is looked at, and how far its price is sought in logarithms.
_FINE, _PRICES = 4000, 28.0
# Symbols up to which a joint design is made unasked.
_JOINT_SYMBOLS = 16
# Symbols of a column that a matrix is designed for.
_MOST_SYMBOLS = 100
# Symbols of a column above which a search goes by a relaxation: a design takes seconds to minutes.
_MOST_DESIGNED = 20
# Seconds for the design of a column of more than so many symbols where no limit is asked for: with
# 100 symbols ten times as many gain next to nothing.
_WIDE, _WIDE_LIMIT = 50, 5.0
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
    time_limit: float | None = None,
) -> ColumnsPlan:
    """Split a privacy level over several columns so that their frequencies take the fewest reports.

    Each column gets the kernel that estimates its frequencies best at its own level. The levels are
    those for which all reports of a person together have the total level, exactly, and the
    weighted sum of the risks is least, as far as a search over splits finds it. Of columns of more
    than 20 symbols the search takes the risks of relaxations, and their designs follow.

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
    time_limit : float, optional
        Seconds that each design may take, as for :func:`design`; of columns of more than 50 symbols
        5 when left out.

    Returns
    -------
    ColumnsPlan
        Kernels, levels and risks of the columns, the exact verdict on all reports together, and
        how other splits compare: equal shares, the best shares that add up to the total level,
        which under PML may leak more than that, and the joint design. Under LDP the risks of other
        splits are estimated for columns of more than 20 symbols.

    Raises
    ------
    InputError, LevelError
        For columns, weights and notions that cannot be used.
    DataError
        For tables as :meth:`mechdesign.Prior.from_data`, and where all reports together are too
        many to be checked.
    CertificateError
        When no split passes its exact check.
    NoMethodError
        For columns of more than 100 symbols.

    Examples
    --------
    >>> import mechdesign as md
    >>> both = md.Prior.from_csv("titanic", ["class", "sex"])
    >>> plan = md.plan_columns(both, {"class": 1, "sex": 1}, total=md.LDP(2))
    >>> plan.check.verdict, [round(level, 2) for (level,) in plan.levels.values()]
    (<Verdict.YES: 'yes'>, [1.24, 0.76])
    """
    known, priors, weights = _asked(data, columns, total, missing, max_symbols, bins)
    check_limit(time_limit)
    for name, prior in priors.items():
        if (symbols := len(prior.restricted())) > _MOST_SYMBOLS:
            raise InputError(
                f"column {quote(name)} of a plan",
                expected=f"at most {_MOST_SYMBOLS} symbols",
                got=f"{symbols:,}",
                remedy="put numbers into bins, group rare symbols under one name, or design for it "
                "alone (md.design), for any number of symbols under LDP",
            )
    if all(len(prior.restricted()) == 1 for prior in priors.values()):
        raise DataError(
            "columns of a plan",
            expected="some column of several values",
            got="one value in each",
            remedy="name other columns, as these hold no secret",
        )
    search = _Search(priors, weights, total, known, time_limit)
    shares = search.best(search.together)
    plan = _checked(search, shares)
    for name, found in zip(plan.names, plan.designs, strict=True):
        warn_of_disclosure(found.mechanism, found.prior, f"column {quote(name)}: ")
    added = shares  # levels of LDP add up
    if not isinstance(total, LDP):
        added = search.best(lambda found: float(np.sum(found)))
    others = [
        _split("equal split", search, search.equal(), plan),
        _split("additive split", search, added, plan),
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
    time_limit: float | None = None
    made: dict[tuple[int, float], Design] = field(default_factory=dict)
    relaxed: dict[tuple[int, float], float] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.priors)

    def design(self, place: int, share: float) -> Design:
        """The design of a column for a share of the total level."""
        key = (place, self._kept(share))
        if key not in self.made:
            prior, limit = list(self.priors.values())[place], self.time_limit
            if limit is None and len(prior.restricted()) > _WIDE:
                limit = _WIDE_LIMIT
            notion = self._notion(share)
            name, number = list(self.priors)[place], len(self.made) + 1
            with stage(f"design {number}, of {quote(name)}", limit=check_limit(limit)):
                self.made[key] = find_design(prior, Estimation(), notion, time_limit=limit)
        return self.made[key]

    def _kept(self, share: float) -> float:
        return min(max(share, _LEAST_SHARE), 1.0)

    def _notion(self, share: float) -> PrivacyNotion:
        """A share of the total level."""
        kept = self._kept(share)
        return self.total.with_levels(*(kept * level for level in self.total.levels))

    def is_large(self, place: int) -> bool:
        """Whether the risk of a column is that of a relaxation while shares are searched."""
        return len(list(self.priors.values())[place].restricted()) > _MOST_DESIGNED

    def risk_at(self, place: int, share: float) -> float:
        """The risk of a column for a share of the total level: of its design, or for large columns
        of a relaxation.
        """
        key = (place, self._kept(share))
        if self.is_large(place) and key not in self.relaxed:
            prior = list(self.priors.values())[place]
            problem = designable(
                state_problem(prior, Estimation(), self._notion(share), None, None, ())
            )
            program = problem.program
            assert isinstance(program, EstimationProgram)
            found = relaxed_risk(program)
            self.relaxed[key] = self.design(*key).risk if found is None else found
        return self.relaxed[key] if key in self.relaxed else self.design(*key).risk

    def designs(self, shares: NDArray[np.float64]) -> list[Design]:
        """The design of each column."""
        return [self.design(i, float(share)) for i, share in enumerate(shares)]

    def risk(self, shares: NDArray[np.float64]) -> float:
        """The weighted sum of the risks."""
        weights = enumerate(self.weights.values())
        return math.fsum(weight * self.risk_at(i, float(shares[i])) for i, weight in weights)

    def together(self, shares: NDArray[np.float64]) -> float:
        """What all reports leak, as a share of the total level, in floats."""
        if isinstance(self.total, LDP):
            return float(np.sum(shares))
        kernels = [found.mechanism for found in self.designs(shares)]
        lifts = None if self.known is None else large_lifts(kernels, self.known)
        if lifts is not None and (told := leaks_in_floats(self.total, lifts)) is not None:
            return max(leak / level for leak, level in zip(told, self.total.levels, strict=True))
        if self.total.uses_prior:
            assert self.known is not None
            over = self.known.restricted()
        else:
            over = Prior.uniform(list(product(*(kernel.inputs for kernel in kernels))))
        whole = product_rows(kernels, over.labels, [kernel.kernel for kernel in kernels])
        leaks = np.atleast_2d(self.total.leakage(whole, over)).max(axis=1)
        return float((leaks / np.array(self.total.levels)).max())

    def best(self, leak: Callable[[NDArray[np.float64]], float]) -> NDArray[np.float64]:
        """Shares of least risk among those whose ``leak`` is at most one.

        Each step takes ``leak`` as linear between the shares and those a nudge away, and the risk
        of a column as a power of its share between those that were designed; the best shares of
        that model are scaled to what may be leaked, and kept where their risk is smaller.
        """
        k = len(self)
        shares = self._scaled(self._modelled(np.zeros(k), np.ones(k), 1.0, None), leak, _CLOSE)
        least, reach = self.risk(shares), _FARTHEST
        for _ in range(_STEPS):
            now = leak(shares)
            slopes = np.empty(k)
            for place in range(k):
                turned = shares.copy()
                # Down from the whole level.
                turned[place] *= _NUDGE if shares[place] * _NUDGE <= 1 else 1 / _NUDGE
                step = turned[place] - shares[place]
                slopes[place] = max((leak(turned) - now) / step, 1e-3)
            chosen = self._modelled(shares, slopes, 1 - now, reach)
            other = self._scaled(chosen, leak, _CLOSE)
            risk = self.risk(other)
            if risk < least * (1 - _GAIN):
                shares, least = other, risk
            elif reach > _NUDGE:
                # The model is believed less far away; what was designed on the way improves it.
                reach = 1 + (reach - 1) / 4
            else:
                break
        return self._filled(self._scaled(shares, leak, _FINAL), leak)

    def _modelled(
        self,
        shares: NDArray[np.float64],
        slopes: NDArray[np.float64],
        room: float,
        reach: float | None,
    ) -> NDArray[np.float64]:
        """Shares of least risk in a model where moving them from ``shares`` leaks ``slopes`` more,
        ``room`` in all, each by a factor of at most ``reach``.

        The risk is a sum over columns, so that each minimises its own with a price on what it
        leaks; the price is the root of a monotone function.
        """
        grids, risks = [], []
        for place, weight in enumerate(self.weights.values()):
            least, most = _LEAST_SHARE, 1.0
            if reach is not None:
                least = max(float(shares[place]) / reach, least)
                most = min(float(shares[place]) * reach, most)
            grid = np.geomspace(least, most, _FINE)
            grids.append(grid)
            risks.append(weight * self._risk_of(place, grid))

        def cheapest(price: float) -> NDArray[np.float64]:
            best = [
                grid[np.argmin(risk + price * slope * grid)]
                for grid, risk, slope in zip(grids, risks, slopes, strict=True)
            ]
            return np.array(best)

        def left(logs: NDArray[np.float64], _: Any) -> NDArray[np.float64]:
            return np.array([room - slopes @ (cheapest(math.exp(x)) - shares) for x in logs])

        usual = max(float(risk.min() / grid[-1]) for grid, risk in zip(grids, risks, strict=True))
        high, low = math.log(usual) + np.array([[_PRICES], [-_PRICES]])
        return cheapest(float(np.exp(crossings(left, high, low, 1e-12)[0])))

    def _risk_of(self, place: int, shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """The risk of a column at shares, between those of its designs as powers of the share."""
        for share in _TABLE:
            self.risk_at(place, share)
        if self.is_large(place):
            known = sorted((share, risk) for (p, share), risk in self.relaxed.items() if p == place)
        else:
            known = sorted((share, d.risk) for (p, share), d in self.made.items() if p == place)
        if not any(risk for _, risk in known):
            return np.zeros(len(shares))  # a column of one value, whose share is known
        # Straight in logarithms, as risks fall about as the square of a level; beyond them, too.
        x, y = np.log([share for share, _ in known]), np.log([risk for _, risk in known])
        at = np.log(shares)
        first = y[0] + (at - x[0]) * (y[1] - y[0]) / (x[1] - x[0])
        return np.asarray(np.exp(np.where(at < x[0], first, np.interp(at, x, y))))

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

        highest = 1 / float(ratios.min())
        start = min(0.98 / float(ratios.max()), 0.98)
        least = _LEAST_SHARE / float(ratios.max())
        found = _largest(lambda scale: leak(at(scale)), start, least, highest, close)
        if found is None:
            raise CertificateError(
                f"no split of {self.total} over {', '.join(self.priors)} was found that keeps "
                "it; plan fewer columns, or ask for LDP."
            )
        return at(found)

    def _filled(
        self, shares: NDArray[np.float64], leak: Callable[[NDArray[np.float64]], float]
    ) -> NDArray[np.float64]:
        """Each share in turn as large as the others allow, for what a common factor left."""

        def at(place: int, share: float) -> NDArray[np.float64]:
            other = shares.copy()
            other[place] = share
            return other

        def leak_of(place: int, share: float) -> float:
            return leak(at(place, share))

        for place in np.argsort(shares).tolist():
            own = float(shares[place])
            if own * (1 + _ROOM) < 1 and leak(at(place, own * (1 + _ROOM))) > 1:
                continue
            found = _largest(partial(leak_of, place), own, own, 1.0, _FINAL)
            shares = shares if found is None else at(place, found)
        return shares


def _largest(
    leak: Callable[[float], float], start: float, least: float, most: float, close: float
) -> float | None:
    """The largest number from ``least`` to ``most`` at which an increasing function is at most one,
    up to a share of it; ``None`` where there is none.
    """

    def room(low: float, logs: NDArray[np.float64], _: Any) -> NDArray[np.float64]:
        """What is left at so many logarithms above a number."""
        found = [leak(min(low * math.exp(x), most)) for x in logs]
        return np.array([-math.log(max(value, 1e-300)) - close / 2 for value in found])

    for low in dict.fromkeys((min(max(start, least), most), least)):
        above, inside, outside = partial(room, low), np.zeros(1), np.log([most / low])
        if above(inside, None)[0] > -close / 2:
            width = float(outside[0]) or 1.0
            found = crossings(above, inside, outside, close / 8 / width)
            return min(low * math.exp(found[0]), most)
    return None


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
            return ColumnsPlan(names, tuple(designs), total, known, check, weights)
    assert check is not None
    raise CertificateError(f"no split passed its exact check: {check.evidence}", (check,))


# Others that it is compared with


def _split(name: str, search: _Search, shares: NDArray[np.float64], plan: ColumnsPlan) -> Split:
    """Another split. Where levels add up, the risks of its large columns are those of relaxations,
    times what the design of the plan has more than its own.
    """
    estimated = [isinstance(search.total, LDP) and search.is_large(i) for i in range(len(search))]
    if not any(estimated):
        designs = search.designs(shares)
        check = check_together(search.total, [d.mechanism for d in designs], search.known)
        levels = tuple(found.notions[0].levels for found in designs)
        risks = [found.risk for found in designs]
        return Split(name, levels, _weighted(search, risks), check.achieved)
    risks, total = list[float](), search.total.levels[0]
    for i, (share, own) in enumerate(zip(shares.tolist(), plan.designs, strict=True)):
        risk = search.risk_at(i, share)
        if estimated[i]:
            risk *= own.risk / search.risk_at(i, own.notions[0].levels[0] / total)
        risks.append(risk)
    levels = tuple((float(share) * total,) for share in shares)
    whole = math.fsum(level for own in levels for level in own)
    return Split(name, levels, _weighted(search, risks), (whole,))


def _weighted(search: _Search, risks: Sequence[float]) -> float:
    pairs = zip(search.weights.values(), risks, strict=True)
    return math.fsum(weight * risk for weight, risk in pairs)


def _joint(search: _Search, known: Prior, weights: Mapping[str, float]) -> list[Split]:
    """One kernel for all columns at once, for the same errors; none where no method finds it."""
    names: Sequence[str] = tuple(search.priors)
    each = [weights[name] for name in names for _ in search.priors[name].labels]
    try:
        found = find_design(known, Estimation(list(names), each), search.total)
    except (NoMethodError, SolverError):
        # It is compared only; the plan stands without it.
        return []
    return [Split("joint design", (), found.risk, found.certificate.checks[0].achieved)]

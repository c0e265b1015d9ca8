"""``estimate_joint``: two secrets of the same people, each reported by its own mechanism."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, InputError, PrecisionWarning, UnknownNameError, quote, warn
from ..labels import Label, listing, short_names
from ..mechanism import mechanism_of
from ..solve.columns_plan import KernelPlan
from ..utility.questions import Question
from ._estimate import (
    bootstrap_options,
    check_options,
    judge_fit,
    limits,
    normal_limits,
    whole_numbers,
)
from ._identifiability import ask_as_designed, report_weights
from .counts import count_pairs
from ..inference.likelihood import Convergence, fit_of, maximise, maximise_pair
from .receipts import trace
from .references import reference_of


@dataclass(frozen=True)
class TableEstimate:
    """Estimated numbers in a table: joint or conditional frequencies of two secrets.

    Attributes
    ----------
    rows, columns : labels
    values, errors, lower, upper : ``(R, C)`` estimates, standard errors, confidence limits
    """

    rows: tuple[Label, ...]
    columns: tuple[Label, ...]
    values: NDArray[np.float64]
    errors: NDArray[np.float64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]

    def records(self) -> list[dict[str, Any]]:
        """One plain dictionary for each cell."""
        return [
            {
                "row": row,
                "column": column,
                "estimate": float(self.values[i, j]),
                "error": float(self.errors[i, j]),
                "lower": float(self.lower[i, j]),
                "upper": float(self.upper[i, j]),
            }
            for i, row in enumerate(self.rows)
            for j, column in enumerate(self.columns)
        ]

    def __repr__(self) -> str:
        names = short_names(self.rows, 24)
        head = " " * 26 + "".join(f"{name:>18}" for name in short_names(self.columns, 15))
        lines = [
            f"{names[i]:<26}"
            + "".join(
                f"{value:9.4f} ±{error:.4f} "
                for value, error in zip(self.values[i], self.errors[i], strict=True)
            ).rstrip()
            for i in range(len(self.rows))
        ]
        return "\n".join(["frequencies ± one standard error", head.rstrip(), *lines])


@dataclass(frozen=True, repr=False)
class JointEstimate(TableEstimate):
    """Joint frequencies of two secrets.

    Attributes
    ----------
    names : of the two columns
    reports : number of people
    convergence : of the maximisation of the likelihood, with the proven gap
    distribution : ``(N1, N2)`` of largest likelihood over all pairs of symbols
    note : what could not be told of where the reports came from, or nothing
    """

    names: tuple[str, str]
    reports: int
    method: str
    intervals: str
    confidence: float
    target: str
    convergence: Convergence
    distribution: NDArray[np.float64]
    _parts: Any = field(default=None)
    note: str = ""

    def __repr__(self) -> str:
        shown = super().__repr__()
        return f"{shown}\n{self.note}" if self.note else shown

    def marginal(self, name: str) -> TableEstimate:
        """Frequencies of one of the two secrets, or what else is asked of it, from its own reports,
        in one column.

        Raises :class:`UnknownNameError` for another name.
        """
        if name not in self.names:
            raise UnknownNameError("column", name, self.names)
        values, rows, parts = self.values, self.rows, self._parts
        if name != self.names[0]:
            values, rows, parts = values.T, self.columns, parts.turned()
        total, v = parts.totals(values), parts.v[0]
        variance = parts.marginal()
        if self.target == "sample":
            secrets, one = parts.secrets, parts.ones[1]
            told = v.T @ secrets @ one
            variance = variance + told**2 - (v**2).T @ secrets @ one**2
        errors = np.sqrt(np.maximum(variance, 0) / self.reports)
        ends = normal_limits(total, errors, self.confidence)
        found = (total, errors, *(np.clip(end, v.min(axis=0), v.max(axis=0)) for end in ends))
        return TableEstimate(rows, (name,), *(part[:, None] for part in found))

    def conditional(self, given: str) -> TableEstimate:
        """Frequencies of the other secret given each value of one, with delta-method intervals.

        Parameters
        ----------
        given : name of the column that is known; its values are the rows of the result

        Returns
        -------
        TableEstimate
            Without the values that the reports do not show to occur (an estimate below its own
            standard error), which a :class:`PrecisionWarning` names.

        Raises
        ------
        UnknownNameError
            For another name.
        DataError
            When no value is left, and when what is given is asked for other sums than shares.
        """
        if given not in self.names:
            raise UnknownNameError("column that is given", given, self.names)
        values, rows, columns, parts = self.values, self.rows, self.columns, self._parts
        if given != self.names[0]:
            values, rows, columns, parts = values.T, columns, rows, parts.turned()
        if not np.isin(parts.v[0], (0, 1)).all():
            raise DataError(
                f"condition on {quote(given)}",
                expected="shares of its values, or of groups of them",
                got=f"other weighted sums, {listing(rows)}",
                remedy="pass a feature of groups (--feature), or condition on the other column",
            )
        total = parts.totals(values)
        known = total > np.sqrt(parts.marginal() / self.reports)
        absent = [row for row, there in zip(rows, known, strict=True) if not there]
        if not known.any():
            raise DataError(
                f"condition on {quote(given)}",
                expected="values that the reports show to occur",
                got="none",
                remedy="collect more reports",
            )
        if absent:
            warn(
                f"nothing can be said given {listing(absent)}: the reports do not show that "
                f"{'it occurs' if len(absent) == 1 else 'they occur'}; collect more, or merge "
                "values in a feature",
                PrecisionWarning,
            )
        ratio = values[known] / total[known, None]
        variance = parts.conditional(ratio, total[known], known)
        errors = np.sqrt(np.maximum(variance, 0) / self.reports)
        lower, upper = normal_limits(ratio, errors, self.confidence)
        rows = tuple(row for row, there in zip(rows, known, strict=True) if there)
        low, high = parts.v[1].min(axis=0), parts.v[1].max(axis=0)
        limits = np.clip(lower, low, high), np.clip(upper, low, high)
        return TableEstimate(rows, columns, ratio, errors, *limits)


@dataclass(frozen=True)
class _Parts:
    """What variances are made of: weights on reports and on symbols, both distributions, and the
    answers about each secret alone.
    """

    a: tuple[NDArray[np.float64], NDArray[np.float64]]
    v: tuple[NDArray[np.float64], NDArray[np.float64]]
    reports: NDArray[np.float64]
    secrets: NDArray[np.float64]
    target: str
    alone: tuple[NDArray[np.float64], NDArray[np.float64]]

    @property
    def ones(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Weights on the reports of the second secret, and on its symbols, whose mean is one: sums
        over its values, where each symbol has exactly one.
        """
        b, w = self.a[1], self.v[1]
        if self.has_values:
            return b.sum(axis=1), w.sum(axis=1)
        return np.ones(len(b)), np.ones(len(w))

    @property
    def has_values(self) -> bool:
        """Whether each symbol of the second secret has exactly one of the values asked for."""
        w = self.v[1]
        return bool(np.isin(w, (0, 1)).all() and (w.sum(axis=1) == 1).all())

    def totals(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """What is told of the first secret alone: sums over the values of the second, if it has."""
        return values.sum(axis=1) if self.has_values else self.alone[0]

    def joint(self) -> NDArray[np.float64]:
        """Variance of one person's contribution to each cell."""
        (a, b), (v, w) = self.a, self.v
        second = (a**2).T @ self.reports @ b**2
        if self.target == "population":
            return second - (v.T @ self.secrets @ w) ** 2
        return second - (v**2).T @ self.secrets @ w**2

    def turned(self) -> _Parts:
        """The same with the second column first."""
        pairs = self.a[::-1], self.v[::-1]
        return _Parts(*pairs, self.reports.T, self.secrets.T, self.target, self.alone[::-1])

    def marginal(self) -> NDArray[np.float64]:
        """Variance of one person's contribution to the frequency of each value of the first."""
        a, v, (b, w) = self.a[0], self.v[0], self.ones
        mean = v.T @ self.secrets @ w
        return np.maximum((a**2).T @ self.reports @ b**2 - mean**2, 0)

    def conditional(
        self, ratio: NDArray[np.float64], total: NDArray[np.float64], known: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        """The same for a_i (b_j − r_ij Σ_j b_j) / P_i, to first order the error of r_ij."""
        (a, b), (v, w), (one, same) = self.a, self.v, self.ones
        found = _squares(a[:, known], b, one, self.reports, ratio)
        if self.target == "sample":
            found -= _squares(v[:, known], w, same, self.secrets, ratio)
        return found / total[:, None] ** 2


def _squares(
    a: NDArray[np.float64],
    b: NDArray[np.float64],
    total: NDArray[np.float64],
    mass: NDArray[np.float64],
    ratio: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Σ mass · a_i² (b_j − r_ij t)² for each i and j, with totals t, such as Σ_j b_j."""
    rows = (a**2).T @ mass
    squares, cross, level = rows @ b**2, rows @ (b * total[:, None]), rows @ total**2
    return squares - 2 * ratio * cross + ratio**2 * level[:, None]


def estimate_joint(
    reports: Any,
    mechanisms: Any,
    columns: Sequence[str] = ("first", "second"),
    *,
    method: str = "inversion",
    features: Sequence[Any] = (None, None),
    by: str = "symbols",
    intervals: str = "delta",
    confidence: float = 0.95,
    target: str = "population",
    missing: str = "error",
    resamples: int = 500,
    rng: Any = None,
    receipts: Sequence[Any] = (None, None),
    misfit: str = "error",
) -> JointEstimate:
    """Joint frequencies of two secrets that were privatised independently of each other.

    Parameters
    ----------
    reports : table with both columns, or mapping from pairs of outputs to counts
    mechanisms : the two that made the reports, in the order of the columns; or the plan that did
    columns : their names; of a plan two of its columns, its own when left out
    features : for each column a function or mapping that groups its symbols, or ``None``: what
        its design asks, where it is one for questions (``of``), else every frequency
    method, by, intervals, confidence, target, missing, resamples, rng, misfit : as in
        :func:`estimate`; each column must fit its mechanism
    receipts : a receipt for each column, as in :func:`estimate`, or ``None``

    Returns
    -------
    JointEstimate
        With :meth:`JointEstimate.conditional` for one secret given the other, and
        :meth:`JointEstimate.marginal` for one alone.

    Raises
    ------
    DataError, InputError, UnknownNameError
        As :func:`estimate`.

    Examples
    --------
    >>> import mechdesign as md
    >>> flip = md.Mechanism([[.75, .25], [.25, .75]], ["no", "yes"], ["no", "yes"])
    >>> table = {("no", "no"): 540, ("no", "yes"): 340, ("yes", "no"): 340, ("yes", "yes"): 380}
    >>> found = md.estimate_joint(table, [flip, flip])
    >>> found.values.round(4)
    array([[0.5, 0.1],
           [0.1, 0.3]])
    >>> found.conditional("first").values[1].round(4)
    array([0.25, 0.75])
    """
    if isinstance(mechanisms, KernelPlan):
        columns = mechanisms.names if tuple(columns) == ("first", "second") else columns
        mechanisms = [mechanisms[str(name)] for name in columns]
    for what, two in (
        ("mechanisms", mechanisms),
        ("columns", columns),
        ("features", features),
        ("receipts", receipts),
    ):
        if isinstance(two, str) or not isinstance(two, Sequence) or len(two) != 2:
            raise InputError(
                "joint estimate",
                expected=f"two {what} in a list",
                got=str(len(two)) if isinstance(two, (list, tuple)) else type(two).__name__,
                remedy="estimate other columns one by one",
            )
    if columns[0] == columns[1]:
        raise InputError(
            "joint estimate",
            expected="two different columns",
            got=f"{quote(columns[0])} twice",
            remedy="name the column of each mechanism",
        )
    check_options(method, intervals, target, misfit, confidence)
    resamples, generator = bootstrap_options(resamples, rng)
    kernels = [mechanism_of(m) for m in mechanisms]
    pairs = zip(mechanisms, features, strict=True)
    questions = [ask_as_designed(designed, feature, by) for designed, feature in pairs]
    counts = count_pairs(reports, kernels, columns, missing)
    n = int(counts.sum())
    f = counts / n
    notes = []
    for k, mechanism in enumerate(kernels):
        name = f"reports in column {columns[k]!r}"
        one = f.sum(axis=1 - k)
        likely, gap, _ = maximise(mechanism.kernel, one[None, :])
        judge_fit(fit_of(mechanism.kernel, one, likely[0], n, float(gap[0])), misfit, name)
        notes.append(trace(reports, columns[k], mechanism, receipts[k], n, name)[1])
    left, right = kernels[0].kernel, kernels[1].kernel
    p, convergence = maximise_pair(left, right, f)
    references = [p.sum(axis=1), p.sum(axis=0)]
    if method == "inversion":
        references = [reference_of(m, k) for m, k in zip(mechanisms, kernels, strict=True)]
    a, b = (report_weights(k, q, r) for k, q, r in zip(kernels, questions, references, strict=True))
    v, w = questions[0].weights, questions[1].weights
    alone = (a.T @ f.sum(axis=1), b.T @ f.sum(axis=0))
    if method == "likelihood":
        alone = (v.T @ p.sum(axis=1), w.T @ p.sum(axis=0))
    parts = _Parts((a, b), (v, w), left.T @ p @ right, p, target, alone)
    errors = np.sqrt(np.maximum(parts.joint(), 0) / n)
    straight, centre = a.T @ f @ b, v.T @ p @ w
    again = None
    if intervals == "bootstrap":
        again = _simulate(parts, left, right, n, method, resamples, generator)
    errors, lower, upper = limits(straight, centre, errors, again, method, confidence)
    low, high = _range(questions)
    return JointEstimate(
        questions[0].labels,
        questions[1].labels,
        straight if method == "inversion" else centre,
        errors,
        np.clip(lower, low, high),
        np.clip(upper, low, high),
        (str(columns[0]), str(columns[1])),
        n,
        method,
        intervals,
        confidence,
        target,
        convergence,
        p,
        parts,
        "; ".join(filter(None, notes)),
    )


def _range(questions: Sequence[Question]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Smallest and largest value that each cell can have."""
    ends = [np.stack([q.weights.min(axis=0), q.weights.max(axis=0)]) for q in questions]
    corners = ends[0][:, None, :, None] * ends[1][None, :, None, :]
    return corners.min(axis=(0, 1)), corners.max(axis=(0, 1))


def _simulate(
    parts: _Parts,
    left: NDArray[np.float64],
    right: NDArray[np.float64],
    n: int,
    method: str,
    resamples: int,
    generator: np.random.Generator,
) -> NDArray[np.float64]:
    """Estimates ``(B, R, C)`` from tables simulated at the distribution of largest likelihood."""
    (a, b), (v, w), p = parts.a, parts.v, parts.secrets
    shape, q = parts.reports.shape, parts.reports.ravel()
    people = whole_numbers((p * n).ravel()).reshape(p.shape)
    found = []
    for _ in range(resamples):
        if parts.target == "population":
            f = generator.multinomial(n, q / q.sum()).reshape(shape) / n
        else:
            drawn = np.zeros(shape)
            for i, j in np.argwhere(people > 0):
                pair = np.outer(left[i], right[j]).ravel()
                drawn += generator.multinomial(people[i, j], pair / pair.sum()).reshape(shape)
            f = drawn / n
        if method == "inversion":
            found.append(a.T @ f @ b)
        else:
            found.append(v.T @ maximise_pair(left, right, f)[0] @ w)
    return np.stack(found)

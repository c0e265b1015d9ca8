"""``estimate_joint``: two secrets of the same people, each reported by its own mechanism."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, InputError, PrecisionWarning, UnknownNameError, quote, warn
from ..labels import Label, listing, short_names
from ..mechanism import Mechanism, mechanism_of
from ..release._identifiability import ask_as_designed, report_weights
from ..release.receipts import trace
from ..release.reports import sample_of
from ..solve.columns_plan import KernelPlan, product_kernel
from ..utility.questions import Question
from ._estimate import AskedReports, bootstrap_options, check_options, covariances, judge_fit
from .intervals import Answers, Sampling
from .likelihood import Convergence, fit_of, maximise, maximise_pair
from .many import product_path
from .observed import Observed
from .references import reference_of, refuse_other_than
from .results import joined_notes

Vector = NDArray[np.float64]

# Entries of the two kernels together up to which they are one kernel.
_MOST_ENTRIES = 40_000


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
        names = ("estimate", "error", "lower", "upper")
        parts = (self.values, self.errors, self.lower, self.upper)
        return [
            {"row": row, "column": column}
            | {name: float(part[i, j]) for name, part in zip(names, parts, strict=True)}
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
    distribution: Vector
    asked: _Pair
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
        k = self.names.index(name)
        one = self.asked.alone(k)
        errors = np.sqrt(np.maximum(np.diagonal(one.covariance), 0))
        values = one.estimates
        if self.method == "likelihood":
            values = self.distribution.sum(axis=1 - k) @ self.asked.values[k]
        found = values, errors, *one.answers().limits(1 - self.confidence)
        rows = self.columns if k else self.rows
        return TableEstimate(rows, (name,), *(part[:, None] for part in found))

    def conditional(self, given: str) -> TableEstimate:
        """Frequencies of the other secret given each value of one.

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
        pair, values, rows, columns = self.asked, self.values, self.rows, self.columns
        if given != self.names[0]:
            pair, values, rows, columns = pair.turned(), values.T, columns, rows
        if not np.isin(pair.values[0], (0, 1)).all():
            raise DataError(
                f"condition on {quote(given)}",
                expected="shares of its values, or of groups of them",
                got=f"other weighted sums, {listing(rows)}",
                remedy="pass a feature of groups (--feature), or condition on the other column",
            )
        one = pair.alone(0)
        total = one.estimates
        if self.method == "likelihood":
            total = pair.likely.sum(axis=1) @ pair.values[0]
        known = total > np.sqrt(np.maximum(np.diagonal(one.covariance), 0))
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
        ratios = values[known] / total[known, None]
        found = pair.ratios(known, ratios, total, 1 - self.confidence)
        rows = tuple(row for row, there in zip(rows, known, strict=True) if there)
        return TableEstimate(rows, columns, ratios, *found)


@dataclass(frozen=True, eq=False)
class _Pair:
    """Reports in two columns, with scores of each.

    Attributes
    ----------
    kernels, scores, values : of each column, ``(N, M)``, ``(M, F)`` and ``(N, F)``
    frequencies, likely : ``(M1, M2)`` of reports, and ``(N1, N2)`` of largest likelihood
    sampling : how reports came to be
    """

    kernels: tuple[Vector, Vector]
    scores: tuple[Vector, Vector]
    values: tuple[Vector, Vector]
    frequencies: Vector
    likely: Vector
    sampling: Sampling

    def turned(self) -> _Pair:
        """The same with the second column first."""
        both = (self.kernels[::-1], self.scores[::-1], self.values[::-1])
        return _Pair(*both, self.frequencies.T, self.likely.T, self.sampling)

    def alone(self, k: int) -> Observed:
        """The reports of one column."""
        p = self.likely.sum(axis=1 - k)
        parts = self.kernels[k], self.scores[k], self.values[k]
        noise, spread = covariances(*parts, p)
        covariance = (noise + (1 - self.sampling.fraction) * spread) / self.sampling.size
        f = self.frequencies.sum(axis=1 - k)
        kernel, scores, values = parts
        return Observed(kernel, f, p, scores, values, self.sampling, covariance)

    @property
    def is_small(self) -> bool:
        """Whether both kernels are one that is worked with."""
        return self.kernels[0].size * self.kernels[1].size <= _MOST_ENTRIES

    def errors(self, ratios: Vector | None = None) -> Vector:
        """Standard errors ``(F1, F2)`` of cells, or of ratios to the first secret's shares, times
        these shares.
        """
        (a, b), (v, w) = self.scores, self.values
        reports = self.kernels[0].T @ self.likely @ self.kernels[1]
        found = _squares(a, b, reports, ratios)
        if self.sampling.fraction:
            found = found - _squares(v, w, self.likely, ratios)
        elif ratios is None:
            found = found - (v.T @ self.likely @ w) ** 2
        return np.asarray(np.sqrt(np.maximum(found, 0) / self.sampling.size))

    def limits(self, alpha: float) -> tuple[Vector, Vector]:
        """Ends of the intervals of all cells, ``(F1, F2)``, of two large kernels."""
        (a, b), (v, w) = self.scores, self.values
        margins = [self.likely.sum(axis=1), self.likely.sum(axis=0)]
        path = product_path(self.kernels, (v, w), (a, b), margins)
        cells = (a.T @ self.frequencies @ b).ravel()
        lower, upper = Answers(cells, path, self.sampling).limits(alpha)
        shape = (a.shape[1], b.shape[1])
        return lower.reshape(shape), upper.reshape(shape)

    def ratios(
        self, known: NDArray[np.bool_], ratios: Vector, total: Vector, alpha: float
    ) -> tuple[Vector, Vector, Vector]:
        """Errors and interval ends of ratios of cells to the shares of known values of the first.

        Of large kernels the ends are those that cells and shares leave with half the risk each.
        """
        whole = np.zeros((len(known), ratios.shape[1]))
        whole[known] = ratios
        errors = (self.errors(whole) / np.where(known, total, 1)[:, None])[known]
        (a, b), (v, w) = self.scores, self.values
        if not self.is_small:
            ends = [self.limits(alpha / 2), self.alone(0).answers().limits(alpha / 2)]
            (low, high), (least, most) = ends
            with np.errstate(divide="ignore", invalid="ignore"):
                lower = np.where(most > 0, low.T / most, 0).T[known]
                upper = np.where(least > 0, high.T / least, 1).T[known]
            return errors, np.minimum(lower, ratios), np.maximum(np.clip(upper, 0, 1), ratios)
        ones = [np.ones((len(part), 1)) for part in (b, w)]
        scores = np.hstack([np.kron(a, b), np.kron(a, ones[0])])
        values = np.hstack([np.kron(v, w), np.kron(v, ones[1])])
        kernel = _product(self.kernels)
        noise, spread = covariances(kernel, scores, values, self.likely.ravel())
        covariance = (noise + (1 - self.sampling.fraction) * spread) / self.sampling.size
        observed = Observed(
            kernel,
            self.frequencies.ravel(),
            self.likely.ravel(),
            scores,
            values,
            self.sampling,
            covariance,
        )
        cells = [
            i * w.shape[1] + j for i in np.flatnonzero(known).tolist() for j in range(w.shape[1])
        ]
        shares = v.shape[1] * w.shape[1] + np.repeat(np.flatnonzero(known), w.shape[1])
        eye = np.eye(scores.shape[1])
        _, _, lower, upper = observed.ratios(eye[:, cells], eye[:, shares], alpha)
        lower, upper = lower.reshape(ratios.shape), upper.reshape(ratios.shape)
        return errors, np.minimum(lower, ratios), np.maximum(upper, ratios)


def _product(pair: tuple[Vector, Vector]) -> Vector:
    """Entries of two matrices for all pairs of their rows and columns."""
    return np.asarray(np.kron(*pair), dtype=float)


def _squares(a: Vector, b: Vector, mass: Vector, ratios: Vector | None) -> Vector:
    """Σ mass · a_i² (b_j − r_ij)² for each i and j, with r = 0 where left out."""
    rows = (a**2).T @ mass
    found = rows @ b**2
    if ratios is not None:
        found = found - 2 * ratios * (rows @ b) + ratios**2 * rows.sum(axis=1, keepdims=True)
    return np.asarray(found)


def estimate_joint(
    reports: Any,
    mechanisms: Any,
    columns: Sequence[str] = ("first", "second"),
    *,
    method: str = "inversion",
    features: Sequence[Any] = (None, None),
    by: str = "symbols",
    intervals: str = "binomial",
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

        Tables of more than 14 values in each column have binomial intervals alone, which take
        the secrets of those outside of a cell to be what each column alone says.

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
    bootstrap = bootstrap_options(resamples, rng)
    kernels = [mechanism_of(m) for m in mechanisms]
    pairs = zip(mechanisms, features, strict=True)
    questions = [ask_as_designed(designed, feature, by) for designed, feature in pairs]
    named = dict(zip(map(str, columns), kernels, strict=True))
    sample = sample_of(reports, named, (), missing)
    counts, n = sample.tally(*(len(kernel.outputs) for kernel in kernels)), sample.size
    f = counts / n
    notes = []
    for k, mechanism in enumerate(kernels):
        name = f"reports in column {columns[k]!r}"
        one = f.sum(axis=1 - k)
        likely, gap, _ = maximise(mechanism.kernel, one[None, :])
        judge_fit(fit_of(mechanism.kernel, one, likely[0], n, float(gap[0])), misfit, name)
        notes.append(trace(reports, columns[k], mechanism, receipts[k], n, name)[1])
    p, convergence = maximise_pair(kernels[0].kernel, kernels[1].kernel, f)
    references = [p.sum(axis=1), p.sum(axis=0)]
    if method == "inversion":
        references = [reference_of(m, k) for m, k in zip(mechanisms, kernels, strict=True)]
    scores = [
        report_weights(k, q, r) for k, q, r in zip(kernels, questions, references, strict=True)
    ]
    sampling = Sampling(n, fraction=float(target == "sample"))
    pair = _Pair(
        (kernels[0].kernel, kernels[1].kernel),
        (scores[0], scores[1]),
        (questions[0].weights, questions[1].weights),
        f,
        p,
        sampling,
    )
    options: dict[str, Any] = {
        "method": method,
        "intervals": intervals,
        "confidence": confidence,
        "target": target,
    }
    made: dict[str, Any] = {"errors": pair.errors()}
    if pair.is_small:
        made = _of_one_kernel(pair, kernels, questions, n, bootstrap, options)
    else:
        _check_large(questions, intervals)
        (a, b), (v, w) = scores, (q.weights for q in questions)
        made["values"] = a.T @ f @ b if method == "inversion" else v.T @ p @ w
        lower, upper = pair.limits(1 - confidence)
        made["lower"] = np.minimum(lower, np.clip(made["values"], 0, 1))
        made["upper"] = np.maximum(upper, np.clip(made["values"], 0, 1))
    return JointEstimate(
        questions[0].labels,
        questions[1].labels,
        **made,
        **options,
        names=(str(columns[0]), str(columns[1])),
        reports=n,
        convergence=convergence,
        distribution=p,
        asked=pair,
        note=joined_notes(notes),
    )


def _of_one_kernel(
    pair: _Pair,
    kernels: Sequence[Mechanism],
    questions: Sequence[Question],
    n: int,
    bootstrap: Any,
    options: dict[str, Any],
) -> dict[str, Vector]:
    """Cells as answers of one kernel on pairs."""
    together = product_kernel(list(kernels), list(product(*(k.inputs for k in kernels))))
    labels = tuple(product(*(question.labels for question in questions)))
    question = Question(labels, _product(pair.values))
    asked = AskedReports(
        together,
        question,
        _product(pair.scores),
        np.full(len(together.inputs), 1 / len(together.inputs)),
        bootstrap=bootstrap,
        **options,
    )
    made = asked.of_frequencies(pair.frequencies.ravel(), pair.likely.ravel(), n)
    shape = tuple(len(question.labels) for question in questions)
    names = ("values", "errors", "lower", "upper")
    return {name: np.reshape(getattr(made, name), shape) for name in names}


def _check_large(questions: Sequence[Question], intervals: str) -> None:
    """Refuse what is not found for two large kernels."""
    refuse_other_than(
        "so large a joint table",
        "group values by features (--feature)",
        intervals=(intervals, "binomial"),
    )
    for question in questions:
        if not np.isin(question.weights, (0, 1)).all():
            raise InputError(
                "features of so large a joint table",
                expected="groups of values",
                got=f"other weighted sums, {listing(question.labels)}",
                remedy="group the values of the other column, too",
            )

"""``estimate_joint``: two secrets of the same people, each reported by its own mechanism."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, InputError, PrecisionWarning, UnknownNameError, quote, warn
from ..kernel import MatrixKernel, least_variance, outer
from ..labels import Label, listing, short_names
from ..mechanism import mechanism_of
from ..release._identifiability import ask_as_designed
from ..release.receipts import trace
from ..release.reports import Sample, sample_of
from ..solve.columns_plan import MOST_ENTRIES, KernelPlan
from ..utility.questions import Question
from .estimator import Options, answered
from .intervals import Answers, Sampling
from .likelihood import Convergence, Fitted, maximise_table
from .many import ColumnScores
from .observed import Observed, roots
from .references import reference_of, refuse_other_than
from .results import joined_notes

Vector = NDArray[np.float64]


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
    margins : what reports of each column say alone
    cells : what pairs of reports say of the cells, as one kernel where it is not too large
    """

    names: tuple[str, str]
    reports: int
    method: str
    intervals: str
    confidence: float
    target: str
    convergence: Convergence
    distribution: Vector
    margins: tuple[Observed, Observed]
    cells: Observed | _LargeTable
    note: str = ""

    def __repr__(self) -> str:
        shown = super().__repr__()
        return f"{shown}\n{self.note}" if self.note else shown

    def _place(self, name: str, what: str) -> int:
        if name not in self.names:
            raise UnknownNameError(what, name, self.names)
        return self.names.index(name)

    def _shares(self, k: int) -> tuple[Vector, Vector]:
        """Answers about one column, and their errors."""
        one, values = self.margins[k], self.margins[k].estimates
        if self.method == "likelihood":
            values = self.distribution.sum(axis=1 - k) @ one.values
        return values, roots(one.covariance)

    def marginal(self, name: str) -> TableEstimate:
        """Frequencies of one of the two secrets, or what else is asked of it, from its own reports,
        in one column.

        Raises :class:`UnknownNameError` for another name.
        """
        k = self._place(name, "column")
        ends = self.margins[k].answers().limits(1 - self.confidence)
        found = (part[:, None] for part in (*self._shares(k), *ends))
        return TableEstimate((self.rows, self.columns)[k], (name,), *found)

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
        k = self._place(given, "column that is given")
        rows, columns = (self.rows, self.columns)[:: 1 - 2 * k]
        if not np.isin(self.margins[k].values, (0, 1)).all():
            raise DataError(
                f"condition on {quote(given)}",
                expected="shares of its values, or of groups of them",
                got=f"other weighted sums, {listing(rows)}",
                remedy="pass a feature of groups (--feature), or condition on the other column",
            )
        total, errors = self._shares(k)
        known = total > errors
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
        ratios = (self.values.T if k else self.values)[known] / total[known, None]
        found = self._ratios(k, known, ratios)
        rows = tuple(row for row, there in zip(rows, known, strict=True) if there)
        return TableEstimate(rows, columns, ratios, *found)

    def _ratios(self, k: int, known: NDArray[np.bool_], ratios: Vector) -> tuple[Vector, ...]:
        """Errors and interval ends of ratios of cells to the shares of known values of one column.

        Of large kernels the ends are those that cells and shares leave with half the risk each.
        """
        alpha, shares, one = 1 - self.confidence, np.flatnonzero(known), self.margins[k]
        cells = np.arange(self.values.size).reshape(self.values.shape)
        cells = (cells.T if k else cells)[shares]
        if isinstance(self.cells, _LargeTable):
            a, b = one.scores[:, shares], self.margins[1 - k].scores
            errors = self.cells.ratio_errors(k, a, b, ratios)
            lower, upper = (end[cells] for end in self.cells.answers.limits(alpha / 2))
            least, most = (end[shares, None] for end in one.answers().limits(alpha / 2))
            with np.errstate(divide="ignore", invalid="ignore"):
                lower = np.where(most > 0, lower / most, 0)
                upper = np.where(least > 0, np.clip(upper / least, 0, 1), 1)
        else:
            of_margin = []
            for part in ("scores", "values"):
                pair = [np.ones((len(getattr(each, part)), 1)) for each in self.margins]
                pair[k] = getattr(one, part)
                of_margin.append(np.hstack([getattr(self.cells, part), outer(*pair)]))
            both = replace(self.cells, scores=of_margin[0], values=of_margin[1])
            eye = np.eye(of_margin[0].shape[1])
            below = self.values.size + np.repeat(shares, cells.shape[1])
            _, *found = both.ratios(eye[:, cells.ravel()], eye[:, below], alpha)
            errors, lower, upper = (part.reshape(ratios.shape) for part in found)
        return errors, np.minimum(lower, ratios), np.maximum(upper, ratios)


@dataclass(frozen=True, eq=False)
class _LargeTable:
    """Reports of two columns whose kernels together are too large for one.

    Attributes
    ----------
    frequencies : ``(M1, M2)``
    answers : about the cells
    """

    frequencies: Vector
    answers: Answers

    def ratio_errors(self, k: int, a: Vector, b: Vector, ratios: Vector) -> Vector:
        """Standard errors of ratios to shares of column k with scores ``a``, of the other ``b``."""
        f, sampling = self.frequencies.T if k else self.frequencies, self.answers.sampling
        total, squares = f.sum(axis=1) @ a, (a**2).T @ f
        found = squares @ b**2 - 2 * ratios * (squares @ b)
        found += ratios**2 * squares.sum(axis=1, keepdims=True)
        found -= sampling.fraction * total[:, None] * ratios * (1 - ratios)
        return np.asarray(np.sqrt(np.maximum(found, 0) / sampling.size) / total[:, None])


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
    options = Options(method, intervals, confidence, target, misfit, resamples, rng)
    named = {str(name): mechanism_of(one) for name, one in zip(columns, mechanisms, strict=True)}
    pairs = zip(mechanisms, features, strict=True)
    questions = [ask_as_designed(designed, feature, by) for designed, feature in pairs]
    sample = sample_of(reports, named, (), missing)
    table, n = sample.tally(*(kernel.shape[1] for kernel in named.values())), sample.size
    notes, references = [], []
    for k, (name, kernel) in enumerate(named.items()):
        counts, about = table.sum(axis=1 - k), f"reports in column {name!r}"
        options.judge(Fitted.of(kernel.kernel, counts).fit, about)
        notes.append(trace(reports, name, kernel, receipts[k], n, about)[1])
        references.append(reference_of(mechanisms[k], kernel))
    kernels = [kernel.kernel for kernel in named.values()]
    values = [question.weights for question in questions]
    p, convergence = maximise_table(kernels, table / n)
    if method == "likelihood":
        references = [p.sum(axis=1), p.sum(axis=0)]
    scores = [least_variance(*each) for each in zip(kernels, questions, references, strict=True)]
    sampling = Sampling(n, fraction=float(target == "sample"))
    shape = tuple(len(question.labels) for question in questions)
    margins = tuple(
        Observed(K, table.sum(axis=1 - k) / n, p.sum(axis=1 - k), a, v, sampling)
        for k, (K, a, v) in enumerate(zip(kernels, scores, values, strict=True))
    )
    cells: Any
    if kernels[0].size * kernels[1].size <= MOST_ENTRIES:
        whole = MatrixKernel.product(list(map(MatrixKernel.of, named.values())), list(named))
        labels = tuple(product(*(question.labels for question in questions)))
        question, fitted = (
            Question(labels, outer(*values)),
            Fitted(p.ravel(), convergence.gap, convergence.iterations, 1.0),
        )
        flat = Sample({"": np.flatnonzero(table)}, table[table > 0])
        parts = whole, question, outer(*scores), flat, fitted, options
        cells = answered(*parts, prior=np.full(p.size, 1 / p.size)).estimates[0]
        found = cells.values, cells.errors, cells.lower, cells.upper
        cells = cells.observed
    else:
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
        pairs = ColumnScores(kernels, values, scores, np.nonzero(table))
        straight, errors, how = pairs.simple(table[table > 0] / n, n, target == "population")
        answers = Answers(straight, pairs.path([p.sum(axis=1), p.sum(axis=0)]), how)
        cells, ends = _LargeTable(table / n, answers), answers.limits(1 - confidence)
        if method == "likelihood":
            straight = (values[0].T @ p @ values[1]).ravel()
        inside = np.clip(straight, 0, 1)
        found = straight, errors, np.minimum(ends[0], inside), np.maximum(ends[1], inside)
    return JointEstimate(
        questions[0].labels,
        questions[1].labels,
        *(np.reshape(part, shape) for part in found),
        names=tuple(named),
        reports=n,
        **options.told,
        convergence=convergence,
        distribution=p,
        margins=margins,
        cells=cells,
        note=joined_notes(notes),
    )

"""``estimate_joint``: two secrets of the same people, each reported by its own mechanism."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import compress, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, InputError, PrecisionWarning, UnknownNameError, quote, warn
from ..labels import Label, listing, short_names
from ..mechanism import kernel_of
from ..release._identifiability import ask_as_designed
from ..release.reports import sample_of, traced
from ..solve.columns_plan import KernelPlan
from .estimator import Options
from .intervals import Answers, Sampling
from .likelihood import Convergence, maximise_table
from .many import Columns, large_columns
from .observed import FromOthers, Observed, around, roots
from .references import refuse_other_than
from .rows import Limited, number_rows
from .surveys import Survey

Vector = NDArray[np.float64]

# Entries of a kernel on pairs up to which intervals of ratios are found as such.
_MOST_ENTRIES = 40_000


@dataclass(frozen=True)
class TableEstimate(Limited):
    """Estimated numbers in a table: joint or conditional frequencies of two secrets.

    Attributes
    ----------
    rows, columns : labels
    values, errors, lower, upper : ``(R, C)`` estimates, standard errors, confidence limits
    confidence : as asked
    answers : what intervals are made of
    """

    rows: tuple[Label, ...]
    columns: tuple[Label, ...]
    values: Vector
    errors: Vector
    lower: Vector
    upper: Vector
    confidence: float = field(kw_only=True)
    answers: Answers | FromOthers = field(kw_only=True)

    @property
    def labels(self) -> tuple[Label, ...]:
        """Of the cells, row by row."""
        return tuple(product(self.rows, self.columns))

    def records(self) -> list[dict[str, Any]]:
        """One plain dictionary for each cell."""
        rows = number_rows(self.values, self.errors, self.lower, self.upper)
        cells = zip(product(self.rows, self.columns), rows, strict=True)
        return [{"row": row, "column": column, **found} for (row, column), found in cells]

    def __repr__(self) -> str:
        head = "".join(f"{name:>18}" for name in short_names(self.columns, 15))
        lines = ["frequencies ± one standard error", f"{'':26}{head}".rstrip()]
        for name, *parts in zip(short_names(self.rows, 24), self.values, self.errors, strict=True):
            cells = (f"{value:9.4f} ±{error:.4f} " for value, error in zip(*parts, strict=True))
            lines.append(f"{name:<26}{''.join(cells)}".rstrip())
        return "\n".join(lines)


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
    cells : what pairs of reports say, ``None`` where these are too many for one kernel
    """

    names: tuple[str, ...]
    reports: int
    method: str
    intervals: str
    target: str
    convergence: Convergence
    distribution: Vector
    margins: Sequence[Observed]
    cells: Observed | None
    note: str = ""

    def __repr__(self) -> str:
        notes = [self.note] if self.note else []
        return "\n".join([super().__repr__(), *self.remarks(), *notes])

    def _place(self, name: str, what: str) -> int:
        if name not in self.names:
            raise UnknownNameError(what, name, self.names)
        return self.names.index(name)

    def _of_part(
        self, rows: Any, columns: Any, values: Vector, errors: Vector, answers: Any
    ) -> Any:
        """Numbers in a table, with limits as those of this one."""
        values, errors = (np.reshape(part, (len(rows), len(columns))) for part in (values, errors))
        told: Any = {"confidence": self.confidence, "answers": answers}
        made = TableEstimate(rows, columns, values, errors, values, values, **told)
        return made.with_limits(side=self.side, together=self.together)

    def marginal(self, name: str) -> TableEstimate:
        """Frequencies of one of the two secrets, or what else is asked of it, from its own reports,
        in one column.

        Raises :class:`UnknownNameError` for another name.
        """
        k = self._place(name, "column")
        one, rows = self.margins[k], (self.rows, self.columns)[k]
        return self._of_part(rows, (name,), one.estimates, roots(one.covariance), one.answers())

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
        one, other = self.margins[k], self.margins[1 - k]
        rows, columns = (self.rows, self.columns)[:: 1 - 2 * k]
        if not np.isin(one.values + one.origin, (0, 1)).all():
            raise DataError(
                f"condition on {quote(given)}",
                expected="shares of its values, or of groups of them",
                got=f"other weighted sums, {listing(rows)}",
                remedy="pass a feature of groups (--feature), or condition on the other column",
            )
        shown = one.estimates > roots(one.covariance)
        if not shown.any():
            raise DataError(
                f"condition on {quote(given)}",
                expected="values that the reports show to occur",
                got="none",
                remedy="collect more reports",
            )
        if absent := [*compress(rows, ~shown)]:
            warn(
                f"nothing can be said given {listing(absent)}: the reports do not show that "
                f"{'it occurs' if len(absent) == 1 else 'they occur'}; collect more, or merge "
                "values in a feature",
                PrecisionWarning,
            )

        def cells_of(table: Vector) -> Vector:
            """Cells with a row for each value that is given."""
            return np.asarray(np.reshape(table, self.values.shape).swapaxes(0, k)[shown])

        below = one.estimates[shown, None]
        ratios, p = cells_of(self.values) / below, self.distribution.swapaxes(0, k)
        scores, values = ((part + one.origin)[:, shown] for part in (one.scores, one.values))
        # Numbers are measured from amid them, so that cells are no differences of large ones.
        away, fixed = ratios - other.origin, one.sampling.fraction

        def square(mass: Vector, x: Vector) -> Vector:
            return mass @ x**2 - 2 * away * (mass @ x) + away**2 * mass.sum(axis=1, keepdims=True)

        secrets, reports = values.T @ p, (scores**2).T @ (one.kernel.T @ p @ other.kernel)
        mean = secrets @ other.values - away * secrets.sum(axis=1, keepdims=True)
        variance = square(reports, other.scores) - fixed * square(secrets, other.values)
        variance -= (1 - fixed) * mean**2
        errors = np.sqrt(np.maximum(variance, 0) / self.reports) / below
        count, width = ratios.shape
        low, high, back = (
            np.tile(end, count) for end in (other.answers().low, other.answers().high, other.origin)
        )

        def pairs(own: Vector, far: Vector) -> Vector:
            """Cells of each row, and after them its share: answers of the same reports."""
            beside = np.hstack([far, np.ones((len(far), 1))])
            order = ("ai,bj->abij", "ai,bj->baij")[k]
            return np.einsum(order, own, beside).reshape(len(own) * len(far), -1)

        def ends(alpha: float) -> Any:
            if self.cells is not None and self.cells.kernel.size <= _MOST_ENTRIES:
                both = pairs(scores, other.scores), pairs(values, other.values)
                parts: Any = dict(zip(("scores", "values"), both, strict=True))
                sums = np.eye(count * (width + 1)).reshape(-1, count, width + 1)
                above, under = sums[:, :, :-1], np.repeat(sums[:, :, -1:], width, axis=2)
                found = replace(self.cells, **parts, origin=0 * sums[0].ravel())
                asked = above.reshape(len(sums), -1), under.reshape(len(sums), -1)
                return tuple(end + back for end in found.ratio_limits(*asked, alpha))
            # What cells and shares leave with half the risk each.
            lower, upper = map(cells_of, self.answers.limits(alpha / 2))
            least, most = (end[shown, None] for end in one.answers().limits(alpha / 2))
            lower = np.divide(lower, most, where=most > 0, out=0 * lower)
            upper = np.divide(upper, least, where=least > upper, out=0 * upper + 1)
            return lower.ravel(), upper.ravel()

        answers = FromOthers(ratios.ravel().clip(low, high), low, high, ends)
        return self._of_part(tuple(compress(rows, shown)), columns, ratios, errors, answers)


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

        Tables of more than 25 values in each column have binomial intervals alone, which take
        the secrets of those outside of a cell to be what each column alone says. Intervals of
        conditional shares are found as such up to 14 values; of more, cells and shares take half
        of the risk each.

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
    given = {"mechanisms": mechanisms, "columns": columns, "features": features}
    for what, two in {**given, "receipts": receipts}.items():
        if isinstance(two, str) or not isinstance(two, Sequence) or len(two) != 2:
            raise InputError(
                "joint estimate",
                expected=f"two {what} in a list",
                got=str(len(two)) if isinstance(two, (list, tuple)) else type(two).__name__,
                remedy="estimate more of them with md.estimate and a plan, or a mapping from each "
                "to its mechanism",
            )
    if columns[0] == columns[1]:
        raise InputError(
            "joint estimate",
            expected="two different columns",
            got=f"{quote(columns[0])} twice",
            remedy="name the column of each mechanism",
        )
    options = Options(method, intervals, confidence, target, misfit, by, resamples, rng)
    designs = dict(zip(map(str, columns), mechanisms, strict=True))
    questions = [ask_as_designed(*each, by) for each in zip(mechanisms, features, strict=True)]
    kernels = {name: kernel_of(design) for name, design in designs.items()}
    read = Columns(designs, questions, sample_of(reports, kernels, (), missing), options)
    n, sides = read.sample.size, [kernel.matrix for kernel in read.kernels]
    note = traced(reports, kernels, dict(zip(kernels, receipts, strict=True)), n)[1]
    table = read.sample.tally(*(side.shape[1] for side in sides)) / n
    made: Any
    if large_columns(designs, None) is None:
        (made,) = read.answered(Survey()).estimates
        p, cells, convergence = made.distribution, made.observed, made.convergence
        p = p.reshape(*map(len, sides))
    else:
        remedy = "group values by features (--feature), or estimate all of a plan (md.estimate)"
        refuse_other_than("so large a joint table", remedy, intervals=(intervals, "binomial"))
        made, cells = read.many(Survey()), None
        p, convergence = maximise_table(sides[0], sides[1], table)
        if method == "likelihood":
            held = np.ravel(questions[0].weights.T @ p @ questions[1].weights)
            made = replace(made, values=held, answers=around(made.answers, held))
    margins = []
    for k, question in enumerate(questions):
        f, likely = (part.sum(axis=1 - k) for part in (table, p))
        parts = read.scores[k] - question.origin, question.centred
        how = Sampling(n, fraction=float(target == "sample")), question.origin
        told: Any = {"is_likely": method == "likelihood"}
        margins.append(Observed(sides[k], f, likely, likely, *parts, *how, **told))
    shape = [len(question.labels) for question in questions]
    numbers = made.values, made.errors, made.lower, made.upper
    values, errors, lower, upper = np.reshape(numbers, (4, *shape))
    return JointEstimate(
        questions[0].labels,
        questions[1].labels,
        values,
        errors,
        lower,
        upper,
        names=tuple(designs),
        reports=n,
        convergence=convergence,
        distribution=p,
        margins=margins,
        cells=cells,
        answers=made.answers,
        note=note,
        **options.told,
    )

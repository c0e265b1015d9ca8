"""``estimate_joint``: two secrets of the same people, each reported by its own mechanism."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, InputError, PrecisionWarning, UnknownNameError, quote, warn
from ..kernel import outer
from ..labels import Label, listing, short_names
from ..mechanism import kernel_of
from ..release._identifiability import ask_as_designed
from ..release.receipts import trace
from ..release.reports import sample_of
from ..solve.columns_plan import KernelPlan
from .estimator import Options
from .intervals import Answers, Sampling
from .likelihood import Convergence, maximise_table
from .many import Columns, large_columns
from .observed import FromOthers, Observed, roots
from .references import refuse_other_than
from .results import joined_notes
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
    table : ``(M1, M2)`` frequencies of these
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
    table: Vector
    note: str = ""

    def __repr__(self) -> str:
        notes = [self.note] if self.note else []
        return "\n".join([super().__repr__(), *self.remarks(), *notes])

    def _alone(self, name: str, what: str) -> tuple[int, tuple[Label, ...], Vector, Vector]:
        """Which column that is, its labels, the answers about it and their errors."""
        if name not in self.names:
            raise UnknownNameError(what, name, self.names)
        k = self.names.index(name)
        one = self.margins[k]
        values = one.likeliest if self.method == "likelihood" else one.estimates
        return k, (self.rows, self.columns)[k], values, roots(one.covariance)

    def _of_part(self, rows: Any, columns: Any, found: Sequence[Vector], answers: Any) -> Any:
        """Values and errors in a table, with limits as those of this one."""
        values, errors = (np.reshape(part, (len(rows), len(columns))) for part in found)
        made = TableEstimate(
            rows,
            columns,
            values,
            errors,
            *[values] * 2,
            confidence=self.confidence,
            answers=answers,
        )
        return made.with_limits(side=self.side, together=self.together)

    def marginal(self, name: str) -> TableEstimate:
        """Frequencies of one of the two secrets, or what else is asked of it, from its own reports,
        in one column.

        Raises :class:`UnknownNameError` for another name.
        """
        k, rows, *found = self._alone(name, "column")
        return self._of_part(rows, (name,), found, self.margins[k].whole)

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
        k, rows, total, errors = self._alone(given, "column that is given")
        one, other = self.margins[k], self.margins[1 - k]
        shares = one.values + one.origin
        if not np.isin(shares, (0, 1)).all():
            raise DataError(
                f"condition on {quote(given)}",
                expected="shares of its values, or of groups of them",
                got=f"other weighted sums, {listing(rows)}",
                remedy="pass a feature of groups (--feature), or condition on the other column",
            )
        known = np.flatnonzero(total > errors)
        if not known.size:
            raise DataError(
                f"condition on {quote(given)}",
                expected="values that the reports show to occur",
                got="none",
                remedy="collect more reports",
            )
        if absent := [row for i, row in enumerate(rows) if i not in known]:
            warn(
                f"nothing can be said given {listing(absent)}: the reports do not show that "
                f"{'it occurs' if len(absent) == 1 else 'they occur'}; collect more, or merge "
                "values in a feature",
                PrecisionWarning,
            )
        size = self.values.size
        cells = np.moveaxis(np.arange(size).reshape(self.values.shape), k, 0)[known]
        below = total[known, None]
        ratios, every = self.values.ravel()[cells] / below, self.cells
        if every is not None:
            # Shares are answers beside the cells, of the same reports.
            # Numbers are measured from amid them, so that cells are no differences of large ones.
            places = np.unravel_index(np.arange(size), self.values.shape)
            own, middle = places[k], np.broadcast_to(other.origin, self.values.shape[1 - k])
            far = middle[places[1 - k]]
            parts: Any = {"origin": np.append(every.origin - far * one.origin[own], one.origin)}
            for name in ("scores", "values"):
                pair = [getattr(one, name), np.ones((len(getattr(other, name)), 1))]
                shares_of = outer(*pair[:: 1 - 2 * k])
                cells_of = getattr(every, name) - far * shares_of[:, own]
                parts[name] = np.hstack([cells_of, shares_of])
            joined, eye = replace(every, **parts), np.eye(size + len(rows))
            sums = eye[:, cells.ravel()], eye[:, size + np.repeat(known, cells.shape[1])]
            error = joined.ratios(*sums)[1]
        else:
            twice = ((one.scores + one.origin)[:, known] ** 2).T
            twice = twice @ (self.table.T if k else self.table)
            away = ratios - other.origin
            error = twice @ other.scores**2 - 2 * away * (twice @ other.scores)
            error += away**2 * twice.sum(axis=1, keepdims=True)
            error -= one.sampling.fraction * below * ratios * (1 - ratios)
            error = np.sqrt(np.maximum(error, 0) / self.reports) / below

        def ends(alpha: float) -> Any:
            if every is not None and every.kernel.size <= _MOST_ENTRIES:
                back = np.tile(middle, len(known))
                return tuple(end + back for end in joined.ratio_limits(*sums, alpha))
            # What cells and shares leave with half the risk each.
            lower, upper = (end[cells] for end in self.answers.limits(alpha / 2))
            least, most = (end[known, None] for end in one.whole.limits(alpha / 2))
            lower = np.divide(lower, most, where=most > 0, out=0 * lower)
            upper = np.divide(upper, least, where=least > upper, out=0 * upper + 1)
            return lower.ravel(), upper.ravel()

        low, high = (np.tile(end, len(known)) for end in (other.whole.low, other.whole.high))
        answers = FromOthers(ratios.ravel().clip(low, high), low, high, ends)
        rows = tuple(rows[i] for i in known)
        return self._of_part(rows, (self.columns, self.rows)[k], (ratios, error), answers)


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
    notes = [
        trace(reports, name, kernel, receipt, n, f"reports in column {name!r}")[1]
        for (name, kernel), receipt in zip(kernels.items(), receipts, strict=True)
    ]
    table = read.sample.tally(*(side.shape[1] for side in sides)) / n
    made: Any
    if large_columns(designs, None) is None:
        (made,) = read.answered(Survey()).estimates
        p, cells, convergence = made.distribution, made.observed, made.convergence
        p = p.reshape(*map(len, sides))
    else:
        remedy = "group values by features (--feature), or estimate all of a plan (md.estimate)"
        refuse_other_than("so large a joint table", remedy, intervals=(intervals, "binomial"))
        made = read.many(Survey())
        cells, (p, convergence) = None, maximise_table(sides[0], sides[1], table)
    found = made.values, made.errors, made.lower, made.upper
    if method == "likelihood":
        first, second = (question.weights for question in questions)
        held = (first.T @ p @ second).ravel()
        found = held, made.errors, np.minimum(made.lower, held), np.maximum(made.upper, held)
    margins = []
    for k, question in enumerate(questions):
        f, likely = (part.sum(axis=1 - k) for part in (table, p))
        parts = read.scores[k] - question.origin, question.centred
        how = Sampling(n, fraction=float(target == "sample")), question.origin
        margins.append(Observed(sides[k], f, likely, likely, *parts, *how))
    shape = [len(question.labels) for question in questions]
    values, errors, lower, upper = np.reshape(found, (4, *shape))
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
        table=table,
        note=joined_notes(notes),
        **options.told,
    )

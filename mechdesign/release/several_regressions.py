"""A regression in which several columns were privatised, each by a kernel of its own.

All reports of a person together are one report of the product kernel on tuples of values, so that
moments and likelihoods are those of a single privatised variable; each column has its own terms.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, InputError, PrecisionWarning, UnknownNameError, quote, warn
from ..input_tables import is_missing
from ..labels import Label, listing
from ..mechanism import Mechanism, mechanism_of
from ..solve.columns_plan import KernelPlan, product_kernel
from ..utility.questions import Question
from ._estimate import fit_of, judge_fit
from ._identifiability import ask, hidden_answers, report_weights
from .codes import ABSENT, Codebook
from .counts import count_columns
from .likelihood import maximise
from .receipts import Receipt, trace
from .references import reference_of
from .regressions import (
    Setting,
    Solved,
    Told,
    asked_terms,
    binary,
    is_number,
    likeliest,
    linear,
    public_design,
)
from .samples import Sample
from .survey import Survey, check_single, drawn_by

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Privatised:
    """The privatised columns of a regression.

    Attributes
    ----------
    designs, kernels : of each column, by its name
    response : the one that is the response, or ``None``
    """

    designs: dict[str, Any]
    kernels: dict[str, Mechanism]
    response: str | None

    @property
    def covariates(self) -> list[str]:
        """Names of the others."""
        return [name for name in self.kernels if name != self.response]

    def part(self, name: str, labels: Sequence[Label]) -> NDArray[np.int64]:
        """Positions of the values of a column in tuples, as inputs of its kernel."""
        place = list(self.kernels).index(name)
        row = {label: i for i, label in enumerate(self.kernels[name].inputs)}
        return np.array([row[label[place]] for label in labels])


def privatised_columns(mechanism: Any, column: Any, response: Any) -> Privatised:
    """Which columns were privatised, by a plan or a mapping from columns to mechanisms.

    Raises :class:`InputError`, :class:`UnknownNameError` for columns that are none of them.
    """
    designs = mechanism
    if isinstance(mechanism, KernelPlan):
        designs = {name: mechanism[name] for name in mechanism.names}
    names = [column] if isinstance(column, str) else list(designs if column is None else column)
    unknown = next((name for name in names if name not in designs), None)
    if unknown is not None:
        raise UnknownNameError("privatised column", unknown, map(str, designs))
    if isinstance(response, str) and response in designs and response not in names:
        names.append(response)
    # The response last, as the likelihood has its values side by side.
    names.sort(key=lambda name: name == response)
    if len(set(names)) < len(names) or not [name for name in names if name != response]:
        raise InputError(
            "privatised columns of a regression",
            expected="different columns, at least one of which is a covariate",
            got=listing(names) if names else "none",
            remedy="name each once; regress a single privatised response by its own mechanism",
        )
    chosen = {name: designs[name] for name in names}
    kernels = {name: mechanism_of(found, "mechanism") for name, found in chosen.items()}
    return Privatised(chosen, kernels, response if response in names else None)


def solve_several(
    table: Any,
    columns: Privatised,
    *,
    response: str,
    covariates: Sequence[str],
    family: str,
    feature: Any,
    reference: Any,
    survey: Survey,
    strata: str | None,
    missing: str,
    misfit: str,
) -> tuple[Solved, Setting, float, dict[str, Receipt | None], str]:
    """Coefficients of a regression, what they rest on, the worst fit of a column, receipts and
    what could not be told of where reports came from.
    """
    kernels = columns.kernels
    features = _by_column("feature", feature, kernels)
    references = _by_column("reference", reference, kernels)
    beside = [] if columns.response else [response]
    others = list(dict.fromkeys([*beside, *covariates, *survey.columns]))
    sample, places = _read(table, kernels, others, missing)
    n = int(sample.repeats.sum())
    likely, fits, receipts, notes = [], [], {}, []
    for name, kernel in kernels.items():
        counts = np.bincount(places[name], sample.repeats, kernel.shape[1])
        found, gap, _ = maximise(kernel.kernel, counts[None, :] / n)
        fits.append(fit_of(kernel.kernel, counts / n, found[0], n, float(gap[0])))
        where = f"reports in column {name!r}"
        judge_fit(fits[-1], misfit, where)
        receipts[name], note = trace(table, name, columns.designs[name], None, n, where)
        notes.append(note)
        likely.append(found[0])
    labels = list(product(*(kernel.inputs for kernel in kernels.values())))
    together = product_kernel(list(kernels.values()), labels)
    best = [reference_of(columns.designs[name], kernel) for name, kernel in kernels.items()]
    drawn = drawn_by(survey, sample)
    check_single(drawn, strata)
    public, terms = public_design(sample, list(covariates), drawn.weights * sample.repeats)
    question, names, compared = _terms(columns, labels, features, references)
    setting = Setting(
        sample,
        drawn,
        together,
        ", ".join(columns.covariates),
        public,
        terms,
        n,
        not survey.asked,
        tuple(labels),
    )
    if family == "linear":
        truth = _product(best)
        solved = _linear(setting, columns, question, (names, compared), features, response, truth)
    else:
        named = (names, compared)
        solved = _logistic(setting, columns, question, named, response, likely, references)
    return solved, setting, min(fits), receipts, "; ".join(dict.fromkeys(filter(None, notes)))


def _product(parts: Sequence[Vector]) -> Vector:
    """Masses of tuples of which the parts are independent."""
    found: Vector = np.ones(1)
    for part in parts:
        found = np.asarray(np.kron(found, part), dtype=np.float64)
    return found


def _by_column(what: str, given: Any, kernels: Mapping[str, Any]) -> dict[str, Any]:
    """What is asked of single columns, by their names."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise InputError(
            what,
            expected="a mapping from privatised columns, as there are several",
            got=quote(given),
            remedy=f"pass for example {what}={{{next(iter(kernels))!r}: …}}",
        )
    unknown = next((name for name in given if name not in kernels), None)
    if unknown is not None:
        raise UnknownNameError(f"column of a {what}", unknown, kernels)
    return dict(given)


def _read(
    table: Any, kernels: Mapping[str, Mechanism], others: list[str], missing: str
) -> tuple[Sample, dict[str, NDArray[np.int64]]]:
    """Distinct rows with the positions of their reports, together and by column."""
    names = [*kernels, *others]
    counts = count_columns(table, names, list(kernels.values()))
    rows = list(counts)
    books = {name: Codebook(kernel.outputs, "outputs of the mechanism") for name, kernel in
             kernels.items()}  # fmt: skip
    places, blank = {}, np.zeros(len(rows), dtype=bool)
    for k, (name, book) in enumerate(books.items()):
        at = {value: book.place(value) for value in dict.fromkeys(row[k] for row in rows)}
        unseen = [v for v, place in at.items() if place == ABSENT and not is_missing(v)]
        where = f"reports in column {quote(name)}"
        if unseen:
            raise book.refuse(where, unseen, "pass the mechanism that made them")
        places[name] = np.array([at[row[k]] for row in rows], dtype=np.int64)
        blank |= places[name] == ABSENT
    repeats = np.fromiter(counts.values(), np.int64, len(rows))
    if blank.any() and missing != "drop":
        raise DataError(
            f"reports in columns {listing(list(kernels))}",
            expected="no missing reports",
            got=f"{int(repeats[blank].sum())} rows without one of them",
            remedy="leave them out with missing='drop' (--missing drop)",
        )
    kept = np.flatnonzero(~blank)
    places = {name: part[kept] for name, part in places.items()}
    together = np.zeros(len(kept), dtype=np.int64)
    for name, kernel in kernels.items():
        together = together * kernel.shape[1] + places[name]
    first = len(kernels)
    beside = {name: [rows[i][first + k] for i in kept] for k, name in enumerate(others)}
    return Sample(together, repeats[kept], beside), places


def _terms(
    columns: Privatised,
    labels: Sequence[Label],
    features: Mapping[str, Any],
    references: Mapping[str, Any],
) -> tuple[Question, list[str], Label]:
    """Columns of the design for each tuple: those of each privatised covariate, side by side.

    Raises :class:`DataError` for values that the reports of their column do not tell apart.
    """
    parts, names, compared = [], [], []
    for name in columns.covariates:
        kernel = columns.kernels[name]
        question, (own, chosen) = asked_terms(
            kernel, features.get(name), references.get(name), name
        )
        parts.append(question.weights[columns.part(name, labels)])
        names += own
        compared.append(chosen)
    return Question(tuple(names), np.hstack(parts)), names, tuple(compared)


def _linear(
    setting: Setting,
    columns: Privatised,
    question: Question,
    named: tuple[list[str], Label],
    features: Mapping[str, Any],
    response: str,
    truth: Vector,
) -> Solved:
    """Least squares by corrected moments, of a response in the open or reported itself."""
    if columns.response is None:
        numbers = setting.sample.numbers(response, "response")
        return linear(setting, question, named, numbers, truth)
    kernel = columns.kernels[response]
    feature = features.get(response)
    if feature is None and all(map(is_number, kernel.inputs)):
        feature = {label: label for label in kernel.inputs}
    asked = None if feature is None else ask(kernel, feature)
    if asked is None or asked.labels != ("mean",):
        raise InputError(
            "privatised response of a linear regression",
            expected="a number for each symbol",
            got="none" if feature is None else "other values",
            remedy=f"pass feature={{{response!r}: {{'no': 0, 'yes': 1}}}}, or family='logistic'",
        )
    values = asked.weights[columns.part(response, list(setting.symbols))]
    both = Question(question.labels, values * question.weights)
    if hidden_answers(setting.mechanism, both):
        raise DataError(
            "mechanisms",
            expected="ones whose reports tell response and covariates together",
            got="ones where they do not, however many there are",
            remedy="design with md.utility.Estimation()",
        )
    reports = setting.sample.reports
    alone = report_weights(setting.mechanism, Question(("mean",), values), truth)[reports, 0]
    products = report_weights(setting.mechanism, both, truth)[reports]
    return linear(setting, question, named, alone, truth, products)


def _logistic(
    setting: Setting,
    columns: Privatised,
    question: Question,
    named: tuple[list[str], Label],
    response: str,
    likely: Sequence[Vector],
    references: Mapping[str, Any],
) -> Solved:
    """Maximum likelihood over tuples; a privatised response is a part of them."""
    names, compared = named
    for name in columns.covariates:
        ask(columns.kernels[name])
    kernel = setting.mechanism.kernel
    if columns.response is None:
        outcome = binary(setting.sample, response, setting.mass)
        total = float(setting.mass @ outcome)
        told = Told(question.weights, names, compared, outcome, total)
        shares = _product(likely)
        return likeliest(setting, kernel[None], told, int(np.argmax(shares)), shares)
    inputs = columns.kernels[response].inputs
    if len(inputs) != 2:
        raise DataError(
            f"privatised response {quote(response)}",
            expected="two symbols, with other privatised columns beside it",
            got=str(len(inputs)),
            remedy="merge them before they are privatised, or regress it on public covariates",
        )
    ask(columns.kernels[response])
    base = inputs[0] if response not in references else references[response]
    if base not in inputs:
        raise UnknownNameError("reference", base, map(str, inputs))
    ends = [inputs.index(base), 1 - inputs.index(base)]
    share = float(likely[-1][ends[1]])
    rare = min(share, 1 - share) * setting.reports < 1
    if rare:
        warn(
            f"the reports hardly show that both values of {quote(response)} occur, so that "
            "intervals may miss; collect more",
            PrecisionWarning,
        )
    total = min(max(share, 1 / setting.reports), 1 - 1 / setting.reports) * setting.mass.sum()
    told = Told(question.weights[::2], names, compared, None, float(total))
    shares = _product(likely[:-1])
    kernels = np.stack([kernel[end::2] for end in ends])
    symbols = tuple(label[:-1] for label in setting.symbols[::2])
    return likeliest(setting.of(symbols), kernels, told, int(np.argmax(shares)), shares)

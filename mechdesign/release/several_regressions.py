"""A regression in which several columns were privatised, each by a kernel of its own.

Reports of the columns are drawn independently, so that moments are made of those of each column and
likelihoods of tuples of values are products: the kernel of all reports together is never formed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, InputError, PrecisionWarning, UnknownNameError, quote, warn
from ..inference._estimate import judge_fit
from ..inference.likelihood import fit_of, maximise
from ..inference.references import reference_of
from ..inference.surveys import Survey, check_single, drawn_by
from ..labels import Label, listing
from ..mechanism import Mechanism, mechanism_of
from ..solve.columns_plan import KernelPlan
from ..utility.questions import Question
from ._identifiability import report_weights
from .receipts import Receipt, trace
from .regressions import (
    Setting,
    Solved,
    Told,
    ask_symbols,
    asked_terms,
    binary,
    covariate_of,
    likeliest,
    linear,
    number_asked,
    public_design,
)
from .samples import CountedRows, read_columns
from .several_estimates import carried_receipts

Vector = NDArray[np.float64]

# Combinations of values of which a logistic regression has coefficients of their own.
_MOST_TUPLES = 1000


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

    @property
    def tuples(self) -> int:
        """How many combinations of values of the covariates there are."""
        return math.prod(self.kernels[name].shape[0] for name in self.covariates)


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
    sample, places = read_columns(table, kernels, others, missing)
    n = int(sample.repeats.sum())
    likely, fits, receipts, notes = [], [], {}, []
    for name, kernel in kernels.items():
        counts = np.bincount(places[name], sample.repeats, kernel.shape[1])
        found, gap, _ = maximise(kernel.kernel, counts[None, :] / n)
        fits.append(fit_of(kernel.kernel, counts / n, found[0], n, float(gap[0])))
        where = f"reports in column {name!r}"
        judge_fit(fits[-1], misfit, where)
        given = carried_receipts(table).get(name) if isinstance(table, CountedRows) else None
        carried = None if isinstance(table, CountedRows) else name
        receipts[name], note = trace(table, carried, columns.designs[name], given, n, where)
        notes.append(note)
        likely.append(found[0])
    drawn = drawn_by(survey, sample)
    check_single(drawn, strata)
    public, terms = public_design(sample, list(covariates), drawn.weights * sample.repeats)
    setting = Setting(
        sample,
        drawn,
        ", ".join(columns.covariates),
        public,
        terms,
        n,
        not survey.asked,
        (),
    )
    asked = {
        name: asked_terms(columns.designs[name], features.get(name), references.get(name), name)
        for name in columns.covariates
    }
    if family == "linear":
        solved = _linear(setting, columns, places, asked, features, response)
    else:
        solved = _logistic(setting, columns, places, asked, response, likely, references)
    return solved, setting, min(fits), receipts, "; ".join(dict.fromkeys(filter(None, notes)))


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


def _linear(
    setting: Setting,
    columns: Privatised,
    places: Mapping[str, NDArray[np.int64]],
    asked: Mapping[str, tuple[Question, tuple[list[str], Label]]],
    features: Mapping[str, Any],
    response: str,
) -> Solved:
    """Least squares by corrected moments, of a response in the open or reported itself."""
    covariates = []
    for name, (question, named) in asked.items():
        designed = columns.designs[name]
        best = reference_of(designed, columns.kernels[name])
        covariates.append(covariate_of(designed, question, named, places[name], best))
    compared = tuple(each.compared for each in covariates)
    if columns.response is None:
        return linear(setting, covariates, compared, setting.sample.numbers(response, "response"))
    kernel = columns.kernels[response]
    number = number_asked(columns.designs[response], features.get(response))
    if number is None:
        raise InputError(
            "privatised response of a linear regression",
            expected="a number for each symbol",
            got="other values" if response in features else "none",
            remedy=f"pass feature={{{response!r}: {{'no': 0, 'yes': 1}}}}, or family='logistic'",
        )
    best = reference_of(columns.designs[response], kernel)
    alone = report_weights(kernel, number, best)[places[response], 0]
    return linear(setting, covariates, compared, alone)


def _products(parts: Sequence[Vector]) -> Vector:
    """``(R, N)`` products over combinations of the columns of each part, ``(R, N_i)``."""
    found: Vector = np.ones((len(parts[0]), 1))
    for part in parts:
        found = (found[:, :, None] * part[:, None, :]).reshape(len(part), -1)
    return found


def _logistic(
    setting: Setting,
    columns: Privatised,
    places: Mapping[str, NDArray[np.int64]],
    asked: Mapping[str, tuple[Question, tuple[list[str], Label]]],
    response: str,
    likely: Sequence[Vector],
    references: Mapping[str, Any],
) -> Solved:
    """Maximum likelihood over tuples; a privatised response is a part of them."""
    kernels = [columns.kernels[name] for name in columns.covariates]
    if columns.tuples > _MOST_TUPLES:
        raise DataError(
            "logistic regression on several privatised columns",
            expected=f"at most {_MOST_TUPLES:,} combinations of their values",
            got=f"{columns.tuples:,}",
            remedy="leave out columns, merge values before they are privatised, or pass "
            "family='linear'",
        )
    for name in columns.covariates:
        ask_symbols(columns.designs[name])
    symbols = tuple(product(*(kernel.inputs for kernel in kernels)))
    where = np.unravel_index(np.arange(len(symbols)), [kernel.shape[0] for kernel in kernels])
    pairs = list(zip(asked.values(), where, strict=True))
    values = np.hstack([question.weights[row] for (question, _), row in pairs])
    names = [name for _, (own, _) in asked.values() for name in own]
    compared = tuple(chosen for _, (_, chosen) in asked.values())
    chances = _products([columns.kernels[name].kernel.T[places[name]] for name in asked])
    shares = _products([each[None] for each in likely[: len(kernels)]])[0]
    setting, first = setting.of(symbols), int(np.argmax(shares))
    if columns.response is None:
        outcome = binary(setting.sample, response, setting.mass)
        told = Told(values, names, compared, outcome, float(setting.mass @ outcome))
        return likeliest(setting, [chances], told, first, shares)
    inputs = columns.kernels[response].inputs
    if len(inputs) != 2:
        raise DataError(
            f"privatised response {quote(response)}",
            expected="two symbols, with other privatised columns beside it",
            got=str(len(inputs)),
            remedy="merge them before they are privatised, or regress it on public covariates",
        )
    ask_symbols(columns.designs[response])
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
    told = Told(values, names, compared, None, float(total))
    reported = columns.kernels[response].kernel.T[places[response]]
    both = [chances * reported[:, [end]] for end in ends]
    return likeliest(setting, both, told, first, shares)

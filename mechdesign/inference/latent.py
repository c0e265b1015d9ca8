"""Logistic regressions of variables that are known by their reports only: sums over symbols.

A person with public covariates c has the secret x with probability π_x(c) ∝ exp(α_xᵀc), zero for
the first symbol, the response r with probability ∝ exp(β_rᵀ(c, V_x)), zero for the first value, and
reports with probabilities K[x, r]. What is seen is c and the reports:

    L(α, β) = Σ_x Σ_r π_x(c) P(r | x, c) K[x, r].

With the score s of a person whose secrets are known, and their posterior g, the gradient is E_g s,
and the observed information is that of known secrets less the covariance of s under g, which the
mechanism hides [Louis1982].
"""

from __future__ import annotations

import math
from itertools import chain, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, PrecisionWarning, warn
from ..kernel import outer
from ..labels import listing
from .privatised import Setting, refuse_few

Vector = NDArray[np.float64]

# Combinations of values of which a logistic regression has coefficients of their own.
_MOST_TUPLES = 1000
# People of a symbol that is not shown to occur, and information of what has no finite estimate.
_ABSENT = _FLAT = 1e-3
# Numbers that are worked with at a time, so that they stay near the processor.
_MOST_NUMBERS = 1 << 20
# A likelihood that is lost to rounding.
_NEVER = 1e-300
# Gradient of the log-likelihood per report at which the search ends, and its steps.
_GRADIENT, _STEPS = 1e-11, 500


def most_likely(setting: Setting, chances: Vector) -> tuple[Vector, Vector, Vector, Vector, float]:
    """Maximum likelihood over the symbols that may have made each report, and values of the
    response, with ``(R, Q)`` chances of what is seen of it.

    Coefficients ``(P,)`` of the response; of these and of those of shares of symbols behind them
    scores of rows, and the inverse of the observed information; the part of the covariance ``(P,
    P)`` that is noise which the mechanisms add; the log-likelihood.
    """
    secrets, levels = setting.secrets, chances.shape[1] - 1
    tuples = math.prod(len(secret.likely) for secret in secrets) * levels
    if tuples > _MOST_TUPLES:
        raise DataError(
            "logistic regression on privatised columns",
            expected=f"at most {_MOST_TUPLES:,} combinations of their symbols",
            got=f"{tuples:,}",
            remedy="merge values before they are privatised, leave out columns, or pass "
            "family='linear'",
        )
    # What shares are compared with must occur.
    order = np.argsort(outer(np.ones(1), *(secret.likely for secret in secrets)))[::-1]
    once = np.ones(len(chances))
    seen = [math.prod(each, start=once) for each in product(*(s.chances.T for s in secrets))]
    values = np.array([[*chain(*each)] for each in product(*(s.values for s in secrets))])
    both = np.stack(seen)[order, None] * chances.T
    size, width = len(setting.terms) * levels, setting.public.shape[1]
    at, of_rows, scores, known, information, people = maximise_latent(
        size + (len(order) - 1) * width, setting.public, setting.mass, both, values[order]
    )
    # Nothing is estimated of symbols that do not occur.
    absent = people < _ABSENT
    kept = np.r_[np.ones(size, bool), np.repeat(~absent[1:], width)]
    known, information = (each[kept][:, kept] for each in (known, information))
    sizes, ways = np.linalg.eigh(information)
    names = [*setting.terms * levels, *["a share of symbols"] * (len(at) - size)]
    refuse_few(
        np.array(names)[kept],
        np.abs(ways[:, sizes < _FLAT]).max(axis=1, initial=0) > 0.3,
        "reports that bound every coefficient",
        "a likelihood that rises, or stays, however far they go (a symbol or value with one "
        "response only, or one that does not occur), of",
    )
    if absent.any():
        symbols = [*product(*(secret.symbols for secret in secrets))]
        gone = [listing(symbols[i]) for i in order[absent]]
        warn(
            f"the reports do not show that {', '.join(gone)} occur{'s' * (len(gone) == 1)}; the "
            "regression is about people with other symbols",
            PrecisionWarning,
        )
    inverse: Any = np.linalg.inv(information)
    noise = (inverse - np.linalg.inv(known)) * setting.heavy.sum() / setting.mass.sum()
    likelihood = float(setting.mass @ of_rows)
    return at[:size], scores[:, kept], inverse, noise[:size, :size], likelihood


def parts(at: Vector, *observed: Vector) -> list[Any]:
    """Log-likelihoods of rows ``(R,)``, scores ``(R, P)`` of one person of each, the information
    ``(P, P)`` of known secrets and what is left of it, and people of each symbol, ``(S,)``.

    Parameters
    ----------
    at : ``(P,)`` coefficients, of each response and then of each symbol
    public : ``(R, C)``
    mass : ``(R,)`` weight times number of people
    chances : ``(S, Q, R)`` of the reports of each row, for each symbol and value of the response
    values : ``(S, F)`` columns of the design of the response for each symbol
    """
    public, mass, chances, values = observed
    (symbols, levels, rows), (_, width) = chances.shape, public.shape
    step = 1 + _MOST_NUMBERS // (symbols * levels * len(at))
    if rows > step:
        cuts = range(step, rows, step)
        by_row = np.split(public, cuts), np.split(mass, cuts), np.split(chances, cuts, axis=2)
        found = [
            *zip(*(parts(at, *block, values) for block in zip(*by_row, strict=True)), strict=True)
        ]
        return [*map(np.concatenate, found[:2]), *(np.sum(part, axis=0) for part in found[2:])]
    covariates = np.ascontiguousarray(public.T)
    design = np.empty((symbols, width + values.shape[1], rows))
    design[:, :width], design[:, width:] = covariates, values[:, :, None]
    size = (levels - 1) * design.shape[1]
    response = _chances(design, at[:size], levels)
    secret = _chances(covariates, at[size:], symbols)
    posterior = chances * response * secret[:, None]
    seen = np.maximum(posterior.sum(axis=(0, 1)), _NEVER)
    posterior /= seen
    each = posterior.sum(axis=1)
    # Of known secrets the score is e - p of what is told, times columns of the design.
    scores = np.empty((symbols, levels, len(at), rows))
    scores[:, :, :size] = _scores(response, design, levels)
    scores[:, :, size:] = _scores(secret, covariates, symbols)[:, None]
    known = np.zeros((len(at), len(at)))
    known[:size, :size] = _gram(scores[:, :, :size], each[:, None] * response * mass)
    known[size:, size:] = _gram(scores[:, 0, size:], secret * mass)
    mean = (posterior[:, :, None] * scores).sum(axis=(0, 1))
    left = known - _gram(scores, posterior * mass) + _gram(mean, mass)
    return [np.log(seen), mean.T, known, left, each @ mass]


def _chances(design: Vector, coefficients: Vector, count: int) -> Vector:
    """``(…, L, R)`` probabilities of a multinomial logit with columns ``(…, D, R)``, whose first
    value has coefficients of zero.
    """
    ahead = np.pad(coefficients.reshape(count - 1, design.shape[-2]), ((1, 0), (0, 0))) @ design
    found = np.exp(ahead - ahead.max(axis=-2, keepdims=True))
    found /= found.sum(axis=-2, keepdims=True)
    return found


def _scores(chances: Vector, design: Vector, count: int) -> Vector:
    """``(…, L, (L − 1)·D, R)`` of each value of such a logit."""
    away = np.eye(count)[:, 1:, None] - chances[..., None, 1:, :]
    found = away[..., None, :] * design[..., None, None, :, :]
    return found.reshape(*found.shape[:-3], (count - 1) * design.shape[-2], found.shape[-1])


def _gram(scores: Vector, weights: Vector) -> Vector:
    """Σ weight · s sᵀ of scores ``(…, P, R)``."""
    flat = np.moveaxis(scores, -2, 0).reshape(scores.shape[-2], weights.size)
    return np.asarray((flat * weights.ravel()) @ flat.T)


def maximise_latent(size: int, *observed: Vector) -> list[Vector]:
    """So many coefficients of largest likelihood of what :func:`parts` takes, with what it returns
    there, by Newton steps that are shortened towards those of known secrets until the likelihood
    rises; where it rises without end, some that are far out.
    """
    mass, at, short = observed[1], np.zeros(size), 1.0
    end, total = parts(at, *observed), mass.sum()
    for _ in range(_STEPS):
        of_rows, scores, known, information, _ = end
        slope = mass @ scores
        if np.abs(slope).max() <= _GRADIENT * total:
            break
        curved = information + short * known + 1e-12 * total * np.eye(size)
        following = at + np.linalg.solve(curved, slope)
        tried = parts(following, *observed)
        # Near the maximum rounding decides about the last digits.
        if mass @ (tried[0] - of_rows) >= -1e-13 * abs(mass @ of_rows):
            at, short, end = following, short / 10, tried
        else:
            short = max(10 * short, 0.01)
    return [at, *end]

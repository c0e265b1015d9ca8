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
_MOST_NUMBERS = 4_000_000
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
    both = np.stack(seen, axis=1)[:, order, None] * chances[:, None]
    size, width = len(setting.terms) * levels, setting.public.shape[1]
    at, of_rows, scores, known, information, people = maximise_latent(
        size + (len(order) - 1) * width, both, setting.public, setting.mass, values[order]
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
    chances : ``(R, S, Q)`` of the reports of each row, for each symbol and value of the response
    public : ``(R, C)``
    mass : ``(R,)`` weight times number of people
    values : ``(S, F)`` columns of the design of the response for each symbol
    """
    from scipy.linalg import block_diag
    from scipy.special import logsumexp

    chances, public, mass, values = observed
    step = 1 + _MOST_NUMBERS // (chances[0].size * (1 + len(at)))
    if len(mass) > step:
        cuts = range(step, len(mass), step)
        blocks = zip(*(np.split(each, cuts) for each in (chances, public, mass)), strict=True)
        found = [*zip(*(parts(at, *block, values) for block in blocks), strict=True)]
        return [*map(np.concatenate, found[:2]), *(np.sum(part, axis=0) for part in found[2:])]
    _, symbols, levels = chances.shape
    design = [public[:, None].repeat(symbols, axis=1), values[None].repeat(len(mass), axis=0)]
    both = np.concatenate(design, axis=2)
    size = (levels - 1) * both.shape[2]
    response, of_response = _logit(both, at[:size], levels)
    secret, of_secret = _logit(public, at[size:], symbols)
    with np.errstate(divide="ignore"):
        joint = np.log(chances) + response + secret[:, :, None]
    best = logsumexp(joint, axis=(1, 2))
    heavy = np.exp(joint - best[:, None, None])
    scores = np.concatenate([of_response, of_secret[:, :, None].repeat(levels, axis=2)], axis=3)
    mean = np.einsum("rsq,rsqp->rp", heavy, scores)
    heavy *= mass[:, None, None]
    known = block_diag(
        _gram(of_response, heavy.sum(axis=2, keepdims=True) * np.exp(response)),
        _gram(of_secret, mass[:, None] * np.exp(secret)),
    )
    left = known - _gram(scores, heavy) + _gram(mean, mass)
    return [best, mean, known, left, heavy.sum(axis=(0, 2))]


def _logit(design: Vector, coefficients: Vector, count: int) -> tuple[Vector, Vector]:
    """Logarithms ``(…, L)`` of the probabilities of a multinomial logit whose first value has
    coefficients of zero, and the score ``(…, L, P)`` of each value.
    """
    from scipy.special import log_softmax

    slopes = coefficients.reshape(count - 1, design.shape[-1])
    ahead = log_softmax(design @ np.pad(slopes, ((1, 0), (0, 0))).T, axis=-1)
    told = np.eye(count)[:, 1:] - np.exp(ahead)[..., None, 1:]
    scores = told[..., None] * design[..., None, None, :]
    return ahead, scores.reshape(*ahead.shape, slopes.size)


def _gram(of: Vector, weight: Vector) -> Vector:
    """Σ weight · of ofᵀ."""
    axes = tuple(range(weight.ndim))
    return np.asarray(np.tensordot(weight[..., None] * of, of, (axes, axes)))


def maximise_latent(size: int, *observed: Vector) -> list[Vector]:
    """So many coefficients of largest likelihood of what :func:`parts` takes, with what it returns
    there, by Newton steps that are shortened towards those of known secrets until the likelihood
    rises; where it rises without end, some that are far out.
    """
    mass, at, short = observed[2], np.zeros(size), 1.0
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

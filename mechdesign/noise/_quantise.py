"""From noise on the real line to a kernel: report only which interval the outcome fell into."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import KernelError, LevelError, listed
from ..mechanism import Mechanism
from ..prior import Prior
from .checks import number_of, positive, reals, shown

# The smallest probability of an interval under noise without bounds.
_TINY = 2.0**-1022
_MOST_EDGES = 10_000_000


def quantise(
    noise: Any,
    secret: Prior | Iterable[Any],
    edges: ArrayLike,
    *,
    locations: ArrayLike | None = None,
    outputs: Iterable[Any] | None = None,
) -> Mechanism:
    """A mechanism that adds noise to a number and reports which interval the result is in.

    Post-processing of the noisy number, so it leaks no more than that under any notion, but for the
    rounding of the probabilities to floats (audit the kernel for its exact level), and everything
    for kernels applies to it: audit, estimation, sampling.

    Parameters
    ----------
    noise : ``("laplace", scale)``, ``("gaussian", sigma)``, or a ``scipy.stats`` distribution
        The law of what is added; a distribution needs ``cdf`` and ``sf``.
    secret : Prior or labels
        Symbols of the secret.
    edges : K increasing numbers
        They cut the line into K + 1 intervals, the outer two unbounded.
    locations : N numbers, optional
        What the noise is added to for each symbol; the labels themselves when left out.
    outputs : K + 1 labels, optional
        The middle of each interval when left out, and the edges themselves at both ends.

    Raises
    ------
    KernelError
        For edges that do not increase, or labels that are no numbers.

    Examples
    --------
    >>> kernel = quantise(("laplace", 1.0), Prior.uniform(range(3)), [.5, 1.5], outputs=range(3))
    >>> kernel.kernel.round(4)[1]
    array([0.3033, 0.3935, 0.3033])
    """
    names = secret.labels if isinstance(secret, Prior) else secret
    labels = listed(names, "secret", "a Prior, or labels", remedy="write for example range(3)")
    cuts = reals(edges).ravel()
    if not len(cuts) or not np.isfinite(cuts).all() or (np.diff(cuts) <= 0).any():
        raise KernelError(
            "edges",
            expected="at least one finite number, increasing",
            got=shown(edges),
            remedy="sort them; the outer intervals reach to infinity by themselves",
        )
    given: Any = labels if locations is None else locations
    try:
        centres = np.array([float(v) for v in given])
    except (TypeError, ValueError):
        centres = np.zeros(0)
    if len(centres) != len(labels) or not np.isfinite(centres).all():
        raise KernelError(
            "locations",
            expected=f"{len(labels)} finite numbers, one per symbol",
            got="labels that are no numbers" if locations is None else f"{len(centres)} numbers",
            remedy="pass locations= with the number that stands for each symbol",
        )
    below, above = _tails(noise)
    try:
        with np.errstate(over="ignore", under="ignore"):
            place = cuts[None, :] - centres[:, None]
            under, over = below(place), above(place)
    except (TypeError, ValueError):  # its parameters are not fixed
        raise _unknown(noise) from None
    # Differences on the side where the tail is small keep their digits.
    middle = np.where(place[:, 1:] <= 0, np.diff(under), -np.diff(over))
    crossing = (place[:, :-1] < 0) & (place[:, 1:] > 0)
    middle = np.where(crossing, 1 - under[:, :-1] - over[:, 1:], middle)
    kernel = np.hstack([under[:, :1], np.maximum(middle, 0.0), over[:, -1:]])
    if isinstance(noise, tuple):
        # Noise without bounds rules nothing out; what underflows must not say that it does.
        kernel = np.maximum(kernel, _TINY)
    if outputs is None:
        outputs = [cuts[0], *((cuts[1:] + cuts[:-1]) / 2), cuts[-1]]
        if len(cuts) == 1:
            outputs = ["below", "above"]
    return Mechanism(kernel, labels, outputs)


def _tails(noise: Any) -> tuple[Any, Any]:
    if isinstance(noise, tuple) and len(noise) == 2 and noise[0] == "laplace":
        b = positive(noise[1], "scale of the noise")

        def lower(t: Any) -> Any:
            small = np.exp(-np.abs(t) / b) / 2
            return np.where(t <= 0, small, 1 - small)

        return lower, lambda t: lower(-t)
    if isinstance(noise, tuple) and len(noise) == 2 and noise[0] == "gaussian":
        from scipy.special import ndtr

        sigma = positive(noise[1], "standard deviation")
        return lambda t: ndtr(t / sigma), lambda t: ndtr(-t / sigma)
    if hasattr(noise, "cdf") and hasattr(noise, "sf"):
        return noise.cdf, noise.sf
    raise _unknown(noise)


def _unknown(noise: Any) -> KernelError:
    return KernelError(
        "noise",
        expected="('laplace', scale), ('gaussian', sigma) or a scipy.stats distribution",
        got=shown(noise),
        remedy="name the law of what is added",
    )


def counting_edges(entries: int) -> NDArray[np.float64]:
    """Edges half-way between the counts 0 … n, so that intervals stand for rounded counts."""
    n = number_of(entries)
    if n > _MOST_EDGES:
        raise LevelError(
            "number of entries",
            expected=f"at most {_MOST_EDGES}",
            got=shown(entries),
            remedy="cut the line into fewer intervals with edges of your own",
        )
    return np.arange(n, dtype=np.float64) + 0.5

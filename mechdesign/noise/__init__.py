"""How much noise on the real line does a guarantee take, and what does noise leak?

In: numbers, priors with numeric labels, or laws of a bounded secret.
Out: amounts of noise that are never too small, leakages of outcomes, and mechanisms.

Beside them stand noise on a map, which gives kernels over places, and randomised response, whose
levels have closed forms as well.
"""

from ._quantise import counting_edges, quantise
from .additive import (
    classical_comparison,
    classical_gaussian_variance,
    gaussian_variance,
    gaussian_variance_for_dp,
    gaussian_variance_given_secret,
    information_from_approximate,
    laplace_scale,
    query_spread,
    variation_from_information,
    wasserstein_infinity,
    wasserstein_scale,
)
from .bounded import GaussianNoise, LaplaceMean
from .information import noisy_information
from .law import Law
from .planar import exponential, planar_geometric, planar_laplace
from .response import RandomisedResponse

__all__ = [
    "GaussianNoise",
    "LaplaceMean",
    "Law",
    "RandomisedResponse",
    "classical_comparison",
    "classical_gaussian_variance",
    "counting_edges",
    "exponential",
    "gaussian_variance",
    "gaussian_variance_for_dp",
    "gaussian_variance_given_secret",
    "information_from_approximate",
    "laplace_scale",
    "noisy_information",
    "planar_geometric",
    "planar_laplace",
    "quantise",
    "query_spread",
    "variation_from_information",
    "wasserstein_infinity",
    "wasserstein_scale",
]

"""Mechanisms on the real line: Laplace and Gaussian noise, randomised response, quantisation."""

from .additive import (
    classical_comparison,
    classical_gaussian_variance,
    gaussian_variance,
    gaussian_variance_for_dp,
    gaussian_variance_given_secret,
    information_from_approximate,
    laplace_scale,
    noisy_information,
    query_spread,
    variation_from_information,
)
from .gaussian import GaussianNoise
from .laplace import LaplaceMean
from .laws import Law
from .quantising import counting_edges, quantise
from .response import RandomisedResponse
from .wasserstein import wasserstein_infinity, wasserstein_scale

__all__ = [
    "GaussianNoise",
    "LaplaceMean",
    "Law",
    "RandomisedResponse",
    "classical_comparison",
    "classical_gaussian_variance",
    "counting_edges",
    "gaussian_variance",
    "gaussian_variance_for_dp",
    "gaussian_variance_given_secret",
    "information_from_approximate",
    "laplace_scale",
    "noisy_information",
    "quantise",
    "query_spread",
    "variation_from_information",
    "wasserstein_infinity",
    "wasserstein_scale",
]

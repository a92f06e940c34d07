"""Bounds of partition learning: the paper's, corrected where needed, and sharper ones.

Functions named ``sharp_…`` hold under the assumptions of the paper's and are smaller; their proofs
are in their docstrings. Corrections of the paper are in the notes of the functions concerned, with
the numbers of its source (theorems counted together by section, equations throughout).
"""

from plcp.theory.complexity import (
    log_covering_network,
    log_covering_ordered,
    log_covering_softmax,
    log_growth_ordered,
)
from plcp.theory.estimates import Estimate, lipschitz_constant, quantile_variance
from plcp.theory.finite import (
    best_m,
    calibrated_coverage,
    fallback_coverage,
    finite_coverage,
    finite_excess,
    finite_msce,
    learning_error,
    population_coverage,
    sharp_best_m,
    sharp_finite_excess,
    sharp_finite_msce,
    sharp_learning_error,
)
from plcp.theory.population import (
    msce_bound,
    population_excess,
    population_msce,
    quantisation_bits,
    sharp_population_excess,
    sharp_population_msce,
    sharp_quantisation_bits,
)

__all__ = [
    "Estimate",
    "best_m",
    "calibrated_coverage",
    "fallback_coverage",
    "finite_coverage",
    "finite_excess",
    "finite_msce",
    "learning_error",
    "lipschitz_constant",
    "log_covering_network",
    "log_covering_ordered",
    "log_covering_softmax",
    "log_growth_ordered",
    "msce_bound",
    "population_coverage",
    "population_excess",
    "population_msce",
    "quantile_variance",
    "quantisation_bits",
    "sharp_best_m",
    "sharp_finite_excess",
    "sharp_finite_msce",
    "sharp_learning_error",
    "sharp_population_excess",
    "sharp_population_msce",
    "sharp_quantisation_bits",
]

"""The theory of partition learning as functions: what it promises, and under which assumptions.

Functions named ``sharp_…`` hold under the same assumptions as the paper's beside them and are
smaller; their proofs are in their docstrings. Numbers of theorems and equations are those of the
paper's source (theorems counted together by section, equations throughout).

Where the paper is loose or wrong, and where that is said:

- Section 2: split conformal's threshold is the ⌈(1-α)(n+1)⌉-th *smallest* of the n scores and ∞
  (``plcp.quantiles.conformal_rank``); printed is the ⌈(1-α)n⌉-th largest, which covers about α.
- Problem (8) is not convex; Theorem 3.6 is of order 1/√m where 1/m holds, needs m ≥ 2, and its
  proof's partition has m parts: ``population_excess``, ``sharp_population_excess``.
- The claim (18) in the proof of Proposition 3.5 is printed the wrong way round; Corollaries 3.7 and
  3.12 need one more step for thresholds that are drawn: ``msce_bound``.
- Equation (14) sums to n where it must be m; Theorem 3.11 has var / m though Theorem 3.6 gives
  var / (m - 1): ``finite_excess``.
- ε₂, "sufficiently large n", h^∞, a step of Lemma E.1, Theorem D.1, Lemma D.3, and hard partitions,
  which have no finite net in the paper's metric: ``learning_error``.
- Remark B.1 lacks a one, and asks for twice the bits: ``quantisation_bits``.
- Corollary C.1 (a), infinite sample, bounds what is zero: ``calibrated_coverage``.
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

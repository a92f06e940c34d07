"""Linear quantile regression as a linear program, and a vertex of it."""

from dataclasses import dataclass

import numpy as np

from plcp.programs.span import Span, span_of
from plcp.quantiles import FloatArray, IntArray

JITTER = 1e-10  # of a score's distance from others: ties are broken, and nothing else is moved
WHOLE = 1e-9  # an interpolation weight this near a whole number is that number
ROUNDING = 1e-13  # of the scores that a threshold adds up: what a sum may lose


class ProgramError(RuntimeError):
    """A program was not solved; the message says how far it came."""


@dataclass(frozen=True)
class Program:
    r"""Linear quantile regression and its dual.

    .. math:: \min_\beta \sum_i w_i \ell_\tau(s_i - z_i^\top\beta)
        = \max_\eta\; s^\top\eta \;\text{ such that }\; Z^\top\eta = 0,\;
        w_i(\tau - 1) \le \eta_i \le w_i\tau.

    ``features`` Z are coordinates in the span of the given columns; ``ranked`` are the scores with
    ties broken; ``pull`` is what rows of settled duals, left out, add to Z'η.
    """

    span: Span
    features: FloatArray
    scores: FloatArray
    ranked: FloatArray
    lower: FloatArray
    upper: FloatArray
    pull: FloatArray


@dataclass(frozen=True)
class Vertex:
    """A solution that meets d rows, the basis, exactly.

    ``inverse`` is that of the basis rows of Z; ``residuals`` are of the ranked scores; ``duals``
    are at a bound for every other row.
    """

    program: Program
    basis: IntArray
    inverse: FloatArray
    residuals: FloatArray
    duals: FloatArray

    @property
    def coef(self) -> FloatArray:
        """Coefficients of the columns given; those that follow from others have none."""
        span = self.program.span
        coef = np.zeros(len(span.kept) + len(span.dropped))
        coef[span.kept] = span.rotation @ (self.inverse @ self.program.scores[self.basis])
        return coef

    def predict(self, features: FloatArray) -> FloatArray:
        """Fitted quantile of rows; infinite outside the span, where nothing is known."""
        span = self.program.span
        weights = span.coordinates(features) @ self.inverse
        quantiles = interpolated(weights, self.program.scores[self.basis])
        return np.where(span.contains(features), quantiles, np.inf)


def interpolated(weights: FloatArray, scores: FloatArray) -> FloatArray:
    """Mean of basis scores by interpolation weights, exactly a score where all but one are zero."""
    nearest = np.round(weights)
    weights = np.where(np.abs(weights - nearest) <= WHOLE, nearest, weights)
    terms = weights * scores
    # a sum that rounding leaves just below a tied score must cover it all the same
    sums = np.count_nonzero(weights, axis=-1) > 1
    return np.asarray(terms.sum(axis=-1) + ROUNDING * sums * np.abs(terms).sum(axis=-1))


def make_program(
    features: FloatArray, scores: FloatArray, level: float, weights: FloatArray | None = None
) -> Program:
    """Program of the quantile regression of scores on features, of whatever rank."""
    span = span_of(features)
    counts = np.ones(len(scores)) if weights is None else weights
    bounds = (level - 1) * counts, level * counts
    pull = np.zeros(len(span.kept))
    coordinates = span.coordinates(features)
    return Program(span, coordinates, scores, without_ties(scores), *bounds, pull)


def without_ties(scores: FloatArray) -> FloatArray:
    """Scores moved a little, each by its distance from the median: few outliers blur no other."""
    distances = np.abs(scores - np.median(scores))
    apart = distances[distances > 0]
    spread = np.maximum(distances, np.median(apart) if len(apart) else 1.0)
    return scores + JITTER * spread * np.random.default_rng(0).uniform(-1, 1, len(scores))

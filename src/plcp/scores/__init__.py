"""Scores S(x, y), each with its inverse {y : S(x, y) <= t}."""

from plcp.scores.base import Score
from plcp.scores.probabilities import CumulativeProbability, LabelProbability
from plcp.scores.residuals import (
    AbsoluteResidual,
    NormalizedResidual,
    QuantileResidual,
    SignedResidual,
)

__all__ = [
    "AbsoluteResidual",
    "CumulativeProbability",
    "LabelProbability",
    "NormalizedResidual",
    "QuantileResidual",
    "Score",
    "SignedResidual",
]

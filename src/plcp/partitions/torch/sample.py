"""Rows with their scores and weights, as tensors."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import torch
from sklearn.model_selection import train_test_split
from torch import Tensor

from plcp.partitions.torch.training import Training
from plcp.quantiles import FloatArray, IntArray, pinball_loss, weighted_quantiles
from plcp.rows import take

LEAST_ROWS = 20  # below which none can be spared


@dataclass(frozen=True)
class Sample:
    """Rows, their scores on the scale of learning, and weights that are 1 on average."""

    X: Any
    scores: Tensor
    weights: Tensor

    @classmethod
    def of(cls, X: Any, scores: FloatArray, weights: FloatArray) -> Self:
        """Return a sample of arrays."""
        return cls(X, torch.tensor(scores).float(), torch.tensor(weights / weights.mean()).float())

    def __len__(self) -> int:
        return len(self.scores)

    def at(self, rows: IntArray, device: torch.device) -> tuple[Tensor, Tensor]:
        """Return scores and weights of some rows."""
        return self.scores[rows].to(device), self.weights[rows].to(device)

    def array(self) -> FloatArray:
        """Return the scores as an array of doubles."""
        return self.scores.double().numpy()

    def split_loss(self, alpha: float) -> float:
        """Mean pinball loss of the best single threshold; 1 where nothing is lost."""
        scores, weights = self.array(), self.weights.double().numpy()
        best = weighted_quantiles(scores, weights[:, None], 1 - alpha)[0]
        return float(np.average(pinball_loss(best, scores, alpha), weights=weights)) or 1.0

    def take(self, rows: IntArray) -> "Sample":
        """Return the sample of some rows."""
        return Sample(take(self.X, rows), self.scores[rows], self.weights[rows])


def hold_out(
    sample: Sample, plan: Training, rng: np.random.RandomState
) -> tuple[Sample, Sample | None]:
    """Rows to learn from, and rows to stop by if that is asked for."""
    if not plan.early_stopping or len(sample) < LEAST_ROWS:
        return sample, None
    rows = np.arange(len(sample))
    learn, hold = train_test_split(rows, test_size=plan.validation_fraction, random_state=rng)
    return sample.take(learn), sample.take(hold)

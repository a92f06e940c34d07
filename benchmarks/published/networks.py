"""The predictor of the protocols: a network of two hidden layers, like any of scikit-learn."""

from typing import Any, Self

import numpy as np
import torch
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_memory
from torch import nn
from torch.nn.functional import huber_loss

Weights = list[np.ndarray]


class Network(RegressorMixin, BaseEstimator):
    """Two hidden layers, Adam, a fixed number of epochs; Huber loss, or pinball loss at levels.

    Epochs, batch and rate are those of the authors' public code.

    Parameters
    ----------
    levels : tuple of float, default=()
        Quantiles to predict, one column each; none for the mean, by Huber loss.
    memory : str, joblib.Memory or None, default=None
        Where trained networks are kept, by rows, labels and parameters.
    """

    def __init__(
        self,
        levels: tuple[float, ...] = (),
        *,
        width: int = 256,
        epochs: int = 200,
        batch_size: int = 256,
        learning_rate: float = 1e-3,
        memory: Any = None,
        random_state: Any = None,
    ) -> None:
        self.levels = levels
        self.width = width
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.memory = memory
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Train on all rows, from weights that the seed draws."""
        X, y = (np.asarray(values, dtype=np.float32) for values in (X, y))
        self.n_features_in_ = X.shape[1]
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        trained = check_memory(self.memory).cache(train)
        self.weights_ = trained(
            X, y, self.levels, self.width, self.epochs, self.batch_size, self.learning_rate, seed
        )
        return self

    def predict(self, X: Any) -> np.ndarray:
        """One value per row, or one column per level, in order."""
        hidden = np.asarray(X, dtype=np.float32)
        *inner, (slopes, constants) = zip(self.weights_[::2], self.weights_[1::2], strict=True)
        for slope, constant in inner:
            hidden = np.maximum(hidden @ slope.T + constant, 0)
        predicted = (hidden @ slopes.T + constants).astype(float)
        return np.sort(predicted, axis=1) if self.levels else predicted[:, 0]


def train(
    X: np.ndarray,
    y: np.ndarray,
    levels: tuple[float, ...],
    width: int,
    epochs: int,
    batch_size: int,
    learning_rate: float,
    seed: int,
) -> Weights:
    """Slopes and constants of each layer, after the last epoch."""
    rows, target = torch.from_numpy(X), torch.from_numpy(y)[:, None]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = nn.Sequential(
            nn.Linear(X.shape[1], width),
            nn.ReLU(),
            nn.Linear(width, width),
            nn.ReLU(),
            nn.Linear(width, max(len(levels), 1)),
        )
        optimizer = torch.optim.Adam(network.parameters(), lr=learning_rate, fused=True)
        for _ in range(epochs):
            for batch in torch.randperm(len(rows)).split(batch_size):
                optimizer.zero_grad()
                _loss(network(rows[batch]), target[batch], levels).backward()
                optimizer.step()
    return [weights.detach().numpy() for weights in network.parameters()]


def _loss(predicted: torch.Tensor, target: torch.Tensor, levels: tuple[float, ...]) -> torch.Tensor:
    if not levels:
        return huber_loss(predicted, target)
    at, excess = torch.tensor(levels), target - predicted
    return torch.maximum(at * excess, (at - 1) * excess).sum(dim=1).mean()

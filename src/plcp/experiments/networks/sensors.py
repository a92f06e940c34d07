"""The predictor of gas sensors: one layer of 64 units."""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from plcp.experiments.networks.training import logits_of, one_thread, train_classifier

UNITS = 64


def gas_logits(
    X: NDArray[np.float64],
    y: NDArray[np.int64],
    early: NDArray[np.bool_],
    n_classes: int,
    epochs: int,
    seed: int,
) -> NDArray[np.float64]:
    """Learn from the early rows, and give the logits of the others."""
    rows = torch.from_numpy(X.astype(np.float32))
    with one_thread(seed):
        network = nn.Sequential(
            nn.Linear(X.shape[1], UNITS), nn.ReLU(), nn.Linear(UNITS, n_classes)
        )
        train_classifier(network, rows[early], torch.from_numpy(y[early]), epochs)
        return logits_of(network, rows[~early])

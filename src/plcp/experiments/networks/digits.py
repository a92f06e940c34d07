"""A predictor of digits: three convolutions and a linear layer."""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from plcp.experiments.networks.training import logits_of, train_classifier

N_DIGITS, SIDE = 10, 28


def digit_network(channels: Sequence[int]) -> nn.Module:
    """Three convolutions of so many channels, the first two pooled, and ten logits.

    Examples
    --------
    >>> digit_network([4, 8, 8])(torch.zeros(3, 1, 28, 28)).shape
    torch.Size([3, 10])
    """
    first, second, third = channels
    return nn.Sequential(
        nn.Conv2d(1, first, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(first, second, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(second, third, 3, padding=1),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(third * (SIDE // 4) ** 2, N_DIGITS),
    )


def read_digits(
    X_train: NDArray[np.float32],
    y_train: NDArray[np.int64],
    X: NDArray[np.float32],
    channels: Sequence[int],
    epochs: int,
) -> NDArray[np.float64]:
    """Logits of the images X, by a network that learned from the others."""
    network = digit_network(channels)
    train_classifier(network, torch.from_numpy(X_train), torch.from_numpy(y_train), epochs)
    return logits_of(network, torch.from_numpy(X))

"""A classifier taught by Adam, and asked for its logits."""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

BATCH_SIZE, ASKED_AT_ONCE = 128, 1_000


@contextmanager
def one_thread(seed: int) -> Iterator[None]:
    """Draw torch's numbers from ``seed`` and compute on one thread; then all is as it was.

    Sums over several threads differ in their last bits, and training makes them differ in the
    first: on one thread a seed gives the same network on any number of cores.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            yield
    finally:
        torch.set_num_threads(threads)


def train_classifier(network: nn.Module, X: Tensor, y: Tensor, epochs: int) -> nn.Module:
    """Teach a network by Adam on the cross-entropy; it is changed, and returned ready to ask."""
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-3)
    network.train()
    for _ in range(epochs):
        for rows in torch.randperm(len(X)).split(BATCH_SIZE):
            optimizer.zero_grad()
            nn.functional.cross_entropy(network(X[rows]), y[rows]).backward()
            optimizer.step()
    return network.eval()


@torch.no_grad()
def logits_of(network: nn.Module, X: Tensor) -> NDArray[np.float64]:
    """Logits in double precision: in single, softmax probabilities near one tie."""
    asked = [network(batch) for batch in X.split(ASKED_AT_ONCE)]
    return torch.cat(asked).numpy().astype(np.float64)

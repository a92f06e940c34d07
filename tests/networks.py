"""Tiny data, tiny networks and data sets that the tests of neural partitions share."""

import weakref

import numpy as np
import torch
from torch import nn
from torch.utils.data import Dataset


def draw(rng, n=200, factor=20.0):
    """Vectors of two kinds, distinct in their first column, and scores ``factor`` apart."""
    X = rng.uniform(-1, 1, size=(n, 2))
    return X, np.where(X[:, 0] > 0, factor, 1.0) * rng.exponential(size=n)


def draw_images(rng, n=200, factor=20.0):
    """Bytes of images of two kinds, dark and bright, and scores ``factor`` apart."""
    bright = rng.uniform(size=n) > 0.5
    low = np.where(bright, 128, 0)[:, None, None, None]
    images = (low + rng.integers(0, 128, size=(n, 1, 6, 6))).astype(np.uint8)
    return images, np.where(bright, factor, 1.0) * rng.exponential(size=n)


def weights_of(network):
    """All parameters and buffers, as one vector."""
    return torch.cat([value.flatten().double() for value in network.state_dict().values()]).numpy()


class Items(Dataset):
    """A data set whose row i is ``item(X[i])``."""

    def __init__(self, X, item=torch.as_tensor):
        self.X, self.item = X, item

    def __len__(self):
        return len(self.X)

    def __getitem__(self, row):
        return self.item(self.X[row])


class Live(Items):
    """A data set that knows how many of the rows it gave are still held, and most ever were."""

    def __init__(self, X):
        super().__init__(X)
        self.now = self.most = 0

    def __getitem__(self, row):
        item = torch.tensor(self.X[row])
        self.now += 1
        self.most = max(self.most, self.now)
        weakref.finalize(item, self._let_go)
        return item

    def _let_go(self):
        self.now -= 1


class Failing(nn.Module):
    """A linear layer that breaks in one of its passes in training: "interrupt" or "nan"."""

    def __init__(self, how=None, at=0, width=4):
        super().__init__()
        self.linear = nn.LazyLinear(width)
        self.how, self.at, self.passes = how, at, 0

    def forward(self, x):
        self.passes += self.training
        broken = self.training and self.passes == self.at
        if broken and self.how == "interrupt":
            raise KeyboardInterrupt
        return self.linear(x) * (float("nan") if broken and self.how == "nan" else 1.0)


class Watched(nn.Module):
    """A linear layer that keeps the types of its outputs in training."""

    seen: list  # of all copies: a fit trains a copy

    def __init__(self, width=4):
        super().__init__()
        self.linear = nn.LazyLinear(width)

    def forward(self, x):
        outputs = self.linear(x)
        if self.training:
            type(self).seen.append(outputs.dtype)
        return outputs

"""The methods that meet blurred digits: a rule each, and what it sees of an image."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from plcp.experiments.experiment import Settings
from plcp.experiments.methods import DEFAULT, PUBLISHED, SPLIT, as_published
from plcp.partitions.torch import TorchPartition, TorchQuantile, small_cnn
from plcp.thresholds import PLCP, LocalCP, Mondrian, Rectified, SplitConformal

PLAIN, CQR, LOCAL, ORACLE = "Algorithm 1, plain descent", "CQR", "LocalCP", "oracle"
# nothing of what keeps softmax groups alive: the paper's words, taken literally
UNAIDED = {
    "descent": "joint",
    "start": "random",
    "balance": 0.0,
    "ranks": False,
    "standardize": False,
}


@dataclass(frozen=True)
class Images:
    """Blurred images, their labels, the level of blur, and the predictor's logits."""

    X: NDArray[np.float32]
    y: NDArray[np.int64]
    level: NDArray[np.int64]
    logits: NDArray[np.float64]

    def __getitem__(self, rows: slice) -> "Images":
        return Images(self.X[rows], self.y[rows], self.level[rows], self.logits[rows])

    @property
    def probabilities(self) -> NDArray[np.float64]:
        """Softmax of the logits."""
        return np.asarray(softmax(self.logits, axis=1))


class Method(NamedTuple):
    """A rule, and what it is shown of each image."""

    rule: Any
    sees: Callable[[Images], NDArray[Any]]


def methods(settings: Settings, seed: int) -> dict[str, Method]:
    """All methods, not fitted; only the oracle is told the level of blur."""
    alpha, epochs = settings["alpha"], settings["epochs"]
    # one device, so that a seed means the same numbers wherever it runs
    training = {"epochs": epochs, "device": "cpu"}
    index = TorchQuantile(small_cnn(), **training)
    default = PLCP(TorchPartition(small_cnn(), **training), alpha=alpha, random_state=seed)
    return {
        SPLIT: Method(SplitConformal(alpha), _level),  # looks at the scores alone
        PUBLISHED: Method(_algorithm_1(settings, seed, training), _pixels),
        PLAIN: Method(_algorithm_1(settings, seed, training | UNAIDED), _pixels),
        DEFAULT: Method(default, _pixels),
        CQR: Method(Rectified(index, alpha, adjustment="difference", random_state=seed), _pixels),
        LOCAL: Method(LocalCP(alpha=alpha, random_state=seed), _probabilities),
        ORACLE: Method(Mondrian(0, alpha), _level),
    }


def _algorithm_1(settings: Settings, seed: int, options: dict[str, Any]) -> PLCP:
    partition = TorchPartition(small_cnn(), structure="softmax", **options)
    return as_published(partition, settings["n_groups"], settings["alpha"], seed)


def _level(images: Images) -> NDArray[np.int64]:
    return images.level[:, None]


def _pixels(images: Images) -> NDArray[np.float32]:
    return images.X


def _probabilities(images: Images) -> NDArray[np.float64]:
    return images.probabilities

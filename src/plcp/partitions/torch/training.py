"""How a network is trained: the options that both estimators share, checked once."""

from dataclasses import dataclass, fields
from functools import partial
from numbers import Real
from typing import Any, Self

import numpy as np
import torch

from plcp.partitions.torch.devices import find_device
from plcp.validation import check_count, check_option, check_share

# Fused steps are a third of the time of one step a tensor, on small networks.
OPTIMIZERS = {
    "adam": partial(torch.optim.Adam, fused=True),
    "adamw": partial(torch.optim.AdamW, fused=True),
    "sgd": partial(torch.optim.SGD, fused=True),
}
SCHEDULES = ("cosine", "constant")
LARGEST_BATCH = 128
LEAST_STEPS, LEAST_PATIENCE = 450, 3


@dataclass(frozen=True)
class Training:
    """Options of a descent; `TorchQuantile` says what each of them means."""

    optimizer: Any
    learning_rate: float
    schedule: str
    batch_size: int | str
    epochs: int | str
    early_stopping: bool
    validation_fraction: float
    patience: int | str
    clip_norm: float | None
    mixed_precision: bool
    device: str
    verbose: bool

    @classmethod
    def of(cls, estimator: Any) -> Self:
        """Return the options of an estimator, checked."""
        plan = cls(**{field.name: getattr(estimator, field.name) for field in fields(cls)})
        plan._check()
        return plan

    def _check(self) -> None:
        if not callable(self.optimizer):
            check_option("optimizer", self.optimizer, tuple(OPTIMIZERS))
        check_option("schedule", self.schedule, SCHEDULES)
        check_share("validation_fraction", self.validation_fraction)
        for name in ("batch_size", "epochs", "patience"):
            if getattr(self, name) != "auto":
                check_count(name, getattr(self, name), 1)
        for name in ("early_stopping", "mixed_precision"):
            if not isinstance(getattr(self, name), bool):
                raise ValueError(f"{name} must be True or False, got {getattr(self, name)!r}")
        _check_positive("learning_rate", self.learning_rate)
        if self.clip_norm is not None:
            _check_positive("clip_norm", self.clip_norm)
        find_device(self.device)

    def make_optimizer(self, parameters: list[Any]) -> torch.optim.Optimizer:
        """Return the optimiser of some parameters."""
        make: Any = OPTIMIZERS.get(self.optimizer, self.optimizer)
        return make(parameters, lr=self.learning_rate)

    def rate(self, progress: float) -> float:
        """Learning rate when a share of all steps is done."""
        if self.schedule == "constant":
            return self.learning_rate
        return float(self.learning_rate * (1 + np.cos(np.pi * progress)) / 2)

    def batch_for(self, n: int) -> int:
        """Rows in a batch of n: 128, or all where there are fewer."""
        if self.batch_size == "auto":
            return min(LARGEST_BATCH, n)
        if int(self.batch_size) > n:
            raise ValueError(
                f"batch_size = {self.batch_size} is larger than the {n} rows to learn from: "
                "give a smaller one, or 'auto'"
            )
        return int(self.batch_size)

    def epochs_for(self, n: int, least: int) -> int:
        """Passes over n rows; "auto": at least so many, and enough for 450 steps."""
        if self.epochs == "auto":
            return max(least, -(-LEAST_STEPS * self.batch_for(n) // n))
        return int(self.epochs)

    def patience_for(self, epochs: int) -> int:
        """Epochs to wait for a better one: a quarter of all, for an epoch may be but two steps."""
        return max(LEAST_PATIENCE, epochs // 4) if self.patience == "auto" else int(self.patience)


def is_number(value: Any) -> bool:
    """Whether this is a real number, and no truth value."""
    return isinstance(value, Real) and not isinstance(value, bool)


def _check_positive(name: str, value: Any) -> None:
    if not is_number(value) or not 0 < value < np.inf:
        raise ValueError(f"{name} must be a positive number, got {value!r}")

"""Where the arithmetic is done."""

from typing import Any

import torch
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline


def find_device(name: str) -> torch.device:
    """Device of this name; "auto": CUDA, else MPS, else the CPU.

    Examples
    --------
    >>> find_device("cpu")
    device(type='cpu')
    """
    if name == "auto":
        name = next((kind for kind in ("cuda", "mps") if is_there(kind)), "cpu")
    try:
        device = torch.device(name)
    except (RuntimeError, TypeError):
        raise ValueError(f"device must be 'auto', 'cpu', 'cuda' or 'mps', got {name!r}") from None
    if not is_there(device.type):
        raise ValueError(
            f"device {name!r} is not there: torch {torch.__version__} sees none on this machine; "
            "use device='auto' or 'cpu'"
        )
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        count = torch.cuda.device_count()
        raise ValueError(f"device {name!r} is not there: this machine has {count} CUDA device(s)")
    return device


def to_device(fitted: Any, name: str) -> None:
    """Let every network inside a fitted estimator, a rule or a partition, predict on a device.

    Examples
    --------
    >>> from plcp import PLCP
    >>> from plcp.datasets import make_toy
    >>> from plcp.partitions.torch import TorchPartition, mlp
    >>> task = make_toy(200, random_state=0)
    >>> rule = PLCP(TorchPartition(mlp(4), epochs=1), random_state=0).fit(task.X, task.scores)
    >>> to_device(rule, "cpu")
    """
    find_device(name)
    if type(fitted).__module__.startswith(__package__):
        fitted.set_params(device=name)
    for part in _learned_parts(fitted):
        ours = type(part).__module__.startswith("plcp.")  # others may have devices of their own
        if isinstance(part, Pipeline) or (ours and isinstance(part, BaseEstimator)):
            to_device(part, name)


def _learned_parts(fitted: Any) -> list[Any]:
    if isinstance(fitted, Pipeline):
        return [step for _, step in fitted.steps]
    learned = [value for key, value in vars(fitted).items() if key.endswith("_")]
    return [part for value in learned for part in (value if isinstance(value, list) else [value])]


def is_there(kind: str) -> bool:
    """Whether this machine has a device of a kind."""
    if kind == "cuda":
        return torch.cuda.is_available()
    return torch.backends.mps.is_available() if kind == "mps" else kind == "cpu"

"""The user's module between standardised input and a linear layer of the width that is wanted."""

from copy import deepcopy
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from plcp.partitions.torch.batches import moments, outputs_of, read, row_shape
from plcp.partitions.torch.devices import find_device
from plcp.partitions.torch.modules import mlp, small_cnn
from plcp.quantiles import FloatArray
from plcp.validation import first_not_finite


class Standardise(nn.Module):
    """Each column, or channel of images, less its mean, over its spread."""

    def __init__(self, mean: Tensor, spread: Tensor) -> None:
        super().__init__()
        self.register_buffer("mean", mean)
        self.register_buffer("spread", spread)

    def forward(self, x: Tensor) -> Tensor:
        """Return standardised rows."""
        shape = (1, -1) + (1,) * (x.ndim - 2)
        return (x - self.get_buffer("mean").view(shape)) / self.get_buffer("spread").view(shape)


def make_network(
    module: nn.Module | None, X: Any, width: int, *, head: bool, standardise: bool
) -> nn.Sequential:
    """Return a network with ``width`` outputs that takes rows of X as they come.

    None: ``mlp(200, 100)`` for vectors, ``small_cnn()`` for images. Draws the weights that are not
    there yet.
    """
    rows = read(X, np.arange(2) % len(X))  # two: some layers refuse a batch of one
    if module is None:
        module = mlp(200, 100) if rows.ndim == 2 else small_cnn()
    if not isinstance(module, nn.Module):
        raise TypeError(f"module must be a torch.nn.Module or None, got {module!r}")
    layers: list[nn.Module] = [Standardise(*moments(X))] if standardise else []
    network = nn.Sequential(*layers, deepcopy(module).float()).eval()
    found = _first_outputs(network, rows)
    if not isinstance(found, Tensor) or found.ndim != 2 or len(found) != len(rows):
        shape = tuple(found.shape) if isinstance(found, Tensor) else type(found).__name__
        raise ValueError(
            f"the module must give one vector a row, shape (2, k) for two rows of shape "
            f"{tuple(rows.shape[1:])}, got {shape}: add nn.Flatten(), and a channel "
            "axis to images, X[:, None]"
        )
    if head:
        network.append(nn.Linear(found.shape[1], width))
    elif found.shape[1] != width:
        raise ValueError(
            f"the module gives {found.shape[1]} outputs a row, but {width} are needed: change its "
            "last layer or n_groups, or set head=True, which puts a linear layer on top"
        )
    if not any(p.requires_grad for p in network.parameters()):
        raise ValueError("every parameter is frozen: set head=True, or let some of them learn")
    return network


def _first_outputs(network: nn.Module, rows: Tensor) -> Any:
    try:
        with torch.no_grad():
            return network(rows)
    except (RuntimeError, TypeError, ValueError) as error:
        shape = tuple(rows.shape[1:])
        raise ValueError(f"the module cannot take rows of shape {shape}: {error}") from error


def ask(network: nn.Module, X: Any, device_name: str, fitted_shape: tuple[int, ...]) -> FloatArray:
    """Outputs for all rows, computed on a device; the network itself stays on the CPU."""
    given = row_shape(X)
    if given != fitted_shape:
        raise ValueError(f"rows have shape {given}, but the network was fitted on {fitted_shape}")
    device = find_device(device_name)
    there = network if device.type == "cpu" else deepcopy(network).to(device)
    outputs = outputs_of(there, X, device)
    fault = first_not_finite(outputs.sum(axis=1))
    if fault:
        raise ValueError(f"the network gives {fault}: look for NaN or huge numbers in that row")
    return outputs

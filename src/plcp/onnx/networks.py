"""Trained networks of the extra ``torch``, layer by layer."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from plcp.onnx.graph import Graph, Rows, refused
from plcp.partitions.torch.partition import SoftmaxGroups
from plcp.partitions.torch.training import Standardise

Layer = Callable[[Graph, str, Any], str]


def network_quantile(rows: Rows, model: Any) -> str:
    """Quantile of the score by a ``TorchQuantile``, (n, 1)."""
    (start, end), (low, high) = model.scale_.values, model.scale_.scores
    slope = (high - low) / (end - start)
    return rows.graph.line(network_outputs(rows, model), [slope], low - slope * start)


def network_outputs(rows: Rows, model: Any) -> str:
    """Outputs of the network of a ``TorchQuantile`` or ``TorchPartition``, as doubles."""
    graph = rows.graph
    single = graph.cast(rows.numbers(model), "float")  # as networks compute
    return graph.cast(_outputs(graph, single, model.network_), "double")


def _outputs(graph: Graph, given: str, module: nn.Module) -> str:
    """What a module makes of its input."""
    if type(module) is SoftmaxGroups:
        return _outputs(graph, given, module.network)
    if type(module) is nn.Sequential:
        for part in module:
            given = _outputs(graph, given, part)
        return given
    if type(module) not in LAYERS:
        known = ", ".join(kind.__name__ for kind in LAYERS)
        raise refused(module, "this layer is not known here", f"build the network from {known}")
    return LAYERS[type(module)](graph, given, module)


def _standardise(graph: Graph, given: str, module: Any) -> str:
    return _normalised(graph, given, None, None, module.mean, module.spread.double() ** 2, 0.0)


def _batch_norm(graph: Graph, given: str, module: Any) -> str:
    if module.running_mean is None:
        raise refused(module, "it depends on the rows around", "leave track_running_stats as it is")
    learned = module.weight, module.bias, module.running_mean, module.running_var
    return _normalised(graph, given, *learned, module.eps)


def _normalised(
    graph: Graph,
    given: str,
    weight: Tensor | None,
    bias: Tensor | None,
    mean: Tensor,
    variance: Tensor,
    epsilon: float,
) -> str:
    """Each column, or channel of images, less its mean, over its spread."""
    weight = torch.ones(len(mean)) if weight is None else weight
    bias = torch.zeros(len(mean)) if bias is None else bias
    numbers = [graph.constant(_single(values)) for values in (weight, bias, mean, variance)]
    return graph.add("BatchNormalization", given, *numbers, epsilon=epsilon)


def _linear(graph: Graph, given: str, module: Any) -> str:
    return graph.add("Gemm", given, *_weights(graph, module), transB=1)


def _convolution(graph: Graph, given: str, module: Any) -> str:
    if module.padding_mode != "zeros" or isinstance(module.padding, str):
        raise refused(module, "it pads with other than so many zeros", "give padding as numbers")
    return graph.add(
        "Conv",
        given,
        *_weights(graph, module),
        strides=module.stride,
        pads=module.padding * 2,
        dilations=module.dilation,
        group=module.groups,
    )


def _largest(graph: Graph, given: str, module: Any) -> str:
    return graph.add(
        "MaxPool",
        given,
        kernel_shape=_pair(module.kernel_size),
        strides=_pair(module.stride),
        pads=_pair(module.padding) * 2,
        dilations=_pair(module.dilation),
        ceil_mode=int(module.ceil_mode),
    )


def _flat(graph: Graph, given: str, module: Any) -> str:
    if (module.start_dim, module.end_dim) != (1, -1):
        raise refused(module, "it flattens some axes only", "use Flatten()")
    return graph.add("Flatten", given)


def _same(graph: Graph, given: str, module: Any) -> str:
    return given


def _activation(kind: str) -> Layer:
    return lambda graph, given, module: graph.add(kind, given)


LAYERS: dict[type[nn.Module], Layer] = {
    nn.BatchNorm1d: _batch_norm,
    nn.BatchNorm2d: _batch_norm,
    nn.Conv2d: _convolution,
    nn.Dropout: _same,
    nn.Flatten: _flat,
    nn.Identity: _same,
    nn.Linear: _linear,
    nn.MaxPool2d: _largest,
    nn.ReLU: _activation("Relu"),
    nn.Sigmoid: _activation("Sigmoid"),
    nn.Tanh: _activation("Tanh"),
    Standardise: _standardise,
}


def _weights(graph: Graph, module: Any) -> list[str]:
    found = [module.weight] if module.bias is None else [module.weight, module.bias]
    return [graph.constant(_single(values)) for values in found]


def _single(values: Tensor) -> NDArray[np.float32]:
    return values.detach().float().numpy()


def _pair(number: int | tuple[int, int]) -> tuple[int, int]:
    return (number, number) if isinstance(number, int) else number

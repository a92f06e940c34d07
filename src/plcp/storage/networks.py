"""Layers of torch that a file may name: those that are all in their attributes.

torch checks shapes itself, but makes room for whatever a layer adds to its input.
"""

import math
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np

from plcp._rows import is_module
from plcp.storage.kinds import Kind
from plcp.storage.objects import dump_class, dump_state, load_state
from plcp.storage.reader import Reader
from plcp.storage.types import found
from plcp.storage.writer import Writer

MOST_ADDED = 64  # of a border around an input, or of cells that it is pooled to, in one direction
ADDED = ("padding", "_reversed_padding_repeated_twice", "output_size")
MOST_UNITS = 2**16  # that a layer has once it has seen its input
UNITS = ("out_features", "out_channels", "num_features")
MOST_WEIGHTS = 2**18  # of such a layer, for each channel of its input
LAYERS = frozenset(
    {
        "AdaptiveAvgPool1d",
        "AdaptiveAvgPool2d",
        "AdaptiveMaxPool1d",
        "AdaptiveMaxPool2d",
        "AvgPool1d",
        "AvgPool2d",
        "BatchNorm1d",
        "BatchNorm2d",
        "BatchNorm3d",
        "Conv1d",
        "Conv2d",
        "Conv3d",
        "Dropout",
        "Dropout1d",
        "Dropout2d",
        "ELU",
        "Embedding",
        "Flatten",
        "GELU",
        "GroupNorm",
        "Hardsigmoid",
        "Hardswish",
        "Hardtanh",
        "Identity",
        "InstanceNorm1d",
        "InstanceNorm2d",
        "LayerNorm",
        "LazyBatchNorm1d",
        "LazyBatchNorm2d",
        "LazyConv1d",
        "LazyConv2d",
        "LazyConv3d",
        "LazyLinear",
        "LeakyReLU",
        "Linear",
        "LogSoftmax",
        "MaxPool1d",
        "MaxPool2d",
        "Mish",
        "ModuleDict",
        "ModuleList",
        "PReLU",
        "ReLU",
        "ReLU6",
        "Sequential",
        "SiLU",
        "Sigmoid",
        "Softmax",
        "Softplus",
        "Tanh",
        "Unflatten",
    }
)


def check_layer(name: str, state: Mapping[str, Any]) -> None:
    """Refuse a layer whose output, or whose weights once it has seen its input, fill memory."""
    limits = dict.fromkeys(ADDED, MOST_ADDED)
    if name.startswith("Lazy"):
        limits |= dict.fromkeys(UNITS, MOST_UNITS)
    for key, most in limits.items():
        if any(not abs(size) <= most for size in _sizes(name, state, key)):
            raise ValueError(f"a layer {name} has a {key} beyond {most:,}: do not use it")
    if name.startswith("LazyConv"):
        weights = [*_sizes(name, state, "out_channels"), *_sizes(name, state, "kernel_size")]
        if not math.prod(max(abs(size), 1) for size in weights) <= MOST_WEIGHTS:
            raise ValueError(
                f"a layer {name} has a kernel_size of more than {MOST_WEIGHTS:,} weights for each "
                "channel: do not use it"
            )


def _sizes(name: str, state: Mapping[str, Any], key: str) -> list[Any]:
    """Return the numbers of an attribute, one or several; torch takes those of numpy too."""
    given = [each for each in np.ravel(np.array(state.get(key), dtype=object)) if each is not None]
    known = [each for each in given if isinstance(each, int | float | np.number)]
    if any(not isinstance(each, int | float | str | np.number) for each in given):
        raise ValueError(f"a layer {name} has a {key} that is no number: do not use it")
    return known


PART = "tensors.safetensors"
OWN = ("_parameters", "_buffers", "_modules")
REMEDY = "pip install 'plcp[files]'"


def _dump_module(module: Any, writer: Writer) -> list[Any]:
    from torch import nn

    writer.packages.add("torch")
    base, state = vars(nn.Module()), dict(vars(module))
    is_lazy = _is_lazy(module)
    plain = {name: value for name, value in state.items() if name not in base}
    hooks = [name for name in base if name.endswith("hooks") and state[name]]
    if is_lazy:  # they hook themselves, until they have seen their input
        plain = {name: value for name, value in plain.items() if not name.endswith("_hook")}
    elif hooks:
        raise writer.refused(module, f"it has {hooks[0][1:].replace('_', ' ')}: remove them first")
    plain |= {name: dict(state[name]) for name in OWN}
    plain |= {name: state[name] for name in ("training", "_non_persistent_buffers_set")}
    return [_layer_name(module, writer), dump_state(plain, writer)]


def _layer_name(module: Any, writer: Writer) -> str:
    """Name of one of torch's own layers after a dot, which no other name begins with."""
    from torch import nn

    name = type(module).__name__
    if name not in LAYERS or getattr(nn, name) is not type(module):
        return dump_class(module, writer)
    try:
        check_layer(name, vars(module))
    except ValueError:
        writer.needs_trust(type(module))
    return f".{name}"


def _load_module(content: Any, reader: Reader) -> Any:
    from torch import nn
    from torch.nn.modules.lazy import LazyModuleMixin

    name, told = content
    cls = _layer(name, reader)
    module, state = object.__new__(cls), load_state(told, reader)
    if cls not in reader.trusted and name.startswith("."):
        check_layer(name[1:], state)
    base = vars(nn.Module())
    allowed = {*OWN, "training", "_non_persistent_buffers_set"}
    strange = [key for key in state if key in base and key not in allowed]
    if strange:
        raise ValueError(f"a module has {strange[0]}, which none that is written here has")
    nn.Module.__init__(module)
    vars(module).update(state)
    if issubclass(cls, LazyModuleMixin):
        module._load_hook = module._register_load_state_dict_pre_hook(module._lazy_load_hook)
        module._initialize_hook = module.register_forward_pre_hook(
            module._infer_parameters, with_kwargs=True
        )
    return module


def _layer(name: Any, reader: Reader) -> Any:
    from torch import nn

    is_layer = isinstance(name, str) and name.startswith(".") and name[1:] in LAYERS
    cls = getattr(nn, name[1:]) if is_layer else found(name, reader.trusted)
    if not isinstance(cls, type) or not issubclass(cls, nn.Module):
        raise ValueError(f"{name} is no module of torch")
    return cls


def _is_lazy(module: Any) -> bool:
    from torch.nn.modules.lazy import LazyModuleMixin

    return isinstance(module, LazyModuleMixin)


def _is_tensor(value: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def _dump_tensor(tensor: Any, writer: Writer) -> list[Any]:
    """Key of its values (none, where it waits for its shape), and what learning does to it."""
    from torch import nn
    from torch.nn.parameter import is_lazy

    about = [isinstance(tensor, nn.Parameter), bool(tensor.requires_grad)]
    if is_lazy(tensor):
        return [None, *about]
    key = f"{len(writer.tensors):05d}"
    writer.tensors[key] = tensor.detach().cpu().contiguous().clone()
    return [key, *about]


def _load_tensor(content: Any, reader: Reader) -> Any:
    from torch import nn
    from torch.nn.parameter import UninitializedBuffer, UninitializedParameter

    key, is_parameter, learns = content
    if key is None:
        return (
            UninitializedParameter(requires_grad=bool(learns))
            if is_parameter
            else UninitializedBuffer()
        )
    if PART not in reader.cache:
        reader.cache[PART] = _unpacked(reader.parts[PART])
    tensor = reader.cache[PART][key]
    return nn.Parameter(tensor, bool(learns)) if is_parameter else tensor.requires_grad_(learns)


def tensor_parts(tensors: dict[str, Any]) -> dict[str, bytes]:
    """Return the part that holds tensors, if there are any."""
    if not tensors:
        return {}
    try:
        from safetensors.torch import save
    except ImportError as error:
        raise ImportError(f"tensors are stored by safetensors: {REMEDY}") from error
    return {PART: save(tensors)}


def _unpacked(part: bytes) -> dict[str, Any]:
    try:
        from safetensors import SafetensorError
        from safetensors.torch import load
    except ImportError as error:
        raise ImportError(f"it holds tensors, which safetensors reads: {REMEDY}") from error
    try:
        return dict(load(part))
    except SafetensorError as error:
        raise ValueError(f"its tensors are damaged ({error})") from error


KINDS = (
    Kind("module", is_module, _dump_module, _load_module),
    Kind("tensor", _is_tensor, _dump_tensor, _load_tensor),
)

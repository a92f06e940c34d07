"""Networks of torch: their layers by attributes, their tensors by safetensors.

A file may name the layers listed here, which consist of their attributes. torch checks shapes
itself, but allocates whatever a layer adds to its input.
"""

import math
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np

from plcp._rows import is_module
from plcp.storage.allowlist import find
from plcp.storage.codec import Codec, Decoder, Encoder
from plcp.storage.estimators import as_class, decode_attributes, encode_attributes, encode_class

PART = "tensors.safetensors"
OWN = ("_parameters", "_buffers", "_modules")
MORE = ("training", "_non_persistent_buffers_set")
REMEDY = "pip install 'plcp[files]'"
MAX_ADDED = 64  # of padding, or of cells that an input is pooled to, per axis
ADDED = ("padding", "_reversed_padding_repeated_twice", "output_size")
MAX_UNITS = 2**16  # of a lazy layer, made at its first input
UNITS = ("out_features", "out_channels", "num_features")
MAX_WEIGHTS = 2**18  # of a lazy layer, per channel of its input
LAYERS = frozenset(
    (
        *("AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveMaxPool1d", "AdaptiveMaxPool2d"),
        *("AvgPool1d", "AvgPool2d", "BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "Conv1d"),
        *("Conv2d", "Conv3d", "Dropout", "Dropout1d", "Dropout2d", "ELU", "Embedding", "Flatten"),
        *("GELU", "GroupNorm", "Hardsigmoid", "Hardswish", "Hardtanh", "Identity"),
        *("InstanceNorm1d", "InstanceNorm2d", "LayerNorm", "LazyBatchNorm1d", "LazyBatchNorm2d"),
        *("LazyConv1d", "LazyConv2d", "LazyConv3d", "LazyLinear", "LeakyReLU", "Linear"),
        *("LogSoftmax", "MaxPool1d", "MaxPool2d", "Mish", "ModuleDict", "ModuleList", "PReLU"),
        *("ReLU", "ReLU6", "Sequential", "SiLU", "Sigmoid", "Softmax", "Softplus", "Tanh"),
        *("Unflatten",),
    )
)


def check_layer(name: str, state: Mapping[str, Any]) -> None:
    """Refuse a layer whose output, or whose weights after the first input, would fill memory."""
    limits = dict.fromkeys(ADDED, MAX_ADDED)
    if name.startswith("Lazy"):
        limits |= dict.fromkeys(UNITS, MAX_UNITS)
    for key, limit in limits.items():
        if any(not abs(size) <= limit for size in _sizes(name, state, key)):
            raise ValueError(f"a layer {name} has a {key} beyond {limit:,}: do not use it")
    if name.startswith("LazyConv"):
        weights = [*_sizes(name, state, "out_channels"), *_sizes(name, state, "kernel_size")]
        if not math.prod(max(abs(size), 1) for size in weights) <= MAX_WEIGHTS:
            raise ValueError(
                f"a layer {name} has a kernel_size of more than {MAX_WEIGHTS:,} weights for each "
                "channel: do not use it"
            )


def _sizes(name: str, state: Mapping[str, Any], key: str) -> list[Any]:
    """Return the numbers of an attribute, one or several; torch takes those of numpy too."""
    given = [each for each in np.ravel(np.array(state.get(key), dtype=object)) if each is not None]
    numbers = [each for each in given if isinstance(each, int | float | np.number)]
    if any(not isinstance(each, int | float | str | np.number) for each in given):
        raise ValueError(f"a layer {name} has a {key} that is no number: do not use it")
    return numbers


def _encode_module(module: Any, encoder: Encoder) -> list[Any]:
    from torch import nn
    from torch.nn.modules.lazy import LazyModuleMixin

    encoder.packages.add("torch")
    base, state = vars(nn.Module()), dict(vars(module))
    plain = {name: value for name, value in state.items() if name not in base}
    hooks = [name for name in base if name.endswith("hooks") and state[name]]
    if isinstance(module, LazyModuleMixin):  # they hook themselves until their first input
        plain = {name: value for name, value in plain.items() if not name.endswith("_hook")}
    elif hooks:
        raise encoder.refusal(module, f"it has {hooks[0][1:].replace('_', ' ')}: remove them first")
    plain |= {name: dict(state[name]) for name in OWN}
    plain |= {name: state[name] for name in MORE}
    name = type(module).__name__
    if name not in LAYERS or getattr(nn, name) is not type(module):
        return [encode_class(module, encoder), encode_attributes(plain, encoder)]
    try:
        check_layer(name, state)
    except ValueError:
        encoder.needs_trust(type(module))
    # names of layers of torch begin with a dot, as no other name does
    return [f".{name}", encode_attributes(plain, encoder)]


def _decode_module(content: Any, decoder: Decoder) -> Any:
    from torch import nn
    from torch.nn.modules.lazy import LazyModuleMixin

    name, stored = content
    is_layer = isinstance(name, str) and name.startswith(".") and name[1:] in LAYERS
    cls = getattr(nn, name[1:]) if is_layer else find(name, decoder.trusted)
    module, state = (
        object.__new__(as_class(name, cls, nn.Module)),
        decode_attributes(stored, decoder),
    )
    if is_layer and cls not in decoder.trusted:
        check_layer(name[1:], state)
    unknown = (state.keys() & vars(nn.Module()).keys()) - {*OWN, *MORE}
    if unknown:
        raise ValueError(f"a module has {min(unknown)}, which plcp writes of none")
    nn.Module.__init__(module)
    vars(module).update(state)
    if issubclass(cls, LazyModuleMixin):
        module._load_hook = module._register_load_state_dict_pre_hook(module._lazy_load_hook)
        module._initialize_hook = module.register_forward_pre_hook(
            module._infer_parameters, with_kwargs=True
        )
    return module


def _is_tensor(value: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def _encode_tensor(tensor: Any, encoder: Encoder) -> list[Any]:
    """Return the key of its values (none where its shape is open), and how it is trained."""
    from torch import nn
    from torch.nn.parameter import is_lazy

    about = [isinstance(tensor, nn.Parameter), bool(tensor.requires_grad)]
    if is_lazy(tensor):
        return [None, *about]
    key = f"{len(encoder.tensors):05d}"
    encoder.tensors[key] = tensor.detach().cpu().contiguous().clone()
    return [key, *about]


def _decode_tensor(content: Any, decoder: Decoder) -> Any:
    from torch import nn
    from torch.nn.parameter import UninitializedBuffer, UninitializedParameter

    key, is_parameter, learns = content
    if key is None and is_parameter:
        return UninitializedParameter(requires_grad=bool(learns))
    if key is None:
        return UninitializedBuffer()
    if PART not in decoder.cache:
        decoder.cache[PART] = _unpacked(decoder.parts[PART])
    tensor = decoder.cache[PART][key]
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


CODECS = (
    Codec("module", is_module, _encode_module, _decode_module),
    Codec("tensor", _is_tensor, _encode_tensor, _decode_tensor),
)
